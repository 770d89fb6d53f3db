/*
 * npm run check:recordings [-- FOLDER [--every N]]
 * Plays every recording of a folder end to end: through a gateway with the generic profile, over HTTP, on both client
 * wires. What has to come out is judged by the library's own check of recordings. The last line counts.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { upstreamToml } from "../test/running-gateway.ts";
import { freePort } from "../../../test/free-port.ts";
import { checkedGateway, runScript } from "./checked-gateway.ts";

const [given, ...more] = process.argv.slice(2);
const folder =
  given === undefined
    ? resolve("../shared/fixtures")
    : resolve(process.env["INIT_CWD"] ?? ".", given);
if (!existsSync(folder)) {
  console.error(`${folder} does not exist.\nUsage: npm run check:recordings -- FOLDER [--every N]`);
  process.exit(2);
}

const port = await freePort();
const base = `http://127.0.0.1:${port}/v1`;
// What is recorded as broken stays broken: it is not asked for again.
const gateway = await checkedGateway(
  upstreamToml("up", base, { retries: 0 }) +
    upstreamToml("upresp", base, { speaks: "responses", retries: 0 }),
);
const checker = fileURLToPath(new URL("../../wire/check/served-recordings.ts", import.meta.url));
const where = ["--base", `${gateway.url}/v1`, "--port", String(port)];
process.exitCode = await runScript([checker, folder, ...where, ...more]);
await gateway.close();
