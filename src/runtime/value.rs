//! Values that travel between Rust and PTX functions, and which of them fit which parameters.

use super::args::Address;
use super::module::Parameter;
use crate::error::{Error, Usage};
use crate::ir;
use bytemuck::Pod;
use std::ops::Range;

/// What kind of value, how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Shape {
    /// What kind.
    pub kind: ShapeKind,
    /// Bytes; for addresses those of the widest.
    pub size: usize,
    /// What it is called in messages.
    pub name: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
#[allow(missing_docs)]
pub enum ShapeKind {
    Integer,
    Float,
    Address,
    Bytes,
}

impl Shape {
    /// Why a value of this shape does not fit `param`.
    pub(super) fn mismatch(&self, module: &ir::Module, param: &ir::Param) -> Option<String> {
        let wanted = Parameter::new(param);
        let size = match self.kind {
            ShapeKind::Address => module.address_bits as usize / 8,
            ShapeKind::Integer | ShapeKind::Float | ShapeKind::Bytes => self.size,
        };
        if size != param.ty.size as usize {
            return Some(format!(
                "`{wanted}` has {} byte{}, {} has {size}",
                wanted.size,
                if wanted.size == 1 { "" } else { "s" },
                self.name,
            ));
        }
        let declared = param.declared.as_bytes().first();
        let fits = match (self.kind, declared) {
            (ShapeKind::Bytes, _) | (_, Some(b'b') | None) => true,
            (ShapeKind::Float, Some(b'f')) => true,
            (ShapeKind::Float, Some(_)) => false,
            (ShapeKind::Integer | ShapeKind::Address, Some(b'f')) => false,
            (ShapeKind::Integer | ShapeKind::Address, Some(_)) => true,
        };
        (!fits).then(|| format!("`{wanted}` is not {}", self.name))
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type that a parameter or result can have: `u8` to `u64`, `i8` to `i64`, `f32`, `f64`, [`Address`], and
/// [`ByValue`] for structures. PTX tells integers apart by width alone, so `i32` fits `.u32` too.
pub trait Value: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const SHAPE: Shape;
    /// What the native code of a function takes or gives for it.
    #[doc(hidden)]
    type Native;
    /// Writes the leading bytes of itself, as many as `place` has.
    #[doc(hidden)]
    fn store(self, place: &mut [u8]);
    /// Reads itself from bytes, zero-extended.
    #[doc(hidden)]
    fn load(place: &[u8]) -> Self;
}

macro_rules! scalars {
    ($kind:ident: $($ty:ident as $native:ident)*) => {
        $(
            impl sealed::Sealed for $ty {}
            impl Value for $ty {
                const SHAPE: Shape = Shape {
                    kind: ShapeKind::$kind,
                    size: size_of::<$ty>(),
                    name: concat!("`", stringify!($ty), "`"),
                };
                type Native = $native;
                #[inline]
                fn store(self, place: &mut [u8]) {
                    place.copy_from_slice(&self.to_le_bytes());
                }
                #[inline]
                fn load(place: &[u8]) -> Self {
                    let mut bytes = [0; size_of::<$ty>()];
                    bytes.copy_from_slice(place);
                    <$ty>::from_le_bytes(bytes)
                }
            }
        )*
    };
}
scalars!(Integer: u8 as u8 i8 as i8 u16 as u16 i16 as i16 u32 as u32 i32 as i32 u64 as u64 i64 as i64);
scalars!(Float: f32 as u32 f64 as u64);

impl sealed::Sealed for Address {}
impl Value for Address {
    const SHAPE: Shape = Shape {
        kind: ShapeKind::Address,
        size: 8,
        name: "an address",
    };
    type Native = u64;
    fn store(self, place: &mut [u8]) {
        let bytes = self.0.to_le_bytes();
        place.copy_from_slice(&bytes[..place.len()]);
    }
    fn load(place: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes[..place.len()].copy_from_slice(place);
        Address(u64::from_le_bytes(bytes))
    }
}

/// Plain data that is passed by value, for parameters that are arrays: `#[repr(C)]` structures and arrays.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .func (.reg .u32 d) second(.param .align 4 .b8 pair[8]) { ld.param.u32 d, [pair + 4]; ret; }
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// use ptxlift::ByValue;
/// let second = instance.function::<(ByValue<[u32; 2]>,), u32>("second")?;
/// assert_eq!(second.call((ByValue([3, 4]),))?, 4);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByValue<T>(pub T);

impl<T: Pod> sealed::Sealed for ByValue<T> {}
impl<T: Pod> Value for ByValue<T> {
    const SHAPE: Shape = Shape {
        kind: ShapeKind::Bytes,
        size: size_of::<T>(),
        name: "the structure",
    };
    type Native = T;
    fn store(self, place: &mut [u8]) {
        place.copy_from_slice(bytemuck::bytes_of(&self.0));
    }
    fn load(place: &[u8]) -> Self {
        ByValue(bytemuck::pod_read_unaligned(place))
    }
}

/// The parameters of a [`Function`](super::Function): a tuple of [`Value`]s, `()` for none.
pub trait Args: sealed::Sealed + 'static {
    #[doc(hidden)]
    const SHAPES: &'static [Shape];
    /// Native code that takes these.
    #[doc(hidden)]
    type Pointer<R: Results>: Copy;
    #[doc(hidden)]
    fn store(self, buffer: &mut [u8], places: &[Range<usize>]);
}

