//! Every operator natively, on edges and on random values, with operands in registers and constant.

use super::{Numbers, compile, with_launch};
use crate::diag::{Diagnostics, Source, Span};
use crate::ir::bits::PrmtMode;
use crate::ir::compare::{BoolOp, CmpOp};
use crate::ir::control::{ParamTy, Terminator};
use crate::ir::convert::PackTy;
use crate::ir::float::{FloatTy, Mark};
use crate::ir::integer::{PackedOp, Part};
use crate::ir::memory::Space;
use crate::ir::video::{ScalarOp, Second, Selector, SimdOp, Source as VideoSource};
use crate::ir::{
    BasicBlock, FuncId, Function, FunctionKind, Inst, IntTy, Kind, Module, Operand, Param,
    ParamKind, Pure, PureOp, Reading, Reg, RegClass, RegInfo, bits, compare, convert, extended,
    integer, video,
};
use crate::semantics;
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) const BOOLS: [bool; 2] = [false, true];
const CMPS: [CmpOp; 6] = [
    CmpOp::Eq,
    CmpOp::Ne,
    CmpOp::Lt,
    CmpOp::Le,
    CmpOp::Gt,
    CmpOp::Ge,
];
pub(super) const COMBINES: [Option<BoolOp>; 4] =
    [None, Some(BoolOp::And), Some(BoolOp::Or), Some(BoolOp::Xor)];
/// What `set` writes.
pub(super) const MARKS: [Mark; 4] = [
    Mark::Ones(RegClass::B32),
    Mark::One(FloatTy::F32),
    Mark::One(FloatTy::F16),
    Mark::One(FloatTy::Bf16),
];
const WIDE: [IntTy; 6] = [
    IntTy::U16,
    IntTy::S16,
    IntTy::U32,
    IntTy::S32,
    IntTy::U64,
    IntTy::S64,
];
pub(super) const WORDS: [RegClass; 3] = [RegClass::B16, RegClass::B32, RegClass::B64];

fn integer_ops() -> Vec<integer::Op> {
    use integer::Op;
    let mut ops = Vec::new();
    for ty in WIDE {
        for part in [Part::Lo, Part::Hi] {
            ops.push(Op::Mul { part, ty });
            ops.push(Op::Mad {
                part,
                ty,
                sat: false,
            });
        }
        if ty.bits() < 64 {
            let part = Part::Wide;
            ops.push(Op::Mul { part, ty });
            ops.push(Op::Mad {
                part,
                ty,
                sat: false,
            });
        }
        for sat in BOOLS {
            ops.push(Op::Add { ty, sat });
            ops.push(Op::Sub { ty, sat });
        }
        for relu in BOOLS {
            ops.push(Op::Min { ty, relu });
            ops.push(Op::Max { ty, relu });
        }
        ops.push(Op::Sad { ty });
        ops.push(Op::Div { ty });
        ops.push(Op::Rem { ty });
        ops.push(Op::Abs { ty });
        ops.push(Op::Neg { ty });
    }
    ops.push(Op::Mad {
        part: Part::Hi,
        ty: IntTy::S32,
        sat: true,
    });
    for signed in BOOLS {
        for high in BOOLS {
            ops.push(Op::Mul24 { high, signed });
            for sat in BOOLS {
                ops.push(Op::Mad24 { high, signed, sat });
            }
            ops.push(Op::Dp2a {
                a_signed: signed,
                b_signed: high,
                high: false,
            });
            ops.push(Op::Dp2a {
                a_signed: signed,
                b_signed: high,
                high: true,
            });
            ops.push(Op::Dp4a {
                a_signed: signed,
                b_signed: high,
            });
        }
        for (lanes, flag) in [(2, false), (2, true), (4, false), (4, true)] {
            for op in [PackedOp::Add, PackedOp::Sub] {
                ops.push(Op::Packed {
                    op,
                    lanes,
                    signed,
                    relu: false,
                    sat: flag,
                });
            }
            for op in [PackedOp::Min, PackedOp::Max] {
                ops.push(Op::Packed {
                    op,
                    lanes,
                    signed,
                    relu: flag,
                    sat: false,
                });
            }
        }
    }
    ops
}

