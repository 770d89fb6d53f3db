import { WireError } from "../error.ts";
import type { UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatTool, ChatToolChoice } from "../shapes/chat-request.ts";
import type { ResponseToolChoice, ResponseToolChoiceObject } from "../shapes/responses-request.ts";
import type { OfferedTools } from "../tools/offer-tools.ts";

export interface ToolSelection {
  tools: ChatTool[];
  choice: ChatToolChoice | undefined;
  /** An instruction for the prompt that replaces an unsupported `tool_choice`; may be empty. */
  hint: string;
}

export function selectTools(
  requestedChoice: ResponseToolChoice | null | undefined,
  offered: OfferedTools,
  profile: UpstreamProfile,
  repairs: Repairs,
): ToolSelection {
  const selection = resolveToolChoice(requestedChoice, offered, repairs);
  if (selection.tools.length === 0) {
    // OpenAI and others reject any tool_choice, even "none", without tools.
    if (requestedChoice && requestedChoice !== "auto" && requestedChoice !== "none")
      repairs.add("parameter_dropped", "tool_choice: no tools are offered");
    return { tools: [], choice: undefined, hint: "" };
  }
  return adaptToolChoice(selection.tools, selection.choice, profile, repairs);
}

/** Expresses the choice in a form that the upstream accepts. */
function adaptToolChoice(
  tools: ChatTool[],
  choice: ChatToolChoice | undefined,
  { toolChoice: supportedChoice }: UpstreamProfile,
  repairs: Repairs,
): ToolSelection {
  if (choice === undefined || choice === "auto" || supportedChoice === "any")
    return { tools, choice, hint: "" };
  if (choice === "none") {
    if (supportedChoice !== "auto") return { tools, choice, hint: "" };
    repairs.add("parameter_changed", "tool_choice: none, so no tools are offered");
    return { tools: [], choice: undefined, hint: "" };
  }
  if (supportedChoice === "strings") {
    if (choice === "required") return { tools, choice, hint: "" };
    repairs.add(
      "parameter_changed",
      `tool_choice: ${JSON.stringify(choice)}: only this tool is offered`,
    );
    return {
      tools: tools.filter((tool) => isChosenTool(tool, choice)),
      choice: "required",
      hint: "",
    };
  }
  repairs.add("parameter_changed", `tool_choice: ${JSON.stringify(choice)} sent as an instruction`);
  return { tools, choice: "auto", hint: formatToolChoiceHint(choice) };
}

function resolveToolChoice(
  requestedChoice: ResponseToolChoice | null | undefined,
  offered: OfferedTools,
  repairs: Repairs,
): Omit<ToolSelection, "hint"> {
  const { tools } = offered;
  if (requestedChoice === undefined || requestedChoice === null)
    return { tools, choice: undefined };
  if (requestedChoice === "auto" || requestedChoice === "none" || requestedChoice === "required")
    return { tools, choice: requestedChoice };
  if (typeof requestedChoice !== "string" && requestedChoice.type === "allowed_tools")
    return selectAllowedTools(requestedChoice, offered);
  const [name, ...others] =
    typeof requestedChoice === "string" ? [] : offered.findChosenNames(requestedChoice);
  const tool = tools.find((tool) => getToolName(tool) === name);
  if (name !== undefined && others.length === 0 && tool !== undefined)
    return {
      tools,
      choice:
        tool.type === "custom"
          ? { type: "custom", custom: { name } }
          : { type: "function", function: { name } },
    };
  if (
    typeof requestedChoice !== "string" &&
    (requestedChoice.type === "function" || requestedChoice.type === "custom")
  )
    throw new WireError(
      "invalid_request",
      `tool_choice.name: no tool named ${JSON.stringify(requestedChoice.name)} is declared in tools`,
      { param: "tool_choice.name" },
    );
  repairs.add(
    "parameter_changed",
    `tool_choice: ${JSON.stringify(requestedChoice)} is not offered`,
  );
  return { tools, choice: others.length > 0 ? "required" : "auto" };
}

/** Few servers support allowed_tools, so only the allowed tools are offered. */
function selectAllowedTools(
  requestedChoice: ResponseToolChoiceObject,
  offered: OfferedTools,
): Omit<ToolSelection, "hint"> {
  const names = new Set(
    (requestedChoice.tools ?? []).flatMap((entry) => offered.findChosenNames(entry)),
  );
  const tools = offered.tools.filter((tool) => names.has(getToolName(tool)));
  return { tools, choice: requestedChoice.mode === "required" ? "required" : "auto" };
}

function getToolName(tool: ChatTool): string {
  return tool.type === "custom" ? tool.custom.name : tool.function.name;
}

function isChosenTool(tool: ChatTool, choice: ChatToolChoice): boolean {
  return getToolName(tool) === getChosenName(choice);
}

function formatToolChoiceHint(choice: ChatToolChoice): string {
  const name = getChosenName(choice);
  return name === undefined
    ? "Answer by calling at least one of the tools."
    : `Answer by calling the tool "${name}".`;
}

function getChosenName(choice: ChatToolChoice): string | undefined {
  if (typeof choice === "string") return undefined;
  if (choice.type === "function") return choice.function.name;
  return choice.type === "custom" ? choice.custom.name : undefined;
}
