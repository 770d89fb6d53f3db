import {
  collectMessage,
  decodeChatRequest,
  decodeMessagesRequest,
  decodeResponsesRequest,
  providerProfiles,
  repairMessagesRequest,
  translateChatToMessages,
  translateMessagesToChat,
  translateMessagesToResponses,
  translateResponsesToMessages,
  withProfileFlags,
  genericProfile,
  type JsonObject,
  type MessageParam,
  type MessagesFlags,
  type MessagesRequest,
  type WireError,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findMessagesRequestFaults } from "../check/message-rules.ts";
import { playChatToMessages, sealForChecks, unsealForChecks } from "../check/play.ts";
import { body, chunk } from "./chat-chunks.ts";

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { name: "get_weather", description: "Weather", input_schema: schema };

const decode = (fields: object = {}): MessagesRequest =>
  decodeMessagesRequest({
    model: "m",
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
    ...fields,
  });

/** Returns the error that a function throws. */
function catchError(run: () => unknown): Pick<WireError, "code" | "message" | "param"> {
  try {
    run();
  } catch (error) {
    const { code, message, param } = error as WireError;
    return { code, message, param };
  }
  throw new Error("no error");
}

describe("a Messages request is rejected", () => {
  test.each<[string, object, string]>([
    ["without max_tokens", { max_tokens: undefined }, "max_tokens: Field required"],
    ["with max_tokens 0", { max_tokens: 0 }, "max_tokens: expected an integer"],
    ["without messages", { messages: [] }, "messages: expected at least one message"],
    ["with another role", { messages: [{ role: "tool", content: "" }] }, "messages[0].role"],
    [
      "with a call without an input",
      { messages: [{ role: "assistant", content: [{ type: "tool_use", id: "a", name: "b" }] }] },
      "messages[0].content[0].input",
    ],
    ["with a tool without a schema", { tools: [{ name: "a" }] }, "tools[0].input_schema"],
    ["with an unknown tool_choice", { tool_choice: { type: "some" } }, "tool_choice.type"],
  ])("%s", (_title, fields, message) => {
    expect(catchError(() => decode(fields)).message).toContain(message);
  });

  test("with sampling parameters that its version does not have", () => {
    const request = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
    const withSampling = { ...request, temperature: 1 };
    expect(decodeMessagesRequest(withSampling, { version: "2023-06-01" })).toBe(withSampling);
    expect(
      catchError(() => decodeMessagesRequest(withSampling, { version: "2026-10-21" })).param,
    ).toBe("temperature");
  });

  test.each([
    ["user", { type: "text", text: "a", citations: [{ type: "char_location" }] }, "citations"],
    ["assistant", { type: "document", source: { type: "text", data: "a" } }, "messages[1]"],
  ])("with contents of the %s that its version does not have", (role, block, path) => {
    const messages = [
      { role: "user", content: "Hi" },
      { role, content: [block] },
    ];
    const request = { model: "m", max_tokens: 9, messages };
    expect(decodeMessagesRequest(request)).toBe(request);
    const { code, param } = catchError(() =>
      decodeMessagesRequest(request, { version: "2026-10-21" }),
    );
    expect(code).toBe("invalid_request");
    expect(param).toContain(path);
  });

  test("with a result without a call, in Anthropic's words", () => {
    const content = [{ type: "tool_result", tool_use_id: "toolu_x", content: "1" }];
    const request = decode({ messages: [{ role: "user", content }] });
    expect(catchError(() => translateMessagesToChat(request))).toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("unexpected `tool_use_id` found") as string,
    });
  });

  test.each<[string, object, string]>([
    ["MCP servers", { mcp_servers: [{ url: "u" }] }, "mcp_servers"],
    [
      "an image by file id",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "image", source: { type: "file", file_id: "f" } }],
          },
        ],
      },
      "messages[0]",
    ],
    ["five stop sequences", { stop_sequences: ["a", "b", "c", "d", "e"] }, "stop_sequences"],
    [
      "a forced tool of Anthropic's server",
      {
        tools: [{ type: "web_search_20250305", name: "web_search" }],
        tool_choice: { type: "tool", name: "web_search" },
      },
      "tool_choice.name",
    ],
  ])("for a Chat upstream if it needs %s", (_title, fields, param) => {
    expect(catchError(() => translateMessagesToChat(decode(fields)))).toMatchObject({
      code: "unsupported",
      param,
    });
  });
});

