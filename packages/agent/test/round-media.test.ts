import { defineAgent, MemoryBlobs, type Agent, type Model } from "@deltawire/agent";
import { blobPath, type TaskEvent } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  ended,
  eventsOf,
  logUpTo,
  recovered,
  start,
  textOfLog,
  until,
  type Started,
} from "./run-kit.ts";

type Said = JsonObject | Promise<unknown>;

/** A model that says these batches in each round; a promise is waited for. */
function agentSaying(...rounds: Said[][][]): Agent {
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
const drawn = (id = "ig_1", result: string | null = base64(`${id} whole`)): JsonObject => ({
  type: "response.output_item.done",
  output_index: 0,
  item: { type: "image_generation_call", id, status: "completed", output_format: "png", result },
});
const spoken = (more: JsonObject = {}): JsonObject => ({
  type: "response.output_item.done",
  output_index: 0,
  item: {
    type: "audio_generation_call",
    id: "au_1",
    status: "completed",
    result: base64("sound"),
    media_type: "audio/wav",
    ...more,
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

const imagesIn = (events: readonly TaskEvent[]) =>
  events.filter(({ type }) => type.startsWith("task.image."));

async function bytesAt({ blobs }: Pick<Started, "blobs">, url: string | undefined) {
  const blob = await blobs.get(url?.slice(blobPath.length) ?? "");
  return blob && { text: Buffer.from(blob.bytes).toString(), mediaType: blob.mediaType };
}

describe("a picture that comes in steps", () => {
  test("is one block, which every step replaces, and its bytes are in the store only", async () => {
    const started = await start(agentSaying([[partial(0)], [partial(1)], [drawn()], [done]]));
    const { view, events } = await ended(started);
    expect(imagesIn(events)).toMatchObject([
      { type: "task.image.added", item: { image_url: { url: "" } } },
      { type: "task.image.delta", partial_image_index: 0 },
      { type: "task.image.delta", partial_image_index: 1 },
      { type: "task.image.done" },
    ]);
    expect(view.output).toMatchObject([{ type: "message", block_list: [{ type: "image" }] }]);
    const urls = imagesIn(events).map((event) => "item" in event && event.item);
    const bytes = await Promise.all(
      urls
        .slice(1)
        .map((item) => bytesAt(started, (item as { image_url: { url: string } }).image_url.url)),
    );
    expect(bytes).toEqual([
      { text: "ig_1 sketch 0", mediaType: "image/webp" },
      { text: "ig_1 sketch 1", mediaType: "image/webp" },
      { text: "ig_1 whole", mediaType: "image/png" },
    ]);
    expect(await textOfLog(started)).not.toContain(base64("ig_1 whole"));
  });

  test("is told step by step, and not when the round is over", async () => {
    const started = await start(agentSaying([[partial(0)], [never]]));
    const state = await until(started, ({ tasks }) => {
      const [item] = tasks[started.id]?.output ?? [];
      return item?.type === "message" && JSON.stringify(item).includes(blobPath);
    });
    expect(state.tasks[started.id]?.output).toMatchObject([{ status: "in_progress" }]);
    await started.runtime.cancel(started.id, "test");
  });

  test("stands where it was begun, whatever is said meanwhile or in the same breath", async () => {
    const batches = [
      [text("First."), partial(0), partial(0, "ig_2"), text("Last."), drawn("ig_2"), drawn(), done],
    ];
    for (const cut of [batches, batches.flat().map((event) => [event])]) {
      const started = await start(agentSaying(cut));
      const { view } = await ended(started);
      const blocks = view.output.flatMap((item) =>
        item.type === "message" ? item.block_list : [],
      );
      expect(blocks.map(({ type }) => type)).toEqual(["text", "image", "image", "text"]);
      const [, one, two] = blocks as { image_url?: { url: string } }[];
      expect((await bytesAt(started, one?.image_url?.url))?.text).toBe("ig_1 whole");
      expect((await bytesAt(started, two?.image_url?.url))?.text).toBe("ig_2 whole");
    }
  });

  test("is told once, whatever the server says of it later", async () => {
    const started = await start(
      agentSaying([
        [drawn(), drawn(), partial(3)],
        [partial(4), drawn(), done],
      ]),
    );
    const { view, events } = await ended(started);
    expect(view.output).toHaveLength(1);
    expect(imagesIn(events)).toMatchObject([{ type: "task.image.done" }]);
  });
});

describe("a picture that is not finished", () => {
  test.each<[string, JsonObject[]]>([
    ["by a reply that ends", [done]],
    ["by an item without a picture", [drawn("ig_1", null), done]],
  ])("stays as it was seen last when it is cut off %s", async (_what, end) => {
    for (const batches of [[[partial(0), ...end]], [[partial(0)], end]]) {
      const started = await start(agentSaying(batches));
      const { view } = await ended(started);
      expect(view.status).toBe("completed");
      expect(view.output).toMatchObject([
        { status: "incomplete", block_list: [{ type: "image" }] },
      ]);
      const [item] = view.output as { block_list: { image_url: { url: string } }[] }[];
      const seen = await bytesAt(started, item?.block_list[0]?.image_url.url);
      expect(seen?.text).toBe("ig_1 sketch 0");
    }
  });

  test("stays when the user stops the task", async () => {
    const started = await start(agentSaying([[partial(0)], [never]]));
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes(blobPath));
    await started.runtime.cancel(started.id, "test");
    const { view } = await ended(started);
    expect(view.output).toMatchObject([{ status: "incomplete", block_list: [{ type: "image" }] }]);
  });

  test("is taken back when the model is asked again, and stays when it is not", async () => {
    const again = agentSaying([[partial(0)]], [[partial(0), drawn(), done]]);
    const { view, events } = await ended(await start(again));
    expect(view.output).toHaveLength(1);
    expect(events.filter(({ type }) => type === "task.output_item.retracted")).toHaveLength(1);
    const error = { code: "bad_prompt", message: "no" };
    const failed = agentSaying([[partial(0), { type: "response.failed", response: { error } }]]);
    const { view: last } = await ended(await start(failed));
    expect(last).toMatchObject({ status: "failed", output: [{ status: "incomplete" }] });
  });

  test("is taken back by the process that goes on", async () => {
    const started = await start(agentSaying([[partial(0)], [drawn(), done]]));
    await ended(started);
    const log = await logUpTo(started, ({ type }) => type === "task.image.delta");
    const next = await recovered(agentSaying([[drawn(), done]]), { log, id: started.id });
    const { view } = await ended(next);
    expect(view.output).toMatchObject([{ status: "completed", block_list: [{ type: "image" }] }]);
  });
});

describe("a store that is slow or full", () => {
  class SlowBlobs extends MemoryBlobs {
    go: () => void = () => undefined;
    begun = 0;

    override async put(bytes: Uint8Array, mediaType: string): Promise<string> {
      this.begun += 1;
      await new Promise<void>((resolve) => (this.go = resolve));
      return super.put(bytes, mediaType);
    }
  }

  test("says nothing of a picture that comes when the task is stopped already", async () => {
    const blobs = new SlowBlobs();
    const started = await start(agentSaying([[text("Hm."), drawn(), done]]), {}, { blobs });
    await expect.poll(() => blobs.begun).toBe(1);
    const stopped = started.runtime.cancel(started.id, "test");
    blobs.go();
    await stopped;
    const { view, events } = await ended(started);
    expect(view.status).toBe("canceled");
    expect(imagesIn(events)).toEqual([]);
    expect(view.output).toMatchObject([{ block_list: [{ text: "Hm." }] }]);
  });

  test("leaves to another process what it was about to say", async () => {
    const blobs = new SlowBlobs();
    const started = await start(agentSaying([[drawn(), done]]), {}, { blobs });
    await expect.poll(() => blobs.begun).toBe(1);
    const closed = started.runtime.close();
    blobs.go();
    await closed;
    expect((await eventsOf(started)).at(-1)?.type).toBe("task.output_item.added");
    const next = await recovered(agentSaying([[drawn(), done]]), started);
    expect((await ended(next)).view.output).toHaveLength(1);
  });

  test("ends the task with what was said, and says why", async () => {
    const blobs = new MemoryBlobs();
    blobs.put = () => Promise.reject(new Error("disk full"));
    const started = await start(agentSaying([[text("Here:"), drawn(), done]]), {}, { blobs });
    const { view } = await ended(started);
    expect(view.error).toMatchObject({ code: "media_not_kept", retryable: false });
    expect(view.error?.message).toContain("disk full");
    expect(view.output).toMatchObject([{ block_list: [{ text: "Here:" }] }]);
  });
});

describe("a sound", () => {
  test("is a block with its words", async () => {
    const started = await start(agentSaying([[spoken({ transcript: "Hello." }), done]]));
    const { view } = await ended(started);
    expect(view.output).toMatchObject([
      { type: "message", block_list: [{ type: "audio", transcript: "Hello." }] },
    ]);
    const [item] = view.output as { block_list: { audio_url: { url: string } }[] }[];
    const bytes = await bytesAt(started, item?.block_list[0]?.audio_url.url);
    expect(bytes).toEqual({ text: "sound", mediaType: "audio/wav" });
  });

  test("that was not made is no message", async () => {
    const { view } = await ended(await start(agentSaying([[spoken({ result: null }), done]])));
    expect(view).toMatchObject({ status: "completed", output: [] });
  });
});

test("a model that makes no words tells how far it is", async () => {
  const progress = (message: unknown, fraction?: unknown): JsonObject =>
    ({ type: "deltawire.progress", message, fraction }) as JsonObject;
  const agent = agentSaying([
    [progress("queued")],
    [progress("drawing with sk-secret", 0.5)],
    [progress(7, 9), progress(undefined, "much")],
    [drawn(), done, progress("too late")],
  ]);
  const redact = (words: string): string => words.replaceAll("sk-secret", "[redacted]");
  const { events, view } = await ended(await start(agent, {}, { redact }));
  const told = events.filter((event) => event.type === "task.round.progress");
  expect(told.map(({ round, message, fraction }) => [round, message, fraction])).toEqual([
    [1, "queued", undefined],
    [1, "drawing with [redacted]", 0.5],
    [1, "7", 1],
    [1, "", undefined],
  ]);
  expect(view.status).toBe("completed");
});
