import { setTimeout } from "node:timers/promises";
import { defineTool, MemoryLog, type ToolDefinition } from "@deltawire/agent";
import type { ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { blobPath } from "@deltawire/tasks";
import { longestForModel } from "../src/calls/long-results.ts";
import { entryOf } from "../src/log/private-parts.ts";
import {
  ended,
  recovered,
  resultsIn,
  scriptedAgent,
  start,
  textOfLog,
  toldResults,
} from "./run-kit.ts";
import type { Saying } from "./scripted-model.ts";

const tool = (definition: Partial<ToolDefinition<unknown>>) =>
  defineTool({ name: "get", description: "Gets.", run: () => "x", ...definition });

const one = [[{ call: "get", args: {} }], [{ text: "Done." }]];

describe("time", () => {
  test("that runs out gives a result of its own, and the task goes on", async () => {
    const slow = tool({
      timeout: 20,
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("aborted"))),
        ),
    });
    const { agent, model } = scriptedAgent(one, { tools: [slow] });
    const { view, events } = await ended(await start(agent));
    expect(resultsIn(view.output)).toMatchObject([{ status: "failed", outcome: "timeout" }]);
    expect(toldResults(model, 1)).toEqual(["The tool was stopped: no result within 0.02 s."]);
    expect(events.find(({ type }) => type === "task.tool_execution.done")).toMatchObject({
      outcome: "timeout",
    });
  });

  test("that runs out for a tool that ignores it gives it up", async () => {
    const { agent } = scriptedAgent(one, {
      tools: [tool({ timeout: 20, run: () => new Promise(() => undefined) })],
    });
    const { view } = await ended(await start(agent));
    expect(resultsIn(view.output)).toMatchObject([{ outcome: "timeout" }]);
  });

  test("of a month is not over at once", async () => {
    const { agent } = scriptedAgent(one, {
      tools: [tool({ timeout: 31 * 86_400_000, run: () => setTimeout(20, "here") })],
    });
    const { view } = await ended(await start(agent));
    expect(resultsIn(view.output)).toMatchObject([{ status: "completed" }]);
  });
});

test("a tool tells how far it is; what is no fraction or no text is made one", async () => {
  const tells = tool({
    run: (_input, context) => {
      context.progress("a half", 0.5);
      context.progress("too much", 7);
      context.progress("nothing", Number.NaN);
      context.progress(undefined as unknown as string);
      context.progress("x".repeat(10_000));
      return "done";
    },
  });
  const { agent } = scriptedAgent(one, { tools: [tells] });
  const { view, events } = await ended(await start(agent));
  expect(resultsIn(view.output)[0]?.status).toBe("completed");
  const told = events.flatMap((event) =>
    event.type === "task.tool_execution.progress" ? [event] : [],
  );
  expect(told.map(({ message, fraction }) => [message?.length, fraction])).toEqual([
    [6, 0.5],
    [8, 1],
    [7, undefined],
    [9, undefined],
    [2000, undefined],
  ]);
});

test("what a tool knows: its task, its call, its key and that it is the first attempt", async () => {
  let known: object | undefined;
  const knows = tool({
    run: (_input, { taskId, callId, idempotencyKey, attempt }) =>
      void (known = { taskId, callId, idempotencyKey, attempt }),
  });
  const { agent } = scriptedAgent(one, { tools: [knows] });
  const started = await start(agent);
  const { view, events } = await ended(started);
  const run = events.find((event) => event.type === "task.tool_execution.started");
  expect(known).toEqual({
    taskId: started.id,
    callId: resultsIn(view.output)[0]?.call_id,
    idempotencyKey: run?.idempotency_key,
    attempt: 1,
  });
});

describe("calls of one round", () => {
  /** How many run at the same time, at the most, and in which order they begin. */
  function watched(
    parallel: boolean,
    name: string,
    record: { now: number; most: number; order: string[] },
  ) {
    return tool({
      name,
      parallel,
      run: async (input) => {
        record.now += 1;
        record.most = Math.max(record.most, record.now);
        const { n, ms } = input as { n: string; ms: number };
        record.order.push(n);
        await setTimeout(ms);
        record.now -= 1;
        return n;
      },
    });
  }

  const calls = (name: string, ...ms: number[]) =>
    ms.map((each, at) => ({ call: name, args: { n: `${name}${at}`, ms: each } }));

  test("run side by side where tools allow it, and their results are in the order of the calls", async () => {
    const record = { now: 0, most: 0, order: [] as string[] };
    const { agent, model } = scriptedAgent([calls("get", 30, 5, 15)], {
      tools: [watched(true, "get", record)],
    });
    const { view } = await ended(await start(agent));
    expect(record.most).toBe(3);
    expect(toldResults(model, 1)).toEqual(["get0", "get1", "get2"]);
    expect(view.output.map(({ type }) => type)).toEqual([
      ...Array<string>(3).fill("tool_call"),
      ...Array<string>(3).fill("tool_result"),
      "message",
    ]);
  });

  test("run one after the other where they do not", async () => {
    const record = { now: 0, most: 0, order: [] as string[] };
    const { agent, model } = scriptedAgent([calls("get", 10, 1, 5)], {
      tools: [watched(false, "get", record)],
    });
    await ended(await start(agent));
    expect(record.most).toBe(1);
    expect(record.order).toEqual(["get0", "get1", "get2"]);
    expect(toldResults(model, 1)).toEqual(["get0", "get1", "get2"]);
  });

  test("one that runs alone waits for those before it, and those behind it wait for it", async () => {
    const record = { now: 0, most: 0, order: [] as string[] };
    const alone = { now: 0, most: 0, order: [] as string[] };
    const { agent } = scriptedAgent(
      [[...calls("get", 10, 10), ...calls("put", 10), ...calls("get", 1, 1)]],
      {
        tools: [
          watched(true, "get", record),
          tool({ name: "put", parallel: false, run: () => void alone.order.push(`${record.now}`) }),
        ],
      },
    );
    await ended(await start(agent));
    expect(alone.order).toEqual(["0"]);
    expect(record.most).toBe(2);
  });

  test("one that fails does not disturb the others", async () => {
    const fails = tool({
      name: "fail",
      parallel: true,
      run: () => Promise.reject(new Error("no")),
    });
    const { agent } = scriptedAgent(
      [
        [
          { call: "get", args: {} },
          { call: "fail", args: {} },
          { call: "get", args: {} },
        ],
      ],
      {
        tools: [tool({ parallel: true }), fails],
      },
    );
    const { view } = await ended(await start(agent));
    expect(resultsIn(view.output).map(({ status }) => status)).toEqual([
      "completed",
      "failed",
      "completed",
    ]);
  });
});

