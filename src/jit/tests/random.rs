//! Programs without sense: operators, guards, branches into anywhere, calls, memory, sometimes wrong. Both engines must
//! leave the same memory or the same fault.

use super::{Numbers, Trial};
use crate::jit::{OptLevel, Settings};
use std::fmt::Write;

/// Templates of statements. `D` and `S` stand for destination and source; the letter after them says of what: `h`, `r`
/// and `d` registers of 16, 32 and 64 bits, `p` predicates, `b` registers of 32 bits or literals below 256.
const OPERATORS: &[&str] = &[
    "add.u32 Dr, Sr, Sr",
    "sub.s32 Dr, Sr, Sr",
    "add.sat.s32 Dr, Sr, Sr",
    "mul.lo.u32 Dr, Sr, Sr",
    "mul.hi.s32 Dr, Sr, Sr",
    "mul.wide.u32 Dd, Sr, Sr",
    "mul.wide.s16 Dr, Sh, Sh",
    "mad.lo.s32 Dr, Sr, Sr, Sr",
    "mad.hi.u32 Dr, Sr, Sr, Sr",
    "mad.wide.s32 Dd, Sr, Sr, Sd",
    "mul24.lo.s32 Dr, Sr, Sr",
    "sad.u32 Dr, Sr, Sr, Sr",
    "div.s32 Dr, Sr, Sr",
    "rem.u32 Dr, Sr, Sr",
    "div.u64 Dd, Sd, Sd",
    "rem.s64 Dd, Sd, Sd",
    "div.s16 Dh, Sh, Sh",
    "abs.s32 Dr, Sr",
    "neg.s64 Dd, Sd",
    "min.s32 Dr, Sr, Sr",
    "max.u64 Dd, Sd, Sd",
    "popc.b32 Dr, Sr",
    "clz.b64 Dr, Sd",
    "bfind.s32 Dr, Sr",
    "brev.b32 Dr, Sr",
    "brev.b64 Dd, Sd",
    "bfe.u32 Dr, Sr, Sb, Sb",
    "bfe.s64 Dd, Sd, Sb, Sb",
    "bfi.b32 Dr, Sr, Sr, Sb, Sb",
    "dp4a.s32.u32 Dr, Sr, Sr, Sr",
    "add.cc.u32 Dr, Sr, Sr",
    "addc.cc.u32 Dr, Sr, Sr",
    "subc.cc.u32 Dr, Sr, Sr",
    "addc.u64 Dd, Sd, Sd",
    "madc.hi.cc.u32 Dr, Sr, Sr, Sr",
    "and.b32 Dr, Sr, Sr",
    "or.b64 Dd, Sd, Sd",
    "xor.b16 Dh, Sh, Sh",
    "not.b32 Dr, Sr",
    "lop3.b32 Dr, Sr, Sr, Sr, 0xca",
    "shf.l.wrap.b32 Dr, Sr, Sr, Sr",
    "shf.r.clamp.b32 Dr, Sr, Sr, Sr",
    "shl.b32 Dr, Sr, Sr",
    "shr.s32 Dr, Sr, Sr",
    "shr.u64 Dd, Sd, Sr",
    "shl.b16 Dh, Sh, Sr",
    "prmt.b32 Dr, Sr, Sr, Sr",
    "prmt.b32.ecl Dr, Sr, Sr, Sr",
    "vadd4.s32.u32.s32.sat Dr, Sr, Sr, Sr",
    "vmad.s32.s32.u32.sat.shr7 Dr, Sr.b1, Sr.h0, Sr",
    "setp.lt.s32 Dp, Sr, Sr",
    "setp.ge.u64 Dp, Sd, Sd",
    "setp.ne.and.u32 Dp, Sr, Sr, Sp",
    "setp.gt.xor.s32 Dp|Dp, Sr, Sr, Sp",
    "lop3.or.b32 Dr|Dp, Sr, Sr, Sr, 0x96, Sp",
    "setp.eq.or.s16 Dp, Sh, Sh, !Sp",
    "set.le.u32.s32 Dr, Sr, Sr",
    "selp.b32 Dr, Sr, Sr, Sp",
    "selp.b64 Dd, Sd, Sd, Sp",
    "slct.u32.s32 Dr, Sr, Sr, Sr",
    "and.pred Dp, Sp, Sp",
    "not.pred Dp, Sp",
    "mov.u32 Dr, Sr",
    "mov.b64 Dd, {Sr, Sr}",
    "mov.b64 {Dr, Dr}, Sd",
    "cvt.u64.u32 Dd, Sr",
    "cvt.s64.s32 Dd, Sr",
    "cvt.u32.u64 Dr, Sd",
    "cvt.s32.s8 Dr, Sr",
    "cvt.sat.u16.s32 Dh, Sr",
    "cvt.u32.u16 Dr, Sh",
    "mov.u32 Dr, %tid.x",
    "mov.u32 Dr, %ntid.x",
    "mov.u32 Dr, %laneid",
    "bmsk.clamp.b32 Dr, Sr, Sr",
    "szext.wrap.s32 Dr, Sr, Sr",
];

