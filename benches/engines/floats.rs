//! Kernels of floating-point arithmetic, with the same work in C.

use crate::reference::{self, Gcc, Reference};
use crate::subject::{Subject, bytes};
use libloading::Library;
use ptxlift::testing::contents::{ElemTy, SplitMix64};
use ptxlift::testing::launch::{Arg, ArgValue, LaunchSpec};
use ptxlift::testing::tolerance::Tolerance;

/// A parameter.
enum Value {
    /// So many numbers between two, drawn at random.
    Numbers(usize, f32, f32),
    /// So many bodies: three numbers between -1 and 1, and a mass; the masses together are 1.
    Bodies(usize),
    /// So many zeros.
    Zeros(usize),
    U32(u32),
    U64(u64),
    F32(f32),
}

/// A launch.
struct Launch {
    grid: [u32; 2],
    block: [u32; 2],
    args: Vec<Value>,
    /// Bytes of dynamic shared memory.
    shared: u32,
}

/// Calls the C function of a library on the buffers, for a size.
type Call = unsafe fn(&Library, &[*mut f32], u32);

/// A kernel.
struct Kernel {
    /// The C function has it before `_ref`.
    name: &'static str,
    text: &'static str,
    source: &'static str,
    /// What [`Kernel::launch`] and [`Kernel::call`] mean, in native code and C, in the interpreter.
    sizes: [u32; 2],
    launch: fn(u32) -> Launch,
    call: Call,
    tolerance: Tolerance,
}

/// The part of `rsqrt.approx` and others that C computes otherwise.
const CLOSE: Tolerance = Tolerance::Close {
    rel: 1e-4,
    abs: 1e-5,
};

/// A kernel whose text and C source are in the folder of its name.
macro_rules! folder {
    ($name:literal) => {
        (
            include_str!(concat!("../../tests/kernels/", $name, "/kernel.ptx")),
            concat!("tests/kernels/", $name, "/ref.c"),
        )
    };
}

const NUMBERS: fn(u32) -> Value = |n| Value::Numbers(n as usize, -1.0, 1.0);

/// So many pixels of a view of the set, 256 iterations at most.
fn mandelbrot(side: u32) -> Launch {
    Launch {
        grid: [side / 16; 2],
        block: [16; 2],
        args: vec![
            Value::Zeros((side * side) as usize),
            Value::U32(side),
            Value::U32(side),
            Value::U32(ITERATIONS),
            Value::F32(LEFT),
            Value::F32(TOP),
            Value::F32(3.0 / side as f32),
        ],
        shared: 0,
    }
}

const ITERATIONS: u32 = 256;
const LEFT: f32 = -2.0;
const TOP: f32 = -1.5;

fn matmul(n: u32) -> Launch {
    Launch {
        grid: [n / 16; 2],
        block: [16; 2],
        args: vec![
            NUMBERS(n * n),
            NUMBERS(n * n),
            Value::Zeros((n * n) as usize),
            Value::U32(n),
        ],
        shared: 0,
    }
}

/// Columns of a row, and where the next begins.
const COLUMNS: u32 = 384;
const SOFTMAX_COLUMNS: u32 = 128;
const EPSILON: f32 = 1e-5;
const STEP: f32 = 0.01;
const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.3;

/// Defines the body of a [`Call`]: the C function's type, and its arguments.
macro_rules! call {
    ($symbol:literal, ($($ty:ty),*), |$b:ident, $n:ident| ($($arg:expr),*)) => {
        |library, $b, $n| {
            // SAFETY: the C source defines it with this type, but for `const`; the caller gives the buffers of a launch of this
            // size.
            unsafe {
                let function = library.get::<unsafe extern "C" fn($($ty),*)>($symbol);
                (function.expect("the reference"))($($arg),*);
            }
        }
    };
}

type F = *mut f32;

