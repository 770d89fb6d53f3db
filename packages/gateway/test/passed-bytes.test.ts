import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { eventsOf } from "./running-gateway.ts";
import { hello, helloChat, scene } from "./scene.ts";
import { beginStream, chunk, event } from "./scripted-upstream.ts";
import { answers, namedEvent, streamed, type Reply } from "./wire-replies.ts";

const reply: Reply = { text: ["Grüße, ", "世界 ", "and 🌍"], usage: { input: 3, output: 4 } };
const cases = [
  { wire: "chat", path: "/chat/completions", body: helloChat },
  { wire: "responses", path: "/responses", body: hello },
] as const;

describe.each(cases)("where client and upstream both speak $wire", ({ wire, path, body }) => {
  const asked = wire === "chat" ? { ...body, stream_options: { include_usage: true } } : body;

  test("a stream with nothing to mend is passed on byte for byte", async () => {
    // Field order, spacing and fields that nobody knows: what is written anew would not come out like this.
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
        : streamed("responses", reply).map((each) => each.replace('{"', '{ "'));
    const { gateway } = await scene(
      async (_request, response) => {
        beginStream(response);
        for (const piece of pieces)
          await new Promise<void>((resolve) => response.write(piece, () => setTimeout(resolve, 3)));
        response.end();
      },
      { upstream: { speaks: wire } },
    );
    const got = await (await gateway.post(path, asked)).text();
    // What ends a response is put together anew, with the items that were passed.
    const last = wire === "chat" ? "" : (pieces.pop() ?? "");
    const passed = pieces.join("");
    expect(got.slice(0, passed.length)).toBe(passed);
    expect(dataOf(got.slice(passed.length))).toEqual(dataOf(last));
  });

  test("ids of events and other fields of the framing stay behind, and all events come", async () => {
    const pieces = streamed(wire, reply).map((each, at) => `id: ${at}\nretry: 5\n: note\n${each}`);
    const { gateway } = await scene(
      (_request, response) => {
        beginStream(response);
        response.end(pieces.join("").replaceAll("\n", "\r\n"));
      },
      { upstream: { speaks: wire } },
    );
    const got = await (await gateway.post(path, asked)).text();
    expect(got).not.toMatch(/^id:/m);
    expect(got).not.toContain("\r");
    expect(got.match(/^data: /gm)).toHaveLength(pieces.length);
    for (const words of ["Grüße, ", "世界 ", "and 🌍"]) expect(got).toContain(words);
  });

  test("one id line in the middle of the stream is enough to hold it back", async () => {
    const pieces = streamed(wire, reply);
    const { gateway } = await scene(
      (_request, response) => {
        beginStream(response);
        response.end([pieces[0], "id: 7\n", ...pieces.slice(1)].join(""));
      },
      { upstream: { speaks: wire } },
    );
    expect(await (await gateway.post(path, asked)).text()).not.toMatch(/^id:/m);
  });
});

test("no header of an upstream reaches a client, streamed or whole", async () => {
  const headers = {
    "openai-model": "secret-model",
    "openai-organization": "org",
    "x-ratelimit-remaining-requests": "1",
    "set-cookie": "session=1",
    "x-request-id": "theirs",
    server: "theirs",
    "x-powered-by": "theirs",
  };
  for (const speaks of ["chat", "responses"] as const) {
    const { gateway } = await scene(
      ({ body }, response) => {
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        answers(speaks, response, body, reply);
      },
      { upstream: { speaks } },
    );
    for (const { path, body } of cases)
      for (const stream of [true, false]) {
        const response = await gateway.post(path, { ...body, stream });
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

test("a stream that needs mending is written anew, and nothing of the wrong goes out", async () => {
  const { gateway } = await scene((_request, response) => {
    beginStream(response);
    const calls = [
      { index: 0, id: "call_123456", type: "function", function: { name: "f", arguments: "{}" } },
    ];
    response.write(event(chunk({ tool_calls: calls })));
    response.write(event(chunk({}, "stop")));
    response.end(event("[DONE]"));
  });
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
  const got = await (await gateway.post("/chat/completions", { ...helloChat, tools })).text();
  expect(got).toContain('"finish_reason":"tool_calls"');
  expect(got).not.toContain('"finish_reason":"stop"');
  const { repairs } = JSON.parse(gateway.lines.at(-1) ?? "") as { repairs: Record<string, number> };
  expect(Object.keys(repairs).length).toBeGreaterThan(0);
});

test.each(["logprobs", "item_id", "output_index", "content_index", "sequence_number", "delta"])(
  "a delta of a Responses upstream without %s is passed on in events that can be read",
  async (field) => {
    const full = {
      reasoning: ["hm"],
      text: ["Hi"],
      calls: [{ id: "call_123456", name: "f", arguments: ["{}"] }],
    };
    const { gateway } = await scene(
      (_request, response) => {
        beginStream(response);
        for (const block of streamed("responses", full)) {
          const data = dataOf(block) as JsonObject;
          if (/\.delta"/.test(block)) delete data[field];
          // The id makes it write every event anew.
          response.write(`id: 1\n${namedEvent(data)}`);
        }
        response.end();
      },
      { upstream: { speaks: "responses" } },
    );
    const events = await eventsOf(await gateway.post("/responses", hello));
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, at) => at));
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  },
);

test("an event of a type that nobody knows is passed on to a Responses client", async () => {
  const { gateway } = await scene(
    (_request, response) => {
      beginStream(response);
      const [created = "", ...more] = streamed("responses", reply);
      const odd = namedEvent({ type: "response.telepathy", sequence_number: 1, thought: "hm" });
      response.end([created, odd, ...more].join(""));
    },
    { upstream: { speaks: "responses" } },
  );
  expect(await (await gateway.post("/responses", hello)).text()).toContain('"thought":"hm"');
});

function dataOf(block: string): unknown {
  return JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null");
}
