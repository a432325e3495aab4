//! Every row is a value that Ansible sends for some spelling in a playbook.

use serde_json::{Value, json};

use super::validate::{Request, validate};
use crate::spec::Spec;
use crate::{Failure, Meta, Run};

const META: Meta = Meta { name: "probe", ..Meta::DEFAULT };

/// The schemas of one option called `x`, by the names used in the tables.
fn schema(kind: &str) -> Value {
    let nic = json!({
        "type": "object",
        "properties": {
            "bridge": {"type": "string"},
            "tag": {"type": ["integer", "null"], "minimum": 1, "maximum": 4094},
        },
        "required": ["bridge"],
    });
    match kind {
        "str" => json!({"type": ["string", "null"]}),
        "path" => json!({"type": ["string", "null"], "x-type": "path"}),
        "name" => json!({"type": ["string", "null"], "minLength": 1}),
        "int" => json!({"type": ["integer", "null"]}),
        "1..5" => json!({"type": ["integer", "null"], "minimum": 1, "maximum": 5}),
        "float" => json!({"type": ["number", "null"]}),
        "bool" => json!({"type": ["boolean", "null"]}),
        "raw" => json!(true),
        "present|absent" => json!({"enum": ["present", "absent"]}),
        "on|off|auto" => json!({"enum": ["on", "off", "auto"]}),
        "1|2" => json!({"enum": [1, 2]}),
        "strs" => json!({"type": "array", "items": {"type": "string"}}),
        "ints" => json!({"type": "array", "items": {"type": "integer"}}),
        "choices" => json!({"type": "array", "items": {"enum": ["a", "b"]}}),
        "dict" => json!({"type": "object"}),
        "ints by name" => json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        "nic" => nic,
        "nics" => json!({"type": "array", "items": nic}),
        "anything by name" => json!({"type": "object", "additionalProperties": {}}),
        "nics by name" => json!({"type": "object", "additionalProperties": nic}),
        "int or str" => json!({"type": ["integer", "string"]}),
        "bool or str" => json!({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
        "int or list" => {
            json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]})
        }
        other => panic!("no schema called {other}"),
    }
}

pub(super) fn coerce(
    kind: &str,
    value: Value,
    old_templates: bool,
) -> Result<Option<Value>, String> {
    let spec = Spec::from_schema(&json!({"properties": {"x": schema(kind)}}));
    let request = Request { module: "probe".into(), old_templates, ..Request::default() };
    let env = |name: &str| match name {
        "HOME" => Some("/root".to_owned()),
        "DIR" => Some("srv/x".to_owned()),
        _ => None,
    };
    let arguments = [("x".to_owned(), value)].into_iter().collect();
    validate(&spec, &META, &request, arguments, &env, &Run::default())
        .map(|mut options| options.remove("x"))
        .map_err(|failure: Failure| failure.message().to_owned())
}

