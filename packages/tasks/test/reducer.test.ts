import {
  coalesce,
  emptyTree,
  reduce,
  Reducer,
  createSnapshot,
  TaskError,
  buildTaskView,
  snapshotToTree,
  type OutputItem,
  type TaskEvent,
  type TaskEventBody,
  type TaskState,
  type TaskTree,
} from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTaskInfo, numberEvents, sampleLog, usage } from "./sample-log.ts";

const finalTree = reduce(emptyTree, sampleLog);
const anyLength = fc.integer({ min: 0, max: sampleLog.length });

function getRoot(tree: TaskTree): TaskState {
  const root = tree.tasks["task_1"];
  if (root === undefined) throw new Error("no root");
  return root;
}

/** The events of a task with an open message and an open text block. */
const openMessageEvents = numberEvents([
  ["task_1", { type: "task.created", task: createTaskInfo() }],
  [
    "task_1",
    {
      type: "task.output_item.added",
      output_index: 0,
      item: { type: "message", id: "msg_1", role: "assistant", block_list: [] },
    },
  ],
  [
    "task_1",
    {
      type: "task.text.added",
      item_id: "msg_1",
      output_index: 0,
      block_index: 0,
      item: { type: "text", text: "" },
    },
  ],
]);

function applyBodies(state: TaskTree, ...bodies: TaskEventBody[]): TaskTree {
  return reduce(
    state,
    bodies.map((body, index) => ({
      ...body,
      task_id: "task_1",
      sequence_number: state.head + 1 + index,
    })),
  );
}

const delta = (text: string, overrides: object = {}): TaskEventBody => ({
  type: "task.text.delta",
  item_id: "msg_1",
  output_index: 0,
  block_index: 0,
  delta: text,
  ...overrides,
});

function getText(tree: TaskTree): unknown {
  const item = getRoot(tree).output[0];
  const block = item?.type === "message" ? item.block_list[0] : undefined;
  return block?.type === "text" ? block.text : undefined;
}

