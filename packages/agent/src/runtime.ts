import { createHash, randomBytes } from "node:crypto";
import {
  assertNever,
  hasEnded,
  scopeBlobs,
  type ApprovalScope,
  type BlobStore,
  type ContentPart,
  type InputItem,
  type TaskLimits,
  type ApprovalResolution,
  type StoreErrorCode,
  type TaskCreation,
  type TaskEvent,
  type TaskLease,
  type TaskLog,
  type TaskStatus,
  type TaskTree,
} from "@deltawire/tasks";
import type { ResponseInputItem } from "@deltawire/wire";
import { getModelName, type Agent } from "./agent.ts";
import { extractBlobs } from "./blobs/extract-blobs.ts";
import type { TruncationGuard } from "./truncate.ts";
import { toLateDecisionResult, type DecisionResult } from "./approvals/decisions.ts";
import { PendingApprovals, type PendingTaskApproval } from "./approvals/pending-approvals.ts";
import { ClusterMember } from "./cluster/cluster-member.ts";
import type { ClusterOptions, ClusterStore } from "./cluster/cluster-options.ts";
import { RemoteApprovals } from "./cluster/remote-approvals.ts";
import { StoreClock } from "./cluster/store-clock.ts";
import type { TaskAction, TaskActionResult } from "./cluster/task-command.ts";
import { emptyLogHead, type LogHead, type TaskListener } from "./cluster/task-delivery.ts";
import { TaskSubscriptions } from "./cluster/task-subscriptions.ts";
import { getErrorMessage } from "./event-text.ts";
import { renderTranscript } from "./model/task-history.ts";
import { scanReferences } from "./model/history-references.ts";
import { mergeLimits, assertPriced } from "./task/limits.ts";
import type { Model } from "./model.ts";
import { defaultRetryPolicy, type ModelRetryPolicy } from "./model/model-retry.ts";
import { readLatestProgress } from "./log/latest-progress.ts";
import { PrivateRecords, readCreationRecords, readTaskLog } from "./log/private-records.ts";
import { RuntimeError } from "./runtime-error.ts";
import type { AgentRequest, TaskRequest } from "./task-request.ts";
import { buildToolset } from "./task/toolset.ts";
import { StoppedError } from "./task/stop-reason.ts";
import { TreeRun, type InitialTree, type TreeLease, type TreeOptions } from "./run/tree-run.ts";
import type { ModelPrice } from "./task/usage.ts";
import type { Variables } from "./variables/variables.ts";

export interface RuntimeOptions {
  log: TaskLog;
  blobs: BlobStore;
  /**
   * Returns the agent of a request. Throws a RuntimeError if the agent, model or tool group does not exist. `recovered` is true
   * for a task that an earlier process started: after any other error, resuming it is retried later.
   */
  agentFor: (request: AgentRequest, options: { recovered: boolean }) => Agent | Promise<Agent>;
  /** Returns the model with this name, for agents whose model is a name. */
  getModel: (name: string) => Model;
  /** Returns the price of a model. A task with a cost limit cannot start if the price of its model is unknown. */
  getPrice?: (model: string) => ModelPrice | undefined;
  /** Removes secrets from tool results and model errors before they are written to the log. */
  redact?: (text: string) => string;
  /**
   * Returns the index from which the end of the text could be an incomplete secret, or the length of the text if there is none.
   * If only `redact` is given, text that a tool streams is not shown before it is complete.
   */
  findSecretStart?: (text: string) => number;
  /**
   * Returns the variables of a chat: stored long values that models pass on by name. Without it, or if it returns
   * undefined, long values are not stored. Not called for tasks without a chat.
   */
  variablesFor?: (chatId: string) => Variables | undefined;
  /** Returns the guard that prevents truncation from splitting private values of a chat. Undefined if text may be split anywhere. */
  truncationGuardFor?: (chatId: string) => TruncationGuard | undefined;
  modelRetryPolicy?: Partial<ModelRetryPolicy>;
  /** Shares the tasks with the runtimes of other processes. Default: no other process uses the log. */
  cluster?: ClusterOptions;
  now?: () => number;
  newId?: (prefix: string) => string;
  /** Called with the stored state of a root task that this process runs when it starts, continues, waits for a decision or ends. */
  onStatus?: (rootTaskId: string, state: TaskTree) => void;
  /** Called when this process has claimed tasks that no process ran, with their number. */
  onClaimed?: (tasks: number) => void;
  /** Called when the lease of this process had expired, with the number of its tasks that other processes have taken over. */
  onLeaseExpired?: (lostTasks: number) => void;
  onFailure?: (message: string, cause: unknown) => void;
}

