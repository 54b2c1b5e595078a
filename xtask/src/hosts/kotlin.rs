//! Kotlin on the JVM, without Gradle: the compiler from npm, JNA from the system, and a jar with the library in it.
use std::{
    env::consts::{ARCH, DLL_PREFIX, DLL_SUFFIX, OS},
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Result,
    build::{self, Host, Program, cargo},
    count::{self, Count},
    place::{Place, hash},
    run::{Job, need},
    setup, test,
};

const FOLDER: &str = "bindings-swift/kotlin";
const COMPILER: &str = "bindings-swift/kotlin/node_modules/kotlin-compiler";
const JNA: &str = "/usr/share/java/jna.jar";
/// What the example client prints last.
const EXAMPLE: &str = "Oslo: sun for 3 days";

/// Installs what it needs and this machine lacks.
pub(crate) fn setup(place: &Place) -> Result<()> {
    setup::node_modules(place, FOLDER)?;
    if Job::new(&["java", "-version"]).text().is_err() || Job::new(&["jar", "--version"]).text().is_err() {
        return Err("Kotlin needs a JDK, 17 or later, with java and jar on the path".into());
    }
    if Path::new(&jna()).is_file() {
        return Ok(());
    }
    let root = Job::new(&["id", "-u"]).text().is_ok_and(|id| id.trim() == "0");
    if !root || !Path::new("/usr/bin/apt-get").exists() {
        return Err("Kotlin needs JNA: install libjna-java, or name jna.jar in KEEL_JNA".into());
    }
    let install =
        "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libjna-java";
    need("install JNA", &Job::new(&["sh", "-c", install]).limit(900), &place.log("apt jna"))
}

fn jna() -> String {
    std::env::var("KEEL_JNA").unwrap_or_else(|_| JNA.into())
}

/// What is made of the sources.
struct Made {
    folder: PathBuf,
    jars: Vec<String>,
}

impl Made {
    fn at(place: &Place) -> Self {
        let library = |name: &str| place.word(&format!("{COMPILER}/lib/{name}.jar"));
        let jars = vec![library("kotlin-stdlib"), library("kotlinx-coroutines-core-jvm"), jna()];
        Self { folder: place.work.join("kotlin"), jars }
    }

