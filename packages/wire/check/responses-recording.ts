import { isDeepStrictEqual } from "node:util";
import type {
  ChatStreamEvent,
  JsonObject,
  MessageEvent,
  UpstreamResponseEvent,
} from "@deltawire/wire";
import { findChatSequenceFaults } from "./chat-sequence.ts";
import { findMessageSequenceFaults } from "./message-sequence.ts";
import { readChatEvents, readMessageEvents } from "./reply-content.ts";

/** The index entry of a Responses upstream's stream. */
interface RecordedResponse {
  text: string;
  reasoning: string;
  reasoning_summary: string;
  refusal: string | null;
  tool_calls: { kind: string; call_id: string; name: string; arguments: string }[];
  status: string;
  terminal_event: string;
  incomplete_details: { reason?: string } | null;
  output_item_types: string[];
  usage: { input_tokens: number; output_tokens: number; total_tokens: number } | null;
  errors?: JsonObject[];
  /** Set if the joined deltas differ from the final text. The expected output is `text`. */
  text_from_deltas: string | null;
}

/** An entry with any other field fails, so that no expectation is ignored. */
const knownFields = new Set([
  "text",
  "reasoning",
  "reasoning_summary",
  "refusal",
  "tool_calls",
  "has_tool_calls",
  "status",
  "terminal_event",
  "incomplete_details",
  "output_item_types",
  "usage",
  "errors",
  "text_from_deltas",
]);

/** Returns the fields of an index entry that this check does not support. */
export function findResponsesEntryFaults(expected: Record<string, unknown>): string[] {
  const unknown = Object.keys(expected).filter((field) => !knownFields.has(field));
  return unknown.length > 0
    ? [`expected.${unknown.join(", expected.")}: not supported by this check`]
    : [];
}

/** Compares the output for a recording of a Responses upstream with the index and returns the differences. */
export function findResponsesOutputFaults(
  expected: Record<string, unknown>,
  responses: readonly UpstreamResponseEvent[] | undefined,
  chat: readonly ChatStreamEvent[] | undefined,
  messages: readonly MessageEvent[] | undefined,
): string[] {
  const recorded = expected as unknown as RecordedResponse;
  return [
    ...(chat === undefined ? [] : findChatSequenceFaults(chat)),
    ...(chat === undefined ? [] : findChatFaults(recorded, readChatEvents(chat, 0))),
    ...(messages === undefined ? [] : findMessageSequenceFaults(messages)),
    ...(messages === undefined ? [] : findMessagesFaults(recorded, messages)),
    ...(responses === undefined ? [] : findResponsesFaults(recorded, responses)),
  ];
}

/** Returns the expected error text, or undefined if the recording ends without a failure. */
export function getExpectedResponsesFailure(expected: Record<string, unknown>): string | undefined {
  const { status, errors = [] } = expected as unknown as RecordedResponse;
  return status === "failed" ? errors.map(getErrorMessage).join("") : undefined;
}

function findChatFaults(
  recorded: RecordedResponse,
  content: ReturnType<typeof readChatEvents>,
): string[] {
  const { compare, faults } = createComparison("Chat");
  compare("status", recorded.status, content.status);
  compare("text", recorded.text, content.text);
  compare("reasoning", recorded.reasoning || recorded.reasoning_summary, content.reasoning);
  compare("refusal", recorded.refusal ?? "", content.refusal);
  const calls = recorded.tool_calls.map((call) => [
    call.kind === "custom_tool_call" ? "custom" : "function",
    call.call_id,
    call.name,
    call.arguments,
  ]);
  compare(
    "calls",
    calls,
    content.calls.map((call) => [call.kind, call.id, call.name, call.arguments]),
  );
  if (recorded.status === "completed")
    compare("finish", calls.length > 0 ? "tool_calls" : "stop", content.finish);
  if (recorded.status === "incomplete")
    compare("reason", recorded.incomplete_details?.reason, content.incompleteReason);
  const usage = recorded.usage;
  compare(
    "usage",
    usage === null ? undefined : [usage.input_tokens, usage.output_tokens, usage.total_tokens],
    content.usage === undefined
      ? undefined
      : [content.usage.input, content.usage.output, content.usage.total],
  );
  for (const error of recorded.errors ?? [])
    compare("error", true, content.error?.includes(getErrorMessage(error)) ?? false);
  return faults;
}

function findMessagesFaults(
  recorded: RecordedResponse,
  messages: readonly MessageEvent[],
): string[] {
  const { compare, faults } = createComparison("Messages");
  const content = readMessageEvents(messages);
  const hasRefused = Boolean(recorded.refusal) && recorded.status === "completed";
  compare("status", hasRefused ? "incomplete" : recorded.status, content.status);
  compare("text", recorded.text + (recorded.refusal ?? ""), content.text);
  compare("reasoning", recorded.reasoning || recorded.reasoning_summary, content.reasoning);
  if (recorded.status === "completed")
    compare(
      "calls",
      recorded.tool_calls.map((call) => [call.name, toInput(call)]),
      content.calls.map((call) => [call.name, JSON.parse(call.arguments)]),
    );
  const { usage } = recorded;
  compare(
    "usage",
    usage === null ? undefined : [usage.input_tokens, usage.output_tokens],
    content.usage && [content.usage.input, content.usage.output],
  );
  for (const error of recorded.errors ?? [])
    compare("error", true, JSON.stringify(content.error).includes(getErrorMessage(error)));
  return faults;
}

/** The input of a custom tool is the only property of an object. */
function toInput(call: RecordedResponse["tool_calls"][number]): unknown {
  if (call.kind === "custom_tool_call") return { input: call.arguments };
  return call.arguments === "" ? {} : (JSON.parse(call.arguments) as unknown);
}

function findResponsesFaults(
  recorded: RecordedResponse,
  events: readonly UpstreamResponseEvent[],
): string[] {
  const { compare, faults } = createComparison("Responses");
  compare("first event", "response.created", events[0]?.type);
  compare("last event", recorded.terminal_event, events.at(-1)?.type);
  compare(
    "sequence numbers",
    [...events.keys()],
    events.map((event) => event["sequence_number"]),
  );
  const terminalTypes = ["response.completed", "response.incomplete", "response.failed"];
  compare("terminal events", 1, events.filter(({ type }) => terminalTypes.includes(type)).length);
  const response = events.at(-1)?.["response"] as JsonObject;
  const output = response["output"] as JsonObject[];
  compare(
    "items",
    recorded.output_item_types,
    output.map((item) => item["type"]),
  );
  const streamed = events.filter(({ type }) => type === "response.output_item.done");
  compare("streamed items", recorded.output_item_types.length, streamed.length);
  compare("status", recorded.status, response["status"]);
  const text = output
    .flatMap((item) => (item["type"] === "message" ? (item["content"] as JsonObject[]) : []))
    .map((part) => (typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
  compare("text", recorded.text, text);
  compare("usage", recorded.usage, response["usage"] ?? null);
  return faults;
}

function createComparison(wire: string) {
  const faults: string[] = [];
  const compare = (field: string, expected: unknown, actual: unknown): void => {
    if (isDeepStrictEqual(expected, actual)) return;
    faults.push(`${wire}: ${field}: expected ${formatShort(expected)}, got ${formatShort(actual)}`);
  };
  return { compare, faults };
}

function getErrorMessage(event: JsonObject): string {
  const { message } = (event["error"] ?? event) as { message?: string };
  return JSON.stringify(message ?? "").slice(1, -1);
}

function formatShort(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
