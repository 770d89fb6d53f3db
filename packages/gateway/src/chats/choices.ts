import type { ChatChoices } from "@deltawire/tasks/chats";
import type { Config } from "../config/config.ts";
import { abilitiesOf } from "../models/abilities.ts";
import { agentOwner, modelList } from "../models/list.ts";
import type { Learned } from "../models/refused-options.ts";
import { resolveModel, type Discovered } from "../models/resolve.ts";
import { usableGroups } from "../tasks/usable-groups.ts";
import { defaultResponder } from "./default-responder.ts";
import { chatDefaults } from "./start-chats.ts";

/** What a chat can be set to, for those who show a choice. */
export function chatChoices(
  config: Config,
  discovered: Discovered,
  learned?: Learned,
  problemOf: (upstream: string) => string | undefined = () => undefined,
): ChatChoices {
  const {
    settings,
    turns,
    limits,
    results = "never",
    timeZone,
    exactTime,
    titles,
  } = chatDefaults(config);
  const skills = [...config.skills.values()];
  return {
    models: namesOf(config, discovered).map((id) => {
      const { options: _options, ...abilities } = abilitiesOf(id, config, discovered, learned);
      return { name: id, ...abilities };
    }),
    upstreams: [...config.upstreams.keys()].map((name) => {
      const problem = problemOf(name);
      return problem === undefined ? { name } : { name, problem };
    }),
    agents: [...config.agents.values()].map(({ name, description, model }) => ({
      name,
      description,
      model,
    })),
    tool_groups: usableGroups(config),
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
      ...defaultResponder(config, discovered),
      skills: skills.map(({ name }) => name),
      limits,
      results,
      turns,
      time_zone: timeZone,
      exact_time: exactTime,
      titles,
    },
  };
}

/** Each model once: where its plain name means the same as `upstream/model`, the latter, which says more. */
function namesOf(config: Config, discovered: Discovered): string[] {
  const { data } = modelList({ config, discovered });
  const models = data.filter(({ owned_by }) => owned_by !== agentOwner);
  const names = new Set(models.map(({ id }) => id));
  const isShort = (id: string, upstream: string): boolean => {
    if (config.models.has(id) || !names.has(`${upstream}/${id}`)) return false;
    const resolved = resolveModel(id, config, discovered);
    return resolved.ok && resolved.targets[0]?.model === id;
  };
  return models.filter(({ id, owned_by }) => !isShort(id, owned_by)).map(({ id }) => id);
}