describe("the reduced state", () => {
  test("has the start time of an execution, and its duration when it has ended", () => {
    const started = { call_id: "call_1", execution_id: "ex_1", attempt: 1, args_hash: "h" };
    const run = { ...started, effect: "pure", idempotency_key: "k" } as const;
    const ts = "2026-01-01T00:00:00.000Z";
    const running = reduce(reduce(emptyTree, openMessageEvents), [
      { type: "task.tool_execution.started", ...run, ts, task_id: "task_1", sequence_number: 3 },
    ]);
    expect(getRoot(running).executions).toEqual([{ ...run, started_at: ts }]);
    const done = applyBodies(running, {
      type: "task.tool_execution.done",
      call_id: "call_1",
      execution_id: "ex_1",
      outcome: "timeout",
      duration_ms: 1500,
    });
    expect(getRoot(done).executions).toEqual([
      { ...run, started_at: ts, outcome: "timeout", duration_ms: 1500 },
    ]);
    expect(snapshotToTree(createSnapshot(done))).toEqual(done);
  });

  test("has the time of the last opened item, which the view does not contain", () => {
    const ts = "2026-01-01T00:00:00.000Z";
    const item: OutputItem = { type: "reasoning", id: "rs_9", summary: [] };
    const added = { type: "task.output_item.added", task_id: "task_1" } as const;
    const before = reduce(emptyTree, openMessageEvents);
    const index = getRoot(before).output.length;
    const event = { ...added, item, output_index: index, sequence_number: before.head + 1 };
    const after = reduce(before, [{ ...event, ts }]);
    expect(getRoot(after).item_added_at).toBe(ts);
    expect(snapshotToTree(createSnapshot(after))).toEqual(after);
    expect(buildTaskView(after)).toEqual(buildTaskView(reduce(before, [event])));
    const withoutTime = applyBodies(after, {
      type: added.type,
      item: { ...item, id: "rs_10" },
      output_index: index + 1,
    });
    expect(getRoot(withoutTime)).not.toHaveProperty("item_added_at");
  });

  test("has the items of the root task with their last status", () => {
    expect(getRoot(finalTree).output).toEqual([
      {
        type: "reasoning",
        id: "rs_1",
        status: "completed",
        summary: [{ type: "text", text: "Thinking of Paris." }],
        content: [{ type: "text", text: "raw" }],
      },
      {
        type: "tool_call",
        id: "fc_1",
        call_id: "call_1",
        name: "ask_for_help",
        arguments: '{"name":"W"}',
        status: "completed",
        outcome: "completed",
        child_task_ids: ["call_1"],
      },
      { type: "tool_result", id: "fco_1", call_id: "call_1", status: "completed", block_list: [] },
      { type: "retracted", id: "msg_1", reason: "upstream_cut" },
      {
        type: "message",
        id: "msg_2",
        role: "assistant",
        status: "completed",
        block_list: [
          {
            type: "text",
            text: "Sunny, 15C.[^1]",
            annotations: [
              { type: "reference_to_block", reference_id: 1, start_index: 11, end_index: 15 },
            ],
          },
        ],
      },
    ]);
  });

  test("has the task of a sub-agent with its last image", () => {
    expect(finalTree.tasks["call_1"]).toMatchObject({
      status: "completed",
      usage: usage(4),
      info: { parent_task_id: "task_1" },
    });
    expect(finalTree.tasks["call_1"]?.output[1]).toMatchObject({
      block_list: [
        { type: "text", text: "15C", id: 1 },
        { type: "image", image_url: { url: "data:,whole" }, id: 1 },
      ],
    });
  });

  test("has usage, rounds, executions and user inputs of the root task", () => {
    const { output: _output, info: _info, ...rest } = getRoot(finalTree);
    expect(rest).toEqual({
      task_id: "task_1",
      status: "completed",
      usage: usage(30),
      tree_usage: usage(34),
      round: 2,
      round_done: true,
      round_started_at_index: 3,
      epoch: 0,
      executions: [
        {
          call_id: "call_1",
          execution_id: "ex_1",
          attempt: 1,
          args_hash: "h",
          effect: "once",
          idempotency_key: "k",
          outcome: "completed",
          duration_ms: 5,
        },
      ],
      inputs: [
        {
          item: {
            type: "message",
            id: "in_1",
            role: "user",
            content: [{ type: "text", text: "short" }],
          },
          delivery: "steer",
          taken_at: 3,
        },
      ],
      warnings: [{ code: "retry", message: "asked again", count: 1 }],
    });
  });

  test("has references and approvals with their task ids", () => {
    expect(finalTree.references).toEqual([
      { reference_id: 1, item_id: "fco_2", block_indexes: [0, 1], task_id: "call_1" },
      {
        reference_id: 1,
        item_id: "fco_1",
        block_indexes: [],
        source: { task_id: "call_1", reference_id: 1 },
        task_id: "task_1",
      },
    ]);
    expect(finalTree.approvals[0]).toEqual({
      approval_id: "ap_1",
      kind: "call",
      call_id: "call_1",
      args_hash: "h",
      choices: ["approve", "deny"],
      task_id: "task_1",
      status: "resolved",
      resolution: { decision: "approve", by: "user", scope: "once" },
    });
  });

  test("does not contain the blocks of a rejected result", () => {
    expect(finalTree.approvals[1]).toEqual({
      approval_id: "ap_2",
      kind: "result",
      call_id: "call_2",
      choices: ["approve", "redact"],
      task_id: "call_1",
      status: "resolved",
      resolution: { decision: "redact", by: "user", scope: "once", replacement: "no" },
    });
    expect(JSON.stringify(finalTree)).not.toContain("secret");
  });

  test("keeps the blocks of a pending and of an approved result, but not of an expired one", () => {
    const block_list = [{ type: "text" as const, text: "held" }];
    const pending = applyBodies(reduce(emptyTree, openMessageEvents), {
      type: "task.approval.requested",
      approval: { approval_id: "ap", kind: "result", choices: ["approve"], block_list },
    });
    expect(pending.approvals[0]).toMatchObject({ status: "pending", block_list });
    const released = applyBodies(pending, {
      type: "task.approval.resolved",
      approval_id: "ap",
      decision: "approve",
      by: "user",
      scope: "once",
    });
    expect(released.approvals[0]).toMatchObject({ status: "resolved", block_list });
    const expired = applyBodies(pending, { type: "task.approval.expired", approval_id: "ap" });
    expect(expired.approvals[0]).toMatchObject({ status: "expired" });
    expect(expired.approvals[0]).not.toHaveProperty("block_list");
  });

  test("keeps the first decision of an approval", () => {
    const resolved = (decision: "approve" | "deny"): TaskEventBody => ({
      type: "task.approval.resolved",
      approval_id: "ap",
      decision,
      by: "user",
      scope: "once",
    });
    const state = applyBodies(
      reduce(emptyTree, openMessageEvents),
      {
        type: "task.approval.requested",
        approval: { approval_id: "ap", kind: "call", choices: ["approve", "deny"] },
      },
      resolved("approve"),
      resolved("deny"),
      { type: "task.approval.expired", approval_id: "ap" },
    );
    expect(state.approvals[0]).toMatchObject({
      status: "resolved",
      resolution: { decision: "approve" },
    });
  });

  test("takes a queued input in the next turn, and a steering input in the next round", () => {
    const input = (id: string, delivery: "steer" | "queue"): TaskEventBody => ({
      type: "task.input.added",
      item: { type: "message", id, role: "user", content: [] },
      delivery,
    });
    const round = (n: number): TaskEventBody => ({
      type: "task.round.started",
      round: n,
      model: "m",
    });
    const done = (n: number): TaskEventBody => ({
      type: "task.round.done",
      round: n,
      finish_reason: "stop",
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
    const call: TaskEventBody = {
      type: "task.output_item.added",
      output_index: 1,
      item: { type: "tool_call", id: "fc", call_id: "c", name: "n", arguments: "" },
    };
    const takenAt = (tree: TaskTree) => getRoot(tree).inputs.map(({ taken_at }) => taken_at);
    const duringTurn = applyBodies(
      reduce(emptyTree, openMessageEvents),
      call,
      done(1),
      input("a", "queue"),
      input("b", "steer"),
      round(2),
    );
    expect(takenAt(duringTurn)).toEqual([undefined, 2]);
    // A turn ends with a round without calls, even if the round is empty.
    expect(takenAt(applyBodies(duringTurn, done(2), round(3)))).toEqual([2, 2]);
    // A round that was cut off is repeated within the same turn.
    expect(takenAt(applyBodies(duringTurn, round(2)))).toEqual([undefined, 2]);
  });

  test("has the reason of a failure, cancellation or expiry", () => {
    const state = reduce(emptyTree, openMessageEvents);
    const error = { code: "upstream", message: "gone", retryable: true };
    const end = { usage: usage(2), state_hash: "" };
    expect(getRoot(applyBodies(state, { type: "task.failed", error, ...end }))).toMatchObject({
      status: "failed",
      error,
      usage: usage(2),
    });
    expect(
      getRoot(applyBodies(state, { type: "task.canceled", by: "user", reason: "enough", ...end })),
    ).toMatchObject({ status: "canceled", ended: { by: "user", reason: "enough" } });
    expect(
      getRoot(applyBodies(state, { type: "task.expired", reason: "idle", ...end })),
    ).toMatchObject({
      status: "expired",
      ended: { reason: "idle" },
    });
  });

  test("has the epoch of a task that was resumed after a crash", () => {
    const state = applyBodies(reduce(emptyTree, openMessageEvents), {
      type: "task.working",
      recovered: true,
      epoch: 2,
    });
    expect(getRoot(state).epoch).toBe(2);
  });
});

describe("the reducer", () => {
  test("ignores an event that was already applied", () => {
    expect(reduce(finalTree, sampleLog)).toBe(finalTree);
    const doubled = sampleLog.flatMap((event) => [event, event]);
    expect(reduce(emptyTree, doubled)).toEqual(finalTree);
  });

  test("throws for an event after a gap, and changes nothing", () => {
    const reducer = new Reducer(reduce(emptyTree, openMessageEvents));
    const before = reducer.state;
    const eventAfterGap = { ...delta("x"), task_id: "task_1", sequence_number: before.head + 2 };
    expect(() => reducer.apply(eventAfterGap)).toThrow(TaskError);
    expect(() => reducer.apply(eventAfterGap)).toThrow(expect.objectContaining({ code: "gap" }));
    expect(reducer.state).toBe(before);
    expect(() => reduce(emptyTree, sampleLog.slice(1))).toThrow("event 1 follows event -1");
  });

  test.each([reduce(emptyTree, openMessageEvents), emptyTree])(
    "ignores an event without a number",
    (before) => {
      const reducer = new Reducer(before);
      reducer.apply({ type: "task.round.progress", task_id: "task_2", round: 0, message: "half" });
      expect(reducer.state).toEqual(before);
      for (const event of sampleLog.slice(before.head + 1, before.head + 2)) reducer.apply(event);
      expect(reducer.head).toBe(before.head + 1);
    },
  );

  test("advances the head by all numbers of a coalesced delta", () => {
    const coalescedDelta = {
      ...delta("abc"),
      task_id: "task_1",
      sequence_number: 7,
      coalesced_from: 3,
    };
    const state = reduce(reduce(emptyTree, openMessageEvents), [coalescedDelta]);
    expect([state.head, getText(state)]).toEqual([7, "abc"]);
  });

  test("appends only the new part of a coalesced delta, according to its offset", () => {
    const known = applyBodies(reduce(emptyTree, openMessageEvents), delta("ab"), delta("cd"));
    const coalescedDelta = (overrides: object): TaskEvent => ({
      ...delta("cdef", overrides),
      task_id: "task_1",
      sequence_number: 6,
      coalesced_from: 4,
    });
    expect(known.head).toBe(4);
    expect(getText(reduce(known, [coalescedDelta({ offset: 2 })]))).toBe("abcdef");
    expect(() => reduce(known, [coalescedDelta({})])).toThrow(
      expect.objectContaining({ code: "gap" }),
    );
    expect(() => reduce(known, [coalescedDelta({ offset: 5 })])).toThrow(
      expect.objectContaining({ code: "gap" }),
    );
  });
});

describe("an unexpected event", () => {
  test("of an unknown type only advances the head", () => {
    const before = reduce(emptyTree, openMessageEvents);
    for (const type of ["task.hologram.done", "constructor", "__proto__"]) {
      const after = reduce(before, [
        { type, task_id: "task_1", sequence_number: 3 } as unknown as TaskEvent,
      ]);
      expect(after).toEqual({ ...before, head: 3 });
      expect(after.tasks).toBe(before.tasks);
    }
  });

  test("keeps its unknown fields of items and blocks", () => {
    const state = applyBodies(
      reduce(emptyTree, openMessageEvents),
      { ...delta("x") },
      {
        type: "task.text.done",
        item_id: "msg_1",
        output_index: 0,
        block_index: 0,
        item: { type: "text", text: "x", mood: "dry" },
      } as TaskEventBody,
      {
        type: "task.text.done",
        item_id: "msg_1",
        output_index: 0,
        block_index: 0,
        item: { type: "text", text: "x" },
      },
      {
        type: "task.output_item.done",
        output_index: 0,
        item: { type: "message", id: "msg_1", role: "assistant", weight: 3 },
      } as TaskEventBody,
    );
    expect(getRoot(state).output[0]).toEqual({
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      weight: 3,
      block_list: [{ type: "text", text: "x", mood: "dry" }],
    });
  });

  test("for a missing task, item or block changes nothing", () => {
    const before = reduce(emptyTree, openMessageEvents);
    const misplacedEvents: TaskEventBody[] = [
      delta("x", { output_index: 7 }),
      delta("x", { block_index: 7 }),
      {
        type: "task.text.done",
        item_id: "msg_1",
        output_index: 0,
        block_index: 7,
        item: { type: "text", text: "x" },
      },
      { type: "task.created", task: createTaskInfo({ agent: "another" }) },
      { type: "task.tool_call_arguments.delta", item_id: "msg_1", output_index: 0, delta: "x" },
      { type: "task.output_item.retracted", item_id: "msg_9", output_index: 9, reason: "none" },
      {
        type: "task.output_item.added",
        output_index: 5,
        item: { type: "reasoning", id: "rs", summary: [] },
      },
    ];
    for (const stray of misplacedEvents)
      expect(applyBodies(before, stray).tasks).toEqual(before.tasks);
    for (const task_id of ["task_9", "constructor", "__proto__"]) {
      const after = reduce(before, [{ ...delta("x"), task_id, sequence_number: 3 }]);
      expect(after.tasks).toEqual(before.tasks);
    }
  });
});

describe("for every split of the log", () => {
  test("reducing one part after the other results in the state of the complete log", () => {
    fc.assert(
      fc.property(anyLength, (index) => {
        const half = reduce(emptyTree, sampleLog.slice(0, index));
        expect(reduce(half, sampleLog.slice(index))).toEqual(finalTree);
      }),
    );
  });

  test("a restored snapshot and the remaining events result in the same state", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: sampleLog.length }), (index) => {
        const snapshot = createSnapshot(reduce(emptyTree, sampleLog.slice(0, index)));
        const restored = snapshotToTree(JSON.parse(JSON.stringify(snapshot)));
        expect(reduce(restored, sampleLog.slice(index))).toEqual(finalTree);
      }),
    );
  });

  test("coalesced and duplicated events result in the same state", () => {
    fc.assert(
      fc.property(anyLength, anyLength, (a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const events = [
          ...sampleLog.slice(0, to),
          ...sampleLog.slice(from, to),
          ...coalesce(sampleLog.slice(to)),
        ];
        expect(reduce(emptyTree, events)).toEqual(finalTree);
      }),
    );
  });

  test("published states are immutable, and unchanged parts stay the same objects", () => {
    fc.assert(
      fc.property(fc.array(anyLength, { maxLength: 12 }), (cuts) => {
        const reducer = new Reducer();
        let before = reducer.state;
        let text = JSON.stringify(before);
        const changedIds = new Set<string>();
        for (const [index, event] of sampleLog.entries()) {
          reducer.apply(structuredClone(event));
          changedIds.add(event.task_id);
          if ("output_index" in event) changedIds.add(`${event.task_id} ${event.output_index}`);
          if (!cuts.includes(index)) continue;
          const after = reducer.state;
          expect(JSON.stringify(before)).toBe(text);
          expect(findNeedlessCopies(before, after, changedIds)).toEqual([]);
          changedIds.clear();
          before = after;
          text = JSON.stringify(after);
        }
      }),
    );
  });

  test("reducing does not change the events", () => {
    const frozen = sampleLog.map((event) => deepFreeze(structuredClone(event)));
    expect(reduce(emptyTree, frozen)).toEqual(finalTree);
  });
});

