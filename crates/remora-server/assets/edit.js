// Actions on a record in place: verdicts, edit, forget, why. Each can be undone.

import { $, clock, showTimes } from "./app.js";
import { part, root, send } from "./request.js";

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const many = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;
const judges = (id) => document.querySelectorAll(`[data-judge="${CSS.escape(id)}"]`);
const holderOf = (judge) => judge.closest("[data-record]") ?? judge.parentElement;

function complain(judge, error) {
  judge.dataset.error = error.message;
}

// Verdicts.
async function decide(judge, button) {
  const undo = button.getAttribute("aria-pressed") === "true";
  const { verdict } = button.dataset;
  const id = judge.dataset.judge;
  const request = verdict === "pin" && undo ? { verdict: "unpin" } : { verdict, undo };
  button.disabled = true;
  delete judge.dataset.error;
  try {
    await send(`/api/observations/${encodeURIComponent(id)}/feedback`, request);
    const opposite = { useful: "wrong", wrong: "useful" }[verdict];
    for (const other of judges(id)) {
      $(`[data-verdict="${verdict}"]`, other)?.setAttribute("aria-pressed", String(!undo));
      if (opposite) $(`[data-verdict="${opposite}"]`, other)?.setAttribute("aria-pressed", "false");
    }
  } catch (error) {
    complain(judge, error);
  } finally {
    button.disabled = false;
    button.focus();
  }
}

// Panels open below the buttons, one at a time.
function close(judge) {
  judge.nextElementSibling?.matches(".panel") && judge.nextElementSibling.remove();
  for (const button of judge.querySelectorAll("[data-panel]")) button.setAttribute("aria-expanded", "false");
}

async function open(judge, button) {
  const kind = button.dataset.panel;
  const wasOpen = button.getAttribute("aria-expanded") === "true";
  close(judge);
  delete judge.dataset.error;
  if (wasOpen) return;
  const id = judge.dataset.judge;
  try {
    const panel = make("div", { class: "panel" });
    if (kind === "forget") {
      // An injected turn or summary is judged by an observation of its turn, but shows its own text.
      const own = holderOf(judge);
      await plan(panel, { ids: [...new Set([own.dataset.record ?? id, id])] }, (note, ids) => vanish(own, ids, note));
    } else {
      panel.innerHTML = await part(`${root}/observations/${encodeURIComponent(id)}/${kind}`);
    }
    judge.after(panel);
    showTimes(panel);
    button.setAttribute("aria-expanded", "true");
    $("input, textarea, button", panel)?.focus();
  } catch (error) {
    complain(judge, error);
  }
}

