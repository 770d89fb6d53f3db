import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as zlib from "node:zlib";
import type { AttackCase, Part } from "./cases.ts";
import { insidesIn, SecretWatch, secretFor } from "./secrets.ts";
import { scriptedModel } from "./scripted-model.ts";

/* Connections that send anything but a request as a client should. */

const megabyte = 1024 * 1024;

/** What is written to the connection, and when. */
type Script = (connection: RawConnection, token: string) => Promise<void>;

interface RawAttack {
  name: string;
  write: Script;
  /** In milliseconds: how long the gateway may take to answer or to close; 8,000 unless given. */
  withinMs?: number;
  /** True: no answer is due, for the request never becomes complete. */
  isOpen?: boolean;
  alone?: boolean;
  /** Near a limit on a fast machine: left out of the short form, which must not depend on the machine. */
  slow?: boolean;
}

/** A bare connection, with what came on it. */
export class RawConnection {
  readonly #socket: Socket;
  readonly #pieces: Buffer[] = [];
  isClosed = false;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("data", (piece: Buffer) => this.#pieces.push(piece));
    this.#socket.on("error", () => undefined);
    this.#socket.on("close", () => (this.isClosed = true));
  }

  get received(): string {
    return Buffer.concat(this.#pieces).toString("latin1");
  }

  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.isClosed) return;
    if (this.#socket.write(bytes)) return;
    for (
      let waited = 0;
      this.#socket.writableNeedDrain && !this.isClosed && waited < 10_000;
      waited += 10
    )
      await sleep(10);
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Statuses of the answers so far. A status line follows right after the body before it, which may be compressed. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z][A-Za-z -]*\r\n/g)].map(
      ([, status]) => Number(status),
    );
  }

  async until(isSo: () => boolean, ms: number): Promise<boolean> {
    const end = Date.now() + ms;
    while (!isSo()) {
      if (Date.now() > end) return false;
      await sleep(5);
    }
    return true;
  }
}

const head = (method: string, path: string, token: string, more = ""): string =>
  `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n${more}\r\n`;
const post = (token: string, more: string, body = ""): string =>
  head("POST", "/v1/chat/completions", token, `content-type: application/json\r\n${more}`) + body;
const question = JSON.stringify({
  model: "script/m",
  messages: [{ role: "user", content: "Hello" }],
});
const sized = (token: string, body: Uint8Array, more = ""): Buffer =>
  Buffer.concat([Buffer.from(post(token, `${more}content-length: ${body.length}\r\n`)), body]);

/** Bytes that are sent in one piece. */
function bytes(
  name: string,
  build: (token: string) => string | Uint8Array,
  more: Partial<RawAttack> = {},
): RawAttack {
  return { name, write: (connection, token) => connection.write(build(token)), ...more };
}

