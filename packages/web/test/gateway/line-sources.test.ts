import type { StreamEvent, StreamHandlers, TaskEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { LineSources } from "../../src/gateway/line-sources.ts";

/** Sources, how often the gateway would have been asked anew, and whoever listens. */
function sourcesWith(...taskIds: string[]) {
  let changes = 0;
  const sources = new LineSources(() => (changes += 1));
  const heard: Record<string, (TaskEvent | StreamEvent)[]> = {};
  const followed = taskIds.map((task_id) => {
    const mine: (TaskEvent | StreamEvent)[] = (heard[task_id] = []);
    const handlers: StreamHandlers = {
      event: (event) => mine.push(event),
      closed: () => undefined,
      refused: () => undefined,
    };
    return sources.connectTask({ task_id, after: -1 }, handlers);
  });
  return { sources, heard, followed, changes: () => changes };
}

const info = (root_task_id: string) => ({
  root_task_id,
  attempt: 1,
  depth: 1,
  agent: "helper",
  model: "demo",
  status: "created" as const,
  limits: {},
  created_at: "",
  protocol_version: "1.0",
});

test("what a sub-agent tells goes to the task that asked it, also to one that was known from a snapshot", () => {
  const { sources, heard } = sourcesWith("task_1", "task_2");
  const created = { type: "task.created", task: info("task_2"), task_id: "call_2" } as const;
  sources.hear({ ...created, sequence_number: 0 });
  sources.hear({ type: "task.working", task_id: "call_2", sequence_number: 1 });
  const empty = { references: [], approvals: [], state_hash: "" };
  const task = { task_id: "call_1", info: info("task_1"), status: "working" } as const;
  const rest = { output: [], executions: [], inputs: [], round: 0, epoch: 0, round_done: true };
  const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  const call_1 = { ...task, ...rest, usage, round_started_at_index: 0 };
  const snapshot = { type: "task.snapshot", task_id: "task_1", as_of: 7 } as const;
  sources.hear({ ...snapshot, ...empty, tasks: { call_1 } });
  sources.hear({ type: "task.working", task_id: "call_1", sequence_number: 8 });
  const types = (id: string) => heard[id]?.map(({ type, task_id }) => [type, task_id]);
  expect(types("task_1")).toEqual([
    ["task.snapshot", "task_1"],
    ["task.working", "call_1"],
  ]);
  expect(types("task_2")).toEqual([
    ["task.created", "call_2"],
    ["task.working", "call_2"],
  ]);
  expect(sources.query).toBe("task=task_1:8&task=task_2:1");
});

test("a task that is over is not asked for again, and is let go without another connection", () => {
  const { sources, followed, changes } = sourcesWith("task_1", "task_2");
  const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  const completed = { type: "task.completed", usage, state_hash: "" } as const;
  sources.hear({ ...completed, task_id: "task_1", sequence_number: 4 });
  expect(sources.query).toBe("task=task_2:-1");
  const before = changes();
  followed[0]?.close();
  expect(changes()).toBe(before);
  followed[1]?.close();
  expect(changes()).toBe(before + 1);
  expect(sources.query).toBeUndefined();
});

test("a task that is left while it runs leaves nothing behind of its sub-agents", () => {
  const { sources, heard, followed } = sourcesWith("task_1");
  const created = { type: "task.created", task: info("task_1"), sequence_number: 0 } as const;
  sources.hear({ ...created, task_id: "call_1" });
  followed[0]?.close();
  // What was on its way when it was left.
  sources.hear({ ...created, task_id: "call_2" });
  const own: string[] = [];
  for (const task_id of ["call_1", "call_2"])
    sources.connectTask(
      { task_id, after: -1 },
      { event: () => own.push(task_id), closed: () => undefined, refused: () => undefined },
    );
  for (const task_id of ["call_1", "call_2"])
    sources.hear({ type: "task.working", task_id, sequence_number: 1 });
  expect(own).toEqual(["call_1", "call_2"]);
  expect(heard["task_1"]?.map(({ type }) => type)).toEqual(["task.created"]);
});

test("of more tasks than a connection takes, those that wait have their turn on the next", () => {
  const ids = Array.from({ length: 150 }, (_, index) => `task_${index}`);
  const { sources } = sourcesWith(...ids);
  const asked = () => sources.query?.split("&").map((each) => each.replace(/^task=|:-1$/g, ""));
  expect(asked()).toEqual(ids.slice(50));
  expect(sources.takeTurns()).toBe(true);
  expect(asked()).toEqual([...ids.slice(100), ...ids.slice(0, 50)]);
  expect(sources.takeTurns()).toBe(true);
  expect(asked()).toEqual([...ids.slice(0, 50), ...ids.slice(50, 100)]);
  expect(sourcesWith("task_1").sources.takeTurns()).toBe(false);
});

test("where a snapshot is due nothing else is asked for", () => {
  const { sources } = sourcesWith("task_1");
  sources.hear({ type: "task.working", task_id: "task_1", sequence_number: 3 });
  const resync = { type: "task.resync_required", reason: "slow", head: 9 } as const;
  sources.hear({ ...resync, task_id: "task_1" });
  expect(sources.query).toBe("task=task_1");
});

test("words that are not known yet are passed on to their task, and those of nobody are nothing", () => {
  const { sources, heard } = sourcesWith("task_1");
  const unknown = { type: "task.dreams", task_id: "task_1", sequence_number: 0 };
  sources.hear(unknown as unknown as TaskEvent);
  sources.hear({ type: "task.heartbeat", task_id: "task_9", head: 3 });
  sources.hear({ type: "chats.heartbeat", head: 3 });
  expect(heard["task_1"]).toEqual([unknown]);
});
