import type { EditEnvironment, NewAnswer, NewMessage } from "./edit.ts";
import type { AnswerNode, ChatNode, SeparatorNode, UserNode } from "./chat-types.ts";
import { createAnswerVersion, createUserVersion } from "./edit-versions.ts";

/* Creates nodes without children. */

export function createUserNode(
  parent: string | null,
  message: NewMessage,
  environment: EditEnvironment,
  parentNode?: ChatNode,
): UserNode {
  const nodeFields = createNodeFields(parent, environment);
  const version = createUserVersion(message, environment, parentNode);
  return { ...nodeFields, kind: "user", versions: [version], version: version.version_id };
}

export function createAnswerNode(
  parent: string,
  answer: NewAnswer,
  environment: EditEnvironment,
): AnswerNode {
  const nodeFields = createNodeFields(parent, environment);
  const version = createAnswerVersion(answer, environment);
  return { ...nodeFields, kind: "answer", versions: [version], version: version.version_id };
}

export function createSeparator(parent: string, environment: EditEnvironment): SeparatorNode {
  return { ...createNodeFields(parent, environment), kind: "separator" };
}

function createNodeFields(parent: string | null, environment: EditEnvironment) {
  return {
    node_id: environment.newId("node"),
    parent,
    children: [],
    created_at: environment.now(),
    pinned: false,
    hidden: false,
  };
}
