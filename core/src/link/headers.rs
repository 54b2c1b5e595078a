//! HTTP header fields as plain values: lookup, the Base64 form of mirrored values, and the checks on `Host`, `Origin`,
//! `Content-Type` and `Accept`.

use alloc::{
    borrow::Cow,
    string::{String, ToString},
    vec::Vec,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::words;

/// Host names that mean this machine; the default of both allow lists.
pub const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

const SENTINEL_START: &str = "=?base64?";
const SENTINEL_END: &str = "?=";
const OWS: [char; 2] = [' ', '\t'];

/// Header fields in order; names are kept lowercase, values without outer spaces and tabs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// No fields.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a field; fields of the same name stay.
    pub fn push(&mut self, name: &str, value: &str) {
        self.0.push((trim(name).to_ascii_lowercase(), trim(value).to_string()));
    }

    /// Adds a field after removing those of the same name.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(have, _)| !have.eq_ignore_ascii_case(name));
        self.push(name, value);
    }

    /// The first value of that name, whatever its case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of that name, in order.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// How many fields have that name.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.all(name).count()
    }

    /// How many fields there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no fields.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names (lowercase) and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether a comma-separated field such as `Connection` holds that word, whatever its case.
    #[must_use]
    pub fn has_word(&self, name: &str, word: &str) -> bool {
        self.all(name).flat_map(|value| value.split(',')).any(|item| item.trim_matches(OWS).eq_ignore_ascii_case(word))
    }

    /// Reads `name: value` lines; a line without a colon or without a name is left out.
    #[must_use]
    pub fn parse_lines(lines: &str) -> Self {
        let mut headers = Self::new();
        for (name, value) in lines.lines().filter_map(|line| line.split_once(':')) {
            if !trim(name).is_empty() {
                headers.push(name, value);
            }
        }
        headers
    }

    /// Writes `name: value\n` lines. A line break inside a value becomes a space, so a value never makes a second field.
    #[must_use]
    pub fn to_lines(&self) -> String {
        let mut lines = String::new();
        for (name, value) in self.iter() {
            lines.push_str(name);
            lines.push_str(": ");
            lines.extend(value.chars().map(|c| if matches!(c, '\r' | '\n') { ' ' } else { c }));
            lines.push('\n');
        }
        lines
    }
}

/// The text without outer spaces and tabs.
fn trim(text: &str) -> &str {
    let is_text = |byte: u8| !matches!(byte, b' ' | b'\t');
    let start = text.bytes().position(is_text).unwrap_or(text.len());
    let end = text.bytes().rposition(is_text).map_or(start, |last| last + 1);
    words::part(text, start..end)
}

/// The header text of a mirrored value: itself when it is plain printable ASCII, else its Base64 form.
///
/// The empty string, outer spaces, any control character and text that looks like the Base64 form also take that form.
#[must_use]
pub fn encode_value(value: &str) -> Cow<'_, str> {
    let looks_encoded = value.starts_with(SENTINEL_START) && value.ends_with(SENTINEL_END);
    let has_outer_space = value.starts_with(" ") || value.ends_with(" ");
    if is_printable(value) && !value.is_empty() && !has_outer_space && !looks_encoded {
        return Cow::Borrowed(value);
    }
    let mut text = String::from(SENTINEL_START);
    push_base64(&mut text, value.as_bytes());
    text.push_str(SENTINEL_END);
    Cow::Owned(text)
}

/// Appends bytes as Base64, padded. The library's encoder is built for speed, and many times as large.
fn push_base64(out: &mut String, bytes: &[u8]) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
}

/// The value behind a mirrored header; `None` when its Base64 form does not decode or plain text has invalid characters.
#[must_use]
pub fn decode_value(text: &str) -> Option<Cow<'_, str>> {
    match text.strip_prefix(SENTINEL_START).and_then(|rest| rest.strip_suffix(SENTINEL_END)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => is_printable(text).then_some(Cow::Borrowed(text)),
    }
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a `Host` header (port or not) names this machine: `localhost`, 127.0.0.0/8 or `[::1]`.
#[must_use]
pub fn is_loopback_host(host_header: &str) -> bool {
    split_port(host_header.trim_matches(OWS)).is_some_and(|(host, _)| is_loopback_name(host))
}

