//! Schemas of arguments, generated from the types that parse them and kept short, because every host sends them to its
//! model with every request.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub(crate) fn of<T: JsonSchema>() -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shorten(&mut schema);
    let Value::Object(mut schema) = schema else { return Arc::default() };
    schema.remove("title");
    schema.remove("description");
    Arc::new(schema)
}

/// Removes redundant parts: `required` already says which arguments are optional.
fn shorten(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("default");
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            if let Some(Value::Array(mut choices)) = object.remove("anyOf") {
                choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
                match choices.pop() {
                    Some(Value::Object(only)) if choices.is_empty() => {
                        for (name, value) in only {
                            object.entry(name).or_insert(value);
                        }
                    }
                    last => {
                        choices.extend(last);
                        object.insert("anyOf".to_owned(), Value::Array(choices));
                    }
                }
            }
            object.values_mut().for_each(shorten);
        }
        Value::Array(list) => list.iter_mut().for_each(shorten),
        _ => {}
    }
}
