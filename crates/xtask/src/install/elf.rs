//! As much of ELF as it takes to see whether a program is static and what it links: no other
//! program need be installed for that.

use anyhow::{Context, Result, ensure};

const INTERPRETER: u32 = 3;
const DYNAMIC: u32 = 2;
const SYMBOL_TABLE: u32 = 2;
const NEEDED: u64 = 1;

/// What is asked of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The dynamic loader it wants.
    pub(super) interpreter: Option<String>,
    /// The number of shared libraries it wants.
    pub(super) needed: usize,
    /// The names of its functions and variables.
    pub(super) symbols: Vec<String>,
}

/// Reads a program for 64 bits, little endian.
pub(super) fn read(image: &[u8]) -> Result<Facts> {
    ensure!(image.starts_with(b"\x7fELF\x02\x01"), "it is not a 64-bit little-endian ELF file");
    let mut facts = Facts::default();
    for header in table(image, 0x20, 0x36, 0x38)? {
        let kind = number(header, 0, 4)?;
        let content = part(image, number(header, 8, 8)?, number(header, 0x20, 8)?)?;
        if kind == u64::from(INTERPRETER) {
            facts.interpreter = Some(text(content, 0));
        } else if kind == u64::from(DYNAMIC) {
            for entry in content.chunks_exact(16) {
                facts.needed += usize::from(number(entry, 0, 8)? == NEEDED);
            }
        }
    }
    let sections = table(image, 0x28, 0x3a, 0x3c)?;
    for header in &sections {
        if number(header, 4, 4)? != u64::from(SYMBOL_TABLE) {
            continue;
        }
        let link = usize::try_from(number(header, 0x28, 4)?)?;
        let strings = sections.get(link).context("a symbol table without names")?;
        let names = part(image, number(strings, 0x18, 8)?, number(strings, 0x20, 8)?)?;
        let symbols = part(image, number(header, 0x18, 8)?, number(header, 0x20, 8)?)?;
        for symbol in symbols.chunks_exact(24) {
            let name = text(names, usize::try_from(number(symbol, 0, 4)?)?);
            // section 0 is for names that are wanted elsewhere; a weak one may stay unmet
            if !name.is_empty() && number(symbol, 6, 2)? != 0 {
                facts.symbols.push(name);
            }
        }
    }
    Ok(facts)
}

/// The rows of a table whose offset, row size and row count stand in the file's header.
fn table(image: &[u8], offset_at: usize, size_at: usize, count_at: usize) -> Result<Vec<&[u8]>> {
    let (size, count) = (number(image, size_at, 2)?, number(image, count_at, 2)?);
    if count == 0 {
        return Ok(Vec::new());
    }
    ensure!(size > 0, "a table with empty rows");
    let rows = part(image, number(image, offset_at, 8)?, size * count)?;
    Ok(rows.chunks_exact(usize::try_from(size)?).collect())
}

fn part(image: &[u8], offset: u64, size: u64) -> Result<&[u8]> {
    let start = usize::try_from(offset)?;
    let end = start.checked_add(usize::try_from(size)?).context("a part that never ends")?;
    image.get(start..end).context("the file is cut short")
}

fn number(bytes: &[u8], at: usize, size: usize) -> Result<u64> {
    let bytes = bytes.get(at..at + size).context("the file is cut short")?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn text(bytes: &[u8], at: usize) -> String {
    let bytes = bytes.get(at..).unwrap_or_default();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_itself_is_static_and_has_symbols() {
        let image = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let facts = read(&image).unwrap();
        assert_eq!((facts.interpreter, facts.needed), (None, 0));
        assert!(facts.symbols.iter().any(|symbol| symbol == "main"));
    }

    #[test]
    fn a_dynamic_program_is_recognised() {
        // the shell of every Debian is linked dynamically
        let facts = read(&std::fs::read("/bin/sh").unwrap()).unwrap();
        assert!(facts.interpreter.unwrap().contains("ld-linux"));
        assert!(facts.needed > 0);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert!(read(b"#!/bin/sh\n").is_err());
        let image = std::fs::read("/bin/sh").unwrap();
        for length in [6, 0x30, 0x40, 0x200] {
            assert!(read(&image[..length]).is_err(), "{length}");
        }
    }
}
