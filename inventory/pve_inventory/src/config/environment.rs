//! `PROXMOX_*`, the variables that community.proxmox knows, over what a file says.

use secret::Secret;

use crate::config::{Config, Setting};
use crate::error::Error;

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Puts what the environment says over what the file said.
pub(crate) fn overlay(config: &mut Config, variables: Variables<'_>) -> Result<(), Error> {
    let get =
        |name: &'static str| variables(name).map(|value| Setting::from_environment(value, name));
    if let Some(host) = get("PROXMOX_HOST").or_else(|| get("PROXMOX_URL")) {
        // an endpoint comes whole from one place: the file's port is that of the file's host
        config.host = Some(host);
        config.port = None;
    }
    if let Some(port) = get("PROXMOX_PORT") {
        let number = port.value.trim().parse().map_err(|_| Error::Environment {
            name: "PROXMOX_PORT",
            value: port.value.clone(),
            expected: "a port is a number up to 65535",
        })?;
        config.port = Some(Setting::from_environment(number, "PROXMOX_PORT"));
    }
    credentials(config, variables);
    if let Some(path) = get("PROXMOX_CA_PATH") {
        let value = path.value.into();
        config.ca_path = Some(Setting { value, origin: path.origin });
    }
    if let Some(fingerprint) = get("PROXMOX_FINGERPRINT") {
        config.fingerprint = Some(fingerprint);
    }
    if let Some(text) = get("PROXMOX_VALIDATE_CERTS") {
        let value = match text.value.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" | "y" | "t" => true,
            "0" | "false" | "no" | "off" | "n" | "f" => false,
            _ => {
                return Err(Error::Environment {
                    name: "PROXMOX_VALIDATE_CERTS",
                    value: text.value,
                    expected: "say true or false",
                });
            }
        };
        config.validate_certs = Setting { value, origin: text.origin };
    }
    Ok(())
}

/// Who calls. A token or a user with a password from here leaves nothing of the file's behind, so
/// that no half of one meets a half of the other.
fn credentials(config: &mut Config, variables: Variables<'_>) {
    let get =
        |name: &'static str| variables(name).map(|value| Setting::from_environment(value, name));
    let secret = |name: &'static str| {
        variables(name).map(|value| Setting::from_environment(Secret::new(value), name))
    };
    let (user, token_id) = (get("PROXMOX_USER"), get("PROXMOX_TOKEN_ID"));
    let password = secret("PROXMOX_PASSWORD");
    if let Some(token_id) = token_id {
        let whole = token_id.value.contains('!');
        config.user = if whole { user } else { user.or(config.user.take()) };
        config.token_id = Some(token_id);
    } else {
        if user.is_some() && password.is_some() {
            (config.token_id, config.token_secret_file) = (None, None);
        }
        config.user = user.or(config.user.take());
    }
    config.password = password;
    if let Some(secret) = secret("PROXMOX_TOKEN_SECRET")
        && config.token_id.is_some()
    {
        config.token_secret = Some(secret);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlaid(pairs: &[(&str, &str)]) -> Result<Config, Error> {
        let mut config = Config::empty("guests".into());
        config.host = Some(Setting::from_file("https://file:8443".to_owned()));
        config.port = Some(Setting::from_file(1234));
        config.user = Some(Setting::from_file("root@pam".to_owned()));
        config.token_id = Some(Setting::from_file("file".to_owned()));
        config.token_secret_file = Some(Setting::from_file("secret".into()));
        let find = |name: &str| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        overlay(&mut config, &find)?;
        Ok(config)
    }

    #[test]
    fn the_environment_goes_over_the_file() {
        let text = |setting: &Option<Setting<String>>| {
            setting.as_ref().map(|setting| format!("{} ({})", setting.value, setting.origin))
        };
        let row = |pairs: &[(&str, &str)]| {
            let config = overlaid(pairs).unwrap();
            [&config.host, &config.user, &config.token_id].map(|s| text(s).unwrap_or_default())
        };
        let file = "https://file:8443 (configuration file)";
        let (root, token) = ("root@pam (configuration file)", "file (configuration file)");
        for (pairs, expected) in [
            (&[][..], [file, root, token]),
            (
                &[("PROXMOX_HOST", "a"), ("PROXMOX_URL", "https://b")],
                ["a (PROXMOX_HOST)", root, token],
            ),
            (&[("PROXMOX_URL", "https://b")], ["https://b (PROXMOX_URL)", root, token]),
            (&[("PROXMOX_TOKEN_ID", "ci")], [file, root, "ci (PROXMOX_TOKEN_ID)"]),
            (&[("PROXMOX_TOKEN_ID", "a@pve!ci")], [file, "", "a@pve!ci (PROXMOX_TOKEN_ID)"]),
            (
                &[("PROXMOX_USER", "u@pve"), ("PROXMOX_PASSWORD", "p")],
                [file, "u@pve (PROXMOX_USER)", ""],
            ),
            (&[("PROXMOX_USER", "u@pve")], [file, "u@pve (PROXMOX_USER)", token]),
        ] {
            assert_eq!(row(pairs), expected.map(str::to_owned), "{pairs:?}");
        }
        assert_eq!(overlaid(&[("PROXMOX_HOST", "a")]).unwrap().port, None);
        let port = overlaid(&[("PROXMOX_PORT", "99")]).unwrap().port.unwrap();
        assert_eq!((port.value, port.origin), (99, Origin::Environment("PROXMOX_PORT")));
    }

    use crate::config::Origin;

    #[test]
    fn checks_are_switched_off_only_in_so_many_words() {
        for (text, value) in
            [("false", false), ("0", false), ("No", false), ("1", true), ("TRUE", true)]
        {
            let config = overlaid(&[("PROXMOX_VALIDATE_CERTS", text)]).unwrap();
            assert_eq!(config.validate_certs.value, value, "{text}");
        }
        for (name, text) in [("PROXMOX_VALIDATE_CERTS", "never"), ("PROXMOX_PORT", "https")] {
            let error = overlaid(&[(name, text)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} is '{text}': ")), "{error}");
        }
    }
}
