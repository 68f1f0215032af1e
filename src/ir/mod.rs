//! The intermediate representation: what `check` makes of a module and everything after it reads.
//!
//! Registers, blocks, functions and variables are indices. Types are resolved, operand widths agree, guards on
//! control flow have become branches, and guards elsewhere stand on the instruction. 128-bit registers have become
//! pairs of 64-bit ones. Each instruction answers [`Inst::defs`], [`Inst::uses`] and [`Inst::effects`], so that code
//! outside the family rooms never names a family.
//!
//! Pure instructions (results depend on their operands alone) share one shape, [`Kind::Pure`]: an operator of one
//! of the family rooms, sources, destinations. The rest have a variant each.
//!
//! Public for experiments: it may change with every minor version.
//!
//! ```
//! use ptxlift::Module;
//! use ptxlift::ir::Kind;
//!
//! let module = Module::parse("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .func (.reg .u32 d) f(.reg .u32 a, .reg .u32 b) { bfe.u32 d, a, b, 8; ret; }
//! ")?;
//! let ir = module.ir();
//! let insts = ir.functions[0].blocks.iter().flat_map(|block| &block.insts);
//! assert_eq!(insts.filter(|inst| matches!(inst.kind, Kind::Pure(_))).count(), 1);
//! println!("{}", ir.display(0));
//! # Ok::<(), ptxlift::Error>(())
//! ```

pub mod bits;
pub mod compare;
pub mod control;
pub mod convert;
pub mod extended;
pub mod float;
mod function;
mod inst;
pub mod integer;
pub mod memory;
mod module;
mod print;
mod reading;
mod special;
pub mod sync;
mod system;
mod types;
pub mod verify;
pub mod video;
pub mod waits;

pub use function::{
    BasicBlock, ClusterLimits, Function, FunctionKind, Param, ParamKind, RegInfo, StackVar,
    ThreadLimits,
};
pub use inst::{Effects, Guard, Inst, Kind, Pure, PureOp, Signature};
pub use module::{
    Init, Linkage, Location, Module, Relocation, RelocationTarget, SourceFile, Unsupported,
    Variable,
};
pub use reading::Reading;
pub use special::Special;
pub use system::System;
pub use types::{Block, FuncId, IntTy, Operand, Reg, RegClass, VarId};
