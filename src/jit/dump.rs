//! The stages of the way to machine code, as text, with the PTX instructions as comments.

use super::engine::{self, Compiler, Trouble};
use super::target::Target;
use super::{CompileError, Settings};
use crate::diag::{Source, Span};
use crate::ir::{FuncId, Module};
use crate::lower::{self, Lowered, Options, Sites, Symbol};
use crate::spmd::facts::SHALLOW;
use crate::spmd::{self, Absent, ModulePlan};
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::entities::AnyEntity;
use cranelift_codegen::ir::{Block, Function, Inst, SourceLoc, Value};
use cranelift_codegen::write::{FuncWriter, PlainWriter, decorate_function};
use std::fmt::{self, Write};

/// A stage of the way to machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Regions, meeting values, provenance, facts.
    Plan,
    /// Cranelift's intermediate representation, as it is made.
    Clif,
    /// The same after Cranelift's mid-end, at the configured level: what machine instructions are chosen for.
    Optimized,
    /// Cranelift's machine instructions after register allocation.
    Vcode,
    /// Machine code as bytes, by PTX instruction.
    Asm,
}

/// Why there is nothing to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    /// The function is not compiled.
    #[error("not compiled: {0}")]
    Absent(Absent),
    /// It cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

/// A function at a stage, as text, as code for this machine.
///
/// # Errors
/// As [`Dump::function`].
pub fn dump(
    module: &Module,
    settings: &Settings,
    function: FuncId,
    stage: Stage,
) -> Result<String, DumpError> {
    Dump::new(module, settings, &Target::Host)?.function(function, stage)
}

/// A module on its way to machine code.
pub struct Dump<'a> {
    module: &'a Module,
    plan: ModulePlan,
    compiler: Compiler,
    options: Options,
    sites: Sites,
    /// Functions before this one have their places of faults, which are numbered through the module.
    next: u32,
}

impl<'a> Dump<'a> {
    /// Plans a module, as code for a machine.
    ///
    /// # Errors
    /// A machine that Cranelift does not know, or settings that it does not have.
    pub fn new(
        module: &'a Module,
        settings: &Settings,
        target: &Target,
    ) -> Result<Self, CompileError> {
        let compiler = Compiler::new(settings, target)?;
        Ok(Dump {
            module,
            plan: ModulePlan::new(module, settings.checked, SHALLOW, |_| settings.width),
            options: engine::options(settings, &*compiler.isa),
            compiler,
            sites: Sites::new(module),
            next: 0,
        })
    }

    /// A function at a stage, as text. In the order of the module no function is lowered twice.
    ///
    /// # Errors
    /// A function that is not compiled (a plan says so itself), a bug.
    pub fn function(&mut self, function: FuncId, stage: Stage) -> Result<String, DumpError> {
        if stage == Stage::Plan {
            return Ok(spmd::dump(self.module, &self.plan, function));
        }
        if let Some(&Some(absent)) = self.plan.absent.get(function.index()) {
            return Err(DumpError::Absent(absent));
        }
        let failed = |trouble| {
            let name = &self.module.functions[function.index()].name;
            DumpError::Compile(engine::internal(name, trouble))
        };
        let Lowered {
            clif,
            spans,
            effort,
            ..
        } = self.lower(function).map_err(failed)?;
        let comments = Comments {
            source: &self.module.source,
            spans: &spans,
        };
        if stage == Stage::Clif {
            return Ok(names(self.module, &clif) + &comments.clif(&clif));
        }
        let compiler = &mut self.compiler;
        compiler.disassemble = stage == Stage::Vcode;
        let (piece, _) =
            engine::fenced(|| compiler.compile(Symbol::Function(function), clif, effort))
                .map_err(failed)?;
        if stage == Stage::Optimized {
            return Ok(comments.clif(&compiler.context.func));
        }
        let Some(compiled) = compiler.context.compiled_code() else {
            return Err(failed(Trouble::Bug("no code".to_string())));
        };
        let ranges: Vec<(u32, u32, SourceLoc)> = (compiled.buffer.get_srclocs_sorted().iter())
            .map(|range| (range.start, range.end, range.loc))
            .collect();
        if stage == Stage::Vcode {
            return Ok(compiled.vcode.clone().unwrap_or_default());
        }
        Ok(comments.bytes(&piece.bytes, &ranges))
    }

    fn lower(&mut self, function: FuncId) -> Result<Lowered, Trouble> {
        if function.0 < self.next {
            self.sites = Sites::new(self.module);
            self.next = 0;
        }
        for before in (self.next..function.0).map(FuncId) {
            if self.plan.function(before).is_some() {
                self.lower_next(before)?;
            }
        }
        let lowered = self.lower_next(function)?;
        self.next = function.0 + 1;
        Ok(lowered)
    }

