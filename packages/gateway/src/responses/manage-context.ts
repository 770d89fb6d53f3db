import {
  estimateRequestTokens,
  type JsonObject,
  type ResponseInputItem,
  type ResponsesRequest,
} from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";
import { estimateJsonLength } from "../history/estimate-json-length.ts";
import { getCallId, isInstruction, isModelOutput } from "../history/item-kinds.ts";
import { toInputItems } from "../history/response-cache.ts";
import { isOpenedSummary, toSummaryMessage } from "../history/summaries.ts";
import type { EnvelopeCipher, SealedSummary } from "../reasoning/envelope-cipher.ts";
import type { Relay, RelayExchange } from "../relay/relay.ts";
import type { ExchangeOutcome } from "../upstream/upstream-client.ts";
import { buildCompactionItem, summarize } from "./compact-history.ts";
import { dropOldestItems } from "./drop-oldest-items.ts";
import { LeadingItemReceiver } from "./leading-item-receiver.ts";

export interface ContextOptions {
  /** True if upstreams receive the request as the client sent it, and manage its context themselves. */
  isForwarded: boolean;
  summaries: Pick<EnvelopeCipher, "sealSummary">;
}

/** How often a request with `truncation: "auto"` is shortened. */
const maxTruncations = 6;
/** The last items are sealed with the summary, unless they are larger; then the summary covers them too. In characters. */
const maxSealedLength = 100_000;

/**
 * Runs a request whose input may be too long: `context_management` replaces the input by a summary before the model is asked,
 * `truncation: "auto"` leaves out the oldest items when an upstream rejects it.
 */
export async function runWithContext(
  relay: Pick<Relay, "run">,
  exchange: RelayExchange,
  { isForwarded, summaries }: ContextOptions,
): Promise<ExchangeOutcome> {
  const { client } = exchange;
  if (client.wire !== "responses" || client.unresolved !== undefined || isForwarded)
    return runTruncated(relay, exchange);
  const { request, threshold } = takeCompaction(client.request);
  if (threshold === undefined) return runTruncated(relay, exchange);
  const changed = { ...exchange, client: { ...client, request } };
  if (estimateRequestTokens(request) <= threshold) return runTruncated(relay, changed);
  const compacted = await compactRequest(relay, exchange, request);
  if (compacted === "aborted") return "aborted";
  if (compacted === "nothing to compact") return runTruncated(relay, changed);
  // The parameter is then reported as dropped.
  if (compacted === "failed") return runTruncated(relay, exchange);
  const { input, ...summary } = compacted;
  const item = buildCompactionItem(summaries.sealSummary(summary));
  return runTruncated(relay, {
    ...exchange,
    client: { ...client, request: { ...request, input } },
    receiver: new LeadingItemReceiver(exchange.receiver, item),
  });
}

/** Takes the entries of `context_management` that ask for compaction out of a request. Others are unchanged. */
export function takeCompaction(request: ResponsesRequest): {
  request: ResponsesRequest;
  /** The number of tokens of the input beyond which it is compacted. */
  threshold: number | undefined;
} {
  const { context_management: entries, ...fields } = request;
  if (!Array.isArray(entries)) return { request, threshold: undefined };
  const thresholds = entries.flatMap((entry) => parseThreshold(entry) ?? []);
  if (thresholds.length === 0) return { request, threshold: undefined };
  const others = entries.filter((entry) => parseThreshold(entry) === undefined);
  return {
    request: others.length === 0 ? fields : { ...fields, context_management: others },
    threshold: Math.min(...thresholds),
  };
}

/** Returns undefined if the entry does not ask for compaction at a number of tokens. */
function parseThreshold(entry: unknown): number | undefined {
  const { type, compact_threshold: threshold } = (entry ?? {}) as JsonObject;
  return type === "compaction" && typeof threshold === "number" && threshold > 0
    ? threshold
    : undefined;
}

/**
 * Returns the number of instructions at the beginning of a history, and the index from which its items are not summarized: the new
 * input of the client and, if that has results of calls, what the model returned with these calls.
 */
export function splitHistory(items: readonly ResponseInputItem[]): {
  instructions: number;
  recent: number;
} {
  const firstOther = items.findIndex((item) => !isInstruction(item));
  const instructions = firstOther < 0 ? items.length : firstOther;
  const moveBack = (from: number, isPart: (item: ResponseInputItem) => boolean): number => {
    let index = from;
    for (let item = items[index - 1]; index > instructions && item && isPart(item);)
      item = items[(index -= 1) - 1];
    return index;
  };
  const input = moveBack(items.length, (item) => !isModelOutput(item));
  const callIds = new Set(items.slice(input).flatMap((item) => getCallId(item) ?? []));
  if (callIds.size === 0) return { instructions, recent: input };
  const firstCall = items.findIndex((item) => callIds.has(getCallId(item) ?? ""));
  return { instructions, recent: moveBack(Math.min(input, firstCall), isModelOutput) };
}

interface CompactedInput extends SealedSummary {
  readonly input: ResponseInputItem[];
}

async function compactRequest(
  relay: Pick<Relay, "run">,
  { targets, signal, record, source }: RelayExchange,
  request: ResponsesRequest,
): Promise<CompactedInput | "nothing to compact" | "failed" | "aborted"> {
  const items = toInputItems(request);
  const { instructions, recent } = splitHistory(items);
  if (items.slice(instructions, recent).every(isOpenedSummary)) return "nothing to compact";
  const recentItems = items.slice(recent);
  const isSealed = estimateJsonLength(recentItems) <= maxSealedLength;
  const input = isSealed ? items.slice(0, recent) : [...items];
  try {
    const options = { relay, targets, signal, record, source };
    const summary = await summarize({ ...request, input }, options);
    if (summary === undefined) return "aborted";
    return {
      input: [...items.slice(0, instructions), toSummaryMessage(summary.text), ...recentItems],
      summary: summary.text,
      recentItems: isSealed ? recentItems : [],
    };
  } catch (error) {
    if (signal.aborted) return "aborted";
    if (error instanceof GatewayError) return "failed";
    throw error;
  }
}

/** Leaves out the oldest items of a request with `truncation: "auto"` that does not fit into the context window. */
async function runTruncated(
  relay: Pick<Relay, "run">,
  exchange: RelayExchange,
): Promise<ExchangeOutcome> {
  let { client } = exchange;
  if (client.wire !== "responses" || client.request.truncation !== "auto")
    return relay.run(exchange);
  for (let truncations = 0; ; truncations += 1) {
    const items = toInputItems(client.request);
    const shorter = truncations < maxTruncations ? dropOldestItems(items) : items;
    const canShorten = shorter.length < items.length;
    try {
      return await relay.run({ ...exchange, client, throwsIfTooLong: canShorten });
    } catch (error) {
      const isTooLong = error instanceof GatewayError && error.code === "context_length_exceeded";
      if (!isTooLong || !canShorten || exchange.receiver.hasSent) throw error;
      client = { ...client, request: { ...client.request, input: [...shorter] } };
    }
  }
}
