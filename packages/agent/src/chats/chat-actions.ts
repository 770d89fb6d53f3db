import {
  getAnswerChain,
  getChosenVersion,
  lastNodeOnPath,
  findNode,
  findRunningAnswers,
} from "@deltawire/tasks/chats";
import type {
  AnswerNode,
  Attachment,
  Chat,
  ChatEdit,
  ContextSnippet,
  NewAnswer,
  NewMessage,
  RunningAnswer,
} from "@deltawire/tasks/chats";
import { getErrorMessage } from "../event-text.ts";
import {
  appendAnswer,
  placeAsVersion,
  requireNode,
  requireVisible,
  addVersionOrInsert,
  type AnswerPlacement,
} from "./answer-placement.ts";
import { AnswerStarter, type AnswerRequest, type AnswerServices } from "./start-answer.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions, ChatChangeResult, SendResult } from "./chats-options.ts";
import { assertModelOptions } from "./check-chat-settings.ts";
import type { Question } from "./build-task-request.ts";
import { findAnsweredMessage } from "./model-history.ts";

export interface SendRequest extends AnswerRequest {
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  readonly contexts?: readonly ContextSnippet[];
  /** Parent node. Absent: the end of the current path. Null: a new root. */
  readonly parent?: string | null;
}

export interface EditRequest extends AnswerRequest {
  readonly node_id: string;
  readonly text: string;
  /** Absent: unchanged. */
  readonly attachments?: readonly Attachment[];
  readonly contexts?: readonly ContextSnippet[];
  /** Whether the edit becomes a new version of the node or a new branch next to it. */
  readonly as: "version" | "branch";
  /** Whether to request a new answer. */
  readonly send: boolean;
}

/** The user actions that request or change an answer: send, rerun, edit, continue, stop. */
export class ChatActions {
  readonly #services: AnswerServices;
  readonly #starter: AnswerStarter;

  constructor(services: AnswerServices) {
    this.#services = services;
    this.#starter = new AnswerStarter(services);
  }

