//! What C hands over: strings, handles, places for results.

use crate::error::Failure;
use std::ffi::{CStr, c_char};

/// A string that ends with a zero.
///
/// # Safety
/// `text` is null or points to such a string, which nobody changes meanwhile.
pub(crate) unsafe fn string<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::usage(format!("{what} is a null pointer")));
    }
    // SAFETY: the caller vouches for it.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|e| Failure::usage(format!("{what} is not UTF-8: {e}")))
}

/// What a handle stands for.
///
/// # Safety
/// `handle` is null or came from [`Place::give`] and has not been freed.
pub(crate) unsafe fn handle<'a, T>(handle: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller vouches for it.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::usage(format!("{what} is a null pointer")))
}

/// A place for a new handle, which is null until then.
#[derive(Debug)]
pub(crate) struct Place<'a, T>(&'a mut *mut T);

impl<T> Place<'_, T> {
    /// Puts a new handle into it.
    pub(crate) fn give(self, value: T) {
        *self.0 = Box::into_raw(Box::new(value));
    }
}

/// A place for a handle.
///
/// # Safety
/// `place` is null or may be written.
pub(crate) unsafe fn place<'a, T>(place: *mut *mut T, what: &str) -> Result<Place<'a, T>, Failure> {
    if place.is_null() {
        return Err(Failure::usage(format!(
            "the place for {what} is a null pointer"
        )));
    }
    // SAFETY: the caller vouches for it.
    let place = unsafe {
        // What lay there before need not be a pointer.
        place.write(std::ptr::null_mut());
        &mut *place
    };
    Ok(Place(place))
}

/// Frees a handle; null is none.
///
/// # Safety
/// `handle` is null or came from [`Place::give`], and is not used any more.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: the caller vouches for it.
        let value = unsafe { Box::from_raw(handle) };
        // What it stands for may have to be taken apart; that must not unwind into C.
        let _ = crate::error::caught(|| {
            drop(value);
            Ok(())
        });
    }
}