describe("a result that is too long for the model", () => {
  const whole = Array.from({ length: 12_000 }, (_, at) => `line ${at} \u{1F600}`).join("\n");

  test("is cut with a note, and read on in pages until its end: nothing is missing, nothing twice", async () => {
    const { agent, model } = scriptedAgent(
      (request) => {
        const output = (request.input as { output?: string }[]).at(-1)?.output;
        if (output === undefined) return [{ call: "get", args: {} }];
        const next = /read on with read_result (\{.*\})\]$/.exec(output)?.[1];
        return next === undefined
          ? [{ text: "Read." }]
          : [{ call: "read_result", args: {}, raw: next }];
      },
      { tools: [tool({ run: () => whole })], limits: { rounds: 20 } },
    );
    const { view } = await ended(await start(agent));
    expect(view.status).toBe("completed");
    const pages = toldResults(model, model.asked.length - 1);
    expect(pages.length).toBeGreaterThan(4);
    expect(pages.every((page) => page.length <= longestForModel + 200)).toBe(true);
    const read = pages.map((page) => page.replace(/\n\[cut: [^\]]*\]$/, "")).join("");
    expect(read === whole).toBe(true);
  });

  test("is kept under an address, by which a store knows that it is in use; one that is kept by its hash is read too", async () => {
    const readOn = (request: ResponsesRequest): Saying[] => {
      const output = (request.input as { output?: string }[]).at(-1)?.output ?? "";
      const next = /read on with read_result (\{.*\})\]$/.exec(output)?.[1];
      return next === undefined || request.input?.length !== 3
        ? [{ text: "Read." }]
        : [{ call: "read_result", args: {}, raw: next }];
    };
    const tools = [tool({ run: () => whole })];
    const first = scriptedAgent(one, { tools });
    const started = await start(first.agent);
    await ended(started);
    expect(await textOfLog(started)).toMatch(
      new RegExp(`"whole":\\{"url":"${blobPath}[0-9a-f]{64}"`),
    );
    const log = new MemoryLog();
    for (const row of await started.log.read(started.id, -1, 1e6)) {
      const kept = row.private?.replace(/"url":"\/api\/blobs\/([0-9a-f]{64})"/, '"hash":"$1"');
      const { event } = entryOf(row);
      if (event.type === "task.round.started" && event.round === 2) break;
      await log.append(started.id, [
        entryOf({ ...row, ...(kept === undefined ? {} : { private: kept }) }),
      ]);
    }
    const next = scriptedAgent(readOn, { tools });
    await ended(await recovered(next.agent, { log, id: started.id }, { blobs: started.blobs }));
    expect(toldResults(next.model, 1)[1]).toContain(whole.slice(longestForModel, 40_000));
  });

  test("of several parts is cut across them", async () => {
    const parts = ["X", "Y", "Z"].map((id) => ({ type: "text", text: id.repeat(20_000), id }));
    const { agent, model } = scriptedAgent(one, {
      tools: [tool({ run: () => ({ message_content: parts }) })],
    });
    await ended(await start(agent));
    const told = toldResults(model, 1)[0] ?? "";
    expect(told.includes("X".repeat(20_000))).toBe(true);
    expect(told.includes("Z")).toBe(false);
    expect(told.slice(-200)).toContain(`"offset":${longestForModel}`);
  });

  test("and a name or a place that is none get an answer", async () => {
    const { agent, model } = scriptedAgent(
      [
        [
          { call: "read_result", args: { result: "call_none", offset: 0 } },
          { call: "read_result", args: { result: "x", offset: -1 } },
        ],
      ],
      { tools: [tool({})] },
    );
    await ended(await start(agent));
    const [unknown, bad] = toldResults(model, 1);
    expect(unknown).toContain('no result "call_none"');
    expect(bad).toContain("its arguments are no good");
  });
});

test("a tool that was made by hand is run, though it has the name of one of the runtime's", async () => {
  const made = defineTool({ name: "any", description: "Helps.", run: () => "my own help" });
  const { agent, model } = scriptedAgent(
    [[{ call: "ask_for_help", args: {} }], [{ text: "Thanks." }]],
    { tools: [{ ...made, name: "ask_for_help" }] },
  );
  await ended(await start(agent));
  expect(toldResults(model, 1)).toEqual(["my own help"]);
});
