//! The core's table of methods beside what each revision's schema defines.

use std::collections::BTreeSet;

use keel_tests::spec_dir;
use keel_tests::wire::Schemas;
use mcp_keel_core::revision::Revision;
use mcp_keel_core::revision::methods::{From, Kind, METHODS};

/// Methods of the schemas that the table leaves out, with why.
const NOT_SERVED: &[(&str, &str)] = &[
    ("tasks/", "the experimental tasks of one revision are not served yet"),
    ("notifications/tasks", "the experimental tasks of one revision are not served yet"),
];
/// Requests that a stateless revision defines as entries of `inputRequests` only; the table lists what is sent as a message.
const INSIDE_RESULTS: &[&str] = &["sampling/createMessage", "roots/list", "elicitation/create"];

fn left_out(method: &str, revision: Revision) -> bool {
    NOT_SERVED.iter().any(|(prefix, _)| method.starts_with(prefix))
        || (revision.is_stateless() && INSIDE_RESULTS.contains(&method))
}

#[test]
fn methods_are_those_of_the_schema() {
    let Some(spec) = spec_dir() else { return };
    let schemas = Schemas::load(&spec).expect("the schemas are readable");
    for revision in Revision::ALL {
        let defined: BTreeSet<(String, bool)> =
            schemas.methods(revision).into_iter().filter(|(name, _)| !left_out(name, revision)).collect();
        let ours: BTreeSet<(String, bool)> = METHODS
            .iter()
            .filter(|method| method.exists_in(revision))
            .map(|method| (method.name.to_owned(), method.kind == Kind::Request))
            .collect();
        assert_eq!(ours, defined, "{revision}: the table (left) and the schema (right) differ");
    }
}

#[test]
fn senders_are_those_of_the_schema() {
    let Some(spec) = spec_dir() else { return };
    let schemas = Schemas::load(&spec).expect("the schemas are readable");
    for revision in Revision::ALL {
        for (side, other, request) in [("Client", From::Server, "Request"), ("Server", From::Client, "Request")]
            .into_iter()
            .chain([("Client", From::Server, "Notification"), ("Server", From::Client, "Notification")])
        {
            let union = schemas.union(revision, &format!("{side}{request}"));
            let defined: BTreeSet<&str> =
                union.iter().map(String::as_str).filter(|name| !left_out(name, revision)).collect();
            let kind = if request == "Request" { Kind::Request } else { Kind::Notification };
            let ours: BTreeSet<&str> = METHODS
                .iter()
                .filter(|method| method.exists_in(revision) && method.kind == kind && method.from != other)
                .map(|method| method.name)
                .collect();
            assert_eq!(ours, defined, "{revision}: what a {side} sends, table (left) and schema (right)");
        }
    }
}
