import type { ReactNode } from "react";
import { expect, test } from "vitest";
import {
  callProgressKey,
  modelProgressKey,
  type ToolExecution,
  type OutputItem,
  type TaskApproval,
  type TaskState,
  type TaskTree,
} from "@deltawire/tasks";
import { buildAnswerViewModel } from "../../src/answer/answer-view-model.ts";
import { setDisclosureOpen } from "../../src/answer/disclosure-state.ts";
import { ProgressLine } from "../../src/answer/pending-indicator.tsx";
import { Timeline } from "../../src/answer/timeline.tsx";
import { AppStoreContext, useAppStore } from "../../src/hooks/use-app-store.ts";
import { createCell } from "../../src/cell.ts";
import { renderMarkup, renderAnswer, toVisibleText } from "./render.tsx";
import {
  createCall,
  createMessage,
  createResult,
  createRunningTask,
  createVersion,
  createTaskTree,
} from "./answer-fixtures.ts";

function renderLive(tree: TaskTree, progress: Readonly<Record<string, string>> = {}): string {
  const { timeline } = buildAnswerViewModel(createVersion({ status: "running" }), tree);
  return renderMarkup(
    <ProgressProvider progress={progress}>
      <Timeline timeline={timeline} depth={0} />
    </ProgressProvider>,
  );
}

/** Provides an app store with progress messages. */
function ProgressProvider({
  progress,
  children,
}: {
  progress: Readonly<Record<string, string>>;
  children: ReactNode;
}) {
  const entries = Object.entries(progress).map(([key, message]) => [key, { message }] as const);
  const progressCell = createCell(Object.fromEntries(entries));
  return (
    <AppStoreContext value={{ ...useAppStore(), progress: () => progressCell }}>
      {children}
    </AppStoreContext>
  );
}

test("streaming reasoning shows its elapsed time if its start is known", () => {
  const thinking: OutputItem = {
    type: "reasoning",
    id: "reasoning_1",
    status: "in_progress",
    summary: [],
  };
  const renderText = (overrides: Partial<TaskState>, output: OutputItem[]) =>
    toVisibleText(
      renderLive(createTaskTree([createRunningTask("task_1", { output, ...overrides })])),
    );
  const since = { item_added_at: new Date(Date.now() - 65_000).toISOString() };
  expect(renderText(since, [thinking])).toMatch(/^Thinking … 1 min \d s$/);
  expect(renderText({}, [thinking])).toBe("Thinking …");
  // The start is known only for the last item.
  expect(renderText(since, [thinking, createMessage("Well.")])).toMatch(/^Thinking … Well\./);
});

test("an answer says that it waits before its first output", () => {
  expect(toVisibleText(renderAnswer(createVersion({ status: "running" })))).toBe(
    "Waiting for the answer",
  );
});

