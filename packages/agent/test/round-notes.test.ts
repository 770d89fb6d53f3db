import { defineAgent, defineTool, ModelError, type Model, type RoundNotes } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { warningsOf } from "../src/model/round-notes.ts";
import { ended, scriptedAgent, start, warningsIn } from "./run-kit.ts";

const look = defineTool({ name: "look", description: "Looks.", run: () => "seen" });

describe("what was mended in a reply", () => {
  test("is told in one warning for the round, and changes nothing", async () => {
    // Says "stop" where calls are to be answered, as some servers do.
    const call = [{ call: "look", args: {} }];
    const { agent } = scriptedAgent([call, call, [{ text: "Done." }]], { tools: [look] });
    const { view, events } = await ended(await start(agent));
    // The first round tells also what no round can ask of this server.
    expect(warningsIn(events)).toMatchObject([
      { code: "reply_repaired", message: "1 x finish_corrected, 1 x parameter_dropped" },
      { code: "reply_repaired", message: "1 x call_id_minted, 1 x finish_corrected" },
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

  test("is told of a reply that broke off, and of each try", async () => {
    const { agent } = scriptedAgent([
      [{ text: "Ha" }, { cut: true }],
      [{ text: "Half." }, { finish: "nonsense" }],
    ]);
    const { events } = await ended(await start(agent));
    expect(warningsIn(events)).toMatchObject([
      { code: "reply_repaired", message: "1 x parameter_dropped" },
      { code: "model_asked_again" },
      { code: "reply_repaired", message: "1 x finish_unknown, 1 x finish_corrected" },
    ]);
  });
});

const completed = { type: "response.completed", response: { usage: null } };

async function warned(
  stream: (report: (notes: RoundNotes) => void) => AsyncIterable<JsonObject[]>,
): Promise<object[]> {
  const model: Model = { stream: (_request, _signal, report = () => undefined) => stream(report) };
  const { events } = await ended(
    await start(defineAgent({ name: "main", instructions: "", model })),
  );
  return warningsIn(events);
}

describe("what a model of somebody's own tells of a round", () => {
  test("is told, also when it is told behind the last event", async () => {
    const warnings = await warned(async function* stream(report) {
      yield [completed];
      report({ repairs: { finish_corrected: 2, call_id_minted: 1, none: 0 }, attempts: 1 });
    });
    expect(warnings).toMatchObject([
      { code: "reply_repaired", message: "2 x finish_corrected, 1 x call_id_minted" },
    ]);
  });

  test("is told when the model failed", async () => {
    const warnings = await warned(async function* stream(report) {
      report({ attempts: 4, upstream: "two", lessons: ["no stream_options"] });
      yield [];
      throw new ModelError("invalid_key", "no");
    });
    expect(warnings).toMatchObject([
      {
        code: "model_retried",
        message: "asked 4 times, the last time two; learned: no stream_options",
        attempt: 4,
      },
    ]);
  });

  test("is told once, whatever it tells later", async () => {
    const warnings = await warned(async function* stream(report) {
      report({ repairs: { a: 1 } });
      report({ repairs: { b: 1 } });
      yield [completed];
    });
    expect(warnings).toMatchObject([{ message: "1 x a" }]);
  });

  test("is not waited for when it never ends", async () => {
    const began = performance.now();
    const warnings = await warned(async function* stream() {
      yield [completed];
      await new Promise(() => undefined);
    });
    expect(warnings).toEqual([]);
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

test("a lesson is told though there was one try", () => {
  expect(warningsOf({ lessons: ["no tools"] })).toEqual([
    { code: "model_retried", message: "asked 1 time; learned: no tools", attempt: 1 },
  ]);
  expect(warningsOf({})).toEqual([]);
});