const packers: Record<string, (body: Uint8Array) => Uint8Array> = {
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
  "a method that nobody knows": "FLY /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "a method of 10,000 letters": `${"G".repeat(10_000)} / HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "CONNECT to elsewhere": "CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n",
  TRACE: "TRACE / HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "an address of 30,000 characters": `GET /${"a".repeat(30_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "an address of 30,000 slashes": `GET ${"/".repeat(30_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "an address of 10,000 dots": `GET ${"/..".repeat(10_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "an address of 9,000 percent signs": `GET /v1/models/${"%".repeat(9000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "a query of 15,000 parameters": `GET /api/tasks?${"a&".repeat(15_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "an address with bytes that are no ASCII":
    "GET /\u00ff\u00fe HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "no Host": "GET /healthz HTTP/1.1\r\n\r\n",
  "two Hosts": "GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n",
  "a Host that is none": "GET /healthz HTTP/1.1\r\nhost: \u00ff]:x\r\n\r\n",
  "a header without a colon": "GET /healthz HTTP/1.1\r\nhost: localhost\r\nbroken\r\n\r\n",
  "a header with a blank before the colon": "GET /healthz HTTP/1.1\r\nhost : localhost\r\n\r\n",
  "a header that is folded": "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\n\r\n",
  "a header with NUL": "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\u0000b\r\n\r\n",
  "bare line feeds": "GET /healthz HTTP/1.1\nhost: localhost\n\n",
  "bare carriage returns": "GET /healthz HTTP/1.1\rhost: localhost\r\r",
  "5,000 headers": `GET /healthz HTTP/1.1\r\nhost: localhost\r\n${Array.from({ length: 5000 }, (_, at) => `x${at}: y\r\n`).join("")}\r\n`,
  "a header of 40 KB": `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(40_000)}\r\n\r\n`,
  "5,000 cookies": `GET /api/session HTTP/1.1\r\nhost: localhost\r\ncookie: ${"a=b; ".repeat(5000)}\r\n\r\n`,
  "5,000 ranges": `GET /assets/x HTTP/1.1\r\nhost: localhost\r\nrange: bytes=${"0-1,".repeat(5000)}\r\n\r\n`,
  "an If-None-Match of 30 KB": `GET / HTTP/1.1\r\nhost: localhost\r\nif-none-match: ${'W/"",'.repeat(6000)}\r\n\r\n`,
  "a Content-Type of 30 KB of blanks": `POST /api/blobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: a${" ".repeat(30_000)};b\r\ncontent-length: 1\r\n\r\nx`,
  "an Authorization of 30 KB of blanks": `GET /v1/models HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer${" ".repeat(30_000)}x\r\n\r\n`,
  "an Origin of 30 KB": `GET /v1/models HTTP/1.1\r\nhost: localhost\r\norigin: http://${"a.".repeat(15_000)}\r\n\r\n`,
  "both lengths at once":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n",
  "two lengths":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
  "a length below zero":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: -5\r\n\r\n",
  "a length with a plus":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: +5\r\n\r\nhello",
  "a length that is huge":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\nhello",
  "a transfer encoding with a blank":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n",
  "a transfer encoding that nobody knows":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
  "chunked twice":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
  "a chunk whose size is no number":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n",
  "a chunk whose size is huge":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n",
  "a chunk that is longer than its size":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
  "an extension of a chunk of 1 MB": `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1;${"x".repeat(megabyte)}\r\na\r\n0\r\n\r\n`,
  "10,000 trailers": `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"x: y\r\n".repeat(10_000)}\r\n`,
  "an Expect that nobody knows":
    "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nexpect: the-unexpected\r\ncontent-length: 2\r\n\r\n{}",
  "an upgrade to WebSocket with a body":
    "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\ncontent-length: 5\r\n\r\nhello",
};

