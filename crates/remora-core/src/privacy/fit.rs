//! Cuts an event to the size limit for storage.

use serde_json::{Value, json};

use crate::event::{Body, TextVisitor, ToolCall};
use crate::text::{Excerpt, ExcerptLimit};

/// Size limit for one stored event.
pub(super) const MAX_EVENT_BYTES: usize = 64 << 10;
/// Space for everything around the body.
const ENVELOPE: usize = 4 << 10;
/// How often the text limits are halved before lists are cut and JSON is dropped.
const HALVINGS: u32 = 8;

/// Shortens the texts of `body` until it fits, and no more than needed.
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
        thin_out(&mut tool.call);
    }
}

/// Bounds what shortening texts cannot: lists and JSON. The limits on items hold even if JSON has to escape every
/// character.
fn thin_out(call: &mut ToolCall) {
    match call {
        ToolCall::Edit { changes } => changes.truncate(20),
        ToolCall::Ask { questions } => {
            questions.truncate(4);
            for asked in questions {
                asked.options.truncate(8);
            }
        }
        ToolCall::Other { input, output } => {
            let gone = json!("[… too large to keep …]");
            *input = gone.clone();
            *output = gone;
        }
        ToolCall::Run { .. }
        | ToolCall::Read { .. }
        | ToolCall::Search { .. }
        | ToolCall::Fetch { .. }
        | ToolCall::Delegate { .. } => {}
    }
}

fn fits(body: &Body) -> bool {
    serde_json::to_vec(body).is_ok_and(|json| json.len() <= MAX_EVENT_BYTES - ENVELOPE)
}

struct Shorten {
    halving: u32,
}

impl Shorten {
    fn allow(&self, bytes: usize) -> usize {
        (bytes >> self.halving).max(32)
    }

    fn text(&self, text: &mut String, head: usize, tail: usize) {
        let limit = ExcerptLimit { head: self.allow(head), tail: self.allow(tail) };
        *text = Excerpt::shorten(text, limit);
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
    use proptest::prelude::*;

    use super::*;
    use crate::event::{Change, How, Outcome, Question, ToolUse};

    fn body(call: ToolCall) -> Body {
        Body::ToolUsed(ToolUse { tool: "Bash".into(), call, outcome: Outcome::Ok, duration_ms: None })
    }

    fn other(output: Value) -> Body {
        body(ToolCall::Other { input: json!({"command": "make"}), output })
    }

    #[test]
    fn every_event_is_cut_to_fit_and_names_what_is_missing() {
        let deep = json!(vec![vec![vec!["x".repeat(100); 40]; 40]; 40]);
        let long = "x".repeat(5_000_000);
        let mut bodies =
            vec![body(ToolCall::Run { command: "make".into(), output: long.clone(), exit: None })];
        bodies.extend(
            [
                json!(long),
                json!(vec!["line of output"; 100_000]),
                json!((0..50_000).map(|n| (n.to_string(), json!("v"))).collect::<serde_json::Map<_, _>>()),
                deep,
            ]
            .map(other),
        );
        for mut body in bodies {
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
    fn an_event_that_fits_is_unchanged() {
        let mut body = other(json!({"stdout": "ok", "lines": [1, null, "é"]}));
        let before = body.clone();
        shrink(&mut body);
        assert_eq!(body, before);
    }

    #[test]
    fn many_changes_are_bounded_too() {
        for (path, patch) in [("/p/a.rs", "+x\n"), ("\u{1}", "\u{1}")] {
            let change = Change { path: path.repeat(400), how: How::Edited, patch: patch.repeat(4000) };
            let mut body = body(ToolCall::Edit { changes: vec![change; 200] });
            shrink(&mut body);
            assert!(fits(&body));
        }
    }

    /// Calls of every kind, with long texts, long lists and characters that JSON has to escape.
    fn any_call() -> impl Strategy<Value = ToolCall> {
        let text = || {
            (prop_oneof![Just("x"), Just("é\n"), Just("\u{1}"), Just("\"")], 0..2_000_usize)
                .prop_map(|(piece, times)| piece.repeat(times))
        };
        let change = (text(), text()).prop_map(|(path, patch)| Change { path, how: How::Edited, patch });
        let question = (text(), text(), 0..60_usize).prop_map(|(question, answer, options)| Question {
            question,
            options: vec![answer.clone(); options],
            answer,
        });
        let many = |count: usize| prop_oneof![Just(1), Just(count)];
        prop_oneof![
            (text(), text()).prop_map(|(command, output)| ToolCall::Run { command, output, exit: None }),
            (change, many(150)).prop_map(|(change, count)| ToolCall::Edit { changes: vec![change; count] }),
            (text(), text()).prop_map(|(file, text)| ToolCall::Read { file, text }),
            (text(), text(), text()).prop_map(|(query, within, found)| ToolCall::Search {
                query,
                within,
                found
            }),
            (text(), text(), text()).prop_map(|(url, question, text)| ToolCall::Fetch {
                url,
                question,
                text
            }),
            (question, many(20)).prop_map(|(asked, count)| ToolCall::Ask { questions: vec![asked; count] }),
            (text(), text(), text()).prop_map(|(task, prompt, report)| ToolCall::Delegate {
                task,
                prompt,
                report
            }),
            (text(), text()).prop_map(|(input, output)| ToolCall::Other {
                input: json!({ "input": input }),
                output: json!(output)
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_kind_of_call_is_bounded(call in any_call(), error in ".{0,2000}", tool in ".{0,2000}") {
            let outcome = Outcome::Failed { error };
            let mut body = Body::ToolUsed(ToolUse { tool, call, outcome, duration_ms: Some(1) });
            shrink(&mut body);
            prop_assert!(fits(&body));
        }
    }
}
