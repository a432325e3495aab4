//! The calls that are served, with their parameters, and the check of a call against them.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::Deserialize;

use super::error::ApiError;
use super::formats;
use super::params::{Param, Params};
use super::property;

/// A parameter, or a key of a property string.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Property {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(rename = "enum")]
    pub(crate) choices: Vec<serde_json::Value>,
    pub(crate) minimum: serde_json::Value,
    pub(crate) maximum: serde_json::Value,
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) pattern: Option<String>,
    pub(crate) optional: u8,
    #[serde(rename = "default_key")]
    pub(crate) default_key: u8,
    pub(crate) alias: Option<String>,
    pub(crate) key_alias: Option<String>,
    pub(crate) requires: Option<String>,
    pub(crate) format: Option<String>,
}

/// A property string's keys.
pub(crate) type Format = BTreeMap<String, Property>;

#[derive(Debug, Clone, Deserialize)]
struct RawCall {
    params: BTreeMap<String, Property>,
    #[serde(default)]
    check: serde_json::Value,
    #[serde(default)]
    user: Option<String>,
    #[serde(rename = "8.4", default)]
    old: Option<Differences>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Differences {
    params: BTreeMap<String, Option<Property>>,
    check: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Raw {
    formats: HashMap<String, Format>,
    calls: BTreeMap<String, RawCall>,
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct CallSchema {
    pub(crate) params: BTreeMap<String, Property>,
    /// PVE's permission expression, null if the handler checks.
    pub(crate) check: serde_json::Value,
    /// `world` needs no authentication.
    pub(crate) user: Option<String>,
}

/// The schema of one version.
#[derive(Debug)]
pub(crate) struct Schema {
    calls: BTreeMap<String, CallSchema>,
}

fn raw() -> &'static Raw {
    static RAW: OnceLock<Raw> = OnceLock::new();
    RAW.get_or_init(|| {
        #[expect(clippy::expect_used, reason = "the table is part of the program and tested")]
        serde_json::from_str(include_str!("schema.json")).expect("schema.json")
    })
}

/// The keys of a property string by the format's name.
pub(crate) fn property_format(name: &str) -> Option<&'static Format> {
    raw().formats.get(name.strip_prefix('#').unwrap_or(name))
}

impl Schema {
    /// The schema of 9.2, or of 8.4 if `old`.
    pub(crate) fn new(old: bool) -> Self {
        let mut calls = BTreeMap::new();
        for (name, call) in &raw().calls {
            let mut schema = CallSchema {
                params: call.params.clone(),
                check: call.check.clone(),
                user: call.user.clone(),
            };
            if let Some(differences) = call.old.as_ref().filter(|_| old) {
                for (key, property) in &differences.params {
                    match property {
                        Some(property) => schema.params.insert(key.clone(), property.clone()),
                        None => schema.params.remove(key),
                    };
                }
                if let Some(check) = &differences.check {
                    schema.check = check.clone();
                }
            }
            calls.insert(name.clone(), schema);
        }
        Self { calls }
    }

    /// A call by method and path template.
    pub(crate) fn call(&self, method: &str, template: &str) -> Option<&CallSchema> {
        self.calls.get(&format!("{method} {template}"))
    }

    /// A guest setting by its name (`net0`), as `PUT .../config` knows it.
    pub(crate) fn setting(&self, key: &str) -> Option<&Property> {
        find(&self.call("PUT", "/nodes/{node}/qemu/{vmid}/config")?.params, key)
    }
}

/// How many of a family there are.
fn family_size(family: &str) -> u32 {
    match family {
        "ide" | "serial" => 4,
        "sata" => 6,
        "scsi" => 31,
        "virtio" | "hostpci" => 16,
        "unused" => 256,
        "usb" => 14,
        "parallel" => 3,
        "numa" => 8,
        "virtiofs" => 10,
        _ => 32,
    }
}

fn find<'a>(params: &'a BTreeMap<String, Property>, key: &str) -> Option<&'a Property> {
    if let Some(property) = params.get(key) {
        return Some(property);
    }
    let family = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let index: u32 = key.get(family.len()..)?.parse().ok()?;
    params.get(&format!("{family}[n]")).filter(|_| index < family_size(family))
}

/// Checks one value; the text is what stands under `errors`.
pub(crate) fn check_value(name: &str, value: &str, property: &Property) -> Result<(), String> {
    formats::check_type(&property.kind, value)?;
    if let Some(format) = &property.format {
        let checked = match property_format(format) {
            Some(keys) => property::check(name, value, keys),
            None => formats::check(format, value),
        };
        checked.map_err(|text| format!("invalid format - {text}\n"))?;
    }
    formats::check_limits(property, value)
}

impl CallSchema {
    /// Checks all parameters of a call, and joins lists that came as several values.
    pub(crate) fn verify(&self, mut params: Params) -> Result<Params, ApiError> {
        let mut errors = BTreeMap::new();
        for (name, value) in &mut params.0 {
            let Some(property) = find(&self.params, name) else {
                errors.insert(
                    name.clone(),
                    "property is not defined in schema and the schema does not allow additional \
                     properties"
                        .to_owned(),
                );
                continue;
            };
            if let Param::Many(values) = value
                && property.format.as_deref().is_some_and(|format| format.ends_with("-list"))
            {
                *value = Param::One(values.join(","));
            }
            let checked = match &*value {
                Param::One(text) if property.kind == "array" => {
                    *value = Param::Many(vec![text.clone()]);
                    Ok(())
                }
                Param::One(text) => check_value(name, text, property),
                Param::Many(_) if property.kind == "array" => Ok(()),
                Param::Many(_) => {
                    Err(format!("type check ('{}') failed - got ARRAY", property.kind))
                }
                Param::Undefined => Ok(()),
            };
            if let Err(text) = checked {
                errors.insert(name.clone(), text);
            }
        }
        for (name, property) in &self.params {
            if property.optional == 0 && !params.0.contains_key(name) {
                errors
                    .insert(name.clone(), "property is missing and it is not optional".to_owned());
            }
            if let Some(other) = &property.requires
                && params.0.contains_key(name)
                && !params.0.contains_key(other)
            {
                errors.insert(
                    other.clone(),
                    format!("missing property - '{name}' requires this property"),
                );
            }
        }
        if errors.is_empty() { Ok(params) } else { Err(ApiError::params(errors)) }
    }
}
