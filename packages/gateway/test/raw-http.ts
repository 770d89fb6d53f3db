import { once } from "node:events";
import { request, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { Readable } from "node:stream";

/*
 * Requests that fetch would not send: with any Host, in any encoding, in pieces, or no HTTP at all.
 */

export interface RawReply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Whether the body came to its end. */
  whole: boolean;
}

export async function ask(
  url: string,
  {
    method = "POST",
    headers = {},
    body,
  }: {
    method?: string;
    headers?: Record<string, string | string[]>;
    body?: string | Uint8Array | Readable;
  } = {},
): Promise<RawReply> {
  const sent = request(url, { method, headers, agent: false });
  const replied = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on("response", resolve);
    // A server that has answered may close before it has read everything.
    sent.on("error", reject);
  });
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) sent.end(body);
  else body.pipe(sent);
  const reply = await replied;
  let text = "";
  reply.setEncoding("utf8");
  reply.on("data", (piece: string) => (text += piece));
  reply.on("error", () => undefined);
  await new Promise((resolve) => reply.on("close", resolve));
  return { status: reply.statusCode ?? 0, headers: reply.headers, text, whole: reply.complete };
}

/** A bare connection, and what has come on it. */
export async function connection(
  url: string,
): Promise<{ socket: Socket; received: () => string; ended: Promise<void> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("data", (piece) => (text += String(piece)));
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return { socket, received: () => text, ended };
}

/** Everything that the server says to these bytes, until it closes. */
export async function say(url: string, bytes: string | Uint8Array): Promise<string> {
  const { socket, received, ended } = await connection(url);
  socket.write(bytes);
  await ended;
  return received();
}
