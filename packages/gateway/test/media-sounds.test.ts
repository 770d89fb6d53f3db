import { asText, type JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { toneFor } from "@deltawire/demo";
import {
  aDemo,
  answers,
  aServer,
  dataUrl,
  endOf,
  itemsOf,
  stage,
  textOf,
  typesOf,
} from "./media-stage.ts";
import { beginStream, event, refuse } from "./scripted-upstream.ts";

const wav = toneFor("Good morning");
const sound = { type: "input_audio", input_audio: { data: wav.toString("base64"), format: "wav" } };

test("what the speaker says is what the listener writes down", async () => {
  const demo = await aDemo();
  const { tell } = stage([demo.url]);
  const words = "Grüße an alle, 你好, and 3 × 7 is 21.";
  const spoken = await tell("audio-tts", words, { name: "speaker" });
  const [item] = itemsOf(spoken);
  expect(item).toMatchObject({
    type: "audio_generation_call",
    status: "completed",
    media_type: "audio/wav",
    transcript: words,
  });
  expect(typesOf(spoken)).toEqual(["output_item.added", "output_item.done", "completed"]);
  const file_data = `data:audio/wav;base64,${asText(item?.["result"])}`;
  const heard = await tell("audio-stt", [{ type: "input_file", file_data }], { name: "listener" });
  expect(textOf(heard)).toBe(words);
  expect(itemsOf(heard)).toMatchObject([{ type: "message", content: [{ text: words }] }]);
});

describe("a transcript", () => {
  test("comes word by word where the server streams", async () => {
    const demo = await aDemo();
    const events = await stage([demo.url]).tell("audio-stt", [sound], { name: "listener" });
    expect(events[0]).toMatchObject({ message: "asked up for a transcript" });
    expect(typesOf(events)).toEqual([
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    const ids = answers(events).map(({ item_id, item }) => item_id ?? (item as JsonObject)?.["id"]);
    expect(new Set(ids.slice(0, -1)).size).toBe(1);
    expect(endOf(events)).toMatchObject({ usage: { output_tokens: 3 } });
  });

  test("of a sound that the demo did not make says so", async () => {
    const demo = await aDemo();
    const noise = {
      type: "input_audio",
      input_audio: { url: dataUrl(Buffer.from("x"), "audio/mpeg") },
    };
    const events = await stage([demo.url]).tell("audio-stt", [noise], { name: "listener" });
    expect(textOf(events)).toBe("The demo got sound.mp3 with 1 bytes. It cannot listen to it.");
  });

  test.each([
    ["the whole text at once", "application/json", '{"text":"Good morning"}'],
    ["plain text", "text/plain; charset=utf-8", "Good morning\n"],
    [
      "the chunks of a chat",
      "text/event-stream",
      ["Good ", "morning"].map((content) => event({ choices: [{ delta: { content } }] })).join("") +
        event("[DONE]"),
    ],
    [
      "nothing but the end",
      "text/event-stream",
      event({ type: "transcript.text.done", text: "Good morning" }),
    ],
    [
      "deltas that leave something out",
      "text/event-stream",
      event({ type: "transcript.text.delta", delta: "Good" }) +
        event({ type: "transcript.text.done", text: "Good morning" }),
    ],
  ])("may be %s", async (_what, type, body) => {
    const server = await aServer((_request, response) => {
      response.setHeader("content-type", type);
      response.end(body);
    });
    const events = await stage([server.url]).tell("audio-stt", [sound]);
    expect(textOf(events)).toBe("Good morning");
    expect(itemsOf(events)).toMatchObject([{ content: [{ text: "Good morning" }] }]);
    expect(endOf(events)).toMatchObject({ type: "response.completed", usage: { total_tokens: 0 } });
  });

  test("is asked for without a stream where that is refused, with the file each time", async () => {
    const server = await aServer(({ bytes }, response) => {
      if (bytes.includes('name="stream"'))
        return refuse(response, 422, [
          { loc: ["body", "stream"], msg: "extra fields not permitted" },
        ]);
      response.end('{"text":"Good morning","usage":{"type":"duration","seconds":2}}');
    });
    const { tell } = stage([server.url]);
    const media = { language: "en", timestamp_granularities: ["word", "segment"] };
    const events = await tell("audio-stt", [sound, { type: "input_text", text: "names: Ann" }], {
      media,
    });
    expect(textOf(events)).toBe("Good morning");
    expect(endOf(events)).toMatchObject({ usage: { seconds: 2 } });
    const [first, second] = server.requests;
    for (const request of [first, second]) {
      const text = request?.bytes.toString("latin1") ?? "";
      expect(request?.bytes.includes(wav)).toBe(true);
      expect(text).toContain('name="file"; filename="sound.wav"');
      expect(text).toMatch(/name="model"\r\n\r\nm\r\n/);
      expect(text).toMatch(/name="prompt"\r\n\r\nnames: Ann\r\n/);
      expect(text).toMatch(/name="language"\r\n\r\nen\r\n/);
      expect(text.match(/name="timestamp_granularities\[\]"/g)).toHaveLength(2);
      expect(text).not.toContain("temperature");
    }
    expect(server.requests).toHaveLength(2);
  });

  test("stays as it was told, whatever the end says of it", async () => {
    const server = await aServer((_request, response) => {
      beginStream(response);
      response.write(event({ type: "transcript.text.delta", delta: "Good mourning" }));
      response.end(event({ type: "transcript.text.done", text: "Good morning" }));
    });
    const events = await stage([server.url]).tell("audio-stt", [sound]);
    expect(textOf(events)).toBe("Good mourning");
    expect(itemsOf(events)).toMatchObject([{ content: [{ text: "Good mourning" }] }]);
  });

  test("that breaks off is not whole", async () => {
    const server = await aServer((_request, response) => {
      beginStream(response);
      response.end(event({ type: "transcript.text.delta", delta: "Good" }));
    });
    const events = await stage([server.url]).tell("audio-stt", [sound]);
    expect(textOf(events)).toBe("Good");
    expect(endOf(events)).toMatchObject({ type: "response.failed" });
  });

  test.each([
    ["no sound", [{ type: "input_text", text: "Hello" }], /needs a sound/],
    ["two sounds", [sound, sound], /one sound, and there are 2/],
  ])("of %s is refused before anybody is asked", async (_what, content, says) => {
    const demo = await aDemo();
    const error = await stage([demo.url]).failing("audio-stt", content);
    expect(error.message).toMatch(says);
    expect(demo.requests).toEqual([]);
  });
});

describe("the name of a sound's file", () => {
  test.each([
    ["OggS....", "audio/mpeg", "sound.ogg"],
    ["\x1aE\xdf\xa3....", "audio/mp3", "sound.webm"],
    ["\x1aE\xdf\xa3....", "video/webm", "sound.webm"],
    ["....ftypM4A ", "audio/x-m4a", "sound.m4a"],
    ["fLaC", "audio/wav", "sound.flac"],
    ["unknown", "audio/x-wav", "sound.wav"],
    ["unknown", "audio/webm;codecs=opus", "sound.webm"],
  ])("%j, told as %s, is %s", async (beginning, told, name) => {
    const server = await aServer((_request, response) => void response.end('{"text":""}'));
    const url = dataUrl(Buffer.from(beginning, "latin1"), told);
    await stage([server.url]).tell("audio-stt", [{ type: "input_audio", input_audio: { url } }]);
    expect(server.requests[0]?.bytes.toString("latin1")).toContain(`filename="${name}"`);
  });
});

describe("speech", () => {
  test("has a voice, and the one that was asked for if there was one", async () => {
    const demo = await aDemo();
    const { tell } = stage([demo.url]);
    await tell("audio-tts", "Hello", { name: "speaker" });
    await tell("audio-tts", "Hello", {
      name: "speaker",
      media: { voice: "nova", speed: 2, response_format: "wav", stream_format: "sse" },
    });
    expect(demo.requests.map(({ body }) => body)).toEqual([
      { model: "speaker", input: "Hello", voice: "alloy" },
      { model: "speaker", input: "Hello", voice: "nova", speed: 2, response_format: "wav" },
    ]);
  });

  test("is told by how much of it has come", async () => {
    const server = await aServer((_request, response) => {
      response.writeHead(200, {
        "content-type": "application/octet-stream",
        "content-length": 4096,
      });
      response.write(Buffer.alloc(3072, "x"));
      setTimeout(() => response.end(Buffer.alloc(1024, "x")), 100);
    });
    const events = await stage([server.url]).tell("audio-tts", "Hello", {
      media: { response_format: "opus" },
    });
    expect(events).toContainEqual({
      type: "deltawire.progress",
      message: "3 KB of sound: 0 s",
      fraction: 0.75,
    });
    expect(itemsOf(events)).toMatchObject([{ media_type: "audio/ogg" }]);
  });

  test.each([
    [
      "an error",
      "application/json",
      '{"error":{"message":"no such voice","code":"bad_voice"}}',
      /no such voice/,
    ],
    ["a page", "text/html", "<h1>Welcome</h1>", /Welcome/],
    ["nothing", "audio/mpeg", "", /before there was a sound/],
  ])("that is %s is no sound", async (_what, type, body, says) => {
    const server = await aServer((_request, response) => {
      response.setHeader("content-type", type);
      response.end(body);
    });
    const error = await stage([server.url], { retries: 0 }).failing("audio-tts", "Hello");
    expect(error.message).toMatch(says);
  });
});
