// The pages Memory, Playground, Costs and Settings. `pages.mjs` calls this with the daemon and the browser it has set up.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

// A fake of OpenAI's API that answers every request with one observation and its token usage.
async function model() {
  const server = http.createServer((request, answer) => {
    let body = "";
    request.on("data", (part) => { body += part; });
    request.on("end", () => {
      const content = "<observation><type>bugfix</type><title>The billing kept a stale price</title><narrative>The price was read once.</narrative></observation>";
      answer.setHeader("Content-Type", "application/json");
      answer.end(JSON.stringify({
        model: JSON.parse(body).model,
        choices: [{ finish_reason: "stop", message: { content } }],
        usage: { prompt_tokens: 1000, completion_tokens: 100 },
      }));
    });
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return server;
}

export async function handleMemory({ test, page, origin, until, hook, turn, remora, env, project, problems }) {
  // The browser logs a refused request in its console. Removes it from the problems if it was expected.
  const refused = (status) => {
    const place = problems.findIndex((problem) => problem.includes(`status of ${status}`));
    assert.notEqual(place, -1, `a request was refused with ${status}`);
    problems.splice(place, 1);
  };
  const token = fs.readFileSync(path.join(env.REMORA_DATA_DIR, "token"), "utf8").trim();
  const facts = page.locator("#facts-part");
  const fact = (key) => facts.locator(`.fact[data-key="${key}"]`);
  const shows = (key, text) => until(`${key}: ${text}`, async () => {
    const found = fact(key);
    return (await found.count()) === 1 && (await found.locator(".fact-main").innerText()).includes(text);
  });

  await test("a fact is added with the keyboard alone", async () => {
    await page.goto(`${origin}/memory?project=1`);
    await facts.locator("#add-fact").waitFor();
    await page.locator("#add-key").focus();
    await page.keyboard.type("package manager");
    await page.keyboard.press("Tab");
    await page.keyboard.type("pnpm, never npm");
    await page.keyboard.press("Enter");
    await shows("package manager", "pnpm, never npm");
    assert.match(await fact("package manager").innerText(), /convention\s+set by you/);
    assert.equal(JSON.parse(remora("facts", "--json"))[0].source, "user", "a page is used by a person");
  });

  await test("a fact is edited in place, and the change is undone", async () => {
    await fact("package manager").locator("[data-act=edit]").click();
    assert.equal(await page.evaluate(() => document.activeElement.name), "value");
    await page.keyboard.press("Escape");
    assert.equal(await fact("package manager").locator(".fact-edit").isVisible(), false);
    await fact("package manager").locator("[data-act=edit]").click();
    await fact("package manager").locator("textarea").fill("yarn");
    await fact("package manager").locator(".fact-edit button").first().click();
    await shows("package manager", "yarn");
    await page.locator("#undo-do").click();
    await shows("package manager", "pnpm, never npm");
  });

  await test("a fact is removed and restored", async () => {
    await fact("package manager").locator("[data-act=remove]").click();
    await until("the fact to go", async () => (await fact("package manager").count()) === 0);
    assert.match(await page.locator("#undo").innerText(), /“package manager” is removed/);
    await page.locator("#undo-do").click();
    await shows("package manager", "pnpm, never npm");
    assert.equal(JSON.parse(remora("facts", "--json"))[0].value, "pnpm, never npm");
  });

  await test("a fact saved by an agent is confirmed", async () => {
    const saved = await fetch(`${origin}/api/memory/facts`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ key: "staging/database", value: "port 5433", project: "1" }),
    });
    assert.equal(saved.status, 200);
    await page.goto(`${origin}/memory`);
    assert.match(await fact("staging/database").innerText(), /saved by an agent/);
    await fact("staging/database").locator("[data-act=confirm]").click();
    await shows("staging/database", "confirmed");
    assert.equal(await fact("staging/database").locator("[data-act=confirm]").count(), 0);
  });

  await test("a conflict is shown side by side and settled", async () => {
    const said = "From now on always use tabs for indentation in this project.";
    const say = (number) => {
      hook("UserPromptSubmit", { session_id: `says${number}`, prompt: said, prompt_id: `says${number}` });
      hook("Stop", { session_id: `says${number}`, last_assistant_message: "I will do that." });
    };
    say(1);
    let key;
    await until("what was said", () => {
      key = JSON.parse(remora("facts", "--json")).find((one) => one.value.includes("tabs"))?.key;
      return key !== undefined;
    });
    await page.goto(`${origin}/memory?project=1`);
    assert.match(await fact(key).innerText(), /said by you in turn 1/);
    await fact(key).locator("[data-act=edit]").click();
    await fact(key).locator("textarea").fill("Two spaces, everywhere.");
    await page.keyboard.press("Tab");
    await fact(key).locator(".fact-edit button").first().click();
    await shows(key, "Two spaces");
    say(2);
    await until("the conflict", async () => {
      await page.goto(`${origin}/memory?project=1`);
      return (await fact(key).locator(".claim").count()) === 2;
    });
    const claims = await fact(key).locator(".claim").allInnerTexts();
    assert.match(claims[0], /Current[^]*Two spaces/);
    assert.match(claims[1], /Also said[^]*tabs/);
    await page.goto(`${origin}/`);
    assert.match(await page.locator('[data-renews="state"]').innerText(), /1 fact is contradicted/);
    await page.goto(`${origin}/memory?project=1`);
    await fact(key).locator("[data-act=use]").click();
    await shows(key, "tabs");
    await until("the end of the conflict", async () => (await fact(key).locator(".claim").count()) === 0);
  });

  await test("memory is searched by meaning and by words", async () => {
    await page.locator("#look input[name=q]").pressSequentially("scheduler", { delay: 10 });
    await until("results", async () => /scheduler failed/.test(await page.locator("#found").innerText()));
    await page.locator("#look label", { hasText: "Words" }).click();
    const asked = page.waitForResponse((answer) => answer.url().includes("mode=semantic"));
    await page.locator("#look label", { hasText: "Meaning" }).click();
    assert.equal((await asked).status(), 200);
  });

  await test("the playground follows the sliders and saves them", async () => {
    await page.goto(`${origin}/playground?project=1`);
    const outcome = page.locator("#outcome");
    await page.locator("#try-prompt").pressSequentially("Why does the scheduler fail?", { delay: 5 });
    await until("an injection", async () => /memor(y is|ies are) injected: \d+ tokens/.test(await outcome.innerText()));
    assert.match(await outcome.innerText(), /score \d\.\d\d, needs 0\.(50|35)/);
    assert.ok((await outcome.locator(".passages li").count()) > 0, "passages with their scores");
    assert.match(await outcome.locator("pre").innerText(), /<remora-context>/);
    const injected = () => outcome.locator(".entry.in").count();
    const before = await injected();
    assert.ok(before > 1, "several records fit");
    await page.locator("#range-most").focus();
    await page.keyboard.press("Home");
    assert.equal(await page.locator("#try-most").inputValue(), "1");
    await until("fewer memories", async () => (await injected()) === 1);
    await page.locator("#range-score").focus();
    await page.keyboard.press("End");
    assert.equal(await page.locator("#try-score").inputValue(), "0.80");
    await until("the other threshold", async () => /score \d\.\d\d, needs 0\.(80|56)/.test(await outcome.innerText()));
    assert.equal(remora("config", "get", "memory.auto_retrieve_min_score").trim(), "0.5", "nothing is saved yet");
    await page.locator("#try-save").click();
    await until("the settings", () => remora("config", "get", "memory.auto_retrieve_min_score").trim() === "0.8");
    assert.equal(remora("config", "get", "memory.auto_retrieve_max_results").trim(), "1");
    await page.locator("#try-most").fill("99");
    await page.locator("#try-save").click();
    await until("the reason", async () => /from 1 to 20/.test(await page.locator("#try-error").innerText()));
    refused(422);
    for (const name of ["max_results", "min_score"]) remora("config", "set", `memory.auto_retrieve_${name}`, "--unset");
  });

  await test("injection with prompts is switched off and on", async () => {
    await page.goto(`${origin}/memory?project=1`);
    await page.locator("#auto").focus();
    await page.keyboard.press("Space");
    await until("it to be off", () => remora("config", "get", "memory.auto_retrieve_enabled").trim() === "false");
    await page.locator("#auto").click();
    await until("it to be on", () => remora("config", "get", "memory.auto_retrieve_enabled").trim() === "true");
  });

  await test("the log of injections has scores, tokens and milliseconds", async () => {
    // Earlier tests have judged the other observations. A debug build needs a longer time limit.
    turn(77, "compiler");
    remora("config", "set", "memory.auto_retrieve_ms", "200");
    await until("an injection with a prompt", async () => {
      const session_id = `logged${Date.now()}`;
      hook("UserPromptSubmit", { session_id, prompt: "Why does the compiler fail?", prompt_id: session_id });
      await page.goto(`${origin}/memory?project=1`);
      return /prompt[^]*Why does the compiler fail\?[^]*#\d+\s+0\.\d\d[^]*\d+\s+\d+/.test(await page.locator(".log").innerText());
    });
  });

  await test("notes are read from a folder that is named on the page", async () => {
    const vault = path.join(project, "..", "notes");
    fs.mkdirSync(vault, { recursive: true });
    fs.writeFileSync(path.join(vault, "Rules.md"), "# House rules\n\nShip on Tuesdays.\n\n#remora\n");
    const folder = page.locator("#s-memory-obsidian-vault");
    await folder.locator("input").fill("notes/here");
    await folder.locator("[data-save]").click();
    await until("the reason", async () => /whole path/.test(await folder.locator(".error").innerText()));
    refused(422);
    await folder.locator("input").fill(vault);
    await page.keyboard.press("Enter");
    await until("the note", async () => /1 note, 1 in every session/.test(await page.locator("#notes-part").innerText()));
    await page.locator(".preview summary").click();
    assert.match(await page.locator(".preview pre").innerText(), /Ship on Tuesdays/);
    const names = page.locator("#s-memory-obsidian-context-notes");
    await names.locator("textarea").fill("Roadmap");
    await names.locator("[data-save]").click();
    await until("the missing note", async () => /Roadmap\s+matches no note/.test(await page.locator("#notes-part").innerText()));
    for (const name of ["vault", "context_notes"]) remora("config", "set", `memory.obsidian_${name}`, "--unset");
  });

  await test("a setting is changed, a wrong value is refused as at a terminal, and a key is never shown", async () => {
    await page.goto(`${origin}/settings`);
    const age = page.locator("#s-search-max-age-days");
    await age.locator("input").fill("soon");
    await page.keyboard.press("Enter");
    await until("the reason", async () => (await age.locator(".error").innerText()) !== "");
    const typed = spawnSync(process.env.REMORA, ["config", "set", "search.max_age_days", "soon"], { env, encoding: "utf8" });
    const reason = await age.locator(".error").innerText();
    assert.match(reason, /expected a whole number from 0 to 36500, not `soon`; nothing was changed/);
    assert.ok(typed.stderr.includes(reason), `${typed.stderr} has ${reason}`);
    refused(422);
    await age.locator("input").fill("90");
    await age.locator("[data-save]").click();
    await until("the change", () => remora("config", "get", "search.max_age_days").trim() === "90");
    await until("its source", async () => /source: config\.toml/.test(await age.innerText()));
    await age.locator("[data-default]").click();
    await until("the default", () => remora("config", "get", "search.max_age_days").trim() === "0");

    const key = page.locator("#s-anthropic-api-key");
    await key.locator("input").fill("sk-test-0123456789");
    await page.keyboard.press("Enter");
    await until("the key", async () => /^set;/.test(await key.locator("input").getAttribute("placeholder")));
    await page.goto(`${origin}/settings`);
    assert.ok(!(await page.content()).includes("sk-test-0123456789"));
    await key.locator("[data-default]").click();
    await until("no key", async () => (await key.locator("input").getAttribute("placeholder")) === "not set");

    const program = page.locator("#s-claude-cli-program");
    assert.ok(await program.locator("input").evaluate((input) => input.readOnly));
    assert.equal(await program.locator("button").count(), 0);
    const port = page.locator("#s-daemon-port");
    assert.match(await port.innerText(), /REMORA_DAEMON_PORT is set in the daemon's environment/);
    await page.locator("#filter").fill("backup");
    assert.equal(await page.locator("form[data-setting]:visible").count(), 2);
    await page.locator("#filter").fill("no such thing");
    assert.ok(await page.locator("#none").isVisible());
    assert.match(await page.locator("section", { hasText: "Agents on this machine" }).first().innerText(), /Claude Code/);
  });

  await test("costs come from real calls, with the numbers as a table", async () => {
    await page.goto(`${origin}/costs`);
    assert.match(await page.locator("main").innerText(), /the built-in observer is free/);
    const server = await model();
    const settings = {
      "openai.base_url": `http://127.0.0.1:${server.address().port}/v1`,
      "observer.model": "test-model",
      "observer.input_price": "2",
      "observer.output_price": "10",
      "observer.provider": "openai",
    };
    for (const [name, value] of Object.entries(settings)) remora("config", "set", name, value);
    turn(50, "billing");
    await until("a call", async () => {
      await page.goto(`${origin}/costs`);
      return /test-model/.test(await page.locator("main").innerText());
    });
    const calls = Number(await page.locator(".numbers dd").nth(2).innerText());
    const row = await page.locator("tr", { hasText: "test-model" }).innerText();
    assert.match(row, new RegExp(`${(1100 * calls).toLocaleString("en")}\\s+\\$${(0.003 * calls).toFixed(4)}`));
    assert.ok((await page.locator(".chart rect").count()) >= 3, "tokens in and out, and money");
    await page.locator("details.more summary").click();
    const days = page.getByRole("region", { name: "Costs by day" });
    assert.match(await days.innerText(), new RegExp((1000 * calls).toLocaleString("en")));
    const price = page.locator("#s-costs-host-input-price");
    await price.locator("input").fill("5");
    await price.locator("[data-save]").click();
    await until("the price", async () => {
      await page.goto(`${origin}/costs`);
      return /at the price you set/.test(await page.locator("main").innerText());
    });
    const budget = page.locator("#s-budget-daily-tokens");
    await budget.locator("input").fill("1");
    await budget.locator("[data-save]").click();
    await until("the end of the budget", async () => {
      await page.goto(`${origin}/costs`);
      return /Today's budget is used up/.test(await page.locator("main").innerText());
    });
    for (const name of [...Object.keys(settings), "budget.daily_tokens"]) remora("config", "set", name, "--unset");
    server.close();
  });

  await test("a change without the secret of a page is refused", async () => {
    const status = await page.evaluate(async (address) => {
      const answer = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
      return answer.status;
    }, `${origin}/api/settings`);
    assert.equal(status, 403);
    refused(403);
  });
}
