//! What is launched: from a description, or from options.

use super::super::error::Failure;
use super::Args;
use crate::runtime::Module;
use crate::testing::launch::{Arg, ArgValue, LaunchSpec};
use crate::testing::launch_toml::LaunchFile;
use crate::testing::{FormatError, files};
use std::path::Path;

/// What is launched.
pub(super) struct Job {
    /// The modules to try: names in messages, texts.
    pub(super) modules: Vec<(String, String)>,
    pub(super) spec: LaunchSpec,
    /// What is expected of it.
    pub(super) description: Option<LaunchFile>,
}

impl Args {
    pub(super) fn described_job(&self) -> Result<Job, Failure> {
        let launch_options = [
            ("--kernel", self.kernel.is_some()),
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--shared", self.shared.is_some()),
            ("--arg", !self.args.is_empty()),
        ];
        if let Some((option, _)) = launch_options.iter().find(|(_, given)| *given) {
            return Err(Failure::Usage(format!(
                "`{option}` is for PTX files; {} says it already",
                self.file.display()
            )));
        }
        let (name, text) = files::read_text(&self.file)?;
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let description = LaunchFile::parse(&text, &mut |file| files::read_in(folder, file))
            .map_err(|e| Failure::Input(format!("{name}: {e}")))?;
        let modules = description
            .modules
            .iter()
            .map(|m| files::read_text(&folder.join(m)))
            .collect::<Result<_, _>>()?;
        Ok(Job {
            modules,
            spec: description.spec.clone(),
            description: Some(description),
        })
    }

    pub(super) fn given_job(&self) -> Result<Job, Failure> {
        let (name, text) = files::read_text(&self.file)?;
        let kernel = match &self.kernel {
            Some(kernel) => kernel.clone(),
            None => only_kernel(&Module::parse_named(&name, &*text)?)?,
        };
        let mut read = |file: &str| {
            files::read(Path::new(file)).map_err(|e| FormatError::new(format!("{file}: {e}")))
        };
        let args = self
            .args
            .iter()
            .enumerate()
            .map(|(i, arg)| Arg::parse(i, arg, &mut read))
            .collect::<Result<_, _>>()
            .map_err(|e| Failure::Usage(format!("`--arg`: {e}")))?;
        Ok(Job {
            modules: vec![(name, text)],
            spec: LaunchSpec {
                kernel,
                grid: self.grid.map_or([1; 3], |e| e.0),
                block: self.block.map_or([1; 3], |e| e.0),
                dynamic_shared: self.shared.unwrap_or(0),
                args,
            },
            description: None,
        })
    }

    /// Whether the sizes of the arguments are those of the parameters. Their number is checked by the launch.
    pub(super) fn check_arguments(
        &self,
        module: &Module,
        spec: &LaunchSpec,
    ) -> Result<(), Failure> {
        let Some(kernel) = module.kernels().find(|k| k.name() == spec.kernel) else {
            return Ok(());
        };
        let parameters = kernel.parameters();
        let arguments = self.args.iter().zip(&spec.args);
        for (index, ((text, arg), parameter)) in arguments.zip(&parameters).enumerate() {
            let (what, size) = match &arg.value {
                ArgValue::Bytes(bytes) => (format!("`{text}`"), bytes.len() as u32),
                ArgValue::Buffer { .. } => (
                    format!("the address of `{text}`"),
                    module.ir().address_bits / 8,
                ),
            };
            if size != parameter.size {
                return Err(Failure::Usage(format!(
                    "parameter {index} of kernel `{}` is `{parameter}` of {} bytes, {what} has {size}",
                    spec.kernel, parameter.size
                )));
            }
        }
        Ok(())
    }
}

fn only_kernel(module: &Module) -> Result<String, Failure> {
    let names: Vec<&str> = module.kernels().map(|k| k.name()).collect();
    match names[..] {
        [one] => Ok(one.to_string()),
        [] => Err(Failure::Input(format!(
            "{}: the module has no kernel",
            module.source().name()
        ))),
        _ => Err(Failure::Usage(format!(
            "`--kernel` says which of the kernels: {}",
            names.join(", ")
        ))),
    }
}
