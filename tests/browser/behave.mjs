// Pages that stay open: nothing is missed, tabs do not block each other, cards follow, errors are pages.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

export async function behave({ context, page, test, until, origin, world, turn, browser, problems }) {
  const token = fs.readFileSync(path.join(world.data, "token"), "utf8");
  const api = async (address, body) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const answer = await fetch(origin + address, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    return answer.json();
  };
  const isLive = async (tab) => (await tab.getAttribute("#live", "data-state")) === "on";
  // Headless Chromium shows every tab, so a test says which one is hidden.
  const see = (tab, state) => tab.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);

  await test("a seventh tab loads while six are open, and a tab that was hidden catches up", async () => {
    const own = await browser.newContext({ storageState: await context.storageState() });
    const tabs = [];
    for (let number = 0; number < 7; number += 1) {
      const tab = await own.newPage();
      await tab.goto(`${origin}/`, { timeout: 15_000 });
      await until("a connection", () => isLive(tab));
      await see(tab, "hidden");
      tabs.push(tab);
    }
    const judge = tabs[6].locator(".given .judge:has([data-verdict=useful])").first();
    const wrong = judge.locator("[data-verdict=wrong]");
    await wrong.click();
    await until("the verdict", async () => (await wrong.getAttribute("aria-pressed")) === "true");
    await wrong.click();
    await until("the way back", async () => (await wrong.getAttribute("aria-pressed")) === "false");
    world.hook("UserPromptSubmit", { session_id: "hidden", prompt: "Asked while nobody looked", prompt_id: "n1" });
    world.hook("Stop", { session_id: "hidden", last_assistant_message: "Nothing to do." });
    await see(tabs[0], "visible");
    await until("what came in the meantime", async () => (await tabs[0].locator("#feed").innerText()).includes("Asked while nobody looked"));
    await own.close();
  });

  await test("what is stored between the page and its stream appears, and an error response does not end the stream", async () => {
    let held;
    const isStream = /\/stream(\?|$)/;
    await page.route(isStream, (route) => { held = route; });
    await page.goto(`${origin}/`);
    await until("a stream that hangs", () => held !== undefined);
    world.hook("UserPromptSubmit", { session_id: "between", prompt: "Asked between page and stream", prompt_id: "b1" });
    world.hook("PostToolUse", { session_id: "between", tool_name: "Bash", tool_use_id: "b2", tool_input: { command: "make between" }, tool_response: { stdout: "ok" } });
    await held.continue();
    await page.unroute(isStream);
    await until("the prompt", async () => (await page.locator("#feed").innerText()).includes("Asked between page and stream"));
    // A running turn shows the command, now and after a reload.
    await until("the step", async () => /Bash make between/.test(await page.locator("#running").innerText()));
    await page.reload();
    assert.match(await page.locator("#running").innerText(), /Bash make between/);
    world.hook("Stop", { session_id: "between", last_assistant_message: "It is made." });

    let refusals = 0;
    await page.route(isStream, (route) => {
      refusals += 1;
      return refusals === 1 ? route.fulfill({ status: 503, body: "busy" }) : route.continue();
    });
    await page.goto(`${origin}/`);
    await until("a new stream", () => isLive(page));
    assert.ok(refusals > 1);
    await page.unroute(isStream);
    const logged = problems.findIndex((problem) => /503/.test(problem));
    assert.notEqual(logged, -1);
    problems.splice(logged, 1);
  });

  await test("the cards of the home page follow, and tell of a pause", async () => {
    await page.goto(`${origin}/`);
    await until("a connection", () => isLive(page));
    const state = page.locator('[data-renews="state"]');
    assert.match(await state.innerText(), /All good/);
    turn(80, "thermostat");
    await until("what was learned", async () => /thermostat/.test(await page.locator('[data-renews="learned"]').innerText()));
    world.hook("SessionStart", { session_id: "cards", source: "startup" });
    await until("what was injected", async () => /thermostat/.test(await page.locator('[data-renews="given"]').innerText()));
    world.remora("pause", "--project");
    try {
      await page.reload();
      assert.match(await state.innerText(), /Worth knowing[^]*paused in project/);
      await page.goto(`${origin}/health`);
      assert.match(await page.locator("main").innerText(), /paused in project/);
    } finally {
      world.remora("resume", "--project");
    }
  });

  await test("forgetting a line forgets its sentence, also in the turn and the summary", async () => {
    turn(81, "barometer");
    const sentence = "The barometer failed because its cache kept a stale entry";
    await until("the observation", async () => JSON.stringify(await api("/api/observations?limit=3")).includes(sentence));
    const id = (await api("/api/observations?limit=3")).items.find((row) => row.title.includes("barometer")).id;
    await page.goto(`${origin}/`);
    const entry = page.locator(`#e-${id}`);
    await entry.locator('[data-panel="forget"]').click();
    await until("the plan", async () => /This will be forgotten: \d+ records/.test(await entry.innerText()));
    const boxes = entry.locator(".also input");
    assert.ok((await boxes.count()) >= 1, await entry.innerText());
    // What is kept on purpose is not in the plan.
    const named = async () => (await entry.locator(".doomed").innerText()).match(/#\w+/g).length;
    const all = await named();
    await boxes.first().uncheck();
    await until("a smaller plan", async () => (await named()) < all);
    await boxes.first().check();
    await until("the whole plan", async () => (await named()) === all);
    await entry.locator(".panel .danger").click();
    await until("the note", async () => /can undo this until/.test(await entry.innerText()));
    const found = await api("/api/search?q=barometer+stale+entry&project=all&mode=text");
    const left = JSON.stringify(found);
    assert.ok(!left.includes("barometer failed"), left);
    const answer = world.hook("UserPromptSubmit", { session_id: "again", prompt: "Why did the barometer fail, and what was its cache doing?", prompt_id: "z1" });
    assert.ok(!answer.includes("barometer failed"), answer);
    world.hook("Stop", { session_id: "again", last_assistant_message: "No idea." });
  });

  await test("errors are pages with a way on, also for a link on another site", async () => {
    for (const [address, status, words] of [
      ["/nope", 404, /Not found/], ["/observations/99999", 404, /99999/], ["/sessions/x", 404, /Not found/], ["/?project=abc", 422, /cannot be read/],
    ]) {
      const answer = await page.goto(origin + address);
      assert.equal(answer.status(), status, address);
      assert.match(answer.headers()["content-type"], /text\/html/, address);
      assert.match(await page.locator("main").innerText(), words, address);
      assert.ok((await page.locator("nav a").count()) > 5, address);
      const logged = problems.findIndex((problem) => new RegExp(String(status)).test(problem));
      if (logged !== -1) problems.splice(logged, 1);
    }
    const elsewhere = http.createServer((request, answer) => {
      answer.setHeader("Content-Type", "text/html");
      answer.end(`<a href="${origin}/sessions">sessions</a>`);
    });
    await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    const tab = await context.newPage();
    await tab.goto(`http://localhost:${elsewhere.address().port}/`);
    await tab.locator("a").click();
    await tab.waitForURL(`${origin}/sessions`);
    assert.match(await tab.innerText("main"), /another site/);
    await tab.locator("main a").click();
    await until("the page", async () => (await tab.locator("h1").innerText()) === "Sessions");
    await tab.close();
    elsewhere.close();
  });

  await test("refusals carry their hints, and a daemon that is gone is named", async () => {
    const short = (pattern) => {
      const logged = problems.findIndex((problem) => pattern.test(problem));
      if (logged !== -1) problems.splice(logged, 1);
    };
    await page.goto(`${origin}/privacy`);
    await page.locator('#forget input[name="dateFrom"]').fill("banana");
    await page.locator("#forget .primary").click();
    await until("the hint", async () => /2026-03-01/.test(await page.locator("#plan").innerText()));
    short(/422/);
    await page.goto(`${origin}/`);
    await context.setOffline(true);
    const judge = page.locator("#feed [data-judge]").first();
    await judge.locator('[data-panel="edit"]').click();
    await until("the reason", async () => /remora daemon start/.test((await judge.getAttribute("data-error")) ?? ""));
    await context.setOffline(false);
  });
}
