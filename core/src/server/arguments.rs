//! The plain part of JSON Schema that nearly every tool uses, compiled once and checked on the raw text: `type`,
//! `required`, `properties`, `items`, `prefixItems`, `enum`, `const`, `additionalProperties: false`, `minimum`, `maximum` and
//! their exclusive twins, `anyOf` and `oneOf` (one that fits is enough), and `$ref` to the schema's own definitions. Other
//! keywords are left to the handler.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::json::{self, Raw};

/// Schemas deeper than this are not looked into.
const DEPTH: usize = 64;

/// Values deeper than this are left to the handler.
const LEVELS: usize = 32;
/// Nodes of schemas that one check looks at, long values counting more; then it gives up and refuses.
const WORK: u32 = 1_000_000;
/// References followed without going deeper into the value.
const HOPS: usize = 16;

/// A compiled schema with its definitions.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    root: Node,
    /// By the reference that names them.
    definitions: Vec<(String, Node)>,
}

/// One schema inside; an empty one takes anything.
#[derive(Debug, Default)]
struct Node {
    /// The definition that has to fit too.
    reference: Option<String>,
    /// Kinds of values that fit; none for all.
    kinds: Option<Vec<Kind>>,
    required: Vec<String>,
    properties: Vec<(String, Self)>,
    /// Members besides the properties are refused.
    closed: bool,
    items: Option<Box<Self>>,
    /// For the first elements; `items` speaks of the rest then.
    prefix: Vec<Self>,
    choices: Option<Vec<Raw>>,
    /// One of these has to fit, where there are any.
    branches: Vec<Self>,
    /// Bounds of a number: keyword, and whether a value keeps it.
    bounds: Vec<(&'static str, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
    String,
    Number,
    Integer,
    Boolean,
    Null,
}

const KINDS: [(&str, Kind); 7] = [
    ("object", Kind::Object),
    ("array", Kind::Array),
    ("string", Kind::String),
    ("number", Kind::Number),
    ("integer", Kind::Integer),
    ("boolean", Kind::Boolean),
    ("null", Kind::Null),
];

/// A bound of numbers: its keyword, whether a value keeps it, and what to say when it does not.
type Bound = (&'static str, fn(f64, f64) -> bool, &'static str);

const BOUNDS: [Bound; 4] = [
    ("minimum", |value, bound| value >= bound, "at least"),
    ("maximum", |value, bound| value <= bound, "at most"),
    ("exclusiveMinimum", |value, bound| value > bound, "more than"),
    ("exclusiveMaximum", |value, bound| value < bound, "less than"),
];

impl Schema {
    /// Compiles what it knows of a schema; what it does not know takes anything.
    pub(crate) fn compile(text: &str) -> Self {
        let mut definitions = Vec::new();
        for keyword in ["$defs", "definitions"] {
            for (name, definition) in json::members(json::get(text, keyword).unwrap_or("{}")) {
                let place = format!("#/{keyword}/{}", name.replace('~', "~0").replace('/', "~1"));
                definitions.push((place, compile(definition, 0)));
            }
        }
        Self { root: compile(text, 0), definitions }
    }

    /// The first thing wrong with `value`, in one sentence that names where; nothing when it fits.
    pub(crate) fn check(&self, value: &str) -> Option<String> {
        self.fault(&self.root, value, &mut Place { path: String::new(), levels: 0, work: WORK })
    }

    fn fault(&self, schema: &Node, value: &str, at: &mut Place) -> Option<String> {
        // Every level is one more walk over what is inside, every branch another; a schema that names itself must not make
        // many of them.
        at.work = at.work.saturating_sub(1 + u32::try_from(value.len() / 256).unwrap_or(u32::MAX));
        if at.work == 0 {
            return Some(format!("{}: it takes too long to check", at.name()));
        }
        if at.levels > LEVELS {
            return None;
        }
        // What a reference names has to fit as well; one that leads in a circle says nothing.
        let mut named = schema.reference.as_ref();
        for _ in 0..HOPS {
            let Some(place) = named else { break };
            let Some((_, definition)) = self.definitions.iter().find(|(known, _)| known == place) else { break };
            named = definition.reference.as_ref();
            if let Some(found) = self.fault_here(definition, value, at) {
                return Some(found);
            }
        }
        self.fault_here(schema, value, at)
    }

