import type { JsonObject, JsonValue } from "@deltawire/wire";

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a string unchanged, and "" for anything else. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns undefined for text that is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
