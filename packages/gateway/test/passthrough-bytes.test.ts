import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { helloBodies, wirePaths, wires } from "../check/attack/wires.ts";
import { readEvents } from "./test-gateway.ts";
import { hello, helloChat, gatewayFixture } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent } from "./scripted-upstream.ts";
import { sendReply, formatNamedEvent, formatStream, type ScriptedReply } from "./wire-replies.ts";

const reply: ScriptedReply = {
  text: ["Grüße, ", "世界 ", "and 🌍"],
  usage: { input: 3, output: 4 },
};
const cases = [
  { wire: "chat", path: "/chat/completions", body: helloChat },
  { wire: "responses", path: "/responses", body: hello },
] as const;

describe.each(cases)("if client and upstream both use the $wire API,", ({ wire, path, body }) => {
  const requestBody = wire === "chat" ? { ...body, stream_options: { include_usage: true } } : body;

  test("a stream without repairs is forwarded byte for byte", async () => {
    // With a field order, spacing and unknown fields that serialization would change.
    const pieces =
      wire === "chat"
        ? [
            ...[1, 2, 3].map(
              (n) =>
                `data: {"x_odd": ${n}, "choices":[{"delta":{"role":"assistant","content":"w${n} "},"finish_reason":null,"index":0}],"model":"some-model","id":"c1","object":"chat.completion.chunk","created":1}\n\n`,
            ),
            'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"some-model","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
            'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"some-model","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":3,"total_tokens":4}}\n\n',
            "data: [DONE]\n\n",
          ]
        : formatStream("responses", reply).map((each) => each.replace('{"', '{ "'));
    const { gateway } = await gatewayFixture(
      async (_request, response) => {
        beginStream(response);
        for (const piece of pieces)
          await new Promise<void>((resolve) => response.write(piece, () => setTimeout(resolve, 3)));
        response.end();
      },
      { upstream: { speaks: wire } },
    );
    const received = await (await gateway.post(path, requestBody)).text();
    // The end of a response is rebuilt with the forwarded items.
    const last = wire === "chat" ? "" : (pieces.pop() ?? "");
    expect(received.endsWith("}\n\ndata: [DONE]\n\n")).toBe(true);
    const forwarded = pieces.join("");
    expect(received.slice(0, forwarded.length)).toBe(forwarded);
    expect(parseEventData(received.slice(forwarded.length))).toEqual(parseEventData(last));
  });

  test("SSE ids and other fields are removed, and all events are forwarded", async () => {
    const pieces = formatStream(wire, reply).map(
      (each, index) => `id: ${index}\nretry: 5\n: note\n${each}`,
    );
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        response.end(pieces.join("").replaceAll("\n", "\r\n"));
      },
      { upstream: { speaks: wire } },
    );
    const received = await (await gateway.post(path, requestBody)).text();
    expect(received).not.toMatch(/^id:/m);
    expect(received).not.toContain("\r");
    expect(received.match(/^data: /gm)).toHaveLength(
      wire === "chat" ? pieces.length : pieces.length + 1,
    );
    for (const text of ["Grüße, ", "世界 ", "and 🌍"]) expect(received).toContain(text);
  });

  test("a single id line in the middle of the stream is removed", async () => {
    const pieces = formatStream(wire, reply);
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        response.end([pieces[0], "id: 7\n", ...pieces.slice(1)].join(""));
      },
      { upstream: { speaks: wire } },
    );
    expect(await (await gateway.post(path, requestBody)).text()).not.toMatch(/^id:/m);
  });
});

test("no header of an upstream reaches a client, streamed or not", async () => {
  const headers = {
    "openai-model": "secret-model",
    "openai-organization": "org",
    "x-ratelimit-remaining-requests": "1",
    "set-cookie": "session=1",
    "x-request-id": "theirs",
    server: "theirs",
    "x-powered-by": "theirs",
  };
  for (const speaks of wires) {
    const { gateway } = await gatewayFixture(
      ({ body }, response) => {
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        sendReply(speaks, response, body, reply);
      },
      { upstream: { speaks } },
    );
    for (const wire of wires)
      for (const stream of [true, false]) {
        const body = { ...helloBodies[wire], model: "up/m", stream };
        const response = await gateway.post(wirePaths[wire].slice("/v1".length), body);
        await response.text();
        for (const [name, value] of Object.entries(headers))
          expect(response.headers.get(name)).not.toBe(value);
        expect([...response.headers.keys()].filter((name) => name.startsWith("openai"))).toEqual(
          [],
        );
        expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      }
  }
});

test("a stream that needs repairs is rewritten before it is sent", async () => {
  const { gateway } = await gatewayFixture((_request, response) => {
    beginStream(response);
    const calls = [
      { index: 0, id: "call_123456", type: "function", function: { name: "f", arguments: "{}" } },
    ];
    response.write(formatEvent(chatChunk({ tool_calls: calls })));
    response.write(formatEvent(chatChunk({}, "stop")));
    response.end(formatEvent("[DONE]"));
  });
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
  const received = await (await gateway.post("/chat/completions", { ...helloChat, tools })).text();
  expect(received).toContain('"finish_reason":"tool_calls"');
  expect(received).not.toContain('"finish_reason":"stop"');
  const { repairs } = JSON.parse(gateway.lines.at(-1) ?? "") as { repairs: Record<string, number> };
  expect(Object.keys(repairs).length).toBeGreaterThan(0);
});

test.each(["logprobs", "item_id", "output_index", "content_index", "sequence_number", "delta"])(
  "a delta of a Responses upstream without %s is forwarded with complete events",
  async (field) => {
    const full = {
      reasoning: ["hm"],
      text: ["Hi"],
      calls: [{ id: "call_123456", name: "f", arguments: ["{}"] }],
    };
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        for (const block of formatStream("responses", full)) {
          const data = parseEventData(block) as JsonObject;
          if (/\.delta"/.test(block)) delete data[field];
          // The id forces all events to be serialized again.
          response.write(`id: 1\n${formatNamedEvent(data)}`);
        }
        response.end();
      },
      { upstream: { speaks: "responses" } },
    );
    const events = await readEvents(await gateway.post("/responses", hello));
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, index) => index));
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  },
);

test("an event of an unknown type is forwarded to a Responses client", async () => {
  const { gateway } = await gatewayFixture(
    (_request, response) => {
      beginStream(response);
      const [created = "", ...more] = formatStream("responses", reply);
      const unknownEvent = formatNamedEvent({
        type: "response.telepathy",
        sequence_number: 1,
        thought: "hm",
      });
      response.end([created, unknownEvent, ...more].join(""));
    },
    { upstream: { speaks: "responses" } },
  );
  expect(await (await gateway.post("/responses", hello)).text()).toContain('"thought":"hm"');
});

function parseEventData(block: string): unknown {
  return JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null");
}
