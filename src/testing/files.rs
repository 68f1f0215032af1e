//! Files that test cases and commands name.

use super::FormatError;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes that are read of a file. No text may be longer, and devices such as `/dev/zero` have no end.
const MOST_BYTES: u64 = 1 << 30;

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
    let (name, bytes) = if path == Path::new("-") {
        (
            "<stdin>".to_string(),
            read_all(io::stdin().lock(), MOST_BYTES),
        )
    } else {
        (path.display().to_string(), read(path))
    };
    let bytes = bytes.map_err(|e| FormatError::new(format!("{name}: {e}")))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(e) => {
            let at = e.utf8_error().valid_up_to();
            let line = 1 + e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count();
            Err(FormatError::new(format!(
                "{name}: not UTF-8 from byte {at} on, in line {line}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read_for_ever() {
        let error = read_all(io::repeat(b' '), 100).expect_err("longer than can be read");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
