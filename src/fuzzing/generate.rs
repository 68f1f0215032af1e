//! Whole programs: variables, functions, kernels and their launches.

use super::body::Body;
use super::choices::Choices;
use super::functions::{function, kernel};
use super::meetings::{Decided, Flow, Meeting, Meets};
use super::operands::value;
use super::places::REGION;
use super::program::{Function, Item, Program};
use super::rows::{Target, rows};
use super::variant::Variant;
use crate::ir::Reading;
use crate::testing::contents::ElemTy;
use crate::testing::launch::{Arg, ArgValue, LaunchSpec};

/// Bytes of the buffer that programs read.
pub(super) const INPUT: usize = 128;
/// Bytes of each thread's part of the buffer that programs write: first a region for anything, then the registers, then
/// what its local memory, its shared memory and that of all hold.
pub(super) const OUTPUT: usize = 704;
/// Rows that a program has more of than of others.
const FOCUS: usize = 16;
/// What a function takes and gives. Before the listed parameters come the fuel and a generic pointer to a region.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// `.reg` rather than `.param` parameters.
    pub registers: bool,
    pub params: Vec<Type>,
    pub returns: Vec<Type>,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// `.bN`
    Bits(u32),
    /// Bytes, aligned to 16.
    Bytes(usize),
}

/// A function that may be called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Signature {
    pub name: String,
    /// Index of its shape.
    pub shape: usize,
    /// Whether all threads of the CTA call it together.
    pub cta: bool,
}

/// What is decided before the first body.
pub(super) struct ModuleInfo {
    pub target: Target,
    /// Rows to prefer.
    pub focus: Vec<usize>,
    /// Rows of `ld`, `ldu` and `st`.
    pub memory: Vec<usize>,
    /// Rows of `atom` and `red`.
    pub atomics: Vec<usize>,
    /// Rows at which threads meet.
    pub meets: Vec<usize>,
    pub meeting: Meeting,
    /// Whether threads may wait for what others write.
    pub polls: bool,
    /// Whether functions are such that each can stand in the place of its calls: no local variables, no aggregates, no
    /// recursion, no tables.
    pub plain: bool,
    pub shapes: Vec<Shape>,
    pub functions: Vec<Signature>,
    /// Names of tables of functions, with their shape and length.
    pub tables: Vec<(String, usize, usize)>,
    /// Whether addresses of windows are held in 32 bits where addresses have 64.
    pub narrow_windows: bool,
    /// Threads of a block.
    pub block_threads: usize,
    /// Threads of the grid.
    pub threads: usize,
    /// Bytes of an element of the arrays `gro`, `csts`.
    pub elements: [usize; 2],
    /// How often an access is left to chance, in percent.
    pub wild: usize,
    /// Whether what programs leave may not depend on the order in which threads run.
    pub fixed: bool,
}

impl ModuleInfo {
    /// `.u64` or `.u32`: the type of an address.
    pub(super) fn address(&self) -> &'static str {
        if self.target.address_bits == 32 {
            ".u32"
        } else {
            ".u64"
        }
    }
}

/// What the generator says of a program that it made.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The program.
    pub program: Program,
    /// How often a row's own rule refused words or operands, and others were tried.
    pub refused: u64,
    /// Rows that do not fit their build functions: bugs of the tables.
    pub broken: Vec<String>,
}

/// Makes a program. `turn` says which rows it prefers: of programs with consecutive numbers each row is preferred by
/// some.
pub(super) fn generate(choices: &mut Choices<'_>, turn: u64) -> Generated {
    let module = module(choices, turn);
    let mut generated = Generated {
        program: Program {
            header: module.target.header(),
            items: variables(choices, &module),
            launches: Vec::new(),
            variants: variants(choices),
            schedules: schedules(choices, &module),
            reading: Reading::Text,
            fixed: module.fixed,
        },
        refused: 0,
        broken: Vec::new(),
    };
    declare_functions(&module, &mut generated.program.items);
    for (number, signature) in module.functions.iter().enumerate() {
        let mut body = new_body(choices, &module, false);
        body.callable = if module.plain { number } else { usize::MAX };
        let function = function(&mut body, signature);
        generated.refused += body.refused;
        generated.broken.append(&mut body.broken);
        generated.program.items.push(Item::Function(function));
    }
    let kernels = if choices.chance(20) { 2 } else { 1 };
    for number in 0..kernels {
        let scalars = scalars(choices);
        let name = format!("k{number}");
        let launch = launch(choices, &module, &name, &scalars);
        let mut body = new_body(choices, &module, true);
        let function = kernel(&mut body, name, &scalars);
        generated.refused += body.refused;
        generated.broken.append(&mut body.broken);
        generated.program.items.push(Item::Function(function));
        generated.program.launches.push(launch);
    }
    if choices.chance(25) {
        generated.program.reading = Reading::Nvidia;
    }
    generated
}

