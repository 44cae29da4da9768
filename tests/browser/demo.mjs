// A realistic memory created by real hooks: a year of work on three projects.

import { execFileSync } from "node:child_process";
import path from "node:path";

// Project, prompt, files, commands with their exit codes, and the agent's closing message.
const turns = [
  ["harbor", "Bookings made at midnight show up on the wrong day. Why?", ["src/booking/day.rs", "src/booking/zone.rs"], [["cargo test booking::day", 1], ["cargo test booking::day", 0]],
    "The day was computed in UTC, so bookings after 22:00 in Lisbon landed on the next day. `BookingDay::of` now takes the harbor's zone. Watch out: the nightly report still groups by UTC, and that is on purpose."],
  ["harbor", "Add a retry for the payment webhook", ["src/payments/webhook.rs", "src/payments/retry.rs"], [["cargo test payments", 0]],
    "Webhooks are retried five times with exponential backoff and jitter. I decided against a queue in Redis because the outbox table gives us the same guarantee without another service. Deliveries are idempotent by `event_id`."],
  ["harbor", "The search endpoint takes 900 ms for big marinas", ["src/search/index.rs", "migrations/0042_berth_index.sql"], [["cargo bench search", 0], ["psql -f explain.sql", 1]],
    "The planner ignored `berths_by_marina` because the filter casts `marina_id` to text. Removing the cast brings p95 from 900 ms to 40 ms. Never cast indexed columns in `search/index.rs`."],
  ["harbor", "Can we drop the old pricing table?", ["src/pricing/mod.rs"], [["rg pricing_v1", 0]],
    "Not yet: `invoices` still joins `pricing_v1` for invoices before 2025. We decided to keep it read-only until the archive job has moved them. Open: write the archive job."],
  ["harbor", "Flaky test in the calendar feed", ["tests/calendar_feed.rs"], [["cargo nextest run calendar_feed", 1], ["cargo nextest run calendar_feed", 1], ["cargo nextest run calendar_feed", 0]],
    "The test was flaky because two fixtures share port 4100. Each fixture binds to port 0 now and reads the port back. It passed 200 times in a row."],
  ["harbor", "Release 2.4 failed on staging", ["deploy/health.yaml", "src/http/health.rs"], [["kubectl rollout status deploy/harbor", 1], ["kubectl logs deploy/harbor", 0]],
    "The readiness probe used `localhost`, which resolves to IPv6 first on staging, while the server binds to 0.0.0.0 only. The probe uses 127.0.0.1 now. Deploys happen on Tuesdays only."],
  ["ledger-web", "Make the invoice table accessible", ["src/InvoiceTable.tsx", "src/table.css"], [["npm test -- InvoiceTable", 0]],
    "Headers have scope, rows can be reached by keyboard and the sort state is announced. We decided to keep a real `<table>` and not a grid of divs, because screen readers lose the columns otherwise."],
  ["ledger-web", "Why does the totals row flicker?", ["src/useTotals.ts"], [["npm run test:ui", 1], ["npm run test:ui", 0]],
    "`useTotals` returned a new object on every render, so the memo never held. It returns the same reference while the sums are equal. The flicker is gone."],
  ["ledger-web", "Upgrade to the new date library", ["src/dates.ts", "package.json"], [["npm test", 1], ["npm test", 0]],
    "All formatting goes through `src/dates.ts` now. The old library rounded half months down, the new one up: the statements of February changed by one day, and the tests say so."],
  ["ledger-web", "Export to CSV breaks with commas in names", ["src/exportCsv.ts"], [["npm test -- exportCsv", 0]],
    "Fields were joined without quoting. `exportCsv` quotes every field and doubles quotes. Excel needs a byte order mark, so it is written first."],
  ["dotfiles", "Speed up my shell prompt", ["zsh/prompt.zsh"], [["zsh -i -c exit", 0]],
    "The prompt ran `git status` twice. It reads `.git/HEAD` for the branch and runs one `git status` in the background. Start went from 310 ms to 45 ms."],
  ["dotfiles", "tmux loses colours over ssh", ["tmux.conf"], [["tmux source tmux.conf", 0]],
    "TERM was `screen`, which has 16 colours. `default-terminal` is `tmux-256color` now, with a fallback to `screen-256color` where the terminfo is missing."],
];
const subjects = ["the berth map", "tide tables", "refund emails", "the waiting list", "crane bookings", "season passes", "the harbor log", "fuel invoices", "winter storage", "guest moorings"];
const causes = ["kept a stale entry in its cache", "ran before the migration had finished", "compared local times with UTC", "ignored the second page of results", "held the lock across an await", "rounded cents to whole euros"];

const facts = [
  ["package manager", "pnpm, never npm", "convention"],
  ["deploys", "Tuesdays only, never before a holiday", "convention"],
  ["commit messages", "Imperative, one sentence, why before what", "preference", "--global"],
  ["staging/database", "Port 5433, read-only user harbor_ro", "fact"],
];

