//! Files of checksums, `SHA256SUMS` and `SHA512SUMS`, as coreutils and BSD write them.
//!
//! A line that is understood by half is an error: a checksum that is passed over in silence looks
//! like a file that nobody vouches for, and one that is guessed is worse.

use thiserror::Error;

use crate::checksum::{Algorithm, Checksum};

/// Checksums by the names of the files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    lines: Vec<(String, Checksum)>,
}

/// What is wrong with a file of checksums.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SumsError {
    /// A line is of neither form.
    #[error("line {number} is no checksum of a file: '{line}'")]
    Line {
        /// Which line.
        number: usize,
        /// What it says.
        line: String,
    },
    /// One file has two checksums.
    #[error("line {number} gives '{name}' another checksum than a line before")]
    Twice {
        /// Which line.
        number: usize,
        /// Which file.
        name: String,
    },
    /// There are no checksums.
    #[error("it has no checksums")]
    Empty,
}

/// No line is longer in a message than this.
const SHOWN: usize = 80;

impl Sums {
    /// Reads them.
    ///
    /// # Errors
    /// Names the line that is no checksum.
    pub fn read(text: &str) -> Result<Self, SumsError> {
        let mut sums = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end_matches('\r');
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = at + 1;
            let (name, checksum) = bsd(line).or_else(|| gnu(line)).ok_or_else(|| {
                SumsError::Line { number, line: line.chars().take(SHOWN).collect() }
            })?;
            match sums
                .lines
                .iter()
                .find(|(known, sum)| *known == name && sum.algorithm() == checksum.algorithm())
            {
                Some((_, known)) if *known != checksum => {
                    return Err(SumsError::Twice { number, name });
                }
                Some(_) => {}
                None => sums.lines.push((name, checksum)),
            }
        }
        if sums.lines.is_empty() { Err(SumsError::Empty) } else { Ok(sums) }
    }

    /// The checksum of a file, the longer one if there are two.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<&Checksum> {
        let of_it = self.lines.iter().filter(|(known, _)| known == name);
        of_it.map(|(_, sum)| sum).max_by_key(|sum| sum.algorithm().digits())
    }
}

/// `HEX  name`, or `HEX *name` of a file read as it is.
fn gnu(line: &str) -> Option<(String, Checksum)> {
    let (hex, rest) = line.split_once(' ')?;
    let name = rest.strip_prefix([' ', '*'])?;
    Some((plain(name)?, checksum(hex)?))
}

/// `SHA256 (name) = HEX`.
fn bsd(line: &str) -> Option<(String, Checksum)> {
    let (word, rest) = line.split_once(" (")?;
    let (name, hex) = rest.rsplit_once(") = ")?;
    let algorithm = match word {
        "SHA256" => Algorithm::Sha256,
        "SHA512" => Algorithm::Sha512,
        _ => return None,
    };
    Some((plain(name)?, Checksum::of_digits(algorithm, hex)?))
}

fn checksum(hex: &str) -> Option<Checksum> {
    [Algorithm::Sha256, Algorithm::Sha512]
        .into_iter()
        .find_map(|algorithm| Checksum::of_digits(algorithm, hex))
}

/// A name without a leading `./`; names that need escaping are none of images.
fn plain(name: &str) -> Option<String> {
    let name = name.strip_prefix("./").unwrap_or(name);
    let bad = name.is_empty() || name.contains(['\\', '\n', '\r']) || name.trim() != name;
    (!bad).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_styles_are_read() {
        let (short, long) = ("0a".repeat(32), "0B".repeat(64));
        for (text, name, sum) in [
            (format!("{short}  a.img\n"), "a.img", format!("sha256:{short}")),
            (format!("{short} *a.img\n"), "a.img", format!("sha256:{short}")),
            (format!("{long}  a.img"), "a.img", format!("sha512:{}", long.to_lowercase())),
            (format!("SHA256 (a b.img) = {short}\n"), "a b.img", format!("sha256:{short}")),
            (
                format!("SHA512 (a) (1).img) = {long}\r\n"),
                "a) (1).img",
                format!("sha512:{}", long.to_lowercase()),
            ),
            (format!("# a comment\n\n{short}  ./a.img\r\n"), "a.img", format!("sha256:{short}")),
            (
                format!("{short}  a.img\n{long}  a.img\n"),
                "a.img",
                format!("sha512:{}", long.to_lowercase()),
            ),
            (format!("{short}  a.img\n{short} *a.img\n"), "a.img", format!("sha256:{short}")),
        ] {
            let sums = Sums::read(&text).unwrap();
            assert_eq!(sums.of(name).map(Checksum::to_string), Some(sum), "{text}");
            assert_eq!(sums.of("other.img"), None, "{text}");
        }
    }

    #[test]
    fn what_is_understood_by_half_is_refused() {
        let short = "0a".repeat(32);
        for (text, problem) in [
            (String::new(), "it has no checksums".to_owned()),
            ("# nothing\n".to_owned(), "it has no checksums".to_owned()),
            (format!("{short}\n"), format!("line 1 is no checksum of a file: '{short}'")),
            (format!("{short} a.img\n"), "line 1 is no checksum".to_owned()),
            (format!("{short}  \n"), "line 1 is no checksum".to_owned()),
            (format!("{short}\ta.img\n"), "line 1 is no checksum".to_owned()),
            (format!("{}  a.img\n", &short[1..]), "line 1 is no checksum".to_owned()),
            (
                format!("{short}  a.img\nMD5 (a.img) = {short}\n"),
                "line 2 is no checksum".to_owned(),
            ),
            (format!("SHA512 (a.img) = {short}\n"), "line 1 is no checksum".to_owned()),
            (format!("\\{short}  a\\nb.img\n"), "line 1 is no checksum".to_owned()),
            ("<html><body>404</body></html>\n".to_owned(), "line 1 is no checksum".to_owned()),
            (
                format!("{short}  a.img\n{}  a.img\n", "0b".repeat(32)),
                "line 2 gives 'a.img' another checksum than a line before".to_owned(),
            ),
        ] {
            let error = Sums::read(&text).unwrap_err().to_string();
            assert!(error.starts_with(&problem), "{text}: {error}");
        }
    }
}
