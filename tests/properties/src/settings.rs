use pve_types::property::PropertyString;
use pve_types::{Setting, check_setting, check_words, shown};

/// `KEY: VALUE` of a guest's configuration: what is read is written again, what is unknown is kept,
/// and a value is the same as itself.
pub fn setting(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (key, value) = text.split_once(": ").unwrap_or(("net0", text));
    assert_eq!(PropertyString::new(value).to_string(), value);
    let setting = Setting::of(key);
    assert!(setting.same(value, value), "{value:?} differs from itself");
    assert!(setting.holds(key, Some(value), value), "{value:?} does not hold beside itself");
    if let Setting::Line(grammar) = setting {
        let options = grammar.options(value);
        let line = grammar.line(&options);
        assert_eq!(grammar.options(&line), options, "{value:?} was written as {line:?}");
        assert_eq!(grammar.line(&grammar.options(&line)), line, "{value:?} is not settled");
        assert!(grammar.same(value, &line), "{value:?} is not the same as {line:?}");
        // their outcome depends on the input
        let _ = grammar.check_line(value, &[]);
    }
    let _ = (check_setting(key), check_words(key, value), shown(key, value));
}
