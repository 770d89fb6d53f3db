import type {
  ChatInput,
  OutputItem,
  ReasoningCarry,
  RecalledReasoning,
  ResponseEvent,
  ResponseObject,
  ResponsesOverChat,
} from "@deltawire/wire";
import type { Output } from "../relay/client-wire.ts";
import type { Translator } from "../relay/reply.ts";
import type { Envelopes } from "./envelope.ts";
import type { ConversationDigest } from "./conversation-digest.ts";
import type { ReasoningCache } from "./reasoning-cache.ts";

/** What one upstream needs back later: sealed into the client's history, and cached in case the client loses it. */
export class ReasoningKeeper {
  readonly #upstream: string;
  readonly #envelopes: Envelopes;
  readonly #cache: ReasoningCache;

  constructor(upstream: string, envelopes: Envelopes, cache: ReasoningCache) {
    this.#upstream = upstream;
    this.#envelopes = envelopes;
    this.#cache = cache;
  }

  seal(carry: ReasoningCarry): string {
    return this.#envelopes.seal(this.#upstream, carry);
  }

  unseal(envelope: string): ReasoningCarry | undefined {
    return this.#envelopes.unseal(this.#upstream, envelope);
  }

  /** What was cached of a call of this conversation. */
  lookup(callId: string, conversation: ConversationDigest): RecalledReasoning | undefined {
    const before = conversation.before(callId);
    return before === undefined ? undefined : this.#cache.lookup(this.#upstream, before, callId);
  }

  /** The same translator, with a word when its response is whole. */
  following(
    translator: ResponsesOverChat,
    onCompleted: (response: ResponseObject) => void,
  ): Translator<ChatInput> {
    const follow = (out: Output[], from: number): void => {
      const last = out.at(-1) as ResponseEvent | undefined;
      if (out.length === from || last === undefined) return;
      if (last.type !== "response.completed" && last.type !== "response.incomplete") return;
      onCompleted(last.response);
    };
    return {
      get awaitsEnd() {
        return translator.awaitsEnd;
      },
      get usage() {
        return translator.usage;
      },
      get progress() {
        return translator.progress;
      },
      push(input, out) {
        const from = out.length;
        translator.push(input, out as ResponseEvent[]);
        follow(out, from);
      },
      end(how, out) {
        const from = out.length;
        translator.end(how, out as ResponseEvent[]);
        follow(out, from);
      },
      begin: (out) => translator.begin(out as ResponseEvent[]),
      keepAlive: (out) => translator.keepAlive(out as ResponseEvent[]),
    };
  }

  /** Caches the reasoning of a reply to this conversation, by the reply's calls. */
  store(output: readonly OutputItem[], conversation: ConversationDigest): void {
    const callIds = output.flatMap((item) => ("call_id" in item ? [item.call_id] : []));
    if (callIds.length === 0) return;
    const reasoning = output.filter((item) => item.type === "reasoning");
    const words = reasoning.flatMap(({ summary, content }) => [...(content ?? []), ...summary]);
    const sealed = reasoning.findLast(({ encrypted_content: envelope }) => envelope);
    const carry = this.unseal(sealed?.encrypted_content ?? "");
    const text = words.map((part) => part.text).join("\n\n");
    if (text === "" && carry === undefined) return;
    const found = { reasoning: text, ...carry };
    this.#cache.store(this.#upstream, conversation.end, callIds, found);
  }
}
