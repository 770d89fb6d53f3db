import { setTimeout as sleep } from "node:timers/promises";
import type { AccessKey, ResponseRun, ResponseStore, StoredResponse } from "@deltawire/store";
import type { JsonObject, ResponseInputItem, ResponsesRequest } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { GatewayError, toErrorReply } from "../gateway-error.ts";
import {
  assertStorable,
  toConversationItems,
  type ResolvedRequest,
} from "../history/response-history.ts";
import { newId } from "../new-id.ts";
import { meterRelay } from "../relay/meter-relay.ts";
import type { ClientRequest } from "../relay/client-request.ts";
import type { Relay } from "../relay/relay.ts";
import type { AccessKeys } from "../security/access-keys.ts";
import { findAccessKeyProblem } from "../security/authenticator.ts";
import type { UsageMeter } from "../security/usage-meter.ts";
import { RequestSource } from "../upstream/request-source.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import type { EnvelopeCipher } from "../reasoning/envelope-cipher.ts";
import { EventLog } from "./event-log.ts";
import { runWithContext } from "./manage-context.ts";
import { buildNewResponse } from "./new-response.ts";
import { RunReceiver } from "./run-receiver.ts";

type SharedResponseStore = ResponseStore & { readonly isShared: boolean };

export interface BackgroundResponsesOptions {
  relay: Pick<Relay, "run" | "forwardsResponses">;
  /** Seals summaries of conversations. */
  summaries: Pick<EnvelopeCipher, "sealSummary">;
  resolveTargets: (model: string) => Promise<readonly ModelTarget[]>;
  /** Counts what access keys use. */
  meter: Pick<UsageMeter, "assertModelAllowed" | "countsTokens" | "addModelUsage">;
  accessKeys: Pick<AccessKeys, "get" | "getTime" | "watchIds">;
  /** Called when a response has ended. */
  onEnd: (entry: BackgroundLogEntry) => void;
  onFailure: (message: string, cause: unknown) => void;
  /** How long another process waits before it takes over a response, in milliseconds; default 15000. */
  leaseMs?: number;
}

interface BackgroundLogEntry {
  responseId: string;
  model: string;
  ms: number;
  record: ExchangeRecord;
}

/** What a process needs to run a response, even after a restart. */
interface RunOptions {
  request: ResponsesRequest;
  isCodex: boolean;
  reasoning: "summary" | "raw";
  keyId?: string;
  /** Fields of the response that the client knows. */
  fields: JsonObject;
}

interface LocalRun {
  readonly responseId: string;
  readonly owner: string;
  readonly keyId: string | undefined;
  readonly controller: AbortController;
  stopReason: "canceled" | "lost" | "closed" | undefined;
  readonly done: Promise<void>;
}

const defaultLeaseMs = 15_000;
const heartbeatMs = 1000;
/** The events that exist before an upstream was asked. */
const openingEventCount = 2;
const maxFollowedCharacters = 1_000_000;
/** How often a follower looks for events of another process. */
const followIntervalMs = 250;
const cancelTimeoutMs = 10_000;

/**
 * Runs responses with `background: true`. Their events are stored before a client receives them, so every client sees the same
 * events, whenever it connects and to whichever process. A response whose process has ended is run again if it has no events of
 * an upstream, else it fails.
 */
export class BackgroundResponses {
  readonly #options: BackgroundResponsesOptions;
  readonly #processId = newId("process");
  readonly #runs = new Map<string, LocalRun>();
  #stopWatchingKeys = (): void => undefined;
  /** Resolves followers of a response when it has new events. */
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #closing = new AbortController();
  #store: SharedResponseStore | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;

  constructor(options: BackgroundResponsesOptions) {
    this.#options = options;
  }

