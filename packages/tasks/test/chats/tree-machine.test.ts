import { addUsage, noUsage, type Usage } from "@deltawire/tasks";
import {
  applyEdit,
  chatFaults,
  chatUsage,
  currentPath,
  extractSubtree,
  newChat,
  type Chat,
  type ChatEdit,
  type EditWorld,
  type Removal,
} from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import { drawBack, restoreRefusal, shownIn, type Gone } from "./drawn-removals.ts";
import {
  all,
  draw,
  drawn,
  extracted,
  extractRefusal,
  find,
  refusalOf,
  type Drawing,
} from "./nested-lists.ts";
import { editOf, steps } from "./tree-steps.ts";

test("whatever is edited, the tree is what lists in lists would be, and keeps every rule", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const world = hostileWorld();
      let chat = frozen(newChat({}, world));
      const drawing = drawn(chat);
      const removals: { removal: Removal; gone: Gone }[] = [];
      let used = noUsage;
      for (const step of list) {
        const edit = editOf(step, drawing, removals);
        if (edit === undefined) continue;
        if (edit.type === "extract") {
          expectExtracted(chat, drawing, edit.node_id, world);
          continue;
        }
        const gone = removals.find(({ removal }) => "removal" in edit && removal === edit.removal);
        const edited = applyEdit(chat, edit, world);
        expect(edited.ok ? undefined : edited.code).toBe(
          gone ? restoreRefusal(drawing, gone.gone) : refusalOf(drawing, edit),
        );
        if (!edited.ok) continue;

        const before = structuredClone(drawing);
        if (gone) {
          drawBack(drawing, gone.gone);
          expectStillShown(before, drawing, gone.gone);
        } else draw(drawing, edit, edited.node_id, edited.version_id);
        expect(drawn(edited.chat)).toEqual(drawing);
        expect(chatFaults(edited.chat)).toEqual([]);
        expect(pathOf(drawing)).toEqual(currentPath(edited.chat).map(({ node_id }) => node_id));
        expectShared(chat, edited.chat);
        expect(edited.chat.revision).toBe(chat.revision + (byModel.has(edit.type) ? 0 : 1));
        expect(edited.chat.updated_at === chat.updated_at).toBe(looks.has(edit.type));
        used = addUsage(used, usageIn(edit));
        expect(chatUsage(edited.chat)).toEqual(used);
        if (edit.type === "delete_node" || edit.type === "delete_version") {
          const { removal } = edited;
          if (removal === undefined) throw new Error("nothing was removed");
          removals.push({ removal, gone: { edit, before, after: structuredClone(drawing) } });
          expectIdentity(chat, edited.chat, removal, world);
        }
        chat = frozen(edited.chat);
      }
    }),
    { numRuns: 500 },
  );
}, 60_000);

const byModel = new Set<string>(["finish_answer", "answer_waits", "title_by_model"]);
const looks = new Set<string>([
  "pin_chat",
  "tag",
  "choose_branch",
  "choose_version",
  "pin",
  "hide",
  "bookmark",
  "answer_waits",
]);

/** What an edit says that was used: it is never less afterwards. */
function usageIn(edit: ChatEdit): Usage {
  if (edit.type === "title_by_model") return edit.usage ?? noUsage;
  const answer = "answer" in edit ? edit.answer : "end" in edit ? edit.end : undefined;
  return answer?.tree_usage ?? answer?.usage ?? noUsage;
}

/** Ids that every object seems to have, before those that look like ids. */
function hostileWorld(): EditWorld {
  const ids = ["__proto__", "constructor", "toString", "chosen", "0", "valueOf"];
  let count = 0;
  let looked = 0;
  return {
    newId: (prefix) =>
      prefix === "chat" ? "chat_1" : (ids.shift() ?? `${prefix}_${(count += 1)}`),
    now: () => `2026-01-02T03:04:05.${(looked += 1)}Z`,
  };
}

function pathOf(drawing: Drawing): string[] {
  const path: string[] = [];
  let next = drawing.under.find(({ id }) => id === drawing.on);
  while (next !== undefined) {
    path.push(next.id);
    const { under, on } = next;
    next = under.find(({ id }) => id === on);
  }
  return path;
}

/** What did not change is the same object. */
function expectShared(before: Chat, after: Chat): void {
  const copied = Object.entries(after.nodes).filter(([id, node]) => {
    const old = Object.hasOwn(before.nodes, id) ? before.nodes[id] : undefined;
    return node !== old && JSON.stringify(node) === JSON.stringify(old);
  });
  expect(copied).toEqual([]);
}

/** A delete that is undone at once has not been. A removal is kept as JSON meanwhile. */
function expectIdentity(before: Chat, after: Chat, removal: Removal, world: EditWorld): void {
  const kept = JSON.parse(JSON.stringify(removal)) as Removal;
  const undone = applyEdit(frozen(after), { type: "restore", removal: kept }, world);
  if (!undone.ok) throw new Error(undone.reason);
  const { revision, updated_at } = before;
  expect(undone.chat.revision).toBe(revision + 2);
  expect({ ...undone.chat, revision, updated_at }).toEqual(before);
}

/** Nothing leaves the path by a restore that came after the delete, and nothing at all where children had moved up. */
function expectStillShown(before: Drawing, after: Drawing, { edit, ...gone }: Gone): void {
  const shown = new Set(shownIn(after));
  const lost = shownIn(before).filter((id) => !shown.has(id));
  const known = all(gone.after).flatMap(({ id, versions }) => [id, ...versions.map((v) => v.id)]);
  const kept = edit.type === "delete_node" && edit.children === "keep";
  const movedUp = kept && find(gone.before, edit.node_id).under.length > 0;
  expect(movedUp ? [] : known).toEqual(expect.arrayContaining(lost));
}

/** A part as a chat of its own is the same part, and the chat that it is from stays what it was. */
function expectExtracted(chat: Chat, drawing: Drawing, nodeId: string, world: EditWorld): void {
  const part = extractSubtree(chat, nodeId, world);
  expect(part.ok ? undefined : part.code).toBe(extractRefusal(drawing, nodeId));
  if (!part.ok) return;
  expect(drawn(part.chat)).toEqual(extracted(drawing, nodeId));
  expect(chatFaults(part.chat)).toEqual([]);
  expect(part.chat.revision).toBe(0);
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) frozen(part);
  return value;
}
