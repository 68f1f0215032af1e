//! A function: registers, variables on its stack, blocks.

use super::control::{CallType, ParamTy, Terminator};
use super::{Block, Inst, Reg, RegClass};
use crate::diag::Span;

/// Kernel or device function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`
    Kernel,
    /// `.func`
    Device,
}

/// A register.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegInfo {
    /// Its width.
    pub class: RegClass,
    /// Its name in the text; empty for one that `check` made.
    pub name: Box<str>,
}

/// How the body reaches a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// `.param`: by `ld.param` and `st.param`.
    Memory,
    /// `.reg`: it is this register.
    Reg(Reg),
}

/// A parameter or return parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// Its name in the text.
    pub name: String,
    /// Size and alignment.
    pub ty: ParamTy,
    /// The element type as written, without its dot (`u64`, `b8`), for messages.
    pub declared: String,
    /// Whether it is an array (passed by value).
    pub array: bool,
    /// Memory or register.
    pub kind: ParamKind,
    /// Offset in the buffer of parameters, each aligned to its own alignment.
    pub offset: u32,
}

/// A `.local` variable, or a `.param` variable of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackVar {
    /// Its name in the text.
    pub name: String,
    /// Size and alignment.
    pub ty: ParamTy,
    /// Offset in [`Function::local_bytes`] or [`Function::frame_bytes`].
    pub offset: u32,
}

/// `.maxntid`, `.reqntid`: what a launch may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ThreadLimits {
    /// `.maxntid`: most threads in a CTA (the product is what counts).
    pub max: Option<[u32; 3]>,
    /// `.reqntid`: exactly these.
    pub required: Option<[u32; 3]>,
}

/// `.reqnctapercluster` and others: what a launch may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ClusterLimits {
    /// `.reqnctapercluster`: exactly these CTAs in a cluster. With a 0 among them the launch chooses.
    pub required: Option<[u32; 3]>,
    /// `.explicitcluster`: a launch has to say.
    pub explicit: bool,
    /// `.maxclusterrank`: most CTAs in a cluster.
    pub most: Option<u32>,
    /// `.blocksareclusters`: the grid of a launch counts clusters.
    pub whole: bool,
}

/// A basic block: instructions, then the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BasicBlock {
    /// A label that stood at its start, for dumps.
    pub label: Option<Box<str>>,
    /// The instructions.
    pub insts: Vec<Inst>,
    /// How it ends.
    pub terminator: Terminator,
    /// Where the terminator stands in the text.
    pub span: Span,
    /// Index into [`Module::locations`](super::Module::locations) for the terminator; `u32::MAX` for none.
    pub location: u32,
}

/// A kernel or device function.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Where its name stands.
    pub span: Span,
    /// Whether there is a body. Those without are system calls such as `vprintf`, or missing.
    pub defined: bool,
    /// Parameters.
    pub params: Vec<Param>,
    /// Return parameters.
    pub returns: Vec<Param>,
    /// Bytes of the buffer of all parameters.
    pub param_bytes: u32,
    /// Bytes of the buffer of all return parameters.
    pub return_bytes: u32,
    /// Registers. Every register is 0 when the thread (or call) begins.
    pub regs: Vec<RegInfo>,
    /// The register that stands for CC.CF, if the function uses it.
    pub carry: Option<Reg>,
    /// `.local` variables.
    pub locals: Vec<StackVar>,
    /// Bytes of all `.local` variables, to the end of the last.
    pub local_bytes: u32,
    /// Largest alignment of a `.local` variable, at least 16.
    pub local_align: u32,
    /// `.param` variables of the body.
    pub frame: Vec<StackVar>,
    /// Bytes of all of those.
    pub frame_bytes: u32,
    /// The blocks; control begins in the first.
    pub blocks: Vec<BasicBlock>,
    /// What a launch may ask of a kernel.
    pub threads: ThreadLimits,
    /// What a launch may ask of clusters.
    pub clusters: ClusterLimits,
    /// Bytes of static `.shared` memory of this kernel ([`Module::variables`](super::Module::variables) of `.shared`,
    /// laid out), to the end of the last variable.
    pub shared_bytes: u32,
    /// The alignment at which dynamic shared memory begins behind it: at least 16.
    pub shared_align: u32,
    /// What of it cannot be run yet.
    pub unsupported: Vec<super::Unsupported>,
}

impl Function {
    /// Where dynamic shared memory begins in the window of a CTA.
    pub fn dynamic_shared(&self) -> u64 {
        u64::from(self.shared_bytes).next_multiple_of(u64::from(self.shared_align.max(1)))
    }

    /// Bytes of the window of shared memory of a CTA that is launched with so many bytes of dynamic memory.
    pub fn shared_window(&self, dynamic: u32) -> u64 {
        match dynamic {
            0 => self.shared_bytes.into(),
            bytes => self.dynamic_shared() + u64::from(bytes),
        }
    }

    /// Sizes of parameters and results.
    pub fn call_type(&self) -> CallType {
        CallType {
            params: self.params.iter().map(|p| p.ty).collect(),
            returns: self.returns.iter().map(|p| p.ty).collect(),
        }
    }

    /// The class of a register.
    pub fn class(&self, reg: Reg) -> RegClass {
        self.regs[reg.index()].class
    }

    /// A block.
    pub fn block(&self, block: Block) -> &BasicBlock {
        &self.blocks[block.index()]
    }
}
