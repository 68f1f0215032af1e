//! The states of an mbarrier, and how they change. PTX ISA, "Parallel Synchronization and Communication Instructions:
//! mbarrier".
//!
//! The word's layout is this crate's own: pending arrivals in bits 0 to 19, expected arrivals of the next phase in 20 to 39,
//! bytes that are waited for (signed) in 40 to 60, 1 in bit 62, the parity of the phase in bit 63. What arrivals give is the
//! word before them, so `mbarrier.pending_count` is the low 20 bits of it.

/// Bits of a count of arrivals; the largest is all ones.
pub const COUNT_BITS: u32 = 20;

const COUNT: u64 = (1 << COUNT_BITS) - 1;
const EXPECTED: u32 = COUNT_BITS;
const BYTES: u32 = 2 * COUNT_BITS;
const BYTES_BITS: u32 = 21;
const VALID: u64 = 1 << 62;
const PARITY: u32 = 63;

/// What the ISA leaves undefined.
pub type Undefined = &'static str;

/// An mbarrier, taken apart.
#[derive(Clone, Copy)]
struct State {
    pending: u64,
    expected: u64,
    bytes: i64,
    parity: u64,
}

impl State {
    fn of(word: u64) -> Result<State, Undefined> {
        if word & VALID == 0 {
            return Err("no mbarrier has been initialised there");
        }
        let above = 64 - BYTES - BYTES_BITS;
        Ok(State {
            pending: word & COUNT,
            expected: word >> EXPECTED & COUNT,
            bytes: (word << above) as i64 >> (above + BYTES),
            parity: word >> PARITY,
        })
    }

    fn word(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << BYTES_BITS) - 1);
        self.parity << PARITY | VALID | bytes << BYTES | self.expected << EXPECTED | self.pending
    }

    /// The next phase, if this one is complete: nobody is waited for any more, and no bytes.
    fn completed(self) -> State {
        if self.pending != 0 || self.bytes != 0 {
            return self;
        }
        State {
            pending: self.expected,
            parity: self.parity ^ 1,
            ..self
        }
    }

    fn expect(self, bytes: i64) -> Result<State, Undefined> {
        let bytes = self.bytes + bytes;
        if bytes.unsigned_abs() > COUNT {
            return Err("the mbarrier counts more bytes than 2^20 - 1");
        }
        Ok(State { bytes, ..self })
    }
}

/// An arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// How many arrive.
    pub count: u32,
    /// Bytes that are expected first.
    pub expects: u32,
    /// `mbarrier.arrive_drop`: so many fewer are expected from the next phase on.
    pub drop: bool,
    /// `.noComplete`: may not complete the phase.
    pub no_complete: bool,
}

/// `mbarrier.init`
///
/// # Errors
/// A count that is 0 or has more than [`COUNT_BITS`] bits.
pub fn init(count: u32) -> Result<u64, Undefined> {
    let count = u64::from(count);
    if count == 0 || count > COUNT {
        return Err("an mbarrier counts from 1 to 2^20 - 1 arrivals");
    }
    let state = State {
        pending: count,
        expected: count,
        bytes: 0,
        parity: 0,
    };
    Ok(state.word())
}

/// `mbarrier.inval`
///
/// # Errors
/// No mbarrier.
pub fn invalidate(word: u64) -> Result<u64, Undefined> {
    State::of(word).map(|_| 0)
}

/// `mbarrier.arrive` and its kin: the new word.
///
/// # Errors
/// No mbarrier; more arrivals than it waits for; a phase complete that may not be.
pub fn arrive(word: u64, arrival: Arrival) -> Result<u64, Undefined> {
    let state = State::of(word)?.expect(arrival.expects.into())?;
    let count = u64::from(arrival.count);
    if count == 0 {
        return Err("an arrival of none");
    }
    let pending = state.pending.checked_sub(count);
    let pending = pending.ok_or("more arrive than the mbarrier waits for")?;
    let dropped = if arrival.drop { count } else { 0 };
    let expected = state.expected.checked_sub(dropped);
    let arrived = State {
        pending,
        expected: expected.ok_or("more leave the mbarrier than it expects")?,
        ..state
    };
    let next = arrived.completed();
    if arrival.no_complete && next.parity != state.parity {
        return Err("an arrival with `.noComplete` completes the phase");
    }
    Ok(next.word())
}

/// `mbarrier.expect_tx`: the new word.
///
/// # Errors
/// No mbarrier; too many bytes.
pub fn expect_tx(word: u64, bytes: u32) -> Result<u64, Undefined> {
    Ok(State::of(word)?.expect(bytes.into())?.word())
}

/// `mbarrier.complete_tx`, also of a copy that is done: the new word.
///
/// # Errors
/// No mbarrier; too many bytes.
pub fn complete_tx(word: u64, bytes: u32) -> Result<u64, Undefined> {
    let state = State::of(word)?.expect(-i64::from(bytes))?;
    Ok(state.completed().word())
}

/// `mbarrier.test_wait`, `mbarrier.try_wait`: whether the phase is complete in which an arrival gave `state`.
///
/// # Errors
/// No mbarrier.
pub fn test(word: u64, state: u64) -> Result<bool, Undefined> {
    Ok(State::of(word)?.parity != state >> PARITY)
}

/// The same with `.parity`: whether the phase of this parity, the current one or that before it, is complete.
///
/// # Errors
/// No mbarrier.
pub fn test_parity(word: u64, parity: u32) -> Result<bool, Undefined> {
    Ok(State::of(word)?.parity != u64::from(parity & 1))
}
