//! Calls: by name and through tables, with arguments in registers, as literals and in `.param` variables.

use super::body::Body;
use super::generate::{Shape, Type};
use super::program::Statement;
use crate::isa::types::{Ty, TyKind};

/// What is passed and taken: as written in the call.
#[derive(Default)]
struct Passed {
    args: Vec<String>,
    results: Vec<String>,
    /// Loads from `.param` variables behind the call.
    after: Vec<(String, String, String)>,
}

fn bits(bits: u32) -> Ty {
    Ty {
        kind: TyKind::Bits,
        bits,
    }
}

impl Body<'_, '_> {
    /// Calls some function, if there is fuel.
    pub(super) fn call(&mut self) {
        let module = self.module;
        if module.functions.is_empty() {
            return;
        }
        let callable: Vec<_> = (module.functions.iter().take(self.callable))
            .filter(|f| !self.follows() || self.flow.cta || !f.cta)
            .collect();
        if callable.is_empty() {
            return;
        }
        let target = *self.choices.pick(&callable);
        let indirect = module
            .tables
            .iter()
            .find(|(_, shape, _)| *shape == target.shape)
            .filter(|_| !self.follows() && self.choices.chance(40));
        let shape = &module.shapes[target.shape];
        let skip = self.name("L");
        self.emit("sub.s32", &["%fuel", "%fuel", "1"]);
        self.emit("setp.le.s32", &["%pf", "%fuel", "0"]);
        self.emit_guarded("@%pf ", "bra", &[&skip]);
        let outer = std::mem::take(&mut self.out);
        self.emit("shr.s32", &["%t2", "%fuel", "2"]);
        let mut passed = Passed::default();
        self.pass(shape, &mut passed);
        let results = passed.results.join(", ");
        let args = format!("({})", passed.args.join(", "));
        let mut operands = Vec::new();
        if !passed.results.is_empty() {
            operands.push(format!("({results})"));
        }
        match indirect {
            None => operands.extend([target.name.clone(), args]),
            Some((table, _, length)) => {
                let callee = self.function_of(table, *length);
                let prototype = self.prototype(shape, target.shape);
                operands.extend([callee, args, prototype]);
            }
        }
        let uniform = if self.choices.chance(10) { ".uni" } else { "" };
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        self.emit(&format!("call{uniform}"), &operands);
        for (head, to, from) in &passed.after {
            self.emit(head, &[to, from]);
        }
        let inner = std::mem::replace(&mut self.out, outer);
        self.out.push(Statement::Scope(inner));
        self.plain(format!("{skip}:"));
    }

    /// Arguments and results of a call.
    fn pass(&mut self, shape: &Shape, passed: &mut Passed) {
        let address = self.module.target.address_bits;
        let base = self.base();
        let mask = self.follows().then_some(Type::Bits(32));
        for (n, ty) in [Type::Bits(32), Type::Bits(address)]
            .iter()
            .chain(&mask)
            .chain(&shape.params)
            .enumerate()
        {
            let given = match n {
                0 => Some("%t2".to_string()),
                1 => Some(base.clone()),
                2 if self.follows() => Some(match &self.flow.mask {
                    Some(mask) => mask.clone(),
                    None => "0".to_string(),
                }),
                _ => None,
            };
            let argument = self.argument(shape, *ty, given);
            passed.args.push(argument);
        }
        for ty in &shape.returns {
            let result = self.result(shape, *ty, passed);
            passed.results.push(result);
        }
    }

    /// A generic address of a region for the callee.
    fn base(&mut self) -> String {
        let mut list = vec!["%a2", "%a5"];
        if self.kernel || !self.module.plain {
            list.push("%a3");
        }
        list.push(if self.kernel { "%a7" } else { "%a6" });
        (*self.choices.pick(&list)).to_string()
    }

