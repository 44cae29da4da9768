// Sends changes as JSON with the page's secret. Errors carry the reason.

const page = document.querySelector('meta[name="remora-page"]')?.content ?? "";

export async function send(path, body, method = "POST") {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: { "Content-Type": "application/json", "X-Remora-Page": page },
      body: JSON.stringify(body ?? {}),
    });
  } catch {
    throw new Error("The daemon does not answer. Start it with: remora daemon start");
  }
  const said = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(said?.error?.message ?? answer.statusText);
  return said;
}

// Fetches a part of a page, rendered by the server.
export async function part(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
}

// Shows a short confirmation.
export function tell(place, text) {
  place.textContent = text;
  clearTimeout(Number(place.dataset.timer));
  place.dataset.timer = setTimeout(() => { place.textContent = ""; }, 4000);
}

// Signals new content, so that its times are formatted like all others.
export const fresh = () => document.dispatchEvent(new Event("remora:fresh"));
