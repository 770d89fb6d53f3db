import type { Checked } from "./input-schema.ts";
import { messageOf } from "../event-text.ts";
import type { Tool } from "../tool.ts";

/** Arguments are read strictly: what is not JSON is never mended and run. Never throws. */
export async function checkArguments(tool: Tool, text: string): Promise<Checked> {
  let value: unknown;
  try {
    value = JSON.parse(text === "" ? "{}" : text);
  } catch (error) {
    return { ok: false, problems: [`the arguments are not JSON: ${messageOf(error)}`] };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { ok: false, problems: ["the arguments must be a JSON object"] };
  try {
    return await tool.check(value);
  } catch (error) {
    return { ok: false, problems: [`the arguments could not be checked: ${messageOf(error)}`] };
  }
}
