import { createHash, type Hash } from "node:crypto";
import { isObject, parseJson, type ResponseInputItem, type JsonValue } from "@deltawire/wire";

/**
 * Digests of what precedes each reply in a conversation: user messages, answers, tool calls and results. They ignore what clients
 * change between turns: ids, reasoning, instructions and system messages (which may contain the time), the form of contents,
 * and whitespace around text and in arguments. Computed on first use.
 */
export class ConversationDigest {
  readonly #client: string;
  readonly #getItems: () => readonly ResponseInputItem[];
  #digests: Digests | undefined;

  /** `client`: the name of the client. Two clients never have the same digest. */
  constructor(client: string, getItems: () => readonly ResponseInputItem[]) {
    this.#client = client;
    this.#getItems = getItems;
  }

  /** Returns the digest of what precedes the reply with this call; undefined if there is no such call, or several. */
  getDigestBefore(callId: string): string | undefined {
    return this.#compute().byCallId.get(callId);
  }

  /** The digest of what precedes the next reply. */
  get digest(): string {
    return this.#compute().digest;
  }

  #compute(): Digests {
    return (this.#digests ??= computeDigests(this.#client, this.#getItems()));
  }
}

interface Digests {
  /** Digests by call id; undefined for an id that several calls have. */
  readonly byCallId: ReadonlyMap<string, string | undefined>;
  /** The digest of what precedes the next reply. */
  readonly digest: string;
}

function computeDigests(client: string, items: readonly ResponseInputItem[]): Digests {
  const hash = createHash("sha256");
  const byCallId = new Map<string, string | undefined>();
  addField(hash, "client", client);
  /** The hash before the current reply; its digest is computed if the reply has a call. */
  let reply: ReplyStart | undefined;
  for (const item of items) {
    if (item.type === "reasoning") continue;
    if (!isReply(item)) reply = undefined;
    else {
      reply ??= { hashBefore: hash.copy() };
      const id = "call_id" in item ? item["call_id"] : undefined;
      if (typeof id === "string") {
        const replyDigest = digestReply(reply);
        byCallId.set(id, byCallId.has(id) ? undefined : replyDigest);
      }
    }
    addItem(hash, item);
  }
  // A reply that follows an answer continues it, as in later requests.
  const digest = reply === undefined ? hash.digest("base64url") : digestReply(reply);
  return { byCallId, digest };
}

interface ReplyStart {
  readonly hashBefore: Hash;
  /** Of `hashBefore`, which can be digested only once. */
  digest?: string;
}

function digestReply(reply: ReplyStart): string {
  return (reply.digest ??= reply.hashBefore.digest("base64url"));
}

/** True for the output of a model. */
function isReply(item: ResponseInputItem): boolean {
  if (isMessage(item)) return item["role"] === "assistant";
  return item.type?.endsWith("_call") === true;
}

function isMessage(item: ResponseInputItem): boolean {
  return item.type === "message" || !item.type;
}

function addItem(hash: Hash, item: ResponseInputItem): void {
  const fields: Readonly<Record<string, JsonValue | undefined>> = item;
  if (isMessage(item)) {
    const { role } = fields;
    if (role === "user" || role === "assistant") addContent(hash, role, fields["content"]);
    return;
  }
  switch (item.type) {
    case "function_call":
      addField(hash, "call", toText(fields["name"]));
      return addField(hash, "arguments", normalizeArguments(fields["arguments"]));
    case "custom_tool_call":
      addField(hash, "call", toText(fields["name"]));
      return addContent(hash, "input", fields["input"]);
    case "function_call_output":
    case "custom_tool_call_output":
      return addContent(hash, "result", fields["output"]);
    default: {
      const { id: _id, status: _status, call_id: _call, ...rest } = fields;
      addField(hash, "item", JSON.stringify(rest));
    }
  }
}

/** Adds contents. A string has the same hash as a list of one part with that text. */
function addContent(hash: Hash, kind: string, content: JsonValue | undefined): void {
  if (!Array.isArray(content)) return addField(hash, kind, toText(content).trim());
  let text = "";
  const otherParts: JsonValue[] = [];
  for (const part of content)
    if (isObject(part) && typeof part["text"] === "string") text += part["text"];
    else otherParts.push(part);
  addField(hash, kind, text.trim());
  for (const part of otherParts) addField(hash, "part", JSON.stringify(part));
}

function toText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function normalizeArguments(text: JsonValue | undefined): string {
  const value = typeof text === "string" ? parseJson(text) : text;
  return value === undefined ? toText(text).trim() : JSON.stringify(value);
}

/** Adds a string with its length as a prefix, so that different fields never result in the same input. */
function addField(hash: Hash, kind: string, text: string): void {
  hash.update(`\n${kind} ${text.length}\n`).update(text);
}
