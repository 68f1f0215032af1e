//! The places of a file where a mutant can be switched on.

use proc_macro2::Span;
use std::collections::HashMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, ImplItem, Item, Pat, UnOp};

/// An expression that can be replaced.
#[derive(Debug, Clone)]
pub struct Place {
    /// The whole expression.
    pub range: Range<usize>,
    /// Whether it is computed at compile time.
    pub constant: bool,
    /// Whether computing it, and the likes of it, a second time changes nothing.
    pub pure: bool,
    /// The function that it lies in.
    pub function: String,
}

/// The parts of a binary expression.
#[derive(Debug)]
pub struct Binary {
    pub place: Place,
    pub left: Range<usize>,
    pub right: Range<usize>,
    /// An operand is a `let`: the expression cannot be taken out of its chain.
    pub has_let: bool,
}

/// An arm of a match.
#[derive(Debug)]
pub struct Arm {
    pub range: Range<usize>,
    pub pattern_end: usize,
    pub guard: Option<Range<usize>>,
    pub has_let: bool,
    pub constant: bool,
}

/// A field of a struct expression with a base.
#[derive(Debug)]
pub struct Field {
    pub place: Place,
    /// The name, where it stands for the value too.
    pub shorthand: Option<String>,
    /// The same field of the base.
    pub from_base: String,
}

/// A function's body.
#[derive(Debug)]
pub struct Body {
    pub range: Range<usize>,
    pub constant: bool,
}

/// What a file offers, by where it starts.
#[derive(Debug, Default)]
pub struct Places {
    /// By the operator.
    pub binaries: HashMap<usize, Binary>,
    /// By the operator; with the operand.
    pub unaries: HashMap<usize, (Place, Range<usize>)>,
    pub arms: Vec<Arm>,
    /// Fields of struct expressions with a base.
    pub fields: HashMap<usize, Field>,
    pub bodies: Vec<Body>,
    /// Integers and truth values.
    pub literals: Vec<Place>,
    /// Method calls, with the name's range, and paths, with the last word's range.
    pub words: Vec<(Place, Range<usize>)>,
}

/// Finds the places.
///
/// # Errors
/// The text is no Rust.
pub fn places(text: &str) -> syn::Result<Places> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder {
        text,
        places: Places::default(),
        constant: false,
        function: Vec::new(),
    };
    finder.visit_file(&file);
    Ok(finder.places)
}

struct Finder<'a> {
    text: &'a str,
    places: Places,
    constant: bool,
    function: Vec<String>,
}

fn range(span: Span) -> Range<usize> {
    span.byte_range()
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        a.path().is_ident("test")
            || a.path().is_ident("cfg")
                && matches!(&a.meta, syn::Meta::List(l) if l.tokens.to_string() == "test")
    })
}

