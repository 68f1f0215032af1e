//! Syntax tree to text.

use super::ast::{
    Address, Attribute, BinaryOp, Body, CallTable, CallTableKind, Declarator, Directive, Expr,
    File, Function, FunctionKind, Init, Instruction, Item, Loc, Module, Name, Operand, Pragma,
    Statement, Target, UnaryOp, Variable,
};
use std::fmt::{self, Display, Formatter};

/// Writes a module, one directive or statement a line.
///
/// The text parses back to the same tree, spans aside. Comments and the spelling of literals are not kept:
/// integers come out in decimal, floating-point literals as their bits.
pub fn print(module: &Module<'_>) -> String {
    module.to_string()
}

/// Shows the things of a list with commas between.
struct Commas<'a, T>(&'a [T]);

impl<T: Display> Display for Commas<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, one) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            one.fmt(f)?;
        }
        Ok(())
    }
}

/// Shows strings with quotes and commas.
struct Strings<'a>(&'a [Name<'a>]);

impl Display for Strings<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            write!(f, "{}\"{}\"", if i > 0 { ", " } else { "" }, name.text)?;
        }
        Ok(())
    }
}

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl Display for Module<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.items.iter().try_for_each(|item| writeln!(f, "{item}"))
    }
}

impl Display for Item<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Item::Version { major, minor, .. } => write!(f, ".version {major}.{minor}"),
            Item::Target { names, .. } => write!(f, ".target {}", Commas(names)),
            Item::AddressSize { bits, .. } => write!(f, ".address_size {bits}"),
            Item::Variable(variable) => write!(f, "{variable};"),
            Item::Function(function) => function.fmt(f),
            Item::Alias { name, target, .. } => write!(f, ".alias {name}, {target};"),
            Item::File(file) => file.fmt(f),
            Item::Section(section) => write!(f, ".section .{} {{{}}}", section.name, section.text),
            Item::Pragma(pragma) => pragma.fmt(f),
        }
    }
}

impl Display for Variable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for linkage in &self.linkage {
            write!(f, ".{linkage} ")?;
        }
        write!(f, ".{}", self.space)?;
        if let Some((bank, _)) = self.bank {
            write!(f, "[{bank}]")?;
        }
        if let Some((align, _)) = self.align {
            write!(f, " .align {align}")?;
        }
        print_attributes(f, &self.attributes)?;
        for word in [self.vector, self.ty].into_iter().flatten() {
            write!(f, " .{word}")?;
        }
        if let Some(ptr) = &self.ptr {
            f.write_str(" .ptr")?;
            if let Some(space) = ptr.space {
                write!(f, " .{space}")?;
            }
            if let Some((align, _)) = ptr.align {
                write!(f, " .align {align}")?;
            }
        }
        write!(f, " {}", Commas(&self.declarators))
    }
}

fn print_attributes(f: &mut Formatter<'_>, attributes: &[Attribute<'_>]) -> fmt::Result {
    if attributes.is_empty() {
        Ok(())
    } else {
        write!(f, " .attribute({})", Commas(attributes))
    }
}

impl Display for Attribute<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name)?;
        if self.values.is_empty() {
            Ok(())
        } else {
            write!(f, "({})", Commas(&self.values))
        }
    }
}

fn print_range(f: &mut Formatter<'_>, range: Option<u64>) -> fmt::Result {
    range.map_or(Ok(()), |count| write!(f, "<{count}>"))
}

impl Display for Declarator<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        print_range(f, self.range.map(|(count, _)| count))?;
        for (size, _) in &self.dims {
            match size {
                Some(size) => write!(f, "[{size}]")?,
                None => f.write_str("[]")?,
            }
        }
        self.init
            .as_ref()
            .map_or(Ok(()), |init| write!(f, " = {init}"))
    }
}

impl Display for Init<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Init::Value(value) => value.fmt(f),
            Init::List(list, _) => write!(f, "{{{}}}", Commas(list)),
            Init::Field(name, value) => write!(f, "{name} = {value}"),
        }
    }
}

