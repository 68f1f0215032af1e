//! Functions that are given as Cranelift IR: what a dump shows, edited by a person.
//!
//! What is given stands in place of what `lower` makes of a function: the same signature, the same meaning of the context.
//! Nothing keeps it from accessing anything.

use super::flags;
use super::given::Given;
use super::settings::Allocator;
use super::target::Target;
use super::{CompileError, Settings};
use crate::ir::{FuncId, Module};
use crate::lower::{Symbol, signature};
use crate::spmd::ModulePlan;
use crate::spmd::facts::SHALLOW;
use cranelift_codegen::ir::entities::AnyEntity;
use cranelift_codegen::ir::{
    ExternalName, Function, GlobalValueData, UserExternalName, UserFuncName,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::verify_function;
use cranelift_reader::{Details, ParseOptions, parse_test};

/// What is wrong with Cranelift IR that was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ClifError {
    /// The line of the text, from 1; `None` if it is not one line's fault.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
}

/// Reads functions as `dump` writes them, or with the module's own names (`%name`) for `u0:N`, and checks what can be
/// checked: that they are functions of the module with its signatures, that they call such functions, and what Cranelift's
/// verifier looks at.
///
/// # Errors
/// What is wrong, with the line.
pub fn read(module: &Module, settings: &Settings, text: &str) -> Result<Given, ReadError> {
    let plan = ModulePlan::new(module, settings.checked, SHALLOW, |_| settings.width);
    let isa = flags::isa(
        settings,
        &Target::Host,
        settings.opt_level,
        Allocator::Backtracking,
    )?;
    let options = ParseOptions {
        default_calling_convention: isa.default_call_conv(),
        ..ParseOptions::default()
    };
    check_numbers(text)?;
    let file = parse_test(text, options).map_err(|e| ClifError {
        line: line(e.location.line_number),
        message: e.message,
    })?;
    let reader = Reader {
        text,
        module,
        plan: &plan,
        isa: &*isa,
    };
    let mut given = Given::default();
    for (clif, details) in file.functions {
        let (id, clif) = reader.function(clif, &details)?;
        if !given.add(id, clif) {
            let name = &module.functions[id.index()].name;
            return Err(at(&details, None, format!("`{name}` is there twice")).into());
        }
    }
    if given.is_empty() {
        return Err(ClifError {
            line: None,
            message: "there is no function in it".to_string(),
        }
        .into());
    }
    Ok(given)
}

/// Refuses values, blocks and so on with numbers out of all proportion: the reader makes room for all lower ones.
fn check_numbers(text: &str) -> Result<(), ClifError> {
    const MOST: u32 = 1 << 22;
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%');
    for (index, text) in text.lines().enumerate() {
        let code = text.split(';').next().unwrap_or_default();
        for word in code.split(|c| !in_word(c)) {
            let number = word.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_');
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            let high = number.parse().map_or(true, |n: u32| n > MOST);
            if is_number && high && number.len() < word.len() {
                return Err(ClifError {
                    line: line(index + 1),
                    message: format!("the number of `{word}` is above {MOST}"),
                });
            }
        }
    }
    Ok(())
}

/// Why Cranelift IR could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The text is wrong.
    #[error(transparent)]
    Text(#[from] ClifError),
    /// The settings or the machine are.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

fn line(number: usize) -> Option<u32> {
    u32::try_from(number).ok().filter(|&n| n > 0)
}

/// An error at an instruction or block of a function, or at its head.
fn at(details: &Details<'_>, entity: Option<AnyEntity>, message: String) -> ClifError {
    let location = entity.and_then(|e| details.map.location(e));
    ClifError {
        line: line(location.unwrap_or(details.location).line_number),
        message,
    }
}

struct Reader<'a> {
    text: &'a str,
    module: &'a Module,
    plan: &'a ModulePlan,
    isa: &'a dyn TargetIsa,
}

