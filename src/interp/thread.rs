//! A thread: its frames, its registers, and the loop that executes them.
//!
//! All state of a thread lies in [`Thread`], so that it can be left between two steps and taken up again.

use super::code::{Call, Code, Meet, Slot, Src, Target, What};
use super::cta::Cta;
use super::{Step, Trace, memory, special, sync};
use crate::ir::System;
use crate::ir::control::{CallType, Callee};
use crate::ir::memory::Space;
use crate::ir::{FuncId, Function, FunctionKind, Reg};
use crate::machine::schedule::TURN;
use crate::machine::{Buffer, Fault, FaultKind, Room, View, window};
use crate::semantics;
use smallvec::SmallVec;

/// Steps between two looks at the stop flag.
const POLL: u64 = 4096;

/// Most bytes that registers and parameters of all frames of a thread take. More is a stack overflow, whatever the
/// depth.
const STACK_BYTES: usize = 256 << 20;

/// Most sources of a pure instruction: a `mov.b64` of eight bytes.
const SOURCES: usize = 8;

/// An active call, or what the thread began with.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub code: &'a Code,
    /// The step to execute next; in a frame that waits for a call, the one after the call.
    next: usize,
    /// Where its registers begin.
    regs: usize,
    /// Where its buffers of parameters begin.
    pub bytes: usize,
    /// Where its local memory begins.
    pub local: u64,
    /// Where its variables end: in a function without any, where its caller's local memory does.
    pub local_end: u64,
    /// Where its caller's local memory ends.
    caller_local: u64,
}

/// A thread.
pub(super) struct Thread<'a> {
    /// `%tid`
    index: [u32; 3],
    /// Its linear index in the CTA.
    linear: u32,
    /// The innermost call last.
    frames: Vec<Frame<'a>>,
    regs: Vec<u64>,
    pub bytes: Vec<u8>,
    pub view: View<'a>,
    /// Steps executed.
    steps: u64,
    /// The number of steps at which to look at the limits next.
    poll: u64,
    /// How often it has come to soft points since it was taken up.
    turn: u32,
    /// Where it meets others.
    met: Option<&'a Meet>,
    /// Where its memory is accounted for, if it may be left and has local memory of its own.
    own: Option<Own<'a>>,
}

/// The memory of a thread that may be left.
struct Own<'a> {
    room: &'a Room,
    /// Bytes taken from the room.
    held: u64,
    local: Buffer,
}

impl Drop for Own<'_> {
    fn drop(&mut self) {
        self.room.give(self.held);
    }
}

/// Where a thread stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The function that it began with returned.
    Returned,
    /// `exit`, at any depth.
    Exited,
    /// It meets others, at a site.
    Met(u32),
    /// It has used up its turn.
    Yielded,
}

/// What comes after a step.
enum Next {
    /// The following step.
    Following,
    /// That step.
    Step(usize),
    /// What the innermost frame says, if there is one.
    Frame,
    /// Nothing.
    Exit,
    /// The following step, when the thread is taken up again.
    Stop(End),
}

/// A step that is to be shown, as it is before it.
struct Shown {
    index: usize,
    depth: u32,
    reads: SmallVec<[(Reg, u64); 8]>,
    executed: bool,
}

/// What a step did wrong.
pub(super) struct Wrong {
    pub kind: FaultKind,
    pub detail: Option<String>,
    /// Space, address and size of an access.
    pub access: Option<memory::Reached>,
}

impl Wrong {
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Box<Self> {
        Box::new(Wrong {
            kind,
            detail: Some(detail.into()),
            access: None,
        })
    }
}

impl Src {
    /// Its value.
    #[inline]
    pub fn read(self, regs: &[u64]) -> u64 {
        match self {
            Src::Reg(reg, mask) => regs[reg.index()] & mask,
            Src::Imm(value) => value,
        }
    }
}

