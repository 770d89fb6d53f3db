import {
  ChatOverChat,
  ChatOverResponses,
  collectChat,
  estimateRequestTokens,
  estimateTokens,
  translateChatReply,
  ResponsesOverResponses,
  type ChatStreamEvent,
  type ChatRequest,
  type ClientTranslator,
  type JsonObject,
  type UpstreamResponseEvent,
  type ResponsesRequest,
} from "@deltawire/wire";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import { call, chunk, usage, usageChunk } from "./chat-chunks.ts";
import { createIdCounter, translateToChat, translateToResponses } from "./translate-reply.ts";
import { sharedData } from "../../../test/shared-data.ts";

const estimateInputTokens = () => 100;

describe("the estimate for text", () => {
  test.each([
    ["", 0, 0],
    ["The quick brown fox jumps over the lazy dog.", 9, 13],
    ['{"city":"Paris","unit":"celsius"}', 7, 12],
    ["今天天气怎么样？请告诉我北京的天气。", 11, 18],
    ["東京の天気を教えてください。", 9, 14],
    ["오늘 서울의 날씨는 어떤가요?", 9, 16],
    ["Какая сегодня погода в Москве?", 8, 16],
    ["Grüße aus München, schöne Straße!", 8, 14],
    ["🙂🚀", 2, 6],
  ])("%j is between %i and %i tokens", (text, min, max) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(min);
    expect(estimateTokens(text)).toBeLessThanOrEqual(max);
  });

  test("of a megabyte is fast", () => {
    const text = "Ein Satz, wie er im Buche steht. ".repeat(32_000);
    let tokens = 0;
    expect(measureCpuTime(() => (tokens = estimateTokens(text)))).toBeLessThan(200);
    expect(tokens).toBe(Math.ceil(text.length / 4));
  });
});

describe("the estimate for a request", () => {
  const words = "word ".repeat(400); // 500 tokens
  const imageUrl = `data:image/png;base64,${"A".repeat(400_000)}`;
  const chat = (request: Partial<ChatRequest>) =>
    estimateRequestTokens({ model: "m", messages: [], ...request });
  const responses = (request: Partial<ResponsesRequest>) =>
    estimateRequestTokens({ model: "m", ...request });

  test.each<[string, number, number]>([
    ["no content", chat({}), 0],
    ["one message", chat({ messages: [{ role: "user", content: words }] }), 504],
    [
      "two messages, one of them in parts",
      chat({
        messages: [
          { role: "system", content: words },
          { role: "user", content: [{ type: "text", text: words }] },
        ],
      }),
      1008,
    ],
    [
      "a call, its result and the reasoning before it",
      chat({
        messages: [
          {
            role: "assistant",
            reasoning_content: words,
            reasoning_details: [{ type: "reasoning.text", text: words, signature: words }],
            tool_calls: [
              { id: words, type: "function", function: { name: "abcd", arguments: words } },
            ],
          },
          { role: "tool", tool_call_id: words, content: words },
        ],
      }),
      1509,
    ],
    [
      "an image of any size",
      chat({
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: imageUrl } }] },
        ],
      }),
      1004,
    ],
    [
      "images in a result, in a server-side call and as a URL",
      responses({
        input: [
          {
            type: "function_call_output",
            call_id: "call_1",
            output: [{ type: "input_image", image_url: imageUrl }],
          },
          { type: "image_generation_call", id: "ig_1", status: "completed", result: imageUrl },
          {
            role: "user",
            content: [{ type: "input_image", image_url: "https://example.org/a.png" }],
          },
        ],
      }),
      3012,
    ],
    ["instructions and a plain input", responses({ instructions: words, input: words }), 1000],
    [
      "encrypted reasoning, of which only the summary counts",
      responses({
        input: [
          {
            type: "reasoning",
            summary: [{ type: "summary_text", text: words }],
            encrypted_content: "A".repeat(40_000),
          },
        ],
      }),
      504,
    ],
    [
      "a file of 80,000 characters and a file id",
      responses({
        input: [
          {
            role: "user",
            content: [
              {
                type: "input_file",
                file_data: `data:application/pdf;base64,${"A".repeat(79_972)}`,
              },
              { type: "input_file", file_id: "file_1" },
            ],
          },
        ],
      }),
      2004,
    ],
    [
      "a minute of audio",
      chat({
        messages: [
          {
            role: "user",
            content: [
              { type: "input_audio", input_audio: { data: "A".repeat(600_000), format: "mp3" } },
            ],
          },
        ],
      }),
      604,
    ],
  ])("with %s", (_title, estimated, expected) => {
    expect(estimated).toBe(expected);
  });

  test("includes its tools and its response format", () => {
    const tools = [
      { type: "function" as const, function: { name: "f", description: words, parameters: {} } },
    ];
    const schema = { name: "answer", schema: { type: "object", description: words } };
    expect(chat({ tools })).toBeGreaterThan(500);
    expect(chat({ tools })).toBeLessThan(530);
    expect(chat({ response_format: { type: "json_schema", json_schema: schema } })).toBeGreaterThan(
      500,
    );
  });
});

