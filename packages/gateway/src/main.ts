#!/usr/bin/env node
import { homedir } from "node:os";
import { OutputStream } from "./cli/output-stream.ts";
import { limitYoungGeneration } from "./young-generation.ts";

limitYoungGeneration();
// Imported afterwards: the modules survive, so that the young generation would grow while they are loaded.
const { runCli } = await import("./cli/run-cli.ts");

const { env, platform } = process;
const stdout = new OutputStream(process.stdout);
const stderr = new OutputStream(process.stderr);
// npm runs scripts in the package folder; INIT_CWD is the folder where the user ran npm.
const isRunByNpm = env["npm_lifecycle_event"] !== undefined;
process.exitCode = await runCli(process.argv.slice(2), {
  cwd: (isRunByNpm ? env["INIT_CWD"] : undefined) ?? process.cwd(),
  env,
  home: homedir(),
  platform,
  stdout,
  stderr,
});
