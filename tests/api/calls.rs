//! Device functions, module variables, lifetimes of handles.

use crate::{ENGINES, device, instance, usage};
use ptxlift::{Address, Arg, ByValue, Engine, EngineConfig, Error, FaultKind, Module, Usage, args};

pub(crate) const FUNCTIONS: &str = "
.version 7.0
.target sm_70
.address_size 64

.global .align 8 .u64 counter;
.global .align 8 .u64 pointer = generic(counter);
.global .align 4 .u32 numbers[3] = {7, 8};
.const .align 4 .u32 fixed[2] = {0x11223344, 5};

.func (.param .u32 d) extract(.param .u32 a, .param .u32 b, .param .u32 c)
{
    .reg .b32 %r<5>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    ld.param.u32 %r3, [c];
    bfe.u32 %r4, %r1, %r2, %r3;
    st.param.u32 [d], %r4;
    ret;
}

.func (.reg .u64 d) registers(.reg .u64 a, .reg .u16 b)
{
    cvt.u64.u16 d, b;
    add.u64 d, d, a;
    ret;
}

.func nothing() { ret; }

.func (.param .u8 d) narrow(.param .u8 a, .param .s16 b)
{
    .reg .b16 %h<4>;
    ld.param.u8 %h1, [a];
    ld.param.s16 %h2, [b];
    add.u16 %h3, %h1, %h2;
    st.param.u8 [d], %h3;
    ret;
}

.func (.param .s16 d) negate(.param .s16 a)
{
    .reg .b16 %h<3>;
    ld.param.s16 %h1, [a];
    neg.s16 %h2, %h1;
    st.param.s16 [d], %h2;
    ret;
}

.func (.reg .b32 low, .reg .b32 high) halves(.param .b64 a)
{
    .reg .b64 %rd<2>;
    ld.param.b64 %rd1, [a];
    mov.b64 {low, high}, %rd1;
    ret;
}

.func (.param .align 4 .b8 d[8]) swap(.param .align 4 .b8 a[8])
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    ld.param.b32 %r2, [a+4];
    st.param.b32 [d], %r2;
    st.param.b32 [d+4], %r1;
    ret;
}

.func (.param .f32 d) same(.param .f32 a)
{
    .reg .f32 %f;
    ld.param.f32 %f, [a];
    st.param.f32 [d], %f;
    ret;
}

.func (.param .u64 d) count(.param .u64 by)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [by];
    ld.global.u64 %rd2, [pointer];
    ld.u64 %rd3, [%rd2];
    add.u64 %rd3, %rd3, %rd1;
    st.u64 [%rd2], %rd3;
    st.param.u64 [d], %rd3;
    ret;
}

.func (.param .u32 d) sum(.param .u64 p, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
next:
    setp.eq.u32 %p, %r1, 0;
    @%p bra done;
    ld.u32 %r3, [%rd1];
    add.u32 %r2, %r2, %r3;
    add.u64 %rd1, %rd1, 4;
    sub.u32 %r1, %r1, 1;
    bra next;
done:
    st.param.u32 [d], %r2;
    ret;
}

.func spin()
{
again:
    bra again;
}

.entry touch() { ret; }
";

#[test]
fn functions_take_and_give_values_of_all_kinds() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    for kind in ENGINES {
        let extract = instance
            .function::<(u32, u32, u32), u32>("extract")
            .unwrap()
            .engine(kind);
        assert_eq!(extract.call((0xdead_beef, 4, 8)).unwrap(), 0xee);
        let registers = instance
            .function::<(u64, u16), i64>("registers")
            .unwrap()
            .engine(kind);
        assert_eq!(
            registers.call((1 << 40, 0xffff)).unwrap(),
            (1 << 40) + 0xffff
        );
        let nothing = instance.function::<(), ()>("nothing").unwrap().engine(kind);
        nothing.call(()).unwrap();
        let halves = instance
            .function::<(u64,), (u32, i32)>("halves")
            .unwrap()
            .engine(kind);
        assert_eq!(halves.call((0xffff_ffff_0000_0005,)).unwrap(), (5, -1));
        type Pair = ByValue<[u32; 2]>;
        let swap = instance
            .function::<(Pair,), Pair>("swap")
            .unwrap()
            .engine(kind);
        assert_eq!(swap.call((ByValue([1, 2]),)).unwrap(), ByValue([2, 1]));
        let same = instance
            .function::<(f32,), f32>("same")
            .unwrap()
            .engine(kind);
        assert_eq!(same.call((-0.0,)).unwrap().to_bits(), 0x8000_0000);
        let sum = instance
            .function::<(Address, u32), u32>("sum")
            .unwrap()
            .engine(kind);
        let buffer = instance.device().alloc_from(&[1u32, 2, 3]).unwrap();
        assert_eq!(sum.call((buffer.address(), 3)).unwrap(), 6);
        let Err(Error::Fault(fault)) = sum.call((buffer.address(), 4)) else {
            panic!("no fault")
        };
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
        assert_eq!(fault.address, Some((buffer.address().0 + 12, 4)));

        let any = instance.any_function("halves").unwrap().engine(kind);
        let bytes = any.call(args![0x1122_3344_5566_7788u64]).unwrap();
        assert_eq!(
            bytes,
            [0x5566_7788u32.to_le_bytes(), 0x1122_3344u32.to_le_bytes()]
        );
    }
}

