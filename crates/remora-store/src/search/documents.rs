//! Makes documents of records. They are always made from the stored record, whether it was just written, had no
//! documents after a repair, or is indexed again, so that the result is the same.

use remora_core::document::{RecordId, RecordKind};
use remora_core::text::one_line;
use remora_core::vault;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::StoreError;
use crate::records::observation::{concepts, files};
use crate::records::save::SavedBy;

/// Prompts and neighbours up to this many words are added as context. A longer text would drown the document.
const SHORT_WORDS: usize = 60;
/// Limit in bytes for the prompt and for the closing message of a turn.
const MAX_BYTES: usize = 32 << 10;

/// A document to be stored.
#[derive(Debug, Default)]
struct Document {
    part: String,
    title: String,
    body: String,
    surroundings: Neighbours,
}

#[derive(Debug, Default)]
struct Neighbours {
    prompt: String,
    before: String,
    after: String,
}

/// The fields that all documents of a record share.
struct DocumentOrigin {
    record: RecordId,
    project: Option<i64>,
    session: Option<i64>,
    created_at: i64,
    /// The type of an observation.
    observation_type: Option<String>,
}

/// Replaces the documents of a record. `false` if the record does not exist or was deleted.
pub(crate) fn write(db: &Connection, record: RecordId) -> Result<bool, StoreError> {
    let made = match record.kind {
        RecordKind::Observation => observation(db, record)?,
        RecordKind::Summary => summary(db, record)?,
        RecordKind::Turn => turn(db, record)?,
        RecordKind::Fact => fact(db, record)?,
        RecordKind::Note => note(db, record)?,
        RecordKind::Event => None,
    };
    let Some((origin, documents)) = made else { return Ok(false) };
    remove(db, record)?;
    for (number, document) in documents.iter().enumerate() {
        insert(db, &origin, document, number == 0)?;
    }
    Ok(true)
}

/// Writes the documents of many records, and their full text in one statement.
pub(crate) fn write_all(db: &Connection, records: &[RecordId]) -> Result<(), StoreError> {
    let above: i64 = db.query_row("SELECT ifnull(max(id), 0) FROM documents", [], |row| row.get(0))?;
    db.prepare_cached("INSERT INTO bulk (above) VALUES (?1)")?.execute([above])?;
    for record in records {
        write(db, *record)?;
    }
    db.prepare_cached("DELETE FROM bulk")?.execute([])?;
    db.prepare_cached(
        "INSERT INTO documents_text (rowid, title, body, prompt, before, after)
         SELECT id, title, body, prompt, before, after FROM documents WHERE id > ?1",
    )?
    .execute([above])?;
    db.prepare_cached(
        "INSERT INTO documents_trigram (rowid, title, body) SELECT id, title, body FROM documents WHERE id > ?1",
    )?
    .execute([above])?;
    Ok(())
}

/// Removes a record's documents, with their vectors and index entries.
pub(crate) fn remove(db: &Connection, record: RecordId) -> Result<(), StoreError> {
    // Vectors in memory then refer to no document, because ids are never reused.
    db.prepare_cached("DELETE FROM documents WHERE kind = ?1 AND record_id = ?2")?
        .execute(params![record.kind.name(), record.number])?;
    Ok(())
}

fn insert(
    db: &Connection,
    origin: &DocumentOrigin,
    document: &Document,
    lead: bool,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO documents (kind, record_id, part, lead, project_id, session_id, created_at, title, body, prompt,
             before, after, type)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        origin.record.kind.name(),
        origin.record.number,
        document.part,
        lead,
        origin.project,
        origin.session,
        origin.created_at,
        document.title,
        document.body,
        document.surroundings.prompt,
        document.surroundings.before,
        document.surroundings.after,
        origin.observation_type,
    ])?;
    Ok(())
}

type Made = Result<Option<(DocumentOrigin, Vec<Document>)>, StoreError>;

