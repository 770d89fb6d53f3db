import type { LogEntry } from "@deltawire/tasks";
import { afterEach, describe, expect, test, vi } from "vitest";
import { defineTool } from "../src/define-tool.ts";
import { MemoryLog } from "../src/memory-log.ts";
import { ended, scriptedAgent, start, until } from "./run-kit.ts";

describe("a log that cannot be written", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  class FullLog extends MemoryLog {
    full = false;
    override append(id: string, entries: readonly LogEntry[]): Promise<void> {
      return this.full ? Promise.reject(new Error("the disk is full")) : super.append(id, entries);
    }
  }

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
