#!/usr/bin/env node
import { homedir } from "node:os";
import { run } from "./cli/run.ts";

const { env, platform, stdout, stderr } = process;
// npm runs scripts in the folder of their package; the folder that its user stands in is another.
const isRunByNpm = env["npm_lifecycle_event"] !== undefined;
// `deltawire models | head` has read enough: nobody is left to tell.
for (const stream of [stdout, stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
process.exitCode = await run(process.argv.slice(2), {
  cwd: (isRunByNpm ? env["INIT_CWD"] : undefined) ?? process.cwd(),
  env,
  home: homedir(),
  platform,
  stdout,
  stderr,
});
