import type { IncomingMessage } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { pictureFor } from "@deltawire/demo";
import { fetchPicture } from "../src/media/fetch-picture.ts";
import {
  aDemo,
  answers,
  aServer,
  dataUrl,
  endOf,
  itemsOf,
  key,
  stage,
  typesOf,
} from "./media-stage.ts";
import { beginStream, event, refuse, scriptedUpstream, type Script } from "./scripted-upstream.ts";

const house = pictureFor("a house");
const b64_json = house.toString("base64");
const whole = { type: "image_generation_call", status: "completed", result: b64_json };
const picture = { type: "input_image", image_url: dataUrl(house, "image/png") };
const change = { type: "input_text", text: "greener" };

const answersWhole: Script = (_request, response) => {
  const usage = { input_tokens: 3, output_tokens: 5, total_tokens: 8 };
  response.end(JSON.stringify({ created: 1, data: [{ b64_json }], usage }));
};

describe("a picture of the demo", () => {
  test("is seen while it becomes clearer, and then it is whole", async () => {
    const demo = await aDemo();
    const { tell } = stage([demo.url]);
    const events = await tell("image-gen", "a house", { name: "painter" });
    expect(events[0]).toEqual({ type: "deltawire.progress", message: "asked up for a picture" });
    expect(typesOf(events)).toEqual([
      "output_item.added",
      "image_generation_call.partial_image",
      "image_generation_call.partial_image",
      "output_item.done",
      "completed",
    ]);
    const [added, first, second, done] = answers(events);
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
      ...whole,
      id,
      output_format: "png",
      result: pictureFor("a house0").toString("base64"),
    });
    expect(endOf(events)).toMatchObject({
      type: "response.completed",
      usage: { input_tokens: 2, output_tokens: 272, total_tokens: 274, images: 1 },
    });
  });

  test("is asked for with the parameters in media, and with no others of the request", async () => {
    const demo = await aDemo();
    const media = { size: "64x64", quality: "low", partial_images: 3, background: null };
    const events = await stage([demo.url]).tell("image-gen", "a house", { name: "painter", media });
    expect(demo.requests.at(-1)?.body).toEqual({
      model: "painter",
      prompt: "a house",
      size: "64x64",
      quality: "low",
      stream: true,
      partial_images: 3,
    });
    expect(typesOf(events).filter((type) => type.includes("partial"))).toHaveLength(3);
  });

  test("that are several come whole, each as an item", async () => {
    const demo = await aDemo();
    const { tell } = stage([demo.url]);
    const events = await tell("image-gen", "a house", { name: "painter", media: { n: 3 } });
    expect(itemsOf(events)).toHaveLength(3);
    expect(endOf(events)).toMatchObject({ usage: { images: 3 } });
    expect(demo.requests.at(-1)?.body).not.toHaveProperty("response_format");
  });

  test("is edited as the last message of the user says", async () => {
    const demo = await aDemo();
    const { tell } = stage([demo.url]);
    const events = await tell("image-edit", [picture, change], { name: "retoucher" });
    expect(typesOf(events).filter((type) => type.includes("partial"))).toHaveLength(2);
    const [first] = itemsOf(events);
    const other = { ...picture, image_url: dataUrl(pictureFor("a tree"), "image/png") };
    const [second] = itemsOf(await tell("image-edit", [other, change], { name: "retoucher" }));
    const [both] = itemsOf(
      await tell("image-edit", [picture, other, change], { name: "retoucher" }),
    );
    expect(new Set([first, second, both].map((item) => item?.["result"])).size).toBe(3);
  });

  test("is waited for with words, and how long it has been", async () => {
    const demo = await aDemo({ paceMs: 3 });
    const events = await stage([demo.url]).tell("image-gen", "a house", { name: "painter" });
    const progress = events.filter(({ type }) => type === "deltawire.progress");
    expect(progress.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^the picture is being made: \d+ s$/),
    );
    const fractions = progress.flatMap(({ fraction }) =>
      fraction === undefined ? [] : [fraction],
    );
    expect(fractions.length).toBeGreaterThan(0);
    for (const fraction of fractions) expect([0.33, 0.67]).toContain(fraction);
  });
});

