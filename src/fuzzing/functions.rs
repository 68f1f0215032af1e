//! Bodies from their first statement to their last: registers with their first values, the regions of memory, statements,
//! and what is done with the results.

use super::body::Body;
use super::generate::{INPUT, OUTPUT, Signature, Type, written};
use super::meetings::{ALL, Flow, Meeting};
use super::operands::Register;
use super::places::{REGION, Region, Way};
use super::program::Function;
use crate::ir::memory::Space;
use crate::isa::types::{Ty, TyKind};

/// Fuel of a kernel: jumps and calls of a thread, all together; a callee has a quarter of what is left.
const FUEL: &str = "24";

/// Registers of a function and what they hold at first.
fn registers(body: &mut Body<'_, '_>) {
    let target = body.module.target;
    let mut groups: Vec<(TyKind, u32, String, usize)> = vec![
        (TyKind::Pred, 1, "%p".into(), 4),
        (TyKind::Bits, 16, "%h".into(), 3),
        (TyKind::Bits, 32, "%r".into(), 6),
        (TyKind::Bits, 64, "%d".into(), 4),
    ];
    for (kind, bits, name) in [
        (TyKind::Unsigned, 32, "%u"),
        (TyKind::Signed, 32, "%s"),
        (TyKind::Float, 32, "%f"),
        (TyKind::Signed, 64, "%sd"),
        (TyKind::Float, 64, "%fd"),
        (TyKind::Unsigned, 16, "%uh"),
        (TyKind::Bits, 8, "%b"),
    ] {
        if body.choices.chance(40) {
            groups.push((kind, bits, name.into(), 2));
        }
    }
    if target.has((8, 3), 70) {
        groups.push((TyKind::Bits, 128, "%q".into(), 2));
    }
    for (kind, bits, name, count) in groups {
        let ty = Ty { kind, bits };
        body.plain(format!(".reg {ty} {name}<{count}>;"));
        for number in 0..count {
            body.regs.push(Register {
                name: format!("{name}{number}"),
                kind,
                bits,
                vector: None,
            });
        }
    }
    for (bits, lanes, name) in [
        (32u32, 2usize, "%v"),
        (32, 4, "%z"),
        (16, 4, "%x"),
        (64, 2, "%y"),
    ] {
        if !body.choices.chance(25) {
            continue;
        }
        body.plain(format!(".reg .v{lanes} .b{bits} {name};"));
        for element in &["x", "y", "z", "w"][..lanes] {
            body.regs.push(Register {
                name: format!("{name}.{element}"),
                kind: TyKind::Bits,
                bits,
                vector: Some(name.to_string()),
            });
        }
    }
}

/// Registers that only generated code around the rows uses, and the regions of memory.
fn preamble(body: &mut Body<'_, '_>) {
    let module = body.module;
    let target = module.target;
    let address = format!(".b{}", target.address_bits);
    let window_bits = body.held("%w");
    let window = format!(".b{window_bits}");
    body.plain(".reg .pred %pf;");
    body.plain(".reg .b32 %t<4>, %fuel, %lin, %tl, %tm, %tn, %tb, %mask;");
    body.plain(format!(".reg {address} %at, %ar, %a<16>;"));
    body.plain(format!(".reg {window} %w<6>;"));
    body.plain(".reg .b64 %ts;");
    if has_local(body) {
        body.plain(format!(".local .align 32 .b8 loc[{REGION}];"));
    }
    registers(body);
    // The linear index of the thread in its block and in the grid.
    body.emit("mov.u32", &["%tl", "%tid.z"]);
    body.emit("mov.u32", &["%t0", "%ntid.y"]);
    body.emit("mov.u32", &["%t1", "%tid.y"]);
    body.emit("mad.lo.u32", &["%tl", "%tl", "%t0", "%t1"]);
    body.emit("mov.u32", &["%t0", "%ntid.x"]);
    body.emit("mov.u32", &["%t1", "%tid.x"]);
    body.emit("mad.lo.u32", &["%tl", "%tl", "%t0", "%t1"]);
    body.emit("mov.u32", &["%lin", "%ctaid.z"]);
    body.emit("mov.u32", &["%t0", "%nctaid.y"]);
    body.emit("mov.u32", &["%t1", "%ctaid.y"]);
    body.emit("mad.lo.u32", &["%lin", "%lin", "%t0", "%t1"]);
    body.emit("mov.u32", &["%t0", "%nctaid.x"]);
    body.emit("mov.u32", &["%t1", "%ctaid.x"]);
    body.emit("mad.lo.u32", &["%lin", "%lin", "%t0", "%t1"]);
    let block = module.block_threads.to_string();
    body.emit("mad.lo.u32", &["%lin", "%lin", &block, "%tl"]);
    common_regions(body, window_bits);
}

