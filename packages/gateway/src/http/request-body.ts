import type { IncomingMessage } from "node:http";
import { Transform, type TransformCallback } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { Problem } from "./problem.ts";

/**
 * A JSON body, unpacked and parsed. What it unpacks to is bounded, not only what comes. `whenEmpty` stands for a body
 * that need not be sent.
 */
export async function readJson(
  request: IncomingMessage,
  maxBytes: number,
  whenEmpty?: unknown,
): Promise<unknown> {
  const text = (await readBytes(request, maxBytes)).toString("utf8");
  if (text.trim() === "") {
    if (whenEmpty !== undefined) return whenEmpty;
    throw new Problem("invalid_json", "the body is empty; send a JSON object");
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new Problem("invalid_json", `the body is no JSON: ${(error as Error).message}`);
  }
  if (isDeeperThan(parsed, deepest))
    throw new Problem(
      "invalid_json",
      `the body is nested deeper than ${deepest} levels; flatten it`,
    );
  return parsed;
}

/** A tree of some thousand levels parses, but JSON.stringify ends in a RangeError when it is sent on. */
const deepest = 300;

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const each of Object.values(value)) if (isDeeperThan(each, levels - 1)) return true;
  return false;
}

/** A body as bytes, unpacked and bounded. */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  const keep = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  };
  const unpacker = unpackerFor(request.headers["content-encoding"] ?? "identity");
  try {
    if (unpacker === undefined) for await (const chunk of request) keep(chunk as Buffer);
    else {
      const unpacked = pipeline(request, unpacker);
      // The loop below meets the same error.
      unpacked.catch(() => undefined);
      for await (const chunk of unpacker) keep(chunk as Buffer);
      await unpacked;
    }
  } catch (error) {
    throw bodyProblem(error, unpacker !== undefined);
  }
  return chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
}

/** The request's bytes as they are sent on: unpacked, and never more than the limit. */
export function unpackedStream(
  request: IncomingMessage,
  maxBytes: number,
): { stream: NodeJS.ReadableStream; packed: boolean } {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const unpacker = unpackerFor(request.headers["content-encoding"] ?? "identity");
  let size = 0;
  const bound = new Transform({
    transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
      size += chunk.length;
      if (size > maxBytes) done(tooLarge(maxBytes));
      else done(null, chunk);
    },
  });
  const stages = unpacker === undefined ? [request, bound] : [request, unpacker, bound];
  // Whoever reads `bound` sees the error; here it is only kept from being nobody's.
  pipeline(stages).catch((error: unknown) => bound.destroy(error as Error));
  return { stream: bound, packed: unpacker !== undefined };
}

function unpackerFor(encoding: string): (Transform & NodeJS.ReadWriteStream) | undefined {
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
      return zlib.createZstdDecompress();
    default:
      throw new Problem(
        "encoding_not_supported",
        `content-encoding "${encoding}" is not supported; use zstd, gzip, br, deflate or none`,
      );
  }
}

/** What a client is told of a body that could not be read to its end. */
export function bodyProblem(error: unknown, packed: boolean): unknown {
  if (error instanceof Problem) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE")
    return new Problem("request_timeout", "the request ended before its body was whole");
  if (packed) return new Problem("invalid_json", `the body cannot be unpacked: ${message}`);
  return error;
}

function tooLarge(maxBytes: number): Problem {
  const megabytes = Math.floor(maxBytes / 1024 / 1024);
  return new Problem(
    "request_too_large",
    `the body is larger than ${megabytes} MB; raise server.max_body_mb or send less`,
  );
}
