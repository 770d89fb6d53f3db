import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  getAnswers,
  waitForAnswers,
  getMessages,
  getMoreButton,
  chooseMenuItem,
  sendEdit,
  pickModel,
  getStopButton,
} from "./chat-actions.ts";
import {
  getFocusedName,
  sendMessage,
  setupBrowserFixture,
  takeScreenshot,
  type BrowserUserOptions,
} from "./browser-fixture.ts";

/* The tree view: overview, navigation and comparison. */

const fixture = setupBrowserFixture();

/** Opens the tree of a chat with two branches, one of which has an answer with two versions. */
async function openTree(options?: BrowserUserOptions): Promise<{ tab: Page; hash: string }> {
  const user = await fixture.newUser(options);
  const hash = await fixture.createChat();
  const chatTab = await user.tab(hash);
  await sendMessage(chatTab, "Plan a trip");
  await waitForAnswers(chatTab, 1);
  await sendMessage(chatTab, "To the sea");
  await waitForAnswers(chatTab, 2);
  await editLastMessage(chatTab, "To the hills");
  await waitForAnswers(chatTab, 2);
  await retryWith(chatTab, "think-tags");
  await waitForAnswers(chatTab, 2);
  await chatTab.close();
  const tab = await user.tab(`${hash}/tree`);
  await getCard(tab, /^You: Plan a trip/).waitFor();
  return { tab, hash };
}

async function editLastMessage(tab: Page, words: string): Promise<void> {
  const message = getMessages(tab).last();
  await chooseMenuItem(getMoreButton(message), "Edit");
  await sendEdit(message, words, "Send");
  await getMessages(tab).filter({ hasText: words }).waitFor();
}

async function retryWith(tab: Page, model: string): Promise<void> {
  await chooseMenuItem(getMoreButton(getAnswers(tab).last()), "Retry with another model…");
  const dialog = tab.getByRole("dialog", { name: "Retry with another model" });
  await dialog.getByRole("button", { name: /^Answer with/ }).click();
  await pickModel(dialog, model);
  await dialog.getByRole("button", { name: "Retry" }).click();
  await tab.getByRole("article", { name: new RegExp(`^Answer from .*${model}`) }).waitFor();
}

function getTree(tab: Page): Locator {
  return tab.getByRole("tree", { name: "Conversation tree" });
}

function getCard(tab: Page, name: RegExp): Locator {
  return getTree(tab).getByRole("treeitem", { name });
}

