//! What schemas of real declarations become.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Kind, Shape, Spec};

#[derive(Deserialize, Serialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
enum State {
    /// There.
    #[default]
    Present,
    /// Gone.
    Absent,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Either {
    Number(i64),
    Name(String),
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Net {
    bridge: String,
    tag: Option<u16>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Shared {
    host: Option<String>,
    #[schemars(extend("x-env" = ["PORT"]))]
    port: Option<u16>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Params {
    /// The name.
    #[schemars(extend("x-aliases" = ["title"]))]
    name: String,
    #[serde(default)]
    state: State,
    wanted: Option<State>,
    net: Option<BTreeMap<String, Net>>,
    tags: Option<Vec<String>>,
    either: Option<Either>,
    token: Option<secret::Secret>,
    tokens: Option<Vec<secret::Secret>>,
    #[schemars(range(min = 1, max = 5))]
    count: Option<u8>,
    anything: Option<serde_json::Value>,
    #[serde(flatten)]
    shared: Shared,
}

#[test]
fn each_type_has_its_shape() {
    let spec = Spec::of::<Params>();
    let shape = |name: &str| spec.find(name).map(|option| option.shape.clone()).unwrap();
    assert_eq!(shape("name").kind, Kind::Str);
    assert_eq!(spec.find("title").unwrap().name, "name");
    assert_eq!(spec.find("name").unwrap().description, "The name.");
    assert!(spec.find("name").unwrap().required);
    assert_eq!(spec.find("state").unwrap().default, Some(json!("present")));
    for name in ["state", "wanted"] {
        let Kind::Choice(choices) = shape(name).kind else { panic!("{name} has no choices") };
        assert_eq!(
            choices.iter().map(|choice| choice.value.clone()).collect::<Vec<_>>(),
            ["present", "absent"]
        );
        assert_eq!(choices[0].description, "There.");
    }
    let Kind::Dict(nets) = shape("net").kind else { panic!("net is no dict") };
    let Kind::Dict(net) = nets.rest.unwrap().kind else { panic!("a net is no dict") };
    assert!(net.options[0].required && !net.options[1].required && net.rest.is_none());
    assert_eq!(shape("tags").kind, Kind::List(Box::new(Shape::new(Kind::Str))));
    let Kind::OneOf(shapes) = shape("either").kind else { panic!("either is one") };
    assert_eq!(shapes.iter().map(Shape::type_name).collect::<Vec<_>>(), ["int", "str"]);
    assert!(shape("token").no_log && !shape("token").may_be_empty);
    assert!(shape("tokens").holds_secret() && !shape("tokens").no_log);
    assert_eq!((shape("count").minimum, shape("count").maximum), (Some(1.0), Some(5.0)));
    assert_eq!(shape("anything").kind, Kind::Raw);
    assert_eq!(shape("port").kind, Kind::Int);
    assert_eq!(spec.find("port").unwrap().env, ["PORT"]);
    assert!(spec.rest.is_none());
}
