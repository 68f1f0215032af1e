//! Threads that are lists of stops. What they are given, and in which order they run, follows from the rules.

use super::{EXITED, Known, LANES, Progress, Ran, Record, Schedule, Shuffle, Threads, YIELDED};
use crate::diag::Span;
use crate::ir::RegClass;
use crate::ir::sync::{BarrierAction, Op, ReduxOp, ShflMode, VoteMode};
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
    /// By site, what threads leave out of the record.
    known: Vec<Known>,
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
            known: Vec::new(),
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
    fn run(&mut self, warp: u32, lanes: u32, _: u32, record: &mut Record) -> Result<Ran, Fault> {
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
                    let known = self.known.get(*site as usize);
                    for (source, (to, from)) in record.values.iter_mut().zip(values).enumerate() {
                        let left_out = known.and_then(|known| known.constant(source)).is_some();
                        to[lane] = if left_out { 0xdead } else { *from };
                    }
                }
            }
        }
        let ran = (0..LANES).filter(|lane| lanes >> lane & 1 != 0);
        let sites: Vec<u32> = ran.map(|lane| record.sites[lane]).collect();
        let together = sites.iter().all(|site| *site == sites[0]);
        Ok(Ran {
            together: (together && !self.known.is_empty()).then_some(sites[0]),
            runs: 1,
        })
    }

    fn known(&self, site: u32) -> Option<&Known> {
        self.known.get(site as usize)
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
            reading: Default::default(),
            functions: Vec::new(),
            variables: Vec::new(),
            global_bytes: 0,
            const_bytes: 0,
            files: Vec::new(),
            locations: Vec::new(),
            clusters: false,
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
    // The last warp opens the barrier, and its turn is over.
    let order: Vec<u32> = (0..70).chain(0..70).collect();
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

fn cluster_ops(aligned: bool) -> [Op; 2] {
    let relaxed = false;
    [
        Op::ClusterArrive { aligned, relaxed },
        Op::ClusterWait { aligned },
    ]
}

/// CTAs of a cluster, by rank.
struct Scripts(Vec<(Script, Schedule, u32)>);

impl super::Cta for (Script, Schedule, u32) {
    fn schedule(&mut self) -> &mut Schedule {
        &mut self.1
    }

    fn standing(&mut self) -> Result<super::Standing, Fault> {
        Ok(self.1.standing(&self.0))
    }

    fn block(&self) -> [u32; 3] {
        [self.2, 0, 0]
    }

    fn others_are_over(&mut self, _: u32) {}
}

impl Scripts {
    fn new(ctas: Vec<Script>) -> Self {
        let of = |(rank, script): (u32, Script)| {
            let threads = script.stops.len() as u32;
            (script, Schedule::new(threads, None).accompanied(), rank)
        };
        Scripts((0..).zip(ctas).map(of).collect())
    }

    fn run(&mut self) -> Result<Progress, Fault> {
        super::Cluster::new(None).run(&mut self.0, |(script, schedule, _)| schedule.run(script))
    }
}

#[test]
fn cluster_of_several_waits_for_all_of_them() {
    let ops = cluster_ops(false);
    let round = [at(0, 0, 0), at(1, 0, 0)];
    // The second has fewer threads, of which some leave; the third leaves at once.
    let mut scripts = Scripts::new(vec![
        Script::new(40, &ops, |_| [round, round].concat()),
        Script::new(3, &ops, |t| match t {
            0 => round.to_vec(),
            _ => [round, round].concat(),
        }),
        Script::new(33, &ops, |_| Vec::new()),
    ]);
    assert_eq!(scripts.run(), Ok(Progress::Done));
    // The first came to its second arrival only after the second's first.
    assert_eq!(scripts.0[0].0.next, [5; 40]);
}

#[test]
fn cluster_that_misses_somebody_says_whom() {
    let ops = [&cluster_ops(true)[..], &[sync()]].concat();
    let round = [at(0, 0, 0), at(1, 0, 0)];
    let mut scripts = Scripts::new(vec![
        Script::new(2, &ops, |_| round.to_vec()),
        Script::new(64, &ops, |t| match t {
            0..32 => vec![at(2, 0, 0)],
            _ => round.to_vec(),
        }),
    ]);
    let fault = scripts.run().unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock, "{fault}");
    assert_eq!(fault.block, [0; 3]);
    let text = fault.to_string();
    assert!(
        text.contains("block (0, 0, 0): threads 0-1 wait at"),
        "{text}"
    );
    assert!(
        text.contains("the cluster misses threads 0-31 of block (1, 0, 0)"),
        "{text}"
    );
    // What is undefined within a warp is told first, whichever block it is in.
    let mut scripts = Scripts::new(vec![
        Script::new(2, &ops, |_| round.to_vec()),
        Script::new(64, &ops, |t| match t {
            7 => vec![at(2, 0, 0)],
            _ => round.to_vec(),
        }),
    ]);
    let fault = scripts.run().unwrap_err();
    assert_eq!(fault.kind, FaultKind::DivergedBarrier, "{fault}");
    let text = fault.to_string();
    assert!(
        text.contains("threads of one warp wait at different barriers"),
        "{text}"
    );
}

