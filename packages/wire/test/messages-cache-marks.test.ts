import {
  decodeChatRequest,
  decodeMessagesRequest,
  decodeResponsesRequest,
  genericProfile,
  providerProfiles,
  translateChatToMessages,
  translateMessagesToChat,
  translateMessagesToResponses,
  translateResponsesToMessages,
  withProfileFlags,
  type JsonObject,
  type MessagesFlags,
  type MessagesRequest,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findMessagesRequestFaults } from "../check/message-rules.ts";

/* The cache marks of Anthropic's API and the cache breakpoints of OpenAI's. */

const cache_control = { type: "ephemeral" };
const prompt_cache_breakpoint = { mode: "explicit" };
const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };

/** What Claude Code sends: marks on the system text and on the last block of the last message. */
function decodeMarked(last: readonly object[], fields: object = {}): MessagesRequest {
  return decodeMessagesRequest({
    model: "m",
    max_tokens: 100,
    system: [
      { type: "text", text: "x-anthropic-billing-header: cc_version=1;" },
      { type: "text", text: "You are an agent.", cache_control },
    ],
    messages: [
      { role: "user", content: "Look." },
      { role: "assistant", content: [{ type: "tool_use", id: "t_1", name: "look", input: {} }] },
      { role: "user", content: last },
    ],
    metadata: { user_id: "account" },
    ...fields,
  });
}

const result = (content: unknown, fields: object = {}) => ({
  type: "tool_result",
  tool_use_id: "t_1",
  content,
  ...fields,
});

function listOutcomes(fields: readonly { path: string; outcome: string }[]): object {
  return Object.fromEntries(fields.map(({ path, outcome }) => [path, outcome]));
}

describe("cache marks of a Messages client", () => {
  const hash = (text: string) => `#${text}`;

  test("become breakpoints of a Responses upstream, and a key of session and system text", () => {
    const content = [result([{ type: "text", text: "seen" }, image], { cache_control })];
    const { body, fields } = translateMessagesToResponses(
      decodeMarked([...content, { type: "text", text: "Go on.", cache_control }]),
      { hash },
    );
    expect(body).toMatchObject({
      instructions: "You are an agent.",
      prompt_cache_key: "#account You are an agent.",
      safety_identifier: "#account",
    });
    const items = body.input as JsonObject[];
    expect(items[2]?.["output"]).toEqual([
      { type: "input_text", text: "seen" },
      expect.objectContaining({ type: "input_image", prompt_cache_breakpoint }),
    ]);
    expect(items[3]?.["content"]).toEqual([
      { type: "input_text", text: "Go on.", prompt_cache_breakpoint },
    ]);
    expect(listOutcomes(fields)).toMatchObject({
      "messages[].content[].cache_control": "translated",
      "system[].cache_control": "dropped",
    });
  });

  test("do not change the form of a text result, which not every Responses server takes as parts", () => {
    const request = decodeMarked([result("seen", { cache_control })]);
    const { body, fields } = translateMessagesToResponses(request);
    expect((body.input as JsonObject[])[2]?.["output"]).toBe("seen");
    expect(listOutcomes(fields)["messages[].content[].cache_control" as never]).toBe("dropped");
  });

  test("are at most four breakpoints, the last ones", () => {
    const marked = (text: string) => ({ type: "text", text, cache_control });
    const { body, repairs } = translateMessagesToResponses(
      decodeMarked([result("seen"), ...["1", "2", "3", "4", "5"].map(marked)]),
    );
    const text = JSON.stringify(body);
    expect(text.split("prompt_cache_breakpoint")).toHaveLength(5);
    expect(text).not.toContain('"1","prompt_cache_breakpoint"');
    expect(repairs.counts.get("parameter_dropped")).toBe(1);
  });

  test("give one cache key per session and system text, whatever is marked", () => {
    const getKey = (fields: object, sessionId?: string) =>
      translateMessagesToResponses(decodeMarked([result("a")], fields), {
        hash,
        ...(sessionId === undefined ? {} : { sessionId }),
      }).body.prompt_cache_key;
    const key = getKey({});
    const unmarked = [{ type: "text", text: "You are an agent." }];
    expect(getKey({ system: unmarked })).toBe(key);
    expect(getKey({ system: "You are a helper." })).not.toBe(key);
    expect(getKey({ metadata: { user_id: "other" } })).not.toBe(key);
    expect(getKey({ metadata: { user_id: "other" } }, "session")).toBe(getKey({}, "session"));
  });

  test("are left out for a Chat upstream, whose prompt stays the same", () => {
    const marked = decodeMarked([result([{ type: "text", text: "seen", cache_control }])]);
    const plain = decodeMarked([result("seen")], { system: "You are an agent." });
    const { body, repairs } = translateMessagesToChat(marked);
    expect(JSON.stringify(body)).toBe(JSON.stringify(translateMessagesToChat(plain).body));
    expect(repairs.list).toEqual([]);
  });

  test("stay marks for a Chat upstream that takes them", () => {
    const profile = withProfileFlags(genericProfile, providerProfiles.openrouter);
    const { body, fields } = translateMessagesToChat(
      decodeMarked([result("seen", { cache_control }), { type: "text", text: "Go on." }]),
      { profile },
    );
    expect(body.messages).toMatchObject([
      { role: "system", content: [{ type: "text", text: "You are an agent.", cache_control }] },
      { role: "user", content: "Look." },
      { role: "assistant" },
      { role: "tool", content: [{ type: "text", text: "seen", cache_control }] },
      { role: "user", content: "Go on." },
    ]);
    expect(listOutcomes(fields)).toMatchObject({
      "messages[].content[].cache_control": "translated",
      "system[].cache_control": "translated",
    });
  });
});

