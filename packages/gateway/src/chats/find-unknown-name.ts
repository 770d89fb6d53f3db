import type { NameProblem } from "@deltawire/agent";
import type { ChatSettings } from "@deltawire/tasks/chats";
import type { Config } from "../config/config.ts";
import { didYouMean } from "@deltawire/tasks";
import { GatewayError } from "../gateway-error.ts";
import { describeUnknownToolGroup, listUsableToolGroups } from "../tasks/usable-tool-groups.ts";

export interface NameLookup {
  config: Config;
  /** Throws a GatewayError if the model is unknown. */
  resolveTargets: (model: string) => Promise<unknown>;
}

/** Returns the first unknown name in the settings of a chat, or undefined if all are known. */
export async function findUnknownName(
  settings: ChatSettings,
  { config, resolveTargets }: NameLookup,
): Promise<NameProblem | undefined> {
  const { agent, model, title_model, tool_groups = [], skills = [] } = settings;
  if (agent !== undefined && !config.agents.has(agent))
    return { path: "agent", reason: formatUnknownName("agent", agent, config.agents.keys()) };
  // Agents can be used as models.
  if (model !== undefined && !config.agents.has(model)) {
    const reason = await findModelError(model, resolveTargets);
    if (reason !== undefined) return { path: "model", reason };
  }
  if (title_model !== undefined) {
    const reason = await findModelError(title_model, resolveTargets);
    if (reason !== undefined) return { path: "title_model", reason };
  }
  const usable = listUsableToolGroups(config);
  for (const [index, group] of tool_groups.entries())
    if (!usable.includes(group))
      return { path: `tool_groups[${index}]`, reason: describeUnknownToolGroup(group, config) };
  for (const [index, skill] of skills.entries())
    if (!config.skills.has(skill))
      return {
        path: `skills[${index}]`,
        reason: formatUnknownName("skill", skill, config.skills.keys()),
      };
  return undefined;
}

async function findModelError(
  model: string,
  resolveTargets: NameLookup["resolveTargets"],
): Promise<string | undefined> {
  try {
    await resolveTargets(model);
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError) return error.message.replace(/^model: /, "");
    throw error;
  }
}

function formatUnknownName(noun: string, name: string, known: Iterable<string>): string {
  const names = [...known];
  const hint = didYouMean(name, names);
  const available = names.length === 0 ? "none are configured" : `available: ${names.join(", ")}`;
  return `unknown ${noun} "${name}"${hint === "" ? `; ${available}` : hint}`;
}
