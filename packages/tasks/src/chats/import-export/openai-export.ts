import { assertNever } from "../../error.ts";
import type { JsonValue } from "../../json.ts";
import { isPlainObject } from "../value-checks.ts";
import { selectContextVersions } from "../select-context.ts";
import { getAnswerChain, getChosenVersion, currentPath } from "../chat-path.ts";
import { findImages } from "../version-text.ts";
import type { AnswerVersion, Attachment, Chat } from "../chat-types.ts";
import type { BlobReader } from "./import-types.ts";
import { toOpenAiContent, type OpenAiPart, type PromptContent } from "./openai-parts.ts";
import { splitInput, blocksToText, listAnswerItems } from "./answer-items.ts";

export interface OpenAiToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A message of Chat Completions. */
export type OpenAiMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string | OpenAiPart[] }
  | { role: "assistant"; content: string | null; tool_calls?: OpenAiToolCall[] }
  | { role: "tool"; tool_call_id: string; content: string };

/**
 * Exports the current path as it would be sent to a model, but ignores the turn limit and separators. Hidden nodes, running and
 * failed answers are omitted, and so is reasoning: the format has no field for it.
 */
export function chatToOpenAi(
  chat: Chat,
  replays: Readonly<Record<string, readonly JsonValue[]>> = {},
  blobs: BlobReader = () => undefined,
): { title?: string; messages: OpenAiMessage[] } {
  const messages: OpenAiMessage[] = [];
  const { instructions } = chat.settings;
  if (instructions !== undefined && instructions !== "")
    messages.push({ role: "system", content: instructions });
  const addPrompt = (prompt: PromptContent) => {
    const content = toOpenAiContent(prompt, blobs);
    // The import adds an empty message above an answer that has none; it is not exported again.
    if (content === "" && messages.every(({ role }) => role === "system")) return;
    messages.push({ role: "user", content });
  };
  for (const node of currentPath(chat)) {
    if (node.hidden) continue;
    if (node.kind === "user") addPrompt(getChosenVersion(node));
    if (node.kind !== "answer") continue;
    const exportItems = selectContextVersions(getAnswerChain(node, node.version)).flatMap(
      (version) => {
        const replay = replays[version.version_id];
        return replay === undefined
          ? toExportItems(version)
          : [
              ...replayToExportItems(replay),
              ...audioToExportItems(version),
              ...imagesToExportItems(version),
            ];
      },
    );
    for (const message of groupIntoMessages(exportItems)) {
      if ("prompt" in message) addPrompt(message.prompt);
      else appendMessage(messages, message);
    }
  }
  return { ...(chat.title === "" ? {} : { title: chat.title }), messages };
}

/** A part of an answer, either from a replay or from its items. */
type ExportItem =
  | { type: "text"; text: string }
  | { type: "call"; call: OpenAiToolCall }
  | { type: "result"; call_id: string; text: string }
  | { type: "user"; prompt: PromptContent };

function toExportItems(version: AnswerVersion): ExportItem[] {
  return listAnswerItems(version).flatMap((item): ExportItem[] => {
    switch (item.type) {
      case "reasoning":
        return [];
      case "tool_call":
        return [{ type: "call", call: toToolCall(item.call_id, item.name, item.arguments) }];
      case "tool_result":
        return [{ type: "result", call_id: item.call_id, text: blocksToText(item.block_list) }];
      case "message":
        return item.role === "user"
          ? [{ type: "user", prompt: { ...splitInput(item), contexts: [] } }]
          : [{ type: "text", text: blocksToText(item.block_list) }];
      default:
        return assertNever(item);
    }
  });
}

/** Converts items of the Responses API. Reasoning and items of unknown types are skipped. */
function replayToExportItems(items: readonly JsonValue[]): ExportItem[] {
  return items.flatMap((item): ExportItem[] => {
    if (!isPlainObject(item)) return [];
    const { type = "message", role, content, call_id, name, arguments: args, output } = item;
    if (type === "function_call" && typeof call_id === "string" && typeof name === "string")
      return [
        { type: "call", call: toToolCall(call_id, name, typeof args === "string" ? args : "") },
      ];
    if (type === "function_call_output" && typeof call_id === "string") {
      const { text, attachments } = parseWireContent(output);
      const media = attachments.map(({ kind, url }) => `[${kind}: ${url}]`);
      return [{ type: "result", call_id, text: [text, ...media].filter(Boolean).join("\n") }];
    }
    if (type !== "message") return [];
    const { text, attachments } = parseWireContent(content);
    return role === "assistant"
      ? [{ type: "text", text }]
      : [{ type: "user", prompt: { text, attachments, contexts: [] } }];
  });
}

