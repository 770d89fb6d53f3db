import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { answers, conversation, currentLine, markedWords, scrollDrawn } from "./in-chat.ts";
import { say, staged, takePicture } from "./stage.ts";

/* A chat of 1,000 messages: it opens at its end, and all of it is there. */

const stage = staged();
const turns = 500;

/** Answers of many heights, so that no guess of what is not drawn yet is right. */
function longChat(): object {
  const messages = Array.from({ length: turns }, (_, at) => [
    { role: "user", content: `Question ${at + 1}` },
    { role: "assistant", content: answerTo(at + 1) },
  ]);
  return { messages: messages.flat() };
}

function answerTo(number: number): string {
  const kinds = [
    `Answer ${number} is short.`,
    `Answer ${number} has a list:\n\n${Array.from({ length: 1 + (number % 7) }, (_, at) => `- item ${at}`).join("\n")}`,
    `Answer ${number} has code:\n\n\`\`\`ts\n${"const one = 1;\n".repeat(1 + (number % 9))}\`\`\``,
    `Answer ${number} has words. ${"They go on and on. ".repeat(number % 60)}`,
    `Answer ${number} has a table:\n\n| a | b |\n| --- | --- |\n${"| 1 | 2 |\n".repeat(1 + (number % 5))}`,
  ];
  return number === 7 ? "Answer 7 is about platypuses." : (kinds[number % kinds.length] ?? "");
}

async function opened(): Promise<Page> {
  const tab = await (await stage.person()).tab(await stage.importChat(longChat()));
  await answers(tab).last().getByText(`Answer ${turns}`).waitFor();
  return tab;
}

interface Seen {
  readonly number: number;
  /** From the top of the list, in px. */
  readonly top: number;
}

function questionsInSight(tab: Page): Promise<Seen[]> {
  return conversation(tab).evaluate((list) => {
    const { top: above, height } = list.getBoundingClientRect();
    return [...list.querySelectorAll(".chat-bubble")].flatMap((bubble) => {
      const { top, bottom } = bubble.getBoundingClientRect();
      const number = Number(/^Question (\d+)$/.exec(bubble.textContent ?? "")?.[1]);
      return bottom > above && top < above + height ? [{ number, top: top - above }] : [];
    });
  });
}

/** Those, and those that come into sight on the way up, in steps of so many px. */
async function questionsOnWayUp(tab: Page, step: number): Promise<Seen[][]> {
  const list = conversation(tab);
  const seen = [await questionsInSight(tab)];
  while ((await list.evaluate(({ scrollTop }) => scrollTop)) > 0) {
    await list.evaluate(scrollDrawn, -step);
    seen.push(await questionsInSight(tab));
  }
  return seen;
}

describe("a chat of 1,000 messages", () => {
  test("opens at its end", async () => {
    const tab = await opened();
    const toEnd = () =>
      conversation(tab).evaluate((list) =>
        Math.round(list.scrollHeight - list.clientHeight - list.scrollTop),
      );
    await expect.poll(toEnd).toBeLessThan(12);
    const seen = await questionsInSight(tab);
    expect(seen.at(-1)?.number).toBe(turns);
    await takePicture(tab, "long-end");
    // Of so many only those near to what is seen are drawn.
    expect(await answers(tab).count()).toBeLessThan(60);
  });

  test("is scrolled through to its beginning, in order, and nothing jumps", async () => {
    const tab = await opened();
    const step = 500;
    const seen = await questionsOnWayUp(tab, step);
    const jumps: string[] = [];
    // The last step is as long as there is left to go.
    for (const [at, now] of seen.slice(1, -1).entries())
      for (const { number, top } of now) {
        const before = seen[at]?.find((one) => one.number === number);
        const moved = before === undefined ? step : top - before.top;
        if (Math.abs(moved - step) > 4) jumps.push(`question ${number} by ${moved} px`);
      }
    expect(jumps).toEqual([]);
    const all = [...new Set(seen.flatMap((each) => each.map(({ number }) => number).toReversed()))];
    expect(all).toEqual(Array.from({ length: turns }, (_, at) => turns - at));
    await takePicture(tab, "long-beginning");
  });

  test("is searched, and an early message is found and shown where it stands", async () => {
    const tab = await opened();
    await tab.getByRole("textbox", { name: "Search chats" }).fill("platypuses");
    await tab.getByRole("link", { name: "Answer 7 is about platypuses." }).click();
    const found = answers(tab).filter({ hasText: "Answer 7 is about platypuses." });
    await found.waitFor();
    await expect.poll(() => found.getAttribute("data-marked")).toBe("true");
    const place = async () => {
      const [box, list] = await Promise.all([found.boundingBox(), conversation(tab).boundingBox()]);
      return (box?.y ?? Number.NaN) - (list?.y ?? Number.NaN);
    };
    await expect.poll(async () => Math.abs((await place()) - 30)).toBeLessThan(30);
    await takePicture(tab, "long-found");
    await tab.getByRole("button", { name: /^Jump to the end/ }).click();
    await answers(tab).last().getByText(`Answer ${turns}`).waitFor();
  });

  test("is looked through by the keys that find in a page, where the browser sees only what is drawn", async () => {
    const tab = await opened();
    const composer = tab.getByRole("textbox", { name: "Message", exact: true });
    await composer.focus();
    await tab.keyboard.press("Control+f");
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    const count = tab.getByRole("search").getByRole("status");
    await field.pressSequentially("is about PLATY");
    const found = answers(tab).filter({ hasText: "Answer 7 is about platypuses." });
    await found.waitFor();
    await expect.poll(() => count.textContent()).toBe("in 1 message");
    await expect.poll(() => markedWords(tab)).toEqual(["is about platy"]);
    await takePicture(tab, "long-find");

    await field.fill("answer 49");
    const goesTo = async (number: number) => {
      await expect.poll(() => currentLine(tab)).toContain(`Answer ${number} `);
    };
    // From where it is on: 49, then 490 to 499, and around.
    await goesTo(49);
    await expect.poll(() => count.textContent()).toBe("message 1 of 11");
    await field.press("Enter");
    await goesTo(490);
    await field.press("Shift+Enter");
    await goesTo(49);
    await field.press("Shift+Enter");
    await goesTo(499);
    await expect.poll(() => count.textContent()).toBe("message 11 of 11");

    await field.fill("wombats");
    await expect.poll(() => count.textContent()).toBe("Not in this chat");
    await expect.poll(() => markedWords(tab)).toEqual([]);
    await field.press("Escape");
    await field.waitFor({ state: "detached" });
    await expect.poll(() => composer.evaluate((box) => box === document.activeElement)).toBe(true);
  });

  test("leaves the browser its own keys, pressed once more", async () => {
    const tab = await opened();
    const taken = await tab.evaluateHandle(() => {
      const all: boolean[] = [];
      const hear = (event: KeyboardEvent) => {
        if (event.key === "f") setTimeout(() => all.push(event.defaultPrevented));
      };
      document.addEventListener("keydown", hear, { capture: true });
      return all;
    });
    await tab.keyboard.press("Control+f");
    await tab.getByRole("searchbox", { name: "Find in this chat" }).waitFor();
    await tab.keyboard.press("Control+f");
    await expect.poll(() => taken.jsonValue()).toEqual([true, false]);
  });

  test("goes on at once", async () => {
    const tab = await opened();
    await say(tab, "And one more");
    await answers(tab).last().getByText("And one more").waitFor();
    await takePicture(tab, "long-goes-on");
  });
});
