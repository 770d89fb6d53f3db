import { expect, test } from "vitest";
import { checkTags } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { suggestTags, addTag, addSuggestedTag, addTypedTags } from "../../src/list/tags-dialog.tsx";

test("a tag is trimmed and added once, ignoring case", () => {
  expect(addTag(["work"], "  deep   work ")).toEqual(["work", "deep work"]);
  expect(addTag(["work"], "WORK")).toEqual(["work"]);
  expect(addTag(["work"], "  ")).toEqual(["work"]);
});

test("commas separate tags, including Chinese commas", () => {
  expect(addTypedTags(["work"], "travel, demo")).toEqual(["work", "travel", "demo"]);
  expect(addTypedTags([], "旅行，演示、工作")).toEqual(["旅行", "演示", "工作"]);
  expect(addTypedTags(["demo"], ", Demo,, ,")).toEqual(["demo"]);
});

test("a suggested tag replaces the text after the last comma", () => {
  expect(suggestTags(["work", "travel"], [], "demo, tra")).toEqual(["travel"]);
  expect(addSuggestedTag([], "demo, tra", "travel")).toEqual(["demo", "travel"]);
  expect(addSuggestedTag(["a"], "on", "one, two")).toEqual(["a", "one, two"]);
});

test("tags from any input are valid for the gateway", () => {
  const typed = fc.array(fc.string({ maxLength: 150, unit: "grapheme" }), { maxLength: 120 });
  fc.assert(
    fc.property(typed, (texts) => {
      const tags = texts.reduce<readonly string[]>(addTypedTags, []);
      expect(checkTags(tags)).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

test("the suggested tags are those of other chats, and those that start with the typed text come first", () => {
  const all = ["homework", "work", "travel", "Workshop"];
  expect(suggestTags(all, ["work"], "wor")).toEqual(["Workshop", "homework"]);
  expect(suggestTags(all, [], "", 2)).toEqual(["homework", "work"]);
});
