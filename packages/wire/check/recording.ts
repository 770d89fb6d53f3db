import { isDeepStrictEqual } from "node:util";
import type { ChatOutput, ResponseEvent, ResponsesInput } from "@deltawire/wire";
import { chatSequenceFaults } from "./chat-sequence.ts";
import {
  byteByByte,
  cutAt,
  playResponsesToChat,
  playResponsesToResponses,
  playToChat,
  playToResponses,
} from "./play.ts";
import { responseSequenceFaults } from "./response-sequence.ts";
import {
  responsesEntryFaults,
  responsesFailureIn,
  responsesToldFaults,
} from "./responses-recording.ts";
import { saidOnChat, saidOnResponses, type Said, type SaidCall } from "./said.ts";

/** An entry of a recordings folder's `index.json`, as far as the outcome depends on it. */
export interface RecordingEntry {
  file: string;
  kind: string;
  quirks?: string[];
  done_sent?: boolean;
  net_chunks?: number[];
  expected: Record<string, unknown>;
}

interface RecordedCall {
  id?: string | null;
  name: string;
  arguments: string | null;
  kind?: string;
}

/** What was sent, joined, as the index tells it. */
interface Recorded {
  text: string;
  reasoning: string;
  refusal: string | null;
  tool_calls: RecordedCall[];
  finish_reason: string | null;
  finish_reasons_sent?: string[];
  order?: string;
  usage: Record<string, unknown> | null;
  think_split?: { text: string; reasoning: string };
  errors?: unknown[];
  annotations?: unknown[];
  legacy_function_call?: { name: string; arguments: string };
  audio_transcript?: string;
  choices?: (Recorded & { index: number })[];
}

/** A field that is not here fails the case: what nobody looks at must not pass. */
const knownFields = new Set([
  "text",
  "reasoning",
  "refusal",
  "tool_calls",
  "finish_reason",
  "finish_reasons_sent",
  "has_tool_calls",
  "order",
  "usage",
  "think_split",
  "errors",
  "annotations",
  "legacy_function_call",
  "audio_transcript",
  "choices",
]);

const requiredFields = ["text", "reasoning", "tool_calls", "finish_reason", "usage"];

/** Plays one recording in every way and answers what came out wrong, in words. */
export function recordingFaults(entry: RecordingEntry, bytes: Uint8Array): string[] {
  const oddities = entryFaults(entry);
  if (oddities.length > 0) return oddities;
  const body = withSentinel(entry, bytes);
  const plays: [string, Uint8Array[]][] =
    entry.kind === "chat-json"
      ? [["whole", [bytes]]]
      : [
          ["at once", [body]],
          ["byte by byte", byteByByte(body)],
        ];
  if (entry.net_chunks !== undefined) plays.push(["as it was read", cutAt(body, entry.net_chunks)]);
  const faults: string[] = [];
  let first: unknown;
  for (const [how, reads] of plays) {
    const told = toldByLibrary(entry, reads);
    faults.push(...toldFaults(entry, told).map((fault) => `${how}: ${fault}`));
    if (first === undefined) first = told;
    else if (!isDeepStrictEqual(first, told)) faults.push(`${how}: other events than at once`);
  }
  return faults;
}

/** What came out of a recording: the events that a client of each wire got. */
export interface Told {
  responses: readonly (ResponseEvent | ResponsesInput)[];
  chat: readonly ChatOutput[];
}

/** Whether this check knows what an entry of the index means. */
export function entryFaults({ kind, expected }: RecordingEntry): string[] {
  if (typeof expected !== "object") return ["expected: missing"];
  if (kind === "responses-stream") return responsesEntryFaults(expected);
  if (kind !== "chat-stream" && kind !== "chat-json")
    return [`kind ${kind}: unknown to this check`];
  const unknown = Object.keys(expected).filter((field) => !knownFields.has(field));
  if (unknown.length > 0) return [`expected.${unknown.join(", expected.")}: unknown to this check`];
  const missing = requiredFields.filter((field) => !(field in expected));
  return missing.length > 0 ? [`expected.${missing.join(", expected.")}: missing`] : [];
}

