//! Kernels whose threads stop: what is kept, against the definition in [`verify`].

use super::{Numbers, increment, kernel, random_function};
use crate::diag::{Source, Span};
use crate::ir::sync::{Meet, Op};
use crate::ir::waits::Waits;
use crate::ir::{
    FuncId, Function, FunctionKind, Guard, Inst, Kind, Module, Reg, RegClass, Special,
};
use crate::spmd::facts::SHALLOW;
use crate::spmd::regions::Stop;
use crate::spmd::verify::verify;
use crate::spmd::{Absent, FunctionPlan, ModulePlan};
use smallvec::{SmallVec, smallvec};

/// Two registers that are written once, if at all.
const STEADY: u32 = 5;

/// A module of one kernel.
pub(super) fn module(kernel: Function) -> Module {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry f() { ret; }\n";
    let source = Source::new("test.ptx", text.to_string());
    let mut module = crate::check::parse_and_check(source).unwrap_or_else(|e| panic!("{e}"));
    module.functions = vec![kernel];
    module
}

pub(super) fn inst(kind: Kind) -> Inst {
    Inst {
        guard: None,
        kind,
        span: Span::default(),
        location: u32::MAX,
    }
}

pub(super) fn meeting(dst: Option<u32>) -> Inst {
    inst(Kind::Meet(Meet {
        op: Op::ActiveMask,
        dsts: smallvec![dst.map(Reg)],
        srcs: SmallVec::new(),
    }))
}

/// A kernel with edges, meetings, loops that may wait and steady values at random.
pub(super) fn random_kernel(numbers: &mut Numbers) -> Function {
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

pub(super) fn plan(module: &Module) -> Result<FunctionPlan, Absent> {
    let waits = Waits::new(module);
    let kernel = FuncId(0);
    let stopping = crate::spmd::inline::stopping(module, &waits);
    let own = Some((&waits, &stopping, kernel));
    FunctionPlan::new(module, &module.functions[0], own, &[], 1)
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

/// Arguments and results in registers and memory, of functions that wait, one in another; one that does not stays a call.
const CALLS: &str = "
.version 8.0
.target sm_80
.address_size 64
.func (.reg .u32 twice) plain(.reg .u32 value) { shl.b32 twice, value, 1; ret; }
.func (.param .b16 sum) inner(.param .b16 half, .param .b64 wide)
{
    .reg .b16 %h;
    .reg .b64 %d;
    bar.sync 0;
    ld.param.u16 %h, [half];
    ld.param.u64 %d, [wide];
    st.param.b16 [sum], %h;
    ret;
}
.func (.param .b32 sum) outer(.param .b32 word, .param .b16 half, .param .b64 wide)
{
    .reg .b16 %h;
    .reg .b32 %r<3>;
    .reg .b64 %d;
    .param .b16 got, handed;
    .param .b64 more;
    ld.param.u16 %h, [half];
    ld.param.u64 %d, [wide];
    ld.param.u32 %r1, [word];
    st.param.b16 [handed], %h;
    st.param.b64 [more], %d;
    call (got), inner, (handed, more);
    ld.param.u16 %h, [got];
    call (%r2), plain, (%r1);
    st.param.b32 [sum], %r2;
    ret;
}
.entry k(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %d<2>;
    .param .b32 word, got;
    .param .b16 half;
    .param .b64 wide;
    ld.param.u64 %d1, [out];
    st.param.b32 [word], 7;
    st.param.b16 [half], 8;
    st.param.b64 [wide], %d1;
    call (got), outer, (word, half, wide);
    ld.param.b32 %r1, [got];
    st.global.u32 [%d1], %r1;
    ret;
}";

#[test]
fn functions_that_wait_are_compiled_within_the_kernel() {
    let source = Source::new("calls.ptx", CALLS);
    let module = crate::check::parse_and_check(source).unwrap_or_else(|e| panic!("{e}"));
    let plan = ModulePlan::new(&module, true, SHALLOW, |_| 1);
    let kernel = module.function("k").expect("the kernel");
    assert_eq!(plan.absent[kernel.index()], None);
    let plan = plan.function(kernel).expect("it can be compiled");
    assert_eq!(verify(plan), Ok(()));
    let regions = plan.regions.as_ref().expect("it waits");
    assert_eq!(regions.points.len(), 1);
    let calls = (regions.function.blocks.iter().flat_map(|b| &b.insts))
        .filter(|inst| matches!(inst.kind, Kind::Call(_)));
    assert_eq!(calls.count(), 1, "that of the function which does not wait");
}

/// Of the meetings of a kernel in order, which sources are constants and whether the results are read.
fn known(body: &str) -> Vec<([Option<u64>; 4], [bool; 2])> {
    let (_, plan) = kernel(body);
    (plan.known.iter())
        .map(|known| {
            (
                [0, 1, 2, 3].map(|i| known.constant(i)),
                [0, 1].map(|i| known.wants(i)),
            )
        })
        .collect()
}

#[test]
fn constants_of_meetings_may_be_in_registers() {
    let all = Some(0xffff_ffff);
    let text = "
        mov.u32 %r2, -1;
        mov.u32 %r3, 31;
        shfl.sync.bfly.b32 %r4|%p1, %r1, 16, %r3, %r2;
        @%p1 add.u32 %r4, %r4, 1;
        vote.sync.ballot.b32 %r5, 1, %r2;
        st.global.u32 [%d1], %r4;
        bar.sync 3;";
    assert_eq!(
        known(text),
        [
            ([all, None, Some(16), Some(31)], [true, true]),
            ([all, Some(1), None, None], [false, false]),
            ([Some(3), None, None, None], [false, false]),
        ]
    );
}

#[test]
fn registers_that_may_hold_something_else_are_no_constants() {
    let bodies = [
        // Guarded; written twice; written behind it in a loop; written on one of two ways.
        "setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r2, 1; bar.sync %r2;",
        "mov.u32 %r2, 1; bar.sync %r2; mov.u32 %r2, 2; bar.sync %r2;",
        "again: bar.sync %r2; mov.u32 %r2, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra again;",
        "setp.eq.u32 %p1, %r1, 0; @%p1 bra over; mov.u32 %r2, 1; over: bar.sync %r2;",
        "mov.u32 %r2, %r1; bar.sync %r2;",
    ];
    for body in bodies {
        assert!(
            known(body).iter().all(|(sources, _)| sources[0].is_none()),
            "{body}"
        );
    }
    assert_eq!(
        known("mov.u32 %r2, 1; again: bar.sync %r2; setp.eq.u32 %p1, %r1, 0; @%p1 bra again;")[0].0,
        [Some(1), None, None, None]
    );
}

#[test]
fn plans_with_points_are_shown() {
    let (module, plan) = kernel(
        "ld.global.u32 %r2, [%d1];
         add.u32 %r3, %r1, 1;
         bar.sync 0;
         add.u32 %r2, %r2, %r3;
         st.global.u32 [%d1], %r2;",
    );
    let text = crate::spmd::dump(&module, &plan, FuncId(0));
    assert!(
        text.contains("1 point, a region behind it, 2 blocks"),
        "{text}"
    );
    let register = |name: &str| {
        module.functions[0]
            .regs
            .iter()
            .position(|r| &*r.name == name)
    };
    let loaded = register("%r2").expect("the register");
    assert!(
        text.contains(&format!(
            "point 0: meets others, keeps r{loaded}, finds again"
        )),
        "{text}"
    );
}
