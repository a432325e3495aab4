//! The module that the protocol is tested with: it keeps lines in a file, and misbehaves on request.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use ansible_module::{Diff, Failure, Meta, Module, RequiredIf, Run};
use schemars::JsonSchema;
use secret::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Keep lines in a file.
///
/// It exists to test the runner.
#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// The file.
    #[schemars(extend("x-aliases" = ["dest"]))]
    path: PathBuf,
    /// The lines that the file holds, in this order.
    #[serde(default)]
    lines: Vec<String>,
    /// What to do wrong.
    #[serde(default)]
    misbehave: Misbehave,
    /// A secret.
    #[schemars(extend("x-env" = ["PROBE_PASSWORD"]))]
    password: Option<Secret>,
    /// Whether the file is locked.
    locked: Option<bool>,
    /// Values to return as they are.
    echo: Option<Value>,
    #[serde(flatten)]
    #[expect(dead_code, reason = "only its reading is tested")]
    shared: Shared,
}

/// Options that are declared elsewhere.
#[derive(Debug, Deserialize, JsonSchema)]
struct Shared {
    /// A number that is even.
    #[expect(dead_code, reason = "only its reading is tested")]
    even: Option<Even>,
}

/// A type that knows more than a schema can say.
#[derive(Debug, JsonSchema)]
struct Even(#[expect(dead_code, reason = "only its reading is tested")] u32);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        if number.is_multiple_of(2) {
            Ok(Self(number))
        } else {
            Err(serde::de::Error::custom(format!("{number} is not even")))
        }
    }
}

/// A way to do wrong.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Misbehave {
    /// Do all well.
    #[default]
    No,
    /// Panic while observing, with the secret in the message.
    PanicInObserve,
    /// Panic at the second step.
    PanicInApply,
    /// Fail at the second step.
    FailInApply,
    /// Write nothing and say it was written.
    NotConverge,
    /// Find the state changed at the second step, once.
    StaleOnce,
    /// Find the state changed each time.
    StaleAlways,
    /// Plan a step that cannot be read back.
    Settled,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Returned {
    /// The lines found.
    lines: Vec<String>,
    /// What was given to be returned.
    #[schemars(extend("x-returned" = "when given"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    echo: Option<Value>,
    /// More of it.
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

#[derive(Debug)]
enum Change {
    Append(String),
    Restart,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append(line) => write!(f, "append {line}"),
            Self::Restart => f.write_str("restart it"),
        }
    }
}

struct Target {
    applied: usize,
    stale: bool,
}

struct Probe;

impl Module for Probe {
    const META: Meta = Meta {
        name: "probe",
        groups: &["all"],
        required_if: &[RequiredIf {
            option: "locked",
            value: "True",
            needs: &["password"],
            any: false,
        }],
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Target;
    type Found = Vec<String>;
    type Change = Change;

    fn connect(params: &Params, run: &Run) -> Result<Target, Failure> {
        if let Some(password) = &params.password {
            run.warn(format!("the password is {}", password.expose()));
        }
        Ok(Target { applied: 0, stale: false })
    }

    fn observe(params: &Params, _: &mut Target) -> Result<Vec<String>, Failure> {
        if params.misbehave == Misbehave::PanicInObserve {
            let secret = params.password.as_ref().map(Secret::expose).unwrap_or_default();
            panic!("seen {secret} at \u{2028}");
        }
        match fs::read_to_string(&params.path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Failure::from(error).context(&params.path.display().to_string())),
        }
    }

    fn plan(params: &Params, found: &Vec<String>) -> Result<Vec<Change>, Failure> {
        if !params.lines.starts_with(found) {
            return Err(Failure::new("the file holds other lines").with("found", found));
        }
        let missing = params.lines[found.len()..].iter().cloned().map(Change::Append);
        let restart = (params.misbehave == Misbehave::Settled).then_some(Change::Restart);
        Ok(missing.chain(restart).collect())
    }

    fn apply(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
        let Change::Append(line) = change else { return Ok(()) };
        target.applied += 1;
        let second = target.applied == 2;
        match params.misbehave {
            Misbehave::PanicInApply if second => panic!("no second step"),
            Misbehave::FailInApply if second => return Err(Failure::new("the disk is full")),
            Misbehave::NotConverge => return Ok(()),
            Misbehave::StaleOnce if second && !target.stale => {
                target.stale = true;
                return Err(Failure::new("somebody was here").stale());
            }
            Misbehave::StaleAlways => return Err(Failure::new("somebody was here").stale()),
            _ => {}
        }
        let mut text = fs::read_to_string(&params.path).unwrap_or_default();
        text.push_str(line);
        text.push('\n');
        Ok(fs::write(&params.path, text)?)
    }

    fn settled(change: &Change) -> bool {
        matches!(change, Change::Restart)
    }

    fn diff(params: &Params, found: &Vec<String>, plan: &[Change]) -> Vec<Diff> {
        if params.locked.is_none() || plan.is_empty() {
            return Vec::new();
        }
        let path = params.path.display().to_string();
        vec![Diff {
            before_header: path.clone(),
            after_header: path,
            before: found.join("\n"),
            after: params.lines.join("\n"),
        }]
    }

    fn returned(params: &Params, found: &Vec<String>, _: &Target) -> Returned {
        let more = match &params.echo {
            Some(Value::Object(entries)) => entries.clone().into_iter().collect(),
            _ => BTreeMap::new(),
        };
        Returned { lines: found.clone(), echo: params.echo.clone(), more }
    }
}

fn main() -> ExitCode {
    ansible_module::run::<Probe>()
}
