import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { annotate } from "@deltawire/tasks";
import { currentPath } from "@deltawire/tasks/chats";
import { foundIn, placesIn } from "../../src/chat/find-in-chat.ts";
import { Markdown, readMarkdown } from "../../src/markdown/markdown.tsx";
import { answered, chatAfter } from "./stage.ts";

/** What a message is drawn as, line by line, each as the texts that stand in it: what `lines` in the page takes. */
function drawnLines(text: string, growing: boolean): string[][] {
  const cite = (number: number) => <button type="button">{number}</button>;
  const markup = renderToStaticMarkup(
    <Markdown text={text} annotations={annotations(text)} growing={growing} cite={cite} />,
  );
  const lines: string[][] = [];
  const open: { tag: string; line: string[] | undefined }[] = [];
  for (const [whole, tag, attributes = "", words] of markup.matchAll(
    /<(\/?[\w]+)([^>]*)>|([^<]+)/g,
  )) {
    const within = open.at(-1)?.line;
    if (words !== undefined) within?.push(decoded(words));
    else if (tag === "br/" || tag === "br") within?.push("\n");
    else if (tag?.startsWith("/")) open.pop();
    else if (!whole.endsWith("/>") && tag !== undefined) {
      const isLine = /^(?:p|td|th)$/.test(tag) || lineClasses.test(attributes);
      const isFurther = tag === "th" && open.some((one) => one.tag === "further");
      const isLeftOut = tag === "button" || /class="for-readers"/.test(attributes) || isFurther;
      const line = isLeftOut ? undefined : isLine ? [] : within;
      if (isLine && line !== undefined) lines.push(line);
      open.push({ tag: attributes.includes("markdown-further") ? "further" : tag, line });
    }
  }
  return lines;
}

const lineClasses = /class="markdown-(?:heading|piece|formula)"/;

function decoded(markup: string): string {
  const signs: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };
  return markup.replaceAll(/&([\w#]+);/g, (_, name: string) => signs[name] ?? "?");
}

function annotations(text: string) {
  return annotate(text, (number) => number === 1);
}

function isFound(text: string, query: string, growing = false): boolean {
  const block = { type: "text" as const, text, annotations: annotations(text) };
  const path = currentPath(
    chatAfter(
      { type: "add_message", parent: null, message: { text: "" } },
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
              block_list: [block],
              ...(growing && { status: "in_progress" as const }),
            },
          ],
        },
      },
    ),
  );
  return foundIn(path, query, readMarkdown).length > 0;
}

function isDrawn(text: string, query: string, growing = false): boolean {
  return drawnLines(text, growing).some((line) => placesIn(line, query).length > 0);
}

test.each([
  ["a link by its label", "See [the text][b] more\n\n[b]: https://x.y", "the text more"],
  ["a link by its own text", "[Notes] here\n\n[notes]: https://x.y", "notes here"],
  ["a link with a title", '[a map](https://x.y "T") here', "a map here"],
  ["an address with brackets", "[b](https://x.y/A_(b)) too", "b too"],
  ["an entity", "R&amp;D", "R&D"],
  ["an escape", String.raw`2 \* 3`, "2 * 3"],
  ["what is cited", "The sea[^1] is", "the sea is"],
  ["a line break", "one  \ntwo", "one two"],
  ["a picture of others", "![a tree](https://x.y/t.png) there", "a tree there"],
  ["a word with weight in it", "har**bour**", "harbour"],
  ["code that looks like a link", "`[a](b)` c", "[a](b) c"],
  ["the box of a task", "- [x] done here", "done here"],
  ["a quote of two lines", "> one\n> two", "one two"],
  ["a formula", "$a + b$", "a + b"],
  ["a formula on its own lines", "$$\na + b\n$$", "a + b"],
  ["indented code", "    a  b", "a b"],
])("found and drawn as it is found: %s", (_, text, query) => {
  expect([isFound(text, query), isDrawn(text, query)]).toEqual([true, true]);
});

test.each([
  ["the address of a label", "[1]: https://x.y/secret\n\nWords [1]", "secret"],
  ["the title of a link", '[a](https://x.y "secret")', "secret"],
  ["the language of code", "```secret\na\n```", "secret"],
  ["the name of a picture", "![secret](/api/blobs/0f3)", "secret"],
  ["letters on both sides of a break", "se\\\ncret", "secret"],
  ["letters of two cells", "|se|cret|\n|-|-|\n|a|b|", "secret"],
  ["letters on both sides of a formula", "a $x$ b", "x b"],
])("neither found nor drawn: %s", (_, text, query) => {
  expect([isFound(text, query), isDrawn(text, query)]).toEqual([false, false]);
});

test("whatever is written, what is looked for is found where it is drawn, and nowhere else", () => {
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
    fc.property(markdown, query, fc.boolean(), (text, words, growing) => {
      expect(isFound(text, words, growing)).toBe(isDrawn(text, words, growing));
      const drawn = drawnLines(text, growing).map((line) => line.join(""));
      const notFound = drawn.find((line) => line.trim() !== "" && !isFound(text, line, growing));
      expect(notFound).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});
