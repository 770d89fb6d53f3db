import fc from "fast-check";
import { expect, test } from "vitest";
import { chatToHtml, chatToMarkdown, type Chat } from "@deltawire/tasks/chats";
import { runs } from "../../../../../test/runs.ts";
import { workTime } from "../../../../../test/work-time.ts";
import { WrittenChat } from "../written-chat.ts";
import { anyChat } from "./any-chat.ts";
import {
  answer,
  blobUrl,
  call,
  dot,
  sampleBlobs,
  sampleChat,
  sampleWorld,
  sound,
  text,
} from "./sample-chat.ts";

/** A question and an answer of these items. */
function chatWith(asked: string, ...given: Parameters<typeof answer>): Chat {
  const written = new WrittenChat({ title: "T" }, sampleWorld());
  written.answer(written.user(null, asked), "", answer(...given));
  return written.chat;
}

/** Headings of the second level that are no code, by the rules for fences at the left edge. */
function headings(markdown: string): string[] {
  const found: string[] = [];
  let open = "";
  for (const line of markdown.split("\n")) {
    const [, fence = "", rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (open !== "") {
      if (fence.startsWith(open) && rest.trim() === "") open = "";
    } else if (fence !== "" && !(fence.startsWith("`") && rest.includes("`"))) open = fence;
    else if (line.startsWith("## ")) found.push(line);
  }
  return found;
}

test("the current path is written with who said it, tools, reasoning, media and sources", () => {
  expect(chatToMarkdown(sampleChat())).toBe(`# A sample

<details>
<summary>Instructions</summary>

Be brief.

</details>

## You

What is in this *picture*?

**Context** (file): notes.md

\`\`\`\`
\`\`\`js
let a;
\`\`\`
\`\`\`\`

![dot.png](<${blobUrl(dot.hash)}>)

[a.wav](<${blobUrl(sound.hash)}>)

## Assistant (demo-1)

<details>
<summary>Reasoning</summary>

I should look.

</details>

Let me look.

**Tool call:** \`search\`

\`\`\`json
{"q":"red dot"}
\`\`\`

**Result** (completed)

\`\`\`\`\`
A result with \`\`\`\` four ticks
\`\`\`\`\`

**You, meanwhile:**

Look at the colour.

**Tool call:** \`helper\`

\`\`\`json
{}
\`\`\`

**Result** (completed)

<details>
<summary>What the sub-agent did</summary>

The helper says red.

</details>

A red dot [^1-1], not \`[^1]\`.

> **Note:** The sound was left out: this model hears nothing.

[^1-1]: [Dots](<https://example.com/dots>)

* * *

*What stands above is not told to the model.*

## You

Go on

## Assistant (demo-1)

Gone on.
`);
});

test("with all, other branches and versions follow, and say where they leave", () => {
  const markdown = chatToMarkdown(sampleChat(), { all: true });
  expect(headings(markdown)).toEqual([
    "## 1. You",
    "## 2. Assistant (demo-1)",
    "## 3. You",
    "## 4. Assistant (demo-1)",
    "## 5. You",
  ]);
  expect(markdown).toContain(
    "### Another version, 2026-03-01T10:00:00.000Z: Assistant (demo-1)\n\n> Error (model, timeout): no byte for 30 s",
  );
  expect(markdown).toMatch(
    /# Another branch, from the beginning\n\n## 5\. You\n\nAnother beginning\n$/,
  );
});

test("sources of two answers never have the same name", () => {
  const reference = { reference_id: 1, item_id: "out_call_1", block_indexes: [0] };
  const written = new WrittenChat({}, sampleWorld());
  const given = answer([...call("search", "{}", "a"), text("So [^1].")], {
    references: [reference],
  });
  const first = written.answer(written.user(null), "", given);
  written.answer(written.user(first), "", given);
  const labels = [...chatToMarkdown(written.chat).matchAll(/^(\[\^.*?\]): (.*)$/gm)];
  expect(labels.map(([, label, told]) => [label, told])).toEqual([
    ["[^1-1]", "Result of search"],
    ["[^2-1]", "Result of search"],
  ]);
});

test("what an earlier answer has found is cited there, the nearest where two have the number", () => {
  const found = (n: number, title: string) => ({
    references: [{ reference_id: n, item_id: "out_call_1", block_indexes: [0], title }],
  });
  const written = new WrittenChat({}, sampleWorld());
  const one = written.answer(
    written.user(null),
    "",
    answer([...call("search", "{}", "a"), text("So [^1].")], found(1, "One")),
  );
  const two = written.answer(
    written.user(one),
    "",
    answer([...call("search", "{}", "b"), text("As [^2] and [^1], not [^3].")], found(2, "Two")),
  );
  const again = answer([...call("search", "{}", "c"), text("[^2] and [^1].")], found(1, "New"));
  written.answer(written.user(two), "", again);
  const markdown = chatToMarkdown(written.chat);
  expect(markdown).toContain("As [^2-2] and [^1-1], not [^3].");
  expect(markdown).toContain("[^2-2] and [^3-1].");
  const html = chatToHtml(written.chat, { blobs: sampleBlobs });
  expect(html).toContain(
    'As <sup><a href="#r2-2">2</a></sup> and <sup><a href="#r1-1">1</a></sup>',
  );
  expect(html).toContain('<sup><a href="#r2-2">2</a></sup> and <sup><a href="#r3-1">1</a></sup>.');
});

test("a source that came through sub-agents is named after what they found, and a circle ends", () => {
  const below = (task_id: string, source?: { task_id: string; reference_id: number }) => ({
    task_id,
    reference_id: 1,
    item_id: "out_1",
    block_indexes: [0],
    ...(source === undefined ? { title: "The weather in Oslo" } : { source }),
  });
  const labelOf = (child_references: ReturnType<typeof below>[]) => {
    const source = { task_id: "task_a", reference_id: 1 };
    const written = new WrittenChat({}, sampleWorld());
    const given = answer([...call("helper", "{}", "a"), text("So [^1].")], {
      references: [{ reference_id: 1, item_id: "out_call_1", block_indexes: [0], source }],
      child_references,
    });
    written.answer(written.user(null), "", given);
    return /^\[\^1.*?\]: (.*)$/m.exec(chatToMarkdown(written.chat))?.[1];
  };
  const toB = { task_id: "task_b", reference_id: 1 };
  const toA = { task_id: "task_a", reference_id: 1 };
  expect(labelOf([below("task_a", toB), below("task_b")])).toBe("The weather in Oslo");
  expect(labelOf([below("task_a", toB), below("task_b", toA)])).toBe("Result of helper");
});

test("a marker of a source that the answer does not have stays as it is", () => {
  expect(chatToMarkdown(chatWith("?", [text("So [^7].")]))).toContain("So [^7].");
});

test("a fence that was left open ends with its message", () => {
  const markdown = chatToMarkdown(chatWith("look:\n```js\nlet a", [text("~~~~\n~~~\nhalf")]));
  expect(headings(markdown)).toEqual(["## You", "## Assistant (demo-1)"]);
  expect(markdown).toContain("let a\n```\n\n## Assistant");
  expect(markdown).toMatch(/~~~~\n~~~\nhalf\n~~~~\n$/);
});

test("nothing that is said opens or closes HTML around it, and code stays as it is", () => {
  const said = "<!-- a\n<details>\nuse `<script>` or <script>\n```html\n<script>\n```";
  expect(chatToMarkdown(chatWith(said, []))).toContain(
    "\\<!-- a\n\\<details>\nuse `<script>` or \\<script>\n```html\n<script>\n```",
  );
});

test("tags, comments and folds that end stay what they mean, and others do not", () => {
  const said = (words: string) => chatToMarkdown(chatWith(words, []));
  const fold = "<details>\n<summary>A</summary>\n\nb\n\n</details>";
  expect(said(fold)).toContain(`\n\n${fold}\n`);
  expect(said("<sub>a</sub> <kbd>b</kbd>\n<!-- c --> d")).toContain(
    "<sub>a</sub> <kbd>b</kbd>\n<!-- c --> d",
  );
  for (const open of ["<details>\na", "</details>\n<details>", "<details>\n<summary>a\n</details>"])
    expect(said(open)).toContain(open.replaceAll(/<(?=\/?(?:details|summary))/g, "\\<"));
});

test("links lead to the web or to a blob, and nowhere else", () => {
  const written = new WrittenChat({}, sampleWorld());
  written.edit({
    type: "add_message",
    parent: null,
    message: {
      text: "",
      attachments: [
        { kind: "file", url: "javascript:alert(1)", filename: "a]( b" },
        { kind: "image", url: "https://example.com/a b>.png", filename: "c] [d" },
      ],
    },
  });
  const markdown = chatToMarkdown(written.chat);
  expect(markdown).toContain("a\\]( b: `javascript:alert(1)`");
  expect(markdown).toContain("![c\\] \\[d](<https://example.com/a%20b%3E.png>)");
});

test("in every chat all messages have their headings", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      const messages = Object.values(chat.nodes).filter(({ kind }) => kind !== "separator");
      expect(headings(chatToMarkdown(chat, { all: true }))).toHaveLength(messages.length);
    }),
    runs(200),
  );
});

test("an answer with thousands of markers in a long chat with many references is written in a moment", () => {
  const written = new WrittenChat({ title: "T" }, sampleWorld());
  const references = (first: number) =>
    Array.from({ length: 30 }, (_, at) => ({
      reference_id: first + at,
      item_id: "fco_1",
      block_indexes: [0],
    }));
  let above: string | null = null;
  for (let turn = 0; turn < 300; turn += 1) {
    const user: string = written.user(above);
    const said = answer([text("Said.")], { references: references(1 + turn * 30) });
    above = written.answer(user, "", said);
  }
  const markers = Array.from({ length: 30_000 }, (_, at) => `[^${at + 1}]`).join(" ");
  written.answer(written.user(above), "", answer([text(markers)]));
  let markdown = "";
  const took = workTime(() => (markdown = chatToMarkdown(written.chat)));
  expect(markdown).toContain("[^1-1] [^1-2]");
  expect(markdown).toContain("[^300-9000] [^9001]");
  expect(took).toBeLessThan(2_000);
});
