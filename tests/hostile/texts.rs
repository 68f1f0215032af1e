//! Texts that mean harm, from single bytes to a hundred megabytes.

use crate::case::{Case, HEADER, MANY, MILLION, each, module};

/// Bytes without a pattern (splitmix64).
pub fn noise(count: usize) -> Vec<u8> {
    let mut state = 0u64;
    let mut word = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..count).map(|_| word() as u8).collect()
}

/// Statements in a kernel `k`.
fn body(statements: &str) -> Vec<u8> {
    module(&format!(".entry k() {{\n{statements}\n}}"))
}

pub fn cases() -> Vec<Case> {
    [
        bytes(),
        words(),
        numbers(),
        nests(),
        crowds(),
        sizes(),
        names(),
        lines(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What is no text, or hardly one.
fn bytes() -> Vec<Case> {
    vec![
        Case::new("a comment alone", || b"// nothing\n".to_vec())
            .refused(1, "the module does not begin with `.version`"),
        Case::new("a million bytes of noise, read as text", || {
            String::from_utf8_lossy(&noise(MILLION))
                .into_owned()
                .into_bytes()
        })
        .refused(
            1,
            "character U+FFFD is outside ASCII; PTX allows it in comments and strings only",
        )
        .within(2.0, 64),
        Case::new("a million printable bytes of noise", || {
            noise(MILLION).iter().map(|b| 32 + b % 95).collect()
        })
        .refused(1, "expected a directive, found `pVoN`"),
        Case::new("a million NULs", || vec![0; MILLION]).refused(1, "a stray character U+0000"),
        Case::new("a NUL in a kernel", || body("mov.b32 \0, 1;"))
            .refused(5, "a stray character U+0000"),
        Case::new("a byte order mark", || {
            [b"\xef\xbb\xbf", &*module("")].concat()
        })
        .refused(
            1,
            "character U+FEFF is outside ASCII; PTX allows it in comments and strings only",
        ),
        Case::new("lines that end in CR LF", || {
            String::from_utf8_lossy(&body(".reg .b32 %r;\nmov.b32 %r, 1;\nret;"))
                .replace('\n', "\r\n")
                .into_bytes()
        }),
        Case::new("a lone CR in a statement", || {
            body(".reg .b32 %r;\rmov.b32\r%r,\r1; ret;")
        }),
        Case::new("a comment that is never closed", || module("/* ret;"))
            .refused(4, "this comment is never closed"),
        Case::new("a million comments that open in each other", || {
            module(&"/*".repeat(MILLION))
        })
        .refused(4, "expected a directive, found `*`"),
        Case::new("a string that is never closed", || {
            module(".pragma \"nounroll;\n")
        })
        .refused(4, "this string is not closed on its line"),
        Case::new("a hundred megabytes of blanks in one line", || {
            module(&" ".repeat(100 * MILLION))
        })
        .within(2.0, 500),
        Case::new("a hundred megabytes of line breaks", || {
            module(&format!("{}frob", "\n".repeat(100 * MILLION)))
        })
        .refused(
            100 * MILLION as u32 + 4,
            "expected a directive, found `frob`",
        )
        .within(4.0, 1000),
    ]
}

/// Single words that are wrong, in lines that are hard to show.
fn words() -> Vec<Case> {
    vec![
        Case::new("an underlined line of emoji", || {
            body("/* 👩‍👩‍👧‍👦🏳️‍🌈 */ frob.u32 🦀;")
        })
        .refused(
            5,
            "character U+1F980 is outside ASCII; PTX allows it in comments and strings only",
        ),
        Case::new("an underlined line from right to left", || {
            body("/* \u{202e}שלום עולם\u{202c} */ frob;")
        })
        .refused(5, "no instruction is called `frob`"),
        Case::new("an underlined line of combining marks", || {
            module(&format!("/* e{} */ frob;", "\u{301}".repeat(10_000)))
        })
        .refused(4, "expected a directive, found `frob`"),
        Case::new("an underlined line of no width", || {
            module(&format!("/* {} */ frob;", "\u{200b}".repeat(10_000)))
        })
        .refused(4, "expected a directive, found `frob`"),
        Case::new("an underlined line of a hundred thousand tabs", || {
            module(&format!("{}frob;", "\t".repeat(100 * MANY)))
        })
        .refused(4, "expected a directive, found `frob`"),
        Case::new("escapes for the terminal", || {
            body("/* \x1b[2J\x1b]0;title\x07 */ frob;")
        })
        .refused(5, "no instruction is called `frob`"),
        Case::new("a name of ten million letters, undeclared", || {
            body(&format!("bra {};", "x".repeat(10 * MILLION)))
        })
        .refused(5, format!("`{}... is not declared", "x".repeat(399)))
        .within(1.0, 200),
        Case::new("a name of ten million letters, declared", || {
            module(&format!(".entry {}() {{ ret; }}", "x".repeat(10 * MILLION)))
        })
        .within(1.0, 200),
        Case::new("an instruction of a million modifiers", || {
            body(&format!("add{} a, b;", ".u32".repeat(MILLION)))
        })
        .refused(5, "`.u32` is given twice")
        .within(1.0, 400),
        Case::new("an instruction of a million operands", || {
            body(&format!(
                ".reg .b32 %r; add.u32 {}%r;",
                "%r, ".repeat(MILLION)
            ))
        })
        .refused(
            5,
            format!("`add.u32` takes 3 operands, not {}", MILLION + 1),
        )
        .within(1.0, 400),
        Case::new("a vector of a million registers", || {
            body(&format!(
                ".reg .b32 %r; .reg .b64 %d; ld.global.v4.b32 {{{}%r}}, [%d];",
                "%r, ".repeat(MILLION)
            ))
        })
        .refused(5, format!("`ld` wants 4 elements, not {}", MILLION + 1))
        .within(1.0, 400),
        Case::new("an empty vector", || {
            body(".reg .b64 %d; ld.global.v4.b32 {}, [%d];")
        })
        .refused(5, "expected an operand, found `}`"),
    ]
}

/// Numbers and constant expressions.
fn numbers() -> Vec<Case> {
    vec![
        Case::new("a number of a million digits", || {
            module(&format!(".global .b32 g = {};", "9".repeat(MILLION)))
        })
        .refused(4, "`999999999999999999999999999999999999999999999999999999999999...` does not fit 64 bits"),
        Case::new("a version of twenty digits", || {
            b".version 99999999999999999999.9\n.target sm_90\n".to_vec()
        })
        .refused(1, "expected a version such as `8.7`, found `99999999999999999999.9`"),
        Case::new("a division by zero", || module(".global .b32 g = 1 / 0;")).refused(4, "`0`: division by zero in a constant expression"),
        Case::new("a remainder by zero", || module(".global .b32 g = 1 % (2 - 2);")).refused(4, "`2 - 2`: division by zero in a constant expression"),
        Case::new("the least number divided by -1", || {
            module(".global .s64 g = -9223372036854775808 / -1;\n.global .s64 h = (-0x7fffffffffffffff - 1) % -1;")
        }),
        Case::new("products that do not fit", || {
            module(".global .u64 g = 0xffffffffffffffff * 0xffffffffffffffff + 1;")
        }),
        Case::new("a shift by a million", || module(".global .u64 g = 1 << 1000000;")),
        Case::new("a shift by less than nothing", || module(".global .u64 g = 1 >> -1;")),
        Case::new("a sum of a million ones", || {
            module(&format!(".global .u32 g = 1{};", "+1".repeat(MILLION)))
        })
        .refused(4, "the expression is too long: more than 1024 operators")
        .within(1.0, 300),
    ]
}

/// Things in things.
fn nests() -> Vec<Case> {
    vec![
        Case::new("scopes in each other, a hundred thousand", || {
            body(&"{".repeat(100 * MANY))
        })
        .refused(5, "scopes nested too deep: more than 128 levels"),
        Case::new("scopes in each other, a million, closed again", || {
            body(&format!("{}{}", "{".repeat(MILLION), "}".repeat(MILLION)))
        })
        .refused(5, "scopes nested too deep: more than 128 levels"),
        Case::new("parentheses in each other, a million", || {
            module(&format!(
                ".global .b32 g = {}1{};",
                "(".repeat(MILLION),
                ")".repeat(MILLION)
            ))
        })
        .refused(4, "parentheses nested too deep: more than 128 levels"),
        Case::new("a million minus signs", || {
            module(&format!(".global .b32 g = {}1;", "-".repeat(MILLION)))
        })
        .refused(4, "operators nested too deep: more than 128 levels"),
        Case::new("a million conditions in each other", || {
            module(&format!(
                ".global .b32 g = {}1{};",
                "1 ? ".repeat(MILLION),
                " : 1".repeat(MILLION)
            ))
        })
        .refused(
            4,
            "conditional expressions nested too deep: more than 128 levels",
        ),
        Case::new("braces of contents in each other, a million", || {
            module(&format!(".global .b32 g[1] = {};", "{".repeat(MILLION)))
        })
        .refused(4, "initialisers nested too deep: more than 128 levels"),
        Case::new("brackets and braces of operands, a million", || {
            body(&format!("mov.b32 a, {};", "{[".repeat(MILLION)))
        })
        .refused(5, "expected an operand, found `[`"),
        Case::new("an array of ten thousand dimensions", || {
            module(&format!(".global .b32 g{};", "[1]".repeat(10 * MANY)))
        }),
        Case::new(
            "functions that call each other in a row of ten thousand",
            || {
                let row = each(10 * MANY, |i| {
                    format!(".func f{}() {{ call f{i}; ret; }}\n", i + 1)
                });
                module(&format!(".func f0() {{ ret; }}\n{row}"))
            },
        )
        .within(20.0, 1000),
    ]
}

/// Very many of one thing.
fn crowds() -> Vec<Case> {
    vec![
        Case::new("a million wrong words", || {
            module(&"frob;\n".repeat(MILLION))
        })
        .refused(4, "expected a directive, found `frob`"),
        Case::new("a million wrong instructions", || {
            body(&"frob;\n".repeat(MILLION))
        })
        .refused(5, "no instruction is called `frob`")
        .within(6.0, 400),
        Case::new("a million undeclared registers", || {
            body(&each(MILLION, |i| format!("mov.b32 %r{i}, 1;\n")))
        })
        .refused(5, "`%r0` is not declared")
        .within(6.0, 900),
        Case::new("a million names declared twice", || {
            body(&format!(
                "{}{}",
                ".reg .b32 %r;\n",
                ".reg .b32 %r;\n".repeat(MILLION)
            ))
        })
        .refused(6, "`%r` is declared twice")
        .within(4.0, 1300),
        Case::new("a million labels", || {
            body(&format!("{}ret;", each(MILLION, |i| format!("L{i}:\n"))))
        })
        .within(6.0, 900),
        Case::new("a million labels and jumps", || {
            body(&each(MILLION, |i| {
                format!("L{i}: bra L{};\n", (i * 7919) % MILLION)
            }))
        })
        .within(10.0, 1500),
        Case::new("a million functions", || {
            module(&each(MILLION, |i| format!(".func f{i}() {{ ret; }}\n")))
        })
        .checked()
        .within(60.0, 4000),
        Case::new("ten thousand functions", || {
            module(&each(10 * MANY, |i| format!(".func f{i}() {{ ret; }}\n")))
        })
        .within(10.0, 500),
        Case::new("a million declared functions", || {
            module(&each(MILLION, |i| format!(".extern .func f{i}();\n")))
        })
        .within(20.0, 2750),
        Case::new("a million parameters", || {
            module(&format!(
                ".func f({}.param .b32 z) {{ ret; }}",
                each(MILLION, |i| format!(".param .b32 a{i}, "))
            ))
        })
        .within(10.0, 1500),
        Case::new("a kernel of a million parameters", || {
            module(&format!(
                ".entry k({}.param .b32 z) {{ ret; }}",
                each(MILLION, |i| format!(".param .b32 a{i}, "))
            ))
        })
        .refused(
            4,
            format!(
                "the parameters of kernel `k` take {} bytes, 32764 are the most",
                4 * MILLION + 4
            ),
        )
        .within(10.0, 1500),
        Case::new("a call with a hundred thousand arguments", || {
            body(&format!("call f, ({}1);", "1, ".repeat(100 * MANY)))
        })
        .refused(5, "`f` is not declared"),
        Case::new("a million variables", || {
            module(&each(MILLION, |i| format!(".global .b32 g{i};\n")))
        })
        .within(6.0, 1600),
        Case::new("a million registers, one by one", || {
            body(&each(MILLION, |i| format!(".reg .b32 %r{i};\n")))
        })
        .within(8.0, 1800),
        Case::new("a table of a million targets", || {
            body(&format!(
                ".reg .b32 %r; mov.b32 %r, 0;\nT: .branchtargets {}L;\nbrx.idx %r, T;\nL: ret;",
                "L, ".repeat(1_000_000)
            ))
        })
        .refused(
            7,
            "`brx.idx %r, T`: the tables of branches of the module have more than 1048576 entries",
        )
        .within(3.0, 1000),
        Case::new("a million pragmas", || {
            module(&".pragma \"nounroll\";\n".repeat(MILLION))
        })
        .within(2.0, 800),
        Case::new("a million source files and places", || {
            let files = each(MILLION, |i| format!(".file {} \"f{i}.cu\"\n", i + 1));
            let places = each(MILLION, |i| format!(".loc {} {i} 1\n", i + 1));
            module(&format!("{files}.entry k() {{ {places} ret; }}"))
        })
        .within(6.0, 1500),
        Case::new("ten thousand aliases of one function", || {
            let declared = each(10 * MANY, |i| format!(".func g{i}();\n.alias g{i}, f;\n"));
            module(&format!(".func f() {{ ret; }}\n{declared}"))
        })
        .within(10.0, 2500),
        Case::new("a million scopes beside each other", || {
            body(&"{ .reg .b32 %r; mov.b32 %r, 1; }\n".repeat(MILLION))
        })
        .within(15.0, 3000),
        Case::new("a million targets of a directive", || {
            format!(".version 8.7\n.target sm_90{}\n", ", sm_90".repeat(MILLION)).into_bytes()
        }),
    ]
}

/// Sizes, alignments and limits.
fn sizes() -> Vec<Case> {
    vec![
        Case::new(".reg .b32 %r<4294967295>", || {
            body(".reg .b32 %r<4294967295>;\nmov.b32 %r4294967294, 1;\nret;")
        })
        .launched(),
        Case::new(".reg .b32 %r<4294967296>", || {
            body(".reg .b32 %r<4294967296>;\nret;")
        })
        .refused(5, "4294967296 registers: the number does not fit 32 bits"),
        Case::new(".reg .b32 %r<18446744073709551616>", || {
            body(".reg .b32 %r<18446744073709551616>;\nret;")
        }),
        Case::new("a register past its family", || {
            body(".reg .b32 %r<4>;\nmov.b32 %r4, 1;")
        })
        .refused(6, "`%r4` is not declared"),
        Case::new("a thousand families of all registers", || {
            body(&each(1000, |i| format!(".reg .b32 f{i}_<4294967295>;\n")))
        }),
        Case::new("a terabyte of .global", || {
            module(".global .b8 g[1099511627776];")
        })
        .refused(4, "`g` is too large"),
        Case::new("a terabyte of .global in pieces", || {
            module(&each(64, |i| format!(".global .b8 g{i}[17179869184];\n")))
        })
        .refused(7, "with `g3` there is too much `.global` memory"),
        Case::new("a terabyte of .shared", || {
            module(".shared .b8 g[1099511627776];\n.entry k() { ret; }")
        })
        .refused(4, "`g` is too large"),
        Case::new("a terabyte of .local", || {
            body(".local .b8 g[1099511627776];\nret;")
        })
        .refused(5, "`g` is too large"),
        Case::new("a terabyte of .const", || {
            module(".const .b8 g[1099511627776];")
        })
        .refused(4, "`g` is too large"),
        Case::new("2^128 bytes of .global", || {
            module(".global .b64 g[18446744073709551615][18446744073709551615];")
        })
        .refused(4, "`g` is too large"),
        Case::new("a parameter of 4 GiB", || {
            module(".entry k(.param .b8 a[4294967296]) { ret; }")
        })
        .refused(4, "parameter `a` is too large"),
        Case::new("parameters of 4 GiB together", || {
            module(&format!(
                ".entry k({}.param .b8 z) {{ ret; }}",
                each(4096, |i| format!(".param .b8 a{i}[1048576], "))
            ))
        })
        .refused(
            4,
            "with `a16` the parameters take 17825792 bytes, 16777216 are the most",
        ),
        Case::new("an initialiser longer than its array", || {
            module(".global .b32 g[2] = {1, 2,\n3};")
        })
        .refused(5, "`3`: too many initial values: the array has 2 elements"),
        Case::new("a million numbers for an array of two", || {
            module(&format!(
                ".global .b32 g[2] = {{{}1}};",
                "1, ".repeat(MILLION)
            ))
        })
        .refused(4, "`1`: too many initial values: the array has 2 elements")
        .within(1.0, 400),
        Case::new("a string longer than its array", || {
            module(".global .b8 g[2] = \"abc\";")
        })
        .refused(4, "expected an operand, found `\"abc\"`"),
        Case::new("a gigabyte that begins with a one", || {
            module(".global .b8 g[1073741824] = {1};\n.entry k() { ret; }")
        })
        .launched()
        .within(12.0, 3300),
        Case::new("an alignment of three", || {
            module(".global .align 3 .b8 g[4];")
        })
        .refused(4, "alignment 3 is not a power of two"),
        Case::new("an alignment of nothing", || {
            module(".global .align 0 .b8 g[4];")
        })
        .refused(4, "alignment 0 is not a power of two"),
        Case::new("an alignment of 2^40", || {
            module(".global .align 1099511627776 .b8 g[4];")
        })
        .refused(
            4,
            "an alignment of 1099511627776 bytes is too large, 1048576 is the most",
        ),
        Case::new(".maxntid of nothing", || {
            module(".entry k() .maxntid 0 { ret; }")
        })
        .refused(4, "`.maxntid 0`: a number from 1 to 4294967295 is expected"),
        Case::new(".maxntid past all numbers", || {
            module(".entry k() .maxntid 4294967295, 4294967295, 4294967295 { ret; }")
        }),
        Case::new(".reqntid of 2^64", || {
            module(".entry k() .reqntid 18446744073709551615 { ret; }")
        })
        .refused(
            4,
            "`.reqntid 18446744073709551615`: a number from 1 to 4294967295 is expected",
        ),
        Case::new("an array of nothing in .global", || {
            module(".global .b8 g[0];\n.entry k() { ret; }")
        })
        .refused(4, "`[0]`: array `g` has no size"),
        Case::new("an array of nothing in .shared", || {
            module(".shared .b8 g[0];\n.entry k() { ret; }")
        })
        .refused(4, "`[0]`: array `g` has no size"),
        Case::new("a parameter of nothing", || {
            module(".entry k(.param .b8 a[0]) { ret; }")
        })
        .refused(4, "`[0]`: `a` must have a size"),
        Case::new("a family of no registers", || {
            body(".reg .b32 %r<0>;\nret;")
        }),
        Case::new("contents of nothing", || module(".global .b8 g[4] = {};")),
        Case::new("a kernel of nothing", || module(".entry k() { }")).launched(),
        Case::new("a module of nothing", || HEADER.as_bytes().to_vec()),
        Case::new("an array without a size and without contents", || {
            module(".global .b8 g[];")
        })
        .refused(4, "`[]`: array `g` has no size"),
        Case::new("a vector of 2^32 elements", || {
            module(".global .v4294967296 .b32 g;")
        })
        .refused(4, "`.b32` behind the type"),
    ]
}

/// Names that lead nowhere or in circles.
fn names() -> Vec<Case> {
    vec![
        Case::new("parameters that alignment drives past 4 GiB", || {
            module(&format!(
                ".func f({}.param .b8 z) {{ ret; }}",
                each(4096, |i| format!(".param .align 1048576 .b8 a{i}[1], "))
            ))
        })
        .refused(
            4,
            "alignment 1048576 of `a0`: parameters of functions are aligned to 128 bytes at most",
        ),
        Case::new("a missing label", || body("bra nowhere;"))
            .refused(5, "`nowhere` is not declared"),
        Case::new("a missing label in a table", || {
            body(".reg .b32 %r;\nT: .branchtargets L, nowhere;\nbrx.idx %r, T;\nL: ret;")
        })
        .refused(6, "`nowhere` is not declared"),
        Case::new("a label of another function", || {
            module(".func f() { L: ret; }\n.entry k() { bra L; }")
        })
        .refused(5, "`L` is not declared"),
        Case::new("a jump to data", || {
            module(".global .b32 g;\n.entry k() { bra g; }")
        })
        .refused(5, "`g` is no label"),
        Case::new("a call of data", || {
            module(".global .b32 g;\n.entry k() { call g; ret; }")
        })
        .refused(
            5,
            "`g` is neither a function nor a register with an address",
        ),
        Case::new("a call of a kernel", || {
            module(".entry e() { ret; }\n.entry k() { call e; ret; }")
        })
        .refused(5, "`e` is a kernel, only functions can be called"),
        Case::new("an alias of itself", || module(".func a();\n.alias a, a;"))
            .refused(4, "function `a` is declared but defined nowhere"),
        Case::new("aliases in a circle of three", || {
            module(".func a();\n.func b();\n.func c();\n.alias a, b;\n.alias b, c;\n.alias c, a;")
        })
        .refused(7, "`a` is an alias of no function that is defined"),
        Case::new("aliases in a circle of a hundred thousand", || {
            let count = 100 * MANY;
            let declared = each(count, |i| format!(".func g{i}();\n"));
            let circle = each(count, |i| format!(".alias g{i}, g{};\n", (i + 1) % count));
            module(&format!("{declared}{circle}"))
        })
        .refused(
            4 + 100 * MANY as u32,
            "`g0` is an alias of no function that is defined",
        )
        .within(4.0, 600),
        Case::new("variables that point to each other", || {
            module(".extern .global .u64 b;\n.global .u64 a = b;\n.global .u64 b = a;")
        })
        .refused(6, "`b` is declared again, but differently"),
        Case::new("a variable that begins with itself", || {
            module(".global .u64 a = a;")
        }),
        Case::new("a parameter that is a keyword of ours", || {
            module(".entry k(.param .u64 fn, .param .u64 self) { ret; }")
        }),
    ]
}

/// A hundred megabytes in one line.
fn lines() -> Vec<Case> {
    vec![
        Case::new("100 MB in one line: a table of numbers", || {
            module(&format!(".global .b8 g[] = {{{}7}};", "7, ".repeat(33 * MILLION)))
        })
        .within(12.0, 3000),
        Case::new("100 MB in one line: one number", || {
            module(&format!(".global .b32 g = {};", "7".repeat(100 * MILLION)))
        })
        .refused(4, "`777777777777777777777777777777777777777777777777777777777777...` does not fit 64 bits")
        .within(3.0, 600),
        Case::new("100 MB in one line: one name", || {
            body(&format!("bra {};", "x".repeat(100 * MILLION)))
        })
        .refused(5, format!("`{}... is not declared", "x".repeat(399)))
        .within(3.0, 900),
        Case::new("100 MB in one line: one string", || {
            module(&format!(".pragma \"{}\";", "x".repeat(100 * MILLION)))
        })
        .refused(4, format!("there is no pragma \"{}... for modules", "x".repeat(399)))
        .within(3.0, 900),
        Case::new("100 MB in one line: an error in the middle of blanks", || {
            let blanks = " ".repeat(50 * MILLION);
            body(&format!("{blanks}frob;{blanks}"))
        })
        .refused(5, "no instruction is called `frob`")
        .within(3.0, 900),
        Case::new("10 MB in one line: instructions", || {
            body(&format!(".reg .b32 %r; {}ret;", "add.u32 %r,%r,1;".repeat(10_000_000 / 16)))
        })
        .unsupported("too many instructions: 625001, where 400000 are the limit")
        .within(6.0, 700),
        Case::new("10 MB in one line: what is not built yet", || {
            body(&format!("{}ret;", "tex.1d a;".repeat(10 * MILLION / 9)))
        })
        .lacking("tex.1d (textures) at ")
        .within(8.0, 1000),
        Case::new("10 MB in one line: errors", || {
            body(&"frob.x a;".repeat(10 * MILLION / 9))
        })
        .refused(5, "no instruction is called `frob`")
        .within(4.0, 900),
    ]
}
