//! Machine code in memory.

use super::CompileError;
use crate::lower::Symbol;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleReloc};
use std::mem::ManuallyDrop;
use std::sync::Mutex;

/// A compiled function that is not in its place yet.
pub(super) struct Piece {
    pub(super) symbol: Symbol,
    pub(super) bytes: Vec<u8>,
    pub(super) align: u64,
    pub(super) relocations: Vec<ModuleReloc>,
}

/// Machine code that can be executed. Freed when it drops.
pub(super) struct Memory {
    /// Locked only to make it `Sync`; nothing changes any more.
    module: ManuallyDrop<Mutex<JITModule>>,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Memory")
    }
}

impl Memory {
    /// Places pieces; gives the address of each. `host` are the functions that they call outside.
    pub(super) fn link(
        isa: OwnedTargetIsa,
        symbols: u32,
        host: &[(Symbol, cranelift_codegen::ir::Signature, *const u8)],
        pieces: &[Piece],
    ) -> Result<(Memory, Vec<*const u8>), CompileError> {
        let failed = |e: &dyn std::fmt::Display| CompileError::Host(e.to_string());
        let mut builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
        let name = |number: u32| format!("ptxlift {number}");
        for (symbol, _, address) in host {
            builder.symbol(name(symbol.number()), *address);
        }
        // Pieces are aligned to at most a page; some pages more for the rounding of the whole.
        let size: usize = pieces
            .iter()
            .map(|p| p.bytes.len() + p.align as usize)
            .sum();
        let arena = ArenaMemoryProvider::new_with_size(size + (1 << 16)).map_err(|e| failed(&e))?;
        builder.memory_provider(Box::new(arena));
        let mut memory = Memory {
            module: ManuallyDrop::new(Mutex::new(JITModule::new(builder))),
        };
        let Ok(module) = memory.module.get_mut() else {
            return Err(failed(&"a lock was poisoned"));
        };
        // Cranelift numbers functions as they are declared, and so do we.
        let none = module.make_signature();
        for number in 0..symbols {
            let outside = host.iter().find(|(s, ..)| s.number() == number);
            let (linkage, signature) = match outside {
                Some((_, signature, _)) => (Linkage::Import, signature),
                None => (Linkage::Local, &none),
            };
            module
                .declare_function(&name(number), linkage, signature)
                .map_err(|e| failed(&e))?;
        }
        for piece in pieces {
            let id = FuncId::from_u32(piece.symbol.number());
            module
                .define_function_bytes(id, piece.align, &piece.bytes, &piece.relocations)
                .map_err(|e| failed(&e))?;
        }
        module.finalize_definitions().map_err(|e| failed(&e))?;
        let addresses = pieces
            .iter()
            .map(|p| module.get_finalized_function(FuncId::from_u32(p.symbol.number())))
            .collect();
        Ok((memory, addresses))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let module = unsafe { ManuallyDrop::take(&mut self.module) };
        let module = module.into_inner().unwrap_or_else(|e| e.into_inner());
        // SAFETY: code is entered only through the `Code` that owns this memory, by borrowing it; who has a raw pointer
        // from `Code::pointer` has promised not to use it longer.
        unsafe { module.free_memory() }
    }
}
