//! Files and command lines that mean harm, through the command.

use crate::case::{MANY, MILLION};
use crate::measure::{Measured, Temporary, measure};
use crate::texts::noise;
use crate::{Rows, note, patience, within};
use libtest_mimic::{Failed, Trial};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// What a trial tells: the exit code that must come, and words that must stand on standard error.
struct Wanted {
    code: i32,
    words: Vec<String>,
    seconds: f64,
    megabytes: u64,
}

fn wanted(code: i32, words: &[&str]) -> Wanted {
    Wanted {
        code,
        words: words.iter().map(ToString::to_string).collect(),
        seconds: 1.0,
        megabytes: 64,
    }
}

impl Wanted {
    fn within(mut self, seconds: f64, megabytes: u64) -> Self {
        self.seconds = seconds;
        self.megabytes = megabytes;
        self
    }

    fn judge(&self, done: &Measured) -> Result<String, Failed> {
        let err = String::from_utf8_lossy(&done.stderr);
        let cut: String = err.chars().take(4000).collect();
        if done.code != Some(self.code) {
            return Err(format!("code {:?}, not {}\n{cut}", done.code, self.code).into());
        }
        // Test reports go to standard output.
        let out = String::from_utf8_lossy(&done.stdout);
        let said = |w: &String| err.contains(w) || out.contains(w);
        if let Some(word) = self.words.iter().find(|&w| !said(w)) {
            return Err(format!("no {word:?} in\n{cut}\n{out:.4000}").into());
        }
        if done.stderr.len() > 1 << 16 {
            return Err(format!("{} bytes of words\n{cut}", done.stderr.len()).into());
        }
        let first = err.lines().next().or(out.lines().next());
        Ok(first.unwrap_or_default().to_string())
    }
}

fn ptxlift(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxlift"));
    command.args(args).stdin(Stdio::null());
    command
}

/// A test that makes its files in a folder and runs the command once.
type Attempt = (&'static str, fn(&Path) -> Measured, Wanted);

fn run(args: &[&str]) -> Measured {
    measure(&mut ptxlift(args), patience(2.0))
}

fn write(folder: &Path, name: &str, contents: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, contents).expect("a temporary file");
    path.display().to_string()
}

const KERNEL: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
                      .entry k(.param .u64 p) {\n.reg .b64 %d; ld.param.u64 %d, [p];\nst.global.u32 [%d], 7;\nret; }\n";

/// Runs a description of a launch of [`KERNEL`] whose only parameter is described so.
fn described(folder: &Path, head: &str, parameter: &str) -> Measured {
    write(folder, "k.ptx", KERNEL);
    let head = if head.is_empty() {
        "format = 1\nmodules = [\"k.ptx\"]\nentry = \"k\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n"
    } else {
        head
    };
    let description = write(
        folder,
        "launch.toml",
        format!("{head}[[param]]\n{parameter}"),
    );
    run(&["run", &description])
}

/// Runs [`KERNEL`] with this argument.
fn argument(folder: &Path, argument: &str) -> Measured {
    let file = write(folder, "k.ptx", KERNEL);
    run(&["run", &file, "--arg", argument])
}

/// Runs a table of one row.
fn table(folder: &Path, contents: &[u8]) -> Measured {
    let file = write(folder, "t.tsv", contents);
    run(&["test", &file])
}

