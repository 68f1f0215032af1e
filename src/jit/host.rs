//! What native code asks of its host.

use super::code::Inner;
use crate::ir::control::CallType;
use crate::ir::memory::Space;
use crate::ir::sync::MbarrierOp;
use crate::ir::{FunctionKind, Module};
use crate::lower::context::{self, Context, Extent, NO_SLOT, Start};
use crate::lower::{ARGUMENTS, Cause, Parameter, Service};
use crate::machine::memory::{self, Window};
use crate::machine::schedule::LANES;
use crate::machine::sync::{self, Part, Transfer};
use crate::machine::{
    Access, AddressMap, Fault, FaultKind, Launch, Nearest, Neighbours, View, local, nanoseconds,
    window,
};
use std::cell::RefCell;

/// The largest alignment of an access.
const ALIGN: u64 = 32;

/// What helpers work with, behind [`Context::host`].
pub(super) struct Host<'a> {
    pub(super) code: &'a Inner,
    pub(super) launch: &'a Launch<'a>,
    /// Shared memory of the cluster.
    pub(super) neighbours: Neighbours,
    /// Bytes of local memory that every thread has all the time.
    pub(super) steady_local: u64,
    /// What went wrong when it was last asked to do something.
    pub(super) failure: RefCell<Option<Failure>>,
}

