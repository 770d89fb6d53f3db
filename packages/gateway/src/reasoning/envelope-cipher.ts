import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { OpaqueReasoning, ResponseInputItem } from "@deltawire/wire";

/** Marks an envelope of the gateway, with the version of its format. */
const envelopePrefix = "dw1.";
export interface SealedSummary {
  readonly summary: string;
  /** Items after the summary, if it replaces everything before it. */
  readonly recentItems?: readonly ResponseInputItem[] | undefined;
}

const nonceLength = 12;
const tagLength = 16;

/**
 * Encrypts the opaque reasoning that an upstream expects again in later requests. The client stores it as
 * `encrypted_content` (decision 40). Each upstream has its own key, so an envelope cannot be opened for another upstream.
 */
export class EnvelopeCipher {
  #current: UpstreamKeys;
  /** The key before `replaceKey`, for envelopes that were sealed with it. */
  #previous: UpstreamKeys | undefined;

  constructor(key: Buffer) {
    this.#current = new UpstreamKeys(key);
  }

  /** Seals with another key from now on. Envelopes sealed with the previous key can still be opened. */
  replaceKey(key: Buffer): void {
    if (this.#current.isDerivedFrom(key)) return;
    this.#previous = this.#current;
    this.#current = new UpstreamKeys(key);
  }

  /** Seals the summary of a conversation, which can be opened for every upstream. */
  sealSummary(summary: SealedSummary): string {
    return this.seal(summaryKeyName, summary);
  }

  /** Returns undefined if the envelope is not a summary that was sealed with this key. */
  unsealSummary(envelope: string): SealedSummary | undefined {
    const opened = (this.unseal(summaryKeyName, envelope) ?? {}) as Partial<SealedSummary>;
    const { summary } = opened;
    return typeof summary === "string" ? { ...opened, summary } : undefined;
  }

  seal(upstream: string, reasoning: OpaqueReasoning | SealedSummary): string {
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv("aes-256-gcm", this.#current.derive(upstream), nonce);
    const ciphertext = Buffer.concat([
      cipher.update(JSON.stringify(reasoning), "utf8"),
      cipher.final(),
    ]);
    return (
      envelopePrefix + Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]).toString("base64url")
    );
  }

  /** Returns undefined if the envelope was not sealed with this key for this upstream. */
  unseal(upstream: string, envelope: string): OpaqueReasoning | undefined {
    if (!isEnvelope(envelope)) return undefined;
    const bytes = Buffer.from(envelope.slice(envelopePrefix.length), "base64url");
    if (bytes.length < nonceLength + tagLength) return undefined;
    const previousKey = this.#previous?.derive(upstream);
    return (
      decrypt(bytes, this.#current.derive(upstream)) ?? (previousKey && decrypt(bytes, previousKey))
    );
  }
}

/** No upstream has this name. */
const summaryKeyName = "\nsummary";

/** Returns undefined if the bytes were encrypted with another key, or are damaged. */
function decrypt(bytes: Buffer, key: Buffer): OpaqueReasoning | undefined {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceLength));
  decipher.setAuthTag(bytes.subarray(-tagLength));
  try {
    const ciphertext = bytes.subarray(nonceLength, -tagLength);
    const text = Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString("utf8");
    return JSON.parse(text) as OpaqueReasoning;
  } catch {
    return undefined;
  }
}

/** The keys of all upstreams, derived from one. */
class UpstreamKeys {
  readonly #masterKey: Buffer;
  readonly #keys = new Map<string, Buffer>();

  constructor(masterKey: Buffer) {
    this.#masterKey = masterKey;
  }

  isDerivedFrom(masterKey: Buffer): boolean {
    return this.#masterKey.equals(masterKey);
  }

  derive(upstream: string): Buffer {
    let key = this.#keys.get(upstream);
    if (key === undefined) {
      key = Buffer.from(
        hkdfSync("sha256", this.#masterKey, "", `deltawire reasoning ${upstream}`, 32),
      );
      this.#keys.set(upstream, key);
    }
    return key;
  }
}

export function isEnvelope(text: string): boolean {
  return text.startsWith(envelopePrefix);
}
