//! The `RETURN` of a module: its own values, and those that the runner adds.

use serde_json::{Map, Value, json};

use super::prose::paragraphs;
use crate::spec::{Kind, Opt, Spec};

/// The documentation of what is returned. `x-returned` on a field says when, if not always.
pub(super) fn documentation(schema: &Value) -> Value {
    let mut entries = Map::new();
    for option in &Spec::from_schema(schema).options {
        let when = schema["properties"][&option.name]["x-returned"].as_str().unwrap_or("success");
        entries.insert(option.name.clone(), entry(option, Some(when)));
    }
    let steps = |description: &str, when: &str| json!({"description": [description], "returned": when, "type": "list", "elements": "str"});
    entries.insert("plan".into(), steps("What was changed, or would be in check mode.", "success"));
    let when = "when it failed after the first change was begun";
    entries.insert("done".into(), steps("The steps that were done.", when));
    entries.insert("left".into(), steps("The steps that were not done.", when));
    Value::Object(entries)
}

fn entry(option: &Opt, when: Option<&str>) -> Value {
    let mut entry = Map::new();
    entry.insert("description".into(), paragraphs(&option.description).into());
    if let Some(when) = when {
        entry.insert("returned".into(), when.into());
    }
    entry.insert("type".into(), option.shape.type_name().into());
    let mut inner = &option.shape.kind;
    if let Kind::List(item) = inner {
        entry.insert("elements".into(), item.type_name().into());
        inner = &item.kind;
    }
    if let Kind::Dict(spec) = inner
        && !spec.options.is_empty()
    {
        let contains =
            spec.options.iter().map(|option| (option.name.clone(), self::entry(option, None)));
        entry.insert("contains".into(), Value::Object(contains.collect()));
    }
    Value::Object(entry)
}
