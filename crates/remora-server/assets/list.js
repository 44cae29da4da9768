// Long lists. More entries load as the reader nears the end; those far from the screen leave the document to
// keep it small.

import { showTimes } from "./app.js";

// Items within this many pixels above and below the screen stay.
const near = 1300;
// Number of entries that are added and removed together.
const chunk = 10;

/** Lists by their element. */
export const lists = new Map();

class LongList {
  constructor(element) {
    this.element = element;
    this.chunks = [];
    this.loading = false;
    this.add([...element.children].filter((item) => !item.matches(".empty")));
    this.more = element.parentElement.querySelector(":scope > .pager a[data-more]");
  }

  /** Entries of an item: a group of the feed has several. */
  static weight(item) {
    return Math.max(1, item.querySelectorAll(".entry").length);
  }

  add(items) {
    let part = { items: [], weight: 0 };
    for (const item of items) {
      part.items.push(item);
      part.weight += LongList.weight(item);
      if (part.weight < chunk) continue;
      this.chunks.push(part);
      part = { items: [], weight: 0 };
    }
    if (part.items.length > 0) this.chunks.push(part);
  }

  prepend(item) {
    this.element.prepend(item);
    const first = this.chunks[0];
    if (first && !first.gap && first.weight < chunk) {
      first.items.unshift(item);
      first.weight += 1;
    } else this.chunks.unshift({ items: [item], weight: 1 });
  }

  update() {
    // Measures everything before any change, to avoid repeated layouts.
    const places = this.chunks.map(({ gap, items }) => {
      const [first, last] = gap ? [gap, gap] : [items[0], items.at(-1)];
      return [first.getBoundingClientRect().top, last.getBoundingClientRect().bottom];
    });
    const end = places.at(-1)?.[1] ?? 0;
    this.chunks.forEach((part, index) => {
      const [top, bottom] = places[index];
      const isFar = bottom < -near || top > innerHeight + near;
      if (!isFar && part.gap) this.unfold(part);
      else if (isFar && !part.gap && !isBusy(part)) this.fold(part, (places[index + 1]?.[0] ?? bottom) - top);
    });
    if (this.more && !this.loading && end < innerHeight + near) this.load();
  }

  fold(part, height) {
    part.gap = document.createElement(/^[OU]L$/.test(this.element.tagName) ? "li" : "div");
    part.gap.className = "gap";
    part.gap.setAttribute("aria-hidden", "true");
    part.gap.style.height = `${height}px`;
    part.items[0].before(part.gap);
    part.html = part.items.map((item) => item.outerHTML).join("");
    for (const item of part.items) item.remove();
    part.items = [];
  }

  unfold(part) {
    const holder = document.createElement("template");
    holder.innerHTML = part.html;
    part.items = [...holder.content.children];
    part.gap.replaceWith(...part.items);
    part.gap = null;
    part.html = "";
    for (const item of part.items) showTimes(item);
  }

  async load() {
    this.loading = true;
    const link = this.more;
    try {
      const answer = await fetch(link.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(answer.statusText);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.querySelector("[data-list]");
      const items = [...(found?.children ?? [])].filter((item) => !item.matches(".empty") && !(item.id && document.getElementById(item.id)));
      const nodes = items.map((item) => document.adoptNode(item));
      this.element.append(...nodes);
      for (const node of nodes) showTimes(node);
      this.add(nodes);
      const next = page.querySelector("a[data-more]");
      if (next) link.href = next.getAttribute("href");
      else {
        link.remove();
        this.more = null;
      }
    } catch {
      // The link stays and can be clicked.
      this.more = null;
    }
    this.loading = false;
    update();
  }
}

/** What the reader is working with stays. */
function isBusy(part) {
  return part.items.some((item) => item.contains(document.activeElement) || item.querySelector(".panel, .gone") || item.matches(".gone"));
}

let due = false;
export function update() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    for (const list of lists.values()) list.update();
  });
}

function begin() {
  for (const element of lists.keys()) if (!element.isConnected) lists.delete(element);
  for (const element of document.querySelectorAll("[data-list]")) {
    if (!lists.has(element)) lists.set(element, new LongList(element));
  }
  update();
}

document.addEventListener("renewed", begin);
addEventListener("scroll", update, { passive: true });
addEventListener("resize", update, { passive: true });
begin();
