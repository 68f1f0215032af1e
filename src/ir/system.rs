//! System calls of the CUDA device runtime: functions that are declared and never defined.

use super::Function;
use super::control::{CallType, ParamTy};

/// A system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum System {
    /// `vprintf`: format and arguments; gives the number of arguments, or -1.
    Vprintf,
    /// `malloc`: bytes; gives a generic address.
    Malloc,
    /// `free`: what `malloc` gave, or 0.
    Free,
    /// `__assertfail`: message, file, line, function, size of a character. Does not return.
    AssertFail,
}

impl System {
    /// The system call that a function without a body is.
    pub fn of(function: &Function) -> Option<System> {
        if function.defined {
            return None;
        }
        System::named(&function.name, &function.call_type())
    }

    /// The system call of this name, if it takes and gives so much.
    pub fn named(name: &str, ty: &CallType) -> Option<System> {
        let sizes = |list: &[ParamTy]| -> Vec<u32> { list.iter().map(|p| p.size).collect() };
        let (params, returns) = (sizes(&ty.params), sizes(&ty.returns));
        // With addresses of 64 and of 32 bits.
        let is = |wants: [&[u32]; 2], gives: [&[u32]; 2]| {
            (0..2).any(|i| params == wants[i] && returns == gives[i])
        };
        match name {
            "vprintf" if is([&[8, 8], &[4, 4]], [&[4], &[4]]) => Some(System::Vprintf),
            "malloc" if is([&[8], &[4]], [&[8], &[4]]) => Some(System::Malloc),
            "free" if is([&[8], &[4]], [&[], &[]]) => Some(System::Free),
            "__assertfail" if is([&[8, 8, 4, 8, 8], &[4, 4, 4, 4, 4]], [&[], &[]]) => {
                Some(System::AssertFail)
            }
            _ => None,
        }
    }
}
