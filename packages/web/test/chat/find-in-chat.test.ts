import { annotateCitations } from "@deltawire/tasks";
import { currentPath, type ChatNode } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  findInChat,
  findNextMatch,
  findTextRanges,
  indexNode,
  toRenderedQuery,
  type GetLiveOutput,
} from "../../src/chat/find-in-chat.ts";
import { markdownToTextPieces } from "../../src/markdown/markdown.tsx";
import { completedAnswer, buildChat, createMessageOutput } from "./chat-fixture.ts";

const text =
  "The **old** harbour[^1] is\nnorth of `main_street`, see [the map](https://maps.example) now." +
  "\n\n## Further\n\n- _first_ word\n\n| left | right |\n| --- | --- |\n| 1 | 2 |" +
  "\n\nThe sea &amp; sky (north-**east**)\n\n```html\n&lt;br&gt;\n```" +
  "\n\n1. See [the text][b] more\n\n[B]: https://secret.example\n\nFor $e = m c^2$ see";
const annotations = annotateCitations(text, (n) => n === 1);
const chat = buildChat(
  { type: "add_message", parent: null, message: { text: "Where is the Harbour?" } },
  {
    type: "add_answer",
    parent: "node_1",
    answer: {
      ...completedAnswer,
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

function findNodeIds(
  nodes: readonly ChatNode[],
  query: string,
  liveOutput?: GetLiveOutput,
): string[] {
  return findInChat(nodes, query, markdownToTextPieces, liveOutput).map(({ nodeId }) => nodeId);
}

test.each([
  ["ignores case", "HARBOUR", ["node_1", "node_2"]],
  ["matches across Markdown syntax and citations", "old harbour is north", ["node_2"]],
  ["matches Markdown syntax as written", "`main_street`", ["node_2"]],
  ["matches the syntax of a heading", "## Further", ["node_2"]],
  ["matches ordinary punctuation", "(north-east)", ["node_2"]],
  ["matches the character of an entity", "sea & sky", ["node_2"]],
  ["matches an entity in code", "&lt;br&gt;", ["node_2"]],
  ["matches special characters that are not syntax", "main_street", ["node_2"]],
  ["matches across a link", "the map now", ["node_2"]],
  ["matches across emphasis at the start of an item", "first word", ["node_2"]],
  ["matches across a reference link", "the text more", ["node_2"]],
  ["does not match the number of an item in rendered text", "1. See the", []],
  ["matches the number of an item as written", "1. see [the", ["node_2"]],
  ["matches in a formula", "m c^2", ["node_2"]],
  ["matches the delimiters of a formula", "$e = m c^2$ see", ["node_2"]],
  ["matches an entity as written", "sea &amp; sky", ["node_2"]],
  ["does not match across blocks", "now further", []],
  ["does not match across table cells", "left right", []],
  ["does not match across a formula", "for e", []],
  ["does not match a link address", "maps.example", []],
  ["does not match the address of a reference link", "secret", []],
  ["does not match the language of a code block", "html", []],
  ["finds nothing if there is no match", "airport", []],
  ["finds nothing for an empty query", "", []],
  ["finds nothing for spaces", "  ", []],
])("the search %s", (_, query, ids) => {
  expect(findNodeIds(path, query)).toEqual(ids);
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
])("the query %j is rendered as %j", (query, rendered) => {
  expect(toRenderedQuery(query, markdownToTextPieces)).toBe(rendered);
});

test("a match in an answer lists all of its messages in order and marks the matching ones", () => {
  const output = ["one", "two", "one and two"].flatMap((text, index) =>
    createMessageOutput(text).map((item) => ({ ...item, id: `message_${index + 1}` })),
  );
  const two = currentPath(
    buildChat(
      { type: "add_message", parent: null, message: { text: "two" } },
      { type: "add_answer", parent: "node_1", answer: { ...completedAnswer, output } },
    ),
  );
  expect(findInChat(two, "two", markdownToTextPieces)).toEqual([
    { nodeId: "node_1", parts: [{ id: "version_1", isMatch: true }] },
    {
      nodeId: "node_2",
      parts: [
        { id: "message_1", isMatch: false },
        { id: "message_2", isMatch: true },
        { id: "message_3", isMatch: true },
      ],
    },
  ]);
});

test("the text of a running answer is searched", () => {
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
  expect(findNodeIds(running, "ferry")).toEqual([]);
  expect(findNodeIds(running, "ferry", () => createMessageOutput("The ferry is"))).toEqual([
    "node_2",
  ]);
});

test("an answer is parsed once for all queries, and not again if it was indexed before", () => {
  const createCountingParser = () => {
    let count = 0;
    const toText = (...args: Parameters<typeof markdownToTextPieces>) => {
      count += 1;
      return markdownToTextPieces(...args);
    };
    return { toText, count: () => count };
  };
  const [first, second] = [createCountingParser(), createCountingParser()];
  for (const query of ["f", "fu", "fur"])
    expect(findInChat(path, query, first.toText)).toHaveLength(1);
  expect(first.count()).toBe(1);
  for (const node of path) indexNode(node, second.toText);
  expect(second.count()).toBe(1);
  expect(findInChat(path, "further", second.toText)).toHaveLength(1);
  expect(second.count()).toBe(1);
});

test("the next match is found in both directions, wrapping around", () => {
  const matchingIds = ["node_1", "node_2", "node_4"];
  const next = (nodeId: string | undefined, includeStart: boolean, step: 1 | -1) =>
    findNextMatch(path, matchingIds, { nodeId, includeStart }, step);
  expect(next("node_1", true, 1)).toBe("node_1");
  expect(next("node_1", false, 1)).toBe("node_2");
  expect(next("node_3", true, 1)).toBe("node_4");
  expect(next("node_3", false, -1)).toBe("node_2");
  expect(next("node_4", false, 1)).toBe("node_1");
  expect(next("node_1", false, -1)).toBe("node_4");
  expect(next(undefined, false, 1)).toBe("node_1");
  expect(next(undefined, false, -1)).toBe("node_4");
  expect(findNextMatch(path, [], { nodeId: "node_1", includeStart: true }, 1)).toBeUndefined();
  expect(findNextMatch(path, ["node_2"], { nodeId: "node_2", includeStart: false }, 1)).toBe(
    "node_2",
  );
});

test("a match in a node is also found in its rendered text, even if the whitespace differs", () => {
  const rendered = [
    "The ",
    "old",
    " harbour is\nnorth of ",
    "main_street",
    ", see ",
    "the map",
    " now.",
  ];
  for (const query of ["old harbour is north", "main_street", "THE MAP now", "harbour  is"])
    expect([findNodeIds(path, query), findTextRanges(rendered, query).length], query).toEqual([
      ["node_2"],
      1,
    ]);
});

test("matches are found within and across consecutive strings", () => {
  expect(findTextRanges(["a har", "", "bour, a H", "ARBOUR"], "harbour")).toEqual([
    { start: { text: 0, offset: 2 }, end: { text: 2, offset: 4 } },
    { start: { text: 2, offset: 8 }, end: { text: 3, offset: 6 } },
  ]);
  expect(findTextRanges(["abc"], " ")).toEqual([]);
});

test("the matches do not depend on how the text is split, and each contains the query", () => {
  const character = fc.constantFrom("a", "b", "B", "İ", " ");
  const anyTexts = fc.array(fc.string({ unit: character, maxLength: 4 }), { maxLength: 6 });
  const anyQuery = fc.string({ unit: character, minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(anyTexts, anyQuery, (texts, query) => {
      const ranges = findTextRanges(texts, query);
      const normalize = (text: string) =>
        text.replaceAll(/ +/g, " ").replaceAll(/[AB]/g, (letter) => letter.toLowerCase());
      const count =
        query.trim() === "" ? 0 : normalize(texts.join("")).split(normalize(query)).length - 1;
      expect(ranges).toHaveLength(count);
      for (const { start, end } of ranges) {
        const match = texts
          .map((text, index) =>
            text.slice(
              index === start.text ? start.offset : 0,
              index === end.text ? end.offset : undefined,
            ),
          )
          .slice(start.text, end.text + 1)
          .join("");
        expect(normalize(match)).toBe(normalize(query));
      }
    }),
  );
});
