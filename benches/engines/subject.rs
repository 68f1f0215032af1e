//! What is measured: kernels with their launches, and where there is one the same work in C.

use crate::floats;
use crate::reference::{self, Gcc, Reference};
use ptxlift::testing::contents::ElemTy;
use ptxlift::testing::exec::{self, Outcome, Prepared};
use ptxlift::testing::launch::{Arg, ArgValue, LaunchSpec};
use ptxlift::testing::launch_toml::LaunchFile;
use ptxlift::testing::tolerance::Tolerance;
use ptxlift::{Engine, EngineConfig, EngineKind, Error, Module};
use std::path::{Path, PathBuf};

/// A kernel and its launches.
pub struct Subject {
    pub name: String,
    pub text: String,
    /// The launch for native code, and one that the interpreter does in about the same time.
    pub native: LaunchSpec,
    pub interpreted: LaunchSpec,
    pub reference: Option<Reference>,
    /// How close the reference's results come.
    pub tolerance: Tolerance,
}

/// Threads of a launch.
pub fn threads(spec: &LaunchSpec) -> u64 {
    spec.grid
        .iter()
        .chain(&spec.block)
        .map(|&n| u64::from(n))
        .product()
}

/// An engine that does nothing but what a user's does: checked, with a time limit, not verified.
pub fn engine(kind: EngineKind, threads: usize, settings: &[(&str, &str)]) -> Engine {
    let config = EngineConfig::default()
        .kind(kind)
        .threads(threads)
        .verify(false);
    Engine::new(
        settings
            .iter()
            .fold(config, |config, (key, value)| config.setting(*key, *value)),
    )
}

impl Subject {
    pub fn module(&self) -> Module {
        Module::parse_named(&*self.name, &*self.text).expect("a module")
    }

    /// Ready to be launched.
    pub fn prepare(&self, spec: &LaunchSpec, engine: &Engine) -> Result<Prepared, Error> {
        Prepared::new(&self.module(), spec, engine)
    }

    /// What C computes of the native launch; `None` where there is no C.
    pub fn expected(&mut self) -> Option<Expected> {
        let reference = self.reference.as_mut()?;
        reference.call();
        Some(Expected {
            name: self.name.clone(),
            buffers: reference.buffers.iter().map(|b| bytes(b)).collect(),
            tolerance: self.tolerance,
        })
    }

    /// Native code, interpreter and C give the same.
    fn check(&mut self) -> Result<(), Error> {
        let engine = engine(EngineKind::Native, 1, &[]);
        let small = self.prepare(&self.interpreted, &engine)?;
        let outcome = |prepared: &Prepared, kind| {
            let outcome = prepared.run(kind)?;
            assert!(outcome.end.is_ok(), "{}: {:?}", self.name, outcome.end);
            Ok::<Outcome, Error>(outcome)
        };
        let interpreted = outcome(&small, EngineKind::Interpreter)?;
        let native = outcome(&small, EngineKind::Native)?;
        let difference = exec::difference(&interpreted, &native);
        assert_eq!(difference, None, "{}", self.name);
        let native = outcome(&self.prepare(&self.native, &engine)?, EngineKind::Native)?;
        if let Some(expected) = self.expected() {
            expected.compare(&native.buffers);
        }
        Ok(())
    }
}

/// What a launch has to leave in its buffers.
pub struct Expected {
    /// The kernel.
    name: String,
    /// Contents, in the order of the arguments.
    buffers: Vec<Vec<u8>>,
    /// How close a launch has to come to them.
    tolerance: Tolerance,
}

impl Expected {
    /// This, or what comes so close.
    pub fn new(kernel: &str, buffers: Vec<Vec<u8>>, tolerance: Tolerance) -> Self {
        Expected {
            name: kernel.to_string(),
            buffers,
            tolerance,
        }
    }

    /// Compares what a launch left.
    ///
    /// # Panics
    /// If it is something else.
    pub fn compare(&self, buffers: &[Vec<u8>]) {
        assert_eq!(buffers.len(), self.buffers.len());
        for (got, expected) in buffers.iter().zip(&self.buffers) {
            let ty = match self.tolerance {
                // Nearly always so, and found out fast.
                Tolerance::Exact if got == expected => continue,
                Tolerance::Exact => ElemTy::U32,
                Tolerance::Close { .. } => ElemTy::F32,
            };
            let same = self.tolerance.compare(ty, got, expected);
            assert_eq!(same, Ok(()), "{}", self.name);
        }
    }
}

/// Words in the order of memory.
pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A kernel `(in, out, n)`, the first and the last only if it takes them.
struct Kernel {
    name: &'static str,
    text: &'static str,
    /// The same work in C, by its place in the repository.
    reference: Option<&'static str>,
    block: u32,
    /// Blocks in native code and C, in the interpreter.
    grids: [u32; 2],
    /// Words of input for each block.
    input: usize,
    output: Words,
    /// The last argument.
    last: Last,
    /// What the C reference counts, for each block.
    items: usize,
}

/// Words of output.
enum Words {
    OfBlock(usize),
    /// Of all blocks, which add to it.
    OfGrid(usize),
}

