import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import * as zlib from "node:zlib";
import {
  defaultJsonLimits,
  describeJsonLimit,
  JsonLimitScanner,
  type JsonLimit,
  type JsonLimits,
} from "@deltawire/wire";
import { runTimeSliced } from "@deltawire/agent/basics";
import type { GenericSchema, InferOutput } from "valibot";
import { parseBody } from "../parse-body.ts";
import type { RequestContext } from "./request-context.ts";
import { parseJsonSteps } from "./parse-json-steps.ts";
import { GatewayError } from "../gateway-error.ts";

type BodyContext = Pick<RequestContext, "request" | "response" | "bodyLimits">;

/**
 * Returns the decompressed and parsed JSON body. Size, nesting and the number of values are checked while it is read, so
 * a body over a limit is never parsed. For an empty body returns `whenEmpty` or, if that is undefined, throws. At least
 * `minValues` values are allowed even if the configured limit is lower. Throws a GatewayError if the body is invalid.
 */
export async function readJsonBody(
  context: BodyContext,
  {
    maxBytes,
    minValues = 0,
    whenEmpty,
  }: { maxBytes?: number; minValues?: number; whenEmpty?: unknown } = {},
): Promise<unknown> {
  const { bodyLimits, response } = context;
  const maxValues = Math.max(bodyLimits.maxJsonValues, minValues);
  const limits = { ...defaultJsonLimits, maxValues };
  const scanner = new JsonLimitScanner(limits);
  const bytes = await collectBody(context, maxBytes, (chunk) => {
    const exceededLimit = scanner.push(chunk);
    if (exceededLimit !== undefined) throw createJsonLimitError(exceededLimit, limits);
  });
  bodyLimits.memory.charge(response, scanner.valueCount * bytesPerValue);
  const isLarge = bytes.length > largeBodyBytes;
  if (isLarge) await yieldToEventLoop();
  const text = bytes.toString("utf8");
  if (isLarge) await yieldToEventLoop();
  const value =
    scanner.valueCount > maxValuesPerParse
      ? await parseTimeSliced(text)
      : parseJsonText(text, whenEmpty);
  if (isLarge || scanner.valueCount > manyValues) await yieldToEventLoop();
  return value;
}

/** Returns the JSON body validated against a schema. Throws a GatewayError (400) that names the path of the invalid value. */
export async function readValidatedBody<const Schema extends GenericSchema>(
  context: BodyContext,
  schema: Schema,
  options: { whenEmpty?: unknown } = {},
): Promise<InferOutput<Schema>> {
  return parseBody(schema, await readJsonBody(context, options));
}

/** Rough memory of one parsed value, in addition to its text. */
const bytesPerValue = 100;
/** For larger bodies decoding and parsing run in separate turns of the event loop: each takes about 1 ms per MB. */
const largeBodyBytes = 4 * 1024 * 1024;
/** After parsing more values than this, the event loop gets a turn before the body is processed. */
const manyValues = 20_000;

/** Bodies with more values are parsed in several turns of the event loop. */
const maxValuesPerParse = defaultJsonLimits.maxValues;

async function parseTimeSliced(text: string): Promise<unknown> {
  try {
    return await runTimeSliced(parseJsonSteps(text));
  } catch (error) {
    throw new GatewayError(
      "invalid_json",
      `the body is not valid JSON: ${(error as Error).message}`,
    );
  }
}

function parseJsonText(text: string, whenEmpty: unknown): unknown {
  if (text.trim() === "") {
    if (whenEmpty !== undefined) return whenEmpty;
    throw new GatewayError("invalid_json", "the body is empty; send a JSON object");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new GatewayError(
      "invalid_json",
      `the body is not valid JSON: ${(error as Error).message}`,
    );
  }
}

function createJsonLimitError(exceededLimit: JsonLimit, limits: JsonLimits): GatewayError {
  const description = `the body ${describeJsonLimit(exceededLimit, limits)}`;
  return exceededLimit === "depth"
    ? new GatewayError("invalid_json", `${description}; flatten it`)
    : new GatewayError(
        "request_too_large",
        `${description}; send fewer, or raise server.max_json_values`,
      );
}

/** Returns the decompressed body. Throws a GatewayError (413) if it is larger than the limit. */
export function readBodyBytes(context: BodyContext): Promise<Buffer> {
  return collectBody(context);
}

async function collectBody(
  context: BodyContext,
  maxBytes?: number,
  onChunk?: (chunk: Buffer) => void,
): Promise<Buffer> {
  const { request, response, bodyLimits } = context;
  const chunks: Buffer[] = [];
  for await (const chunk of streamBody(request, maxBytes ?? bodyLimits.maxBytes)) {
    onChunk?.(chunk);
    bodyLimits.memory.charge(response, chunk.length);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
}

/**
 * Yields the decompressed body. Throws a GatewayError if it is larger than `maxBytes`, is truncated or cannot be
 * decompressed. Does not destroy the request: after an error the caller must discard the rest or close the connection.
 */
export async function* streamBody(
  request: IncomingMessage,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  assertContentLength(request, maxBytes);
  const decompressor = createDecompressor(request.headers["content-encoding"] ?? "identity");
  let size = 0;
  const fail = (error: Error): void => void decompressor?.destroy(error);
  try {
    if (decompressor !== undefined) {
      // A truncated request ends with an error, which `pipe` does not forward.
      request.once("error", fail);
      request.pipe(decompressor);
    }
    for await (const chunk of (decompressor ?? request).iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length;
      if (size > maxBytes) throw createTooLargeError(maxBytes);
      yield chunk as Buffer;
    }
  } catch (error) {
    throw toBodyError(error, decompressor !== undefined);
  } finally {
    if (decompressor !== undefined) {
      request.off("error", fail);
      request.unpipe(decompressor);
      decompressor.destroy();
    }
  }
}

/** Throws a GatewayError (413) if the Content-Length is over the limit, before the body is read. */
export function assertContentLength(request: IncomingMessage, maxBytes: number): void {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes)
    throw createTooLargeError(maxBytes);
}

/** True if the body has a content-encoding other than identity. */
export function isCompressed({ headers }: IncomingMessage): boolean {
  const encoding = (headers["content-encoding"] ?? "").trim().toLowerCase();
  return encoding !== "" && encoding !== "identity";
}

function createDecompressor(encoding: string): Transform | undefined {
  switch (encoding.trim().toLowerCase()) {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return zlib.createGunzip();
    case "deflate":
      return zlib.createInflate();
    case "br":
      return zlib.createBrotliDecompress();
    case "zstd":
      // RFC 9659: a window of at most 8 MB. Without this limit a frame of a few bytes makes the decoder allocate 128 MB.
      return zlib.createZstdDecompress({
        params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 },
      });
    default:
      throw new GatewayError(
        "encoding_not_supported",
        `content-encoding "${encoding.slice(0, 100)}" is not supported; use zstd, gzip, br, deflate or none`,
      );
  }
}

function toBodyError(error: unknown, wasCompressed: boolean): unknown {
  if (error instanceof GatewayError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE")
    return new GatewayError(
      "request_timeout",
      "the connection was closed before the complete body was received",
    );
  if (wasCompressed)
    return new GatewayError(
      "invalid_json",
      `the body cannot be decompressed: ${message}; check that content-encoding matches it`,
    );
  return error;
}

function createTooLargeError(maxBytes: number): GatewayError {
  // The limit may be less than a megabyte.
  const megabytes = Number((maxBytes / 1024 / 1024).toFixed(3));
  return new GatewayError(
    "request_too_large",
    `the body is larger than ${megabytes} MB; send less, or raise server.max_body_mb`,
  );
}