/// `to = base + index * scale`, as wide as `to` is.
fn slice(body: &mut Body<'_, '_>, to: &str, index: &str, scale: usize) {
    let head = if body.held(to) == 64 {
        "mad.wide.u32"
    } else {
        "mad.lo.u32"
    };
    body.emit(head, &[to, index, &scale.to_string(), to]);
}

/// Regions that kernels and functions have.
fn common_regions(body: &mut Body<'_, '_>, window_bits: u32) {
    let module = body.module;
    let address = module.address();
    let mov = format!("mov{address}");
    let window_mov = format!("mov.u{window_bits}");
    let register = |name: &str| Way::Register(name.to_string());
    let named = |name: &str, element| Way::Name {
        name: name.to_string(),
        element,
    };
    let [gro, csts] = module.elements;
    // Global variables: one for reading, one of which each thread has a part.
    body.emit(&mov, &["%a0", "gro"]);
    body.emit(&mov, &["%a1", "grw"]);
    slice(body, "%a1", "%lin", REGION);
    // Shared memory: each thread has a part; by name only where there is one thread.
    body.emit(&window_mov, &["%w0", "shm"]);
    slice(body, "%w0", "%tl", REGION);
    if has_local(body) {
        body.emit(&window_mov, &["%w1", "loc"]);
    }
    body.emit(&window_mov, &["%w2", "csts"]);
    // What all threads of the CTA, and of the grid, have in common.
    body.emit(&window_mov, &["%w3", "cta"]);
    body.emit(&mov, &["%a10", "all"]);
    let mut regions = vec![
        Region::new(register("%a0"), Space::Global, Space::Global, false),
        Region::new(named("gro", gro), Space::Global, Space::Global, false),
        Region::new(register("%a1"), Space::Global, Space::Global, true),
        Region::new(register("%w0"), Space::Shared, Space::Shared, true),
        Region::new(register("%w2"), Space::Const, Space::Const, false),
        Region::new(named("csts", csts), Space::Const, Space::Const, false),
    ];
    if has_local(body) {
        regions.extend([
            Region::new(register("%w1"), Space::Local, Space::Local, true),
            Region::new(named("loc", 1), Space::Local, Space::Local, true),
        ]);
    }
    let common = |way, space, lies| Region {
        common: true,
        ..Region::new(way, space, lies, true)
    };
    regions.extend([
        common(register("%w3"), Space::Shared, Space::Shared),
        common(named("cta", 0), Space::Shared, Space::Shared),
        common(register("%a10"), Space::Global, Space::Global),
        common(named("all", 0), Space::Global, Space::Global),
    ]);
    if module.threads == 1 {
        regions.push(Region::new(
            named("grw", 4),
            Space::Global,
            Space::Global,
            true,
        ));
    }
    if module.block_threads == 1 {
        regions.push(Region::new(
            named("shm", 1),
            Space::Shared,
            Space::Shared,
            true,
        ));
    }
    // The same by generic addresses.
    let windows = [
        ("%a2", "shm", "shared", Space::Shared, true),
        ("%a3", "loc", "local", Space::Local, true),
    ];
    for (to, name, space, lies, writes) in windows {
        if lies == Space::Local && !has_local(body) {
            continue;
        }
        body.emit(&mov, &[to, name]);
        if space == "shared" {
            slice(body, to, "%tl", REGION);
        }
        body.emit(&format!("cvta.{space}{address}"), &[to, to]);
        regions.push(Region::new(register(to), Space::Generic, lies, writes));
    }
    if module.target.has((3, 1), 20) {
        body.emit(&format!("cvta.const{address}"), &["%a4", "csts"]);
        regions.push(Region::new(
            register("%a4"),
            Space::Generic,
            Space::Const,
            false,
        ));
    }
    body.emit(&format!("cvta.global{address}"), &["%a5", "%a1"]);
    regions.push(Region::new(
        register("%a5"),
        Space::Generic,
        Space::Global,
        true,
    ));
    // What nobody reads before the launch is over.
    body.emit(&mov, &["%a14", "asy"]);
    slice(body, "%a14", "%lin", REGION);
    for space in [Space::Global, Space::Generic] {
        regions.push(Region {
            reads: false,
            later: true,
            ..Region::new(register("%a14"), space, Space::Global, true)
        });
    }
    // An mbarrier of each thread, and one that counts its bytes.
    if module.target.has((7, 0), 80) {
        body.emit(&window_mov, &["%w4", "mbs"]);
        slice(body, "%w4", "%tl", 8);
        body.emit(&mov, &["%a13", "mbs"]);
        slice(body, "%a13", "%tl", 8);
        body.emit(&format!("cvta.shared{address}"), &["%a13", "%a13"]);
        body.emit(&window_mov, &["%w5", "txs"]);
        slice(body, "%w5", "%tl", 8);
        body.emit(&mov, &["%a15", "txs"]);
        slice(body, "%a15", "%tl", 8);
        body.emit(&format!("cvta.shared{address}"), &["%a15", "%a15"]);
        if body.kernel {
            let count = body.choices.between(1, 3).to_string();
            body.emit("mbarrier.init.shared.b64", &["[%w4]", &count]);
        }
        for (way, space) in [("%w4", Space::Shared), ("%a13", Space::Generic)] {
            regions.push(Region {
                bytes: 8,
                object: true,
                ..Region::new(register(way), space, Space::Shared, true)
            });
        }
    }
    for (to, name, space, lies) in [
        ("%a11", "cta", "shared", Space::Shared),
        ("%a12", "all", "global", Space::Global),
    ] {
        body.emit(&mov, &[to, name]);
        body.emit(&format!("cvta.{space}{address}"), &[to, to]);
        regions.push(common(register(to), Space::Generic, lies));
    }
    body.regions = regions;
}

