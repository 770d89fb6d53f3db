import { knownType } from "./known-models.ts";
import type { ModelAlias } from "./config.ts";
import type { Reading, Table } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { isKnown, listedModels, warnOfUnlisted, type Targets } from "./model-names.ts";
import { didYouMean, nearest } from "@deltawire/tasks";

/** What the name of a model may lead to, and what it may not. */
export interface NamedModels extends Targets {
  readonly models: ReadonlyMap<string, ModelAlias>;
  /** `[agents]` as it is written. */
  readonly agents: Table;
  /** What to write instead of the name of an agent. */
  readonly insteadOf: (agent: string) => string;
}

/** Whether there is such a model, as far as it can be told before the upstreams are asked for their models. */
export function checkModel(
  model: string,
  place: KeyPath,
  known: NamedModels,
  { problems }: Reading,
): void {
  if (Object.hasOwn(known.agents, model)) {
    const advice = known.insteadOf(model);
    problems.error(place, `is an agent, and only a model can stand here; ${advice}`);
    return;
  }
  if (known.models.has(model)) return;
  const listed = listedModels(known);
  const plain = listed.map((name) => name.slice(name.indexOf("/") + 1));
  if (listed.includes(model) || plain.includes(model)) return;
  const slash = model.indexOf("/");
  const prefix = model.slice(0, Math.max(slash, 0));
  const rest = model.slice(slash + 1);
  if (isKnown(prefix, known) && rest !== "") {
    warnOfUnlisted({ upstream: prefix, model: rest }, place, known, problems);
    return;
  }
  const [only, another] = known.upstreams.keys();
  const isSingle = only !== undefined && another === undefined && !known.demo;
  if (isSingle) {
    warnOfUnlisted({ upstream: only, model }, place, known, problems);
    return;
  }
  const lists = [...known.upstreams.values()].map((upstream) => upstream?.models);
  if (known.demo || lists.includes(undefined)) {
    // Whether it is there is known only when the upstreams have told their models.
    const upstreams = [...known.upstreams.keys(), ...(known.demo ? ["demo"] : [])];
    const near = nearest(prefix, upstreams);
    if (near !== undefined)
      problems.warn(
        place,
        `there is no upstream ${JSON.stringify(prefix)}; did you mean ${near}/${rest}?`,
      );
    return;
  }
  const near = didYouMean(model, [...known.models.keys(), ...listed, ...plain]);
  problems.error(
    place,
    `is no model of this gateway;${near || ' write "upstream/model", or a name of [models]'}`,
  );
}

/** Where only a model that writes answers can stand. A name alone is no proof, so it is an error only where the file says it. */
export function checkThatItChats(
  model: string,
  place: KeyPath,
  { models }: Pick<NamedModels, "models">,
  { problems }: Reading,
): void {
  const alias = models.get(model);
  const [target] = alias?.targets ?? [];
  const type =
    alias?.type ?? knownType(target === undefined ? model : `${target.upstream}/${target.model}`);
  if (type === "chat") return;
  if (alias?.type !== undefined)
    problems.error(place, `is of the type ${type}; name a model that chats`);
  else
    problems.warn(
      place,
      `is a model of the type ${type} by its name; if it chats, write type = "chat" for it in [models]`,
    );
}
