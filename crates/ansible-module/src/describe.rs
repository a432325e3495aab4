//! What a module says about itself: everything that its documentation, its action groups and the
//! check of its examples are made from.

mod options;
mod prose;
mod returned;

use serde_json::{Value, json};

use crate::module::{COLLECTION, Meta, Module, Place};
use crate::spec::{Spec, schema_of};

/// The whole description.
pub(crate) fn describe<M: Module>() -> Value {
    description(&M::META, &schema_of::<M::Params>(), &schema_of::<M::Returned>())
}

fn description(meta: &Meta, params: &Value, returned: &Value) -> Value {
    let spec = Spec::from_schema(params);
    json!({
        "name": meta.name,
        "place": match meta.place {
            Place::ManagedNode => "managed_node",
            Place::ControlNode => "control_node",
        },
        "groups": meta.groups,
        "DOCUMENTATION": documentation(meta, params, &spec),
        "EXAMPLES": meta.examples,
        "RETURN": returned::documentation(returned),
        "argument_spec": argument_spec(meta, &spec),
    })
}

fn documentation(meta: &Meta, schema: &Value, spec: &Spec) -> Value {
    let (short, mut long) = summary(schema);
    long.extend(relations(meta));
    let place = match meta.place {
        Place::ManagedNode => "Runs on the managed node, as a static binary for Linux on x86_64.",
        Place::ControlNode => {
            "Runs on the control node and speaks to the Proxmox VE API: delegate the task to \
             C(localhost)."
        }
    };
    json!({
        "module": meta.name,
        "short_description": short,
        "description": long,
        "version_added": meta.version_added,
        "author": ["Ferrite contributors (@ferrite)"],
        "options": options::documentation(spec),
        "attributes": {
            "check_mode": {
                "support": "full",
                "description": ["Can run in check mode and return what it would change."],
            },
            "diff_mode": {
                "support": "full",
                "description": ["Shows what it changes, or would change, in diff mode."],
            },
        },
        "notes": [place, "Needs no Python where it runs."],
    })
}

/// The first sentence, and the rest of the description.
fn summary(schema: &Value) -> (String, Vec<Value>) {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut paragraphs = prose::paragraphs(text);
    if paragraphs.is_empty() {
        return (String::new(), Vec::new());
    }
    let first = paragraphs.remove(0);
    let short = first.trim_end_matches('.').to_owned();
    if paragraphs.is_empty() {
        paragraphs.push(first);
    }
    (short, paragraphs.into_iter().map(Value::from).collect())
}

fn relations(meta: &Meta) -> Vec<Value> {
    let names = |group: &[&str]| {
        group.iter().map(|name| format!("O({name})")).collect::<Vec<_>>().join(", ")
    };
    let mut lines = Vec::new();
    for group in meta.mutually_exclusive {
        lines.push(format!("Only one of these may be given: {}.", names(group)));
    }
    for group in meta.required_together {
        lines.push(format!("These are given together or not at all: {}.", names(group)));
    }
    for group in meta.required_one_of {
        lines.push(format!("At least one of these is needed: {}.", names(group)));
    }
    for relation in meta.required_if {
        let which = if relation.any && relation.needs.len() > 1 { "one of " } else { "" };
        lines.push(format!(
            "With O({}={}), {which}{} must be given.",
            relation.option,
            relation.value,
            names(relation.needs)
        ));
    }
    lines.into_iter().map(Value::from).collect()
}

fn argument_spec(meta: &Meta, spec: &Spec) -> Value {
    let required_if: Vec<Value> = meta
        .required_if
        .iter()
        .map(|relation| json!([relation.option, relation.value, relation.needs, relation.any]))
        .collect();
    json!({
        "options": options::argument_spec(spec),
        "mutually_exclusive": meta.mutually_exclusive,
        "required_together": meta.required_together,
        "required_one_of": meta.required_one_of,
        "required_if": required_if,
    })
}

