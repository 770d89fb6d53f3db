import { isDeepStrictEqual } from "node:util";
import type { StreamEnd } from "@deltawire/wire";
import {
  aggregate,
  assembleChatRequest,
  chatPath,
  chatStream,
  chatTools,
  checkCodexConfig,
  parseModelProvider,
  type AggregateMode,
  type CodexEvent,
  type SessionSource,
} from "@deltawire/wire/codex";
import { parse } from "smol-toml";

/** A case of document 000, as a file of vectors has it: what goes in, and what the original did. */
export interface Vector {
  id: string;
  kind: string;
  [field: string]: unknown;
}

/** What came out otherwise than the vector says. Whatever this check does not know is a fault, too. */
export function vectorFaults(vector: Vector): string[] {
  if (!isKind(vector.kind)) return [`kind ${show(vector.kind)}: unknown to this check`];
  const { fields, expectations, play } = kinds[vector.kind];
  const known = new Set<string>([...notes, ...fields, ...expectations]);
  const faults = unknownFields(vector, known, "");
  if (!expectations.some((field) => vector[field] !== undefined))
    faults.push(`nothing is expected: no ${expectations.join(", ")}`);
  return faults.length > 0 ? faults : play(vector);
}

const notes = [
  "id",
  "kind",
  "origin",
  "rule",
  "name",
  "source",
  "asserted_by_original",
  "conflict",
  "note",
  "verified_with",
];

interface Kind {
  fields: readonly string[];
  expectations: readonly string[];
  play(vector: Vector): string[];
}

const kinds = {
  chat_request: {
    fields: [
      "instructions",
      "input",
      "tools",
      "model",
      "conversation_id",
      "session_source",
      "output_schema",
    ],
    expectations: [
      "expected_messages",
      "expected_headers",
      "expected_body_keys",
      "expected_body_other",
      "error_contains",
    ],
    play: playRequest,
  },
  chat_sse: {
    fields: ["sse_chunks", "sse_chunks_base64", "end"],
    expectations: ["expected_events"],
    play: playStream,
  },
  aggregate: {
    fields: ["events_in", "mode"],
    expectations: ["events_out"],
    play: playAggregate,
  },
  provider_config: {
    fields: ["toml", "level"],
    expectations: ["expected"],
    play: playConfig,
  },
  chat_tools: {
    fields: ["responses_tools"],
    expectations: ["expected_chat_tools"],
    play: (vector) =>
      difference(
        "expected_chat_tools",
        vector["expected_chat_tools"],
        chatTools(listOf(vector, "responses_tools")),
      ),
  },
  chat_path: {
    fields: ["client", "wire", "base_url"],
    expectations: ["expected_path"],
    play: (vector) => {
      const path = chatPath(String(vector["wire"]));
      const base = vector["base_url"] as string | undefined;
      const got = base === undefined ? path : new URL(`${base}/${path}`).pathname;
      return difference("expected_path", vector["expected_path"], got);
    },
  },
} as const satisfies Record<string, Kind>;

function isKind(kind: string): kind is keyof typeof kinds {
  return Object.hasOwn(kinds, kind);
}

function playRequest(vector: Vector): string[] {
  const outcome = attempt(() =>
    assembleChatRequest({
      model: (vector["model"] as string | undefined) ?? "",
      instructions: (vector["instructions"] as string | undefined) ?? "",
      input: listOf(vector, "input"),
      tools: (vector["tools"] as object[] | undefined) ?? [],
      conversation_id: (vector["conversation_id"] as string | null | undefined) ?? null,
      session_source: (vector["session_source"] as SessionSource | undefined) ?? null,
      output_schema: vector["output_schema"],
    }),
  );
  const contains = vector["error_contains"] as Words | undefined;
  if (contains !== undefined || !outcome.ok) return errorFaults(outcome, contains);
  const { body, headers } = outcome.value;
  const faults: string[] = [];
  const compare = (field: string, got: unknown) => {
    if (vector[field] !== undefined) faults.push(...difference(field, vector[field], got));
  };
  compare("expected_messages", body.messages);
  compare("expected_headers", headers);
  const keys = vector["expected_body_keys"];
  if (Array.isArray(keys))
    faults.push(
      ...difference(
        "expected_body_keys",
        (keys as string[]).toSorted(),
        Object.keys(body).toSorted(),
      ),
    );
  const other = vector["expected_body_other"];
  if (other !== undefined)
    for (const [field, value] of Object.entries(other as object))
      faults.push(
        ...difference(
          `expected_body_other.${field}`,
          value,
          (body as unknown as Record<string, unknown>)[field],
        ),
      );
  return faults;
}

/** In the reads of the vector, in one, and byte by byte: where the network cuts must not matter. */
function playStream(vector: Vector): string[] {
  const base64 = vector["sse_chunks_base64"] as string[] | undefined;
  const reads =
    base64 === undefined
      ? (listOf(vector, "sse_chunks") as string[])
      : base64.map((read) => Buffer.from(read, "base64"));
  const bytes = Buffer.concat(reads.map((read) => Buffer.from(read as string)));
  const end = (vector["end"] ?? "eof") as StreamEnd;
  if (!["eof", "idle_timeout", "transport_error"].includes(end))
    return [`end ${show(end)}: unknown to this check`];
  const cuts = {
    "": reads,
    ", in one read": [bytes],
    ", byte by byte": [...bytes].map((byte) => Uint8Array.of(byte)),
  };
  return Object.entries(cuts).flatMap(([how, cut]) =>
    listDifference(
      `expected_events${how}`,
      vector["expected_events"] as CodexEvent[],
      eventsOf(cut, end),
    ),
  );
}

