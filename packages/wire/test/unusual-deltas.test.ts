import {
  responseOfChat,
  type ChatInput,
  type JsonObject,
  type ReasoningCarry,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk } from "./chat-stream.ts";
import { choicesIn, detailsOf, newIds, toChat, toResponses } from "./reply-translations.ts";

const choiceWith = (fields: JsonObject, finish: string | null = null) => ({
  ...chunk({}),
  choices: [{ index: 0, finish_reason: finish, ...fields }],
});

/** All that a Chat client can read of one field. */
const chatSays = (inputs: ChatInput[], field: "content" | "reasoning_content") =>
  choicesIn(toChat(inputs).out)
    .map((choice) => choice.delta?.[field])
    .filter((words) => typeof words === "string")
    .join("");

test("calls that come only in a late message, without a delta, are calls", () => {
  const inputs: ChatInput[] = [
    chunk({ role: "assistant", content: "I look." }),
    choiceWith(
      {
        message: {
          role: "assistant",
          content: "I look.",
          tool_calls: [
            {
              id: "call_aaa",
              type: "function",
              function: { name: "get_weather", arguments: '{"city":"Paris"}' },
            },
          ],
        },
      },
      "tool_calls",
    ),
    "[DONE]",
  ];
  expect(toResponses(inputs).output).toMatchObject([
    { type: "message", content: [{ text: "I look." }] },
    {
      type: "function_call",
      status: "completed",
      call_id: "call_aaa",
      name: "get_weather",
      arguments: '{"city":"Paris"}',
    },
  ]);
  const choices = choicesIn(toChat(inputs).out);
  expect(choices.flatMap((choice) => choice.delta?.tool_calls ?? [])).toEqual([
    {
      index: 0,
      id: "call_aaa",
      type: "function",
      function: { name: "get_weather", arguments: '{"city":"Paris"}' },
    },
  ]);
  expect(choices.at(-1)?.finish_reason).toBe("tool_calls");
});

