import { Agent, request, type IncomingMessage } from "node:http";
import { SseDecoder, type SseEvent } from "@deltawire/wire";

/** A complete reply and its duration. */
export interface TimedReply {
  ms: number;
  body: Buffer;
}

export interface TimedRequest {
  url: string;
  /** If set, a POST with this JSON; else a GET. */
  json?: string;
}

const agent = new Agent({ keepAlive: true });

export async function sendTimed(requestOptions: TimedRequest): Promise<TimedReply> {
  const startedAt = performance.now();
  const reply = await openRequest(requestOptions);
  const parts: Buffer[] = [];
  for await (const part of reply) parts.push(part as Buffer);
  const ms = performance.now() - startedAt;
  const body = Buffer.concat(parts);
  if (reply.statusCode !== 200 && reply.statusCode !== 201)
    throw new Error(`${requestOptions.url}: ${reply.statusCode} ${body.toString().slice(0, 500)}`);
  return { ms, body };
}

/** Follows the feed until it has sent and parsed a number of changes. */
export async function catchUp(url: string, changes: number): Promise<TimedReply> {
  const startedAt = performance.now();
  const reply = await openRequest({ url });
  const decoder = new SseDecoder({ utf8: new TextDecoder() });
  const events: SseEvent[] = [];
  const parts: Buffer[] = [];
  let seen = 0;
  for await (const part of reply) {
    parts.push(part as Buffer);
    decoder.push(part as Buffer, events);
    for (const { data } of events.splice(0))
      if ((JSON.parse(data) as { type: string }).type === "chat.changed") seen += 1;
    if (seen >= changes) break; // closes the request
  }
  if (seen !== changes) throw new Error(`${url}: ${seen} changes instead of ${changes}`);
  return { ms: performance.now() - startedAt, body: Buffer.concat(parts) };
}

function openRequest({ url, json }: TimedRequest): Promise<IncomingMessage> {
  const method = json === undefined ? "GET" : "POST";
  const headers = json === undefined ? {} : { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers }, resolve);
    sent.on("error", reject);
    sent.end(json);
  });
}