test("reducing copies only the objects that contain the change", () => {
  const before = applyBodies(reduce(emptyTree, sampleLog.slice(0, -1)), {
    type: "task.output_item.added",
    output_index: 5,
    item: { type: "message", id: "msg_3", role: "assistant", block_list: [] },
  });
  const after = applyBodies(before, {
    type: "task.text.done",
    item_id: "msg_3",
    output_index: 5,
    block_index: 0,
    item: { type: "text", text: "!" },
  });
  expect(after.tasks["call_1"]).toBe(before.tasks["call_1"]);
  expect(
    getRoot(after)
      .output.slice(0, 5)
      .every((item, i) => item === getRoot(before).output[i]),
  ).toBe(true);
  expect(getRoot(after).output[5]).not.toBe(getRoot(before).output[5]);
  expect(after.references).toBe(before.references);
  expect(after.approvals).toBe(before.approvals);
});

test("closing an item keeps the same block objects", () => {
  const closingIndex = sampleLog.findLastIndex((event) => event.type === "task.output_item.done");
  const before = reduce(emptyTree, sampleLog.slice(0, closingIndex));
  const after = reduce(before, sampleLog.slice(closingIndex, closingIndex + 1));
  const [open, done] = [before, after].map((tree) => getRoot(tree).output[4]);
  expect(open).toMatchObject({ status: "in_progress" });
  expect(done).toMatchObject({ status: "completed" });
  expect(getBlocks(done)).toBe(getBlocks(open));
});

