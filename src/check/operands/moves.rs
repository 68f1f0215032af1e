//! Operands of `mov` and `cvta`: registers, vectors, special registers, addresses.

use super::values::{is_name, unexpected};
use super::{Fit, Named, Resolver, is_sink};
use crate::check::context::Symbol;
use crate::diag::{Diagnostic, Span};
use crate::ir::memory::{Space, Var};
use crate::ir::{Operand as Value, Reg, RegClass};
use crate::isa::form::{Arg, SlotName};
use crate::isa::special::{self, SpecialName};
use crate::isa::types::{Ty, TyKind};
use crate::syntax::ast::{BinaryOp, Expr, Name, Operand};

impl Resolver<'_, '_> {
    /// What `mov` writes: a register, or elements that take the value apart.
    pub(super) fn mov_destination(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        let vector = self.choice.has(SlotName::Vector);
        if let Some((elements, decl)) = self.vector_register(operand)? {
            let element = if vector {
                self.check_length(span, elements.len())?;
                ty
            } else {
                self.element_type(span, ty, elements.len())?
            };
            if !super::fits(element, decl, Fit::Exact) {
                return Err(self.mismatch(span, element, decl, Fit::Exact));
            }
            let class = RegClass::of_bits(decl.bits).unwrap_or(RegClass::B64);
            return Ok(Arg::Vector(
                elements
                    .iter()
                    .map(|reg| Arg::Dst(Some(*reg), class))
                    .collect(),
            ));
        }
        let Operand::Vector(elements, _) = operand else {
            if vector {
                return Err(self.no_vector(operand));
            }
            return self.destination(operand, ty, Fit::Exact);
        };
        if let ([only], TyKind::Bits, false) = (&elements[..], ty.kind, vector) {
            return self.destination(only, ty, Fit::Exact);
        }
        let element = if vector {
            self.check_length(span, elements.len())?;
            ty
        } else {
            self.element_type(span, ty, elements.len())?
        };
        if elements.iter().all(is_sink) {
            return Err(Diagnostic::error(span, "nothing is written"));
        }
        let elements = elements
            .iter()
            .map(|e| self.element_destination(e, element, Fit::Exact))
            .collect::<Result<_, _>>()?;
        Ok(Arg::Vector(elements))
    }

    /// What `mov` reads.
    pub(super) fn mov_source(&mut self, operand: &Operand<'_>, ty: Ty) -> Result<Arg, Diagnostic> {
        if self.choice.has(SlotName::Vector) {
            self.mov_vector_source(operand, ty)
        } else {
            self.mov_scalar(operand, ty)
        }
    }

