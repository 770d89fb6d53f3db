import { createHash } from "node:crypto";

/** The client name of the gateway's agents and chats. Configured client names cannot contain control characters. */
export const gatewayClientName = "\n\n";

/** The hash of a conversation covers its first messages, and of each message the first parts and the start of each text. */
const hashedMessages = 4;
const hashedParts = 4;
const hashedCharacters = 500;

/**
 * The client and the conversation that a request belongs to, for counting failures and retries. One object per request.
 * A repeated request has the same hash, as have the turns of a conversation after its first messages.
 */
export class RequestSource {
  /** The name of the client; empty if no tokens are configured. */
  readonly clientName: string;
  readonly #request: object;
  #conversationHash: string | undefined;

  constructor(clientName: string, request: object) {
    this.clientName = clientName;
    this.#request = request;
  }

  /** Computed on first use: most requests do not fail. */
  get conversationHash(): string {
    return (this.#conversationHash ??= hashConversation(this.#request));
  }
}

function hashConversation(request: object): string {
  const { model, instructions, messages, input, prompt } = request as Record<string, unknown>;
  const conversationStart = JSON.stringify(
    [model, instructions, messages ?? input ?? prompt],
    truncateValue,
  );
  return createHash("sha256").update(conversationStart).digest("base64url");
}

function truncateValue(this: unknown, name: string, value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, hashedCharacters);
  // "2" is the index of the messages in the hashed array.
  if (Array.isArray(value)) return value.slice(0, name === "2" ? hashedMessages : hashedParts);
  return value;
}
