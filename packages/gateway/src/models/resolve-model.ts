import type { Config, ModelTarget, UpstreamConfig } from "../config/config.ts";
import { findModelAlias, splitFullName } from "../config/model-patterns.ts";
import { providerKeys, type ProviderKey } from "../config/provider-keys.ts";
import { didYouMean, findClosestMatch } from "@deltawire/tasks";
import type { DiscoveredModel } from "./parse-model-list.ts";

/** The fetched model lists, by name of the upstream. */
export type DiscoveredModels = ReadonlyMap<string, readonly DiscoveredModel[]>;

export type ModelResolution =
  | { readonly ok: true; readonly targets: readonly ModelTarget[] }
  | { readonly ok: false; readonly message: string };

/** True if an upstream is known to have a model. */
export type HasModel = (upstream: UpstreamConfig, model: string) => boolean;

/** The name of the built-in upstream. */
const demoUpstreamName = "demo";

const maxCandidates = 2_000;
const maxExcerptLength = 100;

/**
 * Resolves the name of a model: an alias; `upstream/model`; a pattern of `[models]`; a model that an upstream is known to have, in the order of the
 * configuration; with a single upstream, any name.
 */
export function resolveModel(
  name: string,
  config: Config,
  discovered: DiscoveredModels,
): ModelResolution {
  const hasModel: HasModel = (upstream, model) =>
    getUpstreamModels(upstream, discovered).has(model);
  const targets = findTargets(name, config, hasModel);
  return targets === undefined
    ? { ok: false, message: formatNotFound(name, config, discovered) }
    : { ok: true, targets };
}

/** Returns the models that a name refers to, in the order in which they are tried; undefined if there are none. */
export function findTargets(
  name: string,
  config: Config,
  hasModel: HasModel,
): readonly ModelTarget[] | undefined {
  const alias = findModelAlias(name, config);
  if (alias !== undefined) return alias.targets;

  const fullName = splitFullName(name, config);
  if (fullName !== undefined) {
    const { upstream, model } = fullName;
    // OpenRouter has a model "openrouter/auto", and the upstream may be called "openrouter".
    const isInUpstream = hasModel(upstream, name) && !hasModel(upstream, model);
    return [{ upstream: upstream.name, model: isInUpstream ? name : model }];
  }

  const { upstreams } = config;
  for (const upstream of upstreams.values())
    if (hasModel(upstream, name)) return [{ upstream: upstream.name, model: name }];

  const [onlyUpstream, another] = upstreams.values();
  if (onlyUpstream === undefined || another !== undefined || name === "") return undefined;
  // The demo has only the models that it lists. Any other name probably belongs to an upstream that is not configured.
  if (onlyUpstream.name === demoUpstreamName) return undefined;
  return [{ upstream: onlyUpstream.name, model: name }];
}

/** Returns the known models of an upstream by id: the configured ones, else the fetched list. */
export function getUpstreamModels(
  upstream: UpstreamConfig,
  discovered: DiscoveredModels,
): ReadonlyMap<string, DiscoveredModel> {
  const list = upstream.models ?? discovered.get(upstream.name) ?? noModels;
  const cached = modelsByList.get(list);
  if (cached !== undefined) return cached;
  const models = list.map((model) => (typeof model === "string" ? { id: model } : model));
  const modelsById = new Map(models.map((model) => [model.id, model]));
  modelsByList.set(list, modelsById);
  return modelsById;
}

/** Models by id, cached per list: a list is searched for every name, and is the same object until it changes. */
const modelsByList = new WeakMap<
  readonly (string | DiscoveredModel)[],
  ReadonlyMap<string, DiscoveredModel>
>();
const noModels: readonly DiscoveredModel[] = [];

function formatNotFound(name: string, config: Config, discovered: DiscoveredModels): string {
  const provider = findProviderKey(name);
  if (provider !== undefined && !config.upstreams.has(provider.name))
    return `unknown upstream "${provider.name}": ${provider.variable} was not set when the gateway started; set it and restart the gateway, or configure the upstream`;
  const excerpt = name.length > maxExcerptLength ? `${name.slice(0, maxExcerptLength)}…` : name;
  if (config.upstreams.size === 0) return `unknown model "${excerpt}": no upstream is configured`;
  const suggestion = name === excerpt ? suggestName(name, config, discovered) : "";
  const unlistedUpstreams = [...config.upstreams.values()].filter(
    (upstream) => upstream.models === undefined && !discovered.has(upstream.name),
  );
  const unlistedNote =
    unlistedUpstreams.length === 0
      ? ""
      : ` The model list of ${unlistedUpstreams.map((upstream) => upstream.name).join(", ")} is not available; "upstream/model" always works.`;
  return `unknown model "${excerpt}"${suggestion}. GET /v1/models lists all names.${unlistedNote}`;
}

/** Returns ` (did you mean x?)` with a known name, else with the upstream of the name corrected; "" if nothing is close. */
function suggestName(name: string, config: Config, discovered: DiscoveredModels): string {
  const suggestion = didYouMean(name, listCandidates(config, discovered));
  const slash = name.indexOf("/");
  if (suggestion !== "" || slash < 0) return suggestion;
  const upstreamNames = [...config.upstreams.keys(), ...providerKeys.map((key) => key.name)];
  const upstream = findClosestMatch(name.slice(0, slash), upstreamNames);
  return upstream === undefined ? "" : ` (did you mean ${upstream}${name.slice(slash)}?)`;
}

function listCandidates(config: Config, discovered: DiscoveredModels): readonly string[] {
  const names = [...config.models.keys(), ...config.agents.keys()];
  for (const upstream of config.upstreams.values())
    for (const id of getUpstreamModels(upstream, discovered).keys()) {
      if (names.length >= maxCandidates) return names;
      names.push(id, `${upstream.name}/${id}`);
    }
  return names;
}

/** Returns the provider of a name such as `provider/model`, if setting its key is enough to configure it. */
function findProviderKey(name: string): ProviderKey | undefined {
  return providerKeys.find((provider) => name.startsWith(`${provider.name}/`));
}
