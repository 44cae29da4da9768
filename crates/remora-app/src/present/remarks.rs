//! Remarks beside a record in a list: which record replaces it, where else it is said, whether it is observed yet.

use remora_core::document::RecordId;
use remora_search::Hit;
use remora_store::ObservationRow;

use crate::timeline::TimelineEntry;

/// How a door writes the id of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdStyle {
    /// `12`, for a shell: there, `#12` starts a comment.
    Plain,
    /// `#12`
    Hash,
}

impl IdStyle {
    pub fn id(self, id: RecordId) -> String {
        match self {
            Self::Plain => id.to_string(),
            Self::Hash => format!("#{id}"),
        }
    }

    pub fn ids(self, ids: &[RecordId]) -> String {
        ids.iter().map(|id| self.id(*id)).collect::<Vec<_>>().join(", ")
    }
}

/// The reasons for a remark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remarks<'a> {
    pub superseded_by: Option<RecordId>,
    /// Other records that say the same.
    pub duplicates: &'a [RecordId],
    /// It is an event that was not observed yet.
    pub is_waiting: bool,
}

impl<'a> From<&'a Hit> for Remarks<'a> {
    fn from(hit: &'a Hit) -> Self {
        Self {
            superseded_by: hit.superseded_by.map(RecordId::from),
            duplicates: &hit.duplicates,
            is_waiting: hit.why.waiting,
        }
    }
}

impl From<&TimelineEntry> for Remarks<'_> {
    fn from(entry: &TimelineEntry) -> Self {
        Self { superseded_by: entry.superseded_by, ..Self::default() }
    }
}

impl From<&ObservationRow> for Remarks<'_> {
    fn from(row: &ObservationRow) -> Self {
        Self { superseded_by: row.superseded_by, ..Self::default() }
    }
}

impl Remarks<'_> {
    /// All remarks in one line; empty if there are none.
    pub fn text(&self, style: IdStyle) -> String {
        let remarks = [
            self.superseded_by.map(|by| superseded(by, style)),
            (!self.duplicates.is_empty()).then(|| format!("also {}", style.ids(self.duplicates))),
            self.is_waiting.then(|| "not observed yet".to_owned()),
        ];
        remarks.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// The remark on a record that another one replaces.
pub fn superseded(by: RecordId, style: IdStyle) -> String {
    format!("superseded by {}", style.id(by))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_one_line_in_the_style_of_the_door() {
        let ids = ["3", "s4"].map(|id| id.parse::<RecordId>().unwrap());
        let remarks = Remarks { superseded_by: Some(ids[0]), duplicates: &ids, is_waiting: true };
        assert_eq!(remarks.text(IdStyle::Plain), "superseded by 3; also 3, s4; not observed yet");
        assert_eq!(remarks.text(IdStyle::Hash), "superseded by #3; also #3, #s4; not observed yet");
        assert_eq!(Remarks::default().text(IdStyle::Hash), "");
    }
}
