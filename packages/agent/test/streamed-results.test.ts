import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, Redactor, type ToolContext, type ToolDefinition } from "@deltawire/agent";
import {
  emptyTree,
  reduce,
  buildTaskView,
  type OutputItem,
  type TaskEvent,
  type TaskTree,
  type ToolResultItem,
} from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  waitForEnd,
  readEvents,
  createRuntime,
  scriptedAgent,
  start,
  waitUntil,
  type StartedTask,
} from "./runtime-fixture.ts";

type Run = (input: unknown, context: ToolContext) => unknown;

const call = { call: "work", args: {} };

function createAgent(
  run: Run,
  overrides: Partial<ToolDefinition<unknown>> = {},
  script = [[call]],
) {
  const tool = defineTool({
    name: "work",
    description: "Works.",
    effect: "pure",
    run,
    ...overrides,
  });
  return scriptedAgent(script, { tools: [tool] });
}

function getResult(output: readonly unknown[]): ToolResultItem {
  const results = (output as OutputItem[]).filter(({ type }) => type === "tool_result");
  expect(results).toHaveLength(1);
  return results[0] as ToolResultItem;
}

const findResult = ({ tasks }: TaskTree, id: string): ToolResultItem | undefined =>
  tasks[id]?.output.find((item) => item.type === "tool_result");

const listMediaEventTypes = (events: readonly TaskEvent[]): string[] =>
  events
    .map(({ type }) => type)
    .filter((type) => /^task\.(text|image|audio|file|data)\./.test(type));

/** Creates a promise that the test resolves with `open`. */
function createGate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

const png = (byte: number) => ({ bytes: new Uint8Array([137, 80, byte]), media_type: "image/png" });

