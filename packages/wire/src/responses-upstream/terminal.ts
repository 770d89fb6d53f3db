import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Finish } from "../mapping/finish.ts";
import { upstreamFailure } from "../mapping/upstream-error.ts";

/** How a response ended, by the type of its terminal event. Whether there were calls is seen from the calls. */
export function finishOf(type: string, response: JsonObject): Finish {
  switch (type) {
    case "response.failed":
    case "response.cancelled": {
      const told = response["error"] ?? "the upstream failed and did not say why";
      return { kind: "failed", ...upstreamFailure(told) };
    }
    case "response.incomplete": {
      const { reason } = objectOf(response["incomplete_details"]);
      return { kind: reason === "content_filter" ? "content_filter" : "length" };
    }
    default:
      return { kind: "stop" };
  }
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
