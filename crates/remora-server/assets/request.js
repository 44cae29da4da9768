// Changes are sent as JSON with the sign of this page. What is refused says why.

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

// A part of a page, rendered by the server.
export async function part(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
}

// A word that it is done, for a moment.
export function tell(place, text) {
  place.textContent = text;
  clearTimeout(Number(place.dataset.timer));
  place.dataset.timer = setTimeout(() => { place.textContent = ""; }, 4000);
}

// New text is in the page: its times are to be written as all others are.
export const fresh = () => document.dispatchEvent(new Event("remora:fresh"));
