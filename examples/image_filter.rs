//! Filters an image with bit tricks, a thread a pixel, checks the result against plain Rust, and writes a PNG.
//!
//!     cargo run --release --example image_filter [FILE.png]
//!
//! The filter leaves four levels of red, green and blue, dithered in an ordered pattern, and inks the edges. All four
//! channels of a pixel stand in one register: `vabsdiff4`, `vmax4` and `vset4` work on its bytes side by side, `brev` and
//! `bfi` make the pattern, `lop3` and `shf` spread bits, `prmt` builds pixels. The picture shows what went in beside what
//! came out.

use ptxlift::{Device, DeviceConfig, Engine, Launch, Module, args};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

const TEXT: &str = "
.version 8.0
.target sm_80
.address_size 64

.visible .entry dither_and_ink(
    .param .u64 input, .param .u64 output, .param .u32 width, .param .u32 height)
{
    .reg .pred %p<5>;
    .reg .b32 %x, %y, %w, %h, %zero, %r<28>;
    .reg .b64 %in, %out, %rd<4>;

    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %x, %tid.x;
    mad.lo.u32 %x, %r0, %r1, %x;
    mov.u32 %r0, %ctaid.y;
    mov.u32 %r1, %ntid.y;
    mov.u32 %y, %tid.y;
    mad.lo.u32 %y, %r0, %r1, %y;
    ld.param.u32 %w, [width];
    ld.param.u32 %h, [height];
    setp.ge.u32 %p0, %x, %w;
    setp.ge.or.u32 %p0, %y, %h, %p0;
    @%p0 ret;

    // The pixel, its right and its lower neighbour; at the border the pixel itself.
    ld.param.u64 %in, [input];
    mad.lo.u32 %r2, %y, %w, %x;
    mul.wide.u32 %rd0, %r2, 4;
    add.u64 %in, %in, %rd0;
    ld.global.u32 %r3, [%in];
    mov.b32 %r4, %r3;
    mov.b32 %r5, %r3;
    add.u32 %r6, %x, 1;
    setp.lt.u32 %p1, %r6, %w;
    @%p1 ld.global.u32 %r4, [%in + 4];
    add.u32 %r6, %y, 1;
    setp.lt.u32 %p2, %r6, %h;
    mul.wide.u32 %rd1, %w, 4;
    add.u64 %rd1, %in, %rd1;
    @%p2 ld.global.u32 %r5, [%rd1];

    // An edge: a channel differs from a neighbour's by more than 40.
    mov.b32 %zero, 0;
    mov.b32 %r6, 0x28282828;
    vabsdiff4.u32.u32.u32 %r7, %r3, %r4, %zero;
    vabsdiff4.u32.u32.u32 %r8, %r3, %r5, %zero;
    vmax4.u32.u32.u32 %r9, %r7, %r8, %zero;
    vset4.u32.u32.gt %r10, %r9, %r6, %zero;
    setp.ne.u32 %p3, %r10, 0;

    // Bayer's pattern of 4 by 4: the bits of x ^ y and y in turn, backwards. 0 to 15, times 4, in every byte but alpha.
    xor.b32 %r11, %x, %y;
    and.b32 %r12, %r11, 1;
    bfi.b32 %r12, %y, %r12, 1, 1;
    bfe.u32 %r13, %r11, 1, 1;
    bfi.b32 %r12, %r13, %r12, 2, 1;
    bfe.u32 %r13, %y, 1, 1;
    bfi.b32 %r12, %r13, %r12, 3, 1;
    brev.b32 %r12, %r12;
    shr.u32 %r12, %r12, 26;
    prmt.b32 %r12, %r12, 0, 0x4000;

    // Four levels: the two leading bits of the sum, four times.
    vadd4.u32.u32.u32.sat %r14, %r3, %r12, %zero;
    and.b32 %r14, %r14, 0xc0c0c0c0;
    shf.r.clamp.b32 %r15, %r14, 0, 2;
    or.b32 %r14, %r14, %r15;
    shr.u32 %r15, %r14, 4;
    lop3.b32 %r14, %r14, %r15, 0, 0xfc;

    // Ink is black; alpha is 255.
    selp.b32 %r14, 0, %r14, %p3;
    prmt.b32 %r14, %r14, 0xff, 0x4210;
    ld.param.u64 %out, [output];
    add.u64 %out, %out, %rd0;
    st.global.u32 [%out], %r14;
    ret;
}
";