    fn word(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    fn path(&self, more: &[&str]) -> String {
        let more = more.iter().map(|name| self.word(name));
        more.chain(self.jars.iter().cloned()).collect::<Vec<_>>().join(if cfg!(windows) { ";" } else { ":" })
    }

    /// Does a step when its inputs are others than last time; whether it did.
    fn step(&self, name: &str, inputs: &str, run: impl FnOnce() -> Result<()>) -> Result<bool> {
        let stamp = self.folder.join(format!("{name}.stamp"));
        if fs::read_to_string(&stamp).is_ok_and(|found| found == inputs) {
            return Ok(false);
        }
        run()?;
        fs::write(stamp, inputs)?;
        Ok(true)
    }

    /// Compiles Kotlin into the folder of that name.
    fn compile(&self, place: &Place, name: &str, sources: &[String], path: &[&str], options: &[&str]) -> Result<()> {
        let output = self.folder.join(name);
        if output.is_dir() {
            fs::remove_dir_all(&output)?;
        }
        let job = Job::of(vec!["bash".into(), place.word(&format!("{COMPILER}/bin/kotlinc-jvm"))])
            .args(&["-J-Xmx768M", "-jvm-target", "17", "-cp", &self.path(path), "-d", &self.word(name)])
            .args(options)
            .args(&sources.iter().map(String::as_str).collect::<Vec<_>>())
            .limit(900);
        need(&format!("compile kotlin {name}"), &job, &place.log(&format!("kotlinc {name}")))
    }
}

/// Builds the library and the programs.
pub(crate) fn build(place: &Place) -> Result<()> {
    setup(place)?;
    let made = Made::at(place);
    fs::create_dir_all(&made.folder)?;
    let library = cargo(place, &["build", "--quiet", "-p", "mcp-keel-uniffi"]);
    need("build the library for kotlin", &library, &place.log("build uniffi"))?;

    let lock = digest(&[place.at("Cargo.lock"), place.at(&format!("{FOLDER}/package-lock.json"))])?;
    let surface = digest(&[place.at("bindings-swift/src"), place.at("bindings-swift/uniffi.toml")])? + &lock;
    made.step("flat", &surface, || flat(place, &made))?;

    let own = digest(&[place.at(&format!("{FOLDER}/src/main"))])? + &surface;
    let sources = [place.word(&format!("{FOLDER}/src/main/kotlin"))];
    made.step("main", &own, || {
        made.compile(place, "main", &sources, &["flat"], &["-Werror", "-Xexplicit-api=strict"])
    })?;
    let dynamic = place.target.join("debug").join(format!("{DLL_PREFIX}mcp_keel_uniffi{DLL_SUFFIX}"));
    let about = fs::metadata(&dynamic)?;
    made.step("jar", &format!("{own} {} {:?}", about.len(), about.modified()?), || jar(place, &made, &dynamic))?;

    let folders = ["src/test/kotlin", "examples"].map(|name| place.at(&format!("{FOLDER}/{name}")));
    let programs = folders.clone().map(|folder| folder.to_string_lossy().into_owned());
    let friend = format!("-Xfriend-paths={}", made.word("main"));
    made.step("test", &(digest(&folders)? + &own), || {
        made.compile(place, "test", &programs, &["main", "flat"], &["-Werror", &friend])
    })?;
    Ok(())
}

/// The other side of the flat objects, generated and compiled.
fn flat(place: &Place, made: &Made) -> Result<()> {
    let generator = super::generator(place)?;
    // A static library keeps what the generator reads, whatever is stripped.
    let library = place.target.join("debug/libmcp_keel_uniffi.a");
    let generated = made.word("generated");
    let generate = Job::of(vec![generator]).args(&["uniffi", "kotlin", &library.to_string_lossy(), &generated]);
    need("generate kotlin", &generate.folder(&place.root), &place.log("generate kotlin"))?;
    made.compile(place, "flat", &[generated], &[], &["-nowarn"])
}

/// One jar with the classes and the library, where JNA looks for it.
fn jar(place: &Place, made: &Made, library: &Path) -> Result<()> {
    let natives = made.folder.join("natives");
    let folder = natives.join(platform());
    fs::create_dir_all(&folder)?;
    fs::copy(library, folder.join(library.file_name().ok_or("the library has no name")?))?;
    let job = Job::new(&["jar", "--create", "--no-compress", "--file", &made.word("mcp-keel.jar")])
        .args(&["-C", &made.word("main"), ".", "-C", &made.word("flat"), "dev"])
        .args(&["-C", &place.word(&format!("{FOLDER}/src/main/resources")), "."])
        .args(&["-C", &natives.to_string_lossy(), "."]);
    need("pack the jar", &job, &place.log("jar"))
}

/// The name that JNA has for this machine.
fn platform() -> String {
    let os = match OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    format!("{os}-{}", ARCH.replace("x86_64", "x86-64"))
}

/// A digest of files, and of those in folders.
fn digest(paths: &[PathBuf]) -> Result<String> {
    let mut content = Vec::new();
    for path in paths {
        gather(path, &mut content)?;
    }
    Ok(hash(&content))
}

fn gather(path: &Path, content: &mut Vec<u8>) -> Result<()> {
    if !path.is_dir() {
        content.extend(path.to_string_lossy().bytes());
        content.extend(fs::read(path)?);
        return Ok(());
    }
    let mut names: Vec<_> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    names.sort();
    names.iter().try_for_each(|name| gather(name, content))
}

/// The command line of a program, without arguments.
pub(crate) fn command(place: &Place, program: Program) -> Result<Vec<String>> {
    let class = match program {
        Program::Server => "FixtureServer",
        Program::Client => "FixtureClient",
        Program::Corpus => "CorpusHost",
        _ => return Err(format!("kotlin has no program {program:?}").into()),
    };
    Ok(java(place, &format!("dev.mcpkeel.{class}")))
}

/// A program on the JVM, with what makes it start fast.
fn java(place: &Place, class: &str) -> Vec<String> {
    let path = Made::at(place).path(&["mcp-keel.jar", "test"]);
    let words = ["java", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", &path, class];
    words.map(str::to_owned).to_vec()
}

/// Its own tests.
pub(crate) fn test(place: &Place) -> Result<Count> {
    build(place)?;
    let built = build::hosts(place, &[Host::Python])?;
    setup::node_modules(place, "tests/interop/servers")?;
    let mut words = java(place, "dev.mcpkeel.Tests");
    // Real servers, each behind its name and up to the next dash.
    words.extend(["python".into()]);
    words.extend(built.command(Host::Python, Program::Server)?);
    let everything = "tests/interop/servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    words.extend(["--", "everything", "node"].map(str::to_owned));
    words.push(place.word(everything));
    words.extend(["--", "own"].map(str::to_owned));
    words.extend(java(place, "dev.mcpkeel.FixtureServer"));
    let mut count = test::counted(place, "kotlin", &Job::of(words).limit(300), count::ours)?;
    count.add(example(place)?);
    count.add(serialization(place)?);
    Ok(count)
}

/// The adapter for kotlinx.serialization. Its run time is on no registry that is used here, but within a package of PyPI.
fn serialization(place: &Place) -> Result<Count> {
    let made = Made::at(place);
    let folder = format!("{FOLDER}/serialization");
    let kept = runtime(place, &format!("{folder}/runtime.txt"))?;
    let jars = ["core", "json"].map(|part| kept.join(format!("kotlinx-serialization-{part}-jvm-1.9.0.jar")));
    let jars = jars.map(|jar| jar.to_string_lossy().into_owned());
    let plugin =
        format!("-Xplugin={}", place.word(&format!("{COMPILER}/lib/kotlinx-serialization-compiler-plugin.jar")));
    let sources = ["main", "test"].map(|name| place.at(&format!("{folder}/src/{name}")));
    let words = sources.clone().map(|folder| folder.to_string_lossy().into_owned());
    let library = fs::read_to_string(made.folder.join("main.stamp"))?;
    let with = Made { jars: made.jars.iter().chain(&jars).cloned().collect(), ..Made::at(place) };
    with.step("serialization", &(digest(&sources)? + &library), || {
        let options = ["-Werror", "-Xexplicit-api=strict", &plugin];
        with.compile(place, "serialization", &words, &["main", "flat"], &options)
    })?;
    let path = with.path(&["mcp-keel.jar", "serialization"]);
    let job = Job::new(&["java", "-XX:TieredStopAtLevel=1", "-cp", &path, "dev.mcpkeel.serialization.Tests"]);
    test::counted(place, "kotlin serialization", &job.limit(120), count::ours)
}

/// The folder with the jars of a package of PyPI.
fn runtime(place: &Place, requirements: &str) -> Result<PathBuf> {
    let folder = place.cache.join("kotlin").join(hash(&fs::read(place.at(requirements))?));
    let stamp = folder.join(".ready");
    if stamp.is_file() {
        return Ok(folder);
    }
    fs::create_dir_all(&folder)?;
    let (python, log) = (setup::python(place)?, place.log("pip kotlin"));
    let download = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"];
    let download =
        Job::of(vec![python.tool("python")]).args(&download).args(&["-r", &place.word(requirements), "-d", "."]);
    need("download the run time of kotlinx.serialization", &download.folder(&folder).limit(900), &log)?;
    let unpack = "jar xf *.whl run_kotlin_kernel/jars && mv run_kotlin_kernel/jars/kotlinx-serialization-*.jar . \
                  && rm -r run_kotlin_kernel *.whl";
    need("unpack it", &Job::new(&["sh", "-c", unpack]).folder(&folder), &log)?;
    fs::write(stamp, "")?;
    Ok(folder)
}

/// The pair that the README shows.
fn example(place: &Place) -> Result<Count> {
    let mut words = java(place, "ClientKt");
    words.extend(java(place, "ServerKt"));
    let log = place.log("example of kotlin");
    let ended = Job::of(words).limit(60).run(&log)?;
    let printed = fs::read_to_string(&log)?;
    let ok = ended.ok && printed.lines().last() == Some(EXAMPLE);
    println!("{}  example of kotlin", if ok { "ok    " } else { "FAILED" });
    if !ok {
        println!("    {}; it printed:\n{printed}", ended.why);
    }
    Ok(Count::of(ok))
}
