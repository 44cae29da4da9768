//! Dates as people write them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Time;

/// A date as people write it: `2026-03-10T09:12:00Z`, `2026-03-10`, or seconds or milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(pub Time);

impl Date {
    fn parse(text: &str) -> Option<Self> {
        Time::from_iso(text).or_else(|| Time::from_iso(&format!("{text}T00:00:00Z"))).map(Self)
    }

    /// Smaller numbers are seconds: as milliseconds they would all be in 1970.
    const SECONDS: i64 = 20_000_000_000;

    fn of_number(number: i64) -> Self {
        Self(Time(if number.abs() < Self::SECONDS { number * 1000 } else { number }))
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.iso())
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Number(i64),
        }
        match Written::deserialize(deserializer).map_err(|_| D::Error::custom(NOT_A_DATE))? {
            Written::Text(text) => Self::parse(text.trim()).ok_or_else(|| D::Error::custom(NOT_A_DATE)),
            Written::Number(number) => Ok(Self::of_number(number)),
        }
    }
}

const NOT_A_DATE: &str =
    "a date is written as 2026-03-10T09:12:00Z or 2026-03-10, or as milliseconds since 1970";
