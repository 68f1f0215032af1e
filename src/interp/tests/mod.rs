//! What PTX text cannot bring about, or only by detours: IR made by hand.

mod sync;

use super::{Interpreter, NoTrace, Step};
use crate::diag::{Diagnostics, Source, Span};
use crate::ir::control::{Call, CallType, Callee, ParamTy, Slot, Terminator};
use crate::ir::memory::{Address, Base, Load, Order, Space, Store, Var};
use crate::ir::{
    BasicBlock, Block, FuncId, Function, FunctionKind, Guard, Inst, Kind, Module, Operand, Param,
    ParamKind, Pure, PureOp, Reg, RegClass, RegInfo, StackVar, integer,
};
use crate::ir::{IntTy, Special};
use crate::machine::memory::Window;
use crate::machine::{AddressMap, Fault, FaultKind, Host, Launch, Limits, Scratch, Stop};
use smallvec::smallvec;
use std::sync::Arc;

fn module(functions: Vec<Function>) -> Module {
    let source = Arc::new(Source::new("test.ptx", "kernel callee\n"));
    Module {
        warnings: Diagnostics::new(Arc::clone(&source), Vec::new()),
        source,
        version: (8, 7),
        target: "sm_90".to_string(),
        address_bits: 64,
        reading: Default::default(),
        functions,
        variables: Vec::new(),
        global_bytes: 0,
        const_bytes: 0,
        files: Vec::new(),
        locations: Vec::new(),
        clusters: false,
    }
}

/// A function with registers of 32 bits and one block.
fn function(kind: FunctionKind, regs: usize, insts: Vec<Kind>, terminator: Terminator) -> Function {
    Function {
        name: "f".to_string(),
        kind,
        span: Span::new(0, 6),
        defined: true,
        params: Vec::new(),
        returns: Vec::new(),
        param_bytes: 0,
        return_bytes: 0,
        regs: vec![
            RegInfo {
                class: RegClass::B32,
                name: "".into()
            };
            regs
        ],
        carry: None,
        locals: Vec::new(),
        local_bytes: 0,
        local_align: 16,
        frame: Vec::new(),
        frame_bytes: 0,
        blocks: vec![block(insts, terminator)],
        threads: Default::default(),
        clusters: Default::default(),
        shared_bytes: 0,
        shared_align: 16,
        unsupported: Vec::new(),
    }
}

fn block(insts: Vec<Kind>, terminator: Terminator) -> BasicBlock {
    BasicBlock {
        label: None,
        insts: insts.into_iter().map(inst).collect(),
        terminator,
        span: Span::new(7, 13),
        location: u32::MAX,
    }
}

fn inst(kind: Kind) -> Inst {
    Inst {
        guard: None,
        kind,
        span: Span::new(7, 13),
        location: u32::MAX,
    }
}

/// A function of one 32-bit parameter in register 0 and one result in register 1.
fn unary(regs: usize, insts: Vec<Kind>, terminator: Terminator) -> Function {
    let param = |reg| Param {
        name: format!("p{reg}"),
        ty: WORD,
        declared: "b32".to_string(),
        array: false,
        kind: ParamKind::Reg(Reg(reg)),
        offset: 0,
    };
    Function {
        params: vec![param(0)],
        returns: vec![param(1)],
        param_bytes: 4,
        return_bytes: 4,
        ..function(FunctionKind::Device, regs, insts, terminator)
    }
}

const WORD: ParamTy = ParamTy { size: 4, align: 4 };

fn reg(index: u32) -> Operand {
    Operand::Reg(Reg(index))
}

fn add(dst: u32, a: Operand, b: Operand) -> Kind {
    Kind::Pure(Pure {
        op: PureOp::Integer(integer::Op::Add {
            ty: IntTy::U32,
            sat: false,
        }),
        dsts: smallvec![Some(Reg(dst))],
        srcs: smallvec![a, b],
    })
}

fn call(callee: Callee, arg: Operand, result: u32) -> Kind {
    Kind::Call(Call {
        callee,
        args: vec![Slot::Value(arg)],
        results: vec![Slot::Value(reg(result))],
    })
}

fn local_address(offset: i64) -> Address {
    Address {
        base: Base::Var(Var::Local(0)),
        offset,
    }
}

