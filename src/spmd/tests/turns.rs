//! Where runs ask whether their turn is over, against the definition.

use super::Numbers;
use super::regions::{inst, meeting, module, plan, random_kernel};
use crate::ir::control::Terminator;
use crate::ir::{BasicBlock, Block, Function, Kind};
use crate::spmd::regions::{Regions, Stop};
use crate::spmd::turns::Turns;
use crate::spmd::{Cfg, FunctionPlan};

/// The turns of a kernel that passes some of its points; with its regions as they are for those that do not.
fn turns(plan: &FunctionPlan, passes: impl Fn(u32) -> bool) -> (Turns, Regions, Vec<Option<u32>>) {
    let mut regions = plan.regions.clone().expect("it was cut");
    regions.set_apart(&passes);
    let mut passing = regions.passing(&passes, &[]);
    let function = regions.function.clone();
    let blocks = (0..function.blocks.len() as u32).map(Block);
    let passed: Vec<Option<u32>> = blocks
        .map(|b| regions.meets(b).filter(|&point| passes(point)))
        .collect();
    let cfg = Cfg::new(&function, Some(&passing), &[]);
    let turns = Turns::new(&function, &passing, &cfg, |b| passed[b.index()]);
    passing.enter(|point| turns.asks(point).is_some());
    (turns, passing, passed)
}

/// How many points are passed at most from the start of a block; `None` if there is no end to it.
fn longest(
    all: &(Turns, Regions, Vec<Option<u32>>),
    block: Block,
    way: &mut Vec<Block>,
) -> Option<u32> {
    let (turns, passing, passed) = all;
    let mut most = 0;
    let own = passed[block.index()];
    if own.is_some_and(|point| turns.asks(point).is_some()) {
        return Some(0);
    }
    if passing.meets(block).is_none() {
        let mut next = Vec::new();
        passing
            .function
            .block(block)
            .terminator
            .successors(|b| next.push(b));
        way.push(block);
        for b in next {
            most = most.max(match way.iter().position(|&w| w == b) {
                // Round a cycle without a point one may go for ever.
                Some(at) if way[at..].iter().all(|w| passed[w.index()].is_none()) => 0,
                Some(_) => return None,
                None => longest(all, b, way)?,
            });
        }
        way.pop();
    }
    Some(most + u32::from(own.is_some()))
}

#[test]
fn no_way_is_too_long() {
    let mut numbers = Numbers(31);
    let (mut asked, mut several, mut longer) = (0, 0, 0);
    for _ in 0..1_000 {
        let module = module(random_kernel(&mut numbers));
        let plan = plan(&module).expect("a small kernel");
        let points = &plan.regions.as_ref().expect("it was cut").points;
        let pass: Vec<bool> = (points.iter())
            .map(|p| matches!(p.stop, Stop::Meets { .. }) && numbers.below(4) != 0)
            .collect();
        let all = turns(&plan, |point| pass[point as usize]);
        let (turns, passing, passed) = &all;
        let cfg = Cfg::new(&passing.function, Some(passing), &[]);
        let mut most = 0;
        for &b in cfg.order() {
            let point = passed[b.index()];
            let behind = longest(&all, b, &mut Vec::new()).expect("an end");
            most = most.max(behind);
            let Some(asks) = point.and_then(|point| turns.asks(point)) else {
                continue;
            };
            assert!(passing.is_entered(point.expect("a point")));
            let Terminator::Jump(next) = passing.function.block(b).terminator else {
                panic!("a meeting jumps on");
            };
            let ahead = longest(&all, next, &mut Vec::new()).expect("an end");
            assert_eq!(asks, 1 + ahead, "{}", module.display(0));
            asked += 1;
            several += u32::from(asks > 1);
        }
        assert_eq!(turns.most(), most);
        longer += u32::from(turns.most() > 1);
    }
    assert!(
        asked > 300 && several > 50 && longer > 50,
        "{asked} {several} {longer}"
    );
}

#[test]
fn runs_ask_now_and_then_where_there_is_no_loop() {
    let mut kernel: Function = random_kernel(&mut Numbers(1));
    let block = |insts: usize| BasicBlock {
        insts: (0..insts).map(|_| meeting(None)).collect(),
        terminator: Terminator::Return,
        ..kernel.blocks[0].clone()
    };
    kernel.blocks = vec![block(100)];
    kernel.blocks[0]
        .insts
        .push(inst(Kind::Hint { name: "nanosleep" }));
    let module = module(kernel);
    let plan = plan(&module).expect("a small kernel");
    let (turns, ..) = turns(&plan, |_| true);
    let asked: Vec<(u32, u32)> = (0..100).filter_map(|p| Some((p, turns.asks(p)?))).collect();
    assert_eq!(asked, [(32, 32), (64, 32), (96, 4)]);
    assert_eq!(turns.most(), 32);
    assert!(turns.passes_any());
}
