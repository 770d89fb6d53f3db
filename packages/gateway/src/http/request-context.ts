import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AccessKey } from "@deltawire/store";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import { GatewayError } from "../gateway-error.ts";
import type { RequestClient } from "../security/authenticator.ts";
import type { BodyMemory } from "./body-memory.ts";

export interface BodyLimits {
  /** Maximum size of a decompressed body. */
  readonly maxBytes: number;
  /** Maximum number of values in a JSON body. */
  readonly maxJsonValues: number;
  /** Shared by all requests in progress. */
  readonly memory: BodyMemory;
}

/** A client's request and its response. Handlers fill in the fields that are logged. */
export interface RequestContext {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** The client that the request's token belongs to. Undefined without a valid token. */
  readonly client: RequestClient | undefined;
  /** The owner of the request's access key, who only sees their own data. "" for tokens of the configuration, or no token. */
  readonly owner: string;
  /** The access key of the request, if it was sent with one. */
  readonly accessKey: AccessKey | undefined;
  /** Aborted if the client disconnects or the gateway stops. */
  readonly signal: AbortSignal;
  /** The value of `{…}` in the route's path; "" if the path has none. */
  readonly pathParam: string;
  /** The value of the second `{…}`; "" if the path has none. */
  readonly secondPathParam: string;
  readonly bodyLimits: BodyLimits;
  model: string | undefined;
  record: ExchangeRecord | undefined;
  firstByteAt: number | undefined;
}

/**
 * Returns the key that separates data of the client from that of others; "" without a valid token. The line feed before the owner
 * of an access key prevents collisions: names of configured clients contain no control characters.
 */
export function getClientScope({
  client,
  owner,
}: Pick<RequestContext, "client" | "owner">): string {
  return owner === "" ? (client?.name ?? "") : `\n${owner}`;
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": jsonContentType,
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** Sends encoded JSON with status 200. */
export function sendJsonBytes(
  response: ServerResponse,
  bytes: Buffer,
  headers: Record<string, string> = {},
): void {
  response.writeHead(200, {
    "content-type": jsonContentType,
    "content-length": bytes.length,
    ...headers,
  });
  response.end(bytes);
}

const jsonContentType = "application/json; charset=utf-8";

/**
 * Returns the option that a request header selects, else the default of the client's token, else the first of `allowed`.
 * Throws a GatewayError (400) for any other value.
 */
export function readOptionHeader<Option extends string>(
  context: { readonly request: Pick<IncomingMessage, "headers"> },
  header: string,
  allowed: readonly [fallback: Option, ...others: Option[]],
  tokenDefault: Option | undefined,
  /** Values of earlier versions, which are still accepted, with their replacements. */
  formerValues: ReadonlyMap<string, Option> = new Map(),
): Option {
  const value = context.request.headers[header];
  if (value === undefined) return tokenDefault ?? allowed[0];
  const match = allowed.find((option) => option === value);
  if (match !== undefined) return match;
  const renamed = typeof value === "string" ? formerValues.get(value) : undefined;
  if (renamed !== undefined) return renamed;
  throw new GatewayError(
    "invalid_header",
    `${header}: expected one of ${allowed.join(", ")}, got "${String(value)}"`,
    { param: header },
  );
}

/** True if If-None-Match contains the ETag, so that the reply is a 304. */
export function matchesEtag(etag: string, headers: IncomingHttpHeaders): boolean {
  const clientEtags = (headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim());
  return clientEtags.includes(etag) || clientEtags.includes("*");
}
