//! Instances: a program with memory for its module's variables.

use super::device::{Allocation, Device, Memory};
use super::engine::EngineKind;
use super::function::{AnyFunction, Function};
use super::kernel::Kernel;
use super::program::Program;
use super::value::{Args, Results, check_args, check_results};
use super::variable::Variable;
use crate::diag::nearest;
use crate::error::{Error, Usage};
use crate::ir::memory::Space;
use crate::ir::{self, FuncId, FunctionKind, RelocationTarget, VarId};
use crate::machine::memory::Window;
use crate::machine::{ALIGN, Heap, Region, window};
use std::sync::{Arc, Mutex, PoisonError};

/// A [`Program`] whose module variables live on a [`Device`]. Cloning it is cheap and gives the same variables.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .global .u32 table[2];
/// #     .entry scale() { ret; }
/// #     .func (.reg .u32 d) f(.reg .u32 a) { not.b32 d, a; ret; }
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// let kernel = instance.kernel("scale")?;
/// let function = instance.function::<(u32,), u32>("f")?;
/// let variable = instance.global("table")?;
/// let error = instance.kernel("scal").unwrap_err();
/// assert!(error.to_string().contains("did you mean `scale`?"));
/// # drop((kernel, function, variable));
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Instance {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    program: Program,
    globals: Allocation,
    /// Bytes in front of the block of `.global` variables that alignments past that of all memory cost.
    skipped: u64,
    constants: Memory,
    /// The device heap, once something may ask for it.
    heap: Mutex<Option<(Arc<Heap>, Allocation)>>,
}

impl Instance {
    pub(super) fn new(program: &Program, device: &Device) -> Result<Self, Error> {
        let module = program.ir();
        if module.address_bits == 32 && device.config().bits() != 32 {
            return Err(Usage::Configuration {
                problem: format!(
                    "module `{}` has `.address_size 32`: its device must be configured for 32-bit addresses",
                    module.source.name()
                ),
            }
            .into());
        }
        let align = module
            .variables
            .iter()
            .filter(|v| v.space == Space::Global)
            .fold(ALIGN as u64, |most, v| most.max(u64::from(v.align)));
        let room = module.global_bytes.saturating_add(align - ALIGN as u64);
        let globals = device.memory(room)?;
        let base = globals.address().next_multiple_of(align);
        let skipped = base - globals.address();
        let constants = device.memory(u64::from(module.const_bytes))?;
        for variable in &module.variables {
            let (memory, start) = match variable.space {
                Space::Global => (&globals, skipped),
                Space::Const => (&constants, 0),
                Space::Shared | Space::Cluster | Space::Generic | Space::Local | Space::Param => {
                    continue;
                }
            };
            initialise(module, variable, memory, start + variable.offset, base)?;
        }
        let regions = module
            .variables
            .iter()
            .filter(|v| v.space == Space::Global)
            .map(|v| Region {
                base: base + v.offset,
                len: v.size,
                writable: true,
                what: format!("variable {}", v.name),
            });
        let globals = device.add(globals, regions.collect());
        Ok(Instance {
            shared: Arc::new(Shared {
                program: program.clone(),
                globals,
                skipped,
                constants,
                heap: Mutex::default(),
            }),
        })
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// [`Usage::NoSuchName`]; [`Error::Unsupported`] if it, or something that it may call, cannot be run yet.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let id = self.find(name, FunctionKind::Kernel)?;
        Ok(Kernel::new(self.clone(), id))
    }

    /// The device function of this name, with the types of its parameters and results.
    ///
    /// # Errors
    /// [`Usage::NoSuchName`]; [`Usage::Arguments`] or [`Usage::Results`] if it has other types; [`Error::Unsupported`]
    /// if it, or something that it may call, cannot be run yet.
    pub fn function<A: Args, R: Results>(&self, name: &str) -> Result<Function<A, R>, Error> {
        let any = self.any_function(name)?;
        check_args(self.ir(), any.ir(), A::SHAPES)?;
        check_results(self.ir(), any.ir(), R::SHAPES)?;
        Ok(Function::new(any))
    }

    /// The device function of this name, whose types are known at run time only.
    ///
    /// # Errors
    /// As [`Instance::function`], types apart.
    pub fn any_function(&self, name: &str) -> Result<AnyFunction, Error> {
        let id = self.find(name, FunctionKind::Device)?;
        Ok(AnyFunction::new(self.clone(), id))
    }

    /// The `.global` or `.const` variable of this name.
    ///
    /// # Errors
    /// [`Usage::NoSuchName`]
    pub fn global(&self, name: &str) -> Result<Variable, Error> {
        let module = self.ir();
        if let Some(id) = module.variable(name)
            && in_instance(&module.variables[id.index()])
        {
            return Ok(Variable::new(self.clone(), id));
        }
        let mut available = Vec::new();
        let mut hint = None;
        for variable in &module.variables {
            if in_instance(variable) && !variable.scoped {
                available.push(variable.name.clone());
            } else if variable.name == name {
                hint = Some(
                    match variable.space {
                        Space::Shared => "it is `.shared`: each block has its own",
                        _ => "it is declared inside a function",
                    }
                    .to_string(),
                );
            }
        }
        Err(Usage::NoSuchName {
            wanted: "variable",
            hint: hint.or_else(|| similar(name, &available)),
            name: name.to_string(),
            available,
        }
        .into())
    }