impl Display for Function<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for linkage in &self.linkage {
            write!(f, ".{linkage} ")?;
        }
        f.write_str(match self.kind {
            FunctionKind::Entry => ".entry",
            FunctionKind::Func => ".func",
        })?;
        print_attributes(f, &self.attributes)?;
        if !self.returns.is_empty() {
            write!(f, " ({})", Commas(&self.returns))?;
        }
        write!(f, " {}", self.name)?;
        if self.has_params {
            write!(f, "({})", Commas(&self.params))?;
        }
        for directive in &self.directives {
            write!(f, " {directive}")?;
        }
        match &self.body {
            Some(body) => {
                f.write_str("\n{\n")?;
                print_body(f, body, 1)?;
                f.write_str("}")
            }
            None => f.write_str(";"),
        }
    }
}

impl Display for Directive<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name)?;
        if !self.values.is_empty() {
            write!(f, " {}", Commas(&self.values))?;
        }
        if self.strings.is_empty() {
            Ok(())
        } else {
            write!(f, " {};", Strings(&self.strings))
        }
    }
}

/// The statements of a body, without its braces.
fn print_body(f: &mut Formatter<'_>, body: &Body<'_>, depth: usize) -> fmt::Result {
    for statement in &body.statements {
        match statement {
            Statement::Label(_) | Statement::CallTable(_) => {}
            _ => (0..depth).try_for_each(|_| f.write_str("\t"))?,
        }
        match statement {
            Statement::Label(name) => writeln!(f, "{name}:")?,
            Statement::Instruction(instruction) => writeln!(f, "{instruction};")?,
            Statement::Variable(variable) => writeln!(f, "{variable};")?,
            Statement::Block(block) => {
                f.write_str("{\n")?;
                print_body(f, block, depth + 1)?;
                (0..depth).try_for_each(|_| f.write_str("\t"))?;
                f.write_str("}\n")?;
            }
            Statement::Pragma(pragma) => writeln!(f, "{pragma}")?,
            Statement::Loc(loc) => writeln!(f, "{loc}")?,
            Statement::CallTable(table) => writeln!(f, "{table}")?,
        }
    }
    Ok(())
}

impl Display for Instruction<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(
                f,
                "@{}{} ",
                if guard.negated { "!" } else { "" },
                guard.predicate
            )?;
        }
        self.mnemonic.fmt(f)?;
        for modifier in &self.modifiers {
            write!(f, ".{modifier}")?;
        }
        if self.operands.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", Commas(&self.operands))
        }
    }
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Expr(expr) => expr.fmt(f),
            Operand::Not(expr, _) => write!(f, "!{expr}"),
            Operand::Pair(left, right, _) => write!(f, "{left}|{right}"),
            Operand::Vector(elements, _) => write!(f, "{{{}}}", Commas(elements)),
            Operand::Address(address) => address.fmt(f),
            Operand::List(elements, _) => write!(f, "({})", Commas(elements)),
        }
    }
}

impl Display for Address<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let (true, Expr::Binary { lhs, rhs, .. }) = (self.indexed, &self.base) {
            return write!(f, "{lhs}[{rhs}]");
        }
        write!(f, "[{}", self.base)?;
        for operand in &self.rest {
            write!(f, ", {operand}")?;
        }
        f.write_str("]")?;
        match &self.suffix {
            Some(suffix) => write!(f, ".{}", suffix.text),
            None => Ok(()),
        }
    }
}

impl Expr<'_> {
    /// How tightly its outermost operator binds. An `0f` literal next to an operator needs parentheses.
    fn strength(&self) -> u8 {
        match self {
            Expr::F32 { .. } => 0,
            Expr::Conditional { .. } => 1,
            Expr::Binary { op, .. } => op.strength(),
            Expr::Unary { .. } | Expr::Cast { .. } => 12,
            Expr::Int { .. } | Expr::F64 { .. } | Expr::Name { .. } | Expr::Apply { .. } => 13,
        }
    }
}

/// Shows an expression, in parentheses if it binds looser than `floor`.
struct Within<'a>(&'a Expr<'a>, u8);

impl Display for Within<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.strength() < self.1 {
            write!(f, "({})", self.0)
        } else {
            self.0.fmt(f)
        }
    }
}

