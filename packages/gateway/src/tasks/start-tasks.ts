import { join } from "node:path";
import { Runtime, type Agent } from "@deltawire/agent";
import { openStore, type Store } from "@deltawire/store";
import type { Config, ModelTarget } from "../config/config.ts";
import type { Log } from "../log.ts";
import { newId } from "../new-id.ts";
import type { Relay } from "../relay/relay.ts";
import { ConfiguredAgents } from "./configured-agents.ts";
import { Followers } from "./followers.ts";
import { relayModel } from "./relay-model.ts";
import type { TaskRuntime } from "./task-runtime.ts";
import { TaskService } from "./task-service.ts";

export interface TasksOptions {
  config: Config;
  /** Where the store is, unless the configuration names another place; undefined: in memory. */
  dataFolder: string | undefined;
  /** In place of the one that the configuration names. It is closed with the tasks. */
  store?: Store;
  relay: Relay;
  targetsOf: (model: string) => Promise<readonly ModelTarget[]>;
  builtInAgents: readonly Agent[];
  log: Log;
  beatMs?: number | undefined;
}

/** Tasks as this gateway runs and serves them. */
export interface Tasks {
  service: TaskService;
  followers: Followers;
  runtime: TaskRuntime;
  agents: ConfiguredAgents;
  /** Tools that run have so long to come to their end. */
  close(waitMs: number): Promise<void>;
}

/** Opens the store, takes up what an earlier process left, and is ready for more. Throws a StoreError. */
export async function startTasks(options: TasksOptions): Promise<Tasks> {
  const { config, relay, targetsOf, builtInAgents, log, beatMs } = options;
  const warn = (message: string): void => log.warn(message);
  const onFailure = (message: string, cause: unknown): void =>
    log.error({ cause: relay.secrets.redact(String(cause)) }, message);
  const store = options.store ?? (await opened(options, warn));
  const agents = new ConfiguredAgents({ config, builtIn: builtInAgents, warn });
  const runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor: (request) => agents.agentFor(request),
    model: (name) => relayModel(relay, targetsOf, name),
    price: (model) => config.models.get(model)?.price,
    newId,
    onFailure,
  });
  const served: TaskRuntime = {
    async start(request, taskId) {
      const { model, ...rest } = request;
      // Every agent is a model too.
      if (model !== undefined && agents.has(model))
        return runtime.start({ ...rest, agent: model }, taskId);
      if (model !== undefined) await targetsOf(model);
      return runtime.start(request, taskId);
    },
    live: (id) => runtime.live(id),
    subscribe: (id, listener) => runtime.subscribe(id, listener),
    decide: (id, resolution) => runtime.decide(id, resolution),
    cancel: (id, by, reason) => runtime.cancel(id, by, reason),
    input: (id, content, delivery) => runtime.input(id, content, delivery),
  };
  const service = new TaskService({ runtime: served, records: store, onFailure });
  const followers = new Followers(service, beatMs);
  const taken = await runtime.recover();
  for (const id of taken) service.watch(id);
  if (taken.length > 0) log.info({ tasks: taken.length }, "tasks were taken up again");
  return {
    service,
    followers,
    runtime: served,
    agents,
    async close(waitMs) {
      followers.close();
      service.close();
      await runtime.close(waitMs);
      await agents.close();
      await store.close();
    },
  };
}

function opened(
  { config, dataFolder }: TasksOptions,
  onWarning: (message: string) => void,
): Promise<Store> {
  const { enabled, path, keepDays, maxMb } = config.store;
  const folder = dataFolder === undefined ? undefined : join(dataFolder, "deltawire.db");
  const file = path ?? folder;
  return openStore({
    path: enabled && file !== undefined ? file : ":memory:",
    maxMb,
    ...(keepDays === undefined ? {} : { keepDays }),
    onWarning,
  });
}
