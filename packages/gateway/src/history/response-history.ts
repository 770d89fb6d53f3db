import type {
  ConversationItem,
  ConversationStore,
  FileStore,
  ResponseConversation,
  ResponseStore,
  ResponseTurn,
  Store,
  StoredResponse,
} from "@deltawire/store";
import type { JsonObject, ResponseInputItem, ResponsesRequest } from "@deltawire/wire";
import { quoteExcerpt } from "@deltawire/tasks";
import { GatewayError } from "../gateway-error.ts";
import { dropCompacted, openSummaries, type SummarySeal } from "./summaries.ts";
import { createFileLoader, inlineFiles } from "./inline-files.ts";
import { deriveId } from "../new-id.ts";
import { estimateJsonLength } from "./estimate-json-length.ts";
import { ResponseCache, toInputItems, type CachedTurn } from "./response-cache.ts";

/** A request with the stored history that it refers to. */
export interface ResolvedRequest {
  /** References that are not stored here are unchanged. */
  readonly request: ResponsesRequest;
  /** All items, as they were sent and returned: a sealed summary is still sealed. */
  readonly items: readonly ResponseInputItem[];
  /** The items of the request itself, without earlier turns. */
  readonly ownItems: readonly ResponseInputItem[];
  /** The response that the request continues, if it is stored here. */
  readonly previousResponseId: string | undefined;
  /** The conversation that the request continues, if it is stored here. */
  readonly conversation?: ResponseConversation | undefined;
  /** The error for a reference that is not stored here. Upstreams that store responses may know it. */
  readonly unresolved: GatewayError | undefined;
}

export type HistoryStore = ResponseStore &
  ConversationStore &
  FileStore &
  Pick<Store, "isShared" | "claimIdempotencyKey" | "holdIdempotencyKey" | "releaseIdempotencyKey">;

export interface ResponseHistoryOptions {
  /** Opens sealed summaries. */
  summaries: SummarySeal;
  /** How long responses are stored, in milliseconds. */
  maxAgeMs: number;
  /** The oldest responses are deleted when all together are larger. */
  maxBytes: number;
  onFailure: (message: string, cause: unknown) => void;
  now?: () => number;
}

const pruneIntervalMs = 10 * 60_000;
/** Old responses are also deleted whenever this share of `maxBytes` was stored. */
const pruneShare = 1 / 16;
/** Longer ids of upstreams are not stored. */
const maxIdLength = 200;
/** Larger responses are not stored: SQLite would block the event loop for too long (60 MB: 230 ms of processor time). In characters. */
const maxStoredLength = 20_000_000;

/**
 * Stores responses and rebuilds the history of requests that refer to them: by `previous_response_id`, or by item references as
 * the `ai` SDK sends them. While the store is closed, the latest responses are in memory only.
 */
export class ResponseHistory {
  readonly #options: ResponseHistoryOptions;
  readonly #now: () => number;
  readonly #cache = new ResponseCache();
  #store: HistoryStore | undefined;
  #pruneTimer: NodeJS.Timeout | undefined;
  #pruning: Promise<void> | undefined;
  #unprunedBytes = 0;

