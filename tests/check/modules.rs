//! What is made of a module: layout, lines, lists; and how errors are told.

use super::{accepted, refused};
use ptxlift::Module;
use ptxlift::diag::Severity;
use ptxlift::ir::memory::Space;
use ptxlift::ir::{Kind, Location, Variable};

fn variable<'m>(module: &'m Module, name: &str) -> &'m Variable {
    let found = module.ir().variables.iter().find(|v| v.name == name);
    found.unwrap_or_else(|| panic!("no variable {name}"))
}

#[test]
fn variables_are_aligned_and_apart() {
    let module = accepted(
        ".global .b8 a;
         .global .align 64 .b8 b[3];
         .global .v4 .f32 c;
         .const .b8 d;
         .const .b64 e[2];
         .global .align 1 .b32 f;",
    );
    for v in &module.ir().variables {
        assert_eq!(v.offset % u64::from(v.align), 0, "{}", v.name);
    }
    let align = |name| variable(&module, name).align;
    assert_eq!((align("a"), align("b"), align("c")), (1, 64, 16));
    // Elements are aligned, whatever is written.
    assert_eq!(align("f"), 4);
    let mut ends: Vec<(u64, u64)> = ["a", "b", "c", "f"]
        .map(|name| variable(&module, name))
        .map(|v| (v.offset, v.offset + v.size))
        .to_vec();
    ends.sort_unstable();
    for pair in ends.windows(2) {
        assert!(pair[0].1 + 16 <= pair[1].0, "{ends:?}");
    }
    assert_eq!(module.ir().const_bytes, 24);
}

#[test]
fn each_kernel_has_room_for_the_shared_variables_that_it_reaches() {
    let module = accepted(
        ".shared .b8 unused[1000];
         .shared .align 32 .b8 both[10];
         .shared .b8 only_second[100];
         .extern .shared .b8 more[];
         .func leaf() { .shared .b32 inner[4]; st.shared.b32 [inner], 0; ret; }
         .func middle() { call leaf; ret; }
         .entry first() { st.shared.b8 [both], 0; call middle; ret; }
         .entry second() {
             .shared .b64 own[8];
             .reg .b64 d;
             st.shared.b8 [both], 0;
             st.shared.b8 [only_second], 0;
             mov.b64 d, leaf;
             P: .callprototype _ ();
             call d, P;
             st.shared.b64 [own], 0;
             ret;
         }
         .entry third() { st.shared.b8 [more], 0; ret; }",
    );
    let bytes = |name: &str| {
        let id = module.ir().function(name).expect("a kernel");
        module.ir().functions[id.index()].shared_bytes
    };
    let place = |name: &str| {
        let v = variable(&module, name);
        assert_eq!(v.space, Space::Shared);
        (v.offset, v.offset + v.size)
    };
    for (kernel, reached) in [
        ("first", &["both", "inner"][..]),
        ("second", &["both", "inner", "only_second", "own"]),
    ] {
        let mut places: Vec<(u64, u64)> = reached.iter().map(|name| place(name)).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|p| p[0].1 <= p[1].0), "{places:?}");
        let end = places.last().map_or(0, |p| p.1);
        assert!(u64::from(bytes(kernel)) >= end, "{kernel}");
        // Nothing that it does not reach takes room: the variables, and at most their alignment.
        assert!(u64::from(bytes(kernel)) < end + 32, "{kernel}");
    }
    assert_eq!(bytes("third"), 0);
    assert!(variable(&module, "more").dynamic);
    assert_eq!(bytes("second") % 32, 0);
}

#[test]
fn instructions_know_their_place_in_the_source() {
    let module = accepted(
        ".file 1 \"a.cu\", 1700000000, 20
         .file 2 \"b.cu\"
         .entry k() {
             .reg .b32 r;
             mov.b32 r, 1;
             .loc 1 7 3
             mov.b32 r, 2;
             .loc 2 9 1
             mov.b32 r, 3;
             { mov.b32 r, 4; }
             ret;
         }",
    );
    let ir = module.ir();
    let names: Vec<(u32, &str)> = ir.files.iter().map(|f| (f.index, &*f.name)).collect();
    assert_eq!(names, [(1, "a.cu"), (2, "b.cu")]);
    let block = &ir.functions[0].blocks[0];
    let at = |index: u32| {
        let location: &Location = ir.locations.get(index as usize)?;
        Some((location.file, location.line, location.column))
    };
    let found: Vec<_> = block.insts.iter().map(|i| at(i.location)).collect();
    let (first, second) = (Some((1, 7, 3)), Some((2, 9, 1)));
    assert_eq!(found, [None, first, second, second]);
    assert_eq!(at(block.location), second);
    let lines: Vec<u32> = block
        .insts
        .iter()
        .map(|i| ir.source.line(i.span.start))
        .collect();
    assert_eq!(lines, [8, 10, 12, 13]);
}

