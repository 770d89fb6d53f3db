import { setImmediate, setTimeout } from "node:timers/promises";
import { MemoryBlobs, defineTool, MemoryLog, RuntimeError, runTask } from "@deltawire/agent";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  decide,
  waitForEnd,
  createRuntime,
  scriptedAgent,
  start,
  waitUntil,
} from "./runtime-fixture.ts";

const never = new Promise<never>(() => undefined);

class FullLog extends MemoryLog {
  isFull = false;
  override append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
    return this.isFull ? Promise.reject(new Error("the disk is full")) : super.append(...batch);
  }
}

describe("a log that cannot be written", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("stops its tasks, which are resumed when it works again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const log = new FullLog();
    const modelMayContinue = Promise.withResolvers<void>();
    const { agent, model } = scriptedAgent((_request, round) =>
      round === 0
        ? [{ text: "One, " }, { wait: modelMayContinue.promise }, { text: "two." }]
        : [{ text: "Whole." }],
    );
    const failures: string[] = [];
    const started = await start(agent, {}, { log, onFailure: (message) => failures.push(message) });
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("One, "));
    log.isFull = true;
    modelMayContinue.resolve();
    await vi.waitFor(() => expect(failures.join()).toContain("the disk is full"));
    await vi.waitFor(() => expect(started.runtime.live(started.id)).toBeUndefined());
    expect(model.openStreams).toBe(0);
    await expect(started.runtime.cancel(started.id, "me")).rejects.toThrow("the disk is full");
    log.isFull = false;
    const ended = waitForEnd(started);
    await vi.advanceTimersByTimeAsync(5000);
    expect((await ended).view.output).toMatchObject([{ block_list: [{ text: "Whole." }] }]);
  });

  test("keeps resumed tasks from sending model requests, and is retried with increasing delays", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const log = new FullLog();
    const first = scriptedAgent([[{ text: "One, " }, { wait: never }]]);
    const started = await start(first.agent, {}, { log });
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("One, "));
    await started.runtime.close();
    log.isFull = true;
    const next = scriptedAgent([[{ text: "Whole." }]]);
    const attemptTimes: number[] = [];
    const began = Date.now();
    let clock = began;
    const fixture = createRuntime(next.agent, {
      log,
      onFailure: () => attemptTimes.push(clock - began),
    });
    await fixture.runtime.recover();
    for (; clock - began < 200_000; clock += 1000) {
      await setImmediate();
      await setImmediate();
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(next.model.requests).toHaveLength(0);
    expect(attemptTimes.length).toBeGreaterThan(3);
    expect(attemptTimes.length).toBeLessThan(8);
    log.isFull = false;
    const ended = waitForEnd({ ...fixture, id: started.id });
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await ended).view.status).toBe("completed");
  });

  test("does not prevent the resumption of a task that is slow to stop", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const log = new FullLog();
    const stored = Promise.withResolvers<void>();
    class SlowBlobs extends MemoryBlobs {
      override async put(...blob: Parameters<MemoryBlobs["put"]>): Promise<string> {
        putting.resolve();
        await stored.promise;
        return super.put(...blob);
      }
    }
    const putting = Promise.withResolvers<void>();
    const tool = defineTool({
      name: "get",
      description: "Gets.",
      effect: "pure",
      run: () => new Uint8Array(8),
    });
    const { agent } = scriptedAgent(
      ({ input }) =>
        JSON.stringify(input).includes("_output")
          ? [{ text: "Whole." }]
          : [{ call: "get", args: {} }],
      { tools: [tool] },
    );
    const started = await start(agent, {}, { log, blobs: new SlowBlobs() });
    await putting.promise;
    log.isFull = true;
    await expect(started.runtime.input(started.id, "Hello.", "steer")).rejects.toThrow("full");
    await vi.advanceTimersByTimeAsync(6000);
    expect(started.runtime.live(started.id)).toBeDefined();
    log.isFull = false;
    stored.resolve();
    const ended = waitForEnd(started);
    await vi.waitFor(() => expect(started.runtime.live(started.id)).toBeUndefined());
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await ended).view.status).toBe("completed");
  });

  test("starts no task and no tool", async () => {
    const log = new FullLog();
    let ran = 0;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const modelMayContinue = Promise.withResolvers<void>();
    const { agent } = scriptedAgent(
      [[{ wait: modelMayContinue.promise }, { call: "send", args: {} }]],
      {
        tools: [tool],
      },
    );
    const started = await start(agent, {}, { log });
    log.isFull = true;
    modelMayContinue.resolve();
    await vi.waitFor(() => expect(started.runtime.live(started.id)).toBeUndefined());
    expect(ran).toBe(0);
    await expect(started.runtime.start({ input: "Go." })).rejects.toThrow("the disk is full");
    await started.runtime.close();
  });
});

