//! Operands of instructions: names become registers, constants are folded, types compared as `ptxas` does.
//!
//! [`Resolver::resolve`] takes an operand of the text and the parameter of the row that it stands for.
//! [`values`](self) has scalars, [`vectors`] what stands in braces, [`addresses`] what stands in brackets.

mod addresses;
mod moves;
mod values;
mod vectors;
mod video;

use super::context::{Context, DeclKind, DeclTy, Symbol};
use super::instruction::available;
use crate::diag::{Diagnostic, Span};
use crate::ir::memory::Space;
use crate::ir::{Kind, Operand as Value, Reg, RegClass};
use crate::isa::form::{Arg, Choice, OperandKind, Param, TypeOf};
use crate::isa::special::{self, SpecialName};
use crate::isa::types::{Ty, TyKind};
use crate::syntax::ast::{self, Expr, Operand};

/// Resolves the operands of one instruction.
pub(super) struct Resolver<'r, 'c> {
    /// The function that the instruction stands in.
    pub context: &'r mut (dyn Context + 'c),
    /// The form that was selected.
    pub choice: &'r Choice<'static>,
    /// The instruction.
    pub instruction: &'r ast::Instruction<'r>,
}

/// How the width of a register compares with the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Equal.
    Exact,
    /// Equal, and no packed floats: types that the instruction does not name.
    Strict,
    /// Equal or wider: `ld`, `st` and `cvt`.
    Wider,
    /// As [`Fit::Wider`], for an element in braces: floats may also lie in integer registers.
    WiderElement,
}

/// What a register name stands for.
#[derive(Debug, Clone)]
struct Register {
    reg: Reg,
    high: Option<Reg>,
    ty: DeclTy,
}

impl Register {
    fn class(&self) -> RegClass {
        match self.ty.bits {
            1 => RegClass::Pred,
            bits => RegClass::of_bits(bits).unwrap_or(RegClass::B64),
        }
    }

    fn source(&self) -> Arg {
        match self.high {
            Some(high) => Arg::Quad(Value::Reg(self.reg), Value::Reg(high)),
            None => Arg::Src(Value::Reg(self.reg), self.class()),
        }
    }

    fn destination(&self) -> Arg {
        match self.high {
            Some(high) => Arg::Quad(Value::Reg(self.reg), Value::Reg(high)),
            None => Arg::Dst(Some(self.reg), self.class()),
        }
    }
}

/// What a name with its suffix stands for.
enum Named {
    Register(Register),
    Vector {
        elements: Vec<Reg>,
        ty: DeclTy,
    },
    /// A special register, and the element of a vector one.
    Special(SpecialName, Option<u8>),
    /// Anything else that is declared.
    Symbol(Symbol),
}

/// How a register must fit a type from there.
fn exact(of: TypeOf) -> Fit {
    match of {
        TypeOf::Fixed(_) => Fit::Strict,
        TypeOf::Slot(_) | TypeOf::Wide(_) | TypeOf::Address => Fit::Exact,
    }
}

/// Whether the address of a function may stand for a source of this type: not for counts.
fn takes_functions(of: TypeOf) -> bool {
    match of {
        TypeOf::Slot(_) | TypeOf::Wide(_) => true,
        TypeOf::Fixed(ty) => !matches!(
            ty.kind,
            TyKind::Unsigned | TyKind::Float | TyKind::PackedFloat | TyKind::Alternate(_)
        ),
        TypeOf::Address => false,
    }
}

