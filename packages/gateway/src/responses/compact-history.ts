import type {
  JsonObject,
  ResponseEvent,
  ResponseInputItem,
  ResponsesRequest,
  ResponseUsage,
} from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { GatewayError } from "../gateway-error.ts";
import { toInputItems } from "../history/response-cache.ts";
import { newId } from "../new-id.ts";
import type { ClientEvent } from "../relay/client-wire.ts";
import type { ReplyReceiver } from "../relay/receiver.ts";
import type { Relay } from "../relay/relay.ts";
import type { RequestSource } from "../upstream/request-source.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import { dropOldestItems } from "./drop-oldest-items.ts";

export interface CompactOptions {
  relay: Pick<Relay, "run">;
  targets: readonly ModelTarget[];
  signal: AbortSignal;
  record: ExchangeRecord;
  source: RequestSource;
}

export interface Summary {
  text: string;
  usage: ResponseUsage | null;
}

/** How many times a history that is too long for the model is shortened. */
const maxAttempts = 6;

/** True if the request asks for a summary instead of a reply: its last item is a `compaction_trigger`. */
export function isCompactionRequest(request: ResponsesRequest): boolean {
  return toInputItems(request).at(-1)?.type === "compaction_trigger";
}

/**
 * Lets the model summarize the input of a request. If the input does not fit into the context window, the oldest items are left
 * out. Returns undefined if the signal is aborted. Throws a GatewayError.
 */
export async function summarize(
  request: ResponsesRequest,
  options: CompactOptions,
): Promise<Summary | undefined> {
  const history = toInputItems(request).filter(({ type }) => type !== "compaction_trigger");
  if (history.length === 0)
    throw new GatewayError("invalid_request", "input: there is nothing to compact", {
      param: "input",
    });
  let items: readonly ResponseInputItem[] = history;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await requestSummary(buildSummaryRequest(request, items), options);
    } catch (error) {
      const shorter = dropOldestItems(items);
      const isTooLong = error instanceof GatewayError && error.code === "context_length_exceeded";
      if (!isTooLong || attempt >= maxAttempts || shorter.length === items.length) throw error;
      items = shorter;
    }
  }
}

/** Returns the messages of the user, which a compacted conversation keeps. */
export function listUserMessages(items: readonly ResponseInputItem[]): ResponseInputItem[] {
  return items.filter((item) => "role" in item && item.role === "user");
}

/** Returns an item with a sealed summary. */
export function buildCompactionItem(sealed: string): JsonObject {
  return { type: "compaction", id: newId("cmp"), encrypted_content: sealed };
}

async function requestSummary(
  request: ResponsesRequest,
  { relay, targets, signal, record, source }: CompactOptions,
): Promise<Summary | undefined> {
  const receiver = new SummaryReceiver();
  const client = {
    wire: "responses",
    // Its failures are thrown, not streamed.
    request: { ...request, stream: false },
    isCodex: false,
    reasoning: "summary",
  } as const;
  const result = await relay.run({ client, targets, receiver, signal, record, source });
  if (result === "aborted") return undefined;
  const { summary, failure } = receiver;
  if (failure !== undefined) {
    const isTooLong = failure.code === "context_length_exceeded";
    throw new GatewayError(
      isTooLong ? "context_length_exceeded" : "upstream_error",
      failure.message,
    );
  }
  if (summary.text.trim() === "")
    throw new GatewayError("upstream_error", "the model returned no summary of the conversation");
  return summary;
}

function buildSummaryRequest(
  { model, reasoning, prompt_cache_key, service_tier, instructions }: ResponsesRequest,
  history: readonly ResponseInputItem[],
): ResponsesRequest {
  return {
    ...(model === undefined ? {} : { model }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(prompt_cache_key === undefined ? {} : { prompt_cache_key }),
    ...(service_tier === undefined ? {} : { service_tier }),
    instructions: [instructions, summaryInstructions].filter(Boolean).join("\n\n"),
    input: [
      ...history,
      {
        type: "message",
        role: "user",
        content: "Write the summary of this conversation now. Do not call tools.",
      },
    ],
    store: false,
  };
}

const summaryInstructions =
  "The conversation has become too long. You summarize it for the assistant who continues it and sees nothing else of it. Write down everything that is needed: what the user wants, what was decided, done and found (copy names, numbers, paths and quotes exactly), what failed, and what remains to be done. No introduction.";

/** Collects the text of a reply. */
class SummaryReceiver implements ReplyReceiver {
  summary: Summary = { text: "", usage: null };
  failure: { code: string; message: string } | undefined;
  readonly isStreaming = false;
  readonly hasSent = false;

  send(events: readonly ClientEvent[]): boolean {
    for (const event of events as readonly ResponseEvent[])
      if (event.type === "response.output_text.done") this.summary.text += event.text;
      else if (event.type === "response.completed" || event.type === "response.incomplete")
        this.#finish(event.response.output, event.response.usage);
      else if (event.type === "response.failed")
        this.failure = event.response.error ?? { code: "upstream_error", message: "it failed" };
    return true;
  }

  end(events: readonly ClientEvent[]): void {
    this.send(events);
  }

  keepAlive(): void {}

  reset(): void {
    this.summary = { text: "", usage: null };
    this.failure = undefined;
  }

  whenReady(resume: () => void): void {
    resume();
  }

  #finish(output: readonly unknown[], usage: ResponseUsage | null): void {
    const items = output as readonly { type: string; content?: { text?: unknown }[] }[];
    const texts = items.flatMap(({ type, content }) =>
      type === "message" ? (content ?? []).map(({ text }) => text) : [],
    );
    const text = texts.filter((part) => typeof part === "string").join("\n");
    this.summary = { text: text === "" ? this.summary.text : text, usage };
  }
}
