import { createHash, type Hash } from "node:crypto";
import { isObject, parseJson, type InputItem, type JsonValue } from "@deltawire/wire";

/**
 * Digests of what precedes each reply in a conversation: what users wrote, what models answered and called, and what tools
 * returned. Left out is what clients change between two turns: ids, reasoning, instructions and system messages (which may
 * hold the time), the form of contents and blanks around texts and in arguments. Computed when it is first asked for.
 */
export class ConversationDigest {
  readonly #client: string;
  readonly #items: readonly InputItem[];
  #digests: { ofCalls: Map<string, string | undefined>; end: string } | undefined;

  /** `client`: the name of the client's token; two clients never have the same digest. */
  constructor(client: string, items: readonly InputItem[]) {
    this.#client = client;
    this.#items = items;
  }

  /** What precedes the reply that made this call; undefined if there is no such call, or several. */
  before(callId: string): string | undefined {
    return this.#compute().ofCalls.get(callId);
  }

  /** What precedes the next reply: the complete conversation. */
  get end(): string {
    return this.#compute().end;
  }

  #compute(): { ofCalls: Map<string, string | undefined>; end: string } {
    return (this.#digests ??= digests(this.#client, this.#items));
  }
}

function digests(
  client: string,
  items: readonly InputItem[],
): { ofCalls: Map<string, string | undefined>; end: string } {
  const hash = createHash("sha256");
  const ofCalls = new Map<string, string | undefined>();
  add(hash, "client", client);
  /** The hash before the reply that is being read; its digest is made if the reply has a call. */
  let reply: { before: Hash; digest?: string } | undefined;
  for (const item of items) {
    if (item.type === "reasoning") continue;
    if (!isReply(item)) reply = undefined;
    else {
      reply ??= { before: hash.copy() };
      const id = "call_id" in item ? item["call_id"] : undefined;
      if (typeof id === "string") {
        reply.digest ??= reply.before.digest("base64url");
        ofCalls.set(id, ofCalls.has(id) ? undefined : reply.digest);
      }
    }
    addItem(hash, item);
  }
  return { ofCalls, end: hash.digest("base64url") };
}

/** True for what a model put out. */
function isReply(item: InputItem): boolean {
  if (isMessage(item)) return item["role"] === "assistant";
  return item.type?.endsWith("_call") === true;
}

function isMessage(item: InputItem): boolean {
  return item.type === "message" || !item.type;
}

function addItem(hash: Hash, item: InputItem): void {
  const fields: Readonly<Record<string, JsonValue | undefined>> = item;
  if (isMessage(item)) {
    const { role } = fields;
    if (role === "user" || role === "assistant") addContent(hash, role, fields["content"]);
    return;
  }
  switch (item.type) {
    case "function_call":
      add(hash, "call", textOf(fields["name"]));
      return add(hash, "arguments", withoutBlanks(fields["arguments"]));
    case "custom_tool_call":
      add(hash, "call", textOf(fields["name"]));
      return addContent(hash, "input", fields["input"]);
    case "function_call_output":
    case "custom_tool_call_output":
      return addContent(hash, "result", fields["output"]);
    default: {
      const { id: _id, status: _status, call_id: _call, ...rest } = fields;
      add(hash, "item", JSON.stringify(rest));
    }
  }
}

/** A text is the same as a list of one part with that text. */
function addContent(hash: Hash, kind: string, content: JsonValue | undefined): void {
  if (!Array.isArray(content)) return add(hash, kind, textOf(content).trim());
  let text = "";
  const others: JsonValue[] = [];
  for (const part of content)
    if (isObject(part) && typeof part["text"] === "string") text += part["text"];
    else others.push(part);
  add(hash, kind, text.trim());
  for (const part of others) add(hash, "part", JSON.stringify(part));
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function withoutBlanks(text: JsonValue | undefined): string {
  const value = typeof text === "string" ? parseJson(text) : text;
  return value === undefined ? textOf(text).trim() : JSON.stringify(value);
}

/** With its length in front, so that no text can be taken for the end of another. */
function add(hash: Hash, kind: string, text: string): void {
  hash.update(`\n${kind} ${text.length}\n`).update(text);
}
