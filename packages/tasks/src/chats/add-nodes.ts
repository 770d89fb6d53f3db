import { checkMessage } from "./chat-schemas.ts";
import type { EditResult, EditEnvironment, NewAnswer, NewMessage } from "./edit.ts";
import { createAnswerNode, createSeparator, createUserNode } from "./create-node.ts";
import { getChildIds, nextNodeOnPath, findNode } from "./chat-path.ts";
import {
  rejectBadValue,
  rejectEdit,
  rejectStillRunning,
  rejectUnknownNode,
} from "./edit-rejection.ts";
import { withPathTo, withChildren, withChosen, withNodes } from "./update-tree.ts";
import { isRunning } from "./running-answers.ts";
import type { Chat, ChatNode } from "./chat-types.ts";
import { rejectWrongContinuation } from "./edit-versions.ts";

/** Adds a message as a branch below `parent`, or as a new root. */
export function addMessage(
  chat: Chat,
  parent: string | null,
  message: NewMessage,
  environment: EditEnvironment,
): EditResult {
  const problems = checkMessage(message, "message");
  if (problems.length > 0) return rejectBadValue(problems);
  const parentNode = parent === null ? undefined : findNode(chat, parent);
  if (parent !== null) {
    if (parentNode === undefined) return rejectUnknownNode(parent);
    if (isRunning(parentNode)) return rejectStillRunning();
  }
  const node = createUserNode(parent, message, environment, parentNode);
  return {
    ok: true,
    chat: withBranch(chat, node),
    node_id: node.node_id,
    version_id: node.version,
  };
}

/** Adds an answer as a branch below a user message. */
export function addAnswer(
  chat: Chat,
  parent: string,
  answer: NewAnswer,
  environment: EditEnvironment,
): EditResult {
  const rejection = rejectUnanswerable(chat, parent) ?? rejectWrongContinuation([], answer);
  if (rejection !== undefined) return rejection;
  const node = createAnswerNode(parent, answer, environment);
  return {
    ok: true,
    chat: withBranch(chat, node),
    node_id: node.node_id,
    version_id: node.version,
  };
}

/** Inserts an answer between a user message and the next node on the path. Other branches stay where they are. */
export function insertAnswer(
  chat: Chat,
  after: string,
  answer: NewAnswer,
  environment: EditEnvironment,
): EditResult {
  const rejection = rejectUnanswerable(chat, after) ?? rejectWrongContinuation([], answer);
  if (rejection !== undefined) return rejection;
  if (nextNodeOnPath(chat, after)?.kind === "answer")
    return rejectEdit(
      "invalid_position",
      "the message already has an answer; add a version to that answer instead",
    );
  const node = createAnswerNode(after, answer, environment);
  return {
    ok: true,
    chat: withInsertedNode(chat, node),
    node_id: node.node_id,
    version_id: node.version,
  };
}

/** Inserts a separator between a node and the next node on the path, or at the end of the path. */
export function addSeparator(chat: Chat, after: string, environment: EditEnvironment): EditResult {
  const parentNode = findNode(chat, after);
  if (parentNode === undefined) return rejectUnknownNode(after);
  if (isRunning(parentNode)) return rejectStillRunning();
  if (nextNodeOnPath(chat, after)?.kind === "answer")
    return rejectEdit(
      "invalid_position",
      "a separator cannot be placed between a message and its answer",
    );
  const node = createSeparator(after, environment);
  return { ok: true, chat: withInsertedNode(chat, node), node_id: node.node_id };
}

function rejectUnanswerable(chat: Chat, parent: string): EditResult | undefined {
  const parentNode = findNode(chat, parent);
  if (parentNode === undefined) return rejectUnknownNode(parent);
  return parentNode.kind === "user"
    ? undefined
    : rejectEdit(
        "invalid_position",
        `only a user message can be answered, not ${describeKind(parentNode)}`,
      );
}

function describeKind({ kind }: ChatNode): string {
  return kind === "answer" ? "an answer" : "a separator";
}

function withBranch(chat: Chat, node: ChatNode): Chat {
  const { node_id, parent } = node;
  const children = [...getChildIds(chat, parent), node_id];
  return withPathTo(withChildren(withNodes(chat, [node]), parent, children), node_id);
}

/** Inserts the node before the chosen child of its parent, at the same position among the branches. */
function withInsertedNode(chat: Chat, node: ChatNode): Chat {
  const { node_id, parent } = node;
  const siblings = getChildIds(chat, parent);
  const next = nextNodeOnPath(chat, parent);
  if (next === undefined) {
    const changedChat = withChildren(withNodes(chat, [node]), parent, [...siblings, node_id]);
    return withChosen(changedChat, parent, node_id);
  }
  const movedNode = { ...next, parent: node_id };
  const newSiblings = siblings.with(siblings.indexOf(next.node_id), node_id);
  const changedChat = withChildren(
    withNodes(chat, [{ ...node, children: [next.node_id] }, movedNode]),
    parent,
    newSiblings,
  );
  return withChosen(withChosen(changedChat, parent, node_id), node_id, next.node_id);
}
