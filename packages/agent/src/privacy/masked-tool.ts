import type { Placeholder } from "@deltawire/tasks/chats";
import { runInTurns } from "../event-loop.ts";
import type { Tool } from "../tool.ts";
import type { Vault } from "./vault.ts";

/**
 * A tool that says it wants no private values gets placeholders, as the model wrote them, and what it answers is told with
 * the values in it: the user reads it, and the model gets it masked again. Values that are new then are stored by `keep`
 * before; else the call fails. Every other tool is as it is.
 */
export function maskedTool(
  tool: Tool,
  vault: Vault,
  keep: (fresh: readonly Placeholder[]) => Promise<void>,
): Tool {
  if (tool.unmask !== false) return tool;
  const unmaskSteps = function* (text: string): Generator<void, string> {
    yield;
    return vault.unmask(text);
  };
  return {
    ...tool,
    check: (input) => tool.check(input),
    run: async (input, context) => {
      const masked = await runInTurns(
        eachText(input, (text) => vault.maskSteps(text)),
        context.signal,
      );
      const result = await tool.run(masked, context);
      const shown = await runInTurns(eachText(result, unmaskSteps));
      await vault.keepFresh(keep);
      return shown;
    },
  };
}

function* eachText(
  value: unknown,
  change: (text: string) => Generator<void, string>,
): Generator<void, unknown> {
  if (typeof value === "string") return yield* change(value);
  if (Array.isArray(value)) {
    const changed: unknown[] = [];
    for (const one of value) changed.push(yield* eachText(one, change));
    return changed;
  }
  if (!isPlain(value)) return value;
  const changed: [string, unknown][] = [];
  for (const [name, one] of Object.entries(value))
    changed.push([yield* change(name), yield* eachText(one, change)]);
  return Object.fromEntries(changed);
}

/** Bytes, dates and the like have no texts of their own. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
