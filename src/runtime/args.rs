//! Arguments of launches.

use super::buffer::Buffer;
use super::device::{Allocation, Device};
use super::value::{ByValue, Shape, ShapeKind, Value};
use crate::error::{Error, Usage};
use crate::ir;
use bytemuck::Pod;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// An address as kernels know it, of any kind: [`Buffer::address`], [`Variable::address`](super::Variable::address), a
/// sum of those and an offset, or [`Address::NULL`]. Whether memory is there is found out when a kernel uses it.
///
/// ```
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// use ptxlift::Address;
/// let words = device.alloc_from(&[1u32, 2, 3])?;
/// let second = words.address() + 4;
/// assert!(second > Address::NULL);
/// // A list in device memory: each element points to the next.
/// let nodes = device.alloc_zeroed::<[u64; 2]>(2)?;
/// nodes.write(&[[10, (nodes.address() + 16).0], [20, Address::NULL.0]])?;
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub u64);

impl Address {
    /// No memory is there.
    pub const NULL: Address = Address(0);
}

impl std::ops::Add<u64> for Address {
    type Output = Address;
    fn add(self, bytes: u64) -> Address {
        Address(self.0.wrapping_add(bytes))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// An argument of a launch, or of a call whose types are known at run time only. [`args!`](crate::args) makes arrays of
/// them from whatever has a `From` here.
///
/// ```
/// use ptxlift::Arg;
/// let scalar = Arg::from(5u32);
/// let structure = Arg::value(&[1u32, 2, 3]);
/// let bits = Arg::bytes(&1.5f32.to_bits().to_le_bytes());
/// # drop([scalar, structure, bits]);
/// ```
#[derive(Debug, Clone)]
pub struct Arg {
    bytes: SmallVec<[u8; 16]>,
    shape: Shape,
    memory: Option<Arc<Allocation>>,
}

impl Arg {
    /// Plain data as it lies in memory, for parameters of any type and the same size: by-value structures, or scalars
    /// whose bits are known.
    pub fn bytes(bytes: &[u8]) -> Self {
        Arg {
            bytes: SmallVec::from_slice(bytes),
            shape: Shape {
                kind: ShapeKind::Bytes,
                size: bytes.len(),
                name: "bytes",
            },
            memory: None,
        }
    }

    /// A structure by value.
    pub fn value<T: Pod>(value: &T) -> Self {
        Arg::bytes(bytemuck::bytes_of(value))
    }

    fn of<V: Value>(value: V) -> Self {
        let mut bytes = SmallVec::from_elem(0, V::SHAPE.size);
        value.store(&mut bytes);
        Arg {
            bytes,
            shape: V::SHAPE,
            memory: None,
        }
    }
}

impl<T> From<&Buffer<T>> for Arg {
    fn from(buffer: &Buffer<T>) -> Self {
        Arg {
            memory: Some(Arc::clone(buffer.allocation())),
            ..Arg::of(buffer.address())
        }
    }
}

impl<T> From<Buffer<T>> for Arg {
    fn from(buffer: Buffer<T>) -> Self {
        Arg::from(&buffer)
    }
}

impl From<Address> for Arg {
    fn from(address: Address) -> Self {
        Arg::of(address)
    }
}

impl<T: Pod> From<ByValue<T>> for Arg {
    fn from(value: ByValue<T>) -> Self {
        Arg::of(value)
    }
}

impl From<&Arg> for Arg {
    fn from(arg: &Arg) -> Self {
        arg.clone()
    }
}

macro_rules! scalars {
    ($($ty:ty)*) => {
        $(impl From<$ty> for Arg {
            fn from(value: $ty) -> Self {
                Arg::of(value)
            }
        })*
    };
}
scalars!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// An array of [`Arg`](crate::Arg)s: `args![&input, &output, n as u32]`.
///
/// ```
/// use ptxlift::{Address, Arg, args};
/// let three: [Arg; 3] = args![Address::NULL, -1i64, 2.5f32];
/// # drop(three);
/// ```
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {{
        let args: [$crate::Arg; { 0usize $(+ $crate::args!(@one $arg))* }] = [$($crate::Arg::from($arg)),*];
        args
    }};
    (@one $arg:expr) => { 1usize };
}

/// The buffer of parameters that `args` make for `callee`, which lies on `device`.
pub(super) fn marshal(
    module: &ir::Module,
    callee: &ir::Function,
    device: &Device,
    args: &[Arg],
) -> Result<SmallVec<[u8; 64]>, Error> {
    let wrong = |problem| super::value::arguments(callee, problem);
    if args.len() != callee.params.len() {
        return Err(wrong(super::value::count(
            args.len(),
            callee.params.len(),
            "argument",
        ))
        .into());
    }
    let mut buffer = SmallVec::from_elem(0, callee.param_bytes as usize);
    for (i, (arg, param)) in args.iter().zip(&callee.params).enumerate() {
        if let Some(problem) = arg.shape.mismatch(module, param) {
            return Err(wrong(format!("argument {i} does not fit: {problem}")).into());
        }
        if arg.memory.as_ref().is_some_and(|m| !m.device().is(device)) {
            return Err(Usage::OtherDevice {
                callee: super::value::describe(callee),
                argument: i,
            }
            .into());
        }
        let size = param.ty.size as usize;
        let place = buffer
            .get_mut(param.offset as usize..param.offset as usize + size)
            .ok_or_else(|| crate::error::Internal::new("a parameter past the buffer"))?;
        place.copy_from_slice(&arg.bytes[..size]);
    }
    Ok(buffer)
}
