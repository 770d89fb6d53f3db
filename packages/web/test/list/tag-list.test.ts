import { expect, test } from "vitest";
import { checkTags } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { suggestedTags, withNewTag } from "../../src/list/tag-list.ts";

test("a tag is added without the blanks around it, and once, however it is written", () => {
  expect(withNewTag(["work"], "  deep   work ")).toEqual(["work", "deep work"]);
  expect(withNewTag(["work"], "WORK")).toEqual(["work"]);
  expect(withNewTag(["work"], "  ")).toEqual(["work"]);
});

test("whatever is typed, the gateway takes the tags", () => {
  const typed = fc.array(fc.string({ maxLength: 150, unit: "grapheme" }), { maxLength: 120 });
  fc.assert(
    fc.property(typed, (texts) => {
      const tags = texts.reduce<readonly string[]>(withNewTag, []);
      expect(checkTags(tags)).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

test("tags of other chats are suggested, those first that begin with what is typed", () => {
  const all = ["homework", "work", "travel", "Workshop"];
  expect(suggestedTags(all, ["work"], "wor")).toEqual(["Workshop", "homework"]);
  expect(suggestedTags(all, [], "", 2)).toEqual(["homework", "work"]);
});