impl Reader<'_> {
    fn function(
        &self,
        mut clif: Function,
        details: &Details<'_>,
    ) -> Result<(FuncId, Function), ClifError> {
        let symbol = match &clif.name {
            UserFuncName::User(name) => self.numbered(name.namespace, name.index),
            UserFuncName::Testcase(name) => self.named(name.raw()),
        };
        let Some(Symbol::Function(id)) = symbol else {
            let name = &clif.name;
            let message = format!("`{name}` is no function or kernel of the module");
            return Err(at(details, None, message));
        };
        let ir = &self.module.functions[id.index()];
        if let Some(Some(absent)) = self.plan.absent.get(id.index()) {
            let message = format!("`{}` has no native code: {absent}", ir.name);
            return Err(at(details, None, message));
        }
        let wanted = signature(self.module, Symbol::Function(id), self.isa);
        if wanted.as_ref() != Some(&clif.signature) {
            let wanted = wanted.map_or_else(String::new, |s| s.to_string());
            let message = format!(
                "`{}` has the signature `{wanted}`, not `{}`",
                ir.name, clif.signature
            );
            return Err(at(details, None, message));
        }
        if clif.layout.entry_block().is_none() {
            let message = format!("`{}` has no block", ir.name);
            return Err(at(details, None, message));
        }
        self.outside(&mut clif, details)?;
        verify_function(&clif, self.isa).map_err(|errors| match errors.0.first() {
            Some(error) => at(details, Some(error.location), error.to_string()),
            None => at(details, None, "the verifier refuses it".to_string()),
        })?;
        let name = Symbol::Function(id).external();
        clif.name = UserFuncName::user(name.namespace, name.index);
        Ok((id, clif))
    }

    /// An error at the declaration of something: the reader remembers what follows it.
    fn declared(&self, details: &Details<'_>, entity: AnyEntity, message: String) -> ClifError {
        let name = entity.to_string();
        let head = details.location.line_number;
        let declares = |line: &&str| {
            let rest = line.trim_start().strip_prefix(&*name);
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        let mut lines = self.text.lines().skip(head);
        match lines.position(|line| declares(&line)) {
            Some(after) => ClifError {
                line: line(head + 1 + after),
                message,
            },
            None => at(details, None, message),
        }
    }

    fn numbered(&self, namespace: u32, index: u32) -> Option<Symbol> {
        let symbol = Symbol::of_number(index);
        match symbol {
            _ if namespace != 0 => None,
            Symbol::Function(f) => (f.index() < self.module.functions.len()).then_some(symbol),
            Symbol::Resolve | Symbol::ResolveHost | Symbol::ClockHost | Symbol::ServeHost => {
                Some(symbol)
            }
            Symbol::Trampoline(_) | Symbol::Plain(_) => None,
        }
    }

    fn named(&self, name: &[u8]) -> Option<Symbol> {
        let name = std::str::from_utf8(name).ok()?;
        self.module.function(name).map(Symbol::Function)
    }

    /// What a function refers to outside of itself is there, and as it says.
    fn outside(&self, clif: &mut Function, details: &Details<'_>) -> Result<(), ClifError> {
        for (value, data) in &clif.global_values {
            if let GlobalValueData::Symbol { .. } = data {
                let message = "symbols of data are not resolved".to_string();
                return Err(self.declared(details, value.into(), message));
            }
        }
        let references: Vec<_> = clif.dfg.ext_funcs.keys().collect();
        for reference in references {
            let wrong = |message: String| self.declared(details, reference.into(), message);
            let data = &clif.dfg.ext_funcs[reference];
            let symbol = match &data.name {
                ExternalName::User(name) => {
                    let UserExternalName { namespace, index } =
                        clif.params.user_named_funcs()[*name];
                    self.numbered(namespace, index)
                }
                ExternalName::TestCase(name) => self.named(name.raw()),
                ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => None,
            };
            let Some(symbol) = symbol else {
                let name = data.name.display(Some(&clif.params));
                return Err(wrong(format!("`{name}` is no function of the module")));
            };
            if let Symbol::Function(f) = symbol
                && self.plan.function(f).is_none()
            {
                let name = &self.module.functions[f.index()].name;
                return Err(wrong(format!("`{name}` has no native code")));
            }
            let given = &clif.dfg.signatures[data.signature];
            let wanted = signature(self.module, symbol, self.isa);
            if wanted.as_ref() != Some(given) {
                let wanted = wanted.map_or_else(String::new, |s| s.to_string());
                let message = format!("it has the signature `{wanted}`, not `{given}`");
                return Err(wrong(message));
            }
            if data.colocated != symbol.is_near() {
                return Err(wrong(match data.colocated {
                    true => "it is far from the code: not `colocated`".to_string(),
                    false => "it lies beside the code: `colocated`".to_string(),
                }));
            }
            let name = clif.declare_imported_user_function(symbol.external());
            clif.dfg.ext_funcs[reference].name = ExternalName::user(name);
        }
        Ok(())
    }
}
