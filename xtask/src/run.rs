//! Processes with a bound: each in a process group of its own, which is killed when the time is over or the leader gone.
use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use crate::Result;

/// A command line, what is set for it, and how long it may take.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    words: Vec<String>,
    environment: Vec<(String, String)>,
    folder: Option<PathBuf>,
    limit: Duration,
}

/// What a job gave. Output is in the files.
pub(crate) struct Ended {
    pub(crate) ok: bool,
    /// Why it is not ok, in words.
    pub(crate) why: String,
    /// It was killed because its time was over.
    pub(crate) late: bool,
    pub(crate) took: Duration,
}

impl Job {
    pub(crate) fn new(words: &[&str]) -> Self {
        Self::of(words.iter().map(|&word| word.to_owned()).collect())
    }

    pub(crate) fn of(words: Vec<String>) -> Self {
        Self { words, environment: Vec::new(), folder: None, limit: Duration::from_secs(300) }
    }

    pub(crate) fn args(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.environment.push((name.into(), value.as_ref().to_string_lossy().into_owned()));
        self
    }

    pub(crate) fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    pub(crate) fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    /// Runs it to its end, with all its output in one file.
    pub(crate) fn run(&self, log: &Path) -> Result<Ended> {
        let file = File::create(log)?;
        self.spawn(file.try_clone()?, file)
    }

    /// Runs it to its end, with its two outputs in two files.
    pub(crate) fn run_apart(&self, stdout: &Path, stderr: &Path) -> Result<Ended> {
        self.spawn(File::create(stdout)?, File::create(stderr)?)
    }

    fn spawn(&self, stdout: File, stderr: File) -> Result<Ended> {
        let start = Instant::now();
        let child = self.command().stdout(stdout).stderr(stderr).spawn().map_err(|error| self.not_started(&error))?;
        let mut group = Group::new(child);
        let status = group.wait(self.limit)?;
        group.kill();
        let why = match status {
            Some(status) if status.success() => String::new(),
            Some(status) => status.to_string(),
            None => format!("no end within {} s", self.limit.as_secs()),
        };
        Ok(Ended { ok: why.is_empty(), why, late: status.is_none(), took: start.elapsed() })
    }

    fn not_started(&self, error: &std::io::Error) -> String {
        format!("cannot start {}: {error}", self.words[0])
    }

    /// What it prints, when it succeeds at once; for small questions.
    pub(crate) fn text(&self) -> Result<String> {
        let output = self.command().output().map_err(|error| self.not_started(&error))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {} {}", self.words.join(" "), output.status, words.trim()).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Starts a server and waits until a line of its output is `sign` and something more, which is given back.
    pub(crate) fn serve(&self, sign: &str) -> Result<Server> {
        let mut command = self.command();
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| self.not_started(&error))?;
        let said = Arc::<Mutex<VecDeque<String>>>::default();
        let (lines, heard) = mpsc::channel();
        if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
            listen(stdout, lines.clone(), Arc::clone(&said));
            listen(stderr, lines, Arc::clone(&said));
        }
        let mut server = Server { group: Group::new(child), said, ready: String::new() };
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            match heard.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(rest) = line.find(sign).map(|start| &line[start + sign.len()..]) {
                        server.ready = rest.trim().to_owned();
                        return Ok(server);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("no `{sign}` within 30 s\n{}", server.said()).into());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("it ended before it listened\n{}", server.said()).into());
                }
            }
        }
    }
}

fn listen(from: impl Read + Send + 'static, lines: mpsc::Sender<String>, said: Arc<Mutex<VecDeque<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(std::io::Result::ok) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.len() == 200 {
                said.pop_front();
            }
            said.push_back(line.clone());
            // Nobody listens any more once it is ready.
            let _ = lines.send(line);
        }
    });
}

/// A server that runs until this is dropped.
pub(crate) struct Server {
    group: Group,
    said: Arc<Mutex<VecDeque<String>>>,
    /// What followed the sign that it is ready.
    pub(crate) ready: String,
}

impl Server {
    /// The last lines that it printed.
    pub(crate) fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Asks it to end. False when it does not within three seconds; then it is killed.
    pub(crate) fn stop(mut self) -> Result<bool> {
        self.group.terminate();
        Ok(self.group.wait(Duration::from_secs(3))?.is_some())
    }
}

/// A process group and its leader.
struct Group {
    id: u32,
    over: Receiver<std::io::Result<ExitStatus>>,
    ended: Option<ExitStatus>,
}

impl Group {
    fn new(mut child: Child) -> Self {
        let id = child.id();
        let (ended, over) = mpsc::channel();
        thread::spawn(move || ended.send(child.wait()));
        Self { id, over, ended: None }
    }

    /// Waits for the leader; None when the time is over.
    fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.over.recv_timeout(limit).ok().transpose()?;
        }
        Ok(self.ended)
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.id).ok().and_then(rustix::process::Pid::from_raw);
        // A group without a process is what we want.
        let _ = id.map(|id| rustix::process::kill_process_group(id, signal));
    }

    #[cfg(unix)]
    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    #[cfg(unix)]
    fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(not(unix))]
    fn terminate(&self) {
        self.kill();
    }

    #[cfg(not(unix))]
    fn kill(&self) {
        let _ = Command::new("taskkill").args(["/F", "/T", "/PID", &self.id.to_string()]).output();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last lines of a log, indented.
pub(crate) fn tail(log: &Path, lines: usize) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<_> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| format!("    {line}\n")).collect()
}

/// A step that is told: its name, then how it ended and the end of its log when it failed.
pub(crate) fn step(name: &str, job: &Job, log: &Path) -> Result<bool> {
    let ended = job.run(log)?;
    tell(name, &ended, log);
    Ok(ended.ok)
}

/// The line about a step.
pub(crate) fn tell(name: &str, ended: &Ended, log: &Path) {
    if ended.ok {
        println!("ok      {name} ({:.1} s)", ended.took.as_secs_f64());
    } else {
        println!("FAILED  {name}: {}, {}", ended.why, log.display());
        print!("{}", tail(log, 40));
    }
}

/// A step without which nothing further is possible.
pub(crate) fn need(name: &str, job: &Job, log: &Path) -> Result<()> {
    if step(name, job, log)? { Ok(()) } else { Err(format!("{name} failed").into()) }
}
