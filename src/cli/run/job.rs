//! What is launched: from a description, or from options.

use super::super::ReadingArg;
use super::super::error::Failure;
use super::super::input::{self, Input};
use super::super::out::{Out, counted, warn};
use super::{LaunchArgs, example};
use crate::runtime::{Module, Parameter};
use crate::testing::launch::{Arg, ArgValue, LaunchSpec};
use crate::testing::launch_toml::LaunchFile;
use crate::testing::{FormatError, files};
use std::path::Path;

/// What is launched.
pub(in crate::cli) struct Job {
    /// The modules to try.
    pub(in crate::cli) modules: Vec<Input>,
    pub(in crate::cli) spec: LaunchSpec,
    /// What is expected of it.
    pub(in crate::cli) description: Option<LaunchFile>,
}

impl LaunchArgs {
    /// Reads what is to be launched: a description if the file is called `*.toml`, or is one on standard input.
    pub(in crate::cli) fn job(&self, file: &Path) -> Result<Job, Failure> {
        let input = input::read(file)?;
        let describes = files::is_launch_description(&input.text);
        let stdin = file == Path::new(files::STDIN);
        if stdin && describes {
            return self.described_job(file, &input);
        }
        if !stdin && file.extension().is_some_and(|e| e == "toml") {
            if files::is_ptx(&input.text) {
                let name = &input.name;
                return Err(
                    Failure::Input(format!("{name} holds PTX, not a launch description"))
                        .hint("call it `*.ptx`, and say with `--kernel`, `--block` and `--arg` what to launch"),
                );
            }
            return self.described_job(file, &input);
        }
        if describes {
            let name = &input.name;
            return Err(
                Failure::Input(format!("{name} is a launch description, not PTX"))
                    .hint("call it `*.toml`"),
            );
        }
        self.given_job(input::ptx(input)?)
    }

    fn described_job(&self, path: &Path, file: &Input) -> Result<Job, Failure> {
        let name = &file.name;
        let launch_options = [
            ("--kernel", self.kernel.is_some()),
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--cluster", self.cluster.is_some()),
            ("--shared", self.shared.is_some()),
            ("--arg", !self.args.is_empty()),
        ];
        if let Some((option, _)) = launch_options.iter().find(|(_, given)| *given) {
            return Err(Failure::Usage(format!(
                "`{option}` is for PTX files; {name} says it already"
            )));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let description = LaunchFile::parse(&file.text, &mut |file| files::read_in(folder, file))
            .map_err(|e| Failure::Input(format!("{name}: {e}")))?;
        let modules = description
            .modules
            .iter()
            .map(|m| input::read_ptx(&folder.join(m)))
            .collect::<Result<_, _>>()?;
        Ok(Job {
            modules,
            spec: description.spec.clone(),
            description: Some(description),
        })
    }

    fn given_job(&self, input: Input) -> Result<Job, Failure> {
        let kernel = match &self.kernel {
            Some(kernel) => kernel.clone(),
            None => only_kernel(&Module::parse_named(&*input.name, &*input.text)?)?,
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
            modules: vec![input],
            spec: LaunchSpec {
                kernel,
                grid: self.grid.map_or([1; 3], |e| e.0),
                block: self.block.map_or([1; 3], |e| e.0),
                cluster: self.cluster.map(|e| e.0),
                workers: None,
                dynamic_shared: self.shared.unwrap_or(0),
                args,
            },
            description: None,
        })
    }

    /// Whether number and sizes of the arguments are those of the parameters; if not, what would be right.
    pub(in crate::cli) fn check_arguments(
        &self,
        file: &Path,
        module: &Module,
        spec: &LaunchSpec,
    ) -> Result<(), Failure> {
        let Some(kernel) = module.kernels().find(|k| k.name() == spec.kernel) else {
            return Ok(());
        };
        let parameters = kernel.parameters();
        let address = module.address_bits() / 8;
        let size = |arg: &Arg| match &arg.value {
            ArgValue::Bytes(bytes) => bytes.len() as u32,
            ArgValue::Buffer { .. } => address,
        };
        let fits: Vec<bool> = (spec.args.iter().zip(&parameters))
            .map(|(arg, parameter)| size(arg) == parameter.size)
            .collect();
        let wrong = fits.iter().position(|fits| !fits);
        let problem = if let Some(index) = wrong {
            let (arg, text, parameter) = (&spec.args[index], &self.args[index], &parameters[index]);
            let what = match arg.value {
                ArgValue::Bytes(_) => format!("`{text}`"),
                ArgValue::Buffer { .. } => format!("the address of `{text}`"),
            };
            format!(
                "parameter {index} of kernel `{}` is `{parameter}` of {} bytes, {what} has {}",
                spec.kernel,
                parameter.size,
                size(arg)
            )
        } else if spec.args.len() != parameters.len() {
            format!(
                "kernel `{}` wants {}, {} given",
                spec.kernel,
                counted(parameters.len() as u64, "argument"),
                match spec.args.len() {
                    0 => "none is".to_string(),
                    1 => "1 is".to_string(),
                    given => format!("{given} are"),
                }
            )
        } else {
            for (text, parameter) in self.args.iter().zip(&parameters) {
                warn_of_bits(text, parameter);
            }
            return Ok(());
        };
        let failure = Failure::Usage(format!("{problem}\n  {}", example::signature(&kernel)));
        let sizes: Vec<u32> = spec.args.iter().map(size).collect();
        let wanted: Vec<u32> = parameters.iter().map(|p| p.size).collect();
        let order = (sizes.len() == wanted.len()).then(|| reorder(&sizes, &wanted));
        let args = match order.flatten() {
            Some(order) => {
                let args = order.iter().map(|&i| self.args[i].clone()).collect();
                let command = self.command(file, spec, args);
                return Err(failure.hint(format!("in another order they fit: {command}")));
            }
            None => example::arguments(
                module,
                &kernel,
                |index| fits.get(index).copied() == Some(true),
                &self.args,
            ),
        };
        Err(failure.hint(format!("for example: {}", self.command(file, spec, args))))
    }

