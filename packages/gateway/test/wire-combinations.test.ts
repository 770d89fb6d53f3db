import { describe, expect, test } from "vitest";
import { gatewayFixture } from "./gateway-fixture.ts";
import { beginStream, sendError } from "./scripted-upstream.ts";
import { readReply } from "./reply-contents.ts";
import {
  sendReply,
  sendJson,
  formatStream,
  buildReply,
  type ScriptedReply,
} from "./wire-replies.ts";
import { readEvents } from "./test-gateway.ts";

const parameters = { type: "object", properties: { city: { type: "string" } } };
const description = "The weather of a city";
const requests = {
  chat: {
    model: "up/m",
    stream_options: { include_usage: true },
    messages: [
      { role: "system", content: "Be brief" },
      { role: "user", content: "Weather?" },
    ],
    tools: [{ type: "function", function: { name: "get_weather", description, parameters } }],
    temperature: 0.5,
  },
  responses: {
    model: "up/m",
    instructions: "Be brief",
    input: "Weather?",
    tools: [{ type: "function", name: "get_weather", description, parameters, strict: false }],
    temperature: 0.5,
    max_output_tokens: 99,
    metadata: { of: "us" },
  },
  messages: {
    model: "up/m",
    max_tokens: 99,
    system: "Be brief",
    messages: [{ role: "user", content: "Weather?" }],
    tools: [{ name: "get_weather", description, input_schema: parameters }],
    temperature: 0.5,
  },
} as const;
const paths = {
  chat: "/chat/completions",
  responses: "/responses",
  messages: "/messages",
} as const;

const scriptedReply: ScriptedReply = {
  reasoning: ["The user ", "wants weather."],
  text: ["Let me ", "look."],
  calls: [
    { id: "call_paris1", name: "get_weather", arguments: ['{"city":', '"Paris"}'] },
    { id: "call_lyon22", name: "get_weather", arguments: ['{"city":"Lyon"}'] },
  ],
  usage: { input: 21, output: 13 },
};

const expectedReply = {
  reasoning: "The user wants weather.",
  text: "Let me look.",
  calls: [
    { id: "call_paris1", name: "get_weather", arguments: '{"city":"Paris"}' },
    { id: "call_lyon22", name: "get_weather", arguments: '{"city":"Lyon"}' },
  ],
  usage: { input: 21, output: 13 },
};

type Wire = keyof typeof requests;
const wires = ["chat", "responses", "messages"] as const;
const combinations = wires.flatMap((client) =>
  wires.flatMap((speaks) =>
    [true, false].map((stream) => ({
      client,
      speaks,
      stream,
      name: `a ${client} client on a ${speaks} upstream, ${stream ? "streamed" : "not streamed"}`,
    })),
  ),
);

const buildRequest = (client: Wire, stream: boolean) => ({ ...requests[client], stream });

describe.each(combinations)("$name,", ({ client, speaks, stream }) => {
  test("receives reasoning, text, calls and usage as the upstream sent them", async () => {
    const { gateway, upstream } = await gatewayFixture(
      ({ body }, response) => sendReply(speaks, response, body, scriptedReply),
      { upstream: { speaks } },
    );
    const response = await gateway.post(paths[client], buildRequest(client, stream));
    expect(response.status).toBe(200);
    expect(await readReply(client, response)).toEqual(expectedReply);
    expect(
      upstream.requests.map(({ path, body }) => [path, body["model"], body["stream"] === true]),
    ).toEqual([[`/v1${paths[speaks]}`, "m", stream]]);
    const sentBody = JSON.stringify(upstream.requests[0]?.body);
    for (const part of ["Be brief", "Weather?", "get_weather", description, '"temperature":0.5'])
      expect(sentBody).toContain(part);
  });

  // A Messages upstream always reports its usage.
  const reportsUsage = client === "messages" && speaks === "messages";
  test.skipIf(reportsUsage)(
    "receives an estimated usage, marked as such and logged, if the upstream reports none",
    async () => {
      const { usage: _usage, ...withoutUsage } = scriptedReply;
      const { gateway } = await gatewayFixture(
        ({ body }, response) => sendReply(speaks, response, body, withoutUsage),
        { upstream: { speaks } },
      );
      const { usage } = await readReply(
        client,
        await gateway.post(paths[client], buildRequest(client, stream)),
      );
      expect(usage).toEqual({
        input: expect.any(Number) as number,
        output: expect.any(Number) as number,
        // The usage of the Messages API has no field for it.
        ...(client === "messages" ? {} : { estimated: true }),
      });
      expect(usage?.input).toBeGreaterThan(3);
      expect(usage?.output).toBeGreaterThan(3);
      expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
        tokens_estimated: true,
        tokens_in: usage?.input as number,
        repairs: { usage_estimated: 1 },
      });
    },
  );

  test("receives the reply even if the upstream streams although it should not, or the reverse", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        if (stream) return sendJson(response, buildReply(speaks, scriptedReply));
        beginStream(response);
        response.end(formatStream(speaks, scriptedReply).join(""));
      },
      { upstream: { speaks } },
    );
    expect(
      await readReply(client, await gateway.post(paths[client], buildRequest(client, stream))),
    ).toEqual(expectedReply);
  });
});

