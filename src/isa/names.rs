//! The names of all instructions of PTX 9, also of those that are not built yet.

/// A mnemonic: the word before the first point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mnemonic {
    /// The word.
    pub name: &'static str,
    /// The family that it belongs to.
    pub family: &'static str,
}

const INTEGER: &str = "integer arithmetic";
const EXTENDED: &str = "extended precision";
const BITS: &str = "logic, shifts and bit fields";
const VIDEO: &str = "video";
const COMPARE: &str = "comparison and selection";
const CONVERT: &str = "moves and conversions";
const MEMORY: &str = "memory";
/// The family of branches and calls, which have no rows.
pub(super) const CONTROL: &str = "control flow";
const FLOAT: &str = "floating point";
const BARRIERS: &str = "barriers";
const ATOMICS: &str = "atomics";
const WARP: &str = "warp operations";
const CLUSTER: &str = "clusters";
const TEXTURES: &str = "textures";
const TENSOR: &str = "tensor cores";
const ASYNC: &str = "asynchronous copies";
const STACK: &str = "stack manipulation";
const MULTIMEM: &str = "multimem";

const fn name(name: &'static str, family: &'static str) -> Mnemonic {
    Mnemonic { name, family }
}

/// All mnemonics.
pub const MNEMONICS: &[Mnemonic] = &[
    name("add", INTEGER),
    name("sub", INTEGER),
    name("mul", INTEGER),
    name("mad", INTEGER),
    name("mul24", INTEGER),
    name("mad24", INTEGER),
    name("sad", INTEGER),
    name("div", INTEGER),
    name("rem", INTEGER),
    name("abs", INTEGER),
    name("neg", INTEGER),
    name("min", INTEGER),
    name("max", INTEGER),
    name("dp4a", INTEGER),
    name("dp2a", INTEGER),
    name("addc", EXTENDED),
    name("subc", EXTENDED),
    name("madc", EXTENDED),
    name("and", BITS),
    name("or", BITS),
    name("xor", BITS),
    name("not", BITS),
    name("cnot", BITS),
    name("lop3", BITS),
    name("shf", BITS),
    name("shl", BITS),
    name("shr", BITS),
    name("prmt", BITS),
    name("popc", BITS),
    name("clz", BITS),
    name("bfind", BITS),
    name("fns", BITS),
    name("brev", BITS),
    name("bfe", BITS),
    name("bfi", BITS),
    name("bmsk", BITS),
    name("szext", BITS),
    name("vadd", VIDEO),
    name("vsub", VIDEO),
    name("vabsdiff", VIDEO),
    name("vmin", VIDEO),
    name("vmax", VIDEO),
    name("vshl", VIDEO),
    name("vshr", VIDEO),
    name("vmad", VIDEO),
    name("vset", VIDEO),
    name("vadd2", VIDEO),
    name("vsub2", VIDEO),
    name("vavrg2", VIDEO),
    name("vabsdiff2", VIDEO),
    name("vmin2", VIDEO),
    name("vmax2", VIDEO),
    name("vset2", VIDEO),
    name("vadd4", VIDEO),
    name("vsub4", VIDEO),
    name("vavrg4", VIDEO),
    name("vabsdiff4", VIDEO),
    name("vmin4", VIDEO),
    name("vmax4", VIDEO),
    name("vset4", VIDEO),
    name("set", COMPARE),
    name("setp", COMPARE),
    name("selp", COMPARE),
    name("slct", COMPARE),
    name("mov", CONVERT),
    name("cvt", CONVERT),
    name("cvta", CONVERT),
    name("isspacep", CONVERT),
    name("ld", MEMORY),
    name("ldu", MEMORY),
    name("st", MEMORY),
    name("prefetch", MEMORY),
    name("prefetchu", MEMORY),
    name("applypriority", MEMORY),
    name("discard", MEMORY),
    name("createpolicy", MEMORY),
    name("bra", CONTROL),
    name("brx", CONTROL),
    name("call", CONTROL),
    name("ret", CONTROL),
    name("exit", CONTROL),
    name("trap", CONTROL),
    name("brkpt", CONTROL),
    name("pmevent", CONTROL),
    name("nanosleep", CONTROL),
    name("testp", FLOAT),
    name("copysign", FLOAT),
    name("fma", FLOAT),
    name("rcp", FLOAT),
    name("sqrt", FLOAT),
    name("rsqrt", FLOAT),
    name("sin", FLOAT),
    name("cos", FLOAT),
    name("lg2", FLOAT),
    name("ex2", FLOAT),
    name("tanh", FLOAT),
    name("bar", BARRIERS),
    name("barrier", BARRIERS),
    name("membar", BARRIERS),
    name("fence", BARRIERS),
    name("mbarrier", BARRIERS),
    name("griddepcontrol", BARRIERS),
    name("setmaxnreg", BARRIERS),
    name("atom", ATOMICS),
    name("red", ATOMICS),
    name("shfl", WARP),
    name("vote", WARP),
    name("match", WARP),
    name("activemask", WARP),
    name("redux", WARP),
    name("elect", WARP),
    name("mapa", CLUSTER),
    name("getctarank", CLUSTER),
    name("clusterlaunchcontrol", CLUSTER),
    name("multimem", MULTIMEM),
    name("cp", ASYNC),
    name("tensormap", ASYNC),
    name("tex", TEXTURES),
    name("tld4", TEXTURES),
    name("txq", TEXTURES),
    name("istypep", TEXTURES),
    name("suld", TEXTURES),
    name("sust", TEXTURES),
    name("sured", TEXTURES),
    name("suq", TEXTURES),
    name("wmma", TENSOR),
    name("mma", TENSOR),
    name("ldmatrix", TENSOR),
    name("stmatrix", TENSOR),
    name("movmatrix", TENSOR),
    name("wgmma", TENSOR),
    name("tcgen05", TENSOR),
    name("stacksave", STACK),
    name("stackrestore", STACK),
    name("alloca", STACK),
];

/// Forms of a mnemonic that are not built yet: those with one of the words among their modifiers.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unbuilt {
    /// The mnemonic.
    pub mnemonic: &'static str,
    /// The words, any one of which marks the form.
    pub words: &'static [&'static str],
    /// The family that the form belongs to.
    pub family: &'static str,
}

const fn unbuilt(
    mnemonic: &'static str,
    words: &'static [&'static str],
    family: &'static str,
) -> Unbuilt {
    Unbuilt {
        mnemonic,
        words,
        family,
    }
}

/// What only the newest targets have.
const CVT_LATER: &[&str] = &["pzo", "scaled::n1::ue8m0", "ue5m3x2"];

/// What is not built of mnemonics that have rows.
pub const UNBUILT: &[Unbuilt] = &[
    unbuilt("cvt", CVT_LATER, FLOAT),
    unbuilt("cp", &["tensor"], TENSOR),
];

/// The mnemonic of a name.
pub fn find(name: &str) -> Option<&'static Mnemonic> {
    MNEMONICS.iter().find(|m| m.name == name)
}
