import type { Limits } from "@deltawire/tasks";
import { answerChain, chosenVersion, contextOf, pathTo } from "@deltawire/tasks/chats";
import type { AnswerVersion, Chat, UserNode } from "@deltawire/tasks/chats";
import type { InputItem } from "@deltawire/wire";
import { inputPart } from "../model/history.ts";
import { highestReference, wrappedIn } from "../model/history-references.ts";
import { maskOf } from "../privacy/vault.ts";
import { privacyRule } from "../privacy/masked-request.ts";
import type { TaskRequest } from "../task-request.ts";
import type { ChatAgents } from "./chat-agent.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions } from "./chat-ports.ts";
import { nodesBefore } from "./handlers.ts";
import type { Plan } from "./plan.ts";
import { systemPrompt } from "./system-prompt.ts";
import { toldAnswer, toldMessage, withOwnCallIds, type Telling } from "./told-history.ts";

/** A question in the making: the chat with the message that is asked about, and no placeholder yet. */
export interface Question {
  readonly chat: Chat;
  readonly message: UserNode;
  /** A version of an answer to go on from, and all that it is made of. */
  readonly from?: { readonly version: string; readonly versions: readonly AnswerVersion[] };
}

/** Throws where this model cannot be asked this, before anything is written. */
export function checkQuestion(
  { chat, message, from }: Question,
  { handler, abilities }: Plan,
): void {
  if (from === undefined) return handler.check(chosenVersion(message), nodesBefore(chat, message));
  if (abilities.type !== "chat")
    throw new ChatError("cannot_send", "only words can be gone on with: ask again instead");
}

export interface QuestionParts {
  options: Pick<ChatsOptions, "defaults" | "store"> & { now: () => number };
  agents: ChatAgents;
}

/** What the task is asked that answers it, and what had to be left out. */
export async function requestFor(
  { chat, message, from }: Question,
  plan: Plan,
  { options, agents }: QuestionParts,
): Promise<{ request: TaskRequest; notices: readonly string[] }> {
  const { settings, chat_id } = chat;
  const { agent, model, abilities, handler, toolGroups } = plan;
  const { defaults, store, now } = options;
  const timeZone = settings.time_zone ?? defaults.timeZone;
  const turns = settings.turns ?? defaults.turns;
  const vault = await agents.vaultOf(chat_id, settings);
  const told = [
    ...contextOf(chat, { upTo: message.node_id, turns }).flatMap((entry) =>
      entry.kind === "answer" ? entry.versions : [],
    ),
    ...(from?.versions ?? []),
  ].map(({ version_id }) => version_id);
  const telling: Telling = {
    model,
    abilities,
    blobs: store,
    vault,
    mask: maskOf(chat_id, agents.privacyOf(settings)),
    timeZone: (settings.exact_time ?? defaults.exactTime) ? timeZone : undefined,
    turns,
    // A long chat has more of them than a model is told, and models of media are told nothing of what was said before.
    replays: abilities.type === "chat" ? await store.replays(chat_id, told) : {},
  };
  const { told: said, notices } = await handler.ask(chat, message, chosenVersion(message), telling);
  const asked = from === undefined ? said : await goingOn(said, message, from.versions, telling);
  const prompt =
    abilities.type === "chat"
      ? systemPrompt({
          now: new Date(now()),
          timeZone,
          prompt: settings.instructions ?? defaults.settings.instructions ?? "",
          privacyRule: vault === undefined ? "" : privacyRule(vault),
        })
      : {};
  return {
    request: {
      ...(agent === undefined ? { model } : { agent }),
      ...asked,
      history: withOwnCallIds(asked.history ?? []),
      references_before: lastReference(chat, message, from?.versions),
      ...prompt,
      tool_groups: toolGroups,
      session_id: chat_id,
      chat_id,
      limits: { ...timeLimit(defaults.limits), ...settings.limits },
      options: plan.options,
    },
    notices,
  };
}

/** The last number on the path to a message, whether the model still sees its group or not. */
function lastReference(chat: Chat, message: UserNode, more: readonly AnswerVersion[] = []): number {
  const versions = pathTo(chat, message.node_id).flatMap((node) =>
    node.kind === "answer" ? answerChain(node, node.version) : [],
  );
  return [...versions, ...more]
    .flatMap(({ references }) => references)
    .reduce((last, { reference_id: n }) => (n > highestReference ? last : Math.max(last, n)), 0);
}

/** Holds for configured agents too, whose other limits are their own. */
function timeLimit({ seconds }: Limits): Limits {
  return seconds === undefined ? {} : { seconds };
}

const goOnWords = "Go on from where you stopped. Do not repeat what you have already said.";

/** What was said so far is history, the half answer included, and the model is asked to go on. */
async function goingOn(
  { history }: { history: readonly InputItem[] },
  message: UserNode,
  versions: readonly AnswerVersion[],
  telling: Telling,
): Promise<Pick<TaskRequest, "history" | "input">> {
  const said = toldAnswer(versions, telling, wrappedIn(history));
  if (said.length === 0)
    throw new ChatError(
      "cannot_send",
      "there is nothing to go on from: the answer has no words yet; ask again instead",
    );
  const { parts } = await toldMessage(chosenVersion(message), telling);
  const question: InputItem = { type: "message", role: "user", content: parts.map(inputPart) };
  return { history: [...history, question, ...said], input: goOnWords };
}
