//! Native code beside the interpreter, and beside `semantics` for single operators.

mod control;
mod conversions;
mod floats;
mod halves;
mod memory;
mod operators;
mod readings;
mod resources;

use super::{Code, Given, Settings};
use crate::diag::Source;
use crate::interp::{Interpreter, NoTrace};
use crate::ir::memory::Space;
use crate::ir::{FuncId, Module};
use crate::machine::memory::Window;
use crate::machine::{AddressMap, Buffer, Fault, Host, Launch, Limits, Region, Scratch, Stop};
use std::sync::Arc;

/// Numbers without a pattern (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const HEADER: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// A module of PTX text without its header.
fn parse(body: &str) -> Arc<Module> {
    let source = Source::new("test.ptx", format!("{HEADER}{body}"));
    match crate::check::parse_and_check(source) {
        Ok(module) => Arc::new(module),
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

fn compile(module: &Arc<Module>) -> Code {
    Code::compile(module, &Settings::default(), Given::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// A launch to be run by both engines, each on memory of its own.
struct Trial {
    grid: [u32; 3],
    block: [u32; 3],
    /// Contents of buffers; each becomes a parameter of 64 bits.
    buffers: Vec<Vec<u8>>,
    /// Buffers that may not be written.
    read_only: Vec<usize>,
    /// Distances of the pointers from the buffers' starts.
    offsets: Vec<i64>,
    /// Further parameters, as they lie behind the pointers.
    scalars: Vec<u8>,
    dynamic_shared: u32,
    call_depth: u32,
    local_bytes: u32,
    settings: Settings,
}

impl Default for Trial {
    fn default() -> Self {
        Trial {
            grid: [1; 3],
            block: [1; 3],
            buffers: Vec::new(),
            read_only: Vec::new(),
            offsets: Vec::new(),
            scalars: Vec::new(),
            dynamic_shared: 0,
            call_depth: 64,
            local_bytes: 4096,
            settings: Settings::default(),
        }
    }
}

/// What a run left: the buffers and the module's variables, or the first fault.
#[derive(Debug, PartialEq)]
struct Outcome {
    fault: Option<Fault>,
    buffers: Vec<Vec<u8>>,
}

/// The memory of a trial.
struct Memory {
    buffers: Vec<Buffer>,
    globals: Buffer,
    constants: Buffer,
}

impl Memory {
    fn new(trial: &Trial, module: &Module) -> Self {
        Memory {
            buffers: trial.buffers.iter().map(|b| zeroed(b.len())).collect(),
            globals: zeroed(module.global_bytes as usize),
            constants: zeroed(module.const_bytes as usize),
        }
    }

    /// Gives it its first contents.
    fn reset(&self, trial: &Trial, module: &Module) {
        for (buffer, bytes) in self.buffers.iter().zip(&trial.buffers) {
            fill(buffer, 0, bytes);
        }
        for variable in &module.variables {
            let memory = match variable.space {
                Space::Global => &self.globals,
                Space::Const => &self.constants,
                Space::Generic | Space::Shared | Space::Cluster | Space::Local | Space::Param => {
                    continue;
                }
            };
            fill(
                memory,
                variable.offset as usize,
                &vec![0; variable.size as usize],
            );
            fill(memory, variable.offset as usize, &variable.init.bytes);
        }
    }

    fn map(&self, trial: &Trial, module: &Module) -> AddressMap {
        let buffers = self.buffers.iter().enumerate().map(|(i, b)| Region {
            base: b.as_ptr() as u64,
            len: b.len() as u64,
            writable: !trial.read_only.contains(&i),
            what: format!("buffer {i}"),
        });
        let globals = module.variables.iter().filter(|v| v.space == Space::Global);
        let globals = globals.map(|v| Region {
            base: self.globals.as_ptr() as u64 + v.offset,
            len: v.size,
            writable: true,
            what: format!("variable {}", v.name),
        });
        AddressMap::new(buffers.chain(globals).collect())
    }
}

impl Trial {
    /// Runs the module's first kernel in both engines, which must agree; gives what they agree on.
    fn run(&self, body: &str) -> Outcome {
        let module = parse(body);
        let kernel = (0..)
            .map(FuncId)
            .zip(&module.functions)
            .find(|(_, f)| f.kind == crate::ir::FunctionKind::Kernel)
            .map(|(id, _)| id)
            .expect("a kernel");
        let memory = Memory::new(self, &module);
        let interpreter = Interpreter::new(Arc::clone(&module));
        let expected = self.execute(&module, kernel, &memory, |launch, scratch, block| {
            let trace = &mut NoTrace;
            let steps = interpreter.run_block(kernel, launch, scratch, block, trace);
            steps.map(drop)
        });
        let code = Code::compile(&module, &self.settings, Given::default())
            .unwrap_or_else(|e| panic!("{e}\n{body}"));
        if let Some(absent) = code.absent(kernel) {
            panic!("{absent}\n{body}");
        }
        let native = self.execute(&module, kernel, &memory, |launch, scratch, block| {
            let prepared = code.prepare(kernel, launch).expect("a launch that fits");
            prepared.run_blocks(scratch, block, || None)
        });
        assert_eq!(native.fault, expected.fault, "{body}");
        if expected.fault.is_none() {
            assert!(native == expected, "memory differs\n{body}");
        }
        expected
    }

    fn execute(
        &self,
        module: &Module,
        kernel: FuncId,
        memory: &Memory,
        run: impl Fn(&Launch<'_>, &Scratch, [u32; 3]) -> Result<(), Fault>,
    ) -> Outcome {
        memory.reset(self, module);
        let mut params = Vec::new();
        for (i, buffer) in memory.buffers.iter().enumerate() {
            let offset = self.offsets.get(i).copied().unwrap_or(0);
            let address = (buffer.as_ptr() as u64).wrapping_add_signed(offset);
            params.extend(address.to_le_bytes());
        }
        params.extend(&self.scalars);
        params.resize(module.functions[kernel.index()].param_bytes as usize, 0);
        let (map, stop) = (memory.map(self, module), Stop::new());
        let launch = Launch {
            grid: self.grid,
            block: self.block,
            clusters: crate::machine::Clusters::ALONE,
            params: &params,
            dynamic_shared: self.dynamic_shared,
            map: &map,
            globals: memory.globals.as_ptr() as u64,
            constants: memory.constants.window(),
            host: &Host::default(),
            together: false,
            limits: Limits {
                stop: &stop,
                steps: 50_000_000,
                call_depth: self.call_depth,
                local_bytes: self.local_bytes,
            },
        };
        let shared = module.functions[kernel.index()].shared_window(self.dynamic_shared);
        // More than is asked for: what lies beyond must not be reached.
        let scratch = scratch(shared as usize + 64, self.local_bytes as usize + 64);
        let mut fault = None;
        'grid: for z in 0..self.grid[2] {
            for y in 0..self.grid[1] {
                for x in 0..self.grid[0] {
                    if let Err(found) = run(&launch, &scratch, [x, y, z]) {
                        fault = Some(found);
                        break 'grid;
                    }
                }
            }
        }
        let all = memory.buffers.iter().chain([&memory.globals]);
        Outcome {
            fault,
            buffers: all.map(contents).collect(),
        }
    }
}

fn zeroed(bytes: usize) -> Buffer {
    Buffer::try_zeroed(bytes).expect("memory")
}

fn scratch(shared: usize, local: usize) -> Scratch {
    Scratch::try_new(shared, local).expect("memory")
}

fn fill(buffer: &Buffer, offset: usize, bytes: &[u8]) {
    assert!(offset + bytes.len() <= buffer.len());
    // SAFETY: in bounds; no kernel runs.
    unsafe {
        let to = buffer.as_ptr().add(offset);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
    }
}

fn contents(buffer: &Buffer) -> Vec<u8> {
    // SAFETY: the buffer is that long; no kernel runs.
    unsafe { std::slice::from_raw_parts(buffer.as_ptr(), buffer.len()) }.to_vec()
}

/// A launch for functions that are called from the host, with no memory but local.
fn with_launch<T>(call_depth: u32, f: impl FnOnce(&Launch<'_>, &Scratch, &Stop) -> T) -> T {
    let (map, stop) = (AddressMap::default(), Stop::new());
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        clusters: crate::machine::Clusters::ALONE,
        params: &[],
        dynamic_shared: 0,
        map: &map,
        globals: 0,
        constants: Window::EMPTY,
        host: &Host::default(),
        together: false,
        limits: Limits {
            stop: &stop,
            steps: 50_000_000,
            call_depth,
            local_bytes: 4096,
        },
    };
    f(&launch, &scratch(0, 4096), &stop)
}
