//! Atomics of all widths, mbarriers and copies, on shared memory.

use super::*;
use crate::ir::RegClass;
use crate::ir::sync::{Atomic, AtomicOp, Copy, Mbarrier, MbarrierOp};

fn at(offset: i64) -> Address {
    Address {
        base: Base::Absolute,
        offset,
    }
}

fn put(address: i64, word: u32) -> Kind {
    Kind::Store(Store {
        space: Space::Shared,
        bytes: 4,
        align: 4,
        srcs: smallvec![Operand::Imm(word.into())],
        addr: at(address),
        order: Order::Release,
    })
}

/// Reads the word at the address that the function is given.
fn get() -> Kind {
    Kind::Load(Load {
        space: Space::Shared,
        bytes: 4,
        signed: false,
        align: 4,
        dsts: smallvec![Some(Reg(1))],
        addr: Address {
            base: Base::Reg(Reg(0)),
            offset: 0,
        },
        order: Order::Acquire,
        read_only: false,
    })
}

/// Of a function with registers 2 to 5 of 64 bits and 6 a predicate, called with each of `args`.
fn results(insts: Vec<Kind>, args: &[u32]) -> Vec<u32> {
    let results = args.iter().map(|&arg| run(insts.clone(), arg).unwrap());
    results.collect()
}

fn run(insts: Vec<Kind>, arg: u32) -> Result<u32, Fault> {
    let mut function = unary(7, insts, Terminator::Return);
    for (info, class) in (function.regs[2..].iter_mut()).zip([RegClass::B64; 4]) {
        info.class = class;
    }
    function.regs[6].class = RegClass::Pred;
    function.shared_bytes = 1024;
    call_with(&module(vec![function]), BOUNDS, arg)
}

fn atomic(op: AtomicOp, bytes: u8, address: i64, dsts: &[u32], srcs: &[u64]) -> Kind {
    Kind::Atomic(Atomic {
        op,
        space: Space::Shared,
        bytes,
        dsts: dsts.iter().map(|&reg| Some(Reg(reg))).collect(),
        srcs: srcs.iter().map(|&value| Operand::Imm(value)).collect(),
        addr: at(address),
        order: Order::AcquireRelease,
    })
}

#[test]
fn atomics_of_two_bytes_leave_the_others() {
    let add = atomic(AtomicOp::Add, 2, 18, &[1], &[0xffff_0003]);
    let insts = vec![put(16, 0xfffe_aaaa), add.clone(), get()];
    assert_eq!(results(insts, &[16]), [0x0001_aaaa]);
    assert_eq!(results(vec![put(16, 0xfffe_aaaa), add], &[0]), [0xfffe]);
}

#[test]
fn atomics_of_sixteen_bytes() {
    let words = [1u32, 2, 3, 4];
    let mut insts: Vec<Kind> = (0..4).map(|i| put(32 + 4 * i, words[i as usize])).collect();
    let old = [0x2_0000_0001, 0x4_0000_0003];
    let new = [0x66_0000_0055, 0x88_0000_0077];
    // The first compares with something else.
    let other = [old[0], old[1] ^ 1 << 63];
    let cas = |with: [u64; 2]| {
        let srcs = [with, new].concat();
        atomic(AtomicOp::Cas, 16, 32, &[2, 3], &srcs)
    };
    insts.push(cas(other));
    insts.push(get());
    assert_eq!(results(insts.clone(), &[32, 36, 40, 44]), words);
    insts.push(cas(old));
    insts.push(get());
    assert_eq!(
        results(insts.clone(), &[32, 36, 40, 44]),
        [0x55, 0x66, 0x77, 0x88]
    );
    insts.push(atomic(AtomicOp::Exch, 16, 32, &[2, 3], &[0, 0]));
    insts.push(add(1, reg(3), Operand::Imm(0)));
    assert_eq!(
        results(insts, &[32]),
        [0x77],
        "the low word of the old high half"
    );
}

#[test]
fn atomics_are_checked_as_other_accesses() {
    for (bytes, address, kind) in [
        (4, 2, FaultKind::Misaligned),
        (16, 8, FaultKind::Misaligned),
        (8, 1024, FaultKind::OutOfBounds),
    ] {
        let inst = atomic(AtomicOp::Exch, bytes, address, &[], &[0, 0]);
        assert_eq!(run(vec![inst], 0).unwrap_err().kind, kind);
    }
}

fn mbarrier(op: MbarrierOp, dst: Option<u32>, srcs: &[Operand]) -> Kind {
    Kind::Mbarrier(Mbarrier {
        op,
        space: Space::Shared,
        addr: at(64),
        dst: dst.map(Reg),
        srcs: srcs.iter().copied().collect(),
    })
}

const ARRIVE: MbarrierOp = MbarrierOp::Arrive {
    drop: false,
    expects: false,
    counted: false,
    no_complete: false,
};

