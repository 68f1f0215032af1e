//! A function decoded for the interpreter: the blocks one after another, operands with their masks, addresses as far
//! as they are known before the launch.

use crate::diag::Span;
use crate::ir::System;
use crate::ir::control::{Callee, Slot as IrSlot, Terminator};
use crate::ir::memory::{Address, AddressOf, Base, Order, Space, Var};
use crate::ir::sync::{AtomicOp, Fence, MbarrierOp};
use crate::ir::waits::Waits;
use crate::ir::{
    self, Block, FuncId, Function, FunctionKind, Guard, Inst, Kind, Module, Operand, Param,
    ParamKind, PureOp, Reg, RegClass, Special,
};
use crate::machine::{Access, FaultKind, window};
use smallvec::SmallVec;

/// A decoded function.
#[derive(Debug)]
pub(super) struct Code {
    /// Which.
    pub function: FuncId,
    /// The steps of all blocks; control begins at the first.
    pub steps: Vec<Step>,
    /// What each step was.
    pub sites: Vec<Site>,
    /// How many registers there are.
    pub regs: usize,
    /// Bytes of the buffers that lie in the frame, one after another: parameters, return parameters, `.param`
    /// variables of the body. A kernel's parameters lie elsewhere.
    pub bytes: usize,
    /// Where the return parameters begin: after the parameters.
    pub returns_start: usize,
    /// Bytes of the return parameters.
    pub return_bytes: usize,
    /// The parameters in those bytes.
    pub params: Vec<Slice>,
    /// The return parameters in those bytes.
    pub returns: Vec<Slice>,
    /// `.reg` parameters and the register that each is.
    pub param_regs: Vec<(Slice, Dst)>,
    /// `.reg` return parameters.
    pub return_regs: Vec<(Slice, Dst)>,
    /// Bytes of `.local` variables.
    pub local_bytes: u64,
    /// Their alignment.
    pub local_align: u64,
}

/// A step: an instruction, or the way out of a block.
#[derive(Debug)]
pub(super) struct Step {
    pub guard: Option<Guard>,
    pub what: What,
}

/// Where a step stands in the IR. That of a [`What::Turn`] is the first of its block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub block: Block,
    /// Index in the block; `None` for the terminator.
    pub inst: Option<usize>,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum What {
    Pure {
        op: PureOp,
        srcs: SmallVec<[Src; 4]>,
        dsts: SmallVec<[Option<Reg>; 2]>,
    },
    Load(Load),
    Store(Store),
    /// An address in its own window.
    Address {
        dst: Dst,
        base: Anchor,
        offset: u64,
    },
    Constant {
        dst: Dst,
        value: u64,
    },
    Special {
        dst: Dst,
        special: Special,
    },
    Call(Box<Call>),
    Meet(Box<Meet>),
    Atomic(Box<Atomic>),
    Fence(Fence),
    Mbarrier(Box<Mbarrier>),
    Copy(Box<Copy>),
    Stack(Stack),
    /// The beginning of a soft point; no instruction of the IR.
    Turn,
    Nothing,
    Unsupported,
    Jump(usize),
    Branch {
        cond: Reg,
        then: usize,
        other: usize,
    },
    Table {
        index: Src,
        targets: Box<[usize]>,
    },
    Return,
    Exit,
    Trap,
}

/// `ld`
#[derive(Debug)]
pub(super) struct Load {
    /// Bytes of an element.
    pub bytes: u8,
    pub signed: bool,
    pub access: Access,
    pub dsts: SmallVec<[Option<Dst>; 4]>,
    pub place: Place,
    pub order: Order,
}

/// `st`
#[derive(Debug)]
pub(super) struct Store {
    /// Bytes of an element.
    pub bytes: u8,
    pub access: Access,
    pub srcs: SmallVec<[Src; 4]>,
    pub place: Place,
    pub order: Order,
}

