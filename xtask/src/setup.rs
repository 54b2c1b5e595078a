//! What the areas need, installed once and found again: environments by the hash of what is in them.
use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Result,
    count::Count,
    hosts,
    place::{Place, hash},
    run::{Job, need},
};

/// The target that has no standard library, and the one for machines that cannot have it.
const NO_STD: [&str; 2] = ["x86_64-unknown-none", "wasm32-unknown-unknown"];

pub(crate) fn run(place: &Place, areas: &[&str]) -> Result<Count> {
    let all = ["core", "python", "node", "wasm", "component", "kotlin", "swift", "interop"];
    let mut count = Count::default();
    for area in if areas.is_empty() { &all } else { areas } {
        let done = match *area {
            "core" => no_std_target(place).map(drop),
            "python" => python(place).map(drop),
            "node" => node_modules(place, "bindings-node"),
            "wasm" => hosts::wasm::setup(place),
            "component" => hosts::component::setup(place),
            "kotlin" => hosts::kotlin::setup(place),
            "swift" => hosts::swift::setup(place),
            "interop" => interop(place).map(drop),
            other => Err(format!("there is no area {other}; areas: {}", all.join(" ")).into()),
        };
        match done {
            Ok(()) => println!("ok      setup {area}"),
            Err(ref error) => println!("FAILED  setup {area}: {error}"),
        }
        count.add(Count::of(done.is_ok()));
    }
    Ok(count)
}

/// A target without a standard library, installed.
pub(crate) fn no_std_target(place: &Place) -> Result<&'static str> {
    let installed = || Job::new(&["rustup", "target", "list", "--installed"]).folder(&place.root).text();
    let has = |target| installed().is_ok_and(|list| list.lines().any(|line| line == target));
    for target in NO_STD {
        if has(target) {
            return Ok(target);
        }
        let add = Job::new(&["rustup", "target", "add", target]).folder(&place.root);
        if add.run(&place.log(&format!("rustup {target}")))?.ok {
            return Ok(target);
        }
    }
    Err("no target without a standard library can be installed".into())
}

/// The interpreter of the machine.
fn interpreter() -> String {
    std::env::var("KEEL_PYTHON").unwrap_or_else(|_| "python3".into())
}

pub(crate) fn bin(environment: &Path, name: &str) -> String {
    environment.join("bin").join(name).to_string_lossy().into_owned()
}

/// An environment with exactly the packages of a requirements file; its folder.
pub(crate) fn environment(place: &Place, requirements: &str) -> Result<PathBuf> {
    let python = interpreter();
    let mut content = fs::read(place.at(requirements))?;
    content.extend(Job::new(&[&python, "-VV"]).text()?.bytes());
    let folder = place.cache.join("python").join(hash(&content));
    let stamp = folder.join(".ready");
    if !stamp.is_file() {
        let log = place.log(&format!("pip {requirements}"));
        need(
            "python environment",
            &Job::of(vec![python, "-m".into(), "venv".into(), "--clear".into()]).args(&[&folder.to_string_lossy()]),
            &log,
        )?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        let install = Job::of(vec![bin(&folder, "python")]).args(&install).args(&[&place.word(requirements)]);
        need(&format!("pip install -r {requirements}"), &install.limit(900), &log)?;
        fs::write(stamp, "")?;
    }
    Ok(folder)
}

/// The interpreters and tools for the Python binding.
pub(crate) struct Python {
    /// The environment of tools.
    tools: PathBuf,
    /// The interpreter of this clone: sees the tools, and has the clone's own package.
    pub(crate) python: String,
}

impl Python {
    /// A program of the tools.
    pub(crate) fn tool(&self, name: &str) -> String {
        bin(&self.tools, name)
    }
}

pub(crate) fn python(place: &Place) -> Result<Python> {
    let tools = environment(place, "xtask/python.txt")?;
    let own = place.work.join("venv");
    let python = bin(&own, "python");
    let link = own.join("tools-are-in");
    let wanted = tools.to_string_lossy().into_owned();
    if fs::read_to_string(&link).ok().as_ref() != Some(&wanted) {
        let make = ["-m", "venv", "--clear", "--without-pip"];
        let make = Job::of(vec![bin(&tools, "python")]).args(&make).args(&[&own.to_string_lossy()]);
        need("python environment of this clone", &make, &place.log("venv"))?;
        let site =
            |python: &str| Job::new(&[python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).text();
        let shared = site(&bin(&tools, "python"))?;
        fs::write(Path::new(site(&python)?.trim()).join("tools.pth"), shared)?;
        fs::write(link, wanted)?;
    }
    Ok(Python { tools, python })
}

/// `node_modules` of a folder, by its lock file. Kept outside of the clone, with a link to it.
pub(crate) fn node_modules(place: &Place, folder: &str) -> Result<()> {
    let here = place.at(folder);
    let modules = here.join("node_modules");
    let lock = fs::read(here.join("package-lock.json"))?;
    let key = hash(&lock);
    let linked = modules.is_symlink();
    if modules.is_dir() && !linked {
        // Somebody's own installation: kept, and brought up to date in place.
        return install(place, &here, &modules.join(".keel"), &key, folder);
    }
    let kept = place.cache.join("npm").join(&key);
    fs::create_dir_all(&kept)?;
    for name in ["package.json", "package-lock.json", ".npmrc"] {
        if here.join(name).is_file() {
            fs::copy(here.join(name), kept.join(name))?;
        }
    }
    install(place, &kept, &kept.join("node_modules/.keel"), &key, folder)?;
    let wanted = kept.join("node_modules");
    if fs::read_link(&modules).ok().as_ref() == Some(&wanted) {
        return Ok(());
    }
    if linked {
        fs::remove_file(&modules)?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&wanted, &modules)?;
    #[cfg(not(unix))]
    install(place, &here, &modules.join(".keel"), &key, folder)?;
    Ok(())
}

fn install(place: &Place, at: &Path, stamp: &Path, key: &str, folder: &str) -> Result<()> {
    if fs::read_to_string(stamp).is_ok_and(|found| found == key) {
        return Ok(());
    }
    let job = Job::new(&["npm", "ci", "--no-audit", "--no-fund"]).folder(at).limit(900);
    need(&format!("npm ci in {folder}"), &job, &place.log(&format!("npm {folder}")))?;
    fs::write(stamp, key)?;
    Ok(())
}

/// The interpreter with the official Python SDK; installs the other official SDKs and servers too.
pub(crate) fn interop(place: &Place) -> Result<String> {
    for folder in ["ts1", "ts2", "servers"] {
        node_modules(place, &format!("tests/interop/{folder}"))?;
    }
    Ok(bin(&environment(place, "tests/interop/py/requirements.txt")?, "python"))
}