const TEST: MbarrierOp = MbarrierOp::Test {
    parity: false,
    waits: false,
};

/// Adds 1 to the result where the predicate holds.
fn tested(mut insts: Vec<Kind>) -> u32 {
    insts.push(Kind::Pure(Pure {
        op: PureOp::Compare(crate::ir::compare::Op::Selp {
            class: RegClass::B32,
        }),
        dsts: smallvec![Some(Reg(1))],
        srcs: smallvec![Operand::Imm(1), Operand::Imm(0), Operand::Reg(Reg(6))],
    }));
    run(insts, 0).unwrap()
}

#[test]
fn an_mbarrier_is_passed_after_its_last_arrival() {
    let mut insts = vec![
        mbarrier(MbarrierOp::Init, None, &[Operand::Imm(2)]),
        mbarrier(ARRIVE, Some(2), &[]),
        mbarrier(TEST, Some(6), &[reg(2)]),
    ];
    assert_eq!(tested(insts.clone()), 0);
    insts.push(mbarrier(ARRIVE, Some(3), &[]));
    insts.push(mbarrier(TEST, Some(6), &[reg(2)]));
    assert_eq!(tested(insts), 1);
    let fault = run(vec![mbarrier(ARRIVE, None, &[])], 0).unwrap_err();
    assert_eq!(fault.kind, FaultKind::DivergedBarrier);
    assert!(fault.to_string().contains("no mbarrier"), "{fault}");
}

fn copy(bytes: u64) -> Copy {
    Copy {
        to: (Space::Shared, at(256)),
        from: (Space::Shared, at(128)),
        bytes: Operand::Imm(bytes),
        read: None,
        ignore: None,
        skip: None,
        byte_mask: None,
        multicast: None,
        align: 4,
        reduce: None,
        mbarrier: None,
    }
}

/// The words at the destination after a copy of 0x11111111, 0x22222222 and so on.
fn copied(copy: Copy) -> Vec<u32> {
    let mut insts = Vec::new();
    for i in 0..5 {
        insts.push(put(128 + 4 * i, 0x1111_1111 * (i as u32 + 1)));
        insts.push(put(256 + 4 * i, 0xeeee_eeee));
    }
    insts.push(Kind::Copy(Box::new(copy)));
    insts.push(get());
    results(insts, &[256, 260, 264, 268, 272])
}

#[test]
fn copies_fill_with_zeros_what_they_do_not_read() {
    let rest = 0xeeee_eeee;
    let words = [0x1111_1111, 0x2222_2222, 0x3333_3333, 0x4444_4444, rest];
    assert_eq!(copied(copy(16)), words);
    let read = |bytes| Copy {
        read: Some(Operand::Imm(bytes)),
        ..copy(16)
    };
    assert_eq!(copied(read(6)), [0x1111_1111, 0x2222, 0, 0, rest]);
    assert_eq!(copied(read(0)), [0, 0, 0, 0, rest]);
    let ignored = Copy {
        ignore: Some(Operand::Imm(1)),
        ..copy(8)
    };
    assert_eq!(copied(ignored), [0, 0, rest, rest, rest]);
    assert_eq!(copied(copy(0)), [rest; 5]);
}

#[test]
fn copies_reduce_into_what_is_there() {
    let sum = Copy {
        reduce: Some((AtomicOp::Add, RegClass::B32)),
        ..copy(8)
    };
    let rest = 0xeeee_eeee;
    assert_eq!(copied(sum), [0xffff_ffff, 0x1111_1110, rest, rest, rest]);
}

#[test]
fn copies_complete_their_bytes_on_an_mbarrier() {
    let arrive = MbarrierOp::Arrive {
        drop: false,
        expects: true,
        counted: false,
        no_complete: false,
    };
    let mut insts = vec![
        mbarrier(MbarrierOp::Init, None, &[Operand::Imm(1)]),
        mbarrier(arrive, Some(2), &[Operand::Imm(16)]),
        mbarrier(TEST, Some(6), &[reg(2)]),
    ];
    assert_eq!(tested(insts.clone()), 0);
    insts.push(Kind::Copy(Box::new(Copy {
        mbarrier: Some((Space::Shared, at(64))),
        ..copy(16)
    })));
    insts.push(mbarrier(TEST, Some(6), &[reg(2)]));
    assert_eq!(tested(insts), 1);
}

#[test]
fn copies_are_checked_as_other_accesses() {
    let fault = |copy| run(vec![Kind::Copy(Box::new(copy))], 0).unwrap_err().kind;
    let outside = Copy {
        from: (Space::Shared, at(1016)),
        ..copy(16)
    };
    assert_eq!(fault(outside), FaultKind::OutOfBounds);
    let odd = Copy {
        to: (Space::Shared, at(258)),
        ..copy(16)
    };
    assert_eq!(fault(odd), FaultKind::Misaligned);
    assert_eq!(fault(copy(6)), FaultKind::Misaligned);
}
