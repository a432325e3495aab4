//! Which guests are in the inventory at all.

use std::fmt;

use pve_types::Pattern;

use crate::guest::{Row, tags};

/// What a person wants to see. In one list any fits, and every list that is given must.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Filters {
    pub(crate) tags: Vec<String>,
    pub(crate) exclude_tags: Vec<String>,
    pub(crate) pools: Vec<String>,
    pub(crate) nodes: Vec<String>,
    pub(crate) kinds: Vec<String>,
    pub(crate) status: Vec<String>,
    /// Patterns with `*` and `?`.
    pub(crate) names: Vec<String>,
    pub(crate) exclude_names: Vec<String>,
}

impl Filters {
    /// Whether a guest is wanted, by what is known of it so far. What a fresh row does not tell yet
    /// is looked at again when its configuration is known.
    pub(crate) fn wants(&self, row: &Row, name: Option<&str>, its_tags: Option<&str>) -> bool {
        let within =
            |list: &[String], value: &str| list.is_empty() || list.iter().any(|v| v == value);
        let its_tags = its_tags.map(tags);
        let tagged = |list: &[String]| {
            its_tags
                .as_ref()
                .map(|its| its.iter().any(|tag| list.iter().any(|t| t.eq_ignore_ascii_case(tag))))
        };
        let named =
            |list: &[String]| name.map(|name| list.iter().any(|pattern| fits(pattern, name)));
        within(&self.nodes, row.node.as_str())
            && within(&self.kinds, row.kind.as_str())
            && within(&self.pools, row.resource.pool.as_deref().unwrap_or_default())
            && (self.tags.is_empty() || tagged(&self.tags).unwrap_or(true))
            && !tagged(&self.exclude_tags).unwrap_or(false)
            && (self.names.is_empty() || named(&self.names).unwrap_or(true))
            && !named(&self.exclude_names).unwrap_or(false)
    }

    /// Whether a status is wanted.
    pub(crate) fn wants_status(&self, status: &str) -> bool {
        self.status.is_empty() || self.status.iter().any(|wanted| wanted == status)
    }
}

impl fmt::Display for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("tags", &self.tags),
            ("not tags", &self.exclude_tags),
            ("pools", &self.pools),
            ("nodes", &self.nodes),
            ("kinds", &self.kinds),
            ("status", &self.status),
            ("names", &self.names),
            ("not names", &self.exclude_names),
        ];
        let given: Vec<String> = lists
            .into_iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(word, list)| format!("{word} {}", list.join(" or ")))
            .collect();
        f.write_str(if given.is_empty() { "none" } else { "" })?;
        f.write_str(&given.join("; "))
    }
}

/// Whether a pattern with `*` and `?` fits all of a name; letters are of one case there.
fn fits(pattern: &str, name: &str) -> bool {
    let pattern = pattern.to_lowercase().parse::<Pattern>();
    pattern.is_ok_and(|pattern| pattern.matches(&name.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row() -> Row {
        let resource = json!({"type": "qemu", "vmid": 100, "node": "pve1", "name": "web-1",
                              "status": "running", "pool": "prod"});
        Row::new(serde_json::from_value(resource).unwrap()).unwrap()
    }

    #[test]
    fn a_guest_fits_every_list_by_one_of_its_words() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let none = Filters::default();
        for (filters, wanted) in [
            (none.clone(), true),
            (Filters { tags: words("db Web"), ..none.clone() }, true),
            (Filters { tags: words("db"), ..none.clone() }, false),
            (Filters { exclude_tags: words("web"), ..none.clone() }, false),
            (Filters { pools: words("prod test"), ..none.clone() }, true),
            (Filters { pools: words("test"), ..none.clone() }, false),
            (Filters { nodes: words("pve2"), ..none.clone() }, false),
            (Filters { kinds: words("lxc"), ..none.clone() }, false),
            (Filters { names: words("db* WEB-?"), ..none.clone() }, true),
            (Filters { names: words("web"), ..none.clone() }, false),
            (Filters { exclude_names: words("*-1"), ..none.clone() }, false),
            (Filters { tags: words("web"), nodes: words("pve2"), ..none.clone() }, false),
        ] {
            assert_eq!(filters.wants(&row(), Some("web-1"), Some("web;x")), wanted, "{filters}");
        }
        // what is not known yet does not decide
        let filters = Filters { names: words("x"), tags: words("y"), ..none };
        assert!(filters.wants(&row(), None, None));
        assert!(!filters.wants(&row(), None, Some("")));
        assert_eq!(filters.to_string(), "tags y; names x");
    }
}
