import { unreachable } from "../error.ts";
import type { Usage } from "../items.ts";
import { addUsage, noUsage } from "../usage.ts";
import { countMessages, maxMessages } from "./chat-limits.ts";
import { withUsageBack, withUsageKept } from "./chat-usage.ts";
import type { ChatEdit, Edited, EditWorld, PersonEdit, Refusal, Removal } from "./edit.ts";
import { answerWaits, finishAnswer } from "./finish-answer.ts";
import { addAnswer, addMessage, addSeparator, insertAnswer } from "./grow-tree.ts";
import { bookmarkNode, chooseBranch, hideNode, pinNode } from "./mark-node.ts";
import { deleteNode } from "./prune-tree.ts";
import { badValue, refused } from "./refusal.ts";
import { restore } from "./restore.ts";
import { checkPersonEdit, checkSettings, checkTitle, settingsAfter } from "./chat-schemas.ts";
import type { Chat } from "./shapes.ts";
import { addAnswerVersion, addMessageVersion, chooseVersion, deleteVersion } from "./versions.ts";
import { onOneLine } from "./words.ts";

/** A chat with an edit made, or the reason why it is not. What the edit does not touch stays the same object. */
export function applyEdit(chat: Chat, edit: ChatEdit, world: EditWorld): Edited {
  const { by, moves } = traits[edit.type];
  const problems = by === "person" ? checkPersonEdit(edit) : [];
  if (problems.length > 0) return badValue(problems);
  const now = world.now();
  const edited = made(chat, edit, { newId: (prefix) => world.newId(prefix), now: () => now });
  if (!edited.ok || (by === "model" && edited.chat === chat)) return edited;
  if (grows.has(edit.type) && countMessages(edited.chat) > maxMessages)
    return refused(
      "bad_value",
      `a chat can have at most ${maxMessages} messages, all versions counted: continue in a new chat, or delete some`,
    );
  return {
    ...edited,
    chat: {
      ...edited.chat,
      revision: by === "model" ? chat.revision : chat.revision + 1,
      updated_at: moves ? now : chat.updated_at,
    },
  };
}

/** What one edit added: a node, or a version of one that was there. */
export interface Added {
  readonly node_id: string;
  readonly version_id?: string;
}

/** The ids are those of the last edit that added something; `added` has those of each. */
export type EditedByAll =
  | {
      readonly ok: true;
      readonly chat: Chat;
      readonly node_id?: string;
      readonly version_id?: string;
      readonly added: readonly (Added | null)[];
      readonly removals: readonly Removal[];
    }
  /** `at`: the index of the edit that was refused. */
  | (Refusal & { readonly at: number });

/** All edits in their order, or none. */
export function applyEdits(chat: Chat, edits: readonly ChatEdit[], world: EditWorld): EditedByAll {
  let now = chat;
  const added: (Added | null)[] = [];
  const removals: Removal[] = [];
  for (const [at, edit] of edits.entries()) {
    const edited = applyEdit(now, edit, world);
    if (!edited.ok) return { ...edited, at };
    now = edited.chat;
    added.push(addedBy(edited));
    if (edited.removal !== undefined) removals.push(edited.removal);
  }
  return { ok: true, chat: now, ...added.findLast((one) => one !== null), added, removals };
}

function addedBy({ node_id, version_id }: Extract<Edited, { ok: true }>): Added | null {
  if (node_id === undefined) return null;
  return version_id === undefined ? { node_id } : { node_id, version_id };
}

/** Whether an edit raises the revision, and whether it moves the chat up in the list: looking is not changing. */
const traits: Readonly<
  Record<ChatEdit["type"], { by: "person" | "server" | "model"; moves: boolean }>