const WIDTH: u32 = 640;
const HEIGHT: u32 = 400;

/// Red, green, blue, alpha.
type Pixel = [u8; 4];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/image_filter.png"),
        PathBuf::from,
    );
    let input = landscape();

    let module = Module::parse_named("image_filter.ptx", TEXT)?;
    let device = Device::new(DeviceConfig::default())?;
    let instance = Engine::default().compile(&module)?.instantiate(&device)?;
    let pixels = device.alloc_from(&input)?.read_only();
    let filtered = device.alloc_zeroed::<Pixel>(input.len())?;
    let report = instance.kernel("dither_and_ink")?.launch(
        Launch::grid((WIDTH.div_ceil(16), HEIGHT.div_ceil(16))).block((16, 16)),
        args![&pixels, &filtered, WIDTH, HEIGHT],
    )?;
    let output = filtered.to_vec()?;

    for (i, pixel) in output.iter().enumerate() {
        let (x, y) = (i as u32 % WIDTH, i as u32 / WIDTH);
        assert_eq!(*pixel, expected(&input, x, y), "at {x}, {y}");
    }
    println!(
        "{WIDTH} x {HEIGHT} pixels filtered in {:.1?} on {} threads (compiled in {:.1?}), all as plain Rust says",
        report.run_time, report.workers, report.compile_time
    );
    write_beside(&path, &input, &output)?;
    println!("written to {}", path.display());
    Ok(())
}

/// The filter again, a channel at a time.
fn expected(image: &[Pixel], x: u32, y: u32) -> Pixel {
    let at = |x: u32, y: u32| image[(y.min(HEIGHT - 1) * WIDTH + x.min(WIDTH - 1)) as usize];
    let (here, right, below) = (at(x, y), at(x + 1, y), at(x, y + 1));
    let differs = |a: Pixel, b: Pixel| (0..4).any(|c| a[c].abs_diff(b[c]) > 40);
    if differs(here, right) || differs(here, below) {
        return [0, 0, 0, 255];
    }
    const BAYER: [[u8; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];
    let threshold = 4 * BAYER[y as usize % 4][x as usize % 4];
    let level = |channel: u8| (channel.saturating_add(threshold) / 64) * 85;
    [level(here[0]), level(here[1]), level(here[2]), 255]
}

/// Hills, a lake and a sun, in integers.
fn landscape() -> Vec<Pixel> {
    let pixel = |i: u32| -> Pixel {
        let (x, y) = ((i % WIDTH) as i32, (i / WIDTH) as i32);
        let ridge = |period: i32, height: i32, base: i32| {
            let phase = (x % period - period / 2).abs();
            base - height + phase * phase * height * 4 / (period * period)
        };
        let sun = (x - 470).pow(2) + (y - 110).pow(2);
        let [r, g, b] = if y > 300 {
            let wave = ((x / 3 + y * y / 40) ^ (y * 3)) & 31;
            [20 + wave, 70 + wave * 2, 130 + (y - 300) / 2 + wave]
        } else if y > ridge(210, 60, 280) {
            [30 + y / 8, 90 + y / 4, 40]
        } else if y > ridge(330, 130, 290) {
            [110 + y / 8, 100 + y / 8, 130]
        } else if sun < 45 * 45 {
            [255, 235 - sun / 40, 120]
        } else {
            let glow = (90_000 - sun).max(0) / 900;
            [90 + glow + y / 4, 130 + glow / 2 + y / 4, 225 - y / 8]
        };
        [r.min(255) as u8, g.min(255) as u8, b.min(255) as u8, 255]
    };
    (0..WIDTH * HEIGHT).map(pixel).collect()
}

/// Writes both images into one file, the first on the left.
fn write_beside(path: &Path, left: &[Pixel], right: &[Pixel]) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let rows = left
        .chunks(WIDTH as usize)
        .zip(right.chunks(WIDTH as usize));
    let bytes: Vec<u8> = rows.flat_map(|(l, r)| [l, r].concat()).flatten().collect();
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), 2 * WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&bytes)?;
    writer.finish()?;
    Ok(())
}