    fn fault_here(&self, schema: &Node, value: &str, at: &mut Place) -> Option<String> {
        if let Some(kinds) = schema.kinds.as_deref().filter(|kinds| !kinds.iter().any(|kind| is(*kind, value))) {
            return Some(format!("{}: {} is not {}", at.name(), excerpt(value), readable(kinds)));
        }
        if let Some(choices) =
            schema.choices.as_deref().filter(|all| !all.iter().any(|choice| json::same(choice, value)))
        {
            let list = json::array(choices.iter().map(|choice| &**choice));
            return Some(format!("{}: {} is none of {}", at.name(), excerpt(value), excerpt(&list)));
        }
        for (keyword, bound) in &schema.bounds {
            let Some((_, keeps, words)) = BOUNDS.iter().find(|(known, ..)| known == keyword) else { continue };
            if value.trim().parse().is_ok_and(|number: f64| !keeps(number, *bound)) {
                return Some(format!("{}: {} is not {words} {bound}", at.name(), excerpt(value)));
            }
        }
        if !schema.branches.is_empty() {
            let mut faults = Vec::new();
            for branch in &schema.branches {
                faults.extend(self.fault(branch, value, at));
            }
            // The first speaks for all when none fits: `null` says the least, and mostly stands last.
            if faults.len() == schema.branches.len() {
                return faults.into_iter().next();
            }
        }
        if json::is_object(value) {
            return self.members_fault(schema, value, at);
        }
        if !json::is_array(value) {
            return None;
        }
        json::elements(value).enumerate().find_map(|(index, element)| {
            let items = schema.prefix.get(index).or(schema.items.as_deref())?;
            deeper(at, &index.to_string(), |at| self.fault(items, element, at))
        })
    }

