//! Types and named formats of values, with PVE's words for what does not fit.

use std::net::{Ipv4Addr, Ipv6Addr};

use regex_lite::Regex;

use super::params::split_list;
use super::schema::Property;

/// Whether a text is of a type; the error is what PVE says.
pub(crate) fn check_type(kind: &str, value: &str) -> Result<(), String> {
    let fits = match kind {
        "integer" => {
            let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        }
        "number" => {
            !value.is_empty()
                && value.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
                && value.trim_start_matches('+').parse::<f64>().is_ok()
        }
        "boolean" => matches!(value, "0" | "1"),
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("type check ('{kind}') failed - got '{value}'")) }
}

fn as_number(value: &serde_json::Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Checks length, pattern, range and choices.
pub(crate) fn check_limits(property: &Property, value: &str) -> Result<(), String> {
    let length = value.chars().count();
    if let Some(max) = property.max_length.filter(|max| length > *max) {
        return Err(format!("value may only be {max} characters long"));
    }
    if let Some(min) = property.min_length.filter(|min| length < *min) {
        return Err(format!("value must be at least {min} characters long"));
    }
    if let Some(pattern) = &property.pattern
        && !matches(pattern, value)
    {
        return Err("value does not match the regex pattern".to_owned());
    }
    if matches!(property.kind.as_str(), "integer" | "number")
        && let Ok(number) = value.trim_start_matches('+').parse::<f64>()
    {
        if let Some(min) = as_number(&property.minimum).filter(|min| number < *min) {
            return Err(format!("value must have a minimum value of {min}"));
        }
        if let Some(max) = as_number(&property.maximum).filter(|max| number > *max) {
            return Err(format!("value must have a maximum value of {max}"));
        }
    }
    if property.choices.is_empty() {
        return Ok(());
    }
    let choices: Vec<String> = property
        .choices
        .iter()
        .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
        .collect();
    if choices.iter().any(|choice| choice == value) {
        Ok(())
    } else {
        Err(format!(
            "value '{value}' does not have a value in the enumeration '{}'",
            choices.join(", ")
        ))
    }
}

/// Whether the whole of a text matches a pattern; an unreadable pattern matches all.
fn matches(pattern: &str, value: &str) -> bool {
    Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|regex| regex.is_match(value))
}

fn dns_name(value: &str) -> bool {
    !value.is_empty()
        && value.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

fn cidr(value: &str, max: u8) -> Option<(&str, u8)> {
    let (address, mask) = value.split_once('/')?;
    let mask: u8 = mask.parse().ok()?;
    (mask <= max).then_some((address, mask))
}

fn configid(value: &str) -> bool {
    let mut bytes = value.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && value.len() > 1
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn storage_id(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.len() > 1
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && value.ends_with(|c: char| c.is_ascii_alphanumeric())
}

fn mac(value: &str) -> bool {
    let parts: Vec<&str> = value.split(':').collect();
    parts.len() == 6
        && parts.iter().all(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit()))
        && u8::from_str_radix(parts[0], 16).is_ok_and(|first| first & 1 == 0)
}

fn urlencoded(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.iter().enumerate().all(|(i, b)| match b {
        b'%' => bytes.get(i + 1..i + 3).is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit)),
        _ => b.is_ascii_alphanumeric() || b"-_.~()*'!".contains(b),
    })
}

fn tag(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-+.".contains(&b))
}

fn volume_id(value: &str) -> bool {
    value.split_once(':').is_some_and(|(storage, rest)| {
        storage_id(storage) && !rest.is_empty() && !rest.contains(char::is_whitespace)
    })
}