const history = [
  { role: "user", content: [{ type: "text", text: "Weather in Paris and Rome?" }] },
  { role: "system", content: "Be brief.", output_config: { effort: "low" } },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Hm.", signature: "FOREIGN" },
      { type: "text", text: "Looking." },
      { type: "tool_use", id: "toolu_A", name: "get_weather", input: { city: "Paris" } },
      { type: "tool_use", id: "toolu_B", name: "get_weather", input: { city: "Rome" } },
    ],
  },
  {
    role: "user",
    content: [
      { type: "text", text: "And then?" },
      { type: "tool_result", tool_use_id: "toolu_B", content: "25 C" },
      { type: "tool_result", tool_use_id: "toolu_A", content: "oops", is_error: true },
    ],
  },
];

describe("a Messages request to a Chat upstream", () => {
  test("has the history in order, with results directly after their calls", () => {
    const { body, repairs, fields } = translateMessagesToChat(
      decode({
        system: [
          { type: "text", text: "x-anthropic-billing-header: cc_version=1;" },
          { type: "text", text: "You are terse.", cache_control: { type: "ephemeral" } },
        ],
        messages: history,
        tools: [{ ...weather, defer_loading: true }],
        tool_choice: { type: "any", disable_parallel_tool_use: true },
        context_management: { edits: [] },
        top_k: 5,
        stop_sequences: ["END"],
      }),
      { unseal: unsealForChecks },
    );
    expect(body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "You are terse." },
        { role: "user", content: "Weather in Paris and Rome?" },
        { role: "system", content: "Be brief." },
        {
          role: "assistant",
          content: "Looking.",
          tool_calls: [
            {
              id: "toolu_A",
              type: "function",
              function: { name: "get_weather", arguments: '{"city":"Paris"}' },
            },
            {
              id: "toolu_B",
              type: "function",
              function: { name: "get_weather", arguments: '{"city":"Rome"}' },
            },
          ],
        },
        { role: "tool", tool_call_id: "toolu_A", content: "[tool error] oops" },
        { role: "tool", tool_call_id: "toolu_B", content: "25 C" },
        { role: "user", content: "And then?" },
      ],
      tools: [
        {
          type: "function",
          function: { name: "get_weather", description: "Weather", parameters: schema },
        },
      ],
      tool_choice: "required",
      parallel_tool_calls: false,
      reasoning_effort: "low",
      max_tokens: 100,
      stop: ["END"],
    });
    expect(repairs.counts.get("reasoning_dropped")).toBe(1);
    const outcomes = Object.fromEntries(fields.map(({ path, outcome }) => [path, outcome]));
    expect(outcomes).toMatchObject({
      model: "preserved",
      max_tokens: "translated",
      system: "translated",
      "system[].text": "dropped",
      messages: "translated",
      "messages[].content[].thinking": "dropped",
      tools: "translated",
      "tools[].defer_loading": "dropped",
      tool_choice: "translated",
      stop_sequences: "translated",
      context_management: "dropped",
      top_k: "dropped",
    });
  });

  test("has the texts of found tools, search results and documents in results", () => {
    const content = [
      { type: "tool_reference", tool_name: "WebFetch" },
      {
        type: "search_result",
        title: "News",
        source: "https://example.com",
        content: [{ type: "text", text: "France won." }],
      },
      {
        type: "document",
        title: "a.txt",
        context: "notes",
        source: { type: "text", media_type: "text/plain", data: "Words." },
      },
    ];
    const { body: translated } = translateMessagesToChat(
      decode({
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", content: [{ type: "tool_use", id: "t_1", name: "f", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t_1", content }] },
        ],
      }),
    );
    expect(translated.messages[2]).toMatchObject({
      role: "tool",
      content:
        "The tool WebFetch is available now.\n\nNews\nhttps://example.com\nFrance won.\n\na.txt\nnotes\nWords.",
    });
  });

  test.each([
    ["auto", "auto"],
    ["standard_only", "default"],
  ])("has the service tier %s as %s, as does one to a Responses upstream", (tier, expected) => {
    const request = decode({ service_tier: tier });
    const profile = withProfileFlags(genericProfile, providerProfiles.openai);
    expect(translateMessagesToChat(request, { profile }).body.service_tier).toBe(expected);
    expect(translateMessagesToResponses(request).body.service_tier).toBe(expected);
  });

  test("reports every field of the request", () => {
    const request = decode({
      system: "S",
      stream: true,
      temperature: 0.5,
      thinking: { type: "adaptive" },
      output_config: { effort: "high", format: { type: "json_schema", schema }, task_budget: 1 },
      metadata: { user_id: "u" },
      service_tier: "auto",
      safeguards: [],
      tomorrow: 1,
    });
    const { fields } = translateMessagesToChat(request);
    const paths = new Set(fields.map(({ path }) => path));
    for (const name of Object.keys(request)) expect(paths).toContain(name);
  });

  test("has our own reasoning again, as the profile requires", () => {
    const text = "I need the tool.";
    const signature = signThinking(text);
    const messages = [
      history[0],
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: text, signature },
          { type: "tool_use", id: "toolu_A", name: "get_weather", input: {} },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_A", content: "1" }] },
    ];
    const profile = withProfileFlags(genericProfile, {
      reasoningField: "reasoning_content",
      reasoningRange: "all",
    });
    const options = { profile, unseal: unsealForChecks };
    const { body } = translateMessagesToChat(decode({ messages }), options);
    expect(body.messages[1]).toMatchObject({ reasoning_content: text });
    const changed = JSON.parse(JSON.stringify(messages).replace(text, "Changed.")) as object[];
    const result = translateMessagesToChat(decode({ messages: changed }), options);
    expect(JSON.stringify(result.body)).not.toContain("Changed.");
    expect(result.repairs.counts.get("reasoning_dropped")).toBe(1);
  });

  test("answers calls that were never answered, and gives repeated ids a suffix", () => {
    const call = { type: "tool_use", id: "Bash_0", name: "Bash", input: {} };
    const result = { type: "tool_result", tool_use_id: "Bash_0", content: "1" };
    const { body } = translateMessagesToResponses(
      decode({
        messages: [
          { role: "user", content: "a" },
          { role: "assistant", content: [call] },
          { role: "user", content: [result] },
          { role: "assistant", content: [call] },
          { role: "user", content: "Never mind." },
        ],
      }),
    );
    const items = body.input as JsonObject[];
    expect(
      items.map((item) => [item["type"], item["call_id"] ?? null, item["output"] ?? null]),
    ).toEqual([
      ["message", null, null],
      ["function_call", "Bash_0", null],
      ["function_call_output", "Bash_0", "1"],
      ["function_call", "Bash_0_2", null],
      ["function_call_output", "Bash_0_2", "[no result: interrupted]"],
      ["message", null, null],
    ]);
  });

  test("shortens long tool names and maps them back", () => {
    const name = `mcp__${"x".repeat(80)}`;
    const { body, tools } = translateMessagesToChat(decode({ tools: [{ ...weather, name }] }));
    const [tool] = body.tools ?? [];
    const sent = tool?.type === "function" ? tool.function.name : "";
    expect(sent.length).toBeLessThanOrEqual(64);
    expect(tools.findDeclared(sent)).toEqual({ kind: "function", name });
    const responses = translateMessagesToResponses(decode({ tools: [{ ...weather, name }] }));
    expect(responses.tools.findDeclared(sent)).toEqual({ kind: "function", name });
    expect(responses.body.tools?.[0]?.["name"]).toBe(sent);
  });

  test("has the published schemas of the tools that the client runs", () => {
    const types = ["bash_20250124", "text_editor_20250728", "memory_20250818", "computer_20250124"];
    const tools = types.map((type) => ({ type, name: type.replace(/_\d+$/, "") }));
    const { body } = translateMessagesToChat(decode({ tools }));
    expect(body.tools).toHaveLength(4);
    const dropped = translateMessagesToChat(
      decode({ tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] }),
    );
    expect(dropped.body.tools).toBeUndefined();
    expect(dropped.repairs.counts.get("tool_dropped")).toBe(1);
  });
});

