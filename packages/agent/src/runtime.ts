import { createHash, randomBytes } from "node:crypto";
import {
  hasEnded,
  type ApprovalScope,
  type BlobStore,
  type ContentPart,
  type Limits,
  type LogEntry,
  type Resolution,
  type TaskEvent,
  type TaskLog,
  type TaskTree,
} from "@deltawire/tasks";
import type { InputItem } from "@deltawire/wire";
import { modelNameOf, type Agent } from "./agent.ts";
import { withBlobs } from "./log/blobs.ts";
import type { Cuts } from "./cuts.ts";
import { decidedBefore, type Decided } from "./approvals/decisions.ts";
import { PendingDecisions, type PendingDecision } from "./approvals/pending-decisions.ts";
import { messageOf } from "./event-text.ts";
import { transcriptOf } from "./model/history.ts";
import { earlierNumbers } from "./model/history-references.ts";
import { limitsOf, mustHavePrice } from "./task/limits.ts";
import type { Model } from "./model.ts";
import { usualWaits, type ModelWaits } from "./model/model-waits.ts";
import { PrivateParts, readTask } from "./log/private-parts.ts";
import { RuntimeError } from "./runtime-error.ts";
import type { AgentRequest, TaskRequest } from "./task-request.ts";
import { toolsetOf } from "./task/toolset.ts";
import { TreeRun, type Beginning, type TreeOptions } from "./run/tree-run.ts";
import type { Price } from "./task/usage.ts";
import type { Variables } from "./variables/variables.ts";

export interface RuntimeOptions {
  log: TaskLog;
  blobs: BlobStore;
  /**
   * Throws a RuntimeError where there is no such agent, model or group. `recovered`: the task has begun before, and what
   * else is thrown leaves it for another try in a while.
   */
  agentFor: (request: AgentRequest, how: { recovered: boolean }) => Agent | Promise<Agent>;
  /** For agents whose model is a name. */
  model: (name: string) => Model;
  /** A task whose cost is limited needs the price of its model. */
  price?: (model: string) => Price | undefined;
  /** Takes secrets out of what tools give and of what models fail with, before it is written. */
  redact?: (text: string) => string;
  /**
   * Where a secret may begin that continues behind the end of a text; its length if there is none. Without it, and with
   * `redact`, a text that a tool streams is shown when it is complete.
   */
  secretStart?: (text: string) => number;
  /**
   * Where the long values of a chat are kept, so that models can pass them on by name. Undefined: nowhere, as for a task
   * that answers in none.
   */
  variablesOf?: (chatId: string) => Variables | undefined;
  /** Where long results may be cut in a chat whose private values are masked. Undefined: anywhere. */
  cutsOf?: (chatId: string) => Cuts | undefined;
  modelWaits?: Partial<ModelWaits>;
  now?: () => number;
  newId?: (prefix: string) => string;
  onFailure?: (message: string, cause: unknown) => void;
}

export type Listener = (entries: readonly LogEntry[], state: TaskTree) => void;

/** After the log could not be written, tasks are taken up again as soon as it can: every try doubles the wait. */
const againAfterMs = { first: 5000, longest: 60_000 };

/** Runs tasks, and takes up those that another process has left. */
export class Runtime {
  readonly #options: Omit<TreeOptions, "onKept" | "onLost"> & Pick<RuntimeOptions, "agentFor">;
  readonly #trees = new Map<string, { tree: TreeRun; ended: Promise<void> }>();
  readonly #takingUp = new Map<string, Promise<TreeRun | undefined>>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #pendingListeners = new Set<() => void>();
  readonly #pending: PendingDecisions;
  #again: NodeJS.Timeout | undefined;
  #againAfterMs = againAfterMs.first;
  #closed = false;

