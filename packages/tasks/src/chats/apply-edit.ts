import { assertNever } from "../error.ts";
import type { Usage } from "../items.ts";
import { addUsage, noUsage } from "../usage.ts";
import { countMessages, maxMessages } from "./chat-limits.ts";
import { subtractRestoredUsage, retainRemovedUsage } from "./chat-usage.ts";
import type {
  ChatEdit,
  EditResult,
  EditEnvironment,
  UserEdit,
  EditRejection,
  Removal,
} from "./edit.ts";
import { setAnswerWaiting, finishAnswer } from "./finish-answer.ts";
import { addAnswer, addMessage, addSeparator, insertAnswer } from "./add-nodes.ts";
import { bookmarkNode, chooseBranch, hideNode, pinNode } from "./mark-node.ts";
import { deleteNode } from "./delete-nodes.ts";
import { rejectBadValue, rejectEdit } from "./edit-rejection.ts";
import { restoreRemoval } from "./restore-removal.ts";
import { checkUserEdit, checkSettings, checkTitle, applySettingsPatch } from "./chat-schemas.ts";
import type { Chat } from "./chat-types.ts";
import {
  addAnswerVersion,
  addMessageVersion,
  chooseVersion,
  deleteVersion,
} from "./edit-versions.ts";
import { collapseWhitespace } from "./version-text.ts";

/** Returns the edited chat, or the reason for the rejection. Parts that the edit does not change are reused. */
export function applyEdit(chat: Chat, edit: ChatEdit, environment: EditEnvironment): EditResult {
  const { by, moves } = editTraits[edit.type];
  const problems = by === "user" ? checkUserEdit(edit) : [];
  if (problems.length > 0) return rejectBadValue(problems);
  const now = environment.now();
  const result = performEdit(chat, edit, {
    newId: (prefix) => environment.newId(prefix),
    now: () => now,
  });
  if (!result.ok || (by === "model" && result.chat === chat)) return result;
  if (growingEdits.has(edit.type) && countMessages(result.chat) > maxMessages)
    return rejectEdit(
      "invalid_value",
      `a chat can have at most ${maxMessages} messages including all versions; start a new chat or delete some messages`,
    );
  return {
    ...result,
    chat: {
      ...result.chat,
      revision: by === "model" ? chat.revision : chat.revision + 1,
      updated_at: moves ? now : chat.updated_at,
    },
  };
}

/** The node or version that an edit added. */
export interface AddedNode {
  readonly node_id: string;
  readonly version_id?: string;
}

/** `node_id` and `version_id` are those of the last edit that added something; `added` has those of each edit. */
export type EditsResult =
  | {
      readonly ok: true;
      readonly chat: Chat;
      readonly node_id?: string;
      readonly version_id?: string;
      readonly added: readonly (AddedNode | null)[];
      readonly removals: readonly Removal[];
    }
  /** `index` is the index of the rejected edit. */
  | (EditRejection & { readonly index: number });

/** Applies all edits in order, or none of them. */
export function applyEdits(
  chat: Chat,
  edits: readonly ChatEdit[],
  environment: EditEnvironment,
): EditsResult {
  let current = chat;
  const added: (AddedNode | null)[] = [];
  const removals: Removal[] = [];
  for (const [index, edit] of edits.entries()) {
    const result = applyEdit(current, edit, environment);
    if (!result.ok) return { ...result, index };
    current = result.chat;
    added.push(toAddedNode(result));
    if (result.removal !== undefined) removals.push(result.removal);
  }
  return { ok: true, chat: current, ...added.findLast((entry) => entry !== null), added, removals };
}

function toAddedNode({ node_id, version_id }: Extract<EditResult, { ok: true }>): AddedNode | null {
  if (node_id === undefined) return null;
  return version_id === undefined ? { node_id } : { node_id, version_id };
}

/**
 * `by`: who makes the edit; edits by a model do not increase the revision. `moves`: the edit moves the chat to the top of the
 * list.
 */
const editTraits: Readonly<
  Record<ChatEdit["type"], { by: "user" | "server" | "model"; moves: boolean }>
> = {
  rename: { by: "user", moves: true },
  tag: { by: "user", moves: false },
  pin_chat: { by: "user", moves: false },
  settings: { by: "user", moves: true },
  choose_branch: { by: "user", moves: false },
  choose_version: { by: "user", moves: false },
  pin: { by: "user", moves: false },
  hide: { by: "user", moves: false },
  bookmark: { by: "user", moves: false },
  add_separator: { by: "user", moves: true },
  delete_node: { by: "user", moves: true },
  delete_version: { by: "user", moves: true },
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

/** Edits that the message limit applies to. `restore` is not among them: a deletion can always be undone. */
const growingEdits: ReadonlySet<ChatEdit["type"]> = new Set([
  "add_separator",
  "add_message",
  "add_message_version",
  "add_answer",
  "insert_answer",
  "add_answer_version",
]);

function performEdit(chat: Chat, edit: ChatEdit, environment: EditEnvironment): EditResult {
  switch (edit.type) {
    case "rename":
      return {
        ok: true,
        chat: { ...chat, title: collapseWhitespace(edit.title), title_by: "user" },
      };
    case "tag":
      return { ok: true, chat: { ...chat, tags: edit.tags } };
    case "pin_chat":
      return { ok: true, chat: { ...chat, pinned: edit.value } };
    case "settings":
      return editSettings(chat, edit.patch);
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
      return addSeparator(chat, edit.after, environment);
    case "delete_node":
      return retainRemovedUsage(deleteNode(chat, edit.node_id, edit.children, environment));
    case "delete_version":
      return retainRemovedUsage(deleteVersion(chat, edit.node_id, edit.version_id, environment));
    case "add_message":
      return addMessage(chat, edit.parent, edit.message, environment);
    case "add_message_version":
      return addMessageVersion(chat, edit.node_id, edit.message, environment);
    case "add_answer":
      return addAnswer(chat, edit.parent, edit.answer, environment);
    case "insert_answer":
      return insertAnswer(chat, edit.after, edit.answer, environment);
    case "add_answer_version":
      return addAnswerVersion(chat, edit.node_id, edit.answer, environment);
    case "answer_waits":
      return setAnswerWaiting(chat, edit.node_id, edit.version_id, edit.value);
    case "finish_answer":
      return finishAnswer(chat, edit.node_id, edit.version_id, edit.end);
    case "title_by_model":
      return setModelTitle(chat, edit.title, edit.usage);
    case "restore":
      return subtractRestoredUsage(restoreRemoval(chat, edit.removal), edit.removal);
    default:
      return assertNever(edit);
  }
}

function editSettings(
  chat: Chat,
  patch: Extract<UserEdit, { type: "settings" }>["patch"],
): EditResult {
  const settings = applySettingsPatch(chat.settings, patch);
  const problems = checkSettings(settings, "patch");
  return problems.length > 0 ? rejectBadValue(problems) : { ok: true, chat: { ...chat, settings } };
}

/** Sets the title only if the chat has none. */
function setModelTitle(chat: Chat, title: string, usage: Usage | undefined): EditResult {
  const problems = checkTitle(title);
  if (problems.length > 0) return rejectBadValue(problems);
  if (chat.title_by !== "nobody")
    return rejectEdit("invalid_position", "the chat already has a title: a model cannot change it");
  const titledChat: Chat = { ...chat, title, title_by: "model" };
  if (usage === undefined) return { ok: true, chat: titledChat };
  const extra_usage = addUsage(chat.extra_usage ?? noUsage, usage);
  return { ok: true, chat: { ...titledChat, extra_usage } };
}
