//! apt's list of sources as text that is edited in place: what is not a source, or not touched by
//! an edit, keeps every byte.
//!
//! A file is a row of units: lines in the one-line form, stanzas (with the blank lines between
//! them) in the deb822 form. A unit that holds a source gives its [`Entry`] and can be rewritten.

use crate::snapshot_id::SnapshotId;

mod architectures;
mod deb822;
mod one_line;

pub(crate) use architectures::Architectures;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `deb URI SUITE COMPONENT...`, in `sources.list` and `*.list`.
    OneLine,
    /// Stanzas of fields, in `*.sources`.
    Deb822,
}

/// An enabled source as apt understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The number of its line, or of its stanza, counted from 1 as apt does.
    pub(crate) number: usize,
    /// `deb`, `deb-src`.
    pub(crate) types: Vec<String>,
    pub(crate) uris: Vec<String>,
    pub(crate) suites: Vec<String>,
    pub(crate) components: Vec<String>,
    pub(crate) architectures: Architectures,
    /// The value of the snapshot option, if there is one.
    pub(crate) snapshot: Option<String>,
}

/// What is done to a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Other URIs, in place of the ones it has.
    Rewrite(Vec<String>),
    /// apt's own snapshot option.
    Native(String),
}

impl Form {
    /// The form of a file, by its name; none if apt does not read it.
    pub(crate) fn of(name: &str) -> Option<Self> {
        // apt takes letters, digits and these four; anything else it ignores, silently or not
        let readable = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
        if name.starts_with('.') || !name.chars().all(readable) {
            return None;
        }
        if name.ends_with(".list") {
            Some(Self::OneLine)
        } else if name.ends_with(".sources") {
            Some(Self::Deb822)
        } else {
            None
        }
    }

    /// The units of a text; joined they are the text again.
    pub(crate) fn units(self, text: &str) -> Vec<&str> {
        match self {
            Self::OneLine => text.split_inclusive('\n').collect(),
            Self::Deb822 => deb822::units(text),
        }
    }

    /// The enabled source in each unit.
    pub(crate) fn entries(self, units: &[&str]) -> Vec<Option<Entry>> {
        let mut stanzas = 0;
        let number = |(at, unit): (usize, &&str)| match self {
            Self::OneLine => one_line::entry(unit, at + 1),
            Self::Deb822 if deb822::is_stanza(unit) => {
                stanzas += 1;
                deb822::entry(unit, stanzas)
            }
            Self::Deb822 => None,
        };
        units.iter().enumerate().map(number).collect()
    }

    /// The unit with an edit done to its source, and Valid-Until not looked at: a snapshot is
    /// always past it.
    pub(crate) fn edit(self, unit: &str, edit: &Edit) -> String {
        match self {
            Self::OneLine => one_line::edit(unit, edit),
            Self::Deb822 => deb822::edit(unit, edit),
        }
    }
}

/// Undoes an edit that others may have added to since: every unit of `current` that is as it was
/// placed becomes what it was made from, the others stay.
///
/// As placed is also one whose pin alone was spoiled: pointed at the live archive again, at
/// another moment, or with Valid-Until looked at.
pub(crate) fn undo(form: Form, current: &str, placed: &str, original: &str) -> String {
    // whatever an edit made of the units
    if current == placed {
        return original.to_owned();
    }
    let (placed, original) = (form.units(placed), form.units(original));
    let mut left: Vec<(&str, &str)> = placed.into_iter().zip(original).collect();
    let units = form.units(current);
    let mut undone = units.clone();
    for spoiled in [false, true] {
        for (unit, undone) in units.iter().zip(undone.iter_mut()) {
            let at = left.iter().position(|(placed, original)| {
                if spoiled { alike(form, unit, placed, original) } else { unit == placed }
            });
            if let Some(at) = at {
                *undone = left.remove(at).1;
            }
        }
    }
    undone.concat()
}

/// Whether a unit differs from the placed one in nothing but its pin.
fn alike(form: Form, unit: &str, placed: &str, original: &str) -> bool {
    let entry = |unit: &str| form.entries(&[unit]).into_iter().next().flatten();
    let (Some(mine), Some(theirs), Some(before)) = (entry(unit), entry(placed), entry(original))
    else {
        return false;
    };
    let uris = |entry: &Entry| -> Vec<String> {
        let undated = |uri: &String| match uri.trim_end_matches('/').rsplit_once('/') {
            Some((before, last)) if last.parse::<SnapshotId>().is_ok() => before.to_owned(),
            _ => uri.trim_end_matches('/').to_owned(),
        };
        entry.uris.iter().map(undated).collect()
    };
    let rest = |unit: &str| form.edit(unit, &Edit::Rewrite(vec!["uri".to_owned()]));
    rest(unit) == rest(placed) && [uris(&theirs), uris(&before)].contains(&uris(&mine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_apt_reads() {
        for (name, form) in [
            ("debian.sources", Some(Form::Deb822)),
            ("a_b-1.2.list", Some(Form::OneLine)),
            ("sources.list", Some(Form::OneLine)),
            ("x.list.save", None),
            ("x.sources.disabled", None),
            (".hidden.list", None),
            ("has space.list", None),
        ] {
            assert_eq!(Form::of(name), form, "{name}");
        }
    }

    #[test]
    fn an_untouched_file_is_undone_byte_for_byte() {
        let original = "# a\n\ndeb http://a/debian x main # mirror\ndeb http://b/debian x main";
        let placed = "# a\n\ndeb http://s/1 x main # mirror\ndeb http://s/1 x main";
        assert_eq!(undo(Form::OneLine, placed, placed, original), original);
    }

    #[test]
    fn what_was_added_since_stays() {
        let original = "deb http://a/debian x main\n# end\n";
        let placed = "deb http://s/1 x main\n# end\n";
        let current = "deb http://new/ y main\ndeb http://s/1 x main\n# end\n# more\n";
        assert_eq!(
            undo(Form::OneLine, current, placed, original),
            "deb http://new/ y main\ndeb http://a/debian x main\n# end\n# more\n"
        );
    }

    #[test]
    fn a_spoiled_pin_is_not_taken_for_a_wish() {
        let original = "deb http://a/debian x main # ours\n";
        let placed = "deb [check-valid-until=no] http://s/20250101T000000Z x main # ours\n";
        for (current, undone) in [
            ("deb [check-valid-until=no] http://a/debian x main # ours\n", original),
            ("deb http://s/20250601T000000Z x main # ours\n", original),
            ("deb [snapshot=enable] http://s/20250101T000000Z x main # ours\n", original),
            (
                "deb [arch=amd64] http://a/debian x main # ours\n",
                "deb [arch=amd64] http://a/debian x main # ours\n",
            ),
            ("deb http://b/debian x main # ours\n", "deb http://b/debian x main # ours\n"),
            ("deb http://a/debian x main\n", "deb http://a/debian x main\n"),
        ] {
            assert_eq!(undo(Form::OneLine, current, placed, original), undone);
        }
    }
}
