//! Compiling: plan, lower, Cranelift.

use super::flags::isa;
use super::given::Given;
use super::loosen::loosen;
use super::memory::{Memory, Piece};
use super::pressure;
use super::raise::raise;
use super::settings::Allocator;
use super::target::Target;
use super::{CompileError, FunctionStats, OptLevel, Settings, Stats, host};
use crate::ir::control::Callee;
use crate::ir::waits::Waits;
use crate::ir::{FuncId, Function as IrFunction, FunctionKind, Inst, Module};
use crate::lower::context::Entry;
use crate::lower::region::frame_bytes;
use crate::lower::{self, Abilities, Lowered, Options, Site, Sites, Symbol};
use crate::machine::schedule::{Known, YIELDED};
use crate::spmd::facts::SHALLOW;
use crate::spmd::regions::Stop;
use crate::spmd::{
    self, Absent, Effort, Facts, FrameSlot, FunctionPlan, ModulePlan, Name, Root, Shape,
};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::{CodegenError, Context};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_module::{FuncId as ClifId, ModuleReloc};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Functions of more Cranelift instructions than this are not given to the slow register allocator without the
/// mid-end's help: it takes time that grows with their square.
const LARGE: u64 = 8_000;

/// Likewise functions with more live values than this, all instructions together, if they are also more than so many
/// at an instruction: its time grows with the product. Compilers' output has some dozens.
const LIVE: u64 = 1_000_000;
const LIVE_AT_ONCE: u64 = 200;

/// Most bytes of native stack that a function may need; a hundred times what compilers' output does. There is one kernel
/// on a stack, and functions may call one another.
const MOST_FRAME: usize = 1 << 20;
const MOST_KERNEL_FRAME: usize = 8 << 20;

/// Bytes of native stack that whoever calls a function has left.
const SMALL_STACK: usize = 16 << 10;

/// What compiling a module gives.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Keeps what the other fields point into.
    _memory: Memory,
    pub(super) absent: Vec<Option<Absent>>,
    pub(super) facts: Vec<Facts>,
    /// For each function its code, the way in, and the code in the host's convention.
    pub(super) entries: Vec<Entries>,
    /// For indirect calls.
    pub(super) table: Box<[Entry]>,
    pub(super) sites: Vec<Site>,
    pub(super) answers: u32,
    /// Most bytes that a device function needs on the native stack.
    pub(super) frame: usize,
    /// Whether each function can be entered without a context, on whatever stack there is.
    pub(super) simple: Vec<bool>,
    /// Where threads may stop, and what is known of each site.
    pub(super) waits: Waits,
    pub(super) known: Vec<Known>,
    pub(super) stats: Stats,
    /// What each function took and gave; nothing where there is no code.
    pub(super) function_stats: Vec<FunctionStats>,
    /// Whether threads of each kernel go together.
    pub(super) together: Vec<bool>,
}

/// The code of a function.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    pub(super) code: Option<*const u8>,
    pub(super) trampoline: Option<*const u8>,
    pub(super) plain: Option<*const u8>,
    /// The kernel's sums of pointer parameters.
    pub(super) roots: Vec<Root>,
    /// There in a kernel whose threads stop.
    pub(super) stops: Option<Box<Stops>>,
    /// Whether it calls functions, system calls apart.
    pub(super) calls: bool,
    /// Whether it has local memory behind its variables.
    pub(super) stack: bool,
}

/// How threads of a kernel stop.
#[derive(Debug, Clone)]
pub(super) struct Stops {
    /// Bytes in which a warp keeps what it needs while it waits, and `%tid` of its lanes, at the end.
    pub(super) frame_bytes: u32,
    /// For each point what the schedule knows it by.
    pub(super) sites: Box<[u32]>,
    /// Whether there are barriers at which code turns from warp to warp.
    pub(super) rounds: bool,
    /// How many lanes of a warp have turns together; 0 where each goes by itself.
    pub(super) run: u32,
    /// Whether warps pass operations at which they would stop, and count them.
    pub(super) passes: bool,
    /// For each point what the frame of a warp is told of the first lane of a run alone.
    pub(super) told: Box<[Box<[Told]>]>,
}

/// What lanes that have turns together tell the frame of their warp of the first of them alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    /// Where.
    pub(super) slot: FrameSlot,
    /// By how much the values of lanes differ from one to the next.
    pub(super) stride: u64,
    /// The bits of a value.
    pub(super) mask: u64,
}

