//! Threads of a CTA that wait at mbarriers on which others arrive.
//!
//! All live threads of the CTA come; how many they are a barrier counts, and a ticket elects the one that makes the mbarrier
//! and takes it away. Each phase ends when all that it counts have come, with the bytes that they expect: until then
//! each writes where nobody else does, after it what others wrote is read. Before anything is written again all meet again.

use super::body::Body;
use super::meetings::OF_ALL;
use crate::isa::types::Ty;

/// How the threads arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrives {
    /// `mbarrier.arrive`
    Plainly,
    /// With a count of two.
    Twice,
    /// First by `.noComplete`, then to complete.
    InTwo,
    /// Each expects bytes that come before it arrives, or after.
    WithBytes,
    /// By `cp.async.mbarrier.arrive.noinc`, behind a copy.
    ByCopy,
    /// Only those for whom a predicate holds, and the elected thread.
    Some,
}

/// What threads of a rendezvous have in common: names of registers.
struct Names {
    elected: String,
    state: String,
    producer: String,
}

impl Body<'_, '_> {
    /// Waits at a barrier of the CTA.
    fn all_wait(&mut self) {
        let number = self.choices.pick(&OF_ALL).to_string();
        self.emit("bar.sync", &[&number]);
    }

    /// How many threads come here for which `predicate` holds.
    fn count(&mut self, predicate: &str, to: &str) {
        let number = self.choices.pick(&OF_ALL).to_string();
        self.emit("bar.red.popc.u32", &[to, &number, predicate]);
    }

    /// One phase or several of an mbarrier for all threads of the CTA.
    pub(super) fn rendezvous(&mut self) {
        let known = self.follows() && self.flow.cta;
        if !known || self.module.wild > 0 || !self.module.target.has((8, 3), 80) {
            return;
        }
        let newer = self.module.target.has((8, 7), 90);
        let ways: &[Arrives] = if newer {
            &[
                Arrives::Plainly,
                Arrives::Twice,
                Arrives::InTwo,
                Arrives::WithBytes,
                Arrives::ByCopy,
                Arrives::Some,
            ]
        } else {
            &[
                Arrives::Plainly,
                Arrives::InTwo,
                Arrives::ByCopy,
                Arrives::Some,
            ]
        };
        let way = *self.choices.pick(ways);
        let names = Names {
            elected: self.name("%e"),
            state: self.name("%n"),
            producer: self.name("%e"),
        };
        let Names {
            elected,
            state,
            producer,
        } = &names;
        self.plain(format!(".reg .pred {elected}, {producer};"));
        self.plain(format!(".reg .b64 {state};"));
        // Who arrives, and how often all together.
        match (way, self.any_register(Ty::PRED)) {
            (Arrives::Some, Some(p)) => self.emit("not.pred", &[producer, &p]),
            (_, _) => self.emit("setp.eq.u32", &[producer, "%tl", "%tl"]),
        }
        self.count(producer, "%tn");
        match way {
            Arrives::Plainly | Arrives::WithBytes | Arrives::ByCopy => {}
            Arrives::Twice | Arrives::InTwo => self.emit("shl.b32", &["%tn", "%tn", "1"]),
            Arrives::Some => self.emit("add.u32", &["%tn", "%tn", "1"]),
        }
        self.emit("mov.u32", &["%t1", "tick"]);
        self.emit("atom.shared.add.u32", &["%t0", "[%t1]", "1"]);
        self.emit("setp.eq.u32", &[elected, "%t0", "0"]);
        let guard = format!("@{elected} ");
        self.emit_guarded(&guard, "mbarrier.init.shared.b64", &["[mbx]", "%tn"]);
        self.all_wait();
        // All have their tickets.
        self.emit("mov.u32", &["%t1", "tick"]);
        self.emit_guarded(&guard, "st.volatile.shared.u32", &["[%t1]", "0"]);
        let phases = self.choices.between(1, 3);
        for phase in 0..phases {
            self.phase(way, &names, phase, phase + 1 == phases);
        }
        self.all_wait();
        self.emit_guarded(&guard, "mbarrier.inval.shared.b64", &["[mbx]"]);
    }

    /// The address of a thread's place among those by which threads exchange words.
    fn exchanged(&mut self, to: &str, thread: &str) {
        self.emit("mov.u32", &[to, "xch"]);
        self.emit("mad.lo.u32", &[to, thread, "8", to]);
    }

    /// The thread so many places further on, around the block.
    fn other(&mut self, to: &str) {
        let threads = self.module.block_threads;
        let step = self.choices.below(threads).to_string();
        self.emit("add.u32", &[to, "%tl", &step]);
        self.emit("rem.u32", &[to, to, &threads.to_string()]);
    }

