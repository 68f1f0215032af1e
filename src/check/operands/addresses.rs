//! Addresses: `[register+offset]`, `[variable+offset]`, `variable[index]`, `[offset]`.

use super::values::{is_name, unexpected};
use super::{Fit, Named, Register, Resolver};
use crate::check::constant::{self, Constant};
use crate::check::context::{DeclKind, Symbol};
use crate::check::instruction::available;
use crate::diag::{Diagnostic, Span};
use crate::ir::convert::Op as ConvertOp;
use crate::ir::integer::{Op as IntegerOp, Part};
use crate::ir::memory::{Address, AddressOf, Base, Space, Var};
use crate::ir::{IntTy, Kind, Operand as Value, Pure, PureOp, Reg, RegClass};
use crate::isa::form::{Arg, SlotName};
use crate::isa::types::Ty;
use crate::syntax::ast::{BinaryOp, Expr, Operand};
use smallvec::smallvec;

/// A place in a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The variable.
    pub var: Var,
    /// Where it lies.
    pub space: Space,
    /// Bytes from its start.
    pub offset: i64,
    /// `variable[register]`: the register, already times the size of an element.
    pub index: Option<Reg>,
}

/// The offset behind a base.
fn offset(expr: &Expr<'_>) -> Result<i64, Diagnostic> {
    match constant::evaluate(expr)? {
        Constant::Int { value, .. } => Ok(value as i64),
        Constant::F32(_) | Constant::F64(_) => {
            Err(Diagnostic::error(expr.span(), "an offset is an integer"))
        }
    }
}

/// The space by the word of an instruction.
fn space_of(word: Option<&str>) -> Option<Space> {
    match word? {
        "global" => Some(Space::Global),
        "shared" | "shared::cta" => Some(Space::Shared),
        "shared::cluster" => Some(Space::Cluster),
        "local" => Some(Space::Local),
        "const" => Some(Space::Const),
        "param" | "param::entry" | "param::func" => Some(Space::Param),
        _ => None,
    }
}

impl Resolver<'_, '_> {
    /// The state space that the instruction names; generic if it names none.
    fn space(&self) -> Space {
        self.space_of_slot(SlotName::Space)
    }

    /// The state space that stands in a slot; generic if none does.
    pub(super) fn space_of_slot(&self, slot: SlotName) -> Space {
        space_of(self.choice.word(slot)).unwrap_or(Space::Generic)
    }

    /// Whether a variable may lie where the instruction says. Generic addresses have windows of global, shared and
    /// local memory.
    pub(super) fn check_space(&self, span: Span, space: Space) -> Result<(), Diagnostic> {
        self.check_space_in(span, space, self.space())
    }

    /// The same, where `wanted` is the space that the instruction says.
    pub(super) fn check_space_in(
        &self,
        span: Span,
        space: Space,
        wanted: Space,
    ) -> Result<(), Diagnostic> {
        let fits = match wanted {
            Space::Generic => matches!(space, Space::Global | Space::Shared | Space::Local),
            Space::Cluster => space == Space::Shared,
            Space::Global | Space::Shared | Space::Local | Space::Const | Space::Param => {
                wanted == space
            }
        };
        if fits {
            return Ok(());
        }
        let name = match space {
            Space::Generic => "generic",
            Space::Global => ".global",
            Space::Shared => ".shared",
            Space::Cluster => ".shared::cluster",
            Space::Local => ".local",
            Space::Const => ".const",
            Space::Param => ".param",
        };
        let error = Diagnostic::error(
            span,
            format!(
                "this variable lies in `{name}`, where `{}` does not look",
                self.mnemonic()
            ),
        );
        Err(if wanted == Space::Generic {
            error.hint(format!("write `{}{name}`", self.mnemonic()))
        } else {
            error
        })
    }

