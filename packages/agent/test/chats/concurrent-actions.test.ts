import { setTimeout } from "node:timers/promises";
import { ChatError } from "@deltawire/agent";
import { findChatFaults } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { readChat, createTestChat } from "../../../../test/chats/chat-helpers.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { createSeededRandom } from "../../../../test/seeded-random.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";

type Action = (fixture: StoredChatFixture, chat: string, node_id: string) => Promise<unknown>;

/** User actions, each on an arbitrary node. */
const actions: readonly Action[] = [
  ({ chats }, chat) => chats.send(chat, { text: "Next" }),
  ({ chats }, chat) => chats.send(chat, { text: "Anew", parent: null }),
  ({ chats }, chat, node_id) => chats.send(chat, { text: "Branch", parent: node_id }),
  ({ chats }, chat, node_id) => chats.rerun(chat, { node_id }),
  ({ chats }, chat, node_id) => chats.continueAnswer(chat, { node_id }),
  ({ chats }, chat, node_id) =>
    chats.editMessage(chat, { node_id, text: "Edited", as: "version", send: true }),
  ({ chats }, chat, node_id) =>
    chats.editMessage(chat, { node_id, text: "Beside", as: "branch", send: true }),
  ({ chats }, chat) => chats.stop(chat),
  ({ chats }, chat, node_id) => chats.stop(chat, { node_id }),
  ({ chats }, chat, node_id) =>
    chats.edit(chat, [{ type: "delete_node", node_id, children: "delete" }]),
  ({ chats }, chat, node_id) =>
    chats.edit(chat, [{ type: "delete_node", node_id, children: "keep" }]),
  ({ chats }, chat, node_id) => chats.edit(chat, [{ type: "choose_branch", node_id }]),
  ({ chats }, chat, after) => chats.edit(chat, [{ type: "add_separator", after }]),
  ({ chats }, chat, node_id) => chats.edit(chat, [{ type: "hide", node_id, value: true }]),
];

const expected = new Set([
  "still_running",
  "invalid_position",
  "node_not_found",
  "cannot_send",
  "only_version",
  "version_in_use",
]);

test.each([1, 2, 3, 4, 5, 6])(
  "concurrent actions leave a valid chat and no untracked tasks (seed %i)",
  async (seed) => {
    const random = createSeededRandom(seed);
    const randomInteger = (below: number): number => Math.floor(random() * below);
    const fixture = await chatFixture({
      groups: [createOfficeTools().group],
      script: (request) =>
        randomInteger(3) === 0 && request["tool_choice"] !== "none"
          ? [{ call: "say", args: { text: "a" } }]
          : [{ text: ["A", "n", "swer"] }],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    const rejections: unknown[] = [];
    const pending: Promise<unknown>[] = [];
    for (let step = 0; step < 150; step += 1) {
      const ids = Object.keys((await readChat(fixture, chat)).nodes);
      const action = actions[randomInteger(actions.length)];
      const done = action?.(fixture, chat, ids[randomInteger(Math.max(1, ids.length))] ?? "node_0");
      pending.push(done?.catch((error: unknown) => rejections.push(error)) ?? Promise.resolve());
      if (randomInteger(2) === 0) await setTimeout(randomInteger(5));
    }
    await Promise.all(pending);
    await fixture.chats.stop(chat);
    for (const error of rejections)
      expect(error instanceof ChatError && expected.has(error.code) ? "fine" : error).toBe("fine");
    const { nodes, ...rest } = await readChat(fixture, chat);
    expect(findChatFaults({ nodes, ...rest })).toEqual([]);
    const versions = Object.values(nodes).flatMap((node) =>
      node.kind === "answer" ? node.versions : [],
    );
    const statuses = new Set(versions.map(({ status }) => status));
    expect([...statuses].filter((one) => one !== "completed" && one !== "aborted")).toEqual([]);
    expect(await fixture.store.listUnfinished()).toEqual([]);
    expect(await fixture.store.listRunningAnswers()).toEqual([]);
    expect(fixture.models.openReplies).toBe(0);
  },
);
