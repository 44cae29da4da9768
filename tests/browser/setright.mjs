// Correcting memory in place, and the pages around it: sessions, files, timeline, privacy, queue.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { World, enter } from "./world.mjs";

const hostile = [
  '<script>globalThis.pwned = 1</script><img src=x onerror="globalThis.pwned = 2"> **bold**',
  "[click](javascript:globalThis.pwned=3) ![track](https://evil.example/track.png) <iframe src=//evil.example></iframe>",
  "\u001b[31mred\u001b[0m \u001b]0;title\u0007 and \u202egnp.exe\u202c bidi",
  "</textarea></template><svg onload=globalThis.pwned=4>",
];

export async function setRight({ page, context, test, until, origin, link, browser, world, turn, axe }) {
  const token = fs.readFileSync(path.join(world.data, "token"), "utf8");
  const api = async (address, body, method = body ? "POST" : "GET") => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const answer = await fetch(origin + address, { method, headers, body: body && JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  };
  const entry = (id) => page.locator(`#e-${id}`);
  const title = async (id) => (await api(`/api/observations?ids=${id}`)).body.items[0]?.title;

  // Records to work with, at the top of the feed.
  turn(50, "kettle");
  turn(51, "toaster");
  await until("both observations", async () => (await api("/api/observations?limit=2")).body.items.every((row) => /kettle|toaster/.test(row.title)));

  await test("an observation is edited in place, and the edit is undone", async () => {
    await page.goto(`${origin}/`);
    const id = await page.locator(".entry:has([data-judge])").first().getAttribute("data-id");
    const before = await title(id);
    await entry(id).locator('[data-panel="edit"]').click();
    await entry(id).locator('input[name="title"]').fill("Caches are emptied on every change");
    await entry(id).locator('textarea[name="facts"]').fill("The cache is in `cache.rs`\nIt holds 100 entries");
    await entry(id).locator('select[name="type"]').selectOption("decision");
    await entry(id).locator("form.edit .primary").click();
    await until("the new title", async () => (await entry(id).innerText()).includes("Caches are emptied"));
    const { items: [stored] } = (await api(`/api/observations?ids=${id}`)).body;
    assert.deepEqual([stored.title, stored.type, stored.facts.length], ["Caches are emptied on every change", "decision", 2]);
    assert.match(await entry(id).locator(".kind").first().innerText(), /decision/);
    const { revisions } = (await api(`/api/v1/observations/${id}/revisions`)).body;
    assert.equal(revisions[0].source, "user", "a change on a page is a person's");
    await entry(id).locator('[data-panel="edit"]').click();
    assert.match(await entry(id).locator(".history").innerText(), /before an edit/);
    await entry(id).locator("[data-undo]").click();
    await until("the old title", async () => (await title(id)) === before);
  });

  await test("forgetting shows the plan first and can be undone", async () => {
    await page.goto(`${origin}/`);
    const id = await page.locator(".entry:has([data-judge])").nth(1).getAttribute("data-id");
    await entry(id).locator('[data-panel="forget"]').click();
    await until("the plan", async () => /This will be forgotten: \d+ record/.test(await entry(id).innerText()));
    assert.ok(await title(id), "a plan changes nothing");
    await entry(id).locator(".panel .danger").click();
    await until("the note", async () => /can undo this until/.test(await entry(id).innerText()));
    assert.equal(await title(id), undefined);
    await entry(id).locator(".note button").click();
    await until("the way back", async () => Boolean(await title(id)));
    await until("the entry", async () => entry(id).locator("h3").isVisible());
  });

  await test("verdicts and reasons are at hand on every page that shows an observation", async () => {
    const id = (await api("/api/observations?limit=1")).body.items[0].id;
    const { session_id: session, prompt_number: number } = (await api(`/api/observations?ids=${id}`)).body.items[0];
    for (const address of [`/observations/${id}`, `/sessions/${session}?turn=${number}`, "/search?q=toaster"]) {
      await page.goto(origin + address);
      const judge = page.locator(`[data-judge="${id}"]:visible`).first();
      const wrong = judge.locator('[data-verdict="wrong"]');
      await wrong.click();
      await until("the verdict", async () => (await wrong.getAttribute("aria-pressed")) === "true");
      await page.reload();
      assert.equal(await wrong.getAttribute("aria-pressed"), "true", address);
      await wrong.click();
      await until("the way back", async () => (await wrong.getAttribute("aria-pressed")) === "false");
      await judge.locator('[data-panel="why"]').click();
      await until("reasons", async () => /injected|latest of its project/.test(await page.locator(".panel").innerText()));
      await page.keyboard.press("Escape");
      await until("a closed panel", async () => (await page.locator(".panel").count()) === 0);
    }
    await page.goto(`${origin}/observations/${id}`);
    const pin = page.locator('[data-verdict="pin"]').first();
    await pin.click();
    await until("the pin", async () => (await api(`/api/observations?ids=${id}`)).body.items[0].pinned_at !== null);
    await pin.click();
    await until("no pin", async () => (await api(`/api/observations?ids=${id}`)).body.items[0].pinned_at === null);
  });

  await test("a running turn is seen step by step, and the feed waits while it is paused", async () => {
    await page.goto(`${origin}/`);
    await until("a connection", async () => (await page.getAttribute("#live", "data-state")) === "on");
    world.hook("UserPromptSubmit", { session_id: "live", prompt: "Make the <b>gauge</b> round", prompt_id: "l1" });
    world.hook("PostToolUse", { session_id: "live", tool_name: "Edit", tool_use_id: "l2", tool_input: { file_path: path.join(world.project, "gauge.rs"), old_string: "1", new_string: "1.0" }, tool_response: {} });
    world.hook("PostToolUseFailure", { session_id: "live", tool_name: "Bash", tool_use_id: "l3", tool_input: { command: "cargo test" }, error: "Exit code 1\nno" });
    await until("both steps", async () => (await page.locator(".running .tools li").count()) === 2);
    assert.match(await page.locator(".running").innerText(), /Make the <b>gauge<\/b> round[\s\S]*Edit gauge\.rs[\s\S]*Bash/);
    await page.reload();
    assert.equal(await page.locator(".running .tools li").count(), 2, "it is there for who comes later");
    await until("a connection", async () => (await page.getAttribute("#live", "data-state")) === "on");
    await page.locator("#pause").click();
    world.hook("Stop", { session_id: "live", last_assistant_message: "The gauge was square because its radius was an integer; it is a float now." });
    await until("news that wait", async () => /new/.test(await page.locator("#new").innerText()));
    assert.ok(!(await page.locator("#feed").innerText()).includes("The gauge was square"));
    await until("the end of the turn", async () => (await page.locator(".running").count()) === 0);
    await page.locator("#new").click();
    await until("what waited", async () => (await page.locator("#feed").innerText()).includes("The gauge was square"));
  });

  await test("a session shows steps, failures and results", async () => {
    world.hook("UserPromptSubmit", { session_id: "broken", prompt: "Try something long", prompt_id: "x1" });
    world.hook("SessionEnd", { session_id: "broken", reason: "exit" });
    const sessions = (await api("/api/sessions?limit=100")).body.items;
    const id = sessions.find((session) => session.content_session_id === "live").id;
    await page.goto(`${origin}/sessions/${id}`);
    const text = await page.locator("main").innerText();
    assert.match(text, /Make the <b>gauge|gauge/);
    assert.match(text, /Tried: 2 steps/);
    assert.match(text, /Failed\s+Bash/);
    assert.match(text, /at no cost/);
    assert.match(await page.locator(".beside").innerText(), /The gauge was square/);
    const broken = sessions.find((session) => session.content_session_id === "broken").id;
    await page.goto(`${origin}/sessions/${broken}`);
    assert.match(await page.locator("main").innerText(), /interrupted/);
  });

  await test("files and the timeline show observations with links", async () => {
    await page.goto(`${origin}/files`);
    await page.locator('form[data-instant] input[name="q"]').pressSequentially("sched", { delay: 20 });
    await until("the whole question", () => /q=sched$/.test(page.url()));
    await until("one file", async () => /^1 file/.test(await page.locator("[data-renew]").innerText()));
    await page.locator(".file .slim a").first().click();
    await page.waitForURL(/observations/);
    await page.goto(`${origin}/timeline?project=1`);
    assert.ok((await page.locator(".year rect.l4").count()) > 0);
    await page.locator(".year summary").click();
    assert.match(await page.locator(".year table").innerText(), /20\d\d\s+\d+/);
    await page.locator(".year table a").first().click();
    await page.waitForURL(/day=/);
    assert.ok((await page.locator(".day .entry").count()) > 0);
  });

  await test("privacy: a dry run, a pause, exclusions, the redaction and the log of changes", async () => {
    await page.goto(`${origin}/privacy`);
    await page.locator('#forget input[name="topic"]').fill("lexer");
    await page.locator("#forget .primary").click();
    await until("the plan", async () => /This will be forgotten: .*record/.test(await page.locator("#plan").innerText()));
    assert.match(await page.locator("#plan").innerText(), /lexer/);
    await page.locator("#plan [data-close]").click();
    await page.locator('#forget input[name="topic"]').fill("zz");
    await page.locator("#forget .primary").click();
    await until("a refusal", async () => /matches everything/.test(await page.locator("#plan").innerText()));

    const secret = ["ghp", "_a8F3kQz7LmN2pR5tV9wXyB4cD6eG1hJ0sUoI"].join("");
    await page.locator("#redact textarea").fill(`token ${secret} <private>mine</private> rest`);
    await page.locator("#redact button").click();
    await until("the redaction", async () => /Redacted: /.test(await page.locator("#redacted").innerText()));
    const shown = await page.locator("#redacted").innerText();
    assert.ok(!shown.includes(secret) && !shown.includes("mine") && shown.includes("rest"), shown);
    const files = fs.readdirSync(world.data).filter((name) => fs.statSync(path.join(world.data, name)).isFile());
    assert.deepEqual(files.filter((name) => fs.readFileSync(path.join(world.data, name)).includes(secret)), [], "nothing of it is stored");

    await page.locator('#exclusions textarea[name="capture.exclude_projects"]').fill("/somewhere/private/**");
    await page.locator("#exclusions .primary").click();
    await until("a word", async () => /Saved/.test(await page.locator("#exclusions .said").innerText()));
    assert.match(world.remora("config", "get", "capture.exclude_projects"), /somewhere\/private/);

    await page.locator('[data-capture="pause"]').first().click();
    await until("a pause", async () => /Paused everywhere/.test(await page.locator("main").innerText()));
    assert.match(world.remora("status"), /paused/i);
    await page.locator('[data-capture="resume"]').first().click();
    await until("the end of it", async () => /On\. Hooks store/.test(await page.locator("main").innerText()));
    await page.locator('[data-capture="pause"][data-project]').first().click();
    await until("a pause of one", async () => (await page.locator('[data-capture="resume"][data-project]').count()) === 1);
    await page.locator('[data-capture="resume"][data-project]').click();
    await until("the end of it", async () => (await page.locator('[data-capture="resume"]').count()) === 0);
    assert.match(await page.locator("table").innerText(), /edit|forget/);
  });

  await test("memory is exported as a file that can be read back, and as Markdown", async () => {
    await page.goto(`${origin}/privacy`);
    const saved = async (name) => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name }).click()]);
      return [download.suggestedFilename(), fs.readFileSync(await download.path(), "utf8")];
    };
    const [name, lines] = await saved("Export JSON lines");
    assert.equal(name, "remora-memory.jsonl");
    const rows = lines.trim().split("\n").map((line) => JSON.parse(line));
    assert.ok(rows.some((row) => JSON.stringify(row).includes("The toaster failed because")));
    assert.equal(lines, execFileSync(process.env.REMORA, ["export"], { env: world.env, encoding: "utf8" }), "the same as at a terminal");
    const [document, text] = await saved("Export Markdown");
    assert.equal(document, "remora-memory.md");
    assert.match(text, /The toaster failed because/);
  });

  await test("stored HTML, scripts, Markdown, terminal codes, bidi and a megabyte are shown and never run", async () => {
    const large = `${"A long line with <b>tags</b> and \`code\`. ".repeat(24_000)}\u202e`;
    for (const [index, text] of [...hostile, large].entries()) {
      world.hook("UserPromptSubmit", { session_id: "hostile", prompt: text, prompt_id: `h${index}` });
      world.hook("Stop", { session_id: "hostile", last_assistant_message: `It was decided because of this: ${text}` });
      const saved = await api("/api/v1/memories", { text: text.slice(0, 900_000), title: `Hostile ${index} ${text.slice(0, 60)}`, cwd: world.project });
      assert.equal(saved.status, 200, JSON.stringify(saved.body));
    }
    await until("all of them", async () => /hostile/i.test(JSON.stringify((await api("/api/observations?limit=5")).body)));
    const sessions = (await api("/api/sessions?limit=100")).body.items;
    const story = sessions.find((session) => session.content_session_id === "hostile").id;
    const own = (await api("/api/observations?limit=5")).body.items;
    const addresses = ["/", `/sessions/${story}`, "/sessions", "/search?q=hostile", "/files", "/timeline?project=1", "/queue", "/feed", "/memory?project=1", "/playground?project=1&prompt=what+was+decided+because+of+hostile+tags", "/costs", "/health", "/privacy", "/settings", ...own.map((row) => `/observations/${row.id}`)];
    for (const address of addresses) {
      await page.goto(origin + address);
      const edit = page.locator('[data-panel="edit"]:visible').first();
      if ((await edit.count()) > 0) {
        await edit.click();
        await page.locator("form.edit").first().waitFor();
      }
      const seen = await page.evaluate(() => ({
        pwned: globalThis.pwned,
        strange: document.querySelectorAll("main script, main img, main iframe, main object, main embed, main [onerror], main [onload]").length,
        links: [...document.querySelectorAll("main a")].map((link) => link.getAttribute("href")).filter((href) => !/^(\/|#|https?:)/.test(href ?? "")),
        bidi: /[\u202a-\u202e\u2066-\u2069\u001b]/.test(document.querySelector("main").innerText),
        nodes: document.querySelectorAll("*").length,
        wide: document.documentElement.scrollWidth > innerWidth,
      }));
      const { nodes, ...rest } = seen;
      assert.deepEqual(rest, { pwned: undefined, strange: 0, links: [], bidi: false, wide: false }, address);
      assert.ok(nodes < 3_000, `${address} has ${nodes} nodes`);
    }
  });

  await test("a change needs the session and a page of ours; nothing is let in from elsewhere", async () => {
    const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
    const sign = await page.locator('meta[name="remora-page"]').getAttribute("content");
    const own = { Cookie: cookie, "X-Remora-Page": sign, "Content-Type": "application/json", "Content-Length": 2 };
    const ask = (method, address, headers) => new Promise((resolve, reject) => {
      const request = http.request(origin + address, { method, headers }, (answer) => {
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode));
      });
      request.on("error", reject);
      request.end("{}");
    });
    const routes = [
      ["POST", "/api/observations/1/feedback"], ["PATCH", "/api/v1/observations/1"], ["POST", "/api/v1/observations/1/undo"], ["POST", "/api/v1/forget"],
      ["POST", "/api/v1/forget/undo"], ["POST", "/api/v1/pause"], ["POST", "/api/v1/resume"], ["POST", "/api/v1/redact"], ["POST", "/api/v1/erase"],
      ["POST", "/api/v1/queue/retry"], ["POST", "/api/v1/queue/drop"], ["POST", "/api/settings"],
      ["POST", "/api/memory/facts"], ["PATCH", "/api/memory/facts/port"], ["DELETE", "/api/memory/facts/port"], ["POST", "/api/v1/facts/undo"], ["POST", "/api/v1/memories"],
    ];
    for (const [method, address] of routes) {
      const { Cookie, ...nobody } = own;
      const { "X-Remora-Page": _, ...noPage } = own;
      assert.equal(await ask(method, address, nobody), 401, `${address} without a session`);
      assert.equal(await ask(method, address, noPage), 403, `${address} without a page`);
      assert.equal(await ask(method, address, { ...own, "X-Remora-Page": sign.replace(/./g, "0") }), 403, `${address} with another's sign`);
      assert.equal(await ask(method, address, { ...own, Origin: "http://evil.example" }), 403, `${address} from another origin`);
      assert.equal(await ask(method, address, { ...own, "Sec-Fetch-Site": "cross-site" }), 403, `${address} from another site`);
      assert.equal(await ask(method, address, { ...own, Host: "evil.example" }), 403, `${address} for another host`);
    }
    const answer = await page.goto(`${origin}/`);
    const policy = answer.headers()["content-security-policy"];
    assert.ok(policy.includes("default-src 'none'") && !policy.includes("unsafe"), policy);
    const stranger = await (await browser.newContext()).newPage();
    assert.equal((await stranger.goto(link)).status(), 401, "a link that was followed lets nobody in");
    await stranger.close();
  });

  await test("every page and edit works with the keyboard alone", async () => {
    const names = await page.locator("nav a").allInnerTexts();
    for (const name of names) {
      await page.goto(`${origin}/sessions`);
      await page.keyboard.press("Tab");
      let tabs = 0;
      while ((await page.evaluate(() => document.activeElement?.textContent?.trim())) !== name) {
        await page.keyboard.press("Tab");
        tabs += 1;
        assert.ok(tabs < 40, `${name} is not reached with Tab`);
      }
      await page.keyboard.press("Enter");
      await until(`the page ${name}`, async () => (await page.locator('nav a[aria-current="page"]').innerText()) === name);
      // Every focused control is visible.
      for (let step = 0; step < 12; step += 1) {
        await page.keyboard.press("Tab");
        const hidden = await page.evaluate(() => {
          const on = document.activeElement;
          return on !== document.body && !on.matches(".skip") && on.getClientRects().length === 0;
        });
        assert.ok(!hidden, `${name}: the focus is on something that cannot be seen`);
      }
    }
    await page.goto(`${origin}/`);
    await page.locator("#feed [data-panel=edit]").first().focus();
    await page.keyboard.press("Enter");
    await until("the form", async () => page.evaluate(() => document.activeElement?.name === "title"));
    await page.keyboard.press("Escape");
    await until("the way back", async () => page.evaluate(() => document.activeElement?.dataset.panel === "edit"));
  });

  await test("three thousand entries keep the document below three thousand nodes", async () => {
    const send = async (number) => {
      await api("/api/v1/memories", { text: `Note ${number}: the tide table of harbor ${number % 97} is read from \`tides/${number}.csv\`.\n\n- it has a header\n- it has a footer`, cwd: world.project });
      await api("/api/sessions/init", { contentSessionId: `many-${number % 40}`, cwd: world.project, prompt: `Question ${number} about tides`, prompt_id: `m${number}` });
    };
    for (let number = 0; number < 1_500; number += 25) await Promise.all(Array.from({ length: 25 }, (_, index) => send(number + index)));
    // By words: the ranking by meaning changes while vectors are being made.
    for (const [address, item, most] of [["/", "#feed .entry", 3_000], ["/search?q=tide+table&mode=text", ".hits .entry", 300]]) {
      await page.goto(origin + address);
      const seen = new Set();
      let largest = 0;
      // A busy machine may take a while for the next part; the link shows whether there is one.
      for (let still = 0, isEnd = false; still < (isEnd ? 40 : 600) && seen.size < most;) {
        const before = seen.size;
        const { nodes, ids, more } = await page.evaluate((item) => ({
          more: document.querySelectorAll("main a[data-more]").length,
          nodes: document.querySelectorAll("*").length,
          ids: [...document.querySelectorAll(item)].map((entry) => entry.dataset.record),
        }), item);
        isEnd = more === 0;
        for (const id of ids) seen.add(id);
        largest = Math.max(largest, nodes);
        await page.mouse.wheel(0, 1_400);
        await page.waitForTimeout(30);
        still = seen.size === before ? still + 1 : 0;
      }
      console.log(`# ${address}: ${seen.size} entries scrolled, at most ${largest} nodes`);
      assert.ok(seen.size >= most * 0.9, `${address}: only ${seen.size} entries came`);
      assert.ok(largest < 3_000, `${address} had ${largest} nodes`);
      await page.evaluate(() => scrollTo(0, 0));
      await until("the beginning", async () => page.locator(item).first().isVisible());
    }
  });
}

