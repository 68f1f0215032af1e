//! Loads and stores. PTX ISA, "Data Movement and Conversion Instructions". [`hints`] has the hints about them.

pub(super) mod hints;
pub(super) mod stack;

use super::convert::{space, space_at, upper_half};
use super::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, TypeOf, Word,
    form, maybe, one, param, src, word,
};
use super::types::Ty;
use super::words::ty;
use crate::ir::memory::{Address, Load, Order, Space, Store};
use crate::ir::{Kind, Operand, Reg};
use smallvec::SmallVec;

const U64: TypeOf = TypeOf::Fixed(Ty::U64);

const TYPES: &[Word] = &[
    word("b8"),
    word("u8"),
    word("s8"),
    word("b16"),
    word("u16"),
    word("s16"),
    word("b32"),
    word("u32"),
    word("s32"),
    word("f32"),
    word("b64"),
    word("u64"),
    word("s64"),
    word("f64"),
    word("b128").needs((8, 3), 70),
];
/// Types of accesses to mapped memory.
const MMIO_TYPES: &[Word] = &[
    word("b8"),
    word("u8"),
    word("s8"),
    word("b16"),
    word("u16"),
    word("s16"),
    word("b32"),
    word("u32"),
    word("s32"),
    word("f32"),
    word("b64"),
    word("u64"),
    word("s64"),
    word("f64"),
    word("b128").needs((8, 4), 70),
];
const VECTOR: Slot = maybe(SlotName::Vector, &[word("v2"), word("v4"), word("v8")]);
/// Vectors of 256 bits.
const LONG_VECTOR: Slot = one(SlotName::Vector, &[word("v4"), word("v8")]);
/// What they are made of.
const LONG_TYPES: &[Word] = &[
    word("b32"),
    word("u32"),
    word("s32"),
    word("f32"),
    word("b64"),
    word("u64"),
    word("s64"),
    word("f64"),
];
const SHARED_CTA: Word = word("shared::cta").needs((7, 8), 10);
const SHARED_CLUSTER: Word = word("shared::cluster").needs((7, 8), 90);
const LOAD_SPACES: Slot = maybe(
    SlotName::Space,
    &[
        word("global"),
        word("shared"),
        SHARED_CTA,
        SHARED_CLUSTER,
        word("local"),
        word("const"),
        word("param"),
        word("param::entry").needs((8, 3), 10),
        word("param::func").needs((8, 3), 10),
    ],
);
const STORE_SPACES: Slot = maybe(
    SlotName::Space,
    &[
        word("global"),
        word("shared"),
        SHARED_CTA,
        SHARED_CLUSTER,
        word("local"),
        word("param").needs((2, 0), 20),
        word("param::func").needs((8, 3), 20),
    ],
);
const GLOBAL: Slot = one(SlotName::Space, &[word("global")]);
const MAYBE_GLOBAL: Slot = maybe(SlotName::Space, &[word("global")]);
const MODEL: (u32, u32) = (5, 1);
const LOAD_ORDER: Slot = maybe(
    SlotName::Order,
    &[
        word("weak").needs(MODEL, 70),
        word("volatile"),
        word("relaxed").needs(MODEL, 70),
        word("acquire").needs(MODEL, 70),
    ],
);
const STORE_ORDER: Slot = maybe(
    SlotName::Order,
    &[
        word("weak").needs(MODEL, 70),
        word("volatile"),
        word("relaxed").needs(MODEL, 70),
        word("release").needs(MODEL, 70),
    ],
);
const MMIO: Slot = one(SlotName::Mmio, &[word("mmio").needs((8, 2), 70)]);
const SYSTEM: Slot = one(SlotName::Scope, &[word("sys")]);
const RELAXED: Slot = one(SlotName::Order, &[word("relaxed")]);
const ACQUIRE: Slot = one(SlotName::Order, &[word("acquire")]);
const RELEASE: Slot = one(SlotName::Order, &[word("release")]);
const VOLATILE: Slot = one(SlotName::Order, &[word("volatile")]);
const LOCAL: Slot = one(SlotName::Space, &[word("local")]);
const SCOPE: Slot = maybe(
    SlotName::Scope,
    &[
        word("cta"),
        word("cluster").needs((7, 8), 90),
        word("gpu"),
        word("sys"),
    ],
);
const LOAD_CACHE: Slot = maybe(
    SlotName::Cache,
    &[
        word("ca").needs((2, 0), 20),
        word("cg").needs((2, 0), 20),
        word("cs").needs((2, 0), 20),
        word("lu").needs((2, 0), 20),
        word("cv").needs((2, 0), 20),
    ],
);
const NC_CACHE: Slot = maybe(SlotName::Cache, &[word("ca"), word("cg"), word("cs")]);
const STORE_CACHE: Slot = maybe(
    SlotName::Cache,
    &[
        word("wb").needs((2, 0), 20),
        word("cg").needs((2, 0), 20),
        word("cs").needs((2, 0), 20),
        word("wt").needs((2, 0), 20),
    ],
);
const EVICT_L1: Slot = maybe(
    SlotName::EvictL1,
    &[
        word("L1::evict_normal").needs((7, 4), 70),
        word("L1::evict_unchanged").needs((7, 4), 70),
        word("L1::evict_first").needs((7, 4), 70),
        word("L1::evict_last").needs((7, 4), 70),
        word("L1::no_allocate").needs((7, 4), 70),
    ],
);
const EVICT_L2: Slot = maybe(
    SlotName::EvictL2,
    &[
        word("L2::evict_normal"),
        word("L2::evict_first"),
        word("L2::evict_last"),
    ],
);
const PREFETCH_SIZE: Slot = maybe(
    SlotName::PrefetchSize,
    &[
        word("L2::64B").needs((7, 4), 75),
        word("L2::128B").needs((7, 4), 75),
        word("L2::256B").needs((7, 4), 80),
    ],
);
const CACHE_HINT: Slot = one(
    SlotName::CacheHint,
    &[word("L2::cache_hint").needs((7, 4), 80)],
);
const NON_COHERENT: Slot = one(SlotName::NonCoherent, &[word("nc")]);