struct Program<'n> {
    numbers: &'n mut Numbers,
    text: String,
    labels: usize,
    /// Functions that may be called.
    functions: usize,
    /// In a kernel, where there are buffers and shared memory.
    kernel: bool,
    /// How often an access is left to chance, in percent.
    wild: usize,
}

impl Program<'_> {
    fn register(&mut self, of: char) -> String {
        let count = match of {
            'r' | 'b' => 10,
            'd' => 6,
            'h' => 4,
            _ => 4,
        };
        let of = if of == 'b' { 'r' } else { of };
        format!("%{of}{}", self.numbers.below(count))
    }

    fn source(&mut self, of: char) -> String {
        if of == 'p' || self.numbers.chance(80) {
            return self.register(of);
        }
        let edges = [
            0u64,
            1,
            2,
            5,
            8,
            16,
            31,
            32,
            33,
            63,
            64,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
        ];
        let value = match self.numbers.below(3) {
            0 => self.numbers.next(),
            _ => *self.numbers.pick(&edges),
        };
        match of {
            'b' => format!("{}", value as u8),
            'h' => format!("{}", value as u16),
            'r' => format!("{}", value as u32),
            _ => format!("{}", value as i64),
        }
    }

    fn operator(&mut self) -> String {
        let template = *self.numbers.pick(OPERATORS);
        let mut text = String::new();
        let mut letters = template.chars().peekable();
        while let Some(letter) = letters.next() {
            let of = letters.peek().copied().filter(|of| "hrdpb".contains(*of));
            match (letter, of) {
                ('D', Some(of)) => {
                    letters.next();
                    text += &self.register(of);
                }
                ('S', Some(of)) => {
                    letters.next();
                    // Parts of registers, and 24 bits of a literal, are not for literals.
                    let plain = template.starts_with('v') || template.starts_with("mov");
                    text += &match plain {
                        true => self.register(of),
                        false => self.source(of),
                    };
                }
                _ => text.push(letter),
            }
        }
        text
    }

    fn guard(&mut self) -> String {
        match self.numbers.below(6) {
            0 => format!("@%p{} ", self.numbers.below(4)),
            1 => format!("@!%p{} ", self.numbers.below(4)),
            _ => String::new(),
        }
    }

    fn line(&mut self, statement: &str) {
        let guard = self.guard();
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{guard}{statement};");
    }

    /// An address in `%at`, or a window's in `%win`, from a register's value.
    fn access(&mut self) {
        let wild = self.numbers.chance(self.wild);
        let (ty, register, size) = *self.numbers.pick(&[
            ("u8", 'r', 1),
            ("s16", 'r', 2),
            ("u32", 'r', 4),
            ("s32", 'd', 4),
            ("u64", 'd', 8),
            ("v2.u32", 'v', 8),
        ]);
        let index = self.register('r');
        let offset = size * self.numbers.below(4);
        let mask = if wild {
            63
        } else {
            (64 / size - 4).next_power_of_two() / 2 - 1
        };
        let _ = writeln!(self.text, "and.b32 %t, {index}, {mask};");
        let scale = if wild && self.numbers.chance(50) {
            1
        } else {
            size
        };
        let value = match register {
            'v' => {
                let (x, y) = (self.numbers.below(5), 5 + self.numbers.below(5));
                format!("{{%r{x}, %r{y}}}")
            }
            of => self.register(of),
        };
        let base = match self.numbers.below(if self.kernel { 8 } else { 2 }) {
            0 | 1 => "local",
            2 => "shared",
            3 => "generic",
            _ => "global",
        };
        let address = match base {
            "global" => {
                let pointer = if self.numbers.chance(70) {
                    "%out"
                } else {
                    "%in"
                };
                let _ = writeln!(self.text, "mad.wide.u32 %at, %t, {scale}, {pointer};");
                format!("[%at+{offset}]")
            }
            "generic" => {
                let window = *self.numbers.pick(&["%gout", "%gshared", "%glocal"]);
                let _ = writeln!(self.text, "mad.wide.u32 %at, %t, {scale}, {window};");
                format!("[%at+{offset}]")
            }
            window => {
                let variable = if window == "shared" { "sh" } else { "lo" };
                if self.numbers.chance(30) {
                    format!("[{variable}+{offset}]")
                } else {
                    let _ = writeln!(
                        self.text,
                        "mov.u32 %win, {variable}; mad.lo.u32 %win, %t, {scale}, %win;"
                    );
                    format!("[%win+{offset}]")
                }
            }
        };
        let space = if base == "generic" {
            String::new()
        } else {
            format!(".{base}")
        };
        if self.numbers.chance(50) {
            self.line(&format!("ld{space}.{ty} {value}, {address}"));
        } else {
            self.line(&format!("st{space}.{ty} {address}, {value}"));
        }
    }

    /// Statements with labels before some, and branches from anywhere to anywhere.
    fn body(&mut self, statements: usize) {
        let first = self.labels;
        let count = 1 + statements / 8;
        self.labels += count;
        let mut open: Vec<usize> = (first..first + count).collect();
        for i in 0..statements {
            if i % 8 == 4
                && let Some(label) = open.pop()
            {
                let _ = writeln!(self.text, "L{label}:");
            }
            match self.numbers.below(20) {
                0 => {
                    // Any direction, as long as there is fuel.
                    let label = first + self.numbers.below(count);
                    let p = self.numbers.below(4);
                    let _ = writeln!(
                        self.text,
                        "sub.s32 %fuel, %fuel, 1; setp.lt.s32 %pf, %fuel, 0; @%pf ret; @%p{p} bra L{label};"
                    );
                }
                1 if self.functions > 0 => {
                    let f = self.numbers.below(self.functions);
                    let (x, y, z) = (self.register('r'), self.register('r'), self.register('d'));
                    self.line(&format!("call ({x}), f{f}, ({y}, {z})"));
                }
                2..=4 => self.access(),
                5 if self.numbers.chance(20) => {
                    let labels: Vec<String> = (0..3)
                        .map(|_| format!("L{}", first + self.numbers.below(count)))
                        .collect();
                    let table = self.labels;
                    self.labels += 1;
                    let index = self.register('r');
                    let _ = writeln!(
                        self.text,
                        "sub.s32 %fuel, %fuel, 1; setp.lt.s32 %pf, %fuel, 0; @%pf ret;\n\
                         T{table}: .branchtargets {};\nand.b32 %t, {index}, 3; min.u32 %t, %t, 2; brx.idx %t, T{table};",
                        labels.join(", ")
                    );
                }
                _ => {
                    let operator = self.operator();
                    self.line(&operator);
                }
            }
        }
        for label in open {
            let _ = writeln!(self.text, "L{label}:");
        }
    }

    fn declarations(&mut self) {
        self.text += ".reg .pred %p<4>, %pf; .reg .b16 %h<4>; .reg .b32 %r<10>, %t, %win, %fuel; .reg .b64 %d<6>, %at;\n\
                      .local .align 8 .b8 lo[64];\nmov.u32 %fuel, 20;\n";
    }

    fn function(&mut self, index: usize) {
        let _ = writeln!(
            self.text,
            ".func (.reg .b32 res) f{index}(.reg .b32 x, .reg .b64 y) {{"
        );
        self.declarations();
        self.text += "mov.u32 %r0, x; mov.u64 %d0, y;\n";
        let statements = 5 + self.numbers.below(25);
        self.body(statements);
        let result = self.register('r');
        let _ = writeln!(self.text, "mov.u32 res, {result};\nret;\n}}");
    }

    fn entry(&mut self) {
        self.text += ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n\
                      .shared .align 8 .b8 sh[64]; .reg .b64 %in, %out, %gout, %gshared, %glocal;\n";
        self.declarations();
        self.text += "ld.param.u64 %in, [in]; ld.param.u64 %gout, [out]; ld.param.u32 %r0, [n];\n\
                      cvta.to.global.u64 %out, %gout; cvta.to.global.u64 %in, %in;\n\
                      mov.u64 %gshared, sh; cvta.shared.u64 %gshared, %gshared;\n\
                      mov.u64 %glocal, lo; cvta.local.u64 %glocal, %glocal;\n\
                      mov.u32 %r1, %tid.x; mad.wide.u32 %d1, %r1, 77, %d0; ld.global.u32 %r2, [%in+8];\n\
                      ld.global.u64 %d2, [%in+16];\n";
        let statements = 20 + self.numbers.below(60);
        self.body(statements);
        for i in 0..10 {
            let _ = writeln!(self.text, "st.global.u32 [%out+{}], %r{i};", 64 + 4 * i);
        }
        for i in 0..6 {
            let _ = writeln!(self.text, "st.global.u64 [%out+{}], %d{i};", 104 + 8 * i);
        }
        for i in 0..4 {
            let _ = writeln!(
                self.text,
                "selp.u32 %t, 1, 0, %p{i}; st.global.u32 [%out+{}], %t;",
                152 + 4 * i
            );
        }
        self.text += "ret;\n}\n";
    }
}

