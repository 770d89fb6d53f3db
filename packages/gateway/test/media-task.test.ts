import { defineAgent, MemoryBlobs, runTask, type Model } from "@deltawire/agent";
import { blobPath, type Block, type ContentPart, type TaskEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { createSampleImage, readAudioComment } from "@deltawire/demo";
import { startTestDemo, mediaFixture } from "./media-fixture.ts";

const blobs = new MemoryBlobs();

async function runModel(
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
  if (blob === undefined) throw new Error(`nothing is stored at ${url}`);
  return { bytes: Buffer.from(blob.bytes), mediaType: blob.mediaType };
}

test("a task generates an image, and another one edits it", async () => {
  const demo = await startTestDemo({ paceMs: 1 });
  const { model } = mediaFixture([demo.url]);
  const generated = await runModel(model("image-gen", "painter"), "a house");
  const [image] = generated.blocks;
  if (image?.type !== "image") throw new Error("no image");
  expect(await bytesAt(image.image_url.url)).toEqual({
    bytes: createSampleImage("a house0"),
    mediaType: "image/png",
  });
  expect(generated.events.map(({ type }) => type)).toContain("task.round.progress");
  const edited = await runModel(model("image-edit", "retoucher"), [
    { type: "image_url", image_url: image.image_url },
    { type: "text", text: "greener" },
  ]);
  const [other] = edited.blocks;
  if (other?.type !== "image") throw new Error("no image");
  expect(other.image_url.url).not.toBe(image.image_url.url);
});

test("a task generates speech, and another one transcribes it", async () => {
  const demo = await startTestDemo();
  const { model } = mediaFixture([demo.url]);
  const speech = await runModel(model("audio-tts", "speaker"), "Good morning, 你好");
  const [audio] = speech.blocks;
  if (audio?.type !== "audio") throw new Error("no audio");
  expect(audio.transcript).toBe("Good morning, 你好");
  const { bytes, mediaType } = await bytesAt(audio.audio_url.url);
  expect([mediaType, readAudioComment(bytes)]).toEqual(["audio/wav", "Good morning, 你好"]);
  const transcribed = await runModel(model("audio-stt", "listener"), [
    { type: "audio_url", audio_url: audio.audio_url },
  ]);
  expect(transcribed.blocks).toMatchObject([{ type: "text", text: "Good morning, 你好" }]);
});
