import { once } from "node:events";
import { request, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { Readable } from "node:stream";

/*
 * Requests that fetch would not send: with any Host, in any encoding, in chunks, or invalid HTTP.
 */

export interface RawReply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** True if the body is complete. */
  isComplete: boolean;
}

export async function sendRawRequest(
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
    // A server that has replied may close before it has read everything.
    sent.on("error", reject);
  });
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) sent.end(body);
  else body.pipe(sent);
  const reply = await replied;
  let text = "";
  reply.setEncoding("utf8");
  reply.on("data", (chunk: string) => (text += chunk));
  reply.on("error", () => undefined);
  await new Promise((resolve) => reply.on("close", resolve));
  return {
    status: reply.statusCode ?? 0,
    headers: reply.headers,
    text,
    isComplete: reply.complete,
  };
}

/** Opens a bare connection that collects what it receives. */
export async function openConnection(
  url: string,
): Promise<{ socket: Socket; received: () => string; ended: Promise<void> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("data", (chunk) => (text += String(chunk)));
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return { socket, received: () => text, ended };
}

/** Sends the bytes and returns everything that the server sends until it closes. */
export async function sendBytes(url: string, bytes: string | Uint8Array): Promise<string> {
  const { socket, received, ended } = await openConnection(url);
  socket.write(bytes);
  await ended;
  return received();
}
