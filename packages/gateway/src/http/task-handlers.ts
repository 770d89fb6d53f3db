import { AnswerLocator } from "../chats/answer-locator.ts";
import { buildChatChoices } from "../chats/chat-choices.ts";
import type { ResponseHistory } from "../history/response-history.ts";
import { startTasks, type StartTasksOptions } from "../start-tasks.ts";
import { TranslatedStreams } from "../tasks/streams/translated-streams.ts";
import type { AgentRouteServices } from "./serve-agent.ts";
import { createChatHandlers } from "./serve-chats.ts";
import { createTaskHandlers } from "./serve-tasks.ts";
import { createUiMessageHandlers } from "./serve-ui-messages.ts";
import type { TaskRouteHandlers } from "./server.ts";

export interface TaskHandlersOptions extends StartTasksOptions {
  /** Returns what is wrong with an upstream, without secrets, or undefined if it works. */
  describeUpstreamProblem: (upstream: string) => string | undefined;
  /** Stores the replies of agents. */
  history: ResponseHistory;
}

/** The running tasks and chats, and the handlers that serve them. */
export interface ServedTasks {
  handlers: TaskRouteHandlers;
  agents: Omit<AgentRouteServices, "isShuttingDown">;
  /** False while a store that several processes share cannot be reached. */
  readonly isStoreReachable: boolean;
  /** Resumes the unfinished tasks of an earlier process, in the background. */
  recover(): void;
  /** Ends all event streams. */
  disconnectClients(): void;
  /** `waitMs`: how long to wait for running tools. */
  close(waitMs: number): Promise<void>;
}

/** Starts tasks and chats. Throws a StoreError. */
export async function serveTasks(options: TaskHandlersOptions): Promise<ServedTasks> {
  const { config, store, relay, history, tickMs } = options;
  const { waitForDiscoveredModels, describeUpstreamProblem } = options;
  const tasks = await startTasks(options);
  const { service, streams, chats, chatFeed } = tasks;
  const translatedStreams = new TranslatedStreams(service, tickMs);
  const answerLocator = new AnswerLocator(store, chatFeed);
  return {
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
    agents: { tasks: service, streams: translatedStreams, history },
    get isStoreReachable() {
      return tasks.isStoreReachable;
    },
    recover: () => tasks.recover(),
    disconnectClients() {
      streams.close();
      translatedStreams.close();
      answerLocator.close();
    },
    close: (waitMs) => tasks.close(waitMs),
  };
}
