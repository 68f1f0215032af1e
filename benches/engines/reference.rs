//! The work of a kernel in C.

use libloading::Library;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Calls the C function with a kernel's buffers.
type Call = Box<dyn Fn(&mut [Vec<u32>])>;

/// The work of a kernel in C, with buffers of its own.
pub struct Reference {
    call: Call,
    /// What the buffers hold before, in the order of the kernel's parameters.
    before: Vec<Vec<u32>>,
    /// What they hold after.
    pub buffers: Vec<Vec<u32>>,
}

impl Reference {
    /// Of a call, with what the buffers hold before it.
    pub fn new(call: Call, before: Vec<Vec<u32>>) -> Self {
        Reference {
            call,
            buffers: before.clone(),
            before,
        }
    }

    /// Does the work of the native launch; gives the time. Filling the buffers anew does not count.
    pub fn call(&mut self) -> Duration {
        for (buffer, before) in self.buffers.iter_mut().zip(&self.before) {
            buffer.copy_from_slice(before);
        }
        let start = Instant::now();
        (self.call)(&mut self.buffers);
        start.elapsed()
    }
}

/// What gcc makes of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gcc {
    /// `gcc -O3 -march=native`: loops in vectors where it can.
    Vectors,
    /// The same with `-fno-tree-vectorize`: one item after the other, as threads go one by one.
    Scalars,
}

impl Gcc {
    /// Its options.
    fn options(self) -> &'static [&'static str] {
        match self {
            Gcc::Vectors => &["-O3", "-march=native"],
            Gcc::Scalars => &["-O3", "-march=native", "-fno-tree-vectorize"],
        }
    }

    /// What is added to the name of a reference in the name of its library's file.
    fn suffix(self) -> &'static str {
        match self {
            Gcc::Vectors => "_vectors",
            Gcc::Scalars => "",
        }
    }
}

/// A C source of the repository as a library; `None`, with a word on standard error, where there is no gcc.
pub fn compile(name: &str, source: &str, gcc: Gcc) -> Option<Library> {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(source);
    let file = format!("{name}_ref{}.so", gcc.suffix());
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let compiled = Command::new("gcc")
        .args(gcc.options())
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-lm")
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
    Some(unsafe { Library::new(library) }.expect("a library that loads"))
}
