//! Operands of loads and stores: single registers, and as many in braces as `.vN` says.

use super::values::unexpected;
use super::{Fit, Named, Resolver, is_sink};
use crate::check::context::DeclTy;
use crate::diag::{Diagnostic, Span};
use crate::ir::{Operand as Value, Reg, RegClass};
use crate::isa::form::{Arg, SlotName};
use crate::isa::types::{Ty, TyKind};
use crate::syntax::ast::{Expr, Operand};

impl Resolver<'_, '_> {
    /// What `.vN` says; 1 without it.
    pub(super) fn vector_length(&self) -> usize {
        match self.choice.word(SlotName::Vector) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some("v8") => 8,
            Some(_) | None => 1,
        }
    }

    pub(super) fn check_length(&self, span: Span, length: usize) -> Result<(), Diagnostic> {
        let wanted = self.vector_length();
        if length == wanted {
            return Ok(());
        }
        Err(Diagnostic::error(
            span,
            format!(
                "`{}` wants {wanted} element{}, not {length}",
                self.mnemonic(),
                if wanted == 1 { "" } else { "s" }
            ),
        ))
    }

    /// A vector register as a whole, if the operand is one.
    pub(super) fn vector_register(
        &mut self,
        operand: &Operand<'_>,
    ) -> Result<Option<(Vec<Reg>, DeclTy)>, Diagnostic> {
        let Operand::Expr(Expr::Name { name, suffix: None }) = operand else {
            return Ok(None);
        };
        if is_sink(operand) || self.context.lookup(name.text).is_none() {
            return Ok(None);
        }
        match self.name(*name, None)? {
            Named::Vector { elements, ty } => Ok(Some((elements, ty))),
            Named::Register(_) | Named::Special(..) | Named::Symbol(_) => Ok(None),
        }
    }

    /// A register that is written, or `_`, in braces.
    pub(super) fn element_destination(
        &mut self,
        element: &Operand<'_>,
        ty: Ty,
        fit: Fit,
    ) -> Result<Arg, Diagnostic> {
        if is_sink(element) {
            let class = ty.class().unwrap_or(RegClass::B64);
            return Ok(Arg::Dst(None, class));
        }
        self.destination(element, ty, fit)
    }

    /// A vector register whose elements are taken as operands.
    pub(super) fn whole_vector(
        &self,
        span: Span,
        elements: &[Reg],
        decl: DeclTy,
        ty: Ty,
        fit: Fit,
        written: bool,
    ) -> Result<Arg, Diagnostic> {
        self.check_length(span, elements.len())?;
        if !super::fits(ty, decl, fit) {
            return Err(self.mismatch(span, ty, decl, fit));
        }
        let class = RegClass::of_bits(decl.bits).unwrap_or(RegClass::B64);
        Ok(Arg::Vector(
            elements
                .iter()
                .map(|reg| {
                    if written {
                        Arg::Dst(Some(*reg), class)
                    } else {
                        Arg::Src(Value::Reg(*reg), class)
                    }
                })
                .collect(),
        ))
    }

    /// What `ld` writes, and `atom` with `.vN`: elements that fit so.
    pub(super) fn load_destination(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        fit: Fit,
    ) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        if let Operand::Vector(elements, _) = operand {
            self.check_length(span, elements.len())?;
            if elements.iter().all(is_sink) {
                return Err(Diagnostic::error(span, "nothing is loaded"));
            }
            let elements = elements
                .iter()
                .map(|e| self.element_destination(e, ty, fit))
                .collect::<Result<_, _>>()?;
            return Ok(Arg::Vector(elements));
        }
        if let Some((elements, decl)) = self.vector_register(operand)? {
            return self.whole_vector(span, &elements, decl, ty, fit, true);
        }
        if self.vector_length() > 1 {
            return Err(self.no_vector(operand));
        }
        self.destination(operand, ty, Fit::Wider)
    }

    pub(super) fn no_vector(&self, operand: &Operand<'_>) -> Diagnostic {
        Diagnostic::error(
            operand.span(),
            format!(
                "a vector of {} elements is expected here",
                self.vector_length()
            ),
        )
    }

    /// What `st` reads.
    pub(super) fn store_source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        match operand {
            Operand::Vector(elements, _) => {
                self.check_length(span, elements.len())?;
                let elements = elements
                    .iter()
                    .map(|e| self.source(e, ty, Fit::WiderElement, false))
                    .collect::<Result<_, _>>()?;
                Ok(Arg::Vector(elements))
            }
            Operand::Expr(_) => {
                if let Some((elements, decl)) = self.vector_register(operand)? {
                    return self.whole_vector(span, &elements, decl, ty, Fit::WiderElement, false);
                }
                if self.vector_length() > 1 {
                    return Err(self.no_vector(operand));
                }
                self.source(operand, ty, Fit::Wider, true)
            }
            Operand::Not(..) | Operand::Pair(..) | Operand::Address(_) | Operand::List(..) => {
                Err(unexpected(operand))
            }
        }
    }

    /// What `st.async` reads.
    pub(super) fn async_source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        if let Operand::Vector(elements, _) = operand {
            self.check_length(span, elements.len())?;
            let elements = elements
                .iter()
                .map(|e| self.source(e, ty, Fit::Exact, false))
                .collect::<Result<_, _>>()?;
            return Ok(Arg::Vector(elements));
        }
        if let Some((elements, decl)) = self.vector_register(operand)? {
            return self.whole_vector(span, &elements, decl, ty, Fit::Exact, false);
        }
        if self.vector_length() > 1 {
            return Err(self.no_vector(operand));
        }
        self.source(operand, ty, Fit::Exact, false)
    }

    /// `{a, b, e, f}`
    pub(super) fn four_sources(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let span = operand.span();
        let elements = match operand {
            Operand::Vector(elements, _) if elements.len() == 4 => elements,
            _ => {
                return Err(
                    Diagnostic::error(span, "four values in braces are expected here")
                        .label("expected `{a, b, e, f}`"),
                );
            }
        };
        let elements = elements
            .iter()
            .map(|e| self.source(e, ty, Fit::Exact, false))
            .collect::<Result<_, _>>()?;
        Ok(Arg::Vector(elements))
    }

    /// The type of an element when `ty` is made of `count` of them.
    pub(super) fn element_type(&self, span: Span, ty: Ty, count: usize) -> Result<Ty, Diagnostic> {
        if ty.kind != TyKind::Bits {
            return Err(Diagnostic::error(
                span,
                format!("`{ty}` is not made of elements; `.b{}` is", ty.bits),
            ));
        }
        let bits = u32::try_from(count)
            .ok()
            .filter(|n| matches!(n, 2 | 4))
            .map_or(0, |n| ty.bits / n);
        if RegClass::of_bits(bits).is_none() {
            return Err(Diagnostic::error(
                span,
                format!("`{ty}` cannot be made of {count} elements"),
            ));
        }
        Ok(Ty { bits, ..ty })
    }
}