/// One document for the narrative with its description, and one for each fact.
fn observation(db: &Connection, record: RecordId) -> Made {
    let sql = concat!(
        "SELECT o.project_id, o.session_id, o.created_at, o.title, o.subtitle, o.narrative, o.facts, ",
        concepts!(),
        ", ",
        files!("read"),
        ", ",
        files!("modified"),
        ", o.prompt_number, o.provider, o.type FROM observations AS o WHERE o.id = ?1 AND o.deleted_at IS NULL"
    );
    let row = db.prepare_cached(sql)?.query_row([record.number], |row| {
        let lists: [String; 4] = [row.get(6)?, row.get(7)?, row.get(8)?, row.get(9)?];
        let texts: [String; 3] = [row.get(3)?, row.get(4)?, row.get(5)?];
        let is_by_hand = SavedBy::from_provider(&row.get::<_, String>(11)?).is_some();
        let origin = DocumentOrigin { observation_type: Some(row.get(12)?), ..origin(record, row)? };
        Ok((origin, texts, lists, row.get::<_, i64>(10)?, is_by_hand))
    });
    let Some((origin, [title, subtitle, narrative], lists, prompt_number, is_by_hand)) = row.optional()?
    else {
        return Ok(None);
    };
    let [facts, concepts, files_read, files_modified] =
        lists.map(|json| serde_json::from_str::<Vec<String>>(&json).unwrap_or_default());
    let words = [concepts.join(", "), files_modified.join(" "), files_read.join(" ")];
    let body = joined(&[&subtitle, &narrative, &words.map(|list| list.replace('-', " ")).join("\n")]);
    // The neighbours of a saved text are unrelated.
    let surroundings = if is_by_hand {
        Neighbours::default()
    } else {
        let summary = short(&joined(&[&title, &narrative]));
        observation_surroundings(db, &origin, prompt_number, &summary)?
    };
    let mut documents = vec![Document { part: "narrative".into(), title: title.clone(), body, surroundings }];
    for (number, fact) in (1..).zip(facts) {
        let part = format!("fact_{number}");
        documents.push(Document { part, title: title.clone(), body: fact, ..Document::default() });
    }
    Ok(Some((origin, documents)))
}

/// The context of an observation. Also sets `summary` as context of its neighbours.
fn observation_surroundings(
    db: &Connection,
    origin: &DocumentOrigin,
    prompt_number: i64,
    summary: &str,
) -> Result<Neighbours, StoreError> {
    let session = origin.session.unwrap_or_default();
    let prompt = prompt_text(db, session, prompt_number)?;
    let before = observation_beside(db, session, "id < ?2 ORDER BY id DESC", origin.record.number)?;
    let after = observation_beside(db, session, "id > ?2 ORDER BY id", origin.record.number)?;
    if let Some(neighbour) = &before {
        set_beside(db, "after", "observation", neighbour.id, summary)?;
    }
    // A revised observation has neighbours on both sides.
    if let Some(neighbour) = &after {
        set_beside(db, "before", "observation", neighbour.id, summary)?;
    }
    Ok(surroundings(&prompt, before, after))
}

/// Updates the context of a session's documents after some of its records were removed or restored.
pub(crate) fn refresh_surroundings(db: &Connection, session: i64) -> Result<(), StoreError> {
    let observations =
        "SELECT id, prompt_number, provider FROM observations WHERE session_id = ?1 AND deleted_at IS NULL";
    let rows = db
        .prepare_cached(observations)?
        .query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)))?
        .collect::<Result<Vec<(i64, i64, String)>, _>>()?;
    for (id, prompt_number, provider) in rows {
        if SavedBy::from_provider(&provider).is_some() {
            continue;
        }
        let before = observation_beside(db, session, "id < ?2 ORDER BY id DESC", id)?;
        let after = observation_beside(db, session, "id > ?2 ORDER BY id", id)?;
        let prompt = prompt_text(db, session, prompt_number)?;
        set_surroundings(db, "observation", id, &surroundings(&prompt, before, after))?;
    }
    let turns = "SELECT id, prompt_number FROM user_prompts WHERE session_id = ?1 AND deleted_at IS NULL";
    let rows = db
        .prepare_cached(turns)?
        .query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<Vec<(i64, i64)>, _>>()?;
    for (id, number) in rows {
        let before = turn_beside(db, session, "prompt_number < ?2 ORDER BY prompt_number DESC", number)?;
        let after = turn_beside(db, session, "prompt_number > ?2 ORDER BY prompt_number", number)?;
        set_surroundings(db, "turn", id, &surroundings("", before, after))?;
    }
    Ok(())
}

