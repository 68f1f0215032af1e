//! What is measured: kernels with their launches, and where there is one the same work in C.

use libloading::Library;
use ptxlift::testing::contents::ElemTy;
use ptxlift::testing::exec::{self, Outcome, Prepared};
use ptxlift::testing::launch::{Arg, ArgValue, LaunchSpec};
use ptxlift::testing::launch_toml::LaunchFile;
use ptxlift::testing::tolerance::Tolerance;
use ptxlift::{Engine, EngineConfig, EngineKind, Error, Module};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A kernel and its launches.
pub struct Subject {
    pub name: String,
    pub text: String,
    /// The launch for native code, and one that the interpreter does in about the same time.
    pub native: LaunchSpec,
    pub interpreted: LaunchSpec,
    pub reference: Option<Reference>,
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
        if let Some(reference) = &mut self.reference {
            reference.call();
            let words = words(native.buffers.last().expect("an output"));
            assert_eq!(words, reference.output, "{}", self.name);
        }
        Ok(())
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let chunks = bytes.chunks_exact(4);
    chunks
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

/// A kernel `(in, out, n)` of `n` threads in blocks of 256, beside which C stands.
struct Kernel {
    name: &'static str,
    text: &'static str,
    /// Words of input and of output for each thread.
    words: [usize; 2],
    /// Threads in native code and C, in the interpreter.
    native: u32,
    interpreted: u32,
}

const KERNELS: [Kernel; 2] = [
    Kernel {
        name: "bitmix",
        text: include_str!("../../tests/kernels/bitmix/kernel.ptx"),
        words: [1, 1],
        native: 1 << 15,
        interpreted: 1 << 9,
    },
    Kernel {
        name: "sha256",
        text: include_str!("../../tests/kernels/sha256/kernel.ptx"),
        words: [16, 8],
        native: 1 << 13,
        interpreted: 1 << 8,
    },
];

impl Kernel {
    fn input(&self) -> Vec<u32> {
        (0..self.native as usize * self.words[0])
            .map(|i| (i as u32).wrapping_mul(0x9e37_79b9) ^ (i as u32 >> 7))
            .collect()
    }

    fn spec(&self, n: u32) -> LaunchSpec {
        let buffer = |name: &str, contents: Vec<u8>| Arg {
            name: name.to_string(),
            value: ArgValue::Buffer {
                ty: ElemTy::U32,
                contents,
            },
        };
        let input = self.input();
        let input = input[..n as usize * self.words[0]].iter();
        LaunchSpec {
            kernel: self.name.to_string(),
            grid: [n.div_ceil(256), 1, 1],
            block: [256, 1, 1],
            dynamic_shared: 0,
            args: vec![
                buffer("in", input.flat_map(|w| w.to_le_bytes()).collect()),
                buffer("out", vec![0; 4 * n as usize * self.words[1]]),
                Arg {
                    name: "n".to_string(),
                    value: ArgValue::Bytes(n.to_le_bytes().to_vec()),
                },
            ],
        }
    }

    fn subject(&self) -> Subject {
        Subject {
            name: self.name.to_string(),
            text: self.text.to_string(),
            native: self.spec(self.native),
            interpreted: self.spec(self.interpreted),
            reference: Reference::compile(self),
        }
    }
}

/// `NAME_ref(in, out, begin, end)`
type Function = unsafe extern "C" fn(*const u32, *mut u32, usize, usize);

/// The work of a kernel in C.
pub struct Reference {
    library: Library,
    symbol: String,
    input: Vec<u32>,
    output: Vec<u32>,
    n: usize,
}

impl Reference {
    /// By `gcc -O3 -march=native -fno-tree-vectorize`; `None` where there is no gcc.
    fn compile(kernel: &Kernel) -> Option<Self> {
        let name = kernel.name;
        let source = root().join("tests/kernels").join(name).join("ref.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}_ref.so"));
        let options = ["-O3", "-march=native", "-fno-tree-vectorize"];
        let compiled = Command::new("gcc")
            .args(options)
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .status();
        match compiled {
            Ok(status) if status.success() => {}
            Ok(status) => {
                eprintln!("{name}: no C reference: gcc ended with {status}");
                return None;
            }
            Err(error) => {
                eprintln!("{name}: no C reference: gcc cannot be run: {error}");
                return None;
            }
        }
        // SAFETY: the library was just made of the source in the repository, which has no initialisers.
        let library = unsafe { Library::new(library) }.expect("a library that loads");
        let n = kernel.native as usize;
        Some(Reference {
            library,
            symbol: format!("{name}_ref"),
            input: kernel.input(),
            output: vec![0; n * kernel.words[1]],
            n,
        })
    }

    /// Does the work of the native launch; gives the time.
    pub fn call(&mut self) -> Duration {
        // SAFETY: the C source defines it with this type, and the buffers have the words that `n` threads use.
        unsafe {
            let function = self.library.get::<Function>(self.symbol.as_bytes());
            let function = function.expect("the reference");
            let start = Instant::now();
            function(self.input.as_ptr(), self.output.as_mut_ptr(), 0, self.n);
            start.elapsed()
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The kernels with references.
pub fn kernels() -> Vec<Subject> {
    let mut subjects: Vec<Subject> = KERNELS.iter().map(Kernel::subject).collect();
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
        name: name.into_owned(),
        text: text(&description.modules[0]),
        native: description.spec.clone(),
        interpreted: description.spec.clone(),
        reference: None,
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
