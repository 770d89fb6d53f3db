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

/* Conversions to the counterparts in UI messages. */

export function toSourceChunk(taskId: string, reference: Reference): UiChunk {
  const { reference_id, item_id, block_indexes } = reference;
  const providerMetadata = { deltawire: { task_id: taskId, reference_id, item_id, block_indexes } };
  const source = toSource(taskId, reference);
  if (source.sourceType === "document") {
    const { id: sourceId, mediaType, title } = source;
    return { type: "source-document", sourceId, mediaType, title, providerMetadata };
  }
  const { id: sourceId, url, title } = source;
  const titleField = title === undefined ? {} : { title };
  return { type: "source-url", sourceId, url, ...titleField, providerMetadata };
}

/** Converts annotations to citations. Unresolved markers are skipped. */
export function toCitations(
  taskId: string,
  annotations: readonly Annotation[],
  references: readonly Reference[],
): UiCitation[] {
  return annotations.flatMap(({ type, reference_id, start_index, end_index }) => {
    const reference = references.find((candidate) => candidate.reference_id === reference_id);
    if (type !== "reference_to_block" || reference === undefined) return [];
    return [{ source: toSource(taskId, reference), startIndex: start_index, endIndex: end_index }];
  });
}

function toSource(taskId: string, reference: Reference): UiSource {
  const id = `${taskId}:${reference.reference_id}`;
  if (reference.url === undefined)
    return {
      type: "source",
      sourceType: "document",
      id,
      mediaType: "text/plain",
      title: getSourceTitle(reference),
    };
  const { url, title } = reference;
  return { type: "source", sourceType: "url", id, url, ...(title === undefined ? {} : { title }) };
}

function getSourceTitle({ title, reference_id }: Reference): string {
  return title ?? `[^${reference_id}]`;
}

export function toBlockChunk(id: string, block: Block): UiChunk | undefined {
  switch (block.type) {
    case "text":
      return undefined;
    case "image":
      return toFileChunk(block.image_url.url, "image");
    case "audio":
      return toFileChunk(block.audio_url.url, "audio");
    case "file":
      return toFileChunk(block.file_url.url, block.media_type ?? "application/octet-stream");
    default:
      return { type: "data-block", id, data: block };
  }
}

function toFileChunk(url: string, fallback: string): UiChunk {
  return { type: "file", url, mediaType: guessMediaType(url, fallback) };
}

export function toUiInputParts(content: readonly ContentPart[]): UiInputPart[] {
  return content.map((part): UiInputPart => {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text };
      case "image_url":
        return toFilePart(part.image_url.url, "image");
      case "audio_url":
        return toFilePart(part.audio_url.url, "audio");
      default:
        return {
          ...toFilePart(part.file_url.url, part.media_type ?? "application/octet-stream"),
          ...(part.filename === undefined ? {} : { filename: part.filename }),
        };
    }
  });
}

function toFilePart(url: string, fallback: string): UiInputPart & { type: "file" } {
  return { type: "file", mediaType: guessMediaType(url, fallback), url };
}

/** UI messages accept `image` as the media type of any image. */
function guessMediaType(url: string, fallback: string): string {
  return /^data:([^;,]+)/.exec(url)?.[1] ?? fallback;
}

/** Converts a result. The output of a sub-agent is its last message; everything else is in `data-subtask-item` parts. */
export function toOutputChunk(
  result: ToolResultItem,
  child: TaskState | undefined,
  isDenied: boolean,
): UiChunk {
  const toolCallId = result.call_id;
  if (isDenied) return { type: "tool-output-denied", toolCallId };
  const blocks =
    child === undefined ? filterBlocks(result.block_list) : getLastMessageBlocks(child);
  const outcome = result.outcome ?? result.status ?? "completed";
  if (outcome === "completed") return { type: "tool-output-available", toolCallId, output: blocks };
  const errorText =
    child === undefined ? joinTexts(blocks) : (child.error?.message ?? child.ended?.reason ?? "");
  return {
    type: "tool-output-error",
    toolCallId,
    errorText: errorText === "" ? outcome : errorText,
  };
}

function filterBlocks(list: readonly (Block | OutputItem)[]): Block[] {
  return list.filter((entry): entry is Block => blockTypes.has(entry.type));
}

function joinTexts(blocks: readonly Block[]): string {
  return blocks.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

const blockTypes: ReadonlySet<string> = new Set(["text", "image", "audio", "file", "data"]);

function getLastMessageBlocks({ output }: TaskState): Block[] {
  const message = output.findLast((item) => item.type === "message");
  return message?.block_list ?? [];
}

export function toUiSubtask(state: TaskState): UiSubtask {
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

export function toFinishReason(reason: string | undefined): UiFinishReason {
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
