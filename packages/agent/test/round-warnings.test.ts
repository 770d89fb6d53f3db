import {
  defineAgent,
  defineTool,
  ModelError,
  type Model,
  type RoundReport,
} from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { buildRoundWarnings } from "../src/model/round-warnings.ts";
import { waitForEnd, scriptedAgent, start, filterWarnings } from "./runtime-fixture.ts";

const look = defineTool({ name: "look", description: "Looks.", run: () => "seen" });

describe("the repairs of a reply", () => {
  test("are reported in one warning per round, and the task continues", async () => {
    // The scripted model finishes with "stop" despite calls, as some servers do.
    const call = [{ call: "look", args: {} }];
    const { agent } = scriptedAgent([call, call, [{ text: "Done." }]], { tools: [look] });
    const { view, events } = await waitForEnd(await start(agent));
    // Only the first round reports parameters that the server does not support.
    expect(filterWarnings(events)).toMatchObject([
      { code: "reply_repaired", message: "1 x finish_corrected, 1 x parameter_dropped" },
      { code: "reply_repaired", message: "1 x call_id_generated, 1 x finish_corrected" },
    ]);
    expect(view.output.map(({ type }) => type)).toEqual([
      "tool_call",
      "tool_result",
      "tool_call",
      "tool_result",
      "message",
    ]);
    const done = events.findIndex(({ type }) => type === "task.round.done");
    expect(events.findIndex(({ type }) => type === "task.warning")).toBeLessThan(done);
  });

  test("are reported for each attempt, even if its reply is incomplete", async () => {
    const { agent } = scriptedAgent([
      [{ text: "Ha" }, { cut: true }],
      [{ text: "Half." }, { finish: "nonsense" }],
    ]);
    const { events } = await waitForEnd(await start(agent));
    expect(filterWarnings(events)).toMatchObject([
      { code: "reply_repaired", message: "1 x parameter_dropped" },
      { code: "model_retry_scheduled" },
      { code: "reply_repaired", message: "1 x finish_unknown, 1 x finish_corrected" },
    ]);
  });
});

const completed = { type: "response.completed", response: { usage: null } };

async function collectWarnings(
  stream: (report: (notes: RoundReport) => void) => AsyncIterable<JsonObject[]>,
): Promise<object[]> {
  const model: Model = { stream: (_request, _signal, report = () => undefined) => stream(report) };
  const { events } = await waitForEnd(
    await start(defineAgent({ name: "main", instructions: "", model })),
  );
  return filterWarnings(events);
}

describe("the report of a custom model", () => {
  test("is shown, even if it arrives after the last event", async () => {
    const warnings = await collectWarnings(async function* stream(report) {
      yield [completed];
      report({ repairs: { finish_corrected: 2, call_id_generated: 1, none: 0 }, attempts: 1 });
    });
    expect(warnings).toMatchObject([
      { code: "reply_repaired", message: "2 x finish_corrected, 1 x call_id_generated" },
    ]);
  });

  test("is shown if the model failed", async () => {
    const warnings = await collectWarnings(async function* stream(report) {
      report({ attempts: 4, upstream: "two", lessons: ["no stream_options"] });
      yield [];
      throw new ModelError("invalid_key", "no");
    });
    expect(warnings).toMatchObject([
      {
        code: "model_retried",
        message: "4 attempts (last upstream: two); learned: no stream_options",
        attempt: 4,
      },
    ]);
  });

  test("is shown once, even if the model reports again", async () => {
    const warnings = await collectWarnings(async function* stream(report) {
      report({ repairs: { a: 1 } });
      report({ repairs: { b: 1 } });
      yield [completed];
    });
    expect(warnings).toMatchObject([{ message: "1 x a" }]);
  });

  test("is not awaited if the stream never ends", async () => {
    const began = performance.now();
    const warnings = await collectWarnings(async function* stream() {
      yield [completed];
      await new Promise(() => undefined);
    });
    expect(warnings).toEqual([]);
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

test("lessons are reported even after a single attempt", () => {
  expect(buildRoundWarnings({ lessons: ["no tools"] })).toEqual([
    { code: "model_retried", message: "1 attempt; learned: no tools", attempt: 1 },
  ]);
  expect(buildRoundWarnings({})).toEqual([]);
});