impl Told {
    /// All of it that a kernel keeps at its points.
    fn new(plan: &FunctionPlan) -> Box<[Box<[Told]>]> {
        let Some(wide) = plan.wide.as_ref().filter(|w| w.by_turns) else {
            return plan.crossings.iter().map(|_| [].into()).collect();
        };
        let told = |(&name, &slot): (&Name, &FrameSlot)| {
            let stride = match wide.uniformity.of(name) {
                Shape::Uniform => 0,
                Shape::Affine(stride) => stride as u64,
                Shape::Varying => return None,
            };
            let mask = plan.names.class(name).mask();
            Some(Told { slot, stride, mask })
        };
        (plan.crossings.iter())
            .map(|crossing| {
                let kept = crossing.framed.iter().zip(&crossing.slots);
                kept.filter_map(told).collect()
            })
            .collect()
    }
}

impl Stops {
    fn new(plan: &FunctionPlan, barriers: u64) -> Option<Self> {
        let points = plan.regions.as_ref()?.points.iter();
        Some(Stops {
            frame_bytes: frame_bytes(plan.frame_bytes) as u32,
            sites: points
                .map(|point| match point.stop {
                    Stop::Meets { site, .. } => site,
                    Stop::Yields(_) => YIELDED,
                })
                .collect(),
            rounds: barriers != 0,
            run: (plan.wide.as_ref())
                .filter(|wide| wide.by_turns)
                .map_or(0, |wide| wide.width),
            passes: (plan.wide.as_ref()).is_some_and(|wide| wide.turns.is_some()),
            told: Told::new(plan),
        })
    }
}

/// Most Cranelift instructions of a kernel whose threads go together.
const MOST_TOGETHER: u64 = 100_000;

/// Most values that live at its instructions, all together.
const MOST_LIVE_TOGETHER: u64 = 20_000_000;

/// The allocator for a function that has been through the mid-end.
fn suited(function: &Function, opt_level: OptLevel) -> Allocator {
    let pressure = pressure::measure(function);
    let large = opt_level == OptLevel::None && pressure.instructions > LARGE;
    let crowded = pressure.live > LIVE && pressure.live / LIVE_AT_ONCE > pressure.instructions;
    if large || crowded {
        Allocator::SinglePass
    } else {
        Allocator::Backtracking
    }
}

/// How to lower for these settings and this machine.
pub(super) fn options(settings: &Settings, isa: &dyn TargetIsa) -> Options {
    Options {
        checked: settings.checked,
        width: settings.width,
        abilities: Abilities::of(isa),
    }
}

/// What went wrong with one function.
pub(super) enum Trouble {
    /// It is too much for Cranelift.
    Limit,
    /// A bug.
    Bug(String),
}

/// What an error of Cranelift's means.
fn trouble(error: CodegenError) -> Trouble {
    match error {
        CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge => Trouble::Limit,
        CodegenError::Verifier(errors) => Trouble::Bug(errors.to_string()),
        CodegenError::Unsupported(_)
        | CodegenError::Regalloc(_)
        | CodegenError::RegisterMappingError(_) => Trouble::Bug(error.to_string()),
    }
}

/// Runs a step that may panic where there is a bug.
pub(super) fn fenced<T>(step: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| {
        let message = (panic.downcast_ref::<String>().map(String::as_str))
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("a panic");
        Err(Trouble::Bug(message.to_string()))
    })
}

/// Cranelift, and its reusable memory.
pub(super) struct Compiler {
    /// The machine, with the mid-end that was asked for.
    pub(super) isa: OwnedTargetIsa,
    /// The same without mid-end, for what has been through it: with either register allocator.
    careful: OwnedTargetIsa,
    quick: OwnedTargetIsa,
    opt_level: OptLevel,
    pub(super) context: Context,
    pub(super) builder: FunctionBuilderContext,
    /// Whether the text of machine instructions is wanted.
    pub(super) disassemble: bool,
    /// [`FunctionStats::vectors`] of what was compiled last, in full.
    vectors: u32,
}

impl Compiler {
    pub(super) fn new(settings: &Settings, target: &Target) -> Result<Self, CompileError> {
        let opt_level = settings.opt_level;
        let isa = |opt_level, allocator| isa(settings, target, opt_level, allocator);
        Ok(Compiler {
            isa: isa(opt_level, Allocator::Backtracking)?,
            careful: isa(OptLevel::None, settings.allocator)?,
            quick: isa(OptLevel::None, Allocator::SinglePass)?,
            opt_level,
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            disassemble: false,
            vectors: 0,
        })
    }