#[test]
fn cluster_that_spins_lets_others_run() {
    let ops = cluster_ops(false);
    let mut scripts = Scripts::new(vec![
        Script::new(1, &ops, |_| vec![Stop::Yield; 3]),
        Script::new(1, &ops, |_| vec![at(0, 0, 0), at(1, 0, 0)]),
    ]);
    assert_eq!(scripts.run(), Ok(Progress::Waits));
}

#[test]
fn cluster_of_one_arrives_and_waits() {
    let ops = cluster_ops(false);
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

#[test]
fn deadlocks_say_for_how_many_threads_a_barrier_waits() {
    let counted = barrier(BarrierAction::Sync, true, false);
    let mut script = Script::new(96, &[counted], |t| match t {
        // Of the second warp nobody comes, of the third two threads are over before the others come.
        0..30 | 66..96 => vec![at(0, 2, 96)],
        30 => vec![at(0, 1, 32)],
        31 => vec![at(0, 2, 96)],
        _ => Vec::new(),
    });
    // Barrier 1 has the rest of a warp to wait for, barrier 2 the second warp.
    let fault = script.run_all().unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    let text = fault.to_string();
    for line in [
        "threads 0-29, 31, 66-95 wait at s.ptx:1:1: z (barrier 2 wants 96 threads, 63 have come)",
        "thread 30 waits at s.ptx:1:1: z (barrier 1 wants 32 threads, 1 have come)",
        "34 of 96 threads are over",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn deadlocks_say_who_of_a_warp_is_missing() {
    let ops = [sync(), Op::Warp];
    let mut script = Script::new(96, &ops, |t| match t {
        32..60 => vec![at(0, 0, 0)],
        60 => vec![at(1, 1 << 28 | 1 << 29, 0)],
        61 => vec![at(1, ALL, 0)],
        62..64 => Vec::new(),
        _ => vec![at(0, 0, 0)],
    });
    let fault = script.run_all().unwrap_err();
    assert_eq!(fault.kind, FaultKind::DivergedBarrier);
    let text = fault.to_string();
    for line in [
        "a part of a warp waits at a barrier that is `.aligned`, the rest elsewhere",
        "threads 0-59, 64-95 wait at s.ptx:1:1: z (of their warps threads 60-61 are missing)",
        "thread 60 waits at s.ptx:1:2: e (mask 0x30000000 misses thread 61)",
        "thread 61 waits at s.ptx:1:2: e (mask 0xffffffff misses threads 32-60)",
        "2 of 96 threads are over",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn long_reports_are_cut_short() {
    // Each thread has a mask of itself and its successor, who has another.
    let pairs = |threads: u32| {
        Script::new(threads, &[Op::Warp], |t| {
            let lane = t % 32;
            vec![
                at(0, 1 << lane | 1 << (lane ^ 1), 0),
                at(0, 1 << lane | 1 << ((lane + 2) % 32), 0),
            ]
        })
    };
    let text = pairs(32).run_all().unwrap_err().to_string();
    assert!(
        text.contains("thread 0 waits at s.ptx:1:1: z (mask 0x00000005 misses thread 2)"),
        "{text}"
    );
    assert!(text.contains("and 20 more groups"), "{text}");
    let waiting = |text: &str| text.matches(" waits at ").count();
    assert_eq!(waiting(&text), 12);

    // Twelve groups are all shown.
    let own = |t: u32| vec![at(0, 1 << t | 1 << 31, 0)];
    let mut script = Script::new(32, &[Op::Warp, Op::Warp], |t| match t {
        0..12 => own(t),
        31 => vec![Stop::Yield],
        _ => Vec::new(),
    });
    assert_eq!(
        script.run_all(),
        Ok(Progress::Done),
        "lanes that are over are not waited for"
    );

    // Every second thread is named by itself; twelve ranges are, and no more.
    for (last, words) in [(24, "18, 20, 22 wait"), (26, "18, 20, 22, ... wait")] {
        let mut script = Script::new(
            64,
            &[sync(), Op::ClusterWait { aligned: false }],
            |t| match t {
                0..32 if t.is_multiple_of(2) && t < last => vec![at(0, 0, 0)],
                0..32 => Vec::new(),
                _ => vec![at(1, 0, 0)],
            },
        );
        let text = script.run_all().unwrap_err().to_string();
        assert!(text.contains(words), "{words}: {text}");
        assert!(
            text.contains("threads 32-63 wait at s.ptx:1:2: e (the cluster misses "),
            "{text}"
        );
    }
}

#[test]
fn results_of_a_reduction_are_given_to_those_that_wait_for_them() {
    let popc = barrier(BarrierAction::Popc, true, false);
    let mask = 0xffff_0001;
    let mut script = Script::new(64, &[popc, BALLOT], |t| {
        let reduces = Stop::At(0, [1, 32, u64::from(t % 4 == 0), 0]);
        match t % 32 {
            0 => vec![reduces, at(1, mask, 1)],
            1..16 => vec![reduces],
            // Those of the second warp wait already when the first comes to the barrier; these are let alone.
            _ => vec![at(1, mask, u64::from(t % 2 == 1))],
        }
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
    assert_eq!(script.results(0), [8, 0xaaaa_0001]);
    assert_eq!(script.results(47), [8]);
    assert_eq!(script.results(49), [0xaaaa_0001]);
}

#[test]
fn barriers_of_one_warp_are_told_apart() {
    let popc = barrier(BarrierAction::Popc, true, false);
    let mut script = Script::new(128, &[popc], |t| {
        let odd = u64::from(t % 2);
        vec![Stop::At(0, [1 + odd, 64, odd, 0])]
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
    assert_eq!((script.results(0), script.results(1)), (vec![0], vec![64]));

    let sync = barrier(BarrierAction::Sync, true, false);
    let mut script = Script::new(64, &[sync], |t| {
        vec![at(0, 1, if t % 2 == 0 { 64 } else { 32 })]
    });
    let text = script.run_all().unwrap_err().to_string();
    assert!(
        text.contains("different numbers of threads") && text.contains("thread (1, 0, 0)"),
        "{text}"
    );
}

#[test]
fn the_thread_that_strays_is_named() {
    let aligned = barrier(BarrierAction::Sync, false, true);
    let ops = [aligned, aligned, BALLOT];
    type Stops = fn(u32) -> Vec<Stop>;
    let cases: [(Stops, &str); 3] = [
        (|t| vec![at(0, u64::from(t == 37), 0)], "thread (37, 0, 0)"),
        (|t| vec![at(u32::from(t == 40), 0, 0)], "thread (40, 0, 0)"),
        (|_| vec![at(2, ALL << 5 & ALL, 0)], "thread (0, 0, 0)"),
    ];
    for (stops, thread) in cases {
        let text = Script::new(64, &ops, stops)
            .run_all()
            .unwrap_err()
            .to_string();
        assert!(text.contains(thread), "{thread}: {text}");
    }
}

#[test]
fn old_forms_do_not_wait_for_lanes_at_operations_with_a_mask() {
    let mut script = Script::new(32, &[BALLOT, Op::ActiveMask], |t| match t {
        31 => vec![at(1, 0, 0), at(0, ALL, 1)],
        _ => vec![at(0, ALL, 0)],
    });
    assert_eq!(script.run_all(), Ok(Progress::Done));
    assert_eq!(script.results(31), [1 << 31, 1 << 31]);
    assert_eq!(script.results(0), [1 << 31]);
}

#[test]
fn constants_that_are_left_out_change_nothing() {
    let shfl = |mode| Op::Shfl { mode, sync: true };
    let class = RegClass::B32;
    let counted = barrier(BarrierAction::Popc, true, true);
    // An operation; its sources, of which those that do not depend on the thread are left out.
    type Sources = fn(u64) -> [u64; 4];
    let meetings: [(Op, Sources); 13] = [
        (sync(), |_| [3, 0, 0, 0]),
        (barrier(BarrierAction::Sync, false, false), |_| [2, 0, 0, 0]),
        (counted, |t| [1, 64, t & 1, 0]),
        (barrier(BarrierAction::Or, false, true), |_| [0, 1, 0, 0]),
        (shfl(ShflMode::Bfly), |t| [ALL, 7 * t, 5, 31]),
        (shfl(ShflMode::Up), |t| [ALL, 7 * t, 3, 0]),
        (shfl(ShflMode::Down), |t| [ALL, t + 1, 9, 0x181f]),
        (shfl(ShflMode::Idx), |t| [ALL, t ^ 1, t & 7, 0x101f]),
        (shfl(ShflMode::Idx), |_| [ALL, 77, 4, 31]),
        (BALLOT, |_| [ALL, 1, 0, 0]),
        (Op::MatchAny { class }, |t| [ALL, t % 5, 0, 0]),
        (Op::Redux { op: ReduxOp::Add }, |t| [ALL, t * t, 0, 0]),
        (Op::Elect, |_| [ALL, 0, 0, 0]),
    ];
    let ops = meetings.map(|(op, _)| op);
    let known = || {
        let known = meetings.iter().map(|(op, sources)| {
            let [a, b] = [2, 9].map(sources);
            let constants = a.into_iter().zip(b).map(|(a, b)| (a == b).then_some(a));
            Known::new(*op, constants, [true; 2].into_iter())
        });
        known.collect::<Vec<_>>()
    };
    let all = |t: u32, over: u32, sites: &[usize]| -> Vec<Stop> {
        let stop = |site: &usize| Stop::At(*site as u32, meetings[*site].1(t.into()));
        let sites = if t == over { &[] } else { sites };
        sites.iter().map(stop).collect()
    };
    let barriers_too: Vec<usize> = (0..meetings.len()).chain(4..9).collect();
    // The last warp has fewer lanes; one thread is over from the start.
    for (threads, over) in [(64, 40), (33, 7), (90, 70)] {
        let stops = |t: u32| match threads {
            // Half of a warp is over before the others.
            90 if t.is_multiple_of(2) => all(t, over, &[8, 4, 5, 6, 7, 9, 10, 11, 12]),
            90 => all(t, over, &[8, 4, 5, 6, 7, 9, 10, 11, 12, 0, 5]),
            _ => all(t, over, &barriers_too),
        };
        let run = |known| {
            let mut script = Script::new(threads, &ops, stops);
            script.known = known;
            let end = script.run_all().map_err(|fault| fault.to_string());
            (end, script)
        };
        let (end, whole) = run(Vec::new());
        let (same_end, left_out) = run(known());
        assert_eq!((end, same_end), (Ok(Progress::Done), Ok(Progress::Done)));
        assert_eq!(left_out.ran, whole.ran);
        for thread in 0..threads as usize {
            let given = whole.given[thread].iter().zip(&left_out.given[thread]);
            for (stop, (whole, left_out)) in whole.stops[thread].iter().zip(given) {
                let Stop::At(site, _) = stop else { continue };
                let results = ops[*site as usize].signature().dsts.len();
                let what = format!("thread {thread} of {threads}, site {site}");
                assert_eq!(whole[..results], left_out[..results], "{what}");
            }
        }
    }
}
