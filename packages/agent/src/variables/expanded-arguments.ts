import type { Checked } from "../schemas/input-schema.ts";
import { expandReferences, referencesIn } from "./expand.ts";
import { variableTools } from "./own-names.ts";
import type { Variables } from "./variables.ts";

/** Names that are told to a model which has used none of them. */
const mostNames = 50;

/** What the text of arguments says, with texts in the place of their names, as a tool gets it. */
export async function expanded(
  tool: string,
  args: string,
  variables: Variables | undefined,
): Promise<Checked> {
  if (variables === undefined || Object.values<string>(variableTools).includes(tool))
    return { ok: true, value: JSON.parse(args) };
  const values = new Map<string, string>();
  const unknown: string[] = [];
  for (const name of referencesIn(args)) {
    const value = await variables.read(name);
    if (value === undefined) unknown.push(name);
    else values.set(name, value);
  }
  if (unknown.length > 0) return { ok: false, problems: await problems(unknown, variables) };
  return { ok: true, value: expandReferences(args, values) };
}

async function problems(unknown: readonly string[], variables: Variables): Promise<string[]> {
  const names = (await variables.list()).map(({ name }) => name);
  const more = names.length > mostNames ? `, and ${names.length - mostNames} more` : "";
  const there =
    names.length === 0
      ? "there are none"
      : `there are ${names.slice(-mostNames).join(", ")}${more}`;
  return unknown.map((name) => `there is no variable "${name}" to put in: ${there}`);
}
