//! Approximate functions, and how they are computed. PTX ISA, the instructions with `.approx` and `.full`.
//!
//! Both engines follow the sequences below operation by operation, so that their results are equal, on every host. Each step is
//! one IEEE operation to the nearest, or one on bits; products and sums are not fused. `(p)` marks a polynomial in Horner's
//! form from the coefficient of the highest power down: p = c0, p = c1 + x * p, ... With `.ftz` subnormal operands and results are
//! zeros of their sign.
//!
//! The coefficients are those of the least greatest error (Remez), rounded to `.f32`. `docs/approximate.md` has the errors of
//! whole functions over all operands.

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Approx {
    /// `div.approx.f32`: a / b. For |b| above 2^126, a times a zero of b's sign.
    Div,
    /// `div.full.f32`: a / b.
    DivFull,
    /// 1 / a. `.f64`: of the upper word of a, rounded to an upper word.
    Rcp,
    /// The square root of a.
    Sqrt,
    /// 1 / the square root of a. `.ftz.f64`: of the upper word of a, rounded to an upper word.
    Rsqrt,
    /// The sine of a. In `.f64`: t = |a| * (1 / pi), k = t to the nearest integer, r = (t - k) * pi; then in `.f32`: z = r * r,
    /// r + (r * z) * (p)(z) with [`SIN`]; negated if k is odd, and if a is negative.
    Sin,
    /// The cosine of a. k, r, z as for the sine; 1 + z * (p)(z) with [`COS`]; negated if k is odd.
    Cos,
    /// The logarithm of a to base 2. a = 2^e * m, m from [`LG2_LEAST`] to below twice that; s = (m - 1) / (m + 1), z = s * s;
    /// e + s * (p)(z) with [`LG2`].
    Lg2,
    /// 2^a. a is clamped; n = a to the nearest integer, f = a - n, 1 + f * (p)(f) with [`EX2`] (or [`EX2_HALF`] for results of 16 bits); scaled by 2^n
    /// in the exponent with `.ftz` and for 16 bits, otherwise by two factors of about 2^(n/2).
    Ex2,
    /// The hyperbolic tangent of a. a is clamped to +-[`TANH_MOST`]; z = a * a;
    /// (a * (1 + z * (p)(z))) / (1 + z * (p)(z)) with [`TANH_OVER`] and [`TANH_UNDER`].
    Tanh,
}

impl Approx {
    /// How many operands it has.
    pub fn operands(self) -> usize {
        match self {
            Approx::Div | Approx::DivFull => 2,
            Approx::Rcp
            | Approx::Sqrt
            | Approx::Rsqrt
            | Approx::Sin
            | Approx::Cos
            | Approx::Lg2
            | Approx::Ex2
            | Approx::Tanh => 1,
        }
    }
}

const fn all<const N: usize>(bits: [u32; N]) -> [f32; N] {
    let mut coefficients = [0.0; N];
    let mut i = 0;
    while i < N {
        coefficients[i] = f32::from_bits(bits[i]);
        i += 1;
    }
    coefficients
}

/// 1.5 * 2^23: added to a small `.f32` and taken away it rounds to an integer, which stands in the low bits of the sum.
pub const ROUND_F32: f32 = 12_582_912.0;
/// 1.5 * 2^52: the same for `.f64`.
pub const ROUND_F64: f64 = 6_755_399_441_055_744.0;

/// (sin r - r) / r^3 in z = r^2, |r| <= pi / 2: the sine's error is below 2^-27.5.
pub const SIN: [f32; 4] = all([0x362e_6957, 0xb94f_ae76, 0x3c08_872c, 0xbe2a_aaa4]);
/// (cos r - 1) / r^2 in z = r^2, |r| <= pi / 2: the cosine's error is below 2^-24.1.
pub const COS: [f32; 4] = all([0x37c2_8612, 0xbab5_9c0b, 0x3d2a_a7d5, 0xbeff_ffe9]);
/// log2((1 + s) / (1 - s)) / s in z = s^2, |s| <= 3 - 2 sqrt 2: the relative error is below 2^-26.1.
pub const LG2: [f32; 4] = all([0x3edd_0c7c, 0x3f13_a38e, 0x3f76_3873, 0x4038_aa3b]);
/// The least m of the logarithm, as bits: the square root of 1/2.
pub const LG2_LEAST: u32 = 0x3f35_04f3;
/// (2^f - 1) / f, |f| <= 1/2: the relative error of 2^f is below 2^-26.4.
pub const EX2: [f32; 6] = all([
    0x3920_ea0c,
    0x3aaf_948c,
    0x3c1d_96b3,
    0x3d63_5790,
    0x3e75_fdee,
    0x3f31_7218,
]);
/// The same, below 2^-18.1.
pub const EX2_HALF: [f32; 4] = all([0x3c1c_de0d, 0x3d64_e5f1, 0x3e76_0212, 0x3f31_70e2]);
/// From here on the quotient of the hyperbolic tangent is exactly 1.
pub const TANH_MOST: f32 = f32::from_bits(0x40a4_d299);
/// Above the line, in z = a^2: the relative error of the quotient is below 2^-13.8.
pub const TANH_OVER: [f32; 2] = all([0x3a2e_0532, 0x3dd1_7ea7]);
/// Below the line.
pub const TANH_UNDER: [f32; 2] = all([0x3c51_2778, 0x3ede_e8f2]);
