import {
  ChatOverChat,
  ChatOverResponses,
  chatRequest,
  decodeChatRequest,
  decodeResponsesRequest,
  genericProfile,
  mendedChatRequest,
  mendHistory,
  Repairs,
  responseOfResponse,
  ResponsesOverResponses,
  responsesRequest,
  withFlags,
  type ChatChunk,
  type ChatInput,
  type ChatMessage,
  type ChatOutput,
  type ChatOverResponsesOptions,
  type ChatRequestOptions,
  type JsonObject,
  type Profile,
  type ResponsesInput,
  type ResponsesRequestOptions,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { chatSequenceFaults } from "../check/chat-sequence.ts";
import { call, chunk } from "./chat-stream.ts";
import { toResponses } from "./reply-translations.ts";

/* The rows of docs/wire-mapping.md that no other test holds. */

const takesAll = withFlags(genericProfile, { parameters: "all" });

describe("a Responses request on its way to a Chat upstream", () => {
  test("parameters that both wires have go on under their names where the profile takes them", () => {
    const same = {
      temperature: 0.5,
      top_p: 0.9,
      prompt_cache_key: "k",
      safety_identifier: "s",
      service_tier: "flex",
      user: "u",
      store: true,
      metadata: { a: "b" },
      x_routing: ["a"],
    };
    const { body, repairs } = toChatRequest(
      { input: "hi", ...same, text: { verbosity: "low" } },
      { profile: takesAll },
    );
    expect(body).toEqual({ model: "m", messages: [user("hi")], ...same, verbosity: "low" });
    expect(repairs.list).toEqual([]);
  });

  test("all of them are sent if a user chose them, except those that the profile drops", () => {
    const chosen = { top_k: 3, user: "ada", service_tier: "auto", metadata: { a: "b" }, seed: 1 };
    const request = { input: "hi", ...chosen, store: false, prompt_cache_key: "k" };
    const profile = withFlags(genericProfile, { droppedParameters: ["seed"] });
    const { body, said } = toChatRequest(request, { profile, parameters: "chosen" });
    const { seed: _dropped, ...sent } = chosen;
    expect(body).toEqual({ model: "m", messages: [user("hi")], ...sent });
    expect(said).toEqual(["parameter_dropped seed", "parameter_dropped prompt_cache_key"]);
  });

  test("those that the generic profile does not know are dropped and counted, unless they ask for nothing", () => {
    const { body, said } = toChatRequest({
      input: "hi",
      safety_identifier: "s",
      x_routing: ["a"],
      service_tier: "auto",
      store: true,
      metadata: { a: "b" },
    });
    expect(body).toEqual({ model: "m", messages: [user("hi")] });
    expect(said).toEqual(["parameter_dropped safety_identifier", "parameter_dropped x_routing"]);
    const profile = withFlags(genericProfile, { droppedParameters: ["temperature"] });
    const cooled = toChatRequest({ input: "hi", temperature: 0.5 }, { profile });
    expect(cooled.body).toEqual({ model: "m", messages: [user("hi")] });
    expect(cooled.said).toEqual(["parameter_dropped temperature"]);
  });

  test("what Chat has no word for is dropped and counted, under every profile", () => {
    const asked = { input: "hi", truncation: "auto", background: true, max_tool_calls: 3 };
    const { body, said } = toChatRequest(asked, { profile: takesAll });
    expect(body).toEqual({ model: "m", messages: [user("hi")] });
    expect(said).toEqual([
      "parameter_dropped truncation",
      "parameter_dropped background",
      "parameter_dropped max_tool_calls",
    ]);
    const nothing = { input: "hi", truncation: "disabled", background: false };
    expect(toChatRequest(nothing, { profile: takesAll }).said).toEqual([]);
  });

  test("what only the client's own server can answer is left out without a count", () => {
    const { body, said } = toChatRequest(
      {
        input: "hi",
        stream_options: { include_obfuscation: false },
        include: ["file_search_call.results"],
        reasoning: { summary: "auto" },
        client_metadata: { a: "b" },
        n: 2,
      },
      { profile: takesAll },
    );
    expect(body).toEqual({ model: "m", messages: [user("hi")] });
    expect(said).toEqual([]);
  });

  test("log probabilities may be asked for in include", () => {
    const request = { input: "hi", include: ["message.output_text.logprobs"] };
    expect(toChatRequest(request).body).toEqual({
      model: "m",
      messages: [user("hi")],
      logprobs: true,
    });
  });

  test("a text format of an unknown type is dropped and counted; text asks for nothing", () => {
    const asked = (type: string) => toChatRequest({ input: "hi", text: { format: { type } } });
    expect(asked("grammar").body).toEqual({ model: "m", messages: [user("hi")] });
    expect(asked("grammar").said).toEqual(["parameter_dropped text.format: grammar"]);
    expect(asked("text").body).toEqual({ model: "m", messages: [user("hi")] });
    expect(asked("text").said).toEqual([]);
  });

  test("a schema without a name is called answer, and keeps its description", () => {
    const format = { type: "json_schema", description: "d", schema: object };
    expect(toChatRequest({ input: "hi", text: { format } }).body.response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "answer", description: "d", schema: object },
    });
  });

  test("a format or an effort that the profile does not take is changed or dropped, and counted", () => {
    const counts = (flags: Partial<Profile>, request: object) =>
      toChatRequest(
        { input: "JSON, please", ...request },
        { profile: withFlags(genericProfile, flags) },
      ).said;
    const format = (type: string) => ({ text: { format: { type, schema: object } } });
    expect(counts({ responseFormat: "json_schema" }, format("json_object"))).toEqual([
      "parameter_changed text.format: json_object as a schema of any object",
    ]);
    expect(counts({ responseFormat: "none" }, format("json_object"))).toEqual([
      "parameter_changed text.format: json_object said in words",
    ]);
    expect(counts({ responseFormat: "json_object" }, format("json_schema"))).toEqual([
      "parameter_changed text.format: json_schema said in words",
    ]);
    const efforts = ["low"];
    expect(counts({ efforts }, { reasoning: { effort: "high" } })).toEqual([
      "parameter_changed reasoning.effort: high -> low",
    ]);
    expect(counts({ efforts }, { reasoning: { effort: "ultra" } })).toEqual([
      "parameter_dropped reasoning.effort: ultra",
    ]);
  });

  test("the caller's wish for a stream wins, and usage is asked for where the profile takes the option", () => {
    const asked = { input: "hi", stream: true };
    expect(toChatRequest(asked, { stream: false }).body).toEqual({
      model: "m",
      messages: [user("hi")],
    });
    const profile = withFlags(genericProfile, { streamUsage: false });
    expect(toChatRequest(asked, { profile }).body).toEqual({
      model: "m",
      messages: [user("hi")],
      stream: true,
    });
  });

  test("parallel calls are only spoken of where they are forbidden", () => {
    const tools = [{ type: "function", name: "f", parameters: object }];
    const { body } = toChatRequest({ input: "hi", tools, parallel_tool_calls: true });
    expect(body).toEqual({
      model: "m",
      messages: [user("hi")],
      tools: [{ type: "function", function: { name: "f", parameters: object } }],
    });
  });

  test("reasoning for which the profile has no field is dropped, and counted with its words", () => {
    const { body, said } = toChatRequest({
      input: [
        user("hi"),
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        { type: "message", ...assistant("yo") },
      ],
    });
    expect(body.messages).toEqual([user("hi"), assistant("yo")]);
    expect(said).toEqual(["reasoning_dropped hm"]);
  });

  test("a request without a model or without input is refused", () => {
    expect(() => chatRequest({ input: "hi" })).toThrow("model: expected the name of a model");
    expect(() => chatRequest({ model: "m" })).toThrow("input: expected something to answer");
  });

  test("system and developer messages in front join the instructions, later ones stay where they are", () => {
    const { body, said } = toChatRequest({
      instructions: "one",
      input: [
        { role: "developer", content: "two" },
        { role: "system", content: "three" },
        { role: "user", content: "hi" },
        { role: "developer", content: "four" },
      ],
    });
    expect(body.messages).toEqual([
      { role: "system", content: "one\n\ntwo\n\nthree" },
      user("hi"),
      { role: "system", content: "four" },
    ]);
    expect(said).toEqual(["role_mapped developer said as system"]);
    const later = [user("hi"), { role: "system", content: "four" }];
    const settled = (laterSystem: "hoist" | "user") =>
      toChatRequest({ input: later }, { profile: withFlags(genericProfile, { laterSystem }) });
    expect(settled("hoist").body.messages).toEqual([
      { role: "system", content: "four" },
      user("hi"),
    ]);
    expect(settled("hoist").said).toEqual([
      "role_mapped a later system message moved to the front",
    ]);
    expect(settled("user").body.messages).toEqual([user("hi"), user("<system>\nfour\n</system>")]);
    expect(settled("user").said).toEqual(["role_mapped a later system message said as the user"]);
    const kept = withFlags(genericProfile, { developerRole: "developer" });
    expect(toChatRequest({ instructions: "one", input: "hi" }, { profile: kept }).body).toEqual({
      model: "m",
      messages: [{ role: "developer", content: "one" }, user("hi")],
    });
  });

  test("fields of a message beside role and content have no place", () => {
    const { body, said } = toChatRequest({
      input: [
        user("hi"),
        { type: "message", id: "msg_1", status: "completed", phase: "final", ...assistant("yo") },
      ],
    });
    expect(body.messages).toEqual([user("hi"), assistant("yo")]);
    expect(said).toEqual([]);
  });

  test("every content part has a Chat part, or is mentioned in words", () => {
    const image = (url: string, more: object = {}) => ({
      type: "image_url",
      image_url: { url, ...more },
    });
    const text = (words: string) => ({ type: "text", text: words });
    const { body, said } = toChatRequest({
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "a" },
            { type: "output_text", text: "b" },
            { type: "text", text: "c" },
            { type: "summary_text", text: "d" },
            { type: "input_text", text: "" },
            { type: "input_image", image_url: "data:1", detail: "low" },
            { type: "input_image", image_url: "data:2", detail: "original" },
            { type: "image_url", image_url: { url: "data:3", detail: "high" } },
            { type: "computer_screenshot", image_url: "data:4" },
            { type: "input_image", file_id: "file_1" },
            { type: "input_file", file_data: "data:5", filename: "a.pdf" },
            { type: "input_file", file_id: "file_2" },
            { type: "input_file", file_url: "https://a/c.pdf" },
            { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
            { type: "output_audio", transcript: "e" },
            { type: "refusal", refusal: "f" },
            { type: "hologram", depth: 3 },
          ],
        },
      ],
    });
    expect(body.messages).toEqual([
      {
        role: "user",
        content: [
          text("a"),
          text("b"),
          text("c"),
          text("d"),
          image("data:1", { detail: "low" }),
          image("data:2"),
          image("data:3", { detail: "high" }),
          image("data:4"),
          text("[image: file_1]"),
          { type: "file", file: { filename: "a.pdf", file_data: "data:5" } },
          { type: "file", file: { file_id: "file_2" } },
          text("[file: https://a/c.pdf]"),
          { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
          text("e"),
          text("f"),
          text("[hologram]"),
        ],
      },
    ]);
    expect(said).toEqual([
      "content_converted [image: file_1]",
      "content_converted [file: https://a/c.pdf]",
      "content_converted a refusal said as text",
      "content_converted [hologram]",
    ]);
  });

  test("pictures of another role than the user's are shown by the user", () => {
    const picture = { type: "input_image", image_url: "data:1" };
    const { body, said } = toChatRequest({
      input: [
        user("draw"),
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "Here." }, picture],
        },
      ],
    });
    expect(body.messages).toEqual([
      user("draw"),
      assistant("Here."),
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:1" } }] },
    ]);
    expect(said).toEqual(["content_converted input[1]: media of the role assistant"]);
  });

  test("a message without content is skipped and counted; an empty result says so", () => {
    const { body, said } = toChatRequest({
      input: [
        user("hi"),
        user(""),
        { type: "message", role: "assistant", content: [] },
        { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "call_1", output: "" },
      ],
    });
    expect(body.messages).toEqual([
      user("hi"),
      { ...assistant(null), tool_calls: [functionCall("call_1", "f", "{}")] },
      { role: "tool", tool_call_id: "call_1", content: "(no output)" },
    ]);
    expect(said).toEqual([
      "item_skipped input[1]: empty message",
      "item_skipped input[2]: empty message",
      "content_converted the empty result of call_1",
    ]);
  });

  test("a computer, a program and a failed MCP call are calls with results", () => {
    const { body, said } = toChatRequest({
      input: [
        user("go"),
        { type: "computer_call", call_id: "call_1", actions: [{ type: "screenshot" }] },
        {
          type: "computer_call_output",
          call_id: "call_1",
          output: { type: "computer_screenshot", image_url: "data:1" },
        },
        { type: "program", call_id: "call_2", code: "1 + 1" },
        { type: "program_output", call_id: "call_2", result: "2" },
        {
          type: "mcp_call",
          id: "mcp_1",
          server_label: "docs",
          name: "search",
          arguments: "{}",
          error: { code: 404 },
        },
      ],
    });
    const called = (id: string, name: string, args: string) => ({
      ...assistant(null),
      tool_calls: [functionCall(id, name, args)],
    });
    expect(body.messages).toEqual([
      user("go"),
      called("call_1", "computer", '{"actions":[{"type":"screenshot"}]}'),
      { role: "tool", tool_call_id: "call_1", content: "[attached below]" },
      {
        role: "user",
        content: [
          { type: "text", text: "[Attached to the result of computer]" },
          { type: "image_url", image_url: { url: "data:1" } },
        ],
      },
      called("call_2", "program", '{"code":"1 + 1"}'),
      { role: "tool", tool_call_id: "call_2", content: "2" },
      called("mcp_1", "docs__search", "{}"),
      { role: "tool", tool_call_id: "mcp_1", content: '{"code":404}' },
    ]);
    expect(said).toEqual(["content_converted media in the result of call_1"]);
  });

  test("searches, programs and approvals of a server are notes in the user's place", () => {
    const { body, said } = toChatRequest({
      input: [
        user("go"),
        { type: "file_search_call", id: "fs_1", status: "completed", queries: ["a"] },
        { type: "code_interpreter_call", id: "ci_1", status: "completed", code: "1" },
        { type: "mcp_approval_request", id: "ar_1", server_label: "docs", name: "f" },
      ],
    });
    expect(body.messages).toEqual([
      user("go"),
      user('[file_search_call] {"queries":["a"]}'),
      user('[code_interpreter_call] {"code":"1"}'),
      user('[mcp_approval_request] {"server_label":"docs","name":"f"}'),
    ]);
    expect(said).toEqual([]);
  });

  test("a tool search by the server is skipped, a trigger of compaction too; both are counted", () => {
    const { body, said } = toChatRequest({
      input: [
        user("go"),
        { type: "tool_search_call", call_id: null, execution: "server", arguments: {} },
        { type: "tool_search_output", call_id: null, tools: [{ type: "function", name: "f" }] },
        { type: "compaction_trigger" },
      ],
    });
    expect(body.messages).toEqual([user("go")]);
    expect(body.tools).toEqual([{ type: "function", function: { name: "f", parameters: object } }]);
    expect(said).toEqual([
      "tool_schema_completed f",
      "item_skipped input[1]: tool_search_call by the server",
      "item_skipped input[3]: compaction_trigger",
    ]);
  });

  test("tools and settings in the input are not said in the messages", () => {
    const { body, said } = toChatRequest({
      input: [
        { type: "additional_tools", tools: [{ type: "function", name: "f", parameters: object }] },
        user("go"),
        {
          type: "configuration_update",
          reasoning: { effort: "low" },
          text: { format: { type: "json_schema", name: "o", schema: object } },
        },
      ],
    });
    expect(body).toEqual({
      model: "m",
      messages: [user("go")],
      tools: [{ type: "function", function: { name: "f", parameters: object } }],
      reasoning_effort: "low",
      response_format: { type: "json_schema", json_schema: { name: "o", schema: object } },
    });
    expect(said).toEqual([]);
  });

  test("custom calls go out as they are where the profile knows them, and a local shell may be known by its id", () => {
    const native = withFlags(genericProfile, { customTools: "native" });
    const { body } = toChatRequest(
      {
        input: [
          user("go"),
          { type: "custom_tool_call", call_id: "call_1", name: "patch", input: "***" },
          { type: "custom_tool_call_output", call_id: "call_1", output: "done" },
          { type: "local_shell_call", id: "lsh_1", action: { type: "exec", command: ["ls"] } },
          { type: "local_shell_call_output", id: "lsh_1", output: "a.txt" },
        ],
      },
      { profile: native },
    );
    expect(body.messages).toEqual([
      user("go"),
      {
        ...assistant(null),
        tool_calls: [{ id: "call_1", type: "custom", custom: { name: "patch", input: "***" } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "done" },
      {
        ...assistant(null),
        tool_calls: [functionCall("lsh_1", "local_shell", '{"command":["ls"]}')],
      },
      { role: "tool", tool_call_id: "lsh_1", content: "a.txt" },
    ]);
  });

  test("a function without parameters gets an empty object of them, and that is counted", () => {
    const { body, said } = toChatRequest({
      input: "hi",
      tools: [{ type: "function", name: "f", strict: false }],
    });
    expect(body.tools).toEqual([{ type: "function", function: { name: "f", parameters: object } }]);
    expect(said).toEqual(["tool_schema_completed f"]);
  });

  const declared = [
    { type: "local_shell" },
    { type: "custom", name: "c" },
    {
      type: "namespace",
      name: "ns",
      tools: ["a", "b"].map((name) => ({ type: "function", name, parameters: object })),
    },
  ];
  test.each([
    [{ type: "local_shell" }, { type: "function", function: { name: "local_shell" } }, []],
    [{ type: "custom", name: "c" }, { type: "custom", custom: { name: "c" } }, []],
    [
      { type: "namespace", name: "ns" },
      "required",
      ['parameter_changed tool_choice: {"type":"namespace","name":"ns"} is not offered'],
    ],
    [
      { type: "mcp", server_label: "docs" },
      "auto",
      ['parameter_changed tool_choice: {"type":"mcp","server_label":"docs"} is not offered'],
    ],
  ])("the tool_choice %j of a Responses request becomes %j", (tool_choice, sent, counted) => {
    const native = withFlags(genericProfile, { customTools: "native" });
    const { body, said } = toChatRequest(
      { input: "hi", tools: declared, tool_choice },
      { profile: native },
    );
    expect(body.tool_choice).toEqual(sent);
    expect(said).toEqual(counted);
  });

  test("a choice without tools is dropped, and counted where it would have forced a call", () => {
    const asked = (tool_choice: string) => toChatRequest({ input: "hi", tool_choice });
    expect(asked("required").body).toEqual({ model: "m", messages: [user("hi")] });
    expect(asked("required").said).toEqual([
      "parameter_dropped tool_choice: no tool that could be called",
    ]);
    expect(asked("none").said).toEqual([]);
  });
});