describe("a server that does not stream pictures", () => {
  const strict: (taken: string[]) => Script =
    (taken) =>
    ({ body, ...request }, response) => {
      const param = Object.keys(body).find((name) => !taken.includes(name));
      if (param === undefined) return answersWhole({ body, ...request }, response);
      const message = `Unknown parameter: '${param}'.`;
      refuse(response, 400, { message, param, code: "unknown_parameter" });
    };

  test("is asked again for a whole one, and from then on at once", async () => {
    const server = await aServer(strict(["model", "prompt", "response_format"]));
    const { tell, notes } = stage([server.url]);
    const events = await tell("image-gen", "a house");
    expect(itemsOf(events)).toEqual([{ ...whole, output_format: "png" }]);
    expect(endOf(events)).toMatchObject({ usage: { total_tokens: 8, images: 1 } });
    expect(notes).toEqual([{ attempts: 2, upstream: "up", lessons: ["no_stream"] }]);
    await tell("image-gen", "a house");
    expect(server.requests.map(({ body }) => body)).toEqual([
      { model: "m", prompt: "a house", stream: true, partial_images: 2 },
      { model: "m", prompt: "a house", response_format: "b64_json" },
      { model: "m", prompt: "a house", response_format: "b64_json" },
    ]);
    await tell("image-gen", "a house", { name: "another" });
    expect(server.requests).toHaveLength(5);
  });

  test("may take nothing but the words", async () => {
    const server = await aServer(strict(["model", "prompt"]));
    const { tell } = stage([server.url]);
    expect(itemsOf(await tell("image-gen", "a house"))).toHaveLength(1);
    expect(server.requests.at(-1)?.body).toEqual({ model: "m", prompt: "a house" });
    expect(server.requests).toHaveLength(3);
  });

  test("teaches like any other upstream: what was answered is listed, in redacted words, and can be forgotten", async () => {
    const server = await aServer(({ body, ...request }, response) => {
      if (body["stream"] === undefined) return answersWhole({ body, ...request }, response);
      refuse(response, 400, { message: `stream is not supported for ${key}` });
    });
    const { tell, relay } = stage([server.url]);
    await tell("image-gen", "a house");
    expect(relay.lessons.list()).toEqual([
      {
        upstream: "up",
        model: "m",
        code: "no_stream",
        what: "does not stream: asked for the complete result",
        said: "stream is not supported for [redacted]",
        flags: {},
        media: { endpoint: "image-gen", leftOut: ["stream"] },
        at: expect.any(Number) as number,
      },
    ]);
    // Another endpoint of the same model is asked as usual.
    await tell("image-edit", [picture, change]);
    expect(server.requests.at(-1)?.bytes.toString("latin1")).toContain('name="stream"');
    expect(relay.lessons.forget("up", "m")).toBe(1);
    await tell("image-gen", "a house");
    expect(server.requests.at(-2)?.body).toHaveProperty("stream", true);
  });

  test("teaches nothing for others where the refusal may quote the user", async () => {
    let refused = 0;
    const server = await aServer((request, response) => {
      if (request.body["stream"] === undefined) return answersWhole(request, response);
      refused += 1;
      refuse(response, 400, { message: "not allowed: a mountain stream" });
    });
    const { tell, relay } = stage([server.url]);
    await tell("image-gen", "a mountain stream");
    expect([refused, relay.lessons.list()]).toEqual([1, []]);
  });

  test("may answer whole though it was asked to stream, without saying what it sends", async () => {
    const server = await aServer(answersWhole);
    expect(itemsOf(await stage([server.url]).tell("image-gen", "a house"))).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
  });

  test("keeps a parameter that the user asked for: its refusal is told", async () => {
    const server = await aServer(strict(["model", "prompt", "stream", "partial_images"]));
    const error = await stage([server.url]).failing("image-gen", "a house", {
      media: { response_format: "url" },
    });
    expect(error.message).toContain("Unknown parameter: 'response_format'");
    expect(error).toMatchObject({ code: "unknown_parameter", retryable: false });
  });

  test("is not thought of as one because of a refusal that stays", async () => {
    let refuses = true;
    const server = await aServer((request, response) => {
      if (!refuses) return answersWhole(request, response);
      refuse(response, 400, { message: "a house by the stream is not allowed" });
    });
    const { tell, failing } = stage([server.url]);
    await failing("image-gen", "a house");
    refuses = false;
    await tell("image-gen", "a house");
    expect(server.requests.at(-1)?.body).toHaveProperty("stream", true);
  });
});

