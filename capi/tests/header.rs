//! `include/ptxlift.h` is what cbindgen makes of the sources. `PTXLIFT_BLESS=1` writes it anew.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_crate(root)
        .with_config(config)
        .generate()
        .expect("a header")
        .write(&mut made);
    let path = root.join("include/ptxlift.h");
    if std::env::var_os("PTXLIFT_BLESS").is_some() {
        std::fs::write(&path, &made).expect("include/ptxlift.h can be written");
    }
    let kept = std::fs::read(&path).expect("include/ptxlift.h");
    assert!(
        kept == made,
        "include/ptxlift.h is out of date: run with PTXLIFT_BLESS=1\n{}",
        String::from_utf8_lossy(&made)
    );
}
