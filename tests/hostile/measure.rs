//! A process of our own: what it says, how long it takes, how much memory it takes at most.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What became of a process.
pub struct Measured {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Seconds of processor time, all threads together; of the clock where the system does not say.
    pub cpu: f64,
    /// Seconds of the clock.
    pub wall: f64,
    /// Most bytes that were resident at once, in MiB; 0 where the system does not say, or where they were fewer than this process had.
    pub megabytes: u64,
}

/// Bytes that are kept of what a process says.
pub const MOST_SAID: u64 = 1 << 20;

/// A file that is removed with the value.
pub struct Temporary(pub PathBuf);

impl Temporary {
    pub fn new(ending: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hostile-{}-{next}{ending}", std::process::id());
        Temporary(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a command to its end; one that goes on longer than `limit` is killed.
///
/// The process that calls this should be small: less than what it ever had resident when it starts the other is not measured.
pub fn measure(command: &mut Command, limit: Duration) -> Measured {
    let (out, err) = (Temporary::new(".out"), Temporary::new(".err"));
    let create = |file: &Temporary| File::create(&file.0).expect("a temporary file");
    command.stdout(Stdio::from(create(&out)));
    command.stderr(Stdio::from(create(&err)));
    let own = most_resident();
    let start = Instant::now();
    let mut child = command.spawn().expect("the command starts");
    let (code, usage) = loop {
        if let Some(ended) = ended(&mut child) {
            break ended;
        }
        if start.elapsed() > limit {
            child.kill().expect("it can be killed");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let wall = start.elapsed().as_secs_f64();
    let (cpu, megabytes) = usage.unwrap_or((wall, 0));
    // What the system says begins with the most that this process had.
    let megabytes = if megabytes > own { megabytes } else { 0 };
    // No more than anybody looks at: this process must stay small.
    let read = |file: &Temporary| {
        let mut bytes = Vec::new();
        let file = File::open(&file.0).expect("what it printed");
        file.take(MOST_SAID).read_to_end(&mut bytes).map(|_| bytes)
    };
    let read = |file| read(file).expect("what it printed");
    Measured {
        code,
        stdout: read(&out),
        stderr: read(&err),
        cpu,
        wall,
        megabytes,
    }
}

/// The most that this process ever had resident, in MiB, rounded up; 0 where the system does not say.
fn most_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let number = line.and_then(|l| l.split_whitespace().next());
    let kib: u64 = number.and_then(|n| n.parse().ok()).unwrap_or(0);
    kib.div_ceil(1024)
}

/// Exit code, and seconds of processor time with the most MiB that were resident.
type Ended = (Option<i32>, Option<(f64, u64)>);

#[cfg(target_os = "linux")]
fn ended(child: &mut Child) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: a struct of numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid; the child is ours and is waited for nowhere else.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, libc::WNOHANG, &mut usage) };
    if waited == 0 {
        return None;
    }
    assert_eq!(waited, child.id() as i32, "the child is waited for once");
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    Some((code, Some((cpu, usage.ru_maxrss as u64 / 1024))))
}

#[cfg(not(target_os = "linux"))]
fn ended(child: &mut Child) -> Option<Ended> {
    let status = child.try_wait().expect("the child can be waited for")?;
    Some((status.code(), None))
}
