import type { OutputItem } from "@deltawire/tasks";
import { afterEach, describe, expect, test } from "vitest";
import { estimateStepsHeight } from "../../src/answer/estimate-height.ts";
import { buildAnswerViewModel } from "../../src/answer/answer-view-model.ts";
import { getTimelineSteps } from "../../src/answer/timeline-view-model.ts";
import { forceMountSteps } from "../../src/answer/go-to-call.ts";
import { renderAnswer } from "./render.tsx";
import { createCall, createMessage, createResult, createVersion } from "./answer-fixtures.ts";

const ids = Array.from({ length: 200 }, (_, index) => `call_${index + 1}`);

const outputs = {
  "sequential calls": ids.flatMap((id) => [createCall(id), createResult(id)]),
  "parallel calls": [...ids.map((id) => createCall(id)), ...ids.map((id) => createResult(id))],
};

function listMountedCalls(output: OutputItem[]): string[] {
  const markup = renderAnswer(createVersion({ output }));
  return [...markup.matchAll(/data-call="([^"]+)"/g)].flatMap(([, id]) => id ?? []);
}

afterEach(() => forceMountSteps([]));

describe.each(Object.entries(outputs))("200 %s", (_, output) => {
  test("are only mounted at the start and at the end in the first render", () => {
    const mounted = listMountedCalls(output);
    const last = mounted.slice(16);
    expect(mounted.slice(0, 16)).toEqual(ids.slice(0, 16));
    expect(last.length).toBeGreaterThanOrEqual(16);
    expect(last.length).toBeLessThanOrEqual(32);
    expect(last).toEqual(ids.slice(-last.length));
  });

  test("are mounted elsewhere if the user goes to them", () => {
    forceMountSteps(["call_33"]);
    expect(listMountedCalls(output)).toContain("call_33");
    expect(listMountedCalls(output)).not.toContain("call_60");
  });
});

test("a message with a search match is mounted, even in the middle", () => {
  const output = ids.map((id, index) => ({
    ...createMessage(`Word ${index}`),
    id: `message ${id}`,
  }));
  const render = () => renderAnswer(createVersion({ output }));
  expect(render()).not.toContain("Word 80");
  forceMountSteps(["message call_81"]);
  expect(render()).toContain("Word 80");
});

test.each(Object.entries(outputs))("thirty %s are all mounted at once", (_, output) => {
  const few = new Set(ids.slice(0, 30));
  const mounted = listMountedCalls(
    output.filter((item) => "call_id" in item && few.has(item.call_id)),
  );
  expect(mounted).toEqual([...few]);
});

test("the estimated height of steps grows with the length of messages and the number of calls", () => {
  const estimate = (...output: OutputItem[]) =>
    estimateStepsHeight(getTimelineSteps(buildAnswerViewModel(createVersion({ output })).timeline));
  expect(estimate(createMessage("word"))).toBeLessThan(60);
  expect(estimate(createMessage("line\n".repeat(100)))).toBeGreaterThan(2000);
  expect(estimate(...outputs["parallel calls"])).toBeGreaterThan(8000);
  expect(estimate(...outputs["sequential calls"])).toBeGreaterThan(10_000);
});
