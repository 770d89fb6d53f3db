import { resolve } from "node:path";
import {
  Runtime,
  type Agent,
  type AgentRequest,
  type Chats,
  type Model,
  type ProtectedPath,
} from "@deltawire/agent";
import { RuntimeError } from "@deltawire/agent/basics";
import { openMessageBus, type Store } from "@deltawire/store";
import type { MessageBus } from "@deltawire/tasks";
import type { ChatFeed } from "./tasks/streams/chat-stream-writer.ts";
import { createGatewayChats } from "./chats/create-chats.ts";
import type { Config, ModelTarget } from "./config/config.ts";
import { findModelAlias } from "./config/model-patterns.ts";
import { resolveStorePath } from "./configured-store.ts";
import { logModelRound, logTask, type Log, type ModelRoundLogEntry } from "./log.ts";
import { createMediaModel } from "./media/media-model.ts";
import { getModelCapabilities } from "./models/model-capabilities.ts";
import type { DiscoveredModels } from "./models/resolve-model.ts";
import { newId } from "./new-id.ts";
import type { Relay } from "./relay/relay.ts";
import { getSealingKeyPath } from "./reasoning/sealing-key.ts";
import { getLocalTokenPath } from "./security/local-token.ts";
import { AccessKeyRejectedError } from "./security/metered-agent.ts";
import { ConfiguredAgents, ToolsUnavailableError } from "./tasks/configured-agents.ts";
import { EventStreams } from "./tasks/streams/event-streams.ts";
import { createRelayModel } from "./tasks/relay-model.ts";
import type { TaskRuntime } from "./tasks/task-runtime.ts";
import { TaskService } from "./tasks/task-service.ts";

export interface StartTasksOptions {
  config: Config;
  /** Folder of the database, unless `store.path` is set. Undefined: the store is in memory. */
  dataFolder: string | undefined;
  /** Stays open when the tasks are closed. */
  store: Store;
  /** The configuration file; file tools of agents cannot access it. */
  configFile?: string | undefined;
  relay: Relay;
  resolveTargets: (model: string) => Promise<readonly ModelTarget[]>;
  /** The models that upstreams have listed so far. */
  getDiscoveredModels: () => DiscoveredModels;
  /** Like `getDiscoveredModels`, but waits briefly for slow upstreams. */
  waitForDiscoveredModels: () => Promise<DiscoveredModels>;
  builtInAgents: readonly Agent[];
  log: Log;
  /**
   * Returns the agent with models whose usage counts toward the limits of the task's access key. If `isNew`, throws if the key
   * does not allow the task.
   */
  meterAgent?: (
    agent: Agent,
    request: AgentRequest,
    options: { isNew: boolean; getModel: (name: string) => Model },
  ) => Promise<Agent>;
  /** Returns the model with usage that counts toward the limits of an access key. Used for titles of chats. */
  meterModel?: (name: string, getModel: () => Model, accessKey: string) => Model;
  /**
   * Calls `onInvalid` with each access key of `listKeyIds()` that may not be used any more, and the reason. Returns a function
   * that stops watching.
   */
  watchTaskKeys?: (
    listKeyIds: () => ReadonlySet<string>,
    onInvalid: (keyId: string, reason: string) => void,
  ) => () => void;
  tickMs?: number | undefined;
}

/** The components that run and serve tasks and chats. */
export interface TaskSubsystem {
  service: TaskService;
  streams: EventStreams;
  runtime: TaskRuntime;
  agents: ConfiguredAgents;
  chats: Chats;
  chatFeed: ChatFeed;
  /** False while a store that several processes share cannot be reached. */
  readonly isStoreReachable: boolean;
  /** Resumes the unfinished tasks of an earlier process, in the background. */
  recover(): void;
  /** `waitMs`: how long to wait for running tools. */
  close(waitMs: number): Promise<void>;
}