/// Whether a register may stand where the type is asked.
fn fits(ty: Ty, decl: DeclTy, fit: Fit) -> bool {
    let wide_enough = match fit {
        Fit::Exact | Fit::Strict => decl.bits == ty.bits,
        Fit::Wider | Fit::WiderElement => decl.bits >= ty.bits,
    };
    if decl.kind == DeclKind::Pred || ty.kind == TyKind::Pred {
        return decl.kind == DeclKind::Pred && ty.kind == TyKind::Pred;
    }
    let integer = matches!(
        decl.kind,
        DeclKind::Bits | DeclKind::Unsigned | DeclKind::Signed | DeclKind::PackedFloat
    );
    match ty.kind {
        TyKind::Pred => false,
        TyKind::Bits => wide_enough,
        TyKind::Unsigned | TyKind::Signed => {
            wide_enough && integer && !(fit == Fit::Strict && decl.kind == DeclKind::PackedFloat)
        }
        TyKind::Float => match decl.kind {
            DeclKind::Bits => wide_enough,
            DeclKind::Float => decl.bits == ty.bits,
            DeclKind::Unsigned | DeclKind::Signed => {
                fit == Fit::WiderElement && decl.bits == ty.bits
            }
            DeclKind::Pred | DeclKind::PackedFloat => false,
        },
        TyKind::Alternate(_) => decl.bits == ty.bits && decl.kind == DeclKind::Bits,
        TyKind::PackedInt { .. } | TyKind::PackedFloat => match decl.kind {
            DeclKind::Bits => wide_enough,
            DeclKind::PackedFloat => decl.bits == ty.bits,
            DeclKind::Pred | DeclKind::Unsigned | DeclKind::Signed | DeclKind::Float => false,
        },
    }
}

/// A declared type as the text wrote it, as far as that is known.
fn declared(ty: DeclTy) -> String {
    let letter = match ty.kind {
        DeclKind::Pred => return ".pred".to_string(),
        DeclKind::Bits => 'b',
        DeclKind::Unsigned => 'u',
        DeclKind::Signed => 's',
        DeclKind::Float => 'f',
        DeclKind::PackedFloat => return ".f16x2".to_string(),
    };
    format!(".{letter}{}", ty.bits)
}

/// Element `x`, `y`, `z`, `w`, or `r`, `g`, `b`, `a`.
fn element_index(suffix: &str) -> Option<u8> {
    match suffix {
        "x" | "r" => Some(0),
        "y" | "g" => Some(1),
        "z" | "b" => Some(2),
        "w" | "a" => Some(3),
        _ => None,
    }
}

/// `d` of `d|_`, which the assembler takes wherever one register is written.
fn without_sink<'o, 's>(operand: &'o Operand<'s>) -> &'o Operand<'s> {
    match operand {
        Operand::Pair(first, second, _)
            if matches!(**first, Operand::Expr(_)) && is_sink(second) =>
        {
            first
        }
        other => other,
    }
}

fn is_sink(operand: &Operand<'_>) -> bool {
    matches!(operand, Operand::Expr(Expr::Name { name, suffix: None }) if name.text == "_")
}

