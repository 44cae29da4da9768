// Drives the pages of a real daemon with a real browser. Run by `scripts/test`, which sets REMORA to the program.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";
import { behave } from "./behave.mjs";
import { handleMemory } from "./memory.mjs";
import { Failing, setRight } from "./setright.mjs";
import { watchThieves } from "./thief.mjs";
import { World, enter } from "./world.mjs";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const world = new World();
const { project } = world;
const hook = (event, more) => world.hook(event, more);

function turn(number, subject) {
  hook("UserPromptSubmit", { prompt: `Why does the ${subject} fail?`, prompt_id: `p${number}` });
  hook("PostToolUse", {
    tool_name: "Edit", tool_use_id: `t${number}`,
    tool_input: { file_path: path.join(project, `${subject}.rs`), old_string: "a", new_string: "b" },
    tool_response: { filePath: path.join(project, `${subject}.rs`) },
  });
  hook("Stop", { last_assistant_message: `The ${subject} failed because its cache kept a stale entry; it is emptied on every change now.` });
}

const subjects = ["parser", "lexer", "scheduler", "indexer"];
subjects.forEach((subject, number) => turn(number, subject));
const link = world.start();
const { host } = new URL(link);
// Known once the browser is signed in.
let origin;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

// A page may still be reloading after a change, which aborts the next navigation of a test: waits and tries again.
function steady(page) {
  const go = page.goto.bind(page);
  page.goto = async (...words) => {
    for (let tries = 0; ; tries += 1) {
      try {
        return await go(...words);
      } catch (error) {
        if (tries === 20 || !/interrupted by another navigation/.test(error.message)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  };
  return page;
}

const open = browser.newContext.bind(browser);
browser.newContext = async (...words) => {
  const context = await open(...words);
  const add = context.newPage.bind(context);
  context.newPage = async () => steady(await add());
  return context;
};

const failing = new Failing();
let tests = 0;
async function test(name, run) {
  await run();
  tests += 1;
  console.log(`ok - ${name}`);
}

try {
  await failing.start();
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  const page = await context.newPage();
  const problems = [];
  // A topic that is too short is refused on purpose.
  const isShortTopic = (message) => /status of 422/.test(message.text()) && message.location().url.endsWith("/api/v1/forget");
  const isMeant = (message) => /ERR_INTERNET_DISCONNECTED|net::ERR/.test(message.text()) || isShortTopic(message);
  page.on("console", (message) => message.type() === "error" && !isMeant(message) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => new URL(request.url()).host === host || problems.push(`left the origin: ${request.url()}`));
  const texts = () => page.locator("#feed").innerText();
  const until = async (what, holds) => {
    for (let tries = 0; tries < 300; tries += 1) {
      if (await holds()) return;
      await page.waitForTimeout(100);
    }
    assert.fail(`${what} did not happen`);
  };

  await test("the link works once", async () => {
    origin = await enter(page, link);
    assert.equal(page.url(), `${origin}/`);
    const other = await (await browser.newContext()).newPage();
    const answer = await other.goto(link);
    assert.equal(answer.status(), 401);
    assert.match(await other.innerText("body"), /remora ui/);
  });

  await test("a new observation appears in the open page", async () => {
    await until("a connection", async () => (await page.getAttribute("#live", "data-state")) === "on");
    turn(10, "allocator");
    await until("the observation", async () => (await texts()).includes("The allocator failed because"));
  });

  await test("nothing is missed over twenty lost connections", async () => {
    for (let number = 0; number < 20; number += 1) {
      await context.setOffline(true);
      hook("UserPromptSubmit", { prompt: `Question number ${number} of the outage`, prompt_id: `lost${number}` });
      await context.setOffline(false);
    }
    await until("every prompt", async () => {
      const text = await texts();
      return Array.from({ length: 20 }, (_, number) => `number ${number} of`).every((part) => text.includes(part));
    });
  });

  await test("an injected line is judged in place", async () => {
    hook("SessionStart", { session_id: "two", source: "startup" });
    await page.goto(`${origin}/`);
    const judge = page.locator(".given .judge:has([data-verdict=useful])").first();
    await judge.locator("[data-verdict=useful]").click();
    await until("the verdict", async () => (await judge.locator("[data-verdict=useful]").getAttribute("aria-pressed")) === "true");
    await judge.locator("[data-verdict=useful]").click();
    await until("the way back", async () => (await judge.locator("[data-verdict=useful]").getAttribute("aria-pressed")) === "false");
  });

  await test("search works as you type, has filters, and is in the URL", async () => {
    await page.goto(`${origin}/search`);
    await page.locator("#search input[name=q]").pressSequentially("scheduler cache", { delay: 20 });
    await until("results", async () => /scheduler failed/.test(await page.locator("#results").innerText()));
    await until("the whole question", () => /q=scheduler\+cache/.test(page.url()));
    // The count matches the results.
    const total = Number((await page.locator("#results .summary").innerText()).match(/^(\d+)/)[1]);
    const facet = (name) => page.locator(".facets > div", { has: page.getByRole("heading", { name, exact: true }) });
    const counts = await facet("Record").locator("small").allInnerTexts();
    assert.equal(counts.reduce((sum, count) => sum + Number(count), 0), total);
    const file = facet("File").locator("li", { hasText: "scheduler.rs" });
    const known = Number(await file.locator("small").innerText());
    await file.locator("a").click();
    await page.waitForURL(/file=scheduler\.rs/);
    assert.equal(await page.locator(".hits .entry").count(), known, "as many as the facet counted");
    assert.equal(await facet("File").count(), 0, "an active filter is not a facet");
    // Typing more keeps the filter; its chip removes it.
    await page.locator("#search input[name=q]").press("End");
    await page.locator("#search input[name=q]").pressSequentially(" stale", { delay: 20 });
    await until("the filter with more letters", () => /q=scheduler\+cache\+stale/.test(page.url()) && /file=/.test(page.url()));
    await page.locator(".chip", { hasText: "file: scheduler.rs" }).click();
    await page.waitForURL((url) => !url.search.includes("file="));
    assert.equal(await page.locator(".chip").count(), 0);
    await page.goBack();
    await page.goBack();
    assert.match(page.url(), /q=scheduler\+cache$/);
    assert.equal(await page.locator("#search input[name=q]").inputValue(), "scheduler cache");
    await page.goto(`${origin}/search?q=cache&record=observation&type=bugfix`);
    assert.equal(await page.locator(".chip").count(), 2);
    await page.locator(".clear").click();
    await page.waitForURL(/q=cache$/);
    // A late response does not replace a newer one.
    let held;
    await page.route(/q=parser&part=results/, (route) => { held = route; });
    await page.locator("#search input[name=q]").fill("parser");
    await until("a request that hangs", () => held !== undefined);
    await page.locator("#search input[name=q]").fill("indexer");
    await until("the later answer", async () => /indexer failed/.test(await page.locator("#results").innerText()));
    await held.continue().catch(() => {});
    await page.unroute(/q=parser&part=results/);
    await page.waitForTimeout(200);
    assert.match(await page.locator("#results .t").first().innerText(), /indexer/);
    await page.locator(".hits .t a").first().click();
    await page.waitForURL(/observations|sessions/);
  });

  await test("shortcuts open every page", async () => {
    await page.goto(`${origin}/`);
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.name), "q");
    await page.keyboard.press("Escape");
    await page.locator("main").focus();
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.waitForURL(/sessions/);
    await page.keyboard.press("?");
    assert.equal(await page.locator("#keys").evaluate((dialog) => dialog.open), true);
    await page.keyboard.press("Escape");
    for (let tab = 0; tab < 40; tab += 1) {
      await page.keyboard.press("Tab");
      const on = await page.evaluate(() => document.activeElement?.textContent?.trim());
      if (on === "Health") break;
      assert.notEqual(tab, 39, "Health is not reached with Tab");
    }
    await page.keyboard.press("Enter");
    await page.waitForURL(/health/);
  });

  await watchThieves({ context, page, test, until, origin, world });
  await behave({ context, page, test, until, origin, world, turn, browser, problems });
  await setRight({ page, context, test, until, origin, link, browser, world, turn, axe });
  await failing.check({ browser, test, until });

  await handleMemory({ test, page, origin, until, hook, turn, remora: (...words) => world.remora(...words), env: world.env, project, problems });

  const pages = [
    "/", "/feed", "/search", "/search?q=cache", "/search?q=cache&type=bugfix&since=7+days+ago", "/timeline", "/timeline?project=1", "/sessions", "/sessions/1", "/observations/1", "/files",
    "/memory", "/memory?project=1", "/playground?prompt=Why+does+the+parser+fail%3F", "/costs", "/queue", "/health", "/privacy", "/settings",
  ];
  for (const scheme of ["light", "dark"]) {
    await test(`axe finds nothing in ${scheme}, on any page and on a small screen`, async () => {
      const own = await browser.newContext({ colorScheme: scheme, storageState: await context.storageState(), bypassCSP: true });
      const look = await own.newPage();
      look.on("console", (message) => message.type() === "error" && problems.push(`${look.url()}: ${message.text()}`));
      look.on("request", (request) => new URL(request.url()).host === host || problems.push(`left the origin: ${request.url()}`));
      for (const width of [1280, 375]) {
        await look.setViewportSize({ width, height: 800 });
        for (const address of pages) {
          await look.goto(origin + address);
          // Includes parts that are collapsed at first.
          await look.evaluate(() => {
            for (const part of document.querySelectorAll("main details")) part.open = true;
            for (const edit of document.querySelectorAll("[data-act=edit]")) edit.click();
          });
          if (address === "/privacy") {
            await look.locator("#forget select[name=project]").selectOption("1");
            await look.locator("#forget input[name=everything]").check();
            await look.locator("#forget button").click();
            await look.locator("#plan .doomed").waitFor();
          }
          await look.evaluate(axe);
          // Off by default in this version of axe.
          const rules = { "label-content-name-mismatch": { enabled: true } };
          const { violations } = await look.evaluate((rules) => globalThis.axe.run({ rules }), rules);
          const found = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 300)}`);
          assert.deepEqual(found, [], `${address} at ${width}`);
          const wide = await look.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${address} is ${wide} wide on ${width}`);
        }
      }
      await own.close();
    });
  }

  assert.deepEqual(problems, []);
  console.log(`${tests} browser tests passed`);
} finally {
  await browser.close();
  failing.end();
  world.end();
}
