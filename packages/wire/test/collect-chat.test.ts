import { repairChatReply, collectChat, type JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { chunk, usage } from "./chat-chunks.ts";
import { createIdCounter, translateToChat, sampleTools } from "./translate-reply.ts";

const options = () => ({
  newId: createIdCounter(),
  createdAt: 1,
  toolNames: sampleTools.upstreamNames,
});

const safeFilterResults = { hate: { filtered: false, severity: "safe" } };
const withFields = (delta: JsonObject, finish: string | null, fields: JsonObject) => ({
  ...chunk({}),
  choices: [{ index: 0, delta, finish_reason: finish, ...fields }],
});

test("collectChat joins only text: a repeated severity or native finish reason stays single", () => {
  const fields = { content_filter_results: safeFilterResults, native_finish_reason: "STOP" };
  const { out } = translateToChat([
    withFields({ role: "assistant", content: "He" }, null, fields),
    withFields({ content: "llo" }, null, fields),
    withFields({}, "stop", fields),
    "[DONE]",
  ]);
  expect(collectChat(out)).toEqual({
    ok: true,
    completion: {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hello", refusal: null },
          finish_reason: "stop",
          logprobs: null,
          ...fields,
        },
      ],
    },
  });
});

const reply = (message: JsonObject, finish: string, rest: JsonObject = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Hi", refusal: null, ...message },
      logprobs: null,
      finish_reason: finish,
      native_finish_reason: "STOP",
      content_filter_results: safeFilterResults,
      ...rest,
    },
  ],
  service_tier: null,
  system_fingerprint: null,
});

test.each([
  ["text", reply({}, "stop")],
  [
    "null fields",
    reply({ annotations: null, audio: null, function_call: null, x_new: null }, "stop"),
  ],
  [
    "a call",
    reply(
      {
        content: null,
        tool_calls: [
          {
            id: "call_aaa",
            type: "function",
            function: { name: "get_weather", arguments: '{"city":"Paris"}' },
            extra_content: { google: { thought_signature: "SIG" } },
          },
        ],
      },
      "tool_calls",
    ),
  ],
  ["reasoning", reply({ reasoning_content: "hm", reasoning_details: [{ data: "E" }] }, "stop")],
])("a valid complete reply with %s is unchanged, without repairs", (_with, valid) => {
  const { repairs, ...collected } = repairChatReply(valid, options());
  expect(collected).toEqual({ ok: true, completion: valid });
  expect(repairs.list).toEqual([]);
});

test("the usage of a complete reply is unchanged", () => {
  const valid = { ...reply({}, "stop"), usage };
  expect(repairChatReply(valid, options())).toMatchObject({ ok: true, completion: valid });
});
