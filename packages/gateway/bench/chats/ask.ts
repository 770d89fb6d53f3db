import { Agent, request, type IncomingMessage } from "node:http";
import { SseDecoder, type SseEvent } from "@deltawire/wire";

/** A reply that has come whole, and how long that took. */
export interface Answered {
  ms: number;
  body: Buffer;
}

export interface Asked {
  url: string;
  /** A POST with this JSON; a GET without. */
  json?: string;
}

const agent = new Agent({ keepAlive: true });

export async function ask(asked: Asked): Promise<Answered> {
  const begun = performance.now();
  const reply = await opened(asked);
  const parts: Buffer[] = [];
  for await (const part of reply) parts.push(part as Buffer);
  const ms = performance.now() - begun;
  const body = Buffer.concat(parts);
  if (reply.statusCode !== 200 && reply.statusCode !== 201)
    throw new Error(`${asked.url}: ${reply.statusCode} ${body.toString().slice(0, 500)}`);
  return { ms, body };
}

/** Follows the feed until so many changes are there, parsed. */
export async function catchUp(url: string, changes: number): Promise<Answered> {
  const begun = performance.now();
  const reply = await opened({ url });
  const decoder = new SseDecoder({ utf8: new TextDecoder() });
  const events: SseEvent[] = [];
  const parts: Buffer[] = [];
  let seen = 0;
  for await (const part of reply) {
    parts.push(part as Buffer);
    decoder.push(part as Buffer, events);
    for (const { data } of events.splice(0))
      if ((JSON.parse(data) as { type: string }).type === "chat.changed") seen += 1;
    if (seen >= changes) break; // which closes it
  }
  if (seen !== changes) throw new Error(`${url}: ${seen} changes instead of ${changes}`);
  return { ms: performance.now() - begun, body: Buffer.concat(parts) };
}

function opened({ url, json }: Asked): Promise<IncomingMessage> {
  const method = json === undefined ? "GET" : "POST";
  const headers = json === undefined ? {} : { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers }, resolve);
    sent.on("error", reject);
    sent.end(json);
  });
}
