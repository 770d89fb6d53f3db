import { setTimeout as after } from "node:timers/promises";
import { defineTool, Redactor, type ToolContext, type ToolDefinition } from "@deltawire/agent";
import {
  emptyTree,
  reduce,
  taskView,
  type OutputItem,
  type TaskEvent,
  type TaskTree,
  type ToolResultItem,
} from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  ended,
  eventsOf,
  runtimeOf,
  scriptedAgent,
  start,
  until,
  type Started,
} from "./run-kit.ts";

type Run = (input: unknown, context: ToolContext) => unknown;

const call = { call: "work", args: {} };

function agentOf(run: Run, more: Partial<ToolDefinition<unknown>> = {}, script = [[call]]) {
  const tool = defineTool({ name: "work", description: "Works.", effect: "pure", run, ...more });
  return scriptedAgent(script, { tools: [tool] });
}

function resultIn(output: readonly unknown[]): ToolResultItem {
  const results = (output as OutputItem[]).filter(({ type }) => type === "tool_result");
  expect(results).toHaveLength(1);
  return results[0] as ToolResultItem;
}

const resultOf = ({ tasks }: TaskTree, id: string): ToolResultItem | undefined =>
  tasks[id]?.output.find((item) => item.type === "tool_result");

const types = (events: readonly TaskEvent[]): string[] =>
  events
    .map(({ type }) => type)
    .filter((type) => /^task\.(text|image|audio|file|data)\./.test(type));

/** A promise that a test resolves. */
function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

const png = (byte: number) => ({ bytes: new Uint8Array([137, 80, byte]), media_type: "image/png" });

