import {
  genericProfile,
  mendedChatRequest,
  profileNamed,
  withFlags,
  type ChatMessage,
  type ChatRequest,
  type MendedChatRequestOptions,
  type Profile,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { ruleFlags } from "../check/rule-flags.ts";
import { upstreamRules, type RuleName } from "../check/upstream-rules.ts";

/* What a profile makes of a Chat client's request. */

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
const picture = {
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

function mend(
  request: Partial<ChatRequest>,
  flags?: Partial<Profile>,
  options: MendedChatRequestOptions = {},
) {
  const profile = flags === undefined ? genericProfile : withFlags(genericProfile, flags);
  const whole = { model: "m", messages: [user], ...request };
  const before = structuredClone(whole);
  const mended = mendedChatRequest(whole, { profile, ...options });
  expect(whole).toEqual(before);
  return {
    ...mended,
    said: mended.repairs.list.map(({ code, detail }) => `${code} ${detail}`),
  };
}

/** Each asks for what its rule forbids, as a Chat client would. */
const demanding: [RuleName, Partial<ChatRequest>][] = [
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

test.each(demanding)(
  "without a flag, what %s forbids is sent as the client asked",
  (rule, request) => {
    expect(upstreamRules[rule](mend(request).body)).toBeTypeOf("string");
  },
);

test.each(
  demanding.flatMap(([rule, request]) =>
    ruleFlags[rule].map((flags) => [flags, rule, request] as const),
  ),
)("%j satisfies %s for a Chat client too", (flags, rule, request) => {
  expect(upstreamRules[rule](mend(request, flags).body)).toBeUndefined();
});

test("every flag that a rule needs has a case", () => {
  const covered = new Set(demanding.map(([rule]) => rule));
  const needed = (Object.keys(ruleFlags) as RuleName[]).filter(
    (rule) => ruleFlags[rule].length > 0,
  );
  expect(needed.filter((rule) => !covered.has(rule))).toEqual([]);
});

test("the generic profile leaves alone what a Chat client chose for its upstream", () => {
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
      result("call_1", [{ type: "text", text: "A" }, picture]),
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
  const { body, said, tools } = mend(request);
  expect(body).toEqual({ model: "m", ...request });
  expect(said).toEqual([]);
  expect(tools).toBeUndefined();
});

test("a profile's list of parameters is for Responses clients: a Chat client's own pass", () => {
  const openai = profileNamed("OpenAI");
  const { body } = mend({ n: 2, logit_bias: {}, x_own: 1 }, undefined, {
    profile: openai ?? genericProfile,
  });
  expect(openai).toBeDefined();
  expect(body).toMatchObject({ n: 2, logit_bias: {}, x_own: 1 });
});

describe("limits, efforts and streams", () => {
  test.each<[string, Partial<Profile>, Partial<ChatRequest>, Partial<ChatRequest>]>([
    [
      "the old name becomes the new one",
      { maxTokensParameter: "max_completion_tokens" },
      { max_tokens: 5 },
      { max_completion_tokens: 5 },
    ],
    [
      "the new name becomes the old one where that is dropped",
      { droppedParameters: ["max_completion_tokens"] },
      { max_completion_tokens: 5 },
      { max_tokens: 5 },
    ],
    [
      "of both the right one stays",
      { maxTokensParameter: "max_completion_tokens" },
      { max_tokens: 5, max_completion_tokens: 6 },
      { max_completion_tokens: 6 },
    ],
    [
      "an effort becomes the nearest",
      { efforts: ["low", "high"] },
      { reasoning_effort: "xhigh" },
      { reasoning_effort: "high" },
    ],
    ["an effort that nobody knows goes", { efforts: ["low"] }, { reasoning_effort: "vast" }, {}],
    [
      "an upstream that only streams is asked for a stream",
      { alwaysStream: true },
      {},
      { stream: true, stream_options: { include_usage: true } },
    ],
    [
      "usage is not asked for where that is refused, other options stay",
      { streamUsage: false },
      { stream: true, stream_options: { include_usage: true, x_own: 1 } },
      { stream: true, stream_options: { x_own: 1 } },
    ],
    [
      "a stream that is refused goes with its options",
      { droppedParameters: ["stream", "stream_options"] },
      { stream: true },
      {},
    ],
  ])("%s", (_what, flags, asked, sent) => {
    const { body } = mend(asked, flags);
    expect(body).toEqual({ model: "m", messages: [user], ...sent });
  });

  test("usage is asked of every stream, and shown to the client that asked for it", () => {
    const silent = mend({ stream: true, stream_options: { x_own: 1 } });
    expect(silent.body.stream_options).toEqual({ x_own: 1, include_usage: true });
    expect(silent.includeUsage).toBe(false);
    expect(mend({ stream: true, stream_options: { include_usage: true } }).includeUsage).toBe(true);
    const whole = mend({});
    expect(whole.body.stream_options).toBeUndefined();
    expect(whole.includeUsage).toBe(true);
  });

  test("the caller may ask for a stream, or for none, whatever the client wants", () => {
    const streamed = mend({}, undefined, { stream: true });
    expect(streamed.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(streamed.includeUsage).toBe(true);
    const whole = mend({ stream: true, stream_options: { include_usage: true } }, undefined, {
      stream: false,
    });
    expect(whole.body.stream).toBe(false);
    expect(whole.body).not.toHaveProperty("stream_options");
  });

  test("what changes is counted", () => {
    expect(mend({ max_tokens: 5 }, { maxTokensParameter: "max_completion_tokens" }).said).toEqual([
      "parameter_changed max_tokens -> max_completion_tokens",
    ]);
  });
});

describe("formats and tool choices", () => {
  test.each<
    [Profile["responseFormat"], ChatRequest["response_format"], object | undefined, RegExp]
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
  ])("where responseFormat is %s, %j is asked for as %j", (responseFormat, asked, sent, words) => {
    const { body } = mend({ response_format: asked ?? null }, { responseFormat });
    expect(body.response_format).toEqual(sent);
    const [first] = body.messages;
    expect(first?.role === "system" ? first.content : "").toMatch(words);
  });

  test("words of ours join the system message that the client wrote", () => {
    const system = {
      role: "system" as const,
      content: [{ type: "text" as const, text: "Be brief." }],
    };
    const { body } = mend(
      { messages: [system, user], response_format: { type: "json_object" } },
      { responseFormat: "none" },
    );
    expect(body.messages).toEqual([
      { role: "system", content: "Be brief.\n\nAnswer only with a JSON object." },
      user,
    ]);
  });

  test("strict is left out where it is refused, of tools and of formats, and nothing else", () => {
    const strict = { ...look, function: { ...look.function, strict: true, x_own: 1 } };
    const { body } = mend({ tools: [strict], response_format: schema }, { strictSchemas: false });
    expect(body.tools).toEqual([{ ...look, function: { ...look.function, x_own: 1 } }]);
    expect(body.response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "o", schema: { type: "object" } },
    });
  });

  const named = { type: "function" as const, function: { name: "look" } };
  const other = { ...look, function: { ...look.function, name: "other" } };
  test.each<
    [Profile["toolChoice"], ChatRequest["tool_choice"], object | undefined, string[], RegExp]
  >([
    ["strings", named, "required" as never, ["look"], /^$/],
    ["strings", "required", "required" as never, ["look", "other"], /^$/],
    ["unforced", named, "auto" as never, ["look", "other"], /calling the tool "look"/],
    ["unforced", "required", "auto" as never, ["look", "other"], /at least one of the tools/],
    ["unforced", "none", "none" as never, ["look", "other"], /^$/],
    ["auto", "none", undefined, [], /^$/],
    [
      "auto",
      { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [named] } },
      "auto" as never,
      ["look"],
      /^$/,
    ],
  ])(
    "where toolChoice is %s, %j is asked for as %j of %j",
    (toolChoice, asked, sent, names, words) => {
      const { body } = mend({ tools: [look, other], tool_choice: asked ?? null }, { toolChoice });
      expect(body.tool_choice).toEqual(sent);
      expect((body.tools ?? []).map((tool) => "function" in tool && tool.function)).toEqual(
        names.map((name) => expect.objectContaining({ name }) as unknown),
      );
      const [first] = body.messages;
      expect(first?.role === "system" ? first.content : "").toMatch(words);
    },
  );

  test("a tool_choice that names no declared tool is left to the upstream", () => {
    const choice = { type: "function" as const, function: { name: "nothing" } };
    expect(
      mend({ tools: [look], tool_choice: choice }, { toolChoice: "auto" }).body.tool_choice,
    ).toBe(choice);
  });
});

