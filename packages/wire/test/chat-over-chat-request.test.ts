import {
  genericProfile,
  mendedChatRequest,
  withFlags,
  type ChatMessage,
  type ChatRequest,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
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

const mend = (messages: ChatMessage[], flags = {}) =>
  mendedChatRequest({ model: "m", messages }, { profile: withFlags(genericProfile, flags) });

test("a request with nothing to mend stays as it is, fields that we do not know included", () => {
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
    mendedChatRequest(request);
  expect(body).toEqual({ ...request, stream_options: { include_usage: true } });
  expect(repairs.list).toEqual([]);
  expect([...toolNames]).toEqual(["f"]);
  expect([...toolSchemas]).toEqual([["f", { type: "object" }]]);
  expect([...usedCallIds]).toEqual(["call_1", "call_2"]);
  expect(includeUsage).toBe(false);
});

test("results come right behind their calls, in the order of the calls", () => {
  const { body, repairs } = mend([
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

test("a call without a result gets one, a result without a call becomes the user's words", () => {
  const { body, repairs } = mend([user, calls("call_1"), user, result("call_9", "lost")]);
  expect(body.messages).toEqual([
    user,
    calls("call_1"),
    { role: "tool", tool_call_id: "call_1", content: "aborted: the call was never answered" },
    user,
    { role: "user", content: "[Result of the tool call call_9]\n\nlost" },
  ]);
  expect([...repairs.counts.keys()]).toEqual(["call_without_result", "result_without_call"]);
});

test("roles, empty contents, call ids and parameters follow the profile", () => {
  const messages: ChatMessage[] = [
    { role: "developer", content: [{ type: "text", text: "Be brief." }] },
    user,
    { ...calls("call_1"), content: "" },
    result("call_1"),
    { role: "system", content: "Now in French." },
  ];
  const profile = withFlags(genericProfile, {
    laterSystem: "hoist",
    emptyContent: "omit",
    callIds: "nine-alphanumerics",
    droppedParameters: ["temperature"],
    extraBody: { thinking: true },
  });
  const { body, repairs } = mendedChatRequest(
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

test("any messages come out with every call next to its results, and lose no word", () => {
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
      const { body } = mend(messages);
      expect(upstreamRules["tool-adjacency"](body)).toBeUndefined();
      const said = JSON.stringify(body.messages);
      for (const { content } of messages)
        expect(said.includes(JSON.stringify(content ?? "").slice(1, -1))).toBe(true);
    }),
    runs(300),
  );
});
