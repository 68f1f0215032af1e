//! Declarations of variables and registers. PTX ISA, "State Spaces", "Types" and "Variables".

use super::constant::{Constant, evaluate};
use super::context::{DeclKind, DeclTy};
use super::report::Reports;
use super::target::Target;
use crate::diag::{Diagnostic, Span};
use crate::ir::control::ParamTy;
use crate::syntax::ast::{Declarator, Expr, FunctionKind, Name, Variable};

/// Members that `name<N>` may declare outside `.reg`, where each takes memory.
pub(super) const MAX_FAMILY: u64 = 1 << 16;
/// Bytes of one variable, and of all variables of a space together.
pub(super) const MAX_BYTES: u64 = 1 << 36;
/// Bytes of the window of constants.
pub(super) const MAX_CONST_BYTES: u64 = 1 << 16;
/// Bytes of the `.local` variables of one function.
pub(super) const MAX_LOCAL_BYTES: u64 = 1 << 28;
/// Bytes of a parameter of a device function, and of all together.
pub(super) const MAX_FRAME_BYTES: u64 = 1 << 24;
/// The largest alignment.
const MAX_ALIGN: u64 = 1 << 20;

impl DeclTy {
    /// The type of a word such as `u32`, if variables can be declared of it.
    pub(super) fn of(word: &str) -> Option<DeclTy> {
        let (kind, bits) = match word {
            "pred" => (DeclKind::Pred, 1),
            "f16x2" => (DeclKind::PackedFloat, 32),
            _ => {
                let kind = match word.as_bytes().first()? {
                    b'b' => DeclKind::Bits,
                    b'u' => DeclKind::Unsigned,
                    b's' => DeclKind::Signed,
                    b'f' => DeclKind::Float,
                    _ => return None,
                };
                let bits = match &word[1..] {
                    "8" => 8,
                    "16" => 16,
                    "32" => 32,
                    "64" => 64,
                    "128" => 128,
                    _ => return None,
                };
                let exists = match kind {
                    DeclKind::Bits => true,
                    DeclKind::Float => (16..=64).contains(&bits),
                    DeclKind::Unsigned | DeclKind::Signed => bits <= 64,
                    DeclKind::Pred | DeclKind::PackedFloat => false,
                };
                if !exists {
                    return None;
                }
                (kind, bits)
            }
        };
        Some(DeclTy { kind, bits })
    }

    /// Bytes that a value takes in memory.
    pub(super) fn bytes(self) -> u32 {
        self.bits.div_ceil(8)
    }

    /// Whether a value of this type can be passed where the other is declared. PTX ISA, "Operand Size Exceeding
    /// Instruction-Type Size" has the same classes.
    pub(super) fn fits(self, other: DeclTy) -> bool {
        use DeclKind::{Bits, Float, PackedFloat, Pred, Signed, Unsigned};
        self.bits == other.bits
            && match (self.kind, other.kind) {
                (Pred, Pred) => true,
                (Pred, _) | (_, Pred) => false,
                (Bits, _) | (_, Bits) => true,
                (Unsigned | Signed, Unsigned | Signed) => true,
                (Float | PackedFloat, Float | PackedFloat) => self.kind == other.kind,
                (Unsigned | Signed, Float | PackedFloat)
                | (Float | PackedFloat, Unsigned | Signed) => false,
            }
    }
}

/// Whether variables of this type stand for textures, samplers or surfaces.
pub(super) fn is_opaque(word: &str) -> bool {
    matches!(word, "texref" | "samplerref" | "surfref")
}

/// Types that only instructions have.
fn is_instruction_type(word: &str) -> bool {
    matches!(
        word,
        "bf16"
            | "bf16x2"
            | "tf32"
            | "e4m3"
            | "e5m2"
            | "e2m1"
            | "e2m3"
            | "e3m2"
            | "e4m3x2"
            | "e5m2x2"
            | "e2m1x2"
            | "e2m3x2"
            | "e3m2x2"
            | "e4m3x4"
            | "e5m2x4"
            | "e2m1x4"
            | "e2m3x4"
            | "e3m2x4"
            | "ue8m0"
            | "ue8m0x2"
            | "ue4m3"
            | "u16x2"
            | "s16x2"
            | "f32x2"
            | "b1"
            | "u4"
            | "s4"
            | "u2"
            | "s2"
            | "b4"
            | "b6"
            | "b4x16"
            | "b6x16_p32"
            | "b6p2x16"
            | "b8x16"
    )
}