describe("a tool that streams", () => {
  test("shows text, an image as it grows, audio and a file before it returns", async () => {
    const { open, opened } = createGate();
    const { agent, model } = createAgent(async (_input, { stream }) => {
      stream.text("Looking");
      stream.text(" around.");
      const image = stream.image();
      image.partial(png(1));
      await sleep(1);
      image.partial(png(2));
      image.done(png(3));
      stream.audio().done({ bytes: new Uint8Array([1]), media_type: "audio/wav" });
      const file = stream.file({ filename: "notes.txt", media_type: "text/plain" });
      file.done({ bytes: Buffer.from("notes") });
      stream.block({ type: "data", data: { found: 1 } });
      stream.text("Nearly there.");
      await opened;
    });
    const started = await start(agent);
    const live = await waitUntil(
      started,
      (state) => findResult(state, started.id)?.block_list.length === 6,
    );
    const shown = findResult(live, started.id);
    expect(shown?.status).toBe("in_progress");
    const url = expect.stringMatching(/^\/api\/blobs\/[0-9a-f]{64}$/) as unknown as string;
    const first = [
      { type: "text", text: "Looking around." },
      { type: "image", image_url: { url } },
      { type: "audio", audio_url: { url } },
      { type: "file", file_url: { url }, filename: "notes.txt", media_type: "text/plain" },
      { type: "data", data: { found: 1 } },
    ];
    expect(shown?.block_list.slice(0, 5)).toEqual(first);
    // A new subscriber sees the same as one from the start.
    expect(buildTaskView(reduce(emptyTree, await readEvents(started)))).toEqual(
      buildTaskView(await started.runtime.state(started.id)),
    );
    open();
    const { view, events, state } = await waitForEnd(started);
    expect(buildTaskView(reduce(emptyTree, events))).toEqual(view);
    expect(buildTaskView(state)).toEqual(view);
    expect(getResult(view.output).block_list).toEqual([
      ...first,
      { type: "text", text: "Nearly there." },
    ]);
    expect(listMediaEventTypes(events)).toEqual([
      "task.text.added",
      "task.text.delta",
      "task.text.delta",
      "task.text.done",
      "task.image.added",
      "task.image.delta",
      "task.image.delta",
      "task.image.done",
      "task.audio.added",
      "task.audio.done",
      "task.file.added",
      "task.file.done",
      "task.data.done",
      "task.text.added",
      "task.text.delta",
      "task.text.done",
      // The answer of the model.
      ...listMediaEventTypes(events).slice(16),
    ]);
    // The model receives all of it at the end.
    const sent = JSON.stringify(model.requests[1]?.input);
    expect(sent).toContain("Looking around.");
    expect(sent).toContain("input_image");
    expect(sent).toContain("Nearly there.");
  });

  test.each<[string, unknown, string[], string]>([
    ["nothing", undefined, ["streamed"], "streamed"],
    ["text", "returned", ["streamed", "returned"], "streamed\nreturned"],
    ["content for the model", { message_content: "for you" }, ["streamed"], "for you"],
    [
      "both",
      { message_content: "for you", block_list: [{ type: "text", text: "more" }] },
      ["streamed", "more"],
      "for you",
    ],
  ])("and returns %s has both in its result", async (_name, value, shown, sent) => {
    const { agent, model } = createAgent((_input, { stream }) => {
      stream.text("streamed");
      return value;
    });
    const { view } = await waitForEnd(await start(agent));
    const texts = getResult(view.output).block_list.map(
      (block) => block.type === "text" && block.text,
    );
    expect(texts).toEqual(shown);
    const answered = model.requests[1]?.input as { type: string; output?: unknown }[];
    expect(answered.find(({ type }) => type === "function_call_output")?.output).toBe(sent);
  });

  test("can be cited: its blocks get the number of their group when the result is complete", async () => {
    const { agent } = createAgent(
      (_input, { stream }) => {
        stream.text("Paris: ", { id: "p", title: "Paris" });
        stream.text("15 °C", { id: "p", title: "Paris" });
        stream.text("Rome: 20 °C", { id: "r", title: "Rome" });
        stream.block({ type: "image", ...png(1), id: "p" });
      },
      {},
      [[call], [{ text: "Cold [^1], warm [^2]." }]] as never,
    );
    const { view, events } = await waitForEnd(await start(agent));
    expect(getResult(view.output).block_list).toMatchObject([
      { type: "text", text: "Paris: 15 °C", id: 1 },
      { type: "text", text: "Rome: 20 °C", id: 2 },
      { type: "image", id: 1 },
    ]);
    expect(view.references).toMatchObject([
      { reference_id: 1, block_indexes: [0, 2], title: "Paris" },
      { reference_id: 2, block_indexes: [1], title: "Rome" },
    ]);
    expect(JSON.stringify(view.output.at(-1))).toContain("reference_to_block");
    expect(buildTaskView(reduce(emptyTree, events))).toEqual(view);
  });

  test("retains its blocks and adds the error if it fails, with the latest preview of an incomplete image", async () => {
    const { agent, model } = createAgent(async (_input, { stream }) => {
      stream.text("Halfway");
      const image = stream.image();
      image.partial(png(1));
      await sleep(1);
      throw new Error("the printer is on fire");
    });
    const { view } = await waitForEnd(await start(agent));
    const result = getResult(view.output);
    expect(result).toMatchObject({ status: "failed", outcome: "failed" });
    expect(result.block_list).toMatchObject([
      { type: "text", text: "Halfway" },
      { type: "image", image_url: { url: expect.stringMatching(/^\/api\/blobs\//) as unknown } },
      { type: "text", text: "The tool failed: the printer is on fire" },
    ]);
    expect(JSON.stringify(model.requests[1]?.input)).toContain("Halfway");
  });

  test("retains its blocks if the task is canceled, and cannot add any later", async () => {
    let late: ToolContext | undefined;
    const { agent } = createAgent(async (_input, context) => {
      late = context;
      context.stream.text("Begun");
      context.stream.image();
      await new Promise(() => undefined);
    });
    const started = await start(agent);
    await waitUntil(started, (state) => findResult(state, started.id)?.block_list.length === 2);
    await started.runtime.cancel(started.id, "user");
    const { view, events } = await waitForEnd(started);
    expect(view.status).toBe("canceled");
    expect(getResult(view.output).block_list[0]).toEqual({ type: "text", text: "Begun" });
    late?.stream.text("still here");
    late?.stream.block({ type: "text", text: "still here" });
    await sleep(80);
    expect(await readEvents(started)).toEqual(events);
  });

  test("shows nothing of a result that needs approval before the decision", async () => {
    const { agent } = createAgent(
      (_input, { stream }) => {
        stream.text("a secret plan");
        stream.image().done(png(1));
      },
      { approval: { result: "always" } },
    );
    const started = await start(agent);
    const waiting = await waitUntil(started, ({ approvals }) => approvals.length === 1);
    expect(findResult(waiting, started.id)?.block_list).toEqual([]);
    expect(waiting.approvals[0]?.block_list).toMatchObject([
      { type: "text", text: "a secret plan" },
      { type: "image" },
    ]);
    const before = listMediaEventTypes(await readEvents(started));
    expect(before).toEqual([]);
    const id = waiting.approvals[0]?.approval_id ?? "";
    await started.runtime.decide(id, { decision: "approve", by: "user" });
    const { view } = await waitForEnd(started);
    expect(getResult(view.output).block_list).toMatchObject([
      { type: "text", text: "a secret plan" },
      { type: "image" },
    ]);
  });

  test("shows no secret, wherever its text is split", async () => {
    const key = "sk-very-secret-0123456789";
    const redactor = new Redactor([key]);
    for (const size of [1, 3, 7, 1000]) {
      const { agent } = createAgent(async (_input, { stream }) => {
        const text = `before ${key} after`;
        for (let index = 0; index < text.length; index += size) {
          stream.text(text.slice(index, index + size));
          if (index < 20) await sleep(60);
        }
      });
      const options = {
        redact: (text: string) => redactor.redact(text),
        findSecretStart: (text: string) => redactor.findOpenStart(text),
      };
      const started = await start(agent, {}, options);
      const { view, events } = await waitForEnd(started);
      expect(getResult(view.output).block_list).toEqual([
        { type: "text", text: "before [redacted] after" },
      ]);
      const log = JSON.stringify(events);
      for (let length = 8; length < key.length; length += 1)
        expect(log).not.toContain(key.slice(0, length));
    }
  });

  test("and exceeds the limit has a note and a file with the complete text in its result", async () => {
    const line = `${"x".repeat(999)}\n`;
    const { agent, model } = createAgent((_input, { stream }) => {
      for (let nth = 0; nth < 300; nth += 1) stream.text(line);
      stream.text("the end");
    });
    const started = await start(agent);
    const { view } = await waitForEnd(started);
    const [text, file] = getResult(view.output).block_list;
    if (text?.type !== "text" || file?.type !== "file") throw new Error("not a text and a file");
    expect(text.text.length).toBeLessThan(181_000);
    expect(text.text).toMatch(/\[truncated: 180000 of 300007 characters; .* a file\]$/);
    const blob = await started.blobs.get(file.file_url.url.slice(-64));
    expect(Buffer.from(blob?.bytes ?? []).toString()).toBe(`${line.repeat(300)}the end`);
    expect(JSON.stringify(model.requests[1]?.input)).toContain("continue with read_result");
  });

  test("causes few events, however small its deltas are", async () => {
    const { agent } = createAgent((_input, { stream }) => {
      for (let nth = 0; nth < 50_000; nth += 1) stream.text("ab");
    });
    const { events, view } = await waitForEnd(await start(agent));
    expect(getResult(view.output).block_list).toEqual([
      { type: "text", text: "ab".repeat(50_000) },
    ]);
    expect(events.filter(({ type }) => type === "task.text.delta").length).toBeLessThan(1000);
  });

  test.each<[string, (context: ToolContext) => void, RegExp]>([
    [
      "a block of an unknown type",
      ({ stream }) => stream.block({ type: "video" } as never),
      /"video"/,
    ],
    ["an image without data", ({ stream }) => stream.image().done({} as never), /needs bytes/],
    [
      "text that is not a string",
      ({ stream }) => stream.text(7 as never),
      /delta must be a string, got number/,
    ],
    [
      "a block while an image is open",
      ({ stream }) => {
        stream.image();
        stream.text("too early");
      },
      /call done\(\) on the open image/,
    ],
    [
      "too many blocks",
      ({ stream }) => {
        for (let nth = 0; nth < 1001; nth += 1) stream.block({ type: "data", data: nth });
      },
      /at most 1000 blocks/,
    ],
    [
      "too many text groups",
      ({ stream }) => {
        for (let nth = 0; nth < 1001; nth += 1) stream.text("x", { id: `${nth}` });
      },
      /at most 1000 blocks/,
    ],
    [
      "too many characters",
      ({ stream }) => {
        for (let nth = 0; nth < 11; nth += 1) stream.text("x".repeat(1_000_000));
      },
      /at most 10000000 characters/,
    ],
  ])("and adds %s fails with a clear message", async (_name, run, message) => {
    const { agent } = createAgent((_input, context) => run(context));
    const { view } = await waitForEnd(await start(agent));
    const last = getResult(view.output).block_list.at(-1);
    expect(last?.type === "text" && last.text).toMatch(message);
  });

  test("fails if an image cannot be stored, and retains the other blocks", async () => {
    const { agent } = createAgent((_input, { stream }) => {
      stream.text("Before.");
      stream.block({ type: "image", ...png(1) });
      stream.text("After.");
    });
    const fixture = createRuntime(agent);
    fixture.blobs.put = () => Promise.reject(new Error("the disk is full"));
    const id = await fixture.runtime.start({ agent: agent.name, input: "Go." });
    const { view } = await waitForEnd({ ...fixture, id });
    const result = getResult(view.output);
    expect(result.outcome).toBe("failed");
    expect(result.block_list).toEqual([
      { type: "text", text: "Before." },
      { type: "text", text: "The streamed output could not be stored: the disk is full" },
    ]);
  });
});

describe("a process that ends while a tool streams", () => {
  /** Simulates a kill while a tool streams, and resumes the task from the log. */
  async function resumeAfterKill(effect: "pure" | "once") {
    const never = new Promise<never>(() => undefined);
    const first = createAgent(
      async (_input, { stream }) => {
        stream.text("First");
        stream.text(" try");
        stream.image().partial(png(1));
        await never;
      },
      { effect },
    );
    const started = await start(first.agent);
    await waitUntil(started, (state) => {
      const [, image] = findResult(state, started.id)?.block_list ?? [];
      return image?.type === "image" && image.image_url.url !== "";
    });
    const { log, blobs, id } = started;
    const rows = await log.read(id, -1, 1e6);
    const second = createAgent(
      async (_input, { stream, attempt }) => {
        stream.text(`Attempt ${attempt}`);
      },
      { effect },
      [[{ text: "done" }]] as never,
    );
    const copy = createRuntime(second.agent, { blobs });
    await copy.log.append(
      id,
      rows.map(({ json, private: priv }) => ({
        event: JSON.parse(json) as TaskEvent,
        json,
        ...(priv === undefined ? {} : { private: JSON.parse(priv) }),
      })),
      {},
    );
    await copy.runtime.recover();
    const next: StartedTask = { ...copy, id };
    return { next, rows };
  }

  test("leads to a rerun of a pure tool, whose first blocks are dropped", async () => {
    const { next } = await resumeAfterKill("pure");
    const { view, events } = await waitForEnd(next);
    expect(getResult(view.output).block_list).toEqual([{ type: "text", text: "Attempt 2" }]);
    expect(events.map(({ type }) => type)).toContain("task.output_item.retracted");
    expect(buildTaskView(reduce(emptyTree, events))).toEqual(view);
  });

  test("leads to a question about a tool with the effect once, whose blocks are retained", async () => {
    const { next } = await resumeAfterKill("once");
    const waiting = await waitUntil(next, ({ approvals }) => approvals.length === 1);
    expect(waiting.approvals[0]?.kind).toBe("reconcile");
    const id = waiting.approvals[0]?.approval_id ?? "";
    await next.runtime.decide(id, { decision: "approve", by: "user" });
    const { view, events } = await waitForEnd(next);
    expect(getResult(view.output).block_list).toMatchObject([
      { type: "text", text: "First try" },
      { type: "image" },
      { type: "text", text: expect.stringContaining("carried out") as unknown },
    ]);
    expect(buildTaskView(reduce(emptyTree, events))).toEqual(view);
  });

  test("leaves a task that can be canceled instead of answering the question, and the blocks are retained", async () => {
    const { next } = await resumeAfterKill("once");
    await waitUntil(next, ({ approvals }) => approvals.length === 1);
    await next.runtime.cancel(next.id, "user");
    const { view } = await waitForEnd(next);
    expect(getResult(view.output).block_list[0]).toEqual({ type: "text", text: "First try" });
  });
});

test("a runtime that is closed stores no further streamed blocks", async () => {
  const { agent } = createAgent(async (_input, { stream, signal }) => {
    stream.text("Begun");
    stream.block({ type: "image", ...png(1) });
    await new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
  });
  const fixture = createRuntime(agent);
  const { open, opened } = createGate();
  const put = fixture.blobs.put.bind(fixture.blobs);
  fixture.blobs.put = async (...blob) => {
    await opened;
    return put(...blob);
  };
  const id = await fixture.runtime.start({ agent: agent.name, input: "Go." });
  const started = { ...fixture, id };
  await waitUntil(started, (state) => findResult(state, id)?.block_list.length === 1);
  await fixture.runtime.close();
  const left = await readEvents(started);
  open();
  await sleep(20);
  expect(await readEvents(started)).toEqual(left);
});
