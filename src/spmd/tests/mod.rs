//! Control flow, meeting values, provenance and runs: against definitions, and on PTX text.

use crate::diag::{Source, Span};
use crate::ir::control::Terminator;
use crate::ir::{
    BasicBlock, Block, FuncId, Function, FunctionKind, Inst, IntTy, Kind, Module, Operand, Pure,
    PureOp, Reg, RegClass, RegInfo, integer,
};
use crate::spmd::facts::SHALLOW;
use crate::spmd::{Cfg, Effort, FunctionPlan, ModulePlan, Name, Names, Root, Ssa};
use smallvec::smallvec;

mod broken;
mod floats;
mod regions;
mod turns;
mod uniformity;

/// Numbers without a pattern (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

/// `dst = src + 1`
fn increment(dst: u32, src: u32) -> Inst {
    Inst {
        guard: None,
        kind: Kind::Pure(Pure {
            op: PureOp::Integer(integer::Op::Add {
                ty: IntTy::U32,
                sat: false,
            }),
            dsts: smallvec![Some(Reg(dst))],
            srcs: smallvec![Operand::Reg(Reg(src)), Operand::Imm(1)],
        }),
        span: Span::default(),
        location: u32::MAX,
    }
}

const REGISTERS: u32 = 4;

/// A function with edges between blocks at random, and instructions that move values about.
fn random_function(numbers: &mut Numbers) -> Function {
    let count = 1 + numbers.below(10);
    let blocks = (0..count)
        .map(|_| {
            let insts = (0..numbers.below(4))
                .map(|_| {
                    let [dst, src] = [(); 2].map(|()| numbers.below(REGISTERS as usize) as u32);
                    increment(dst, src)
                })
                .collect();
            let mut block = || Block(numbers.below(count) as u32);
            let [a, b, c] = [block(), block(), block()];
            let terminator = match numbers.below(6) {
                0 => Terminator::Return,
                1 | 2 => Terminator::Jump(a),
                3 => Terminator::Table {
                    index: Operand::Reg(Reg(0)),
                    targets: vec![a, b, a, c],
                },
                _ => Terminator::Branch {
                    cond: Reg(REGISTERS),
                    then: a,
                    other: b,
                },
            };
            BasicBlock {
                label: None,
                insts,
                terminator,
                span: Span::default(),
                location: u32::MAX,
            }
        })
        .collect();
    let register = |class| RegInfo {
        class,
        name: "".into(),
    };
    let mut regs = vec![register(RegClass::B32); REGISTERS as usize];
    regs.push(register(RegClass::Pred));
    Function {
        name: "f".to_string(),
        kind: FunctionKind::Device,
        span: Span::default(),
        defined: true,
        params: Vec::new(),
        returns: Vec::new(),
        param_bytes: 0,
        return_bytes: 0,
        regs,
        carry: None,
        locals: Vec::new(),
        local_bytes: 0,
        local_align: 16,
        frame: Vec::new(),
        frame_bytes: 0,
        blocks,
        threads: Default::default(),
        clusters: Default::default(),
        shared_bytes: 0,
        shared_align: 1,
        unsupported: Vec::new(),
    }
}

fn successors(function: &Function, block: Block) -> Vec<Block> {
    let mut list = Vec::new();
    function
        .block(block)
        .terminator
        .successors(|s| list.push(s));
    list
}

/// Blocks that can be reached from the first without passing `without`.
fn reachable(function: &Function, without: Option<Block>) -> Vec<bool> {
    let mut seen = vec![false; function.blocks.len()];
    let mut stack = vec![Block(0)];
    while let Some(b) = stack.pop() {
        if Some(b) == without || std::mem::replace(&mut seen[b.index()], true) {
            continue;
        }
        stack.extend(successors(function, b));
    }
    seen
}

fn blocks(function: &Function) -> impl Iterator<Item = Block> + use<> {
    (0..function.blocks.len() as u32).map(Block)
}

