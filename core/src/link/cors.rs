//! What a browser asks for before a page of another origin may talk to a server (CORS, of the Fetch standard). Whether an
//! origin is let in at all is decided before (HTTP-004); here it is only told so.

use super::headers::Headers;

/// Seconds that a browser may remember the answer to a preflight.
const MAX_AGE: &str = "7200";
/// What a page may read of an answer besides its body. Without the session id no page could keep a session.
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate, Retry-After";

/// The origin of an admitted request, where one can be repeated in an answer.
pub(super) fn origin(headers: &Headers) -> Option<&str> {
    headers.get("origin").filter(|origin| !origin.is_empty() && origin.bytes().all(|byte| byte.is_ascii_graphic()))
}

/// Whether a request only asks if another one may be made.
pub(super) fn is_preflight(method: &str, headers: &Headers) -> bool {
    method == "OPTIONS" && origin(headers).is_some() && headers.get("access-control-request-method").is_some()
}

/// Lets the page of `origin` read an answer.
pub(super) fn let_read(answer: &mut Headers, origin: &str) {
    name_origin(answer, origin);
    answer.push("access-control-expose-headers", EXPOSED);
}

/// The answer to a preflight. The headers that it asks for are repeated, because those that mirror arguments have names
/// that only the caller knows; there are no credentials in cookies, so nothing is given away by that.
pub(super) fn preflight(asked: &Headers, origin: &str, methods: &str) -> Headers {
    let mut answer = Headers::new();
    name_origin(&mut answer, origin);
    answer.push("access-control-allow-methods", methods);
    let listed = asked.get("access-control-request-headers").unwrap_or_default();
    if !listed.is_empty() && listed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_, ".contains(&byte)) {
        answer.push("access-control-allow-headers", listed);
    }
    answer.push("access-control-max-age", MAX_AGE);
    if asked.get("access-control-request-private-network") == Some("true") {
        answer.push("access-control-allow-private-network", "true");
    }
    answer
}

fn name_origin(answer: &mut Headers, origin: &str) {
    answer.push("access-control-allow-origin", origin);
    answer.push("vary", "Origin");
}
