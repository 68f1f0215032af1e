//! Which files hold test cases.

use super::files as texts;
use super::{launch_lines, run_lines};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file with test cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it is called in reports.
    pub name: String,
    /// What is in it.
    pub kind: FileKind,
    /// Its text.
    pub text: String,
}

/// What a file with test cases holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `launch.toml`
    LaunchToml,
    /// A vector table.
    Vectors,
    /// A table of statements.
    Statements,
    /// A table of statements with the versions that they need.
    Versions,
    /// A table of modules.
    Modules,
    /// PTX with `//@` or `// run:` lines.
    Ptx,
}

/// Why a path gives no test cases.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is not UTF-8.
    #[error("{}: not UTF-8 from byte {offset} on", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
        /// The first byte that is not.
        offset: usize,
    },
    /// There are no test cases in it.
    #[error("{}: no test cases (launch.toml, *.tsv, or *.ptx with `//@ entry` or `// run:` lines)", .0.display())]
    NoCases(PathBuf),
}

/// The files with test cases at and below `paths`, those of a folder in the order of their names. `-` is a file on
/// standard input.
///
/// # Errors
/// A path that cannot be read, a file that is not UTF-8, a path without cases.
pub fn discover(paths: &[PathBuf]) -> Result<Vec<TestFile>, DiscoverError> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        if path == Path::new(texts::STDIN) {
            files.push(stdin()?);
            continue;
        }
        let metadata = fs::metadata(path).map_err(|error| DiscoverError::Io {
            path: path.clone(),
            error,
        })?;
        if metadata.is_dir() {
            walk(path, &mut files)?;
        } else {
            files.extend(test_file(path)?);
        }
        if files.len() == before {
            return Err(DiscoverError::NoCases(path.clone()));
        }
    }
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<TestFile>) -> Result<(), DiscoverError> {
    // An explicit stack: folders may nest as deep as they like. Links to folders are not followed.
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        let io = |error| DiscoverError::Io {
            path: folder.clone(),
            error,
        };
        let mut entries = fs::read_dir(&folder)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .map_err(io)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut folders = Vec::new();
        for entry in entries {
            let kind = entry.file_type().map_err(io)?;
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if fs::metadata(&path).is_ok_and(|m| m.is_file()) {
                files.extend(test_file(&path)?);
            }
        }
        todo.extend(folders.into_iter().rev());
    }
    Ok(())
}

/// A file, if it holds test cases.
fn test_file(path: &Path) -> Result<Option<TestFile>, DiscoverError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let is_launch = path.file_name().is_some_and(|n| n == "launch.toml");
    if !is_launch && !matches!(extension, "tsv" | "ptx") {
        return Ok(None);
    }
    let bytes = texts::read(path).map_err(|error| DiscoverError::Io {
        path: path.to_path_buf(),
        error,
    })?;
    let kind = {
        let text = String::from_utf8_lossy(&bytes);
        if is_launch {
            FileKind::LaunchToml
        } else if extension == "tsv" {
            table_kind(&text)
        } else if launch_lines::has_cases(&text) || run_lines::has_cases(&text) {
            FileKind::Ptx
        } else {
            return Ok(None);
        }
    };
    let text = String::from_utf8(bytes).map_err(|e| DiscoverError::NotText {
        path: path.to_path_buf(),
        offset: e.utf8_error().valid_up_to(),
    })?;
    Ok(Some(TestFile {
        name: path.display().to_string(),
        path: path.to_path_buf(),
        kind,
        text,
    }))
}

/// What comes from standard input, told by what it holds.
fn stdin() -> Result<TestFile, DiscoverError> {
    let path = PathBuf::from(texts::STDIN);
    let name = texts::name(&path);
    let bytes = texts::read_bytes(&path).map_err(|error| DiscoverError::Io {
        path: PathBuf::from(&name),
        error,
    })?;
    let text = String::from_utf8(bytes).map_err(|e| DiscoverError::NotText {
        path: PathBuf::from(&name),
        offset: e.utf8_error().valid_up_to(),
    })?;
    let is_row = |line: &str| !line.starts_with('#') && line.contains('\t');
    let kind = if texts::is_launch_description(&text) {
        FileKind::LaunchToml
    } else if text.starts_with('#') {
        table_kind(&text)
    } else if texts::is_ptx(&text) {
        match launch_lines::has_cases(&text) || run_lines::has_cases(&text) {
            true => FileKind::Ptx,
            false => return Err(DiscoverError::NoCases(PathBuf::from(name))),
        }
    } else if text.lines().any(is_row) {
        table_kind(&text)
    } else {
        return Err(DiscoverError::NoCases(PathBuf::from(name)));
    };
    Ok(TestFile {
        path,
        name,
        kind,
        text,
    })
}

fn table_kind(text: &str) -> FileKind {
    if text.starts_with("# statement") {
        FileKind::Statements
    } else if text.starts_with("# versions") {
        FileKind::Versions
    } else if text.starts_with("# module") {
        FileKind::Modules
    } else {
        FileKind::Vectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_told_apart_by_their_first_line() {
        assert_eq!(table_kind("# statement (...)\n"), FileKind::Statements);
        assert_eq!(table_kind("# versions: ...\n"), FileKind::Versions);
        assert_eq!(table_kind("# module (...)\n"), FileKind::Modules);
        assert_eq!(table_kind("# bound\tx\n"), FileKind::Vectors);
        assert_eq!(table_kind(""), FileKind::Vectors);
    }
}