test("a late message that repeats what was said adds nothing", () => {
  const inputs: ChatInput[] = [
    chunk({ role: "assistant", content: "Hi" }),
    chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' })),
    choiceWith(
      {
        message: {
          content: "Hi",
          ...call({ id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' }),
        } as JsonObject,
      },
      "tool_calls",
    ),
    "[DONE]",
  ];
  expect(toResponses(inputs).output).toMatchObject([
    { type: "message", content: [{ text: "Hi" }] },
    { type: "function_call", arguments: '{"city":"Paris"}' },
  ]);
  expect(chatSays(inputs, "content")).toBe("Hi");
});

test("the text of the old completions endpoint is text", () => {
  const inputs: ChatInput[] = [
    choiceWith({ text: "Hel" }),
    choiceWith({ text: "lo" }),
    choiceWith({ text: "" }, "stop"),
    "[DONE]",
  ];
  expect(toResponses(inputs).output).toMatchObject([{ content: [{ text: "Hello" }] }]);
  expect(chatSays(inputs, "content")).toBe("Hello");
});

const png = "data:image/png;base64,iVBORw0KGgo=";
const images = [{ type: "image_url", image_url: { url: png } }];

test("a picture in a delta is an image_generation_call, and passes to a Chat client", () => {
  const pictured = chunk({ role: "assistant", content: "Here.", images });
  const inputs: ChatInput[] = [pictured, chunk({}, "stop"), "[DONE]"];
  const { output, events } = toResponses(inputs);
  expect(output).toMatchObject([
    { type: "message", content: [{ text: "Here." }] },
    {
      type: "image_generation_call",
      id: "ig_minted_2",
      status: "completed",
      output_format: "png",
      result: "iVBORw0KGgo=",
    },
  ]);
  expect(events.filter((event) => event.type === "response.output_item.added")).toHaveLength(2);
  expect(toChat(inputs).out[0]).toBe(pictured);
});

test("a picture that is only linked is a link in the text", () => {
  const url = "https://example.org/a.png";
  const { output } = toResponses([
    chunk({ images: [{ image_url: { url } }] }),
    chunk({}, "stop"),
    "[DONE]",
  ]);
  expect(output).toMatchObject([{ type: "message", content: [{ text: `![image](${url})` }] }]);
});

test.each([[5], [true], [{ a: 1 }]])("content %j is no text, and is counted", (content) => {
  const inputs: ChatInput[] = [chunk({ role: "assistant", content }), chunk({}, "stop"), "[DONE]"];
  const { output, repairs } = toResponses(inputs);
  expect(output).toEqual([]);
  expect(repairs.list).toEqual([
    { code: "content_not_text", choice: 0, detail: JSON.stringify(content) },
  ]);
});

const encrypted = (id: string, data: string) => ({ type: "reasoning.encrypted", id, data });
const seal = (carry: ReasoningCarry) => JSON.stringify(carry);
const details = [encrypted("rs_1", "AAAA"), encrypted("rs_2", "BBBB")];

test("encrypted reasoning of different ids stays apart, in one chunk or in several", () => {
  for (const inputs of [
    [chunk({ reasoning_details: details })],
    details.map((detail) => chunk({ reasoning_details: [detail] })),
  ]) {
    const { output } = toResponses([...inputs, chunk({ content: "Hi" }, "stop"), "[DONE]"], {
      seal,
    });
    expect(output).toMatchObject([
      { type: "message" },
      { type: "reasoning", encrypted_content: JSON.stringify({ details }) },
    ]);
  }
});

test("also in a whole reply, and also without any id", () => {
  const options = { responseId: "resp_1", newId: newIds(), createdAt: 1, seal };
  const message = (reasoning_details: JsonObject[]) => ({
    choices: [{ index: 0, message: { content: "Hi", reasoning_details }, finish_reason: "stop" }],
  });
  const anonymous = details.map(({ type, data }) => ({ type, data }));
  for (const given of [details, anonymous])
    expect(responseOfChat(message(given), options).response.output).toMatchObject([
      { type: "message" },
      { type: "reasoning", encrypted_content: JSON.stringify({ details: given }) },
    ]);
});

test("fragments of one encrypted detail are joined", () => {
  const { output } = toResponses(
    [
      chunk({ reasoning: "hm", reasoning_details: [encrypted("rs_1", "AA")] }),
      chunk({ reasoning_details: [encrypted("rs_1", "BB")] }),
      chunk({ content: "Hi" }, "stop"),
      "[DONE]",
    ],
    { seal },
  );
  expect(output[0]).toMatchObject({
    encrypted_content: JSON.stringify({ details: [encrypted("rs_1", "AABB")] }),
  });
});

test.each<[string, ChatInput[]]>([
  [
    "the field first",
    [
      chunk({ reasoning_content: "I must look." }),
      chunk({ content: "<think>I must look.</think>Hi" }),
    ],
  ],
  [
    "the tags first",
    [
      chunk({ content: "<think>I must look.</think>" }),
      chunk({ reasoning_content: "I must look." }),
      chunk({ content: "Hi" }),
    ],
  ],
  [
    "both in step",
    [
      chunk({ reasoning: "I must ", content: "<think>I must " }),
      chunk({ reasoning: "look.", content: "look.</think>" }),
      chunk({ content: "Hi" }),
    ],
  ],
])("the same words in tags and in a field are said once: %s", (_order, inputs) => {
  const all: ChatInput[] = [...inputs, chunk({}, "stop"), "[DONE]"];
  const { output, repairs } = toResponses(all);
  expect(output).toMatchObject([
    { type: "reasoning", summary: [{ text: "I must look." }] },
    { type: "message", content: [{ text: "Hi" }] },
  ]);
  expect(repairs.counts.get("reasoning_repeated")).toBe(1);
  expect(chatSays(all, "content")).toBe("Hi");
});

test("what a second field says while the first is silent is not read, and is on record", () => {
  const { output, repairs } = toResponses([
    chunk({ reasoning_content: "hm" }),
    chunk({ reasoning: "Aside." }),
    chunk({ content: "Hi" }),
    chunk({}, "stop"),
    "[DONE]",
  ]);
  expect(output).toMatchObject([
    { type: "reasoning", summary: [{ text: "hm" }] },
    { type: "message", content: [{ text: "Hi" }] },
  ]);
  expect(detailsOf(repairs, "reasoning_ignored")).toEqual(["Aside."]);
});

test.each([[{ toString: 1, valueOf: 2 }], [[[]]], [7], [null]])(
  "an id of the upstream that is no text, %j, is replaced",
  (id) => {
    const inputs = [
      { ...chunk({ content: "Hi" }), id },
      { ...chunk({}, "stop"), id },
      "[DONE]",
    ] as unknown as ChatInput[];
    const { out } = toChat(inputs);
    expect(choicesIn(out).map(({ delta }) => delta?.content ?? "")).toContain("Hi");
    const ids = out.map((one) => (one === "[DONE]" ? "" : one.id)).filter((one) => one !== "");
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^chatcmpl/);
  },
);
