//! A hostile text or launch, and what must come of it.

use ptxlift::FaultKind;

/// The directives at the top of most texts here: what follows begins in line 4.
pub const HEADER: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// A thousand and a million; builds without optimisation get a tenth of what is counted in them.
pub const MANY: usize = if cfg!(debug_assertions) { 100 } else { 1000 };
pub const MILLION: usize = 1000 * MANY;

/// What must come of a case.
#[derive(Debug, Clone)]
pub enum Expect {
    /// It is right: it is checked and compiled, and runs if there is a launch.
    Fine,
    /// The text is refused; the first error stands in this line, with this message.
    Refused(u32, String),
    /// It needs something that is not there: this is said of it.
    Unsupported(String),
    /// It was used wrongly: this is said.
    Usage(String),
    /// The kernel faults, in this line; 0 where it cannot be told beforehand.
    Fault(u32, FaultKind),
}

/// A launch of the kernel `k`.
#[derive(Debug, Clone)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    /// Milliseconds that it may take.
    pub limit: u64,
    /// Elements of a buffer of `u32` whose address is the only argument.
    pub buffer: Option<u64>,
}

/// A text, perhaps to be launched.
pub struct Case {
    /// What the table calls it.
    pub name: &'static str,
    pub text: fn() -> Vec<u8>,
    pub launch: Option<Launch>,
    /// Whether it is compiled too where there is no launch.
    pub compiled: bool,
    /// Whether the interpreter does otherwise: it takes kernels that are too much for native code.
    pub native_only: bool,
    pub expect: Expect,
    /// Most seconds of processor time, in an optimised build.
    pub seconds: f64,
    /// Most MiB.
    pub megabytes: u64,
}

impl Case {
    /// A text that is right.
    pub fn new(name: &'static str, text: fn() -> Vec<u8>) -> Self {
        Case {
            name,
            text,
            launch: None,
            compiled: true,
            native_only: false,
            expect: Expect::Fine,
            seconds: 1.0,
            megabytes: 96,
        }
    }

    /// The text is refused in this line.
    pub fn refused(mut self, line: u32, message: impl Into<String>) -> Self {
        self.expect = Expect::Refused(line, message.into());
        self
    }

    /// The module is only checked.
    pub fn checked(mut self) -> Self {
        self.compiled = false;
        self
    }

    /// The kernel `k` needs something that is not built yet.
    pub fn lacking(mut self, message: &str) -> Self {
        self.expect = Expect::Unsupported(message.to_string());
        self.launched()
    }

    /// The kernel `k` is too much for native code.
    pub fn unsupported(mut self, message: &str) -> Self {
        self.native_only = true;
        self.lacking(message)
    }

    /// The launch is refused.
    pub fn usage(mut self, message: &str) -> Self {
        self.expect = Expect::Usage(message.to_string());
        self.launched()
    }

    /// The launch faults in this line.
    pub fn fault(mut self, line: u32, kind: FaultKind) -> Self {
        self.expect = Expect::Fault(line, kind);
        self.launched()
    }

    /// The kernel `k` is launched.
    pub fn launched(mut self) -> Self {
        self.launch.get_or_insert(Launch {
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            limit: 10_000,
            buffer: None,
        });
        self
    }

    fn change(self, change: impl FnOnce(&mut Launch)) -> Self {
        let mut case = self.launched();
        case.launch.as_mut().map(change);
        case
    }

    pub fn grid(self, grid: [u32; 3]) -> Self {
        self.change(|launch| launch.grid = grid)
    }

    pub fn block(self, block: [u32; 3]) -> Self {
        self.change(|launch| launch.block = block)
    }

    pub fn shared(self, bytes: u32) -> Self {
        self.change(|launch| launch.shared = bytes)
    }

    pub fn limit(self, milliseconds: u64) -> Self {
        self.change(|launch| launch.limit = milliseconds)
    }

    pub fn buffer(self, elements: u64) -> Self {
        self.change(|launch| launch.buffer = Some(elements))
    }

    /// What it may take, where that is more than a second and 96 MiB.
    pub fn within(mut self, seconds: f64, megabytes: u64) -> Self {
        self.seconds = seconds;
        self.megabytes = megabytes;
        self
    }
}

/// [`HEADER`] and a body.
pub fn module(body: &str) -> Vec<u8> {
    format!("{HEADER}{body}").into_bytes()
}

/// Joins what is written for each number.
pub fn each(count: usize, one: impl FnMut(usize) -> String) -> String {
    (0..count).map(one).collect()
}
