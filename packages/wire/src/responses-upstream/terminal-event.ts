import { assertNever } from "../error.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Finish } from "../mapping/finish-reason.ts";
import {
  isErrorValue,
  unknownFailureMessage,
  parseUpstreamFailure,
} from "../mapping/upstream-error.ts";
import type { ResponseTerminalEvent } from "../shapes/responses-reply.ts";

export type TerminalEventType = ResponseTerminalEvent["type"];

/**
 * Converts a terminal event to one of the three types that clients know; undefined if the event is not terminal.
 * `response.cancelled` becomes a failure, and `response.done` (of the Realtime API) is mapped by its response's status.
 */
export function normalizeTerminalEvent<Event extends JsonObject & { type: string }>(
  event: Event,
): (Event & { type: TerminalEventType }) | undefined {
  switch (event.type) {
    case "response.completed":
    case "response.incomplete":
      return event as Event & { type: TerminalEventType };
    case "response.failed":
    case "response.cancelled":
    case "response.canceled": {
      const response = asObject(event["response"]);
      const error = resolveFailure(response);
      if (event.type === "response.failed" && error === response["error"])
        return event as Event & { type: TerminalEventType };
      return { ...event, type: "response.failed", response: { ...response, error } };
    }
    case "response.done": {
      const type = getTerminalEventType(asObject(event["response"])) ?? "response.completed";
      return normalizeTerminalEvent({ ...event, type });
    }
    default:
      return undefined;
  }
}

/** Returns the terminal event type for a complete response; undefined if it is not finished. */
export function getTerminalEventType(response: JsonObject): string | undefined {
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
      if (isErrorValue(error)) return "response.failed";
      // Without a known status, the content decides.
      return Array.isArray(output) && (output.length > 0 || status === undefined || status === null)
        ? "response.completed"
        : undefined;
  }
}

/** Returns the error of a response. If it has none, an error that describes its status. */
function resolveFailure({ error, status }: JsonObject): JsonValue {
  if (error !== undefined && isErrorValue(error)) return error;
  if (status === "cancelled" || status === "canceled")
    return { code: "upstream_error", message: "the upstream canceled the response" };
  return { code: "upstream_error", message: unknownFailureMessage };
}

/** Returns how a response ended according to its terminal event. Its calls are considered later, by `resolveFinish`. */
export function parseTerminalFinish(type: TerminalEventType, response: JsonObject): Finish {
  switch (type) {
    case "response.failed":
      return { kind: "failed", ...parseUpstreamFailure(response["error"]) };
    case "response.incomplete": {
      const { reason } = asObject(response["incomplete_details"]);
      return { kind: reason === "content_filter" ? "content_filter" : "length" };
    }
    case "response.completed":
      return { kind: "stop" };
    default:
      return assertNever(type);
  }
}

/** Returns the error of an `error` event: its `error` field, or the event itself if the field is missing. */
export function getEventError(event: JsonObject): JsonValue {
  const { error } = event;
  return error !== undefined && isErrorValue(error) ? error : event;
}

export function asObject(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function asArray(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