fn module(choices: &mut Choices<'_>, turn: u64) -> ModuleInfo {
    let count = rows().len();
    let first = (turn % count as u64) as usize * FOCUS;
    let focus: Vec<usize> = (first..first + FOCUS).map(|row| row % count).collect();
    let target = if choices.chance(80) {
        let has_all = |target: &&Target| focus.iter().all(|row| target.has_row(rows()[*row]));
        let all = Target::ALL.iter().find(has_all);
        // Where none has them all, one that has one of them.
        let one = rows()[*choices.pick(&focus)];
        let some = Target::ALL.iter().find(|target| target.has_row(one));
        *all.or(some).unwrap_or(&Target::ALL[0])
    } else {
        *choices.pick(&Target::ALL)
    };
    let memory = |row: &usize| matches!(rows()[*row].mnemonic, "ld" | "ldu" | "st");
    let atomic = |row: &usize| matches!(rows()[*row].mnemonic, "atom" | "red" | "multimem");
    let meets = |row: &usize| Meets::of(rows()[*row]).is_some();
    let plain = choices.chance(60);
    let (meeting, polls) = meeting(choices, plain);
    let shapes: Vec<Shape> = (0..choices.between(1, 2))
        .map(|_| shape(choices, &target, plain))
        .collect();
    let functions: Vec<Signature> = (0..choices.below(4))
        .map(|n| Signature {
            name: format!("f{n}"),
            shape: choices.below(shapes.len()),
            cta: choices.chance(50),
        })
        .collect();
    let mut tables = Vec::new();
    for shape in 0..shapes.len() {
        let members = functions.iter().filter(|f| f.shape == shape).count();
        if members > 0 && !plain && choices.chance(70) {
            tables.push((format!("table{shape}"), shape, members));
        }
    }
    // Most errors show in one thread; some need several blocks and warps.
    let block_threads = match choices.below(10) {
        _ if meeting != Meeting::Never => match choices.below(10) {
            0 => 1,
            1..=3 => choices.between(2, 8),
            4 => *choices.pick(&[31, 32, 64]),
            5 | 6 => choices.between(17, 40),
            _ => choices.between(33, 100),
        },
        0 => choices.between(33, 40),
        1 | 2 => 1,
        3..=5 => choices.between(2, 8),
        // Enough that some go together.
        _ => choices.between(8, 24),
    };
    let blocks = if choices.chance(60) {
        1
    } else {
        choices.between(2, 4)
    };
    let fixed = meeting != Meeting::Anywhere && choices.chance(40);
    ModuleInfo {
        target,
        focus,
        memory: (0..count).filter(memory).collect(),
        atomics: (0..count).filter(atomic).collect(),
        meets: (0..count).filter(meets).collect(),
        meeting,
        polls,
        plain,
        shapes,
        functions,
        tables,
        narrow_windows: choices.chance(50),
        block_threads,
        threads: block_threads * blocks,
        elements: [*choices.pick(&[1, 2, 4, 8]), *choices.pick(&[1, 2, 4, 8])],
        wild: if !fixed && choices.chance(20) { 10 } else { 0 },
        fixed,
    }
}

/// How threads meet, and whether they may wait for what others write. Where functions cannot take the place of their calls,
/// seldom: only the interpreter can leave a thread in them.
fn meeting(choices: &mut Choices<'_>, plain: bool) -> (Meeting, bool) {
    if !plain && choices.chance(85) {
        return (Meeting::Never, false);
    }
    let meeting = match choices.below(20) {
        0 | 1 => Meeting::Never,
        2..=5 => Meeting::Alone,
        6 | 7 => Meeting::Anywhere,
        _ => Meeting::Together,
    };
    (meeting, true)
}

