import {
  genericProfile,
  repairChatRequest,
  withProfileFlags,
  type ChatMessage,
  type ChatRequest,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { upstreamRules } from "../check/upstream-rules.ts";

const call = (id: string, name = "f") => ({
  id,
  type: "function" as const,
  function: { name, arguments: "{}" },
});
const calls = (...ids: string[]): ChatMessage => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => call(id)),
});
const result = (id: string, content = `${id} done`): ChatMessage => ({
  role: "tool",
  tool_call_id: id,
  content,
});
const user: ChatMessage = { role: "user", content: "go" };

const repair = (messages: ChatMessage[], flags = {}) =>
  repairChatRequest({ model: "m", messages }, { profile: withProfileFlags(genericProfile, flags) });

test("a valid request keeps all fields, including unknown ones, and only include_usage is added", () => {
  const request: ChatRequest = {
    model: "m",
    messages: [
      { role: "system", content: "Be brief.", cache_control: { type: "ephemeral" } },
      user,
      { ...calls("call_1", "call_2"), reasoning_content: "hm" },
      result("call_1"),
      result("call_2"),
      { role: "assistant", content: "Done.", prefix: true },
    ],
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
    stream: true,
    x_routing: ["a"],
  };
  const { body, repairs, toolNames, toolSchemas, usedCallIds, includeUsage } =
    repairChatRequest(request);
  expect(body).toEqual({ ...request, stream_options: { include_usage: true } });
  expect(repairs.list).toEqual([]);
  expect([...toolNames]).toEqual(["f"]);
  expect([...toolSchemas]).toEqual([["f", { type: "object" }]]);
  expect([...usedCallIds]).toEqual(["call_1", "call_2"]);
  expect(includeUsage).toBe(false);
});

test("tool results are moved directly after their calls, in the order of the calls", () => {
  const { body, repairs } = repair([
    user,
    calls("call_1", "call_2"),
    { role: "assistant", content: "Wait." },
    result("call_2"),
    result("call_1"),
  ]);
  expect(body.messages).toEqual([
    user,
    calls("call_1", "call_2"),
    result("call_1"),
    result("call_2"),
    { role: "assistant", content: "Wait." },
  ]);
  expect(repairs.counts.get("history_reordered")).toBe(1);
});

test("a call without a result gets a placeholder result, and a result without a call becomes a user message", () => {
  const { body, repairs } = repair([user, calls("call_1"), user, result("call_9", "lost")]);
  expect(body.messages).toEqual([
    user,
    calls("call_1"),
    { role: "tool", tool_call_id: "call_1", content: "aborted: the call was never answered" },
    user,
    { role: "user", content: "[Result of the tool call call_9]\n\nlost" },
  ]);
  expect([...repairs.counts.keys()]).toEqual(["call_without_result", "result_without_call"]);
});

test("roles, empty content, call ids and parameters are converted as the profile requires", () => {
  const messages: ChatMessage[] = [
    { role: "developer", content: [{ type: "text", text: "Be brief." }] },
    user,
    { ...calls("call_1"), content: "" },
    result("call_1"),
    { role: "system", content: "Now in French." },
  ];
  const profile = withProfileFlags(genericProfile, {
    lateSystemMessages: "hoist",
    emptyContent: "omit",
    callIds: "nine-alphanumerics",
    droppedParameters: ["temperature"],
    extraBody: { thinking: true },
  });
  const { body, repairs } = repairChatRequest(
    { model: "m", messages, temperature: 0.5 },
    { profile, upstreamModel: "up" },
  );
  const id = /^[A-Za-z0-9]{9}$/;
  expect(body).toEqual({
    model: "up",
    thinking: true,
    messages: [
      { role: "system", content: "Be brief.\n\nNow in French." },
      user,
      {
        role: "assistant",
        tool_calls: [{ ...call("x"), id: expect.stringMatching(id) as string }],
      },
      { role: "tool", tool_call_id: expect.stringMatching(id) as string, content: "call_1 done" },
    ],
  });
  expect([...repairs.counts.keys()].toSorted()).toEqual([
    "call_id_changed",
    "parameter_dropped",
    "role_mapped",
  ]);
});

test("calls of any history are sent next to their results, and no text is lost", () => {
  const message = fc.oneof(
    fc.constant(user),
    fc.subarray(["call_1", "call_2", "call_3"], { minLength: 1 }).map((ids) => calls(...ids)),
    fc
      .constantFrom("call_1", "call_2", "call_4")
      .chain((id) => fc.string().map((text) => result(id, `<${text}>`))),
    fc.string().map((content): ChatMessage => ({ role: "assistant", content: `<${content}>` })),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 10 }), (messages) => {
      const { body } = repair(messages);
      expect(upstreamRules["tool-adjacency"](body)).toBeUndefined();
      const sentJson = JSON.stringify(body.messages);
      for (const { content } of messages)
        expect(sentJson.includes(JSON.stringify(content ?? "").slice(1, -1))).toBe(true);
    }),
    propertyRuns(300),
  );
});