const attacks: readonly RawAttack[] = [
  ...Object.entries(badRequests).map(([name, text]) =>
    bytes(name, () => Buffer.from(text, "latin1")),
  ),
  bytes("a TLS greeting", () =>
    Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3, 0, 0, 13, 10, 13, 10]),
  ),
  bytes("1 MB of noise", () =>
    Buffer.from(Array.from({ length: megabyte }, (_, at) => (at * 7919) % 251)),
  ),
  bytes("10 MB of line ends", () => "\r\n".repeat(5 * megabyte), { isOpen: true }),
  ...Object.entries(packers).flatMap(([encoding, pack]): RawAttack[] => {
    const encoded = `content-encoding: ${encoding}\r\n`;
    return [
      bytes(
        `a bomb in ${encoding} of 300 MB of blanks`,
        (token) => sized(token, pack(Buffer.alloc(300 * megabyte, 32)), encoded),
        { alone: true, withinMs: 20_000 },
      ),
      bytes(
        `a body in ${encoding} that unpacks to 60 MB of {},`,
        (token) =>
          sized(
            token,
            pack(Buffer.from(`{"model":"script/m","messages":[${"{},".repeat(20 * megabyte)}{}]}`)),
            encoded,
          ),
        { alone: true, withinMs: 20_000 },
      ),
      bytes(
        `a body in ${encoding} that unpacks to 20 MB of brackets`,
        (token) =>
          sized(
            token,
            pack(Buffer.from(`{"model":"script/m","messages":${"[".repeat(20 * megabyte)}`)),
            encoded,
          ),
        { withinMs: 20_000 },
      ),
      bytes(`a body that is no ${encoding}`, (token) =>
        sized(token, Buffer.from("plain text"), encoded),
      ),
      bytes(`a body in ${encoding} that breaks off`, (token) =>
        sized(token, pack(Buffer.from(question)).subarray(0, -5), encoded),
      ),
      bytes(`a body in ${encoding} with more behind its end`, (token) =>
        sized(token, Buffer.concat([pack(Buffer.from(question)), Buffer.from("more")]), encoded),
      ),
      bytes(`a body in ${encoding} of no bytes`, (token) => sized(token, Buffer.alloc(0), encoded)),
    ];
  }),
  bytes("a body packed a hundred times", (token) => {
    let body: Uint8Array = Buffer.from(question);
    for (let times = 0; times < 100; times += 1) body = zlib.gzipSync(body);
    return sized(
      token,
      body,
      `content-encoding: ${Array<string>(100).fill("gzip").join(", ")}\r\n`,
    );
  }),
  bytes(
    "a body of 60 MB that is no JSON",
    (token) => sized(token, Buffer.alloc(60 * megabyte, 120)),
    { alone: true, withinMs: 20_000 },
  ),
  bytes(
    "a body of 60 MB in one text",
    (token) =>
      sized(
        token,
        Buffer.concat([
          Buffer.from('{"model":"script/m","messages":[{"role":"user","content":"'),
          Buffer.alloc(60 * megabyte, 120),
          Buffer.from('"}]}'),
        ]),
      ),
    { alone: true, withinMs: 30_000, slow: true },
  ),
  bytes(
    "a body of 200,000 messages",
    (token) =>
      sized(
        token,
        Buffer.from(
          `{"model":"script/m","messages":[${'{"role":"user","content":"x"},'.repeat(200_000)}{"role":"user","content":"x"}]}`,
        ),
      ),
    { alone: true, withinMs: 20_000 },
  ),
  bytes(
    "a body of 100,000 tools",
    (token) =>
      sized(
        token,
        Buffer.from(
          `{"model":"script/m","messages":[{"role":"user","content":"x"}],"tools":[${'{"type":"function","function":{"name":"a"}},'.repeat(100_000)}{"type":"function","function":{"name":"a"}}]}`,
        ),
      ),
    { alone: true, withinMs: 20_000 },
  ),
  bytes(
    "a body of a million duplicate keys",
    (token) => sized(token, Buffer.from(`{${'"a":1,'.repeat(1_000_000)}"model":"x"}`)),
    { withinMs: 20_000 },
  ),
  bytes(
    "a body of 500,000 different keys",
    (token) =>
      sized(
        token,
        Buffer.from(`{${Array.from({ length: 500_000 }, (_, at) => `"k${at}":1`).join(",")}}`),
      ),
    { withinMs: 20_000 },
  ),
  bytes("a body of numbers of 100,000 digits", (token) =>
    sized(
      token,
      Buffer.from(`{"model":"script/m","temperature":${"9".repeat(100_000)},"messages":[]}`),
    ),
  ),
  bytes("a body with a byte order mark", (token) => sized(token, Buffer.from(`\ufeff${question}`))),
  bytes("a body in UTF-16", (token) => sized(token, Buffer.from(question, "utf16le"))),
  bytes(
    "a thousand requests at once on one connection",
    (token) => head("GET", "/v1/models", token).repeat(1000),
    { withinMs: 20_000 },
  ),
  bytes(
    "a thousand requests without a token on one connection",
    () => "GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(1000),
    { withinMs: 20_000 },
  ),
  bytes(
    "a hundred different routes on one connection",
    (token) =>
      ["/", "/openapi.json", "/readyz", "/api/chats", "/nowhere"]
        .map((path) => head("GET", path, token))
        .join("")
        .repeat(20),
    { withinMs: 20_000 },
  ),
  bytes(
    "a good request between two bad ones",
    (token) =>
      `${post(token, "content-length: 3\r\n", "{x}")}${post(token, `content-length: ${question.length}\r\n`, question)}FLY / HTTP/1.1\r\n\r\n`,
  ),
  {
    name: "a body that never comes",
    isOpen: true,
    async write(connection, token) {
      await connection.write(post(token, "content-length: 100000\r\n"));
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
    name: "a good request one byte at a time",
    async write(connection, token) {
      for (const letter of post(token, `content-length: ${question.length}\r\n`, question))
        await connection.write(letter);
    },
  },
  {
    name: "a good request that expects 100",
    async write(connection, token) {
      await connection.write(
        post(token, `expect: 100-continue\r\ncontent-length: ${question.length}\r\n`),
      );
      await connection.until(() => connection.received.includes("100 Continue"), 3000);
      await connection.write(question);
    },
  },
  {
    name: "a client that leaves in the middle of its body, 200 times",
    isOpen: true,
    async write(connection, token) {
      await connection.write(post(token, "content-length: 5000\r\n", question));
      connection.destroy();
    },
  },
  {
    name: "a client that leaves in the middle of the reply",
    isOpen: true,
    async write(connection, token) {
      await connection.write(post(token, `content-length: ${question.length}\r\n`, question));
      await connection.until(() => connection.received.length > 0, 3000);
      connection.destroy();
    },
  },
  {
    name: "a client that closes its side before the reply",
    async write(connection, token) {
      await connection.write(post(token, `content-length: ${question.length}\r\n`, question));
      connection.end();
    },
  },
];

