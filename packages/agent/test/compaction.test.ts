import { defineTool, ModelError, type AgentDefinition } from "@deltawire/agent";
import type { ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  waitForEnd,
  readEvents,
  createRuntime,
  scriptedAgent,
  start,
  getSentItems,
  waitUntil,
  filterWarnings,
  type Script,
} from "./runtime-fixture.ts";
import type { ScriptStep } from "./scripted-model.ts";

const page = (n: number): string => `page ${n}: ${"words ".repeat(2000)}`;
const read = defineTool({
  name: "read",
  description: "Reads a page.",
  effect: "pure",
  run: (input) => page((input as { n: number }).n),
});

const isSummary = ({ instructions }: ResponsesRequest): boolean =>
  instructions?.startsWith("You take notes") === true;

/** A script that reads one page per round, and writes a summary when that is requested. */
function createReadingScript(pages: number): { script: Script; summaries: ResponsesRequest[] } {
  const summaries: ResponsesRequest[] = [];
  let n = 0;
  const script = (request: ResponsesRequest): ScriptStep[] => {
    if (isSummary(request)) {
      summaries.push(request);
      return [{ text: `The summary, number ${summaries.length}.` }];
    }
    n += 1;
    return n <= pages ? [{ call: "read", args: { n } }] : [{ text: "All read." }];
  };
  return { script, summaries };
}

const createReader = (script: Script, overrides: Partial<AgentDefinition> = {}) =>
  scriptedAgent(script, {
    tools: [read],
    contextWindow: 12_000,
    limits: { rounds: 30 },
    ...overrides,
  });

describe("when the context window fills up", () => {
  test("old rounds are summarized for the model, the latest rounds remain, and users still see all", async () => {
    const { script, summaries } = createReadingScript(6);
    const { agent, model } = createReader(script);
    const { view, events } = await waitForEnd(await start(agent, { input: "Read it all." }));
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
    const last = JSON.stringify(model.requests.at(-1)?.input);
    expect(last).toContain("Read it all.");
    expect(last).toContain(`The summary, number ${summaries.length}.`);
    expect(last).toContain("page 6:");
    expect(last).not.toContain("page 1:");
    for (const n of [1, 2, 3, 4, 5, 6]) expect(JSON.stringify(view)).toContain(`page ${n}:`);
  });

  test("calls and their results are never separated", async () => {
    const { agent, model } = createReader(createReadingScript(8).script);
    await waitForEnd(await start(agent));
    for (const { input } of model.requests) {
      const items = input as { type?: string; call_id?: string }[];
      const ids = (type: string) =>
        items.filter((item) => item.type === type).map(({ call_id }) => call_id);
      expect(ids("function_call")).toEqual(ids("function_call_output"));
    }
  });

  test("the second summary includes the first", async () => {
    const { script, summaries } = createReadingScript(8);
    await waitForEnd(await start(createReader(script).agent));
    expect(summaries.length).toBeGreaterThan(1);
    expect(JSON.stringify(summaries[1]?.input)).toContain("The summary, number 1.");
  });

  test("the usage of summaries is counted", async () => {
    const { script, summaries } = createReadingScript(6);
    const { agent, model } = createReader(script);
    const { view } = await waitForEnd(await start(agent));
    expect(summaries.length).toBeGreaterThan(0);
    expect(view.usage.total_tokens).toBe(model.requests.length * 15);
  });

  test("the history from before the task is summarized too", async () => {
    const { script, summaries } = createReadingScript(0);
    const { agent, model } = createReader(script);
    const history = [1, 2, 3, 4, 5].map((n) => ({
      type: "message" as const,
      role: "user" as const,
      content: page(n),
    }));
    await waitForEnd(await start(agent, { input: "And now?", history }));
    expect(summaries).toHaveLength(1);
    const [summary, userMessage, ...rest] = getSentItems(model);
    expect(JSON.stringify(summary)).toContain("The summary, number 1.");
    expect(JSON.stringify(userMessage)).toContain("And now?");
    expect(rest).toEqual([]);
  });

  test("a message that the user sent during the task is summarized once and not sent again", async () => {
    const { script, summaries } = createReadingScript(6);
    const { agent, model } = createReader(script);
    const started = await start(agent);
    await waitUntil(started, ({ tasks }) => (tasks[started.id]?.round ?? 0) >= 1);
    await started.runtime.input(started.id, "Mind the gap.", "steer");
    await waitForEnd(started);
    const inputs = [...summaries.map(({ input }) => input), model.requests.at(-1)?.input].map(
      (input) => JSON.stringify(input),
    );
    expect(inputs[0]?.split("Mind the gap.")).toHaveLength(2);
    expect(inputs.at(-1)).not.toContain("Mind the gap.");
  });
});

