import { asString, type JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { createSampleAudio } from "@deltawire/demo";
import {
  startTestDemo,
  withoutProgress,
  startTestUpstream,
  encodeDataUrl,
  getFinalEvent,
  listOutputItems,
  mediaFixture,
  joinTextDeltas,
  listMediaEventTypes,
} from "./media-fixture.ts";
import { beginStream, formatEvent, sendError } from "./scripted-upstream.ts";

const wav = createSampleAudio("Good morning");
const audio = { type: "input_audio", input_audio: { data: wav.toString("base64"), format: "wav" } };

test("generated speech can be transcribed again", async () => {
  const demo = await startTestDemo();
  const { runModel } = mediaFixture([demo.url]);
  const words = "Grüße an alle, 你好, and 3 × 7 is 21.";
  const spoken = await runModel("audio-tts", words, { name: "speaker" });
  const [item] = listOutputItems(spoken);
  expect(item).toMatchObject({
    type: "audio_generation_call",
    status: "completed",
    media_type: "audio/wav",
    transcript: words,
  });
  expect(listMediaEventTypes(spoken)).toEqual([
    "output_item.added",
    "output_item.done",
    "completed",
  ]);
  const file_data = `data:audio/wav;base64,${asString(item?.["result"])}`;
  const heard = await runModel("audio-stt", [{ type: "input_file", file_data }], {
    name: "listener",
  });
  expect(joinTextDeltas(heard)).toBe(words);
  expect(listOutputItems(heard)).toMatchObject([{ type: "message", content: [{ text: words }] }]);
});

describe("a transcript", () => {
  test("is streamed if the server streams it", async () => {
    const demo = await startTestDemo();
    const events = await mediaFixture([demo.url]).runModel("audio-stt", [audio], {
      name: "listener",
    });
    expect(events[0]).toMatchObject({ message: "requested a transcript from up" });
    expect(listMediaEventTypes(events)).toEqual([
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    const ids = withoutProgress(events).map(
      ({ item_id, item }) => item_id ?? (item as JsonObject)?.["id"],
    );
    expect(new Set(ids.slice(0, -1)).size).toBe(1);
    expect(getFinalEvent(events)).toMatchObject({ usage: { output_tokens: 3 } });
  });

  test("of audio that the demo has not generated says so", async () => {
    const demo = await startTestDemo();
    const noise = {
      type: "input_audio",
      input_audio: { url: encodeDataUrl(Buffer.from("x"), "audio/mpeg") },
    };
    const events = await mediaFixture([demo.url]).runModel("audio-stt", [noise], {
      name: "listener",
    });
    expect(joinTextDeltas(events)).toBe(
      "The demo received audio.mp3 with 1 bytes. It cannot understand speech.",
    );
  });

  test.each([
    ["the complete text at once", "application/json", '{"text":"Good morning"}'],
    ["plain text", "text/plain; charset=utf-8", "Good morning\n"],
    [
      "the chunks of a chat",
      "text/event-stream",
      ["Good ", "morning"]
        .map((content) => formatEvent({ choices: [{ delta: { content } }] }))
        .join("") + formatEvent("[DONE]"),
    ],
    [
      "only the final event",
      "text/event-stream",
      formatEvent({ type: "transcript.text.done", text: "Good morning" }),
    ],
    [
      "deltas that omit a part",
      "text/event-stream",
      formatEvent({ type: "transcript.text.delta", delta: "Good" }) +
        formatEvent({ type: "transcript.text.done", text: "Good morning" }),
    ],
  ])("can be %s", async (_what, type, body) => {
    const server = await startTestUpstream((_request, response) => {
      response.setHeader("content-type", type);
      response.end(body);
    });
    const events = await mediaFixture([server.url]).runModel("audio-stt", [audio]);
    expect(joinTextDeltas(events)).toBe("Good morning");
    expect(listOutputItems(events)).toMatchObject([{ content: [{ text: "Good morning" }] }]);
    expect(getFinalEvent(events)).toMatchObject({
      type: "response.completed",
      usage: { total_tokens: 0 },
    });
  });

  test("is requested without streaming after a rejection, with the file each time", async () => {
    const server = await startTestUpstream(({ bytes }, response) => {
      if (bytes.includes('name="stream"'))
        return sendError(response, 422, [
          { loc: ["body", "stream"], msg: "extra fields not permitted" },
        ]);
      response.end('{"text":"Good morning","usage":{"type":"duration","seconds":2}}');
    });
    const { runModel } = mediaFixture([server.url]);
    const media = { language: "en", timestamp_granularities: ["word", "segment"] };
    const events = await runModel(
      "audio-stt",
      [audio, { type: "input_text", text: "names: Ann" }],
      {
        media,
      },
    );
    expect(joinTextDeltas(events)).toBe("Good morning");
    expect(getFinalEvent(events)).toMatchObject({ usage: { seconds: 2 } });
    const [first, second] = server.requests;
    for (const request of [first, second]) {
      const text = request?.bytes.toString("latin1") ?? "";
      expect(request?.bytes.includes(wav)).toBe(true);
      expect(text).toContain('name="file"; filename="audio.wav"');
      expect(text).toMatch(/name="model"\r\n\r\nm\r\n/);
      expect(text).toMatch(/name="prompt"\r\n\r\nnames: Ann\r\n/);
      expect(text).toMatch(/name="language"\r\n\r\nen\r\n/);
      expect(text.match(/name="timestamp_granularities\[\]"/g)).toHaveLength(2);
      expect(text).not.toContain("temperature");
    }
    expect(server.requests).toHaveLength(2);
  });

  test("keeps its deltas if the final text differs", async () => {
    const server = await startTestUpstream((_request, response) => {
      beginStream(response);
      response.write(formatEvent({ type: "transcript.text.delta", delta: "Good mourning" }));
      response.end(formatEvent({ type: "transcript.text.done", text: "Good morning" }));
    });
    const events = await mediaFixture([server.url]).runModel("audio-stt", [audio]);
    expect(joinTextDeltas(events)).toBe("Good mourning");
    expect(listOutputItems(events)).toMatchObject([{ content: [{ text: "Good mourning" }] }]);
  });

  test("that is truncated is a failure", async () => {
    const server = await startTestUpstream((_request, response) => {
      beginStream(response);
      response.end(formatEvent({ type: "transcript.text.delta", delta: "Good" }));
    });
    const events = await mediaFixture([server.url]).runModel("audio-stt", [audio]);
    expect(joinTextDeltas(events)).toBe("Good");
    expect(getFinalEvent(events)).toMatchObject({ type: "response.failed" });
  });

  test.each([
    ["no audio", [{ type: "input_text", text: "Hello" }], /attach an audio file/],
    ["two audio files", [audio, audio], /only one audio file, got 2/],
  ])("of %s is rejected before any request is sent", async (_what, content, message) => {
    const demo = await startTestDemo();
    const error = await mediaFixture([demo.url]).runFailingModel("audio-stt", content);
    expect(error.message).toMatch(message);
    expect(demo.requests).toEqual([]);
  });
});

describe("the name of an audio file", () => {
  test.each([
    ["OggS....", "audio/mpeg", "audio.ogg"],
    ["\x1aE\xdf\xa3....", "audio/mp3", "audio.webm"],
    ["\x1aE\xdf\xa3....", "video/webm", "audio.webm"],
    ["....ftypM4A ", "audio/x-m4a", "audio.m4a"],
    ["fLaC", "audio/wav", "audio.flac"],
    ["unknown", "audio/x-wav", "audio.wav"],
    ["unknown", "audio/webm;codecs=opus", "audio.webm"],
  ])("for %j, declared as %s, is %s", async (beginning, declared, name) => {
    const server = await startTestUpstream(
      (_request, response) => void response.end('{"text":""}'),
    );
    const url = encodeDataUrl(Buffer.from(beginning, "latin1"), declared);
    await mediaFixture([server.url]).runModel("audio-stt", [
      { type: "input_audio", input_audio: { url } },
    ]);
    expect(server.requests[0]?.bytes.toString("latin1")).toContain(`filename="${name}"`);
  });
});

describe("speech", () => {
  test("has a default voice, or the requested one", async () => {
    const demo = await startTestDemo();
    const { runModel } = mediaFixture([demo.url]);
    await runModel("audio-tts", "Hello", { name: "speaker" });
    await runModel("audio-tts", "Hello", {
      name: "speaker",
      media: { voice: "nova", speed: 2, response_format: "wav", stream_format: "sse" },
    });
    expect(demo.requests.map(({ body }) => body)).toEqual([
      { model: "speaker", input: "Hello", voice: "alloy" },
      { model: "speaker", input: "Hello", voice: "nova", speed: 2, response_format: "wav" },
    ]);
  });

  test("reports its progress", async () => {
    const server = await startTestUpstream((_request, response) => {
      response.writeHead(200, {
        "content-type": "application/octet-stream",
        "content-length": 4096,
      });
      response.write(Buffer.alloc(3072, "x"));
      setTimeout(() => response.end(Buffer.alloc(1024, "x")), 100);
    });
    const events = await mediaFixture([server.url]).runModel("audio-tts", "Hello", {
      media: { response_format: "opus" },
    });
    expect(events).toContainEqual({
      type: "deltawire.progress",
      message: "3 KB of audio: 0 s",
      fraction: 0.75,
    });
    expect(listOutputItems(events)).toMatchObject([{ media_type: "audio/ogg" }]);
  });

  test.each([
    [
      "an error",
      "application/json",
      '{"error":{"message":"no such voice","code":"bad_voice"}}',
      /no such voice/,
    ],
    ["a page", "text/html", "<h1>Welcome</h1>", /Welcome/],
    ["nothing", "audio/mpeg", "", /before any audio arrived/],
  ])("that is %s is a failure", async (_what, type, body, message) => {
    const server = await startTestUpstream((_request, response) => {
      response.setHeader("content-type", type);
      response.end(body);
    });
    const error = await mediaFixture([server.url], { retries: 0 }).runFailingModel(
      "audio-tts",
      "Hello",
    );
    expect(error.message).toMatch(message);
  });
});
