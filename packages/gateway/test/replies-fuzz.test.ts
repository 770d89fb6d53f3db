import type { ServerResponse } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { times } from "../../../test/runs.ts";
import { oddStream } from "./odd-replies.ts";
import { chanceFrom } from "../../../test/seeded-random.ts";
import { oddJson } from "./odd-requests.ts";
import { ask } from "./raw-http.ts";
import type { Json } from "./right-requests.ts";
import { upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream, hello, helloChat } from "./scene.ts";
import { beginStream } from "./scripted-upstream.ts";
import { sendJson, wholeReply, type Reply } from "./wire-replies.ts";

/** Another DELTAWIRE_SEED is another beginning. */
const first = Number(process.env["DELTAWIRE_SEED"] ?? 1) * 1_000_000;
const count = 600 * times;
const atOnce = 8;

const reply: Reply = {
  reasoning: ["h", "m"],
  text: ["Hi ", "there"],
  calls: [
    { id: "call_aaaaaa", name: "look", arguments: ['{"at":', "1}"] },
    { id: "call_bbbbbb", name: "look", arguments: ["{}"] },
  ],
  usage: { input: 3, output: 4 },
};

/** A reply as an upstream should send it, with a few things wrong. */
function sendOdd(
  speaks: "chat" | "responses",
  response: ServerResponse,
  body: JsonObject,
  seed: number,
): void {
  const chance = chanceFrom(seed);
  if (body["stream"] !== true)
    return sendJson(response, oddJson(chance, wholeReply(speaks, reply) as Json));
  beginStream(response);
  response.write(oddStream(chance, speaks, reply));
  if (chance() < 0.1) response.destroy();
  else response.end();
}

test(
  `${count} odd replies are told to clients in events that can be read, and none is our failure`,
  async () => {
    const upstream = await anUpstream(({ path, body }, response) => {
      const speaks = path.endsWith("/responses") ? "responses" : "chat";
      sendOdd(speaks, response, body, Number(body["model"]));
    });
    const gateway = await aGateway(
      ["chat", "responses"]
        .map((speaks) => upstreamToml(speaks, upstream.url, { speaks, retries: 0 }))
        .join(""),
    );
    const faults: string[] = [];
    const one = async (seed: number): Promise<void> => {
      const model = `${seed % 2 === 0 ? "chat" : "responses"}/${seed}`;
      const stream = seed % 5 !== 0;
      const isChat = seed % 3 === 0;
      const { status, text, whole } = await ask(
        gateway.url + (isChat ? "/v1/chat/completions" : "/v1/responses"),
        { body: JSON.stringify({ ...(isChat ? helloChat : hello), model, stream }) },
      );
      const data = stream && status === 200 ? text.matchAll(/^data: (.*)$/gm) : [[text, text]];
      const unreadable = [...data].filter(([, each = ""]) => each !== "[DONE]" && !isJson(each));
      if (!whole) faults.push(`${seed}: the answer was cut`);
      if (status === 500) faults.push(`${seed}: ${text}`);
      if (unreadable.length > 0) faults.push(`${seed}: ${unreadable.join("\n")}`);
      if (stream && status === 200 && !isEnded(text, isChat))
        faults.push(`${seed}: no end: ${text}`);
    };
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count && faults.length < 5) {
        next += 1;
        await one(first + next);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    expect(faults).toEqual([]);
    const entries = gateway.lines.map((line) => JSON.parse(line) as { level: number });
    expect(entries.filter(({ level }) => level >= 50)).toEqual([]);
  },
  60_000 * times,
);

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** Every stream ends in a way that a client knows. */
function isEnded(text: string, isChat: boolean): boolean {
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  if (isChat) return last === "data: [DONE]" || last.startsWith('data: {"error"');
  return /"type":"response\.(?:completed|incomplete|failed)"/.test(last);
}
