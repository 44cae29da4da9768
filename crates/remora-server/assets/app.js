// Small enhancements. Every page works without them.

import { root } from "./request.js";

export const $ = (selector, root = document) => root.querySelector(selector);
// On a small screen the navigation is a row that scrolls.
$('nav [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" });

// Times such as `3 minutes ago`, kept current.
// Up to two years are shown in months, because "last year" may mean any day of it.
const units = [["year", 31536e6, 63072e6], ["month", 2592e6], ["week", 6048e5], ["day", 864e5], ["hour", 36e5], ["minute", 6e4]];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
// All times are in the daemon's time zone, as are the days of the timeline and of costs.
const zoned = (options) => {
  const timeZone = document.documentElement.dataset.zone || undefined;
  try {
    return new Intl.DateTimeFormat(undefined, { ...options, timeZone });
  } catch {
    return new Intl.DateTimeFormat(undefined, options);
  }
};
export const clock = zoned({ dateStyle: "medium", timeStyle: "short" });
const here = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
if (clock.format() !== here.format()) $(".foot small")?.append(` · times in ${document.documentElement.dataset.zone}`);
export function showTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime][title]")) {
    const then = new Date(time.dateTime);
    const past = then - Date.now();
    const [unit, length] = units.find(([, length, from = length]) => Math.abs(past) >= from) ?? ["minute", 6e4];
    time.textContent = Math.abs(past) < 6e4 ? "just now" : words.format(Math.trunc(past / length), unit);
    time.title = clock.format(then);
  }
}
showTimes();
setInterval(() => showTimes(), 30_000);
document.addEventListener("remora:fresh", () => showTimes());

// Theme: system, light, dark.
const themes = ["system", "light", "dark"];
const theme = $("#theme");
function showTheme() {
  const now = localStorage.getItem("theme") ?? "system";
  theme.textContent = `Theme: ${now}`;
}
theme?.addEventListener("click", () => {
  const now = localStorage.getItem("theme") ?? "system";
  const next = themes[(themes.indexOf(now) + 1) % themes.length];
  if (next === "system") {
    localStorage.removeItem("theme");
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem("theme", next);
    document.documentElement.dataset.theme = next;
  }
  showTheme();
});
if (theme) showTheme();

// The selected project is in the URL.
$("#project")?.addEventListener("change", (event) => {
  const address = new URL(location.href);
  if (event.target.value) address.searchParams.set("project", event.target.value);
  else address.searchParams.delete("project");
  address.searchParams.delete("offset");
  for (const name of ["around", "before", "turn"]) address.searchParams.delete(name);
  location.href = address;
});

// Search as you type.
const search = $("#search");
const results = $("#results");
if (search && results) {
  let waiting;
  let asking = new AbortController();
  const ask = async () => {
    // Active filters are in the URL and stay.
    const address = new URL(location.href);
    address.searchParams.delete("offset");
    for (const [name, value] of new FormData(search)) {
      if (value && value !== "auto") address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    // Aborts the previous request, whose results are outdated.
    asking.abort();
    asking = new AbortController();
    const part = new URL(address);
    part.searchParams.set("part", "results");
    let text;
    try {
      const answer = await fetch(part, { headers: { Accept: "text/html" }, signal: asking.signal });
      if (!answer.ok) return;
      text = await answer.text();
    } catch {
      return;
    }
    results.innerHTML = text;
    showTimes(results);
    document.dispatchEvent(new CustomEvent("renewed"));
    history.replaceState(null, "", address);
  };
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 80);
  });
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  if (!location.search.includes("q=")) $('input[name="q"]', search).focus();
}

const project = new URLSearchParams(location.search).get("project");

// Keyboard shortcuts.
const keys = $("#keys");
$("#help")?.addEventListener("click", () => keys.showModal());
let went = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  const entries = [...document.querySelectorAll(".entry")];
  const at = entries.indexOf(document.activeElement.closest(".entry"));
  const move = (to) => entries[Math.max(0, Math.min(entries.length - 1, to))]?.focus();
  if (event.key === "g") went = Date.now();
  else if (Date.now() - went < 1000 && { h: 1, t: 1, s: 1 }[event.key]) {
    const scope = project ? `?project=${project}` : "";
    location.href = root + { h: "/", t: "/timeline", s: "/sessions" }[event.key] + scope;
  } else if (event.key === "/") {
    event.preventDefault();
    ($("#search input") ?? $(".find input")).select();
  } else if (event.key === "?") keys.showModal();
  else if (event.key === "j") move(at + 1);
  else if (event.key === "k") move(at - 1);
  else if (event.key === "Enter" && event.target.matches(".entry")) $("a", event.target)?.click();
});

// A link to a record stays in the selected project.
if (project) {
  for (const kind of ["pointerdown", "focusin", "click"]) {
    document.addEventListener(kind, (event) => {
      const link = event.target.closest?.("main a[href]");
      if (!link || link.origin !== location.origin || !/^\/(observations|sessions|timeline|files)\b/.test(link.pathname.slice(root.length))) return;
      const address = new URL(link.href);
      if (address.searchParams.has("project")) return;
      address.searchParams.set("project", project);
      link.href = address;
    }, true);
  }
}
