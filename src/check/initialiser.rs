//! Initial contents of variables. PTX ISA, "Initializers".

use super::constant::{Constant, evaluate};
use super::context::{DeclKind, Symbol};
use super::decls::Spec;
use super::module::Checker;
use super::scope::{Found, Names};
use crate::diag::{Diagnostic, Span};
use crate::ir::memory::{Space, Var};
use crate::ir::{FunctionKind, Init as Contents, Relocation, RelocationTarget, VarId};
use crate::syntax::ast::{BinaryOp, Expr, Init};

/// Bytes of all initial contents of a module: a short text can ask for much (`x[2][1000000000] = {{1}, {2}}`).
const MAX_INITIALISED: u64 = 1 << 28;

/// Where an initialiser stands.
pub(super) fn span(init: &Init<'_>) -> Span {
    match init {
        Init::Value(expr) => expr.span(),
        Init::List(_, span) => *span,
        Init::Field(name, value) => name.span.to(value.span()),
    }
}

/// How many elements an initialiser gives to an array of open size.
pub(super) fn count(init: &Init<'_>) -> u64 {
    match init {
        Init::List(list, _) => list.len() as u64,
        Init::Value(_) | Init::Field(..) => 0,
    }
}

/// Sets the initial contents of a variable. `names` are those of the function that declares it.
pub(super) fn initialise<'s>(
    checker: &mut Checker<'s>,
    names: Option<&mut Names<'s>>,
    id: VarId,
    spec: Spec,
    dims: &[Option<u64>],
    init: &Init<'s>,
) {
    let dims: Vec<u64> = dims.iter().map(|d| d.unwrap_or(0)).collect();
    let mut writer = Writer {
        checker,
        names,
        spec,
        contents: Contents::default(),
    };
    match writer.array(&dims, 0, init) {
        Ok(()) => {
            let contents = writer.contents;
            checker.variables[id.index()].init = contents;
        }
        Err(error) => writer.checker.reports.push(*error),
    }
}

/// Why contents are refused; boxed to keep results small.
type Wrong = Box<Diagnostic>;

struct Writer<'c, 's> {
    checker: &'c mut Checker<'s>,
    names: Option<&'c mut Names<'s>>,
    spec: Spec,
    contents: Contents,
}

