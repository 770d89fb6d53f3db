import type { JsonObject } from "../json.ts";
import { getChatToolName, toResponsesTool, toResponsesToolChoice } from "../mapping/chat-tools.ts";
import { isSentUnchanged, type UpstreamProfile } from "../upstream-profile.ts";
import { Repairs } from "../repairs.ts";
import { selectTools, type ToolSelection } from "../responses-over-chat/tool-choice.ts";
import type { ChatRequest, ChatTool, ChatToolChoice } from "../shapes/chat-request.ts";
import {
  noToolTranslation,
  type DeclaredTool,
  type ToolTranslation,
} from "../tools/tool-translation.ts";
import { offerTools, collectToolSchemas } from "../tools/offer-tools.ts";
import { shortenToolName } from "../tools/tool-names.ts";
import { toObjectSchema } from "../tools/json-schema.ts";

/** The tools of a Chat client in the form that is offered to a Chat upstream. */
export interface OfferedChatTools extends ToolSelection {
  /** For the reply. Set if a tool is offered under another name or in another form. */
  translation: ToolTranslation | undefined;
}

export function offerChatTools(
  request: ChatRequest,
  profile: UpstreamProfile,
  repairs: Repairs,
): OfferedChatTools {
  const declared = request.tools ?? [];
  const offered = declared.map((tool) => offerChatTool(tool, profile, repairs));
  const tools = offered.every((tool, index) => tool === declared[index]) ? declared : offered;
  const selection = selectChatTools(request.tool_choice ?? undefined, tools, profile, repairs);
  return { ...selection, translation: buildToolTranslation(declared, tools) };
}

function offerChatTool(tool: ChatTool, profile: UpstreamProfile, repairs: Repairs): ChatTool {
  const originalName = getChatToolName(tool);
  if (originalName === undefined) return tool;
  const name = shortenToolName(originalName);
  if (name !== originalName) repairs.add("tool_renamed", `${originalName} -> ${name}`);
  if (tool.type === "custom") {
    const converted = sendsCustomToolsAsFunctions(profile)
      ? convertViaResponses(tool, profile)
      : undefined;
    if (converted?.type !== "function")
      return name === originalName ? tool : { ...tool, custom: { ...tool.custom, name } };
    repairs.add("parameter_changed", `tools: custom tool ${originalName} sent as a function`);
    return { ...converted, function: { ...converted.function, name } };
  }
  const parameters = buildParameters(tool, profile, repairs);
  const { strict, ...functionFields } = tool.function;
  const dropsStrict = !profile.strictSchemas && strict !== undefined;
  if (name === originalName && parameters === functionFields.parameters && !dropsStrict)
    return tool;
  return {
    ...tool,
    function: { ...(dropsStrict ? functionFields : tool.function), name, parameters },
  };
}

/** True if a Chat client's custom tools are offered, and its earlier calls of them sent, as functions. */
export function sendsCustomToolsAsFunctions(profile: UpstreamProfile): boolean {
  return profile.customTools === "function" && !isSentUnchanged(profile, "customTools");
}

function buildParameters(
  tool: ChatTool & { type: "function" },
  profile: UpstreamProfile,
  repairs: Repairs,
): JsonObject {
  const { name, parameters } = tool.function;
  if (!parameters) repairs.add("tool_schema_completed", name);
  const needsConversion = profile.schemaDialect !== "json-schema";
  const converted = needsConversion ? convertViaResponses(tool, profile) : undefined;
  const schema = converted?.type === "function" ? converted.function.parameters : parameters;
  return schema ?? toObjectSchema(undefined);
}

/** Converts the tool with `offerTools`, the translation for Responses clients, which implements the profile's tool flags. */
function convertViaResponses(tool: ChatTool, profile: UpstreamProfile): ChatTool | undefined {
  return offerTools([toResponsesTool(tool)], profile, new Repairs()).tools[0];
}

function selectChatTools(
  requestedChoice: ChatToolChoice | undefined,
  tools: ChatTool[],
  profile: UpstreamProfile,
  repairs: Repairs,
): ToolSelection {
  const choice = renameToolChoice(requestedChoice, tools);
  if (profile.toolChoice === "any" || choice === undefined) return { tools, choice, hint: "" };
  const names = new Set(tools.map(getChatToolName));
  const named = toResponsesToolChoice(choice);
  // A choice of an undeclared tool is sent unchanged, because the upstream's error explains the client's mistake best.
  if (typeof named === "object" && named.type !== "allowed_tools" && !names.has(named.name ?? ""))
    return { tools, choice, hint: "" };
  const findChosenNames = ({ name }: { name?: unknown }) =>
    typeof name === "string" && names.has(name) ? [name] : [];
  const namedTools = tools.filter((tool) => getChatToolName(tool) !== undefined);
  const offered = {
    tools: namedTools,
    translation: noToolTranslation,
    getCallName: () => "",
    findChosenNames,
  };
  const selection = selectTools(named, offered, profile, repairs);
  return selection.tools === namedTools ? { ...selection, tools } : selection;
}

/** Converts the names and kinds in tool_choice to those of the offered tools. */
function renameToolChoice(
  choice: ChatToolChoice | undefined,
  tools: readonly ChatTool[],
): ChatToolChoice | undefined {
  if (choice === undefined || typeof choice === "string") return choice;
  if (choice.type === "allowed_tools") {
    const { allowed_tools: allowed } = choice;
    const entries = allowed.tools.map((entry) => renameChoiceEntry(entry, tools));
    if (entries.every((entry, index) => entry === allowed.tools[index])) return choice;
    return { ...choice, allowed_tools: { ...allowed, tools: entries } };
  }
  return renameChoiceEntry(choice, tools);
}

/** Converts `{type, function: {name}}` or `{type, custom: {name}}`. */
function renameChoiceEntry<Entry extends object>(entry: Entry, tools: readonly ChatTool[]): Entry {
  const originalName = getChatToolName(entry as ChatTool);
  const name = originalName === undefined ? undefined : shortenToolName(originalName);
  const tool = tools.find((offered) => getChatToolName(offered) === name);
  if (name === undefined || tool === undefined) return entry;
  if (name === originalName && (entry as ChatTool).type === tool.type) return entry;
  return { type: tool.type, [tool.type]: { name } } as unknown as Entry;
}

function buildToolTranslation(
  declared: readonly ChatTool[],
  tools: readonly ChatTool[],
): ToolTranslation | undefined {
  const byName = new Map<string, DeclaredTool>();
  let hasDifferences = false;
  declared.forEach((tool, index) => {
    const originalName = getChatToolName(tool);
    const converted = tools[index];
    const name = converted === undefined ? undefined : getChatToolName(converted);
    if (originalName === undefined || name === undefined) return;
    if (name !== originalName || converted?.type !== tool.type) hasDifferences = true;
    byName.set(name, { kind: tool.type, name: originalName });
  });
  if (!hasDifferences) return undefined;
  return {
    upstreamNames: new Set(byName.keys()),
    schemas: collectToolSchemas(tools),
    findDeclared: (name) => byName.get(name),
  };
}
