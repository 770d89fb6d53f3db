import type { ModelAbilities } from "@deltawire/agent";
import type { ModelOptions } from "@deltawire/tasks/chats";
import type { Config, TakenKind } from "../config/config.ts";
import { callsTools, knownModel, knownTakes, knownType } from "../config/known-models.ts";
import { refusedOptions, type Learned } from "./refused-options.ts";
import { modelsOf, resolveModel, type Discovered } from "./resolve.ts";

/**
 * What chats can ask of a model: what `[models]` says of its name, else what its upstream has told of it, else what is
 * known by the name of the first model behind it. Which options it refuses its upstream's profile says, and what was learned.
 */
export function abilitiesOf(
  name: string,
  config: Config,
  discovered: Discovered = new Map(),
  learned?: Learned,
): ModelAbilities & { readonly options: ModelOptions } {
  const alias = config.models.get(name);
  const resolved = resolveModel(name, config, discovered);
  const [target] = resolved.ok ? resolved.targets : [];
  const id = target === undefined ? name : `${target.upstream}/${target.model}`;
  const upstream = target && config.upstreams.get(target.upstream);
  const told = upstream && modelsOf(upstream, discovered).get(target.model);
  const type = alias?.type ?? knownType(id);
  const chats = type === "chat";
  const takes = new Set<TakenKind>(alias?.takes ?? knownTakes(id, type));
  if (chats && alias?.takes === undefined && told?.seesImages !== undefined) {
    if (told.seesImages) takes.add("image");
    else takes.delete("image");
  }
  return {
    type,
    images: takes.has("image"),
    audio: takes.has("audio"),
    files: takes.has("pdf"),
    tools: chats && (alias?.tools ?? callsTools(id)),
    efforts: chats ? (told?.efforts ?? knownModel(id).efforts) : [],
    refuses: chats && target && upstream ? refusedOptions(target, upstream, learned) : [],
    options: alias?.options ?? {},
  };
}
