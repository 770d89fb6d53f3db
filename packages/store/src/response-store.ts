import type { ConversationItem } from "./conversation-store.ts";

/** A response of the Responses API. All times are in milliseconds. */
export interface StoredResponse {
  readonly responseId: string;
  readonly owner: string;
  readonly status: string;
  readonly createdAt: number;
  /** The response that it continues, which may have been deleted meanwhile. */
  readonly previousResponseId?: string | undefined;
  /** The conversation that it belongs to, and the position there of the first item that its model did not receive. */
  readonly conversation?: ResponseConversation | undefined;
  /** The items of its own request as a JSON array, without those of earlier turns. */
  readonly input: string;
  /** The items of its output as a JSON array. */
  readonly output: string;
  /** The other fields of the response as a JSON object. */
  readonly json: string;
}

export interface ResponseConversation {
  readonly conversationId: string;
  readonly start: number;
}

export interface NewResponse extends StoredResponse {
  /** The ids of items that other requests of the owner may refer to. */
  readonly itemIds: readonly string[];
  /** Items to append to its conversation, if that still exists. */
  readonly conversationItems?: readonly ConversationItem[] | undefined;
  /** For a response that runs in the background. */
  readonly run?: NewResponseRun;
}

/** The process that runs a response in the background. */
export interface ResponseLease {
  readonly holder: string;
  readonly ttlMs: number;
}

interface NewResponseRun extends ResponseLease {
  /** What another process needs to run the response again. */
  readonly json: string;
  /** The first events, as JSON without line breaks. */
  readonly events: readonly string[];
}

/** A stored response that runs in the background. */
export interface ResponseRun extends StoredResponse {
  readonly run: string;
  /** The number of the last event; -1 without events. */
  readonly head: number;
  readonly isCancelRequested: boolean;
}

/** The parts of a response that later turns need. */
export type ResponseTurn = Pick<
  StoredResponse,
  "responseId" | "previousResponseId" | "conversation" | "status" | "input" | "output"
>;

/** Events of one response in their order, and how they change it. */
export interface ResponseProgress {
  readonly responseId: string;
  readonly owner: string;
  readonly holder: string;
  /** The number of the first event. */
  readonly first: number;
  /** Events as JSON without line breaks. */
  readonly events: readonly string[];
  /** The new state of the response. Undefined: it does not change. A response that has ended has no lease. */
  readonly state?: Pick<StoredResponse, "status" | "output" | "json"> & {
    readonly itemIds: readonly string[];
    /** Items to append to its conversation, if that still exists. */
    readonly conversationItems?: readonly ConversationItem[] | undefined;
  };
}

export interface ResponseEvents {
  /** Number of the first event. */
  readonly first: number;
  readonly events: readonly string[];
}

/**
 * Stores responses, so that clients can read and continue them. All methods see only the responses of the given owner. Ids are
 * unique for each owner.
 */
export interface ResponseStore {
  /** Stores a response with the ids of its items, or replaces one with the same id. */
  saveResponse(response: NewResponse): Promise<void>;
  getResponse(owner: string, responseId: string): Promise<StoredResponse | undefined>;
  /**
   * Returns a response and all that it continues, oldest first. If one was deleted, the first of the list has a
   * `previousResponseId`.
   */
  listResponseChain(owner: string, responseId: string): Promise<ResponseTurn[]>;
  /** Returns the responses that contain these items, each once. */
  findResponsesWithItems(owner: string, itemIds: readonly string[]): Promise<ResponseTurn[]>;
  /** Returns false if there is no such response. */
  deleteResponse(owner: string, responseId: string): Promise<boolean>;
  /**
   * Deletes ended responses, oldest first, that were created before a time or until the others have at most `maxBytes`. A
   * response that another one continues is deleted after that one. Returns the number of deleted ones.
   */
  pruneResponses(limits: { createdBefore: number; maxBytes: number }): Promise<number>;
  /** Returns the number of bytes that responses use, with their events, without indexes. */
  getResponseBytes(): Promise<number>;

  /**
   * Appends events and changes the response, all or nothing. Returns undefined if the process does not run the response any more,
   * or the response was deleted.
   */
  appendResponseEvents(
    progress: ResponseProgress,
  ): Promise<{ isCancelRequested: boolean } | undefined>;
  /** Returns events after a number, at least one if there are any, and about `limit` characters. */
  listResponseEvents(
    owner: string,
    responseId: string,
    after: number,
    limit: number,
  ): Promise<ResponseEvents[]>;
  /** Asks the process that runs the response to cancel it. Returns false if the response has ended or does not exist. */
  requestResponseCancel(owner: string, responseId: string): Promise<boolean>;
  /** Extends the leases of a process. Returns the responses that it runs. */
  renewResponseLeases(
    lease: ResponseLease,
  ): Promise<{ owner: string; responseId: string; isCancelRequested: boolean }[]>;
  /** Claims unfinished responses whose lease has expired, or with `all` those of all other processes. Oldest first. */
  claimResponses(lease: ResponseLease & { all: boolean; limit: number }): Promise<ResponseRun[]>;
}

/** Returns the characters of a response, which the size limit counts. */
export function measureResponse({ input, output, json, run }: NewResponse): number {
  return input.length + output.length + json.length + (run?.json.length ?? 0);
}

/** Sorts the turns of a chain, oldest first. `responseId`: the newest. */
export function sortChain(turns: readonly ResponseTurn[], responseId: string): ResponseTurn[] {
  const byId = new Map(turns.map((turn) => [turn.responseId, turn]));
  const chain: ResponseTurn[] = [];
  for (let turn = byId.get(responseId); turn !== undefined;) {
    chain.push(turn);
    byId.delete(turn.responseId);
    turn = byId.get(turn.previousResponseId ?? "");
  }
  return chain.toReversed();
}
