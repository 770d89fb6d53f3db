import { defineAgent, MemoryBlobs, type Agent, type Model } from "@deltawire/agent";
import { blobPath, type TaskEvent } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  waitForEnd,
  readEvents,
  copyLogUntil,
  recoverTask,
  start,
  readLogText,
  waitUntil,
  type StartedTask,
} from "./runtime-fixture.ts";

type ScriptedEvent = JsonObject | Promise<unknown>;

/** An agent whose model sends these batches in each round. Promises are awaited. */
function createAgent(...rounds: ScriptedEvent[][][]): Agent {
  let round = 0;
  const model: Model = {
    async *stream(_request, signal) {
      for (const batch of rounds[round++] ?? []) {
        for (const one of batch) {
          if (!(one instanceof Promise)) continue;
          const stopped = new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true }),
          );
          await Promise.race([one, stopped]);
        }
        yield batch.filter((one) => !(one instanceof Promise)) as JsonObject[];
      }
    },
  };
  return defineAgent({ name: "painter", instructions: "", model });
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const partial = (n: number, id = "ig_1"): JsonObject => ({
  type: "response.image_generation_call.partial_image",
  item_id: id,
  output_index: 0,
  partial_image_index: n,
  partial_image_b64: base64(`${id} sketch ${n}`),
  output_format: "webp",
});
const imageItem = (id = "ig_1", result: string | null = base64(`${id} whole`)): JsonObject => ({
  type: "response.output_item.done",
  output_index: 0,
  item: { type: "image_generation_call", id, status: "completed", output_format: "png", result },
});
const audioItem = (overrides: JsonObject = {}): JsonObject => ({
  type: "response.output_item.done",
  output_index: 0,
  item: {
    type: "audio_generation_call",
    id: "au_1",
    status: "completed",
    result: base64("sound"),
    media_type: "audio/wav",
    ...overrides,
  },
});
const text = (words: string): JsonObject => ({
  type: "response.output_item.done",
  output_index: 1,
  item: {
    type: "message",
    id: `msg_${words}`,
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text: words }],
  },
});
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
const done: JsonObject = { type: "response.completed", response: { usage } };
const never = new Promise(() => undefined);

const filterImageEvents = (events: readonly TaskEvent[]) =>
  events.filter(({ type }) => type.startsWith("task.image."));

async function readBlobAt({ blobs }: Pick<StartedTask, "blobs">, url: string | undefined) {
  const blob = await blobs.get(url?.slice(blobPath.length) ?? "");
  return blob && { text: Buffer.from(blob.bytes).toString(), mediaType: blob.mediaType };
}

