import { isDeepStrictEqual } from "node:util";
import type { StreamEndReason } from "@deltawire/wire";
import {
  createAggregator,
  assembleChatRequest,
  getRequestPath,
  createChatStream,
  toChatTools,
  validateCodexConfig,
  parseModelProvider,
  type AggregateMode,
  type CodexEvent,
  type SessionSource,
} from "@deltawire/wire/codex";
import { parse } from "smol-toml";

/** A test vector of Codex's Chat wire: an input and the output of the original. */
export interface Vector {
  id: string;
  kind: string;
  [field: string]: unknown;
}

/** Runs a vector and returns the differences from the expectation. Unknown kinds and fields are faults, too. */
export function findVectorFaults(vector: Vector): string[] {
  if (!isKind(vector.kind))
    return [`kind ${formatValue(vector.kind)}: not supported by this check`];
  const { fields, expectations, play } = kinds[vector.kind];
  const known = new Set<string>([...ignoredFields, ...fields, ...expectations]);
  const faults = findUnknownFields(vector, known, "");
  if (!expectations.some((field) => vector[field] !== undefined))
    faults.push(`no expectation: set one of ${expectations.join(", ")}`);
  return faults.length > 0 ? faults : play(vector);
}

const ignoredFields = [
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

interface VectorKind {
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
      findDifference(
        "expected_chat_tools",
        vector["expected_chat_tools"],
        toChatTools(asArray(vector, "responses_tools")),
      ),
  },
  chat_path: {
    fields: ["client", "wire", "base_url"],
    expectations: ["expected_path"],
    play: (vector) => {
      const path = getRequestPath(String(vector["wire"]));
      const base = vector["base_url"] as string | undefined;
      const actual = base === undefined ? path : new URL(`${base}/${path}`).pathname;
      return findDifference("expected_path", vector["expected_path"], actual);
    },
  },
} as const satisfies Record<string, VectorKind>;

function isKind(kind: string): kind is keyof typeof kinds {
  return Object.hasOwn(kinds, kind);
}

function playRequest(vector: Vector): string[] {
  const outcome = attempt(() =>
    assembleChatRequest({
      model: (vector["model"] as string | undefined) ?? "",
      instructions: (vector["instructions"] as string | undefined) ?? "",
      input: asArray(vector, "input"),
      tools: (vector["tools"] as object[] | undefined) ?? [],
      conversation_id: (vector["conversation_id"] as string | null | undefined) ?? null,
      session_source: (vector["session_source"] as SessionSource | undefined) ?? null,
      output_schema: vector["output_schema"],
    }),
  );
  const contains = vector["error_contains"] as ExpectedText | undefined;
  if (contains !== undefined || !outcome.ok) return findErrorFaults(outcome, contains);
  const { body, headers } = outcome.value;
  const faults: string[] = [];
  const compare = (field: string, actual: unknown) => {
    if (vector[field] !== undefined) faults.push(...findDifference(field, vector[field], actual));
  };
  compare("expected_messages", body.messages);
  compare("expected_headers", headers);
  const keys = vector["expected_body_keys"];
  if (Array.isArray(keys))
    faults.push(
      ...findDifference(
        "expected_body_keys",
        (keys as string[]).toSorted(),
        Object.keys(body).toSorted(),
      ),
    );
  const other = vector["expected_body_other"];
  if (other !== undefined)
    for (const [field, value] of Object.entries(other as object))
      faults.push(
        ...findDifference(
          `expected_body_other.${field}`,
          value,
          (body as unknown as Record<string, unknown>)[field],
        ),
      );
  return faults;
}

/** Plays the stream in the reads of the vector, in one read, and byte by byte. */
function playStream(vector: Vector): string[] {
  const base64 = vector["sse_chunks_base64"] as string[] | undefined;
  const reads =
    base64 === undefined
      ? (asArray(vector, "sse_chunks") as string[])
      : base64.map((read) => Buffer.from(read, "base64"));
  const bytes = Buffer.concat(reads.map((read) => Buffer.from(read as string)));
  const end = (vector["end"] ?? "eof") as StreamEndReason;
  if (!["eof", "idle_timeout", "transport_error"].includes(end))
    return [`end ${formatValue(end)}: not supported by this check`];
  const splits = {
    "": reads,
    ", in one read": [bytes],
    ", byte by byte": [...bytes].map((byte) => Uint8Array.of(byte)),
  };
  return Object.entries(splits).flatMap(([splitName, splitReads]) =>
    findListDifference(
      `expected_events${splitName}`,
      vector["expected_events"] as CodexEvent[],
      parseEvents(splitReads, end),
    ),
  );
}

function parseEvents(reads: readonly (string | Uint8Array)[], end: StreamEndReason): CodexEvent[] {
  const stream = createChatStream({ show_raw_agent_reasoning: true, utf8: new TextDecoder() });
  const events: CodexEvent[] = [];
  for (const read of reads) stream.push(read, events);
  stream.end(end, events);
  return events;
}

