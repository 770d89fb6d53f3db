import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as zlib from "node:zlib";
import type { AttackCase, AttackPart } from "./cases.ts";
import { findInternals, SecretScanner, createSecret } from "./secrets.ts";
import { startScriptedModel } from "./scripted-model.ts";

/* Connections that do not behave like those of a correct client. */

const megabyte = 1024 * 1024;

/** What is written to the connection, and when. */
type Script = (connection: RawConnection, token: string) => Promise<void>;

interface RawAttack {
  name: string;
  write: Script;
  /** Time in which the gateway must reply or close, in milliseconds; default 8,000. */
  withinMs?: number;
  /** True: no reply is expected, because the request never becomes complete. */
  isOpen?: boolean;
  alone?: boolean;
  /** Close to a limit even on a fast machine: not part of the short form, which must not depend on the machine. */
  slow?: boolean;
}

/** A bare connection that collects what it receives. */
export class RawConnection {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  isClosed = false;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("data", (chunk: Buffer) => this.#chunks.push(chunk));
    this.#socket.on("error", () => undefined);
    this.#socket.on("close", () => (this.isClosed = true));
  }

  get received(): string {
    return Buffer.concat(this.#chunks).toString("latin1");
  }

  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.isClosed) return;
    if (this.#socket.write(bytes)) return;
    for (
      let waitedMs = 0;
      this.#socket.writableNeedDrain && !this.isClosed && waitedMs < 10_000;
      waitedMs += 10
    )
      await sleep(10);
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Statuses of the replies so far. A status line directly follows the previous body, which may be compressed. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z][A-Za-z -]*\r\n/g)].map(
      ([, status]) => Number(status),
    );
  }

  async until(isDone: () => boolean, ms: number): Promise<boolean> {
    const end = Date.now() + ms;
    while (!isDone()) {
      if (Date.now() > end) return false;
      await sleep(5);
    }
    return true;
  }
}

const buildHead = (method: string, path: string, token: string, extraHeaders = ""): string =>
  `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n${extraHeaders}\r\n`;
const buildPost = (token: string, extraHeaders: string, body = ""): string =>
  buildHead(
    "POST",
    "/v1/chat/completions",
    token,
    `content-type: application/json\r\n${extraHeaders}`,
  ) + body;
const validBody = JSON.stringify({
  model: "script/m",
  messages: [{ role: "user", content: "Hello" }],
});
const buildSizedPost = (token: string, body: Uint8Array, extraHeaders = ""): Buffer =>
  Buffer.concat([
    Buffer.from(buildPost(token, `${extraHeaders}content-length: ${body.length}\r\n`)),
    body,
  ]);

/** Creates an attack that sends its bytes in one write. */
function createByteAttack(
  name: string,
  build: (token: string) => string | Uint8Array,
  overrides: Partial<RawAttack> = {},
): RawAttack {
  return { name, write: (connection, token) => connection.write(build(token)), ...overrides };
}

const compressors: Record<string, (body: Uint8Array) => Uint8Array> = {
  gzip: (body) => zlib.gzipSync(body),
  deflate: (body) => zlib.deflateSync(body),
  br: (body) =>
    zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: (body) => zlib.zstdCompressSync(body),
};

