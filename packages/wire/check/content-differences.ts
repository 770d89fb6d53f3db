import { isDeepStrictEqual } from "node:util";
import type { ReplyCall, ReplyContent } from "./reply-content.ts";

/**
 * Compares the content that a client received with the expected content. `isMessage`: for a Messages client, which receives
 * no blank text around other content and no total usage.
 */
export function findDifferences(
  expected: ReplyContent & { finish: string },
  content: ReplyContent,
  { isMessage = false }: { isMessage?: boolean } = {},
): string[] {
  const faults: string[] = [];
  const compare = (field: string, expectedValue: unknown, actual: unknown) => {
    if (!isDeepStrictEqual(expectedValue, actual))
      faults.push(`${field}: expected ${formatShort(expectedValue)}, got ${formatShort(actual)}`);
  };
  compare("status", expected.status, content.status);
  if (content.finish !== undefined) compare("finish", expected.finish, content.finish);
  if (expected.status === "incomplete")
    compare("reason", expected.incompleteReason, content.incompleteReason);
  if (
    expected.error !== undefined &&
    !content.error?.includes(JSON.stringify(expected.error).slice(1, -1))
  )
    compare("error", expected.error, content.error);
  for (const field of ["text", "reasoning", "refusal", "transcript"] as const)
    compare(
      field,
      isMessage ? expected[field].trim() : expected[field],
      isMessage ? content[field].trim() : content[field],
    );
  if (expected.annotations > 0) compare("annotations", expected.annotations, content.annotations);
  if (expected.order !== undefined && content.order !== undefined)
    compare("order", expected.order, content.order);
  compare("calls", expected.calls.map(toComparableCall), content.calls.map(toComparableCall));
  for (const [index, call] of content.calls.entries()) {
    const expectedValue = expected.calls[index];
    if (expectedValue === undefined) continue;
    if (call.isComplete !== undefined)
      compare(`call ${index} complete`, expectedValue.isComplete, call.isComplete);
    if (expectedValue.id.length >= 6) compare(`call ${index} id`, expectedValue.id, call.id);
  }
  if (expected.usage === undefined) compare("usage", undefined, content.usage);
  else
    for (const count of ["input", "output", ...(isMessage ? [] : (["total"] as const))] as const)
      compare(`usage ${count}`, expected.usage[count], content.usage?.[count]);
  return faults;
}

/** Returns the fields to compare. Arguments are compared as JSON, and blank ones count as `{}`. */
function toComparableCall(call: ReplyCall): unknown[] {
  const text = call.arguments.trim() === "" && call.kind === "function" ? "{}" : call.arguments;
  return [call.kind, call.name, call.kind === "custom" ? text : (parseJsonOrText(text) ?? text)];
}

/** Returns undefined for text that is not JSON. */
export function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function formatShort(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
