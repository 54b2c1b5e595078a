//! Runs a case on a host: a virtual clock, steps in order, expectations compared as they come.

use crate::bytes;
use crate::case::Case;
use crate::env::Env;
use crate::host::{self, Arg, Host, Method, Reply};
use crate::invariants::Invariants;
use crate::json::Json;
use crate::pattern::{self, Order};
use crate::random::Random;
use crate::record::{Record, clip};
use crate::tap::Tap;
use crate::wire::Schemas;

/// How input bytes reach the host. How they are cut must change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// As the case says.
    Whole,
    /// Each byte on its own.
    Bytes,
    /// Cut at random places, by this seed.
    Random(u64),
}

impl Variant {
    /// All that a case runs in.
    pub const ALL: [Self; 4] = [Self::Whole, Self::Bytes, Self::Random(1), Self::Random(2)];

    fn cut(self, bytes: &[u8]) -> Vec<Vec<u8>> {
        // Single bytes of megabytes would only test patience.
        const SMALL: usize = 1 << 14;
        match self {
            Self::Whole => vec![bytes.to_vec()],
            Self::Bytes if bytes.len() <= SMALL && !bytes.is_empty() => bytes.iter().map(|byte| vec![*byte]).collect(),
            Self::Bytes => Random::new(bytes.len() as u64).split(bytes, 8),
            Self::Random(seed) => Random::new(seed ^ bytes.len() as u64).split(bytes, 8),
        }
    }
}

/// What a run showed.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Messages of ours that were checked against a schema.
    pub checked: usize,
    /// Every reply in order, for comparing runs.
    pub replies: Vec<Reply>,
}

/// The seed of every case.
pub const SEED: [u8; 32] = [7; 32];

/// Whether a case has input bytes that can be cut.
#[must_use]
pub fn has_variants(case: &Case) -> bool {
    case.steps.iter().any(|step| {
        let names = step.as_object().unwrap_or_default().iter();
        names.map(|(name, _)| name).any(|name| is_cut(case.object, name))
    })
}

fn is_cut(object: &str, name: &str) -> bool {
    name == "receive" || (object == "client" && name == "body")
}

/// Runs `case` once.
///
/// # Errors
/// What went other than expected, with the step.
pub fn run(case: &Case, host: &mut dyn Host, variant: Variant, schemas: Option<&Schemas>) -> Result<Outcome, String> {
    let schemas = schemas.filter(|_| variant == Variant::Whole && case.object != "http1");
    let mut session = Session {
        case,
        host,
        variant,
        env: case.env.clone(),
        now: 1000,
        due: 0,
        pending: Vec::new(),
        last: Reply::Records(Vec::new()),
        invariants: Invariants::new(case.object, &case.link),
        tap: schemas.map(|schemas| Tap::new(schemas, case.object, &case.link)),
        outcome: Outcome::default(),
    };
    session.open()?;
    session.steps(&case.steps)?;
    let rest = std::mem::take(&mut session.pending);
    pattern::expect(&[], rest, &mut session.env, Order::Strict).map_err(|why| format!("at the end: {why}"))?;
    session.finish()
}

struct Session<'a> {
    case: &'a Case,
    host: &'a mut dyn Host,
    variant: Variant,
    env: Env,
    now: u64,
    due: u64,
    pending: Vec<Record>,
    last: Reply,
    invariants: Invariants,
    tap: Option<Tap<'a>>,
    outcome: Outcome,
}

