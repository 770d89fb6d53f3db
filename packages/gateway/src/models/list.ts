import type { ModelType } from "@deltawire/tasks/chats";
import type { AgentConfig, Config, ModelAlias, ModelTarget } from "../config/config.ts";
import { codexEntry, type CodexEntry } from "./codex-entry.ts";
import { knownModel, looksLikeChatModel } from "../config/known-models.ts";
import type { DiscoveredModel } from "./parse.ts";
import { type Discovered, type Knows, modelsOf, targetsOf } from "./resolve.ts";

/** Who owns an agent in the list of models. */
export const agentOwner = "deltawire-agent";

/** OpenAI's list and Codex's catalogue in one object: each client reads its own key. */
export interface ModelList {
  readonly object: "list";
  readonly data: readonly ModelObject[];
  readonly models: readonly CodexEntry[];
}

interface ModelObject {
  readonly id: string;
  readonly object: "model";
  /** Seconds since 1970, 0 where the upstream did not say. */
  readonly created: number;
  readonly owned_by: string;
}

/** A name that clients may use, and what is behind it. */
interface Offer {
  readonly id: string;
  readonly owner: string;
  readonly model: DiscoveredModel;
  readonly contextWindow: number | undefined;
  readonly description: string;
  /** False for the longer of two names of one model, and for agents, which do not use Codex's tools. */
  readonly listed: boolean;
  /** Codex is told of no other. */
  readonly chats: boolean;
}

/** By upstream, then by id. */
type KnownModels = ReadonlyMap<string, ReadonlyMap<string, DiscoveredModel>>;

// Codex 0.166 read 4,000 entries (22 MB) in 0.8 s, and it waits 5 s for them.
const mostCodexEntries = 2_000;
const longestAsked = 200;

/**
 * Every name that resolves to a model: the aliases, then each model as `upstream/model` and under its plain name where
 * that means it and nothing else, then the agents. `asked` is a name that a client is about to use: with a single upstream any name works,
 * and Codex warns of one that its catalogue has not.
 */
export function modelList({
  config,
  discovered,
  asked,
}: {
  config: Config;
  discovered: Discovered;
  asked?: string | undefined;
}): ModelList {
  const offers = offersOf(config, discovered, asked);
  const forCodex = offers.filter(({ chats }) => chats).slice(0, mostCodexEntries);
  return {
    object: "list",
    data: offers.map(({ id, owner, model }) => ({
      id,
      object: "model",
      created: model.created ?? 0,
      owned_by: owner,
    })),
    models: forCodex.map(entryOf),
  };
}

function offersOf(
  config: Config,
  discovered: Discovered,
  asked: string | undefined,
): readonly Offer[] {
  const known = new Map<string, ReadonlyMap<string, DiscoveredModel>>();
  const counts = new Map<string, number>();
  for (const upstream of config.upstreams.values()) {
    const models = modelsOf(upstream, discovered);
    known.set(upstream.name, models);
    for (const id of models.keys()) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const knows: Knows = (upstream, model) => known.get(upstream.name)?.has(model) ?? false;

  const offers = new Map<string, Offer>();
  for (const [id, alias] of config.models) {
    const offer = aliasOffer(id, alias, known);
    if (offer !== undefined) offers.set(id, offer);
  }
  const isKnown = (name: string): boolean => offers.has(name) || config.agents.has(name);
  if (asked !== undefined && asked.length <= longestAsked && !isKnown(asked)) {
    const targets = targetsOf(asked, config, knows) ?? [];
    const nothing = { contextWindow: undefined, type: undefined };
    const offer = aliasOffer(asked, { targets, ...nothing }, known);
    if (offer !== undefined) offers.set(asked, offer);
  }
  for (const [upstream, models] of known)
    for (const model of models.values()) {
      const target = { upstream, model: model.id };
      const description = `${model.id} at ${upstream}`;
      const chats = chatsAt(target, undefined, known);
      const offer = { owner: upstream, model, contextWindow: undefined, description, chats };
      const full = `${upstream}/${model.id}`;
      const plain =
        counts.get(model.id) === 1 &&
        !isKnown(model.id) &&
        isTarget(targetsOf(model.id, config, knows), target);
      if (!offers.has(full)) offers.set(full, { ...offer, id: full, listed: !plain });
      if (plain) offers.set(model.id, { ...offer, id: model.id, listed: true });
    }
  // Whoever takes the first of the list wants a model.
  for (const [id, agent] of config.agents) {
    const targets = targetsOf(agent.model, config, knows) ?? [];
    offers.set(id, agentOffer(agent, targets, config, known));
  }
  return [...offers.values()];
}

function aliasOffer(
  id: string,
  { targets, contextWindow, type }: Pick<ModelAlias, "targets" | "contextWindow" | "type">,
  known: KnownModels,
): Offer | undefined {
  const [target] = targets;
  if (target === undefined) return undefined;
  const model = modelAt(target, known);
  const description = targets.map(({ upstream, model: name }) => `${name} at ${upstream}`);
  return {
    id,
    owner: target.upstream,
    model,
    contextWindow,
    description: description.join(", then "),
    listed: true,
    chats: chatsAt(target, type, known),
  };
}

/** It can do what its model can. */
function agentOffer(
  agent: AgentConfig,
  [target]: readonly ModelTarget[],
  config: Config,
  known: KnownModels,
): Offer {
  const alias = config.models.get(agent.model);
  return {
    id: agent.name,
    owner: agentOwner,
    model: target === undefined ? { id: agent.model } : modelAt(target, known),
    contextWindow: agent.contextWindow ?? alias?.contextWindow,
    description: agent.description || `An agent with ${agent.model}`,
    listed: false,
    chats: target === undefined || chatsAt(target, alias?.type, known),
  };
}

function modelAt({ upstream, model }: ModelTarget, known: KnownModels): DiscoveredModel {
  return known.get(upstream)?.get(model) ?? { id: model };
}

/** As `[models]` says, else as its upstream does, else by its name. */
function chatsAt(target: ModelTarget, type: ModelType | undefined, known: KnownModels): boolean {
  if (type !== undefined) return type === "chat";
  const { upstream, model } = target;
  return modelAt(target, known).chats ?? looksLikeChatModel(`${upstream}/${model}`);
}

function isTarget(targets: readonly ModelTarget[] | undefined, wanted: ModelTarget): boolean {
  const [target, another] = targets ?? [];
  return (
    another === undefined && target?.upstream === wanted.upstream && target.model === wanted.model
  );
}

function entryOf({ id, model, contextWindow, description, listed }: Offer, index: number) {
  const known = knownModel(model.id);
  return codexEntry({
    slug: id,
    displayName: id,
    description,
    contextWindow:
      contextWindow ??
      Math.min(model.contextWindow ?? known.contextWindow, known.mostUsed ?? Infinity),
    efforts: model.efforts ?? known.efforts,
    defaultEffort: known.defaultEffort,
    seesImages: model.seesImages ?? known.seesImages,
    priority: index,
    listed,
  });
}
