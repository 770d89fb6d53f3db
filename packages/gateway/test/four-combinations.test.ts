import { describe, expect, test } from "vitest";
import { scene } from "./scene.ts";
import { beginStream, refuse } from "./scripted-upstream.ts";
import { toldBy } from "./told.ts";
import { answers, sendJson, streamed, wholeReply, type Reply } from "./wire-replies.ts";
import { eventsOf } from "./running-gateway.ts";

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
} as const;
const paths = { chat: "/chat/completions", responses: "/responses" } as const;

const full: Reply = {
  reasoning: ["The user ", "wants weather."],
  text: ["Let me ", "look."],
  calls: [
    { id: "call_paris1", name: "get_weather", arguments: ['{"city":', '"Paris"}'] },
    { id: "call_lyon22", name: "get_weather", arguments: ['{"city":"Lyon"}'] },
  ],
  usage: { input: 21, output: 13 },
};

const told = {
  reasoning: "The user wants weather.",
  text: "Let me look.",
  calls: [
    { id: "call_paris1", name: "get_weather", arguments: '{"city":"Paris"}' },
    { id: "call_lyon22", name: "get_weather", arguments: '{"city":"Lyon"}' },
  ],
  usage: { input: 21, output: 13 },
};

type Wire = "chat" | "responses";
const combinations = (["responses", "chat"] as const).flatMap((client) =>
  (["chat", "responses"] as const).flatMap((speaks) =>
    [true, false].map((stream) => ({
      client,
      speaks,
      stream,
      name: `a ${client} client on a ${speaks} upstream, ${stream ? "streamed" : "whole"}`,
    })),
  ),
);

const ask = (client: Wire, stream: boolean) => ({ ...requests[client], stream });

describe.each(combinations)("$name,", ({ client, speaks, stream }) => {
  test("is told reasoning, text, calls and usage as the upstream said them", async () => {
    const { gateway, upstream } = await scene(
      ({ body }, response) => answers(speaks, response, body, full),
      { upstream: { speaks } },
    );
    const response = await gateway.post(paths[client], ask(client, stream));
    expect(response.status).toBe(200);
    expect(await toldBy(client, response)).toEqual(told);
    expect(
      upstream.requests.map(({ path, body }) => [path, body["model"], body["stream"] === true]),
    ).toEqual([[`/v1${paths[speaks]}`, "m", stream]]);
    const asked = JSON.stringify(upstream.requests[0]?.body);
    for (const part of ["Be brief", "Weather?", "get_weather", description, '"temperature":0.5'])
      expect(asked).toContain(part);
  });

  test("is told an estimate where the upstream tells no usage, marked and counted", async () => {
    const { usage: _usage, ...silent } = full;
    const { gateway } = await scene(
      ({ body }, response) => answers(speaks, response, body, silent),
      { upstream: { speaks } },
    );
    const { usage } = await toldBy(client, await gateway.post(paths[client], ask(client, stream)));
    expect(usage).toEqual({
      input: expect.any(Number) as number,
      output: expect.any(Number) as number,
      estimated: true,
    });
    expect(usage?.input).toBeGreaterThan(3);
    expect(usage?.output).toBeGreaterThan(3);
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
      tokens_estimated: true,
      tokens_in: usage?.input as number,
      repairs: { usage_estimated: 1 },
    });
  });

  test("gets the reply also from an upstream that answers in the other form than asked", async () => {
    const { gateway } = await scene(
      (_request, response) => {
        if (stream) return sendJson(response, wholeReply(speaks, full));
        beginStream(response);
        response.end(streamed(speaks, full).join(""));
      },
      { upstream: { speaks } },
    );
    expect(await toldBy(client, await gateway.post(paths[client], ask(client, stream)))).toEqual(
      told,
    );
  });
});

