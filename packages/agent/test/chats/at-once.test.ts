import { setTimeout } from "node:timers/promises";
import { ChatError } from "@deltawire/agent";
import { chatFaults } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { chatOf, newChat } from "../../../../test/chats/chat-steps.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { chanceFrom } from "../../../../test/seeded-random.ts";
import { office } from "../../../../test/chats/office.ts";

type Work = (world: StoredChatFixture, chat: string, node_id: string) => Promise<unknown>;

/** What people do to a chat, all of it to any node. */
const works: readonly Work[] = [
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
  "illegal_place",
  "unknown_node",
  "cannot_send",
  "only_version",
  "in_use",
]);

test.each([1, 2, 3, 4, 5, 6])(
  "whatever people do at the same time, the chat is sound and nothing runs unseen (%i)",
  async (seed) => {
    const chance = chanceFrom(seed);
    const next = (below: number): number => Math.floor(chance() * below);
    const world = await chatFixture({
      groups: [office().group],
      script: (request) =>
        next(3) === 0 && request["tool_choice"] !== "none"
          ? [{ call: "say", args: { text: "a" } }]
          : [{ text: ["A", "n", "swer"] }],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    const refusals: unknown[] = [];
    const under: Promise<unknown>[] = [];
    for (let step = 0; step < 150; step += 1) {
      const ids = Object.keys((await chatOf(world, chat)).nodes);
      const work = works[next(works.length)];
      const done = work?.(world, chat, ids[next(Math.max(1, ids.length))] ?? "node_0");
      under.push(done?.catch((error: unknown) => refusals.push(error)) ?? Promise.resolve());
      if (next(2) === 0) await setTimeout(next(5));
    }
    await Promise.all(under);
    await world.chats.stop(chat);
    for (const error of refusals)
      expect(error instanceof ChatError && expected.has(error.code) ? "fine" : error).toBe("fine");
    const { nodes, ...rest } = await chatOf(world, chat);
    expect(chatFaults({ nodes, ...rest })).toEqual([]);
    const versions = Object.values(nodes).flatMap((node) =>
      node.kind === "answer" ? node.versions : [],
    );
    const statuses = new Set(versions.map(({ status }) => status));
    expect([...statuses].filter((one) => one !== "completed" && one !== "aborted")).toEqual([]);
    expect(await world.store.unfinished()).toEqual([]);
    expect(await world.store.runningAnswers()).toEqual([]);
    expect(world.models.open).toBe(0);
  },
);