fn bits_ops() -> Vec<bits::Op> {
    use bits::Op;
    let mut ops = Vec::new();
    for class in [RegClass::Pred, RegClass::B16, RegClass::B32, RegClass::B64] {
        ops.push(Op::And { class });
        ops.push(Op::Or { class });
        ops.push(Op::Xor { class });
        ops.push(Op::Not { class });
    }
    for class in WORDS {
        ops.push(Op::Cnot { class });
        ops.push(Op::Shl { class });
    }
    for ty in WIDE {
        ops.push(Op::Shr { ty });
    }
    for ty in [IntTy::U32, IntTy::S32, IntTy::U64, IntTy::S64] {
        for reading in Reading::ALL {
            ops.push(Op::Bfe { ty, reading });
        }
        for shiftamt in BOOLS {
            ops.push(Op::Bfind { ty, shiftamt });
        }
    }
    for class in [RegClass::B32, RegClass::B64] {
        ops.push(Op::Popc { class });
        ops.push(Op::Clz { class });
        ops.push(Op::Brev { class });
        for reading in Reading::ALL {
            ops.push(Op::Bfi { class, reading });
        }
    }
    for lut in 0..=255 {
        ops.push(Op::Lop3 { lut });
    }
    for combine in [BoolOp::And, BoolOp::Or, BoolOp::Xor] {
        ops.push(Op::Lop3Pred { lut: 0x1e, combine });
    }
    for wrap in BOOLS {
        for left in BOOLS {
            ops.push(Op::Shf { left, wrap });
            ops.push(Op::Szext { signed: left, wrap });
        }
        ops.push(Op::Bmsk { wrap });
    }
    for mode in [
        PrmtMode::Index,
        PrmtMode::F4e,
        PrmtMode::B4e,
        PrmtMode::Rc8,
        PrmtMode::Ecl,
        PrmtMode::Ecr,
        PrmtMode::Rc16,
    ] {
        ops.push(Op::Prmt { mode });
    }
    for reading in Reading::ALL {
        ops.push(Op::Fns { reading });
    }
    ops
}

fn compare_ops() -> Vec<compare::Op> {
    use compare::Op;
    let mut ops = Vec::new();
    for ty in WIDE {
        for cmp in CMPS {
            for combine in COMBINES {
                ops.push(Op::Setp { cmp, ty, combine });
                for to in MARKS {
                    ops.push(Op::Set {
                        cmp,
                        ty,
                        combine,
                        to,
                    });
                }
            }
        }
    }
    for class in WORDS {
        ops.push(Op::Selp { class });
        ops.push(Op::Slct { class });
    }
    ops
}

fn convert_ops() -> Vec<convert::Op> {
    use convert::Op;
    let mut ops = Vec::new();
    for class in [
        RegClass::Pred,
        RegClass::B8,
        RegClass::B16,
        RegClass::B32,
        RegClass::B64,
    ] {
        ops.push(Op::Mov { class });
    }
    for from in IntTy::ALL {
        for to in IntTy::ALL {
            for dst in [RegClass::B8, RegClass::B16, RegClass::B32, RegClass::B64] {
                if dst >= to.class() {
                    for sat in BOOLS {
                        ops.push(Op::Cvt { from, to, sat, dst });
                    }
                }
            }
        }
    }
    for (elem, count) in [
        (RegClass::B8, 2),
        (RegClass::B8, 4),
        (RegClass::B8, 8),
        (RegClass::B16, 2),
        (RegClass::B16, 4),
        (RegClass::B32, 2),
    ] {
        ops.push(Op::Pack { elem, count });
        let bits = elem.bits() * u32::from(count);
        if let Some(src) = RegClass::of_bits(bits) {
            for index in 0..count {
                ops.push(Op::Extract { elem, index, src });
            }
        }
    }
    for ty in [
        PackTy::U2,
        PackTy::S2,
        PackTy::U4,
        PackTy::S4,
        PackTy::U8,
        PackTy::S8,
        PackTy::U16,
        PackTy::S16,
    ] {
        ops.push(Op::CvtPack { ty, onto: false });
        if ty.bits() < 16 {
            ops.push(Op::CvtPack { ty, onto: true });
        }
    }
    let class = RegClass::B64;
    for space in [
        Space::Global,
        Space::Shared,
        Space::Local,
        Space::Const,
        Space::Param,
    ] {
        for to in BOOLS {
            ops.push(Op::Cvta { space, to, class });
        }
        ops.push(Op::Isspacep { space, class });
    }
    ops
}