/// What a person sees who runs the module by hand.
pub(crate) fn help<M: Module>() -> String {
    let (short, _) = summary(&schema_of::<M::Params>());
    let name = M::META.name;
    format!(
        "{name}: {short}.\n\n\
         This is the Ansible module {COLLECTION}.{name}. It is not run by hand: Ansible copies it to\n\
         the node and calls it with one argument, the path of a JSON file with the options.\n\n\
         \x20 ansible-doc {COLLECTION}.{name}   its options and examples\n\
         \x20 {name} --describe          the same as JSON\n\
         \x20 {name} --validate FILE     check options without touching anything"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequiredIf;

    const META: Meta = Meta {
        name: "probe",
        groups: &["all"],
        examples: "- name: Probe\n",
        mutually_exclusive: &[&["a", "b"]],
        required_if: &[RequiredIf { option: "state", value: "present", needs: &["a"], any: false }],
        ..Meta::DEFAULT
    };

    #[test]
    fn a_description_holds_all_that_is_generated_from_it() {
        let params = json!({
            "description": "Keep `x` so.\n\nA second\nparagraph.\n\n- one\n- two",
            "properties": {
                "a": {"type": ["string", "null"], "description": "The a.", "x-env": ["PROBE_A"]},
                "b": {"type": "string", "x-no-log": true, "x-aliases": ["bee"], "description": "B."},
                "state": {"oneOf": [
                    {"const": "present", "type": "string", "description": "It is there."},
                    {"const": "absent", "type": "string"},
                ], "default": "present", "description": "What to do."},
                "net": {"type": "object", "description": "Nets.", "additionalProperties": {
                    "type": "object", "properties": {"bridge": {"type": "string", "description": "B."}},
                    "required": ["bridge"],
                }},
                "tags": {"type": ["array", "null"], "items": {"type": "string"}, "description": "T."},
            },
            "required": ["b"],
        });
        let returned =
            json!({"properties": {"path": {"type": "string", "description": "The file."}}});
        let made = description(&META, &params, &returned);
        let doc = &made["DOCUMENTATION"];
        assert_eq!(doc["short_description"], "Keep C(x) so");
        assert_eq!(
            doc["description"],
            json!([
                "A second paragraph.",
                "one",
                "two",
                "Only one of these may be given: O(a), O(b).",
                "With O(state=present), O(a) must be given.",
            ])
        );
        assert_eq!(
            doc["options"],
            json!({
                "a": {
                    "description": ["The a.", "Without it the environment variable C(PROBE_A) is used."],
                    "type": "str",
                },
                "b": {"description": ["B."], "type": "str", "required": true, "aliases": ["bee"]},
                "state": {
                    "description": ["What to do.", "C(present): It is there."],
                    "type": "str", "default": "present", "choices": ["present", "absent"],
                },
                "net": {
                    "description": ["Nets.", "The keys are names; each value has these suboptions."],
                    "type": "dict",
                    "suboptions": {"bridge": {"description": ["B."], "type": "str", "required": true}},
                },
                "tags": {"description": ["T."], "type": "list", "elements": "str"},
            })
        );
        assert_eq!(made["argument_spec"]["options"]["b"]["no_log"], true);
        assert_eq!(
            made["argument_spec"]["options"]["tags"],
            json!({"type": "list", "elements": "str"})
        );
        assert_eq!(
            made["argument_spec"]["required_if"],
            json!([["state", "present", ["a"], false]])
        );
        assert_eq!(made["RETURN"]["path"]["description"], json!(["The file."]));
        assert_eq!(made["RETURN"]["plan"]["elements"], "str");
        assert_eq!(made["groups"], json!(["all"]));
        assert_eq!(made["place"], "managed_node");
    }

    #[test]
    fn a_single_paragraph_is_both_summary_and_description() {
        let (short, long) = summary(&json!({"description": "Only this."}));
        assert_eq!((short.as_str(), long), ("Only this", vec!["Only this.".into()]));
        assert_eq!(summary(&json!({})), (String::new(), vec![]));
    }
}