    /// A named variable with an offset or index.
    pub(super) fn variable(&mut self, expr: &Expr<'_>, indexed: bool) -> Result<Place, Diagnostic> {
        let (base, rest) = split(expr);
        let Expr::Name { name, suffix } = base else {
            return Err(Diagnostic::error(
                base.span(),
                "a variable is expected here",
            ));
        };
        let named = self.name(*name, *suffix)?;
        let Named::Symbol(Symbol::Var {
            var,
            space,
            ty,
            array,
            ..
        }) = named
        else {
            return Err(self.no_variable(base.span(), name.text, &named));
        };
        let mut place = Place {
            var,
            space,
            offset: 0,
            index: None,
        };
        let Some(rest) = rest else {
            return Ok(place);
        };
        if !indexed {
            place.offset = offset(rest)?;
            return Ok(place);
        }
        if !array {
            return Err(Diagnostic::error(
                base.span(),
                format!("`{}` is no array", name.text),
            ));
        }
        let size = i64::from(ty.bits / 8);
        let (register, constant) = if is_name(split(rest).0) {
            let (register, constant) = split(rest);
            (Some(register), constant)
        } else {
            (None, Some(rest))
        };
        if let Some(constant) = constant {
            place.offset = offset(constant)?.wrapping_mul(size);
        }
        if let Some(register) = register {
            place.index = Some(self.scaled(register, size)?);
        }
        Ok(place)
    }

    fn no_variable(&self, span: Span, text: &str, named: &Named) -> Diagnostic {
        match named {
            Named::Symbol(Symbol::Function(_)) => Diagnostic::error(
                span,
                format!("the function `{text}` has no place in memory to speak of"),
            ),
            Named::Register(_) | Named::Vector { .. } | Named::Special(..) | Named::Symbol(_) => {
                Diagnostic::error(span, format!("`{text}` is no variable"))
            }
        }
    }

    /// An index in a register times the size of an element, in 32 bits without sign as the assembler has it, in a
    /// register of the width of an address.
    fn scaled(&mut self, index: &Expr<'_>, size: i64) -> Result<Reg, Diagnostic> {
        let register = self.register(&Operand::Expr(index.clone()))?;
        self.check_index(index.span(), &register)?;
        let word = if register.ty.bits >= 32 {
            register.reg
        } else {
            self.widened(&register)
        };
        let product = self.context.fresh(RegClass::B32);
        self.pure(
            PureOp::Integer(IntegerOp::Mul {
                part: Part::Lo,
                ty: IntTy::U32,
            }),
            product,
            &[Value::Reg(word), Value::Imm(size as u64)],
        );
        Ok(self.extended(product))
    }

    /// Only integers of up to 64 bits are addresses or indices.
    fn check_index(&self, span: Span, register: &Register) -> Result<(), Diagnostic> {
        if matches!(
            register.ty.kind,
            DeclKind::Bits | DeclKind::Unsigned | DeclKind::Signed
        ) && register.ty.bits <= 64
        {
            return Ok(());
        }
        Err(Diagnostic::error(
            span,
            "an address is an integer register of up to 64 bits",
        ))
    }

    fn pure(&mut self, op: PureOp, dst: Reg, srcs: &[Value]) {
        self.context.emit_unguarded(Kind::Pure(Pure {
            op,
            dsts: smallvec![Some(dst)],
            srcs: srcs.into(),
        }));
    }

    /// A narrow register zero-extended to 32 bits.
    fn widened(&mut self, register: &Register) -> Reg {
        let from = if register.ty.bits == 8 {
            IntTy::U8
        } else {
            IntTy::U16
        };
        let dst = self.context.fresh(RegClass::B32);
        self.pure(
            PureOp::Convert(ConvertOp::Cvt {
                from,
                to: from,
                sat: false,
                dst: RegClass::B32,
            }),
            dst,
            &[Value::Reg(register.reg)],
        );
        dst
    }

    fn address_class(&self) -> RegClass {
        if self.context.address_bits() == 32 {
            RegClass::B32
        } else {
            RegClass::B64
        }
    }

    /// 32 bits zero-extended to the width of an address.
    fn extended(&mut self, word: Reg) -> Reg {
        if self.address_class() == RegClass::B32 {
            return word;
        }
        let dst = self.context.fresh(RegClass::B64);
        self.pure(PureOp::Convert(ConvertOp::WIDEN), dst, &[Value::Reg(word)]);
        dst
    }

    /// The address of a place as an operand of `mov` and `cvta`.
    pub(super) fn address_value(&mut self, place: Place) -> Arg {
        let of = AddressOf {
            dst: Reg(u32::MAX),
            var: place.var,
            offset: place.offset,
        };
        match place.index {
            None => Arg::AddressOf(of),
            Some(index) => {
                let class = self.address_class();
                Arg::Src(Value::Reg(self.sum(of, index)), class)
            }
        }
    }