impl Session<'_> {
    fn open(&mut self) -> Result<(), String> {
        if let Some(Reply::Refused { code, message }) = self.host.create(self.case.object, &self.case.config, &SEED)? {
            // A case about bad configuration expects this as its first step.
            self.last = Reply::Refused { code, message };
            return Ok(());
        }
        if self.case.object == "server" {
            if let Some(catalog) = &self.case.catalog {
                self.command("set_catalog", std::slice::from_ref(catalog))?;
            }
            if self.case.opens && self.case.link != "http" {
                self.command("open", &[Json::int(1), Json::string(self.case.link.clone())])?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Outcome, String> {
        if let Reply::Refused { code, message } = &self.last {
            return Err(format!("refused at the end: {code}: {message}"));
        }
        if let Some(tap) = self.tap.take() {
            self.outcome.checked = tap.checked;
            if !tap.faults.is_empty() {
                return Err(format!("schema: {}", tap.faults.join("\n  schema: ")));
            }
        }
        Ok(self.outcome)
    }

    fn steps(&mut self, steps: &[Json]) -> Result<(), String> {
        for (index, step) in steps.iter().enumerate() {
            for (name, value) in step.as_object().ok_or("a step is an object")? {
                self.step(name, value)
                    .map_err(|why| format!("step {}: {} {}\n  {why}", index + 1, name, clip(&brief(value))))?;
            }
        }
        Ok(())
    }

    fn step(&mut self, name: &str, value: &Json) -> Result<(), String> {
        if let (Reply::Refused { code, message }, true) = (&self.last, name != "expect_error") {
            return Err(format!("the step before was refused: {code}: {message}"));
        }
        match name {
            "note" => Ok(()),
            "expect" => {
                let patterns = value.as_array().ok_or("`expect` takes an array")?;
                let order = if self.variant == Variant::Whole { Order::Strict } else { Order::PerStream };
                pattern::expect(patterns, std::mem::take(&mut self.pending), &mut self.env, order)
            }
            "expect_error" => self.expect_error(value),
            "expect_text" => {
                let Reply::Text(text) = &self.last else { return Err("no text came".to_owned()) };
                let parsed = Json::parse(text).unwrap_or_else(|_| Json::string(text.clone()));
                let pattern = self.env.fill(value)?;
                pattern::matches(&pattern, &parsed, &mut self.env, "")
            }
            "advance" => self.advance(value.as_u64().ok_or("`advance` takes milliseconds")?),
            "by" => {
                let chosen = self.env.choose(value).cloned().unwrap_or_else(|| Json::Array(Vec::new()));
                self.steps(chosen.as_array().ok_or("`by` takes steps")?)
            }
            "times" => {
                let [count, Json::Array(steps)] = value.as_array().unwrap_or_default() else {
                    return Err("`times` takes a count and steps".to_owned());
                };
                for turn in 1..=count.as_u64().unwrap_or_default() {
                    self.env.bind("i", Json::int(turn));
                    self.steps(steps)?;
                }
                Ok(())
            }
            _ => self.command(name, value.as_array().ok_or("a command takes an array")?),
        }
    }

    fn expect_error(&mut self, value: &Json) -> Result<(), String> {
        match std::mem::replace(&mut self.last, Reply::Records(Vec::new())) {
            Reply::Refused { code, .. } => pattern::matches(value, &Json::string(code), &mut self.env, "error code"),
            _ => Err("it was not refused".to_owned()),
        }
    }

    /// Moves the clock, with a stop at each deadline on the way, as a host's timer does.
    fn advance(&mut self, millis: u64) -> Result<(), String> {
        let target = self.now + millis;
        for _ in 0..10_000 {
            if self.due == 0 || self.due > target {
                self.now = target;
                return Ok(());
            }
            self.now = self.now.max(self.due);
            self.command("timeout", &[])?;
        }
        Err("deadlines without end".to_owned())
    }

    fn command(&mut self, name: &str, args: &[Json]) -> Result<(), String> {
        let method = host::method(self.case.object, name).ok_or_else(|| format!("no step `{name}`"))?;
        if args.len() != method.args.len() {
            return Err(format!("`{name}` takes {} arguments", method.args.len()));
        }
        let letters = method.args.chars();
        let args =
            args.iter().zip(letters).map(|(arg, letter)| self.arg(arg, letter)).collect::<Result<Vec<_>, _>>()?;
        let cut = args.iter().position(|arg| matches!(arg, Arg::Bytes(_))).filter(|_| is_cut(self.case.object, name));
        let Some(at) = cut else { return self.call(method, vec![args]) };
        let Arg::Bytes(whole) = args[at].clone() else { return Ok(()) };
        let cut = |piece| {
            let mut args = args.clone();
            args[at] = Arg::Bytes(piece);
            args
        };
        self.call(method, self.variant.cut(&whole).into_iter().map(cut).collect())
    }

    fn arg(&self, value: &Json, letter: char) -> Result<Arg, String> {
        if letter == 'b' {
            return bytes::eval(value, &self.env).map(Arg::Bytes);
        }
        let value = self.env.fill(value)?;
        match (letter, value) {
            ('i', Json::String(text)) => text.parse().map(Arg::Int).map_err(|_| format!("`{text}` is no number")),
            ('i', value) => value.as_u64().map(Arg::Int).ok_or_else(|| format!("{value} is no number")),
            (_, Json::String(text)) => Ok(Arg::Text(text)),
            (_, value) => Ok(Arg::Text(value.to_string())),
        }
    }

    /// Calls a method, once for each list of arguments. A refusal among several counts, whatever came after it.
    fn call(&mut self, method: &'static Method, mut lists: Vec<Vec<Arg>>) -> Result<(), String> {
        if method.now {
            lists.iter_mut().for_each(|args| args.push(Arg::Int(self.now)));
        }
        let replies = self.host.calls(method, &lists)?;
        self.last = Reply::Records(Vec::new());
        for (args, reply) in lists.iter().zip(replies) {
            if let Some(tap) = &mut self.tap {
                tap.hear(method.name, args, &reply);
            }
            self.invariants.watch(method.name, args, &reply)?;
            if let Reply::Records(records) = &reply {
                if let Some(wait) = records.iter().rfind(|record| record.kind == "wait") {
                    self.due = wait.until;
                }
                self.pending.extend(records.iter().cloned());
            }
            self.outcome.replies.push(reply.clone());
            if !matches!(self.last, Reply::Refused { .. }) {
                self.last = reply;
            }
        }
        Ok(())
    }
}

fn brief(value: &Json) -> String {
    let text = value.to_string();
    text.chars().take(300).collect()
}