#[test]
fn a_block_dominates_those_that_cannot_be_reached_without_it() {
    let mut numbers = Numbers(11);
    for _ in 0..400 {
        let function = random_function(&mut numbers);
        let cfg = Cfg::new(&function, None, &[]);
        let all = reachable(&function, None);
        let order: Vec<Block> = blocks(&function).filter(|b| all[b.index()]).collect();
        let mut found = cfg.order().to_vec();
        found.sort_unstable();
        assert_eq!(found, order);
        for &a in &order {
            let without = reachable(&function, Some(a));
            for &b in &order {
                let dominates = a != b && !without[b.index()];
                assert_eq!(cfg.strictly_dominates(a, b), dominates, "{a} {b}");
            }
        }
    }
}

#[test]
fn frontiers_are_where_dominance_ends() {
    let mut numbers = Numbers(12);
    for _ in 0..400 {
        let function = random_function(&mut numbers);
        let cfg = Cfg::new(&function, None, &[]);
        let frontiers = cfg.frontiers(1 << 20).expect("few");
        for &x in cfg.order() {
            let inside = |b: Block| b == x || cfg.strictly_dominates(x, b);
            for &y in cfg.order() {
                // y has a predecessor under x, and is not itself strictly under x.
                let expected =
                    !cfg.strictly_dominates(x, y) && cfg.preds(y).iter().any(|&p| inside(p));
                let found = frontiers[x.index()].contains(&y);
                // A block with one way in cannot be where values meet.
                let ways = cfg.preds(y).len() + usize::from(y.index() == 0);
                assert_eq!(found, expected && ways > 1, "{x} {y}");
            }
        }
        assert_eq!(
            cfg.frontiers(0).is_none(),
            frontiers.iter().any(|f| !f.is_empty())
        );
    }
}

#[test]
fn every_cycle_has_a_header() {
    let mut numbers = Numbers(13);
    for _ in 0..400 {
        let function = random_function(&mut numbers);
        let cfg = Cfg::new(&function, None, &[]);
        // Without the headers nothing goes round: peel off blocks that no other leads to.
        let mut left: Vec<Block> = cfg.order().to_vec();
        left.retain(|&b| !cfg.is_header(b));
        loop {
            let before = left.len();
            let rest = left.clone();
            left.retain(|&b| cfg.preds(b).iter().any(|p| rest.contains(p)));
            if left.len() == before {
                break;
            }
        }
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(
            cfg.has_loops(),
            cfg.order().iter().any(|&b| cfg.is_header(b))
        );
    }
}

#[test]
fn nesting_counts_each_block_once_for_each_loop_around_it() {
    let (_, plan) = planned(
        ".func f(.reg .b32 n) { .reg .pred %p;\n\
         A: sub.u32 n, n, 1; B: sub.u32 n, n, 1; C: setp.ne.u32 %p, n, 0; @%p bra C;\n\
         @%p bra B; @%p bra A; D: @%p bra D; ret; }",
    );
    let own = plan.function(FuncId(0)).expect("a plan");
    // A holds A, B, C and the two branches behind C; B holds B, C and the first branch; C and D hold themselves.
    assert_eq!(own.flow.cfg.nesting(1000), 5 + 3 + 1 + 1);
    assert_eq!(own.effort, Effort::Full);
}

/// Where a value was made: at the start, at an instruction, or where values met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Start,
    At(u32, usize),
    Met(u32, u32),
}

/// For each instruction the value of its source, found by walking down the dominator tree.
fn values_by_tree(function: &Function, cfg: &Cfg, ssa: &Ssa) -> Vec<Vec<Option<Made>>> {
    fn walk(
        function: &Function,
        cfg: &Cfg,
        ssa: &Ssa,
        node: usize,
        values: &[Made],
        found: &mut Vec<Vec<Option<Made>>>,
    ) {
        for &b in cfg.dominated(node) {
            let mut values = values.to_vec();
            for name in ssa.phis(b) {
                values[name.index()] = Made::Met(b.0, name.0);
            }
            for (i, inst) in function.block(b).insts.iter().enumerate() {
                inst.uses(|r| found[b.index()][i] = Some(values[r.index()]));
                inst.defs(|r| values[r.index()] = Made::At(b.0, i));
            }
            walk(function, cfg, ssa, b.index(), &values, found);
        }
    }
    let mut found: Vec<Vec<Option<Made>>> = (function.blocks.iter())
        .map(|b| vec![None; b.insts.len()])
        .collect();
    let start = vec![Made::Start; function.regs.len()];
    walk(function, cfg, ssa, cfg.root(), &start, &mut found);
    found
}