/** A root task with its request, without the input. */
export interface RunningRootTask {
  readonly rootTaskId: string;
  readonly request: AgentRequest;
}

/** A root task that an earlier process, or another process that has exited, did not finish. */
export type ResumedTask = RunningRootTask;

/** A task that this process may run, with the epoch of its claim if other processes can claim it too. */
interface ResumableTask {
  taskId: string;
  epoch?: number;
}

interface RunningTree {
  readonly tree: TreeRun;
  readonly ended: Promise<void>;
}

interface PendingSubscription {
  readonly listener: () => void;
  /** Undefined: all owners. */
  readonly owner: string | undefined;
}

/** The epoch of a task that its creator runs. */
const firstEpoch = 1;

/** After a failed write to the log, tasks are resumed with exponential backoff. */
const recoveryBackoffMs = { initial: 5000, max: 60_000 };
/** Starting the tools of an agent may take long, so that tasks should not wait for each other. */
const maxConcurrentResumes = 16;

/** Runs tasks, and resumes tasks that another process did not finish. */
export class Runtime {
  readonly #options: Omit<TreeOptions, "onStored" | "onLogFailed"> &
    Required<Pick<RuntimeOptions, "agentFor" | "onStatus" | "onClaimed" | "onLeaseExpired">>;
  readonly #trees = new Map<string, RunningTree>();
  readonly #resuming = new Map<string, Promise<TreeRun | "elsewhere" | undefined>>();
  readonly #cluster: ClusterMember | undefined;
  readonly #clusterStore: ClusterStore | undefined;
  readonly #subscriptions: TaskSubscriptions;
  readonly #pendingSubscriptions = new Set<PendingSubscription>();
  readonly #resumedListeners = new Set<(task: ResumedTask) => void>();
  readonly #pendingApprovals: PendingApprovals;
  readonly #remoteApprovals: RemoteApprovals | undefined;
  #recoveryTimer: NodeJS.Timeout | undefined;
  #recoveryDelayMs = recoveryBackoffMs.initial;
  #isClosed = false;