const LOADED: Param = param("d", OperandKind::LoadDst, T);
const STORED: Param = param("b", OperandKind::StoreSrc, T);
const ADDRESS: Param = param("a", OperandKind::Address, TypeOf::Address);
const POLICY: Param = src("cache-policy", U64);

const LD: &[Param] = &[LOADED, ADDRESS];
const LD_POLICY: &[Param] = &[LOADED, ADDRESS, POLICY];
const ST: &[Param] = &[ADDRESS, STORED];
const ST_POLICY: &[Param] = &[ADDRESS, STORED, POLICY];

const LOAD_NC_DOC: &str = "d = the element or elements at a, which nobody writes during the launch";
const LOAD_DOC: &str = "d = the element or elements at a";
const STORE_DOC: &str = "the element or elements at a = b";

/// `ld` of up to 128 bits.
const fn ld(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("ld", slots, operands, Build::Emit(load), LOAD_DOC).rule(access_rules)
}

/// `ld.global.nc` of up to 128 bits.
const fn ld_nc(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("ld", slots, operands, Build::Emit(load), LOAD_NC_DOC)
        .needs((3, 1), 32)
        .rule(access_rules)
}

/// `st` of up to 128 bits.
const fn st(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form("st", slots, operands, Build::Emit(store), STORE_DOC).rule(access_rules)
}

