//! `subscriptions/listen` where the revision does not have it: by one subscription for each resource. Changes of lists come
//! unasked there.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Client, Event, Phase, Purpose};
use crate::error::{Error, RpcError};
use crate::json::{self, Object};
use crate::revision::wire;
use crate::table::Table;
use crate::words;

pub(super) const METHOD: &str = "subscriptions/listen";

/// Which member of the filter asks for which notification.
const LISTS: [(&str, &str); 3] = [
    ("notifications/tools/list_changed", "toolsListChanged"),
    ("notifications/prompts/list_changed", "promptsListChanged"),
    ("notifications/resources/list_changed", "resourcesListChanged"),
];

/// Whether what follows a subscribed URI lies below it (RES-011).
fn below(wanted: &str, rest: &str) -> bool {
    wanted.ends_with('/') || rest.starts_with('/')
}

impl Client {
    pub(super) fn listen_by_subscribing(&mut self, handle: u64) {
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        let params = call.params.as_deref().unwrap_or("{}");
        let wanted = json::get(params, "notifications").and_then(|filter| json::get(filter, "resourceSubscriptions"));
        let offered = json::get(&self.offered, "resources").and_then(|resources| json::get(resources, "subscribe"));
        let mut uris: Vec<String> = Vec::new();
        if offered == Some("true") {
            // In order and each once, by a table: a sort is a large piece of code.
            let mut sorted = Table::default();
            for uri in json::elements(wanted.unwrap_or("[]")).filter_map(json::string) {
                sorted.insert(uri.into_owned(), ());
            }
            uris.extend(sorted.into_iter().map(|(uri, ())| uri));
        }
        let held: usize = self.calls.values().map(|call| call.uris.len()).sum();
        if held + uris.len() > self.config.limits.subscriptions {
            let message =
                words::join(&["more than ", &words::digits(self.config.limits.subscriptions as u64), " subscriptions"]);
            self.fail(handle, Error::bound("too_many_calls", &[&message]));
            return;
        }
        for uri in &uris {
            let params = Object::new().string("uri", uri).finish();
            self.send_request(Purpose::Subscribe(handle), "resources/subscribe", Some(params));
        }
        self.set_phase(handle, Phase::Listening { unconfirmed: uris.len() });
        let none = uris.is_empty();
        if let Some(call) = self.calls.get_mut(&handle) {
            call.uris = uris;
        }
        if none {
            self.acknowledge(handle);
        }
    }

    pub(super) fn subscribed(&mut self, handle: u64, refused: Option<RpcError>) {
        if let Some(error) = refused {
            self.unsubscribe(handle);
            self.fail(handle, Error::Peer(error));
            return;
        }
        let Some(call) = self.calls.get_mut(&handle) else {
            return;
        };
        if let Phase::Listening { unconfirmed } = &mut call.phase {
            *unconfirmed = unconfirmed.saturating_sub(1);
            if *unconfirmed == 0 {
                self.acknowledge(handle);
            }
        }
    }

    /// Tells the host what is listened to now, as a server of the newer era would.
    fn acknowledge(&mut self, handle: u64) {
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        let filter = call.params.as_deref().and_then(|params| json::get(params, "notifications")).unwrap_or("{}");
        let uris: Vec<_> = call.uris.iter().map(|uri| json::quote(uri)).collect();
        let mut agreed = Object::new();
        for (name, value) in json::members(filter) {
            let capability = match &*name {
                "toolsListChanged" => "tools",
                "promptsListChanged" => "prompts",
                "resourcesListChanged" => "resources",
                _ => continue,
            };
            let changes = json::get(&self.offered, capability).and_then(|offer| json::get(offer, "listChanged"));
            if value == "true" && changes == Some("true") {
                agreed = agreed.raw(&name, value);
            }
        }
        if !uris.is_empty() {
            agreed = agreed.raw("resourceSubscriptions", &json::array(uris.iter().map(String::as_str)));
        }
        let params = Object::new().raw("notifications", &agreed.finish()).finish();
        let method = "notifications/subscriptions/acknowledged".to_string();
        self.tell(Event::Notice { handle, method, params });
    }

    /// The listening requests that a notification is for: the one that it names, else those that asked for its kind.
    pub(super) fn listeners(&self, method: &str, params: &str) -> Vec<u64> {
        if let Some(id) = wire::subscription_of(params) {
            let found = id.as_number().and_then(|number| self.wires.get(&number));
            return match found.map(|found| found.purpose) {
                Some(Purpose::Call(handle)) => Vec::from([handle]),
                _ => Vec::new(),
            };
        }
        let uri = json::get_string(params, "uri").unwrap_or_default();
        let covers = |wanted: &String| {
            uri.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || below(wanted, rest))
        };
        let member = LISTS.iter().find(|(list, _)| *list == method).map(|(_, member)| *member);
        let mut found = Vec::new();
        for (handle, call) in self.calls.iter().filter(|(_, call)| matches!(call.phase, Phase::Listening { .. })) {
            let filter = call.params.as_deref().and_then(|params| json::get(params, "notifications"));
            let wanted = match member {
                Some(member) => filter.and_then(|filter| json::get(filter, member)) == Some("true"),
                None => method == "notifications/resources/updated" && call.uris.iter().any(covers),
            };
            if wanted {
                found.push(*handle);
            }
        }
        found
    }

    /// Ends the subscriptions that no other listening request holds, of one that is about to end.
    pub(super) fn unsubscribe(&mut self, handle: u64) {
        let uris = self.calls.get_mut(&handle).map(|call| core::mem::take(&mut call.uris));
        for uri in uris.unwrap_or_default() {
            if self.calls.values().any(|call| call.uris.contains(&uri)) {
                continue;
            }
            let params = Object::new().string("uri", &uri).finish();
            self.send_request(Purpose::Quiet, "resources/unsubscribe", Some(params));
        }
    }
}
