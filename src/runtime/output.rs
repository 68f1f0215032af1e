//! What kernels print.

use crate::machine;
use std::sync::{Arc, Mutex, PoisonError};

/// Keeps what kernels print (`vprintf`), in order for each thread. Clones keep the same text.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
/// #     .global .b8 hello[7] = {104, 101, 108, 108, 111, 10, 0};
/// #     .entry greet() {
/// #         .reg .b64 %rd; .reg .b32 %r;
/// #         mov.u64 %rd, hello;
/// #         { .param .b64 f; .param .b64 a; .param .b32 r;
/// #           st.param.b64 [f], %rd; st.param.b64 [a], 0;
/// #           call (r), vprintf, (f, a); ld.param.b32 %r, [r]; }
/// #         ret;
/// #     }
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// use ptxlift::{Launch, Output, args};
/// let output = Output::default();
/// instance.kernel("greet")?.launch(Launch::grid(2).output(&output), args![])?;
/// assert_eq!(output.take(), b"hello\nhello\n");
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    /// What has been printed since it was taken last.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn keep(&self) -> machine::Output {
        machine::Output::Kept(Arc::clone(&self.0))
    }
}
