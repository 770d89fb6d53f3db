import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Config } from "../src/config/config.ts";
import { loadConfig } from "../src/config/load-config.ts";
import { startGateway } from "../src/gateway.ts";
import { testUpstream, gatewayFixture } from "./gateway-fixture.ts";
import { sendError, streamText } from "./scripted-upstream.ts";

/* A Chat client's request reaches a generic Chat upstream unchanged, wherever the upstream is configured. */

const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };

/** A valid request, with everything that the flags of the generic profile would change. */
const request = {
  x_own: [1],
  model: "MODEL",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Look." }, image] },
    {
      role: "assistant",
      content: "",
      reasoning_content: "hm",
      reasoning_details: [{ type: "reasoning.text", text: "hm" }],
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "look", arguments: '{ "a": 1 }' } },
        { type: "custom", id: "call_2", custom: { name: "patch", input: "x" } },
      ],
    },
    { role: "tool", content: [{ type: "text", text: "A" }, image], tool_call_id: "call_1" },
    { tool_call_id: "call_2", role: "tool", content: "done" },
    { role: "assistant", reasoning: "so", content: "Done." },
    { role: "user", content: "Again." },
  ],
  tools: [
    { type: "function", function: { name: "look", parameters: { type: "object" }, strict: true } },
    { type: "custom", custom: { name: "patch" } },
  ],
  tool_choice: { type: "function", function: { name: "look" } },
  response_format: { type: "json_schema", json_schema: { name: "o", schema: {}, strict: true } },
  reasoning_effort: "xhigh",
  max_completion_tokens: 20,
  temperature: 0.5,
  logit_bias: { "5": 1 },
  stream: true,
  stream_options: { include_usage: true },
};

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function fromFile(url: string, more = ""): { config: Config; upstream: string } {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-as-sent-"));
  folders.push(folder);
  const file = join(folder, "deltawire.toml");
  writeFileSync(
    file,
    `[server]\nport = 0\n[upstreams.up]\nbase_url = "${url}"\nspeaks = "chat"\n${more}`,
  );
  return { config: loadTestConfig({ config: file }, {}), upstream: "up" };
}

const sources: Record<string, (url: string) => { config: Config; upstream: string }> = {
  "a file": (url) => fromFile(url),
  "a file that sets an unrelated flag": (url) =>
    fromFile(url, "flags = { starts_inside_think = true }"),
  "a flag of the command line": (url) => ({
    config: loadTestConfig({ upstream: url, port: "0" }, {}),
    upstream: "local",
  }),
  "a key in the environment": (url) => {
    const config = loadTestConfig({ port: "0" }, { DEEPINFRA_API_KEY: "key-of-deepinfra" });
    // The only change: the provider's URL is replaced by that of the test upstream.
    const upstreams = [...config.upstreams].map(
      ([name, upstream]) => [name, { ...upstream, baseUrl: url }] as const,
    );
    return { config: { ...config, upstreams: new Map(upstreams) }, upstream: "deepinfra" };
  },
};

function loadTestConfig(
  flags: Parameters<typeof loadConfig>[0],
  env: Record<string, string>,
): Config {
  return loadConfig(flags, { env, cwd: tmpdir(), home: tmpdir(), platform: "linux" }).config;
}

test.each(Object.entries(sources))(
  "a Chat client's request is sent byte for byte, except its model, to an upstream from %s",
  async (_source, configure) => {
    const up = await testUpstream((_request, response) => streamText(response, "fine"));
    const { config, upstream } = configure(up.url);
    const gateway = await startGateway({
      config,
      env: {},
      dataFolder: undefined,
      logTarget: { write: () => undefined },
    });
    try {
      const sent = JSON.stringify(request);
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: sent.replace("MODEL", `${upstream}/m`),
      });
      expect(response.status).toBe(200);
      await response.text();
      expect(up.requests.map(({ bytes }) => bytes.toString("utf8"))).toEqual([
        sent.replace("MODEL", "m"),
      ]);
    } finally {
      await gateway.close();
    }
  },
);