// Updates an observation on the page after a change.
async function renew(id) {
  if ($(`.whole[data-record="${CSS.escape(id)}"]`)) {
    location.reload();
    return;
  }
  const answer = await fetch(`${root}/feed/${encodeURIComponent(id)}`, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [title, tag, prose] = ["h3 a", ".kind", ".prose"].map((selector) => page.querySelector(selector));
  for (const judge of judges(id)) {
    close(judge);
    const holder = holderOf(judge);
    if (holder.dataset.record !== id) continue;
    const put = (selector, source) => {
      const own = $(selector, holder);
      if (own && source) own.replaceChildren(...[...source.childNodes].map((node) => document.importNode(node, true)));
      return own;
    };
    put(".t a, h3 a, .says a", title);
    put(".prose", prose);
    const own = put(".kind", tag);
    if (own && tag) own.className = tag.className;
    holder.classList.add("fresh");
  }
}

async function save(form) {
  const said = $(".said", form);
  const id = form.dataset.edit;
  const change = {};
  for (const field of form.elements) {
    if (!field.name) continue;
    const before = field.tagName === "SELECT" ? [...field.options].find((option) => option.defaultSelected)?.value : field.defaultValue;
    if (field.value !== before) change[field.name] = field.value;
  }
  if ("facts" in change) change.facts = change.facts.split("\n").map((line) => line.trim()).filter(Boolean);
  if (Object.keys(change).length === 0) {
    said.textContent = "Nothing to save.";
    return;
  }
  try {
    await send(`/api/v1/observations/${encodeURIComponent(id)}`, change, "PATCH");
    await renew(id);
    for (const judge of judges(id)) $('[data-panel="edit"]', judge)?.focus();
  } catch (error) {
    said.textContent = error.message;
  }
}

async function undo(button) {
  try {
    await send(`/api/v1/observations/${encodeURIComponent(button.dataset.undo)}/undo`, {});
    await renew(button.dataset.undo);
  } catch (error) {
    $(".said", button.closest("form")).textContent = error.message;
  }
}

// Forgetting: shows the plan, then forgets, then offers to undo.
export async function plan(holder, request, done) {
  const { plan: found } = await send("/api/v1/forget", request);
  const also = found.repeated_in ?? [];
  // Records with the same sentences would go on saying them, so they go, too, unless the reader keeps them.
  if (also.length > 0) await choose(holder, request, also, new Set(also.map(({ id }) => id)), done);
  else show(holder, request, found, [], done);
}

async function choose(holder, request, also, chosen, done) {
  const all = { ...request, ids: [...request.ids, ...chosen] };
  const { plan: found } = await send("/api/v1/forget", all);
  const boxes = also.map(({ id, kind, title }) => {
    const box = make("input", { type: "checkbox", value: id });
    box.checked = chosen.has(id);
    box.addEventListener("change", async () => {
      if (box.checked) chosen.add(id);
      else chosen.delete(id);
      await choose(holder, request, also, chosen, done).catch((error) => { $(".said", holder).textContent = error.message; });
      $(`input[value="${CSS.escape(id)}"]`, holder)?.focus();
    });
    return make("label", {}, box, make("span", {}, `${kind} `, make("span", { class: "id" }, `#${id}`), ` ${title}`));
  });
  show(holder, all, found, [make("fieldset", { class: "also" }, make("legend", {}, "The same sentences are in:"), ...boxes)], done);
}

function show(holder, request, found, more, done) {
  const counts = [
    [found.records.length, "record"], [found.events, "queued event"], [found.traces, "trace"], [found.log_entries, "entry of the log"],
  ].filter(([number]) => number > 0).map(([number, thing]) => (thing.startsWith("entry") ? `${many(number, "injection")} in the log` : many(number, thing)));
  const files = (found.files ?? []).map((file) => file.split("/").at(-1));
  const close = make("button", { type: "button", "data-close": "" }, "Cancel");
  if (counts.length === 0 && files.length === 0) {
    holder.replaceChildren(make("p", {}, "Nothing matches."), make("p", { class: "actions" }, close));
    return;
  }
  const reasons = { named: "", literal: "has these words", file: "about the file", similar: "similar", version: "an earlier version" };
  const shown = found.records.slice(0, 50).map((record) => make("li", {},
    make("span", { class: "id" }, `#${record.id}`), " ", record.title, " ",
    make("small", {}, [record.project, reasons[record.reason], record.score && `score ${record.score.toFixed(2)}`].filter(Boolean).join(", "))));
  if (found.records.length > shown.length) shown.push(make("li", {}, `and ${found.records.length - shown.length} more`));
  const act = make("button", { type: "button", class: "danger" }, "Forget");
  const said = make("span", { class: "said", role: "status" });
  act.addEventListener("click", async () => {
    act.disabled = true;
    try {
      const { forgotten } = await send("/api/v1/forget", { ...request, confirm: true });
      done(note(forgotten), request.ids ?? []);
    } catch (error) {
      said.textContent = error.message;
      act.disabled = false;
    }
  });
  holder.replaceChildren(
    make("p", {}, make("strong", {}, "This will be forgotten: "), `${counts.join(", ")}${files.length > 0 ? `; also in the files ${files.join(", ")}` : ""}.`),
    make("ul", { class: "doomed", tabindex: "0", "aria-label": "Records to forget" }, ...shown),
    ...more,
    make("p", { class: "actions" }, act, close, said),
  );
}

// The message after forgetting, with an undo button while undo is possible.
function note(forgotten) {
  const line = make("p", { class: "note", role: "status", tabindex: "-1" });
  if (!forgotten.undo_until) {
    line.append("Forgotten, and erased from every file.");
    return line;
  }
  const until = clock.format(new Date(forgotten.undo_until));
  const button = make("button", { type: "button" }, "Undo");
  line.append(`Forgotten. You can undo this until ${until}. `, button);
  button.addEventListener("click", async () => {
    try {
      await send("/api/v1/forget/undo", { id: forgotten.id });
      line.dispatchEvent(new CustomEvent("undone"));
    } catch (error) {
      line.append(` ${error.message}`);
    }
  });
  return line;
}

// Marks every place that shows one of the records as forgotten. The reader's own one gets the undo button.
function vanish(own, ids, line) {
  const places = (id) => [...[...judges(id)].map(holderOf), ...document.querySelectorAll(`[data-record="${CSS.escape(id)}"]`)];
  const holders = new Set([own, ...ids.flatMap(places)]);
  for (const holder of holders) holder.classList.add("gone");
  own.append(line);
  line.focus();
  line.addEventListener("undone", () => {
    line.remove();
    for (const holder of holders) holder.classList.remove("gone");
    for (const judge of own.querySelectorAll("[data-judge]")) close(judge);
    $("[data-judge] button", own)?.focus();
  });
}

document.addEventListener("click", (event) => {
  const judge = event.target.closest("[data-judge]");
  const verdict = event.target.closest("[data-verdict]");
  const panel = event.target.closest("[data-panel]");
  if (judge && verdict) decide(judge, verdict);
  else if (judge && panel) open(judge, panel);
  else if (event.target.closest("[data-undo]")) undo(event.target.closest("[data-undo]"));
  else if (event.target.closest("[data-close]")) {
    const holder = event.target.closest(".panel");
    const own = holder?.previousElementSibling;
    if (own?.matches("[data-judge]")) {
      const button = $('[aria-expanded="true"]', own);
      close(own);
      button?.focus();
    } else event.target.closest("[data-close]").closest("#plan")?.replaceChildren();
  }
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.edit");
  if (!form) return;
  event.preventDefault();
  save(form);
});
document.addEventListener("keydown", (event) => {
  const panel = event.key === "Escape" && event.target.closest(".panel");
  if (panel) $("[data-close]", panel)?.click();
});
