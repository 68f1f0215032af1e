//! Names of functions in machine code: numbers, never words of the text.

use crate::ir::FuncId;
use cranelift_codegen::ir::UserExternalName;

/// A function in machine code, ours or the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// Judges an access and leaves the answer in the context; keeps all registers.
    Resolve,
    /// The host's function behind `Resolve`.
    ResolveHost,
    /// The host's clock: nanoseconds.
    ClockHost,
    /// The host's function for what native code does not do itself.
    ServeHost,
    /// A function or kernel of the module.
    Function(FuncId),
    /// The way into a device function from the host: arguments and results in buffers.
    Trampoline(FuncId),
    /// A device function as the host's own calling convention has it, without context.
    Plain(FuncId),
}

/// Symbols that are not functions of the module.
pub const FIXED: [Symbol; 4] = [
    Symbol::Resolve,
    Symbol::ResolveHost,
    Symbol::ClockHost,
    Symbol::ServeHost,
];

impl Symbol {
    /// Its number.
    pub fn number(self) -> u32 {
        let fixed = FIXED.len() as u32;
        match self {
            Symbol::Resolve => 0,
            Symbol::ResolveHost => 1,
            Symbol::ClockHost => 2,
            Symbol::ServeHost => 3,
            Symbol::Function(f) => fixed + 3 * f.0,
            Symbol::Trampoline(f) => fixed + 3 * f.0 + 1,
            Symbol::Plain(f) => fixed + 3 * f.0 + 2,
        }
    }

    /// The symbol of a number.
    pub fn of_number(number: u32) -> Symbol {
        if let Some(&fixed) = FIXED.get(number as usize) {
            return fixed;
        }
        let rest = number - FIXED.len() as u32;
        let function = FuncId(rest / 3);
        match rest % 3 {
            0 => Symbol::Function(function),
            1 => Symbol::Trampoline(function),
            _ => Symbol::Plain(function),
        }
    }

    /// Its name for Cranelift.
    pub fn external(self) -> UserExternalName {
        UserExternalName {
            namespace: 0,
            index: self.number(),
        }
    }

    /// Whether it lies beside the code that calls it.
    pub fn is_near(self) -> bool {
        match self {
            Symbol::ResolveHost | Symbol::ClockHost | Symbol::ServeHost => false,
            Symbol::Resolve | Symbol::Function(_) | Symbol::Trampoline(_) | Symbol::Plain(_) => {
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_symbols() {
        for number in 0..20 {
            assert_eq!(Symbol::of_number(number).number(), number);
        }
    }
}