    /// Machine code for a function: the piece, and the bytes of its frame. `Context` keeps the rest.
    pub(super) fn compile(
        &mut self,
        symbol: Symbol,
        clif: Function,
        effort: Effort,
    ) -> Result<(Piece, usize), Trouble> {
        self.context.clear();
        self.context.set_disasm(self.disassemble);
        self.context.func = clif;
        let mut allocator = Allocator::SinglePass;
        if effort != Effort::Full {
            self.emit(allocator)?;
        }
        // The quick allocator has a place on the stack for every value.
        if effort == Effort::Full || effort == Effort::Quick && self.frame() > MOST_FRAME {
            let plane = &mut ControlPlane::default();
            (self.context.optimize(&*self.isa, plane)).map_err(trouble)?;
            let dfg = &self.context.func.dfg;
            self.vectors = 0;
            if dfg.values().any(|v| dfg.value_type(v).is_vector()) {
                raise(&mut self.context);
                self.vectors = pressure::vectors(&self.context.func);
            }
            allocator = suited(&self.context.func, self.opt_level);
            if allocator == Allocator::Backtracking {
                loosen(&mut self.context.func);
                // The verifier, if it is on, asks before Cranelift looks again.
                self.context.flowgraph();
            }
            self.emit(allocator)?;
        }
        let compiled = self
            .context
            .compiled_code()
            .ok_or_else(|| Trouble::Bug("no code".to_string()))?;
        let id = ClifId::from_u32(symbol.number());
        let piece = Piece {
            symbol,
            bytes: compiled.code_buffer().to_vec(),
            align: u64::from(compiled.buffer.alignment)
                .max(self.isa.function_alignment().minimum.into()),
            relocations: compiled
                .buffer
                .relocs()
                .iter()
                .map(|r| ModuleReloc::from_mach_reloc(r, &self.context.func, id))
                .collect(),
        };
        Ok((piece, self.frame()))
    }

    /// Makes machine code of the function as it is.
    fn emit(&mut self, allocator: Allocator) -> Result<(), Trouble> {
        let isa = match allocator {
            Allocator::Backtracking => &self.careful,
            Allocator::SinglePass => &self.quick,
        };
        let compiled = (self.context).compile(&**isa, &mut ControlPlane::default());
        compiled.map(drop).map_err(|e| trouble(e.inner))
    }

    /// Bytes of the frame of the machine code.
    fn frame(&self) -> usize {
        (self.context.compiled_code())
            .and_then(|compiled| compiled.buffer.frame_layout())
            .map_or(0, |layout| layout.frame_to_fp_offset as usize + 64)
    }
}

