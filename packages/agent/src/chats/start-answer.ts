import { setTimeout as sleep } from "node:timers/promises";
import { getAnswerChain, getChosenVersion } from "@deltawire/tasks/chats";
import type {
  AnswerNode,
  AnswerVersion,
  Chat,
  NewAnswer,
  RunningAnswer,
  StoredChat,
} from "@deltawire/tasks/chats";
import { getErrorMessage } from "../event-text.ts";
import { computeMaskId } from "../privacy/vault.ts";
import {
  placeAsVersion,
  requireNode,
  requireVisible,
  type AnswerPlacement,
} from "./answer-placement.ts";
import type { ChatAgents } from "./chat-agents.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions, SendResult } from "./chats-options.ts";
import type { ChatRecords } from "./chat-records.ts";
import { assertModelOptions } from "./check-chat-settings.ts";
import { defaultIntervals, toStartingJob } from "./answer-sweeper.ts";
import { interruptedCode, type AnswerLifecycle } from "./answer-lifecycle.ts";
import { planAnswer, type AnswerOverrides } from "./answer-plan.ts";
import { assertQuestionSendable, buildTaskRequest, type Question } from "./build-task-request.ts";
import { findAnsweredMessage } from "./model-history.ts";
import type { TaskRequest } from "../task-request.ts";

/** Fields of every request for an answer. */
export interface AnswerRequest extends AnswerOverrides {
  /** If set and the chat has another revision, the request fails with `conflict`. */
  readonly revision?: number;
  /** Id for the task, chosen by the caller, so that a repeated request does not start a second task. */
  readonly task_id?: string;
  /** See `TaskRequest`. */
  readonly access_key?: string;
}

export interface AnswerServices {
  options: Required<ChatsOptions>;
  records: ChatRecords;
  lifecycle: AnswerLifecycle;
  agents: ChatAgents;
}

/** In total less than other processes wait before they end an answer that was never started. */
const startRetries = { delayMs: 500, maxMs: 20_000 };

/** An earlier request with the same task id. `unstarted`: the answer was saved, but its task never started. */
type EarlierSend =
  | { readonly status: "sent"; readonly result: SendResult }
  | {
      readonly status: "unstarted";
      readonly placement: AnswerPlacement;
      readonly buildQuestion: (stored: StoredChat) => Question;
    };

/** Starts the tasks that answer questions, each exactly once. */
export class AnswerStarter {
  readonly #services: AnswerServices;
  /** Requests in progress, by task id. */
  readonly #starting = new Map<string, { chatId: string; result: Promise<SendResult> }>();

  constructor(services: AnswerServices) {
    this.#services = services;
  }

  /** Resolves when a task that is being started has started or failed to start. */
  async waitForStart(taskId: string): Promise<void> {
    await this.#starting.get(taskId)?.result.catch(() => undefined);
  }

