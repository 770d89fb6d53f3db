import type { Tool } from "../tool.ts";
import type { Vault } from "./vault.ts";

/**
 * A tool that says it wants no private values gets placeholders, as the model wrote them, and what it answers is told with
 * the values in it: the user reads it, and the model gets it masked again. Every other tool is as it is.
 */
export function maskedTool(tool: Tool, vault: Vault): Tool {
  if (tool.unmask !== false) return tool;
  return {
    ...tool,
    check: (input) => tool.check(input),
    run: async (input, context) => {
      const masked = eachText(input, (text) => vault.mask(text));
      return eachText(await tool.run(masked, context), (text) => vault.unmask(text));
    },
  };
}

function eachText(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((one) => eachText(one, change));
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [change(name), eachText(one, change)]),
  );
}

/** Bytes, dates and the like have no texts of their own. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
