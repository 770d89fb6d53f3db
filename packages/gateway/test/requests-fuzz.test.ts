import { expect, test } from "vitest";
import { times } from "../../../test/runs.ts";
import { oddRequest, type OddRequest } from "./odd-requests.ts";
import { ask, say, type RawReply } from "./raw-http.ts";
import { upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream } from "./scene.ts";
import { answers, sendJson, type Reply } from "./wire-replies.ts";

/** Another DELTAWIRE_SEED is another beginning. */
const seed = Number(process.env["DELTAWIRE_SEED"] ?? 1);
const count = 10_000 * times;
const atOnce = 8;
const patienceMs = 5000;

const reply: Reply = {
  reasoning: ["hm"],
  text: ["fine"],
  calls: [{ id: "call_999999", name: "f", arguments: ["{}"] }],
  usage: { input: 1, output: 1 },
};

async function start() {
  const upstream = await anUpstream(({ path, body }, response) => {
    if (path.endsWith("/chat/completions")) answers("chat", response, body, reply);
    else if (path.endsWith("/responses")) answers("responses", response, body, reply);
    else sendJson(response, { data: [] });
  });
  return aGateway(
    ["chat", "responses"].map((speaks) => upstreamToml(speaks, upstream.url, { speaks })).join("") +
      upstreamToml("deepseek", upstream.url, { profile: "deepseek" }) +
      upstreamToml("kimi", upstream.url, { profile: "kimi" }),
  );
}

const models = ["chat/m", "chat/m", "responses/m", "deepseek/m", "kimi/m"];

/** What is wrong with the answer; undefined if nothing is. */
function fault({ status, text, headers, whole }: RawReply): string | undefined {
  if (!whole) return "the answer was cut";
  if (status >= 200 && status < 300) return undefined;
  if (status < 400 || status > 499) return `status ${status}: ${text.slice(0, 300)}`;
  try {
    const { error } = JSON.parse(text) as { error: Record<string, unknown> };
    const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
    const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
    if (!isText(error["message"]) || !isText(error["type"])) return `shape: ${text}`;
    if (!isTextOrNull(error["param"]) || !isTextOrNull(error["code"])) return `shape: ${text}`;
  } catch {
    return `no JSON: ${text.slice(0, 300)}`;
  }
  return headers["content-type"]?.startsWith("application/json") ? undefined : "content-type";
}

async function faultOf(url: string, { path, ...request }: OddRequest): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer for ${patienceMs} ms`), patienceMs);
  });
  const answered = ask(url + path, request).then(fault, (error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    return `no answer: ${String(code ?? error)}`;
  });
  const found = await Promise.race([answered, late]);
  clearTimeout(timer);
  return found;
}

test(
  `${count} odd requests get an answer, or an error in OpenAI's shape, and none is our failure`,
  async () => {
    const gateway = await start();
    const faults: string[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count && faults.length < 5) {
        const at = seed * 1_000_000 + next;
        next += 1;
        const request = oddRequest(at, models);
        const found = await faultOf(gateway.url, request);
        if (found !== undefined)
          faults.push(
            `seed ${at}: ${found}\n${request.path} ${JSON.stringify(request.headers)}\n${request.body.subarray(0, 1500).toString()}`,
          );
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    expect(faults).toEqual([]);
    const entries = gateway.lines.map(
      (line) => JSON.parse(line) as { level: number; status?: number },
    );
    expect(entries.filter(({ level }) => level >= 50)).toEqual([]);
    // Both ends of the range were met: not all of it was refused at the door.
    const statuses = entries.map(({ status = 0 }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(count / 10);
    expect(statuses.filter((status) => status === 400).length).toBeGreaterThan(count / 10);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  },
  60_000 * times,
);

test("bytes of any kind on the socket are answered with 4xx, or not at all, and harm nobody", async () => {
  const gateway = await start();
  for (let at = 0; at < 60; at += 1) {
    const { path, headers, body } = oddRequest(seed * 1000 + at, models);
    const lines = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
    const head = Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines}content-length: ${body.length}\r\n\r\n`,
      "latin1",
    );
    const bytes = Buffer.concat([head, body]);
    // One byte of the head is another.
    bytes[(at * 7919) % head.length] = (at * 104_729) % 256;
    const cut = AbortSignal.timeout(150);
    const said = await Promise.race([
      say(gateway.url, bytes),
      new Promise<string>((resolve) => cut.addEventListener("abort", () => resolve(""))),
    ]);
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1] ?? 400);
    expect([at, status < 500]).toEqual([at, true]);
  }
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
}, 60_000);