/// What the part of a declaration before the names says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spec {
    /// The element type.
    pub ty: DeclTy,
    /// Elements of the vector, 1 for none.
    pub lanes: u8,
    /// `.align`, or the natural alignment.
    pub align: u32,
    /// Whether `.align` was written.
    pub aligned: bool,
}

impl Spec {
    /// Bytes of one element of an array of these.
    pub(super) fn bytes(self) -> u32 {
        self.ty.bytes() * u32::from(self.lanes)
    }
}

/// Reads type, vector size and alignment of a declaration; textures are the caller's.
pub(super) fn spec(
    variable: &Variable<'_>,
    target: &Target,
    reports: &mut Reports,
) -> Option<Spec> {
    let word = variable.ty?;
    let Some(ty) = DeclTy::of(word.text) else {
        let message = if is_instruction_type(word.text) {
            format!(
                "`.{}` is a type of instructions, nothing can be declared of it",
                word.text
            )
        } else {
            format!("there is no type `.{}`", word.text)
        };
        reports.push(Diagnostic::error(word.span, message));
        return None;
    };
    if ty.bits == 128 {
        target.require(reports, "`.b128`", word.span, (8, 3), 70);
    }
    if ty.kind == DeclKind::PackedFloat {
        target.require(reports, "`.f16x2`", word.span, (4, 2), 53);
    }
    let lanes = match variable.vector {
        None => 1,
        Some(vector) => {
            let lanes = match vector.text {
                "v2" => 2,
                "v4" => 4,
                _ => {
                    reports.push(
                        Diagnostic::error(
                            vector.span,
                            format!("variables cannot be `.{}`", vector.text),
                        )
                        .hint("`.v2` and `.v4` exist"),
                    );
                    return None;
                }
            };
            if ty.kind == DeclKind::Pred {
                reports.push(Diagnostic::error(
                    vector.span,
                    "there are no vectors of predicates",
                ));
                return None;
            }
            if ty.bits * u32::from(lanes) > 128 {
                reports.push(
                    Diagnostic::error(
                        vector.span,
                        format!("a `.{} .{}` is wider than 128 bits", vector.text, word.text),
                    )
                    .label("vectors are 128 bits wide at most"),
                );
                return None;
            }
            lanes
        }
    };
    let natural = ty.bytes() * u32::from(lanes);
    let align = match variable.align {
        None => natural,
        Some((align, span)) => alignment(align, span, reports)?,
    };
    Some(Spec {
        ty,
        lanes,
        align,
        aligned: variable.align.is_some(),
    })
}

/// An alignment that was written.
pub(super) fn alignment(align: u64, span: Span, reports: &mut Reports) -> Option<u32> {
    if !align.is_power_of_two() || align > MAX_ALIGN {
        reports.push(Diagnostic::error(
            span,
            if align.is_power_of_two() {
                format!("an alignment of {align} bytes is too large, {MAX_ALIGN} is the most")
            } else {
                format!("alignment {align} is not a power of two")
            },
        ));
        return None;
    }
    Some(align as u32)
}

/// The sizes of an array, outermost first; `None` for the open one.
pub(super) type Dims = Vec<Option<u64>>;

/// Reads the sizes of an array.
pub(super) fn dims(declarator: &Declarator<'_>, reports: &mut Reports) -> Option<Dims> {
    let mut dims = Dims::with_capacity(declarator.dims.len());
    for (index, (size, span)) in declarator.dims.iter().enumerate() {
        match size {
            None if index > 0 => {
                reports.push(Diagnostic::error(
                    *span,
                    "only the first size of an array can be left open",
                ));
                return None;
            }
            None => dims.push(None),
            Some(size) => match integer(size) {
                Ok(size) => dims.push(Some(size)),
                Err(error) => {
                    reports.push(error);
                    return None;
                }
            },
        }
    }
    Some(dims)
}

