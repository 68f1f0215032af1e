//! Files that commands are given: read, and told apart where they are not what is wanted.

use super::error::Failure;
use crate::diag::nearest;
use crate::testing::{FormatError, files};
use std::io;
use std::path::Path;

/// A text with the name that messages call it by.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) text: String,
}

/// Reads a text; `-` is standard input.
///
/// # Errors
/// It cannot be read, is no text, or is clearly no PTX and no launch description either.
pub(super) fn read(path: &Path) -> Result<Input, Failure> {
    let bytes = files::read_bytes(path).map_err(|e| unreadable(path, &e))?;
    let name = files::name(path);
    if let Some(what) = binary(&bytes) {
        return Err(what.instead_of_text(&name));
    }
    let text = files::text(&name, bytes)?;
    Ok(Input { name, text })
}

/// Reads a PTX file; `-` is standard input.
///
/// # Errors
/// As [`read`], and if it holds something else.
pub(super) fn read_ptx(path: &Path) -> Result<Input, Failure> {
    let input = read(path)?;
    if files::is_launch_description(&input.text) {
        let name = &input.name;
        return Err(
            Failure::Input(format!("{name} is a launch description, not PTX"))
                .hint(format!("`ptxlift run {name}` launches what it describes")),
        );
    }
    ptx(input)
}

/// A text, unless it is in a language that is clearly another than PTX.
pub(super) fn ptx(input: Input) -> Result<Input, Failure> {
    match other_language(&input.text) {
        Some(what) => Err(what.instead_of_text(&input.name)),
        None => Ok(input),
    }
}

/// Why a file cannot be read, and which one was perhaps meant.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let name = files::name(path);
    if path.is_dir() {
        let failure = Failure::Input(format!("{name} is a folder; a file is wanted"));
        let description = path.join("launch.toml");
        return if description.is_file() {
            failure.hint(format!("did you mean `{}`?", description.display()))
        } else {
            failure.hint("`ptxlift test` searches folders")
        };
    }
    match error.kind() {
        io::ErrorKind::NotFound => {
            let failure = Failure::Input(format!("{name}: there is no such file"));
            match near_file(path) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure,
            }
        }
        _ => Failure::Input(format!("{name}: {error}")),
    }
}

/// A file of the same folder with a name much like it, or the same but for its ending.
fn near_file(path: &Path) -> Option<String> {
    const LOOKED_AT: usize = 10_000;
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let mut names: Vec<String> = entries
        .take(LOOKED_AT)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    let longer = names.iter().find(|name| {
        let rest = name.strip_prefix(wanted);
        rest.is_some_and(|rest| matches!(rest, ".ptx" | ".toml"))
    });
    let near = longer
        .map(String::as_str)
        .or_else(|| nearest(wanted, names.iter().map(String::as_str)))?;
    let near = folder.map_or_else(|| near.into(), |folder| folder.join(near));
    Some(near.display().to_string())
}

/// A kind of file that is not wanted, and what can be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Other {
    is: &'static str,
    hint: &'static str,
}

impl Other {
    fn instead_of_text(self, name: &str) -> Failure {
        let failure = Failure::Input(format!("{name} is {}, not PTX", self.is));
        match self.hint {
            "" => failure,
            hint => failure.hint(hint),
        }
    }
}

const EXTRACT: &str = "ptxlift reads PTX text: `cuobjdump --dump-ptx FILE` prints what such a file holds of it, \
                       `nvcc --ptx FILE.cu` makes it";
const LLC: &str = "`llc -march=nvptx64 -mcpu=sm_80 FILE` makes PTX of it";

