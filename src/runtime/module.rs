//! Checked modules, as users see them.

use crate::check::ParseStats;
use crate::diag::{Diagnostics, Source};
use crate::error::{Error, Internal, Missing};
use crate::ir::{self, Reading};
use std::fmt;
use std::sync::Arc;

/// How a [`Module`] is read. Begin with `ModuleConfig::default()` and chain what differs:
///
/// ```
/// use ptxlift::{Engine, Device, DeviceConfig, Module, ModuleConfig, Reading};
/// let text = "
///     .version 8.0
///     .target sm_80
///     .address_size 64
///     .func (.reg .u32 d) f(.reg .u32 a, .reg .u32 b) { vadd.u32.u32.u32.sat d, a, b; ret; }
/// ";
/// let sum = |config| -> Result<u32, ptxlift::Error> {
///     let module = Module::parse_with(text, config)?;
///     let instance = Engine::default().compile(&module)?.instantiate(&Device::new(DeviceConfig::default())?)?;
///     instance.function::<(u32, u32), u32>("f")?.call((0xffff_ffff, 2))
/// };
/// assert_eq!(sum(ModuleConfig::default())?, 0xffff_ffff);
/// assert_eq!(sum(ModuleConfig::default().reading(Reading::Nvidia))?, 1);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleConfig {
    name: String,
    reading: Reading,
}

impl Default for ModuleConfig {
    /// `<input>`, read by the text of the PTX ISA.
    fn default() -> Self {
        ModuleConfig {
            name: "<input>".to_string(),
            reading: Reading::default(),
        }
    }
}

impl ModuleConfig {
    /// What messages call the text, usually its path.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Which meaning instructions have where NVIDIA's tools depart from the text of the PTX ISA.
    #[must_use]
    pub fn reading(mut self, reading: Reading) -> Self {
        self.reading = reading;
        self
    }
}

/// A PTX module: parsed, checked, not yet compiled. Cloning it is cheap.
///
/// ```
/// let module = ptxlift::Module::parse("
///     .version 8.0
///     .target sm_80
///     .address_size 64
///     .entry one(.param .u64 p) { ret; }
///     .entry two() { ret; }
/// ")?;
/// let kernels: Vec<&str> = module.kernels().map(|kernel| kernel.name()).collect();
/// assert_eq!(kernels, ["one", "two"]);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Clone)]
pub struct Module {
    ir: Arc<ir::Module>,
    stats: ParseStats,
}

impl Module {
    /// Parses and checks a text.
    ///
    /// ```
    /// let text = ".version 8.0\n.target sm_80\n.entry k() {\n\tfrobnicate;\n}";
    /// let error = ptxlift::Module::parse(text).unwrap_err();
    /// assert!(error.to_string().contains("frobnicate"));
    /// ```
    ///
    /// # Errors
    /// [`Error::Diagnostics`] with everything that is wrong with it. Instructions that PTX has and this library lacks
    /// are no errors here: see [`FunctionInfo::unsupported`].
    pub fn parse(text: impl Into<String>) -> Result<Module, Error> {
        Self::parse_with(text, ModuleConfig::default())
    }

    /// As [`Module::parse`]; messages call the text `name`, usually its path.
    ///
    /// # Errors
    /// As [`Module::parse`].
    pub fn parse_named(name: impl Into<String>, text: impl Into<String>) -> Result<Module, Error> {
        Self::parse_with(text, ModuleConfig::default().name(name))
    }

    /// As [`Module::parse`], in the way that the configuration says.
    ///
    /// # Errors
    /// As [`Module::parse`].
    pub fn parse_with(text: impl Into<String>, config: ModuleConfig) -> Result<Module, Error> {
        let source = Source::new(config.name, text);
        let checked = Internal::catch("checking a module", || {
            crate::check::timed(source, config.reading)
        })?;
        let (ir, stats) = checked?;
        Ok(Module {
            ir: Arc::new(ir),
            stats,
        })
    }

    /// What was said about the text although it was accepted.
    pub fn warnings(&self) -> &Diagnostics {
        &self.ir.warnings
    }