impl Display for Expr<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Int {
                value, unsigned, ..
            } => write!(f, "{value}{}", if *unsigned { "U" } else { "" }),
            Expr::F64 { bits, .. } => write!(f, "0d{bits:016x}"),
            Expr::F32 { bits, .. } => write!(f, "0f{bits:08x}"),
            Expr::Name { name, suffix } => {
                name.fmt(f)?;
                suffix.map_or(Ok(()), |suffix| write!(f, ".{suffix}"))
            }
            Expr::Unary { op, arg, .. } => write!(f, "{}{}", op.text(), Within(arg, 12)),
            Expr::Binary { op, lhs, rhs } => {
                let strength = op.strength();
                write!(
                    f,
                    "{}{}{}",
                    Within(lhs, strength),
                    op.text(),
                    Within(rhs, strength + 1)
                )
            }
            Expr::Conditional { cond, then, other } => {
                write!(
                    f,
                    "{} ? {} : {}",
                    Within(cond, 2),
                    Within(then, 1),
                    Within(other, 1)
                )
            }
            Expr::Cast { ty, arg, .. } => write!(f, "(.{ty}) {}", Within(arg, 12)),
            Expr::Apply { function, arg, .. } => write!(f, "{function}({arg})"),
        }
    }
}

impl UnaryOp {
    /// The operator as it is written.
    pub fn text(self) -> &'static str {
        match self {
            UnaryOp::Plus => "+",
            UnaryOp::Neg => "-",
            UnaryOp::Not => "~",
            UnaryOp::LogicalNot => "!",
        }
    }
}

impl BinaryOp {
    /// The operator as it is written.
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            // With a blank: `%` and a digit would be a register.
            BinaryOp::Rem => " % ",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::And => "&",
            BinaryOp::Xor => "^",
            BinaryOp::Or => "|",
            BinaryOp::LogicalAnd => "&&",
            BinaryOp::LogicalOr => "||",
        }
    }

    /// How tightly it binds, as in C: 2 (`||`) to 11 (`*`).
    pub(super) fn strength(self) -> u8 {
        match self {
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 11,
            BinaryOp::Add | BinaryOp::Sub => 10,
            BinaryOp::Shl | BinaryOp::Shr => 9,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 8,
            BinaryOp::Eq | BinaryOp::Ne => 7,
            BinaryOp::And => 6,
            BinaryOp::Xor => 5,
            BinaryOp::Or => 4,
            BinaryOp::LogicalAnd => 3,
            BinaryOp::LogicalOr => 2,
        }
    }
}

impl Display for Pragma<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".pragma {};", Strings(&self.strings))
    }
}

impl Display for Loc<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".loc {} {} {}", self.file, self.line, self.column)?;
        if let Some((label, offset)) = self.function {
            write!(f, ", function_name {label}")?;
            if offset != 0 {
                write!(f, "+{offset}")?;
            }
        }
        self.inlined_at.map_or(Ok(()), |(file, line, column)| {
            write!(f, ", inlined_at {file} {line} {column}")
        })
    }
}

impl Display for File<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".file {} \"{}\"", self.index, self.name)?;
        self.details.map_or(Ok(()), |(timestamp, size)| {
            write!(f, ", {timestamp}, {size}")
        })
    }
}

impl Display for CallTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.label)?;
        match &self.kind {
            CallTableKind::BranchTargets(targets) => {
                write!(f, ".branchtargets {};", Commas(targets))
            }
            CallTableKind::CallTargets(targets) => write!(f, ".calltargets {};", Commas(targets)),
            CallTableKind::Prototype {
                returns,
                name,
                params,
                directives,
            } => {
                f.write_str(".callprototype ")?;
                if !returns.is_empty() {
                    write!(f, "({}) ", Commas(returns))?;
                }
                write!(f, "{name} ({})", Commas(params))?;
                directives
                    .iter()
                    .try_for_each(|directive| write!(f, " {directive}"))?;
                f.write_str(";")
            }
        }
    }
}

impl Display for Target<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        print_range(f, self.range.map(|(count, _)| count))
    }
}
