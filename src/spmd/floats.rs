//! Names that hold results of floating-point arithmetic alone.
//!
//! Where values of such a name meet it stays in a floating-point register, and a NaN in it is made canonical where its bits can be
//! seen, not at each step of a loop. That is right because every value that the name ever has is such a result, or zero: a NaN that
//! was loaded would keep its payload.
//!
//! And names that such arithmetic uses: they come from memory in a floating-point register.

use super::names::{Name, Names};
use crate::ir::float::FloatTy;
use crate::ir::{Function, Kind, Operand, PureOp, Reg, RegClass, compare, convert};

/// What floating-point arithmetic has to do with each name.
#[derive(Debug)]
pub struct Floats {
    /// The format of one that holds results of arithmetic alone.
    formats: Vec<Option<FloatTy>>,
    /// Whether arithmetic uses it.
    operands: Vec<bool>,
}

/// What a definition says of a name.
enum Says {
    /// It is a result of arithmetic in a format.
    Result(FloatTy),
    /// It is whatever these are.
    Same(smallvec::SmallVec<[Operand; 2]>),
    /// It may be anything.
    Anything,
}

fn says(kind: &Kind) -> Says {
    let Kind::Pure(pure) = kind else {
        return Says::Anything;
    };
    match pure.op {
        PureOp::Float(op) => op.canonical().map_or(Says::Anything, Says::Result),
        PureOp::Convert(convert::Op::Mov { .. }) => Says::Same(pure.srcs[..1].into()),
        PureOp::Convert(convert::Op::Float(op)) => {
            op.canonical().map_or(Says::Anything, Says::Result)
        }
        PureOp::Compare(compare::Op::Selp { .. }) => Says::Same(pure.srcs[..2].into()),
        PureOp::Integer(_)
        | PureOp::Extended(_)
        | PureOp::Bits(_)
        | PureOp::Video(_)
        | PureOp::Compare(_)
        | PureOp::Convert(_) => Says::Anything,
    }
}

impl Floats {
    /// Of a function.
    pub fn new(function: &Function, names: &Names) -> Self {
        let mut formats = vec![None; names.len()];
        let mut spoilt = vec![false; names.len()];
        let given = (0..function.params.len()).filter_map(|i| names.param(i));
        given.for_each(|name| spoilt[name.index()] = true);
        // Names that are spoilt if the first is: edges against the flow of values.
        let mut follow: Vec<(Reg, Name)> = Vec::new();
        let insts = || function.blocks.iter().flat_map(|b| &b.insts);
        for inst in insts() {
            names.defs(inst, |name| {
                let class = names.class(name);
                match says(&inst.kind) {
                    Says::Result(ty) if ty.class() == class => {
                        spoilt[name.index()] |= formats[name.index()].is_some_and(|f| f != ty);
                        formats[name.index()] = Some(ty);
                    }
                    Says::Same(operands) => {
                        for operand in operands {
                            match operand {
                                Operand::Reg(reg) if function.class(reg) == class => {
                                    follow.push((reg, name));
                                }
                                Operand::Imm(bits) if !is_nan(class, bits) => {}
                                Operand::Reg(_) | Operand::Imm(_) => spoilt[name.index()] = true,
                            }
                        }
                    }
                    Says::Result(_) | Says::Anything => spoilt[name.index()] = true,
                }
            });
        }
        follow.sort_unstable();
        // What is only ever handed on has the format of where it comes from.
        let mut todo: Vec<Name> = (0..names.len() as u32).map(Name).collect();
        while let Some(from) = todo.pop() {
            let (format, bad) = (formats[from.index()], spoilt[from.index()]);
            if format.is_none() && !bad {
                continue;
            }
            let first = follow.partition_point(|(reg, _)| Name::from(*reg) < from);
            for &(reg, to) in &follow[first..] {
                if Name::from(reg) != from {
                    break;
                }
                let mixed =
                    format.is_some() && formats[to.index()].is_some_and(|f| Some(f) != format);
                let spoils = (bad || mixed) && !spoilt[to.index()];
                let tells = formats[to.index()].is_none() && format.is_some();
                if spoils || tells {
                    spoilt[to.index()] |= spoils;
                    formats[to.index()] = formats[to.index()].or(format);
                    todo.push(to);
                }
            }
        }
        for (format, spoilt) in formats.iter_mut().zip(spoilt) {
            format.take_if(|_| spoilt);
        }
        let mut operands = vec![false; names.len()];
        for inst in insts() {
            if let Kind::Pure(pure) = &inst.kind
                && pure.op.takes_numbers()
            {
                let used = pure.srcs.iter().filter_map(|src| src.reg());
                used.for_each(|reg| operands[Name::from(reg).index()] = true);
            }
        }
        Floats { formats, operands }
    }

    /// The format of a name that holds results of arithmetic alone.
    pub fn of(&self, name: Name) -> Option<FloatTy> {
        self.formats[name.index()]
    }

    /// Whether arithmetic uses a name as a number.
    pub fn is_operand(&self, name: Name) -> bool {
        self.operands[name.index()]
    }
}

/// Whether bits are a NaN as a float of their width; of other widths everything is.
fn is_nan(class: RegClass, bits: u64) -> bool {
    match class {
        RegClass::B32 => f32::from_bits(bits as u32).is_nan(),
        RegClass::B64 => f64::from_bits(bits).is_nan(),
        RegClass::Pred | RegClass::B8 | RegClass::B16 => true,
    }
}
