import { findSecrets, SecretPatterns, type SecretRange } from "./secret-patterns.ts";

/** Removes every secret from a text. */
export type Redact = (text: string) => string;

/** Shorter values are not secrets, and redacting them would remove ordinary words. */
const minLength = 6;

/**
 * Replies that are not failures are only cleared of values of at least this length: placeholder keys such as "ollama" or
 * "lm-studio" are also parts of model names.
 */
const minDataLength = 12;

const replacement = "[redacted]";

/**
 * Removes configured keys and tokens from text, whichever way an upstream, a proxy or an error has written them: as they
 * are, JSON-escaped, percent-encoded (also twice), as HTML entities, and in base64, alone or behind `user:`.
 * Takes linear time in the length of the text.
 */
export class Redactor {
  readonly #all: SecretPatterns;
  readonly #data: SecretPatterns;

  constructor(secrets: Iterable<string>) {
    const values = [...new Set([...secrets].flatMap((secret) => [secret, secret.trim()]))];
    this.#all = new SecretPatterns(values.filter(({ length }) => length >= minLength));
    this.#data = new SecretPatterns(values.filter(({ length }) => length >= minDataLength));
  }

  /** Replaces every secret: for log lines and results of tools. */
  redact(text: string): string {
    return replaceRanges(text, findSecrets(this.#all, text, "complete").ranges);
  }

  /**
   * For what an upstream says of a failure: redacted first, then cut to `maxLength` characters. The beginning of a secret
   * is replaced too, where it is most of the secret or where the text ends with it: others may have cut the text before.
   */
  excerpt(text: string, maxLength: number): string {
    const redacted = replaceRanges(text, findSecrets(this.#all, text, "prefixes").ranges);
    if (redacted.length <= maxLength) return redacted;
    const end = isHighSurrogate(redacted, maxLength - 1) ? maxLength - 1 : maxLength;
    return `${redacted.slice(0, end)}…`;
  }

  /** For replies that are not failures: only secrets of at least 12 characters. */
  redactData(text: string): string {
    return replaceRanges(text, findSecrets(this.#data, text, "complete").ranges);
  }

  /** Where a secret may begin that continues behind the end of the text; the length of the text if there is none. */
  openFrom(text: string): number {
    return findSecrets(this.#all, text, "stream").openFrom;
  }

  /** Redacts a body that passes in pieces. */
  stream(): RedactingStream {
    return new RedactingStream(this.#data);
  }
}

/**
 * Redacts bytes that pass in pieces, also where a piece ends within a secret. A secret is overwritten with as many bytes,
 * so that a Content-Length stays right. Pieces without a secret are returned unchanged, without a copy.
 */
export class RedactingStream {
  readonly #patterns: SecretPatterns;
  /** The end of the last piece, where a secret may have begun. */
  #pending = "";

  constructor(patterns: SecretPatterns) {
    this.#patterns = patterns;
  }

  push(bytes: Buffer): Buffer {
    if (this.#patterns.isEmpty) return bytes;
    const text = this.#pending + bytes.toString("latin1");
    const { ranges, openFrom } = findSecrets(this.#patterns, text, "stream");
    if (this.#pending === "" && ranges.length === 0 && openFrom === text.length) return bytes;
    this.#pending = text.slice(openFrom);
    const complete = ranges.filter(({ start }) => start < openFrom);
    return Buffer.from(overwriteRanges(text.slice(0, openFrom), complete), "latin1");
  }

  /** What was held back. */
  end(): Buffer {
    const text = this.#pending;
    this.#pending = "";
    const { ranges } = findSecrets(this.#patterns, text, "prefixes");
    return Buffer.from(overwriteRanges(text, ranges), "latin1");
  }
}

function replaceRanges(text: string, ranges: readonly SecretRange[]): string {
  if (ranges.length === 0) return text;
  let [clean, at] = ["", 0];
  for (const { start, end } of ranges) {
    clean += text.slice(at, start) + replacement;
    at = end;
  }
  return clean + text.slice(at);
}

function overwriteRanges(text: string, ranges: readonly SecretRange[]): string {
  let [clean, at] = ["", 0];
  for (const { start, end } of ranges) {
    clean += text.slice(at, start) + replacement.padEnd(end - start, "*").slice(0, end - start);
    at = end;
  }
  return clean + text.slice(at);
}

function isHighSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800;
}
