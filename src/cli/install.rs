//! `ptxlift completions` and `ptxlift man`: what makes the command at home in a shell.

use super::Cli;
use super::error::Failure;
use super::out::Out;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use std::io::{self, Write as _};
use std::path::PathBuf;

const NAME: &str = "ptxlift";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxlift completions bash > ~/.local/share/bash-completion/completions/ptxlift
  ptxlift completions zsh > ~/.zfunc/_ptxlift            (a folder of $fpath)
  ptxlift completions fish > ~/.config/fish/completions/ptxlift.fish")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxlift man | man -l -
  ptxlift man ~/.local/share/man/man1; man ptxlift-run")]
pub(super) struct Man {
    /// Where to write ptxlift.1 and a page for each command; the folder is made if there is none
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

pub(super) fn completions(args: &Completions, out: &mut Out) -> Result<(), Failure> {
    // The generator panics where it cannot write; memory takes everything.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    Ok(out.write_all(&script)?)
}

pub(super) fn man(args: &Man, out: &mut Out) -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    // Gives each command its whole name.
    command.build();
    let Some(folder) = &args.folder else {
        let page = render(&Page::new(command))?;
        out.text(format_args!("{page}"));
        return Ok(());
    };
    let at_fault = |error: io::Error| Failure::Input(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(at_fault)?;
    let commands: Vec<Command> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .cloned()
        .collect();
    for command in std::iter::once(command).chain(commands) {
        let page = Page::new(command);
        let file = folder.join(page.get_filename());
        std::fs::write(file, render(&page)?).map_err(at_fault)?;
    }
    Ok(())
}

/// A page, with the examples in a section of their own whose lines stay as they are.
fn render(page: &Page) -> Result<String, Failure> {
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    const EXAMPLES: &str = ".SH EXAMPLES\n.nf\n";
    Ok(text
        .replacen(".SH EXTRA\nExamples:\n", EXAMPLES, 1)
        .replacen("\n\nExamples:\n", &format!("\n{EXAMPLES}"), 1)
        .replacen(".SH EXTRA\n", ".SH NOTES\n", 1))
}
