//! Provenance: from which pointer an address derives.
//!
//! Guarantees nothing about memory: a root is only the best guess at the allocation that an address lies in, and the
//! check at the access decides. Registers are judged by all their definitions together, wherever they stand.

use super::names::{Name, Names};
use crate::ir::memory::{Base, Space, Var};
use crate::ir::{
    Function, FunctionKind, Inst, Kind, Module, Operand, Pure, PureOp, RegClass, VarId, bits,
    compare, convert, extended, integer,
};
use smallvec::SmallVec;

/// Where an address comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Root {
    /// Pointers among the kernel's parameters, by their offsets in the buffer, in order. Where several were added
    /// up, that one counts whose value points to memory.
    Params(SmallVec<[u32; 2]>),
    /// A variable of the module.
    Variable(VarId),
    /// A window, by generic address.
    Window(Space),
}

/// What is known of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// Nothing yet: no definition seen.
    Unseen,
    /// A number, as far as is known.
    Number,
    /// An address.
    Of(Root),
    /// Several things.
    Mixed,
}

/// Most parameters that are tracked in a sum.
const MOST: usize = 4;

impl Origin {
    fn join(&self, other: &Origin) -> Origin {
        match (self, other) {
            (Origin::Unseen, x) | (x, Origin::Unseen) => x.clone(),
            (a, b) if a == b => a.clone(),
            (Origin::Of(Root::Params(a)), Origin::Of(Root::Params(b))) => {
                // A pointer that was advanced by a parameter is still that pointer.
                if a.iter().all(|x| b.contains(x)) {
                    other.clone()
                } else if b.iter().all(|x| a.contains(x)) {
                    self.clone()
                } else {
                    Origin::Mixed
                }
            }
            (Origin::Number, x @ Origin::Of(_)) | (x @ Origin::Of(_), Origin::Number) => x.clone(),
            (Origin::Number | Origin::Of(_) | Origin::Mixed, _) => Origin::Mixed,
        }
    }

    fn sum(&self, other: &Origin) -> Origin {
        match (self, other) {
            (Origin::Of(Root::Params(a)), Origin::Of(Root::Params(b))) => {
                let mut all = a.clone();
                all.extend(b.iter().copied());
                all.sort_unstable();
                all.dedup();
                if all.len() > MOST {
                    Origin::Mixed
                } else {
                    Origin::Of(Root::Params(all))
                }
            }
            (Origin::Of(Root::Params(_)), other @ Origin::Of(_)) => other.clone(),
            (own @ Origin::Of(_), Origin::Of(_)) => own.clone(),
            (own @ Origin::Of(_), _) => own.clone(),
            (_, other @ Origin::Of(_)) => other.clone(),
            (Origin::Mixed, _) | (_, Origin::Mixed) => Origin::Mixed,
            (Origin::Unseen, x) | (x, Origin::Unseen) => x.clone(),
            (Origin::Number, Origin::Number) => Origin::Number,
        }
    }
}

/// The origin of each name of a function.
#[derive(Debug)]
pub struct Provenance {
    origins: Vec<Origin>,
}

impl Provenance {
    /// Of a function.
    pub fn new(module: &Module, function: &Function, names: &Names) -> Self {
        let insts: Vec<&Inst> = function.blocks.iter().flat_map(|b| &b.insts).collect();
        let mut readers: Vec<Vec<u32>> = vec![Vec::new(); names.len()];
        for (i, inst) in insts.iter().enumerate() {
            names.uses(inst, |n| readers[n.index()].push(i as u32));
        }
        let mut origins = vec![Origin::Unseen; names.len()];
        for i in 0..function.params.len() {
            if let Some(name) = names.param(i) {
                origins[name.index()] = Origin::Number;
            }
        }
        let mut queued = vec![true; insts.len()];
        let mut queue: Vec<u32> = (0..insts.len() as u32).rev().collect();
        while let Some(i) = queue.pop() {
            queued[i as usize] = false;
            let inst = insts[i as usize];
            let new = transfer(module, function, names, inst, &origins);
            let mut changed = SmallVec::<[Name; 4]>::new();
            names.defs(inst, |name| {
                let joined = origins[name.index()].join(&new);
                if joined != origins[name.index()] {
                    origins[name.index()] = joined;
                    changed.push(name);
                }
            });
            for reader in changed.iter().flat_map(|n| &readers[n.index()]) {
                if !std::mem::replace(&mut queued[*reader as usize], true) {
                    queue.push(*reader);
                }
            }
        }
        Provenance { origins }
    }

    /// The root of a name's value, if it has one.
    pub fn root(&self, name: Name) -> Option<&Root> {
        match &self.origins[name.index()] {
            Origin::Of(root) => Some(root),
            Origin::Unseen | Origin::Number | Origin::Mixed => None,
        }
    }
}