#[test]
fn every_spelling_becomes_what_the_option_is() {
    for (kind, given, expected) in [
        ("str", json!("text"), Some(json!("text"))),
        ("str", json!(""), Some(json!(""))),
        ("str", json!(null), None),
        ("str", json!(5), Some(json!("5"))),
        ("str", json!(1.5), Some(json!("1.5"))),
        ("str", json!(true), Some(json!("True"))),
        ("str", json!(false), Some(json!("False"))),
        ("str", json!("__omit_place_holder__0a1b"), None),
        ("name", json!(""), None),
        ("name", json!(100), Some(json!("100"))),
        ("path", json!("~/x"), Some(json!("/root/x"))),
        ("path", json!("~"), Some(json!("/root"))),
        ("path", json!("~other/x"), Some(json!("~other/x"))),
        (
            "path",
            json!("/$DIR/${DIR}s/$NONE/${NONE}/$/${"),
            Some(json!("/srv/x/srv/xs/$NONE/${NONE}/$/${")),
        ),
        ("path", json!(""), None),
        ("int", json!(5), Some(json!(5))),
        ("int", json!("5"), Some(json!(5))),
        ("int", json!(" 5 "), Some(json!(5))),
        ("int", json!("+5"), Some(json!(5))),
        ("int", json!("-5"), Some(json!(-5))),
        ("int", json!("5.0"), Some(json!(5))),
        ("int", json!("1e3"), Some(json!(1000))),
        ("int", json!(5.0), Some(json!(5))),
        ("int", json!("9223372036854775807"), Some(json!(i64::MAX))),
        ("int", json!("18446744073709551615"), Some(json!(u64::MAX))),
        ("int", json!(""), None),
        ("int", json!(" "), None),
        ("int", json!(null), None),
        ("1..5", json!("5"), Some(json!(5))),
        ("float", json!(1), Some(json!(1.0))),
        ("float", json!("1.5"), Some(json!(1.5))),
        ("float", json!("1e-3"), Some(json!(0.001))),
        ("float", json!(""), None),
        ("bool", json!(true), Some(json!(true))),
        ("bool", json!("yes"), Some(json!(true))),
        ("bool", json!("Yes"), Some(json!(true))),
        ("bool", json!("on"), Some(json!(true))),
        ("bool", json!("1"), Some(json!(true))),
        ("bool", json!("True"), Some(json!(true))),
        ("bool", json!("t"), Some(json!(true))),
        ("bool", json!("y"), Some(json!(true))),
        ("bool", json!(1), Some(json!(true))),
        ("bool", json!(1.0), Some(json!(true))),
        ("bool", json!("no"), Some(json!(false))),
        ("bool", json!("OFF"), Some(json!(false))),
        ("bool", json!("0"), Some(json!(false))),
        ("bool", json!("false"), Some(json!(false))),
        ("bool", json!("f"), Some(json!(false))),
        ("bool", json!("n"), Some(json!(false))),
        ("bool", json!(0), Some(json!(false))),
        ("bool", json!(""), None),
        ("raw", json!({"a": [null, ""]}), Some(json!({"a": [null, ""]}))),
        ("raw", json!(""), Some(json!(""))),
        ("raw", json!(null), None),
        ("present|absent", json!("absent"), Some(json!("absent"))),
        ("present|absent", json!(""), None),
        ("on|off|auto", json!(true), Some(json!("on"))),
        ("on|off|auto", json!(false), Some(json!("off"))),
        ("on|off|auto", json!("False"), Some(json!("off"))),
        ("1|2", json!("2"), Some(json!(2))),
        ("1|2", json!(2), Some(json!(2))),
        ("strs", json!(["a", "b"]), Some(json!(["a", "b"]))),
        ("strs", json!("a,b"), Some(json!(["a", "b"]))),
        ("strs", json!("a, b,"), Some(json!(["a", "b"]))),
        ("strs", json!("a"), Some(json!(["a"]))),
        ("strs", json!("['a', 'b']"), Some(json!(["a", "b"]))),
        ("strs", json!("[\"a\"]"), Some(json!(["a"]))),
        ("strs", json!("[::1]:53, 10.0.0.1"), Some(json!(["[::1]:53", "10.0.0.1"]))),
        ("strs", json!(5), Some(json!(["5"]))),
        ("strs", json!([1, true, null, "__omit_place_holder__0a"]), Some(json!(["1", "True"]))),
        ("strs", json!([]), Some(json!([]))),
        ("strs", json!(""), None),
        ("strs", json!(null), None),
        ("ints", json!("1, 2"), Some(json!([1, 2]))),
        ("ints", json!(["1", 2, ""]), Some(json!([1, 2]))),
        ("choices", json!("a, b"), Some(json!(["a", "b"]))),
        ("dict", json!({"a": 1}), Some(json!({"a": 1}))),
        ("dict", json!("{\"a\": 1}"), Some(json!({"a": 1}))),
        ("dict", json!("{'a': True}"), Some(json!({"a": true}))),
        ("dict", json!("a=1, b='x y'"), Some(json!({"a": "1", "b": "x y"}))),
        ("dict", json!({"a": {"b": "__omit_place_holder__0"}}), Some(json!({"a": {}}))),
        ("dict", json!(""), None),
        ("ints by name", json!({"a": "1", "b": null}), Some(json!({"a": 1}))),
        ("ints by name", json!("a=1"), Some(json!({"a": 1}))),
        (
            "nic",
            json!({"bridge": "vmbr0", "tag": "20"}),
            Some(json!({"bridge": "vmbr0", "tag": 20})),
        ),
        ("nic", json!("bridge=vmbr0,tag=20"), Some(json!({"bridge": "vmbr0", "tag": 20}))),
        ("nic", json!({"bridge": 5, "tag": ""}), Some(json!({"bridge": "5"}))),
        (
            "nics",
            json!([{"bridge": "a"}, "bridge=b"]),
            Some(json!([{"bridge": "a"}, {"bridge": "b"}])),
        ),
        ("nics", json!("bridge=b,tag=1"), Some(json!([{"bridge": "b", "tag": 1}]))),
        ("nics by name", json!({"net0": {"bridge": "a"}}), Some(json!({"net0": {"bridge": "a"}}))),
        (
            "nics by name",
            json!({"net0": {"bridge": "a"}, "net1": null}),
            Some(json!({"net0": {"bridge": "a"}})),
        ),
        (
            "anything by name",
            json!({"net0": {"tag": null}, "net1": null}),
            Some(json!({"net0": {"tag": null}, "net1": null})),
        ),
        ("int or str", json!("100"), Some(json!("100"))),
        ("int or str", json!(100), Some(json!(100))),
        ("bool or str", json!("yes"), Some(json!(true))),
        ("bool or str", json!("1"), Some(json!("1"))),
        ("bool or str", json!("auto"), Some(json!("auto"))),
        ("bool or str", json!(false), Some(json!(false))),
        ("int or list", json!("5"), Some(json!(5))),
        ("int or list", json!("5,6"), Some(json!([5, 6]))),
    ] {
        assert_eq!(coerce(kind, given.clone(), false), Ok(expected), "{kind} from {given}");
    }
}

