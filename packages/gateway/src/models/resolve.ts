import type { Config, ModelTarget, UpstreamConfig } from "../config/config.ts";
import { knownKeys, type KnownKey } from "../config/environment.ts";
import { didYouMean } from "@deltawire/tasks";
import type { DiscoveredModel } from "./parse.ts";

/** What each upstream said that it has, by the upstream's name. */
export type Discovered = ReadonlyMap<string, readonly DiscoveredModel[]>;

export type Resolved =
  | { readonly ok: true; readonly targets: readonly ModelTarget[] }
  | { readonly ok: false; readonly message: string };

/** Whether an upstream is known to have a model. */
export type Knows = (upstream: UpstreamConfig, model: string) => boolean;

/** The built-in upstream. */
const demoName = "demo";

const mostCandidates = 2_000;
const longestShown = 100;

/**
 * Where a model of that name is: an alias; `upstream/model`; a model that an upstream is known to have, the first one in
 * the order of the configuration; with a single upstream, any name at all.
 */
export function resolveModel(name: string, config: Config, discovered: Discovered): Resolved {
  const knows: Knows = (upstream, model) => modelsOf(upstream, discovered).has(model);
  const targets = targetsOf(name, config, knows);
  return targets === undefined
    ? { ok: false, message: notFound(name, config, discovered) }
    : { ok: true, targets };
}

export function targetsOf(
  name: string,
  { upstreams, models }: Config,
  knows: Knows,
): readonly ModelTarget[] | undefined {
  const alias = models.get(name);
  if (alias !== undefined) return alias.targets;

  const slash = name.indexOf("/");
  const named = slash === -1 ? undefined : upstreams.get(name.slice(0, slash));
  const rest = name.slice(slash + 1);
  if (named !== undefined && rest !== "") {
    // OpenRouter has a model "openrouter/auto", and a user may well call the upstream "openrouter".
    const whole = knows(named, name) && !knows(named, rest);
    return [{ upstream: named.name, model: whole ? name : rest }];
  }

  for (const upstream of upstreams.values())
    if (knows(upstream, name)) return [{ upstream: upstream.name, model: name }];

  const [only, another] = upstreams.values();
  if (only === undefined || another !== undefined || name === "") return undefined;
  // The demo has no models but those that it lists: whoever names another means an upstream that is not there.
  if (only.name === demoName) return undefined;
  return [{ upstream: only.name, model: name }];
}

/** The models of an upstream by id, as far as they are known: those of its configuration, or those that it listed. */
export function modelsOf(
  upstream: UpstreamConfig,
  discovered: Discovered,
): ReadonlyMap<string, DiscoveredModel> {
  const list = upstream.models ?? discovered.get(upstream.name) ?? none;
  const before = byId.get(list);
  if (before !== undefined) return before;
  const models = list.map((one) => (typeof one === "string" ? { id: one } : one));
  const made = new Map(models.map((model) => [model.id, model]));
  byId.set(list, made);
  return made;
}

/** By the list that they are of, which stays the same until there is another: it is looked into for every name. */
const byId = new WeakMap<
  readonly (string | DiscoveredModel)[],
  ReadonlyMap<string, DiscoveredModel>
>();
const none: readonly DiscoveredModel[] = [];

function notFound(name: string, config: Config, discovered: Discovered): string {
  const provider = providerOf(name);
  if (provider !== undefined && !config.upstreams.has(provider.name))
    return `there is no upstream "${provider.name}": ${provider.variable} was not set where this gateway was started; set it there and start the gateway again, or configure the upstream`;
  const shown = name.length > longestShown ? `${name.slice(0, longestShown)}…` : name;
  if (config.upstreams.size === 0) return `there is no model "${shown}": no upstream is configured`;
  const near = name === shown ? didYouMean(name, candidates(config, discovered)) : "";
  const silent = [...config.upstreams.values()].filter(
    (upstream) => upstream.models === undefined && !discovered.has(upstream.name),
  );
  const unknown =
    silent.length === 0
      ? ""
      : ` The models of ${silent.map((upstream) => upstream.name).join(", ")} are not known; "upstream/model" always works.`;
  return `there is no model "${shown}"${near === "" ? "." : `:${near}`} GET /v1/models shows all names.${unknown}`;
}

function candidates(config: Config, discovered: Discovered): readonly string[] {
  const names = [...config.models.keys(), ...config.agents.keys()];
  for (const upstream of config.upstreams.values())
    for (const id of modelsOf(upstream, discovered).keys()) {
      if (names.length >= mostCandidates) return names;
      names.push(id, `${upstream.name}/${id}`);
    }
  return names;
}

/** The provider that a name of the form `provider/model` asks for, if it is one that a key alone makes ready. */
function providerOf(name: string): KnownKey | undefined {
  return knownKeys.find((known) => name.startsWith(`${known.name}/`));
}
