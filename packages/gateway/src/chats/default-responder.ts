import type { ChatSettings } from "@deltawire/tasks/chats";
import { demoAgent } from "../config/chats.ts";
import type { Config } from "../config/config.ts";
import { abilitiesOf } from "../models/abilities.ts";
import { looksLikeChatModel } from "../config/known-models.ts";
import { modelsOf, type Discovered } from "../models/resolve.ts";

type Answerer = Pick<ChatSettings, "agent" | "model">;

const demo = "demo";

/**
 * Who answers in a chat that names nobody: what the configuration says, else the first chat model that an upstream lists,
 * else the demo: its agent, whose tools and approvals a new user can try, if there is no other upstream.
 */
export function defaultResponder(config: Config, discovered: Discovered): Answerer {
  const answerer = configuredAnswerer(config) ?? listedAnswerer(config, discovered);
  if (answerer !== undefined) return answerer;
  if (!config.upstreams.has(demo)) return {};
  const isOnlyDemo = config.upstreams.size === 1 && config.agents.has(demoAgent);
  return isOnlyDemo ? { agent: demoAgent } : { model: "demo/clean" };
}

/** The setting of `[chats]`, else the first chat model of `[models]`. */
export function configuredAnswerer(config: Config): Answerer | undefined {
  const { agent, model } = config.chats;
  if (agent !== undefined) return { agent };
  if (model !== undefined) return { model };
  const named = [...config.models.keys()].find((name) => abilitiesOf(name, config).type === "chat");
  return named === undefined ? undefined : { model: named };
}

/** The one that was found first, as long as it is listed: an upstream that answers late does not take its place. */
const found = new WeakMap<Config, { readonly upstream: string; readonly id: string }>();

function listedAnswerer(config: Config, discovered: Discovered): Answerer | undefined {
  const before = found.get(config);
  const its = before && config.upstreams.get(before.upstream);
  if (before && its && modelsOf(its, discovered).has(before.id))
    return { model: `${before.upstream}/${before.id}` };
  for (const upstream of config.upstreams.values()) {
    if (upstream.name === demo) continue;
    for (const { id, chats } of modelsOf(upstream, discovered).values()) {
      const name = `${upstream.name}/${id}`;
      const isChat = abilitiesOf(name, config, discovered).type === "chat";
      if (isChat && (chats ?? looksLikeChatModel(name))) {
        found.set(config, { upstream: upstream.name, id });
        return { model: name };
      }
    }
  }
  return undefined;
}