/// The value of a constant expression that is to be an integer.
pub(super) fn integer(expr: &Expr<'_>) -> Result<u64, Diagnostic> {
    match evaluate(expr)? {
        Constant::Int { value, .. } => Ok(value),
        Constant::F32(_) | Constant::F64(_) => Err(Diagnostic::error(
            expr.span(),
            "an integer is expected here",
        )),
    }
}

/// Bytes of an array, or of a single value; an open size counts as 0. `None` past any limit.
pub(super) fn size(spec: Spec, dims: &[Option<u64>]) -> Option<u64> {
    let mut bytes = u64::from(spec.bytes());
    for dim in dims {
        bytes = bytes.checked_mul(dim.unwrap_or(0))?;
    }
    Some(bytes)
}

/// A parameter of a function, kernel or prototype.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// Its name in the text.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// `.reg` rather than `.param`.
    pub register: bool,
    /// The element type; `None` for textures, samplers and surfaces.
    pub ty: Option<DeclTy>,
    /// The element type as written.
    pub declared: String,
    /// Elements of the vector, 1 for none.
    pub lanes: u8,
    /// Elements of the array; `None` for a single value.
    pub count: Option<u64>,
    /// `[]`, the last parameter of a device function: of any size.
    pub open: bool,
    /// Size and alignment; of an open array the size of what a call passes is unknown.
    pub layout: ParamTy,
}

/// Whose parameters are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Of `.entry`.
    Kernel,
    /// Of `.func`.
    Device,
    /// Of `.callprototype`: names may be `_`.
    Prototype,
}

impl From<FunctionKind> for Owner {
    fn from(kind: FunctionKind) -> Self {
        match kind {
            FunctionKind::Entry => Owner::Kernel,
            FunctionKind::Func => Owner::Device,
        }
    }
}

