//! Ansible's words for yes and no.

const TRUE: [&str; 6] = ["1", "on", "t", "true", "y", "yes"];
const FALSE: [&str; 6] = ["0", "f", "false", "n", "no", "off"];

/// What a word means, if it is one of Ansible's booleans.
pub(crate) fn boolean(word: &str) -> Option<bool> {
    let word = word.trim().to_ascii_lowercase();
    if TRUE.contains(&word.as_str()) {
        Some(true)
    } else if FALSE.contains(&word.as_str()) {
        Some(false)
    } else {
        None
    }
}

/// All the words, as Ansible lists them.
pub(crate) fn words() -> String {
    let mut words: Vec<&str> = TRUE.into_iter().chain(FALSE).collect();
    words.sort_unstable();
    let words: Vec<String> = words.into_iter().map(|word| format!("'{word}'")).collect();
    words.join(", ")
}