/// A program, whether its accesses are left to chance, and numbers to go on with.
fn program(seed: u64) -> (String, bool, Numbers) {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..8 {
        numbers.next();
    }
    let functions = numbers.below(4);
    let wild = if numbers.chance(30) { 20 } else { 0 };
    let mut program = Program {
        numbers: &mut numbers,
        text: String::new(),
        labels: 0,
        functions: 0,
        kernel: false,
        wild,
    };
    for i in 0..functions {
        program.function(i);
        program.functions = i + 1;
    }
    program.kernel = true;
    program.entry();
    let text = std::mem::take(&mut program.text);
    (text, wild > 0, numbers)
}

/// Runs programs; gives how many came to their end and how many faulted.
fn run(seeds: std::ops::Range<u64>) -> [usize; 2] {
    let mut counts = [0; 2];
    for seed in seeds {
        let (text, wild, mut numbers) = program(seed);
        let settings = Settings {
            opt_level: *numbers.pick(&[OptLevel::Speed, OptLevel::Speed, OptLevel::None]),
            checked: wild || numbers.chance(80),
            ..Settings::default()
        };
        let bytes =
            |numbers: &mut Numbers, count| (0..count).map(|_| numbers.next() as u8).collect();
        let trial = Trial {
            block: [1 + numbers.below(5) as u32, 1, 1],
            grid: [1 + numbers.below(2) as u32, 1, 1],
            buffers: vec![bytes(&mut numbers, 64), bytes(&mut numbers, 192)],
            // Without checks nothing is only for reading.
            read_only: if settings.checked {
                vec![0]
            } else {
                Vec::new()
            },
            scalars: numbers.next().to_le_bytes()[..4].to_vec(),
            settings,
            ..Trial::default()
        };
        let outcome = trial.run(&text);
        counts[usize::from(outcome.fault.is_some())] += 1;
    }
    counts
}

#[test]
fn random_programs_agree() {
    let [fine, faulted] = run(0..120);
    // A test that runs nothing, or nothing but faults, must show.
    assert!(fine > 30 && faulted > 10, "{fine} ran, {faulted} faulted");
}

#[test]
#[ignore = "takes minutes; for a machine with nothing else to do"]
fn many_random_programs_agree() {
    run(1000..6000);
}
