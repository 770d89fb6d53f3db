import {
  emptyTree,
  reduce,
  TaskError,
  buildTaskView,
  type TaskEventBody,
  type TaskTree,
} from "@deltawire/tasks";
import { expect, test } from "vitest";
import { createTaskInfo, numberEvents, sampleLog, usage } from "./sample-log.ts";

const tree = reduce(emptyTree, sampleLog);

test("the view of the root task nests the items of a sub-agent in the result of its call", () => {
  const view = buildTaskView(tree);
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

test("a view has the references of its task, without task ids, and the approvals of all tasks below", () => {
  const { status, references, approvals, ...rest } = buildTaskView(tree);
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

test("the view of a sub-agent contains nothing of its parent", () => {
  const view = buildTaskView(tree, "call_1");
  expect(view.task_id).toBe("call_1");
  expect(view.output.map((item) => item.id)).toEqual(["fc_2", "fco_2"]);
  expect(view.references).toEqual([{ reference_id: 1, item_id: "fco_2", block_indexes: [0, 1] }]);
  expect(view.approvals.map((approval) => approval.approval_id)).toEqual(["ap_2"]);
});

test("a view does not contain retracted items", () => {
  expect(JSON.stringify(buildTaskView(tree))).not.toContain("msg_1");
});

test("the view of a failed task has its error", () => {
  const error = { code: "limit", message: "too long", retryable: false };
  const failed = numberEvents([
    ["task_1", { type: "task.created", task: createTaskInfo() }],
    ["task_1", { type: "task.failed", error, usage: usage(1), state_hash: "" }],
  ]);
  expect(buildTaskView(reduce(emptyTree, failed))).toEqual({
    task_id: "task_1",
    status: "failed",
    output: [],
    usage: usage(1),
    references: [],
    approvals: [],
    error,
  });
});

test("items without nested items are the same objects in the view as in the state", () => {
  const view = buildTaskView(tree);
  expect(view.output[0]).toBe(tree.tasks["task_1"]?.output[0]);
  expect(view.output.at(-1)).toBe(tree.tasks["task_1"]?.output.at(-1));
});

test("sub-agents are nested at every depth, after the blocks of the result", () => {
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
    {
      type: "task.created",
      task: createTaskInfo({ parent_task_id: parent, parent_call_id: task, depth }),
    },
  ];
  const tree = reduce(
    emptyTree,
    numberEvents([
      ["task_1", { type: "task.created", task: createTaskInfo() }],
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
  expect(buildTaskView(tree).output).toEqual([result("a", [result("b", [result("c", [])])])]);
  expect(buildTaskView(tree, "a").approvals).toMatchObject([{ approval_id: "deep", task_id: "c" }]);
});

test("a sub-agent whose call has the id of the sub-agent itself is not nested in itself", () => {
  const cyclicEvents = numberEvents([
    ["task_1", { type: "task.created", task: createTaskInfo() }],
    [
      "task_1",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "tool_result", id: "r1", call_id: "call_1", block_list: [] },
      },
    ],
    [
      "call_1",
      { type: "task.created", task: createTaskInfo({ parent_task_id: "task_1", depth: 1 }) },
    ],
    [
      "call_1",
      {
        type: "task.output_item.added",
        output_index: 0,
        item: { type: "tool_result", id: "r2", call_id: "call_1", block_list: [] },
      },
    ],
  ]);
  expect(buildTaskView(reduce(emptyTree, cyclicEvents)).output).toMatchObject([
    { id: "r1", block_list: [{ id: "r2", block_list: [] }] },
  ]);
});

test("a task with another parent is not nested, even if the call has its id", () => {
  const events = numberEvents([
    ["task_1", { type: "task.created", task: createTaskInfo() }],
    ["other", { type: "task.created", task: createTaskInfo({ parent_task_id: "task_2" }) }],
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
  expect(buildTaskView(reduce(emptyTree, events)).output).toMatchObject([
    { id: "r1", block_list: [] },
  ]);
});

test("tasks that are each other's parents are nested only once", () => {
  const mutualEvents = numberEvents([
    ["a", { type: "task.created", task: createTaskInfo({ parent_task_id: "b" }) }],
    ["b", { type: "task.created", task: createTaskInfo({ parent_task_id: "a" }) }],
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
  const tree: TaskTree = reduce(emptyTree, mutualEvents);
  expect(buildTaskView(tree, "b").output).toMatchObject([
    { id: "rb", block_list: [{ id: "ra", block_list: [] }] },
  ]);
  expect(buildTaskView({ ...tree, root_task_id: "c" }, "b").approvals).toHaveLength(1);
});

test("buildTaskView throws for an unknown task", () => {
  expect(() => buildTaskView(tree, "task_9")).toThrow(TaskError);
  expect(() => buildTaskView(tree, "constructor")).toThrow("unknown task constructor");
  expect(() => buildTaskView(emptyTree)).toThrow(TaskError);
});
