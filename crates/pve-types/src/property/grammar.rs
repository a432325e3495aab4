//! What the sub-options of one property string are called and when two values of one are equal.
//!
//! Sub-options that a grammar does not list are kept, compared as text and written back, so that
//! a newer server's options survive. What a user writes is held against the list (`check`).

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::limit::Limit;
use super::string::PropertyString;
use crate::lenient::{is_false, is_true};
use crate::{MacAddress, Size};

/// The sub-options of one line by their canonical names, with the values as written.
pub type Options = BTreeMap<String, String>;

/// When two values of a sub-option are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As text.
    Text,
    /// As text whose case does not matter.
    Word,
    /// As truth values.
    Flag,
    /// As numbers: `05`, `5` and `5.0`.
    Number,
    /// As sizes: `8192M` and `8G`.
    Size,
    /// As MAC addresses.
    Mac,
    /// As addresses, with or without a prefix length.
    Ip,
    /// As lists joined by `;` in which the order does not matter.
    Set,
}

/// One kind of property string.
#[derive(Debug)]
pub struct Grammar {
    /// What it describes, with its article, for messages.
    pub what: &'static str,
    /// The key that a bare value belongs to.
    pub default_key: Option<&'static str>,
    /// Other names of keys, each with the canonical one.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Every key that PVE 8.4 or 9.2 takes, by its canonical name.
    pub keys: &'static [&'static str],
    /// Keys that no line may lack.
    pub required: &'static [&'static str],
    /// Keys whose values are a closed set, with that set.
    pub choices: &'static [(&'static str, &'static [&'static str])],
    /// Keys whose values have other limits.
    pub limits: &'static [(&'static str, Limit)],
    /// Keys that are not compared as text.
    pub kinds: &'static [(&'static str, Kind)],
    /// What the server takes a missing key for.
    pub defaults: &'static [(&'static str, &'static str)],
    /// Keys that are written before the others, in this order.
    pub first: &'static [&'static str],
    /// Whether a NIC's `MODEL=MAC` stands for two keys, `model` and `macaddr`.
    pub models: bool,
}

/// The models that PVE accepts as a key.
pub(super) const MODELS: [&str; 14] = [
    "virtio",
    "e1000",
    "e1000e",
    "e1000-82540em",
    "e1000-82544gc",
    "e1000-82545em",
    "i82551",
    "i82557b",
    "i82559er",
    "ne2k_isa",
    "ne2k_pci",
    "pcnet",
    "rtl8139",
    "vmxnet3",
];

impl Grammar {
    /// A grammar without anything special.
    pub const PLAIN: Self = Self {
        what: "a property string",
        default_key: None,
        aliases: &[],
        keys: &[],
        required: &[],
        choices: &[],
        limits: &[],
        kinds: &[],
        defaults: &[],
        first: &[],
        models: false,
    };

    /// The canonical name of a key.
    #[must_use]
    pub fn canonical_key<'a>(&self, key: &'a str) -> &'a str
    where
        Self: 'a,
    {
        self.aliases.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, name)| *name)
    }

    pub(super) fn kind(&self, key: &str) -> Kind {
        self.kinds.iter().find(|(name, _)| *name == key).map_or(Kind::Text, |(_, kind)| *kind)
    }

    /// The sub-options of a line. Of a key that stands twice the last is taken.
    #[must_use]
    pub fn options(&self, line: &str) -> Options {
        let mut options = Options::new();
        for part in PropertyString::new(line).parts() {
            match part.key.as_deref() {
                Some(model) if self.models && MODELS.contains(&model) => {
                    options.insert("model".to_owned(), model.to_owned());
                    options.insert("macaddr".to_owned(), part.value.clone());
                }
                Some(key) => {
                    options.insert(self.canonical_key(key).to_owned(), part.value.clone());
                }
                None => {
                    let key = self.default_key.unwrap_or_default();
                    options.insert(key.to_owned(), part.value.clone());
                }
            }
        }
        options
    }

    /// The line of these sub-options as PVE writes it: the default key first and bare, the others
    /// in alphabetical order, but for those that go first.
    #[must_use]
    pub fn line(&self, options: &Options) -> String {
        let mut parts = Vec::new();
        let default_key = self.default_key.unwrap_or_default();
        let mac = options.get("macaddr").filter(|_| self.models);
        if let Some(first) = options.get(default_key) {
            match mac {
                Some(mac) if MODELS.contains(&first.as_str()) => {
                    parts.push(format!("{first}={mac}"))
                }
                Some(mac) => parts.extend([format!("model={first}"), format!("macaddr={mac}")]),
                // Bare it would be read as something else.
                None if first.is_empty() || first.contains('=') => {
                    parts.push(format!("{default_key}={first}"));
                }
                None => parts.push(first.clone()),
            }
        } else if let Some(mac) = mac {
            parts.push(format!("macaddr={mac}"));
        }
        let first = self.first.iter().filter_map(|key| options.get_key_value(*key));
        let rest = options.iter().filter(|(key, _)| !self.first.contains(&key.as_str()));
        for (key, value) in first.chain(rest) {
            if key != default_key && !(self.models && key == "macaddr") {
                parts.push(format!("{key}={value}"));
            }
        }
        parts.join(",")
    }

    /// Whether two values of a key mean the same.
    #[must_use]
    pub fn same_value(&self, key: &str, one: &str, other: &str) -> bool {
        self.kind(key).same(one, other)
    }

    /// Whether a wanted value is so in these options, a missing key being its default.
    #[must_use]
    pub fn holds(&self, options: &Options, key: &str, wanted: &str) -> bool {
        match options.get(key) {
            Some(value) => self.same_value(key, value, wanted),
            None => self
                .defaults
                .iter()
                .any(|(name, default)| *name == key && self.same_value(key, default, wanted)),
        }
    }

    /// Whether two lines mean the same.
    #[must_use]
    pub fn same(&self, one: &str, other: &str) -> bool {
        let (one, other) = (self.options(one), self.options(other));
        one.iter().all(|(key, value)| self.holds(&other, key, value))
            && other.iter().all(|(key, value)| self.holds(&one, key, value))
    }
}

impl Kind {
    /// Whether two values mean the same. Values that do not parse are compared as text.
    #[must_use]
    pub fn same(self, one: &str, other: &str) -> bool {
        if one == other {
            return true;
        }
        match self {
            Self::Text => false,
            Self::Word => one.eq_ignore_ascii_case(other),
            Self::Flag => is_true(one) && is_true(other) || is_false(one) && is_false(other),
            Self::Number => {
                matches!((one.parse::<f64>(), other.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
            }
            Self::Size => {
                matches!((one.parse::<Size>(), other.parse::<Size>()), (Ok(a), Ok(b)) if a == b)
            }
            Self::Mac => {
                let mac = |text: &str| text.parse::<MacAddress>().ok();
                mac(one).is_some() && mac(one) == mac(other)
            }
            Self::Ip => same_address(one, other),
            Self::Set => {
                let set = |text: &str| {
                    let mut items: Vec<String> =
                        text.split(';').map(|item| item.trim().to_owned()).collect();
                    items.retain(|item| !item.is_empty());
                    items.sort();
                    items.dedup();
                    items
                };
                set(one) == set(other)
            }
        }
    }
}

fn same_address(one: &str, other: &str) -> bool {
    if let (Ok(one), Ok(other)) = (one.parse::<IpNet>(), other.parse::<IpNet>()) {
        return one == other;
    }
    match (one.parse::<std::net::IpAddr>(), other.parse::<std::net::IpAddr>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
