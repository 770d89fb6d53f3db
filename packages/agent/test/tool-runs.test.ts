import { setTimeout } from "node:timers/promises";
import { defineTool, MemoryLog, type ToolDefinition } from "@deltawire/agent";
import type { ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { blobPath } from "@deltawire/tasks";
import { maxModelCharacters } from "../src/calls/long-results.ts";
import { parseLogRow } from "../src/log/private-records.ts";
import {
  waitForEnd,
  recoverTask,
  filterResults,
  scriptedAgent,
  start,
  readLogText,
  getSentResults,
} from "./runtime-fixture.ts";
import type { ScriptStep } from "./scripted-model.ts";

const createTool = (definition: Partial<ToolDefinition<unknown>>) =>
  defineTool({ name: "get", description: "Gets.", run: () => "x", ...definition });

const script = [[{ call: "get", args: {} }], [{ text: "Done." }]];

describe("the timeout of a tool", () => {
  test("ends the call with the outcome timeout, and the task continues", async () => {
    const slow = createTool({
      timeoutMs: 20,
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("aborted"))),
        ),
    });
    const { agent, model } = scriptedAgent(script, { tools: [slow] });
    const { view, events } = await waitForEnd(await start(agent));
    expect(filterResults(view.output)).toMatchObject([{ status: "failed", outcome: "timeout" }]);
    expect(getSentResults(model, 1)).toEqual(["The tool was stopped: no result within 0.02 s."]);
    expect(events.find(({ type }) => type === "task.tool_execution.done")).toMatchObject({
      outcome: "timeout",
    });
  });

  test("abandons a tool that ignores its signal", async () => {
    const { agent } = scriptedAgent(script, {
      tools: [createTool({ timeoutMs: 20, run: () => new Promise(() => undefined) })],
    });
    const { view } = await waitForEnd(await start(agent));
    expect(filterResults(view.output)).toMatchObject([{ outcome: "timeout" }]);
  });

  test("may be a month long", async () => {
    const { agent } = scriptedAgent(script, {
      tools: [createTool({ timeoutMs: 31 * 86_400_000, run: () => setTimeout(20, "here") })],
    });
    const { view } = await waitForEnd(await start(agent));
    expect(filterResults(view.output)).toMatchObject([{ status: "completed" }]);
  });
});

test("the progress of a tool is reported, with invalid fractions and strings corrected", async () => {
  const reportingTool = createTool({
    run: (_input, context) => {
      context.progress("a half", 0.5);
      context.progress("too much", 7);
      context.progress("nothing", Number.NaN);
      context.progress(undefined as unknown as string);
      context.progress("x".repeat(10_000));
      return "done";
    },
  });
  const { agent } = scriptedAgent(script, { tools: [reportingTool] });
  const { view, events } = await waitForEnd(await start(agent));
  expect(filterResults(view.output)[0]?.status).toBe("completed");
  const reports = events.flatMap((event) =>
    event.type === "task.tool_execution.progress" ? [event] : [],
  );
  expect(reports.map(({ message, fraction }) => [message?.length, fraction])).toEqual([
    [6, 0.5],
    [8, 1],
    [7, undefined],
    [9, undefined],
    [2000, undefined],
  ]);
});

test("the context of a tool has its task, call, idempotency key and attempt", async () => {
  let receivedContext: object | undefined;
  const contextTool = createTool({
    run: (_input, { taskId, callId, idempotencyKey, attempt }) =>
      void (receivedContext = { taskId, callId, idempotencyKey, attempt }),
  });
  const { agent } = scriptedAgent(script, { tools: [contextTool] });
  const started = await start(agent);
  const { view, events } = await waitForEnd(started);
  const run = events.find((event) => event.type === "task.tool_execution.started");
  expect(receivedContext).toEqual({
    taskId: started.id,
    callId: filterResults(view.output)[0]?.call_id,
    idempotencyKey: run?.idempotency_key,
    attempt: 1,
  });
});

