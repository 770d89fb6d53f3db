import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildTokenCount, estimateMessagesTokens, type MessagesRequest } from "@deltawire/wire";
import { expect, test } from "vitest";
import { sharedData } from "../../../test/shared-data.ts";

/* The estimate for count_tokens: within a quarter of the truth, and rather too high (M23). */

const question = "What's the weather like in San Francisco?";
const weather = {
  name: "get_weather",
  description: "Get the current weather in a given location",
  input_schema: {
    type: "object",
    properties: {
      location: { type: "string", description: "The city and state, e.g. San Francisco, CA" },
    },
    required: ["location"],
  },
};

const user = (content: string): MessagesRequest["messages"] => [{ role: "user", content }];

test.each<[string, number, Partial<MessagesRequest>]>([
  ["text", 14, { system: "You are a scientist", messages: user("Hello, Claude") }],
  ["a tool", 403, { tools: [weather], messages: user(question) }],
])("the estimate for %s is close to the count in Anthropic's documentation", (_, count, fields) => {
  const estimate = estimateMessagesTokens({ model: "m", messages: [], ...fields });
  expect(estimate / count).toBeGreaterThan(0.9);
  expect(estimate / count).toBeLessThan(1.25);
});

test("the estimate counts text and tools, is never 0, and is marked as an estimate", () => {
  const empty: MessagesRequest = { model: "m", messages: user("") };
  expect(estimateMessagesTokens(empty)).toBeGreaterThan(0);
  const text = "word ".repeat(1000);
  const estimate = estimateMessagesTokens({ ...empty, system: text, tools: [weather] });
  // 1,000 words and, as above, 403 tokens for the tool.
  expect(estimate).toBeGreaterThan(1400);
  expect(estimate).toBeLessThan(1400 * 1.25);
  expect(buildTokenCount(empty)).toEqual({
    input_tokens: estimateMessagesTokens(empty),
    estimated: true,
  });
});

test("the estimate takes any blocks", () => {
  const blocks = [{ type: "tool_use" }, { type: "constructor" }, { type: "image" }, { type: "x" }];
  const messages = [{ role: "user" as const, content: blocks }];
  expect(estimateMessagesTokens({ model: "m", messages })).toBeGreaterThan(1600);
});

const shared = sharedData("messages/fixtures");

interface Recording {
  file: string;
  provider: string;
  genuine: string;
  case: string[];
  expected?: {
    blocks?: { type: string; input_raw?: string }[];
    usage?: { output_tokens?: number } | null;
  };
}

/** Returns the estimate for a recorded reply as part of a history, divided by the tokens that Anthropic counted. */
function compare({ provider, genuine, case: features, expected }: Recording): number[] {
  const blocks = expected?.blocks ?? [];
  const count = expected?.usage?.output_tokens ?? 0;
  const isPlain = blocks.every(
    ({ type, input_raw: cut }) => (type === "text" || type === "tool_use") && cut === undefined,
  );
  const isCounted = count >= 50 && blocks.length > 0 && isPlain && genuine === "recorded";
  if (!isCounted || !/^(?:anthropic|vertex)$/.test(provider)) return [];
  // The text of citations is counted, too.
  if (features.some((feature) => ["citations", "odd", "window"].includes(feature))) return [];
  const estimate = (content: object[]) =>
    estimateMessagesTokens({
      model: "m",
      messages: [{ role: "assistant", content: content as never }],
    });
  return [(estimate(blocks) - estimate([])) / count];
}

test.skipIf(shared.isMissing)(
  "nine of ten recorded replies are within a quarter of their count, and none is far below it",
  () => {
    const index = readFileSync(join(shared.path, "index.json"), "utf8");
    const { files } = JSON.parse(index) as { files: Recording[] };
    const ratios = files.flatMap(compare);
    expect(ratios.length).toBeGreaterThan(20);
    expect(Math.min(...ratios)).toBeGreaterThan(0.95);
    const close = ratios.filter((ratio) => ratio < 1.25);
    expect(close.length / ratios.length).toBeGreaterThan(0.9);
  },
);