  /** Starts an answer. A repeated request returns the result of the first one, even if that is still in progress. */
  start(
    chatId: string,
    answerRequest: AnswerRequest,
    placement: AnswerPlacement,
    buildQuestion: (stored: StoredChat) => Question,
  ): Promise<SendResult> {
    const taskId = answerRequest.task_id ?? this.#services.options.newId("task");
    const earlier = this.#starting.get(taskId);
    if (earlier?.chatId === chatId) return earlier.result;
    const result = this.#startNow(chatId, taskId, answerRequest, placement, buildQuestion).finally(
      () => this.#starting.delete(taskId),
    );
    this.#starting.set(taskId, { chatId, result });
    return result;
  }

  /**
   * Checks the question, saves the message with a placeholder for the answer, and starts the task. The history is rendered
   * before the placeholder is added. If the chat has changed in the meantime, all of that is repeated.
   */
  async #startNow(
    chatId: string,
    taskId: string,
    answerRequest: AnswerRequest,
    placement: AnswerPlacement,
    buildQuestion: (stored: StoredChat) => Question,
  ): Promise<SendResult> {
    const { records, lifecycle, options, agents } = this.#services;
    assertModelOptions(answerRequest.options);
    const earlier =
      answerRequest.task_id === undefined ? undefined : await this.#findEarlierSend(chatId, taskId);
    if (earlier?.status === "sent") return earlier.result;
    // An earlier process saved the placeholder but never started the task, so it is started now.
    const [chosenPlacement, chosenBuildQuestion] =
      earlier === undefined
        ? [placement, buildQuestion]
        : [earlier.placement, earlier.buildQuestion];
    // Saving the placeholder has already increased the revision.
    const revision = earlier === undefined ? answerRequest.revision : undefined;
    const sendPlaceholder = async (stored: StoredChat) => {
      // Another process has received the same request.
      if (earlier === undefined && findAnswerOfTask(stored.chat, taskId) !== undefined)
        throw new AlreadySentError();
      const question = chosenBuildQuestion(stored);
      const plan = await planAnswer(
        question.chat,
        getChosenVersion(question.message),
        answerRequest,
        options,
      );
      assertQuestionSendable(question, plan);
      const { request: builtRequest, notices } = await buildTaskRequest(question, plan, {
        ...this.#services,
        owner: stored.owner ?? "",
      });
      const { access_key } = answerRequest;
      const request = { ...builtRequest, ...(access_key === undefined ? {} : { access_key }) };
      const {
        input: _input,
        history: _history,
        references_before: _before,
        ...agentRequest
      } = request;
      await options.checkRequest(agentRequest);
      const mask = computeMaskId(chatId, agents.resolvePrivacy(question.chat.settings));
      const placeholder: NewAnswer = {
        by: "model",
        status: "running",
        output: [],
        references: [],
        model_type: plan.capabilities.type,
        model: plan.model,
        ...(plan.agent === undefined ? {} : { agent: plan.agent }),
        task_id: taskId,
        answers: question.message.version,
        notices: [...plan.notices, ...notices],
        ...(question.continueFrom === undefined
          ? {}
          : { continues: question.continueFrom.version }),
        ...(mask === undefined ? {} : { masked_with: mask }),
      };
      const edit = chosenPlacement(question.chat, question.message, placeholder);
      const { removals: _removals, ...editResult } = records.applyEdits(question.chat, [edit]);
      return { ...editResult, request };
    };
    const saved = await records
      .change(chatId, revision, sendPlaceholder)
      .catch((error: unknown) => {
        if (error instanceof AlreadySentError) return undefined;
        throw error;
      });
    if (saved === undefined)
      return this.#startNow(chatId, taskId, answerRequest, placement, buildQuestion);
    const { request, node_id = "", version_id = "", before, after } = saved;
    const answer = { chat_id: chatId, node_id, version_id, task_id: taskId };
    lifecycle.follow(answer);
    const stopMarking = options.store.isShared ? this.#markStarting(taskId) : undefined;
    try {
      await this.#startTask(request, taskId, after.owner ?? "");
      if (options.store.isShared) await this.#cancelIfEnded(answer, after.stamp);
    } catch (error) {
      const { code = "failed" } = error as { code?: string };
      await lifecycle.fail(answer, code, getErrorMessage(error));
    } finally {
      stopMarking?.();
    }
    return { before, after, node_id, version_id, task_id: taskId };
  }

  /**
   * Starts the task of an answer whose message is stored. Tries again while the store cannot be reached. An attempt may be stored
   * although it was reported as failed: the runtime then resumes its task.
   */
  async #startTask(request: TaskRequest, taskId: string, owner: string): Promise<void> {
    const { runtime } = this.#services.options;
    const startedAt = performance.now();
    for (let isRepeated = false; ; isRepeated = true)
      try {
        if (isRepeated && (await runtime.state(taskId)).tasks[taskId] !== undefined) return;
        await runtime.start(request, taskId, { owner });
        return;
      } catch (error) {
        const { code } = error as { code?: string };
        // The failed attempt has not ended yet, or it has been stored meanwhile.
        const wasStarted = isRepeated && code === "id_taken";
        if (code !== "store_unreachable" && !wasStarted) throw error;
        if (performance.now() - startedAt > startRetries.maxMs) throw error;
        await sleep(startRetries.delayMs);
      }
  }

  /** Prevents other processes from ending the answer while its task is being started. Returns a function that stops this. */
  #markStarting(taskId: string): () => void {
    const { store, sweepIntervals } = this.#services.options;
    const { unstarted = defaultIntervals.unstarted } = sweepIntervals;
    const timer = setInterval(() => {
      // The next one is soon enough if this one fails.
      store.claimJob(toStartingJob(taskId), 0).catch(() => undefined);
    }, unstarted / 3).unref();
    return () => clearInterval(timer);
  }

  /** Cancels the task if another process has stopped the answer, or deleted the chat, before the task existed. */
  async #cancelIfEnded(answer: RunningAnswer, stamp: number): Promise<void> {
    const { store, runtime, onFailure } = this.#services.options;
    const { chat_id, node_id, version_id, task_id } = answer;
    try {
      // The changes since the placeholder was stored, with all running answers.
      const node = (await store.getChatUpdate(chat_id, stamp))?.nodes[node_id];
      const isRunning =
        node?.kind === "answer" &&
        node.versions.some(
          (version) => version.version_id === version_id && version.status === "running",
        );
      if (!isRunning) await runtime.cancel(task_id, "user");
    } catch (error) {
      onFailure(`could not check whether task ${task_id} was stopped`, error);
    }
  }

  /** Finds an earlier request with the same task id. Throws if its answer was deleted. */
  async #findEarlierSend(chatId: string, taskId: string): Promise<EarlierSend | undefined> {
    const stored = await this.#services.records.open(chatId);
    const { tasks } = await this.#services.options.runtime.state(taskId);
    const hasStarted = tasks[taskId] !== undefined;
    const answer = findAnswerOfTask(stored.chat, taskId);
    if (answer !== undefined) {
      const { node, version } = answer;
      if (!hasStarted && version.error?.code === interruptedCode)
        return resumeUnstarted(node, version);
      const { node_id } = node;
      const { version_id } = version;
      const result = { before: stored, after: stored, node_id, version_id, task_id: taskId };
      return { status: "sent", result };
    }
    if (!hasStarted) return undefined;
    throw new ChatError(
      "invalid_position",
      "this request was already sent, and its answer has been deleted since",
    );
  }
}

/** The chat already contains the answer of this request. */
class AlreadySentError extends Error {}

function findAnswerOfTask(
  { nodes }: Chat,
  taskId: string,
): { node: AnswerNode; version: AnswerVersion } | undefined {
  for (const node of Object.values(nodes)) {
    if (node.kind !== "answer") continue;
    const version = node.versions.findLast(({ task_id }) => task_id === taskId);
    if (version !== undefined) return { node, version };
  }
  return undefined;
}

function resumeUnstarted(
  { node_id }: AnswerNode,
  { continues }: AnswerVersion,
): Extract<EarlierSend, { status: "unstarted" }> {
  return {
    status: "unstarted",
    placement: placeAsVersion(node_id),
    buildQuestion: ({ chat }) => {
      const node = requireNode(chat, node_id);
      const message = findAnsweredMessage(chat, node_id);
      if (node.kind !== "answer" || message === undefined)
        throw new ChatError("invalid_position", "the message of this answer no longer exists");
      requireVisible(message);
      if (continues === undefined) return { chat, message };
      const versions = getAnswerChain(node, continues);
      return { chat, message, continueFrom: { version: continues, versions } };
    },
  };
}