  constructor(options: ResponseHistoryOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  attachStore(store: HistoryStore): void {
    this.#store = store;
    this.#pruneTimer = setInterval(() => void this.prune(), pruneIntervalMs).unref();
    void this.prune();
  }

  /** Call it before the store is closed. */
  async detachStore(): Promise<void> {
    clearInterval(this.#pruneTimer);
    this.#store = undefined;
    await this.#pruning;
  }

  /** Adds the stored history to a request, and opens summaries. Throws a GatewayError if that is not possible. */
  async resolve(
    request: ResponsesRequest,
    owner: string,
    /** Responses that only this request may continue, besides the stored ones. */
    local?: ResponseCache,
  ): Promise<ResolvedRequest> {
    const resolved = await this.#resolve(request, owner, local);
    // Unless storing was requested explicitly, the request is answered, but not stored.
    if (request.store === true || resolved.conversation !== undefined)
      assertStorable(resolved.ownItems, "input");
    const { input } = resolved.request;
    const items = toInputItems(resolved.request);
    const { items: openedItems, problem } = openSummaries(items, this.#options.summaries);
    const unresolved = resolved.unresolved ?? problem;
    const opened = await inlineFiles(
      openedItems,
      resolved.ownItems.length,
      createFileLoader(() => this.getStore(), owner),
    );
    if (opened === items || !Array.isArray(input)) return { ...resolved, items, unresolved };
    const withOpened = { ...resolved.request, input: [...opened] };
    return { ...resolved, items, unresolved, request: withOpened };
  }

  async #resolve(
    request: ResponsesRequest,
    owner: string,
    local: ResponseCache | undefined,
  ): Promise<Omit<ResolvedRequest, "items">> {
    const { previous_response_id: previousId, conversation, ...rest } = request;
    const requestItems = toInputItems(request);
    const referenced = await this.#findItems(requestItems, owner, local);
    let unresolved: GatewayError | undefined;
    const ownItems = requestItems.map((item) => {
      if (item.type !== "item_reference") return item;
      const { id } = item;
      const match = referenced.get(id);
      if (match === undefined) unresolved ??= createItemError(id);
      return match ?? item;
    });
    const conversationId = parseConversationId(conversation);
    if (conversationId !== undefined) {
      if (typeof previousId === "string")
        throw new GatewayError(
          "invalid_request",
          "conversation: not together with previous_response_id; send one of them",
          { param: "conversation" },
        );
      const stored = await this.#store?.readConversation(owner, conversationId);
      if (stored === undefined) {
        const notFound = createConversationError(conversationId);
        const forwarded = { ...request, input: ownItems };
        return {
          request: forwarded,
          ownItems,
          previousResponseId: undefined,
          unresolved: notFound,
        };
      }
      const input = [...stored.items.map(parseItem), ...ownItems];
      return {
        request: { ...rest, input },
        ownItems,
        previousResponseId: undefined,
        conversation: { conversationId, start: stored.next },
        unresolved,
      };
    }
    if (typeof previousId !== "string") {
      const isChanged = referenced.size > 0;
      const resolved = isChanged ? { ...request, input: ownItems } : request;
      return { request: resolved, ownItems, previousResponseId: undefined, unresolved };
    }
    const history = await this.#collectHistory(previousId, owner, local);
    if (history instanceof GatewayError) {
      const forwarded = { ...request, input: ownItems };
      return { request: forwarded, ownItems, previousResponseId: undefined, unresolved: history };
    }
    assertCallsExist(history, ownItems);
    const input = [...history, ...ownItems];
    return { request: { ...rest, input }, ownItems, previousResponseId: previousId, unresolved };
  }

  /** Stores a response that has ended. Failures are reported, because the client has its reply anyway. */
  async save(resolved: ResolvedRequest, owner: string, response: JsonObject): Promise<void> {
    const { id, output } = response;
    if (typeof id !== "string" || id === "" || id.length > maxIdLength) return;
    const { ownItems, previousResponseId, conversation } = resolved;
    const outputItems = Array.isArray(output) ? (output as unknown as ResponseInputItem[]) : [];
    const size = estimateJsonLength(ownItems) + estimateJsonLength(outputItems);
    const items = [...ownItems, ...outputItems];
    const store = this.#store;
    if (store?.isShared !== true)
      this.#cache.set(owner, id, { previousResponseId, conversation, items, size });
    if (store === undefined) return;
    const sizeProblem = findSizeProblem(size, "input");
    if (sizeProblem !== undefined) {
      this.#options.onFailure("could not store a response", sizeProblem);
      return;
    }
    const stored = this.#toStoredResponse(id, resolved, owner, response);
    const conversationItems =
      conversation === undefined || !isContinuable(stored.status)
        ? []
        : toConversationItems(id, ownItems, outputItems);
    try {
      await store.saveResponse({ ...stored, itemIds: listItemIds(items), conversationItems });
      this.#countBytes(size + stored.json.length);
    } catch (error) {
      this.#options.onFailure("could not store a response", error);
    }
  }

  /** Returns undefined if the response does not exist or belongs to another owner. */
  async find(responseId: string, owner: string): Promise<StoredResponse | undefined> {
    return this.getStore().getResponse(owner, responseId);
  }

  /** Throws a GatewayError (404) if the response does not exist or belongs to another owner. */
  async get(responseId: string, owner: string): Promise<StoredResponse> {
    const response = await this.find(responseId, owner);
    if (response === undefined) throw createResponseError(responseId);
    return response;
  }

  /** Throws a GatewayError (404) if the response does not exist or belongs to another owner. */
  async delete(responseId: string, owner: string): Promise<void> {
    const store = this.getStore();
    this.#cache.delete(owner, responseId);
    if (!(await store.deleteResponse(owner, responseId))) throw createResponseError(responseId);
  }

  /** Returns the items that were sent to the model, including those of earlier turns. Each has an id. */
  async listInputItems(responseId: string, owner: string): Promise<JsonObject[]> {
    const chain = await this.getStore().listResponseChain(owner, responseId);
    if (chain.length === 0) throw createResponseError(responseId);
    const earlierItems = await this.#readConversation(chain[0]?.conversation, owner);
    const items = chain.flatMap((turn, index) => {
      const input = addIds(parseItems(turn.input), turn.responseId);
      const isLast = index === chain.length - 1;
      return isLast ? input : [...input, ...parseItems(turn.output)];
    });
    return [...earlierItems, ...items];
  }

  /** Deletes responses that are too old or exceed the size limit. */
  prune(): Promise<void> {
    return (this.#pruning ??= this.#prune().finally(() => (this.#pruning = undefined)));
  }

  async #prune(): Promise<void> {
    const { maxAgeMs, maxBytes, onFailure } = this.#options;
    this.#unprunedBytes = 0;
    try {
      await this.#store?.pruneResponses({ createdBefore: this.#now() - maxAgeMs, maxBytes });
    } catch (error) {
      if (this.#store !== undefined) onFailure("could not delete old responses", error);
    }
  }

  #countBytes(size: number): void {
    this.#unprunedBytes += size;
    if (this.#unprunedBytes > this.#options.maxBytes * pruneShare) void this.prune();
  }

  #toStoredResponse(
    responseId: string,
    { ownItems, previousResponseId, conversation }: ResolvedRequest,
    owner: string,
    { output, ...fields }: JsonObject,
  ): StoredResponse {
    return {
      responseId,
      owner,
      status: typeof fields["status"] === "string" ? fields["status"] : "completed",
      createdAt: this.#now(),
      previousResponseId,
      conversation,
      input: JSON.stringify(ownItems),
      output: JSON.stringify(output ?? []),
      json: JSON.stringify(fields),
    };
  }

  /** Returns the error if a response is not stored. */
  async #collectHistory(
    lastResponseId: string,
    owner: string,
    local: ResponseCache | undefined,
  ): Promise<ResponseInputItem[] | GatewayError> {
    const turns: CachedTurn[] = [];
    const seen = new Set<string>();
    let id: string | undefined = lastResponseId;
    while (id !== undefined && !seen.has(id)) {
      const turn: CachedTurn | undefined = local?.get(owner, id) ?? this.#getCached(id, owner);
      if (turn === undefined) break;
      seen.add(id);
      turns.unshift(turn);
      id = turn.previousResponseId;
    }
    if (id !== undefined && !seen.has(id)) {
      const chain = (await this.#store?.listResponseChain(owner, id)) ?? [];
      const missing = chain.length === 0 ? id : chain[0]?.previousResponseId;
      if (missing !== undefined && missing !== chain.at(-1)?.responseId)
        return createPreviousError(missing);
      turns.unshift(...chain.map((turn) => this.#cacheTurn(turn, owner)));
    }
    const earlierItems = await this.#readConversation(turns[0]?.conversation, owner);
    return dropCompacted([...earlierItems, ...turns.flatMap(({ items }) => items)]);
  }

  /** Returns the items of a conversation before a response. */
  async #readConversation(
    conversation: ResponseConversation | undefined,
    owner: string,
  ): Promise<ResponseInputItem[]> {
    if (conversation === undefined || this.#store === undefined) return [];
    const { conversationId, start } = conversation;
    const stored = await this.#store.readConversation(owner, conversationId, start);
    return stored?.items.map(parseItem) ?? [];
  }

  /** Of a store that several processes share, another one may have deleted the response. */
  #getCached(responseId: string, owner: string): CachedTurn | undefined {
    return this.#store?.isShared === true ? undefined : this.#cache.get(owner, responseId);
  }

  #cacheTurn(turn: ResponseTurn, owner: string): CachedTurn {
    const { responseId, previousResponseId, conversation, status, input, output } = turn;
    if (status === "queued" || status === "in_progress")
      throw new GatewayError(
        "invalid_request",
        `Previous response with id '${responseId}' is still ${status}; continue it when it has ended`,
        { param: "previous_response_id" },
      );
    const items = [...parseItems(input), ...parseItems(output)];
    const cached = { previousResponseId, conversation, items, size: input.length + output.length };
    if (this.#store?.isShared !== true) this.#cache.set(owner, responseId, cached);
    return cached;
  }

  /** Returns the stored items that the items of a request refer to, by id. */
  async #findItems(
    items: readonly ResponseInputItem[],
    owner: string,
    local: ResponseCache | undefined,
  ): Promise<ReadonlyMap<string, ResponseInputItem>> {
    const found = new Map<string, ResponseInputItem>();
    const missing: string[] = [];
    for (const item of items) {
      if (item.type !== "item_reference") continue;
      const { id } = item;
      const cached =
        local?.findItem(owner, id) ??
        (this.#store?.isShared === true ? undefined : this.#cache.findItem(owner, id));
      if (cached === undefined) missing.push(id);
      else found.set(id, cached);
    }
    if (missing.length === 0 || this.#store === undefined) return found;
    const turns = await this.#store.findResponsesWithItems(owner, missing);
    const stored = turns.flatMap((turn) => this.#cacheTurn(turn, owner).items);
    const missingIds = new Set(missing);
    for (const item of stored)
      if (typeof item.id === "string" && missingIds.has(item.id)) found.set(item.id, item);
    return found;
  }

  /** Throws a GatewayError while the store is closed. */
  getStore(): HistoryStore {
    if (this.#store !== undefined) return this.#store;
    throw new GatewayError("store_unavailable", "the store is not open; try again");
  }
}

/** Throws a GatewayError (413) if a value is too large for the store. `what`: the field of the request. */
export function assertStorable(value: unknown, what: string): void {
  const problem = findSizeProblem(estimateJsonLength(value), what);
  if (problem !== undefined) throw problem;
}

function findSizeProblem(size: number, what: string): GatewayError | undefined {
  if (size <= maxStoredLength) return undefined;
  return new GatewayError(
    "request_too_large",
    `${what}: ${(size / 1e6).toFixed(1)} MB cannot be stored; a response or the items of a request may have at most ${maxStoredLength / 1e6} MB`,
    { param: what },
  );
}

/** Throws a GatewayError (400) if a request has the result of a call that is not in the history that it continues. */
function assertCallsExist(
  history: readonly ResponseInputItem[],
  ownItems: readonly ResponseInputItem[],
): void {
  // A summary replaces earlier calls.
  if (history.some(({ type }) => type === "compaction")) return;
  const items = [...history, ...ownItems];
  const callIds = new Set(items.map((item) => (isCallOutput(item) ? undefined : item["call_id"])));
  for (const item of ownItems) {
    const { call_id: callId } = item as { call_id?: unknown };
    if (!isCallOutput(item) || typeof callId !== "string" || callIds.has(callId)) continue;
    throw new GatewayError(
      "invalid_request",
      `No tool call found for function call output with call_id ${quoteExcerpt(callId)}; send the results of calls of the previous response`,
      { param: "input" },
    );
  }
}

function isCallOutput({ type }: ResponseInputItem): boolean {
  return type === "function_call_output" || type === "custom_tool_call_output";
}

/** Returns the items that a response adds to its conversation. */
export function toConversationItems(
  responseId: string,
  ownItems: readonly ResponseInputItem[],
  outputItems: readonly ResponseInputItem[],
): ConversationItem[] {
  return addIds([...ownItems, ...outputItems], responseId).map(toConversationItem);
}

export function toConversationItem(item: ResponseInputItem): ConversationItem {
  return { itemId: item.id as string, json: JSON.stringify(item) };
}

/** True for a response that ended with a reply of the model. */
export function isContinuable(status: string): boolean {
  return status === "completed" || status === "incomplete";
}

/** Returns the id of `conversation`, which is a string or an object. */
function parseConversationId(conversation: unknown): string | undefined {
  if (conversation === undefined || conversation === null) return undefined;
  const id =
    typeof conversation === "object" ? (conversation as { id?: unknown }).id : conversation;
  if (typeof id === "string") return id;
  throw new GatewayError(
    "invalid_request",
    'conversation: expected the id of a conversation, or {"id": …}',
    { param: "conversation" },
  );
}

const parseItem = ({ json }: ConversationItem): ResponseInputItem =>
  JSON.parse(json) as ResponseInputItem;

/** Returns the ids of items that references may name. */
function listItemIds(items: readonly ResponseInputItem[]): string[] {
  const ids = items.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
  return [...new Set(ids)].filter((id) => id !== "" && id.length <= maxIdLength);
}

function parseItems(json: string): ResponseInputItem[] {
  return JSON.parse(json) as ResponseInputItem[];
}

/** Gives an id to items that were sent without one, the same each time. */
export function addIds(
  items: readonly ResponseInputItem[],
  responseId: string,
): ResponseInputItem[] {
  return items.map((item, index) => {
    if (typeof item.id === "string" && item.id !== "") return item;
    const [prefix, key] = [
      itemIdPrefixes[item.type ?? "message"] ?? "item",
      `${responseId}:${index}`,
    ];
    const changed: object = { ...item, ...normalizeMessage(item), id: deriveId(prefix, key) };
    return changed as ResponseInputItem;
  });
}

/** Returns the fields of a short form of a message in the long form. */
function normalizeMessage(item: ResponseInputItem): object {
  const { type = "message", role, content } = item as Record<string, unknown>;
  if (type !== "message") return {};
  if (typeof content !== "string") return { type };
  const part =
    role === "assistant"
      ? { type: "output_text", text: content, annotations: [], logprobs: [] }
      : { type: "input_text", text: content };
  return { type, content: [part] };
}

const itemIdPrefixes: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  function_call_output: "fco",
  reasoning: "rs",
};

const advice =
  "it was not created here, was not stored (store: false, or more than 20 MB), or has expired";

function createPreviousError(id: string): GatewayError {
  return new GatewayError(
    "previous_response_not_found",
    `Previous response with id '${id}' not found: ${advice}; send the complete history in "input"`,
    { param: "previous_response_id" },
  );
}

function createItemError(id: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Item with id '${id}' not found: ${advice}; send the item itself`,
    { param: "input" },
  );
}

function createResponseError(id: string): GatewayError {
  return new GatewayError("response_not_found", `Response with id '${id}' not found: ${advice}`);
}

export function createConversationError(id: string): GatewayError {
  return new GatewayError(
    "conversation_not_found",
    `Conversation with id '${id}' not found: it was not created here, or was deleted`,
    { param: "conversation" },
  );
}
