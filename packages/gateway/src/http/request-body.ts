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
import { runInTurns } from "@deltawire/agent";
import type { GenericSchema, InferOutput } from "valibot";
import { parseBody } from "../parse-body.ts";
import type { Call } from "./call.ts";
import { parseJsonSteps } from "./parse-json-steps.ts";
import { Problem } from "../problem.ts";

/** Bounds of every request body. */
type BodyCall = Pick<Call, "request" | "response" | "bodyLimits">;

/**
 * Returns the JSON body, unpacked and parsed. Size, nesting and the number of values are checked while it is read, so
 * that nothing large is built of a body that is over a limit. `whenEmpty` stands for a body that need not be sent;
 * `minValues` are allowed whatever the configured limit is.
 */
export async function readJson(
  call: BodyCall,
  {
    maxBytes,
    minValues = 0,
    whenEmpty,
  }: { maxBytes?: number; minValues?: number; whenEmpty?: unknown } = {},
): Promise<unknown> {
  const { bodyLimits, response } = call;
  const maxValues = Math.max(bodyLimits.maxJsonValues, minValues);
  const limits = { ...defaultJsonLimits, maxValues };
  const scanner = new JsonLimitScanner(limits);
  const bytes = await readAll(call, maxBytes, (chunk) => {
    const exceeded = scanner.push(chunk);
    if (exceeded !== undefined) throw jsonProblem(exceeded, limits);
  });
  bodyLimits.memory.charge(response, scanner.values * bytesPerValue);
  const isLarge = bytes.length > largeBytes;
  if (isLarge) await yieldToEventLoop();
  const text = bytes.toString("utf8");
  if (isLarge) await yieldToEventLoop();
  const parsed =
    scanner.values > mostParsedAtOnce ? await parseInTurns(text) : parse(text, whenEmpty);
  if (isLarge || scanner.values > manyValues) await yieldToEventLoop();
  return parsed;
}

/** Returns the JSON body as its schema has it. Throws a Problem that names the path of what is wrong. */
export async function readBody<const Schema extends GenericSchema>(
  call: BodyCall,
  schema: Schema,
  options: { whenEmpty?: unknown } = {},
): Promise<InferOutput<Schema>> {
  return parseBody(schema, await readJson(call, options));
}

/** What a parsed value takes beside its text, roughly. */
const bytesPerValue = 100;
/** From here on decoding and parsing are separate turns of the event loop: each takes about 1 ms per MB. */
const largeBytes = 4 * 1024 * 1024;
const manyValues = 20_000;

/** More values are parsed in several turns of the event loop. */
const mostParsedAtOnce = defaultJsonLimits.maxValues;

async function parseInTurns(text: string): Promise<unknown> {
  try {
    return await runInTurns(parseJsonSteps(text));
  } catch (error) {
    throw new Problem("invalid_json", `the body is no JSON: ${(error as Error).message}`);
  }
}

function parse(text: string, whenEmpty: unknown): unknown {
  if (text.trim() === "") {
    if (whenEmpty !== undefined) return whenEmpty;
    throw new Problem("invalid_json", "the body is empty; send a JSON object");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem("invalid_json", `the body is no JSON: ${(error as Error).message}`);
  }
}

function jsonProblem(exceeded: JsonLimit, limits: JsonLimits): Problem {
  const description = `the body ${describeJsonLimit(exceeded, limits)}`;
  return exceeded === "depth"
    ? new Problem("invalid_json", `${description}; flatten it`)
    : new Problem(
        "request_too_large",
        `${description}; raise server.max_json_values or send fewer`,
      );
}

/** Returns the body as bytes, unpacked and bounded. */
export function readBytes(call: BodyCall): Promise<Buffer> {
  return readAll(call);
}

async function readAll(
  call: BodyCall,
  maxBytes?: number,
  check?: (chunk: Buffer) => void,
): Promise<Buffer> {
  const { request, response, bodyLimits } = call;
  const chunks: Buffer[] = [];
  for await (const chunk of bodyChunks(request, maxBytes ?? bodyLimits.maxBytes)) {
    check?.(chunk);
    bodyLimits.memory.charge(response, chunk.length);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
}

/**
 * Yields the body unpacked, at most `maxBytes` of it. Throws a Problem for a body that is larger, is cut or cannot be
 * unpacked. The request is never destroyed: the rest of its body still has to be skipped, or the connection closed.
 */
export async function* bodyChunks(
  request: IncomingMessage,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  checkAnnouncedLength(request, maxBytes);
  const unpacker = createUnpacker(request.headers["content-encoding"] ?? "identity");
  let size = 0;
  const fail = (error: Error): void => void unpacker?.destroy(error);
  try {
    if (unpacker !== undefined) {
      // A request that is cut ends with an error, and a pipe passes none on.
      request.once("error", fail);
      request.pipe(unpacker);
    }
    for await (const chunk of (unpacker ?? request).iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      yield chunk as Buffer;
    }
  } catch (error) {
    throw bodyProblem(error, unpacker !== undefined);
  } finally {
    if (unpacker !== undefined) {
      request.off("error", fail);
      request.unpipe(unpacker);
      unpacker.destroy();
    }
  }
}

/** Throws a Problem if the Content-Length is over the limit, before any of the body is read. */
export function checkAnnouncedLength(request: IncomingMessage, maxBytes: number): void {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

/** True if the body is sent in a content coding that has to be undone. */
export function isPacked({ headers }: IncomingMessage): boolean {
  const encoding = (headers["content-encoding"] ?? "").trim().toLowerCase();
  return encoding !== "" && encoding !== "identity";
}

function createUnpacker(encoding: string): Transform | undefined {
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
      // RFC 9659: at most 8 MB. Without it a frame of a few bytes makes the decoder allocate 128 MB.
      return zlib.createZstdDecompress({
        params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 },
      });
    default:
      throw new Problem(
        "encoding_not_supported",
        `content-encoding "${encoding.slice(0, 100)}" is not supported; use zstd, gzip, br, deflate or none`,
      );
  }
}

function bodyProblem(error: unknown, packed: boolean): unknown {
  if (error instanceof Problem) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE")
    return new Problem("request_timeout", "the request ended before its body was whole");
  if (packed)
    return new Problem(
      "invalid_json",
      `the body cannot be unpacked: ${message}; compress it as its content-encoding says`,
    );
  return error;
}

function tooLarge(maxBytes: number): Problem {
  const megabytes = Math.floor(maxBytes / 1024 / 1024);
  return new Problem(
    "request_too_large",
    `the body is larger than ${megabytes} MB; raise server.max_body_mb or send less`,
  );
}