/** Returns the transcripts of audio output, which replays do not contain. */
function audioToExportItems({ output }: AnswerVersion): ExportItem[] {
  return output.flatMap((item): ExportItem[] => {
    if (item.type !== "message") return [];
    const audioBlocks = item.block_list.filter(({ type }) => type === "audio");
    return [{ type: "text", text: blocksToText(audioBlocks) }];
  });
}

/** Returns the generated images as a user message, because models accept images only in user messages. */
function imagesToExportItems(version: AnswerVersion): ExportItem[] {
  const attachments = findImages(version);
  if (attachments.length === 0) return [];
  return [
    {
      type: "user",
      prompt: { text: "[Images from the answer above:]", attachments, contexts: [] },
    },
  ];
}

function toToolCall(id: string, name: string, args: string): OpenAiToolCall {
  return { id, type: "function", function: { name, arguments: args === "" ? "{}" : args } };
}

function parseWireContent(content: unknown): { text: string; attachments: Attachment[] } {
  if (typeof content === "string") return { text: content, attachments: [] };
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  for (const part of Array.isArray(content) ? content : []) {
    if (!isPlainObject(part)) continue;
    const { text, image_url, input_audio, file_url, file_data, filename } = part;
    const audio = isPlainObject(input_audio) ? input_audio["url"] : undefined;
    const file = file_url ?? file_data;
    if (typeof text === "string") texts.push(text);
    else if (typeof image_url === "string") attachments.push({ kind: "image", url: image_url });
    else if (typeof audio === "string") attachments.push({ kind: "audio", url: audio });
    else if (typeof file === "string")
      attachments.push({
        kind: "file",
        url: file,
        ...(typeof filename === "string" ? { filename } : {}),
      });
  }
  return { text: texts.join("\n"), attachments };
}

type AssistantOrToolMessage = Extract<OpenAiMessage, { role: "assistant" | "tool" }>;

/**
 * Groups the parts of an answer into messages. Every message with calls is directly followed by their results, in the same order:
 * servers reject a history in which a result is missing.
 */
function* groupIntoMessages(
  exportItems: readonly ExportItem[],
): Generator<AssistantOrToolMessage | { prompt: PromptContent }> {
  const results = new Map<string, string>();
  for (const item of exportItems) if (item.type === "result") results.set(item.call_id, item.text);
  let texts: string[] = [];
  let calls: OpenAiToolCall[] = [];
  const flush = function* (): Generator<AssistantOrToolMessage> {
    const content = texts.length === 0 ? null : texts.join("\n\n");
    if (calls.length > 0) yield { role: "assistant", content, tool_calls: calls };
    else if (content !== null) yield { role: "assistant", content };
    for (const { id } of calls)
      yield { role: "tool", tool_call_id: id, content: results.get(id) ?? missingResultText };
    texts = [];
    calls = [];
  };
  for (const item of exportItems) {
    if (item.type === "text" && item.text !== "") texts.push(item.text);
    else if (item.type === "call") calls.push(item.call);
    else if (item.type === "result") yield* flush();
    else if (item.type === "user") {
      yield* flush();
      yield { prompt: item.prompt };
    }
  }
  yield* flush();
}

export const missingResultText = "This call was not run.";

/** Appends a message. Joins two consecutive answers, which occur if the message between them is hidden. */
function appendMessage(messages: OpenAiMessage[], message: AssistantOrToolMessage): void {
  const last = messages.at(-1);
  if (message.role !== "assistant" || last?.role !== "assistant") {
    messages.push(message);
    return;
  }
  const content = [last.content, message.content].filter((text) => text !== null).join("\n\n");
  messages[messages.length - 1] = { ...message, content };
}
