//! Rows of a vector table.

use super::bound::Bound;
use super::template::Template;
use crate::ir::Reading;
use crate::testing::FormatError;
use std::fmt;

/// A register's contents as a table writes them: the number of digits gives the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The value.
    pub value: u128,
    /// Width in bits: 16, 32, 64 or 128.
    pub bits: u32,
}

impl Word {
    fn parse(digits: &str) -> Result<Self, FormatError> {
        let bad = || {
            FormatError::new(format!(
                "`{digits}` is not 4, 8, 16 or 32 hexadecimal digits"
            ))
        };
        if !matches!(digits.len(), 4 | 8 | 16 | 32)
            || !digits.bytes().all(|b| b.is_ascii_hexdigit())
        {
            return Err(bad());
        }
        Ok(Word {
            value: u128::from_str_radix(digits, 16).map_err(|_| bad())?,
            bits: 4 * digits.len() as u32,
        })
    }

    fn list(text: &str) -> Result<Vec<Self>, FormatError> {
        text.split_whitespace().map(Self::parse).collect()
    }

    /// Its bytes in memory, as many as the width says.
    pub fn to_bytes(self) -> Vec<u8> {
        self.value.to_le_bytes()[..self.bits as usize / 8].to_vec()
    }

    /// The word of this width at the start of `bytes`.
    pub fn from_bytes(bytes: &[u8], bits: u32) -> Self {
        let mut word = [0; 16];
        for (to, from) in word.iter_mut().zip(bytes.iter().take(bits as usize / 8)) {
            *to = *from;
        }
        Word {
            value: u128::from_le_bytes(word),
            bits,
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$x}", self.value, width = self.bits as usize / 4)
    }
}

/// Words side by side, as a table writes them.
pub(crate) fn show(words: &[Word]) -> String {
    let words: Vec<String> = words.iter().map(Word::to_string).collect();
    words.join(" ")
}

/// What a template needs of the module around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Header {
    /// `.version`
    pub version: String,
    /// `.target`
    pub target: String,
}

impl Default for Header {
    /// `.version 8.7`, `.target sm_90`
    fn default() -> Self {
        Header {
            version: "8.7".to_string(),
            target: "sm_90".to_string(),
        }
    }
}

impl Header {
    /// Reads `8.7 sm_100`; nothing is the default.
    ///
    /// # Errors
    /// Another number of words.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            [] => Ok(Header::default()),
            [version, target] => Ok(Header {
                version: version.to_string(),
                target: target.to_string(),
            }),
            _ => Err(FormatError::new(format!(
                "`{text}` is not a version and a target"
            ))),
        }
    }

    /// The three directives at the top of a module.
    pub fn directives(&self) -> String {
        format!(
            ".version {}\n.target {}\n.address_size 64\n",
            self.version, self.target
        )
    }
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its line, from 1.
    pub line: u32,
    /// The statements.
    pub template: Template,
    /// Contents of the sources, in the order %a %b %c %e.
    pub operands: Vec<Word>,
    /// Contents that are expected of the destinations, in the order %d %f %h.
    pub results: Vec<Word>,
    /// How far a result may be off.
    pub bound: Option<Bound>,
    /// The module around it.
    pub header: Header,
}

/// What kind of table a file is: by its name and first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Column 3 is expected; column 5 names version and target.
    Plain,
    /// Column 3 is what NVIDIA's tools give, column 5 what the ISA text says.
    VersusSpec,
    /// Column 4 is a bound on the error.
    Bound,
}

/// Reads a table. Lines that cannot be read are errors in their places.
///
/// `name` is the file's name: in `*_vs_spec.tsv` column 3 is what NVIDIA's tools give, column 5 what the text says.
pub fn parse(name: &str, text: &str, reading: Reading) -> Vec<Result<Row, FormatError>> {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let kind = if stem.ends_with("_vs_spec.tsv") {
        Kind::VersusSpec
    } else if text.starts_with("# bound") {
        Kind::Bound
    } else {
        Kind::Plain
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty())
        .map(|(index, line)| {
            let line_number = index as u32 + 1;
            parse_row(kind, reading, line_number, line).map_err(|e| e.at(line_number))
        })
        .collect()
}

