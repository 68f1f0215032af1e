//! Kernels and functions: linkage, parameters, bodies. PTX ISA, "Kernel and Function Directives" and "Linking
//! Directives".

use super::builder::Builder;
use super::context::{DeclTy, Symbol};
use super::decls::{self, MAX_FRAME_BYTES, Owner, Shape};
use super::directives;
use super::module::{Checker, Global, Info, twice};
use crate::diag::{Diagnostic, Span};
use crate::ir::control::ParamTy;
use crate::ir::memory::{Space, Var};
use crate::ir::{
    self, ClusterLimits, FuncId, FunctionKind, Param, ParamKind, RegClass, ThreadLimits,
};
use crate::syntax::ast::{self, Name, Variable};
use std::rc::Rc;

/// What a function takes and gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Signature {
    /// Return parameters.
    pub returns: Vec<Shape>,
    /// Parameters.
    pub params: Vec<Shape>,
}

/// Reads the parameters of a function or prototype.
pub(super) fn signature(
    checker: &mut Checker<'_>,
    owner: Owner,
    returns: &[Variable<'_>],
    params: &[Variable<'_>],
) -> Option<Rc<Signature>> {
    let target = &checker.target;
    let reports = &mut checker.reports;
    let mut read = |list: &[Variable<'_>], result| {
        let shapes: Vec<Option<Shape>> = list
            .iter()
            .map(|variable| decls::parameter(variable, owner, result, target, reports))
            .collect();
        shapes.into_iter().collect::<Option<Vec<Shape>>>()
    };
    let results = read(returns, true);
    let inputs = read(params, false);
    let (returns, params) = (results?, inputs?);
    if let [_, .., last] = returns.as_slice()
        && let Some(memory) = returns.iter().find(|shape| !shape.register)
    {
        reports.push(
            Diagnostic::error(last.span, "several results, and not all in `.reg`")
                .related(memory.span, "in `.param`"),
        );
        return None;
    }
    if let [others @ .., _] = params.as_slice()
        && let Some(open) = others.iter().find(|shape| shape.open)
    {
        reports.push(Diagnostic::error(
            open.span,
            format!(
                "only the last parameter can be an array of open size, `{}` is not",
                open.name
            ),
        ));
        return None;
    }
    for shapes in [&returns, &params] {
        if let Some((shape, bytes)) = past_the_most(shapes) {
            reports.push(Diagnostic::error(
                shape.span,
                format!(
                    "with `{}` the parameters take {bytes} bytes, {MAX_FRAME_BYTES} are the most",
                    shape.name
                ),
            ));
            return None;
        }
    }
    Some(Rc::new(Signature { returns, params }))
}

/// The first of some parameters that does not fit, and where it ends.
fn past_the_most(shapes: &[Shape]) -> Option<(&Shape, u64)> {
    let mut end = 0u64;
    shapes.iter().find_map(|shape| {
        for ty in layouts(std::slice::from_ref(shape)) {
            end = end.next_multiple_of(ty.align.into()) + u64::from(ty.size);
        }
        (end > MAX_FRAME_BYTES).then_some((shape, end))
    })
}

/// How two signatures differ, if they do. Unless `same_types` is asked for, types may differ as those of what is passed
/// and of a parameter may.
pub(super) fn difference(one: &Signature, other: &Signature, same_types: bool) -> Option<String> {
    for (what, a, b) in [
        ("result", &one.returns, &other.returns),
        ("parameter", &one.params, &other.params),
    ] {
        if a.len() != b.len() {
            return Some(format!("{} and {} {what}s", a.len(), b.len()));
        }
        for (index, (a, b)) in a.iter().zip(b).enumerate() {
            let number = index + 1;
            let why = if a.register != b.register {
                "`.reg` and `.param`".to_string()
            } else if !alike(a, b, same_types) {
                format!("`.{}` and `.{}`", a.declared, b.declared)
            } else if a.count != b.count {
                "arrays of different size".to_string()
            } else if a.layout.align != b.layout.align {
                format!("aligned to {} and {}", a.layout.align, b.layout.align)
            } else {
                continue;
            };
            return Some(format!("{what} {number}: {why}"));
        }
    }
    None
}

fn alike(a: &Shape, b: &Shape, same_types: bool) -> bool {
    let types = match (a.ty, b.ty) {
        (Some(a), Some(b)) if !same_types => a.fits(b),
        _ => a.declared == b.declared,
    };
    types && a.lanes == b.lanes
}

/// The register classes that a parameter takes in the IR: vectors and 128-bit registers are several parameters there.
/// One in memory is always one.
pub(super) fn classes(shape: &Shape) -> Vec<RegClass> {
    let bits = shape.ty.map_or(64, |ty: DeclTy| ty.bits);
    let class = match bits {
        1 => RegClass::Pred,
        bits => RegClass::of_bits(bits).unwrap_or(RegClass::B64),
    };
    let parts = if !shape.register {
        1
    } else if bits == 128 {
        2
    } else {
        usize::from(shape.lanes)
    };
    vec![class; parts]
}

/// Sizes of the parameters in the IR.
pub(super) fn layouts(shapes: &[Shape]) -> Vec<ParamTy> {
    let mut layouts = Vec::with_capacity(shapes.len());
    for shape in shapes {
        if shape.register {
            layouts.extend(classes(shape).iter().map(|class| {
                let size = class.bits().div_ceil(8);
                ParamTy { size, align: size }
            }));
        } else {
            layouts.push(shape.layout);
        }
    }
    layouts
}

/// `.entry` or `.func`.
pub(super) fn function<'s>(checker: &mut Checker<'s>, function: &ast::Function<'s>) {
    let kind = match function.kind {
        ast::FunctionKind::Entry => FunctionKind::Kernel,
        ast::FunctionKind::Func => FunctionKind::Device,
    };
    let name = function.name;
    let linkage = function.linkage.first().copied();
    if let Some(word) = linkage.filter(|word| word.text == "common") {
        checker.reports.push(Diagnostic::error(
            word.span,
            "`.common` is for `.global` variables",
        ));
    }
    if let Some(word) = linkage.filter(|word| word.text == "weak") {
        checker
            .target
            .require(&mut checker.reports, "`.weak`", word.span, (3, 1), 0);
    }
    if let (FunctionKind::Kernel, Some(result)) = (kind, function.returns.first()) {
        checker
            .reports
            .push(Diagnostic::error(result.span, "a kernel has no results"));
    }
    if let Some(attribute) = function.attributes.first() {
        checker.reports.push(Diagnostic::error(
            attribute.name.span,
            format!(
                "`.{}` is no attribute of functions here",
                attribute.name.text
            ),
        ));
    }
    let owner = Owner::from(function.kind);
    let Some(signature) = signature(checker, owner, &function.returns, &function.params) else {
        reserve(checker, function, kind);
        return;
    };
    let Some(id) = declare(checker, function, kind, signature) else {
        return;
    };
    let noreturn = directives::of_function(checker, id, function);
    checker.infos[id.index()].noreturn |= noreturn;
    if kind == FunctionKind::Kernel {
        parameter_space(checker, id, name);
    }
    if let Some(body) = &function.body {
        if let Some(word) = linkage.filter(|word| word.text == "extern") {
            checker.reports.push(
                Diagnostic::error(
                    word.span,
                    format!("`.extern` function `{}` has a body", name.text),
                )
                .hint("write `.visible`"),
            );
        }
        build(checker, id, body);
    }
}

/// Keeps the name of a function whose parameters are no good, so that its uses are not refused as well.
fn reserve<'s>(checker: &mut Checker<'s>, function: &ast::Function<'s>, kind: FunctionKind) {
    let name = function.name;
    if !checker.names.contains_key(name.text) {
        let id = FuncId(checker.functions.len() as u32);
        checker.declare(name.text.into(), name.span, Global::Function(id));
        checker.functions.push(ir::Function {
            defined: true,
            ..empty(name, kind)
        });
        checker.infos.push(Info::new(name.span, Rc::default()));
    }
}