/// Whether a `Host` header is in the list.
///
/// An entry without a port allows every port. An entry with port 80 or 443 also allows a header without a port, since
/// clients leave out the default one.
#[must_use]
pub fn host_allowed(host: &str, list: &[impl AsRef<str>]) -> bool {
    let Some((name, port)) = split_port(host.trim_matches(OWS)) else { return false };
    list.iter().filter_map(|entry| split_port(entry.as_ref())).any(|(want_name, want_port)| {
        let port_fits = match (want_port, port) {
            (None, _) => true,
            (Some(80 | 443), None) => true,
            (want, have) => want == have,
        };
        port_fits && same_host(want_name, name)
    })
}

/// Whether an `Origin` header is in the list, or names the same loopback host and port as the `Host` header.
///
/// Entries: `https://app.example` (that scheme and port, the default port if none is given), `http://localhost:*` (any
/// port), `localhost` (http or https, any port), or any exact text such as `null`. Another site's own name in `Host` does
/// not count as proof: that is what a rebound DNS name looks like.
#[must_use]
pub fn origin_allowed(origin: &str, host: &str, list: &[impl AsRef<str>]) -> bool {
    let origin = origin.trim_matches(OWS);
    if list.iter().any(|entry| entry.as_ref().eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let Some(default_port) = default_port(scheme) else { return false };
    let Some((name, port)) = split_port(authority) else { return false };
    let port = port.unwrap_or(default_port);
    let same_as_host = split_port(host.trim_matches(OWS)).is_some_and(|(host_name, host_port)| {
        is_loopback_name(host_name) && same_host(host_name, name) && host_port.unwrap_or(default_port) == port
    });
    same_as_host
        || list.iter().any(|entry| {
            let entry = entry.as_ref();
            let (want_scheme, rest) = entry.split_once("://").map_or((None, entry), |(s, rest)| (Some(s), rest));
            let (rest, any_port) = rest.strip_suffix(":*").map_or((rest, false), |rest| (rest, true));
            let Some((want_name, want_port)) = split_port(rest) else { return false };
            let want_port = want_port.or_else(|| want_scheme.map(|_| default_port));
            want_scheme.is_none_or(|want| want.eq_ignore_ascii_case(scheme))
                && same_host(want_name, name)
                && (any_port || want_port.is_none_or(|want| want == port))
        })
}

fn default_port(scheme: &str) -> Option<u16> {
    if scheme.eq_ignore_ascii_case("http") {
        Some(80)
    } else if scheme.eq_ignore_ascii_case("https") {
        Some(443)
    } else {
        None
    }
}

/// Host (IPv6 without brackets) and port; `None` when the text is no host at all.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, rest) = if let Some(inner) = text.strip_prefix('[') {
        let (host, rest) = inner.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        (host, rest)
    } else if text.parse::<Ipv6Addr>().is_ok() {
        (text, "")
    } else {
        text.split_at(text.find(':').unwrap_or(text.len()))
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        None => return None,
        Some("") => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        Some(_) => return None,
    };
    (!host.is_empty()).then_some((host, port))
}

fn same_host(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || a.parse::<Ipv6Addr>().is_ok_and(|a| b.parse::<Ipv6Addr>() == Ok(a))
}

