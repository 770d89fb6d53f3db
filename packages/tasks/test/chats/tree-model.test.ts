import { addUsage, noUsage, type Usage } from "@deltawire/tasks";
import {
  applyEdit,
  findChatFaults,
  sumChatUsage,
  currentPath,
  extractSubtree,
  createChat,
  type Chat,
  type ChatEdit,
  type EditEnvironment,
  type Removal,
} from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  restoreInModel,
  expectedRestoreRejection,
  listShownIds,
  type ModelRemoval,
} from "./tree-model-removals.ts";
import {
  listNodes,
  applyToModel,
  buildModel,
  extractModel,
  expectedExtractRejection,
  getNode,
  expectedRejection,
  type ModelTree,
} from "./tree-model.ts";
import { toEdit, steps } from "./tree-model-steps.ts";

test("after any edits, a chat is valid and equals the model", () => {
  fc.assert(
    fc.property(steps, (randomSteps) => {
      const environment = createHostileEnvironment();
      let chat = deepFreeze(createChat({}, environment));
      const tree = buildModel(chat);
      const removals: { removal: Removal; modelRemoval: ModelRemoval }[] = [];
      let expectedUsage = noUsage;
      for (const step of randomSteps) {
        const edit = toEdit(step, tree, removals);
        if (edit === undefined) continue;
        if (edit.type === "extract") {
          expectExtracted(chat, tree, edit.node_id, environment);
          continue;
        }
        const restoredRemoval = removals.find(
          ({ removal }) => "removal" in edit && removal === edit.removal,
        );
        const edited = applyEdit(chat, edit, environment);
        expect(edited.ok ? undefined : edited.code).toBe(
          restoredRemoval
            ? expectedRestoreRejection(tree, restoredRemoval.modelRemoval)
            : expectedRejection(tree, edit),
        );
        if (!edited.ok) continue;

        const before = structuredClone(tree);
        if (restoredRemoval) {
          restoreInModel(tree, restoredRemoval.modelRemoval);
          expectStillShown(before, tree, restoredRemoval.modelRemoval);
        } else applyToModel(tree, edit, edited.node_id, edited.version_id);
        expect(buildModel(edited.chat)).toEqual(tree);
        expect(findChatFaults(edited.chat)).toEqual([]);
        expect(getPathIds(tree)).toEqual(currentPath(edited.chat).map(({ node_id }) => node_id));
        expectShared(chat, edited.chat);
        expect(edited.chat.revision).toBe(chat.revision + (modelEdits.has(edit.type) ? 0 : 1));
        expect(edited.chat.updated_at === chat.updated_at).toBe(nonMovingEdits.has(edit.type));
        expectedUsage = addUsage(expectedUsage, getUsage(edit));
        expect(sumChatUsage(edited.chat)).toEqual(expectedUsage);
        if (edit.type === "delete_node" || edit.type === "delete_version") {
          const { removal } = edited;
          if (removal === undefined) throw new Error("nothing was removed");
          removals.push({ removal, modelRemoval: { edit, before, after: structuredClone(tree) } });
          expectIdentity(chat, edited.chat, removal, environment);
        }
        chat = deepFreeze(edited.chat);
      }
    }),
    { numRuns: 500 },
  );
}, 60_000);

const modelEdits = new Set<string>(["finish_answer", "answer_waits", "title_by_model"]);
const nonMovingEdits = new Set<string>([
  "pin_chat",
  "tag",
  "choose_branch",
  "choose_version",
  "pin",
  "hide",
  "bookmark",
  "answer_waits",
]);

/** Returns the usage that an edit adds: the usage of a chat never decreases. */
function getUsage(edit: ChatEdit): Usage {
  if (edit.type === "title_by_model") return edit.usage ?? noUsage;
  const answer = "answer" in edit ? edit.answer : "end" in edit ? edit.end : undefined;
  return answer?.tree_usage ?? answer?.usage ?? noUsage;
}

/** The first ids are names of Object.prototype; the next ones are consecutive. */
function createHostileEnvironment(): EditEnvironment {
  const ids = ["__proto__", "constructor", "toString", "chosen", "0", "valueOf"];
  let count = 0;
  let timestamps = 0;
  return {
    newId: (prefix) =>
      prefix === "chat" ? "chat_1" : (ids.shift() ?? `${prefix}_${(count += 1)}`),
    now: () => `2026-01-02T03:04:05.${(timestamps += 1)}Z`,
  };
}

function getPathIds(tree: ModelTree): string[] {
  const path: string[] = [];
  let next = tree.children.find(({ id }) => id === tree.chosen);
  while (next !== undefined) {
    path.push(next.id);
    const { children, chosen } = next;
    next = children.find(({ id }) => id === chosen);
  }
  return path;
}

/** Unchanged nodes must be the same objects. */
function expectShared(before: Chat, after: Chat): void {
  const copied = Object.entries(after.nodes).filter(([id, node]) => {
    const old = Object.hasOwn(before.nodes, id) ? before.nodes[id] : undefined;
    return node !== old && JSON.stringify(node) === JSON.stringify(old);
  });
  expect(copied).toEqual([]);
}

/** A restore directly after a deletion must result in the same chat. The removal is converted to JSON and back. */
function expectIdentity(
  before: Chat,
  after: Chat,
  removal: Removal,
  environment: EditEnvironment,
): void {
  const stored = JSON.parse(JSON.stringify(removal)) as Removal;
  const restored = applyEdit(deepFreeze(after), { type: "restore", removal: stored }, environment);
  if (!restored.ok) throw new Error(restored.reason);
  const { revision, updated_at } = before;
  expect(restored.chat.revision).toBe(revision + 2);
  expect({ ...restored.chat, revision, updated_at }).toEqual(before);
}

/** A restore may remove only nodes from the path that existed at the deletion, and none if children had moved up. */
function expectStillShown(
  before: ModelTree,
  after: ModelTree,
  { edit, ...removal }: ModelRemoval,
): void {
  const shown = new Set(listShownIds(after));
  const lost = listShownIds(before).filter((id) => !shown.has(id));
  const known = listNodes(removal.after).flatMap(({ id, versions }) => [
    id,
    ...versions.map((v) => v.id),
  ]);
  const keepsChildren = edit.type === "delete_node" && edit.children === "keep";
  const movedUp = keepsChildren && getNode(removal.before, edit.node_id).children.length > 0;
  expect(movedUp ? [] : known).toEqual(expect.arrayContaining(lost));
}

/** An extracted chat must equal the subtree, without changing the original chat. */
function expectExtracted(
  chat: Chat,
  tree: ModelTree,
  nodeId: string,
  environment: EditEnvironment,
): void {
  const extraction = extractSubtree(chat, nodeId, environment);
  expect(extraction.ok ? undefined : extraction.code).toBe(expectedExtractRejection(tree, nodeId));
  if (!extraction.ok) return;
  expect(buildModel(extraction.chat)).toEqual(extractModel(tree, nodeId));
  expect(findChatFaults(extraction.chat)).toEqual([]);
  expect(extraction.chat.revision).toBe(0);
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const extraction of Object.values(value)) deepFreeze(extraction);
  return value;
}