/// Whether there is a local variable: in functions that may take the place of their calls there is none.
pub(super) fn has_local(body: &Body<'_, '_>) -> bool {
    body.kernel || !body.module.plain
}

/// Where the copies of a thread's local and shared memory, and of its CTA's, begin in its output.
const WINDOWS: usize = OUTPUT - 3 * REGION;

/// Gives the general registers values: edges, words of the input where there is a pointer to it, the thread's index.
fn initialise(body: &mut Body<'_, '_>, input: Option<&str>) {
    for register in body.regs.clone() {
        let name = register.name.as_str();
        let ty = Ty {
            kind: register.kind,
            bits: register.bits,
        };
        // Registers are zero until they are written.
        if body.choices.chance(6) {
            continue;
        }
        match (register.kind, register.bits) {
            (TyKind::Pred, _) => {
                let value = (body.value(6) as u32).to_string();
                body.emit("setp.lt.u32", &[name, "%lin", &value]);
            }
            (_, 128) => body.emit("mov.b128", &[name, "{%d0, %d1}"]),
            (_, 8) => body.emit("cvt.u8.u32", &[name, "%lin"]),
            (TyKind::Bits, bits @ (32 | 64)) if body.choices.chance(60) && input.is_some() => {
                let step = bits as usize / 8;
                let offset = body.choices.below(INPUT / 2 / step) * step;
                let at = format!("[%at+{offset}]");
                body.emit(&format!("ld.global.b{bits}"), &[name, &at]);
            }
            (TyKind::Bits, 32) if body.choices.chance(20) => body.emit("mov.b32", &[name, "%lin"]),
            _ => {
                let (literal, _) = body.literal(ty);
                body.emit(&format!("mov{ty}"), &[name, &literal]);
            }
        }
    }
}

/// Statements, with labels among them that may be jumped to from anywhere.
fn main_part(body: &mut Body<'_, '_>, statements: usize) {
    let labels = body.choices.below(1 + statements / 8);
    body.targets = (0..labels).map(|n| format!("J{n}")).collect();
    let each = statements / (labels + 1);
    for label in 0..labels {
        body.statements(each, 0);
        body.plain(format!("J{label}:"));
    }
    body.statements(each, 0);
    body.plain("END:");
}