/** What is wrong with what came out, on the wires of which there is anything. */
export function toldFaults(entry: RecordingEntry, { responses, chat }: Partial<Told>): string[] {
  if (entry.kind === "responses-stream") {
    const passed = responses as readonly ResponsesInput[] | undefined;
    return responsesToldFaults(entry.expected, passed, chat);
  }
  const recorded = entry.expected as unknown as Recorded;
  const ends = entry.done_sent !== false || !hasNoSentinel(entry);
  const faults: string[] = [];
  const add = (where: string, found: string[]): void =>
    void faults.push(...found.map((fault) => `${where}: ${fault}`));
  if (responses !== undefined) {
    const events = responses as readonly ResponseEvent[];
    add("Responses", responseSequenceFaults(events));
    add("Responses", differences(expectation(recorded, ends), saidOnResponses(events)));
  }
  if (chat === undefined) return faults;
  add("Chat", chatSequenceFaults(chat));
  for (const choice of recorded.choices ?? [{ ...recorded, index: 0 }]) {
    const sent = { ...choice, usage: recorded.usage };
    const said = saidOnChat(chat, choice.index);
    add(`Chat, choice ${choice.index}`, differences(expectation(sent, ends), said));
  }
  return faults;
}

/** What a client has to hear of the failure that a recording ends in; undefined if it ends well. */
export function failureIn(entry: RecordingEntry): string | undefined {
  if (entry.kind === "responses-stream") return responsesFailureIn(entry.expected);
  const ends = entry.done_sent !== false || !hasNoSentinel(entry);
  return expectation(entry.expected as unknown as Recorded, ends).error;
}

function toldByLibrary({ kind }: RecordingEntry, reads: Uint8Array[]): Told {
  if (kind === "responses-stream")
    return {
      responses: playResponsesToResponses(reads).out,
      chat: playResponsesToChat(reads).out,
    };
  const expect = kind === "chat-json" ? "whole" : "stream";
  return {
    responses: playToResponses(reads, { expect }).out,
    chat: playToChat(reads, { expect }).out,
  };
}

function hasNoSentinel(entry: RecordingEntry): boolean {
  return entry.quirks?.includes("no_done") ?? false;
}

/** Where the recorder lost the sentinel, it is put back (the folder's README). */
export function withSentinel(entry: RecordingEntry, bytes: Uint8Array): Uint8Array {
  if (entry.kind !== "chat-stream" || entry.done_sent !== false || hasNoSentinel(entry))
    return bytes;
  return new Uint8Array([...bytes, ...new TextEncoder().encode("\n\ndata: [DONE]\n\n")]);
}

/** What must come out, from what was sent, by the decisions. */
function expectation(sent: Recorded, ends: boolean): Said & { finish: string } {
  const { text, reasoning, tagged } = splitTags(sent);
  const calls = expectedCalls(sent);
  const finish = expectedFinish(sent, calls.length > 0);
  const failed =
    (sent.errors !== undefined && finish !== "length") || (!ends && sent.finish_reason === null);
  const status = failed
    ? "failed"
    : finish === "length" || finish === "content_filter"
      ? "incomplete"
      : "completed";
  for (const call of calls) if (status !== "completed") call.whole = false;
  const usage = sent.usage;
  return {
    status,
    finish,
    incompleteReason:
      status !== "incomplete" ? undefined : finish === "length" ? "max_output_tokens" : finish,
    error: failed
      ? ((sent.errors?.[0] as { message?: string } | undefined)?.message ?? "")
      : undefined,
    text,
    reasoning,
    refusal: sent.refusal ?? "",
    transcript: sent.audio_transcript ?? "",
    annotations: sent.annotations?.length ?? 0,
    calls,
    order: expectedOrder(sent, tagged, text),
    usage:
      usage === null
        ? undefined
        : {
            input: Number(usage["prompt_tokens"]),
            output: Number(usage["completion_tokens"]),
            total: Number(usage["total_tokens"]),
            cached: 0,
            reasoning: 0,
          },
  };
}

