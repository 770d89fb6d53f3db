import type { ContentPart, JsonObject, CallOutcome, ToolCallItem } from "@deltawire/tasks";
import { findApprovedArguments, findEditedArguments } from "../approvals/call-approval.ts";
import { builtInToolNames } from "../define-tool.ts";
import { getErrorMessage } from "../event-text.ts";
import type { CallContext } from "./call-context.ts";
import { expandArguments, readExpansion } from "../variables/expand-arguments.ts";
import { variableToolNames } from "../variables/variables.ts";

/** In characters. Longer strings are saved as variables, which the model can pass to other tools. */
export const maxUnsavedLength = 4000;

/** Results of these tools are not saved: they can be read again. */
const readerTools = new Set<string>([
  variableToolNames.list,
  variableToolNames.read,
  builtInToolNames.read,
  "read_skill",
]);

/** The variable of a long result. `isReadable` is true if the model has the tool that reads variables page by page. */
export interface SavedVariable {
  name: string;
  isReadable: boolean;
}

/** Saves the text of a result as a variable if it is long. Only for results that the model may see. */
export async function saveResultVariable(
  context: CallContext,
  { call_id, name: tool }: ToolCallItem,
  outcome: CallOutcome,
  text: string,
): Promise<SavedVariable | undefined> {
  if (outcome !== "completed" && outcome !== "failed") return undefined;
  if (text.length <= maxUnsavedLength || readerTools.has(tool)) return undefined;
  const name = await saveVariable(context, text, { callId: call_id, tool, part: "result" });
  return name === undefined
    ? undefined
    : { name, isReadable: context.toolset.tools.has(variableToolNames.read) };
}

export function formatVariableNote(name: string): string {
  return `[saved as {{var:${name}}}]`;
}

/** Saves the long arguments of an executed call as variables. Returns the notes for the model. */
export async function saveArgumentVariables(
  context: CallContext,
  call: ToolCallItem,
): Promise<ContentPart[]> {
  const { variables } = context.tree;
  const args = findEditedArguments(context, call) ?? call.arguments;
  const wasRun = context.task.state.executions.some(({ call_id }) => call_id === call.call_id);
  if (variables === undefined || !wasRun || args.length <= maxUnsavedLength) return [];
  const notes: ContentPart[] = [];
  const modelArguments = JSON.parse(args) as JsonObject;
  const receivedArguments =
    (await loadToolArguments(context, call, args).catch(() => undefined)) ?? modelArguments;
  for (const [name, text] of Object.entries(modelArguments)) {
    if (typeof text !== "string" || text.length <= maxUnsavedLength) continue;
    const source = { callId: call.call_id, tool: call.name, part: toVariablePart(name) };
    const { [name]: value = text } = receivedArguments as Record<string, string>;
    const variable = await saveVariable(context, value, source);
    if (variable !== undefined)
      notes.push({ type: "text", text: `[the argument ${name} is saved as {{var:${variable}}}]` });
  }
  return notes;
}

/** Returns the arguments as the tool received them, or undefined if they are no longer available. */
async function loadToolArguments(
  context: CallContext,
  call: ToolCallItem,
  args: string,
): Promise<JsonObject | undefined> {
  const { options, variables } = context.tree;
  const approved = findApprovedArguments(context, call);
  if (approved !== undefined) {
    const text = await readExpansion(approved, options.blobs);
    return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
  }
  const expansion = await expandArguments(call, args, variables);
  return expansion.ok ? (expansion.value as JsonObject) : undefined;
}

/** Distinguishes an argument called `result` from the result of the call. */
function toVariablePart(argument: string): string {
  return /^(?:arguments\.)*result$/.test(argument) ? `arguments.${argument}` : argument;
}

/** Returns the name of the variable, or undefined if it could not be saved; the call continues either way. */
async function saveVariable(
  { tree }: CallContext,
  text: string,
  source: { callId: string; tool: string; part: string },
): Promise<string | undefined> {
  try {
    return await tree.variables?.save(text, source);
  } catch (error) {
    tree.options.onFailure(`a variable could not be saved: ${getErrorMessage(error)}`, error);
    return undefined;
  }
}