const badRequests: Record<string, string> = {
  "a request line without a version": "GET /healthz\r\n\r\n",
  "a request line of HTTP/0.9": "GET /\r\n\r\n",
  "a request of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a request of HTTP/9.9": "GET /healthz HTTP/9.9\r\nhost: localhost\r\n\r\n",
  "an unknown method": "FLY /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "a method of 10,000 letters": `${"G".repeat(10_000)} / HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "CONNECT to elsewhere": "CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n",
  TRACE: "TRACE / HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "a path of 30,000 characters": `GET /${"a".repeat(30_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "a path of 30,000 slashes": `GET ${"/".repeat(30_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "a path of 10,000 dot segments": `GET ${"/..".repeat(10_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "a path of 9,000 percent signs": `GET /v1/models/${"%".repeat(9000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "a query of 15,000 parameters": `GET /api/tasks?${"a&".repeat(15_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "a path with bytes that are not ASCII": "GET /\u00ff\u00fe HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "no Host": "GET /healthz HTTP/1.1\r\n\r\n",
  "two Hosts": "GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n",
  "an invalid Host": "GET /healthz HTTP/1.1\r\nhost: \u00ff]:x\r\n\r\n",
  "a header without a colon": "GET /healthz HTTP/1.1\r\nhost: localhost\r\nbroken\r\n\r\n",
  "a header with a space before the colon": "GET /healthz HTTP/1.1\r\nhost : localhost\r\n\r\n",
  "a folded header": "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\n\r\n",
  "a header with NUL": "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\u0000b\r\n\r\n",
  "bare line feeds": "GET /healthz HTTP/1.1\nhost: localhost\n\n",
  "bare carriage returns": "GET /healthz HTTP/1.1\rhost: localhost\r\r",
  "5,000 headers": `GET /healthz HTTP/1.1\r\nhost: localhost\r\n${Array.from({ length: 5000 }, (_, index) => `x${index}: y\r\n`).join("")}\r\n`,
  "a header of 40 KB": `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(40_000)}\r\n\r\n`,
  "5,000 cookies": `GET /api/session HTTP/1.1\r\nhost: localhost\r\ncookie: ${"a=b; ".repeat(5000)}\r\n\r\n`,
  "5,000 ranges": `GET /assets/x HTTP/1.1\r\nhost: localhost\r\nrange: bytes=${"0-1,".repeat(5000)}\r\n\r\n`,
  "an If-None-Match of 30 KB": `GET / HTTP/1.1\r\nhost: localhost\r\nif-none-match: ${'W/"",'.repeat(6000)}\r\n\r\n`,
  "a Content-Type with 30 KB of spaces": `POST /api/blobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: a${" ".repeat(30_000)};b\r\ncontent-length: 1\r\n\r\nx`,
  "an Authorization with 30 KB of spaces": `GET /v1/models HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer${" ".repeat(30_000)}x\r\n\r\n`,
  "an Origin of 30 KB": `GET /v1/models HTTP/1.1\r\nhost: localhost\r\norigin: http://${"a.".repeat(15_000)}\r\n\r\n`,
  "Content-Length and Transfer-Encoding together":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "two different Content-Lengths":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
  "a negative Content-Length":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: -5\r\n\r\n",
  "a Content-Length with a plus sign":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: +5\r\n\r\nhello",
  "a huge Content-Length":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\nhello",
  "a Transfer-Encoding with a space before the colon":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n",
  "an unknown Transfer-Encoding":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
  "a Transfer-Encoding that is chunked twice":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
  "a chunk size that is not a number":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n",
  "a huge chunk size":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n",
  "a chunk that is longer than its size":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
  "a chunk extension of 1 MB": `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1;${"x".repeat(megabyte)}\r\na\r\n0\r\n\r\n`,
  "10,000 trailers": `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"x: y\r\n".repeat(10_000)}\r\n`,
  "an unknown Expect header":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nexpect: the-unexpected\r\ncontent-length: 2\r\n\r\n{}",
  "an upgrade to WebSocket with a body":
    "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\ncontent-length: 5\r\n\r\nhello",
};

