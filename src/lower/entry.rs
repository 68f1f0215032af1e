//! Code around functions: the ways in for the host, and the way out to its judge of accesses.

use super::abi::{self, Passing};
use super::abilities::Abilities;
use super::function::{import, trusted};
use super::symbols::Symbol;
use crate::ir::{FuncId, Module};
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Function, InstBuilder, Signature, Type, UserFuncName};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

fn function(symbol: Symbol, signature: cranelift_codegen::ir::Signature) -> Function {
    let name = symbol.external();
    Function::with_name_signature(UserFuncName::user(name.namespace, name.index), signature)
}

/// How what a symbol names is called; `None` for what only the host calls.
pub fn signature(module: &Module, symbol: Symbol, isa: &dyn TargetIsa) -> Option<Signature> {
    const ACCESS: [Type; 4] = [I64, I32, I64, I32];
    let convention = isa.default_call_conv();
    match symbol {
        Symbol::Resolve => Some(abi::simple(&ACCESS, &[], CallConv::PreserveAll)),
        Symbol::ResolveHost => Some(abi::simple(&ACCESS, &[], convention)),
        Symbol::ClockHost => Some(abi::simple(&[], &[I64], convention)),
        Symbol::ServeHost => Some(abi::simple(&[I64, I32, I64], &[I32], convention)),
        Symbol::Function(f) => {
            let function = module.functions.get(f.index())?;
            Some(abi::of_function(function, convention))
        }
        Symbol::Trampoline(_) | Symbol::Plain(_) => None,
    }
}

/// `(context, arguments, results) -> status`: calls a device function with buffers laid out by
/// [`Param::offset`](crate::ir::Param::offset).
pub fn trampoline(
    module: &Module,
    id: FuncId,
    isa: &dyn TargetIsa,
    builder: &mut FunctionBuilderContext,
) -> Function {
    let ir = &module.functions[id.index()];
    let ty = ir.call_type();
    let convention = isa.default_call_conv();
    let mut clif = function(
        Symbol::Trampoline(id),
        abi::simple(&[I64, I64, I64], &[I32], convention),
    );
    let mut b = FunctionBuilder::new(&mut clif, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let [context, arguments, results] = [0, 1, 2].map(|i| b.block_params(entry)[i]);
    // The host's buffers have no alignment.
    let buffer = Abilities::of(isa).of_ptx(trusted());
    let mut args = vec![context];
    for (param, layout) in ty.params.iter().zip(&ir.params) {
        let offset = layout.offset as i32;
        args.push(match abi::passing(*param) {
            Passing::Value(ty) => b.ins().load(ty, buffer, arguments, offset),
            Passing::Pointer => {
                let offset = b.ins().iconst(I64, i64::from(offset));
                b.ins().iadd(arguments, offset)
            }
        });
    }
    let by_value = abi::result(&ty.returns);
    if by_value.is_none() {
        for layout in &ir.returns {
            let offset = b.ins().iconst(I64, i64::from(layout.offset));
            args.push(b.ins().iadd(results, offset));
        }
    }
    let callee = import(
        &mut b,
        Symbol::Function(id),
        abi::signature(&ty, convention),
    );
    let call = b.ins().call(callee, &args);
    let values = b.inst_results(call).to_vec();
    if by_value.is_some() {
        let offset = ir.returns[0].offset as i32;
        b.ins().store(buffer, values[1], results, offset);
    }
    b.ins().return_(&[values[0]]);
    b.seal_all_blocks();
    b.finalize(super::config(isa));
    clif
}

/// A device function that needs no context, by the host's convention for values; `None` if it takes or gives others.
pub fn plain(
    module: &Module,
    id: FuncId,
    isa: &dyn TargetIsa,
    builder: &mut FunctionBuilderContext,
) -> Option<Function> {
    let ty = module.functions[id.index()].call_type();
    let convention = isa.default_call_conv();
    let mut clif = function(Symbol::Plain(id), abi::plain(&ty, convention)?);
    let mut b = FunctionBuilder::new(&mut clif, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let mut args = vec![b.ins().iconst(I64, 0)];
    args.extend_from_slice(b.block_params(entry));
    let callee = import(
        &mut b,
        Symbol::Function(id),
        abi::signature(&ty, convention),
    );
    let call = b.ins().call(callee, &args);
    let values = b.inst_results(call)[1..].to_vec();
    b.ins().return_(&values);
    b.seal_all_blocks();
    b.finalize(super::config(isa));
    Some(clif)
}

/// `(context, site, address, slot)`, all registers kept: asks the host to judge an access. So a check costs the code
/// around it nothing but the check.
pub fn resolve(isa: &dyn TargetIsa, builder: &mut FunctionBuilderContext) -> Function {
    let params = [I64, I32, I64, I32];
    let mut clif = function(
        Symbol::Resolve,
        abi::simple(&params, &[], CallConv::PreserveAll),
    );
    let mut b = FunctionBuilder::new(&mut clif, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let args = b.block_params(entry).to_vec();
    let host = import(
        &mut b,
        Symbol::ResolveHost,
        abi::simple(&params, &[], isa.default_call_conv()),
    );
    b.ins().call(host, &args);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(super::config(isa));
    clif
}