/// Compiles a module, functions that are given as they are. Calls nested no deeper than `shallow` are not counted. With `only` one of its kernels,
/// if its threads may go together, and nothing else.
pub(super) fn compile(
    module: &Module,
    settings: &Settings,
    shallow: u32,
    given: &Given,
    only: Option<FuncId>,
) -> Result<Compiled, CompileError> {
    let mut stats = Stats::default();
    let mut compiler = Compiler::new(settings, &Target::Host)?;
    let options = options(settings, &*compiler.isa);
    let started = Instant::now();
    let width = |id| match only {
        Some(only) if only != id => 1,
        Some(_) | None => settings.width,
    };
    let mut plan = ModulePlan::new(module, settings.checked, shallow, width);
    stats.plan = started.elapsed();

    let mut sites = Sites::new(module);
    let mut pieces = Vec::new();
    let mut function_stats = vec![FunctionStats::default(); module.functions.len()];
    let mut roots = vec![Vec::new(); module.functions.len()];
    let mut together = vec![false; module.functions.len()];
    for (i, function) in module.functions.iter().enumerate() {
        let id = FuncId(i as u32);
        let Some(own) = plan.function(id) else {
            continue;
        };
        // A kernel that calls functions has no such plan.
        if only.is_some_and(|only| only != id || own.wide.is_none()) {
            continue;
        }
        if settings.verify {
            spmd::verify::verify(own).map_err(|message| CompileError::Internal {
                function: function.name.clone(),
                message,
            })?;
        }
        let made = compile_function(
            module,
            &plan,
            id,
            &options,
            &mut sites,
            &mut compiler,
            given.of(id),
        );
        let limit = match function.kind {
            FunctionKind::Kernel => MOST_KERNEL_FRAME,
            FunctionKind::Device => MOST_FRAME,
        };
        match made {
            Ok(made) if made.stats.frame_bytes > limit => {
                let what = "bytes of stack";
                let (count, limit) = (made.stats.frame_bytes as u64, limit as u64);
                plan.refuse(module, id, Absent::TooLarge { what, count, limit });
            }
            Ok(made) => {
                roots[i] = made.roots;
                together[i] = made.together;
                stats.add(&made.stats);
                function_stats[i] = made.stats;
                pieces.extend(made.pieces);
            }
            Err(Trouble::Limit) => plan.refuse(module, id, Absent::Limit),
            Err(Trouble::Bug(message)) => {
                return Err(CompileError::Internal {
                    function: function.name.clone(),
                    message,
                });
            }
        }
    }
    let frames: Vec<usize> = function_stats.iter().map(|s| s.frame_bytes).collect();
    let simple = match given.is_empty() && only.is_none() {
        true => simple(module, &plan, &frames),
        // What a given function needs is not known.
        false => vec![false; module.functions.len()],
    };
    pieces.retain(|p: &Piece| match p.symbol {
        Symbol::Function(f) | Symbol::Trampoline(f) => plan.function(f).is_some(),
        Symbol::Plain(f) => simple[f.index()],
        Symbol::Resolve | Symbol::ResolveHost | Symbol::ClockHost | Symbol::ServeHost => true,
    });
    let resolve = fenced(|| {
        let clif = lower::resolve(&*compiler.isa, &mut compiler.builder);
        compiler.compile(Symbol::Resolve, clif, Effort::Full)
    });
    match resolve {
        Ok((piece, _)) => pieces.push(piece),
        Err(trouble) => return Err(internal("the way to the host", trouble)),
    }

    let started = Instant::now();
    let signature = |symbol| {
        lower::signature(module, symbol, &*compiler.isa)
            .ok_or_else(|| internal("the host", Trouble::Bug("no signature".to_string())))
    };
    let resolve: unsafe extern "C" fn(_, _, _, _) = host::resolve;
    let clock: extern "C" fn() -> u64 = host::clock;
    let serve: unsafe extern "C" fn(_, _, _) -> u32 = host::serve;
    let outside = [
        (
            Symbol::ResolveHost,
            signature(Symbol::ResolveHost)?,
            resolve as *const u8,
        ),
        (
            Symbol::ClockHost,
            signature(Symbol::ClockHost)?,
            clock as *const u8,
        ),
        (
            Symbol::ServeHost,
            signature(Symbol::ServeHost)?,
            serve as *const u8,
        ),
    ];
    let symbols = Symbol::Function(FuncId(module.functions.len() as u32)).number();
    let (memory, addresses) = Memory::link(compiler.isa, symbols, &outside, &pieces)?;
    stats.link = started.elapsed();
    stats.code_bytes = pieces.iter().map(|p| p.bytes.len()).sum();

    let module_plan = &plan;
    let mut entries: Vec<Entries> = (0..)
        .zip(roots.into_iter().zip(&plan.functions))
        .map(|(i, (roots, plan))| Entries {
            roots,
            calls: plan.as_ref().is_some_and(|plan| plan.calls),
            stack: plan.as_ref().is_some_and(|plan| plan.stack),
            stops: (plan.as_ref())
                .and_then(|own| Stops::new(own, module_plan.barriers(FuncId(i))))
                .map(Box::new),
            ..Entries::default()
        })
        .collect();
    for (piece, address) in pieces.iter().zip(addresses) {
        match piece.symbol {
            Symbol::Function(f) => entries[f.index()].code = Some(address),
            Symbol::Trampoline(f) => entries[f.index()].trampoline = Some(address),
            Symbol::Plain(f) => entries[f.index()].plain = Some(address),
            Symbol::Resolve | Symbol::ResolveHost | Symbol::ClockHost | Symbol::ServeHost => {}
        }
    }
    let table = (module.functions.iter().zip(&entries))
        .map(|(function, entry)| {
            let device = function.kind == FunctionKind::Device;
            Entry {
                code: entry.code.unwrap_or(std::ptr::null()),
                ty: match entry.code {
                    Some(_) if device => sites.type_number(&function.call_type()),
                    Some(_) | None => u32::MAX,
                },
                local_bytes: function.local_bytes,
                local_align: function.local_align.max(1).into(),
            }
        })
        .collect();
    Ok(Compiled {
        _memory: memory,
        absent: plan.absent,
        facts: plan.facts,
        known: plan.known,
        waits: plan.waits,
        entries,
        table,
        sites: sites.list,
        answers: sites.answers,
        frame: (module.functions.iter().zip(frames))
            .filter(|(function, _)| function.kind == FunctionKind::Device)
            .map(|(_, frame)| frame)
            .max()
            .unwrap_or(0),
        simple,
        stats,
        function_stats,
        together,
    })
}

