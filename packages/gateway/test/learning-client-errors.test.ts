import { genericProfile, withProfileFlags } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { deriveLesson, type Lesson, type RequestAttempt } from "../src/learning/derive-lesson.ts";
import {
  chatClientErrorCases,
  responseFormat,
  createTool,
  userMessage,
  type ClientErrorCase,
} from "./client-error-cases.ts";
import { hello, gatewayFixture } from "./gateway-fixture.ts";
import { sendError, streamText } from "./scripted-upstream.ts";

const sealed = "reasoning.encrypted_content";
const logprobs = "message.output_text.logprobs";

describe("a client's mistake teaches no lasting lesson, on a Chat upstream", () => {
  test.each(chatClientErrorCases)("%s", (message, sent, once, param) => {
    const profile = withProfileFlags(genericProfile, { developerRole: "developer" });
    const body = { model: "m", messages: [userMessage], ...sent };
    for (const lesson of deriveLessons(message, param, {
      speaks: "chat",
      profile,
      responses: {},
      body,
    }))
      expect(lesson && { flags: lesson.flags, once: lesson.once }).toEqual(
        once && { flags: once, once: true },
      );
  });
});

describe("a client's mistake teaches no lasting lesson, on a Responses upstream", () => {
  const known = `Supported values are: '${sealed}', '${logprobs}'.`;

  test.each<ClientErrorCase>([
    [
      `Invalid value: 'bogus'. ${known}`,
      { include: ["bogus"] },
      { droppedParameters: ["include"] },
      "include[0]",
    ],
    [
      `Invalid value: 'bogus'. ${known}`,
      { include: [sealed, "bogus"] },
      { extraBody: { include: [sealed] } },
      "include[1]",
    ],
    [
      "Invalid include: 'bogus' is not supported",
      { include: ["bogus", logprobs] },
      { extraBody: { include: [logprobs] } },
    ],
    [
      `include: '${logprobs}' is not supported with this model`,
      { include: [logprobs] },
      { droppedParameters: ["include"] },
    ],
    [
      "Encrypted content is not supported with this model.",
      { include: [sealed, logprobs] },
      { extraBody: { include: [logprobs] } },
      "include",
    ],
    ["include: invalid type, expected a list", { include: "bogus" }],
    ["Unknown parameter: 'text.format.foo'.", { text: { format: { type: "text", foo: 1 } } }],
    ["Unknown parameter: 'metadata.foo'.", { metadata: { foo: 1 } }],
    ["Unknown parameter: 'tool_choice.foo'.", { tool_choice: { type: "function", foo: 1 } }],
    ["Unknown parameter: 'tools[0].filters.foo'.", { tools: [{ filters: { foo: 1 } }] }],
    ["Unknown parameter: 'tools[0].description'.", { tools: [{ description: "x" }] }],
    ["Unknown parameter: 'input[0].extra.foo'.", { input: [{ extra: { foo: 1 } }] }],
    ["invalid reasoning.effort: banana", { reasoning: { effort: "banana" } }],
    [
      "Invalid value: 'banana'. Supported values are: 'low', and 'high'.",
      { reasoning: { effort: "banana" } },
      undefined,
      "reasoning.effort",
    ],
    ["'max_output_tokens' is not allowed for values below 16", { max_output_tokens: 1 }],
    [
      "'temperature' is not supported when reasoning is enabled",
      { temperature: 1 },
      { droppedParameters: ["temperature"] },
    ],
    ["previous_response_id cannot be used with store=false", { previous_response_id: "r" }],
    [
      "Item with id 'rs_9' not found.",
      { input: [userMessage, { type: "item_reference", id: "rs_9" }] },
    ],
  ])("%s", (message, sent, once, param) => {
    const body = { model: "m", input: "hi", ...sent };
    for (const lesson of deriveLessons(message, param, {
      speaks: "responses",
      profile: genericProfile,
      responses: {},
      body,
    }))
      expect(lesson && { responses: lesson.responses, once: lesson.once }).toEqual(
        once && { responses: once, once: true },
      );
  });
});

