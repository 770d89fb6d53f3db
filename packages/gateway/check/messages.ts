/*
 * npm run check:messages [-- FOLDER [--chat FILE] [--slow]]
 * Plays a catalog of the Messages API (quirks.json with its run.mjs and upstream.mjs) through a gateway. `--chat`: a catalog of
 * Chat streams, which a Messages client reads. `--slow`: also the cases that wait for pings. Prints what failed, and a summary.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { hasMessagesCatalog, runMessagesCatalog } from "./messages-catalog.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { chat: { type: "string" }, slow: { type: "boolean", default: false } },
});
const workingFolder = process.env["INIT_CWD"] ?? ".";
const [folderArgument] = positionals;
const folder =
  folderArgument === undefined
    ? resolve("../shared/messages")
    : resolve(workingFolder, folderArgument);
const sharedChatCatalog = resolve("../shared/quirks/quirks.json");
const chatCatalog =
  values.chat === undefined
    ? folderArgument === undefined && existsSync(sharedChatCatalog)
      ? sharedChatCatalog
      : undefined
    : resolve(workingFolder, values.chat);
if (!hasMessagesCatalog(folder)) {
  console.error(
    `${folder} has no quirks.json with run.mjs and upstream.mjs.\nUsage: npm run check:messages -- FOLDER`,
  );
  process.exit(2);
}

const rows = await runMessagesCatalog({
  folder,
  isSlow: values.slow,
  ...(chatCatalog === undefined ? {} : { chatCatalog }),
});
for (const { id, way, ok, optional, fails } of rows)
  if (!ok)
    console.log(`${optional ? "failed (optional)" : "FAILED"} ${id} ${way}: ${fails.join(" | ")}`);
const passed = rows.filter(({ ok }) => ok).length;
const failed = rows.filter(({ ok, optional }) => !ok && !optional).length;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
