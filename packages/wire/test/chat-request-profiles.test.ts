import {
  genericProfile,
  repairChatRequest,
  findProviderProfile,
  withProfileFlags,
  type ChatMessage,
  type ChatRequest,
  type RepairChatRequestOptions,
  type UpstreamProfile,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { ruleFlags } from "../check/rule-flags.ts";
import { upstreamRules, type RuleName } from "../check/upstream-rules.ts";

/* How the profile flags change the requests of Chat clients. */

const user: ChatMessage = { role: "user", content: "Go." };
const call = (id: string, name = "look") => ({
  id,
  type: "function" as const,
  function: { name, arguments: "{}" },
});
const calls = (ids: string[], fields: object = {}): ChatMessage => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => call(id)),
  ...fields,
});
const result = (id: string, content: ChatMessage["content"] = "ok"): ChatMessage => ({
  role: "tool",
  tool_call_id: id,
  content: content ?? "",
});
const image = {
  type: "image_url" as const,
  image_url: { url: "data:image/png;base64,iVBORw0KGgo=" },
};
const look = {
  type: "function" as const,
  function: { name: "look", parameters: { type: "object", properties: {} } },
};
const patch = {
  type: "custom" as const,
  custom: {
    name: "patch",
    description: "Patches.",
    format: { type: "grammar", grammar: { syntax: "lark", definition: "start: WORD" } },
  },
};
const schema = {
  type: "json_schema" as const,
  json_schema: { name: "o", schema: { type: "object" }, strict: true, x_own: 1 },
};

function repair(
  request: Partial<ChatRequest>,
  flags?: Partial<UpstreamProfile>,
  options: RepairChatRequestOptions = {},
) {
  const profile = flags === undefined ? genericProfile : withProfileFlags(genericProfile, flags);
  const complete = { model: "m", messages: [user], ...request };
  const before = structuredClone(complete);
  const repaired = repairChatRequest(complete, { profile, ...options });
  expect(complete).toEqual(before);
  return {
    ...repaired,
    repairLog: repaired.repairs.list.map(({ code, detail }) => `${code} ${detail}`),
  };
}

/** For each rule, a Chat request that violates it. */
const violations: [RuleName, Partial<ChatRequest>][] = [
  ["single-leading-system", { messages: [user, { role: "system", content: "Be brief." }, user] }],
  [
    "needs-reasoning-content",
    {
      messages: [
        user,
        calls(["call_1"], { reasoning: "hm" }),
        result("call_1"),
        user,
        calls(["call_2"]),
        result("call_2"),
      ],
    },
  ],
  ["mistral-ids", { messages: [user, calls(["call_1"]), result("call_1")] }],
  ["kimi-ids", { messages: [user, calls(["call_1"]), result("call_1")] }],
  [
    "no-forced-tool-choice",
    { tools: [look], tool_choice: { type: "function", function: { name: "look" } } },
  ],
  ["no-json-schema", { response_format: schema }],
  ["stream-only", { stream: false }],
  ["temperature-1-only", { temperature: 0.2 }],
  [
    "moonshot-schema",
    {
      tools: [
        {
          type: "function",
          function: {
            name: "look",
            parameters: {
              type: "object",
              properties: { a: { type: "string", anyOf: [{ type: "string" }] }, b: {} },
            },
          },
        },
      ],
    },
  ],
  ["no-user-after-tool", { messages: [user, calls(["call_1"]), result("call_1"), user] }],
  [
    "string-tool-choice",
    { tools: [look], tool_choice: { type: "function", function: { name: "look" } } },
  ],
  ["auto-tool-choice", { tools: [look], tool_choice: "none" }],
  ["no-json-object", { response_format: { type: "json_object" } }],
  ["no-response-format", { response_format: schema }],
  ["no-format-beside-tools", { tools: [look], response_format: schema }],
  ["no-stream-options", { stream: true, stream_options: { include_usage: true } }],
  ["no-max-tokens", { max_tokens: 5 }],
  ["no-null-content", { messages: [user, calls(["call_1"]), result("call_1")] }],
  [
    "thinks-in-tags",
    { messages: [user, { role: "assistant", content: "Hi", reasoning_content: "hm" }, user] },
  ],
];

test.each(violations)(
  "without a flag, a request that violates %s is sent unchanged",
  (rule, request) => {
    expect(upstreamRules[rule](repair(request).body)).toBeTypeOf("string");
  },
);