fn extended_ops() -> Vec<extended::Op> {
    use extended::Op;
    let mut ops = Vec::new();
    for ty in [IntTy::U32, IntTy::S32, IntTy::U64, IntTy::S64] {
        for carry_in in BOOLS {
            for carry_out in BOOLS {
                ops.push(Op::Add {
                    ty,
                    carry_in,
                    carry_out,
                });
                ops.push(Op::Sub {
                    ty,
                    carry_in,
                    carry_out,
                });
                for high in BOOLS {
                    ops.push(Op::Mad {
                        high,
                        ty,
                        carry_in,
                        carry_out,
                    });
                }
            }
        }
    }
    ops
}

/// There are too many: some.
fn video_ops(numbers: &mut Numbers) -> Vec<video::Op> {
    use video::Op;
    let parts: Vec<Selector> = (0..4)
        .map(Selector::Byte)
        .chain((0..2).map(Selector::Half))
        .chain([Selector::Word, Selector::Word])
        .collect();
    let source = |numbers: &mut Numbers| VideoSource {
        signed: numbers.chance(50),
        part: *numbers.pick(&parts),
    };
    let scalar = [
        ScalarOp::Add,
        ScalarOp::Sub,
        ScalarOp::AbsDiff,
        ScalarOp::Min,
        ScalarOp::Max,
        ScalarOp::Shl { wrap: false },
        ScalarOp::Shl { wrap: true },
        ScalarOp::Shr { wrap: false },
        ScalarOp::Shr { wrap: true },
        ScalarOp::Set(CmpOp::Lt),
        ScalarOp::Set(CmpOp::Ge),
        ScalarOp::Set(CmpOp::Ne),
    ];
    let simd = [
        SimdOp::Add,
        SimdOp::Sub,
        SimdOp::AbsDiff,
        SimdOp::Min,
        SimdOp::Max,
        SimdOp::Avrg,
        SimdOp::Set(CmpOp::Eq),
        SimdOp::Set(CmpOp::Gt),
        SimdOp::Set(CmpOp::Le),
    ];
    let mut ops = Vec::new();
    for op in scalar {
        for _ in 0..24 {
            let part = *numbers.pick(&parts);
            let second = *numbers.pick(&[
                Second::None,
                Second::None,
                Second::Add,
                Second::Min,
                Second::Max,
                Second::Merge(part),
            ]);
            ops.push(Op::Scalar {
                op,
                signed: numbers.chance(50),
                a: source(numbers),
                b: source(numbers),
                sat: numbers.chance(50),
                second,
                reading: Reading::Text,
            });
        }
    }
    for _ in 0..80 {
        ops.push(Op::Mad {
            signed: numbers.chance(50),
            a: source(numbers),
            b: source(numbers),
            neg_a: numbers.chance(20),
            neg_b: numbers.chance(20),
            neg_c: numbers.chance(20),
            plus_one: numbers.chance(30),
            sat: numbers.chance(50),
            shift: *numbers.pick(&[0, 7, 15]),
            reading: Reading::Text,
        });
    }
    for op in simd {
        for lanes in [2, 4] {
            for _ in 0..12 {
                let picks = |numbers: &mut Numbers, first: u8| {
                    if numbers.chance(40) {
                        [first, first + 1, first + 2, first + 3]
                    } else {
                        [(); 4].map(|()| numbers.below(2 * lanes as usize) as u8)
                    }
                };
                ops.push(Op::Simd {
                    op,
                    lanes,
                    signed: numbers.chance(50),
                    a_signed: numbers.chance(50),
                    b_signed: numbers.chance(50),
                    a_lanes: picks(numbers, 0),
                    b_lanes: picks(numbers, lanes),
                    mask: if numbers.chance(50) {
                        15
                    } else {
                        numbers.below(16) as u8
                    },
                    sat: numbers.chance(30),
                    add: numbers.chance(30),
                });
            }
        }
    }
    ops
}

/// Values where something turns over, and others.
pub(super) fn values(class: RegClass, numbers: &mut Numbers) -> u64 {
    let bits = class.bits();
    let value = match numbers.below(10) {
        0 => 0,
        1 => 1,
        2 => u64::MAX,
        3 => 1 << (bits - 1),
        4 => (1 << (bits - 1)) - 1,
        5 => *numbers.pick(&[8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256]),
        6 => 1 << numbers.below(bits as usize),
        7 => numbers.next() & numbers.next() & numbers.next(),
        8 => *numbers.pick(&[
            0x7f80_807f_ff00_0180,
            0x8000_7fff_8080_7f7f,
            0x0123_4567_89ab_cdef,
        ]),
        _ => numbers.next(),
    };
    value & class.mask()
}