function playAggregate(vector: Vector): string[] {
  const mode = vector["mode"] as AggregateMode;
  if (!["aggregated_only", "streaming", "passthrough"].includes(mode))
    return [`mode ${formatValue(mode)}: not supported by this check`];
  const machine = createAggregator(mode);
  const out: CodexEvent[] = [];
  for (const event of asArray(vector, "events_in") as CodexEvent[]) machine.push(event, out);
  machine.end("eof", out);
  return findListDifference("events_out", vector["events_out"] as CodexEvent[], out);
}

/** One text, or several that must all occur. */
type ExpectedText = string | string[];

interface ConfigExpectation {
  ok?: boolean;
  parsed?: Record<string, unknown>;
  error_contains?: ExpectedText;
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
  const faults = findUnknownFields(expected, knownConfigExpectations, "expected.");
  const { level } = vector;
  if (level !== "provider_table" && level !== "config_toml")
    faults.push(`level ${formatValue(level)}: not supported by this check`);
  if (faults.length > 0) return faults;
  const outcome = attempt((): { parsed: Record<string, unknown>; warnings: string[] } => {
    const table = parse(vector["toml"] as string, { integersAsBigInt: "asNeeded" });
    if (level === "provider_table") return { parsed: parseModelProvider(table), warnings: [] };
    const { warnings, ...parsed } = validateCodexConfig(table);
    return { parsed, warnings };
  });
  if (expected.ok !== true) return findRejectionFaults(outcome, expected);
  if (!outcome.ok) return findErrorFaults(outcome, undefined);
  const { parsed, warnings } = outcome.value;
  for (const [field, value] of Object.entries(expected.parsed ?? {}))
    faults.push(...findDifference(`expected.parsed.${field}`, value, parsed[field] ?? null));
  const { warning_contains: warning } = expected;
  if (warning !== undefined && !warnings.some((text) => text.includes(warning)))
    faults.push(
      `expected.warning_contains: expected ${formatValue(warning)}, got ${formatValue(warnings)}`,
    );
  return faults;
}

function findRejectionFaults(
  outcome: AttemptResult<unknown>,
  expected: ConfigExpectation,
): string[] {
  if (outcome.ok) return ["expected an error, got none"];
  const { error_contains: contains, stderr } = expected;
  return [
    ...(contains === undefined ? [] : findErrorFaults(outcome, contains)),
    ...(stderr === undefined
      ? []
      : findDifference("expected.stderr", stderr.trimEnd(), outcome.error.message)),
  ];
}

type AttemptResult<T> = { ok: true; value: T } | { ok: false; error: Error };

function attempt<T>(action: () => T): AttemptResult<T> {
  try {
    return { ok: true, value: action() };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function findErrorFaults(
  outcome: AttemptResult<unknown>,
  contains: ExpectedText | undefined,
): string[] {
  if (outcome.ok) return [`error_contains: expected ${formatValue(contains)}, got no error`];
  const { message } = outcome.error;
  if (contains === undefined) return [`expected no error, got ${formatValue(message)}`];
  return [contains]
    .flat()
    .filter((text) => !message.includes(text))
    .map((text) => `error_contains: expected ${formatValue(text)}, got ${formatValue(message)}`);
}

function findListDifference(field: string, expected: CodexEvent[], actual: CodexEvent[]): string[] {
  const resolved = expected.map((event, index) => withAnyText(event, actual[index]));
  const first = resolved.findIndex((event, index) => !isSame(event, actual[index]));
  if (first !== -1) return findDifference(`${field}[${first}]`, expected[first], actual[first]);
  return actual.length === expected.length
    ? []
    : [
        `${field}: expected ${expected.length} events, also got ${formatValue(actual[expected.length])}`,
      ];
}

const anyText = "<transport error text>";

/** Replaces the placeholder in an expected message by the actual text. */
function withAnyText(expected: CodexEvent, actual: CodexEvent | undefined): CodexEvent {
  if (expected.type !== "error" || expected.error !== "stream") return expected;
  if (actual?.type !== "error" || actual.error !== "stream") return expected;
  const index = expected.message.indexOf(anyText);
  if (index === -1) return expected;
  const [before, after] = [
    expected.message.slice(0, index),
    expected.message.slice(index + anyText.length),
  ];
  const isMatch = actual.message.startsWith(before) && actual.message.endsWith(after);
  return isMatch ? { ...expected, message: actual.message } : expected;
}

function findDifference(field: string, expected: unknown, actual: unknown): string[] {
  return isSame(expected, actual)
    ? []
    : [`${field}:\n    expected ${formatValue(expected)}\n    got      ${formatValue(actual)}`];
}

/** Compares as JSON: the order of keys and undefined values do not matter. */
function isSame(expected: unknown, actual: unknown): boolean {
  return isDeepStrictEqual(parseJsonOrText(expected), parseJsonOrText(actual));
}

function parseJsonOrText(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(formatValue(value));
}

function formatValue(value: unknown): string {
  if (value === undefined) return "nothing";
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? Number(inner) : inner,
  );
}

function findUnknownFields(object: object, known: ReadonlySet<string>, path: string): string[] {
  return Object.keys(object)
    .filter((field) => !known.has(field))
    .map((field) => `${path}${field}: not supported by this check`);
}

function asArray(vector: Vector, field: string): unknown[] {
  const value = vector[field];
  if (!Array.isArray(value)) throw new TypeError(`${vector.id}: ${field} is not an array`);
  return value;
}
