#!/usr/bin/env node
import { homedir } from "node:os";
import { run } from "./cli/run.ts";
import { StandardOutput } from "./cli/standard-output.ts";

const { env, platform } = process;
const stdout = new StandardOutput(process.stdout);
const stderr = new StandardOutput(process.stderr);
// npm runs scripts in the folder of their package; the folder that its user stands in is another.
const isRunByNpm = env["npm_lifecycle_event"] !== undefined;
process.exitCode = await run(process.argv.slice(2), {
  cwd: (isRunByNpm ? env["INIT_CWD"] : undefined) ?? process.cwd(),
  env,
  home: homedir(),
  platform,
  stdout,
  stderr,
});
