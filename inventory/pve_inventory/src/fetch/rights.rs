//! Whether an empty list means that there are no guests, or that the caller may see none.

/// Whether `VM.Audit` at these paths, each with whether it reaches what is below, shows any guest.
pub(super) fn shows_guests<'a>(mut granted: impl Iterator<Item = (&'a str, bool)>) -> bool {
    granted.any(|(path, below)| match path {
        "/" | "/vms" | "/pool" => below,
        _ => path.starts_with("/vms/") || path.starts_with("/pool/"),
    })
}

/// What is said when it shows none.
pub(super) fn blind(caller: &str) -> String {
    format!(
        "{caller} lacks VM.Audit and therefore sees no guest: grant it PVEAuditor on /vms (a token \
         with privilege separation needs it for itself)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_seen_below_what_is_granted() {
        for (granted, shown) in [
            (&[][..], false),
            (&[("/", true)], true),
            (&[("/", false)], false),
            (&[("/vms", true)], true),
            (&[("/vms", false)], false),
            (&[("/vms/100", false)], true),
            (&[("/pool/web", true)], true),
            (&[("/storage", true), ("/nodes/pve1", true)], false),
        ] {
            assert_eq!(shows_guests(granted.iter().copied()), shown, "{granted:?}");
        }
    }
}