impl<'s> Writer<'_, 's> {
    /// Writes an array whose first byte is at `offset`.
    fn array(&mut self, dims: &[u64], offset: u64, init: &Init<'s>) -> Result<(), Wrong> {
        let Some((&count, inner)) = dims.split_first() else {
            return self.element(offset, init);
        };
        let Init::List(list, _) = init else {
            return Err(wrong(span(init), "an array needs a list in braces"));
        };
        if let Some(excess) = usize::try_from(count)
            .ok()
            .and_then(|count| list.get(count))
        {
            return Err(wrong(
                span(excess),
                format!("too many initial values: the array has {count} elements"),
            ));
        }
        let stride = inner.iter().product::<u64>() * u64::from(self.spec.bytes());
        for (index, init) in list.iter().enumerate() {
            self.array(inner, offset + index as u64 * stride, init)?;
        }
        Ok(())
    }

    fn element(&mut self, offset: u64, init: &Init<'s>) -> Result<(), Wrong> {
        let lanes = self.spec.lanes;
        if lanes == 1 {
            return match init {
                Init::Value(value) => self.value(offset, value),
                Init::List(_, span) => Err(wrong(*span, "a list where a single value belongs")),
                Init::Field(name, _) => Err(field(name.span)),
            };
        }
        let Init::List(list, span) = init else {
            return Err(wrong(span(init), "a vector needs a list in braces"));
        };
        if list.len() != usize::from(lanes) {
            return Err(wrong(
                *span,
                format!("{} values for a vector of {lanes}", list.len()),
            ));
        }
        for (index, init) in list.iter().enumerate() {
            let at = offset + index as u64 * u64::from(self.spec.ty.bytes());
            match init {
                Init::Value(value) => self.value(at, value)?,
                Init::List(_, span) => {
                    return Err(wrong(*span, "a list where a single value belongs"));
                }
                Init::Field(name, _) => return Err(field(name.span)),
            }
        }
        Ok(())
    }

    fn value(&mut self, offset: u64, value: &Expr<'s>) -> Result<(), Wrong> {
        let ty = self.spec.ty;
        if ty.kind == DeclKind::PackedFloat || ty.kind == DeclKind::Float && ty.bits == 16 {
            return Err(wrong(
                value.span(),
                "variables of half precision cannot have initial contents",
            ));
        }
        if let Some(address) = address(value)? {
            return self.address(offset, &address, value.span());
        }
        let constant = evaluate(value).map_err(Box::new)?;
        let bits: u128 = match (constant, ty.kind) {
            (Constant::Int { .. }, DeclKind::Float) => {
                return Err(wrong(
                    value.span(),
                    "an integer for a floating-point variable",
                ));
            }
            (Constant::Int { value, unsigned }, _) => {
                if unsigned {
                    u128::from(value)
                } else {
                    i128::from(value as i64) as u128
                }
            }
            (_, DeclKind::Signed | DeclKind::Unsigned) => {
                return Err(wrong(
                    value.span(),
                    "a floating-point number for an integer variable",
                ));
            }
            // The assembler stores the bits of `0f` as they are, and converts others only for 32 bits.
            (Constant::F32(bits), _) => u128::from(bits),
            (Constant::F64(bits), _) if ty.bits == 32 => {
                u128::from((f64::from_bits(bits) as f32).to_bits())
            }
            (Constant::F64(bits), _) => u128::from(bits),
        };
        let bytes = ty.bytes() as usize;
        self.put(offset, &bits.to_le_bytes()[..bytes], value.span())
    }

    fn put(&mut self, offset: u64, bytes: &[u8], span: Span) -> Result<(), Wrong> {
        let end = offset + bytes.len() as u64;
        let held = self.contents.bytes.len() as u64;
        if end > held {
            self.checker.initialised += end - held;
            if self.checker.initialised > MAX_INITIALISED {
                return Err(wrong(
                    span,
                    format!("more than {MAX_INITIALISED} bytes of initial contents"),
                ));
            }
            self.contents.bytes.resize(end as usize, 0);
        }
        self.contents.bytes[offset as usize..end as usize].copy_from_slice(bytes);
        Ok(())
    }

    fn require(&mut self, what: &str, span: Span, version: (u32, u32), number: u32) {
        let checker = &mut *self.checker;
        checker
            .target
            .require(&mut checker.reports, what, span, version, number);
    }

    fn symbol(&mut self, name: &str) -> Option<Symbol> {
        if let Some(names) = &mut self.names {
            match names.find(name) {
                Some(Found::Symbol(symbol)) => return Some(symbol),
                Some(Found::Register { .. }) => return None,
                None => {}
            }
        }
        self.checker.symbol(name)
    }

    fn address(
        &mut self,
        offset: u64,
        address: &AddressExpr<'s>,
        whole: Span,
    ) -> Result<(), Wrong> {
        let ty = self.spec.ty;
        let masked = address.mask.is_some();
        let fits = match ty.bits {
            8 => masked,
            32 | 64 => true,
            _ => false,
        };
        if ty.kind != DeclKind::Unsigned || !fits {
            let mut error = Diagnostic::error(whole, "an address for a variable of this type");
            error.hint = Some(if masked {
                "masked addresses need `.u8`, `.u32` or `.u64`".to_string()
            } else {
                "addresses need `.u32` or `.u64`, or a mask".to_string()
            });
            return Err(Box::new(error));
        }
        let shift = match address.mask {
            None => 0,
            Some((mask, span)) => {
                let shift = mask.trailing_zeros();
                if mask == 0 || mask >> shift != 0xff || shift % 8 != 0 {
                    return Err(wrong(span, format!("{mask:#x} does not mask one byte")));
                }
                shift as u8
            }
        };
        let target = match self.symbol(address.name) {
            Some(Symbol::Var {
                var: Var::Module(id),
                space: Space::Global | Space::Const,
                ..
            }) => {
                self.checker.open_uses.entry(id).or_insert(address.span);
                let (what, version) = match (masked, address.generic) {
                    (true, _) => ("a mask on an address", (7, 1)),
                    (false, true) => ("`generic`", (3, 1)),
                    (false, false) => ("an address as initial value", (2, 1)),
                };
                self.require(what, whole, version, 0);
                RelocationTarget::Variable(id)
            }
            Some(Symbol::Function(id)) => {
                match self.checker.functions[id.index()].kind {
                    FunctionKind::Kernel => {
                        self.require("a kernel as initial value", whole, (3, 1), 35);
                    }
                    FunctionKind::Device => {
                        self.require("a function as initial value", whole, (2, 1), 20);
                    }
                }
                if address.generic || address.addend.is_some() {
                    return Err(wrong(
                        whole,
                        format!("function `{}` can only be named alone", address.name),
                    ));
                }
                self.checker.addressed.entry(id).or_insert(address.span);
                RelocationTarget::Function(id)
            }
            Some(_) => {
                return Err(wrong(
                    address.span,
                    format!(
                        "`{}` is no `.global` or `.const` variable and no function",
                        address.name
                    ),
                ));
            }
            None => {
                return Err(wrong(
                    address.span,
                    format!("`{}` is not declared", address.name),
                ));
            }
        };
        let bytes = if masked { 1 } else { ty.bytes() as u8 };
        self.put(offset, &vec![0; ty.bytes() as usize], whole)?;
        self.contents.relocations.push(Relocation {
            offset,
            bytes,
            target,
            generic: address.generic,
            addend: address.addend.unwrap_or(0),
            shift,
        });
        Ok(())
    }
}

