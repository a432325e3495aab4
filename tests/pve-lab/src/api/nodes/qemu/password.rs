//! `cipassword` as PVE keeps it: a `$5$` hash (sha256-crypt), unless it is a hash already.

use sha2::{Digest, Sha256};

const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ROUNDS: usize = 5000;

/// The hash of a password; a hash stays as it is.
pub(crate) fn hashed(password: &str) -> String {
    let is_hash = ["$1$", "$5$", "$6$", "$2a$", "$2y$"]
        .iter()
        .any(|start| password.starts_with(start) && password.matches('$').count() >= 3);
    if is_hash {
        return password.to_owned();
    }
    let salt: String =
        crate::random::uuid().chars().filter(char::is_ascii_hexdigit).take(8).collect();
    crypt(password.as_bytes(), &salt)
}

/// `count` bytes of a digest, repeated.
fn repeated(digest: &[u8], count: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(count).collect()
}

fn crypt(key: &[u8], salt: &str) -> String {
    let salt_bytes = salt.as_bytes();
    let other =
        Sha256::new().chain_update(key).chain_update(salt_bytes).chain_update(key).finalize();
    let mut first = Sha256::new();
    first.update(key);
    first.update(salt_bytes);
    first.update(repeated(&other, key.len()));
    let mut bits = key.len();
    while bits > 0 {
        if bits & 1 == 1 {
            first.update(other);
        } else {
            first.update(key);
        }
        bits >>= 1;
    }
    let mut digest = first.finalize();
    let mut keys = Sha256::new();
    for _ in 0..key.len() {
        keys.update(key);
    }
    let keys = repeated(&keys.finalize(), key.len());
    let mut salts = Sha256::new();
    for _ in 0..16 + usize::from(digest[0]) {
        salts.update(salt_bytes);
    }
    let salts = repeated(&salts.finalize(), salt_bytes.len());
    for round in 0..ROUNDS {
        let mut next = Sha256::new();
        if round % 2 == 1 {
            next.update(&keys);
        } else {
            next.update(digest);
        }
        if round % 3 != 0 {
            next.update(&salts);
        }
        if round % 7 != 0 {
            next.update(&keys);
        }
        if round % 2 == 1 {
            next.update(digest);
        } else {
            next.update(&keys);
        }
        digest = next.finalize();
    }
    format!("$5${salt}${}", letters(&digest))
}

/// The digest in crypt's own order and alphabet.
fn letters(digest: &[u8]) -> String {
    let mut text = String::with_capacity(43);
    let mut put = |bytes: [u8; 3], count: usize| {
        let mut bits = u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2]);
        for _ in 0..count {
            text.push(char::from(LETTERS[(bits & 0x3f) as usize]));
            bits >>= 6;
        }
    };
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put([digest[a], digest[b], digest[c]], 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    put([0, digest[31], digest[30]], 3);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_crypt() {
        // as `openssl passwd -5 -salt saltstring` prints it
        assert_eq!(
            crypt(b"Hello world!", "saltstring"),
            "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"
        );
        let hash = hashed("s3cret");
        assert!(hash.starts_with("$5$") && hash.len() == 55, "{hash}");
        assert_eq!(hashed(&hash), hash);
        assert_ne!(hashed("s3cret"), hash);
    }
}
