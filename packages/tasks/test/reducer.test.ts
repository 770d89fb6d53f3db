import {
  coalesce,
  emptyTree,
  reduce,
  Reducer,
  snapshotOf,
  TaskError,
  taskView,
  treeOf,
  type OutputItem,
  type TaskEvent,
  type TaskEventBody,
  type TaskState,
  type TaskTree,
} from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { info, numbered, sampleLog, usage } from "./sample-log.ts";

const whole = reduce(emptyTree, sampleLog);
const cut = fc.integer({ min: 0, max: sampleLog.length });

function rootOf(tree: TaskTree): TaskState {
  const root = tree.tasks["task_1"];
  if (root === undefined) throw new Error("no root");
  return root;
}

/** A message that is open, its text block too. */
const opened = numbered([
  ["task_1", { type: "task.created", task: info() }],
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

function next(state: TaskTree, ...bodies: TaskEventBody[]): TaskTree {
  return reduce(
    state,
    bodies.map((body, index) => ({
      ...body,
      task_id: "task_1",
      sequence_number: state.head + 1 + index,
    })),
  );
}

const delta = (text: string, more: object = {}): TaskEventBody => ({
  type: "task.text.delta",
  item_id: "msg_1",
  output_index: 0,
  block_index: 0,
  delta: text,
  ...more,
});

function textOf(tree: TaskTree): unknown {
  const item = rootOf(tree).output[0];
  const block = item?.type === "message" ? item.block_list[0] : undefined;
  return block?.type === "text" ? block.text : undefined;
}

describe("what the events amount to", () => {
  test("a run of a tool has the time of its first event, and once it is over how long it took", () => {
    const started = { call_id: "call_1", execution_id: "ex_1", attempt: 1, args_hash: "h" };
    const run = { ...started, effect: "pure", idempotency_key: "k" } as const;
    const ts = "2026-01-01T00:00:00.000Z";
    const begun = reduce(reduce(emptyTree, opened), [
      { type: "task.tool_execution.started", ...run, ts, task_id: "task_1", sequence_number: 3 },
    ]);
    expect(rootOf(begun).executions).toEqual([{ ...run, started_at: ts }]);
    const over = next(begun, {
      type: "task.tool_execution.done",
      call_id: "call_1",
      execution_id: "ex_1",
      outcome: "timeout",
      duration_ms: 1500,
    });
    expect(rootOf(over).executions).toEqual([
      { ...run, started_at: ts, outcome: "timeout", duration_ms: 1500 },
    ]);
    expect(treeOf(snapshotOf(over))).toEqual(over);
  });

  test("a task says when its last item was opened, in its state and not in its view", () => {
    const ts = "2026-01-01T00:00:00.000Z";
    const item: OutputItem = { type: "reasoning", id: "rs_9", summary: [] };
    const added = { type: "task.output_item.added", task_id: "task_1" } as const;
    const before = reduce(emptyTree, opened);
    const at = rootOf(before).output.length;
    const event = { ...added, item, output_index: at, sequence_number: before.head + 1 };
    const thinks = reduce(before, [{ ...event, ts }]);
    expect(rootOf(thinks).item_added_at).toBe(ts);
    expect(treeOf(snapshotOf(thinks))).toEqual(thinks);
    expect(taskView(thinks)).toEqual(taskView(reduce(before, [event])));
    const untold = next(thinks, {
      type: added.type,
      item: { ...item, id: "rs_10" },
      output_index: at + 1,
    });
    expect(rootOf(untold)).not.toHaveProperty("item_added_at");
  });

  test("the items of the root, with their last status", () => {
    expect(rootOf(whole).output).toEqual([
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

  test("the sub-agent's task stands beside it, with the last of its pictures", () => {
    expect(whole.tasks["call_1"]).toMatchObject({
      status: "completed",
      usage: usage(4),
      info: { parent_task_id: "task_1" },
    });
    expect(whole.tasks["call_1"]?.output[1]).toMatchObject({
      block_list: [
        { type: "text", text: "15C", id: 1 },
        { type: "image", image_url: { url: "data:,whole" }, id: 1 },
      ],
    });
  });

  test("the rest of the root: usage, rounds, executions and the user's words", () => {
    const { output: _output, info: _info, ...rest } = rootOf(whole);
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

  test("references and approvals know their task", () => {
    expect(whole.references).toEqual([
      { reference_id: 1, item_id: "fco_2", block_indexes: [0, 1], task_id: "call_1" },
      {
        reference_id: 1,
        item_id: "fco_1",
        block_indexes: [],
        source: { task_id: "call_1", reference_id: 1 },
        task_id: "task_1",
      },
    ]);
    expect(whole.approvals[0]).toEqual({
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

  test("a held result is forgotten when it is refused", () => {
    expect(whole.approvals[1]).toEqual({
      approval_id: "ap_2",
      kind: "result",
      call_id: "call_2",
      choices: ["approve", "redact"],
      task_id: "call_1",
      status: "resolved",
      resolution: { decision: "redact", by: "user", scope: "once", replacement: "no" },
    });
    expect(JSON.stringify(whole)).not.toContain("secret");
  });

  test("a held result is kept while it is asked for and when it is released, and forgotten when time is up", () => {
    const block_list = [{ type: "text" as const, text: "held" }];
    const asked = next(reduce(emptyTree, opened), {
      type: "task.approval.requested",
      approval: { approval_id: "ap", kind: "result", choices: ["approve"], block_list },
    });
    expect(asked.approvals[0]).toMatchObject({ status: "pending", block_list });
    const released = next(asked, {
      type: "task.approval.resolved",
      approval_id: "ap",
      decision: "approve",
      by: "user",
      scope: "once",
    });
    expect(released.approvals[0]).toMatchObject({ status: "resolved", block_list });
    const expired = next(asked, { type: "task.approval.expired", approval_id: "ap" });
    expect(expired.approvals[0]).toMatchObject({ status: "expired" });
    expect(expired.approvals[0]).not.toHaveProperty("block_list");
  });

  test("the first decision holds", () => {
    const resolved = (decision: "approve" | "deny"): TaskEventBody => ({
      type: "task.approval.resolved",
      approval_id: "ap",
      decision,
      by: "user",
      scope: "once",
    });
    const state = next(
      reduce(emptyTree, opened),
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

  test("a queued word waits for the end of a turn, a steering one only for the next round", () => {
    const said = (id: string, delivery: "steer" | "queue"): TaskEventBody => ({
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
    const taken = (tree: TaskTree) => rootOf(tree).inputs.map((input) => input.taken_at);
    const amidst = next(
      reduce(emptyTree, opened),
      call,
      done(1),
      said("a", "queue"),
      said("b", "steer"),
      round(2),
    );
    expect(taken(amidst)).toEqual([undefined, 2]);
    // A turn is over that called nothing, also if it said nothing.
    expect(taken(next(amidst, done(2), round(3)))).toEqual([2, 2]);
    // A round that was cut off is asked again, and the turn goes on.
    expect(taken(next(amidst, round(2)))).toEqual([undefined, 2]);
  });

  test("failure, cancellation and expiry say why", () => {
    const state = reduce(emptyTree, opened);
    const error = { code: "upstream", message: "gone", retryable: true };
    const end = { usage: usage(2), state_hash: "" };
    expect(rootOf(next(state, { type: "task.failed", error, ...end }))).toMatchObject({
      status: "failed",
      error,
      usage: usage(2),
    });
    expect(
      rootOf(next(state, { type: "task.canceled", by: "user", reason: "enough", ...end })),
    ).toMatchObject({ status: "canceled", ended: { by: "user", reason: "enough" } });
    expect(rootOf(next(state, { type: "task.expired", reason: "idle", ...end }))).toMatchObject({
      status: "expired",
      ended: { reason: "idle" },
    });
  });

  test("a takeover after a crash is counted", () => {
    const state = next(reduce(emptyTree, opened), {
      type: "task.working",
      recovered: true,
      epoch: 2,
    });
    expect(rootOf(state).epoch).toBe(2);
  });
});

describe("numbers", () => {
  test("an event that was applied already changes nothing", () => {
    expect(reduce(whole, sampleLog)).toBe(whole);
    const doubled = sampleLog.flatMap((event) => [event, event]);
    expect(reduce(emptyTree, doubled)).toEqual(whole);
  });

  test("an event whose predecessor is missing is a gap, and changes nothing", () => {
    const reducer = new Reducer(reduce(emptyTree, opened));
    const before = reducer.state;
    const late = { ...delta("x"), task_id: "task_1", sequence_number: before.head + 2 };
    expect(() => reducer.apply(late)).toThrow(TaskError);
    expect(() => reducer.apply(late)).toThrow(expect.objectContaining({ code: "gap" }));
    expect(reducer.state).toBe(before);
    expect(() => reduce(emptyTree, sampleLog.slice(1))).toThrow("event 1 came after event -1");
  });

  test.each([reduce(emptyTree, opened), emptyTree])(
    "an event that a connection tells without a number changes nothing",
    (before) => {
      const reducer = new Reducer(before);
      reducer.apply({ type: "task.round.progress", task_id: "task_2", round: 0, message: "half" });
      expect(reducer.state).toEqual(before);
      for (const event of sampleLog.slice(before.head + 1, before.head + 2)) reducer.apply(event);
      expect(reducer.head).toBe(before.head + 1);
    },
  );

  test("a joined delta counts for all of its numbers", () => {
    const joined = { ...delta("abc"), task_id: "task_1", sequence_number: 7, coalesced_from: 3 };
    const state = reduce(reduce(emptyTree, opened), [joined]);
    expect([state.head, textOf(state)]).toEqual([7, "abc"]);
  });

  test("of a joined delta that is half known, its offset tells the new half", () => {
    const known = next(reduce(emptyTree, opened), delta("ab"), delta("cd"));
    const joined = (more: object): TaskEvent => ({
      ...delta("cdef", more),
      task_id: "task_1",
      sequence_number: 6,
      coalesced_from: 4,
    });
    expect(known.head).toBe(4);
    expect(textOf(reduce(known, [joined({ offset: 2 })]))).toBe("abcdef");
    expect(() => reduce(known, [joined({})])).toThrow(expect.objectContaining({ code: "gap" }));
    expect(() => reduce(known, [joined({ offset: 5 })])).toThrow(
      expect.objectContaining({ code: "gap" }),
    );
  });
});

describe("what does not fit", () => {
  test("an unknown type only moves the head", () => {
    const before = reduce(emptyTree, opened);
    for (const type of ["task.hologram.done", "constructor", "__proto__"]) {
      const after = reduce(before, [
        { type, task_id: "task_1", sequence_number: 3 } as unknown as TaskEvent,
      ]);
      expect(after).toEqual({ ...before, head: 3 });
      expect(after.tasks).toBe(before.tasks);
    }
  });

  test("unknown fields of items and blocks survive", () => {
    const state = next(
      reduce(emptyTree, opened),
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
    expect(rootOf(state).output[0]).toEqual({
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      weight: 3,
      block_list: [{ type: "text", text: "x", mood: "dry" }],
    });
  });

  test("an event for a task, an item or a block that is not there changes nothing", () => {
    const before = reduce(emptyTree, opened);
    const strays: TaskEventBody[] = [
      delta("x", { output_index: 7 }),
      delta("x", { block_index: 7 }),
      {
        type: "task.text.done",
        item_id: "msg_1",
        output_index: 0,
        block_index: 7,
        item: { type: "text", text: "x" },
      },
      { type: "task.created", task: info({ agent: "another" }) },
      { type: "task.tool_call_arguments.delta", item_id: "msg_1", output_index: 0, delta: "x" },
      { type: "task.output_item.retracted", item_id: "msg_9", output_index: 9, reason: "none" },
      {
        type: "task.output_item.added",
        output_index: 5,
        item: { type: "reasoning", id: "rs", summary: [] },
      },
    ];
    for (const stray of strays) expect(next(before, stray).tasks).toEqual(before.tasks);
    for (const task_id of ["task_9", "constructor", "__proto__"]) {
      const after = reduce(before, [{ ...delta("x"), task_id, sequence_number: 3 }]);
      expect(after.tasks).toEqual(before.tasks);
    }
  });
});

describe("for every cut", () => {
  test("the state of a part and then the rest is the state of the whole", () => {
    fc.assert(
      fc.property(cut, (at) => {
        const half = reduce(emptyTree, sampleLog.slice(0, at));
        expect(reduce(half, sampleLog.slice(at))).toEqual(whole);
      }),
    );
  });

  test("a snapshot, written and read, goes on as the events would have", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: sampleLog.length }), (at) => {
        const snapshot = snapshotOf(reduce(emptyTree, sampleLog.slice(0, at)));
        const read = treeOf(JSON.parse(JSON.stringify(snapshot)));
        expect(reduce(read, sampleLog.slice(at))).toEqual(whole);
      }),
    );
  });

  test("joined events, with doubled ones before them, come to the same", () => {
    fc.assert(
      fc.property(cut, cut, (a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const events = [
          ...sampleLog.slice(0, to),
          ...sampleLog.slice(from, to),
          ...coalesce(sampleLog.slice(to)),
        ];
        expect(reduce(emptyTree, events)).toEqual(whole);
      }),
    );
  });

  test("what was read is never changed again, and what was not touched is the same object", () => {
    fc.assert(
      fc.property(fc.array(cut, { maxLength: 12 }), (cuts) => {
        const reducer = new Reducer();
        let before = reducer.state;
        let text = JSON.stringify(before);
        const touched = new Set<string>();
        for (const [index, event] of sampleLog.entries()) {
          reducer.apply(structuredClone(event));
          touched.add(event.task_id);
          if ("output_index" in event) touched.add(`${event.task_id} ${event.output_index}`);
          if (!cuts.includes(index)) continue;
          const after = reducer.state;
          expect(JSON.stringify(before)).toBe(text);
          expect(needlesslyNew(before, after, touched)).toEqual([]);
          touched.clear();
          before = after;
          text = JSON.stringify(after);
        }
      }),
    );
  });

  test("events are not changed either", () => {
    const frozen = sampleLog.map((event) => deepFreeze(structuredClone(event)));
    expect(reduce(emptyTree, frozen)).toEqual(whole);
  });
});

test("only the path to what was touched is new", () => {
  const before = next(reduce(emptyTree, sampleLog.slice(0, -1)), {
    type: "task.output_item.added",
    output_index: 5,
    item: { type: "message", id: "msg_3", role: "assistant", block_list: [] },
  });
  const after = next(before, {
    type: "task.text.done",
    item_id: "msg_3",
    output_index: 5,
    block_index: 0,
    item: { type: "text", text: "!" },
  });
  expect(after.tasks["call_1"]).toBe(before.tasks["call_1"]);
  expect(
    rootOf(after)
      .output.slice(0, 5)
      .every((item, i) => item === rootOf(before).output[i]),
  ).toBe(true);
  expect(rootOf(after).output[5]).not.toBe(rootOf(before).output[5]);
  expect(after.references).toBe(before.references);
  expect(after.approvals).toBe(before.approvals);
});

test("an item that closes keeps the blocks that its last event repeats", () => {
  const closes = sampleLog.findLastIndex((event) => event.type === "task.output_item.done");
  const before = reduce(emptyTree, sampleLog.slice(0, closes));
  const after = reduce(before, sampleLog.slice(closes, closes + 1));
  const [open, done] = [before, after].map((tree) => rootOf(tree).output[4]);
  expect(open).toMatchObject({ status: "in_progress" });
  expect(done).toMatchObject({ status: "completed" });
  expect(blocksOf(done)).toBe(blocksOf(open));
});

function blocksOf(item: TaskState["output"][number] | undefined): unknown {
  return item?.type === "message" ? item.block_list : undefined;
}

/** What no event was about and is another object all the same. */
function needlesslyNew(before: TaskTree, after: TaskTree, touched: ReadonlySet<string>): string[] {
  return Object.entries(before.tasks).flatMap(([id, task]) => [
    ...(touched.has(id) || after.tasks[id] === task ? [] : [id]),
    ...task.output.flatMap((item, index) =>
      touched.has(`${id} ${index}`) || after.tasks[id]?.output[index] === item ? [] : [item.id],
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

describe("a model that is asked again after a failure", () => {
  const failed: TaskEventBody = {
    type: "task.warning",
    code: "model_asked_again",
    message: "connection refused",
    retry_in_ms: 500,
    attempt: 2,
  };
  const created = next(emptyTree, { type: "task.created", task: info() });
  const waiting = reduce(created, [
    { ...failed, task_id: "task_1", sequence_number: 1, ts: "2026-01-01T00:00:00.000Z" },
  ]);
  const retry = {
    attempt: 2,
    message: "connection refused",
    retry_in_ms: 500,
    failed_at: "2026-01-01T00:00:00.000Z",
  };

  test("is in the state, in the view and in a snapshot: attempt, cause and wait", () => {
    expect(rootOf(waiting).retry).toEqual(retry);
    expect(taskView(waiting).retry).toEqual(retry);
    expect(rootOf(treeOf(snapshotOf(waiting))).retry).toEqual(retry);
  });

  test("is still there while it is asked, and replaced by the next failure", () => {
    const asked = next(waiting, { type: "task.round.started", round: 1, model: "m" });
    expect(rootOf(asked).retry).toEqual(retry);
    expect(rootOf(next(asked, { ...failed, attempt: 3 })).retry?.attempt).toBe(3);
  });

  test.each<[string, TaskEventBody]>([
    [
      "says something",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "message", id: "msg_1", role: "assistant", block_list: [] },
      },
    ],
    ["is done", { type: "task.round.done", round: 1, finish_reason: "stop", usage: usage(1) }],
    ["tells how far it is", { type: "task.round.progress", round: 1, message: "drawing" }],
    [
      "is given up",
      {
        type: "task.failed",
        error: { code: "x", message: "y", retryable: true },
        usage: usage(1),
        state_hash: "",
      },
    ],
    ["is asked by another process", { type: "task.working", recovered: true, epoch: 1 }],
  ])("is gone as soon as it %s", (_what, event) => {
    expect(rootOf(next(waiting, event))).not.toHaveProperty("retry");
  });

  test("leaves no trace of a warning that says nothing of a retry", () => {
    const warned = next(created, { type: "task.warning", code: "reply_repaired", message: "1 x" });
    expect(rootOf(warned)).not.toHaveProperty("retry");
  });
});

describe("how long a task took", () => {
  const at = (seconds: number, body: TaskEventBody) => ({
    ...body,
    ts: new Date(seconds * 1000).toISOString(),
  });
  const asked = (seconds: number) =>
    at(seconds, { type: "task.round.started", round: 1, model: "m" });
  const answered = (seconds: number) =>
    at(seconds, { type: "task.round.done", round: 1, finish_reason: "stop", usage: usage(1) });
  const waits = (seconds: number) =>
    at(seconds, { type: "task.input_required", approval_ids: [], reason: "approval" });
  const works = (seconds: number, more: object = {}) =>
    at(seconds, { type: "task.working", ...more });
  const created = numbered([["task_1", { type: "task.created", task: info() }]]);
  const after = (...bodies: TaskEventBody[]) => rootOf(next(reduce(emptyTree, created), ...bodies));

  test("is summed up over rounds and waits", () => {
    const task = after(asked(1), answered(3), waits(4), works(9), asked(10), answered(11));
    expect(task).toMatchObject({ model_ms: 3000, waited_ms: 5000 });
    expect(task.model_since).toBeNull();
    expect(task.waiting_since).toBeNull();
  });

  test("goes on until the end of the task", () => {
    expect(after(asked(1)).model_since).toBe("1970-01-01T00:00:01.000Z");
    const end = at(4, { type: "task.completed", usage: usage(1), state_hash: "" });
    const task = after(asked(1), end);
    expect(task).toMatchObject({ model_ms: 3000, ended_at: "1970-01-01T00:00:04.000Z" });
    expect(after(waits(1), end)).toMatchObject({ waited_ms: 3000 });
  });

  test("has nothing of the time in which no process was there", () => {
    const recovered = works(100, { recovered: true, epoch: 1 });
    expect(after(asked(1), recovered, asked(101), answered(102)).model_ms).toBe(1000);
  });

  test("is not known where events tell no time", () => {
    const task = after({ type: "task.round.started", round: 1, model: "m" }, answered(3));
    expect(task).not.toHaveProperty("model_ms");
  });
});

test("equal warnings are counted, and why a run failed is forgotten with a refused result", () => {
  const created = reduce(emptyTree, numbered([["task_1", { type: "task.created", task: info() }]]));
  const warn = (message: string): TaskEventBody => ({ type: "task.warning", code: "c", message });
  const run = { call_id: "call_1", execution_id: "ex_1" };
  const failed = next(
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
  expect(rootOf(failed)).toMatchObject({
    warnings: [
      { code: "c", message: "one", count: 2 },
      { code: "c", message: "two", count: 1 },
    ],
    executions: [{ outcome: "failed", error: "why" }],
  });
  const decide = (decision: "approve" | "redact") =>
    rootOf(
      next(failed, {
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
