import { once } from "node:events";
import { connect } from "node:net";
import { crc32, inflateSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "@deltawire/wire";
import { Multipart } from "../src/multipart.ts";
import { quirks } from "../src/quirks.ts";
import { startDemo, type Demo } from "../src/server.ts";
import { says, shell } from "./requests.ts";

let demo: Demo;

beforeAll(async () => {
  demo = await startDemo();
});

afterAll(async () => demo.close());

async function post(path: string, body: string | FormData): Promise<Response> {
  return fetch(`${demo.url}${path}`, { method: "POST", body });
}

async function postJson(path: string, body: unknown): Promise<Response> {
  return post(path, JSON.stringify(body));
}

describe("models and errors", () => {
  test("the models are the quirks, with their windows", async () => {
    const list = (await (await fetch(`${demo.url}/models`)).json()) as { data: JsonObject[] };
    expect(list.data.map(({ id }) => id)).toEqual([...quirks.keys()]);
    expect(list.data.find(({ id }) => id === "clean")).toMatchObject({
      object: "model",
      context_length: 128_000,
    });
    expect(list.data.find(({ id }) => id === "small-context")?.["context_length"]).toBe(8000);
  });

  test("an unknown model is named, and the known ones with it", async () => {
    const response = await postJson("/chat/completions", says("Hello", { model: "gpt" }));
    expect(response.status).toBe(404);
    const { error } = (await response.json()) as { error: JsonObject };
    expect(error).toMatchObject({ code: "model_not_found", param: "model" });
    expect(error["message"]).toMatch(/'gpt'.*clean, stop-with-calls/);
  });

  test.each([
    ["no JSON", "{", /parse the JSON/],
    ["no object", "[]", /request/],
    ["no messages", '{"model":"clean"}', /messages/],
    [
      "a wrong role",
      '{"model":"clean","messages":[{"role":"king","content":""}]}',
      /messages\[0\]\.role/,
    ],
  ])("%s is refused in OpenAI's shape", async (_, body, message) => {
    const response = await post("/chat/completions", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(message), type: "invalid_request_error" },
    });
  });

  test("an unknown path is 404", async () => {
    expect((await fetch(`${demo.url}/nothing`)).status).toBe(404);
  });

  test.each([
    ["announced", "content-length: 40000000", ""],
    ["not announced", "transfer-encoding: chunked", `${(2 ** 25 + 1).toString(16)}\r\n`],
  ])("a body past the limit is 413, %s", async (_, header, opening) => {
    const socket = connect(Number(new URL(demo.url).port), "127.0.0.1");
    try {
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n${opening}`);
      if (opening !== "") socket.write(Buffer.alloc(2 ** 25 + 1, "x"));
      const [answered] = (await once(socket, "data")) as [Buffer];
      expect(answered.toString()).toMatch(/^HTTP\/1\.1 413 [^]*connection: close/i);
    } finally {
      socket.destroy();
    }
  });

  test("no request crashes it", async () => {
    const statuses = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(anyRequest, async (body) => {
        const response = await post("/chat/completions", JSON.stringify(body));
        await response.text().catch(() => "cut on purpose");
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        expect([200, 307, 400, 404, 422, 429, 503]).toContain(response.status);
      }),
      { numRuns: 300, seed: 7 },
    );
    expect(statuses.get(200)).toBeGreaterThan(30);
    expect(statuses.get(400)).toBeGreaterThan(30);
  }, 60_000);
});

const value = fc.jsonValue({ maxDepth: 3 });

/** Usually as it should be, sometimes anything. */
function mostly<T>(usual: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: value });
}

const anyPart = fc.record({
  type: fc.constantFrom("text", "image_url", "file", "input_audio", "other"),
  text: mostly(fc.string()),
  image_url: fc.record({ url: fc.oneof(fc.webUrl(), fc.constant("data:")) }),
  file: fc.dictionary(fc.constantFrom("file_data", "filename"), value),
  input_audio: fc.dictionary(fc.constantFrom("data", "format"), value),
});

const anyWords = fc.oneof(
  fc.string(),
  fc.constantFrom("use every tool", "run `ls` in 3 steps", "ask for help", "create a.txt with `a`"),
);

const anyMessage = fc.record(
  {
    role: fc.constantFrom("user", "assistant", "tool", "system", "function"),
    content: mostly(fc.oneof(anyWords, fc.array(anyPart))),
    tool_call_id: fc.constantFrom("a", "b"),
    name: anyWords,
    tool_calls: mostly(
      fc.array(
        fc.record({
          id: fc.constantFrom("a", "b"),
          function: fc.record({ name: anyWords, arguments: fc.string() }),
        }),
      ),
    ),
  },
  { requiredKeys: ["role", "content", "tool_call_id", "name"] },
);

const anySchema = fc.dictionary(
  fc.constantFrom("type", "properties", "required", "anyOf", "allOf", "$ref", "enum", "items"),
  fc.oneof(value, fc.constantFrom("object", "array", "#", "#/properties/a")),
);

const anyTool = fc.record({
  type: fc.constantFrom("function", "custom", "web_search"),
  function: fc.record({ name: fc.string(), parameters: mostly(anySchema) }),
  custom: fc.record({ name: fc.string() }),
});

const models = [...quirks.keys()].filter((name) => !["hangs", "silent", "slow"].includes(name));

const anyRequest = fc.record(
  {
    model: fc.constantFrom(...models),
    messages: mostly(fc.array(anyMessage)),
    tools: mostly(fc.array(anyTool)),
    tool_choice: mostly(fc.constantFrom("required", "none", "auto")),
    response_format: mostly(
      fc.record({
        type: fc.constantFrom("json_schema", "json_object", "text"),
        json_schema: mostly(fc.record({ name: fc.string(), schema: mostly(anySchema) })),
      }),
    ),
    max_tokens: mostly(fc.integer()),
    n: mostly(fc.integer({ max: 4 })),
    prompt_cache_key: value,
  },
  { requiredKeys: ["model", "messages"] },
);

describe("streams", () => {
  test("chunks come at the pace that was set", async () => {
    const paced = await startDemo({ paceMs: 20 });
    try {
      const body = says("Hello", { stream: true, reasoning_effort: "none", max_tokens: 6 });
      const begun = performance.now();
      await (
        await fetch(`${paced.url}/chat/completions`, { method: "POST", body: JSON.stringify(body) })
      ).text();
      expect(performance.now() - begun).toBeGreaterThan(80);
    } finally {
      await paced.close();
    }
  });

  test.each(["clean", "slow", "hangs", "silent", "keeps-open"])(
    "a client that leaves %s stops it at once",
    async (model) => {
      const own = await startDemo({ paceMs: 5 });
      try {
        const leaving = new AbortController();
        const asking = fetch(`${own.url}/chat/completions`, {
          method: "POST",
          body: JSON.stringify(says("long 500", { model, stream: true })),
          signal: leaving.signal,
        }).then(async (response) => response.text());
        await expect.poll(() => own.requests.at(-1)?.body).toBeDefined();
        expect(own.requests.at(-1)?.state).toBe("open");
        leaving.abort();
        await expect(asking).rejects.toThrow("aborted");
        await expect
          .poll(() => own.requests.at(-1)?.state, { timeout: 5000, interval: 5 })
          .toBe("left");
      } finally {
        await own.close();
      }
    },
  );

  test("close ends open streams at once", async () => {
    const own = await startDemo();
    const response = await fetch(`${own.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify(says("long 500", { model: "slow", stream: true })),
    });
    const begun = performance.now();
    await own.close();
    expect(performance.now() - begun).toBeLessThan(5000);
    await expect(response.text()).rejects.toThrow("terminated");
  });

  test("what was asked can be looked at, up to a bound", async () => {
    const own = await startDemo();
    try {
      for (let at = 0; at < 60; at++)
        await (
          await fetch(`${own.url}/chat/completions`, {
            method: "POST",
            headers: { "x-number": String(at) },
            body: JSON.stringify(says(`Hello ${at}`, { tools: [shell] })),
          })
        ).text();
      expect(own.requests).toHaveLength(50);
      expect(own.requests.at(-1)).toMatchObject({
        method: "POST",
        path: "/v1/chat/completions",
        headers: { "x-number": "59" },
        body: { messages: [{ content: "Hello 59" }] },
        state: "ended",
      });
    } finally {
      await own.close();
    }
  });
});

