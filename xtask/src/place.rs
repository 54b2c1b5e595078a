//! Where things are: the clone, what is kept between clones, logs.
use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
};

use crate::Result;

/// The folders that this command works in.
pub(crate) struct Place {
    /// The clone.
    pub(crate) root: PathBuf,
    /// What is expensive and outlives a clone: environments and packages of other languages.
    pub(crate) cache: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// Files of this clone that are made, in `target`.
    pub(crate) work: PathBuf,
}

impl Place {
    pub(crate) fn find() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().ok_or("the manifest is in no folder")?.to_path_buf();
        let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || env::home_dir().map(|home| home.join(".cache")).ok_or("there is no home folder");
        let cache = given("XDG_CACHE_HOME").map_or_else(home, Ok)?.join("keel");
        let target = given("CARGO_TARGET_DIR").unwrap_or_else(|| cache.join("target"));
        let target = env::current_dir()?.join(target);
        let work = target.join("keel").join(hash(root.to_string_lossy().as_bytes()));
        fs::create_dir_all(work.join("logs"))?;
        Ok(Self { root, cache, target, work })
    }

    /// A file or folder of the clone.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The same as text for a command line.
    pub(crate) fn word(&self, path: &str) -> String {
        self.at(path).to_string_lossy().into_owned()
    }

    /// Whether the published schemas and requirements are at hand, which are not part of the clone.
    pub(crate) fn has_specification(&self) -> bool {
        let folder = env::var_os("KEEL_SPEC").map_or_else(|| self.at("../shared/spec"), PathBuf::from);
        folder.join("requirements.tsv").is_file()
    }

    /// The log file of a step, named in words.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        self.work.join("logs").join(name.chars().map(safe).collect::<String>()).with_extension("log")
    }
}

/// A name for something with this content. It stays the same as long as the toolchain of this command does.
pub(crate) fn hash(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