/// The results of a [`Function`](super::Function): `()`, a [`Value`], or a tuple of them.
pub trait Results: sealed::Sealed + Sized + 'static {
    #[doc(hidden)]
    const SHAPES: &'static [Shape];
    /// What native code gives; of no use for several results, for which there are no pointers.
    #[doc(hidden)]
    type Native;
    #[doc(hidden)]
    fn load(buffer: &[u8], places: &[Range<usize>]) -> Self;
}

impl<V: Value> Results for V {
    const SHAPES: &'static [Shape] = &[V::SHAPE];
    type Native = V::Native;
    #[inline]
    fn load(buffer: &[u8], places: &[Range<usize>]) -> Self {
        V::load(&buffer[places[0].clone()])
    }
}

impl sealed::Sealed for () {}
impl Args for () {
    const SHAPES: &'static [Shape] = &[];
    type Pointer<Given: Results> = unsafe extern "C" fn() -> Given::Native;
    fn store(self, _buffer: &mut [u8], _places: &[Range<usize>]) {}
}
impl Results for () {
    const SHAPES: &'static [Shape] = &[];
    type Native = ();
    fn load(_buffer: &[u8], _places: &[Range<usize>]) -> Self {}
}

macro_rules! tuples {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Value),*> sealed::Sealed for ($($name,)*) {}
        impl<$($name: Value),*> Args for ($($name,)*) {
            const SHAPES: &'static [Shape] = &[$($name::SHAPE),*];
            type Pointer<Given: Results> = unsafe extern "C" fn($($name::Native),*) -> Given::Native;
            #[inline]
            fn store(self, buffer: &mut [u8], places: &[Range<usize>]) {
                $(self.$index.store(&mut buffer[places[$index].clone()]);)*
            }
        }
        impl<$($name: Value),*> Results for ($($name,)*) {
            const SHAPES: &'static [Shape] = &[$($name::SHAPE),*];
            type Native = ();
            #[inline]
            fn load(buffer: &[u8], places: &[Range<usize>]) -> Self {
                ($($name::load(&buffer[places[$index].clone()]),)*)
            }
        }
    };
}
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

/// Where the parameters and results of a function lie in their buffers.
#[derive(Debug)]
pub(super) struct Layout {
    pub params: Box<[Range<usize>]>,
    pub param_bytes: usize,
    pub results: Box<[Range<usize>]>,
    pub result_bytes: usize,
}

impl Layout {
    pub(super) fn of(function: &ir::Function) -> Self {
        let places = |params: &[ir::Param]| {
            let place = |p: &ir::Param| p.offset as usize..p.offset as usize + p.ty.size as usize;
            params.iter().map(place).collect()
        };
        Layout {
            params: places(&function.params),
            param_bytes: function.param_bytes as usize,
            results: places(&function.returns),
            result_bytes: function.return_bytes as usize,
        }
    }
}

/// Runs `f` with zeroed bytes, which lie on the stack if they are few.
#[inline]
pub(super) fn with_bytes<T>(len: usize, f: impl FnOnce(&mut [u8]) -> T) -> T {
    const FEW: usize = 64;
    if len <= FEW {
        f(&mut [0; FEW][..len])
    } else {
        f(&mut vec![0; len])
    }
}

/// Whether `shapes` fit `params`.
pub(super) fn check_args(
    module: &ir::Module,
    callee: &ir::Function,
    shapes: &[Shape],
) -> Result<(), Error> {
    match problem(module, &callee.params, shapes, "argument") {
        Some(problem) => Err(arguments(callee, problem).into()),
        None => Ok(()),
    }
}

/// Whether `shapes` fit the return parameters.
pub(super) fn check_results(
    module: &ir::Module,
    callee: &ir::Function,
    shapes: &[Shape],
) -> Result<(), Error> {
    match problem(module, &callee.returns, shapes, "result") {
        Some(problem) => Err(Usage::Results {
            callee: describe(callee),
            gives: callee.returns.iter().map(Parameter::new).collect(),
            problem,
        }
        .into()),
        None => Ok(()),
    }
}

fn problem(
    module: &ir::Module,
    params: &[ir::Param],
    shapes: &[Shape],
    what: &str,
) -> Option<String> {
    if shapes.len() != params.len() {
        return Some(count(shapes.len(), params.len(), what));
    }
    shapes
        .iter()
        .zip(params)
        .enumerate()
        .find_map(|(i, (shape, param))| {
            let problem = shape.mismatch(module, param)?;
            Some(format!("{what} {i} does not fit: {problem}"))
        })
}

/// `2 arguments instead of 3`
pub(super) fn count(given: usize, wanted: usize, what: &str) -> String {
    let s = if given == 1 { "" } else { "s" };
    format!("{given} {what}{s} instead of {wanted}")
}

/// The error for arguments that do not fit.
pub(super) fn arguments(callee: &ir::Function, problem: String) -> Usage {
    Usage::Arguments {
        callee: describe(callee),
        wants: callee.params.iter().map(Parameter::new).collect(),
        problem,
    }
}

/// `kernel` or `function` and its name.
pub(super) fn describe(callee: &ir::Function) -> String {
    let what = match callee.kind {
        ir::FunctionKind::Kernel => "kernel",
        ir::FunctionKind::Device => "function",
    };
    format!("{what} `{}`", callee.name)
}