describe("what a Responses client asked is echoed in its response", () => {
  const asked = {
    instructions: "Be brief",
    temperature: 0.5,
    max_output_tokens: 99,
    metadata: { of: "us" },
  };

  test.each([true, false])("of a Chat upstream (stream: %s)", async (stream) => {
    const { gateway } = await scene(({ body }, response) => answers("chat", response, body, full));
    const response = await gateway.post("/responses", ask("responses", stream));
    const final = stream ? (await eventsOf(response)).at(-1)?.["response"] : await response.json();
    expect(final).toMatchObject({
      ...asked,
      object: "response",
      status: "completed",
      tools: requests.responses.tools,
      tool_choice: "auto",
      parallel_tool_calls: true,
      error: null,
      incomplete_details: null,
    });
  });

  test("and the same in response.created, before anything is known", async () => {
    const { gateway } = await scene(({ body }, response) => answers("chat", response, body, full));
    const [created, inProgress] = await eventsOf(
      await gateway.post("/responses", ask("responses", true)),
    );
    expect(created).toMatchObject({
      type: "response.created",
      response: { ...asked, status: "in_progress", output: [] },
    });
    expect(inProgress).toMatchObject({ type: "response.in_progress", sequence_number: 1 });
  });
});

describe("a whole reply is assembled from a stream", () => {
  test("where the upstream's flags say that it only streams", async () => {
    for (const client of ["responses", "chat"] as const) {
      const { gateway, upstream } = await scene(
        ({ body }, response) => answers("chat", response, body, full),
        { toml: "[upstreams.up.flags]\nalways_stream = true\n" },
      );
      const response = await gateway.post(paths[client], ask(client, false));
      expect(response.headers.get("content-type")).toContain("application/json");
      expect(await toldBy(client, response)).toEqual(told);
      expect(upstream.requests.map(({ body }) => body["stream"])).toEqual([true]);
    }
  });

  test("where the upstream refuses anything else, and from then on at the first try", async () => {
    const { gateway, upstream } = await scene(({ body }, response) => {
      if (body["stream"] === true) answers("chat", response, body, full);
      else
        refuse(response, 400, {
          message:
            "This model only support stream mode, please enable the stream parameter to access the model.",
        });
    });
    for (let round = 0; round < 2; round += 1)
      expect(
        await toldBy("chat", await gateway.post("/chat/completions", ask("chat", false))),
      ).toEqual(told);
    expect(upstream.requests.map(({ body }) => body["stream"] === true)).toEqual([
      false,
      true,
      true,
    ]);
  });
});

describe("a stream", () => {
  test("ends with one [DONE] for a Chat client and without one for a Responses client", async () => {
    for (const speaks of ["chat", "responses"] as const) {
      const { gateway } = await scene(
        ({ body }, response) => answers(speaks, response, body, full),
        { upstream: { speaks } },
      );
      const chat = await (await gateway.post("/chat/completions", ask("chat", true))).text();
      expect(chat.match(/\[DONE\]/g)).toHaveLength(1);
      expect(chat.endsWith("data: [DONE]\n\n")).toBe(true);
      const responses = await (await gateway.post("/responses", ask("responses", true))).text();
      expect(responses).not.toContain("[DONE]");
    }
  });

  test("has sequence numbers without gaps for a Responses client, on either upstream", async () => {
    for (const speaks of ["chat", "responses"] as const) {
      const { gateway } = await scene(
        ({ body }, response) => answers(speaks, response, body, full),
        { upstream: { speaks } },
      );
      const events = await eventsOf(await gateway.post("/responses", ask("responses", true)));
      expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, at) => at));
    }
  });

  test("reaches the client piece by piece, not at the end", async () => {
    let more = (): void => undefined;
    const { gateway } = await scene(async (_request, response) => {
      beginStream(response);
      const pieces = streamed("chat", full);
      response.write(pieces[0]);
      await new Promise<void>((resolve) => (more = resolve));
      response.end(pieces.slice(1).join(""));
    });
    const response = await gateway.post("/responses", ask("responses", true));
    let seen = "";
    for await (const piece of response.body ?? []) {
      seen += Buffer.from(piece).toString();
      // Only now the upstream says the rest.
      if (seen.includes("The user ")) more();
    }
    expect(seen).toContain("response.completed");
  });
});
