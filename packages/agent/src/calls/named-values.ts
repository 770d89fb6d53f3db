import type { ContentPart, JsonObject, Outcome, ToolCallItem } from "@deltawire/tasks";
import { approvedFor, editedArguments } from "../approvals/call-approval.ts";
import { ownNames } from "../define-tool.ts";
import { messageOf } from "../event-text.ts";
import type { CallContext } from "./call-context.ts";
import { expandArguments, readExpansion } from "../variables/expanded-arguments.ts";
import { variableTools } from "../variables/variables.ts";

/** A longer text gets a name, by which the model can pass it on. */
export const longestUnnamed = 4000;

/** Their results can be had again as they were. */
const readers = new Set<string>([
  variableTools.list,
  variableTools.read,
  ownNames.read,
  "read_skill",
]);

/** A variable of the session that holds what a tool gave. The model can read it in pages if it has the tool for that. */
export interface Named {
  name: string;
  readable: boolean;
}

/** Keeps the text of a result that the model may be told, if it is long. */
export async function namedResult(
  run: CallContext,
  { call_id, name: tool }: ToolCallItem,
  outcome: Outcome,
  text: string,
): Promise<Named | undefined> {
  if (outcome !== "completed" && outcome !== "failed") return undefined;
  if (text.length <= longestUnnamed || readers.has(tool)) return undefined;
  const name = await kept(run, text, { callId: call_id, tool, part: "result" });
  return name === undefined
    ? undefined
    : { name, readable: run.toolset.tools.has(variableTools.read) };
}

export function nameNote(name: string): string {
  return `[kept as {{var:${name}}}]`;
}

/** Keeps the long texts among the arguments of a call that was run; what the model is told of that. */
export async function namedArguments(run: CallContext, call: ToolCallItem): Promise<ContentPart[]> {
  const { variables } = run.tree;
  const args = editedArguments(run, call) ?? call.arguments;
  const ran = run.task.state.executions.some(({ call_id }) => call_id === call.call_id);
  if (variables === undefined || !ran || args.length <= longestUnnamed) return [];
  const notes: ContentPart[] = [];
  const written = JSON.parse(args) as JsonObject;
  const given = (await givenTo(run, call, args).catch(() => undefined)) ?? written;
  for (const [name, text] of Object.entries(written)) {
    if (typeof text !== "string" || text.length <= longestUnnamed) continue;
    const from = { callId: call.call_id, tool: call.name, part: partOf(name) };
    const { [name]: value = text } = given as Record<string, string>;
    const variable = await kept(run, value, from);
    if (variable !== undefined)
      notes.push({ type: "text", text: `[the argument ${name} is kept as {{var:${variable}}}]` });
  }
  return notes;
}

/** The arguments as the tool got them. */
async function givenTo(
  run: CallContext,
  call: ToolCallItem,
  args: string,
): Promise<JsonObject | undefined> {
  const { options, variables } = run.tree;
  const approved = approvedFor(run, call);
  if (approved !== undefined) {
    const text = await readExpansion(approved, options.blobs);
    return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
  }
  const expansion = await expandArguments(call, args, variables);
  return expansion.ok ? (expansion.value as JsonObject) : undefined;
}

/** An argument that is named as a result is told apart from it. */
function partOf(argument: string): string {
  return /^(?:arguments\.)*result$/.test(argument) ? `arguments.${argument}` : argument;
}

/** What cannot be kept has no name; the call is none the worse for it. */
async function kept(
  { tree }: CallContext,
  text: string,
  from: { callId: string; tool: string; part: string },
): Promise<string | undefined> {
  try {
    return await tree.variables?.keep(text, from);
  } catch (error) {
    tree.options.onFailure(`a variable could not be kept: ${messageOf(error)}`, error);
    return undefined;
  }
}
