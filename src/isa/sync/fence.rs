//! Fences. PTX ISA, `membar`, `fence`.
//!
//! What a proxy sees apart from others on a GPU (surfaces, tensor copies, constants) is here the same memory, so the
//! fences of proxies order as the others do.

use crate::ir::Kind;
use crate::ir::sync::Fence;
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, TypeOf, U32,
    first, form, maybe, one, param, word,
};

const PROXY: Slot = first(SlotName::Variant, &[word("proxy")]);
const SCOPE: Slot = one(
    SlotName::Scope,
    &[
        word("cta"),
        word("cluster").needs((7, 8), 90),
        word("gpu"),
        word("sys"),
    ],
);
const IN_CLUSTER: Slot = one(SlotName::Scope, &[word("cluster")]);
const ACQUIRE: Slot = one(SlotName::Order, &[word("acquire")]);
const RELEASE: Slot = one(SlotName::Order, &[word("release")]);
const TENSOR_MAP: Slot = one(SlotName::Proxy, &[word("tensormap::generic")]);
const ASYNC_GENERIC: Slot = one(SlotName::Proxy, &[word("async::generic")]);
const ACQUIRES_FROM: Slot = one(
    SlotName::Restriction,
    &[word("sync_restrict::shared::cluster")],
);
const RELEASES_OF: Slot = one(SlotName::Restriction, &[word("sync_restrict::shared::cta")]);
const PROXY_RELEASES_OF: Slot = one(
    SlotName::Restriction,
    &[
        word("sync_restrict::shared::cta"),
        word("sync_restrict::shared::cluster::read").needs((9, 4), 90),
    ],
);

const DOC: &str = "orders the thread's memory accesses before it with those behind it";
const PROXY_DOC: &str = "orders memory accesses of different kinds";
const RESTRICTED_DOC: &str = "orders the thread's accesses of shared memory";
const TENSOR_MAP_OPERANDS: &[Param] = &[
    param("a", OperandKind::UnreadAddress, TypeOf::Address),
    param("size", OperandKind::Literal(128, 128), U32),
];

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form(
        "membar",
        &[one(
            SlotName::Scope,
            &[word("cta"), word("gl"), word("sys").needs((2, 0), 20)],
        )],
        &[],
        Build::Emit(fence),
        DOC,
    )
    .needs((1, 4), 10),
    form(
        "membar",
        &[
            PROXY,
            one(
                SlotName::Proxy,
                &[word("alias"), word("async").needs((8, 0), 90)],
            ),
        ],
        &[],
        Build::Emit(fence),
        PROXY_DOC,
    )
    .needs((7, 5), 60),
    form(
        "fence",
        &[
            maybe(
                SlotName::Order,
                &[
                    word("sc"),
                    word("acq_rel"),
                    word("acquire").needs((8, 6), 90),
                    word("release").needs((8, 6), 90),
                ],
            ),
            SCOPE,
        ],
        &[],
        Build::Emit(fence),
        DOC,
    )
    .needs((5, 1), 70),
    form(
        "fence",
        &[ACQUIRE, ACQUIRES_FROM, IN_CLUSTER],
        &[],
        Build::Emit(fence),
        RESTRICTED_DOC,
    )
    .needs((8, 6), 90),
    form(
        "fence",
        &[RELEASE, RELEASES_OF, IN_CLUSTER],
        &[],
        Build::Emit(fence),
        RESTRICTED_DOC,
    )
    .needs((8, 6), 90),
    form(
        "fence",
        &[
            one(SlotName::Restriction, &[word("mbarrier_init")]),
            RELEASE,
            IN_CLUSTER,
        ],
        &[],
        Build::Emit(fence),
        "orders the thread's `mbarrier.init` before what others do with the object",
    )
    .needs((8, 0), 90),
    form(
        "fence",
        &[PROXY, one(SlotName::Proxy, &[word("alias")])],
        &[],
        Build::Emit(fence),
        PROXY_DOC,
    )
    .needs((7, 5), 70),
    form(
        "fence",
        &[
            PROXY,
            one(SlotName::Proxy, &[word("async")]),
            maybe(
                SlotName::Space,
                &[word("global"), word("shared::cta"), word("shared::cluster")],
            ),
        ],
        &[],
        Build::Emit(fence),
        PROXY_DOC,
    )
    .needs((8, 0), 90),
    form(
        "fence",
        &[PROXY, TENSOR_MAP, RELEASE, SCOPE],
        &[],
        Build::Emit(fence),
        PROXY_DOC,
    )
    .needs((8, 3), 90),
    form(
        "fence",
        &[PROXY, TENSOR_MAP, ACQUIRE, SCOPE],
        TENSOR_MAP_OPERANDS,
        Build::Emit(fence),
        PROXY_DOC,
    )
    .needs((8, 3), 90),
    form(
        "fence",
        &[PROXY, ASYNC_GENERIC, ACQUIRE, ACQUIRES_FROM, IN_CLUSTER],
        &[],
        Build::Emit(fence),
        PROXY_DOC,
    )
    .needs((8, 6), 90),
    form(
        "fence",
        &[PROXY, ASYNC_GENERIC, RELEASE, PROXY_RELEASES_OF, IN_CLUSTER],
        &[],
        Build::Emit(fence),
        PROXY_DOC,
    )
    .needs((8, 6), 90),
];

fn fence(choice: &Choice<'_>, _: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let membar = choice.form.mnemonic == "membar";
    out.emit(Kind::Fence(match choice.word(SlotName::Order) {
        Some("sc") => Fence::Sequential,
        Some("acquire") => Fence::Acquire,
        Some("release") => Fence::Release,
        None if membar && !choice.has(SlotName::Proxy) => Fence::Sequential,
        Some("acq_rel") | None => Fence::AcquireRelease,
        Some(other) => return Err(Complaint::row(format!("`{other}` is no fence"))),
    }));
    Ok(())
}