    /// An address, put into a register if it is not in one yet.
    pub(super) fn held_address(&mut self, address: &Arg) -> Arg {
        let class = self.address_class();
        let dst = self.context.fresh(class);
        let kind = match address {
            Arg::AddressOf(of) => Kind::AddressOf(AddressOf { dst, ..*of }),
            Arg::Function(function) => Kind::FunctionAddress {
                dst,
                function: *function,
            },
            other => return other.clone(),
        };
        self.context.emit_unguarded(kind);
        Arg::Src(Value::Reg(dst), class)
    }

    /// The address of a variable plus a register.
    fn sum(&mut self, of: AddressOf, index: Reg) -> Reg {
        let class = self.address_class();
        let base = self.context.fresh(class);
        self.context
            .emit_unguarded(Kind::AddressOf(AddressOf { dst: base, ..of }));
        self.added(class, base, Value::Reg(index))
    }

    fn added(&mut self, class: RegClass, base: Reg, distance: Value) -> Reg {
        let ty = if class == RegClass::B32 {
            IntTy::U32
        } else {
            IntTy::U64
        };
        let dst = self.context.fresh(class);
        self.pure(
            PureOp::Integer(IntegerOp::Add { ty, sat: false }),
            dst,
            &[Value::Reg(base), distance],
        );
        dst
    }

    /// A register of type `ty` plus an offset.
    pub(super) fn register_plus(
        &mut self,
        register: &Expr<'_>,
        rest: &Expr<'_>,
        ty: Ty,
    ) -> Result<Arg, Diagnostic> {
        let base = self.register(&Operand::Expr(register.clone()))?;
        self.check_fit(register.span(), ty, &base, Fit::Exact)?;
        let class = base.class();
        let distance = Value::Imm(offset(rest)? as u64 & class.mask());
        let sum = self.added(class, base.reg, distance);
        Ok(Arg::Src(Value::Reg(sum), class))
    }

    /// `[...]`, or `variable[index]`.
    pub(super) fn address(&mut self, operand: &Operand<'_>) -> Result<Arg, Diagnostic> {
        self.address_of_space(operand, self.space(), false)
    }

    /// `[...]` in a space; `narrow`: registers of 32 bits may hold global and generic addresses, too.
    pub(super) fn address_in(
        &mut self,
        operand: &Operand<'_>,
        space: Space,
        narrow: bool,
    ) -> Result<Arg, Diagnostic> {
        self.refuse_index(operand)?;
        self.address_of_space(operand, space, narrow)
    }

    fn address_of_space(
        &mut self,
        operand: &Operand<'_>,
        space: Space,
        narrow: bool,
    ) -> Result<Arg, Diagnostic> {
        let Operand::Address(address) = operand else {
            return Err(
                Diagnostic::error(operand.span(), "an address is expected here")
                    .label("expected `[...]`"),
            );
        };
        if let Some(surplus) = address.rest.first() {
            return Err(Diagnostic::error(
                surplus.span(),
                format!("an address of `{}` has one part", self.mnemonic()),
            ));
        }
        if let Some(suffix) = address.suffix
            && !(suffix.text == "unified"
                && matches!(self.mnemonic(), "ld" | "ldu" | "atom")
                && matches!(space, Space::Generic | Space::Global))
        {
            return Err(Diagnostic::error(
                suffix.span,
                format!(
                    "`.{}` cannot stand behind this address of `{}`",
                    suffix.text,
                    self.mnemonic()
                ),
            ));
        }
        if space == Space::Generic {
            available(
                &*self.context,
                address.span,
                "a generic address",
                (2, 0),
                20,
            )?;
        }
        let (base, rest) = split(&address.base);
        if !is_name(base) {
            return self.absolute(&address.base, space);
        }
        let Expr::Name { name, suffix } = base else {
            return Err(unexpected(operand));
        };
        if let Named::Register(register) = self.name(*name, *suffix)? {
            if address.indexed || suffix.is_some() {
                return Err(Diagnostic::error(
                    base.span(),
                    format!("`{}` is no array", name.text),
                ));
            }
            return self.register_address(base.span(), &register, rest, space, narrow);
        }
        let place = self.variable(&address.base, address.indexed)?;
        self.check_space_in(base.span(), place.space, space)?;
        self.check_param(base.span(), place.var)?;
        let of = AddressOf {
            dst: Reg(u32::MAX),
            var: place.var,
            offset: place.offset,
        };
        let address = match place.index {
            None => Address {
                base: Base::Var(place.var),
                offset: place.offset,
            },
            Some(index) => Address {
                base: Base::Reg(self.sum(of, index)),
                offset: 0,
            },
        };
        Ok(Arg::Address(address, Some(place.space)))
    }

