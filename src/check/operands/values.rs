//! Scalar operands: registers, constants, predicates.

use super::{Fit, Named, Register, Resolver, is_sink};
use crate::check::constant::{self, Constant};
use crate::check::context::{DeclKind, Symbol};
use crate::check::instruction::available;
use crate::diag::{Diagnostic, Span};
use crate::ir::{Operand as Value, Reg, RegClass};
use crate::isa::form::Arg;
use crate::isa::types::{Ty, TyKind};
use crate::syntax::ast::{BinaryOp, Expr, Operand, UnaryOp};

/// Whether an expression is a name, though not that of a constant.
pub(super) fn is_name(expr: &Expr<'_>) -> bool {
    matches!(expr, Expr::Name { name, .. } if name.text != "WARP_SZ")
}

impl Resolver<'_, '_> {
    /// A constant cut to the type.
    pub(super) fn constant(&mut self, expr: &Expr<'_>, ty: Ty) -> Result<Arg, Diagnostic> {
        let span = expr.span();
        let bits = match (constant::evaluate(expr)?, ty.kind) {
            (_, TyKind::Alternate(_) | TyKind::PackedFloat) => return Err(no_constants(span, ty)),
            (_, TyKind::Float) if !ty.has_constants() => return Err(no_constants(span, ty)),
            (
                Constant::Int { value, .. },
                TyKind::Bits | TyKind::Unsigned | TyKind::Signed | TyKind::PackedInt { .. },
            ) => value,
            (Constant::Int { value, .. }, TyKind::Pred) => u64::from(value != 0),
            (Constant::Int { .. }, TyKind::Float) => {
                return Err(Diagnostic::error(
                    span,
                    format!("an integer constant does not fit the type `{ty}`"),
                )
                .hint("write it with a point, or as `0f` or `0d` and its bits"));
            }
            // The assembler takes the 32 bits for a `.f64` as they are.
            (Constant::F32(bits), TyKind::Float) => u64::from(bits),
            (Constant::F32(bits), TyKind::Bits) if ty.bits == 32 => u64::from(bits),
            (Constant::F64(bits), TyKind::Float) if ty.bits == 32 => {
                u64::from((f64::from_bits(bits) as f32).to_bits())
            }
            (Constant::F64(bits), TyKind::Float) => bits,
            (Constant::F64(bits), TyKind::Bits) if ty.bits == 64 => bits,
            (
                Constant::F32(_) | Constant::F64(_),
                TyKind::Pred
                | TyKind::Bits
                | TyKind::Unsigned
                | TyKind::Signed
                | TyKind::PackedInt { .. },
            ) => {
                return Err(Diagnostic::error(
                    span,
                    format!("a floating-point constant does not fit the type `{ty}`"),
                ));
            }
        };
        Ok(match ty.class() {
            Some(class) => Arg::Src(Value::Imm(bits & class.mask()), class),
            None => Arg::Quad(Value::Imm(bits), Value::Imm(0)),
        })
    }

    /// A constant that is an integer.
    fn integer(&mut self, expr: &Expr<'_>) -> Result<i64, Diagnostic> {
        match constant::evaluate(expr)? {
            Constant::Int { value, .. } => Ok(value as i64),
            Constant::F32(_) | Constant::F64(_) => Err(Diagnostic::error(
                expr.span(),
                "an integer constant is expected here",
            )),
        }
    }