/// Who comes to the beginning.
fn begin_flow(body: &mut Body<'_, '_>, cta: bool, mask: Option<&str>) {
    body.flow = Flow {
        cta,
        team: None,
        mask: mask.map(str::to_string),
    };
    body.base = body.flow.clone();
}

pub(super) fn kernel(body: &mut Body<'_, '_>, name: String, scalars: &[Type]) -> Function {
    let module = body.module;
    let address = module.address();
    preamble(body);
    let mut params = vec![
        format!(".param {address} in"),
        format!(".param {address} out"),
    ];
    // The buffers: all read one of them, each thread writes its part of the other.
    for (to, name) in [("%a6", "in"), ("%a7", "out")] {
        body.emit(&format!("ld.param{address}"), &[to, &format!("[{name}]")]);
        body.emit(&format!("cvta.to.global{address}"), &[to, to]);
    }
    slice(body, "%a7", "%lin", OUTPUT);
    let register = |name: &str| Way::Register(name.to_string());
    let input = Region {
        bytes: INPUT,
        ..Region::new(register("%a6"), Space::Global, Space::Global, false)
    };
    body.regions.extend([
        Region {
            space: Space::Generic,
            ..input.clone()
        },
        input,
        Region::new(register("%a7"), Space::Global, Space::Global, true),
        Region::new(register("%a7"), Space::Generic, Space::Global, true),
        Region::new(Way::Number, Space::Local, Space::Local, true),
    ]);
    parameters(body, scalars, &mut params);
    body.emit("mov.u32", &["%fuel", FUEL]);
    if module.meeting == Meeting::Together {
        let mask = body.module.target.has((5, 1), 30);
        begin_flow(body, true, mask.then_some(ALL));
    }
    // Threads begin with different words.
    body.emit("and.b32", &["%t0", "%lin", "7"]);
    let (head, at) = if module.target.address_bits == 64 {
        ("mad.wide.u32", "%at")
    } else {
        ("mad.lo.u32", "%at")
    };
    body.emit(head, &[at, "%t0", "8", "%a6"]);
    initialise(body, Some("%a6"));
    let statements = match body.choices.below(4) {
        0 => body.choices.between(1, 8),
        1 | 2 => body.choices.between(8, 40),
        _ => body.choices.between(40, 80),
    };
    main_part(body, statements);
    store_registers(body);
    store_windows(body);
    body.emit("ret", &[]);
    Function {
        name,
        kernel: true,
        returns: Vec::new(),
        params,
        body: std::mem::take(&mut body.out),
    }
}

/// The parameters of a kernel behind its buffers, to be read by name and, the aggregates, by address.
fn parameters(body: &mut Body<'_, '_>, scalars: &[Type], params: &mut Vec<String>) {
    let mut held = false;
    for (n, ty) in scalars.iter().enumerate() {
        let name = format!("s{n}");
        let way = Way::Name {
            name: name.clone(),
            element: 0,
        };
        let region = Region::new(way, Space::Param, Space::Param, false);
        match ty {
            Type::Bits(bits) => {
                params.push(format!(".param .b{bits} {name}"));
                body.regions.push(Region {
                    bytes: *bits as usize / 8,
                    ..region
                });
            }
            Type::Bytes(bytes) => {
                params.push(format!(".param .align 32 .b8 {name}[{bytes}]"));
                body.regions.push(Region {
                    bytes: *bytes,
                    ..region.clone()
                });
                if !held {
                    held = true;
                    body.emit(&format!("mov{}", body.module.address()), &["%a8", &name]);
                    body.regions.push(Region {
                        way: Way::Register("%a8".to_string()),
                        bytes: *bytes,
                        ..region
                    });
                }
            }
        }
    }
}

