import type { IncomingMessage } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSampleImage } from "@deltawire/demo";
import { downloadReturnedImage } from "../src/media/download-returned-image.ts";
import {
  startTestDemo,
  withoutProgress,
  startTestUpstream,
  encodeDataUrl,
  getFinalEvent,
  listOutputItems,
  upstreamKey,
  mediaFixture,
  listMediaEventTypes,
} from "./media-fixture.ts";
import {
  beginStream,
  formatEvent,
  sendError,
  scriptedUpstream,
  type UpstreamScript,
} from "./scripted-upstream.ts";

const house = createSampleImage("a house");
const b64_json = house.toString("base64");
const completeImage = { type: "image_generation_call", status: "completed", result: b64_json };
const image = { type: "input_image", image_url: encodeDataUrl(house, "image/png") };
const change = { type: "input_text", text: "greener" };

const sendCompleteReply: UpstreamScript = (_request, response) => {
  const usage = { input_tokens: 3, output_tokens: 5, total_tokens: 8 };
  response.end(JSON.stringify({ created: 1, data: [{ b64_json }], usage }));
};

describe("an image of the demo", () => {
  test("is streamed with previews until it is complete", async () => {
    const demo = await startTestDemo();
    const { runModel } = mediaFixture([demo.url]);
    const events = await runModel("image-gen", "a house", { name: "painter" });
    expect(events[0]).toEqual({
      type: "deltawire.progress",
      message: "requested an image from up",
    });
    expect(listMediaEventTypes(events)).toEqual([
      "output_item.added",
      "image_generation_call.partial_image",
      "image_generation_call.partial_image",
      "output_item.done",
      "completed",
    ]);
    const [added, first, second, done] = withoutProgress(events);
    const opened = added?.["item"] as JsonObject | undefined;
    const id = opened?.["id"];
    expect(opened).toEqual({
      type: "image_generation_call",
      id,
      status: "in_progress",
      result: null,
    });
    expect(first).toMatchObject({ item_id: id, partial_image_index: 0, output_format: "png" });
    expect(second).toMatchObject({ item_id: id, partial_image_index: 1 });
    expect(first?.["partial_image_b64"]).not.toBe(second?.["partial_image_b64"]);
    expect(done?.["item"]).toEqual({
      ...completeImage,
      id,
      output_format: "png",
      result: createSampleImage("a house0").toString("base64"),
    });
    expect(getFinalEvent(events)).toMatchObject({
      type: "response.completed",
      usage: { input_tokens: 2, output_tokens: 272, total_tokens: 274, images: 1 },
    });
  });

  test("is requested with the parameters in media only", async () => {
    const demo = await startTestDemo();
    const media = { size: "64x64", quality: "low", partial_images: 3, background: null };
    const events = await mediaFixture([demo.url]).runModel("image-gen", "a house", {
      name: "painter",
      media,
    });
    expect(demo.requests.at(-1)?.body).toEqual({
      model: "painter",
      prompt: "a house",
      size: "64x64",
      quality: "low",
      stream: true,
      partial_images: 3,
    });
    expect(listMediaEventTypes(events).filter((type) => type.includes("partial"))).toHaveLength(3);
  });

  test("requested several times at once is one item each", async () => {
    const demo = await startTestDemo();
    const { runModel } = mediaFixture([demo.url]);
    const events = await runModel("image-gen", "a house", { name: "painter", media: { n: 3 } });
    expect(listOutputItems(events)).toHaveLength(3);
    expect(getFinalEvent(events)).toMatchObject({ usage: { images: 3 } });
    expect(demo.requests.at(-1)?.body).not.toHaveProperty("response_format");
  });

  test("is edited according to the last user message", async () => {
    const demo = await startTestDemo();
    const { runModel } = mediaFixture([demo.url]);
    const events = await runModel("image-edit", [image, change], { name: "retoucher" });
    expect(listMediaEventTypes(events).filter((type) => type.includes("partial"))).toHaveLength(2);
    const [first] = listOutputItems(events);
    const other = {
      ...image,
      image_url: encodeDataUrl(createSampleImage("a tree"), "image/png"),
    };
    const [second] = listOutputItems(
      await runModel("image-edit", [other, change], { name: "retoucher" }),
    );
    const [both] = listOutputItems(
      await runModel("image-edit", [image, other, change], { name: "retoucher" }),
    );
    expect(new Set([first, second, both].map((item) => item?.["result"])).size).toBe(3);
  });

  test("reports progress with the elapsed time", async () => {
    const demo = await startTestDemo({ paceMs: 3 });
    const events = await mediaFixture([demo.url]).runModel("image-gen", "a house", {
      name: "painter",
    });
    const progress = events.filter(({ type }) => type === "deltawire.progress");
    expect(progress.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^generating the image: \d+ s$/),
    );
    const fractions = progress.flatMap(({ fraction }) =>
      fraction === undefined ? [] : [fraction],
    );
    expect(fractions.length).toBeGreaterThan(0);
    for (const fraction of fractions) expect([0.33, 0.67]).toContain(fraction);
  });
});

