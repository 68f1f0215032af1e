//! Standard output and standard error, and whether they are in colour.

use clap::ValueEnum;
use console::Term;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// `--color`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum ColorArg {
    /// On a terminal, unless NO_COLOR is set or TERM is `dumb`; also elsewhere if CLICOLOR_FORCE is set
    #[default]
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// What the command line says, for all streams.
static COLOR: OnceLock<ColorArg> = OnceLock::new();

impl ColorArg {
    /// What a command line says about colours, before it is parsed: its errors are coloured, too.
    pub(super) fn of_command_line(words: &[OsString]) -> Self {
        let mut words = words.iter().map(OsString::as_os_str);
        let mut said = ColorArg::Auto;
        while let Some(word) = words.next() {
            let value = match word.to_str().and_then(|w| w.split_once('=')) {
                Some(("--color" | "--colour", value)) => OsStr::new(value),
                _ if word == "--color" || word == "--colour" => words.next().unwrap_or_default(),
                _ if word == "--" => break,
                _ => continue,
            };
            let value = value.to_str().unwrap_or_default();
            said = ColorArg::from_str(value, true).unwrap_or(said);
        }
        said
    }

    /// Makes it hold for the streams that are opened from now on. Only the first call has an effect.
    pub(super) fn choose(self) {
        COLOR.get_or_init(|| self);
    }

    /// Whether a stream is coloured, as <https://no-color.org> and <https://bixense.com/clicolors> say.
    fn colours(self, terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        let set = |name| variable(name).is_some_and(|v| !v.is_empty());
        let is = |name, value| variable(name).is_some_and(|v| v == value);
        match self {
            ColorArg::Always => true,
            ColorArg::Never => false,
            ColorArg::Auto if set("NO_COLOR") => false,
            ColorArg::Auto if set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => true,
            ColorArg::Auto => terminal && !is("TERM", "dumb") && !is("CLICOLOR", "0"),
        }
    }
}

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Something is wrong.
    Bad,
    /// Something is lacking or doubtful.
    Doubtful,
    /// All is well.
    Good,
    /// What would help.
    Help,
    /// What the reader looks for.
    Strong,
    /// What the reader looks over.
    Faint,
}

impl Style {
    fn escape(self) -> &'static str {
        match self {
            Style::Bad => "\x1b[1;31m",
            Style::Doubtful => "\x1b[1;33m",
            Style::Good => "\x1b[1;32m",
            Style::Help => "\x1b[1;36m",
            Style::Strong => "\x1b[1m",
            Style::Faint => "\x1b[2m",
        }
    }
}

/// A stream that swallows what nobody reads any more, and remembers other errors until the end.
pub(super) struct Out {
    stream: Box<dyn Write>,
    colour: bool,
    /// Columns of the terminal that it is.
    columns: Option<usize>,
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
        let terminal = Term::stdout();
        let size = terminal
            .is_term()
            .then(|| terminal.size_checked())
            .flatten();
        Out {
            columns: size.map(|(_, columns)| columns.into()),
            ..Out::new(Box::new(BufWriter::new(stream)), colour)
        }
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
            columns: None,
            state: State::Open,
        }
    }

    /// Whether colours are wanted.
    pub(super) fn colour(&self) -> bool {
        self.colour
    }

    /// Whether nothing of what is written arrives any more.
    pub(super) fn is_lost(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    /// How long a line may be.
    pub(super) fn width(&self) -> usize {
        const ELSEWHERE: usize = 100;
        const LEAST: usize = 40;
        self.columns.unwrap_or(ELSEWHERE).max(LEAST)
    }

    /// A text in the colour of its style, where colours are wanted.
    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        if self.colour {
            format!("{}{text}\x1b[0m", style.escape())
        } else {
            text.to_string()
        }
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
    let said = COLOR.get().copied().unwrap_or_default();
    said.colours(terminal, |name| std::env::var_os(name))
}

/// `error: message`, the word in colour where that is wanted.
pub(super) fn warn(err: &mut Out, word: &str, message: &str) {
    let style = match word {
        "hint" => Style::Help,
        "warning" => Style::Doubtful,
        _ => Style::Bad,
    };
    let word = err.paint(style, word);
    err.text(format_args!("{word}: {}\n", shortened(message)));
}

