//! The resource `server`.
use mcp_keel_core::flat::FlatServer;

use crate::bindings::exports::keel::mcp::flat::{self, Error, GuestServer};
use crate::{Object, Records, refusal, seed};

pub(crate) type Server = Object<FlatServer>;

impl GuestServer for Server {
    fn new(config: String, entropy: Vec<u8>) -> Result<flat::Server, Error> {
        let server = FlatServer::new(&config, &seed(&entropy)?).map_err(refusal)?;
        Ok(flat::Server::new(Self::new(server)))
    }

    fn set_catalog(&self, catalog: String, now: u64) -> Records {
        self.records(|server| server.set_catalog(&catalog, now))
    }

    fn open(&self, stream: u64, transport: String, now: u64) -> Records {
        self.records(|server| server.open(stream, &transport, now))
    }

    fn receive(&self, stream: u64, bytes: Vec<u8>, now: u64) -> Records {
        self.records(|server| server.receive(stream, &bytes, now))
    }

    fn end(&self, stream: u64, now: u64) -> Records {
        self.records(|server| server.end(stream, now))
    }

    fn request(&self, stream: u64, head: String, body: Vec<u8>, now: u64) -> Records {
        self.records(|server| server.request(stream, &head, &body, now))
    }

    fn gone(&self, stream: u64, now: u64) -> Records {
        self.records(|server| server.gone(stream, now))
    }

    fn respond(&self, call: u64, outcome: String, now: u64) -> Records {
        self.records(|server| server.respond(call, &outcome, now))
    }

    fn ask(&self, call: u64, key: String, request: String, now: u64) -> Records {
        self.records(|server| server.ask(call, &key, &request, now))
    }

    fn progress(&self, call: u64, progress: String, now: u64) -> Records {
        self.records(|server| server.progress(call, &progress, now))
    }

    fn log(&self, call: u64, entry: String, now: u64) -> Records {
        self.records(|server| server.log(call, &entry, now))
    }

    fn publish(&self, change: String, now: u64) -> Records {
        self.records(|server| server.publish(&change, now))
    }

    fn call_info(&self, call: u64) -> Result<String, Error> {
        self.call(|server| server.call_info(call))
    }

    fn timeout(&self, now: u64) -> Records {
        self.records(|server| server.timeout(now))
    }

    fn close(&self, now: u64) -> Records {
        self.records(|server| server.close(now))
    }
}
