import { defineTool, MemoryLog } from "@deltawire/agent";
import { expect, test } from "vitest";
import { runtimeOf, scriptedAgent, start, until } from "./run-kit.ts";

const send = defineTool<{ to: string }>({
  name: "send",
  description: "Sends.",
  input: { properties: { to: { type: "string" } }, required: ["to"] },
  approval: "ask always",
  run: () => "sent",
});
const calls = [{ call: "send", args: { to: "Ann" } }] as const;

const waits = (started: Parameters<typeof until>[0]) =>
  until(started, ({ approvals }) => approvals.some(({ status }) => status === "pending"));

test("what a sub-agent asks comes with the schema of its own tool, and goes when it is decided", async () => {
  const { agent: helper } = scriptedAgent([calls], { name: "helper", tools: [send] });
  const { agent } = scriptedAgent(
    [[{ call: "ask_for_help", args: { name: "helper", prompt: "Send it." } }]],
    { agents: [helper] },
  );
  const started = await start(agent);
  await waits(started);
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

test("a log that nobody works on is read once, and again when somebody has", async () => {
  const log = new MemoryLog();
  const { agent } = scriptedAgent([calls], { tools: [send] });
  const started = await start(agent, {}, { log });
  await waits(started);
  const [before] = await started.runtime.pending();
  await started.runtime.close();
  let reads = 0;
  const read = log.read.bind(log);
  log.read = (...asked) => {
    reads += 1;
    return read(...asked);
  };
  const { runtime } = runtimeOf(agent, { log });
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

test("whether a call was carried out that a crash has cut off is asked too, without a schema", async () => {
  const log = new MemoryLog();
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    run: () => new Promise(() => undefined),
  });
  const { agent } = scriptedAgent([[{ call: "pay", args: {} }]], { tools: [pay] });
  const started = await start(agent, {}, { log });
  await until(started, ({ tasks }) => tasks[started.id]?.executions.length === 1);
  await started.runtime.close();
  const { runtime } = runtimeOf(agent, { log });
  await runtime.recover();
  await waits({ runtime, id: started.id });
  const pending = await runtime.pending();
  expect(pending).toMatchObject([{ approval: { kind: "reconcile" }, call: { name: "pay" } }]);
  expect(pending[0]).not.toHaveProperty("input_schema");
  await runtime.cancel(started.id, "user");
});

test("a result that is held comes with what its run came to", async () => {
  const fail = defineTool({
    name: "fail",
    description: "Fails.",
    approval: { result: "on error" },
    run: () => {
      throw new Error("no such place");
    },
  });
  const { agent } = scriptedAgent([[{ call: "fail", args: {} }]], { tools: [fail] });
  const started = await start(agent);
  await waits(started);
  expect(await started.runtime.pending()).toMatchObject([
    { approval: { kind: "result" }, outcome: "failed" },
  ]);
  await started.runtime.cancel(started.id, "user");
});
