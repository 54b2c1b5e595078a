//! Counts of what passed and failed, and where other programs print theirs.
use std::fmt;

/// How many passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl Count {
    pub(crate) fn of(ok: bool) -> Self {
        Self { passed: usize::from(ok), failed: usize::from(!ok) }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// A program that failed without a failed test has failed all the same.
    pub(crate) fn with_exit(mut self, ok: bool) -> Self {
        if !ok && self.failed == 0 {
            self.failed = 1;
        }
        self
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// The number before a word: `before("3 passed; 1 failed", "passed")` is 3.
fn before(line: &str, word: &str) -> usize {
    let words: Vec<_> =
        line.split(|c: char| c.is_whitespace() || ",;.()".contains(c)).filter(|w| !w.is_empty()).collect();
    let found = words.windows(2).find(|pair| pair[1] == word);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

fn sum<'a>(lines: impl Iterator<Item = &'a str>, passed: &str, failed: &[&str]) -> Count {
    lines.fold(Count::default(), |mut count, line| {
        count.passed += before(line, passed);
        count.failed += failed.iter().map(|word| before(line, word)).sum::<usize>();
        count
    })
}

/// Of `cargo test`: all its `test result:` lines.
pub(crate) fn cargo(text: &str) -> Count {
    sum(text.lines().filter(|line| line.starts_with("test result:")), "passed", &["failed"])
}

/// Of pytest: its last line.
pub(crate) fn pytest(text: &str) -> Count {
    let last = text.lines().rev().find(|line| line.contains(" in ") && line.contains('s'));
    sum(last.into_iter(), "passed", &["failed", "error", "errors"])
}

/// Of `node --test --test-reporter=tap`.
pub(crate) fn node(text: &str) -> Count {
    let number = |name: &str| {
        let line = text.lines().rev().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
    };
    Count { passed: number("# pass "), failed: number("# fail ") + number("# cancelled ") }
}

/// Of our own programs: the last line with `N passed, M failed`.
pub(crate) fn ours(text: &str) -> Count {
    let last = text.lines().rev().find(|line| line.contains(" passed, ") && line.trim_end().ends_with(" failed"));
    sum(last.into_iter(), "passed", &["failed"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_where_they_are_printed() {
        let of = |passed, failed| Count { passed, failed };
        let text =
            "test result: ok. 3 passed; 0 failed; 0 ignored\nx\ntest result: FAILED. 1 passed; 2 failed; 0 ignored";
        assert_eq!(cargo(text), of(4, 2));
        assert_eq!(pytest("...\n=== 1 failed, 23 passed, 1 error in 2.31s ==="), of(23, 2));
        assert_eq!(pytest("23 passed in 2.31s"), of(23, 0));
        assert_eq!(node("# tests 5\n# pass 4\n# fail 1\n# cancelled 0\n"), of(4, 1));
        assert_eq!(ours("FAILED a\ncorpus: 120 passed, 1 failed\n"), of(120, 1));
        assert_eq!(ours("nothing").with_exit(false), of(0, 1));
    }
}