fn load(dst: u32, addr: Address) -> Kind {
    Kind::Load(Load {
        space: Space::Local,
        bytes: 4,
        signed: false,
        align: 4,
        dsts: smallvec![Some(Reg(dst))],
        addr,
        order: Order::Weak,
        read_only: false,
    })
}

fn store(src: Operand, addr: Address) -> Kind {
    Kind::Store(Store {
        space: Space::Local,
        bytes: 4,
        align: 4,
        srcs: smallvec![src],
        addr,
        order: Order::Weak,
    })
}

fn with_local(function: Function, bytes: u32) -> Function {
    let ty = ParamTy {
        size: bytes,
        align: 16,
    };
    Function {
        locals: vec![StackVar {
            name: "x".to_string(),
            ty,
            offset: 0,
        }],
        local_bytes: bytes,
        ..function
    }
}

/// Bounds for a test.
#[derive(Clone, Copy)]
struct Bounds {
    steps: u64,
    call_depth: u32,
    local_bytes: u32,
}

const BOUNDS: Bounds = Bounds {
    steps: 10_000,
    call_depth: 10,
    local_bytes: 256,
};

fn with_launch<T>(bounds: Bounds, stop: &Stop, f: impl FnOnce(&Launch<'_>, &Scratch) -> T) -> T {
    let map = AddressMap::default();
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        clusters: crate::machine::Clusters::ALONE,
        params: &[],
        dynamic_shared: 0,
        map: &map,
        globals: 0,
        constants: Window::EMPTY,
        host: &Host::default(),
        together: false,
        limits: Limits {
            stop,
            steps: bounds.steps,
            call_depth: bounds.call_depth,
            local_bytes: bounds.local_bytes,
        },
    };
    f(
        &launch,
        &Scratch::try_new(1024, bounds.local_bytes as usize).unwrap(),
    )
}

/// Calls function 0 with a word, gives its word.
fn call_with(module: &Module, bounds: Bounds, arg: u32) -> Result<u32, Fault> {
    with_launch(bounds, &Stop::new(), |launch, scratch| {
        let mut result = [0xff; 4];
        Interpreter::new(Arc::new(module.clone())).call(
            FuncId(0),
            launch,
            scratch,
            &arg.to_le_bytes(),
            &mut result,
            &mut NoTrace,
        )?;
        Ok(u32::from_le_bytes(result))
    })
}

fn kind_of<T: std::fmt::Debug>(result: Result<T, Fault>) -> (FaultKind, u32) {
    let fault = result.unwrap_err();
    (fault.kind, fault.span.start)
}

/// Where an instruction stands, and where the function's name does.
const AT_INST: u32 = 7;
const AT_NAME: u32 = 0;

#[test]
fn arguments_and_results_in_registers() {
    let callee = unary(2, vec![add(1, reg(0), Operand::Imm(1))], Terminator::Return);
    let caller = unary(
        3,
        vec![
            call(Callee::Direct(FuncId(1)), reg(0), 2),
            call(Callee::Direct(FuncId(1)), reg(2), 2),
            add(1, reg(2), reg(0)),
        ],
        Terminator::Return,
    );
    let module = module(vec![caller, callee]);
    assert_eq!(call_with(&module, BOUNDS, 20), Ok(42));
}

#[test]
fn exit_in_a_call_ends_the_thread() {
    let callee = unary(2, vec![add(1, reg(0), Operand::Imm(1))], Terminator::Exit);
    let caller = unary(
        2,
        vec![call(Callee::Direct(FuncId(1)), reg(0), 1)],
        Terminator::Trap,
    );
    let module = module(vec![caller, callee]);
    assert_eq!(call_with(&module, BOUNDS, 20), Ok(0));
}

