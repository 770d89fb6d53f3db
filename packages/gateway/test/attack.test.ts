import { expect, test } from "vitest";
import type { ClientReply } from "../check/attack/client.ts";
import { findReplyFaults } from "../check/attack/judge-reply.ts";
import { parseApi } from "../check/attack/requests/operations.ts";
import { collectRoutes } from "../check/attack/requests/part.ts";
import { findInternals, createSecret, SecretScanner } from "../check/attack/secrets.ts";
import { Target } from "../check/attack/target.ts";
import { buildOpenApiDocument } from "../src/http/openapi-document.ts";
import { routes } from "../src/http/routes.ts";

test("requests are generated for every route", () => {
  const api = parseApi(buildOpenApiDocument("1", "http://127.0.0.1"));
  const generated = collectRoutes(api, 1, 3000);
  const all = routes.map(({ method, path }) => `${method} ${path}`);
  expect(all.filter((route) => !generated.has(route))).toEqual([]);
});

test("eight consecutive characters of a secret are a leak, seven are not", () => {
  const secret = createSecret("a test");
  const scanner = new SecretScanner({ "the key": secret });
  for (let index = 0; index + 8 <= secret.length; index += 1)
    expect(scanner.findLeaks(`wrong key ${secret.slice(index, index + 8)}`)).toHaveLength(1);
  expect(scanner.findLeaks(`wrong key ${secret.slice(0, 7)} and ${secret.slice(20, 27)}`)).toEqual(
    [],
  );
});

test("a stack trace in a reply is detected", () => {
  expect(findInternals(`x\n${new Error("oops").stack}`)).not.toEqual([]);
  expect(findInternals('{"error":{"message":"at line 3:14: oops"}}')).toEqual([]);
});

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };
const complete = { isTrimmed: false, bytes: 1, end: "complete", reason: "" } as const;
const chatStream = { wire: "chat", stream: true, upstream: "chat" } as const;

test.each<[string, Partial<ClientReply>, boolean]>([
  ["500", { status: 500, headers: json, text: '{"error":{"message":"x"}}' }, true],
  ["502 with a message", { status: 502, headers: json, text: '{"error":{"message":"x"}}' }, false],
  ["502 without a message", { status: 502, headers: json, text: "{}" }, true],
  ["an error in HTML", { status: 400, headers: { "content-type": "text/html" }, text: "x" }, true],
  ["a stream without an end", { status: 200, headers: events, text: 'data: {"id":"x"}\n\n' }, true],
  ["a truncated stream", { status: 200, headers: events, text: "", end: "truncated" }, true],
  ["no end in time", { status: 200, headers: events, text: "", end: "timeout" }, true],
  [
    "an error in a stream",
    { status: 200, headers: events, text: 'data: {"error":{"message":"x"}}\n\n' },
    false,
  ],
])("the check of replies judges this reply correctly: %s", (_, reply, isWrong) => {
  const completeReply: ClientReply = { status: 0, headers: {}, text: "", ...complete, ...reply };
  expect(findReplyFaults(completeReply, chatStream).length > 0).toBe(isWrong);
});

const messageStart =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n';
const messageEnd =
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n';
const openBlock =
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n';
const overloaded = '{"type":"error","error":{"type":"overloaded_error","message":"x"}}';

test.each<[string, string, boolean]>([
  ["a complete one", messageStart + messageEnd, false],
  ["one without message_stop", messageStart, true],
  ["one that ends with an error", `${messageStart}event: error\ndata: ${overloaded}\n\n`, false],
  ["events without names", (messageStart + messageEnd).replaceAll(/^event: .*\n/gm, ""), true],
  ["two starts", messageStart + messageStart + messageEnd, true],
  ["a block inside another", messageStart + openBlock + openBlock + messageEnd, true],
  ["an event after the end", messageStart + messageEnd + openBlock, true],
])(
  "the check of replies judges this stream to a Messages client correctly: %s",
  (_, text, isWrong) => {
    const reply: ClientReply = { status: 200, headers: events, text, ...complete };
    const expectation = { wire: "messages", stream: true, upstream: "chat" } as const;
    expect(findReplyFaults(reply, expectation).length > 0).toBe(isWrong);
  },
);

test("an error to a Messages client must have the format of its API", () => {
  const judge = (text: string): number => {
    const reply: ClientReply = { status: 503, headers: json, text, ...complete };
    return findReplyFaults(reply, { wire: "messages", stream: true, upstream: "chat" }).length;
  };
  expect(judge(overloaded)).toBe(0);
  expect(judge('{"error":{"message":"x","type":"server_error"}}')).toBe(1);
});

test("a gateway under attack measures itself, and is stopped afterwards", async () => {
  const target = await Target.start({
    toml: "[server]\nport = 0\ndemo = true\n",
    onOutput: () => undefined,
  });
  try {
    expect((await fetch(`${target.url}/healthz`)).status).toBe(200);
    const measurement = await target.measure({ collect: true });
    expect(measurement?.heapBytes).toBeGreaterThan(0);
    expect(measurement?.peakRssBytes).toBeGreaterThanOrEqual(measurement?.rssBytes ?? Infinity);
    // Starting takes long enough for a block to be measured.
    expect(measurement?.longestMs).toBeGreaterThan(0);
    await target.restart();
    expect(target.crashes).toEqual([]);
    expect((await fetch(`${target.url}/healthz`)).status).toBe(200);
  } finally {
    await target.close();
  }
  await expect(fetch(`${target.url}/healthz`)).rejects.toThrow("fetch failed");
}, 60_000);
