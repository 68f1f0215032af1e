//! Variables of modules and bodies. PTX ISA, "Variables".

use super::builder::Builder;
use super::context::{DeclKind, DeclTy, Symbol};
use super::decls::{
    self, MAX_BYTES, MAX_FAMILY, MAX_FRAME_BYTES, MAX_LOCAL_BYTES, Spec, is_opaque,
    predicate_in_memory,
};
use super::initialiser;
use super::module::{Checker, Global, twice};
use super::scope::{Local, Names};
use crate::diag::{Diagnostic, Span};
use crate::ir::control::ParamTy;
use crate::ir::memory::{Space, Var};
use crate::ir::{self, Linkage, StackVar, VarId};
use crate::syntax::ast::{Attribute, Declarator, Name, Variable};
use std::borrow::Cow;

/// A variable outside functions.
pub(super) fn module_variable<'s>(checker: &mut Checker<'s>, variable: &Variable<'s>) {
    let space = match variable.space.text {
        "global" => Space::Global,
        "const" => Space::Const,
        "shared" => Space::Shared,
        "tex" => {
            texture(checker, variable);
            return;
        }
        other => {
            checker.reports.push(
                Diagnostic::error(
                    variable.space.span,
                    format!("`.{other}` variables cannot stand outside functions"),
                )
                .hint("`.global`, `.const` and `.shared` can"),
            );
            return;
        }
    };
    let Some(linkage) = linkage(checker, variable) else {
        return;
    };
    if let Some(word) = variable.ty.filter(|word| is_opaque(word.text)) {
        opaque(checker, variable, word, space);
        return;
    }
    let Some(declaration) = declaration(checker, variable, space, linkage) else {
        return;
    };
    for declarator in &variable.declarators {
        one(checker, None, &declaration, declarator);
    }
}

/// A declaration in a body.
pub(super) fn body_variable<'s>(builder: &mut Builder<'_, 's>, variable: &Variable<'s>) {
    if let Some(linkage) = variable.linkage.first() {
        builder.checker.reports.push(Diagnostic::error(
            linkage.span,
            format!("`.{}` on a variable of a function", linkage.text),
        ));
        return;
    }
    match variable.space.text {
        "reg" => registers(builder, variable),
        "local" => stack(builder, variable, true),
        "param" => stack(builder, variable, false),
        "global" => body_memory(builder, variable, Space::Global),
        "const" => body_memory(builder, variable, Space::Const),
        "shared" => body_memory(builder, variable, Space::Shared),
        other => builder.checker.reports.push(Diagnostic::error(
            variable.space.span,
            format!("`.{other}` variables cannot stand in a function"),
        )),
    }
}

fn body_memory<'s>(builder: &mut Builder<'_, 's>, variable: &Variable<'s>, space: Space) {
    if let Some(word) = variable.ty.filter(|word| is_opaque(word.text)) {
        builder.checker.reports.push(Diagnostic::error(
            word.span,
            format!("a `.{}` must stand outside functions", word.text),
        ));
        return;
    }
    let Some(mut declaration) = declaration(builder.checker, variable, space, Linkage::None) else {
        return;
    };
    declaration.scoped = true;
    let first = builder.checker.variables.len() as u32;
    for declarator in &variable.declarators {
        one(
            builder.checker,
            Some(&mut builder.names),
            &declaration,
            declarator,
        );
    }
    if space == Space::Shared {
        let end = builder.checker.variables.len() as u32;
        builder.shared.extend((first..end).map(VarId));
    }
}

/// A declaration of `.global`, `.const` or `.shared` variables.
struct Declaration<'a> {
    space: Space,
    linkage: Linkage,
    spec: Spec,
    /// The type as written.
    declared: &'a str,
    /// Inside a function.
    scoped: bool,
}

/// A variable that one of its names has made.
struct Made {
    id: VarId,
    ty: DeclTy,
    array: bool,
}

fn declaration<'a>(
    checker: &mut Checker<'_>,
    variable: &Variable<'a>,
    space: Space,
    linkage: Linkage,
) -> Option<Declaration<'a>> {
    if let Some((bank, span)) = variable.bank {
        checker.reports.push(Diagnostic::error(
            span,
            format!("bank {bank} of `.const`: banks were withdrawn in PTX 2.2"),
        ));
        return None;
    }
    attributes(checker, &variable.attributes, space);
    let spec = decls::spec(variable, &checker.target, &mut checker.reports)?;
    if spec.ty.kind == DeclKind::Pred {
        let name = variable.declarators.first()?.name;
        checker.reports.push(predicate_in_memory(name));
        return None;
    }
    Some(Declaration {
        space,
        linkage,
        spec,
        declared: variable.ty.map_or("", |ty| ty.text),
        scoped: false,
    })
}

