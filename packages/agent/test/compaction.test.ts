import { defineTool, ModelError, type AgentDefinition } from "@deltawire/agent";
import type { ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  ended,
  eventsOf,
  runtimeOf,
  scriptedAgent,
  start,
  toldItems,
  until,
  warningsIn,
  type Script,
} from "./run-kit.ts";
import type { Saying } from "./scripted-model.ts";

const page = (n: number): string => `page ${n}: ${"words ".repeat(2000)}`;
const read = defineTool({
  name: "read",
  description: "Reads a page.",
  effect: "pure",
  run: (input) => page((input as { n: number }).n),
});

const isSummary = ({ instructions }: ResponsesRequest): boolean =>
  instructions?.startsWith("You keep the notes") === true;

/** Reads so many pages, one a round, and keeps notes when it is asked to. */
function reads(pages: number): { script: Script; summaries: ResponsesRequest[] } {
  const summaries: ResponsesRequest[] = [];
  let n = 0;
  const script = (request: ResponsesRequest): Saying[] => {
    if (isSummary(request)) {
      summaries.push(request);
      return [{ text: `The notes, number ${summaries.length}.` }];
    }
    n += 1;
    return n <= pages ? [{ call: "read", args: { n } }] : [{ text: "All read." }];
  };
  return { script, summaries };
}

const reader = (script: Script, more: Partial<AgentDefinition> = {}) =>
  scriptedAgent(script, { tools: [read], contextWindow: 12_000, limits: { rounds: 30 }, ...more });

describe("when the window fills", () => {
  test("what is old is put into fewer words, the last rounds stay, and the log is untouched", async () => {
    const { script, summaries } = reads(6);
    const { agent, model } = reader(script);
    const { view, events } = await ended(await start(agent, { input: "Read it all." }));
    expect(view.status).toBe("completed");
    expect(summaries.length).toBeGreaterThan(0);
    const phases = events.flatMap(({ type }) =>
      type.startsWith("task.context_compression.") ? [type.split(".")[2]] : [],
    );
    expect(phases.slice(0, 3)).toEqual(["created", "in_progress", "completed"]);
    const done = events.find(({ type }) => type === "task.context_compression.completed") as {
      before_tokens?: number;
      after_tokens?: number;
    };
    expect(done.after_tokens).toBeLessThan(done.before_tokens ?? 0);
    const last = JSON.stringify(model.asked.at(-1)?.input);
    expect(last).toContain("Read it all.");
    expect(last).toContain(`The notes, number ${summaries.length}.`);
    expect(last).toContain("page 6:");
    expect(last).not.toContain("page 1:");
    for (const n of [1, 2, 3, 4, 5, 6]) expect(JSON.stringify(view)).toContain(`page ${n}:`);
  });

  test("calls and their results are never torn apart", async () => {
    const { agent, model } = reader(reads(8).script);
    await ended(await start(agent));
    for (const { input } of model.asked) {
      const items = input as { type?: string; call_id?: string }[];
      const ids = (type: string) =>
        items.filter((item) => item.type === type).map(({ call_id }) => call_id);
      expect(ids("function_call")).toEqual(ids("function_call_output"));
    }
  });

  test("the second notes are made of the first", async () => {
    const { script, summaries } = reads(8);
    await ended(await start(reader(script).agent));
    expect(summaries.length).toBeGreaterThan(1);
    expect(JSON.stringify(summaries[1]?.input)).toContain("The notes, number 1.");
  });

  test("what the notes cost is counted", async () => {
    const { script, summaries } = reads(6);
    const { agent, model } = reader(script);
    const { view } = await ended(await start(agent));
    expect(summaries.length).toBeGreaterThan(0);
    expect(view.usage.total_tokens).toBe(model.asked.length * 15);
  });

  test("of what came before the task, that is put into fewer words", async () => {
    const { script, summaries } = reads(0);
    const { agent, model } = reader(script);
    const history = [1, 2, 3, 4, 5].map((n) => ({
      type: "message" as const,
      role: "user" as const,
      content: page(n),
    }));
    await ended(await start(agent, { input: "And now?", history }));
    expect(summaries).toHaveLength(1);
    const [notes, asked, ...rest] = toldItems(model);
    expect(JSON.stringify(notes)).toContain("The notes, number 1.");
    expect(JSON.stringify(asked)).toContain("And now?");
    expect(rest).toEqual([]);
  });

  test("what the user said on the way is in the notes or still there, and not twice", async () => {
    const { script, summaries } = reads(6);
    const { agent, model } = reader(script);
    const started = await start(agent);
    await until(started, ({ tasks }) => (tasks[started.id]?.round ?? 0) >= 1);
    await started.runtime.input(started.id, "Mind the gap.", "steer");
    await ended(started);
    const told = [...summaries.map(({ input }) => input), model.asked.at(-1)?.input].map((input) =>
      JSON.stringify(input),
    );
    expect(told[0]?.split("Mind the gap.")).toHaveLength(2);
    expect(told.at(-1)).not.toContain("Mind the gap.");
  });
});

