// Sends changes as JSON with the page's secret. Errors carry the reason.

// The path below which the pages of this browser lie. Addresses that the server writes begin with it.
export const root = location.pathname.match(/^\/[0-9a-f]{32}(?=\/|$)/)?.[0] ?? "";

const page = document.querySelector('meta[name="remora-page"]')?.content ?? "";

const silent = "The daemon does not answer. Start it with: remora daemon start";

// A refusal: its message with the hint. `short` is the message alone, where the hint is on the page already.
function refusal({ message, hint }) {
  const error = new Error(hint ? `${message.replace(/\.$/, "")} (${hint})` : message);
  error.short = message;
  return error;
}

export async function send(path, body, method = "POST") {
  let answer;
  try {
    answer = await fetch(root + path, {
      method,
      headers: { "Content-Type": "application/json", "X-Remora-Page": page },
      body: JSON.stringify(body ?? {}),
    });
  } catch {
    throw new Error(silent);
  }
  const said = await answer.json().catch(() => null);
  if (!answer.ok) throw said?.error ? refusal(said.error) : new Error(answer.statusText);
  return said;
}

// Fetches a part of a page, rendered by the server, from an address with the root.
export async function part(address) {
  let answer;
  try {
    answer = await fetch(address, { headers: { Accept: "text/html" } });
  } catch {
    throw new Error(silent);
  }
  if (answer.status === 404) throw new Error("This record no longer exists.");
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
}

// Whether the reader is working with a part of the page, which then stays.
const isBusy = (place) => place.contains(document.activeElement) || place.querySelector(".panel, .gone, .note")
  || (!document.getSelection().isCollapsed && place.contains(document.getSelection().anchorNode));
const rendered = new Map();

// Renders the parts of this page that show a state again.
export async function renew() {
  const parts = document.querySelectorAll("[data-renews]");
  if (parts.length === 0) return;
  const page = new DOMParser().parseFromString(await part(location.href), "text/html");
  for (const own of parts) {
    const name = own.dataset.renews;
    const next = page.querySelector(`[data-renews="${name}"]`);
    if (!next || isBusy(own) || rendered.get(name) === next.outerHTML) continue;
    rendered.set(name, next.outerHTML);
    own.replaceWith(document.adoptNode(next));
  }
  fresh();
}

// Shows a short confirmation.
export function showBriefly(place, text) {
  place.textContent = text;
  clearTimeout(Number(place.dataset.timer));
  place.dataset.timer = setTimeout(() => { place.textContent = ""; }, 4000);
}

// Signals new content, so that its times are formatted like all others.
export const fresh = () => document.dispatchEvent(new Event("remora:fresh"));
