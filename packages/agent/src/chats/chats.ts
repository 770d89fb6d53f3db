import { randomBytes } from "node:crypto";
import {
  checkTags,
  checkTitle,
  createChat,
  findRunningAnswers,
  applySettingsPatch,
  upgradeChatSettings,
} from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatSettings,
  ChatUpdate,
  NewChatRecord,
  EditEnvironment,
  StoredChat,
  UserEdit,
} from "@deltawire/tasks/chats";
import type { Agent } from "../agent.ts";
import type { TruncationGuard } from "../truncate.ts";
import { getErrorMessage } from "../event-text.ts";
import { RuntimeError } from "../runtime-error.ts";
import type { AgentRequest } from "../task-request.ts";
import type { Variables } from "../variables/variables.ts";
import { resultPolicies, validateOneOf } from "../validate-definition.ts";
import { ChatAgents } from "./chat-agents.ts";
import { ChatChangeFeed, type ChatChangeListener } from "./chat-change-feed.ts";
import { ChatError } from "./chat-error.ts";
import {
  buildChatExport,
  prepareChatExtract,
  prepareChatImport,
  type ChatExport,
  type ExportFormat,
} from "./chat-import-export.ts";
import { ChatTitler } from "./chat-titler.ts";
import type {
  ChatChangeResult,
  ChatEditResult,
  ChatsOptions,
  CreateChatOptions,
  SendResult,
  StopResult,
} from "./chats-options.ts";
import { ChatRecords, upgradeStoredChat } from "./chat-records.ts";
import {
  pickChangedSettings,
  assertKnownNames,
  assertChatSettings,
} from "./check-chat-settings.ts";
import { AnswerLifecycle } from "./answer-lifecycle.ts";
import { AnswerSweeper, maxTitlesPerSweep } from "./answer-sweeper.ts";
import type { ModelCapabilities } from "../model.ts";
import type { AnswerRequest } from "./start-answer.ts";
import { ChatActions, type EditRequest, type SendRequest } from "./chat-actions.ts";

/** Maximum number of attempts to stop the answers of a deleted chat: answers that were being started may appear later. */
const maxStopAttempts = 5;

/** Manages chats: stores them as trees and starts the tasks that answer their messages. */
export class Chats {
  readonly #options: Required<ChatsOptions>;
  readonly #changes: ChatChangeFeed;
  readonly #records: ChatRecords;
  readonly #lifecycle: AnswerLifecycle;
  readonly #sweeper: AnswerSweeper;
  readonly #agents: ChatAgents;
  readonly #actions: ChatActions;
  readonly #titler: ChatTitler;
  #unsubscribeResumed: (() => void) | undefined;