    fn argument(&mut self, shape: &Shape, ty: Type, given: Option<String>) -> String {
        let by_memory = !shape.registers && self.choices.chance(60);
        match ty {
            Type::Bits(width) => {
                let value = given.or_else(|| {
                    if self.choices.chance(20) {
                        return Some(self.literal(bits(width)).0);
                    }
                    self.any_register(bits(width))
                });
                let value = value.unwrap_or_else(|| "0".to_string());
                if !by_memory {
                    return value;
                }
                let name = self.name("q");
                self.plain(format!(".param .b{width} {name};"));
                self.emit(
                    &format!("st.param.b{width}"),
                    &[&format!("[{name}]"), &value],
                );
                name
            }
            Type::Bytes(count) => {
                let name = self.name("q");
                self.plain(format!(".param .align 16 .b8 {name}[{count}];"));
                // Some of the bytes, in pieces of some width; the others are 0.
                let width = *self.choices.pick(&[8u32, 32, 64]);
                let step = width as usize / 8;
                for offset in (0..count).step_by(step) {
                    if offset + step > count || self.choices.chance(30) {
                        continue;
                    }
                    let ty = bits(width.max(16));
                    let value = match self.any_register(ty) {
                        Some(name) if self.choices.chance(80) => name,
                        Some(_) | None => self.literal(ty).0,
                    };
                    let at = format!("[{name}+{offset}]");
                    self.emit(&format!("st.param.b{width}"), &[&at, &value]);
                }
                name
            }
        }
    }

    fn result(&mut self, shape: &Shape, ty: Type, passed: &mut Passed) -> String {
        let in_register = shape.registers || self.choices.chance(40);
        match ty {
            Type::Bits(width) => {
                let to = self.any_register(bits(width));
                match to {
                    // Two results in one register would be one too few.
                    Some(to) if in_register && !passed.results.contains(&to) => to,
                    Some(to) if !shape.registers => {
                        let name = self.name("q");
                        self.plain(format!(".param .b{width} {name};"));
                        let head = format!("ld.param.b{width}");
                        passed.after.push((head, to, format!("[{name}]")));
                        name
                    }
                    Some(_) | None => "_".to_string(),
                }
            }
            Type::Bytes(count) => {
                let name = self.name("q");
                self.plain(format!(".param .align 16 .b8 {name}[{count}];"));
                if let Some(to) = self.any_register(bits(32)) {
                    let offset = 4 * self.choices.below(count / 4);
                    let at = format!("[{name}+{offset}]");
                    passed.after.push(("ld.param.b32".to_string(), to, at));
                }
                name
            }
        }
    }

    /// A register with the address of a function of a table.
    fn function_of(&mut self, table: &str, length: usize) -> String {
        let module = self.module;
        let bytes = module.target.address_bits / 8;
        let mask = length.next_power_of_two() - 1;
        let index = self.any_register(bits(32)).unwrap_or_else(|| "%lin".into());
        self.emit("and.b32", &["%t0", &index, &mask.to_string()]);
        self.emit("min.u32", &["%t0", "%t0", &(length - 1).to_string()]);
        self.emit(&format!("mov{}", module.address()), &["%at", table]);
        let head = if bytes == 8 {
            "mad.wide.u32"
        } else {
            "mad.lo.u32"
        };
        self.emit(head, &["%at", "%t0", &bytes.to_string(), "%at"]);
        self.emit(&format!("ld.global{}", module.address()), &["%a9", "[%at]"]);
        "%a9".to_string()
    }

    /// The label of a prototype, or of a list of the functions that may be meant.
    fn prototype(&mut self, shape: &Shape, number: usize) -> String {
        let module = self.module;
        let label = self.name("P");
        if self.choices.chance(40) {
            let members = module.functions.iter().filter(|f| f.shape == number);
            let list: Vec<&str> = members.map(|f| f.name.as_str()).collect();
            self.plain(format!("{label}: .calltargets {};", list.join(", ")));
            return label;
        }
        let space = if shape.registers { ".reg" } else { ".param" };
        let one = |ty: &Type| match ty {
            Type::Bits(bits) => format!("{space} .b{bits} _"),
            Type::Bytes(count) => format!("{space} .align 16 .b8 _[{count}]"),
        };
        let address = Type::Bits(module.target.address_bits);
        let mut hidden = vec![Type::Bits(32), address];
        if self.follows() {
            hidden.push(Type::Bits(32));
        }
        let params: Vec<String> = hidden.iter().chain(&shape.params).map(one).collect();
        let returns: Vec<String> = shape.returns.iter().map(one).collect();
        let returns = match &returns[..] {
            [] => String::new(),
            list => format!("({}) ", list.join(", ")),
        };
        self.plain(format!(
            "{label}: .callprototype {returns}_ ({});",
            params.join(", ")
        ));
        label
    }
}
