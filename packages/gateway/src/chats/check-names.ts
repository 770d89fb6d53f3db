import type { ChatSettings } from "@deltawire/tasks/chats";
import type { Config } from "../config/config.ts";
import { didYouMean } from "@deltawire/tasks";
import { Problem } from "../problem.ts";
import { noSuchGroup, usableGroups } from "../tasks/usable-groups.ts";

export interface KnownNames {
  config: Config;
  /** Throws a Problem where there is no such model. */
  targetsOf: (model: string) => Promise<unknown>;
}

/** What settings of a chat name that this gateway does not have, with its path; undefined: nothing. */
export async function checkNames(
  settings: ChatSettings,
  { config, targetsOf }: KnownNames,
): Promise<string | undefined> {
  const { agent, model, title_model, tool_groups = [], skills = [] } = settings;
  if (agent !== undefined && !config.agents.has(agent))
    return `agent: ${noSuch("agent", agent, config.agents.keys())}`;
  // Every agent is a model too.
  if (model !== undefined && !config.agents.has(model)) {
    const problem = await modelProblem(model, targetsOf);
    if (problem !== undefined) return `model: ${problem}`;
  }
  if (title_model !== undefined) {
    const problem = await modelProblem(title_model, targetsOf);
    if (problem !== undefined) return `title_model: ${problem}`;
  }
  const usable = usableGroups(config);
  for (const [index, group] of tool_groups.entries())
    if (!usable.includes(group)) return `tool_groups[${index}]: ${noSuchGroup(group, config)}`;
  for (const [index, skill] of skills.entries())
    if (!config.skills.has(skill))
      return `skills[${index}]: ${noSuch("skill", skill, config.skills.keys())}`;
  return undefined;
}

async function modelProblem(
  model: string,
  targetsOf: KnownNames["targetsOf"],
): Promise<string | undefined> {
  try {
    await targetsOf(model);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.message.replace(/^model: /, "");
    throw error;
  }
}

function noSuch(what: string, name: string, known: Iterable<string>): string {
  const names = [...known];
  const hint = didYouMean(name, names);
  const all = names.length === 0 ? "none is configured" : `there are ${names.join(", ")}`;
  return `there is no ${what} "${name}"${hint === "" ? `; ${all}` : `;${hint}`}`;
}
