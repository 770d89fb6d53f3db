import { join, resolve } from "node:path";
import {
  Runtime,
  RuntimeError,
  type Agent,
  type Chats,
  type Model,
  type ProtectedPath,
} from "@deltawire/agent";
import { openStore, type Store } from "@deltawire/store";
import type { TaskTree } from "@deltawire/tasks";
import type { ChatFeed } from "./tasks/follow/chat-follower.ts";
import { startChats } from "./chats/start-chats.ts";
import type { Config, ModelTarget } from "./config/config.ts";
import { storeFileName } from "./config/find.ts";
import { logRound, logTask, type Log, type RoundLine } from "./log.ts";
import { mediaModel } from "./media/media-model.ts";
import { abilitiesOf } from "./models/abilities.ts";
import type { Discovered } from "./models/resolve.ts";
import { newId } from "./new-id.ts";
import type { Relay } from "./relay/relay.ts";
import { sealingKeyFile } from "./reasoning/key-file.ts";
import { waitingReplies, type WaitingReplies } from "./tasks/agent-models/waiting-replies.ts";
import { ConfiguredAgents, ToolsMissing } from "./tasks/configured-agents.ts";
import { EventStreams } from "./tasks/follow/event-streams.ts";
import { relayModel } from "./tasks/relay-model.ts";
import type { TaskRuntime } from "./tasks/task-runtime.ts";
import { TaskService } from "./tasks/task-service.ts";

export interface TasksOptions {
  config: Config;
  /** Where the store is, unless the configuration names another place; undefined: in memory. */
  dataFolder: string | undefined;
  /** In place of the one that the configuration names. It is closed with the tasks. */
  store?: Store;
  /** The file that the configuration was read from. */
  configFile?: string | undefined;
  relay: Relay;
  targetsOf: (model: string) => Promise<readonly ModelTarget[]>;
  /** What upstreams have told of their models. */
  discovered: () => Discovered;
  /** The same, once those that are slow have had their time. */
  whenDiscovered: () => Promise<Discovered>;
  builtInAgents: readonly Agent[];
  log: Log;
  beatMs?: number | undefined;
}

/** Tasks as this gateway runs and serves them. */
export interface Tasks {
  service: TaskService;
  streams: EventStreams;
  runtime: TaskRuntime;
  agents: ConfiguredAgents;
  chats: Chats;
  changes: ChatFeed;
  store: Store;
  waiting: WaitingReplies;
  /** Takes up what an earlier process left. That may take its time, and nobody has to wait for it. */
  recover(): void;
  /** Tools that run have so long to come to their end. */
  close(waitMs: number): Promise<void>;
}

/** Opens the store and is ready for tasks. Throws a StoreError. */
export async function startTasks(options: TasksOptions): Promise<Tasks> {
  const { config, relay, targetsOf, discovered, whenDiscovered, builtInAgents, log, beatMs } =
    options;
  const warn = (message: string): void => log.warn(message);
  const onFailure = (message: string, cause: unknown): void => {
    if (cause instanceof RuntimeError && cause.code === "closed") return;
    log[cause instanceof ToolsMissing ? "warn" : "error"](
      { cause: relay.redactor.redact(String(cause)) },
      message,
    );
  };
  const onRound = (line: RoundLine): void => logRound(log, line);
  const store = options.store ?? (await opened(options, warn));
  const ownFiles = ownFilesOf(options);
  const agents = new ConfiguredAgents({ config, builtIn: builtInAgents, ownFiles, warn });
  const model = (name: string): Model => {
    const { type } = abilitiesOf(name, config, discovered());
    const parts = { relay, targetsOf, onRound };
    return type === "chat" ? relayModel(parts, name) : mediaModel(parts, name, type);
  };
  const runtime: Runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor: async (request, how) => chats.dressed(await agents.agentFor(request, how), request),
    variablesOf: (session) => chats.variablesOf(session),
    cutsOf: (chat) => chats.cutsOf(chat),
    model,
    price: (name) => config.models.get(name)?.price,
    redact: (text) => relay.redactor.redact(text),
    secretStart: (text) => relay.redactor.openFrom(text),
    newId,
    onFailure,
  });
  const chats = startChats({
    config,
    store,
    runtime,
    model,
    targetsOf,
    discovered,
    whenDiscovered,
    learned: relay.lessons,
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
    contents: (id) => runtime.contents(id),
    progress: (id) => runtime.progress(id),
    subscribe: (id, listener) => runtime.subscribe(id, listener),
    pending: () => runtime.pending(),
    decide: (id, resolution) => runtime.decide(id, resolution),
    cancel: (id, by, reason) => runtime.cancel(id, by, reason),
    input: (...word) => runtime.input(...word),
  };
  const onStatus = (id: string, state: TaskTree): void => logTask(log, id, state);
  const service = new TaskService({ runtime: served, records: store, onFailure, onStatus });
  const changes: ChatFeed = {
    store,
    subscribe: (listener) => chats.subscribe(listener),
    subscribePending: (listener) => runtime.subscribePending(listener),
  };
  const streams = new EventStreams(service, { chats: changes, beatMs });
  let waiting: WaitingReplies;
  try {
    const unfinished = await store.unfinished();
    for (const id of unfinished) service.watch(id);
    await chats.recover();
    waiting = await waitingReplies(store, unfinished, onFailure);
  } catch (error) {
    // Whoever tries again finds it free.
    streams.close();
    service.close();
    await store.close();
    throw error;
  }
  let isClosed = false;
  let recovering: Promise<void> | undefined;
  const recover = async (): Promise<void> => {
    try {
      const taken = await runtime.recover();
      if (taken.length > 0) log.info({ tasks: taken.length }, "tasks were taken up again");
    } catch (error) {
      if (!isClosed) onFailure("tasks could not be taken up again", error);
    }
  };
  return {
    service,
    streams,
    runtime: served,
    agents,
    chats,
    changes,
    store,
    waiting,
    recover: () => void (recovering ??= recover()),
    async close(waitMs) {
      isClosed = true;
      streams.close();
      service.close();
      await runtime.close(waitMs);
      await chats.close();
      await agents.close();
      await recovering;
      await store.close();
    },
  };
}

/** Tokens and keys are in the one, what others said in the others. SQLite has files beside its own. */
function ownFilesOf({ config, dataFolder, configFile }: TasksOptions): ProtectedPath[] {
  const store = storeFile({ config, dataFolder });
  const files = [
    ...(configFile === undefined ? [] : [configFile]),
    ...(dataFolder === undefined ? [] : [sealingKeyFile(dataFolder)]),
    ...(store === undefined
      ? []
      : ["", "-wal", "-shm", "-journal", "-lock", "-blobs"].map((end) => store + end)),
  ].map((path) => resolve(path));
  // A copy is made before an update changes the form of the file: `deltawire.db-v1.bak`.
  return store === undefined ? files : [...files, { startsWith: resolve(`${store}-v`) }];
}

/** Where tasks are kept; undefined: in memory. */
export function storeFile({
  config,
  dataFolder,
}: Pick<TasksOptions, "config" | "dataFolder">): string | undefined {
  const { enabled, path } = config.store;
  if (!enabled) return undefined;
  return path ?? (dataFolder === undefined ? undefined : join(dataFolder, storeFileName));
}

function opened(options: TasksOptions, onWarning: (message: string) => void): Promise<Store> {
  const { store, chats } = options.config;
  const { keepDays, maxMb } = store;
  return openStore({
    path: storeFile(options) ?? ":memory:",
    maxMb,
    deletedDays: chats.deletedDays,
    ...(keepDays === undefined ? {} : { keepDays }),
    onWarning,
  });
}
