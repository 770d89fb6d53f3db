import type { OutputItem } from "@deltawire/tasks";
import { afterEach, describe, expect, test } from "vitest";
import { guessedHeight } from "../../src/answer/guessed-height.ts";
import { answerView } from "../../src/answer/answer-view.ts";
import { stepsIn } from "../../src/answer/timeline-view.ts";
import { wantSteps } from "../../src/answer/go-to-call.ts";
import { drawAnswer } from "./draw.tsx";
import { call, message, result, sampleVersion } from "./sample-answer.ts";

const ids = Array.from({ length: 200 }, (_, at) => `call_${at + 1}`);

/** Calls one after the other, and calls that the model made in one go. */
const shapes = {
  "call after call": ids.flatMap((id) => [call(id), result(id)]),
  "calls in one go": [...ids.map((id) => call(id)), ...ids.map((id) => result(id))],
};

function drawnCalls(output: OutputItem[]): string[] {
  const drawn = drawAnswer(sampleVersion({ output }));
  return [...drawn.matchAll(/data-call="([^"]+)"/g)].flatMap(([, id]) => id ?? []);
}

afterEach(() => wantSteps([]));

describe.each(Object.entries(shapes))("of two hundred, %s,", (_, output) => {
  test("the first and those at the end are drawn before anybody has looked at where they are", () => {
    const drawn = drawnCalls(output);
    const last = drawn.slice(16);
    expect(drawn.slice(0, 16)).toEqual(ids.slice(0, 16));
    expect(last.length).toBeGreaterThanOrEqual(16);
    expect(last.length).toBeLessThanOrEqual(32);
    expect(last).toEqual(ids.slice(-last.length));
  });

  test("one that somebody goes to is drawn as well, wherever it is", () => {
    wantSteps(["call_33"]);
    expect(drawnCalls(output)).toContain("call_33");
    expect(drawnCalls(output)).not.toContain("call_60");
  });
});

test("a message that somebody looks for is drawn, wherever it is", () => {
  const output = ids.map((id, at) => ({ ...message(`Word ${at}`), id: `said ${id}` }));
  const drawn = () => drawAnswer(sampleVersion({ output }));
  expect(drawn()).not.toContain("Word 80");
  wantSteps(["said call_81"]);
  expect(drawn()).toContain("Word 80");
});

test.each(Object.entries(shapes))("of thirty, %s, all are drawn at once", (_, output) => {
  const few = new Set(ids.slice(0, 30));
  const drawn = drawnCalls(output.filter((item) => "call_id" in item && few.has(item.call_id)));
  expect(drawn).toEqual([...few]);
});

test("a message is guessed to be higher the longer it is, and a group the more it has", () => {
  const height = (...output: OutputItem[]) =>
    guessedHeight(stepsIn(answerView(sampleVersion({ output })).timeline));
  expect(height(message("word"))).toBeLessThan(60);
  expect(height(message("line\n".repeat(100)))).toBeGreaterThan(2000);
  expect(height(...shapes["calls in one go"])).toBeGreaterThan(8000);
  expect(height(...shapes["call after call"])).toBeGreaterThan(10_000);
});
