import { AnswerPlaces } from "../chats/answer-places.ts";
import { chatChoices } from "../chats/choices.ts";
import type { AgentServer } from "./serve-agent.ts";
import { Problem } from "../problem.ts";
import { chatHandlers } from "./serve-chats.ts";
import { taskHandlers } from "./serve-tasks.ts";
import { uiMessageHandlers } from "./serve-ui-messages.ts";
import { taskRoutes, type TaskHandlers } from "./server.ts";
import { KeptResponses } from "../history/kept-responses.ts";
import { TranslatedStreams } from "../tasks/follow/translated-streams.ts";
import { startTasks, type Tasks, type TasksOptions } from "../start-tasks.ts";
import { taskProblem } from "../tasks/task-problem.ts";

export interface TaskEndpointsOptions extends TasksOptions {
  /** What is wrong with the upstream of that name, in words that may be shown. */
  problemOf: (upstream: string) => string | undefined;
  /** How soon a store that could not be opened is tried again; 5 s unless told. */
  againMs?: number | undefined;
}

type State =
  | {
      is: "open";
      tasks: Tasks;
      handlers: TaskHandlers;
      agents: Omit<AgentServer, "isEnding">;
      letGo: () => void;
    }
  | { is: "shut"; problem: Problem };

const usualAgainMs = 5000;

/**
 * The handlers of tasks and chats. While the store cannot be opened, these answer with its problem and everything else
 * works; opening is retried until another process has released the store or somebody has repaired it.
 */
export class TaskEndpoints {
  readonly #options: TaskEndpointsOptions;
  #state: State;
  #again: NodeJS.Timeout | undefined;
  #opening: Promise<void> | undefined;
  #mayRecover = false;
  #isEnding = false;
  #isClosed = false;

  static async start(options: TaskEndpointsOptions): Promise<TaskEndpoints> {
    return new TaskEndpoints(options, await opened(options));
  }

  private constructor(options: TaskEndpointsOptions, state: State) {
    this.#options = options;
    this.#state = state;
    if (state.is === "open") return;
    this.#tryAgain();
  }

  /** Why there are no tasks now. */
  get problem(): Problem | undefined {
    return this.#state.is === "shut" ? this.#state.problem : undefined;
  }

  get handlers(): TaskHandlers {
    return Object.fromEntries(
      taskRoutes.map((name) => [
        name,
        (call) => {
          if (this.#state.is === "shut") throw this.#state.problem;
          return this.#state.handlers[name]?.(call);
        },
      ]),
    ) satisfies TaskHandlers;
  }

  /** Where agents are asked as models. Throws where there are no tasks. */
  agents(): AgentServer {
    if (this.#state.is === "shut") throw this.#state.problem;
    return { ...this.#state.agents, isEnding: () => this.#isEnding };
  }

  /** Takes up what an earlier process left, once clients can follow it. */
  recover(): void {
    this.#mayRecover = true;
    if (this.#state.is === "open") this.#state.tasks.recover();
  }

  /** Those who follow a task find it again when the gateway is back. */
  letGo(): void {
    this.#isEnding = true;
    if (this.#state.is === "open") this.#state.letGo();
  }

  async close(waitMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    await this.#opening;
    if (this.#state.is === "open") await this.#state.tasks.close(waitMs);
  }

  #tryAgain(): void {
    const { againMs = usualAgainMs, log } = this.#options;
    this.#again = setTimeout(() => {
      this.#opening = this.#openAgain().catch((error: unknown) => {
        log.error({ err: error }, "the tasks could not be opened");
        if (!this.#isClosed) this.#tryAgain();
      });
    }, againMs).unref();
  }

  async #openAgain(): Promise<void> {
    const state = await opened(this.#options);
    if (state.is === "open") this.#state = state;
    if (this.#isClosed) return;
    if (state.is === "shut") return this.#tryAgain();
    this.#options.log.info("the store is open now: there are tasks again");
    if (this.#mayRecover) this.recover();
  }
}

async function opened(options: TaskEndpointsOptions): Promise<State> {
  const { beatMs, config, relay, whenDiscovered, problemOf } = options;
  let tasks: Tasks;
  try {
    tasks = await startTasks(options);
  } catch (error) {
    const problem = taskProblem(error);
    if (problem instanceof Problem) return { is: "shut", problem };
    throw error;
  }
  const { service, streams, waiting, chats, changes, store } = tasks;
  const translated = new TranslatedStreams(service, beatMs);
  const places = new AnswerPlaces(store, changes);
  return {
    is: "open",
    tasks,
    handlers: {
      ...taskHandlers({ tasks: service, streams, places }),
      ...uiMessageHandlers({ tasks: service, streams: translated }),
      ...chatHandlers({
        chats,
        store,
        keyed: service.keyed,
        streams,
        choices: async () => chatChoices(config, await whenDiscovered(), relay.lessons, problemOf),
      }),
    },
    agents: {
      tasks: service,
      streams: translated,
      kept: new KeptResponses(),
      waiting,
    },
    letGo() {
      streams.close();
      translated.close();
      places.close();
    },
  };
}
