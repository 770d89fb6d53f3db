import { unreachable } from "../../error.ts";
import type { JsonValue } from "../../json.ts";
import { isPlainObject } from "../check-value.ts";
import { toldVersions } from "../context.ts";
import { answerChain, chosenVersion, currentPath } from "../path.ts";
import { picturesIn } from "../words.ts";
import type { AnswerVersion, Attachment, Chat } from "../shapes.ts";
import type { BlobReader } from "./imported.ts";
import { contentOf, type OpenAiPart, type Words } from "./openai-parts.ts";
import { inputParts, plainText, saidIn } from "./said.ts";

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
 * What a model would be told of the current path, but all of it: no window and no separator cuts it. Nodes that are hidden
 * from models, answers that run and those that failed are left out, and so is reasoning: there is no place for it.
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
  const addWords = (words: Words) => {
    const content = contentOf(words, blobs);
    // An answer without a question is imported under an empty one, which nobody has said.
    if (content === "" && messages.every(({ role }) => role === "system")) return;
    messages.push({ role: "user", content });
  };
  for (const node of currentPath(chat)) {
    if (node.hidden) continue;
    if (node.kind === "user") addWords(chosenVersion(node));
    if (node.kind !== "answer") continue;
    const told = toldVersions(answerChain(node, node.version)).flatMap((version) => {
      const replay = replays[version.version_id];
      return replay === undefined
        ? fromItems(version)
        : [...fromReplay(replay), ...fromSounds(version), ...fromPictures(version)];
    });
    for (const message of rounds(told)) {
      if ("words" in message) addWords(message.words);
      else addTo(messages, message);
    }
  }
  return { ...(chat.title === "" ? {} : { title: chat.title }), messages };
}

/** What was told, in a form that both of its sources have. */
type Told =
  | { type: "text"; text: string }
  | { type: "call"; call: OpenAiToolCall }
  | { type: "result"; call_id: string; text: string }
  | { type: "user"; words: Words };

function fromItems(version: AnswerVersion): Told[] {
  return saidIn(version).flatMap((item): Told[] => {
    switch (item.type) {
      case "reasoning":
        return [];
      case "tool_call":
        return [{ type: "call", call: toolCall(item.call_id, item.name, item.arguments) }];
      case "tool_result":
        return [{ type: "result", call_id: item.call_id, text: plainText(item.block_list) }];
      case "message":
        return item.role === "user"
          ? [{ type: "user", words: { ...inputParts(item), contexts: [] } }]
          : [{ type: "text", text: plainText(item.block_list) }];
      default:
        return unreachable(item);
    }
  });
}

/** Items of the Responses wire. One of a kind that is not known here is skipped, as reasoning is. */
function fromReplay(items: readonly JsonValue[]): Told[] {
  return items.flatMap((item): Told[] => {
    if (!isPlainObject(item)) return [];
    const { type = "message", role, content, call_id, name, arguments: args, output } = item;
    if (type === "function_call" && typeof call_id === "string" && typeof name === "string")
      return [
        { type: "call", call: toolCall(call_id, name, typeof args === "string" ? args : "") },
      ];
    if (type === "function_call_output" && typeof call_id === "string") {
      const { text, attachments } = wireWords(output);
      const media = attachments.map(({ kind, url }) => `[${kind}: ${url}]`);
      return [{ type: "result", call_id, text: [text, ...media].filter(Boolean).join("\n") }];
    }
    if (type !== "message") return [];
    const { text, attachments } = wireWords(content);
    return role === "assistant"
      ? [{ type: "text", text }]
      : [{ type: "user", words: { text, attachments, contexts: [] } }];
  });
}

/** What was spoken has no words in a replay. */
function fromSounds({ output }: AnswerVersion): Told[] {
  return output.flatMap((item): Told[] => {
    if (item.type !== "message") return [];
    const sounds = item.block_list.filter(({ type }) => type === "audio");
    return [{ type: "text", text: plainText(sounds) }];
  });
}

/** Models see pictures in messages of the user only, also those that were made for one: so they are told. */
function fromPictures(version: AnswerVersion): Told[] {
  const attachments = picturesIn(version);
  if (attachments.length === 0) return [];
  return [{ type: "user", words: { text: "[What was made above:]", attachments, contexts: [] } }];
}

function toolCall(id: string, name: string, args: string): OpenAiToolCall {
  return { id, type: "function", function: { name, arguments: args === "" ? "{}" : args } };
}

function wireWords(content: unknown): { text: string; attachments: Attachment[] } {
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

type Assistant = Extract<OpenAiMessage, { role: "assistant" | "tool" }>;

/**
 * Every message with calls is followed by their results, at once and in their order: servers refuse a history in which one
 * is missing.
 */
function* rounds(told: readonly Told[]): Generator<Assistant | { words: Words }> {
  const results = new Map<string, string>();
  for (const one of told) if (one.type === "result") results.set(one.call_id, one.text);
  let texts: string[] = [];
  let calls: OpenAiToolCall[] = [];
  const close = function* (): Generator<Assistant> {
    const content = texts.length === 0 ? null : texts.join("\n\n");
    if (calls.length > 0) yield { role: "assistant", content, tool_calls: calls };
    else if (content !== null) yield { role: "assistant", content };
    for (const { id } of calls)
      yield { role: "tool", tool_call_id: id, content: results.get(id) ?? noResult };
    texts = [];
    calls = [];
  };
  for (const one of told) {
    if (one.type === "text" && one.text !== "") texts.push(one.text);
    else if (one.type === "call") calls.push(one.call);
    else if (one.type === "result") yield* close();
    else if (one.type === "user") {
      yield* close();
      yield { words: one.words };
    }
  }
  yield* close();
}

export const noResult = "This call was not run.";

/** Two answers in a row, the question between them being hidden, are one. Behind calls there are always results. */
function addTo(messages: OpenAiMessage[], message: Assistant): void {
  const last = messages.at(-1);
  if (message.role !== "assistant" || last?.role !== "assistant") {
    messages.push(message);
    return;
  }
  const content = [last.content, message.content].filter((text) => text !== null).join("\n\n");
  messages[messages.length - 1] = { ...message, content };
}