    fn members_fault(&self, schema: &Node, value: &str, at: &mut Place) -> Option<String> {
        let mut missing: Vec<&str> = schema.required.iter().map(String::as_str).collect();
        let (mut found, mut seen) = (None, 0u64);
        for (name, member) in json::members(value) {
            missing.retain(|required| *required != name);
            if found.is_some() {
                continue;
            }
            let property = schema.properties.iter().position(|(known, _)| *known == name);
            // Readers disagree about which of two counts, so there must be one. Bits suffice: few tools have more properties.
            let bit = property.filter(|at| *at < 64).map_or(0u64, |at| 1 << at);
            let twice = seen & bit != 0;
            seen |= bit;
            found = match property.map(|at| &schema.properties[at].1) {
                _ if twice => Some(format!("{}: `{name}` is there twice", at.name())),
                Some(property) => deeper(at, &name, |at| self.fault(property, member, at)),
                None if schema.closed => Some(format!("{}: `{name}` is not expected", at.name())),
                None => None,
            };
        }
        missing.first().map(|name| format!("{}: `{name}` is required", at.name())).or(found)
    }
}

fn compile(text: &str, depth: usize) -> Node {
    let mut schema = Node::default();
    if depth > DEPTH {
        return schema;
    }
    let mut patterns = false;
    for (keyword, value) in json::members(text) {
        match &*keyword {
            "$ref" => schema.reference = json::string(value).map(alloc::borrow::Cow::into_owned),
            "type" => {
                let kind = |name: &str| KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
                schema.kinds = match json::string(value) {
                    Some(name) => kind(&name).map(|kind| Vec::from([kind])),
                    None => json::elements(value).map(|name| kind(&json::string(name)?)).collect(),
                };
            }
            "required" => schema.required = json::elements(value).filter_map(json::string).map(Into::into).collect(),
            "properties" => {
                let property =
                    |(name, value): (alloc::borrow::Cow<'_, str>, &str)| (name.into_owned(), compile(value, depth + 1));
                schema.properties = json::members(value).map(property).collect();
            }
            "additionalProperties" => schema.closed = value == "false",
            "patternProperties" => patterns = true,
            "prefixItems" => schema.prefix = json::elements(value).map(|item| compile(item, depth + 1)).collect(),
            "anyOf" | "oneOf" => schema.branches.extend(json::elements(value).map(|branch| compile(branch, depth + 1))),
            "items" if json::is_object(value) => schema.items = Some(Box::new(compile(value, depth + 1))),
            "enum" => schema.choices = Some(json::elements(value).map(Raw::trusted).collect()),
            "const" => schema.choices = Some(Vec::from([Raw::trusted(value)])),
            keyword => {
                let bound = BOUNDS.iter().find(|(known, ..)| *known == keyword);
                schema.bounds.extend(bound.and_then(|(known, ..)| Some((*known, value.trim().parse().ok()?))));
            }
        }
    }
    // What is not understood is not refused: patterns may let a member in.
    schema.closed &= !patterns;
    schema
}

/// Where in the value a check is, and how much it may still do.
struct Place {
    /// A JSON pointer.
    path: String,
    levels: usize,
    work: u32,
}

impl Place {
    fn name(&self) -> &str {
        if self.path.is_empty() { "the value" } else { &self.path }
    }
}

fn deeper(at: &mut Place, step: &str, check: impl FnOnce(&mut Place) -> Option<String>) -> Option<String> {
    let length = at.path.len();
    at.path.push('/');
    if step.contains(['~', '/']) {
        at.path.push_str(&step.replace('~', "~0").replace('/', "~1"));
    } else {
        at.path.push_str(step);
    }
    at.levels += 1;
    let found = check(at);
    at.levels -= 1;
    at.path.truncate(length);
    found
}

fn is(kind: Kind, value: &str) -> bool {
    let value = value.trim();
    match (kind, value.as_bytes().first()) {
        (Kind::Object, Some(b'{')) | (Kind::Array, Some(b'[')) | (Kind::String, Some(b'"')) => true,
        (Kind::Null, Some(b'n')) | (Kind::Boolean, Some(b't' | b'f')) | (Kind::Number, Some(b'-' | b'0'..=b'9')) => {
            true
        }
        (Kind::Integer, Some(b'-' | b'0'..=b'9')) => is_whole(value),
        _ => false,
    }
}

/// Whether a JSON number has no fraction, whatever its size: `3.0` and `1.5e1` have none.
fn is_whole(number: &str) -> bool {
    let lower = number.to_ascii_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let exponent: i64 = exponent.parse().unwrap_or(0);
    if exponent >= 0 {
        return i64::try_from(fraction.len()).is_ok_and(|digits| digits <= exponent);
    }
    let digits = whole.trim_start_matches('-');
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let all_zero = digits.bytes().all(|digit| digit == b'0');
    fraction.is_empty() && (all_zero || i64::try_from(zeros).is_ok_and(|zeros| zeros >= -exponent))
}

fn readable(kinds: &[Kind]) -> String {
    let name = |kind: &Kind| KINDS.iter().find(|(_, known)| known == kind).map_or("", |(name, _)| *name);
    match kinds {
        [kind @ (Kind::Integer | Kind::Array | Kind::Object)] => format!("an {}", name(kind)),
        [kind] => format!("a {}", name(kind)),
        several => format!("one of {}", several.iter().map(name).collect::<Vec<_>>().join(", ")),
    }
}

/// As much of a value as a sentence can bear.
fn excerpt(value: &str) -> String {
    let value = value.trim();
    if value.chars().count() <= 40 {
        String::from(value)
    } else {
        format!("{}…", value.chars().take(40).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where() {
        let schema = r#"{"type":"object","required":["days"],"additionalProperties":false,
            "properties":{"days":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}},"unit":{"enum":["c","f"]}}}"#;
        let compiled = Schema::compile(schema);
        let says = |value: &str| compiled.check(value);
        for good in [
            r#"{"days":3}"#,
            r#"{"days":3.0}"#,
            r#"{"days":1e2,"tags":["a"]}"#,
            r#"{"days":18446744073709551615,"unit":"c"}"#,
        ] {
            assert_eq!(says(good), None, "{good}");
        }
        assert_eq!(says(r#"{"days":3.5}"#).as_deref(), Some("/days: 3.5 is not an integer"));
        assert_eq!(says(r#"{"days":"3"}"#).as_deref(), Some("/days: \"3\" is not an integer"));
        assert_eq!(says("{}").as_deref(), Some("the value: `days` is required"));
        assert_eq!(says(r#"{"days":1,"tags":[1]}"#).as_deref(), Some("/tags/0: 1 is not a string"));
        assert_eq!(says(r#"{"days":1,"x":1}"#).as_deref(), Some("the value: `x` is not expected"));
        assert!(says(r#"{"days":1,"unit":"k"}"#).is_some());
        assert_eq!(says(r#"{"days":1,"days":2}"#).as_deref(), Some("the value: `days` is there twice"));
        assert!(says(r#"{"days":null}"#).is_some());
        let open = r#"{"additionalProperties":false,"patternProperties":{"^x-":{}}}"#;
        assert_eq!(Schema::compile(open).check(r#"{"x-a":1}"#), None, "what is not understood is not refused");
        let rest = Schema::compile(r#"{"prefixItems":[{}],"items":{"type":"null"}}"#);
        assert_eq!(rest.check("[1]"), None);
    }

    #[test]
    fn branches_and_bounds() {
        let schema = Schema::compile(
            r#"{"properties":{"name":{"anyOf":[{"type":"string"},{"type":"null"}]},"n":{"type":"integer","minimum":1},
                "pair":{"prefixItems":[{"type":"integer"},{"type":"string"}]}}}"#,
        );
        for good in [r#"{"name":"x","n":1,"pair":[1,"a"]}"#, r#"{"name":null,"pair":[1]}"#] {
            assert_eq!(schema.check(good), None, "{good}");
        }
        assert_eq!(schema.check(r#"{"name":5}"#).as_deref(), Some("/name: 5 is not a string"));
        assert_eq!(schema.check(r#"{"n":0}"#).as_deref(), Some("/n: 0 is not at least 1"));
        assert_eq!(schema.check(r#"{"pair":["a"]}"#).as_deref(), Some("/pair/0: \"a\" is not an integer"));
    }

    #[test]
    fn a_schema_that_multiplies_is_bounded() {
        let twice = r##"{"$ref":"#/$defs/T","$defs":{"T":{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/T"}},"required":["b"]},
            {"properties":{"a":{"$ref":"#/$defs/T"}},"required":["c"]}]}}}"##;
        let mut value = String::from("{}");
        for _ in 0..30 {
            value = format!(r#"{{"a":{value}}}"#);
        }
        assert!(Schema::compile(twice).check(&value).is_some());
    }

    #[test]
    fn definitions_are_followed() {
        let schema = Schema::compile(
            r##"{"properties":{"to":{"$ref":"#/$defs/Address"},"loop":{"$ref":"#/$defs/Loop"}},
                "$defs":{"Address":{"type":"object","properties":{"street":{"type":"string"},"next":{"$ref":"#/$defs/Address"}}},
                "Loop":{"$ref":"#/$defs/Loop"}}}"##,
        );
        assert_eq!(schema.check(r#"{"to":{"street":"x","next":{"street":"y"}},"loop":1}"#), None);
        assert_eq!(schema.check(r#"{"to":{"street":4}}"#).as_deref(), Some("/to/street: 4 is not a string"));
        assert_eq!(schema.check(r#"{"to":{"next":{"next":3}}}"#).as_deref(), Some("/to/next/next: 3 is not an object"));
    }

    #[test]
    fn whole_numbers_of_any_size() {
        for whole in ["0", "-0", "3.0", "1.5e1", "10e-1", "100.00E-2", "9007199254740993"] {
            assert!(is_whole(whole), "{whole}");
        }
        for broken in ["0.5", "1e-1", "15e-1", "1.25e1"] {
            assert!(!is_whole(broken), "{broken}");
        }
    }
}
