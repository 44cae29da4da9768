// Editing facts in place, with undo; search in place; notes that follow their settings.

import { fresh, part, root, send } from "./request.js";

const $ = (selector, root = document) => root.querySelector(selector);
const facts = $("#facts-part");
const undo = $("#undo");
const error = $("#facts-error");
let takeBack;

// Renders the facts again. Highlights and focuses `changed`; `next` is only focused.
async function show(changed, next) {
  facts.innerHTML = await part(facts.dataset.address);
  fresh();
  if (changed) document.getElementById(changed)?.classList.add("fresh");
  if (changed ?? next) document.getElementById(changed ?? next)?.focus();
}

// Says what was done and offers to undo it.
function offer(text, id) {
  $("#undo-text").textContent = text;
  takeBack = id;
  $("#undo-do").hidden = !id;
  undo.hidden = false;
}

async function act(work) {
  error.textContent = "";
  try {
    await work();
  } catch (refused) {
    error.textContent = refused.message;
  }
}

const path = (fact) => `/api/memory/facts/${fact.dataset.address}`;
const named = (project) => (project ? { project } : {});

async function change(fact, value, kind) {
  const { key, project, fact: id } = fact.dataset;
  const set = await send(path(fact), { value, ...(kind ? { kind } : {}), ...named(project) }, "PATCH");
  await show(`fact-f${set.id}`);
  offer(`“${key}” is changed.`, `f${set.id}` === id ? null : id);
}

$("#undo-do").addEventListener("click", () => act(async () => {
  const back = await send("/api/v1/facts/undo", { id: takeBack });
  await show(`fact-f${back.id}`);
  offer("Taken back.", null);
}));

facts.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  const fact = button?.closest("[data-fact]");
  if (!fact) return;
  const { key, project, fact: id } = fact.dataset;
  const form = $(".fact-edit", fact);
  const toggle = $("[data-act=edit]", fact);
  const open = (on) => {
    form.hidden = !on;
    toggle.setAttribute("aria-expanded", String(on));
    (on ? form.elements.value : toggle).focus();
  };
  ({
    edit: () => open(form.hidden),
    cancel: () => { form.reset(); open(false); },
    use: () => act(() => change(fact, button.dataset.value)),
    confirm: () => act(async () => {
      await send(path(fact), { confirm: true, ...named(project) }, "PATCH");
      await show(`fact-${id}`);
      offer(`“${key}” is confirmed.`, null);
    }),
    remove: () => act(async () => {
      const query = project ? `?project=${encodeURIComponent(project)}` : "";
      const next = (fact.nextElementSibling ?? fact.previousElementSibling)?.id;
      await send(path(fact) + query, {}, "DELETE");
      await show(null, next);
      offer(`“${key}” is removed.`, id);
      if (!next) $("#undo-do").focus();
    }),
  })[button.dataset.act]?.();
});

facts.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const given = Object.fromEntries(new FormData(form));
  if (form.id === "add-fact") {
    act(async () => {
      const { project, ...said } = given;
      const set = await send("/api/memory/facts", { ...said, ...named(project) });
      await show(`fact-f${set.fact.id}`);
      offer(set.before ? `“${said.key}” is changed.` : `“${said.key}” is added.`, set.before ? `f${set.before.id}` : null);
    });
  } else act(() => change(form.closest("[data-fact]"), given.value, given.kind));
});
facts.addEventListener("keydown", (event) => {
  const form = event.target.closest(".fact-edit");
  if (form && event.key === "Escape") $("[data-act=cancel]", form).click();
});

facts.addEventListener("input", (event) => {
  if (event.target.id !== "filter-facts") return;
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const group of facts.querySelectorAll(".fact-group")) {
    let shown = 0;
    for (const fact of group.querySelectorAll(".fact")) {
      const text = `${fact.dataset.key} ${$(".fact-value", fact).textContent}`.toLowerCase();
      fact.hidden = !words.every((word) => text.includes(word));
      shown += fact.hidden ? 0 : 1;
    }
    group.hidden = shown === 0;
  }
  $("#no-facts").hidden = [...facts.querySelectorAll(".fact-group")].some((group) => !group.hidden);
});

// Search by meaning or by keywords.
const look = $("#look");
const found = $("#found");
let waiting;
let latest = 0;
async function ask() {
  const address = new URL(`${root}/search`, location);
  for (const [name, value] of new FormData(look)) if (value) address.searchParams.set(name, value);
  address.searchParams.set("part", "results");
  const number = ++latest;
  if (!look.elements.q.value.trim()) return;
  const text = await part(address).catch(() => '<p class="error">The daemon does not answer.</p>');
  if (number !== latest) return;
  found.innerHTML = text;
  fresh();
}
look.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, 100);
});
look.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});

// After a change of settings, the daemon scans the notes again.
const notes = $("#notes-part");
document.addEventListener("remora:setting", ({ detail }) => {
  if (!detail.name.startsWith("memory.obsidian_")) return;
  const again = async () => {
    const holder = document.createElement("template");
    holder.innerHTML = await part(notes.dataset.address);
    // The forms stay, because the user may be typing in one.
    const forms = $(".setting-list", notes);
    const focused = document.activeElement;
    holder.content.querySelector(".setting-list").replaceWith(forms);
    notes.replaceChildren(holder.content);
    fresh();
    if (notes.contains(focused)) focused.focus();
  };
  for (const delay of [400, 1500, 4000]) setTimeout(() => again().catch(() => {}), delay);
});