#[test]
fn values_found_by_the_tree_are_those_of_execution() {
    let mut numbers = Numbers(14);
    for _ in 0..400 {
        let function = random_function(&mut numbers);
        let cfg = Cfg::new(&function, None, &[]);
        let names = Names::new(&function);
        let ssa =
            Ssa::new(&function, None, &cfg, &names, &[], |_, _| false).expect("a small function");
        let found = values_by_tree(&function, &cfg, &ssa);
        // Execute, choosing ways at random. A meeting value stands for what the name held when it met.
        let mut held = vec![Made::Start; function.regs.len()];
        let mut met = std::collections::HashMap::new();
        let mut block = Block(0);
        for _ in 0..200 {
            for name in ssa.phis(block) {
                met.insert((block.0, name.0), held[name.index()]);
            }
            for (i, inst) in function.block(block).insts.iter().enumerate() {
                inst.uses(|r| {
                    let claimed = found[block.index()][i].map(|made| match made {
                        Made::Met(b, name) => met[&(b, name)],
                        other => other,
                    });
                    assert_eq!(claimed, Some(held[r.index()]), "{block} {i}");
                });
                inst.defs(|r| held[r.index()] = Made::At(block.0, i));
            }
            let next = successors(&function, block);
            if next.is_empty() {
                break;
            }
            block = next[numbers.below(next.len())];
        }
    }
}

#[test]
fn a_value_that_is_set_once_meets_nowhere() {
    let (module, plan) = planned(
        ".func f(.reg .b32 n) { .reg .pred %p; .reg .b32 %a, %b, %i;\n\
         mov.u32 %a, 5; L: add.u32 %b, %a, n; add.u32 %i, %i, %b; setp.lt.u32 %p, %i, 99; @%p bra L; ret; }",
    );
    let function = &module.functions[0];
    let own = plan.function(FuncId(0)).expect("a plan");
    let met: Vec<&str> = (own.flow.cfg.order().iter())
        .flat_map(|&b| own.flow.ssa.phis(b))
        .map(|n| &*function.regs[n.index()].name)
        .collect();
    assert_eq!(met, ["%i"]);
}

fn planned(body: &str) -> (Module, ModulePlan) {
    let text = format!(".version 8.7\n.target sm_90\n.address_size 64\n{body}");
    let source = Source::new("test.ptx", text);
    let module = crate::check::parse_and_check(source).unwrap_or_else(|e| panic!("{e}"));
    let plan = ModulePlan::new(&module, true, SHALLOW, |_| 1);
    (module, plan)
}

/// The plan of a kernel with pointers `a` at 0, `b` at 8, a number `n` at 16, registers %d, %r, %p.
fn kernel(body: &str) -> (Module, ModulePlan) {
    planned(&format!(
        ".global .align 4 .b32 g[8]; .shared .align 8 .b8 s[64];\n\
         .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 n) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %d<16>;\n\
         ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [n]; mov.u32 %r1, %tid.x;\n\
         {body}\nret; }}"
    ))
}

/// What a register of the kernel derives from.
fn root(body: &str, register: &str) -> Option<Root> {
    let (module, plan) = kernel(body);
    let own = plan.function(FuncId(0)).expect("a plan");
    let regs = &module.functions[0].regs;
    let index = regs.iter().position(|r| &*r.name == register);
    let name = Name(index.expect("the register") as u32);
    own.provenance.root(name).cloned()
}

fn params(offsets: &[u32]) -> Option<Root> {
    Some(Root::Params(offsets.iter().copied().collect()))
}