fn is_loopback_name(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

/// A `Content-Type` without its parameters, in the case it came in.
#[must_use]
pub fn media_type(content_type: &str) -> &str {
    trim(content_type.split_once(';').map_or(content_type, |(media, _)| media))
}

/// Whether a `Content-Type` is that media type, whatever its case and parameters.
#[must_use]
pub fn is_media_type(content_type: &str, wanted: &str) -> bool {
    media_type(content_type).eq_ignore_ascii_case(wanted)
}

/// Whether an `Accept` header admits that media type; no header admits all.
///
/// The most specific range that fits decides, so `application/json;q=0, */*` refuses JSON.
#[must_use]
pub fn accepts(accept_header: Option<&str>, wanted: &str) -> bool {
    let Some(accept) = accept_header else { return true };
    let main = wanted.split('/').next().unwrap_or_default();
    let mut best: Option<(u8, bool)> = None;
    for range in accept.split(',') {
        let name = media_type(range);
        let rank = if name.eq_ignore_ascii_case(wanted) {
            2
        } else if name.strip_suffix("/*").is_some_and(|part| part.eq_ignore_ascii_case(main)) {
            1
        } else if name == "*/*" {
            0
        } else {
            continue;
        };
        let welcome = !has_zero_weight(range);
        best = match best {
            Some((have, old)) if have > rank => Some((have, old)),
            Some((have, old)) if have == rank => Some((have, old || welcome)),
            _ => Some((rank, welcome)),
        };
    }
    best.is_some_and(|(_, welcome)| welcome)
}

fn has_zero_weight(range: &str) -> bool {
    range.split(';').skip(1).filter_map(|parameter| parameter.split_once('=')).any(|(name, weight)| {
        let weight = weight.trim_matches(OWS);
        name.trim_matches(OWS).eq_ignore_ascii_case("q")
            && weight.starts_with('0')
            && weight.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec};

    #[test]
    fn fields_are_found_whatever_their_case() {
        let mut headers =
            Headers::parse_lines("Mcp-Method: tools/call\r\nX: 1 \nx:\t2\nbroken\n: none\nURL: http://a:1\n");
        assert_eq!(headers.get("MCP-METHOD"), Some("tools/call"));
        assert_eq!((headers.get("x"), headers.count("X"), headers.get("y")), (Some("1"), 2, None));
        assert_eq!(headers.get("url"), Some("http://a:1"));
        assert_eq!(headers.to_lines(), "mcp-method: tools/call\nx: 1\nx: 2\nurl: http://a:1\n");
        headers.set("X", "3");
        assert_eq!((headers.count("x"), headers.len(), headers.is_empty()), (1, 3, false));
        headers.push("Connection", "Keep-Alive, Upgrade");
        assert!(headers.has_word("connection", "upgrade") && !headers.has_word("connection", "close"));
    }

    #[test]
    fn a_value_makes_no_second_line() {
        let mut headers = Headers::new();
        headers.push("a", "1\r\nb: 2");
        assert_eq!(headers.to_lines(), "a: 1  b: 2\n");
    }

    #[test]
    fn values_survive_the_header() {
        let plain = ["a", "get weather", "=?base64?", "?=", "=?BASE64?YQ==?=", "a=?base64?YQ==?="];
        for value in plain {
            assert_eq!(encode_value(value), value);
            assert_eq!(decode_value(value).as_deref(), Some(value));
        }
        let coded =
            ["", " ", " a", "a ", "a\tb", "a\u{7f}", "a\r\nb", "\0", "Zürich", "日本", "=?base64?YQ==?=", "=?base64?="];
        for value in coded {
            let text = encode_value(value);
            assert!(text.starts_with(SENTINEL_START) && is_printable(&text), "{value:?}");
            assert_eq!(decode_value(&text).as_deref(), Some(value));
        }
        assert_eq!(encode_value("日本"), "=?base64?5pel5pys?=");
        assert_eq!(decode_value("").as_deref(), Some(""));
    }

    #[test]
    fn undecodable_values_are_refused() {
        let bad = [
            "=?base64?YQ?=",
            "=?base64?Y Q==?=",
            "=?base64?!!!!?=",
            "=?base64?/w==?=",
            "=?base64?YQ=?=",
            "Zürich",
            "a\tb",
            "a\u{7f}",
        ];
        for text in bad {
            assert_eq!(decode_value(text), None, "{text:?}");
        }
    }

    #[test]
    fn loopback_hosts() {
        for host in ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8000", "[0:0::1]:80"] {
            assert!(is_loopback_host(host), "{host}");
        }
        let others = [
            "",
            ":80",
            "localhost.evil.com",
            "127.0.0.1.evil.com",
            "evil@localhost",
            "localhost:x",
            "localhost:99999",
            "[::1",
            "[::1]x",
            "[localhost]",
            "[::2]",
            "10.0.0.1",
            "localhost:80:80",
        ];
        for host in others {
            assert!(!is_loopback_host(host), "{host}");
        }
    }

    #[test]
    fn hosts_are_checked_against_the_list() {
        assert!(host_allowed("localhost:3000", &LOOPBACK) && host_allowed("[::1]:3000", &LOOPBACK));
        assert!(!host_allowed("evil.com:3000", &LOOPBACK) && !host_allowed("", &LOOPBACK));
        let list = vec![String::from("api.example:443"), String::from("::1"), String::from("b.example:81")];
        assert!(host_allowed("API.example", &list) && host_allowed("api.example:443", &list));
        assert!(!host_allowed("api.example:444", &list) && !host_allowed("b.example", &list));
        assert!(host_allowed("[::1]:9", &list));
    }

    #[test]
    fn origins_are_checked_against_the_list() {
        let allowed = |origin: &str, list: &[&str]| origin_allowed(origin, "localhost:8000", list);
        assert!(allowed("http://localhost:8000", &[]), "same loopback host and port");
        assert!(!allowed("http://localhost:1234", &[]) && !allowed("null", &[]) && !allowed("", &[]));
        assert!(!origin_allowed("http://evil.com:8000", "evil.com:8000", &LOOPBACK), "a rebound name proves nothing");
        for origin in ["http://localhost:1234", "https://127.0.0.1", "http://[::1]:5"] {
            assert!(allowed(origin, &LOOPBACK), "{origin}");
        }
        for origin in ["http://localhost.evil.com", "http://evil.com", "ftp://localhost", "http://localhost@evil.com"] {
            assert!(!allowed(origin, &LOOPBACK), "{origin}");
        }
        assert!(allowed("null", &["null"]) && allowed("vscode-webview://abc", &["vscode-webview://ABC"]));
        assert!(allowed("https://app.example", &["https://app.example:443"]));
        assert!(!allowed("https://app.example:8443", &["https://app.example"]));
        assert!(!allowed("http://app.example", &["https://app.example"]));
        assert!(allowed("http://app.example:7", &["http://app.example:*"]));
        assert!(
            allowed("http://app.example:7", &["app.example:7"]) && !allowed("http://app.example:8", &["app.example:7"])
        );
    }

    #[test]
    fn media_types() {
        assert_eq!(media_type(" text/Event-Stream ; charset=utf-8"), "text/Event-Stream");
        assert!(is_media_type("Application/JSON;charset=utf-8", "application/json"));
        assert!(!is_media_type("application/jsonx", "application/json") && !is_media_type("", "application/json"));
        let json = |accept: &str| accepts(Some(accept), "application/json");
        assert!(accepts(None, "application/json"));
        for accept in [
            "*/*",
            "application/*",
            "text/event-stream, Application/JSON;q=0.1",
            "application/json;q=0.001",
            "*/*;q=0, application/json",
        ] {
            assert!(json(accept), "{accept}");
        }
        for accept in [
            "",
            "text/*",
            "application/json;q=0",
            "application/json; Q=0.000, */*",
            "application/*;q=0, */*",
            "application/jsonx",
        ] {
            assert!(!json(accept), "{accept}");
        }
    }

    #[test]
    fn lines_of_any_text_read_back() {
        let lines = format!("a: {}\n", "x".repeat(1000));
        assert_eq!(Headers::parse_lines(&lines).to_lines(), lines);
    }
}
