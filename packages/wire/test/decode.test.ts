import { chatRequest, decodeChatRequest, decodeResponsesRequest, WireError } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";

const responsesRefusals: [title: string, request: unknown, message: string][] = [
  ["no object", [], "request: expected an object, got an array"],
  ["input of another type", { input: 3 }, "input: expected a string or an array of items, got 3"],
  ["an item that is none", { input: ["hi"] }, 'input[0]: expected an input item, got "hi"'],
  [
    "an item without a type",
    { input: [{ text: "hi" }] },
    'input[0].type: expected a string, got nothing; messages need "role" and "content", other items "type"',
  ],
  [
    "a message of a Chat role",
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
    "input[0].arguments: expected a string, got an object; send the JSON of the arguments as text",
  ],
  [
    "a call without its id",
    { input: [{ type: "custom_tool_call", name: "f", input: "" }] },
    "input[0].call_id: expected a string, got nothing",
  ],
  [
    "a tool in the form of Chat",
    { input: "hi", tools: [{ type: "function", function: { name: "f" } }] },
    'tools[0].name: expected a string, got nothing; Responses tools carry name and parameters beside type, not inside "function"',
  ],
  [
    "a tool inside a namespace inside an item",
    {
      input: [{ type: "additional_tools", tools: [{ type: "namespace", name: "n", tools: [1] }] }],
    },
    "input[0].tools[0].tools[0]: expected a tool, got 1",
  ],
  [
    "an unknown word as tool_choice",
    { input: "hi", tool_choice: "any" },
    'tool_choice: expected one of auto, none, required, got "any"',
  ],
  ["a number as text", { input: "hi", instructions: 1 }, "instructions: expected a string, got 1"],
];

test.each(responsesRefusals)(
  "a Responses request with %s is refused",
  (_title, request, message) => {
    const error = thrown(() => decodeResponsesRequest(request));
    expect(error).toMatchObject({ code: "invalid_request", message });
    expect(message.startsWith(`${error.param}: `)).toBe(true);
  },
);

const chatRefusals: [title: string, request: unknown, message: string][] = [
  ["no model", { messages: [] }, "model: expected a string, got nothing"],
  ["no messages", { model: "m" }, "messages: expected an array, got nothing"],
  [
    "an unknown role",
    chat({ role: "robot", content: "" }),
    'messages[0].role: expected one of system, developer, user, assistant, tool, function, got "robot"',
  ],
  [
    "a picture as a string",
    chat({ role: "user", content: [{ type: "image_url", image_url: "https://a" }] }),
    'messages[0].content[0].image_url: expected an object such as {"url":"https://…"}, got "https://a"',
  ],
  [
    "a result without its call",
    chat({ role: "tool", content: "42" }),
    "messages[0].tool_call_id: expected a string, got nothing",
  ],
  [
    "arguments as an object",
    chat({
      role: "assistant",
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: {} } }],
    }),
    "messages[0].tool_calls[0].function.arguments: expected a string, got an object; send the JSON of the arguments as text",
  ],
];

test.each(chatRefusals)("a Chat request with %s is refused", (_title, request, message) => {
  expect(thrown(() => decodeChatRequest(request))).toMatchObject({
    code: "invalid_request",
    message,
  });
});

test("a request that can be read comes back as the same object, with everything unknown in it", () => {
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

test("what is nested too deep is refused before anything recurses into it", () => {
  const deep = `{"model":"m","input":"hi","metadata":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`;
  expect(thrown(() => decodeResponsesRequest(JSON.parse(deep)))).toMatchObject({
    code: "invalid_request",
    message: "metadata.a.a.a.a.a: nested deeper than 256 levels; flatten it",
  });
});

test("a key called __proto__ changes no prototype", () => {
  const request = JSON.parse(
    `{"model":"m","__proto__":{"polluted":1},"input":[{"role":"user","content":"hi","__proto__":{"polluted":1}}],
      "tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"__proto__":{"type":"string"}}}}]}`,
  ) as unknown;
  const { body } = chatRequest(decodeResponsesRequest(request));
  expect(body["polluted"]).toBeUndefined();
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(JSON.stringify(body.tools)).toContain('"__proto__":{"type":"string"}');
});

/** Keys and words that lead somewhere, in places where they need not belong. */
const word = fc.constantFrom(
  "type", "role", "content", "input", "tools", "tool_choice", "text", "format", "call_id", "name", "arguments", "output",
  "message", "user", "assistant", "function", "function_call", "function_call_output", "reasoning", "summary", "custom",
  "custom_tool_call", "namespace", "additional_tools", "tool_search_output", "mcp_call", "local_shell_call", "action",
  "input_text", "input_image", "image_url", "__proto__", "constructor", "model", "messages", "tool_calls", "json_schema",
  "schema", "computer_call_output", "shell_call_output", "allowed_tools", "image_generation_call",
); // prettier-ignore
const { garbage } = fc.letrec((tie) => ({
  garbage: fc.oneof(
    { maxDepth: 6 },
    fc.anything(),
    word,
    fc.array(tie("garbage"), { maxLength: 4 }),
    fc.dictionary(word, tie("garbage"), { maxKeys: 6 }),
  ),
}));
const item = fc.oneof(garbage, fc.dictionary(word, fc.oneof(word, garbage)));

test("garbage is refused with our own error, or can be translated", () => {
  const request = fc.record(
    { model: fc.constant("m"), input: fc.oneof(garbage, fc.array(item)), tools: fc.array(item) },
    { requiredKeys: ["model"] },
  );
  fc.assert(
    fc.property(fc.oneof(garbage, request), (value) => {
      expect(outcome(() => chatRequest(decodeResponsesRequest(value)))).toBeTypeOf("string");
      expect(outcome(() => decodeChatRequest(value))).toBeTypeOf("string");
    }),
    { numRuns: 2000 },
  );
});

function outcome(work: () => unknown): unknown {
  try {
    work();
    return "translated";
  } catch (error) {
    return error instanceof WireError ? "refused" : error;
  }
}

function thrown(work: () => unknown): WireError {
  try {
    work();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

function chat(message: object): object {
  return { model: "m", messages: [message] };
}
