import { isDeepStrictEqual } from "node:util";
import type { JsonObject, ResponsesInput } from "@deltawire/wire";
import { chatSequenceFaults } from "./chat-sequence.ts";
import { byteByByte, playResponsesToChat, playResponsesToResponses } from "./play.ts";
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

/** Plays the recording of a Responses upstream to both kinds of client, and answers what came out wrong, in words. */
export function responsesRecordingFaults(
  expected: Record<string, unknown>,
  bytes: Uint8Array,
): string[] {
  const unknown = Object.keys(expected).filter((field) => !knownFields.has(field));
  if (unknown.length > 0) return [`expected.${unknown.join(", expected.")}: unknown to this check`];
  const recorded = expected as unknown as RecordedResponse;
  const faults: string[] = [];
  let first: unknown;
  for (const [how, reads] of [
    ["at once", [bytes]],
    ["byte by byte", byteByByte(bytes)],
  ] as const) {
    const chat = playResponsesToChat(reads).out;
    const responses = playResponsesToResponses(reads).out;
    const found = [
      ...chatSequenceFaults(chat),
      ...chatFaults(recorded, saidOnChat(chat, 0)),
      ...responsesFaults(recorded, responses),
    ];
    faults.push(...found.map((fault) => `${how}: ${fault}`));
    const all = { chat, responses };
    if (first === undefined) first = all;
    else if (!isDeepStrictEqual(first, all)) faults.push(`${how}: other events than at once`);
  }
  return faults;
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
