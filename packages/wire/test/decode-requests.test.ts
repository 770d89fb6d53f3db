import {
  translateResponsesRequest,
  decodeChatRequest,
  decodeResponsesRequest,
  WireError,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";

const invalidResponsesRequests: [title: string, request: unknown, message: string][] = [
  ["an array instead of an object", [], "request: expected an object, got an array"],
  ["a number as input", { input: 3 }, "input: expected a string or an array of items, got 3"],
  ["a string as an item", { input: ["hi"] }, 'input[0]: expected an input item, got "hi"'],
  [
    "an item without a type",
    { input: [{ text: "hi" }] },
    'input[0].type: expected a string, got nothing; messages need "role" and "content", other items "type"',
  ],
  [
    "a message with a role that only Chat has",
    { input: [{ role: "tool", content: "42" }] },
    'input[0].role: expected one of user, assistant, system, developer, got "tool"; send tool results as "function_call_output" items',
  ],
  [
    "a content part without a type",
    {
      input: [
        { role: "user", content: "a" },
        { role: "user", content: [{ text: "b" }] },
      ],
    },
    "input[1].content[0].type: expected one of input_text, input_image, input_file, input_audio, output_text, refusal, got nothing",
  ],
  [
    "a text part without text",
    { input: [{ role: "user", content: [{ type: "input_text", text: null }] }] },
    "input[0].content[0].text: expected a string, got null",
  ],
  [
    "arguments as an object",
    { input: [{ type: "function_call", call_id: "c", name: "f", arguments: {} }] },
    "input[0].arguments: expected a string, got an object; send the arguments as a JSON string",
  ],
  [
    "a call without call_id",
    { input: [{ type: "custom_tool_call", name: "f", input: "" }] },
    "input[0].call_id: expected a string, got nothing",
  ],
  [
    "a tool in the Chat format",
    { input: "hi", tools: [{ type: "function", function: { name: "f" } }] },
    'tools[0].name: expected a string, got nothing; put name and parameters next to "type", not inside "function"',
  ],
  [
    "an invalid tool in a namespace of an additional_tools item",
    {
      input: [{ type: "additional_tools", tools: [{ type: "namespace", name: "n", tools: [1] }] }],
    },
    "input[0].tools[0].tools[0]: expected a tool, got 1",
  ],
  [
    "an unknown tool_choice",
    { input: "hi", tool_choice: "any" },
    'tool_choice: expected one of auto, none, required, got "any"',
  ],
  [
    "a number as instructions",
    { input: "hi", instructions: 1 },
    "instructions: expected a string, got 1",
  ],
];

test.each(invalidResponsesRequests)(
  "a Responses request with %s is rejected",
  (_title, request, message) => {
    const error = getWireError(() => decodeResponsesRequest(request));
    expect(error).toMatchObject({ code: "invalid_request", message });
    expect(message.startsWith(`${error.param}: `)).toBe(true);
  },
);

const invalidChatRequests: [title: string, request: unknown, message: string][] = [
  ["no model", { messages: [] }, "model: expected a string, got nothing"],
  ["no messages", { model: "m" }, "messages: expected an array, got nothing"],
  [
    "an unknown role",
    chat({ role: "robot", content: "" }),
    'messages[0].role: expected one of system, developer, user, assistant, tool, function, got "robot"',
  ],
  [
    "an image as a string",
    chat({ role: "user", content: [{ type: "image_url", image_url: "https://a" }] }),
    'messages[0].content[0].image_url: expected an object such as {"url":"https://…"}, got "https://a"',
  ],
  [
    "a tool result without tool_call_id",
    chat({ role: "tool", content: "42" }),
    "messages[0].tool_call_id: expected a string, got nothing",
  ],
  [
    "arguments as an object",
    chat({
      role: "assistant",
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: {} } }],
    }),
    "messages[0].tool_calls[0].function.arguments: expected a string, got an object; send the arguments as a JSON string",
  ],
];

