import {
  Chats,
  type AgentRequest,
  type ChatDefaults,
  type Model,
  type Runtime,
} from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import type { ChatSettings } from "@deltawire/tasks/chats";
import { demoAgent } from "../config/chats.ts";
import type { Config, ModelTarget } from "../config/config.ts";
import { abilitiesOf } from "../models/abilities.ts";
import { agentNamed } from "../models/agents.ts";
import type { Learned } from "../models/refused-options.ts";
import type { Discovered } from "../models/resolve.ts";
import { checkNames } from "./check-names.ts";
import { newId } from "../new-id.ts";

export interface ChatsParts {
  config: Config;
  store: Store;
  runtime: Runtime;
  model: (name: string) => Model;
  targetsOf: (model: string) => Promise<readonly ModelTarget[]>;
  /** What upstreams have told of their models. */
  discovered: () => Discovered;
  /** What was learned of them. */
  learned?: Learned;
  onFailure: (message: string, cause: unknown) => void;
}

/** Chats as this gateway is configured to serve them. */
export function startChats({
  config,
  store,
  runtime,
  model,
  targetsOf,
  discovered,
  learned,
  onFailure,
}: ChatsParts): Chats {
  return new Chats({
    store,
    runtime,
    log: store,
    model,
    defaults: chatDefaults(config),
    skills: [...config.skills.values()],
    price: (name) => config.models.get(name)?.price,
    async modelFacts(name) {
      await targetsOf(name);
      const { options, ...abilities } = abilitiesOf(name, config, discovered(), learned);
      return { abilities, options };
    },
    agentFacts: (name) => agentNamed(config, name),
    checkNames: (settings) => checkNames(settings, { config, targetsOf }),
    checkRequest: (request: AgentRequest) => runtime.check(request),
    newId,
    onFailure,
  });
}

export function chatDefaults(config: Config): ChatDefaults {
  const { chats } = config;
  const privacy: ChatSettings["privacy"] =
    chats.privacy.length === 0
      ? undefined
      : { enabled: true, fields: chats.privacy.map((kind) => ({ kind })) };
  return {
    settings: {
      ...defaultResponder(config),
      ...(chats.instructions === "" ? {} : { instructions: chats.instructions }),
      tool_groups: chats.toolGroups,
      options: chats.options,
      ...(privacy === undefined ? {} : { privacy }),
      ...(chats.titleModel === undefined ? {} : { title_model: chats.titleModel }),
    },
    limits: { rounds: chats.rounds, seconds: chats.seconds },
    results: chats.results,
    retrySeconds: chats.retrySeconds,
    turns: chats.turns,
    timeZone: chats.timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
    exactTime: chats.exactTime,
    titles: chats.titles,
  };
}

/**
 * Who answers in a chat that names nobody: the setting, else the first chat model of `[models]`, else the demo: its agent,
 * whose tools and approvals a new user can try, if there is no other upstream.
 */
function defaultResponder(config: Config): Pick<ChatSettings, "agent" | "model"> {
  const { agent, model } = config.chats;
  if (agent !== undefined) return { agent };
  if (model !== undefined) return { model };
  const named = [...config.models.keys()].find((name) => abilitiesOf(name, config).type === "chat");
  if (named !== undefined) return { model: named };
  if (!config.upstreams.has("demo")) return {};
  const isOnlyDemo = config.upstreams.size === 1 && config.agents.has(demoAgent);
  return isOnlyDemo ? { agent: demoAgent } : { model: "demo/clean" };
}