describe("an image with previews", () => {
  test("is one block, replaced by each preview, and its bytes are only in the blob store", async () => {
    const started = await start(createAgent([[partial(0)], [partial(1)], [imageItem()], [done]]));
    const { view, events } = await waitForEnd(started);
    expect(filterImageEvents(events)).toMatchObject([
      { type: "task.image.added", item: { image_url: { url: "" } } },
      { type: "task.image.delta", partial_image_index: 0 },
      { type: "task.image.delta", partial_image_index: 1 },
      { type: "task.image.done" },
    ]);
    expect(view.output).toMatchObject([{ type: "message", block_list: [{ type: "image" }] }]);
    const urls = filterImageEvents(events).map((event) => "item" in event && event.item);
    const bytes = await Promise.all(
      urls
        .slice(1)
        .map((item) => readBlobAt(started, (item as { image_url: { url: string } }).image_url.url)),
    );
    expect(bytes).toEqual([
      { text: "ig_1 sketch 0", mediaType: "image/webp" },
      { text: "ig_1 sketch 1", mediaType: "image/webp" },
      { text: "ig_1 whole", mediaType: "image/png" },
    ]);
    expect(await readLogText(started)).not.toContain(base64("ig_1 whole"));
  });

  test("appears preview by preview during the round", async () => {
    const started = await start(createAgent([[partial(0)], [never]]));
    const state = await waitUntil(started, ({ tasks }) => {
      const [item] = tasks[started.id]?.output ?? [];
      return item?.type === "message" && JSON.stringify(item).includes(blobPath);
    });
    expect(state.tasks[started.id]?.output).toMatchObject([{ status: "in_progress" }]);
    await started.runtime.cancel(started.id, "test");
  });

  test("keeps the position at which it started, regardless of text in between or in the same batch", async () => {
    const batches = [
      [
        text("First."),
        partial(0),
        partial(0, "ig_2"),
        text("Last."),
        imageItem("ig_2"),
        imageItem(),
        done,
      ],
    ];
    for (const cut of [batches, batches.flat().map((event) => [event])]) {
      const started = await start(createAgent(cut));
      const { view } = await waitForEnd(started);
      const blocks = view.output.flatMap((item) =>
        item.type === "message" ? item.block_list : [],
      );
      expect(blocks.map(({ type }) => type)).toEqual(["text", "image", "image", "text"]);
      const [, one, two] = blocks as { image_url?: { url: string } }[];
      expect((await readBlobAt(started, one?.image_url?.url))?.text).toBe("ig_1 whole");
      expect((await readBlobAt(started, two?.image_url?.url))?.text).toBe("ig_2 whole");
    }
  });

  test("is published once, even if the server sends it again", async () => {
    const started = await start(
      createAgent([
        [imageItem(), imageItem(), partial(3)],
        [partial(4), imageItem(), done],
      ]),
    );
    const { view, events } = await waitForEnd(started);
    expect(view.output).toHaveLength(1);
    expect(filterImageEvents(events)).toMatchObject([{ type: "task.image.done" }]);
  });
});

describe("an incomplete image", () => {
  test.each<[string, JsonObject[]]>([
    ["if the reply ends", [done]],
    ["if its item has no image", [imageItem("ig_1", null), done]],
  ])("retains its latest preview %s", async (_what, end) => {
    for (const batches of [[[partial(0), ...end]], [[partial(0)], end]]) {
      const started = await start(createAgent(batches));
      const { view } = await waitForEnd(started);
      expect(view.status).toBe("completed");
      expect(view.output).toMatchObject([
        { status: "incomplete", block_list: [{ type: "image" }] },
      ]);
      const [item] = view.output as { block_list: { image_url: { url: string } }[] }[];
      const preview = await readBlobAt(started, item?.block_list[0]?.image_url.url);
      expect(preview?.text).toBe("ig_1 sketch 0");
    }
  });

  test("is retained if the user stops the task", async () => {
    const started = await start(createAgent([[partial(0)], [never]]));
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes(blobPath));
    await started.runtime.cancel(started.id, "test");
    const { view } = await waitForEnd(started);
    expect(view.output).toMatchObject([{ status: "incomplete", block_list: [{ type: "image" }] }]);
  });

  test("is retracted if the round is retried, and retained if the round fails", async () => {
    const retriedAgent = createAgent([[partial(0)]], [[partial(0), imageItem(), done]]);
    const { view, events } = await waitForEnd(await start(retriedAgent));
    expect(view.output).toHaveLength(1);
    expect(events.filter(({ type }) => type === "task.output_item.retracted")).toHaveLength(1);
    const error = { code: "bad_prompt", message: "no" };
    const failed = createAgent([[partial(0), { type: "response.failed", response: { error } }]]);
    const { view: failedView } = await waitForEnd(await start(failed));
    expect(failedView).toMatchObject({ status: "failed", output: [{ status: "incomplete" }] });
  });

  test("is replaced when another process resumes the task", async () => {
    const started = await start(createAgent([[partial(0)], [imageItem(), done]]));
    await waitForEnd(started);
    const log = await copyLogUntil(started, ({ type }) => type === "task.image.delta");
    const next = await recoverTask(createAgent([[imageItem(), done]]), { log, id: started.id });
    const { view } = await waitForEnd(next);
    expect(view.output).toMatchObject([{ status: "completed", block_list: [{ type: "image" }] }]);
  });
});

