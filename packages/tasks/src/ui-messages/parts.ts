import type {
  Annotation,
  Block,
  ContentPart,
  OutputItem,
  Reference,
  ToolResultItem,
} from "../items.ts";
import type { TaskState } from "../state.ts";
import type {
  UiChunk,
  UiCitation,
  UiFinishReason,
  UiInputPart,
  UiSource,
  UiSubtask,
} from "./chunks.ts";

/* What has a counterpart in a UI message, one to one. */

export function sourceChunk(taskId: string, reference: Reference): UiChunk {
  const { reference_id, item_id, block_indexes } = reference;
  const providerMetadata = { deltawire: { task_id: taskId, reference_id, item_id, block_indexes } };
  const source = sourceOf(taskId, reference);
  if (source.sourceType === "document") {
    const { id: sourceId, mediaType, title } = source;
    return { type: "source-document", sourceId, mediaType, title, providerMetadata };
  }
  const { id: sourceId, url, title } = source;
  const named = title === undefined ? {} : { title };
  return { type: "source-url", sourceId, url, ...named, providerMetadata };
}

/** Markers that cite nothing are no citations. */
export function citationsOf(
  taskId: string,
  annotations: readonly Annotation[],
  references: readonly Reference[],
): UiCitation[] {
  return annotations.flatMap(({ type, reference_id, start_index, end_index }) => {
    const reference = references.find((each) => each.reference_id === reference_id);
    if (type !== "reference_to_block" || reference === undefined) return [];
    return [{ source: sourceOf(taskId, reference), startIndex: start_index, endIndex: end_index }];
  });
}

function sourceOf(taskId: string, reference: Reference): UiSource {
  const id = `${taskId}:${reference.reference_id}`;
  if (reference.url === undefined)
    return {
      type: "source",
      sourceType: "document",
      id,
      mediaType: "text/plain",
      title: titleOf(reference),
    };
  const { url, title } = reference;
  return { type: "source", sourceType: "url", id, url, ...(title === undefined ? {} : { title }) };
}

function titleOf({ title, reference_id }: Reference): string {
  return title ?? `[^${reference_id}]`;
}

export function blockChunk(id: string, block: Block): UiChunk | undefined {
  switch (block.type) {
    case "text":
      return undefined;
    case "image":
      return fileChunk(block.image_url.url, "image");
    case "audio":
      return fileChunk(block.audio_url.url, "audio");
    case "file":
      return fileChunk(block.file_url.url, block.media_type ?? "application/octet-stream");
    default:
      return { type: "data-block", id, data: block };
  }
}

function fileChunk(url: string, otherwise: string): UiChunk {
  return { type: "file", url, mediaType: mediaTypeOf(url, otherwise) };
}

export function inputParts(content: readonly ContentPart[]): UiInputPart[] {
  return content.map((part): UiInputPart => {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text };
      case "image_url":
        return filePart(part.image_url.url, "image");
      case "audio_url":
        return filePart(part.audio_url.url, "audio");
      default:
        return {
          ...filePart(part.file_url.url, part.media_type ?? "application/octet-stream"),
          ...(part.filename === undefined ? {} : { filename: part.filename }),
        };
    }
  });
}

function filePart(url: string, otherwise: string): UiInputPart & { type: "file" } {
  return { type: "file", mediaType: mediaTypeOf(url, otherwise), url };
}

/** A UI message takes `image` for any picture. */
function mediaTypeOf(url: string, otherwise: string): string {
  return /^data:([^;,]+)/.exec(url)?.[1] ?? otherwise;
}

/** Of a sub-agent the message: all that it did stands in parts of its own. */
export function outputChunk(
  result: ToolResultItem,
  child: TaskState | undefined,
  refused: boolean,
): UiChunk {
  const toolCallId = result.call_id;
  if (refused) return { type: "tool-output-denied", toolCallId };
  const blocks = child === undefined ? ownBlocks(result.block_list) : lastMessage(child);
  const outcome = result.outcome ?? result.status ?? "completed";
  if (outcome === "completed") return { type: "tool-output-available", toolCallId, output: blocks };
  const errorText =
    child === undefined ? textOf(blocks) : (child.error?.message ?? child.ended?.reason ?? "");
  return {
    type: "tool-output-error",
    toolCallId,
    errorText: errorText === "" ? outcome : errorText,
  };
}

function ownBlocks(list: readonly (Block | OutputItem)[]): Block[] {
  return list.filter((entry): entry is Block => blockTypes.has(entry.type));
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

const blockTypes: ReadonlySet<string> = new Set(["text", "image", "audio", "file", "data"]);

function lastMessage({ output }: TaskState): Block[] {
  const message = output.findLast((item) => item.type === "message");
  return message?.block_list ?? [];
}

export function subtaskOf(state: TaskState): UiSubtask {
  const { info, task_id, status, round, error } = state;
  const { parent_task_id, parent_call_id, agent, model, depth } = info;
  return {
    task_id,
    ...(parent_task_id === undefined ? {} : { parent_task_id }),
    ...(parent_call_id === undefined ? {} : { parent_call_id }),
    agent,
    model,
    depth,
    status,
    round,
    ...(error === undefined ? {} : { error }),
  };
}

export function finishReasonOf(reason: string | undefined): UiFinishReason {
  switch (reason) {
    case undefined:
    case "stop":
      return "stop";
    case "length":
      return "length";
    case "content_filter":
      return "content-filter";
    case "tool_calls":
      return "tool-calls";
    default:
      return "other";
  }
}