/// What the last argument says.
enum Last {
    Threads,
    Number(u32),
    None,
}

/// How often the threads of `barriers` meet.
const BARRIERS: u32 = 100;

/// How often all blocks of `grid_barrier` write and read; they meet after each.
const ROUNDS: u32 = 10;

/// Kernels of which time is told for each thread and barrier, and how often a thread comes to one.
pub const MEETING: [(&str, u32); 1] = [("barriers", BARRIERS)];

const KERNELS: [Kernel; 2] = [
    Kernel {
        name: "bitmix",
        text: include_str!("../../tests/kernels/bitmix/kernel.ptx"),
        reference: Some("tests/kernels/bitmix/ref.c"),
        block: 256,
        grids: [128, 2],
        input: 256,
        output: Words::OfBlock(256),
        last: Last::Threads,
        items: 256,
    },
    Kernel {
        name: "sha256",
        text: include_str!("../../tests/kernels/sha256/kernel.ptx"),
        reference: Some("tests/kernels/sha256/ref.c"),
        block: 256,
        grids: [32, 1],
        input: 16 * 256,
        output: Words::OfBlock(8 * 256),
        last: Last::Threads,
        items: 256,
    },
];

/// Kernels whose threads meet.
const KERNELS_THAT_MEET: [Kernel; 5] = [
    Kernel {
        name: "reduce_smem_u32",
        text: include_str!("meeting/reduce_smem_u32.ptx"),
        reference: Some("benches/engines/meeting/reduce_smem_u32.c"),
        block: 256,
        grids: [64, 4],
        input: 256,
        output: Words::OfBlock(1),
        last: Last::None,
        items: 1,
    },
    Kernel {
        name: "reduce_shfl",
        text: include_str!("../../tests/kernels/reduce_shfl/kernel.ptx"),
        reference: Some("tests/kernels/reduce_shfl/ref.c"),
        block: 256,
        grids: [64, 4],
        input: 256,
        output: Words::OfBlock(1),
        last: Last::None,
        items: 1,
    },
    Kernel {
        name: "histogram",
        text: include_str!("../../tests/kernels/histogram/kernel.ptx"),
        reference: Some("tests/kernels/histogram/ref.c"),
        block: 256,
        grids: [64, 4],
        input: 1024,
        output: Words::OfGrid(256),
        last: Last::None,
        items: 4096,
    },
    Kernel {
        name: "barriers",
        text: include_str!("meeting/barriers.ptx"),
        reference: None,
        block: 1024,
        grids: [4, 1],
        input: 0,
        output: Words::OfBlock(1024),
        last: Last::Number(BARRIERS),
        items: 0,
    },
    Kernel {
        name: "grid_barrier",
        text: include_str!("meeting/grid_barrier.ptx"),
        reference: None,
        block: 64,
        grids: [64, 64],
        input: 0,
        output: Words::OfBlock(64),
        last: Last::Number(ROUNDS),
        items: 0,
    },
];

impl Kernel {
    /// Words of input of so many blocks.
    fn input(&self, blocks: u32) -> Vec<u32> {
        (0..blocks as usize * self.input)
            .map(|i| (i as u32).wrapping_mul(0x9e37_79b9) ^ (i as u32 >> 7))
            .collect()
    }

    /// Words of output of so many blocks.
    fn output(&self, blocks: u32) -> usize {
        match self.output {
            Words::OfBlock(words) => blocks as usize * words,
            Words::OfGrid(words) => words,
        }
    }

    fn spec(&self, blocks: u32) -> LaunchSpec {
        let arg = |name: &str, value| Arg {
            name: name.to_string(),
            value,
        };
        let buffer = |name: &str, contents: Vec<u8>| {
            let ty = ElemTy::U32;
            arg(name, ArgValue::Buffer { ty, contents })
        };
        let mut args = Vec::new();
        if self.input > 0 {
            args.push(buffer("in", bytes(&self.input(blocks))));
        }
        args.push(buffer("out", vec![0; 4 * self.output(blocks)]));
        let last = match self.last {
            Last::Threads => Some(blocks * self.block),
            Last::Number(n) => Some(n),
            Last::None => None,
        };
        args.extend(last.map(|n| arg("n", ArgValue::Bytes(n.to_le_bytes().to_vec()))));
        LaunchSpec {
            kernel: self.name.to_string(),
            grid: [blocks, 1, 1],
            block: [self.block, 1, 1],
            cluster: None,
            workers: None,
            dynamic_shared: 0,
            args,
        }
    }

    fn subject(&self, grids: [u32; 2], gcc: Gcc) -> Subject {
        let [native, interpreted] = grids;
        Subject {
            name: self.name.to_string(),
            text: self.text.to_string(),
            native: self.spec(native),
            interpreted: self.spec(interpreted),
            reference: (self.reference).and_then(|source| self.reference(source, native, gcc)),
            tolerance: Tolerance::Exact,
        }
    }