fn wrong(span: Span, message: impl Into<String>) -> Wrong {
    Box::new(Diagnostic::error(span, message))
}

fn field(span: Span) -> Wrong {
    wrong(span, "fields are for textures, samplers and surfaces")
}

/// `mask(generic(name) + addend)`, each part optional.
struct AddressExpr<'s> {
    name: &'s str,
    span: Span,
    generic: bool,
    addend: Option<i64>,
    mask: Option<(u64, Span)>,
}

/// Reads an expression as an address; `None` if no symbol occurs where one could.
fn address<'s>(expr: &Expr<'s>) -> Result<Option<AddressExpr<'s>>, Wrong> {
    match expr {
        Expr::Name { name, suffix: None } if name.text != "WARP_SZ" => Ok(Some(AddressExpr {
            name: name.text,
            span: name.span,
            generic: false,
            addend: None,
            mask: None,
        })),
        Expr::Binary {
            op: BinaryOp::Add,
            lhs,
            rhs,
        } => {
            let Some(mut inner) = address(lhs)? else {
                return Ok(None);
            };
            if inner.mask.is_some() {
                return Err(wrong(expr.span(), "a sum with a masked address"));
            }
            let Constant::Int { value, .. } = evaluate(rhs).map_err(Box::new)? else {
                return Err(wrong(rhs.span(), "an integer is expected here"));
            };
            inner.addend = Some(inner.addend.unwrap_or(0).wrapping_add(value as i64));
            Ok(Some(inner))
        }
        Expr::Apply { function, arg, .. } => {
            let inner = address(arg)?;
            let Some(mut inner) = inner.filter(|inner| inner.mask.is_none()) else {
                return Err(wrong(arg.span(), "the name of a variable is expected here"));
            };
            match &**function {
                Expr::Name { name, .. } if name.text == "generic" => {
                    if inner.generic || inner.addend.is_some() {
                        return Err(wrong(arg.span(), "`generic` takes the name of a variable"));
                    }
                    inner.generic = true;
                }
                Expr::Int { value, span, .. } => inner.mask = Some((*value, *span)),
                other => {
                    return Err(Box::new(
                        Diagnostic::error(other.span(), "an unknown operator on an address")
                            .hint("`generic(x)` and `0xff(x)` exist"),
                    ));
                }
            }
            Ok(Some(inner))
        }
        Expr::Int { .. }
        | Expr::F64 { .. }
        | Expr::F32 { .. }
        | Expr::Name { .. }
        | Expr::Unary { .. }
        | Expr::Binary { .. }
        | Expr::Conditional { .. }
        | Expr::Cast { .. } => Ok(None),
    }
}
