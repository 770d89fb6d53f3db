import type { Config } from "../config/config.ts";
import { modelList, type ModelList } from "./list.ts";
import type { Discovered } from "./resolve.ts";

export interface CachedModelList {
  readonly list: ModelList;
  /** The list as JSON. Built when it is first asked for: 2,000 models are 12 MB and take 25 ms. */
  json(): Buffer;
}

/** Names that were asked for and are in no list; Codex asks for one or two. */
const maxAskedLists = 4;

/** Builds the list of models once for every change of what the upstreams have. */
export class ModelListCache {
  readonly #config: Config;
  #discovered: Discovered | undefined;
  #full: CachedModelList | undefined;
  readonly #asked = new Map<string, CachedModelList>();

  constructor(config: Config) {
    this.#config = config;
  }

  /** With `asked` the list has that name too, if a model answers to it. */
  get(discovered: Discovered, asked?: string): CachedModelList {
    if (this.#discovered !== discovered) {
      this.#discovered = discovered;
      this.#full = undefined;
      this.#asked.clear();
    }
    this.#full ??= cached(modelList({ config: this.#config, discovered }));
    if (asked === undefined || this.#full.list.data.some(({ id }) => id === asked))
      return this.#full;
    const known = this.#asked.get(asked);
    if (known !== undefined) return known;
    const list = modelList({ config: this.#config, discovered, asked });
    if (list.data.length === this.#full.list.data.length) return this.#full;
    for (const oldest of this.#asked.keys()) {
      if (this.#asked.size < maxAskedLists) break;
      this.#asked.delete(oldest);
    }
    const made = cached(list);
    this.#asked.set(asked, made);
    return made;
  }
}

function cached(list: ModelList): CachedModelList {
  let json: Buffer | undefined;
  return { list, json: () => (json ??= Buffer.from(JSON.stringify(list))) };
}