describe("an error about the server teaches a lasting lesson", () => {
  test.each<[speaks: RequestAttempt["speaks"], ...ClientErrorCase]>([
    ["chat", "invalid temperature: only 1 is allowed for this model", { temperature: 0.7 }],
    ["chat", "temperature must be 1", { temperature: 0.7 }],
    [
      "chat",
      "'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
      { temperature: 0.7 },
    ],
    ["chat", "'stop' is not supported with this model", { stop: ["a"] }],
    ["chat", "'stop' is not supported with grok-4", { stop: ["a"] }],
    ["chat", "'seed' is not supported with reasoning models", { seed: 1 }],
    ["chat", "'seed' is not allowed for 4o-mini", { seed: 1 }],
    ["chat", "invalid reasoning_effort: xhigh", { reasoning_effort: "xhigh" }],
    ["chat", "m does not support thinking", { reasoning_effort: "default" }],
    ["chat", "Thinking mode does not support this tool_choice", { tool_choice: "required" }],
    ["chat", "Unknown parameter: 'stream_options.include_usage'", { stream_options: {} }],
    [
      "chat",
      "Unknown parameter: 'response_format.json_schema'",
      { response_format: responseFormat },
    ],
    ["responses", "Encrypted content is not supported with this model.", { include: [sealed] }],
    ["responses", "Unknown parameter: 'include'.", { include: [sealed, logprobs] }],
    ["responses", "Unknown parameter: 'text.verbosity'.", { text: { verbosity: "low" } }],
    ["responses", "invalid reasoning.effort: xhigh", { reasoning: { effort: "xhigh" } }],
  ])("of a %s upstream: %s", (speaks, message, sent) => {
    const body = { messages: [userMessage], tools: [createTool("look")], ...sent };
    const attempt = { speaks, profile: genericProfile, responses: {}, body };
    for (const lesson of deriveLessons(message, undefined, attempt)) {
      expect(lesson).toBeDefined();
      expect(lesson?.once).toBeUndefined();
    }
  });
});

test("one client's invalid request does not change requests of other clients", async () => {
  const { gateway, upstream } = await gatewayFixture(({ body }, response) => {
    const [top, temperature] = [body["top_p"], body["temperature"]];
    if (top !== undefined && temperature !== undefined)
      sendError(response, 400, { message: "`temperature` and `top_p` cannot both be specified" });
    else if (Number(temperature) > 1)
      sendError(response, 400, { message: "temperature must be 1 or less" });
    else streamText(response, "fine");
  });
  const both = await gateway.post("/responses", { ...hello, temperature: 0.2, top_p: 0.9 });
  expect(both.status).toBe(200);
  const hot = await gateway.post("/responses", { ...hello, temperature: 1.5 });
  expect(hot.status).toBe(400);
  expect(await hot.text()).toContain("temperature must be 1 or less");
  await gateway.post("/responses", { ...hello, top_p: 0.9 });
  expect(upstream.requests.at(-1)?.body["top_p"]).toBe(0.9);
  await gateway.post("/responses", { ...hello, temperature: 0.2 });
  expect(upstream.requests.at(-1)?.body["temperature"]).toBe(0.2);
  expect(upstream.requests).toHaveLength(5);
  const lessonsReply = await fetch(`${gateway.url}/deltawire/lessons`);
  expect(await lessonsReply.json()).toMatchObject({ lessons: [] });
});

/** Returns the lessons from one message in the formats of OpenAI and FastAPI, and as plain text. */
function deriveLessons(
  message: string,
  param: string | undefined,
  attempt: RequestAttempt,
): (Lesson | undefined)[] {
  const error = { message, type: "invalid_request_error", param: param ?? null, code: null };
  const bodies = param === undefined ? [{ error }, { detail: message }, message] : [{ error }];
  return bodies.map((body) => deriveLesson({ status: 400, body }, attempt));
}
