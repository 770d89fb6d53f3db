import type { Config } from "../config/config.ts";
import { buildModelList, type ModelList } from "./model-list.ts";
import type { DiscoveredModels } from "./resolve-model.ts";

export interface CachedModelList {
  readonly list: ModelList;
  /** Returns the list as JSON, which is built on first use: 2,000 models are 12 MB and take 25 ms. */
  toJson(): Buffer;
}

/** Maximum number of cached lists with a requested name. Codex requests one or two. */
const maxListsWithName = 4;

/** Caches the model list until the lists of the upstreams change. */
export class ModelListCache {
  readonly #config: Config;
  #discovered: DiscoveredModels | undefined;
  #fullList: CachedModelList | undefined;
  readonly #listsWithName = new Map<string, CachedModelList>();

  constructor(config: Config) {
    this.#config = config;
  }

  /** Returns the list, including `requestedName` if it resolves to a model. */
  get(discovered: DiscoveredModels, requestedName?: string): CachedModelList {
    if (this.#discovered !== discovered) {
      this.#discovered = discovered;
      this.#fullList = undefined;
      this.#listsWithName.clear();
    }
    this.#fullList ??= toCacheEntry(buildModelList({ config: this.#config, discovered }));
    if (
      requestedName === undefined ||
      this.#fullList.list.data.some(({ id }) => id === requestedName)
    )
      return this.#fullList;
    const cached = this.#listsWithName.get(requestedName);
    if (cached !== undefined) return cached;
    const list = buildModelList({ config: this.#config, discovered, requestedName });
    if (list.data.length === this.#fullList.list.data.length) return this.#fullList;
    for (const oldest of this.#listsWithName.keys()) {
      if (this.#listsWithName.size < maxListsWithName) break;
      this.#listsWithName.delete(oldest);
    }
    const entry = toCacheEntry(list);
    this.#listsWithName.set(requestedName, entry);
    return entry;
  }
}

function toCacheEntry(list: ModelList): CachedModelList {
  let json: Buffer | undefined;
  return { list, toJson: () => (json ??= Buffer.from(JSON.stringify(list))) };
}
