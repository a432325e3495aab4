//! From a method and a path to a handler.

use std::sync::OnceLock;

use super::call::{Handler, Route};
use super::{access, cluster, nodes, pools, storage, version};

struct Entry {
    method: &'static str,
    template: &'static str,
    handler: Handler,
}

fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let mut all: Vec<Route> = Vec::new();
        for routes in
            [version::ROUTES, access::routes(), cluster::ROUTES, pools::ROUTES, storage::ROUTES]
        {
            all.extend_from_slice(routes);
        }
        all.extend(nodes::routes());
        all.into_iter()
            .map(|(method, template, handler)| Entry { method, template, handler })
            .collect()
    })
}

/// A handler that was found, its path template and the values in the path.
pub(crate) struct Found {
    pub(crate) handler: Handler,
    pub(crate) template: &'static str,
    pub(crate) values: Vec<(String, String)>,
}

/// Finds the handler of a decoded path below `/api2/json`.
pub(crate) fn find(method: &str, path: &str) -> Option<Found> {
    entries().iter().filter(|entry| entry.method == method).find_map(|entry| {
        matches(entry.template, path).map(|values| Found {
            handler: entry.handler,
            template: entry.template,
            values,
        })
    })
}

fn matches(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let mut values = Vec::new();
    let mut rest = path.trim_matches('/');
    for part in template.trim_matches('/').split('/') {
        // a volume's name has slashes and is always last
        let (segment, after) = if part == "{volume}" {
            (rest, "")
        } else {
            rest.split_once('/').unwrap_or((rest, ""))
        };
        match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(_) if segment.is_empty() => return None,
            Some(name) => values.push((name.to_owned(), segment.to_owned())),
            None if part == segment => {}
            None => return None,
        }
        rest = after;
    }
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::super::schema::Schema;
    use super::*;

    #[test]
    fn paths_match_templates() {
        let value = |template: &str, path: &str| matches(template, path);
        assert_eq!(
            value("/nodes/{node}/qemu/{vmid}", "/nodes/pve1/qemu/110"),
            Some(vec![("node".into(), "pve1".into()), ("vmid".into(), "110".into())])
        );
        assert_eq!(value("/nodes/{node}/qemu", "/nodes/pve1/qemu/110"), None);
        assert_eq!(
            value("/nodes/{node}/content/{volume}", "/nodes/a/content/local:iso/x.iso"),
            Some(vec![("node".into(), "a".into()), ("volume".into(), "local:iso/x.iso".into())])
        );
    }

    #[test]
    fn every_call_that_is_served_has_a_schema() {
        let schema = Schema::new(false);
        for entry in entries() {
            assert!(
                schema.call(entry.method, entry.template).is_some(),
                "{} {}",
                entry.method,
                entry.template
            );
        }
    }
}
