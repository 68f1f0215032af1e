//! Statuses and the last message of each thread.

use lift::Error;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function says. All but the first leave a message for `ptxlift_last_error`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtxliftStatus {
    /// Done.
    Ok = 0,
    /// The PTX text is wrong: the message has all its errors with their source lines.
    Text = 1,
    /// The library was used wrongly: a null pointer, no such kernel, arguments that do not fit, a grid out of range.
    Usage = 2,
    /// The kernel did wrong: the message has what, the PTX line, block, thread and address.
    Fault = 3,
    /// The text is right, and needs something that this library or machine lacks.
    Unsupported = 4,
    /// A bug of the library.
    Internal = 70,
}

/// Why a function failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: PtxliftStatus,
    pub(crate) message: String,
    /// What the kernel did wrong, if it did.
    pub(crate) fault: Option<lift::FaultKind>,
}

impl Failure {
    /// The library was used wrongly.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure {
            status: PtxliftStatus::Usage,
            message: message.into(),
            fault: None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Diagnostics(_) => PtxliftStatus::Text,
            Error::Usage(_) => PtxliftStatus::Usage,
            Error::Fault(_) => PtxliftStatus::Fault,
            Error::Unsupported(_) => PtxliftStatus::Unsupported,
            _ => PtxliftStatus::Internal,
        };
        let fault = match &error {
            Error::Fault(fault) => Some(fault.kind),
            _ => None,
        };
        Failure {
            status,
            message: error.to_string(),
            fault,
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps a message for the calling thread.
pub(crate) fn keep(message: &str) {
    // A C string ends at its first zero.
    let message = CString::new(message.replace('\0', "\u{fffd}")).unwrap_or_default();
    // A thread that is ending has no place for it any more.
    let _ = LAST.try_with(|last| last.replace(message));
}

/// The message that was kept last; empty if there is none. It is good until the next one of this thread.
pub(crate) fn last() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// Runs `f`; a panic in it becomes a failure, as it may not reach C.
pub(crate) fn caught<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without words");
        Err(Failure {
            status: PtxliftStatus::Internal,
            message: format!("internal error (a bug of ptxlift): {what}"),
            fault: None,
        })
    })
}

/// The status of what `f` does; its message is kept.
pub(crate) fn guard(f: impl FnOnce() -> Result<(), Failure>) -> PtxliftStatus {
    match caught(f) {
        Ok(()) => PtxliftStatus::Ok,
        Err(failure) => {
            keep(&failure.message);
            failure.status
        }
    }
}

/// The message of the last function that failed on the calling thread, in UTF-8; empty if none did. It is good until the
/// next call on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn ptxlift_last_error() -> *const c_char {
    last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn message() -> String {
        // SAFETY: the string is the thread's own, and stays until the next message.
        unsafe { CStr::from_ptr(last()) }
            .to_string_lossy()
            .into_owned()
    }

    #[test]
    fn panics_and_zeros_in_messages_become_messages() {
        assert_eq!(
            guard(|| panic!("out of {}", "luck")),
            PtxliftStatus::Internal
        );
        assert!(
            message().ends_with("ptxlift): out of luck"),
            "{}",
            message()
        );
        assert_eq!(guard(|| Err(Failure::usage("a\0b"))), PtxliftStatus::Usage);
        assert_eq!(message(), "a\u{fffd}b");
        assert_eq!(guard(|| Ok(())), PtxliftStatus::Ok);
        assert_eq!(message(), "a\u{fffd}b", "success leaves it alone");
    }

    #[test]
    fn messages_belong_to_their_thread() {
        keep("mine");
        let other = std::thread::spawn(message).join().unwrap();
        assert_eq!((message().as_str(), other.as_str()), ("mine", ""));
    }
}
