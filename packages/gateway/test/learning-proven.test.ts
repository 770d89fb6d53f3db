import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import type { TestGateway } from "./running-gateway.ts";
import { helloChat, hello, scene, until } from "./scene.ts";
import { beginStream, chunk, event, refuse, says, type Received } from "./scripted-upstream.ts";

/* What one request's refusal teaches is applied to others only when it has helped, and only if it is about the server. */

async function lessonsOf(gateway: TestGateway): Promise<string[]> {
  const { lessons } = (await (await fetch(`${gateway.url}/deltawire/lessons`)).json()) as {
    lessons: { code: string }[];
  };
  return lessons.map(({ code }) => code);
}

async function ask(gateway: TestGateway, body: object): Promise<number> {
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

/** What servers say of a value of the wrong type or out of range, for some parameter. */
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
  "a wrong code beside it": (name) => ({
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
  "a wrong value is the client's mistake: the error goes to it and nobody else's request changes (%s)",
  async (_who, complain) => {
    for (const name of ["cache_salt", "service_tier", "x_own"]) {
      const { gateway, upstream } = await scene(({ body }, response) => {
        if (body[name] === undefined || typeof body[name] === "string") says(response, "fine");
        else refuse(response, 422, complain(name));
      });
      expect(await ask(gateway, { ...withImageInResult, [name]: 5 })).toBe(422);
      expect(await lessonsOf(gateway)).toEqual([]);
      const before = upstream.requests.length;
      expect(await ask(gateway, { ...withImageInResult, [name]: "mine" })).toBe(200);
      expect(upstream.requests).toHaveLength(before + 1);
      expect(upstream.requests.at(-1)?.body).toMatchObject({
        ...withImageInResult,
        [name]: "mine",
      });
    }
  },
);

test("a lesson that did not help is not stored", async () => {
  const { gateway, upstream } = await scene((_request, response) => {
    refuse(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
  });
  expect(await ask(gateway, { seed: 1 })).toBe(400);
  expect(upstream.requests).toHaveLength(2);
  expect(await lessonsOf(gateway)).toEqual([]);
});

test("of two lessons the one after which the same complaint came again is not stored", async () => {
  const { gateway } = await scene(({ body }, response) => {
    const messages = body["messages"] as JsonObject[];
    if (messages.some(({ role }, at) => role === "system" && at > 0) || body["seed"] !== undefined)
      return refuse(response, 400, {
        message: "System message must be at the beginning. Unsupported parameter: 'seed'",
      });
    says(response, "fine");
  });
  const messages = [
    { role: "user", content: "a" },
    { role: "system", content: "b" },
  ];
  expect(await ask(gateway, { messages, seed: 1 })).toBe(200);
  // After the first change the same complaint came again: only what was done last is proven.
  expect(await lessonsOf(gateway)).toEqual(["parameter"]);
});

test("a lesson is stored at the first output of a good reply, before its end", async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { gateway, upstream } = await scene(async ({ body }, response) => {
    if (body["seed"] !== undefined)
      return refuse(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    beginStream(response);
    response.write(event(chunk({ content: "Hi" })));
    await held;
    response.end(event(chunk({}, "stop")) + event("[DONE]"));
  });
  const first = gateway.post("/chat/completions", { ...helloChat, seed: 1 });
  await until("the lesson", async () => (await lessonsOf(gateway)).length === 1);
  const second = gateway.post("/chat/completions", { ...helloChat, seed: 2 });
  await until("the second request", () => upstream.requests.length === 3);
  expect(upstream.requests.at(-1)?.body["seed"]).toBeUndefined();
  release();
  for (const response of [await first, await second]) expect(await response.text()).toContain("Hi");
});

test("a complete reply that is an error proves nothing", async () => {
  const { gateway } = await scene(({ body }, response) => {
    if (body["seed"] !== undefined)
      return refuse(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "no such thing", code: 400 } }));
  });
  await ask(gateway, { stream: false, seed: 1 });
  expect(await lessonsOf(gateway)).toEqual([]);
});

test("a stream that fails before its first word proves nothing", async () => {
  const { gateway } = await scene(({ body }, response) => {
    if (body["seed"] !== undefined)
      return refuse(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    beginStream(response);
    response.write(event(chunk({ role: "assistant", content: "" })));
    response.end(event({ error: { message: "no such thing", code: 400 } }));
  });
  await ask(gateway, { seed: 1 });
  await (await gateway.post("/responses", { ...hello, stream: true, seed: 1 })).text();
  expect(await lessonsOf(gateway)).toEqual([]);
});

test("an error that quotes the client's words may be tried for it, and changes nobody else's request", async () => {
  const words = "Unsupported parameter: 'temperature' is not supported with this model.";
  let isBroken = true;
  const { gateway, upstream } = await scene((_request, response) => {
    // A passing trouble that repeats what it was sent.
    if (!isBroken) return says(response, "fine");
    isBroken = false;
    refuse(response, 400, { message: `could not tokenize: ${words}` });
  });
  const messages = [{ role: "user", content: `What does this mean? ${words}` }];
  expect(await ask(gateway, { messages, temperature: 0.5 })).toBe(200);
  expect(await lessonsOf(gateway)).toEqual([]);
  expect(await ask(gateway, { temperature: 0.5 })).toBe(200);
  expect(upstream.requests.at(-1)?.body["temperature"]).toBe(0.5);
});

test("requests that learn at the same time end well, and each lesson is stored once", async () => {
  const { gateway } = await scene(({ body }: Received, response) => {
    const refused = ["seed", "stop", "top_p"].find((name) => body[name] !== undefined);
    if (refused === undefined) return says(response, "fine");
    refuse(response, 400, { message: `Unknown parameter: '${refused}'`, param: refused });
  });
  const statuses = await Promise.all(
    Array.from({ length: 12 }, (_each, at) =>
      ask(gateway, at % 2 === 0 ? { seed: 1, stop: "x" } : { stop: "x", top_p: 0.5 }),
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect((await lessonsOf(gateway)).toSorted()).toEqual(["parameter", "parameter", "parameter"]);
});

test("what a model refuses is not learned of another model of the same upstream", async () => {
  const { gateway, upstream } = await scene(({ body }, response) => {
    if (body["model"] === "old" && body["seed"] !== undefined)
      return refuse(response, 400, { message: "Unknown parameter: 'seed'", param: "seed" });
    says(response, "fine");
  });
  expect(await ask(gateway, { model: "up/old", seed: 1 })).toBe(200);
  expect(await ask(gateway, { model: "up/new", seed: 1 })).toBe(200);
  expect(upstream.requests.at(-1)?.body).toMatchObject({ model: "new", seed: 1 });
  const responses = await gateway.post("/responses", { ...hello, model: "up/old" });
  expect(responses.status).toBe(200);
});
