// A temporary data directory, a daemon, and hook messages as a host sends them.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** Follows a sign-in link. Returns the address below which the pages of this browser lie, without a slash at its end. */
export async function enter(page, link) {
  await page.goto(link);
  await page.waitForURL((address) => address.pathname !== "/enter");
  const { origin, pathname } = new URL(page.url());
  return origin + (pathname.match(/^\/[0-9a-f]{32}(?=\/)/)?.[0] ?? "");
}

export class World {
  constructor(name = "project") {
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), "remora-browser-"));
    this.data = path.join(this.home, "data");
    this.project = this.directory(name);
    this.env = { PATH: process.env.PATH, HOME: this.home, REMORA_DATA_DIR: this.data, REMORA_DAEMON_PORT: "0" };
    // This process is the host of its sessions, and also the person who looks at several projects.
    fs.mkdirSync(this.data, { recursive: true, mode: 0o700 });
    fs.writeFileSync(path.join(this.data, "config.toml"), '[mcp]\nprojects = ["all"]\n', { mode: 0o600 });
    // An agent with hooks, so that the doctor finds nothing.
    this.directory(".claude");
    execFileSync(process.env.REMORA, ["install", "--yes"], { env: this.env, cwd: this.project, stdio: "ignore" });
  }

  directory(name) {
    const directory = path.join(this.home, name);
    fs.mkdirSync(directory, { recursive: true });
    return directory;
  }

  remora(...words) {
    return execFileSync(process.env.REMORA, words, { env: this.env, cwd: this.project, encoding: "utf8" });
  }

  hook(event, more) {
    const message = { session_id: "one", cwd: this.project, hook_event_name: event, ...more };
    const ran = spawnSync(process.env.REMORA, ["hook", "claude-code"], { env: this.env, input: JSON.stringify(message) });
    assert.equal(ran.status, 0);
    return ran.stdout.toString();
  }

  /** Starts the daemon and returns a sign-in link. */
  start() {
    this.remora("daemon", "start");
    // A daemon that was just started by a hook may not listen yet.
    for (let tries = 0; ; tries += 1) {
      try {
        return this.remora("ui", "--print").trim();
      } catch (error) {
        if (tries >= 50) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      }
    }
  }

  stop() {
    spawnSync(process.env.REMORA, ["daemon", "stop"], { env: this.env });
  }

  end() {
    this.stop();
    fs.rmSync(this.home, { recursive: true, force: true });
  }
}
