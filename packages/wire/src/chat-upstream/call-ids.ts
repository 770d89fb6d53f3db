import { unreachable } from "../error.ts";
import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import { shortHash } from "../tools/names.ts";

/** What an id is made of, where a call's own does not serve. */
interface NamedCall {
  id: string;
  name: string;
}

/** The id under which each call of a history goes upstream: unique, and the same for the call and its result. */
export function upstreamCallIds<Call extends NamedCall>(
  calls: readonly Call[],
  form: Profile["callIds"],
  repairs: Repairs,
): Map<Call, string> {
  const ids = new Map<Call, string>();
  const taken = new Set<string>();
  const repeats = new Map<string, number>();
  const claim = (call: Call, id: string): void => {
    taken.add(id);
    ids.set(call, id);
  };
  // Ids that are right as they are come first, so that no other call is given one of them.
  for (const call of calls)
    if (patterns[form].test(call.id) && !taken.has(call.id)) claim(call, call.id);
  calls.forEach((call, index) => {
    if (ids.has(call)) return;
    let id = mint(call.id, call.name, index, form);
    while (taken.has(id)) {
      const again = (repeats.get(call.id) ?? 0) + 1;
      repeats.set(call.id, again);
      id = mint(`${call.id}_${again}`, call.name, calls.length + index + again, form);
    }
    repairs.add("call_id_changed", `${call.id} -> ${id}`);
    claim(call, id);
  });
  return ids;
}

const patterns: Record<Profile["callIds"], RegExp> = {
  verbatim: /./s,
  "nine-alphanumerics": /^[A-Za-z0-9]{9}$/,
  "functions-name-index": /^functions\.[\w-]+:\d+$/,
};

function mint(callId: string, name: string, index: number, form: Profile["callIds"]): string {
  switch (form) {
    case "verbatim":
      return callId === "" ? `call_${index}` : callId;
    case "nine-alphanumerics":
      return shortHash(callId, 9);
    case "functions-name-index":
      // Kimi counts the calls of the whole conversation.
      return `functions.${name}:${index}`;
    default:
      return unreachable(form);
  }
}