    /// `[...]`, without an index.
    pub(super) fn hint_address(&mut self, operand: &Operand<'_>) -> Result<Arg, Diagnostic> {
        self.address_in(operand, self.space(), false)
    }

    fn refuse_index(&self, operand: &Operand<'_>) -> Result<(), Diagnostic> {
        match operand {
            Operand::Address(address) if address.indexed => Err(Diagnostic::error(
                address.span,
                format!("`{}` takes an address in brackets", self.mnemonic()),
            )),
            _ => Ok(()),
        }
    }

    /// `[...]` where nothing is reached: any register, variable, function or constant.
    pub(super) fn unread_address(&mut self, operand: &Operand<'_>) -> Result<Arg, Diagnostic> {
        let Operand::Address(address) = operand else {
            return Err(
                Diagnostic::error(operand.span(), "an address is expected here")
                    .label("expected `[...]`"),
            );
        };
        if address.indexed || address.suffix.is_some() || !address.rest.is_empty() {
            return Err(Diagnostic::error(
                address.span,
                format!("`{}` takes an address in brackets", self.mnemonic()),
            ));
        }
        let (base, rest) = split(&address.base);
        if let Some(rest) = rest {
            offset(rest)?;
        }
        let Expr::Name { name, suffix } = base else {
            return offset(base).map(|_| Arg::Absent);
        };
        match self.name(*name, *suffix)? {
            Named::Register(_) | Named::Symbol(Symbol::Var { .. } | Symbol::Function(_)) => {
                Ok(Arg::Absent)
            }
            named => Err(self.no_variable(base.span(), name.text, &named)),
        }
    }

    /// `[16]`: only local memory begins at a known address.
    fn absolute(&mut self, expr: &Expr<'_>, space: Space) -> Result<Arg, Diagnostic> {
        let offset = offset(expr)?;
        if space != Space::Local {
            return Err(Diagnostic::error(
                expr.span(),
                "a constant is an address in `.local` memory only",
            ));
        }
        Ok(Arg::Address(
            Address {
                base: Base::Absolute,
                offset,
            },
            None,
        ))
    }

    fn register_address(
        &mut self,
        span: Span,
        register: &Register,
        rest: Option<&Expr<'_>>,
        space: Space,
        narrow: bool,
    ) -> Result<Arg, Diagnostic> {
        self.check_index(span, register)?;
        let wide = matches!(space, Space::Generic | Space::Global);
        if wide && !narrow && register.ty.bits == 32 && self.context.address_bits() == 64 {
            return Err(Diagnostic::error(
                span,
                "a global or generic address is 64 bits wide in this module",
            ));
        }
        if self.choice.word(SlotName::Space) == Some("param::func") && self.context.in_kernel() {
            return Err(Diagnostic::error(
                span,
                "the parameters of a call are reached by name only",
            ));
        }
        let offset = rest.map_or(Ok(0), offset)?;
        let reg = if register.ty.bits < 32 {
            self.widened(register)
        } else {
            register.reg
        };
        Ok(Arg::Address(
            Address {
                base: Base::Reg(reg),
                offset,
            },
            None,
        ))
    }

    /// Which parameters may be read, which written, and by which word.
    fn check_param(&self, span: Span, var: Var) -> Result<(), Diagnostic> {
        let store = self.mnemonic() == "st";
        let word = self.choice.word(SlotName::Space);
        let problem = match var {
            Var::Param(_) if store => "an input parameter cannot be written",
            Var::Return(_) if !store => "a return parameter cannot be read",
            Var::Param(_) if word == Some("param::func") && self.context.in_kernel() => {
                "a parameter of a kernel is `.param::entry`"
            }
            Var::Frame(_) if word == Some("param::entry") => {
                "a parameter of a call is `.param::func`"
            }
            Var::Param(_) | Var::Return(_) | Var::Frame(_) | Var::Module(_) | Var::Local(_) => {
                return Ok(());
            }
        };
        Err(Diagnostic::error(span, problem))
    }
}

/// The base of an address and what is added to it.
fn split<'e, 's>(expr: &'e Expr<'s>) -> (&'e Expr<'s>, Option<&'e Expr<'s>>) {
    match expr {
        Expr::Binary {
            op: BinaryOp::Add,
            lhs,
            rhs,
        } if is_name(lhs) => (lhs, Some(rhs)),
        _ => (expr, None),
    }
}
