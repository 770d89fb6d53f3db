export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const schema = {
  type: "object",
  properties: { a: { type: "string" }, b: { anyOf: [{ type: "null" }, { $ref: "#/$defs/x" }] } },
  $defs: { x: { type: "number" } },
};
const imageUrl = "data:image/png;base64,iVBORw0KGgo=";

/** Requests with every field that a client may send. */
export const validResponsesRequests: readonly { [name: string]: Json }[] = [
  { input: "Hello" },
  {
    instructions: "Be brief",
    input: [
      { role: "developer", content: "x" },
      {
        role: "user",
        content: [
          { type: "input_text", text: "a" },
          { type: "input_image", image_url: imageUrl, detail: "auto" },
          { type: "input_file", filename: "a.txt", file_data: "data:text/plain;base64,YQ==" },
        ],
      },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: "dw1.AAAA",
      },
      { type: "function_call", id: "fc_1", call_id: "call_111111", name: "f", arguments: "{}" },
      {
        type: "function_call_output",
        call_id: "call_111111",
        output: [
          { type: "input_text", text: "r" },
          { type: "input_image", image_url: imageUrl },
        ],
      },
      {
        type: "custom_tool_call",
        call_id: "call_222222",
        name: "apply_patch",
        input: "*** Begin Patch",
      },
      { type: "custom_tool_call_output", call_id: "call_222222", output: "done" },
      {
        type: "message",
        role: "assistant",
        id: "msg_1",
        content: [{ type: "output_text", text: "ok", annotations: [] }],
      },
      { type: "item_reference", id: "msg_9" },
      { role: "user", content: "go on" },
    ],
    tools: [
      { type: "function", name: "f", parameters: schema, strict: true },
      {
        type: "custom",
        name: "apply_patch",
        format: { type: "grammar", syntax: "lark", definition: "start: x" },
      },
      {
        type: "namespace",
        name: "mcp__w",
        tools: [{ type: "function", name: "g", parameters: schema }],
      },
      { type: "web_search" },
    ],
    tool_choice: { type: "function", name: "f" },
    parallel_tool_calls: true,
    reasoning: { effort: "medium", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    text: { format: { type: "json_schema", name: "x", schema, strict: true }, verbosity: "low" },
    store: false,
    temperature: 0.5,
    top_p: 1,
    max_output_tokens: 100,
    metadata: { a: "b" },
    prompt_cache_key: "k",
  },
];

export const validChatRequests: readonly { [name: string]: Json }[] = [
  { messages: [{ role: "user", content: "Hello" }] },
  {
    messages: [
      { role: "system", content: "x" },
      {
        role: "user",
        name: "u",
        content: [
          { type: "text", text: "a" },
          { type: "image_url", image_url: { url: imageUrl } },
          { type: "input_audio", input_audio: { data: "YQ==", format: "wav" } },
          { type: "file", file: { filename: "a", file_data: "data:text/plain;base64,YQ==" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        reasoning_content: "hm",
        tool_calls: [
          { id: "call_111111", type: "function", function: { name: "f", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_111111", content: "r" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "ok" },
          { type: "refusal", refusal: "no" },
        ],
      },
      { role: "user", content: "go on" },
    ],
    tools: [
      { type: "function", function: { name: "f", parameters: schema, strict: true } },
      { type: "custom", custom: { name: "c" } },
    ],
    tool_choice: "required",
    response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    n: 2,
    stop: ["a"],
    logprobs: true,
    top_logprobs: 2,
    stream_options: { include_usage: true },
    reasoning_effort: "low",
    max_completion_tokens: 100,
    seed: 7,
  },
];
