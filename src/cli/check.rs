//! `ptxlift check`

use super::error::{Failure, show_diagnostics};
use super::input;
use super::json::{self, Remark};
use super::out::{Out, Style};
use crate::diag::{Diagnostics, Severity};
use crate::error::Error;
use crate::ir::{self, RegClass};
use crate::runtime::Module;
use serde::Serialize;
use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 everything is legal and supported, 1 a file is refused, 4 a file needs something that is not built yet.

Examples:
  ptxlift check kernel.ptx
  nvcc --ptx -o - kernel.cu | ptxlift check -
  ptxlift check --json *.ptx | jq -r '.functions[].unsupported[].instruction' | sort | uniq -c")]
pub(super) struct Args {
    /// PTX files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object for each file
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FileReport {
    file: String,
    errors: Vec<Remark>,
    warnings: Vec<Remark>,
    functions: Vec<FunctionReport>,
}

#[derive(Serialize)]
struct FunctionReport {
    name: String,
    kind: &'static str,
    line: u32,
    defined: bool,
    parameters: Vec<Parameter>,
    results: Vec<Parameter>,
    registers: Registers,
    shared_bytes: u32,
    local_bytes: u32,
    unsupported: Vec<Lacking>,
}

#[derive(Serialize)]
struct Parameter {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    bytes: u32,
    align: u32,
    array: bool,
}

impl Parameter {
    fn all(params: &[ir::Param]) -> Vec<Self> {
        let params = params.iter().map(|p| Parameter {
            name: p.name.clone(),
            ty: p.declared.clone(),
            bytes: p.ty.size,
            align: p.ty.align,
            array: p.array,
        });
        params.collect()
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{} {}", self.ty, self.name)?;
        if self.array {
            write!(f, "[{}]", self.bytes)?;
        }
        Ok(())
    }
}

/// Registers by class.
#[derive(Debug, Serialize, Default)]
pub(super) struct Registers {
    pred: usize,
    b8: usize,
    b16: usize,
    b32: usize,
    b64: usize,
}

impl Registers {
    /// Those that a function declares.
    pub(super) fn of(function: &ir::Function) -> Self {
        let mut registers = Registers::default();
        // Registers without a name are ours.
        for reg in function.regs.iter().filter(|r| !r.name.is_empty()) {
            let count = match reg.class {
                RegClass::Pred => &mut registers.pred,
                RegClass::B8 => &mut registers.b8,
                RegClass::B16 => &mut registers.b16,
                RegClass::B32 => &mut registers.b32,
                RegClass::B64 => &mut registers.b64,
            };
            *count += 1;
        }
        registers
    }
}

impl fmt::Display for Registers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Registers {
            pred,
            b8,
            b16,
            b32,
            b64,
        } = self;
        write!(f, "{pred} pred, {b8} b8, {b16} b16, {b32} b32, {b64} b64")
    }
}

#[derive(Serialize)]
struct Lacking {
    line: u32,
    column: u32,
    instruction: String,
    family: &'static str,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let mut err = Out::stderr();
    let mut code = 0;
    for path in &args.files {
        let input = match input::read_ptx(path) {
            Ok(input) => input,
            Err(failure) => {
                failure.say(out, args.json);
                code = 1;
                continue;
            }
        };
        let report = match Module::parse_named(input.name, input.text) {
            Ok(module) => {
                if !module.warnings().is_empty() {
                    show_diagnostics(module.warnings(), &mut err);
                }
                let report = FileReport::of(&module);
                if code != 1 && report.functions.iter().any(|f| !f.unsupported.is_empty()) {
                    code = 4;
                }
                report
            }
            Err(Error::Diagnostics(diagnostics)) => {
                code = 1;
                show_diagnostics(&diagnostics, &mut err);
                FileReport::new(&diagnostics, Vec::new())
            }
            Err(error) => return Err(error.into()),
        };
        if args.json {
            json::write(out, "check", &report)?;
        } else {
            report.show(out);
        }
        // The next file's errors come behind this.
        let _ = out.flush();
    }
    match code {
        0 => Ok(()),
        code => Err(Failure::Said(code)),
    }
}

impl FileReport {
    /// What was said about a text, and its functions.
    fn new(diagnostics: &Diagnostics, functions: Vec<FunctionReport>) -> Self {
        let (errors, warnings) = Remark::all(diagnostics)
            .into_iter()
            .partition(|remark| remark.is(Severity::Error));
        FileReport {
            file: diagnostics.source().name().to_string(),
            errors,
            warnings,
            functions,
        }
    }

    fn of(module: &Module) -> Self {
        let ir = module.ir();
        let functions = ir.functions.iter().map(|f| FunctionReport::of(ir, f));
        FileReport::new(module.warnings(), functions.collect())
    }

    fn show(&self, out: &mut Out) {
        for function in &self.functions {
            function.show(&self.file, out);
        }
        if self.errors.is_empty() {
            let lacking: usize = self.functions.iter().map(|f| f.unsupported.len()).sum();
            let said = match lacking {
                0 => out.paint(Style::Good, "everything is supported"),
                1 => "1 instruction is not supported".to_string(),
                n => format!("{n} instructions are not supported"),
            };
            out.text(format_args!("{}: {said}\n", self.file));
        }
    }
}

impl FunctionReport {
    fn of(module: &ir::Module, function: &ir::Function) -> Self {
        let unsupported = function.unsupported.iter().map(|u| {
            let position = module.source.position(u.span.start);
            Lacking {
                line: position.line,
                column: position.column,
                instruction: u.what.clone(),
                family: u.family,
            }
        });
        FunctionReport {
            name: function.name.clone(),
            kind: match function.kind {
                ir::FunctionKind::Kernel => "kernel",
                ir::FunctionKind::Device => "function",
            },
            line: module.source.line(function.span.start),
            defined: function.defined,
            parameters: Parameter::all(&function.params),
            results: Parameter::all(&function.returns),
            registers: Registers::of(function),
            shared_bytes: function.shared_bytes,
            local_bytes: function.local_bytes,
            unsupported: unsupported.collect(),
        }
    }

    fn show(&self, file: &str, out: &mut Out) {
        let list = |parameters: &[Parameter]| {
            let parameters: Vec<String> = parameters.iter().map(ToString::to_string).collect();
            format!("({})", parameters.join(", "))
        };
        let results = match &self.results[..] {
            [] => String::new(),
            results => format!("{} ", list(results)),
        };
        out.text(format_args!(
            "{file}:{}: {} {results}{}{}\n",
            self.line,
            self.kind,
            out.paint(Style::Strong, &self.name),
            list(&self.parameters)
        ));
        if !self.defined {
            out.text(format_args!("  declared without a body\n"));
            return;
        }
        out.text(format_args!(
            "  registers: {}\n  shared: {} bytes, local: {} bytes\n",
            self.registers, self.shared_bytes, self.local_bytes
        ));
        for lacking in &self.unsupported {
            let not = out.paint(Style::Doubtful, "not supported");
            out.text(format_args!(
                "  line {}: `{}` is {not} ({})\n",
                lacking.line, lacking.instruction, lacking.family
            ));
        }
    }
}
