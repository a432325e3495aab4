//! Where this program stands, which is where its files are looked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The file that is looked for.
const NAME: &str = "pve_inventory.cfg";
/// The variable that names it.
const VARIABLE: &str = "PVE_INVENTORY_CONFIG";

/// The environment of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The folder of the executable.
    pub(crate) executable: PathBuf,
    /// The working directory.
    pub(crate) working: PathBuf,
    /// The environment variables.
    pub(crate) variables: BTreeMap<String, String>,
}

impl Place {
    /// The place of this process.
    pub(crate) fn here() -> Self {
        let executable = std::env::current_exe().unwrap_or_default();
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self {
            executable: executable.parent().map(Path::to_owned).unwrap_or_default(),
            working: std::env::current_dir().unwrap_or_default(),
            variables,
        }
    }

    /// A variable that is set to something.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).filter(|value| !value.trim().is_empty()).cloned()
    }

    /// The configuration file. One that was named must be there.
    pub(crate) fn config_file(&self) -> Result<Option<PathBuf>, Error> {
        if let Some(named) = self.variable(VARIABLE) {
            let path = self.working.join(named);
            return match path.metadata() {
                Ok(_) => Ok(Some(path)),
                Err(source) => Err(Error::Read { path, source }),
            };
        }
        let mut folders = vec![
            self.working.clone(),
            self.executable.clone(),
            self.executable.join("inventory/site"),
        ];
        folders.extend(self.repository());
        Ok(folders.into_iter().map(|folder| folder.join(NAME)).find(|path| path.is_file()))
    }

    /// The folder that holds `inventory/site`, if this program is in there.
    fn repository(&self) -> Option<PathBuf> {
        let inside = self.executable.ends_with("inventory/site");
        self.executable.ancestors().nth(2).filter(|_| inside).map(Path::to_owned)
    }

    /// The folder of the specs, unless the configuration says another.
    pub(crate) fn default_guests(&self) -> PathBuf {
        self.repository().unwrap_or_else(|| self.executable.clone()).join("inventory/guests")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_looked_for_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let place = Place {
            executable: root.join("bin"),
            working: root.join("work"),
            variables: BTreeMap::new(),
        };
        for folder in ["bin/inventory/site", "work"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        assert_eq!(place.config_file().unwrap(), None);
        for folder in ["bin/inventory/site", "bin", "work"] {
            let path = root.join(folder).join(NAME);
            std::fs::write(&path, "").unwrap();
            assert_eq!(place.config_file().unwrap(), Some(path));
        }
        // the copy in inventory/site finds the same file, from whatever directory it is run
        let site = Place {
            executable: root.join("bin/inventory/site"),
            working: root.join("elsewhere"),
            variables: BTreeMap::new(),
        };
        std::fs::remove_file(root.join("bin/inventory/site").join(NAME)).unwrap();
        assert_eq!(site.config_file().unwrap(), Some(root.join("bin").join(NAME)));
        let mut named = place.clone();
        named.variables.insert(VARIABLE.to_owned(), "../bin/pve_inventory.cfg".to_owned());
        assert_eq!(named.config_file().unwrap(), Some(root.join("work/../bin/pve_inventory.cfg")));
        named.variables.insert(VARIABLE.to_owned(), "missing.cfg".to_owned());
        let error = named.config_file().unwrap_err().to_string();
        assert!(error.contains("work/missing.cfg: No such file"), "{error}");
    }

    #[test]
    fn specs_are_beside_the_repositorys_inventory() {
        for (executable, guests) in [
            ("/repo/inventory/site", "/repo/inventory/guests"),
            ("/repo", "/repo/inventory/guests"),
        ] {
            let place = Place { executable: executable.into(), ..Place::default() };
            assert_eq!(place.default_guests(), Path::new(guests));
        }
    }
}
