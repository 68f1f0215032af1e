//! The values of names and operands: what they are, what they become, under guards too.

use super::super::emit::clif_type;
use super::{Lower, Permit};
use crate::ir::float::FloatTy;
use crate::ir::{Block, Guard, Operand, Reg, RegClass};
use crate::spmd::Name;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F32, F64};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Type, Value};
use smallvec::SmallVec;

impl<'a, 'f> Lower<'a, 'f> {
    pub(in super::super) fn block_args(&mut self, to: Block) -> SmallVec<[BlockArg; 8]> {
        let mut args = SmallVec::new();
        for &name in self.flow.ssa.phis(to) {
            match self.varies(name) {
                true => args.extend(self.met_vectors(name).into_iter().map(BlockArg::from)),
                false => args.push(self.met(name).into()),
            }
        }
        args
    }

    /// The type of a name where values of it meet.
    pub(super) fn met_type(&self, name: Name) -> Type {
        match self.plan.floats.of(name) {
            Some(FloatTy::F64) => F64,
            Some(_) => F32,
            None => clif_type(self.plan.names.class(name)),
        }
    }

    /// The value of a name for where it meets others.
    pub(super) fn met(&mut self, name: Name) -> Value {
        match (self.plan.floats.of(name), self.current[name.index()]) {
            (None, _) => self.value(name),
            (Some(ty), None) => self.emit().float_k(ty, 0.0),
            (Some(ty), Some(value)) => self.emit().as_float(ty, value),
        }
    }

    /// The bits of a name here.
    pub(in super::super) fn value(&mut self, name: Name) -> Value {
        match self.current[name.index()] {
            Some(value) => self.emit().settled(value),
            None => self.k(clif_type(self.plan.names.class(name)), 0),
        }
    }

    pub(in super::super) fn set(&mut self, name: Name, value: Value) {
        let old = self.current[name.index()].replace(value);
        self.undo.push((name, old));
    }

    /// A guard as it is now: an instruction may write the predicate that guards it.
    pub(in super::super) fn permit(&mut self, guard: Option<Guard>) -> Option<Permit> {
        guard.map(|guard| Permit {
            cond: self.value(guard.reg.into()),
            negated: guard.negated,
        })
    }

    /// Sets a name where the guard lets it through. Only for values that may be computed without.
    pub(in super::super) fn set_guarded(
        &mut self,
        permit: Option<Permit>,
        name: Name,
        value: Value,
    ) {
        let value = match permit {
            None => value,
            Some(permit) => {
                let value = self.emit().settled(value);
                let old = self.value(name);
                let (yes, no) = if permit.negated {
                    (old, value)
                } else {
                    (value, old)
                };
                self.b.ins().select(permit.cond, yes, no)
            }
        };
        self.set(name, value);
    }

    pub(in super::super) fn set_resized(&mut self, guard: Option<Guard>, dst: Reg, value: Value) {
        let ty = clif_type(self.function.class(dst));
        let value = self.emit().resize(value, ty, false);
        let permit = self.permit(guard);
        self.set_guarded(permit, dst.into(), value);
    }

    /// The value of an operand of floating-point arithmetic: as it is if it is a number, otherwise its bits.
    pub(super) fn number(&mut self, operand: Operand, class: RegClass) -> Value {
        let here = match operand {
            Operand::Reg(reg) => self.current[Name::from(reg).index()],
            Operand::Imm(_) => None,
        };
        match here {
            Some(value) if self.b.func.dfg.value_type(value).bits() == class.bits() => value,
            Some(_) | None => self.operand(operand, class),
        }
    }

    /// The value of a name as memory is to have it.
    pub(in super::super) fn kept(&mut self, name: Name) -> Value {
        match self.current[name.index()] {
            Some(value) => self.settled_float(value),
            None => self.value(name),
        }
    }

    /// The type in which memory gives the value of a name: a float type for what arithmetic uses.
    pub(in super::super) fn kept_type(&self, name: Name) -> Type {
        match (
            self.plan.floats.is_operand(name),
            self.plan.names.class(name),
        ) {
            (true, RegClass::B32) => F32,
            (true, RegClass::B64) => F64,
            (_, class) => clif_type(class),
        }
    }

    /// The value of an operand as memory is to have it: of a float type if it is a number of this class.
    pub(in super::super) fn stored(&mut self, operand: Operand, class: RegClass) -> Value {
        let value = self.number(operand, class);
        self.settled_float(value)
    }

    /// What [`Emit::settled`] gives, but of a float type if the value is. A NaN is not foreseen.
    pub(super) fn settled_float(&mut self, value: Value) -> Value {
        if !self.emit().is_unsettled(value) {
            return value;
        }
        let ty = self.b.func.dfg.value_type(value);
        let (next, cold) = (self.b.create_block(), self.cold_block());
        let settled = self.b.append_block_param(next, ty);
        let is_number = self.b.ins().fcmp(FloatCC::Ordered, value, value);
        (self.b.ins()).brif(is_number, next, &[value.into()], cold, &[]);
        self.b.switch_to_block(cold);
        let nan = self.emit().canonical_nan(ty);
        self.b.ins().jump(next, &[nan.into()]);
        self.b.switch_to_block(next);
        settled
    }

    /// The value of an operand, of which the low bits count.
    pub(in super::super) fn operand(&mut self, operand: Operand, class: RegClass) -> Value {
        let ty = clif_type(class);
        match operand {
            Operand::Imm(value) => self.k(ty, value & class.mask()),
            Operand::Reg(reg) => {
                let value = self.value(reg.into());
                self.emit().resize(value, ty, false)
            }
        }
    }
}