test.each(
  violations.flatMap(([rule, request]) =>
    ruleFlags[rule].map((flags) => [flags, rule, request] as const),
  ),
)("with the flags %j, the request of a Chat client satisfies %s", (flags, rule, request) => {
  expect(upstreamRules[rule](repair(request, flags).body)).toBeUndefined();
});

test("every rule that needs flags has such a request", () => {
  const covered = new Set(violations.map(([rule]) => rule));
  const needed = (Object.keys(ruleFlags) as RuleName[]).filter(
    (rule) => ruleFlags[rule].length > 0,
  );
  expect(needed.filter((rule) => !covered.has(rule))).toEqual([]);
});

test("the generic profile sends a Chat client's parameters unchanged", () => {
  const request: Partial<ChatRequest> = {
    messages: [
      user,
      {
        role: "assistant",
        content: "Look.",
        reasoning_content: "hm",
        reasoning_details: [{ type: "reasoning.text", text: "hm" }],
        tool_calls: [
          call("call_1"),
          { id: "call_2", type: "custom", custom: { name: "patch", input: "x" } },
        ],
      },
      result("call_1", [{ type: "text", text: "A" }, image]),
      result("call_2"),
      user,
    ],
    tools: [look, patch],
    tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [look] } },
    response_format: schema,
    reasoning_effort: "xhigh",
    max_tokens: 1,
    max_completion_tokens: 2,
    stop: null,
    n: 2,
    x_own: [1],
  };
  const { body, repairLog, tools } = repair(request);
  expect(body).toEqual({ model: "m", ...request });
  expect(repairLog).toEqual([]);
  expect(tools).toBeUndefined();
});

test("the parameter list of a profile does not remove a Chat client's parameters", () => {
  const openai = findProviderProfile("OpenAI");
  const { body } = repair({ n: 2, logit_bias: {}, x_own: 1 }, undefined, {
    profile: openai ?? genericProfile,
  });
  expect(openai).toBeDefined();
  expect(body).toMatchObject({ n: 2, logit_bias: {}, x_own: 1 });
});

