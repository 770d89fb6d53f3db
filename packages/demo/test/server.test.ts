import { once } from "node:events";
import { connect } from "node:net";
import { crc32, inflateSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "@deltawire/wire";
import { MultipartParser } from "../src/multipart-parser.ts";
import { demoModels } from "../src/quirks.ts";
import { startDemoServer, type DemoServer } from "../src/server.ts";
import { buildRequest, shell } from "./requests.ts";

let demo: DemoServer;

beforeAll(async () => {
  demo = await startDemoServer();
});

afterAll(async () => demo.close());

async function post(path: string, body: string | FormData): Promise<Response> {
  return fetch(`${demo.url}${path}`, { method: "POST", body });
}

async function postJson(path: string, body: unknown): Promise<Response> {
  return post(path, JSON.stringify(body));
}

describe("the demo server", () => {
  test("lists its models with their context windows", async () => {
    const list = (await (await fetch(`${demo.url}/models`)).json()) as { data: JsonObject[] };
    expect(list.data.map(({ id }) => id)).toEqual([...demoModels.keys()]);
    expect(list.data.find(({ id }) => id === "clean")).toMatchObject({
      object: "model",
      context_length: 128_000,
    });
    expect(list.data.find(({ id }) => id === "small-context")?.["context_length"]).toBe(8000);
  });

  test("rejects an unknown model with a list of its models", async () => {
    const response = await postJson("/chat/completions", buildRequest("Hello", { model: "gpt" }));
    expect(response.status).toBe(404);
    const { error } = (await response.json()) as { error: JsonObject };
    expect(error).toMatchObject({ code: "model_not_found", param: "model" });
    expect(error["message"]).toMatch(/'gpt'.*clean, stop-with-calls/);
  });

  test.each([
    ["invalid JSON", "{", /parse the JSON/],
    ["an array", "[]", /request/],
    ["no messages", '{"model":"clean"}', /messages/],
    [
      "a wrong role",
      '{"model":"clean","messages":[{"role":"king","content":""}]}',
      /messages\[0\]\.role/,
    ],
  ])("rejects %s in OpenAI's error format", async (_, body, message) => {
    const response = await post("/chat/completions", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(message), type: "invalid_request_error" },
    });
  });

  test("responds with 404 to an unknown path", async () => {
    expect((await fetch(`${demo.url}/nothing`)).status).toBe(404);
  });

  test.each([
    ["announced", "content-length: 40000000", ""],
    ["not announced", "transfer-encoding: chunked", `${(2 ** 25 + 1).toString(16)}\r\n`],
  ])(
    "responds with 413 to a body over the limit whose length is %s",
    async (_, header, opening) => {
      const socket = connect(Number(new URL(demo.url).port), "127.0.0.1");
      try {
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n${opening}`,
        );
        if (opening !== "") socket.write(Buffer.alloc(2 ** 25 + 1, "x"));
        const [answered] = (await once(socket, "data")) as [Buffer];
        expect(answered.toString()).toMatch(/^HTTP\/1\.1 413 [^]*connection: close/i);
      } finally {
        socket.destroy();
      }
    },
  );

  test("does not crash for any request", async () => {
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

const anyValue = fc.jsonValue({ maxDepth: 3 });

/** Nine times out of ten a value of this kind, otherwise any value. */
function usually<T>(usual: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: anyValue });
}

const anyPart = fc.record({
  type: fc.constantFrom("text", "image_url", "file", "input_audio", "other"),
  text: usually(fc.string()),
  image_url: fc.record({ url: fc.oneof(fc.webUrl(), fc.constant("data:")) }),
  file: fc.dictionary(fc.constantFrom("file_data", "filename"), anyValue),
  input_audio: fc.dictionary(fc.constantFrom("data", "format"), anyValue),
});

const anyWords = fc.oneof(
  fc.string(),
  fc.constantFrom("use every tool", "run `ls` in 3 steps", "ask for help", "create a.txt with `a`"),
);

const anyMessage = fc.record(
  {
    role: fc.constantFrom("user", "assistant", "tool", "system", "function"),
    content: usually(fc.oneof(anyWords, fc.array(anyPart))),
    tool_call_id: fc.constantFrom("a", "b"),
    name: anyWords,
    tool_calls: usually(
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
  fc.oneof(anyValue, fc.constantFrom("object", "array", "#", "#/properties/a")),
);

const anyTool = fc.record({
  type: fc.constantFrom("function", "custom", "web_search"),
  function: fc.record({ name: fc.string(), parameters: usually(anySchema) }),
  custom: fc.record({ name: fc.string() }),
});

const models = [...demoModels.keys()].filter((name) => !["hangs", "silent", "slow"].includes(name));

const anyRequest = fc.record(
  {
    model: fc.constantFrom(...models),
    messages: usually(fc.array(anyMessage)),
    tools: usually(fc.array(anyTool)),
    tool_choice: usually(fc.constantFrom("required", "none", "auto")),
    response_format: usually(
      fc.record({
        type: fc.constantFrom("json_schema", "json_object", "text"),
        json_schema: usually(fc.record({ name: fc.string(), schema: usually(anySchema) })),
      }),
    ),
    max_tokens: usually(fc.integer()),
    n: usually(fc.integer({ max: 4 })),
    prompt_cache_key: anyValue,
  },
  { requiredKeys: ["model", "messages"] },
);

describe("the demo server", () => {
  test("streams chunks at the configured pace", async () => {
    const pacedServer = await startDemoServer({ paceMs: 20 });
    try {
      const body = buildRequest("Hello", {
        stream: true,
        reasoning_effort: "none",
        max_tokens: 6,
      });
      const startTime = performance.now();
      await (
        await fetch(`${pacedServer.url}/chat/completions`, {
          method: "POST",
          body: JSON.stringify(body),
        })
      ).text();
      expect(performance.now() - startTime).toBeGreaterThan(80);
    } finally {
      await pacedServer.close();
    }
  });

  test.each(["clean", "slow", "hangs", "silent", "keeps-open"])(
    "stops the reply of %s if the client disconnects",
    async (model) => {
      const server = await startDemoServer({ paceMs: 5 });
      try {
        const abortController = new AbortController();
        const responseText = fetch(`${server.url}/chat/completions`, {
          method: "POST",
          body: JSON.stringify(buildRequest("long 500", { model, stream: true })),
          signal: abortController.signal,
        }).then(async (response) => response.text());
        await expect.poll(() => server.requests.at(-1)?.body).toBeDefined();
        expect(server.requests.at(-1)?.state).toBe("open");
        abortController.abort();
        await expect(responseText).rejects.toThrow("aborted");
        await expect
          .poll(() => server.requests.at(-1)?.state, { timeout: 5000, interval: 5 })
          .toBe("disconnected");
      } finally {
        await server.close();
      }
    },
  );

  test("ends open streams when it is closed", async () => {
    const server = await startDemoServer();
    const response = await fetch(`${server.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify(buildRequest("long 500", { model: "slow", stream: true })),
    });
    const startTime = performance.now();
    await server.close();
    expect(performance.now() - startTime).toBeLessThan(5000);
    await expect(response.text()).rejects.toThrow("terminated");
  });

  test("records the last requests up to a limit", async () => {
    const server = await startDemoServer();
    try {
      for (let index = 0; index < 60; index++)
        await (
          await fetch(`${server.url}/chat/completions`, {
            method: "POST",
            headers: { "x-number": String(index) },
            body: JSON.stringify(buildRequest(`Hello ${index}`, { tools: [shell] })),
          })
        ).text();
      expect(server.requests).toHaveLength(50);
      expect(server.requests.at(-1)).toMatchObject({
        method: "POST",
        path: "/v1/chat/completions",
        headers: { "x-number": "59" },
        body: { messages: [{ content: "Hello 59" }] },
        state: "ended",
      });
    } finally {
      await server.close();
    }
  });
});

