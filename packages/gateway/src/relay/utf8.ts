import type { Utf8Decoder } from "@deltawire/wire";

/**
 * Text of bytes cut anywhere. It says what a TextDecoder says, which keeps a converter of its own for each stream:
 * 8 KiB, and twice the time for the few hundred bytes that a read usually has.
 */
export class Utf8 implements Utf8Decoder {
  /** The beginning of a character whose end has not come. */
  #rest: Buffer | undefined;

  decode(bytes?: Uint8Array): string {
    if (bytes === undefined) {
      const rest = this.#rest?.toString("utf8") ?? "";
      this.#rest = undefined;
      return rest;
    }
    let all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (this.#rest !== undefined) all = Buffer.concat([this.#rest, all]);
    const end = wholeCharacters(all);
    this.#rest = end === all.length ? undefined : all.subarray(end);
    return all.toString("utf8", 0, end);
  }
}

/** How many of the bytes are whole characters, or never will be. */
function wholeCharacters(bytes: Buffer): number {
  const { length } = bytes;
  for (let at = length - 1; at >= 0 && at >= length - 3; at -= 1) {
    const byte = bytes[at] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    return length - at < lengthBy(byte) ? at : length;
  }
  return length;
}

function lengthBy(first: number): number {
  if (first >= 0b1111_0000) return first > 0xf4 ? 1 : 4;
  if (first >= 0b1110_0000) return 3;
  return first >= 0xc2 ? 2 : 1;
}
