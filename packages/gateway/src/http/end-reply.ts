import type { ServerResponse } from "node:http";
import { encodeTaskEvent } from "@deltawire/tasks";
import { toErrorReply, toMessagesErrorReply, type GatewayError } from "../gateway-error.ts";
import { sendJson } from "./request-context.ts";
import type { RouteName } from "./routes.ts";

/** Returns an error as the last event of a stream. */
type ErrorFormatter = (error: GatewayError, requestId: string) => string;

const formatTaskStreamError: ErrorFormatter = ({ code, message }) =>
  encodeTaskEvent(JSON.stringify({ type: "stream.error", code, message }), undefined);

/** Without a `sequence_number`: the event is not part of the response, which a client can stream again. */
const formatResponsesError: ErrorFormatter = (error) => {
  const { error: fields } = toErrorReply(error).body;
  const { code, message, param } = error;
  const event = { type: "error", code, message, param: param ?? null, error: fields };
  return `event: error\ndata: ${JSON.stringify(event)}\n\n`;
};

const formatChatError: ErrorFormatter = (error) =>
  `data: ${JSON.stringify(toErrorReply(error).body)}\n\n`;

const formatMessagesError: ErrorFormatter = (error, requestId) =>
  `event: error\ndata: ${JSON.stringify(toMessagesErrorReply(error, { requestId }).body)}\n\n`;

const formatUiMessageError: ErrorFormatter = ({ message }) =>
  `data: ${JSON.stringify({ type: "error", errorText: message })}\n\ndata: [DONE]\n\n`;

/** Streams of other routes are cut off. */
const errorFormatters: Partial<Record<RouteName, ErrorFormatter>> = {
  responses: formatResponsesError,
  response: formatResponsesError,
  chat: formatChatError,
  messages: formatMessagesError,
  "start task": formatTaskStreamError,
  "task events": formatTaskStreamError,
  events: formatTaskStreamError,
  "chat events": formatTaskStreamError,
  "ui messages": formatUiMessageError,
  "resume ui messages": formatUiMessageError,
};

/** How long a client has to read the last event. */
const readTimeoutMs = 5000;

/**
 * Ends a reply with an error: an event if the reply is a stream, else a JSON reply if none has begun. Otherwise, or if the client
 * does not read or is still sending, closes the connection.
 */
export function endReply(response: ServerResponse, route: RouteName, error: GatewayError): void {
  if (response.writableEnded || response.destroyed) return;
  if (!response.req.complete) return void response.destroy();
  // Events that are written later are dropped.
  response.on("error", () => undefined);
  const requestId = String(response.getHeader("x-request-id"));
  if (!response.headersSent) {
    const { status, headers, body } =
      route === "messages" || route === "count tokens"
        ? toMessagesErrorReply(error, { requestId })
        : toErrorReply(error);
    return sendJson(response, status, body, headers);
  }
  const formatError = errorFormatters[route];
  // A client that does not read may have received part of an event.
  if (formatError === undefined || !isEventStream(response) || response.writableNeedDrain)
    return void response.destroy();
  response.end(formatError(error, requestId));
  const timer = setTimeout(() => response.destroy(), readTimeoutMs).unref();
  response.once("close", () => clearTimeout(timer));
}

function isEventStream(response: ServerResponse): boolean {
  return String(response.getHeader("content-type")).startsWith("text/event-stream");
}