test.each(invalidChatRequests)("a Chat request with %s is rejected", (_title, request, message) => {
  expect(getWireError(() => decodeChatRequest(request))).toMatchObject({
    code: "invalid_request",
    message,
  });
});

test("a valid request is returned as the same object, including unknown fields", () => {
  const request = {
    model: "m",
    input: [
      { role: "user", content: "easy", later: true },
      { type: "message", role: "user", content: [{ type: "hologram", data: "…" }] },
      { type: "telepathy_call", call_id: "c" },
      { type: "constructor" },
      { id: "msg_1" },
      { type: "reasoning", summary: [], content: null, encrypted_content: null },
    ],
    tools: [{ type: "teleport" }],
    temperature: null,
    something: { new: 1 },
  };
  expect(decodeResponsesRequest(request)).toBe(request);
  const conversation = { ...chat({ role: "user", content: [{ type: "smell" }] }), logit_bias: {} };
  expect(decodeChatRequest(conversation)).toBe(conversation);
});

test("deep nesting is rejected without a stack overflow", () => {
  const deep = `{"model":"m","input":"hi","metadata":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`;
  expect(getWireError(() => decodeResponsesRequest(JSON.parse(deep)))).toMatchObject({
    code: "invalid_request",
    message: "metadata.a.a.a.a.a: nested more than 256 levels deep",
  });
});

test("a key called __proto__ does not change the prototype", () => {
  const request = JSON.parse(
    `{"model":"m","__proto__":{"polluted":1},"input":[{"role":"user","content":"hi","__proto__":{"polluted":1}}],
      "tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"__proto__":{"type":"string"}}}}]}`,
  ) as unknown;
  const { body } = translateResponsesRequest(decodeResponsesRequest(request));
  expect(body["polluted"]).toBeUndefined();
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(JSON.stringify(body.tools)).toContain('"__proto__":{"type":"string"}');
});

/** Known keys and values at random positions. */
const word = fc.constantFrom(
  "type", "role", "content", "input", "tools", "tool_choice", "text", "format", "call_id", "name", "arguments", "output",
  "message", "user", "assistant", "function", "function_call", "function_call_output", "reasoning", "summary", "custom",
  "custom_tool_call", "namespace", "additional_tools", "tool_search_output", "mcp_call", "local_shell_call", "action",
  "input_text", "input_image", "image_url", "__proto__", "constructor", "model", "messages", "tool_calls", "json_schema",
  "schema", "computer_call_output", "shell_call_output", "allowed_tools", "image_generation_call",
); // prettier-ignore
const { jsonLike } = fc.letrec((tie) => ({
  jsonLike: fc.oneof(
    { maxDepth: 6 },
    fc.anything(),
    word,
    fc.array(tie("jsonLike"), { maxLength: 4 }),
    fc.dictionary(word, tie("jsonLike"), { maxKeys: 6 }),
  ),
}));
const item = fc.oneof(jsonLike, fc.dictionary(word, fc.oneof(word, jsonLike)));

test("any JSON is rejected with a WireError or can be translated", () => {
  const request = fc.record(
    { model: fc.constant("m"), input: fc.oneof(jsonLike, fc.array(item)), tools: fc.array(item) },
    { requiredKeys: ["model"] },
  );
  fc.assert(
    fc.property(fc.oneof(jsonLike, request), (value) => {
      expect(outcome(() => translateResponsesRequest(decodeResponsesRequest(value)))).toBeTypeOf(
        "string",
      );
      expect(outcome(() => decodeChatRequest(value))).toBeTypeOf("string");
    }),
    { numRuns: 2000 },
  );
});

function outcome(action: () => unknown): unknown {
  try {
    action();
    return "translated";
  } catch (error) {
    return error instanceof WireError ? "rejected" : error;
  }
}

function getWireError(action: () => unknown): WireError {
  try {
    action();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

function chat(message: object): object {
  return { model: "m", messages: [message] };
}