fn attempts() -> Vec<Attempt> {
    let files: Vec<Attempt> = vec![
        (
            "a file that is not there",
            |_| run(&["check", "no/such/file.ptx"]),
            wanted(1, &["error: no/such/file.ptx: there is no such file"]),
        ),
        (
            "a folder as a file",
            |folder| run(&["check", &folder.display().to_string()]),
            wanted(1, &["is a folder; a file is wanted"]),
        ),
        (
            "a file name of a million letters",
            |_| run(&["check", &"x".repeat(100 * MANY)]),
            wanted(1, &["File name too long"]),
        ),
        (
            "a million bytes of noise",
            |folder| run(&["check", &write(folder, "a.ptx", noise(MILLION))]),
            wanted(1, &["not UTF-8 from byte", "in line 1"]),
        ),
        (
            "text that is not UTF-8 in line 3",
            |folder| {
                run(&[
                    "check",
                    &write(folder, "a.ptx", b".version 8.0\n.target sm_80\n// \xff\n"),
                ])
            },
            wanted(1, &["not UTF-8 from byte 30 on, in line 3"]),
        ),
        (
            "a surrogate in UTF-8",
            |folder| run(&["check", &write(folder, "a.ptx", b"// \xed\xa0\x80\n")]),
            wanted(1, &["not UTF-8 from byte 3 on, in line 1"]),
        ),
        (
            "/dev/zero",
            |_| run(&["check", "/dev/zero"]),
            wanted(1, &["error: /dev/zero: longer than 1073741824 bytes"]).within(4.0, 2100),
        ),
        (
            "/dev/zero on standard input",
            |_| {
                let zero = std::fs::File::open("/dev/zero").expect("a device");
                measure(ptxlift(&["check", "-"]).stdin(zero), patience(4.0))
            },
            wanted(1, &["error: <stdin>: longer than 1073741824 bytes"]).within(4.0, 2100),
        ),
        (
            "a pipe without end",
            |_| {
                let mut yes = Command::new("yes")
                    .stdout(Stdio::piped())
                    .spawn()
                    .expect("it starts");
                let pipe = yes.stdout.take().expect("a pipe");
                let done = measure(ptxlift(&["check", "-"]).stdin(pipe), patience(10.0));
                let _ = yes.kill();
                let _ = yes.wait();
                done
            },
            wanted(1, &["error: <stdin>: longer than 1073741824 bytes"]).within(10.0, 2100),
        ),
        (
            "standard input that is closed",
            |_| run(&["check", "-"]),
            wanted(1, &["error: <stdin> is empty, not PTX"]),
        ),
    ];
    let descriptions: Vec<Attempt> = vec![
        (
            "launch.toml: a buffer of a terabyte",
            |f| {
                described(
                    f,
                    "",
                    "name = \"p\"\nkind = \"buffer\"\ntype = \"u32\"\ncount = 274877906944\n",
                )
            },
            wanted(
                1,
                &[
                    "a buffer of 274877906944 elements of u32 is too large; the most is 4294967296 bytes",
                ],
            ),
        ),
        (
            "launch.toml: a buffer past all numbers",
            |f| {
                described(
                    f,
                    "",
                    "name = \"p\"\nkind = \"buffer\"\ntype = \"u32\"\ncount = 9223372036854775807\n",
                )
            },
            wanted(
                1,
                &["a buffer of 9223372036854775807 elements of u32 is too large"],
            ),
        ),
        (
            "launch.toml: a count below nothing",
            |f| {
                described(
                    f,
                    "",
                    "name = \"p\"\nkind = \"buffer\"\ntype = \"u32\"\ncount = -1\n",
                )
            },
            wanted(1, &["line 10: ", "-1"]),
        ),
        (
            "launch.toml: a tolerance that is no number",
            |f| {
                write(f, "four.bin", [7, 0, 0, 0]);
                described(
                    f,
                    "",
                    "name = \"p\"\nkind = \"buffer\"\ntype = \"f32\"\ncount = 1\noutput = true\nexpected = \"four.bin\"\n\
                     tol = \"abs NaN\"\n",
                )
            },
            wanted(1, &["tolerance"]),
        ),
        (
            "launch.toml: a file that is not there",
            |f| {
                described(
                    f,
                    "",
                    "name = \"p\"\nkind = \"buffer\"\ntype = \"u32\"\ncount = 1\ninit = \"file\"\nfile = \"no.bin\"\n",
                )
            },
            wanted(1, &["param `p`: ", "no.bin: No such file or directory"]),
        ),
        (
            "launch.toml: /dev/zero as contents",
            |f| {
                described(
                    f,
                    "",
                    "name = \"p\"\nkind = \"buffer\"\ntype = \"u32\"\ncount = 1\ninit = \"file\"\nfile = \"/dev/zero\"\n",
                )
            },
            wanted(1, &["param `p`: /dev/zero: longer than 1073741824 bytes"]).within(4.0, 2100),
        ),
        (
            "launch.toml: a grid past 32 bits",
            |f| {
                described(
                    f,
                    "format = 1\nmodules = [\"k.ptx\"]\nentry = \"k\"\ngrid = [4294967296, 1, 1]\nblock = [1, 1, 1]\n",
                    "",
                )
            },
            wanted(1, &["line 4: ", "4294967296"]),
        ),
        (
            "launch.toml: a grid past all grids",
            |f| {
                described(
                    f,
                    "format = 1\nmodules = [\"k.ptx\"]\nentry = \"k\"\ngrid = [4294967295, 1, 1]\nblock = [1, 1, 1]\n",
                    "name = \"p\"\nkind = \"buffer\"\ntype = \"u32\"\ncount = 1\n",
                )
            },
            wanted(1, &["a grid of (4294967295, 1, 1) is out of range"]),
        ),
        (
            "launch.toml: arrays in each other, a million",
            |f| described(f, &format!("x = {}", "[".repeat(MILLION)), ""),
            wanted(1, &["error: "]).within(2.0, 300),
        ),
        (
            "launch.toml: tables in each other, a hundred thousand",
            |f| described(f, &format!("x = {}", "{ a = ".repeat(100 * MANY)), ""),
            wanted(1, &["error: "]).within(2.0, 300),
        ),
        (
            "launch.toml: a key of ten million parts",
            |f| described(f, &format!("a{} = 1\n", ".a".repeat(10 * MILLION)), ""),
            wanted(1, &["error: "]).within(5.0, 1500),
        ),
        (
            "launch.toml: a million parameters",
            |f| {
                described(
                    f,
                    "",
                    &"name = \"p\"\nkind = \"scalar\"\ntype = \"u32\"\nvalue = 1\n[[param]]\n"
                        .repeat(100 * MANY),
                )
            },
            wanted(1, &["error: "]).within(5.0, 1500),
        ),
        (
            "launch.toml: noise",
            |f| {
                let file = write(f, "launch.toml", noise(MILLION));
                run(&["run", &file])
            },
            wanted(1, &["not UTF-8 from byte"]),
        ),
    ];
    let arguments: Vec<Attempt> = vec![
        (
            "--arg: a buffer of a terabyte",
            |f| argument(f, "u32[274877906944]:zeros"),
            wanted(
                2,
                &[
                    "a buffer of 274877906944 elements of u32 is too large; the most is 4294967296 bytes",
                ],
            ),
        ),
        (
            "--arg: a count past all numbers",
            |f| argument(f, "u32[99999999999999999999]:zeros"),
            wanted(2, &["`[99999999999999999999]` is no number of elements"]),
        ),
        (
            "--arg: no count",
            |f| argument(f, "u32[]:zeros"),
            wanted(2, &["`[]` is no number of elements"]),
        ),
        (
            "--arg: no type",
            |f| argument(f, ":5"),
            wanted(2, &["`` is not a type"]),
        ),
        (
            "--arg: nothing",
            |f| argument(f, ""),
            wanted(2, &["`` is not an argument"]),
        ),
        (
            "--arg: a number past its type",
            |f| argument(f, "u64:18446744073709551616"),
            wanted(2, &["18446744073709551616 is out of the range of u64"]),
        ),
        (
            "--arg: a number of a million digits",
            |f| argument(f, &format!("u64:{}", "9".repeat(100 * MANY))),
            wanted(2, &["is not a value of type u64"]),
        ),
        (
            "--arg: a remainder by nothing",
            |f| argument(f, "u32[4]:splitmix64 seed=1 mod=0"),
            wanted(2, &["mod=0 is not from 1 to 2^64 - 1"]),
        ),
        (
            "--arg: /dev/zero as contents",
            |f| argument(f, "u32[1]:@/dev/zero"),
            wanted(2, &["/dev/zero: longer than 1073741824 bytes"]).within(4.0, 2100),
        ),
        (
            "--arg: words that are not hexadecimal",
            |f| argument(f, "bytes:é0"),
            wanted(2, &["is not an even number of hexadecimal digits"]),
        ),
        (
            "--arg: a pointer into nowhere",
            |f| argument(f, "u64:18446744073709551612"),
            wanted(3, &["out of bounds", "k.ptx:6:1"]),
        ),
        (
            "--grid past 32 bits",
            |f| {
                let file = write(f, "k.ptx", KERNEL);
                run(&["run", &file, "--grid", "4294967296"])
            },
            wanted(2, &["`4294967296` is not a number"]),
        ),
        (
            "--timeout past all numbers",
            |f| {
                let file = write(f, "k.ptx", KERNEL);
                run(&["run", &file, "--arg", "u32[1]:zeros", "--timeout", "1e300"])
            },
            wanted(
                2,
                &["'--timeout <SECONDS>': a time limit is neither negative nor endless"],
            ),
        ),
        (
            "--timeout that is no number",
            |f| {
                let file = write(f, "k.ptx", KERNEL);
                run(&["run", &file, "--arg", "u32[1]:zeros", "--timeout", "nan"])
            },
            wanted(
                2,
                &["'--timeout <SECONDS>': a time limit is neither negative nor endless"],
            ),
        ),
        (
            "--threads past all numbers",
            |f| {
                let file = write(f, "k.ptx", KERNEL);
                run(&[
                    "run",
                    &file,
                    "--arg",
                    "u32[1]:zeros",
                    "--threads",
                    "18446744073709551615",
                ])
            },
            wanted(0, &[]),
        ),
        (
            "--print of a parameter that is not there",
            |f| {
                let file = write(f, "k.ptx", KERNEL);
                run(&[
                    "run",
                    &file,
                    "--arg",
                    "u32[1]:zeros",
                    "--print",
                    "18446744073709551615",
                ])
            },
            wanted(2, &["parameter 18446744073709551615 is not a buffer"]),
        ),
        (
            "eval of noise",
            |_| {
                run(&[
                    "eval",
                    &String::from_utf8_lossy(&noise(10_000)).replace('\0', ""),
                    "1",
                ])
            },
            wanted(2, &["error"]),
        ),
        (
            "eval of five thousand statements",
            |_| run(&["eval", &"add.u32 %d, %a, %b; ".repeat(5_000), "1", "2"]),
            wanted(0, &["%d = 0x00000003"]).within(5.0, 300),
        ),
    ];
    let tables: Vec<Attempt> = vec![
        (
            "a table that is noise",
            |f| table(f, &noise(MILLION)),
            wanted(1, &["not UTF-8"]),
        ),
        (
            "a table of one column",
            |f| table(f, b"add.u32 %d, %a, %b\n"),
            wanted(1, &["t.tsv:1: "]),
        ),
        (
            "a table with words that are no numbers",
            |f| {
                table(
                    f,
                    b"add.u32 %d, %a, %b\tzzzzzzzz 00000001\t00000002\tfold\n",
                )
            },
            wanted(1, &["t.tsv:1: "]),
        ),
        (
            "a table of a million tabs",
            |f| {
                let tabs = "\t".repeat(MILLION);
                table(f, format!("add.u32 %d, %a, %b{tabs}x\n").as_bytes())
            },
            wanted(1, &["t.tsv:1: "]),
        ),
        (
            "a table with a row of ten million digits",
            |f| {
                table(
                    f,
                    format!(
                        "add.u32 %d, %a, %b\t{} 1\t1\tfold\n",
                        "0".repeat(10 * MILLION)
                    )
                    .as_bytes(),
                )
            },
            wanted(1, &["t.tsv:1: "]),
        ),
        (
            "launch lines past all numbers",
            |f| {
                let text =
                    format!("{KERNEL}//@ entry k\n//@ grid 99999999999 1 1\n//@ block 1 1 1\n");
                run(&["test", &write(f, "t.ptx", text)])
            },
            wanted(1, &["t.ptx:9: "]),
        ),
        (
            "launch lines with a terabyte",
            |f| {
                let text = format!(
                    "{KERNEL}//@ entry k\n//@ grid 1 1 1\n//@ block 1 1 1\n//@ arg p ptr u32[274877906944] init all 0\n"
                );
                run(&["test", &write(f, "t.ptx", text)])
            },
            wanted(1, &["274877906944"]),
        ),
        (
            "folders in each other, two hundred, with a link to the first",
            |f| {
                let deep = f.join("d/".repeat(200));
                std::fs::create_dir_all(&deep).expect("folders");
                #[cfg(unix)]
                std::os::unix::fs::symlink(f, deep.join("again")).expect("a link");
                run(&["test", &f.display().to_string()])
            },
            wanted(1, &["no test"]).within(5.0, 200),
        ),
    ];
    [files, descriptions, arguments, tables]
        .into_iter()
        .flatten()
        .collect()
}

pub fn trials(rows: &Rows) -> Vec<Trial> {
    let one = |(name, run, wanted): Attempt| {
        let rows = Arc::clone(rows);
        Trial::test(name, move || {
            let folder = Temporary::new("");
            std::fs::create_dir_all(&folder.0).expect("a temporary folder");
            let done = run(&folder.0);
            let said = wanted.judge(&done);
            note(&rows, name, "command", said.clone(), &done);
            within(wanted.seconds, wanted.megabytes, &done)?;
            said.map(drop)
        })
    };
    attempts().into_iter().map(one).collect()
}
