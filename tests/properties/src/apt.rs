use crate::lists;
use crate::sources::{Edit, Form, undo};

/// A file of sources, in both forms: the units are the whole text, an edit leaves every other unit as it
/// was and gives the source what it says, and undoing it gives every byte back.
pub fn apt_sources(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for form in [Form::OneLine, Form::Deb822] {
        let units = form.units(text);
        assert_eq!(units.concat(), text, "{form:?}");
        let uri = "http://snapshot.debian.org/archive/debian/20250101T000000Z".to_owned();
        let edits = [Edit::Rewrite(vec![uri.clone()]), Edit::Native("20250101T000000Z".to_owned())];
        for edit in edits {
            let entries = form.entries(&units);
            let mut edited = Vec::new();
            for (unit, entry) in units.iter().zip(&entries) {
                edited.push(match entry {
                    Some(_) => form.edit(unit, &edit),
                    None => (*unit).to_owned(),
                });
            }
            let placed = edited.concat();
            assert_eq!(undo(form, &placed, &placed, text), text, "{form:?} {edit:?}");
            for (unit, entry) in edited.iter().zip(&entries) {
                let Some(before) = entry else { continue };
                let after = form.entries(&[unit.as_str()]).remove(0);
                let after = after.unwrap_or_else(|| panic!("{unit:?} is no source any more"));
                match &edit {
                    Edit::Rewrite(uris) => assert_eq!(&after.uris, uris, "{unit:?}"),
                    Edit::Native(id) => {
                        assert_eq!(after.snapshot.as_ref(), Some(id), "{unit:?}");
                        assert_eq!(after.uris, before.uris, "{unit:?}");
                    }
                }
                assert_eq!(after.suites, before.suites, "{unit:?}");
                assert_eq!(after.components, before.components, "{unit:?}");
                assert_eq!(after.types, before.types, "{unit:?}");
            }
        }
    }
}

/// What apt says of its indexes, and a Release file: no name of a file leaves the folder of lists.
pub fn apt_indexes(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for index in lists::parse(text) {
        let name = lists::release_name(&index.uri, &index.suite, "InRelease");
        assert!(!name.contains('/'), "{name:?} leads elsewhere");
    }
    for offered in lists::offered(text) {
        assert!(!offered.key.is_empty());
    }
}
