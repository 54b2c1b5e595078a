//! The URLs that a client connects to.

use alloc::{
    format,
    string::{String, ToString},
};
use core::net::Ipv6Addr;

use crate::words;

/// An `http` or `https` URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether it is `https`.
    pub tls: bool,
    /// Name or address to connect to, lowercase; IPv6 without brackets.
    pub host: String,
    /// Port to connect to.
    pub port: u16,
    /// The `Host` header: brackets around IPv6, the port unless it is the scheme's own.
    pub authority: String,
    /// Path and query as given; starts with `/`.
    pub target: String,
}

/// Why a text is no URL to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlFault {
    /// Neither `http://` nor `https://`.
    Scheme,
    /// A name or password before the host; credentials belong in a header.
    UserInfo,
    /// No host, or characters that no host has.
    Host,
    /// A port that is no number from 1 to 65535.
    Port,
    /// Spaces, control characters or non-ASCII text in path or query.
    Target,
}

impl UrlFault {
    /// A stable word for this fault.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Scheme => "url_scheme",
            Self::UserInfo => "url_user_info",
            Self::Host => "url_host",
            Self::Port => "url_port",
            Self::Target => "url_target",
        }
    }
}

/// A URL's parts as they stand in its text.
struct Parts<'a> {
    tls: bool,
    /// Without brackets.
    host: &'a str,
    bracketed: bool,
    port: u16,
    /// Path and query; may be empty or lack its slash.
    target: &'a str,
}

impl Url {
    /// Takes a URL apart. Percent signs are left as they are, a fragment is dropped.
    ///
    /// # Errors
    /// The first part that cannot be used.
    pub fn parse(text: &str) -> Result<Self, UrlFault> {
        let Parts { tls, host, bracketed, port, target } = Parts::of(text)?;
        let host = if bracketed {
            host.parse::<Ipv6Addr>().map_err(|_| UrlFault::Host)?.to_string()
        } else {
            host.to_ascii_lowercase()
        };
        let shown = if bracketed { format!("[{host}]") } else { host.clone() };
        let authority = if port == default_port(tls) { shown } else { format!("{shown}:{port}") };
        let target = if target.starts_with('/') { target.to_string() } else { format!("/{target}") };
        Ok(Self { tls, host, port, authority, target })
    }

    /// Whether [`Url::parse`] takes this URL, without making one.
    ///
    /// # Errors
    /// The same.
    pub fn check(text: &str) -> Result<(), UrlFault> {
        Parts::of(text).map(|_| ())
    }
}

const fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, UrlFault> {
        let (scheme, rest) = text.split_once(':').ok_or(UrlFault::Scheme)?;
        let rest = rest.strip_prefix("//").ok_or(UrlFault::Scheme)?;
        let tls = scheme.eq_ignore_ascii_case("https");
        if !tls && !scheme.eq_ignore_ascii_case("http") {
            return Err(UrlFault::Scheme);
        }
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
        let (place, target) = (words::part(rest, 0..end), words::part(rest, end..rest.len()));
        if place.contains('@') {
            return Err(UrlFault::UserInfo);
        }
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlFault::Target);
        }
        let (host, bracketed, port) = split_place(place)?;
        let port = match port {
            "" => default_port(tls),
            _ => {
                let number = words::read_digits(port).and_then(|port| u16::try_from(port).ok());
                number.filter(|port| *port != 0).ok_or(UrlFault::Port)?
            }
        };
        Ok(Self { tls, host, bracketed, port, target })
    }
}

/// The host, whether it stood in brackets, and the port.
fn split_place(place: &str) -> Result<(&str, bool, &str), UrlFault> {
    if let Some(inner) = place.strip_prefix('[') {
        let (host, rest) = inner.split_once(']').ok_or(UrlFault::Host)?;
        if !is_ipv6(host) {
            return Err(UrlFault::Host);
        }
        let port = if rest.is_empty() { "" } else { rest.strip_prefix(':').ok_or(UrlFault::Port)? };
        return Ok((host, true, port));
    }
    let (host, port) = place.split_once(':').unwrap_or((place, ""));
    let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if host.is_empty() || !host.bytes().all(is_host_byte) {
        return Err(UrlFault::Host);
    }
    Ok((host, false, port))
}