fn surroundings(prompt: &str, before: Option<Neighbour>, after: Option<Neighbour>) -> Neighbours {
    Neighbours {
        prompt: short(prompt),
        before: short(&before.map(|neighbour| neighbour.text).unwrap_or_default()),
        after: short(&after.map(|neighbour| neighbour.text).unwrap_or_default()),
    }
}

fn set_surroundings(db: &Connection, kind: &str, record: i64, new: &Neighbours) -> Result<(), StoreError> {
    let Neighbours { prompt, before, after } = new;
    // Documents of single facts have no context.
    let sql = "UPDATE documents SET prompt = ?3, before = ?4, after = ?5 WHERE kind = ?1 AND record_id = ?2
               AND part IN ('narrative', 'turn') AND (prompt, before, after) <> (?3, ?4, ?5)";
    db.prepare_cached(sql)?.execute(params![kind, record, prompt, before, after])?;
    Ok(())
}

/// One document for each non-empty field. The request represents the summary.
fn summary(db: &Connection, record: RecordId) -> Made {
    const FIELDS: [&str; 6] = ["request", "investigated", "learned", "completed", "next_steps", "notes"];
    let sql = "SELECT project_id, session_id, created_at, request, investigated, learned, completed, next_steps, notes
               FROM session_summaries WHERE id = ?1 AND checkpoint = 0 AND deleted_at IS NULL";
    let row = db.prepare_cached(sql)?.query_row([record.number], |row| {
        let mut texts: [String; 6] = Default::default();
        for (column, text) in (3..).zip(&mut texts) {
            *text = row.get(column)?;
        }
        Ok((origin(record, row)?, texts))
    });
    let Some((origin, texts)) = row.optional()? else { return Ok(None) };
    let title = one_line(&texts[0], 120);
    let documents = FIELDS
        .into_iter()
        .zip(texts)
        .filter(|(field, text)| *field == "request" || !text.trim().is_empty())
        .map(|(field, body)| Document {
            part: field.to_owned(),
            title: if field == "request" { String::new() } else { title.clone() },
            body,
            ..Document::default()
        })
        .collect();
    Ok(Some((origin, documents)))
}

/// The prompt, with the agent's closing message.
fn turn(db: &Connection, record: RecordId) -> Made {
    let sql = "SELECT s.project_id, p.session_id, p.created_at, p.text, p.closing_message, p.prompt_number
               FROM user_prompts AS p JOIN sessions AS s ON s.id = p.session_id
               WHERE p.id = ?1 AND p.deleted_at IS NULL";
    let row = db.prepare_cached(sql)?.query_row([record.number], |row| {
        Ok((origin(record, row)?, turn_text(row, 3)?, row.get::<_, i64>(5)?))
    });
    let Some((origin, body, number)) = row.optional()? else { return Ok(None) };
    let session = origin.session.unwrap_or_default();
    let before = turn_beside(db, session, "prompt_number < ?2 ORDER BY prompt_number DESC", number)?;
    let after = turn_beside(db, session, "prompt_number > ?2 ORDER BY prompt_number", number)?;
    if let Some(neighbour) = &before {
        set_beside(db, "after", "turn", neighbour.id, &short(&body))?;
    }
    // A turn from the queue may be stored after the turn that follows it.
    if let Some(neighbour) = &after {
        set_beside(db, "before", "turn", neighbour.id, &short(&body))?;
    }
    let surroundings = surroundings("", before, after);
    let document = Document { part: "turn".into(), title: String::new(), body, surroundings };
    Ok(Some((origin, vec![document])))
}

/// A fact, only while it holds.
fn fact(db: &Connection, record: RecordId) -> Made {
    let sql = "SELECT project_id, NULL, valid_from, key, value FROM facts
               WHERE id = ?1 AND valid_to IS NULL AND deleted_at IS NULL";
    let row = db.prepare_cached(sql)?.query_row([record.number], |row| {
        let document =
            Document { part: "fact".into(), title: row.get(3)?, body: row.get(4)?, ..Document::default() };
        Ok((origin(record, row)?, vec![document]))
    });
    Ok(row.optional()?)
}

