import type { SecretWatch } from "./secrets.ts";
import type { Target } from "./target.ts";

/** One attack on a running gateway. */
export interface AttackCase {
  /** A sentence that says what the gateway is exposed to; unique in its part. */
  name: string;
  /** Returns what is wrong with the gateway's reaction. May be called again, to measure it alone. */
  run(target: Target): Promise<string[]>;
  /** How many requests it sends; 1 unless given. */
  requests?: number;
  /** True: it runs while nothing else does. */
  alone?: boolean;
  /** True: it takes long, and is left out of the short form. */
  slow?: boolean;
}

/** Attacks of one kind, and the gateway that they need. */
export interface Part {
  name: string;
  /** The configuration of the gateway, without `[server]`. */
  toml: string;
  cases: readonly AttackCase[];
  /** Attacks without a name of their own, until the time or their number is over. */
  generate?(): Iterable<AttackCase>;
  /** What is done with the gateway before the first attack. */
  prepare?(target: Target): Promise<void>;
  /** How many of them run at the same time. */
  atOnce: number;
  secrets: SecretWatch;
  close(): Promise<void>;
}
