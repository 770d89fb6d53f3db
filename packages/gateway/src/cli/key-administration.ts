import { existsSync } from "node:fs";
import { openStore, StoreError, type Store } from "@deltawire/store";
import type { Config } from "../config/config.ts";
import { resolveDataFolder, type HostEnvironment } from "../config/config-paths.ts";
import {
  createAccessKey,
  removeAccessKey,
  revokeAccessKey,
  toAccessKeyReply,
  type AccessKeyReply,
  type NewAccessKeyBody,
  type NewAccessKeyReply,
} from "../security/manage-access-keys.ts";
import { resolveStorePath } from "../configured-store.ts";
import { UsageError } from "./parse-arguments.ts";
import { findRunningGateway, type RunningGateway } from "./running-gateway.ts";

/** Manages the access keys of a store. */
export interface KeyAdministration {
  /** Where the keys are stored, without user and password. */
  readonly location: string;
  create(body: NewAccessKeyBody): Promise<NewAccessKeyReply>;
  list(): Promise<readonly AccessKeyReply[]>;
  /** `key`: a name or an id. */
  revoke(key: string): Promise<AccessKeyReply>;
  remove(key: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the access keys of the configured store. A database is used directly. A SQLite file allows only one writer, so the running
 * gateway is used if there is one. A missing file is only created if `createsKey`. Throws a StoreError if another process uses the
 * file.
 */
export async function openKeyAdministration(
  config: Config,
  dataFlag: string | undefined,
  host: HostEnvironment,
  { createsKey }: { createsKey: boolean },
): Promise<KeyAdministration> {
  const { enabled, url, schema } = config.store;
  if (enabled && url !== undefined) {
    const store = await openStore({ url, schema, exclusive: false });
    const { protocol, host: address, pathname } = new URL(url);
    return administerStore(store, `${protocol}//${address}${pathname}, schema ${schema}`);
  }
  const running = await findRunningGateway(config, dataFlag, host);
  if (running !== undefined) return administerGateway(running);
  const path = resolveStorePath({ config, dataFolder: resolveDataFolder(dataFlag, host) });
  if (path === undefined)
    throw new UsageError(
      "the configuration has no store (store.enabled = false), and no gateway is running; access keys need one of them",
    );
  try {
    if (!createsKey && !existsSync(path))
      return administerStore(await openStore({ path: ":memory:" }), `${path} (does not exist yet)`);
    return administerStore(await openStore({ path }), path);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "store_locked") throw error;
    throw new StoreError(
      "store_locked",
      `${error.message}; if that process is a gateway, pass its --host and --port`,
      { cause: error },
    );
  }
}

function administerStore(store: Store, location: string): KeyAdministration {
  return {
    location,
    create: (body) => createAccessKey(body, store),
    async list() {
      const now = Date.now();
      return (await store.listAccessKeys()).map((key) => toAccessKeyReply(key, now));
    },
    revoke: (key) => revokeAccessKey(key, store),
    remove: (key) => removeAccessKey(key, store),
    close: () => store.close(),
  };
}

const keysPath = "/deltawire/keys";

function administerGateway(gateway: RunningGateway): KeyAdministration {
  const keyPath = (key: string) => `${keysPath}/${encodeURIComponent(key)}`;
  return {
    location: `the gateway ${gateway.url}`,
    async create(body) {
      return (await gateway.request(keysPath, { method: "POST", body })) as NewAccessKeyReply;
    },
    async list() {
      const { data } = (await gateway.request(keysPath)) as { data: AccessKeyReply[] };
      return data;
    },
    async revoke(key) {
      return (await gateway.request(keyPath(key), { method: "DELETE" })) as AccessKeyReply;
    },
    async remove(key) {
      await gateway.request(`${keyPath(key)}?forever=true`, { method: "DELETE" });
    },
    close: async () => undefined,
  };
}
