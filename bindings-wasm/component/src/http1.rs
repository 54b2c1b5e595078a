//! The resource `http1`.
use mcp_keel_core::flat::FlatHttp1;

use crate::bindings::exports::keel::mcp::flat::{Error, GuestHttp1};
use crate::{Object, Records, refusal};

pub(crate) type Http1 = Object<FlatHttp1>;

impl GuestHttp1 for Http1 {
    fn new() -> Self {
        Self::new(FlatHttp1::new())
    }

    fn encode(&self, name: String, text: String) -> Result<Vec<u8>, Error> {
        self.call(|codec| codec.encode(&name, &text))
    }

    fn receive(&self, bytes: Vec<u8>) -> Records {
        self.records(|codec| codec.receive(&bytes))
    }

    fn finish(&self) -> Records {
        self.records(FlatHttp1::finish)
    }

    fn target(url: String) -> Result<String, Error> {
        FlatHttp1::target(&url).map_err(refusal)
    }
}