function getBlocks(item: TaskState["output"][number] | undefined): unknown {
  return item?.type === "message" ? item.block_list : undefined;
}

/** Returns the ids of tasks and items that were copied although no event changed them. */
function findNeedlessCopies(
  before: TaskTree,
  after: TaskTree,
  changedIds: ReadonlySet<string>,
): string[] {
  return Object.entries(before.tasks).flatMap(([id, task]) => [
    ...(changedIds.has(id) || after.tasks[id] === task ? [] : [id]),
    ...task.output.flatMap((item, index) =>
      changedIds.has(`${id} ${index}`) || after.tasks[id]?.output[index] === item ? [] : [item.id],
    ),
  ]);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

describe("a failed model request that will be repeated", () => {
  const failed: TaskEventBody = {
    type: "task.warning",
    code: "model_retry_scheduled",
    message: "connection refused",
    retry_in_ms: 500,
    attempt: 2,
  };
  const created = applyBodies(emptyTree, { type: "task.created", task: createTaskInfo() });
  const waiting = reduce(created, [
    { ...failed, task_id: "task_1", sequence_number: 1, ts: "2026-01-01T00:00:00.000Z" },
  ]);
  const retry = {
    attempt: 2,
    message: "connection refused",
    retry_in_ms: 500,
    failed_at: "2026-01-01T00:00:00.000Z",
  };

  test("is part of the state, the view and snapshots, with its attempt, cause and wait", () => {
    expect(getRoot(waiting).retry).toEqual(retry);
    expect(buildTaskView(waiting).retry).toEqual(retry);
    expect(getRoot(snapshotToTree(createSnapshot(waiting))).retry).toEqual(retry);
  });

  test("stays while the request is repeated, and is replaced by the next failure", () => {
    const repeated = applyBodies(waiting, { type: "task.round.started", round: 1, model: "m" });
    expect(getRoot(repeated).retry).toEqual(retry);
    expect(getRoot(applyBodies(repeated, { ...failed, attempt: 3 })).retry?.attempt).toBe(3);
  });

  test.each<[string, TaskEventBody]>([
    [
      "the model sends output",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "message", id: "msg_1", role: "assistant", block_list: [] },
      },
    ],
    [
      "the round is done",
      { type: "task.round.done", round: 1, finish_reason: "stop", usage: usage(1) },
    ],
    ["the model reports progress", { type: "task.round.progress", round: 1, message: "drawing" }],
    [
      "the task fails",
      {
        type: "task.failed",
        error: { code: "x", message: "y", retryable: true },
        usage: usage(1),
        state_hash: "",
      },
    ],
    ["another process resumes the task", { type: "task.working", recovered: true, epoch: 1 }],
  ])("is removed when %s", (_what, event) => {
    expect(getRoot(applyBodies(waiting, event))).not.toHaveProperty("retry");
  });

  test("is not set by other warnings", () => {
    const warned = applyBodies(created, {
      type: "task.warning",
      code: "reply_repaired",
      message: "1 x",
    });
    expect(getRoot(warned)).not.toHaveProperty("retry");
  });
});