    fn mov_scalar(&mut self, operand: &Operand<'_>, ty: Ty) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        match operand {
            Operand::Vector(elements, _) => {
                self.only_one_vector(span)?;
                if let ([only], TyKind::Bits) = (&elements[..], ty.kind) {
                    return self.mov_element(only, ty);
                }
                let element = self.element_type(span, ty, elements.len())?;
                let elements = elements
                    .iter()
                    .map(|e| self.mov_element(e, element))
                    .collect::<Result<_, _>>()?;
                Ok(Arg::Vector(elements))
            }
            Operand::Address(address) if address.indexed => {
                self.mov_address(&address.base, true, ty)
            }
            Operand::Expr(Expr::Binary {
                op: BinaryOp::Add,
                lhs,
                ..
            }) if is_name(lhs) => {
                let Operand::Expr(expr) = operand else {
                    return Err(unexpected(operand));
                };
                self.mov_address(expr, false, ty)
            }
            Operand::Expr(Expr::Name { name, suffix }) if name.text != "WARP_SZ" => {
                self.mov_name(operand, *name, *suffix, ty)
            }
            Operand::Expr(_)
            | Operand::Not(..)
            | Operand::Pair(..)
            | Operand::Address(_)
            | Operand::List(..) => self.source(operand, ty, Fit::Exact, false),
        }
    }

    fn mov_name(
        &mut self,
        operand: &Operand<'_>,
        name: Name<'_>,
        suffix: Option<Name<'_>>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        if is_sink(operand) {
            return Err(Diagnostic::error(span, "`_` cannot be read"));
        }
        match self.name(name, suffix)? {
            Named::Register(_) => self.source(operand, ty, Fit::Exact, false),
            Named::Vector { elements, ty: decl } => {
                self.only_one_vector(span)?;
                let element = self.element_type(span, ty, elements.len())?;
                if !super::fits(element, decl, Fit::Exact) {
                    return Err(self.mismatch(span, element, decl, Fit::Exact));
                }
                Ok(Arg::Vector(sources(&elements, decl.bits)))
            }
            Named::Special(special, element) => {
                self.read_special(span, special, element, ty, Fit::Exact)
            }
            Named::Symbol(Symbol::Function(function)) => Ok(Arg::Function(function)),
            Named::Symbol(Symbol::Var { .. }) => {
                self.mov_address(&Expr::Name { name, suffix: None }, false, ty)
            }
            Named::Symbol(Symbol::Opaque) => {
                self.context.unsupported(
                    format!("address of `{}`", name.text),
                    "textures",
                    self.instruction.span,
                );
                let class = ty.class().unwrap_or(RegClass::B64);
                Ok(Arg::Src(Value::Imm(0), class))
            }
            named @ Named::Symbol(_) => Err(self.no_source(span, name.text, &named)),
        }
    }

    /// `mov` packs or unpacks, not both.
    fn only_one_vector(&mut self, span: Span) -> Result<(), Diagnostic> {
        let Some(first) = self.instruction.operands.first() else {
            return Ok(());
        };
        let vector = matches!(first, Operand::Vector(..)) || self.vector_register(first)?.is_some();
        if vector {
            return Err(Diagnostic::error(
                span,
                "`mov` takes a value apart or puts one together, not both",
            )
            .hint("`mov.v2` and `mov.v4` copy vectors"));
        }
        Ok(())
    }

    /// An element in the braces of a source: a register, a constant, a special register.
    fn mov_element(&mut self, operand: &Operand<'_>, ty: Ty) -> Result<Arg, Diagnostic> {
        let Operand::Expr(Expr::Name { name, suffix }) = operand else {
            return self.source(operand, ty, Fit::Exact, false);
        };
        if is_sink(operand) || name.text == "WARP_SZ" || self.context.lookup(name.text).is_some() {
            return self.source(operand, ty, Fit::Exact, false);
        }
        let Named::Special(special, element) = self.name(*name, *suffix)? else {
            return Err(unexpected(operand));
        };
        match self.read_special(operand.span(), special, element, ty, Fit::Strict)? {
            Arg::Special(special) => {
                let class = ty.class().unwrap_or(RegClass::B64);
                let dst = self.context.fresh(class);
                self.context
                    .emit_unguarded(crate::ir::Kind::Special { dst, special });
                Ok(Arg::Src(Value::Reg(dst), class))
            }
            other => Ok(other),
        }
    }

    /// A special register read as a type.
    pub(super) fn read_special(
        &mut self,
        span: Span,
        special: SpecialName,
        element: Option<u8>,
        ty: Ty,
        fit: Fit,
    ) -> Result<Arg, Diagnostic> {
        let kind_fits = match ty.kind {
            TyKind::Pred => special.bits == 1,
            TyKind::Bits | TyKind::Unsigned | TyKind::Signed => special.bits > 1,
            TyKind::Float
            | TyKind::PackedInt { .. }
            | TyKind::PackedFloat
            | TyKind::Alternate(_) => false,
        };
        let width_fits = ty.bits == special.bits
            || (fit == Fit::Wider && ty.bits < special.bits)
            || (fit == Fit::Exact && special.narrow && ty.bits >= 16 && ty.bits < special.bits);
        if !kind_fits || !width_fits {
            return Err(Diagnostic::error(
                span,
                format!(
                    "the special register `{}` cannot be read as `{ty}`",
                    special.name
                ),
            )
            .label(format!(
                "it is {} bit{} wide",
                special.bits,
                if special.bits == 1 { "" } else { "s" }
            )));
        }
        if special.vector && element.is_none() {
            return Err(Diagnostic::error(
                span,
                format!("`{}` is a vector; name an element", special.name),
            )
            .label("expected `.x`, `.y`, `.z` or `.w`"));
        }
        match special::element(special.special, element.unwrap_or(0)) {
            Some(special) => Ok(Arg::Special(special)),
            None => {
                let class = ty.class().unwrap_or(RegClass::B64);
                Ok(Arg::Src(Value::Imm(0), class))
            }
        }
    }

    /// What `mov.v2` and `mov.v4` read.
    fn mov_vector_source(&mut self, operand: &Operand<'_>, ty: Ty) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        if let Some((elements, decl)) = self.vector_register(operand)? {
            return self.whole_vector(span, &elements, decl, ty, Fit::Exact, false);
        }
        match operand {
            Operand::Vector(elements, _) => {
                self.check_length(span, elements.len())?;
                let elements = elements
                    .iter()
                    .map(|e| self.mov_element(e, ty))
                    .collect::<Result<_, _>>()?;
                Ok(Arg::Vector(elements))
            }
            Operand::Expr(Expr::Name { name, suffix: None })
                if self.context.lookup(name.text).is_none()
                    && special::find(name.text).is_some_and(|s| s.vector) =>
            {
                let Named::Special(special, _) = self.name(*name, None)? else {
                    return Err(self.no_vector(operand));
                };
                self.check_length(span, 4)?;
                let elements = (0..4)
                    .map(|index| self.read_special(span, special, Some(index), ty, Fit::Exact))
                    .collect::<Result<_, _>>()?;
                Ok(Arg::Vector(elements))
            }
            Operand::Expr(_)
            | Operand::Not(..)
            | Operand::Pair(..)
            | Operand::Address(_)
            | Operand::List(..) => {
                // The assembler takes one value for the first element and 0 for the others.
                let class = ty.class().unwrap_or(RegClass::B64);
                let mut elements = vec![Arg::Src(Value::Imm(0), class); self.vector_length()];
                elements[0] = match self.mov_scalar(operand, ty)? {
                    of @ (Arg::AddressOf(_) | Arg::Function(_)) => self.held_address(&of),
                    other => other,
                };
                Ok(Arg::Vector(elements))
            }
        }
    }

    /// The address of a variable, moved as `ty`.
    fn mov_address(&mut self, expr: &Expr<'_>, indexed: bool, ty: Ty) -> Result<Arg, Diagnostic> {
        let span = expr.span();
        if !matches!(ty.kind, TyKind::Bits | TyKind::Unsigned | TyKind::Signed) {
            return Err(Diagnostic::error(
                span,
                format!("an address cannot be moved as `{ty}`"),
            ));
        }
        let place = self.variable(expr, indexed)?;
        if let Var::Frame(_) = place.var {
            return Err(Diagnostic::error(
                span,
                "a parameter of a call has no address",
            ));
        }
        // The assembler takes `variable+offset` of any width, as other instructions do.
        let bare = indexed || matches!(expr, Expr::Name { .. });
        if bare
            && ty.bits == 32
            && self.context.address_bits() == 64
            && place.space == Space::Global
        {
            return Err(Diagnostic::error(
                span,
                "the address of a `.global` variable is 64 bits wide",
            ));
        }
        Ok(self.address_value(place))
    }

    /// A source of `cvta`: a register, a constant, or a variable of the space, the first and last with an offset.
    pub(super) fn address_source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        self.address_source_in(operand, ty, None)
    }

    /// The same, of shared memory, in a register if it is none; or the address of a function, which nobody needs.
    pub(super) fn shared_source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let address = self.address_source_in(operand, ty, Some(Space::Shared))?;
        Ok(self.held_address(&address))
    }

    fn address_source_in(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        space: Option<Space>,
    ) -> Result<Arg, Diagnostic> {
        let (expr, indexed) = match operand {
            Operand::Address(address) if address.indexed => (&address.base, true),
            Operand::Expr(expr) => (expr, false),
            Operand::Not(..)
            | Operand::Pair(..)
            | Operand::Vector(..)
            | Operand::Address(_)
            | Operand::List(..) => return Err(unexpected(operand)),
        };
        let symbolic = match expr {
            Expr::Binary {
                op: BinaryOp::Add,
                lhs,
                rhs,
            } if is_name(lhs) => {
                if let (Expr::Name { name, suffix: None }, false) = (&**lhs, indexed)
                    && let Some(Symbol::Reg { .. }) = self.context.lookup(name.text)
                {
                    return self.register_plus(lhs, rhs, ty);
                }
                true
            }
            Expr::Name { name, suffix: None } => {
                matches!(self.context.lookup(name.text), Some(Symbol::Var { .. }))
            }
            _ => false,
        };
        if !symbolic {
            return self.source(operand, ty, Fit::Exact, space.is_some());
        }
        let place = self.variable(expr, indexed)?;
        match space {
            Some(space) => self.check_space_in(expr.span(), place.space, space)?,
            None => self.check_space(expr.span(), place.space)?,
        }
        if let Var::Frame(_) = place.var {
            return Err(Diagnostic::error(
                expr.span(),
                "a parameter of a call has no address",
            ));
        }
        Ok(self.address_value(place))
    }
}

fn sources(elements: &[Reg], bits: u32) -> Vec<Arg> {
    let class = RegClass::of_bits(bits).unwrap_or(RegClass::B64);
    elements
        .iter()
        .map(|reg| Arg::Src(Value::Reg(*reg), class))
        .collect()
}