/// Most bytes of a message that are shown from its beginning and from its end.
const SHOWN: (usize, usize) = (4096, 1024);

/// A message without its middle where what it quotes is very long.
fn shortened(message: &str) -> Cow<'_, str> {
    let (first, last) = SHOWN;
    if message.len() <= 2 * (first + last) {
        return message.into();
    }
    let head = message.floor_char_boundary(first);
    let tail = message.ceil_char_boundary(message.len() - last);
    let left_out = tail - head;
    format!(
        "{} [{left_out} bytes left out] {}",
        &message[..head],
        &message[tail..]
    )
    .into()
}

/// Breaks a line that is longer than `width`, at spaces and between the alternatives of a form (`.a|.b`, `{.c}`);
/// `first` stands before the first line, `indent` before the others.
pub(super) fn wrapped(text: &str, first: &str, indent: &str, width: usize) -> String {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (i, c) in text.char_indices() {
        // A piece ends behind these and begins with those.
        match c {
            ' ' | '|' => {
                pieces.push(&text[start..=i]);
                start = i + 1;
            }
            '{' | '(' if i > start => {
                pieces.push(&text[start..i]);
                start = i;
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    let mut lines = String::new();
    let mut line = first.to_string();
    let mut fresh = true;
    for piece in pieces {
        if !fresh && line.chars().count() + piece.trim_end().chars().count() > width {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = indent.to_string();
        }
        line.push_str(piece);
        fresh = false;
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
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

    #[test]
    fn colours_follow_option_environment_and_terminal() {
        let colours = |said: ColorArg, terminal, variables: &[(&str, &str)]| {
            said.colours(terminal, |name| {
                let found = variables.iter().find(|(n, _)| *n == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let auto =
            |terminal, variables: &[(&str, &str)]| colours(ColorArg::Auto, terminal, variables);
        assert!(auto(true, &[]) && !auto(false, &[]));
        assert!(!auto(true, &[("NO_COLOR", "1")]) && auto(true, &[("NO_COLOR", "")]));
        assert!(!auto(true, &[("TERM", "dumb")]) && auto(true, &[("TERM", "xterm")]));
        assert!(!auto(true, &[("CLICOLOR", "0")]));
        assert!(
            auto(false, &[("CLICOLOR_FORCE", "1")]) && !auto(false, &[("CLICOLOR_FORCE", "0")])
        );
        assert!(!auto(true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(colours(ColorArg::Always, false, &[("NO_COLOR", "1")]));
        assert!(!colours(ColorArg::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn long_lines_are_broken_where_that_does_no_harm() {
        let form = "ld{.weak}{.global|.shared}(.u32|.s32) d, a";
        assert_eq!(wrapped(form, "", "    ", 80), format!("{form}\n"));
        assert_eq!(
            wrapped(form, "", "    ", 20),
            "ld{.weak}{.global|\n    .shared}(.u32|\n    .s32) d, a\n"
        );
        assert_eq!(wrapped("a bc d", "> ", "  ", 6), "> a bc\n  d\n");
        // A word that is longer than a line stands on one of its own.
        assert_eq!(wrapped("abcdef gh", "", "", 3), "abcdef\ngh\n");
    }

    #[test]
    fn what_the_command_line_says_is_known_before_it_is_parsed() {
        let said = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            ColorArg::of_command_line(&words)
        };
        assert_eq!(said("ptxlift check a.ptx"), ColorArg::Auto);
        assert_eq!(said("ptxlift --color=never check a.ptx"), ColorArg::Never);
        assert_eq!(said("ptxlift check --color always a.ptx"), ColorArg::Always);
        assert_eq!(said("ptxlift check --color"), ColorArg::Auto);
        assert_eq!(said("ptxlift check -- --color=never"), ColorArg::Auto);
    }

    #[test]
    fn the_middle_of_a_very_long_message_is_left_out() {
        assert_eq!(shortened("no such file"), "no such file");
        // Two bytes a letter, begun at an odd byte: cut between letters.
        let long = format!("a{}", "é".repeat(100_000));
        let shown = shortened(&long);
        assert!(shown.len() < 6000, "{} bytes", shown.len());
        assert!(shown.starts_with("aéé") && shown.ends_with("éé"));
        assert!(shown.contains(" bytes left out] "));
    }
}