describe("failures to resume tasks", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("delay the retries of several tasks no longer than that of one", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const log = new FullLog();
    const silent = scriptedAgent(() => [{ text: "One, " }, { wait: never }]);
    const first = createRuntime(silent.agent, { log });
    for (let n = 0; n < 5; n += 1) await first.runtime.start({ agent: "main", input: "Go." });
    await first.runtime.close();
    let isUnavailable = true;
    const agentFor = () => {
      if (isUnavailable) throw new Error("the server is away");
      return scriptedAgent(() => [{ text: "Whole." }]).agent;
    };
    const next = createRuntime(silent.agent, { log, agentFor });
    expect(await next.runtime.recover()).toEqual([]);
    await vi.advanceTimersByTimeAsync(5000);
    isUnavailable = false;
    await vi.advanceTimersByTimeAsync(10_000);
    await vi.waitFor(async () => expect(await log.listUnfinished()).toEqual([]));
  });
});

describe("a log that fails while no caller waits", () => {
  const unhandled: unknown[] = [];
  const recordRejection = (error: unknown): void => void unhandled.push(error);

  beforeEach(() => {
    unhandled.length = 0;
    process.on("unhandledRejection", recordRejection);
  });
  afterEach(() => {
    process.off("unhandledRejection", recordRejection);
  });

  test("does not crash the process when a task that cannot be resumed is canceled", async () => {
    const log = new FullLog();
    const started = await start(scriptedAgent([[{ wait: never }]]).agent, {}, { log });
    await started.runtime.close();
    log.isFull = true;
    const agentFor = (): never => {
      throw new RuntimeError("agent_not_found", "there is no such agent");
    };
    const { runtime } = createRuntime(started.agent, { log, agentFor });
    await expect(runtime.cancel(started.id, "me")).rejects.toThrow("the disk is full");
    await setTimeout(10);
    expect(unhandled).toEqual([]);
    await runtime.close();
  });

  test("does not crash the process when a signal cancels a task", async () => {
    class UnreadableLog extends MemoryLog {
      override findRootTask(): Promise<string | undefined> {
        return Promise.reject(new Error("it cannot be read"));
      }
    }
    const controller = new AbortController();
    const { agent } = scriptedAgent([[{ wait: never }]]);
    await runTask(agent, "Go.", { log: new UnreadableLog(), signal: controller.signal });
    controller.abort();
    await setTimeout(10);
    expect(unhandled).toEqual([]);
  });
});

describe("a session grant", () => {
  const send = defineTool({
    name: "send",
    description: "Sends.",
    approval: "ask_once",
    run: () => "sent",
  });
  const script = [[{ call: "send", args: {} }], [{ text: "Done." }]];

  class LogWithoutGrants extends MemoryLog {
    readonly fails: "grants" | "addGrant";
    constructor(fails: "grants" | "addGrant") {
      super();
      this.fails = fails;
    }
    override listGrants(session: string): ReturnType<MemoryLog["listGrants"]> {
      return this.fails === "grants"
        ? Promise.reject(new Error("locked"))
        : super.listGrants(session);
    }
    override addGrant(...grant: Parameters<MemoryLog["addGrant"]>): Promise<void> {
      return this.fails === "addGrant"
        ? Promise.reject(new Error("locked"))
        : super.addGrant(...grant);
    }
  }

  test.each(["grants", "addGrant"] as const)(
    "that cannot be read or stored does not fail the task: %s",
    async (fails) => {
      const failures: string[] = [];
      const started = await start(
        scriptedAgent(script, { tools: [send] }).agent,
        {},
        { log: new LogWithoutGrants(fails), onFailure: (message) => failures.push(message) },
      );
      await decide(started, { scope: "session" });
      expect((await waitForEnd(started)).view.status).toBe("completed");
      expect(failures).toEqual([expect.stringContaining("locked")]);
    },
  );
});
