//! Launches that mean harm: extents out of range, endless loops, wild addresses, calls and jumps to anywhere.

use crate::case::{Case, MANY, each, module};
use ptxlift::FaultKind;

/// A kernel with registers of each kind; its statements begin in line 6.
fn kernel(statements: &str) -> Vec<u8> {
    module(&format!(
        ".entry k() {{\n.reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;\n{statements}\n}}"
    ))
}

pub fn cases() -> Vec<Case> {
    [extents(), endless(), calls(), addresses(), large()]
        .into_iter()
        .flatten()
        .collect()
}

fn nothing() -> Vec<u8> {
    kernel("ret;")
}

fn extents() -> Vec<Case> {
    let most = i32::MAX as u32;
    vec![
        Case::new("a grid of 2^31 blocks", nothing)
            .grid([1 << 31, 1, 1])
            .usage("a grid of (2147483648, 1, 1) is out of range: each from 1 to (2147483647, 65535, 65535)"),
        Case::new("a grid of 2^31 - 1 blocks", nothing)
            .grid([most, 1, 1])
            .limit(300)
            .fault(0, FaultKind::TimeLimit),
        Case::new("the largest grid", nothing)
            .grid([most, 65535, 65535])
            .block([1024, 1, 1])
            .limit(300)
            .fault(0, FaultKind::TimeLimit),
        Case::new("a grid past all numbers", nothing)
            .grid([u32::MAX; 3])
            .usage("is out of range: each from 1 to (2147483647, 65535, 65535)"),
        Case::new("a grid of nothing", nothing)
            .grid([1, 0, 1])
            .usage("a grid of (1, 0, 1) is out of range"),
        Case::new("a block of 1025 threads", nothing)
            .block([1025, 1, 1])
            .usage("a block of (1025, 1, 1) is out of range: each from 1 to (1024, 1024, 64)"),
        Case::new("a block of 1025 threads in a square", nothing)
            .block([25, 41, 1])
            .usage("a block of (25, 41, 1) has 1025 threads, more than 1024"),
        Case::new("a block of nothing", nothing)
            .block([0; 3])
            .usage("a block of (0, 0, 0) is out of range"),
        Case::new("a block past all numbers", nothing)
            .block([u32::MAX; 3])
            .usage("is out of range: each from 1 to (1024, 1024, 64)"),
        Case::new("4 GiB of dynamic shared memory", nothing)
            .shared(u32::MAX)
            .usage("4294967295 bytes of dynamic shared memory are more than the 232448 that a block may have"),
        Case::new("a buffer of no elements", || {
            module(".entry k(.param .u64 p) {\n.reg .b32 %r; .reg .b64 %d;\nld.param.u64 %d, [p];\nld.global.u32 %r, [%d];\nret; }")
        })
        .buffer(0)
        .fault(7, FaultKind::OutOfBounds),
    ]
}

fn endless() -> Vec<Case> {
    let endless = |name, text| {
        Case::new(name, text)
            .limit(300)
            .fault(6, FaultKind::TimeLimit)
    };
    vec![
        endless("a loop without end", || kernel("L: bra L;")),
        endless("a loop that only returns where it never comes", || {
            kernel("L: setp.ne.u32 %p, %r0, 0; @%p bra E; bra L;\nE: ret;")
        }),
        endless("a kernel that waits for ever", || {
            module(
                ".global .u32 flag;\n.entry k() { .reg .pred %p; .reg .b32 %r;\n\
                    L: ld.volatile.global.u32 %r, [flag]; setp.eq.u32 %p, %r, 0; @%p bra L; ret; }",
            )
        }),
        endless("a kernel that sleeps for ever", || {
            kernel("L: nanosleep.u32 1000000; bra L;")
        }),
        endless("a table of jumps that leads back to itself", || {
            kernel("T: .branchtargets L, M; L: brx.idx %r0, T; M: ret;")
        }),
        endless("a million threads, each without end", || {
            kernel("L: bra L;")
        })
        .grid([1000, 1, 1])
        .block([1000, 1, 1]),
        Case::new("calls without end", || {
            module(".func f() { ret; }\n.entry k() {\nL: call f; bra L; }")
        })
        .limit(300)
        .fault(0, FaultKind::TimeLimit),
        Case::new("calls that double forty times each other", || {
            let row = each(40, |i| {
                format!(".func f{}() {{ call f{i}; call f{i}; ret; }} ", i + 1)
            });
            module(&format!(
                ".func f0() {{ ret; }} {row}\n.entry k() {{\ncall f40; ret; }}"
            ))
        })
        .limit(300)
        .fault(0, FaultKind::TimeLimit),
    ]
}

