import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { annotateCitations } from "@deltawire/tasks";
import { currentPath } from "@deltawire/tasks/chats";
import { findInChat, findTextRanges } from "../../src/chat/find-in-chat.ts";
import { Markdown, markdownToTextPieces } from "../../src/markdown/markdown.tsx";
import { completedAnswer, buildChat } from "./chat-fixture.ts";

/** Renders a message and returns the text nodes of each line that `lineSelector` in search-highlights.ts would select. */
function getRenderedLines(text: string, isStreaming: boolean): string[][] {
  const cite = (number: number) => <button type="button">{number}</button>;
  const markup = renderToStaticMarkup(
    <Markdown
      text={text}
      annotations={annotateText(text)}
      isStreaming={isStreaming}
      renderCitation={cite}
    />,
  );
  const lines: string[][] = [];
  const open: { tag: string; line: string[] | undefined }[] = [];
  for (const [match, tag, attributes = "", content] of markup.matchAll(
    /<(\/?[\w]+)([^>]*)>|([^<]+)/g,
  )) {
    const currentLine = open.at(-1)?.line;
    if (content !== undefined) currentLine?.push(decodeEntities(content));
    else if (tag === "br/" || tag === "br") currentLine?.push("\n");
    else if (tag?.startsWith("/")) open.pop();
    else if (!match.endsWith("/>") && tag !== undefined) {
      const isLine = /^(?:p|td|th)$/.test(tag) || lineClasses.test(attributes);
      const isRepeatedHeader = tag === "th" && open.some((each) => each.tag === "continuation");
      const isIgnored =
        tag === "button" || /class="visually-hidden"/.test(attributes) || isRepeatedHeader;
      const line = isIgnored ? undefined : isLine ? [] : currentLine;
      if (isLine && line !== undefined) lines.push(line);
      open.push({
        tag: attributes.includes("markdown-table-continuation") ? "continuation" : tag,
        line,
      });
    }
  }
  return lines;
}

const lineClasses = /class="markdown-(?:heading|code-piece|formula)"/;

function decodeEntities(markup: string): string {
  const characters: Record<string, string> = {
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    "#x27": "'",
  };
  return markup.replaceAll(/&([\w#]+);/g, (_, name: string) => characters[name] ?? "?");
}

function annotateText(text: string) {
  return annotateCitations(text, (number) => number === 1);
}

function isFound(text: string, query: string, isStreaming = false): boolean {
  const block = { type: "text" as const, text, annotations: annotateText(text) };
  const path = currentPath(
    buildChat(
      { type: "add_message", parent: null, message: { text: "" } },
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
              block_list: [block],
              ...(isStreaming && { status: "in_progress" as const }),
            },
          ],
        },
      },
    ),
  );
  return findInChat(path, query, markdownToTextPieces).length > 0;
}

function isRendered(text: string, query: string, isStreaming = false): boolean {
  return getRenderedLines(text, isStreaming).some((line) => findTextRanges(line, query).length > 0);
}

test.each([
  ["a reference link", "See [the text][b] more\n\n[b]: https://x.y", "the text more"],
  ["a shortcut reference link", "[Notes] here\n\n[notes]: https://x.y", "notes here"],
  ["a link with a title", '[a map](https://x.y "T") here', "a map here"],
  ["an address with parentheses", "[b](https://x.y/A_(b)) too", "b too"],
  ["an entity", "R&amp;D", "R&D"],
  ["an escape", String.raw`2 \* 3`, "2 * 3"],
  ["a citation", "The sea[^1] is", "the sea is"],
  ["a line break", "one  \ntwo", "one two"],
  ["an external image", "![a tree](https://x.y/t.png) there", "a tree there"],
  ["a partly bold word", "har**bour**", "harbour"],
  ["code that looks like a link", "`[a](b)` c", "[a](b) c"],
  ["a task list item", "- [x] done here", "done here"],
  ["a quote of two lines", "> one\n> two", "one two"],
  ["a formula", "$a + b$", "a + b"],
  ["a display formula", "$$\na + b\n$$", "a + b"],
  ["indented code", "    a  b", "a b"],
])("is found as rendered: %s", (_, text, query) => {
  expect([isFound(text, query), isRendered(text, query)]).toEqual([true, true]);
});

test.each([
  ["the address of a reference link", "[1]: https://x.y/secret\n\nWords [1]", "secret"],
  ["the title of a link", '[a](https://x.y "secret")', "secret"],
  ["the language of a code block", "```secret\na\n```", "secret"],
  ["the alternative text of an image", "![secret](/api/blobs/0f3)", "secret"],
  ["text across a line break", "se\\\ncret", "secret"],
  ["text across table cells", "|se|cret|\n|-|-|\n|a|b|", "secret"],
  ["text across a formula", "a $x$ b", "x b"],
])("is neither found nor rendered: %s", (_, text, query) => {
  expect([isFound(text, query), isRendered(text, query)]).toEqual([false, false]);
});

test("for any Markdown, a query is found if and only if it is in the rendered text", () => {
  const piece = fc.constantFrom(
    "a",
    "b",
    "Aa ",
    "ab",
    " ",
    "\n",
    "\n\n",
    "  \n",
    "\\\n",
    "\\",
    "**",
    "*",
    "_",
    "~~",
    "`",
    "- ",
    "1. ",
    "> ",
    "# ",
    "    ",
    "- [x] ",
    "```\n",
    "```b\n",
    "| a | b |\n|-|-|\n",
    "|",
    "$a$",
    "$$\nb\n$$\n",
    "[^1]",
    "[^2]",
    "[",
    "]",
    "[a]",
    "[b][a]",
    "![ab]",
    "](",
    ")",
    "\n\n[a]: https://a.b/ab\n",
    "[ab](https://b.b)",
    "[a](/b 'ab')",
    "<https://ab.b>",
    "![b](/api/blobs/ab)",
    "&amp;",
    "&#97;",
    "&b;",
    "<b>",
    "https://a.b/b",
    "Σ",
    "İ",
  );
  const markdown = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
  const query = fc.string({
    unit: fc.constantFrom("a", "b", "A", " ", "&", "/", "σ", "İ"),
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(markdown, query, fc.boolean(), (text, words, isStreaming) => {
      expect(isFound(text, words, isStreaming)).toBe(isRendered(text, words, isStreaming));
      const lines = getRenderedLines(text, isStreaming).map((line) => line.join(""));
      const notFound = lines.find(
        (line) => line.trim() !== "" && !isFound(text, line, isStreaming),
      );
      expect(notFound).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});
