//! Buffers: typed stretches of device memory.

use super::args::Address;
use super::device::{Allocation, Device};
use crate::error::{Error, Usage};
use bytemuck::{Pod, Zeroable};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Elements in device memory. Clones are handles of the same memory, which is freed with the last of them, and not
/// before the launches end that began before.
///
/// Reading or writing it while a kernel runs is harmless, and gives or leaves old or new elements, or parts of both.
///
/// ```
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// let buffer = device.alloc_from(&[[1u8, 2, 3, 4], [5, 6, 7, 8]])?;
/// let same = buffer.clone();
/// same.write_at(1, &[[0; 4]])?;
/// assert_eq!(buffer.to_vec()?, [[1, 2, 3, 4], [0; 4]]);
/// assert!(buffer.write(&[[0; 4]; 3]).is_err(), "it has two elements");
/// # Ok::<(), ptxlift::Error>(())
/// ```
pub struct Buffer<T> {
    allocation: Arc<Allocation>,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer {
            allocation: Arc::clone(&self.allocation),
            len: self.len,
            element: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} elements at {})", self.len, self.address())
    }
}

impl<T> Buffer<T> {
    pub(super) fn new(allocation: Allocation, len: usize) -> Self {
        Buffer {
            allocation: Arc::new(allocation),
            len,
            element: PhantomData,
        }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of its first element, as kernels know it: a multiple of 256, but for registered memory. Having it does not keep the memory
    /// alive; a kernel that uses it later ends in a fault.
    pub fn address(&self) -> Address {
        Address(self.allocation.memory().address())
    }

    /// The device that it lies on.
    pub fn device(&self) -> &Device {
        self.allocation.device()
    }

    /// Forbids kernels that are launched from now on to store to it, through any handle.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.allocation.set_writable(false);
        self
    }

    pub(super) fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }

    fn describe(&self) -> String {
        format!("a buffer of {} elements", self.len)
    }
}

impl<T: Pod> Buffer<T> {
    /// Its elements.
    ///
    /// # Errors
    /// [`Usage::HostMemory`] if there is no room for them.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut elements = zeros(self.len)?;
        self.read_at(0, &mut elements)?;
        Ok(elements)
    }

    /// Reads elements, from `first` on, into `to`.
    ///
    /// # Errors
    /// [`Usage::Length`] if it has fewer.
    pub fn read_at(&self, first: usize, to: &mut [T]) -> Result<(), Error> {
        self.allocation.memory().read(
            &self.describe(),
            offset::<T>(first),
            bytemuck::cast_slice_mut(to),
        )
    }

    /// Writes its leading elements.
    ///
    /// # Errors
    /// [`Usage::Length`] if it has fewer.
    pub fn write(&self, from: &[T]) -> Result<(), Error> {
        self.write_at(0, from)
    }

    /// Writes elements from `first` on.
    ///
    /// # Errors
    /// [`Usage::Length`] if it has fewer.
    pub fn write_at(&self, first: usize, from: &[T]) -> Result<(), Error> {
        self.allocation.memory().write(
            &self.describe(),
            offset::<T>(first),
            bytemuck::cast_slice(from),
        )
    }
}

fn offset<T>(index: usize) -> u64 {
    (index as u64).saturating_mul(size_of::<T>() as u64)
}

/// Zeroed elements on the host, or an error if there is no room.
pub(super) fn zeros<T: Zeroable + Clone>(len: usize) -> Result<Vec<T>, Error> {
    let mut elements = Vec::new();
    elements
        .try_reserve_exact(len)
        .map_err(|_| Usage::HostMemory {
            bytes: offset::<T>(len),
        })?;
    elements.resize(len, T::zeroed());
    Ok(elements)
}
