//! JSON text: checked once as it comes in, kept raw afterwards.
//!
//! Nothing here builds a tree. [`Scanner`] walks text and proves that it is JSON which every host language can read
//! (bounded nesting, no lone surrogate, no number beyond a double's range); [`Members`] and [`Elements`] walk text that
//! was proved before. Both hand out slices of the text they were given.

mod fingerprint;
mod scanner;
mod text;
mod walk;
mod write;

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::ops::Deref;

pub use fingerprint::{fingerprint, same};
pub use scanner::{MAX_NESTING, Scanner};
pub(crate) use text::push_line;
pub use text::{one_line, push_string, quote, unescape};
pub use walk::{
    Elements, Members, elements, get, get_string, integer, is_array, is_object, is_string, members, pick, string,
};
pub use write::{Object, array};

/// Why text is not acceptable JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Not JSON at all.
    Syntax,
    /// Not UTF-8.
    Utf8,
    /// A string holds half of a surrogate pair, which is no Unicode text.
    Surrogate,
    /// Nested deeper than the limit.
    Nesting,
    /// A number beyond the range of a double: most hosts would read infinity.
    NumberRange,
    /// A member occurs twice where that would make the meaning depend on the reader.
    Duplicate,
}

impl Fault {
    /// The stable word for this fault.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Syntax => "json_syntax",
            Self::Utf8 => "json_utf8",
            Self::Surrogate => "json_surrogate",
            Self::Nesting => "json_nesting",
            Self::NumberRange => "json_number_range",
            Self::Duplicate => "json_duplicate",
        }
    }

    /// A sentence for people.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Syntax => "the text is not valid JSON",
            Self::Utf8 => "the text is not valid UTF-8",
            Self::Surrogate => "a string holds a lone surrogate escape",
            Self::Nesting => "the value is nested too deeply",
            Self::NumberRange => "a number is beyond the range of a double",
            Self::Duplicate => "a member occurs twice",
        }
    }
}

/// Owned JSON text that was checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Raw(String);

impl Raw {
    /// Checks `text` and keeps it.
    ///
    /// # Errors
    /// The first fault found.
    pub fn parse(text: &str, nesting: usize) -> Result<Self, Fault> {
        check(text, nesting)?;
        Ok(Self(text.to_owned()))
    }

    /// Text that is known to be JSON: made by us, or a slice of something checked.
    #[must_use]
    pub fn trusted(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Deref for Raw {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl serde::Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = alloc::boxed::Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Ok(Self(alloc::boxed::Box::<str>::from(raw).into_string()))
    }
}

/// Checks that `text` is one JSON value and nothing else.
///
/// # Errors
/// The first fault found.
pub fn check(text: &str, nesting: usize) -> Result<(), Fault> {
    let mut scanner = Scanner::new(text.as_bytes(), nesting);
    scanner.value()?;
    scanner.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn accepts_json_and_refuses_the_rest() {
        for good in [
            "{}",
            "[]",
            " 1 ",
            "-0.5e-3",
            "\"\\ud83e\\udd80\"",
            "[1,{\"a\":[]},null,true,false]",
            "18446744073709551615",
        ] {
            assert_eq!(check(good, 64), Ok(()), "{good}");
        }
        for (bad, fault) in [
            ("", Fault::Syntax),
            ("{", Fault::Syntax),
            ("[1,]", Fault::Syntax),
            ("{\"a\":1,}", Fault::Syntax),
            ("[1}", Fault::Syntax),
            ("01", Fault::Syntax),
            ("1.", Fault::Syntax),
            ("-", Fault::Syntax),
            ("1 2", Fault::Syntax),
            ("\"\n\"", Fault::Syntax),
            ("\"\\x\"", Fault::Syntax),
            ("nul", Fault::Syntax),
            ("1e400", Fault::NumberRange),
            ("\"\\ud800\"", Fault::Surrogate),
            ("\"\\udc00\"", Fault::Surrogate),
            ("\"\\ud800\\u0041\"", Fault::Surrogate),
            ("[[[[", Fault::Nesting),
        ] {
            assert_eq!(check(bad, 3), Err(fault), "{bad}");
        }
    }

    #[test]
    fn numbers_end_where_doubles_end() {
        let infinite = "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709\
            633028641669288791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027006985557\
            1366959622842914819860834936475292719074168444365510704342711559699508093042880177904174497792";
        let below = infinite.replace("4497792", "4497791");
        assert_eq!((infinite.parse(), below.parse()), (Ok(f64::INFINITY), Ok(f64::MAX)));
        let numbers = [
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "0.0000017976931348623157e314",
        ];
        let others = [
            "-1.8e308",
            "0.0e999",
            "0e400",
            "1e-999",
            "1e308",
            "10e308",
            "99999999999999999999e-99999999999999999999",
            "1e99999999999999999999",
        ];
        for number in numbers.into_iter().chain(others).chain([infinite, &below]) {
            let finite = number.parse::<f64>().is_ok_and(f64::is_finite);
            assert_eq!(check(number, 1).is_ok(), finite, "{number}");
        }
    }

    #[test]
    fn members_and_elements_are_slices() {
        let object = r#" { "a" : 1 , "b\n" : [ 2 , { } ] } "#;
        let found: Vec<_> = members(object).map(|(key, value)| (key.into_owned(), value)).collect();
        assert_eq!(found, [("a".to_owned(), "1"), ("b\n".to_owned(), "[ 2 , { } ]")]);
        assert_eq!(elements("[1,\"x\"]").collect::<Vec<_>>(), ["1", "\"x\""]);
        assert_eq!(members("[1]").count(), 0);
    }

    #[test]
    fn strings_come_back() {
        let text = "grüß \u{1F980} \u{0}\n\"\\/";
        assert_eq!(string(&quote(text)).as_deref(), Some(text));
        assert_eq!(unescape("\\ud83e\\udd80\\/"), "\u{1F980}/");
    }

    #[test]
    fn same_ignores_order_only() {
        assert!(same(r#"{"a":1,"b":[2]}"#, r#"{ "b":[ 2 ], "a":1 }"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":2}"#));
        assert!(same(r#""\u0041""#, r#""A""#));
    }
}
