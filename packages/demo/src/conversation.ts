import { readDataUrl } from "@deltawire/tasks";
import {
  asText,
  isObject,
  parseJson,
  type ChatContent,
  type ChatContentPart,
  type ChatMessage,
  type ChatRequest,
} from "@deltawire/wire";

/** What of a request the demo model goes by. */
export interface Conversation {
  /** The user's last words, without what clients put around them. */
  words: string;
  attachments: Attachment[];
  /** What tools have answered since these words. */
  results: ToolResult[];
  /** What they had answered last before these words. */
  earlierResults: ToolResult[];
  /** Names of all tools that were called since these words, hand-overs included. */
  called: string[];
  /** The user's words before the last ones. */
  earlier: string[];
  /** A summary that the client put in the place of what was done since the last words. */
  summary: string | undefined;
}

export interface Attachment {
  kind: "image" | "file" | "audio";
  /** `image/png`, `report.pdf`, `wav`; "" where nothing is known. */
  type: string;
  /** In bytes; undefined for one that is only linked. */
  size: number | undefined;
}

export interface ToolResult {
  name: string;
  text: string;
  failed: boolean;
  /** Numbers of the referencable items in it. */
  references: number[];
  attachments: Attachment[];
}

export function readConversation(request: ChatRequest): Conversation {
  const conversation: Conversation = {
    words: "",
    attachments: [],
    results: [],
    earlierResults: [],
    called: [],
    earlier: [],
    summary: undefined,
  };
  const names = new Map<string, string>();
  for (const message of request.messages) read(message, conversation, names);
  return conversation;
}

/** All text of a content, a line for each part. */
export function textOf(content: ChatContent | null | undefined): string {
  if (typeof content === "string") return content;
  const texts = (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.join("\n");
}

/** The hand-over of the agents SDK: it answers with the next agent's name, and the work is still to be done. */
export function isHandOver(toolName: string): boolean {
  return /^(?:transfer_to_|handoff_|hand_over_)/.test(toolName);
}

function read(message: ChatMessage, conversation: Conversation, names: Map<string, string>): void {
  switch (message.role) {
    case "user":
      return readUser(message.content, conversation);
    case "assistant":
      for (const call of message.tool_calls ?? []) {
        const name = call.type === "custom" ? call.custom.name : call.function.name;
        names.set(call.id, name);
        conversation.called.push(name);
      }
      return;
    case "tool": {
      const name = names.get(message.tool_call_id) ?? "the tool";
      if (!isHandOver(name)) conversation.results.push(toolResult(name, message.content));
      return;
    }
    case "function":
      return void conversation.results.push(toolResult(message.name, message.content ?? ""));
    default:
  }
}

function readUser(content: ChatContent, conversation: Conversation): void {
  const text = withoutContext(textOf(content));
  const attachments = attachmentsOf(content);
  if (text === "" && attachments.length === 0) return;
  // What a gateway moved out of a tool's message, because many servers refuse it there.
  if (text.startsWith("[Attached to the result of ")) {
    conversation.results.at(-1)?.attachments.push(...attachments);
    return;
  }
  const orphan = /^\[Result of the tool call ([^\]]*)\]\s*/.exec(text);
  if (orphan !== null) {
    conversation.results.push(toolResult(orphan[1] ?? "", text.slice(orphan[0].length)));
    return;
  }
  if (text.startsWith(codexSummary)) {
    conversation.summary = text.slice(text.indexOf("\n") + 1);
    conversation.results = [];
    return;
  }
  if (conversation.words !== "") conversation.earlier.push(conversation.words);
  conversation.words = text;
  conversation.attachments = attachments;
  conversation.earlierResults = conversation.results;
  conversation.results = [];
  conversation.called = [];
  conversation.summary = undefined;
}

/** How Codex begins the message that takes the place of a compacted history. */
const codexSummary = "Another language model started to solve this problem";

/** Codex says in user messages where it runs, what AGENTS.md says and more; none of it are the user's words. */
const contextTags = [
  "environment_context",
  "user_instructions",
  "INSTRUCTIONS",
  "skill",
  "turn_aborted",
  "subagent_notification",
  "permissions instructions",
  "collaboration_mode",
  "startup_context",
];

function withoutContext(text: string): string {
  let rest = text;
  for (const tag of contextTags)
    for (let begin = rest.indexOf(`<${tag}>`); begin !== -1; begin = rest.indexOf(`<${tag}>`)) {
      const end = rest.indexOf(`</${tag}>`, begin);
      if (end === -1) break;
      rest = rest.slice(0, begin) + rest.slice(end + tag.length + 3);
    }
  return rest.replaceAll(/^# AGENTS\.md instructions.*$/gm, "").trim();
}

function attachmentsOf(content: ChatContent | null): Attachment[] {
  return Array.isArray(content) ? content.flatMap((part) => attachmentOf(part) ?? []) : [];
}

function attachmentOf(part: ChatContentPart): Attachment | undefined {
  switch (part.type) {
    case "image_url": {
      const { type, size } = dataUrl(part.image_url.url);
      return { kind: "image", type, size };
    }
    case "file": {
      const { type, size } = dataUrl(asText(part.file.file_data));
      return { kind: "file", type: asText(part.file.filename) || type, size };
    }
    case "input_audio": {
      const { data, format } = part.input_audio;
      return {
        kind: "audio",
        type: asText(format),
        size: typeof data === "string" ? base64Size(data) : undefined,
      };
    }
    default:
      return undefined;
  }
}

function dataUrl(url: string): { type: string; size: number | undefined } {
  const read = readDataUrl(url);
  if (read === undefined) return { type: "", size: undefined };
  return { type: read.mediaType, size: base64Size(read.body) };
}

function base64Size(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.floor((data.length * 3) / 4) - padding;
}

function toolResult(name: string, content: ChatContent): ToolResult {
  const text = textOf(content);
  const references = [...text.matchAll(/<referencable-item>\s*ID: (\d+)/g)].map(([, id]) =>
    Number(id),
  );
  return {
    name,
    text: resultText(text),
    failed: hasFailed(text),
    references: [...new Set(references)],
    attachments: attachmentsOf(content),
  };
}

/** The result without the wrappers of references and without what Codex reports before a command's output. */
function resultText(text: string): string {
  return text
    .replaceAll(/<referencable-item>\s*ID: \d+\n?|<\/referencable-item>\n?/g, "")
    .replace(/^(?:(?:Chunk ID|Wall time|Exit code|Process|Original token count).*\n)+Output:\n/, "")
    .trim();
}

function hasFailed(text: string): boolean {
  const parsed = text.startsWith("{") ? parseJson(text) : undefined;
  if (isObject(parsed))
    return (
      (parsed["error"] !== undefined && parsed["error"] !== null) ||
      parsed["success"] === false ||
      parsed["isError"] === true
    );
  return (
    /^\W*(?:error|failed|failure|aborted|an error occurred|unsupported call|traceback)\b/i.test(
      text,
    ) || /\bexit(?:ed with)? code:? [1-9]/i.test(text.slice(0, 300))
  );
}
