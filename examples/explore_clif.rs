//! Looks at what becomes of one instruction: Cranelift's intermediate representation and machine instructions at each
//! optimisation level, and how large the code is.
//!
//!     cargo run --release --example explore_clif ['STATEMENT' [TYPE OF %d [OF %a [OF %b [OF %c]]]]]
//!     cargo run --release --example explore_clif 'shf.l.wrap.b32 %d, %a, %b, %c'
//!     cargo run --release --example explore_clif 'mul.wide.u32 %d, %a, %b' b64
//!     cargo run --release --example explore_clif 'lop3.b32 %d, %a, %b, %c, 0xe8'
//!
//! Several statements in one argument are separated by `;`. Types are `b32` where none is given.

use ptxlift::{
    Arg, Device, DeviceConfig, Engine, EngineConfig, EngineKind, Error, Module, OptLevel, Stage,
};

const DEFAULT: &str = "shf.l.wrap.b32 %d, %a, %b, %c";

const LEVELS: [OptLevel; 3] = [OptLevel::None, OptLevel::Speed, OptLevel::SpeedAndSize];

/// What is tried on the code of each level: a, b, c.
const VALUES: [u64; 3] = [0x89ab_cdef, 0x0123_4567, 13];

fn main() -> std::process::ExitCode {
    match explore() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn explore() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let statement = arguments.next().unwrap_or_else(|| DEFAULT.to_string());
    let types: Vec<String> = arguments
        .chain(std::iter::repeat("b32".to_string()))
        .take(4)
        .collect();
    let module = Module::parse_named("statement", function(&statement, &types))?;

    let mut rows = Vec::new();
    let mut results = Vec::new();
    for level in LEVELS {
        let engine = Engine::new(EngineConfig::default().opt_level(level));
        let made = engine.dump(&module, "explored", Stage::Clif)?;
        let optimised = engine.dump(&module, "explored", Stage::Optimized)?;
        let machine = engine.dump(&module, "explored", Stage::Vcode)?;
        let bytes = engine.dump(&module, "explored", Stage::Asm)?;
        if level == LEVELS[0] {
            println!("=== as it is made ===\n{made}");
        }
        println!("=== {level:?}: optimised ===\n{optimised}");
        println!("=== {level:?}: machine instructions ===\n{machine}");
        rows.push((
            level,
            instructions(&made),
            instructions(&optimised),
            size(&bytes),
        ));
        results.push(result(&engine, &module, EngineKind::Native)?);
    }
    let reference = result(&Engine::default(), &module, EngineKind::Interpreter)?;
    assert!(
        results.iter().all(|native| *native == reference),
        "{results:x?} instead of {reference:x}"
    );

    println!(
        "{:14} {:>10} {:>16} {:>12}",
        "level", "CLIF", "optimised CLIF", "code"
    );
    for (level, made, optimised, bytes) in rows {
        let level = format!("{level:?}");
        println!("{level:14} {made:>10} {optimised:>16} {bytes:>6} bytes");
    }
    let [a, b, c] = VALUES;
    println!(
        "\n%a = {a:#x}, %b = {b:#x}, %c = {c:#x}: %d = {reference:#x}, at each level and in the interpreter"
    );
    Ok(())
}

/// A device function of the statement.
fn function(statement: &str, types: &[String]) -> String {
    let [d, a, b, c] = types else {
        unreachable!("four types")
    };
    format!(
        ".version 8.7
.target sm_90
.address_size 64
.func (.reg .{d} %d) explored(.reg .{a} %a, .reg .{b} %b, .reg .{c} %c)
{{
    {};
    ret;
}}
",
        statement.trim_end_matches([';', ' '])
    )
}

/// What the function gives.
fn result(engine: &Engine, module: &Module, kind: EngineKind) -> Result<u128, Error> {
    let device = Device::new(DeviceConfig::default())?;
    let instance = engine.compile(module)?.instantiate(&device)?;
    let explored = instance.any_function("explored")?.engine(kind);
    let parameters = explored.parameters();
    let args: Vec<Arg> = VALUES
        .iter()
        .zip(&parameters)
        .map(|(value, parameter)| {
            let mut bytes = value.to_le_bytes().to_vec();
            bytes.resize(parameter.size as usize, 0);
            Arg::bytes(&bytes)
        })
        .collect();
    let results = explored.call(args)?;
    let mut bytes = [0; 16];
    bytes[..results[0].len()].copy_from_slice(&results[0]);
    Ok(u128::from_le_bytes(bytes))
}

/// Lines of CLIF that are instructions.
fn instructions(clif: &str) -> usize {
    let lines = clif.lines().map(str::trim);
    let body = lines.skip_while(|line| !line.starts_with("block"));
    body.filter(|line| {
        !line.is_empty() && !line.starts_with("block") && !line.starts_with([';', '}'])
    })
    .count()
}

/// Bytes of machine code in a dump of it.
fn size(bytes: &str) -> usize {
    let lines = bytes.lines().filter(|line| !line.starts_with(';'));
    let code = lines.filter_map(|line| line.split_once(':'));
    code.map(|(_, bytes)| bytes.split_whitespace().count())
        .sum()
}
