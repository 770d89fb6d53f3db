import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import type { TestGateway } from "./test-gateway.ts";
import { helloChat, hello, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  sendError,
  streamText,
  type ReceivedRequest,
} from "./scripted-upstream.ts";

/* A lesson applies to other requests only after it has helped, and only if it is about the server. */

async function listLessons(gateway: TestGateway): Promise<string[]> {
  const { lessons } = (await (await fetch(`${gateway.url}/deltawire/lessons`)).json()) as {
    lessons: { code: string }[];
  };
  return lessons.map(({ code }) => code);
}

async function postAndGetStatus(gateway: TestGateway, body: object): Promise<number> {
  const response = await gateway.post("/chat/completions", { ...helloChat, ...body });
  await response.text();
  return response.status;
}

const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
const withImageInResult = {
  messages: [
    { role: "user", content: "Look" },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_abcdef", type: "function", function: { name: "look", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "call_abcdef", content: [{ type: "text", text: "A" }, image] },
  ],
};

/** Errors of servers for a value of the wrong type or out of range. */
const valueComplaints: Record<string, (name: string) => unknown> = {
  pydantic: (name) => ({
    detail: [
      { type: "string_type", loc: ["body", name], msg: "Input should be a valid string", input: 5 },
    ],
  }),
  "pydantic, as vLLM prints it": (name) => ({
    message: `[{'type': 'string_type', 'loc': ('body', '${name}'), 'msg': 'Input should be a valid string', 'input': 5}]`,
  }),
  "a validator of vLLM": (name) => ({
    message: `Parameter '${name}' must be a non-empty string if provided.`,
    param: name,
  }),
  "a range": (name) => ({ message: `${name} must be between 0 and 1`, param: name }),
  "with a wrong code": (name) => ({
    message: `Unsupported parameter: '${name}' must be a string`,
    param: name,
    code: "unsupported_parameter",
  }),
  "a field that is expected otherwise": (name) => ({
    message: `Unexpected field: ${name} should be a string, got 5`,
  }),
  "a property": (name) => ({ message: `property '${name}' is unsupported: must be string` }),
  "not for this type": (name) => ({ message: `'${name}' is not supported for integers` }),
  Google: (name) => ({
    message: `Invalid JSON payload received. Unknown name "${name}": Proto field is not repeating, cannot start list.`,
  }),
  OpenAI: (name) => ({
    message: `Invalid type for '${name}': expected a string, but got an integer instead.`,
    param: name,
    code: "invalid_type",
  }),
  "an enumeration": (name) => ({
    message: `Invalid value: 'x'. Supported values are: 'auto' and 'default'.`,
    param: name,
    code: "invalid_value",
  }),
};

test.each(Object.entries(valueComplaints))(
  "a wrong value is the client's mistake: it receives the error, and no other request changes (%s)",
  async (_who, complain) => {
    for (const name of ["cache_salt", "service_tier", "x_own"]) {
      const { gateway, upstream } = await gatewayFixture(({ body }, response) => {
        if (body[name] === undefined || typeof body[name] === "string")
          streamText(response, "fine");
        else sendError(response, 422, complain(name));
      });
      expect(await postAndGetStatus(gateway, { ...withImageInResult, [name]: 5 })).toBe(422);
      expect(await listLessons(gateway)).toEqual([]);
      const before = upstream.requests.length;
      expect(await postAndGetStatus(gateway, { ...withImageInResult, [name]: "mine" })).toBe(200);
      expect(upstream.requests).toHaveLength(before + 1);
      expect(upstream.requests.at(-1)?.body).toMatchObject({
        ...withImageInResult,
        [name]: "mine",
      });
    }
  },
);

test("a lesson that did not help is not stored", async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    sendError(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
  });
  expect(await postAndGetStatus(gateway, { seed: 1 })).toBe(400);
  expect(upstream.requests).toHaveLength(2);
  expect(await listLessons(gateway)).toEqual([]);
});

test("a lesson is not stored if the same error occurs again", async () => {
  const { gateway } = await gatewayFixture(({ body }, response) => {
    const messages = body["messages"] as JsonObject[];
    if (
      messages.some(({ role }, index) => role === "system" && index > 0) ||
      body["seed"] !== undefined
    )
      return sendError(response, 400, {
        message: "System message must be at the beginning. Unsupported parameter: 'seed'",
      });
    streamText(response, "fine");
  });
  const messages = [
    { role: "user", content: "a" },
    { role: "system", content: "b" },
  ];
  expect(await postAndGetStatus(gateway, { messages, seed: 1 })).toBe(200);
  // After the first change the same error came again: only the last change is confirmed.
  expect(await listLessons(gateway)).toEqual(["parameter"]);
});

