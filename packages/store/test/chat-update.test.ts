import { join } from "node:path";
import { applyEdit, applyChatPatch, type ChatEdit, type StoredChat } from "@deltawire/tasks/chats";
import type { Removal } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createAnswer, ChatBuilder } from "../contract/chat-builder.ts";
import { openForWriting } from "../src/sqlite/database.ts";
import { openTestStore, createTemporaryFolder } from "./test-store.ts";

/** Random actions; `at` selects one of the existing nodes or removals. */
const steps = fc.array(
  fc.record({
    action: fc.constantFrom(
      "message",
      "message",
      "answer",
      "answer",
      "run",
      "again",
      "separator",
      "hide",
      "choose",
      "delete",
      "delete and keep",
      "restore",
      "rename",
      "end",
      "toggle deleted",
    ),
    at: fc.nat(1000),
  }),
  { minLength: 5, maxLength: 40, size: "max" },
);
type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

test("applying the changes since any stamp results in the current chat, whatever was edited", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (actions) => {
      const store = await openTestStore({ path: ":memory:" });
      const builder = new ChatBuilder(store);
      let stored = await builder.create("a", "one", "two");
      const { chat_id: chatId } = stored.chat;
      const otherChat = await builder.create("other", "one");
      const earlierStates = [stored];
      const removals: Removal[] = [];
      for (const step of actions) {
        if (step.action === "toggle deleted") {
          await store.setDeleted(chatId, step.at % 2 === 0 ? builder.editEnvironment.now() : null);
          stored = await builder.open(chatId);
        } else {
          const edit = toEdit(step, stored, removals);
          const edited = edit && applyEdit(stored.chat, edit, builder.editEnvironment);
          if (edited?.ok !== true) continue;
          if (edited.removal !== undefined) removals.push(edited.removal);
          stored = await builder.saveChat(stored, edited.chat, edited.removal && [edited.removal]);
        }
        if (step.at % 3 === 0) await store.setDeleted(otherChat.chat.chat_id, null);
        earlierStates.push(stored);
      }
      const current = await builder.open(chatId);
      for (const { chat, stamp } of earlierStates) {
        const changes = await store.getChatUpdate(chatId, stamp);
        if (changes === undefined) throw new Error(`no update since stamp ${stamp}`);
        const update = JSON.parse(JSON.stringify(changes)) as typeof changes;
        expect(applyChatPatch(chat, update)).toEqual(current.chat);
        expect([update.stamp, update.deleted_at]).toEqual([current.stamp, current.deleted_at]);
      }
      const emptyUpdate = await store.getChatUpdate(chatId, current.stamp);
      const running = Object.values(current.chat.nodes).filter((node) =>
        JSON.stringify(node).includes('"running"'),
      );
      expect(Object.values(emptyUpdate?.nodes ?? {})).toEqual(running);
    }),
    { numRuns: 40 },
  );
}, 20_000);

test("a removed chat leaves no ids of deleted nodes", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const store = await openTestStore({ path });
  const builder = new ChatBuilder(store);
  const stored = await builder.create("a", "one", "two");
  const [node_id = ""] = stored.chat.roots;
  await builder.saveEdit(stored, { type: "delete_node", node_id, children: "delete" });
  const countDeletedIds = (): unknown => {
    const connection = openForWriting(path, { timeoutMs: 100, now: Date.now });
    try {
      return connection.get("SELECT count(*) AS n FROM gone_nodes");
    } finally {
      connection.close();
    }
  };
  expect(countDeletedIds()).toEqual({ n: 2 });
  await store.removeChat(stored.chat.chat_id);
  expect(countDeletedIds()).toEqual({ n: 0 });
});

function toEdit(
  { action, at }: Step,
  { chat }: StoredChat,
  removals: readonly Removal[],
): ChatEdit | undefined {
  const ids = Object.keys(chat.nodes);
  const node_id = ids[at % Math.max(1, ids.length)] ?? "";
  const node = chat.nodes[node_id];
  const version_id = node === undefined || node.kind === "separator" ? "" : node.version;
  switch (action) {
    case "message":
      return {
        type: "add_message",
        parent: at % 5 === 0 ? null : node_id,
        message: { text: `${at}` },
      };
    case "answer":
      return { type: "add_answer", parent: node_id, answer: createAnswer(`${at}`) };
    case "run": {
      const running = createAnswer("", { status: "running", task_id: `task_${at}`, output: [] });
      return { type: "add_answer", parent: node_id, answer: running };
    }
    case "again":
      return { type: "add_answer_version", node_id, answer: createAnswer(`${at}`) };
    case "separator":
      return { type: "add_separator", after: node_id };
    case "hide":
      return { type: "hide", node_id, value: at % 2 === 0 };
    case "choose":
      return { type: "choose_branch", node_id };
    case "delete":
      return { type: "delete_node", node_id, children: "delete" };
    case "delete and keep":
      return { type: "delete_node", node_id, children: "keep" };
    case "restore": {
      const removal = removals[at % Math.max(1, removals.length)];
      return removal && { type: "restore", removal };
    }
    case "rename":
      return { type: "rename", title: `title ${at}` };
    case "end": {
      const answerEnd = {
        status: "completed",
        output: createAnswer("!").output,
        references: [],
      } as const;
      return { type: "finish_answer", node_id, version_id, end: answerEnd };
    }
    default:
      return undefined;
  }
}
