import { pathFrom, type Beside } from "./beside.ts";
import type { StoreConfig } from "./config.ts";
import { decodeSection } from "./decode.ts";
import type { Reading } from "./decode-value.ts";

/** `[store]`: where tasks are kept, and for how long. */
export function readStore(table: unknown, beside: Beside, reading: Reading): StoreConfig {
  const given = decodeSection("store", table, ["store"], reading);
  return {
    enabled: given.enabled,
    path: given.path === undefined ? undefined : pathFrom(beside, given.path),
    keepDays: given.keep_days === 0 ? undefined : given.keep_days,
    maxMb: given.max_mb,
  };
}