describe("reasoning", () => {
  const turn = (fields: object): ChatMessage[] => [
    user,
    { role: "assistant", content: "A", reasoning: "old" },
    user,
    calls(["call_1"], fields),
    result("call_1"),
  ];
  const said = (messages: readonly ChatMessage[]) =>
    messages
      .filter(({ role }) => role === "assistant")
      .map(({ role: _role, tool_calls: _calls, ...rest }) => rest);

  test.each<[string, Partial<Profile>, object, object[]]>([
    [
      "is renamed, of this turn",
      { reasoningField: "reasoning_content" },
      { reasoning: "hm" },
      [{ content: "A" }, { content: null, reasoning_content: "hm" }],
    ],
    [
      "is renamed, of all turns",
      { reasoningField: "reasoning_content", reasoningRange: "all" },
      { reasoning_text: "hm" },
      [
        { content: "A", reasoning_content: "old" },
        { content: null, reasoning_content: "hm" },
      ],
    ],
    [
      "goes back as details where there are some",
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
      "is read out of details",
      { reasoningField: "reasoning", reasoningRange: "all" },
      { reasoning_details: [{ type: "reasoning.text", text: "hm" }] },
      [
        { content: "A", reasoning: "old" },
        { content: null, reasoning: "hm" },
      ],
    ],
    [
      "stands in front of the text",
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
      "that is required and lost is empty",
      { reasoningField: "reasoning_content", reasoningRange: "all", reasoningRequired: true },
      {},
      [
        { content: "A", reasoning_content: "old" },
        { content: null, reasoning_content: "" },
      ],
    ],
    [
      "is left out where it is refused",
      { reasoningField: "none" },
      { reasoning: "hm" },
      [{ content: "A" }, { content: null }],
    ],
  ])("%s", (_what, flags, fields, expected) => {
    expect(said(mend({ messages: turn(fields) }, flags).body.messages)).toEqual(expected);
  });

  test("that is as it should be stays, message by message", () => {
    const messages: ChatMessage[] = [
      user,
      { role: "assistant", content: "A", reasoning_content: "hm", x_own: 1 },
      user,
    ];
    const flags = { reasoningField: "reasoning_content", reasoningRange: "all" } as const;
    const { body, said: counted } = mend({ messages }, flags);
    expect(body.messages[1]).toBe(messages[1]);
    expect(counted).toEqual([]);
  });

  test("that the client lost comes from memory, the signatures of calls too", () => {
    const flags = {
      reasoningField: "reasoning_content",
      reasoningRange: "all",
      reasoningRequired: true,
    } as const;
    const recall = (callId: string) =>
      callId === "call_1"
        ? { reasoning: "remembered", calls: { call_1: { google: { thought_signature: "S" } } } }
        : undefined;
    const { body } = mend({ messages: turn({}) }, flags, { recall });
    expect(body.messages[3]).toEqual({
      ...calls(["call_1"]),
      reasoning_content: "remembered",
      tool_calls: [{ ...call("call_1"), extra_content: { google: { thought_signature: "S" } } }],
    });
  });

  test("of which a signature is lost gets it back from a server that nobody knows, too", () => {
    const recall = () => ({ reasoning: "r", calls: { call_1: { x: 1 } } });
    const { body } = mend({ messages: turn({}) }, undefined, { recall });
    expect(body.messages[3]).toEqual({
      ...calls(["call_1"]),
      tool_calls: [{ ...call("call_1"), extra_content: { x: 1 } }],
    });
    const kept = { ...call("call_1"), extra_content: { own: 1 } };
    const own = mend(
      { messages: [user, { ...calls([]), tool_calls: [kept] }, result("call_1")] },
      undefined,
      { recall },
    );
    expect(own.body.messages[1]).toMatchObject({ tool_calls: [kept] });
  });

  test("whose loss is counted", () => {
    expect(mend({ messages: turn({ reasoning: "hm" }) }, { reasoningField: "none" }).said).toEqual([
      "reasoning_dropped old",
      "reasoning_dropped hm",
    ]);
    const flags = { reasoningField: "reasoning_content", reasoningRequired: true } as const;
    expect(mend({ messages: turn({}) }, flags).said).toEqual([
      "reasoning_dropped lost before call_1",
    ]);
    expect(mend({ messages: turn({ reasoning: "hm" }) }, flags).said).toEqual([
      "content_converted reasoning as reasoning_content",
    ]);
  });
});

