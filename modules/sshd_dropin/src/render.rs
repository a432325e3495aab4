//! The text of the file. Pure.

use serde_json::{Map, Value};

use crate::config::{self, Content, Joining, Source, canonical, joining};
use crate::error::Error;
use crate::params::Params;

const HEADER: &str =
    "# Managed by Ansible (ferrite.pve.sshd_dropin); changes made here are overwritten.\n";
const INDENT: &str = "    ";

/// Refuses what cannot be written as a line of its own.
pub(crate) fn check(params: &Params) -> Result<(), Error> {
    if let Some(content) = &params.content {
        let bad = |c: char| c.is_control() && !matches!(c, '\t' | '\r');
        return match content.split('\n').position(|line| line.contains(bad)) {
            Some(index) => Err(Error::Control { line: index + 1 }),
            None => check_blocks(content),
        };
    }
    let blocks = params.r#match.iter().flatten();
    let nothing = params.settings.as_ref().is_none_or(Map::is_empty);
    if nothing && params.r#match.as_ref().is_none_or(Vec::is_empty) {
        return Err(Error::Nothing);
    }
    params.settings.iter().try_for_each(check_settings)?;
    for block in blocks {
        let criteria = &block.criteria;
        let error = |why| Error::Criteria { criteria: criteria.clone(), why };
        if criteria.trim().is_empty() {
            return Err(error("are empty"));
        }
        if criteria.contains(char::is_control) {
            return Err(error("are more than one line"));
        }
        check_settings(&block.settings)?;
    }
    Ok(())
}

/// Finds lines that fell into a `Match` by mistake: everything below it belongs to it, whatever
/// the indentation says.
fn check_blocks(content: &str) -> Result<(), Error> {
    let directives = config::walk(&NoFiles, "", content).directives;
    let mut block: Option<(usize, usize)> = None;
    for line in &directives {
        let Some(condition) = line.conditions.last() else { continue };
        match block {
            Some((by, indent)) if by == condition.line && line.indent < indent => {
                return Err(Error::OwnMatch {
                    line: line.line,
                    text: line.text.clone(),
                    criteria: condition.criteria.clone(),
                    by,
                });
            }
            Some((by, _)) if by == condition.line => {}
            _ => block = Some((condition.line, line.indent)),
        }
    }
    Ok(())
}

/// A text is looked at by itself.
struct NoFiles;

impl Source for NoFiles {
    fn read(&self, _: &str) -> Content {
        Content::Unreadable
    }

    fn list(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

fn check_settings(settings: &Map<String, Value>) -> Result<(), Error> {
    let mut seen = Vec::new();
    for (keyword, value) in settings {
        if keyword.is_empty() || !keyword.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(Error::Keyword { keyword: keyword.clone() });
        }
        let today = canonical(keyword);
        if seen.contains(&today) {
            return Err(Error::Twice { keyword: keyword.clone() });
        }
        seen.push(today);
        lines(keyword, value)?;
    }
    Ok(())
}

/// The file's text. [`check`] was called before.
pub(crate) fn text(params: &Params) -> Result<String, Error> {
    if let Some(content) = &params.content {
        let newline = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{content}{newline}"));
    }
    let mut text = HEADER.to_owned();
    for (keyword, value) in params.settings.iter().flatten() {
        for line in lines(keyword, value)? {
            text.push_str(&format!("{line}\n"));
        }
    }
    for block in params.r#match.iter().flatten() {
        text.push_str(&format!("Match {}\n", block.criteria.trim()));
        for (keyword, value) in &block.settings {
            for line in lines(keyword, value)? {
                text.push_str(&format!("{INDENT}{line}\n"));
            }
        }
    }
    Ok(text)
}

