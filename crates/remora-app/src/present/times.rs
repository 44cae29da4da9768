//! JSON shows every time twice, as `name_at` (ISO 8601) and `name_at_epoch` (milliseconds), so that neither people
//! nor programs have to convert it.

use remora_core::time::Time;
use schemars::JsonSchema;
use serde::Serializer;
use serde::ser::SerializeMap;

macro_rules! time_members {
    ($($function:ident $members:ident($time:ty, $text:ty) $iso:ident $epoch:ident;)*) => {$(
        pub(crate) fn $function<S: Serializer>(time: &$time, serializer: S) -> Result<S::Ok, S::Error> {
            let time: Option<Time> = (*time).into();
            let mut members = serializer.serialize_map(Some(2))?;
            members.serialize_entry(stringify!($iso), &time.map(Time::iso))?;
            members.serialize_entry(stringify!($epoch), &time)?;
            members.end()
        }

        /// The members, for the JSON schema.
        #[derive(Debug, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        pub(crate) struct $members {
            $iso: $text,
            $epoch: $time,
        }
    )*};
}

time_members! {
    created Created(Time, String) created_at created_at_epoch;
    updated Updated(Time, String) updated_at updated_at_epoch;
    started Started(Time, String) started_at started_at_epoch;
    last_activity LastActivity(Time, String) last_activity_at last_activity_at_epoch;
    completed Completed(Option<Time>, Option<String>) completed_at completed_at_epoch;
    pinned Pinned(Option<Time>, Option<String>) pinned_at pinned_at_epoch;
    confirmed Confirmed(Option<Time>, Option<String>) confirmed_at confirmed_at_epoch;
    valid_from ValidFrom(Time, String) valid_from valid_from_epoch;
    valid_to ValidTo(Option<Time>, Option<String>) valid_to valid_to_epoch;
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    struct Held {
        #[serde(flatten, serialize_with = "created")]
        from: Time,
        #[serde(flatten, serialize_with = "completed")]
        to: Option<Time>,
    }

    #[test]
    fn json_has_each_time_as_text_and_as_milliseconds() {
        let json = serde_json::to_value(Held { from: Time(1_700_000_000_123), to: None }).unwrap();
        assert_eq!(Time::from_iso(json["created_at"].as_str().unwrap()), Some(Time(1_700_000_000_123)));
        assert_eq!(json["created_at_epoch"], 1_700_000_000_123_i64);
        assert!(json["completed_at"].is_null() && json["completed_at_epoch"].is_null(), "{json}");
        assert_eq!(json.as_object().unwrap().len(), 4);
    }
}
