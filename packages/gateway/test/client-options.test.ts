import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { readEvents, upstreamToml } from "./test-gateway.ts";
import { hello, helloChat, gatewayFixture } from "./gateway-fixture.ts";
import { sendReply, type ScriptedReply } from "./wire-replies.ts";

const call: ScriptedReply = {
  reasoning: ["because"],
  calls: [
    { id: "call_paris1", name: "get_weather", arguments: ['{"city"', ":", '"Paris"}'] },
    { id: "call_lyon22", name: "get_weather", arguments: ['{"city":', '"Lyon"}'] },
  ],
  usage: { input: 1, output: 1 },
};
const withTool = {
  ...helloChat,
  tools: [{ type: "function", function: { name: "get_weather", parameters: { type: "object" } } }],
};

/** Returns the number of deltas of every call, and its arguments. */
function collectCalls(events: JsonObject[]): { deltas: number; arguments: string }[] {
  const calls: { deltas: number; arguments: string }[] = [];
  for (const { choices } of events as {
    choices?: { delta: { tool_calls?: { index: number; function: JsonObject }[] } }[];
  }[])
    for (const { index, function: part } of choices?.[0]?.delta.tool_calls ?? []) {
      const one = (calls[index] ??= { deltas: 0, arguments: "" });
      one.deltas += 1;
      one.arguments += (part["arguments"] ?? "") as string;
    }
  return calls;
}

describe.each(["chat", "responses"] as const)("tool calls of a %s upstream", (speaks) => {
  const toml = `[clients.editor]
token = "token-of-the-editor"
tool_calls = "complete"
[clients.shell]
token = "token-of-the-shell"
`;
  const start = () =>
    gatewayFixture(({ body }, response) => sendReply(speaks, response, body, call), {
      upstream: { speaks },
      toml,
    });
  const editor = { authorization: "Bearer token-of-the-editor" };
  const shell = { authorization: "Bearer token-of-the-shell" };
  const completeCalls = [
    { deltas: 1, arguments: '{"city":"Paris"}' },
    { deltas: 1, arguments: '{"city":"Lyon"}' },
  ];

  test("are sent in one piece to a client whose token is configured so", async () => {
    const { gateway } = await start();
    const response = await gateway.post("/chat/completions", withTool, { headers: editor });
    expect(collectCalls(await readEvents(response))).toEqual(completeCalls);
  });

  test("are sent as deltas to other clients, and in one piece if the header requests it", async () => {
    const { gateway } = await start();
    const deltas = collectCalls(
      await readEvents(await gateway.post("/chat/completions", withTool, { headers: shell })),
    );
    expect(deltas.map((call) => call.arguments)).toEqual(
      completeCalls.map((call) => call.arguments),
    );
    for (const call of deltas) expect(call.deltas).toBeGreaterThan(1);
    // "whole" is the value of the first version.
    for (const value of ["complete", "whole"]) {
      const headers = { ...shell, "x-deltawire-tool-calls": value };
      const response = await gateway.post("/chat/completions", withTool, { headers });
      expect(collectCalls(await readEvents(response))).toEqual(completeCalls);
    }
  });

  test("are sent as deltas if the header requests it, whatever the token's setting is", async () => {
    const { gateway } = await start();
    const headers = { ...editor, "x-deltawire-tool-calls": "deltas" };
    const response = await gateway.post("/chat/completions", withTool, { headers });
    for (const each of collectCalls(await readEvents(response)))
      expect(each.deltas).toBeGreaterThan(1);
  });
});

