import {
  ChatOverChat,
  ChatOverResponses,
  collectChat,
  estimateRequestTokens,
  estimateTokens,
  responseOfChat,
  ResponsesOverResponses,
  type ChatOutput,
  type ChatRequest,
  type ClientTranslator,
  type JsonObject,
  type ResponsesInput,
  type ResponsesRequest,
} from "@deltawire/wire";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../test/work-time.ts";
import { call, chunk, usage, usageChunk } from "./chat-stream.ts";
import { newIds, toChat, toResponses } from "./reply-translations.ts";
import { sharedData } from "../../../test/shared-data.ts";

const estimateInputTokens = () => 100;

describe("a text", () => {
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
  ])("%s has between %i and %i tokens", (text, least, most) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(least);
    expect(estimateTokens(text)).toBeLessThanOrEqual(most);
  });

  test("of a megabyte is read in one pass", () => {
    const text = "Ein Satz, wie er im Buche steht. ".repeat(32_000);
    let tokens = 0;
    expect(workTime(() => (tokens = estimateTokens(text)))).toBeLessThan(200);
    expect(tokens).toBe(Math.ceil(text.length / 4));
  });
});

describe("a request", () => {
  const words = "word ".repeat(400); // 500 tokens
  const picture = `data:image/png;base64,${"A".repeat(400_000)}`;
  const chat = (request: Partial<ChatRequest>) =>
    estimateRequestTokens({ model: "m", messages: [], ...request });
  const responses = (request: Partial<ResponsesRequest>) =>
    estimateRequestTokens({ model: "m", ...request });

  test.each<[string, number, number]>([
    ["nothing", chat({}), 0],
    ["a message", chat({ messages: [{ role: "user", content: words }] }), 504],
    [
      "two, one of them in parts",
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
      "a picture, whatever its size",
      chat({
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: picture } }] }],
      }),
      1004,
    ],
    [
      "pictures in a result, in a call of the server's and by their address",
      responses({
        input: [
          {
            type: "function_call_output",
            call_id: "call_1",
            output: [{ type: "input_image", image_url: picture }],
          },
          { type: "image_generation_call", id: "ig_1", status: "completed", result: picture },
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
      "reasoning under seal, of which only the summary can be read",
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
      "a file of 80,000 characters and one by its id",
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
      "a minute of sound",
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
  ])("with %s", (_what, estimated, expected) => {
    expect(estimated).toBe(expected);
  });

  test("counts the tools it offers and the format it asks for", () => {
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

const said = [
  chunk({ role: "assistant", content: "" }),
  chunk({ reasoning_content: "r".repeat(40) }),
  chunk({ content: "t".repeat(80) }),
  chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: `{"a":"${"x".repeat(32)}"}` })),
];
const stop = chunk({}, "tool_calls");
/** 10 of reasoning, 20 of text, 8 and 11 / 4 and 40 / 4 of the call. */
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

describe("a Chat upstream", () => {
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  test.each([
    ["nothing", []],
    ["null", [{ ...chunk({}), choices: [], usage: null }]],
    ["zeros", [usageChunk(zeros)]],
  ])("that tells %s of usage is estimated, for both clients", (_what, rest) => {
    const inputs = [...said, stop, ...rest, "[DONE]" as const];
    const { response, repairs } = toResponses(inputs, { estimateInputTokens });
    expect(response?.usage).toEqual(estimated);
    expect(repairs.counts.get("usage_estimated")).toBe(1);
    const chat = toChat(inputs, { estimateInputTokens });
    expect(chat.out.at(-2)).toMatchObject({ choices: [], usage: estimatedForChat });
    expect(chat.repairs.counts.get("usage_estimated")).toBe(1);
  });

  test("that tells is believed", () => {
    const inputs = [...said, stop, usageChunk(), "[DONE]" as const];
    const { response, repairs } = toResponses(inputs, { estimateInputTokens });
    expect(response?.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
    expect(response?.usage).not.toHaveProperty("estimated");
    expect(repairs.counts.get("usage_estimated")).toBeUndefined();
    expect(toChat(inputs, { estimateInputTokens }).out.at(-2)).toMatchObject({ usage });
  });

  test("whose reply was cut is estimated, the calls that were withheld included", () => {
    const { response, output } = toResponses([...said, chunk({}, "length"), "[DONE]"], {
      estimateInputTokens,
      cutCalls: "withheld",
    });
    expect(output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    expect(response).toMatchObject({ status: "incomplete", usage: estimated });
  });

  test("whose reply failed is not", () => {
    expect(toResponses(said, { estimateInputTokens }).response?.usage).toBeNull();
    const { out, repairs } = toChat(said, { estimateInputTokens });
    expect(JSON.stringify(out)).not.toContain("estimated");
    expect(repairs.counts.get("usage_estimated")).toBeUndefined();
  });

  test("is not estimated for a Chat client that did not ask", () => {
    const { out, repairs } = toChat([...said, stop], { estimateInputTokens, includeUsage: false });
    expect(JSON.stringify(out)).not.toContain("usage");
    expect(repairs.counts.get("usage_estimated")).toBeUndefined();
  });

  test("is not estimated where nobody says what the request had", () => {
    expect(toResponses([...said, stop]).response?.usage).toBeNull();
    expect(JSON.stringify(toChat([...said, stop]).out)).not.toContain("usage");
  });

  test("all whose choices count, in a whole reply too", () => {
    const { out } = toChat(
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
    const { response } = responseOfChat(
      { id: "c", choices: [{ index: 0, message, finish_reason: "stop" }] },
      { responseId: "resp_1", newId: newIds(), createdAt: 1, estimateInputTokens },
    );
    expect(response.usage).toMatchObject({ output_tokens: 10, estimated: true });
  });
});

describe("a Responses upstream", () => {
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
  const events = (fields: JsonObject, status = "completed"): ResponsesInput[] => [
    { type: "response.created", response: { id: "resp_1" } },
    ...items.map((item, output_index) => ({
      type: "response.output_item.done",
      output_index,
      item,
    })),
    { type: `response.${status}`, response: { id: "resp_1", status, ...fields } },
  ];
  function play<Out>(machine: ClientTranslator<ResponsesInput, Out>, inputs: ResponsesInput[]) {
    const out: Out[] = [];
    for (const input of inputs) machine.push(input, out);
    machine.end("eof", out);
    return { out, usage: machine.usage, counted: machine.repairs.counts.get("usage_estimated") };
  }
  const same = (inputs: ResponsesInput[], withOption = true) =>
    play(
      new ResponsesOverResponses({
        responseId: "resp_0",
        createdAt: 1,
        ...(withOption ? { estimateInputTokens } : {}),
      }),
      inputs,
    );
  const other = (inputs: ResponsesInput[], includeUsage = true) =>
    play<ChatOutput>(
      new ChatOverResponses({ newId: newIds(), createdAt: 1, estimateInputTokens, includeUsage }),
      inputs,
    );
  const usageOf = ({ out }: { out: ResponsesInput[] }) => {
    const { response } = out.at(-1) as unknown as { response: JsonObject };
    return response["usage"];
  };

  test.each<[string, JsonObject]>([
    ["nothing", {}],
    ["null", { usage: null }],
    ["zeros", { usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } }],
  ])("that tells %s of usage is estimated, for both clients", (_what, fields) => {
    const passed = same(events(fields));
    expect(usageOf(passed)).toEqual(estimated);
    expect(passed.usage).toEqual(estimated);
    expect(passed.counted).toBe(1);
    const chat = other(events(fields));
    expect(chat.out.at(-2)).toMatchObject({ choices: [], usage: estimatedForChat });
    expect(chat.usage).toEqual(estimated);
    expect(chat.counted).toBe(1);
  });

  test("whose reply is incomplete is estimated; one that failed, told or was not asked is not", () => {
    expect(usageOf(same(events({}, "incomplete")))).toEqual(estimated);
    expect(usageOf(same(events({ error: { message: "boom" } }, "failed")))).toBeNull();
    expect(other(events({ error: { message: "boom" } }, "failed")).usage).toBeNull();
    const told = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
    expect(usageOf(same(events({ usage: told })))).toEqual(told);
    expect(other(events({ usage: told })).usage).toMatchObject(told);
    expect(usageOf(same(events({}), false))).toBeNull();
    const silent = other(events({}), false);
    expect(JSON.stringify(silent.out)).not.toContain("usage");
    expect(silent.counted).toBeUndefined();
  });

  test("that tells half of it has the rest added, for Codex fails a stream over it", () => {
    const half = {
      input_tokens: 11,
      output_tokens: 7,
      input_tokens_details: {},
      output_tokens_details: null,
      x_cost: 1,
    };
    expect(usageOf(same(events({ usage: half })))).toEqual({
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 18,
      x_cost: 1,
    });
    const bare = {
      input_tokens: 11,
      output_tokens: 7,
      total_tokens: 18,
      output_tokens_details: null,
    };
    expect(usageOf(same(events({ usage: bare })))).toBe(bare);
  });
});

test("what a reply cost is known also where the client did not ask", () => {
  const machine = new ChatOverChat({ newId: newIds(), createdAt: 1, includeUsage: false });
  expect(machine.usage).toBeNull();
  const out: ChatOutput[] = [];
  for (const input of [...said, stop, usageChunk()]) machine.push(input, out);
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
  "of the longer Chat recordings nine in ten are estimated within a factor of two",
  () => {
    const { files } = JSON.parse(readFileSync(recordings.path, "utf8")) as { files: Recording[] };
    const ratios = files
      .filter(({ kind }) => kind.startsWith("chat"))
      .flatMap(({ expected: { text, reasoning, tool_calls: calls, usage: told } }) => {
        const words = [text, reasoning, ...calls.flatMap((made) => [made.name, made.arguments])];
        const length = words.join("").length;
        if (length < 400 || !told?.completion_tokens) return [];
        return [estimateTokens(words.join("")) / told.completion_tokens];
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

test("a text of tens of megabytes is estimated by its beginning", () => {
  const [latin, chinese] = ["x".repeat(60_000_000), "中".repeat(20_000_000)];
  let tokens: number[] = [];
  const ms = workTime(() => (tokens = [latin, chinese].map(estimateTokens)));
  expect(tokens).toEqual([15_000_000, 15_000_000]);
  expect(ms).toBeLessThan(100); // 220 ms with every character
});
