import { pino, type Logger } from "pino";
import type { LogLevel } from "./config/config.ts";
import type { ExchangeRecord } from "./relay/relay.ts";
import type { Secrets } from "./security/secrets.ts";

export type Log = Logger;

export interface LogTarget {
  write(line: string): void;
  /** A person is watching. */
  isTTY?: boolean;
}

/** Structured lines; for a person at a terminal, the same in words. Secrets are taken out of every line, whoever wrote it. */
export function createLog(level: LogLevel, target: LogTarget, secrets: Secrets): Log {
  const write = target.isTTY === true ? inWords : (line: string) => line;
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => target.write(write(secrets.redact(line))) },
  );
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
  const { record } = line;
  const usage = record?.usage;
  const fields = {
    id: line.id,
    client: line.client,
    method: line.method,
    path: line.path,
    model: line.model,
    upstream: record?.upstream,
    upstream_model: record?.upstreamModel,
    status: line.status,
    tokens_in: usage?.input_tokens,
    tokens_out: usage?.output_tokens,
    tokens_estimated: usage?.estimated,
    first_ms: line.firstMs === undefined ? undefined : Math.round(line.firstMs),
    ms: Math.round(line.ms),
    attempts: record === undefined || record.attempts < 2 ? undefined : record.attempts,
    lessons: record === undefined || record.lessons.length === 0 ? undefined : record.lessons,
    repairs:
      record === undefined || record.repairs.size === 0
        ? undefined
        : Object.fromEntries(record.repairs),
    failure: record?.failure ?? line.failure,
    left: line.left || undefined,
  };
  if (line.status >= 500) log.warn(fields, "request");
  else log.info(fields, "request");
}

/** What `inWords` reads of a request's line. */
interface WrittenLine {
  time: string;
  msg: string;
  status: number;
  path: string;
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
  const entry = JSON.parse(line) as WrittenLine;
  const time = entry.time.slice(11, 19);
  if (entry.msg !== "request") {
    const { time: _time, msg, ...rest } = entry;
    return `${time}  ${msg} ${JSON.stringify({ ...rest, level: undefined })}\n`;
  }
  const { model, upstream, failure, lessons, repairs } = entry;
  const words = [
    time,
    String(entry.status),
    entry.path,
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