impl Host<'_> {
    fn module(&self) -> &Module {
        &self.code.module
    }

    /// What the thread reaches.
    fn view(&self, context: &Context) -> View<'_> {
        View {
            map: self.launch.map,
            address_bits: self.module().address_bits,
            shared: Window {
                base: context.shared,
                len: context.shared_len,
            },
            neighbours: self.neighbours,
            local: Window {
                base: context.local,
                len: context.local_top,
            },
            constant: self.launch.constants,
            param: Window {
                base: context.params.cast_mut(),
                len: context.params_len,
            },
        }
    }

    /// Judges an access or a run of them: the host pointer, or what is wrong.
    fn judge(&self, context: &Context, site: u32, address: u64) -> Result<*mut u8, Wrong> {
        let view = self.view(context);
        let one = |site: u32, address: u64| {
            let (space, access) = self.access(site)?;
            let verdict = view.access(space, address, access);
            verdict.map_err(|kind| Wrong {
                site,
                kind,
                address,
            })
        };
        match self.code.sites.get(site as usize).map(|s| &s.cause) {
            Some(Cause::Run(members)) => {
                let mut start: *mut u8 = std::ptr::null_mut();
                for member in members {
                    let from = match member.which.checked_sub(1) {
                        None => address,
                        Some(i) => context.between[i],
                    };
                    let mut at = from.wrapping_add_signed(member.distance);
                    if self.module().address_bits == 32 {
                        at &= 0xffff_ffff;
                    }
                    let pointer = one(member.site, at)?;
                    if start.is_null() {
                        start = pointer.wrapping_offset((-member.distance) as isize);
                    }
                }
                Ok(start)
            }
            Some(_) | None => one(site, address),
        }
    }

    fn access(&self, site: u32) -> Result<(Space, Access), Wrong> {
        match self.code.sites.get(site as usize).map(|s| &s.cause) {
            Some(Cause::Access { space, access, .. }) => Ok((*space, *access)),
            Some(_) | None => Err(Wrong {
                site,
                kind: FaultKind::OutOfBounds,
                address: 0,
            }),
        }
    }

    /// The fault that native code left in the context.
    pub(super) fn fault(&self, context: &Context) -> Fault {
        let record = context.fault;
        let Some(site) = self.code.sites.get(record.site as usize) else {
            let fault = Fault::new(
                FaultKind::Trap,
                self.module(),
                crate::ir::FuncId(u32::MAX),
                crate::diag::Span::default(),
                u32::MAX,
            );
            return fault.detail("native code reported an unknown site");
        };
        let new = |kind| {
            Fault::new(kind, self.module(), site.function, site.span, site.location)
                .by(context.ctaid, context.tid)
        };
        let accessing = |kind, space, address, bytes, parameter: &Option<Parameter>| {
            let mut fault = new(kind).accessing(&self.view(context), space, address, bytes);
            if let Some(parameter) = parameter {
                fault.nearest = Some(Nearest {
                    what: format!("parameter `{}`", parameter.name),
                    offset: (address as i64).wrapping_sub(parameter.offset.into()),
                    size: parameter.size.into(),
                });
            }
            fault
        };
        let limits = &self.launch.limits;
        let overflow = FaultKind::StackOverflow;
        match &site.cause {
            Cause::Access {
                space,
                access,
                parameter,
            } => accessing(
                kind_of(record.kind),
                *space,
                record.value,
                access.bytes,
                parameter,
            ),
            Cause::Run(_) => new(kind_of(record.kind)),
            Cause::Wrong {
                kind,
                address,
                bytes,
                parameter,
            } => accessing(*kind, Space::Param, *address, *bytes, parameter),
            Cause::Serve(_) => match self.failure.take() {
                None => new(FaultKind::Trap),
                Some(Failure {
                    kind,
                    detail,
                    access,
                }) => {
                    let mut fault = match access {
                        None => new(kind),
                        Some((space, address, bytes)) => {
                            accessing(kind, space, address, bytes, &None)
                        }
                    };
                    fault.detail = detail;
                    fault
                }
            },
            Cause::Trap => new(FaultKind::Trap),
            Cause::Stop => new(FaultKind::TimeLimit).detail("stopped"),
            Cause::Depth => {
                new(overflow).detail(format!("more than {} nested calls", limits.call_depth))
            }
            Cause::Stack => new(overflow).detail("no native stack is left"),
            Cause::Locals => new(overflow).detail(format!(
                "{} bytes of local memory wanted, there are {}",
                record.value, limits.local_bytes
            )),
            Cause::Restore => new(FaultKind::OutOfBounds).detail(local::no_end(record.value)),
            Cause::Table(count) => new(FaultKind::BadCall)
                .detail(format!("index {} into a table of {count}", record.value)),
            Cause::Callee(ty) => new(FaultKind::BadCall).detail(self.bad_call(record.value, ty)),
        }
    }

    /// Why an address cannot be called.
    fn bad_call(&self, address: u64, ty: &CallType) -> String {
        let function = window::function_index(address, self.module().address_bits)
            .and_then(|index| self.module().functions.get(index as usize));
        match function {
            None => format!("{address:#x} is not the address of a function"),
            Some(f) if f.kind == FunctionKind::Kernel || f.call_type() != *ty => {
                format!("`{}` is not of the type that the call says", f.name)
            }
            Some(f) if !f.defined => format!("`{}` has no body", f.name),
            Some(f) => format!("`{}` has no native code", f.name),
        }
    }
}

/// What is wrong with an access.
struct Wrong {
    site: u32,
    kind: FaultKind,
    address: u64,
}

fn number_of(kind: FaultKind) -> u32 {
    match kind {
        FaultKind::Misaligned => 0,
        FaultKind::ReadOnly => 1,
        _ => 2,
    }
}

fn kind_of(number: u32) -> FaultKind {
    match number {
        0 => FaultKind::Misaligned,
        1 => FaultKind::ReadOnly,
        _ => FaultKind::OutOfBounds,
    }
}

/// The part of a region in which distances from the start tell alignment.
fn extent(base: u64, len: u64, writable: bool, delta: u64) -> Extent {
    let start = base.next_multiple_of(ALIGN);
    let read = len.saturating_sub(start - base);
    Extent {
        base: start,
        read,
        write: if writable { read } else { 0 },
        delta,
    }
}