/// Where threads meet.
#[derive(Debug)]
pub(super) struct Meet {
    /// Index into [`Waits::sites`].
    pub site: u32,
    pub srcs: SmallVec<[Src; 4]>,
    pub dsts: SmallVec<[Option<Dst>; 2]>,
}

/// `atom`, `red`
#[derive(Debug)]
pub(super) struct Atomic {
    pub op: AtomicOp,
    /// 2, 4, 8 or 16.
    pub bytes: u8,
    pub access: Access,
    pub srcs: SmallVec<[Src; 4]>,
    pub dsts: SmallVec<[Option<Dst>; 2]>,
    pub place: Place,
    pub order: Order,
}

/// `mbarrier`
#[derive(Debug)]
pub(super) struct Mbarrier {
    pub op: MbarrierOp,
    pub access: Access,
    pub srcs: SmallVec<[Src; 2]>,
    pub dst: Option<Dst>,
    pub place: Place,
}

/// An asynchronous copy.
#[derive(Debug)]
pub(super) struct Copy {
    pub to: Place,
    pub from: Place,
    pub bytes: Src,
    pub read: Option<Src>,
    pub ignore: Option<Src>,
    pub skip: Option<[Src; 2]>,
    pub byte_mask: Option<Src>,
    pub multicast: Option<Src>,
    pub align: u32,
    pub reduce: Option<(AtomicOp, ir::RegClass)>,
    pub mbarrier: Option<Place>,
}

/// `alloca`, `stacksave`, `stackrestore`
#[derive(Debug, Clone, Copy)]
pub(super) enum Stack {
    Allocate { dst: Dst, size: Src, align: u32 },
    Save { dst: Dst },
    Restore { src: Src },
}

/// A source.
#[derive(Debug, Clone, Copy)]
pub(super) enum Src {
    /// The bits of a register that count.
    Reg(Reg, u64),
    Imm(u64),
}

/// A destination with the bits that it holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dst {
    pub reg: Reg,
    pub mask: u64,
}

/// Bytes of a frame's buffers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub start: usize,
    pub len: usize,
}

/// What an access reaches.
#[derive(Debug)]
pub(super) enum Place {
    /// A window: anchor plus offset.
    Window {
        space: Space,
        base: Anchor,
        offset: u64,
    },
    /// Bytes of the frame, from here on.
    Frame(usize),
    /// A parameter, by an access that is wrong whenever it is executed.
    Wrong { kind: FaultKind, offset: u64 },
}

impl Place {
    /// The place so many bytes behind this one.
    pub fn behind(&self, bytes: u64) -> Place {
        match *self {
            Place::Window {
                space,
                base,
                offset,
            } => Place::Window {
                space,
                base,
                offset: offset.wrapping_add(bytes),
            },
            Place::Frame(start) => Place::Frame(start + bytes as usize),
            Place::Wrong { kind, offset } => Place::Wrong {
                kind,
                offset: offset.wrapping_add(bytes),
            },
        }
    }
}

/// What an address counts from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    /// The register's value.
    Reg(Reg),
    /// 0.
    Zero,
    /// The instance's block of globals.
    Globals,
    /// The CTA's shared memory.
    Shared,
    /// The end of the kernel's static shared memory.
    DynamicShared,
    /// The frame of local memory.
    Local,
}

/// `call`
#[derive(Debug)]
pub(super) struct Call {
    pub callee: Target,
    pub args: Vec<Slot>,
    pub results: Vec<Slot>,
}

/// Who is called.
#[derive(Debug)]
pub(super) enum Target {
    Direct(FuncId),
    System(System),
    /// Address. The type is with the IR's instruction.
    Indirect(Src),
}

/// An argument, or the place for a result.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    Value(Src),
    /// Bytes of the caller's frame.
    Frame(Slice),
    /// Bytes of the kernel's parameters.
    KernelParam(Slice),
    Sink,
}