describe("a tool that streams", () => {
  test("shows text, an image as it grows, audio and a file before it returns", async () => {
    const { open, opened } = gate();
    const { agent, model } = agentOf(async (_input, { stream }) => {
      stream.text("Looking");
      stream.text(" around.");
      const image = stream.image();
      image.partial(png(1));
      await after(1);
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
    const live = await until(
      started,
      (state) => resultOf(state, started.id)?.block_list.length === 6,
    );
    const shown = resultOf(live, started.id);
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
    // Whoever comes now sees the same as whoever was there from the start.
    expect(taskView(reduce(emptyTree, await eventsOf(started)))).toEqual(
      taskView(await started.runtime.state(started.id)),
    );
    open();
    const { view, events, state } = await ended(started);
    expect(taskView(reduce(emptyTree, events))).toEqual(view);
    expect(taskView(state)).toEqual(view);
    expect(resultIn(view.output).block_list).toEqual([
      ...first,
      { type: "text", text: "Nearly there." },
    ]);
    expect(types(events)).toEqual([
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
      // What the model said then.
      ...types(events).slice(16),
    ]);
    // The model gets all of it, at the end.
    const told = JSON.stringify(model.asked[1]?.input);
    expect(told).toContain("Looking around.");
    expect(told).toContain("input_image");
    expect(told).toContain("Nearly there.");
  });

  test.each<[string, unknown, string[], string]>([
    ["nothing", undefined, ["streamed"], "streamed"],
    ["a text", "returned", ["streamed", "returned"], "streamed\nreturned"],
    ["words for the model", { message_content: "for you" }, ["streamed"], "for you"],
    [
      "both",
      { message_content: "for you", block_list: [{ type: "text", text: "more" }] },
      ["streamed", "more"],
      "for you",
    ],
  ])("and returns %s", async (_name, value, shown, told) => {
    const { agent, model } = agentOf((_input, { stream }) => {
      stream.text("streamed");
      return value;
    });
    const { view } = await ended(await start(agent));
    const texts = resultIn(view.output).block_list.map(
      (block) => block.type === "text" && block.text,
    );
    expect(texts).toEqual(shown);
    const answered = model.asked[1]?.input as { type: string; output?: unknown }[];
    expect(answered.find(({ type }) => type === "function_call_output")?.output).toBe(told);
  });

  test("can be cited: streamed blocks of a group have its number when the result is complete", async () => {
    const { agent } = agentOf(
      (_input, { stream }) => {
        stream.text("Paris: ", { id: "p", title: "Paris" });
        stream.text("15 °C", { id: "p", title: "Paris" });
        stream.text("Rome: 20 °C", { id: "r", title: "Rome" });
        stream.block({ type: "image", ...png(1), id: "p" });
      },
      {},
      [[call], [{ text: "Cold [^1], warm [^2]." }]] as never,
    );
    const { view, events } = await ended(await start(agent));
    expect(resultIn(view.output).block_list).toMatchObject([
      { type: "text", text: "Paris: 15 °C", id: 1 },
      { type: "text", text: "Rome: 20 °C", id: 2 },
      { type: "image", id: 1 },
    ]);
    expect(view.references).toMatchObject([
      { reference_id: 1, block_indexes: [0, 2], title: "Paris" },
      { reference_id: 2, block_indexes: [1], title: "Rome" },
    ]);
    expect(JSON.stringify(view.output.at(-1))).toContain("reference_to_block");
    expect(taskView(reduce(emptyTree, events))).toEqual(view);
  });

  test("keeps what it has shown when it fails, and says why; an unfinished image is its last partial one", async () => {
    const { agent, model } = agentOf(async (_input, { stream }) => {
      stream.text("Halfway");
      const image = stream.image();
      image.partial(png(1));
      await after(1);
      throw new Error("the printer is on fire");
    });
    const { view } = await ended(await start(agent));
    const result = resultIn(view.output);
    expect(result).toMatchObject({ status: "failed", outcome: "failed" });
    expect(result.block_list).toMatchObject([
      { type: "text", text: "Halfway" },
      { type: "image", image_url: { url: expect.stringMatching(/^\/api\/blobs\//) as unknown } },
      { type: "text", text: "The tool failed: the printer is on fire" },
    ]);
    expect(JSON.stringify(model.asked[1]?.input)).toContain("Halfway");
  });

  test("keeps what it has shown when the task is cancelled, and adds nothing later", async () => {
    let late: ToolContext | undefined;
    const { agent } = agentOf(async (_input, context) => {
      late = context;
      context.stream.text("Begun");
      context.stream.image();
      await new Promise(() => undefined);
    });
    const started = await start(agent);
    await until(started, (state) => resultOf(state, started.id)?.block_list.length === 2);
    await started.runtime.cancel(started.id, "user");
    const { view, events } = await ended(started);
    expect(view.status).toBe("canceled");
    expect(resultIn(view.output).block_list[0]).toEqual({ type: "text", text: "Begun" });
    late?.stream.text("still here");
    late?.stream.block({ type: "text", text: "still here" });
    await after(80);
    expect(await eventsOf(started)).toEqual(events);
  });

  test("shows nothing of a result that a person has to release, before it is released", async () => {
    const { agent } = agentOf(
      (_input, { stream }) => {
        stream.text("a secret plan");
        stream.image().done(png(1));
      },
      { approval: { result: "always" } },
    );
    const started = await start(agent);
    const waiting = await until(started, ({ approvals }) => approvals.length === 1);
    expect(resultOf(waiting, started.id)?.block_list).toEqual([]);
    expect(waiting.approvals[0]?.block_list).toMatchObject([
      { type: "text", text: "a secret plan" },
      { type: "image" },
    ]);
    const before = types(await eventsOf(started));
    expect(before).toEqual([]);
    const id = waiting.approvals[0]?.approval_id ?? "";
    await started.runtime.decide(id, { decision: "approve", by: "user" });
    const { view } = await ended(started);
    expect(resultIn(view.output).block_list).toMatchObject([
      { type: "text", text: "a secret plan" },
      { type: "image" },
    ]);
  });

  test("shows no secret, wherever its text is cut", async () => {
    const key = "sk-very-secret-0123456789";
    const redactor = new Redactor([key]);
    for (const size of [1, 3, 7, 1000]) {
      const { agent } = agentOf(async (_input, { stream }) => {
        const text = `before ${key} after`;
        for (let at = 0; at < text.length; at += size) {
          stream.text(text.slice(at, at + size));
          if (at < 20) await after(60);
        }
      });
      const options = {
        redact: (text: string) => redactor.redact(text),
        secretStart: (text: string) => redactor.openFrom(text),
      };
      const started = await start(agent, {}, options);
      const { view, events } = await ended(started);
      expect(resultIn(view.output).block_list).toEqual([
        { type: "text", text: "before [redacted] after" },
      ]);
      const log = JSON.stringify(events);
      for (let length = 8; length < key.length; length += 1)
        expect(log).not.toContain(key.slice(0, length));
    }
  });

  test("with more text than is shown ends with a note and a file that has all of it", async () => {
    const line = `${"x".repeat(999)}\n`;
    const { agent, model } = agentOf((_input, { stream }) => {
      for (let nth = 0; nth < 300; nth += 1) stream.text(line);
      stream.text("the end");
    });
    const started = await start(agent);
    const { view } = await ended(started);
    const [text, file] = resultIn(view.output).block_list;
    if (text?.type !== "text" || file?.type !== "file") throw new Error("not a text and a file");
    expect(text.text.length).toBeLessThan(181_000);
    expect(text.text).toMatch(/\[cut: 180000 of 300007 characters; .* a file\]$/);
    const blob = await started.blobs.get(file.file_url.url.slice(-64));
    expect(Buffer.from(blob?.bytes ?? []).toString()).toBe(`${line.repeat(300)}the end`);
    expect(JSON.stringify(model.asked[1]?.input)).toContain("read on with read_result");
  });

  test("costs few events, however small its pieces are", async () => {
    const { agent } = agentOf((_input, { stream }) => {
      for (let nth = 0; nth < 50_000; nth += 1) stream.text("ab");
    });
    const { events, view } = await ended(await start(agent));
    expect(resultIn(view.output).block_list).toEqual([{ type: "text", text: "ab".repeat(50_000) }]);
    expect(events.filter(({ type }) => type === "task.text.delta").length).toBeLessThan(1000);
  });

  test.each<[string, (context: ToolContext) => void, RegExp]>([
    [
      "a block of an unknown type",
      ({ stream }) => stream.block({ type: "video" } as never),
      /"video"/,
    ],
    ["an image of nothing", ({ stream }) => stream.image().done({} as never), /needs bytes/],
    ["text that is none", ({ stream }) => stream.text(7 as never), /needs a string/],
    [
      "a block while an image is open",
      ({ stream }) => {
        stream.image();
        stream.text("too early");
      },
      /complete the image with its done\(\)/,
    ],
    [
      "too many blocks",
      ({ stream }) => {
        for (let nth = 0; nth < 1001; nth += 1) stream.block({ type: "data", data: nth });
      },
      /at most 1000 blocks/,
    ],
    [
      "too many texts",
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
  ])("and adds %s fails with a sentence that says so", async (_name, run, message) => {
    const { agent } = agentOf((_input, context) => run(context));
    const { view } = await ended(await start(agent));
    const last = resultIn(view.output).block_list.at(-1);
    expect(last?.type === "text" && last.text).toMatch(message);
  });

  test("and whose images cannot be stored fails, and keeps what could be", async () => {
    const { agent } = agentOf((_input, { stream }) => {
      stream.text("Before.");
      stream.block({ type: "image", ...png(1) });
      stream.text("After.");
    });
    const made = runtimeOf(agent);
    made.blobs.put = () => Promise.reject(new Error("the disk is full"));
    const id = await made.runtime.start({ agent: agent.name, input: "Go." });
    const { view } = await ended({ ...made, id });
    const result = resultIn(view.output);
    expect(result.outcome).toBe("failed");
    expect(result.block_list).toEqual([
      { type: "text", text: "Before." },
      { type: "text", text: "What the tool streamed cannot be stored: the disk is full" },
    ]);
  });
});

describe("a process that ends while a tool streams", () => {
  /** The log as a process that was killed has left it, and a new process on it. */
  async function interrupted(effect: "pure" | "once") {
    const never = new Promise<never>(() => undefined);
    const first = agentOf(
      async (_input, { stream }) => {
        stream.text("First");
        stream.text(" try");
        stream.image().partial(png(1));
        await never;
      },
      { effect },
    );
    const started = await start(first.agent);
    await until(started, (state) => {
      const [, image] = resultOf(state, started.id)?.block_list ?? [];
      return image?.type === "image" && image.image_url.url !== "";
    });
    const { log, blobs, id } = started;
    const rows = await log.read(id, -1, 1e6);
    const second = agentOf(
      async (_input, { stream, attempt }) => {
        stream.text(`Attempt ${attempt}`);
      },
      { effect },
      [[{ text: "done" }]] as never,
    );
    const copy = runtimeOf(second.agent, { blobs });
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
    const next: Started = { ...copy, id };
    return { next, rows };
  }

  test("is followed by one that runs a pure tool again: what the first run streamed is taken back", async () => {
    const { next } = await interrupted("pure");
    const { view, events } = await ended(next);
    expect(resultIn(view.output).block_list).toEqual([{ type: "text", text: "Attempt 2" }]);
    expect(events.map(({ type }) => type)).toContain("task.output_item.retracted");
    expect(taskView(reduce(emptyTree, events))).toEqual(view);
  });

  test("is followed by one that asks what became of a tool that runs once, and keeps what it streamed", async () => {
    const { next } = await interrupted("once");
    const waiting = await until(next, ({ approvals }) => approvals.length === 1);
    expect(waiting.approvals[0]?.kind).toBe("reconcile");
    const id = waiting.approvals[0]?.approval_id ?? "";
    await next.runtime.decide(id, { decision: "approve", by: "user" });
    const { view, events } = await ended(next);
    expect(resultIn(view.output).block_list).toMatchObject([
      { type: "text", text: "First try" },
      { type: "image" },
      { type: "text", text: expect.stringContaining("carried out") as unknown },
    ]);
    expect(taskView(reduce(emptyTree, events))).toEqual(view);
  });

  test("and cannot be gone on with can still be cancelled", async () => {
    const { next } = await interrupted("once");
    await until(next, ({ approvals }) => approvals.length === 1);
    await next.runtime.cancel(next.id, "user");
    const { view } = await ended(next);
    expect(resultIn(view.output).block_list[0]).toEqual({ type: "text", text: "First try" });
  });
});

test("a process that leaves a task writes nothing more of what its tools stream", async () => {
  const { agent } = agentOf(async (_input, { stream, signal }) => {
    stream.text("Begun");
    stream.block({ type: "image", ...png(1) });
    await new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
  });
  const made = runtimeOf(agent);
  const { open, opened } = gate();
  const put = made.blobs.put.bind(made.blobs);
  made.blobs.put = async (...blob) => {
    await opened;
    return put(...blob);
  };
  const id = await made.runtime.start({ agent: agent.name, input: "Go." });
  const started = { ...made, id };
  await until(started, (state) => resultOf(state, id)?.block_list.length === 1);
  await made.runtime.close();
  const left = await eventsOf(started);
  open();
  await after(20);
  expect(await eventsOf(started)).toEqual(left);
});
