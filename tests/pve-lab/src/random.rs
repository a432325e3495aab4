//! Identifiers that nobody can guess: UUIDs, MAC addresses, keys.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// Sixteen random bytes.
pub(crate) fn bytes() -> [u8; 16] {
    let mut bytes = [0_u8; 16];
    if File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).is_ok() {
        return bytes;
    }
    // a chroot without devices: unique is enough for a lab
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let digest = Sha256::digest(format!("{time}/{count}/{}", std::process::id()).as_bytes());
    bytes.copy_from_slice(&digest[..16]);
    bytes
}

/// A random UUID.
pub(crate) fn uuid() -> String {
    let mut b = bytes();
    b[6] = b[6] & 0x0f | 0x40;
    b[8] = b[8] & 0x3f | 0x80;
    let hex = crate::state::config::hex(&b);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A MAC address with Proxmox's prefix.
pub(crate) fn mac() -> String {
    let b = bytes();
    format!("BC:24:11:{:02X}:{:02X}:{:02X}", b[0], b[1], b[2])
}
