//! Arguments as models send them: numbers as text, a single value instead of a list, a list as text. The types that
//! parse them accept all of these; their schema shows the preferred form.

use std::borrow::Cow;

use remora_core::memory::ObservationType;
use remora_search::Mode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Parses the arguments of a tool. `hint` is an example call.
pub(crate) fn read<T: DeserializeOwned>(arguments: Map<String, Value>, hint: &str) -> Result<T, Failure> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner();
        // An error about the object as a whole names its member itself.
        let message = if path == "." { reason.to_string() } else { format!("`{path}`: {reason}") };
        Failure::new(message, format!("such as {hint}"))
    })
}

/// A single argument, or an item of a list.
pub(crate) trait Item: Sized {
    /// Characters that separate several items in one text.
    const SEPARATORS: &[char];

    fn of(text: &str) -> Result<Self, String>;

    fn schema() -> Schema;
}

/// Reads a text or a number as text.
fn text(value: &Value) -> Result<Cow<'_, str>, String> {
    match value {
        Value::String(text) => Ok(text.as_str().into()),
        Value::Number(number) => Ok(number.to_string().into()),
        other => Err(format!("expected a text, not {}", shown(other))),
    }
}

/// A whole number as some models write it: `100.0`.
fn whole(text: &str) -> &str {
    let digits = text.strip_suffix(".0");
    digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or(text)
}

/// A short form of a value for errors.
fn shown(value: &Value) -> String {
    remora_core::text::one_line(&value.to_string(), 60)
}

/// A single value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct One<T>(pub(crate) T);

impl<'de, T: Item> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let single = match &value {
            // A list with one element counts as that element.
            Value::Array(list) if list.len() == 1 => &list[0],
            other => other,
        };
        text(single).and_then(|text| T::of(text.trim())).map(Self).map_err(D::Error::custom)
    }
}

impl<T: Item> JsonSchema for One<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "One".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

/// A list, or a single value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Item> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        items(&Value::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

fn items<T: Item>(value: &Value) -> Result<Vec<T>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(list) => {
            let all: Result<Vec<Vec<T>>, String> = list.iter().map(|item| of_text(&text(item)?)).collect();
            Ok(all?.into_iter().flatten().collect())
        }
        other => {
            let text = text(other)?;
            // Some models send a list as text.
            match serde_json::from_str::<Value>(&text) {
                Ok(list @ Value::Array(_)) => items(&list),
                _ => of_text(&text),
            }
        }
    }
}

fn of_text<T: Item>(text: &str) -> Result<Vec<T>, String> {
    text.split(T::SEPARATORS).map(str::trim).filter(|text| !text.is_empty()).map(T::of).collect()
}

impl<T: Item> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "List".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": T::schema() })
    }
}

impl Item for String {
    const SEPARATORS: &[char] = &[];

    fn of(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// The id of a record: `123`, `#123`, `s12`, `#t34`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id(pub(crate) String);

impl Item for Id {
    const SEPARATORS: &[char] = &[',', ' ', '\n', '\t'];

    fn of(text: &str) -> Result<Self, String> {
        Ok(Self(whole(text.trim_start_matches('#')).to_owned()))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl Item for u32 {
    const SEPARATORS: &[char] = &[','];

    fn of(text: &str) -> Result<Self, String> {
        whole(text)
            .parse()
            .map_err(|_| format!("`{}` is not a whole number", remora_core::text::one_line(text, 40)))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer" })
    }
}

impl Item for ObservationType {
    const SEPARATORS: &[char] = &[','];

    fn of(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{}` is not a type; use one of {names}", remora_core::text::one_line(text, 40))
        })
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::name) })
    }
}

impl Item for Mode {
    const SEPARATORS: &[char] = &[','];

    fn of(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(text));
        named.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{}` is not a mode; use one of {names}", remora_core::text::one_line(text, 40))
        })
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::name) })
    }
}

/// A boolean, also as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flag(pub(crate) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self(false)),
            Value::Bool(flag) => Ok(Self(flag)),
            Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(Self(true)),
            Value::String(text) if text.eq_ignore_ascii_case("false") || text.is_empty() => Ok(Self(false)),
            other => Err(D::Error::custom(format!("expected true or false, not {}", shown(&other)))),
        }
    }
}

impl JsonSchema for Flag {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Flag".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

/// An optional text; an empty one counts as missing.
pub(crate) fn given(text: Option<One<String>>) -> Option<String> {
    text.map(|One(text)| text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list<T: Item>(value: &Value) -> Result<Vec<T>, String> {
        items(value)
    }

    #[test]
    fn every_form_of_a_list_is_parsed() {
        let ids = |value: Value| -> Vec<String> {
            list::<Id>(&value).unwrap().into_iter().map(|Id(id)| id).collect()
        };
        for value in [
            json!(["12", "#s3", 7]),
            json!("12, #s3, 7"),
            json!("[\"12\", \"s3\", 7]"),
            json!(["12,s3", "#7"]),
            json!("#12 #s3 #7.0"),
        ] {
            assert_eq!(ids(value.clone()), ["12", "s3", "7"], "{value}");
        }
        assert_eq!(ids(json!(12)), ["12"]);
        assert_eq!(ids(json!(null)), [""; 0]);
        let facts = list::<String>(&json!("one, two and three")).unwrap();
        assert_eq!(facts, ["one, two and three"], "a sentence is not split");
        assert!(list::<Id>(&json!({"id": 1})).unwrap_err().contains("expected a text"));
        assert!(list::<ObservationType>(&json!("bug")).unwrap_err().contains("bugfix"));
    }

    #[test]
    fn a_number_may_be_sent_as_text() {
        let number = |value: Value| serde_json::from_value::<One<u32>>(value).map(|One(number)| number);
        for value in [json!(5), json!("5"), json!(" 5 "), json!(5.0), json!(["5"])] {
            assert_eq!(number(value.clone()).unwrap(), 5, "{value}");
        }
        for value in [json!(-5), json!("many"), json!(5.5), json!({}), json!(true)] {
            assert!(number(value.clone()).is_err(), "{value}");
        }
    }
}