describe("a server that does not stream images", () => {
  const strict: (accepted: string[]) => UpstreamScript =
    (accepted) =>
    ({ body, ...request }, response) => {
      const param = Object.keys(body).find((name) => !accepted.includes(name));
      if (param === undefined) return sendCompleteReply({ body, ...request }, response);
      const message = `Unknown parameter: '${param}'.`;
      sendError(response, 400, { message, param, code: "unknown_parameter" });
    };

  test("receives a second request without streaming; later requests do not stream from the start", async () => {
    const server = await startTestUpstream(strict(["model", "prompt", "response_format"]));
    const { runModel, notes } = mediaFixture([server.url]);
    const events = await runModel("image-gen", "a house");
    expect(listOutputItems(events)).toEqual([{ ...completeImage, output_format: "png" }]);
    expect(getFinalEvent(events)).toMatchObject({ usage: { total_tokens: 8, images: 1 } });
    expect(notes).toEqual([{ attempts: 2, upstream: "up", lessons: ["no_stream"] }]);
    await runModel("image-gen", "a house");
    expect(server.requests.map(({ body }) => body)).toEqual([
      { model: "m", prompt: "a house", stream: true, partial_images: 2 },
      { model: "m", prompt: "a house", response_format: "b64_json" },
      { model: "m", prompt: "a house", response_format: "b64_json" },
    ]);
    await runModel("image-gen", "a house", { name: "another" });
    expect(server.requests).toHaveLength(5);
  });

  test("receives only the prompt if it rejects all other parameters", async () => {
    const server = await startTestUpstream(strict(["model", "prompt"]));
    const { runModel } = mediaFixture([server.url]);
    expect(listOutputItems(await runModel("image-gen", "a house"))).toHaveLength(1);
    expect(server.requests.at(-1)?.body).toEqual({ model: "m", prompt: "a house" });
    expect(server.requests).toHaveLength(3);
  });

  test("teaches a lesson that is listed, redacted, and can be deleted", async () => {
    const server = await startTestUpstream(({ body, ...request }, response) => {
      if (body["stream"] === undefined) return sendCompleteReply({ body, ...request }, response);
      sendError(response, 400, { message: `stream is not supported for ${upstreamKey}` });
    });
    const { runModel, relay } = mediaFixture([server.url]);
    await runModel("image-gen", "a house");
    expect(relay.lessons.list()).toEqual([
      {
        upstream: "up",
        model: "m",
        code: "no_stream",
        description: "does not support streaming; the complete result is requested",
        provider_message: "stream is not supported for [redacted]",
        flags: {},
        media: { modelType: "image-gen", droppedParameters: ["stream"] },
        at: expect.any(Number) as number,
      },
    ]);
    // Another endpoint of the same model is used as usual.
    await runModel("image-edit", [image, change]);
    expect(server.requests.at(-1)?.bytes.toString("latin1")).toContain('name="stream"');
    expect(relay.lessons.forget("up", "m")).toBe(1);
    await runModel("image-gen", "a house");
    expect(server.requests.at(-2)?.body).toHaveProperty("stream", true);
  });

  test("teaches no lasting lesson if the error may quote the user", async () => {
    let rejected = 0;
    const server = await startTestUpstream((request, response) => {
      if (request.body["stream"] === undefined) return sendCompleteReply(request, response);
      rejected += 1;
      sendError(response, 400, { message: "not allowed: a mountain stream" });
    });
    const { runModel, relay } = mediaFixture([server.url]);
    await runModel("image-gen", "a mountain stream");
    expect([rejected, relay.lessons.list()]).toEqual([1, []]);
  });

  test("can send a complete reply to a streaming request, without content type", async () => {
    const server = await startTestUpstream(sendCompleteReply);
    expect(
      listOutputItems(await mediaFixture([server.url]).runModel("image-gen", "a house")),
    ).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
  });

  test("reports the rejection of a parameter that the user has set", async () => {
    const server = await startTestUpstream(strict(["model", "prompt", "stream", "partial_images"]));
    const error = await mediaFixture([server.url]).runFailingModel("image-gen", "a house", {
      media: { response_format: "url" },
    });
    expect(error.message).toContain("Unknown parameter: 'response_format'");
    expect(error).toMatchObject({ code: "unknown_parameter", retryable: false });
  });

  test("is not assumed if the error also occurs without streaming", async () => {
    let rejects = true;
    const server = await startTestUpstream((request, response) => {
      if (!rejects) return sendCompleteReply(request, response);
      sendError(response, 400, { message: "a house by the stream is not allowed" });
    });
    const { runModel, runFailingModel } = mediaFixture([server.url]);
    await runFailingModel("image-gen", "a house");
    rejects = false;
    await runModel("image-gen", "a house");
    expect(server.requests.at(-1)?.body).toHaveProperty("stream", true);
  });
});

