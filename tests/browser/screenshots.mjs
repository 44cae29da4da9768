// Screenshots of every page in both themes, with a realistic memory. Usage: REMORA=PROGRAM node
// screenshots.mjs DIRECTORY

import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";
import { fill, live } from "./demo.mjs";
import { World, enter } from "./world.mjs";

const to = process.argv[2];
if (!to || !process.env.REMORA) {
  console.error("usage: REMORA=PROGRAM node tests/browser/screenshots.mjs DIRECTORY");
  process.exit(2);
}
fs.mkdirSync(to, { recursive: true });

const world = new World("harbor");
fill(world);
const link = world.start();
live(world);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const context = await browser.newContext();
  const first = await context.newPage();
  const origin = await enter(first, link);
  const storageState = await context.storageState();
  const list = await (await context.request.get(`${origin}/api/sessions?limit=100`)).json();
  const story = list.items.find((session) => session.content_session_id === "work-harbor-0") ?? list.items[0];
  const pages = {
    home: "/", search: "/search?q=why+did+bookings+land+on+the+wrong+day", timeline: `/timeline?project=${story.project_id}`, sessions: "/sessions",
    session: `/sessions/${story.id}`, observation: "/observations/41", files: "/files", memory: `/memory?project=${story.project_id}`,
    playground: `/playground?project=${story.project_id}&prompt=why+did+bookings+land+on+the+wrong+day`, costs: "/costs", settings: "/settings", queue: "/queue", health: "/health", privacy: "/privacy",
  };
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 375]) {
      const own = await browser.newContext({ colorScheme, storageState, viewport: { width, height: width === 375 ? 1600 : 1400 } });
      const page = await own.newPage();
      for (const [name, address] of Object.entries(pages)) {
        await page.goto(origin + address);
        await page.waitForTimeout(250);
        if (name === "observation" || name === "session") await page.locator('[data-panel="edit"]:visible').first().click();
        if (name === "search") await page.locator('[data-panel="forget"]:visible').first().click();
        await page.waitForTimeout(150);
        await page.screenshot({ path: path.join(to, `${name}-${colorScheme}-${width}.png`), fullPage: ["session", "observation", "privacy", "health"].includes(name) });
      }
      await own.close();
    }
  }
  // Two for the README: small, and as WebP, which the browser can write itself.
  for (const [name, colorScheme, address] of [["home", "light", pages.home], ["session", "dark", pages.session]]) {
    const own = await browser.newContext({ colorScheme, storageState, viewport: { width: 1240, height: 800 } });
    const page = await own.newPage();
    await page.goto(origin + address);
    await page.waitForTimeout(400);
    const picture = (await page.screenshot()).toString("base64");
    const canvas = await (await browser.newContext()).newPage();
    const small = await canvas.evaluate(async (picture) => {
      const image = new Image();
      image.src = `data:image/png;base64,${picture}`;
      await image.decode();
      const area = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
      area.getContext("2d").drawImage(image, 0, 0);
      return area.toDataURL("image/webp", 0.85).split(",")[1];
    }, picture);
    fs.writeFileSync(path.join(to, `${name}.webp`), Buffer.from(small, "base64"));
    await own.close();
  }
  console.log(`${fs.readdirSync(to).length} pictures in ${to}`);
} finally {
  await browser.close();
  world.end();
}
