//! Threads that are lists of stops. What they are given, and in which order they run, follows from the rules.

use super::{EXITED, LANES, Progress, Record, Schedule, Shuffle, Threads, YIELDED};
use crate::diag::Span;
use crate::ir::sync::{BarrierAction, Op, ShflMode, VoteMode};
use crate::machine::{Fault, FaultKind};

/// Where a thread stops.
#[derive(Debug, Clone, Copy)]
enum Stop {
    At(u32, [u64; 4]),
    Yield,
}

/// The threads of a CTA, each with the stops that it comes to.
struct Script {
    ops: Vec<Op>,
    stops: Vec<Vec<Stop>>,
    next: Vec<usize>,
    /// What each thread was given.
    given: Vec<Vec<[u64; 2]>>,
    /// In which order threads ran.
    ran: Vec<u32>,
}

impl Script {
    fn new(threads: u32, ops: &[Op], stops: impl Fn(u32) -> Vec<Stop>) -> Self {
        let count = threads as usize;
        Script {
            ops: ops.to_vec(),
            stops: (0..threads).map(stops).collect(),
            next: vec![0; count],
            given: vec![Vec::new(); count],
            ran: Vec::new(),
        }
    }

    fn run_all(&mut self) -> Result<Progress, Fault> {
        Schedule::new(self.stops.len() as u32, None).run(self)
    }

    /// The first results that a thread was given.
    fn results(&self, thread: usize) -> Vec<u64> {
        self.given[thread].iter().map(|given| given[0]).collect()
    }

    /// Runs to the end, however often the CTA is left.
    fn finish(&mut self, shuffle: Option<Shuffle>) -> Result<(), Fault> {
        let mut schedule = Schedule::new(self.stops.len() as u32, shuffle);
        while schedule.run(self)? != Progress::Done {}
        Ok(())
    }
}

impl Threads for Script {
    fn run(&mut self, warp: u32, lanes: u32, record: &mut Record) -> Result<(), Fault> {
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            let thread = warp as usize * LANES + lane;
            self.ran.push(thread as u32);
            let next = self.next[thread];
            if next > 0 && matches!(self.stops[thread][next - 1], Stop::At(..)) {
                self.given[thread].push([record.values[0][lane], record.values[1][lane]]);
            }
            self.next[thread] += 1;
            match self.stops[thread].get(next) {
                None => record.sites[lane] = EXITED,
                Some(Stop::Yield) => record.sites[lane] = YIELDED,
                Some(Stop::At(site, values)) => {
                    record.sites[lane] = *site;
                    for (to, from) in record.values.iter_mut().zip(values) {
                        to[lane] = *from;
                    }
                }
            }
        }
        Ok(())
    }

    fn op(&self, site: u32) -> Op {
        self.ops[site as usize]
    }

    fn fault(&self, site: u32, kind: FaultKind, warp: u32, lane: u32) -> Fault {
        let source = std::sync::Arc::new(crate::diag::Source::new("s.ptx", "zero one two three"));
        let module = crate::ir::Module {
            warnings: crate::Diagnostics::new(std::sync::Arc::clone(&source), Vec::new()),
            source,
            version: (8, 0),
            target: String::new(),
            address_bits: 64,
            functions: Vec::new(),
            variables: Vec::new(),
            global_bytes: 0,
            const_bytes: 0,
            files: Vec::new(),
            locations: Vec::new(),
        };
        let span = Span::new(site, site + 1);
        let thread = warp * LANES as u32 + lane;
        Fault::new(kind, &module, crate::ir::FuncId(0), span, u32::MAX).by([0; 3], [thread, 0, 0])
    }
}

fn barrier(action: BarrierAction, counted: bool, aligned: bool) -> Op {
    Op::Barrier {
        action,
        counted,
        aligned,
    }
}

const BALLOT: Op = Op::Vote {
    mode: VoteMode::Ballot,
    sync: true,
};
const OLD_BALLOT: Op = Op::Vote {
    mode: VoteMode::Ballot,
    sync: false,
};
const ALL: u64 = 0xffff_ffff;

fn at(site: u32, a: u64, b: u64) -> Stop {
    Stop::At(site, [a, b, 0, 0])
}

fn sync() -> Op {
    barrier(BarrierAction::Sync, false, true)
}

#[test]
fn lanes_and_warps_run_in_order() {
    let mut script = Script::new(70, &[sync()], |_| vec![at(0, 0, 0)]);
    assert_eq!(script.run_all(), Ok(Progress::Done));
    // The last warp opens the barrier and goes on.
    let order: Vec<u32> = (0..70).chain(64..70).chain(0..64).collect();
    assert_eq!(script.ran, order);
}

