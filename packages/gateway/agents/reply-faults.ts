import {
  parseJson,
  type ChatChunk,
  type ChatStreamEvent,
  type ResponseEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { findChatSequenceFaults } from "../../wire/check/chat-sequence.ts";
import { findMessageSequenceFaults } from "../../wire/check/message-sequence.ts";
import { findPassthroughSequenceFaults } from "../../wire/check/passthrough-sequence.ts";
import { findResponseSequenceFaults } from "../../wire/check/response-sequence.ts";
import type { Exchange } from "./exchange-proxy.ts";
import { findGrammarReplyFaults, findGrammarStreamFaults } from "./shared-grammar.ts";
import { findWire, type Wire } from "./wires.ts";

/**
 * Returns the faults of the gateway's replies that a strict client would stumble over. Replies that the agent canceled have
 * none. `speaks`: the API of the upstream, whose events are forwarded if it is the agent's.
 */
export async function findReplyFaults(
  exchanges: readonly Exchange[],
  speaks: Wire,
): Promise<string[]> {
  const faults: string[] = [];
  for (const exchange of exchanges) {
    const wire = findWire(exchange.path);
    if (wire === undefined || !exchange.isComplete) continue;
    const isStream = /event-stream/.test(exchange.headers["content-type"] ?? "");
    const found = isStream
      ? await findStreamFaults(wire, exchange.replyText, wire === speaks)
      : await findCompleteReplyFaults(wire, exchange);
    faults.push(...found.map((fault) => `${exchange.path}: ${fault}`));
  }
  return faults;
}

async function findStreamFaults(wire: Wire, text: string, isForwarded: boolean): Promise<string[]> {
  const events = parseEvents(text);
  switch (wire) {
    case "chat":
      return findChatSequenceFaults(events);
    case "responses": {
      const withoutDone = events.filter((event) => event !== "[DONE]");
      return isForwarded
        ? findPassthroughSequenceFaults(withoutDone as unknown[] as UpstreamResponseEvent[])
        : findResponseSequenceFaults(withoutDone as unknown[] as ResponseEvent[]);
    }
    default:
      return [
        ...findMessageSequenceFaults(events as object[], { isForwarded }),
        ...(await findGrammarStreamFaults(text)),
      ];
  }
}

async function findCompleteReplyFaults(wire: Wire, exchange: Exchange): Promise<string[]> {
  const body = parseJson(exchange.replyText);
  if (body === undefined) return ["the reply is not JSON"];
  return wire === "messages" ? findGrammarReplyFaults(body, exchange.status) : [];
}

function parseEvents(text: string): ChatStreamEvent[] {
  return text.split("\n\n").flatMap((block) => {
    const line = block.split("\n").find((each) => each.startsWith("data: "));
    if (line === undefined) return [];
    const data = line.slice("data: ".length);
    return [data === "[DONE]" ? data : (JSON.parse(data) as ChatChunk)];
  });
}
