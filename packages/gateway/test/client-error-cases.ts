import type { JsonObject } from "@deltawire/wire";

export const createTool = (name: string, rest: JsonObject = {}): JsonObject => ({
  type: "function",
  function: { name, parameters: { type: "object" }, ...rest },
});
const customTool = { type: "custom", custom: { name: "patch" } };
export const userMessage = { role: "user", content: "hi" };
const callMessage = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "a", type: "function", function: { name: "look", arguments: "{}" } }],
};
export const responseFormat = {
  type: "json_schema",
  json_schema: { name: "o", strict: true, schema: { type: "array" } },
};
const namedToolChoice = { type: "function", function: { name: "look" } };
/** The error, the request, the change for this request only, and the `param` of the error. */
export type ClientErrorCase = [
  message: string,
  sent: JsonObject,
  once?: JsonObject | undefined,
  param?: string,
];

/** Mistakes in Chat requests. */
export const chatClientErrorCases: ClientErrorCase[] = [
  // values
  ["temperature must be 1 or less", { temperature: 1.5 }],
  ["temperature must be 1.5 or less", { temperature: 2 }],
  ["`temperature` must be 1 to 2", { temperature: 0.5 }],
  ["'temperature' does not support values above 1 with this model", { temperature: 1.5 }],
  ["'temperature' does not support 7 with this model.", { temperature: 7 }],
  ["'temperature': value 3 is unsupported", { temperature: 3 }, undefined, "temperature"],
  ["top_p must be 1 or lower", { top_p: 0.5 }],
  ["'stop' is not supported with more than 4 sequences", { stop: ["a", "b", "c", "d", "e"] }],
  ["'stop' is not allowed to be empty", { stop: "" }, undefined, "stop"],
  ["'max_tokens' is not allowed for values over 4096", { max_tokens: 9000 }],
  ["'max_tokens' is not supported for 9000", { max_tokens: 9000 }],
  [
    "Unsupported parameter: 'seed' is not supported with negative values",
    { seed: -1 },
    undefined,
    "seed",
  ],
  ["unrecognized value 'x' for service_tier", { service_tier: "x" }, undefined, "service_tier"],
  ["Unsupported parameter value: 'x'", { service_tier: "x" }, undefined, "service_tier"],
  ["Unknown parameter: 'logit_bias.foo'", { logit_bias: { foo: 1 } }],
  ["messages[0]: unknown field `user`, expected one of `role`, `content`", { user: "me" }],
  ["Additional properties are not allowed ('user' was unexpected) - 'messages.0'", { user: "me" }],
  ["Unknown parameter: 'stream_options.foo'", { stream: true, stream_options: { foo: 1 } }],
  ["Missing 'x'", { response_format: { type: "json_object" } }, undefined, "response_format"],

  // efforts
  ["invalid reasoning_effort: banana", { reasoning_effort: "banana" }],
  [
    "Invalid value: 'banana'. Supported values are: 'low' and 'high'.",
    { reasoning_effort: "banana" },
    undefined,
    "reasoning_effort",
  ],
  ["reasoning_effort: expected a string", { reasoning_effort: 5 }],
  [
    "reasoning_effort must be 'none' when temperature is set",
    { reasoning_effort: "high", temperature: 1 },
    { efforts: ["none"] },
  ],

  // combinations
  [
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    { temperature: 0.2, top_p: 0.9 },
    { droppedParameters: ["top_p"] },
  ],
  [
    "You cannot specify both temperature and top_p",
    { temperature: 0.2, top_p: 0.9 },
    { droppedParameters: ["top_p"] },
  ],
  [
    "`temperature` may only be set to 1 when thinking is enabled.",
    { temperature: 0.2, reasoning_effort: "high" },
    { droppedParameters: ["temperature"] },
  ],
  [
    "'logprobs' is not supported when streaming",
    { logprobs: true },
    { droppedParameters: ["logprobs"] },
  ],
  [
    "Unsupported parameter: 'seed' is not supported with reasoning_effort.",
    { seed: 1 },
    { droppedParameters: ["seed"] },
    "seed",
  ],
  [
    "'parallel_tool_calls' is only allowed when 'tools' are specified.",
    { parallel_tool_calls: true },
  ],
  ["'stream' must be true when background is used", { stream: false }, { alwaysStream: true }],
  [
    "'stream' is not supported when n is more than 1",
    { stream: true },
    { droppedParameters: ["stream"] },
  ],
  [
    "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions.",
    { tools: [createTool("look")], reasoning_effort: "high" },
    { droppedParameters: ["reasoning_effort"] },
  ],
  [
    "tool_choice 'required' is incompatible with thinking enabled",
    { tools: [createTool("look")], tool_choice: "required", reasoning_effort: "high" },
    { toolChoice: "unforced" },
  ],

  // schemas
  [
    "Invalid schema for response_format 'o': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    { response_format: responseFormat },
    undefined,
    "response_format",
  ],
  [
    "Invalid schema for response_format 'o': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    { response_format: responseFormat },
    undefined,
    "response_format",
  ],
  [
    "Invalid 'response_format.json_schema.name': string does not match pattern.",
    { response_format: responseFormat },
  ],
  [
    "Missing required parameter: 'response_format.json_schema'.",
    { response_format: responseFormat },
  ],
  [
    "Invalid value: 'banana' for response_format.type. Supported values are: 'json_object', 'json_schema' and 'text'.",
    { response_format: { type: "banana" } },
  ],
  ["Unknown parameter: 'response_format.foo'", { response_format: { ...responseFormat, foo: 1 } }],
  [
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    { response_format: { type: "json_object" } },
    undefined,
    "response_format",
  ],
  [
    "Invalid response_format: 'oneOf' is not supported in a json_schema",
    { response_format: responseFormat },
    { responseFormat: "json_object" },
  ],
  [
    "Invalid schema for function 'look': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    { tools: [createTool("look", { strict: true })] },
    { strictSchemas: false },
  ],
  [
    "Tools with mixed values for 'strict' are not allowed.",
    { tools: [createTool("look", { strict: true })] },
    { strictSchemas: false },
  ],
  [
    "Invalid type for 'tools[0].function.strict': expected a boolean, but got a string instead.",
    { tools: [createTool("look", { strict: "yes" })] },
  ],
  [
    "Invalid schema for function 'look': schema must have type 'object' and not have 'anyOf' at the top level.",
    { tools: [createTool("look")] },
    { schemaDialect: "gemini" },
  ],
  ["failed to parse grammar", { tools: [createTool("look")] }, { schemaDialect: "gemini" }],

  // tools and their choice
  [
    "Invalid value for 'tool_choice': expected one of the tools, 'look' is not in 'tools'",
    { tools: [createTool("other")], tool_choice: namedToolChoice },
  ],
  [
    "tool_choice: input should be a valid string",
    { tools: [createTool("other")], tool_choice: { foo: 1 } },
  ],
  [
    "Invalid tool_choice: 'banana'. Supported values are: 'none', 'auto', 'required'",
    { tools: [createTool("look")], tool_choice: "banana" },
  ],
  [
    "Unknown parameter: 'tool_choice.foo'",
    { tools: [createTool("look")], tool_choice: { ...namedToolChoice, foo: 1 } },
  ],
  [
    "Invalid value: 'banana'. Supported values are: 'function' and 'custom'.",
    { tools: [customTool, { type: "banana" }] },
    undefined,
    "tools[1].type",
  ],
  [
    "Invalid grammar for 'custom' tool 'patch': unexpected end of input",
    { tools: [customTool] },
    undefined,
    "tools[0].custom.format",
  ],

  // histories
  [
    "messages[1].role: must be one of system, user, assistant, tool",
    {
      messages: [
        userMessage,
        { role: "banana", content: "x" },
        { role: "developer", content: "x" },
      ],
    },
  ],
  [
    "tool_call_id b is not found",
    { messages: [userMessage, callMessage, { role: "tool", tool_call_id: "b", content: "A" }] },
  ],
  [
    "messages: text content blocks must be non-empty",
    { messages: [{ role: "user", content: "" }, callMessage] },
    { emptyContent: "omit" },
  ],
  [
    "messages[0].content must be a string",
    { messages: [{ role: "user", content: null }, callMessage] },
    { emptyContent: "empty" },
  ],
];
