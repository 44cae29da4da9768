// Settings as forms, on any page that has them. The server checks a value and renders the form again.

import { part, renew, root, send, showBriefly } from "./request.js";

const given = (control) => {
  if (control.dataset.kind === "switch") return control.checked;
  if (control.dataset.kind === "lines") return control.value.split("\n").map((line) => line.trim()).filter(Boolean);
  return control.value;
};
const control = (form) => form.querySelector("[name=value]");
const initial = new WeakMap();

function watch(form) {
  const own = control(form);
  if (own) initial.set(form, JSON.stringify(given(own)));
}
document.querySelectorAll("form[data-setting]").forEach(watch);

function mark(form) {
  const own = control(form);
  const save = form.querySelector("[data-save]");
  if (save && own) save.hidden = JSON.stringify(given(own)) === initial.get(form);
}

async function change(form, value) {
  const name = form.dataset.setting;
  const error = form.querySelector(".error");
  error.textContent = "";
  control(form)?.removeAttribute("aria-invalid");
  try {
    await send("/api/settings", { [name]: value });
  } catch (refused) {
    error.textContent = refused.short ?? refused.message;
    control(form)?.setAttribute("aria-invalid", "true");
    return;
  }
  const holder = document.createElement("template");
  holder.innerHTML = await part(`${root}/settings?part=${encodeURIComponent(name)}`);
  const fresh = holder.content.querySelector("form");
  const had = form.contains(document.activeElement);
  form.replaceWith(fresh);
  watch(fresh);
  if (had) control(fresh)?.focus();
  showBriefly(fresh.querySelector(".done"), value === null ? "Default restored" : "Saved");
  document.dispatchEvent(new CustomEvent("remora:setting", { detail: { name, value } }));
  // Figures on this page may depend on the setting.
  renew().catch(() => {});
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-setting]");
  if (!form) return;
  if (event.target.dataset.kind === "switch") change(form, event.target.checked);
  else mark(form);
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-setting]");
  if (!form) return;
  event.preventDefault();
  const own = control(form);
  if (own && own.dataset.kind !== "switch") change(form, given(own));
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-default]");
  const form = button?.closest("form[data-setting]");
  if (form) change(form, null);
});

// Filters the list of settings.
const filter = document.querySelector("#filter");
const only = document.querySelector("#only-set");
function narrow() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const section of document.querySelectorAll("main .section")) {
    let own = 0;
    for (const form of section.querySelectorAll("form[data-setting]")) {
      const text = `${form.dataset.setting} ${form.textContent}`.toLowerCase();
      form.hidden = !words.every((word) => text.includes(word)) || (only.checked && !form.querySelector(".tag.set"));
      own += form.hidden ? 0 : 1;
    }
    section.hidden = own === 0;
    shown += own;
  }
  document.querySelector("#none").hidden = shown > 0;
}
filter?.addEventListener("input", narrow);
only?.addEventListener("input", narrow);