/// What the standard library takes for an IPv6 address: a page that loads this has no use for the address itself.
fn is_ipv6(text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    if text == "::" {
        return true;
    }
    // A gap at either end has one colon too many.
    let starts = text.starts_with("::");
    let ends = text.ends_with("::");
    let text = text.get(usize::from(starts)..).unwrap_or_default();
    let text = words::part(text, 0..text.len() - usize::from(ends));
    if text.starts_with(":") != starts || text.ends_with(":") != ends {
        return false;
    }
    let (mut groups, mut gaps, mut last) = (0, 0, false);
    for group in text.split(':') {
        if last {
            return false;
        }
        if group.is_empty() {
            gaps += 1;
        } else if group.len() <= 4 && group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            groups += 1;
        } else {
            // An IPv4 address stands for the last two groups.
            let parts = group.split('.').filter(|part| is_octet(part)).count();
            if parts != 4 || group.split('.').count() != 4 {
                return false;
            }
            groups += 2;
            last = true;
        }
    }
    if gaps == 0 { groups == 8 } else { gaps == 1 && groups < 8 }
}

fn is_octet(text: &str) -> bool {
    text.len() <= 3 && !(text.len() > 1 && text.starts_with('0')) && words::read_digits(text).is_some_and(|n| n < 256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_urls() {
        let cases = [
            ("http://localhost:8000/mcp", false, "localhost", 8000, "localhost:8000", "/mcp"),
            ("HTTPS://API.Example", true, "api.example", 443, "api.example", "/"),
            ("https://a.example:443?x=1#frag", true, "a.example", 443, "a.example", "/?x=1"),
            ("http://a:/p%20q?a=%2F&b=http://c@d#e/f", false, "a", 80, "a", "/p%20q?a=%2F&b=http://c@d"),
            ("http://[0:0::1]:81/", false, "::1", 81, "[::1]:81", "/"),
            ("https://[::1]", true, "::1", 443, "[::1]", "/"),
            ("http://127.0.0.1#f", false, "127.0.0.1", 80, "127.0.0.1", "/"),
        ];
        for (text, tls, host, port, authority, target) in cases {
            let want = Url { tls, host: host.into(), port, authority: authority.into(), target: target.into() };
            assert_eq!(Url::parse(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn addresses_are_those_of_the_library() {
        let parts = ["", "::", ":", "1", "ffff", "12345", "g", "1:", ":1", "1::", "::2", "1:2:3:4", "5:6:7", "5:6:7:8"];
        let tails =
            ["", "1.2.3.4", "::1.2.3.4", ":255.0.0.10", ":1.2.3", ":256.1.1.1", ":01.2.3.4", ":1.2.3.4:5", ":8"];
        for (first, second) in parts.iter().flat_map(|first| parts.iter().map(move |second| (first, second))) {
            for tail in tails {
                let text = format!("{first}{second}{tail}");
                assert_eq!(is_ipv6(&text), text.parse::<Ipv6Addr>().is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn bad_urls() {
        let cases = [
            ("", "url_scheme"),
            ("localhost:80", "url_scheme"),
            ("ftp://a/", "url_scheme"),
            (" http://a/", "url_scheme"),
            ("http://u:p@a/", "url_user_info"),
            ("http://a@b", "url_user_info"),
            ("http:///x", "url_host"),
            ("http://:80/", "url_host"),
            ("http://a b/", "url_host"),
            ("http://a\\b/", "url_host"),
            ("http://bücher.example/", "url_host"),
            ("http://[::1/", "url_host"),
            ("http://[fe80::1%25eth0]/", "url_host"),
            ("http://[::1]x/", "url_port"),
            ("http://::1/", "url_host"),
            ("http://a:0/", "url_port"),
            ("http://a:65536/", "url_port"),
            ("http://a:+1/", "url_port"),
            ("http://a:1:2/", "url_port"),
            ("http://a/b c", "url_target"),
            ("http://a/b\r\nx: y", "url_target"),
            ("http://a/ü", "url_target"),
        ];
        for (text, code) in cases {
            assert_eq!(Url::parse(text).map_err(UrlFault::code), Err(code), "{text}");
            assert_eq!(Url::check(text).map_err(UrlFault::code), Err(code), "{text}");
        }
    }
}