describe("parameters of a Chat client:", () => {
  test.each<[string, Partial<UpstreamProfile>, Partial<ChatRequest>, Partial<ChatRequest>]>([
    [
      "max_tokens is renamed to max_completion_tokens",
      { maxTokensParameter: "max_completion_tokens" },
      { max_tokens: 5 },
      { max_completion_tokens: 5 },
    ],
    [
      "max_completion_tokens is renamed to max_tokens if the upstream rejects it",
      { droppedParameters: ["max_completion_tokens"] },
      { max_completion_tokens: 5 },
      { max_tokens: 5 },
    ],
    [
      "only the supported name is sent if the request has both",
      { maxTokensParameter: "max_completion_tokens" },
      { max_tokens: 5, max_completion_tokens: 6 },
      { max_completion_tokens: 6 },
    ],
    [
      "an unsupported reasoning effort becomes the nearest supported one",
      { efforts: ["low", "high"] },
      { reasoning_effort: "xhigh" },
      { reasoning_effort: "high" },
    ],
    [
      "an unknown reasoning effort is dropped",
      { efforts: ["low"] },
      { reasoning_effort: "vast" },
      {},
    ],
    [
      "a stream is requested from an upstream that only streams",
      { alwaysStream: true },
      {},
      { stream: true, stream_options: { include_usage: true } },
    ],
    [
      "usage is not requested if the upstream rejects it, and other stream options are kept",
      { streamUsage: false },
      { stream: true, stream_options: { include_usage: true, x_own: 1 } },
      { stream: true, stream_options: { x_own: 1 } },
    ],
    [
      "a rejected stream parameter is dropped together with stream_options",
      { droppedParameters: ["stream", "stream_options"] },
      { stream: true },
      {},
    ],
  ])("%s", (_title, flags, requested, sent) => {
    const { body } = repair(requested, flags);
    expect(body).toEqual({ model: "m", messages: [user], ...sent });
  });

  test("usage is requested for every stream, and only clients that requested it receive it", () => {
    const withoutUsage = repair({ stream: true, stream_options: { x_own: 1 } });
    expect(withoutUsage.body.stream_options).toEqual({ x_own: 1, include_usage: true });
    expect(withoutUsage.includeUsage).toBe(false);
    expect(repair({ stream: true, stream_options: { include_usage: true } }).includeUsage).toBe(
      true,
    );
    const unstreamed = repair({});
    expect(unstreamed.body.stream_options).toBeUndefined();
    expect(unstreamed.includeUsage).toBe(true);
  });

  test("the caller can override whether the upstream streams", () => {
    const streamed = repair({}, undefined, { stream: true });
    expect(streamed.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(streamed.includeUsage).toBe(true);
    const unstreamed = repair(
      { stream: true, stream_options: { include_usage: true } },
      undefined,
      {
        stream: false,
      },
    );
    expect(unstreamed.body.stream).toBe(false);
    expect(unstreamed.body).not.toHaveProperty("stream_options");
  });

  test("each change is recorded as a repair", () => {
    expect(
      repair({ max_tokens: 5 }, { maxTokensParameter: "max_completion_tokens" }).repairLog,
    ).toEqual(["parameter_changed max_tokens -> max_completion_tokens"]);
  });
});

describe("formats and tool choices of a Chat client:", () => {
  test.each<
    [UpstreamProfile["responseFormat"], ChatRequest["response_format"], object | undefined, RegExp]
  >([
    ["json_object", schema, { type: "json_object" }, /valid against this JSON schema/],
    ["none", schema, undefined, /valid against this JSON schema/],
    ["none", { type: "json_object" }, undefined, /only with a JSON object/],
    ["none", { type: "text" }, undefined, /^$/],
    ["json_object", { type: "json_object" }, { type: "json_object" }, /^Answer with a JSON object/],
    ["json_schema", schema, schema, /^$/],
    [
      "json_schema",
      { type: "json_object" },
      { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
      /^Answer with a JSON object/,
    ],
    ["json_schema", { type: "text" }, { type: "text" }, /^$/],
  ])(
    "with responseFormat %s, response_format %j is sent as %j",
    (responseFormat, requested, sent, instructions) => {
      const { body } = repair({ response_format: requested ?? null }, { responseFormat });
      expect(body.response_format).toEqual(sent);
      const [first] = body.messages;
      expect(first?.role === "system" ? first.content : "").toMatch(instructions);
    },
  );

  test("format instructions are appended to the client's system message", () => {
    const system = {
      role: "system" as const,
      content: [{ type: "text" as const, text: "Be brief." }],
    };
    const { body } = repair(
      { messages: [system, user], response_format: { type: "json_object" } },
      { responseFormat: "none" },
    );
    expect(body.messages).toEqual([
      { role: "system", content: "Be brief.\n\nAnswer only with a JSON object." },
      user,
    ]);
  });

  test("only strict is removed from tools and formats if the upstream rejects it", () => {
    const strict = { ...look, function: { ...look.function, strict: true, x_own: 1 } };
    const { body } = repair({ tools: [strict], response_format: schema }, { strictSchemas: false });
    expect(body.tools).toEqual([{ ...look, function: { ...look.function, x_own: 1 } }]);
    expect(body.response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "o", schema: { type: "object" } },
    });
  });

  const namedChoice = { type: "function" as const, function: { name: "look" } };
  const otherTool = { ...look, function: { ...look.function, name: "other" } };
  test.each<
    [
      UpstreamProfile["toolChoice"],
      ChatRequest["tool_choice"],
      object | undefined,
      string[],
      RegExp,
    ]
  >([
    ["strings", namedChoice, "required" as never, ["look"], /^$/],
    ["strings", "required", "required" as never, ["look", "other"], /^$/],
    ["unforced", namedChoice, "auto" as never, ["look", "other"], /calling the tool "look"/],
    ["unforced", "required", "auto" as never, ["look", "other"], /at least one of the tools/],
    ["unforced", "none", "none" as never, ["look", "other"], /^$/],
    ["auto", "none", undefined, [], /^$/],
    [
      "auto",
      { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [namedChoice] } },
      "auto" as never,
      ["look"],
      /^$/,
    ],
  ])(
    "with toolChoice %s, tool_choice %j is sent as %j with the tools %j",
    (toolChoice, requested, sent, names, instructions) => {
      const { body } = repair(
        { tools: [look, otherTool], tool_choice: requested ?? null },
        { toolChoice },
      );
      expect(body.tool_choice).toEqual(sent);
      expect((body.tools ?? []).map((tool) => "function" in tool && tool.function)).toEqual(
        names.map((name) => expect.objectContaining({ name }) as unknown),
      );
      const [first] = body.messages;
      expect(first?.role === "system" ? first.content : "").toMatch(instructions);
    },
  );

  test("a tool_choice with an undeclared tool is sent unchanged", () => {
    const choice = { type: "function" as const, function: { name: "nothing" } };
    expect(
      repair({ tools: [look], tool_choice: choice }, { toolChoice: "auto" }).body.tool_choice,
    ).toBe(choice);
  });
});

