import { once } from "node:events";
import { validateLog, type StreamEvent, type TaskEvent, type TaskView } from "@deltawire/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  canRunPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { TestStream } from "./task-server-fixture.ts";

/* Tools that must not run twice, and the other cases, are in test/scale/takeover.test.ts. */

describe.skipIf(!canRunPostgres)("a task whose gateway is killed while a tool runs", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  async function startGateway() {
    const toml = `[server]\nport = 0\ndemo = true\n[store]\nurl = "${server.url}"\n`;
    const { child, url } = startDeltawire([], { cwd: temporaryFolder(toml) });
    return { child, url: await url };
  }

  test("continues in another one within ten seconds, which runs a tool without effects again", async () => {
    const [holder, other] = [await startGateway(), await startGateway()];
    const body = JSON.stringify({ agent: "demo-agent", input: "slow_count to 8" });
    const started = await fetch(`${holder.url}/api/tasks`, { method: "POST", body });
    const { task_id: id } = (await started.json()) as TaskView;
    const stream = new TestStream(`${other.url}/api/tasks/${id}/events?after=-1&replay=all`);
    const runs = () => stream.types.filter((type) => type === "task.tool_execution.started").length;
    await stream.waitUntil("the tool runs", () => runs() === 1);
    const exited = once(holder.child, "exit");
    holder.child.kill("SIGKILL");
    await exited;
    const killedAt = performance.now();
    await stream.waitUntil("it runs again", () => runs() === 2);
    expect(performance.now() - killedAt).toBeLessThan(10_000);
    await stream.waitUntilEnd();
    expect([runs(), stream.types.at(-1)]).toEqual([2, "task.completed"]);
    const log = stream.frames.flatMap(({ event }) => toLogEvent(event));
    expect(validateLog(log, { complete: true })).toBeUndefined();
  }, 120_000);
});

/** Events about the connection are not part of the log. */
function toLogEvent(event: TaskEvent | StreamEvent): TaskEvent[] {
  return "sequence_number" in event ? [event] : [];
}