fn calls() -> Vec<Case> {
    vec![
        Case::new("runaway recursion", || module(".func f() {\ncall f;\nret; }\n.entry k() { call f; ret; }"))
            .fault(5, FaultKind::StackOverflow),
        Case::new("runaway recursion of two", || {
            module(".func g();\n.func f() {\ncall g;\nret; }\n.func g() {\ncall f;\nret; }\n.entry k() { call f; ret; }")
        })
        .fault(9, FaultKind::StackOverflow),
        Case::new("runaway recursion with large frames", || {
            module(".func f() {\n.local .b8 x[100000]; st.local.u8 [x], 1;\ncall f;\nret; }\n.entry k() { call f; ret; }")
        })
        .fault(6, FaultKind::StackOverflow),
        Case::new("runaway recursion through a pointer", || {
            module(".func f() {\n.reg .b64 %d; p: .callprototype _ ();\nmov.u64 %d, f;\ncall %d, p;\nret; }\n.entry k() { call f; ret; }")
        })
        .fault(7, FaultKind::StackOverflow),
        Case::new("runaway recursion in 1024 threads of 64 blocks", || {
            module(".func f() {\ncall f;\nret; }\n.entry k() { call f; ret; }")
        })
        .grid([64, 1, 1])
        .block([1024, 1, 1])
        .fault(5, FaultKind::StackOverflow),
        Case::new("more local memory than there is", || {
            module(".entry k()\n{ .local .b8 x[268435456]; st.local.u8 [x], 1; ret; }")
        })
        .fault(4, FaultKind::StackOverflow),
        Case::new("an indirect call to data", || {
            module(".global .b32 g[4];\n.entry k() {\n.reg .b64 %d;\nplain: .callprototype _ ();\nmov.u64 %d, g;\ncall %d, plain;\nret; }")
        })
        .fault(9, FaultKind::BadCall),
        Case::new("an indirect call to nothing", || {
            kernel("plain: .callprototype _ (); mov.u64 %d0, 0;\ncall %d0, plain;\nret;")
        })
        .fault(7, FaultKind::BadCall),
        Case::new("an indirect call to all ones", || {
            kernel("plain: .callprototype _ (); mov.u64 %d0, -1;\ncall %d0, plain;\nret;")
        })
        .fault(7, FaultKind::BadCall),
        Case::new("an indirect call into the middle of a function", || {
            module(".func f() { ret; }\n.entry k() {\n.reg .b64 %d; plain: .callprototype _ ();\nmov.u64 %d, f; add.u64 %d, %d, 1;\ncall %d, plain;\nret; }")
        })
        .fault(8, FaultKind::BadCall),
        Case::new("an indirect call with other parameters", || {
            module(".func f(.param .b32 a) { ret; }\n.entry k() {\n.reg .b64 %d; wide: .callprototype _ (.param .b64 _);\nmov.u64 %d, f;\ncall %d, (5), wide;\nret; }")
        })
        .fault(8, FaultKind::BadCall),
        Case::new("a jump past the end of its table", || {
            kernel("T: .branchtargets L, M; mov.u32 %r0, 2;\nbrx.idx %r0, T;\nL: ret;\nM: ret;")
        })
        .fault(7, FaultKind::BadCall),
        Case::new("a jump at -1 of its table", || {
            kernel("T: .branchtargets L, M; mov.u32 %r0, -1;\nbrx.idx %r0, T;\nL: ret;\nM: ret;")
        })
        .fault(7, FaultKind::BadCall),
    ]
}