fn shape(choices: &mut Choices<'_>, target: &Target, plain: bool) -> Shape {
    let registers = choices.chance(50);
    let ty = |choices: &mut Choices<'_>| {
        if !registers && !plain && choices.chance(25) {
            return Type::Bytes(*choices.pick(&[4, 13, 16, 32]));
        }
        let wide = !plain && target.has((8, 3), 70) && choices.chance(10);
        Type::Bits(if wide {
            128
        } else {
            *choices.pick(&[32, 32, 64, 16])
        })
    };
    let params = (0..choices.below(4)).map(|_| ty(choices)).collect();
    let returns = if registers {
        choices.below(3)
    } else {
        choices.below(2)
    };
    Shape {
        registers,
        params,
        returns: (0..returns).map(|_| ty(choices)).collect(),
    }
}

/// Two variants of native code of each program: compiling takes most of the time.
fn variants(choices: &mut Choices<'_>) -> Vec<Variant> {
    match choices.below(9) {
        0 => vec![Variant::Speed, Variant::Plain],
        1 => vec![Variant::Speed, Variant::Wide4],
        2 => vec![Variant::Wide8, Variant::Plain],
        3 => vec![Variant::Wide16],
        4 => vec![Variant::Wide8],
        5 => vec![Variant::Plain],
        6 => vec![Variant::SinglePass],
        7 => vec![Variant::Wide32],
        _ => vec![Variant::Unchecked, Variant::Plain],
    }
}

/// Seeds of schedules that a program is run by, besides the canonical one: none in most cases where nobody waits.
fn schedules(choices: &mut Choices<'_>, module: &ModuleInfo) -> usize {
    match choices.below(4) {
        0 => 1,
        1 if module.meeting != Meeting::Never => 2,
        _ => 0,
    }
}

/// Elements of an array that fill a region or more.
fn initialiser(choices: &mut Choices<'_>, bytes: usize, element: usize) -> String {
    let list: Vec<String> = (0..bytes / element)
        .map(|_| format!("0x{:x}", value(choices, 8 * element as u32)))
        .collect();
    list.join(", ")
}

fn variables(choices: &mut Choices<'_>, module: &ModuleInfo) -> Vec<Item> {
    let mut items = Vec::new();
    for ((space, name), element) in [("global", "gro"), ("const", "csts")]
        .into_iter()
        .zip(module.elements)
    {
        let bits = 8 * element;
        let count = REGION / element;
        let list = initialiser(choices, REGION, element);
        items.push(format!(
            ".{space} .align 32 .u{bits} {name}[{count}] = {{{list}}};"
        ));
    }
    let bytes = REGION * module.threads;
    let list = initialiser(choices, 16, 4);
    items.push(format!(
        ".global .align 32 .u32 grw[{}] = {{{list}}};",
        bytes / 4
    ));
    let list = initialiser(choices, REGION, 8);
    items.push(format!(
        ".global .align 32 .u64 all[{}] = {{{list}}};",
        REGION / 8
    ));
    let bytes = REGION * module.threads;
    items.push(format!(".global .align 32 .b8 asy[{bytes}];"));
    let bytes = REGION * module.block_threads;
    items.push(format!(".shared .align 32 .b8 shm[{bytes}];"));
    items.push(format!(".shared .align 32 .b8 cta[{REGION}];"));
    if module.target.has((7, 0), 80) {
        let count = module.block_threads;
        items.push(format!(".shared .align 8 .b64 mbs[{count}];"));
        items.push(format!(".shared .align 8 .b64 txs[{count}];"));
        items.push(".shared .align 8 .b64 mbx;".to_string());
        items.push(".shared .align 4 .u32 tick;".to_string());
    }
    if module.meeting != Meeting::Never {
        // Lanes that the last warp does not have, too.
        let bytes = 8 * module.block_threads.next_multiple_of(32);
        items.push(format!(".shared .align 32 .b8 xch[{bytes}];"));
    }
    items.into_iter().map(Item::Declaration).collect()
}

/// Declares all functions before the first body, and the tables of them: any may call any.
fn declare_functions(module: &ModuleInfo, items: &mut Vec<Item>) {
    for signature in &module.functions {
        let (returns, params) = written(module, signature);
        let function = Function {
            name: signature.name.clone(),
            kernel: false,
            returns,
            params,
            body: Vec::new(),
        };
        items.push(Item::Declaration(format!("{};", function.head())));
    }
    for (name, shape, length) in &module.tables {
        let members = module.functions.iter().filter(|f| f.shape == *shape);
        let list: Vec<&str> = members.map(|f| f.name.as_str()).collect();
        items.push(Item::Declaration(format!(
            ".global {} {name}[{length}] = {{{}}};",
            module.address(),
            list.join(", ")
        )));
    }
}

