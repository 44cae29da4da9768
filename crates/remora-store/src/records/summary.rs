//! Summaries of sessions. A session has a summary of each of its turns; the last one includes the others.

use remora_core::ids::{ProjectId, SessionId, SummaryId};
use remora_core::memory::Summary;
use remora_core::time::Time;
use rusqlite::Row;

use crate::StoreError;
use crate::handles::Records;
use crate::records::page::{ByProject, Kind, Page, Selection};
use crate::rows::list;

#[derive(Debug, Clone, PartialEq)]
pub struct SummaryRow {
    pub id: SummaryId,
    pub session_id: SessionId,
    pub project: String,
    pub project_id: ProjectId,
    pub prompt_number: i64,
    pub summary: Summary,
    pub provider: String,
    pub model: String,
    pub created_at: Time,
}

const SUMMARY: &str =
    "SELECT s.id, s.session_id, p.name, s.prompt_number, s.request, s.investigated, s.learned,
    s.completed, s.next_steps, s.notes, s.files_read, s.files_edited, s.provider, s.model, s.created_at, s.project_id
    FROM session_summaries AS s JOIN projects AS p ON p.id = s.project_id WHERE s.deleted_at IS NULL";

pub(crate) const KIND: Kind<SummaryRow> = Kind {
    select: SUMMARY,
    from: "FROM session_summaries AS s WHERE s.deleted_at IS NULL",
    alias: "s",
    project: "s.project_id",
    in_session: "prompt_number",
    typed_id: "'s' || s.id",
    current: "s.checkpoint = 0",
    tool_calls: "",
    by_project: ByProject::OnlyCurrent,
    read: read_summary,
    id: |row| row.id.0,
};

impl Records<'_> {
    pub fn summaries(self, selection: &Selection) -> Result<Page<SummaryRow>, StoreError> {
        self.0.select(&KIND, selection)
    }
}

fn read_summary(row: &Row<'_>) -> rusqlite::Result<SummaryRow> {
    Ok(SummaryRow {
        id: SummaryId(row.get(0)?),
        session_id: SessionId(row.get(1)?),
        project: row.get(2)?,
        project_id: ProjectId(row.get(15)?),
        prompt_number: row.get(3)?,
        summary: Summary {
            request: row.get(4)?,
            investigated: row.get(5)?,
            learned: row.get(6)?,
            completed: row.get(7)?,
            next_steps: row.get(8)?,
            notes: row.get(9)?,
            files_read: list(row, 10)?,
            files_edited: list(row, 11)?,
        },
        provider: row.get(12)?,
        model: row.get(13)?,
        created_at: Time(row.get(14)?),
    })
}