describe("a server that answers with addresses", () => {
  const linkTo =
    (url: (server: string) => string): Script =>
    ({ body, ...request }, response) => {
      if (body["response_format"] === "b64_json")
        return answersWhole({ body, ...request }, response);
      const at = url(`http://${request.headers.host}`);
      response.end(JSON.stringify({ data: [{ url: at, revised_prompt: "a big house" }] }));
    };
  const answered: IncomingMessage[] = [];
  /** Has pictures at its own address, as many image servers do. */
  async function pictureServer(url: (server: string) => string, bytes: Buffer = house) {
    answered.length = 0;
    const server = await scriptedUpstream(linkTo(url), {
      listModels: (response) => {
        answered.push(response.req);
        const { url: path = "" } = response.req;
        const to = path === "/loop" ? path : new URLSearchParams(path.split("?")[1]).get("to");
        if (path === "/gone") response.writeHead(404).end();
        else if (to === null) response.end(bytes);
        else response.writeHead(302, { location: to }).end();
      },
    });
    onTestFinished(() => server.close());
    return server;
  }

  test("is followed to its own address, without a key, and the next time the picture is asked for", async () => {
    const server = await pictureServer((at) => `${at}/files/a.png?x=(1)`);
    const { tell } = stage([server.url]);
    const events = await tell("image-gen", "a house");
    expect(itemsOf(events)).toEqual([
      { ...whole, output_format: "png", revised_prompt: "a big house" },
    ]);
    expect(endOf(events)).toMatchObject({ type: "response.completed", usage: { images: 1 } });
    expect(answered.map(({ url }) => url)).toEqual(["/files/a.png?x=(1)"]);
    expect(JSON.stringify(answered.map(({ headers }) => headers))).not.toContain(key);
    await tell("image-gen", "a house", { media: { n: 2 } });
    expect(server.requests.at(-1)?.body).toMatchObject({ response_format: "b64_json" });
  });

  test("may redirect within its own address", async () => {
    const server = await pictureServer((at) => `${at}/a?to=/b`);
    expect(itemsOf(await stage([server.url]).tell("image-gen", "a house"))).toMatchObject([
      { type: "image_generation_call", output_format: "png" },
    ]);
  });

  test("a picture that cannot be fetched is an error that says why, with the address to look at, and is not made again", async () => {
    const elsewhere = await pictureServer(() => "");
    const other = new URL(elsewhere.url).origin;
    const failingWith = async (url: (server: string) => string, bytes?: Buffer) => {
      const server = await pictureServer(url, bytes);
      const { tell } = stage([server.url], { retries: 2 });
      const events = await tell("image-gen", "a house");
      expect(server.requests).toHaveLength(1);
      expect(itemsOf(events)).toMatchObject([
        {
          type: "message",
          content: [{ text: expect.stringContaining("The picture is at <http") }],
        },
      ]);
      const { type, error } = endOf(events) as { type: string; error: { message: string } };
      expect(type).toBe("response.failed");
      return error.message;
    };
    expect(await failingWith(() => `${other}/a.png?secret=1`)).toMatch(
      /answered with an address in place of a picture, and http:\/\/127\.0\.0\.1:\d+\/a\.png could not be fetched: 127\.0\.0\.1:\d+ is not on the open internet/,
    );
    expect(await failingWith((at) => `${at}/a?to=${other}/b.png`)).toContain(
      "is not on the open internet",
    );
    expect(await failingWith(() => "http://169.254.169.254/latest/meta-data")).toContain(
      "is not on the open internet",
    );
    expect(await failingWith((at) => `${at}/loop`)).toContain("more than 5 redirects");
    expect(await failingWith((at) => `${at}/gone`)).toContain("the server answered 404");
    expect(
      await failingWith((at) => `${at}/a`, Buffer.from("<script>alert(1)</script>")),
    ).toContain("not PNG, JPEG, GIF or WebP");
    expect(
      await failingWith((at) => `${at}/a`, Buffer.concat([house, Buffer.alloc(33 * 1024 * 1024)])),
    ).toContain("which is the limit");
  });

  test("one that never answers is given up", async () => {
    const server = await scriptedUpstream(() => undefined, { listModels: () => undefined });
    onTestFinished(() => server.close());
    const { origin } = new URL(server.url);
    const { signal } = new AbortController();
    const limits = { maxBytes: 1000, timeoutMs: 50, signal, upstreamOrigin: origin };
    await expect(fetchPicture(`${origin}/a.png`, limits)).rejects.toThrow(
      "no complete answer within 0.05 s",
    );
  });

  test("may put the picture into the address", async () => {
    const url = dataUrl(house, "image/png");
    const server = await aServer(
      (_request, response) =>
        void response.end(JSON.stringify({ data: [{ url, revised_prompt: "a big house" }] })),
    );
    expect(itemsOf(await stage([server.url]).tell("image-gen", "a house"))).toEqual([
      { ...whole, output_format: "png", revised_prompt: "a big house" },
    ]);
  });
});