impl Resolver<'_, '_> {
    /// The operand for a parameter of the row.
    ///
    /// # Errors
    /// Why it cannot stand there.
    pub(super) fn resolve(
        &mut self,
        param: &Param,
        operand: &Operand<'_>,
    ) -> Result<Arg, Diagnostic> {
        let address = if self.context.address_bits() == 32 {
            Ty::B32
        } else {
            Ty::B64
        };
        let ty = self
            .choice
            .type_of(param.ty, address)
            .map_err(|c| self.broken_row(operand, &c.message))?;
        match param.kind {
            OperandKind::Dst => self.destination(without_sink(operand), ty, exact(param.ty)),
            OperandKind::WideDst => self.destination(without_sink(operand), ty, Fit::Wider),
            OperandKind::Src => {
                self.source(operand, ty, exact(param.ty), takes_functions(param.ty))
            }
            OperandKind::WideSrc => self.source(operand, ty, Fit::Wider, takes_functions(param.ty)),
            OperandKind::ConvertSrc => self.convert_source(operand, ty),
            OperandKind::AnyWidthSrc => self.any_width_source(operand, ty),
            OperandKind::RegSrc => self.register_source(operand, ty),
            OperandKind::Count(most) => self.count(operand, ty, most),
            OperandKind::Literal(least, most) => self.literal(operand, Some((least, most))),
            OperandKind::AnyLiteral => self.literal(operand, None),
            OperandKind::Fraction => self.fraction(operand, ty),
            OperandKind::SetpDst => self.setp_destination(operand),
            OperandKind::SetpOneDst => self.setp_one_destination(operand),
            OperandKind::PairDst => self.pair_destination(operand, ty, exact(param.ty)),
            OperandKind::MaybePairDst => {
                self.maybe_pair_destination(operand, ty, exact(param.ty), false)
            }
            OperandKind::MaybePairSinkDst => {
                self.maybe_pair_destination(operand, ty, exact(param.ty), true)
            }
            OperandKind::SinkDst if is_sink(operand) => {
                self.element_destination(operand, ty, exact(param.ty))
            }
            OperandKind::SinkDst => self.destination(without_sink(operand), ty, exact(param.ty)),
            OperandKind::Pred => self.predicate(operand, false),
            OperandKind::VideoDst => {
                self.video_destination(without_sink(operand), ty, exact(param.ty))
            }
            OperandKind::VideoSrc => self.video_source(operand, ty, exact(param.ty)),
            OperandKind::SimdDst => self.simd(without_sink(operand), ty, exact(param.ty)),
            OperandKind::SimdSrc => self.simd(operand, ty, exact(param.ty)),
            OperandKind::Address => self.address(operand),
            OperandKind::HintAddress => self.hint_address(operand),
            OperandKind::UnreadAddress => self.unread_address(operand),
            OperandKind::AsyncAddress(slot) => {
                let space = self.space_of_slot(slot);
                self.address_in(operand, space, true)
            }
            OperandKind::MbarrierAddress => self.address_in(operand, Space::Shared, true),
            OperandKind::Sink => self.sink(operand),
            OperandKind::AsyncSrc => self.async_source(operand, ty),
            OperandKind::FourSrc => self.four_sources(operand, ty),
            OperandKind::SizeOrPred => self.size_or_predicate(operand, ty),
            OperandKind::SharedSrc => self.shared_source(operand, ty),
            OperandKind::LoadDst => {
                self.load_destination(without_sink(operand), ty, Fit::WiderElement)
            }
            OperandKind::AtomDst if is_sink(operand) => {
                self.element_destination(operand, ty, Fit::Exact)
            }
            OperandKind::AtomDst => self.load_destination(operand, ty, Fit::Exact),
            OperandKind::StoreSrc => self.store_source(operand, ty),
            OperandKind::MovDst => self.mov_destination(without_sink(operand), ty),
            OperandKind::MovSrc => self.mov_source(operand, ty),
            OperandKind::AddressSrc => self.address_source(operand, ty),
        }
    }

    fn mnemonic(&self) -> &str {
        self.instruction.mnemonic.text
    }

    fn broken_row(&self, operand: &Operand<'_>, message: &str) -> Diagnostic {
        Diagnostic::error(
            operand.span(),
            format!(
                "internal error: the row of `{}` is wrong: {message}",
                self.mnemonic()
            ),
        )
    }

    /// What a name stands for; special registers come last.
    fn name(
        &mut self,
        name: ast::Name<'_>,
        suffix: Option<ast::Name<'_>>,
    ) -> Result<Named, Diagnostic> {
        match self.context.lookup(name.text) {
            Some(Symbol::Reg { reg, high, ty }) => match suffix {
                None => Ok(Named::Register(Register { reg, high, ty })),
                Some(suffix) => Err(Diagnostic::error(
                    suffix.span,
                    format!("`{}` has no part `.{}` here", name.text, suffix.text),
                )),
            },
            Some(Symbol::Vector { elements, ty }) => match suffix {
                None => Ok(Named::Vector { elements, ty }),
                Some(suffix) => self.element(&elements, ty, suffix),
            },
            Some(symbol) => match suffix {
                None => Ok(Named::Symbol(symbol)),
                Some(suffix) => Err(Diagnostic::error(
                    suffix.span,
                    format!("`{}` has no part `.{}`", name.text, suffix.text),
                )),
            },
            None => self.special(name, suffix),
        }
    }