test("a quirk that the configuration sets changes only what it concerns", async () => {
  const flagged = await testUpstream((_request, response) => streamText(response, "fine"));
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "fine"), {
    toml: `[upstreams.flagged]\nbase_url = "${flagged.url}"\nspeaks = "chat"\nflags = { max_tokens_parameter = "max_tokens" }`,
  });
  await gateway.post("/chat/completions", { ...request, model: "flagged/m" });
  const { max_completion_tokens: limit, ...rest } = request;
  expect(flagged.requests[0]?.body).toEqual({ ...rest, model: "m", max_tokens: limit });
});

test("chat_requests = adapted applies the complete profile, like for a translated request", async () => {
  const up = await testUpstream((_request, response) => streamText(response, "fine"));
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "fine"), {
    toml: `[upstreams.adapted]\nbase_url = "${up.url}"\nspeaks = "chat"\nflags = { chat_requests = "adapted" }`,
  });
  await gateway.post("/chat/completions", { ...request, model: "adapted/m" });
  const body = up.requests[0]?.body as typeof request & { max_tokens?: number };
  expect(body.max_tokens).toBe(20);
  expect(body.messages.map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "tool",
    "tool",
    "user",
    "assistant",
    "user",
  ]);
  expect(JSON.stringify(body.messages)).not.toContain("reasoning");
  expect(body.tools.map(({ type }) => type)).toEqual(["function", "function"]);
});

test.each<[string, { message: string; param?: string }, (body: typeof request) => boolean, object]>(
  [
    [
      "a parameter",
      { message: "Unsupported parameter: 'temperature'", param: "temperature" },
      (body) => "temperature" in body,
      { temperature: undefined },
    ],
    [
      "the name of the limit",
      { message: "Unsupported parameter: 'max_completion_tokens'", param: "max_completion_tokens" },
      (body) => "max_completion_tokens" in body,
      { max_completion_tokens: undefined, max_tokens: 20 },
    ],
    [
      "custom tools",
      {
        message: "Invalid value: 'custom'. Supported values are: 'function'.",
        param: "tools[1].type",
      },
      (body) => body.tools.some(({ type }) => type === "custom"),
      {
        tools: [
          request.tools[0],
          expect.objectContaining({
            type: "function",
            function: expect.objectContaining({ name: "patch" }) as object,
          }),
        ],
        messages: request.messages.map((message) =>
          "tool_calls" in message
            ? {
                ...message,
                tool_calls: [
                  request.messages[2]?.tool_calls?.[0],
                  {
                    id: "call_2",
                    type: "function",
                    function: { name: "patch", arguments: '{"input":"x"}' },
                  },
                ],
              }
            : message,
        ),
      },
    ],
    [
      "reasoning in the history",
      { message: "property 'messages.2.assistant.reasoning_content' is unsupported" },
      (body) => body.messages.some((message) => "reasoning_content" in message),
      {
        messages: request.messages.map(
          ({ reasoning: _a, reasoning_content: _b, reasoning_details: _c, ...message }) => message,
        ),
      },
    ],
    [
      "an empty content",
      { message: "messages: text content blocks must be non-empty" },
      (body) => body.messages.some(({ content }) => content === ""),
      {
        messages: request.messages.map((message) =>
          message.content === "" ? { ...message, content: null } : message,
        ),
      },
    ],
  ],
)(
  "an upstream's error about %s is learned and changes nothing else",
  async (_what, error, isRejected, changed) => {
    const { gateway, upstream } = await gatewayFixture(({ body }, response) =>
      isRejected(body as unknown as typeof request)
        ? sendError(response, 400, error)
        : streamText(response, "fine"),
    );
    const expected = JSON.parse(JSON.stringify({ ...request, model: "m" })) as object;
    for (const attempts of [2, 3]) {
      const response = await gateway.post("/chat/completions", { ...request, model: "up/m" });
      expect(response.status).toBe(200);
      await response.text();
      expect(upstream.requests).toHaveLength(attempts);
      expect(upstream.requests.at(-1)?.body).toEqual({ ...expected, ...changed });
    }
  },
);