describe("results and roles", () => {
  test("pictures of all results follow in one message of the user, and results are strings", () => {
    const { body, said } = mend(
      {
        messages: [
          user,
          calls(["call_1", "call_2"]),
          result("call_1", [{ type: "text", text: "A" }, picture]),
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
        content: [{ type: "text", text: "[Attached to the result of look]" }, picture],
      },
      user,
    ]);
    expect(said).toEqual(["content_converted media in the result of call_1"]);
    const kept = mend(
      { messages: [user, calls(["call_1"]), result("call_1", [picture])] },
      { toolResultMedia: "parts" },
    );
    expect(kept.body.messages.at(-1)).toEqual(result("call_1", [picture]));
  });

  test("a role that may not speak twice, and calls without tools, are told otherwise", () => {
    expect(mend({ messages: [user, user] }, { sameRoleTwice: false }).body.messages).toEqual([
      { role: "user", content: "Go.\n\nGo." },
    ]);
    const told = mend(
      { messages: [user, calls(["call_1"]), result("call_1")] },
      { callsWithoutTools: false },
    );
    expect(JSON.stringify(told.body.messages)).not.toContain("tool_call");
  });
});

describe("tools", () => {
  test("a function without parameters gets an empty object, for MiniMax refuses it otherwise", () => {
    const bare = { type: "function" as const, function: { name: "f", description: "F." } };
    const { body, said } = mend({ tools: [bare, look] });
    expect(body.tools).toEqual([
      {
        type: "function",
        function: { ...bare.function, parameters: { type: "object", properties: {} } },
      },
      look,
    ]);
    expect(body.tools?.[1]).toBe(look);
    expect(said).toEqual(["tool_schema_completed f"]);
  });

  test("parameters are written in the upstream's dialect", () => {
    const typeless = {
      ...look,
      function: { name: "look", parameters: { type: "object", properties: { a: {} } } },
    };
    const { body } = mend({ tools: [typeless] }, { schemaFlavour: "moonshot" });
    expect(body.tools).toMatchObject([
      { function: { parameters: { properties: { a: { type: "string" } } } } },
    ]);
  });

  test("tools of a kind that nobody knows pass", () => {
    const own = { type: "web_search", filters: {} } as unknown as NonNullable<
      ChatRequest["tools"]
    >[number];
    const { body, toolNames } = mend(
      { tools: [own, look] },
      { customTools: "function", schemaFlavour: "moonshot" },
    );
    expect(body.tools?.[0]).toBe(own);
    expect([...toolNames]).toEqual(["look"]);
  });
});
