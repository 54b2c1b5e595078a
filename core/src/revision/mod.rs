//! The five revisions as data. This folder is the only place that knows a date or an era; everything else asks for a fact.

pub mod methods;
pub mod open;
pub(crate) mod shape;
pub(crate) mod wire;

use core::fmt;

/// A published revision of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// How a revision opens and asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// A handshake, a session, requests in both directions.
    Legacy,
    /// Every request stands alone; a server asks by ending its answer with `input_required`.
    Modern,
}

/// One row of named facts for each revision.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rules {
    /// The label on the wire.
    pub label: &'static str,
    pub(crate) era: Era,
    /// Arrays of messages are served (RPC-028).
    pub batching: bool,
    /// HTTP requests after the handshake carry the version (HTTP-050).
    pub version_header: bool,
    /// The code for an unknown resource (RES-006, RES-007).
    pub not_found_code: i32,
    /// Arguments that fail their schema give a tool result with `isError` rather than an error (TOOL-018, TOOL-019).
    pub invalid_arguments_as_result: bool,
    /// `progress` may have a `message` (PROG-008).
    pub progress_message: bool,
    /// `completions` is a capability (CAP-009).
    pub completions_capability: bool,
    /// Elicitation knows modes (CAP-011).
    pub elicitation_modes: bool,
    /// Sampling has parts that are declared on their own: `tools`, `context` (SAMP-012).
    pub sampling_parts: bool,
    /// The protocol's own error codes -32020 to -32022 exist (ERR-011).
    pub modern_codes: bool,
}

const fn rules(label: &'static str, era: Era, ordinal: u8) -> Rules {
    Rules {
        label,
        era,
        batching: ordinal == 1,
        version_header: ordinal >= 2,
        not_found_code: if ordinal < 4 { -32002 } else { -32602 },
        invalid_arguments_as_result: ordinal >= 3,
        progress_message: ordinal >= 1,
        completions_capability: ordinal >= 1,
        elicitation_modes: ordinal >= 3,
        sampling_parts: ordinal >= 3,
        modern_codes: ordinal >= 4,
    }
}

static RULES: [Rules; 5] = [
    rules("2024-11-05", Era::Legacy, 0),
    rules("2025-03-26", Era::Legacy, 1),
    rules("2025-06-18", Era::Legacy, 2),
    rules("2025-11-25", Era::Legacy, 3),
    rules("2026-07-28", Era::Modern, 4),
];

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest of those that open with a handshake.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest of those whose requests stand alone.
    pub const NEWEST_MODERN: Self = Self::V2026_07_28;
    /// What a legacy HTTP request without a version header means (HTTP-052).
    pub const ASSUMED: Self = Self::V2025_03_26;

    /// The revision with exactly this label (VER-026).
    #[must_use]
    pub fn parse(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.label() == label)
    }

    /// The facts of this revision.
    #[must_use]
    pub fn rules(self) -> &'static Rules {
        &RULES[self as usize]
    }

    /// The label on the wire.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.rules().label
    }

    /// Whether every request stands alone in this revision.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        self.rules().era == Era::Modern
    }

    /// The word that users see for this revision's era.
    #[must_use]
    pub fn era_name(self) -> &'static str {
        match self.rules().era {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
