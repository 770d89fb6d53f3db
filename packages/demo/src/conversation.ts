import { parseDataUrl } from "@deltawire/tasks";
import {
  asString,
  isObject,
  parseJson,
  type ChatContent,
  type ChatContentPart,
  type ChatMessage,
  type ChatRequest,
} from "@deltawire/wire";

/** The parts of a request that the demo model uses. */
export interface DemoConversation {
  /** The last user message, without context that clients add. */
  prompt: string;
  attachments: DemoAttachment[];
  /** The tool results since the last user message. */
  results: ToolResult[];
  /** The tool results before the last user message. */
  earlierResults: ToolResult[];
  /** Names of all tools that were called since the last user message, including handoffs. */
  calledTools: string[];
  /** The earlier user messages. */
  earlierPrompts: string[];
  /** The summary with which the client replaced the history, if it was sent after the last user message. */
  summary: string | undefined;
}

export interface DemoAttachment {
  kind: "image" | "file" | "audio";
  /** `image/png`, `report.pdf`, `wav`; "" if unknown. */
  description: string;
  /** In bytes. Undefined if only linked. */
  size: number | undefined;
}

export interface ToolResult {
  name: string;
  text: string;
  isError: boolean;
  /** Ids of the referencable items in the result. */
  references: number[];
  attachments: DemoAttachment[];
}

export function parseConversation(request: ChatRequest): DemoConversation {
  const conversation: DemoConversation = {
    prompt: "",
    attachments: [],
    results: [],
    earlierResults: [],
    calledTools: [],
    earlierPrompts: [],
    summary: undefined,
  };
  const toolNamesById = new Map<string, string>();
  for (const message of request.messages) readMessage(message, conversation, toolNamesById);
  return conversation;
}

/** Joins the text parts of a message with line breaks. */
export function joinText(content: ChatContent | null | undefined): string {
  if (typeof content === "string") return content;
  const texts = (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.join("\n");
}

/** True for handoff tools of the agents SDK. Their result is only the name of the next agent. */
export function isHandoff(toolName: string): boolean {
  return /^(?:transfer_to_|handoff_|hand_over_)/.test(toolName);
}

function readMessage(
  message: ChatMessage,
  conversation: DemoConversation,
  toolNamesById: Map<string, string>,
): void {
  switch (message.role) {
    case "user":
      return readUserMessage(message.content, conversation);
    case "assistant":
      for (const call of message.tool_calls ?? []) {
        const name = call.type === "custom" ? call.custom.name : call.function.name;
        toolNamesById.set(call.id, name);
        conversation.calledTools.push(name);
      }
      return;
    case "tool": {
      const name = toolNamesById.get(message.tool_call_id) ?? "the tool";
      if (!isHandoff(name)) conversation.results.push(parseToolResult(name, message.content));
      return;
    }
    case "function":
      return void conversation.results.push(parseToolResult(message.name, message.content ?? ""));
    default:
  }
}

function readUserMessage(content: ChatContent, conversation: DemoConversation): void {
  const text = stripContext(joinText(content));
  const attachments = parseAttachments(content);
  if (text === "" && attachments.length === 0) return;
  // The gateway moves attachments out of tool messages, because many servers reject them there.
  if (text.startsWith("[Attached to the result of ")) {
    conversation.results.at(-1)?.attachments.push(...attachments);
    return;
  }
  const orphanResult = /^\[Result of the tool call ([^\]]*)\]\s*/.exec(text);
  if (orphanResult !== null) {
    conversation.results.push(
      parseToolResult(orphanResult[1] ?? "", text.slice(orphanResult[0].length)),
    );
    return;
  }
  if (text.startsWith(codexSummaryPrefix)) {
    conversation.summary = text.slice(text.indexOf("\n") + 1);
    conversation.results = [];
    return;
  }
  if (conversation.prompt !== "") conversation.earlierPrompts.push(conversation.prompt);
  conversation.prompt = text;
  conversation.attachments = attachments;
  conversation.earlierResults = conversation.results;
  conversation.results = [];
  conversation.calledTools = [];
  conversation.summary = undefined;
}

/** The start of Codex's message that replaces a compacted history. */
const codexSummaryPrefix = "Another language model started to solve this problem";

/** Clients add context to user messages in these tags: Codex its environment and AGENTS.md, Claude Code and qwen-code reminders. */
const contextTags = [
  "system-reminder",
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

function stripContext(text: string): string {
  let rest = text;
  for (const tag of contextTags)
    for (let begin = rest.indexOf(`<${tag}>`); begin !== -1; begin = rest.indexOf(`<${tag}>`)) {
      const end = rest.indexOf(`</${tag}>`, begin);
      if (end === -1) break;
      rest = rest.slice(0, begin) + rest.slice(end + tag.length + 3);
    }
  return rest.replaceAll(/^# AGENTS\.md instructions.*$/gm, "").trim();
}

function parseAttachments(content: ChatContent | null): DemoAttachment[] {
  return Array.isArray(content) ? content.flatMap((part) => parseAttachment(part) ?? []) : [];
}

function parseAttachment(part: ChatContentPart): DemoAttachment | undefined {
  switch (part.type) {
    case "image_url": {
      const { type, size } = describeDataUrl(part.image_url.url);
      return { kind: "image", description: type, size };
    }
    case "file": {
      const { type, size } = describeDataUrl(asString(part.file.file_data));
      return { kind: "file", description: asString(part.file.filename) || type, size };
    }
    case "input_audio": {
      const { data, format } = part.input_audio;
      return {
        kind: "audio",
        description: asString(format),
        size: typeof data === "string" ? getDecodedBase64Size(data) : undefined,
      };
    }
    default:
      return undefined;
  }
}

function describeDataUrl(url: string): { type: string; size: number | undefined } {
  const dataUrl = parseDataUrl(url);
  if (dataUrl === undefined) return { type: "", size: undefined };
  return { type: dataUrl.mediaType, size: getDecodedBase64Size(dataUrl.body) };
}

function getDecodedBase64Size(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.floor((data.length * 3) / 4) - padding;
}

function parseToolResult(name: string, content: ChatContent): ToolResult {
  const text = joinText(content);
  const references = [...text.matchAll(/<referencable-item>\s*ID: (\d+)/g)].map(([, id]) =>
    Number(id),
  );
  return {
    name,
    text: stripResultWrappers(text),
    isError: isFailureText(text),
    references: [...new Set(references)],
    attachments: parseAttachments(content),
  };
}

/** Removes reference wrappers and the header of Codex's command output. */
function stripResultWrappers(text: string): string {
  return text
    .replaceAll(/<referencable-item>\s*ID: \d+\n?|<\/referencable-item>\n?/g, "")
    .replace(/^(?:(?:Chunk ID|Wall time|Exit code|Process|Original token count).*\n)+Output:\n/, "")
    .trim();
}

function isFailureText(text: string): boolean {
  const result = text.startsWith("{") ? parseJson(text) : undefined;
  if (isObject(result))
    return (
      (result["error"] !== undefined && result["error"] !== null) ||
      result["success"] === false ||
      result["isError"] === true
    );
  return (
    /^\W*(?:error|failed|failure|aborted|an error occurred|unsupported call|traceback)\b/i.test(
      text,
    ) || /\bexit(?:ed with)? code:? [1-9]/i.test(text.slice(0, 300))
  );
}
