/*
 * npm run attack [-- --minutes N] [--seed N] [--requests N] [--quick] [--only NAME] [--route PATH] [--list]
 * Attacks a real gateway in a separate process: upstreams and MCP servers with arbitrary replies, connections with invalid
 * HTTP, requests generated from a seed for every route, and every attack that ever succeeded. Each must end with a reply
 * that a client can read: never a 500, a hang, a crash, or a key in a reply or in the log. The gateway also measures itself:
 * no turn of its event loop may use 200 ms of processor time, and its memory must stay bounded. A block is measured again,
 * up to twice and alone, before it counts.
 *   --minutes N   how long requests are generated, after the listed attacks (default 2)
 *   --requests N  stop generating after N requests
 *   --seed N      the same seed generates the same requests (default: random)
 *   --quick       skip slow attacks and most variants of the others, as `npm test` does
 *   --only NAME   run only the part or the attacks whose name contains NAME
 *   --route PATH  only generated requests, and only for this route, such as /v1/messages
 *   --list        print the names of all attacks
 * Prints each finding with the command that repeats it, and a summary. Exits with 1 if there are findings.
 */
import { parseArgs } from "node:util";
import type { AttackPart } from "./attack/cases.ts";
import { Report } from "./attack/report.ts";
import { runPart } from "./attack/run-part.ts";
import { createSecret } from "./attack/secrets.ts";
import { createConnectionsPart } from "./attack/connections.ts";
import { createKnownPart } from "./attack/known/part.ts";
import { createMcpPart } from "./attack/mcp/part.ts";
import { createRequestsPart } from "./attack/requests/part.ts";
import { createUpstreamPart } from "./attack/upstream/part.ts";

const help = `Usage: npm run attack -- [--minutes N] [--requests N] [--seed N] [--quick] [--only NAME] [--route PATH] [--list]

  --minutes N   how long requests are generated, after the listed attacks (default 2)
  --requests N  stop generating after N requests
  --seed N      the same seed generates the same requests and replies
  --quick       skip slow attacks and most variants of the others
  --only NAME   run only the part or the attacks whose name contains NAME
  --route PATH  only generated requests, and only for this route, such as /v1/messages
  --list        print the names of all attacks`;

const values = readOptions();
if (values.help) {
  console.log(help);
  process.exit(0);
}
const minutes = parseNumberOption("minutes", values.minutes);
const seed = parseNumberOption("seed", values.seed);
const maxRequests =
  values.requests === undefined ? undefined : parseNumberOption("requests", values.requests);
const { quick, route } = values;
const only = values.only ?? (route === undefined ? undefined : "generated requests");
/** A longer run counts as hung. */
const maxMinutes = minutes + 15;

const token = createSecret("token of the attacker");
const parts: Record<string, () => Promise<AttackPart>> = {
  "hostile upstreams": () =>
    createUpstreamPart(token, seed, {
      generated: Math.ceil(minutes * 10),
      quick,
      isSelected: isSelected("hostile upstreams"),
    }),
  "hostile MCP servers": () => createMcpPart(token, isSelected("hostile MCP servers")),
  "hostile connections": () => createConnectionsPart(token, isSelected("hostile connections")),
  "known attacks": () => createKnownPart(token, isSelected("known attacks")),
  "generated requests": () =>
    createRequestsPart({
      token,
      seed,
      minutes,
      requests: maxRequests,
      number: parseGeneratedNumber(),
      route,
    }),
};

const hungTimer = setTimeout(() => {
  console.log(`FAILED: not done after ${maxMinutes} minutes\n0 passed, 1 failed`);
  process.exit(1);
}, maxMinutes * 60_000);
const startedAt = performance.now();
const report = new Report(seed, route === undefined ? "" : ` --route ${route}`);
if (!values.list) console.log(`seed ${seed}`);
for (const [name, start] of Object.entries(parts)) {
  if (name === "generated requests" && !includesGenerated()) continue;
  const completePart = await start();
  const part = {
    ...completePart,
    cases: completePart.cases.filter(({ slow }) => !quick || slow !== true),
  };
  try {
    if (values.list) for (const { name } of part.cases) console.log(`${part.name}: ${name}`);
    else if (part.cases.length > 0 || part.generate !== undefined)
      await runPart(part, token, report);
  } finally {
    await part.close();
  }
}
clearTimeout(hungTimer);
if (!values.list) {
  if (report.passed + report.findings.length === 0)
    report.fail(
      "attack",
      only ?? "",
      "no attack has this name; npm run attack -- --list prints all names",
    );
  process.exitCode = report.finish((performance.now() - startedAt) / 1000) ? 0 : 1;
}

/** True if an attack was selected on the command line. */
function isSelected(part: string): (name: string) => boolean {
  return (name) => only === undefined || part.includes(only) || name.includes(only);
}

/** Returns the number of the generated request to repeat, if `--only` names one. */
function parseGeneratedNumber(): number | undefined {
  const number = /^generated request (\d+)$/.exec(only ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}

function includesGenerated(): boolean {
  return (
    only === undefined ||
    "generated requests".includes(only) ||
    parseGeneratedNumber() !== undefined
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
        route: { type: "string" },
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

function parseNumberOption(option: string, text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number) && number >= 0) return number;
  console.error(`--${option} must be a number, got "${text}"`);
  return process.exit(2);
}
