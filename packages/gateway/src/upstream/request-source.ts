import { createHash } from "node:crypto";

/** Stands for the gateway's own agents and chats. No client's name contains a blank line. */
export const ownClient = "\n\n";

/** A conversation is recognised by this many of its first messages, and by this much of each. */
const firstMessages = 4;
const firstParts = 4;
const firstCharacters = 500;

/**
 * The client and the conversation that a request belongs to, for counting failures and retries. One object per request.
 * A client that repeats a request, and the next turn of a conversation of some length, have the same conversation.
 */
export class RequestSource {
  /** The name of the client's token; empty where none is configured. */
  readonly client: string;
  readonly #request: object;
  #conversation: string | undefined;

  constructor(client: string, request: object) {
    this.client = client;
    this.#request = request;
  }

  /** Only computed when it is asked for: most requests do not fail. */
  get conversation(): string {
    return (this.#conversation ??= digest(this.#request));
  }
}

function digest(request: object): string {
  const { model, instructions, messages, input, prompt } = request as Record<string, unknown>;
  const beginning = JSON.stringify([model, instructions, messages ?? input ?? prompt], shortened);
  return createHash("sha256").update(beginning).digest("base64url");
}

function shortened(this: unknown, name: string, value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, firstCharacters);
  if (Array.isArray(value)) return value.slice(0, name === "2" ? firstMessages : firstParts);
  return value;
}
