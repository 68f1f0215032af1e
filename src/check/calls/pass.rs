//! What a call passes and where its results go.

use crate::check::blocks::plain_name;
use crate::check::builder::Builder;
use crate::check::constant::{Constant, evaluate};
use crate::check::context::{Context, DeclKind, DeclTy, Symbol};
use crate::check::decls::Shape;
use crate::check::functions;
use crate::diag::{Diagnostic, Span};
use crate::ir::control::Slot;
use crate::ir::memory::{Address, Base, Load, Order, Space, Store, Var};
use crate::ir::{Kind, Operand, Reg, StackVar};
use crate::syntax::ast::{Expr, Operand as Written};
use smallvec::{SmallVec, smallvec};

/// What happens around a call that passes values through memory.
#[derive(Default)]
pub(super) struct Around {
    pub args: Vec<Slot>,
    pub results: Vec<Slot>,
    pub after: Vec<Kind>,
}

/// What is written as an argument or result.
enum Passed {
    Place(Place),
    Sink,
    Constant(Constant),
}

/// Something that holds a value.
enum Place {
    Register(Reg, Option<Reg>, DeclTy),
    Vector(Vec<Reg>, DeclTy),
    Frame(u32),
}

fn passed(builder: &mut Builder<'_, '_>, formal: &Shape, written: &Written<'_>) -> Option<Passed> {
    if let Some(name) = plain_name(written).filter(|name| name.text != "WARP_SZ") {
        if name.text == "_" {
            return Some(Passed::Sink);
        }
        let error = match builder.lookup(name.text) {
            Some(Symbol::Reg { reg, high, ty }) => {
                return Some(Passed::Place(Place::Register(reg, high, ty)));
            }
            Some(Symbol::Vector { elements, ty }) => {
                return Some(Passed::Place(Place::Vector(elements, ty)));
            }
            Some(Symbol::Var {
                var: Var::Frame(index),
                ..
            }) => return Some(Passed::Place(Place::Frame(index))),
            Some(Symbol::Var {
                var: Var::Param(_) | Var::Return(_),
                ..
            }) => Diagnostic::error(
                name.span,
                format!(
                    "`{}` is a parameter of this function itself and cannot be passed on",
                    name.text
                ),
            )
            .hint("copy it to a register with `ld.param`"),
            Some(_) => Diagnostic::error(
                name.span,
                format!("`{}` is no register and no `.param` variable", name.text),
            ),
            None => builder.undeclared(name),
        };
        builder.report(error);
        return None;
    }
    if let Written::Expr(expr) = written
        && !matches!(
            expr,
            Expr::Name {
                suffix: Some(_),
                ..
            }
        )
    {
        match evaluate(expr) {
            Ok(constant) => return Some(Passed::Constant(constant)),
            Err(error) => {
                builder.report(error);
                return None;
            }
        }
    }
    builder.report(Diagnostic::error(
        written.span(),
        format!(
            "`{}` takes a register, a constant or a `.param` variable",
            formal.name
        ),
    ));
    None
}

fn mismatch(builder: &mut Builder<'_, '_>, formal: &Shape, span: Span, why: &str) {
    let array = match formal.count {
        Some(count) => format!("[{count}]"),
        None => String::new(),
    };
    builder.report(
        Diagnostic::error(
            span,
            format!("not what parameter `{}` takes: {why}", formal.name),
        )
        .related(
            formal.span,
            format!(
                "`.{}{array}`, aligned to {}",
                formal.declared, formal.layout.align
            ),
        ),
    );
}

/// Checks that a register or vector fits a parameter.
fn register_fits(
    builder: &mut Builder<'_, '_>,
    formal: &Shape,
    ty: DeclTy,
    lanes: usize,
    span: Span,
) -> bool {
    let why = if formal.count.is_some() {
        "it is an array"
    } else if usize::from(formal.lanes) != lanes {
        "the vector has another size"
    } else if !formal.ty.is_some_and(|formal| ty.fits(formal)) {
        "the types differ"
    } else if !formal.register && formal.layout.align != ty.bytes() {
        "the alignments differ"
    } else {
        return true;
    };
    mismatch(builder, formal, span, why);
    false
}

