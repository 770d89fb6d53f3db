/*
 * npm run check:recordings [-- FOLDER [--every N]]
 * Plays every recording of a folder end to end: through a gateway with the generic profile, over HTTP, in both client
 * APIs. The replies are checked by the wire package's own check of recordings. Prints a summary.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { upstreamToml } from "../test/test-gateway.ts";
import { freePort } from "../../../test/free-port.ts";
import { startQuietGateway, runScript } from "./quiet-gateway.ts";

const [folderArgument, ...otherArguments] = process.argv.slice(2);
const folder =
  folderArgument === undefined
    ? resolve("../shared/fixtures")
    : resolve(process.env["INIT_CWD"] ?? ".", folderArgument);
if (!existsSync(folder)) {
  console.error(`${folder} does not exist.\nUsage: npm run check:recordings -- FOLDER [--every N]`);
  process.exit(2);
}

const port = await freePort();
const base = `http://127.0.0.1:${port}/v1`;
// Recorded failures stay failures, so they are not retried.
const gateway = await startQuietGateway(
  upstreamToml("up", base, { retries: 0 }) +
    upstreamToml("upresp", base, { speaks: "responses", retries: 0 }),
);
const checker = fileURLToPath(new URL("../../wire/check/gateway-recordings.ts", import.meta.url));
const gatewayOptions = ["--base", `${gateway.url}/v1`, "--port", String(port)];
process.exitCode = await runScript([checker, folder, ...gatewayOptions, ...otherArguments]);
await gateway.close();
