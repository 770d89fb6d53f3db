import type { InputCheckResult } from "../schemas/input-schema.ts";
import { getErrorMessage } from "../event-text.ts";
import type { Tool } from "../tool.ts";
import { expandArguments } from "./expand-arguments.ts";
import type { Variables } from "./variables.ts";

/** `expanded` is the JSON that was checked, if references were replaced in it. */
export type CheckedToolArguments = InputCheckResult & { expanded?: string };

/**
 * Parses and checks the arguments of a call. Invalid JSON is not repaired. References to `variables` are expanded before
 * the check. Never throws.
 */
export async function checkToolArguments(
  tool: Tool,
  text: string,
  variables: Variables | undefined,
): Promise<CheckedToolArguments> {
  const json = text === "" ? "{}" : text;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return { ok: false, problems: [`the arguments are not valid JSON: ${getErrorMessage(error)}`] };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { ok: false, problems: ["the arguments must be a JSON object"] };
  try {
    const expansion = await expandArguments(tool, json, variables);
    if (!expansion.ok) return expansion;
    const checked = await tool.check(expansion.value);
    return expansion.text === undefined ? checked : { ...checked, expanded: expansion.text };
  } catch (error) {
    return {
      ok: false,
      problems: [`the arguments could not be checked: ${getErrorMessage(error)}`],
    };
  }
}
