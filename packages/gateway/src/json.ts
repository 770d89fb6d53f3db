import type { JsonObject, JsonValue } from "@deltawire/wire";

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A string, or "" for anything else. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** JSON.parse that answers undefined for text that is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
