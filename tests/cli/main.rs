//! The `ptxlift` command: what it prints, where, and with which exit code.

mod bench;
mod check;
mod clif;
mod dump;
mod eval;
mod fuzz;
mod isa;
mod json;
mod run;
mod settings;
mod test;
mod usage;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

fn ptxlift(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptxlift"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

/// How long a process has computed, in seconds.
#[cfg(target_os = "linux")]
fn computed(pid: u32) -> f64 {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind_name.split_whitespace().nth(11);
    ticks.and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0) / TICKS
}

/// What a command leaves that is interrupted once it computes.
#[cfg(target_os = "linux")]
fn interrupted(args: &[&str]) -> Output {
    use std::time::{Duration, Instant};
    let child = Command::new(env!("CARGO_BIN_EXE_ptxlift"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // Starting and compiling take far less.
    let start = Instant::now();
    while computed(child.id()) < 0.3 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    child.wait_with_output().expect("it ends")
}

fn ptxlift_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptxlift"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("it reads its input");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn code(output: &Output, expected: i32) {
    assert_eq!(
        output.status.code(),
        Some(expected),
        "standard output:\n{}\nstandard error:\n{}",
        stdout(output),
        stderr(output)
    );
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder that is removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "ptxlift-cli-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("a temporary file");
        path
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `out[i] = in[i] + n` for each thread; a kernel that traps; one that needs a barrier; one without end.
const KERNELS: &str = r#".version 8.0
.target sm_80
.address_size 64

.visible .entry add_n(.param .u64 out, .param .u64 in, .param .u32 n)
{
    .reg .b64 %p, %q, %i;
    .reg .b32 %r<4>;
    ld.param.u64 %p, [out];
    ld.param.u64 %q, [in];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %i, %r1, 4;
    add.u64 %p, %p, %i;
    add.u64 %q, %q, %i;
    ld.global.u32 %r2, [%q];
    add.u32 %r3, %r2, %r0;
    st.global.u32 [%p], %r3;
    ret;
}

.visible .entry traps()
{
    trap;
}

.visible .entry meets()
{
    wgmma.fence.sync.aligned;
    ret;
}

.visible .entry endless()
{
LOOP:
    bra LOOP;
}
"#;

const DESCRIPTION: &str = r#"format = 1
name = "add"
modules = ["kernels.ptx"]
entry = "add_n"
grid = [1, 1, 1]
block = [4, 1, 1]
expect = "ok"

[[param]]
name = "out"
kind = "buffer"
type = "u32"
count = 4
init = "zeros"
output = true
tol = "exact"
expected = "expected.bin"

[[param]]
name = "in"
kind = "buffer"
type = "u32"
count = 4
init = "iota start=10 step=1"

[[param]]
name = "n"
kind = "scalar"
type = "u32"
bits = "0x00000005"
"#;

fn words(list: &[u32]) -> Vec<u8> {
    list.iter().flat_map(|w| w.to_le_bytes()).collect()
}