describe("when the model says that it is too long", () => {
  const tooLong = new ModelError("context_length_exceeded", "too long");

  test("the history is put into fewer words and it is asked again", async () => {
    let refused = 0;
    const { script, summaries } = reads(3);
    const { agent } = reader(
      (request, round) => {
        const pages = JSON.stringify(request.input).split("page ").length - 1;
        if (!isSummary(request) && pages > 2) {
          refused += 1;
          return [{ error: tooLong }];
        }
        return (script as (request: ResponsesRequest, round: number) => Saying[])(request, round);
      },
      { contextWindow: 1_000_000 },
    );
    const { view } = await ended(await start(agent));
    expect(refused).toBe(1);
    expect(summaries).toHaveLength(1);
    expect(view.status).toBe("completed");
  });

  test("and there is nothing to be put into fewer words, the task fails with that", async () => {
    const { agent, model } = reader([[{ error: tooLong }]]);
    const { view } = await ended(await start(agent));
    expect(view.error?.code).toBe("context_length_exceeded");
    expect(model.asked).toHaveLength(1);
  });
});

describe("notes", () => {
  const failing = (sayings: Saying[]) => {
    const { script } = reads(6);
    return reader((request, round) =>
      isSummary(request)
        ? sayings
        : (script as (request: ResponsesRequest, round: number) => Saying[])(request, round),
    );
  };

  test.each([
    ["break off", [{ text: "Half of" }, { cut: true }] as Saying[], "upstream_stream_truncated"],
    ["are refused", [{ error: new ModelError("invalid_key", "no") }] as Saying[], "invalid_key"],
    ["are empty", [] as Saying[], "context_length_exceeded"],
  ])("that %s are not taken: the task fails with that", async (_name, sayings, code) => {
    const { view } = await ended(await start(failing(sayings).agent));
    expect(view.status).toBe("failed");
    expect(view.error?.code).toBe(code);
  });

  test("that break off are asked for again, with a warning", async () => {
    let tries = 0;
    const { script } = reads(6);
    const { agent } = reader((request, round) => {
      if (isSummary(request) && (tries += 1) < 3) return [{ text: "Half of" }, { cut: true }];
      return (script as (request: ResponsesRequest, round: number) => Saying[])(request, round);
    });
    const { view, events } = await ended(await start(agent));
    expect(view.status).toBe("completed");
    const again = warningsIn(events).filter(({ code }) => code === "model_asked_again");
    expect(again.slice(0, 2)).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  });

  test("that cannot be had, though they were asked for three times, are done without while all still fits", async () => {
    let tries = 0;
    const { script } = reads(4);
    // Four pages fill it to more than four fifths.
    const { agent } = reader(
      (request, round) => {
        if (isSummary(request)) {
          tries += 1;
          return [{ error: new ModelError("overloaded", "busy", { retryable: true }) }];
        }
        return (script as (request: ResponsesRequest, round: number) => Saying[])(request, round);
      },
      { contextWindow: 14_000 },
    );
    const { view, events } = await ended(await start(agent));
    expect(view.status).toBe("completed");
    expect(tries).toBe(3);
    expect(warningsIn(events).map(({ code }) => code)).toContain("compaction_failed");
  });

  test("are stopped by a cancel", async () => {
    const { agent, model } = failing([{ text: "I " }, { wait: new Promise(() => undefined) }]);
    const started = await start(agent);
    await until(started, () => model.asked.some(isSummary));
    await started.runtime.cancel(started.id, "me");
    expect((await ended(started)).view.status).toBe("canceled");
    expect(model.open).toBe(0);
  });

  test("are still there in another process", async () => {
    const { script, summaries } = reads(4);
    const { agent, model } = reader((request, round) => {
      if (summaries.length > 0 && !isSummary(request) && model.asked.length < 100)
        return [{ wait: new Promise(() => undefined) }];
      return (script as (request: ResponsesRequest, round: number) => Saying[])(request, round);
    });
    const started = await start(agent);
    await until(started, () => summaries.length > 0 && model.open > 0);
    await until(started, ({ head }) => head > 0);
    while (
      !(await eventsOf(started)).some(({ type }) => type === "task.context_compression.completed")
    )
      await new Promise((resolve) => setTimeout(resolve, 1));
    await started.runtime.close();
    const next = reader([[{ text: "All read." }]]);
    const { runtime } = runtimeOf(next.agent, { log: started.log, blobs: started.blobs });
    expect(await runtime.recover()).toEqual([started.id]);
    await ended({ ...started, runtime });
    expect(JSON.stringify(next.model.asked[0]?.input)).toContain("The notes, number 1.");
    expect(JSON.stringify(next.model.asked[0]?.input)).not.toContain("page 1:");
  });
});
