//! Names that hold results of arithmetic alone.

use crate::diag::Source;
use crate::ir::float::FloatTy;
use crate::ir::{FuncId, Module};
use crate::spmd::{Floats, Name, Names};

/// The format of each register of a function with this body, by name.
fn formats(body: &str) -> Vec<(String, Option<FloatTy>)> {
    let text = format!(
        ".version 8.7\n.target sm_100\n.address_size 64\n.func f(.reg .b32 %param) {{
         .reg .pred %p; .reg .b32 %a, %b, %c; .reg .b64 %w, %at; {body} ret; }}"
    );
    let module = crate::check::parse_and_check(Source::new("test.ptx", text));
    let module: Module = module.unwrap_or_else(|e| panic!("{e}"));
    let function = &module.functions[FuncId(0).index()];
    let floats = Floats::new(function, &Names::new(function));
    (function.regs.iter().enumerate())
        .map(|(i, reg)| (reg.name.to_string(), floats.of(Name(i as u32))))
        .collect()
}

fn format(body: &str, name: &str) -> Option<FloatTy> {
    let all = formats(body);
    all.iter().find(|(n, _)| n == name).expect("declared").1
}

#[test]
fn results_and_what_is_made_of_them() {
    let body = "mov.f32 %a, 0f3F800000; L: fma.rn.f32 %a, %a, %b, %b; mov.b32 %c, %a; @%p bra L; add.f64 %w, %w, %w;";
    assert_eq!(format(body, "%a"), Some(FloatTy::F32));
    assert_eq!(format(body, "%c"), Some(FloatTy::F32), "it is only ever %a");
    assert_eq!(format(body, "%w"), Some(FloatTy::F64));
    assert_eq!(format(body, "%b"), None, "nothing defines it");
}

#[test]
fn anything_else_spoils_a_name() {
    for other in [
        "mov.b32 %a, 0x7fc00000;",
        "mov.b32 %a, %param;",
        "ld.global.f32 %a, [%at];",
        "@%p ld.global.f32 %a, [%at];",
        "xor.b32 %a, %a, %b;",
        "mov.b32 %a, %c; not.b32 %c, %c;",
        "add.f16x2 %a, %b, %b;",
    ] {
        let body = format!("add.f32 %a, %a, %b; {other}");
        assert_eq!(format(&body, "%a"), None, "{other}");
    }
    let body = "mov.b32 %c, %b; mov.b32 %b, %a; add.f32 %b, %b, %b; ld.global.f32 %a, [%at]; add.f32 %c, %a, %a;";
    assert_eq!(format(body, "%c"), None, "through two moves");
}

#[test]
fn a_parameter_may_be_anything() {
    assert_eq!(format("add.f32 %param, %a, %a;", "%param"), None);
}

#[test]
fn two_formats_in_one_register() {
    let body = "add.f64 %w, %w, %w; add.rn.f32x2 %w, %w, %w;";
    assert_eq!(format(body, "%w"), None);
}
