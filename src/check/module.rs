//! What is known of a module while it is checked, and the walk over its items.

use super::calls::Table;
use super::context::{DeclTy, Symbol};
use super::functions::Signature;
use super::report::Reports;
use super::target::{Target, item_span};
use super::{functions, variables};
use crate::diag::{Diagnostic, Source, Span};
use crate::ir::memory::Var;
use crate::ir::{self, FuncId, Reading, VarId};
use crate::syntax::ast::{self, Item};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// What a name of the module stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Global {
    /// A kernel or device function.
    Function(FuncId),
    /// A variable: its element type, and whether it is an array.
    Variable(VarId, DeclTy, bool),
    /// A texture, sampler or surface.
    Opaque,
}

/// What `check` knows of a function beyond its IR.
#[derive(Debug)]
pub(super) struct Info {
    /// `extern`, `visible`, `weak`, or empty.
    pub linkage: String,
    /// Where the name stands: in the definition if there is one.
    pub span: Span,
    /// `.noreturn`
    pub noreturn: bool,
    /// What it takes and gives.
    pub signature: Rc<Signature>,
    /// Variables in `.shared` that it names.
    pub shared: FxHashSet<VarId>,
    /// Functions that it calls or takes the address of.
    pub callees: FxHashSet<FuncId>,
    /// Whether it calls through a pointer.
    pub indirect: bool,
}

impl Info {
    /// Of a function that has just been declared.
    pub(super) fn new(span: Span, signature: Rc<Signature>) -> Self {
        Info {
            linkage: String::new(),
            span,
            noreturn: false,
            signature,
            shared: FxHashSet::default(),
            callees: FxHashSet::default(),
            indirect: false,
        }
    }
}

/// A module under construction.
pub(super) struct Checker<'s> {
    pub source: Arc<Source>,
    pub reports: Reports,
    pub target: Target,
    pub reading: Reading,
    pub names: FxHashMap<Cow<'s, str>, (Global, Span)>,
    pub functions: Vec<ir::Function>,
    pub infos: Vec<Info>,
    pub variables: Vec<ir::Variable>,
    pub tables: Vec<Table>,
    /// Functions whose address is taken, and where first.
    pub addressed: FxHashMap<FuncId, Span>,
    /// Variables of open size that are named, and where first: they must turn out to have one.
    pub open_uses: FxHashMap<VarId, Span>,
    /// Functions that are called and declared `.extern`.
    pub called: FxHashMap<FuncId, Span>,
    /// What aliases stand for.
    pub aliases: FxHashMap<FuncId, (FuncId, Span)>,
    /// Bytes of all initialisers.
    pub initialised: u64,
    /// Entries of all tables of branches and of all that jump by them.
    pub targets: u64,
    pub files: Vec<ir::SourceFile>,
    pub locations: Vec<ir::Location>,
    /// Whether addresses of shared memory say in which CTA of the cluster they lie.
    pub clusters: bool,
    located: FxHashMap<ir::Location, u32>,
    /// Labels that `function_name` of `.loc` names, and those that sections have.
    pub inlined: FxHashMap<&'s str, Span>,
    pub section_labels: FxHashSet<&'s str>,
    file_spans: FxHashMap<u32, Span>,
}

impl<'s> Checker<'s> {
    pub(super) fn new(
        source: Arc<Source>,
        reports: Reports,
        target: Target,
        reading: Reading,
    ) -> Self {
        Checker {
            source,
            reports,
            target,
            reading,
            names: FxHashMap::default(),
            functions: Vec::new(),
            infos: Vec::new(),
            variables: Vec::new(),
            tables: Vec::new(),
            addressed: FxHashMap::default(),
            open_uses: FxHashMap::default(),
            called: FxHashMap::default(),
            aliases: FxHashMap::default(),
            initialised: 0,
            targets: 0,
            files: Vec::new(),
            locations: Vec::new(),
            clusters: false,
            located: FxHashMap::default(),
            inlined: FxHashMap::default(),
            section_labels: FxHashSet::default(),
            file_spans: FxHashMap::default(),
        }
    }

