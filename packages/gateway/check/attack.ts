/*
 * npm run attack [-- --minutes N] [--seed N] [--requests N] [--quick] [--only NAME] [--list]
 * Attacks a real gateway, in a process of its own, from all sides: upstreams that answer with anything, MCP servers that do,
 * connections that are no HTTP, requests generated from a seed for every route, and every attack that ever succeeded. Each
 * must end with a reply that a client can read: never a 500, never a hang, never a crash, never a key in a reply or in the
 * log. The gateway measures itself meanwhile: no turn of its event loop may take 200 ms of the processor, and its memory
 * stays bounded. A block is measured again, up to twice and alone, before it counts.
 *   --minutes N   how long requests are generated, after the attacks that are listed (default 2)
 *   --requests N  stop generating after N requests
 *   --seed N      the same seed generates the same (default: another one each time)
 *   --quick       leave out what takes long, and play only some variants of the others: the form of `npm test`
 *   --only NAME   only the part or the attacks whose name contains NAME
 *   --list        print the names of all attacks
 * Prints what was found with the command that repeats it; the last line counts; the exit code is 1 if anything was found.
 */
import { parseArgs } from "node:util";
import type { Part } from "./attack/cases.ts";
import { Report } from "./attack/report.ts";
import { runPart } from "./attack/run-part.ts";
import { secretFor } from "./attack/secrets.ts";
import { connectionsPart } from "./attack/connections.ts";
import { knownPart } from "./attack/known/part.ts";
import { mcpPart } from "./attack/mcp/part.ts";
import { requestsPart } from "./attack/requests/part.ts";
import { upstreamPart } from "./attack/upstream/part.ts";

const help = `Usage: npm run attack -- [--minutes N] [--requests N] [--seed N] [--quick] [--only NAME] [--list]

  --minutes N   how long requests are generated, after the listed attacks (default 2)
  --requests N  stop generating after N requests
  --seed N      the same seed generates the same requests and replies
  --quick       leave out what takes long
  --only NAME   only the part or the attacks whose name contains NAME
  --list        print the names of all attacks`;

const values = readOptions();
if (values.help) {
  console.log(help);
  process.exit(0);
}
const minutes = numberFrom("minutes", values.minutes);
const seed = numberFrom("seed", values.seed);
const mostRequests =
  values.requests === undefined ? undefined : numberFrom("requests", values.requests);
const { only, quick } = values;
/** Beyond this the run counts as hung. */
const mostMinutes = minutes + 15;

const token = secretFor("token of the attacker");
const parts: Record<string, () => Promise<Part>> = {
  "hostile upstreams": () =>
    upstreamPart(token, seed, {
      generated: Math.ceil(minutes * 10),
      quick,
      isWanted: isWanted("hostile upstreams"),
    }),
  "hostile MCP servers": () => mcpPart(token, isWanted("hostile MCP servers")),
  "hostile connections": () => connectionsPart(token, isWanted("hostile connections")),
  "known attacks": () => knownPart(token, isWanted("known attacks")),
  "generated requests": () =>
    requestsPart({ token, seed, minutes, requests: mostRequests, number: generatedNumber() }),
};

const hung = setTimeout(() => {
  console.log(`FAILED: not done after ${mostMinutes} minutes\n0 passed, 1 failed`);
  process.exit(1);
}, mostMinutes * 60_000);
const began = performance.now();
const report = new Report(seed);
if (!values.list) console.log(`seed ${seed}`);
for (const [name, start] of Object.entries(parts)) {
  if (name === "generated requests" && !wantsGenerated()) continue;
  const whole = await start();
  const part = { ...whole, cases: whole.cases.filter(({ slow }) => !quick || slow !== true) };
  try {
    if (values.list) for (const { name } of part.cases) console.log(`${part.name}: ${name}`);
    else if (part.cases.length > 0 || part.generate !== undefined)
      await runPart(part, token, report);
  } finally {
    await part.close();
  }
}
clearTimeout(hung);
if (!values.list) {
  if (report.passed + report.findings.length === 0)
    report.fail(
      "attack",
      only ?? "",
      "no attack has this name; npm run attack -- --list prints all names",
    );
  process.exitCode = report.finish((performance.now() - began) / 1000) ? 0 : 1;
}

/** Whether an attack of a part is one of those that are asked for. */
function isWanted(part: string): (name: string) => boolean {
  return (name) => only === undefined || part.includes(only) || name.includes(only);
}

/** Of a single generated request that is to be repeated. */
function generatedNumber(): number | undefined {
  const number = /^generated request (\d+)$/.exec(only ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}

function wantsGenerated(): boolean {
  return (
    only === undefined || "generated requests".includes(only) || generatedNumber() !== undefined
  );
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        minutes: { type: "string", default: "2" },
        requests: { type: "string" },
        seed: { type: "string", default: String(Date.now() % 1_000_000) },
        only: { type: "string" },
        quick: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    return process.exit(2);
  }
}

function numberFrom(option: string, text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number) && number >= 0) return number;
  console.error(`--${option} must be a number, got "${text}"`);
  return process.exit(2);
}