describe("a server that returns links", () => {
  const linkTo =
    (url: (server: string) => string): UpstreamScript =>
    ({ body, ...request }, response) => {
      if (body["response_format"] === "b64_json")
        return sendCompleteReply({ body, ...request }, response);
      const at = url(`http://${request.headers.host}`);
      response.end(JSON.stringify({ data: [{ url: at, revised_prompt: "a big house" }] }));
    };
  const imageRequests: IncomingMessage[] = [];
  /** Serves images at its own URL, as many image servers do. */
  async function startImageServer(url: (server: string) => string, bytes: Buffer = house) {
    imageRequests.length = 0;
    const server = await scriptedUpstream(linkTo(url), {
      listModels: (response) => {
        imageRequests.push(response.req);
        const { url: path = "" } = response.req;
        const to = path === "/loop" ? path : new URLSearchParams(path.split("?")[1]).get("to");
        if (path === "/missing") response.writeHead(404).end();
        else if (to === null) response.end(bytes);
        else response.writeHead(302, { location: to }).end();
      },
    });
    onTestFinished(() => server.close());
    return server;
  }

  test("gets requests for its own links without a key, and is asked for image data the next time", async () => {
    const server = await startImageServer((at) => `${at}/files/a.png?x=(1)`);
    const { runModel } = mediaFixture([server.url]);
    const events = await runModel("image-gen", "a house");
    expect(listOutputItems(events)).toEqual([
      { ...completeImage, output_format: "png", revised_prompt: "a big house" },
    ]);
    expect(getFinalEvent(events)).toMatchObject({
      type: "response.completed",
      usage: { images: 1 },
    });
    expect(imageRequests.map(({ url }) => url)).toEqual(["/files/a.png?x=(1)"]);
    expect(JSON.stringify(imageRequests.map(({ headers }) => headers))).not.toContain(upstreamKey);
    await runModel("image-gen", "a house", { media: { n: 2 } });
    expect(server.requests.at(-1)?.body).toMatchObject({ response_format: "b64_json" });
  });

  test("can redirect within its own origin", async () => {
    const server = await startImageServer((at) => `${at}/a?to=/b`);
    expect(
      listOutputItems(await mediaFixture([server.url]).runModel("image-gen", "a house")),
    ).toMatchObject([{ type: "image_generation_call", output_format: "png" }]);
  });

  test("causes an error with the reason and the link if an image cannot be fetched, which is not generated again", async () => {
    const otherServer = await startImageServer(() => "");
    const other = new URL(otherServer.url).origin;
    const fetchFailure = async (url: (server: string) => string, bytes?: Buffer) => {
      const server = await startImageServer(url, bytes);
      const { runModel } = mediaFixture([server.url], { retries: 2 });
      const events = await runModel("image-gen", "a house");
      expect(server.requests).toHaveLength(1);
      expect(listOutputItems(events)).toMatchObject([
        {
          type: "message",
          content: [{ text: expect.stringContaining("The image is at <http") }],
        },
      ]);
      const { type, error } = getFinalEvent(events) as { type: string; error: { message: string } };
      expect(type).toBe("response.failed");
      return error.message;
    };
    expect(await fetchFailure(() => `${other}/a.png?secret=1`)).toMatch(
      /returned a link instead of image data, and http:\/\/127\.0\.0\.1:\d+\/a\.png could not be fetched: 127\.0\.0\.1:\d+ is not on the public internet/,
    );
    expect(await fetchFailure((at) => `${at}/a?to=${other}/b.png`)).toContain(
      "is not on the public internet",
    );
    expect(await fetchFailure(() => "http://169.254.169.254/latest/meta-data")).toContain(
      "is not on the public internet",
    );
    expect(await fetchFailure((at) => `${at}/loop`)).toContain("more than 5 redirects");
    expect(await fetchFailure((at) => `${at}/missing`)).toContain("the server answered 404");
    expect(
      await fetchFailure((at) => `${at}/a`, Buffer.from("<script>alert(1)</script>")),
    ).toContain("must be PNG, JPEG, GIF or WebP, got");
    expect(
      await fetchFailure((at) => `${at}/a`, Buffer.concat([house, Buffer.alloc(33 * 1024 * 1024)])),
    ).toContain("is larger than the limit of");
  });

  test("causes an error if a link does not respond in time", async () => {
    const server = await scriptedUpstream(() => undefined, { listModels: () => undefined });
    onTestFinished(() => server.close());
    const { origin } = new URL(server.url);
    const { signal } = new AbortController();
    const limits = { maxBytes: 1000, timeoutMs: 50, signal, upstreamOrigin: origin };
    await expect(downloadReturnedImage(`${origin}/a.png`, limits)).rejects.toThrow(
      "no complete answer within 0.05 s",
    );
  });

  test("can return a data: URL", async () => {
    const url = encodeDataUrl(house, "image/png");
    const server = await startTestUpstream(
      (_request, response) =>
        void response.end(JSON.stringify({ data: [{ url, revised_prompt: "a big house" }] })),
    );
    expect(
      listOutputItems(await mediaFixture([server.url]).runModel("image-gen", "a house")),
    ).toEqual([{ ...completeImage, output_format: "png", revised_prompt: "a big house" }]);
  });
});

