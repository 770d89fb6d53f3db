import { expect, test } from "vitest";
import { checkTags } from "@deltawire/tasks/chats";
import fc from "fast-check";
import {
  suggestedTags,
  withNewTag,
  withSuggestedTag,
  withTypedTags,
} from "../../src/list/tags-dialog.tsx";

test("a tag is added without the blanks around it, and once, however it is written", () => {
  expect(withNewTag(["work"], "  deep   work ")).toEqual(["work", "deep work"]);
  expect(withNewTag(["work"], "WORK")).toEqual(["work"]);
  expect(withNewTag(["work"], "  ")).toEqual(["work"]);
});

test("commas separate tags, Chinese ones too", () => {
  expect(withTypedTags(["work"], "travel, demo")).toEqual(["work", "travel", "demo"]);
  expect(withTypedTags([], "旅行，演示、工作")).toEqual(["旅行", "演示", "工作"]);
  expect(withTypedTags(["demo"], ", Demo,, ,")).toEqual(["demo"]);
});

test("a suggested tag takes the place of what is typed after the last comma", () => {
  expect(suggestedTags(["work", "travel"], [], "demo, tra")).toEqual(["travel"]);
  expect(withSuggestedTag([], "demo, tra", "travel")).toEqual(["demo", "travel"]);
  expect(withSuggestedTag(["a"], "on", "one, two")).toEqual(["a", "one, two"]);
});

test("whatever is typed, the gateway takes the tags", () => {
  const typed = fc.array(fc.string({ maxLength: 150, unit: "grapheme" }), { maxLength: 120 });
  fc.assert(
    fc.property(typed, (texts) => {
      const tags = texts.reduce<readonly string[]>(withTypedTags, []);
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