export function fill(world) {
  let number = 0;
  const send = (session, project, event, more) => world.hook(event, { session_id: session, cwd: path.join(world.home, project), prompt_id: `p${number}`, ...more });
  const work = (session, [project, prompt, files, commands, closing]) => {
    number += 1;
    send(session, project, "UserPromptSubmit", { prompt });
    for (const file of files) {
      send(session, project, "PostToolUse", {
        tool_name: "Edit", tool_use_id: `e${number}-${file}`,
        tool_input: { file_path: path.join(world.home, project, file), old_string: "before", new_string: "after" },
        tool_response: { filePath: path.join(world.home, project, file) },
      });
    }
    commands.forEach(([command, exit], index) => {
      const about = { tool_name: "Bash", tool_use_id: `b${number}-${index}`, tool_input: { command } };
      if (exit === 0) send(session, project, "PostToolUse", { ...about, tool_response: { stdout: "ok", stderr: "" } });
      else send(session, project, "PostToolUseFailure", { ...about, error: `Exit code ${exit}\nassertion failed` });
    });
    send(session, project, "Stop", { last_assistant_message: closing });
  };
  for (const project of ["harbor", "ledger-web", "dotfiles"]) world.directory(project);
  // A year of smaller turns, then the latest ones, which the pages show first.
  for (let index = 0; index < 40; index += 1) {
    const [subject, cause] = [subjects[index % subjects.length], causes[(index * 5) % causes.length]];
    const project = index % 4 === 3 ? "ledger-web" : "harbor";
    const file = `src/${subject.replace(/^the /, "").replaceAll(" ", "_")}.rs`;
    work(`year-${index}`, [project, `What is wrong with ${subject}?`, [file], [["cargo test", index % 3 === 0 ? 1 : 0]],
      `The fault in ${subject} came from code that ${cause}. It is fixed in \`${file}\`, and a test covers it.`]);
    send(`year-${index}`, project, "SessionEnd", { reason: "exit" });
  }
  turns.forEach((turn, index) => work(`work-${turn[0]}-${Math.floor(index / 3)}`, turn));
  for (const name of new Set(turns.map((turn, index) => `${turn[0]}-${Math.floor(index / 3)}`))) send(`work-${name}`, name.replace(/-\d+$/, ""), "SessionEnd", { reason: "exit" });
  for (const [key, value, kind, ...where] of facts) world.remora("facts", "set", key, value, "--kind", kind, ...where);
  world.remora("queue", "drain", "--all");
  age(world.data);
  world.remora("backup");
}

// Hooks store the current time. To fill a year, older sessions are moved back; one project gets another host,
// and model calls are added for the last month. This uses Python, because its standard library has SQLite and
// not every Node does.
const mover = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
day = 86_400_000
sessions = db.execute("SELECT id, content_session_id FROM sessions ORDER BY id").fetchall()
for id, name in sessions:
    if name.startswith("year-"):
        index = int(name[5:])
        back = (350 - index * 8.5 - (index % 5) * 2) * day + 3_600_000 * (index % 9)
    else:
        back = (len(sessions) - id) * 1.3 * day
    back = max(int(back), 0)
    for table in ["observations", "session_summaries", "user_prompts", "event_traces", "documents", "memory_retrievals"]:
        db.execute(f"UPDATE {table} SET created_at = created_at - ? WHERE session_id = ?", (back, id))
    db.execute("UPDATE sessions SET started_at = started_at - ?1, last_activity_at = last_activity_at - ?1 WHERE id = ?2", (back, id))
db.execute("UPDATE sessions SET host = 'codex' WHERE project_id IN (SELECT id FROM projects WHERE name = 'ledger-web')")
now = db.execute("SELECT max(last_activity_at) FROM sessions").fetchone()[0]
for index in range(96):
    calls = [("anthropic", "claude-haiku-4-5", 3100 + index * 37 % 900, 420 + index * 53 % 300, 0.0052), ("openrouter", "qwen3-coder", 2600 + index * 71 % 700, 380 + index * 29 % 200, 0.0009)]
    provider, model, tokens, answer, usd = calls[1 if index % 5 == 0 else 0]
    db.execute("INSERT INTO llm_usage (session_id, project_id, provider, model, kind, input_tokens, output_tokens, cached_tokens, cost_usd, estimated, outcome, created_at) VALUES (?, ?, ?, ?, 'observe', ?, ?, 0, ?, 0, 'answered', ?)",
        (None, 1 + index % 3, provider, model, tokens, answer, usd, now - int((index * index % 29 + (index % 7) / 7) * day)))
db.commit()
`;
function age(data) {
  execFileSync("python3", ["-c", mover, path.join(data, "remora.db")]);
}

/** Injections for an open page, and a turn in progress. */
export function live(world) {
  const cwd = path.join(world.home, "harbor");
  const send = (event, more) => world.hook(event, { session_id: "today", cwd, ...more });
  send("SessionStart", { source: "startup" });
  send("UserPromptSubmit", { prompt: "How are webhook deliveries retried, and why without Redis?", prompt_id: "q1" });
  send("Stop", { last_assistant_message: "Five times with backoff and jitter, from the outbox table. Nothing was changed." });
  send("UserPromptSubmit", { prompt: "The nightly report is a day off again. Find out why the booking day differs", prompt_id: "q2" });
  for (const [index, file] of ["src/booking/day.rs", "src/report/nightly.rs", "src/booking/zone.rs"].entries()) {
    send("PostToolUse", { tool_name: "Read", tool_use_id: `r${index}`, tool_input: { file_path: path.join(cwd, file) }, tool_response: { file: { filePath: path.join(cwd, file), content: "fn main() {}" } } });
  }
  send("PostToolUseFailure", { tool_name: "Bash", tool_use_id: "r9", tool_input: { command: "cargo test report::nightly" }, error: "Exit code 101\nassertion failed" });
}
