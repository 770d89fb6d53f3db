import { inferModelType } from "./known-models.ts";
import type { ModelAlias } from "./config.ts";
import type { DecodeContext, TomlTable } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import {
  isKnownUpstream,
  listConfiguredModels,
  warnIfUnlisted,
  type KnownUpstreams,
} from "./model-aliases.ts";
import { didYouMean, findClosestMatch } from "@deltawire/tasks";

/** The names that a model setting may refer to, and those that it may not. */
export interface KnownModelNames extends KnownUpstreams {
  readonly models: ReadonlyMap<string, ModelAlias>;
  /** The undecoded `[agents]` table. */
  readonly agents: TomlTable;
  /** Returns what to write instead of the name of an agent. */
  readonly suggestInstead: (agent: string) => string;
}

/** Reports a model name that cannot be valid. The models that upstreams list at runtime are not known here. */
export function checkModelName(
  model: string,
  location: KeyPath,
  known: KnownModelNames,
  { problems }: DecodeContext,
): void {
  if (Object.hasOwn(known.agents, model)) {
    const advice = known.suggestInstead(model);
    problems.error(location, `must be a model, not an agent; ${advice}`);
    return;
  }
  if (known.models.has(model)) return;
  const configuredModels = listConfiguredModels(known);
  const shortNames = configuredModels.map((name) => name.slice(name.indexOf("/") + 1));
  if (configuredModels.includes(model) || shortNames.includes(model)) return;
  const slash = model.indexOf("/");
  const prefix = model.slice(0, Math.max(slash, 0));
  const rest = model.slice(slash + 1);
  if (isKnownUpstream(prefix, known) && rest !== "") {
    warnIfUnlisted({ upstream: prefix, model: rest }, location, known, problems);
    return;
  }
  const [firstUpstream] = known.upstreams.keys();
  const hasSingleUpstream = known.upstreams.size === 1 && !known.hasDemo;
  if (firstUpstream !== undefined && hasSingleUpstream) {
    warnIfUnlisted({ upstream: firstUpstream, model }, location, known, problems);
    return;
  }
  const modelLists = [...known.upstreams.values()].map((upstream) => upstream?.models);
  if (known.hasDemo || modelLists.includes(undefined)) {
    // The model may be in a list that an upstream sends later.
    const upstreams = [...known.upstreams.keys(), ...(known.hasDemo ? ["demo"] : [])];
    const suggestion = findClosestMatch(prefix, upstreams);
    if (suggestion !== undefined)
      problems.warn(
        location,
        `unknown upstream ${JSON.stringify(prefix)} (did you mean ${suggestion}/${rest}?)`,
      );
    return;
  }
  const suggestion = didYouMean(model, [
    ...known.models.keys(),
    ...configuredModels,
    ...shortNames,
  ]);
  problems.error(
    location,
    `unknown model${suggestion || '; write "upstream/model" or a name from [models]'}`,
  );
}

/** Reports a model that is not a chat model: as an error if its type is configured, as a warning if it is only inferred. */
export function checkIsChatModel(
  model: string,
  location: KeyPath,
  { models }: Pick<KnownModelNames, "models">,
  { problems }: DecodeContext,
): void {
  const alias = models.get(model);
  const [target] = alias?.targets ?? [];
  const type =
    alias?.type ??
    inferModelType(target === undefined ? model : `${target.upstream}/${target.model}`);
  if (type === "chat") return;
  if (alias?.type !== undefined)
    problems.error(location, `must be a chat model, but its type is ${type}`);
  else
    problems.warn(
      location,
      `looks like a model of type ${type}; if it is a chat model, set type = "chat" for it in [models]`,
    );
}
