import { defineAgent, MemoryBlobs, runTask, type Model } from "@deltawire/agent";
import { blobPath, type Block, type ContentPart, type TaskEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { pictureFor, wordsIn } from "@deltawire/demo";
import { aDemo, stage } from "./media-stage.ts";

const blobs = new MemoryBlobs();

async function asked(
  model: Model,
  input: string | ContentPart[],
): Promise<{ blocks: Block[]; events: TaskEvent[] }> {
  const agent = defineAgent({ name: "maker", instructions: "", model });
  const task = await runTask(agent, input, { blobs });
  const events: TaskEvent[] = [];
  for await (const event of task) events.push(event);
  const { status, output } = await task.result;
  expect(status).toBe("completed");
  const blocks = output.flatMap((item) => (item.type === "message" ? item.block_list : []));
  return { blocks, events };
}

async function bytesAt(url: string): Promise<{ bytes: Buffer; mediaType: string }> {
  const blob = await blobs.get(url.slice(blobPath.length));
  if (blob === undefined) throw new Error(`nothing is kept at ${url}`);
  return { bytes: Buffer.from(blob.bytes), mediaType: blob.mediaType };
}

test("a task draws a picture, which another one edits", async () => {
  const demo = await aDemo({ paceMs: 1 });
  const { model } = stage([demo.url]);
  const drawn = await asked(model("image-gen", "painter"), "a house");
  const [image] = drawn.blocks;
  if (image?.type !== "image") throw new Error("no picture");
  expect(await bytesAt(image.image_url.url)).toEqual({
    bytes: pictureFor("a house0"),
    mediaType: "image/png",
  });
  expect(drawn.events.map(({ type }) => type)).toContain("task.round.progress");
  const edited = await asked(model("image-edit", "retoucher"), [
    { type: "image_url", image_url: image.image_url },
    { type: "text", text: "greener" },
  ]);
  const [other] = edited.blocks;
  if (other?.type !== "image") throw new Error("no picture");
  expect(other.image_url.url).not.toBe(image.image_url.url);
});

test("a task says words, and another one writes down the very sound", async () => {
  const demo = await aDemo();
  const { model } = stage([demo.url]);
  const spoken = await asked(model("audio-tts", "speaker"), "Good morning, 你好");
  const [sound] = spoken.blocks;
  if (sound?.type !== "audio") throw new Error("no sound");
  expect(sound.transcript).toBe("Good morning, 你好");
  const { bytes, mediaType } = await bytesAt(sound.audio_url.url);
  expect([mediaType, wordsIn(bytes)]).toEqual(["audio/wav", "Good morning, 你好"]);
  const heard = await asked(model("audio-stt", "listener"), [
    { type: "audio_url", audio_url: sound.audio_url },
  ]);
  expect(heard.blocks).toMatchObject([{ type: "text", text: "Good morning, 你好" }]);
});