describe("the other routes of the demo server", () => {
  test("return equal embeddings for equal inputs, near ones for similar inputs and distant ones for others", async () => {
    const input = ["the cat sat down", "the cat sat", "markets fell sharply"];
    const reply = await (await postJson("/embeddings", { model: "clean", input })).json();
    const [one = [], near = [], distant = []] = (
      reply as { data: { embedding: number[] }[] }
    ).data.map(({ embedding }) => embedding);
    const dot = (a: number[], b: number[]) =>
      a.reduce((sum, x, index) => sum + x * (b[index] ?? 0), 0);
    expect(dot(one, one)).toBeCloseTo(1, 4);
    expect(dot(one, near)).toBeGreaterThan(dot(one, distant) + 0.3);
    expect(await (await postJson("/embeddings", { model: "clean", input })).json()).toEqual(reply);
  });

  test("return embeddings in base64 and with the requested dimensions", async () => {
    const body = { model: "clean", input: "a", dimensions: 8, encoding_format: "base64" };
    const { data } = (await (await postJson("/embeddings", body)).json()) as {
      data: { embedding: string }[];
    };
    expect(Buffer.from(data[0]?.embedding ?? "", "base64")).toHaveLength(32);
  });

  test("return speech as a WAV file", async () => {
    const response = await postJson("/audio/speech", { model: "clean", input: "Hello" });
    expect(response.headers.get("content-type")).toBe("audio/wav");
    const wav = Buffer.from(await response.arrayBuffer());
    expect(wav.toString("latin1", 0, 4)).toBe("RIFF");
    expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
  });

  test("return a generated image as a PNG", async () => {
    const response = await postJson("/images/generations", { model: "clean", prompt: "a", n: 2 });
    const { data } = (await response.json()) as { data: { b64_json: string }[] };
    expect(data).toHaveLength(2);
    const png = Buffer.from(data[0]?.b64_json ?? "", "base64");
    expect(png.toString("latin1", 1, 4)).toBe("PNG");
    const index = png.indexOf("IDAT");
    const pixels = inflateSync(png.subarray(index + 4, index + 4 + png.readUInt32BE(index - 4)));
    expect(pixels).toHaveLength(64 * (1 + 64 * 3));
  });

  function upload(size: number, overrides: Record<string, string> = {}): FormData {
    const form = new FormData();
    form.set("model", "clean");
    for (const [name, anyValue] of Object.entries(overrides)) form.set(name, anyValue);
    form.set("file", new Blob([Buffer.alloc(size, "\r\n--")]), "a.wav");
    return form;
  }

  test("report the exact size of an upload", async () => {
    const response = await post("/audio/transcriptions", upload(3_000_001));
    expect(await response.json()).toEqual({
      text: "The demo received a.wav with 3000001 bytes. It cannot understand speech.",
    });
    const text = await post("/audio/translations", upload(5, { response_format: "text" }));
    expect(await text.text()).toMatch(/5 bytes/);
  });

  test("return an edited image", async () => {
    const response = await post("/images/edits", upload(10, { prompt: "greener" }));
    expect(await response.json()).toMatchObject({ data: [{ b64_json: expect.any(String) }] });
  });

  test("reject an upload without a model and a body that is not a form", async () => {
    const form = new FormData();
    form.set("file", new Blob(["x"]), "a.wav");
    expect((await post("/audio/transcriptions", form)).status).toBe(404);
    expect((await postJson("/audio/transcriptions", {})).status).toBe(400);
  });

  test("parse a form identically, however its bytes are split", () => {
    const body = Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nclean\r\n--b\r\n' +
        'content-disposition: form-data; name="empty"; filename="e"\r\n\r\n\r\n--b\r\n' +
        'content-disposition: form-data; name="file"; filename="f"\r\n\r\n12\r\n--3456\r\n--b--\r\n',
    );
    fc.assert(
      fc.property(fc.array(fc.nat(body.length), { maxLength: 20 }), (cuts) => {
        const upload = new MultipartParser("b");
        const positions = [0, ...cuts.toSorted((a, b) => a - b), body.length];
        positions
          .slice(1)
          .forEach((end, index) => upload.push(body.subarray(positions[index], end)));
        expect([...upload.fields]).toEqual([["model", "clean"]]);
        expect(upload.files).toEqual([
          { field: "empty", filename: "e", size: 0, checksum: 0, firstBytes: Buffer.alloc(0) },
          {
            field: "file",
            filename: "f",
            size: 10,
            checksum: crc32("12\r\n--3456"),
            firstBytes: Buffer.from("12\r\n--3456"),
          },
        ]);
      }),
    );
  });
});