> = {
  rename: { by: "person", moves: true },
  tag: { by: "person", moves: false },
  pin_chat: { by: "person", moves: false },
  settings: { by: "person", moves: true },
  choose_branch: { by: "person", moves: false },
  choose_version: { by: "person", moves: false },
  pin: { by: "person", moves: false },
  hide: { by: "person", moves: false },
  bookmark: { by: "person", moves: false },
  add_separator: { by: "person", moves: true },
  delete_node: { by: "person", moves: true },
  delete_version: { by: "person", moves: true },
  add_message: { by: "server", moves: true },
  add_message_version: { by: "server", moves: true },
  add_answer: { by: "server", moves: true },
  insert_answer: { by: "server", moves: true },
  add_answer_version: { by: "server", moves: true },
  restore: { by: "server", moves: true },
  answer_waits: { by: "model", moves: false },
  finish_answer: { by: "model", moves: true },
  title_by_model: { by: "model", moves: true },
};

/** A deletion can be undone in any case. */
const grows: ReadonlySet<ChatEdit["type"]> = new Set([
  "add_separator",
  "add_message",
  "add_message_version",
  "add_answer",
  "insert_answer",
  "add_answer_version",
]);

function made(chat: Chat, edit: ChatEdit, world: EditWorld): Edited {
  switch (edit.type) {
    case "rename":
      return { ok: true, chat: { ...chat, title: onOneLine(edit.title), title_by: "user" } };
    case "tag":
      return { ok: true, chat: { ...chat, tags: edit.tags } };
    case "pin_chat":
      return { ok: true, chat: { ...chat, pinned: edit.value } };
    case "settings":
      return changeSettings(chat, edit.patch);
    case "choose_branch":
      return chooseBranch(chat, edit.node_id);
    case "choose_version":
      return chooseVersion(chat, edit.node_id, edit.version_id);
    case "pin":
      return pinNode(chat, edit.node_id, edit.value);
    case "hide":
      return hideNode(chat, edit.node_id, edit.value);
    case "bookmark":
      return bookmarkNode(chat, edit.node_id, edit.value);
    case "add_separator":
      return addSeparator(chat, edit.after, world);
    case "delete_node":
      return withUsageKept(deleteNode(chat, edit.node_id, edit.children, world));
    case "delete_version":
      return withUsageKept(deleteVersion(chat, edit.node_id, edit.version_id, world));
    case "add_message":
      return addMessage(chat, edit.parent, edit.message, world);
    case "add_message_version":
      return addMessageVersion(chat, edit.node_id, edit.message, world);
    case "add_answer":
      return addAnswer(chat, edit.parent, edit.answer, world);
    case "insert_answer":
      return insertAnswer(chat, edit.after, edit.answer, world);
    case "add_answer_version":
      return addAnswerVersion(chat, edit.node_id, edit.answer, world);
    case "answer_waits":
      return answerWaits(chat, edit.node_id, edit.version_id, edit.value);
    case "finish_answer":
      return finishAnswer(chat, edit.node_id, edit.version_id, edit.end);
    case "title_by_model":
      return titleByModel(chat, edit.title, edit.usage);
    case "restore":
      return withUsageBack(restore(chat, edit.removal), edit.removal);
    default:
      return unreachable(edit);
  }
}

function changeSettings(
  chat: Chat,
  patch: Extract<PersonEdit, { type: "settings" }>["patch"],
): Edited {
  const settings = settingsAfter(chat.settings, patch);
  const problems = checkSettings(settings, "patch");
  return problems.length > 0 ? badValue(problems) : { ok: true, chat: { ...chat, settings } };
}

/** Once, and never over a name that somebody gave. */
function titleByModel(chat: Chat, title: string, usage: Usage | undefined): Edited {
  const problems = checkTitle(title);
  if (problems.length > 0) return badValue(problems);
  if (chat.title_by !== "nobody")
    return refused("illegal_place", "the chat has a name already, which a model does not change");
  const named: Chat = { ...chat, title, title_by: "model" };
  if (usage === undefined) return { ok: true, chat: named };
  const extra_usage = addUsage(chat.extra_usage ?? noUsage, usage);
  return { ok: true, chat: { ...named, extra_usage } };
}
