import type { JsonObject } from "@deltawire/wire";

/*
 * Checks what every client requires of the events of a stream, in one pass, because there may be hundreds of thousands of them.
 * Other rules of translations are checked in packages/wire.
 */

/** Returns what is wrong with the chunks of a Chat stream; empty if a client can read them. */
export function findChatStreamFaults(events: readonly ("[DONE]" | JsonObject)[]): string[] {
  const faults = new Set<string>();
  const openChoices = new Set<unknown>();
  const finishedChoices = new Set<unknown>();
  const calls = new Set<string>();
  let isEnded = false;
  for (const event of events) {
    if (isEnded) faults.add("events after the end");
    if (event === "[DONE]" || event["error"] !== undefined) {
      isEnded = true;
      if (event === "[DONE]" && openChoices.size > 0) faults.add("a choice is never finished");
      continue;
    }
    if (typeof event["id"] !== "string" || event["id"] === "") faults.add("a chunk without an id");
    if (!Array.isArray(event["choices"])) {
      faults.add("a chunk without choices");
      continue;
    }
    for (const choice of event["choices"] as JsonObject[]) {
      const index = choice["index"];
      if (finishedChoices.has(index)) faults.add("a choice continues after its finish_reason");
      openChoices.add(index);
      for (const call of collectCalls(choice)) {
        const callKey = `${index as number}/${call["index"] as number}`;
        const isNew = !calls.has(callKey);
        calls.add(callKey);
        const definition = (call["function"] ?? call["custom"]) as JsonObject | undefined;
        if (isNew && (!call["id"] || !definition?.["name"]))
          faults.add("a call without id or name");
      }
      if (choice["finish_reason"]) {
        openChoices.delete(index);
        finishedChoices.add(index);
      }
    }
  }
  if (!isEnded) faults.add("no end");
  return [...faults];
}

function collectCalls({ delta }: JsonObject): JsonObject[] {
  const calls = (delta as JsonObject | null | undefined)?.["tool_calls"];
  return Array.isArray(calls) ? (calls as JsonObject[]) : [];
}

const terminalTypes = ["response.completed", "response.incomplete", "response.failed"];

/** Returns what is wrong with the events of a Responses stream; empty if a client can read them. */
export function findResponsesStreamFaults(events: readonly JsonObject[]): string[] {
  const faults = new Set<string>();
  const openItems = new Set<unknown>();
  let terminalEvent: JsonObject | undefined;
  for (const [index, event] of events.entries()) {
    if (terminalEvent !== undefined) faults.add("events after the end");
    if (event["sequence_number"] !== index) faults.add("sequence numbers with gaps");
    if (index === 0 && event["type"] !== "response.created")
      faults.add("the first event is not response.created");
    if (event["type"] === "response.output_item.added") openItems.add(event["output_index"]);
    if (event["type"] === "response.output_item.done") openItems.delete(event["output_index"]);
    if (terminalTypes.includes(event["type"] as string)) terminalEvent = event;
  }
  if (terminalEvent === undefined) return [...faults, "no end"];
  const { status } = terminalEvent["response"] as JsonObject;
  if (terminalEvent["type"] !== `response.${status as string}`)
    faults.add("the last event does not match the status of the response");
  if (openItems.size > 0) faults.add("an item is never done");
  return [...faults];
}

const messageErrorTypes = [
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "rate_limit_error",
  "api_error",
  "timeout_error",
  "overloaded_error",
];

export function isMessageErrorType(type: unknown): boolean {
  return messageErrorTypes.includes(type as string);
}

/** The delta that a block of each type requires; blocks of other types belong to the upstream. */
const blockDeltas: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
};