describe("a stream of images", () => {
  const partial = formatEvent({
    type: "image_generation.partial_image",
    b64_json,
    output_format: "webp",
  });
  const completed = formatEvent({ type: "image_generation.completed", b64_json });

  test("ends when the image is complete, even if the connection stays open", async () => {
    const server = await startTestUpstream((_request, response) => {
      beginStream(response);
      response.write(partial + completed);
    });
    const events = await mediaFixture([server.url]).runModel("image-gen", "a house");
    expect(getFinalEvent(events)).toMatchObject({
      type: "response.completed",
      usage: { images: 1 },
    });
    expect(withoutProgress(events)[1]).toMatchObject({ output_format: "png" });
    await server.requests[0]?.closed;
  });

  test("that is truncated after a preview ends with response.failed, without a retry", async () => {
    const server = await startTestUpstream((_request, response) => {
      beginStream(response);
      response.end(partial);
    });
    const { runModel, rounds } = mediaFixture([server.url], { retries: 2 });
    const events = await runModel("image-gen", "a house");
    expect(getFinalEvent(events)).toMatchObject({
      type: "response.failed",
      error: { message: "the upstream's reply ended before an image was complete" },
    });
    expect(server.requests).toHaveLength(1);
    expect(rounds[0]?.record.failure).toBeDefined();
  });

  test("that is truncated before a preview is retried", async () => {
    const server = await startTestUpstream((_request, response) => {
      beginStream(response);
      if (server.requests.length === 1) {
        response.flushHeaders();
        setTimeout(() => response.destroy(), 5);
      } else response.end(completed);
    });
    const { runModel, notes } = mediaFixture([server.url], { retries: 1 });
    expect(listOutputItems(await runModel("image-gen", "a house"))).toHaveLength(1);
    expect(notes).toMatchObject([{ attempts: 2 }]);
  });

  test("with an error fails with its message", async () => {
    const message = "Your request was rejected by the safety system.";
    const server = await startTestUpstream((_request, response) => {
      beginStream(response);
      response.end(
        formatEvent({ type: "error", error: { code: "moderation_blocked", message, status: 400 } }),
      );
    });
    const error = await mediaFixture([server.url]).runFailingModel("image-gen", "a house");
    expect(error).toMatchObject({ code: "moderation_blocked", retryable: false });
    expect(error.message).toContain(message);
  });
});

test.each([
  ["image-gen", "", /describe the image/],
  ["image-edit", "greener", /attach an image to edit$/],
  ["image-edit", [image], /describe what to change/],
  [
    "image-edit",
    [{ type: "input_image", image_url: "https://pictures.example/a.png" }, change],
    /links are not fetched/,
  ],
] as const)("%s of %j is rejected before any request is sent", async (type, content, message) => {
  const server = await startTestUpstream(sendCompleteReply);
  const input = typeof content === "string" ? content : [...content];
  const error = await mediaFixture([server.url]).runFailingModel(type, input);
  expect(error).toMatchObject({ code: "invalid_request", retryable: false });
  expect(error.message).toMatch(message);
  expect(server.startedCount()).toBe(0);
});
