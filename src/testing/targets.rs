//! Code for machines other than this one: that it can be made.

use crate::ir::FuncId;
use crate::jit::{Dump, DumpError, Named, Settings, Stage, Target};
use crate::runtime::Module;

/// Makes machine code of all kernels and functions of a module for a machine, as `ptxlift dump --target` names it, `width` threads
/// together; gives the names of those that are not compiled on any machine.
///
/// # Errors
/// What is wrong with the target, or with the code.
pub fn compile_for(module: &Module, target: &str, width: u32) -> Result<Vec<String>, String> {
    let target = Named::new(target).ok_or_else(|| format!("no target `{target}`"))?;
    let settings = Settings {
        width,
        verify: true,
        ..Settings::default()
    };
    let mut dump =
        Dump::new(module.ir(), &settings, &Target::Named(target)).map_err(|e| e.to_string())?;
    let mut absent = Vec::new();
    for (id, function) in (0..).map(FuncId).zip(&module.ir().functions) {
        if !function.defined {
            continue;
        }
        match dump.function(id, Stage::Asm) {
            Ok(_) => {}
            Err(DumpError::Absent(_)) => absent.push(function.name.clone()),
            Err(DumpError::Compile(error)) => return Err(error.to_string()),
        }
    }
    Ok(absent)
}
