import { checkMessage } from "./chat-schemas.ts";
import type { Edited, EditWorld, NewAnswer, NewMessage } from "./edit.ts";
import { newAnswerNode, newSeparator, newUserNode } from "./new-node.ts";
import { childrenOf, nextOnPath, nodeOf } from "./path.ts";
import { badValue, refused, stillRunning, unknownNode } from "./refusal.ts";
import { choosePathTo, withChildren, withChosen, withNodes } from "./replace-in-tree.ts";
import { isRunning } from "./running.ts";
import type { Chat, ChatNode } from "./shapes.ts";
import { wrongContinuation } from "./versions.ts";

/** A branch under a parent, or a new root. */
export function addMessage(
  chat: Chat,
  parent: string | null,
  message: NewMessage,
  world: EditWorld,
): Edited {
  const problems = checkMessage(message, "message");
  if (problems.length > 0) return badValue(problems);
  const above = parent === null ? undefined : nodeOf(chat, parent);
  if (parent !== null) {
    if (above === undefined) return unknownNode(parent);
    if (isRunning(above)) return stillRunning();
  }
  const node = newUserNode(parent, message, world, above);
  return {
    ok: true,
    chat: withBranch(chat, node),
    node_id: node.node_id,
    version_id: node.version,
  };
}

/** A branch under a user's message. */
export function addAnswer(chat: Chat, parent: string, answer: NewAnswer, world: EditWorld): Edited {
  const refusal = notAnswerable(chat, parent) ?? wrongContinuation([], answer);
  if (refusal !== undefined) return refusal;
  const node = newAnswerNode(parent, answer, world);
  return {
    ok: true,
    chat: withBranch(chat, node),
    node_id: node.node_id,
    version_id: node.version,
  };
}

/** Between a user's message and the next on its path; the other branches stay where they are. */
export function insertAnswer(
  chat: Chat,
  after: string,
  answer: NewAnswer,
  world: EditWorld,
): Edited {
  const refusal = notAnswerable(chat, after) ?? wrongContinuation([], answer);
  if (refusal !== undefined) return refusal;
  if (nextOnPath(chat, after)?.kind === "answer")
    return refused(
      "illegal_place",
      "the message has an answer already: ask for another version of that one",
    );
  const node = newAnswerNode(after, answer, world);
  return {
    ok: true,
    chat: withInserted(chat, node),
    node_id: node.node_id,
    version_id: node.version,
  };
}

/** At the end of the path, or between a node and the next on the path. */
export function addSeparator(chat: Chat, after: string, world: EditWorld): Edited {
  const above = nodeOf(chat, after);
  if (above === undefined) return unknownNode(after);
  if (isRunning(above)) return stillRunning();
  if (nextOnPath(chat, after)?.kind === "answer")
    return refused(
      "illegal_place",
      "a separator cannot part a message from its answer: put it before the message or after the answer",
    );
  const node = newSeparator(after, world);
  return { ok: true, chat: withInserted(chat, node), node_id: node.node_id };
}

function notAnswerable(chat: Chat, parent: string): Edited | undefined {
  const above = nodeOf(chat, parent);
  if (above === undefined) return unknownNode(parent);
  return above.kind === "user"
    ? undefined
    : refused(
        "illegal_place",
        `only a user's message can be answered, and this is ${aKind(above)}`,
      );
}

function aKind({ kind }: ChatNode): string {
  return kind === "answer" ? "an answer itself" : "a separator";
}

function withBranch(chat: Chat, node: ChatNode): Chat {
  const { node_id, parent } = node;
  const children = [...childrenOf(chat, parent), node_id];
  return choosePathTo(withChildren(withNodes(chat, [node]), parent, children), node_id);
}

/** It takes the chosen child of its parent, and that one's place among the branches. */
function withInserted(chat: Chat, node: ChatNode): Chat {
  const { node_id, parent } = node;
  const siblings = childrenOf(chat, parent);
  const next = nextOnPath(chat, parent);
  if (next === undefined) {
    const grown = withChildren(withNodes(chat, [node]), parent, [...siblings, node_id]);
    return withChosen(grown, parent, node_id);
  }
  const moved = { ...next, parent: node_id };
  const placed = siblings.with(siblings.indexOf(next.node_id), node_id);
  const grown = withChildren(
    withNodes(chat, [{ ...node, children: [next.node_id] }, moved]),
    parent,
    placed,
  );
  return withChosen(withChosen(grown, parent, node_id), node_id, next.node_id);
}