describe("a Chat reply on its way to a Responses client", () => {
  test("the response has its own id and time, the upstream's model, and nothing that this wire has no field for", () => {
    const { events, repairs } = toResponses([
      {
        ...chunk({ role: "assistant", content: "Hi", x_new: "x_new" }),
        id: "chatcmpl-secret",
        created: 999,
        model: "glm",
        object: "x_object",
        system_fingerprint: "fp_secret",
        service_tier: "x_tier",
      },
      { ...chunk({}, "stop"), choices: [{ index: 1, delta: { content: "other" } }] },
      chunk({}, "stop"),
      "[DONE]",
    ]);
    expect(events.at(-1)).toEqual({
      type: "response.completed",
      sequence_number: 8,
      response: {
        id: "resp_1",
        object: "response",
        created_at: 1,
        status: "completed",
        error: null,
        incomplete_details: null,
        model: "glm",
        output: [
          {
            type: "message",
            id: "msg_minted_1",
            status: "completed",
            role: "assistant",
            content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }],
          },
        ],
        usage: null,
      },
    });
    expect(JSON.stringify(events)).not.toMatch(/secret|x_|other|999/);
    expect(repairs.list).toEqual([]);
  });

  const detail = [{ type: "reasoning.text", text: "hm" }];
  test.each<[string, JsonObject]>([
    ["reasoning_content", { reasoning_content: "hm" }],
    ["reasoning", { reasoning: "hm" }],
    ["reasoning as an object", { reasoning: { text: "hm" } }],
    ["reasoning_details", { reasoning_details: detail }],
    ["reasoning_text", { reasoning_text: "hm" }],
    ["thinking", { thinking: "hm" }],
    ["three fields at once", { reasoning: "hm", reasoning_details: detail, thinking: "hm" }],
    ["a part of the type thinking", { content: [{ type: "thinking", thinking: "hm" }] }],
    ["a leading tag", { content: "<think>hm</think>" }],
  ])("%s gives one reasoning item", (_where, delta) => {
    const { output } = toResponses([chunk(delta), chunk({}, "stop"), "[DONE]"]);
    expect(output).toEqual([
      {
        type: "reasoning",
        id: "rs_minted_1",
        status: "completed",
        summary: [{ type: "summary_text", text: "hm" }],
      },
    ]);
  });

  test("reasoning_opaque travels sealed", () => {
    const inputs = [chunk({ reasoning_text: "hm", reasoning_opaque: "O" }), chunk({}, "stop")];
    const { output } = toResponses(inputs, { seal: (carry) => JSON.stringify(carry) });
    expect(output).toEqual([
      {
        type: "reasoning",
        id: "rs_minted_1",
        status: "completed",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: '{"opaque":"O"}',
      },
    ]);
    expect(counted(toResponses(inputs).repairs)).toEqual(["carry_lost opaque"]);
  });

  test("signatures in reasoning_details are lost without a seal, and counted", () => {
    const details = [{ type: "reasoning.text", text: "hm", signature: "S" }];
    const { output, repairs } = toResponses([
      chunk({ reasoning_details: details }),
      chunk({}, "stop"),
    ]);
    expect(output).toMatchObject([{ type: "reasoning", summary: [{ text: "hm" }] }]);
    expect(counted(repairs)).toEqual(["carry_lost details"]);
  });

  test("log probabilities stand in the delta, in the end of the text and in the part", () => {
    const content = [{ token: "Hi", logprob: -0.1 }];
    const { events } = toResponses([
      { ...chunk({}), choices: [{ index: 0, delta: { content: "Hi" }, logprobs: { content } }] },
      chunk({}, "stop"),
    ]);
    const eventOf = (type: string) => events.find((event) => event.type === type);
    expect(eventOf("response.output_text.delta")).toMatchObject({ logprobs: content });
    expect(eventOf("response.output_text.done")).toMatchObject({ logprobs: content });
    expect(eventOf("response.content_part.done")).toMatchObject({ part: { logprobs: content } });
  });

  test("pictures are calls of the server's image tool, or text where they are only an address", () => {
    const picture = (url: string) => chunk({ images: [{ image_url: { url } }] });
    const { output } = toResponses([
      picture("data:image/webp;base64,AAAA"),
      picture("https://a/b.png"),
      chunk({}, "stop"),
    ]);
    expect(output).toEqual([
      {
        type: "image_generation_call",
        id: "ig_minted_1",
        status: "completed",
        output_format: "webp",
        result: "AAAA",
      },
      {
        type: "message",
        id: "msg_minted_2",
        status: "completed",
        role: "assistant",
        content: [
          { type: "output_text", text: "![image](https://a/b.png)", annotations: [], logprobs: [] },
        ],
      },
    ]);
  });

  test("content in parts is what the parts say, and counted; content of another type is not read", () => {
    const parts = [
      { type: "text", text: "Hi" },
      { type: "refusal", refusal: "No." },
    ];
    const { output, repairs } = toResponses([
      chunk({ content: parts }),
      chunk({ content: 5 }),
      chunk({}, "stop"),
    ]);
    expect(output).toMatchObject([
      {
        content: [
          { type: "output_text", text: "Hi" },
          { type: "refusal", refusal: "No." },
        ],
      },
    ]);
    expect(counted(repairs)).toEqual([
      `content_parts_flattened ${JSON.stringify(parts)}`,
      "content_not_text 5",
    ]);
  });

  test("a message or a text in a delta's place is read like one", () => {
    const whole = (choice: object): ChatChunk => ({
      choices: [{ index: 0, finish_reason: "stop", ...choice }],
    });
    for (const choice of [{ message: { content: "Hi" } }, { text: "Hi" }])
      expect(toResponses([whole(choice), "[DONE]"]).output).toMatchObject([
        { type: "message", content: [{ type: "output_text", text: "Hi" }] },
      ]);
  });

  test("function_call, the form before tools, is a call, and counted", () => {
    const legacy = { function_call: { name: "get_time", arguments: "{}" } };
    const { output, repairs } = toResponses([chunk(legacy), chunk({}, "function_call")]);
    expect(output).toEqual([
      {
        type: "function_call",
        id: "fc_minted_2",
        status: "completed",
        call_id: "call_minted_1",
        name: "get_time",
        arguments: "{}",
      },
    ]);
    expect(counted(repairs)).toEqual([
      "legacy_function_call get_time",
      "call_id_minted ",
      "finish_corrected function_call",
    ]);
  });

  test("fields of a call that nobody knows have no place, without a count", () => {
    const fragment = call({ index: 0, id: "call_abc", name: "get_time", args: "{}", x_new: 1 });
    const { output, repairs } = toResponses([chunk(fragment), chunk({}, "tool_calls")]);
    expect(output).toEqual([
      {
        type: "function_call",
        id: "fc_minted_1",
        status: "completed",
        call_id: "call_abc",
        name: "get_time",
        arguments: "{}",
      },
    ]);
    expect(repairs.list).toEqual([]);
  });

  test.each([
    ["stop", "completed", null],
    ["end_turn", "completed", null],
    ["eos", "completed", null],
    ["eos_token", "completed", null],
    ["tool_calls", "completed", null],
    ["tool_call", "completed", null],
    ["tool_use", "completed", null],
    ["function_call", "completed", null],
    ["banana", "completed", null],
    ["length", "incomplete", "max_output_tokens"],
    ["max_tokens", "incomplete", "max_output_tokens"],
    ["content_filter", "incomplete", "content_filter"],
    ["sensitive", "incomplete", "content_filter"],
    ["error", "failed", "upstream_error"],
    ["network_error", "failed", "upstream_error"],
    ["abort", "failed", "upstream_error"],
    ["model_context_window_exceeded", "failed", "context_length_exceeded"],
  ])("the finish_reason %s ends the response as %s, with %j", (word, status, why) => {
    const { events, repairs } = toResponses([chunk({ content: "Hi" }), chunk({}, word)]);
    expect(events.at(-1)).toMatchObject({
      type: `response.${status}`,
      response: {
        status,
        incomplete_details: status === "incomplete" ? { reason: why } : null,
        error: status === "failed" ? { code: why } : null,
      },
    });
    expect(repairs.counts.get("finish_unknown")).toBe(word === "banana" ? 1 : undefined);
  });

  const counts = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
  test.each<[string, JsonObject, number, number]>([
    ["the counts of Chat", counts, 0, 0],
    ["the counts of Responses", { input_tokens: 11, output_tokens: 7 }, 0, 0],
    ["cached tokens", { ...counts, prompt_tokens_details: { cached_tokens: 5 } }, 5, 0],
    ["DeepSeek's cache hits", { ...counts, prompt_cache_hit_tokens: 5 }, 5, 0],
    ["Moonshot's cached tokens", { ...counts, cached_tokens: 5 }, 5, 0],
    ["Anthropic's cache reads", { ...counts, cache_read_input_tokens: 5 }, 5, 0],
    ["reasoning tokens", { ...counts, completion_tokens_details: { reasoning_tokens: 3 } }, 0, 3],
    ["Perplexity's reasoning tokens", { ...counts, reasoning_tokens: 3 }, 0, 3],
  ])("usage with %s stands in the terminal event", (_title, usage, cached, reasoning) => {
    const expected = {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: 18,
    };
    const finished = chunk({ content: "Hi" }, "stop");
    for (const last of [
      { ...chunk({}), choices: [], usage },
      { ...chunk({}), choices: [{ index: 0, delta: {}, usage }] },
      { ...chunk({}), choices: [], x_groq: { usage } },
    ])
      expect(toResponses([finished, last, "[DONE]"]).response?.usage).toEqual(expected);
  });

  test("an error fails the response wherever it stands, but not after a finish that it cannot undo", () => {
    const error = { message: "boom", code: "x_code" };
    const failed = { status: "failed", error: { code: "x_code", message: "boom" } };
    const inChoice: ChatInput = { choices: [{ index: 0, delta: {}, error }] };
    for (const last of [{ error }, inChoice, { object: "error", ...error }])
      expect(toResponses([chunk({ content: "Hi" }), last]).response).toMatchObject(failed);
    const good = toResponses([chunk({ content: "Hi" }, "stop"), inChoice]);
    expect(good.response?.status).toBe("completed");
    expect(counted(good.repairs)).toEqual([`error_ignored ${JSON.stringify(error)}`]);
    const cut = toResponses([chunk({ content: "Hi" }, "length"), { error }]);
    expect(cut.response?.status).toBe("incomplete");
  });
});