#[test]
fn a_ballot_is_of_the_lanes_of_the_mask_that_live() {
    let mut script = Script::new(20, &[BALLOT], |t| match t {
        0..4 => Vec::new(),
        _ => vec![at(0, ALL, u64::from(t % 2))],
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
    assert_eq!(script.results(7), [0xa_aaa0]);
}

#[test]
fn equal_operations_meet_wherever_they_stand() {
    let shfl = Op::Shfl {
        mode: ShflMode::Bfly,
        sync: true,
    };
    let mut script = Script::new(32, &[shfl, BALLOT, shfl], |t| {
        vec![Stop::At(t % 2 * 2, [ALL, u64::from(t), 1, 31])]
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
    assert_eq!(script.given[6], [[7, 1]]);
}

#[test]
fn masks_of_two_branches_do_not_mix() {
    let (even, odd) = (0x5555_5555, 0xaaaa_aaaa);
    let mut script = Script::new(32, &[BALLOT, BALLOT], |t| {
        let mask = if t % 2 == 0 { even } else { odd };
        vec![at(t % 2, mask, 1), at(0, ALL, u64::from(t < 8))]
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
    assert_eq!(script.results(4), [even, 0xff]);
    assert_eq!(script.results(5), [odd, 0xff]);
}

#[test]
fn old_forms_take_those_at_the_first_place_together() {
    let mut script = Script::new(32, &[OLD_BALLOT, Op::ActiveMask], |t| match t {
        0..8 => vec![at(1, 0, 0)],
        8..16 => vec![at(0, 1, 0), at(1, 0, 0)],
        _ => vec![Stop::Yield, at(1, 0, 0)],
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
    assert_eq!(script.results(9), [0xff00, 0xffff]);
    assert_eq!(script.results(0), [0xffff]);
    assert_eq!(script.results(20), [0xffff_0000], "a turn later");
}

#[test]
fn reductions_count_each_thread_once() {
    let red = |action| barrier(action, false, true);
    let ops = [BarrierAction::Popc, BarrierAction::And, BarrierAction::Or].map(red);
    let mut script = Script::new(50, &ops, |t| {
        let p = u64::from(t < 41);
        vec![at(0, 3, p), at(1, 3, p), at(2, 0, p)]
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
    for thread in 0..50 {
        assert_eq!(script.results(thread), [41, 0, 1]);
    }
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let counted = |action| barrier(action, true, true);
    let ops = [counted(BarrierAction::Arrive), counted(BarrierAction::Sync)];
    let mut script = Script::new(64, &ops, |t| vec![at(u32::from(t < 32), 5, 64)]);
    assert_eq!(script.run_all(), Ok(Progress::Done));
}

#[test]
fn a_part_of_the_block_may_wait_for_itself() {
    let sync = barrier(BarrierAction::Sync, true, false);
    let mut script = Script::new(128, &[sync], |t| match t {
        // The last lanes of this warp are over before.
        0..30 | 96..128 => vec![at(0, 1, 64)],
        _ => vec![],
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
}

#[test]
fn who_is_over_is_not_waited_for() {
    let mut script = Script::new(96, &[sync()], |t| match t {
        0..40 => vec![at(0, 0, 0), at(0, 0, 0)],
        40..64 => vec![at(0, 0, 0)],
        _ => vec![Stop::Yield],
    });
    assert_eq!(script.finish(None), Ok(()));
}

#[test]
fn lanes_come_to_an_unaligned_barrier_one_by_one() {
    let sync = barrier(BarrierAction::Sync, false, false);
    let mut script = Script::new(64, &[sync, sync, BALLOT], |t| {
        let site = t % 2;
        vec![at(site, 0, 0), at(2, ALL, 1)]
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
}

#[test]
fn cluster_of_one_arrives_and_waits() {
    let ops = [Op::ClusterArrive { relaxed: false }, Op::ClusterWait];
    let round = [at(0, 0, 0), at(1, 0, 0)];
    let mut script = Script::new(40, &ops, |_| [round, round].concat());
    assert_eq!(script.run_all(), Ok(Progress::Done));
    let mut script = Script::new(40, &ops, |_| vec![at(0, 0, 0); 2]);
    let fault = script.run_all().unwrap_err();
    assert_eq!(fault.kind, FaultKind::DivergedBarrier, "{fault}");
}

#[test]
fn a_round_of_yields_lets_others_run() {
    let mut script = Script::new(64, &[sync()], |t| match t {
        0..63 => vec![at(0, 0, 0)],
        _ => vec![Stop::Yield; 3],
    });
    let mut schedule = Schedule::new(64, None);
    let progress: Vec<Progress> = std::iter::repeat_with(|| schedule.run(&mut script).unwrap())
        .take_while(|progress| *progress != Progress::Done)
        .collect();
    assert_eq!(progress, [Progress::Waits; 2]);
}

#[test]
fn a_cta_that_goes_on_and_on_lets_others_run() {
    let mut script = Script::new(64, &[sync()], |_| vec![at(0, 0, 0); 10_000]);
    assert_eq!(script.run_all(), Ok(Progress::Busy));
    assert_eq!(script.finish(None), Ok(()));
}

#[test]
fn deadlocks_say_who_waits_where() {
    let mut script = Script::new(64, &[sync()], |t| vec![at(0, u64::from(t / 32), 0)]);
    let fault = script.run_all().unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    let text = fault.to_string();
    for line in [
        "threads 0-31 wait at s.ptx:1:1: z (barrier 0 misses threads 32-63)",
        "threads 32-63 wait at s.ptx:1:1: z (barrier 1 misses threads 0-31)",
    ] {
        assert!(text.contains(line), "{text}");
    }

    let mut script = Script::new(32, &[BALLOT, Op::Warp], |t| match t {
        0..16 => vec![at(0, ALL, 0)],
        16..31 => vec![at(1, ALL, 0)],
        _ => Vec::new(),
    });
    let text = script.run_all().unwrap_err().to_string();
    for line in [
        "deadlock",
        "threads 0-15 wait at s.ptx:1:1: z (mask 0xffffffff misses threads 16-30)",
        "threads 16-30 wait at s.ptx:1:2: e (mask 0xffffffff misses threads 0-15)",
        "1 of 32 threads are over",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn what_is_undefined_is_a_diverged_barrier() {
    let counted = barrier(BarrierAction::Sync, true, true);
    let popc = barrier(BarrierAction::Popc, false, true);
    let ops = [sync(), sync(), counted, BALLOT, popc];
    type Stops = fn(u32) -> Vec<Stop>;
    let cases: [(Stops, &str); 8] = [
        (|t| vec![at(t % 2, 0, 0)], "different barriers"),
        (
            |t| vec![at(0, u64::from(t % 2), 0)],
            "name different barriers",
        ),
        (|_| vec![at(0, 16, 0)], "from 0 to 15"),
        (|_| vec![at(2, 0, 40)], "not a multiple of 32"),
        (
            |t| vec![at(2, 0, if t < 32 { 64 } else { 96 })],
            "different numbers",
        ),
        (|_| vec![at(3, 1, 1)], "own mask"),
        (
            |t| vec![at(if t < 32 { 0 } else { 4 }, 0, 0)],
            "different things",
        ),
        (
            |t| {
                vec![if t % 2 == 0 {
                    at(0, 0, 0)
                } else {
                    at(3, ALL, 0)
                }]
            },
            "part of a warp",
        ),
    ];
    for (stops, words) in cases {
        let fault = Script::new(64, &ops, stops).run_all().unwrap_err();
        assert_eq!(fault.kind, FaultKind::DivergedBarrier, "{fault}");
        assert!(fault.to_string().contains(words), "{words}: {fault}");
    }
}

#[test]
fn shuffled_schedules_give_the_same_to_those_that_meet() {
    let stops = |t: u32| {
        let p = u64::from(t.is_multiple_of(3));
        vec![
            at(1, ALL, p),
            Stop::Yield,
            at(0, 0, 0),
            at(1, ALL, u64::from(t.is_multiple_of(5))),
            at(0, 0, 0),
        ]
    };
    let run = |shuffle| {
        let mut script = Script::new(128, &[sync(), BALLOT], stops);
        script.finish(shuffle).unwrap();
        let ballots = |t: usize| [script.given[t][0][0], script.given[t][2][0]];
        ((0..128).map(ballots).collect::<Vec<_>>(), script.ran)
    };
    let (canonical, order) = run(None);
    let orders: Vec<Vec<u32>> = (0..8)
        .map(|seed| {
            let (given, order) = run(Some(Shuffle::new(seed, 3)));
            assert_eq!(given, canonical, "seed {seed}");
            assert_eq!(run(Some(Shuffle::new(seed, 3))).1, order, "reproducible");
            order
        })
        .collect();
    assert!(orders.iter().all(|o| *o != order) && orders[0] != orders[1]);
}
