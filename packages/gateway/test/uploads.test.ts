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
import { formatField, formatFile, multipartHeaders, formatUpload } from "./multipart-body.ts";
import { sendRawRequest } from "./raw-http.ts";
import { upstreamToml } from "./test-gateway.ts";
import {
  testGateway,
  testUpstream,
  gatewayFixture,
  waitUntilStable,
  waitUntil,
} from "./gateway-fixture.ts";
import { sendError } from "./scripted-upstream.ts";
import { sendJson } from "./wire-replies.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const uploadPaths = ["/images/edits", "/audio/transcriptions", "/audio/translations"];
const aliased = `[models]\nears = "up/vendor/whisper-large-v3-turbo"\n`;
const megabyte = 1024 * 1024;

/** The files that uploads have left on disk. */
const folders = (): string[] =>
  readdirSync(tmpdir()).filter((name) => /^deltawire-\w{6}$/.test(name));

describe("an upload", () => {
  const sound = randomBytes(300_000);

  test.each(uploadPaths)(
    "to %s is forwarded, with the file before or after the model",
    async (path) => {
      const { gateway, upstream } = await gatewayFixture(
        (_request, response) => sendJson(response, { text: "hm" }),
        {
          toml: aliased,
        },
      );
      for (const place of ["before", "after"]) {
        const parts = (model: string): Buffer =>
          place === "before"
            ? formatUpload(
                formatFile(sound),
                formatField("language", "de"),
                formatField("model", model),
              )
            : formatUpload(
                formatField("model", model),
                formatFile(sound),
                formatField("language", "de"),
              );
        const body = parts("ears");
        const headers = { ...multipartHeaders, "content-length": String(body.length) };
        const reply = await sendRawRequest(`${gateway.url}/v1${path}`, { headers, body });
        expect([reply.status, reply.text]).toEqual([200, '{"text":"hm"}']);
        const received = upstream.requests.at(-1);
        expect(received?.path).toBe(`/v1${path}`);
        const expected = parts("vendor/whisper-large-v3-turbo");
        expect(received?.bytes.equals(expected)).toBe(true);
        expect(received?.headers["content-length"]).toBe(String(expected.length));
        expect(received?.headers["content-type"]).toBe(multipartHeaders["content-type"]);
      }
    },
  );

  test("without a length is forwarded without one", async () => {
    const { gateway, upstream } = await gatewayFixture((_request, response) =>
      sendJson(response, {}),
    );
    const body = Readable.from([
      formatUpload(formatField("model", "up/m")),
      formatUpload(formatFile(sound)),
    ]);
    const { status } = await sendRawRequest(`${gateway.url}/v1/images/edits`, {
      headers: multipartHeaders,
      body,
    });
    expect(status).toBe(200);
    expect(upstream.requests[0]?.headers["transfer-encoding"]).toBe("chunked");
    expect(upstream.requests[0]?.headers["content-length"]).toBeUndefined();
  });

  test("rejected by its upstream gets that error and is not sent again", async () => {
    const { gateway, upstream } = await gatewayFixture((_request, response) =>
      sendError(response, 500, { message: "too noisy" }),
    );
    const body = formatUpload(formatField("model", "up/m"), formatFile(sound));
    const { status, text } = await sendRawRequest(`${gateway.url}/v1/audio/transcriptions`, {
      headers: multipartHeaders,
      body,
    });
    expect(status).toBe(502);
    expect(text).toContain("too noisy");
    expect(upstream.requests).toHaveLength(1);
  });

  test("goes to the next upstream of a list if the first is unreachable, and to no other once it was sent", async () => {
    const [a, b] = [
      await testUpstream((_request, response) => sendError(response, 503, { message: "busy" })),
      await testUpstream((_request, response) => sendJson(response, { from: "b" })),
    ];
    const gateway = await testGateway(
      `[models]\nfirst = ["keyless/x", "b/y"]\nsecond = ["a/x", "b/y"]\n${[
        upstreamToml("keyless", a.url, { api_key: "env:NOT_SET_HERE" }),
        upstreamToml("a", a.url),
        upstreamToml("b", b.url),
      ].join("")}`,
    );
    const post = (model: string) =>
      sendRawRequest(`${gateway.url}/v1/audio/transcriptions`, {
        headers: multipartHeaders,
        body: formatUpload(formatField("model", model), formatFile(sound)),
      });
    expect(await post("first")).toMatchObject({ status: 200, text: '{"from":"b"}' });
    expect(a.requests).toHaveLength(0);
    expect(
      b.requests[0]?.bytes.equals(formatUpload(formatField("model", "y"), formatFile(sound))),
    ).toBe(true);
    expect((await post("second")).text).toContain("busy");
    expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
  });

  test("without a model, or with an unknown one, is rejected", async () => {
    const gateway = await testGateway(
      `${upstreamToml("a", "http://127.0.0.1:9/v1", { models: ["x"] })}${upstreamToml("b", "http://127.0.0.1:9/v1", { models: ["y"] })}`,
    );
    for (const [body, status] of [
      [formatUpload(formatFile(sound)), 400],
      [formatUpload(formatField("model", "z"), formatFile(sound)), 404],
      [Buffer.from("no multipart at all"), 400],
    ] as const) {
      const reply = await sendRawRequest(`${gateway.url}/v1/audio/translations`, {
        headers: multipartHeaders,
        body,
      });
      expect(reply.status).toBe(status);
      expect(JSON.parse(reply.text)).toMatchObject({ error: { param: "model" } });
    }
  });

  const piece = randomBytes(megabyte);
  const head = Buffer.from(
    '--line\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n',
  );
  const model = formatField("model", "ears");
  const end = Buffer.from("\r\n--line--\r\n");
  async function* fiftyMegabytes(modelFirst: boolean, onPiece: () => void): AsyncGenerator<Buffer> {
    if (modelFirst) yield model;
    yield head;
    for (let index = 0; index < 50; index += 1) {
      onPiece();
      yield piece;
    }
    yield modelFirst
      ? end
      : Buffer.concat([Buffer.from("\r\n"), model, Buffer.from("--line--\r\n")]);
  }

  test("of 50 MB is forwarded as fast as the upstream reads it, without buffering", async () => {
    let given = 0;
    let go = (): void => undefined;
    const { gateway, upstream } = await gatewayFixture(
      ({ bytes }, response) => sendJson(response, { bytes: bytes.length }),
      { toml: aliased, hold: new Promise<void>((resolve) => (go = resolve)) },
    );
    const body = Readable.from(
      fiftyMegabytes(true, () => (given += 1)),
      { objectMode: false },
    );
    const replied = sendRawRequest(`${gateway.url}/v1/audio/transcriptions`, {
      headers: multipartHeaders,
      body,
    });
    await waitUntil("the buffers are full", () => given > 2);
    expect(await waitUntilStable(() => given)).toBeLessThan(16);
    go();
    expect((await replied).status).toBe(200);
    expect(given).toBe(50);
    const expected = [
      formatField("model", "vendor/whisper-large-v3-turbo"),
      head,
      ...Array<Buffer>(50).fill(piece),
      end,
    ];
    expect(upstream.requests[0]?.bytes.equals(Buffer.concat(expected))).toBe(true);
  });

  test("of 50 MB whose model comes last waits on disk, and the file is deleted afterwards", async () => {
    const before = folders();
    collectGarbage();
    const memory = process.memoryUsage().arrayBuffers;
    let most = 0;
    let pieces = 0;
    let received = 0;
    const { gateway } = await gatewayFixture(
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
    const { status } = await sendRawRequest(`${gateway.url}/v1/images/edits`, {
      headers: multipartHeaders,
      body,
    });
    expect(status).toBe(200);
    expect(received).toBeGreaterThan(50 * megabyte);
    expect(most).toBeLessThan(32 * megabyte);
    await waitUntil("the file is deleted", () => folders().every((name) => before.includes(name)));
  });

  test.each([true, false])(
    "whose client disconnects half-way is aborted, and no file remains; model first: %s",
    async (modelFirst) => {
      const before = folders();
      const { gateway, upstream } = await gatewayFixture(() => undefined, { toml: aliased });
      const client = httpRequest(`${gateway.url}/v1/audio/transcriptions`, {
        method: "POST",
        headers: multipartHeaders,
      });
      client.on("error", () => undefined);
      if (modelFirst) client.write(model);
      client.write(head);
      for (let index = 0; index < 4; index += 1) client.write(piece);
      const isOnItsWay = (): boolean =>
        modelFirst ? upstream.startedCount() === 1 : folders().length > before.length;
      await waitUntil("it is on its way", isOnItsWay);
      client.destroy();
      await waitUntil("it is logged", () => gateway.lines.length === 1);
      expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ client_disconnected: true });
      await waitUntil("the upstream request is aborted", () => upstream.openCount() === 0);
      await waitUntil("the file is deleted", () =>
        folders().every((name) => before.includes(name)),
      );
      expect(upstream.requests).toEqual([]);
    },
  );

  test("that the upstream rejects before it has read it is rejected immediately, even while the client keeps sending", async () => {
    const upstream = createServer((request, response) => {
      if (request.method === "GET") response.end('{"data":[]}');
      else sendError(response, 401, { message: "who are you?" });
    });
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    const gateway = await testGateway(upstreamToml("up", `http://127.0.0.1:${port}/v1`));
    const client = httpRequest(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers: multipartHeaders,
    });
    client.on("error", () => undefined);
    client.write(formatField("model", "up/m"));
    client.write(head);
    client.write(piece);
    const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
    expect(reply.statusCode).toBe(401);
    client.destroy();
    upstream.closeAllConnections();
    upstream.close();
  });
});
