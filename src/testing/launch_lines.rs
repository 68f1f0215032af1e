//! Launch cases: `//@` lines in a `.ptx` file.

use super::FormatError;
use super::contents::{self, ElemTy, MAX_BYTES};
use super::launch::{self, Arg, ArgValue, LaunchSpec};
use crate::ir::Reading;

/// A launch with what is expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchCase {
    /// The line of `//@ entry`, from 1.
    pub line: u32,
    /// The launch.
    pub spec: LaunchSpec,
    /// What must come of it.
    pub expect: Expect,
}

/// What must come of a launch.
#[derive(Debug, Clone, PartialEq)]
pub enum Expect {
    /// It ends well, and memory begins with these words.
    Memory {
        /// Index of an argument, and its first words.
        buffers: Vec<(usize, Vec<u32>)>,
        /// Name of a module variable, and its first words.
        globals: Vec<(String, Vec<u32>)>,
    },
    /// The module is refused with an error that contains this text.
    Error(String),
    /// The launch ends in a fault whose message contains this text.
    Fault(String),
}

/// Whether `text` has a launch case.
pub fn has_cases(text: &str) -> bool {
    text.lines()
        .any(|l| directive(l).is_some_and(|(word, _)| word == "entry"))
}

/// The word and the rest of a `//@` line.
fn directive(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().strip_prefix("//@")?.trim();
    Some(match rest.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (rest, ""),
    })
}

/// How the instructions of a file are read, if it says so: `//@ reading text`, `//@ reading nvidia`, once for all of its cases.
///
/// # Errors
/// Another word, or two of them.
pub fn reading(text: &str) -> Result<Option<Reading>, FormatError> {
    let mut found = None;
    for (index, line) in text.lines().enumerate() {
        let Some(("reading", name)) = directive(line) else {
            continue;
        };
        let reading = Reading::parse(name)
            .ok_or_else(|| FormatError::new(format!("`{name}` is no reading: text or nvidia")));
        let reading = reading.map_err(|e| e.at(index as u32 + 1))?;
        if found.replace(reading).is_some_and(|first| first != reading) {
            return Err(FormatError::new("a file is read in one way").at(index as u32 + 1));
        }
    }
    Ok(found)
}

/// Reads the launch cases of a file. Each begins with `//@ entry`; lines before the first belong to it.
///
/// # Errors
/// Unknown words, arguments that are expected but not given, contradictory expectations.
pub fn parse(text: &str) -> Result<Vec<LaunchCase>, FormatError> {
    let mut cases = Vec::new();
    let mut builder = Builder::default();
    let mut left = MAX_BYTES;
    for (index, line) in text.lines().enumerate() {
        let Some((word, rest)) = directive(line) else {
            continue;
        };
        let line = index as u32 + 1;
        if word == "entry" && builder.entry.is_some() {
            cases.push(std::mem::take(&mut builder).finish()?);
        }
        builder
            .line(line, word, rest, &mut left)
            .map_err(|e| e.at(line))?;
    }
    if builder.entry.is_some() {
        cases.push(builder.finish()?);
    }
    Ok(cases)
}

#[derive(Default)]
struct Builder {
    entry: Option<(u32, String)>,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    cluster: Option<[u32; 3]>,
    workers: Option<usize>,
    dynamic_shared: u32,
    args: Vec<Arg>,
    buffers: Vec<(u32, String, Vec<u32>)>,
    globals: Vec<(String, Vec<u32>)>,
    error: Option<String>,
    fault: Option<String>,
}

