//! `subscriptions/listen` where the revision does not have it: by one subscription for each resource. Changes of lists come
//! unasked there.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Client, Event, Phase, Purpose};
use crate::error::{Error, RpcError};
use crate::json::{self, Object};

pub(super) const METHOD: &str = "subscriptions/listen";

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
            uris.extend(json::elements(wanted.unwrap_or("[]")).filter_map(json::string).map(|uri| uri.into_owned()));
            uris.sort();
            uris.dedup();
        }
        let held: usize = self.calls.values().map(|call| call.uris.len()).sum();
        if held + uris.len() > self.config.limits.subscriptions {
            let message = format!("more than {} subscriptions", self.config.limits.subscriptions);
            self.fail(handle, Error::Limit { code: "too_many_calls", message });
            return;
        }
        for uri in &uris {
            let params = Object::new().string("uri", uri).finish();
            self.send_request(Purpose::Subscribe(handle), "resources/subscribe", Some(&params));
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
        self.tell(Event::Notice { method: "notifications/subscriptions/acknowledged".to_string(), params });
    }

    /// Ends the subscriptions that no other listening request holds.
    pub(super) fn unsubscribe(&mut self, handle: u64) {
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        let held = |uri: &String| self.calls.iter().any(|(other, call)| *other != handle && call.uris.contains(uri));
        let over: Vec<_> = call.uris.iter().filter(|uri| !held(uri)).cloned().collect();
        for uri in over {
            let params = Object::new().string("uri", &uri).finish();
            self.send_request(Purpose::Quiet, "resources/unsubscribe", Some(&params));
        }
    }
}
