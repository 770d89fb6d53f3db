import type { Store } from "@deltawire/store";
import { openConfiguredStore } from "../configured-store.ts";
import { GatewayError } from "../gateway-error.ts";
import { toTaskError } from "../tasks/task-errors.ts";
import type { AgentRouteServices } from "./serve-agent.ts";
import { taskRouteNames, type TaskRouteHandlers } from "./server.ts";
import type { ServedTasks, TaskHandlersOptions } from "./task-handlers.ts";

export interface TaskEndpointsOptions extends Omit<TaskHandlersOptions, "store"> {
  /** Overrides the configured store. It is closed with the endpoints. */
  store?: Store;
  /** Called when the store is open, before tasks run. If it rejects with a StoreError, opening is retried. */
  onStoreOpen?: (store: Store) => Promise<void>;
  /** Called before the store is closed. Must not reject. */
  onStoreClose?: () => Promise<void>;
  /** Delay before another attempt to open the store, in milliseconds; default 5000. */
  retryMs?: number | undefined;
}

type EndpointsState =
  | { status: "open"; tasks: TasksOnDemand }
  | { status: "unavailable"; problem: GatewayError };

const defaultRetryMs = 5000;

/**
 * The handlers of tasks and chats. While the store cannot be opened they reply with its error and everything else works.
 * Opening is retried, because another process may release the store or somebody may repair it.
 */
export class TaskEndpoints {
  readonly #options: TaskEndpointsOptions;
  #state: EndpointsState;
  #retryTimer: NodeJS.Timeout | undefined;
  #opening: Promise<void> | undefined;
  #shouldRecover = false;
  #isShuttingDown = false;
  #isClosed = false;

  static async start(options: TaskEndpointsOptions): Promise<TaskEndpoints> {
    return new TaskEndpoints(options, await openEndpoints(options));
  }

  private constructor(options: TaskEndpointsOptions, state: EndpointsState) {
    this.#options = options;
    this.#state = state;
    if (state.status === "open") return;
    this.#scheduleRetry();
  }

  /** Why tasks and chats are unavailable at the moment. Undefined: they are available. */
  get unavailableError(): GatewayError | undefined {
    return this.#state.status === "unavailable" ? this.#state.problem : undefined;
  }

  /** False while a store that several processes share cannot be reached, so that other processes should serve requests. */
  get isStoreReachable(): boolean {
    if (this.#state.status === "open") return this.#state.tasks.loaded?.isStoreReachable ?? true;
    const { enabled, url } = this.#options.config.store;
    return !enabled || url === undefined;
  }

  get handlers(): TaskRouteHandlers {
    return Object.fromEntries(
      taskRouteNames.map((name) => [
        name,
        (context) => {
          const tasks = this.#getTasks();
          if (tasks.loaded !== undefined) return tasks.loaded.handlers[name]?.(context);
          return tasks.load().then(({ handlers }) => handlers[name]?.(context));
        },
      ]),
    ) satisfies TaskRouteHandlers;
  }

  /** Returns the dependencies for running agents as models. Rejects with a GatewayError if tasks are unavailable. */
  async getAgentServices(): Promise<AgentRouteServices> {
    const { agents } = await this.#getTasks().load();
    return { ...agents, isShuttingDown: () => this.#isShuttingDown };
  }

  /** Resumes the unfinished tasks of an earlier process. Called when clients can connect. */
  recover(): void {
    this.#shouldRecover = true;
    if (this.#state.status === "open") this.#state.tasks.loaded?.recover();
  }

  /** Ends all event streams before the gateway stops. Clients can resume them after the next start. */
  disconnectClients(): void {
    this.#isShuttingDown = true;
    if (this.#state.status === "open") this.#state.tasks.loaded?.disconnectClients();
  }

  async close(waitMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    await this.#opening;
    if (this.#state.status === "open") await this.#state.tasks.close(waitMs);
  }

  #getTasks(): TasksOnDemand {
    if (this.#state.status === "unavailable") throw this.#state.problem;
    return this.#state.tasks;
  }

  #scheduleRetry(): void {
    const { retryMs = defaultRetryMs, log } = this.#options;
    this.#retryTimer = setTimeout(() => {
      this.#opening = this.#retryOpen().catch((error: unknown) => {
        log.error({ err: error }, "could not start tasks and chats");
        if (!this.#isClosed) this.#scheduleRetry();
      });
    }, retryMs).unref();
  }

  async #retryOpen(): Promise<void> {
    const state = await openEndpoints(this.#options);
    const { unavailableError: previousError } = this;
    this.#state = state;
    if (this.#isClosed) return;
    if (state.status === "unavailable" && state.problem.message !== previousError?.message)
      this.#options.log.error(`chats and tasks are unavailable: ${state.problem.message}`);
    if (state.status === "unavailable") return this.#scheduleRetry();
    this.#options.log.info("the store is open; tasks and chats are available");
    if (this.#shouldRecover) this.recover();
  }
}

/** Opens the store. Tasks are started if there are unfinished ones, or if other processes may need this one for theirs. */
async function openEndpoints(options: TaskEndpointsOptions): Promise<EndpointsState> {
  let tasks: TasksOnDemand | undefined;
  try {
    const store =
      options.store ?? (await openConfiguredStore(options, (message) => options.log.warn(message)));
    tasks = new TasksOnDemand({ ...options, store });
    await options.onStoreOpen?.(store);
    // With a shared store, clients of other processes may still be receiving the output of unfinished tasks.
    if (!store.isShared) await store.setUnfinishedRepliesLost();
    if (store.isShared || (await hasUnfinishedTasks(store))) await tasks.load();
    return { status: "open", tasks };
  } catch (error) {
    // Release the store so that the next attempt can open it.
    await tasks?.close(0);
    const problem = toTaskError(error);
    if (problem instanceof GatewayError) return { status: "unavailable", problem };
    throw error;
  }
}

async function hasUnfinishedTasks(store: Store): Promise<boolean> {
  return (await store.listUnfinished()).length > 0 || (await store.listRunningAnswers()).length > 0;
}

type TasksOnDemandOptions = TaskHandlersOptions & Pick<TaskEndpointsOptions, "onStoreClose">;

/**
 * An open store, and the tasks and chats in it, whose code is loaded at their first request: a gateway that only forwards
 * requests to models does not need it.
 */
class TasksOnDemand {
  readonly #options: TasksOnDemandOptions;
  #loading: Promise<ServedTasks> | undefined;
  /** Undefined until `load` has finished. */
  loaded: ServedTasks | undefined;

  constructor(options: TasksOnDemandOptions) {
    this.#options = options;
  }

  /** Starts the tasks once. After a failure the next call tries again. */
  load(): Promise<ServedTasks> {
    this.#loading ??= this.#start().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async close(waitMs: number): Promise<void> {
    await this.#loading?.catch(() => undefined);
    await this.loaded?.close(waitMs);
    await this.#options.onStoreClose?.();
    await this.#options.store.close();
  }

  async #start(): Promise<ServedTasks> {
    const { serveTasks } = await import("./task-handlers.ts");
    this.loaded = await serveTasks(this.#options);
    return this.loaded;
  }
}