describe("a Chat request on its way to a Responses upstream", () => {
  const plain = {
    model: "m",
    input: [{ type: "message", role: "user", content: "hi" }],
    store: false,
    include: ["reasoning.encrypted_content"],
  };

  test("parameters that both wires have go on under their names", () => {
    const same = {
      temperature: 0.5,
      top_p: 0.9,
      top_logprobs: 2,
      parallel_tool_calls: false,
      metadata: { a: "b" },
      user: "u",
      safety_identifier: "s",
      service_tier: "flex",
      prompt_cache_key: "k",
      prompt_cache_retention: "24h",
    };
    const { body, said } = toResponsesRequest({ ...same, store: true });
    expect(body).toEqual({ ...plain, ...same, store: true });
    expect(said).toEqual([]);
  });

  test("what Responses has no word for is dropped and counted", () => {
    const { body, said } = toResponsesRequest({
      stop: "END",
      seed: 1,
      frequency_penalty: 1,
      presence_penalty: 1,
      logit_bias: { 1: 2 },
      modalities: ["text"],
      audio: { voice: "v" },
      prediction: { type: "content" },
      web_search_options: {},
      top_k: 4,
    });
    expect(body).toEqual(plain);
    expect(said).toEqual([
      "parameter_dropped stop",
      "parameter_dropped seed",
      "parameter_dropped frequency_penalty",
      "parameter_dropped presence_penalty",
      "parameter_dropped logit_bias",
      "parameter_dropped modalities",
      "parameter_dropped audio",
      "parameter_dropped prediction",
      "parameter_dropped web_search_options",
      "parameter_dropped top_k",
    ]);
  });

  test("the number of answers and the wish for usage are for whoever asks, not for the upstream", () => {
    const asked = { n: 3, stream_options: { include_usage: true } };
    const { body, choices, said } = toResponsesRequest(asked);
    expect(body).toEqual(plain);
    expect(choices).toBe(3);
    expect(said).toEqual([]);
  });

  test("of two limits the newer word counts; the caller may name the model and ask for a stream", () => {
    const { body, said } = toResponsesRequest(
      { max_tokens: 5, max_completion_tokens: 9 },
      { upstreamModel: "other", stream: true },
    );
    expect(body).toEqual({ ...plain, model: "other", max_output_tokens: 9, stream: true });
    expect(said).toEqual([]);
  });

  test("log probabilities are asked for in include, effort and verbosity where they belong", () => {
    const { body } = toResponsesRequest({
      logprobs: true,
      reasoning_effort: "low",
      verbosity: "high",
    });
    expect(body).toEqual({
      ...plain,
      include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
      reasoning: { effort: "low" },
      text: { verbosity: "high" },
    });
  });

  test("system, developer and user messages keep their roles and lose their names; every part has its form", () => {
    const { body, said } = toResponsesRequest({
      messages: [
        { role: "system", content: "a", name: "n" },
        { role: "developer", content: "b" },
        {
          role: "user",
          name: "n",
          content: [
            { type: "text", text: "c" },
            { type: "image_url", image_url: { url: "data:1", detail: "high" } },
            { type: "image_url", image_url: { url: "data:2" } },
            { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
            { type: "file", file: { file_data: "data:3", filename: "a.pdf" } },
            { type: "refusal", refusal: "d" },
            { type: "hologram", depth: 3 },
          ],
        },
      ],
    });
    expect(body.input).toEqual([
      { type: "message", role: "system", content: "a" },
      { type: "message", role: "developer", content: "b" },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "c" },
          { type: "input_image", image_url: "data:1", detail: "high" },
          { type: "input_image", image_url: "data:2", detail: "auto" },
          { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
          { type: "input_file", file_data: "data:3", filename: "a.pdf" },
          { type: "input_text", text: "d" },
          { type: "hologram", depth: 3 },
        ],
      },
    ]);
    expect(said).toEqual([]);
  });

  test("an assistant's texts and refusals are its message; its audio, name and signatures have no place", () => {
    const { body, said } = toResponsesRequest({
      messages: [
        {
          role: "assistant",
          name: "n",
          audio: { id: "audio_1" },
          reasoning_opaque: "O",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "" },
            { type: "refusal", refusal: "b" },
            { type: "image_url", image_url: { url: "data:1" } },
          ],
          refusal: "c",
          tool_calls: [{ ...functionCall("call_1", "f", "{}"), extra_content: { google: {} } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "ok" },
        assistant(""),
      ],
    });
    expect(body.input).toEqual([
      {
        type: "message",
        role: "assistant",
        content: [
          { type: "output_text", text: "a", annotations: [] },
          { type: "refusal", refusal: "b" },
          { type: "refusal", refusal: "c" },
        ],
      },
      { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "ok" },
    ]);
    expect(said).toEqual([
      "content_converted an assistant's part image_url left out",
      "content_converted an assistant's audio left out",
      "content_converted an assistant's name left out",
      "content_converted an assistant's reasoning_opaque left out",
    ]);
  });

  test("reasoning in words is a summary in the current turn of a stored history, else it is dropped and counted", () => {
    const asked = (field: string, store: boolean) =>
      toResponsesRequest({
        store,
        messages: [user("hi"), { ...assistant("yo"), [field]: "hm" }],
      });
    const message = {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "yo", annotations: [] }],
    };
    for (const field of ["reasoning_content", "reasoning"]) {
      expect(asked(field, true).body.input).toEqual([
        ...plain.input,
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        message,
      ]);
      expect(asked(field, false).body.input).toEqual([...plain.input, message]);
      expect(asked(field, false).said).toEqual(["reasoning_dropped "]);
    }
  });

  test("a result of several texts is one text, a result with a picture is a list", () => {
    const text = (words: string) => ({ type: "text", text: words });
    const result = (content: object[]) =>
      toResponsesRequest({
        messages: [
          { role: "assistant", content: null, tool_calls: [functionCall("call_1", "f", "{}")] },
          { role: "tool", tool_call_id: "call_1", content },
        ],
      }).body.input?.slice(1);
    expect(result([text("a"), text("b")])).toEqual([
      { type: "function_call_output", call_id: "call_1", output: "a\n\nb" },
    ]);
    expect(result([text("a"), { type: "image_url", image_url: { url: "data:1" } }])).toEqual([
      {
        type: "function_call_output",
        call_id: "call_1",
        output: [
          { type: "input_text", text: "a" },
          { type: "input_image", image_url: "data:1", detail: "auto" },
        ],
      },
    ]);
  });

  test("a function's description, strictness and further fields stay; a custom tool of plain text stays so", () => {
    const { body } = toResponsesRequest({
      tools: [
        {
          type: "function",
          function: { name: "f", description: "d", parameters: object, strict: true, x_new: 1 },
        },
        { type: "custom", custom: { name: "c", description: "e", format: { type: "text" } } },
      ],
    });
    expect(body.tools).toEqual([
      {
        type: "function",
        name: "f",
        description: "d",
        parameters: object,
        strict: true,
        x_new: 1,
      },
      { type: "custom", name: "c", description: "e", format: { type: "text" } },
    ]);
  });

  test.each<[unknown, unknown]>([
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [
      { type: "function", function: { name: "f" } },
      { type: "function", name: "f" },
    ],
    [
      { type: "custom", custom: { name: "c" } },
      { type: "custom", name: "c" },
    ],
    [
      {
        type: "allowed_tools",
        allowed_tools: {
          mode: "required",
          tools: [
            { type: "function", function: { name: "f" } },
            { type: "custom", custom: { name: "c" } },
          ],
        },
      },
      {
        type: "allowed_tools",
        mode: "required",
        tools: [
          { type: "function", name: "f" },
          { type: "custom", name: "c" },
        ],
      },
    ],
  ])("the tool_choice %j of a Chat request becomes %j", (tool_choice, sent) => {
    const tools = [
      { type: "function", function: { name: "f" } },
      { type: "custom", custom: { name: "c" } },
    ];
    expect(toResponsesRequest({ tools, tool_choice }).body.tool_choice).toEqual(sent);
  });

  test("a tool_choice without tools is left out, and counted where it asked for something", () => {
    const { body, said } = toResponsesRequest({ tool_choice: "required" });
    expect(body.tool_choice).toBeUndefined();
    expect(said).toEqual(["parameter_dropped tool_choice: no tool that could be called"]);
    expect(toResponsesRequest({ tool_choice: "auto" }).said).toEqual([]);
  });

  test("a history with a lost call or a lost result becomes a legal input", () => {
    const { body } = toResponsesRequest({
      messages: [
        { role: "user", content: "go" },
        { role: "assistant", content: null, tool_calls: [functionCall("call_1", "f", "{}")] },
        { role: "tool", tool_call_id: "call_9", content: "lost" },
      ],
    });
    expect(body.input).toEqual([
      { type: "message", role: "user", content: "go" },
      { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
      {
        type: "function_call_output",
        call_id: "call_1",
        output: "aborted: the call was never answered",
      },
      {
        type: "message",
        role: "user",
        content: "[Result of the tool call call_9]\n\nlost",
      },
    ]);
  });

  test.each([
    ["auto", "auto"],
    ["none", "none"],
  ])("the function_call %s of the form before tools becomes %s", (function_call, sent) => {
    const functions = [{ name: "f", parameters: object }];
    const { body, said } = toResponsesRequest({ functions, function_call });
    expect(body).toEqual({
      ...plain,
      tools: [{ type: "function", name: "f", parameters: object, strict: false }],
      tool_choice: sent,
    });
    expect(said).toEqual([]);
  });

  test.each([
    [{ type: "text" }, { type: "text" }],
    [{ type: "json_object" }, { type: "json_object" }],
    [
      {
        type: "json_schema",
        json_schema: { name: "o", description: "d", schema: object, strict: true },
      },
      { type: "json_schema", name: "o", description: "d", schema: object, strict: true },
    ],
  ])("the response_format %j becomes %j", (response_format, format) => {
    expect(toResponsesRequest({ response_format }).body).toEqual({ ...plain, text: { format } });
  });
});