/// The rows.
pub(super) const FORMS: &[Form] = &[
    ld(
        &[
            LOAD_ORDER,
            SCOPE,
            LOAD_SPACES,
            LOAD_CACHE,
            EVICT_L1,
            PREFETCH_SIZE,
            VECTOR,
            ty(TYPES),
        ],
        LD,
    ),
    ld(
        &[
            LOAD_ORDER,
            SCOPE,
            LOAD_SPACES,
            LOAD_CACHE,
            EVICT_L1,
            CACHE_HINT,
            PREFETCH_SIZE,
            VECTOR,
            ty(TYPES),
        ],
        LD_POLICY,
    ),
    ld(
        &[
            LOAD_ORDER,
            SCOPE,
            MAYBE_GLOBAL,
            LOAD_CACHE,
            EVICT_L1,
            EVICT_L2,
            PREFETCH_SIZE,
            LONG_VECTOR,
            ty(LONG_TYPES),
        ],
        LD,
    )
    .needs((8, 8), 100),
    ld(
        &[
            LOAD_ORDER,
            SCOPE,
            MAYBE_GLOBAL,
            LOAD_CACHE,
            EVICT_L1,
            EVICT_L2,
            CACHE_HINT,
            PREFETCH_SIZE,
            LONG_VECTOR,
            ty(LONG_TYPES),
        ],
        LD_POLICY,
    )
    .needs((8, 8), 100),
    ld(&[VOLATILE, LOCAL, VECTOR, ty(TYPES)], LD).needs((9, 1), 10),
    ld(&[MMIO, RELAXED, SYSTEM, MAYBE_GLOBAL, ty(MMIO_TYPES)], LD),
    ld(&[MMIO, ACQUIRE, SYSTEM, MAYBE_GLOBAL, ty(MMIO_TYPES)], LD).needs((9, 3), 70),
    ld_nc(
        &[
            GLOBAL,
            NC_CACHE,
            NON_COHERENT,
            EVICT_L1,
            PREFETCH_SIZE,
            VECTOR,
            ty(TYPES),
        ],
        LD,
    ),
    ld_nc(
        &[
            GLOBAL,
            NC_CACHE,
            NON_COHERENT,
            EVICT_L1,
            CACHE_HINT,
            PREFETCH_SIZE,
            VECTOR,
            ty(TYPES),
        ],
        LD_POLICY,
    ),
    ld_nc(
        &[
            GLOBAL,
            NC_CACHE,
            NON_COHERENT,
            EVICT_L1,
            EVICT_L2,
            PREFETCH_SIZE,
            LONG_VECTOR,
            ty(LONG_TYPES),
        ],
        LD,
    )
    .needs((8, 8), 100),
    ld_nc(
        &[
            GLOBAL,
            NC_CACHE,
            NON_COHERENT,
            EVICT_L1,
            EVICT_L2,
            CACHE_HINT,
            PREFETCH_SIZE,
            LONG_VECTOR,
            ty(LONG_TYPES),
        ],
        LD_POLICY,
    )
    .needs((8, 8), 100),
    form(
        "ldu",
        &[
            MAYBE_GLOBAL,
            maybe(SlotName::Vector, &[word("v2"), word("v4")]),
            ty(TYPES),
        ],
        LD,
        Build::Emit(load),
        "d = the element or elements at a, which is one address for the whole warp and nobody writes",
    )
    .needs((2, 0), 20)
    .rule(access_rules),
    st(
        &[
            STORE_ORDER,
            SCOPE,
            STORE_SPACES,
            STORE_CACHE,
            EVICT_L1,
            VECTOR,
            ty(TYPES),
        ],
        ST,
    ),
    st(
        &[
            STORE_ORDER,
            SCOPE,
            STORE_SPACES,
            STORE_CACHE,
            EVICT_L1,
            CACHE_HINT,
            VECTOR,
            ty(TYPES),
        ],
        ST_POLICY,
    ),
    st(
        &[
            STORE_ORDER,
            SCOPE,
            MAYBE_GLOBAL,
            STORE_CACHE,
            EVICT_L1,
            EVICT_L2,
            LONG_VECTOR,
            ty(LONG_TYPES),
        ],
        ST,
    )
    .needs((8, 8), 100),
    st(
        &[
            STORE_ORDER,
            SCOPE,
            MAYBE_GLOBAL,
            STORE_CACHE,
            EVICT_L1,
            EVICT_L2,
            CACHE_HINT,
            LONG_VECTOR,
            ty(LONG_TYPES),
        ],
        ST_POLICY,
    )
    .needs((8, 8), 100),
    st(&[VOLATILE, LOCAL, VECTOR, ty(TYPES)], ST).needs((9, 1), 10),
    st(&[MMIO, RELAXED, SYSTEM, MAYBE_GLOBAL, ty(MMIO_TYPES)], ST),
    st(&[MMIO, RELEASE, SYSTEM, MAYBE_GLOBAL, ty(MMIO_TYPES)], ST).needs((9, 3), 70),
];

