import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import type { MediaType } from "../src/media/endpoint-call.ts";
import { aDemo, aServer, dataUrl, endOf, itemsOf, key, stage } from "./media-stage.ts";
import { pause, until } from "./scene.ts";
import { refuse } from "./scripted-upstream.ts";
import { pictureFor, toneFor } from "@deltawire/demo";

const picture = { type: "input_image", image_url: dataUrl(pictureFor("a"), "image/png") };
const sound = { type: "input_file", file_data: dataUrl(toneFor("a"), "audio/wav") };
const words = { type: "input_text", text: "Hello" };
const every: [MediaType, JsonObject[], string][] = [
  ["image-gen", [words], "/v1/images/generations"],
  ["image-edit", [picture, words], "/v1/images/edits"],
  ["audio-stt", [sound], "/v1/audio/transcriptions"],
  ["audio-tts", [words], "/v1/audio/speech"],
];

describe.each(every)("%s", (type, content, path) => {
  test("goes to its endpoint with the upstream's key", async () => {
    const server = await aServer((_request, response) => refuse(response, 400, { message: "no" }));
    await stage([server.url]).failing(type, content);
    expect(server.requests[0]).toMatchObject({
      path,
      headers: { authorization: `Bearer ${key}` },
    });
  });

  test("that is stopped closes the connection at once and says nothing more", async () => {
    const server = await aServer(() => undefined);
    const { tell, rounds, relay } = stage([server.url]);
    const stop = new AbortController();
    const telling = tell(type, content, { signal: stop.signal });
    await until("the request", () => server.requests.length === 1);
    stop.abort();
    const events = await telling;
    expect(events.every((event) => event["type"] === "deltawire.progress")).toBe(true);
    await server.requests[0]?.closed;
    await until("the line", () => rounds.length === 1);
    expect(rounds[0]).toMatchObject({ left: true, failure: undefined, model: "m", for: "task_1" });
    expect(relay.upstreams.get("up")?.health.state).toBe("closed");
  });

  test("never tells a key that a server repeats", async () => {
    const server = await aServer(({ headers }, response) =>
      refuse(response, 400, { message: `bad: ${String(headers.authorization)}`, code: key }),
    );
    const { failing, rounds } = stage([server.url]);
    const error = await failing(type, content);
    const { message, code, cause } = error;
    const told = JSON.stringify([message, code, cause, rounds]) + String(error.stack);
    expect(told).toContain("[redacted]");
    expect(told).not.toContain(key);
  });
});

test("whoever stops listening stops the server as well", async () => {
  const demo = await aDemo({ paceMs: 20 });
  const { tell } = stage([demo.url]);
  const leaving = tell("image-gen", "a house", {
    name: "painter",
    onEvent: ({ type }) => {
      if (type === "response.image_generation_call.partial_image") throw new Error("enough");
    },
  });
  await expect(leaving).rejects.toThrow("enough");
  await until("that the demo is left", () => demo.requests.at(-1)?.state === "left");
});

test("a signal that is aborted already asks nobody", async () => {
  const demo = await aDemo();
  const { tell } = stage([demo.url]);
  expect(await tell("audio-tts", "Hello", { signal: AbortSignal.abort() })).toEqual([]);
  await pause(20);
  expect(demo.requests).toEqual([]);
});

test("a server that is overloaded is asked again, uploads too", async () => {
  const server = await aServer((_request, response) => {
    if (server.requests.length === 1) return refuse(response, 503, { message: "overloaded" });
    response.end('{"text":"Hello"}');
  });
  const { tell, notes } = stage([server.url], { retries: 1 });
  expect(itemsOf(await tell("audio-stt", [sound]))).toMatchObject([
    { content: [{ text: "Hello" }] },
  ]);
  expect(notes).toEqual([{ attempts: 2, upstream: "up" }]);
  const [first, second] = server.requests.map(({ bytes }) => bytes.length);
  expect(first).toBe(second);
});

test("the next upstream is asked where the first cannot", async () => {
  const down = await aServer((_request, response) => refuse(response, 401, { message: "no" }));
  const demo = await aDemo();
  const { tell, notes, rounds } = stage([down.url, demo.url], { retries: 0 });
  const events = await tell("audio-tts", "Hello", { name: "speaker" });
  const said = events.filter(({ type }) => type === "deltawire.progress");
  // A busy machine may be told how long it waits as well.
  const asked = said.flatMap(({ message }) =>
    typeof message === "string" && message.startsWith("asked") ? message : [],
  );
  expect(asked).toEqual(["asked up for speech", "asked up2 for speech"]);
  expect(endOf(events)).toMatchObject({ type: "response.completed" });
  expect(notes).toEqual([{ attempts: 2, upstream: "up2" }]);
  expect(rounds[0]?.record).toMatchObject({ upstream: "up2", upstreamModel: "speaker" });
});

test("a server that keeps failing is left alone, and that can be tried later", async () => {
  const server = await aServer((_request, response) =>
    refuse(response, 500, { message: "broken" }),
  );
  const { failing } = stage([server.url], { retries: 0 });
  for (let at = 0; at < 5; at++) await failing("audio-tts", "Hello");
  const error = await failing("audio-tts", "Hello");
  expect(error).toMatchObject({ code: "upstream_circuit_open", retryable: true });
  // The pause is the gateway's own: no server has asked for a wait.
  expect(error.retryAfterMs).toBeUndefined();
  expect(server.requests).toHaveLength(5);
});

test("a redirect is not followed", async () => {
  const demo = await aDemo();
  const server = await aServer((_request, response) => {
    response.writeHead(307, { location: `${demo.url}/audio/speech` });
    response.end();
  });
  const error = await stage([server.url]).failing("audio-tts", "Hello", { name: "speaker" });
  expect(error).toMatchObject({ code: "upstream_redirect", retryable: false });
  expect(demo.requests).toEqual([]);
});
