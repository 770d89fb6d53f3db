import type { ConversationItem } from "@deltawire/store";
import type { JsonObject, ResponseInputItem } from "@deltawire/wire";
import { isContinuable } from "../history/response-history.ts";
import type { ClientEvent } from "../relay/client-wire.ts";
import type { ReplyReceiver } from "../relay/receiver.ts";
import { findResponse } from "../relay/saving-receiver.ts";
import type { EventLog, ResponseState } from "./event-log.ts";

/** Statuses of responses that have ended. */
const endedStatuses: ReadonlySet<unknown> = new Set([
  "completed",
  "failed",
  "incomplete",
  "cancelled",
]);

export interface RunReceiverOptions {
  log: EventLog;
  /** The response as its client received it. */
  response: JsonObject;
  /** Fields of the response that replace those of the upstream. */
  fields: JsonObject;
  /** Returns the items that the response adds to its conversation. Undefined: it has none. */
  listConversationItems?:
    | ((output: readonly ResponseInputItem[]) => readonly ConversationItem[])
    | undefined;
}

/** Writes the reply to a response in the background to its event log, with the id and the fields that its client knows. */
export class RunReceiver implements ReplyReceiver {
  readonly #log: EventLog;
  readonly #fields: JsonObject;
  readonly #listConversationItems: RunReceiverOptions["listConversationItems"];
  #response: JsonObject;
  /** Finished items by index. */
  readonly #items = new Map<number, JsonObject>();
  readonly isStreaming = false;
  hasSent = false;
  /** True after the last event. */
  hasEnded = false;

  constructor({ log, response, fields, listConversationItems }: RunReceiverOptions) {
    this.#log = log;
    this.#response = response;
    this.#fields = fields;
    this.#listConversationItems = listConversationItems;
  }

  /** Marks the response as running. */
  begin(): void {
    this.#log.setState(this.#buildState({ ...this.#response, status: "in_progress" }));
  }

  send(events: readonly ClientEvent[]): boolean {
    if (this.hasEnded) return true;
    let hasNewItems = false;
    for (const event of events as readonly (JsonObject & { type: string })[]) {
      if (event.type === "response.created") this.#start(event);
      // The upstream repeats these to keep the connection alive.
      if (openingTypes.has(event.type)) continue;
      if (!this.hasSent) this.#start(event);
      if (event.type === "response.output_item.done") {
        this.#items.set(Number(event["output_index"]), event["item"] as JsonObject);
        hasNewItems = true;
      }
      const response = findResponse(event);
      if (response === undefined) this.#log.add(event);
      else this.#addResponseEvent(event.type, response);
    }
    if (hasNewItems && !this.hasEnded) this.#log.setState(this.#buildState(this.#response));
    return true;
  }

  end(events: readonly ClientEvent[]): void {
    this.send(events);
  }

  /** Ends the response, unless it has ended. */
  finish(type: "response.failed" | "response.incomplete", fields: JsonObject): void {
    if (this.hasEnded) return;
    this.#addResponseEvent(type, { ...this.#response, output: this.#listItems(), ...fields });
  }

  keepAlive(): void {}

  reset(): void {}

  whenReady(resume: () => void): void {
    resume();
  }

  #start(event: JsonObject): void {
    if (this.hasSent) return;
    this.hasSent = true;
    const response = findResponse(event) ?? {};
    this.#addResponseEvent("response.in_progress", {
      ...this.#response,
      ...response,
      status: "in_progress",
      output: [],
    });
  }

  #addResponseEvent(type: string, received: JsonObject): void {
    const response: JsonObject = { ...received, ...this.#fields };
    if (endedStatuses.has(response["status"])) this.hasEnded = true;
    this.#response = response;
    this.#log.add({ type, response } as { type: string });
    this.#log.setState(this.#buildState(response));
  }

  #buildState({ output, ...fields }: JsonObject): ResponseState {
    const items = Array.isArray(output) && output.length > 0 ? output : this.#listItems();
    const status = typeof fields["status"] === "string" ? fields["status"] : "in_progress";
    const conversationItems = isContinuable(status)
      ? this.#listConversationItems?.(items as unknown as ResponseInputItem[])
      : undefined;
    return {
      status,
      conversationItems,
      output: JSON.stringify(items),
      json: JSON.stringify(fields),
      itemIds: items.flatMap((item) => {
        const { id } = item as JsonObject;
        return typeof id === "string" && id.length <= 200 ? [id] : [];
      }),
    };
  }

  #listItems(): JsonObject[] {
    return [...this.#items].toSorted(([a], [b]) => a - b).map(([, item]) => item);
  }
}

const openingTypes: ReadonlySet<string> = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
]);
