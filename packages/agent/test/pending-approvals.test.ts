import { defineTool, MemoryLog } from "@deltawire/agent";
import { expect, test } from "vitest";
import { createRuntime, scriptedAgent, start, waitUntil } from "./runtime-fixture.ts";

const send = defineTool<{ to: string }>({
  name: "send",
  description: "Sends.",
  input: { properties: { to: { type: "string" } }, required: ["to"] },
  approval: "ask_always",
  run: () => "sent",
});
const calls = [{ call: "send", args: { to: "Ann" } }] as const;

const waitUntilPending = (started: Parameters<typeof waitUntil>[0]) =>
  waitUntil(started, ({ approvals }) => approvals.some(({ status }) => status === "pending"));

test("an approval of a sub-agent is listed with the schema of its tool until it is decided", async () => {
  const { agent: helper } = scriptedAgent([calls], { name: "helper", tools: [send] });
  const { agent } = scriptedAgent(
    [[{ call: "ask_for_help", args: { name: "helper", prompt: "Send it." } }]],
    { agents: [helper] },
  );
  const started = await start(agent);
  await waitUntilPending(started);
  const pending = await started.runtime.pending();
  expect(pending).toMatchObject([
    {
      root_task_id: started.id,
      agent: "helper",
      depth: 1,
      call: { name: "send", arguments: '{"to":"Ann"}' },
      input_schema: { properties: { to: { type: "string" } }, required: ["to"] },
    },
  ]);
  const [{ approval } = {}] = pending;
  await started.runtime.decide(approval?.approval_id ?? "", { decision: "approve", by: "user" });
  expect(await started.runtime.pending()).toEqual([]);
});

test("the approvals of a task that does not run are read from the log only once", async () => {
  const log = new MemoryLog();
  const { agent } = scriptedAgent([calls], { tools: [send] });
  const started = await start(agent, {}, { log });
  await waitUntilPending(started);
  const [before] = await started.runtime.pending();
  await started.runtime.close();
  let reads = 0;
  const read = log.read.bind(log);
  log.read = (...args) => {
    reads += 1;
    return read(...args);
  };
  const { runtime } = createRuntime(agent, { log });
  const { input_schema: _schema, ...rest } = before ?? {};
  expect(await runtime.pending()).toEqual([rest]);
  expect(await runtime.pending()).toEqual([rest]);
  expect(reads).toBe(1);
  await runtime.recover();
  reads = 0;
  expect(await runtime.pending()).toEqual([before]);
  expect(reads).toBe(0);
  await runtime.cancel(started.id, "user");
  expect(await runtime.pending()).toEqual([]);
});

test("the question whether an interrupted call was carried out is listed, without a schema", async () => {
  const log = new MemoryLog();
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    run: () => new Promise(() => undefined),
  });
  const { agent } = scriptedAgent([[{ call: "pay", args: {} }]], { tools: [pay] });
  const started = await start(agent, {}, { log });
  await waitUntil(started, ({ tasks }) => tasks[started.id]?.executions.length === 1);
  await started.runtime.close();
  const { runtime } = createRuntime(agent, { log });
  await runtime.recover();
  await waitUntilPending({ runtime, id: started.id });
  const pending = await runtime.pending();
  expect(pending).toMatchObject([{ approval: { kind: "reconcile" }, call: { name: "pay" } }]);
  expect(pending[0]).not.toHaveProperty("input_schema");
  await runtime.cancel(started.id, "user");
});

test("a held result is listed with the outcome of its execution", async () => {
  const fail = defineTool({
    name: "fail",
    description: "Fails.",
    approval: { result: "on_error" },
    run: () => {
      throw new Error("no such place");
    },
  });
  const { agent } = scriptedAgent([[{ call: "fail", args: {} }]], { tools: [fail] });
  const started = await start(agent);
  await waitUntilPending(started);
  expect(await started.runtime.pending()).toMatchObject([
    { approval: { kind: "result" }, outcome: "failed" },
  ]);
  await started.runtime.cancel(started.id, "user");
});