describe("reasoning of a Chat client", () => {
  const turn = (fields: object): ChatMessage[] => [
    user,
    { role: "assistant", content: "A", reasoning: "old" },
    user,
    calls(["call_1"], fields),
    result("call_1"),
  ];
  const getAssistantFields = (messages: readonly ChatMessage[]) =>
    messages
      .filter(({ role }) => role === "assistant")
      .map(({ role: _role, tool_calls: _calls, ...rest }) => rest);

  test.each<[string, Partial<UpstreamProfile>, object, object[]]>([
    [
      "is renamed in the current turn",
      { reasoningField: "reasoning_content" },
      { reasoning: "hm" },
      [{ content: "A" }, { content: null, reasoning_content: "hm" }],
    ],
    [
      "is renamed in all turns",
      { reasoningField: "reasoning_content", reasoningRange: "all" },
      { reasoning_text: "hm" },
      [
        { content: "A", reasoning_content: "old" },
        { content: null, reasoning_content: "hm" },
      ],
    ],
    [
      "is sent as reasoning_details if the client sent them",
      { reasoningField: "reasoning_details", reasoningRange: "all" },
      {
        reasoning: "hm",
        reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "S" }],
      },
      [
        { content: "A", reasoning: "old" },
        {
          content: null,
          reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "S" }],
        },
      ],
    ],
    [
      "is read from reasoning_details",
      { reasoningField: "reasoning", reasoningRange: "all" },
      { reasoning_details: [{ type: "reasoning.text", text: "hm" }] },
      [
        { content: "A", reasoning: "old" },
        { content: null, reasoning: "hm" },
      ],
    ],
    [
      "is sent in think tags before the text",
      { reasoningField: "think-tags", reasoningRange: "all" },
      { content: [{ type: "text", text: "B" }], reasoning_content: "hm" },
      [
        { content: "<think>\nold\n</think>\n\nA" },
        {
          content: [
            { type: "text", text: "<think>\nhm\n</think>" },
            { type: "text", text: "B" },
          ],
        },
      ],
    ],
    [
      "is sent as an empty string if it is required but missing",
      { reasoningField: "reasoning_content", reasoningRange: "all", reasoningRequired: true },
      {},
      [
        { content: "A", reasoning_content: "old" },
        { content: null, reasoning_content: "" },
      ],
    ],
    [
      "is dropped if the upstream rejects it",
      { reasoningField: "none" },
      { reasoning: "hm" },
      [{ content: "A" }, { content: null }],
    ],
  ])("%s", (_title, flags, fields, expected) => {
    expect(getAssistantFields(repair({ messages: turn(fields) }, flags).body.messages)).toEqual(
      expected,
    );
  });

  test("that is already correct is sent unchanged", () => {
    const messages: ChatMessage[] = [
      user,
      { role: "assistant", content: "A", reasoning_content: "hm", x_own: 1 },
      user,
    ];
    const flags = { reasoningField: "reasoning_content", reasoningRange: "all" } as const;
    const { body, repairLog } = repair({ messages }, flags);
    expect(body.messages[1]).toBe(messages[1]);
    expect(repairLog).toEqual([]);
  });

  test("that the client dropped is restored from the cache, including call signatures", () => {
    const flags = {
      reasoningField: "reasoning_content",
      reasoningRange: "all",
      reasoningRequired: true,
    } as const;
    const lookupReasoning = (callId: string) =>
      callId === "call_1"
        ? { reasoning: "remembered", calls: { call_1: { google: { thought_signature: "S" } } } }
        : undefined;
    const { body } = repair({ messages: turn({}) }, flags, { lookupReasoning });
    expect(body.messages[3]).toEqual({
      ...calls(["call_1"]),
      reasoning_content: "remembered",
      tool_calls: [{ ...call("call_1"), extra_content: { google: { thought_signature: "S" } } }],
    });
  });

  test("is restored with call signatures for unknown servers too", () => {
    const lookupReasoning = () => ({ reasoning: "r", calls: { call_1: { x: 1 } } });
    const { body } = repair({ messages: turn({}) }, undefined, { lookupReasoning });
    expect(body.messages[3]).toEqual({
      ...calls(["call_1"]),
      tool_calls: [{ ...call("call_1"), extra_content: { x: 1 } }],
    });
    const signedCall = { ...call("call_1"), extra_content: { own: 1 } };
    const signed = repair(
      { messages: [user, { ...calls([]), tool_calls: [signedCall] }, result("call_1")] },
      undefined,
      { lookupReasoning },
    );
    expect(signed.body.messages[1]).toMatchObject({ tool_calls: [signedCall] });
  });

  test("that is dropped, missing or renamed is recorded as a repair", () => {
    expect(
      repair({ messages: turn({ reasoning: "hm" }) }, { reasoningField: "none" }).repairLog,
    ).toEqual(["reasoning_dropped old", "reasoning_dropped hm"]);
    const flags = { reasoningField: "reasoning_content", reasoningRequired: true } as const;
    expect(repair({ messages: turn({}) }, flags).repairLog).toEqual([
      "reasoning_dropped missing before call_1",
    ]);
    expect(repair({ messages: turn({ reasoning: "hm" }) }, flags).repairLog).toEqual([
      "content_converted reasoning sent as reasoning_content",
    ]);
  });
});

