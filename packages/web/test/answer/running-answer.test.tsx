import type { ReactNode } from "react";
import { expect, test } from "vitest";
import {
  callProgressKey,
  modelProgressKey,
  type Execution,
  type OutputItem,
  type TaskApproval,
  type TaskState,
  type TaskTree,
} from "@deltawire/tasks";
import { answerView } from "../../src/answer/answer-view.ts";
import { setFold } from "../../src/answer/folds.ts";
import { ProgressLine } from "../../src/answer/awaiting.tsx";
import { Timeline } from "../../src/answer/timeline.tsx";
import { PageContext, usePage } from "../../src/hooks/use-page.ts";
import { cell } from "../../src/cell.ts";
import { draw, drawAnswer, wordsIn } from "./draw.tsx";
import { call, message, result, runningTask, sampleVersion, treeOfTasks } from "./sample-answer.ts";

/* An answer that is not whole yet. */

function drawLive(tree: TaskTree, told: Readonly<Record<string, string>> = {}): string {
  const { timeline } = answerView(sampleVersion({ status: "running" }), tree);
  return draw(
    <Telling told={told}>
      <Timeline timeline={timeline} depth={0} />
    </Telling>,
  );
}

/** A page that knows how far things are. */
function Telling({
  told,
  children,
}: {
  told: Readonly<Record<string, string>>;
  children: ReactNode;
}) {
  const reports = Object.entries(told).map(([key, message]) => [key, { message }] as const);
  const known = cell(Object.fromEntries(reports));
  return <PageContext value={{ ...usePage(), progress: () => known }}>{children}</PageContext>;
}

test("a thought that goes on says since when, where the task knows it, and nothing where nobody does", () => {
  const thinking: OutputItem = {
    type: "reasoning",
    id: "reasoning_1",
    status: "in_progress",
    summary: [],
  };
  const wordsOf = (given: Partial<TaskState>, output: OutputItem[]) =>
    wordsIn(drawLive(treeOfTasks([runningTask("task_1", { output, ...given })])));
  const since = { item_added_at: new Date(Date.now() - 65_000).toISOString() };
  expect(wordsOf(since, [thinking])).toMatch(/^Thinking … 1 min \d s$/);
  expect(wordsOf({}, [thinking])).toBe("Thinking …");
  // Known of the last item alone.
  expect(wordsOf(since, [thinking, message("Well.")])).toMatch(/^Thinking … Well\./);
});

test("where nothing has come there is a caret", () => {
  expect(wordsIn(drawAnswer(sampleVersion({ status: "running" })))).toBe(
    "The answer is on its way",
  );
});

const asking = call("call_n", {
  name: "send_letter",
  arguments: '{"to":"Bob"}',
  status: "awaiting_approval",
  outcome: null,
});
const approval: TaskApproval = {
  approval_id: "apr_1",
  kind: "call",
  call_id: "call_n",
  tool: "send_letter",
  choices: ["approve", "deny"],
  task_id: "call_h",
  status: "pending",
};
const helping = (callId: string) =>
  call(callId, {
    name: "ask_for_help",
    arguments: '{"name":"forecaster","prompt":"write to Bob"}',
    status: "executing",
    outcome: null,
  });

test("an approval below a sub-agent opens it, and is told by its line and asked in its place", () => {
  const tree = treeOfTasks(
    [
      runningTask("task_1", { output: [helping("call_h")] }),
      runningTask("call_h", { output: [asking] }, "task_1"),
    ],
    [approval],
  );
  const words = wordsIn(drawLive(tree));
  expect(words).toMatch(
    /^Sub-agent forecaster waits for you: send_letter 1 step Waiting for approval/,
  );
  expect(words).toContain("send_letter Bob Waiting for approval May send_letter run?");
});

test("a failure that is held says that it failed, and another result that it waits", () => {
  const held: TaskApproval = { ...approval, kind: "result", task_id: "task_1" };
  const ran = (outcome: string): Execution => ({
    call_id: "call_n",
    execution_id: "run_1",
    attempt: 1,
    args_hash: "",
    effect: "pure",
    idempotency_key: "",
    outcome,
  });
  const wordsOf = (outcome: string) =>
    wordsIn(
      drawLive(
        treeOfTasks(
          [runningTask("task_1", { output: [asking], executions: [ran(outcome)] })],
          [held],
        ),
      ),
    );
  expect(wordsOf("failed")).toMatch(/^send_letter Bob Failed, waiting for you May the model/);
  expect(wordsOf("completed")).toMatch(/^send_letter Bob Waiting for approval May the model/);
});

test("a call that runs with changed arguments shows those", () => {
  const changed: TaskApproval = {
    ...approval,
    task_id: "task_1",
    status: "resolved",
    resolution: { decision: "approve", by: "user", scope: "once", arguments: '{"to":"Ann"}' },
  };
  const tree = treeOfTasks([runningTask("task_1", { output: [asking] })], [changed]);
  expect(wordsIn(drawLive(tree))).toMatch(/^send_letter Ann /);
});

