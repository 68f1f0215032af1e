//! Device functions, called from Rust.

use super::args::{Arg, marshal};
use super::call::{Options, call};
use super::cancel::Cancel;
use super::engine::EngineKind;
use super::instance::Instance;
use super::module::Parameter;
use super::value::{Args, Layout, Results, Shape, ShapeKind, with_bytes};
use crate::error::Error;
use crate::ir::{self, FuncId};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A device function of an [`Instance`], which it keeps alive, called with values of any type. Cloning it is cheap;
/// several threads may call it at once.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .func (.reg .u32 d) sum(.reg .u32 a, .reg .u32 b) { add.u32 d, a, b; ret; }
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// use ptxlift::Arg;
/// let sum = instance.any_function("sum")?;
/// let args: Vec<Arg> = sum.parameters().iter().map(|_| Arg::from(5u32)).collect();
/// assert_eq!(sum.call(args)?, [vec![10, 0, 0, 0]]);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AnyFunction {
    instance: Instance,
    id: FuncId,
    options: Options,
}

impl AnyFunction {
    pub(super) fn new(instance: Instance, id: FuncId) -> Self {
        let options = Options::new(&instance, id);
        AnyFunction {
            instance,
            id,
            options,
        }
    }

    pub(super) fn ir(&self) -> &ir::Function {
        &self.instance.ir().functions[self.id.index()]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.ir().name
    }

    /// Its parameters in order.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.ir().params.iter().map(Parameter::new).collect()
    }

    /// Its return parameters in order.
    pub fn results(&self) -> Vec<Parameter> {
        self.ir().returns.iter().map(Parameter::new).collect()
    }

    /// The instance that it belongs to.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Has the given engine execute it, instead of the program's.
    #[must_use]
    pub fn engine(mut self, kind: EngineKind) -> Self {
        self.options = self.options.engine(kind, &self.instance, self.id);
        self
    }

    /// How long a call may take, instead of the engine's limit; `None` for as long as it wants.
    #[must_use]
    pub fn time_limit(mut self, limit: Option<Duration>) -> Self {
        self.options.time_limit = limit;
        self
    }

    /// Lets `cancel` end calls.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.options.cancel = Some(cancel.clone());
        self
    }

    /// Calls it as the only thread of the only block. Gives the bytes of each result, as they lie in memory.
    ///
    /// # Errors
    /// [`Usage::Arguments`](crate::error::Usage::Arguments); [`Error::Fault`] for what it did wrong.
    pub fn call(&self, args: impl AsRef<[Arg]>) -> Result<Vec<Vec<u8>>, Error> {
        let ir = self.ir();
        let device = self.instance.device();
        let args = marshal(self.instance.ir(), ir, device, args.as_ref())?;
        let mut results = vec![0; ir.return_bytes as usize];
        call(&self.instance, self.id, &self.options, &args, &mut results)?;
        Ok(ir
            .returns
            .iter()
            .map(|r| results[r.offset as usize..][..r.ty.size as usize].to_vec())
            .collect())
    }
}

/// A device function of an [`Instance`], which it keeps alive, with the types of its parameters (a tuple) and results.
/// Cloning it is cheap; several threads may call it at once.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .func (.reg .u32 d) sum(.reg .u32 a, .reg .u32 b) { add.u32 d, a, b; ret; }
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// let sum = instance.function::<(u32, u32), u32>("sum")?;
/// assert_eq!(sum.call((2, 3))?, 5);
/// let error = instance.function::<(u32, u64), u32>("sum").unwrap_err();
/// assert!(error.to_string().contains("argument 1 does not fit"), "{error}");
/// # Ok::<(), ptxlift::Error>(())
/// ```
pub struct Function<A, R> {
    any: AnyFunction,
    layout: Arc<Layout>,
    types: PhantomData<fn(A) -> R>,
}

impl<A, R> Clone for Function<A, R> {
    fn clone(&self) -> Self {
        Function {
            any: self.any.clone(),
            layout: Arc::clone(&self.layout),
            types: PhantomData,
        }
    }
}

