import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import type { MediaModelType } from "../src/media/endpoint-request.ts";
import {
  startTestDemo,
  startTestUpstream,
  encodeDataUrl,
  getFinalEvent,
  listOutputItems,
  upstreamKey,
  mediaFixture,
} from "./media-fixture.ts";
import { sleep, waitUntil } from "./gateway-fixture.ts";
import { sendError } from "./scripted-upstream.ts";
import { createSampleImage, createSampleAudio } from "@deltawire/demo";

const image = {
  type: "input_image",
  image_url: encodeDataUrl(createSampleImage("a"), "image/png"),
};
const audio = { type: "input_file", file_data: encodeDataUrl(createSampleAudio("a"), "audio/wav") };
const words = { type: "input_text", text: "Hello" };
const requests: [MediaModelType, JsonObject[], string][] = [
  ["image-gen", [words], "/v1/images/generations"],
  ["image-edit", [image, words], "/v1/images/edits"],
  ["audio-stt", [audio], "/v1/audio/transcriptions"],
  ["audio-tts", [words], "/v1/audio/speech"],
];

describe.each(requests)("a request of type %s", (type, content, path) => {
  test("is sent to its endpoint with the upstream's key", async () => {
    const server = await startTestUpstream((_request, response) =>
      sendError(response, 400, { message: "no" }),
    );
    await mediaFixture([server.url]).runFailingModel(type, content);
    expect(server.requests[0]).toMatchObject({
      path,
      headers: { authorization: `Bearer ${upstreamKey}` },
    });
  });

  test("that is aborted closes the connection immediately and sends nothing more", async () => {
    const server = await startTestUpstream(() => undefined);
    const { runModel, rounds, relay } = mediaFixture([server.url]);
    const stop = new AbortController();
    const telling = runModel(type, content, { signal: stop.signal });
    await waitUntil("the request", () => server.requests.length === 1);
    stop.abort();
    const events = await telling;
    expect(events.every((event) => event["type"] === "deltawire.progress")).toBe(true);
    await server.requests[0]?.closed;
    await waitUntil("the line", () => rounds.length === 1);
    expect(rounds[0]).toMatchObject({
      clientDisconnected: true,
      failure: undefined,
      model: "m",
      ownerId: "task_1",
    });
    expect(relay.upstreams.get("up")?.health.state).toBe("closed");
  });

  test("never shows a key that a server quotes", async () => {
    const server = await startTestUpstream(({ headers }, response) =>
      sendError(response, 400, {
        message: `bad: ${String(headers.authorization)}`,
        code: upstreamKey,
      }),
    );
    const { runFailingModel, rounds } = mediaFixture([server.url]);
    const error = await runFailingModel(type, content);
    const { message, code, cause } = error;
    const output = JSON.stringify([message, code, cause, rounds]) + String(error.stack);
    expect(output).toContain("[redacted]");
    expect(output).not.toContain(upstreamKey);
  });
});

test("leaving the iterator aborts the request", async () => {
  const demo = await startTestDemo({ paceMs: 20 });
  const { runModel } = mediaFixture([demo.url]);
  const leaving = runModel("image-gen", "a house", {
    name: "painter",
    onEvent: ({ type }) => {
      if (type === "response.image_generation_call.partial_image") throw new Error("enough");
    },
  });
  await expect(leaving).rejects.toThrow("enough");
  await waitUntil("that the demo is left", () => demo.requests.at(-1)?.state === "disconnected");
});

test("an already aborted signal sends no request", async () => {
  const demo = await startTestDemo();
  const { runModel } = mediaFixture([demo.url]);
  expect(await runModel("audio-tts", "Hello", { signal: AbortSignal.abort() })).toEqual([]);
  await sleep(20);
  expect(demo.requests).toEqual([]);
});

test("requests to an overloaded server are retried, including uploads", async () => {
  const server = await startTestUpstream((_request, response) => {
    if (server.requests.length === 1) return sendError(response, 503, { message: "overloaded" });
    response.end('{"text":"Hello"}');
  });
  const { runModel, notes } = mediaFixture([server.url], { retries: 1 });
  expect(listOutputItems(await runModel("audio-stt", [audio]))).toMatchObject([
    { content: [{ text: "Hello" }] },
  ]);
  expect(notes).toEqual([{ attempts: 2, upstream: "up" }]);
  const [first, second] = server.requests.map(({ bytes }) => bytes.length);
  expect(first).toBe(second);
});

test("the next upstream is tried if the first fails", async () => {
  const down = await startTestUpstream((_request, response) =>
    sendError(response, 401, { message: "no" }),
  );
  const demo = await startTestDemo();
  const { runModel, notes, rounds } = mediaFixture([down.url, demo.url], { retries: 0 });
  const events = await runModel("audio-tts", "Hello", { name: "speaker" });
  const progressEvents = events.filter(({ type }) => type === "deltawire.progress");
  // On a busy machine there may also be events with the elapsed time.
  const messages = progressEvents.flatMap(({ message }) =>
    typeof message === "string" && message.startsWith("requested") ? message : [],
  );
  expect(messages).toEqual(["requested speech from up", "requested speech from up2"]);
  expect(getFinalEvent(events)).toMatchObject({ type: "response.completed" });
  expect(notes).toEqual([{ attempts: 2, upstream: "up2" }]);
  expect(rounds[0]?.record).toMatchObject({ upstream: "up2", upstreamModel: "speaker" });
});

test("a server that keeps failing is paused, which is a retryable error", async () => {
  const server = await startTestUpstream((_request, response) =>
    sendError(response, 500, { message: "broken" }),
  );
  const { runFailingModel } = mediaFixture([server.url], { retries: 0 });
  for (let index = 0; index < 5; index++) await runFailingModel("audio-tts", "Hello");
  const error = await runFailingModel("audio-tts", "Hello");
  expect(error).toMatchObject({ code: "upstream_circuit_open", retryable: true });
  // The pause is that of the gateway: no server has sent retry-after.
  expect(error.retryAfterMs).toBeUndefined();
  expect(server.requests).toHaveLength(5);
});

test("a redirect is not followed", async () => {
  const demo = await startTestDemo();
  const server = await startTestUpstream((_request, response) => {
    response.writeHead(307, { location: `${demo.url}/audio/speech` });
    response.end();
  });
  const error = await mediaFixture([server.url]).runFailingModel("audio-tts", "Hello", {
    name: "speaker",
  });
  expect(error).toMatchObject({ code: "upstream_redirect", retryable: false });
  expect(demo.requests).toEqual([]);
});