test("what a reader has folded stays folded while nothing else is asked within", () => {
  const questions = (...ids: string[]) =>
    ids.map((approval_id) => ({ ...approval, approval_id, task_id: "call_folded" }));
  const isOpenWith = (...ids: string[]) => {
    const tree = treeOfTasks(
      [
        runningTask("task_1", { output: [helping("call_folded")] }),
        runningTask("call_folded", { output: [asking] }, "task_1"),
      ],
      questions(...ids),
    );
    return drawLive(tree).includes("May send_letter run?");
  };
  expect(isOpenWith("apr_1")).toBe(true);
  setFold("call_folded", false, questions("apr_1"));
  expect(isOpenWith("apr_1")).toBe(false);
  expect(isOpenWith("apr_1", "apr_2")).toBe(true);
  setFold("call_folded", false, questions("apr_1", "apr_2"));
  expect(isOpenWith("apr_1", "apr_2")).toBe(false);
  expect(isOpenWith("apr_1")).toBe(false);
});

test("what was folded is remembered, but not without end", () => {
  const output = [call("call_old"), result("call_old")];
  const isOpen = () => drawAnswer(sampleVersion({ output })).includes("Arguments");
  setFold("call_old", true);
  for (let count = 1; count < 2000; count += 1) setFold(`call_other_${count}`, true);
  expect(isOpen()).toBe(true);
  setFold("call_other_last", true);
  expect(isOpen()).toBe(false);
});

test.each([
  ["steer", undefined, "The model hears it at its next step."],
  ["queue", undefined, "The model hears it when it has answered."],
  ["steer", 0, ""],
] as const)(
  "what was said meanwhile (%s, heard at %s) says whether it waits",
  (delivery, taken_at, waits) => {
    const item = {
      type: "message" as const,
      id: "input_1",
      role: "user" as const,
      content: [{ type: "text" as const, text: "In French" }],
    };
    const input = { item, delivery, ...(taken_at === undefined ? {} : { taken_at }) };
    const tree = treeOfTasks([
      runningTask("task_1", { output: [message("Bon.")], inputs: [input] }),
    ]);
    const markup = drawLive(tree);
    expect(wordsIn(markup)).toContain(`You, meanwhile In French ${waits}`.trim());
    expect(markup.includes("data-waiting")).toBe(waits !== "");
  },
);

test("a sub-agent that works says what it does, at any depth, and can be stopped", () => {
  const execution = (call_id: string): Execution => ({
    call_id,
    started_at: new Date().toISOString(),
    execution_id: "exec_1",
    attempt: 1,
    args_hash: "",
    effect: "pure",
    idempotency_key: "",
  });
  const working = call("call_w", { status: "executing", outcome: null });
  const tree = treeOfTasks([
    runningTask("task_1", { output: [helping("call_x")], executions: [execution("call_x")] }),
    runningTask("call_x", { output: [working], executions: [execution("call_w")] }, "task_1"),
  ]);
  const markup = drawLive(tree);
  expect(wordsIn(markup)).toMatch(
    /^Sub-agent forecaster get_weather Paris 1 step Running \d+\.\d s$/,
  );
  expect(markup).toContain('aria-label="Stop forecaster"');
});

test("of a call and of the model of its sub-agent each is shown what it tells, and once", () => {
  const tree = treeOfTasks([
    runningTask("task_1", { output: [helping("call_p")] }),
    runningTask("call_p", {}, "task_1"),
  ]);
  const [ofCall, ofModel] = [callProgressKey("call_p"), modelProgressKey("call_p")];
  const shown = (told: Record<string, string>) =>
    wordsIn(drawLive(tree, told)).match(/half way|asked again/g) ?? [];
  const both = { [ofCall]: "half way", [ofModel]: "asked again" };
  expect(shown({ [ofModel]: "asked again" })).toEqual(["asked again"]);
  expect(shown(both)).toEqual(["half way"]);
  setFold("call_p", true);
  expect(shown({ [ofModel]: "asked again" })).toEqual(["asked again"]);
  expect(shown(both)).toEqual(["half way", "asked again"]);
});

test("how far something is is told as a number, to those who see and those who hear, where it is known", () => {
  const told = draw(<ProgressLine progress={{ message: "digging", fraction: 0.25 }} label="Dig" />);
  expect(wordsIn(told)).toBe("25% digging");
  expect(told).toMatch(/<progress [^>]*aria-valuetext="25%"/);
  const unknown = draw(<ProgressLine progress={{ message: "digging" }} label="Dig" />);
  expect([wordsIn(unknown), unknown.includes("progress ")]).toEqual(["digging", false]);
});
