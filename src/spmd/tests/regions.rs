//! Kernels whose threads stop: what is kept, against the definition in [`verify`].

use super::{Numbers, increment, random_function};
use crate::diag::{Source, Span};
use crate::ir::sync::{Meet, Op};
use crate::ir::waits::Waits;
use crate::ir::{
    FuncId, Function, FunctionKind, Guard, Inst, Kind, Module, Reg, RegClass, Special,
};
use crate::spmd::regions::Stop;
use crate::spmd::verify::verify;
use crate::spmd::{Absent, FunctionPlan};
use smallvec::{SmallVec, smallvec};

/// Two registers that are written once, if at all.
const STEADY: u32 = 5;

/// A module of one kernel.
fn module(kernel: Function) -> Module {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry f() { ret; }\n";
    let source = Source::new("test.ptx", text.to_string());
    let mut module = crate::check::parse_and_check(source).unwrap_or_else(|e| panic!("{e}"));
    module.functions = vec![kernel];
    module
}

fn inst(kind: Kind) -> Inst {
    Inst {
        guard: None,
        kind,
        span: Span::default(),
        location: u32::MAX,
    }
}

fn meeting(dst: Option<u32>) -> Inst {
    inst(Kind::Meet(Meet {
        op: Op::ActiveMask,
        dsts: smallvec![dst.map(Reg)],
        srcs: SmallVec::new(),
    }))
}

/// A kernel with edges, meetings, loops that may wait and steady values at random.
fn random_kernel(numbers: &mut Numbers) -> Function {
    let mut kernel = random_function(numbers);
    kernel.kind = FunctionKind::Kernel;
    // Slots of both widths.
    kernel.regs[1].class = RegClass::B64;
    for block in &mut kernel.blocks {
        for _ in 0..numbers.below(3) {
            let at = numbers.below(block.insts.len() + 1);
            let reg = numbers.below(4) as u32;
            let mut new = match numbers.below(5) {
                0 => inst(Kind::Hint { name: "nanosleep" }),
                1 => inst(Kind::Special {
                    dst: Reg(reg),
                    special: Special::Tid(0),
                }),
                2 => increment(reg, STEADY + numbers.below(2) as u32),
                3 => meeting(None),
                _ => meeting(Some(reg)),
            };
            if numbers.below(4) == 0 {
                new.guard = Some(Guard {
                    reg: Reg(4),
                    negated: numbers.below(2) == 0,
                });
            }
            block.insts.insert(at, new);
        }
    }
    // Some kernels begin with what need not be kept; it is not defined yet where the first block is a loop's.
    let class = kernel.regs[0].clone();
    kernel.regs.extend([class.clone(), class]);
    if numbers.below(2) == 0 {
        let tid = Special::Tid(0);
        let dst = Reg(STEADY);
        let own = [
            inst(Kind::Special { dst, special: tid }),
            increment(STEADY + 1, STEADY),
        ];
        kernel.blocks[0].insts.splice(0..0, own);
    }
    kernel
}

fn plan(module: &Module) -> Result<FunctionPlan, Absent> {
    let waits = Waits::new(module);
    let kernel = FuncId(0);
    let stopping = crate::spmd::inline::stopping(module, &waits);
    let own = Some((&waits, &stopping, kernel));
    FunctionPlan::new(module, &module.functions[0], own)
}

#[test]
fn nothing_that_is_read_behind_a_point_is_lost() {
    let mut numbers = Numbers(21);
    let (mut points, mut yields, mut framed, mut rebuilt) = (0, 0, 0, 0);
    for _ in 0..2_000 {
        let module = module(random_kernel(&mut numbers));
        let plan = plan(&module).expect("a small kernel");
        verify(&plan).unwrap_or_else(|e| panic!("{e}\n{}", module.display(0)));
        let regions = plan.regions.as_ref().expect("it was cut");
        points += regions.points.len();
        let at_heads = regions
            .points
            .iter()
            .filter(|p| matches!(p.stop, Stop::Yields(_)));
        yields += at_heads.count();
        framed += plan.crossings.iter().map(|c| c.framed.len()).sum::<usize>();
        rebuilt += plan
            .crossings
            .iter()
            .map(|c| c.rebuilt.len())
            .sum::<usize>();
    }
    assert!(points > 4_000 && yields > 200, "{points} {yields}");
    assert!(framed > 2_000 && rebuilt > 100, "{framed} {rebuilt}");
}

#[test]
fn what_is_lost_is_noticed() {
    let mut numbers = Numbers(22);
    let mut noticed = 0;
    for _ in 0..300 {
        let module = module(random_kernel(&mut numbers));
        let mut plan = plan(&module).expect("a small kernel");
        let Some(crossing) = plan.crossings.iter_mut().find(|c| !c.framed.is_empty()) else {
            continue;
        };
        let lost = crossing.framed.pop();
        crossing.slots.pop();
        assert!(verify(&plan).is_err(), "{lost:?}\n{}", module.display(0));
        noticed += 1;
    }
    assert!(noticed > 50, "{noticed}");
}
