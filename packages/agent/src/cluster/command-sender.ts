import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded, type MessageBus } from "@deltawire/tasks";
import { RuntimeError } from "../runtime-error.ts";
import { busChannels } from "./bus-channels.ts";
import type { ClusterStore } from "./cluster-options.ts";
import type { TaskAction, TaskActionResult } from "./task-command.ts";

export interface CommandSenderOptions {
  store: ClusterStore;
  bus: MessageBus | undefined;
  newId: (prefix: string) => string;
  /** Runs the task in this process if no other process holds it. Called about once a second until there is an answer. */
  claim: (rootTaskId: string) => Promise<void>;
}

const pollMs = { initial: 20, max: 200 };
/** Longer than it takes other processes to claim the tasks of a dead process. */
const withdrawAfterMs = 20_000;
const claimEveryMs = 1000;

/** Sends actions to the processes that run the tasks, and waits for the answers. */
export class CommandSender {
  readonly #options: CommandSenderOptions;
  readonly #wakeUps = new Map<string, () => void>();
  readonly #unsubscribe: (() => void) | undefined;
  readonly #closing = new AbortController();

  constructor(options: CommandSenderOptions) {
    this.#options = options;
    this.#unsubscribe = options.bus?.subscribe(busChannels.answers, (id) =>
      this.#wakeUps.get(id)?.(),
    );
  }

  /** Resolves with the answer of the process that runs the task. */
  async send(rootTaskId: string, action: TaskAction): Promise<TaskActionResult> {
    const { store, bus, newId } = this.#options;
    const id = newId("cmd");
    await store.sendCommand({ id, rootTaskId, json: JSON.stringify(action) });
    bus?.publish(busChannels.commands, rootTaskId);
    const startedAt = performance.now();
    let claimedAt = startedAt;
    for (let delayMs = pollMs.initial; ; delayMs = Math.min(delayMs * 1.5, pollMs.max)) {
      await this.#wait(id, delayMs);
      const answer = await store.getCommandAnswer(id);
      if (answer !== undefined) return JSON.parse(answer) as TaskActionResult;
      const now = performance.now();
      if (now - startedAt >= withdrawAfterMs) return this.#answer(id, { type: "withdrawn" });
      if (now - claimedAt < claimEveryMs) continue;
      claimedAt = now;
      const [head] = await store.listHeads([rootTaskId]);
      if (head === undefined || hasEnded(head.status)) return this.#answer(id, { type: "ended" });
      await this.#options.claim(rootTaskId);
    }
  }

  close(): void {
    this.#unsubscribe?.();
    this.#closing.abort(new RuntimeError("closed", "the runtime is shutting down"));
  }

  /** Answers a command that no process has answered. If another process was faster, returns its answer instead. */
  async #answer(id: string, result: TaskActionResult): Promise<TaskActionResult> {
    const { store } = this.#options;
    await store.answerCommand(id, JSON.stringify(result));
    const answer = await store.getCommandAnswer(id);
    return answer === undefined ? result : (JSON.parse(answer) as TaskActionResult);
  }

  /** Waits until the bus reports an answer, but at most `ms`. */
  async #wait(id: string, ms: number): Promise<void> {
    const wakeUp = new AbortController();
    this.#wakeUps.set(id, () => wakeUp.abort());
    try {
      await sleep(ms, undefined, {
        signal: AbortSignal.any([wakeUp.signal, this.#closing.signal]),
      });
    } catch {
      this.#closing.signal.throwIfAborted();
    } finally {
      this.#wakeUps.delete(id);
    }
  }
}
