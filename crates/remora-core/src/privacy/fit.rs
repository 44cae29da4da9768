//! Cuts an event down to what may be stored.

use serde_json::{Value, json};

use crate::event::{Body, TextVisitor};
use crate::text::Excerpt;

/// What one event may take up, as stored.
pub(super) const LARGEST_EVENT: usize = 64 << 10;
/// Room for what surrounds the body.
const ENVELOPE: usize = 4 << 10;
/// How often the allowances are halved before a tool's input and output are given up.
const HALVINGS: u32 = 8;

/// Shortens the texts of `body`, no more than needed, until it fits.
pub(super) fn shrink(body: &mut Body) {
    for halving in 0..=HALVINGS {
        let mut shorter = body.clone();
        shorter.visit(&mut Shorten { halving });
        if fits(&shorter) {
            *body = shorter;
            return;
        }
    }
    body.visit(&mut Shorten { halving: HALVINGS });
    if let Body::ToolUsed(tool) = body {
        let gone = json!("[… too large to keep …]");
        tool.input = gone.clone();
        tool.output = gone;
        tool.changes.truncate(50);
        tool.files_read.truncate(50);
    }
}

fn fits(body: &Body) -> bool {
    serde_json::to_vec(body).is_ok_and(|json| json.len() <= LARGEST_EVENT - ENVELOPE)
}

struct Shorten {
    halving: u32,
}

impl Shorten {
    fn allow(&self, bytes: usize) -> usize {
        (bytes >> self.halving).max(32)
    }

    fn text(&self, text: &mut String, head: usize, tail: usize) {
        *text = Excerpt::shorten(text, self.allow(head), self.allow(tail));
    }
}

impl TextVisitor for Shorten {
    fn prose(&mut self, text: &mut String) {
        self.text(text, 32 << 10, 16 << 10);
    }

    fn output(&mut self, text: &mut String) {
        self.text(text, 8 << 10, 4 << 10);
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.output(text),
            Value::Array(items) => {
                let limit = self.allow(1024);
                if items.len() > limit {
                    let left_out = items.len() - limit;
                    items.truncate(limit);
                    items.push(json!(format!("[… {left_out} more items cut …]")));
                }
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(members) => {
                let limit = self.allow(1024);
                if members.len() > limit {
                    let names: Vec<String> = members.keys().skip(limit).cloned().collect();
                    for name in &names {
                        members.remove(name);
                    }
                    members.insert("…".to_owned(), json!(format!("[… {} more members cut …]", names.len())));
                }
                for member in members.values_mut() {
                    self.value(member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Change, How, Outcome, ToolUse};

    fn tool(output: Value) -> Body {
        Body::ToolUsed(ToolUse {
            tool: "Bash".into(),
            input: json!({"command": "make"}),
            output,
            outcome: Outcome::Ok,
            changes: Vec::new(),
            files_read: Vec::new(),
            duration_ms: None,
        })
    }

    #[test]
    fn whatever_comes_fits_and_says_what_is_missing() {
        let deep = json!(vec![vec![vec!["x".repeat(100); 40]; 40]; 40]);
        for output in [
            json!("x".repeat(5_000_000)),
            json!(vec!["line of output"; 100_000]),
            json!((0..50_000).map(|n| (n.to_string(), json!("v"))).collect::<serde_json::Map<_, _>>()),
            deep,
        ] {
            let mut body = tool(output);
            shrink(&mut body);
            assert!(fits(&body));
            let text = serde_json::to_string(&body).unwrap();
            assert!(text.contains("cut …]") || text.contains("too large to keep"), "{}", &text[..200]);
        }
        let mut prompt =
            Body::PromptSubmitted { text: Excerpt::cut(&"a".repeat(90_000), 7, &"b".repeat(40_000)) };
        shrink(&mut prompt);
        assert!(fits(&prompt));
    }

    #[test]
    fn what_fits_is_left_alone() {
        let mut body = tool(json!({"stdout": "ok", "lines": [1, null, "é"]}));
        let before = body.clone();
        shrink(&mut body);
        assert_eq!(body, before);
    }

    #[test]
    fn many_changes_are_bounded_too() {
        let mut body = tool(Value::Null);
        if let Body::ToolUsed(tool) = &mut body {
            let change = Change { path: "/p/a.rs".repeat(40), how: How::Edited, patch: "+x\n".repeat(4000) };
            tool.changes = vec![change; 500];
        }
        shrink(&mut body);
        assert!(fits(&body));
    }
}
