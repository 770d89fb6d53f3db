import * as zlib from "node:zlib";
import { encodeGoodReply, getGoodContentType } from "./good-replies.ts";
import type { ReplyScript, UpstreamMode, UpstreamReply } from "./hostile-upstream.ts";

/* What an upstream may do wrong in HTTP, regardless of the content. */

const megabyte = 1024 * 1024;

/** Sends a good reply with wrong headers. */
function withHeaders(headers: Record<string, string>): ReplyScript {
  return async (reply) => {
    await reply.head(200, { "content-type": getGoodContentType(reply.stream), ...headers });
    await reply.write(encodeGoodReply(reply.wire, reply.stream));
    reply.end();
  };
}

/** Sends raw bytes and closes the connection. */
function sendRaw(
  bytes: string | Uint8Array | ((reply: UpstreamReply) => string | Uint8Array),
): ReplyScript {
  return async (reply) => {
    await reply.write(typeof bytes === "function" ? bytes(reply) : bytes);
    reply.end();
  };
}

function buildChunkedHead(reply: UpstreamReply): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: ${getGoodContentType(reply.stream)}\r\ntransfer-encoding: chunked\r\n\r\n`;
}

/** Returns a good body in one chunk, without the chunk that ends it. */
function buildOneChunk(reply: UpstreamReply): string {
  const body = encodeGoodReply(reply.wire, reply.stream);
  return `${buildChunkedHead(reply)}${body.length.toString(16)}\r\n${body}\r\n`;
}

const statusLines = [
  "HTTP/1.1 200",
  "HTTP/1.0 200 OK",
  "HTTP/1.1 000 Nothing",
  "HTTP/1.1 099 Low",
  "HTTP/1.1 999 High",
  "HTTP/1.1 1000 Higher",
  "HTTP/1.1 -1 Minus",
  "HTTP/1.1 abc Letters",
  "HTTP/1.1  Blank",
  "HTTP/2 200 OK",
  "HTTP/9.9 200 OK",
  "ICY 200 OK",
  `HTTP/1.1 200 ${"long ".repeat(20_000)}`,
  "HTTP/1.1 200 \u0000\u0007",
  "HTTP/1.1 200 OK\r\r",
];

const badHeads = [
  "no colon here",
  " : empty name",
  ": no name",
  "na me: blank",
  "n\u0000me: nul",
  "x: nul \u0000 value",
  "x: one\r\n folded",
  "x: bare\rreturn",
  "x: bare\nnewline: y",
  "x: \u00ff\u00fe",
  "content-length: -1",
  "content-length: 1e9",
  "content-length: 99999999999999999999999",
  "content-length: five",
  "content-length: 5\r\ncontent-length: 6",
  "content-length: 5\r\ntransfer-encoding: chunked",
  "transfer-encoding: gzip, chunked",
  "transfer-encoding: identity",
  "transfer-encoding: unknown",
  "transfer-encoding: chunked, chunked",
  "connection: upgrade\r\nupgrade: websocket",
  "connection: keep-alive, close, x",
  "keep-alive: timeout=99999999999, max=-1",
  "retry-after: 99999999999999999999",
  "retry-after: -5",
  "set-cookie: a=b\r\nset-cookie: c=d",
  "x-request-id: \u0085\u0085",
  'content-disposition: attachment; filename="a\u010d\u010ab"',
];

const contentTypes = [
  "",
  "text/html",
  "image/png",
  "application/json",
  "text/event-stream",
  "text/event-stream; charset=utf-16",
  "application/json; charset=shift_jis",
  "application/x-ndjson",
  "multipart/x-mixed-replace; boundary=x",
  "application/octet-stream",
  "garbage",
  `text/${"x".repeat(10_000)}`,
];

const chunkSizes = [
  "zz",
  "-1",
  "ffffffffffffffff",
  "7fffffff",
  "0x5",
  " 5",
  `5;${"ext=1;".repeat(5000)}`,
  `5;${"x".repeat(200_000)}`,
  "",
  "5\n",
];

const statuses = [
  201, 202, 204, 205, 206, 226, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405,
  406, 408, 409, 410, 413, 414, 415, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 499,
  500, 501, 502, 503, 504, 505, 507, 511, 520, 521, 522, 524, 529, 530, 598, 599,
];

/** How much of a good reply is sent before the connection breaks. */
const stages: Record<string, (reply: UpstreamReply) => string> = {
  "before the first byte": () => "",
  "in the status line": () => "HTTP/1.1 20",
  "after the status line": () => "HTTP/1.1 200 OK\r\n",
  "in a header": () => "HTTP/1.1 200 OK\r\ncontent-ty",
  "after the headers": (reply) => buildChunkedHead(reply),
  "in the size of a chunk": (reply) => `${buildChunkedHead(reply)}1f`,
  "in a chunk": (reply) => buildOneChunk(reply).slice(0, -40),
  "after a chunk": (reply) => buildOneChunk(reply),
  "in the last chunk": (reply) => `${buildOneChunk(reply)}0\r\n`,
  "in a trailer": (reply) => `${buildOneChunk(reply)}0\r\nx-trailer: y`,
  "in a body of a longer content-length": (reply) => {
    const body = encodeGoodReply(reply.wire, reply.stream);
    return `HTTP/1.1 200 OK\r\ncontent-type: ${getGoodContentType(reply.stream)}\r\ncontent-length: ${body.length + 50}\r\n\r\n${body}`;
  },
};

const compressions: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes),
  zstd: (bytes) => zlib.zstdCompressSync(bytes),
};

export const httpModes: readonly UpstreamMode[] = [
  ...Object.entries(stages).flatMap(([stage, bytes]): UpstreamMode[] => [
    { name: `the connection closes ${stage}`, play: sendRaw(bytes) },
    {
      name: `the connection is reset ${stage}`,
      async play(reply) {
        await reply.write(bytes(reply));
        await reply.pause(5);
        reply.reset();
      },
    },
    {
      name: `the upstream falls silent ${stage}`,
      async play(reply) {
        await reply.write(bytes(reply));
        await reply.silence();
      },
    },
  ]),
  {
    name: "odd status lines",
    variants: statusLines.length,
    async play(reply) {
      await reply.head(statusLines[reply.variant] ?? "", {
        "content-type": getGoodContentType(reply.stream),
      });
      await reply.write(encodeGoodReply(reply.wire, reply.stream));
      reply.end();
    },
  },
  {
    name: "odd headers",
    variants: badHeads.length,
    async play(reply) {
      await reply.write(
        `HTTP/1.1 200 OK\r\ncontent-type: ${getGoodContentType(reply.stream)}\r\n${badHeads[reply.variant]}\r\n\r\n`,
      );
      await reply.write(encodeGoodReply(reply.wire, reply.stream));
      reply.end();
    },
  },
  {
    name: "odd content types",
    variants: contentTypes.length,
    async play(reply) {
      await reply.head(200, { "content-type": contentTypes[reply.variant] ?? "" });
      await reply.write(encodeGoodReply(reply.wire, reply.stream));
      reply.end();
    },
  },
  {
    name: "no content type",
    play: sendRaw((reply) => `HTTP/1.1 200 OK\r\n\r\n${encodeGoodReply(reply.wire, reply.stream)}`),
  },
  {
    name: "odd chunk sizes",
    variants: chunkSizes.length,
    play: sendRaw(
      (reply) => `${buildChunkedHead(reply)}${chunkSizes[reply.variant]}\r\nhello\r\n0\r\n\r\n`,
    ),
  },
  {
    name: "every status with no body, a good body, and bytes that are not text",
    variants: statuses.length * 3,
    async play(reply) {
      const status = statuses[Math.floor(reply.variant / 3)] ?? 200;
      const bodies = [
        "",
        encodeGoodReply(reply.wire, reply.stream),
        Buffer.from([0, 255, 254, 128, 10]),
      ];
      const body = bodies[reply.variant % 3] ?? "";
      await reply.head(status, { "content-type": getGoodContentType(reply.stream) });
      await reply.write(body);
      reply.end();
    },
  },
  {
    name: "redirects to odd locations",
    variants: 8,
    async play(reply) {
      const locations = [
        "/",
        "//evil.example",
        "http://127.0.0.1:1/",
        "javascript:x",
        "\u00ff",
        "",
        "x".repeat(20_000),
        `http://127.0.0.1/?key=${reply.key}`,
      ];
      await reply.head(307, { location: locations[reply.variant] ?? "" });
      reply.end();
    },
  },
  ...Object.keys(compressions).flatMap((encoding): UpstreamMode[] => {
    const compress = compressions[encoding] ?? ((bytes) => bytes);
    const send = (getBytes: (reply: UpstreamReply) => Uint8Array): ReplyScript => {
      return async (reply) => {
        await reply.head(200, {
          "content-type": getGoodContentType(reply.stream),
          "content-encoding": encoding,
        });
        await reply.write(getBytes(reply));
        reply.end();
      };
    };
    return [
      {
        name: `a valid reply with the unrequested encoding ${encoding}`,
        play: send((reply) => compress(Buffer.from(encodeGoodReply(reply.wire, reply.stream)))),
      },
      { name: `bytes that are not ${encoding}`, play: send(() => Buffer.from("not compressed")) },
      {
        name: `a ${encoding} bomb of 200 MB`,
        play: send(() => (bombs[encoding] ??= compress(Buffer.alloc(200 * megabyte, 32)))),
      },
      {
        name: `a truncated ${encoding} reply`,
        play: send((reply) =>
          compress(Buffer.from(encodeGoodReply(reply.wire, reply.stream))).subarray(0, -6),
        ),
      },
    ];
  }),
  {
    name: "unknown encodings",
    variants: 4,
    play: (reply) =>
      withHeaders({
        "content-encoding":
          ["x", "identity, gzip", "gzip, gzip, gzip", "aws-chunked"][reply.variant] ?? "",
      })(reply),
  },
  {
    name: "a thousand responses with status 100 before a good one",
    async play(reply) {
      await reply.write("HTTP/1.1 100 Continue\r\n\r\n".repeat(1000));
      await withHeaders({})(reply);
    },
  },
  {
    name: "responses with status 102 and 103 and headers before a good one",
    async play(reply) {
      await reply.write("HTTP/1.1 102 Processing\r\nx: y\r\n\r\n".repeat(3));
      await reply.write("HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n".repeat(3));
      await withHeaders({})(reply);
    },
  },
  {
    name: "responses with status 100 without end",
    async play(reply) {
      const deadline = Date.now() + 60_000;
      while (!reply.isClosed && Date.now() < deadline) {
        await reply.write("HTTP/1.1 100 Continue\r\n\r\n".repeat(50));
        await reply.pause(20);
      }
      reply.end();
    },
  },
  {
    name: "switching protocols with 101",
    async play(reply) {
      await reply.write(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
      );
      await reply.silence();
    },
  },
  {
    name: "switching protocols with 101 and then a good reply",
    async play(reply) {
      await reply.write(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      );
      await withHeaders({})(reply);
    },
  },
  {
    name: "two replies to one request",
    play: sendRaw((reply) => {
      const body = encodeGoodReply(reply.wire, reply.stream);
      const httpReply = `HTTP/1.1 200 OK\r\ncontent-type: ${getGoodContentType(reply.stream)}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      return httpReply + httpReply;
    }),
  },
  {
    name: "more body than the content length",
    play: sendRaw(
      (reply) =>
        `HTTP/1.1 200 OK\r\ncontent-type: ${getGoodContentType(reply.stream)}\r\ncontent-length: 10\r\n\r\n${encodeGoodReply(reply.wire, reply.stream)}`,
    ),
  },
  {
    name: "10,000 headers",
    play: sendRaw(
      (reply) =>
        `HTTP/1.1 200 OK\r\n${Array.from({ length: 10_000 }, (_, index) => `x-${index}: y\r\n`).join("")}\r\n${encodeGoodReply(reply.wire, reply.stream)}`,
    ),
  },
  {
    name: "a header of 5 MB",
    play: sendRaw(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(5 * megabyte)}\r\n\r\n`),
  },
  {
    name: "headers that never end",
    async play(reply) {
      await reply.write("HTTP/1.1 200 OK\r\n");
      for (let index = 0; index < 3000 && !reply.isClosed; index += 1) {
        await reply.write(`x-${index}: y\r\n`);
        await reply.pause(20);
      }
      reply.end();
    },
  },
  {
    name: "trailers without end",
    async play(reply) {
      await reply.write(`${buildOneChunk(reply)}0\r\n`);
      for (let index = 0; index < 3000 && !reply.isClosed; index += 1) {
        await reply.write(`x-${index}: ${"y".repeat(500)}\r\n`);
        await reply.pause(1);
      }
      reply.end();
    },
  },
  { name: "an SSH banner", play: sendRaw("SSH-2.0-OpenSSH_9.6\r\n") },
  { name: "a TLS alert", play: sendRaw(Buffer.from([21, 3, 1, 0, 2, 2, 40])) },
  { name: "an HTTP/2 preface", play: sendRaw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") },
  {
    name: "a body without a head",
    play: sendRaw((reply) => encodeGoodReply(reply.wire, reply.stream)),
  },
  {
    name: "arbitrary bytes",
    play: sendRaw(Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) % 256))),
  },
  {
    name: "50 MB of the same byte",
    play: sendRaw(Buffer.alloc(50 * megabyte, 200)),
    wires: ["chat"],
  },
  {
    name: "a good reply one byte at a time",
    async play(reply) {
      await reply.head(200, { "content-type": getGoodContentType(reply.stream) });
      for (const [index, byte] of Buffer.from(
        encodeGoodReply(reply.wire, reply.stream),
      ).entries()) {
        await reply.write(Uint8Array.of(byte));
        if (index % 16 === 0) await reply.pause(1);
      }
      reply.end();
    },
  },
  {
    name: "an endless body of spaces",
    leaveAfterMs: 4000,
    wires: ["chat"],
    async play(reply) {
      await reply.head(200, { "content-type": getGoodContentType(reply.stream) });
      const spaces = Buffer.alloc(64 * 1024, 32);
      const deadline = Date.now() + 30_000;
      while (!reply.isClosed && Date.now() < deadline) {
        await reply.write(spaces);
        await reply.pause(1);
      }
      reply.end();
    },
  },
];

/** Created once: compressing 200 MB takes a while. */
const bombs: Record<string, Uint8Array> = {};
