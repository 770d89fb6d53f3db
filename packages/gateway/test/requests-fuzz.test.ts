import { expect, test } from "vitest";
import { runMultiplier } from "../../../test/property-runs.ts";
import { createMalformedRequest, type MalformedRequest } from "./malformed-requests.ts";
import { sendRawRequest, sendBytes, type RawReply } from "./raw-http.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testGateway, testUpstream } from "./gateway-fixture.ts";
import { sendReply, sendJson, type ScriptedReply } from "./wire-replies.ts";

/** Set DELTAWIRE_SEED to get other requests. */
const seed = Number(process.env["DELTAWIRE_SEED"] ?? 1);
const count = 10_000 * runMultiplier;
const concurrency = 8;
const timeoutMs = 5000;

const reply: ScriptedReply = {
  reasoning: ["hm"],
  text: ["fine"],
  calls: [{ id: "call_999999", name: "f", arguments: ["{}"] }],
  usage: { input: 1, output: 1 },
};

async function start() {
  const upstream = await testUpstream(({ path, body }, response) => {
    if (path.endsWith("/chat/completions")) sendReply("chat", response, body, reply);
    else if (path.endsWith("/messages")) sendReply("messages", response, body, reply);
    else if (path.endsWith("/count_tokens")) sendJson(response, { input_tokens: 1 });
    else if (path.endsWith("/responses")) sendReply("responses", response, body, reply);
    else sendJson(response, { data: [] });
  });
  return testGateway(
    ["chat", "responses", "messages"]
      .map((speaks) => upstreamToml(speaks, upstream.url, { speaks }))
      .join("") +
      upstreamToml("deepseek", upstream.url, { profile: "deepseek" }) +
      upstreamToml("kimi", upstream.url, { profile: "kimi" }),
  );
}

const models = ["chat/m", "chat/m", "responses/m", "messages/m", "deepseek/m", "kimi/m"];

/** Returns what is wrong with the reply, or undefined. */
function findFault(
  { status, text, headers, isComplete }: RawReply,
  isMessages: boolean,
): string | undefined {
  if (!isComplete) return "the answer was cut";
  if (status >= 200 && status < 300) return undefined;
  if (status < 400 || status > 499) return `status ${status}: ${text.slice(0, 300)}`;
  try {
    const { type, error } = JSON.parse(text) as { type?: string; error: Record<string, unknown> };
    const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
    const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
    if (!isText(error["message"]) || !isText(error["type"])) return `shape: ${text}`;
    if (isMessages) {
      const isValid = type === "error" && String(error["type"]).endsWith("_error");
      if (!isValid && error["type"] !== "request_too_large") return `shape: ${text}`;
    } else if (!isTextOrNull(error["param"]) || !isTextOrNull(error["code"]))
      return `shape: ${text}`;
  } catch {
    return `no JSON: ${text.slice(0, 300)}`;
  }
  return headers["content-type"]?.startsWith("application/json") ? undefined : "content-type";
}

async function sendAndFindFault(
  url: string,
  { path, ...request }: MalformedRequest,
): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer for ${timeoutMs} ms`), timeoutMs);
  });
  const isMessages = path.startsWith("/v1/messages");
  const replyFault = sendRawRequest(url + path, request).then(
    (rawReply) => findFault(rawReply, isMessages),
    (error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      return `no answer: ${String(code ?? error)}`;
    },
  );
  const result = await Promise.race([replyFault, late]);
  clearTimeout(timer);
  return result;
}

test(
  `${count} random requests get a reply or an error in the format of their API, and cause no internal error`,
  async () => {
    const gateway = await start();
    const faults: string[] = [];
    let next = 0;
    const runNextRequests = async (): Promise<void> => {
      while (next < count && faults.length < 5) {
        const index = seed * 1_000_000 + next;
        next += 1;
        const request = createMalformedRequest(index, models);
        const result = await sendAndFindFault(gateway.url, request);
        if (result !== undefined)
          faults.push(
            `seed ${index}: ${result}\n${request.path} ${JSON.stringify(request.headers)}\n${request.body.subarray(0, 1500).toString()}`,
          );
      }
    };
    await Promise.all(Array.from({ length: concurrency }, runNextRequests));
    expect(faults).toEqual([]);
    const entries = gateway.lines.map(
      (line) => JSON.parse(line) as { level: number; status?: number },
    );
    expect(entries.filter(({ level }) => level >= 50)).toEqual([]);
    // Both kinds occurred: not all requests were rejected before they were parsed.
    const statuses = entries.map(({ status = 0 }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(count / 10);
    expect(statuses.filter((status) => status === 400).length).toBeGreaterThan(count / 10);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  },
  120_000 * runMultiplier,
);

test("random bytes on the socket get a 4xx or nothing, and do no harm", async () => {
  const gateway = await start();
  for (let index = 0; index < 60; index += 1) {
    const { path, headers, body } = createMalformedRequest(seed * 1000 + index, models);
    const lines = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
    const head = Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines}content-length: ${body.length}\r\n\r\n`,
      "latin1",
    );
    const bytes = Buffer.concat([head, body]);
    // One byte of the head is changed.
    bytes[(index * 7919) % head.length] = (index * 104_729) % 256;
    const cut = AbortSignal.timeout(150);
    const rawReply = await Promise.race([
      sendBytes(gateway.url, bytes),
      new Promise<string>((resolve) => cut.addEventListener("abort", () => resolve(""))),
    ]);
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(rawReply)?.[1] ?? 400);
    expect([index, status < 500]).toEqual([index, true]);
  }
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
}, 60_000);