/** Creates the task subsystem. Throws a StoreError. */
export async function startTasks(options: StartTasksOptions): Promise<TaskSubsystem> {
  const {
    config,
    store,
    relay,
    resolveTargets,
    getDiscoveredModels,
    waitForDiscoveredModels,
    builtInAgents,
    log,
    tickMs,
  } = options;
  const warn = (message: string): void => log.warn(message);
  const onFailure = (message: string, cause: unknown): void => {
    if (cause instanceof RuntimeError && cause.code === "closed") return;
    const isExpected =
      cause instanceof ToolsUnavailableError || cause instanceof AccessKeyRejectedError;
    log[isExpected ? "warn" : "error"]({ cause: relay.redactor.redact(String(cause)) }, message);
  };
  const onRound = (entry: ModelRoundLogEntry): void => logModelRound(log, entry);
  const bus = store.isShared ? openConfiguredBus(config, warn) : undefined;
  const protectedPaths = listProtectedPaths(options);
  const agents = new ConfiguredAgents({ config, builtInAgents, protectedPaths, warn });
  const getModel = (name: string): Model => {
    const { type } = getModelCapabilities(name, config, getDiscoveredModels());
    const modelOptions = { relay, resolveTargets, onRound };
    return type === "chat"
      ? createRelayModel(modelOptions, name)
      : createMediaModel(modelOptions, name, type);
  };
  const runtime: Runtime = new Runtime({
    log: store,
    blobs: store,
    async agentFor(request, { recovered }) {
      const agent = await agents.resolveAgent(request, { recovered });
      const preparedAgent = await chats.prepareAgent(agent, request);
      return options.meterAgent === undefined
        ? preparedAgent
        : options.meterAgent(preparedAgent, request, { isNew: !recovered, getModel });
    },
    variablesFor: (session) => chats.findVariables(session),
    truncationGuardFor: (chat) => chats.findTruncationGuard(chat),
    getModel,
    getPrice: (name) => findModelAlias(name, config)?.price,
    redact: (text) => relay.redactor.redact(text),
    findSecretStart: (text) => relay.redactor.findOpenStart(text),
    newId,
    ...(store.isShared && { cluster: { store, ...(bus && { bus }) } }),
    onStatus(id, state) {
      logTask(log, id, state);
      void service.saveEnd(id, state);
    },
    onClaimed: (tasks) => log.info({ tasks }, "took over unfinished tasks"),
    onLeaseExpired: (lostTasks) =>
      log.warn({ lost_tasks: lostTasks }, "the lease on the tasks of this process had expired"),
    onFailure,
  });
  const chats = createGatewayChats({
    config,
    store,
    bus,
    runtime,
    getModel,
    getMeteredModel: (name, accessKey) =>
      options.meterModel?.(name, () => getModel(name), accessKey) ?? getModel(name),
    resolveTargets,
    getDiscoveredModels,
    waitForDiscoveredModels,
    lessons: relay.lessons,
    onFailure,
  });
  const taskRuntime: TaskRuntime = {
    async start(request, taskId, creation) {
      const { model, ...rest } = request;
      // Agents can be used as models.
      if (model !== undefined && agents.has(model))
        return runtime.start({ ...rest, agent: model }, taskId, creation);
      if (model !== undefined) await resolveTargets(model);
      return runtime.start(request, taskId, creation);
    },
    live: (id) => runtime.live(id),
    contents: (id) => runtime.contents(id),
    progress: (id) => runtime.progress(id),
    subscribe: (id, listener) => runtime.subscribe(id, listener),
    pending: (owner) => runtime.pending(owner),
    decide: (id, resolution) => runtime.decide(id, resolution),
    cancel: (id, by, reason) => runtime.cancel(id, by, reason),
    input: (...args) => runtime.input(...args),
  };
  const service = new TaskService({ runtime: taskRuntime, records: store, onFailure });
  const chatFeed: ChatFeed = {
    store,
    subscribe: (listener) => chats.subscribe(listener),
    subscribePending: (listener, owner) => runtime.subscribePending(listener, owner),
  };
  const streams = new EventStreams(service, { chats: chatFeed, tickMs });
  try {
    await chats.recover();
  } catch (error) {
    streams.close();
    service.close();
    await bus?.close();
    throw error;
  }
  const listKeyTasks = () =>
    runtime
      .listRunning()
      .flatMap(({ rootTaskId, request: { access_key: keyId } }) =>
        keyId === undefined ? [] : [{ rootTaskId, keyId }],
      );
  const stopWatchingKeys = options.watchTaskKeys?.(
    () => new Set(listKeyTasks().map(({ keyId }) => keyId)),
    (invalidKeyId, reason) => {
      for (const { rootTaskId, keyId } of listKeyTasks())
        if (keyId === invalidKeyId)
          runtime.cancel(rootTaskId, "gateway", reason).catch((error: unknown) => {
            if (!isClosed) onFailure("could not cancel a task of an invalid access key", error);
          });
    },
  );
  let isClosed = false;
  let recovery: Promise<void> | undefined;
  const recoverTasks = async (): Promise<void> => {
    try {
      const recoveredIds = await runtime.recover();
      if (recoveredIds.length > 0)
        log.info({ tasks: recoveredIds.length }, "resumed unfinished tasks");
    } catch (error) {
      if (!isClosed) onFailure("could not resume unfinished tasks yet", error);
    }
  };
  return {
    service,
    streams,
    runtime: taskRuntime,
    agents,
    chats,
    chatFeed,
    get isStoreReachable() {
      return runtime.isStoreReachable;
    },
    recover: () => void (recovery ??= recoverTasks()),
    async close(waitMs) {
      isClosed = true;
      stopWatchingKeys?.();
      streams.close();
      service.close();
      await runtime.close(waitMs);
      await chats.close();
      await agents.close();
      await recovery;
      await bus?.close();
    },
  };
}

/** Returns the files that contain tokens, keys or chats, including those that SQLite creates next to the database. */
function listProtectedPaths({
  config,
  dataFolder,
  configFile,
}: StartTasksOptions): ProtectedPath[] {
  const store = resolveStorePath({ config, dataFolder });
  const files = [
    ...(configFile === undefined ? [] : [configFile]),
    ...(dataFolder === undefined
      ? []
      : [getSealingKeyPath(dataFolder), getLocalTokenPath(dataFolder)]),
    ...(store === undefined
      ? []
      : ["", "-wal", "-shm", "-journal", "-lock", "-blobs"].map((suffix) => store + suffix)),
  ].map((path) => resolve(path));
  // Backups that are made before a schema update: `deltawire.db-v1.bak`.
  return store === undefined ? files : [...files, { startsWith: resolve(`${store}-v`) }];
}

/** Undefined if no bus is configured: processes then only read what others have stored. */
function openConfiguredBus(
  { bus: { url, prefix } }: Config,
  onWarning: (message: string) => void,
): MessageBus | undefined {
  return url === undefined ? undefined : openMessageBus({ url, prefix, onWarning });
}
