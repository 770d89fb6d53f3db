import { asString, type JsonObject } from "@deltawire/wire";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSampleImage, createSampleAudio, readAudioComment } from "../src/sample-media.ts";
import { startDemoServer, type DemoServer } from "../src/server.ts";
import { generateText } from "./requests.ts";

let demo: DemoServer;

beforeAll(async () => {
  demo = await startDemoServer();
});

afterAll(async () => demo.close());

function post(path: string, body: FormData | JsonObject): Promise<Response> {
  const requestBody = body instanceof FormData ? body : JSON.stringify(body);
  return fetch(`${demo.url}${path}`, { method: "POST", body: requestBody });
}

function createForm(fields: Record<string, string | Buffer>): FormData {
  const formData = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (typeof value === "string") formData.set(name, value);
    else formData.set(name, new Blob([new Uint8Array(value)]), `${name}.bin`);
  return formData;
}

/** Returns the data of all server-sent events of a reply. */
async function readEvents(response: Response): Promise<JsonObject[]> {
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as JsonObject);
}

async function readRejection(request: Promise<Response>): Promise<JsonObject> {
  const response = await request;
  const { error } = (await response.json()) as { error: JsonObject };
  return { status: response.status, ...error };
}

describe("models that do not chat", () => {
  const mediaModels = ["painter", "retoucher", "listener", "speaker"];

  test("are listed with their type", async () => {
    const { data } = (await (await fetch(`${demo.url}/models`)).json()) as { data: JsonObject[] };
    const types = mediaModels.map((name) => data.find(({ id }) => id === name)?.["type"]);
    expect(types).toEqual(["image", "image", "audio", "audio"]);
  });

  test.each(mediaModels)("%s rejects chat requests", async (model) => {
    const messages = [{ role: "user", content: "Hello" }];
    expect(await readRejection(post("/chat/completions", { model, messages }))).toMatchObject({
      status: 404,
      param: "model",
      message: expect.stringContaining("not a chat model") as string,
    });
  });
});

describe("images", () => {
  const imageRequest = { model: "painter", prompt: "a house", stream: true };

  test("are streamed with previews, the last one complete", async () => {
    const response = await post("/images/generations", { ...imageRequest, partial_images: 3 });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const events = await readEvents(response);
    expect(events.map(({ type, partial_image_index: at }) => [type, at])).toEqual([
      ["image_generation.partial_image", 0],
      ["image_generation.partial_image", 1],
      ["image_generation.partial_image", 2],
      ["image_generation.completed", undefined],
    ]);
    const images = events.map(({ b64_json }) => b64_json);
    expect(new Set(images).size).toBe(4);
    expect(images.at(-1)).toBe(createSampleImage("a house0").toString("base64"));
    expect(events.at(-1)?.["usage"]).toMatchObject({ output_tokens: 272 });
  });

  test("are generated more slowly if a pace is set", async () => {
    const pacedServer = await startDemoServer({ paceMs: 2 });
    try {
      const startTime = performance.now();
      const body = JSON.stringify({ ...imageRequest, partial_images: 1 });
      await (await fetch(`${pacedServer.url}/images/generations`, { method: "POST", body })).text();
      expect(performance.now() - startTime).toBeGreaterThan(100);
    } finally {
      await pacedServer.close();
    }
  });

  test.each([
    [{ partial_images: 4 }, "partial_images"],
    [{ n: 2 }, "n"],
  ])("cannot be streamed with %j", async (more, param) => {
    expect(
      await readRejection(post("/images/generations", { ...imageRequest, ...more })),
    ).toMatchObject({
      status: 400,
      param,
    });
  });

  test("that are edited depend on the input image and the prompt", async () => {
    const editImage = async (image: string, prompt: string): Promise<unknown> => {
      const fields = { model: "retoucher", prompt, "image[]": Buffer.from(image) };
      return ((await (await post("/images/edits", createForm(fields))).json()) as JsonObject)[
        "data"
      ];
    };
    const first = await editImage("one", "greener");
    expect(await editImage("one", "greener")).toEqual(first);
    expect(await editImage("two", "greener")).not.toEqual(first);
    expect(await editImage("one", "bluer")).not.toEqual(first);
  });

  test("cannot be edited without an input image", async () => {
    const fields = { model: "retoucher", prompt: "greener", mask: Buffer.from("x") };
    expect(await readRejection(post("/images/edits", createForm(fields)))).toMatchObject({
      status: 400,
      param: "image",
    });
  });
});

describe("audio of the demo", () => {
  test("is a valid WAV file that contains the text, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), (text) => {
        const words = text.replaceAll("\0", "");
        const wav = createSampleAudio(words);
        expect(readAudioComment(wav)).toBe(words);
        expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
      }),
      { numRuns: 50 },
    );
  });

  test("that is truncated or invalid is read without an error", () => {
    const wav = createSampleAudio("Hello");
    fc.assert(
      fc.property(fc.nat(wav.length), fc.uint8Array({ maxLength: 40 }), (end, noise) => {
        const found = readAudioComment(wav.subarray(0, end));
        expect(found === undefined || "Hello".startsWith(found)).toBe(true);
        readAudioComment(Buffer.concat([Buffer.from("RIFF0000WAVE"), noise]));
      }),
    );
  });

  test("of the speaker is transcribed by the listener", async () => {
    const input = "Grüße, 你好  and  good bye.\n";
    const wav = await (await post("/audio/speech", { model: "speaker", input })).arrayBuffer();
    const file = Buffer.from(wav);
    const response = await post("/audio/transcriptions", createForm({ model: "listener", file }));
    expect(await response.json()).toEqual({ text: input });
    const events = await readEvents(
      await post("/audio/transcriptions", createForm({ model: "listener", file, stream: "true" })),
    );
    const deltas = events.filter(({ type }) => type === "transcript.text.delta");
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.map(({ delta }) => asString(delta)).join("")).toBe(input);
    expect(events.at(-1)).toMatchObject({ type: "transcript.text.done", text: input });
  });

  test("is not generated if the text is too long", async () => {
    const body = { model: "speaker", input: "x".repeat(4097) };
    expect(await readRejection(post("/audio/speech", body))).toMatchObject({ status: 400 });
  });
});

describe("a title", () => {
  const system = (content: string) => ({ role: "system" as const, content });
  const titleInstructions = system("Write a title for this conversation, in a few words.");

  test("is the start of the first prompt if the instructions request a title", () => {
    const messages = [
      titleInstructions,
      { role: "user" as const, content: "How do I bake bread without any yeast at home?" },
      { role: "assistant" as const, content: "Slowly." },
      { role: "user" as const, content: "Thanks" },
    ];
    expect(generateText("", { messages })).toBe("How do I bake bread without");
  });

  test("is generated for a conversation within one message", () => {
    const content = "<user>\nShow me a table!\n</user>\n<assistant>\nHere it is\n</assistant>";
    expect(generateText("", { messages: [titleInstructions, { role: "user", content }] })).toBe(
      "Show me a table",
    );
  });

  test("is not generated for other instructions", () => {
    const messages = [system("You are helpful."), { role: "user" as const, content: "Hello" }];
    expect(generateText("", { messages })).toContain("You said");
  });
});
