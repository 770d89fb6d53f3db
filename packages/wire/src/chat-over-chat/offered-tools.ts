import type { JsonObject } from "../json.ts";
import { chatToolName, responsesTool, responsesToolChoice } from "../mapping/chat-tools.ts";
import { isAsSent, type Profile } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import { chooseTools, type Choice } from "../responses-over-chat/tool-choice.ts";
import type { ChatRequest, ChatTool, ChatToolChoice } from "../shapes/chat-request.ts";
import { noTools, type DeclaredTool, type ToolBridge } from "../tools/bridge.ts";
import { offerTools, toolSchemas } from "../tools/definitions.ts";
import { shortName } from "../tools/names.ts";
import { objectSchema } from "../tools/schema.ts";

/** What a Chat client declared, as it is offered to a Chat upstream. */
export interface OfferedChatTools extends Choice {
  /** For the reply, where a tool is offered under another name or in another form. */
  bridge: ToolBridge | undefined;
}

export function offeredChatTools(
  request: ChatRequest,
  profile: Profile,
  repairs: Repairs,
): OfferedChatTools {
  const declared = request.tools ?? [];
  const offered = declared.map((tool) => offeredTool(tool, profile, repairs));
  const tools = offered.every((tool, at) => tool === declared[at]) ? declared : offered;
  const chosen = choose(request.tool_choice ?? undefined, tools, profile, repairs);
  return { ...chosen, bridge: bridgeOf(declared, tools) };
}

function offeredTool(tool: ChatTool, profile: Profile, repairs: Repairs): ChatTool {
  const own = chatToolName(tool);
  if (own === undefined) return tool;
  const name = shortName(own);
  if (name !== own) repairs.add("tool_renamed", `${own} -> ${name}`);
  if (tool.type === "custom") {
    const as = offersCustomAsFunction(profile) ? asForResponses(tool, profile) : undefined;
    if (as?.type !== "function")
      return name === own ? tool : { ...tool, custom: { ...tool.custom, name } };
    repairs.add("parameter_changed", `tools: ${own}, a custom tool, as a function`);
    return { ...as, function: { ...as.function, name } };
  }
  const parameters = writtenParameters(tool, profile, repairs);
  const { strict, ...described } = tool.function;
  const lenient = !profile.strictSchemas && strict !== undefined;
  if (name === own && parameters === described.parameters && !lenient) return tool;
  return { ...tool, function: { ...(lenient ? described : tool.function), name, parameters } };
}

/** True if a Chat client's custom tools are offered, and its earlier calls of them sent, as functions. */
export function offersCustomAsFunction(profile: Profile): boolean {
  return profile.customTools === "function" && !isAsSent(profile, "customTools");
}

function writtenParameters(
  tool: ChatTool & { type: "function" },
  profile: Profile,
  repairs: Repairs,
): JsonObject {
  const { name, parameters } = tool.function;
  if (!parameters) repairs.add("tool_schema_completed", name);
  const rewritten = profile.schemaFlavour !== "json-schema";
  const as = rewritten ? asForResponses(tool, profile) : undefined;
  const written = as?.type === "function" ? as.function.parameters : parameters;
  return written ?? objectSchema(undefined);
}

/** The tool as it would be offered for a Responses client: there the profile's flags for tools are at home. */
function asForResponses(tool: ChatTool, profile: Profile): ChatTool | undefined {
  return offerTools([responsesTool(tool)], profile, new Repairs()).tools[0];
}

function choose(
  asked: ChatToolChoice | undefined,
  tools: ChatTool[],
  profile: Profile,
  repairs: Repairs,
): Choice {
  const choice = renamed(asked, tools);
  if (profile.toolChoice === "any" || choice === undefined) return { tools, choice, hint: "" };
  const names = new Set(tools.map(chatToolName));
  const named = responsesToolChoice(choice);
  // A tool that nobody declared is the client's mistake, and the upstream says so best.
  if (typeof named === "object" && named.type !== "allowed_tools" && !names.has(named.name ?? ""))
    return { tools, choice, hint: "" };
  const chosen = ({ name }: { name?: unknown }) =>
    typeof name === "string" && names.has(name) ? [name] : [];
  const ours = tools.filter((tool) => chatToolName(tool) !== undefined);
  const offered = { tools: ours, bridge: noTools, callName: () => "", chosen };
  const taken = chooseTools(named, offered, profile, repairs);
  return taken.tools === ours ? { ...taken, tools } : taken;
}

/** The choice with the names, and of the kinds, under which the tools are offered. */
function renamed(
  choice: ChatToolChoice | undefined,
  tools: readonly ChatTool[],
): ChatToolChoice | undefined {
  if (choice === undefined || typeof choice === "string") return choice;
  if (choice.type === "allowed_tools") {
    const { allowed_tools: allowed } = choice;
    const entries = allowed.tools.map((entry) => renamedEntry(entry, tools));
    if (entries.every((entry, at) => entry === allowed.tools[at])) return choice;
    return { ...choice, allowed_tools: { ...allowed, tools: entries } };
  }
  return renamedEntry(choice, tools);
}

/** `{type, function: {name}}`, or the same of a custom tool. */
function renamedEntry<Entry extends object>(entry: Entry, tools: readonly ChatTool[]): Entry {
  const own = chatToolName(entry as ChatTool);
  const name = own === undefined ? undefined : shortName(own);
  const tool = tools.find((offered) => chatToolName(offered) === name);
  if (name === undefined || tool === undefined) return entry;
  if (name === own && (entry as ChatTool).type === tool.type) return entry;
  return { type: tool.type, [tool.type]: { name } } as unknown as Entry;
}

function bridgeOf(
  declared: readonly ChatTool[],
  tools: readonly ChatTool[],
): ToolBridge | undefined {
  const byName = new Map<string, DeclaredTool>();
  let differs = false;
  declared.forEach((tool, at) => {
    const own = chatToolName(tool);
    const as = tools[at];
    const name = as === undefined ? undefined : chatToolName(as);
    if (own === undefined || name === undefined) return;
    if (name !== own || as?.type !== tool.type) differs = true;
    byName.set(name, { kind: tool.type, name: own });
  });
  if (!differs) return undefined;
  return {
    upstreamNames: new Set(byName.keys()),
    schemas: toolSchemas(tools),
    declared: (name) => byName.get(name),
  };
}
