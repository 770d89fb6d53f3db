import type { Checked } from "../schemas/input-schema.ts";
import { messageOf } from "../event-text.ts";
import type { Tool } from "../tool.ts";
import { expandArguments } from "./expanded-arguments.ts";
import type { Variables } from "./variables.ts";

/** `expanded`: the JSON that was checked, if references were replaced in it. */
export type CheckedArguments = Checked & { expanded?: string };

/**
 * Arguments are read strictly: what is not JSON is never mended and run. References to `variables` are expanded before
 * they are checked. Never throws.
 */
export async function checkArguments(
  tool: Tool,
  text: string,
  variables: Variables | undefined,
): Promise<CheckedArguments> {
  const json = text === "" ? "{}" : text;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return { ok: false, problems: [`the arguments are not JSON: ${messageOf(error)}`] };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { ok: false, problems: ["the arguments must be a JSON object"] };
  try {
    const given = await expandArguments(tool, json, variables);
    if (!given.ok) return given;
    const checked = await tool.check(given.value);
    return given.text === undefined ? checked : { ...checked, expanded: given.text };
  } catch (error) {
    return { ok: false, problems: [`the arguments could not be checked: ${messageOf(error)}`] };
  }
}
