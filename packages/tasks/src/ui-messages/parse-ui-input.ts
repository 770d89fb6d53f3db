import { TaskError } from "../error.ts";
import type { ContentPart } from "../items.ts";
import { removeMarkers } from "../reference-pool.ts";
import { normalizeToolOutput } from "../tool-output.ts";

/** A parsed request of `useChat`. */
export interface UiInput {
  chat_id?: string;
  trigger?: string;
  /** The new message of the user. Empty if the user only responds to approvals. */
  input: ContentPart[];
  /** The path of each part of `input` in the body, such as `messages[2].parts[0]`. */
  input_paths: string[];
  /** The earlier messages, for the model. */
  history: UiHistoryMessage[];
  /** Responses that were added with `addToolApprovalResponse`. */
  approvals: UiApproval[];
  /** The task of the last assistant message, and the last event that the message contains. */
  continues?: { task_id: string; after: number };
}

export interface UiApproval {
  approval_id: string;
  approved: boolean;
  reason?: string;
}

export type UiHistoryMessage =
  | { role: "user" | "system"; parts: ContentPart[] }
  | { role: "assistant"; parts: UiHistoryPart[] };

export type UiHistoryPart =
  | ContentPart
  | { type: "tool_call"; call_id: string; name: string; arguments: string }
  | { type: "tool_result"; call_id: string; content: ContentPart[] };

type Fields = Record<string, unknown>;

/**
 * Parses the body that the chat transports of the `ai` SDK send: `{ id, messages, trigger, messageId }`. Parts of unknown types
 * are skipped. Throws a TaskError with the code "invalid_message".
 */
export function parseUiInput(body: unknown): UiInput {
  const { id, trigger, messages } = parseFields(body, "the body");
  if (!Array.isArray(messages) || messages.length === 0)
    throw createInvalidMessageError("messages", "must be an array with at least one message");
  const parsedMessages = parseMessages(messages);
  const last = parsedMessages.at(-1);
  const approvals = parsedMessages.flatMap(findApprovalResponses);
  const isUserTurn = last?.role === "user";
  const userParts = (isUserTurn ? last.parts : []).flatMap((part) =>
    toUserParts(part).map((content) => ({ content, path: part.path })),
  );
  const input = userParts.map(({ content }) => content);
  if (isUserTurn && input.length === 0)
    throw createInvalidMessageError(`${last.path}.parts`, "must have text or a file");
  if (!isUserTurn && approvals.length === 0)
    throw new TaskError(
      "invalid_message",
      "the last message must be from the user, or have an approval response",
      { path: "messages" },
    );
  const earlierMessages = isUserTurn ? parsedMessages.slice(0, -1) : parsedMessages;
  const continuation = isUserTurn ? undefined : parseContinuation(last);
  return {
    ...(typeof id === "string" ? { chat_id: id } : {}),
    ...(typeof trigger === "string" ? { trigger } : {}),
    input,
    input_paths: userParts.map(({ path }) => path),
    history: earlierMessages.flatMap(toHistory),
    approvals,
    ...(continuation === undefined ? {} : { continues: continuation }),
  };
}

/** For `sendAutomaticallyWhen`: true if approvals were responded to and none is still requested. */
export function areApprovalsAnswered({
  messages,
}: {
  messages: readonly { role: string; parts: readonly { type: string; state?: unknown }[] }[];
}): boolean {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return false;
  const states = last.parts.map(({ state }) => state);
  return states.includes("approval-responded") && !states.includes("approval-requested");
}

interface ParsedMessage {
  role: "user" | "assistant" | "system";
  parts: ParsedPart[];
  metadata: unknown;
  path: string;
}

interface ParsedPart {
  type: string;
  fields: Fields;
  path: string;
}

/** Maximum number of parts of all messages. Each part becomes a part of the model request: 40,000 parts took 180 ms. */
const maxParts = 10_000;

function parseMessages(messages: readonly unknown[]): ParsedMessage[] {
  let parts = 0;
  return messages.map((message, index) => {
    const parsedMessage = parseMessage(message, `messages[${index}]`);
    parts += parsedMessage.parts.length;
    if (parts > maxParts)
      throw createInvalidMessageError(
        "messages",
        `must have at most ${maxParts} parts; remove the oldest messages`,
      );
    return parsedMessage;
  });
}

function parseMessage(value: unknown, path: string): ParsedMessage {
  const { role, parts, metadata } = parseFields(value, path);
  if (role !== "user" && role !== "assistant" && role !== "system")
    throw createInvalidMessageError(`${path}.role`, "must be user, assistant or system");
  return { role, parts: parseParts(parts, path), metadata, path };
}

function parseParts(parts: unknown, path: string): ParsedPart[] {
  if (!Array.isArray(parts)) throw createInvalidMessageError(`${path}.parts`, "must be an array");
  return parts.map((part, index) => {
    const fields = parseFields(part, `${path}.parts[${index}]`);
    return {
      type: getString(fields, "type", `${path}.parts[${index}]`),
      fields,
      path: `${path}.parts[${index}]`,
    };
  });
}