/** Returns what is wrong with the events of a Messages stream; empty if a client can read them. */
export function findMessagesStreamFaults(events: readonly JsonObject[]): string[] {
  const faults = new Set<string>();
  let openBlock: { index: unknown; type: string } | undefined;
  let nextIndex = 0;
  let isStarted = false;
  let stopReason: unknown;
  let isEnded = false;
  const callIds = new Set<unknown>();
  for (const event of events) {
    if (isEnded) faults.add("events after the end");
    const { type, index } = event;
    if (!isStarted && type !== "message_start" && type !== "error")
      faults.add("the first event is not message_start");
    switch (type) {
      case "message_start":
        if (isStarted) faults.add("a second message_start");
        isStarted = true;
        for (const fault of findStartFaults(event["message"])) faults.add(fault);
        break;
      case "content_block_start": {
        if (openBlock !== undefined) faults.add("a block starts inside another");
        if (index !== nextIndex) faults.add("block indexes with gaps");
        nextIndex += 1;
        const block = event["content_block"] as JsonObject;
        openBlock = { index, type: block["type"] as string };
        if (openBlock.type !== "tool_use") break;
        for (const fault of findCallFaults(block, callIds)) faults.add(fault);
        break;
      }
      case "content_block_delta": {
        if (openBlock === undefined || index !== openBlock.index)
          faults.add("a delta outside its block");
        const deltas = blockDeltas[openBlock?.type ?? ""];
        const deltaType = (event["delta"] as JsonObject)["type"] as string;
        const isKnown = Object.values(blockDeltas).flat().includes(deltaType);
        if (deltas !== undefined && isKnown && !deltas.includes(deltaType))
          faults.add(`${deltaType} in a block of type ${openBlock?.type}`);
        break;
      }
      case "content_block_stop":
        if (openBlock === undefined || index !== openBlock.index)
          faults.add("the end of a block that is not open");
        openBlock = undefined;
        break;
      case "message_delta":
        stopReason = (event["delta"] as JsonObject)["stop_reason"] ?? stopReason;
        break;
      case "message_stop":
        isEnded = true;
        if (typeof stopReason !== "string") faults.add("message_stop without a stop_reason");
        break;
      case "error": {
        isEnded = true;
        const error = event["error"] as JsonObject | undefined;
        if (!isMessageErrorType(error?.["type"]) || !error?.["message"])
          faults.add("an error event without type or message");
        break;
      }
      default:
        if (typeof type !== "string") faults.add("an event without a type");
    }
  }
  if (!isEnded) faults.add("no end");
  return [...faults];
}

function findStartFaults(value: unknown): string[] {
  const message = value as JsonObject;
  const faults = findIdentityFaults(message);
  if (!Array.isArray(message["content"]) || message["content"].length > 0)
    faults.push("message_start with content");
  return faults;
}

function findIdentityFaults({ id, type, role, model, usage }: JsonObject): string[] {
  const faults: string[] = [];
  if (typeof id !== "string" || id === "") faults.push("a message without an id");
  if (type !== "message" || role !== "assistant") faults.push("a message of another type or role");
  if (typeof model !== "string" || model === "") faults.push("a message without a model");
  const { input_tokens, output_tokens } = (usage ?? {}) as JsonObject;
  if (!isCount(input_tokens) || !isCount(output_tokens)) faults.push("a usage without numbers");
  return faults;
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

function findCallFaults({ id, name, input }: JsonObject, ids: Set<unknown>): string[] {
  const faults: string[] = [];
  if (typeof id !== "string" || !/^[\w-]+$/.test(id)) faults.push("a call without a legal id");
  if (ids.has(id)) faults.push("two calls with one id");
  ids.add(id);
  if (typeof name !== "string" || name === "") faults.push("a call without a name");
  if (typeof input !== "object" || input === null || Array.isArray(input))
    faults.push("a call whose input is not an object");
  return faults;
}

/** Returns what is wrong with a complete reply of the Messages API; empty if a client can read it. */
export function findMessageFaults(message: JsonObject): string[] {
  const faults = new Set(findIdentityFaults(message));
  if (typeof message["stop_reason"] !== "string") faults.add("a message without a stop_reason");
  const { content } = message;
  if (!Array.isArray(content)) return [...faults, "a message without content"];
  const callIds = new Set<unknown>();
  for (const block of content as JsonObject[]) {
    if (typeof block["type"] !== "string") faults.add("a block without a type");
    if (block["type"] === "tool_use")
      for (const fault of findCallFaults(block, callIds)) faults.add(fault);
  }
  return [...faults];
}
