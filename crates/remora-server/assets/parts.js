// Scripts of single pages: privacy, the queue, filters, and parts that load later. The server renders all
// changes.

import { $ } from "./app.js";
import { root, send } from "./request.js";
import { make, plan } from "./edit.js";

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

const forget = $("#forget");
forget?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const holder = $("#plan");
  const request = {};
  for (const [name, value] of new FormData(forget)) if (value.trim() && name !== "everything") request[name] = value.trim();
  // A check box has no useful `value` here.
  if (forget.elements.everything.checked) request.everything = true;
  try {
    await plan(holder, request, (note) => {
      holder.replaceChildren(note);
      note.addEventListener("undone", () => location.reload());
    });
  } catch (error) {
    holder.replaceChildren(make("p", { class: "bad" }, error.message));
  }
});

const exclusions = $("#exclusions");
exclusions?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = $(".said", exclusions);
  const change = {};
  for (const field of exclusions.querySelectorAll("textarea")) if (field.value !== field.defaultValue) change[field.name] = lines(field.value);
  try {
    if (Object.keys(change).length > 0) await send("/api/settings", change);
    for (const field of exclusions.querySelectorAll("textarea")) field.defaultValue = field.value;
    said.textContent = "Saved. Applies from the next event.";
  } catch (error) {
    said.textContent = error.message;
  }
});

const redact = $("#redact");
redact?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const holder = $("#redacted");
  try {
    const { text, found, private: hidden } = await send("/api/v1/redact", { text: redact.elements.text.value });
    const kinds = Object.entries(found).map(([kind, number]) => (number > 1 ? `${kind} (${number})` : kind));
    const says = [kinds.length > 0 ? `Redacted: ${kinds.join(", ")}.` : "No secrets found.", hidden ? "Private text was removed." : ""];
    holder.replaceChildren(make("p", {}, says.join(" ")), make("pre", { tabindex: "0" }, make("code", {}, text || "Nothing would be stored.")));
  } catch (error) {
    holder.replaceChildren(make("p", { class: "bad" }, error.message));
  }
});

const erase = $("#erase");
erase?.elements.word.addEventListener("input", () => {
  $("button", erase).disabled = erase.elements.word.value !== erase.elements.word.dataset.word;
});
erase?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = $(".said", erase);
  said.textContent = "Erasing…";
  try {
    await send("/api/v1/erase", { word: erase.elements.word.value });
    location.href = `${root}/`;
  } catch (error) {
    said.textContent = error.message;
  }
});

// Buttons that change something and then reload the page.
const actions = {
  capture: (button) => send(`/api/v1/${button.dataset.capture}`, button.dataset.project ? { project: button.dataset.project } : {}),
  bringBack: (button) => send("/api/v1/forget/undo", { id: Number(button.dataset.bringBack) }),
  queue: (button) => send(`/api/v1/queue/${button.dataset.queue}`, button.dataset.event ? { ids: [button.dataset.event] } : { all: true }),
};
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-capture], [data-bring-back], [data-queue]");
  if (!button) return;
  const name = Object.keys(actions).find((name) => name in button.dataset);
  // Deleting needs a second click, because it cannot be undone.
  if (button.dataset.queue === "drop" && button.dataset.sure === undefined) {
    button.dataset.sure = "";
    button.textContent = "Drop for good?";
    return;
  }
  button.disabled = true;
  try {
    await actions[name](button);
    location.reload();
  } catch (error) {
    button.disabled = false;
    button.after(make("span", { class: "bad", role: "status" }, ` ${error.message}`));
  }
});

// A filter that applies as you type.
const instant = $("form[data-instant]");
let waiting;
let latest = 0;
instant?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const address = new URL(instant.action);
    for (const [name, value] of new FormData(instant)) if (value) address.searchParams.set(name, value);
    const number = ++latest;
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok || number !== latest) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    $("[data-renew]").replaceWith(document.adoptNode($("[data-renew]", page)));
    history.replaceState(null, "", address);
    document.dispatchEvent(new CustomEvent("renewed"));
  }, 120);
});

// The record that a timeline is about may be far below the first.
$(".day .anchor")?.scrollIntoView({ block: "center" });

// If the year does not fit, the latest weeks are shown first.
for (const year of document.querySelectorAll(".year .scroll")) year.scrollLeft = year.scrollWidth;

// Parts that take a while load after the page.
for (const part of document.querySelectorAll("[data-load]")) {
  part.replaceChildren(make("p", { class: "hint" }, "Loading…"));
  fetch(part.dataset.load, { headers: { Accept: "text/html" } })
    .then(async (answer) => {
      if (!answer.ok) throw new Error(answer.statusText);
      part.innerHTML = await answer.text();
    })
    .catch(() => part.replaceChildren(make("p", { class: "bad" }, "This part could not be loaded.")));
}
