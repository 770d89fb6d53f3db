import type { ChatChoices } from "@deltawire/tasks/chats";
import type { Config } from "../config/config.ts";
import { getModelCapabilities } from "../models/model-capabilities.ts";
import { agentOwner, buildModelList } from "../models/model-list.ts";
import type { LearnedProfiles } from "../models/unsupported-options.ts";
import { resolveModel, type DiscoveredModels } from "../models/resolve-model.ts";
import { listUsableToolGroups } from "../tasks/usable-tool-groups.ts";
import { findDefaultResponder } from "./default-responder.ts";
import { buildChatDefaults } from "./create-chats.ts";

/** Returns the possible settings of a chat: models, agents, tool groups and skills, with the defaults. */
export function buildChatChoices(
  config: Config,
  discovered: DiscoveredModels,
  lessons?: LearnedProfiles,
  describeProblem: (upstream: string) => string | undefined = () => undefined,
): ChatChoices {
  const {
    settings,
    maxTurns,
    limits,
    resultApproval = "never",
    timeZone,
    addMessageTimes,
    generateTitles,
  } = buildChatDefaults(config);
  const skills = [...config.skills.values()];
  return {
    models: listModelNames(config, discovered).map((id) => {
      const { options: _options, ...capabilities } = getModelCapabilities(
        id,
        config,
        discovered,
        lessons,
      );
      return { name: id, ...capabilities };
    }),
    upstreams: [...config.upstreams.keys()].map((name) => {
      const problem = describeProblem(name);
      return problem === undefined ? { name } : { name, problem };
    }),
    agents: [...config.agents.values()].map(({ name, description, model }) => ({
      name,
      description,
      model,
    })),
    tool_groups: listUsableToolGroups(config),
    skills: skills.map(({ name, description, always, when }) => ({
      name,
      description,
      always,
      ...(when === undefined ? {} : { when }),
    })),
    defaults: {
      tool_groups: [],
      options: {},
      ...settings,
      ...findDefaultResponder(config, discovered),
      skills: skills.map(({ name }) => name),
      limits,
      result_approval: resultApproval,
      turns: maxTurns,
      time_zone: timeZone,
      message_times: addMessageTimes,
      titles: generateTitles,
    },
  };
}

/** Returns the names of all models, without short names that mean the same as a listed `upstream/model`. */
function listModelNames(config: Config, discovered: DiscoveredModels): string[] {
  const { data } = buildModelList({ config, discovered });
  const models = data.filter(({ owned_by }) => owned_by !== agentOwner);
  const names = new Set(models.map(({ id }) => id));
  const isRedundantShortName = (id: string, upstream: string): boolean => {
    if (config.models.has(id) || !names.has(`${upstream}/${id}`)) return false;
    const resolution = resolveModel(id, config, discovered);
    return resolution.ok && resolution.targets[0]?.model === id;
  };
  return models
    .filter(({ id, owned_by }) => !isRedundantShortName(id, owned_by))
    .map(({ id }) => id);
}
