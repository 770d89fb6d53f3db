import { defineAgent, defineTool, Runtime, RuntimeError, type Model } from "@deltawire/agent";
import { openStore } from "@deltawire/store";
import { stateHash, taskView, validateLog, type TaskEvent, type TaskView } from "@deltawire/tasks";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { reduced, stageOf, Stream, toldHash, type Stage } from "./task-stage.ts";
import { pause, until } from "./scene.ts";

/* The endpoints over the runtime and the store as they are; only the model is a script. */

type Say = (request: ResponsesRequest, round: number) => AsyncGenerator<JsonObject[]>;

const modelOf = (say: Say): Model => {
  let round = 0;
  return { stream: (request) => say(request, round++) };
};

async function staged(say: Say, onCall: () => void = () => undefined): Promise<Stage<Runtime>> {
  const store = await openStore({ path: ":memory:" });
  const note = defineTool({
    name: "note",
    description: "Keeps a note.",
    approval: "ask always",
    run: () => {
      onCall();
      return "noted";
    },
  });
  const model = modelOf(say);
  const agent = defineAgent({ name: "helper", instructions: "Help.", model, tools: [note] });
  const runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor(request) {
      if (request.agent === agent.name) return agent;
      throw new RuntimeError("unknown_agent", `there is no agent "${request.agent}"`);
    },
    model: () => model,
  });
  return stageOf(runtime, store);
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