  constructor(options: RuntimeOptions) {
    this.#options = {
      price: () => undefined,
      redact: (text) => text,
      ...(options.redact === undefined && { secretStart: (text: string) => text.length }),
      variablesOf: () => undefined,
      cutsOf: () => undefined,
      sha256: (what) => createHash("sha256").update(what).digest("hex"),
      now: Date.now,
      newId: (prefix) => `${prefix}_${randomBytes(12).toString("hex")}`,
      onFailure: () => undefined,
      ...options,
      modelWaits: { ...usualWaits, ...options.modelWaits },
    };
    this.#pending = new PendingDecisions(options.log, (id) => this.#trees.get(id)?.tree);
  }

  /** The id of a root task, once it is kept that there is one; `id` is for whoever has promised it before. */
  async start(request: TaskRequest, id = this.#options.newId("task")): Promise<string> {
    if (this.#closed) throw new RuntimeError("closed", "the runtime is shutting down");
    const { input, history = [], references_before, ...asked } = request;
    const { blobs } = this.#options;
    const agent = await this.#options.agentFor(asked, { recovered: false });
    const limits = limitsOf(agent.limits, asked.limits);
    this.#mustWork(agent, limits);
    const content = await partsOf(input, blobs);
    const past = await withBlobs(history, blobs);
    const { last } = earlierNumbers(history, references_before);
    if (this.#closed) throw new RuntimeError("closed", "the runtime is shutting down");
    const tree = this.#tree(id, { privateParts: new PrivateParts(), include: asked.include ?? [] });
    const kept = { ...asked, content, history: past };
    tree.create(agent, limits, asked.session_id, kept, last);
    this.#begin(tree, agent);
    await tree.journal.settled();
    return id;
  }

  /** Throws what the start of such a task would fail with. */
  async check(request: AgentRequest): Promise<void> {
    const agent = await this.#options.agentFor(request, { recovered: false });
    this.#mustWork(agent, limitsOf(agent.limits, request.limits));
  }

  /** Takes up what the log says is not finished; the ids of the root tasks. */
  async recover(): Promise<string[]> {
    const ids = (await this.#options.log.unfinished()).filter((id) => !this.#trees.has(id));
    const taken: string[] = [];
    for (const id of ids) {
      try {
        if ((await this.#takeUp(id)) !== undefined) taken.push(id);
      } catch (error) {
        this.#options.onFailure(`task ${id} cannot be taken up: ${messageOf(error)}`, error);
        // What is not configured will not be in a moment; anything else may pass.
        if (!(error instanceof RuntimeError)) this.#comeBack();
      }
    }
    return taken;
  }

  /** The kept state of a task that runs here. */
  live(rootTaskId: string): TaskTree | undefined {
    return this.#trees.get(rootTaskId)?.tree.kept;
  }

  /** What the calls and models of a task that runs here have last told of how far they are, of those that are not done. */
  progress(rootTaskId: string): TaskEvent[] {
    return this.#trees.get(rootTaskId)?.tree.progress.events ?? [];
  }

  /** What a task has come to, whether it runs or has ended. */
  async state(rootTaskId: string): Promise<TaskTree> {
    return this.live(rootTaskId) ?? (await readTask(this.#options.log, rootTaskId)).state;
  }

  /** The same, with what the model received of each result, by item id. */
  async contents(
    rootTaskId: string,
  ): Promise<{ state: TaskTree; contentOf: (itemId: string) => ContentPart[] | undefined }> {
    const { state, privateParts } = await this.#stateWithPrivateParts(rootTaskId);
    return { state, contentOf: (itemId) => privateParts.item(itemId).content };
  }

  /** The same, and what a model is told of it in a later turn: all that it said and did, without what it was asked. */
  async transcript(rootTaskId: string): Promise<{ state: TaskTree; items: InputItem[] }> {
    const { state, privateParts } = await this.#stateWithPrivateParts(rootTaskId);
    const root = state.tasks[rootTaskId];
    return { state, items: root === undefined ? [] : transcriptOf(root, privateParts) };
  }

  /** Tells of every batch of events that is kept from now on. The answer ends it. */
  subscribe(rootTaskId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(rootTaskId) ?? new Set();
    this.#listeners.set(rootTaskId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(rootTaskId) === listeners)
        this.#listeners.delete(rootTaskId);
    };
  }

  async decide(
    approvalId: string,
    resolution: Omit<Resolution, "scope"> & { scope?: ApprovalScope },
  ): Promise<Decided> {
    const rootTaskId = await this.#options.log.rootOfApproval(approvalId);
    if (rootTaskId === undefined) return { is: "unknown" };
    const running = await this.#running(rootTaskId);
    if (running instanceof RuntimeError) return { is: "invalid", message: running.message };
    if (running !== undefined) return running.decisions.decide(approvalId, resolution);
    const { state } = await readTask(this.#options.log, rootTaskId);
    const approval = state.approvals.find(({ approval_id }) => approval_id === approvalId);
    return approval === undefined ? { is: "unknown" } : decidedBefore(approval, resolution);
  }

  /** What tasks that have not ended wait for, the oldest first. */
  pending(): Promise<PendingDecision[]> {
    return this.#pending.all();
  }

  /** Tells whenever that may be another, of whichever task. The answer ends it. */
  subscribePending(listener: () => void): () => void {
    this.#pendingListeners.add(listener);
    return () => this.#pendingListeners.delete(listener);
  }

  /** Ends a task, or the task of a sub-agent alone. Answers when that is kept. */
  async cancel(
    taskId: string,
    by: string,
    reason?: string,
  ): Promise<"canceled" | "ended" | "unknown"> {
    const root = await this.#options.log.rootOf(taskId);
    if (root === undefined) return "unknown";
    const running = await this.#running(root);
    if (!(running instanceof RuntimeError))
      return running === undefined ? "ended" : running.cancel(taskId, by, reason);
    return this.#endAlone(root, by, reason);
  }

  /** A user's word while the task runs: for the next round, or for when the agent has answered. `id`: of its item. */
  async input(
    taskId: string,
    content: string | readonly ContentPart[],
    delivery: "steer" | "queue",
    id = this.#options.newId("in"),
  ): Promise<"added" | "ended" | "unknown"> {
    const root = await this.#options.log.rootOf(taskId);
    if (root === undefined) return "unknown";
    const parts = await partsOf(content, this.#options.blobs);
    const running = await this.#running(root);
    if (running instanceof RuntimeError) throw running;
    const item = { type: "message", id, role: "user", content: parts } as const;
    return (await running?.addInput(taskId, item, delivery)) === true ? "added" : "ended";
  }

  /**
   * Stops everything and says nothing: what is in the log is gone on with by `recover`, here or elsewhere. Tools that run
   * have `waitMs` to come to their end, so that nobody has to be asked what became of them.
   */
  async close(waitMs = 0): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#again);
    const running = [...this.#trees.values()];
    await Promise.all(running.map(({ tree }) => tree.leave(waitMs)));
    await Promise.all(running.map(({ ended }) => ended));
    await Promise.allSettled(running.map(({ tree }) => tree.journal.settled()));
  }

  async #stateWithPrivateParts(
    rootTaskId: string,
  ): Promise<{ state: TaskTree; privateParts: PrivateParts }> {
    const tree = this.#trees.get(rootTaskId)?.tree;
    return tree === undefined
      ? readTask(this.#options.log, rootTaskId)
      : { state: tree.kept, privateParts: tree.privateParts };
  }

  /** Throws where an agent cannot work: before there is a task, or before it goes on. */
  #mustWork(agent: Agent, limits: Limits): void {
    toolsetOf(agent);
    mustHavePrice(modelNameOf(agent), limits, this.#options.price);
  }

  #tree(id: string, from: Beginning): TreeRun {
    const { agentFor: _agentFor, ...options } = this.#options;
    let asked = from.state?.approvals ?? [];
    return new TreeRun(
      {
        ...options,
        onKept: (entries, state) => {
          this.#againAfterMs = againAfterMs.first;
          for (const listener of this.#listeners.get(id) ?? [])
            this.#tell(() => listener(entries, state));
          const before = asked;
          // A task that has ended asks nothing, whatever it had asked.
          asked = hasEnded(state.tasks[id]?.status) ? [] : state.approvals;
          if (asked !== before && asked.length + before.length > 0)
            for (const listener of this.#pendingListeners) this.#tell(listener);
        },
        onLost: (error) => {
          const lost = `task ${id} has stopped, its log cannot be written: ${messageOf(error)}`;
          options.onFailure(lost, error);
          this.#comeBack();
        },
      },
      id,
      from,
    );
  }

  #begin(tree: TreeRun, agent: Agent): void {
    const id = tree.rootTaskId;
    this.#pending.taken(id);
    const ended = tree
      .run(agent)
      .catch((error: unknown) => {
        if (!tree.hasFailed) this.#options.onFailure(`task ${id} failed`, error);
      })
      .finally(() => {
        this.#trees.delete(id);
        // While it was coming to its end nobody could take it up.
        if (tree.hasFailed) this.#comeBack();
      });
    this.#trees.set(id, { tree, ended });
  }

  #tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#options.onFailure(`a listener failed: ${messageOf(error)}`, error);
    }
  }

  /** The run of a root task, taken up if it is not finished; an error where nobody can go on with it. */
  async #running(id: string): Promise<TreeRun | RuntimeError | undefined> {
    try {
      return this.#trees.get(id)?.tree ?? (await this.#takeUp(id));
    } catch (error) {
      if (error instanceof RuntimeError && error.code !== "closed") return error;
      throw error;
    }
  }

  /** One at a time: a state that was read must still be that of the log when its run begins. */
  #takeUp(id: string): Promise<TreeRun | undefined> {
    const taking =
      this.#takingUp.get(id) ??
      this.#takeUpAlone(id).finally(() => {
        this.#takingUp.delete(id);
      });
    this.#takingUp.set(id, taking);
    return taking;
  }

  async #takeUpAlone(id: string): Promise<TreeRun | undefined> {
    const running = this.#trees.get(id);
    if (running !== undefined) return running.tree;
    const { state, privateParts } = await readTask(this.#options.log, id);
    const root = state.tasks[id];
    if (root === undefined || hasEnded(root.status)) return undefined;
    const { content: _content, history: _history, ...asked } = privateParts.request(id);
    const request = asked as AgentRequest;
    const agent = await this.#options.agentFor(request, { recovered: true });
    this.#mustWork(agent, root.info.limits ?? agent.limits);
    if (this.#closed) throw new RuntimeError("closed", "the runtime is shutting down");
    const tree = this.#tree(id, { state, privateParts, include: request.include ?? [] });
    this.#begin(tree, agent);
    return tree;
  }

  /** Nobody can go on with it, but it can be ended. */
  async #endAlone(
    id: string,
    by: string,
    reason: string | undefined,
  ): Promise<"canceled" | "ended"> {
    const busy = this.#takingUp.get(id);
    if (busy !== undefined) return busy.then(() => "ended" as const);
    const end = async (): Promise<"canceled" | "ended"> => {
      const { state, privateParts } = await readTask(this.#options.log, id);
      return this.#tree(id, { state, privateParts, include: [] }).cancel(id, by, reason);
    };
    const ending = end();
    const done = ending.then(() => undefined);
    // Whoever waits for it is told; nobody has to.
    done.catch(() => undefined);
    this.#takingUp.set(id, done);
    return ending.finally(() => this.#takingUp.delete(id));
  }

  #comeBack(): void {
    // Many tasks may be lost at once, and come back together.
    if (this.#closed || this.#again !== undefined) return;
    this.#again = setTimeout(() => {
      this.#again = undefined;
      this.recover().catch(() => this.#comeBack());
    }, this.#againAfterMs);
    this.#againAfterMs = Math.min(this.#againAfterMs * 2, againAfterMs.longest);
  }
}

async function partsOf(
  said: string | readonly ContentPart[],
  blobs: BlobStore,
): Promise<ContentPart[]> {
  const parts = typeof said === "string" ? [{ type: "text", text: said }] : said;
  return (await withBlobs(parts, blobs)) as ContentPart[];
}