describe("cache breakpoints of an OpenAI client", () => {
  const tools = [{ type: "function", name: "look", parameters: { type: "object" } }];
  const fromResponses = (fields: object, flags: MessagesFlags = {}) =>
    translateResponsesToMessages(decodeResponsesRequest({ model: "m", ...fields }), flags);
  const cached = (text: string) => ({ type: "input_text", text, prompt_cache_breakpoint });
  const input = [
    { type: "message", role: "developer", content: [cached("Rules.")] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] },
    { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: [cached("Result.")] },
  ];

  test("become marks, and no others are set", () => {
    const { body, fields } = fromResponses({ instructions: "Be brief.", input, tools });
    expect(body.system).toEqual([
      { type: "text", text: "Be brief." },
      { type: "text", text: "Rules.", cache_control },
    ]);
    expect(body.messages[2]).toEqual({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "call_1", content: "Result.", cache_control }],
    });
    expect(JSON.stringify(body).split("cache_control")).toHaveLength(3);
    expect(listOutcomes(fields)).toMatchObject({ prompt_cache_breakpoint: "translated" });
  });

  test("are at most four marks, the last ones", () => {
    const content = ["1", "2", "3", "4", "5", "6"].map(cached);
    const { body, repairs } = fromResponses({ input: [{ role: "user", content }] });
    expect(findMessagesRequestFaults(body)).toEqual([]);
    const blocks = body.messages[0]?.content as JsonObject[];
    expect(blocks.map((block) => "cache_control" in block)).toEqual([
      false, false, true, true, true, true,
    ]); // prettier-ignore
    expect(repairs.counts.get("parameter_dropped")).toBe(2);
  });

  test("are not sent to an upstream that rejects marks", () => {
    const { body, fields } = fromResponses({ input, tools }, { cacheMarks: false });
    expect(JSON.stringify(body)).not.toContain("cache_control");
    expect(listOutcomes(fields)).toMatchObject({ prompt_cache_breakpoint: "dropped" });
  });

  test("that are missing are set at the end of tools, system text and last turn", () => {
    const { body } = fromResponses({ instructions: "Be brief.", input: "Hi", tools });
    expect(body.tools?.at(-1)).toMatchObject({ name: "look", cache_control });
    expect(body.system).toEqual([{ type: "text", text: "Be brief.", cache_control }]);
    expect(body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "Hi", cache_control }] },
    ]);
  });

  test("that are missing are not set if the client asked for explicit ones only", () => {
    const { body, fields } = fromResponses({
      input: "Hi",
      tools,
      prompt_cache_options: { mode: "explicit" },
    });
    expect(JSON.stringify(body)).not.toContain("cache_control");
    expect(listOutcomes(fields)).toMatchObject({ prompt_cache_options: "translated" });
  });

  test("of a Chat client become marks, as do the marks of Anthropic's API in its messages", () => {
    const { body } = translateChatToMessages(
      decodeChatRequest({
        model: "m",
        messages: [
          { role: "system", content: [{ type: "text", text: "Rules.", prompt_cache_breakpoint }] },
          {
            role: "user",
            content: [
              { type: "text", text: "Hi", cache_control: { type: "ephemeral", ttl: "1h" } },
            ],
          },
        ],
      }),
    );
    expect(body.system).toEqual([{ type: "text", text: "Rules.", cache_control }]);
    expect(body.messages[0]?.content).toEqual([
      { type: "text", text: "Hi", cache_control: { type: "ephemeral", ttl: "1h" } },
    ]);
  });
});
