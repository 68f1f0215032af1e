//! Command lines that would work.

use crate::ir::memory::{Base, Space, Var};
use crate::ir::{self, Kind};
use crate::runtime::{FunctionInfo, Module, Parameter};

/// Elements of a buffer, where nothing says how many there should be.
const ELEMENTS: usize = 256;

/// `add_n(.u64 out, .u64 in, .u32 n)`
pub(super) fn signature(kernel: &FunctionInfo<'_>) -> String {
    let parameters: Vec<String> = kernel
        .parameters()
        .iter()
        .map(ToString::to_string)
        .collect();
    format!("{}({})", kernel.name(), parameters.join(", "))
}

/// Arguments that fit a kernel: of those given the ones that do, for the other parameters something of their size.
pub(super) fn arguments(
    module: &Module,
    kernel: &FunctionInfo<'_>,
    fits: impl Fn(usize) -> bool,
    given: &[String],
) -> Vec<String> {
    let ir = module.ir();
    let function = ir.functions.iter().find(|f| f.name == kernel.name());
    let elements = function.map(|f| pointed_to(ir, f)).unwrap_or_default();
    let parameters = kernel.parameters();
    let arguments = parameters.iter().enumerate().map(|(index, parameter)| {
        match given.get(index).filter(|_| fits(index)) {
            Some(argument) => argument.clone(),
            None => argument(parameter, elements.get(index).copied().flatten()),
        }
    });
    arguments.collect()
}

/// Something of a parameter's size. `element`: it is the address of elements of so many bytes.
fn argument(parameter: &Parameter, element: Option<u8>) -> String {
    let size = parameter.size as usize;
    if let Some(bytes) = element {
        return format!("u{}[{ELEMENTS}]:zeros", 8 * u32::from(bytes));
    }
    let ty = match (parameter.declared.as_str(), size) {
        (ty @ ("f16" | "f32" | "f64"), 2 | 4 | 8) if !parameter.array => ty.to_string(),
        (ty, 1 | 2 | 4 | 8) if !parameter.array => {
            let sign = if ty.starts_with('s') { 'i' } else { 'u' };
            format!("{sign}{}", 8 * size)
        }
        _ => return format!("bytes:{}", "00".repeat(size)),
    };
    format!("{ty}:1")
}

/// For each parameter that the body uses as an address: how many bytes lie there for one access. Good enough for an
/// example: registers are followed without regard to the order of instructions.
fn pointed_to(module: &ir::Module, function: &ir::Function) -> Vec<Option<u8>> {
    const ROUNDS: usize = 16;
    let mut from: Vec<Option<usize>> = vec![None; function.regs.len()];
    let mut elements = vec![None; function.params.len()];
    for _ in 0..ROUNDS {
        let before = from.clone();
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            let source = match &inst.kind {
                Kind::Load(load) => match load.addr.base {
                    Base::Var(Var::Param(index)) => Some(index as usize),
                    Base::Reg(reg) => {
                        note(&mut elements, from[reg.index()], load.space, load.bytes);
                        None
                    }
                    Base::Var(_) | Base::Absolute => None,
                },
                Kind::Store(store) => {
                    if let Base::Reg(reg) = store.addr.base {
                        note(&mut elements, from[reg.index()], store.space, store.bytes);
                    }
                    None
                }
                Kind::Pure(pure) => {
                    let mut srcs = pure.srcs.iter().filter_map(|src| src.reg());
                    srcs.find_map(|reg| from[reg.index()])
                }
                Kind::AddressOf(_)
                | Kind::FunctionAddress { .. }
                | Kind::Special { .. }
                | Kind::Call(_)
                | Kind::Meet(_)
                | Kind::Atomic(_)
                | Kind::Fence(_)
                | Kind::Mbarrier(_)
                | Kind::Copy(_)
                | Kind::Stack(_)
                | Kind::Hint { .. }
                | Kind::Unsupported => None,
            };
            if source.is_some() {
                inst.defs(|reg| {
                    if function.class(reg).bits() == module.address_bits {
                        from[reg.index()] = from[reg.index()].or(source);
                    }
                });
            }
        }
        if from == before {
            break;
        }
    }
    elements
}

fn note(elements: &mut [Option<u8>], parameter: Option<usize>, space: Space, bytes: u8) {
    if matches!(space, Space::Generic | Space::Global)
        && let Some(element) = parameter.and_then(|index| elements.get_mut(index))
    {
        element.get_or_insert(bytes);
    }
}

/// A word as a shell wants it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_shells() {
        assert_eq!(quoted("u32:5"), "u32:5");
        assert_eq!(quoted("u32[4]:zeros"), "'u32[4]:zeros'");
        assert_eq!(quoted("$it's"), r"'$it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn arguments_fit_their_parameters() {
        let module = Module::parse(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .entry k(.param .u64 p, .param .u64 n, .param .s16 s, .param .f32 f, .param .align 4 .b8 v[12])\n{\n\
             .reg .b64 %rd<4>; .reg .b16 %h; .reg .pred %q;\n\
             ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1;\n\
             ld.param.u64 %rd2, [n]; setp.eq.u64 %q, %rd2, 0;\n\
             mov.u16 %h, 1; add.u64 %rd3, %rd1, 16; st.global.u16 [%rd3+2], %h; ret;\n}\n",
        )
        .expect("a module");
        let kernel = module.kernels().next().expect("a kernel");
        let given = ["u8:7".to_string(), "u64:9".to_string()];
        assert_eq!(
            arguments(&module, &kernel, |i| i == 1, &given),
            [
                "u16[256]:zeros",
                "u64:9",
                "i16:1",
                "f32:1",
                "bytes:000000000000000000000000"
            ]
        );
    }
}
