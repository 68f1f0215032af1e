//! Files that test cases and commands name.

use super::FormatError;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// The bytes of a file of a folder.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read_in(folder: &Path, name: &str) -> Result<Vec<u8>, FormatError> {
    let path = folder.join(name);
    fs::read(&path).map_err(|e| FormatError::new(format!("{}: {e}", path.display())))
}

/// A text file with the name that messages call it by; `-` is standard input.
///
/// # Errors
/// It cannot be read, or is not UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<(String, String), FormatError> {
    let (name, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        ("<stdin>".to_string(), read.map(|_| bytes))
    } else {
        (path.display().to_string(), fs::read(path))
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
