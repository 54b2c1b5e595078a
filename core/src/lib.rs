//! The pure core of Keel: the Model Context Protocol as machines without I/O.
//!
//! Bytes, HTTP parts, time and commands come in as plain values; [`flat`] hands back what to do as plain records.
//!
//! ```text
//!  bytes · HTTP parts · time · commands       each layer uses only what stands to its right
//!         │
//!         ▼
//!    link ──→ client | server ──→ revision ──→ message, json
//!         │
//!         ▼
//!   records: write · fetch · head · body · call · result · wait   ← drivers only perform these
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod client;
pub mod error;
pub mod flat;
pub mod json;
pub mod limits;
pub mod link;
pub mod message;
mod model;
pub mod revision;
pub mod server;
mod table;
pub mod time;
mod words;
