import { didYouMean } from "@deltawire/tasks";
import { agentOwner, maxCodexEntries, type ModelList } from "../models/model-list.ts";
import type { ConnectedModel } from "./connection.ts";

/** Lists the models of a gateway. With a name, also the model of that name, if requests for it would be served. */
export type ListModels = (requestedName?: string) => Promise<ModelList>;

export type ModelChoice =
  | {
      readonly ok: true;
      readonly model: ConnectedModel;
      /** Set if the name may be misspelled. */
      readonly warning: string | undefined;
    }
  | {
      readonly ok: false;
      /** Which models there are. */
      readonly message: string;
    };

/** Finds the model of this name, or the first chat model, before the demo and agents. */
export async function chooseModel(
  name: string | undefined,
  listModels: ListModels,
): Promise<ModelChoice> {
  const list = await listModels();
  if (name === undefined) return chooseDefaultModel(list);
  const listedModel = findModel(name, list);
  if (listedModel !== undefined) return { ok: true, model: listedModel, warning: undefined };
  const names = list.data.map(({ id }) => id);
  const suggestion = didYouMean(name, names);
  const unlistedModel = findModel(name, await listModels(name));
  if (unlistedModel === undefined) return { ok: false, message: describeNames(list) };
  const warning =
    suggestion === "" ? undefined : `no upstream lists the model "${name}"${suggestion}`;
  return { ok: true, model: unlistedModel, warning };
}

/** Returns the chat models of a list, with `first` before the others; at most 200, because agents get them in one variable. */
export function listConnectedModels(
  { models }: ModelList,
  first: readonly ConnectedModel[],
): readonly ConnectedModel[] {
  const byId = new Map(first.map((model) => [model.id, model]));
  for (const entry of models)
    if (entry.visibility === "list" && !byId.has(entry.slug))
      byId.set(entry.slug, toConnectedModel(entry));
  return [...byId.values()].slice(0, maxModels);
}

const maxModels = 200;

function chooseDefaultModel(list: ModelList): ModelChoice {
  const owners = new Map(list.data.map(({ id, owned_by: owner }) => [id, owner]));
  const isReal = (id: string) => ![agentOwner, "demo"].includes(owners.get(id) ?? "");
  const entry = list.models.find(({ slug }) => isReal(slug)) ?? list.models[0];
  return entry === undefined
    ? { ok: false, message: "This gateway lists no chat model; name one with --model" }
    : { ok: true, model: toConnectedModel(entry), warning: undefined };
}

function findModel(name: string, { data, models }: ModelList): ConnectedModel | undefined {
  const entry = models.find(({ slug }) => slug === name);
  if (entry !== undefined) return toConnectedModel(entry);
  if (!data.some(({ id }) => id === name)) return undefined;
  // A longer catalog is cut off.
  const isChatModel = models.length >= maxCodexEntries;
  return { id: name, isChatModel, contextWindow: undefined, canReason: false, hasVision: false };
}

function toConnectedModel(entry: ModelList["models"][number]): ConnectedModel {
  return {
    id: entry.slug,
    isChatModel: true,
    contextWindow: entry.context_window,
    canReason: entry.supported_reasoning_levels.length > 0,
    hasVision: entry.input_modalities.includes("image"),
  };
}

function describeNames({ models }: ModelList): string {
  const names = models.filter(({ visibility }) => visibility === "list").map(({ slug }) => slug);
  const shown = names.slice(0, 5).join(", ");
  const rest = names.length > 5 ? ` and ${names.length - 5} more` : "";
  return names.length === 0
    ? "This gateway lists no chat model"
    : `This gateway has ${shown}${rest}`;
}
