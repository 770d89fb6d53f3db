import { asText, type JsonObject } from "@deltawire/wire";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pictureFor, toneFor, wordsIn } from "../src/media.ts";
import { startDemo, type Demo } from "../src/server.ts";
import { said } from "./requests.ts";

let demo: Demo;

beforeAll(async () => {
  demo = await startDemo();
});

afterAll(async () => demo.close());

function post(path: string, body: FormData | JsonObject): Promise<Response> {
  const sent = body instanceof FormData ? body : JSON.stringify(body);
  return fetch(`${demo.url}${path}`, { method: "POST", body: sent });
}

function form(fields: Record<string, string | Buffer>): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (typeof value === "string") made.set(name, value);
    else made.set(name, new Blob([new Uint8Array(value)]), `${name}.bin`);
  return made;
}

/** The data of every server-sent event of a reply. */
async function eventsOf(response: Response): Promise<JsonObject[]> {
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as JsonObject);
}

async function refusalOf(answered: Promise<Response>): Promise<JsonObject> {
  const response = await answered;
  const { error } = (await response.json()) as { error: JsonObject };
  return { status: response.status, ...error };
}

describe("the models that do not chat", () => {
  const makers = ["painter", "retoucher", "listener", "speaker"];

  test("are listed as what they are", async () => {
    const { data } = (await (await fetch(`${demo.url}/models`)).json()) as { data: JsonObject[] };
    const types = makers.map((name) => data.find(({ id }) => id === name)?.["type"]);
    expect(types).toEqual(["image", "image", "audio", "audio"]);
  });

  test.each(makers)("%s says that it is none to chat with", async (model) => {
    const messages = [{ role: "user", content: "Hello" }];
    expect(await refusalOf(post("/chat/completions", { model, messages }))).toMatchObject({
      status: 404,
      param: "model",
      message: expect.stringContaining("not a chat model") as string,
    });
  });
});

describe("pictures", () => {
  const drawing = { model: "painter", prompt: "a house", stream: true };

  test("become clearer in a stream, and the last one is the whole one", async () => {
    const response = await post("/images/generations", { ...drawing, partial_images: 3 });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const events = await eventsOf(response);
    expect(events.map(({ type, partial_image_index: at }) => [type, at])).toEqual([
      ["image_generation.partial_image", 0],
      ["image_generation.partial_image", 1],
      ["image_generation.partial_image", 2],
      ["image_generation.completed", undefined],
    ]);
    const pictures = events.map(({ b64_json }) => b64_json);
    expect(new Set(pictures).size).toBe(4);
    expect(pictures.at(-1)).toBe(pictureFor("a house0").toString("base64"));
    expect(events.at(-1)?.["usage"]).toMatchObject({ output_tokens: 272 });
  });

  test("take their time where a pace is set", async () => {
    const paced = await startDemo({ paceMs: 2 });
    try {
      const begun = performance.now();
      const body = JSON.stringify({ ...drawing, partial_images: 1 });
      await (await fetch(`${paced.url}/images/generations`, { method: "POST", body })).text();
      expect(performance.now() - begun).toBeGreaterThan(100);
    } finally {
      await paced.close();
    }
  });

  test.each([
    [{ partial_images: 4 }, "partial_images"],
    [{ n: 2 }, "n"],
  ])("are not streamed with %j", async (more, param) => {
    expect(await refusalOf(post("/images/generations", { ...drawing, ...more }))).toMatchObject({
      status: 400,
      param,
    });
  });

  test("that are edited depend on the picture, the words and nothing else", async () => {
    const edited = async (image: string, prompt: string): Promise<unknown> => {
      const fields = { model: "retoucher", prompt, "image[]": Buffer.from(image) };
      return ((await (await post("/images/edits", form(fields))).json()) as JsonObject)["data"];
    };
    const first = await edited("one", "greener");
    expect(await edited("one", "greener")).toEqual(first);
    expect(await edited("two", "greener")).not.toEqual(first);
    expect(await edited("one", "bluer")).not.toEqual(first);
  });

  test("cannot be edited where there is none", async () => {
    const fields = { model: "retoucher", prompt: "greener", mask: Buffer.from("x") };
    expect(await refusalOf(post("/images/edits", form(fields)))).toMatchObject({
      status: 400,
      param: "image",
    });
  });
});

describe("sounds", () => {
  test("carry any words, and stay whole WAV files", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), (text) => {
        const words = text.replaceAll("\0", "");
        const wav = toneFor(words);
        expect(wordsIn(wav)).toBe(words);
        expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
      }),
      { numRuns: 50 },
    );
  });

  test("that are cut or none at all have no words, and break nothing", () => {
    const wav = toneFor("Hello");
    fc.assert(
      fc.property(fc.nat(wav.length), fc.uint8Array({ maxLength: 40 }), (end, noise) => {
        const found = wordsIn(wav.subarray(0, end));
        expect(found === undefined || "Hello".startsWith(found)).toBe(true);
        wordsIn(Buffer.concat([Buffer.from("RIFF0000WAVE"), noise]));
      }),
    );
  });

  test("of the speaker are what the listener writes down, word by word", async () => {
    const input = "Grüße, 你好  and  good bye.\n";
    const wav = await (await post("/audio/speech", { model: "speaker", input })).arrayBuffer();
    const file = Buffer.from(wav);
    const heard = await post("/audio/transcriptions", form({ model: "listener", file }));
    expect(await heard.json()).toEqual({ text: input });
    const events = await eventsOf(
      await post("/audio/transcriptions", form({ model: "listener", file, stream: "true" })),
    );
    const deltas = events.filter(({ type }) => type === "transcript.text.delta");
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.map(({ delta }) => asText(delta)).join("")).toBe(input);
    expect(events.at(-1)).toMatchObject({ type: "transcript.text.done", text: input });
  });

  test("are refused for words that are too many", async () => {
    const body = { model: "speaker", input: "x".repeat(4097) };
    expect(await refusalOf(post("/audio/speech", body))).toMatchObject({ status: 400 });
  });
});

describe("a title", () => {
  const system = (content: string) => ({ role: "system" as const, content });
  const asks = system("Write a title for this conversation, in a few words.");

  test("is the user's first words where the instructions ask for one", () => {
    const messages = [
      asks,
      { role: "user" as const, content: "How do I bake bread without any yeast at home?" },
      { role: "assistant" as const, content: "Slowly." },
      { role: "user" as const, content: "Thanks" },
    ];
    expect(said("", { messages })).toBe("How do I bake bread without");
  });

  test("comes of a conversation that is told in one message too", () => {
    const content = "<user>\nShow me a table!\n</user>\n<assistant>\nHere it is\n</assistant>";
    expect(said("", { messages: [asks, { role: "user", content }] })).toBe("Show me a table");
  });

  test("is not answered to other instructions", () => {
    const messages = [system("You are helpful."), { role: "user" as const, content: "Hello" }];
    expect(said("", { messages })).toContain("You said");
  });
});
