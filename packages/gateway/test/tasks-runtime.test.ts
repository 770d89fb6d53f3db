import { defineAgent, defineTool, Runtime, RuntimeError, type Model } from "@deltawire/agent";
import { openStore } from "@deltawire/store";
import {
  computeStateHash,
  buildTaskView,
  validateLog,
  type TaskEvent,
  type TaskView,
} from "@deltawire/tasks";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  reduceFrames,
  startTaskServer,
  TestStream,
  lastStateHash,
  type TaskServerFixture,
} from "./task-server-fixture.ts";
import { sleep, waitUntil } from "./gateway-fixture.ts";

/* The endpoints with the real runtime and store; only the model is scripted. */

type ModelScript = (request: ResponsesRequest, round: number) => AsyncGenerator<JsonObject[]>;

const createModel = (script: ModelScript): Model => {
  let round = 0;
  return { stream: (request) => script(request, round++) };
};

async function runtimeFixture(
  script: ModelScript,
  onCall: () => void = () => undefined,
): Promise<TaskServerFixture<Runtime>> {
  const store = await openStore({ path: ":memory:" });
  const note = defineTool({
    name: "note",
    description: "Keeps a note.",
    approval: "ask_always",
    run: () => {
      onCall();
      return "noted";
    },
  });
  const model = createModel(script);
  const agent = defineAgent({ name: "helper", instructions: "Help.", model, tools: [note] });
  const runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor(request) {
      if (request.agent === agent.name) return agent;
      throw new RuntimeError("agent_not_found", `there is no agent "${request.agent}"`);
    },
    getModel: () => model,
  });
  return startTaskServer(runtime, store);
}

async function* words(count: number, wait: () => Promise<unknown>): AsyncGenerator<JsonObject[]> {
  const item = { type: "message", id: "msg_1", role: "assistant", content: [] };
  const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
  yield [{ type: "response.created", response: { id: "resp_1" } }];
  yield [{ type: "response.output_item.added", output_index: 0, item }];
  const part = { type: "output_text", text: "", annotations: [] };
  yield [{ type: "response.content_part.added", ...at, part }];
  let text = "";
  for (let n = 0; n < count; n += 1) {
    const delta = `w${n} `;
    text += delta;
    await wait();
    yield [{ type: "response.output_text.delta", ...at, delta }];
  }
  const content = [{ type: "output_text", text, annotations: [] }];
  const done = { ...item, status: "completed", content };
  yield [{ type: "response.output_text.done", ...at, text }];
  yield [{ type: "response.output_item.done", output_index: 0, item: done }];
  yield [{ type: "response.completed", response: { id: "resp_1", output: [done], usage: null } }];
}

async function* callNote(): AsyncGenerator<JsonObject[]> {
  await Promise.resolve();
  const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "note" };
  const done = { ...item, arguments: "{}", status: "completed" };
  yield [
    { type: "response.created", response: { id: "resp_0" } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
    { type: "response.output_item.done", output_index: 0, item: done },
    { type: "response.completed", response: { id: "resp_0", output: [done], usage: null } },
  ];
}

const start = async ({ post }: TaskServerFixture<Runtime>): Promise<string> => {
  const response = await post("/api/tasks", { agent: "helper", input: "Go" });
  expect(response.status).toBe(201);
  return ((await response.json()) as TaskView).task_id;
};

test("a run with an approval: two tabs decide, the tool runs once, and all clients have the same state", async () => {
  let calls = 0;
  const fixture = await runtimeFixture(
    (_request, round) => (round === 0 ? callNote() : words(300, () => sleep(0))),
    () => (calls += 1),
  );
  const { url, post } = fixture;
  const taskId = await start(fixture);
  const address = `${url}/api/tasks/${taskId}/events`;
  const all = new TestStream(`${address}?after=-1`);
  await all.waitUntil("a question", ({ types }) => types.includes("task.approval.requested"));
  const view = (await (await fetch(`${url}/api/tasks/${taskId}`)).json()) as TaskView;
  const approvalId = view.approvals[0]?.approval_id ?? "";
  const replies = await Promise.all(
    ["approve", "approve"].map((decision) => post(`/api/approvals/${approvalId}`, { decision })),
  );
  // The second request repeats the decision of the same client, so it is not a conflict.
  expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  const replayed = replies.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
  expect(replayed).toHaveLength(1);
  const late = new TestStream(address);
  await late.waitUntil("some text", ({ types }) => types.includes("task.text.delta"));
  late.disconnect();
  const resumed = new TestStream(`${address}?after=${late.lastId}`);
  await Promise.all([all.waitUntilEnd(), resumed.waitUntilEnd()]);
  expect(calls).toBe(1);
  const state = reduceFrames(all.frames);
  expect(reduceFrames(resumed.frames, reduceFrames(late.frames))).toEqual(state);
  expect(await (await fetch(`${url}/api/tasks/${taskId}`)).json()).toEqual(buildTaskView(state));
  expect(computeStateHash(buildTaskView(state))).toBe(lastStateHash(all));
  expect(state.tasks[taskId]?.status).toBe("completed");
  const events = all.frames.slice(1).map(({ event }) => event as TaskEvent);
  expect(validateLog(events, { complete: true })).toBeUndefined();
  const repeated = await post(`/api/approvals/${approvalId}`, { decision: "deny" });
  expect(repeated.status).toBe(409);
});