/** A queue with failed events, caused by a model with invalid answers. */
export class Failing {
  async start() {
    this.server = http.createServer((request, answer) => {
      request.resume();
      answer.setHeader("Content-Type", "application/json");
      answer.end(JSON.stringify({ choices: [{ message: { content: "I would rather not." } }], usage: { prompt_tokens: 10, completion_tokens: 5 } }));
    });
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.world = new World("failing");
    const address = `http://127.0.0.1:${this.server.address().port}/v1`;
    Object.assign(this.world.env, { REMORA_OBSERVER_PROVIDER: "openai", REMORA_OPENAI_BASE_URL: address, REMORA_OPENAI_API_KEY: "none", REMORA_OBSERVER_MODEL: "nonsense" });
    this.world.hook("UserPromptSubmit", { prompt: "Why does the <i>boiler</i> fail?", prompt_id: "f1" });
    this.world.hook("PostToolUse", { tool_name: "Edit", tool_use_id: "f2", tool_input: { file_path: path.join(this.world.project, "boiler.rs"), old_string: "a", new_string: "b" }, tool_response: {} });
    this.world.hook("Stop", { last_assistant_message: "The boiler failed because its valve was stuck; it is opened at the start now." });
    this.link = this.world.start();
  }

  async check({ browser, test, until }) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const origin = await enter(page, this.link);
    await test("failed events say why, show their payload, and can be tried again or dropped", async () => {
      await until("failed events", async () => {
        await page.goto(`${origin}/queue`);
        return (await page.locator('[data-event][data-queue="drop"]').count()) === 3;
      });
      await page.locator("details.why summary").last().click();
      assert.match(await page.locator("details[open] pre").innerText(), /boiler/);
      assert.match(await page.locator("main").innerText(), /4 attempts/);
      // Deleting needs a second click.
      const drop = page.locator('[data-event][data-queue="drop"]').first();
      await drop.click();
      assert.match(await drop.innerText(), /for good/);
      await drop.click();
      await until("one fewer", async () => (await page.locator('[data-event][data-queue="drop"]').count()) === 2);
      await page.locator('[data-queue="retry"]:not([data-event])').click();
      await until("none left", async () => (await page.locator('[data-event][data-queue="drop"]').count()) === 0);
    });
    await test("erasing everything needs the word, and leaves nothing", async () => {
      await page.goto(`${origin}/privacy`);
      const button = page.locator("#erase button");
      await page.locator("#erase input").fill("eras");
      assert.ok(await button.isDisabled());
      await page.locator("#erase input").fill("erase");
      await button.click();
      await page.waitForURL(`${origin}/`);
      assert.match(await page.locator("main").innerText(), /Nothing yet/);
      const files = fs.readdirSync(this.world.data, { recursive: true }).map((name) => path.join(this.world.data, name));
      const left = files.filter((file) => fs.statSync(file).isFile() && fs.readFileSync(file).includes("boiler"));
      assert.deepEqual(left, [], "a file still has it");
      this.world.hook("UserPromptSubmit", { session_id: "after", prompt: "And now?", prompt_id: "a1" });
      await until("what comes after", async () => {
        await page.goto(`${origin}/sessions`);
        return /And now\?/.test(await page.locator("main").innerText());
      });
    });
    await context.close();
  }

  end() {
    this.world?.end();
    this.server?.close();
  }
}