describe("a response on its way to a Chat client", () => {
  const created = { type: "response.created", response: { id: "resp_1", model: "gpt" } };
  const completed = { type: "response.completed", response: { output: [] } };
  const first = { role: "assistant", content: "" };

  test("envelopes have the response's id, its time in whole seconds and the client's model, from whatever event comes first", () => {
    for (const type of ["response.created", "response.in_progress", "response.queued"]) {
      const response = { id: "resp_1", created_at: 5.9, model: "gpt" };
      const { out } = toChat([{ type, response }, completed], { model: "mine" });
      expect(out[0]).toEqual({
        id: "resp_1",
        object: "chat.completion.chunk",
        created: 5,
        model: "mine",
        choices: [{ index: 0, delta: first, finish_reason: null }],
      });
    }
    expect(toChat([completed]).out[0]).toEqual({
      id: "chatcmpl_1",
      object: "chat.completion.chunk",
      created: 7,
      model: "",
      choices: [{ index: 0, delta: first, finish_reason: null }],
    });
  });

  test("audio, its transcript and log probabilities go on", () => {
    const logprobs = [{ token: "Hi", logprob: -0.1 }];
    const { out, deltas } = toChat([
      created,
      { type: "response.audio.delta", delta: "AAAA" },
      { type: "response.audio.transcript.delta", delta: "Hel" },
      { type: "response.output_text.delta", output_index: 0, delta: "Hi", logprobs },
      completed,
    ]);
    expect(deltas).toEqual([
      first,
      { audio: { data: "AAAA" } },
      { audio: { transcript: "Hel" } },
      { content: "Hi" },
      {},
    ]);
    expect(out[3]).toMatchObject({ choices: [{ logprobs: { content: logprobs, refusal: null } }] });
  });

  test.each<[string, object[], object[]]>([
    [
      "output_text",
      [
        { type: "response.output_text.delta", delta: "a" },
        { type: "response.output_text.done", text: "ab" },
      ],
      [{ content: "a" }, { content: "b" }],
    ],
    [
      "refusal",
      [
        { type: "response.refusal.delta", delta: "a" },
        { type: "response.refusal.done", refusal: "ab" },
      ],
      [{ refusal: "a" }, { refusal: "b" }],
    ],
    [
      "reasoning_summary_text",
      [
        { type: "response.reasoning_summary_text.delta", summary_index: 0, delta: "a" },
        { type: "response.reasoning_summary_text.done", summary_index: 0, text: "ab" },
        { type: "response.reasoning_summary_text.delta", summary_index: 1, delta: "c" },
      ],
      [
        { reasoning_content: "a" },
        { reasoning_content: "b" },
        { reasoning_content: "\n\n" },
        { reasoning_content: "c" },
      ],
    ],
    [
      "reasoning_text",
      [
        { type: "response.reasoning_text.delta", delta: "a" },
        { type: "response.reasoning_text.done", text: "ab" },
      ],
      [{ reasoning_content: "a" }, { reasoning_content: "b" }],
    ],
    [
      "function_call_arguments",
      [
        added({ type: "function_call", call_id: "call_1", name: "f" }),
        { type: "response.function_call_arguments.delta", delta: '{"a"' },
        { type: "response.function_call_arguments.done", arguments: '{"a":1}' },
      ],
      [
        {
          tool_calls: [
            { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } },
          ],
        },
        { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
        { tool_calls: [{ index: 0, function: { arguments: ":1}" } }] },
      ],
    ],
    [
      "custom_tool_call_input",
      [
        added({ type: "custom_tool_call", call_id: "call_1", name: "c" }),
        { type: "response.custom_tool_call_input.delta", delta: "a" },
        { type: "response.custom_tool_call_input.done", input: "ab" },
      ],
      [
        {
          tool_calls: [
            { index: 0, id: "call_1", type: "custom", custom: { name: "c", input: "" } },
          ],
        },
        { tool_calls: [{ index: 0, custom: { input: "a" } }] },
        { tool_calls: [{ index: 0, custom: { input: "b" } }] },
      ],
    ],
  ])("the events of %s are deltas; their done brings what was left out", (_kind, events, said) => {
    expect(toChat([created, ...events, completed]).deltas).toEqual([first, ...said, {}]);
  });

  test("what was said otherwise cannot be unsaid, and is counted", () => {
    const { deltas, said } = toChat([
      created,
      { type: "response.output_text.delta", output_index: 0, delta: "a" },
      { type: "response.output_text.done", output_index: 0, text: "b" },
      completed,
    ]);
    expect(deltas).toEqual([first, { content: "a" }, {}]);
    expect(said).toEqual(["deltas_differ b"]);
  });

  test("a citation of another kind stays flat", () => {
    const annotation = { type: "file_citation", file_id: "file_1", index: 3 };
    const event = { type: "response.output_text.annotation.added", output_index: 0, annotation };
    expect(toChat([created, event, completed]).deltas).toEqual([
      first,
      { annotations: [annotation] },
      {},
    ]);
  });

  test("a call without an id or with a used one gets one, and blank arguments are {}", () => {
    const item = { type: "function_call", name: "f", arguments: "" };
    const { deltas, said } = toChat([
      created,
      done(0, { ...item, call_id: "call_a" }),
      done(1, { ...item, call_id: "0", arguments: "{}" }),
      done(2, { ...item, arguments: "{}" }),
      completed,
    ]);
    const opened = (index: number, id: string) => ({
      tool_calls: [{ index, id, type: "function", function: { name: "f", arguments: "" } }],
    });
    const empty = (index: number) => ({ tool_calls: [{ index, function: { arguments: "{}" } }] });
    expect(deltas).toEqual([
      first,
      opened(0, "call_a"),
      opened(1, "call_1"),
      opened(2, "call_2"),
      empty(0),
      empty(1),
      empty(2),
      {},
    ]);
    expect(said).toEqual(["call_id_minted 0", "call_id_minted ", "arguments_blank f"]);
  });

  test.each([
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
  ])("an item of the type %s is left out and counted", (type) => {
    const { deltas, said } = toChat([created, done(0, { type, call_id: "call_1" }), completed]);
    expect(deltas).toEqual([first, {}]);
    expect(said).toEqual([`item_skipped ${type}`]);
  });

  test("a custom call of a tool that was not offered is left out and counted", () => {
    const item = { type: "custom_tool_call", call_id: "call_1", name: "x_search", input: "cats" };
    const toolNames = new Set(["other"]);
    const { deltas, said } = toChat([created, done(0, item), completed], { toolNames });
    expect(deltas).toEqual([first, {}]);
    expect(said).toEqual(["item_skipped custom_tool_call x_search: run by the upstream"]);
  });

  test("a call in the text of a response is a call where the profile says so, and counted", () => {
    const words = '<tool_call>{"name":"f","arguments":{}}</tool_call>';
    const event = { type: "response.output_text.delta", output_index: 0, delta: words };
    const { deltas, said } = toChat([created, event, completed], {
      toolNames: new Set(["f"]),
      profile: withFlags(genericProfile, { leakedCalls: ["hermes"] }),
    });
    expect(deltas).toEqual([
      first,
      {
        tool_calls: [
          { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: "{}" } }] },
      {},
    ]);
    expect(said[0]).toBe(`call_leaked ${words}`);
  });

  test("events that nobody knows say nothing, without a count", () => {
    const { deltas, said } = toChat([
      created,
      { type: "response.telepathy.delta", output_index: 0, delta: "x" },
      { type: "response.web_search_call.searching", output_index: 0 },
      { type: "ping" },
      completed,
    ]);
    expect(deltas).toEqual([first, {}]);
    expect(said).toEqual([]);
  });

  test("an item that is no call and no message is left out without a count", () => {
    const items = ["mcp_list_tools", "mcp_approval_request", "compaction"];
    const { deltas, said } = toChat([
      created,
      ...items.map((type, index) => done(index, { type })),
      completed,
    ]);
    expect(deltas).toEqual([first, {}]);
    expect(said).toEqual([]);
  });

  test("a cancelled response is an error with its words, or with ours", () => {
    const cancelled = (response: object) => ({ type: "response.cancelled", response });
    const error = { code: "x_code", message: "stopped" };
    expect(toChat([created, cancelled({ error })]).out.at(-1)).toEqual({
      error: { code: "x_code", message: "stopped", type: "upstream_error", param: null },
    });
    expect(toChat([created, cancelled({})]).out.at(-1)).toEqual({
      error: {
        code: "upstream_error",
        message: "the upstream failed and did not say why",
        type: "upstream_error",
        param: null,
      },
    });
  });

  test("usage has Chat's names, and goes out only to a client that asked for it", () => {
    const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18, x_cost: 1 };
    const counted = { type: "response.completed", response: { output: [], usage } };
    expect(toChat([created, counted]).out.at(-2)).toEqual({
      id: "resp_1",
      object: "chat.completion.chunk",
      created: 7,
      model: "gpt",
      choices: [],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, x_cost: 1 },
    });
    const { out } = toChat([created, counted], { includeUsage: false });
    expect(JSON.stringify(out)).not.toContain("usage");
  });

  test("a completed response finishes with stop, one with calls with tool_calls", () => {
    const finishes = (events: object[]) => JSON.stringify(toChat(events).out.at(-2));
    expect(finishes([created, completed])).toContain('"finish_reason":"stop"');
    const item = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
    expect(finishes([created, done(0, item), completed])).toContain('"finish_reason":"tool_calls"');
  });
});