#[test]
fn all_that_is_unsupported_is_listed_and_the_rest_stays_usable() {
    let module = accepted(
        ".extern .func (.param .b32 r) __cuda_syscall_x(.param .b64 a, .param .b64 b);
         .entry good() { ret; }
         .entry bad() {
             .reg .b32 f;
             .param .b64 a;
             .param .b32 r;
             movmatrix.sync.aligned.m8n8.trans.b16 f, f;
             call (r), __cuda_syscall_x, (a, a);
             wgmma.fence.sync.aligned;
             ret;
         }",
    );
    let functions: Vec<_> = module.kernels().collect();
    assert_eq!(functions[0].unsupported().count(), 0);
    let lacking: Vec<(u32, &str)> = functions[1]
        .unsupported()
        .map(|u| (u.at.expect("a place").1.line, u.family))
        .collect();
    let expected = [
        (10, "tensor cores"),
        (11, "system calls"),
        (12, "tensor cores"),
    ];
    assert_eq!(lacking, expected);
}

#[test]
fn huge_ranges_of_registers_cost_what_is_used_of_them() {
    let module = accepted(
        ".entry k() {
             .reg .b32 %r<4294967295>;
             mov.b32 %r4294967294, 1;
             mov.b32 %r7, %r4294967294;
             ret;
         }",
    );
    assert_eq!(module.ir().functions[0].regs.len(), 2);
}

#[test]
fn initial_contents_hold_bytes_and_addresses() {
    let module = accepted(
        ".global .b8 h[16];
         .global .u16 grid[2][3] = {{1, -2}, {0x12345}};
         .global .f32 numbers[3] = {1.5, 0f40000000, 0d3ff0000000000000};
         .global .u64 places[3] = {0, h+4, generic(h)};
         .global .u8 parts[2] = {0xff00(h), 0xff(h)};",
    );
    let bytes = |name| &variable(&module, name).init.bytes[..];
    assert!(bytes("h").is_empty());
    assert_eq!(bytes("grid"), [1, 0, 0xfe, 0xff, 0, 0, 0x45, 0x23]);
    let numbers = [0x3fc0_0000u32, 0x4000_0000, 0x3f80_0000].map(u32::to_le_bytes);
    assert_eq!(bytes("numbers"), numbers.concat());
    let addresses = |name| {
        let list = &variable(&module, name).init.relocations;
        let part = |r: &ptxlift::ir::Relocation| (r.offset, r.bytes, r.generic, r.addend, r.shift);
        list.iter().map(part).collect::<Vec<_>>()
    };
    let places = [(8, 8, false, 4, 0), (16, 8, true, 0, 0)];
    assert_eq!(addresses("places"), places);
    let parts = [(0, 1, false, 0, 8), (1, 1, false, 0, 0)];
    assert_eq!(addresses("parts"), parts);
}

#[test]
fn code_that_nothing_reaches_is_checked_and_left_out() {
    let module = accepted(".entry k() { .reg .b32 r; ret; mov.b32 r, 1; L: bra L; }");
    assert_eq!(module.ir().functions[0].blocks.len(), 1);
    let said = refused(".entry k() { ret; mov.b32 nosuch, 1; }");
    assert!(said.to_string().contains("nosuch"), "{said}");
}

#[test]
fn a_guarded_call_stands_in_a_block_of_its_own() {
    let module = accepted(
        ".func f() { ret; }
         .entry k() { .reg .pred p; @!p call f; ret; }",
    );
    let blocks = &module.ir().functions[1].blocks;
    let calls: Vec<bool> = blocks
        .iter()
        .map(|b| b.insts.iter().any(|i| matches!(i.kind, Kind::Call(_))))
        .collect();
    assert_eq!(calls, [false, true, false]);
    assert!(
        blocks
            .iter()
            .flat_map(|b| &b.insts)
            .all(|i| i.guard.is_none())
    );
}

#[test]
fn errors_are_told_together_in_order_with_their_words() {
    let said = refused(
        ".global .b32 twice;
         .global .b32 twice;
         .entry k(.param .b32 n) {
             .reg .b32 %r<4>;
             bra lop;
         loop:
             mov.b32 %r4, 1;
             @%r0 bra loop;
         }
         .func never();",
    );
    let source = said.source().clone();
    let found: Vec<(u32, &str)> = said
        .iter()
        .map(|d| (source.line(d.span.start), source.slice(d.span)))
        .collect();
    let expected = [
        (5, "twice"),
        (8, "lop"),
        (10, "%r4"),
        (11, "%r0"),
        (13, "never"),
    ];
    assert_eq!(found, expected);
    let by_word = |word: &str| said.iter().find(|d| source.slice(d.span) == word);
    let twice = by_word("twice").expect("an error");
    assert_eq!(source.line(twice.related[0].0.start), 4);
    let hint = |word| {
        by_word(word)
            .and_then(|d| d.hint.clone())
            .unwrap_or_default()
    };
    assert!(hint("lop").contains("`loop`"));
    assert!(hint("%r4").contains("`%r3`"));
}

