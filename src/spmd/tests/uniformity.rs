//! How values differ between threads that go together.

use crate::diag::Source;
use crate::ir::Module;
use crate::spmd::facts::SHALLOW;
use crate::spmd::{ModulePlan, Name, Shape};

/// The shapes of some registers of a kernel with this body.
fn shapes(body: &str, registers: &[&str]) -> Vec<Shape> {
    let text = format!(
        ".version 8.7\n.target sm_90\n.address_size 64\n.shared .b32 tile[64];\n.entry k(.param .u64 p, .param .u32 n) {{
         .reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %t, %n, %r<6>; .reg .b64 %b, %d<6>;
         ld.param.u64 %b, [p]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; {body} ret; }}"
    );
    let module = crate::check::parse_and_check(Source::new("test.ptx", text));
    let module: Module = module.unwrap_or_else(|e| panic!("{e}"));
    let plan = ModulePlan::new(&module, true, SHALLOW, |_| 8);
    let own = plan.functions[0].as_ref().expect("it can be compiled");
    let wide = own.wide.as_ref().expect("its threads may go together");
    let function = &module.functions[0];
    (registers.iter())
        .map(|wanted| {
            let index = function.regs.iter().position(|r| *r.name == **wanted);
            wide.uniformity.of(Name(index.expect("declared") as u32))
        })
        .collect()
}

use Shape::{Affine, Uniform, Varying};

#[test]
fn threads_differ_by_their_index() {
    let body = "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mad.lo.u32 %r2, %r0, %r1, %t; mov.u32 %r3, %tid.y; sub.u32 %r4, %n, %t;
        and.b32 %r5, %t, 3;";
    assert_eq!(
        shapes(body, &["%t", "%r1", "%r2", "%r3", "%r4", "%r5"]),
        [Affine(1), Uniform, Affine(1), Uniform, Affine(-1), Varying]
    );
}

#[test]
fn bits_of_an_index_are_thought_to_be_of_a_run() {
    // Eight threads go together.
    let body = "and.b32 %r0, %t, 7; and.b32 %r1, %t, 120; shr.u32 %r2, %t, 3; shr.u32 %r3, %t, 2; and.b32 %r4, %r3, 6; and.b32 %r5, %r3, 1;";
    assert_eq!(
        shapes(body, &["%r0", "%r1", "%r2", "%r3", "%r4", "%r5"]),
        [Affine(1), Uniform, Uniform, Varying, Uniform, Varying]
    );
    let body = "shl.b32 %r0, %t, 2; and.b32 %r1, %r0, 508; or.b32 %r2, %r1, 3; shl.b32 %r3, %n, 9; or.b32 %r4, %r3, %r1; and.b32 %r5, %r0, 24;";
    assert_eq!(
        shapes(body, &["%r0", "%r1", "%r2", "%r3", "%r4", "%r5"]),
        [Affine(4), Affine(4), Affine(4), Uniform, Affine(4), Varying]
    );
    let body = "and.b32 %r0, %t, -8; and.b32 %r1, %t, 85; shl.b32 %r2, %t, 29; or.b32 %r3, %r2, %n; bfe.u32 %r4, %t, 3, 4; bfe.u32 %r5, %t, 2, 4;";
    assert_eq!(
        shapes(body, &["%r0", "%r1", "%r2", "%r3", "%r4", "%r5"]),
        [Uniform, Varying, Affine(1 << 29), Varying, Uniform, Varying]
    );
}

#[test]
fn strides_are_scaled_and_wrap_with_the_width() {
    let body = "shl.b32 %r0, %t, 4; mul.lo.u32 %r1, %t, -3; mad.lo.u32 %r2, %t, 5, %r0; shl.b32 %r3, %t, 32; mul.lo.u32 %r4, %t, %n;
        cvt.u16.u32 %h0, %r0; shl.b16 %h1, %h0, 12; sub.u32 %r5, %t, %t;";
    assert_eq!(
        shapes(
            body,
            &["%r0", "%r1", "%r2", "%r3", "%r4", "%h0", "%h1", "%r5"]
        ),
        [
            Affine(16),
            Affine(-3),
            Affine(21),
            Varying,
            Varying,
            Affine(16),
            // 16 << 12 is 0 in 16 bits.
            Uniform,
            Uniform
        ]
    );
}

#[test]
fn widening_is_thought_not_to_wrap() {
    let body = "mul.wide.u32 %d0, %t, 4; add.u64 %d1, %b, %d0; mad.wide.s32 %d2, %t, -8, %b; cvt.u64.u32 %d3, %t; mul.wide.u32 %d4, %n, 12;
        cvt.s64.u32 %d5, %t;";
    assert_eq!(
        shapes(body, &["%d0", "%d1", "%d2", "%d3", "%d4", "%d5"]),
        [
            Affine(4),
            Affine(4),
            Affine(-8),
            Affine(1),
            Uniform,
            Affine(1)
        ]
    );
    // As an unsigned number the factor is 4294967295.
    assert_eq!(shapes("mul.wide.u32 %d0, %t, -1;", &["%d0"]), [Varying]);
}

#[test]
fn all_definitions_count() {
    let body = "mov.u32 %r0, 0; mov.u32 %r1, %t; setp.eq.u32 %p0, %n, 3; @%p0 mov.u32 %r1, 7; add.u32 %r2, %r0, 1; L: add.u32 %r0, %r0, 2;
        setp.lt.u32 %p1, %r0, %n; @%p1 bra L;";
    assert_eq!(
        shapes(body, &["%r0", "%r1", "%r2", "%p0", "%p1"]),
        [Uniform, Varying, Uniform, Uniform, Uniform]
    );
    // It may be read before it is written, and is 0 then.
    let body = "setp.eq.u32 %p0, %n, 3; @%p0 bra L; mov.u32 %r0, %t; L: add.u32 %r1, %r0, 1;";
    assert_eq!(shapes(body, &["%r0", "%r1"]), [Varying, Varying]);
}

#[test]
fn memory_is_the_same_where_the_address_is() {
    let body = "ld.global.u32 %r0, [%b]; mad.wide.u32 %d0, %t, 4, %b; ld.global.u32 %r1, [%d0]; ld.volatile.global.u32 %r2, [%b];
        ld.shared.u32 %r3, [tile+4]; setp.lt.u32 %p0, %t, 3; @%p0 ld.global.u32 %r4, [%b];";
    assert_eq!(
        shapes(body, &["%r0", "%r1", "%r2", "%r3", "%r4"]),
        [Uniform, Varying, Varying, Uniform, Varying]
    );
}

#[test]
fn lanes_of_a_warp() {
    let body = "mov.u32 %r0, %laneid; bar.sync 0; mov.u32 %r1, %warpid; mov.u32 %r2, %lanemask_lt;";
    assert_eq!(
        shapes(body, &["%r0", "%r1", "%r2"]),
        [Affine(1), Uniform, Varying]
    );
    // Runs of threads in x may cross warps.
    let body = "mov.u32 %r0, %laneid; mov.u32 %r1, %warpid;";
    assert_eq!(shapes(body, &["%r0", "%r1"]), [Varying, Varying]);
}
