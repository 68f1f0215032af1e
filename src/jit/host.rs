//! What native code asks of its host.

use super::code::Inner;
use crate::ir::Module;
use crate::ir::memory::Space;
use crate::lower::context::{Context, Extent, NO_SLOT};
use crate::lower::{Cause, Site};
use crate::machine::memory::Window;
use crate::machine::{Access, AddressMap, Fault, FaultKind, Launch, View, nanoseconds, window};

/// The largest alignment of an access.
const ALIGN: u64 = 32;

/// What helpers work with, behind [`Context::host`].
pub(super) struct Host<'a> {
    pub(super) code: &'a Inner,
    pub(super) launch: &'a Launch<'a>,
    /// Bytes of local memory that every thread has all the time.
    pub(super) steady_local: u64,
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
                for &(member, distance) in members {
                    let pointer = one(member, address.wrapping_add_signed(distance))?;
                    if start.is_null() {
                        start = pointer.wrapping_offset((-distance) as isize);
                    }
                }
                Ok(start)
            }
            Some(Cause::Access { .. } | Cause::Fault(_) | Cause::Wrong { .. }) | None => {
                one(site, address)
            }
        }
    }

    fn access(&self, site: u32) -> Result<(Space, Access), Wrong> {
        match self.code.sites.get(site as usize).map(|s| &s.cause) {
            Some(Cause::Access { space, access }) => Ok((*space, *access)),
            Some(Cause::Run(_) | Cause::Fault(_) | Cause::Wrong { .. }) | None => Err(Wrong {
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
        let new = |kind, site: &Site| {
            Fault::new(kind, self.module(), site.function, site.span, site.location)
                .by(context.ctaid, context.tid)
        };
        match &site.cause {
            Cause::Fault(kind) => new(*kind, site),
            Cause::Wrong {
                kind,
                address,
                bytes,
            } => new(*kind, site).accessing(&self.view(context), Space::Param, *address, *bytes),
            Cause::Access { space, access } => new(kind_of(record.kind), site).accessing(
                &self.view(context),
                *space,
                record.address,
                access.bytes,
            ),
            Cause::Run(_) => new(kind_of(record.kind), site),
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

/// The region of global memory that holds an address.
pub(super) fn region(map: &AddressMap, address: u64) -> Option<Extent> {
    let region = map.region(address)?;
    Some(extent(region.base, region.len, region.writable, 0))
}

/// The window or region that holds a generic or global address and stays as it is as long as the CTA runs.
fn neighbourhood(host: &Host<'_>, context: &Context, space: Space, address: u64) -> Option<Extent> {
    let bits = host.module().address_bits;
    let space = match space {
        Space::Generic => window::space_of(address, bits),
        Space::Global | Space::Shared | Space::Local | Space::Const | Space::Param => space,
    };
    let view = host.view(context);
    let (found, writable) = match space {
        Space::Generic | Space::Global => return region(host.launch.map, address),
        Space::Shared => (view.shared, true),
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

/// Judges the access of `site` to `address`. Leaves the host pointer in [`Context::answer`], and the surroundings of
/// the address in the slot; or null, and what is wrong in [`Context::fault`].
///
/// # Safety
/// `context` is the one that native code was entered with.
pub(super) unsafe extern "C" fn resolve(context: *mut Context, site: u32, address: u64, slot: u32) {
    // SAFETY: nobody else has it while native code waits for the answer.
    let context = unsafe { &mut *context };
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
            let space = match host.code.sites.get(site as usize).map(|s| &s.cause) {
                Some(Cause::Access { space, .. }) => *space,
                _ => Space::Generic,
            };
            if let Some(extent) = neighbourhood(host, context, space, address) {
                // SAFETY: native code passes slots below the number that the table was made for.
                unsafe { context.answers.add(slot as usize).write(extent) }
            }
        }
        Err(wrong) => {
            context.answer = std::ptr::null_mut();
            context.fault.site = wrong.site;
            context.fault.kind = number_of(wrong.kind);
            context.fault.address = wrong.address;
        }
    }
}

/// The clock that kernels read.
pub(super) extern "C" fn clock() -> u64 {
    nanoseconds()
}
