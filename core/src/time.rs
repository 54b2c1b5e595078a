//! Time is an argument: milliseconds of the host's monotonic clock. All deadlines of a machine live in one [`Deadlines`].

use alloc::collections::{BTreeMap, BTreeSet};

/// Milliseconds of any monotonic clock of the host; only differences have a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Millis(pub u64);

impl Millis {
    /// This long after `self`.
    #[must_use]
    pub const fn after(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// What is due when: at most one deadline for each key.
#[derive(Debug, Clone)]
pub struct Deadlines<K> {
    due: BTreeSet<(Millis, K)>,
    at: BTreeMap<K, Millis>,
}

impl<K: Ord + Clone> Default for Deadlines<K> {
    fn default() -> Self {
        Self { due: BTreeSet::new(), at: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Deadlines<K> {
    /// Sets the one deadline of `key`.
    pub fn set(&mut self, key: K, at: Millis) {
        self.clear(&key);
        self.due.insert((at, key.clone()));
        self.at.insert(key, at);
    }

    /// Drops the deadline of `key`, if it has one.
    pub fn clear(&mut self, key: &K) {
        if let Some((key, at)) = self.at.remove_entry(key) {
            self.due.remove(&(at, key));
        }
    }

    /// The earliest deadline.
    #[must_use]
    pub fn next(&self) -> Option<Millis> {
        self.due.first().map(|(at, _)| *at)
    }

    /// All keys, the earliest deadline first.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.due.iter().map(|(_, key)| key)
    }

    /// Takes one key whose deadline has come.
    pub fn take_due(&mut self, now: Millis) -> Option<K> {
        if self.next()? > now {
            return None;
        }
        let (_, key) = self.due.pop_first()?;
        self.at.remove(&key);
        Some(key)
    }
}
