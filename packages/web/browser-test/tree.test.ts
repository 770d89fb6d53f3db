import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { answers, endedAnswers, messages, moreOf, pick, sendEdited, takeModel } from "./in-chat.ts";
import { focusedIn, say, staged, takePicture, type PersonOptions } from "./stage.ts";

/* The whole conversation as a picture: to see it, to jump, and to compare. */

const stage = staged();

/** A chat with two branches, of which one has an answer in two versions, and its picture. */
async function drawn(options?: PersonOptions): Promise<{ tab: Page; hash: string }> {
  const person = await stage.person(options);
  const hash = await stage.chat();
  const writing = await person.tab(hash);
  await say(writing, "Plan a trip");
  await endedAnswers(writing, 1);
  await say(writing, "To the sea");
  await endedAnswers(writing, 2);
  await edit(writing, "To the hills");
  await endedAnswers(writing, 2);
  await retryWith(writing, "think-tags");
  await endedAnswers(writing, 2);
  await writing.close();
  const tab = await person.tab(`${hash}/tree`);
  await card(tab, /^You: Plan a trip/).waitFor();
  return { tab, hash };
}

async function edit(tab: Page, words: string): Promise<void> {
  const message = messages(tab).last();
  await pick(moreOf(message), "Edit");
  await sendEdited(message, words, "Send");
  await messages(tab).filter({ hasText: words }).waitFor();
}

async function retryWith(tab: Page, model: string): Promise<void> {
  await pick(moreOf(answers(tab).last()), "Retry with another model…");
  const dialog = tab.getByRole("dialog", { name: "Retry with another model" });
  await dialog.getByRole("button", { name: /^Who answers this once/ }).click();
  await takeModel(dialog, model);
  await dialog.getByRole("button", { name: "Retry" }).click();
  await tab.getByRole("article", { name: new RegExp(`^Answer of .*${model}`) }).waitFor();
}

function tree(tab: Page): Locator {
  return tab.getByRole("tree", { name: "Tree of the conversation" });
}

function card(tab: Page, name: RegExp): Locator {
  return tree(tab).getByRole("treeitem", { name });
}