impl<'a> Thread<'a> {
    /// A thread that has not begun.
    pub fn new(cta: &Cta<'a>) -> Self {
        Thread {
            index: [0; 3],
            linear: 0,
            frames: Vec::new(),
            regs: Vec::new(),
            bytes: Vec::new(),
            view: cta.view,
            steps: 0,
            poll: 0,
            turn: 0,
            met: None,
            own: None,
        }
    }

    /// One that may be left, with local memory of its own. Its memory is taken from `room`.
    pub fn with_room(cta: &Cta<'a>, room: &'a Room) -> Self {
        let own = Own {
            room,
            held: 0,
            local: Buffer::EMPTY,
        };
        Thread {
            own: Some(own),
            ..Thread::new(cta)
        }
    }

    /// Puts it at the beginning of `function`, with parameters of 0, as thread `index` of the CTA.
    pub fn start(
        &mut self,
        cta: &Cta<'a>,
        function: FuncId,
        linear: u32,
        index: [u32; 3],
    ) -> Result<(), Fault> {
        self.index = index;
        self.linear = linear;
        self.frames.clear();
        self.regs.clear();
        self.bytes.clear();
        self.view = cta.view;
        self.steps = 0;
        self.poll = 0;
        self.turn = 0;
        self.met = None;
        self.enter(cta, function).map_err(|wrong| {
            let module = cta.module();
            let span = module.functions[function.index()].span;
            let fault = Fault::new(wrong.kind, module, function, span, u32::MAX);
            self.tell(cta, *wrong, fault)
        })
    }

    /// Sets the parameters of the function that it begins with.
    pub fn set_params(&mut self, args: &[u8]) {
        if let Some(frame) = self.frames.first().copied() {
            let len = args.len().min(frame.code.returns_start);
            self.bytes[..len].copy_from_slice(&args[..len]);
            self.params_to_regs(&frame);
        }
    }

    /// The return parameters of the function that it began with, of which `code` is the code, after it returned.
    pub fn results(&self, code: &Code, results: &mut [u8]) {
        let returned = &self.bytes[code.returns_start..][..code.return_bytes];
        let len = results.len().min(returned.len());
        results[..len].copy_from_slice(&returned[..len]);
    }

    /// Steps executed since it began.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The sources of the meeting at which it stopped.
    pub fn sources(&self) -> SmallVec<[u64; 4]> {
        match (self.met, self.frames.last()) {
            (Some(meet), Some(frame)) => meet
                .srcs
                .iter()
                .map(|src| self.value(frame, *src))
                .collect(),
            _ => SmallVec::new(),
        }
    }

    /// Takes it up again, with the results of the meeting at which it stopped, if it did.
    pub fn take_up<T: Trace>(&mut self, cta: &Cta<'a>, results: [u64; 2], trace: &mut T) {
        self.turn = 0;
        self.view.neighbours = cta.view.neighbours;
        // Whoever comes back again and again looks at the flag each time.
        self.poll = self.steps;
        let (Some(meet), Some(frame)) = (self.met.take(), self.frames.last().copied()) else {
            return;
        };
        let shown = T::ENABLED.then(|| self.shown(cta, &frame, frame.next - 1));
        for (dst, result) in meet.dsts.iter().zip(results) {
            if let Some(dst) = dst {
                self.set(&frame, dst.reg, result & dst.mask);
            }
        }
        if let Some(shown) = &shown {
            self.show(cta, &frame, shown, Some(&Next::Following), trace);
        }
    }