describe("everything else", () => {
  test("embeddings are the same for the same text, near for a similar one, far for another", async () => {
    const input = ["the cat sat down", "the cat sat", "markets fell sharply"];
    const reply = await (await postJson("/embeddings", { model: "clean", input })).json();
    const [one = [], near = [], far = []] = (reply as { data: { embedding: number[] }[] }).data.map(
      ({ embedding }) => embedding,
    );
    const dot = (a: number[], b: number[]) => a.reduce((sum, x, at) => sum + x * (b[at] ?? 0), 0);
    expect(dot(one, one)).toBeCloseTo(1, 4);
    expect(dot(one, near)).toBeGreaterThan(dot(one, far) + 0.3);
    expect(await (await postJson("/embeddings", { model: "clean", input })).json()).toEqual(reply);
  });

  test("embeddings come in base64 and in other sizes", async () => {
    const body = { model: "clean", input: "a", dimensions: 8, encoding_format: "base64" };
    const { data } = (await (await postJson("/embeddings", body)).json()) as {
      data: { embedding: string }[];
    };
    expect(Buffer.from(data[0]?.embedding ?? "", "base64")).toHaveLength(32);
  });

  test("speech is a WAV file", async () => {
    const response = await postJson("/audio/speech", { model: "clean", input: "Hello" });
    expect(response.headers.get("content-type")).toBe("audio/wav");
    const wav = Buffer.from(await response.arrayBuffer());
    expect(wav.toString("latin1", 0, 4)).toBe("RIFF");
    expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
  });

  test("a generated image is a PNG", async () => {
    const response = await postJson("/images/generations", { model: "clean", prompt: "a", n: 2 });
    const { data } = (await response.json()) as { data: { b64_json: string }[] };
    expect(data).toHaveLength(2);
    const png = Buffer.from(data[0]?.b64_json ?? "", "base64");
    expect(png.toString("latin1", 1, 4)).toBe("PNG");
    const at = png.indexOf("IDAT");
    const pixels = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
    expect(pixels).toHaveLength(64 * (1 + 64 * 3));
  });

  function upload(size: number, more: Record<string, string> = {}): FormData {
    const form = new FormData();
    form.set("model", "clean");
    for (const [name, value] of Object.entries(more)) form.set(name, value);
    form.set("file", new Blob([Buffer.alloc(size, "\r\n--")]), "a.wav");
    return form;
  }

  test("an upload is counted to the byte", async () => {
    const response = await post("/audio/transcriptions", upload(3_000_001));
    expect(await response.json()).toEqual({
      text: "The demo got a.wav with 3000001 bytes. It cannot listen to it.",
    });
    const text = await post("/audio/translations", upload(5, { response_format: "text" }));
    expect(await text.text()).toMatch(/5 bytes/);
  });

  test("an edited image is a picture again", async () => {
    const response = await post("/images/edits", upload(10, { prompt: "greener" }));
    expect(await response.json()).toMatchObject({ data: [{ b64_json: expect.any(String) }] });
  });

  test("an upload without a model, or that is none, is refused", async () => {
    const form = new FormData();
    form.set("file", new Blob(["x"]), "a.wav");
    expect((await post("/audio/transcriptions", form)).status).toBe(404);
    expect((await postJson("/audio/transcriptions", {})).status).toBe(400);
  });

  test("an upload is read the same however it is cut", () => {
    const body = Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nclean\r\n--b\r\n' +
        'content-disposition: form-data; name="empty"; filename="e"\r\n\r\n\r\n--b\r\n' +
        'content-disposition: form-data; name="file"; filename="f"\r\n\r\n12\r\n--3456\r\n--b--\r\n',
    );
    fc.assert(
      fc.property(fc.array(fc.nat(body.length), { maxLength: 20 }), (cuts) => {
        const upload = new Multipart("b");
        const places = [0, ...cuts.toSorted((one, other) => one - other), body.length];
        places.slice(1).forEach((end, at) => upload.push(body.subarray(places[at], end)));
        expect([...upload.fields]).toEqual([["model", "clean"]]);
        expect(upload.files).toEqual([
          { field: "empty", filename: "e", size: 0, checksum: 0, beginning: Buffer.alloc(0) },
          {
            field: "file",
            filename: "f",
            size: 10,
            checksum: crc32("12\r\n--3456"),
            beginning: Buffer.from("12\r\n--3456"),
          },
        ]);
      }),
    );
  });
});