#[test]
fn addresses_derive_from_parameters_through_arithmetic() {
    for (body, expected) in [
        ("cvta.to.global.u64 %d4, %d1;", params(&[0])),
        ("mad.wide.u32 %d4, %r1, 4, %d2;", params(&[8])),
        (
            "mul.wide.u32 %d5, %r1, 4; add.s64 %d4, %d5, %d1;",
            params(&[0]),
        ),
        ("shl.b64 %d5, %d3, 2; add.s64 %d4, %d1, %d5;", params(&[0])),
        ("add.s64 %d4, %d1, %d3;", params(&[0, 16])),
        ("sub.s64 %d4, %d1, %d2;", None),
        ("sub.s64 %d4, %d1, 8;", params(&[0])),
        ("and.b64 %d4, %d1, -16;", params(&[0])),
        ("mad.lo.u64 %d4, %d3, 12, %d2;", params(&[8])),
        ("mul.lo.u64 %d4, %d1, 3;", None),
        ("mov.u64 %d4, %d1;", params(&[0])),
        (
            "setp.eq.u32 %p1, %r1, 0; selp.b64 %d4, %d1, %d2, %p1;",
            None,
        ),
        (
            "setp.eq.u32 %p1, %r1, 0; add.u64 %d5, %d1, 8; selp.b64 %d4, %d1, %d5, %p1;",
            params(&[0]),
        ),
        (
            "mov.u64 %d4, s; cvta.shared.u64 %d4, %d4;",
            Some(Root::Window(crate::ir::memory::Space::Shared)),
        ),
        ("ld.global.u64 %d4, [%d1];", None),
        ("cvt.u32.u64 %r2, %d1; cvt.u64.u32 %d4, %r2;", None),
    ] {
        assert_eq!(root(body, "%d4"), expected, "{body}");
    }
    let variable = root("mov.u64 %d5, g; mad.wide.u32 %d4, %r1, 4, %d5;", "%d4");
    assert!(matches!(variable, Some(Root::Variable(_))), "{variable:?}");
}

#[test]
fn addresses_derive_through_loops() {
    let step = "mov.u64 %d4, %d1; L: ld.global.u32 %r2, [%d4]; add.u64 %d4, %d4, ";
    let end = "; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 9; @%p1 bra L;";
    assert_eq!(root(&format!("{step}4{end}"), "%d4"), params(&[0]));
    assert_eq!(root(&format!("{step}%d3{end}"), "%d4"), params(&[0, 16]));
    let exchange = "mov.u64 %d4, %d1; mov.u64 %d5, %d2; L: mov.u64 %d6, %d4; mov.u64 %d4, %d5; mov.u64 %d5, %d6";
    assert_eq!(root(&format!("{exchange}{end}"), "%d4"), None);
}

/// Members of the runs of the kernel's first block, as indices from the first instruction of `body`.
fn runs(body: &str) -> Vec<(Vec<u32>, i64, u64, u32)> {
    let (_, plan) = kernel(body);
    let own: &FunctionPlan = plan.function(FuncId(0)).expect("a plan");
    (own.runs(Block(0)).iter())
        .map(|r| {
            let members = r.members.iter().map(|m| m - 4).collect();
            (members, r.offset, r.bytes, r.align)
        })
        .collect()
}

#[test]
fn accesses_from_one_register_run_together() {
    let three = "ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+8]; st.global.u32 [%d1+4], %r2;";
    assert_eq!(runs(three), [(vec![0, 1, 2], 0, 12, 4)]);
    // The widest decides where the range begins.
    let wide = "ld.global.u32 %r2, [%d1+4]; ld.global.u64 %d4, [%d1+8];";
    assert_eq!(runs(wide), [(vec![0, 1], 0, 16, 8)]);
    let before = "ld.global.u32 %r2, [%d1+-4]; ld.global.u8 %r3, [%d1+1];";
    assert_eq!(runs(before), [(vec![0, 1], -4, 8, 4)]);
    // No single alignment makes both aligned.
    assert_eq!(
        runs("ld.global.u32 %r2, [%d1+2]; ld.global.u64 %d4, [%d1+8];"),
        []
    );
}

