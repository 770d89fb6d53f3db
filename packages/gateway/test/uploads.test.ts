import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { field, file, multipart, upload } from "./multipart-body.ts";
import { ask } from "./raw-http.ts";
import { upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream, scene, standing, until } from "./scene.ts";
import { refuse } from "./scripted-upstream.ts";
import { sendJson } from "./wire-replies.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const uploadPaths = ["/images/edits", "/audio/transcriptions", "/audio/translations"];
const aliased = `[models]\nears = "up/vendor/whisper-large-v3-turbo"\n`;
const megabyte = 1024 * 1024;

/** What uploads have put on disk. */
const folders = (): string[] =>
  readdirSync(tmpdir()).filter((name) => /^deltawire-\w{6}$/.test(name));

describe("an upload", () => {
  const sound = randomBytes(300_000);

  test.each(uploadPaths)("to %s is passed on, the file before or after the model", async (path) => {
    const { gateway, upstream } = await scene(
      (_request, response) => sendJson(response, { text: "hm" }),
      {
        toml: aliased,
      },
    );
    for (const place of ["before", "after"]) {
      const parts = (model: string): Buffer =>
        place === "before"
          ? upload(file(sound), field("language", "de"), field("model", model))
          : upload(field("model", model), file(sound), field("language", "de"));
      const body = parts("ears");
      const headers = { ...multipart, "content-length": String(body.length) };
      const reply = await ask(`${gateway.url}/v1${path}`, { headers, body });
      expect([reply.status, reply.text]).toEqual([200, '{"text":"hm"}']);
      const received = upstream.requests.at(-1);
      expect(received?.path).toBe(`/v1${path}`);
      const expected = parts("vendor/whisper-large-v3-turbo");
      expect(received?.bytes.equals(expected)).toBe(true);
      expect(received?.headers["content-length"]).toBe(String(expected.length));
      expect(received?.headers["content-type"]).toBe(multipart["content-type"]);
    }
  });

  test("without a length goes on without one", async () => {
    const { gateway, upstream } = await scene((_request, response) => sendJson(response, {}));
    const body = Readable.from([upload(field("model", "up/m")), upload(file(sound))]);
    const { status } = await ask(`${gateway.url}/v1/images/edits`, { headers: multipart, body });
    expect(status).toBe(200);
    expect(upstream.requests[0]?.headers["transfer-encoding"]).toBe("chunked");
    expect(upstream.requests[0]?.headers["content-length"]).toBeUndefined();
  });

  test("whose upstream refuses it is told so, and is not sent a second time", async () => {
    const { gateway, upstream } = await scene((_request, response) =>
      refuse(response, 500, { message: "too noisy" }),
    );
    const body = upload(field("model", "up/m"), file(sound));
    const { status, text } = await ask(`${gateway.url}/v1/audio/transcriptions`, {
      headers: multipart,
      body,
    });
    expect(status).toBe(502);
    expect(text).toContain("too noisy");
    expect(upstream.requests).toHaveLength(1);
  });

  test("goes to the next upstream of a list if the first cannot be asked, and to no other once it was sent", async () => {
    const [a, b] = [
      await anUpstream((_request, response) => refuse(response, 503, { message: "busy" })),
      await anUpstream((_request, response) => sendJson(response, { from: "b" })),
    ];
    const gateway = await aGateway(
      `[models]\nfirst = ["keyless/x", "b/y"]\nsecond = ["a/x", "b/y"]\n${[
        upstreamToml("keyless", a.url, { api_key: "env:NOT_SET_HERE" }),
        upstreamToml("a", a.url),
        upstreamToml("b", b.url),
      ].join("")}`,
    );
    const post = (model: string) =>
      ask(`${gateway.url}/v1/audio/transcriptions`, {
        headers: multipart,
        body: upload(field("model", model), file(sound)),
      });
    expect(await post("first")).toMatchObject({ status: 200, text: '{"from":"b"}' });
    expect(a.requests).toHaveLength(0);
    expect(b.requests[0]?.bytes.equals(upload(field("model", "y"), file(sound)))).toBe(true);
    expect((await post("second")).text).toContain("busy");
    expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
  });

  test("without a model, or for one that nobody serves, is refused", async () => {
    const gateway = await aGateway(
      `${upstreamToml("a", "http://127.0.0.1:9/v1", { models: ["x"] })}${upstreamToml("b", "http://127.0.0.1:9/v1", { models: ["y"] })}`,
    );
    for (const [body, status] of [
      [upload(file(sound)), 400],
      [upload(field("model", "z"), file(sound)), 404],
      [Buffer.from("no multipart at all"), 400],
    ] as const) {
      const reply = await ask(`${gateway.url}/v1/audio/translations`, { headers: multipart, body });
      expect(reply.status).toBe(status);
      expect(JSON.parse(reply.text)).toMatchObject({ error: { param: "model" } });
    }
  });

  const piece = randomBytes(megabyte);
  const head = Buffer.from(
    '--line\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n',
  );
  const model = field("model", "ears");
  const end = Buffer.from("\r\n--line--\r\n");
  async function* fiftyMegabytes(modelFirst: boolean, onPiece: () => void): AsyncGenerator<Buffer> {
    if (modelFirst) yield model;
    yield head;
    for (let at = 0; at < 50; at += 1) {
      onPiece();
      yield piece;
    }
    yield modelFirst
      ? end
      : Buffer.concat([Buffer.from("\r\n"), model, Buffer.from("--line--\r\n")]);
  }

  test("of 50 MB goes by as fast as the upstream reads it, and is held nowhere", async () => {
    let given = 0;
    let go = (): void => undefined;
    const { gateway, upstream } = await scene(
      ({ bytes }, response) => sendJson(response, { bytes: bytes.length }),
      { toml: aliased, hold: new Promise<void>((resolve) => (go = resolve)) },
    );
    const body = Readable.from(
      fiftyMegabytes(true, () => (given += 1)),
      { objectMode: false },
    );
    const replied = ask(`${gateway.url}/v1/audio/transcriptions`, { headers: multipart, body });
    await until("the buffers are full", () => given > 2);
    expect(await standing(() => given)).toBeLessThan(16);
    go();
    expect((await replied).status).toBe(200);
    expect(given).toBe(50);
    const expected = [
      field("model", "vendor/whisper-large-v3-turbo"),
      head,
      ...Array<Buffer>(50).fill(piece),
      end,
    ];
    expect(upstream.requests[0]?.bytes.equals(Buffer.concat(expected))).toBe(true);
  });

  test("of 50 MB whose model comes last waits on disk, and nothing of it stays there", async () => {
    const before = folders();
    collectGarbage();
    const memory = process.memoryUsage().arrayBuffers;
    let most = 0;
    let pieces = 0;
    let received = 0;
    const { gateway } = await scene(
      ({ bytes }, response) => {
        received = bytes.length;
        sendJson(response, {});
      },
      { toml: aliased },
    );
    const body = Readable.from(
      fiftyMegabytes(false, () => {
        pieces += 1;
        if (pieces % 5 !== 0) return;
        collectGarbage();
        most = Math.max(most, process.memoryUsage().arrayBuffers - memory);
      }),
      { objectMode: false },
    );
    const { status } = await ask(`${gateway.url}/v1/images/edits`, { headers: multipart, body });
    expect(status).toBe(200);
    expect(received).toBeGreaterThan(50 * megabyte);
    expect(most).toBeLessThan(32 * megabyte);
    await until("the file is gone", () => folders().every((name) => before.includes(name)));
  });

  test.each([true, false])(
    "whose client leaves half way is given up (model first: %s), and nothing of it stays",
    async (modelFirst) => {
      const before = folders();
      const { gateway, upstream } = await scene(() => undefined, { toml: aliased });
      const client = httpRequest(`${gateway.url}/v1/audio/transcriptions`, {
        method: "POST",
        headers: multipart,
      });
      client.on("error", () => undefined);
      if (modelFirst) client.write(model);
      client.write(head);
      for (let at = 0; at < 4; at += 1) client.write(piece);
      const isOnItsWay = (): boolean =>
        modelFirst ? upstream.begun() === 1 : folders().length > before.length;
      await until("it is on its way", isOnItsWay);
      client.destroy();
      await until("it is logged", () => gateway.lines.length === 1);
      expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ left: true });
      await until("the upstream is let go", () => upstream.open() === 0);
      await until("the file is gone", () => folders().every((name) => before.includes(name)));
      expect(upstream.requests).toEqual([]);
    },
  );

  test("that the upstream refuses before it has read it is refused at once, though the client goes on sending", async () => {
    const upstream = createServer((request, response) => {
      if (request.method === "GET") response.end('{"data":[]}');
      else refuse(response, 401, { message: "who are you?" });
    });
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    const gateway = await aGateway(upstreamToml("up", `http://127.0.0.1:${port}/v1`));
    const client = httpRequest(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers: multipart,
    });
    client.on("error", () => undefined);
    client.write(field("model", "up/m"));
    client.write(head);
    client.write(piece);
    const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
    expect(reply.statusCode).toBe(401);
    client.destroy();
    upstream.closeAllConnections();
    upstream.close();
  });
});
