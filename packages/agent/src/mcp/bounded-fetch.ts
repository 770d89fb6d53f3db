import {
  defaultJsonLimits,
  describeJsonLimit,
  encodeSse,
  JsonLimitScanner,
  SseDecoder,
  type SseEvent,
} from "@deltawire/wire";
import { yieldToEventLoop } from "../event-loop.ts";
import { ByteBuffer } from "./line-reader.ts";
import { maxErrorBytes, maxMessageBytes, findMessageProblem, messageTooLong } from "./limits.ts";

/** Minimum delay before a closed stream is reopened. A server may ask for a longer one. */
const minRetryMs = 1000;

/**
 * A `fetch` that limits the size of replies, which the MCP client reads completely into memory. A reply that is too large or
 * too complex is replaced by a JSON-RPC error.
 */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { body, status } = response;
  const isRedirect = status >= 300 && status < 400;
  if (body === null || isRedirect) return response;
  const buildFailure = (problem: string): string => buildErrorReply(init, problem);
  const buildResponse = (content: ReadableStream | Uint8Array<ArrayBuffer> | string): Response => {
    const headers = new Headers(response.headers);
    // The body is already decompressed, and may be truncated.
    for (const name of ["content-encoding", "content-length"]) headers.delete(name);
    return new Response(content, { status, statusText: response.statusText, headers });
  };
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && /^\s*text\/event-stream\b/i.test(type))
    return buildResponse(boundEventStream(body, buildFailure));
  if (response.ok && /^\s*application\/json\b/i.test(type)) {
    const json = await readBoundedJson(body);
    return buildResponse(typeof json === "string" ? buildFailure(json) : json);
  }
  return buildResponse(await readBodyStart(body));
}

/** Returns a JSON-RPC error for the request that was sent; "" for notifications, which have no reply. */
function buildErrorReply(init: RequestInit | undefined, problem: string): string {
  const sentMessage =
    typeof init?.body === "string" ? (JSON.parse(init.body) as unknown) : undefined;
  const { id } = (sentMessage ?? {}) as { id?: unknown };
  if (id === undefined) return "";
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    error: { code: -32_000, message: `reply rejected: ${problem}` },
  });
}

/** Returns the complete body, or a problem as a string. */
async function readBoundedJson(
  body: ReadableStream<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer> | string> {
  const scanner = new JsonLimitScanner(defaultJsonLimits);
  const bytes = new ByteBuffer();
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxMessageBytes) return messageTooLong;
    const exceededLimit = scanner.push(chunk);
    if (exceededLimit !== undefined)
      return `the server sent a message that ${describeJsonLimit(exceededLimit)}`;
    bytes.append(chunk);
  }
  return bytes.take();
}

async function readBodyStart(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxErrorBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxErrorBytes);
}

function boundEventStream(
  body: ReadableStream<Uint8Array>,
  buildFailure: (problem: string) => string,
): ReadableStream<Uint8Array> {
  const decoder = new SseDecoder({ utf8: new TextDecoder(), maxEventLength: maxMessageBytes });
  const encoder = new TextEncoder();
  const reader = body.getReader();
  let retry: number | undefined;
  const fail = async (
    controller: ReadableStreamDefaultController<Uint8Array>,
    problem: string,
  ): Promise<void> => {
    const reply = buildFailure(problem);
    if (reply === "") controller.error(new Error(problem));
    else {
      controller.enqueue(encoder.encode(encodeSse({ data: reply })));
      controller.close();
    }
    await reader.cancel().catch(() => undefined);
  };
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { value, done } = await reader.read();
        // Buffered chunks arrive without yielding: 20,000 notifications blocked the event loop for 220 ms.
        await yieldToEventLoop();
        const events: SseEvent[] = [];
        try {
          if (done) decoder.end("eof", events);
          else decoder.push(value, events);
        } catch {
          return fail(controller, messageTooLong);
        }
        let text = "";
        if (decoder.retry !== retry) {
          retry = decoder.retry;
          text += `retry: ${Math.max(minRetryMs, retry ?? 0)}\n\n`;
        }
        for (const { event, data, id, terminated } of events) {
          if (!terminated) continue;
          const problem = findMessageProblem(data);
          if (problem !== undefined) return fail(controller, problem);
          text += encodeSse({
            data,
            ...(event === undefined ? {} : { event }),
            ...(id === undefined ? {} : { id }),
          });
        }
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (done) controller.close();
        if (done || text !== "") return undefined;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
