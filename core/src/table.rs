//! Values by key, sorted in one piece of memory. For what a client keeps, at most a few thousand: next to a tree it is a
//! tenth of the code, which counts where the core is downloaded, and no slower at that size.

use alloc::vec::{IntoIter, Vec};
use core::borrow::Borrow;
use core::cmp::Ordering;

use crate::time::Millis;

/// Values by key. New keys usually are the highest, as numbers that are given out in order.
#[derive(Debug, Clone)]
pub(crate) struct Table<K, V>(Vec<(K, V)>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> Table<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        match self.0.last().map(|(last, _)| last.borrow().cmp(key)) {
            None | Some(Ordering::Less) => Err(self.0.len()),
            Some(_) => self.0.binary_search_by(|(found, _)| found.borrow().cmp(key)),
        }
    }

    /// Sets the value of a key; the one that it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(core::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The lowest key.
    pub(crate) fn first(&self) -> Option<K>
    where
        K: Copy,
    {
        self.0.first().map(|(key, _)| *key)
    }

    /// The lowest key whose value is such a one.
    pub(crate) fn find_key(&self, test: impl Fn(&V) -> bool) -> Option<K>
    where
        K: Copy,
    {
        self.0.iter().find(|(_, value)| test(value)).map(|(key, _)| *key)
    }

    /// Takes the value of the lowest key.
    pub(crate) fn pop_first(&mut self) -> Option<V> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0).1) }
    }
}

impl<K, V> IntoIterator for Table<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Values in the order in which they came. Next to the ring of the standard library it is a third of the code, and as
/// fast where all of them are taken before new ones come.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    first: IntoIter<T>,
    rest: Vec<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { first: Vec::new().into_iter(), rest: Vec::new() }
    }
}

impl<T> Queue<T> {
    pub(crate) fn push(&mut self, value: T) {
        self.rest.push(value);
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.first.len() == 0 {
            self.first = core::mem::take(&mut self.rest).into_iter();
        }
        self.first.next()
    }
}

/// Deadlines by number: at most one for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Alarms(Table<u64, Millis>);

impl Alarms {
    pub(crate) fn set(&mut self, number: u64, at: Millis) {
        self.0.insert(number, at);
    }

    pub(crate) fn clear(&mut self, number: u64) {
        self.0.remove(&number);
    }

    /// The earliest.
    pub(crate) fn next(&self) -> Option<Millis> {
        self.0.values().min().copied()
    }

    /// Takes one whose time has come, the earliest first.
    pub(crate) fn take_due(&mut self, now: Millis) -> Option<u64> {
        let (number, _) = self.0.iter().min_by_key(|(_, at)| **at).filter(|(_, at)| **at <= now)?;
        let number = *number;
        self.0.remove(&number);
        Some(number)
    }
}