impl Builder {
    fn line(
        &mut self,
        line: u32,
        word: &str,
        rest: &str,
        left: &mut usize,
    ) -> Result<(), FormatError> {
        match word {
            "entry" => self.entry = Some((line, name(word, rest)?.to_string())),
            "grid" => self.grid = Some(three(rest)?),
            "block" => self.block = Some(three(rest)?),
            "cluster" => self.cluster = Some(three(rest)?),
            "workers" => {
                let workers = rest.parse().map_err(|_| {
                    FormatError::new(format!("`{rest}` is no number of worker threads"))
                })?;
                self.workers = Some(workers);
            }
            "dynamic-shared" => {
                self.dynamic_shared = rest
                    .parse()
                    .map_err(|_| FormatError::new(format!("`{rest}` is no number of bytes")))?;
            }
            // The file's: see `reading`.
            "ptxas-arch" | "reading" => {}
            "arg" => self.args.push(arg(rest, left)?),
            "expect" => {
                let (name, list) = named_words(rest)?;
                self.buffers.push((line, name, list));
            }
            "expect-global" => self.globals.push(named_words(rest)?),
            "expect-error" => self.error = Some(name(word, rest)?.to_string()),
            "expect-fault" => self.fault = Some(name(word, rest)?.to_string()),
            _ => {
                return Err(FormatError::new(format!("`//@ {word}` is not known")));
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<LaunchCase, FormatError> {
        let (line, kernel) = self.entry.unwrap_or_default();
        let compares = !self.buffers.is_empty() || !self.globals.is_empty();
        let expect = match (self.error, self.fault) {
            (Some(text), None) if !compares => Expect::Error(text),
            (None, Some(text)) if !compares => Expect::Fault(text),
            (None, None) if compares => {
                let mut buffers = Vec::new();
                for (line, name, list) in self.buffers {
                    let arg = self.args.iter().position(|a| a.name == name);
                    let arg = arg.ok_or_else(|| {
                        FormatError::new(format!("no argument is called `{name}`")).at(line)
                    })?;
                    let ArgValue::Buffer { contents, .. } = &self.args[arg].value else {
                        return Err(FormatError::new(format!("`{name}` is no buffer")).at(line));
                    };
                    if list.len() * 4 > contents.len() {
                        return Err(FormatError::new(format!(
                            "{} words are expected of `{name}`, which has {} bytes",
                            list.len(),
                            contents.len()
                        ))
                        .at(line));
                    }
                    buffers.push((arg, list));
                }
                Expect::Memory {
                    buffers,
                    globals: self.globals,
                }
            }
            (None, None) => {
                return Err(FormatError::new("the case expects nothing").at(line));
            }
            _ => {
                return Err(FormatError::new(
                    "a case expects memory, an error or a fault, not several of them",
                )
                .at(line));
            }
        };
        Ok(LaunchCase {
            line,
            spec: LaunchSpec {
                kernel,
                grid: self.grid.unwrap_or([1; 3]),
                block: self.block.unwrap_or([1; 3]),
                cluster: self.cluster,
                workers: self.workers,
                dynamic_shared: self.dynamic_shared,
                args: self.args,
            },
            expect,
        })
    }
}

fn name<'a>(word: &str, rest: &'a str) -> Result<&'a str, FormatError> {
    if rest.is_empty() {
        return Err(FormatError::new(format!("`//@ {word}` needs a word")));
    }
    Ok(rest)
}

fn three(rest: &str) -> Result<[u32; 3], FormatError> {
    let numbers: Vec<u32> = rest
        .split_whitespace()
        .map_while(|w| w.parse().ok())
        .collect();
    match numbers[..] {
        [x, y, z] if rest.split_whitespace().count() == 3 => Ok([x, y, z]),
        _ => Err(FormatError::new(format!("`{rest}` is not three numbers"))),
    }
}

fn words<'a>(list: impl Iterator<Item = &'a str>) -> Result<Vec<u32>, FormatError> {
    list.map(|w| {
        let digits = w.strip_prefix("0x").unwrap_or(w);
        u32::from_str_radix(digits, 16)
            .map_err(|_| FormatError::new(format!("`{w}` is no hexadecimal 32-bit word")))
    })
    .collect()
}

fn named_words(rest: &str) -> Result<(String, Vec<u32>), FormatError> {
    let mut parts = rest.split_whitespace();
    let name = parts.next().unwrap_or_default().to_string();
    let list = words(parts)?;
    if list.is_empty() {
        return Err(FormatError::new("a name and its words are needed"));
    }
    Ok((name, list))
}