/** Decision 13. A whole reply's index has no `think_split`, so the leading blocks are taken out here. */
function splitTags(sent: Recorded): { text: string; reasoning: string; tagged: boolean } {
  if (sent.think_split !== undefined) return { ...sent.think_split, tagged: true };
  let { text, reasoning } = sent;
  let tagged = false;
  for (;;) {
    const block = /^(\s*)<(think|reasoning)>([\s\S]*?)<\/\2>/.exec(text);
    if (block === null) return { text, reasoning, tagged };
    text = (block[1] ?? "") + text.slice(block[0].length);
    reasoning += block[3] ?? "";
    tagged = true;
  }
}

function expectedCalls(sent: Recorded): SaidCall[] {
  const legacy = sent.legacy_function_call;
  const calls = legacy === undefined ? sent.tool_calls : [legacy];
  return calls.flatMap((call: RecordedCall): SaidCall[] => {
    const base = { id: call.id ?? "", name: call.name, namespace: undefined };
    const text = call.arguments ?? "";
    if (call.kind === "custom") return [{ ...base, arguments: text, kind: "custom", whole: true }];
    const values = text.trim() === "" ? ["{}"] : text.split(/(?<=\})(?=\{)/);
    return [...new Set(values)].map((value, nth) => ({
      ...base,
      id: nth === 0 ? base.id : "",
      arguments: value,
      kind: "function",
      whole: asJson(value) !== undefined,
    }));
  });
}

/** Decision 5, from all the words that were sent. */
function expectedFinish(sent: Recorded, hasCalls: boolean): string {
  const words = sent.finish_reasons_sent ?? [sent.finish_reason ?? ""];
  if (words.includes("length")) return "length";
  if (words.includes("content_filter") || words.includes("sensitive")) return "content_filter";
  return hasCalls ? "tool_calls" : "stop";
}

/** Decision 10; a refusal or a transcript is a message too. */
function expectedOrder(sent: Recorded, tagged: boolean, text: string): string | undefined {
  if (sent.order === undefined) return undefined;
  let { order } = sent;
  if (sent.refusal || sent.audio_transcript) order += "t";
  if (sent.legacy_function_call) order += "c";
  if (tagged) return order.replace("t", text === "" ? "r" : "rt");
  if (order.startsWith("tr") && /^\s/.test(text)) order = order.slice(1);
  return order;
}

function differences(expected: Said & { finish: string }, said: Said): string[] {
  const faults: string[] = [];
  const compare = (what: string, wanted: unknown, got: unknown) => {
    if (!isDeepStrictEqual(wanted, got))
      faults.push(`${what}: expected ${short(wanted)}, got ${short(got)}`);
  };
  compare("status", expected.status, said.status);
  if (said.finish !== undefined) compare("finish", expected.finish, said.finish);
  if (expected.status === "incomplete")
    compare("reason", expected.incompleteReason, said.incompleteReason);
  if (
    expected.error !== undefined &&
    !said.error?.includes(JSON.stringify(expected.error).slice(1, -1))
  )
    compare("error", expected.error, said.error);
  for (const field of ["text", "reasoning", "refusal", "transcript"] as const)
    compare(field, expected[field], said[field]);
  if (expected.annotations > 0) compare("annotations", expected.annotations, said.annotations);
  if (expected.order !== undefined && said.order !== undefined)
    compare("order", expected.order, said.order);
  compare("calls", expected.calls.map(comparable), said.calls.map(comparable));
  for (const [nth, call] of said.calls.entries()) {
    const wanted = expected.calls[nth];
    if (wanted === undefined) continue;
    if (call.whole !== undefined) compare(`call ${nth} whole`, wanted.whole, call.whole);
    if (wanted.id.length >= 6) compare(`call ${nth} id`, wanted.id, call.id);
  }
  if (expected.usage === undefined) compare("usage", undefined, said.usage);
  else
    for (const count of ["input", "output", "total"] as const)
      compare(`usage ${count}`, expected.usage[count], said.usage?.[count]);
  return faults;
}

/** Arguments are compared as JSON, and blank ones are `{}`. */
function comparable(call: SaidCall): unknown[] {
  const text = call.arguments.trim() === "" && call.kind === "function" ? "{}" : call.arguments;
  return [call.kind, call.name, call.kind === "custom" ? text : (asJson(text) ?? text)];
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
