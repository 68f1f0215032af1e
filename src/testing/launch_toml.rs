//! Launch descriptions, `launch.toml`.

use super::FormatError;
use super::contents::{self, ElemTy, Init, MAX_BYTES, fnv1a64};
use super::launch::{self, Arg, ArgValue, LaunchSpec};
use super::tolerance::Tolerance;
use serde::Deserialize;

/// A launch description with the contents of the files that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchFile {
    /// What the launch is called.
    pub name: String,
    /// Names of the PTX files, in the description's folder, that must all do the same.
    pub modules: Vec<String>,
    /// The launch.
    pub spec: LaunchSpec,
    /// Whether the launch must end in a fault.
    pub trap: bool,
    /// The buffers to compare afterwards.
    pub outputs: Vec<Output>,
    /// What the kernel must print.
    pub stdout: Option<Stdout>,
}

/// A buffer that is compared after the launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The index of its argument.
    pub arg: usize,
    /// What it must hold.
    pub expected: Vec<u8>,
    /// How exactly.
    pub tolerance: Tolerance,
}

/// Text that a kernel must print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stdout {
    /// The text.
    pub text: Vec<u8>,
    /// Whether lines may come in any order.
    pub any_order: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    name: Option<String>,
    #[serde(rename = "source")]
    _source: Option<String>,
    modules: Vec<String>,
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    #[serde(default)]
    shared_bytes: u32,
    expect: Option<String>,
    stdout: Option<String>,
    stdout_order: Option<String>,
    #[serde(default)]
    param: Vec<Param>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Param {
    name: String,
    kind: String,
    #[serde(rename = "type")]
    ty: Option<String>,
    bits: Option<String>,
    value: Option<toml::Value>,
    size: Option<usize>,
    #[serde(rename = "align")]
    _align: Option<u32>,
    hex: Option<String>,
    count: Option<usize>,
    init: Option<String>,
    file: Option<String>,
    init_fnv1a64: Option<String>,
    #[serde(default)]
    output: bool,
    tol: Option<String>,
    expected: Option<String>,
}

impl LaunchFile {
    /// Reads a description. `read` gives the bytes of a file of the description's folder.
    ///
    /// # Errors
    /// Not TOML, keys or words that the format does not know, values that do not fit, files that cannot be read or
    /// have another size, initial contents whose checksum differs.
    pub fn parse(
        text: &str,
        read: &mut dyn FnMut(&str) -> Result<Vec<u8>, FormatError>,
    ) -> Result<Self, FormatError> {
        let file: File = toml::from_str(text).map_err(|e| {
            let line = e
                .span()
                .map(|s| text[..s.start.min(text.len())].matches('\n').count() as u32 + 1);
            FormatError {
                line,
                message: e.message().to_string(),
            }
        })?;
        if file.format != 1 {
            return Err(FormatError::new(format!(
                "format {} is not known, only 1",
                file.format
            )));
        }
        let trap = match file.expect.as_deref() {
            None | Some("ok") => false,
            Some("trap") => true,
            Some(other) => {
                return Err(FormatError::new(format!(
                    "expect = \"{other}\": it is \"ok\" or \"trap\""
                )));
            }
        };
        let stdout = match (&file.stdout, file.stdout_order.as_deref()) {
            (None, _) => None,
            (Some(name), order) => Some(Stdout {
                text: read(name)?,
                any_order: match order {
                    None | Some("exact") => false,
                    Some("lines") => true,
                    Some(other) => {
                        return Err(FormatError::new(format!(
                            "stdout_order = \"{other}\": it is \"exact\" or \"lines\""
                        )));
                    }
                },
            }),
        };
        let mut args = Vec::new();
        let mut left = MAX_BYTES;
        let mut outputs = Vec::new();
        for (index, param) in file.param.iter().enumerate() {
            let in_param =
                |e: FormatError| FormatError::new(format!("param `{}`: {}", param.name, e.message));
            args.push(param.arg(read, &mut left).map_err(in_param)?);
            outputs.extend(param.output(index, read).map_err(in_param)?);
        }
        if file.modules.is_empty() {
            return Err(FormatError::new("modules is empty"));
        }
        Ok(LaunchFile {
            name: file.name.unwrap_or_else(|| file.entry.clone()),
            modules: file.modules,
            spec: LaunchSpec {
                kernel: file.entry,
                grid: file.grid,
                block: file.block,
                cluster: file.cluster,
                workers: None,
                dynamic_shared: file.shared_bytes,
                args,
            },
            trap,
            outputs,
            stdout,
        })
    }
}

