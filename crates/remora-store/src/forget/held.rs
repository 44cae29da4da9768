//! Keeps removed rows unchanged, so that undo can restore them.

use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, Row, ToSql, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{SavedBy, StoreError};
use remora_data::hex;

/// Removed rows, in the order they were taken.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Held {
    /// Whether a program forgot it, so that a program may undo it.
    #[serde(default)]
    pub(super) is_by_program: bool,
    rows: Vec<(String, Map<String, Value>)>,
}

impl Held {
    pub(super) fn new(by: SavedBy) -> Self {
        Self { is_by_program: by == SavedBy::Program, ..Self::default() }
    }

    /// Stores rows that are about to be changed or deleted.
    pub(super) fn take(
        &mut self,
        db: &Connection,
        table: &str,
        condition: &str,
        values: &[&dyn ToSql],
    ) -> Result<(), StoreError> {
        let mut statement = db.prepare_cached(&format!("SELECT * FROM {table} WHERE {condition}"))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            self.rows.push((table.to_owned(), read(row, &columns)?));
        }
        Ok(())
    }

    /// Restores the rows, last one first, because a row was taken before the rows it refers to.
    pub(super) fn put_back(&self, db: &Connection) -> Result<(), StoreError> {
        for (table, row) in self.rows.iter().rev() {
            let columns: Vec<&str> = row.keys().map(String::as_str).collect();
            let values: Vec<Sql> = row.values().map(sql).collect();
            let marks = vec!["?"; values.len()].join(", ");
            let names = columns.join(", ");
            db.prepare_cached(&format!("INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"))?
                .execute(params_from_iter(&values))?;
            // A row that was only changed still exists. Replacing it would delete rows that refer to it.
            if let Some(place) = columns.iter().position(|column| *column == "id") {
                let set: Vec<String> = columns.iter().map(|column| format!("{column} = ?")).collect();
                let sql = format!("UPDATE OR IGNORE {table} SET {} WHERE id = ?", set.join(", "));
                db.prepare_cached(&sql)?.execute(params_from_iter(values.iter().chain([&values[place]])))?;
            }
        }
        Ok(())
    }
}

fn read(row: &Row<'_>, columns: &[String]) -> rusqlite::Result<Map<String, Value>> {
    let mut object = Map::new();
    for (place, column) in columns.iter().enumerate() {
        let value = match row.get_ref(place)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => json!(number),
            ValueRef::Real(number) => json!(number),
            ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
            ValueRef::Blob(bytes) => json!({ "blob": hex(bytes) }),
        };
        object.insert(column.clone(), value);
    }
    Ok(object)
}

fn sql(value: &Value) -> Sql {
    match value {
        Value::Null | Value::Bool(_) | Value::Array(_) => Sql::Null,
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Sql::Real(number.as_f64().unwrap_or_default()), Sql::Integer)
        }
        Value::String(text) => Sql::Text(text.clone()),
        Value::Object(object) => {
            let digits = object.get("blob").and_then(Value::as_str).unwrap_or_default();
            Sql::Blob(super::tombstones::from_hex(digits))
        }
    }
}
