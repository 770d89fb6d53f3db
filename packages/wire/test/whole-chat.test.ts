import { chatOfChat, collectChat, type JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { chunk, usage } from "./chat-stream.ts";
import { newIds, toChat, tools } from "./reply-translations.ts";

const options = () => ({ newId: newIds(), createdAt: 1, toolNames: tools.upstreamNames });

const safe = { hate: { filtered: false, severity: "safe" } };
const withFields = (delta: JsonObject, finish: string | null, fields: JsonObject) => ({
  ...chunk({}),
  choices: [{ index: 0, delta, finish_reason: finish, ...fields }],
});

test("only what streams in pieces is joined: a severity or a native finish said twice stays one", () => {
  const fields = { content_filter_results: safe, native_finish_reason: "STOP" };
  const { out } = toChat([
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
      content_filter_results: safe,
      ...rest,
    },
  ],
  service_tier: null,
  system_fingerprint: null,
});

test.each([
  ["text", reply({}, "stop")],
  ["nulls", reply({ annotations: null, audio: null, function_call: null, x_new: null }, "stop")],
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
])("a good whole reply with %s comes out as it is, with nothing repaired", (_with, good) => {
  const { repairs, ...collected } = chatOfChat(good, options());
  expect(collected).toEqual({ ok: true, completion: good });
  expect(repairs.list).toEqual([]);
});

test("the usage of a whole reply stays where it is", () => {
  const good = { ...reply({}, "stop"), usage };
  expect(chatOfChat(good, options())).toMatchObject({ ok: true, completion: good });
});