/// The origin of what an instruction writes.
fn transfer(
    module: &Module,
    function: &Function,
    names: &Names,
    inst: &Inst,
    origins: &[Origin],
) -> Origin {
    let of = |operand: &Operand| match operand {
        Operand::Reg(r) => origins[r.index()].clone(),
        Operand::Imm(_) => Origin::Number,
    };
    match &inst.kind {
        Kind::Pure(pure) => transfer_pure(module, pure, of),
        Kind::Load(load) => match load.addr.base {
            Base::Var(Var::Param(i)) if function.kind == FunctionKind::Kernel => {
                let param = &function.params[i as usize];
                let offset = i64::from(param.offset).wrapping_add(load.addr.offset);
                let pointer = u32::from(load.bytes) * 8 == module.address_bits;
                // A wrong load that never happens is no reason to look there.
                let last = i64::from(function.param_bytes) - i64::from(load.bytes);
                match u32::try_from(offset) {
                    Ok(at) if pointer && load.dsts.len() == 1 && offset <= last => {
                        Origin::Of(Root::Params(SmallVec::from_slice(&[at])))
                    }
                    _ => Origin::Number,
                }
            }
            Base::Var(_) => match names.of_address(&load.addr) {
                Some(name) => origins[name.index()].clone(),
                None => Origin::Number,
            },
            Base::Reg(_) | Base::Absolute => Origin::Number,
        },
        Kind::Store(store) => store.srcs.first().map_or(Origin::Number, of),
        Kind::AddressOf(address) => match address.var {
            Var::Module(v) if module.variables[v.index()].space == Space::Global => {
                Origin::Of(Root::Variable(v))
            }
            Var::Module(_) | Var::Local(_) | Var::Param(_) | Var::Return(_) | Var::Frame(_) => {
                Origin::Number
            }
        },
        Kind::FunctionAddress { .. } | Kind::Special { .. } | Kind::Call(_) => Origin::Number,
        Kind::Meet(_)
        | Kind::Atomic(_)
        | Kind::Fence(_)
        | Kind::Mbarrier(_)
        | Kind::Copy(_)
        | Kind::Stack(_)
        | Kind::Hint { .. }
        | Kind::Unsupported => Origin::Number,
    }
}

fn transfer_pure(module: &Module, pure: &Pure, of: impl Fn(&Operand) -> Origin) -> Origin {
    let class = RegClass::of_bits(module.address_bits).unwrap_or(RegClass::B64);
    let src = |i: usize| of(&pure.srcs[i]);
    match pure.op {
        PureOp::Integer(op) => match op {
            integer::Op::Add { ty, .. } if ty.class() == class => src(0).sum(&src(1)),
            integer::Op::Sub { ty, .. } if ty.class() == class => match src(1) {
                // The distance of two pointers.
                Origin::Of(_) => Origin::Number,
                Origin::Unseen | Origin::Number | Origin::Mixed => src(0),
            },
            integer::Op::Mad { .. } | integer::Op::Mad24 { .. } => src(2),
            integer::Op::Min { ty, .. } | integer::Op::Max { ty, .. } if ty.class() == class => {
                src(0).join(&src(1))
            }
            integer::Op::Add { .. }
            | integer::Op::Sub { .. }
            | integer::Op::Mul { .. }
            | integer::Op::Mul24 { .. }
            | integer::Op::Sad { .. }
            | integer::Op::Div { .. }
            | integer::Op::Rem { .. }
            | integer::Op::Abs { .. }
            | integer::Op::Neg { .. }
            | integer::Op::Min { .. }
            | integer::Op::Max { .. }
            | integer::Op::Packed { .. }
            | integer::Op::Dp4a { .. }
            | integer::Op::Dp2a { .. } => Origin::Number,
        },
        PureOp::Extended(op) => match op {
            extended::Op::Add { .. } => src(0).sum(&src(1)),
            extended::Op::Sub { .. } => src(0),
            extended::Op::Mad { .. } => src(2),
        },
        PureOp::Bits(op) => match op {
            bits::Op::And { class: c } | bits::Op::Or { class: c } | bits::Op::Xor { class: c }
                if c == class =>
            {
                src(0).sum(&src(1))
            }
            bits::Op::And { .. }
            | bits::Op::Or { .. }
            | bits::Op::Xor { .. }
            | bits::Op::Not { .. }
            | bits::Op::Cnot { .. }
            | bits::Op::Lop3 { .. }
            | bits::Op::Lop3Pred { .. }
            | bits::Op::Shf { .. }
            | bits::Op::Shl { .. }
            | bits::Op::Shr { .. }
            | bits::Op::Prmt { .. }
            | bits::Op::Popc { .. }
            | bits::Op::Clz { .. }
            | bits::Op::Bfind { .. }
            | bits::Op::Fns { .. }
            | bits::Op::Brev { .. }
            | bits::Op::Bfe { .. }
            | bits::Op::Bfi { .. }
            | bits::Op::Bmsk { .. }
            | bits::Op::Szext { .. } => Origin::Number,
        },
        PureOp::Compare(op) => match op {
            compare::Op::Selp { .. } | compare::Op::Slct { .. } => src(0).join(&src(1)),
            compare::Op::Setp { .. } | compare::Op::Set { .. } => Origin::Number,
        },
        PureOp::Convert(op) => match op {
            convert::Op::Mov { .. } => src(0),
            convert::Op::Cvt { from, dst, .. } if from.class() == class && dst == class => src(0),
            convert::Op::Cvta { space, to, .. } => match space {
                Space::Global | Space::Generic => src(0),
                Space::Cluster => Origin::Number,
                Space::Shared | Space::Local | Space::Const | Space::Param => {
                    if to {
                        Origin::Number
                    } else {
                        Origin::Of(Root::Window(space))
                    }
                }
            },
            convert::Op::Cvt { .. }
            | convert::Op::Float(_)
            | convert::Op::Small(_)
            | convert::Op::Pack { .. }
            | convert::Op::Extract { .. }
            | convert::Op::CvtPack { .. }
            | convert::Op::Isspacep { .. } => Origin::Number,
        },
        PureOp::Video(_) | PureOp::Float(_) => Origin::Number,
    }
}