/// One document for each section. A note without text is found by its path.
fn note(db: &Connection, record: RecordId) -> Made {
    let sql =
        "SELECT NULL, NULL, changed_at, title, path, text FROM notes WHERE id = ?1 AND deleted_at IS NULL";
    let row = db.prepare_cached(sql)?.query_row([record.number], |row| {
        let texts: [String; 3] = [row.get(3)?, row.get(4)?, row.get(5)?];
        Ok((origin(record, row)?, texts))
    });
    let Some((origin, [title, path, text])) = row.optional()? else { return Ok(None) };
    let mut documents = Vec::new();
    for (number, part) in (1..).zip(vault::parts(&text)) {
        let title = if part.heading.is_empty() || part.heading == title {
            title.clone()
        } else {
            format!("{title} › {}", one_line(&part.heading, 80))
        };
        let part_name = format!("section_{number}");
        documents.push(Document { part: part_name, title, body: part.text, ..Document::default() });
    }
    if documents.is_empty() {
        documents.push(Document { part: "section_1".into(), title, body: path, ..Document::default() });
    }
    Ok(Some((origin, documents)))
}

fn origin(record: RecordId, row: &Row<'_>) -> rusqlite::Result<DocumentOrigin> {
    Ok(DocumentOrigin {
        record,
        project: row.get(0)?,
        session: row.get(1)?,
        created_at: row.get(2)?,
        observation_type: None,
    })
}

/// A record next to another in the same session.
struct Neighbour {
    id: i64,
    text: String,
}

fn observation_beside(
    db: &Connection,
    session: i64,
    which: &str,
    id: i64,
) -> Result<Option<Neighbour>, StoreError> {
    let sql = format!(
        "SELECT id, title, narrative FROM observations WHERE session_id = ?1 AND deleted_at IS NULL AND {which} LIMIT 1"
    );
    let row = db.prepare_cached(&sql)?.query_row([session, id], |row| {
        let (title, narrative): (String, String) = (row.get(1)?, row.get(2)?);
        Ok(Neighbour { id: row.get(0)?, text: joined(&[&title, &narrative]) })
    });
    Ok(row.optional()?)
}

fn turn_beside(
    db: &Connection,
    session: i64,
    which: &str,
    number: i64,
) -> Result<Option<Neighbour>, StoreError> {
    let sql = format!(
        "SELECT id, text, closing_message FROM user_prompts
         WHERE session_id = ?1 AND deleted_at IS NULL AND {which} LIMIT 1"
    );
    let row = db
        .prepare_cached(&sql)?
        .query_row([session, number], |row| Ok(Neighbour { id: row.get(0)?, text: turn_text(row, 1)? }));
    Ok(row.optional()?)
}

/// Sets one column of a neighbour's context, `before` or `after`.
fn set_beside(db: &Connection, column: &str, kind: &str, record: i64, text: &str) -> Result<(), StoreError> {
    let sql = format!(
        "UPDATE documents SET {column} = ?3 WHERE kind = ?1 AND record_id = ?2
         AND part IN ('narrative', 'turn') AND {column} <> ?3"
    );
    db.prepare_cached(&sql)?.execute(params![kind, record, text])?;
    Ok(())
}

fn prompt_text(db: &Connection, session: i64, number: i64) -> Result<String, StoreError> {
    let sql =
        "SELECT text FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2 AND deleted_at IS NULL";
    let text = db.prepare_cached(sql)?.query_row([session, number], |row| row.get(0)).optional()?;
    Ok(text.unwrap_or_default())
}

fn turn_text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    let (prompt, closing): (String, Option<String>) = (row.get(column)?, row.get(column + 1)?);
    let cut = |text: &str| remora_core::text::prefix(text, MAX_BYTES).to_owned();
    Ok(joined(&[&cut(&prompt), &cut(&closing.unwrap_or_default())]))
}

fn joined(texts: &[&str]) -> String {
    let said: Vec<&str> = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    said.join("\n")
}

/// The text if it is short, otherwise nothing.
fn short(text: &str) -> String {
    let is_short = text.split_whitespace().nth(SHORT_WORDS).is_none();
    if is_short { text.to_owned() } else { String::new() }
}
