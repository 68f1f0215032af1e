//! Copies between the host and the memory of the device, variables in constant memory included.
//!
//! No address of the device reaches constant memory from the host, so such variables get addresses that nothing else has.

use super::{Driver, INVALID_VALUE, Wrong, wrong};
use lift::{Address, Variable};

/// Above all that a device gives addresses to.
const FIRST: u64 = 0x0700_0000_0000_0000;
/// Addresses of a variable, more than it has bytes.
const EACH: u64 = 1 << 32;
/// Copies and fills go through pieces of so many bytes.
const PIECE: usize = 1 << 16;

/// The variables in constant memory that were asked for, with their modules; those of unloaded ones are gone.
#[derive(Debug, Default)]
pub(super) struct Constants(Vec<Option<(usize, Variable)>>);

impl Constants {
    /// The address of a variable of a module.
    fn address(&mut self, module: usize, variable: Variable) -> u64 {
        let same = |known: &Option<(usize, Variable)>| matches!(known, Some((of, v)) if *of == module && v.name() == variable.name());
        let index = self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(Some((module, variable)));
            self.0.len() - 1
        });
        FIRST + EACH * index as u64
    }

    /// The variable at an address, and how far from its start that is.
    fn find(&self, address: u64) -> Option<(Variable, u64)> {
        let from_first = address.checked_sub(FIRST)?;
        let index = usize::try_from(from_first / EACH).ok()?;
        let (_, variable) = self.0.get(index)?.as_ref()?;
        Some((variable.clone(), from_first % EACH))
    }

    /// Takes out what a module had.
    pub(super) fn of(&mut self, module: usize) -> Vec<Variable> {
        let ours = |known: &&mut Option<(usize, Variable)>| matches!(known, Some((of, _)) if *of == module);
        let taken = self.0.iter_mut().filter(ours).filter_map(Option::take);
        taken.map(|(_, variable)| variable).collect()
    }
}

/// The part of a variable's bytes from `offset` on.
fn part<'a>(
    variable: &Variable,
    all: &'a mut [u8],
    offset: u64,
    bytes: usize,
) -> Result<&'a mut [u8], Wrong> {
    let end = usize::try_from(offset)
        .ok()
        .and_then(|start| Some(start..start.checked_add(bytes)?));
    let whole = all.len();
    match end.and_then(|range| all.get_mut(range)) {
        Some(part) => Ok(part),
        None => wrong(
            INVALID_VALUE,
            format!(
                "{bytes} bytes from byte {offset} on, of `{}` with {whole}",
                variable.name()
            ),
        ),
    }
}

impl Driver {
    /// The address by which the host reaches a variable.
    pub(super) fn address_of(&self, module: usize, variable: Variable) -> u64 {
        let address = variable.address();
        let is_reached = self.device.read(address, &mut [0]).is_ok();
        if is_reached || variable.bytes() == 0 {
            return address.0;
        }
        self.state().constants.address(module, variable)
    }

    /// Writes bytes to an address, all or none.
    pub(super) fn write(&self, to: u64, from: &[u8]) -> Result<(), Wrong> {
        let found = self.state().constants.find(to);
        let Some((variable, offset)) = found else {
            return Ok(self.device.write(Address(to), from)?);
        };
        let mut all = variable.read::<u8>()?;
        part(&variable, &mut all, offset, from.len())?.copy_from_slice(from);
        Ok(variable.write(&all)?)
    }

    /// Reads bytes at an address.
    pub(super) fn read(&self, from: u64, to: &mut [u8]) -> Result<(), Wrong> {
        let found = self.state().constants.find(from);
        let Some((variable, offset)) = found else {
            return Ok(self.device.read(Address(from), to)?);
        };
        let mut all = variable.read::<u8>()?;
        to.copy_from_slice(part(&variable, &mut all, offset, to.len())?);
        Ok(())
    }

    /// Whether all these bytes are there, so that nothing is written where some are not.
    fn whole(&self, at: u64, bytes: usize) -> Result<(), Wrong> {
        let mut piece = vec![0; bytes.min(PIECE)];
        for start in (0..bytes).step_by(PIECE) {
            let there = (at.checked_add(start as u64)).is_some_and(|at| {
                self.read(at, &mut piece[..PIECE.min(bytes - start)])
                    .is_ok()
            });
            if !there {
                return wrong(
                    INVALID_VALUE,
                    format!("the device has no memory for {bytes} bytes at {at:#x}"),
                );
            }
        }
        Ok(())
    }

    /// Copies within the device.
    pub(super) fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), Wrong> {
        self.whole(to, bytes)?;
        self.whole(from, bytes)?;
        let mut piece = vec![0; bytes.min(PIECE)];
        for start in (0..bytes).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(bytes - start)];
            self.read(from + start as u64, piece)?;
            self.write(to + start as u64, piece)?;
        }
        Ok(())
    }

    /// Fills memory with copies of an element, to whose size it is aligned.
    pub(super) fn fill(&self, to: u64, element: &[u8], count: usize) -> Result<(), Wrong> {
        let Some(bytes) = count.checked_mul(element.len()) else {
            return wrong(INVALID_VALUE, format!("{count} elements are too many"));
        };
        if !to.is_multiple_of(element.len() as u64) {
            let size = element.len();
            return wrong(
                INVALID_VALUE,
                format!("{to:#x} is not a multiple of {size}"),
            );
        }
        self.whole(to, bytes)?;
        let piece = element.repeat(bytes.min(PIECE) / element.len());
        for start in (0..bytes).step_by(PIECE) {
            let piece = &piece[..PIECE.min(bytes - start)];
            self.write(to + start as u64, piece)?;
        }
        Ok(())
    }
}
