import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { ReasoningCarry } from "@deltawire/wire";

/** Marks what is ours, and how it is packed. */
const version = "dw1.";
const nonceLength = 12;
const tagLength = 16;

/**
 * What an upstream needs back later, sealed for the client to keep in `encrypted_content` (decision 40). Each upstream
 * has a key of its own: what one gave is noise to any other.
 */
export class Envelopes {
  readonly #key: Buffer;
  readonly #keys = new Map<string, Buffer>();

  constructor(key: Buffer) {
    this.#key = key;
  }

  seal(upstream: string, carry: ReasoningCarry): string {
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv("aes-256-gcm", this.#keyOf(upstream), nonce);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(carry), "utf8"), cipher.final()]);
    return version + Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString("base64url");
  }

  /** Undefined for whatever was not sealed here for this upstream. */
  unseal(upstream: string, envelope: string): ReasoningCarry | undefined {
    if (!isEnvelope(envelope)) return undefined;
    const bytes = Buffer.from(envelope.slice(version.length), "base64url");
    if (bytes.length < nonceLength + tagLength) return undefined;
    const nonce = bytes.subarray(0, nonceLength);
    const decipher = createDecipheriv("aes-256-gcm", this.#keyOf(upstream), nonce);
    decipher.setAuthTag(bytes.subarray(-tagLength));
    try {
      const sealed = bytes.subarray(nonceLength, -tagLength);
      const text = Buffer.concat([decipher.update(sealed), decipher.final()]).toString("utf8");
      return JSON.parse(text) as ReasoningCarry;
    } catch {
      return undefined; // another gateway's, another upstream's, or damaged: to us all the same
    }
  }

  #keyOf(upstream: string): Buffer {
    let key = this.#keys.get(upstream);
    if (key === undefined) {
      key = Buffer.from(hkdfSync("sha256", this.#key, "", `deltawire reasoning ${upstream}`, 32));
      this.#keys.set(upstream, key);
    }
    return key;
  }
}

export function isEnvelope(text: string): boolean {
  return text.startsWith(version);
}
