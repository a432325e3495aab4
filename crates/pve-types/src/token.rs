//! Who calls: a user, and a token of that user.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::text_type;

/// `user@realm!name`, the public half of an API token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenId {
    /// The user with its realm: `ansible@pve`.
    pub user: String,
    /// The token's own name.
    pub name: String,
}

impl TokenId {
    /// The token that is meant by a user and an id which may be the full form or the bare name.
    ///
    /// # Errors
    /// When the full form names another user, or the parts are not well formed.
    pub fn resolve(user: Option<&str>, id: &str) -> Result<Self, ParseError> {
        if id.contains('!') {
            let token: Self = id.parse()?;
            return match user {
                Some(user) if user != token.user => Err(ParseError::new(
                    "a token of the user given",
                    id,
                    format!("a token of {user}, or no user at all"),
                )),
                _ => Ok(token),
            };
        }
        match user {
            Some(user) => format!("{user}!{id}").parse(),
            None => Err(ParseError::new("a token id", id, EXPECTED)),
        }
    }
}

const EXPECTED: &str = "USER@REALM!NAME, or NAME together with a user";

impl FromStr for TokenId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new("a token id", text, EXPECTED);
        let (user, name) = text.split_once('!').ok_or_else(wrong)?;
        let (account, realm) = user.rsplit_once('@').ok_or_else(wrong)?;
        let word = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let bad = |c: char| c.is_whitespace() || c.is_control() || ":/=!".contains(c);
        if account.is_empty() || account.contains(bad) || !word(realm) || !word(name) {
            return Err(wrong());
        }
        Ok(Self { user: user.to_owned(), name: name.to_owned() })
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}!{}", self.user, self.name)
    }
}

text_type!(TokenId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a30_the_full_form_and_the_bare_name_are_one_token() {
        for (user, id) in [
            (Some("ansible@pve"), "ci"),
            (Some("ansible@pve"), "ansible@pve!ci"),
            (None, "ansible@pve!ci"),
        ] {
            assert_eq!(TokenId::resolve(user, id).unwrap().to_string(), "ansible@pve!ci", "{id}");
        }
    }

    #[test]
    fn half_a_token_is_refused() {
        for (user, id, text) in [
            (None, "ci", "'ci' is not a token id: USER@REALM!NAME"),
            (Some("root"), "ci", "'root!ci' is not a token id"),
            (Some("root@pam"), "ansible@pve!ci", "a token of root@pam"),
            (Some("root@pam"), "c i", "is not a token id"),
        ] {
            let error = TokenId::resolve(user, id).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