fn kernels() -> Vec<Kernel> {
    let exact = Tolerance::Exact;
    vec![
        Kernel::new(
            "vecadd",
            folder!("vecadd"),
            [256, 4],
            |blocks| Launch {
                grid: [blocks, 1],
                block: [256, 1],
                args: vec![
                    NUMBERS(256 * blocks),
                    NUMBERS(256 * blocks),
                    Value::Zeros(256 * blocks as usize),
                    Value::U32(256 * blocks),
                ],
                shared: 0,
            },
            call!(b"vecadd_ref", (F, F, F, usize, usize), |b, n| (
                b[0],
                b[1],
                b[2],
                0,
                256 * n as usize
            )),
            exact,
        ),
        Kernel::new(
            "matmul_naive",
            folder!("matmul_naive"),
            [128, 16],
            matmul,
            call!(
                b"matmul_naive_ref",
                (F, F, F, usize, usize, usize),
                |b, n| (b[0], b[1], b[2], n as usize, 0, n as usize)
            ),
            exact,
        ),
        Kernel::new(
            "matmul_tiled",
            folder!("matmul_tiled"),
            [128, 16],
            matmul,
            call!(
                b"matmul_tiled_ref",
                (F, F, F, usize, usize, usize),
                |b, n| (b[0], b[1], b[2], n as usize, 0, n as usize)
            ),
            exact,
        ),
        Kernel::new(
            "reduce_smem",
            folder!("reduce_smem"),
            [64, 4],
            |blocks| Launch {
                grid: [blocks, 1],
                block: [256, 1],
                args: vec![NUMBERS(256 * blocks), Value::Zeros(blocks as usize)],
                shared: 0,
            },
            call!(b"reduce_smem_ref", (F, F, usize, usize), |b, n| (
                b[0], b[1], 0, n as usize
            )),
            exact,
        ),
        Kernel::new(
            "mandelbrot",
            folder!("mandelbrot"),
            [64, 16],
            mandelbrot,
            call!(
                b"mandelbrot_ref",
                (F, usize, u32, f32, f32, f32, usize, usize),
                |b, n| (
                    b[0],
                    n as usize,
                    ITERATIONS,
                    LEFT,
                    TOP,
                    3.0 / n as f32,
                    0,
                    n as usize
                )
            ),
            exact,
        ),
        Kernel::new(
            "nbody",
            folder!("nbody"),
            [4, 1],
            |blocks| Launch {
                grid: [blocks, 1],
                block: [256, 1],
                args: vec![
                    Value::Bodies(256 * blocks as usize),
                    NUMBERS(1024 * blocks),
                    Value::Zeros(1024 * blocks as usize),
                    Value::U32(256 * blocks),
                    Value::F32(STEP),
                ],
                shared: 0,
            },
            call!(b"nbody_ref", (F, F, F, usize, f32, usize, usize), |b, n| (
                b[0],
                b[1],
                b[2],
                256 * n as usize,
                STEP,
                0,
                256 * n as usize
            )),
            CLOSE,
        ),
        Kernel::new(
            "layernorm",
            (
                include_str!("floats/layernorm.ptx"),
                "benches/engines/floats/layernorm.c",
            ),
            [64, 2],
            |rows| Launch {
                grid: [rows, 1],
                block: [64, 1],
                args: vec![
                    NUMBERS(COLUMNS * rows),
                    NUMBERS(COLUMNS),
                    NUMBERS(COLUMNS),
                    Value::Zeros((COLUMNS * rows) as usize),
                    Value::U32(COLUMNS / 4),
                    Value::F32(EPSILON),
                ],
                shared: 0,
            },
            call!(
                b"layernorm_ref",
                (F, F, F, F, usize, f32, usize, usize),
                |b, n| (
                    b[0],
                    b[1],
                    b[2],
                    b[3],
                    COLUMNS as usize,
                    EPSILON,
                    0,
                    n as usize
                )
            ),
            CLOSE,
        ),
        Kernel::new(
            "softmax",
            (
                include_str!("floats/softmax.ptx"),
                "benches/engines/floats/softmax.c",
            ),
            [128, 2],
            |rows| Launch {
                grid: [rows, 1],
                block: [128, 1],
                args: vec![
                    Value::Numbers((SOFTMAX_COLUMNS * rows) as usize, -6.0, 6.0),
                    Value::Zeros((SOFTMAX_COLUMNS * rows) as usize),
                    Value::U32(SOFTMAX_COLUMNS),
                    Value::U32(SOFTMAX_COLUMNS),
                    Value::U64(0),
                    Value::U64(0),
                ],
                shared: 16,
            },
            call!(
                b"softmax_ref",
                (F, F, usize, usize, usize, usize),
                |b, n| (
                    b[0],
                    b[1],
                    SOFTMAX_COLUMNS as usize,
                    SOFTMAX_COLUMNS as usize,
                    0,
                    n as usize
                )
            ),
            CLOSE,
        ),
        Kernel::new(
            "black_scholes",
            (
                include_str!("floats/black_scholes.ptx"),
                "benches/engines/floats/black_scholes.c",
            ),
            [32, 1],
            |blocks| Launch {
                grid: [blocks, 1],
                block: [256, 1],
                args: vec![
                    Value::Zeros(512 * blocks as usize),
                    Value::Numbers(256 * blocks as usize, 5.0, 30.0),
                    Value::Numbers(256 * blocks as usize, 1.0, 40.0),
                    Value::Numbers(256 * blocks as usize, 0.25, 5.0),
                    Value::F32(RATE),
                    Value::F32(VOLATILITY),
                    Value::U32(256 * blocks),
                ],
                shared: 0,
            },
            call!(
                b"black_scholes_ref",
                (F, F, F, F, f32, f32, usize, usize),
                |b, n| (
                    b[0],
                    b[1],
                    b[2],
                    b[3],
                    RATE,
                    VOLATILITY,
                    0,
                    256 * n as usize
                )
            ),
            Tolerance::Close {
                rel: 1e-3,
                abs: 1e-4,
            },
        ),
    ]
}

