#!/usr/bin/env node
// Runs the program of this platform, which npm installed as an optional dependency. Nothing is downloaded here.
"use strict";
const { spawn } = require("node:child_process");
const name = `@[[.Owner]]/waymark-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/waymark${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`waymark: the package ${name} is not installed: this platform is not built for, or npm ran with --omit=optional`);
  process.exit(3);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`waymark: ${err.message}`);
  process.exit(3);
});
child.on("exit", (code, signal) => process.exit(signal ? 1 : code));