describe("the model and waiting time of a task", () => {
  const at = (seconds: number, body: TaskEventBody) => ({
    ...body,
    ts: new Date(seconds * 1000).toISOString(),
  });
  const roundStarted = (seconds: number) =>
    at(seconds, { type: "task.round.started", round: 1, model: "m" });
  const roundDone = (seconds: number) =>
    at(seconds, { type: "task.round.done", round: 1, finish_reason: "stop", usage: usage(1) });
  const waiting = (seconds: number) =>
    at(seconds, { type: "task.input_required", approval_ids: [], reason: "approval" });
  const working = (seconds: number, overrides: object = {}) =>
    at(seconds, { type: "task.working", ...overrides });
  const created = numberEvents([["task_1", { type: "task.created", task: createTaskInfo() }]]);
  const after = (...bodies: TaskEventBody[]) =>
    getRoot(applyBodies(reduce(emptyTree, created), ...bodies));

  test("is the sum of all rounds and waits", () => {
    const task = after(
      roundStarted(1),
      roundDone(3),
      waiting(4),
      working(9),
      roundStarted(10),
      roundDone(11),
    );
    expect(task).toMatchObject({ model_ms: 3000, waited_ms: 5000 });
    expect(task.model_since).toBeNull();
    expect(task.waiting_since).toBeNull();
  });

  test("includes an open round or wait at the end of the task", () => {
    expect(after(roundStarted(1)).model_since).toBe("1970-01-01T00:00:01.000Z");
    const end = at(4, { type: "task.completed", usage: usage(1), state_hash: "" });
    const task = after(roundStarted(1), end);
    expect(task).toMatchObject({ model_ms: 3000, ended_at: "1970-01-01T00:00:04.000Z" });
    expect(after(waiting(1), end)).toMatchObject({ waited_ms: 3000 });
  });

  test("does not include the time between the last event before a crash and the recovery", () => {
    const recovered = working(100, { recovered: true, epoch: 1 });
    expect(after(roundStarted(1), recovered, roundStarted(101), roundDone(102)).model_ms).toBe(
      1000,
    );
  });

  test("is absent if the events have no timestamps", () => {
    const task = after({ type: "task.round.started", round: 1, model: "m" }, roundDone(3));
    expect(task).not.toHaveProperty("model_ms");
  });
});

