import { describe, expect, test } from "vitest";
import { getWindowEnd, listUsageLimits } from "../src/security/usage-limits.ts";
import { UsageEstimate } from "../src/security/usage-estimate.ts";

describe("the period of a limit", () => {
  test.each([
    ["minute", "2026-11-19T20:36:14.857Z", "2026-11-19T20:37:00.000Z"],
    ["minute", "2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00.000Z"],
    ["day", "2026-11-19T00:00:00.000Z", "2026-11-20T00:00:00.000Z"],
    ["day", "2026-02-28T23:59:00.000Z", "2026-03-01T00:00:00.000Z"],
    ["month", "2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"],
    ["month", "2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00.000Z"],
  ] as const)("%s at %s ends at %s", (period, time, end) => {
    expect(new Date(getWindowEnd(period, Date.parse(time))).toISOString()).toBe(end);
  });

  test("is named by the limit; a missing limit does not apply", () => {
    expect(listUsageLimits({})).toEqual([]);
    expect(
      listUsageLimits({
        requestsPerMinute: 60,
        tokensPerDay: 1000,
        costPerDay: 0.5,
        costPerMonth: 9,
      }),
    ).toEqual([
      { unit: "requests", period: "minute", max: 60 },
      { unit: "tokens", period: "day", max: 1000 },
      { unit: "cost", period: "day", max: 0.5 },
      { unit: "cost", period: "month", max: 9 },
    ]);
  });
});

describe("the usage of a reply that reports none is estimated", () => {
  const inputTokens = 11;
  const words = "Once upon a time there was a fox. ".repeat(40);

  function estimate(events: readonly unknown[]) {
    const usage = new UsageEstimate();
    for (const event of events) usage.push([event]);
    return { hasOutput: usage.hasOutput, ...usage.build(inputTokens) };
  }

  const expected = {
    hasOutput: true,
    input_tokens: inputTokens,
    output_tokens: expect.closeTo(words.length / 4, -1) as number,
    estimated: true,
  };

  test("from the events of a Responses stream", () => {
    const deltas = words.match(/.{1,7}/gs) ?? [];
    expect(
      estimate(deltas.map((delta) => ({ type: "response.output_text.delta", delta }))),
    ).toMatchObject(expected);
  });

  test("from the chunks of a Chat stream, with reasoning and calls", () => {
    const parts = words.match(/.{1,300}/gs) ?? [];
    const deltas = parts.map((text, index) =>
      index % 3 === 0
        ? { content: text }
        : index % 3 === 1
          ? { reasoning_content: text }
          : { tool_calls: [{ index: 0, function: { name: "", arguments: text } }] },
    );
    expect(estimate(deltas.map((delta) => ({ choices: [{ index: 0, delta }] })))).toMatchObject(
      expected,
    );
  });

  test("as its input alone if there is no output, whatever else the events contain", () => {
    for (const event of [
      { type: "response.created" },
      { choices: null },
      { choices: [{}, 1] },
      null,
      "x",
    ])
      expect(estimate([event])).toMatchObject({ hasOutput: false, output_tokens: 0 });
  });

  test("in total as the sum of input and output", () => {
    const { input_tokens, output_tokens, total_tokens } = estimate([{ delta: words }]);
    expect(total_tokens).toBe(input_tokens + output_tokens);
  });
});