  constructor(options: ChatsOptions) {
    const resolvedOptions = {
      getMeteredModel: options.getModel,
      getPrice: () => undefined,
      bus: undefined,
      findUnknownName: async () => undefined,
      defaultResponder: async () => ({}),
      skills: [],
      sweepIntervals: {},
      now: Date.now,
      newId: (prefix: string) => `${prefix}_${randomBytes(12).toString("hex")}`,
      onFailure: () => undefined,
      ...options,
    };
    this.#options = resolvedOptions;
    const { store, runtime, bus, getModel, skills, now, newId, onFailure } = resolvedOptions;
    const { limits, resultApproval = "never", settings, retrySeconds } = resolvedOptions.defaults;
    validateOneOf("resultApproval of the chat defaults", resultApproval, resultPolicies);
    const environment: EditEnvironment = { newId, now: () => new Date(now()).toISOString() };
    this.#changes = new ChatChangeFeed({ store, bus, onFailure });
    this.#records = new ChatRecords(store, environment, this.#changes);
    this.#agents = new ChatAgents({
      store,
      getModel,
      getCapabilities: (name) => this.#getCapabilities(name),
      skills,
      privacy: settings.privacy,
      limits,
      retrySeconds,
      resultApproval,
      now,
    });
    this.#titler = new ChatTitler(this.#records, this.#changes, {
      options: resolvedOptions,
      agents: this.#agents,
    });
    this.#lifecycle = new AnswerLifecycle(this.#records, {
      runtime,
      store,
      onFailure,
      onFinished: (chatId) => this.#titler.start(chatId),
    });
    this.#sweeper = new AnswerSweeper({
      store,
      isFollowed: (taskId) => this.#lifecycle.isFollowed(taskId),
      finish: (answer) => this.#lifecycle.finish(answer),
      interrupt: (answer) => this.#lifecycle.interrupt(answer),
      generateTitle: (chatId) => this.#titler.start(chatId),
      onFailure,
      intervals: resolvedOptions.sweepIntervals,
    });
    this.#actions = new ChatActions({
      options: resolvedOptions,
      records: this.#records,
      lifecycle: this.#lifecycle,
      agents: this.#agents,
    });
  }

  async create(
    input: { title?: string; settings?: ChatSettings; tags?: readonly string[] } = {},
    { owner = "", reservedId }: CreateChatOptions = {},
  ): Promise<StoredChat> {
    const [existing] = await this.#findReserved(reservedId, owner);
    if (existing !== undefined) return existing;
    const { settings = {} } = input;
    assertChatSettings(settings);
    const [problem] = [
      ...(input.title === undefined ? [] : checkTitle(input.title)),
      ...checkTags(input.tags ?? []),
    ];
    if (problem !== undefined) throw new ChatError("invalid_value", problem);
    await assertKnownNames(settings, "settings", this.#options);
    const chat = createChat({ ...input, settings }, this.#createEnvironment(reservedId));
    const [stored] = await this.#createAll([{ chat, owner }], { owner, reservedId });
    return stored ?? this.#records.open(chat.chat_id, { includeDeleted: true });
  }

  /** Returns the chat with the live output of running answers, or undefined if it does not exist. */
  async open(chatId: string): Promise<StoredChat | undefined> {
    const stored = upgradeStoredChat(await this.#options.store.getChat(chatId));
    return stored && this.#lifecycle.withLiveAnswers(stored);
  }

  /** Returns the changes since `stamp`. Undefined if the stamp is too old or the chat does not exist. */
  async openSince(chatId: string, stamp: number): Promise<ChatUpdate | undefined> {
    const update = await this.#options.store.getChatUpdate(chatId, stamp);
    return (
      update &&
      this.#lifecycle.withLiveAnswersInUpdate({ ...update, chat: upgradeChatSettings(update.chat) })
    );
  }

  async edit(
    chatId: string,
    edits: readonly UserEdit[],
    revision?: number,
  ): Promise<ChatEditResult> {
    // A title is generated with the privacy settings that applied when its generation started.
    if (edits.some(changesMask)) await this.#titler.stop(chatId);
    const checkEdits = async ({ chat }: StoredChat): Promise<readonly UserEdit[]> => {
      await this.#assertSettingsEdits(chat, edits);
      return edits;
    };
    return this.#perform(chatId, () => this.#records.edit(chatId, checkEdits, { revision }));
  }

  /** Restores what an edit deleted. */
  async undo(chatId: string, removalId: string): Promise<ChatChangeResult> {
    const removal = await this.#options.store.getRemoval(chatId, removalId);
    if (removal === undefined)
      throw new ChatError("removal_not_found", `unknown removal "${removalId}"`);
    const edits = [{ type: "restore", removal } as const];
    return this.#withLiveAnswers(this.#records.edit(chatId, edits, { restored: removalId }));
  }

  send(chatId: string, request: SendRequest): Promise<SendResult> {
    return this.#perform(chatId, () => this.#actions.send(chatId, request));
  }

  rerun(
    chatId: string,
    request: AnswerRequest & { readonly node_id: string },
  ): Promise<SendResult> {
    return this.#perform(chatId, () => this.#actions.rerun(chatId, request));
  }

  editMessage(chatId: string, request: EditRequest): Promise<SendResult | ChatChangeResult> {
    return this.#perform(chatId, () => this.#actions.edit(chatId, request));
  }

  continueAnswer(
    chatId: string,
    request: AnswerRequest & { readonly node_id: string },
  ): Promise<SendResult> {
    return this.#perform(chatId, () => this.#actions.continueAnswer(chatId, request));
  }

  async stop(chatId: string, options?: { node_id?: string }): Promise<StopResult> {
    const { stamp } = await this.#records.open(chatId, { includeDeleted: true });
    const answers = await this.#actions.stop(chatId, options);
    const update = await this.openSince(chatId, stamp);
    if (update !== undefined) return { answers, update };
    throw new ChatError("chat_not_found", "the chat was removed in the meantime");
  }

  /** Copies a subtree to a new chat of the same owner. The original is not changed. */
  async extract(
    chatId: string,
    nodeId: string,
    { reservedId }: Pick<CreateChatOptions, "reservedId"> = {},
  ): Promise<StoredChat> {
    return this.#lifecycle.performAfterEnds(chatId, async () => {
      const source = await this.#records.open(chatId);
      const { owner = "" } = source;
      const [existing] = await this.#findReserved(reservedId, owner);
      if (existing !== undefined) return existing;
      const environment = this.#createEnvironment(reservedId);
      const record = await prepareChatExtract(source, nodeId, this.#options.store, environment);
      const [stored] = await this.#createAll([record], { owner, reservedId });
      return stored ?? this.#records.open(record.chat.chat_id, { includeDeleted: true });
    });
  }

  /** Deletes a chat, permanently if `forever` is set. Running answers are stopped. */
  async remove(chatId: string, { forever = false } = {}): Promise<void> {
    const { store, now } = this.#options;
    const { deleted_at } = await this.#records.open(chatId, { includeDeleted: true });
    // Marked as deleted first, so that no new answer starts.
    if (deleted_at === undefined) await store.setDeleted(chatId, new Date(now()).toISOString());
    for (let attempt = 0; attempt < maxStopAttempts; attempt += 1)
      if ((await this.#actions.stop(chatId)).length === 0) break;
    if (forever) {
      await store.removeChat(chatId);
      this.#agents.evict(chatId);
      const { head } = await store.getChatStamps();
      return this.#changes.announce(head);
    }
    await this.#announceChange(chatId);
  }

  async restore(chatId: string): Promise<StoredChat> {
    await this.#options.store.setDeleted(chatId, null);
    return this.#announceChange(chatId);
  }

  async exportAs(chatId: string, format: ExportFormat): Promise<ChatExport> {
    const stored = await this.#lifecycle.withLiveAnswers(await this.#records.open(chatId));
    return buildChatExport(stored, format, this.#options.store, this.#records.environment);
  }

  /** Imports all chats of a file, or none. */
  async importFrom(
    value: unknown,
    { owner = "", reservedId }: CreateChatOptions = {},
  ): Promise<StoredChat[]> {
    const existing = await this.#findReserved(reservedId, owner);
    if (existing.length > 0) return existing;
    const { store } = this.#options;
    const environment = this.#createEnvironment(reservedId);
    const chats = await prepareChatImport(value, store, owner, environment);
    return this.#createAll(chats, { owner, reservedId });
  }

  /**
   * Calls the listener when chats have changed, in this process or another one of a shared store: immediately, or within a few
   * hundred milliseconds. Returns a function that unsubscribes.
   */
  subscribe(listener: ChatChangeListener): () => void {
    return this.#changes.subscribe(listener);
  }

  /** Prepares an agent for a task of a chat. Throws if the chat no longer exists, because its masking settings are then unknown. */
  async prepareAgent(agent: Agent, request: AgentRequest): Promise<Agent> {
    const { chat_id } = request;
    if (chat_id === undefined) return agent;
    const stored = upgradeStoredChat(await this.#options.store.getChat(chat_id));
    if (stored === undefined)
      throw new RuntimeError("invalid_agent", "the chat of this task no longer exists");
    const isNamed = request.agent !== undefined;
    const { owner = "" } = stored;
    return this.#agents.prepareAgent(agent, chat_id, stored.chat.settings, { isNamed, owner });
  }

  /** Returns the variables of a chat with running tasks. Undefined if its agent has no tools. */
  findVariables(chatId: string): Variables | undefined {
    return this.#agents.findVariables(chatId);
  }

  /** Returns the guard that prevents truncation from splitting private values of a chat. Undefined if nothing is masked. */
  findTruncationGuard(chatId: string): TruncationGuard | undefined {
    return this.#agents.findTruncationGuard(chatId);
  }

  /**
   * Resumes the answers of earlier processes and, on a shared store, from now on also those of processes that exit. Answers of
   * live processes are not touched. Call it before tasks are resumed, so that none of their events are missed.
   */
  async recover(): Promise<void> {
    const { store, runtime } = this.#options;
    if (!store.isShared) {
      const untitled = await store.claimUntitledChats({ minAgeMs: 0, limit: maxTitlesPerSweep });
      for (const chatId of untitled) this.#titler.start(chatId);
      return this.#lifecycle.recover(await store.listRunningAnswers());
    }
    this.#unsubscribeResumed ??= runtime.subscribeResumed(({ rootTaskId, request }) => {
      if (request.chat_id !== undefined)
        void this.#lifecycle.followResumed(request.chat_id, rootTaskId);
    });
    this.#sweeper.start();
  }

  async close(): Promise<void> {
    this.#unsubscribeResumed?.();
    this.#changes.close();
    const titlesClosed = this.#titler.close();
    await this.#sweeper.close();
    await this.#lifecycle.close();
    await titlesClosed;
  }

  #createEnvironment(reservedId: string | undefined): EditEnvironment {
    const { environment } = this.#records;
    return reservedId === undefined ? environment : withReservedIds(environment, reservedId);
  }

  async #findReserved(reservedId: string | undefined, owner: string): Promise<StoredChat[]> {
    const existing: StoredChat[] = [];
    if (reservedId === undefined) return existing;
    for (const chatId of generateReservedIds(reservedId)) {
      const stored = await this.open(chatId);
      if (stored === undefined || (stored.owner ?? "") !== owner) break;
      existing.push(stored);
    }
    return existing;
  }

  /** Returns the chats of an earlier request if another process has received the same request and was faster. */
  async #createAll(
    records: readonly NewChatRecord[],
    { owner, reservedId }: { owner: string; reservedId: string | undefined },
  ): Promise<StoredChat[]> {
    try {
      await this.#options.store.createChats(records);
    } catch (error) {
      const isTaken = error instanceof Error && "code" in error && error.code === "id_taken";
      const existing = isTaken ? await this.#findReserved(reservedId, owner) : [];
      if (existing.length === 0) throw error;
      return existing;
    }
    const storedChats: StoredChat[] = [];
    for (const { chat } of records) storedChats.push(await this.#announceChange(chat.chat_id));
    return storedChats;
  }

  /** Announces the change after a chat was created, deleted or restored. */
  async #announceChange(chatId: string): Promise<StoredChat> {
    const stored = await this.#records.open(chatId, { includeDeleted: true });
    this.#changes.announce(stored.stamp);
    return stored;
  }

  /**
   * Throws if the new settings are invalid, or if the masking would change while an answer runs. Only changed names are checked,
   * because earlier ones may no longer exist.
   */
  async #assertSettingsEdits(chat: Chat, edits: readonly UserEdit[]): Promise<void> {
    let { settings } = chat;
    for (const [index, edit] of edits.entries()) {
      if (edit.type !== "settings") continue;
      const path = `edits[${index}].patch`;
      const after = applySettingsPatch(settings, edit.patch);
      assertChatSettings(after, path);
      if (changesMask(edit) && findRunningAnswers(chat).length > 0)
        throw new ChatError(
          "still_running",
          "an answer is still running; stop it before changing the privacy settings",
        );
      await assertKnownNames(pickChangedSettings(settings, after), path, this.#options);
      settings = after;
    }
    if (edits.some(changesMask) && this.#titler.isRunning(chat.chat_id))
      throw new ChatError(
        "still_running",
        "a title is being generated; change the privacy settings again in a moment",
      );
  }

  /** Performs an action that running answers may prevent. */
  #perform<Result extends ChatChangeResult>(
    chatId: string,
    action: () => Promise<Result>,
  ): Promise<Result> {
    return this.#withLiveAnswers(this.#lifecycle.performAfterEnds(chatId, action));
  }

  /** Adds the live output of running answers to the result. */
  async #withLiveAnswers<Result extends ChatChangeResult>(
    change: Promise<Result>,
  ): Promise<Result> {
    const result = await change;
    const after = await this.#lifecycle.withLiveAnswers(result.after);
    // A repeated request changes nothing, so `before` and `after` stay the same object.
    return { ...result, after, before: result.before === result.after ? after : result.before };
  }

  /** Assumes a chat model with tools if the model is unknown: the request itself then fails with an error. */
  async #getCapabilities(model: string): Promise<Pick<ModelCapabilities, "type" | "tools">> {
    try {
      return (await this.#options.getModelInfo(model)).capabilities;
    } catch (error) {
      this.#options.onFailure(
        `the capabilities of ${model} are unknown: ${getErrorMessage(error)}`,
        error,
      );
      return { type: "chat", tools: true };
    }
  }
}

function changesMask(edit: UserEdit): boolean {
  return edit.type === "settings" && "privacy" in edit.patch;
}

/** Generates the ids for chats created under a reserved id. A repeated request finds the chats by these ids. */
function* generateReservedIds(first: string): Generator<string, never> {
  yield first;
  for (let number = 2; ; number += 1) yield `${first}_${number}`;
}

/** Uses the reserved ids for chats, in order. Other ids are unaffected. */
function withReservedIds(environment: EditEnvironment, first: string): EditEnvironment {
  const ids = generateReservedIds(first);
  return {
    ...environment,
    newId: (prefix) => (prefix === "chat" ? ids.next().value : environment.newId(prefix)),
  };
}