    /// A register or constant; with `functions` also the address of one.
    pub(super) fn source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        fit: Fit,
        functions: bool,
    ) -> Result<Arg, Diagnostic> {
        if ty.kind == TyKind::Pred {
            return self.predicate(operand, true);
        }
        let span = operand.span();
        let Operand::Expr(expr) = operand else {
            return Err(unexpected(operand));
        };
        if let Expr::Unary {
            op: UnaryOp::Neg,
            arg,
            ..
        } = expr
            && is_name(arg)
        {
            return Err(Diagnostic::error(
                span,
                format!("`{}` does not negate its operands", self.mnemonic()),
            ));
        }
        if let Expr::Binary {
            op: BinaryOp::Add,
            lhs,
            ..
        } = expr
            && is_name(lhs)
        {
            return self.offset_source(expr, ty);
        }
        let Expr::Name { name, suffix } = expr else {
            return self.constant(expr, ty);
        };
        if !is_name(expr) {
            return self.constant(expr, ty);
        }
        if is_sink(operand) {
            return Err(Diagnostic::error(span, "`_` cannot be read"));
        }
        match self.name(*name, *suffix)? {
            Named::Register(register) => {
                self.check_fit(span, ty, &register, fit)?;
                Ok(register.source())
            }
            Named::Symbol(Symbol::Function(function)) if functions => {
                let class = ty.class().unwrap_or(RegClass::B64);
                Ok(Arg::Src(self.function_address(function), class))
            }
            named => Err(self.no_source(span, name.text, &named)),
        }
    }

    /// `variable+offset` as a number, which the assembler takes where it refuses `variable`.
    fn offset_source(&mut self, expr: &Expr<'_>, ty: Ty) -> Result<Arg, Diagnostic> {
        if !matches!(ty.kind, TyKind::Bits | TyKind::Unsigned | TyKind::Signed) {
            return Err(Diagnostic::error(
                expr.span(),
                format!("an address does not fit the type `{ty}`"),
            ));
        }
        let place = self.variable(expr, false)?;
        let address = self.address_value(place);
        Ok(self.held_address(&address))
    }

    pub(super) fn no_source(&self, span: Span, text: &str, named: &Named) -> Diagnostic {
        match named {
            Named::Special(..) => Diagnostic::error(
                span,
                format!(
                    "`{}` cannot read the special register `{text}`",
                    self.mnemonic()
                ),
            )
            .hint("read it with `mov` first"),
            Named::Vector { .. } => Diagnostic::error(
                span,
                format!("`{text}` is a vector; one register is expected here"),
            ),
            Named::Symbol(Symbol::Var { .. }) => {
                Diagnostic::error(span, format!("the variable `{text}` cannot stand here"))
                    .hint("take its address with `mov`, or load its value with `ld`")
            }
            Named::Symbol(_) | Named::Register(_) => {
                Diagnostic::error(span, format!("`{text}` is no register and no constant"))
            }
        }
    }

    /// A register of at least the type's width, a constant, or a special register.
    pub(super) fn convert_source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        if let Operand::Expr(expr @ Expr::Name { name, suffix }) = operand
            && is_name(expr)
            && !is_sink(operand)
            && self.context.lookup(name.text).is_none()
            && let Named::Special(special, element) = self.name(*name, *suffix)?
        {
            return self.read_special(operand.span(), special, element, ty, Fit::Wider);
        }
        self.source(operand, ty, Fit::Wider, false)
    }

    /// A register of 32 or 64 bits, or a constant.
    pub(super) fn any_width_source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let Operand::Expr(expr) = operand else {
            return Err(unexpected(operand));
        };
        if !is_name(expr) {
            // An integer, whatever the width.
            return self.source(operand, Ty::U64, Fit::Exact, false);
        }
        let register = self.register(operand)?;
        let ok = matches!(register.ty.bits, 32 | 64)
            && !matches!(register.ty.kind, DeclKind::Float | DeclKind::PackedFloat);
        if ok {
            Ok(register.source())
        } else {
            Err(self.mismatch(operand.span(), ty, register.ty, Fit::Exact))
        }
    }

    /// A register.
    pub(super) fn register_source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let register = self.register(operand)?;
        self.check_fit(operand.span(), ty, &register, Fit::Exact)?;
        Ok(register.source())
    }

    /// A register, or a literal from 0 to `most`.
    pub(super) fn count(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        most: u64,
    ) -> Result<Arg, Diagnostic> {
        if let Operand::Expr(expr) = operand
            && let Ok(Constant::Int { value, .. }) = constant::evaluate(expr)
            && value > most
        {
            return Err(out_of_range(
                operand.span(),
                value as i64,
                0,
                i64::try_from(most).unwrap_or(i64::MAX),
            ));
        }
        self.source(operand, ty, Fit::Strict, false)
    }

    /// A literal, in a range if there is one.
    pub(super) fn literal(
        &mut self,
        operand: &Operand<'_>,
        range: Option<(i64, i64)>,
    ) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        let Operand::Expr(expr) = operand else {
            return Err(unexpected(operand));
        };
        if is_name(expr) {
            return Err(Diagnostic::error(span, "a constant is expected here"));
        }
        let value = self.integer(expr)?;
        if let Some((least, most)) = range
            && !(least..=most).contains(&value)
        {
            return Err(out_of_range(span, value, least, most));
        }
        Ok(Arg::Literal(value))
    }

    /// A register, or a floating-point literal above 0 and up to 1.
    pub(super) fn fraction(&mut self, operand: &Operand<'_>, ty: Ty) -> Result<Arg, Diagnostic> {
        let arg = self.source(operand, ty, Fit::Exact, false)?;
        if let Arg::Src(Value::Imm(bits), _) = arg {
            let value = f32::from_bits(bits as u32);
            if !(value > 0.0 && value <= 1.0) {
                return Err(Diagnostic::error(
                    operand.span(),
                    "the fraction lies above 0 and is no greater than 1",
                ));
            }
        }
        Ok(arg)
    }

    fn predicate_register(&mut self, operand: &Operand<'_>) -> Result<Register, Diagnostic> {
        let register = self.register(operand)?;
        self.check_fit(operand.span(), Ty::PRED, &register, Fit::Exact)?;
        Ok(register)
    }

    /// A predicate register or `_`.
    fn predicate_or_sink(&mut self, operand: &Operand<'_>) -> Result<Option<Reg>, Diagnostic> {
        if is_sink(operand) {
            return Ok(None);
        }
        self.predicate_register(operand).map(|r| Some(r.reg))
    }

    /// `p`, `p|q`, with `_` for one of them.
    pub(super) fn setp_destination(&mut self, operand: &Operand<'_>) -> Result<Arg, Diagnostic> {
        match operand {
            Operand::Pair(first, second, span) => {
                let first = self.predicate_or_sink(first)?;
                let second = self.predicate_or_sink(second)?;
                if first.is_none() && second.is_none() {
                    return Err(Diagnostic::error(*span, "nothing is written"));
                }
                Ok(Arg::Dsts(first, second))
            }
            single => Ok(Arg::Dsts(self.predicate_or_sink(single)?, None)),
        }
    }

    /// `p`, `p|_`
    pub(super) fn setp_one_destination(
        &mut self,
        operand: &Operand<'_>,
    ) -> Result<Arg, Diagnostic> {
        let (first, second) = match operand {
            Operand::Pair(first, second, _) => (&**first, Some(&**second)),
            single => (single, None),
        };
        if let Some(second) = second.filter(|second| !is_sink(second)) {
            return Err(Diagnostic::error(
                second.span(),
                format!("this `{}` writes one predicate", self.mnemonic()),
            ));
        }
        let predicate = self.predicate_register(first)?;
        Ok(Arg::Dsts(Some(predicate.reg), None))
    }

    /// `d|p`; `d` may be `_`.
    pub(super) fn pair_destination(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        fit: Fit,
    ) -> Result<Arg, Diagnostic> {
        let Operand::Pair(first, second, _) = operand else {
            return Err(Diagnostic::error(
                operand.span(),
                "a register and a predicate are expected here",
            )
            .label("expected `d|p`"));
        };
        let value = if is_sink(first) {
            None
        } else {
            let register = self.register(first)?;
            self.check_fit(first.span(), ty, &register, fit)?;
            Some(register.reg)
        };
        let predicate = self.predicate_register(second)?;
        Ok(Arg::Dsts(value, Some(predicate.reg)))
    }

    /// `d`, `d|p`, `d|_`; with `sink` also `_` and `_|p`.
    pub(super) fn maybe_pair_destination(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        fit: Fit,
        sink: bool,
    ) -> Result<Arg, Diagnostic> {
        let (first, second) = match operand {
            Operand::Pair(first, second, _) => (&**first, Some(&**second)),
            single => (single, None),
        };
        let value = if sink && is_sink(first) {
            None
        } else {
            let register = self.register(first)?;
            self.check_fit(first.span(), ty, &register, fit)?;
            Some(register.reg)
        };
        let predicate = match second {
            Some(second) if !(is_sink(second) && value.is_some()) => {
                Some(self.predicate_register(second)?.reg)
            }
            Some(_) | None => None,
        };
        Ok(Arg::Dsts(value, predicate))
    }

    /// `_`
    pub(super) fn sink(&mut self, operand: &Operand<'_>) -> Result<Arg, Diagnostic> {
        if is_sink(operand) {
            return Ok(Arg::Dst(None, RegClass::B64));
        }
        Err(Diagnostic::error(
            operand.span(),
            format!("this `{}` gives nothing: write `_`", self.mnemonic()),
        ))
    }

    /// A size, or a predicate register or `!p`.
    pub(super) fn size_or_predicate(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let is_predicate = match operand {
            Operand::Not(..) => true,
            Operand::Expr(Expr::Name { name, suffix: None }) => matches!(
                self.context.lookup(name.text),
                Some(Symbol::Reg { ty, .. }) if ty.kind == DeclKind::Pred
            ),
            _ => false,
        };
        if is_predicate {
            let what = "a predicate for the size";
            available(&*self.context, operand.span(), what, (7, 5), 80)?;
            return self.predicate(operand, false);
        }
        self.source(operand, ty, Fit::Strict, false)
    }

    /// A predicate register, `!p`, or a constant; with `functions` the address of one, too.
    pub(super) fn predicate(
        &mut self,
        operand: &Operand<'_>,
        functions: bool,
    ) -> Result<Arg, Diagnostic> {
        let (expr, negated) = match operand {
            Operand::Expr(expr) => (expr, false),
            Operand::Not(expr, _) => (expr, true),
            Operand::Pair(..) | Operand::Vector(..) | Operand::Address(_) | Operand::List(..) => {
                return Err(unexpected(operand));
            }
        };
        let value = if let Expr::Name { name, suffix } = expr
            && is_name(expr)
        {
            if is_sink(operand) {
                return Err(Diagnostic::error(operand.span(), "`_` cannot be read"));
            }
            match self.name(*name, *suffix)? {
                Named::Register(register) => {
                    self.check_fit(expr.span(), Ty::PRED, &register, Fit::Exact)?;
                    Value::Reg(register.reg)
                }
                // No function lies at address 0.
                Named::Symbol(Symbol::Function(_)) if functions => Value::Imm(1),
                named => return Err(self.no_source(expr.span(), name.text, &named)),
            }
        } else {
            Value::Imm(u64::from(self.integer(expr)? != 0))
        };
        let value = match value {
            Value::Imm(bit) => Value::Imm(bit ^ u64::from(negated)),
            Value::Reg(_) => self.context.negated(value, negated),
        };
        Ok(Arg::Src(value, RegClass::Pred))
    }
}

/// Types whose operands are registers alone.
fn no_constants(span: Span, ty: Ty) -> Diagnostic {
    Diagnostic::error(span, format!("the type `{ty}` has no constants"))
        .label("expected a register")
        .hint("load the constant with `mov.b16` or `mov.b32` first")
}

fn out_of_range(span: Span, value: i64, least: i64, most: i64) -> Diagnostic {
    Diagnostic::error(span, format!("{value} is out of range"))
        .label(format!("expected {least} to {most}"))
}

/// An operand of a kind that cannot stand there at all.
pub(super) fn unexpected(operand: &Operand<'_>) -> Diagnostic {
    let what = match operand {
        Operand::Expr(_) => "this operand",
        Operand::Not(..) => "a negated predicate",
        Operand::Pair(..) => "a pair",
        Operand::Vector(..) => "a vector",
        Operand::Address(_) => "an address",
        Operand::List(..) => "a list",
    };
    Diagnostic::error(operand.span(), format!("{what} cannot stand here"))
}
