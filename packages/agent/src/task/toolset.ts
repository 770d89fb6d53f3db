import type { Agent } from "../agent.ts";
import { createAskForHelpTool, readResultTool } from "./built-in-tools.ts";
import { RuntimeError } from "../runtime-error.ts";
import type { TaskRequest } from "../task-request.ts";
import type { Tool, ToolGroup } from "../tool.ts";

/** The tools of an agent and the instructions for its model. */
export interface Toolset {
  readonly tools: ReadonlyMap<string, Tool>;
  /** The tool that calls sub-agents. Undefined if the agent has none. */
  readonly helpTool: Tool | undefined;
  /** The preamble and instructions of the request, the agent's instructions and the rules of its tool groups. */
  readonly instructions: string;
}

/** Throws a RuntimeError if two tools have the same name. */
export function buildToolset(
  agent: Agent,
  { preamble = "", instructions = "" }: Pick<TaskRequest, "preamble" | "instructions"> = {},
): Toolset {
  const tools = new Map<string, Tool>();
  const rules: string[] = [];
  const add = (tool: Tool): void => {
    if (tools.has(tool.name))
      throw new RuntimeError(
        "invalid_agent",
        `agent "${agent.name}" has two tools named "${tool.name}": rename one or turn off its tool group`,
      );
    tools.set(tool.name, tool);
  };
  for (const entry of agent.tools) {
    if (isToolGroup(entry)) {
      for (const tool of entry.tools) add(tool);
      if (entry.rules !== "") rules.push(entry.rules);
    } else add(entry);
  }
  const helpTool = agent.agents.length > 0 ? createAskForHelpTool(agent) : undefined;
  if (helpTool !== undefined) {
    add(helpTool);
    rules.push(formatHelperRules(agent.agents));
  }
  if (tools.size > 0) {
    add(readResultTool);
    rules.push(citationRules);
  }
  const texts = [preamble, agent.instructions, instructions, ...rules];
  return { tools, helpTool, instructions: texts.filter((text) => text !== "").join("\n\n") };
}

function isToolGroup(entry: Tool | ToolGroup): entry is ToolGroup {
  return "tools" in entry;
}

const citationRules =
  "Parts of tool results are marked <referencable-item> with an ID. When you use one, cite it directly after the statement as [^ID], for example [^1]. Cite only IDs that you were given.";

function formatHelperRules(agents: readonly Agent[]): string {
  const lines = agents.map(({ name, description }) => `- ${name}: ${description}`);
  return `You can ask other agents for help with ask_for_help. They cannot see this conversation: the prompt must contain everything that they need.\n${lines.join("\n")}`;
}
