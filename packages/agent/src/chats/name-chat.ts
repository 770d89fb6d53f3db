import { currentPath, chosenVersion, wordsOf } from "@deltawire/tasks/chats";
import type { Chat, KeptChat, ModelEdit } from "@deltawire/tasks/chats";
import { withoutHalfPlaceholder } from "../privacy/placeholder.ts";
import { usageOf } from "../task/usage.ts";
import type { ChatAgents } from "./chat-agent.ts";
import type { ChatsOptions } from "./chat-ports.ts";
import { askForTitle, cleanTitle, type FirstWords } from "./title.ts";

const longestMs = 60_000;

export interface Naming {
  options: Pick<
    Required<ChatsOptions>,
    "defaults" | "model" | "price" | "modelFacts" | "onFailure"
  >;
  agents: ChatAgents;
}

/**
 * The title of a chat in which something was answered; undefined where it has one or nobody wants one. Where no model can
 * be asked for it, the first words are the title.
 */
export async function nameChat(
  { chat }: KeptChat,
  { options, agents }: Naming,
  signal: AbortSignal,
): Promise<Extract<ModelEdit, { type: "title_by_model" }> | undefined> {
  const { defaults, model, price, modelFacts, onFailure } = options;
  if (!defaults.titles || chat.title_by !== "nobody") return undefined;
  const { words, answeredBy } = firstTurn(chat);
  if (answeredBy === undefined) return undefined;
  const fallback = cleanTitle(words.user);
  const plain =
    fallback === "" ? undefined : ({ type: "title_by_model", title: fallback } as const);
  const name = chat.settings.title_model ?? defaults.settings.title_model ?? answeredBy;
  try {
    const { abilities } = await modelFacts(name);
    if (abilities.type !== "chat") return plain;
    const vault = await agents.vaultOf(chat.chat_id, chat.settings);
    const asked = agents.masked(chat.chat_id, model(name), vault);
    const within = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
    const { title: told, usage } = await askForTitle(asked, name, words, within, vault);
    // Models make titles short, some of them in the middle of a placeholder, which nobody could read.
    const title = vault === undefined ? told : withoutHalfPlaceholder(told);
    const used = usage === undefined ? {} : { usage: usageOf(usage, price(name)) };
    return title === "" ? plain : { type: "title_by_model", title, ...used };
  } catch (error) {
    // It is named after its next answer.
    if (signal.aborted) return undefined;
    onFailure("no title could be made for a chat", error);
    return plain;
  }
}

/** What was said first, and by which model. */
function firstTurn(chat: Chat): { words: FirstWords; answeredBy: string | undefined } {
  const path = currentPath(chat);
  const answer = path.find(
    (node) => node.kind === "answer" && chosenVersion(node).status === "completed",
  );
  const user = path.find((node) => node.kind === "user");
  const said = user?.kind === "user" ? chosenVersion(user) : undefined;
  const answered = answer?.kind === "answer" ? chosenVersion(answer) : undefined;
  return {
    words: {
      user: said === undefined ? "" : wordsOf(said),
      answer: answered === undefined ? "" : wordsOf(answered),
    },
    answeredBy: answered?.model,
  };
}