describe("storing an image", () => {
  class SlowBlobs extends MemoryBlobs {
    finishWrite: () => void = () => undefined;
    writeCount = 0;

    override async put(bytes: Uint8Array, mediaType: string): Promise<string> {
      this.writeCount += 1;
      await new Promise<void>((resolve) => (this.finishWrite = resolve));
      return super.put(bytes, mediaType);
    }
  }

  test("does not publish it if the task was stopped in the meantime", async () => {
    const blobs = new SlowBlobs();
    const started = await start(createAgent([[text("Hm."), imageItem(), done]]), {}, { blobs });
    await expect.poll(() => blobs.writeCount).toBe(1);
    const stopped = started.runtime.cancel(started.id, "test");
    blobs.finishWrite();
    await stopped;
    const { view, events } = await waitForEnd(started);
    expect(view.status).toBe("canceled");
    expect(filterImageEvents(events)).toEqual([]);
    expect(view.output).toMatchObject([{ block_list: [{ text: "Hm." }] }]);
  });

  test("is repeated by the process that resumes the task", async () => {
    const blobs = new SlowBlobs();
    const started = await start(createAgent([[imageItem(), done]]), {}, { blobs });
    await expect.poll(() => blobs.writeCount).toBe(1);
    const closed = started.runtime.close();
    blobs.finishWrite();
    await closed;
    expect((await readEvents(started)).at(-1)?.type).toBe("task.output_item.added");
    const next = await recoverTask(createAgent([[imageItem(), done]]), started);
    expect((await waitForEnd(next)).view.output).toHaveLength(1);
  });

  test("fails the task with an error if the disk is full; the text so far is retained", async () => {
    const blobs = new MemoryBlobs();
    blobs.put = () => Promise.reject(new Error("disk full"));
    const started = await start(createAgent([[text("Here:"), imageItem(), done]]), {}, { blobs });
    const { view } = await waitForEnd(started);
    expect(view.error).toMatchObject({ code: "media_not_stored", retryable: false });
    expect(view.error?.message).toContain("disk full");
    expect(view.output).toMatchObject([{ block_list: [{ text: "Here:" }] }]);
  });
});

describe("audio", () => {
  test("is a block with its transcript", async () => {
    const started = await start(createAgent([[audioItem({ transcript: "Hello." }), done]]));
    const { view } = await waitForEnd(started);
    expect(view.output).toMatchObject([
      { type: "message", block_list: [{ type: "audio", transcript: "Hello." }] },
    ]);
    const [item] = view.output as { block_list: { audio_url: { url: string } }[] }[];
    const bytes = await readBlobAt(started, item?.block_list[0]?.audio_url.url);
    expect(bytes).toEqual({ text: "sound", mediaType: "audio/wav" });
  });

  test("that was not generated leaves no message", async () => {
    const { view } = await waitForEnd(
      await start(createAgent([[audioItem({ result: null }), done]])),
    );
    expect(view).toMatchObject({ status: "completed", output: [] });
  });
});

test("a model without text output reports its progress", async () => {
  const progress = (message: unknown, fraction?: unknown): JsonObject =>
    ({ type: "deltawire.progress", message, fraction }) as JsonObject;
  const agent = createAgent([
    [progress("queued")],
    [progress("drawing with sk-secret", 0.5)],
    [progress(7, 9), progress(undefined, "much")],
    [imageItem(), done, progress("too late")],
  ]);
  const redact = (words: string): string => words.replaceAll("sk-secret", "[redacted]");
  const { events, view } = await waitForEnd(await start(agent, {}, { redact }));
  const progressEvents = events.filter((event) => event.type === "task.round.progress");
  expect(progressEvents.map(({ round, message, fraction }) => [round, message, fraction])).toEqual([
    [1, "queued", undefined],
    [1, "drawing with [redacted]", 0.5],
    [1, "7", 1],
    [1, "", undefined],
  ]);
  expect(view.status).toBe("completed");
});