/// Stores nearly all general registers behind the thread's region of the output, so that little of what was computed
/// is dead.
fn store_registers(body: &mut Body<'_, '_>) {
    let mut offset = REGION;
    for register in body.regs.clone() {
        let at = format!("[%a7+{offset}]");
        let name = register.name.as_str();
        if offset + 32 > WINDOWS || body.choices.chance(10) {
            continue;
        }
        match register.bits {
            1 => {
                body.emit("selp.u32", &["%t0", "1", "0", name]);
                body.emit("st.global.u32", &[&at, "%t0"]);
            }
            128 => {
                offset = offset.next_multiple_of(16);
                body.emit("st.global.b128", &[&format!("[%a7+{offset}]"), name]);
            }
            bits => body.emit(&format!("st.global.b{bits}"), &[&at, name]),
        }
        offset += (register.bits as usize).div_ceil(64) * 8;
    }
}

/// Copies the thread's local memory, its part of shared memory, and what all have there, to the end of its output.
fn store_windows(body: &mut Body<'_, '_>) {
    let mut to = WINDOWS;
    let module = body.module;
    let mut windows = vec![("local", "%w1"), ("shared", "%w0")];
    match (module.fixed, module.meeting) {
        // Others may not have done with it, and nobody waits for them.
        (true, Meeting::Never) => {}
        (true, _) => {
            body.emit("bar.sync", &["0"]);
            windows.push(("volatile.shared", "%w3"));
        }
        (false, _) => windows.push(("volatile.shared", "%w3")),
    }
    for (space, base) in windows {
        for from in (0..REGION).step_by(16) {
            let (from, at) = (format!("[{base}+{from}]"), format!("[%a7+{to}]"));
            body.emit(
                &format!("ld.{space}.v4.u32"),
                &["{%t0, %t1, %t2, %t3}", &from],
            );
            body.emit("st.global.v4.u32", &[&at, "{%t0, %t1, %t2, %t3}"]);
            to += 16;
        }
    }
}

pub(super) fn function(body: &mut Body<'_, '_>, signature: &Signature) -> Function {
    let module = body.module;
    let shape = &module.shapes[signature.shape];
    let (returns, params) = written(module, signature);
    preamble(body);
    let read = |ty: &str| {
        if shape.registers {
            format!("mov{ty}")
        } else {
            format!("ld.param{ty}")
        }
    };
    let from = |name: &str| {
        if shape.registers {
            name.to_string()
        } else {
            format!("[{name}]")
        }
    };
    body.emit(&read(".u32"), &["%fuel", &from("fuel")]);
    body.emit(&read(module.address()), &["%a6", &from("base")]);
    if module.meeting == Meeting::Together {
        body.emit(&read(".b32"), &["%mask", &from("mask")]);
        let mask = body.module.target.has((5, 1), 30);
        begin_flow(body, signature.cta, mask.then_some("%mask"));
    }
    let base = Way::Register("%a6".to_string());
    body.regions
        .push(Region::new(base, Space::Generic, Space::Generic, true));
    initialise(body, None);
    for (prefix, types, reads) in [("a", &shape.params, true), ("r", &shape.returns, false)] {
        for (n, ty) in types.iter().enumerate() {
            let name = format!("{prefix}{n}");
            let bytes = match ty {
                Type::Bits(bits) => *bits as usize / 8,
                Type::Bytes(bytes) => *bytes,
            };
            if let (true, Type::Bits(bits)) = (shape.registers, ty) {
                // Registers like others.
                body.regs.push(Register {
                    name,
                    kind: TyKind::Bits,
                    bits: *bits,
                    vector: None,
                });
                continue;
            }
            let way = Way::Name { name, element: 0 };
            body.regions.push(Region {
                bytes,
                reads,
                ..Region::new(way, Space::Param, Space::Param, !reads)
            });
        }
    }
    let statements = body.choices.between(2, 20);
    main_part(body, statements);
    if !shape.registers {
        for (n, ty) in shape.returns.iter().enumerate() {
            let bits = match ty {
                Type::Bits(bits) => *bits,
                Type::Bytes(_) => 32,
            };
            let ty = Ty {
                kind: TyKind::Bits,
                bits,
            };
            if let Some(name) = body.any_register(ty).filter(|_| body.choices.chance(80)) {
                body.emit(&format!("st.param{ty}"), &[&format!("[r{n}]"), &name]);
            }
        }
    }
    body.emit("ret", &[]);
    Function {
        name: signature.name.clone(),
        kernel: false,
        returns,
        params,
        body: std::mem::take(&mut body.out),
    }
}
