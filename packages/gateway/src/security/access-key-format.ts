import { createHash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

/*
 * A key is `dwk_`, 40 random letters and digits (238 bits), and a checksum of 6. The prefix lets secret scanners find keys, and
 * the checksum distinguishes keys from other strings.
 */

const keyPrefix = "dwk_";
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomLength = 40;
const checksumLength = 6;
const keyPattern = new RegExp(
  `^${keyPrefix}([0-9A-Za-z]{${randomLength}})([0-9A-Za-z]{${checksumLength}})$`,
);

/** Matches keys in any text, including truncated ones of at least 12 characters. */
export const accessKeyTextPattern = new RegExp(`${keyPrefix}[0-9A-Za-z]{8,}`, "g");

/** Matches the end of a string that may be the beginning of a key. */
export const openAccessKeyPattern = new RegExp(
  `(?:d|dw|dwk|${keyPrefix}[0-9A-Za-z]{0,${randomLength + checksumLength}})$`,
);

export function createAccessKeyToken(): string {
  const random = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]);
  const text = random.join("");
  return keyPrefix + text + computeChecksum(text);
}

/** True if the text has the format of an access key and a correct checksum. */
export function isAccessKeyToken(text: string): boolean {
  const [, random = "", checksum] = keyPattern.exec(text) ?? [];
  return checksum === computeChecksum(random) && random !== "";
}

/** Returns the hash with which a key is stored and found. A key has enough random bits that no salt is needed. */
export function hashAccessKey(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function computeChecksum(text: string): string {
  let value = crc32(text);
  let checksum = "";
  while (checksum.length < checksumLength) {
    checksum = alphabet.charAt(value % alphabet.length) + checksum;
    value = Math.floor(value / alphabet.length);
  }
  return checksum;
}
