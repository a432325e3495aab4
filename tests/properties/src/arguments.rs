use std::collections::BTreeMap;
use std::convert::Infallible;

use ansible_module::{Failure, Meta, Module, Run, check_arguments};
use schemars::JsonSchema;
use secret::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Options of every kind.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only their reading is tested")]
struct Params {
    /// Required.
    name: String,
    /// Aliased.
    #[schemars(extend("x-aliases" = ["number"]))]
    count: Option<i64>,
    /// A flag.
    #[serde(default)]
    force: bool,
    /// A part of one.
    share: Option<f64>,
    /// Words.
    #[serde(default)]
    words: Vec<String>,
    /// A mapping.
    settings: Option<BTreeMap<String, Value>>,
    /// One of two.
    state: Option<State>,
    /// A group.
    group: Option<Group>,
    /// A secret.
    password: Option<Secret>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum State {
    /// There.
    Present,
    /// Gone.
    Absent,
}

/// Options in an option.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only their reading is tested")]
struct Group {
    /// Required.
    id: u32,
    /// A path.
    path: Option<std::path::PathBuf>,
}

#[derive(Serialize, JsonSchema)]
struct Returned {}

struct Probe;

impl Module for Probe {
    const META: Meta = Meta { name: "probe", ..Meta::DEFAULT };
    type Params = Params;
    type Returned = Returned;
    type Target = ();
    type Found = ();
    type Change = Infallible;

    fn connect(_: &Params, _: &Run) -> Result<(), Failure> {
        Ok(())
    }

    fn observe(_: &Params, (): &mut ()) -> Result<(), Failure> {
        Ok(())
    }

    fn plan(_: &Params, (): &()) -> Result<Vec<Infallible>, Failure> {
        Ok(Vec::new())
    }

    fn apply(change: &Infallible, _: &Params, (): &mut ()) -> Result<(), Failure> {
        match *change {}
    }

    fn returned(_: &Params, (): &(), (): &()) -> Returned {
        Returned {}
    }
}

/// An arguments file: taken or refused with a reason, and no secret is in the reason.
pub fn arguments(data: &[u8]) {
    let Err(message) = check_arguments::<Probe>(data) else { return };
    assert!(!message.is_empty());
    let given: Value = serde_json::from_slice(data).unwrap_or_default();
    if let Some(secret) = given["password"].as_str()
        // one that is short or a part of other words cannot be told from them
        && secret.len() >= 8
        && given.as_object().is_some_and(|all| all.len() == 2)
        && !given["name"].to_string().contains(secret)
    {
        assert!(!message.contains(secret), "{message:?}");
    }
}