#[test]
fn runs_end_where_something_else_may_fault() {
    for between in [
        "@%p1 ld.global.u32 %r4, [%d2];",
        "@%p1 ld.global.u32 %r4, [%d1+16];",
        "add.u64 %d1, %d1, 4;",
        "bar.sync 0;",
        "atom.global.add.u32 %r4, [%d2], 1;",
        // What it is based on is not known before.
        "add.u64 %d2, %d2, 4; ld.global.u32 %r4, [%d2];",
    ] {
        let body = format!("ld.global.u32 %r2, [%d1]; {between} ld.global.u32 %r3, [%d1+4];");
        assert_eq!(runs(&body), [], "{between}");
    }
    for between in [
        "add.u64 %d4, %d1, 4;",
        "ld.shared.u32 %r4, [s+8];",
        "ld.global.u32 %r4, [g+28];",
        "mov.u32 %r4, %tid.y;",
    ] {
        let body = format!("ld.global.u32 %r2, [%d1]; {between} ld.global.u32 %r3, [%d1+4];");
        assert_eq!(runs(&body), [(vec![0, 2], 0, 8, 4)], "{between}");
    }
    // Too far apart to be one range.
    assert_eq!(
        runs("ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+8192];"),
        []
    );
    // A pointer that is loaded over itself.
    assert_eq!(
        runs("ld.global.u64 %d1, [%d1]; ld.global.u64 %d4, [%d1+8];"),
        []
    );
}

#[test]
fn runs_from_several_registers_overlap() {
    let body = "ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d2]; st.global.u32 [%d1+4], %r2; ld.shared.u32 %r4, [%r1];\n\
                ld.global.u32 %r3, [%d2+4]; ld.u32 %r4, [%d1];";
    let (_, plan) = kernel(body);
    let own: &FunctionPlan = plan.function(FuncId(0)).expect("a plan");
    let found: Vec<_> = (own.runs(Block(0)).iter())
        .map(|run| {
            let from_first = |members: &[u32]| members.iter().map(|m| m - 4).collect::<Vec<_>>();
            let between: Vec<_> = (run.between.iter())
                .map(|b| from_first(&b.members))
                .collect();
            (from_first(&run.members), between)
        })
        .collect();
    // Where the first check fails, what is loaded from %d2 is judged as well; where the second does, the load of shared memory.
    assert_eq!(
        found,
        [(vec![0, 2], vec![vec![1, 4]]), (vec![1, 4], vec![vec![3]])]
    );
}

/// Functions of `size` blocks that may follow one another in any order, and as many registers that all of them read.
fn tangled(functions: usize, size: usize) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for f in 0..functions {
        let labels: Vec<String> = (0..size).map(|i| format!("L{i}")).collect();
        let _ = writeln!(
            text,
            ".func f{f}() {{ .reg .b32 %r<{size}>; T: .branchtargets {};",
            labels.join(", ")
        );
        for i in 0..size {
            let next = (i + 1) % size;
            let _ = writeln!(
                text,
                "L{i}: add.u32 %r{i}, %r{i}, %r{next}; brx.idx %r{i}, T;"
            );
        }
        text += "ret; }\n";
    }
    text
}

#[test]
fn values_that_meet_are_limited_for_the_whole_module() {
    // 90 * 90 edges with up to 90 values each are 729 000; two functions are below two million together, three not.
    let (_, plan) = planned(&tangled(3, 90));
    let absent: Vec<bool> = plan.absent.iter().map(Option::is_some).collect();
    assert_eq!(absent, [false, false, true]);
}

#[test]
fn facts_spread_to_callers() {
    let (module, plan) = planned(
        ".func leaf(.reg .b32 x) { add.u32 x, x, 1; ret; }\n\
         .func quiet() { call leaf, (1); ret; }\n\
         .func reads(.reg .b64 p) { .reg .b32 %r; ld.u32 %r, [p]; ret; }\n\
         .func above() { call reads, (0); ret; }\n\
         .func ends() { exit; }\n\
         .func self() { call self; ret; }\n\
         .func over() { call self; call ends; ret; }\n",
    );
    let facts = |name: &str| plan.facts[module.function(name).expect("the function").index()];
    assert!(facts("leaf").is_simple() && facts("quiet").is_simple());
    assert!(facts("reads").faults && facts("above").faults && !facts("above").exits);
    assert!(facts("ends").exits && facts("over").exits && !facts("ends").faults);
    assert!(facts("self").deep && facts("self").counted && facts("self").faults);
    assert!(!facts("over").deep && facts("over").counted);
    assert!(!facts("leaf").deep && !facts("leaf").counted);
}
