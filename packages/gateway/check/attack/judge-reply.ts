import { parseJson, SseDecoder, type JsonObject, type SseEvent } from "@deltawire/wire";
import type { ClientReply } from "./client.ts";
import {
  findChatStreamFaults,
  findMessageFaults,
  findMessagesStreamFaults,
  findResponsesStreamFaults,
  isMessageErrorType,
} from "./judge-events.ts";
import { findInternals } from "./secrets.ts";
import type { Wire } from "./wires.ts";

/** What a client requested, and which API its upstream used. */
export interface ReplyExpectation {
  wire: Wire;
  stream: boolean;
  upstream: Wire;
}

/** Error codes for failures of the upstream. */
const upstreamFailures = [502, 503, 504];
/** Maximum length of an error: people must be able to read it. */
const maxErrorLength = 20_000;

/** Returns what is wrong with a client's reply, regardless of its upstream; empty if a client can read it. */
export function findReplyFaults(reply: ClientReply, expectation: ReplyExpectation): string[] {
  const faults = findEndFaults(reply);
  if (faults.length > 0 || reply.end === "client disconnected") return faults;
  if (reply.status !== 200) return findErrorFaults(reply, expectation.wire);
  return expectation.stream
    ? findStreamFaults(reply, expectation)
    : findCompleteReplyFaults(reply, expectation);
}

/** Returns what is wrong with the end of a reply. */
export function findEndFaults({ end, reason, status, text }: ClientReply): string[] {
  switch (end) {
    case "timeout":
      return [`no end of the reply (status ${status}): …${text.slice(-300)}`];
    case "failed":
      return [`no reply: ${reason}`];
    case "truncated":
      return [`the reply is truncated (status ${status}): …${text.slice(-300)}`];
    default:
      return [];
  }
}

/** Returns what is wrong with an error reply to a client of this API: its status, its format, or its content. */
export function findErrorFaults(
  { status, headers, text }: ClientReply,
  wire: Wire = "responses",
): string[] {
  const isOurs = status >= 500 && !upstreamFailures.includes(status);
  if (status < 400 || isOurs) return [`status ${status}: ${text.slice(0, 400)}`];
  const faults = findInternals(text);
  if (text.length > maxErrorLength) faults.push(`an error of ${text.length} characters`);
  if (headers["content-type"]?.startsWith("application/json") !== true)
    faults.push(`status ${status} with content-type ${headers["content-type"]}`);
  const { type, error } = (parseJson(text) ?? {}) as {
    type?: unknown;
    error?: Record<string, unknown>;
  };
  if (typeof error?.["message"] !== "string" || error["message"] === "")
    faults.push(`status ${status} without a message: ${text.slice(0, 300)}`);
  if (wire === "messages" && (type !== "error" || !isMessageErrorType(error?.["type"])))
    faults.push(`an error that is not in the format of the Messages API: ${text.slice(0, 300)}`);
  return faults;
}

function findCompleteReplyFaults(
  { text, isTrimmed }: ClientReply,
  { wire }: ReplyExpectation,
): string[] {
  if (isTrimmed) return [];
  const body = parseJson(text) as Record<string, unknown> | undefined;
  if (typeof body !== "object" || body === null)
    return [`a reply that is not a JSON object: ${text.slice(0, 300)}`];
  if (wire === "chat")
    return Array.isArray(body["choices"]) ? [] : [`no choices: ${text.slice(0, 300)}`];
  if (wire === "messages")
    return findMessageFaults(body as JsonObject).map((fault) => `${fault}: ${text.slice(0, 300)}`);
  const isEnded = ["completed", "incomplete", "failed"].includes(String(body["status"]));
  return isEnded ? [] : [`a response of status ${String(body["status"])}`];
}

function findStreamFaults(
  { text, isTrimmed, headers }: ClientReply,
  { wire, upstream }: ReplyExpectation,
): string[] {
  if (headers["content-type"]?.startsWith("text/event-stream") !== true)
    return [`a stream of content-type ${headers["content-type"]}`];
  // The last event of a long reply may start before the stored rest.
  if (isTrimmed) return text.endsWith("\n\n") ? [] : [`no end: …${text.slice(-300)}`];
  const frames: SseEvent[] = [];
  new SseDecoder({ maxEventLength: Number.POSITIVE_INFINITY }).push(text, frames);
  if (wire === "responses") {
    if (frames.at(-1)?.data !== "[DONE]") return [`no [DONE]: …${text.slice(-300)}`];
    frames.pop();
  }
  const events = frames.map(({ data }) => (data === "[DONE]" ? data : parseJson(data)));
  const unreadableFrame = frames.find((_, index) => events[index] === undefined);
  if (unreadableFrame !== undefined)
    return [`an event that is not JSON: ${unreadableFrame.data.slice(0, 300)}`];
  if (!isEnded(text, wire, frames.at(-1)?.data ?? "")) return [`no end: …${text.slice(-300)}`];
  if (wire === "chat") return findChatStreamFaults(events as ("[DONE]" | JsonObject)[]);
  if (wire === "messages") {
    const misnamed = frames.find(
      ({ event }, index) => event !== (events[index] as JsonObject)["type"],
    );
    return [
      ...(misnamed === undefined
        ? []
        : [`an event without its name: ${misnamed.data.slice(0, 300)}`]),
      ...findMessagesStreamFaults(events as JsonObject[]),
    ];
  }
  // Events of a Responses upstream are forwarded unchanged, except for the end.
  return upstream === "chat" ? findResponsesStreamFaults(events as JsonObject[]) : [];
}

/** True if a stream ends in a way that a client of its wire understands. */
function isEnded(text: string, wire: Wire, lastData: string): boolean {
  const lastEvent = text.slice(text.trimEnd().lastIndexOf("\n\n") + 1);
  if (wire === "chat")
    return lastEvent.includes("data: [DONE]") || lastEvent.includes('data: {"error"');
  if (wire === "messages")
    return /^(?:event: (?:message_stop|error)\n)/m.test(lastEvent.trimStart());
  return /"type":\s?"response\.(?:completed|incomplete|failed)"/.test(lastData);
}