describe("the parameters of a Responses request are echoed in the response", () => {
  const requestParameters = {
    instructions: "Be brief",
    temperature: 0.5,
    max_output_tokens: 99,
    metadata: { of: "us" },
  };

  test.each([true, false])("of a Chat upstream (stream: %s)", async (stream) => {
    const { gateway } = await gatewayFixture(({ body }, response) =>
      sendReply("chat", response, body, scriptedReply),
    );
    const response = await gateway.post("/responses", buildRequest("responses", stream));
    const final = stream
      ? (await readEvents(response)).at(-1)?.["response"]
      : await response.json();
    expect(final).toMatchObject({
      ...requestParameters,
      object: "response",
      status: "completed",
      tools: requests.responses.tools,
      tool_choice: "auto",
      parallel_tool_calls: true,
      error: null,
      incomplete_details: null,
    });
  });

  test("and in response.created", async () => {
    const { gateway } = await gatewayFixture(({ body }, response) =>
      sendReply("chat", response, body, scriptedReply),
    );
    const [created, inProgress] = await readEvents(
      await gateway.post("/responses", buildRequest("responses", true)),
    );
    expect(created).toMatchObject({
      type: "response.created",
      response: { ...requestParameters, status: "in_progress", output: [] },
    });
    expect(inProgress).toMatchObject({ type: "response.in_progress", sequence_number: 1 });
  });
});

describe("a complete reply is assembled from a stream", () => {
  test("if always_stream is set for the upstream", async () => {
    for (const client of wires) {
      const { gateway, upstream } = await gatewayFixture(
        ({ body }, response) => sendReply("chat", response, body, scriptedReply),
        { toml: "[upstreams.up.flags]\nalways_stream = true\n" },
      );
      const response = await gateway.post(paths[client], buildRequest(client, false));
      expect(response.headers.get("content-type")).toContain("application/json");
      expect(await readReply(client, response)).toEqual(expectedReply);
      expect(upstream.requests.map(({ body }) => body["stream"])).toEqual([true]);
    }
  });

  test("if the upstream rejects requests that do not stream; later requests stream immediately", async () => {
    const { gateway, upstream } = await gatewayFixture(({ body }, response) => {
      if (body["stream"] === true) sendReply("chat", response, body, scriptedReply);
      else
        sendError(response, 400, {
          message:
            "This model only support stream mode, please enable the stream parameter to access the model.",
        });
    });
    for (let round = 0; round < 2; round += 1)
      expect(
        await readReply(
          "chat",
          await gateway.post("/chat/completions", buildRequest("chat", false)),
        ),
      ).toEqual(expectedReply);
    expect(upstream.requests.map(({ body }) => body["stream"] === true)).toEqual([
      false,
      true,
      true,
    ]);
  });
});

describe("a stream", () => {
  test("ends with one [DONE] for clients of both OpenAI APIs", async () => {
    for (const speaks of wires) {
      const { gateway } = await gatewayFixture(
        ({ body }, response) => sendReply(speaks, response, body, scriptedReply),
        { upstream: { speaks } },
      );
      const chat = await (
        await gateway.post("/chat/completions", buildRequest("chat", true))
      ).text();
      expect(chat.match(/\[DONE\]/g)).toHaveLength(1);
      expect(chat.endsWith("data: [DONE]\n\n")).toBe(true);
      const responses = await (
        await gateway.post("/responses", buildRequest("responses", true))
      ).text();
      expect(responses.match(/\[DONE\]/g)).toHaveLength(1);
      expect(responses.endsWith("data: [DONE]\n\n")).toBe(true);
    }
  });

  test("has sequence numbers without gaps for a Responses client, on every upstream", async () => {
    for (const speaks of wires) {
      const { gateway } = await gatewayFixture(
        ({ body }, response) => sendReply(speaks, response, body, scriptedReply),
        { upstream: { speaks } },
      );
      const events = await readEvents(
        await gateway.post("/responses", buildRequest("responses", true)),
      );
      expect(events.map((each) => each["sequence_number"])).toEqual(
        events.map((_, index) => index),
      );
    }
  });

  test("reaches the client chunk by chunk, not only at the end", async () => {
    let sendRest = (): void => undefined;
    const { gateway } = await gatewayFixture(async (_request, response) => {
      beginStream(response);
      const chunks = formatStream("chat", scriptedReply);
      response.write(chunks[0]);
      await new Promise<void>((resolve) => (sendRest = resolve));
      response.end(chunks.slice(1).join(""));
    });
    const response = await gateway.post("/responses", buildRequest("responses", true));
    let received = "";
    for await (const chunk of response.body ?? []) {
      received += Buffer.from(chunk).toString();
      // The upstream sends the rest only now.
      if (received.includes("The user ")) sendRest();
    }
    expect(received).toContain("response.completed");
  });
});
