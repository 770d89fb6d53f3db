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

/** A signature that no upstream of the tests has made. */
const foreignSignature = "EqQBCkYIBRgCKkBtlZ3v7Jk3";

export const validMessagesRequests: readonly { [name: string]: Json }[] = [
  { max_tokens: 100, messages: [{ role: "user", content: "Hello" }] },
  {
    max_tokens: 4000,
    system: [
      { type: "text", text: "x-anthropic-billing-header: cc_version=1; cch=0;" },
      { type: "text", text: "Be brief", cache_control: { type: "ephemeral", ttl: "1h" } },
    ],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "a", cache_control: { type: "ephemeral" } },
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
          },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "b" } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: foreignSignature },
          { type: "redacted_thinking", data: "AAAA" },
          { type: "text", text: "I look" },
          { type: "tool_use", id: "toolu_1", name: "f", input: { a: "b" } },
          { type: "tool_use", id: "toolu_2", name: "bash", input: { command: "ls" } },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_1",
            content: [
              { type: "text", text: "r" },
              {
                type: "image",
                source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
              },
            ],
          },
          { type: "tool_result", tool_use_id: "toolu_2", is_error: true, content: "no" },
          { type: "text", text: "go on" },
        ],
      },
      { role: "system", content: "The user is away" },
      { role: "assistant", content: "ok" },
      { role: "user", content: "go on" },
    ],
    tools: [
      { name: "f", description: "d", input_schema: schema, strict: true },
      { name: "g", input_schema: { type: "object" }, defer_loading: true },
      { type: "bash_20250124", name: "bash" },
      { type: "web_search_20250305", name: "web_search", max_uses: 3 },
    ],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    thinking: { type: "adaptive", display: "summarized" },
    output_config: { effort: "high", format: { type: "json_schema", schema } },
    metadata: { user_id: "user_1" },
    stop_sequences: ["END"],
    service_tier: "auto",
    context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
  },
  {
    max_tokens: 2048,
    temperature: 1,
    top_k: 40,
    thinking: { type: "enabled", budget_tokens: 1024 },
    messages: [{ role: "user", content: "Hello" }],
    tools: [{ name: "f", input_schema: { type: "object" } }],
  },
];
