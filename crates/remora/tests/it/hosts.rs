//! Several hosts share one memory.

use std::fs;

use serde_json::{Value, json};

use crate::support::{World, assert_harmless, let_agents_reach_everything, run_hook};

impl World {
    /// Runs a hook of a host and returns its answer.
    fn hook_of(&self, host: &str, event: &str, message: &Value) -> String {
        let mut command = self.command(&["hook", host, "--event", event]);
        let ran = run_hook(&mut command, message.to_string().as_bytes());
        assert_harmless(&ran);
        String::from_utf8(ran.output.stdout).unwrap()
    }
}

#[test]
fn what_one_host_learned_is_offered_in_the_others_for_the_same_project_only() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let cwd = world.project();
    world.hook(&world.prompt("p1", "Why are the totals wrong?"));
    world.hook(&world.message(
        "Stop",
        &json!({"last_assistant_message": "Fixed: the totals were wrong because parse_amount dropped the thousands separator."}),
    ));
    world.text(&["queue", "drain"]);
    let session = |id: &str, cwd: &std::path::Path| json!({"session_id": id, "sessionId": id, "cwd": cwd, "source": "startup", "info": {"id": id, "directory": cwd}});
    for (host, event) in [
        ("codex", "SessionStart"),
        ("gemini", "SessionStart"),
        ("qwen", "SessionStart"),
        ("copilot", "sessionStart"),
        ("opencode", "event:session.created"),
    ] {
        let here = world.hook_of(host, event, &session("here", &cwd));
        assert!(here.contains("thousands separator"), "{host}: {here}");
        let there = world.hook_of(host, event, &session("there", &elsewhere));
        assert!(!there.contains("thousands separator"), "{host}: {there}");
    }
}

#[test]
fn a_prompt_that_qwen_repeats_is_one_prompt_until_its_turn_has_ended() {
    let world = World::new();
    let message = |time: &str, more: Value| {
        let mut message = json!({"session_id": "q", "cwd": world.project(), "timestamp": time});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    for time in ["2026-11-15T19:39:11.235Z", "2026-11-15T19:39:12.000Z", "2026-11-15T19:39:13.000Z"] {
        world.hook_of("qwen", "UserPromptSubmit", &message(time, json!({"prompt": "continue"})));
    }
    assert_eq!(world.count("prompts"), 1);
    world.hook_of(
        "qwen",
        "Stop",
        &message("2026-11-15T19:39:14.000Z", json!({"last_assistant_message": "Done."})),
    );
    world.hook_of(
        "qwen",
        "UserPromptSubmit",
        &message("2026-11-15T19:40:00.000Z", json!({"prompt": "continue"})),
    );
    assert_eq!(world.count("prompts"), 2);
}

#[test]
fn a_program_that_only_runs_commands_gets_memory_back() {
    let world = World::new();
    let ended = json!({"session_id": "g1", "last_assistant_message":
        "The dentist of the family is Doctor Larch, because her practice is open on Saturdays."});
    let asked = json!({"session_id": "g1", "prompt": "Who is the dentist of the family?"});
    assert_eq!(world.hook_of("generic", "init", &asked), "");
    assert_eq!(world.hook_of("generic", "summarize", &ended), "");
    world.text(&["queue", "drain", "--all"]);
    for host in ["generic", "whatsapp"] {
        let mut message = json!({"host": host, "session_id": format!("{host}-2"), "cwd": world.project()});
        let start: Value = serde_json::from_str(&world.hook_of("generic", "init", &message)).unwrap();
        let text = start["context"].as_str().unwrap();
        assert!(text.starts_with("<remora-context>\n") && text.contains("Doctor Larch"), "{start}");
        assert_eq!(start.as_object().unwrap().len(), 1, "{start}");
        message["session_id"] = format!("{host}-3").into();
        message["prompt"] = "When is the dentist of the family open?".into();
        let answer: Value = serde_json::from_str(&world.hook_of("generic", "init", &message)).unwrap();
        assert!(answer["context"].as_str().unwrap().contains("Doctor Larch"), "{answer}");
        message["session_id"] = format!("{host}-4").into();
        message["prompt"] = "thanks".into();
        assert_eq!(world.hook_of("generic", "init", &message), "", "there is nothing to inject");
    }
}

#[test]
fn a_chat_is_a_separate_channel_in_one_personal_project() {
    let world = World::new();
    let_agents_reach_everything(&world);
    for (channel, id, text) in
        [("whatsapp", "w1", "The dentist is on Tuesday"), ("mission-control", "m1", "Ship on Friday")]
    {
        let prompt = json!({"host": channel, "session_id": id, "prompt": text});
        world.hook_of("generic", "init", &prompt);
        let ended =
            json!({"host": channel, "session_id": id, "last_assistant_message": format!("Noted: {text}.")});
        world.hook_of("generic", "summarize", &ended);
    }
    let status = world.json(&["status"]);
    assert_eq!(status["projects"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!(status["projects"][0]["name"], "personal");
    assert!(world.text(&["sessions"]).contains("mission-control"));
    world.text(&["queue", "drain"]);
    let finds = |host: &str| {
        let found = world.remora(&["search", "--all", "--host", host, "dentist Friday"]);
        found.status.success()
    };
    assert!(finds("whatsapp") && finds("mission-control") && !finds("telegram"));
    let listed = |host: &str| world.json(&["sessions", "--host", host])["sessions"].as_array().unwrap().len();
    assert_eq!((listed("whatsapp"), listed("telegram")), (1, 0));
}

#[test]
fn cursor_and_windsurf_always_get_their_answer() {
    let world = World::new();
    for (host, event) in
        [("cursor", "beforeSubmitPrompt"), ("windsurf", "pre_user_prompt"), ("cursor", "telepathy")]
    {
        let answer = world.hook_of(
            host,
            event,
            &json!({"conversation_id": "c", "workspace_roots": [world.project()], "prompt": "x"}),
        );
        assert_eq!(answer, "{\"continue\":true}\n");
    }
}
