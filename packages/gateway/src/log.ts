import { pino, type Logger } from "pino";
import type { Redactor } from "@deltawire/agent";
import type { TaskTree } from "@deltawire/tasks";
import { parseJson } from "@deltawire/wire";
import type { LogLevel } from "./config/config.ts";
import type { ExchangeRecord } from "./upstream/upstream-client.ts";

export type Log = Logger;

export interface LogTarget {
  /** Returns false if the line was lost, unlike `Writable.write` of Node. */
  write(line: string): unknown;
  /** True for a terminal: lines are formatted for reading. */
  isTTY?: boolean;
}

/**
 * Writes JSON lines, or readable text on a terminal. Secrets are redacted and long strings truncated.
 * Logging never throws: lines that could not be written are counted, and the count is logged after the next successful write.
 */
export function createLog(level: LogLevel, target: LogTarget, redactor: Redactor): Log {
  const format = target.isTTY === true ? formatForTerminal : (line: string) => line;
  let lostLines = 0;
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: (fields) => truncateFields(fields, redactor) },
    },
    {
      write(line: string): void {
        if (!tryWrite(target, format(redactor.redact(line)))) {
          lostLines += 1;
          return;
        }
        const lines = lostLines;
        if (lines === 0) return;
        lostLines = 0;
        log.error({ lines }, "log lines were lost because they could not be written");
        // If this line was lost too, it is counted with the others.
        if (lostLines > 0) lostLines += lines;
      },
    },
  );
  return log;
}

/** In characters. Model names and cancellation reasons come from clients and may be megabytes long. */
const maxFieldLength = 4_000;

/** Redacts and truncates long strings. Returns the same object if there are none. */
function truncateFields(
  fields: Record<string, unknown>,
  redactor: Redactor,
): Record<string, unknown> {
  let truncated: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value !== "string" || value.length <= maxFieldLength) continue;
    truncated ??= { ...fields };
    truncated[name] = redactor.excerpt(value.slice(0, 2 * maxFieldLength), maxFieldLength);
  }
  return truncated ?? fields;
}

function tryWrite(target: LogTarget, line: string): boolean {
  try {
    return target.write(line) !== false;
  } catch {
    return false;
  }
}

/** Logged once per request. */
export interface RequestLogEntry {
  id: string;
  client: string | undefined;
  method: string;
  path: string;
  model: string | undefined;
  status: number;
  /** Time to the first byte. */
  firstByteMs: number | undefined;
  /** Total time. */
  ms: number;
  clientDisconnected: boolean;
  /** Error code of a request that was rejected before it was sent upstream. */
  failure: string | undefined;
  record: ExchangeRecord | undefined;
}

export function logRequest(log: Log, entry: RequestLogEntry): void {
  const fields = {
    id: entry.id,
    client: entry.client,
    method: entry.method,
    path: entry.path,
    model: entry.model,
    ...buildUpstreamFields(entry.record),
    status: entry.status,
    first_ms: entry.firstByteMs === undefined ? undefined : Math.round(entry.firstByteMs),
    ms: Math.round(entry.ms),
    ...buildOutcomeFields(entry),
  };
  // A stream that failed after its start has status 200.
  const hasFailed = entry.status >= 500 || (entry.status < 400 && fields.failure !== undefined);
  if (hasFailed) log.warn(fields, "request");
  else log.info(fields, "request");
}

/** Logged for each model request of a task. */
export interface ModelRoundLogEntry {
  /** Id of the root task or of the chat, if known. */
  ownerId: string | undefined;
  model: string | undefined;
  ms: number;
  clientDisconnected: boolean;
  /** Error code of a round that failed before it was sent upstream. */
  failure: string | undefined;
  record: ExchangeRecord;
}

export function logModelRound(log: Log, entry: ModelRoundLogEntry): void {
  const { model, ms, record } = entry;
  // The id is taken from the prompt cache key, which a user may have set to something else.
  const ownerId = /^(?:chat|task)_/.test(entry.ownerId ?? "") ? entry.ownerId : undefined;
  const owner = ownerId?.startsWith("chat_") === true ? { chat: ownerId } : { task: ownerId };
  const fields = {
    ...owner,
    model,
    ...buildUpstreamFields(record),
    ms: Math.round(ms),
    ...buildOutcomeFields(entry),
  };
  if (fields.failure === undefined || entry.clientDisconnected) log.info(fields, "model round");
  else log.warn(fields, "model round");
}