fn empty(name: Name<'_>, kind: FunctionKind) -> ir::Function {
    ir::Function {
        name: name.text.to_string(),
        kind,
        span: name.span,
        defined: false,
        params: Vec::new(),
        returns: Vec::new(),
        param_bytes: 0,
        return_bytes: 0,
        regs: Vec::new(),
        carry: None,
        locals: Vec::new(),
        local_bytes: 0,
        local_align: 16,
        frame: Vec::new(),
        frame_bytes: 0,
        blocks: Vec::new(),
        threads: ThreadLimits::default(),
        clusters: ClusterLimits::default(),
        shared_bytes: 0,
        shared_align: super::layout::LEAST_ALIGN,
        unsupported: Vec::new(),
    }
}

/// Declares a function, or checks it against an earlier declaration.
fn declare<'s>(
    checker: &mut Checker<'s>,
    function: &ast::Function<'s>,
    kind: FunctionKind,
    signature: Rc<Signature>,
) -> Option<FuncId> {
    let name = function.name;
    let linkage = function.linkage.first().map_or("", |word| word.text);
    let noreturn = function
        .directives
        .iter()
        .any(|d| d.name.text == "noreturn");
    let (params, param_bytes) = ir_params(&signature.params);
    let (returns, return_bytes) = ir_params(&signature.returns);
    let fresh = ir::Function {
        params,
        returns,
        param_bytes,
        return_bytes,
        defined: function.body.is_some(),
        ..empty(name, kind)
    };
    let Some(&(global, earlier)) = checker.names.get(name.text) else {
        let id = FuncId(checker.functions.len() as u32);
        checker.declare(name.text.into(), name.span, Global::Function(id));
        checker.functions.push(fresh);
        let mut info = Info::new(name.span, signature);
        info.linkage = linkage.to_string();
        info.noreturn = noreturn;
        checker.infos.push(info);
        return Some(id);
    };
    let Global::Function(id) = global else {
        checker.reports.push(twice(name.text, name.span, earlier));
        return None;
    };
    let known = &checker.functions[id.index()];
    let info = &checker.infos[id.index()];
    let again = |message: String| {
        Diagnostic::error(name.span, message).related(earlier, "declared here before")
    };
    let wrong = if known.defined {
        Some(if function.body.is_some() {
            format!("function `{}` is defined twice", name.text)
        } else {
            format!(
                "function `{}` is declared again behind its definition",
                name.text
            )
        })
    } else if known.kind != kind {
        Some(format!("`{}` is both a kernel and a function", name.text))
    } else if let Some(what) = difference(&info.signature, &signature, true) {
        Some(format!(
            "`{}` differs from its declaration: {what}",
            name.text
        ))
    } else if checker.aliases.contains_key(&id) && function.body.is_some() {
        Some(format!(
            "`{}` is an alias and cannot have a body",
            name.text
        ))
    } else if info.noreturn != noreturn {
        Some(format!("`{}` is only once declared `.noreturn`", name.text))
    } else if !linkages_agree(&info.linkage, linkage) {
        Some(format!(
            "`{}` is declared with another linkage before",
            name.text
        ))
    } else {
        None
    };
    if let Some(message) = wrong {
        checker.reports.push(again(message));
        return None;
    }
    if function.body.is_some() {
        checker.functions[id.index()] = fresh;
        checker.infos[id.index()].span = name.span;
        checker.infos[id.index()].signature = signature;
        checker
            .names
            .insert(name.text.into(), (Global::Function(id), name.span));
    }
    Some(id)
}

