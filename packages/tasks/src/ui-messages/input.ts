import { TaskError } from "../error.ts";
import type { ContentPart } from "../items.ts";
import { withoutMarkers } from "../references.ts";
import { normalizeToolOutput } from "../tool-output.ts";

/** What a client of `useChat` asks for. */
export interface UiInput {
  chat_id?: string;
  trigger?: string;
  /** What the user says now; empty where they only answer what they were asked. */
  input: ContentPart[];
  /** The path of each part of `input` in the body: `messages[2].parts[0]`. */
  input_paths: string[];
  /** What came before it, for the model. */
  history: UiHistoryMessage[];
  /** By `addToolApprovalResponse`. */
  approvals: UiApproval[];
  /** The task that the last message of the assistant is, and the last event that is in it. */
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
 * The body that the `ai` SDK's chat transports post: `{ id, messages, trigger, messageId }`. Parts of a kind that nobody
 * knows yet are left out; what cannot be a message is refused.
 */
export function uiInput(body: unknown): UiInput {
  const { id, trigger, messages } = fieldsOf(body, "the body");
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid("messages", "must be a list with at least one message");
  const read = readMessages(messages);
  const last = read.at(-1);
  const approvals = read.flatMap(answersIn);
  const speaks = last?.role === "user";
  const said = (speaks ? last.parts : []).flatMap((part) =>
    userPart(part).map((content) => ({ content, path: part.where })),
  );
  const input = said.map(({ content }) => content);
  if (speaks && input.length === 0)
    throw invalid(`${last.where}.parts`, "has neither text nor a file");
  if (!speaks && approvals.length === 0)
    throw new TaskError(
      "invalid_message",
      "the last message must be the user's, or one whose approvals were answered",
      { path: "messages" },
    );
  const before = speaks ? read.slice(0, -1) : read;
  const continued = speaks ? undefined : continuation(last);
  return {
    ...(typeof id === "string" ? { chat_id: id } : {}),
    ...(typeof trigger === "string" ? { trigger } : {}),
    input,
    input_paths: said.map(({ path }) => path),
    history: before.flatMap(historyOf),
    approvals,
    ...(continued === undefined ? {} : { continues: continued }),
  };
}

/** For `sendAutomaticallyWhen`: something was answered and nothing is left to be. */
export function approvalsAreAnswered({
  messages,
}: {
  messages: readonly { role: string; parts: readonly { type: string; state?: unknown }[] }[];
}): boolean {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return false;
  const states = last.parts.map(({ state }) => state);
  return states.includes("approval-responded") && !states.includes("approval-requested");
}

interface ReadMessage {
  role: "user" | "assistant" | "system";
  parts: ReadPart[];
  metadata: unknown;
  where: string;
}

interface ReadPart {
  type: string;
  fields: Fields;
  where: string;
}

/** Each part becomes a part of a request: 40,000 of them took 180 ms. */
const maxParts = 10_000;

function readMessages(messages: readonly unknown[]): ReadMessage[] {
  let parts = 0;
  return messages.map((message, at) => {
    const read = readMessage(message, `messages[${at}]`);
    parts += read.parts.length;
    if (parts > maxParts)
      throw invalid("messages", `have more than ${maxParts} parts; leave out the oldest messages`);
    return read;
  });
}

function readMessage(value: unknown, where: string): ReadMessage {
  const { role, parts, metadata } = fieldsOf(value, where);
  if (role !== "user" && role !== "assistant" && role !== "system")
    throw invalid(`${where}.role`, "must be user, assistant or system");
  return { role, parts: readParts(parts, where), metadata, where };
}

function readParts(parts: unknown, where: string): ReadPart[] {
  if (!Array.isArray(parts)) throw invalid(`${where}.parts`, "must be a list");
  return parts.map((part, at) => {
    const fields = fieldsOf(part, `${where}.parts[${at}]`);
    return {
      type: textIn(fields, "type", `${where}.parts[${at}]`),
      fields,
      where: `${where}.parts[${at}]`,
    };
  });
}

function userPart({ type, fields, where }: ReadPart): ContentPart[] {
  if (type === "text") {
    const text = textIn(fields, "text", where);
    return text === "" ? [] : [{ type: "text", text }];
  }
  if (type !== "file") return [];
  const url = textIn(fields, "url", where);
  const mediaType = textIn(fields, "mediaType", where);
  switch (mediaType.split("/")[0]) {
    case "image":
      return [{ type: "image_url", image_url: { url } }];
    case "audio":
      return [{ type: "audio_url", audio_url: { url } }];
    default: {
      const { filename } = fields;
      const named = typeof filename === "string" ? { filename } : {};
      return [{ type: "file_url", file_url: { url }, media_type: mediaType, ...named }];
    }
  }
}

function answersIn({ role, parts }: ReadMessage): UiApproval[] {
  if (role !== "assistant") return [];
  return parts.flatMap(({ fields, where }) => {
    if (fields["state"] !== "approval-responded") return [];
    const { approved, reason, ...approval } = fieldsOf(fields["approval"], `${where}.approval`);
    if (typeof approved !== "boolean")
      throw invalid(`${where}.approval.approved`, "must be true or false");
    return [
      {
        approval_id: textIn(approval, "id", `${where}.approval`),
        approved,
        ...(typeof reason === "string" ? { reason } : {}),
      },
    ];
  });
}

function continuation(message: ReadMessage | undefined): UiInput["continues"] {
  const metadata = message?.metadata;
  if (typeof metadata !== "object" || metadata === null) return undefined;
  const { task_id, sequence_number: after } = metadata as Fields;
  return typeof task_id === "string" && typeof after === "number" && Number.isSafeInteger(after)
    ? { task_id, after }
    : undefined;
}

/** What was said into a message while it was written stands between the parts before and after it. */
function historyOf(message: ReadMessage): UiHistoryMessage[] {
  const { role, parts } = message;
  if (role !== "assistant") {
    const said = parts.flatMap(userPart);
    return said.length === 0 ? [] : [{ role, parts: said }];
  }
  const history: UiHistoryMessage[] = [];
  let spoken: UiHistoryPart[] = [];
  const close = () => {
    if (spoken.length > 0) history.push({ role, parts: spoken });
    spoken = [];
  };
  for (const part of parts) {
    if (part.type === "steering-message") {
      close();
      const said = readParts(part.fields["parts"], part.where).flatMap(userPart);
      if (said.length > 0) history.push({ role: "user", parts: said });
    } else {
      spoken.push(...assistantPart(part));
    }
  }
  close();
  return history;
}

/** The numbers of an earlier task mean nothing to a later one. Reasoning cannot be given back without its envelope. */
function assistantPart(part: ReadPart): UiHistoryPart[] {
  const { type, fields, where } = part;
  if (type === "text") {
    const text = withoutMarkers(textIn(fields, "text", where));
    return text === "" ? [] : [{ type: "text", text }];
  }
  if (type !== "dynamic-tool" && !type.startsWith("tool-")) return userPart(part);
  if (isSubtaskCall(fields)) return [];
  const call_id = textIn(fields, "toolCallId", where);
  const name =
    type === "dynamic-tool" ? textIn(fields, "toolName", where) : type.slice("tool-".length);
  return [
    { type: "tool_call", call_id, name, arguments: JSON.stringify(fields["input"] ?? {}) },
    { type: "tool_result", call_id, content: resultOf(fields) },
  ];
}

/** Shown because a person was asked; the model knows what came of it from the sub-agent. */
function isSubtaskCall({ toolMetadata }: Fields): boolean {
  return typeof toolMetadata === "object" && toolMetadata !== null && "task_id" in toolMetadata;
}

/** Every call has a result, also one that never came to its end. */
function resultOf({ state, output, errorText, approval }: Fields): ContentPart[] {
  switch (state) {
    case "output-available":
      return partsOf(output);
    case "output-error":
      return [{ type: "text", text: typeof errorText === "string" ? errorText : "failed" }];
    case "output-denied": {
      const reason = (approval as Fields | undefined)?.["reason"];
      const why = typeof reason === "string" && reason !== "" ? `: ${reason}` : ".";
      return [{ type: "text", text: `The user did not allow this call${why}` }];
    }
    default:
      return [{ type: "text", text: "This call was not run." }];
  }
}

/** Our own blocks, or what another server made of a tool's output. */
function partsOf(output: unknown): ContentPart[] {
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

function fieldsOf(value: unknown, where: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(where, "must be an object");
  return value as Fields;
}

function textIn(fields: Fields, key: string, where: string): string {
  const text = fields[key];
  if (typeof text !== "string") throw invalid(`${where}.${key}`, "must be a string");
  return text;
}

function invalid(path: string, what: string): TaskError {
  return new TaskError("invalid_message", `${path} ${what}`, { path });
}
