import { assertNever } from "../error.ts";
import type { UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import { shortHash } from "../short-hash.ts";

/** The fields of a call from which a new id is generated if its own is not usable. */
interface NamedCall {
  id: string;
  name: string;
}

/** Assigns each call of a history the id that is sent upstream: unique, and the same for the call and its result. */
export function assignCallIds<Call extends NamedCall>(
  calls: readonly Call[],
  format: UpstreamProfile["callIds"],
  repairs: Repairs,
): Map<Call, string> {
  const ids = new Map<Call, string>();
  const usedIds = new Set<string>();
  const attemptsById = new Map<string, number>();
  const claim = (call: Call, id: string): void => {
    usedIds.add(id);
    ids.set(call, id);
  };
  // Reserve valid ids first, so that no other call is assigned one of them.
  for (const call of calls)
    if (callIdPatterns[format].test(call.id) && !usedIds.has(call.id)) claim(call, call.id);
  calls.forEach((call, index) => {
    if (ids.has(call)) return;
    let id = generateCallId(call.id, call.name, index, format);
    while (usedIds.has(id)) {
      const attempt = (attemptsById.get(call.id) ?? 0) + 1;
      attemptsById.set(call.id, attempt);
      id = generateCallId(
        `${call.id}_${attempt}`,
        call.name,
        calls.length + index + attempt,
        format,
      );
    }
    repairs.add("call_id_changed", `${call.id} -> ${id}`);
    claim(call, id);
  });
  return ids;
}

const callIdPatterns: Record<UpstreamProfile["callIds"], RegExp> = {
  verbatim: /./s,
  "nine-alphanumerics": /^[A-Za-z0-9]{9}$/,
  "functions-name-index": /^functions\.[\w-]+:\d+$/,
};

function generateCallId(
  callId: string,
  name: string,
  index: number,
  format: UpstreamProfile["callIds"],
): string {
  switch (format) {
    case "verbatim":
      return callId === "" ? `call_${index}` : callId;
    case "nine-alphanumerics":
      return shortHash(callId, 9);
    case "functions-name-index":
      // Kimi numbers the calls of the complete conversation.
      return `functions.${name}:${index}`;
    default:
      return assertNever(format);
  }
}