describe("when the model rejects the request as too long", () => {
  const tooLong = new ModelError("context_length_exceeded", "too long");

  test("the history is summarized and the request is repeated", async () => {
    let rejected = 0;
    const { script, summaries } = createReadingScript(3);
    const { agent } = createReader(
      (request, round) => {
        const pages = JSON.stringify(request.input).split("page ").length - 1;
        if (!isSummary(request) && pages > 2) {
          rejected += 1;
          return [{ error: tooLong }];
        }
        return (script as (request: ResponsesRequest, round: number) => ScriptStep[])(
          request,
          round,
        );
      },
      { contextWindow: 1_000_000 },
    );
    const { view } = await waitForEnd(await start(agent));
    expect(rejected).toBe(1);
    expect(summaries).toHaveLength(1);
    expect(view.status).toBe("completed");
  });

  test("and there is nothing to summarize, the task fails with that error", async () => {
    const { agent, model } = createReader([[{ error: tooLong }]]);
    const { view } = await waitForEnd(await start(agent));
    expect(view.error?.code).toBe("context_length_exceeded");
    expect(model.requests).toHaveLength(1);
  });
});

describe("a summary", () => {
  const createReaderWithSummary = (summarySteps: ScriptStep[]) => {
    const { script } = createReadingScript(6);
    return createReader((request, round) =>
      isSummary(request)
        ? summarySteps
        : (script as (request: ResponsesRequest, round: number) => ScriptStep[])(request, round),
    );
  };

  test.each([
    [
      "ends before it is complete",
      [{ text: "Half of" }, { cut: true }] as ScriptStep[],
      "upstream_stream_truncated",
    ],
    [
      "is rejected",
      [{ error: new ModelError("invalid_key", "no") }] as ScriptStep[],
      "invalid_key",
    ],
    ["is empty", [] as ScriptStep[], "context_length_exceeded"],
  ])("that %s fails the task", async (_name, summarySteps, code) => {
    const { view } = await waitForEnd(await start(createReaderWithSummary(summarySteps).agent));
    expect(view.status).toBe("failed");
    expect(view.error?.code).toBe(code);
  });

  test("that ends before it is complete is requested again, with a warning", async () => {
    let attempts = 0;
    const { script } = createReadingScript(6);
    const { agent } = createReader((request, round) => {
      if (isSummary(request) && (attempts += 1) < 3) return [{ text: "Half of" }, { cut: true }];
      return (script as (request: ResponsesRequest, round: number) => ScriptStep[])(request, round);
    });
    const { view, events } = await waitForEnd(await start(agent));
    expect(view.status).toBe("completed");
    const retries = filterWarnings(events).filter(({ code }) => code === "model_retry_scheduled");
    expect(retries.slice(0, 2)).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  });

  test("that fails three times is skipped if the request still fits", async () => {
    let attempts = 0;
    const { script } = createReadingScript(4);
    // Four pages fill more than four fifths of the context window.
    const { agent } = createReader(
      (request, round) => {
        if (isSummary(request)) {
          attempts += 1;
          return [{ error: new ModelError("overloaded", "busy", { retryable: true }) }];
        }
        return (script as (request: ResponsesRequest, round: number) => ScriptStep[])(
          request,
          round,
        );
      },
      { contextWindow: 14_000 },
    );
    const { view, events } = await waitForEnd(await start(agent));
    expect(view.status).toBe("completed");
    expect(attempts).toBe(3);
    expect(filterWarnings(events).map(({ code }) => code)).toContain("compaction_failed");
  });

  test("is aborted when the task is canceled", async () => {
    const { agent, model } = createReaderWithSummary([
      { text: "I " },
      { wait: new Promise(() => undefined) },
    ]);
    const started = await start(agent);
    await waitUntil(started, () => model.requests.some(isSummary));
    await started.runtime.cancel(started.id, "me");
    expect((await waitForEnd(started)).view.status).toBe("canceled");
    expect(model.openStreams).toBe(0);
  });

  test("is still used by the process that resumes the task", async () => {
    const { script, summaries } = createReadingScript(4);
    const { agent, model } = createReader((request, round) => {
      if (summaries.length > 0 && !isSummary(request) && model.requests.length < 100)
        return [{ wait: new Promise(() => undefined) }];
      return (script as (request: ResponsesRequest, round: number) => ScriptStep[])(request, round);
    });
    const started = await start(agent);
    await waitUntil(started, () => summaries.length > 0 && model.openStreams > 0);
    await waitUntil(started, ({ head }) => head > 0);
    while (
      !(await readEvents(started)).some(({ type }) => type === "task.context_compression.completed")
    )
      await new Promise((resolve) => setTimeout(resolve, 1));
    await started.runtime.close();
    const next = createReader([[{ text: "All read." }]]);
    const { runtime } = createRuntime(next.agent, { log: started.log, blobs: started.blobs });
    expect(await runtime.recover()).toEqual([started.id]);
    await waitForEnd({ ...started, runtime });
    expect(JSON.stringify(next.model.requests[0]?.input)).toContain("The summary, number 1.");
    expect(JSON.stringify(next.model.requests[0]?.input)).not.toContain("page 1:");
  });
});
