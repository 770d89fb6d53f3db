import type { JsonObject, UpstreamFailure } from "@deltawire/wire";
import type { ClientEvent } from "../relay/client-wire.ts";
import type { ReplyReceiver } from "../relay/receiver.ts";
import { findResponse } from "../relay/saving-receiver.ts";

/** Adds an item at the beginning of the output of a response, with its events. */
export class LeadingItemReceiver implements ReplyReceiver {
  readonly #receiver: ReplyReceiver;
  readonly #item: JsonObject;
  #isAdded = false;
  readonly isStreaming: boolean;

  constructor(receiver: ReplyReceiver, item: JsonObject) {
    this.#receiver = receiver;
    this.#item = item;
    this.isStreaming = receiver.isStreaming;
  }

  get hasSent(): boolean {
    return this.#receiver.hasSent;
  }

  send(events: readonly ClientEvent[]): boolean {
    return this.#receiver.send(this.#shift(events), undefined);
  }

  keepAlive(): void {
    this.#receiver.keepAlive();
  }

  reset(): void {
    this.#isAdded = false;
    this.#receiver.reset();
  }

  end(
    events: readonly ClientEvent[],
    _bytes: Uint8Array | undefined,
    failure: UpstreamFailure | undefined,
  ): void {
    this.#receiver.end(this.#shift(events), undefined, failure);
  }

  whenReady(resume: () => void): void {
    this.#receiver.whenReady(resume);
  }

  #shift(events: readonly ClientEvent[]): ClientEvent[] {
    return events.flatMap((event) => {
      // The end of the stream.
      if (typeof event !== "object") return [event];
      const fields = event as unknown as JsonObject;
      const isOpening = openingTypes.has(fields["type"]);
      const added = isOpening || this.#isAdded ? [] : this.#buildEvents(fields);
      if (!isOpening) this.#isAdded = true;
      return [...added, this.#isAdded ? this.#shiftEvent(fields, isOpening) : event];
    });
  }

  #buildEvents({ sequence_number: number }: JsonObject): ClientEvent[] {
    const first = typeof number === "number" ? number : 0;
    return ["response.output_item.added", "response.output_item.done"].map((type, index) =>
      toEvent({ type, output_index: 0, item: this.#item, sequence_number: first + index }),
    );
  }

  #shiftEvent(fields: JsonObject, isOpening: boolean): ClientEvent {
    const { sequence_number: number, output_index: index } = fields;
    const response = findResponse(toEvent(fields));
    const output = response?.["output"];
    return toEvent({
      ...fields,
      ...(typeof number === "number" ? { sequence_number: number + addedEvents } : {}),
      ...(typeof index === "number" ? { output_index: index + 1 } : {}),
      ...(Array.isArray(output) && !isOpening
        ? { response: { ...response, output: [this.#item, ...output] } }
        : {}),
    });
  }
}

const addedEvents = 2;

const toEvent = (fields: JsonObject): ClientEvent => fields;

/** The item comes after these. */
const openingTypes: ReadonlySet<unknown> = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
]);