    /// Checks the items behind the directives at the top.
    pub(super) fn items(&mut self, items: &[Item<'s>]) {
        for item in items {
            match item {
                Item::Version { .. } | Item::Target { .. } | Item::AddressSize { .. } => {
                    let word = match item {
                        Item::Version { .. } => "`.version`",
                        Item::Target { .. } => "`.target`",
                        _ => "`.address_size`",
                    };
                    self.reports.push(
                        Diagnostic::error(item_span(item), format!("{word} out of place"))
                            .hint("the first directives are `.version`, `.target`, `.address_size`, once each"),
                    );
                }
                Item::Variable(variable) => variables::module_variable(self, variable),
                Item::Function(function) => functions::function(self, function),
                Item::Alias { name, target, span } => {
                    functions::alias(self, *name, *target, *span);
                }
                Item::File(file) => self.file(file),
                Item::Section(section) => {
                    self.section_labels
                        .extend(section_labels(section.text.text));
                }
                Item::Pragma(pragma) => self.pragma(pragma),
            }
        }
    }

    /// Declares a name of the module.
    pub(super) fn declare(&mut self, name: Cow<'s, str>, span: Span, global: Global) -> bool {
        if let Some(&(_, earlier)) = self.names.get(&name) {
            self.reports.push(twice(&name, span, earlier));
            return false;
        }
        self.names.insert(name, (global, span));
        true
    }

    /// The meaning of a name of the module.
    pub(super) fn symbol(&self, name: &str) -> Option<Symbol> {
        let (global, _) = self.names.get(name)?;
        Some(match *global {
            Global::Function(id) => Symbol::Function(id),
            Global::Opaque => Symbol::Opaque,
            Global::Variable(id, ty, array) => {
                let variable = &self.variables[id.index()];
                Symbol::Var {
                    var: Var::Module(id),
                    space: variable.space,
                    ty,
                    array,
                    bytes: variable.size,
                }
            }
        })
    }

    pub(super) fn file(&mut self, file: &ast::File<'_>) {
        if let Some(&earlier) = self.file_spans.get(&file.index) {
            self.reports.push(
                Diagnostic::error(file.span, format!("file {} is named twice", file.index))
                    .related(earlier, "named here before"),
            );
            return;
        }
        self.file_spans.insert(file.index, file.span);
        self.files.push(ir::SourceFile {
            index: file.index,
            name: file.name.text.to_string(),
        });
    }

    fn pragma(&mut self, pragma: &ast::Pragma<'_>) {
        self.target
            .require(&mut self.reports, "`.pragma`", pragma.span, (2, 0), 0);
        for string in &pragma.strings {
            if !is_known_pragma(string.text) {
                self.reports.push(Diagnostic::error(
                    string.span,
                    format!("there is no pragma \"{}\" for modules", string.text),
                ));
            }
        }
    }

    /// The index of a place in the source that the text was compiled from.
    pub(super) fn location(&mut self, loc: &ast::Loc<'s>) -> u32 {
        if let Some((name, _)) = loc.function {
            self.inlined.entry(name.text).or_insert(name.span);
        }
        if let Some((file, line, column)) = loc.inlined_at {
            let place = ir::Location { file, line, column };
            if !self.located.contains_key(&place) {
                self.reports.push(Diagnostic::error(
                    loc.span,
                    format!(
                        "`inlined_at {file} {line} {column}`: no `.loc` before names that place"
                    ),
                ));
            }
        }
        let location = ir::Location {
            file: loc.file,
            line: loc.line,
            column: loc.column,
        };
        *self.located.entry(location).or_insert_with(|| {
            self.locations.push(location);
            (self.locations.len() - 1) as u32
        })
    }
}

/// The labels of a section of debugging information: each word before a colon.
fn section_labels(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(|word| {
        let (label, _) = word.split_once(':')?;
        (!label.is_empty()).then_some(label)
    })
}

/// Whether a module may carry this pragma.
fn is_known_pragma(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or("");
    matches!(
        word,
        "nounroll" | "used_bytes_mask" | "enable_smem_spilling" | "frequency"
    )
}

/// A name that is declared twice in one scope.
pub(super) fn twice(name: &str, span: Span, earlier: Span) -> Diagnostic {
    Diagnostic::error(span, format!("`{name}` is declared twice"))
        .related(earlier, "declared here before")
}