/// Whether a declaration can be followed by another of the same function.
fn linkages_agree(first: &str, second: &str) -> bool {
    first == second || second.is_empty() && first != "extern"
}

/// Parameters in the IR and the bytes of their buffer.
fn ir_params(shapes: &[Shape]) -> (Vec<Param>, u32) {
    let mut params = Vec::new();
    let mut end = 0u32;
    for shape in shapes {
        let layouts = layouts(std::slice::from_ref(shape));
        for (part, ty) in layouts.iter().enumerate() {
            let offset = end.next_multiple_of(ty.align);
            end = offset + ty.size;
            let name = if layouts.len() == 1 {
                shape.name.clone()
            } else {
                format!("{}.{part}", shape.name)
            };
            params.push(Param {
                name,
                ty: *ty,
                declared: shape.declared.clone(),
                array: shape.count.is_some(),
                kind: ParamKind::Memory,
                offset,
            });
        }
    }
    (params, end)
}

/// Bytes that the parameters of a kernel may take.
fn parameter_space(checker: &mut Checker<'_>, id: FuncId, name: Name<'_>) {
    const LARGE: u32 = 4352;
    let target = &checker.target;
    let most = if target.version >= (8, 1) && target.number >= 70 {
        32764
    } else if target.version >= (1, 5) {
        LARGE
    } else {
        256
    };
    let bytes = checker.functions[id.index()].param_bytes;
    if bytes > most {
        let mut error = Diagnostic::error(
            name.span,
            format!(
                "the parameters of kernel `{}` take {bytes} bytes, {most} are the most",
                name.text
            ),
        );
        if most == LARGE && bytes <= 32764 {
            error = error.hint("`.version 8.1` and `.target sm_70` allow 32764");
        }
        checker.reports.push(error);
    }
}