    /// Whether it has begun and is not over.
    pub fn has_begun(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Gives back what it holds, after its end.
    pub fn clear(&mut self) {
        self.frames = Vec::new();
        self.regs = Vec::new();
        self.bytes = Vec::new();
        self.own = None;
    }

    /// The place of the step at which it stands, for faults of its meeting.
    pub fn place(&self, cta: &Cta<'_>, kind: FaultKind) -> Option<Fault> {
        let frame = self.frames.last()?;
        let wrong = Wrong {
            kind,
            detail: None,
            access: None,
        };
        Some(self.fault(cta, frame, frame.next.saturating_sub(1), wrong))
    }

    /// Executes steps until the thread stops.
    pub fn run<T: Trace>(&mut self, cta: &Cta<'a>, trace: &mut T) -> Result<End, Fault> {
        while let Some(frame) = self.frames.last().copied() {
            let mut step = frame.next;
            loop {
                let next = if T::ENABLED {
                    self.traced(cta, &frame, step, trace)
                } else {
                    self.step(cta, &frame, step)
                };
                match next {
                    Ok(Next::Following) => step += 1,
                    Ok(Next::Step(to)) => step = to,
                    Ok(Next::Frame) => break,
                    Ok(Next::Exit) => return Ok(End::Exited),
                    Ok(Next::Stop(end)) => {
                        if let Some(frame) = self.frames.last_mut() {
                            frame.next = step + 1;
                        }
                        return Ok(end);
                    }
                    Err(wrong) => return Err(self.fault(cta, &frame, step, *wrong)),
                }
            }
        }
        Ok(End::Returned)
    }

    #[inline(always)]
    fn step(&mut self, cta: &Cta<'a>, frame: &Frame<'a>, index: usize) -> Result<Next, Box<Wrong>> {
        if self.steps >= self.poll {
            self.look_at_limits(cta)?;
        }
        self.steps += 1;
        let step = &frame.code.steps[index];
        let regs = &mut self.regs[frame.regs..];
        if let Some(guard) = step.guard
            && (regs[guard.reg.index()] != 0) == guard.negated
        {
            return Ok(Next::Following);
        }
        match &step.what {
            What::Pure { op, srcs, dsts } => {
                let mut values = [0; SOURCES];
                for (value, src) in values.iter_mut().zip(srcs) {
                    *value = src.read(regs);
                }
                let results = semantics::eval(*op, cta.module().address_bits, &values);
                for (dst, result) in dsts.iter().zip(results) {
                    if let Some(reg) = dst {
                        regs[reg.index()] = result;
                    }
                }
            }
            What::Load(load) => self.load(cta, frame, load)?,
            What::Store(store) => self.store(cta, frame, store)?,
            What::Address { dst, base, offset } => {
                let address = self.anchor(cta, frame, *base).wrapping_add(*offset);
                self.set(frame, dst.reg, address & dst.mask);
            }
            What::Constant { dst, value } => regs[dst.reg.index()] = value & dst.mask,
            What::Special { dst, special } => {
                let value = special::value(*special, cta, self.index, self.linear);
                regs[dst.reg.index()] = value & dst.mask;
            }
            What::Call(call) => {
                if let Target::System(system) = call.callee {
                    self.system(cta, frame, call, system)?;
                    return Ok(Next::Following);
                }
                self.call(cta, frame, index, call)?;
                return Ok(Next::Frame);
            }
            What::Meet(meet) => {
                self.met = Some(meet);
                return Ok(Next::Stop(End::Met(meet.site)));
            }
            What::Atomic(atomic) => self.atomic(cta, frame, atomic)?,
            What::Fence(fence) => sync::fence(*fence),
            What::Mbarrier(mbarrier) => self.mbarrier(cta, frame, mbarrier)?,
            What::Copy(copy) => self.copy(cta, frame, copy)?,
            What::Stack(stack) => self.stack(cta, frame, *stack)?,
            What::Turn => {
                self.steps -= 1;
                self.turn += 1;
                if self.turn >= TURN && self.own.is_some() {
                    return Ok(Next::Stop(End::Yielded));
                }
            }
            What::Nothing => {}
            What::Unsupported => {
                return Err(Wrong::new(FaultKind::Trap, "unsupported instruction"));
            }
            What::Jump(to) => return Ok(Next::Step(*to)),
            What::Branch { cond, then, other } => {
                let taken = regs[cond.index()] != 0;
                return Ok(Next::Step(if taken { *then } else { *other }));
            }
            What::Table { index, targets } => {
                let index = index.read(regs);
                return match targets.get(index as usize) {
                    Some(to) => Ok(Next::Step(*to)),
                    None => Err(Wrong::new(
                        FaultKind::BadCall,
                        format!("index {index} into a table of {}", targets.len()),
                    )),
                };
            }
            What::Return => {
                self.leave();
                return Ok(Next::Frame);
            }
            What::Exit => return Ok(Next::Exit),
            What::Trap => {
                return Err(Box::new(Wrong {
                    kind: FaultKind::Trap,
                    detail: None,
                    access: None,
                }));
            }
        }
        Ok(Next::Following)
    }

    /// Ends the thread where the launch's time is up or its steps are spent.
    #[cold]
    fn look_at_limits(&mut self, cta: &Cta<'_>) -> Result<(), Box<Wrong>> {
        let limits = &cta.launch.limits;
        if limits.stop.is_raised() {
            return Err(Wrong::new(FaultKind::TimeLimit, "stopped"));
        }
        if self.steps >= limits.steps {
            let detail = format!("{} instructions in one thread", limits.steps);
            return Err(Wrong::new(FaultKind::TimeLimit, detail));
        }
        self.poll = self.steps.saturating_add(POLL).min(limits.steps);
        Ok(())
    }

    /// A register of the frame.
    #[inline]
    pub fn get(&self, frame: &Frame<'_>, reg: Reg) -> u64 {
        self.regs[frame.regs + reg.index()]
    }

    /// Sets a register of the frame.
    #[inline]
    pub fn set(&mut self, frame: &Frame<'_>, reg: Reg, value: u64) {
        self.regs[frame.regs + reg.index()] = value;
    }

    /// The value of a source.
    #[inline]
    pub fn value(&self, frame: &Frame<'_>, src: Src) -> u64 {
        src.read(&self.regs[frame.regs..])
    }

    /// `call`: a new frame with its parameters set.
    fn call(
        &mut self,
        cta: &Cta<'a>,
        frame: &Frame<'a>,
        step: usize,
        call: &Call,
    ) -> Result<(), Box<Wrong>> {
        let callee = self.callee(cta, frame, step, call)?;
        self.enter(cta, callee)?;
        let depth = self.frames.len();
        self.frames[depth - 2].next = step + 1;
        let new = self.frames[depth - 1];
        for (slot, param) in call.args.iter().zip(&new.code.params) {
            let to = new.bytes + param.start;
            match *slot {
                Slot::Value(src) => {
                    let value = self.value(frame, src).to_le_bytes();
                    let len = param.len.min(value.len());
                    self.bytes[to..][..len].copy_from_slice(&value[..len]);
                }
                Slot::Frame(from) => {
                    let start = frame.bytes + from.start;
                    let len = param.len.min(from.len);
                    self.bytes.copy_within(start..start + len, to);
                }
                Slot::KernelParam(from) => {
                    let given = cta.launch.params.get(from.start..).unwrap_or(&[]);
                    let len = param.len.min(from.len).min(given.len());
                    self.bytes[to..][..len].copy_from_slice(&given[..len]);
                }
                Slot::Sink => {}
            }
        }
        self.params_to_regs(&new);
        Ok(())
    }

    /// A system call.
    fn system(
        &mut self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        call: &Call,
        system: System,
    ) -> Result<(), Box<Wrong>> {
        let args: SmallVec<[u64; 5]> = (call.args.iter())
            .map(|slot| match *slot {
                Slot::Value(src) => self.value(frame, src),
                Slot::Frame(from) => {
                    little_endian(&self.bytes[frame.bytes + from.start..][..from.len])
                }
                Slot::KernelParam(from) => {
                    let given = cta.launch.params.get(from.start..).unwrap_or(&[]);
                    little_endian(&given[..from.len.min(given.len())])
                }
                Slot::Sink => 0,
            })
            .collect();
        let result = system.call(cta.launch.host, &self.view, &args);
        let result = result.map_err(|failure| {
            Box::new(Wrong {
                kind: failure.kind,
                detail: failure.detail,
                access: failure.access.map(|at| memory::Reached {
                    space: Space::Generic,
                    address: at.address,
                    bytes: at.bytes,
                }),
            })
        })?;
        match call.results.first() {
            Some(Slot::Value(Src::Reg(reg, mask))) => self.set(frame, *reg, result & mask),
            Some(Slot::Frame(to)) => {
                let bytes = result.to_le_bytes();
                let len = to.len.min(bytes.len());
                self.bytes[frame.bytes + to.start..][..len].copy_from_slice(&bytes[..len]);
            }
            Some(Slot::Value(Src::Imm(_)) | Slot::KernelParam(_) | Slot::Sink) | None => {}
        }
        Ok(())
    }

    /// The function that a call means.
    fn callee(
        &self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        step: usize,
        call: &Call,
    ) -> Result<FuncId, Box<Wrong>> {
        let module = cta.module();
        let (id, ty) = match call.callee {
            Target::Direct(id) => (id, None),
            Target::System(_) => return Err(Wrong::new(FaultKind::BadCall, "a system call")),
            Target::Indirect(src) => {
                let address = self.value(frame, src);
                let id = window::function_index(address, module.address_bits)
                    .filter(|index| (*index as usize) < module.functions.len())
                    .map(FuncId)
                    .ok_or_else(|| {
                        let detail = format!("{address:#x} is not the address of a function");
                        Wrong::new(FaultKind::BadCall, detail)
                    })?;
                let caller = &module.functions[frame.code.function.index()];
                (id, indirect_type(frame.code, caller, step))
            }
        };
        let function = &module.functions[id.index()];
        if function.kind == FunctionKind::Kernel || ty.is_some_and(|ty| !has_type(function, ty)) {
            let detail = format!("`{}` is not of the type that the call says", function.name);
            return Err(Wrong::new(FaultKind::BadCall, detail));
        }
        if !function.defined {
            let detail = format!("`{}` has no body", function.name);
            return Err(Wrong::new(FaultKind::BadCall, detail));
        }
        Ok(id)
    }

    /// A new frame at the beginning of `function`; or why there is no room for it.
    fn enter(&mut self, cta: &Cta<'a>, function: FuncId) -> Result<(), Box<Wrong>> {
        let overflow = |detail: String| Err(Wrong::new(FaultKind::StackOverflow, detail));
        let code = cta.code(function);
        let limits = &cta.launch.limits;
        if self.frames.len() > limits.call_depth as usize {
            return overflow(format!("more than {} nested calls", limits.call_depth));
        }
        let caller_local = self.view.local.len;
        let mut local = caller_local;
        if code.local_bytes > 0 {
            local = local.next_multiple_of(code.local_align);
            let end = local + code.local_bytes;
            if end > cta.local.len {
                return overflow(format!(
                    "{end} bytes of local memory wanted, there are {}",
                    cta.local.len
                ));
            }
            self.have_local(end, cta.local.len)?;
            self.view.local.len = end;
            memory::zero(self.view.local, local);
        }
        let regs = self.regs.len();
        let bytes = self.bytes.len();
        self.hold(8 * (regs + code.regs) + bytes + code.bytes)?;
        if 8 * (regs + code.regs) + bytes + code.bytes > STACK_BYTES {
            return overflow(format!("more than {STACK_BYTES} bytes of registers"));
        }
        self.regs.resize(regs + code.regs, 0);
        self.bytes.resize(bytes + code.bytes, 0);
        self.frames.push(Frame {
            code,
            next: 0,
            regs,
            bytes,
            local,
            local_end: self.view.local.len,
            caller_local,
        });
        Ok(())
    }

    /// Sees to it that a thread with local memory of its own has `end` bytes of it; `most` is what it may have.
    pub(super) fn have_local(&mut self, end: u64, most: u64) -> Result<(), Box<Wrong>> {
        let Some(own) = &self.own else {
            return Ok(());
        };
        let old = own.local.window();
        if end <= old.len {
            return Ok(());
        }
        let size = end.next_power_of_two().clamp(256, most.max(256));
        let new = Buffer::try_zeroed(size as usize).ok_or_else(|| no_room(size))?;
        self.hold(new.len())?;
        memory::copy(old, new.window());
        self.view.local.base = new.as_ptr();
        if let Some(own) = &mut self.own {
            own.local = new;
        }
        Ok(())
    }

    /// Accounts for so many bytes of registers and parameters, or of local memory, where a thread may be left.
    fn hold(&mut self, bytes: usize) -> Result<(), Box<Wrong>> {
        let depth = self.frames.len();
        let Some(own) = &mut self.own else {
            return Ok(());
        };
        let frames = (depth + 1) * size_of::<Frame<'_>>();
        let wanted = (bytes + frames + own.local.len()) as u64;
        if wanted > own.held {
            let more = (wanted - own.held).max(own.held / 2);
            if !own.room.take(more) {
                return Err(no_room(more));
            }
            own.held += more;
        }
        Ok(())
    }

    /// Ends the innermost frame; hands its return parameters to its caller, if there is one.
    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        for (slice, dst) in &frame.code.return_regs {
            let value = self.get(&frame, dst.reg).to_le_bytes();
            let len = slice.len.min(value.len());
            self.bytes[frame.bytes + slice.start..][..len].copy_from_slice(&value[..len]);
        }
        let Some(caller) = self.frames.last().copied() else {
            return;
        };
        if let What::Call(call) = &caller.code.steps[caller.next - 1].what {
            for (slot, slice) in call.results.iter().zip(&frame.code.returns) {
                let from = frame.bytes + slice.start;
                match *slot {
                    Slot::Value(Src::Reg(reg, mask)) => {
                        let value = little_endian(&self.bytes[from..][..slice.len]);
                        self.set(&caller, reg, value & mask);
                    }
                    Slot::Frame(to) => {
                        let len = slice.len.min(to.len);
                        self.bytes
                            .copy_within(from..from + len, caller.bytes + to.start);
                    }
                    Slot::Value(Src::Imm(_)) | Slot::KernelParam(_) | Slot::Sink => {}
                }
            }
        }
        self.regs.truncate(frame.regs);
        self.bytes.truncate(frame.bytes);
        self.view.local.len = frame.caller_local;
    }

