//! One line into words, as sshd splits it.

/// The words of a line: blanks and one `=` after the keyword separate, quotes keep together, a
/// `#` at the beginning of a word ends the line.
pub(crate) fn split(line: &str) -> Vec<String> {
    let Some((keyword, rest)) = keyword(line) else { return Vec::new() };
    let mut words = vec![keyword];
    words.extend(arguments(rest));
    words
}

/// The keyword of a line and what stands behind it; none if sshd passes the line over.
pub(crate) fn keyword(line: &str) -> Option<(String, &str)> {
    let line = line.trim_end_matches(ENDS);
    let (first, rest) = delimited(line)?;
    // sshd looks once behind what it takes for leading blanks: a `=` and a pair of quotes too
    let (keyword, rest) = if first.is_empty() { delimited(rest)? } else { (first, rest) };
    (!keyword.is_empty() && !keyword.starts_with('#')).then_some((keyword, rest))
}

/// What sshd cuts off at the end of a line.
pub(super) const ENDS: [char; 5] = [' ', '\t', '\r', '\n', '\x0c'];
/// What is between words.
pub(super) const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// What sshd's `strdelim` cuts off: up to a blank, a `=` or the end of a quotation that may begin
/// anywhere in it. Nothing if the quotation does not end.
fn delimited(text: &str) -> Option<(String, &str)> {
    let Some(end) = text.find(|c| BLANKS.contains(&c) || c == '"' || c == '=') else {
        return Some((text.to_owned(), ""));
    };
    let (word, rest) = text.split_at(end);
    if let Some(quoted) = rest.strip_prefix('"') {
        let (inside, rest) = quoted.split_once('"')?;
        return Some((format!("{word}{inside}"), rest.trim_start_matches(BLANKS)));
    }
    let behind = rest.trim_start_matches(BLANKS);
    let behind = behind.strip_prefix('=').map_or(behind, |rest| rest.trim_start_matches(BLANKS));
    Some((word.to_owned(), behind))
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
        let table: [(&str, &[&str]); 24] = [
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
            // found by fuzzing, each as `sshd -T` of OpenSSH 10.0 takes it
            ("=PasswordAuthentication no", &["PasswordAuthentication", "no"]),
            ("  = X11Forwarding yes", &["X11Forwarding", "yes"]),
            ("==PasswordAuthentication no", &[]),
            ("= = PasswordAuthentication no", &[]),
            ("=# PasswordAuthentication no", &[]),
            ("\"PasswordAuthentication no", &[]),
            ("\"MaxAuthTries\"3", &["MaxAuthTries", "3"]),
            ("\"PasswordAuthentication\"=no", &["PasswordAuthentication", "=no"]),
            ("\"\" PasswordAuthentication no", &["PasswordAuthentication", "no"]),
            ("=\"\" PasswordAuthentication no", &[]),
            ("Password\"Authentication\" no", &["PasswordAuthentication", "no"]),
        ];
        for (line, wanted) in table {
            assert_eq!(split(line), wanted, "{line:?}");
        }
    }
}