/// `out ptr u32[8] init all deadbeef`, `x val u32 7`, `s val bytes 00ff`; the name may be left out.
fn arg(rest: &str, left: &mut usize) -> Result<Arg, FormatError> {
    let mut parts = rest.split_whitespace().peekable();
    let mut name = parts.next().unwrap_or_default().to_string();
    let is_kind = |word: &str| matches!(word, "ptr" | "val");
    let kind = match parts.next_if(|word| is_kind(word)) {
        Some(kind) => kind.to_string(),
        None if is_kind(&name) => std::mem::take(&mut name),
        None => parts.next().unwrap_or_default().to_string(),
    };
    let ty = parts.next().unwrap_or_default();
    let value = match kind.as_str() {
        "ptr" => {
            let (elem, count) = ty
                .split_once('[')
                .ok_or_else(|| FormatError::new(format!("`{ty}` is not of the form u32[8]")))?;
            let elem = ElemTy::parse(elem)?;
            let count = launch::parse_count(count)?;
            contents::reserve(left, elem, count)?;
            buffer(elem, count, &mut parts)?
        }
        "val" if ty == "bytes" => {
            ArgValue::Bytes(launch::parse_hex_bytes(parts.next().unwrap_or_default())?)
        }
        "val" => {
            let ty = ElemTy::parse(ty)?;
            let text = parts.next().unwrap_or_default();
            let bits = u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16)
                .ok()
                .filter(|&b| ty.bytes() == 8 || b >> (8 * ty.bytes()) == 0)
                .ok_or_else(|| {
                    FormatError::new(format!("`{text}` is no hexadecimal value of {ty}"))
                })?;
            ArgValue::Bytes(bits.to_le_bytes()[..ty.bytes()].to_vec())
        }
        _ => {
            return Err(FormatError::new(
                "an argument is `NAME ptr TYPE[N] init ...` or `NAME val TYPE HEX`",
            ));
        }
    };
    match parts.next() {
        Some(more) => Err(FormatError::new(format!("`{more}` is one word too many"))),
        None => Ok(Arg { name, value }),
    }
}