    /// The command line, with other arguments of the kernel.
    fn command(&self, file: &Path, spec: &LaunchSpec, args: Vec<String>) -> String {
        let file = file.display().to_string();
        let mut words = vec!["ptxlift".to_string(), "run".to_string(), file];
        words.extend(["--kernel".to_string(), spec.kernel.clone()]);
        for (option, extent) in [
            ("--grid", self.grid),
            ("--block", self.block),
            ("--cluster", self.cluster),
        ] {
            if let Some(extent) = extent {
                words.extend([option.to_string(), extent.to_string()]);
            }
        }
        if self.reading != ReadingArg::Text {
            words.extend(["--reading".to_string(), self.reading.reading().to_string()]);
        }
        if let Some(shared) = self.shared {
            words.extend(["--shared".to_string(), shared.to_string()]);
        }
        for arg in args {
            words.extend(["--arg".to_string(), arg]);
        }
        let words: Vec<String> = words.iter().map(|w| example::quoted(w)).collect();
        words.join(" ")
    }
}

/// Says that a parameter of one kind of number is given another, whose bits it takes as they are.
fn warn_of_bits(argument: &str, parameter: &Parameter) {
    let given = argument.split([':', '[']).next().unwrap_or_default();
    if let (Some(wanted), Some(given)) = (is_float(&parameter.declared), is_float(given))
        && wanted != given
        && !argument.contains('[')
    {
        let message = format!("parameter `{parameter}` is given the bits of `{argument}`");
        warn(&mut Out::stderr(), "warning", &message);
    }
}

/// Whether a type is of floats or of integers, if it says so.
fn is_float(ty: &str) -> Option<bool> {
    match ty.as_bytes() {
        [b'f', b'0'..=b'9', ..] | [b'b', b'f', ..] => Some(true),
        [b'u' | b's' | b'i', b'0'..=b'9', ..] => Some(false),
        _ => None,
    }
}

/// The order in which arguments of these sizes are those that are wanted, if there is one: the first that fits is taken.
fn reorder(sizes: &[u32], wanted: &[u32]) -> Option<Vec<usize>> {
    let mut left: Vec<usize> = (0..sizes.len()).collect();
    wanted
        .iter()
        .map(|size| {
            let position = left.iter().position(|&i| sizes[i] == *size)?;
            Some(left.remove(position))
        })
        .collect()
}

fn only_kernel(module: &Module) -> Result<String, Failure> {
    const SHOWN: usize = 20;
    let file = module.source().name();
    let kernels: Vec<_> = module.kernels().collect();
    match &kernels[..] {
        [one] => Ok(one.name().to_string()),
        [] => Err(Failure::Input(format!("{file}: the module has no kernel"))),
        [first, ..] => {
            let mut message = format!(
                "{file} has {} kernels; `--kernel` says which is launched",
                kernels.len()
            );
            for kernel in kernels.iter().take(SHOWN) {
                message.push_str(&format!("\n  {}", example::signature(kernel)));
            }
            if kernels.len() > SHOWN {
                message.push_str(&format!("\n  and {} more", kernels.len() - SHOWN));
            }
            Err(Failure::Usage(message).hint(format!("for example `--kernel {}`", first.name())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_numbers() {
        for ty in ["f16", "bf16", "f32", "f64"] {
            assert_eq!(is_float(ty), Some(true), "{ty}");
        }
        for ty in ["u8", "i32", "s64"] {
            assert_eq!(is_float(ty), Some(false), "{ty}");
        }
        for ty in ["b32", "b64", "bytes", ""] {
            assert_eq!(is_float(ty), None, "{ty}");
        }
    }

    #[test]
    fn arguments_are_put_in_order() {
        assert_eq!(reorder(&[4, 8, 8], &[8, 8, 4]), Some(vec![1, 2, 0]));
        assert_eq!(reorder(&[4, 8], &[8, 8]), None);
    }
}
