//! What a user may have meant by an option that does not exist.

/// The nearest of `known` to `name`, if it is near enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0..=2 => 0,
        3..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let distance = distance(&plain(name), &plain(candidate));
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// Letters that people do not remember: case, and which of `-` and `_`.
fn plain(name: &str) -> Vec<char> {
    name.to_lowercase().chars().filter(|c| !matches!(c, '-' | '_')).take(64).collect()
}

/// How many letters have to be put in, left out, exchanged or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (last[j + 1] + 1).min(row[j] + 1).min(last[j] + usize::from(x != y));
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["cores", "memory", "name", "node", "api_token_id", "vmid"];
        for (given, meant) in [
            ("core", Some("cores")),
            ("cpu_cores", Some("cores")),
            ("memroy", Some("memory")),
            ("nmae", Some("name")),
            ("nam", Some("name")),
            ("api_tokenid", Some("api_token_id")),
            ("api-token-id", Some("api_token_id")),
            ("VMID", Some("vmid")),
            ("colour", None),
            ("no", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, known), meant, "{given}");
        }
    }
}