/// What may be reached from a pointer on; `None` if it does not point to memory.
pub(super) fn start(map: &AddressMap, address: u64) -> Option<Start> {
    let region = map.region(address)?;
    let after = region.len - (address - region.base);
    let mut start = Start {
        address,
        ..Start::default()
    };
    for (shift, (read, write)) in start.read.iter_mut().zip(&mut start.write).enumerate() {
        if address.is_multiple_of(1 << shift) {
            *read = after >> shift;
            *write = if region.writable { *read } else { 0 };
        }
    }
    Some(start)
}

/// The window or region that holds a generic or global address and stays as it is as long as the CTA runs.
fn neighbourhood(host: &Host<'_>, context: &Context, space: Space, address: u64) -> Option<Extent> {
    let bits = host.module().address_bits;
    let asked = space;
    let space = match space {
        Space::Generic => window::space_of(address, bits),
        Space::Global
        | Space::Shared
        | Space::Cluster
        | Space::Local
        | Space::Const
        | Space::Param => space,
    };
    let view = host.view(context);
    let (found, writable) = match space {
        Space::Generic | Space::Global => {
            let region = host.launch.map.region(address)?;
            return Some(extent(region.base, region.len, region.writable, 0));
        }
        // Only this one has answers to keep: where it begins is known of the own window.
        Space::Shared | Space::Cluster => {
            let generic = window::base(Space::Cluster, bits)?;
            let start = if asked == Space::Generic { generic } else { 0 };
            let (found, at) = view.shared_at(address.wrapping_sub(start))?;
            let base = start.wrapping_add(at);
            let delta = (found.base as u64).wrapping_sub(base);
            return Some(extent(base, found.len, true, delta));
        }
        // Frames come and go, but for the kernel's own.
        Space::Local => (
            Window {
                len: host.steady_local,
                ..view.local
            },
            true,
        ),
        Space::Const => (view.constant, false),
        Space::Param => (view.param, false),
    };
    let base = window::base(space, bits)?;
    let delta = (found.base as u64).wrapping_sub(base);
    Some(extent(base, found.len, writable, delta))
}

/// Says of the thread what native code does not where threads stop: only which lane of the warp it is.
pub(super) fn find_lane(context: &mut Context) {
    if context.frame.is_null() {
        return;
    }
    let (warp, lane) = (context.round_warp as usize, context.lane as usize);
    let number = (context.warp as usize + warp) * LANES + lane;
    context.tid = context::tid(number as u32, context.block);
    let offset = (warp * LANES + lane) * context.local_stride as usize;
    context.local = context.locals.wrapping_add(offset);
}

