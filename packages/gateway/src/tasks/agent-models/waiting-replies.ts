import type { TaskRequest } from "@deltawire/agent";
import type { TaskRecords } from "../task-runtime.ts";

const mostKept = 1000;

/** The request of a task that is told as a model's reply. The runtime keeps what it does not know, and so this key. */
export interface ReplyRequest extends TaskRequest {
  /** Equal for another try at the same request. */
  reply_key: string;
}

/**
 * Replies that ended because a person is needed, or because the gateway did. Clients send a request that failed once more,
 * by themselves or when the person has decided: the same request is about the task that waits, and starts no second one.
 */
export class WaitingReplies {
  readonly #tasks = new Map<string, string>();

  taskOf(request: string): string | undefined {
    return this.#tasks.get(request);
  }

  keep(request: string, taskId: string): void {
    this.#tasks.delete(request);
    this.#tasks.set(request, taskId);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > mostKept && oldest !== undefined) this.#tasks.delete(oldest);
  }

  forget(request: string): void {
    this.#tasks.delete(request);
  }
}

/** Those that an earlier process left: a task knows the request that it is the reply to. */
export async function waitingReplies(
  records: Pick<TaskRecords, "read">,
  unfinished: readonly string[],
  onFailure: (message: string, cause: unknown) => void,
): Promise<WaitingReplies> {
  const waiting = new WaitingReplies();
  for (const taskId of unfinished) {
    try {
      const [created] = await records.read(taskId, -1, 1);
      const { reply_key: key } = JSON.parse(created?.private ?? "{}") as Partial<ReplyRequest>;
      if (key !== undefined) waiting.keep(key, taskId);
    } catch (error) {
      // One that cannot be read costs nobody else anything.
      onFailure(`task ${taskId} cannot be read`, error);
    }
  }
  return waiting;
}
