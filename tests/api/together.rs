//! Code in which threads go together: made when launches are worth it, and nothing but the time shows it.

use crate::{device, launches::SCALE};
use ptxlift::{Engine, EngineConfig, Instance, Launch, Module, args};
use std::time::{Duration, Instant};

/// Most launches, and the longest time, until it pays.
const LAUNCHES: usize = 20_000;
const LONG: Duration = Duration::from_secs(60);

/// Launches as often as it takes until there is more native code than at first, and a few times more; looks at all results. Whether there came to
/// be more.
fn launch_until_more(
    instance: &Instance,
    kernel: &str,
    launches: usize,
    expected: impl Fn(u32) -> u32,
) -> bool {
    const N: u32 = 4096;
    let program = instance.program();
    let kernel = instance.kernel(kernel).unwrap();
    let from: Vec<u32> = (0..N).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let (at_first, started) = (program.compile_time(), Instant::now());
    let mut more = 0;
    for _ in 0..launches {
        let device = instance.device();
        let input = device.alloc_from(&from).unwrap();
        let output = device.alloc_zeroed::<u32>(N as usize).unwrap();
        let launch = Launch::grid(N / 256).block(256);
        kernel
            .launch(launch, args![&input, &output, N - 3, 7u32])
            .unwrap();
        let found = output.to_vec().unwrap();
        for (i, (&from, found)) in from.iter().zip(found).enumerate() {
            let wanted = if i < N as usize - 3 {
                expected(from)
            } else {
                0
            };
            assert_eq!(found, wanted, "element {i}");
        }
        more += usize::from(program.compile_time() > at_first);
        if more > 8 || started.elapsed() > LONG {
            break;
        }
    }
    more > 0
}

fn instance(text: &str, config: EngineConfig) -> Instance {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let program = Engine::new(config.threads(1)).compile(&module).unwrap();
    program.instantiate(&device()).unwrap()
}

#[test]
fn launches_that_pay_have_code_made_for_threads_together() {
    let instance = instance(SCALE, EngineConfig::default());
    assert!(launch_until_more(&instance, "scale", LAUNCHES, |x| x.wrapping_mul(7)));
}

#[test]
fn none_is_made_where_threads_are_to_go_one_by_one() {
    let instance = instance(SCALE, EngineConfig::default().width(1));
    assert!(!launch_until_more(&instance, "scale", 300, |x| x.wrapping_mul(7)));
}

#[test]
fn kernels_that_call_functions_stay_as_they_are() {
    const CALLS: &str = "
.version 8.0
.target sm_80
.address_size 64
.func (.reg .u32 d) mix(.reg .u32 a, .reg .u32 n)
{
    .reg .pred p;
    mov.u32 d, a;
again:
    mad.lo.u32 d, d, 5, n;
    sub.u32 n, n, 1;
    setp.ne.u32 p, n, 0;
    @p bra again;
    ret;
}
.entry calls(.param .u64 from, .param .u64 to, .param .u32 n, .param .u32 rounds)
{
    .reg .pred p;
    .reg .b32 r<6>;
    .reg .b64 rd<4>;
    ld.param.u64 rd1, [from];
    ld.param.u64 rd2, [to];
    ld.param.u32 r1, [n];
    ld.param.u32 r2, [rounds];
    mov.u32 r3, %ctaid.x;
    mov.u32 r4, %tid.x;
    mad.lo.u32 r3, r3, 256, r4;
    setp.ge.u32 p, r3, r1;
    @p bra end;
    mul.wide.u32 rd3, r3, 4;
    add.u64 rd1, rd1, rd3;
    add.u64 rd2, rd2, rd3;
    ld.global.u32 r5, [rd1];
    call (r5), mix, (r5, r2);
    st.global.u32 [rd2], r5;
end:
    ret;
}
";
    let instance = instance(CALLS, EngineConfig::default());
    let mix = |x: u32| {
        (1..=7u32)
            .rev()
            .fold(x, |x, n| x.wrapping_mul(5).wrapping_add(n))
    };
    launch_until_more(&instance, "calls", 300, mix);
}