fn size(class: RegClass) -> u32 {
    class.bits().div_ceil(8)
}

/// `.reg` parameters for registers from `first` on.
fn params(classes: &[RegClass], first: u32) -> (Vec<Param>, u32) {
    let mut end = 0u32;
    let mut list = Vec::new();
    for (i, &class) in (first..).zip(classes) {
        let size = size(class);
        let offset = end.next_multiple_of(size);
        list.push(Param {
            name: format!("p{i}"),
            ty: ParamTy { size, align: size },
            declared: class.to_string(),
            array: false,
            kind: ParamKind::Reg(Reg(i)),
            offset,
        });
        end = offset + size;
    }
    (list, end)
}

/// An operator with some of its operands constant.
pub(super) struct Case {
    pub(super) op: PureOp,
    pub(super) constants: Vec<Option<u64>>,
}

/// A function that applies an operator to its parameters and returns all results.
pub(super) fn function(case: &Case) -> Function {
    let signature = case.op.signature();
    let count = signature.srcs.len() as u32;
    let (params_list, param_bytes) = params(&signature.srcs, 0);
    let (returns, return_bytes) = params(&signature.dsts, count);
    let srcs: SmallVec<[Operand; 4]> = (0..count)
        .map(|i| match case.constants[i as usize] {
            Some(value) => Operand::Imm(value),
            None => Operand::Reg(Reg(i)),
        })
        .collect();
    let inst = Inst {
        guard: None,
        kind: Kind::Pure(Pure {
            op: case.op,
            dsts: (count..)
                .take(signature.dsts.len())
                .map(|i| Some(Reg(i)))
                .collect(),
            srcs,
        }),
        span: Span::default(),
        location: u32::MAX,
    };
    Function {
        name: "f".to_string(),
        kind: FunctionKind::Device,
        span: Span::default(),
        defined: true,
        params: params_list,
        returns,
        param_bytes,
        return_bytes,
        regs: (signature.srcs.iter().chain(&signature.dsts))
            .map(|&class| RegInfo {
                class,
                name: "".into(),
            })
            .collect(),
        carry: None,
        locals: Vec::new(),
        local_bytes: 0,
        local_align: 16,
        frame: Vec::new(),
        frame_bytes: 0,
        blocks: vec![BasicBlock {
            label: None,
            insts: vec![inst],
            terminator: Terminator::Return,
            span: Span::default(),
            location: u32::MAX,
        }],
        threads: Default::default(),
        clusters: Default::default(),
        shared_bytes: 0,
        shared_align: 1,
        unsupported: Vec::new(),
    }
}

pub(super) fn module(functions: Vec<Function>) -> Arc<Module> {
    let source = Arc::new(Source::new("operators", ""));
    Arc::new(Module {
        warnings: Diagnostics::new(Arc::clone(&source), Vec::new()),
        source,
        version: (8, 7),
        target: "sm_90".to_string(),
        address_bits: 64,
        reading: Reading::Text,
        functions,
        variables: Vec::new(),
        global_bytes: 0,
        const_bytes: 0,
        files: Vec::new(),
        locations: Vec::new(),
        clusters: false,
    })
}

/// Compiles operators, calls each with values, compares with `semantics`.
fn agree(ops: impl IntoIterator<Item = PureOp>, numbers: &mut Numbers) {
    agree_on(ops, numbers, 32, |_, classes, numbers| {
        classes.iter().map(|&c| values(c, numbers)).collect()
    });
}

