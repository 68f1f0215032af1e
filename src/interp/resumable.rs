//! A CTA whose threads may be left and taken up again.

use super::cta::Cta;
use super::thread::{End, Thread};
use super::{Interpreter, NoTrace, Trace};
use crate::ir::sync::Op;
use crate::ir::waits::Site;
use crate::ir::{FuncId, Kind};
use crate::machine::memory::Window;
use crate::machine::schedule::{
    EXITED, LANES, Progress, Ran, Record, Schedule, Shuffle, Standing, Threads, UNBEGUN, YIELDED,
};
use crate::machine::{Buffer, Fault, FaultKind, Launch, Room, Seat};

/// A CTA with all its state. It can be left whenever [`Resumable::run`] has returned.
pub struct Resumable<'a> {
    cta: Cta<'a>,
    interpreter: &'a Interpreter,
    function: FuncId,
    threads: Vec<Thread<'a>>,
    schedule: Schedule,
    room: &'a Room,
    /// Bytes taken from it, those that threads took themselves apart.
    held: u64,
    steps: u64,
    /// How the thread of a call ended.
    returned: Option<Vec<u8>>,
    /// Behind the windows of `cta`.
    seat: Seat<'a>,
    _params: Buffer,
}

impl<'a> Resumable<'a> {
    /// The CTA `block` of a kernel, or that of a call from the host, which has one thread. `None` without enough memory.
    pub(super) fn new(
        interpreter: &'a Interpreter,
        function: FuncId,
        launch: &'a Launch<'_>,
        room: &'a Room,
        seat: Seat<'a>,
        block: [u32; 3],
        shuffle: Option<Shuffle>,
    ) -> Option<Self> {
        let [x, y, z] = launch.block;
        let count = x.checked_mul(y)?.checked_mul(z)?;
        let own = size_of::<Thread<'_>>() as u64 + size_of::<Record>() as u64 / 32;
        let held = (launch.params.len() as u64).checked_add(own.checked_mul(count.into())?)?;
        if !room.take(held) {
            return None;
        }
        let memory = || -> Option<_> {
            let mut threads = Vec::new();
            threads.try_reserve_exact(count as usize).ok()?;
            Some((threads, Buffer::of(launch.params)?))
        };
        let Some((mut threads, params)) = memory() else {
            room.give(held);
            return None;
        };
        // Threads have local memory of their own.
        let local = Window {
            len: launch.limits.local_bytes.into(),
            ..Window::EMPTY
        };
        let cta = Cta::new(
            interpreter,
            function,
            launch,
            seat.window(),
            seat.neighbours(),
            local,
            params.window(),
            block,
        );
        let mut schedule = Schedule::new(count, shuffle);
        if seat.is_accompanied() {
            schedule = schedule.accompanied();
        }
        threads.extend((0..count).map(|_| Thread::with_room(&cta, room)));
        Some(Resumable {
            cta,
            interpreter,
            function,
            threads,
            schedule,
            room,
            held,
            steps: 0,
            returned: None,
            seat,
            _params: params,
        })
    }

    /// Runs it until it is over or should let others run.
    ///
    /// # Errors
    /// What a thread did wrong. It is not to be run again.
    pub fn run(&mut self, trace: &mut impl Trace) -> Result<Progress, Fault> {
        let (schedule, mut engine) = self.parts(trace);
        schedule.run(&mut engine)
    }

    /// Where its threads wait, none of which can go on.
    pub fn standing(&mut self) -> Standing {
        let mut trace = NoTrace;
        let (schedule, engine) = self.parts(&mut trace);
        schedule.standing(&engine)
    }