#[test]
fn a_version_newer_than_all_known_is_a_warning() {
    let module = Module::parse(".version 9.99\n.target sm_90\n.entry k() { ret; }").expect("ok");
    let warnings: Vec<_> = module.warnings().iter().collect();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].severity, Severity::Warning);
    assert!(warnings[0].message.contains("9.99"));
    let module = Module::parse(".version 9.5\n.target sm_90\n.entry k() { ret; }").expect("ok");
    assert_eq!(module.warnings().iter().count(), 0);
}

/// With `--compile-only`, ptxas takes it from 8.0; without, not at all.
#[test]
fn unified_variables_need_ptx_8_0() {
    let text = |version| {
        format!(".version {version}\n.target sm_90\n.global .attribute(.unified(1, 2)) .b32 g;")
    };
    assert!(Module::parse(text("8.0")).is_ok());
    assert!(Module::parse(text("7.8")).is_err());
}

/// ptxas says so of the bare name, and crashes where a distance follows.
#[test]
fn parameters_of_calls_have_no_address() {
    for source in ["z", "z+4"] {
        let text = format!(".entry k() {{ .reg .b64 d; .param .b32 z[4]; mov.b64 d, {source}; }}");
        let said = refused(&text);
        assert!(said.to_string().contains("has no address"), "{said}");
    }
}

/// Each kernel may have 48 KiB: what only the other one reaches, through a function, takes none of it.
#[test]
fn shared_variables_of_functions_count_for_the_kernels_that_call_them() {
    let module = accepted(
        ".func fa() { .shared .b8 a[40000]; st.shared.b8 [a], 0; ret; }
         .func fb() { .shared .b8 b[40000]; st.shared.b8 [b], 0; ret; }
         .entry ka() { call fa; ret; }
         .entry kb() { call fb; ret; }",
    );
    for name in ["ka", "kb", "fa", "fb"] {
        let id = module.ir().function(name).expect("a function");
        let bytes = module.ir().functions[id.index()].shared_bytes;
        assert!((40_000..=48 << 10).contains(&bytes), "{name}: {bytes}");
    }
}

#[test]
fn variables_of_functions_are_told_from_those_of_the_module() {
    let module = accepted(
        ".shared .b32 outside;
         .entry k() { .shared .b32 inside; .global .b32 kept; st.shared.b32 [inside], 0; ret; }",
    );
    let scoped = ["outside", "inside", "kept"].map(|name| variable(&module, name).scoped);
    assert_eq!(scoped, [false, true, true]);
}

/// The limit is on the sum of all bytes, not on what stands before each of them as well.
#[test]
fn a_table_of_many_numbers_is_no_more_than_its_bytes() {
    let numbers = vec!["7"; 1 << 16].join(", ");
    let module = accepted(&format!(".global .b32 table[65536] = {{{numbers}}};"));
    assert_eq!(variable(&module, "table").init.bytes.len(), 4 << 16);
}

/// What is underlined stands before a message that does not hold it, if it is at most 40 bytes of one line.
#[test]
fn messages_name_what_they_are_about() {
    let message = |value: &str| {
        let name = value.trim_start_matches("generic(");
        let name = &name[..name.find(')').unwrap_or(0)];
        let said = refused(&format!(".global .b32 {name}; .global .b64 b = {value};"));
        said.iter()
            .next()
            .map(|d| d.message.clone())
            .unwrap_or_default()
    };
    let plain = "an address for a variable of this type";
    let short = format!("generic({})+4", "n".repeat(29));
    assert_eq!(message(&short), format!("`{short}`: {plain}"));
    let long = format!("generic({})+4", "n".repeat(30));
    assert_eq!(message(&long), plain);
    assert_eq!(message("generic(n)\n+4"), plain);
}

/// Words of the text are cut in messages.
#[test]
fn long_words_of_messages_are_cut() {
    let name = "n".repeat(500);
    let said = refused(&format!(".entry k() {{ bra {name}; }}"));
    let message = said
        .iter()
        .next()
        .map(|d| d.message.clone())
        .unwrap_or_default();
    assert!(
        message.contains(&format!("`{}...", &name[..399])),
        "{message}"
    );
}