/// Whether the access is to global memory or by generic address: only these have caches to talk of.
fn cached(choice: &Choice<'_>) -> bool {
    matches!(choice.word(SlotName::Space), None | Some("global"))
}

/// An access says how it is ordered together with who sees that, or nothing of both.
pub(super) fn ordered(choice: &Choice<'_>) -> Result<(), Complaint> {
    let order = choice.word(SlotName::Order);
    let strong = is_strong(order);
    if strong && !choice.has(SlotName::Scope) {
        return Err(Complaint::slot(
            SlotName::Order,
            format!("`.{}` needs a scope", order.unwrap_or_default()),
        ));
    }
    if choice.has(SlotName::Scope) && !strong {
        return Err(Complaint::slot(
            SlotName::Scope,
            "a scope goes with `.relaxed`, `.acquire` and `.release` only",
        ));
    }
    Ok(())
}

fn is_strong(order: Option<&str>) -> bool {
    matches!(order, Some("relaxed" | "acquire" | "release"))
}

/// Which qualifiers of `ld`, `ldu` and `st` go together.
fn access_rules(choice: &Choice<'_>) -> Result<(), Complaint> {
    let order = choice.word(SlotName::Order);
    let space = choice.word(SlotName::Space);
    let strong = is_strong(order);
    ordered(choice)?;
    if (strong || order == Some("volatile"))
        && matches!(
            space,
            Some("const" | "param" | "param::entry" | "param::func")
        )
    {
        return Err(Complaint::slot(
            SlotName::Order,
            format!(
                "`.{}` is not allowed in this state space",
                order.unwrap_or_default()
            ),
        ));
    }
    // Volatile accesses of local memory have rows of their own.
    let unordered = strong || (order == Some("volatile") && choice.form.since < (9, 1));
    if unordered && space == Some("local") {
        return Err(Complaint::slot(
            SlotName::Order,
            "local memory belongs to one thread: there is nothing to order",
        ));
    }
    if choice.has(SlotName::Cache) && !matches!(order, None | Some("weak")) {
        return Err(Complaint::slot(
            SlotName::Cache,
            "cache operators go with weak accesses only",
        ));
    }
    if choice.has(SlotName::Cache) && choice.has(SlotName::EvictL1) {
        return Err(Complaint::slot(
            SlotName::EvictL1,
            "a cache operator and an eviction priority exclude each other",
        ));
    }
    for name in [
        SlotName::EvictL1,
        SlotName::EvictL2,
        SlotName::CacheHint,
        SlotName::PrefetchSize,
    ] {
        if choice.has(name) && order == Some("volatile") && name != SlotName::PrefetchSize {
            return Err(Complaint::slot(
                name,
                format!("{} does not go with `.volatile`", name.with_article()),
            ));
        }
        if choice.has(name) && !cached(choice) {
            return Err(Complaint::slot(
                name,
                format!("{} goes with global memory only", name.with_article()),
            ));
        }
    }
    vector_fits(choice)
}

/// The number of elements of a vector, 1 without `.vN`.
pub(super) fn elements(choice: &Choice<'_>) -> usize {
    match choice.word(SlotName::Vector) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some("v8") => 8,
        _ => 1,
    }
}

fn vector_fits(choice: &Choice<'_>) -> Result<(), Complaint> {
    let ty = choice.ty(SlotName::Type)?;
    let count = elements(choice);
    let bits = ty.bits as usize * count;
    // Longer ones have rows of their own, for targets that can do it.
    let long = choice.form.target >= 100;
    if count > 1 && (ty.bits == 128 || long != (bits == 256) || (!long && bits > 128)) {
        return Err(Complaint::slot(
            SlotName::Vector,
            format!("{count} elements of `{ty}` do not make an access of 128 or 256 bits or less"),
        ));
    }
    Ok(())
}