async function* callOfNote(): AsyncGenerator<JsonObject[]> {
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

const start = async ({ post }: Stage<Runtime>): Promise<string> => {
  const response = await post("/api/tasks", { agent: "helper", input: "Go" });
  expect(response.status).toBe(201);
  return ((await response.json()) as TaskView).task_id;
};

test("a run with an approval: two tabs decide, the tool runs once, all who follow have the same state", async () => {
  let calls = 0;
  const stage = await staged(
    (_request, round) => (round === 0 ? callOfNote() : words(300, () => pause(0))),
    () => (calls += 1),
  );
  const { url, post } = stage;
  const taskId = await start(stage);
  const address = `${url}/api/tasks/${taskId}/events`;
  const all = new Stream(`${address}?after=-1`);
  await all.until("a question", ({ types }) => types.includes("task.approval.requested"));
  const view = (await (await fetch(`${url}/api/tasks/${taskId}`)).json()) as TaskView;
  const approvalId = view.approvals[0]?.approval_id ?? "";
  const replies = await Promise.all(
    ["approve", "approve"].map((decision) => post(`/api/approvals/${approvalId}`, { decision })),
  );
  // The second is the same decision of the same client, sent again.
  expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  const replayed = replies.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
  expect(replayed).toHaveLength(1);
  const late = new Stream(address);
  await late.until("words", ({ types }) => types.includes("task.text.delta"));
  late.leave();
  const resumed = new Stream(`${address}?after=${late.lastId}`);
  await Promise.all([all.untilEnd(), resumed.untilEnd()]);
  expect(calls).toBe(1);
  const state = reduced(all.frames);
  expect(reduced(resumed.frames, reduced(late.frames))).toEqual(state);
  expect(await (await fetch(`${url}/api/tasks/${taskId}`)).json()).toEqual(taskView(state));
  expect(stateHash(taskView(state))).toBe(toldHash(all));
  expect(state.tasks[taskId]?.status).toBe("completed");
  const events = all.frames.slice(1).map(({ event }) => event as TaskEvent);
  expect(validateLog(events, { complete: true })).toBeUndefined();
  const again = await post(`/api/approvals/${approvalId}`, { decision: "deny" });
  expect(again.status).toBe(409);
});

test("a task is cancelled while its model speaks, and its follower sees that and the end", async () => {
  const stage = await staged(() => words(100_000, () => pause(1)));
  const taskId = await start(stage);
  const stream = new Stream(`${stage.url}/api/tasks/${taskId}/events`);
  await stream.until("words", ({ types }) => types.includes("task.text.delta"));
  const response = await stage.post(`/api/tasks/${taskId}/cancel`, { reason: "enough" });
  const view = (await response.json()) as TaskView;
  expect([response.status, view.status]).toEqual([200, "canceled"]);
  await stream.untilEnd();
  expect(stream.frames.at(-1)?.event).toMatchObject({ type: "task.canceled", reason: "enough" });
  expect(taskView(reduced(stream.frames))).toEqual(view);
  await until("its follower to be let go", () => stage.streams.count === 0);
});

test("a start that is repeated by its key is the same task, and an unknown agent is named", async () => {
  const stage = await staged(() => words(1, () => pause(0)));
  const key = { "idempotency-key": "once" };
  const ids = await Promise.all(
    [1, 2].map(async () => {
      const response = await stage.post("/api/tasks", { agent: "helper", input: "Go" }, key);
      return ((await response.json()) as TaskView).task_id;
    }),
  );
  expect(ids[0]).toBe(ids[1]);
  expect(await stage.store.listTasks({ limit: 10 })).toHaveLength(1);
  const unknown = await stage.post("/api/tasks", { agent: "nobody", input: "Go" });
  expect([unknown.status, await unknown.json()]).toMatchObject([
    404,
    { error: { code: "unknown_agent", message: 'there is no agent "nobody"' } },
  ]);
});

describe("how far a tool is", () => {
  /** A task whose call of a tool tells something, and ends, when it is told to. */
  async function counting() {
    const store = await openStore({ path: ":memory:" });
    let tell: (message: string) => void = () => undefined;
    let end: () => void = () => undefined;
    const note = defineTool({
      name: "note",
      description: "Keeps a note, slowly.",
      run: (_input, context) =>
        new Promise<string>((resolve) => {
          tell = (message) => context.progress(message, 0.5);
          end = () => resolve("noted");
        }),
    });
    const model = modelOf((_request, round) => (round === 0 ? callOfNote() : words(3, () => gate)));
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const agent = defineAgent({ name: "helper", instructions: "Help.", model, tools: [note] });
    const stage = await stageOf(
      new Runtime({ log: store, blobs: store, agentFor: () => agent, model: () => model }),
      store,
    );
    const taskId = await start(stage);
    const follow = (query = "") => new Stream(`${stage.url}/api/tasks/${taskId}/events${query}`);
    const first = follow("?after=-1");
    await first.until("a run", ({ types }) => types.includes("task.tool_execution.started"));
    const told = async (message: string) => {
      tell(message);
      await first.until(message, (stream) => progressIn(stream).at(-1)?.message === message);
    };
    return { first, follow, told, end: () => end(), goOn: () => open() };
  }

  const progressIn = ({ frames }: Stream) =>
    frames.flatMap(({ event }) => (event.type === "task.tool_execution.progress" ? [event] : []));

  test("is told at once to whoever comes in between, and changes nothing", async () => {
    const { first, follow, told, end, goOn } = await counting();
    await told("1 of 3");
    await told("2 of 3");
    const snapshot = follow();
    const resumed = follow(`?after=${first.lastId}`);
    await snapshot.until("the report", (stream) => progressIn(stream).length === 1);
    await resumed.until("the report", (stream) => progressIn(stream).length === 1);
    expect(snapshot.types.slice(1)).toEqual(["task.snapshot", "task.tool_execution.progress"]);
    expect(progressIn(snapshot)[0]).toMatchObject({ message: "2 of 3", fraction: 0.5 });
    expect(snapshot.lastId).toBe(first.lastId);
    expect(resumed.lastId).toBeUndefined();
    for (const stream of [snapshot, resumed])
      expect(progressIn(stream)[0]).not.toHaveProperty("sequence_number");
    await told("3 of 3");
    end();
    await first.until("words", ({ types }) => types.includes("task.tool_execution.done"));
    goOn();
    for (const stream of [first, snapshot, resumed]) await stream.untilEnd();
    expect(progressIn(snapshot).map(({ message }) => message)).toEqual(["2 of 3", "3 of 3"]);
    expect(progressIn(first).map(({ message }) => message)).toEqual(["1 of 3", "2 of 3", "3 of 3"]);
    expect(reduced(snapshot.frames)).toEqual(reduced(first.frames));
    expect(stateHash(taskView(reduced(snapshot.frames)))).toBe(toldHash(first));
  });

  test("is not told of a call that is done, nor twice to whoever reads it in the log", async () => {
    const { first, follow, told, end, goOn } = await counting();
    await told("1 of 1");
    const all = follow("?after=-1");
    await all.until("the report", (stream) => progressIn(stream).length > 0);
    end();
    await first.until("the end", ({ types }) => types.includes("task.tool_execution.done"));
    const late = follow();
    await late.until("a snapshot", ({ types }) => types.includes("task.snapshot"));
    goOn();
    for (const stream of [all, late]) await stream.untilEnd();
    expect(progressIn(all)).toHaveLength(1);
    expect(progressIn(late)).toEqual([]);
  });
});