async function boxOf(
  element: Locator,
): Promise<{ x: number; y: number; width: number; height: number }> {
  return (await element.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
}

/** Of a chat of two questions. */
async function compareAnswers(tab: Page): Promise<void> {
  // Those around the focus are drawn before the others.
  await expect.poll(() => tree(tab).getByRole("treeitem").count()).toBe(4);
  for (const at of [1, 3]) {
    await tree(tab).getByRole("treeitem").nth(at).click();
    await tab.getByRole("button", { name: "Choose to compare" }).click();
  }
  await tab.getByRole("button", { name: "Compare", exact: true }).click();
}

/** What the treeitem with the focus is called. */
function focused(tab: Page): Promise<string> {
  return tab.evaluate(() => document.activeElement?.querySelector("title")?.textContent ?? "");
}

describe("the picture of a chat", () => {
  test("has all its branches and versions, and what the chat shows is marked", async () => {
    const { tab } = await drawn();
    await expect.poll(() => tree(tab).getByRole("treeitem").count()).toBe(6);
    await takePicture(tab, "tree");
    await card(tab, /^You: To the sea \(branch 1 of 2\)/).waitFor();
    await card(tab, /^You: To the hills \(branch 2 of 2, shown in the chat\)/).waitFor();
    await card(tab, /^lab\/think-tags: .*\(version 2 of 2, shown in the chat\)/).waitFor();
    await tab.getByText("6 messages, 2 branches").waitFor();
  });

  test("can be seen nearer, from farther away, and as a whole", async () => {
    const { tab } = await drawn();
    const width = async () =>
      (await card(tab, /^You: Plan a trip/).boundingBox())?.width ?? Number.NaN;
    const first = await width();
    await tab.getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(width).toBeGreaterThan(first * 1.2);
    await tab.getByRole("button", { name: "Zoom out" }).click();
    await tab.getByRole("button", { name: "Zoom out" }).click();
    await expect.poll(width).toBeLessThan(first);
    await tab.getByRole("button", { name: "Show all of it" }).click();
    const inSight = async () => {
      const cards = await tree(tab).getByRole("treeitem").all();
      const boxes = await Promise.all(cards.map(boxOf));
      return boxes.filter(({ y, height }) => y > 50 && y + height < 800).length;
    };
    await expect.poll(inSight).toBe(6);
  });

  test("shows a message whole when it is pressed, and leads to it in the chat", async () => {
    const { tab } = await drawn();
    await card(tab, /^You: To the sea/).click();
    const panel = tab.getByRole("complementary", { name: "The chosen message" });
    await panel.getByText("To the sea").waitFor();
    await takePicture(tab, "tree-panel");
    await panel.getByRole("button", { name: "Show in chat" }).click();
    await messages(tab).filter({ hasText: "To the sea" }).waitFor();
    expect(await messages(tab).filter({ hasText: "To the hills" }).count()).toBe(0);
  });

  test("takes a card of which little is to be seen, pressed once or twice", async () => {
    const { tab } = await drawn();
    const first = card(tab, /^You: Plan a trip/);
    const { y: top } = await boxOf(tree(tab));
    /** Pushed up until a few pixels of it are left. */
    const place = async () => {
      await tab.getByRole("button", { name: "Show all of it" }).click();
      await expect.poll(async () => (await boxOf(first)).y).toBeGreaterThan(top);
      const { x, y, width, height } = await boxOf(first);
      await tab.mouse.move(x + width / 2, y);
      await tab.mouse.wheel(0, y + height - top - 14);
      await expect.poll(async () => (await boxOf(first)).y).toBeLessThan(top);
      return { x: x + width / 2, y: top + 6 };
    };
    const once = await place();
    await tab.mouse.click(once.x, once.y);
    const panel = tab.getByRole("complementary", { name: "The chosen message" });
    await panel.getByText("Plan a trip").waitFor();
    await panel.getByRole("button", { name: "Close" }).click();
    const twice = await place();
    await tab.mouse.dblclick(twice.x, twice.y);
    await messages(tab).filter({ hasText: "Plan a trip" }).waitFor();
  });

  test("compares two versions side by side, and one of them is shown from now on", async () => {
    const { tab, hash } = await drawn();
    await card(tab, /^lab\/think-tags/).click();
    await tab.getByRole("button", { name: "Compare versions" }).click();
    const [one, other] = ["Side A", "Side B"].map((name) => tab.getByRole("region", { name }));
    await one?.getByRole("heading", { name: "demo-agent" }).waitFor();
    await other?.getByRole("heading", { name: "lab/think-tags" }).waitFor();
    // Both are drawn as in the chat, and what differs is marked in it.
    for (const side of [one, other]) {
      await side?.getByRole("blockquote").getByText("To the hills").waitFor();
      await side?.locator("strong").getByText("demo").waitFor();
      expect(await side?.locator(".tree-changes").innerText()).not.toMatch(/[*>`]/);
    }
    await one?.locator("mark[title='only in A']").getByText("which tools").waitFor();
    await other?.locator("mark[title='only in B']").getByText("a table").waitFor();
    expect(await one?.locator("mark").filter({ hasText: "I answer by rules" }).count()).toBe(0);
    await takePicture(tab, "tree-compare");
    await tab.getByRole("switch", { name: "Show differences" }).uncheck();
    await takePicture(tab, "tree-compare-whole");
    await one?.getByRole("button", { name: "Show this version" }).click();
    await one?.getByRole("button", { name: "Shown in the chat" }).waitFor();
    await tab.goto(`${tab.url().split("#")[0]}${hash}`);
    await answers(tab).last().getByRole("group", { name: "Version 1 of 2" }).waitFor();
  });

  test("compares code, tables and formulas as they are drawn", async () => {
    const answer = (rows: string, code: string, formula: string) =>
      `# Plan\n\n| a | b |\n|---|---|\n${rows}\n\n\`\`\`js\n${code}\n\`\`\`\n\nThen $${formula}$ holds.`;
    const hash = await stage.importChat([
      { role: "user", content: "Plan" },
      { role: "assistant", content: answer("| 1 | 2 |", "let sum = one;\nprint(sum);", "x^2") },
      { role: "user", content: "Again" },
      { role: "assistant", content: answer("| 1 | 3 |", "let sum = two;\nprint(sum);", "x^3") },
    ]);
    const tab = await (await stage.person()).tab(`${hash}/tree`);
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
    await takePicture(tab, "tree-compare-drawn");
  });

  test("compares what cites with its references, which say what they stand for", async () => {
    const person = await stage.person();
    const hash = await stage.chat();
    const writing = await person.tab(hash);
    for (const [at, city] of ["Paris", "Rome"].entries()) {
      await say(writing, `What is the weather in ${city}?`);
      await endedAnswers(writing, at + 1);
    }
    await writing.close();
    const tab = await person.tab(`${hash}/tree`);
    await compareAnswers(tab);
    await tab.getByRole("switch", { name: "Show differences" }).check();
    for (const [name, city, number] of [
      ["Side A", "Paris", 1],
      ["Side B", "Rome", 2],
    ] as const) {
      const changes = tab.getByRole("region", { name }).locator(".tree-changes");
      await changes
        .getByRole("img", { name: `Source ${number}: The weather in ${city}` })
        .waitFor();
      expect(await changes.innerText()).not.toContain("[^");
    }
    await takePicture(tab, "tree-compare-references");
  });

  test("compares two messages that were chosen, with what differs marked", async () => {
    const { tab } = await drawn({ colorScheme: "dark" });
    for (const name of [/^You: To the sea/, /^You: To the hills/]) {
      await card(tab, name).click();
      await tab.getByRole("button", { name: "Choose to compare" }).click();
    }
    await takePicture(tab, "tree-chosen-dark");
    await tab.getByRole("button", { name: "Compare", exact: true }).click();
    await tab.getByRole("switch", { name: "Show differences" }).check();
    const marked = (side: string) =>
      tab.getByRole("region", { name: side }).locator("mark").allInnerTexts();
    await expect.poll(() => marked("Side A")).toEqual(["sea"]);
    await expect.poll(() => marked("Side B")).toEqual(["hills"]);
    await takePicture(tab, "tree-compare-dark");
    await tab.getByRole("button", { name: "Back to the tree" }).click();
    await card(tab, /chosen for comparison as A/).waitFor();
  });

  test("is there again when somebody deletes what is compared, and the next choice compares nothing by itself", async () => {
    const { tab, hash } = await drawn();
    const choose = tab.getByRole("button", { name: "Choose to compare" });
    for (const name of [/^You: To the sea/, /^You: To the hills/]) {
      await card(tab, name).click();
      await choose.click();
    }
    await tab.getByRole("button", { name: "Compare", exact: true }).click();
    const comparison = tab.getByRole("region", { name: "Comparison" });
    await comparison.waitFor();
    const other = await tab.context().newPage();
    await other.goto(`${tab.url().split("#")[0]}${hash}`);
    await pick(moreOf(messages(other).last()), "Delete with all that follows");
    await tab.getByText("One of the two messages is not there any more.").waitFor();
    await comparison.waitFor({ state: "detached" });
    await expect.poll(() => focused(tab)).toMatch(/^You: |^demo-agent: /);
    await card(tab, /^You: Plan a trip/).click();
    await choose.click();
    await tab.getByRole("button", { name: "Compare", exact: true }).waitFor();
    expect(await comparison.count()).toBe(0);
  });

  test("is there again after a comparison that Escape leaves, with the focus where it was", async () => {
    const { tab } = await drawn();
    const comparison = tab.getByRole("region", { name: "Comparison" });
    await card(tab, /^lab\/think-tags/).click();
    const panel = tab.getByRole("complementary", { name: "The chosen message" });
    await panel.getByRole("button", { name: "Compare versions" }).press("Enter");
    await comparison.waitFor();
    await expect.poll(() => focusedIn(tab)).toBe("Back to the tree");
    await comparison.getByRole("combobox").first().focus();
    await tab.keyboard.press("Escape");
    await comparison.waitFor({ state: "detached" });
    await tree(tab).waitFor();
    await panel.waitFor();
    await expect.poll(() => focusedIn(tab)).toBe("Compare versions");
    await takePicture(tab, "tree-after-compare");

    await panel.getByRole("button", { name: "Compare versions" }).press("Enter");
    await comparison.getByRole("switch", { name: "Show differences" }).focus();
    await tab.keyboard.press("Escape");
    await comparison.waitFor({ state: "detached" });

    // What is open in the comparison goes first, and nothing else with it.
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
    await expect.poll(() => focusedIn(tab)).toBe("Compare");
    await tab.keyboard.press("Escape");
    await panel.waitFor();
    await card(tab, /chosen for comparison/).waitFor();
  });

  test("is walked through by keys alone", async () => {
    const { tab } = await drawn();
    await card(tab, /^lab\/think-tags/).focus();
    await tab.keyboard.press("ArrowUp");
    await expect.poll(() => focused(tab)).toMatch(/^You: To the hills/);
    await tab.keyboard.press("ArrowLeft");
    await expect.poll(() => focused(tab)).toMatch(/^You: To the sea/);
    await tab.keyboard.press("Space");
    await card(tab, /^You: To the sea .*chosen for comparison as A/).waitFor();
    await tab.keyboard.press("Home");
    await expect.poll(() => focused(tab)).toMatch(/^You: Plan a trip/);
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("ArrowLeft");
    await takePicture(tab, "tree-keys");
    await tab.keyboard.press("Enter");
    await messages(tab).filter({ hasText: "To the sea" }).waitFor();
  });

  test("is walked through in the directions of the arrows, in a page from right to left, too", async () => {
    const { tab } = await drawn();
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
      await card(tab, /^lab\/think-tags/).focus();
      for (const [key, axis, sign] of walk) {
        const [from, before] = [await focused(tab), await middle()];
        await tab.keyboard.press(key);
        await expect.poll(() => focused(tab)).not.toBe(from);
        const after = await middle();
        expect((after[axis] - before[axis]) * sign, `${key} in ${direction}`).toBeGreaterThan(20);
      }
      expect(await focused(tab)).toMatch(/^lab\/think-tags/);
      await takePicture(tab, `tree-arrows-${direction}`);
    }
  });

  test("is opened by a key, and walked through from what the chat shows last", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    await say(tab, "Hello");
    await endedAnswers(tab, 1);
    await answers(tab).first().focus();
    await tab.keyboard.press("t");
    await expect.poll(() => focused(tab)).toMatch(/^demo-agent: /);
    await tab.keyboard.press("ArrowUp");
    await expect.poll(() => focused(tab)).toMatch(/^You: Hello/);
  });

  test("grows while somebody looks on", async () => {
    const { tab, hash } = await drawn();
    const other = await tab.context().newPage();
    await other.goto(`${tab.url().split("#")[0]}${hash}`);
    await say(other, "slow_count to 30");
    await card(tab, /^You: slow_count/).waitFor();
    await card(tab, /^demo-agent: .*Answering/).waitFor();
    await takePicture(tab, "tree-live");
    await other.getByRole("button", { name: "Stop the answer" }).click();
    await card(tab, /^demo-agent: .*Stopped/).waitFor();
  });

  test("of a chat that is not there leads to a new one, as the chat itself does", async () => {
    const person = await stage.person();
    const tab = await person.tab("#/chats/chat_of_nobody/tree");
    await tab.getByText("There is no such chat").waitFor();
    expect(await tab.getByRole("button", { name: "Restore it" }).count()).toBe(0);
    await takePicture(tab, "tree-missing");
    await tab.getByRole("main").getByRole("button", { name: "New chat" }).click();
    await tab.getByRole("heading", { name: "What shall we do?" }).waitFor();
  });

  test("fits a phone", async () => {
    const { tab } = await drawn({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await takePicture(tab, "tree-phone");
    await card(tab, /^lab\/think-tags/).tap();
    await tab.getByRole("complementary", { name: "The chosen message" }).waitFor();
    await takePicture(tab, "tree-panel-phone");
    const tools = await boxOf(tab.getByRole("group", { name: "Tree view" }));
    expect(tools.y + tools.height).toBeLessThanOrEqual((await boxOf(tree(tab))).y);
    await tab.getByRole("button", { name: "Compare versions" }).tap();
    await tab.getByRole("region", { name: "Comparison" }).waitFor();
    await takePicture(tab, "tree-compare-phone");
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  });
});