describe("reasoning", () => {
  const toml = `[clients.reader]
token = "token-of-the-reader"
reasoning = "raw"
[clients.codex]
token = "token-of-codex"
`;
  const start = () =>
    gatewayFixture(({ body }, response) => sendReply("chat", response, body, call), { toml });
  const listEventTypes = async (headers: Record<string, string>): Promise<string[]> => {
    const { gateway } = await start();
    const events = await readEvents(await gateway.post("/responses", hello, { headers }));
    return [...new Set(events.map(({ type }) => type as string))].filter((type) =>
      type.includes("reasoning"),
    );
  };

  test("is sent as summary events unless a client requests otherwise", async () => {
    expect(await listEventTypes({ authorization: "Bearer token-of-codex" })).toEqual([
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
    ]);
  });

  test("is sent as raw text if the token's setting or the header requests it", async () => {
    const raw = ["response.reasoning_text.delta", "response.reasoning_text.done"];
    const reader = { authorization: "Bearer token-of-the-reader" };
    for (const headers of [
      reader,
      { authorization: "Bearer token-of-codex", "x-deltawire-reasoning": "raw" },
      // The value of the first version.
      { authorization: "Bearer token-of-codex", "x-deltawire-reasoning": "text" },
    ]) {
      const types = await listEventTypes(headers);
      expect(types).toEqual(expect.arrayContaining(raw));
      expect(types.join()).not.toContain("summary");
    }
    const summary = await listEventTypes({ ...reader, "x-deltawire-reasoning": "summary" });
    expect(summary.join()).not.toContain("reasoning_text");
  });
});

test("a header with an unknown value is rejected before a request is sent upstream", async () => {
  const { gateway, upstream } = await gatewayFixture(() => undefined);
  for (const [path, body, header, words] of [
    ["/chat/completions", helloChat, "x-deltawire-tool-calls", "deltas, complete"],
    ["/responses", hello, "x-deltawire-reasoning", "summary, raw"],
  ] as const) {
    const response = await gateway.post(path, body, { headers: { [header]: "sideways" } });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: `${header}: expected one of ${words}, got "sideways"`,
        type: "invalid_request_error",
        param: header,
        code: "invalid_header",
      },
    });
  }
  expect(upstream.requests).toHaveLength(0);
});

describe("a model", () => {
  const toml = `[models]
weather = "up/forecaster"
deep = "up/vendor/forecaster-large"
`;

  test("is requested by an alias, or as upstream/model, including slashes", async () => {
    const { gateway, upstream } = await gatewayFixture(
      ({ body }, response) => sendReply("chat", response, body, { text: ["Hi"] }),
      { toml },
    );
    for (const model of ["weather", "deep", "up/other", "up/vendor/other:free"])
      expect((await gateway.post("/responses", { ...hello, model })).status).toBe(200);
    expect(upstream.requests.map(({ body }) => body["model"])).toEqual([
      "forecaster",
      "vendor/forecaster-large",
      "other",
      "vendor/other:free",
    ]);
  });

  test("that is unknown is a 404 with the closest name, and sends no request upstream", async () => {
    const { gateway, upstream } = await gatewayFixture(() => undefined, {
      toml: `${toml}${upstreamToml("other", "http://127.0.0.1:9/v1", { models: ["x"] })}`,
    });
    const response = await gateway.post("/chat/completions", { ...helloChat, model: "wether" });
    expect(response.status).toBe(404);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error).toMatchObject({ code: "model_not_found", param: "model" });
    expect(error.message).toMatch(/"wether".*weather/);
    expect(upstream.requests).toHaveLength(0);
  });

  test("of any name goes to the only upstream, which may know it", async () => {
    const { gateway, upstream } = await gatewayFixture(({ body }, response) =>
      sendReply("chat", response, body, { text: ["Hi"] }),
    );
    expect((await gateway.post("/responses", { ...hello, model: "anything" })).status).toBe(200);
    expect(upstream.requests[0]?.body["model"]).toBe("anything");
  });

  test("that is missing is a 400 on every route", async () => {
    const { gateway } = await gatewayFixture(() => undefined);
    for (const [path, body] of [
      ["/responses", { input: "x" }],
      ["/chat/completions", { messages: helloChat.messages }],
      ["/responses", { input: "x", model: "" }],
    ] as const) {
      const response = await gateway.post(path, body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: "model" } });
    }
  });
});
