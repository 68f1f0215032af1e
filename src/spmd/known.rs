//! What is known of the meetings of a module before anybody comes to them: sources that are constants, results that nobody
//! reads.

use super::cfg::Cfg;
use crate::ir::convert;
use crate::ir::sync::{Meet, as_meet};
use crate::ir::waits::{Site, Waits};
use crate::ir::{Block, Function, Inst, Kind, Module, Operand, ParamKind, Pure, PureOp, Reg};
use crate::machine::schedule::Known;
use rustc_hash::FxHashMap;

/// Of each site.
pub(super) fn known(module: &Module, waits: &Waits) -> Vec<Known> {
    let mut functions = FxHashMap::default();
    (waits.sites().iter())
        .map(|site| {
            let function = &module.functions[site.function.index()];
            let registers =
                (functions.entry(site.function)).or_insert_with(|| Registers::new(function));
            let inst = function.block(site.block).insts.get(site.inst as usize);
            match inst.and_then(|inst| as_meet(&inst.kind)) {
                Some(meet) => registers.known(site, meet),
                None => Known::NOTHING,
            }
        })
        .collect()
}

/// Registers of a function.
struct Registers {
    cfg: Cfg,
    /// Those that have one definition, which is a move of a constant, with its place.
    constants: FxHashMap<Reg, (Block, u32, u64)>,
    /// Those that are read.
    read: Vec<bool>,
}

impl Registers {
    fn new(function: &Function) -> Self {
        let count = function.regs.len();
        let mut definitions = vec![0u32; count];
        let mut read = vec![false; count];
        let mut constants = FxHashMap::default();
        let registers = |params: &[crate::ir::Param]| -> Vec<Reg> {
            let kinds = params.iter().map(|param| param.kind);
            kinds
                .filter_map(|kind| match kind {
                    ParamKind::Reg(reg) => Some(reg),
                    ParamKind::Memory => None,
                })
                .collect()
        };
        for reg in registers(&function.params) {
            definitions[reg.index()] += 1;
        }
        for reg in registers(&function.returns) {
            read[reg.index()] = true;
        }
        for (block, body) in (0..).map(Block).zip(&function.blocks) {
            for (i, inst) in (0..).zip(&body.insts) {
                inst.defs(|reg| definitions[reg.index()] += 1);
                inst.uses(|reg| read[reg.index()] = true);
                if let Some((reg, value)) = moved(inst) {
                    constants.insert(reg, (block, i, value));
                }
            }
            if let Some(reg) = body.terminator.uses() {
                read[reg.index()] = true;
            }
        }
        constants.retain(|reg, _| definitions[reg.index()] == 1);
        Registers {
            cfg: Cfg::new(function, None, &[]),
            constants,
            read,
        }
    }

    fn known(&self, site: &Site, meet: &Meet) -> Known {
        let constants = meet.srcs.iter().map(|src| match *src {
            Operand::Imm(value) => Some(value),
            Operand::Reg(reg) => {
                let &(block, inst, value) = self.constants.get(&reg)?;
                let before = match block == site.block {
                    true => inst < site.inst,
                    false => self.cfg.strictly_dominates(block, site.block),
                };
                before.then_some(value)
            }
        });
        let wanted = (meet.dsts.iter()).map(|dst| dst.is_some_and(|reg| self.read[reg.index()]));
        Known::new(meet.op, constants, wanted)
    }
}

/// What an instruction moves where, if that is a constant.
fn moved(inst: &Inst) -> Option<(Reg, u64)> {
    match (&inst.kind, inst.guard) {
        (
            Kind::Pure(Pure {
                op: PureOp::Convert(convert::Op::Mov { .. }),
                dsts,
                srcs,
            }),
            None,
        ) => match (&dsts[..], &srcs[..]) {
            (&[Some(reg)], &[Operand::Imm(value)]) => Some((reg, value)),
            _ => None,
        },
        _ => None,
    }
}