    fn element(
        &mut self,
        elements: &[Reg],
        ty: DeclTy,
        suffix: ast::Name<'_>,
    ) -> Result<Named, Diagnostic> {
        let Some(index) = element_index(suffix.text) else {
            return Err(Diagnostic::error(
                suffix.span,
                format!("`.{}` names no element of a vector", suffix.text),
            )
            .label("expected `.x`, `.y`, `.z` or `.w`"));
        };
        let reg = match elements.get(usize::from(index)) {
            Some(reg) => *reg,
            // The assembler takes elements past the end of a `.v2`; they hold nothing.
            None => {
                let class = RegClass::of_bits(ty.bits).unwrap_or(RegClass::B64);
                self.context.fresh(class)
            }
        };
        Ok(Named::Register(Register {
            reg,
            high: None,
            ty,
        }))
    }

    fn special(
        &mut self,
        name: ast::Name<'_>,
        suffix: Option<ast::Name<'_>>,
    ) -> Result<Named, Diagnostic> {
        let Some(found) = special::find(name.text) else {
            let error = Diagnostic::error(name.span, format!("`{}` is not declared", name.text));
            return Err(match self.context.near(name.text) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error,
            });
        };
        available(
            &*self.context,
            name.span,
            format_args!("`{}`", name.text),
            found.since,
            found.target,
        )?;
        let Some(suffix) = suffix else {
            return Ok(Named::Special(found, None));
        };
        match element_index(suffix.text) {
            Some(index) if found.vector => Ok(Named::Special(found, Some(index))),
            Some(_) | None => Err(Diagnostic::error(
                suffix.span,
                format!("`{}` has no part `.{}`", name.text, suffix.text),
            )),
        }
    }

    /// A register by its name, and nothing else.
    fn register(&mut self, operand: &Operand<'_>) -> Result<Register, Diagnostic> {
        let span = operand.span();
        let Operand::Expr(Expr::Name { name, suffix }) = operand else {
            return Err(Diagnostic::error(span, "a register is expected here"));
        };
        if is_sink(operand) {
            return Err(Diagnostic::error(
                span,
                format!("`_` cannot stand here in `{}`", self.mnemonic()),
            ));
        }
        match self.name(*name, *suffix)? {
            Named::Register(register) => Ok(register),
            Named::Vector { .. } => Err(Diagnostic::error(
                span,
                format!("`{}` is a vector; one register is expected here", name.text),
            )),
            Named::Special(..) => Err(Diagnostic::error(
                span,
                format!("the special register `{}` cannot stand here", name.text),
            )
            .hint("read it with `mov` first")),
            Named::Symbol(_) => Err(Diagnostic::error(
                span,
                format!("`{}` is no register", name.text),
            )),
        }
    }

    fn mismatch(&self, span: Span, ty: Ty, decl: DeclTy, fit: Fit) -> Diagnostic {
        let what = match fit {
            Fit::Exact | Fit::Strict => "",
            Fit::Wider | Fit::WiderElement => " or wider",
        };
        let error = Diagnostic::error(
            span,
            format!(
                "a `{}` register does not fit the type `{ty}` of `{}`",
                declared(decl),
                self.mnemonic()
            ),
        );
        if ty.kind == TyKind::Pred {
            error.label("expected a predicate register")
        } else {
            error.label(format!("expected {} bits{what}", ty.bits))
        }
    }

    fn check_fit(
        &self,
        span: Span,
        ty: Ty,
        register: &Register,
        fit: Fit,
    ) -> Result<(), Diagnostic> {
        if fits(ty, register.ty, fit) {
            Ok(())
        } else {
            Err(self.mismatch(span, ty, register.ty, fit))
        }
    }

    fn destination(&mut self, operand: &Operand<'_>, ty: Ty, fit: Fit) -> Result<Arg, Diagnostic> {
        let register = self.register(operand)?;
        self.check_fit(operand.span(), ty, &register, fit)?;
        Ok(register.destination())
    }

    /// The address of a function in a register.
    fn function_address(&mut self, function: crate::ir::FuncId) -> Value {
        let class = if self.context.address_bits() == 32 {
            RegClass::B32
        } else {
            RegClass::B64
        };
        let dst = self.context.fresh(class);
        self.context
            .emit_unguarded(Kind::FunctionAddress { dst, function });
        Value::Reg(dst)
    }
}