fn linkage(checker: &mut Checker<'_>, variable: &Variable<'_>) -> Option<Linkage> {
    let Some(word) = variable.linkage.first() else {
        return Some(Linkage::None);
    };
    let (target, reports) = (&checker.target, &mut checker.reports);
    Some(match word.text {
        "extern" => Linkage::Extern,
        "visible" => Linkage::Visible,
        "weak" => {
            target.require(reports, "`.weak`", word.span, (3, 1), 0);
            Linkage::Weak
        }
        _ if variable.space.text == "global" => {
            target.require(reports, "`.common`", word.span, (5, 0), 0);
            Linkage::Common
        }
        _ => {
            reports.push(Diagnostic::error(
                word.span,
                "`.common` is for `.global` variables",
            ));
            return None;
        }
    })
}

/// `.attribute(.managed)` and so on.
fn attributes(checker: &mut Checker<'_>, attributes: &[Attribute<'_>], space: Space) {
    for attribute in attributes {
        let name = attribute.name;
        let (version, number, values) = match name.text {
            "managed" => ((4, 0), 30, 0),
            "unified" => ((8, 0), 90, 2),
            other => {
                checker.reports.push(
                    Diagnostic::error(name.span, format!("there is no attribute `.{other}`"))
                        .hint("`.managed` and `.unified` exist"),
                );
                continue;
            }
        };
        let what = format!("`.{}`", name.text);
        checker
            .target
            .require(&mut checker.reports, &what, name.span, version, number);
        if space != Space::Global {
            checker.reports.push(Diagnostic::error(
                name.span,
                format!("{what} is for `.global` variables"),
            ));
        }
        if attribute.values.len() != values {
            checker.reports.push(Diagnostic::error(
                name.span,
                format!("{what} takes {values} numbers"),
            ));
        }
    }
}

fn opaque<'s>(checker: &mut Checker<'s>, variable: &Variable<'s>, word: Name<'s>, space: Space) {
    if space != Space::Global {
        checker.reports.push(Diagnostic::error(
            variable.space.span,
            format!("a `.{}` outside `.global`", word.text),
        ));
        return;
    }
    if word.text == "samplerref" && !checker.target.independent_textures {
        checker.reports.push(
            Diagnostic::error(word.span, "`.samplerref` in unified texture mode")
                .hint("write `.target ..., texmode_independent`"),
        );
        return;
    }
    let what = format!("`.{}`", word.text);
    checker
        .target
        .require(&mut checker.reports, &what, word.span, (1, 5), 0);
    declare_opaque(checker, variable);
}

fn declare_opaque<'s>(checker: &mut Checker<'s>, variable: &Variable<'s>) {
    for declarator in &variable.declarators {
        let name = declarator.name;
        checker.declare(name.text.into(), name.span, Global::Opaque);
    }
}

/// `.tex .u32 name;`, the textures of PTX before 1.5.
fn texture<'s>(checker: &mut Checker<'s>, variable: &Variable<'s>) {
    if checker.target.version >= (1, 5) {
        checker.reports.push(
            Diagnostic::error(variable.space.span, "`.tex` was withdrawn in PTX 1.5")
                .hint("write `.global .texref`"),
        );
        return;
    }
    let word = variable.ty.map_or("", |ty| ty.text);
    let array = variable.declarators.iter().find(|d| !d.dims.is_empty());
    if !matches!(word, "u32" | "u64") || array.is_some() {
        checker.reports.push(Diagnostic::error(
            array.map_or(variable.span, |d| d.name.span),
            "a texture is a single `.u32` or `.u64`",
        ));
        return;
    }
    declare_opaque(checker, variable);
}

/// Declares a variable, in the function's names if these are given.
fn declare<'s>(
    checker: &mut Checker<'s>,
    names: Option<&mut Names<'s>>,
    name: Cow<'s, str>,
    span: Span,
    made: &Made,
) -> bool {
    let Some(names) = names else {
        return checker.declare(name, span, Global::Variable(made.id, made.ty, made.array));
    };
    let variable = &checker.variables[made.id.index()];
    let symbol = Symbol::Var {
        var: Var::Module(made.id),
        space: variable.space,
        ty: made.ty,
        array: made.array,
        bytes: variable.size,
    };
    match names.declare(name.clone(), span, Local::Is(symbol)) {
        Ok(()) => true,
        Err(earlier) => {
            checker.reports.push(twice(&name, span, earlier));
            false
        }
    }
}