#[test]
fn a_predicate_is_the_lowest_bit_of_what_is_passed() {
    let instance = instance(
        "
.version 8.7
.target sm_90
.address_size 64
.func (.reg .pred q) invert(.reg .pred p) { not.pred q, p; ret; }
.func (.param .b8 d) same(.param .b8 a)
{
    .reg .b16 h;
    ld.param.b8 h, [a];
    st.param.b8 [d], h;
    ret;
}
.func (.param .b32 d) through(.param .b8 a)
{
    .reg .b64 pointer;
    .reg .pred p, q;
    .reg .b32 r;
    .param .b8 byte;
    .reg .b16 h;
    ld.param.b8 h, [a];
    st.param.b8 [byte], h;
    mov.b64 pointer, same;
P: .callprototype (.reg .pred _) _ (.param .b8 _);
    call (p), pointer, (byte), P;
    selp.b32 r, 3, 4, p;
    st.param.b32 [d], r;
    ret;
}
",
        EngineConfig::default(),
    );
    for kind in ENGINES {
        let invert = instance.any_function("invert").unwrap().engine(kind);
        let through = instance.any_function("through").unwrap().engine(kind);
        for (byte, set) in [(0x00, false), (0x01, true), (0x58, false), (0x59, true)] {
            let inverted = invert.call(args![Arg::bytes(&[byte])]).unwrap();
            assert_eq!(inverted, [[u8::from(!set)]], "{kind:?} {byte:#x}");
            let got = through.call(args![Arg::bytes(&[byte])]).unwrap();
            let expected: u32 = if set { 3 } else { 4 };
            assert_eq!(got, [expected.to_le_bytes()], "{kind:?} {byte:#x}");
        }
    }
}

#[test]
fn variables_are_read_written_and_pointed_to() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    let counter = instance.global("counter").unwrap();
    let pointer = instance.global("pointer").unwrap();
    assert_eq!(pointer.read::<u64>().unwrap(), [counter.address().0]);
    for kind in ENGINES {
        counter.write(&[10u64]).unwrap();
        let count = instance
            .function::<(u64,), u64>("count")
            .unwrap()
            .engine(kind);
        assert_eq!(count.call((5,)).unwrap(), 15);
        assert_eq!(count.call((5,)).unwrap(), 20);
        assert_eq!(counter.read::<u64>().unwrap(), [20]);
    }
    assert_eq!(
        instance.global("numbers").unwrap().read::<u32>().unwrap(),
        [7, 8, 0]
    );
    let fixed = instance.global("fixed").unwrap();
    assert_eq!(
        fixed.read::<u8>().unwrap(),
        [0x44, 0x33, 0x22, 0x11, 5, 0, 0, 0]
    );
    fixed.write(&[1u8]).unwrap();
    assert_eq!(fixed.read::<u32>().unwrap(), [0x1122_3301, 5]);
    let error = usage(instance.global("counter").unwrap().write(&[1u64, 2]));
    assert!(matches!(error, Usage::Length { .. }), "{error}");
    // Another instance has variables of its own.
    let other = instance.program().instantiate(instance.device()).unwrap();
    assert_eq!(other.global("counter").unwrap().read::<u64>().unwrap(), [0]);
}

#[test]
fn native_pointers_exist_where_nothing_can_go_wrong() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    let extract = instance
        .function::<(u32, u32, u32), u32>("extract")
        .unwrap();
    let pointer = extract.pointer().unwrap();
    // SAFETY: `extract` lives.
    assert_eq!(unsafe { pointer(0xdead_beef, 4, 8) }, 0xee);
    let same = instance.function::<(f32,), f32>("same").unwrap();
    let pointer = same.pointer().unwrap();
    // SAFETY: `same` lives.
    assert_eq!(unsafe { pointer(0x8000_0000) }, 0x8000_0000);
    // Narrow results have no pointers.
    let narrow = instance.function::<(u8, i16), u8>("narrow").unwrap();
    assert!(narrow.pointer().is_none());
    for a in 0..=255u8 {
        for b in [i16::MIN, -300, -1, 0, 1, 56, 300, i16::MAX] {
            let expected = u64::from(a).wrapping_add_signed(b.into()) & 0xff;
            assert_eq!(u64::from(narrow.call((a, b)).unwrap()), expected);
        }
    }
    let negate = instance.function::<(i16,), i16>("negate").unwrap();
    for (a, expected) in [(1, -1), (-1, 1), (i16::MIN, i16::MIN), (300, -300)] {
        assert_eq!(negate.call((a,)).unwrap(), expected);
    }
    assert!(
        instance
            .function::<(Address, u32), u32>("sum")
            .unwrap()
            .pointer()
            .is_none()
    );
    assert!(
        instance
            .function::<(), ()>("spin")
            .unwrap()
            .pointer()
            .is_none()
    );
    assert!(
        instance
            .function::<(u64,), u64>("count")
            .unwrap()
            .pointer()
            .is_none()
    );
}

#[test]
fn handles_keep_alive_what_they_need() {
    let (function, variable, buffer) = {
        let device = device();
        let module = Module::parse(FUNCTIONS).unwrap();
        let program = Engine::default().compile(&module).unwrap();
        let instance = program.instantiate(&device).unwrap();
        let buffer = device.alloc_from(&[1u32, 2, 3]).unwrap();
        let function = instance.function::<(u64,), u64>("count").unwrap();
        (function, instance.global("counter").unwrap(), buffer)
    };
    assert_eq!(function.call((2,)).unwrap(), 2);
    assert_eq!(variable.read::<u64>().unwrap(), [2]);
    drop(function);
    assert_eq!(variable.read::<u64>().unwrap(), [2]);
    let device = buffer.device().clone();
    drop(variable);
    assert_eq!(device.memory_used(), 512, "one buffer and its gap");
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
    drop(buffer);
    assert_eq!(device.memory_used(), 0);
}
