import type { Agent } from "../agent.ts";
import { askForHelp, readResult } from "./own-tools.ts";
import { RuntimeError } from "../runtime-error.ts";
import type { TaskRequest } from "../task-request.ts";
import type { Tool, ToolGroup } from "../tool.ts";

/** What an agent can do, and what its model is told of it. */
export interface Toolset {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Which of them asks other agents, if there are any to be asked. */
  readonly help: Tool | undefined;
  /** What the request says, the agent's instructions and the rules of the groups that are on. */
  readonly instructions: string;
}

/** Throws where two tools have one name: a model could not tell them apart. */
export function toolsetOf(
  agent: Agent,
  { preamble = "", instructions = "" }: Pick<TaskRequest, "preamble" | "instructions"> = {},
): Toolset {
  const tools = new Map<string, Tool>();
  const rules: string[] = [];
  const add = (tool: Tool): void => {
    if (tools.has(tool.name))
      throw new RuntimeError(
        "invalid_agent",
        `agent "${agent.name}" has two tools named "${tool.name}": rename one, or switch its group off`,
      );
    tools.set(tool.name, tool);
  };
  for (const one of agent.tools) {
    if (isGroup(one)) {
      for (const tool of one.tools) add(tool);
      if (one.rules !== "") rules.push(one.rules);
    } else add(one);
  }
  const help = agent.agents.length > 0 ? askForHelp(agent) : undefined;
  if (help !== undefined) {
    add(help);
    rules.push(helpers(agent.agents));
  }
  if (tools.size > 0) {
    add(readResult);
    rules.push(citing);
  }
  const texts = [preamble, agent.instructions, instructions, ...rules];
  return { tools, help, instructions: texts.filter((text) => text !== "").join("\n\n") };
}

function isGroup(one: Tool | ToolGroup): one is ToolGroup {
  return "tools" in one;
}

const citing =
  "Parts of tool results are marked <referencable-item> with an ID. When you use one, cite it right behind the statement as [^ID], for example [^1]. Cite only IDs that you were given.";

function helpers(agents: readonly Agent[]): string {
  const lines = agents.map(({ name, description }) => `- ${name}: ${description}`);
  return `You can ask other agents for help with ask_for_help. They know nothing of this conversation: the prompt must say all that they need.\n${lines.join("\n")}`;
}
