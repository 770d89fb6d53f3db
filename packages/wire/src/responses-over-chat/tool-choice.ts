import { WireError } from "../error.ts";
import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatTool, ChatToolChoice } from "../shapes/chat-request.ts";
import type { ToolChoice, ToolChoiceObject } from "../shapes/responses-request.ts";
import type { OfferedTools } from "../tools/definitions.ts";

/** What of the tools is offered, how the choice is said, and what has to be said in words instead. */
export interface Choice {
  tools: ChatTool[];
  choice: ChatToolChoice | undefined;
  hint: string;
}

export function chooseTools(
  asked: ToolChoice | null | undefined,
  offered: OfferedTools,
  profile: Profile,
  repairs: Repairs,
): Choice {
  const wanted = want(asked, offered, repairs);
  if (wanted.tools.length === 0) {
    // OpenAI and others refuse a tool_choice, even "none", where there are no tools.
    if (asked && asked !== "auto" && asked !== "none")
      repairs.add("parameter_dropped", "tool_choice: no tool that could be called");
    return { tools: [], choice: undefined, hint: "" };
  }
  return asTaken(wanted.tools, wanted.choice, profile, repairs);
}

/** The same wish in the words that the upstream takes. */
function asTaken(
  tools: ChatTool[],
  choice: ChatToolChoice | undefined,
  { toolChoice: taken }: Profile,
  repairs: Repairs,
): Choice {
  if (choice === undefined || choice === "auto" || taken === "any")
    return { tools, choice, hint: "" };
  if (choice === "none") {
    if (taken !== "auto") return { tools, choice, hint: "" };
    repairs.add("parameter_changed", "tool_choice: none, so no tool is offered");
    return { tools: [], choice: undefined, hint: "" };
  }
  if (taken === "strings") {
    if (choice === "required") return { tools, choice, hint: "" };
    repairs.add("parameter_changed", `tool_choice: ${JSON.stringify(choice)} offered alone`);
    return { tools: tools.filter((tool) => isNamed(tool, choice)), choice: "required", hint: "" };
  }
  repairs.add("parameter_changed", `tool_choice: ${JSON.stringify(choice)} said in words`);
  return { tools, choice: "auto", hint: inWords(choice) };
}

function want(
  asked: ToolChoice | null | undefined,
  offered: OfferedTools,
  repairs: Repairs,
): Omit<Choice, "hint"> {
  const { tools } = offered;
  if (asked === undefined || asked === null) return { tools, choice: undefined };
  if (asked === "auto" || asked === "none" || asked === "required") return { tools, choice: asked };
  if (typeof asked !== "string" && asked.type === "allowed_tools") return allow(asked, offered);
  const [name, ...others] = typeof asked === "string" ? [] : offered.chosen(asked);
  const tool = tools.find((tool) => nameOf(tool) === name);
  if (name !== undefined && others.length === 0 && tool !== undefined)
    return {
      tools,
      choice:
        tool.type === "custom"
          ? { type: "custom", custom: { name } }
          : { type: "function", function: { name } },
    };
  if (typeof asked !== "string" && (asked.type === "function" || asked.type === "custom"))
    throw new WireError(
      "invalid_request",
      `tool_choice.name: no tool named ${JSON.stringify(asked.name)} is declared in tools`,
      { param: "tool_choice.name" },
    );
  repairs.add("parameter_changed", `tool_choice: ${JSON.stringify(asked)} is not offered`);
  return { tools, choice: others.length > 0 ? "required" : "auto" };
}

/** Few servers know allowed_tools; all of them can only call what they are offered. */
function allow(asked: ToolChoiceObject, offered: OfferedTools): Omit<Choice, "hint"> {
  const names = new Set((asked.tools ?? []).flatMap((entry) => offered.chosen(entry)));
  const tools = offered.tools.filter((tool) => names.has(nameOf(tool)));
  return { tools, choice: asked.mode === "required" ? "required" : "auto" };
}

function nameOf(tool: ChatTool): string {
  return tool.type === "custom" ? tool.custom.name : tool.function.name;
}

function isNamed(tool: ChatTool, choice: ChatToolChoice): boolean {
  return nameOf(tool) === chosenName(choice);
}

function inWords(choice: ChatToolChoice): string {
  const name = chosenName(choice);
  return name === undefined
    ? "Answer by calling at least one of the tools."
    : `Answer by calling the tool "${name}".`;
}

function chosenName(choice: ChatToolChoice): string | undefined {
  if (typeof choice === "string") return undefined;
  if (choice.type === "function") return choice.function.name;
  return choice.type === "custom" ? choice.custom.name : undefined;
}