/// One name of a declaration, or the family that it stands for.
fn one<'s>(
    checker: &mut Checker<'s>,
    mut names: Option<&mut Names<'s>>,
    declaration: &Declaration<'_>,
    declarator: &Declarator<'s>,
) {
    let name = declarator.name;
    let (space, linkage, spec) = (declaration.space, declaration.linkage, declaration.spec);
    let Some(mut dims) = decls::dims(declarator, &mut checker.reports) else {
        return;
    };
    let mut init = declarator.init.as_ref();
    if let Some(value) = init {
        if space == Space::Shared || linkage == Linkage::Extern {
            let what = match space {
                Space::Shared => "`.shared`",
                _ => "`.extern`",
            };
            checker.reports.push(Diagnostic::error(
                initialiser::span(value),
                format!("{what} variables cannot have initial contents"),
            ));
            init = None;
        } else if let Some(first) = dims.first_mut()
            && first.is_none()
        {
            *first = Some(initialiser::count(value));
        }
    }
    let open = dims.iter().any(|d| d.unwrap_or(0) == 0);
    let dynamic = space == Space::Shared && linkage == Linkage::Extern && open;
    // What is refused is declared all the same, so that its uses are not refused as well.
    let mut size = decls::size(spec, &dims).filter(|&size| size <= MAX_BYTES);
    if open && !dynamic && (linkage != Linkage::Extern || space == Space::Const) {
        checker.reports.push(no_size(declarator));
        (size, init) = (Some(1), None);
    } else if size.is_none() {
        checker.reports.push(
            Diagnostic::error(name.span, format!("`{}` is too large", name.text))
                .label(format!("at most {MAX_BYTES} bytes are taken")),
        );
        init = None;
    }
    let size = size.unwrap_or(1);
    let variable = |text: &str| ir::Variable {
        name: text.to_string(),
        span: name.span,
        space,
        linkage,
        scoped: declaration.scoped,
        declared: declaration.declared.to_string(),
        size,
        // At least what its elements want: an `.align` below that would only make faults.
        align: spec.align.max(spec.bytes()),
        offset: 0,
        dynamic,
        init: ir::Init::default(),
    };
    let made = |id| Made {
        id,
        ty: spec.ty,
        array: !dims.is_empty(),
    };
    if let Some((count, span)) = declarator.range {
        if count > MAX_FAMILY {
            checker.reports.push(too_many(count, span));
            return;
        }
        for index in 0..count {
            let member = format!("{}{index}", name.text);
            let id = VarId(checker.variables.len() as u32);
            checker.variables.push(variable(&member));
            if !declare(
                checker,
                names.as_deref_mut(),
                member.into(),
                name.span,
                &made(id),
            ) {
                return;
            }
        }
        return;
    }
    if !declaration.scoped
        && let Some(&(Global::Variable(earlier, ty, array), _)) = checker.names.get(name.text)
    {
        let known = &checker.variables[earlier.index()];
        let ours = linkage == Linkage::Extern;
        let theirs = known.linkage == Linkage::Extern;
        let sizes = known.size == size || known.size == 0 || size == 0;
        let same = known.space == space && ty == spec.ty && array != dims.is_empty() && sizes;
        let resolves = ours && theirs || ours != theirs && linkage != Linkage::None;
        let resolves = resolves && known.linkage != Linkage::None;
        if (ours || theirs) && !(same && resolves) {
            let message = format!("`{}` is declared again, but differently", name.text);
            let earlier = known.span;
            checker.reports.push(
                Diagnostic::error(name.span, message).related(earlier, "declared here before"),
            );
            return;
        }
        if ours {
            return;
        }
        if theirs {
            checker.variables[earlier.index()] = variable(name.text);
            let made = Global::Variable(earlier, spec.ty, !dims.is_empty());
            checker.names.insert(name.text.into(), (made, name.span));
            if let Some(init) = init {
                initialiser::initialise(checker, None, earlier, spec, &dims, init);
            }
            return;
        }
    }
    let id = VarId(checker.variables.len() as u32);
    checker.variables.push(variable(name.text));
    if declare(
        checker,
        names.as_deref_mut(),
        name.text.into(),
        name.span,
        &made(id),
    ) && let Some(init) = init
    {
        initialiser::initialise(checker, names, id, spec, &dims, init);
    }
}

fn no_size(declarator: &Declarator<'_>) -> Diagnostic {
    let name = declarator.name;
    let span = declarator.dims.first().map_or(name.span, |(_, span)| *span);
    Diagnostic::error(span, format!("array `{}` has no size", name.text))
}

fn too_many(count: u64, span: Span) -> Diagnostic {
    Diagnostic::error(
        span,
        format!("{count} variables at once, at most {MAX_FAMILY} are taken"),
    )
}

