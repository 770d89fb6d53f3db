import type { Checked } from "./input-schema.ts";
import { messageOf } from "../event-text.ts";
import type { Tool } from "../tool.ts";
import { expanded } from "../variables/expanded-arguments.ts";
import type { Variables } from "../variables/variables.ts";

/**
 * Arguments are read strictly: what is not JSON is never mended and run. References to `variables` are expanded before
 * they are checked. Never throws.
 */
export async function checkArguments(
  tool: Tool,
  text: string,
  variables: Variables | undefined,
): Promise<Checked> {
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
    const given = await expanded(tool.name, json, variables);
    return given.ok ? await tool.check(given.value) : given;
  } catch (error) {
    return { ok: false, problems: [`the arguments could not be checked: ${messageOf(error)}`] };
  }
}