    /// Each writes a word, all meet, each reads one.
    fn phase(&mut self, way: Arrives, names: &Names, phase: usize, last: bool) {
        let give = self.any_register(Ty::B32);
        let take = self.any_register(Ty::B32);
        let (Some(give), Some(take)) = (give, take) else {
            return;
        };
        match way {
            Arrives::WithBytes => self.arrive_with_bytes(&give, names),
            Arrives::ByCopy => {
                let offset = 4 * self.choices.below(16);
                self.exchanged("%t1", "%tl");
                let from = format!("[%a0+{offset}]");
                self.emit("cp.async.ca.shared.global", &["[%t1]", &from, "4"]);
                self.emit("cp.async.mbarrier.arrive.noinc.shared.b64", &["[mbx]"]);
            }
            Arrives::Plainly | Arrives::Twice | Arrives::InTwo | Arrives::Some => {
                // What others read is written by those whose arrival they wait for.
                let guard = if way == Arrives::Some {
                    format!("@{} ", names.producer)
                } else {
                    String::new()
                };
                self.exchanged("%t1", "%tl");
                self.emit_guarded(&guard, "st.shared.b32", &["[%t1]", &give]);
                self.arrive(way, names, last);
            }
        }
        // After the last phase not all need wait: a barrier follows.
        let wait = self.name("L");
        let over = self.name("L");
        let some = last && self.choices.chance(30);
        if some {
            self.emit("setp.lt.u32", &["%pf", "%tl", "7"]);
            self.emit_guarded("@%pf ", "bra", &[&over]);
        }
        self.plain(format!("{wait}:"));
        self.wait_for(way, names, phase);
        self.emit_guarded("@!%pf ", "bra", &[&wait]);
        if some {
            self.plain(format!("{over}:"));
            self.all_wait();
        }
        self.other("%t0");
        self.exchanged("%t1", "%t0");
        self.emit("ld.shared.b32", &[&take, "[%t1]"]);
        if !last {
            self.all_wait();
        }
    }

    fn arrive(&mut self, way: Arrives, names: &Names, last: bool) {
        let (state, guard) = (names.state.as_str(), format!("@{} ", names.producer));
        let release = if self.choices.chance(50) {
            ".release.cta"
        } else {
            ""
        };
        let drop = if last && self.choices.chance(30) {
            "_drop"
        } else {
            ""
        };
        let head = format!("mbarrier.arrive{drop}{release}.shared.b64");
        match way {
            Arrives::Twice => self.emit(&head, &[state, "[mbx]", "2"]),
            Arrives::InTwo => {
                let first = "mbarrier.arrive.noComplete.shared.b64";
                self.emit(first, &[state, "[mbx]", "1"]);
                self.emit(&head, &[state, "[mbx]"]);
            }
            Arrives::Some => {
                self.emit_guarded(&guard, &head, &[state, "[mbx]"]);
                let guard = format!("@{} ", names.elected);
                self.emit_guarded(&guard, &head, &[state, "[mbx]"]);
            }
            Arrives::Plainly | Arrives::WithBytes | Arrives::ByCopy => {
                self.emit(&head, &[state, "[mbx]"]);
            }
        }
    }

    /// Each arrives and expects the four bytes that it writes for another.
    fn arrive_with_bytes(&mut self, give: &str, names: &Names) {
        let state = names.state.as_str();
        // The register may be one of a floating-point type.
        self.emit("mov.b32", &["%tb", give]);
        self.other("%t0");
        self.exchanged("%t1", "%t0");
        let expects = "mbarrier.arrive.expect_tx.shared.b64";
        let before = self.choices.chance(50);
        if before {
            self.emit(expects, &[state, "[mbx]", "4"]);
        }
        match self.choices.below(3) {
            0 => {
                let head = "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32";
                self.emit(head, &["[%t1]", "%tb", "[mbx]"]);
            }
            1 => {
                let op = *self.choices.pick(&["add.u32", "max.s32", "xor.b32"]);
                let head = format!(
                    "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.{op}"
                );
                self.emit(&head, &["[%t1]", "%tb", "[mbx]"]);
            }
            _ => {
                self.emit("st.shared.b32", &["[%t1]", "%tb"]);
                let head = "mbarrier.complete_tx.relaxed.cta.shared.b64";
                self.emit(head, &["[mbx]", "4"]);
            }
        }
        if !before {
            self.emit(expects, &[state, "[mbx]", "4"]);
        }
    }

    /// Sets `%pf` to whether the phase is complete.
    fn wait_for(&mut self, way: Arrives, names: &Names, phase: usize) {
        let parity = (phase & 1).to_string();
        let newer = self.module.target.has((8, 7), 90);
        let kind = if newer && self.choices.chance(60) {
            "try_wait"
        } else {
            "test_wait"
        };
        let acquire = if self.choices.chance(50) {
            ".acquire.cta"
        } else {
            ""
        };
        // Not all have a state.
        let by_state = !matches!(way, Arrives::Some | Arrives::ByCopy) && self.choices.chance(40);
        if by_state {
            let head = format!("mbarrier.{kind}{acquire}.shared.b64");
            self.emit(&head, &["%pf", "[mbx]", &names.state]);
        } else {
            let head = format!("mbarrier.{kind}.parity{acquire}.shared.b64");
            self.emit(&head, &["%pf", "[mbx]", &parity]);
        }
    }
}
