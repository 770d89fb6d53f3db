import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createSampleImage } from "@deltawire/demo";
import {
  getAnswers,
  captureDownload,
  waitForAnswers,
  isTitleRequest,
  getComposerInput,
  getMessages,
  getMoreButton,
  chooseMenuItem,
  pickModel,
  findModelRequest,
  undoByToast,
  sendEdit,
} from "./chat-actions.ts";
import {
  getFocusedName,
  sendMessage,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

/* Versions and branches, and actions on messages and answers. */

const fixture = setupBrowserFixture();

/** Opens a chat with these messages and an answer to each. */
async function openChatWith(...messages: string[]): Promise<Page> {
  const tab = await (await fixture.newUser()).tab(await fixture.createChat());
  for (const [at, words] of messages.entries()) {
    await sendMessage(tab, words);
    await waitForAnswers(tab, at + 1);
  }
  return tab;
}

function getSwitcherText(node: Locator, of: "Version" | "Branch"): Promise<string | null> {
  return node.getByRole("group", { name: new RegExp(`^${of} \\d`) }).getAttribute("aria-label");
}

function clickSwitcher(node: Locator, name: string): Promise<void> {
  return node.getByRole("button", { name }).click();
}

async function edit(message: Locator, words: string, how: string): Promise<void> {
  await message.hover();
  await message.getByRole("button", { name: "Edit", exact: true }).click();
  await sendEdit(message, words, how);
}

/** Counts model requests, except those for titles, which may come at any time. */
function countAnswerRequests(): number {
  const bodies = fixture.requests.map(({ body }) => JSON.stringify(body ?? null));
  return bodies.filter((body) => !isTitleRequest(body)).length;
}

/** Returns the texts on the shown path in order. */
function getPathTexts(tab: Page): Promise<string[]> {
  return tab
    .getByRole("log", { name: "Conversation" })
    .getByRole("article")
    .evaluateAll((all) =>
      all.map((one) => one.querySelector(".chat-bubble, .answer")?.textContent ?? ""),
    );
}

describe("an answer", () => {
  test("can be retried, and both versions can be shown", async () => {
    const tab = await openChatWith("Hello");
    const answer = getAnswers(tab).first();
    await answer.getByRole("button", { name: "Retry" }).click();
    await expect.poll(() => getSwitcherText(answer, "Version")).toBe("Version 2 of 2");
    await waitForAnswers(tab, 1);
    expect(await answer.getByRole("button", { name: "Next version" }).isDisabled()).toBe(true);
    await takeScreenshot(tab, "chat-versions");
    await clickSwitcher(answer, "Previous version");
    await expect.poll(() => getSwitcherText(answer, "Version")).toBe("Version 1 of 2");
    await clickSwitcher(answer, "Next version");
    await expect.poll(() => getSwitcherText(answer, "Version")).toBe("Version 2 of 2");
  });

  test("can be retried with another model", async () => {
    const tab = await openChatWith("Hello");
    await chooseMenuItem(getMoreButton(getAnswers(tab).first()), "Retry with another model…");
    const dialog = tab.getByRole("dialog", { name: "Retry with another model" });
    await dialog.getByRole("button", { name: /^Answer with/ }).click();
    await takeScreenshot(tab, "chat-retry-with");
    await pickModel(dialog, "think-tags");
    await dialog.getByRole("button", { name: "Retry" }).click();
    await tab.getByRole("article", { name: "Answer from lab/think-tags" }).waitFor();
    const answer = await waitForAnswers(tab, 1);
    await clickSwitcher(answer, "Previous version");
    await tab.getByRole("article", { name: "Answer from demo-agent" }).waitFor();
  });

  test("can be edited, and the model gets the edited text", async () => {
    const tab = await openChatWith("Hello");
    const answer = getAnswers(tab).first();
    await answer.hover();
    await answer.getByRole("button", { name: "Edit answer" }).click();
    const field = answer.getByRole("textbox", { name: "Edit the answer" });
    expect(await field.inputValue()).toContain("> Hello");
    await field.fill("The **sea** is green.");
    await takeScreenshot(tab, "chat-edit-answer");
    await answer.getByRole("button", { name: "Save" }).click();
    await field.waitFor({ state: "detached" });
    await answer.getByText("edited or imported").waitFor();
    expect(await answer.locator("strong").first().innerText()).toBe("sea");
    expect(await getSwitcherText(answer, "Version")).toBe("Version 2 of 2");
    await sendMessage(tab, "And the sky?");
    await waitForAnswers(tab, 2);
    expect(findModelRequest(fixture.requests, "the sky")).toContain("The **sea** is green.");
  });
});

describe("a message", () => {
  test("can be edited as a version: later messages stay, marked as outdated", async () => {
    const tab = await openChatWith("Say one", "Say two");
    await edit(getMessages(tab).first(), "Say three", "Send as new version");
    await expect
      .poll(() => getSwitcherText(getMessages(tab).first(), "Version"))
      .toBe("Version 2 of 2");
    await expect.poll(async () => (await getPathTexts(tab))[1]).toContain("Say three");
    await takeScreenshot(tab, "chat-edited");
    const texts = await getPathTexts(tab);
    expect(texts).toHaveLength(4);
    expect(texts[2]).toBe("Say two");
    const outdated = tab.getByText("Outdated", { exact: true });
    // The following message and its answer are outdated, and the first answer is new.
    await expect.poll(() => outdated.count()).toBe(2);
    expect(await getAnswers(tab).first().getByText("Outdated", { exact: true }).count()).toBe(0);
    await clickSwitcher(getMessages(tab).first(), "Previous version");
    await expect.poll(async () => (await getPathTexts(tab))[1]).toContain("Say one");
    await expect.poll(() => outdated.count()).toBe(0);
    expect(await getAnswers(tab).first().innerText()).not.toContain("answers version");
  });

  test("that is saved without sending calls no model, and its answer shows to which version it belongs", async () => {
    const tab = await openChatWith("Say one");
    const requestCount = countAnswerRequests();
    await edit(getMessages(tab).first(), "Say four", "Save without sending");
    await getAnswers(tab).first().getByText("This answers version 1 of the message.").waitFor();
    await getAnswers(tab).first().getByText("Outdated", { exact: true }).waitFor();
    await takeScreenshot(tab, "chat-answers-another");
    await tab.goto(`${tab.url().replace(/[?].*$/, "")}/tree`);
    await tab.getByRole("treeitem", { name: /outdated: based on another version/ }).waitFor();
    await takeScreenshot(tab, "tree-outdated");
    await tab.goBack();
    expect(countAnswerRequests()).toBe(requestCount);
    await clickSwitcher(getAnswers(tab).first(), "Show it");
    await expect.poll(async () => (await getPathTexts(tab))[0]).toBe("Say one");
  });

  test("can be edited as a branch, and the other branch stays unchanged", async () => {
    const tab = await openChatWith("Say one", "Say two");
    await edit(getMessages(tab).nth(1), "Say three", "Send");
    await expect
      .poll(() => getSwitcherText(getMessages(tab).nth(1), "Branch"))
      .toBe("Branch 2 of 2");
    await waitForAnswers(tab, 2);
    expect((await getPathTexts(tab))[3]).toContain("Say three");
    await takeScreenshot(tab, "chat-branch");
    await clickSwitcher(getMessages(tab).nth(1), "Previous branch");
    await expect.poll(async () => (await getPathTexts(tab))[3]).toContain("Say two");
  });

  test("can start a branch after an answer, or in place of a message", async () => {
    const tab = await openChatWith("Say one", "Say two");
    await chooseMenuItem(getMoreButton(getAnswers(tab).first()), "Branch from here");
    await tab.getByText("Your next message starts a new branch here.").waitFor();
    expect(await getMessages(tab).count()).toBe(1);
    await takeScreenshot(tab, "chat-branching");
    await tab.getByRole("button", { name: "Cancel" }).click();
    await expect.poll(() => getMessages(tab).count()).toBe(2);

    await chooseMenuItem(getMoreButton(getMessages(tab).nth(1)), "Branch before this");
    await sendMessage(tab, "Say five");
    await expect
      .poll(() => getSwitcherText(getMessages(tab).nth(1), "Branch"))
      .toBe("Branch 2 of 2");
    await waitForAnswers(tab, 2);
    expect((await getPathTexts(tab))[2]).toBe("Say five");

    // Without the branch, the next message is at the end again.
    await chooseMenuItem(
      getMoreButton(getMessages(tab).nth(1)),
      "Delete this and everything after",
    );
    await expect.poll(async () => (await getPathTexts(tab))[2]).toBe("Say two");
    await sendMessage(tab, "Say six");
    await waitForAnswers(tab, 3);
    expect((await getPathTexts(tab))[4]).toBe("Say six");
  });

  test("stays unchanged if its editor is closed", async () => {
    const tab = await openChatWith("Say one");
    await getMessages(tab).first().hover();
    await getMessages(tab).first().getByRole("button", { name: "Edit", exact: true }).click();
    await expect.poll(() => getFocusedName(tab)).toBe("Edit your message");
    await tab.keyboard.type(" and more");
    await takeScreenshot(tab, "chat-edit-message");
    await tab.keyboard.press("Escape");
    await tab.getByRole("textbox", { name: "Edit your message" }).waitFor({ state: "detached" });
    expect((await getPathTexts(tab))[0]).toBe("Say one");
  });
});

describe("an open message editor", () => {
  const editor = (tab: Page) => tab.getByRole("textbox", { name: "Edit your message" });
  const removeButton = (tab: Page) => tab.getByRole("button", { name: /^Remove/ });
  const imageData = `data:image/png;base64,${createSampleImage("the sea").toString("base64")}`;
  const turns = Array.from({ length: 40 }, (_, index) => [
    { role: "user", content: `Question ${index + 1}` },
    { role: "assistant", content: `Answer ${index + 1} goes on. `.repeat(60) },
  ]);
  const longChat = {
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: imageData } },
        ],
      },
      ...turns.flat().slice(1),
    ],
  };

  test("does not take the focus when it is scrolled back into view, and keeps its text", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.importChat(longChat));
    const log = tab.getByRole("log", { name: "Conversation" });
    const scrollTo = (end: "top" | "bottom") =>
      log.evaluate((list, to) => list.scrollTo(0, to === "top" ? 0 : list.scrollHeight), end);
    const first = getMessages(tab).filter({ hasText: "What is this?" });
    // The heights of elements that are mounted on the way may differ from the estimates.
    const atTop = (there: Locator) => async () => {
      await scrollTo("top");
      return there.count();
    };
    await expect.poll(atTop(first)).toBe(1);
    await first.hover();
    await first.getByRole("button", { name: "Edit", exact: true }).click();
    await expect.poll(() => getFocusedName(tab)).toBe("Edit your message");
    await tab.keyboard.type(" And that?");
    await removeButton(tab).click();
    await scrollTo("bottom");
    await editor(tab).waitFor({ state: "detached" });
    await getComposerInput(tab).focus();
    await expect.poll(atTop(editor(tab))).toBe(1);
    expect(await getFocusedName(tab)).toBe("Message");
    expect(await editor(tab).inputValue()).toBe("What is this? And that?");
    expect(await removeButton(tab).count()).toBe(0);
  });

  test("is restored after a visit to another chat and a reload, until it is sent", async () => {
    const tab = await openChatWith("Say one");
    const here = tab.url();
    await getMessages(tab).first().hover();
    await getMessages(tab).first().getByRole("button", { name: "Edit", exact: true }).click();
    await expect.poll(() => getFocusedName(tab)).toBe("Edit your message");
    await tab.keyboard.type(" and two");
    await tab.goto(here.replace(/#.*/, await fixture.createChat()));
    await editor(tab).waitFor({ state: "detached" });
    await tab.goto(here);
    await expect.poll(() => editor(tab).inputValue()).toBe("Say one and two");
    await tab.reload();
    await expect.poll(() => editor(tab).inputValue()).toBe("Say one and two");
    await editor(tab).press("Control+Enter");
    await editor(tab).waitFor({ state: "detached" });
    await tab.reload();
    await getMessages(tab).first().getByText("Say one and two").waitFor();
    expect(await editor(tab).count()).toBe(0);
  });
});