test("a lesson is stored on the first output of a successful reply, before its end", async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { gateway, upstream } = await gatewayFixture(async ({ body }, response) => {
    if (body["seed"] !== undefined)
      return sendError(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" })));
    await held;
    response.end(formatEvent(chatChunk({}, "stop")) + formatEvent("[DONE]"));
  });
  const first = gateway.post("/chat/completions", { ...helloChat, seed: 1 });
  await waitUntil("the lesson", async () => (await listLessons(gateway)).length === 1);
  const second = gateway.post("/chat/completions", { ...helloChat, seed: 2 });
  await waitUntil("the second request", () => upstream.requests.length === 3);
  expect(upstream.requests.at(-1)?.body["seed"]).toBeUndefined();
  release();
  for (const response of [await first, await second]) expect(await response.text()).toContain("Hi");
});

test("a complete reply that is an error does not confirm a lesson", async () => {
  const { gateway } = await gatewayFixture(({ body }, response) => {
    if (body["seed"] !== undefined)
      return sendError(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "no such thing", code: 400 } }));
  });
  await postAndGetStatus(gateway, { stream: false, seed: 1 });
  expect(await listLessons(gateway)).toEqual([]);
});

test("a stream that fails before its first output does not confirm a lesson", async () => {
  const { gateway } = await gatewayFixture(({ body }, response) => {
    if (body["seed"] !== undefined)
      return sendError(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    beginStream(response);
    response.write(formatEvent(chatChunk({ role: "assistant", content: "" })));
    response.end(formatEvent({ error: { message: "no such thing", code: 400 } }));
  });
  await postAndGetStatus(gateway, { seed: 1 });
  await (await gateway.post("/responses", { ...hello, stream: true, seed: 1 })).text();
  expect(await listLessons(gateway)).toEqual([]);
});

test("a lesson from an error that quotes the client applies only to its request", async () => {
  const words = "Unsupported parameter: 'temperature' is not supported with this model.";
  let isBroken = true;
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    // A temporary failure that quotes the request.
    if (!isBroken) return streamText(response, "fine");
    isBroken = false;
    sendError(response, 400, { message: `could not tokenize: ${words}` });
  });
  const messages = [{ role: "user", content: `What does this mean? ${words}` }];
  expect(await postAndGetStatus(gateway, { messages, temperature: 0.5 })).toBe(200);
  expect(await listLessons(gateway)).toEqual([]);
  expect(await postAndGetStatus(gateway, { temperature: 0.5 })).toBe(200);
  expect(upstream.requests.at(-1)?.body["temperature"]).toBe(0.5);
});

test("concurrent requests that learn the same lesson succeed, and it is stored once", async () => {
  const { gateway } = await gatewayFixture(({ body }: ReceivedRequest, response) => {
    const rejected = ["seed", "stop", "top_p"].find((name) => body[name] !== undefined);
    if (rejected === undefined) return streamText(response, "fine");
    sendError(response, 400, { message: `Unknown parameter: '${rejected}'`, param: rejected });
  });
  const statuses = await Promise.all(
    Array.from({ length: 12 }, (_each, index) =>
      postAndGetStatus(
        gateway,
        index % 2 === 0 ? { seed: 1, stop: "x" } : { stop: "x", top_p: 0.5 },
      ),
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect((await listLessons(gateway)).toSorted()).toEqual(["parameter", "parameter", "parameter"]);
});

test("a lesson does not apply to other models of the upstream", async () => {
  const { gateway, upstream } = await gatewayFixture(({ body }, response) => {
    if (body["model"] === "old" && body["seed"] !== undefined)
      return sendError(response, 400, { message: "Unknown parameter: 'seed'", param: "seed" });
    streamText(response, "fine");
  });
  expect(await postAndGetStatus(gateway, { model: "up/old", seed: 1 })).toBe(200);
  expect(await postAndGetStatus(gateway, { model: "up/new", seed: 1 })).toBe(200);
  expect(upstream.requests.at(-1)?.body).toMatchObject({ model: "new", seed: 1 });
  const responses = await gateway.post("/responses", { ...hello, model: "up/old" });
  expect(responses.status).toBe(200);
});
