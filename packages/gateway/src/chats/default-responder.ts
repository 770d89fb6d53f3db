import type { ChatSettings } from "@deltawire/tasks/chats";
import { demoAgent } from "../config/chats.ts";
import type { Config } from "../config/config.ts";
import { getModelCapabilities } from "../models/model-capabilities.ts";
import { looksLikeChatModel } from "../config/known-models.ts";
import { getUpstreamModels, type DiscoveredModels } from "../models/resolve-model.ts";

type Responder = Pick<ChatSettings, "agent" | "model">;

const demoUpstreamName = "demo";

/**
 * Returns the agent or model of chats that name none: the configured one, else the first chat model that an upstream
 * lists, else a demo model. If the demo is the only upstream, returns its agent instead, so that new users can try tools
 * and approvals.
 */
export function findDefaultResponder(config: Config, discovered: DiscoveredModels): Responder {
  const responder = findConfiguredResponder(config) ?? findListedResponder(config, discovered);
  if (responder !== undefined) return responder;
  if (!config.upstreams.has(demoUpstreamName)) return {};
  const isOnlyDemo = config.upstreams.size === 1 && config.agents.has(demoAgent);
  return isOnlyDemo ? { agent: demoAgent } : { model: "demo/clean" };
}

/** Returns the agent or model of `[chats]`, else the first chat model of `[models]`. */
export function findConfiguredResponder(config: Config): Responder | undefined {
  const { agent, model } = config.chats;
  if (agent !== undefined) return { agent };
  if (model !== undefined) return { model };
  const firstChatModel = [...config.models.keys()].find(
    (name) => getModelCapabilities(name, config).type === "chat",
  );
  return firstChatModel === undefined ? undefined : { model: firstChatModel };
}

/** The first chat model found. Used as long as it is listed, so that an upstream that answers later does not replace it. */
const firstListedModels = new WeakMap<Config, { readonly upstream: string; readonly id: string }>();

function findListedResponder(config: Config, discovered: DiscoveredModels): Responder | undefined {
  const previous = firstListedModels.get(config);
  const upstreamConfig = previous && config.upstreams.get(previous.upstream);
  if (previous && upstreamConfig && getUpstreamModels(upstreamConfig, discovered).has(previous.id))
    return { model: `${previous.upstream}/${previous.id}` };
  for (const upstream of config.upstreams.values()) {
    if (upstream.name === demoUpstreamName) continue;
    for (const { id, isChatModel } of getUpstreamModels(upstream, discovered).values()) {
      const name = `${upstream.name}/${id}`;
      const isChat = getModelCapabilities(name, config, discovered).type === "chat";
      if (isChat && (isChatModel ?? looksLikeChatModel(name))) {
        firstListedModels.set(config, { upstream: upstream.name, id });
        return { model: name };
      }
    }
  }
  return undefined;
}
