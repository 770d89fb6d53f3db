import {
  Chats,
  type AgentRequest,
  type ChatDefaults,
  type Model,
  type Runtime,
} from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import type { ChatSettings } from "@deltawire/tasks/chats";
import type { Config, ModelTarget } from "../config/config.ts";
import { abilitiesOf } from "../models/abilities.ts";
import type { Learned } from "../models/refused-options.ts";
import type { Discovered } from "../models/resolve.ts";
import { checkNames } from "./check-names.ts";
import { configuredAnswerer, defaultResponder } from "./default-responder.ts";
import { newId } from "../new-id.ts";

export interface ChatsParts {
  config: Config;
  store: Store;
  runtime: Runtime;
  model: (name: string) => Model;
  targetsOf: (model: string) => Promise<readonly ModelTarget[]>;
  /** What upstreams have told of their models. */
  discovered: () => Discovered;
  /** The same, once those that are slow have had their time. */
  whenDiscovered: () => Promise<Discovered>;
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
  whenDiscovered,
  learned,
  onFailure,
}: ChatsParts): Chats {
  return new Chats({
    store,
    runtime,
    model,
    defaults: chatDefaults(config),
    // Nobody waits for an upstream where the configuration says who answers.
    defaultResponder: async () =>
      configuredAnswerer(config) ?? defaultResponder(config, await whenDiscovered()),
    skills: [...config.skills.values()],
    price: (name) => config.models.get(name)?.price,
    async modelFacts(name) {
      await targetsOf(name);
      const { options, ...abilities } = abilitiesOf(name, config, discovered(), learned);
      return { abilities, options };
    },
    agentFacts: (name) => config.agents.get(name),
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
