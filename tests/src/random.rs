//! Repeatable randomness for tests: the same seed gives the same run everywhere.

/// A small generator (xorshift64*).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From any number.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// From a name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::new(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)),
        )
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        if self.0 == 0 {
            self.0 = 1;
        }
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or_default()
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Cuts `bytes` into up to `most` pieces.
    pub fn split(&mut self, bytes: &[u8], most: usize) -> Vec<Vec<u8>> {
        if bytes.is_empty() {
            return vec![Vec::new()];
        }
        let mut cuts: Vec<usize> = (1..1 + self.below(most.max(1))).map(|_| self.below(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
    }
}
