import type { ToolOutput } from "@deltawire/tasks";
import type { Redact } from "./redactor.ts";

/** What a tool gave, parts for the model and blocks for people, with every text in it as `redact` leaves it. */
export function redactedOutput(output: ToolOutput, redact: Redact): ToolOutput {
  const each = <T extends object>(parts: readonly T[]): T[] =>
    parts.map((part) => {
      const entries = Object.entries(part).map(([name, value]) => [
        name,
        name === "type" ? (value as unknown) : redacted(value, redact),
      ]);
      return Object.fromEntries(entries) as T;
    });
  return { message_content: each(output.message_content), block_list: each(output.block_list) };
}

/** Every text in a value, at any depth; bytes stay. */
export function redacted(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((one) => redacted(one, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [redact(name), redacted(one, redact)]),
  );
}