describe("the same wire on both sides", () => {
  const response = { id: "resp_1", object: "response", model: "gpt", output: [] };
  const message = { type: "message", id: "msg_1", role: "assistant", content: [] };

  test("Responses events with nothing to mend pass, object by object", () => {
    const events = [
      { type: "response.created", response },
      { type: "response.in_progress", response },
      { type: "response.output_item.added", output_index: 0, item: message },
      { type: "response.telepathy.delta", output_index: 0, delta: "x", x_new: 1 },
      { type: "response.output_item.done", output_index: 0, item: message },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
    const last = {
      type: "response.completed",
      sequence_number: 5,
      response: { ...response, status: "completed", output: [message] },
    };
    const { out, said } = pass([...events, last]);
    events.forEach((event, nth) => expect(out[nth]).toBe(event));
    expect(out[5]).toMatchObject(last);
    expect(out).toHaveLength(6);
    expect(said).toEqual([]);
  });

  test("a response that begins without response.created gets it, and dense numbers", () => {
    const { out, said } = pass([
      { type: "response.output_item.added", sequence_number: 9, output_index: 0, item: message },
      { type: "response.output_item.done", sequence_number: 12, output_index: 0, item: message },
      { type: "response.completed", response: { ...response, output: [message] } },
    ]);
    expect(out[0]).toEqual({
      type: "response.created",
      sequence_number: 0,
      response: {
        id: "resp_0",
        object: "response",
        created_at: 1,
        status: "in_progress",
        error: null,
        incomplete_details: null,
        model: "",
        output: [],
        usage: null,
      },
    });
    expect(out.map(({ type, sequence_number }) => [sequence_number, type])).toEqual([
      [0, "response.created"],
      [1, "response.in_progress"],
      [2, "response.output_item.added"],
      [3, "response.output_item.done"],
      [4, "response.completed"],
    ]);
    expect(said).toEqual(["event_completed response.created"]);
  });

  test("what is no event of this wire is dropped, and what follows the end too; both are counted", () => {
    const { out, said } = pass([
      { type: "response.created", response },
      { type: "ping" },
      { type: "response.completed", response },
      { type: "response.output_text.delta", delta: "late" },
    ]);
    expect(out.map(({ type }) => type)).toEqual(["response.created", "response.completed"]);
    expect(said).toEqual(["event_dropped ping", "data_after_end response.output_text.delta"]);
  });

  test.each<[string, object, object, object]>([
    [
      "message",
      { role: "assistant", content: [] },
      { type: "response.output_text.delta", delta: "Hi" },
      { content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }] },
    ],
    [
      "reasoning",
      { summary: [] },
      { type: "response.reasoning_summary_text.delta", delta: "Hi" },
      { summary: [{ type: "summary_text", text: "Hi" }] },
    ],
    [
      "function_call",
      { call_id: "call_1", name: "f", arguments: "" },
      { type: "response.function_call_arguments.delta", delta: "{" },
      { arguments: "{" },
    ],
    [
      "custom_tool_call",
      { call_id: "call_1", name: "c", input: "" },
      { type: "response.custom_tool_call_input.delta", delta: "a" },
      { input: "a" },
    ],
  ])(
    "an item of the type %s that was never done is done at the end",
    (type, fields, event, end) => {
      const opened = { type, id: "i_1", status: "in_progress", ...fields };
      const begun = [
        { type: "response.created", response },
        { type: "response.output_item.added", output_index: 0, item: opened },
        { ...event, output_index: 0 },
      ];
      const item = { ...opened, ...end, status: "incomplete" };
      const { out, said } = pass(begun);
      expect(out.slice(3)).toEqual([
        { type: "response.output_item.done", sequence_number: 3, output_index: 0, item },
        {
          type: "response.failed",
          sequence_number: 4,
          response: {
            created_at: 1,
            incomplete_details: null,
            usage: null,
            ...response,
            status: "failed",
            error: {
              code: "upstream_stream_truncated",
              message: "the upstream closed the stream before it had finished the reply",
            },
            output: [item],
          },
        },
      ]);
      expect(said).toEqual([
        "event_completed response.output_item.done 0",
        "event_completed response.failed output",
      ]);
    },
  );

  test("a terminal event without output gets what was streamed", () => {
    const { out, said } = pass([
      { type: "response.created", response },
      { type: "response.output_item.done", output_index: 0, item: message },
      { type: "response.completed", response },
    ]);
    expect(out.at(-1)).toMatchObject({ response: { output: [message] } });
    expect(said).toEqual([
      "event_completed response.output_item.added 0",
      "event_completed response.completed output",
    ]);
  });

  test("an error event passes, and the response fails with its words where nothing else tells its end", () => {
    const { out } = pass([
      { type: "response.created", response },
      { type: "error", message: "boom", code: "x_code" },
    ]);
    expect(out.slice(1)).toMatchObject([
      { type: "error", message: "boom", sequence_number: 1 },
      {
        type: "response.failed",
        response: { status: "failed", error: { code: "x_code", message: "boom" } },
      },
    ]);
  });

  test("a whole response is what its terminal event would have carried", () => {
    const whole = { ...response, status: "completed", output: [message], x_new: 1 };
    const options = { responseId: "resp_0", createdAt: 1 };
    const passed = responseOfResponse(whole, options);
    expect(passed.response).toEqual({
      created_at: 1,
      error: null,
      incomplete_details: null,
      usage: null,
      ...whole,
    });
    expect(responseOfResponse({ error: { message: "bad key" } }, options).response).toMatchObject({
      id: "resp_0",
      status: "failed",
      error: { code: "upstream_error", message: "bad key" },
    });
  });

  test("a reference is kept where items are stored, else dropped and counted; a seal that cannot be opened goes", () => {
    const sealed = { type: "reasoning", id: "rs_1", encrypted_content: "S" } as const;
    const said = { type: "message", role: "assistant", content: "yo" } as const;
    const reference = { type: "item_reference", id: "msg_1" } as const;
    const input = [reference, sealed, said];
    const mended = (options: { stored: boolean; dropSealed?: boolean }) => {
      const repairs = new Repairs();
      return [mendHistory(input, { ...options, repairs }), counted(repairs)];
    };
    expect(mended({ stored: true })).toEqual([input, []]);
    expect(mended({ stored: false })).toEqual([
      [sealed, said],
      ["item_skipped item_reference msg_1"],
    ]);
    expect(mended({ stored: true, dropSealed: true })).toEqual([
      [reference, said],
      ["reasoning_dropped rs_1"],
    ]);
  });

  test("an item without its reasoning gets the id that the caller makes", () => {
    const repairs = new Repairs();
    const message = { type: "message", role: "assistant", content: "yo" } as const;
    const asked = { type: "message", role: "user", content: "hi" } as const;
    const input = [asked, { ...message, id: "msg_old" }, asked];
    const newId = (prefix: string) => `${prefix}_new`;
    expect(mendHistory(input, { stored: true, newId, repairs })).toEqual([
      asked,
      { ...message, id: "msg_new" },
      asked,
    ]);
    expect(counted(repairs)).toEqual(["item_id_renewed msg_old"]);
  });

  test.each([
    ["null", "", null],
    ["empty", null, ""],
  ] as const)(
    "where emptyContent is %s, the content %j beside calls becomes %j",
    (emptyContent, content, sent) => {
      const messages = (value: string | null): ChatMessage[] => [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: value,
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "ok" },
      ];
      const profile = withFlags(genericProfile, { emptyContent });
      const request = { model: "m", messages: messages(content) };
      const { body, repairs } = mendedChatRequest(request, { profile });
      expect(body.messages).toEqual(messages(sent));
      expect(repairs.list).toEqual([]);
    },
  );

  test("Chat choices without an index are told apart by their position", () => {
    const machine = new ChatOverChat({ newId: (prefix) => `${prefix}_1`, createdAt: 1 });
    const out: ChatOutput[] = [];
    const delta = (content: string) => ({ delta: { role: "assistant", content } });
    machine.push({ ...chunk({}), choices: [delta("a"), delta("b")] }, out);
    expect(out).toEqual([
      {
        ...chunk({}),
        choices: [
          { ...delta("a"), index: 0 },
          { ...delta("b"), index: 1 },
        ],
      },
    ]);
  });

  test("Chat usage has reasoning tokens where clients look", () => {
    const machine = new ChatOverChat({ newId: (prefix) => `${prefix}_1`, createdAt: 1 });
    const out: ChatOutput[] = [];
    const usage = { prompt_tokens: 11, completion_tokens: 7, reasoning_tokens: 3 };
    machine.push(chunk({ role: "assistant", content: "Hi" }, "stop", { usage }), out);
    machine.push("[DONE]", out);
    expect(out.at(-2)).toEqual({
      ...chunk({}),
      choices: [],
      usage: {
        ...usage,
        total_tokens: 18,
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    });
  });

  test("a Chat choice without a role gets one in its first delta, and parts become text", () => {
    const machine = new ChatOverChat({ newId: (prefix) => `${prefix}_1`, createdAt: 1 });
    const out: ChatOutput[] = [];
    machine.push(chunk({ content: [{ type: "text", text: "Hi" }] }), out);
    machine.push(chunk({}, "end_turn"), out);
    machine.push("[DONE]", out);
    expect(out).toEqual([chunk({ role: "assistant", content: "Hi" }), chunk({}, "stop"), "[DONE]"]);
    expect(counted(machine.repairs)).toEqual([
      'content_parts_flattened [{"type":"text","text":"Hi"}]',
      "finish_corrected end_turn",
    ]);
  });
});

