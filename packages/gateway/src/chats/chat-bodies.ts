import type { Asking, EditRequest, SendRequest } from "@deltawire/agent";
import {
  checkMessage,
  checkPersonEdit,
  checkSettings,
  checkTags,
  checkTitle,
  type ChatSettings,
  type EditsBody,
  type NewChatBody,
  type NewMessage,
  type PersonEdit,
} from "@deltawire/tasks/chats";
import { BodyFields, invalid } from "../tasks/body-fields.ts";

/* The bodies of `/api/chats…`. Fields come out in one order, so that the same request is the same text. */

/** The body of `POST /api/chats`. */
export function readNewChat(body: unknown): NewChatBody {
  const fields = new BodyFields(body, ["title", "settings", "tags"]);
  return fields.given<NewChatBody>({
    title: (name) => checked<string>(fields.get(name), name, checkTitle),
    settings: (name) => checked<ChatSettings>(fields.get(name), name, checkSettings),
    tags: (name) => checked<readonly string[]>(fields.get(name), name, checkTags),
  });
}

/** The body of `POST /api/chats/{chat}/edits`. */
export function readEdits(body: unknown): EditsBody {
  const fields = new BodyFields(body, ["revision", "edits"]);
  const revision = readRevision(fields);
  const edits = fields.list("edits");
  if (edits.length === 0 || edits.length > mostEdits)
    throw invalid("edits", `expected from 1 to ${mostEdits} edits, got ${edits.length}`);
  return {
    revision,
    edits: edits.map((edit, index) =>
      checked<PersonEdit>(edit, `edits[${index}]`, checkPersonEdit),
    ),
  };
}

export const mostEdits = 1000;

/** The body of `POST /api/chats/{chat}/send`. */
export function readSend(body: unknown): SendRequest {
  const fields = new BodyFields(body, [...messageFields, ...choiceFields, "parent"]);
  const parent = fields.get("parent");
  const message = readMessage(fields);
  const { text, attachments = [], contexts = [] } = message;
  if (text.trim() === "" && attachments.length === 0 && contexts.length === 0)
    throw invalid("text", "expected words, or something beside them");
  return {
    ...message,
    ...readChoice(fields),
    // Null is a place too.
    ...(parent === undefined ? {} : { parent: parent === null ? null : fields.name("parent") }),
  };
}

/** The body of `POST /api/chats/{chat}/rerun` and `/continue`. */
export function readNode(body: unknown): Asking & { readonly node_id: string } {
  const fields = new BodyFields(body, ["node_id", ...choiceFields, "options"]);
  return { node_id: fields.name("node_id"), ...readOptions(fields), ...readChoice(fields) };
}

/** The body of `POST /api/chats/{chat}/edit`. */
export function readEdit(body: unknown): EditRequest {
  const fields = new BodyFields(body, ["node_id", "as", "send", ...messageFields, ...choiceFields]);
  return {
    node_id: fields.name("node_id"),
    as: fields.has("as") ? fields.word("as", ["version", "branch"]) : "version",
    send: fields.has("send") ? fields.yesOrNo("send") : true,
    ...readMessage(fields),
    ...readChoice(fields),
  };
}

/** The body of `POST /api/chats/{chat}/undo`. */
export function readUndo(body: unknown): { removal_id: string } {
  return { removal_id: new BodyFields(body, ["removal_id"]).name("removal_id") };
}

/** The body of `POST /api/chats/{chat}/extract`. */
export function readExtract(body: unknown): { node_id: string } {
  return { node_id: new BodyFields(body, ["node_id"]).name("node_id") };
}

/** The body of `POST /api/chats/{chat}/stop`. */
export function readStop(body: unknown): { node_id?: string } {
  const fields = new BodyFields(body, ["node_id"]);
  return fields.given<{ node_id: string }>({ node_id: (name) => fields.name(name) });
}

const messageFields = ["text", "attachments", "contexts", "options"] as const;
const choiceFields = ["agent", "model", "revision"] as const;

function readMessage(fields: BodyFields): NewMessage {
  const given = messageFields.filter((name) => name === "text" || fields.has(name));
  const message = Object.fromEntries(given.map((name) => [name, fields.get(name)]));
  const read = checked<NewMessage>(message, "", checkMessage);
  for (const [index, attachment] of (read.attachments ?? []).entries())
    new BodyFields(attachment, Object.keys(attachment), `attachments[${index}]`).address("url");
  return read;
}

function readOptions(fields: BodyFields): Pick<NewMessage, "options"> {
  if (!fields.has("options")) return {};
  const { options } = checked<NewMessage>(
    { text: "", options: fields.get("options") },
    "",
    checkMessage,
  );
  return options === undefined ? {} : { options };
}

function readChoice(fields: BodyFields): Pick<Asking, "agent" | "model" | "revision"> {
  if (fields.has("agent") && fields.has("model"))
    throw invalid("model", "expected one of agent and model, not both");
  return fields.given<Required<Pick<Asking, "agent" | "model" | "revision">>>({
    agent: (name) => fields.name(name),
    model: (name) => fields.name(name),
    revision: () => readRevision(fields),
  });
}

function readRevision(fields: BodyFields): number {
  const value = fields.get("revision");
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid("revision", "expected the revision of the chat as it was seen, a whole number");
}

/** A value of which nothing is wrong. Faults are told as "path: what". */
function checked<Value>(
  value: unknown,
  path: string,
  check: (value: unknown, path: string) => readonly string[],
): Value {
  const [fault] = check(value, path);
  if (fault === undefined) return value as Value;
  const colon = fault.indexOf(": ");
  throw colon === -1 ? invalid("", fault) : invalid(fault.slice(0, colon), fault.slice(colon + 2));
}
