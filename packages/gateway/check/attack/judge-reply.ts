import { parseJson, SseDecoder, type JsonObject, type SseEvent } from "@deltawire/wire";
import type { ClientReply } from "./client.ts";
import { chatFaults, responsesFaults } from "./judge-events.ts";
import { insidesIn } from "./secrets.ts";

export type Wire = "chat" | "responses";

/** What a client asked for, and on which wire its upstream answered. */
export interface Asked {
  wire: Wire;
  stream: boolean;
  upstream: Wire;
}

/** Failures that are the upstream's, and ours to report. */
const upstreamFailures = [502, 503, 504];
/** An error is read by people: the whole of what a provider wrote is not. */
const longestErrorBody = 20_000;

/** What is wrong with the reply that a client got, whatever its upstream did; empty if a client can read it. */
export function replyFaults(reply: ClientReply, asked: Asked): string[] {
  const faults = endFaults(reply);
  if (faults.length > 0 || reply.end === "left") return faults;
  if (reply.status !== 200) return errorFaults(reply);
  return asked.stream ? streamFaults(reply, asked) : completeFaults(reply, asked);
}

/** What is wrong with how a reply ended. */
export function endFaults({ end, reason, status, text }: ClientReply): string[] {
  switch (end) {
    case "timeout":
      return [`no end of the reply (status ${status}): …${text.slice(-300)}`];
    case "failed":
      return [`no reply: ${reason}`];
    case "cut":
      return [`the reply is cut (status ${status}): …${text.slice(-300)}`];
    default:
      return [];
  }
}

/** What is wrong with a reply that is an error: its status, its shape, or what it shows. */
export function errorFaults({ status, headers, text }: ClientReply): string[] {
  const isOurs = status >= 500 && !upstreamFailures.includes(status);
  if (status < 400 || isOurs) return [`status ${status}: ${text.slice(0, 400)}`];
  const faults = insidesIn(text);
  if (text.length > longestErrorBody) faults.push(`an error of ${text.length} characters`);
  if (headers["content-type"]?.startsWith("application/json") !== true)
    faults.push(`status ${status} with content-type ${headers["content-type"]}`);
  const { error } = (parseJson(text) ?? {}) as { error?: Record<string, unknown> };
  if (typeof error?.["message"] !== "string" || error["message"] === "")
    faults.push(`status ${status} without a message: ${text.slice(0, 300)}`);
  return faults;
}

function completeFaults({ text, isTrimmed }: ClientReply, { wire }: Asked): string[] {
  if (isTrimmed) return [];
  const body = parseJson(text) as Record<string, unknown> | undefined;
  if (typeof body !== "object" || body === null)
    return [`a reply that is no JSON object: ${text.slice(0, 300)}`];
  if (wire === "chat")
    return Array.isArray(body["choices"]) ? [] : [`no choices: ${text.slice(0, 300)}`];
  const isEnded = ["completed", "incomplete", "failed"].includes(String(body["status"]));
  return isEnded ? [] : [`a response of status ${String(body["status"])}`];
}

function streamFaults(
  { text, isTrimmed, headers }: ClientReply,
  { wire, upstream }: Asked,
): string[] {
  if (headers["content-type"]?.startsWith("text/event-stream") !== true)
    return [`a stream of content-type ${headers["content-type"]}`];
  // The last event of a flood may begin before what is left of it.
  if (isTrimmed) return text.endsWith("\n\n") ? [] : [`no end: …${text.slice(-300)}`];
  const frames: SseEvent[] = [];
  new SseDecoder({ maxEventLength: Number.POSITIVE_INFINITY }).push(text, frames);
  const events = frames.map(({ data }) => (data === "[DONE]" ? data : parseJson(data)));
  const unreadable = frames.find((_, at) => events[at] === undefined);
  if (unreadable !== undefined)
    return [`an event that is no JSON: ${unreadable.data.slice(0, 300)}`];
  if (!isEnded(text, wire)) return [`no end: …${text.slice(-300)}`];
  if (wire === "chat") return chatFaults(events as ("[DONE]" | JsonObject)[]);
  // A Responses upstream's events are passed on as they are, but for their end.
  return upstream === "chat" ? responsesFaults(events as JsonObject[]) : [];
}

/** True if a stream ends in a way that a client of its wire understands. */
function isEnded(text: string, wire: Wire): boolean {
  const last = text.slice(text.trimEnd().lastIndexOf("\n\n") + 1);
  if (wire === "chat") return last.includes("data: [DONE]") || last.includes('data: {"error"');
  return /"type":\s?"response\.(?:completed|incomplete|failed)"/.test(last);
}
