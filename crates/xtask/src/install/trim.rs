//! Takes the tables for unwinding out of a finished program: a tenth of a guest module, copied to
//! the node for each task, and never read, since a panic ends the program after it was reported.
//! The compiled standard library and the C library bring these tables along; no option of the
//! compiler leaves them out, and in the middle of a file `strip` cannot close the gap.
//!
//! They lie at the end of the first, read-only segment. That segment is cut short, and what follows
//! in the file moves up by whole pages, so that no address changes. A program that is laid out
//! otherwise stays as it is.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::elf::{number, text};

const PAGE: usize = 0x1000;
const LOAD: u64 = 1;
const EH_FRAME_HEADER: u64 = 0x6474_e550;
/// So much is kept, as zeros: what some start-up code registers reads as a table without entries.
const KEPT: usize = 512;
/// What may lie behind the tables, because it is only for unwinding, too.
const COMPANION: &str = ".gcc_except_table";

/// Rewrites the file.
pub(super) fn trim(path: &Path) -> Result<()> {
    let mut image = fs::read(path)?;
    if let Some(cut) = find(&image)? {
        cut.take_from(&mut image)?;
        // written over what is there, the mode stays
        fs::write(path, image)?;
    }
    Ok(())
}

/// The part to take away, in offsets of the file.
struct Cut {
    /// The tables begin here.
    tables: usize,
    /// The end of the segment, before and after.
    old_end: usize,
    new_end: usize,
    /// What is taken away, whole pages.
    length: usize,
}

fn find(image: &[u8]) -> Result<Option<Cut>> {
    let sections = rows(image, 0x28, 0x3a, 0x3c)?;
    let names = sections.get(usize::try_from(number(image, 0x3e, 2)?)?).copied();
    let names = field(image, names.context("no names of sections")?, 0x18)?;
    let mut placed = Vec::new();
    for &row in &sections {
        let name = text(image, names + usize::try_from(number(image, row, 4)?)?);
        placed.push((name, field(image, row, 0x18)?, field(image, row, 0x20)?));
    }
    let Some((_, tables, size)) = placed.iter().find(|(name, ..)| name == ".eh_frame") else {
        return Ok(None);
    };
    let (tables, size) = (*tables, *size);
    for row in rows(image, 0x20, 0x36, 0x38)? {
        let (start, length) = (field(image, row, 8)?, field(image, row, 0x20)?);
        let end = start + length;
        if number(image, row, 4)? != LOAD || !(start..end).contains(&tables) {
            continue;
        }
        let last =
            placed.iter().all(|(name, at, _)| *at <= tables || *at >= end || name == COMPANION);
        let new_end = tables + KEPT;
        if !last || size < KEPT + PAGE {
            return Ok(None);
        }
        let length = (end - new_end) / PAGE * PAGE;
        return Ok(Some(Cut { tables, old_end: end, new_end, length }));
    }
    Ok(None)
}

impl Cut {
    fn take_from(&self, image: &mut Vec<u8>) -> Result<()> {
        for row in rows(image, 0x20, 0x36, 0x38)? {
            let (kind, start) = (number(image, row, 4)?, field(image, row, 8)?);
            if kind == EH_FRAME_HEADER {
                // nothing may look for tables by an index of entries that are gone
                image[row..row + 4].fill(0);
            } else if start >= self.old_end {
                self.move_up(image, row + 8)?;
            } else if kind == LOAD && start + field(image, row, 0x20)? == self.old_end {
                let length = u64::try_from(self.new_end - start)?.to_le_bytes();
                image[row + 0x20..row + 0x28].copy_from_slice(&length);
                image[row + 0x28..row + 0x30].copy_from_slice(&length);
            }
        }
        for row in rows(image, 0x28, 0x3a, 0x3c)? {
            let start = field(image, row, 0x18)?;
            if start >= self.old_end {
                self.move_up(image, row + 0x18)?;
            } else if start == self.tables {
                image[row + 0x20..row + 0x28].copy_from_slice(&u64::try_from(KEPT)?.to_le_bytes());
            } else if start > self.tables {
                image[row + 0x20..row + 0x28].fill(0);
            }
        }
        if field(image, 0, 0x28)? >= self.old_end {
            self.move_up(image, 0x28)?;
        }
        image[self.tables..self.new_end].fill(0);
        image.drain(self.new_end..self.new_end + self.length);
        Ok(())
    }

    fn move_up(&self, image: &mut [u8], at: usize) -> Result<()> {
        let moved = field(image, at, 0)? - self.length;
        image[at..at + 8].copy_from_slice(&u64::try_from(moved)?.to_le_bytes());
        Ok(())
    }
}

/// Where the rows of a table begin.
fn rows(image: &[u8], offset_at: usize, size_at: usize, count_at: usize) -> Result<Vec<usize>> {
    let start = field(image, offset_at, 0)?;
    let size = usize::try_from(number(image, size_at, 2)?)?;
    let count = usize::try_from(number(image, count_at, 2)?)?;
    Ok((0..count).map(|index| start + index * size).collect())
}

/// A number of 64 bits in a row.
fn field(image: &[u8], row: usize, at: usize) -> Result<usize> {
    Ok(usize::try_from(number(image, row + at, 8)?)?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_trimmed_program_is_smaller_and_runs_as_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        let before = fs::metadata(&path).unwrap().len();
        trim(&path).unwrap();
        let image = fs::read(&path).unwrap();
        let run = Command::new(&path).arg("--list").output().unwrap();
        assert!(run.status.success(), "{run:?}");
        assert!(String::from_utf8_lossy(&run.stdout).contains("runs_as_before"));
        assert_eq!(crate::install::elf::read(&image).unwrap().needed, 0);
        if image.len() as u64 == before {
            assert!(find(&image).unwrap().is_none(), "it was left as it is without a reason");
        }
    }
}
