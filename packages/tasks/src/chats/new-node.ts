import type { EditWorld, NewAnswer, NewMessage } from "./edit.ts";
import type { AnswerNode, ChatNode, SeparatorNode, UserNode } from "./shapes.ts";
import { newAnswerVersion, newUserVersion } from "./versions.ts";

/* Nodes that nothing stands under yet. */

export function newUserNode(
  parent: string | null,
  message: NewMessage,
  world: EditWorld,
  above?: ChatNode,
): UserNode {
  const place = newPlace(parent, world);
  const version = newUserVersion(message, world, above);
  return { ...place, kind: "user", versions: [version], version: version.version_id };
}

export function newAnswerNode(parent: string, answer: NewAnswer, world: EditWorld): AnswerNode {
  const place = newPlace(parent, world);
  const version = newAnswerVersion(answer, world);
  return { ...place, kind: "answer", versions: [version], version: version.version_id };
}

export function newSeparator(parent: string, world: EditWorld): SeparatorNode {
  return { ...newPlace(parent, world), kind: "separator" };
}

function newPlace(parent: string | null, world: EditWorld) {
  return {
    node_id: world.newId("node"),
    parent,
    children: [],
    created_at: world.now(),
    pinned: false,
    hidden: false,
  };
}