/// Returns and parameters of a function as written.
pub(super) fn written(module: &ModuleInfo, signature: &Signature) -> (Vec<String>, Vec<String>) {
    let shape = &module.shapes[signature.shape];
    let bits = module.target.address_bits;
    let space = if shape.registers { ".reg" } else { ".param" };
    let one = |ty: &Type, name: &str| match ty {
        Type::Bits(bits) => format!("{space} .b{bits} {name}"),
        Type::Bytes(count) => format!("{space} .align 16 .b8 {name}[{count}]"),
    };
    let list = |prefix: &str, types: &[Type]| -> Vec<String> {
        let numbered = types.iter().enumerate();
        numbered
            .map(|(n, ty)| one(ty, &format!("{prefix}{n}")))
            .collect()
    };
    let mut params = vec![one(&Type::Bits(32), "fuel"), one(&Type::Bits(bits), "base")];
    if module.meeting == Meeting::Together {
        params.push(one(&Type::Bits(32), "mask"));
    }
    params.extend(list("a", &shape.params));
    (list("r", &shape.returns), params)
}

fn new_body<'g, 'b>(
    choices: &'g mut Choices<'b>,
    module: &'g ModuleInfo,
    kernel: bool,
) -> Body<'g, 'b> {
    Body {
        choices,
        module,
        kernel,
        out: Vec::new(),
        regs: Vec::new(),
        regions: Vec::new(),
        wild: module.wild,
        names: 0,
        targets: Vec::new(),
        flow: Flow::UNKNOWN,
        base: Flow::UNKNOWN,
        decided: Decided::default(),
        batch: None,
        never_aligned: false,
        needs_count: false,
        callable: usize::MAX,
        refused: 0,
        broken: Vec::new(),
    }
}

/// The types of a kernel's parameters behind the two buffers.
fn scalars(choices: &mut Choices<'_>) -> Vec<Type> {
    (0..choices.below(4))
        .map(|_| match choices.below(4) {
            0 => Type::Bytes(*choices.pick(&[32, 64])),
            _ => Type::Bits(*choices.pick(&[8, 16, 32, 64])),
        })
        .collect()
}

fn launch(
    choices: &mut Choices<'_>,
    module: &ModuleInfo,
    kernel: &str,
    scalars: &[Type],
) -> LaunchSpec {
    let blocks = module.threads / module.block_threads;
    // The same number of threads in one, two or three dimensions.
    let spread = |choices: &mut Choices<'_>, count: usize| {
        let divisors: Vec<usize> = (1..=count).filter(|d| count.is_multiple_of(*d)).collect();
        let x = *choices.pick(&divisors);
        let rest = [x, count / x, 1].map(|n| n as u32);
        // No more than 64 fit along z.
        if rest[1] > 64 || choices.chance(50) {
            rest
        } else {
            [rest[0], 1, rest[1]]
        }
    };
    let (grid, block) = if choices.chance(30) {
        (
            spread(choices, blocks),
            spread(choices, module.block_threads),
        )
    } else {
        ([blocks as u32, 1, 1], [module.block_threads as u32, 1, 1])
    };
    let mut words = |count: usize| -> Vec<u8> {
        (0..count)
            .map(|_| match choices.below(2) {
                0 => choices.bits() as u32,
                _ => value(choices, 32) as u32,
            })
            .flat_map(u32::to_le_bytes)
            .collect()
    };
    let buffer = |name: &str, contents: Vec<u8>| Arg {
        name: name.to_string(),
        value: ArgValue::Buffer {
            ty: ElemTy::U32,
            contents,
        },
    };
    let mut args = vec![
        buffer("in", words(INPUT / 4)),
        buffer("out", vec![0; OUTPUT * module.threads]),
    ];
    for (n, ty) in scalars.iter().enumerate() {
        let bytes = match ty {
            Type::Bits(bits) => *bits as usize / 8,
            Type::Bytes(bytes) => *bytes,
        };
        let mut contents = words(bytes.div_ceil(4));
        contents.truncate(bytes);
        args.push(Arg {
            name: format!("s{n}"),
            value: ArgValue::Bytes(contents),
        });
    }
    LaunchSpec {
        kernel: kernel.to_string(),
        grid,
        block,
        cluster: None,
        workers: None,
        dynamic_shared: if choices.chance(10) { 64 } else { 0 },
        args,
    }
}
