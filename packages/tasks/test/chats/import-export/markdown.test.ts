import fc from "fast-check";
import { expect, test } from "vitest";
import { chatToHtml, chatToMarkdown, type Chat } from "@deltawire/tasks/chats";
import { propertyRuns } from "../../../../../test/property-runs.ts";
import { measureCpuTime } from "../../../../../test/cpu-time.ts";
import { ChatBuilder } from "../chat-builder.ts";
import { anyChat } from "./arbitrary-chat.ts";
import {
  answer,
  blobUrl,
  call,
  dot,
  findSampleBlob,
  createSampleChat,
  createSampleEnvironment,
  audio,
  text,
} from "./sample-chat.ts";

/** Creates a chat of a message and its answer. */
function createChatWithAnswer(prompt: string, ...given: Parameters<typeof answer>): Chat {
  const builder = new ChatBuilder({ title: "T" }, createSampleEnvironment());
  builder.addAnswer(builder.addMessage(null, prompt), "", answer(...given));
  return builder.chat;
}

/** Returns the level 2 headings outside of code, by the rules for unindented fences. */
function findHeadings(markdown: string): string[] {
  const headings: string[] = [];
  let openFence = "";
  for (const line of markdown.split("\n")) {
    const [, fence = "", rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (openFence !== "") {
      if (fence.startsWith(openFence) && rest.trim() === "") openFence = "";
    } else if (fence !== "" && !(fence.startsWith("`") && rest.includes("`"))) openFence = fence;
    else if (line.startsWith("## ")) headings.push(line);
  }
  return headings;
}

test("the current path is exported with authors, tool calls, reasoning, media and sources", () => {
  expect(chatToMarkdown(createSampleChat())).toBe(`# A sample

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

[a.wav](<${blobUrl(audio.hash)}>)

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

**You, during the answer:**

Look at the color.

**Tool call:** \`helper\`

\`\`\`json
{}
\`\`\`

**Result** (completed)

<details>
<summary>Sub-agent</summary>

The helper says red.

</details>

A red dot [^1-1], not \`[^1]\`.

> **Note:** The audio was left out: this model does not support audio.

[^1-1]: [Dots](<https://example.com/dots>)

* * *

*Messages above this line are not sent to the model.*

## You

Go on

## Assistant (demo-1)

Gone on.
`);
});

test("with allBranches, the other branches and versions follow, each with the message after which it begins", () => {
  const markdown = chatToMarkdown(createSampleChat(), { allBranches: true });
  expect(findHeadings(markdown)).toEqual([
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

test("sources of different answers have different labels", () => {
  const reference = { reference_id: 1, item_id: "out_call_1", block_indexes: [0] };
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const given = answer([...call("search", "{}", "a"), text("So [^1].")], {
    references: [reference],
  });
  const first = builder.addAnswer(builder.addMessage(null), "", given);
  builder.addAnswer(builder.addMessage(first), "", given);
  const labels = [...chatToMarkdown(builder.chat).matchAll(/^(\[\^.*?\]): (.*)$/gm)];
  expect(labels.map(([, label, title]) => [label, title])).toEqual([
    ["[^1-1]", "Result of search"],
    ["[^2-1]", "Result of search"],
  ]);
});

test("a citation refers to the nearest earlier answer that has the reference", () => {
  const references = (n: number, title: string) => ({
    references: [{ reference_id: n, item_id: "out_call_1", block_indexes: [0], title }],
  });
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const one = builder.addAnswer(
    builder.addMessage(null),
    "",
    answer([...call("search", "{}", "a"), text("So [^1].")], references(1, "One")),
  );
  const two = builder.addAnswer(
    builder.addMessage(one),
    "",
    answer(
      [...call("search", "{}", "b"), text("As [^2] and [^1], not [^3].")],
      references(2, "Two"),
    ),
  );
  const thirdAnswer = answer(
    [...call("search", "{}", "c"), text("[^2] and [^1].")],
    references(1, "New"),
  );
  builder.addAnswer(builder.addMessage(two), "", thirdAnswer);
  const markdown = chatToMarkdown(builder.chat);
  expect(markdown).toContain("As [^2-2] and [^1-1], not [^3].");
  expect(markdown).toContain("[^2-2] and [^3-1].");
  const html = chatToHtml(builder.chat, { blobs: findSampleBlob });
  expect(html).toContain(
    'As <sup><a href="#r2-2">2</a></sup> and <sup><a href="#r1-1">1</a></sup>',
  );
  expect(html).toContain('<sup><a href="#r2-2">2</a></sup> and <sup><a href="#r3-1">1</a></sup>.');
});

test("a source of a sub-agent has its original title, and cyclic sources do not hang the export", () => {
  const childReference = (task_id: string, source?: { task_id: string; reference_id: number }) => ({
    task_id,
    reference_id: 1,
    item_id: "out_1",
    block_indexes: [0],
    ...(source === undefined ? { title: "The weather in Oslo" } : { source }),
  });
  const getTitle = (child_references: ReturnType<typeof childReference>[]) => {
    const source = { task_id: "task_a", reference_id: 1 };
    const builder = new ChatBuilder({}, createSampleEnvironment());
    const given = answer([...call("helper", "{}", "a"), text("So [^1].")], {
      references: [{ reference_id: 1, item_id: "out_call_1", block_indexes: [0], source }],
      child_references,
    });
    builder.addAnswer(builder.addMessage(null), "", given);
    return /^\[\^1.*?\]: (.*)$/m.exec(chatToMarkdown(builder.chat))?.[1];
  };
  const toB = { task_id: "task_b", reference_id: 1 };
  const toA = { task_id: "task_a", reference_id: 1 };
  expect(getTitle([childReference("task_a", toB), childReference("task_b")])).toBe(
    "The weather in Oslo",
  );
  expect(getTitle([childReference("task_a", toB), childReference("task_b", toA)])).toBe(
    "Result of helper",
  );
});

test("a citation marker with an unknown number is not changed", () => {
  expect(chatToMarkdown(createChatWithAnswer("?", [text("So [^7].")]))).toContain("So [^7].");
});

test("an unclosed fence is closed at the end of its message", () => {
  const markdown = chatToMarkdown(
    createChatWithAnswer("look:\n```js\nlet a", [text("~~~~\n~~~\nhalf")]),
  );
  expect(findHeadings(markdown)).toEqual(["## You", "## Assistant (demo-1)"]);
  expect(markdown).toContain("let a\n```\n\n## Assistant");
  expect(markdown).toMatch(/~~~~\n~~~\nhalf\n~~~~\n$/);
});

test("HTML that would affect later text is escaped, except in code", () => {
  const source = "<!-- a\n<details>\nuse `<script>` or <script>\n```html\n<script>\n```";
  expect(chatToMarkdown(createChatWithAnswer(source, []))).toContain(
    "\\<!-- a\n\\<details>\nuse `<script>` or \\<script>\n```html\n<script>\n```",
  );
});

test("inline tags, closed comments and closed details elements are not escaped", () => {
  const exportText = (text: string) => chatToMarkdown(createChatWithAnswer(text, []));
  const details = "<details>\n<summary>A</summary>\n\nb\n\n</details>";
  expect(exportText(details)).toContain(`\n\n${details}\n`);
  expect(exportText("<sub>a</sub> <kbd>b</kbd>\n<!-- c --> d")).toContain(
    "<sub>a</sub> <kbd>b</kbd>\n<!-- c --> d",
  );
  for (const open of ["<details>\na", "</details>\n<details>", "<details>\n<summary>a\n</details>"])
    expect(exportText(open)).toContain(open.replaceAll(/<(?=\/?(?:details|summary))/g, "\\<"));
});

test("only web URLs and blobs are linked", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  builder.edit({
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
  const markdown = chatToMarkdown(builder.chat);
  expect(markdown).toContain("a\\]( b: `javascript:alert(1)`");
  expect(markdown).toContain("![c\\] \\[d](<https://example.com/a%20b%3E.png>)");
});

test("every message of any chat has a heading", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      const messages = Object.values(chat.nodes).filter(({ kind }) => kind !== "separator");
      expect(findHeadings(chatToMarkdown(chat, { allBranches: true }))).toHaveLength(
        messages.length,
      );
    }),
    propertyRuns(200),
  );
});

test("an answer with thousands of citation markers in a long chat is exported in less than two seconds", () => {
  const builder = new ChatBuilder({ title: "T" }, createSampleEnvironment());
  const references = (first: number) =>
    Array.from({ length: 30 }, (_, index) => ({
      reference_id: first + index,
      item_id: "fco_1",
      block_indexes: [0],
    }));
  let parent: string | null = null;
  for (let turn = 0; turn < 300; turn += 1) {
    const user: string = builder.addMessage(parent);
    const newAnswer = answer([text("Said.")], { references: references(1 + turn * 30) });
    parent = builder.addAnswer(user, "", newAnswer);
  }
  const markers = Array.from({ length: 30_000 }, (_, index) => `[^${index + 1}]`).join(" ");
  builder.addAnswer(builder.addMessage(parent), "", answer([text(markers)]));
  let markdown = "";
  const cpuTimeMs = measureCpuTime(() => (markdown = chatToMarkdown(builder.chat)));
  expect(markdown).toContain("[^1-1] [^1-2]");
  expect(markdown).toContain("[^300-9000] [^9001]");
  expect(cpuTimeMs).toBeLessThan(2_000);
});