    /// Gives the `.reg` parameters of a new frame their values.
    fn params_to_regs(&mut self, frame: &Frame<'_>) {
        for (slice, dst) in &frame.code.param_regs {
            let value = little_endian(&self.bytes[frame.bytes + slice.start..][..slice.len]);
            self.set(frame, dst.reg, value & dst.mask);
        }
    }

    /// A step, shown to `trace`. One at which the thread stops is shown when it is taken up again.
    fn traced<T: Trace>(
        &mut self,
        cta: &Cta<'a>,
        frame: &Frame<'a>,
        index: usize,
        trace: &mut T,
    ) -> Result<Next, Box<Wrong>> {
        if let What::Turn = frame.code.steps[index].what {
            return self.step(cta, frame, index);
        }
        let shown = self.shown(cta, frame, index);
        let next = self.step(cta, frame, index);
        if !matches!(next, Ok(Next::Stop(_))) {
            self.show(cta, frame, &shown, next.as_ref().ok(), trace);
        }
        next
    }

    /// What is to be shown of a step, before it.
    fn shown(&self, cta: &Cta<'a>, frame: &Frame<'a>, index: usize) -> Shown {
        let function = &cta.module().functions[frame.code.function.index()];
        let mut shown = Shown {
            index,
            depth: self.frames.len() as u32 - 1,
            reads: SmallVec::new(),
            executed: true,
        };
        let reads = &mut shown.reads;
        match frame.code.inst(function, index) {
            Some(inst) => {
                inst.uses(|reg| reads.push((reg, self.get(frame, reg))));
                if let Some(guard) = inst.guard {
                    shown.executed = (self.get(frame, guard.reg) != 0) != guard.negated;
                }
            }
            None => {
                let block = function.block(frame.code.sites[index].block);
                let decides = block.terminator.uses();
                reads.extend(decides.map(|reg| (reg, self.get(frame, reg))));
            }
        }
        shown
    }

