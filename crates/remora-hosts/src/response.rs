//! Responses of hooks: text that the host passes on to its model.

use remora_core::host::Host;
use serde_json::{Value, json};

/// When a hook may add context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    SessionStart,
    Prompt,
    /// Before a tool is used. The response only adds context; it does not allow or deny the call.
    Tool,
}

/// The response that a host expects from every hook, even without context.
pub fn acknowledgement(host: Host) -> Option<&'static str> {
    matches!(host, Host::Cursor | Host::Windsurf).then_some(r#"{"continue":true}"#)
}

/// The response that passes `context` to the model.
pub fn with_context(host: Host, moment: Moment, context: &str) -> Option<String> {
    Some(answer(host, moment, context)?.to_string())
}

/// Like [`with_context`], with a line that the host shows to its user and not to the model. `context` may be empty.
pub fn with_notice(host: Host, moment: Moment, context: &str, notice: &str) -> Option<String> {
    let mut answer = answer(host, moment, context)?;
    if context.is_empty() {
        answer = json!({});
    }
    answer["systemMessage"] = notice.into();
    Some(answer.to_string())
}

fn answer(host: Host, moment: Moment, context: &str) -> Option<Value> {
    let event = match (host, moment) {
        // Copilot reads a single member, and OpenCode's plugin is our own. Neither accepts context before a tool.
        (Host::Copilot | Host::Opencode, Moment::SessionStart | Moment::Prompt) => {
            return Some(json!({ "additionalContext": context }));
        }
        // For any program: the member that HTTP responses have.
        (Host::Generic | Host::Channel(_), Moment::SessionStart | Moment::Prompt) => {
            return Some(json!({ "context": context }));
        }
        (Host::ClaudeCode | Host::Codex | Host::Gemini | Host::Qwen, Moment::SessionStart) => "SessionStart",
        (Host::ClaudeCode | Host::Codex | Host::Qwen, Moment::Prompt) => "UserPromptSubmit",
        (Host::Gemini, Moment::Prompt) => "BeforeAgent",
        // Gemini's `BeforeTool` accepts decisions and changed arguments, but no context.
        (Host::ClaudeCode | Host::Codex | Host::Qwen, Moment::Tool) => "PreToolUse",
        _ => return None,
    };
    Some(json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": context } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_gets_the_form_it_reads() {
        let answer = |host, moment| with_context(host, moment, "a \"note\"\n").unwrap();
        let expected = |event: &str| {
            format!(
                r#"{{"hookSpecificOutput":{{"additionalContext":"a \"note\"\n","hookEventName":"{event}"}}}}"#
            )
        };
        for host in [Host::ClaudeCode, Host::Codex, Host::Gemini, Host::Qwen] {
            assert_eq!(answer(host, Moment::SessionStart), expected("SessionStart"));
        }
        for host in [Host::Copilot, Host::Opencode] {
            let expected = "{\"additionalContext\":\"a \\\"note\\\"\\n\"}";
            assert_eq!(answer(host, Moment::SessionStart), expected);
            assert_eq!(answer(host, Moment::Prompt), expected);
            assert_eq!(with_context(host, Moment::Tool, "x"), None);
        }
        for host in [Host::Generic, Host::named("whatsapp").unwrap()] {
            assert_eq!(answer(host, Moment::Prompt), "{\"context\":\"a \\\"note\\\"\\n\"}");
        }
        for host in [Host::ClaudeCode, Host::Codex, Host::Qwen] {
            assert_eq!(answer(host, Moment::Prompt), expected("UserPromptSubmit"));
            assert_eq!(answer(host, Moment::Tool), expected("PreToolUse"));
        }
        assert_eq!(answer(Host::Gemini, Moment::Prompt), expected("BeforeAgent"));
        assert_eq!(with_context(Host::Gemini, Moment::Tool, "x"), None);
        for host in Host::ALL {
            assert_eq!(host.room().is_some(), with_context(*host, Moment::Prompt, "").is_some(), "{host}");
        }
    }
}
