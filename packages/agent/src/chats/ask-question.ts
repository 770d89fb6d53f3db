import { answerChain, chosenVersion } from "@deltawire/tasks/chats";
import type { AnswerNode, AnswerVersion, KeptChat, NewAnswer } from "@deltawire/tasks/chats";
import { messageOf } from "../event-text.ts";
import { maskOf } from "../privacy/vault.ts";
import { asVersionOf, nodeIn, shown, type Place } from "./answer-place.ts";
import type { ChatAgents } from "./chat-agent.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions, Sent } from "./chat-ports.ts";
import type { ChatRecords } from "./chat-records.ts";
import { mustBeOptions } from "./check-chat-settings.ts";
import { interrupted, type Lifecycle } from "./lifecycle.ts";
import { planOf, type AnswerChoice } from "./plan.ts";
import { checkQuestion, requestFor, type Question } from "./question.ts";
import { messageOfAnswer } from "./told-history.ts";

/** What every question to a model may say. */
export interface Asking extends AnswerChoice {
  /** Only if the chat is still at it. */
  readonly revision?: number;
  /** Promised before, so that a request that comes twice is sent once. */
  readonly task_id?: string;
}

export interface AskingParts {
  options: Required<ChatsOptions>;
  records: ChatRecords;
  lifecycle: Lifecycle;
  agents: ChatAgents;
}

/** What became of a question that has come before: it was asked, or it still has to be, as another version. */
type SentBefore =
  | { readonly is: "sent"; readonly sent: Sent }
  | {
      readonly is: "promised";
      readonly place: Place;
      readonly begin: (kept: KeptChat) => Question;
    };

/** Takes questions to the tasks that answer them, each once. */
export class QuestionAsker {
  readonly #parts: AskingParts;
  /** What is on its way to its task, by that. */
  readonly #asking = new Map<string, { chatId: string; sent: Promise<Sent> }>();

  constructor(parts: AskingParts) {
    this.#parts = parts;
  }

  /** Until a task that is about to begin has begun, or could not. */
  async hasBegun(taskId: string): Promise<void> {
    await this.#asking.get(taskId)?.sent.catch(() => undefined);
  }

  /** What comes twice is sent once, also while the first is on its way. */
  ask(
    chatId: string,
    asking: Asking,
    place: Place,
    begin: (kept: KeptChat) => Question,
  ): Promise<Sent> {
    const taskId = asking.task_id ?? this.#parts.options.newId("task");
    const known = this.#asking.get(taskId);
    if (known?.chatId === chatId) return known.sent;
    const sent = this.#askNow(chatId, taskId, asking, place, begin).finally(() =>
      this.#asking.delete(taskId),
    );
    this.#asking.set(taskId, { chatId, sent });
    return sent;
  }

  /**
   * One question from the check to the start of its task. The history is taken before there is a placeholder; the message
   * and the placeholder are saved in one step; if the chat has changed meanwhile all of it is done again.
   */
  async #askNow(
    chatId: string,
    taskId: string,
    asking: Asking,
    place: Place,
    begin: (kept: KeptChat) => Question,
  ): Promise<Sent> {
    const { records, lifecycle, options, agents } = this.#parts;
    mustBeOptions(asking.options);
    const known = asking.task_id === undefined ? undefined : await this.#sentBefore(chatId, taskId);
    if (known?.is === "sent") return known.sent;
    // A process that is gone has promised this task and never begun it: now it is.
    const [put, from] = known === undefined ? [place, begin] : [known.place, known.begin];
    // The promise itself has raised the revision.
    const revision = known === undefined ? asking.revision : undefined;
    const sent = await records.change(chatId, revision, async (kept) => {
      const question = from(kept);
      const plan = await planOf(question.chat, chosenVersion(question.message), asking, options);
      checkQuestion(question, plan);
      const { request, notices } = await requestFor(question, plan, this.#parts);
      const { input: _input, history: _history, references_before: _before, ...check } = request;
      await options.checkRequest(check);
      const mask = maskOf(chatId, agents.privacyOf(question.chat.settings));
      const placeholder: NewAnswer = {
        by: "model",
        status: "running",
        output: [],
        references: [],
        model_type: plan.abilities.type,
        model: plan.model,
        ...(plan.agent === undefined ? {} : { agent: plan.agent }),
        task_id: taskId,
        answers: question.message.version,
        notices: [...plan.notices, ...notices],
        ...(question.from === undefined ? {} : { continues: question.from.version }),
        ...(mask === undefined ? {} : { masked_with: mask }),
      };
      const edit = put(question.chat, question.message, placeholder);
      const { removals: _none, ...made } = records.applied(question.chat, [edit]);
      return { ...made, request };
    });
    const { request, node_id = "", version_id = "", before, after } = sent;
    const answer = { chat_id: chatId, node_id, version_id, task_id: taskId };
    lifecycle.follow(answer);
    try {
      await options.runtime.start(request, taskId);
    } catch (error) {
      const { code = "failed" } = error as { code?: string };
      await lifecycle.fail(answer, code, messageOf(error));
    }
    return { before, after, node_id, version_id, task_id: taskId };
  }

  /** The same request, come again. */
  async #sentBefore(chatId: string, taskId: string): Promise<SentBefore | undefined> {
    const kept = await this.#parts.records.open(chatId);
    const { tasks } = await this.#parts.options.runtime.state(taskId);
    const hasBegun = tasks[taskId] !== undefined;
    for (const node of Object.values(kept.chat.nodes)) {
      if (node.kind !== "answer") continue;
      const version = node.versions.findLast(({ task_id }) => task_id === taskId);
      if (version === undefined) continue;
      if (!hasBegun && version.error?.code === interrupted) return promisedAgain(node, version);
      const { node_id } = node;
      const { version_id } = version;
      const sent = { before: kept, after: kept, node_id, version_id, task_id: taskId };
      return { is: "sent", sent };
    }
    if (!hasBegun) return undefined;
    throw new ChatError("illegal_place", "this was sent before, and its answer was deleted since");
  }
}

function promisedAgain(
  { node_id }: AnswerNode,
  { continues }: AnswerVersion,
): Extract<SentBefore, { is: "promised" }> {
  return {
    is: "promised",
    place: asVersionOf(node_id),
    begin: ({ chat }) => {
      const node = nodeIn(chat, node_id);
      const message = messageOfAnswer(chat, node_id);
      if (node.kind !== "answer" || message === undefined)
        throw new ChatError("illegal_place", "the message of this answer is gone");
      shown(message);
      if (continues === undefined) return { chat, message };
      const versions = answerChain(node, continues);
      return { chat, message, from: { version: continues, versions } };
    },
  };
}
