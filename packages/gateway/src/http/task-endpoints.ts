import { AnswerLocator } from "../chats/answer-locator.ts";
import { buildChatChoices } from "../chats/chat-choices.ts";
import type { AgentRouteServices } from "./serve-agent.ts";
import { GatewayError } from "../gateway-error.ts";
import { createChatHandlers } from "./serve-chats.ts";
import { createTaskHandlers } from "./serve-tasks.ts";
import { createUiMessageHandlers } from "./serve-ui-messages.ts";
import { taskRouteNames, type TaskRouteHandlers } from "./server.ts";
import type { ResponseHistory } from "../history/response-history.ts";
import { TranslatedStreams } from "../tasks/streams/translated-streams.ts";
import { startTasks, type TaskSubsystem, type StartTasksOptions } from "../start-tasks.ts";
import { toTaskError } from "../tasks/task-errors.ts";

export interface TaskEndpointsOptions extends StartTasksOptions {
  /** Returns what is wrong with an upstream, without secrets, or undefined if it works. */
  describeUpstreamProblem: (upstream: string) => string | undefined;
  /** Stores the replies of agents. */
  history: ResponseHistory;
  /** Delay before another attempt to open the store, in milliseconds; default 5000. */
  retryMs?: number | undefined;
}

type EndpointsState =
  | {
      status: "open";
      tasks: TaskSubsystem;
      handlers: TaskRouteHandlers;
      agents: Omit<AgentRouteServices, "isShuttingDown">;
      disconnectClients: () => void;
    }
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
    if (this.#state.status === "open") return this.#state.tasks.isStoreReachable;
    const { enabled, url } = this.#options.config.store;
    return !enabled || url === undefined;
  }

  get handlers(): TaskRouteHandlers {
    return Object.fromEntries(
      taskRouteNames.map((name) => [
        name,
        (context) => {
          if (this.#state.status === "unavailable") throw this.#state.problem;
          return this.#state.handlers[name]?.(context);
        },
      ]),
    ) satisfies TaskRouteHandlers;
  }

  /** Returns the dependencies for running agents as models. Throws a GatewayError if tasks are unavailable. */
  getAgentServices(): AgentRouteServices {
    if (this.#state.status === "unavailable") throw this.#state.problem;
    return { ...this.#state.agents, isShuttingDown: () => this.#isShuttingDown };
  }

  /** Resumes the unfinished tasks of an earlier process. Called when clients can connect. */
  recover(): void {
    this.#shouldRecover = true;
    if (this.#state.status === "open") this.#state.tasks.recover();
  }

  /** Ends all event streams before the gateway stops. Clients can resume them after the next start. */
  disconnectClients(): void {
    this.#isShuttingDown = true;
    if (this.#state.status === "open") this.#state.disconnectClients();
  }

  async close(waitMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    await this.#opening;
    if (this.#state.status === "open") await this.#state.tasks.close(waitMs);
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

async function openEndpoints(options: TaskEndpointsOptions): Promise<EndpointsState> {
  const { tickMs, config, relay, waitForDiscoveredModels, describeUpstreamProblem } = options;
  let tasks: TaskSubsystem;
  try {
    tasks = await startTasks(options);
  } catch (error) {
    const problem = toTaskError(error);
    if (problem instanceof GatewayError) return { status: "unavailable", problem };
    throw error;
  }
  const { service, streams, chats, chatFeed, store } = tasks;
  const translatedStreams = new TranslatedStreams(service, tickMs);
  const answerLocator = new AnswerLocator(store, chatFeed);
  return {
    status: "open",
    tasks,
    handlers: {
      ...createTaskHandlers({ tasks: service, streams, answerLocator }),
      ...createUiMessageHandlers({ tasks: service, streams: translatedStreams }),
      ...createChatHandlers({
        chats,
        store,
        idempotentRequests: service.idempotentRequests,
        streams,
        loadChoices: async () =>
          buildChatChoices(
            config,
            await waitForDiscoveredModels(),
            relay.lessons,
            describeUpstreamProblem,
          ),
      }),
    },
    agents: {
      tasks: service,
      streams: translatedStreams,
      history: options.history,
    },
    disconnectClients() {
      streams.close();
      translatedStreams.close();
      answerLocator.close();
    },
  };
}