describe("calls of one round", () => {
  /** Creates a tool that records the highest number of concurrent calls and the order of their starts. */
  function createRecordingTool(
    parallel: boolean,
    name: string,
    record: { now: number; most: number; order: string[] },
  ) {
    return createTool({
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
    ms.map((each, index) => ({ call: name, args: { n: `${name}${index}`, ms: each } }));

  test("run in parallel if their tools allow it, with results in the order of the calls", async () => {
    const record = { now: 0, most: 0, order: [] as string[] };
    const { agent, model } = scriptedAgent([calls("get", 30, 5, 15)], {
      tools: [createRecordingTool(true, "get", record)],
    });
    const { view } = await waitForEnd(await start(agent));
    expect(record.most).toBe(3);
    expect(getSentResults(model, 1)).toEqual(["get0", "get1", "get2"]);
    expect(view.output.map(({ type }) => type)).toEqual([
      ...Array<string>(3).fill("tool_call"),
      ...Array<string>(3).fill("tool_result"),
      "message",
    ]);
  });

  test("run one after another if their tools do not allow parallel calls", async () => {
    const record = { now: 0, most: 0, order: [] as string[] };
    const { agent, model } = scriptedAgent([calls("get", 10, 1, 5)], {
      tools: [createRecordingTool(false, "get", record)],
    });
    await waitForEnd(await start(agent));
    expect(record.most).toBe(1);
    expect(record.order).toEqual(["get0", "get1", "get2"]);
    expect(getSentResults(model, 1)).toEqual(["get0", "get1", "get2"]);
  });

  test("wait before and after a call that does not allow parallel ones", async () => {
    const record = { now: 0, most: 0, order: [] as string[] };
    const exclusiveRecord = { now: 0, most: 0, order: [] as string[] };
    const { agent } = scriptedAgent(
      [[...calls("get", 10, 10), ...calls("put", 10), ...calls("get", 1, 1)]],
      {
        tools: [
          createRecordingTool(true, "get", record),
          createTool({
            name: "put",
            parallel: false,
            run: () => void exclusiveRecord.order.push(`${record.now}`),
          }),
        ],
      },
    );
    await waitForEnd(await start(agent));
    expect(exclusiveRecord.order).toEqual(["0"]);
    expect(record.most).toBe(2);
  });

  test("are not affected if another one fails", async () => {
    const fails = createTool({
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
        tools: [createTool({ parallel: true }), fails],
      },
    );
    const { view } = await waitForEnd(await start(agent));
    expect(filterResults(view.output).map(({ status }) => status)).toEqual([
      "completed",
      "failed",
      "completed",
    ]);
  });
});

describe("a result that is too long for the model", () => {
  const fullText = Array.from({ length: 12_000 }, (_, index) => `line ${index} \u{1F600}`).join(
    "\n",
  );

  test("is truncated with a note and can be read page by page, without gaps or repetition", async () => {
    const { agent, model } = scriptedAgent(
      (request) => {
        const output = (request.input as { output?: string }[]).at(-1)?.output;
        if (output === undefined) return [{ call: "get", args: {} }];
        const next = /continue with read_result (\{.*\})\]$/.exec(output)?.[1];
        return next === undefined
          ? [{ text: "Read." }]
          : [{ call: "read_result", args: {}, raw: next }];
      },
      { tools: [createTool({ run: () => fullText })], limits: { rounds: 20 } },
    );
    const { view } = await waitForEnd(await start(agent));
    expect(view.status).toBe("completed");
    const pages = getSentResults(model, model.requests.length - 1);
    expect(pages.length).toBeGreaterThan(4);
    expect(pages.every((page) => page.length <= maxModelCharacters + 200)).toBe(true);
    const read = pages.map((page) => page.replace(/\n\[truncated: [^\]]*\]$/, "")).join("");
    expect(read === fullText).toBe(true);
  });

  test("is stored with the URL of its blob, and one that an earlier version stored can still be read", async () => {
    const readNextPage = (request: ResponsesRequest): ScriptStep[] => {
      const output = (request.input as { output?: string }[]).at(-1)?.output ?? "";
      const next = /continue with read_result (\{.*\})\]$/.exec(output)?.[1];
      return next === undefined || request.input?.length !== 3
        ? [{ text: "Read." }]
        : [{ call: "read_result", args: {}, raw: next }];
    };
    const tools = [createTool({ run: () => fullText })];
    const first = scriptedAgent(script, { tools });
    const started = await start(first.agent);
    await waitForEnd(started);
    expect(await readLogText(started)).toMatch(
      new RegExp(`"full_output":\\{"url":"${blobPath}[0-9a-f]{64}"`),
    );
    const log = new MemoryLog();
    for (const row of await started.log.read(started.id, -1, 1e6)) {
      const legacyPrivate = row.private?.replace(
        /"full_output":\{"url":"\/api\/blobs\/([0-9a-f]{64})"/,
        '"whole":{"hash":"$1"',
      );
      const { event } = parseLogRow(row);
      if (event.type === "task.round.started" && event.round === 2) break;
      await log.append(started.id, [
        parseLogRow({ ...row, ...(legacyPrivate === undefined ? {} : { private: legacyPrivate }) }),
      ]);
    }
    const next = scriptedAgent(readNextPage, { tools });
    await waitForEnd(
      await recoverTask(next.agent, { log, id: started.id }, { blobs: started.blobs }),
    );
    expect(getSentResults(next.model, 1)[1]).toContain(fullText.slice(maxModelCharacters, 40_000));
  });

  test("of several parts is truncated across the parts", async () => {
    const parts = ["X", "Y", "Z"].map((id) => ({ type: "text", text: id.repeat(20_000), id }));
    const { agent, model } = scriptedAgent(script, {
      tools: [createTool({ run: () => ({ message_content: parts }) })],
    });
    await waitForEnd(await start(agent));
    const sentText = getSentResults(model, 1)[0] ?? "";
    expect(sentText.includes("X".repeat(20_000))).toBe(true);
    expect(sentText.includes("Z")).toBe(false);
    expect(sentText.slice(-200)).toContain(`"offset":${maxModelCharacters}`);
  });

  test("cannot be read with an unknown name or an invalid offset", async () => {
    const { agent, model } = scriptedAgent(
      [
        [
          { call: "read_result", args: { result: "call_none", offset: 0 } },
          { call: "read_result", args: { result: "x", offset: -1 } },
        ],
      ],
      { tools: [createTool({})] },
    );
    await waitForEnd(await start(agent));
    const [unknown, bad] = getSentResults(model, 1);
    expect(unknown).toContain('no truncated result "call_none"');
    expect(bad).toContain("its arguments are invalid");
  });
});

test("a custom tool is run even if it has the name of a built-in tool", async () => {
  const customTool = defineTool({ name: "any", description: "Helps.", run: () => "my own help" });
  const { agent, model } = scriptedAgent(
    [[{ call: "ask_for_help", args: {} }], [{ text: "Thanks." }]],
    { tools: [{ ...customTool, name: "ask_for_help" }] },
  );
  await waitForEnd(await start(agent));
  expect(getSentResults(model, 1)).toEqual(["my own help"]);
});
