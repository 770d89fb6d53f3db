#!/usr/bin/env node
import { homedir } from "node:os";
import { runCli } from "./cli/run-cli.ts";
import { OutputStream } from "./cli/output-stream.ts";

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