describe("a node of a chat", () => {
  test("shows whether it is always included, excluded from context, or bookmarked", async () => {
    const tab = await openChatWith("Say one", "Say two");
    const [first, second] = [getMessages(tab).first(), getAnswers(tab).first()];
    await chooseMenuItem(getMoreButton(first), "Always include");
    await first.getByText("Always included").waitFor();
    await chooseMenuItem(getMoreButton(second), "Exclude from context");
    await second.getByText("Excluded from context").waitFor();
    await chooseMenuItem(getMoreButton(first), "Bookmark");
    await first.getByText("Bookmarked").waitFor();
    await takeScreenshot(tab, "chat-marks");

    await sendMessage(tab, "Say three");
    await waitForAnswers(tab, 3);
    const request = findModelRequest(fixture.requests, "Say three");
    expect(request).toContain("Say one");
    expect(request).not.toContain("> Say one");
    expect(request).toContain("> Say two");

    await chooseMenuItem(tab.getByRole("button", { name: "Bookmarks" }), "1. Say one");
    await expect.poll(() => first.evaluate(isInView)).toBe(true);
    await chooseMenuItem(getMoreButton(first), "Bookmark");
    await tab.getByRole("button", { name: "Bookmarks" }).waitFor({ state: "detached" });
  });

  test("starts a fresh context, which can be undone", async () => {
    const tab = await openChatWith("Say one");
    await chooseMenuItem(getMoreButton(getAnswers(tab).first()), "Start fresh context here");
    await tab.getByText("Messages above this line are not sent to the model").waitFor();
    await sendMessage(tab, "Say two");
    await waitForAnswers(tab, 2);
    // Sending a message scrolls to its answer.
    const jump = tab.getByRole("button", { name: /^Jump to the end/ });
    await expect.poll(() => jump.count()).toBe(0);
    await takeScreenshot(tab, "chat-separator");
    expect(findModelRequest(fixture.requests, "Say two")).not.toContain("Say one");
    await tab.getByRole("button", { name: "Include messages above" }).click();
    await undoByToast(tab, "Deleted from the chat");
    await tab.getByText("Messages above this line are not sent to the model").waitFor();
  });

  test("can be deleted alone or with everything after it, and restored", async () => {
    const tab = await openChatWith("Say one", "Say two");
    await chooseMenuItem(
      getMoreButton(getMessages(tab).nth(1)),
      "Delete this and everything after",
    );
    await expect.poll(() => getMessages(tab).count()).toBe(1);
    await takeScreenshot(tab, "chat-deleted-message");
    await undoByToast(tab, "Deleted from the chat");
    await expect.poll(() => getAnswers(tab).count()).toBe(2);

    await getAnswers(tab).nth(1).getByRole("button", { name: "Retry" }).click();
    await expect
      .poll(() => getSwitcherText(getAnswers(tab).nth(1), "Version"))
      .toBe("Version 2 of 2");
    await waitForAnswers(tab, 2);
    await chooseMenuItem(getMoreButton(getAnswers(tab).nth(1)), "Delete this version");
    await getAnswers(tab)
      .nth(1)
      .getByRole("group", { name: /^Version/ })
      .waitFor({ state: "detached" });
    await undoByToast(tab, "Version deleted");
    await getAnswers(tab)
      .nth(1)
      .getByRole("group", { name: /^Version \d of 2/ })
      .waitFor();
  });

  test("can be extracted to a new chat", async () => {
    const tab = await openChatWith("Say one", "Say two");
    const before = tab.url();
    await chooseMenuItem(getMoreButton(getMessages(tab).nth(1)), "New chat from here");
    await expect.poll(() => tab.url()).not.toBe(before);
    await expect.poll(() => getMessages(tab).count()).toBe(1);
    expect((await getPathTexts(tab))[0]).toBe("Say two");
  });

  test("can be downloaded from the chat's menu", async () => {
    const tab = await openChatWith("Say one");
    for (const { entry, name, has } of [
      { entry: "Export as Markdown", name: /\.md$/, has: "> Say one" },
      { entry: "Export as HTML", name: /\.html$/, has: "<!doctype html>" },
      { entry: "Export as JSON", name: /\.json$/, has: '"nodes"' },
    ]) {
      const menu = tab.getByRole("button", { name: "Actions for this chat" });
      const saved = await captureDownload(tab, () => chooseMenuItem(menu, entry));
      expect(saved.name).toMatch(name);
      expect(saved.text.toLowerCase()).toContain(has.toLowerCase());
    }
    await tab
      .getByText(/^Saved as /)
      .first()
      .waitFor();
  });

  test("has a menu with all actions that fits on a phone", async () => {
    const user = await fixture.newUser({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    const tab = await user.tab(await fixture.createChat());
    await sendMessage(tab, "Hello");
    await waitForAnswers(tab, 1);
    await getMoreButton(getAnswers(tab).first()).tap();
    await takeScreenshot(tab, "chat-menu-phone");
    await tab.getByRole("menuitem", { name: /^Retry( R)?$/ }).tap();
    await expect
      .poll(() => getSwitcherText(getAnswers(tab).first(), "Version"))
      .toBe("Version 2 of 2");
  });
});

test.each(["light", "dark"] as const)(
  "a menu that is too long is shaded where it can be scrolled, in the %s theme",
  async (colorScheme) => {
    const upright = { width: 390, height: 844 };
    const user = await fixture.newUser({
      viewport: { width: 640, height: 360 },
      hasTouch: true,
      isMobile: true,
      colorScheme,
    });
    const tab = await user.tab(await fixture.createChat());
    await tab.getByRole("button", { name: "Actions for this chat" }).tap();
    const menu = tab.getByRole("menu");
    await menu.waitFor();
    await takeScreenshot(tab, `chat-menu-more-${colorScheme}`);
    expect(await getMenuShadows(menu)).toEqual({ top: false, bottom: true });
    await menu.evaluate((list) => (list.scrollTop = 80));
    await takeScreenshot(tab, `chat-menu-middle-${colorScheme}`);
    expect(await getMenuShadows(menu)).toEqual({ top: true, bottom: true });
    await menu.evaluate((list) => (list.scrollTop = list.scrollHeight));
    expect(await getMenuShadows(menu)).toEqual({ top: true, bottom: false });
    await tab.setViewportSize(upright);
    await expect.poll(() => getMenuShadows(menu)).toEqual({ top: false, bottom: false });
    await takeScreenshot(tab, `chat-menu-all-${colorScheme}`);
  },
);

/** Measures whether the edges of a menu are darker than its middle. */
async function getMenuShadows(menu: Locator): Promise<{ top: boolean; bottom: boolean }> {
  const imageData = [...(await menu.screenshot({ animations: "disabled" }))];
  return menu.evaluate(async (_, bytes) => {
    const bitmap = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
    const { width, height } = bitmap;
    const canvas = new OffscreenCanvas(width, height).getContext("2d");
    canvas?.drawImage(bitmap, 0, 0);
    const lightAt = (y: number) => {
      const [red = 0, green = 0, blue = 0] = canvas?.getImageData(3, y, 1, 1).data ?? [];
      return red + green + blue;
    };
    const middle = lightAt(Math.round(height / 2));
    const isDarker = (y: number) => middle - lightAt(y) > 10;
    return { top: isDarker(14), bottom: isDarker(height - 15) };
  }, imageData);
}

function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
