import { annotate } from "@deltawire/tasks";
import { currentPath, type ChatNode } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  foundIn,
  nextFound,
  placesIn,
  readAhead,
  readWords,
  type LiveOutput,
} from "../../src/chat/find-in-chat.ts";
import { readMarkdown } from "../../src/markdown/markdown.tsx";
import { answered, chatAfter, saying } from "./stage.ts";

const text =
  "The **old** harbour[^1] is\nnorth of `main_street`, see [the map](https://maps.example) now." +
  "\n\n## Further\n\n- _first_ word\n\n| left | right |\n| --- | --- |\n| 1 | 2 |" +
  "\n\nThe sea &amp; sky (north-**east**)\n\n```html\n&lt;br&gt;\n```" +
  "\n\n1. See [the text][b] more\n\n[B]: https://secret.example\n\nFor $e = m c^2$ see";
const annotations = annotate(text, (n) => n === 1);
const chat = chatAfter(
  { type: "add_message", parent: null, message: { text: "Where is the Harbour?" } },
  {
    type: "add_answer",
    parent: "node_1",
    answer: {
      ...answered,
      output: [
        {
          type: "message",
          id: "message_1",
          role: "assistant",
          block_list: [{ type: "text", text, annotations }],
        },
      ],
    },
  },
  { type: "add_separator", after: "node_2" },
  { type: "add_message", parent: "node_3", message: { text: "Thank you" } },
);
const path = currentPath(chat);

function nodesWith(nodes: readonly ChatNode[], query: string, live?: LiveOutput): string[] {
  return foundIn(nodes, query, readMarkdown, live).map(({ nodeId }) => nodeId);
}

test.each([
  ["whatever its case", "HARBOUR", ["node_1", "node_2"]],
  ["across marks of Markdown and of references", "old harbour is north", ["node_2"]],
  ["with its marks", "`main_street`", ["node_2"]],
  ["with the mark of a heading", "## Further", ["node_2"]],
  ["with signs that are read as they are", "(north-east)", ["node_2"]],
  ["with what an entity stands for", "sea & sky", ["node_2"]],
  ["with an entity in code", "&lt;br&gt;", ["node_2"]],
  ["with signs that are no marks", "main_street", ["node_2"]],
  ["across a link", "the map now", ["node_2"]],
  ["whose signs stand at the beginning of a line", "first word", ["node_2"]],
  ["across a link by its label", "the text more", ["node_2"]],
  ["with the number of an item", "1. See the", []],
  ["with the number of an item, as it was written", "1. see [the", ["node_2"]],
  ["in a formula", "m c^2", ["node_2"]],
  ["with the signs of a formula", "$e = m c^2$ see", ["node_2"]],
  ["with an entity, as it was written", "sea &amp; sky", ["node_2"]],
  ["but not across blocks that are drawn apart", "now further", []],
  ["nor across cells of a table", "left right", []],
  ["nor across a formula", "for e", []],
  ["nor in an address that nobody sees", "maps.example", []],
  ["nor in one that a label stands for", "secret", []],
  ["nor in the name of a language", "html", []],
  ["that is nowhere", "airport", []],
  ["that is empty", "", []],
  ["of spaces alone", "  ", []],
])("the nodes with a text %s are found", (_, query, ids) => {
  expect(nodesWith(path, query)).toEqual(ids);
});

test.each([
  ["## Further", "Further"],
  ["**old** harbour", "old harbour"],
  ["see [the map](https://maps.example)", "see the map"],
  ["see [the map", "see the map"],
  ["**old harb", "old harb"],
  ["old** harb", "old harb"],
  ["1. First", "First"],
  ["R&amp;D", "R&D"],
  ["harbour[^1] is", "harbour is"],
  ["main_street", undefined],
  ["f(x)", undefined],
  ["harbour", undefined],
  ["[^1]", undefined],
])("%j is looked for in what is drawn as %j", (query, words) => {
  expect(readWords(query, readMarkdown)).toBe(words);
});

test("of an answer with many messages those are told that have the text, and all in their order", () => {
  const output = ["one", "two", "one and two"].flatMap((text, at) =>
    saying(text).map((item) => ({ ...item, id: `message_${at + 1}` })),
  );
  const two = currentPath(
    chatAfter(
      { type: "add_message", parent: null, message: { text: "two" } },
      { type: "add_answer", parent: "node_1", answer: { ...answered, output } },
    ),
  );
  expect(foundIn(two, "two", readMarkdown)).toEqual([
    { nodeId: "node_1", parts: [{ id: "version_1", has: true }] },
    {
      nodeId: "node_2",
      parts: [
        { id: "message_1", has: false },
        { id: "message_2", has: true },
        { id: "message_3", has: true },
      ],
    },
  ]);
});

test("an answer that is being written is looked through as far as it has come", () => {
  const running = path.map((node) =>
    node.kind === "answer"
      ? {
          ...node,
          versions: node.versions.map((version) => ({
            ...version,
            status: "running" as const,
            output: [],
          })),
        }
      : node,
  );
  expect(nodesWith(running, "ferry")).toEqual([]);
  expect(nodesWith(running, "ferry", () => saying("The ferry is"))).toEqual(["node_2"]);
});

test("looked for letter by letter, an answer is read once, and not even then if it was read ahead", () => {
  const counting = () => {
    let reads = 0;
    const read = (...given: Parameters<typeof readMarkdown>) => {
      reads += 1;
      return readMarkdown(...given);
    };
    return { read, reads: () => reads };
  };
  const [one, other] = [counting(), counting()];
  for (const query of ["f", "fu", "fur"]) expect(foundIn(path, query, one.read)).toHaveLength(1);
  expect(one.reads()).toBe(1);
  for (const node of path) readAhead(node, other.read);
  expect(other.reads()).toBe(1);
  expect(foundIn(path, "further", other.read)).toHaveLength(1);
  expect(other.reads()).toBe(1);
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

test("what is found in a node is found in what is drawn of it, whatever blanks stand in between", () => {
  const drawn = [
    "The ",
    "old",
    " harbour is\nnorth of ",
    "main_street",
    ", see ",
    "the map",
    " now.",
  ];
  for (const query of ["old harbour is north", "main_street", "THE MAP now", "harbour  is"])
    expect([nodesWith(path, query), placesIn(drawn, query).length], query).toEqual([["node_2"], 1]);
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
      const plain = (text: string) =>
        text.replaceAll(/ +/g, " ").replaceAll(/[AB]/g, (one) => one.toLowerCase());
      const count = query.trim() === "" ? 0 : plain(all.join("")).split(plain(query)).length - 1;
      expect(places).toHaveLength(count);
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
        expect(plain(cut)).toBe(plain(query));
      }
    }),
  );
});