/// Checks that a `.param` variable fits a parameter.
fn frame_fits(builder: &mut Builder<'_, '_>, formal: &Shape, index: u32, span: Span) -> bool {
    let info = builder.frames[index as usize];
    let layout = builder.frame[index as usize].ty;
    let why = if formal.open {
        return true;
    } else if formal.count.is_some() != info.count.is_some() {
        "one is an array, the other a single value"
    } else if formal.layout.size != layout.size || formal.lanes != 1 {
        "the sizes differ"
    } else if formal.count.is_none() && !formal.ty.is_some_and(|ty| info.ty.fits(ty)) {
        "the types differ"
    } else if formal.layout.align != layout.align {
        "the alignments differ"
    } else {
        return true;
    };
    mismatch(builder, formal, span, why);
    false
}

fn address(index: u32, offset: i64) -> Address {
    Address {
        base: Base::Var(Var::Frame(index)),
        offset,
    }
}

/// A load of `regs`, side by side, from a `.param` variable.
fn load(index: u32, regs: &[Reg], bytes: u8) -> Kind {
    Kind::Load(Load {
        space: Space::Param,
        bytes,
        signed: false,
        align: bytes,
        dsts: regs.iter().copied().map(Some).collect(),
        addr: address(index, 0),
        order: Order::Weak,
        read_only: false,
    })
}

/// A store of `srcs`, side by side, to a `.param` variable.
fn store(index: u32, srcs: SmallVec<[Operand; 4]>, bytes: u8) -> Kind {
    Kind::Store(Store {
        space: Space::Param,
        bytes,
        align: bytes,
        srcs,
        addr: address(index, 0),
        order: Order::Weak,
    })
}

/// A `.param` variable that the text does not have.
fn hidden(builder: &mut Builder<'_, '_>, formal: &Shape, ty: DeclTy) -> u32 {
    let var = StackVar {
        name: formal.name.clone(),
        ty: formal.layout,
        offset: 0,
    };
    builder.add_frame(var, ty, None);
    let index = (builder.frame.len() - 1) as u32;
    builder.frames[index as usize].returned = true;
    index
}

/// How the value of a place is passed on.
enum Way {
    /// As it is.
    Slots(Vec<Slot>),
    /// A wide register, for a parameter in memory: through a variable that the text does not have.
    Hidden(u32, [Reg; 2]),
    /// A variable, for a parameter in registers of so many bytes: through registers of our own.
    Spread(u32, Vec<Reg>, u8),
}

fn values(regs: &[Reg]) -> Vec<Slot> {
    let regs = regs.iter();
    regs.map(|&reg| Slot::Value(Operand::Reg(reg))).collect()
}

/// How a place is passed on to a parameter; `None` if it does not fit, which is reported.
fn way(builder: &mut Builder<'_, '_>, formal: &Shape, place: &Place, span: Span) -> Option<Way> {
    let fits = match place {
        Place::Register(.., ty) => register_fits(builder, formal, *ty, 1, span),
        Place::Vector(elements, ty) => register_fits(builder, formal, *ty, elements.len(), span),
        Place::Frame(index) => frame_fits(builder, formal, *index, span),
    };
    if !fits {
        return None;
    }
    Some(match place {
        Place::Register(reg, None, _) => Way::Slots(values(&[*reg])),
        Place::Register(reg, Some(high), _) if formal.register => {
            Way::Slots(values(&[*reg, *high]))
        }
        Place::Register(reg, Some(high), ty) => {
            Way::Hidden(hidden(builder, formal, *ty), [*reg, *high])
        }
        Place::Vector(elements, _) => Way::Slots(values(elements)),
        Place::Frame(index) if !formal.register => Way::Slots(vec![Slot::Frame(*index)]),
        Place::Frame(index) => {
            let classes = functions::classes(formal);
            let regs = classes.iter().map(|&class| builder.fresh(class)).collect();
            builder.frames[*index as usize].returned = true;
            Way::Spread(*index, regs, (classes[0].bits() / 8).max(1) as u8)
        }
    })
}

