import {
  emptyTree,
  reduce,
  TaskError,
  taskView,
  type TaskEventBody,
  type TaskTree,
} from "@deltawire/tasks";
import { expect, test } from "vitest";
import { info, numbered, sampleLog, usage } from "./sample-log.ts";

const whole = reduce(emptyTree, sampleLog);

test("the view of the root nests the items of the sub-agent in the result that asked for them", () => {
  const view = taskView(whole);
  expect(view.output.map((item) => item.type)).toEqual([
    "reasoning",
    "tool_call",
    "tool_result",
    "message",
  ]);
  expect(view.output[2]).toEqual({
    type: "tool_result",
    id: "fco_1",
    call_id: "call_1",
    status: "completed",
    block_list: [
      {
        type: "tool_call",
        id: "fc_2",
        call_id: "call_2",
        name: "get_weather",
        arguments: "{}",
        status: "completed",
      },
      {
        type: "tool_result",
        id: "fco_2",
        call_id: "call_2",
        status: "completed",
        block_list: [
          { type: "text", text: "15C", id: 1 },
          { type: "image", image_url: { url: "data:,whole" }, id: 1 },
        ],
      },
    ],
  });
});

test("a view has its own references, without the task, and all approvals below", () => {
  const { status, references, approvals, ...rest } = taskView(whole);
  expect(status).toBe("completed");
  expect(references).toEqual([
    {
      reference_id: 1,
      item_id: "fco_1",
      block_indexes: [],
      source: { task_id: "call_1", reference_id: 1 },
    },
  ]);
  expect(approvals.map((approval) => approval.approval_id)).toEqual(["ap_1", "ap_2"]);
  expect(rest).toMatchObject({ task_id: "task_1", usage: usage(30) });
  expect(rest).not.toHaveProperty("error");
});

test("the view of a sub-agent is a view like any other, and shows nothing from above", () => {
  const view = taskView(whole, "call_1");
  expect(view.task_id).toBe("call_1");
  expect(view.output.map((item) => item.id)).toEqual(["fc_2", "fco_2"]);
  expect(view.references).toEqual([{ reference_id: 1, item_id: "fco_2", block_indexes: [0, 1] }]);
  expect(view.approvals.map((approval) => approval.approval_id)).toEqual(["ap_2"]);
});

test("what was taken back is not shown", () => {
  expect(JSON.stringify(taskView(whole))).not.toContain("msg_1");
});

test("a failure is shown", () => {
  const error = { code: "limit", message: "too long", retryable: false };
  const failed = numbered([
    ["task_1", { type: "task.created", task: info() }],
    ["task_1", { type: "task.failed", error, usage: usage(1), state_hash: "" }],
  ]);
  expect(taskView(reduce(emptyTree, failed))).toEqual({
    task_id: "task_1",
    status: "failed",
    output: [],
    usage: usage(1),
    references: [],
    approvals: [],
    error,
  });
});

test("items that nothing nests in are the same objects as in the state", () => {
  const view = taskView(whole);
  expect(view.output[0]).toBe(whole.tasks["task_1"]?.output[0]);
  expect(view.output.at(-1)).toBe(whole.tasks["task_1"]?.output.at(-1));
});

test("sub-agents of sub-agents are nested at every depth, behind the blocks of the result itself", () => {
  const opened = (task: string, call: string): [string, TaskEventBody] => [
    task,
    {
      type: "task.output_item.added",
      output_index: 0,
      item: {
        type: "tool_result",
        id: `result_${call}`,
        call_id: call,
        block_list: [{ type: "text", text: call }],
      },
    },
  ];
  const created = (task: string, parent: string, depth: number): [string, TaskEventBody] => [
    task,
    { type: "task.created", task: info({ parent_task_id: parent, parent_call_id: task, depth }) },
  ];
  const tree = reduce(
    emptyTree,
    numbered([
      ["task_1", { type: "task.created", task: info() }],
      opened("task_1", "a"),
      created("a", "task_1", 1),
      opened("a", "b"),
      created("b", "a", 2),
      opened("b", "c"),
      created("c", "b", 3),
      [
        "c",
        {
          type: "task.approval.requested",
          approval: { approval_id: "deep", kind: "call", choices: ["approve"] },
        },
      ],
    ]),
  );
  const result = (call: string, block_list: object[]) => ({
    type: "tool_result",
    id: `result_${call}`,
    call_id: call,
    status: "in_progress",
    block_list: [{ type: "text", text: call }, ...block_list],
  });
  expect(taskView(tree).output).toEqual([result("a", [result("b", [result("c", [])])])]);
  expect(taskView(tree, "a").approvals).toMatchObject([{ approval_id: "deep", task_id: "c" }]);
});

test("a call of the child's that has the child's own id, as in the first draft, does not recurse", () => {
  const circle = numbered([
    ["task_1", { type: "task.created", task: info() }],
    [
      "task_1",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "tool_result", id: "r1", call_id: "call_1", block_list: [] },
      },
    ],
    ["call_1", { type: "task.created", task: info({ parent_task_id: "task_1", depth: 1 }) }],
    [
      "call_1",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "tool_result", id: "r2", call_id: "call_1", block_list: [] },
      },
    ],
  ]);
  expect(taskView(reduce(emptyTree, circle)).output).toMatchObject([
    { id: "r1", block_list: [{ id: "r2", block_list: [] }] },
  ]);
});

test("a task that another one asked for is not nested, though the call has its name", () => {
  const events = numbered([
    ["task_1", { type: "task.created", task: info() }],
    ["other", { type: "task.created", task: info({ parent_task_id: "task_2" }) }],
    [
      "task_1",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "tool_result", id: "r1", call_id: "other", block_list: [] },
      },
    ],
    [
      "other",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "reasoning", id: "rs", summary: [] },
      },
    ],
  ]);
  expect(taskView(reduce(emptyTree, events)).output).toMatchObject([{ id: "r1", block_list: [] }]);
});

test("tasks that name each other as parents are shown once and end", () => {
  const mutual = numbered([
    ["a", { type: "task.created", task: info({ parent_task_id: "b" }) }],
    ["b", { type: "task.created", task: info({ parent_task_id: "a" }) }],
    [
      "a",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "tool_result", id: "ra", call_id: "b", block_list: [] },
      },
    ],
    [
      "b",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "tool_result", id: "rb", call_id: "a", block_list: [] },
      },
    ],
    [
      "a",
      {
        type: "task.approval.requested",
        approval: { approval_id: "ap", kind: "call", choices: ["approve"] },
      },
    ],
  ]);
  const tree: TaskTree = reduce(emptyTree, mutual);
  expect(taskView(tree, "b").output).toMatchObject([
    { id: "rb", block_list: [{ id: "ra", block_list: [] }] },
  ]);
  expect(taskView({ ...tree, root_task_id: "c" }, "b").approvals).toHaveLength(1);
});

test("a task that is not there is an error that says so", () => {
  expect(() => taskView(whole, "task_9")).toThrow(TaskError);
  expect(() => taskView(whole, "constructor")).toThrow("there is no task constructor");
  expect(() => taskView(emptyTree)).toThrow(TaskError);
});
