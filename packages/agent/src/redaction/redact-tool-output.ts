import type { ToolOutput } from "@deltawire/tasks";
import type { Redact } from "./redactor.ts";

/** Redacts every string in the output of a tool: the content for the model and the blocks for users. */
export function redactToolOutput(output: ToolOutput, redact: Redact): ToolOutput {
  const redactParts = <T extends object>(parts: readonly T[]): T[] =>
    parts.map((part) => {
      const entries = Object.entries(part).map(([name, value]) => [
        name,
        name === "type" ? (value as unknown) : redactValue(value, redact),
      ]);
      return Object.fromEntries(entries) as T;
    });
  return {
    message_content: redactParts(output.message_content),
    block_list: redactParts(output.block_list),
  };
}

/** Redacts every string in a value, at any depth. Bytes are unchanged. */
export function redactValue(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((element) => redactValue(element, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, element]) => [redact(name), redactValue(element, redact)]),
  );
}
