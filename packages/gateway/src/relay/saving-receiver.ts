import type { JsonObject, UpstreamFailure } from "@deltawire/wire";
import type { ClientEvent } from "./client-wire.ts";
import type { ReplyReceiver } from "./receiver.ts";

export interface SavingReceiverOptions {
  receiver: ReplyReceiver;
  /** Fields of the response that the client receives instead of those of the upstream. */
  fields: JsonObject;
  /** Stores a response that has ended. Must not reject. Undefined: responses are not stored. */
  save: ((response: JsonObject) => Promise<void>) | undefined;
}

/**
 * Stores the response before the client receives its last event, so that every response that has ended for a client can be
 * continued, even after a crash. Nothing else waits for the store.
 */
export class SavingReceiver implements ReplyReceiver {
  readonly #receiver: ReplyReceiver;
  readonly #fields: JsonObject;
  readonly #save: SavingReceiverOptions["save"];
  readonly #hasFields: boolean;
  /** Resolves when the last events have been sent. */
  sent: Promise<void> = Promise.resolve();
  readonly isStreaming: boolean;

  constructor({ receiver, fields, save }: SavingReceiverOptions) {
    this.#receiver = receiver;
    this.isStreaming = receiver.isStreaming;
    this.#fields = fields;
    this.#hasFields = Object.keys(fields).length > 0;
    this.#save = save;
  }

  get hasSent(): boolean {
    return this.#receiver.hasSent;
  }

  send(events: readonly ClientEvent[], bytes: Uint8Array | undefined): boolean {
    const replaced = this.#replaceFields(events);
    return this.#receiver.send(replaced, replaced === events ? bytes : undefined);
  }

  keepAlive(): void {
    this.#receiver.keepAlive();
  }

  reset(): void {
    this.#receiver.reset();
  }

  end(
    events: readonly ClientEvent[],
    bytes: Uint8Array | undefined,
    failure: UpstreamFailure | undefined,
  ): void {
    const replaced = this.#replaceFields(events);
    const sentBytes = replaced === events ? bytes : undefined;
    const response = findResponse(replaced.at(-1));
    if (this.#save === undefined || response === undefined)
      return this.#receiver.end(replaced, sentBytes, failure);
    const lastEvents = [...replaced];
    this.sent = this.#save(response).then(() => this.#receiver.end(lastEvents, sentBytes, failure));
  }

  whenReady(resume: () => void): void {
    this.#receiver.whenReady(resume);
  }

  /** Returns the same array if nothing changes. */
  #replaceFields(events: readonly ClientEvent[]): readonly ClientEvent[] {
    if (!this.#hasFields || !events.some((event) => findResponse(event) !== undefined))
      return events;
    return events.map((event) => {
      const response = findResponse(event);
      if (response === undefined) return event;
      const sent: object = { ...(event as object), response: { ...response, ...this.#fields } };
      return sent as ClientEvent;
    });
  }
}

/** Returns the response object of an event. */
export function findResponse(event: ClientEvent | undefined): JsonObject | undefined {
  if (typeof event !== "object" || !("response" in event)) return undefined;
  const { response } = event as { response: unknown };
  return typeof response === "object" && response !== null ? (response as JsonObject) : undefined;
}