#[test]
fn what_cannot_be_made_is_refused_in_ansibles_words() {
    let range = "value of x must be between 1 and 5, got: 6";
    for (kind, given, message) in [
        (
            "int",
            json!("five"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to int: \"'five'\" cannot be converted to an int",
        ),
        (
            "int",
            json!("5.5"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to int: \"'5.5'\" cannot be converted to an int",
        ),
        (
            "int",
            json!(5.5),
            "argument 'x' is of type <class 'float'> and we were unable to convert to int: \"5.5\" cannot be converted to an int",
        ),
        (
            "int",
            json!("inf"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to int: \"'inf'\" cannot be converted to an int",
        ),
        (
            "int",
            json!(true),
            "argument 'x' is of type <class 'bool'> and we were unable to convert to int: \"True\" cannot be converted to an int",
        ),
        (
            "int",
            json!([5]),
            "argument 'x' is of type <class 'list'> and we were unable to convert to int: \"[5]\" cannot be converted to an int",
        ),
        ("1..5", json!("6"), range),
        (
            "float",
            json!("nan"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to float: <class 'str'> cannot be converted to a float",
        ),
        (
            "float",
            json!({}),
            "argument 'x' is of type <class 'dict'> and we were unable to convert to float: <class 'dict'> cannot be converted to a float",
        ),
        (
            "bool",
            json!("maybe"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to bool: The value 'maybe' is not a valid boolean. Valid booleans include: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'",
        ),
        (
            "bool",
            json!(2),
            "argument 'x' is of type <class 'int'> and we were unable to convert to bool: The value '2' is not a valid boolean. Valid booleans include: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'",
        ),
        (
            "bool",
            json!([]),
            "argument 'x' is of type <class 'list'> and we were unable to convert to bool: <class 'list'> cannot be converted to a bool",
        ),
        (
            "str",
            json!(["a"]),
            "argument 'x' is of type <class 'list'> and we were unable to convert to str: <class 'list'> cannot be converted to a str",
        ),
        (
            "str",
            json!({"a": 1}),
            "argument 'x' is of type <class 'dict'> and we were unable to convert to str: <class 'dict'> cannot be converted to a str",
        ),
        ("present|absent", json!("foo"), "value of x must be one of: present, absent, got: foo"),
        (
            "present|absent",
            json!("Present"),
            "value of x must be one of: present, absent, got: Present",
        ),
        ("present|absent", json!(true), "value of x must be one of: present, absent, got: True"),
        ("on|off|auto", json!(["on"]), "value of x must be one of: on, off, auto, got: [\"on\"]"),
        ("1|2", json!(3), "value of x must be one of: 1, 2, got: 3"),
        (
            "choices",
            json!("a,c,d"),
            "value of x must be one or more of: a, b. Got no match for: c, d",
        ),
        (
            "strs",
            json!({"a": 1}),
            "argument 'x' is of type <class 'dict'> and we were unable to convert to list: <class 'dict'> cannot be converted to a list",
        ),
        (
            "strs",
            json!([["a"]]),
            "Elements value for option 'x' is of type <class 'list'> and we were unable to convert to str: <class 'list'> cannot be converted to a str",
        ),
        (
            "ints",
            json!("1,b"),
            "Elements value for option 'x' is of type <class 'str'> and we were unable to convert to int: \"'b'\" cannot be converted to an int",
        ),
        (
            "dict",
            json!("text"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to dict: dictionary requested, could not parse JSON or key=value",
        ),
        (
            "dict",
            json!("{'a'"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to dict: unable to evaluate string as dictionary",
        ),
        (
            "dict",
            json!("a=1, b"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to dict: unable to evaluate string in the \"key=value\" format as dictionary",
        ),
        (
            "dict",
            json!([1]),
            "argument 'x' is of type <class 'list'> and we were unable to convert to dict: <class 'list'> cannot be converted to a dict",
        ),
        ("nic", json!({"tag": 1}), "missing required arguments: bridge found in x"),
        ("nic", json!({"bridge": null}), "missing required arguments: bridge found in x"),
        (
            "nic",
            json!({"bridge": "a", "tag": 0}),
            "value of tag must be between 1 and 4094, got: 0 found in x",
        ),
        (
            "nic",
            json!({"bridge": "a", "tag": "b"}),
            "argument 'tag' found in 'x' is of type <class 'str'> and we were unable to convert to int: \"'b'\" cannot be converted to an int",
        ),
        (
            "nic",
            json!({"bridge": "a", "tga": 1}),
            "Unsupported parameters for (probe) module: x.tga. Supported parameters include: bridge, tag. Did you mean 'tag' instead of 'tga'?",
        ),
        (
            "nics by name",
            json!({"net0": {"bridge": "a", "tag": "b"}}),
            "argument 'tag' found in 'x -> net0' is of type <class 'str'> and we were unable to convert to int: \"'b'\" cannot be converted to an int",
        ),
        (
            "int or list",
            json!("a"),
            "argument 'x' is of type <class 'str'> and we were unable to convert to int or list: 'a' cannot be converted",
        ),
        (
            "int or str",
            json!({}),
            "argument 'x' is of type <class 'dict'> and we were unable to convert to int or str: {} cannot be converted",
        ),
    ] {
        assert_eq!(
            coerce(kind, given.clone(), false),
            Err(message.to_owned()),
            "{kind} from {given}"
        );
    }
}

#[test]
fn before_2_19_text_that_looks_like_a_dictionary_comes_back_as_text() {
    for (given, expected) in [
        (json!({"a": [1, "b"]}), "{\"a\": [1, \"b\"]}"),
        (json!([1, null, true]), "[1, null, true]"),
    ] {
        assert_eq!(coerce("str", given, true), Ok(Some(expected.into())));
    }
}