async function getBox(
  element: Locator,
): Promise<{ x: number; y: number; width: number; height: number }> {
  return (await element.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
}

/** Selects both visible answers in the tree and compares them. */
async function compareAnswers(tab: Page): Promise<void> {
  // Cards around the focus are rendered first.
  await expect.poll(() => getTree(tab).getByRole("treeitem").count()).toBe(4);
  for (const index of [1, 3]) {
    await getTree(tab).getByRole("treeitem").nth(index).click();
    await tab.getByRole("button", { name: "Select to compare" }).click();
  }
  // The bar with the button replaces the hint.
  await tab.locator(".tree-hint").waitFor({ state: "hidden" });
  await tab.getByRole("button", { name: "Compare", exact: true }).click();
}

/** Returns the accessible name of the focused tree item. */
function getFocusedCard(tab: Page): Promise<string> {
  return tab.evaluate(() => document.activeElement?.querySelector("title")?.textContent ?? "");
}

describe("the tree of a chat", () => {
  test("shows all branches and versions, and marks what the chat shows", async () => {
    const { tab } = await openTree();
    await expect.poll(() => getTree(tab).getByRole("treeitem").count()).toBe(6);
    await takeScreenshot(tab, "tree");
    await getCard(tab, /^You: To the sea \(branch 1 of 2\)/).waitFor();
    await getCard(tab, /^You: To the hills \(branch 2 of 2, shown in the chat\)/).waitFor();
    await getCard(tab, /^lab\/think-tags: .*\(version 2 of 2, shown in the chat\)/).waitFor();
    await tab.getByText("6 messages, 2 branches").waitFor();
  });

  test("can be zoomed in and out, and fitted to the screen", async () => {
    const { tab } = await openTree();
    const width = async () =>
      (await getCard(tab, /^You: Plan a trip/).boundingBox())?.width ?? Number.NaN;
    const first = await width();
    await tab.getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(width).toBeGreaterThan(first * 1.2);
    await tab.getByRole("button", { name: "Zoom out" }).click();
    await tab.getByRole("button", { name: "Zoom out" }).click();
    await expect.poll(width).toBeLessThan(first);
    await tab.getByRole("button", { name: "Fit to screen" }).click();
    const countVisibleCards = async () => {
      const cards = await getTree(tab).getByRole("treeitem").all();
      const boxes = await Promise.all(cards.map(getBox));
      return boxes.filter(({ y, height }) => y > 50 && y + height < 800).length;
    };
    await expect.poll(countVisibleCards).toBe(6);
  });

  test("shows the complete text of a selected message, and links to it in the chat", async () => {
    const { tab } = await openTree();
    await getCard(tab, /^You: To the sea/).click();
    const panel = tab.getByRole("complementary", { name: "Selected message" });
    await panel.getByText("To the sea").waitFor();
    await takeScreenshot(tab, "tree-panel");
    await panel.getByRole("button", { name: "Show in chat" }).click();
    await getMessages(tab).filter({ hasText: "To the sea" }).waitFor();
    expect(await getMessages(tab).filter({ hasText: "To the hills" }).count()).toBe(0);
  });

  test("scrolls a partly hidden card into view when it is clicked, and opens it when it is double-clicked", async () => {
    const { tab } = await openTree();
    const first = getCard(tab, /^You: Plan a trip/);
    const { y: top } = await getBox(getTree(tab));
    /** Scrolls up until only a few pixels of the card are visible. */
    const hidePartly = async () => {
      await tab.getByRole("button", { name: "Fit to screen" }).click();
      await expect.poll(async () => (await getBox(first)).y).toBeGreaterThan(top);
      const { x, y, width, height } = await getBox(first);
      await tab.mouse.move(x + width / 2, y);
      await tab.mouse.wheel(0, y + height - top - 14);
      await expect.poll(async () => (await getBox(first)).y).toBeLessThan(top);
      return { x: x + width / 2, y: top + 6 };
    };
    const once = await hidePartly();
    await tab.mouse.click(once.x, once.y);
    const panel = tab.getByRole("complementary", { name: "Selected message" });
    await panel.getByText("Plan a trip").waitFor();
    await panel.getByRole("button", { name: "Close" }).click();
    const twice = await hidePartly();
    await tab.mouse.dblclick(twice.x, twice.y);
    await getMessages(tab).filter({ hasText: "Plan a trip" }).waitFor();
  });

  test("compares two versions side by side, and either of them can be shown in the chat", async () => {
    const { tab, hash } = await openTree();
    await getCard(tab, /^lab\/think-tags/).click();
    await tab.getByRole("button", { name: "Compare versions" }).click();
    const [one, other] = ["Side A", "Side B"].map((name) => tab.getByRole("region", { name }));
    await one?.getByRole("heading", { name: "demo-agent" }).waitFor();
    await other?.getByRole("heading", { name: "lab/think-tags" }).waitFor();
    // Both are rendered as in the chat, with highlighted differences.
    for (const side of [one, other]) {
      await side?.getByRole("blockquote").getByText("To the hills").waitFor();
      await side?.locator("strong").getByText("demo").waitFor();
      expect(await side?.locator(".tree-diff").innerText()).not.toMatch(/[*>`]/);
    }
    await one?.locator("mark[title='only in A']").getByText("which tools").waitFor();
    await other?.locator("mark[title='only in B']").getByText("a table").waitFor();
    expect(await one?.locator("mark").filter({ hasText: "I answer by rules" }).count()).toBe(0);
    await takeScreenshot(tab, "tree-compare");
    await tab.getByRole("switch", { name: "Show differences" }).uncheck();
    await takeScreenshot(tab, "tree-compare-full");
    await one?.getByRole("button", { name: "Show this version" }).click();
    await one?.getByRole("button", { name: "Shown in the chat" }).waitFor();
    await tab.goto(`${tab.url().split("#")[0]}${hash}`);
    await getAnswers(tab).last().getByRole("group", { name: "Version 1 of 2" }).waitFor();
  });

  test("compares rendered code, tables and formulas", async () => {
    const answer = (rows: string, code: string, formula: string) =>
      `# Plan\n\n| a | b |\n|---|---|\n${rows}\n\n\`\`\`js\n${code}\n\`\`\`\n\nThen $${formula}$ holds.`;
    const hash = await fixture.importChat([
      { role: "user", content: "Plan" },
      { role: "assistant", content: answer("| 1 | 2 |", "let sum = one;\nprint(sum);", "x^2") },
      { role: "user", content: "Again" },
      { role: "assistant", content: answer("| 1 | 3 |", "let sum = two;\nprint(sum);", "x^3") },
    ]);
    const tab = await (await fixture.newUser()).tab(`${hash}/tree`);
    await compareAnswers(tab);
    await tab.getByRole("switch", { name: "Show differences" }).check();
    for (const [name, cell, word] of [
      ["Side A", "2", "one"],
      ["Side B", "3", "two"],
    ] as const) {
      const side = tab.getByRole("region", { name });
      await side.getByRole("cell", { name: cell }).locator("mark").waitFor();
      await expect.poll(() => side.locator("pre mark").allInnerTexts()).toEqual([word]);
      await side.locator("mark .katex").waitFor();
      expect(await side.locator("mark").count()).toBe(3);
    }
    await takeScreenshot(tab, "tree-compare-drawn");
  });

  test("compares citations with their sources", async () => {
    const user = await fixture.newUser();
    const hash = await fixture.createChat();
    const chatTab = await user.tab(hash);
    for (const [at, city] of ["Paris", "Rome"].entries()) {
      await sendMessage(chatTab, `What is the weather in ${city}?`);
      await waitForAnswers(chatTab, at + 1);
    }
    await chatTab.close();
    const tab = await user.tab(`${hash}/tree`);
    await compareAnswers(tab);
    await tab.getByRole("switch", { name: "Show differences" }).check();
    for (const [name, city, number] of [
      ["Side A", "Paris", 1],
      ["Side B", "Rome", 2],
    ] as const) {
      const changes = tab.getByRole("region", { name }).locator(".tree-diff");
      await changes
        .getByRole("img", { name: `Source ${number}: The weather in ${city}` })
        .waitFor();
      expect(await changes.innerText()).not.toContain("[^");
    }
    await takeScreenshot(tab, "tree-compare-references");
  });

  test("compares two selected messages and highlights the differences", async () => {
    const { tab } = await openTree({ colorScheme: "dark" });
    for (const name of [/^You: To the sea/, /^You: To the hills/]) {
      await getCard(tab, name).click();
      await tab.getByRole("button", { name: "Select to compare" }).click();
    }
    await takeScreenshot(tab, "tree-chosen-dark");
    await tab.getByRole("button", { name: "Compare", exact: true }).click();
    await tab.getByRole("switch", { name: "Show differences" }).check();
    const marked = (side: string) =>
      tab.getByRole("region", { name: side }).locator("mark").allInnerTexts();
    await expect.poll(() => marked("Side A")).toEqual(["sea"]);
    await expect.poll(() => marked("Side B")).toEqual(["hills"]);
    await takeScreenshot(tab, "tree-compare-dark");
    await tab.getByRole("button", { name: "Back to tree" }).click();
    await getCard(tab, /selected for comparison as A/).waitFor();
  });

  test("is shown again when a compared message is deleted, and the next selection starts no comparison", async () => {
    const { tab, hash } = await openTree();
    const choose = tab.getByRole("button", { name: "Select to compare" });
    for (const name of [/^You: To the sea/, /^You: To the hills/]) {
      await getCard(tab, name).click();
      await choose.click();
    }
    await tab.getByRole("button", { name: "Compare", exact: true }).click();
    const comparison = tab.getByRole("region", { name: "Comparison" });
    await comparison.waitFor();
    const other = await tab.context().newPage();
    await other.goto(`${tab.url().split("#")[0]}${hash}`);
    await chooseMenuItem(
      getMoreButton(getMessages(other).last()),
      "Delete this and everything after",
    );
    await tab.getByText("One of the two messages no longer exists.").waitFor();
    await comparison.waitFor({ state: "detached" });
    await expect.poll(() => getFocusedCard(tab)).toMatch(/^You: |^demo-agent: /);
    await getCard(tab, /^You: Plan a trip/).click();
    await choose.click();
    await tab.getByRole("button", { name: "Compare", exact: true }).waitFor();
    expect(await comparison.count()).toBe(0);
  });

  test("is shown again with the previous focus when Escape closes a comparison", async () => {
    const { tab } = await openTree();
    const comparison = tab.getByRole("region", { name: "Comparison" });
    await getCard(tab, /^lab\/think-tags/).click();
    const panel = tab.getByRole("complementary", { name: "Selected message" });
    await panel.getByRole("button", { name: "Compare versions" }).press("Enter");
    await comparison.waitFor();
    await expect.poll(() => getFocusedName(tab)).toBe("Back to tree");
    await comparison.getByRole("combobox").first().focus();
    await tab.keyboard.press("Escape");
    await comparison.waitFor({ state: "detached" });
    await getTree(tab).waitFor();
    await panel.waitFor();
    await expect.poll(() => getFocusedName(tab)).toBe("Compare versions");
    await takeScreenshot(tab, "tree-after-compare");

    await panel.getByRole("button", { name: "Compare versions" }).press("Enter");
    await comparison.getByRole("switch", { name: "Show differences" }).focus();
    await tab.keyboard.press("Escape");
    await comparison.waitFor({ state: "detached" });

    // Escape first closes what is open in the comparison, and nothing else.
    await tab.getByRole("button", { name: "Compare", exact: true }).press("Enter");
    await comparison.waitFor();
    await tab.locator(".approvals-button").click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await tray.waitFor();
    await tab.keyboard.press("Escape");
    await tray.waitFor({ state: "detached" });
    expect(await comparison.count()).toBe(1);
    await tab.keyboard.press("Escape");
    await comparison.waitFor({ state: "detached" });
    await expect.poll(() => getFocusedName(tab)).toBe("Compare");
    await tab.keyboard.press("Escape");
    await panel.waitFor();
    await getCard(tab, /selected for comparison/).waitFor();
  });

  test("can be used with the keyboard alone", async () => {
    const { tab } = await openTree();
    await getCard(tab, /^lab\/think-tags/).focus();
    await tab.keyboard.press("ArrowUp");
    await expect.poll(() => getFocusedCard(tab)).toMatch(/^You: To the hills/);
    await tab.keyboard.press("ArrowLeft");
    await expect.poll(() => getFocusedCard(tab)).toMatch(/^You: To the sea/);
    await tab.keyboard.press("Space");
    await getCard(tab, /^You: To the sea .*selected for comparison as A/).waitFor();
    await tab.keyboard.press("Home");
    await expect.poll(() => getFocusedCard(tab)).toMatch(/^You: Plan a trip/);
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("ArrowLeft");
    await takeScreenshot(tab, "tree-keys");
    await tab.keyboard.press("Enter");
    await getMessages(tab).filter({ hasText: "To the sea" }).waitFor();
  });

  test("is navigated in the direction of the arrow keys, even on a right-to-left page", async () => {
    const { tab } = await openTree();
    const middle = () =>
      tab.evaluate(() => {
        const { left, top, width, height } = (
          document.activeElement ?? document.body
        ).getBoundingClientRect();
        return { x: left + width / 2, y: top + height / 2 };
      });
    const walk = [
      ["ArrowUp", "y", -1],
      ["ArrowLeft", "x", -1],
      ["ArrowDown", "y", 1],
      ["ArrowRight", "x", 1],
    ] as const;
    for (const direction of ["ltr", "rtl"]) {
      await tab.evaluate((dir) => document.documentElement.setAttribute("dir", dir), direction);
      await getCard(tab, /^lab\/think-tags/).focus();
      for (const [key, axis, sign] of walk) {
        const [from, before] = [await getFocusedCard(tab), await middle()];
        await tab.keyboard.press(key);
        await expect.poll(() => getFocusedCard(tab)).not.toBe(from);
        const after = await middle();
        expect((after[axis] - before[axis]) * sign, `${key} in ${direction}`).toBeGreaterThan(20);
      }
      expect(await getFocusedCard(tab)).toMatch(/^lab\/think-tags/);
      await takeScreenshot(tab, `tree-arrows-${direction}`);
    }
  });

  test("opens with a shortcut, with the focus on the last message that the chat shows", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    await sendMessage(tab, "Hello");
    await waitForAnswers(tab, 1);
    await getAnswers(tab).first().focus();
    await tab.keyboard.press("t");
    await expect.poll(() => getFocusedCard(tab)).toMatch(/^demo-agent: /);
    await tab.keyboard.press("ArrowUp");
    await expect.poll(() => getFocusedCard(tab)).toMatch(/^You: Hello/);
  });

  test("shows new messages and the state of answers live", async () => {
    const { tab, hash } = await openTree();
    const other = await tab.context().newPage();
    await other.goto(`${tab.url().split("#")[0]}${hash}`);
    await sendMessage(other, "slow_count to 30");
    await getCard(tab, /^You: slow_count/).waitFor();
    await getCard(tab, /^demo-agent: .*Answering/).waitFor();
    await takeScreenshot(tab, "tree-live");
    await getStopButton(other).click();
    await getCard(tab, /^demo-agent: .*Stopped/).waitFor();
  });

  test("of a missing chat says so and offers a new chat", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab("#/chats/chat_of_nobody/tree");
    await tab.getByText("Chat not found").waitFor();
    expect(await tab.getByRole("button", { name: "Restore" }).count()).toBe(0);
    await takeScreenshot(tab, "tree-missing");
    await tab.getByRole("main").getByRole("button", { name: "New chat" }).click();
    await tab.getByRole("heading", { name: "What can I help with?" }).waitFor();
  });

  test("fits on a phone", async () => {
    const { tab } = await openTree({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await takeScreenshot(tab, "tree-phone");
    await getCard(tab, /^lab\/think-tags/).tap();
    await tab.getByRole("complementary", { name: "Selected message" }).waitFor();
    await takeScreenshot(tab, "tree-panel-phone");
    const tools = await getBox(tab.getByRole("group", { name: "Tree view" }));
    expect(tools.y + tools.height).toBeLessThanOrEqual((await getBox(getTree(tab))).y);
    await tab.getByRole("button", { name: "Compare versions" }).tap();
    await tab.getByRole("region", { name: "Comparison" }).waitFor();
    await takeScreenshot(tab, "tree-compare-phone");
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  });
});
