//! Coercion takes whatever comes: it makes a value or refuses it, and never panics.

use proptest::prelude::*;
use serde_json::Value;

use super::coerce_tests::coerce;

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        "[0-9a-z=,{}\\[\\]'\" .:_+-]{0,12}",
        Just("__omit_place_holder__0".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("bridge|tag|[a-z]{0,3}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_either_made_or_refused(value in any_json(), old in any::<bool>()) {
        for kind in [
            "str", "path", "name", "int", "1..5", "float", "bool", "raw", "present|absent", "on|off|auto",
            "1|2", "strs", "ints", "choices", "dict", "ints by name", "nic", "nics",
            "nics by name", "anything by name", "int or str", "bool or str", "int or list",
        ] {
            match coerce(kind, value.clone(), old) {
                // what was made is taken again as it is
                Ok(Some(made)) => prop_assert_eq!(coerce(kind, made.clone(), old), Ok(Some(made))),
                Ok(None) => {}
                Err(message) => prop_assert!(message.contains('x'), "{}", message),
            }
        }
    }
}
