//! Parameters, body and path of a request, as types that also describe themselves.
//!
//! A handler takes [`Query`], [`JsonBody`] and [`PathId`]. The router derives the OpenAPI document from its
//! signature.

use std::borrow::Cow;
use std::fmt;

use axum::extract;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use remora_app::records::record_id;
use remora_core::document::{RecordId, RecordKind};
use remora_core::fact::FactKind;
use remora_core::host::Host;
use remora_core::ids::ObservationId;
use remora_core::memory::ObservationType;
use remora_search::{Mode, Sort};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{SeqDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use super::error::ApiError;
use super::read_body;

const DOCUMENTED: &str = "docs/http.md and `GET /api/openapi.json` list the parameters";

/// The query parameters. Unknown ones are rejected by the type, because a mistyped filter would return too
/// much.
#[derive(Debug)]
pub(super) struct Query<P>(pub(super) P);

impl<S: Sync, P: DeserializeOwned> FromRequestParts<S> for Query<P> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let extract::Query(pairs) = extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)?;
        Ok(Self(P::deserialize(Pairs::from(pairs))?))
    }
}

/// A request body, with a hint that shows its format.
pub(super) trait Body: DeserializeOwned {
    const HINT: &'static str;
}

/// The body of a request, as JSON. An empty one counts as `{}`.
#[derive(Debug)]
pub(super) struct JsonBody<B>(pub(super) B);

impl<S: Sync, B: Body> FromRequest<S> for JsonBody<B> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = read_body(request).await?;
        let text = if bytes.is_empty() { b"{}".as_slice() } else { &bytes };
        let read = serde_json::from_slice(text);
        read.map(Self).map_err(|error| ApiError::invalid(error.to_string(), B::HINT))
    }
}

/// The name in a path, such as the id of an observation.
#[derive(Debug)]
pub(super) struct PathId(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read: Result<Path<String>, PathRejection> = Path::from_request_parts(parts, state).await;
        let Path(name) = read.map_err(|error| ApiError::NotFound(error.body_text()))?;
        Ok(Self(name))
    }
}

/// No parameters, for handlers that take none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// The id of a record in a body. Responses have ids of observations as numbers, so both are accepted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RecordName {
    Text(String),
    Number(i64),
}

impl From<RecordName> for String {
    fn from(name: RecordName) -> Self {
        match name {
            RecordName::Text(text) => text,
            RecordName::Number(number) => number.to_string(),
        }
    }
}

/// A number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Within<const MIN: u32, const MAX: u32>(pub(super) u32);

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = String::deserialize(deserializer)?.trim().parse().ok();
        let number = number.filter(|number| (MIN..=MAX).contains(number));
        number.map(Self).ok_or_else(|| D::Error::custom(format!("expected {MIN} to {MAX}")))
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Within<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("From{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// A value that is written as a single word.
pub(super) trait Word: JsonSchema + Sized {
    /// A description of the words, if there are too many to list.
    const LIKE: &'static str = "a text";

    fn read(word: &str) -> Option<Self>;

    /// All possible words; empty if there are too many.
    fn all() -> Vec<&'static str> {
        Vec::new()
    }
}

impl Word for String {
    fn read(word: &str) -> Option<Self> {
        Some(word.to_owned())
    }
}

impl Word for Host {
    const LIKE: &'static str = "the name of a program, such as codex";

    fn read(word: &str) -> Option<Self> {
        Self::named(word)
    }
}

impl Word for RecordId {
    const LIKE: &'static str = "an id that search gave, such as 12, s3 or t4";

    fn read(word: &str) -> Option<Self> {
        record_id(word)
    }
}

impl Word for ObservationId {
    const LIKE: &'static str = "numbers, such as 12,15";

    fn read(word: &str) -> Option<Self> {
        word.trim_start_matches('#').parse().ok().map(Self)
    }
}

impl Word for ObservationType {
    fn read(word: &str) -> Option<Self> {
        Self::named(word)
    }

    fn all() -> Vec<&'static str> {
        Self::ALL.map(Self::name).to_vec()
    }
}

impl Word for FactKind {
    fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }

    fn all() -> Vec<&'static str> {
        Self::ALL.map(Self::name).to_vec()
    }
}

impl Word for RecordKind {
    fn read(word: &str) -> Option<Self> {
        Self::from_name(word)
    }

    fn all() -> Vec<&'static str> {
        Self::ALL.map(Self::name).to_vec()
    }
}

impl Word for Mode {
    fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == word)
    }

    fn all() -> Vec<&'static str> {
        Self::ALL.map(Self::name).to_vec()
    }
}

impl Word for Sort {
    fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.name() == word)
    }

    fn all() -> Vec<&'static str> {
        Self::ALL.map(Self::name).to_vec()
    }
}

fn read_word<T: Word, E: serde::de::Error>(word: &str) -> Result<T, E> {
    let expected = || match T::all() {
        known if known.is_empty() => T::LIKE.to_owned(),
        known => known.join(", "),
    };
    T::read(word.trim()).ok_or_else(|| E::custom(format!("expected {}", expected())))
}

fn schema_of<T: Word>(generator: &mut SchemaGenerator) -> Schema {
    match T::all() {
        known if known.is_empty() => generator.subschema_for::<T>(),
        known => json_schema!({ "type": "string", "enum": known }),
    }
}