test("a task is canceled while its model streams, and its client sees that and the end", async () => {
  const fixture = await runtimeFixture(() => words(100_000, () => sleep(1)));
  const taskId = await start(fixture);
  const stream = new TestStream(`${fixture.url}/api/tasks/${taskId}/events`);
  await stream.waitUntil("some text", ({ types }) => types.includes("task.text.delta"));
  const response = await fixture.post(`/api/tasks/${taskId}/cancel`, { reason: "enough" });
  const view = (await response.json()) as TaskView;
  expect([response.status, view.status]).toEqual([200, "canceled"]);
  await stream.waitUntilEnd();
  expect(stream.frames.at(-1)?.event).toMatchObject({ type: "task.canceled", reason: "enough" });
  expect(buildTaskView(reduceFrames(stream.frames))).toEqual(view);
  await waitUntil("its follower to be disconnected", () => fixture.streams.count === 0);
});

test("a repeated start with the same key returns the same task, and an unknown agent is named", async () => {
  const fixture = await runtimeFixture(() => words(1, () => sleep(0)));
  const key = { "idempotency-key": "once" };
  const ids = await Promise.all(
    [1, 2].map(async () => {
      const response = await fixture.post("/api/tasks", { agent: "helper", input: "Go" }, key);
      return ((await response.json()) as TaskView).task_id;
    }),
  );
  expect(ids[0]).toBe(ids[1]);
  expect(await fixture.store.listTasks({ owner: "", limit: 10 })).toHaveLength(1);
  const unknown = await fixture.post("/api/tasks", { agent: "nobody", input: "Go" });
  expect([unknown.status, await unknown.json()]).toMatchObject([
    404,
    { error: { code: "agent_not_found", message: 'there is no agent "nobody"' } },
  ]);
});

describe("the progress of a tool", () => {
  /** Starts a task whose tool reports progress and ends on request. */
  async function progressFixture() {
    const store = await openStore({ path: ":memory:" });
    let reportProgress: (message: string) => void = () => undefined;
    let endTool: () => void = () => undefined;
    const note = defineTool({
      name: "note",
      description: "Keeps a note, slowly.",
      run: (_input, context) =>
        new Promise<string>((resolve) => {
          reportProgress = (message) => context.progress(message, 0.5);
          endTool = () => resolve("noted");
        }),
    });
    const model = createModel((_request, round) =>
      round === 0 ? callNote() : words(3, () => gate),
    );
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const agent = defineAgent({ name: "helper", instructions: "Help.", model, tools: [note] });
    const fixture = await startTaskServer(
      new Runtime({ log: store, blobs: store, agentFor: () => agent, getModel: () => model }),
      store,
    );
    const taskId = await start(fixture);
    const follow = (query = "") =>
      new TestStream(`${fixture.url}/api/tasks/${taskId}/events${query}`);
    const first = follow("?after=-1");
    await first.waitUntil("a run", ({ types }) => types.includes("task.tool_execution.started"));
    const waitForProgress = async (message: string) => {
      reportProgress(message);
      await first.waitUntil(message, (stream) => listProgress(stream).at(-1)?.message === message);
    };
    return { first, follow, waitForProgress, endTool: () => endTool(), goOn: () => open() };
  }

  const listProgress = ({ frames }: TestStream) =>
    frames.flatMap(({ event }) => (event.type === "task.tool_execution.progress" ? [event] : []));

  test("is sent immediately to a client that connects in between, and changes no state", async () => {
    const { first, follow, waitForProgress, endTool, goOn } = await progressFixture();
    await waitForProgress("1 of 3");
    await waitForProgress("2 of 3");
    const snapshot = follow();
    const resumed = follow(`?after=${first.lastId}`);
    await snapshot.waitUntil("the report", (stream) => listProgress(stream).length === 1);
    await resumed.waitUntil("the report", (stream) => listProgress(stream).length === 1);
    expect(snapshot.types.slice(1)).toEqual(["task.snapshot", "task.tool_execution.progress"]);
    expect(listProgress(snapshot)[0]).toMatchObject({ message: "2 of 3", fraction: 0.5 });
    expect(snapshot.lastId).toBe(first.lastId);
    expect(resumed.lastId).toBeUndefined();
    for (const stream of [snapshot, resumed])
      expect(listProgress(stream)[0]).not.toHaveProperty("sequence_number");
    await waitForProgress("3 of 3");
    endTool();
    await first.waitUntil("some text", ({ types }) => types.includes("task.tool_execution.done"));
    goOn();
    for (const stream of [first, snapshot, resumed]) await stream.waitUntilEnd();
    expect(listProgress(snapshot).map(({ message }) => message)).toEqual(["2 of 3", "3 of 3"]);
    expect(listProgress(first).map(({ message }) => message)).toEqual([
      "1 of 3",
      "2 of 3",
      "3 of 3",
    ]);
    expect(reduceFrames(snapshot.frames)).toEqual(reduceFrames(first.frames));
    expect(computeStateHash(buildTaskView(reduceFrames(snapshot.frames)))).toBe(
      lastStateHash(first),
    );
  });

  test("is not sent for a finished call, nor twice to a client that reads it in the log", async () => {
    const { first, follow, waitForProgress, endTool, goOn } = await progressFixture();
    await waitForProgress("1 of 1");
    const all = follow("?after=-1");
    await all.waitUntil("the report", (stream) => listProgress(stream).length > 0);
    endTool();
    await first.waitUntil("the end", ({ types }) => types.includes("task.tool_execution.done"));
    const late = follow();
    await late.waitUntil("a snapshot", ({ types }) => types.includes("task.snapshot"));
    goOn();
    for (const stream of [all, late]) await stream.waitUntilEnd();
    expect(listProgress(all)).toHaveLength(1);
    expect(listProgress(late)).toEqual([]);
  });
});
