import type { SecretScanner } from "./secrets.ts";
import type { Target } from "./target.ts";

/** One attack on a running gateway. */
export interface AttackCase {
  /** Describes the attack in a sentence; unique in its part. */
  name: string;
  /** Returns what is wrong with the gateway's reaction. May be called again to measure it alone. */
  run(target: Target): Promise<string[]>;
  /** Number of requests that it sends; default 1. */
  requests?: number;
  /** True: nothing else runs at the same time. */
  alone?: boolean;
  /** True: it is slow and not part of the short form. */
  slow?: boolean;
}

/** Attacks of one kind, and the gateway that they need. */
export interface AttackPart {
  name: string;
  /** The configuration of the gateway, without `[server]`. */
  toml: string;
  cases: readonly AttackCase[];
  /** Generated attacks, until the time or their number is used up. */
  generate?(): Iterable<AttackCase>;
  /** Prepares the gateway before the first attack. */
  prepare?(target: Target): Promise<void>;
  /** Number of attacks that run at the same time. */
  concurrency: number;
  secrets: SecretScanner;
  close(): Promise<void>;
}