    /// Its schedule, and what that is given to run threads with.
    fn parts<'r, T>(&'r mut self, trace: &'r mut T) -> (&'r mut Schedule, Engine<'r, 'a, T>) {
        let engine = Engine {
            cta: &self.cta,
            interpreter: self.interpreter,
            function: self.function,
            threads: &mut self.threads,
            steps: &mut self.steps,
            returned: &mut self.returned,
            trace,
        };
        (&mut self.schedule, engine)
    }

    /// How far its threads have come.
    pub fn schedule(&mut self) -> &mut Schedule {
        &mut self.schedule
    }

    /// `%ctaid`
    pub fn block(&self) -> [u32; 3] {
        self.cta.block
    }

    /// Lets it know which CTAs of the cluster are over, ranks as bits.
    pub fn others_are_over(&mut self, over: u32) {
        self.seat.others_are_over(over);
        self.cta.view.neighbours = self.seat.neighbours();
    }

    /// Instructions executed by threads that are over.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Sets the parameters of a call.
    pub(super) fn set_params(&mut self, args: &[u8]) -> Result<(), Fault> {
        if let Some(thread) = self.threads.first_mut() {
            thread.start(&self.cta, self.function, 0, [0; 3])?;
            thread.set_params(args);
        }
        Ok(())
    }

    /// The results of a call that is over.
    pub(super) fn results(&self, results: &mut [u8]) {
        match &self.returned {
            Some(returned) => {
                let len = results.len().min(returned.len());
                results[..len].copy_from_slice(&returned[..len]);
            }
            None => results.fill(0),
        }
    }
}

impl Drop for Resumable<'_> {
    fn drop(&mut self) {
        self.room.give(self.held);
    }
}

/// What the schedule is given to run threads with.
struct Engine<'r, 'a, T> {
    cta: &'r Cta<'a>,
    interpreter: &'a Interpreter,
    function: FuncId,
    threads: &'r mut [Thread<'a>],
    steps: &'r mut u64,
    returned: &'r mut Option<Vec<u8>>,
    trace: &'r mut T,
}

impl<T: Trace> Threads for Engine<'_, '_, T> {
    fn run(&mut self, warp: u32, lanes: u32, _: u32, record: &mut Record) -> Result<Ran, Fault> {
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            let linear = warp as usize * LANES + lane;
            let Some(thread) = self.threads.get_mut(linear) else {
                continue;
            };
            if record.sites[lane] != UNBEGUN {
                let results = [record.values[0][lane], record.values[1][lane]];
                thread.take_up(self.cta, results, self.trace);
            } else if !thread.has_begun() {
                let index = index(self.cta.launch.block, linear as u32);
                thread.start(self.cta, self.function, linear as u32, index)?;
            }
            record.sites[lane] = match thread.run(self.cta, self.trace)? {
                End::Met(site) => {
                    for (to, value) in record.values.iter_mut().zip(thread.sources()) {
                        to[lane] = value;
                    }
                    site
                }
                End::Yielded => YIELDED,
                end @ (End::Returned | End::Exited) => {
                    *self.steps += thread.steps();
                    let code = self.interpreter.code(self.function);
                    if end == End::Returned && code.return_bytes > 0 {
                        let mut results = vec![0; code.return_bytes];
                        thread.results(code, &mut results);
                        *self.returned = Some(results);
                    }
                    thread.clear();
                    EXITED
                }
            };
        }
        Ok(Ran {
            together: None,
            runs: 1,
        })
    }

    fn op(&self, site: u32) -> Op {
        let module = self.cta.module();
        let at = self.interpreter.waits().sites().get(site as usize);
        let inst = at.and_then(|at: &Site| {
            let block = module.functions[at.function.index()].block(at.block);
            block.insts.get(at.inst as usize)
        });
        let Some(Kind::Meet(meet)) = inst.map(|inst| &inst.kind) else {
            // Threads stop nowhere else.
            return Op::ActiveMask;
        };
        meet.op
    }

    fn fault(&self, _site: u32, kind: FaultKind, warp: u32, lane: u32) -> Fault {
        let linear = warp * LANES as u32 + lane;
        let thread = self.threads.get(linear as usize);
        thread
            .and_then(|thread| thread.place(self.cta, kind))
            .unwrap_or_else(|| {
                let module = self.cta.module();
                let span = module.functions[self.function.index()].span;
                Fault::new(kind, module, self.function, span, u32::MAX).by(self.cta.block, [0; 3])
            })
    }
}

/// `%tid` of a thread.
fn index([x, y, _]: [u32; 3], linear: u32) -> [u32; 3] {
    let (x, y) = (x.max(1), y.max(1));
    [linear % x, linear / x % y, linear / x / y]
}
