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
import { maxErrorBytes, maxMessageBytes, messageProblem, messageTooLong } from "./limits.ts";

/** How soon a stream may be opened again that has ended. A server may ask for more, not for less. */
const minRetryMs = 1000;

/**
 * A `fetch` whose replies are bounded: the client of the protocol reads them whole. In the place of one that is too large
 * or too complex, the request gets an error of JSON-RPC that says so.
 */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { body, status } = response;
  const isRedirect = status >= 300 && status < 400;
  if (body === null || isRedirect) return response;
  const fail = (problem: string): string => errorReply(init, problem);
  const bounded = (content: ReadableStream | Uint8Array<ArrayBuffer> | string): Response => {
    const headers = new Headers(response.headers);
    // It has been unpacked, and may be shorter.
    for (const name of ["content-encoding", "content-length"]) headers.delete(name);
    return new Response(content, { status, statusText: response.statusText, headers });
  };
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && /^\s*text\/event-stream\b/i.test(type))
    return bounded(boundedEvents(body, fail));
  if (response.ok && /^\s*application\/json\b/i.test(type)) {
    const read = await readJson(body);
    return bounded(typeof read === "string" ? fail(read) : read);
  }
  return bounded(await readStart(body));
}

/** For the requests of a message; other messages get no reply. */
function errorReply(init: RequestInit | undefined, problem: string): string {
  const sent = typeof init?.body === "string" ? (JSON.parse(init.body) as unknown) : undefined;
  const { id } = (sent ?? {}) as { id?: unknown };
  if (id === undefined) return "";
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    error: { code: -32_000, message: `the reply was dropped: ${problem}` },
  });
}

/** The whole body, or what is wrong with it. */
async function readJson(
  body: ReadableStream<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer> | string> {
  const scanner = new JsonLimitScanner(defaultJsonLimits);
  const bytes = new ByteBuffer();
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxMessageBytes) return messageTooLong;
    const exceeded = scanner.push(chunk);
    if (exceeded !== undefined) return `it sent a message that ${describeJsonLimit(exceeded)}`;
    bytes.append(chunk);
  }
  return bytes.take();
}

async function readStart(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxErrorBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxErrorBytes);
}

function boundedEvents(
  body: ReadableStream<Uint8Array>,
  fail: (problem: string) => string,
): ReadableStream<Uint8Array> {
  const decoder = new SseDecoder({ utf8: new TextDecoder(), maxEventLength: maxMessageBytes });
  const encoder = new TextEncoder();
  const reader = body.getReader();
  let retry: number | undefined;
  const end = async (
    controller: ReadableStreamDefaultController<Uint8Array>,
    problem: string,
  ): Promise<void> => {
    const reply = fail(problem);
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
        // What has been buffered is read without a turn of the event loop between: 20,000 notifications blocked it for 220 ms.
        await yieldToEventLoop();
        const events: SseEvent[] = [];
        try {
          if (done) decoder.end("eof", events);
          else decoder.push(value, events);
        } catch {
          return end(controller, messageTooLong);
        }
        let text = "";
        if (decoder.retry !== retry) {
          retry = decoder.retry;
          text += `retry: ${Math.max(minRetryMs, retry ?? 0)}\n\n`;
        }
        for (const { event, data, id, terminated } of events) {
          if (!terminated) continue;
          const problem = messageProblem(data);
          if (problem !== undefined) return end(controller, problem);
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