test("equal warnings are counted, and the error of an execution is removed if its result is redacted", () => {
  const created = reduce(
    emptyTree,
    numberEvents([["task_1", { type: "task.created", task: createTaskInfo() }]]),
  );
  const warn = (message: string): TaskEventBody => ({ type: "task.warning", code: "c", message });
  const run = { call_id: "call_1", execution_id: "ex_1" };
  const failed = applyBodies(
    created,
    warn("one"),
    warn("two"),
    warn("one"),
    {
      type: "task.tool_execution.started",
      ...run,
      attempt: 1,
      args_hash: "h",
      effect: "once",
      idempotency_key: "k",
    },
    { type: "task.tool_execution.done", ...run, outcome: "failed", duration_ms: 1, error: "why" },
    {
      type: "task.approval.requested",
      approval: { approval_id: "a", kind: "result", call_id: "call_1", choices: [] },
    },
  );
  expect(getRoot(failed)).toMatchObject({
    warnings: [
      { code: "c", message: "one", count: 2 },
      { code: "c", message: "two", count: 1 },
    ],
    executions: [{ outcome: "failed", error: "why" }],
  });
  const decide = (decision: "approve" | "redact") =>
    getRoot(
      applyBodies(failed, {
        type: "task.approval.resolved",
        approval_id: "a",
        decision,
        by: "user",
        scope: "once",
      }),
    ).executions[0];
  expect(decide("approve")).toMatchObject({ error: "why" });
  expect(decide("redact")).not.toHaveProperty("error");
});