    /// Shows a step, after it; `next` is `None` if it faulted.
    fn show<T: Trace>(
        &self,
        cta: &Cta<'a>,
        frame: &Frame<'a>,
        shown: &Shown,
        next: Option<&Next>,
        trace: &mut T,
    ) {
        let Shown {
            index,
            depth,
            executed,
            ..
        } = *shown;
        let function = &cta.module().functions[frame.code.function.index()];
        let inst = frame.code.inst(function, index);
        let mut writes: SmallVec<[(Reg, u64); 8]> = SmallVec::new();
        if let (Some(inst), true, Some(Next::Following)) = (inst, executed, next) {
            inst.defs(|reg| writes.push((reg, self.get(frame, reg))));
        }
        let to = match next {
            Some(Next::Step(to)) => Some(frame.code.place(function, *to).0),
            Some(Next::Following | Next::Frame | Next::Exit | Next::Stop(_)) | None => None,
        };
        let mut results: SmallVec<[(Reg, u64); 8]> = SmallVec::new();
        let caller = self.frames.last().copied();
        let caller = caller.filter(|_| self.frames.len() as u32 == depth);
        if let Some(caller) = &caller {
            let function = &cta.module().functions[caller.code.function.index()];
            if let Some(call) = caller.code.inst(function, caller.next - 1) {
                call.defs(|reg| results.push((reg, self.get(caller, reg))));
            }
        }
        let (span, location) = frame.code.place(function, index);
        trace.step(&Step {
            function: frame.code.function,
            span,
            location,
            block: cta.block,
            thread: self.index,
            depth,
            executed,
            reads: &shown.reads,
            faulted: next.is_none(),
            writes: &writes,
            to,
            returned: caller.map(|caller| (caller.code.function, &results[..])),
        });
    }

