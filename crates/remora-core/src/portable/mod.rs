//! Memory as lines of JSON: the format that `remora export` writes and `remora import FILE` reads. `docs/import.md`
//! describes it for people who write their own.
//!
//! A line refers to its project by the uuid of an earlier line, by an absolute path, or by a name; to its session by
//! the uuid of an earlier line, or by any name. An unknown member is an error, so that a typo cannot silently lose
//! text.

mod date;
mod lines;
pub mod markdown;

pub use date::Date;
pub use lines::{
    FactLine, MessageLine, ObservationLine, ProjectLine, SessionLine, SessionStatus, SummaryLine,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::host::Host;
use crate::time::Time;

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    Project(ProjectLine),
    Session(SessionLine),
    Message(MessageLine),
    Observation(ObservationLine),
    Summary(SummaryLine),
    Fact(FactLine),
}

/// Where a record belongs. `None` means no particular project, channel or session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Belongs {
    pub project: Option<String>,
    pub channel: Option<Host>,
    pub session: Option<String>,
}

impl Line {
    /// Reads one line. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| mistake(text, &error))
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Project(_) => "project",
            Self::Session(_) => "session",
            Self::Message(_) => "message",
            Self::Observation(_) => "observation",
            Self::Summary(_) => "summary",
            Self::Fact(_) => "fact",
        }
    }

    pub fn uuid(&self) -> Option<Uuid> {
        match self {
            Self::Project(line) => line.uuid,
            Self::Session(line) => line.uuid,
            Self::Message(line) => line.uuid,
            Self::Observation(line) => line.uuid,
            Self::Summary(line) => line.uuid,
            Self::Fact(line) => line.uuid,
        }
    }

    pub fn date(&self) -> Option<Time> {
        let date = match self {
            Self::Project(line) => line.date,
            Self::Session(line) => line.date,
            Self::Message(line) => line.date,
            Self::Observation(line) => line.date,
            Self::Summary(line) => line.date,
            Self::Fact(line) => line.date,
        };
        date.map(|date| date.0)
    }

    /// Takes out the members that say where the record belongs.
    pub fn take_belongs(&mut self) -> Belongs {
        let (project, channel, session) = match self {
            Self::Project(_) => return Belongs::default(),
            Self::Session(line) => {
                return Belongs { project: line.project.take(), channel: line.channel, session: None };
            }
            Self::Message(line) => (&mut line.project, line.channel, &mut line.session),
            Self::Observation(line) => (&mut line.project, line.channel, &mut line.session),
            Self::Summary(line) => (&mut line.project, line.channel, &mut line.session),
            Self::Fact(line) => (&mut line.project, line.channel, &mut line.session),
        };
        Belongs { project: project.take(), channel, session: session.take() }
    }
}

/// Says what is wrong with a line, in words of the format and not of the parser.
fn mistake(text: &str, error: &serde_json::Error) -> String {
    const KINDS: &str = "project, session, message, observation, summary or fact";
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(error) if error.is_eof() => return "the JSON ends in the middle".to_owned(),
        Err(_) => return "it is not JSON".to_owned(),
    };
    let Value::Object(members) = value else { return "it is JSON, but not an object in braces".to_owned() };
    match members.get("kind") {
        None => return format!("it has no `kind`: {KINDS}"),
        Some(Value::String(_)) => {}
        Some(_) => return format!("its `kind` is not a text: {KINDS}"),
    }
    if let Some(channel) = members.get("channel").filter(|_| error.to_string().starts_with("unknown host")) {
        return format!(
            "{channel} is not a channel, which is a name of up to 32 small letters, digits, `.`, `-`, `_`"
        );
    }
    let error = error.to_string();
    // The column within a line says little, and the line number would always be 1.
    error.split(" at line ").next().unwrap_or(&error).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::FactSource;

    #[test]
    fn a_short_line_is_enough() {
        let line = r#"{"kind":"fact","key":"deploys","value":"on Tuesdays","date":"2026-03-10"}"#;
        let Line::Fact(fact) = Line::parse(line).unwrap() else { panic!() };
        assert_eq!((fact.key.as_str(), fact.source), ("deploys", FactSource::Import));
        assert_eq!(fact.date.unwrap().0.iso(), "2026-03-10T00:00:00Z");
        let line = r#"{"kind":"message","channel":"whatsapp","text":"hi","date":1773134520}"#;
        let Line::Message(message) = Line::parse(line).unwrap() else { panic!() };
        assert_eq!(message.channel.unwrap().name(), "whatsapp");
        assert_eq!(message.date.unwrap().0.iso(), "2026-03-10T09:22:00Z");
    }

    #[test]
    fn an_error_names_the_mistake() {
        for (line, says) in [
            (r#"{"kind":"fact","kee":"deploys"}"#, "unknown field `kee`"),
            (r#"{"kind":"poem"}"#, "unknown variant `poem`"),
            (r#"{"text":"hi"}"#, "it has no `kind`: project, "),
            (r#"{"kind":5}"#, "its `kind` is not a text"),
            (r#"{"kind":"message","date":"soon"}"#, "a date is written as"),
            (r#"{"kind":"message","channel":"Two Words","text":"hi"}"#, "\"Two Words\" is not a channel"),
            (r#"{"kind":"fact","key":"#, "ends in the middle"),
            ("[1]", "not an object"),
            ("hello", "it is not JSON"),
            ("nothing", "it is not JSON"),
        ] {
            let error = Line::parse(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
