import { pino, type Logger } from "pino";
import type { Redactor } from "@deltawire/agent";
import type { TaskTree } from "@deltawire/tasks";
import { parseJson } from "@deltawire/wire";
import type { LogLevel } from "./config/config.ts";
import type { ExchangeRecord } from "./upstream/upstream-client.ts";

export type Log = Logger;

export interface LogTarget {
  /** Returns false if the line was lost. */
  write(line: string): unknown;
  /** A person is watching. */
  isTTY?: boolean;
}

/**
 * Structured lines; for a person at a terminal, the same in words. Secrets are removed from every line, and long texts are cut.
 * Logging never throws: lines that cannot be written are counted, and the next line that can be is followed by their number.
 */
export function createLog(level: LogLevel, target: LogTarget, redactor: Redactor): Log {
  const format = target.isTTY === true ? inWords : (line: string) => line;
  let lost = 0;
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: (fields) => boundedFields(fields, redactor) },
    },
    {
      write(line: string): void {
        if (!isWritten(target, format(redactor.redact(line)))) {
          lost += 1;
          return;
        }
        const lines = lost;
        lost = 0;
        if (lines > 0)
          log.error({ lines }, "lines of the log were lost: they could not be written");
      },
    },
  );
  return log;
}

/** Characters of one field: the name of a model or the reason of a cancellation may be megabytes of a client's body. */
const longestField = 4_000;

/** The same object if no text is too long. Long texts are redacted before they are cut. */
function boundedFields(
  fields: Record<string, unknown>,
  redactor: Redactor,
): Record<string, unknown> {
  let bounded: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value !== "string" || value.length <= longestField) continue;
    bounded ??= { ...fields };
    bounded[name] = redactor.excerpt(value.slice(0, 2 * longestField), longestField);
  }
  return bounded ?? fields;
}

function isWritten(target: LogTarget, line: string): boolean {
  try {
    return target.write(line) !== false;
  } catch {
    return false;
  }
}

/** One line a request. */
export interface RequestLine {
  id: string;
  client: string | undefined;
  method: string;
  path: string;
  model: string | undefined;
  status: number;
  /** Milliseconds to the first byte and in all. */
  firstMs: number | undefined;
  ms: number;
  left: boolean;
  /** Of a request that was refused before any upstream was asked. */
  failure: string | undefined;
  record: ExchangeRecord | undefined;
}

export function logRequest(log: Log, line: RequestLine): void {
  const fields = {
    id: line.id,
    client: line.client,
    method: line.method,
    path: line.path,
    model: line.model,
    ...askedOf(line.record),
    status: line.status,
    first_ms: line.firstMs === undefined ? undefined : Math.round(line.firstMs),
    ms: Math.round(line.ms),
    ...takenOf(line),
  };
  // A stream that failed after its beginning has the status 200.
  const isFailed = line.status >= 500 || (line.status < 400 && fields.failure !== undefined);
  if (isFailed) log.warn(fields, "request");
  else log.info(fields, "request");
}

/** One line for every time that a task asks its model. */
export interface RoundLine {
  /** The root task or the chat that it was for, where it is known. */
  for: string | undefined;
  model: string | undefined;
  ms: number;
  left: boolean;
  /** Of a round that failed before any upstream was asked. */
  failure: string | undefined;
  record: ExchangeRecord;
}

export function logRound(log: Log, line: RoundLine): void {
  const { model, ms, record } = line;
  // A user may have set a cache key of their own, which names no task.
  const whom = /^(?:chat|task)_/.test(line.for ?? "") ? line.for : undefined;
  const place = whom?.startsWith("chat_") === true ? { chat: whom } : { task: whom };
  const fields = { ...place, model, ...askedOf(record), ms: Math.round(ms), ...takenOf(line) };
  if (fields.failure === undefined || line.left) log.info(fields, "model round");
  else log.warn(fields, "model round");
}

/** One line when a task begins, waits for a person, goes on, and ends. */
export function logTask(log: Log, rootTaskId: string, { tasks, approvals }: TaskTree): void {
  const task = tasks[rootTaskId];
  if (task === undefined) return;
  const { status, info, usage, tree_usage, error, ended } = task;
  const waiting = approvals.filter((approval) => approval.status === "pending").length;
  const fields = {
    task: rootTaskId,
    status,
    agent: info.agent,
    model: info.model,
    waiting: waiting > 0 ? waiting : undefined,
    ms: Math.max(0, Date.now() - Date.parse(info.created_at)),
    tokens: (tree_usage ?? usage).total_tokens,
    cost: (tree_usage ?? usage).cost,
    failure: error?.code,
    reason: error?.message ?? ended?.reason,
  };
  if (status === "failed") log.warn(fields, "task");
  else log.info(fields, "task");
}

function askedOf(record: ExchangeRecord | undefined) {
  return {
    upstream: record?.upstream,
    upstream_model: record?.upstreamModel,
    tokens_in: record?.usage?.input_tokens,
    tokens_out: record?.usage?.output_tokens,
    tokens_estimated: record?.usage?.estimated,
  };
}

function takenOf({ record, failure, left }: Pick<RequestLine, "record" | "failure" | "left">) {
  return {
    attempts: record === undefined || record.attempts < 2 ? undefined : record.attempts,
    lessons: record === undefined || record.lessons.length === 0 ? undefined : record.lessons,
    repairs:
      record === undefined || record.repairs.size === 0
        ? undefined
        : Object.fromEntries(record.repairs),
    dropped_headers: record?.droppedHeaders,
    failure: record?.failure ?? failure,
    left: left || undefined,
  };
}

/** What `inWords` reads of the line of a request or of a round. */
interface WrittenLine {
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
  left?: true;
}

function inWords(line: string): string {
  const entry = parseJson(line) as WrittenLine | undefined;
  // Redaction leaves JSON as JSON, except within escapes that nobody writes.
  if (entry === undefined) return line;
  const time = entry.time.slice(11, 19);
  if (entry.msg !== "request" && entry.msg !== "model round") {
    const { time: _time, msg, ...rest } = entry;
    const more = JSON.stringify({ ...rest, level: undefined });
    return `${time}  ${msg}${more === "{}" ? "" : ` ${more}`}\n`;
  }
  const { model, upstream, failure, lessons, repairs } = entry;
  const words = [
    time,
    ...(entry.msg === "request"
      ? [String(entry.status), entry.path]
      : ["round", entry.task ?? entry.chat ?? ""]),
    ...(model === undefined ? [] : [model]),
    ...(upstream === undefined ? [] : [`on ${upstream}/${entry.upstream_model}`]),
    `${(entry.ms / 1000).toFixed(1)} s`,
    ...(entry.tokens_in === undefined ? [] : [`${entry.tokens_in} in, ${entry.tokens_out} out`]),
    ...(repairs === undefined ? [] : [`mended ${Object.keys(repairs).join(", ")}`]),
    ...(lessons === undefined ? [] : [`learned ${lessons.join(", ")}`]),
    ...(failure === undefined ? [] : [`failed: ${failure}`]),
    ...(entry.left === true ? ["client left"] : []),
  ];
  return `${words.join("  ")}\n`;
}
