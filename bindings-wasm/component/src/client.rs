//! The resource `client`.
use mcp_keel_core::flat::FlatClient;

use crate::bindings::exports::keel::mcp::flat::{self, Error, GuestClient};
use crate::{Object, Records, refusal, seed};

pub(crate) type Client = Object<FlatClient>;

impl GuestClient for Client {
    fn new(config: String, entropy: Vec<u8>) -> Result<flat::Client, Error> {
        let client = FlatClient::new(&config, &seed(&entropy)?).map_err(refusal)?;
        Ok(flat::Client::new(Self::new(client)))
    }

    fn start(&self, now: u64) -> Records {
        self.records(|client| client.start(now))
    }

    fn receive(&self, bytes: Vec<u8>, now: u64) -> Records {
        self.records(|client| client.receive(&bytes, now))
    }

    fn ended(&self, reason: String, now: u64) -> Records {
        self.records(|client| client.ended(&reason, now))
    }

    fn response(&self, stream: u64, status: u16, headers: String, now: u64) -> Records {
        self.records(|client| client.response(stream, status, &headers, now))
    }

    fn body(&self, stream: u64, bytes: Vec<u8>, now: u64) -> Records {
        self.records(|client| client.body(stream, &bytes, now))
    }

    fn end(&self, stream: u64, now: u64) -> Records {
        self.records(|client| client.end(stream, now))
    }

    fn failed(&self, stream: u64, reason: String, now: u64) -> Records {
        self.records(|client| client.failed(stream, &reason, now))
    }

    fn request(&self, handle: u64, method: String, params: String, options: String, now: u64) -> Records {
        self.records(|client| client.request(handle, &method, &params, &options, now))
    }

    fn cancel(&self, handle: u64, reason: String, now: u64) -> Records {
        self.records(|client| client.cancel(handle, &reason, now))
    }

    fn answer(&self, token: u64, outcome: String, now: u64) -> Records {
        self.records(|client| client.answer(token, &outcome, now))
    }

    fn notify(&self, method: String, params: String, now: u64) -> Records {
        self.records(|client| client.notify(&method, &params, now))
    }

    fn timeout(&self, now: u64) -> Records {
        self.records(|client| client.timeout(now))
    }

    fn close(&self, now: u64) -> Records {
        self.records(|client| client.close(now))
    }
}
