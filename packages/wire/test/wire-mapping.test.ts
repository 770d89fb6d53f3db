import {
  buildRequestEcho,
  ChatOverChat,
  ChatOverResponses,
  translateResponsesRequest,
  decodeChatRequest,
  decodeResponsesRequest,
  genericProfile,
  repairChatRequest,
  repairHistory,
  Repairs,
  repairResponsesReply,
  ResponsesOverResponses,
  type ResponsesOverResponsesOptions,
  translateChatRequest,
  withProfileFlags,
  type ChatChunk,
  type UpstreamChatEvent,
  type ChatMessage,
  type ChatStreamEvent,
  type ChatOverResponsesOptions,
  type TranslateResponsesRequestOptions,
  type JsonObject,
  type UpstreamProfile,
  type UpstreamResponseEvent,
  type TranslateChatRequestOptions,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { call, chunk } from "./chat-chunks.ts";
import { requiredFields } from "./response-fields.ts";
import { translateToResponses } from "./translate-reply.ts";

/* Tests for the rows of docs/reference/wire-mapping.md that the other test files do not cover. */

const acceptsAll = withProfileFlags(genericProfile, { parameters: "all" });

describe("the translation of a Responses request for a Chat upstream", () => {
  test("sends parameters of both wires unchanged if the profile accepts them", () => {
    const sharedParameters = {
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
      { input: "hi", ...sharedParameters, text: { verbosity: "low" } },
      { profile: acceptsAll },
    );
    expect(body).toEqual({
      model: "m",
      messages: [user("hi")],
      ...sharedParameters,
      verbosity: "low",
    });
    expect(repairs.list).toEqual([]);
  });

  test("sends all parameters that the user chose, except those that the profile drops", () => {
    const chosen = { top_k: 3, user: "ada", service_tier: "auto", metadata: { a: "b" }, seed: 1 };
    const request = { input: "hi", ...chosen, store: false, prompt_cache_key: "k" };
    const profile = withProfileFlags(genericProfile, { droppedParameters: ["seed"] });
    const { body, repairLog } = toChatRequest(request, { profile, parameters: "user-set" });
    const { seed: _dropped, ...sent } = chosen;
    expect(body).toEqual({ model: "m", messages: [user("hi")], ...sent });
    expect(repairLog).toEqual(["parameter_dropped seed", "parameter_dropped prompt_cache_key"]);
  });

  test("drops parameters that the generic profile does not know, with a repair unless they have no effect", () => {
    const { body, repairLog } = toChatRequest({
      input: "hi",
      safety_identifier: "s",
      x_routing: ["a"],
      service_tier: "auto",
      store: true,
      metadata: { a: "b" },
    });
    expect(body).toEqual({ model: "m", messages: [user("hi")] });
    expect(repairLog).toEqual([
      "parameter_dropped safety_identifier",
      "parameter_dropped x_routing",
    ]);
    const profile = withProfileFlags(genericProfile, { droppedParameters: ["temperature"] });
    const withTemperature = toChatRequest({ input: "hi", temperature: 0.5 }, { profile });
    expect(withTemperature.body).toEqual({ model: "m", messages: [user("hi")] });
    expect(withTemperature.repairLog).toEqual(["parameter_dropped temperature"]);
  });

  test("drops parameters that Chat lacks, with a repair, for every profile", () => {
    const request = { input: "hi", truncation: "auto", background: true, max_tool_calls: 3 };
    const { body, repairLog } = toChatRequest(request, { profile: acceptsAll });
    expect(body).toEqual({ model: "m", messages: [user("hi")] });
    expect(repairLog).toEqual([
      "parameter_dropped truncation",
      "parameter_dropped background",
      "parameter_dropped max_tool_calls",
    ]);
    const defaults = { input: "hi", truncation: "disabled", background: false };
    expect(toChatRequest(defaults, { profile: acceptsAll }).repairLog).toEqual([]);
  });

  test("drops parameters for the client's own server without a repair", () => {
    const { body, repairLog } = toChatRequest(
      {
        input: "hi",
        stream_options: { include_obfuscation: false },
        include: ["file_search_call.results"],
        reasoning: { summary: "auto" },
        client_metadata: { a: "b" },
        n: 2,
      },
      { profile: acceptsAll },
    );
    expect(body).toEqual({ model: "m", messages: [user("hi")] });
    expect(repairLog).toEqual([]);
  });

  test("requests log probabilities that include contains", () => {
    const request = { input: "hi", include: ["message.output_text.logprobs"] };
    expect(toChatRequest(request).body).toEqual({
      model: "m",
      messages: [user("hi")],
      logprobs: true,
    });
  });

  test("drops a text format of an unknown type, with a repair, and does not send the default format text", () => {
    const withFormat = (type: string) => toChatRequest({ input: "hi", text: { format: { type } } });
    expect(withFormat("grammar").body).toEqual({ model: "m", messages: [user("hi")] });
    expect(withFormat("grammar").repairLog).toEqual(["parameter_dropped text.format: grammar"]);
    expect(withFormat("text").body).toEqual({ model: "m", messages: [user("hi")] });
    expect(withFormat("text").repairLog).toEqual([]);
  });

  test("names a schema answer if it has no name, and keeps its description", () => {
    const format = { type: "json_schema", description: "d", schema: object };
    expect(toChatRequest({ input: "hi", text: { format } }).body.response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "answer", description: "d", schema: object },
    });
  });

  test("changes or drops an unsupported format or effort, with a repair", () => {
    const counts = (flags: Partial<UpstreamProfile>, request: object) =>
      toChatRequest(
        { input: "JSON, please", ...request },
        { profile: withProfileFlags(genericProfile, flags) },
      ).repairLog;
    const format = (type: string) => ({ text: { format: { type, schema: object } } });
    expect(counts({ responseFormat: "json_schema" }, format("json_object"))).toEqual([
      "parameter_changed text.format: json_object sent as a schema of any object",
    ]);
    expect(counts({ responseFormat: "none" }, format("json_object"))).toEqual([
      "parameter_changed text.format: json_object sent as an instruction",
    ]);
    expect(counts({ responseFormat: "json_object" }, format("json_schema"))).toEqual([
      "parameter_changed text.format: json_schema sent as an instruction",
    ]);
    const efforts = ["low"];
    expect(counts({ efforts }, { reasoning: { effort: "high" } })).toEqual([
      "parameter_changed reasoning.effort: high -> low",
    ]);
    expect(counts({ efforts }, { reasoning: { effort: "ultra" } })).toEqual([
      "parameter_dropped reasoning.effort: ultra",
    ]);
  });

  test("streams as the caller decides, and requests usage if the profile supports it", () => {
    const request = { input: "hi", stream: true };
    expect(toChatRequest(request, { stream: false }).body).toEqual({
      model: "m",
      messages: [user("hi")],
    });
    const profile = withProfileFlags(genericProfile, { streamUsage: false });
    expect(toChatRequest(request, { profile }).body).toEqual({
      model: "m",
      messages: [user("hi")],
      stream: true,
    });
  });

  test("sends parallel_tool_calls only if it is false", () => {
    const tools = [{ type: "function", name: "f", parameters: object }];
    const { body } = toChatRequest({ input: "hi", tools, parallel_tool_calls: true });
    expect(body).toEqual({
      model: "m",
      messages: [user("hi")],
      tools: [{ type: "function", function: { name: "f", parameters: object } }],
    });
  });

  test("drops reasoning without a field in the profile, with a repair that contains the text", () => {
    const { body, repairLog } = toChatRequest({
      input: [
        user("hi"),
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        { type: "message", ...assistant("yo") },
      ],
    });
    expect(body.messages).toEqual([user("hi"), assistant("yo")]);
    expect(repairLog).toEqual(["reasoning_dropped hm"]);
  });

  test("rejects a request without a model or input", () => {
    expect(() => translateResponsesRequest({ input: "hi" })).toThrow("model is required");
    expect(() => translateResponsesRequest({ model: "m" })).toThrow("input must not be empty");
  });

  test("merges leading system and developer messages with the instructions, and leaves later ones in place", () => {
    const { body, repairLog } = toChatRequest({
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
    expect(repairLog).toEqual(["role_mapped developer sent as system"]);
    const laterMessages = [user("hi"), { role: "system", content: "four" }];
    const translateLater = (lateSystemMessages: "hoist" | "user") =>
      toChatRequest(
        { input: laterMessages },
        { profile: withProfileFlags(genericProfile, { lateSystemMessages }) },
      );
    expect(translateLater("hoist").body.messages).toEqual([
      { role: "system", content: "four" },
      user("hi"),
    ]);
    expect(translateLater("hoist").repairLog).toEqual([
      "role_mapped a later system message moved to the start",
    ]);
    expect(translateLater("user").body.messages).toEqual([
      user("hi"),
      user("<system>\nfour\n</system>"),
    ]);
    expect(translateLater("user").repairLog).toEqual([
      "role_mapped a later system message sent as user",
    ]);
    const withDeveloper = withProfileFlags(genericProfile, { developerRole: "developer" });
    expect(
      toChatRequest({ instructions: "one", input: "hi" }, { profile: withDeveloper }).body,
    ).toEqual({
      model: "m",
      messages: [{ role: "developer", content: "one" }, user("hi")],
    });
  });

  test("drops fields of a message other than role and content", () => {
    const { body, repairLog } = toChatRequest({
      input: [
        user("hi"),
        { type: "message", id: "msg_1", status: "completed", phase: "final", ...assistant("yo") },
      ],
    });
    expect(body.messages).toEqual([user("hi"), assistant("yo")]);
    expect(repairLog).toEqual([]);
  });

  test("converts every content part to a Chat part or mentions it in text", () => {
    const image = (url: string, more: object = {}) => ({
      type: "image_url",
      image_url: { url, ...more },
    });
    const text = (value: string) => ({ type: "text", text: value });
    const { body, repairLog } = toChatRequest({
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
    expect(repairLog).toEqual([
      "content_converted [image: file_1]",
      "content_converted [file: https://a/c.pdf]",
      "content_converted refusal sent as text",
      "content_converted [hologram]",
    ]);
  });

  test("sends images of other roles in a user message", () => {
    const image = { type: "input_image", image_url: "data:1" };
    const { body, repairLog } = toChatRequest({
      input: [
        user("draw"),
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "Here." }, image],
        },
      ],
    });
    expect(body.messages).toEqual([
      user("draw"),
      assistant("Here."),
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:1" } }] },
    ]);
    expect(repairLog).toEqual(["content_converted input[1]: media of the role assistant"]);
  });

  test("skips a message without content, with a repair, and marks an empty result as empty", () => {
    const { body, repairLog } = toChatRequest({
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
    expect(repairLog).toEqual([
      "item_skipped input[1]: empty message",
      "item_skipped input[2]: empty message",
      "content_converted the empty result of call_1",
    ]);
  });

  test("converts computer, program and failed MCP calls to calls with results", () => {
    const { body, repairLog } = toChatRequest({
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
    const createExpectedCall = (id: string, name: string, args: string) => ({
      ...assistant(null),
      tool_calls: [functionCall(id, name, args)],
    });
    expect(body.messages).toEqual([
      user("go"),
      createExpectedCall("call_1", "computer", '{"actions":[{"type":"screenshot"}]}'),
      { role: "tool", tool_call_id: "call_1", content: "[attached below]" },
      {
        role: "user",
        content: [
          { type: "text", text: "[Attached to the result of computer]" },
          { type: "image_url", image_url: { url: "data:1" } },
        ],
      },
      createExpectedCall("call_2", "program", '{"code":"1 + 1"}'),
      { role: "tool", tool_call_id: "call_2", content: "2" },
      createExpectedCall("mcp_1", "docs__search", "{}"),
      { role: "tool", tool_call_id: "mcp_1", content: '{"code":404}' },
    ]);
    expect(repairLog).toEqual(["content_converted media in the result of call_1"]);
  });

  test("converts searches, programs and approvals of a server to notes in user messages", () => {
    const { body, repairLog } = toChatRequest({
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
    expect(repairLog).toEqual([]);
  });

  test("skips hosted tool searches and compaction triggers, with repairs", () => {
    const { body, repairLog } = toChatRequest({
      input: [
        user("go"),
        { type: "tool_search_call", call_id: null, execution: "server", arguments: {} },
        { type: "tool_search_output", call_id: null, tools: [{ type: "function", name: "f" }] },
        { type: "compaction_trigger" },
      ],
    });
    expect(body.messages).toEqual([user("go")]);
    expect(body.tools).toEqual([{ type: "function", function: { name: "f", parameters: object } }]);
    expect(repairLog).toEqual([
      "tool_schema_completed f",
      "item_skipped input[1]: tool_search_call run by the server",
      "item_skipped input[3]: compaction_trigger",
    ]);
  });

  test("does not include tools and settings of the input in the messages", () => {
    const { body, repairLog } = toChatRequest({
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
    expect(repairLog).toEqual([]);
  });

  test("sends custom calls unchanged if the profile supports them, and identifies a local shell call by its id", () => {
    const native = withProfileFlags(genericProfile, { customTools: "native" });
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

  test("adds an empty object to a function without parameters, with a repair", () => {
    const { body, repairLog } = toChatRequest({
      input: "hi",
      tools: [{ type: "function", name: "f", strict: false }],
    });
    expect(body.tools).toEqual([{ type: "function", function: { name: "f", parameters: object } }]);
    expect(repairLog).toEqual(["tool_schema_completed f"]);
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
  ])("converts the tool_choice %j to %j", (tool_choice, sent, expectedLog) => {
    const native = withProfileFlags(genericProfile, { customTools: "native" });
    const { body, repairLog } = toChatRequest(
      { input: "hi", tools: declared, tool_choice },
      { profile: native },
    );
    expect(body.tool_choice).toEqual(sent);
    expect(repairLog).toEqual(expectedLog);
  });

  test("drops a tool choice without tools, with a repair if it would force a call", () => {
    const withChoice = (tool_choice: string) => toChatRequest({ input: "hi", tool_choice });
    expect(withChoice("required").body).toEqual({ model: "m", messages: [user("hi")] });
    expect(withChoice("required").repairLog).toEqual([
      "parameter_dropped tool_choice: no tools are offered",
    ]);
    expect(withChoice("none").repairLog).toEqual([]);
  });
});

describe("the translation of a Chat reply for a Responses client", () => {
  test("creates a response with its own id and time, the upstream's model, and no fields that Responses lacks", () => {
    const { events, repairs } = translateToResponses([
      {
        ...chunk({ role: "assistant", content: "Hi", x_new: "x_new" }),
        id: "chatcmpl-secret",
        created: 999,
        model: "glm",
        object: "x_object",
        system_fingerprint: "fp_secret",
        service_tier: "flex",
      },
      { ...chunk({}, "stop"), choices: [{ index: 1, delta: { content: "other" } }] },
      chunk({}, "stop"),
      "[DONE]",
    ]);
    expect(events.at(-1)).toEqual({
      type: "response.completed",
      sequence_number: 8,
      response: {
        ...requiredFields,
        id: "resp_1",
        object: "response",
        created_at: 1,
        completed_at: 1,
        status: "completed",
        model: "glm",
        output: [
          {
            type: "message",
            id: "msg_minted_1",
            status: "completed",
            role: "assistant",
            content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }],
            phase: "final_answer",
          },
        ],
        service_tier: "flex",
        user: null,
      },
    });
    expect(JSON.stringify(events)).not.toMatch(/secret|x_(?:new|object)|other|999/);
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
  ])("converts %s to one reasoning item", (_title, delta) => {
    const { output } = translateToResponses([chunk(delta), chunk({}, "stop"), "[DONE]"]);
    expect(output).toEqual([
      {
        type: "reasoning",
        id: "rs_minted_1",
        status: "completed",
        summary: [{ type: "summary_text", text: "hm" }],
      },
    ]);
  });

  test("seals reasoning_opaque", () => {
    const inputs = [chunk({ reasoning_text: "hm", reasoning_opaque: "O" }), chunk({}, "stop")];
    const { output } = translateToResponses(inputs, { seal: (carry) => JSON.stringify(carry) });
    expect(output).toEqual([
      {
        type: "reasoning",
        id: "rs_minted_1",
        status: "completed",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: '{"opaque":"O"}',
      },
    ]);
    expect(formatRepairs(translateToResponses(inputs).repairs)).toEqual([
      "opaque_reasoning_lost opaque",
    ]);
  });

  test("drops signatures in reasoning_details without a seal, with a repair", () => {
    const details = [{ type: "reasoning.text", text: "hm", signature: "S" }];
    const { output, repairs } = translateToResponses([
      chunk({ reasoning_details: details }),
      chunk({}, "stop"),
    ]);
    expect(output).toMatchObject([{ type: "reasoning", summary: [{ text: "hm" }] }]);
    expect(formatRepairs(repairs)).toEqual(["opaque_reasoning_lost details"]);
  });

  test("sends log probabilities in the delta, the done event and the part", () => {
    const content = [{ token: "Hi", logprob: -0.1 }];
    const { events } = translateToResponses([
      { ...chunk({}), choices: [{ index: 0, delta: { content: "Hi" }, logprobs: { content } }] },
      chunk({}, "stop"),
    ]);
    const findEvent = (type: string) => events.find((event) => event.type === type);
    expect(findEvent("response.output_text.delta")).toMatchObject({ logprobs: content });
    expect(findEvent("response.output_text.done")).toMatchObject({ logprobs: content });
    expect(findEvent("response.content_part.done")).toMatchObject({ part: { logprobs: content } });
  });

  test("converts images to image_generation_call items, or to text if they are only a URL", () => {
    const image = (url: string) => chunk({ images: [{ image_url: { url } }] });
    const { output } = translateToResponses([
      image("data:image/webp;base64,AAAA"),
      image("https://a/b.png"),
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
        phase: "final_answer",
        content: [
          { type: "output_text", text: "![image](https://a/b.png)", annotations: [], logprobs: [] },
        ],
      },
    ]);
  });

  test("reads content parts, with a repair, and ignores content of other types", () => {
    const parts = [
      { type: "text", text: "Hi" },
      { type: "refusal", refusal: "No." },
    ];
    const { output, repairs } = translateToResponses([
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
    expect(formatRepairs(repairs)).toEqual([
      `content_parts_flattened ${JSON.stringify(parts)}`,
      "content_not_text 5",
    ]);
  });

  test("reads a message or text instead of a delta", () => {
    const chunkWithChoice = (choice: object): ChatChunk => ({
      choices: [{ index: 0, finish_reason: "stop", ...choice }],
    });
    for (const choice of [{ message: { content: "Hi" } }, { text: "Hi" }])
      expect(translateToResponses([chunkWithChoice(choice), "[DONE]"]).output).toMatchObject([
        { type: "message", content: [{ type: "output_text", text: "Hi" }] },
      ]);
  });

  test("converts the legacy function_call, with a repair", () => {
    const legacy = { function_call: { name: "get_time", arguments: "{}" } };
    const { output, repairs } = translateToResponses([chunk(legacy), chunk({}, "function_call")]);
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
    expect(formatRepairs(repairs)).toEqual([
      "legacy_function_call get_time",
      "call_id_generated ",
      "finish_corrected function_call",
    ]);
  });

  test("drops unknown fields of a call without a repair", () => {
    const fragment = call({ index: 0, id: "call_abc", name: "get_time", args: "{}", x_new: 1 });
    const { output, repairs } = translateToResponses([chunk(fragment), chunk({}, "tool_calls")]);
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
    ["model_context_window_exceeded", "incomplete", "max_output_tokens"],
  ])(
    "ends the response for the finish_reason %s with the status %s and the code %j",
    (reason, status, code) => {
      const { events, repairs } = translateToResponses([
        chunk({ content: "Hi" }),
        chunk({}, reason),
      ]);
      expect(events.at(-1)).toMatchObject({
        type: `response.${status}`,
        response: {
          status,
          incomplete_details: status === "incomplete" ? { reason: code } : null,
          error: status === "failed" ? { code: code } : null,
        },
      });
      expect(repairs.counts.get("finish_unknown")).toBe(reason === "banana" ? 1 : undefined);
    },
  );

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
  ])("sends usage with %s in the terminal event", (_title, usage, cached, reasoning) => {
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
      expect(translateToResponses([finished, last, "[DONE]"]).response?.usage).toEqual(expected);
  });

  test("fails the response for an error in any position, but not after a finish reason", () => {
    const error = { message: "boom", code: "x_code" };
    const failed = { status: "failed", error: { code: "x_code", message: "boom" } };
    const inChoice: UpstreamChatEvent = { choices: [{ index: 0, delta: {}, error }] };
    for (const last of [{ error }, inChoice, { object: "error", ...error }])
      expect(translateToResponses([chunk({ content: "Hi" }), last]).response).toMatchObject(failed);
    const finished = translateToResponses([chunk({ content: "Hi" }, "stop"), inChoice]);
    expect(finished.response?.status).toBe("completed");
    expect(formatRepairs(finished.repairs)).toEqual([`error_ignored ${JSON.stringify(error)}`]);
    const truncated = translateToResponses([chunk({ content: "Hi" }, "length"), { error }]);
    expect(truncated.response?.status).toBe("incomplete");
  });
});

describe("the translation of a Chat request for a Responses upstream", () => {
  const minimalBody = {
    model: "m",
    input: [{ type: "message", role: "user", content: "hi" }],
    store: false,
    include: ["reasoning.encrypted_content"],
  };

  test("sends parameters of both wires unchanged", () => {
    const sharedParameters = {
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
    const { body, repairLog } = toResponsesRequest({ ...sharedParameters, store: true });
    expect(body).toEqual({ ...minimalBody, ...sharedParameters, store: true });
    expect(repairLog).toEqual([]);
  });

  test("drops parameters that Responses lacks, with a repair", () => {
    const { body, repairLog } = toResponsesRequest({
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
    expect(body).toEqual(minimalBody);
    expect(repairLog).toEqual([
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

  test("does not send n and include_usage", () => {
    const request = { n: 3, stream_options: { include_usage: true } };
    const { body, choiceCount, repairLog } = toResponsesRequest(request);
    expect(body).toEqual(minimalBody);
    expect(choiceCount).toBe(3);
    expect(repairLog).toEqual([]);
  });

  test("uses the newer of two limits, and the model and streaming that the caller sets", () => {
    const { body, repairLog } = toResponsesRequest(
      { max_tokens: 5, max_completion_tokens: 9 },
      { upstreamModel: "other", stream: true },
    );
    expect(body).toEqual({ ...minimalBody, model: "other", max_output_tokens: 9, stream: true });
    expect(repairLog).toEqual([]);
  });

  test("requests log probabilities in include, effort and verbosity in their objects", () => {
    const { body } = toResponsesRequest({
      logprobs: true,
      reasoning_effort: "low",
      verbosity: "high",
    });
    expect(body).toEqual({
      ...minimalBody,
      include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
      reasoning: { effort: "low" },
      text: { verbosity: "high" },
    });
  });

  test("keeps the roles of system, developer and user messages, drops their names and converts all parts", () => {
    const { body, repairLog } = toResponsesRequest({
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
    expect(repairLog).toEqual([]);
  });

  test("converts text and refusals of the assistant to a message, and drops audio, name and signatures", () => {
    const { body, repairLog } = toResponsesRequest({
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
    expect(repairLog).toEqual([
      "content_converted part image_url of an assistant message dropped",
      "content_converted audio of an assistant message dropped",
      "content_converted name of an assistant message dropped",
      "content_converted reasoning_opaque of an assistant message dropped",
    ]);
  });

  test("converts plain reasoning to a summary in the current turn of a stored history, and otherwise drops it with a repair", () => {
    const translateReasoning = (field: string, store: boolean) =>
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
      expect(translateReasoning(field, true).body.input).toEqual([
        ...minimalBody.input,
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        message,
      ]);
      expect(translateReasoning(field, false).body.input).toEqual([...minimalBody.input, message]);
      expect(translateReasoning(field, false).repairLog).toEqual(["reasoning_dropped "]);
    }
  });

  test("joins a result of several text parts, and sends a result with an image as an array", () => {
    const text = (value: string) => ({ type: "text", text: value });
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

  test("keeps description, strict and other fields of a function, and the plain text format of a custom tool", () => {
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
  ])("converts the tool_choice %j to %j", (tool_choice, sent) => {
    const tools = [
      { type: "function", function: { name: "f" } },
      { type: "custom", custom: { name: "c" } },
    ];
    expect(toResponsesRequest({ tools, tool_choice }).body.tool_choice).toEqual(sent);
  });

  test("drops a tool_choice without tools, with a repair if it had an effect", () => {
    const { body, repairLog } = toResponsesRequest({ tool_choice: "required" });
    expect(body.tool_choice).toBeUndefined();
    expect(repairLog).toEqual(["parameter_dropped tool_choice: no tools are offered"]);
    expect(toResponsesRequest({ tool_choice: "auto" }).repairLog).toEqual([]);
  });

  test("converts a history with a missing call or result to a valid input", () => {
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
  ])("converts the legacy function_call %s to %s", (function_call, sent) => {
    const functions = [{ name: "f", parameters: object }];
    const { body, repairLog } = toResponsesRequest({ functions, function_call });
    expect(body).toEqual({
      ...minimalBody,
      tools: [{ type: "function", name: "f", parameters: object, strict: false }],
      tool_choice: sent,
    });
    expect(repairLog).toEqual([]);
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
  ])("converts the response_format %j to %j", (response_format, format) => {
    expect(toResponsesRequest({ response_format }).body).toEqual({
      ...minimalBody,
      text: { format },
    });
  });
});

describe("the translation of a response for a Chat client", () => {
  const created = { type: "response.created", response: { id: "resp_1", model: "gpt" } };
  const completed = { type: "response.completed", response: { output: [] } };
  const first = { role: "assistant", content: "" };

  test("gives chunks the response's id, its time in whole seconds and the client's model, whichever event arrives first", () => {
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

  test("converts audio, its transcript and log probabilities", () => {
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
  ])(
    "converts the events of %s to deltas, and adds what was missing from the done event",
    (_title, events, expected) => {
      expect(toChat([created, ...events, completed]).deltas).toEqual([first, ...expected, {}]);
    },
  );

  test("records a repair for text that differs in the done event, which cannot be corrected", () => {
    const { deltas, repairLog } = toChat([
      created,
      { type: "response.output_text.delta", output_index: 0, delta: "a" },
      { type: "response.output_text.done", output_index: 0, text: "b" },
      completed,
    ]);
    expect(deltas).toEqual([first, { content: "a" }, {}]);
    expect(repairLog).toEqual(["deltas_differ b"]);
  });

  test("forwards a citation of another kind unchanged", () => {
    const annotation = { type: "file_citation", file_id: "file_1", index: 3 };
    const event = { type: "response.output_text.annotation.added", output_index: 0, annotation };
    expect(toChat([created, event, completed]).deltas).toEqual([
      first,
      { annotations: [annotation] },
      {},
    ]);
  });

  test("gives a call without an id or with a used id a new one, and turns blank arguments into {}", () => {
    const item = { type: "function_call", name: "f", arguments: "" };
    const { deltas, repairLog } = toChat([
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
    expect(repairLog).toEqual(["call_id_generated 0", "call_id_generated ", "arguments_blank f"]);
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
  ])("drops an item of type %s, with a repair", (type) => {
    const { deltas, repairLog } = toChat([
      created,
      done(0, { type, call_id: "call_1" }),
      completed,
    ]);
    expect(deltas).toEqual([first, {}]);
    expect(repairLog).toEqual([`item_skipped ${type}`]);
  });

  test("drops a custom call of a tool that was not offered, with a repair", () => {
    const item = { type: "custom_tool_call", call_id: "call_1", name: "x_search", input: "cats" };
    const toolNames = new Set(["other"]);
    const { deltas, repairLog } = toChat([created, done(0, item), completed], { toolNames });
    expect(deltas).toEqual([first, {}]);
    expect(repairLog).toEqual(["item_skipped custom_tool_call x_search: run by the upstream"]);
  });

  test("converts a leaked call in the text to a call if the profile enables it, with a repair", () => {
    const leakedCall = '<tool_call>{"name":"f","arguments":{}}</tool_call>';
    const event = { type: "response.output_text.delta", output_index: 0, delta: leakedCall };
    const { deltas, repairLog } = toChat([created, event, completed], {
      toolNames: new Set(["f"]),
      profile: withProfileFlags(genericProfile, { leakedCalls: ["hermes"] }),
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
    expect(repairLog[0]).toBe(`call_leaked ${leakedCall}`);
  });

  test("ignores unknown events without a repair", () => {
    const { deltas, repairLog } = toChat([
      created,
      { type: "response.telepathy.delta", output_index: 0, delta: "x" },
      { type: "response.web_search_call.searching", output_index: 0 },
      { type: "ping" },
      completed,
    ]);
    expect(deltas).toEqual([first, {}]);
    expect(repairLog).toEqual([]);
  });

  test("drops other items without a repair", () => {
    const items = ["mcp_list_tools", "mcp_approval_request", "compaction"];
    const { deltas, repairLog } = toChat([
      created,
      ...items.map((type, index) => done(index, { type })),
      completed,
    ]);
    expect(deltas).toEqual([first, {}]);
    expect(repairLog).toEqual([]);
  });

  test("reports a canceled response as an error with the provider's message or a default one", () => {
    const cancelled = (response: object) => ({ type: "response.cancelled", response });
    const error = { code: "x_code", message: "stopped" };
    expect(toChat([created, cancelled({ error })]).out.at(-1)).toEqual({
      error: { code: "x_code", message: "stopped", type: "upstream_error", param: null },
    });
    expect(toChat([created, cancelled({})]).out.at(-1)).toEqual({
      error: {
        code: "upstream_error",
        message: "the upstream failed without giving a reason",
        type: "upstream_error",
        param: null,
      },
    });
  });

  test("sends usage with Chat's field names, and only to clients that requested it", () => {
    const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18, x_cost: 1 };
    const withUsage = { type: "response.completed", response: { output: [], usage } };
    expect(toChat([created, withUsage]).out.at(-2)).toEqual({
      id: "resp_1",
      object: "chat.completion.chunk",
      created: 7,
      model: "gpt",
      choices: [],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, x_cost: 1 },
    });
    const { out } = toChat([created, withUsage], { includeUsage: false });
    expect(JSON.stringify(out)).not.toContain("usage");
  });

  test("ends a completed response with stop, or with tool_calls if it has calls", () => {
    const finishes = (events: object[]) => JSON.stringify(toChat(events).out.at(-2));
    expect(finishes([created, completed])).toContain('"finish_reason":"stop"');
    const item = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
    expect(finishes([created, done(0, item), completed])).toContain('"finish_reason":"tool_calls"');
  });
});

describe("the repair between a client and an upstream of the same wire", () => {
  const response = {
    ...requiredFields,
    id: "resp_1",
    object: "response",
    model: "gpt",
    output: [],
  };
  const message = { type: "message", id: "msg_1", role: "assistant", content: [] };

  test("forwards valid Responses events as the same objects", () => {
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
    const { out, repairLog } = repairEvents([...events, last]);
    events.forEach((event, index) => expect(out[index]).toBe(event));
    expect(out[5]).toMatchObject(last);
    expect(out).toHaveLength(6);
    expect(repairLog).toEqual([]);
  });

  test("adds response.created if it is missing, and consecutive sequence numbers", () => {
    const { out, repairLog } = repairEvents([
      { type: "response.output_item.added", sequence_number: 9, output_index: 0, item: message },
      { type: "response.output_item.done", sequence_number: 12, output_index: 0, item: message },
      { type: "response.completed", response: { ...response, output: [message] } },
    ]);
    expect(out[0]).toEqual({
      type: "response.created",
      sequence_number: 0,
      response: {
        ...requiredFields,
        id: "resp_0",
        object: "response",
        created_at: 1,
        status: "in_progress",
        model: "",
        output: [],
      },
    });
    expect(out.map(({ type, sequence_number }) => [sequence_number, type])).toEqual([
      [0, "response.created"],
      [1, "response.in_progress"],
      [2, "response.output_item.added"],
      [3, "response.output_item.done"],
      [4, "response.completed"],
    ]);
    expect(repairLog).toEqual(["event_completed response.created"]);
  });

  test("drops unknown data and everything after the end, with repairs", () => {
    const { out, repairLog } = repairEvents([
      { type: "response.created", response },
      { type: "ping" },
      { type: "response.completed", response },
      { type: "response.output_text.delta", delta: "late" },
    ]);
    expect(out.map(({ type }) => type)).toEqual(["response.created", "response.completed"]);
    expect(repairLog).toEqual(["event_dropped ping", "data_after_end response.output_text.delta"]);
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
  ])("completes an item of type %s at the end", (type, fields, event, end) => {
    const opened = { type, id: "i_1", status: "in_progress", ...fields };
    const openItems = [
      { type: "response.created", response },
      { type: "response.output_item.added", output_index: 0, item: opened },
      { ...event, output_index: 0 },
    ];
    const item = { ...opened, ...end, status: "incomplete" };
    const { out, repairLog } = repairEvents(openItems);
    expect(out.slice(3)).toEqual([
      { type: "response.output_item.done", sequence_number: 3, output_index: 0, item },
      {
        type: "response.failed",
        sequence_number: 4,
        response: {
          ...response,
          status: "failed",
          error: {
            code: "upstream_stream_truncated",
            message: "the upstream closed the stream before the reply was finished",
          },
          output: [item],
        },
      },
    ]);
    expect(repairLog).toEqual([
      "event_completed response.output_item.done 0",
      "event_completed response.failed output",
    ]);
  });

  test("adds the fields that a response lacks, from earlier events or the request, with one repair", () => {
    const { text: _text, usage: _usage, ...rest } = response;
    const { out, repairLog } = repairEvents(
      [
        { type: "response.created", response: { ...rest, temperature: null, top_p: 0.5 } },
        { type: "response.completed", response: { id: "resp_1", status: "completed" } },
      ],
      { getEcho: () => buildRequestEcho({ temperature: 0.3 }), getTime: () => 9 },
    );
    expect(out[0]).toMatchObject({
      response: { ...response, temperature: 0.3, top_p: 0.5, completed_at: null },
    });
    expect(out[1]).toMatchObject({
      response: {
        ...response,
        status: "completed",
        temperature: 0.3,
        top_p: 0.5,
        completed_at: 9,
      },
    });
    expect(repairLog).toEqual(["response_completed usage, temperature, text"]);
  });

  test("adds the streamed items to a terminal event without output", () => {
    const { out, repairLog } = repairEvents([
      { type: "response.created", response },
      { type: "response.output_item.done", output_index: 0, item: message },
      { type: "response.completed", response },
    ]);
    expect(out.at(-1)).toMatchObject({ response: { output: [message] } });
    expect(repairLog).toEqual([
      "event_completed response.output_item.added 0",
      "event_completed response.completed output",
    ]);
  });

  test("forwards an error event and fails the response with its message, without another terminal event", () => {
    const { out } = repairEvents([
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

  test("repairs a complete response like the response of a terminal event", () => {
    const complete = { ...response, status: "completed", output: [message], x_new: 1 };
    const options = { responseId: "resp_0", createdAt: 1 };
    const repaired = repairResponsesReply(complete, options);
    expect(repaired.response).toEqual({
      ...complete,
    });
    expect(repairResponsesReply({ error: { message: "bad key" } }, options).response).toMatchObject(
      {
        id: "resp_0",
        status: "failed",
        error: { code: "upstream_error", message: "bad key" },
      },
    );
  });

  test("keeps a reference only if items are stored, and drops reasoning that cannot be unsealed", () => {
    const sealed = { type: "reasoning", id: "rs_1", encrypted_content: "S" } as const;
    const answer = { type: "message", role: "assistant", content: "yo" } as const;
    const reference = { type: "item_reference", id: "msg_1" } as const;
    const input = [reference, sealed, answer];
    const repair = (options: { stored: boolean; dropSealed?: boolean }) => {
      const repairs = new Repairs();
      return [repairHistory(input, { ...options, repairs }), formatRepairs(repairs)];
    };
    expect(repair({ stored: true })).toEqual([input, []]);
    expect(repair({ stored: false })).toEqual([
      [sealed, answer],
      ["item_skipped item_reference msg_1"],
    ]);
    expect(repair({ stored: true, dropSealed: true })).toEqual([
      [reference, answer],
      ["reasoning_dropped rs_1"],
    ]);
  });

  test("gives an item without its reasoning a new id from the caller", () => {
    const repairs = new Repairs();
    const message = { type: "message", role: "assistant", content: "yo" } as const;
    const question = { type: "message", role: "user", content: "hi" } as const;
    const input = [question, { ...message, id: "msg_old" }, question];
    const newId = (prefix: string) => `${prefix}_new`;
    expect(repairHistory(input, { stored: true, newId, repairs })).toEqual([
      question,
      { ...message, id: "msg_new" },
      question,
    ]);
    expect(formatRepairs(repairs)).toEqual(["item_id_renewed msg_old"]);
  });

  test.each([
    ["null", "", null],
    ["empty", null, ""],
  ] as const)(
    "with emptyContent %s, the content %j next to calls becomes %j",
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
      const profile = withProfileFlags(genericProfile, { emptyContent });
      const request = { model: "m", messages: messages(content) };
      const { body, repairs } = repairChatRequest(request, { profile });
      expect(body.messages).toEqual(messages(sent));
      expect(repairs.list).toEqual([]);
    },
  );

  test("distinguishes Chat choices without an index by position", () => {
    const machine = new ChatOverChat({ newId: (prefix) => `${prefix}_1`, createdAt: 1 });
    const out: ChatStreamEvent[] = [];
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

  test("sends the reasoning tokens of Chat usage in the standard field", () => {
    const machine = new ChatOverChat({ newId: (prefix) => `${prefix}_1`, createdAt: 1 });
    const out: ChatStreamEvent[] = [];
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

  test("adds a role to the first delta of a Chat choice, and converts parts to text", () => {
    const machine = new ChatOverChat({ newId: (prefix) => `${prefix}_1`, createdAt: 1 });
    const out: ChatStreamEvent[] = [];
    machine.push(chunk({ content: [{ type: "text", text: "Hi" }] }), out);
    machine.push(chunk({}, "end_turn"), out);
    machine.push("[DONE]", out);
    expect(out).toEqual([chunk({ role: "assistant", content: "Hi" }), chunk({}, "stop"), "[DONE]"]);
    expect(formatRepairs(machine.repairs)).toEqual([
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

/** Returns the repairs as lines in order. */
function formatRepairs(repairs: Repairs): string[] {
  return repairs.list.map(({ code, detail }) => `${code} ${detail}`);
}

function toChatRequest(request: object, options: TranslateResponsesRequestOptions = {}) {
  const translated = translateResponsesRequest(
    decodeResponsesRequest({ model: "m", ...request }),
    options,
  );
  return { ...translated, repairLog: formatRepairs(translated.repairs) };
}

function toResponsesRequest(request: object, options: TranslateChatRequestOptions = {}) {
  const decoded = { model: "m", messages: [user("hi")], ...request };
  const translated = translateChatRequest(decodeChatRequest(decoded), options);
  return { ...translated, repairLog: formatRepairs(translated.repairs) };
}

function toChat(events: object[], options: Partial<ChatOverResponsesOptions> = {}) {
  let count = 0;
  const newId = (prefix: string) => `${prefix}_${(count += 1)}`;
  const machine = new ChatOverResponses({ newId, createdAt: 7, ...options });
  const out: ChatStreamEvent[] = [];
  for (const event of events) machine.push(event as UpstreamResponseEvent, out);
  machine.end("eof", out);
  expect(findChatSequenceFaults(out)).toEqual([]);
  const deltas = out.flatMap((output) =>
    output === "[DONE]" ? [] : (output.choices ?? []).map((choice) => choice.delta),
  );
  return { out, deltas, repairLog: formatRepairs(machine.repairs) };
}

function repairEvents(events: object[], options: Partial<ResponsesOverResponsesOptions> = {}) {
  const machine = new ResponsesOverResponses({ responseId: "resp_0", createdAt: 1, ...options });
  const out: UpstreamResponseEvent[] = [];
  for (const event of events) machine.push(event as UpstreamResponseEvent, out);
  machine.end("eof", out);
  return { out, repairLog: formatRepairs(machine.repairs) };
}
