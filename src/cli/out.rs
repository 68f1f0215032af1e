//! Standard output and standard error.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

/// A stream that swallows what nobody reads any more, and remembers other errors until the end.
pub(super) struct Out {
    stream: Box<dyn Write>,
    colour: bool,
    state: State,
}

enum State {
    Open,
    /// The reader is gone.
    Closed,
    Failed(io::Error),
}

impl Out {
    pub(super) fn stdout() -> Self {
        let stream = io::stdout();
        let colour = wants_colour(stream.is_terminal());
        Out::new(Box::new(BufWriter::new(stream)), colour)
    }

    pub(super) fn stderr() -> Self {
        let stream = io::stderr();
        let colour = wants_colour(stream.is_terminal());
        Out::new(Box::new(stream), colour)
    }

    fn new(stream: Box<dyn Write>, colour: bool) -> Self {
        Out {
            stream,
            colour,
            state: State::Open,
        }
    }

    /// Whether colours are wanted: on a terminal, unless `NO_COLOR` is set.
    pub(super) fn colour(&self) -> bool {
        self.colour
    }

    /// Writes out what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self.state {
            State::Open | State::Closed => Ok(()),
            State::Failed(error) => Err(error),
        }
    }

    fn note<T>(&mut self, result: io::Result<T>, otherwise: T) -> T {
        match result {
            Ok(value) => value,
            Err(error) => {
                self.state = match error.kind() {
                    ErrorKind::BrokenPipe => State::Closed,
                    _ => State::Failed(error),
                };
                otherwise
            }
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.state {
            State::Open => {
                let result = self.stream.write(bytes);
                Ok(self.note(result, bytes.len()))
            }
            State::Closed | State::Failed(_) => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if matches!(self.state, State::Open) {
            let result = self.stream.flush();
            self.note(result, ());
        }
        Ok(())
    }
}

fn wants_colour(terminal: bool) -> bool {
    terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// `error: message`, the word in colour where that is wanted.
pub(super) fn warn(err: &mut Out, word: &str, message: &str) {
    let (on, off) = match (err.colour(), word) {
        (false, _) => ("", ""),
        (true, "hint") => ("\x1b[1;36m", "\x1b[0m"),
        (true, "warning") => ("\x1b[1;33m", "\x1b[0m"),
        (true, _) => ("\x1b[1;31m", "\x1b[0m"),
    };
    err.text(format_args!("{on}{word}{off}: {message}\n"));
}

/// `1 block`, `2 blocks`
pub(super) fn counted(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_but_a_full_disk_is() {
        let mut out = Out::new(Box::new(Broken(ErrorKind::BrokenPipe)), false);
        out.text(format_args!("unread"));
        assert!(out.finish().is_ok());
        let mut out = Out::new(Box::new(Broken(ErrorKind::StorageFull)), false);
        out.text(format_args!("unwritten"));
        assert_eq!(out.finish().unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
