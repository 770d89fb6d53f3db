import { effortLadder, isObject, type JsonObject } from "@deltawire/wire";

/** What an upstream's own list says about a model; what it does not say is undefined. */
export interface DiscoveredModel {
  readonly id: string;
  readonly contextWindow?: number;
  readonly seesImages?: boolean;
  /** Seconds since 1970. */
  readonly created?: number;
  /** Words for the reasoning effort, the lowest first; empty for a model that does not reason. */
  readonly efforts?: readonly string[];
  /** False where the list says that this is no model to talk with: embeddings, images, speech. */
  readonly chats?: boolean;
}

const mostModels = 10_000;
const longestId = 200;
const mostEfforts = 10;

/** From the lowest to the highest; OpenRouter lists them the other way round. */
const ladder = [...effortLadder, "ultra"];

/**
 * The models in an upstream's answer to `GET /models`, or undefined if it holds no list. Servers agree on little: OpenAI
 * says `data`, Together sends a bare array, Ollama and Codex say `models`, and llama.cpp says both about the same
 * models. Entries that make no sense are left out.
 */
export function parseModelList(answer: unknown): readonly DiscoveredModel[] | undefined {
  const lists = Array.isArray(answer)
    ? [answer]
    : isObject(answer)
      ? [answer["data"], answer["models"]].filter((list) => Array.isArray(list))
      : [];
  if (lists.length === 0) return undefined;
  const models = new Map<string, DiscoveredModel>();
  for (const entry of lists.flat()) {
    const model = readEntry(entry);
    if (model === undefined) continue;
    const before = models.get(model.id);
    if (before === undefined && models.size === mostModels) continue;
    models.set(model.id, { ...model, ...before });
  }
  return [...models.values()];
}

function readEntry(entry: unknown): DiscoveredModel | undefined {
  if (typeof entry === "string") return readEntry({ id: entry });
  if (!isObject(entry)) return undefined;
  const id = idOf(entry);
  if (id === undefined) return undefined;
  return withoutUndefined({
    id,
    contextWindow: contextWindowOf(entry),
    seesImages: seesImages(entry),
    created: wholeNumber(entry["created"], 1, 100_000_000_000),
    efforts: effortsOf(entry),
    chats: chats(entry),
  });
}

/** `id`; Codex's `slug`; LM Studio's own `key`; Ollama's `model` and `name`. Gemini's ids have a folder before them. */
function idOf(entry: JsonObject): string | undefined {
  for (const field of ["id", "slug", "key", "model", "name"]) {
    const value = entry[field];
    if (typeof value !== "string") continue;
    const id = value.replace(/^models\//, "");
    if (id.length <= longestId && /^[\u0021-\u007e\u00a0-\ud7ff\ue000-\ufffd]+$/.test(id))
      return id;
  }
  return undefined;
}

const windowFields: readonly (readonly [string, string?])[] = [
  ["max_model_len"], // vLLM, SGLang
  ["context_length"], // OpenRouter, Together, Moonshot
  ["top_provider", "context_length"], // OpenRouter: what its first provider really serves
  ["context_window"], // Groq, Codex, Vercel
  ["max_context_length"], // Mistral, LM Studio
  ["loaded_context_length"], // LM Studio, of a model that is loaded
  ["max_input_tokens"], // Anthropic
  ["inputTokenLimit"], // Gemini
  ["meta", "n_ctx"], // llama.cpp, as started
  ["meta", "n_ctx_train"], // llama.cpp, as trained
  ["metadata", "context_length"], // DeepInfra
];

/** Where a list says several figures, the smallest is what is served: loaded of possible, a provider's of the model's. */
function contextWindowOf(entry: JsonObject): number | undefined {
  let smallest: number | undefined;
  for (const [outer, inner] of windowFields) {
    const found = inner === undefined ? entry[outer] : fieldOf(entry[outer], inner);
    // Groq says 448 for Whisper, others 0 for pictures: no window to hold a conversation in.
    const window = wholeNumber(found, 1024, 1_000_000_000);
    if (window !== undefined && (smallest === undefined || window < smallest)) smallest = window;
  }
  return smallest;
}

function seesImages(entry: JsonObject): boolean | undefined {
  const { capabilities, supports_image_in: supported, type } = entry;
  if (typeof supported === "boolean") return supported; // Moonshot
  if (type === "vlm") return true; // LM Studio
  const vision = fieldOf(capabilities, "vision"); // Mistral
  if (typeof vision === "boolean") return vision;
  const inputs =
    fieldOf(entry["architecture"], "input_modalities") ?? // OpenRouter
    entry["input_modalities"] ?? // Codex
    fieldOf(entry["modalities"], "input");
  if (Array.isArray(inputs)) return inputs.includes("image");
  if (Array.isArray(capabilities))
    return capabilities.includes("vision") || capabilities.includes("multimodal"); // Ollama, llama.cpp
  return undefined;
}

function effortsOf(entry: JsonObject): readonly string[] | undefined {
  const levels = entry["supported_reasoning_levels"]; // Codex
  if (Array.isArray(levels)) return words(levels.map((level) => fieldOf(level, "effort")));
  const efforts = fieldOf(entry["reasoning"], "supported_efforts"); // OpenRouter
  if (Array.isArray(efforts)) return words(efforts);
  if (entry["supports_reasoning"] === false) return []; // Moonshot
  const parameters = entry["supported_parameters"]; // OpenRouter
  if (Array.isArray(parameters) && !parameters.includes("reasoning")) return [];
  return undefined;
}

function words(list: readonly unknown[]): readonly string[] | undefined {
  const known = new Set<string>();
  for (const word of list)
    if (typeof word === "string" && /^[a-z_-]{1,20}$/.test(word)) known.add(word);
  const place = (word: string) => (ladder.includes(word) ? ladder.indexOf(word) : ladder.length);
  const sorted = [...known].toSorted((a, b) => place(a) - place(b)).slice(0, mostEfforts);
  return sorted.length === 0 && list.length > 0 ? undefined : sorted;
}

function chats(entry: JsonObject): boolean | undefined {
  const { type, architecture, capabilities } = entry;
  const outputs = fieldOf(architecture, "output_modalities");
  if (Array.isArray(outputs) && !outputs.includes("text")) return false;
  if (fieldOf(capabilities, "completion_chat") === false) return false; // Mistral
  // Together and LM Studio; both say other words for what chats.
  const others = ["embedding", "embeddings", "image", "audio", "rerank", "moderation", "video"];
  return typeof type === "string" && others.includes(type) ? false : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function wholeNumber(value: unknown, least: number, most: number): number | undefined {
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return value >= least && value <= most ? value : undefined;
}

type Sparse<Type> = { [Key in keyof Type]: Type[Key] | undefined } & { readonly id: string };

function withoutUndefined(model: Sparse<Required<DiscoveredModel>>): DiscoveredModel {
  return Object.fromEntries(
    Object.entries(model).filter(([, value]) => value !== undefined),
  ) as unknown as DiscoveredModel;
}