function eventsOf(reads: readonly (string | Uint8Array)[], end: StreamEnd): CodexEvent[] {
  const stream = chatStream({ show_raw_agent_reasoning: true, utf8: new TextDecoder() });
  const events: CodexEvent[] = [];
  for (const read of reads) stream.push(read, events);
  stream.end(end, events);
  return events;
}

function playAggregate(vector: Vector): string[] {
  const mode = vector["mode"] as AggregateMode;
  if (!["aggregated_only", "streaming", "passthrough"].includes(mode))
    return [`mode ${show(mode)}: unknown to this check`];
  const machine = aggregate(mode);
  const out: CodexEvent[] = [];
  for (const event of listOf(vector, "events_in") as CodexEvent[]) machine.push(event, out);
  machine.end("eof", out);
  return listDifference("events_out", vector["events_out"] as CodexEvent[], out);
}

/** One text, or several that must all be there. */
type Words = string | string[];

interface ConfigExpectation {
  ok?: boolean;
  parsed?: Record<string, unknown>;
  error_contains?: Words;
  stderr?: string;
  warning_contains?: string;
}

const knownConfigExpectations = new Set([
  "ok",
  "parsed",
  "error_contains",
  "stderr",
  "warning_contains",
]);

function playConfig(vector: Vector): string[] {
  const expected = vector["expected"] as ConfigExpectation;
  const faults = unknownFields(expected, knownConfigExpectations, "expected.");
  const { level } = vector;
  if (level !== "provider_table" && level !== "config_toml")
    faults.push(`level ${show(level)}: unknown to this check`);
  if (faults.length > 0) return faults;
  const outcome = attempt((): { parsed: Record<string, unknown>; warnings: string[] } => {
    const table = parse(vector["toml"] as string, { integersAsBigInt: "asNeeded" });
    if (level === "provider_table") return { parsed: parseModelProvider(table), warnings: [] };
    const { warnings, ...parsed } = checkCodexConfig(table);
    return { parsed, warnings };
  });
  if (expected.ok !== true) return refusalFaults(outcome, expected);
  if (!outcome.ok) return errorFaults(outcome, undefined);
  const { parsed, warnings } = outcome.value;
  for (const [field, value] of Object.entries(expected.parsed ?? {}))
    faults.push(...difference(`expected.parsed.${field}`, value, parsed[field] ?? null));
  const { warning_contains: warning } = expected;
  if (warning !== undefined && !warnings.some((text) => text.includes(warning)))
    faults.push(`expected.warning_contains: expected ${show(warning)}, got ${show(warnings)}`);
  return faults;
}

function refusalFaults(outcome: Outcome<unknown>, expected: ConfigExpectation): string[] {
  if (outcome.ok) return ["expected an error, got none"];
  const { error_contains: contains, stderr } = expected;
  return [
    ...(contains === undefined ? [] : errorFaults(outcome, contains)),
    ...(stderr === undefined
      ? []
      : difference("expected.stderr", stderr.trimEnd(), outcome.error.message)),
  ];
}

type Outcome<T> = { ok: true; value: T } | { ok: false; error: Error };

function attempt<T>(work: () => T): Outcome<T> {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function errorFaults(outcome: Outcome<unknown>, contains: Words | undefined): string[] {
  if (outcome.ok) return [`error_contains: expected ${show(contains)}, got no error`];
  const { message } = outcome.error;
  if (contains === undefined) return [`expected no error, got ${show(message)}`];
  return [contains]
    .flat()
    .filter((text) => !message.includes(text))
    .map((text) => `error_contains: expected ${show(text)}, got ${show(message)}`);
}

function listDifference(field: string, expected: CodexEvent[], got: CodexEvent[]): string[] {
  const wanted = expected.map((event, at) => withAnyText(event, got[at]));
  const first = wanted.findIndex((event, at) => !isSame(event, got[at]));
  if (first !== -1) return difference(`${field}[${first}]`, expected[first], got[first]);
  return got.length === expected.length
    ? []
    : [`${field}: expected ${expected.length} events, got also ${show(got[expected.length])}`];
}

const anyText = "<transport error text>";

/** The placeholder in an expected message stands for whatever text was got. */
function withAnyText(expected: CodexEvent, got: CodexEvent | undefined): CodexEvent {
  if (expected.type !== "error" || expected.error !== "stream") return expected;
  if (got?.type !== "error" || got.error !== "stream") return expected;
  const at = expected.message.indexOf(anyText);
  if (at === -1) return expected;
  const [before, after] = [
    expected.message.slice(0, at),
    expected.message.slice(at + anyText.length),
  ];
  const fits = got.message.startsWith(before) && got.message.endsWith(after);
  return fits ? { ...expected, message: got.message } : expected;
}

function difference(field: string, expected: unknown, got: unknown): string[] {
  return isSame(expected, got)
    ? []
    : [`${field}:\n    expected ${show(expected)}\n    got      ${show(got)}`];
}

/** By value, as JSON: neither the order of keys nor what holds nothing counts. */
function isSame(expected: unknown, got: unknown): boolean {
  return isDeepStrictEqual(asJson(expected), asJson(got));
}

function asJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(show(value));
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  return JSON.stringify(value, (_key, held: unknown) =>
    typeof held === "bigint" ? Number(held) : held,
  );
}

function unknownFields(object: object, known: ReadonlySet<string>, path: string): string[] {
  return Object.keys(object)
    .filter((field) => !known.has(field))
    .map((field) => `${path}${field}: unknown to this check`);
}

function listOf(vector: Vector, field: string): unknown[] {
  const value = vector[field];
  if (!Array.isArray(value)) throw new TypeError(`${vector.id}: ${field} is no list`);
  return value;
}