fn unexpected() -> Complaint {
    Complaint::row("operands of a kind that the form does not have")
}

fn order(choice: &Choice<'_>) -> Order {
    match choice.word(SlotName::Order) {
        _ if choice.has(SlotName::Mmio) => Order::Volatile,
        Some("volatile") => Order::Volatile,
        Some("relaxed") => Order::Relaxed,
        Some("acquire") => Order::Acquire,
        Some("release") => Order::Release,
        _ => Order::Weak,
    }
}

/// Space, element size and alignment of an access.
struct Access {
    space: Space,
    bytes: u8,
    align: u8,
}

fn access(choice: &Choice<'_>, variable: Option<Space>) -> Result<Access, Complaint> {
    let ty = choice.ty(SlotName::Type)?;
    let whole = ty.bits / 8 * elements(choice) as u32;
    Ok(Access {
        space: space_at(space(choice)?, variable),
        bytes: (ty.bits / 8).min(8) as u8,
        align: whole as u8,
    })
}

fn place(arg: &Arg) -> Result<(Address, Option<Space>), Complaint> {
    match arg {
        Arg::Address(address, space) => Ok((*address, *space)),
        _ => Err(unexpected()),
    }
}

/// `ld`, `ldu`
pub(super) fn load(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [to, from, ..] = args else {
        return Err(unexpected());
    };
    let (addr, variable) = place(from)?;
    let Access {
        space,
        bytes,
        align,
    } = access(choice, variable)?;
    let ty = choice.ty(SlotName::Type)?;
    let signed = ty.int().is_some_and(|t| t.signed());
    let targets = match to {
        Arg::Vector(elements) => elements.as_slice(),
        scalar => std::slice::from_ref(scalar),
    };
    let mut dsts: SmallVec<[Option<Reg>; 4]> = SmallVec::new();
    // Upper halves of 128-bit registers that receive narrower elements.
    let mut halves = Vec::new();
    for target in targets {
        match target {
            Arg::Dst(reg, _) => dsts.push(*reg),
            Arg::Quad(Operand::Reg(low), Operand::Reg(high)) => {
                dsts.push(Some(*low));
                if ty.bits == 128 {
                    dsts.push(Some(*high));
                } else {
                    halves.push((*low, *high));
                }
            }
            _ => return Err(unexpected()),
        }
    }
    out.emit(Kind::Load(Load {
        space,
        bytes,
        signed,
        align,
        dsts,
        addr,
        order: order(choice),
        read_only: choice.has(SlotName::NonCoherent)
            || choice.form.mnemonic == "ldu"
            || space == Space::Const,
    }));
    for (low, high) in halves {
        out.emit(upper_half(low, high, signed));
    }
    Ok(())
}

/// `st`
pub(super) fn store(
    choice: &Choice<'_>,
    args: &[Arg],
    out: &mut dyn Emit,
) -> Result<(), Complaint> {
    let [to, from, ..] = args else {
        return Err(unexpected());
    };
    let (addr, variable) = place(to)?;
    let Access {
        space,
        bytes,
        align,
    } = access(choice, variable)?;
    let wide = choice.ty(SlotName::Type)?.bits == 128;
    let values = match from {
        Arg::Vector(elements) => elements.as_slice(),
        scalar => std::slice::from_ref(scalar),
    };
    let mut srcs: SmallVec<[Operand; 4]> = SmallVec::new();
    for value in values {
        match value {
            Arg::Src(operand, _) => srcs.push(*operand),
            Arg::Quad(low, high) => {
                srcs.push(*low);
                if wide {
                    srcs.push(*high);
                }
            }
            _ => return Err(unexpected()),
        }
    }
    out.emit(Kind::Store(Store {
        space,
        bytes,
        align,
        srcs,
        addr,
        order: order(choice),
    }));
    Ok(())
}
