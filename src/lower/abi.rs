//! How functions are called in native code. The type of the call alone decides, so that calls through pointers agree.
//!
//! A device function gets the context, then its parameters: those of 1, 2, 4 or 8 bytes by value, others as pointers to
//! memory that it only reads. It gives a status, then its result if it has exactly one of such a size; for any other
//! results it gets pointers, after the parameters, which it writes before it returns. A kernel gets the context and
//! gives a status.

use super::emit::clif_type;
use crate::ir::control::{CallType, ParamTy};
use crate::ir::{Function, FunctionKind};
use crate::spmd::register_class;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{AbiParam, Signature, Type};
use cranelift_codegen::isa::CallConv;

/// How a parameter travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    Value(Type),
    Pointer,
}

pub(super) fn passing(ty: ParamTy) -> Passing {
    register_class(ty).map_or(Passing::Pointer, |class| Passing::Value(clif_type(class)))
}

/// The type of the result that is given by value.
pub(super) fn result(returns: &[ParamTy]) -> Option<Type> {
    match returns {
        [one] => match passing(*one) {
            Passing::Value(ty) => Some(ty),
            Passing::Pointer => None,
        },
        _ => None,
    }
}

/// The signature of a device function of a type.
pub(super) fn signature(ty: &CallType, convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.push(AbiParam::new(I64));
    signature.params.extend(ty.params.iter().map(|p| {
        AbiParam::new(match passing(*p) {
            Passing::Value(ty) => ty,
            Passing::Pointer => I64,
        })
    }));
    signature.returns.push(AbiParam::new(I32));
    match result(&ty.returns) {
        Some(ty) => signature.returns.push(AbiParam::new(ty)),
        None => signature
            .params
            .extend(ty.returns.iter().map(|_| AbiParam::new(I64))),
    }
    signature
}

/// The signature of a function or kernel.
pub(super) fn of_function(function: &Function, convention: CallConv) -> Signature {
    match function.kind {
        FunctionKind::Kernel => signature(&CallType::default(), convention),
        FunctionKind::Device => signature(&function.call_type(), convention),
    }
}

/// The signature of a function in the host's convention, for functions that need no context; `None` if a parameter
/// or result does not travel by value.
pub(super) fn plain(ty: &CallType, convention: CallConv) -> Option<Signature> {
    let value = |p: &ParamTy| match passing(*p) {
        Passing::Value(ty) => Some(AbiParam::new(ty)),
        Passing::Pointer => None,
    };
    let mut signature = Signature::new(convention);
    signature.params = ty.params.iter().map(value).collect::<Option<_>>()?;
    signature.returns = ty.returns.iter().map(value).collect::<Option<_>>()?;
    (signature.returns.len() < 2).then_some(signature)
}

/// A signature of plain values.
pub(super) fn simple(params: &[Type], returns: &[Type], convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params = params.iter().copied().map(AbiParam::new).collect();
    signature.returns = returns.iter().copied().map(AbiParam::new).collect();
    signature
}
