//! Functions given as Cranelift IR.

use crate::{device, usage};
use ptxlift::{Engine, EngineConfig, Module, Stage, Usage};

const TEXT: &str = "
.version 8.0
.target sm_80
.address_size 64
.func (.reg .u32 d) less(.reg .u32 a) { sub.u32 d, a, 7; ret; }
.func (.reg .u32 d) twice(.reg .u32 a) { call (d), less, (a); call (d), less, (d); ret; }
";

fn engine() -> Engine {
    Engine::new(EngineConfig::default().threads(1))
}

/// `twice(107)` with `less` as it is after an edit.
fn twice(engine: &Engine, edit: impl Fn(&str) -> String) -> u32 {
    let module = Module::parse(TEXT).unwrap();
    let clif = edit(&engine.dump(&module, "less", Stage::Clif).unwrap());
    // SAFETY: the edits change only which number is added.
    let program = unsafe { engine.compile_with_clif(&module, &clif) }.unwrap();
    let instance = program.instantiate(&device()).unwrap();
    let function = instance.function::<(u32,), u32>("twice").unwrap();
    function.call((107,)).unwrap()
}

#[test]
fn a_dump_stands_for_the_function() {
    assert_eq!(twice(&engine(), str::to_string), 93);
    let add = |clif: &str| clif.replace("isub", "iadd");
    assert_eq!(twice(&engine(), add), 121);
    // Launches that allow few nested calls have code of their own.
    let few = Engine::new(EngineConfig::default().threads(1).call_depth(3));
    assert_eq!(twice(&few, add), 121);
}

#[test]
fn what_cannot_stand_for_it_is_refused() {
    let module = Module::parse(TEXT).unwrap();
    let clif = engine().dump(&module, "less", Stage::Clif).unwrap();
    for (text, at, word) in [
        (String::new(), None, "no function"),
        (clif.replace("isub", "minus"), Some("isub"), "minus"),
        (clif.replace("isub.i32", "isub.i64"), Some("isub"), "v1"),
        (
            clif.replace("u0:4(", "%nobody("),
            Some("function"),
            "%nobody",
        ),
        (format!("{clif}\n{clif}"), None, "twice"),
    ] {
        // SAFETY: it is never entered.
        let refused = unsafe { engine().compile_with_clif(&module, &text) };
        let Usage::Clif { line, problem, .. } = usage(refused) else {
            panic!("another error for {word}")
        };
        assert!(problem.contains(word), "{problem}");
        if let Some(at) = at {
            let found = clif
                .lines()
                .position(|l| !l.starts_with(';') && l.contains(at));
            assert_eq!(line, found.map(|l| l as u32 + 1), "{problem}");
        }
    }
}