const replyChunks = [
  chunk({ role: "assistant", content: "" }),
  chunk({ reasoning_content: "r".repeat(40) }),
  chunk({ content: "t".repeat(80) }),
  chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: `{"a":"${"x".repeat(32)}"}` })),
];
const stop = chunk({}, "tool_calls");
/** 10 tokens for reasoning, 20 for text, and 8 + 11 / 4 + 40 / 4 for the call. */
const estimated = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 51,
  output_tokens_details: { reasoning_tokens: 10 },
  total_tokens: 151,
  estimated: true,
};
const estimatedForChat = {
  prompt_tokens: 100,
  completion_tokens: 51,
  total_tokens: 151,
  completion_tokens_details: { reasoning_tokens: 10 },
  estimated: true,
};

describe("the usage of a Chat upstream", () => {
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  test.each([
    ["missing", []],
    ["null", [{ ...chunk({}), choices: [], usage: null }]],
    ["all zeros", [usageChunk(zeros)]],
  ])("that is %s is estimated for both clients", (_title, rest) => {
    const inputs = [...replyChunks, stop, ...rest, "[DONE]" as const];
    const { response, repairs } = translateToResponses(inputs, { estimateInputTokens });
    expect(response?.usage).toEqual(estimated);
    expect(repairs.counts.get("usage_estimated")).toBe(1);
    const chat = translateToChat(inputs, { estimateInputTokens });
    expect(chat.out.at(-2)).toMatchObject({ choices: [], usage: estimatedForChat });
    expect(chat.repairs.counts.get("usage_estimated")).toBe(1);
  });

  test("is not estimated if it is reported", () => {
    const inputs = [...replyChunks, stop, usageChunk(), "[DONE]" as const];
    const { response, repairs } = translateToResponses(inputs, { estimateInputTokens });
    expect(response?.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
    expect(response?.usage).not.toHaveProperty("estimated");
    expect(repairs.counts.get("usage_estimated")).toBeUndefined();
    expect(translateToChat(inputs, { estimateInputTokens }).out.at(-2)).toMatchObject({ usage });
  });

  test("is estimated for a truncated reply, including withheld calls", () => {
    const { response, output } = translateToResponses(
      [...replyChunks, chunk({}, "length"), "[DONE]"],
      {
        estimateInputTokens,
        truncatedCalls: "withheld",
      },
    );
    expect(output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    expect(response).toMatchObject({ status: "incomplete", usage: estimated });
  });

  test("is not estimated for a failed reply", () => {
    expect(translateToResponses(replyChunks, { estimateInputTokens }).response?.usage).toBeNull();
    const { out, repairs } = translateToChat(replyChunks, { estimateInputTokens });
    expect(JSON.stringify(out)).not.toContain("estimated");
    expect(repairs.counts.get("usage_estimated")).toBeUndefined();
  });

  test("is not estimated for a Chat client that did not request usage", () => {
    const { out, repairs } = translateToChat([...replyChunks, stop], {
      estimateInputTokens,
      includeUsage: false,
    });
    expect(JSON.stringify(out)).not.toContain("usage");
    expect(repairs.counts.get("usage_estimated")).toBeUndefined();
  });

  test("is not estimated without an estimate of the input", () => {
    expect(translateToResponses([...replyChunks, stop]).response?.usage).toBeNull();
    expect(JSON.stringify(translateToChat([...replyChunks, stop]).out)).not.toContain("usage");
  });

  test("is estimated for all choices, even in a reply that is not streamed", () => {
    const { out } = translateToChat(
      [
        {
          ...chunk({}),
          choices: [0, 1].map((index) => ({
            index,
            delta: { content: "t".repeat(40) },
            finish_reason: "stop",
          })),
        },
      ],
      { estimateInputTokens },
    );
    const collected = collectChat(out);
    expect(collected).toMatchObject({ completion: { usage: { completion_tokens: 20 } } });
    const message = { role: "assistant", content: "t".repeat(40) };
    const { response } = translateChatReply(
      { id: "c", choices: [{ index: 0, message, finish_reason: "stop" }] },
      { responseId: "resp_1", newId: createIdCounter(), createdAt: 1, estimateInputTokens },
    );
    expect(response.usage).toMatchObject({ output_tokens: 10, estimated: true });
  });
});

describe("the usage of a Responses upstream", () => {
  const items: JsonObject[] = [
    { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "r".repeat(40) }] },
    { type: "message", id: "m", content: [{ type: "output_text", text: "t".repeat(80) }] },
    {
      type: "function_call",
      id: "f",
      call_id: "call_abc",
      name: "get_weather",
      arguments: `{"a":"${"x".repeat(32)}"}`,
    },
  ];
  const events = (fields: JsonObject, status = "completed"): UpstreamResponseEvent[] => [
    { type: "response.created", response: { id: "resp_1" } },
    ...items.map((item, output_index) => ({
      type: "response.output_item.done",
      output_index,
      item,
    })),
    { type: `response.${status}`, response: { id: "resp_1", status, ...fields } },
  ];
  function translateEvents<Out>(
    machine: ClientTranslator<UpstreamResponseEvent, Out>,
    inputs: UpstreamResponseEvent[],
  ) {
    const out: Out[] = [];
    for (const input of inputs) machine.push(input, out);
    machine.end("eof", out);
    return {
      out,
      usage: machine.usage,
      estimateCount: machine.repairs.counts.get("usage_estimated"),
    };
  }
  const toResponses = (inputs: UpstreamResponseEvent[], withOption = true) =>
    translateEvents(
      new ResponsesOverResponses({
        responseId: "resp_0",
        createdAt: 1,
        ...(withOption ? { estimateInputTokens } : {}),
      }),
      inputs,
    );
  const toChat = (inputs: UpstreamResponseEvent[], includeUsage = true) =>
    translateEvents<ChatStreamEvent>(
      new ChatOverResponses({
        newId: createIdCounter(),
        createdAt: 1,
        estimateInputTokens,
        includeUsage,
      }),
      inputs,
    );
  const getUsage = ({ out }: { out: UpstreamResponseEvent[] }) => {
    const { response } = out.at(-1) as unknown as { response: JsonObject };
    return response["usage"];
  };

  test.each<[string, JsonObject]>([
    ["missing", {}],
    ["null", { usage: null }],
    ["all zeros", { usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } }],
  ])("that is %s is estimated for both clients", (_title, fields) => {
    const forwarded = toResponses(events(fields));
    expect(getUsage(forwarded)).toEqual(estimated);
    expect(forwarded.usage).toEqual(estimated);
    expect(forwarded.estimateCount).toBe(1);
    const chat = toChat(events(fields));
    expect(chat.out.at(-2)).toMatchObject({ choices: [], usage: estimatedForChat });
    expect(chat.usage).toEqual(estimated);
    expect(chat.estimateCount).toBe(1);
  });

  test("is estimated if the reply is incomplete, but not if it failed, reports usage or the client did not request usage", () => {
    expect(getUsage(toResponses(events({}, "incomplete")))).toEqual(estimated);
    expect(getUsage(toResponses(events({ error: { message: "boom" } }, "failed")))).toBeNull();
    expect(toChat(events({ error: { message: "boom" } }, "failed")).usage).toBeNull();
    const reported = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
    expect(getUsage(toResponses(events({ usage: reported })))).toEqual(reported);
    expect(toChat(events({ usage: reported })).usage).toMatchObject(reported);
    expect(getUsage(toResponses(events({}), false))).toBeNull();
    const unrequested = toChat(events({}), false);
    expect(JSON.stringify(unrequested.out)).not.toContain("usage");
    expect(unrequested.estimateCount).toBeUndefined();
  });

  test("that is incomplete gets the missing counts, because Codex fails otherwise", () => {
    const partial = {
      input_tokens: 11,
      output_tokens: 7,
      input_tokens_details: {},
      output_tokens_details: null,
      x_cost: 1,
    };
    expect(getUsage(toResponses(events({ usage: partial })))).toEqual({
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 18,
      x_cost: 1,
    });
    const withoutDetails = {
      input_tokens: 11,
      output_tokens: 7,
      total_tokens: 18,
      output_tokens_details: null,
    };
    expect(getUsage(toResponses(events({ usage: withoutDetails })))).toBe(withoutDetails);
  });
});

