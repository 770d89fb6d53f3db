import type { ModelCapabilities } from "@deltawire/agent";
import type { ModelOptions } from "@deltawire/tasks/chats";
import type { Config, InputModality } from "../config/config.ts";
import { findModelAlias } from "../config/model-patterns.ts";
import {
  supportsTools,
  lookupKnownModel,
  inferInputModalities,
  inferModelType,
} from "../config/known-models.ts";
import { findUnsupportedOptions, type LearnedProfiles } from "./unsupported-options.ts";
import { getUpstreamModels, resolveModel, type DiscoveredModels } from "./resolve-model.ts";

/**
 * Returns what a model supports: as set in `[models]`, else as listed by its upstream, else guessed from the name of its
 * first target. Unsupported options follow from the profile of the upstream and from lessons.
 */
export function getModelCapabilities(
  name: string,
  config: Config,
  discovered: DiscoveredModels = new Map(),
  lessons?: LearnedProfiles,
): ModelCapabilities & { readonly options: ModelOptions } {
  const alias = findModelAlias(name, config);
  const resolution = resolveModel(name, config, discovered);
  const [target] = resolution.ok ? resolution.targets : [];
  const id = target === undefined ? name : `${target.upstream}/${target.model}`;
  const upstream = target && config.upstreams.get(target.upstream);
  const listedModel = upstream && getUpstreamModels(upstream, discovered).get(target.model);
  const type = alias?.type ?? inferModelType(id);
  const isChatModel = type === "chat";
  const inputModalities = new Set<InputModality>(
    alias?.inputModalities ?? inferInputModalities(id, type),
  );
  if (isChatModel && alias?.inputModalities === undefined && listedModel?.hasVision !== undefined) {
    if (listedModel.hasVision) inputModalities.add("image");
    else inputModalities.delete("image");
  }
  return {
    type,
    images: inputModalities.has("image"),
    audio: inputModalities.has("audio"),
    files: inputModalities.has("pdf"),
    tools: isChatModel && (alias?.supportsTools ?? supportsTools(id)),
    efforts: isChatModel ? (listedModel?.efforts ?? lookupKnownModel(id).efforts) : [],
    unsupported_options:
      isChatModel && target && upstream ? findUnsupportedOptions(target, upstream, lessons) : [],
    options: alias?.options ?? {},
  };
}