impl<A, R> fmt::Debug for Function<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&self.any).finish()
    }
}

impl<A: Args, R: Results> Function<A, R> {
    /// The types have been checked.
    pub(super) fn new(any: AnyFunction) -> Self {
        Function {
            layout: Arc::new(Layout::of(any.ir())),
            any,
            types: PhantomData,
        }
    }

    /// Has the given engine execute it, instead of the program's.
    #[must_use]
    pub fn engine(mut self, kind: EngineKind) -> Self {
        self.any = self.any.engine(kind);
        self
    }

    /// How long a call may take, instead of the engine's limit; `None` for as long as it wants.
    #[must_use]
    pub fn time_limit(mut self, limit: Option<Duration>) -> Self {
        self.any = self.any.time_limit(limit);
        self
    }

    /// Lets `cancel` end calls.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.any = self.any.cancel(cancel);
        self
    }

    /// The function without its types.
    pub fn any(&self) -> &AnyFunction {
        &self.any
    }

    /// Its native code, for the quickest calls: `unsafe extern "C" fn` of the types of its parameters and result, with
    /// `f32`, `f64` and [`Address`](super::Address)es as the unsigned integers of their bits.
    ///
    /// `None` if it may fault, run without end or look at the machine (special registers, module variables, shared or
    /// local memory); if a parameter is a structure; if it has several results, or one of less than 32 bits; or if there is
    /// no native code.
    ///
    /// # Safety
    /// Calling it is safe as long as a handle of the program lives, of this function for instance; there is nothing to
    /// tell when it no longer does.
    ///
    /// ```
    /// # let module = ptxlift::Module::parse("
    /// #     .version 8.0
    /// #     .target sm_80
    /// #     .address_size 64
    /// #     .func (.reg .u32 d) sum(.reg .u32 a, .reg .u32 b) { add.u32 d, a, b; ret; }
    /// # ")?;
    /// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
    /// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
    /// let sum = instance.function::<(u32, u32), u32>("sum")?;
    /// let pointer = sum.pointer().expect("an addition cannot go wrong");
    /// // SAFETY: `sum` keeps the code alive.
    /// let total = (0..10).fold(0, |total, i| unsafe { pointer(total, i) });
    /// assert_eq!(total, 45);
    /// # drop(sum);
    /// # Ok::<(), ptxlift::Error>(())
    /// ```
    pub fn pointer(&self) -> Option<A::Pointer<R>> {
        let AnyFunction { instance, id, .. } = &self.any;
        // Native code leaves open what lies above a narrow result, and C does not.
        let narrow = |shape: &Shape| match shape.kind {
            ShapeKind::Address => instance.ir().address_bits < 64,
            ShapeKind::Integer | ShapeKind::Float | ShapeKind::Bytes => shape.size < 4,
        };
        let structure = |shape: &Shape| shape.kind == ShapeKind::Bytes;
        if A::SHAPES.iter().chain(R::SHAPES).any(structure) || R::SHAPES.iter().any(narrow) {
            return None;
        }
        let pointer = instance.program().made()?.pointer(*id)?;
        const { assert!(size_of::<A::Pointer<R>>() == size_of::<*const u8>()) };
        // SAFETY: `A::Pointer` is the type of a function pointer. Native code takes and gives integers in general registers,
        // as `A` and `R` describe them, whose sizes were checked against the function's.
        Some(unsafe { std::mem::transmute_copy::<*const u8, A::Pointer<R>>(&pointer) })
    }

    /// Calls it as the only thread of the only block.
    ///
    /// # Errors
    /// [`Error::Fault`] for what it did wrong.
    pub fn call(&self, args: A) -> Result<R, Error> {
        let AnyFunction {
            instance,
            id,
            options,
        } = &self.any;
        let layout = &*self.layout;
        with_bytes(layout.param_bytes, |params| {
            args.store(params, &layout.params);
            with_bytes(layout.result_bytes, |results| {
                call(instance, *id, options, params, results)?;
                Ok(R::load(results, &layout.results))
            })
        })
    }
}
