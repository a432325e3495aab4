//! Parameters of a call, encoded as pveproxy decodes them.
//!
//! It splits pairs at `&` and at `;`, and cuts a value at a second raw `=`; so everything but the
//! unreserved characters is escaped. Booleans are 0 and 1: it takes no other word.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pve_types::ConfigDigest;

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parameters of a call, in the order they were given. Debug shows their names only, since
/// values may be secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// No parameters yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With this text.
    #[must_use]
    pub fn text(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.push((key.into(), value.into()));
        self
    }

    /// With this text, if there is one.
    #[must_use]
    pub fn maybe(self, key: &str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.text(key, value.to_string()),
            None => self,
        }
    }

    /// With this truth value, as 1 or 0.
    #[must_use]
    pub fn flag(self, key: impl Into<String>, value: bool) -> Self {
        self.text(key, if value { "1" } else { "0" })
    }

    /// With this number.
    #[must_use]
    pub fn number(self, key: impl Into<String>, value: impl Into<u64>) -> Self {
        self.text(key, value.into().to_string())
    }

    /// With the digest of the configuration that was read, so that a change in between is refused.
    #[must_use]
    pub fn digest(self, digest: Option<&ConfigDigest>) -> Self {
        self.maybe("digest", digest)
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// As one line, for a body or a query.
    #[must_use]
    pub fn encode(&self) -> String {
        let pairs: Vec<String> =
            self.iter().map(|(key, value)| format!("{}={}", escape(key), escape(value))).collect();
        pairs.join("&")
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Form {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(key, _)| key)).finish()
    }
}

/// The text with everything but unreserved characters escaped.
#[must_use]
pub(crate) fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// An API path of these segments, each escaped.
pub(crate) fn path(segments: &[&str]) -> String {
    segments.iter().map(|segment| format!("/{}", escape(segment))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pveproxy_would_split_is_escaped() {
        for (value, encoded) in [
            ("a;b", "k=a%3Bb"),
            ("uuid=1,base64=1", "k=uuid%3D1%2Cbase64%3D1"),
            ("a b+c", "k=a%20b%2Bc"),
            ("a&b%41", "k=a%26b%2541"),
            ("ssh-ed25519%20AAAA", "k=ssh-ed25519%2520AAAA"),
            ("ü\n", "k=%C3%BC%0A"),
            ("", "k="),
        ] {
            assert_eq!(Form::new().text("k", value).encode(), encoded);
        }
        let form = Form::new().flag("onboot", true).flag("kvm", false).number("cores", 2_u32);
        assert_eq!(form.encode(), "onboot=1&kvm=0&cores=2");
    }

    #[test]
    fn paths_carry_volids_and_upids() {
        assert_eq!(
            path(&["nodes", "pve1", "storage", "local", "content", "local:iso/a b.iso"]),
            "/nodes/pve1/storage/local/content/local%3Aiso%2Fa%20b.iso"
        );
    }

    #[test]
    fn debug_shows_names_only() {
        let shown = format!("{:?}", Form::new().text("cipassword", "hush-hush"));
        assert_eq!(shown, r#"["cipassword"]"#);
    }
}