/// Judges the access of `site` to `address`. Leaves the host pointer in [`Context::answer`], and the surroundings of
/// the address in the slot; or null, and what is wrong in [`Context::fault`].
///
/// # Safety
/// `context` is the one that native code was entered with.
pub(super) unsafe extern "C" fn resolve(context: *mut Context, site: u32, address: u64, slot: u32) {
    // SAFETY: nobody else has it while native code waits for the answer.
    let context = unsafe { &mut *context };
    find_lane(context);
    // SAFETY: whoever enters native code sets it to a host that outlives the entry.
    let host = unsafe { &*context.host.cast::<Host<'_>>() };
    let address = if host.module().address_bits == 32 {
        address & 0xffff_ffff
    } else {
        address
    };
    match host.judge(context, site, address) {
        Ok(pointer) => {
            context.answer = pointer;
            if slot == NO_SLOT {
                return;
            }
            let first = match host.code.sites.get(site as usize).map(|s| &s.cause) {
                Some(Cause::Run(members)) => members.first().map_or(site, |member| member.site),
                Some(_) | None => site,
            };
            if let Ok((space, _)) = host.access(first)
                && let Some(extent) = neighbourhood(host, context, space, address)
            {
                // SAFETY: native code passes slots below the number that the table was made for.
                unsafe { context.answers.add(slot as usize).write(extent) }
            }
        }
        Err(wrong) => {
            context.answer = std::ptr::null_mut();
            context.fault.site = wrong.site;
            context.fault.kind = number_of(wrong.kind);
            context.fault.value = wrong.address;
        }
    }
}

/// Why the host could not do what it was asked for.
pub(super) struct Failure {
    kind: FaultKind,
    detail: Option<String>,
    /// Space, address and size of an access.
    access: Option<(Space, u64, u32)>,
}

impl Failure {
    fn new(kind: FaultKind, detail: String) -> Self {
        Failure {
            kind,
            detail: Some(detail),
            access: None,
        }
    }
}

impl Host<'_> {
    /// Does what a site asks for; the results take the place of the first arguments.
    fn serve(
        &self,
        context: &mut Context,
        service: &Service,
        args: &mut [u64; ARGUMENTS],
    ) -> Result<(), Failure> {
        let view = self.view(context);
        let reach = |space: Space, address: u64, access: Access| {
            view.access(space, address, access).map_err(|kind| Failure {
                kind,
                detail: None,
                access: Some((space, address, access.bytes)),
            })
        };
        let object = |bytes: u32| Access {
            write: true,
            bytes,
            align: bytes,
        };
        let undefined = |what| Failure::new(FaultKind::DivergedBarrier, sync::undefined(what));
        match service {
            Service::System(system) => {
                let result = system.call(self.launch.host, &view, args);
                args[0] = result.map_err(|failure| Failure {
                    kind: failure.kind,
                    detail: failure.detail,
                    access: (failure.access).map(|at| (Space::Generic, at.address, at.bytes)),
                })?;
            }
            Service::Atomic { space, op } => {
                let pointer = reach(*space, args[0], object(16))?;
                let srcs = [args[1], args[2], args[3], args[4]];
                // SAFETY: the access has just been judged; whoever runs the launch keeps its memory alive.
                let old = unsafe { sync::atomic(pointer, *op, 16, srcs) };
                (args[0], args[1]) = (old as u64, (old >> 64) as u64);
            }
            Service::Mbarrier { space, op } => {
                let pointer = reach(*space, args[0], object(8))?;
                // SAFETY: as above.
                let result = unsafe { sync::mbarrier(pointer, *op, [args[1], args[2]]) };
                args[0] = result.map_err(undefined)?;
            }
            Service::Allocate { align } => {
                let limits = &self.launch.limits;
                // Clearing memory may take long.
                if limits.stop.is_raised() {
                    return Err(Failure::new(FaultKind::TimeLimit, "stopped".to_string()));
                }
                let old = context.local_top;
                let limit = limits.local_bytes.into();
                let (start, end) = local::allocate(old, args[0], *align, limit)
                    .map_err(|detail| Failure::new(FaultKind::StackOverflow, detail))?;
                // SAFETY: a thread has as much local memory as the limit says where it may take some, and nobody else uses it.
                unsafe {
                    let from = context.local.add(old as usize);
                    std::ptr::write_bytes(from, 0, (end - old) as usize);
                }
                context.local_top = end;
                args[0] = start;
            }
            Service::Copy(copy) => {
                let bytes = args[2] as u32;
                let transfer = Transfer {
                    bytes,
                    read: match copy.read {
                        _ if copy.ignore.is_some() && args[4] != 0 => 0,
                        Some(_) => (args[3] as u32).min(bytes),
                        None => bytes,
                    },
                    align: copy.align.into(),
                    reduce: copy.reduce,
                };
                if let Some(odd) = transfer.odd() {
                    return Err(Failure::new(FaultKind::Misaligned, odd));
                }
                let copy_to = |to: (Space, u64), mbarrier: Option<(Space, u64)>| {
                    if copy.skip.is_some() || copy.byte_mask.is_some() {
                        let part = Part {
                            skip: [args[7], args[8]],
                            mask: args[9],
                        };
                        let access = |write, bytes, align| Access {
                            write,
                            bytes,
                            align,
                        };
                        let ends = [to, (copy.from.0, args[1])];
                        for (space, address) in ends {
                            // Bytes that are left out need not even be there.
                            if let Err(failure) =
                                reach(space, address, access(false, 0, transfer.align))
                                && failure.kind == FaultKind::Misaligned
                            {
                                return Err(failure);
                            }
                        }
                        for at in part.of(bytes) {
                            let [to, from] =
                                ends.map(|(space, address)| (space, address.wrapping_add(at)));
                            let to = reach(to.0, to.1, access(true, 1, 1))?;
                            let from = reach(from.0, from.1, access(false, 1, 1))?;
                            // SAFETY: both bytes have just been judged; whoever runs the launch keeps its memory alive.
                            unsafe { memory::store(to, 1, memory::load(from, 1)) };
                        }
                    // Nothing may be reached where nothing is copied.
                    } else if bytes > 0 {
                        let to = reach(to.0, to.1, transfer.access(true, bytes))?;
                        let from = match transfer.read {
                            0 => to,
                            read => reach(copy.from.0, args[1], transfer.access(false, read))?,
                        };
                        // SAFETY: as above, both ends.
                        unsafe { transfer.run(to, from) };
                    }
                    if let Some((space, address)) = mbarrier {
                        let pointer = reach(space, address, object(8))?;
                        let complete = MbarrierOp::CompleteTx;
                        // SAFETY: as above.
                        let done = unsafe { sync::mbarrier(pointer, complete, [bytes.into(), 0]) };
                        done.map_err(undefined)?;
                    }
                    Ok(())
                };
                let mbarrier = copy.mbarrier.map(|(space, _)| (space, args[5]));
                if copy.multicast.is_none() {
                    return copy_to((copy.to.0, args[0]), mbarrier);
                }
                for rank in sync::ranks(args[6]) {
                    let there =
                        |(_, at): (Space, u64)| (Space::Cluster, Neighbours::of_rank(at, rank));
                    copy_to(there((copy.to.0, args[0])), mbarrier.map(there))?;
                }
            }
        }
        Ok(())
    }
}

