//! Text that means harm: an answer comes, in time and memory that the text's own size bounds.

use super::{HEADER, accepted, refused};
use ptxlift::{Error, Module};
use std::fmt::Write;

/// Joins what is written for each number.
fn each(count: u32, mut one: impl FnMut(&mut String, u32)) -> String {
    let mut text = String::new();
    for index in 0..count {
        one(&mut text, index);
    }
    text
}

/// The first error contains this.
fn refused_for(text: &str, word: &str) {
    let said = refused(text);
    let first = said.iter().next().map_or("", |d| &d.message);
    assert!(first.contains(word), "{first}");
}

#[test]
fn many_labels() {
    const COUNT: u32 = 50_000;
    let body = each(COUNT, |text, i| {
        let _ = writeln!(text, "L{i}: bra L{};", (i * 7919) % COUNT);
    });
    accepted(&format!(".entry k() {{ {body} }}"));
}

#[test]
fn many_scopes_and_families() {
    let body = each(20_000, |text, i| {
        let _ = writeln!(
            text,
            "{{ .reg .b32 a; mov.b32 a, 5; }} .reg .b32 f{i}_<4000000000>;"
        );
    });
    accepted(&format!(".entry k() {{ {body} }}"));
}

#[test]
fn names_of_digits() {
    let digits = "0".repeat(200_000);
    let text =
        |last: u32| format!(".entry k() {{ .reg .b32 %r<5>; mov.b32 %r{digits}{last}, 5; }}");
    accepted(&text(4));
    refused_for(&text(5), "%r0");
}

#[test]
fn more_errors_than_anybody_reads() {
    let body = each(20_000, |text, i| {
        let _ = writeln!(text, "mov.b32 x{i}, y;");
    });
    let said = refused(&format!(".entry k() {{ .reg .b32 xx1; {body} }}"));
    assert!((1..=100).contains(&said.len()), "{}", said.len());
    assert!(said.to_string().contains("more errors are not shown"));
}

#[test]
fn variables_past_all_memory() {
    for shape in [
        "g[1099511627776]",
        "g[18446744073709551615]",
        "g[4294967296][4294967296]",
        "g[4294967296][4294967296][4294967296]",
    ] {
        refused_for(&format!(".global .b64 {shape};"), "`g` is too large");
        refused_for(
            &format!(".entry k() {{ .local .b64 {shape}; }}"),
            "`g` is too large",
        );
    }
    let many = each(20, |text, i| {
        let _ = writeln!(text, ".global .b8 g{i}[60000000000];");
    });
    refused_for(&many, "too much `.global` memory");
    refused_for(".global .b32 g<4000000000>;", "4000000000");
    refused_for(
        ".func f(.param .b8 a[4294967297]) { ret; }",
        "`a` is too large",
    );
}

#[test]
fn initialisers_of_few_words_and_many_bytes() {
    refused_for(
        ".global .b32 x[2][1000000000] = {{1}, {2}};",
        "bytes of initial contents",
    );
    let many = each(40, |text, i| {
        let _ = writeln!(text, ".global .b8 x{i}[2][60000000] = {{{{1}}, {{2}}}};");
    });
    refused_for(&many, "bytes of initial contents");
}

#[test]
fn aliases_in_a_long_row_and_in_a_circle() {
    const COUNT: u32 = 5_000;
    let declared = each(COUNT, |text, i| {
        let _ = writeln!(text, ".func g{i}();");
    });
    let row = each(COUNT - 1, |text, i| {
        let _ = writeln!(text, ".alias g{}, g{i};", i + 1);
    });
    let module = accepted(&format!(
        ".func f() {{ ret; }} {declared} .alias g0, f; {row}"
    ));
    assert_eq!(module.functions().count(), COUNT as usize + 1);
    refused_for(
        &format!("{declared} {row} .alias g0, g{};", COUNT - 1),
        "alias of no function",
    );
}

#[test]
fn tables_of_branches_by_short_words() {
    let labels = each(2_000, |text, i| {
        let _ = writeln!(text, "L{i}:");
    });
    let jumps = "brx.idx r, T;\n".repeat(2_000);
    refused_for(
        &format!(".entry k() {{ .reg .b32 r; {labels} T: .branchtargets L<2000>; {jumps} }}"),
        "tables of branches",
    );
    refused_for(
        ".entry k() { .reg .b32 r; L0: T: .branchtargets L<4000000000>; }",
        "tables of branches",
    );
}

#[test]
fn copies_of_large_parameters() {
    let functions = each(500, |text, i| {
        let _ = writeln!(
            text,
            ".func f{i}(.param .b8 a[16000000]) {{ .reg .b64 d; mov.b64 d, a; ret; }}"
        );
    });
    let module = accepted(&functions);
    let first = module.functions().next().expect("a function");
    let lacking = first.unsupported().next().expect("something");
    assert_eq!(lacking.family, "large parameters");
}

#[test]
fn calls_with_many_parameters() {
    let params = each(20_000, |text, i| {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(text, "{comma} .param .b32 a{i}");
    });
    let calls = "call f, (1);\n".repeat(2_000);
    refused_for(
        &format!(".func f({params}) {{ ret; }} .entry k() {{ {calls} }}"),
        "20000 arguments",
    );
}

#[test]
fn kernels_over_a_long_row_of_functions_with_shared_variables() {
    const COUNT: u32 = 1_500;
    let functions = each(COUNT, |text, i| {
        let _ = writeln!(
            text,
            ".func f{}() {{ .shared .b8 s[4]; call f{i}; ret; }}",
            i + 1
        );
    });
    let kernels = each(COUNT, |text, i| {
        let _ = writeln!(text, ".entry k{i}() {{ call f{COUNT}; ret; }}");
    });
    let module = accepted(&format!(".func f0() {{ ret; }} {functions} {kernels}"));
    let bytes = module.ir().functions.iter().map(|f| f.shared_bytes).max();
    assert_eq!(bytes, Some(4 * COUNT));
}

#[test]
fn no_truncation_of_a_module_is_a_bug_of_ours() {
    let text = format!(
        "{HEADER}.global .u64 g[2] = {{1, g}};
         .func (.param .b32 r) f(.param .align 8 .b8 a[16]) {{
             .reg .b64 d;
             mov.b64 d, a;
             st.param.b32 [r], 1;
             ret;
         }}
         .entry k(.param .b64 p) {{
             .reg .pred %p<2>;
             .reg .b32 %r<4>;
             .shared .b32 s[4];
             {{ .param .align 8 .b8 z[16]; .param .b32 q; call (q), f, (z); ld.param.b32 %r0, [q]; }}
             T: .branchtargets L, M;
         L:  brx.idx %r0, T;
         M:  @%p1 bra L;
         }}"
    );
    assert!(Module::parse(&*text).is_ok());
    let mut refusals = 0;
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        match Module::parse(&text[..end]) {
            Ok(_) | Err(Error::Diagnostics(_)) => refusals += 1,
            Err(other) => panic!("{}\n{other}", &text[..end]),
        }
    }
    assert_eq!(refusals, text.len());
    // Without each word in turn.
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    for skip in 0..words.len() {
        let without: String = (0..words.len())
            .filter(|&i| i != skip)
            .map(|i| words[i])
            .collect();
        if let Err(other @ (Error::Internal(_) | Error::Usage(_))) = Module::parse(&*without) {
            panic!("{without}\n{other}");
        }
    }
}