impl Param {
    fn need<'a, T: ?Sized>(&self, key: &str, value: Option<&'a T>) -> Result<&'a T, FormatError> {
        value.ok_or_else(|| FormatError::new(format!("a {} needs the key `{key}`", self.kind)))
    }

    fn ty(&self) -> Result<ElemTy, FormatError> {
        ElemTy::parse(self.need("type", self.ty.as_deref())?)
    }

    fn arg(
        &self,
        read: &mut dyn FnMut(&str) -> Result<Vec<u8>, FormatError>,
        left: &mut usize,
    ) -> Result<Arg, FormatError> {
        let value = match self.kind.as_str() {
            "scalar" => self.scalar()?,
            "bytes" => {
                let bytes = launch::parse_hex_bytes(self.need("hex", self.hex.as_deref())?)?;
                if let Some(size) = self.size.filter(|&s| s != bytes.len()) {
                    return Err(FormatError::new(format!(
                        "size is {size}, hex has {} bytes",
                        bytes.len()
                    )));
                }
                ArgValue::Bytes(bytes)
            }
            "buffer" => self.buffer(read, left)?,
            other => {
                return Err(FormatError::new(format!(
                    "kind = \"{other}\": it is \"scalar\", \"bytes\" or \"buffer\""
                )));
            }
        };
        Ok(Arg {
            name: self.name.clone(),
            value,
        })
    }

    fn scalar(&self) -> Result<ArgValue, FormatError> {
        let ty = self.ty()?;
        let Some(bits) = &self.bits else {
            return match self.need("bits", self.value.as_ref())? {
                toml::Value::String(s) => launch::scalar(ty, s),
                other => launch::scalar(ty, &other.to_string()),
            };
        };
        let digits = bits.strip_prefix("0x").unwrap_or(bits);
        if digits.len() != 2 * ty.bytes() {
            return Err(FormatError::new(format!(
                "bits = \"{bits}\" has not the {} digits of {ty}",
                2 * ty.bytes()
            )));
        }
        let mut bytes = launch::parse_hex_bytes(digits)?;
        bytes.reverse();
        Ok(ArgValue::Bytes(bytes))
    }

    fn buffer(
        &self,
        read: &mut dyn FnMut(&str) -> Result<Vec<u8>, FormatError>,
        left: &mut usize,
    ) -> Result<ArgValue, FormatError> {
        let ty = self.ty()?;
        let count = *self.need("count", self.count.as_ref())?;
        contents::reserve(left, ty, count)?;
        let init = Init::parse(self.init.as_deref().unwrap_or("zeros"), ty)?;
        let contents = match init.generate(ty, count)? {
            Some(contents) => contents,
            None => {
                let file = self.need("file", self.file.as_deref())?;
                let contents = read(file)?;
                launch::check_size(file, &contents, ty, count)?;
                contents
            }
        };
        if let Some(sum) = &self.init_fnv1a64 {
            let computed = format!("{:016x}", fnv1a64(&contents));
            if !sum.eq_ignore_ascii_case(&computed) {
                return Err(FormatError::new(format!(
                    "the initial contents have the checksum {computed}, not {sum}"
                )));
            }
        }
        Ok(ArgValue::Buffer { ty, contents })
    }

    fn output(
        &self,
        arg: usize,
        read: &mut dyn FnMut(&str) -> Result<Vec<u8>, FormatError>,
    ) -> Result<Option<Output>, FormatError> {
        if !self.output {
            return Ok(None);
        }
        let ty = self.ty()?;
        let count = *self.need("count", self.count.as_ref())?;
        let file = self.need("expected", self.expected.as_deref())?;
        let expected = read(file)?;
        launch::check_size(file, &expected, ty, count)?;
        let tolerance = Tolerance::parse(self.tol.as_deref().unwrap_or("exact"), ty)?;
        Ok(Some(Output {
            arg,
            expected,
            tolerance,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<LaunchFile, FormatError> {
        LaunchFile::parse(text, &mut |name| match name {
            "eight.bin" => Ok((0..8).collect()),
            _ => Err(FormatError::new(format!("{name}: no such file"))),
        })
    }

    const HEAD: &str = "format = 1\nmodules = [\"a.ptx\", \"b.ptx\"]\nentry = \"k\"\ngrid = [2, 1, 1]\n\
                        block = [32, 1, 1]\nshared_bytes = 16\n";

    #[test]
    fn every_kind_of_parameter() {
        let text = format!(
            "{HEAD}expect = \"ok\"\n\
             [[param]]\nname = \"n\"\nkind = \"scalar\"\ntype = \"f32\"\nvalue = \"2.5\"\nbits = \"0x40200000\"\n\
             [[param]]\nname = \"s\"\nkind = \"bytes\"\nsize = 3\nalign = 1\nhex = \"010203\"\n\
             [[param]]\nname = \"b\"\nkind = \"buffer\"\ntype = \"u16\"\ncount = 4\ninit = \"file\"\n\
             file = \"eight.bin\"\noutput = true\ntol = \"exact\"\nexpected = \"eight.bin\"\n\
             [[param]]\nname = \"v\"\nkind = \"scalar\"\ntype = \"i8\"\nvalue = -1\n"
        );
        let file = parse(&text).expect("well formed");
        assert_eq!(file.modules, ["a.ptx", "b.ptx"]);
        assert_eq!(file.spec.grid, [2, 1, 1]);
        assert_eq!(file.spec.dynamic_shared, 16);
        assert!(!file.trap);
        let values: Vec<&ArgValue> = file.spec.args.iter().map(|a| &a.value).collect();
        assert_eq!(*values[0], ArgValue::Bytes(vec![0, 0, 0x20, 0x40]));
        assert_eq!(*values[1], ArgValue::Bytes(vec![1, 2, 3]));
        assert_eq!(
            *values[2],
            ArgValue::Buffer {
                ty: ElemTy::U16,
                contents: (0..8).collect()
            }
        );
        assert_eq!(*values[3], ArgValue::Bytes(vec![0xff]));
        assert_eq!(file.outputs.len(), 1);
        assert_eq!(file.outputs[0].arg, 2);
    }

    #[test]
    fn mistakes_are_named() {
        let scalar = "[[param]]\nname = \"n\"\nkind = \"scalar\"\ntype = \"u32\"\n";
        let buffer = "[[param]]\nname = \"n\"\nkind = \"buffer\"\ntype = \"u32\"\ncount = 2\n";
        for (text, word) in [
            ("format = 1".to_string(), "missing field"),
            (format!("{HEAD}colour = 1"), "colour"),
            (format!("{HEAD}expect = \"maybe\""), "maybe"),
            (HEAD.replace("format = 1", "format = 2"), "format 2"),
            (format!("{HEAD}{scalar}bits = \"0x1\""), "8 digits of u32"),
            (
                format!("{HEAD}{scalar}"),
                "param `n`: a scalar needs the key `bits`",
            ),
            (format!("{HEAD}{buffer}init = \"file\""), "key `file`"),
            (
                format!("{HEAD}{buffer}init = \"file\"\nfile = \"no.bin\""),
                "no.bin",
            ),
            (
                format!("{HEAD}{buffer}init = \"zeros\"\ninit_fnv1a64 = \"0\""),
                "checksum",
            ),
            (
                format!("{HEAD}{buffer}output = true\nexpected = \"eight.bin\"\ntol = \"x\""),
                "tolerance",
            ),
            (
                format!("{HEAD}[[param]]\nname = \"n\"\nkind = \"thing\"\n"),
                "thing",
            ),
        ] {
            let error = parse(&text).expect_err(word);
            assert!(error.message.contains(word), "{error}");
        }
        assert_eq!(
            parse("format = 1\ngrid = [").expect_err("cut off").line,
            Some(2)
        );
    }
}
