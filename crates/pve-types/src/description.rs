//! `description`: the notes of a guest.

use std::fmt;

/// The notes of a guest. PVE strips the last newline of a VM's and adds one to a container's, so
/// newlines at the end mean nothing.
#[derive(Debug, Clone)]
pub struct Description(String);

impl Description {
    /// PVE refuses more bytes than this.
    pub const MAX: usize = 8192;

    /// These notes.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    fn meant(&self) -> &str {
        self.0.trim_end_matches('\n')
    }
}

impl PartialEq for Description {
    fn eq(&self, other: &Self) -> bool {
        self.meant() == other.meant()
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_newline_means_nothing() {
        assert_eq!(Description::new("a\nb"), Description::new("a\nb\n"));
        assert_ne!(Description::new("a\nb"), Description::new("a\n\nb"));
        assert_eq!(Description::new("owner=ops %41").to_string(), "owner=ops %41");
    }
}
