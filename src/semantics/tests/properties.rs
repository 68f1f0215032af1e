//! The same meanings computed in other ways: bit by bit as the ISA's pseudo-code does, or in wider arithmetic.

use crate::ir::bits::{Op as Bits, PrmtMode};
use crate::ir::compare::{BoolOp, CmpOp, Op as Compare};
use crate::ir::convert::{Op as Convert, PackTy};
use crate::ir::extended::Op as Extended;
use crate::ir::float::{FloatTy, Mark};
use crate::ir::integer::{Op as Integer, PackedOp, Part};
use crate::ir::memory::Space;
use crate::ir::video::{Op as Video, ScalarOp, Second, Selector, SimdOp, Source};
use crate::ir::{IntTy, PureOp, Reading, RegClass};
use crate::machine::window;
use crate::semantics::{Results, eval};
use proptest::prelude::*;

fn run(op: PureOp, srcs: &[u64]) -> Results {
    eval(op, 64, srcs)
}

fn bits(op: Bits, srcs: &[u64]) -> u64 {
    run(PureOp::Bits(op), srcs)[0]
}

fn integer(op: Integer, srcs: &[u64]) -> u64 {
    run(PureOp::Integer(op), srcs)[0]
}

/// Numbers that matter: small, near powers of two, and any.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..70u64,
        any::<u64>(),
        any::<u32>().prop_map(u64::from),
        (0..64u32, -2..=2i64).prop_map(|(bit, by)| (1u64 << bit).wrapping_add_signed(by)),
        (0..64u32).prop_map(|bit| u64::MAX << bit),
    ]
}

fn ty() -> impl Strategy<Value = IntTy> {
    prop::sample::select(&IntTy::ALL[2..])
}

fn class() -> impl Strategy<Value = RegClass> {
    prop::sample::select(vec![RegClass::B16, RegClass::B32, RegClass::B64])
}

fn bit(value: u64, i: u32) -> u64 {
    value >> i & 1
}

