//! Files that test cases and commands name.

use super::FormatError;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes that are read of a file. No text may be longer, and devices such as `/dev/zero` have no end.
const MOST_BYTES: u64 = 1 << 30;

/// The path that means standard input.
pub(crate) const STDIN: &str = "-";

/// The bytes of a file.
///
/// # Errors
/// It cannot be read, or is longer than [`MOST_BYTES`].
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_all(File::open(path)?, MOST_BYTES)
}

fn read_all(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("longer than {most} bytes"),
        ));
    }
    Ok(bytes)
}

/// The bytes of a file of a folder.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read_in(folder: &Path, name: &str) -> Result<Vec<u8>, FormatError> {
    let path = folder.join(name);
    read(&path).map_err(|e| FormatError::new(format!("{}: {e}", path.display())))
}

/// A text file with the name that messages call it by; `-` is standard input.
///
/// # Errors
/// It cannot be read, or is not UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<(String, String), FormatError> {
    let name = name(path);
    let bytes = read_bytes(path).map_err(|e| FormatError::new(format!("{name}: {e}")))?;
    let text = text(&name, bytes)?;
    Ok((name, text))
}

/// What messages call a file.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new(STDIN) {
        "<stdin>".to_string()
    } else {
        path.display().to_string()
    }
}

/// The bytes of a file; `-` is standard input.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if path == Path::new(STDIN) {
        read_all(io::stdin().lock(), MOST_BYTES)
    } else {
        read(path)
    }
}

/// The text that `bytes` are.
///
/// # Errors
/// They are not UTF-8.
pub(crate) fn text(name: &str, bytes: Vec<u8>) -> Result<String, FormatError> {
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count();
        FormatError::new(format!(
            "{name}: not UTF-8 from byte {at} on, in line {line}"
        ))
    })
}

/// Whether a text is PTX: it has a `.version` directive.
pub(crate) fn is_ptx(text: &str) -> bool {
    text.match_indices(".version").any(|(at, word)| {
        let rest = &text[at + word.len()..];
        let number = rest.trim_start();
        number.len() < rest.len() && number.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Whether a text has the keys of a `launch.toml`.
pub(crate) fn is_launch_description(text: &str) -> bool {
    let has_key = |key: &str| {
        text.lines().any(|line| {
            let rest = line.strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        })
    };
    !is_ptx(text) && has_key("modules") && has_key("entry")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read_for_ever() {
        let error = read_all(io::repeat(b' '), 100).expect_err("longer than can be read");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn descriptions_are_told_from_ptx() {
        assert!(is_launch_description(
            "format = 1\nmodules = [\"a.ptx\"]\nentry = \"k\"\n"
        ));
        assert!(!is_launch_description(".version 8.0\n//@ entry k\n"));
        assert!(!is_launch_description("modules of a car\nentry\n"));
        assert!(
            is_ptx("/* by hand */ .version\t8.0")
                && !is_ptx(".versions 8")
                && !is_ptx(".version = 1")
        );
    }
}
