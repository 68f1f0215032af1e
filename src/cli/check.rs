//! `ptxlift check`

use super::error::{Failure, show_diagnostics};
use super::out::{Out, warn};
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::error::Error;
use crate::ir::{self, RegClass};
use crate::runtime::Module;
use crate::testing::files;
use serde::Serialize;
use std::io::Write as _;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
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

/// An error or warning.
#[derive(Serialize)]
struct Remark {
    line: u32,
    column: u32,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Serialize)]
struct FunctionReport {
    name: String,
    kind: &'static str,
    line: u32,
    defined: bool,
    parameters: Vec<String>,
    registers: Registers,
    shared_bytes: u32,
    local_bytes: u32,
    unsupported: Vec<Lacking>,
}

/// Registers by class.
#[derive(Serialize, Default)]
struct Registers {
    pred: usize,
    b8: usize,
    b16: usize,
    b32: usize,
    b64: usize,
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
        let (name, text) = match files::read_text(path) {
            Ok(file) => file,
            Err(error) => {
                warn(&mut err, "error", &error.to_string());
                code = 1;
                continue;
            }
        };
        let report = match Module::parse_named(&name, text) {
            Ok(module) => {
                if !module.warnings().is_empty() && !args.json {
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
                if !args.json {
                    show_diagnostics(&diagnostics, &mut err);
                }
                FileReport::refused(&diagnostics)
            }
            Err(error) => return Err(error.into()),
        };
        if args.json {
            let line = serde_json::to_string(&report).map_err(|e| Failure::bug(e.to_string()))?;
            out.text(format_args!("{line}\n"));
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
    fn refused(diagnostics: &Diagnostics) -> Self {
        FileReport {
            file: diagnostics.source().name().to_string(),
            errors: remarks(diagnostics, Severity::Error),
            warnings: remarks(diagnostics, Severity::Warning),
            functions: Vec::new(),
        }
    }

    fn of(module: &Module) -> Self {
        let ir = module.ir();
        FileReport {
            file: ir.source.name().to_string(),
            errors: Vec::new(),
            warnings: remarks(module.warnings(), Severity::Warning),
            functions: ir
                .functions
                .iter()
                .map(|f| FunctionReport::of(ir, f))
                .collect(),
        }
    }

    fn show(&self, out: &mut Out) {
        for function in &self.functions {
            function.show(&self.file, out);
        }
        if self.errors.is_empty() {
            let lacking: usize = self.functions.iter().map(|f| f.unsupported.len()).sum();
            let said = match lacking {
                0 => "everything is supported".to_string(),
                1 => "1 instruction is not supported".to_string(),
                n => format!("{n} instructions are not supported"),
            };
            out.text(format_args!("{}: {said}\n", self.file));
        }
    }
}

fn remarks(diagnostics: &Diagnostics, severity: Severity) -> Vec<Remark> {
    let remark = |d: &Diagnostic| {
        let position = diagnostics.source().position(d.span.start);
        Remark {
            line: position.line,
            column: position.column,
            message: d.message.clone(),
            label: d.label.clone(),
            hint: d.hint.clone(),
        }
    };
    let wanted = diagnostics.iter().filter(|d| d.severity == severity);
    wanted.map(remark).collect()
}

impl FunctionReport {
    fn of(module: &ir::Module, function: &ir::Function) -> Self {
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
        let parameters = function.params.iter().map(|p| {
            let array = if p.array {
                format!("[{}]", p.ty.size)
            } else {
                String::new()
            };
            format!(".{} {}{array}", p.declared, p.name)
        });
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
            parameters: parameters.collect(),
            registers,
            shared_bytes: function.shared_bytes,
            local_bytes: function.local_bytes,
            unsupported: unsupported.collect(),
        }
    }

    fn show(&self, file: &str, out: &mut Out) {
        let Registers {
            pred,
            b8,
            b16,
            b32,
            b64,
        } = self.registers;
        out.text(format_args!(
            "{file}:{}: {} {}({})\n",
            self.line,
            self.kind,
            self.name,
            self.parameters.join(", ")
        ));
        if !self.defined {
            out.text(format_args!("  declared without a body\n"));
            return;
        }
        out.text(format_args!(
            "  registers: {pred} pred, {b8} b8, {b16} b16, {b32} b32, {b64} b64\n  \
             shared: {} bytes, local: {} bytes\n",
            self.shared_bytes, self.local_bytes
        ));
        for lacking in &self.unsupported {
            out.text(format_args!(
                "  line {}: `{}` is not supported ({})\n",
                lacking.line, lacking.instruction, lacking.family
            ));
        }
    }
}
