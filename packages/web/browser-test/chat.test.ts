import type { ElementHandle, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { HeldModel } from "./held-model.ts";
import { answers, endedAnswers } from "./in-chat.ts";
import { endedAnswer, lastAnswer, say, staged, takePicture } from "./stage.ts";

/* What an answer looks like while it comes, and afterwards. */

const everything = "Show me a table, some code and some mathematics";

/** Of the list of messages: how far its end is from where the reader is, and how much there is. */
function scroll(tab: Page): Promise<{ toEnd: number; top: number; height: number }> {
  return tab.getByRole("log", { name: "Conversation" }).evaluate((list) => ({
    toEnd: Math.round(list.scrollHeight - list.clientHeight - list.scrollTop),
    top: Math.round(list.scrollTop),
    height: list.scrollHeight,
  }));
}

describe("an answer that has come", () => {
  const stage = staged();

  test("has its table, its code in colours and its formulas drawn", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    await say(tab, everything);
    const answer = await endedAnswer(tab);
    const table = answer.getByRole("table");
    await table.waitFor();
    expect(await table.getByRole("columnheader").allInnerTexts()).toEqual(["part", "what it does"]);
    expect(await table.getByRole("row").nth(2).innerText()).toBe("gateway\ttranslates and mends");

    const code = answer.getByRole("figure");
    await expect.poll(() => coloursIn(code.locator("code").elementHandle())).toBeGreaterThan(2);

    const formulas = answer.locator("math");
    await expect.poll(() => formulas.count()).toBe(4);
    const shown = await answer.innerText();
    expect(shown).not.toMatch(/\\int|\\sqrt|\$/);
    expect(shown).toContain("Of a right triangle with the sides");
    await takePicture(tab, "chat-everything");
  });

  test("looks as well in the dark, and on a phone", async () => {
    for (const { name, options } of [
      { name: "dark", options: { colorScheme: "dark" as const } },
      {
        name: "phone",
        options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
      },
    ]) {
      const tab = await (await stage.person(options)).tab(await stage.chat());
      await say(tab, everything);
      const answer = await endedAnswers(tab, 1);
      await expect.poll(() => answer.locator("math").count()).toBe(4);
      await answer.getByRole("table").scrollIntoViewIfNeeded();
      await takePicture(tab, `chat-everything-${name}`);
      const { inner, whole } = await tab.evaluate(() => ({
        inner: innerWidth,
        whole: document.documentElement.scrollWidth,
      }));
      expect(whole).toBe(inner);
    }
  });

  test("gives its code, and all of itself, to the clipboard", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    await say(tab, "code");
    const answer = await endedAnswer(tab);
    await answer.getByRole("figure").getByRole("button", { name: "Copy" }).click();
    await answer.getByRole("figure").getByRole("button", { name: "Copied" }).waitFor();
    const copied = () => tab.evaluate(() => navigator.clipboard.readText());
    expect(await copied()).toMatch(/^const reply = await fetch[^`]*\}\);\n?$/);
    await answer.getByRole("button", { name: "Copy", exact: true }).last().click();
    await expect.poll(copied).toMatch(/^Some code, as a demo:\n\n```ts\nconst reply/);
  });

  test("has its reasoning folded, with the time that it took", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    await say(tab, "think about this");
    const answer = await endedAnswer(tab);
    const reasoning = answer.getByRole("button", { name: /^Thought for [\d.]+ m?s$/ });
    expect(await reasoning.getAttribute("aria-expanded")).toBe("false");
    expect(await answer.innerText()).not.toContain("I take my time");
    await reasoning.click();
    await answer.getByText("I was asked to think, so I take my time.").waitFor();
    await takePicture(tab, "chat-reasoning");
    await reasoning.click();
    expect(await answer.innerText()).not.toContain("I take my time");
  });

  test("has scripts of the right and of the left, each in its own direction", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    await say(tab, "مرحبا، كيف حالك؟");
    await endedAnswers(tab, 1);
    await say(tab, "你好，你是谁？");
    await endedAnswers(tab, 2);
    const direction = (at: number) => () =>
      answers(tab)
        .nth(at)
        .getByText(/Deltawire/)
        .evaluate((paragraph) => getComputedStyle(paragraph).direction);
    await expect.poll(direction(0)).toBe("rtl");
    await expect.poll(direction(1)).toBe("ltr");
    await takePicture(tab, "chat-scripts");
  });
});

