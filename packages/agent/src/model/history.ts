import { blobPath, type ContentPart, type OutputItem, type TaskState } from "@deltawire/tasks";
import type { ContentPart as WirePart, InputItem, JsonObject } from "@deltawire/wire";
import { openCalls, unretractedItems } from "../task/items.ts";
import type { PrivateItem, PrivateParts } from "../log/private-parts.ts";

/** What the model is told of a task so far: what came before it, what the user said, and every item in its order. */
export function historyOf(state: TaskState, parts: PrivateParts): InputItem[] {
  const { history = [], content = [] } = parts.request(state.task_id) as Asked;
  const compaction = parts.compaction(state.task_id);
  const from = compaction?.from_index ?? 0;
  const input: InputItem[] = content.length > 0 ? [userMessage(content)] : [];
  if (compaction === undefined) input.unshift(...history);
  else {
    const summary = userMessage([summaryPart(compaction.summary)]);
    // What was before the task is said before it.
    if (from === 0) input.unshift(summary);
    else input.push(summary);
  }
  const ids = new CallIds(state, parts, compaction === undefined ? history : []);
  return [...input, ...itemsFrom(from, state, parts, ids)];
}

/**
 * What a model is told in a later turn of what a task has said and done, word for word: what the task was asked stands
 * before it already. A call that has no result yet is not told.
 */
export function transcriptOf(state: TaskState, parts: PrivateParts): InputItem[] {
  const { history = [] } = parts.request(state.task_id) as Asked;
  const open = new Set<string>(openCalls(state).map(({ id }) => id));
  const isTold = ({ id }: { id: string }): boolean => !open.has(id);
  return itemsFrom(0, state, parts, new CallIds(state, parts, history), isTold);
}

/** What the model said and was told from an index on, with what the user said meanwhile where the model saw it. */
function itemsFrom(
  from: number,
  state: TaskState,
  parts: PrivateParts,
  ids: CallIds,
  isTold: (item: OutputItem) => boolean = () => true,
): InputItem[] {
  const items: InputItem[] = [];
  let isSealed = false;
  const inputs = state.inputs.filter(({ taken_at }) => taken_at !== undefined && taken_at >= from);
  for (let index = from; index <= state.output.length; index += 1) {
    for (const { item, taken_at } of inputs)
      if (taken_at === index) items.push(userMessage(item.content));
    const item = state.output[index];
    if (item === undefined || item.type === "retracted" || !isTold(item)) continue;
    const kept = parts.item(item.id);
    if (item.type === "reasoning") isSealed = isSealedReasoning(kept);
    else if (item.type === "tool_result") isSealed = false;
    const said = inputItem(item, kept, ids, isSealed);
    if (said !== undefined) items.push(said);
  }
  return items;
}

interface Asked {
  history?: InputItem[];
  content?: ContentPart[];
}

/** The user's words with what stood before them, for the summary and for the model alike. */
function userMessage(content: readonly ContentPart[]): InputItem {
  return { type: "message", role: "user", content: content.map(inputPart) };
}

function summaryPart(summary: string): ContentPart {
  return { type: "text", text: `What has happened so far, in short:\n\n${summary}` };
}

function inputItem(
  item: OutputItem,
  kept: PrivateItem,
  ids: CallIds,
  isSealed: boolean,
): InputItem | undefined {
  switch (item.type) {
    case "reasoning":
      return kept.model_item as InputItem | undefined;
    case "message": {
      const text = item.block_list
        .map((block) => (block.type === "text" ? block.text : ""))
        .join("");
      if (text === "") return undefined;
      return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
    }
    case "tool_call":
      return {
        type: "function_call",
        call_id: ids.of(item.call_id),
        name: item.name,
        arguments: item.arguments === "" ? "{}" : item.arguments,
        ...(isSealed ? idOf(kept) : {}),
      };
    case "tool_result":
      if (item.status === "in_progress") return undefined;
      return {
        type: "function_call_output",
        call_id: ids.of(item.call_id),
        output: callOutput(kept.content ?? []),
      };
    default:
      return undefined;
  }
}

/** Reasoning that its server can read again: the other is left out of the request, by this or by the gateway. */
function isSealedReasoning({ model_item }: PrivateItem): boolean {
  const sealed = model_item?.["encrypted_content"];
  return typeof sealed === "string" && sealed !== "";
}

/**
 * OpenAI pairs a call with the sealed reasoning before it by the call's own id. Without it the id would have to be another
 * one in the next turn, which would change what was sent before.
 */
function idOf({ model_item }: PrivateItem): JsonObject {
  const id = model_item?.["id"];
  return typeof id === "string" ? { id } : {};
}

/** Text alone is a string, which every server reads. */
export function callOutput(content: readonly ContentPart[]): string | WirePart[] {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === content.length ? texts.join("\n") : content.map(inputPart);
}

/** A part as a model is told it. */
export function inputPart(part: ContentPart): WirePart {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image_url":
      return { type: "input_image", image_url: part.image_url.url };
    case "audio_url": {
      const { url } = part.audio_url;
      // A sound goes with the request; no server fetches it.
      if (!url.startsWith(blobPath) && !url.startsWith("data:"))
        return { type: "input_text", text: `[audio: ${url}]` };
      return { type: "input_audio", input_audio: { url } };
    }
    case "file_url": {
      const { filename } = part;
      const { url } = part.file_url;
      const named = filename === undefined ? {} : { filename };
      return url.startsWith("data:")
        ? { type: "input_file", filename: "file", ...named, file_data: url }
        : { type: "input_file", file_url: url, ...named };
    }
    default:
      return { type: "input_text", text: "" };
  }
}

/** Some servers number their calls, from the start in every reply. */
const shortestId = 6;

/**
 * The model knows its calls by the ids that its server gave them. They are sent back, so that its cache and its reasoning
 * fit, unless they are too short to be told apart or two calls have the same one: then ours are, which never repeat.
 */
class CallIds {
  readonly #theirs = new Map<string, string>();

  constructor(state: TaskState, parts: PrivateParts, history: readonly InputItem[]) {
    const used = new Set(history.map((item) => (item as JsonObject)["call_id"]));
    for (const item of unretractedItems(state, 0)) {
      if (item.type !== "tool_call") continue;
      const told = parts.item(item.id).model_item?.["call_id"];
      if (typeof told !== "string" || told.length < shortestId || used.has(told)) continue;
      used.add(told);
      this.#theirs.set(item.call_id, told);
    }
  }

  of(callId: string): string {
    return this.#theirs.get(callId) ?? callId;
  }
}
