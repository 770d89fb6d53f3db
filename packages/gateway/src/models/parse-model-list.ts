import { reasoningEfforts, isObject, type JsonObject } from "@deltawire/wire";

/** A model in the list of an upstream. Unknown fields are undefined. */
export interface DiscoveredModel {
  readonly id: string;
  readonly contextWindow?: number;
  readonly hasVision?: boolean;
  /** Seconds since the epoch. */
  readonly created?: number;
  /** Supported reasoning efforts, the lowest first; empty for a model that does not reason. */
  readonly efforts?: readonly string[];
  /** False if the list has another type for the model: embeddings, images, speech. Never true. */
  readonly isChatModel?: boolean;
}

const maxModels = 10_000;
const maxIdLength = 200;
const maxEfforts = 10;

/** From the lowest to the highest. OpenRouter lists efforts in reverse order. */
const effortOrder = [...reasoningEfforts, "ultra"];

/**
 * Parses the response to `GET /models`. Returns undefined if it contains no list. Formats differ: OpenAI has `data`, Together
 * sends an array, Ollama and Codex have `models`, and llama.cpp has both with the same models. Invalid entries are skipped.
 */
export function parseModelList(body: unknown): readonly DiscoveredModel[] | undefined {
  const lists = Array.isArray(body)
    ? [body]
    : isObject(body)
      ? [body["data"], body["models"]].filter((list) => Array.isArray(list))
      : [];
  if (lists.length === 0) return undefined;
  const models = new Map<string, DiscoveredModel>();
  for (const entry of lists.flat()) {
    const model = parseEntry(entry);
    if (model === undefined) continue;
    const earlierEntry = models.get(model.id);
    if (earlierEntry === undefined && models.size === maxModels) continue;
    models.set(model.id, { ...model, ...earlierEntry });
  }
  return [...models.values()];
}

function parseEntry(entry: unknown): DiscoveredModel | undefined {
  if (typeof entry === "string") return parseEntry({ id: entry });
  if (!isObject(entry)) return undefined;
  const id = parseId(entry);
  if (id === undefined) return undefined;
  return withoutUndefined({
    id,
    contextWindow: parseContextWindow(entry),
    hasVision: parseVision(entry),
    created: parseInteger(entry["created"], 1, 100_000_000_000),
    efforts: parseEfforts(entry),
    isChatModel: parseIsChatModel(entry),
  });
}

/** `id`; Codex: `slug`; LM Studio's native API: `key`; Ollama: `model` and `name`. Gemini's ids have the prefix `models/`. */
function parseId(entry: JsonObject): string | undefined {
  for (const field of ["id", "slug", "key", "model", "name"]) {
    const value = entry[field];
    if (typeof value !== "string") continue;
    const id = value.replace(/^models\//, "");
    if (id.length <= maxIdLength && /^[\u0021-\u007e\u00a0-\ud7ff\ue000-\ufffd]+$/.test(id))
      return id;
  }
  return undefined;
}

const windowFields: readonly (readonly [string, string?])[] = [
  ["max_model_len"], // vLLM, SGLang
  ["context_length"], // OpenRouter, Together, Moonshot
  ["top_provider", "context_length"], // OpenRouter: the actual limit of its first provider
  ["context_window"], // Groq, Codex, Vercel
  ["max_context_length"], // Mistral, LM Studio
  ["loaded_context_length"], // LM Studio, for a loaded model
  ["max_input_tokens"], // Anthropic
  ["inputTokenLimit"], // Gemini
  ["meta", "n_ctx"], // llama.cpp, as started
  ["meta", "n_ctx_train"], // llama.cpp, as trained
  ["metadata", "context_length"], // DeepInfra
];

/** Returns the smallest value: the loaded size rather than the possible one, the provider's limit rather than the model's. */
function parseContextWindow(entry: JsonObject): number | undefined {
  let smallest: number | undefined;
  for (const [outer, inner] of windowFields) {
    const value = inner === undefined ? entry[outer] : getField(entry[outer], inner);
    // Groq lists 448 for Whisper, others 0 for image models; neither is a context window.
    const window = parseInteger(value, 1024, 1_000_000_000);
    if (window !== undefined && (smallest === undefined || window < smallest)) smallest = window;
  }
  return smallest;
}

function parseVision(entry: JsonObject): boolean | undefined {
  const { capabilities, supports_image_in: supported, type } = entry;
  if (typeof supported === "boolean") return supported; // Moonshot
  if (type === "vlm") return true; // LM Studio
  const vision = getField(capabilities, "vision"); // Mistral
  if (typeof vision === "boolean") return vision;
  const inputs =
    getField(entry["architecture"], "input_modalities") ?? // OpenRouter
    entry["input_modalities"] ?? // Codex
    getField(entry["modalities"], "input");
  if (Array.isArray(inputs)) return inputs.includes("image");
  if (Array.isArray(capabilities))
    return capabilities.includes("vision") || capabilities.includes("multimodal"); // Ollama, llama.cpp
  return undefined;
}

function parseEfforts(entry: JsonObject): readonly string[] | undefined {
  const levels = entry["supported_reasoning_levels"]; // Codex
  if (Array.isArray(levels))
    return parseEffortNames(levels.map((level) => getField(level, "effort")));
  const efforts = getField(entry["reasoning"], "supported_efforts"); // OpenRouter
  if (Array.isArray(efforts)) return parseEffortNames(efforts);
  if (entry["supports_reasoning"] === false) return []; // Moonshot
  const parameters = entry["supported_parameters"]; // OpenRouter
  if (Array.isArray(parameters) && !parameters.includes("reasoning")) return [];
  return undefined;
}

function parseEffortNames(list: readonly unknown[]): readonly string[] | undefined {
  const names = new Set<string>();
  for (const effort of list)
    if (typeof effort === "string" && /^[a-z_-]{1,20}$/.test(effort)) names.add(effort);
  const getRank = (effort: string) =>
    effortOrder.includes(effort) ? effortOrder.indexOf(effort) : effortOrder.length;
  const sortedNames = [...names].toSorted((a, b) => getRank(a) - getRank(b)).slice(0, maxEfforts);
  return sortedNames.length === 0 && list.length > 0 ? undefined : sortedNames;
}

function parseIsChatModel(entry: JsonObject): boolean | undefined {
  const { type, architecture, capabilities } = entry;
  const outputs = getField(architecture, "output_modalities");
  if (Array.isArray(outputs) && !outputs.includes("text")) return false;
  if (getField(capabilities, "completion_chat") === false) return false; // Mistral
  // The types of Together and LM Studio that are not chat models.
  const otherTypes = ["embedding", "embeddings", "image", "audio", "rerank", "moderation", "video"];
  return typeof type === "string" && otherTypes.includes(type) ? false : undefined;
}

function getField(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function parseInteger(value: unknown, min: number, max: number): number | undefined {
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return value >= min && value <= max ? value : undefined;
}

type Sparse<Type> = { [Key in keyof Type]: Type[Key] | undefined } & { readonly id: string };

function withoutUndefined(model: Sparse<Required<DiscoveredModel>>): DiscoveredModel {
  return Object.fromEntries(
    Object.entries(model).filter(([, value]) => value !== undefined),
  ) as unknown as DiscoveredModel;
}