describe("a stream of pictures", () => {
  const partial = event({
    type: "image_generation.partial_image",
    b64_json,
    output_format: "webp",
  });
  const completed = event({ type: "image_generation.completed", b64_json });

  test("is over when the picture is whole, though the server keeps the connection", async () => {
    const server = await aServer((_request, response) => {
      beginStream(response);
      response.write(partial + completed);
    });
    const events = await stage([server.url]).tell("image-gen", "a house");
    expect(endOf(events)).toMatchObject({ type: "response.completed", usage: { images: 1 } });
    expect(answers(events)[1]).toMatchObject({ output_format: "png" });
    await server.requests[0]?.closed;
  });

  test("that is cut after a preview ends in response.failed, and is not tried again", async () => {
    const server = await aServer((_request, response) => {
      beginStream(response);
      response.end(partial);
    });
    const { tell, rounds } = stage([server.url], { retries: 2 });
    const events = await tell("image-gen", "a house");
    expect(endOf(events)).toMatchObject({
      type: "response.failed",
      error: { message: "the upstream's reply ended before there was a picture" },
    });
    expect(server.requests).toHaveLength(1);
    expect(rounds[0]?.record.failure).toBeDefined();
  });

  test("that is cut before anything was seen is tried again", async () => {
    const server = await aServer((_request, response) => {
      beginStream(response);
      if (server.requests.length === 1) {
        response.flushHeaders();
        setTimeout(() => response.destroy(), 5);
      } else response.end(completed);
    });
    const { tell, notes } = stage([server.url], { retries: 1 });
    expect(itemsOf(await tell("image-gen", "a house"))).toHaveLength(1);
    expect(notes).toMatchObject([{ attempts: 2 }]);
  });

  test("that is an error is what the error says", async () => {
    const message = "Your request was rejected by the safety system.";
    const server = await aServer((_request, response) => {
      beginStream(response);
      response.end(
        event({ type: "error", error: { code: "moderation_blocked", message, status: 400 } }),
      );
    });
    const error = await stage([server.url]).failing("image-gen", "a house");
    expect(error).toMatchObject({ code: "moderation_blocked", retryable: false });
    expect(error.message).toContain(message);
  });
});

test.each([
  ["image-gen", "", /needs words/],
  ["image-edit", "greener", /needs a picture$/],
  ["image-edit", [picture], /needs words/],
  [
    "image-edit",
    [{ type: "input_image", image_url: "https://pictures.example/a.png" }, change],
    /only linked is not fetched/,
  ],
] as const)("%s of %j is refused before anybody is asked", async (type, content, says) => {
  const server = await aServer(answersWhole);
  const given = typeof content === "string" ? content : [...content];
  const error = await stage([server.url]).failing(type, given);
  expect(error).toMatchObject({ code: "invalid_request", retryable: false });
  expect(error.message).toMatch(says);
  expect(server.begun()).toBe(0);
});
