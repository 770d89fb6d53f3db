import { currentPath } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import { nextFound, nodesWith, placesIn } from "../../src/chat/find-in-chat.ts";
import { answered, chatAfter, saying } from "./stage.ts";

const chat = chatAfter(
  { type: "add_message", parent: null, message: { text: "Where is the Harbour?" } },
  {
    type: "add_answer",
    parent: "node_1",
    answer: { ...answered, output: saying("The **old** harbour[^1] is\nnorth of `main_street`.") },
  },
  { type: "add_separator", after: "node_2" },
  { type: "add_message", parent: "node_3", message: { text: "Thank you" } },
);
const path = currentPath(chat);

test.each([
  ["whatever its case", "HARBOUR", ["node_1", "node_2"]],
  ["across marks of Markdown and of references", "old harbour is north", ["node_2"]],
  ["with its marks", "`main_street`", ["node_2"]],
  ["with signs that are no marks", "main_street", ["node_2"]],
  ["that is nowhere", "airport", []],
  ["that is empty", "", []],
  ["of spaces alone", "  ", []],
])("the nodes with a text %s are found", (_, query, ids) => {
  expect(nodesWith(path, query)).toEqual(ids);
});

test("from a node on the next is found, in both directions and around the ends", () => {
  const found = ["node_1", "node_2", "node_4"];
  const next = (nodeId: string | undefined, itself: boolean, step: 1 | -1) =>
    nextFound(path, found, { nodeId, itself }, step);
  expect(next("node_1", true, 1)).toBe("node_1");
  expect(next("node_1", false, 1)).toBe("node_2");
  expect(next("node_3", true, 1)).toBe("node_4");
  expect(next("node_3", false, -1)).toBe("node_2");
  expect(next("node_4", false, 1)).toBe("node_1");
  expect(next("node_1", false, -1)).toBe("node_4");
  expect(next(undefined, false, 1)).toBe("node_1");
  expect(next(undefined, false, -1)).toBe("node_4");
  expect(nextFound(path, [], { nodeId: "node_1", itself: true }, 1)).toBeUndefined();
  expect(nextFound(path, ["node_2"], { nodeId: "node_2", itself: false }, 1)).toBe("node_2");
});

test("places are found in texts that stand one after the other, also across them", () => {
  expect(placesIn(["a har", "", "bour, a H", "ARBOUR"], "harbour")).toEqual([
    { start: { text: 0, offset: 2 }, end: { text: 2, offset: 4 } },
    { start: { text: 2, offset: 8 }, end: { text: 3, offset: 6 } },
  ]);
  expect(placesIn(["abc"], " ")).toEqual([]);
});

test("however a text is cut, as many places are found, and each holds what was looked for", () => {
  const letter = fc.constantFrom("a", "b", "B", "İ", " ");
  const texts = fc.array(fc.string({ unit: letter, maxLength: 4 }), { maxLength: 6 });
  fc.assert(
    fc.property(texts, fc.string({ unit: letter, minLength: 1, maxLength: 3 }), (all, query) => {
      const places = placesIn(all, query);
      expect(places).toHaveLength(placesIn([all.join("")], query).length);
      for (const { start, end } of places) {
        const cut = all
          .map((text, nth) =>
            text.slice(
              nth === start.text ? start.offset : 0,
              nth === end.text ? end.offset : undefined,
            ),
          )
          .slice(start.text, end.text + 1)
          .join("");
        expect(cut.toLowerCase()).toBe(query.toLowerCase());
      }
    }),
  );
});
