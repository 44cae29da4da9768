// Tries a prompt: at every change, the server shows what would be injected.

import { fresh, part, root, send, showBriefly } from "./request.js";

const form = document.querySelector("#try");
const outcome = document.querySelector("#outcome");
const save = document.querySelector("#try-save");
const reset = document.querySelector("#try-reset");
const error = document.querySelector("#try-error");
const pairs = [["#range-most", "#try-most"], ["#range-score", "#try-score"]].map((names) => names.map((name) => document.querySelector(name)));
const [[, most], [, score]] = pairs;

let waiting;
let latest = 0;

function address() {
  const url = new URL(`${root}/playground`, location);
  for (const [name, value] of new FormData(form)) if (value) url.searchParams.set(name, value);
  return url;
}

async function ask() {
  const number = ++latest;
  const url = address();
  url.searchParams.set("part", "outcome");
  outcome.setAttribute("aria-busy", "true");
  try {
    const text = await part(url);
    if (number !== latest) return;
    outcome.innerHTML = text;
    fresh();
    if (location.pathname === `${root}/playground`) history.replaceState(null, "", address());
  } catch (refused) {
    if (number === latest) error.textContent = refused.message;
  }
  if (number === latest) outcome.removeAttribute("aria-busy");
}

const isSaved = () => Number(most.value) === Number(form.dataset.most) && Number(score.value) === Number(form.dataset.score);

function changed() {
  save.disabled = reset.disabled = isSaved();
  clearTimeout(waiting);
  // A value out of range is not tried: the result would be that of the saved one.
  const wrong = [most, score].find((field) => !field.checkValidity());
  error.textContent = wrong ? `${wrong.labels[0].textContent}: ${wrong.validationMessage}` : "";
  if (wrong) return;
  waiting = setTimeout(ask, 120);
}

for (const [range, field] of pairs) {
  range.addEventListener("input", () => { field.value = range === pairs[1][0] ? Number(range.value).toFixed(2) : range.value; });
  field.addEventListener("input", () => { range.value = field.value; });
}
form.addEventListener("input", changed);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
save.disabled = reset.disabled = isSaved();

save.addEventListener("click", async () => {
  // The fields may change while the request is under way.
  const values = { most: most.value, score: score.value };
  try {
    await send("/api/settings", {
      "memory.auto_retrieve_max_results": values.most,
      "memory.auto_retrieve_min_score": values.score,
    });
    Object.assign(form.dataset, values);
    save.disabled = reset.disabled = isSaved();
    if (save.disabled) most.focus();
    showBriefly(document.querySelector("#try-done"), "Saved");
  } catch (refused) {
    error.textContent = refused.message;
  }
});
reset.addEventListener("click", () => {
  most.value = form.dataset.most;
  score.value = form.dataset.score;
  for (const [range, field] of pairs) range.value = field.value;
  changed();
  most.focus();
});

const auto = document.querySelector("#auto");
auto?.addEventListener("change", async () => {
  const done = document.querySelector("#auto-done");
  try {
    await send("/api/settings", { "memory.auto_retrieve_enabled": auto.checked });
    showBriefly(done, auto.checked ? "On" : "Off");
    if (form.elements.prompt.value.trim()) ask();
  } catch (refused) {
    auto.checked = !auto.checked;
    showBriefly(done, refused.message);
  }
});
