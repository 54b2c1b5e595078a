//! What a value means, as a number.

use core::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

use super::scanner::{MAX_NESTING, Scanner};
use super::text::unescape_into;
use super::{Fault, unescape};

/// A keyed hash of what a checked text means: order of members and spelling of strings do not matter, numbers count as
/// they are written. Nobody without the key can find two values with one fingerprint.
#[must_use]
pub fn fingerprint(value: &str, key: &[u8; 16]) -> u128 {
    // The text was checked; a fault here could only end the walk early, and equally for both sides of a comparison.
    walk(&mut Scanner::new(value.as_bytes(), MAX_NESTING), value, key).unwrap_or(0)
}

/// One pass, however deep the value: what is inside is hashed on the way.
fn walk(scanner: &mut Scanner<'_>, text: &str, key: &[u8; 16]) -> Result<u128, Fault> {
    let mut hasher = SipHasher13::new_with_key(key);
    let kind = scanner.peek().ok_or(Fault::Syntax)?;
    hasher.write_u8(kind);
    let close = match kind {
        b'{' => b'}',
        b'[' => b']',
        b'"' => {
            let quoted = text[scanner.value()?].trim();
            let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
            unescape_into(inner, |part| hasher.write(part.as_bytes()));
            return Ok(hasher.finish128().as_u128());
        }
        _ => {
            hasher.write(text[scanner.value()?].as_bytes());
            return Ok(hasher.finish128().as_u128());
        }
    };
    scanner.enter(kind == b'{')?;
    let mut members_sum = 0u128;
    while scanner.peek() != Some(close) {
        if kind == b'{' {
            let mut pair = SipHasher13::new_with_key(key);
            pair.write(unescape(&text[scanner.key()?]).as_bytes());
            pair.write_u8(0xFF);
            pair.write_u128(walk(scanner, text, key)?);
            members_sum = members_sum.wrapping_add(pair.finish128().as_u128());
        } else {
            hasher.write_u128(walk(scanner, text, key)?);
        }
        if scanner.peek() == Some(b',') {
            scanner.take(b',')?;
        }
    }
    scanner.leave();
    hasher.write_u128(members_sum);
    Ok(hasher.finish128().as_u128())
}

/// Whether two checked texts mean the same value, see [`fingerprint`]. For short values: both are walked in full.
#[must_use]
pub fn same(left: &str, right: &str) -> bool {
    const FIXED: [u8; 16] = *b"any key will do.";
    left == right || fingerprint(left, &FIXED) == fingerprint(right, &FIXED)
}
