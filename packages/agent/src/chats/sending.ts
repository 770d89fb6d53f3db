import {
  answerChain,
  chosenVersion,
  lastOnPath,
  nodeOf,
  runningAnswers,
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
import { messageOf } from "../event-text.ts";
import { append, asVersionOf, nodeIn, shown, updateOrInsert, type Place } from "./answer-place.ts";
import { QuestionAsker, type Asking, type AskingParts } from "./ask-question.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions, Changed, Sent } from "./chat-ports.ts";
import { mustBeOptions } from "./check-chat-settings.ts";
import type { Question } from "./question.ts";
import { messageOfAnswer } from "./told-history.ts";

export interface SendRequest extends Asking {
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  readonly contexts?: readonly ContextSnippet[];
  /** Under which node; absent: at the end of the current path; null: as a new beginning. */
  readonly parent?: string | null;
}

export interface EditRequest extends Asking {
  readonly node_id: string;
  readonly text: string;
  /** Absent: as they are. */
  readonly attachments?: readonly Attachment[];
  readonly contexts?: readonly ContextSnippet[];
  /** In place, or beside it with a conversation of its own from there on. */
  readonly as: "version" | "branch";
  /** Whether the model is asked again. */
  readonly send: boolean;
}

/** What people do to get an answer: send, ask again, edit, go on, stop. */
export class Sending {
  readonly #parts: AskingParts;
  readonly #asker: QuestionAsker;

  constructor(parts: AskingParts) {
    this.#parts = parts;
    this.#asker = new QuestionAsker(parts);
  }

  send(chatId: string, request: SendRequest): Promise<Sent> {
    const { text, attachments = [], contexts = [], options, parent } = request;
    const message = { text, attachments, contexts, ...(options && { options }) };
    return this.#asker.ask(chatId, request, append, ({ chat }) => {
      const under = parent === undefined ? (lastOnPath(chat)?.node_id ?? null) : parent;
      return this.#withMessage(chat, { type: "add_message", parent: under, message });
    });
  }

  /** Another answer to the same message: a version of the one that is there, or a first one where none is. */
  rerun(chatId: string, request: Asking & { readonly node_id: string }): Promise<Sent> {
    const { node_id } = request;
    const place: Place = (chat, message, answer) =>
      (nodeOf(chat, node_id)?.kind === "answer" ? asVersionOf(node_id) : updateOrInsert)(
        chat,
        message,
        answer,
      );
    return this.#asker.ask(chatId, request, place, ({ chat }) => {
      const node = nodeIn(chat, node_id);
      const message = node.kind === "user" ? node : messageOfAnswer(chat, node.node_id);
      if (message === undefined)
        throw new ChatError("illegal_place", "a separator has no answer to ask for again");
      return { chat, message: shown(message) };
    });
  }

  async edit(chatId: string, request: EditRequest): Promise<Sent | Changed> {
    const { node_id, as, send, revision, options } = request;
    mustBeOptions(options);
    const { chat } = await this.#parts.records.open(chatId);
    const node = nodeIn(chat, node_id);
    if (node.kind === "separator")
      throw new ChatError("illegal_place", "a separator has no words to edit");
    if (node.kind === "answer" && as === "branch")
      throw new ChatError("illegal_place", "an answer is edited in place, as a version of it");
    if (node.kind === "answer") return this.#rewriteAnswer(chatId, node, request);
    const edit = (now: Chat): ChatEdit => {
      const message = changedMessage(now, request);
      if (as === "version") return { type: "add_message_version", node_id, message };
      return { type: "add_message", parent: nodeOf(now, node_id)?.parent ?? null, message };
    };
    if (!send)
      return this.#parts.records.edit(chatId, async ({ chat: now }) => [edit(now)], { revision });
    const place = as === "version" ? updateOrInsert : append;
    return this.#asker.ask(chatId, request, place, (kept) =>
      this.#withMessage(kept.chat, edit(kept.chat)),
    );
  }

  /** Goes on with an answer that was cut off, or that could say more: both are one answer afterwards. */
  continueAnswer(chatId: string, request: Asking & { readonly node_id: string }): Promise<Sent> {
    const { node_id } = request;
    return this.#asker.ask(chatId, request, asVersionOf(node_id), ({ chat }) => {
      const node = nodeIn(chat, node_id);
      const message = messageOfAnswer(chat, node_id);
      if (node.kind !== "answer" || message === undefined)
        throw new ChatError("illegal_place", "only an answer can be gone on with");
      if (chosenVersion(node).status === "running")
        throw new ChatError("still_running", "the answer is still running");
      return {
        chat,
        message: shown(message),
        from: { version: node.version, versions: answerChain(node, node.version) },
      };
    });
  }

  /** Stops one answer, or all that run. What they have finished is kept. */
  async stop(chatId: string, { node_id }: { node_id?: string } = {}): Promise<RunningAnswer[]> {
    const { chat } = await this.#parts.records.open(chatId, { deleted: true });
    if (node_id !== undefined) nodeIn(chat, node_id);
    const running = runningAnswers(chat).filter(
      (one) => node_id === undefined || one.node_id === node_id,
    );
    for (const answer of running) {
      // What is about to begin can be stopped when it has.
      await this.#asker.hasBegun(answer.task_id);
      await this.#stopTask(answer);
    }
    return running;
  }

  async #stopTask(answer: RunningAnswer): Promise<void> {
    const { options, lifecycle } = this.#parts;
    try {
      const stopped = await options.runtime.cancel(answer.task_id, "user");
      if (stopped === "unknown") await lifecycle.abort(answer);
      else await lifecycle.stopped(answer);
    } catch (error) {
      // A task that can be read goes on by itself: that it was not stopped must not look as if it had been.
      if (await isReadable(options.runtime, answer.task_id)) throw error;
      options.onFailure(`task ${answer.task_id} cannot be stopped: ${messageOf(error)}`, error);
      await lifecycle.abort(answer);
    }
  }

  #withMessage(chat: Chat, edit: ChatEdit): Question {
    const { chat: added, node_id = "" } = this.#parts.records.applied(chat, [edit]);
    const message = nodeOf(added, node_id);
    if (message?.kind !== "user") throw new TypeError("the edit adds a message");
    return { chat: added, message };
  }

  /** An answer in a person's own words. */
  #rewriteAnswer(chatId: string, node: AnswerNode, request: EditRequest): Promise<Changed> {
    const { text, revision } = request;
    const { options, records } = this.#parts;
    const { model_type, answers } = chosenVersion(node);
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

function changedMessage(chat: Chat, request: EditRequest): NewMessage {
  const node = nodeIn(chat, request.node_id);
  const old = node.kind === "user" ? chosenVersion(node) : undefined;
  const { text, attachments = old?.attachments, contexts = old?.contexts } = request;
  const options = request.options ?? old?.options;
  return {
    text,
    ...(attachments && { attachments }),
    ...(contexts && { contexts }),
    ...(options && { options }),
  };
}

async function isReadable(runtime: ChatsOptions["runtime"], taskId: string): Promise<boolean> {
  return runtime.state(taskId).then(
    () => true,
    () => false,
  );
}