/// Does what `site` asks for with `args`. 0 if it is done; else [`Context::fault`] says where, and the host what is wrong.
///
/// # Safety
/// `context` is the one that native code was entered with; `args` are [`ARGUMENTS`] words.
pub(super) unsafe extern "C" fn serve(context: *mut Context, site: u32, args: *mut u64) -> u32 {
    // SAFETY: nobody else has it while native code waits for the answer.
    let context = unsafe { &mut *context };
    find_lane(context);
    // SAFETY: whoever enters native code sets it to a host that outlives the entry.
    let host = unsafe { &*context.host.cast::<Host<'_>>() };
    // SAFETY: they lie in a frame of native code, which waits.
    let args = unsafe { &mut *args.cast::<[u64; ARGUMENTS]>() };
    let Some(Cause::Serve(service)) = host.code.sites.get(site as usize).map(|s| &s.cause) else {
        context.fault.site = site;
        return 1;
    };
    match host.serve(context, service, args) {
        Ok(()) => 0,
        Err(failure) => {
            host.failure.replace(Some(failure));
            context.fault.site = site;
            1
        }
    }
}

/// The clock that kernels read.
pub(super) extern "C" fn clock() -> u64 {
    nanoseconds()
}

#[cfg(test)]
mod tests {
    use super::{ALIGN, extent};

    /// What may be reached ends where the memory ends, and begins at the first place of which the distance tells alignment.
    #[test]
    fn extents_end_where_memory_ends() {
        for base in [0x1000, 0x1001, 0x1008, 0x100f] {
            for len in [0, 1, 3, 16, 100] {
                let found = extent(base, len, true, 5);
                assert!(found.base >= base && found.base - base < ALIGN);
                assert_eq!(found.base % ALIGN, 0);
                assert_eq!(found.base + found.read, (base + len).max(found.base));
                assert_eq!((found.write, found.delta), (found.read, 5));
                assert_eq!(extent(base, len, false, 5).write, 0);
            }
        }
    }
}