impl Finder<'_> {
    fn place(&self, expr: &Expr) -> Place {
        Place {
            range: range(expr.span()),
            constant: self.constant,
            pure: is_pure(expr),
            function: self.function.join("::"),
        }
    }

    fn in_constant(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.constant, true);
        visit(self);
        self.constant = before;
    }

    fn function(&mut self, signature: &syn::Signature, block: &Block) {
        let before = std::mem::replace(&mut self.constant, signature.constness.is_some());
        self.function.push(signature.ident.to_string());
        self.places.bodies.push(Body {
            range: range(block.span()),
            constant: self.constant,
        });
        visit::visit_block(self, block);
        self.function.pop();
        self.constant = before;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(f) if is_test(&f.attrs) => {}
            Item::Mod(m) if is_test(&m.attrs) => {}
            Item::Fn(f) => self.function(&f.sig, &f.block),
            Item::Const(_) | Item::Static(_) | Item::Enum(_) => {
                self.in_constant(|s| visit::visit_item(s, item));
            }
            Item::Impl(i) => {
                let name = match &*i.self_ty {
                    syn::Type::Path(p) => p.path.segments.last().map(|s| s.ident.to_string()),
                    _ => None,
                };
                self.function.extend(name.clone());
                visit::visit_item(self, item);
                if name.is_some() {
                    self.function.pop();
                }
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(f) if is_test(&f.attrs) => {}
            ImplItem::Fn(f) => self.function(&f.sig, &f.block),
            ImplItem::Const(_) => self.in_constant(|s| visit::visit_impl_item(s, item)),
            _ => visit::visit_impl_item(self, item),
        }
    }

    fn visit_trait_item_fn(&mut self, f: &'ast syn::TraitItemFn) {
        if let Some(block) = &f.default {
            self.function(&f.sig, block);
        }
    }

    fn visit_type(&mut self, ty: &'ast syn::Type) {
        self.in_constant(|s| visit::visit_type(s, ty));
    }

    fn visit_generic_argument(&mut self, argument: &'ast syn::GenericArgument) {
        self.in_constant(|s| visit::visit_generic_argument(s, argument));
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
        self.in_constant(|s| s.visit_expr(&repeat.len));
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_pat(&mut self, pat: &'ast Pat) {
        self.in_constant(|s| visit::visit_pat(s, pat));
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Binary(b) => {
                let binary = Binary {
                    place: self.place(expr),
                    left: range(b.left.span()),
                    right: range(b.right.span()),
                    has_let: has_let(expr),
                };
                self.places
                    .binaries
                    .insert(range(b.op.span()).start, binary);
            }
            Expr::Unary(u) if matches!(u.op, UnOp::Not(_) | UnOp::Neg(_)) => {
                let unary = (self.place(expr), range(u.expr.span()));
                self.places.unaries.insert(range(u.op.span()).start, unary);
            }
            Expr::Lit(l) if matches!(l.lit, syn::Lit::Int(_) | syn::Lit::Bool(_)) => {
                let place = self.place(expr);
                self.places.literals.push(place);
            }
            Expr::MethodCall(m) => {
                let word = (self.place(expr), range(m.method.span()));
                self.places.words.push(word);
            }
            Expr::Path(p) if p.path.segments.len() > 1 => {
                if let Some(last) = p.path.segments.last() {
                    let word = (self.place(expr), range(last.ident.span()));
                    self.places.words.push(word);
                }
            }
            Expr::Struct(s) => {
                for field in &s.fields {
                    let (Some(base), syn::Member::Named(name)) = (&s.rest, &field.member) else {
                        continue;
                    };
                    let field_place = Field {
                        place: self.place(&field.expr),
                        shorthand: field.colon_token.is_none().then(|| name.to_string()),
                        from_base: format!("({}).{name}", &self.text[range(base.span())]),
                    };
                    self.places
                        .fields
                        .insert(range(field.span()).start, field_place);
                }
            }
            Expr::Const(_) => return,
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.places.arms.push(Arm {
            range: range(arm.span()),
            pattern_end: range(arm.pat.span()).end,
            guard: arm.guard.as_ref().map(|(_, g)| range(g.span())),
            has_let: arm.guard.as_ref().is_some_and(|(_, g)| has_let(g)),
            constant: self.constant,
        });
        visit::visit_arm(self, arm);
    }
}

fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => has_let(&b.left) || has_let(&b.right),
        _ => false,
    }
}

/// Methods that read and change nothing.
const PURE_METHODS: &[&str] = &[
    "as_ref", "as_str", "bits", "bytes", "class", "contains", "get", "into", "is_empty", "is_none",
    "is_some", "len", "mask", "max", "min", "signed", "start", "end",
];

/// Whether an expression can be computed once more for comparison.
fn is_pure(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Field(f) => is_pure(&f.base),
        Expr::Paren(p) => is_pure(&p.expr),
        Expr::Unary(u) => is_pure(&u.expr),
        Expr::Cast(c) => is_pure(&c.expr),
        Expr::Reference(r) => r.mutability.is_none() && is_pure(&r.expr),
        Expr::Index(i) => is_pure(&i.expr) && is_pure(&i.index),
        Expr::Macro(m) => m.mac.path.is_ident("matches"),
        Expr::Tuple(t) => t.elems.iter().all(is_pure),
        Expr::Binary(b) => !is_assignment(&b.op) && is_pure(&b.left) && is_pure(&b.right),
        Expr::MethodCall(m) => {
            PURE_METHODS.iter().any(|p| m.method == p)
                && is_pure(&m.receiver)
                && m.args.iter().all(is_pure)
        }
        Expr::Call(c) => {
            let converts = matches!(&*c.func, Expr::Path(p)
                if p.path.segments.last().is_some_and(|s| s.ident == "from"));
            converts && c.args.iter().all(is_pure)
        }
        _ => false,
    }
}

fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}