const approvalCall = createCall("call_n", {
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
const createHelperCall = (callId: string) =>
  createCall(callId, {
    name: "ask_for_help",
    arguments: '{"name":"forecaster","prompt":"write to Bob"}',
    status: "executing",
    outcome: null,
  });

test("an approval of a sub-agent expands the sub-agent, and is shown in its summary and at the call", () => {
  const tree = createTaskTree(
    [
      createRunningTask("task_1", { output: [createHelperCall("call_h")] }),
      createRunningTask("call_h", { output: [approvalCall] }, "task_1"),
    ],
    [approval],
  );
  const text = toVisibleText(renderLive(tree));
  expect(text).toMatch(
    /^Sub-agent forecaster waiting for you: send_letter 1 step Waiting for approval/,
  );
  expect(text).toContain("send_letter Bob Waiting for approval Allow send_letter?");
});

test("a call with a held result is shown as failed or as waiting for approval", () => {
  const resultApproval: TaskApproval = { ...approval, kind: "result", task_id: "task_1" };
  const createExecution = (outcome: string): ToolExecution => ({
    call_id: "call_n",
    execution_id: "run_1",
    attempt: 1,
    args_hash: "",
    effect: "pure",
    idempotency_key: "",
    outcome,
  });
  const renderText = (outcome: string) => {
    const executions = [createExecution(outcome)];
    const task = createRunningTask("task_1", { output: [approvalCall], executions });
    return toVisibleText(renderLive(createTaskTree([task], [resultApproval])));
  };
  expect(renderText("failed")).toMatch(
    /^send_letter Bob Failed, waiting for you Show the result of/,
  );
  expect(renderText("completed")).toMatch(
    /^send_letter Bob Waiting for approval Show the result of/,
  );
});

test("a call that runs with edited arguments shows the edited ones", () => {
  const editedApproval: TaskApproval = {
    ...approval,
    task_id: "task_1",
    status: "resolved",
    resolution: { decision: "approve", by: "user", scope: "once", arguments: '{"to":"Ann"}' },
  };
  const tree = createTaskTree(
    [createRunningTask("task_1", { output: [approvalCall] })],
    [editedApproval],
  );
  expect(toVisibleText(renderLive(tree))).toMatch(/^send_letter Ann /);
});

test("a sub-agent that the user has collapsed expands only for a new approval", () => {
  const createApprovals = (...ids: string[]) =>
    ids.map((approval_id) => ({ ...approval, approval_id, task_id: "call_collapsed" }));
  const isOpenWith = (...ids: string[]) => {
    const tree = createTaskTree(
      [
        createRunningTask("task_1", { output: [createHelperCall("call_collapsed")] }),
        createRunningTask("call_collapsed", { output: [approvalCall] }, "task_1"),
      ],
      createApprovals(...ids),
    );
    return renderLive(tree).includes("Allow send_letter?");
  };
  expect(isOpenWith("apr_1")).toBe(true);
  setDisclosureOpen("call_collapsed", false, createApprovals("apr_1"));
  expect(isOpenWith("apr_1")).toBe(false);
  expect(isOpenWith("apr_1", "apr_2")).toBe(true);
  setDisclosureOpen("call_collapsed", false, createApprovals("apr_1", "apr_2"));
  expect(isOpenWith("apr_1", "apr_2")).toBe(false);
  expect(isOpenWith("apr_1")).toBe(false);
});

test("whether the user expanded something is remembered for the last 2000 elements", () => {
  const output = [createCall("call_old"), createResult("call_old")];
  const isOpen = () => renderAnswer(createVersion({ output })).includes("Arguments");
  setDisclosureOpen("call_old", true);
  for (let count = 1; count < 2000; count += 1) setDisclosureOpen(`call_other_${count}`, true);
  expect(isOpen()).toBe(true);
  setDisclosureOpen("call_other_last", true);
  expect(isOpen()).toBe(false);
});

test.each([
  ["steer", undefined, "The model will see it in its next round."],
  ["queue", undefined, "The model will see it after this answer."],
  ["steer", 0, ""],
] as const)(
  "a message to a running answer (%s, delivered at %s) shows whether it is pending",
  (delivery, taken_at, hint) => {
    const item = {
      type: "message" as const,
      id: "input_1",
      role: "user" as const,
      content: [{ type: "text" as const, text: "In French" }],
    };
    const input = { item, delivery, ...(taken_at === undefined ? {} : { taken_at }) };
    const tree = createTaskTree([
      createRunningTask("task_1", { output: [createMessage("Bon.")], inputs: [input] }),
    ]);
    const markup = renderLive(tree);
    expect(toVisibleText(markup)).toContain(`You added In French ${hint}`.trim());
    expect(markup.includes("data-waiting")).toBe(hint !== "");
  },
);

test("a running sub-agent shows its current activity and a stop button", () => {
  const createExecution = (call_id: string): ToolExecution => ({
    call_id,
    started_at: new Date().toISOString(),
    execution_id: "exec_1",
    attempt: 1,
    args_hash: "",
    effect: "pure",
    idempotency_key: "",
  });
  const executingCall = createCall("call_w", { status: "executing", outcome: null });
  const tree = createTaskTree([
    createRunningTask("task_1", {
      output: [createHelperCall("call_x")],
      executions: [createExecution("call_x")],
    }),
    createRunningTask(
      "call_x",
      { output: [executingCall], executions: [createExecution("call_w")] },
      "task_1",
    ),
  ]);
  const markup = renderLive(tree);
  expect(toVisibleText(markup)).toMatch(
    /^Sub-agent forecaster get_weather Paris 1 step Running \d+\.\d s$/,
  );
  expect(markup).toContain('aria-label="Stop forecaster"');
});

test("the progress of a sub-agent's call is shown in its line, and that of its model inside", () => {
  const tree = createTaskTree([
    createRunningTask("task_1", { output: [createHelperCall("call_p")] }),
    createRunningTask("call_p", {}, "task_1"),
  ]);
  const [callKey, modelKey] = [callProgressKey("call_p"), modelProgressKey("call_p")];
  const findProgress = (progress: Record<string, string>) =>
    toVisibleText(renderLive(tree, progress)).match(/half way|retrying/g) ?? [];
  const both = { [callKey]: "half way", [modelKey]: "retrying" };
  expect(findProgress({ [modelKey]: "retrying" })).toEqual(["retrying"]);
  expect(findProgress(both)).toEqual(["half way"]);
  setDisclosureOpen("call_p", true);
  expect(findProgress({ [modelKey]: "retrying" })).toEqual(["retrying"]);
  expect(findProgress(both)).toEqual(["half way", "retrying"]);
});

test("progress with a fraction has a percentage, including for screen readers", () => {
  const known = renderMarkup(
    <ProgressLine progress={{ message: "digging", fraction: 0.25 }} label="Dig" />,
  );
  expect(toVisibleText(known)).toBe("25% digging");
  expect(known).toMatch(/<progress [^>]*aria-valuetext="25%"/);
  const unknown = renderMarkup(<ProgressLine progress={{ message: "digging" }} label="Dig" />);
  expect([toVisibleText(unknown), unknown.includes("progress ")]).toEqual(["digging", false]);
});
