//! From doc comments to Ansible's documentation: paragraphs, and its markup for code.

/// The paragraphs and list items of a text, each on one line.
pub(super) fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map(str::trim) {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        match (line, item) {
            ("", _) => open = false,
            (_, Some(item)) => {
                paragraphs.push(item.to_owned());
                open = true;
            }
            (line, None) => match paragraphs.last_mut().filter(|_| open) {
                Some(paragraph) => {
                    paragraph.push(' ');
                    paragraph.push_str(line);
                }
                None => {
                    paragraphs.push(line.to_owned());
                    open = true;
                }
            },
        }
    }
    paragraphs.iter().map(|paragraph| code(paragraph)).collect()
}

/// Code between backquotes in Ansible's markup, which ends at the first closing parenthesis.
fn code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let mark = |(index, part): (usize, &&str)| match index % 2 {
        0 => (*part).to_owned(),
        _ if part.contains([')', '(']) => format!("`{part}`"),
        _ => format!("C({part})"),
    };
    parts.iter().enumerate().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_items_become_lines() {
        for (text, lines) in [
            ("", vec![]),
            ("One.", vec!["One."]),
            ("One\ntwo.\n\nThree.", vec!["One two.", "Three."]),
            ("See:\n- a\n  more\n- b\n\nEnd.", vec!["See:", "a more", "b", "End."]),
            ("Use `x` and `f(y)`.", vec!["Use C(x) and `f(y)`."]),
            ("An odd ` here.", vec!["An odd ` here."]),
        ] {
            assert_eq!(paragraphs(text), lines, "{text}");
        }
    }
}
