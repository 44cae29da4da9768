//! Measures how many events a second become observations, with a short queue and with long ones. Run by
//! `scripts/bench`.

use std::io::Write as _;
use std::time::Instant;

use remora_bench::Result;
use remora_bench::daemon::remora_json;
use remora_core::event::{Body, Event, Origin, Outcome, SessionRef, ToolCall, ToolUse};
use remora_core::host::Host;
use remora_core::privacy::clean;
use remora_core::time::Time;
use remora_store::{DataDir, EventRecord, Store};

/// The size of a typical turn.
const EVENTS_A_TURN: u32 = 20;

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    let few = measure(500)?;
    writeln!(out, "drain: {few:.0} events/s with 500 waiting")?;
    for waiting in [5_000, 40_000] {
        let many = measure(waiting)?;
        writeln!(out, "drain: {many:.0} events/s with {waiting} waiting, {:.2} x as many", many / few)?;
    }
    Ok(())
}

/// Fills the queue with sessions of one finished turn each, and measures the drain in events a second.
fn measure(waiting: u32) -> Result<f64> {
    let temp = tempfile::tempdir()?;
    let dir = DataDir::new(temp.path().join("data"));
    let store = Store::open(&dir)?;
    for session in 0..waiting / EVENTS_A_TURN {
        let mut bodies = vec![Body::PromptSubmitted { text: format!("make case {session} pass") }];
        bodies.extend((0..EVENTS_A_TURN - 2).map(|number| tool_use(session, number)));
        bodies.push(Body::TurnEnded {
            message: format!(
                "Case {session} failed because the cache kept a stale entry; it is emptied now."
            ),
            error: None,
        });
        let records: Vec<EventRecord> =
            bodies.into_iter().enumerate().map(|(n, body)| record(session, n, body)).collect();
        store.queue().enqueue_all(&records)?;
    }
    drop(store);
    let began = Instant::now();
    let drained = remora_json(dir.path(), &["queue", "drain", "--all"], &[])?;
    let took = began.elapsed();
    if drained["events"] != waiting || drained["pending"] != 0 {
        return Err(format!("not all of {waiting} events were drained: {drained}").into());
    }
    Ok(f64::from(waiting) / took.as_secs_f64())
}

fn tool_use(session: u32, number: u32) -> Body {
    let command = format!("cargo test case_{session}_{number}");
    let output = format!("test case_{session}_{number} ... ok\n").repeat(30);
    let call = ToolCall::Run { command, output, exit: Some(0) };
    Body::ToolUsed(ToolUse { tool: "Bash".to_owned(), call, outcome: Outcome::Ok, duration_ms: None })
}

fn record(session: u32, number: usize, body: Body) -> EventRecord {
    let origin = Origin { call: Some(format!("call-{number}")), ..Origin::default() };
    let session = SessionRef { host: Host::ClaudeCode, id: session.to_string() };
    let event = Event { session, cwd: "/nowhere/app".to_owned(), origin, agent: None, body };
    EventRecord::new(clean(event), Time::now())
}