    /// The program that it was made of.
    pub fn program(&self) -> &Program {
        &self.shared.program
    }

    /// The device that its variables live on.
    pub fn device(&self) -> &Device {
        self.shared.globals.device()
    }

    pub(super) fn ir(&self) -> &ir::Module {
        self.shared.program.ir()
    }

    /// Host address of the block of `.global` variables.
    pub(super) fn globals(&self) -> u64 {
        self.shared.globals.memory().address() + self.shared.skipped
    }

    /// The device heap, if the kernel or function may ask for it.
    pub(super) fn heap(&self, function: FuncId) -> Result<Option<Arc<Heap>>, Error> {
        if !self.program().facts(function).heap {
            return Ok(None);
        }
        let mut heap = (self.shared.heap.lock()).unwrap_or_else(PoisonError::into_inner);
        if let Some((heap, _)) = &*heap {
            return Ok(Some(Arc::clone(heap)));
        }
        let device = self.device();
        let size = device.config().heap_bytes();
        let memory = device.memory(size)?;
        let base = memory.address();
        let region = Region {
            base,
            len: size,
            writable: true,
            what: "device heap".to_string(),
        };
        let new = Arc::new(Heap::new(base, size));
        *heap = Some((Arc::clone(&new), device.add(memory, vec![region])));
        Ok(Some(new))
    }

    /// The `.const` variables.
    pub(super) fn constants(&self) -> Window {
        Window {
            base: self.shared.constants.as_ptr(),
            len: self.shared.constants.len(),
        }
    }

    /// The memory that a variable lies in, and the offset at which it begins.
    pub(super) fn place(&self, variable: VarId) -> (&Memory, u64) {
        let variable = &self.ir().variables[variable.index()];
        match variable.space {
            Space::Const => (&self.shared.constants, variable.offset),
            Space::Global
            | Space::Shared
            | Space::Cluster
            | Space::Generic
            | Space::Local
            | Space::Param => (
                self.shared.globals.memory(),
                self.shared.skipped + variable.offset,
            ),
        }
    }

    fn find(&self, name: &str, kind: FunctionKind) -> Result<FuncId, Error> {
        let program = self.program();
        let id = find(self.ir(), name, Some(kind))?;
        let config = program.engine().config();
        // Under tiers nothing is compiled before it pays.
        let kind = if config.tiered {
            EngineKind::Interpreter
        } else {
            config.kind
        };
        program.require(id, kind)?;
        Ok(id)
    }
}

/// The function of this name and kind; `None` for any kind.
pub(super) fn find(
    module: &ir::Module,
    name: &str,
    kind: Option<FunctionKind>,
) -> Result<FuncId, Error> {
    let fits = |f: &ir::Function| kind.is_none_or(|kind| f.kind == kind);
    let found = module.function(name);
    if let Some(id) = found
        && fits(&module.functions[id.index()])
    {
        return Ok(id);
    }
    let (wanted, other) = match kind {
        Some(FunctionKind::Kernel) => ("kernel", "it is a device function"),
        Some(FunctionKind::Device) => ("function", "it is a kernel"),
        None => ("kernel or function", ""),
    };
    let fitting = module.functions.iter().filter(|f| fits(f));
    let available: Vec<String> = fitting.map(|f| f.name.clone()).collect();
    Err(Usage::NoSuchName {
        wanted,
        name: name.to_string(),
        hint: match found {
            Some(_) => Some(other.to_string()),
            None => similar(name, &available),
        },
        available,
    }
    .into())
}

fn in_instance(variable: &ir::Variable) -> bool {
    matches!(variable.space, Space::Global | Space::Const)
}

/// Writes a variable's initial contents at `start`; `globals` is the address of the block of `.global` variables.
fn initialise(
    module: &ir::Module,
    variable: &ir::Variable,
    memory: &Memory,
    start: u64,
    globals: u64,
) -> Result<(), Error> {
    memory.write(&variable.name, start, &variable.init.bytes)?;
    for relocation in &variable.init.relocations {
        let address = match relocation.target {
            RelocationTarget::Function(f) => window::function(f.0, module.address_bits),
            RelocationTarget::Variable(v) => address(
                module,
                &module.variables[v.index()],
                globals,
                relocation.generic,
            ),
        };
        let address = address.wrapping_add_signed(relocation.addend);
        let written = address
            .checked_shr(u32::from(relocation.shift))
            .unwrap_or(0)
            .to_le_bytes();
        let bytes = usize::from(relocation.bytes).min(written.len());
        memory.write(&variable.name, start + relocation.offset, &written[..bytes])?;
    }
    Ok(())
}

/// The address of a variable: generic, or in its own space.
pub(super) fn address(
    module: &ir::Module,
    variable: &ir::Variable,
    globals: u64,
    generic: bool,
) -> u64 {
    match variable.space {
        Space::Global => globals + variable.offset,
        space => {
            let base = window::base(space, module.address_bits).unwrap_or(0);
            variable.offset + if generic { base } else { 0 }
        }
    }
}

/// A name that `name` may have been meant for: one much like it, or a mangled one that contains it.
fn similar(name: &str, available: &[String]) -> Option<String> {
    const LOOKED_AT: usize = 1000;
    let names = || available.iter().take(LOOKED_AT).map(String::as_str);
    let mangled = || names().find(|candidate| name.len() > 2 && candidate.contains(name));
    let near = nearest(name, names()).or_else(mangled)?;
    Some(format!("did you mean `{near}`?"))
}