const object = { type: "object", properties: {} };

function user(content: string) {
  return { role: "user", content };
}

function assistant(content: string | null) {
  return { role: "assistant", content };
}

function functionCall(id: string, name: string, args: string) {
  return { id, type: "function", function: { name, arguments: args } };
}

function added(item: object) {
  return { type: "response.output_item.added", output_index: 0, item };
}

function done(output_index: number, item: object) {
  return { type: "response.output_item.done", output_index, item };
}

/** The record of repairs as lines, in order. */
function counted(repairs: Repairs): string[] {
  return repairs.list.map(({ code, detail }) => `${code} ${detail}`);
}

function toChatRequest(request: object, options: ChatRequestOptions = {}) {
  const translated = chatRequest(decodeResponsesRequest({ model: "m", ...request }), options);
  return { ...translated, said: counted(translated.repairs) };
}

function toResponsesRequest(request: object, options: ResponsesRequestOptions = {}) {
  const whole = { model: "m", messages: [user("hi")], ...request };
  const translated = responsesRequest(decodeChatRequest(whole), options);
  return { ...translated, said: counted(translated.repairs) };
}

function toChat(events: object[], options: Partial<ChatOverResponsesOptions> = {}) {
  let count = 0;
  const newId = (prefix: string) => `${prefix}_${(count += 1)}`;
  const machine = new ChatOverResponses({ newId, createdAt: 7, ...options });
  const out: ChatOutput[] = [];
  for (const event of events) machine.push(event as ResponsesInput, out);
  machine.end("eof", out);
  expect(chatSequenceFaults(out)).toEqual([]);
  const deltas = out.flatMap((output) =>
    output === "[DONE]" ? [] : (output.choices ?? []).map((choice) => choice.delta),
  );
  return { out, deltas, said: counted(machine.repairs) };
}

function pass(events: object[]) {
  const machine = new ResponsesOverResponses({ responseId: "resp_0", createdAt: 1 });
  const out: ResponsesInput[] = [];
  for (const event of events) machine.push(event as ResponsesInput, out);
  machine.end("eof", out);
  return { out, said: counted(machine.repairs) };
}
