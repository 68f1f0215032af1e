//! Morton codes on the GPU.

/// The kernel, for the driver to load.
pub const PTX: &str = include_str!("kernel.ptx");

/// Threads in a block that suit the kernel.
pub const BLOCK: u32 = 128;