function toUserParts({ type, fields, path }: ParsedPart): ContentPart[] {
  if (type === "text") {
    const text = getString(fields, "text", path);
    return text === "" ? [] : [{ type: "text", text }];
  }
  if (type !== "file") return [];
  const url = getString(fields, "url", path);
  const mediaType = getString(fields, "mediaType", path);
  switch (mediaType.split("/")[0]) {
    case "image":
      return [{ type: "image_url", image_url: { url } }];
    case "audio":
      return [{ type: "audio_url", audio_url: { url } }];
    default: {
      const { filename } = fields;
      const nameField = typeof filename === "string" ? { filename } : {};
      return [{ type: "file_url", file_url: { url }, media_type: mediaType, ...nameField }];
    }
  }
}

function findApprovalResponses({ role, parts }: ParsedMessage): UiApproval[] {
  if (role !== "assistant") return [];
  return parts.flatMap(({ fields, path }) => {
    if (fields["state"] !== "approval-responded") return [];
    const { approved, reason, ...approval } = parseFields(fields["approval"], `${path}.approval`);
    if (typeof approved !== "boolean")
      throw createInvalidMessageError(`${path}.approval.approved`, "must be true or false");
    return [
      {
        approval_id: getString(approval, "id", `${path}.approval`),
        approved,
        ...(typeof reason === "string" ? { reason } : {}),
      },
    ];
  });
}

function parseContinuation(message: ParsedMessage | undefined): UiInput["continues"] {
  const metadata = message?.metadata;
  if (typeof metadata !== "object" || metadata === null) return undefined;
  const { task_id, sequence_number: after } = metadata as Fields;
  return typeof task_id === "string" && typeof after === "number" && Number.isSafeInteger(after)
    ? { task_id, after }
    : undefined;
}

/** Converts a message. An answer is split at the messages that the user sent while it was generated. */
function toHistory(message: ParsedMessage): UiHistoryMessage[] {
  const { role, parts } = message;
  if (role !== "assistant") {
    const userParts = parts.flatMap(toUserParts);
    return userParts.length === 0 ? [] : [{ role, parts: userParts }];
  }
  const history: UiHistoryMessage[] = [];
  let assistantParts: UiHistoryPart[] = [];
  const flush = () => {
    if (assistantParts.length > 0) history.push({ role, parts: assistantParts });
    assistantParts = [];
  };
  for (const part of parts) {
    if (part.type === "steering-message") {
      flush();
      const userParts = parseParts(part.fields["parts"], part.path).flatMap(toUserParts);
      if (userParts.length > 0) history.push({ role: "user", parts: userParts });
    } else {
      assistantParts.push(...toAssistantParts(part));
    }
  }
  flush();
  return history;
}

/**
 * Omits citation markers, because every task has its own numbers, and reasoning, which cannot be sent back without its encrypted
 * content.
 */
function toAssistantParts(part: ParsedPart): UiHistoryPart[] {
  const { type, fields, path } = part;
  if (type === "text") {
    const text = removeMarkers(getString(fields, "text", path));
    return text === "" ? [] : [{ type: "text", text }];
  }
  if (type !== "dynamic-tool" && !type.startsWith("tool-")) return toUserParts(part);
  if (isSubtaskCall(fields)) return [];
  const call_id = getString(fields, "toolCallId", path);
  const name =
    type === "dynamic-tool" ? getString(fields, "toolName", path) : type.slice("tool-".length);
  return [
    { type: "tool_call", call_id, name, arguments: JSON.stringify(fields["input"] ?? {}) },
    { type: "tool_result", call_id, content: toResultContent(fields) },
  ];
}

/** True for a call of a sub-agent, which was only shown for its approval. The model knows the result from the sub-agent. */
function isSubtaskCall({ toolMetadata }: Fields): boolean {
  return typeof toolMetadata === "object" && toolMetadata !== null && "task_id" in toolMetadata;
}

/** Returns the result of a call. An unfinished call gets one too, because every call must have a result. */
function toResultContent({ state, output, errorText, approval }: Fields): ContentPart[] {
  switch (state) {
    case "output-available":
      return outputToParts(output);
    case "output-error":
      return [{ type: "text", text: typeof errorText === "string" ? errorText : "failed" }];
    case "output-denied": {
      const reason = (approval as Fields | undefined)?.["reason"];
      const reasonText = typeof reason === "string" && reason !== "" ? `: ${reason}` : ".";
      return [{ type: "text", text: `The user did not allow this call${reasonText}` }];
    }
    default:
      return [{ type: "text", text: "This call was not run." }];
  }
}

/** Converts a list of blocks, or the tool output of another server. */
function outputToParts(output: unknown): ContentPart[] {
  const { message_content } = isBlockList(output)
    ? normalizeToolOutput({ block_list: output })
    : normalizeToolOutput(output);
  return message_content.map((part) => {
    const { id: _id, title: _title, url: _url, ...bare } = part;
    return bare;
  });
}

const blockTypes: ReadonlySet<unknown> = new Set(["text", "image", "audio", "file", "data"]);

function isBlockList(output: unknown): boolean {
  return (
    Array.isArray(output) &&
    output.length > 0 &&
    output.every(
      (block: unknown) =>
        typeof block === "object" && block !== null && blockTypes.has((block as Fields)["type"]),
    )
  );
}

function parseFields(value: unknown, path: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw createInvalidMessageError(path, "must be an object");
  return value as Fields;
}

function getString(fields: Fields, key: string, path: string): string {
  const text = fields[key];
  if (typeof text !== "string")
    throw createInvalidMessageError(`${path}.${key}`, "must be a string");
  return text;
}

function createInvalidMessageError(path: string, problem: string): TaskError {
  return new TaskError("invalid_message", `${path} ${problem}`, { path });
}