fn addresses() -> Vec<Case> {
    let wild = |name, text: fn() -> Vec<u8>| Case::new(name, text).fault(7, FaultKind::OutOfBounds);
    vec![
        wild("a load from nothing", || kernel("\nld.global.u32 %r0, [%d0]; ret;")),
        wild("a store to the last address", || kernel("mov.u64 %d0, -4;\nst.global.u32 [%d0], 1; ret;")),
        wild("a load across the end of all addresses", || kernel("mov.u64 %d0, -16;\nld.v2.u64 {%d1, %d2}, [%d0]; ret;")),
        wild("a store to an address of no form", || kernel("mov.u64 %d0, 0x8000000000000000;\nst.u8 [%d0], 1; ret;")),
        wild("a store to our own code", || {
            module(".func f() { ret; }\n.entry k() {\n.reg .b64 %d; mov.u64 %d, f;\nst.u8 [%d], 1; ret; }")
        }),
        wild("a store past shared memory", || {
            kernel(".shared .b32 s[4]; mov.u64 %d0, s;\nst.shared.u32 [%d0+16], 1; ret;")
        }),
        wild("a store before local memory", || {
            kernel(".local .b32 s[4]; mov.u64 %d0, s;\nst.local.u32 [%d0+-4], 1; ret;")
        }),
        Case::new("a store to a constant", || {
            module(".const .b32 c = 1;\n.entry k() {\n.reg .b64 %d; mov.u64 %d, c; cvta.const.u64 %d, %d;\nst.u32 [%d], 1; ret; }")
        })
        .fault(7, FaultKind::ReadOnly),
        Case::new("a load across the end of a buffer", || {
            module(".entry k(.param .u64 p) {\n.reg .b64 %d<3>; ld.param.u64 %d0, [p];\nld.global.v2.u64 {%d1, %d2}, [%d0+4088]; ret; }")
        })
        .buffer(1025)
        .fault(6, FaultKind::Misaligned),
        Case::new("an offset of 2^31 - 1 past a buffer", || {
            module(".entry k(.param .u64 p) {\n.reg .b64 %d<3>; ld.param.u64 %d0, [p];\nst.global.u8 [%d0+2147483647], 1; ret; }")
        })
        .buffer(1024)
        .fault(6, FaultKind::OutOfBounds),
    ]
}

/// Bodies that take long to compile, if anything does.
fn large() -> Vec<Case> {
    vec![
        Case::new("a kernel of a hundred thousand instructions", || {
            kernel(&format!(
                "{}ret;",
                each(100 * MANY, |i| format!(
                    "mad.lo.u32 %r{}, %r{}, %r{}, {i};\n",
                    i % 9,
                    i % 7,
                    i % 5
                ))
            ))
        })
        .launched()
        .within(4.0, 500),
        Case::new("a kernel of half a million instructions", || {
            kernel(&format!("{}ret;", "add.u32 %r0, %r0, 1;\n".repeat(500_000)))
        })
        .unsupported("too many instructions: 500001, where 400000 are the limit")
        .within(4.0, 1000),
        Case::new(
            "two hundred thousand loads through unknown pointers",
            || {
                kernel(&format!(
                    "{}ret;",
                    "ld.u64 %d0, [%d0];\n".repeat(200 * MANY)
                ))
            },
        )
        .unsupported("too many Cranelift instructions: 3400002, where 2000000 are the limit")
        .within(4.0, 1000),
        Case::new("loops in each other, a thousand", || {
            let heads = each(MANY, |i| format!("L{i}: add.u32 %r1, %r1, 1;\n"));
            let tails = each(MANY, |i| {
                format!(
                    "setp.gt.u32 %p, %r1, {}; @!%p bra L{};\n",
                    MANY + i,
                    MANY - 1 - i
                )
            });
            kernel(&format!("{heads}{tails}ret;"))
        })
        .launched()
        .within(10.0, 300),
        Case::new("loops in each other, ten thousand", || {
            let count = 10_000;
            let heads = each(count, |i| format!("L{i}: add.u32 %r1, %r1, 1;\n"));
            let tails = each(count, |i| {
                format!(
                    "setp.gt.u32 %p, %r1, {}; @!%p bra L{};\n",
                    count + i,
                    count - 1 - i
                )
            });
            kernel(&format!("{heads}{tails}ret;"))
        })
        .unsupported(
            "too many visits of blocks to follow values: 20000001, where 20000000 are the limit",
        )
        .within(10.0, 500),
    ]
}
