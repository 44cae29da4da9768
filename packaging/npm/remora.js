#!/usr/bin/env node
// Starts the program that belongs to this platform. It came with one of the optional dependencies.
'use strict';

const { spawnSync } = require('node:child_process');

const musl = process.platform === 'linux' && !process.report?.getReport().header.glibcVersionRuntime ? '-musl' : '';
const name = `remora-${process.platform}-${process.arch}${musl}`;
let program;
try {
  program = require.resolve(`${name}/bin/remora${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(`remora: there is no program for ${process.platform}-${process.arch}${musl} (the package ${name} is missing).`);
  console.error('Install without --omit=optional, or build it: cargo install --path crates/remora');
  process.exit(1);
}
const ended = spawnSync(program, process.argv.slice(2), { stdio: 'inherit' });
if (ended.error) {
  console.error(`remora: ${program} cannot be started: ${ended.error.message}`);
  process.exit(1);
}
if (ended.signal) process.kill(process.pid, ended.signal);
process.exit(ended.status ?? 1);