describe("results and roles of a Chat client:", () => {
  test("images of all results are sent in one user message after them, and results become strings", () => {
    const { body, repairLog } = repair(
      {
        messages: [
          user,
          calls(["call_1", "call_2"]),
          result("call_1", [{ type: "text", text: "A" }, image]),
          result("call_2", [{ type: "text", text: "B" }]),
          user,
        ],
      },
      { toolResultMedia: "user-message" },
    );
    expect(body.messages.slice(2)).toEqual([
      result("call_1", "A\n\n[attached below]"),
      result("call_2", "B"),
      {
        role: "user",
        content: [{ type: "text", text: "[Attached to the result of look]" }, image],
      },
      user,
    ]);
    expect(repairLog).toEqual(["content_converted media in the result of call_1"]);
    const withParts = repair(
      { messages: [user, calls(["call_1"]), result("call_1", [image])] },
      { toolResultMedia: "parts" },
    );
    expect(withParts.body.messages.at(-1)).toEqual(result("call_1", [image]));
  });

  test("consecutive messages of a role are merged, and calls without tools become text", () => {
    expect(repair({ messages: [user, user] }, { consecutiveRoles: false }).body.messages).toEqual([
      { role: "user", content: "Go.\n\nGo." },
    ]);
    const withoutTools = repair(
      { messages: [user, calls(["call_1"]), result("call_1")] },
      { callsWithoutTools: false },
    );
    expect(JSON.stringify(withoutTools.body.messages)).not.toContain("tool_call");
  });
});

describe("tools of a Chat client:", () => {
  test("a function without parameters gets an empty object, since MiniMax rejects it otherwise", () => {
    const toolWithoutParameters = {
      type: "function" as const,
      function: { name: "f", description: "F." },
    };
    const { body, repairLog } = repair({ tools: [toolWithoutParameters, look] });
    expect(body.tools).toEqual([
      {
        type: "function",
        function: {
          ...toolWithoutParameters.function,
          parameters: { type: "object", properties: {} },
        },
      },
      look,
    ]);
    expect(body.tools?.[1]).toBe(look);
    expect(repairLog).toEqual(["tool_schema_completed f"]);
  });

  test("parameters are converted to the upstream's schema dialect", () => {
    const toolWithoutTypes = {
      ...look,
      function: { name: "look", parameters: { type: "object", properties: { a: {} } } },
    };
    const { body } = repair({ tools: [toolWithoutTypes] }, { schemaDialect: "moonshot" });
    expect(body.tools).toMatchObject([
      { function: { parameters: { properties: { a: { type: "string" } } } } },
    ]);
  });

  test("tools of unknown kinds are sent unchanged", () => {
    const webSearch = { type: "web_search", filters: {} } as unknown as NonNullable<
      ChatRequest["tools"]
    >[number];
    const { body, toolNames } = repair(
      { tools: [webSearch, look] },
      { customTools: "function", schemaDialect: "moonshot" },
    );
    expect(body.tools?.[0]).toBe(webSearch);
    expect([...toolNames]).toEqual(["look"]);
  });
});
