import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  getAnswers,
  getThreadList,
  getCurrentMatchLine,
  getHighlightedTexts,
  scrollAndWaitForMount,
} from "./chat-actions.ts";
import { sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* A chat of 1,000 messages. */

const fixture = setupBrowserFixture();
const turns = 500;

/** Creates a chat with answers of many heights, so that the estimates for unmounted ones are wrong. */
function createLongChat(): object {
  const messages = Array.from({ length: turns }, (_, index) => [
    { role: "user", content: `Question ${index + 1}` },
    { role: "assistant", content: createAnswerText(index + 1) },
  ]);
  return { messages: messages.flat() };
}

function createAnswerText(number: number): string {
  const kinds = [
    `Answer ${number} is short.`,
    `Answer ${number} has a list:\n\n${Array.from({ length: 1 + (number % 7) }, (_, index) => `- item ${index}`).join("\n")}`,
    `Answer ${number} has code:\n\n\`\`\`ts\n${"const one = 1;\n".repeat(1 + (number % 9))}\`\`\``,
    `Answer ${number} has words. ${"They go on and on. ".repeat(number % 60)}`,
    `Answer ${number} has a table:\n\n| a | b |\n| --- | --- |\n${"| 1 | 2 |\n".repeat(1 + (number % 5))}`,
  ];
  return number === 7 ? "Answer 7 is about platypuses." : (kinds[number % kinds.length] ?? "");
}

async function openLongChat(): Promise<Page> {
  const tab = await (await fixture.newUser()).tab(await fixture.importChat(createLongChat()));
  await getAnswers(tab).last().getByText(`Answer ${turns}`).waitFor();
  return tab;
}

interface VisibleQuestion {
  readonly number: number;
  /** Distance from the top of the list in px. */
  readonly top: number;
}

function getVisibleQuestions(tab: Page): Promise<VisibleQuestion[]> {
  return getThreadList(tab).evaluate((list) => {
    const { top: above, height } = list.getBoundingClientRect();
    return [...list.querySelectorAll(".chat-bubble")].flatMap((bubble) => {
      const { top, bottom } = bubble.getBoundingClientRect();
      const number = Number(/^Question (\d+)$/.exec(bubble.textContent ?? "")?.[1]);
      return bottom > above && top < above + height ? [{ number, top: top - above }] : [];
    });
  });
}

/** Scrolls up in steps and collects the messages that come into view. */
async function scrollUpAndCollect(tab: Page, step: number): Promise<VisibleQuestion[][]> {
  const list = getThreadList(tab);
  const visible = [await getVisibleQuestions(tab)];
  while ((await list.evaluate(({ scrollTop }) => scrollTop)) > 0) {
    await list.evaluate(scrollAndWaitForMount, -step);
    visible.push(await getVisibleQuestions(tab));
  }
  return visible;
}

describe("a chat of 1,000 messages", () => {
  test("opens at its end", async () => {
    const tab = await openLongChat();
    const toEnd = () =>
      getThreadList(tab).evaluate((list) =>
        Math.round(list.scrollHeight - list.clientHeight - list.scrollTop),
      );
    await expect.poll(toEnd).toBeLessThan(12);
    const visible = await getVisibleQuestions(tab);
    expect(visible.at(-1)?.number).toBe(turns);
    await takeScreenshot(tab, "long-end");
    // Only messages near the viewport are mounted.
    expect(await getAnswers(tab).count()).toBeLessThan(60);
  });

  test("can be scrolled to its start, without jumps and with every message in order", async () => {
    const tab = await openLongChat();
    const step = 500;
    const visible = await scrollUpAndCollect(tab, step);
    const jumps: string[] = [];
    // The last step covers the remaining distance.
    for (const [at, now] of visible.slice(1, -1).entries())
      for (const { number, top } of now) {
        const before = visible[at]?.find((one) => one.number === number);
        const moved = before === undefined ? step : top - before.top;
        if (Math.abs(moved - step) > 4) jumps.push(`question ${number} by ${moved} px`);
      }
    expect(jumps).toEqual([]);
    const all = [
      ...new Set(visible.flatMap((each) => each.map(({ number }) => number).toReversed())),
    ];
    expect(all).toEqual(Array.from({ length: turns }, (_, index) => turns - index));
    await takeScreenshot(tab, "long-beginning");
  });

  test("can be searched from the list, and an early match is scrolled into view", async () => {
    const tab = await openLongChat();
    await tab.getByRole("textbox", { name: "Search chats" }).fill("platypuses");
    await tab.getByRole("link", { name: "Answer 7 is about platypuses." }).click();
    const found = getAnswers(tab).filter({ hasText: "Answer 7 is about platypuses." });
    await found.waitFor();
    await expect.poll(() => found.getAttribute("data-highlighted")).toBe("true");
    const getOffset = async () => {
      const [box, list] = await Promise.all([
        found.boundingBox(),
        getThreadList(tab).boundingBox(),
      ]);
      return (box?.y ?? Number.NaN) - (list?.y ?? Number.NaN);
    };
    await expect.poll(async () => Math.abs((await getOffset()) - 30)).toBeLessThan(30);
    await takeScreenshot(tab, "long-found");
    await tab.getByRole("button", { name: /^Jump to the end/ }).click();
    await getAnswers(tab).last().getByText(`Answer ${turns}`).waitFor();
  });

  test("can be searched with Ctrl+F, which the page handles because the browser finds only rendered text", async () => {
    const tab = await openLongChat();
    const composer = tab.getByRole("textbox", { name: "Message", exact: true });
    await composer.focus();
    await tab.keyboard.press("Control+f");
    const field = tab.getByRole("searchbox", { name: "Find in this chat" });
    const count = tab.getByRole("search").getByRole("status");
    await field.pressSequentially("is about PLATY");
    const found = getAnswers(tab).filter({ hasText: "Answer 7 is about platypuses." });
    await found.waitFor();
    await expect.poll(() => count.textContent()).toBe("in 1 message");
    await expect.poll(() => getHighlightedTexts(tab)).toEqual(["is about platy"]);
    await takeScreenshot(tab, "long-find");

    await field.fill("answer 49");
    const expectNextMatch = async (number: number) => {
      await expect.poll(() => getCurrentMatchLine(tab)).toContain(`Answer ${number} `);
    };
    // The search starts at answer 49, continues with 490 to 499, and wraps around.
    await expectNextMatch(49);
    await expect.poll(() => count.textContent()).toBe("message 1 of 11");
    await field.press("Enter");
    await expectNextMatch(490);
    await field.press("Shift+Enter");
    await expectNextMatch(49);
    await field.press("Shift+Enter");
    await expectNextMatch(499);
    await expect.poll(() => count.textContent()).toBe("message 11 of 11");

    await field.fill("wombats");
    await expect.poll(() => count.textContent()).toBe("No matches");
    await expect.poll(() => getHighlightedTexts(tab)).toEqual([]);
    await field.press("Escape");
    await field.waitFor({ state: "detached" });
    await expect.poll(() => composer.evaluate((box) => box === document.activeElement)).toBe(true);
  });

  test("leaves a second Ctrl+F to the browser", async () => {
    const tab = await openLongChat();
    const preventedStates = await tab.evaluateHandle(() => {
      const all: boolean[] = [];
      const recordKey = (event: KeyboardEvent) => {
        if (event.key === "f") setTimeout(() => all.push(event.defaultPrevented));
      };
      document.addEventListener("keydown", recordKey, { capture: true });
      return all;
    });
    await tab.keyboard.press("Control+f");
    await tab.getByRole("searchbox", { name: "Find in this chat" }).waitFor();
    await tab.keyboard.press("Control+f");
    await expect.poll(() => preventedStates.jsonValue()).toEqual([true, false]);
  });

  test("can be continued with a new message", async () => {
    const tab = await openLongChat();
    await sendMessage(tab, "And one more");
    await getAnswers(tab).last().getByText("And one more").waitFor();
    await takeScreenshot(tab, "long-goes-on");
  });
});
