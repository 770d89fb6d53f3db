import {
  buildTaskView,
  computeStateHash,
  createFetchTransport,
  createTaskStore,
  EventClient,
  hasEnded,
  type TaskTree,
  type TaskView,
} from "@deltawire/tasks";
import { MissingEvents } from "./missing-events.ts";

/** A client that follows tasks of a cluster like the page does, with cursors. */
export interface ClusterFollower {
  /** Follows a task from its first event, or from a cursor. */
  follow(taskId: string, after?: number): void;
  unfollow(taskId: string): void;
  tree(taskId: string): TaskTree | undefined;
  view(taskId: string): TaskView | undefined;
  /** True if the end of the task was received. */
  hasEnded(taskId: string): boolean;
  stateHash(taskId: string): string | undefined;
  /** Messages about sequence numbers that were missing or repeated. */
  readonly gaps: readonly string[];
  /** Returns messages about events that were skipped and have not been received since. */
  listMissingEvents(): string[];
  /** Number of events that were received. */
  readonly eventCount: number;
  close(): void;
}

/**
 * `getUrl` returns the process to connect to, for each connection, like a load balancer. `onEvent` gets the received events with
 * the number of the task's last one.
 */
export function createClusterFollower(
  getUrl: () => string,
  onEvent: (taskId: string, sequenceNumber: number) => void = () => undefined,
): ClusterFollower {
  const schedule = (ms: number, run: () => void): (() => void) => {
    // Processes come back soon; a page would wait longer.
    const timer = setTimeout(run, Math.min(ms, maxRetryMs));
    return () => clearTimeout(timer);
  };
  const client = new EventClient({
    transport: (request, handlers) =>
      createFetchTransport(globalThis, { baseUrl: getUrl() })(request, handlers),
    schedule,
    random: Math.random,
  });
  const gaps: string[] = [];
  const missingEvents = new MissingEvents();
  const heads = new Map<string, number>();
  let eventCount = 0;
  const store = createTaskStore({
    client,
    schedule,
    onEvent(taskId, event) {
      if (event.type === "task.snapshot") {
        heads.set(taskId, event.as_of);
        missingEvents.remove(taskId, 0, event.as_of);
      }
      if (!("sequence_number" in event)) return;
      const { sequence_number: number, coalesced_from: from = number } = event;
      const expectedNumber = (heads.get(taskId) ?? -1) + 1;
      if (from !== expectedNumber)
        gaps.push(`${taskId}: ${from} was received instead of ${expectedNumber}`);
      missingEvents.add(taskId, expectedNumber, from - 1);
      missingEvents.remove(taskId, from, number);
      heads.set(taskId, number);
      eventCount += number - from + 1;
      onEvent(taskId, number);
    },
  });
  client.open();
  const view = (taskId: string): TaskView | undefined => {
    const tree = store.tree(taskId);
    return tree?.tasks[taskId] === undefined ? undefined : buildTaskView(tree, taskId);
  };
  return {
    follow(taskId, after = -1) {
      heads.set(taskId, after);
      store.follow(taskId, { after });
    },
    unfollow: (taskId) => store.unfollow(taskId),
    tree: (taskId) => store.tree(taskId),
    view,
    hasEnded(taskId) {
      const status = view(taskId)?.status;
      return status !== undefined && hasEnded(status);
    },
    stateHash(taskId) {
      const taskView = view(taskId);
      return taskView && computeStateHash(taskView);
    },
    gaps,
    listMissingEvents: () => missingEvents.list(),
    get eventCount() {
      return eventCount;
    },
    close() {
      store.close();
      client.close();
    },
  };
}

const maxRetryMs = 500;