/// A format that begins with certain bytes.
fn binary(bytes: &[u8]) -> Option<Other> {
    const EM_CUDA: u16 = 190;
    let other = |is, hint| Some(Other { is, hint });
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => match bytes.get(18..20) {
            Some(machine) if machine == EM_CUDA.to_le_bytes() => {
                other("machine code of an NVIDIA GPU (a cubin)", EXTRACT)
            }
            _ => other("an ELF file (an object, library or program)", EXTRACT),
        },
        [0x50, 0xed, 0x55, 0xba, ..] => other("a CUDA fat binary", EXTRACT),
        [b'B', b'C', 0xc0, 0xde, ..] | [0xde, 0xc0, 0x17, 0x0b, ..] => other("LLVM bitcode", LLC),
        [0x03, 0x02, 0x23, 0x07, ..] => other("SPIR-V", ""),
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => other("a library (an archive)", EXTRACT),
        [b'M', b'Z', ..] => other("a Windows program or library", EXTRACT),
        [0xcf, 0xfa, 0xed, 0xfe, ..] => other("a Mach-O file", ""),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [b'P', b'K', 3, 4, ..] => {
            other("compressed", "unpack it first")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => other("text in UTF-16", "save it as UTF-8"),
        _ => None,
    }
}

/// A language that a text without `.version` is written in.
fn other_language(text: &str) -> Option<Other> {
    let other = |is, hint| Some(Other { is, hint });
    let begins = |words: &[&str]| {
        text.lines()
            .any(|line| words.iter().any(|word| line.trim_start().starts_with(word)))
    };
    if files::is_ptx(text) {
        None
    } else if text.trim().is_empty() {
        other("empty", "")
    } else if begins(&["target triple", "; ModuleID", "define ", "declare "]) {
        other("LLVM IR", LLC)
    } else if begins(&[
        "module {",
        "module @",
        "module attributes",
        "builtin.module",
        "tt.func",
    ]) {
        other("MLIR", "")
    } else if text.contains("__global__") || begins(&["#include", "extern \"C\""]) {
        other(
            "CUDA C++ or C++",
            "`nvcc --ptx FILE.cu`, or `clang -S --cuda-device-only --cuda-gpu-arch=sm_80 FILE.cu`, makes PTX of it",
        )
    } else if begins(&["/*0000*/", ".headerflags"]) {
        other("a listing of machine code (SASS)", EXTRACT)
    } else if begins(&["import ", "from ", "def ", "@triton.jit", "@cuda.jit"]) {
        other("Python", "")
    } else {
        None
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Failure::Input(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(text: &str) -> &'static str {
        other_language(text).map_or("PTX", |other| other.is)
    }

    #[test]
    fn texts_are_told_apart() {
        assert_eq!(
            language("// made by hand\n.version 8.0\n.target sm_80\n"),
            "PTX"
        );
        assert_eq!(language(".entry k() { ret; }"), "PTX");
        assert_eq!(
            language("__global__ void k(int *a) {}\n"),
            "CUDA C++ or C++"
        );
        assert_eq!(
            language("; ModuleID = 'k.ll'\ndefine void @k() {\n"),
            "LLVM IR"
        );
        assert_eq!(language("module {\n  tt.func @k() {\n"), "MLIR");
        assert_eq!(
            language("import triton\n\n@triton.jit\ndef k(): pass\n"),
            "Python"
        );
        assert_eq!(language(" \n"), "empty");
        // A comment of a PTX file may quote anything.
        assert_eq!(language("/* __global__ */\n  .version\t8.0\n"), "PTX");
    }

    #[test]
    fn binaries_are_told_apart() {
        let mut elf = b"\x7fELF".to_vec();
        elf.resize(64, 0);
        assert!(binary(&elf).is_some_and(|o| o.is.starts_with("an ELF file")));
        elf[18] = 190;
        assert!(binary(&elf).is_some_and(|o| o.is.contains("cubin")));
        assert!(binary(b"\x50\xed\x55\xba\x01\x00").is_some_and(|o| o.is.contains("fat binary")));
        assert!(binary(b"BC\xc0\xde").is_some_and(|o| o.is == "LLVM bitcode"));
        assert_eq!(binary(b".version 8.0"), None);
    }
}