    fn reference(&self, source: &str, blocks: u32, gcc: Gcc) -> Option<Reference> {
        let library = reference::compile(self.name, source, gcc)?;
        let symbol = format!("{}_ref", self.name);
        let items = blocks as usize * self.items;
        let call = move |buffers: &mut [Vec<u32>]| {
            let [input, output] = buffers else {
                panic!("{symbol} has two buffers");
            };
            // SAFETY: the C source defines it with this type, but for what pointers point to, and the buffers have the words
            // that so many items use.
            unsafe {
                let function = library.get::<Function>(symbol.as_bytes());
                let function = function.expect("the reference");
                function(input.as_ptr(), output.as_mut_ptr(), 0, items);
            }
        };
        let before = vec![self.input(blocks), vec![0; self.output(blocks)]];
        Some(Reference::new(Box::new(call), before))
    }
}

/// `NAME_ref(in, out, begin, end)`
type Function = unsafe extern "C" fn(*const u32, *mut u32, usize, usize);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The kernels whose threads do not meet.
pub fn kernels() -> Vec<Subject> {
    subjects(&KERNELS)
}

/// The kernels whose threads meet.
pub fn kernels_that_meet() -> Vec<Subject> {
    subjects(&KERNELS_THAT_MEET)
}

fn subjects(kernels: &[Kernel]) -> Vec<Subject> {
    let subject = |kernel: &Kernel| kernel.subject(kernel.grids, Gcc::Scalars);
    let mut subjects: Vec<Subject> = kernels.iter().map(subject).collect();
    for subject in &mut subjects {
        subject.check().expect("a kernel that is supported");
    }
    subjects
}

/// A kernel of `tests/kernels` at sizes of the caller's, in native code and C and in the interpreter: blocks, or what the kernel's
/// definition counts instead.
pub fn sized(name: &str, sizes: [u32; 2], gcc: Gcc) -> Subject {
    let mut integers = KERNELS.iter().chain(&KERNELS_THAT_MEET);
    let integers = integers.find(|kernel| kernel.name == name);
    let subject = integers.map(|kernel| kernel.subject(sizes, gcc));
    let subject = subject.or_else(|| floats::sized(name, sizes, gcc));
    let mut subject = subject.expect("a kernel of that name");
    subject.check().expect("a kernel that is supported");
    subject
}

/// The kernels of floating-point arithmetic.
pub fn kernels_of_floats() -> Vec<Subject> {
    let mut subjects = floats::subjects();
    for subject in &mut subjects {
        subject.check().expect("a kernel that is supported");
    }
    subjects
}

/// Launches of the corpus that can be run and end well, first modules only; and how many cannot.
pub fn corpus() -> (Vec<Subject>, usize) {
    let folder = root().join("tests/corpus");
    let folders = folders(&folder);
    let mut subjects = Vec::new();
    let mut lacking = 0;
    for folder in &folders {
        match launch(folder) {
            Some(subject) => subjects.push(subject),
            None => lacking += 1,
        }
    }
    (subjects, lacking)
}

/// A launch of the corpus; `None` if it cannot be run yet, or is one that ends in a trap.
fn launch(folder: &Path) -> Option<Subject> {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let mut read = |name: &str| Ok(std::fs::read(folder.join(name)).expect("a file"));
    let description = LaunchFile::parse(&text("launch.toml"), &mut read).expect("a description");
    if description.trap {
        return None;
    }
    let name = folder.file_name().expect("a name").to_string_lossy();
    let mut subject = Subject {
        name: format!("corpus/{name}"),
        text: text(&description.modules[0]),
        native: description.spec.clone(),
        interpreted: description.spec.clone(),
        reference: None,
        tolerance: Tolerance::Exact,
    };
    match subject.check() {
        Ok(()) => {}
        Err(Error::Unsupported(_)) => return None,
        Err(error) => panic!("{}: {error}", subject.name),
    }
    check_outputs(&subject, &description);
    Some(subject)
}

/// The exact outputs are as described.
fn check_outputs(subject: &Subject, description: &LaunchFile) {
    let engine = engine(EngineKind::Native, 1, &[]);
    let prepared = subject.prepare(&subject.native, &engine).expect("a launch");
    let outcome = prepared.run(EngineKind::Native).expect("an outcome");
    let args = &description.spec.args;
    for output in &description.outputs {
        let before = args[..output.arg].iter();
        let position = before
            .filter(|arg| matches!(arg.value, ArgValue::Buffer { .. }))
            .count();
        if output.tolerance == Tolerance::Exact {
            assert!(
                outcome.buffers[position] == output.expected,
                "{}: not as described",
                subject.name
            );
        }
    }
}

/// The folders of a folder, sorted; none where it is not: the package has no corpus.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// All PTX of the repository's kernels, with names.
pub fn texts() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for folder in ["tests/corpus", "tests/kernels"] {
        for folder in folders(&root().join(folder)) {
            for file in std::fs::read_dir(&folder).expect("a folder") {
                let file = file.expect("an entry").path();
                if file.extension().is_some_and(|e| e == "ptx") {
                    let text = std::fs::read_to_string(&file).expect("a text");
                    texts.push((file.display().to_string(), text));
                }
            }
        }
    }
    texts.sort();
    texts
}
