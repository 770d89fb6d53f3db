import {
  translateResponsesRequest,
  decodeResponsesRequest,
  genericProfile,
  withProfileFlags,
  type ChatMessage,
  type TranslateResponsesRequestOptions,
  type UpstreamProfile,
  type OpaqueReasoning,
  type TranslatedResponsesRequest,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";

const object = { type: "object", properties: {} };

describe("a conversation of a Responses client:", () => {
  test("a string input becomes a user message after the instructions", () => {
    expect(translate({ input: "hi", instructions: "be brief", stream: true }).body).toEqual({
      model: "m",
      messages: [system("be brief"), user("hi")],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("text messages of every form become strings; images, files and audio become parts", () => {
    const messages = history([
      user("easy"),
      { type: "message", role: "user", content: [inputText("one"), inputText("two")] },
      {
        type: "message",
        id: "msg_1",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "three", annotations: [] }],
      },
      {
        role: "user",
        content: [
          inputText("look"),
          { type: "input_image", image_url: "https://a/b.png", detail: "high" },
          { type: "input_image", file_id: "file_1" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
          { type: "input_file", file_url: "https://a/c.pdf" },
          { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
        ],
      },
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
    ]);
    expect(messages).toEqual([
      user("easy"),
      user("one\n\ntwo"),
      assistant("three"),
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "https://a/b.png", detail: "high" } },
          { type: "text", text: "[image: file_1]" },
          {
            type: "file",
            file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
          },
          { type: "text", text: "[file: https://a/c.pdf]" },
          { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
        ],
      },
      assistant("No."),
    ]);
  });

  test("a call, a message and an output, as Codex stores them, become one assistant message followed by the result", () => {
    const messages = history([
      user("weather?"),
      assistant("Let me see."),
      call("call_1", "weather"),
      assistant("Checking."),
      output("call_1", "rain"),
      assistant("It rains."),
    ]);
    expect(messages).toEqual([
      user("weather?"),
      { ...assistant("Let me see.\n\nChecking."), tool_calls: [toolCall("call_1", "weather")] },
      toolResult("call_1", "rain"),
      assistant("It rains."),
    ]);
  });

  test("parallel calls share one message, and their results follow in the order of the calls", () => {
    const messages = history([
      user("both?"),
      call("call_1", "a"),
      call("call_2", "b"),
      output("call_2", "B"),
      user("hurry"),
      output("call_1", "A"),
      call("call_3", "a"),
      output("call_3", "C"),
    ]);
    expect(messages).toEqual([
      user("both?"),
      { ...assistant(null), tool_calls: [toolCall("call_1", "a"), toolCall("call_2", "b")] },
      toolResult("call_1", "A"),
      toolResult("call_2", "B"),
      user("hurry"),
      { ...assistant(null), tool_calls: [toolCall("call_3", "a")] },
      toolResult("call_3", "C"),
    ]);
  });

  test("assistant text before the result of a call is merged into the message with the call", () => {
    const messages = history([
      user("both?"),
      call("call_1", "a"),
      call("call_2", "b"),
      output("call_1", "A"),
      assistant("Waiting for b."),
      output("call_2", "B"),
      assistant("Done."),
    ]);
    expect(messages).toEqual([
      user("both?"),
      {
        ...assistant("Waiting for b."),
        tool_calls: [toolCall("call_1", "a"), toolCall("call_2", "b")],
      },
      toolResult("call_1", "A"),
      toolResult("call_2", "B"),
      assistant("Done."),
    ]);
  });

  test("a call without a result gets a placeholder result, and a result without a call becomes a user message", () => {
    const { body, repairs } = translate({
      input: [user("go"), call("call_1", "a"), user("stop"), output("call_9", "late")],
    });
    expect(body.messages).toEqual([
      user("go"),
      { ...assistant(null), tool_calls: [toolCall("call_1", "a")] },
      toolResult("call_1", "aborted: the call was never answered"),
      user("stop"),
      user("[Result of the tool call call_9]\n\nlate"),
    ]);
    expect(repairs.list.map(({ code, detail }) => `${code} ${detail}`)).toEqual([
      "call_without_result call_1",
      "result_without_call call_9",
    ]);
  });

  test("an assistant message is inserted between a result and a user message if the upstream requires it", () => {
    const input = [user("hi"), call("call_1", "f"), output("call_1", "A"), user("stop")];
    expect(history(input, { userAfterTool: false })).toEqual([
      user("hi"),
      { ...assistant(null), tool_calls: [toolCall("call_1", "f")] },
      toolResult("call_1", "A"),
      assistant("Noted."),
      user("stop"),
    ]);
  });

  test("two calls with the same id get different ids, each with its own result", () => {
    const messages = history([
      user("go"),
      call("call_1", "a"),
      output("call_1", "first"),
      call("call_1", "a"),
      output("call_1", "second"),
    ]);
    expect(messages.slice(1)).toEqual([
      { ...assistant(null), tool_calls: [toolCall("call_1", "a")] },
      toolResult("call_1", "first"),
      { ...assistant(null), tool_calls: [toolCall("call_1_1", "a")] },
      toolResult("call_1_1", "second"),
    ]);
  });

  test("arguments that are not a JSON object are wrapped, and empty arguments become {}", () => {
    const messages = history([
      user("go"),
      { ...call("call_1", "a"), arguments: "" },
      { ...call("call_2", "a"), arguments: '{"cut' },
    ]);
    expect(messages[1]).toMatchObject({
      tool_calls: [
        { function: { arguments: "{}" } },
        { function: { arguments: '{"input":"{\\"cut"}' } },
      ],
    });
  });
});

describe("other items of a Responses client:", () => {
  test("calls of every type are sent as calls with their results", () => {
    const messages = history([
      user("go"),
      { type: "custom_tool_call", call_id: "call_1", name: "apply_patch", input: "*** Begin" },
      { type: "custom_tool_call_output", call_id: "call_1", output: "done" },
      {
        type: "local_shell_call",
        id: "lsh_1",
        call_id: "call_2",
        action: { type: "exec", command: ["ls"] },
      },
      { type: "local_shell_call_output", id: "lsh_1", output: "a.txt" },
      { type: "shell_call", call_id: "call_3", action: { commands: ["ls"] } },
      {
        type: "shell_call_output",
        call_id: "call_3",
        output: [{ stdout: "a.txt", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
      },
      {
        type: "apply_patch_call",
        call_id: "call_4",
        operation: { type: "delete_file", path: "a.txt" },
      },
      { type: "apply_patch_call_output", call_id: "call_4", status: "failed", output: "no file" },
      {
        type: "mcp_call",
        id: "mcp_1",
        server_label: "docs",
        name: "search",
        arguments: '{"q":1}',
        output: "found",
      },
      {
        type: "tool_search_call",
        call_id: "call_5",
        execution: "client",
        arguments: { query: "x" },
      },
      {
        type: "tool_search_output",
        call_id: "call_5",
        tools: [
          {
            type: "namespace",
            name: "git",
            tools: [{ type: "function", name: "log", description: "History." }],
          },
        ],
      },
      { type: "telepathy_call", id: "t_1", call_id: "call_6", thought: "?" },
      { type: "telepathy_call_output", call_id: "call_6", output: "!" },
    ]);
    const rounds: [id: string, name: string, args: object, result: string][] = [
      ["call_1", "apply_patch", { input: "*** Begin" }, "done"],
      ["call_2", "local_shell", { command: ["ls"] }, "a.txt"],
      [
        "call_3",
        "shell",
        { commands: ["ls"] },
        '{"stdout":"a.txt","stderr":"","outcome":{"type":"exit","exit_code":0}}',
      ],
      ["call_4", "apply_patch", { type: "delete_file", path: "a.txt" }, "failed: no file"],
      ["mcp_1", "docs__search", { q: 1 }, "found"],
      ["call_5", "tool_search", { query: "x" }, "Tools found:\n- git__log: History."],
      ["call_6", "telepathy", { thought: "?" }, "!"],
    ];
    expect(messages).toEqual([
      user("go"),
      ...rounds.flatMap(([id, name, args, result]) => [
        { ...assistant(null), tool_calls: [toolCall(id, name, JSON.stringify(args))] },
        toolResult(id, result),
      ]),
    ]);
  });

  test("hosted tool calls become notes, and unreadable items are skipped with a repair", () => {
    const { body, repairs } = translate({
      input: [
        user("go"),
        { type: "web_search_call", id: "ws_1", status: "completed", action: { query: "rain" } },
        { type: "image_generation_call", id: "ig_1", result: "AA", revised_prompt: "a cat" },
        { type: "mcp_approval_response", approval_request_id: "a_1", approve: false },
        { type: "compaction", encrypted_content: "…" },
        { type: "mcp_list_tools", server_label: "docs", tools: [] },
        { type: "aura", color: "blue" },
      ],
    });
    expect(body.messages).toEqual([
      user("go"),
      user('[web_search_call] {"action":{"query":"rain"}}'),
      {
        role: "user",
        content: [
          { type: "text", text: "[image_generation_call] a cat" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
        ],
      },
      user('[mcp_approval_response] {"approval_request_id":"a_1","approve":false}'),
    ]);
    expect(repairs.list.map(({ code, detail }) => `${code} ${detail}`)).toEqual([
      "item_skipped input[4]: compaction",
      "item_skipped input[5]: mcp_list_tools",
      'item_skipped input[6]: {"type":"aura","color":"blue"}',
    ]);
  });

  test.each([{ type: "item_reference", id: "msg_1" }, { id: "msg_2" }])(
    "a reference to a stored item is rejected with a hint to send the item itself",
    (reference) => {
      expect(() => translate({ input: [user("go"), reference] })).toThrow(
        "input[1]: item references are not supported for a Chat upstream; send the item itself",
      );
    },
  );

  test("an input without any usable item is rejected with the list of skipped items", () => {
    expect(() => translate({ input: [{ type: "aura", color: "blue" }] })).toThrow(
      'input has no items that can be sent to a Chat upstream (input[0]: {"type":"aura","color":"blue"})',
    );
  });

  test("a tool that is declared twice with different parameters is reported as a repair", () => {
    const tool = (type: string) => ({
      type: "function",
      name: "f",
      parameters: { type: "object", properties: { a: { type } } },
    });
    const differentTools = translate({
      input: [user("go")],
      tools: [tool("string"), tool("number")],
    });
    expect(differentTools.repairs.list).toEqual([
      { code: "tool_dropped", choice: 0, detail: "f, declared again with different parameters" },
    ]);
    const equalTools = translate({ input: [user("go")], tools: [tool("string"), tool("string")] });
    expect(equalTools.repairs.list).toEqual([]);
  });

  test("a tool_choice for an undeclared tool is rejected", () => {
    expect(() =>
      translate({
        input: [user("go")],
        tool_choice: { type: "function", name: "nope" },
        tools: [{ type: "function", name: "f" }],
      }),
    ).toThrow('tool_choice.name: no tool named "nope" is declared in tools');
  });

  test("signatures are found by call id even if the text of the reasoning is in the history", () => {
    const details = [{ type: "reasoning.text", text: "S", signature: "SIG" }];
    const { body } = translate(
      {
        input: [
          user("go"),
          { type: "reasoning", summary: [{ type: "summary_text", text: "S" }] },
          { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
          { type: "function_call_output", call_id: "call_1", output: "ok" },
        ],
      },
      {
        profile: withProfileFlags(genericProfile, { reasoningField: "reasoning_details" }),
        lookupReasoning: (id) => (id === "call_1" ? { details } : undefined),
      },
    );
    expect(body.messages[1]).toMatchObject({ reasoning_details: details });
  });

  test("images in results are moved after all results of the turn, or stay in place if the profile allows it", () => {
    const input = [
      user("look"),
      call("call_1", "view"),
      call("call_2", "view"),
      output("call_1", [inputText("ok"), { type: "input_image", image_url: "data:1" }]),
      output("call_2", [{ type: "input_image", image_url: "data:2" }]),
    ];
    const image = (url: string): object => ({ type: "image_url", image_url: { url } });
    const label = { type: "text", text: "[Attached to the result of view]" };
    expect(history(input).slice(2)).toEqual([
      toolResult("call_1", "ok\n\n[attached below]"),
      toolResult("call_2", "[attached below]"),
      { role: "user", content: [label, image("data:1"), label, image("data:2")] },
    ]);
    expect(history(input, { toolResultMedia: "parts" }).slice(2)).toEqual([
      {
        role: "tool",
        tool_call_id: "call_1",
        content: [{ type: "text", text: "ok" }, image("data:1")],
      },
      { role: "tool", tool_call_id: "call_2", content: [image("data:2")] },
    ]);
  });
});

describe("reasoning of a Responses client", () => {
  const turns = [
    user("one"),
    reasoning("old"),
    call("call_1", "a"),
    output("call_1", "A"),
    user("two"),
    reasoning("new"),
    call("call_2", "a"),
    output("call_2", "B"),
  ];

  test("is sent back in the field of the profile, for the current turn or for all turns", () => {
    const replayed = (flags: Partial<UpstreamProfile>, field: string): unknown[] =>
      history(turns, flags)
        .filter(({ role }) => role === "assistant")
        .map((message) => message[field]);
    expect(replayed({}, "reasoning_content")).toEqual([undefined, undefined]);
    expect(replayed({ reasoningField: "reasoning_content" }, "reasoning_content")).toEqual([
      undefined,
      "new",
    ]);
    expect(replayed({ reasoningField: "reasoning", reasoningRange: "all" }, "reasoning")).toEqual([
      "old",
      "new",
    ]);
    const required = { reasoningField: "reasoning_content", reasoningRequired: true } as const;
    expect(replayed(required, "reasoning_content")).toEqual(["", "new"]);
  });

  test("is restored from our own encrypted_content with details, opaque data and signatures, but not from that of others", () => {
    const opaqueReasoning: OpaqueReasoning = {
      details: [{ type: "reasoning.text", text: "hm", signature: "s" }],
      opaque: "o",
      calls: { call_1: { google: { thought_signature: "t" } } },
    };
    const { body, repairs } = translate(
      {
        input: [
          user("go"),
          { type: "reasoning", summary: [], encrypted_content: "gAAAAforeign" },
          { type: "reasoning", summary: [], encrypted_content: "ours" },
          call("call_1", "a"),
          output("call_1", "A"),
        ],
      },
      {
        profile: withProfileFlags(genericProfile, { reasoningField: "reasoning_details" }),
        unseal: (sealed) => (sealed === "ours" ? opaqueReasoning : undefined),
      },
    );
    expect(body.messages[1]).toEqual({
      ...assistant(null),
      reasoning_details: opaqueReasoning.details,
      reasoning_opaque: "o",
      tool_calls: [
        { ...toolCall("call_1", "a"), extra_content: { google: { thought_signature: "t" } } },
      ],
    });
    expect(repairs.list).toEqual([]);
  });

  test("that the client dropped is restored from the cache by the id of a call", () => {
    const { body } = translate(
      { input: [user("go"), call("call_1", "a"), output("call_1", "A")] },
      {
        profile: withProfileFlags(genericProfile, { reasoningField: "reasoning_content" }),
        lookupReasoning: (callId) =>
          callId === "call_1"
            ? { reasoning: "remembered", calls: { call_1: { signed: true } } }
            : undefined,
      },
    );
    expect(body.messages[1]).toEqual({
      ...assistant(null),
      reasoning_content: "remembered",
      tool_calls: [{ ...toolCall("call_1", "a"), extra_content: { signed: true } }],
    });
  });

  test("is sent in think tags before the text if the upstream has no field for it", () => {
    const input = [
      user("hi"),
      reasoning("hm"),
      call("call_1", "f"),
      output("call_1", "A"),
      reasoning("so"),
      assistant("A it is"),
      user("sure?"),
    ];
    const flags = { reasoningField: "think-tags" } as const;
    expect(history(input, { ...flags, reasoningRange: "all" })).toEqual([
      user("hi"),
      {
        role: "assistant",
        content: "<think>\nhm\n</think>",
        tool_calls: [toolCall("call_1", "f")],
      },
      toolResult("call_1", "A"),
      assistant("<think>\nso\n</think>\n\nA it is"),
      user("sure?"),
    ]);
    expect(history(input, flags)[3]).toEqual(assistant("A it is"));
  });

  test("without a following text or call is dropped with a repair", () => {
    const { body, repairs } = translate({ input: [user("go"), reasoning("hm"), user("well?")] });
    expect(body.messages).toEqual([user("go"), user("well?")]);
    expect(repairs.counts).toEqual(new Map([["reasoning_dropped", 1]]));
  });
});

describe("tools and parameters of a Responses client:", () => {
  const tools = [
    { type: "function", name: "a", parameters: object },
    { type: "custom", name: "c" },
    {
      type: "namespace",
      name: "ns",
      tools: [{ type: "function", name: "b", parameters: object }],
    },
  ];
  const choices: [title: string, choice: unknown, sent: unknown, names: string[]][] = [
    ["auto", "auto", "auto", ["a", "c", "ns__b"]],
    ["none", "none", "none", ["a", "c", "ns__b"]],
    ["required", "required", "required", ["a", "c", "ns__b"]],
    ["a function", { type: "function", name: "a" }, createNamedChoice("a"), ["a", "c", "ns__b"]],
    ["a custom tool", { type: "custom", name: "c" }, createNamedChoice("c"), ["a", "c", "ns__b"]],
    [
      "a function in a namespace",
      { type: "function", name: "b", namespace: "ns" },
      createNamedChoice("ns__b"),
      ["a", "c", "ns__b"],
    ],
    ["a tool that is not offered", { type: "web_search_preview" }, "auto", ["a", "c", "ns__b"]],
    [
      "some of the tools",
      {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "function", name: "b" }, { type: "custom", name: "c" }, { type: "mcp" }],
      },
      "required",
      ["c", "ns__b"],
    ],
  ];

  test.each(choices)("the tool_choice %s is translated", (_title, choice, sent, names) => {
    const { body } = translate({ input: "hi", tools, tool_choice: choice });
    expect(body.tool_choice).toEqual(sent);
    expect(body.tools?.map((tool) => tool.type === "function" && tool.function.name)).toEqual(
      names,
    );
  });

  test("a forced choice is sent as an instruction if the upstream does not support it", () => {
    const profile = withProfileFlags(genericProfile, { toolChoice: "unforced" });
    const { body, repairs } = translate(
      {
        input: "hi",
        instructions: "be brief",
        tools,
        tool_choice: { type: "function", name: "a" },
      },
      { profile },
    );
    expect(body.tool_choice).toBe("auto");
    expect(body.messages[0]).toEqual(system('be brief\n\nAnswer by calling the tool "a".'));
    expect(repairs.counts.get("parameter_changed")).toBe(1);
  });

  test("if the upstream does not support the choice, a named tool is offered alone, and no tools are offered for none", () => {
    const request = { input: "hi", tools, tool_choice: { type: "function", name: "a" } };
    const strings = withProfileFlags(genericProfile, { toolChoice: "strings" });
    const namedTool = translate(request, { profile: strings }).body;
    expect(namedTool.tool_choice).toBe("required");
    expect(namedTool.tools).toHaveLength(1);
    expect(namedTool.tools?.[0]).toMatchObject({ function: { name: "a" } });

    const auto = withProfileFlags(genericProfile, { toolChoice: "auto" });
    const none = translate({ input: "hi", tools, tool_choice: "none" }, { profile: auto });
    expect(none.body).toEqual({ model: "m", messages: [user("hi")] });
    expect(none.repairs.counts.get("parameter_changed")).toBe(1);
    expect(
      translate({ ...request, tool_choice: "auto" }, { profile: auto }).body.tools,
    ).toHaveLength(tools.length);
  });

  test("a request without tools has no tool parameters", () => {
    const { body } = translate({ input: "hi", tool_choice: "auto", parallel_tool_calls: false });
    expect(body).toEqual({ model: "m", messages: [user("hi")] });
  });

  test("parameters with a Chat equivalent are sent, and others are dropped with a repair", () => {
    const { body, repairs } = translate(
      {
        input: "hi",
        tools: tools.slice(0, 1),
        parallel_tool_calls: false,
        reasoning: { effort: "high", summary: "auto" },
        max_output_tokens: 100,
        temperature: 0.5,
        top_p: 0.9,
        top_logprobs: 3,
        truncation: "auto",
        metadata: { a: "b" },
        include: ["reasoning.encrypted_content"],
        prompt_cache_key: "k",
        user: "u",
        service_tier: "flex",
        store: true,
        text: {
          format: { type: "json_schema", name: "o", schema: object, strict: true },
          verbosity: "low",
        },
      },
      { upstreamModel: "other", stream: false },
    );
    expect(body).toEqual({
      model: "other",
      messages: [user("hi")],
      tools: [{ type: "function", function: { name: "a", parameters: object } }],
      parallel_tool_calls: false,
      reasoning_effort: "high",
      max_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      logprobs: true,
      top_logprobs: 3,
      response_format: {
        type: "json_schema",
        json_schema: { name: "o", schema: object, strict: true },
      },
    });
    expect(repairs.list.map(({ code, detail }) => `${code} ${detail}`)).toEqual([
      "parameter_dropped truncation",
      "parameter_dropped prompt_cache_key",
      "parameter_dropped user",
      "parameter_dropped service_tier",
      "parameter_dropped verbosity",
    ]);
  });

  test("an upstream that accepts all parameters receives them, and the extra body of its profile replaces fields of the same name", () => {
    const profile = withProfileFlags(genericProfile, {
      parameters: "all",
      droppedParameters: ["temperature"],
      maxTokensParameter: "max_completion_tokens",
      extraBody: { thinking: { type: "enabled", keep: "all" } },
    });
    const request = {
      input: "hi",
      temperature: 0.5,
      max_output_tokens: 9,
      prompt_cache_key: "k",
      top_k: 4,
      thinking: false,
    };
    expect(translate(request, { profile }).body).toEqual({
      model: "m",
      messages: [user("hi")],
      max_completion_tokens: 9,
      prompt_cache_key: "k",
      top_k: 4,
      thinking: { type: "enabled", keep: "all" },
    });
  });

  test("the word JSON is added to the messages for json_object, because some servers require it", () => {
    const request = { input: "an object", text: { format: { type: "json_object" } } };
    expect(translate(request).body).toEqual({
      model: "m",
      messages: [system("Answer with a JSON object."), user("an object")],
      response_format: { type: "json_object" },
    });
  });

  const schemaInstruction = `Answer only with a JSON object that is valid against this JSON schema:\n${JSON.stringify(object)}`;
  const asSchema = (name: string, schema: object) => ({
    type: "json_schema",
    json_schema: { name, schema },
  });
  test.each([
    ["any", "json_schema", [], "", asSchema("o", object)],
    ["json_object", "json_schema", [], schemaInstruction, { type: "json_object" }],
    ["json_schema", "json_object", [], "", asSchema("answer", { type: "object" })],
    ["none", "json_schema", [], schemaInstruction, undefined],
    ["none", "json_object", [], "Answer only with a JSON object.", undefined],
    ["without-tools", "json_schema", [], "", asSchema("o", object)],
    [
      "without-tools",
      "json_schema",
      [{ type: "function", name: "f" }],
      schemaInstruction,
      undefined,
    ],
  ] as const)(
    "with responseFormat %s, a %s format with the tools %j is converted",
    (responseFormat, type, tools, hint, sent) => {
      const format = type === "json_schema" ? { type, name: "o", schema: object } : { type };
      const profile = withProfileFlags(genericProfile, { responseFormat });
      const { body } = translate({ input: "JSON, please", tools, text: { format } }, { profile });
      expect(body.response_format).toEqual(sent);
      expect(body.messages).toEqual([...(hint === "" ? [] : [system(hint)]), user("JSON, please")]);
    },
  );

  test.each([
    [["none", "high"], { minimal: "none", low: "high", medium: "high", max: "high" }],
    [["low", "high", "max"], { none: "low", medium: "high", high: "high", xhigh: "max" }],
    [["high", "low"], { medium: "high" }],
    [["low", "medium", "high"], { none: "low", xhigh: "high", ultra: undefined }],
    ["any", { ultra: "ultra" }],
  ] as const)("the nearest of the efforts %j is requested: %j", (efforts, expected) => {
    const profile = withProfileFlags(genericProfile, { efforts });
    for (const [effort, sent] of Object.entries(expected)) {
      const { body } = translate({ input: "hi", reasoning: { effort } }, { profile });
      expect(body.reasoning_effort, effort).toBe(sent);
    }
  });

  test("settings from a configuration_update apply unless the request sets them", () => {
    const update = { type: "configuration_update", reasoning: { effort: "low" } };
    expect(translate({ input: [user("hi"), update] }).body.reasoning_effort).toBe("low");
    const request = { input: [user("hi"), update], reasoning: { effort: "high" } };
    expect(translate(request).body.reasoning_effort).toBe("high");
  });

  test.each(["previous_response_id", "conversation", "prompt"])(
    "%s is rejected with a hint",
    (field) => {
      const request = { input: "hi", [field]: field === "prompt" ? { id: "p" } : "x_1" };
      expect(() => translate(request)).toThrow(
        `${field} is not supported for a Chat upstream; send`,
      );
    },
  );

  test("the call ids that the client and the upstream have used are returned", () => {
    const profile = withProfileFlags(genericProfile, { callIds: "functions-name-index" });
    const { usedCallIds } = translate(
      { input: [user("go"), call("call_1", "a"), output("call_1", "A")] },
      { profile },
    );
    expect([...usedCallIds]).toEqual(["call_1", "functions.a:0"]);
  });
});

function translate(
  request: object,
  options: TranslateResponsesRequestOptions = {},
): TranslatedResponsesRequest {
  return translateResponsesRequest(decodeResponsesRequest({ model: "m", ...request }), options);
}

function history(input: object[], flags: Partial<UpstreamProfile> = {}): ChatMessage[] {
  return translate({ input }, { profile: withProfileFlags(genericProfile, flags) }).body.messages;
}

function system(content: string): object {
  return { role: "system", content };
}

function user(content: string): object {
  return { role: "user", content };
}

function assistant(content: string | null): object {
  return { role: "assistant", content };
}

function inputText(text: string): object {
  return { type: "input_text", text };
}

function reasoning(text: string): object {
  return { type: "reasoning", summary: [{ type: "summary_text", text }] };
}

function call(id: string, name: string): object {
  return { type: "function_call", call_id: id, name, arguments: "{}" };
}

function output(id: string, value: unknown): object {
  return { type: "function_call_output", call_id: id, output: value };
}

function toolCall(id: string, name: string, args = "{}"): object {
  return { id, type: "function", function: { name, arguments: args } };
}

function toolResult(id: string, content: string): object {
  return { role: "tool", tool_call_id: id, content };
}

function createNamedChoice(name: string): object {
  return { type: "function", function: { name } };
}

test("fields of more than a million characters are not echoed in the response", () => {
  const long = "x".repeat(1_000_001);
  const short = "x".repeat(999_000);
  const tools = [{ type: "function" as const, name: "a", description: long, parameters: {} }];
  const request = { model: "m", input: "Hi" };
  const { echo } = translateResponsesRequest({
    ...request,
    instructions: long,
    tools,
    metadata: Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`k${index}`, ""])),
    text: { format: { type: "json_schema", name: "a", schema: { description: long } } },
  });
  expect(echo).toEqual(translateResponsesRequest(request).echo);
  expect(translateResponsesRequest({ ...request, instructions: short }).echo["instructions"]).toBe(
    short,
  );
});

test("the response object echoes the request, including defaults", () => {
  const { echo } = translateResponsesRequest({
    model: "m",
    input: "hi",
    temperature: 0.5,
    reasoning: { effort: "low" },
    client_metadata: { secret: "stays here" },
  });
  expect(echo).toEqual({
    background: false,
    frequency_penalty: 0,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    parallel_tool_calls: true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: "low", summary: null },
    safety_identifier: null,
    service_tier: "default",
    store: false,
    temperature: 0.5,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    user: null,
  });
});

test("the response object echoes tools, formats and choices with all their fields", () => {
  const schema = { type: "object" };
  const { echo } = translateResponsesRequest({
    model: "m",
    input: "hi",
    service_tier: "auto",
    prompt_cache_key: "k",
    text: { format: { type: "json_schema", schema, strict: null }, verbosity: null },
    tool_choice: { type: "allowed_tools", tools: [{ type: "function", name: "f" }] },
    tools: [
      { type: "function", name: "f" },
      { type: "namespace", name: "n", tools: [{ type: "function", name: "g", strict: true }] },
    ],
  });
  expect(echo).toMatchObject({
    service_tier: "default",
    prompt_cache_key: "k",
    tool_choice: { mode: "auto" },
    tools: [
      { type: "function", name: "f", description: null, parameters: null, strict: null },
      { tools: [{ name: "g", description: null, parameters: null, strict: true }] },
    ],
  });
  expect(echo["text"]).toEqual({
    format: { type: "json_schema", name: "answer", description: null, schema, strict: false },
  });
});
