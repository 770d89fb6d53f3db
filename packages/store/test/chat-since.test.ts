import { join } from "node:path";
import { applyEdit, applyPatch, type ChatEdit, type KeptChat } from "@deltawire/tasks/chats";
import type { Removal } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import { answer, ChatStage } from "../contract/chat-scenario.ts";
import { openForWriting } from "../src/database.ts";
import { opened, temporaryFolder } from "./opened.ts";

/** What is asked for; the number picks among the nodes, or the removals, that there are then. */
const steps = fc.array(
  fc.record({
    what: fc.constantFrom(
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
      "put away",
    ),
    at: fc.nat(1000),
  }),
  { minLength: 5, maxLength: 40, size: "max" },
);
type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

test("whatever was edited, and from whichever stamp, what changed since makes the chat of now", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const store = await opened({ path: ":memory:" });
      const stage = new ChatStage(store);
      let kept = await stage.create("a", "one", "two");
      const { chat_id: chatId } = kept.chat;
      const other = await stage.create("other", "one");
      const seen = [kept];
      const removals: Removal[] = [];
      for (const step of list) {
        if (step.what === "put away") {
          await store.setDeleted(chatId, step.at % 2 === 0 ? stage.world.now() : null);
          kept = await stage.open(chatId);
        } else {
          const edit = editOf(step, kept, removals);
          const edited = edit && applyEdit(kept.chat, edit, stage.world);
          if (edited?.ok !== true) continue;
          if (edited.removal !== undefined) removals.push(edited.removal);
          kept = await stage.saved(kept, edited.chat, edited.removal && [edited.removal]);
        }
        if (step.at % 3 === 0) await store.setDeleted(other.chat.chat_id, null);
        seen.push(kept);
      }
      const now = await stage.open(chatId);
      for (const { chat, stamp } of seen) {
        const since = await store.chatSince(chatId, stamp);
        if (since === undefined) throw new Error(`nothing is known of ${stamp}`);
        const told = JSON.parse(JSON.stringify(since)) as typeof since;
        expect(applyPatch(chat, told)).toEqual(now.chat);
        expect([told.stamp, told.deleted_at]).toEqual([now.stamp, now.deleted_at]);
      }
      const last = await store.chatSince(chatId, now.stamp);
      const running = Object.values(now.chat.nodes).filter((node) =>
        JSON.stringify(node).includes('"running"'),
      );
      expect(Object.values(last?.nodes ?? {})).toEqual(running);
    }),
    { numRuns: 40 },
  );
}, 20_000);

test("a removed chat leaves no names of its nodes", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const store = await opened({ path });
  const stage = new ChatStage(store);
  const kept = await stage.create("a", "one", "two");
  const [node_id = ""] = kept.chat.roots;
  await stage.save(kept, { type: "delete_node", node_id, children: "delete" });
  const count = (): unknown => {
    const rows = openForWriting(path, { timeoutMs: 100, now: Date.now });
    try {
      return rows.get("SELECT count(*) AS n FROM gone_nodes");
    } finally {
      rows.close();
    }
  };
  expect(count()).toEqual({ n: 2 });
  await store.removeChat(kept.chat.chat_id);
  expect(count()).toEqual({ n: 0 });
});

function editOf(
  { what, at }: Step,
  { chat }: KeptChat,
  removals: readonly Removal[],
): ChatEdit | undefined {
  const ids = Object.keys(chat.nodes);
  const node_id = ids[at % Math.max(1, ids.length)] ?? "";
  const node = chat.nodes[node_id];
  const version_id = node === undefined || node.kind === "separator" ? "" : node.version;
  switch (what) {
    case "message":
      return {
        type: "add_message",
        parent: at % 5 === 0 ? null : node_id,
        message: { text: `${at}` },
      };
    case "answer":
      return { type: "add_answer", parent: node_id, answer: answer(`${at}`) };
    case "run": {
      const running = answer("", { status: "running", task_id: `task_${at}`, output: [] });
      return { type: "add_answer", parent: node_id, answer: running };
    }
    case "again":
      return { type: "add_answer_version", node_id, answer: answer(`${at}`) };
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
      const end = { status: "completed", output: answer("!").output, references: [] } as const;
      return { type: "finish_answer", node_id, version_id, end };
    }
    default:
      return undefined;
  }
}