/// An argument of a call.
pub(super) fn argument(
    builder: &mut Builder<'_, '_>,
    around: &mut Around,
    formal: &Shape,
    written: &Written<'_>,
) -> Option<()> {
    let span = written.span();
    let place = match passed(builder, formal, written)? {
        Passed::Place(place) => place,
        Passed::Sink => {
            builder.report(Diagnostic::error(span, "`_` cannot be an argument"));
            return None;
        }
        Passed::Constant(constant) => {
            return constant_argument(builder, around, formal, constant, span);
        }
    };
    match way(builder, formal, &place, span)? {
        Way::Slots(slots) => around.args.extend(slots),
        Way::Hidden(index, regs) => {
            let srcs = regs.map(Operand::Reg).into_iter().collect();
            builder.emit_unguarded(store(index, srcs, 8));
            around.args.push(Slot::Frame(index));
        }
        Way::Spread(index, regs, bytes) => {
            builder.emit_unguarded(load(index, &regs, bytes));
            around.args.extend(values(&regs));
        }
    }
    Some(())
}

fn constant_argument(
    builder: &mut Builder<'_, '_>,
    around: &mut Around,
    formal: &Shape,
    constant: Constant,
    span: Span,
) -> Option<()> {
    let ty = formal
        .ty
        .filter(|_| formal.count.is_none() && formal.lanes == 1);
    let fits = ty.is_some_and(|ty| match (constant, ty.kind) {
        (_, DeclKind::Pred | DeclKind::PackedFloat) => false,
        (_, DeclKind::Bits) => true,
        (Constant::Int { .. }, DeclKind::Unsigned | DeclKind::Signed) => true,
        (Constant::Int { .. }, DeclKind::Float) => false,
        (Constant::F32(_) | Constant::F64(_), DeclKind::Float) => true,
        (Constant::F32(_) | Constant::F64(_), DeclKind::Unsigned | DeclKind::Signed) => false,
    });
    let Some(ty) = ty.filter(|_| fits) else {
        mismatch(builder, formal, span, "the constant is of another type");
        return None;
    };
    let bits = match constant {
        Constant::Int { value, .. } => value,
        // The assembler passes the bits as they are, and converts for `.f32` only.
        Constant::F32(bits) => u64::from(bits),
        Constant::F64(bits) if ty.kind == DeclKind::Float && ty.bits == 32 => {
            u64::from((f64::from_bits(bits) as f32).to_bits())
        }
        Constant::F64(bits) => bits,
    };
    let high = match constant {
        Constant::Int {
            unsigned: false, ..
        } => ((bits as i64) >> 63) as u64,
        Constant::Int { .. } | Constant::F32(_) | Constant::F64(_) => 0,
    };
    if ty.bits < 128 {
        around.args.push(Slot::Value(Operand::Imm(bits)));
    } else if formal.register {
        around
            .args
            .extend([bits, high].map(|part| Slot::Value(Operand::Imm(part))));
    } else {
        let index = hidden(builder, formal, ty);
        let srcs = smallvec![Operand::Imm(bits), Operand::Imm(high)];
        builder.emit_unguarded(store(index, srcs, 8));
        around.args.push(Slot::Frame(index));
    }
    Some(())
}

/// Where a result of a call goes.
pub(super) fn result(
    builder: &mut Builder<'_, '_>,
    around: &mut Around,
    formal: &Shape,
    written: &Written<'_>,
) -> Option<()> {
    let span = written.span();
    let place = match passed(builder, formal, written)? {
        Passed::Place(place) => place,
        Passed::Sink => {
            let parts = functions::classes(formal).len();
            let sinks = std::iter::repeat_n(Slot::Sink, parts);
            around.results.extend(sinks);
            return Some(());
        }
        Passed::Constant(_) => {
            builder.report(Diagnostic::error(span, "a constant cannot take a result"));
            return None;
        }
    };
    let way = way(builder, formal, &place, span)?;
    if let Place::Frame(index) = place {
        builder.frames[index as usize].returned = true;
    }
    match way {
        Way::Slots(slots) => around.results.extend(slots),
        Way::Hidden(index, regs) => {
            around.results.push(Slot::Frame(index));
            around.after.push(load(index, &regs, 8));
        }
        Way::Spread(index, regs, bytes) => {
            around.results.extend(values(&regs));
            let srcs = regs.into_iter().map(Operand::Reg).collect();
            around.after.push(store(index, srcs, bytes));
        }
    }
    Some(())
}
