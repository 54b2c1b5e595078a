//! What large messages cost a process, in resident memory: the text they carry, and a look at the process from outside.

use std::fs;

/// What the text of a large message repeats. Escapes and characters of two bytes, but none beyond Latin-1: one of those
/// would make Python and V8 keep the whole text in two or four bytes a character, whatever carried it.
pub const UNIT: &str = "The café's \"daily\" menu:\tsoup, bread and water.\n";
/// How many bytes it has in a message, where the quotes, the tabulator and the line break are escaped.
pub const WRITTEN: usize = UNIT.len() + 4;

/// That text as what stands between the quotes of a JSON string.
#[must_use]
pub fn written(units: usize) -> String {
    UNIT.replace('"', "\\\"").replace('\t', "\\t").replace('\n', "\\n").repeat(units)
}

/// A process whose resident memory is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Watched(pub u32);

impl Watched {
    /// Bytes resident now.
    ///
    /// # Errors
    /// When the process is gone, or the system does not tell.
    pub fn resident(self) -> Result<u64, String> {
        self.status("VmRSS:")
    }

    /// The most bytes that were resident since [`Self::forget_peak`].
    ///
    /// # Errors
    /// As [`Self::resident`].
    pub fn peak(self) -> Result<u64, String> {
        self.status("VmHWM:")
    }

    /// Begins a new measurement of the peak.
    ///
    /// # Errors
    /// As [`Self::resident`].
    pub fn forget_peak(self) -> Result<(), String> {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5").map_err(|error| format!("process {}: {error}", self.0))
    }

    fn status(self, name: &str) -> Result<u64, String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0));
        let status = status.map_err(|error| format!("process {}: {error}", self.0))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kilobytes.map(|kilobytes| kilobytes << 10).ok_or_else(|| format!("process {} does not tell {name}", self.0))
    }
}
