//! `PROXMOX_*`, the variables that community.proxmox knows, over what a file says.
//!
//! They are about one cluster. With several, those of a cluster have its name behind them
//! (`PROXMOX_TOKEN_SECRET_EAST`), and a host without a name takes the place of all of them.

use secret::Secret;

use crate::config::{Cluster, Config, Setting};
use crate::error::Error;

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Puts what the environment says over what the file said.
pub(crate) fn overlay(config: &mut Config, variables: Variables<'_>) -> Result<(), Error> {
    let elsewhere =
        ["PROXMOX_HOST", "PROXMOX_URL"].into_iter().any(|name| variables(name).is_some());
    if config.clusters.len() > 1 && elsewhere {
        config.clusters = vec![Cluster::default()];
    }
    if let [only] = &mut config.clusters[..] {
        Reader { variables, suffix: String::new() }.over(only)?;
    }
    for cluster in &mut config.clusters {
        if let Some(name) = &cluster.name {
            let suffix = format!("_{}", name.to_ascii_uppercase().replace('-', "_"));
            Reader { variables, suffix }.over(cluster)?;
        }
    }
    Ok(())
}

/// The variables of one cluster.
struct Reader<'a> {
    variables: Variables<'a>,
    suffix: String,
}

impl Reader<'_> {
    fn get(&self, name: &str) -> Option<Setting<String>> {
        let name = format!("{name}{}", self.suffix);
        (self.variables)(&name).map(|value| Setting::from_environment(value, &name))
    }

    fn secret(&self, name: &str) -> Option<Setting<Secret>> {
        let Setting { value, origin } = self.get(name)?;
        Some(Setting { value: Secret::new(value), origin })
    }

    fn wrong(&self, name: &str, value: String, expected: &'static str) -> Error {
        Error::Environment { name: format!("{name}{}", self.suffix), value, expected }
    }

    fn over(&self, cluster: &mut Cluster) -> Result<(), Error> {
        if let Some(host) = self.get("PROXMOX_HOST").or_else(|| self.get("PROXMOX_URL")) {
            // an endpoint comes whole from one place: the file's port is that of the file's host
            let Setting { value, origin } = host;
            cluster.endpoints = Some(Setting { value: vec![value], origin });
            cluster.port = None;
        }
        if let Some(Setting { value, origin }) = self.get("PROXMOX_PORT") {
            let number = value.trim().parse().map_err(|_| {
                self.wrong("PROXMOX_PORT", value.clone(), "a port is a number up to 65535")
            })?;
            cluster.port = Some(Setting { value: number, origin });
        }
        self.credentials(cluster);
        if let Some(Setting { value, origin }) = self.get("PROXMOX_CA_PATH") {
            cluster.ca_path = Some(Setting { value: value.into(), origin });
        }
        if let Some(Setting { value, origin }) = self.get("PROXMOX_FINGERPRINT") {
            cluster.fingerprints = Some(Setting { value: vec![value], origin });
        }
        if let Some(Setting { value: text, origin }) = self.get("PROXMOX_VALIDATE_CERTS") {
            let value = match text.trim().to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" | "on" | "y" | "t" => true,
                "0" | "false" | "no" | "off" | "n" | "f" => false,
                _ => return Err(self.wrong("PROXMOX_VALIDATE_CERTS", text, "say true or false")),
            };
            cluster.validate_certs = Setting { value, origin };
        }
        Ok(())
    }

    /// Who calls. A token or a user with a password from here leaves nothing of the file's behind,
    /// so that no half of one meets a half of the other.
    fn credentials(&self, cluster: &mut Cluster) {
        let (user, token_id) = (self.get("PROXMOX_USER"), self.get("PROXMOX_TOKEN_ID"));
        let password = self.secret("PROXMOX_PASSWORD");
        if let Some(token_id) = token_id {
            let whole = token_id.value.contains('!');
            cluster.user = if whole { user } else { user.or(cluster.user.take()) };
            cluster.token_id = Some(token_id);
        } else {
            if user.is_some() && password.is_some() {
                cluster.token_id = None;
                (cluster.token_secret_file, cluster.token_secret_command) = (None, None);
            }
            cluster.user = user.or(cluster.user.take());
        }
        cluster.password = password;
        if let Some(secret) = self.secret("PROXMOX_TOKEN_SECRET")
            && cluster.token_id.is_some()
        {
            cluster.token_secret = Some(secret);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(host: &str) -> Cluster {
        Cluster {
            endpoints: Some(Setting::from_file(vec![host.to_owned()])),
            port: Some(Setting::from_file(1234)),
            user: Some(Setting::from_file("root@pam".to_owned())),
            token_id: Some(Setting::from_file("file".to_owned())),
            token_secret_file: Some(Setting::from_file("secret".into())),
            ..Cluster::default()
        }
    }

    fn overlaid(pairs: &[(&str, &str)]) -> Result<Cluster, Error> {
        let mut config = Config::empty("guests".into());
        config.clusters = vec![cluster("https://file:8443")];
        let find = |name: &str| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        overlay(&mut config, &find)?;
        Ok(config.clusters.remove(0))
    }

    #[test]
    fn the_environment_goes_over_the_file() {
        let text = |setting: &Option<Setting<String>>| {
            setting.as_ref().map(|setting| format!("{} ({})", setting.value, setting.origin))
        };
        let row = |pairs: &[(&str, &str)]| {
            let config = overlaid(pairs).unwrap();
            let host = config
                .endpoints
                .clone()
                .map(|Setting { mut value, origin }| Setting { value: value.remove(0), origin });
            [&host, &config.user, &config.token_id].map(|s| text(s).unwrap_or_default())
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
        assert_eq!((port.value, port.origin), (99, Origin::Environment("PROXMOX_PORT".to_owned())));
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

    #[test]
    fn with_several_clusters_a_variable_says_which() {
        let applied = |pairs: &[(&str, &str)]| {
            let mut config = Config::empty("guests".into());
            config.clusters = ["east", "far-west"]
                .map(|name| Cluster { name: Some(name.to_owned()), ..cluster(name) })
                .to_vec();
            let find = |name: &str| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            overlay(&mut config, &find).unwrap();
            config.clusters
        };
        let clusters = applied(&[
            ("PROXMOX_TOKEN_SECRET_FAR_WEST", "hush"),
            ("PROXMOX_TOKEN_SECRET", "of another one"),
        ]);
        assert!(clusters[0].token_secret.is_none());
        let secret = clusters[1].token_secret.as_ref().unwrap();
        assert_eq!(secret.value.expose(), "hush");
        assert_eq!(secret.origin.to_string(), "PROXMOX_TOKEN_SECRET_FAR_WEST");
        // nothing of the file's clusters goes to a host that the environment names
        let clusters = applied(&[("PROXMOX_HOST", "lab"), ("PROXMOX_TOKEN_ID", "a@pve!b")]);
        assert_eq!((clusters.len(), clusters[0].hosts()), (1, &["lab".to_owned()][..]));
        assert!(clusters[0].token_secret_file.is_none() && clusters[0].user.is_none());
    }
}