fn parse_row(kind: Kind, reading: Reading, line: u32, text: &str) -> Result<Row, FormatError> {
    let columns: Vec<&str> = text.split('\t').collect();
    let column = |i: usize| {
        columns
            .get(i)
            .map(|c| c.trim())
            .ok_or_else(|| FormatError::new(format!("column {} is missing", i + 1)))
    };
    let template = Template::parse(column(0)?)?;
    let operands = Word::list(column(1)?)?;
    let mut results = Word::list(column(2)?)?;
    let (bound, header) = match kind {
        Kind::Plain => (None, Header::parse(column(4).unwrap_or_default())?),
        Kind::VersusSpec => {
            let spec = Word::list(column(4)?)?;
            if spec
                .iter()
                .map(|w| w.bits)
                .ne(results.iter().map(|w| w.bits))
            {
                return Err(FormatError::new("columns 3 and 5 have different widths"));
            }
            if reading == Reading::Text {
                results = spec;
            }
            (None, Header::parse(column(5).unwrap_or_default())?)
        }
        Kind::Bound => (
            Some(Bound::parse(column(3)?)?),
            Header::parse(column(4).unwrap_or_default())?,
        ),
    };
    if operands.len() != template.operands.len() || results.len() != template.results.len() {
        return Err(FormatError::new(format!(
            "the template has {} operands and {} results, the row {} and {}",
            template.operands.len(),
            template.results.len(),
            operands.len(),
            results.len()
        )));
    }
    Ok(Row {
        line,
        template,
        operands,
        results,
        bound,
        header,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_kind() {
        let text = "# comment\nbfe.u32 %d, %a, %b, %c\t1b2107d5 00000010 0000001b\t00001b21\tfold\n\
                    add.f16 %d, %a, %b\t898f 76a0\t76a0\tmodel\t8.6 sm_100\n";
        let rows = parse("bfe.tsv", text, Reading::Text);
        let row = rows[0].as_ref().expect("well formed");
        assert_eq!(row.line, 2);
        assert_eq!(show(&row.operands), "1b2107d5 00000010 0000001b");
        assert_eq!(show(&row.results), "00001b21");
        assert_eq!(row.header, Header::default());
        let row = rows[1].as_ref().expect("well formed");
        assert_eq!(row.operands[0].bits, 16);
        assert_eq!(
            (row.header.version.as_str(), row.header.target.as_str()),
            ("8.6", "sm_100")
        );

        let text = "fns.b32 %d, %a\t00000001\t00000000\tfold\tffffffff\n";
        for (reading, expected) in [(Reading::Text, "ffffffff"), (Reading::Nvidia, "00000000")] {
            let rows = parse("dir/fns_vs_spec.tsv", text, reading);
            assert_eq!(show(&rows[0].as_ref().unwrap().results), expected);
        }

        let text = "# bound\nrcp.approx.f32 %d, %a\t3f800000\t3f800000\tulp 1\n";
        let rows = parse("approx_bound.tsv", text, Reading::Nvidia);
        assert!(rows[0].as_ref().unwrap().bound.is_some());
    }

    #[test]
    fn bad_rows_are_errors_in_their_places() {
        let text = "add.u32 %d, %a, %b\t00000001\t00000000\tfold\n\
                    add.u32 %d, %a, %b\n\
                    add.u32 %d, %a, %b\t1 2\t3\tfold\n\
                    add.u32 %d, %a, %b\t00000001 00000001\t00000002\tfold\n";
        let rows = parse("x.tsv", text, Reading::Text);
        let lines: Vec<Option<u32>> = rows
            .iter()
            .map(|r| r.as_ref().err().and_then(|e| e.line))
            .collect();
        assert_eq!(lines, [Some(1), Some(2), Some(3), None]);
    }
}