/// Checks a named format; the error is the part after `invalid format - `.
pub(crate) fn check(format: &str, value: &str) -> Result<(), String> {
    let refuse = |fits: bool, text: String| if fits { Ok(()) } else { Err(text) };
    match format {
        "pve-tag-list" => {
            return refuse(
                split_list(value).iter().all(|part| tag(part)),
                "invalid characters in tag".to_owned(),
            );
        }
        "address-list" => {
            return refuse(
                split_list(value)
                    .iter()
                    .all(|part| part.parse::<std::net::IpAddr>().is_ok() || dns_name(part)),
                "value does not look like a valid address".to_owned(),
            );
        }
        _ => {}
    }
    if let Some(base) = format.strip_suffix("-list") {
        return split_list(value).iter().try_for_each(|part| check(base, part));
    }
    match format {
        "pve-vmid" => {
            let fits = value.parse::<u32>().is_ok_and(|id| (100..=999_999_999).contains(&id));
            refuse(fits, "value does not look like a valid VM ID".to_owned())
        }
        "dns-name" => {
            refuse(dns_name(value), "value does not look like a valid DNS name".to_owned())
        }
        "pve-node" => {
            refuse(dns_name(value), "value does not look like a valid node name".to_owned())
        }
        "mac-addr" => refuse(mac(value), "value is not a valid unicast MAC address".to_owned()),
        "pve-configid" => refuse(configid(value), format!("invalid configuration ID '{value}'")),
        "pve-storage-id" => {
            refuse(storage_id(value), format!("storage ID '{value}' contains illegal characters"))
        }
        "pve-bridge-id" => refuse(
            !value.is_empty()
                && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)),
            format!("invalid bridge ID '{value}'"),
        ),
        "pve-ipv4-config" => {
            let fits = value == "dhcp"
                || cidr(value, 32).is_some_and(|(a, _)| a.parse::<Ipv4Addr>().is_ok());
            refuse(fits, "value does not look like a valid ipv4 network configuration".to_owned())
        }
        "pve-ipv6-config" => {
            let fits = matches!(value, "dhcp" | "auto" | "manual")
                || cidr(value, 128).is_some_and(|(a, _)| a.parse::<Ipv6Addr>().is_ok());
            refuse(fits, "value does not look like a valid ipv6 network configuration".to_owned())
        }
        "ipv4" => refuse(
            value.parse::<Ipv4Addr>().is_ok(),
            "value does not look like a valid ipv4 address".to_owned(),
        ),
        "ipv6" => refuse(
            value.parse::<Ipv6Addr>().is_ok(),
            "value does not look like a valid ipv6 address".to_owned(),
        ),
        "urlencoded" => refuse(urlencoded(value), format!("invalid urlencoded string: {value}")),
        "pve-volume-id" => refuse(volume_id(value), format!("unable to parse volume ID '{value}'")),
        "pve-volume-id-or-absolute-path" => refuse(
            volume_id(value) || value.starts_with('/'),
            format!("unable to parse volume ID '{value}'"),
        ),
        "pve-volume-id-or-qm-path" => refuse(
            volume_id(value) || value.starts_with('/') || matches!(value, "none" | "cdrom"),
            format!("unable to parse volume ID '{value}'"),
        ),
        "disk-size" => {
            refuse(super::size::parse(value).is_some(), format!("invalid size '{value}'"))
        }
        "pve-hotplug-features" => refuse(
            matches!(value, "0" | "1")
                || split_list(value).iter().all(|part| {
                    matches!(
                        part.as_str(),
                        "disk" | "network" | "usb" | "memory" | "cpu" | "cloudinit"
                    )
                }),
            "unable to parse hotplug option".to_owned(),
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_refused_in_pves_words() {
        let cases = [
            ("pve-vmid", "50", "value does not look like a valid VM ID"),
            ("dns-name", "web_1", "value does not look like a valid DNS name"),
            ("pve-tag-list", "bad tag!", "invalid characters in tag"),
            ("urlencoded", "a b", "invalid urlencoded string: a b"),
            (
                "pve-ipv4-config",
                "10.0.0.5",
                "value does not look like a valid ipv4 network configuration",
            ),
            ("mac-addr", "01:00:00:00:00:00", "value is not a valid unicast MAC address"),
        ];
        for (format, value, wanted) in cases {
            assert_eq!(check(format, value), Err(wanted.to_owned()), "{format} {value}");
        }
        for (format, value) in [
            ("pve-tag-list", "web;Prod,b_1 alpha"),
            ("pve-ipv4-config", "dhcp"),
            ("urlencoded", "ssh-ed25519%20AAAA"),
            ("pve-volume-id", "local:110/vm-110-disk-0.raw"),
        ] {
            assert_eq!(check(format, value), Ok(()), "{format} {value}");
        }
    }

    #[test]
    fn booleans_are_0_and_1_and_nothing_else() {
        for value in ["", "true", "yes", "on", "True", "2"] {
            assert_eq!(
                check_type("boolean", value),
                Err(format!("type check ('boolean') failed - got '{value}'"))
            );
        }
        assert_eq!(check_type("integer", "+128"), Ok(()));
        assert!(check_type("integer", "128.0").is_err());
    }
}
