//! Memory on the stack: sizes for which there is room, and restores of what was saved before.

use super::body::Body;
use super::functions::has_local;
use super::operands::Made;
use super::places::{REGION, Region, Way};
use crate::ir::memory::Space;
use crate::ir::{Operand, Reg};
use crate::isa::form::{Arg, Choice, Form, Param, SlotName};
use crate::isa::types::Ty;

/// Whether a row has to do with memory on the stack.
fn is_of_stack(form: &Form) -> bool {
    matches!(form.mnemonic, "alloca" | "stacksave" | "stackrestore")
}

impl Body<'_, '_> {
    /// Whether a function that is to have no local memory keeps a row out.
    pub(super) fn keeps_out(&self, form: &Form) -> bool {
        is_of_stack(form) && !has_local(self)
    }

    /// The operand for a parameter of such a row, if it is not like those of others. A wild one is.
    pub(super) fn of_stack(&mut self, choice: &Choice<'static>, param: &Param) -> Option<Made> {
        if self.wild > 0 && self.choices.chance(self.wild) {
            return None;
        }
        match (choice.form.mnemonic, param.name) {
            ("alloca", "size") => self.size(choice),
            ("alloca", "immAlign") => {
                let align = 1i64 << self.choices.below(9);
                Some((align.to_string(), Arg::Literal(align)))
            }
            ("stackrestore", "a") => self.saved(choice),
            _ => None,
        }
    }

    /// A few bytes.
    fn size(&mut self, choice: &Choice<'static>) -> Option<Made> {
        let class = choice.class(SlotName::Type).ok()?;
        if self.choices.chance(50) {
            let size = *self.choices.pick(&[0, 1, 4, 13, 64, 200]);
            return Some((size.to_string(), Arg::Src(Operand::Imm(size), class)));
        }
        let from = self.integer_register(Ty::B32)?;
        self.emit("and.b32", &["%t0", &from, "127"]);
        let mut name = "%t0".to_string();
        if class.bits() == 64 {
            name = self.name("%st");
            self.plain(format!(".reg .b64 {name};"));
            self.emit("cvt.u64.u32", &[&name, "%t0"]);
        }
        Some((name, Arg::Src(Operand::Reg(Reg(u32::MAX)), class)))
    }

    /// Where the stack ended before; since then there was more, which was read and written.
    fn saved(&mut self, choice: &Choice<'static>) -> Option<Made> {
        let class = choice.class(SlotName::Type).ok()?;
        let bits = class.bits();
        let [end, memory] = [self.name("%st"), self.name("%st")];
        self.plain(format!(".reg .b{bits} {end}, {memory};"));
        self.emit(&format!("stacksave.u{bits}"), &[&end]);
        let size = REGION.to_string();
        self.emit(&format!("alloca.u{bits}"), &[&memory, &size, "32"]);
        if bits == self.module.target.address_bits {
            let mut regions = vec![Region::new(
                Way::Register(memory.clone()),
                Space::Local,
                Space::Local,
                true,
            )];
            if self.choices.chance(50) {
                let generic = self.name("%st");
                self.plain(format!(".reg .b{bits} {generic};"));
                self.emit(&format!("cvta.local.u{bits}"), &[&generic, &memory]);
                let way = Way::Register(generic);
                regions.push(Region::new(way, Space::Generic, Space::Local, true));
            }
            let all = std::mem::replace(&mut self.regions, regions);
            for _ in 0..self.choices.between(1, 4) {
                let row = *self.choices.pick(&self.module.memory);
                self.row(row);
            }
            self.regions = all;
        }
        Some((end, Arg::Src(Operand::Reg(Reg(u32::MAX)), class)))
    }
}
