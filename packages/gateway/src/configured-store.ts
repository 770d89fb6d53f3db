import { join } from "node:path";
import { openStore, type Store } from "@deltawire/store";
import type { Config } from "./config/config.ts";
import { storeFileName } from "./config/config-paths.ts";

export interface ConfiguredStoreOptions {
  config: Config;
  /** Folder of the database, unless `store.path` is set. Undefined: the store is in memory. */
  dataFolder: string | undefined;
}

/** Returns the path of the database file; undefined if there is none. */
export function resolveStorePath({
  config,
  dataFolder,
}: ConfiguredStoreOptions): string | undefined {
  const { enabled, path, url } = config.store;
  if (!enabled || url !== undefined) return undefined;
  return path ?? (dataFolder === undefined ? undefined : join(dataFolder, storeFileName));
}

/** Throws a StoreError. */
export function openConfiguredStore(
  options: ConfiguredStoreOptions,
  onWarning: (message: string) => void,
): Promise<Store> {
  const { store, chats } = options.config;
  const { enabled, url, schema, maxConnections, s3, retentionDays, maxMb } = store;
  return openStore({
    ...(enabled && url !== undefined
      ? { url, schema, exclusive: false, maxConnections, ...(s3 && { s3 }) }
      : { path: resolveStorePath(options) ?? ":memory:" }),
    maxMb,
    deletedDays: chats.deletedDays,
    ...(retentionDays === undefined ? {} : { retentionDays }),
    onWarning,
  });
}
