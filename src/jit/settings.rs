//! How to compile.

/// How hard Cranelift tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OptLevel {
    /// Quick to compile: no common subexpressions, no hoisting.
    None,
    /// Fast code.
    #[default]
    Speed,
    /// Fast code, small where that costs nothing.
    SpeedAndSize,
}

/// Which of Cranelift's register allocators to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Allocator {
    /// Good code, slowly; functions too large for it are given to the other.
    #[default]
    Backtracking,
    /// Poor code, in time that grows with the function's size.
    SinglePass,
}

/// How to compile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// How hard Cranelift tries.
    pub opt_level: OptLevel,
    /// Whether accesses through registers are checked against live memory. Without it a wild address is undefined
    /// behaviour: whoever enters such code vouches for the kernel.
    pub checked: bool,
    /// Whether Cranelift verifies what it is given; slow, on by default in debug builds.
    pub verify: bool,
    /// How many threads of a kernel go together, their values side by side in vectors: 4, 8, 16 or 32; 1 for one after
    /// another.
    pub width: u32,
    /// How many go together in the code that is made of a kernel later, when it pays ([`Code::make_wide`](super::Code::make_wide)); `None` if none is.
    pub later: Option<u32>,
    /// Who allocates registers.
    pub allocator: Allocator,
    /// Further Cranelift settings, by name and value, as [`choose`](super::flags::choose) takes them.
    pub cranelift: Vec<(String, String)>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            opt_level: OptLevel::default(),
            checked: true,
            verify: cfg!(debug_assertions),
            width: 1,
            later: Some(8),
            allocator: Allocator::default(),
            cranelift: Vec::new(),
        }
    }
}