const attacks: readonly RawAttack[] = [
  ...Object.entries(badRequests).map(([name, text]) =>
    createByteAttack(name, () => Buffer.from(text, "latin1")),
  ),
  createByteAttack("a TLS ClientHello", () =>
    Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3, 0, 0, 13, 10, 13, 10]),
  ),
  createByteAttack("1 MB of arbitrary bytes", () =>
    Buffer.from(Array.from({ length: megabyte }, (_, index) => (index * 7919) % 251)),
  ),
  createByteAttack("10 MB of line breaks", () => "\r\n".repeat(5 * megabyte), { isOpen: true }),
  ...Object.entries(compressors).flatMap(([encoding, compress]): RawAttack[] => {
    const encodingHeader = `content-encoding: ${encoding}\r\n`;
    return [
      createByteAttack(
        `a ${encoding} bomb with 300 MB of spaces`,
        (token) =>
          buildSizedPost(token, compress(Buffer.alloc(300 * megabyte, 32)), encodingHeader),
        { alone: true, withinMs: 20_000 },
      ),
      createByteAttack(
        `a ${encoding} body that decompresses to 60 MB of {},`,
        (token) =>
          buildSizedPost(
            token,
            compress(
              Buffer.from(`{"model":"script/m","messages":[${"{},".repeat(20 * megabyte)}{}]}`),
            ),
            encodingHeader,
          ),
        { alone: true, withinMs: 20_000 },
      ),
      createByteAttack(
        `a ${encoding} body that decompresses to 20 MB of brackets`,
        (token) =>
          buildSizedPost(
            token,
            compress(Buffer.from(`{"model":"script/m","messages":${"[".repeat(20 * megabyte)}`)),
            encodingHeader,
          ),
        { withinMs: 20_000 },
      ),
      createByteAttack(`a body that is not ${encoding}`, (token) =>
        buildSizedPost(token, Buffer.from("plain text"), encodingHeader),
      ),
      createByteAttack(`a truncated ${encoding} body`, (token) =>
        buildSizedPost(token, compress(Buffer.from(validBody)).subarray(0, -5), encodingHeader),
      ),
      createByteAttack(`a ${encoding} body followed by other bytes`, (token) =>
        buildSizedPost(
          token,
          Buffer.concat([compress(Buffer.from(validBody)), Buffer.from("more")]),
          encodingHeader,
        ),
      ),
      createByteAttack(`an empty ${encoding} body`, (token) =>
        buildSizedPost(token, Buffer.alloc(0), encodingHeader),
      ),
    ];
  }),
  createByteAttack("a body compressed a hundred times", (token) => {
    let body: Uint8Array = Buffer.from(validBody);
    for (let times = 0; times < 100; times += 1) body = zlib.gzipSync(body);
    return buildSizedPost(
      token,
      body,
      `content-encoding: ${Array<string>(100).fill("gzip").join(", ")}\r\n`,
    );
  }),
  createByteAttack(
    "a body of 60 MB that is not JSON",
    (token) => buildSizedPost(token, Buffer.alloc(60 * megabyte, 120)),
    { alone: true, withinMs: 20_000 },
  ),
  createByteAttack(
    "a body with a string of 60 MB",
    (token) =>
      buildSizedPost(
        token,
        Buffer.concat([
          Buffer.from('{"model":"script/m","messages":[{"role":"user","content":"'),
          Buffer.alloc(60 * megabyte, 120),
          Buffer.from('"}]}'),
        ]),
      ),
    { alone: true, withinMs: 30_000, slow: true },
  ),
  createByteAttack(
    "a body of 200,000 messages",
    (token) =>
      buildSizedPost(
        token,
        Buffer.from(
          `{"model":"script/m","messages":[${'{"role":"user","content":"x"},'.repeat(200_000)}{"role":"user","content":"x"}]}`,
        ),
      ),
    { alone: true, withinMs: 20_000 },
  ),
  createByteAttack(
    "a body of 100,000 tools",
    (token) =>
      buildSizedPost(
        token,
        Buffer.from(
          `{"model":"script/m","messages":[{"role":"user","content":"x"}],"tools":[${'{"type":"function","function":{"name":"a"}},'.repeat(100_000)}{"type":"function","function":{"name":"a"}}]}`,
        ),
      ),
    { alone: true, withinMs: 20_000 },
  ),
  createByteAttack(
    "a body of a million duplicate keys",
    (token) => buildSizedPost(token, Buffer.from(`{${'"a":1,'.repeat(1_000_000)}"model":"x"}`)),
    { withinMs: 20_000 },
  ),
  createByteAttack(
    "a body of 500,000 different keys",
    (token) =>
      buildSizedPost(
        token,
        Buffer.from(
          `{${Array.from({ length: 500_000 }, (_, index) => `"k${index}":1`).join(",")}}`,
        ),
      ),
    { withinMs: 20_000 },
  ),
  createByteAttack("a body with a number of 100,000 digits", (token) =>
    buildSizedPost(
      token,
      Buffer.from(`{"model":"script/m","temperature":${"9".repeat(100_000)},"messages":[]}`),
    ),
  ),
  createByteAttack("a body with a byte order mark", (token) =>
    buildSizedPost(token, Buffer.from(`\ufeff${validBody}`)),
  ),
  createByteAttack("a body in UTF-16", (token) =>
    buildSizedPost(token, Buffer.from(validBody, "utf16le")),
  ),
  createByteAttack(
    "a thousand pipelined requests on one connection",
    (token) => buildHead("GET", "/v1/models", token).repeat(1000),
    { withinMs: 20_000 },
  ),
  createByteAttack(
    "a thousand pipelined requests without a token on one connection",
    () => "GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(1000),
    { withinMs: 20_000 },
  ),
  createByteAttack(
    "a hundred different routes on one connection",
    (token) =>
      ["/", "/openapi.json", "/readyz", "/api/chats", "/nowhere"]
        .map((path) => buildHead("GET", path, token))
        .join("")
        .repeat(20),
    { withinMs: 20_000 },
  ),
  createByteAttack(
    "a valid request between two invalid ones",
    (token) =>
      `${buildPost(token, "content-length: 3\r\n", "{x}")}${buildPost(token, `content-length: ${validBody.length}\r\n`, validBody)}FLY / HTTP/1.1\r\n\r\n`,
  ),
  {
    name: "a body that never arrives",
    isOpen: true,
    async write(connection, token) {
      await connection.write(buildPost(token, "content-length: 100000\r\n"));
      await sleep(300);
    },
  },
  {
    name: "headers one byte at a time",
    isOpen: true,
    async write(connection) {
      for (const letter of "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: y") {
        await connection.write(letter);
        await sleep(10);
      }
    },
  },
  {
    name: "a valid request one byte at a time",
    async write(connection, token) {
      for (const letter of buildPost(token, `content-length: ${validBody.length}\r\n`, validBody))
        await connection.write(letter);
    },
  },
  {
    name: "a valid request with Expect: 100-continue",
    async write(connection, token) {
      await connection.write(
        buildPost(token, `expect: 100-continue\r\ncontent-length: ${validBody.length}\r\n`),
      );
      await connection.until(() => connection.received.includes("100 Continue"), 3000);
      await connection.write(validBody);
    },
  },
  {
    name: "a client that disconnects in the middle of its body",
    isOpen: true,
    async write(connection, token) {
      await connection.write(buildPost(token, "content-length: 5000\r\n", validBody));
      connection.destroy();
    },
  },
  {
    name: "a client that disconnects in the middle of the reply",
    isOpen: true,
    async write(connection, token) {
      await connection.write(
        buildPost(token, `content-length: ${validBody.length}\r\n`, validBody),
      );
      await connection.until(() => connection.received.length > 0, 3000);
      connection.destroy();
    },
  },
  {
    name: "a client that closes its side of the connection before the reply",
    async write(connection, token) {
      await connection.write(
        buildPost(token, `content-length: ${validBody.length}\r\n`, validBody),
      );
      connection.end();
    },
  },
];

