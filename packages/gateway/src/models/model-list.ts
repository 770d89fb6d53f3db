import type { ModelType } from "@deltawire/tasks/chats";
import type { AgentConfig, Config, ModelAlias, ModelTarget } from "../config/config.ts";
import { findModelAlias } from "../config/model-patterns.ts";
import { buildCodexCatalogEntry, type CodexCatalogEntry } from "./codex-catalog-entry.ts";
import { lookupKnownModel, looksLikeChatModel } from "../config/known-models.ts";
import type { DiscoveredModel } from "./parse-model-list.ts";
import {
  type DiscoveredModels,
  type HasModel,
  getUpstreamModels,
  findTargets,
} from "./resolve-model.ts";

/** The `owned_by` of agents in the model list. */
export const agentOwner = "deltawire-agent";

/**
 * OpenAI's and Anthropic's list (`data`) and Codex's catalog (`models`) in one object: each client reads only its own fields. The
 * list is always complete, so there are no further pages.
 */
export interface ModelList {
  readonly object: "list";
  readonly data: readonly ListedModelObject[];
  readonly has_more: false;
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly models: readonly CodexCatalogEntry[];
}

interface ListedModelObject {
  readonly id: string;
  readonly object: "model";
  /** Seconds since the epoch; 0 if unknown. */
  readonly created: number;
  readonly owned_by: string;
  /** The following fields are Anthropic's. */
  readonly type: "model";
  readonly display_name: string;
  /** RFC 3339. */
  readonly created_at: string;
}

/** A name that clients can use, and its model. */
interface OfferedModel {
  readonly id: string;
  readonly owner: string;
  readonly model: DiscoveredModel;
  readonly contextWindow: number | undefined;
  readonly description: string;
  /** False for the longer of two names of a model, and for agents, which do not use the tools of Codex. */
  readonly isListed: boolean;
  /** Only chat models are listed for Codex. */
  readonly isChatModel: boolean;
}

/** The models by upstream and id. */
type ModelsByUpstream = ReadonlyMap<string, ReadonlyMap<string, DiscoveredModel>>;

/** Codex 0.166 reads 4,000 entries (22 MB) in 0.8 s; its timeout is 5 s. */
export const maxCodexEntries = 2_000;
const maxRequestedNameLength = 200;

/**
 * Lists every name that resolves to a model: the aliases, then each model as `upstream/model` and by its plain name if that
 * is unambiguous, then the agents. `requestedName` is a name that a client is about to use: with a single upstream any name
 * works, and Codex warns about names that are not in its catalog.
 */
export function buildModelList({
  config,
  discovered,
  requestedName,
}: {
  config: Config;
  discovered: DiscoveredModels;
  requestedName?: string | undefined;
}): ModelList {
  const offers = collectOffers(config, discovered, requestedName);
  const codexOffers = offers.filter(({ isChatModel }) => isChatModel).slice(0, maxCodexEntries);
  return {
    object: "list",
    data: offers.map(({ id, owner, model }) => ({
      id,
      object: "model",
      created: model.created ?? 0,
      owned_by: owner,
      type: "model",
      display_name: id,
      created_at: new Date((model.created ?? 0) * 1000).toISOString(),
    })),
    has_more: false,
    first_id: offers[0]?.id ?? null,
    last_id: offers.at(-1)?.id ?? null,
    models: codexOffers.map(toCatalogEntry),
  };
}