fn buffer<'a>(
    ty: ElemTy,
    count: usize,
    parts: &mut impl Iterator<Item = &'a str>,
) -> Result<ArgValue, FormatError> {
    let mut contents = super::contents::Init::Zeros
        .generate(ty, count)?
        .unwrap_or_default();
    let list: Vec<&str> = match parts.next() {
        None => Vec::new(),
        Some("init") => parts.collect(),
        Some(other) => {
            return Err(FormatError::new(format!("`{other}` stands for `init`")));
        }
    };
    let (all, list) = match list.split_first() {
        Some((&"all", rest)) => (true, words(rest.iter().copied())?),
        _ => (false, words(list.into_iter())?),
    };
    match (all, &list[..]) {
        (true, [word]) => {
            for chunk in contents.chunks_mut(4) {
                chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
            }
        }
        (true, _) => return Err(FormatError::new("`init all` takes one word")),
        (false, list) if list.len() * 4 > contents.len() => {
            return Err(FormatError::new(format!(
                "{} words are more than {} bytes",
                list.len(),
                contents.len()
            )));
        }
        (false, list) => {
            for (chunk, word) in contents.chunks_exact_mut(4).zip(list) {
                chunk.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    Ok(ArgValue::Buffer { ty, contents })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_case() {
        let text = "// words\n.version 8.7\n//@ entry k\n//@ grid 2 1 1\n//@ block 32 2 1\n//@ cluster 2 1 1\n\
                    //@ workers 1\n//@ dynamic-shared 64\n//@ ptxas-arch sm_80\n//@ arg out ptr u32[3] init all deadbeef\n\
                    //@ arg in ptr u32[3] init 1 0x2\n//@ arg x val u64 7\n//@ arg s val bytes fe00\n\
                    //@ expect out 1 2\n//@ expect-global g ff\n";
        let cases = parse(text).expect("well formed");
        assert!(has_cases(text));
        let [case] = &cases[..] else {
            panic!("one case");
        };
        assert_eq!((case.line, case.spec.kernel.as_str()), (3, "k"));
        assert_eq!((case.spec.grid, case.spec.block), ([2, 1, 1], [32, 2, 1]));
        assert_eq!(case.spec.cluster, Some([2, 1, 1]));
        assert_eq!(case.spec.workers, Some(1));
        assert_eq!(case.spec.dynamic_shared, 64);
        let value = |i: usize| &case.spec.args[i].value;
        let filled = [0xef, 0xbe, 0xad, 0xde].repeat(3);
        assert!(matches!(value(0), ArgValue::Buffer { contents, .. } if *contents == filled));
        let listed = [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        assert!(matches!(value(1), ArgValue::Buffer { contents, .. } if *contents == listed));
        assert_eq!(*value(2), ArgValue::Bytes(vec![7, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(*value(3), ArgValue::Bytes(vec![0xfe, 0]));
        assert_eq!(
            case.expect,
            Expect::Memory {
                buffers: vec![(0, vec![1, 2])],
                globals: vec![("g".to_string(), vec![0xff])],
            }
        );
    }

    #[test]
    fn arguments_need_no_name() {
        let text = "//@ entry k\n//@ arg val u32 7\n//@ arg ptr u32[1]\n//@ arg val val u8 1\n//@ arg ptr ptr u32[1]\n\
                    //@ expect ptr 0\n";
        let case = &parse(text).expect("well formed")[0];
        let names: Vec<&str> = case.spec.args.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["", "", "val", "ptr"]);
    }

    #[test]
    fn several_cases_in_a_file() {
        let text = "//@ entry a\n//@ expect-error some words\n//@ entry b\n//@ expect-fault trap\n";
        let cases = parse(text).expect("well formed");
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0].expect, Expect::Error("some words".to_string()));
        assert_eq!(cases[1].expect, Expect::Fault("trap".to_string()));
    }

    #[test]
    fn a_file_is_read_in_one_way() {
        assert_eq!(reading("//@ entry k\n"), Ok(None));
        let text = "//@ reading nvidia\n//@ entry k\n//@ expect-fault trap\n";
        assert_eq!(reading(text), Ok(Some(Reading::Nvidia)));
        assert_eq!(parse(text).map(|cases| cases.len()), Ok(1));
        assert_eq!(reading("//@ reading text"), Ok(Some(Reading::Text)));
        for (text, line) in [
            ("\n//@ reading amd", 2),
            ("//@ reading", 1),
            ("//@ reading text\n//@ reading nvidia", 2),
        ] {
            assert_eq!(reading(text).expect_err(text).line, Some(line), "{text}");
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line) in [
            ("//@ entry", 1),
            ("//@ entry k", 1),
            ("//@ entry k\n//@ nonsense", 2),
            ("//@ entry k\n//@ grid 1 2", 2),
            ("//@ entry k\n//@ grid 1 2 x", 2),
            ("//@ entry k\n//@ cluster 2", 2),
            ("//@ entry k\n//@ workers one", 2),
            ("//@ entry k\n//@ arg a ptr u32", 2),
            ("//@ entry k\n//@ arg a ptr u32[1] init 1 2", 2),
            ("//@ entry k\n//@ arg a ptr u32[1] fill 1", 2),
            ("//@ entry k\n//@ arg a val u8 100", 2),
            ("//@ entry k\n//@ arg a val u8 1 2", 2),
            ("//@ entry k\n//@ expect a 1", 2),
            ("//@ entry k\n//@ arg a val u8 1\n//@ expect a 1", 3),
            ("//@ entry k\n//@ arg a ptr u32[1]\n//@ expect a 1 2", 3),
            ("//@ entry k\n//@ expect-error a\n//@ expect-fault b", 1),
        ] {
            assert_eq!(parse(text).expect_err(text).line, Some(line), "{text}");
        }
        assert_eq!(parse("no directives"), Ok(Vec::new()));
    }
}