/// One word.
#[derive(Debug)]
pub(super) struct One<T>(pub(super) T);

impl<'de, T: Word> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_word(&String::deserialize(deserializer)?).map(Self)
    }
}

impl<T: Word> JsonSchema for One<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema_of::<T>(generator)
    }
}

/// A list of words, separated by commas or sent as repeated parameters.
#[derive(Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Word> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sent = Vec::<String>::deserialize(deserializer)?;
        let words = sent.iter().flat_map(|sent| sent.split(',')).filter(|word| !word.trim().is_empty());
        words.map(read_word).collect::<Result<_, _>>().map(Self)
    }
}

impl<T: Word> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": schema_of::<T>(generator) })
    }
}

/// Why the parameters could not be parsed.
#[derive(Debug, PartialEq)]
enum Wrong {
    /// What was expected of a value. The caller adds the name of the parameter.
    Value(String),
    Parameter {
        name: String,
        value: String,
        expected: String,
    },
    Unknown(String),
    Missing(&'static str),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(expected) => f.write_str(expected),
            Self::Parameter { name, value, .. } => write!(f, "{name} is `{value}`"),
            Self::Unknown(name) => write!(f, "there is no parameter `{name}`"),
            Self::Missing(name) => write!(f, "{name} is missing"),
        }
    }
}

impl std::error::Error for Wrong {}

impl serde::de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Value(message.to_string())
    }

    fn unknown_field(name: &str, _: &'static [&'static str]) -> Self {
        Self::Unknown(name.to_owned())
    }

    fn missing_field(name: &'static str) -> Self {
        Self::Missing(name)
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::Value(format!("{name} comes twice"))
    }
}

impl From<Wrong> for ApiError {
    fn from(wrong: Wrong) -> Self {
        let hint = match &wrong {
            Wrong::Parameter { expected, .. } => expected.clone(),
            _ => DOCUMENTED.to_owned(),
        };
        Self::invalid(wrong.to_string(), hint)
    }
}

/// The parameters as a map from each name to all of its values.
struct Pairs {
    left: std::vec::IntoIter<(String, Vec<String>)>,
    current: Option<(String, Vec<String>)>,
}

impl From<Vec<(String, String)>> for Pairs {
    fn from(pairs: Vec<(String, String)>) -> Self {
        let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
        for (name, value) in pairs {
            match grouped.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => grouped.push((name, vec![value])),
            }
        }
        Self { left: grouped.into_iter(), current: None }
    }
}

impl<'de> Deserializer<'de> for Pairs {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Pairs {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        self.current = self.left.next();
        let Some((name, _)) = &self.current else { return Ok(None) };
        seed.deserialize::<StringDeserializer<Wrong>>(name.clone().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let (name, values) = self.current.take().unwrap_or_default();
        let value = values.join(", ");
        seed.deserialize(Values(values)).map_err(|wrong| match wrong {
            Wrong::Value(expected) => Wrong::Parameter { name, value, expected },
            other => other,
        })
    }
}

/// All values that were sent under one name.
struct Values(Vec<String>);

impl<'de> Deserializer<'de> for Values {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let Ok([one]) = <[String; 1]>::try_from(self.0) else {
            return Err(Wrong::custom("expected it once"));
        };
        visitor.visit_string(one)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_seq(SeqDeserializer::new(self.0.into_iter()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Parameters {
        #[serde(default)]
        r#type: List<ObservationType>,
        /// Values may contain commas.
        #[serde(default)]
        file: Vec<String>,
        limit: Option<Within<1, 100>>,
        mode: Option<One<Mode>>,
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Parameters, Wrong> {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Parameters::deserialize(Pairs::from(pairs))
    }

    #[test]
    fn parameters_are_read_into_a_type() {
        let read = read(&[
            ("type", "bugfix, decision"),
            ("file", "a,b.rs"),
            ("limit", " 7 "),
            ("type", "change"),
            ("file", "c"),
            ("mode", "text"),
        ]);
        let read = read.unwrap();
        assert_eq!(read.r#type.0.len(), 3);
        assert_eq!(read.file, ["a,b.rs", "c"]);
        assert_eq!(read.limit.unwrap().0, 7);
        assert_eq!(read.mode.unwrap().0, Mode::Text);
    }

    #[test]
    fn an_invalid_parameter_is_reported_with_what_was_expected() {
        for (name, value, expected) in [
            ("limit", "101", "expected 1 to 100"),
            ("limit", "many", "expected 1 to 100"),
            ("limit", "-1", "expected 1 to 100"),
            ("type", "bugfix,song", "expected bugfix, feature, refactor, change, discovery, decision"),
            ("mode", "guess", "expected auto, hybrid, semantic, text"),
        ] {
            let parameter =
                Wrong::Parameter { name: name.into(), value: value.into(), expected: expected.into() };
            assert_eq!(read(&[(name, value)]).unwrap_err(), parameter);
        }
        assert_eq!(read(&[("tpye", "bugfix")]).unwrap_err(), Wrong::Unknown("tpye".into()));
        assert!(matches!(read(&[("limit", "1"), ("limit", "2")]), Err(Wrong::Parameter { .. })));
    }
}