/// Runs operators natively on sources that `values` makes, `rounds` times, in registers and some of them constant.
pub(super) fn agree_on(
    ops: impl IntoIterator<Item = PureOp>,
    numbers: &mut Numbers,
    rounds: u32,
    values: impl Fn(PureOp, &[RegClass], &mut Numbers) -> Vec<u64>,
) {
    let mut cases = Vec::new();
    for op in ops {
        let classes = op.signature().srcs;
        let none = vec![None; classes.len()];
        for i in 0..classes.len() {
            let mut constants = none.clone();
            constants[i] = Some(values(op, &classes, numbers)[i]);
            cases.push(Case { op, constants });
        }
        if classes.len() > 2 {
            // As positions and lengths are written.
            let mut constants = none.clone();
            let values = values(op, &classes, numbers);
            for (constant, value) in constants.iter_mut().zip(values).skip(1) {
                *constant = Some(value);
            }
            cases.push(Case { op, constants });
        }
        cases.push(Case {
            op,
            constants: none,
        });
    }
    let module = module(cases.iter().map(function).collect());
    crate::ir::verify::verify(&module).unwrap_or_else(|e| panic!("{e}"));
    let code = compile(&module);
    with_launch(64, |launch, scratch, _| {
        for (id, case) in (0..).map(FuncId).zip(&cases) {
            assert_eq!(code.absent(id), None);
            let function = &module.functions[id.index()];
            let signature = case.op.signature();
            for _ in 0..rounds {
                let values = values(case.op, &signature.srcs, numbers);
                let srcs: Vec<u64> = (values.into_iter().zip(&case.constants))
                    .map(|(value, constant)| constant.unwrap_or(value))
                    .collect();
                let mut args = vec![0; function.param_bytes as usize];
                for (param, value) in function.params.iter().zip(&srcs) {
                    let (at, size) = (param.offset as usize, param.ty.size as usize);
                    args[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
                }
                let mut results = vec![0; function.return_bytes as usize];
                code.call(id, launch, scratch, &args, &mut results)
                    .expect("a call that fits")
                    .expect("no fault");
                let expected = semantics::eval(case.op, 64, &srcs);
                for (i, param) in function.returns.iter().enumerate() {
                    let (at, size) = (param.offset as usize, param.ty.size as usize);
                    let mut found = [0; 8];
                    found[..size].copy_from_slice(&results[at..at + size]);
                    let found = u64::from_le_bytes(found);
                    assert_eq!(
                        found, expected[i],
                        "result {i} of {:?} with {srcs:x?}, constant {:x?}",
                        case.op, case.constants
                    );
                }
            }
        }
    });
}

#[test]
fn integer_operators_agree_with_semantics() {
    agree(
        integer_ops().into_iter().map(PureOp::Integer),
        &mut Numbers(1),
    );
}

#[test]
fn bit_operators_agree_with_semantics() {
    agree(bits_ops().into_iter().map(PureOp::Bits), &mut Numbers(2));
}

#[test]
fn comparisons_agree_with_semantics() {
    agree(
        compare_ops().into_iter().map(PureOp::Compare),
        &mut Numbers(3),
    );
}

#[test]
fn conversions_agree_with_semantics() {
    agree(
        convert_ops().into_iter().map(PureOp::Convert),
        &mut Numbers(4),
    );
}

#[test]
fn extended_operators_agree_with_semantics() {
    agree(
        extended_ops().into_iter().map(PureOp::Extended),
        &mut Numbers(5),
    );
}

#[test]
fn video_operators_agree_with_semantics() {
    let mut numbers = Numbers(6);
    let ops = video_ops(&mut numbers);
    agree(ops.into_iter().map(PureOp::Video), &mut numbers);
}

/// `prmt` with each constant selector that compilers write, and others.
#[test]
fn constant_selectors_agree_with_semantics() {
    let mut numbers = Numbers(7);
    let op = PureOp::Bits(bits::Op::Prmt {
        mode: PrmtMode::Index,
    });
    let known = [
        0x3210, 0x7654, 0x0123, 0x4567, 0x0321, 0x1032, 0x2103, 0x4321, 0x5432, 0x6543, 0x5410,
        0x7632, 0x0000, 0x5555, 0x8888, 0x9a10, 0xfedc, 0x4440, 0x7770,
    ];
    let cases: Vec<Case> = (known.into_iter())
        .chain((0..200).map(|_| numbers.next() & 0xffff))
        .map(|selector| Case {
            op,
            constants: vec![None, None, Some(selector)],
        })
        .collect();
    let module = module(cases.iter().map(function).collect());
    let code = compile(&module);
    with_launch(64, |launch, scratch, _| {
        for (id, case) in (0..).map(FuncId).zip(&cases) {
            for (a, b) in [(0x8381_7f01u32, 0x00ff_8042u32), (0x1234_5678, 0)] {
                let args: Vec<u8> = [a, b, 0].iter().flat_map(|x| x.to_le_bytes()).collect();
                let mut results = [0; 4];
                code.call(id, launch, scratch, &args, &mut results)
                    .expect("a call that fits")
                    .expect("no fault");
                let selector = case.constants[2].unwrap_or(0);
                let srcs = [u64::from(a), u64::from(b), selector];
                let expected = semantics::eval(op, 64, &srcs)[0];
                assert_eq!(
                    u64::from(u32::from_le_bytes(results)),
                    expected,
                    "{selector:#x}"
                );
            }
        }
    });
}