  constructor(options: RuntimeOptions) {
    this.#options = {
      getPrice: () => undefined,
      redact: (text) => text,
      ...(options.redact === undefined && { findSecretStart: (text: string) => text.length }),
      variablesFor: () => undefined,
      truncationGuardFor: () => undefined,
      sha256: (text) => createHash("sha256").update(text).digest("hex"),
      now: Date.now,
      newId: (prefix) => `${prefix}_${randomBytes(12).toString("hex")}`,
      onStatus: () => undefined,
      onClaimed: () => undefined,
      onLeaseExpired: () => undefined,
      onFailure: () => undefined,
      ...options,
      modelRetryPolicy: { ...defaultRetryPolicy, ...options.modelRetryPolicy },
    };
    const { log, cluster } = options;
    const clock = cluster && new StoreClock(cluster.store, this.#options.now);
    if (clock !== undefined) this.#options = { ...this.#options, now: () => clock.now() };
    const { onFailure } = this.#options;
    const findTree = (id: string): TreeRun | undefined => this.#findTree(id);
    this.#subscriptions = new TaskSubscriptions({
      log,
      cluster,
      findLocalHead: (id) => findLogHead(id, findTree(id)?.storedState),
      notify: (call) => this.#notify(call),
      onFailure,
    });
    this.#pendingApprovals = new PendingApprovals({ log, index: cluster?.store, findTree });
    if (cluster === undefined || clock === undefined) return;
    this.#clusterStore = cluster.store;
    this.#remoteApprovals = new RemoteApprovals({
      ...cluster,
      isLocal: (id) => findTree(id) !== undefined,
      onChanged: (owners) => this.#notifyPendingListeners(owners),
      onFailure,
    });
    this.#cluster = this.#joinCluster(cluster, clock);
  }

  /**
   * Starts a root task. Returns its id as soon as the task is stored. `id` is for callers that have already announced one. The
   * task reads and writes the blobs and grants of `creation.owner`. Throws a RuntimeError with the code `id_taken` if a task with
   * this id exists.
   */
  async start(
    request: TaskRequest,
    id = this.#options.newId("task"),
    creation?: TaskCreation,
  ): Promise<string> {
    if (this.#isClosed) throw createClosedError();
    const { input, history = [], references_before, ...agentRequest } = request;
    const { owner = "" } = creation ?? {};
    const blobs = scopeBlobs(this.#options.blobs, owner);
    const agent = await this.#options.agentFor(agentRequest, { recovered: false });
    const limits = mergeLimits(agent.limits, agentRequest.limits);
    this.#assertRunnable(agent, limits);
    const content = await toContentParts(input, blobs);
    const storedHistory = await extractBlobs(history, blobs);
    const { lastNumber } = scanReferences(history, references_before);
    await this.#cluster?.start();
    if (this.#trees.has(id)) throw createIdTakenError(id);
    if (this.#isClosed) throw createClosedError();
    const tree = this.#createTree(id, {
      privateRecords: new PrivateRecords(),
      include: agentRequest.include ?? [],
      owner,
      lease: this.#createLease(firstEpoch),
      creation,
    });
    const storedOwner = owner === "" ? undefined : owner;
    const storedRequest = { ...agentRequest, content, history: storedHistory, owner: storedOwner };
    tree.create(agent, limits, agentRequest.session_id, storedRequest, lastNumber);
    this.#startTree(tree, agent);
    try {
      await tree.journal.whenStored();
    } catch (error) {
      throw hasErrorCode(error, "id_taken") ? createIdTakenError(id) : error;
    }
    return id;
  }

  /** Throws the error that `start` would throw for this request. */
  async check(request: AgentRequest): Promise<void> {
    const agent = await this.#options.agentFor(request, { recovered: false });
    this.#assertRunnable(agent, mergeLimits(agent.limits, request.limits));
  }

  /**
   * Resumes the unfinished tasks in the log, except those that another process runs. From then on, also resumes the tasks of
   * processes that exit. Returns the ids of the root tasks that were resumed immediately. If it rejects, it is repeated in the
   * background.
   */
  async recover(): Promise<string[]> {
    try {
      return await this.#recoverNow();
    } catch (error) {
      this.#scheduleRecovery();
      throw error;
    }
  }

  async #recoverNow(): Promise<string[]> {
    if (this.#cluster === undefined) {
      const ids = await this.#options.log.listUnfinished();
      return this.#resumeAll(
        ids.filter((id) => !this.#trees.has(id)).map((taskId) => ({ taskId })),
      );
    }
    const claimedTasks = await this.#cluster.claimFreeTasks();
    const claimedIds = new Set(claimedTasks.map(({ taskId }) => taskId));
    // Tasks of this process that stopped, for example because the log could not be written.
    const idleTasks = (await this.#cluster.listLeases())
      .map(({ taskId }) => ({ taskId }))
      .filter(({ taskId: id }) => !claimedIds.has(id) && !this.#trees.has(id));
    return this.#resumeAll([...claimedTasks, ...idleTasks]);
  }

  /** False while a store that several processes share cannot be reached. May lag by up to a second. */
  get isStoreReachable(): boolean {
    return this.#cluster?.isStoreReachable ?? true;
  }

  /**
   * Returns the stored state of a task that this process runs; undefined for other tasks, and while another process may have
   * continued the task.
   */
  live(rootTaskId: string): TaskTree | undefined {
    return this.#findCurrentTree(rootTaskId)?.storedState;
  }

  /** Returns the latest progress event of each unfinished call and round of a task. */
  async progress(rootTaskId: string): Promise<TaskEvent[]> {
    const tree = this.#findTree(rootTaskId);
    if (tree !== undefined) return tree.progress.events;
    const [logHead] = (await this.#clusterStore?.listHeads([rootTaskId])) ?? [];
    if (logHead === undefined || hasEnded(logHead.status)) return [];
    return readLatestProgress(this.#options.log, rootTaskId, logHead.head);
  }

  /** Returns the state of a running or ended task. */
  async state(rootTaskId: string): Promise<TaskTree> {
    return this.live(rootTaskId) ?? (await readTaskLog(this.#options.log, rootTaskId)).state;
  }

  /** Returns the unfinished root tasks that this process runs. */
  listRunning(): RunningRootTask[] {
    return [...this.#trees.keys()].flatMap((rootTaskId) => {
      const tree = this.#findCurrentTree(rootTaskId);
      if (tree === undefined || hasEnded(tree.storedState.tasks[rootTaskId]?.status)) return [];
      return { rootTaskId, request: getAgentRequest(tree.privateRecords, rootTaskId) };
    });
  }

  /** Returns the request of a root task without its input. Empty if the task does not exist. */
  async request(rootTaskId: string): Promise<AgentRequest> {
    const records =
      this.#findTree(rootTaskId)?.privateRecords ??
      (await readCreationRecords(this.#options.log, rootTaskId));
    return getAgentRequest(records, rootTaskId);
  }

  /** Like `state`, with the content that the model received of each tool result, by item id. */
  async contents(
    rootTaskId: string,
  ): Promise<{ state: TaskTree; contentOf: (itemId: string) => ContentPart[] | undefined }> {
    const { state, privateRecords } = await this.#readStateWithPrivateRecords(rootTaskId);
    return { state, contentOf: (itemId) => privateRecords.item(itemId).content };
  }

  /** Like `state`, with the items that represent the task in the history of later turns: its output, without its request. */
  async transcript(rootTaskId: string): Promise<{ state: TaskTree; items: ResponseInputItem[] }> {
    const { state, privateRecords } = await this.#readStateWithPrivateRecords(rootTaskId);
    const root = state.tasks[rootTaskId];
    return { state, items: root === undefined ? [] : renderTranscript(root, privateRecords) };
  }

  /**
   * Calls `listener` with each batch of events as soon as it is stored, whichever process runs the task. Returns a function that
   * unsubscribes.
   */
  subscribe(rootTaskId: string, listener: TaskListener): () => void {
    return this.#subscriptions.subscribe(rootTaskId, listener);
  }

  /**
   * Calls `listener` with each root task that this process resumes, before its first new event. Returns a function that
   * unsubscribes.
   */
  subscribeResumed(listener: (task: ResumedTask) => void): () => void {
    this.#resumedListeners.add(listener);
    return () => this.#resumedListeners.delete(listener);
  }

  async decide(
    approvalId: string,
    decision: Omit<ApprovalResolution, "scope"> & { scope?: ApprovalScope },
  ): Promise<DecisionResult> {
    const rootTaskId = await this.#options.log.findRootTaskByApproval(approvalId);
    if (rootTaskId === undefined) return { type: "not_found" };
    const outcome = await this.#perform(rootTaskId, { type: "decide", approvalId, decision });
    if (outcome.type === "failed") return { type: "invalid", message: outcome.message };
    if (outcome.type === "decided") return outcome.result;
    const { state } = await readTaskLog(this.#options.log, rootTaskId);
    const approval = state.approvals.find(({ approval_id }) => approval_id === approvalId);
    return approval === undefined
      ? { type: "not_found" }
      : toLateDecisionResult(approval, decision);
  }

  /** Returns the pending approvals of all unfinished tasks, oldest first. With `owner`, only those of this owner. */
  pending(owner?: string): Promise<PendingTaskApproval[]> {
    return this.#pendingApprovals.list(owner);
  }

  /**
   * Calls `listener` whenever the pending approvals may have changed, with `owner` only those of this owner. Returns a function
   * that unsubscribes.
   */
  subscribePending(listener: () => void, owner?: string): () => void {
    const subscription = { listener, owner };
    this.#pendingSubscriptions.add(subscription);
    this.#remoteApprovals?.start();
    return () => {
      this.#pendingSubscriptions.delete(subscription);
      if (this.#pendingSubscriptions.size === 0) this.#remoteApprovals?.stop();
    };
  }

  /** Cancels a root task, or only the task of a sub-agent. Resolves when the end of the task is stored. */
  async cancel(
    taskId: string,
    by: string,
    reason?: string,
  ): Promise<"canceled" | "ended" | "unknown"> {
    const root = await this.#options.log.findRootTask(taskId);
    if (root === undefined) return "unknown";
    const action = {
      type: "cancel",
      taskId,
      by,
      ...(reason === undefined ? {} : { reason }),
    } as const;
    const { type } = await this.#perform(root, action);
    return type === "canceled" ? "canceled" : "ended";
  }

  /**
   * Adds a user message to a running task: for the next round (`steer`), or after the agent's answer (`queue`). `id` becomes
   * the id of the message item.
   */
  async input(
    taskId: string,
    content: string | readonly ContentPart[],
    delivery: "steer" | "queue",
    id = this.#options.newId("in"),
  ): Promise<"added" | "ended" | "unknown"> {
    const root = await this.#options.log.findRootTask(taskId);
    if (root === undefined) return "unknown";
    const parts =
      typeof content === "string"
        ? await toContentParts(content, this.#options.blobs)
        : await toContentParts(content, await this.#findBlobs(root));
    const item: InputItem = { type: "message", id, role: "user", content: parts };
    const outcome = await this.#perform(root, { type: "input", taskId, item, delivery });
    if (outcome.type === "failed") throw new RuntimeError(outcome.code, outcome.message);
    return outcome.type === "added" ? "added" : "ended";
  }

  /**
   * Stops all tasks without ending them: `recover` resumes them, in this or another process. Running tools may take `waitMs` to
   * finish, so that users need not be asked whether their calls were carried out.
   */
  async close(waitMs = 0): Promise<void> {
    this.#isClosed = true;
    this.#cluster?.stop();
    this.#subscriptions.stopPolling();
    this.#remoteApprovals?.stop();
    clearTimeout(this.#recoveryTimer);
    const runningTrees = [...this.#trees.values()];
    await Promise.all(runningTrees.map((running) => this.#stopTree(running, waitMs)));
    await this.#cluster?.releaseAll();
  }

  /** Stops a task and releases it, so that another process need not wait for the tools of other tasks. */
  async #stopTree({ tree, ended }: RunningTree, waitMs: number): Promise<void> {
    await tree.detach(waitMs);
    await ended;
    try {
      await tree.journal.whenStored();
      if (!hasEnded(tree.storedState.tasks[tree.rootTaskId]?.status))
        await this.#cluster?.release(tree.rootTaskId);
    } catch {
      // `releaseAll` releases it.
    }
  }

  async #readStateWithPrivateRecords(
    rootTaskId: string,
  ): Promise<{ state: TaskTree; privateRecords: PrivateRecords }> {
    const tree = this.#findCurrentTree(rootTaskId);
    return tree === undefined
      ? readTaskLog(this.#options.log, rootTaskId)
      : { state: tree.storedState, privateRecords: tree.privateRecords };
  }

  /** Returns the blobs of the owner of a task. */
  async #findBlobs(rootTaskId: string): Promise<BlobStore> {
    const tree = this.#findTree(rootTaskId);
    if (tree !== undefined) return tree.options.blobs;
    const records = await readCreationRecords(this.#options.log, rootTaskId);
    return scopeBlobs(this.#options.blobs, records.owner(rootTaskId));
  }

  /** Throws if the agent cannot run. Called before a task is created or resumed. */
  #assertRunnable(agent: Agent, limits: TaskLimits): void {
    buildToolset(agent);
    assertPriced(getModelName(agent), limits, this.#options.getPrice);
  }

  #createTree(id: string, initialTree: InitialTree): TreeRun {
    const { agentFor: _agentFor, onStatus, ...allOptions } = this.#options;
    const options = { ...allOptions, blobs: scopeBlobs(allOptions.blobs, initialTree.owner) };
    let approvals = initialTree.state?.approvals ?? [];
    let status: TaskStatus | undefined;
    this.#subscriptions.onStarted(id, findLogHead(id, initialTree.state) ?? emptyLogHead);
    return new TreeRun(
      {
        ...options,
        onStored: (entries, state) => {
          this.#recoveryDelayMs = recoveryBackoffMs.initial;
          if (state.tasks[id]?.status !== status) {
            status = state.tasks[id]?.status;
            this.#notify(() => onStatus(id, state));
          }
          this.#subscriptions.onStored(id, entries);
          const previousApprovals = approvals;
          // An ended task has no pending approvals.
          approvals = hasEnded(state.tasks[id]?.status) ? [] : state.approvals;
          if (approvals === previousApprovals) return;
          if (approvals.length + previousApprovals.length === 0) return;
          this.#remoteApprovals?.announce();
          this.#notifyPendingListeners(new Set([initialTree.owner]));
        },
        onLogFailed: (error) => {
          this.#subscriptions.onStopped(id);
          if (hasErrorCode(error, "id_taken")) return;
          if (hasErrorCode(error, "lease_lost")) {
            options.onFailure(`task ${id} was taken over by another process`, error);
            return;
          }
          const failureMessage = `task ${id} stopped because its log could not be written: ${getErrorMessage(error)}`;
          options.onFailure(failureMessage, error);
          this.#scheduleRecovery();
        },
      },
      id,
      initialTree,
    );
  }

  #startTree(tree: TreeRun, agent: Agent): void {
    const id = tree.rootTaskId;
    this.#pendingApprovals.markRunning(id);
    const ended = tree
      .run(agent)
      .catch((error: unknown) => {
        if (!tree.hasFailed) this.#options.onFailure(`task ${id} failed`, error);
      })
      .finally(() => {
        // The run of an id that was taken does not replace the run of that task.
        if (this.#trees.get(id)?.tree === tree) this.#trees.delete(id);
        this.#subscriptions.onStopped(id);
        // The task could not be resumed while it was still in the map.
        if (tree.hasFailed) this.#scheduleRecovery();
      });
    this.#trees.set(id, { tree, ended });
  }

  /** Returns the run of a task, unless this process has lost the task. */
  #findTree(rootTaskId: string): TreeRun | undefined {
    const tree = this.#trees.get(rootTaskId)?.tree;
    return tree?.lease !== undefined && tree.hasFailed ? undefined : tree;
  }

  /** Returns the run of a task, unless another process may have continued the task. */
  #findCurrentTree(rootTaskId: string): TreeRun | undefined {
    const tree = this.#findTree(rootTaskId);
    return tree?.lease?.isValid() === false ? undefined : tree;
  }

  /** `owners`: whose approvals may have changed; undefined if unknown. */
  #notifyPendingListeners(owners: ReadonlySet<string> | undefined): void {
    for (const { listener, owner } of this.#pendingSubscriptions)
      if (owner === undefined || owners === undefined || owners.has(owner)) this.#notify(listener);
  }

  #notify(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#options.onFailure(`a task listener failed: ${getErrorMessage(error)}`, error);
    }
  }

  /** Joins the processes that share the tasks of a store. */
  #joinCluster(options: ClusterOptions, clock: StoreClock): ClusterMember {
    const { newId, onClaimed, onFailure } = this.#options;
    const resumeAll = (leases: readonly ResumableTask[]): void => {
      this.#resumeAll(leases).catch(() => this.#scheduleRecovery());
    };
    return new ClusterMember({
      ...options,
      newId,
      clock,
      onFailure,
      isRunning: (id) => (id === undefined ? this.#trees.size > 0 : this.#trees.has(id)),
      perform: (id, action, isOpen) => this.#performHere(id, action, isOpen),
      claim: async (id) => void (await this.#getOrResume(id)),
      onClaimed: (leases) => {
        this.#notify(() => onClaimed(leases.length));
        resumeAll(leases);
      },
      onHeld: (ids) =>
        resumeAll(ids.filter((id) => !this.#trees.has(id)).map((taskId) => ({ taskId }))),
      onLapsed: (listLeases) => this.#abandonLostTrees(listLeases),
    });
  }

  /** Stops the tasks that other processes have taken over. */
  async #abandonLostTrees(listLeases: () => Promise<readonly TaskLease[]>): Promise<void> {
    // A task whose creation is being stored is not listed yet. If it has been taken over, its next batch is rejected.
    const storedTrees = [...this.#trees].filter(([, { tree }]) => tree.storedState.head >= 0);
    const epochs = new Map((await listLeases()).map(({ taskId, epoch }) => [taskId, epoch]));
    let lostTasks = 0;
    for (const [id, { tree }] of storedTrees) {
      if (epochs.get(id) === tree.lease?.epoch || hasEnded(tree.storedState.tasks[id]?.status))
        continue;
      tree.abandon();
      this.#subscriptions.onStopped(id);
      lostTasks += 1;
    }
    this.#notify(() => this.#options.onLeaseExpired(lostTasks));
  }

  #createLease(epoch: number): TreeLease | undefined {
    const cluster = this.#cluster;
    if (cluster === undefined) return undefined;
    return { processId: cluster.processId, epoch, isValid: () => cluster.isLeaseValid };
  }

  /** Performs an action on a running task, in the process that runs it. */
  async #perform(rootTaskId: string, action: TaskAction): Promise<TaskActionResult> {
    const localResult = await this.#performHere(rootTaskId, action);
    if (localResult !== undefined || this.#cluster === undefined)
      return localResult ?? { type: "ended" };
    const result = await this.#cluster.send(rootTaskId, action);
    if (result.type === "withdrawn") throw createUnavailableError();
    if (result.type === "failed" && result.code === "unavailable")
      throw new RuntimeError(result.code, result.message);
    return result;
  }

  /**
   * Returns undefined if another process runs the task. `isOpen`: returns false if the action was withdrawn while the task was
   * being resumed.
   */
  async #performHere(
    rootTaskId: string,
    action: TaskAction,
    isOpen?: () => Promise<boolean>,
  ): Promise<TaskActionResult | undefined> {
    const running = await this.#getOrResume(rootTaskId);
    if (running === "elsewhere") return undefined;
    if (running === undefined) return { type: "ended" };
    if (isOpen !== undefined && !(await isOpen())) return undefined;
    try {
      if (!(running instanceof RuntimeError)) return await performOnTree(running, action);
      if (action.type === "cancel")
        return { type: await this.#cancelUnresumable(rootTaskId, action.by, action.reason) };
      return { type: "failed", code: running.code, message: running.message };
    } catch (error) {
      // The action had no effect: the process that resumes the task performs it.
      const isDetached = error instanceof StoppedError && error.reason.type === "detached";
      if (this.#cluster !== undefined && (isDetached || hasErrorCode(error, "lease_lost")))
        return undefined;
      throw isDetached ? createClosedError() : error;
    }
  }

  /** Resumes tasks. Returns the ids of those that were resumed. */
  async #resumeAll(tasks: readonly ResumableTask[]): Promise<string[]> {
    const resumedIds = new Set<string>();
    const remaining = [...tasks];
    const resumeRemaining = async (): Promise<void> => {
      for (let task = remaining.shift(); task !== undefined; task = remaining.shift())
        if (await this.#tryResume(task)) resumedIds.add(task.taskId);
    };
    await Promise.all(
      Array.from({ length: Math.min(maxConcurrentResumes, tasks.length) }, resumeRemaining),
    );
    return tasks.map(({ taskId }) => taskId).filter((id) => resumedIds.has(id));
  }

  /** Returns false if the task was not resumed. */
  async #tryResume({ taskId, epoch }: ResumableTask): Promise<boolean> {
    try {
      return (await this.#resume(taskId, epoch)) instanceof TreeRun;
    } catch (error) {
      this.#options.onFailure(`could not resume task ${taskId}: ${getErrorMessage(error)}`, error);
      // A RuntimeError is caused by the configuration, so a retry would not help.
      if (!(error instanceof RuntimeError)) this.#scheduleRecovery();
      return false;
    }
  }

  /** Returns the run of a root task and resumes it if necessary. Undefined if it has ended; an error if it cannot be resumed. */
  async #getOrResume(id: string): Promise<TreeRun | RuntimeError | "elsewhere" | undefined> {
    const running = this.#trees.get(id)?.tree;
    // Another process may have claimed the task. If none has, this one continues it after the next renewal.
    if (running?.lease?.isValid() === false) return "elsewhere";
    try {
      return running ?? (await this.#resume(id));
    } catch (error) {
      if (error instanceof RuntimeError && error.code !== "closed") return error;
      throw error;
    }
  }

  /** Concurrent calls for a task share one attempt, because the state must still match the log when the run starts. */
  #resume(id: string, epoch?: number): Promise<TreeRun | "elsewhere" | undefined> {
    const resuming =
      this.#resuming.get(id) ??
      this.#resumeNow(id, epoch).finally(() => {
        this.#resuming.delete(id);
      });
    this.#resuming.set(id, resuming);
    return resuming;
  }

  async #resumeNow(
    id: string,
    claimedEpoch: number | undefined,
  ): Promise<TreeRun | "elsewhere" | undefined> {
    const running = this.#trees.get(id);
    if (running !== undefined) return running.tree;
    const epoch = claimedEpoch ?? (await this.#claim(id));
    if (typeof epoch === "string") return epoch === "ended" ? undefined : epoch;
    try {
      return await this.#resumeClaimed(id, epoch);
    } catch (error) {
      // The task cannot run with the configuration of this process.
      if (error instanceof RuntimeError && !this.#isClosed) await this.#cluster?.release(id);
      throw error;
    }
  }

  /** Reserves a task for this process. Returns the epoch of the claim. */
  async #claim(id: string): Promise<number | "ended" | "elsewhere"> {
    if (this.#cluster === undefined) return firstEpoch;
    if (this.#isClosed) throw createClosedError();
    const [lease] = await this.#cluster.claimTasks([id]);
    if (lease !== undefined) return lease.epoch;
    return (await this.#cluster.hasEnded(id)) ? "ended" : "elsewhere";
  }

  async #resumeClaimed(id: string, epoch: number): Promise<TreeRun | undefined> {
    const { state, privateRecords } = await readTaskLog(this.#options.log, id);
    const root = state.tasks[id];
    if (root === undefined || hasEnded(root.status)) return undefined;
    const request = getAgentRequest(privateRecords, id);
    const agent = await this.#options.agentFor(request, { recovered: true });
    this.#assertRunnable(agent, root.info.limits ?? agent.limits);
    if (this.#isClosed) throw createClosedError();
    const tree = this.#createTree(id, {
      state,
      privateRecords,
      include: request.include ?? [],
      owner: privateRecords.owner(id),
      lease: this.#createLease(epoch),
    });
    this.#startTree(tree, agent);
    for (const listener of this.#resumedListeners)
      this.#notify(() => listener({ rootTaskId: id, request }));
    return tree;
  }

  /** Cancels a task whose agent is no longer configured. */
  async #cancelUnresumable(
    id: string,
    by: string,
    reason: string | undefined,
  ): Promise<"canceled" | "ended"> {
    const resuming = this.#resuming.get(id);
    if (resuming !== undefined) return resuming.then(() => "ended" as const);
    const cancelTree = async (): Promise<"canceled" | "ended"> => {
      const epoch = await this.#claim(id);
      if (epoch === "ended") return "ended";
      if (epoch === "elsewhere") throw createUnavailableError();
      const lease = this.#createLease(epoch);
      const { state, privateRecords } = await readTaskLog(this.#options.log, id);
      const owner = privateRecords.owner(id);
      const tree = this.#createTree(id, { state, privateRecords, include: [], owner, lease });
      return tree.cancel(id, by, reason);
    };
    const cancellation = cancelTree();
    const done = cancellation.then(() => undefined);
    // Prevents an unhandled rejection; the caller gets the error from the returned promise.
    done.catch(() => undefined);
    this.#resuming.set(id, done);
    return cancellation.finally(() => this.#resuming.delete(id));
  }

  #scheduleRecovery(): void {
    // A failing log stops many tasks at once; one timer resumes all of them.
    if (this.#isClosed || this.#recoveryTimer !== undefined) return;
    this.#recoveryTimer = setTimeout(() => {
      this.#recoveryTimer = undefined;
      this.recover().catch(() => undefined);
    }, this.#recoveryDelayMs);
    this.#recoveryDelayMs = Math.min(this.#recoveryDelayMs * 2, recoveryBackoffMs.max);
  }
}

async function performOnTree(tree: TreeRun, action: TaskAction): Promise<TaskActionResult> {
  switch (action.type) {
    case "decide": {
      const result = await tree.decisions.decide(action.approvalId, action.decision);
      return { type: "decided", result };
    }
    case "cancel":
      return { type: await tree.cancel(action.taskId, action.by, action.reason) };
    case "input": {
      const isAdded = await tree.addInput(action.taskId, action.item, action.delivery);
      return { type: isAdded ? "added" : "ended" };
    }
    default:
      return assertNever(action);
  }
}

function getAgentRequest(privateRecords: PrivateRecords, rootTaskId: string): AgentRequest {
  const { content: _c, history: _h, owner: _o, ...request } = privateRecords.request(rootTaskId);
  return request;
}

function findLogHead(rootTaskId: string, state: TaskTree | undefined): LogHead | undefined {
  return state && { head: state.head, status: state.tasks[rootTaskId]?.status ?? "created" };
}

function hasErrorCode(error: unknown, code: StoreErrorCode): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function createIdTakenError(id: string): RuntimeError {
  return new RuntimeError("id_taken", `a task with the id "${id}" exists`);
}

function createClosedError(): RuntimeError {
  return new RuntimeError("closed", "the runtime is shutting down");
}

function createUnavailableError(): RuntimeError {
  return new RuntimeError("unavailable", "no process runs this task at the moment; try again");
}

async function toContentParts(
  userInput: string | readonly ContentPart[],
  blobs: BlobStore,
): Promise<ContentPart[]> {
  const parts = typeof userInput === "string" ? [{ type: "text", text: userInput }] : userInput;
  return (await extractBlobs(parts, blobs)) as ContentPart[];
}
