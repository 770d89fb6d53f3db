import fc from "fast-check";
import { expect, test } from "vitest";
import { applyPatch, newChat, patchBetween } from "@deltawire/tasks/chats";
import { runs } from "../../../../../test/runs.ts";
import { WrittenChat } from "../written-chat.ts";
import { anySteps, grown } from "./any-chat.ts";
import { sampleWorld } from "./sample-chat.ts";

test("a patch between two states makes the second of the first", () => {
  fc.assert(
    fc.property(anySteps, anySteps, (first, then) => {
      const world = sampleWorld();
      const before = grown(newChat({}, world), first, world);
      const after = grown(before, then, world);
      const patch = JSON.parse(JSON.stringify(patchBetween(before, after, 7))) as ReturnType<
        typeof patchBetween
      >;
      expect(applyPatch(before, patch)).toEqual(after);
    }),
    runs(150),
  );
});

test("a patch holds the nodes that an edit touched, and no others", () => {
  const written = new WrittenChat({}, sampleWorld());
  const [asked, answered] = written.turn(null, "one");
  const before = written.chat;
  const next = written.user(answered, "two");
  const patch = patchBetween(before, written.chat, 9);
  expect(patch.stamp).toBe(9);
  expect(Object.keys(patch.nodes).toSorted()).toEqual([answered, next].toSorted());
  expect(patch.gone).toEqual([]);
  expect(patch.chat).not.toHaveProperty("nodes");
  expect(applyPatch(before, patch).nodes[asked]).toBe(before.nodes[asked]);
  expect(patchBetween(written.chat, before, 10).gone).toEqual([next]);
});
