import { unreachable } from "../error.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Finish } from "../mapping/finish.ts";
import { reportsError, unexplainedFailure, upstreamFailure } from "../mapping/upstream-error.ts";
import type { TerminalEvent } from "../shapes/responses-reply.ts";

export type TerminalType = TerminalEvent["type"];

/**
 * The terminal event with the meaning of `event`; undefined if the event is not terminal. Clients know three of them:
 * `response.cancelled` is a failure, and `response.done` (of the realtime wire) is what its response's status says.
 */
export function terminalEvent<Event extends JsonObject & { type: string }>(
  event: Event,
): (Event & { type: TerminalType }) | undefined {
  switch (event.type) {
    case "response.completed":
    case "response.incomplete":
      return event as Event & { type: TerminalType };
    case "response.failed":
    case "response.cancelled":
    case "response.canceled": {
      const response = objectOf(event["response"]);
      const error = failureOf(response);
      if (event.type === "response.failed" && error === response["error"])
        return event as Event & { type: TerminalType };
      return { ...event, type: "response.failed", response: { ...response, error } };
    }
    case "response.done": {
      const type = terminalType(objectOf(event["response"])) ?? "response.completed";
      return terminalEvent({ ...event, type });
    }
    default:
      return undefined;
  }
}

/** The terminal event that a complete response corresponds to; undefined while it is not finished. */
export function terminalType(response: JsonObject): string | undefined {
  const { status, error, output } = response;
  switch (status) {
    case "completed":
    case "incomplete":
    case "failed":
    case "cancelled":
      return `response.${status}`;
    case "canceled":
      return "response.cancelled";
    case "queued":
    case "in_progress":
      return undefined;
    default:
      if (reportsError(error)) return "response.failed";
      // No status, or one that nobody knows: what it holds decides.
      return Array.isArray(output) && (output.length > 0 || status === undefined || status === null)
        ? "response.completed"
        : undefined;
  }
}

/** Why a response failed; the same value if it says so itself. */
function failureOf({ error, status }: JsonObject): JsonValue {
  if (error !== undefined && reportsError(error)) return error;
  if (status === "cancelled" || status === "canceled")
    return { code: "upstream_error", message: "the upstream cancelled the response" };
  return { code: "upstream_error", message: unexplainedFailure };
}

/** How a response ended, by its terminal event. Whether there were calls is seen from the calls. */
export function finishOf(type: TerminalType, response: JsonObject): Finish {
  switch (type) {
    case "response.failed":
      return { kind: "failed", ...upstreamFailure(response["error"]) };
    case "response.incomplete": {
      const { reason } = objectOf(response["incomplete_details"]);
      return { kind: reason === "content_filter" ? "content_filter" : "length" };
    }
    case "response.completed":
      return { kind: "stop" };
    default:
      return unreachable(type);
  }
}

/** The error that an `error` event reports: its field, or the event itself. */
export function errorOfEvent(event: JsonObject): JsonValue {
  const { error } = event;
  return error !== undefined && reportsError(error) ? error : event;
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