function collectOffers(
  config: Config,
  discovered: DiscoveredModels,
  requestedName: string | undefined,
): readonly OfferedModel[] {
  const modelsByUpstream = new Map<string, ReadonlyMap<string, DiscoveredModel>>();
  const counts = new Map<string, number>();
  for (const upstream of config.upstreams.values()) {
    const models = getUpstreamModels(upstream, discovered);
    modelsByUpstream.set(upstream.name, models);
    for (const id of models.keys()) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const hasModel: HasModel = (upstream, model) =>
    modelsByUpstream.get(upstream.name)?.has(model) ?? false;

  const offers = new Map<string, OfferedModel>();
  for (const [id, alias] of config.models) {
    const offer = buildAliasOffer(id, alias, modelsByUpstream);
    if (offer !== undefined) offers.set(id, offer);
  }
  const isKnown = (name: string): boolean => offers.has(name) || config.agents.has(name);
  if (
    requestedName !== undefined &&
    requestedName.length <= maxRequestedNameLength &&
    !isKnown(requestedName)
  ) {
    const alias = findModelAlias(requestedName, config) ?? {
      targets: findTargets(requestedName, config, hasModel) ?? [],
      contextWindow: undefined,
      type: undefined,
    };
    const offer = buildAliasOffer(requestedName, alias, modelsByUpstream);
    if (offer !== undefined) offers.set(requestedName, offer);
  }
  for (const [upstream, models] of modelsByUpstream)
    for (const model of models.values()) {
      const target = { upstream, model: model.id };
      const description = `${model.id} at ${upstream}`;
      const isChatModel = isChatTarget(target, undefined, modelsByUpstream);
      const offer = { owner: upstream, model, contextWindow: undefined, description, isChatModel };
      const fullName = `${upstream}/${model.id}`;
      const isUnambiguous =
        counts.get(model.id) === 1 &&
        !isKnown(model.id) &&
        isOnlyTarget(findTargets(model.id, config, hasModel), target);
      if (!offers.has(fullName))
        offers.set(fullName, { ...offer, id: fullName, isListed: !isUnambiguous });
      if (isUnambiguous) offers.set(model.id, { ...offer, id: model.id, isListed: true });
    }
  // Agents are last: clients that use the first entry expect a model.
  for (const [id, agent] of config.agents) {
    const targets = findTargets(agent.model, config, hasModel) ?? [];
    offers.set(id, buildAgentOffer(agent, targets, config, modelsByUpstream));
  }
  return [...offers.values()];
}

function buildAliasOffer(
  id: string,
  { targets, contextWindow, type }: Pick<ModelAlias, "targets" | "contextWindow" | "type">,
  modelsByUpstream: ModelsByUpstream,
): OfferedModel | undefined {
  const [target] = targets;
  if (target === undefined) return undefined;
  const model = getModel(target, modelsByUpstream);
  const descriptions = targets.map(({ upstream, model: name }) => `${name} at ${upstream}`);
  return {
    id,
    owner: target.upstream,
    model,
    contextWindow: contextWindow ?? findSmallestWindow(targets, modelsByUpstream),
    description: descriptions.join(", then "),
    isListed: true,
    isChatModel: isChatTarget(target, type, modelsByUpstream),
  };
}

/** Returns the context window that every target has; undefined for a single target. A client compacts its history accordingly. */
function findSmallestWindow(
  targets: readonly ModelTarget[],
  modelsByUpstream: ModelsByUpstream,
): number | undefined {
  if (targets.length === 1) return undefined;
  const windows = targets.map((target) => {
    const { contextWindow, contextWindowCap = Infinity } = lookupKnownModel(target.model);
    const listed = getModel(target, modelsByUpstream).contextWindow;
    return Math.min(listed ?? contextWindow, contextWindowCap);
  });
  return Math.min(...windows);
}

/** An agent has the capabilities of its model. */
function buildAgentOffer(
  agent: AgentConfig,
  [target]: readonly ModelTarget[],
  config: Config,
  modelsByUpstream: ModelsByUpstream,
): OfferedModel {
  const alias = findModelAlias(agent.model, config);
  return {
    id: agent.name,
    owner: agentOwner,
    model: target === undefined ? { id: agent.model } : getModel(target, modelsByUpstream),
    contextWindow: agent.contextWindow ?? alias?.contextWindow,
    description: agent.description || `An agent with ${agent.model}`,
    isListed: false,
    isChatModel: target === undefined || isChatTarget(target, alias?.type, modelsByUpstream),
  };
}

function getModel(
  { upstream, model }: ModelTarget,
  modelsByUpstream: ModelsByUpstream,
): DiscoveredModel {
  return modelsByUpstream.get(upstream)?.get(model) ?? { id: model };
}

/** True for a chat model: as set in `[models]`, else as listed by the upstream, else guessed from the name. */
function isChatTarget(
  target: ModelTarget,
  type: ModelType | undefined,
  modelsByUpstream: ModelsByUpstream,
): boolean {
  if (type !== undefined) return type === "chat";
  const { upstream, model } = target;
  return (
    getModel(target, modelsByUpstream).isChatModel ?? looksLikeChatModel(`${upstream}/${model}`)
  );
}

function isOnlyTarget(targets: readonly ModelTarget[] | undefined, expected: ModelTarget): boolean {
  const [target, another] = targets ?? [];
  return (
    another === undefined &&
    target?.upstream === expected.upstream &&
    target.model === expected.model
  );
}

function toCatalogEntry(
  { id, model, contextWindow, description, isListed }: OfferedModel,
  index: number,
) {
  const knownModel = lookupKnownModel(model.id);
  return buildCodexCatalogEntry({
    slug: id,
    displayName: id,
    description,
    contextWindow:
      contextWindow ??
      Math.min(
        model.contextWindow ?? knownModel.contextWindow,
        knownModel.contextWindowCap ?? Infinity,
      ),
    efforts: model.efforts ?? knownModel.efforts,
    defaultEffort: knownModel.defaultEffort,
    hasVision: model.hasVision ?? knownModel.hasVision,
    priority: index,
    isListed,
  });
}