    /// 32 or 64: `.address_size`. The [`DeviceConfig`](super::DeviceConfig) of its device must say the same, or 32.
    pub fn address_bits(&self) -> u32 {
        self.ir.address_bits
    }

    /// Which meaning its instructions have where NVIDIA's tools depart from the text of the PTX ISA.
    pub fn reading(&self) -> Reading {
        self.ir.reading
    }

    /// The text.
    pub fn source(&self) -> &Arc<Source> {
        &self.ir.source
    }

    /// The kernels (`.entry`), in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = FunctionInfo<'_>> {
        self.functions().filter(FunctionInfo::is_kernel)
    }

    /// Kernels and device functions, in the order of the text; declared ones included.
    pub fn functions(&self) -> impl Iterator<Item = FunctionInfo<'_>> {
        self.ir.functions.iter().map(|ir| FunctionInfo {
            module: &self.ir,
            ir,
        })
    }

    /// A kernel or function by name.
    pub fn function(&self, name: &str) -> Option<FunctionInfo<'_>> {
        self.functions().find(|f| f.name() == name)
    }

    /// How long it took to read the text.
    pub fn parse_stats(&self) -> ParseStats {
        self.stats
    }

    /// The intermediate representation.
    pub fn ir(&self) -> &Arc<ir::Module> {
        &self.ir
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("source", &self.ir.source)
            .finish_non_exhaustive()
    }
}

/// A kernel or function of a [`Module`].
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .global .texref picture;
/// #     .entry k(.param .u64 p) {
/// #         .reg .f32 f<5>; .shared .u32 tile[32]; tex.1d.v4.f32.f32 {f1, f2, f3, f4}, [picture, {f0}]; ret;
/// #     }
/// # ")?;
/// let k = module.function("k").expect("it is there");
/// assert!(k.is_kernel() && k.is_defined());
/// assert_eq!(k.shared_bytes(), 128);
/// let lacking: Vec<String> = k.unsupported().map(|missing| missing.what).collect();
/// assert_eq!(lacking, ["tex.1d.v4.f32.f32"]);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FunctionInfo<'a> {
    module: &'a ir::Module,
    ir: &'a ir::Function,
}

impl<'a> FunctionInfo<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.ir.name
    }

    /// Whether it is a kernel (`.entry`).
    pub fn is_kernel(&self) -> bool {
        self.ir.kind == ir::FunctionKind::Kernel
    }

    /// Whether it has a body.
    pub fn is_defined(&self) -> bool {
        self.ir.defined
    }

    /// Its parameters in order.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.ir.params.iter().map(Parameter::new).collect()
    }

    /// Its return parameters in order.
    pub fn results(&self) -> Vec<Parameter> {
        self.ir.returns.iter().map(Parameter::new).collect()
    }

    /// Bytes of static `.shared` memory that a block needs.
    pub fn shared_bytes(&self) -> u32 {
        self.ir.shared_bytes
    }

    /// What in its own body cannot be run yet, in the order of the text. What the functions that it calls lack is told
    /// when a program is asked for it.
    pub fn unsupported(&self) -> impl Iterator<Item = Missing> + use<'a> {
        let module = self.module;
        self.ir
            .unsupported
            .iter()
            .map(|u| Missing::new(&module.source, u.span, u.what.clone(), u.family))
    }

    /// The line of its name in the text, from 1.
    pub fn line(&self) -> u32 {
        self.module.source.line(self.ir.span.start)
    }
}

/// A parameter of a kernel or function. `Display` shows it as PTX declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The element type as written, without its dot: `u64`, `f32`, `b8`.
    pub declared: String,
    /// Size in bytes, of the whole array if it is one.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Whether it is an array, which passes a structure by value.
    pub array: bool,
}

impl Parameter {
    pub(crate) fn new(param: &ir::Param) -> Self {
        Parameter {
            name: param.name.clone(),
            declared: param.declared.clone(),
            size: param.ty.size,
            align: param.ty.align,
            array: param.array,
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.array {
            write!(
                f,
                ".align {} .{} {} of {} bytes",
                self.align, self.declared, self.name, self.size
            )
        } else {
            write!(f, ".{} {}", self.declared, self.name)
        }
    }
}