/** Returns the signature with which a Messages client receives this thinking. */
function signThinking(text: string): string {
  const { out } = playChatToMessages(body([chunk({ reasoning_content: text }), chunk({}, "stop")]));
  const collected = collectMessage(out);
  const [block] = collected?.ok === true ? collected.message.content : [];
  return block?.type === "thinking" ? block.signature : "";
}

describe("a Messages request to a Responses upstream", () => {
  test("has developer messages, files, and a hashed user", () => {
    const pdf = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" };
    const image = { type: "base64", media_type: "image/png", data: "AAAA" };
    const { body } = translateMessagesToResponses(
      decode({
        system: "S",
        messages: [
          {
            role: "user",
            content: [
              { type: "document", title: "a.pdf", source: pdf },
              { type: "image", source: image },
              { type: "text", text: "What is it?" },
            ],
          },
          { role: "system", content: [{ type: "text", text: "Be brief." }] },
        ],
        thinking: { type: "enabled", budget_tokens: 10_000 },
        metadata: { user_id: "account" },
        tools: [weather, { type: "web_search_20250305", name: "web_search" }],
        tool_choice: { type: "tool", name: "get_weather" },
      }),
      { hash: (text) => `hash${text.length}` },
    );
    expect(body).toMatchObject({
      instructions: "S",
      input: [
        {
          role: "user",
          content: [
            {
              type: "input_file",
              filename: "a.pdf",
              file_data: "data:application/pdf;base64,JVBERi0=",
            },
            { type: "input_image", image_url: "data:image/png;base64,AAAA" },
            { type: "input_text", text: "What is it?" },
          ],
        },
        { role: "developer", content: [{ type: "input_text", text: "Be brief." }] },
      ],
      reasoning: { effort: "medium", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      store: false,
      safety_identifier: "hash7",
      tools: [{ type: "function", name: "get_weather" }, { type: "web_search" }],
      tool_choice: { type: "function", name: "get_weather" },
    });
    expect(JSON.stringify(body)).not.toContain("account");
  });

  test("forces a search of the server if the client does", () => {
    const { body } = translateMessagesToResponses(
      decode({
        tools: [weather, { type: "web_search_20250305", name: "web_search" }],
        tool_choice: { type: "tool", name: "web_search" },
      }),
    );
    expect(body.tool_choice).toEqual({ type: "web_search" });
  });

  test("has the encrypted reasoning that its signatures contain", () => {
    const detail = {
      type: "reasoning.encrypted",
      data: "ENC",
      id: "rs_1",
      format: "openai-responses-v1",
    };
    const signature = sealForChecks({ details: [detail] });
    const { body } = translateMessagesToResponses(
      decode({
        messages: [
          { role: "user", content: "a" },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "Plan.", signature },
              { type: "text", text: "b" },
            ],
          },
          { role: "user", content: "c" },
        ],
      }),
      { unseal: unsealForChecks },
    );
    expect((body.input as JsonObject[])[1]).toEqual({
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "Plan." }],
      encrypted_content: "ENC",
    });
  });

  test("is rejected if it needs stop sequences or continues the assistant", () => {
    const stop = decode({ stop_sequences: ["END"] });
    expect(catchError(() => translateMessagesToResponses(stop)).param).toBe("stop_sequences");
    const prefill = decode({
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
    });
    expect(catchError(() => translateMessagesToResponses(prefill)).param).toBe("messages");
  });
});