/// Builds the body of a function.
fn build<'s>(checker: &mut Checker<'s>, id: FuncId, body: &ast::Body<'s>) {
    let tables = checker.tables.len();
    let signature = checker.infos[id.index()].signature.clone();
    let kernel = checker.functions[id.index()].kind == FunctionKind::Kernel;
    let mut builder = Builder::new(checker);
    builder.kernel = kernel;
    let returns = declare_params(&mut builder, &signature.returns, Var::Return);
    let params = declare_params(&mut builder, &signature.params, Var::Param);
    builder.body(body);
    let built = builder.finish();
    checker.tables.truncate(tables);
    let info = &mut checker.infos[id.index()];
    info.shared = built.shared;
    info.callees = built.callees;
    info.indirect = built.indirect;
    let function = &mut checker.functions[id.index()];
    for (param, kind) in function.params.iter_mut().zip(params) {
        param.kind = kind;
    }
    for (param, kind) in function.returns.iter_mut().zip(returns) {
        param.kind = kind;
    }
    function.regs = built.regs;
    function.carry = built.carry;
    function.locals = built.locals;
    function.frame = built.frame;
    function.blocks = built.blocks;
    function.unsupported.extend(built.unsupported);
}

/// Declares parameters in the body's scope. Gives how the body reaches each.
fn declare_params(
    builder: &mut Builder<'_, '_>,
    shapes: &[Shape],
    var: impl Fn(u32) -> Var,
) -> Vec<ParamKind> {
    let mut kinds = Vec::new();
    for shape in shapes {
        let symbol = match shape.ty {
            None => {
                kinds.push(ParamKind::Memory);
                Symbol::Opaque
            }
            Some(ty) if shape.register => {
                let symbol = builder.make_register(&shape.name, ty, shape.lanes);
                match &symbol {
                    Symbol::Reg { reg, high, .. } => {
                        kinds.extend(
                            [Some(*reg), *high]
                                .into_iter()
                                .flatten()
                                .map(ParamKind::Reg),
                        );
                    }
                    Symbol::Vector { elements, .. } => {
                        kinds.extend(elements.iter().copied().map(ParamKind::Reg));
                    }
                    Symbol::Var { .. }
                    | Symbol::Function(_)
                    | Symbol::Label(_)
                    | Symbol::Table(_)
                    | Symbol::Opaque => {}
                }
                symbol
            }
            Some(ty) => {
                kinds.push(ParamKind::Memory);
                Symbol::Var {
                    var: var((kinds.len() - 1) as u32),
                    space: Space::Param,
                    ty,
                    array: shape.count.is_some(),
                    bytes: u64::from(shape.layout.size),
                }
            }
        };
        if let Err(earlier) = builder
            .names
            .declare_parameter(&shape.name, shape.span, symbol)
        {
            builder
                .checker
                .reports
                .push(twice(&shape.name, shape.span, earlier));
        }
    }
    kinds
}

/// `.alias name, target;`
pub(super) fn alias<'s>(checker: &mut Checker<'s>, name: Name<'s>, target: Name<'s>, span: Span) {
    checker
        .target
        .require(&mut checker.reports, "`.alias`", span, (6, 3), 30);
    let mut find = |name: Name<'s>| match checker.names.get(name.text) {
        Some(&(Global::Function(id), _)) => Some(id),
        Some(_) => {
            checker.reports.push(Diagnostic::error(
                name.span,
                format!("`{}` is no function", name.text),
            ));
            None
        }
        None => {
            checker.reports.push(Diagnostic::error(
                name.span,
                format!("`{}` is not declared", name.text),
            ));
            None
        }
    };
    let (Some(alias), Some(real)) = (find(name), find(target)) else {
        return;
    };
    let wrong = |name: Name<'_>, message: &str| {
        Diagnostic::error(name.span, format!("`{}` {message}", name.text))
    };
    let kernel = |id: FuncId| checker.functions[id.index()].kind == FunctionKind::Kernel;
    let error = if alias == real {
        wrong(target, "is an alias of itself")
    } else if kernel(alias) {
        wrong(name, "is a kernel and cannot be an alias")
    } else if kernel(real) {
        wrong(target, "is a kernel and cannot have an alias")
    } else if checker.functions[alias.index()].defined {
        wrong(name, "has a body and cannot be an alias")
    } else if let Some(&(_, earlier)) = checker.aliases.get(&alias) {
        wrong(name, "is an alias already").related(earlier, "made one here")
    } else if checker.infos[real.index()].linkage == "weak" {
        wrong(target, "is `.weak` and cannot have an alias")
    } else if let Some(what) = difference(
        &checker.infos[real.index()].signature,
        &checker.infos[alias.index()].signature,
        true,
    ) {
        wrong(name, &format!("differs from `{}`: {what}", target.text))
    } else {
        checker.aliases.insert(alias, (real, name.span));
        return;
    };
    checker.reports.push(error);
}