/// The lines for one setting.
fn lines(keyword: &str, value: &Value) -> Result<Vec<String>, Error> {
    let error = |why| Error::Value { keyword: keyword.to_owned(), why };
    let scalar = |value: &Value| -> Result<String, Error> {
        let text = match value {
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.trim().to_owned(),
            Value::Null => return Err(error("is not given")),
            Value::Array(_) | Value::Object(_) => {
                return Err(error("is neither a value nor a list of values"));
            }
        };
        if text.is_empty() {
            return Err(error("is empty"));
        }
        if text.contains(char::is_control) {
            return Err(error("is more than one line"));
        }
        Ok(text)
    };
    let Value::Array(values) = value else {
        return Ok(vec![format!("{keyword} {}", scalar(value)?)]);
    };
    let values = values.iter().map(scalar).collect::<Result<Vec<_>, _>>()?;
    if values.is_empty() {
        return Err(error("is an empty list"));
    }
    Ok(match joining(keyword) {
        Joining::Lines => values.iter().map(|value| format!("{keyword} {value}")).collect(),
        Joining::Commas => vec![format!("{keyword} {}", values.join(","))],
        Joining::Blanks => vec![format!("{keyword} {}", values.join(" "))],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(args: Value) -> Result<String, String> {
        let mut all = json!({"name": "10-x.conf"});
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        let params: Params = serde_json::from_value(all).unwrap();
        params.check().and_then(|()| text(&params)).map_err(|error| error.to_string())
    }

    #[test]
    fn values_as_sshd_writes_them() {
        let table = [
            (json!({"settings": {"PasswordAuthentication": false}}), "PasswordAuthentication no\n"),
            (
                json!({"settings": {"UsePAM": true, "MaxAuthTries": 3}}),
                "UsePAM yes\nMaxAuthTries 3\n",
            ),
            (json!({"settings": {"Port": [22, 2222]}}), "Port 22\nPort 2222\n"),
            (json!({"settings": {"Ciphers": ["a", "b"]}}), "Ciphers a,b\n"),
            (json!({"settings": {"AuthorizedKeysFile": ["a", "b"]}}), "AuthorizedKeysFile a b\n"),
            (
                json!({"match": [{"criteria": " User git ", "settings": {"X11Forwarding": "no"}}]}),
                "Match User git\n    X11Forwarding no\n",
            ),
        ];
        for (args, wanted) in table {
            assert_eq!(rendered(args).unwrap(), format!("{HEADER}{wanted}"));
        }
        assert_eq!(rendered(json!({"content": "Port 22"})).unwrap(), "Port 22\n");
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        let table = [
            (json!({}), "state present needs settings, match or content"),
            (json!({"settings": {}}), "state present needs settings, match or content"),
            (
                json!({"settings": {"Match": "all"}}),
                "option settings: 'match' is not a setting; use the option match, or content",
            ),
            (
                json!({"settings": {"Port 22": "x"}}),
                "option settings: 'Port 22' is not a keyword of sshd's",
            ),
            (
                json!({"settings": {"Banner": "a\nPermitRootLogin yes"}}),
                "option settings: the value of Banner is more than one line",
            ),
            (
                json!({"settings": {"Banner": null}}),
                "option settings: the value of Banner is not given",
            ),
            (
                json!({"settings": {"Banner": {"a": 1}}}),
                "option settings: the value of Banner is neither a value nor a list of values",
            ),
            (
                json!({"settings": {"Port": []}}),
                "option settings: the value of Port is an empty list",
            ),
            (
                json!({"settings": {"KbdInteractiveAuthentication": "no",
                                    "ChallengeResponseAuthentication": "yes"}}),
                "option settings: ChallengeResponseAuthentication is given twice under different \
                 names; sshd takes the first alone",
            ),
            (
                json!({"match": [{"criteria": "User a\nPort 1", "settings": {}}]}),
                "option match: the criteria 'User a\nPort 1' are more than one line",
            ),
            (
                json!({"content": "Match User git\n  X11Forwarding no\n\nPasswordAuthentication no\n"}),
                "option content: line 4 ('PasswordAuthentication no') belongs to 'Match User git' \
                 of line 1; put it above, or indent it like the lines before it",
            ),
            (
                json!({"content": "Port 22\n\u{0}"}),
                "option content: line 2 holds a byte that sshd does not read as text",
            ),
        ];
        for (args, wanted) in table {
            assert_eq!(rendered(args).unwrap_err(), wanted);
        }
        for name in ["x", "x.txt", ".x.conf", "a/b.conf", "../x.conf", "", "a b.conf", "é.conf"] {
            let error = rendered(json!({"name": name, "content": "x"})).unwrap_err();
            assert!(error.starts_with(&format!("option name: '{name}' is not")), "{error}");
        }
    }
}