/** Translates a request of an OpenAI client, and checks it against the rules of the API. */
function fromResponses(fields: object, options: MessagesFlags = {}) {
  const request = decodeResponsesRequest({ model: "m", ...fields });
  const result = translateResponsesToMessages(request, {
    ...options,
    unseal: unsealForChecks,
    hash: (text) => `hash${text.length}`,
  });
  expect(findMessagesRequestFaults(result.body)).toEqual([]);
  return result;
}

const getBlocks = ({ content }: MessageParam) => (typeof content === "string" ? [] : content);

function fromChat(fields: object, options: MessagesFlags = {}) {
  const request = decodeChatRequest({ model: "m", ...fields });
  const result = translateChatToMessages(request, { ...options, unseal: unsealForChecks });
  expect(findMessagesRequestFaults(result.body)).toEqual([]);
  return result;
}

describe("a request of an OpenAI client to a Messages upstream", () => {
  const message = (role: string, text: string) => ({
    type: "message",
    role,
    content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
  });
  const callItem = (id: string, args: string) => ({
    type: "function_call",
    call_id: id,
    name: "get_weather",
    arguments: args,
  });
  const output = (id: string, text: unknown) => ({
    type: "function_call_output",
    call_id: id,
    output: text,
  });

  test("has turns in which results come first", () => {
    const { body } = fromResponses({
      instructions: "Be terse.",
      input: [
        message("user", "Both?"),
        callItem("call_a", '{"city":"Paris"}'),
        callItem("functions.b:1", ""),
        message("assistant", "Waiting."),
        output("functions.b:1", "25"),
        output("call_a", "[tool error] oops"),
        message("developer", "MIDDLE"),
        message("user", "So?"),
      ],
      tools: [{ type: "function", name: "get_weather", parameters: schema }],
    });
    const [, assistant = [], user = []] = body.messages.map(getBlocks);
    const [first, second] = user;
    expect(body.system).toEqual([
      { type: "text", text: "Be terse.", cache_control: { type: "ephemeral" } },
    ]);
    expect(assistant.map(({ type }) => type)).toEqual(["text", "tool_use", "tool_use"]);
    expect(first).toMatchObject({ tool_use_id: "call_a", content: "oops", is_error: true });
    expect(second?.["tool_use_id"]).toMatch(/^functions_b_1_\w+$/);
    expect(user.slice(2)).toEqual([
      { type: "text", text: "<system-reminder>\nMIDDLE\n</system-reminder>" },
      { type: "text", text: "So?", cache_control: { type: "ephemeral" } },
    ]);
    expect(body.max_tokens).toBe(8192);
  });

  test("keeps the role system where the API allows it", () => {
    const input = [
      message("user", "a"),
      message("developer", "One."),
      message("assistant", "b"),
      message("developer", "Two."),
      message("user", "c"),
    ];
    const { body } = fromResponses({ input }, { lateSystemMessages: "keep" });
    expect(body.messages.map(({ role }) => role)).toEqual(["user", "system", "assistant", "user"]);
  });

  test("has the upstream's own thinking byte for byte, and no other", () => {
    const details = [
      { type: "reasoning.text", text: "Plan.", signature: "SIG", format: "anthropic-claude-v1" },
      { type: "reasoning.encrypted", data: "DATA", format: "anthropic-claude-v1" },
    ];
    const sealed = sealForChecks({ details });
    const thinking = [
      { type: "thinking", thinking: "Plan.", signature: "SIG" },
      { type: "redacted_thinking", data: "DATA" },
    ];
    const call = callItem("call_a", '{"city":"Paris"}');
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: sealed };
    const input = [message("user", "a"), reasoning, call, output("call_a", "1")];
    const { body } = fromResponses({ input, reasoning: { effort: "high" } });
    expect(body.messages[1]?.content).toMatchObject([...thinking, { type: "tool_use" }]);
    expect(body.thinking).toMatchObject({ type: "enabled" });
    const foreign = { ...reasoning, encrypted_content: "gAAAA", summary: [{ text: "Secret." }] };
    const other = fromResponses({
      input: [message("user", "a"), foreign, call, output("call_a", "1")],
      reasoning: { effort: "high" },
    });
    expect(JSON.stringify(other.body)).not.toMatch(/gAAAA|Secret/);
    // The API rejects thinking if the calls that are answered have none.
    expect(other.body.thinking).toBeUndefined();
    const assistant = {
      role: "assistant",
      content: null,
      reasoning_content: "Plan.",
      reasoning_details: [
        { type: "reasoning.encrypted", data: sealed, format: "deltawire-sealed-v1" },
        { ...details[0], signature: "OTHER" },
      ],
      tool_calls: [
        { id: "call_a", type: "function", function: { name: "get_weather", arguments: "{}" } },
      ],
    };
    const messages = [
      { role: "user", content: "a" },
      assistant,
      { role: "tool", tool_call_id: "call_a", content: "1" },
    ];
    expect(fromChat({ messages }).body.messages[1]?.content).toMatchObject([
      ...thinking,
      { type: "tool_use" },
    ]);
    expect(fromChat({ messages }, { dropThinking: true }).body.messages[1]?.content).toHaveLength(
      1,
    );
    const unsigned = fromChat(
      { messages: messages.map((entry) => ({ ...entry, reasoning_details: undefined })) },
      { unsignedThinking: true },
    );
    expect(unsigned.body.messages[1]?.content).toMatchObject([
      { type: "thinking", thinking: "Plan.", signature: "" },
      { type: "tool_use" },
    ]);
  });

  test.each<[string, object, MessagesFlags, object]>([
    [
      "a budget below max_tokens",
      { max_output_tokens: 4000 },
      {},
      { thinking: { type: "enabled", budget_tokens: 3200 } },
    ],
    [
      "an effort with adaptive thinking",
      {},
      { thinkingStyle: "adaptive" },
      { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
    ],
  ])("sends an effort as %s", (_title, fields, flags, expected) => {
    const { body } = fromResponses({ input: "a", reasoning: { effort: "high" }, ...fields }, flags);
    expect(body).toMatchObject(expected);
  });

  test("never combines thinking with a forced call or a small limit", () => {
    const tools = [{ type: "function", name: "get_weather", parameters: schema }];
    const forced = fromResponses({
      input: "a",
      tools,
      tool_choice: "required",
      parallel_tool_calls: false,
      reasoning: { effort: "high" },
    });
    expect(forced.body.thinking).toBeUndefined();
    expect(forced.body.tool_choice).toEqual({ type: "any", disable_parallel_tool_use: true });
    const small = fromResponses({
      input: "a",
      max_output_tokens: 500,
      reasoning: { effort: "high" },
    });
    expect(small.body.thinking).toBeUndefined();
    expect(small.repairs.counts.get("parameter_dropped")).toBe(1);
  });

  test.each([
    ["auto", "auto"],
    ["default", "standard_only"],
    ["flex", undefined],
  ])("has the service tier %s as %s", (service_tier, expected) => {
    const { body } = fromResponses({ input: "a", service_tier });
    expect(body.service_tier).toBe(expected);
  });

  test("lowers max_tokens to the model's limit, with a repair", () => {
    const { body, repairs } = fromChat(
      { messages: [{ role: "user", content: "a" }], max_tokens: 32_000 },
      { maxTokensLimit: 8192 },
    );
    expect(body.max_tokens).toBe(8192);
    expect(repairs.list).toEqual([
      { code: "parameter_changed", choice: 0, detail: "max_tokens: 32000 -> 8192" },
    ]);
  });

  test("has images as blocks, also in results, and PDFs as documents", () => {
    const url = "data:image/png;base64,AAAA";
    const { body } = fromResponses({
      input: [
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_image", image_url: "https://example.com/a.png" },
            {
              type: "input_file",
              filename: "a.pdf",
              file_data: "data:application/pdf;base64,JVBE",
            },
          ],
        },
        callItem("call_a", "{}"),
        output("call_a", [
          { type: "input_text", text: "shot" },
          { type: "input_image", image_url: url },
        ]),
      ],
    });
    expect(body.messages[0]?.content).toEqual([
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      {
        type: "document",
        title: "a.pdf",
        source: { type: "base64", media_type: "application/pdf", data: "JVBE" },
      },
    ]);
    const [result] = body.messages.map(getBlocks)[2] ?? [];
    expect(result?.["content"]).toEqual([
      { type: "text", text: "shot" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
    ]);
  });

  test("reports the fields that the API does not have", () => {
    const { fields, repairs } = fromChat({
      messages: [{ role: "user", content: "a" }],
      seed: 7,
      stop: ["END", "\n\n"],
      temperature: 1.5,
      reasoning_effort: "none",
      stream_options: { include_usage: true },
    });
    const outcomes = Object.fromEntries(fields.map(({ path, outcome }) => [path, outcome]));
    expect(outcomes).toMatchObject({
      model: "preserved",
      messages: "preserved",
      seed: "dropped",
      stop: "translated",
      temperature: "translated",
      reasoning_effort: "translated",
      stream_options: "dropped",
    });
    expect(repairs.counts.get("parameter_dropped")).toBe(1);
  });

  test("with custom tools and namespaces has functions, and maps their calls back", () => {
    const { body, tools } = fromResponses({
      input: "Patch it",
      tools: [
        { type: "custom", name: "apply_patch", format: { type: "grammar", definition: "x" } },
        { type: "namespace", name: "slack", tools: [{ type: "function", name: "send" }] },
      ],
    });
    const names = (body.tools ?? []).map(({ name }) => name ?? "");
    expect(names.map((name) => tools.findDeclared(name))).toEqual([
      { kind: "custom", name: "apply_patch" },
      { kind: "function", name: "send", namespace: "slack" },
    ]);
  });
});

