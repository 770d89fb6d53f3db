import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ClientConfig } from "../config/config.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import { Problem } from "../problem.ts";
import type { BodyMemory } from "./body-memory.ts";

export interface BodyLimits {
  /** The largest body in bytes, unpacked. */
  readonly maxBytes: number;
  /** The most values of a JSON body. */
  readonly maxJsonValues: number;
  /** What all requests in progress share. */
  readonly memory: BodyMemory;
}

/** One request of a client, and what the log will tell of it. */
export interface Call {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Whose token it came with. */
  readonly client: ClientConfig | undefined;
  /** The client has left, or the gateway stops. */
  readonly signal: AbortSignal;
  /** What stands for `{…}` in the route's path. */
  readonly rest: string;
  readonly bodyLimits: BodyLimits;
  model: string | undefined;
  record: ExchangeRecord | undefined;
  firstByteAt: number | undefined;
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": jsonType,
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** Sends JSON that was built before, with status 200. */
export function sendJsonBytes(
  response: ServerResponse,
  bytes: Buffer,
  headers: Record<string, string> = {},
): void {
  response.writeHead(200, {
    "content-type": jsonType,
    "content-length": bytes.length,
    ...headers,
  });
  response.end(bytes);
}

const jsonType = "application/json; charset=utf-8";

/** A choice that a client makes by a header, else what its token says, else the usual. */
export function chosen<Word extends string>(
  call: Call,
  header: string,
  words: readonly [usual: Word, ...others: Word[]],
  ofToken: Word | undefined,
): Word {
  const given = call.request.headers[header];
  if (given === undefined) return ofToken ?? words[0];
  const word = words.find((each) => each === given);
  if (word !== undefined) return word;
  throw new Problem(
    "invalid_header",
    `${header}: expected one of ${words.join(", ")}, got "${String(given)}"`,
    { param: header },
  );
}

/** True if the client has this version already: the reply is 304. */
export function matchesEtag(etag: string, headers: IncomingHttpHeaders): boolean {
  const known = (headers["if-none-match"] ?? "").split(",").map((each) => each.trim());
  return known.includes(etag) || known.includes("*");
}