/// Reads a parameter; `None` (and a report) if it is no good.
pub(super) fn parameter(
    variable: &Variable<'_>,
    owner: Owner,
    result: bool,
    target: &Target,
    reports: &mut Reports,
) -> Option<Shape> {
    let declarator = variable.declarators.first()?;
    let name = declarator.name;
    let register = match (variable.space.text, owner) {
        ("param", _) => false,
        ("reg", Owner::Device | Owner::Prototype) => true,
        (space, Owner::Kernel) => {
            reports.push(
                Diagnostic::error(
                    variable.space.span,
                    format!("parameter `{}` of a kernel in `.{space}`", name.text),
                )
                .hint("parameters of kernels are `.param`"),
            );
            return None;
        }
        (space, Owner::Device | Owner::Prototype) => {
            reports.push(
                Diagnostic::error(
                    variable.space.span,
                    format!("parameter `{}` in `.{space}`", name.text),
                )
                .hint("parameters are `.param` or `.reg`"),
            );
            return None;
        }
    };
    if name.text == "_" && owner == Owner::Device {
        reports.push(Diagnostic::error(
            name.span,
            "`_` cannot be the name of a parameter",
        ));
        return None;
    }
    if let Some((_, span)) = declarator.range {
        reports.push(Diagnostic::error(span, "a parameter cannot be a range"));
        return None;
    }
    if let Some(ptr) = &variable.ptr {
        target.require(reports, "`.ptr`", ptr.span, (2, 2), 0);
        pointer(ptr, owner, reports)?;
    }
    let word = variable.ty?;
    let shape = |ty, lanes, count, open, size, align| Shape {
        name: name.text.to_string(),
        span: name.span,
        register,
        ty,
        declared: word.text.to_string(),
        lanes,
        count,
        open,
        layout: ParamTy { size, align },
    };
    if is_opaque(word.text) {
        opaque_parameter(word, owner, register, target, reports)?;
        return Some(shape(None, 1, None, false, 8, 8));
    }
    let spec = spec(variable, target, reports)?;
    if !register && (spec.lanes > 1 || spec.ty.kind == DeclKind::PackedFloat) {
        reports.push(Diagnostic::error(
            word.span,
            format!(
                "`{}` cannot be in `.param`: it is a vector or packed",
                name.text
            ),
        ));
        return None;
    }
    if !register && spec.ty.kind == DeclKind::Pred {
        reports.push(predicate_in_memory(name));
        return None;
    }
    match (owner, register) {
        (Owner::Kernel, _) => {
            target.require(reports, "a list of parameters", variable.span, (1, 4), 0);
        }
        (Owner::Device | Owner::Prototype, false) => {
            let what = "`.param` of a function";
            target.require(reports, what, variable.space.span, (2, 0), 20);
        }
        (Owner::Device | Owner::Prototype, true) => {}
    }
    if register && !declarator.dims.is_empty() {
        reports.push(Diagnostic::error(
            name.span,
            format!("register `{}` cannot be an array", name.text),
        ));
        return None;
    }
    if spec.aligned && owner != Owner::Kernel && spec.align > 128 {
        reports.push(Diagnostic::error(
            variable.align.map_or(name.span, |(_, span)| span),
            format!(
                "alignment {} of `{}`: parameters of functions are aligned to 128 bytes at most",
                spec.align, name.text
            ),
        ));
        return None;
    }
    let dims = dims(declarator, reports)?;
    if let Some((_, span)) = declarator.dims.get(1) {
        reports.push(Diagnostic::error(*span, "a parameter has one size at most"));
        return None;
    }
    let count = dims.first().copied();
    let open = matches!(count, Some(None | Some(0)));
    if open && (owner == Owner::Kernel || result) {
        reports.push(Diagnostic::error(
            declarator.dims[0].1,
            format!("`{}` must have a size", name.text),
        ));
        return None;
    }
    let bytes = size(spec, &dims).filter(|&bytes| bytes <= MAX_FRAME_BYTES);
    let Some(bytes) = bytes else {
        reports.push(Diagnostic::error(
            name.span,
            format!("parameter `{}` is too large", name.text),
        ));
        return None;
    };
    let count = count.map(|count| count.unwrap_or(0));
    Some(shape(
        Some(spec.ty),
        spec.lanes,
        count,
        open,
        (bytes as u32).max(1),
        spec.align,
    ))
}

fn pointer(ptr: &crate::syntax::ast::Ptr<'_>, owner: Owner, reports: &mut Reports) -> Option<()> {
    if owner != Owner::Kernel {
        reports.push(Diagnostic::error(
            ptr.span,
            "`.ptr` is for parameters of kernels",
        ));
        return None;
    }
    if let Some(space) = ptr.space
        && !matches!(space.text, "global" | "const" | "local" | "shared")
    {
        reports.push(
            Diagnostic::error(space.span, format!("`.ptr` into `.{}`", space.text))
                .hint("`.const`, `.global`, `.local` and `.shared` exist"),
        );
        return None;
    }
    if let Some((align, span)) = ptr.align {
        alignment(align, span, reports)?;
    }
    Some(())
}

fn opaque_parameter(
    word: Name<'_>,
    owner: Owner,
    register: bool,
    target: &Target,
    reports: &mut Reports,
) -> Option<()> {
    if owner != Owner::Kernel || register {
        reports.push(Diagnostic::error(
            word.span,
            format!("`.{}` is for `.param` of kernels", word.text),
        ));
        return None;
    }
    if word.text == "samplerref" && !target.independent_textures {
        reports.push(
            Diagnostic::error(word.span, "`.samplerref` in unified texture mode")
                .hint("write `.target ..., texmode_independent`"),
        );
        return None;
    }
    Some(())
}

/// A predicate declared elsewhere than in `.reg`.
pub(super) fn predicate_in_memory(name: Name<'_>) -> Diagnostic {
    Diagnostic::error(
        name.span,
        format!("predicate `{}` must be in `.reg`", name.text),
    )
}