    fn lower_next(&mut self, function: FuncId) -> Result<Lowered, Trouble> {
        engine::fenced(|| {
            lower::lower(
                self.module,
                &self.plan,
                function,
                &self.options,
                &*self.compiler.isa,
                &mut self.sites,
                &mut self.compiler.builder,
            )
            .ok_or_else(|| Trouble::Bug("no plan".to_string()))
        })
    }
}

/// Says in comments what the numbers of functions stand for.
fn names(module: &Module, clif: &Function) -> String {
    let imported = clif.params.user_named_funcs().values();
    let mut numbers: Vec<u32> = imported.map(|name| name.index).collect();
    numbers.extend(clif.name.get_user().map(|name| name.index));
    numbers.sort_unstable();
    numbers.dedup();
    let meaning = |number| match Symbol::of_number(number) {
        Symbol::Resolve => "judges an access: context, site, address, slot".to_string(),
        Symbol::ResolveHost => "does so for it".to_string(),
        Symbol::ClockHost => "reads the clock".to_string(),
        Symbol::ServeHost => {
            "does what the host does better: context, site, arguments and results".to_string()
        }
        Symbol::Function(f) | Symbol::Trampoline(f) | Symbol::Plain(f) => {
            let function = module.functions.get(f.index());
            function.map_or_else(String::new, |f| format!("is {}", f.name))
        }
    };
    let line = |number| format!("; u0:{number} {}\n", meaning(number));
    numbers.into_iter().map(line).collect()
}

/// Which PTX instruction a source location is.
struct Comments<'a> {
    source: &'a Source,
    spans: &'a [Span],
}

impl Comments<'_> {
    fn text(&self, location: SourceLoc) -> Option<String> {
        let span = *self.spans.get(location.bits() as usize)?;
        let words: Vec<&str> = self.source.slice(span).split_whitespace().collect();
        let text: String = words.join(" ").chars().take(160).collect();
        Some(format!("{}: {text}", self.source.line(span.start)))
    }

    fn clif(&self, function: &Function) -> String {
        let mut text = String::new();
        let mut writer = Writer {
            comments: self,
            last: SourceLoc::default(),
        };
        // Writing to a string does not fail.
        let _ = decorate_function(&mut writer, &mut text, function);
        text
    }

    fn bytes(&self, bytes: &[u8], ranges: &[(u32, u32, SourceLoc)]) -> String {
        let mut text = String::new();
        let mut lines = |start: u32, end: u32, location: Option<SourceLoc>| {
            if let Some(comment) = location.and_then(|l| self.text(l)) {
                text.push_str(&format!("; {comment}\n"));
            }
            for (i, chunk) in bytes[start as usize..end as usize].chunks(16).enumerate() {
                let hex: Vec<String> = chunk.iter().map(|b| format!("{b:02x}")).collect();
                let offset = start as usize + 16 * i;
                text.push_str(&format!("{offset:8x}: {}\n", hex.join(" ")));
            }
        };
        let mut at = 0;
        for &(start, end, location) in ranges {
            lines(at, start.max(at), None);
            lines(start, end, Some(location));
            at = end;
        }
        lines(at, bytes.len() as u32, None);
        text
    }
}

/// Writes CLIF with comments before the instructions of each PTX instruction.
struct Writer<'a, 'b> {
    comments: &'a Comments<'b>,
    last: SourceLoc,
}

impl FuncWriter for Writer<'_, '_> {
    fn write_block_header(
        &mut self,
        w: &mut dyn Write,
        func: &Function,
        block: Block,
        indent: usize,
    ) -> fmt::Result {
        PlainWriter.write_block_header(w, func, block, indent)
    }

    fn write_instruction(
        &mut self,
        w: &mut dyn Write,
        func: &Function,
        aliases: &SecondaryMap<Value, Vec<Value>>,
        inst: Inst,
        indent: usize,
    ) -> fmt::Result {
        let location = func.srcloc(inst);
        if location != self.last {
            self.last = location;
            if let Some(text) = self.comments.text(location) {
                writeln!(w, "{:indent$}; {text}", "")?;
            }
        }
        PlainWriter.write_instruction(w, func, aliases, inst, indent)
    }

    fn write_entity_definition(
        &mut self,
        w: &mut dyn Write,
        func: &Function,
        entity: AnyEntity,
        value: &dyn fmt::Display,
    ) -> fmt::Result {
        PlainWriter.write_entity_definition(w, func, entity, value)
    }
}
