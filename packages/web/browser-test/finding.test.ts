import { describe, expect, test } from "vitest";
import { answers, currentLine, markedWords, settled } from "./in-chat.ts";
import { say, staged, takePicture } from "./stage.ts";

/* Words are found wherever they were said, also in what is folded or not drawn. */

const stage = staged();

describe("finding in a chat", () => {
  test("goes from place to place, into what is folded, and back to who had the focus", async () => {
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at}`);
    const messages = [
      { role: "user", content: [...lines, "the first needle"].join("\n") },
      {
        role: "assistant",
        content: `A **needle** here.${"\n\nOther words.".repeat(80)}\n\nA needle there.`,
      },
    ];
    const tab = await (await stage.person()).tab(await stage.importChat({ messages }));
    await answers(tab).last().getByText("A needle there.").waitFor();
    const answer = answers(tab).last();
    await answer.focus();
    await tab.keyboard.press("Control+f");
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    await field.fill("NEEDLE");
    const goesTo = async (words: string) => {
      await expect.poll(() => currentLine(tab)).toBe(words);
    };
    await goesTo("A needle here.");
    await field.press("Enter");
    await goesTo("A needle there.");
    await field.press("Enter");
    await goesTo("the first needle");
    await field.press("Shift+Enter");
    await goesTo("A needle there.");
    await field.press("Shift+Enter");
    await goesTo("A needle here.");
    await takePicture(tab, "find-places");

    // Asked for once more from elsewhere: there it is, to be written over.
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

  test("goes to its place in a long answer that nobody has seen yet", async () => {
    const parts = Array.from({ length: 120 }, (_, at) => {
      const code = "```ts\nconst one = 1;\n```";
      return `## Part ${at}\n\n${"Words and words. ".repeat(at % 30)}\n\n${code}\n\nThe end of ${at}.`;
    });
    const messages = [
      { role: "user", content: "Please." },
      { role: "assistant", content: parts.join("\n\n") },
    ];
    const hash = await stage.importChat({ messages });
    for (const words of ["Part 48", "The end of 90.", "Part 7", "The end of 3."]) {
      const tab = await (await stage.person()).tab(hash);
      await answers(tab).last().getByText("The end of 119.").waitFor();
      await tab.keyboard.press("Control+f");
      await tab.getByRole("searchbox", { name: "Find in this chat" }).fill(words);
      await expect.poll(() => currentLine(tab)).toContain(words);
      await settled(tab);
      expect(await currentLine(tab)).toContain(words);
    }
  });

  test("goes to far steps of an answer with many, which are not drawn until then", async () => {
    const said = Array.from({ length: 200 }, (_, at) =>
      at % 70 === 30
        ? `Step ${at} has the **needle**.`
        : `Step ${at}. ${"Words. ".repeat(at % 40)}`,
    );
    const person = await stage.person();
    const tab = await person.tab(await stage.importChat(await answerOf(said)));
    await answers(tab).last().getByText("Step 199.").waitFor();
    await expect.poll(() => answers(tab).last().getByText("Step 100 has").count()).toBe(0);
    await tab.keyboard.press("Control+f");
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    await field.fill("the needle");
    const goesTo = async (at: number) => {
      await expect.poll(() => currentLine(tab)).toBe(`Step ${at} has the needle.`);
    };
    for (const at of [30, 100, 170, 30]) {
      await goesTo(at);
      await field.press("Enter");
    }
    await goesTo(100);
    await settled(tab);
    expect(await currentLine(tab)).toBe("Step 100 has the needle.");
    await takePicture(tab, "find-far-step");
    await field.press("Shift+Enter");
    await goesTo(30);
    await field.press("Shift+Enter");
    await goesTo(170);
  });

  test.each(["light", "dark"] as const)(
    "marks what was typed with signs of Markdown as it is read, in the %s too",
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
      const hash = await stage.importChat({ messages });
      const tab = await (await stage.person({ colorScheme })).tab(hash);
      await answers(tab).last().getByText("Other words.").last().waitFor();
      await tab.keyboard.press("Control+f");
      const field = tab.getByRole("searchbox", { name: "Find in this chat" });
      const count = tab.getByRole("search").getByText("of 2");
      // The last answer is in view, from which it goes around.
      await field.fill("## answer");
      const goesTo = async (line: string) => {
        await expect.poll(() => currentLine(tab)).toBe(line);
      };
      await goesTo("Answer");
      await expect.poll(() => count.innerText()).toBe("message 1 of 2");
      await expect.poll(() => markedWords(tab)).toContain("Answer");
      await takePicture(tab, `find-signs-${colorScheme}`);
      await field.press("Enter");
      await goesTo("## Answer this too");
      await expect.poll(() => count.innerText()).toBe("message 2 of 2");
      await expect.poll(() => markedWords(tab)).toContain("## Answer");
      // Only where it is with its signs: not in the other messages, which have the word alone.
      expect(await markedWords(tab)).not.toContain("answer");
      await field.fill("is **very** old");
      await goesTo("It is very old, see a map.");
      // What is not read as it was written is marked as a whole.
      await field.fill("map](https");
      const found = answers(tab).first();
      await expect.poll(() => found.getAttribute("data-marked")).toBe("true");
    },
  );

  test("finds what is drawn, however it was written, and nothing that nobody sees", async () => {
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
    const tab = await (await stage.person()).tab(await stage.importChat({ messages }));
    const answer = answers(tab).last();
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
    const says = async (typed: string, said: string) => {
      await expect.poll(() => count.textContent(), { message: typed }).toBe(said);
    };
    const marks = async (typed: string, marked: readonly string[]) => {
      await expect.poll(() => markedWords(tab), { message: typed }).toEqual(marked);
    };
    for (const [typed, marked] of found) {
      await field.fill(typed);
      await marks(typed, [marked]);
      await says(typed, "in 1 message");
    }
    await field.fill("m c^2");
    await expect.poll(async () => (await markedWords(tab)).join()).toContain("e = m c^2");
    await says("m c^2", "in 1 message");
    await takePicture(tab, "find-formula");
    for (const typed of ["secret", "hidden", "title", "typescript", "left right", "it is e"]) {
      await field.fill("notes here");
      await marks("notes here", ["Notes here"]);
      await field.fill(typed);
      await says(typed, "Not in this chat");
      await marks(typed, []);
    }
  });

  test("says on a phone what it counts", async () => {
    const messages = [
      { role: "user", content: "A needle." },
      { role: "assistant", content: "A needle and a needle." },
    ];
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const tab = await (await stage.person(phone)).tab(await stage.importChat({ messages }));
    await tab.getByRole("button", { name: "More for this chat" }).tap();
    await tab.getByRole("menuitem", { name: /^Find in this chat/ }).tap();
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    const before = await field.boundingBox();
    await field.fill("needle");
    const count = tab.getByRole("search").getByText("message 1 of 2");
    await count.waitFor();
    await tab.getByRole("button", { name: "Next place" }).tap();
    await tab.getByRole("search").getByText("message 2 of 2").waitFor();
    await takePicture(tab, "find-phone");
    expect(await field.boundingBox()).toEqual(before);
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });

  test("finds in an answer that is being written", async () => {
    const tab = await (await stage.person()).tab(await stage.chat({ model: "lab/slow" }));
    await say(tab, "long 3000");
    await answers(tab).last().getByText("until this is a long answer").waitFor();
    await tab.keyboard.press("Control+f");
    await tab.getByRole("searchbox", { name: "Find in this chat" }).fill("word by word");
    const count = tab.getByRole("search").getByRole("status");
    await expect.poll(() => count.textContent()).toBe("in 1 message");
    expect(await answers(tab).last().getAttribute("aria-busy")).toBe("true");
    const marks = (await markedWords(tab)).length;
    await expect.poll(async () => (await markedWords(tab)).length).toBeGreaterThan(marks);
  });
});

/** A chat with an answer that says these, one after the other, as one does that calls tools in between. */
async function answerOf(said: readonly string[]): Promise<object> {
  const messages = [
    { role: "user", content: "Please." },
    { role: "assistant", content: "Well." },
  ];
  const hash = await stage.importChat({ messages });
  const reply = await fetch(`${stage.gateway.url}/api${hash.slice(1)}/export?format=json`);
  const file = (await reply.json()) as ChatFile;
  for (const { chat } of file.chats)
    for (const { kind, versions } of Object.values(chat.nodes))
      for (const version of kind === "answer" ? versions : [])
        version.output = version.output.flatMap((item) =>
          said.map((text, at) => ({
            ...item,
            id: `${item.id}_${at}`,
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
