import { setImmediate, setTimeout } from "node:timers/promises";
import { MemoryBlobs, defineTool, MemoryLog, RuntimeError, runTask } from "@deltawire/agent";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { decide, ended, runtimeOf, scriptedAgent, start, until } from "./run-kit.ts";

const never = new Promise<never>(() => undefined);

class FullLog extends MemoryLog {
  full = false;
  override append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
    return this.full ? Promise.reject(new Error("the disk is full")) : super.append(...batch);
  }
}

describe("a log that cannot be written", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("stops its tasks, which are taken up again by themselves when it can be", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const log = new FullLog();
    const rest = Promise.withResolvers<void>();
    const { agent, model } = scriptedAgent((_request, round) =>
      round === 0
        ? [{ text: "One, " }, { wait: rest.promise }, { text: "two." }]
        : [{ text: "Whole." }],
    );
    const said: string[] = [];
    const started = await start(agent, {}, { log, onFailure: (message) => said.push(message) });
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes("One, "));
    log.full = true;
    rest.resolve();
    await vi.waitFor(() => expect(said.join()).toContain("the disk is full"));
    await vi.waitFor(() => expect(started.runtime.live(started.id)).toBeUndefined());
    expect(model.open).toBe(0);
    await expect(started.runtime.cancel(started.id, "me")).rejects.toThrow("the disk is full");
    log.full = false;
    const whole = ended(started);
    await vi.advanceTimersByTimeAsync(5000);
    expect((await whole).view.output).toMatchObject([{ block_list: [{ text: "Whole." }] }]);
  });

  test("lets many tasks come back as soon as one", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const log = new FullLog();
    const silent = scriptedAgent(() => [{ text: "One, " }, { wait: never }]);
    const first = runtimeOf(silent.agent, { log });
    for (let n = 0; n < 5; n += 1) await first.runtime.start({ agent: "main", input: "Go." });
    await first.runtime.close();
    let isAway = true;
    const agentFor = () => {
      if (isAway) throw new Error("the server is away");
      return scriptedAgent(() => [{ text: "Whole." }]).agent;
    };
    const next = runtimeOf(silent.agent, { log, agentFor });
    expect(await next.runtime.recover()).toEqual([]);
    await vi.advanceTimersByTimeAsync(5000);
    isAway = false;
    await vi.advanceTimersByTimeAsync(10_000);
    await vi.waitFor(async () => expect(await log.unfinished()).toEqual([]));
  });

  test("has no model asked by tasks that are taken up, and is tried less and less often", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const log = new FullLog();
    const first = scriptedAgent([[{ text: "One, " }, { wait: never }]]);
    const started = await start(first.agent, {}, { log });
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes("One, "));
    await started.runtime.close();
    log.full = true;
    const next = scriptedAgent([[{ text: "Whole." }]]);
    const tries: number[] = [];
    const began = Date.now();
    let passed = began;
    const made = runtimeOf(next.agent, { log, onFailure: () => tries.push(passed - began) });
    await made.runtime.recover();
    for (; passed - began < 200_000; passed += 1000) {
      await setImmediate();
      await setImmediate();
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(next.model.asked).toHaveLength(0);
    expect(tries.length).toBeGreaterThan(3);
    expect(tries.length).toBeLessThan(8);
    log.full = false;
    const whole = ended({ ...made, id: started.id });
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await whole).view.status).toBe("completed");
  });

  test("and a task that takes long to stop: it is taken up again all the same", async () => {
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
    log.full = true;
    await expect(started.runtime.input(started.id, "Hello.", "steer")).rejects.toThrow("full");
    await vi.advanceTimersByTimeAsync(6000);
    expect(started.runtime.live(started.id)).toBeDefined();
    log.full = false;
    stored.resolve();
    const whole = ended(started);
    await vi.waitFor(() => expect(started.runtime.live(started.id)).toBeUndefined());
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await whole).view.status).toBe("completed");
  });

  test("begins no task, and no tool", async () => {
    const log = new FullLog();
    let ran = 0;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const rest = Promise.withResolvers<void>();
    const { agent } = scriptedAgent([[{ wait: rest.promise }, { call: "send", args: {} }]], {
      tools: [tool],
    });
    const started = await start(agent, {}, { log });
    log.full = true;
    rest.resolve();
    await vi.waitFor(() => expect(started.runtime.live(started.id)).toBeUndefined());
    expect(ran).toBe(0);
    await expect(started.runtime.start({ input: "Go." })).rejects.toThrow("the disk is full");
    await started.runtime.close();
  });
});

describe("a log that fails where nobody waits for it", () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);

  beforeEach(() => {
    unhandled.length = 0;
    process.on("unhandledRejection", note);
  });
  afterEach(() => {
    process.off("unhandledRejection", note);
  });

  test("is no harm to the process: when a task is ended that nobody can go on with", async () => {
    const log = new FullLog();
    const started = await start(scriptedAgent([[{ wait: never }]]).agent, {}, { log });
    await started.runtime.close();
    log.full = true;
    const agentFor = (): never => {
      throw new RuntimeError("unknown_agent", "there is no such agent");
    };
    const { runtime } = runtimeOf(started.agent, { log, agentFor });
    await expect(runtime.cancel(started.id, "me")).rejects.toThrow("the disk is full");
    await setTimeout(10);
    expect(unhandled).toEqual([]);
    await runtime.close();
  });

  test("is no harm to the process: when a signal ends a task", async () => {
    class Unreadable extends MemoryLog {
      override rootOf(): Promise<string | undefined> {
        return Promise.reject(new Error("it cannot be read"));
      }
    }
    const ends = new AbortController();
    const { agent } = scriptedAgent([[{ wait: never }]]);
    await runTask(agent, "Go.", { log: new Unreadable(), signal: ends.signal });
    ends.abort();
    await setTimeout(10);
    expect(unhandled).toEqual([]);
  });
});

describe("what was allowed for a session", () => {
  const send = defineTool({
    name: "send",
    description: "Sends.",
    approval: "ask once",
    run: () => "sent",
  });
  const script = [[{ call: "send", args: {} }], [{ text: "Done." }]];

  class Forgetful extends MemoryLog {
    readonly fails: "grants" | "addGrant";
    constructor(fails: "grants" | "addGrant") {
      super();
      this.fails = fails;
    }
    override grants(session: string): ReturnType<MemoryLog["grants"]> {
      return this.fails === "grants" ? Promise.reject(new Error("locked")) : super.grants(session);
    }
    override addGrant(...grant: Parameters<MemoryLog["addGrant"]>): Promise<void> {
      return this.fails === "addGrant"
        ? Promise.reject(new Error("locked"))
        : super.addGrant(...grant);
    }
  }

  test.each(["grants", "addGrant"] as const)(
    "and cannot be read or kept is asked about, and the task goes on: %s",
    async (fails) => {
      const said: string[] = [];
      const started = await start(
        scriptedAgent(script, { tools: [send] }).agent,
        {},
        { log: new Forgetful(fails), onFailure: (message) => said.push(message) },
      );
      await decide(started, { scope: "session" });
      expect((await ended(started)).view.status).toBe("completed");
      expect(said).toEqual([expect.stringContaining("locked")]);
    },
  );
});
