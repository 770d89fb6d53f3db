import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { eventsOf, upstreamToml } from "./running-gateway.ts";
import { hello, helloChat, scene } from "./scene.ts";
import { answers, type Reply } from "./wire-replies.ts";

const call: Reply = {
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

/** How many deltas every call came in, and with which arguments. */
function callsIn(events: JsonObject[]): { deltas: number; arguments: string }[] {
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
tool_calls = "whole"
[clients.shell]
token = "token-of-the-shell"
`;
  const start = () =>
    scene(({ body }, response) => answers(speaks, response, body, call), {
      upstream: { speaks },
      toml,
    });
  const editor = { authorization: "Bearer token-of-the-editor" };
  const shell = { authorization: "Bearer token-of-the-shell" };
  const whole = [
    { deltas: 1, arguments: '{"city":"Paris"}' },
    { deltas: 1, arguments: '{"city":"Lyon"}' },
  ];

  test("come whole to a client whose token says so", async () => {
    const { gateway } = await start();
    const response = await gateway.post("/chat/completions", withTool, { headers: editor });
    expect(callsIn(await eventsOf(response))).toEqual(whole);
  });

  test("come in deltas to any other, and whole where its header asks for it", async () => {
    const { gateway } = await start();
    const deltas = callsIn(
      await eventsOf(await gateway.post("/chat/completions", withTool, { headers: shell })),
    );
    expect(deltas.map((each) => each.arguments)).toEqual(whole.map((each) => each.arguments));
    for (const each of deltas) expect(each.deltas).toBeGreaterThan(1);
    const asked = { ...shell, "x-deltawire-tool-calls": "whole" };
    const response = await gateway.post("/chat/completions", withTool, { headers: asked });
    expect(callsIn(await eventsOf(response))).toEqual(whole);
  });

  test("come in deltas where the header says so, whatever the token says", async () => {
    const { gateway } = await start();
    const headers = { ...editor, "x-deltawire-tool-calls": "deltas" };
    const response = await gateway.post("/chat/completions", withTool, { headers });
    for (const each of callsIn(await eventsOf(response))) expect(each.deltas).toBeGreaterThan(1);
  });
});

describe("reasoning", () => {
  const toml = `[clients.reader]
token = "token-of-the-reader"
reasoning = "text"
[clients.codex]
token = "token-of-codex"
`;
  const start = () =>
    scene(({ body }, response) => answers("chat", response, body, call), { toml });
  const typesWith = async (headers: Record<string, string>): Promise<string[]> => {
    const { gateway } = await start();
    const events = await eventsOf(await gateway.post("/responses", hello, { headers }));
    return [...new Set(events.map(({ type }) => type as string))].filter((type) =>
      type.includes("reasoning"),
    );
  };

  test("goes out as summary events unless a client asks otherwise", async () => {
    expect(await typesWith({ authorization: "Bearer token-of-codex" })).toEqual([
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
    ]);
  });

  test("goes out as raw text to a client whose token says so, or whose header does", async () => {
    const raw = ["response.reasoning_text.delta", "response.reasoning_text.done"];
    const reader = { authorization: "Bearer token-of-the-reader" };
    for (const headers of [
      reader,
      { authorization: "Bearer token-of-codex", "x-deltawire-reasoning": "text" },
    ]) {
      const types = await typesWith(headers);
      expect(types).toEqual(expect.arrayContaining(raw));
      expect(types.join()).not.toContain("summary");
    }
    const summary = await typesWith({ ...reader, "x-deltawire-reasoning": "summary" });
    expect(summary.join()).not.toContain("reasoning_text");
  });
});

test("a header with a word that it does not know is refused, before anybody is asked", async () => {
  const { gateway, upstream } = await scene(() => undefined);
  for (const [path, body, header, words] of [
    ["/chat/completions", helloChat, "x-deltawire-tool-calls", "deltas, whole"],
    ["/responses", hello, "x-deltawire-reasoning", "summary, text"],
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

  test("is asked for by an alias, or as upstream/model, slashes and all", async () => {
    const { gateway, upstream } = await scene(
      ({ body }, response) => answers("chat", response, body, { text: ["Hi"] }),
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

  test("that nobody serves is a 404 with the nearest name, and asks nobody", async () => {
    const { gateway, upstream } = await scene(() => undefined, {
      toml: `${toml}${upstreamToml("other", "http://127.0.0.1:9/v1", { models: ["x"] })}`,
    });
    const response = await gateway.post("/chat/completions", { ...helloChat, model: "wether" });
    expect(response.status).toBe(404);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error).toMatchObject({ code: "model_not_found", param: "model" });
    expect(error.message).toMatch(/"wether".*weather/);
    expect(upstream.requests).toHaveLength(0);
  });

  test("of any name goes to the only upstream there is, which may know it", async () => {
    const { gateway, upstream } = await scene(({ body }, response) =>
      answers("chat", response, body, { text: ["Hi"] }),
    );
    expect((await gateway.post("/responses", { ...hello, model: "anything" })).status).toBe(200);
    expect(upstream.requests[0]?.body["model"]).toBe("anything");
  });

  test("that is missing is a 400 on every route", async () => {
    const { gateway } = await scene(() => undefined);
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