/// `.reg`
fn registers<'s>(builder: &mut Builder<'_, 's>, variable: &Variable<'s>) {
    if let Some(word) = variable.ty.filter(|word| is_opaque(word.text)) {
        builder.checker.reports.push(Diagnostic::error(
            word.span,
            format!("a `.{}` must stand outside functions", word.text),
        ));
        return;
    }
    let checker = &mut *builder.checker;
    let Some(spec) = decls::spec(variable, &checker.target, &mut checker.reports) else {
        return;
    };
    for declarator in &variable.declarators {
        let name = declarator.name;
        if let Some((_, span)) = declarator.dims.first() {
            builder.checker.reports.push(Diagnostic::error(
                *span,
                format!("register `{}` cannot be an array", name.text),
            ));
            continue;
        }
        if let Some(init) = &declarator.init {
            builder.checker.reports.push(Diagnostic::error(
                initialiser::span(init),
                format!("register `{}` cannot have an initial value", name.text),
            ));
            continue;
        }
        let declared = match declarator.range {
            None => builder.names.declare(
                name.text.into(),
                name.span,
                Local::Unused(spec.ty, spec.lanes),
            ),
            Some((count, span)) => match u32::try_from(count) {
                Ok(count) => builder
                    .names
                    .declare_family(name.text, name.span, count, spec.ty, spec.lanes),
                Err(_) => {
                    builder.checker.reports.push(Diagnostic::error(
                        span,
                        format!("{count} registers: the number does not fit 32 bits"),
                    ));
                    continue;
                }
            },
        };
        if let Err(earlier) = declared {
            builder
                .checker
                .reports
                .push(twice(name.text, name.span, earlier));
        }
    }
}

/// `.local` variables, and `.param` ones for calls.
fn stack<'s>(builder: &mut Builder<'_, 's>, variable: &Variable<'s>, local: bool) {
    let reports = &mut builder.checker.reports;
    let word = variable.space.text;
    if let Some(ty) = variable.ty.filter(|ty| is_opaque(ty.text)) {
        reports.push(Diagnostic::error(
            ty.span,
            format!("a `.{}` must stand outside functions", ty.text),
        ));
        return;
    }
    let Some(spec) = decls::spec(variable, &builder.checker.target, reports) else {
        return;
    };
    for declarator in &variable.declarators {
        let name = declarator.name;
        let reports = &mut builder.checker.reports;
        if spec.ty.kind == DeclKind::Pred {
            reports.push(predicate_in_memory(name));
            return;
        }
        if !local && (spec.lanes > 1 || spec.ty.kind == DeclKind::PackedFloat) {
            reports.push(Diagnostic::error(
                variable.ty.map_or(name.span, |ty| ty.span),
                format!(
                    "`{}` cannot be in `.param`: it is a vector or packed",
                    name.text
                ),
            ));
            return;
        }
        if let Some((align, span)) = variable.align
            && !local
            && align > 128
        {
            reports.push(Diagnostic::error(
                span,
                format!("alignment {align}: parameters of calls are aligned to 128 bytes at most"),
            ));
            return;
        }
        if let Some(init) = &declarator.init {
            reports.push(Diagnostic::error(
                initialiser::span(init),
                format!("`.{word}` variables cannot have initial contents"),
            ));
        }
        let Some(dims) = decls::dims(declarator, reports) else {
            continue;
        };
        // What is refused is declared all the same, so that its uses are not refused as well.
        let open = dims.iter().any(|d| d.unwrap_or(0) == 0);
        if open {
            reports.push(no_size(declarator));
        }
        let most = if local {
            MAX_LOCAL_BYTES
        } else {
            MAX_FRAME_BYTES
        };
        let size = decls::size(spec, &dims).filter(|&size| size <= most);
        if size.is_none() {
            reports.push(
                Diagnostic::error(name.span, format!("`{}` is too large", name.text))
                    .label(format!("at most {most} bytes are taken")),
            );
        }
        let size = size.unwrap_or(1).max(1);
        let count = match declarator.range {
            None => 1,
            Some((count, span)) if count > MAX_FAMILY => {
                reports.push(too_many(count, span));
                continue;
            }
            Some((count, _)) => count,
        };
        for index in 0..count {
            let text: Cow<'s, str> = match declarator.range {
                None => name.text.into(),
                Some(_) => format!("{}{index}", name.text).into(),
            };
            let stack = StackVar {
                name: text.to_string(),
                ty: ParamTy {
                    size: size as u32,
                    align: if local {
                        spec.align.max(spec.bytes())
                    } else {
                        spec.align
                    },
                },
                offset: 0,
            };
            let var = if local {
                builder.locals.push(stack);
                Var::Local((builder.locals.len() - 1) as u32)
            } else {
                builder.add_frame(stack, spec.ty, dims.first().copied().flatten())
            };
            let symbol = Symbol::Var {
                var,
                space: if local { Space::Local } else { Space::Param },
                ty: spec.ty,
                array: !dims.is_empty(),
                bytes: size,
            };
            if let Err(earlier) = builder
                .names
                .declare(text.clone(), name.span, Local::Is(symbol))
            {
                builder
                    .checker
                    .reports
                    .push(twice(&text, name.span, earlier));
                break;
            }
        }
    }
}
