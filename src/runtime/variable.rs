//! Module variables.

use super::args::Address;
use super::buffer::zeros;
use super::instance::{self, Instance};
use crate::error::{Error, Usage};
use crate::ir::{self, VarId};
use bytemuck::Pod;

/// A `.global` or `.const` variable of an [`Instance`].
///
/// Reading or writing it while a kernel runs is harmless, and gives or leaves old or new bytes.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .global .align 4 .u8 flags[6] = {1, 2, 3, 4, 5, 6};
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// let flags = instance.global("flags")?;
/// assert_eq!((flags.declared(), flags.bytes()), ("u8", 6));
/// flags.write(&[0x0a0b_0c0du32])?;
/// assert_eq!(flags.read::<u8>()?, [0x0d, 0x0c, 0x0b, 0x0a, 5, 6]);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Variable {
    instance: Instance,
    id: VarId,
}

impl Variable {
    pub(super) fn new(instance: Instance, id: VarId) -> Self {
        Variable { instance, id }
    }

    fn ir(&self) -> &ir::Variable {
        &self.instance.ir().variables[self.id.index()]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.ir().name
    }

    /// Its element type as written, without the dot: `u32`, `b8`.
    pub fn declared(&self) -> &str {
        &self.ir().declared
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.ir().size
    }

    /// Its generic address.
    pub fn address(&self) -> Address {
        let module = self.instance.ir();
        Address(instance::address(
            module,
            self.ir(),
            self.instance.globals(),
            true,
        ))
    }

    /// Its contents as elements of type `T`; bytes that are left over at the end are not given.
    ///
    /// # Errors
    /// [`Usage::HostMemory`] if there is no room for them.
    pub fn read<T: Pod>(&self) -> Result<Vec<T>, Error> {
        const { assert!(size_of::<T>() > 0, "elements without size") };
        let mut elements = zeros::<T>(self.bytes() as usize / size_of::<T>())?;
        let bytes = bytemuck::cast_slice_mut(&mut elements);
        let (memory, start) = self.instance.place(self.id);
        memory.read(self.name(), start, bytes)?;
        Ok(elements)
    }

    /// Writes its leading elements.
    ///
    /// # Errors
    /// [`Usage::Length`] if it has fewer.
    pub fn write<T: Pod>(&self, from: &[T]) -> Result<(), Error> {
        let bytes: &[u8] = bytemuck::cast_slice(from);
        if bytes.len() as u64 > self.bytes() {
            return Err(Usage::Length {
                of: format!("variable `{}`", self.name()),
                bytes: self.bytes(),
                offset: 0,
                accessed: bytes.len() as u64,
            }
            .into());
        }
        let (memory, start) = self.instance.place(self.id);
        memory.write(self.name(), start, bytes)
    }
}