impl Launch {
    /// The words of each buffer.
    fn buffers(&self) -> Vec<Vec<u32>> {
        let mut numbers = SplitMix64::new(1);
        let mut draw = |from: f32, to: f32| {
            let part = (numbers.draw() >> 40) as f32 / (1 << 24) as f32;
            (from + (to - from) * part).to_bits()
        };
        let mut buffers = Vec::new();
        for arg in &self.args {
            match *arg {
                Value::Numbers(count, from, to) => {
                    buffers.push((0..count).map(|_| draw(from, to)).collect());
                }
                Value::Bodies(count) => {
                    let mass = (1.0 / count as f32).to_bits();
                    let mut body = |_| [draw(-1.0, 1.0), draw(-1.0, 1.0), draw(-1.0, 1.0), mass];
                    buffers.push((0..count).flat_map(&mut body).collect());
                }
                Value::Zeros(count) => buffers.push(vec![0; count]),
                Value::U32(_) | Value::U64(_) | Value::F32(_) => {}
            }
        }
        buffers
    }

    fn spec(&self, kernel: &str) -> LaunchSpec {
        let mut buffers = self.buffers().into_iter();
        let args = self.args.iter().enumerate().map(|(i, arg)| Arg {
            name: format!("argument {i}"),
            value: match arg {
                Value::Numbers(..) | Value::Bodies(_) | Value::Zeros(_) => ArgValue::Buffer {
                    ty: ElemTy::F32,
                    contents: bytes(&buffers.next().expect("a buffer")),
                },
                Value::U32(value) => ArgValue::Bytes(value.to_le_bytes().to_vec()),
                Value::U64(value) => ArgValue::Bytes(value.to_le_bytes().to_vec()),
                Value::F32(value) => ArgValue::Bytes(value.to_le_bytes().to_vec()),
            },
        });
        LaunchSpec {
            kernel: kernel.to_string(),
            grid: [self.grid[0], self.grid[1], 1],
            block: [self.block[0], self.block[1], 1],
            cluster: None,
            workers: None,
            dynamic_shared: self.shared,
            args: args.collect(),
        }
    }
}

impl Kernel {
    fn new(
        name: &'static str,
        (text, source): (&'static str, &'static str),
        sizes: [u32; 2],
        launch: fn(u32) -> Launch,
        call: Call,
        tolerance: Tolerance,
    ) -> Self {
        Kernel {
            name,
            text,
            source,
            sizes,
            launch,
            call,
            tolerance,
        }
    }

    fn subject(&self, sizes: [u32; 2], gcc: Gcc) -> Subject {
        let [native, interpreted] = sizes.map(self.launch);
        Subject {
            name: self.name.to_string(),
            text: self.text.to_string(),
            native: native.spec(self.name),
            interpreted: interpreted.spec(self.name),
            reference: self.reference(sizes[0], &native, gcc),
            tolerance: self.tolerance,
        }
    }

    fn reference(&self, size: u32, native: &Launch, gcc: Gcc) -> Option<Reference> {
        let library = reference::compile(self.name, self.source, gcc)?;
        let call = self.call;
        let call = move |buffers: &mut [Vec<u32>]| {
            let pointers: Vec<F> = buffers.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
            // SAFETY: the buffers are those of a launch of this size.
            unsafe { call(&library, &pointers, size) }
        };
        Some(Reference::new(Box::new(call), native.buffers()))
    }
}

/// The kernels with their launches.
pub fn subjects() -> Vec<Subject> {
    let subject = |kernel: &Kernel| kernel.subject(kernel.sizes, Gcc::Scalars);
    kernels().iter().map(subject).collect()
}

/// A kernel at other sizes; `None` if there is none of that name.
pub fn sized(name: &str, sizes: [u32; 2], gcc: Gcc) -> Option<Subject> {
    let kernels = kernels();
    let kernel = kernels.iter().find(|kernel| kernel.name == name);
    kernel.map(|kernel| kernel.subject(sizes, gcc))
}