/// f(n) = n == 0 ? 0 : f(n - 1) + 1
fn recursive(local: u32) -> Function {
    let mut function = unary(4, Vec::new(), Terminator::Return);
    let setp = Kind::Pure(Pure {
        op: PureOp::Compare(crate::ir::compare::Op::Setp {
            cmp: crate::ir::compare::CmpOp::Eq,
            ty: IntTy::U32,
            combine: None,
        }),
        dsts: smallvec![Some(Reg(2)), None],
        srcs: smallvec![reg(0), Operand::Imm(0)],
    });
    function.regs[2].class = RegClass::Pred;
    function.blocks = vec![
        block(
            vec![setp],
            Terminator::Branch {
                cond: Reg(2),
                then: Block(2),
                other: Block(1),
            },
        ),
        block(
            vec![
                add(3, reg(0), Operand::Imm(u64::MAX)),
                call(Callee::Direct(FuncId(0)), reg(3), 3),
                add(1, reg(3), Operand::Imm(1)),
            ],
            Terminator::Return,
        ),
        block(Vec::new(), Terminator::Return),
    ];
    if local > 0 {
        with_local(function, local)
    } else {
        function
    }
}

#[test]
fn recursion_ends_at_the_depth_that_is_allowed() {
    let module = module(vec![recursive(0)]);
    assert_eq!(call_with(&module, BOUNDS, 10), Ok(10));
    let over = kind_of(call_with(&module, BOUNDS, 11));
    assert_eq!(over, (FaultKind::StackOverflow, AT_INST));
}

#[test]
fn recursion_ends_where_local_memory_does() {
    // Frames of 20 bytes at multiples of 16: the eighth ends at 7 * 32 + 20 = 244.
    let module = module(vec![recursive(20)]);
    assert_eq!(call_with(&module, BOUNDS, 7), Ok(7));
    let fault = call_with(&module, BOUNDS, 8).unwrap_err();
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    assert!(fault.to_string().contains("local memory"), "{fault}");
}

#[test]
fn depth_is_looked_at_before_local_memory() {
    let bounds = Bounds {
        call_depth: 7,
        ..BOUNDS
    };
    let fault = call_with(&module(vec![recursive(20)]), bounds, 8).unwrap_err();
    assert!(fault.to_string().contains("nested calls"), "{fault}");
}

#[test]
fn first_frame_too_large_is_told_where_the_name_stands() {
    let function = with_local(unary(2, Vec::new(), Terminator::Return), 257);
    let over = kind_of(call_with(&module(vec![function]), BOUNDS, 0));
    assert_eq!(over, (FaultKind::StackOverflow, AT_NAME));
}

#[test]
fn local_memory_ends_with_the_innermost_frame() {
    let reads = |offset| {
        let insts = vec![load(1, local_address(offset))];
        module(vec![with_local(unary(2, insts, Terminator::Return), 20)])
    };
    assert_eq!(call_with(&reads(16), BOUNDS, 0), Ok(0));
    let fault = call_with(&reads(20), BOUNDS, 0).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    let nearest = fault.nearest.unwrap();
    assert_eq!((nearest.offset, nearest.size), (20, 20));
    assert_eq!(
        kind_of(call_with(&reads(18), BOUNDS, 0)),
        (FaultKind::Misaligned, AT_INST)
    );
}

#[test]
fn frames_are_zeroed_and_the_callers_is_kept() {
    // The callee gives what it finds and leaves something behind.
    let callee = with_local(
        unary(
            2,
            vec![load(1, local_address(0)), store(reg(0), local_address(0))],
            Terminator::Return,
        ),
        16,
    );
    let caller = with_local(
        unary(
            4,
            vec![
                store(reg(0), local_address(12)),
                call(Callee::Direct(FuncId(1)), reg(0), 2),
                call(Callee::Direct(FuncId(1)), reg(0), 3),
                load(1, local_address(12)),
                add(1, reg(1), reg(2)),
                add(1, reg(1), reg(3)),
            ],
            Terminator::Return,
        ),
        16,
    );
    assert_eq!(call_with(&module(vec![caller, callee]), BOUNDS, 5), Ok(5));
}

fn indirect(address: u64, ty: CallType) -> Module {
    let callee = unary(2, vec![add(1, reg(0), Operand::Imm(1))], Terminator::Return);
    let target = Operand::Imm(address);
    let insts = vec![call(Callee::Indirect { target, ty }, reg(0), 1)];
    let caller = unary(2, insts, Terminator::Return);
    let undefined = Function {
        defined: false,
        blocks: Vec::new(),
        ..unary(2, Vec::new(), Terminator::Return)
    };
    let kernel = function(FunctionKind::Kernel, 0, Vec::new(), Terminator::Return);
    module(vec![caller, callee, undefined, kernel])
}

