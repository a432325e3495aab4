//! One line into words, as sshd splits it.

/// The words of a line: blanks and one `=` after the keyword separate, quotes keep together, a
/// `#` at the beginning of a word ends the line.
pub(crate) fn split(line: &str) -> Vec<String> {
    let line = line.trim_end_matches([' ', '\t', '\r', '\n', '\x0c']);
    let line = line.trim_start();
    if line.is_empty() || line.starts_with('#') {
        return Vec::new();
    }
    let end = line.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(line.len());
    let (keyword, rest) = line.split_at(end);
    let mut words = vec![keyword.trim_matches('"').to_owned()];
    let rest = rest.trim_start();
    words.extend(arguments(rest.strip_prefix('=').unwrap_or(rest)));
    words
}

fn arguments(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (_, '\\')
                if chars.peek().is_some_and(|next| {
                    matches!(next, '"' | '\'' | '\\') || (quote.is_none() && *next == ' ')
                }) =>
            {
                word.get_or_insert_default().extend(chars.next());
            }
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_of_a_line() {
        let table: [(&str, &[&str]); 13] = [
            ("", &[]),
            ("   # Port 22", &[]),
            ("Port 22", &["Port", "22"]),
            ("\tPort\t22  \r", &["Port", "22"]),
            ("Port=22", &["Port", "22"]),
            ("Port = 22", &["Port", "22"]),
            ("Port 22 # comment", &["Port", "22"]),
            ("Banner /etc/a#b", &["Banner", "/etc/a#b"]),
            ("Banner \"/etc/my banner\"", &["Banner", "/etc/my banner"]),
            ("AllowUsers a\\ b 'c d'", &["AllowUsers", "a b", "c d"]),
            ("Match User \"a b\" Host=*.x", &["Match", "User", "a b", "Host=*.x"]),
            ("ForceCommand echo \"\"", &["ForceCommand", "echo", ""]),
            ("UsePAM", &["UsePAM"]),
        ];
        for (line, wanted) in table {
            assert_eq!(split(line), wanted, "{line:?}");
        }
    }
}