test("the usage of a reply is available even if the client did not request it", () => {
  const machine = new ChatOverChat({ newId: createIdCounter(), createdAt: 1, includeUsage: false });
  expect(machine.usage).toBeNull();
  const out: ChatStreamEvent[] = [];
  for (const input of [...replyChunks, stop, usageChunk()]) machine.push(input, out);
  machine.end("eof", out);
  expect(machine.usage).toMatchObject({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
  expect(JSON.stringify(out)).not.toContain("usage");
});

const recordings = sharedData("fixtures/index.json");
interface Recording {
  kind: string;
  expected: {
    text: string;
    reasoning: string;
    tool_calls: { name: string; arguments: string }[];
    usage: { completion_tokens?: number } | null;
  };
}

test.skipIf(recordings.isMissing)(
  "nine in ten of the longer Chat recordings are estimated within a factor of two",
  () => {
    const { files } = JSON.parse(readFileSync(recordings.path, "utf8")) as { files: Recording[] };
    const ratios = files
      .filter(({ kind }) => kind.startsWith("chat"))
      .flatMap(({ expected: { text, reasoning, tool_calls: calls, usage: reported } }) => {
        const words = [text, reasoning, ...calls.flatMap((entry) => [entry.name, entry.arguments])];
        const length = words.join("").length;
        if (length < 400 || !reported?.completion_tokens) return [];
        return [estimateTokens(words.join("")) / reported.completion_tokens];
      })
      .toSorted((a, b) => a - b);
    expect(ratios.length).toBeGreaterThan(30);
    expect(
      ratios.filter((ratio) => ratio > 0.5 && ratio < 2).length / ratios.length,
    ).toBeGreaterThan(0.9);
    expect(ratios[Math.floor(ratios.length / 2)]).toBeGreaterThan(0.8);
    expect(ratios[Math.floor(ratios.length / 2)]).toBeLessThan(1.25);
  },
);

test("text of tens of megabytes is estimated from its beginning", () => {
  const [latin, chinese] = ["x".repeat(60_000_000), "中".repeat(20_000_000)];
  let tokens: number[] = [];
  const ms = measureCpuTime(() => (tokens = [latin, chinese].map(estimateTokens)));
  expect(tokens).toEqual([15_000_000, 15_000_000]);
  expect(ms).toBeLessThan(100); // 220 ms if all characters were counted
});
