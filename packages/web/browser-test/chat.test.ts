import type { ElementHandle, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { PausableModel } from "./pausable-model.ts";
import { getAnswers, waitForAnswers, getStopButton } from "./chat-actions.ts";
import {
  waitForAnswerEnd,
  lastAnswer,
  sendMessage,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

/* Rendering of answers while they stream and when they are finished. */

const everything = "Show me a table, some code and some mathematics";

/** Returns the distance to the end of the message list and its height. */
function getScrollPosition(tab: Page): Promise<{ toEnd: number; top: number; height: number }> {
  return tab.getByRole("log", { name: "Conversation" }).evaluate((list) => ({
    toEnd: Math.round(list.scrollHeight - list.clientHeight - list.scrollTop),
    top: Math.round(list.scrollTop),
    height: list.scrollHeight,
  }));
}

describe("a finished answer", () => {
  const fixture = setupBrowserFixture();

  test("renders its table, highlighted code and formulas", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    await sendMessage(tab, everything);
    const answer = await waitForAnswerEnd(tab);
    const table = answer.getByRole("table");
    await table.waitFor();
    expect(await table.getByRole("columnheader").allInnerTexts()).toEqual(["part", "what it does"]);
    expect(await table.getByRole("row").nth(2).innerText()).toBe("gateway\ttranslates and repairs");

    const code = answer.getByRole("figure");
    await expect.poll(() => countColors(code.locator("code").elementHandle())).toBeGreaterThan(2);

    const formulas = answer.locator("math");
    await expect.poll(() => formulas.count()).toBe(4);
    const shown = await answer.innerText();
    expect(shown).not.toMatch(/\\int|\\sqrt|\$/);
    expect(shown).toContain("The hypotenuse of a right triangle with legs");
    await takeScreenshot(tab, "chat-everything");
  });

  test("is readable in dark mode and fits on a phone", async () => {
    for (const { name, options } of [
      { name: "dark", options: { colorScheme: "dark" as const } },
      {
        name: "phone",
        options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
      },
    ]) {
      const tab = await (await fixture.newUser(options)).tab(await fixture.createChat());
      await sendMessage(tab, everything);
      const answer = await waitForAnswers(tab, 1);
      await expect.poll(() => answer.locator("math").count()).toBe(4);
      await answer.getByRole("table").scrollIntoViewIfNeeded();
      await takeScreenshot(tab, `chat-everything-${name}`);
      const { inner, outer } = await tab.evaluate(() => ({
        inner: innerWidth,
        outer: document.documentElement.scrollWidth,
      }));
      expect(outer).toBe(inner);
    }
  });

  test("copies its code or its complete text to the clipboard", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    await sendMessage(tab, "code");
    const answer = await waitForAnswerEnd(tab);
    await answer.getByRole("figure").getByRole("button", { name: "Copy" }).click();
    await answer.getByRole("figure").getByRole("button", { name: "Copied" }).waitFor();
    const copied = () => tab.evaluate(() => navigator.clipboard.readText());
    expect(await copied()).toMatch(/^const reply = await fetch[^`]*\}\);\n?$/);
    await answer.getByRole("button", { name: "Copy", exact: true }).last().click();
    await expect.poll(copied).toMatch(/^Some code, as a demo:\n\n```ts\nconst reply/);
  });

  test("has collapsed reasoning with its duration", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    await sendMessage(tab, "think about this");
    const answer = await waitForAnswerEnd(tab);
    const reasoning = answer.getByRole("button", { name: /^Thought for [\d.]+ m?s$/ });
    expect(await reasoning.getAttribute("aria-expanded")).toBe("false");
    expect(await answer.innerText()).not.toContain("I take my time");
    await reasoning.click();
    await answer.getByText("I was asked to think, so I take my time.").waitFor();
    await takeScreenshot(tab, "chat-reasoning");
    await reasoning.click();
    expect(await answer.innerText()).not.toContain("I take my time");
  });

  test("has left-to-right and right-to-left text, each in its own direction", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    await sendMessage(tab, "مرحبا، كيف حالك؟");
    await waitForAnswers(tab, 1);
    await sendMessage(tab, "你好，你是谁？");
    await waitForAnswers(tab, 2);
    const direction = (index: number) => () =>
      getAnswers(tab)
        .nth(index)
        .getByText(/Deltawire/)
        .evaluate((paragraph) => getComputedStyle(paragraph).direction);
    await expect.poll(direction(0)).toBe("rtl");
    await expect.poll(direction(1)).toBe("ltr");
    await takeScreenshot(tab, "chat-scripts");
  });
});

