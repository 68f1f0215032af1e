//! What is shown on a terminal while one waits.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is done sooner than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(700);
const TICK: Duration = Duration::from_millis(100);

/// A line on standard error that goes away in the end, shown only where standard error is a terminal that can do so.
#[derive(Debug)]
pub(super) struct Progress(Option<Shown>);

#[derive(Debug)]
struct Shown {
    bar: ProgressBar,
    end: Option<Sender<()>>,
    ticker: Option<JoinHandle<()>>,
}

impl Progress {
    /// Nothing is shown.
    pub(super) const NONE: Progress = Progress(None);

    /// Of `total` steps of something; with one step, only how long it has taken.
    pub(super) fn new(what: &str, total: u64) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if !std::io::stderr().is_terminal() || dumb {
            return Progress::NONE;
        }
        let template = if total > 1 {
            "{msg} [{bar:30}] {percent}%, {elapsed} gone, {eta} to go"
        } else {
            "{spinner} {msg}: {elapsed}"
        };
        let Ok(style) = ProgressStyle::with_template(template) else {
            return Progress::NONE;
        };
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        bar.set_style(style.progress_chars("=> "));
        bar.set_message(what.to_string());
        let (end, ended) = channel::<()>();
        let ticked = bar.clone();
        let ticker = std::thread::Builder::new().name("ptxlift progress".into());
        let ticker = ticker.spawn(move || {
            let mut wait = PATIENCE;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                if wait == PATIENCE {
                    ticked.set_draw_target(ProgressDrawTarget::stderr());
                }
                wait = TICK;
                ticked.tick();
            }
            ticked.finish_and_clear();
        });
        Progress(Some(Shown {
            bar,
            end: Some(end),
            ticker: ticker.ok(),
        }))
    }

    /// What is done, in other words.
    pub(super) fn say(&self, what: impl FnOnce() -> String) {
        if let Some(shown) = &self.0 {
            shown.bar.set_message(what());
        }
    }

    /// So many steps are done.
    pub(super) fn at(&self, done: u64) {
        if let Some(shown) = &self.0 {
            shown.bar.set_position(done);
        }
    }
}

impl Drop for Shown {
    /// The line goes away.
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(ticker) = self.ticker.take() {
            // It does not panic.
            let _ = ticker.join();
        }
    }
}