impl Code {
    /// Decodes a function.
    pub fn new(module: &Module, waits: &Waits, id: FuncId) -> Code {
        let function = &module.functions[id.index()];
        let decoder = Decoder { module, function };
        let soft = |index: usize| waits.is_soft(id, Block(index as u32));
        let mut starts = Vec::with_capacity(function.blocks.len());
        let mut next = 0;
        for (index, block) in function.blocks.iter().enumerate() {
            starts.push(next);
            next += block.insts.len() + 1 + usize::from(soft(index));
        }
        let mut steps = Vec::with_capacity(next);
        let mut sites = Vec::with_capacity(next);
        for (index, block) in function.blocks.iter().enumerate() {
            let block_id = Block(index as u32);
            if soft(index) {
                steps.push(Step {
                    guard: None,
                    what: What::Turn,
                });
                sites.push(Site {
                    block: block_id,
                    inst: (!block.insts.is_empty()).then_some(0),
                });
            }
            for (inst_index, inst) in block.insts.iter().enumerate() {
                let site = waits.site(id, block_id, inst_index);
                steps.push(decoder.inst(inst, site));
                sites.push(Site {
                    block: block_id,
                    inst: Some(inst_index),
                });
            }
            steps.push(Step {
                guard: None,
                what: decoder.terminator(&block.terminator, &starts),
            });
            sites.push(Site {
                block: block_id,
                inst: None,
            });
        }
        let slices = |list: &[Param], base: usize| -> Vec<Slice> {
            list.iter()
                .map(|p| Slice {
                    start: base + p.offset as usize,
                    len: p.ty.size as usize,
                })
                .collect()
        };
        let regs = |list: &[Param], slices: &[Slice]| -> Vec<(Slice, Dst)> {
            list.iter()
                .zip(slices)
                .filter_map(|(p, slice)| match p.kind {
                    ParamKind::Reg(reg) => Some((*slice, decoder.dst(reg))),
                    ParamKind::Memory => None,
                })
                .collect()
        };
        let params = slices(&function.params, 0);
        let returns = slices(&function.returns, decoder.returns_start());
        Code {
            function: id,
            steps,
            sites,
            regs: function.regs.len(),
            bytes: decoder.frame_start() + function.frame_bytes as usize,
            returns_start: decoder.returns_start(),
            return_bytes: function.return_bytes as usize,
            param_regs: regs(&function.params, &params),
            return_regs: regs(&function.returns, &returns),
            params,
            returns,
            local_bytes: function.local_bytes.into(),
            local_align: u64::from(function.local_align.max(1)),
        }
    }

    /// Where a step stands in the text, and its index into [`Module::locations`].
    pub fn place(&self, function: &Function, step: usize) -> (Span, u32) {
        let Some(site) = self.sites.get(step) else {
            return (function.span, u32::MAX);
        };
        let block = function.block(site.block);
        match site.inst {
            Some(index) => (block.insts[index].span, block.insts[index].location),
            None => (block.span, block.location),
        }
    }

    /// The instruction that a step was; `None` for a terminator.
    pub fn inst<'f>(&self, function: &'f Function, step: usize) -> Option<&'f Inst> {
        let site = self.sites.get(step)?;
        Some(&function.block(site.block).insts[site.inst?])
    }
}

/// What decoding needs to know.
struct Decoder<'m> {
    module: &'m Module,
    function: &'m Function,
}

