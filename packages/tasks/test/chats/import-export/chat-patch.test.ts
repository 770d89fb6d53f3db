import fc from "fast-check";
import { expect, test } from "vitest";
import { applyChatPatch, createChat, diffChats } from "@deltawire/tasks/chats";
import { propertyRuns } from "../../../../../test/property-runs.ts";
import { ChatBuilder } from "../chat-builder.ts";
import { anySteps, applySteps } from "./arbitrary-chat.ts";
import { createSampleEnvironment } from "./sample-chat.ts";

test("applying the difference between two states turns the first into the second", () => {
  fc.assert(
    fc.property(anySteps, anySteps, (first, second) => {
      const environment = createSampleEnvironment();
      const before = applySteps(createChat({}, environment), first, environment);
      const after = applySteps(before, second, environment);
      const patch = JSON.parse(JSON.stringify(diffChats(before, after, 7))) as ReturnType<
        typeof diffChats
      >;
      expect(applyChatPatch(before, patch)).toEqual(after);
    }),
    propertyRuns(150),
  );
});

test("a patch contains only the nodes that an edit changed", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const [user, answer] = builder.addTurn(null, "one");
  const before = builder.chat;
  const next = builder.addMessage(answer, "two");
  const patch = diffChats(before, builder.chat, 9);
  expect(patch.stamp).toBe(9);
  expect(Object.keys(patch.nodes).toSorted()).toEqual([answer, next].toSorted());
  expect(patch.deleted_node_ids).toEqual([]);
  expect(patch.chat).not.toHaveProperty("nodes");
  expect(applyChatPatch(before, patch).nodes[user]).toBe(before.nodes[user]);
  expect(diffChats(builder.chat, before, 10).deleted_node_ids).toEqual([next]);
});
