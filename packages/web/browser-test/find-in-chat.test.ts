import { describe, expect, test } from "vitest";
import {
  getAnswers,
  getCurrentMatchLine,
  getHighlightedTexts,
  waitForIdle,
} from "./chat-actions.ts";
import { sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* Finding text in a chat, including collapsed and unmounted content. */

const fixture = setupBrowserFixture();

describe("finding in a chat", () => {
  test("moves between matches, including in collapsed content, and restores the focus", async () => {
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index}`);
    const messages = [
      { role: "user", content: [...lines, "the first needle"].join("\n") },
      {
        role: "assistant",
        content: `A **needle** here.${"\n\nOther words.".repeat(80)}\n\nA needle there.`,
      },
    ];
    const tab = await (await fixture.newUser()).tab(await fixture.importChat({ messages }));
    await getAnswers(tab).last().getByText("A needle there.").waitFor();
    const answer = getAnswers(tab).last();
    await answer.focus();
    await tab.keyboard.press("Control+f");
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    await field.fill("NEEDLE");
    const expectNextMatch = async (words: string) => {
      await expect.poll(() => getCurrentMatchLine(tab)).toBe(words);
    };
    await expectNextMatch("A needle here.");
    await field.press("Enter");
    await expectNextMatch("A needle there.");
    await field.press("Enter");
    await expectNextMatch("the first needle");
    await field.press("Shift+Enter");
    await expectNextMatch("A needle there.");
    await field.press("Shift+Enter");
    await expectNextMatch("A needle here.");
    await takeScreenshot(tab, "find-places");

    // Now the find bar is opened again from elsewhere: the query is selected, so typing replaces it.
    await tab.getByRole("textbox", { name: "Message", exact: true }).focus();
    await tab.keyboard.press("Control+f");
    await field.and(tab.locator(":focus")).waitFor();
    await tab.keyboard.type("other");
    await expect.poll(() => field.inputValue()).toBe("other");
    await answer.focus();
    await field.focus();
    await field.press("Escape");
    await field.waitFor({ state: "detached" });
    await expect.poll(() => answer.evaluate((node) => node === document.activeElement)).toBe(true);
  });

  test("moves to a match in a part of a long answer that was not rendered yet", async () => {
    const parts = Array.from({ length: 120 }, (_, index) => {
      const code = "```ts\nconst one = 1;\n```";
      return `## Part ${index}\n\n${"Words and words. ".repeat(index % 30)}\n\n${code}\n\nThe end of ${index}.`;
    });
    const messages = [
      { role: "user", content: "Please." },
      { role: "assistant", content: parts.join("\n\n") },
    ];
    const hash = await fixture.importChat({ messages });
    for (const words of ["Part 48", "The end of 90.", "Part 7", "The end of 3."]) {
      const tab = await (await fixture.newUser()).tab(hash);
      await getAnswers(tab).last().getByText("The end of 119.").waitFor();
      await tab.keyboard.press("Control+f");
      await tab.getByRole("searchbox", { name: "Find in this chat" }).fill(words);
      await expect.poll(() => getCurrentMatchLine(tab)).toContain(words);
      await waitForIdle(tab);
      expect(await getCurrentMatchLine(tab)).toContain(words);
    }
  });

  test("moves to distant steps of a long answer, which are rendered on demand", async () => {
    const texts = Array.from({ length: 200 }, (_, index) =>
      index % 70 === 30
        ? `Step ${index} has the **needle**.`
        : `Step ${index}. ${"Words. ".repeat(index % 40)}`,
    );
    const user = await fixture.newUser();
    const tab = await user.tab(await fixture.importChat(await createAnswerFile(texts)));
    await getAnswers(tab).last().getByText("Step 199.").waitFor();
    await expect.poll(() => getAnswers(tab).last().getByText("Step 100 has").count()).toBe(0);
    await tab.keyboard.press("Control+f");
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    await field.fill("the needle");
    const expectNextMatch = async (index: number) => {
      await expect.poll(() => getCurrentMatchLine(tab)).toBe(`Step ${index} has the needle.`);
    };
    for (const position of [30, 100, 170, 30]) {
      await expectNextMatch(position);
      await field.press("Enter");
    }
    await expectNextMatch(100);
    await waitForIdle(tab);
    expect(await getCurrentMatchLine(tab)).toBe("Step 100 has the needle.");
    await takeScreenshot(tab, "find-far-step");
    await field.press("Shift+Enter");
    await expectNextMatch(30);
    await field.press("Shift+Enter");
    await expectNextMatch(170);
  });

  test.each(["light", "dark"] as const)(
    "highlights a query with Markdown syntax in the rendered text (%s)",
    async (colorScheme) => {
      const far = "\n\nOther words.".repeat(60);
      const messages = [
        { role: "user", content: "The answer, please." },
        {
          role: "assistant",
          content: `Well.${far}\n\n## Answer\n\nIt is **very** old, see [a map](https://maps.example).${far}`,
        },
        { role: "user", content: "## Answer this too" },
        { role: "assistant", content: `No answer here.${far}` },
      ];
      const hash = await fixture.importChat({ messages });
      const tab = await (await fixture.newUser({ colorScheme })).tab(hash);
      await getAnswers(tab).last().getByText("Other words.").last().waitFor();
      await tab.keyboard.press("Control+f");
      const field = tab.getByRole("searchbox", { name: "Find in this chat" });
      const count = tab.getByRole("search").getByText("of 2");
      // The search starts at the last answer, which is in view, and wraps around.
      await field.fill("## answer");
      const expectNextMatch = async (line: string) => {
        await expect.poll(() => getCurrentMatchLine(tab)).toBe(line);
      };
      await expectNextMatch("Answer");
      await expect.poll(() => count.innerText()).toBe("message 1 of 2");
      await expect.poll(() => getHighlightedTexts(tab)).toContain("Answer");
      await takeScreenshot(tab, `find-signs-${colorScheme}`);
      await field.press("Enter");
      await expectNextMatch("## Answer this too");
      await expect.poll(() => count.innerText()).toBe("message 2 of 2");
      await expect.poll(() => getHighlightedTexts(tab)).toContain("## Answer");
      // Matches have the same Markdown syntax: the plain word is not highlighted.
      expect(await getHighlightedTexts(tab)).not.toContain("answer");
      await field.fill("is **very** old");
      await expectNextMatch("It is very old, see a map.");
      // An element whose text differs from its source is highlighted completely.
      await field.fill("map](https");
      const found = getAnswers(tab).first();
      await expect.poll(() => found.getAttribute("data-highlighted")).toBe("true");
    },
  );

  test("finds the rendered text and no hidden text", async () => {
    const content = [
      "See [the text][b] more, and [Notes] here.",
      '[a map](https://maps.example "Title") there, [b](https://maps.example/A_(b)) too: R&amp;D\\\nnext line',
      "Of `c` it is $e = m c^2$ today, as | is said.",
      "```ts\nconst one = 1;\n```",
      "| left | right |\n| --- | --- |\n| **1** st | 2 |",
      "[B]: https://x.example/secret\n[notes]: https://x.example/hidden",
    ].join("\n\n");
    const messages = [
      { role: "user", content: "Please." },
      { role: "assistant", content },
    ];
    const tab = await (await fixture.newUser()).tab(await fixture.importChat({ messages }));
    const answer = getAnswers(tab).last();
    await answer.locator(".katex").first().waitFor();
    await tab.keyboard.press("Control+f");
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    const count = tab.getByRole("search").getByRole("status");
    const found = [
      ["the text more", "the text more"],
      ["notes here", "Notes here"],
      ["a map there", "a map there"],
      ["b too", "b too"],
      ["r&d", "R&D"],
      ["d next", "Dnext"],
      ["one = 1", "one = 1"],
      ["1 st", "1 st"],
    ] as const;
    const expectCount = async (typed: string, expected: string) => {
      await expect.poll(() => count.textContent(), { message: typed }).toBe(expected);
    };
    const expectHighlights = async (typed: string, marked: readonly string[]) => {
      await expect.poll(() => getHighlightedTexts(tab), { message: typed }).toEqual(marked);
    };
    for (const [typed, marked] of found) {
      await field.fill(typed);
      await expectHighlights(typed, [marked]);
      await expectCount(typed, "in 1 message");
    }
    await field.fill("m c^2");
    await expect.poll(async () => (await getHighlightedTexts(tab)).join()).toContain("e = m c^2");
    await expectCount("m c^2", "in 1 message");
    await takeScreenshot(tab, "find-formula");
    for (const typed of ["secret", "hidden", "title", "typescript", "left right", "it is e"]) {
      await field.fill("notes here");
      await expectHighlights("notes here", ["Notes here"]);
      await field.fill(typed);
      await expectCount(typed, "No matches");
      await expectHighlights(typed, []);
    }
  });

  test("shows the number of matching messages on a phone", async () => {
    const messages = [
      { role: "user", content: "A needle." },
      { role: "assistant", content: "A needle and a needle." },
    ];
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const tab = await (await fixture.newUser(phone)).tab(await fixture.importChat({ messages }));
    await tab.getByRole("button", { name: "Actions for this chat" }).tap();
    await tab.getByRole("menuitem", { name: /^Find in this chat/ }).tap();
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    const before = await field.boundingBox();
    await field.fill("needle");
    const count = tab.getByRole("search").getByText("message 1 of 2");
    await count.waitFor();
    await tab.getByRole("button", { name: "Next match" }).tap();
    await tab.getByRole("search").getByText("message 2 of 2").waitFor();
    await takeScreenshot(tab, "find-phone");
    expect(await field.boundingBox()).toEqual(before);
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });

  test("finds text in a streaming answer", async () => {
    const tab = await (
      await fixture.newUser()
    ).tab(await fixture.createChat({ model: "lab/slow" }));
    await sendMessage(tab, "long 3000");
    await getAnswers(tab).last().getByText("until this is a long answer").waitFor();
    await tab.keyboard.press("Control+f");
    await tab.getByRole("searchbox", { name: "Find in this chat" }).fill("word by word");
    const count = tab.getByRole("search").getByRole("status");
    await expect.poll(() => count.textContent()).toBe("in 1 message");
    expect(await getAnswers(tab).last().getAttribute("aria-busy")).toBe("true");
    const highlightCount = (await getHighlightedTexts(tab)).length;
    await expect
      .poll(async () => (await getHighlightedTexts(tab)).length)
      .toBeGreaterThan(highlightCount);
  });
});

/** Creates a chat file whose answer has one message for each text. */
async function createAnswerFile(texts: readonly string[]): Promise<object> {
  const messages = [
    { role: "user", content: "Please." },
    { role: "assistant", content: "Well." },
  ];
  const hash = await fixture.importChat({ messages });
  const reply = await fetch(`${fixture.gateway.url}/api${hash.slice(1)}/export?format=json`);
  const file = (await reply.json()) as ChatFile;
  for (const { chat } of file.chats)
    for (const { kind, versions } of Object.values(chat.nodes))
      for (const version of kind === "answer" ? versions : [])
        version.output = version.output.flatMap((item) =>
          texts.map((text, index) => ({
            ...item,
            id: `${item.id}_${index}`,
            block_list: [{ type: "text", text }],
          })),
        );
  return file;
}

interface ChatFile {
  chats: { chat: { nodes: Record<string, { kind: string; versions: { output: Item[] }[] }> } }[];
}

interface Item {
  id: string;
  block_list: object[];
}