/** How often an attack is made by different connections at the same time. */
const connectionsAtOnce = 3;

export async function connectionsPart(
  token: string,
  isWanted: (name: string) => boolean,
): Promise<Part> {
  const model = await scriptedModel();
  const key = secretFor("script");
  const secrets = new SecretWatch({ "the key of the upstream": key, "the token": token });
  return {
    name: "hostile connections",
    toml: `[upstreams.script]\nbase_url = "${model.url}/v1"\nspeaks = "chat"\nmodels = ["m"]\napi_key = "${key}"\n`,
    cases: attacks
      .filter(({ name }) => isWanted(name))
      .map((attack) => caseOf(attack, token, secrets)),
    atOnce: 6,
    secrets,
    close: () => model.close(),
  };
}

function caseOf(attack: RawAttack, token: string, secrets: SecretWatch): AttackCase {
  const { name, alone, slow } = attack;
  const times = alone === true ? 1 : connectionsAtOnce;
  return {
    name,
    requests: times,
    ...(alone === true ? { alone } : {}),
    ...(slow === true ? { slow } : {}),
    async run(target) {
      const runs = Array.from({ length: times }, () =>
        faultsOf(attack, target.url, token, secrets),
      );
      return [...new Set((await Promise.all(runs)).flat())];
    },
  };
}

async function faultsOf(
  { write, isOpen, withinMs = 8000 }: RawAttack,
  url: string,
  token: string,
  secrets: SecretWatch,
): Promise<string[]> {
  const connection = new RawConnection(url);
  try {
    await write(connection, token);
    if (isOpen === true) return [];
    const isAnswered = (): boolean =>
      connection.isClosed || connection.statuses.some((status) => status >= 200);
    if (!(await connection.until(isAnswered, withinMs)))
      return [`no answer for ${withinMs / 1000} s`];
    return [
      ...connection.statuses
        .filter((status) => status >= 500)
        .map((status) => `status ${status}: ${connection.received.slice(0, 500)}`),
      ...secrets.leaks(connection.received),
      ...insidesIn(connection.received),
      ...(await followUpFaults(connection, token)),
    ];
  } finally {
    connection.destroy();
  }
}

/** On a connection that stays open the next request gets its answer, or the connection closes: it never hangs. */
async function followUpFaults(connection: RawConnection, token: string): Promise<string[]> {
  const before = connection.received.length;
  await connection.write(head("GET", "/v1/models/nothing", token));
  const isAnswered = (): boolean => connection.isClosed || connection.received.length > before;
  return (await connection.until(isAnswered, 8000))
    ? []
    : ["the next request on the same connection gets no answer for 8 s"];
}