impl Decoder<'_> {
    /// `site` is where threads meet at it.
    fn inst(&self, inst: &Inst, site: Option<u32>) -> Step {
        let what = match &inst.kind {
            Kind::Pure(pure) => What::Pure {
                op: pure.op,
                srcs: pure
                    .srcs
                    .iter()
                    .zip(pure.op.signature().srcs)
                    .map(|(src, class)| src_of(*src, class.mask()))
                    .collect(),
                dsts: pure.dsts.clone(),
            },
            Kind::Load(load) => self.load(load),
            Kind::Store(store) => self.store(store),
            Kind::AddressOf(AddressOf { dst, var, offset }) => {
                match self.var(*var, *offset, access(false, 0, 0, 1)) {
                    Place::Window { base, offset, .. } => What::Address {
                        dst: self.dst(*dst),
                        base,
                        offset,
                    },
                    // Parameters of device functions have no address.
                    Place::Frame(_) | Place::Wrong { .. } => What::Unsupported,
                }
            }
            Kind::FunctionAddress { dst, function } => What::Constant {
                dst: self.dst(*dst),
                value: window::function(function.0, self.module.address_bits),
            },
            Kind::Special { dst, special } => What::Special {
                dst: self.dst(*dst),
                special: *special,
            },
            Kind::Call(call) => What::Call(Box::new(Call {
                callee: match &call.callee {
                    Callee::Direct(id) => {
                        let callee = &self.module.functions[id.index()];
                        System::of(callee).map_or(Target::Direct(*id), Target::System)
                    }
                    Callee::Indirect { target, .. } => {
                        Target::Indirect(src_of(*target, self.address_mask()))
                    }
                },
                args: call.args.iter().map(|slot| self.slot(*slot)).collect(),
                results: call.results.iter().map(|slot| self.slot(*slot)).collect(),
            })),
            Kind::Hint { .. } => What::Nothing,
            Kind::Meet(meet) => What::Meet(Box::new(Meet {
                // All of them have one.
                site: site.unwrap_or(0),
                srcs: (meet.srcs.iter().zip(meet.op.signature().srcs))
                    .map(|(src, class)| src_of(*src, class.mask()))
                    .collect(),
                dsts: meet
                    .dsts
                    .iter()
                    .map(|d| d.map(|reg| self.dst(reg)))
                    .collect(),
            })),
            Kind::Atomic(atomic) => What::Atomic(Box::new(self.atomic(atomic))),
            Kind::Fence(fence) => What::Fence(*fence),
            Kind::Mbarrier(mbarrier) => What::Mbarrier(Box::new(self.mbarrier(mbarrier))),
            Kind::Copy(copy) => What::Copy(Box::new(self.copy(copy))),
            Kind::Stack(stack) => What::Stack(self.stack(stack)),
            Kind::Unsupported => What::Unsupported,
        };
        Step {
            guard: inst.guard,
            what,
        }
    }

    fn terminator(&self, terminator: &Terminator, starts: &[usize]) -> What {
        let start = |block: &Block| starts[block.index()];
        match terminator {
            Terminator::Jump(block) => What::Jump(start(block)),
            Terminator::Branch { cond, then, other } => What::Branch {
                cond: *cond,
                then: start(then),
                other: start(other),
            },
            Terminator::Table { index, targets } => What::Table {
                index: src_of(*index, 0xffff_ffff),
                targets: targets.iter().map(start).collect(),
            },
            Terminator::Return => What::Return,
            Terminator::Exit => What::Exit,
            Terminator::Trap => What::Trap,
        }
    }

    fn load(&self, load: &ir::memory::Load) -> What {
        let access = access(false, load.bytes, load.dsts.len(), load.align);
        What::Load(Load {
            bytes: load.bytes,
            signed: load.signed,
            access,
            dsts: load
                .dsts
                .iter()
                .map(|d| d.map(|reg| self.dst(reg)))
                .collect(),
            place: self.place(load.space, &load.addr, access),
            order: load.order,
        })
    }

    fn store(&self, store: &ir::memory::Store) -> What {
        let access = access(true, store.bytes, store.srcs.len(), store.align);
        What::Store(Store {
            bytes: store.bytes,
            access,
            srcs: store.srcs.iter().map(|s| src_of(*s, u64::MAX)).collect(),
            place: self.place(store.space, &store.addr, access),
            order: store.order,
        })
    }

    fn atomic(&self, atomic: &ir::sync::Atomic) -> Atomic {
        let access = access(true, atomic.bytes, 1, atomic.bytes);
        let mask = u64::MAX >> (64 - 8 * u32::from(atomic.bytes.clamp(1, 8)));
        Atomic {
            op: atomic.op,
            bytes: atomic.bytes,
            access,
            srcs: atomic.srcs.iter().map(|s| src_of(*s, mask)).collect(),
            dsts: (atomic.dsts.iter())
                .map(|d| d.map(|reg| self.dst(reg)))
                .collect(),
            place: self.place(atomic.space, &atomic.addr, access),
            order: atomic.order,
        }
    }

    fn mbarrier(&self, mbarrier: &ir::sync::Mbarrier) -> Mbarrier {
        let writes = !matches!(mbarrier.op, MbarrierOp::Test { .. });
        let access = access(writes, 8, 1, 8);
        let words = match mbarrier.op {
            MbarrierOp::Test { parity: false, .. } => u64::MAX,
            _ => RegClass::B32.mask(),
        };
        Mbarrier {
            op: mbarrier.op,
            access,
            srcs: mbarrier.srcs.iter().map(|s| src_of(*s, words)).collect(),
            dst: mbarrier.dst.map(|reg| self.dst(reg)),
            place: self.place(mbarrier.space, &mbarrier.addr, access),
        }
    }

    fn stack(&self, stack: &ir::memory::Stack) -> Stack {
        use ir::memory::Stack as Ir;
        match *stack {
            Ir::Allocate { dst, size, align } => {
                let dst = self.dst(dst);
                let size = src_of(size, dst.mask);
                Stack::Allocate { dst, size, align }
            }
            Ir::Save { dst } => Stack::Save { dst: self.dst(dst) },
            Ir::Restore { src } => Stack::Restore {
                src: src_of(Operand::Reg(src), self.dst(src).mask),
            },
        }
    }

    fn copy(&self, copy: &ir::sync::Copy) -> Copy {
        // How many bytes is told when it is executed; what is checked here is where single bytes lie.
        let place = |(space, addr): &(Space, Address), write| {
            self.place(*space, addr, access(write, 1, 1, copy.align))
        };
        let word = |operand| src_of(operand, RegClass::B32.mask());
        Copy {
            to: place(&copy.to, true),
            from: place(&copy.from, false),
            bytes: word(copy.bytes),
            read: copy.read.map(word),
            ignore: copy.ignore.map(|p| src_of(p, RegClass::Pred.mask())),
            skip: copy.skip.map(|bytes| bytes.map(word)),
            byte_mask: copy.byte_mask.map(word),
            multicast: copy.multicast.map(word),
            align: copy.align.max(1).into(),
            reduce: copy.reduce,
            mbarrier: (copy.mbarrier.as_ref())
                .map(|(space, addr)| self.place(*space, addr, access(true, 8, 1, 8))),
        }
    }

    /// What an access reaches.
    fn place(&self, space: Space, addr: &Address, access: Access) -> Place {
        match addr.base {
            Base::Reg(reg) => Place::Window {
                space,
                base: Anchor::Reg(reg),
                offset: addr.offset as u64,
            },
            Base::Absolute => Place::Window {
                space,
                base: Anchor::Zero,
                offset: addr.offset as u64,
            },
            Base::Var(var) => self.var(var, addr.offset, access),
        }
    }

    /// An access to a variable, in its own space even if the access is generic.
    fn var(&self, var: Var, offset: i64, access: Access) -> Place {
        let window = |space, base, start: u64| Place::Window {
            space,
            base,
            offset: start.wrapping_add_signed(offset),
        };
        match var {
            Var::Module(id) => {
                let variable = &self.module.variables[id.index()];
                if variable.dynamic {
                    return window(Space::Shared, Anchor::DynamicShared, 0);
                }
                match variable.space {
                    Space::Global | Space::Generic => {
                        window(Space::Global, Anchor::Globals, variable.offset)
                    }
                    Space::Shared | Space::Cluster => {
                        window(Space::Shared, Anchor::Shared, variable.offset)
                    }
                    Space::Local | Space::Const | Space::Param => {
                        window(variable.space, Anchor::Zero, variable.offset)
                    }
                }
            }
            Var::Local(index) => window(
                Space::Local,
                Anchor::Local,
                self.function.locals[index as usize].offset.into(),
            ),
            Var::Param(index) => {
                let param = &self.function.params[index as usize];
                match self.function.kind {
                    FunctionKind::Kernel => window(Space::Param, Anchor::Zero, param.offset.into()),
                    FunctionKind::Device => frame(0, param.offset, param.ty.size, offset, access),
                }
            }
            Var::Return(index) => {
                let param = &self.function.returns[index as usize];
                let start = self.returns_start();
                frame(start, param.offset, param.ty.size, offset, access)
            }
            Var::Frame(index) => {
                let var = &self.function.frame[index as usize];
                let start = self.frame_start();
                frame(start, var.offset, var.ty.size, offset, access)
            }
        }
    }

    fn slot(&self, slot: IrSlot) -> Slot {
        match slot {
            IrSlot::Value(operand) => {
                let mask = operand.reg().map_or(u64::MAX, |reg| self.dst(reg).mask);
                Slot::Value(src_of(operand, mask))
            }
            IrSlot::Frame(index) => {
                let var = &self.function.frame[index as usize];
                Slot::Frame(Slice {
                    start: self.frame_start() + var.offset as usize,
                    len: var.ty.size as usize,
                })
            }
            IrSlot::Param(index) => {
                let param = &self.function.params[index as usize];
                let slice = Slice {
                    start: param.offset as usize,
                    len: param.ty.size as usize,
                };
                match self.function.kind {
                    FunctionKind::Kernel => Slot::KernelParam(slice),
                    FunctionKind::Device => Slot::Frame(slice),
                }
            }
            IrSlot::Sink => Slot::Sink,
        }
    }

    fn dst(&self, reg: Reg) -> Dst {
        Dst {
            reg,
            mask: self.function.class(reg).mask(),
        }
    }

    fn address_mask(&self) -> u64 {
        u64::MAX >> (64 - self.module.address_bits.clamp(1, 64))
    }

    fn returns_start(&self) -> usize {
        match self.function.kind {
            FunctionKind::Kernel => 0,
            FunctionKind::Device => self.function.param_bytes as usize,
        }
    }

    fn frame_start(&self) -> usize {
        self.returns_start() + self.function.return_bytes as usize
    }
}

fn src_of(operand: Operand, mask: u64) -> Src {
    match operand {
        Operand::Reg(reg) => Src::Reg(reg, mask),
        Operand::Imm(value) => Src::Imm(value & mask),
    }
}

fn access(write: bool, bytes: u8, count: usize, align: u8) -> Access {
    Access {
        write,
        bytes: u32::from(bytes) * count as u32,
        // Elements are read one by one, so they must be aligned at least.
        align: align.max(bytes).into(),
    }
}

/// An access, by name, of a variable of `size` bytes at `var` in the buffer that begins at `start`.
fn frame(start: usize, var: u32, size: u32, offset: i64, access: Access) -> Place {
    let at = i64::from(var).wrapping_add(offset) as u64;
    if !at.is_multiple_of(u64::from(access.align)) {
        return Place::Wrong {
            kind: FaultKind::Misaligned,
            offset: at,
        };
    }
    let fits = u64::try_from(offset)
        .ok()
        .and_then(|offset| offset.checked_add(u64::from(access.bytes)))
        .is_some_and(|end| end <= u64::from(size));
    if fits {
        Place::Frame(start + at as usize)
    } else {
        Place::Wrong {
            kind: FaultKind::OutOfBounds,
            offset: at,
        }
    }
}