  attachStore(store: SharedResponseStore): void {
    this.#store = store;
    if (this.#timer !== undefined) this.#takeOver(store);
  }

  /** Continues the responses of processes that have ended, and from now on those that end. */
  recover(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#check(), heartbeatMs).unref();
    this.#stopWatchingKeys = this.#options.accessKeys.watchIds(
      () => new Set([...this.#runs.values()].flatMap(({ keyId }) => keyId ?? [])),
      (keyId) => {
        for (const run of this.#runs.values()) if (run.keyId === keyId) abortRun(run, "canceled");
      },
    );
    if (this.#store !== undefined) this.#takeOver(this.#store);
  }

  /** Stores the response, runs it, and returns it as its client receives it. */
  async start(
    client: Extract<ClientRequest, { wire: "responses" }>,
    resolved: ResolvedRequest,
    options: {
      owner: string;
      accessKey: AccessKey | undefined;
      /** Default: a new one. */
      responseId?: string | undefined;
    },
  ): Promise<JsonObject> {
    if (resolved.unresolved !== undefined) throw resolved.unresolved;
    assertStorable(resolved.request, "input");
    const store = this.#getStore();
    const { request, isCodex, reasoning } = client;
    const { owner, accessKey, responseId = newId("resp") } = options;
    const fields = { responseId, status: "queued", background: true };
    const response = buildNewResponse(request, resolved, fields);
    const events = ["response.created", "response.queued"].map((type, index) =>
      JSON.stringify({ type, response, sequence_number: index }),
    );
    const { background: _background, stream: _stream, ...rest } = resolved.request;
    const fixedFields = pickFields(response, fixedFieldNames);
    const keyId = accessKey?.id;
    const run: RunOptions = {
      request: rest,
      isCodex,
      reasoning,
      fields: fixedFields,
      ...(keyId === undefined ? {} : { keyId }),
    };
    const { output: _output, ...json } = response;
    const stored: StoredResponse = {
      responseId,
      owner,
      status: "queued",
      createdAt: Date.now(),
      previousResponseId: resolved.previousResponseId,
      conversation: resolved.conversation,
      input: JSON.stringify(resolved.ownItems),
      output: "[]",
      json: JSON.stringify(json),
    };
    const lease = { holder: this.#processId, ttlMs: this.#leaseMs };
    await store.saveResponse({
      ...stored,
      itemIds: [],
      run: { ...lease, json: JSON.stringify(run), events },
    });
    const head = events.length - 1;
    this.#run({ ...stored, run: "", head, isCancelRequested: false }, run, accessKey);
    return response;
  }

  /**
   * Yields batches of events after a number, as JSON with their type, until the response has ended or the signal is aborted. Waits
   * for new events.
   */
  async *follow(
    owner: string,
    responseId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<{ type: string; json: string }[]> {
    const store = this.#getStore();
    const anySignal = AbortSignal.any([signal, this.#closing.signal]);
    let last = after;
    while (!anySignal.aborted) {
      const notified = this.#waitForEvents(responseId, anySignal);
      let events = await this.#listEvents(store, owner, responseId, last);
      if (events.length === 0) {
        const response = await store.getResponse(owner, responseId);
        const hasEnded = response === undefined || !isUnfinished(response.status);
        // The last events may have been stored since they were read.
        if (hasEnded) events = await this.#listEvents(store, owner, responseId, last);
        if (hasEnded && events.length === 0) return;
      }
      last += events.length;
      if (events.length > 0) yield events.map((json) => ({ type: parseType(json), json }));
      else await notified;
    }
  }

  async #listEvents(
    store: ResponseStore,
    owner: string,
    responseId: string,
    after: number,
  ): Promise<string[]> {
    const limit = maxFollowedCharacters;
    const batches = await store.listResponseEvents(owner, responseId, after, limit);
    return batches.flatMap(({ first, events }) => events.slice(Math.max(0, after + 1 - first)));
  }

  /** Cancels a response and its upstream request. Returns the response; undefined if it does not exist. */
  async cancel(owner: string, responseId: string): Promise<StoredResponse | undefined> {
    const store = this.#getStore();
    if (await store.requestResponseCancel(owner, responseId))
      this.#stop(owner, responseId, "canceled");
    const deadline = Date.now() + cancelTimeoutMs;
    for (;;) {
      const response = await store.getResponse(owner, responseId);
      if (response === undefined || !isUnfinished(response.status) || Date.now() > deadline)
        return response;
      await Promise.race([
        this.#waitForEvents(responseId, this.#closing.signal),
        sleep(followIntervalMs),
      ]);
    }
  }

  /** Stops a response that was deleted. */
  discard(owner: string, responseId: string): void {
    this.#stop(owner, responseId, "lost");
  }

  /** True once all streams of events are ended. */
  get isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Ends all streams of events; clients can resume them. */
  disconnectClients(): void {
    this.#closing.abort();
  }

  /** Waits for the running responses. What has not ended by then is left to the next process. */
  async close(waitMs: number): Promise<void> {
    clearInterval(this.#timer);
    this.#stopWatchingKeys();
    this.disconnectClients();
    await this.#checking;
    const done = Promise.all([...this.#runs.values()].map((run) => run.done));
    if (this.#runs.size > 0 && waitMs > 0)
      await Promise.race([done, sleep(waitMs, undefined, { ref: false })]);
    const wasRunning = this.#runs.size > 0;
    for (const run of this.#runs.values()) abortRun(run, "closed");
    await done;
    if (!wasRunning) return;
    try {
      await this.#store?.renewResponseLeases({ holder: this.#processId, ttlMs: -1000 });
    } catch (error) {
      this.#options.onFailure("could not release responses", error);
    }
  }

  get #leaseMs(): number {
    return this.#options.leaseMs ?? defaultLeaseMs;
  }

  #getStore(): SharedResponseStore {
    if (this.#store !== undefined) return this.#store;
    throw new GatewayError("store_unavailable", "the store is not open; try again");
  }

  #takeOver({ isShared }: SharedResponseStore): void {
    // No other process can use a store that is not shared.
    this.#checking ??= this.#claim(!isShared).finally(() => (this.#checking = undefined));
  }

  /** Extends the leases, and looks for responses to cancel and to take over. */
  #check(): void {
    if (this.#store?.isShared !== true) return;
    this.#checking ??= this.#renew()
      .then(() => this.#claim(false))
      .finally(() => (this.#checking = undefined));
  }

  async #renew(): Promise<void> {
    if (this.#runs.size === 0) return;
    const before = [...this.#runs.values()];
    try {
      const lease = { holder: this.#processId, ttlMs: this.#leaseMs };
      const held = (await this.#store?.renewResponseLeases(lease)) ?? [];
      const heldIds = new Set(held.map(({ owner, responseId }) => toKey(owner, responseId)));
      for (const { owner, responseId, isCancelRequested } of held)
        if (isCancelRequested) this.#stop(owner, responseId, "canceled");
      for (const run of before)
        if (!heldIds.has(toKey(run.owner, run.responseId))) abortRun(run, "lost");
    } catch (error) {
      this.#options.onFailure("could not renew the leases of responses", error);
    }
  }

  async #claim(all: boolean): Promise<void> {
    const claim = { holder: this.#processId, ttlMs: this.#leaseMs, all, limit: 20 };
    try {
      for (;;) {
        const claimed = (await this.#store?.claimResponses(claim)) ?? [];
        for (const response of claimed) this.#run(response, JSON.parse(response.run) as RunOptions);
        if (claimed.length < claim.limit) return;
      }
    } catch (error) {
      this.#options.onFailure("could not continue responses of another process", error);
    }
  }

  #run(response: ResponseRun, options: RunOptions, accessKey?: AccessKey): void {
    const { owner, responseId } = response;
    const key = toKey(owner, responseId);
    const controller = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const run: LocalRun = {
      responseId,
      owner,
      keyId: options.keyId,
      controller,
      stopReason: undefined,
      done: promise,
    };
    this.#runs.set(key, run);
    void this.#execute(response, { ...options, accessKey }, run)
      .catch((error: unknown) => this.#options.onFailure("a response failed", error))
      .finally(() => {
        this.#runs.delete(key);
        resolve();
      });
  }

  async #execute(
    response: ResponseRun,
    options: RunOptions & { accessKey: AccessKey | undefined },
    run: LocalRun,
  ): Promise<void> {
    const { owner, responseId } = response;
    const log = new EventLog({
      store: this.#getStore(),
      owner,
      responseId,
      holder: this.#processId,
      head: response.head,
      onStored: () => this.#notify(responseId),
      onStop: (reason) => abortRun(run, reason),
    });
    const known = { ...(JSON.parse(response.json) as JsonObject), output: [] };
    const receiver = new RunReceiver({
      log,
      response: known,
      fields: options.fields,
      listConversationItems:
        response.conversation === undefined
          ? undefined
          : (output) => {
              const input = JSON.parse(response.input) as ResponseInputItem[];
              return toConversationItems(responseId, input, output);
            },
    });
    if (response.isCancelRequested) receiver.finish("response.incomplete", canceledFields);
    else if (response.head >= openingEventCount) {
      // Clients may have received events, which another reply would contradict.
      const output = JSON.parse(response.output) as JsonObject[];
      receiver.finish("response.failed", { ...interruptedFields, output });
    } else await this.#relay(receiver, options, run);
    await log.flush();
    this.#notify(responseId);
  }

  async #relay(
    receiver: RunReceiver,
    options: RunOptions & { accessKey: AccessKey | undefined },
    run: LocalRun,
  ): Promise<void> {
    const { relay, summaries, resolveTargets, meter, accessKeys, onEnd } = this.#options;
    const { request, isCodex, reasoning, keyId } = options;
    const model = request.model ?? "";
    const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
    const startedAt = performance.now();
    const previousId = options.fields["previous_response_id"];
    receiver.begin();
    try {
      const key =
        options.accessKey ?? (keyId === undefined ? undefined : await accessKeys.get(keyId));
      if (keyId !== undefined) assertUsable(key, accessKeys.getTime());
      if (key !== undefined) meter.assertModelAllowed(key, model);
      const client: ClientRequest = {
        wire: "responses",
        request: { ...request, stream: true },
        isCodex,
        reasoning,
        previousResponseId: typeof previousId === "string" ? previousId : undefined,
      };
      const targets = await resolveTargets(model);
      const source = new RequestSource(run.owner, request);
      const { signal } = run.controller;
      const meteredRelay = meterRelay(relay, { key, meter, model });
      const exchange = { client, targets, receiver, signal, record, source };
      const isForwarded = relay.forwardsResponses(targets);
      await runWithContext(meteredRelay, exchange, { isForwarded, summaries });
    } catch (error) {
      const { code, message } = toErrorReply(error).body.error as { code: string; message: string };
      record.failure = code;
      receiver.finish("response.failed", { status: "failed", error: { code, message } });
    }
    // In the other cases this process must not end the response.
    if (run.stopReason === "canceled") receiver.finish("response.incomplete", canceledFields);
    else if (run.stopReason === undefined) receiver.finish("response.failed", interruptedFields);
    onEnd({ responseId: run.responseId, model, ms: performance.now() - startedAt, record });
  }

  #stop(owner: string, responseId: string, reason: "canceled" | "lost"): void {
    const run = this.#runs.get(toKey(owner, responseId));
    if (run !== undefined) abortRun(run, reason);
  }

  #notify(responseId: string): void {
    for (const listener of this.#listeners.get(responseId) ?? []) listener();
  }

  /** Resolves when this process has stored events of the response, and otherwise after a while. */
  #waitForEvents(responseId: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const listeners = this.#listeners.get(responseId) ?? new Set();
    this.#listeners.set(responseId, listeners);
    const timer = setTimeout(resolve, followIntervalMs);
    const onDone = () => resolve();
    listeners.add(onDone);
    signal.addEventListener("abort", onDone, { once: true });
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onDone);
      listeners.delete(onDone);
      if (listeners.size === 0) this.#listeners.delete(responseId);
    });
  }
}

const canceledFields: JsonObject = { status: "cancelled" };
const interruptedFields: JsonObject = {
  status: "failed",
  error: {
    code: "server_error",
    message: "the gateway stopped while the response was running; send the request again",
  },
};

/** Throws a GatewayError if the key was removed, revoked or has expired since the response was created. */
function assertUsable(key: AccessKey | undefined, now: number): void {
  if (key === undefined)
    throw new GatewayError("key_not_found", "the access key of the request was removed");
  const problem = findAccessKeyProblem(key, now);
  if (problem !== undefined) throw new GatewayError("missing_token", problem);
}

function abortRun(run: LocalRun, reason: NonNullable<LocalRun["stopReason"]>): void {
  run.stopReason ??= reason;
  run.controller.abort();
}

function isUnfinished(status: string): boolean {
  return status === "queued" || status === "in_progress";
}

/** The fields of a queued response that stay as they are. */
const fixedFieldNames = [
  "id",
  "created_at",
  "background",
  "store",
  "previous_response_id",
  "conversation",
];

function pickFields(from: object, names: readonly string[]): JsonObject {
  const fields = from as JsonObject;
  return Object.fromEntries(
    names.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
  );
}

function parseType(json: string): string {
  return /^\{"type":"([\w.]+)"/.exec(json)?.[1] ?? "message";
}

const toKey = (owner: string, responseId: string): string => `${owner}\0${responseId}`;