#[test]
fn indirect_calls_reach_functions_of_their_type_only() {
    let address = |index| crate::machine::window::function(index, 64);
    let ty = CallType {
        params: vec![WORD],
        returns: vec![WORD],
    };
    assert_eq!(
        call_with(&indirect(address(1), ty.clone()), BOUNDS, 41),
        Ok(42)
    );
    let other = CallType {
        params: vec![WORD, WORD],
        returns: vec![WORD],
    };
    for (address, ty) in [
        (address(1), other),
        (address(1) + 8, ty.clone()),
        (address(2), ty.clone()),
        (address(3), CallType::default()),
        (address(4), ty.clone()),
        (0, ty),
    ] {
        let result = call_with(&indirect(address, ty), BOUNDS, 41);
        assert_eq!(
            kind_of(result),
            (FaultKind::BadCall, AT_INST),
            "{address:#x}"
        );
    }
}

#[test]
fn table_jumps_stay_in_their_table() {
    let mut function = unary(2, Vec::new(), Terminator::Return);
    function.blocks = vec![
        block(
            Vec::new(),
            Terminator::Table {
                index: reg(0),
                targets: vec![Block(2), Block(1)],
            },
        ),
        block(
            vec![add(1, Operand::Imm(10), Operand::Imm(0))],
            Terminator::Return,
        ),
        block(
            vec![add(1, Operand::Imm(20), Operand::Imm(0))],
            Terminator::Return,
        ),
    ];
    let module = module(vec![function]);
    assert_eq!(call_with(&module, BOUNDS, 0), Ok(20));
    assert_eq!(call_with(&module, BOUNDS, 1), Ok(10));
    for index in [2, u32::MAX] {
        assert_eq!(
            kind_of(call_with(&module, BOUNDS, index)),
            (FaultKind::BadCall, AT_INST)
        );
    }
}

#[test]
fn what_is_unsupported_ends_in_a_fault() {
    let module = module(vec![unary(2, vec![Kind::Unsupported], Terminator::Return)]);
    assert_eq!(
        kind_of(call_with(&module, BOUNDS, 0)),
        (FaultKind::Trap, AT_INST)
    );
}

#[test]
fn endless_loops_end() {
    let module = module(vec![unary(2, Vec::new(), Terminator::Jump(Block(0)))]);
    assert_eq!(
        kind_of(call_with(&module, BOUNDS, 0)).0,
        FaultKind::TimeLimit
    );
    let endless = Bounds {
        steps: u64::MAX,
        ..BOUNDS
    };
    let stop = Stop::new();
    let result = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            with_launch(endless, &stop, |launch, scratch| {
                Interpreter::new(Arc::new(module.clone())).call(
                    FuncId(0),
                    launch,
                    scratch,
                    &[0; 4],
                    &mut [0; 4],
                    &mut NoTrace,
                )
            })
        });
        stop.raise();
        running.join().unwrap()
    });
    assert_eq!(kind_of(result).0, FaultKind::TimeLimit);
}

#[test]
fn traces_show_operands_and_what_guards_held_back() {
    let mut function = unary(
        3,
        vec![
            add(1, reg(0), Operand::Imm(1)),
            add(1, reg(1), reg(1)),
            Kind::Special {
                dst: Reg(2),
                special: Special::Ntid(0),
            },
        ],
        Terminator::Return,
    );
    function.blocks[0].insts[1].guard = Some(Guard {
        reg: Reg(2),
        negated: false,
    });
    let module = module(vec![function]);
    let mut seen = Vec::new();
    let steps = with_launch(BOUNDS, &Stop::new(), |launch, scratch| {
        Interpreter::new(Arc::new(module.clone())).call(
            FuncId(0),
            launch,
            scratch,
            &[4, 0, 0, 0],
            &mut [0; 4],
            &mut |step: &Step<'_>| {
                seen.push((step.executed, step.reads.to_vec(), step.writes.to_vec()));
            },
        )
    });
    assert_eq!(steps, Ok(4));
    let expected = [
        (true, vec![(Reg(0), 4)], vec![(Reg(1), 5)]),
        (false, vec![(Reg(2), 0), (Reg(1), 5), (Reg(1), 5)], vec![]),
        (true, vec![], vec![(Reg(2), 1)]),
        (true, vec![], vec![]),
    ];
    assert_eq!(seen, expected);
}