/** Logs a response that ran in the background. */
export function logBackgroundResponse(
  log: Log,
  entry: { responseId: string; model: string; ms: number; record: ExchangeRecord },
): void {
  const { responseId, model, ms, record } = entry;
  const fields = {
    response: responseId,
    model,
    ...buildUpstreamFields(record),
    ms: Math.round(ms),
    ...buildOutcomeFields({ record, failure: record.failure, clientDisconnected: false }),
  };
  if (fields.failure === undefined) log.info(fields, "background response");
  else log.warn(fields, "background response");
}

/** Logs the state of a root task. Called whenever its status changes. */
export function logTask(log: Log, rootTaskId: string, { tasks, approvals }: TaskTree): void {
  const task = tasks[rootTaskId];
  if (task === undefined) return;
  const { status, info, usage, tree_usage, error, ended } = task;
  const pendingCount = approvals.filter((approval) => approval.status === "pending").length;
  const fields = {
    task: rootTaskId,
    status,
    agent: info.agent,
    model: info.model,
    waiting: pendingCount > 0 ? pendingCount : undefined,
    ms: Math.max(0, Date.now() - Date.parse(info.created_at)),
    tokens: (tree_usage ?? usage).total_tokens,
    cost: (tree_usage ?? usage).cost,
    failure: error?.code,
    reason: error?.message ?? ended?.reason,
  };
  if (status === "failed") log.warn(fields, "task");
  else log.info(fields, "task");
}

function buildUpstreamFields(record: ExchangeRecord | undefined) {
  return {
    upstream: record?.upstream,
    upstream_model: record?.upstreamModel,
    tokens_in: record?.usage?.input_tokens,
    tokens_out: record?.usage?.output_tokens,
    tokens_estimated: record?.usage?.estimated,
  };
}

function buildOutcomeFields({
  record,
  failure,
  clientDisconnected,
}: Pick<RequestLogEntry, "record" | "failure" | "clientDisconnected">) {
  return {
    attempts: record === undefined || record.attempts < 2 ? undefined : record.attempts,
    lessons: record === undefined || record.lessons.length === 0 ? undefined : record.lessons,
    repairs:
      record === undefined || record.repairs.size === 0
        ? undefined
        : Object.fromEntries(record.repairs),
    dropped_headers: record?.droppedHeaders,
    failure: record?.failure ?? failure,
    client_disconnected: clientDisconnected || undefined,
  };
}

/** The fields of a logged request or model round that `formatForTerminal` reads. */
interface ParsedLogLine {
  time: string;
  msg: string;
  status?: number;
  path?: string;
  task?: string;
  chat?: string;
  ms: number;
  model?: string;
  upstream?: string;
  upstream_model?: string;
  tokens_in?: number;
  tokens_out?: number;
  repairs?: Record<string, number>;
  lessons?: string[];
  failure?: string;
  client_disconnected?: true;
}

function formatForTerminal(line: string): string {
  const entry = parseJson(line) as ParsedLogLine | undefined;
  // Redaction keeps JSON valid, except for a secret inside an escape sequence.
  if (entry === undefined) return line;
  const time = entry.time.slice(11, 19);
  if (entry.msg !== "request" && entry.msg !== "model round") {
    const { time: _time, msg, ...rest } = entry;
    const fields = JSON.stringify({ ...rest, level: undefined });
    return `${time}  ${msg}${fields === "{}" ? "" : ` ${fields}`}\n`;
  }
  const { model, upstream, failure, lessons, repairs } = entry;
  const columns = [
    time,
    ...(entry.msg === "request"
      ? [String(entry.status), entry.path]
      : ["round", entry.task ?? entry.chat ?? ""]),
    ...(model === undefined ? [] : [model]),
    ...(upstream === undefined ? [] : [`on ${upstream}/${entry.upstream_model}`]),
    `${(entry.ms / 1000).toFixed(1)} s`,
    ...(entry.tokens_in === undefined ? [] : [`${entry.tokens_in} in, ${entry.tokens_out} out`]),
    ...(repairs === undefined ? [] : [`repaired ${Object.keys(repairs).join(", ")}`]),
    ...(lessons === undefined ? [] : [`learned ${lessons.join(", ")}`]),
    ...(failure === undefined ? [] : [`failed: ${failure}`]),
    ...(entry.client_disconnected === true ? ["client disconnected"] : []),
  ];
  return `${escapeControlCharacters(columns.join("  "))}\n`;
}

/** A model name from a client must not move the cursor or begin a new line. */
function escapeControlCharacters(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
}
