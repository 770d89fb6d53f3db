import {
  translateChatReply,
  type UpstreamChatEvent,
  type JsonObject,
  type OpaqueReasoning,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk } from "./chat-chunks.ts";
import {
  getChoices,
  getRepairDetails,
  createIdCounter,
  translateToChat,
  translateToResponses,
} from "./translate-reply.ts";

const chunkWithChoice = (fields: JsonObject, finish: string | null = null) => ({
  ...chunk({}),
  choices: [{ index: 0, finish_reason: finish, ...fields }],
});

/** Joins all deltas of one field that a Chat client receives. */
const joinChatField = (inputs: UpstreamChatEvent[], field: "content" | "reasoning_content") =>
  getChoices(translateToChat(inputs).out)
    .map((choice) => choice.delta?.[field])
    .filter((value) => typeof value === "string")
    .join("");

test("calls are read from a final message if no delta contained them", () => {
  const inputs: UpstreamChatEvent[] = [
    chunk({ role: "assistant", content: "I look." }),
    chunkWithChoice(
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
  expect(translateToResponses(inputs).output).toMatchObject([
    { type: "message", content: [{ text: "I look." }] },
    {
      type: "function_call",
      status: "completed",
      call_id: "call_aaa",
      name: "get_weather",
      arguments: '{"city":"Paris"}',
    },
  ]);
  const choices = getChoices(translateToChat(inputs).out);
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

test("a final message that repeats the text adds nothing", () => {
  const inputs: UpstreamChatEvent[] = [
    chunk({ role: "assistant", content: "Hi" }),
    chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' })),
    chunkWithChoice(
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
  expect(translateToResponses(inputs).output).toMatchObject([
    { type: "message", content: [{ text: "Hi" }] },
    { type: "function_call", arguments: '{"city":"Paris"}' },
  ]);
  expect(joinChatField(inputs, "content")).toBe("Hi");
});

test("text is read from the field of the legacy completions endpoint", () => {
  const inputs: UpstreamChatEvent[] = [
    chunkWithChoice({ text: "Hel" }),
    chunkWithChoice({ text: "lo" }),
    chunkWithChoice({ text: "" }, "stop"),
    "[DONE]",
  ];
  expect(translateToResponses(inputs).output).toMatchObject([{ content: [{ text: "Hello" }] }]);
  expect(joinChatField(inputs, "content")).toBe("Hello");
});

const png = "data:image/png;base64,iVBORw0KGgo=";
const images = [{ type: "image_url", image_url: { url: png } }];

test("an image in a delta becomes an image_generation_call and is unchanged for Chat clients", () => {
  const imageChunk = chunk({ role: "assistant", content: "Here.", images });
  const inputs: UpstreamChatEvent[] = [imageChunk, chunk({}, "stop"), "[DONE]"];
  const { output, events } = translateToResponses(inputs);
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
  expect(translateToChat(inputs).out[0]).toBe(imageChunk);
});

test("an image URL becomes a link in the text", () => {
  const url = "https://example.org/a.png";
  const { output } = translateToResponses([
    chunk({ images: [{ image_url: { url } }] }),
    chunk({}, "stop"),
    "[DONE]",
  ]);
  expect(output).toMatchObject([{ type: "message", content: [{ text: `![image](${url})` }] }]);
});

test.each([[5], [true], [{ a: 1 }]])("content of %j is ignored, with a repair", (content) => {
  const inputs: UpstreamChatEvent[] = [
    chunk({ role: "assistant", content }),
    chunk({}, "stop"),
    "[DONE]",
  ];
  const { output, repairs } = translateToResponses(inputs);
  expect(output).toEqual([]);
  expect(repairs.list).toEqual([
    { code: "content_not_text", choice: 0, detail: JSON.stringify(content) },
  ]);
});

const encrypted = (id: string, data: string) => ({ type: "reasoning.encrypted", id, data });
const seal = (reasoning: OpaqueReasoning) => JSON.stringify(reasoning);
const encryptedDetails = [encrypted("rs_1", "AAAA"), encrypted("rs_2", "BBBB")];

test("encrypted reasoning with different ids is not joined, whether in one chunk or in several", () => {
  for (const inputs of [
    [chunk({ reasoning_details: encryptedDetails })],
    encryptedDetails.map((detail) => chunk({ reasoning_details: [detail] })),
  ]) {
    const { output } = translateToResponses(
      [...inputs, chunk({ content: "Hi" }, "stop"), "[DONE]"],
      {
        seal,
      },
    );
    expect(output).toMatchObject([
      { type: "message" },
      { type: "reasoning", encrypted_content: JSON.stringify({ details: encryptedDetails }) },
    ]);
  }
});

test("encrypted reasoning without ids is not joined in a reply that is not streamed", () => {
  const options = { responseId: "resp_1", newId: createIdCounter(), createdAt: 1, seal };
  const message = (reasoning_details: JsonObject[]) => ({
    choices: [{ index: 0, message: { content: "Hi", reasoning_details }, finish_reason: "stop" }],
  });
  const detailsWithoutIds = encryptedDetails.map(({ type, data }) => ({ type, data }));
  for (const reasoning_details of [encryptedDetails, detailsWithoutIds])
    expect(translateChatReply(message(reasoning_details), options).response.output).toMatchObject([
      { type: "message" },
      { type: "reasoning", encrypted_content: JSON.stringify({ details: reasoning_details }) },
    ]);
});

test("the fragments of one encrypted detail are joined", () => {
  const { output } = translateToResponses(
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

test.each<[string, UpstreamChatEvent[]]>([
  [
    "the field before the tags",
    [
      chunk({ reasoning_content: "I must look." }),
      chunk({ content: "<think>I must look.</think>Hi" }),
    ],
  ],
  [
    "the tags before the field",
    [
      chunk({ content: "<think>I must look.</think>" }),
      chunk({ reasoning_content: "I must look." }),
      chunk({ content: "Hi" }),
    ],
  ],
  [
    "field and tags in the same chunks",
    [
      chunk({ reasoning: "I must ", content: "<think>I must " }),
      chunk({ reasoning: "look.", content: "look.</think>" }),
      chunk({ content: "Hi" }),
    ],
  ],
])("reasoning that is both in think tags and in a field is emitted once: %s", (_order, inputs) => {
  const allInputs: UpstreamChatEvent[] = [...inputs, chunk({}, "stop"), "[DONE]"];
  const { output, repairs } = translateToResponses(allInputs);
  expect(output).toMatchObject([
    { type: "reasoning", summary: [{ text: "I must look." }] },
    { type: "message", content: [{ text: "Hi" }] },
  ]);
  expect(repairs.counts.get("reasoning_repeated")).toBe(1);
  expect(joinChatField(allInputs, "content")).toBe("Hi");
});

test("a second reasoning field is ignored, with a repair", () => {
  const { output, repairs } = translateToResponses([
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
  expect(getRepairDetails(repairs, "reasoning_ignored")).toEqual(["Aside."]);
});

test.each([[{ toString: 1, valueOf: 2 }], [[[]]], [7], [null]])(
  "an upstream id that is not a string, %j, is replaced",
  (id) => {
    const inputs = [
      { ...chunk({ content: "Hi" }), id },
      { ...chunk({}, "stop"), id },
      "[DONE]",
    ] as unknown as UpstreamChatEvent[];
    const { out } = translateToChat(inputs);
    expect(getChoices(out).map(({ delta }) => delta?.content ?? "")).toContain("Hi");
    const ids = out
      .map((event) => (event === "[DONE]" ? "" : event.id))
      .filter((value) => value !== "");
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^chatcmpl/);
  },
);
