import { isDeepStrictEqual } from "node:util";
import type { ChatOutput, JsonObject, ResponsesInput } from "@deltawire/wire";
import { chatSequenceFaults } from "./chat-sequence.ts";
import { saidOnChat } from "./said.ts";

/** What the index says of a Responses upstream's stream. */
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
  /** Only where the deltas alone add up to something else; what must come out is `text`. */
  text_from_deltas: string | null;
}

/** A field that is not here fails the case: what nobody looks at must not pass. */
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

/** Whether this check knows what an entry of the index means. */
export function responsesEntryFaults(expected: Record<string, unknown>): string[] {
  const unknown = Object.keys(expected).filter((field) => !knownFields.has(field));
  return unknown.length > 0
    ? [`expected.${unknown.join(", expected.")}: unknown to this check`]
    : [];
}

/** What is wrong with what came of a Responses upstream's recording, in words. */
export function responsesToldFaults(
  expected: Record<string, unknown>,
  responses: readonly ResponsesInput[] | undefined,
  chat: readonly ChatOutput[] | undefined,
): string[] {
  const recorded = expected as unknown as RecordedResponse;
  return [
    ...(chat === undefined ? [] : chatSequenceFaults(chat)),
    ...(chat === undefined ? [] : chatFaults(recorded, saidOnChat(chat, 0))),
    ...(responses === undefined ? [] : responsesFaults(recorded, responses)),
  ];
}

/** What a client has to hear of the failure that it ends in; undefined if it ends well. */
export function responsesFailureIn(expected: Record<string, unknown>): string | undefined {
  const { status, errors = [] } = expected as unknown as RecordedResponse;
  return status === "failed" ? errors.map(messageOf).join("") : undefined;
}

function chatFaults(recorded: RecordedResponse, said: ReturnType<typeof saidOnChat>): string[] {
  const { compare, faults } = comparison("Chat");
  compare("status", recorded.status, said.status);
  compare("text", recorded.text, said.text);
  compare("reasoning", recorded.reasoning || recorded.reasoning_summary, said.reasoning);
  compare("refusal", recorded.refusal ?? "", said.refusal);
  const calls = recorded.tool_calls.map((call) => [
    call.kind === "custom_tool_call" ? "custom" : "function",
    call.call_id,
    call.name,
    call.arguments,
  ]);
  compare(
    "calls",
    calls,
    said.calls.map((call) => [call.kind, call.id, call.name, call.arguments]),
  );
  if (recorded.status === "completed")
    compare("finish", calls.length > 0 ? "tool_calls" : "stop", said.finish);
  if (recorded.status === "incomplete")
    compare("reason", recorded.incomplete_details?.reason, said.incompleteReason);
  const usage = recorded.usage;
  compare(
    "usage",
    usage === null ? undefined : [usage.input_tokens, usage.output_tokens, usage.total_tokens],
    said.usage === undefined ? undefined : [said.usage.input, said.usage.output, said.usage.total],
  );
  for (const error of recorded.errors ?? [])
    compare("error", true, said.error?.includes(messageOf(error)) ?? false);
  return faults;
}

function responsesFaults(recorded: RecordedResponse, events: readonly ResponsesInput[]): string[] {
  const { compare, faults } = comparison("Responses");
  compare("first", "response.created", events[0]?.type);
  compare("last", recorded.terminal_event, events.at(-1)?.type);
  compare(
    "numbers",
    [...events.keys()],
    events.map((event) => event["sequence_number"]),
  );
  const terminals = ["response.completed", "response.incomplete", "response.failed"];
  compare("terminal events", 1, events.filter(({ type }) => terminals.includes(type)).length);
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

function comparison(wire: string) {
  const faults: string[] = [];
  const compare = (what: string, wanted: unknown, got: unknown): void => {
    if (isDeepStrictEqual(wanted, got)) return;
    faults.push(`${wire}: ${what}: expected ${short(wanted)}, got ${short(got)}`);
  };
  return { compare, faults };
}

function messageOf(event: JsonObject): string {
  const { message } = (event["error"] ?? event) as { message?: string };
  return JSON.stringify(message ?? "").slice(1, -1);
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