/** Number of connections that make the attack at the same time. */
const connectionsAtOnce = 3;

export async function createConnectionsPart(
  token: string,
  isSelected: (name: string) => boolean,
): Promise<AttackPart> {
  const model = await startScriptedModel();
  const key = createSecret("script");
  const secrets = new SecretScanner({ "the key of the upstream": key, "the token": token });
  return {
    name: "hostile connections",
    toml: `[upstreams.script]\nbase_url = "${model.url}/v1"\nspeaks = "chat"\nmodels = ["m"]\napi_key = "${key}"\n`,
    cases: attacks
      .filter(({ name }) => isSelected(name))
      .map((attack) => buildCase(attack, token, secrets)),
    concurrency: 6,
    secrets,
    close: () => model.close(),
  };
}

function buildCase(attack: RawAttack, token: string, secrets: SecretScanner): AttackCase {
  const { name, alone, slow } = attack;
  const times = alone === true ? 1 : connectionsAtOnce;
  return {
    name,
    requests: times,
    ...(alone === true ? { alone } : {}),
    ...(slow === true ? { slow } : {}),
    async run(target) {
      const runs = Array.from({ length: times }, () =>
        findFaults(attack, target.url, token, secrets),
      );
      return [...new Set((await Promise.all(runs)).flat())];
    },
  };
}

async function findFaults(
  { write, isOpen, withinMs = 8000 }: RawAttack,
  url: string,
  token: string,
  secrets: SecretScanner,
): Promise<string[]> {
  const connection = new RawConnection(url);
  try {
    await write(connection, token);
    if (isOpen === true) return [];
    const hasReplied = (): boolean =>
      connection.isClosed || connection.statuses.some((status) => status >= 200);
    if (!(await connection.until(hasReplied, withinMs)))
      return [`no reply within ${withinMs / 1000} s`];
    return [
      ...connection.statuses
        .filter((status) => status >= 500)
        .map((status) => `status ${status}: ${connection.received.slice(0, 500)}`),
      ...secrets.findLeaks(connection.received),
      ...findInternals(connection.received),
      ...(await findFollowUpFaults(connection, token)),
    ];
  } finally {
    connection.destroy();
  }
}

/** Checks that an open connection serves the next request or closes, and never hangs. */
async function findFollowUpFaults(connection: RawConnection, token: string): Promise<string[]> {
  const before = connection.received.length;
  await connection.write(buildHead("GET", "/v1/models/nothing", token));
  const hasReplied = (): boolean => connection.isClosed || connection.received.length > before;
  return (await connection.until(hasReplied, 8000))
    ? []
    : ["the next request on the same connection received no reply within 8 s"];
}