async function countColors(element: Promise<ElementHandle | null>): Promise<number> {
  const code = await element;
  return (
    code?.evaluate((within) => {
      const parts = [...(within as HTMLElement).querySelectorAll("span")];
      return new Set(parts.map((part) => getComputedStyle(part).color)).size;
    }) ?? 0
  );
}

describe("a streaming answer", () => {
  const pausableModel = new PausableModel();
  const fixture = setupBrowserFixture({ paceMs: 4, pausableModel });

  test("grows without the replacement of existing elements", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    await sendMessage(tab, "long markdown 5");
    const answer = lastAnswer(tab);
    const early = [
      answer.getByRole("heading", { name: "Part 1" }),
      answer.getByText("The part 1 begins with"),
      answer.getByRole("table").first(),
    ];
    const elements: ElementHandle[] = [];
    for (const each of early) elements.push(await getHandle(each));
    const getHeightDecrease = await recordHeightDecrease(tab);
    elements.push(await getHandle(answer.getByRole("figure").first()));
    await takeScreenshot(tab, "chat-streaming");
    await waitForAnswerEnd(tab);
    expect(await answer.getByRole("heading").count()).toBeGreaterThan(7);
    for (const element of elements)
      expect(await element.evaluate((each) => each.isConnected)).toBe(true);
    // A line that becomes a table header, or a rendered formula, may be lower than its source text.
    expect(await getHeightDecrease()).toBeLessThan(60);
  });

  test("turns reference links into links when their definitions arrive", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    const words = "Words that nobody links to. ".repeat(80);
    pausableModel.pauseAfter(100);
    await sendMessage(
      tab,
      `say exactly\n\`\`\`\nRead [the guide][1] and [Notes].\n\n${words}\n\n[1]: https://example.com/guide "A guide"\n[notes]: <https://example.com/notes>\n[bad]: javascript:alert(1)\n\`\`\``,
    );
    const answer = lastAnswer(tab);
    await answer.getByText("Read [the guide][1] and [Notes].").waitFor();
    const unlinkedText = await getHandle(answer.getByText("Words that nobody links to."));
    pausableModel.resume();
    await waitForAnswerEnd(tab);
    const links = answer.locator(".markdown a");
    expect(await links.allInnerTexts()).toEqual(["the guide", "Notes"]);
    expect(await links.nth(0).getAttribute("href")).toBe("https://example.com/guide");
    expect(await links.nth(1).getAttribute("href")).toBe("https://example.com/notes");
    expect(await unlinkedText.evaluate((each) => each.isConnected)).toBe(true);
    const shown = await answer.innerText();
    expect(shown).toContain("Read the guide and Notes.");
    // Link definitions are not rendered.
    expect(shown).not.toMatch(/A guide|\[1\]|\[notes\]|javascript/);
    await takeScreenshot(tab, "chat-links-by-label");
  });

  test("is followed to its end until the user scrolls up, and again after a press of the button", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    pausableModel.pauseAfter(100);
    await sendMessage(tab, "long 20000");
    await expect.poll(async () => (await getScrollPosition(tab)).top).toBeGreaterThan(200);
    await expect.poll(async () => (await getScrollPosition(tab)).toEnd).toBeLessThan(40);

    await lastAnswer(tab).hover({ position: { x: 200, y: 20 }, force: true });
    await tab.mouse.move(700, 400);
    await tab.mouse.wheel(0, -150);
    const jump = tab.getByRole("button", { name: /^Jump to the end/ });
    await jump.waitFor();
    const { top, height } = await getScrollPosition(tab);
    pausableModel.pauseAfter(200);
    await expect
      .poll(async () => (await getScrollPosition(tab)).height)
      .toBeGreaterThan(height + 100);
    expect((await getScrollPosition(tab)).top).toBe(top);
    expect(await jump.innerText()).toContain("new text");
    await takeScreenshot(tab, "chat-scrolled-up");

    await jump.click();
    await jump.waitFor({ state: "detached" });
    const now = (await getScrollPosition(tab)).height;
    pausableModel.pauseAfter(400);
    await expect.poll(async () => (await getScrollPosition(tab)).height).toBeGreaterThan(now + 100);
    await expect.poll(async () => (await getScrollPosition(tab)).toEnd).toBeLessThan(40);
  });

  test("is held at its start if the preferences say so", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    await tab.getByRole("button", { name: "More", exact: true }).click();
    await tab.getByRole("menuitem", { name: "Preferences" }).click();
    const dialog = tab.getByRole("dialog", { name: "Preferences" });
    await dialog.getByLabel("While an answer streams").selectOption("Stay at the start");
    await takeScreenshot(tab, "chat-preferences");
    await dialog.getByRole("button", { name: "Done" }).click();
    pausableModel.pauseAfter(200);
    await sendMessage(tab, "long 20000");
    await expect.poll(async () => (await getScrollPosition(tab)).toEnd).toBeGreaterThan(300);
    const answerTop = () => lastAnswer(tab).evaluate((one) => one.getBoundingClientRect().top);
    const listTop = await tab
      .getByRole("log", { name: "Conversation" })
      .evaluate((one) => one.getBoundingClientRect().top);
    const top = await answerTop();
    expect(top - listTop).toBeGreaterThanOrEqual(0);
    expect(top - listTop).toBeLessThan(40);
    const { height } = await getScrollPosition(tab);
    pausableModel.pauseAfter(400);
    await expect
      .poll(async () => (await getScrollPosition(tab)).height)
      .toBeGreaterThan(height + 100);
    expect(await answerTop()).toBe(top);
  });

  test("can be stopped, keeps its text, and can be continued", async () => {
    const tab = await (
      await fixture.newUser()
    ).tab(await fixture.createChat({ model: "lab/clean" }));
    pausableModel.pauseAfter(100);
    await sendMessage(tab, "long 2000");
    const answer = lastAnswer(tab);
    await answer.getByText("this is a long answer").waitFor();
    expect(await answer.getAttribute("aria-busy")).toBe("true");
    await getStopButton(tab).click();
    await answer.getByText("Stopped", { exact: true }).waitFor();
    await takeScreenshot(tab, "chat-stopped");
    const before = await answer.getByText("this is a long answer").innerText();
    expect(before.length).toBeLessThan(9000);

    // The continuation is short and must not end before it is stopped.
    pausableModel.pauseAfter(5);
    await answer.getByRole("button", { name: "Continue" }).click();
    await answer.getByText("Stopped", { exact: true }).waitFor({ state: "detached" });
    await answer.getByRole("button", { name: "Stop", exact: true }).click();
    await answer.getByRole("button", { name: "Retry" }).waitFor();
    expect(await answer.innerText()).toContain(before);
    expect(await getAnswers(tab).count()).toBe(1);
  });

  test("keeps its usage popover open when it ends", async () => {
    const tab = await (
      await fixture.newUser()
    ).tab(await fixture.createChat({ model: "lab/clean" }));
    pausableModel.pauseAfter(100);
    await sendMessage(tab, "long 2000");
    const answer = lastAnswer(tab);
    await answer.getByText("this is a long answer").waitFor();
    await getStopButton(tab).click();
    pausableModel.pauseAfter(5);
    await answer.getByRole("button", { name: "Continue" }).click();
    await answer.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await answer.getByTitle("Tokens and cost").click();
    const rows = tab.getByRole("dialog", { name: "Tokens and cost" });
    await rows.waitFor();
    expect(await rows.getByText("Model requests").count()).toBe(0);
    pausableModel.resume();
    await rows.getByText("Model requests").waitFor();
  });

  test("shows that the model is thinking, then for how long, and the reasoning on request", async () => {
    const tab = await (
      await fixture.newUser()
    ).tab(await fixture.createChat({ model: "lab/slow" }));
    pausableModel.pauseAfter(5);
    await sendMessage(tab, "think about this");
    const thinking = lastAnswer(tab).getByRole("button", { name: /^Thinking …/ });
    await thinking.click();
    await lastAnswer(tab).getByText("I was asked to think").waitFor();
    await takeScreenshot(tab, "chat-thinking");
    pausableModel.resume();
    await lastAnswer(tab)
      .getByRole("button", { name: /^Thought for/ })
      .waitFor();
    await lastAnswer(tab).getByText("or plain text.").waitFor();
  });
});

async function getHandle(locator: ReturnType<Page["locator"]>): Promise<ElementHandle> {
  await locator.waitFor();
  const handle = await locator.elementHandle();
  if (handle === null) throw new Error("the element was removed");
  return handle;
}

/** Returns the largest decrease of the conversation's height between two frames. */
async function recordHeightDecrease(tab: Page): Promise<() => Promise<number>> {
  const watch = await tab.evaluateHandle(() => {
    const content = document.querySelector('[role="log"]')?.firstElementChild;
    const state = { height: 0, most: 0 };
    const measureHeight = () => {
      const height = content?.getBoundingClientRect().height ?? 0;
      state.most = Math.max(state.most, state.height - height);
      state.height = height;
      requestAnimationFrame(measureHeight);
    };
    measureHeight();
    return state;
  });
  return () => watch.evaluate(({ most }) => most);
}