  send(chatId: string, request: SendRequest): Promise<SendResult> {
    const { text, attachments = [], contexts = [], options, parent } = request;
    const message = { text, attachments, contexts, ...(options && { options }) };
    return this.#starter.start(chatId, request, appendAnswer, ({ chat }) => {
      const parentId = parent === undefined ? (lastNodeOnPath(chat)?.node_id ?? null) : parent;
      return this.#buildQuestion(chat, { type: "add_message", parent: parentId, message });
    });
  }

  /** Requests another version of the answer, or a first answer if the message has none. */
  rerun(
    chatId: string,
    request: AnswerRequest & { readonly node_id: string },
  ): Promise<SendResult> {
    const { node_id } = request;
    const placement: AnswerPlacement = (chat, message, answer) =>
      (findNode(chat, node_id)?.kind === "answer" ? placeAsVersion(node_id) : addVersionOrInsert)(
        chat,
        message,
        answer,
      );
    return this.#starter.start(chatId, request, placement, ({ chat }) => {
      const node = requireNode(chat, node_id);
      const message = node.kind === "user" ? node : findAnsweredMessage(chat, node.node_id);
      if (message === undefined)
        throw new ChatError("invalid_position", "a separator has no answer to rerun");
      return { chat, message: requireVisible(message) };
    });
  }

  async edit(chatId: string, request: EditRequest): Promise<SendResult | ChatChangeResult> {
    const { node_id, as, send, revision, options } = request;
    assertModelOptions(options);
    const { chat } = await this.#services.records.open(chatId);
    const node = requireNode(chat, node_id);
    if (node.kind === "separator")
      throw new ChatError("invalid_position", "a separator cannot be edited");
    if (node.kind === "answer" && as === "branch")
      throw new ChatError("invalid_position", "an answer can only be edited as a version");
    if (node.kind === "answer") return this.#rewriteAnswer(chatId, node, request);
    const edit = (current: Chat): ChatEdit => {
      const message = buildEditedMessage(current, request);
      if (as === "version") return { type: "add_message_version", node_id, message };
      return { type: "add_message", parent: findNode(current, node_id)?.parent ?? null, message };
    };
    if (!send)
      return this.#services.records.edit(chatId, async ({ chat: current }) => [edit(current)], {
        revision,
      });
    const placement = as === "version" ? addVersionOrInsert : appendAnswer;
    return this.#starter.start(chatId, request, placement, (stored) =>
      this.#buildQuestion(stored.chat, edit(stored.chat)),
    );
  }

  /** Continues an answer that has ended, for example one that was interrupted. Both parts are shown as one answer. */
  continueAnswer(
    chatId: string,
    request: AnswerRequest & { readonly node_id: string },
  ): Promise<SendResult> {
    const { node_id } = request;
    return this.#starter.start(chatId, request, placeAsVersion(node_id), ({ chat }) => {
      const node = requireNode(chat, node_id);
      const message = findAnsweredMessage(chat, node_id);
      if (node.kind !== "answer" || message === undefined)
        throw new ChatError("invalid_position", "only an answer can be continued");
      if (getChosenVersion(node).status === "running")
        throw new ChatError("still_running", "the answer is still running");
      return {
        chat,
        message: requireVisible(message),
        continueFrom: { version: node.version, versions: getAnswerChain(node, node.version) },
      };
    });
  }

  /** Stops one answer, or all running ones. Output that is already complete is retained. */
  async stop(chatId: string, { node_id }: { node_id?: string } = {}): Promise<RunningAnswer[]> {
    const { chat } = await this.#services.records.open(chatId, { includeDeleted: true });
    if (node_id !== undefined) requireNode(chat, node_id);
    const runningAnswers = findRunningAnswers(chat).filter(
      (answer) => node_id === undefined || answer.node_id === node_id,
    );
    for (const answer of runningAnswers) {
      // The task of an answer can only be canceled after it was started.
      await this.#starter.waitForStart(answer.task_id);
      await this.#stopTask(answer);
    }
    return runningAnswers;
  }

  async #stopTask(answer: RunningAnswer): Promise<void> {
    const { options, lifecycle } = this.#services;
    try {
      const cancelResult = await options.runtime.cancel(answer.task_id, "user");
      if (cancelResult === "unknown") await lifecycle.abort(answer);
      else await lifecycle.waitForEnd(answer);
    } catch (error) {
      // If the task can still be read, it may still be running: report that it was not stopped.
      if (await isTaskReadable(options.runtime, answer.task_id)) throw error;
      options.onFailure(
        `task ${answer.task_id} could not be stopped: ${getErrorMessage(error)}`,
        error,
      );
      await lifecycle.abort(answer);
    }
  }

  /** Applies an edit that adds a message, without storing it. */
  #buildQuestion(chat: Chat, edit: ChatEdit): Question {
    const { chat: changedChat, node_id = "" } = this.#services.records.applyEdits(chat, [edit]);
    const message = findNode(changedChat, node_id);
    if (message?.kind !== "user") throw new TypeError("the edit must add a message");
    return { chat: changedChat, message };
  }

  /** Stores the user's text as a version of the answer. */
  #rewriteAnswer(
    chatId: string,
    node: AnswerNode,
    request: EditRequest,
  ): Promise<ChatChangeResult> {
    const { text, revision } = request;
    const { options, records } = this.#services;
    const { model_type, answers } = getChosenVersion(node);
    const answer: NewAnswer = {
      by: "user",
      status: "completed",
      model_type,
      ...(answers === undefined ? {} : { answers }),
      output: [
        {
          type: "message",
          id: options.newId("msg"),
          role: "assistant",
          status: "completed",
          block_list: [{ type: "text", text }],
        },
      ],
      references: [],
      notices: [],
    };
    const { node_id } = node;
    return records.edit(chatId, [{ type: "add_answer_version", node_id, answer }], { revision });
  }
}

function buildEditedMessage(chat: Chat, request: EditRequest): NewMessage {
  const node = requireNode(chat, request.node_id);
  const current = node.kind === "user" ? getChosenVersion(node) : undefined;
  const { text, attachments = current?.attachments, contexts = current?.contexts } = request;
  const options = request.options ?? current?.options;
  return {
    text,
    ...(attachments && { attachments }),
    ...(contexts && { contexts }),
    ...(options && { options }),
  };
}

async function isTaskReadable(runtime: ChatsOptions["runtime"], taskId: string): Promise<boolean> {
  return runtime.state(taskId).then(
    () => true,
    () => false,
  );
}
