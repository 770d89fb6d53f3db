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
  if (profile.forcedToolChoice || !isForced(wanted.choice)) return { ...wanted, hint: "" };
  repairs.add("parameter_changed", `tool_choice: ${JSON.stringify(wanted.choice)} said in words`);
  return { ...wanted, choice: "auto", hint: inWords(wanted.choice) };
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

function isForced(choice: ChatToolChoice | undefined): choice is Exclude<ChatToolChoice, "auto"> {
  return choice !== undefined && choice !== "auto" && choice !== "none";
}

function inWords(choice: ChatToolChoice): string {
  if (typeof choice !== "string" && choice.type === "function")
    return `Answer by calling the tool "${choice.function.name}".`;
  if (typeof choice !== "string" && choice.type === "custom")
    return `Answer by calling the tool "${choice.custom.name}".`;
  return "Answer by calling at least one of the tools.";
}
