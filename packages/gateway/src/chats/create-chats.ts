import {
  Chats,
  type AgentRequest,
  type ChatDefaults,
  type Model,
  type Runtime,
} from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import type { MessageBus } from "@deltawire/tasks";
import type { ChatSettings } from "@deltawire/tasks/chats";
import type { Config, ModelTarget } from "../config/config.ts";
import { findModelAlias } from "../config/model-patterns.ts";
import { getModelCapabilities } from "../models/model-capabilities.ts";
import type { LearnedProfiles } from "../models/unsupported-options.ts";
import type { DiscoveredModels } from "../models/resolve-model.ts";
import { findUnknownName } from "./find-unknown-name.ts";
import { findConfiguredResponder, findDefaultResponder } from "./default-responder.ts";
import { newId } from "../new-id.ts";

export interface CreateChatsOptions {
  config: Config;
  store: Store;
  bus?: MessageBus | undefined;
  runtime: Runtime;
  getModel: (name: string) => Model;
  /** See `ChatsOptions`. */
  getMeteredModel: (name: string, accessKey: string) => Model;
  resolveTargets: (model: string) => Promise<readonly ModelTarget[]>;
  /** The models that upstreams have listed so far. */
  getDiscoveredModels: () => DiscoveredModels;
  /** Like `getDiscoveredModels`, but waits briefly for slow upstreams. */
  waitForDiscoveredModels: () => Promise<DiscoveredModels>;
  /** Lessons from rejected requests. Used to list the options that a model does not support. */
  lessons?: LearnedProfiles;
  onFailure: (message: string, cause: unknown) => void;
}

/** Creates the chats with the defaults and models of the configuration. */
export function createGatewayChats({
  config,
  store,
  bus,
  runtime,
  getModel,
  getMeteredModel,
  resolveTargets,
  getDiscoveredModels,
  waitForDiscoveredModels,
  lessons,
  onFailure,
}: CreateChatsOptions): Chats {
  return new Chats({
    store,
    bus,
    runtime,
    getModel,
    getMeteredModel,
    defaults: buildChatDefaults(config),
    // Waits for upstreams only if the configuration names no responder.
    defaultResponder: async () =>
      findConfiguredResponder(config) ??
      findDefaultResponder(config, await waitForDiscoveredModels()),
    skills: [...config.skills.values()],
    getPrice: (name) => findModelAlias(name, config)?.price,
    async getModelInfo(name) {
      await resolveTargets(name);
      const { options, ...capabilities } = getModelCapabilities(
        name,
        config,
        getDiscoveredModels(),
        lessons,
      );
      return { capabilities, options };
    },
    getAgentInfo: (name) => config.agents.get(name),
    findUnknownName: (settings) => findUnknownName(settings, { config, resolveTargets }),
    checkRequest: (request: AgentRequest) => runtime.check(request),
    newId,
    onFailure,
  });
}

export function buildChatDefaults(config: Config): ChatDefaults {
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
    limits: { rounds: chats.maxRounds, seconds: chats.maxSeconds },
    resultApproval: chats.resultApproval,
    retrySeconds: chats.retrySeconds,
    maxTurns: chats.maxTurns,
    timeZone: chats.timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
    addMessageTimes: chats.addMessageTimes,
    generateTitles: chats.generateTitles,
  };
}
