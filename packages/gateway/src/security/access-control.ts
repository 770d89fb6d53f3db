import { statSync } from "node:fs";
import type { Agent, AgentRequest, Model, ModelPrice } from "@deltawire/agent";
import { openStore } from "@deltawire/store";
import type { ClientConfig } from "../config/config.ts";
import { GatewayError } from "../gateway-error.ts";
import { AccessKeys } from "./access-keys.ts";
import { Authenticator, findAccessKeyProblem } from "./authenticator.ts";
import type { OwnerStore } from "./manage-access-keys.ts";
import { meterAgent, meterModel } from "./metered-agent.ts";
import { UsageMeter } from "./usage-meter.ts";

export interface AccessControlOptions {
  clients: readonly ClientConfig[];
  /** See `loadLocalToken`. */
  localToken: string;
  /** The database file of the store, in which keys are looked for while another process has it open. Undefined if there is none. */
  storePath: string | undefined;
  getPrice: (model: string) => ModelPrice | undefined;
  /** Returns why the store is closed. */
  getStoreProblem: () => GatewayError | undefined;
  onFailure: (message: string, cause: unknown) => void;
  /** Called when requests begin to need an access key. `wasKnown`: true if they were served without one before. */
  onKeyRequired: (options: { wasKnown: boolean }) => void;
}

/** Decides who may send requests, and how much: tokens of the configuration, and access keys of the store. */
export class AccessControl {
  readonly keys: AccessKeys;
  readonly meter: UsageMeter;
  readonly authenticator: Authenticator;
  readonly #getStoreProblem: AccessControlOptions["getStoreProblem"];
  #store: OwnerStore | undefined;

  constructor(options: AccessControlOptions) {
    const { clients, localToken, storePath, getPrice, getStoreProblem } = options;
    const { onFailure, onKeyRequired } = options;
    this.#getStoreProblem = getStoreProblem;
    const getStore = () => this.getStore();
    this.keys = new AccessKeys({
      getStore,
      hasKeysInClosedStore: storePath === undefined ? undefined : () => hasKeysInFile(storePath),
      // With tokens in the configuration, requests have always needed one.
      onFirstKey: clients.length > 0 ? undefined : onKeyRequired,
    });
    this.meter = new UsageMeter({
      getStore,
      getPrice,
      onFailure: (error) => {
        // A closed store is reported elsewhere, or the gateway is stopping.
        if (this.#store !== undefined)
          onFailure("could not exchange the usage of access keys", error);
      },
    });
    this.authenticator = new Authenticator({ clients, accessKeys: this.keys, localToken });
  }

  /** Throws a GatewayError while the store is closed. */
  getStore(): OwnerStore {
    if (this.#store !== undefined) return this.#store;
    throw (
      this.#getStoreProblem() ??
      new GatewayError("store_unavailable", "the store is not open yet; try again")
    );
  }

  async attachStore(store: OwnerStore): Promise<void> {
    this.#store = store;
    await this.keys.refresh();
  }

  /** Stores what has been counted so far. Call it before the store is closed. */
  async detachStore(): Promise<void> {
    await Promise.all([this.keys.flush(), this.meter.flush()]);
    this.#store = undefined;
  }

  /** Returns the agent of a task. If the task was requested with an access key, the usage of its models counts toward the key's limits. */
  async meterAgent(
    agent: Agent,
    { access_key }: AgentRequest,
    options: { isNew: boolean; getModel: (name: string) => Model },
  ): Promise<Agent> {
    if (access_key === undefined) return agent;
    return meterAgent(agent, access_key, { ...options, ...this.#meteringServices });
  }

  /** Returns the model with usage that counts toward the limits of an access key. */
  meterModel(name: string, getModel: () => Model, keyId: string): Model {
    return meterModel(name, getModel, keyId, this.#meteringServices);
  }

  /**
   * Calls `onInvalid` with each key of `listKeyIds()` that is revoked, expired or removed, and the reason, within four seconds.
   * Returns a function that stops watching.
   */
  watchTaskKeys(
    listKeyIds: () => ReadonlySet<string>,
    onInvalid: (keyId: string, reason: string) => void,
  ): () => void {
    return this.keys.watchIds(listKeyIds, (keyId, key) => {
      const problem = key && findAccessKeyProblem(key, this.keys.getTime());
      onInvalid(keyId, problem ?? "the access key of this task was removed");
    });
  }

  get #meteringServices() {
    return { accessKeys: this.keys, usageMeter: this.meter };
  }

  close(): void {
    this.keys.close();
    this.meter.close();
  }
}

/** Returns true if the database file contains access keys. Throws a StoreError if it cannot be read. */
async function hasKeysInFile(path: string): Promise<boolean> {
  // A store that has never been opened has no tables. Throws if the folder cannot be accessed.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return false;
  const store = await openStore({ path, readOnly: true });
  try {
    return (await store.findAccessKeys([])).hasKeys;
  } finally {
    await store.close();
  }
}
