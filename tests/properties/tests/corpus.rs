//! The properties on the corpus of the fuzz targets and on mutations of it: the same on every run.

#![expect(clippy::expect_used, reason = "a test without its corpus has nothing to test")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use properties::{ALL, Property};

/// Mutations of each target's corpus.
const MUTATIONS: u32 = 3000;
/// What parsers look out for.
const WORDS: [&[u8]; 14] =
    [b",", b"=", b"\n", b"\0", b"\"", b"'", b"#", b" ", b":", b"\\", b"[", b"{}", b"-1", b"\xff"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz").join(name)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let stem = |entry: fs::DirEntry| {
        entry.path().file_stem().expect("a name").to_string_lossy().into_owned()
    };
    entries.map(|entry| stem(entry.expect("an entry"))).collect()
}

/// A sequence of numbers that look random: xorshift64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end.max(1)).expect("a length")).expect("an index")
    }

    /// A text with a few places changed.
    fn mutation(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut text = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(text.len() + 1);
            let end = at + self.below((text.len() - at).min(16) + 1);
            let new: Vec<u8> = match self.below(4) {
                0 => Vec::new(),
                1 => WORDS[self.below(WORDS.len())].to_vec(),
                2 => vec![u8::try_from(self.below(256)).expect("a byte")],
                _ => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len());
                    other[from..other.len().min(from + 24)].to_vec()
                }
            };
            text.splice(at..end, new);
        }
        text
    }
}

fn holds(name: &str, property: Property, data: &[u8]) {
    if catch_unwind(|| property(data)).is_err() {
        panic!("{name} does not hold for {:?}", data.escape_ascii().to_string());
    }
}

#[test]
fn every_property_has_a_target_and_a_corpus() {
    let all: BTreeSet<String> = ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&folder("fuzz_targets")), all);
    assert_eq!(names(&folder("corpus")), all);
}

#[test]
fn properties_hold_for_the_corpus_and_mutations_of_it() {
    for (name, property) in ALL {
        let folder = folder("corpus").join(name);
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .expect("a corpus")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        let seeds: Vec<Vec<u8>> =
            files.iter().map(|file| fs::read(file).expect("a seed")).collect();
        assert!(seeds.len() >= 3, "the corpus of {name} has {} files", seeds.len());
        for seed in &seeds {
            holds(name, property, seed);
        }
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        for _ in 0..MUTATIONS {
            holds(name, property, &numbers.mutation(&seeds));
        }
    }
}