describe("a Messages request to a Messages upstream", () => {
  test("is the same object if nothing must change", () => {
    const request = decode({ messages: history, unknown: { field: 1 } });
    const { body, repairs, fields } = repairMessagesRequest(request, { unseal: unsealForChecks });
    expect(body).toBe(request);
    expect(repairs.total).toBe(0);
    expect(fields.every(({ outcome }) => outcome === "preserved")).toBe(true);
  });

  test("has no thinking that was signed here, except unsigned thinking of this upstream", () => {
    const signature = sealForChecks({ textHash: "other" });
    const block = { type: "thinking", thinking: "Plan.", signature };
    const messages = [
      history[0],
      { role: "assistant", content: [block, { type: "text", text: "b" }] },
      { role: "user", content: "c" },
    ];
    const { body, repairs } = repairMessagesRequest(decode({ messages }), {
      unseal: unsealForChecks,
      upstreamModel: "other",
      maxTokensLimit: 50,
    });
    expect(body).toMatchObject({ model: "other", max_tokens: 50 });
    expect(body.messages[1]?.content).toEqual([{ type: "text", text: "b" }]);
    expect(repairs.counts.get("reasoning_dropped")).toBe(1);
  });

  test.each([
    [16_000, { type: "enabled", budget_tokens: 12_800 }],
    [1000, { type: "disabled" }],
  ])("thinks less than max_tokens if that is lowered to %s", (maxTokensLimit, thinking) => {
    const request = decode({
      max_tokens: 32_000,
      thinking: { type: "enabled", budget_tokens: 31_999 },
    });
    const { body, repairs } = repairMessagesRequest(request, { maxTokensLimit });
    expect(body).toMatchObject({ max_tokens: maxTokensLimit, thinking });
    expect(findMessagesRequestFaults(body)).toEqual([]);
    expect(repairs.counts.get("parameter_changed")).toBe(2);
  });
});
