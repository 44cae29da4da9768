//! Normalises the keys of facts. Before version 12 they were stored as they were typed, so a key that was written in two
//! ways could have two current values.

use std::collections::BTreeMap;

use remora_core::fact::FactKey;
use rusqlite::{Connection, params};

use crate::StoreError;

/// A fact that holds.
struct HeldFact {
    id: i64,
    valid_from: i64,
}

/// Normalises all keys. Of several current values of what is now one key, the user's own holds, or else the newest.
pub(super) fn normalise(db: &Connection) -> Result<(), StoreError> {
    let keys: Vec<(i64, String)> = db
        .prepare("SELECT id, key FROM facts")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let normal = |(id, key): (i64, String)| {
        let normal = FactKey::from(key.as_str());
        (*normal != key).then_some((id, normal))
    };
    let changed: Vec<(i64, FactKey)> = keys.into_iter().filter_map(normal).collect();
    if changed.is_empty() {
        return Ok(());
    }
    end_all_but_one(db)?;
    for (id, key) in changed {
        db.prepare_cached("UPDATE facts SET key = ?2 WHERE id = ?1")?.execute(params![id, &*key])?;
        // The title of a fact's document is its key.
        db.prepare_cached("UPDATE documents SET title = ?2 WHERE kind = 'fact' AND record_id = ?1")?
            .execute(params![id, &*key])?;
    }
    // A migration has neither the triggers of search nor, from version 9, foreign keys.
    db.execute_batch(
        "DELETE FROM documents WHERE kind = 'fact' AND record_id IN (SELECT id FROM facts WHERE valid_to IS NOT NULL);
         DELETE FROM vectors WHERE document_id NOT IN (SELECT id FROM documents);
         INSERT INTO documents_text (documents_text) VALUES ('rebuild');
         INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');",
    )?;
    Ok(())
}

/// Ends values, so that each normalised key has one that holds.
fn end_all_but_one(db: &Connection) -> Result<(), StoreError> {
    let mut statement = db.prepare(
        "SELECT ifnull(project_id, 0), key, id, valid_from FROM facts WHERE valid_to IS NULL AND deleted_at IS NULL
         ORDER BY source = 'user', valid_from, id",
    )?;
    let mut rows = statement.query([])?;
    let mut holds: BTreeMap<(i64, String), Vec<HeldFact>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let key = FactKey::from(row.get::<_, String>(1)?);
        let current = HeldFact { id: row.get(2)?, valid_from: row.get(3)? };
        holds.entry((row.get(0)?, key.into())).or_default().push(current);
    }
    for mut values in holds.into_values() {
        let Some(last) = values.pop() else { continue };
        for old in values {
            // A row that ends when it begins would count as a conflict.
            let end = last.valid_from.max(old.valid_from + 1);
            db.prepare_cached("UPDATE facts SET valid_to = ?2 WHERE id = ?1")?.execute([old.id, end])?;
        }
    }
    Ok(())
}