    /// The fault of a step.
    #[cold]
    fn fault(&self, cta: &Cta<'_>, frame: &Frame<'_>, step: usize, wrong: Wrong) -> Fault {
        let module = cta.module();
        let id = frame.code.function;
        let function = &module.functions[id.index()];
        let (span, location) = frame.code.place(function, step);
        let fault = Fault::new(wrong.kind, module, id, span, location);
        let inst = frame.code.inst(function, step);
        let parameter = inst.and_then(|inst| memory::parameter(function, inst, &wrong));
        let mut fault = self.tell(cta, wrong, fault);
        if parameter.is_some() {
            fault.nearest = parameter;
        }
        fault
    }

    /// Adds what is known about a fault.
    fn tell(&self, cta: &Cta<'_>, wrong: Wrong, fault: Fault) -> Fault {
        let mut fault = fault.by(cta.block, self.index);
        if let Some(at) = wrong.access {
            fault = fault.accessing(&self.view, at.space, at.address, at.bytes);
        }
        fault.detail = wrong.detail;
        fault
    }
}

/// There is no memory for a thread that may be left.
#[cold]
fn no_room(bytes: u64) -> Box<Wrong> {
    Wrong::new(
        FaultKind::StackOverflow,
        format!("there is no room for {bytes} more bytes of registers and local memory"),
    )
}

/// The type that an indirect call gives.
fn indirect_type<'f>(code: &Code, caller: &'f Function, step: usize) -> Option<&'f CallType> {
    match &code.inst(caller, step)?.kind.call()?.callee {
        Callee::Indirect { ty, .. } => Some(ty),
        Callee::Direct(_) => None,
    }
}

/// Whether parameters and return parameters are those of `ty`.
fn has_type(function: &Function, ty: &CallType) -> bool {
    function.params.iter().map(|p| &p.ty).eq(&ty.params)
        && function.returns.iter().map(|p| &p.ty).eq(&ty.returns)
}

/// The first eight bytes, or as many as there are, as a number.
pub(super) fn little_endian(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    let len = bytes.len().min(8);
    whole[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(whole)
}