/// Which functions need no context, and with all they call so little stack that every thread has it.
fn simple(module: &Module, plan: &ModulePlan, frames: &[usize]) -> Vec<bool> {
    let callee = |inst: &Inst| match inst.kind.call()?.callee {
        Callee::Direct(callee) => Some(callee.index()),
        Callee::Indirect { .. } => None,
    };
    let callees = |function: &IrFunction| -> Vec<usize> {
        let insts = function.blocks.iter().flat_map(|b| &b.insts);
        insts.filter_map(callee).collect()
    };
    let calls: Vec<(usize, Vec<usize>)> = (module.functions.iter().enumerate())
        .filter(|(i, _)| plan.functions[*i].is_some() && plan.facts[*i].is_simple())
        .map(|(i, function)| (i, callees(function)))
        .filter(|(_, callees)| !callees.is_empty())
        .collect();
    // Simple functions call simple functions, without recursion and no deeper than that.
    let mut needs = frames.to_vec();
    for _ in 0..=SHALLOW {
        for (i, callees) in &calls {
            let deepest = callees.iter().map(|&c| needs[c]).max();
            needs[*i] = frames[*i] + deepest.unwrap_or(0);
        }
    }
    (needs.iter().enumerate())
        .map(|(i, &need)| {
            plan.functions[i].is_some() && plan.facts[i].is_simple() && need <= SMALL_STACK
        })
        .collect()
}

/// Whether so many vectors live at a time that registers for them would be looked for in vain, and long.
fn crowded(clif: &Function) -> bool {
    let pressure = pressure::measure(clif);
    pressure.instructions > MOST_TOGETHER || pressure.live > MOST_LIVE_TOGETHER
}

/// A function in machine code, with the ways into it.
struct Made {
    pieces: Vec<Piece>,
    roots: Vec<Root>,
    /// Whether threads go together in it.
    together: bool,
    stats: FunctionStats,
}

fn compile_function(
    module: &Module,
    plan: &ModulePlan,
    id: FuncId,
    options: &Options,
    sites: &mut Sites,
    compiler: &mut Compiler,
    given: Option<&Function>,
) -> Result<Made, Trouble> {
    let function = &module.functions[id.index()];
    let started = Instant::now();
    let mut lowered = |options: &Options| -> Result<Lowered, Trouble> {
        fenced(|| {
            lower::lower(
                module,
                plan,
                id,
                options,
                &*compiler.isa,
                sites,
                &mut compiler.builder,
            )
            .ok_or_else(|| Trouble::Bug("no plan".to_string()))
        })
    };
    let mut own = lowered(options)?;
    let mut together = options.width > 1 && plan.function(id).is_some_and(|p| p.wide.is_some());
    if together && crowded(&own.clif) {
        let alone = Options {
            width: 1,
            ..options.clone()
        };
        own = lowered(&alone)?;
        together = false;
    }
    let lowered = own;
    let lower = started.elapsed();
    // What was lowered tells the places of faults, which a given function refers to.
    let clif = given.cloned().unwrap_or(lowered.clif);
    let clif_instructions = clif.dfg.num_insts();
    let started = Instant::now();
    let (piece, frame) = fenced(|| compiler.compile(Symbol::Function(id), clif, lowered.effort))?;
    let mut pieces = vec![piece];
    if function.kind == FunctionKind::Device {
        pieces.push(fenced(|| {
            let clif = lower::trampoline(module, id, &*compiler.isa, &mut compiler.builder);
            Ok(compiler
                .compile(Symbol::Trampoline(id), clif, Effort::Full)?
                .0)
        })?);
        if plan.facts[id.index()].is_simple() {
            let plain = fenced(|| {
                let clif = lower::plain(module, id, &*compiler.isa, &mut compiler.builder);
                clif.map(|clif| compiler.compile(Symbol::Plain(id), clif, Effort::Full))
                    .transpose()
            })?;
            pieces.extend(plain.map(|(piece, _)| piece));
        }
    }
    let stats = FunctionStats {
        instructions: function.blocks.iter().map(|b| b.insts.len() + 1).sum(),
        clif_instructions,
        lower,
        compile: started.elapsed(),
        code_bytes: pieces.iter().map(|p: &Piece| p.bytes.len()).sum(),
        frame_bytes: frame,
        vectors: if together { compiler.vectors } else { 0 },
    };
    Ok(Made {
        pieces,
        roots: lowered.roots,
        together,
        stats,
    })
}

/// A bug, in something that is not a function of the module.
pub(super) fn internal(function: &str, trouble: Trouble) -> CompileError {
    CompileError::Internal {
        function: function.to_string(),
        message: match trouble {
            Trouble::Limit => "too large".to_string(),
            Trouble::Bug(message) => message,
        },
    }
}
