// Live updates. A page sends the position it has reached, and the server sends what came after it.

import { $, showTimes } from "./app.js";
import { lists, update } from "./list.js";
import { renew, root } from "./request.js";

const live = $("#live");
const feed = $("[data-feed]");
const fresh = $("#new");
const pause = $("#pause");
const now = $("#now");
const project = new URLSearchParams(location.search).get("project");
// Maximum number of entries in a group.
const mostInGroup = 10;
// Maximum number of steps shown for a running turn.
const mostSteps = 6;
const held = [];
let paused = false;

function say(state, text) {
  live.dataset.state = state;
  live.textContent = text;
}

// Adds an entry to the top group if it is of the same session.
function put(entry) {
  const top = feed.firstElementChild;
  const { session } = entry.dataset;
  if (top?.matches(".group") && top.dataset.session === session && top.querySelectorAll(".entry").length < mostInGroup) {
    top.querySelector(".session").after(entry);
    return;
  }
  const group = document.createElement("div");
  group.className = "group";
  group.setAttribute("role", "group");
  group.dataset.session = session;
  group.setAttribute("aria-label", `Session ${session}`);
  const head = document.createElement("p");
  head.className = "session";
  const link = document.createElement("a");
  link.href = `${root}/sessions/${encodeURIComponent(session)}`;
  link.textContent = entry.dataset.project || `Session ${session}`;
  head.append(link);
  group.append(head, entry);
  lists.get(feed)?.prepend(group);
}

async function insert(id) {
  if (document.getElementById(`e-${id}`)) return;
  const answer = await fetch(`${root}/feed/${id}`, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  const entry = holder.content.querySelector(".entry");
  if (!entry || document.getElementById(entry.id)) return;
  entry.classList.add("fresh");
  $(".empty", feed)?.remove();
  put(entry);
  showTimes(entry);
  // The event has no project, but its entry has.
  const meta = $(`[data-turn^="${entry.dataset.session}-"] .meta`);
  if (meta?.children.length === 1) {
    const name = document.createElement("span");
    name.textContent = entry.dataset.project;
    meta.prepend(name);
  }
  update();
}

// Processes events one by one, in order. After a lost connection, the interrupted one is retried.
let working = false;
async function work() {
  if (working) return;
  working = true;
  while (held.length > 0 && !paused) {
    try {
      await insert(held[0]);
      held.shift();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
  working = false;
  fresh.hidden = held.length === 0 || !paused;
  fresh.textContent = `${held.length} new`;
}

function arrive(id) {
  if (!feed || !fresh) return;
  held.push(id);
  work();
}

function go(on) {
  paused = !on;
  pause.setAttribute("aria-pressed", String(paused));
  pause.textContent = paused ? "Resume" : "Pause";
  work();
}
fresh?.addEventListener("click", () => go(true));
pause?.addEventListener("click", () => go(paused));

// The element of a turn in progress.
function turnOf(row) {
  return document.querySelector(`[data-turn="${row.session_id}-${row.prompt_number}"]`);
}

// Text between backticks as code, like titles that the server writes.
function coded(text) {
  const parts = text.split("`");
  // An unpaired backtick stays as it is.
  if (parts.length % 2 === 0) {
    const last = parts.pop();
    parts.push(`${parts.pop()}\`${last}`);
  }
  return parts.map((part, number) => {
    if (number % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
}

function begin(row) {
  end(row.session_id);
  const article = document.createElement("article");
  article.className = "running";
  article.dataset.turn = `${row.session_id}-${row.prompt_number}`;
  const asked = document.createElement("p");
  asked.className = "asked";
  const link = document.createElement("a");
  link.href = `${root}/sessions/${row.session_id}?turn=${row.prompt_number}`;
  link.append(...coded((row.text ?? "A turn").replace(/\s+/g, " ").slice(0, 200)));
  asked.append(link);
  const meta = document.createElement("p");
  meta.className = "meta";
  const count = document.createElement("span");
  count.dataset.count = "";
  count.textContent = "0";
  const steps = document.createElement("span");
  steps.append(count, " steps");
  meta.append(steps);
  const tools = document.createElement("ol");
  tools.className = "plain tools";
  article.append(asked, meta, tools);
  $("#running").prepend(article);
  now.hidden = false;
  return article;
}

function end(session) {
  for (const other of document.querySelectorAll("[data-turn]")) if (other.dataset.turn.startsWith(`${session}-`)) other.remove();
  now.hidden = !$("[data-turn]");
}

function step(row) {
  const article = turnOf(row) ?? begin(row);
  const line = document.createElement("li");
  const tool = document.createElement("strong");
  tool.textContent = row.tool;
  const what = document.createElement("span");
  what.textContent = ` ${(row.subject ?? (row.files ?? []).join(", ")).slice(0, 120)}`;
  line.append(tool, what);
  if (row.outcome && row.outcome !== "ok") line.className = "bad";
  const tools = $(".tools", article);
  tools.append(line);
  while (tools.children.length > mostSteps) tools.firstElementChild.remove();
  const count = $("[data-count]", article);
  count.textContent = String(Number(count.textContent) + 1);
}

// Injections, records and the state of the queue are rendered by the server again, at most every two seconds.
let renewing;
function renewSoon() {
  renewing ??= setTimeout(async () => {
    renewing = undefined;
    await renew().catch(() => {});
  }, 2000);
}

const isHere = (row) => !project || !row.project_id || String(row.project_id) === project;
const names = { observation: (row) => row.id, summary: (row) => `s${row.id}`, prompt: (row) => `t${row.id}` };
const handlers = {
  tool: (row) => now && isHere(row) && step(row),
  queue: () => {},
};
for (const [kind, name] of Object.entries(names)) {
  handlers[kind] = (row) => {
    if (!isHere(row)) return;
    arrive(name(row));
    if (!now) return;
    if (kind === "prompt") begin(row);
    else if (turnOf(row)) end(row.session_id);
  };
}

// The position in the stream. It starts with the one the page was rendered at, so that nothing is missed until
// the stream is open.
let place = $('meta[name="remora-place"]')?.content ?? "";
let stream;
let retry;
let pauseBefore = 1000;
let isKnown = false;

function connect() {
  clearTimeout(retry);
  if (stream || document.visibilityState === "hidden") return;
  stream = new EventSource(`${root}/stream?lastEventId=${encodeURIComponent(place)}`);
  stream.onopen = () => {
    pauseBefore = 1000;
    say("on", "live");
  };
  // The browser reconnects by itself after a lost connection, but never after an error response.
  stream.onerror = ({ target }) => {
    say("off", "reconnecting");
    if (target.readyState !== EventSource.CLOSED) return;
    disconnect();
    retry = setTimeout(connect, pauseBefore);
    pauseBefore = Math.min(pauseBefore * 2, 30_000);
  };
  for (const [kind, handle] of Object.entries(handlers)) {
    stream.addEventListener(kind, (event) => {
      handle(JSON.parse(event.data));
      if (event.lastEventId) place = event.lastEventId;
      // The first state of the queue is the one that the page shows.
      if (now && (kind !== "queue" || isKnown)) renewSoon();
      isKnown ||= kind === "queue";
    });
  }
}

function disconnect() {
  clearTimeout(retry);
  stream?.close();
  stream = undefined;
}

// A browser opens only six connections to one host, so a page holds one only while somebody sees it.
function follow() {
  if (document.visibilityState === "hidden") {
    disconnect();
    say("off", "waiting");
  } else connect();
}

if (live) {
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", follow);
  follow();
}
