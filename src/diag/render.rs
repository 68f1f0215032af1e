//! Diagnostics as text with source lines.

use super::{Diagnostic, Source};

pub(super) fn render(_source: &Source, _list: &[Diagnostic], _colour: bool) -> String {
    String::new()
}
