import type { ServerResponse } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { runMultiplier } from "../../../test/property-runs.ts";
import { malformStream } from "./malformed-replies.ts";
import { createSeededRandom } from "../../../test/seeded-random.ts";
import { malformJson } from "./malformed-requests.ts";
import { sendRawRequest } from "./raw-http.ts";
import type { Json } from "./valid-requests.ts";
import { upstreamToml } from "./test-gateway.ts";
import { findMessagesStreamFaults } from "../check/attack/judge-events.ts";
import { helloBodies, wirePaths, wires, type Wire } from "../check/attack/wires.ts";
import { testGateway, testUpstream } from "./gateway-fixture.ts";
import { beginStream } from "./scripted-upstream.ts";
import { sendJson, buildReply, type ScriptedReply } from "./wire-replies.ts";

/** DELTAWIRE_SEED selects other seeds. */
const firstSeed = Number(process.env["DELTAWIRE_SEED"] ?? 1) * 1_000_000;
const count = 600 * runMultiplier;
const concurrency = 8;

const reply: ScriptedReply = {
  reasoning: ["h", "m"],
  text: ["Hi ", "there"],
  calls: [
    { id: "call_aaaaaa", name: "look", arguments: ['{"at":', "1}"] },
    { id: "call_bbbbbb", name: "look", arguments: ["{}"] },
  ],
  usage: { input: 3, output: 4 },
};

/** Sends a valid reply with a few random faults. */
function sendMalformedReply(
  speaks: Wire,
  response: ServerResponse,
  body: JsonObject,
  seed: number,
): void {
  const random = createSeededRandom(seed);
  if (body["stream"] !== true)
    return sendJson(response, malformJson(random, buildReply(speaks, reply) as Json));
  beginStream(response);
  response.write(malformStream(random, speaks, reply));
  if (random() < 0.1) response.destroy();
  else response.end();
}

test(
  `${count} malformed replies reach clients as valid events that end properly, without an internal error`,
  async () => {
    const upstream = await testUpstream(({ path, body }, response) => {
      const speaks = wires.find((wire) => path.endsWith(wirePaths[wire])) ?? "chat";
      sendMalformedReply(speaks, response, body, Number(body["model"]));
    });
    const gateway = await testGateway(
      wires.map((speaks) => upstreamToml(speaks, upstream.url, { speaks, retries: 0 })).join(""),
    );
    const faults: string[] = [];
    const runRequest = async (seed: number): Promise<void> => {
      // Every client meets every upstream, streamed or not.
      const wire = wires[seed % 3] ?? "chat";
      const model = `${wires[Math.floor(seed / 3) % 3]}/${seed}`;
      const stream = seed % 5 !== 0;
      const { status, text, isComplete } = await sendRawRequest(gateway.url + wirePaths[wire], {
        body: JSON.stringify({ ...helloBodies[wire], model, stream }),
      });
      const data = stream && status === 200 ? [...text.matchAll(/^data: (.*)$/gm)] : [[text, text]];
      const invalidEvents = data.filter(([, each = ""]) => each !== "[DONE]" && !isJson(each));
      if (!isComplete) faults.push(`${seed}: the reply was truncated`);
      if (status === 500) faults.push(`${seed}: ${text}`);
      if (invalidEvents.length > 0) faults.push(`${seed}: ${invalidEvents.join("\n")}`);
      if (stream && status === 200 && !hasFinalEvent(text, wire))
        faults.push(`${seed}: no end: ${text}`);
      if (stream && status === 200 && wire === "messages") {
        const events = data.map(([, each = ""]) => JSON.parse(each) as JsonObject);
        for (const fault of findMessagesStreamFaults(events))
          faults.push(`${seed}: ${fault}: ${text}`);
      }
    };
    let next = 0;
    const runWorker = async (): Promise<void> => {
      while (next < count && faults.length < 5) {
        next += 1;
        await runRequest(firstSeed + next);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, runWorker));
    expect(faults).toEqual([]);
    const entries = gateway.lines.map((line) => JSON.parse(line) as { level: number });
    expect(entries.filter(({ level }) => level >= 50)).toEqual([]);
  },
  60_000 * runMultiplier,
);

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** True if the stream ends with an event by which a client recognizes its end. */
function hasFinalEvent(text: string, wire: Wire): boolean {
  const data = text.split("\n").filter((line) => line.startsWith("data: "));
  const [previous = "", last = ""] = data.slice(-2);
  if (wire === "messages") {
    const { type } = JSON.parse(last.slice("data: ".length)) as JsonObject;
    return type === "message_stop" || type === "error";
  }
  if (wire === "chat")
    return data.at(-1) === "data: [DONE]" || data.at(-1)?.startsWith('data: {"error"') === true;
  const isTerminal = /"type":"response\.(?:completed|incomplete|failed)"/.test(previous);
  return isTerminal && last === "data: [DONE]";
}