async function coloursIn(element: Promise<ElementHandle | null>): Promise<number> {
  const code = await element;
  return (
    code?.evaluate((within) => {
      const parts = [...(within as HTMLElement).querySelectorAll("span")];
      return new Set(parts.map((part) => getComputedStyle(part).color)).size;
    }) ?? 0
  );
}

describe("an answer that comes", () => {
  const held = new HeldModel();
  const stage = staged({ paceMs: 4, held });

  test("grows without putting anything in place of what is there", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    await say(tab, "long markdown 5");
    const answer = lastAnswer(tab);
    const early = [
      answer.getByRole("heading", { name: "Part 1" }),
      answer.getByText("The part 1 begins with"),
      answer.getByRole("table").first(),
    ];
    const elements: ElementHandle[] = [];
    for (const each of early) elements.push(await handleOf(each));
    const shrinking = await watchHeight(tab);
    elements.push(await handleOf(answer.getByRole("figure").first()));
    await takePicture(tab, "chat-streaming");
    await endedAnswer(tab);
    expect(await answer.getByRole("heading").count()).toBeGreaterThan(7);
    for (const element of elements)
      expect(await element.evaluate((each) => each.isConnected)).toBe(true);
    // A line that turns out to be the head of a table, or a formula that is drawn, may take less room than its letters did.
    expect(await shrinking()).toBeLessThan(60);
  });

  test("has its links by label when they are defined, in place of what was in brackets", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    const words = "Words that nobody links to. ".repeat(80);
    held.holdAfter(100);
    await say(
      tab,
      `say exactly\n\`\`\`\nRead [the guide][1] and [Notes].\n\n${words}\n\n[1]: https://example.com/guide "A guide"\n[notes]: <https://example.com/notes>\n[bad]: javascript:alert(1)\n\`\`\``,
    );
    const answer = lastAnswer(tab);
    await answer.getByText("Read [the guide][1] and [Notes].").waitFor();
    const beside = await handleOf(answer.getByText("Words that nobody links to."));
    held.letGo();
    await endedAnswer(tab);
    const links = answer.locator(".markdown a");
    expect(await links.allInnerTexts()).toEqual(["the guide", "Notes"]);
    expect(await links.nth(0).getAttribute("href")).toBe("https://example.com/guide");
    expect(await links.nth(1).getAttribute("href")).toBe("https://example.com/notes");
    expect(await beside.evaluate((each) => each.isConnected)).toBe(true);
    const shown = await answer.innerText();
    expect(shown).toContain("Read the guide and Notes.");
    // A definition is not shown, whatever its address is.
    expect(shown).not.toMatch(/A guide|\[1\]|\[notes\]|javascript/);
    await takePicture(tab, "chat-links-by-label");
  });

  test("is followed at its end, until the reader scrolls up, and again by the button", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    held.holdAfter(100);
    await say(tab, "long 20000");
    await expect.poll(async () => (await scroll(tab)).top).toBeGreaterThan(200);
    await expect.poll(async () => (await scroll(tab)).toEnd).toBeLessThan(40);

    await lastAnswer(tab).hover({ position: { x: 200, y: 20 }, force: true });
    await tab.mouse.move(700, 400);
    await tab.mouse.wheel(0, -150);
    const jump = tab.getByRole("button", { name: /^Jump to the end/ });
    await jump.waitFor();
    const { top, height } = await scroll(tab);
    held.holdAfter(200);
    await expect.poll(async () => (await scroll(tab)).height).toBeGreaterThan(height + 100);
    expect((await scroll(tab)).top).toBe(top);
    expect(await jump.innerText()).toContain("new text");
    await takePicture(tab, "chat-scrolled-up");

    await jump.click();
    await jump.waitFor({ state: "detached" });
    const now = (await scroll(tab)).height;
    held.holdAfter(400);
    await expect.poll(async () => (await scroll(tab)).height).toBeGreaterThan(now + 100);
    await expect.poll(async () => (await scroll(tab)).toEnd).toBeLessThan(40);
  });

  test("holds at its beginning for who prefers that", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    await tab.getByRole("button", { name: "More", exact: true }).click();
    await tab.getByRole("menuitem", { name: "Preferences" }).click();
    const dialog = tab.getByRole("dialog", { name: "Preferences" });
    await dialog.getByLabel("While an answer streams").selectOption("Stay at its beginning");
    await takePicture(tab, "chat-preferences");
    await dialog.getByRole("button", { name: "Done" }).click();
    held.holdAfter(200);
    await say(tab, "long 20000");
    await expect.poll(async () => (await scroll(tab)).toEnd).toBeGreaterThan(300);
    const answerTop = () => lastAnswer(tab).evaluate((one) => one.getBoundingClientRect().top);
    const listTop = await tab
      .getByRole("log", { name: "Conversation" })
      .evaluate((one) => one.getBoundingClientRect().top);
    const top = await answerTop();
    expect(top - listTop).toBeGreaterThanOrEqual(0);
    expect(top - listTop).toBeLessThan(40);
    const { height } = await scroll(tab);
    held.holdAfter(400);
    await expect.poll(async () => (await scroll(tab)).height).toBeGreaterThan(height + 100);
    expect(await answerTop()).toBe(top);
  });

  test("is stopped, keeps what it has said, and goes on from there", async () => {
    const tab = await (await stage.person()).tab(await stage.chat({ model: "lab/clean" }));
    held.holdAfter(100);
    await say(tab, "long 2000");
    const answer = lastAnswer(tab);
    await answer.getByText("this is a long answer").waitFor();
    expect(await answer.getAttribute("aria-busy")).toBe("true");
    await tab.getByRole("button", { name: "Stop the answer" }).click();
    await answer.getByText("Stopped", { exact: true }).waitFor();
    await takePicture(tab, "chat-stopped");
    const before = await answer.getByText("this is a long answer").innerText();
    expect(before.length).toBeLessThan(9000);

    // What it goes on with is short, and must not end before it is stopped.
    held.holdAfter(5);
    await answer.getByRole("button", { name: "Continue" }).click();
    await answer.getByText("Stopped", { exact: true }).waitFor({ state: "detached" });
    await answer.getByRole("button", { name: "Stop", exact: true }).click();
    await answer.getByRole("button", { name: "Retry" }).waitFor();
    expect(await answer.innerText()).toContain(before);
    expect(await answers(tab).count()).toBe(1);
  });

  test("has its usage open while it goes on, and still when it has ended", async () => {
    const tab = await (await stage.person()).tab(await stage.chat({ model: "lab/clean" }));
    held.holdAfter(100);
    await say(tab, "long 2000");
    const answer = lastAnswer(tab);
    await answer.getByText("this is a long answer").waitFor();
    await tab.getByRole("button", { name: "Stop the answer" }).click();
    held.holdAfter(5);
    await answer.getByRole("button", { name: "Continue" }).click();
    await answer.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await answer.getByTitle("Tokens and cost").click();
    const rows = tab.getByRole("dialog", { name: "Tokens and cost" });
    await rows.waitFor();
    expect(await rows.getByText("Model requests").count()).toBe(0);
    held.letGo();
    await rows.getByText("Model requests").waitFor();
  });

  test("shows that it is thinking, for how long, and what, to who wants to see it", async () => {
    const tab = await (await stage.person()).tab(await stage.chat({ model: "lab/slow" }));
    held.holdAfter(5);
    await say(tab, "think about this");
    const thinking = lastAnswer(tab).getByRole("button", { name: /^Thinking …/ });
    await thinking.click();
    await lastAnswer(tab).getByText("I was asked to think").waitFor();
    await takePicture(tab, "chat-thinking");
    held.letGo();
    await lastAnswer(tab)
      .getByRole("button", { name: /^Thought for/ })
      .waitFor();
    await lastAnswer(tab).getByText("or in words of my own.").waitFor();
  });
});

async function handleOf(locator: ReturnType<Page["locator"]>): Promise<ElementHandle> {
  await locator.waitFor();
  const handle = await locator.elementHandle();
  if (handle === null) throw new Error("it was there a moment ago");
  return handle;
}

/** By how much the conversation has become shorter at the most, from one frame to the next. */
async function watchHeight(tab: Page): Promise<() => Promise<number>> {
  const watch = await tab.evaluateHandle(() => {
    const content = document.querySelector('[role="log"]')?.firstElementChild;
    const state = { height: 0, most: 0 };
    const look = () => {
      const height = content?.getBoundingClientRect().height ?? 0;
      state.most = Math.max(state.most, state.height - height);
      state.height = height;
      requestAnimationFrame(look);
    };
    look();
    return state;
  });
  return () => watch.evaluate(({ most }) => most);
}
