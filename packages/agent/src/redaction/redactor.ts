import { findSecrets, SecretPatterns, type SecretRange } from "./secret-patterns.ts";

/** Removes every secret from text. */
export type Redact = (text: string) => string;

/** Shorter values are not secrets, and redacting them would remove ordinary words. */
const minSecretLength = 6;

/**
 * Only values of at least this length are removed from successful replies: placeholder keys such as "ollama" or "lm-studio"
 * are also parts of model names.
 */
const minDataSecretLength = 12;

const replacement = "[redacted]";

/**
 * Removes configured keys and tokens from text, in any encoding that an upstream, a proxy or an error may use: plain,
 * JSON-escaped, percent-encoded (also repeatedly), HTML entities, and base64, alone or after `user:`.
 * Takes time linear in the length of the text.
 */
export class Redactor {
  readonly #allSecrets: SecretPatterns;
  readonly #dataSecrets: SecretPatterns;

  constructor(secrets: Iterable<string>) {
    const values = [...new Set([...secrets].flatMap((secret) => [secret, secret.trim()]))];
    this.#allSecrets = new SecretPatterns(values.filter(({ length }) => length >= minSecretLength));
    this.#dataSecrets = new SecretPatterns(
      values.filter(({ length }) => length >= minDataSecretLength),
    );
  }

  /** Replaces every secret. For log lines and tool results. */
  redact(text: string): string {
    return replaceRanges(text, findSecrets(this.#allSecrets, text, "complete").ranges);
  }

  /**
   * For error messages of upstreams: redacts text, then truncates it to `maxLength` characters. The beginning of a secret
   * is replaced too, if it is at least half of the secret or the end of the text, which may have been truncated before.
   */
  excerpt(text: string, maxLength: number): string {
    const redacted = replaceRanges(text, findSecrets(this.#allSecrets, text, "prefixes").ranges);
    if (redacted.length <= maxLength) return redacted;
    const end = isHighSurrogate(redacted, maxLength - 1) ? maxLength - 1 : maxLength;
    return `${redacted.slice(0, end)}…`;
  }

  /** For successful replies. Replaces only secrets of at least 12 characters. */
  redactData(text: string): string {
    return replaceRanges(text, findSecrets(this.#dataSecrets, text, "complete").ranges);
  }

  /** Returns the index from which the end of the text could be an incomplete secret, or the length of the text if there is none. */
  findOpenStart(text: string): number {
    return findSecrets(this.#allSecrets, text, "stream").openStart;
  }

  /** Returns a redactor for a streamed body. */
  createStream(): RedactingStream {
    return new RedactingStream(this.#dataSecrets);
  }
}

/**
 * Redacts a stream of bytes, including secrets split over several chunks. A secret is overwritten with the same number of
 * bytes, so that a Content-Length stays correct. Chunks without a secret are returned without a copy.
 */
export class RedactingStream {
  readonly #patterns: SecretPatterns;
  /** The end of the previous chunks, if a secret may start there. */
  #pending = "";

  constructor(patterns: SecretPatterns) {
    this.#patterns = patterns;
  }

  push(bytes: Buffer): Buffer {
    if (this.#patterns.isEmpty) return bytes;
    const text = this.#pending + bytes.toString("latin1");
    const { ranges, openStart } = findSecrets(this.#patterns, text, "stream");
    if (this.#pending === "" && ranges.length === 0 && openStart === text.length) return bytes;
    this.#pending = text.slice(openStart);
    const completeRanges = ranges.filter(({ start }) => start < openStart);
    return Buffer.from(overwriteRanges(text.slice(0, openStart), completeRanges), "latin1");
  }

  /** Returns the bytes that were held back. */
  end(): Buffer {
    const text = this.#pending;
    this.#pending = "";
    const { ranges } = findSecrets(this.#patterns, text, "prefixes");
    return Buffer.from(overwriteRanges(text, ranges), "latin1");
  }
}

function replaceRanges(text: string, ranges: readonly SecretRange[]): string {
  if (ranges.length === 0) return text;
  let [clean, copiedTo] = ["", 0];
  for (const { start, end } of ranges) {
    clean += text.slice(copiedTo, start) + replacement;
    copiedTo = end;
  }
  return clean + text.slice(copiedTo);
}

function overwriteRanges(text: string, ranges: readonly SecretRange[]): string {
  let [clean, copiedTo] = ["", 0];
  for (const { start, end } of ranges) {
    clean +=
      text.slice(copiedTo, start) + replacement.padEnd(end - start, "*").slice(0, end - start);
    copiedTo = end;
  }
  return clean + text.slice(copiedTo);
}

function isHighSurrogate(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xd800;
}