/// `value` as a number, by the place values of its bits.
fn value(ty: IntTy, bits: u64) -> i128 {
    let n = ty.bits();
    (0..n)
        .map(|i| {
            let place = i128::from(bit(bits, i)) << i;
            if ty.signed() && i == n - 1 {
                -place
            } else {
                place
            }
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn bfe_is_the_pseudo_code(ty in prop::sample::select(&IntTy::ALL[4..]), a in word(), b in word(), c in word()) {
        let a = a & ty.mask();
        let msb = ty.bits() - 1;
        let pos = (b & 0xff) as u32;
        let len = (c & 0xff) as u32;
        let sbit = if !ty.signed() || len == 0 { 0 } else { bit(a, (pos + len - 1).min(msb)) };
        let d = (0..=msb)
            .map(|i| (if i < len && pos + i <= msb { bit(a, pos + i) } else { sbit }) << i)
            .fold(0, |d, b| d | b);
        prop_assert_eq!(bits(Bits::Bfe { ty, reading: Reading::Text }, &[a, b & 0xffff_ffff, c & 0xffff_ffff]), d);
    }

    #[test]
    fn bfi_is_the_pseudo_code(class in class(), a in word(), b in word(), c in word(), d in word()) {
        let (a, b) = (a & class.mask(), b & class.mask());
        let msb = class.bits() - 1;
        let (pos, len) = ((c & 0xff) as u32, (d & 0xff) as u32);
        let mut f = b;
        for i in (0..len).take_while(|i| pos + i <= msb) {
            f = f & !(1 << (pos + i)) | bit(a, i) << (pos + i);
        }
        prop_assert_eq!(bits(Bits::Bfi { class, reading: Reading::Text }, &[a, b, c & 0xffff_ffff, d & 0xffff_ffff]), f);
    }

    #[test]
    fn shf_is_the_formula(left: bool, wrap: bool, a: u32, b: u32, c in word()) {
        let c = c as u32;
        let n = if wrap { c & 0x1f } else { c.min(32) };
        // (b << n) | (a >> (32 - n)) and its mirror image, shifts by 32 giving 0.
        let up = |x: u32, n: u32| x.checked_shl(n).unwrap_or(0);
        let down = |x: u32, n: u32| x.checked_shr(n).unwrap_or(0);
        let d = if left { up(b, n) | down(a, 32 - n) } else { up(b, 32 - n) | down(a, n) };
        prop_assert_eq!(bits(Bits::Shf { left, wrap }, &[a.into(), b.into(), c.into()]), u64::from(d));
    }

    #[test]
    fn shifts_are_repeated_shifts_by_one(ty in ty(), a in word(), n in 0..200u32) {
        let a = a & ty.mask();
        let sign = if ty.signed() { a & (ty.mask() ^ ty.mask() >> 1) } else { 0 };
        let right = (0..n).fold(a, |x, _| x >> 1 | sign);
        let left = (0..n).fold(a, |x, _| x << 1 & ty.mask());
        prop_assert_eq!(bits(Bits::Shr { ty }, &[a, n.into()]), right);
        prop_assert_eq!(bits(Bits::Shl { class: ty.class() }, &[a, n.into()]), left);
    }

    #[test]
    fn lop3_is_its_table(lut: u8, a: u32, b: u32, c: u32, q: bool, op in 0..3) {
        let (a, b, c) = (u64::from(a), u64::from(b), u64::from(c));
        let d = (0..32)
            .map(|i| bit(lut.into(), (bit(a, i) << 2 | bit(b, i) << 1 | bit(c, i)) as u32) << i)
            .fold(0, |d, b| d | b);
        prop_assert_eq!(bits(Bits::Lop3 { lut }, &[a, b, c]), d);
        let (combine, p) = match op {
            0 => (BoolOp::And, d != 0 && q),
            1 => (BoolOp::Or, d != 0 || q),
            _ => (BoolOp::Xor, (d != 0) != q),
        };
        let results = run(PureOp::Bits(Bits::Lop3Pred { lut, combine }), &[a, b, c, q.into()]);
        prop_assert_eq!(results, [d, p.into()]);
    }

    #[test]
    fn prmt_picks_bytes(a: u32, b: u32, c: u32) {
        let bytes: Vec<u8> = a.to_le_bytes().into_iter().chain(b.to_le_bytes()).collect();
        let d: Vec<u8> = (0..4)
            .map(|i| {
                let nibble = c >> (4 * i) & 0xf;
                let byte = bytes[(nibble & 7) as usize];
                match (nibble >= 8, byte >= 0x80) {
                    (false, _) => byte,
                    (true, true) => 0xff,
                    (true, false) => 0,
                }
            })
            .collect();
        let d = u32::from_le_bytes(d.try_into().unwrap());
        let op = Bits::Prmt { mode: PrmtMode::Index };
        prop_assert_eq!(bits(op, &[a.into(), b.into(), c.into()]), u64::from(d));
    }

    #[test]
    fn counts_look_at_each_bit(class in class(), a in word()) {
        let a = a & class.mask();
        let n = class.bits();
        let ones = (0..n).filter(|i| bit(a, *i) == 1).count() as u64;
        let zeros = (0..n).rev().take_while(|i| bit(a, *i) == 0).count() as u64;
        let reversed = (0..n).map(|i| bit(a, i) << (n - 1 - i)).fold(0, |d, b| d | b);
        prop_assert_eq!(bits(Bits::Popc { class }, &[a]), ones);
        prop_assert_eq!(bits(Bits::Clz { class }, &[a]), zeros);
        prop_assert_eq!(bits(Bits::Brev { class }, &[a]), reversed);
        prop_assert_eq!(bits(Bits::Cnot { class }, &[a]), u64::from(ones == 0));
    }

    #[test]
    fn bfind_is_the_pseudo_code(ty in prop::sample::select(&IntTy::ALL[4..]), a in word()) {
        let a = a & ty.mask();
        let msb = ty.bits() - 1;
        let looked_at = if ty.signed() && bit(a, msb) == 1 { !a } else { a };
        let d = (0..=msb).rev().find(|i| bit(looked_at, *i) == 1);
        let plain = d.map_or(0xffff_ffff, u64::from);
        let shift = d.map_or(0xffff_ffff, |i| u64::from(msb - i));
        prop_assert_eq!(bits(Bits::Bfind { ty, shiftamt: false }, &[a]), plain);
        prop_assert_eq!(bits(Bits::Bfind { ty, shiftamt: true }, &[a]), shift);
    }

    #[test]
    fn fns_is_the_pseudo_code(mask: u32, base in 0..40u32, offset in prop_oneof![-40..40i32, any::<i32>()]) {
        let mut d = u32::MAX;
        if offset == 0 {
            if base < 32 && mask >> base & 1 == 1 {
                d = base;
            }
        } else {
            let mut pos = i64::from(base);
            let mut count = i64::from(offset).abs() - 1;
            while (0..32).contains(&pos) {
                if mask >> pos & 1 == 1 {
                    if count == 0 {
                        d = pos as u32;
                        break;
                    }
                    count -= 1;
                }
                pos += if offset > 0 { 1 } else { -1 };
            }
        }
        let srcs = [mask.into(), base.into(), (offset as u32).into()];
        prop_assert_eq!(bits(Bits::Fns { reading: Reading::Text }, &srcs), u64::from(d));
    }

    #[test]
    fn bmsk_and_szext_set_bits_one_by_one(a in word(), b in word(), signed: bool, wrap: bool) {
        let (a, b) = (a as u32, b as u32);
        let reduce = |x: u32| u64::from(if wrap { x % 32 } else { x });
        let ones = (reduce(a)..reduce(a) + reduce(b)).take_while(|i| *i < 32);
        let mask = ones.fold(0, |d, i| d | 1 << i);
        prop_assert_eq!(bits(Bits::Bmsk { wrap }, &[a.into(), b.into()]), mask);
        let n = reduce(b).min(32) as u32;
        let sign = if signed && n > 0 { bit(a.into(), n - 1) } else { 0 };
        let extended = (0..32)
            .map(|i| (if i < n { bit(a.into(), i) } else { sign }) << i)
            .fold(0, |d, b| d | b);
        prop_assert_eq!(bits(Bits::Szext { signed, wrap }, &[a.into(), b.into()]), extended);
    }

    #[test]
    fn arithmetic_is_that_of_the_whole_numbers(ty in ty(), a in word(), b in word(), c in word()) {
        let (a, b, c) = (a & ty.mask(), b & ty.mask(), c & ty.mask());
        let (x, y, z) = (value(ty, a), value(ty, b), value(ty, c));
        let wrapped = |v: i128| v as u64 & ty.mask();
        prop_assert_eq!(integer(Integer::Add { ty, sat: false }, &[a, b]), wrapped(x + y));
        prop_assert_eq!(integer(Integer::Sub { ty, sat: false }, &[a, b]), wrapped(x - y));
        prop_assert_eq!(integer(Integer::Neg { ty }, &[a]), wrapped(-x));
        prop_assert_eq!(integer(Integer::Abs { ty }, &[a]), wrapped(x.abs()));
        prop_assert_eq!(integer(Integer::Min { ty, relu: false }, &[a, b]), wrapped(if x < y { x } else { y }));
        prop_assert_eq!(integer(Integer::Max { ty, relu: false }, &[a, b]), wrapped(if x > y { x } else { y }));
        let distance = if x > y { x - y } else { y - x };
        prop_assert_eq!(integer(Integer::Sad { ty }, &[a, b, c]), wrapped(z + distance));
        let (quotient, remainder) = if y == 0 { (-1, -1) } else { (x / y, x % y) };
        prop_assert_eq!(integer(Integer::Div { ty }, &[a, b]), wrapped(quotient));
        prop_assert_eq!(integer(Integer::Rem { ty }, &[a, b]), wrapped(remainder));
    }

    #[test]
    fn products_agree_with_long_multiplication(ty in ty(), a in word(), b in word(), c in word()) {
        let (a, b, c) = (a & ty.mask(), b & ty.mask(), c & ty.mask());
        let n = ty.bits();
        // Sign-extended to 128 bits, shifted and added bit by bit, modulo 2^128.
        let (x, y) = (value(ty, a) as u128, value(ty, b) as u128);
        let product = (0..128).filter(|i| y >> i & 1 == 1).fold(0u128, |p, i| p.wrapping_add(x << i));
        let (lo, hi) = (product as u64 & ty.mask(), (product >> n) as u64 & ty.mask());
        prop_assert_eq!(integer(Integer::Mul { part: Part::Lo, ty }, &[a, b]), lo);
        prop_assert_eq!(integer(Integer::Mul { part: Part::Hi, ty }, &[a, b]), hi);
        let mad = |part| integer(Integer::Mad { part, ty, sat: false }, &[a, b, c]);
        prop_assert_eq!(mad(Part::Lo), lo.wrapping_add(c) & ty.mask());
        prop_assert_eq!(mad(Part::Hi), hi.wrapping_add(c) & ty.mask());
        if n < 64 {
            let wide = product as u64 & (u64::MAX >> (64 - 2 * n));
            prop_assert_eq!(integer(Integer::Mul { part: Part::Wide, ty }, &[a, b]), wide);
        }
    }

    #[test]
    fn chains_are_wide_arithmetic(
        a: u128, b: u128, signed: bool,
        half in prop::sample::select(vec![RegClass::B32, RegClass::B64]),
    ) {
        let ty = IntTy::new(half, signed).unwrap();
        let n = ty.bits();
        let whole = if n == 64 { u128::MAX } else { u128::from(u64::MAX) };
        let (a, b) = (a & whole, b & whole);
        let low = |x: u128| x as u64 & ty.mask();
        let high = |x: u128| (x >> n) as u64 & ty.mask();
        let extended = |op, srcs: &[u64]| run(PureOp::Extended(op), srcs);

        let add = |carry_in| Extended::Add { ty, carry_in, carry_out: true };
        let [lo, carry] = extended(add(false), &[low(a), low(b)]);
        let [hi, carry] = extended(add(true), &[high(a), high(b), carry]);
        let sum = a.wrapping_add(b) & whole;
        prop_assert_eq!([lo, hi], [low(sum), high(sum)]);
        prop_assert_eq!(carry == 1, a > whole - b);

        let sub = |carry_in| Extended::Sub { ty, carry_in, carry_out: true };
        let [lo, carry] = extended(sub(false), &[low(a), low(b)]);
        let [hi, carry] = extended(sub(true), &[high(a), high(b), carry]);
        let difference = a.wrapping_sub(b) & whole;
        prop_assert_eq!([lo, hi], [low(difference), high(difference)]);
        // The machine carry: 1 where there is no borrow.
        prop_assert_eq!(carry == 1, a >= b);

        // a.lo * b.lo + (b.hi : a.hi), unsigned, by halves.
        let mad = |high, carry_in| Extended::Mad { high, ty, carry_in, carry_out: true };
        if !signed {
            let addend = u128::from(high(b)) << n | u128::from(high(a));
            let (sum, over) = (u128::from(low(a)) * u128::from(low(b))).overflowing_add(addend);
            let [lo, carry] = extended(mad(false, false), &[low(a), low(b), high(a)]);
            let [hi, carry] = extended(mad(true, true), &[low(a), low(b), high(b), carry]);
            prop_assert_eq!([lo, hi], [low(sum), high(sum)]);
            prop_assert_eq!(carry == 1, over || sum > whole);
        }
    }

    #[test]
    fn set_and_setp_agree_with_comparison(ty in ty(), a in word(), b in word(), c: bool) {
        let (a, b) = (a & ty.mask(), b & ty.mask());
        let (x, y) = (value(ty, a), value(ty, b));
        for (cmp, t) in [
            (CmpOp::Eq, x == y),
            (CmpOp::Ne, x != y),
            (CmpOp::Lt, x < y),
            (CmpOp::Le, x <= y),
            (CmpOp::Gt, x > y),
            (CmpOp::Ge, x >= y),
        ] {
            let setp = |combine, srcs: &[u64]| run(PureOp::Compare(Compare::Setp { cmp, ty, combine }), srcs);
            prop_assert_eq!(setp(None, &[a, b]), [u64::from(t), u64::from(!t)]);
            let with = |op| setp(Some(op), &[a, b, c.into()]);
            prop_assert_eq!(with(BoolOp::And), [u64::from(t && c), u64::from(!t && c)]);
            prop_assert_eq!(with(BoolOp::Or), [u64::from(t || c), u64::from(!t || c)]);
            prop_assert_eq!(with(BoolOp::Xor), [u64::from(t != c), u64::from(t == c)]);
            let set = |to| run(PureOp::Compare(Compare::Set { cmp, ty, combine: None, to }), &[a, b])[0];
            prop_assert_eq!(set(Mark::Ones(RegClass::B32)), if t { 0xffff_ffff } else { 0 });
            prop_assert_eq!(set(Mark::One(FloatTy::F32)), u64::from(f32::from(u8::from(t)).to_bits()));
        }
    }

    #[test]
    fn cvt_keeps_what_fits(
        from in prop::sample::select(&IntTy::ALL[..]),
        to in prop::sample::select(&IntTy::ALL[..]),
        a in word(),
    ) {
        let a = a & from.mask();
        let v = value(from, a);
        let dst = RegClass::B64;
        let cvt = |sat| run(PureOp::Convert(Convert::Cvt { from, to, sat, dst }), &[a])[0];
        let (min, max) = if to.signed() {
            (-(1i128 << (to.bits() - 1)), (1i128 << (to.bits() - 1)) - 1)
        } else {
            (0, (1i128 << to.bits()) - 1)
        };
        let nearest = if v < min { min } else if v > max { max } else { v };
        prop_assert_eq!(cvt(true), nearest as u64);
        // Modulo 2^n, the representative in the range.
        let modulus = max - min + 1;
        prop_assert_eq!(cvt(false), (min + (v - min).rem_euclid(modulus)) as u64);
    }

    #[test]
    fn nothing_panics_or_leaves_its_mask(
        words in prop::array::uniform5(word()), class in class(), ty in ty(), flags: [bool; 6], digits: [u8; 8], small in 0..8u8,
    ) {
        let [f0, f1, f2, f3, f4, f5] = flags;
        let cmp = [CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge][usize::from(small % 6)];
        let part = [Selector::Word, Selector::Byte(digits[0]), Selector::Half(digits[1])][usize::from(small % 3)];
        let source = |signed| Source { signed, part };
        let reading = Reading::ALL[usize::from(digits[7] & 1)];
        let scalar = [
            ScalarOp::Add, ScalarOp::Sub, ScalarOp::AbsDiff, ScalarOp::Min, ScalarOp::Max,
            ScalarOp::Shl { wrap: f0 }, ScalarOp::Shr { wrap: f0 }, ScalarOp::Set(cmp),
        ][usize::from(small)];
        let second = [Second::None, Second::Add, Second::Min, Second::Max, Second::Merge(part)][usize::from(small % 5)];
        let simd = [
            SimdOp::Add, SimdOp::Sub, SimdOp::AbsDiff, SimdOp::Min, SimdOp::Max, SimdOp::Avrg, SimdOp::Set(cmp),
        ][usize::from(small % 7)];
        let pack = [PackTy::U2, PackTy::S2, PackTy::U4, PackTy::S4, PackTy::U8, PackTy::S8, PackTy::U16, PackTy::S16][usize::from(small)];
        let ops = [
            PureOp::Integer(Integer::Add { ty, sat: true }),
            PureOp::Integer(Integer::Sub { ty, sat: true }),
            PureOp::Integer(Integer::Mad { part: Part::Hi, ty, sat: true }),
            PureOp::Integer(Integer::Mad24 { high: f0, signed: f1, sat: f2 }),
            PureOp::Integer(Integer::Min { ty, relu: f0 }),
            PureOp::Integer(Integer::Packed { op: PackedOp::Min, lanes: if f2 { 2 } else { 4 }, signed: f0, relu: f1, sat: f3 }),
            PureOp::Integer(Integer::Dp4a { a_signed: f0, b_signed: f1 }),
            PureOp::Integer(Integer::Dp2a { a_signed: f0, b_signed: f1, high: f2 }),
            PureOp::Bits(Bits::Not { class }),
            PureOp::Bits(Bits::Shr { ty }),
            PureOp::Bits(Bits::Bfe { ty, reading }),
            PureOp::Bits(Bits::Bfi { class, reading }),
            PureOp::Bits(Bits::Fns { reading }),
            PureOp::Compare(Compare::Selp { class }),
            PureOp::Convert(Convert::Mov { class }),
            PureOp::Convert(Convert::Pack { elem: RegClass::B8, count: 4 }),
            PureOp::Convert(Convert::Extract { elem: RegClass::B8, index: small, src: RegClass::B64 }),
            PureOp::Convert(Convert::CvtPack { ty: pack, onto: f0 }),
            PureOp::Convert(Convert::Cvta { space: Space::Shared, to: f0, class: RegClass::B32 }),
            PureOp::Convert(Convert::Isspacep { space: Space::Shared, class: RegClass::B64 }),
            PureOp::Video(Video::Scalar { op: scalar, signed: f0, a: source(f1), b: source(f2), sat: f3, second, reading }),
            PureOp::Video(Video::Mad {
                signed: f0, a: source(f1), b: source(f2), neg_a: f3, neg_b: f4, neg_c: f5,
                plus_one: f0, sat: f1, shift: digits[2], reading,
            }),
            PureOp::Video(Video::Simd {
                op: simd, lanes: if f0 { 2 } else { 4 }, signed: f1, a_signed: f2, b_signed: f3,
                a_lanes: [digits[0], digits[1], digits[2], digits[3]],
                b_lanes: [digits[4], digits[5], digits[6], digits[7]],
                mask: digits[0], sat: f4, add: f5,
            }),
        ];
        for op in ops {
            let signature = op.signature();
            let srcs: Vec<u64> = words.iter().zip(&signature.srcs).map(|(w, class)| w & class.mask()).collect();
            let results = run(op, &srcs);
            for (i, result) in results.into_iter().enumerate() {
                let mask = signature.dsts.get(i).map_or(0, |class| class.mask());
                prop_assert_eq!(result & !mask, 0, "{:?}", op);
            }
            // Sources may be missing; nothing may come of that but a value.
            run(op, &[]);
        }
    }
}

#[test]
fn saturating_arithmetic_stops_at_the_ends() {
    let ty = IntTy::S32;
    let add = |a, b| integer(Integer::Add { ty, sat: true }, &[a, b]);
    let sub = |a, b| integer(Integer::Sub { ty, sat: true }, &[a, b]);
    assert_eq!(add(0x7fff_ffff, 1), 0x7fff_ffff);
    assert_eq!(add(0x8000_0000, 0xffff_ffff), 0x8000_0000);
    assert_eq!(sub(0x8000_0000, 1), 0x8000_0000);
    assert_eq!(sub(0, 0x8000_0000), 0x7fff_ffff);
    assert_eq!(add(5, 0xffff_fffe), 3);
}

#[test]
fn packed_lanes_do_not_touch_each_other() {
    let packed = |op, signed, relu, a, b| {
        let op = Integer::Packed {
            op,
            lanes: 2,
            signed,
            relu,
            sat: false,
        };
        integer(op, &[a, b])
    };
    assert_eq!(
        packed(PackedOp::Add, false, false, 0x0001_ffff, 0x0001_0001),
        0x0002_0000
    );
    assert_eq!(
        packed(PackedOp::Min, false, false, 0xffff_0001, 0x0001_ffff),
        0x0001_0001
    );
    assert_eq!(
        packed(PackedOp::Min, true, false, 0xffff_0001, 0x0001_ffff),
        0xffff_ffff
    );
    assert_eq!(
        packed(PackedOp::Min, true, true, 0xffff_0005, 0x0001_0003),
        0x0000_0003
    );
    assert_eq!(
        packed(PackedOp::Max, true, true, 0xffff_8000, 0xfffe_0003),
        0x0000_0003
    );
}

#[test]
fn packed_bytes_wrap_or_stop_each_by_itself() {
    let packed = |op, signed, sat, a, b| {
        let op = Integer::Packed {
            op,
            lanes: 4,
            signed,
            relu: false,
            sat,
        };
        integer(op, &[a, b])
    };
    assert_eq!(
        packed(PackedOp::Add, false, false, 0xff01_80ff, 0x0102_8001),
        0x0003_0000
    );
    assert_eq!(
        packed(PackedOp::Add, false, true, 0xff01_80ff, 0x0102_8001),
        0xff03_ffff
    );
    assert_eq!(
        packed(PackedOp::Add, true, true, 0x7f80_01ff, 0x0180_0201),
        0x7f80_0300
    );
    assert_eq!(
        packed(PackedOp::Sub, false, true, 0x0005_0a00, 0x0103_0a01),
        0x0002_0000
    );
    assert_eq!(
        packed(PackedOp::Sub, true, true, 0x8000_7f00, 0x0180_ff00),
        0x807f_7f00
    );
    assert_eq!(
        packed(PackedOp::Max, true, false, 0x80ff_7f00, 0x0000_0000),
        0x0000_7f00
    );
    assert_eq!(
        packed(PackedOp::Max, false, false, 0x80ff_7f00, 0x0000_0000),
        0x80ff_7f00
    );
}

/// The formulas of the ISA text for `cvt.pack`: each source clamped, the first above the second, c shifted above both.
#[test]
fn cvt_pack_clamps_and_stacks() {
    let pack =
        |ty, onto, srcs: &[u64]| run(PureOp::Convert(Convert::CvtPack { ty, onto }), srcs)[0];
    assert_eq!(
        pack(PackTy::S16, false, &[0xffff_0000, 0x0001_0000]),
        0x8000_7fff
    );
    assert_eq!(
        pack(PackTy::U16, false, &[0xffff_ffff, 0x0001_0000]),
        0x0000_ffff
    );
    assert_eq!(
        pack(PackTy::S8, true, &[0xffff_ff00, 0x7f, 0x1234_5678]),
        0x5678_807f
    );
    assert_eq!(
        pack(PackTy::U8, true, &[300, 0xffff_ffff, 0x1234_5678]),
        0x5678_ff00
    );
    assert_eq!(
        pack(PackTy::S4, true, &[0xffff_fff0, 100, 0x0100_0001]),
        0x0000_0187
    );
    assert_eq!(pack(PackTy::U4, true, &[3, 16, 0]), 0x0000_003f);
    assert_eq!(pack(PackTy::S2, true, &[5, 0xffff_fff0, 1]), 0x0000_0016);
    assert_eq!(pack(PackTy::U2, true, &[2, 5, 1]), 0x0000_001b);
}

#[test]
fn vectors_are_packed_lowest_first() {
    let pack =
        |elem, count, srcs: &[u64]| run(PureOp::Convert(Convert::Pack { elem, count }), srcs)[0];
    assert_eq!(
        pack(RegClass::B16, 4, &[0x1111, 0x2222, 0x3333, 0x4444]),
        0x4444_3333_2222_1111
    );
    assert_eq!(pack(RegClass::B8, 4, &[1, 2, 3, 4]), 0x0403_0201);
    let extract = |index| {
        let op = Convert::Extract {
            elem: RegClass::B32,
            index,
            src: RegClass::B64,
        };
        run(PureOp::Convert(op), &[0x8765_4321_1234_5678])[0]
    };
    assert_eq!([extract(0), extract(1)], [0x1234_5678, 0x8765_4321]);
}

#[test]
fn generic_addresses_know_their_window() {
    let windows = [Space::Shared, Space::Local, Space::Const, Space::Param];
    for (address_bits, class) in [(64, RegClass::B64), (32, RegClass::B32)] {
        let run = |op, a| eval(PureOp::Convert(op), address_bits, &[a])[0];
        for space in windows {
            let generic = run(
                Convert::Cvta {
                    space,
                    to: false,
                    class,
                },
                0x40,
            );
            assert_eq!(generic, window::base(space, address_bits).unwrap() + 0x40);
            assert_eq!(
                run(
                    Convert::Cvta {
                        space,
                        to: true,
                        class
                    },
                    generic
                ),
                0x40
            );
            for other in windows.into_iter().chain([Space::Global]) {
                let lies = run(
                    Convert::Isspacep {
                        space: other,
                        class,
                    },
                    generic,
                );
                assert_eq!(lies == 1, other == space, "{space:?} in {other:?}");
            }
        }
        let host = 0x1000_0000;
        let global = Space::Global;
        assert_eq!(
            run(
                Convert::Cvta {
                    space: global,
                    to: false,
                    class
                },
                host
            ),
            host
        );
        assert_eq!(
            run(
                Convert::Isspacep {
                    space: global,
                    class
                },
                host
            ),
            1
        );
    }
}
