import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { pictureFor } from "@deltawire/demo";
import {
  answers,
  downloadedBy,
  endedAnswers,
  isForTitle,
  messageBox,
  messages,
  moreOf,
  pick,
  takeModel,
  toldWith,
  undo,
  sendEdited,
} from "./in-chat.ts";
import { focusedIn, say, staged, takePicture } from "./stage.ts";

/* Another try, other words, another way: versions, branches, and what can be done with what is there. */

const stage = staged();

/** A chat in which somebody has said these, and has got an answer to each. */
async function chatOf(...said: string[]): Promise<Page> {
  const tab = await (await stage.person()).tab(await stage.chat());
  for (const [at, words] of said.entries()) {
    await say(tab, words);
    await endedAnswers(tab, at + 1);
  }
  return tab;
}

function place(node: Locator, of: "Version" | "Branch"): Promise<string | null> {
  return node.getByRole("group", { name: new RegExp(`^${of} \\d`) }).getAttribute("aria-label");
}

function step(node: Locator, name: string): Promise<void> {
  return node.getByRole("button", { name }).click();
}

async function edit(message: Locator, words: string, how: string): Promise<void> {
  await message.hover();
  await message.getByRole("button", { name: "Edit", exact: true }).click();
  await sendEdited(message, words, how);
}

/** How often a model was; it is asked for a title too, at any time. */
function askedToAnswer(): number {
  const bodies = stage.requests.map(({ body }) => JSON.stringify(body ?? null));
  return bodies.filter((body) => !isForTitle(body)).length;
}

/** All that was said on the path, in order. */
function path(tab: Page): Promise<string[]> {
  return tab
    .getByRole("log", { name: "Conversation" })
    .getByRole("article")
    .evaluateAll((all) =>
      all.map((one) => one.querySelector(".chat-bubble, .answer")?.textContent ?? ""),
    );
}

describe("an answer", () => {
  test("is asked for again, and both versions can be seen", async () => {
    const tab = await chatOf("Hello");
    const answer = answers(tab).first();
    await answer.getByRole("button", { name: "Retry" }).click();
    await expect.poll(() => place(answer, "Version")).toBe("Version 2 of 2");
    await endedAnswers(tab, 1);
    expect(await answer.getByRole("button", { name: "Next version" }).isDisabled()).toBe(true);
    await takePicture(tab, "chat-versions");
    await step(answer, "Previous version");
    await expect.poll(() => place(answer, "Version")).toBe("Version 1 of 2");
    await step(answer, "Next version");
    await expect.poll(() => place(answer, "Version")).toBe("Version 2 of 2");
  });

  test("is asked for again from another model", async () => {
    const tab = await chatOf("Hello");
    await pick(moreOf(answers(tab).first()), "Retry with another model…");
    const dialog = tab.getByRole("dialog", { name: "Retry with another model" });
    await dialog.getByRole("button", { name: /^Who answers this once/ }).click();
    await takePicture(tab, "chat-retry-with");
    await takeModel(dialog, "think-tags");
    await dialog.getByRole("button", { name: "Retry" }).click();
    await tab.getByRole("article", { name: "Answer of lab/think-tags" }).waitFor();
    const answer = await endedAnswers(tab, 1);
    await step(answer, "Previous version");
    await tab.getByRole("article", { name: "Answer of demo-agent" }).waitFor();
  });

  test("is changed by hand, and the model is told those words", async () => {
    const tab = await chatOf("Hello");
    const answer = answers(tab).first();
    await answer.hover();
    await answer.getByRole("button", { name: "Edit by hand" }).click();
    const field = answer.getByRole("textbox", { name: "Edit the answer" });
    expect(await field.inputValue()).toContain("> Hello");
    await field.fill("The **sea** is green.");
    await takePicture(tab, "chat-edit-answer");
    await answer.getByRole("button", { name: "Save" }).click();
    await field.waitFor({ state: "detached" });
    await answer.getByText("by hand").waitFor();
    expect(await answer.locator("strong").first().innerText()).toBe("sea");
    expect(await place(answer, "Version")).toBe("Version 2 of 2");
    await say(tab, "And the sky?");
    await endedAnswers(tab, 2);
    expect(toldWith(stage.requests, "the sky")).toContain("The **sea** is green.");
  });
});

describe("a message", () => {
  test("in other words can be a version: what follows it stays, marked as outdated", async () => {
    const tab = await chatOf("Say one", "Say two");
    await edit(messages(tab).first(), "Say three", "Send as version");
    await expect.poll(() => place(messages(tab).first(), "Version")).toBe("Version 2 of 2");
    await expect.poll(async () => (await path(tab))[1]).toContain("Say three");
    await takePicture(tab, "chat-edited");
    const said = await path(tab);
    expect(said).toHaveLength(4);
    expect(said[2]).toBe("Say two");
    const outdated = tab.getByText("Outdated", { exact: true });
    // The message and its answer after that; the first answer is a new one.
    await expect.poll(() => outdated.count()).toBe(2);
    expect(await answers(tab).first().getByText("Outdated", { exact: true }).count()).toBe(0);
    await step(messages(tab).first(), "Previous version");
    await expect.poll(async () => (await path(tab))[1]).toContain("Say one");
    await expect.poll(() => outdated.count()).toBe(0);
    expect(await answers(tab).first().innerText()).not.toContain("answers version");
  });

  test("that is only changed asks nobody, and its answer says which version it is of", async () => {
    const tab = await chatOf("Say one");
    const asked = askedToAnswer();
    await edit(messages(tab).first(), "Say four", "Only change");
    await answers(tab).first().getByText("This answers version 1 of the message.").waitFor();
    await answers(tab).first().getByText("Outdated", { exact: true }).waitFor();
    await takePicture(tab, "chat-answers-another");
    await tab.goto(`${tab.url().replace(/[?].*$/, "")}/tree`);
    await tab.getByRole("treeitem", { name: /outdated: written for another version/ }).waitFor();
    await takePicture(tab, "tree-outdated");
    await tab.goBack();
    expect(askedToAnswer()).toBe(asked);
    await step(answers(tab).first(), "Show it");
    await expect.poll(async () => (await path(tab))[0]).toBe("Say one");
  });

  test("in other words is a branch, and the other one is left as it was", async () => {
    const tab = await chatOf("Say one", "Say two");
    await edit(messages(tab).nth(1), "Say three", "Send");
    await expect.poll(() => place(messages(tab).nth(1), "Branch")).toBe("Branch 2 of 2");
    await endedAnswers(tab, 2);
    expect((await path(tab))[3]).toContain("Say three");
    await takePicture(tab, "chat-branch");
    await step(messages(tab).nth(1), "Previous branch");
    await expect.poll(async () => (await path(tab))[3]).toContain("Say two");
  });

  test("begins a branch behind an answer, or in place of a message", async () => {
    const tab = await chatOf("Say one", "Say two");
    await pick(moreOf(answers(tab).first()), "Branch from here");
    await tab.getByText("Your next message begins a new branch here.").waitFor();
    expect(await messages(tab).count()).toBe(1);
    await takePicture(tab, "chat-branching");
    await tab.getByRole("button", { name: "Cancel" }).click();
    await expect.poll(() => messages(tab).count()).toBe(2);

    await pick(moreOf(messages(tab).nth(1)), "Branch instead of this");
    await say(tab, "Say five");
    await expect.poll(() => place(messages(tab).nth(1), "Branch")).toBe("Branch 2 of 2");
    await endedAnswers(tab, 2);
    expect((await path(tab))[2]).toBe("Say five");

    // It was for that message alone: with the branch gone the next one is at the end again.
    await pick(moreOf(messages(tab).nth(1)), "Delete with all that follows");
    await expect.poll(async () => (await path(tab))[2]).toBe("Say two");
    await say(tab, "Say six");
    await endedAnswers(tab, 3);
    expect((await path(tab))[4]).toBe("Say six");
  });

  test("that is left while it is edited stays as it was", async () => {
    const tab = await chatOf("Say one");
    await messages(tab).first().hover();
    await messages(tab).first().getByRole("button", { name: "Edit", exact: true }).click();
    await expect.poll(() => focusedIn(tab)).toBe("Edit your message");
    await tab.keyboard.type(" and more");
    await takePicture(tab, "chat-edit-message");
    await tab.keyboard.press("Escape");
    await tab.getByRole("textbox", { name: "Edit your message" }).waitFor({ state: "detached" });
    expect((await path(tab))[0]).toBe("Say one");
  });
});

describe("a message that is being edited", () => {
  const editor = (tab: Page) => tab.getByRole("textbox", { name: "Edit your message" });
  const leaveOut = (tab: Page) => tab.getByRole("button", { name: /^Leave out/ });
  const picture = `data:image/png;base64,${pictureFor("the sea").toString("base64")}`;
  const turns = Array.from({ length: 40 }, (_, at) => [
    { role: "user", content: `Question ${at + 1}` },
    { role: "assistant", content: `Answer ${at + 1} goes on. `.repeat(60) },
  ]);
  const longChat = {
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: picture } },
        ],
      },
      ...turns.flat().slice(1),
    ],
  };

  test("leaves the focus where it is when it comes into sight again, and stays as it was left", async () => {
    const tab = await (await stage.person()).tab(await stage.importChat(longChat));
    const log = tab.getByRole("log", { name: "Conversation" });
    const scrollTo = (end: "top" | "bottom") =>
      log.evaluate((list, to) => list.scrollTo(0, to === "top" ? 0 : list.scrollHeight), end);
    const first = messages(tab).filter({ hasText: "What is this?" });
    // What is drawn on the way may be higher than it was guessed.
    const atTop = (there: Locator) => async () => {
      await scrollTo("top");
      return there.count();
    };
    await expect.poll(atTop(first)).toBe(1);
    await first.hover();
    await first.getByRole("button", { name: "Edit", exact: true }).click();
    await expect.poll(() => focusedIn(tab)).toBe("Edit your message");
    await tab.keyboard.type(" And that?");
    await leaveOut(tab).click();
    await scrollTo("bottom");
    await editor(tab).waitFor({ state: "detached" });
    await messageBox(tab).focus();
    await expect.poll(atTop(editor(tab))).toBe(1);
    expect(await focusedIn(tab)).toBe("Message");
    expect(await editor(tab).inputValue()).toBe("What is this? And that?");
    expect(await leaveOut(tab).count()).toBe(0);
  });

  test("is so still after another chat and a reload, until it is sent", async () => {
    const tab = await chatOf("Say one");
    const here = tab.url();
    await messages(tab).first().hover();
    await messages(tab).first().getByRole("button", { name: "Edit", exact: true }).click();
    await expect.poll(() => focusedIn(tab)).toBe("Edit your message");
    await tab.keyboard.type(" and two");
    await tab.goto(here.replace(/#.*/, await stage.chat()));
    await editor(tab).waitFor({ state: "detached" });
    await tab.goto(here);
    await expect.poll(() => editor(tab).inputValue()).toBe("Say one and two");
    await tab.reload();
    await expect.poll(() => editor(tab).inputValue()).toBe("Say one and two");
    await editor(tab).press("Control+Enter");
    await editor(tab).waitFor({ state: "detached" });
    await tab.reload();
    await messages(tab).first().getByText("Say one and two").waitFor();
    expect(await editor(tab).count()).toBe(0);
  });
});

describe("what stands in a chat", () => {
  test("is always told, never told, or bookmarked, and says so", async () => {
    const tab = await chatOf("Say one", "Say two");
    const [first, second] = [messages(tab).first(), answers(tab).first()];
    await pick(moreOf(first), "Always tell the model");
    await first.getByText("Always told").waitFor();
    await pick(moreOf(second), "Never tell the model");
    await second.getByText("Never told").waitFor();
    await pick(moreOf(first), "Bookmark");
    await first.getByText("Bookmarked").waitFor();
    await takePicture(tab, "chat-marks");

    await say(tab, "Say three");
    await endedAnswers(tab, 3);
    const told = toldWith(stage.requests, "Say three");
    expect(told).toContain("Say one");
    expect(told).not.toContain("> Say one");
    expect(told).toContain("> Say two");

    await pick(tab.getByRole("button", { name: "Bookmarks" }), "1. Say one");
    await expect.poll(() => first.evaluate(isInView)).toBe(true);
    await pick(moreOf(first), "Bookmark");
    await tab.getByRole("button", { name: "Bookmarks" }).waitFor({ state: "detached" });
  });

  test("is cut off from the model by a separator, which can be taken out", async () => {
    const tab = await chatOf("Say one");
    await pick(moreOf(answers(tab).first()), "Separator after this");
    await tab.getByText("The model is told nothing from above this line").waitFor();
    await say(tab, "Say two");
    await endedAnswers(tab, 2);
    // Whoever sends something sees what comes of it, whatever was pressed before.
    const jump = tab.getByRole("button", { name: /^Jump to the end/ });
    await expect.poll(() => jump.count()).toBe(0);
    await takePicture(tab, "chat-separator");
    expect(toldWith(stage.requests, "Say two")).not.toContain("Say one");
    await tab.getByRole("button", { name: "Remove the separator" }).click();
    await undo(tab, "Deleted from the chat");
    await tab.getByText("The model is told nothing from above this line").waitFor();
  });

  test("is deleted, alone or with all that follows, and comes back", async () => {
    const tab = await chatOf("Say one", "Say two");
    await pick(moreOf(messages(tab).nth(1)), "Delete with all that follows");
    await expect.poll(() => messages(tab).count()).toBe(1);
    await takePicture(tab, "chat-deleted-message");
    await undo(tab, "Deleted from the chat");
    await expect.poll(() => answers(tab).count()).toBe(2);

    await answers(tab).nth(1).getByRole("button", { name: "Retry" }).click();
    await expect.poll(() => place(answers(tab).nth(1), "Version")).toBe("Version 2 of 2");
    await endedAnswers(tab, 2);
    await pick(moreOf(answers(tab).nth(1)), "Delete this version");
    await answers(tab)
      .nth(1)
      .getByRole("group", { name: /^Version/ })
      .waitFor({ state: "detached" });
    await undo(tab, "Version deleted");
    await answers(tab)
      .nth(1)
      .getByRole("group", { name: /^Version \d of 2/ })
      .waitFor();
  });

  test("becomes a chat of its own", async () => {
    const tab = await chatOf("Say one", "Say two");
    const before = tab.url();
    await pick(moreOf(messages(tab).nth(1)), "New chat from here");
    await expect.poll(() => tab.url()).not.toBe(before);
    await expect.poll(() => messages(tab).count()).toBe(1);
    expect((await path(tab))[0]).toBe("Say two");
  });

  test("is saved as a file by the chat's menu", async () => {
    const tab = await chatOf("Say one");
    for (const { entry, name, has } of [
      { entry: "Export as Markdown", name: /\.md$/, has: "> Say one" },
      { entry: "Export as HTML", name: /\.html$/, has: "<!doctype html>" },
      { entry: "Export as JSON", name: /\.json$/, has: '"nodes"' },
    ]) {
      const menu = tab.getByRole("button", { name: "More for this chat" });
      const saved = await downloadedBy(tab, () => pick(menu, entry));
      expect(saved.name).toMatch(name);
      expect(saved.text.toLowerCase()).toContain(has.toLowerCase());
    }
    await tab
      .getByText(/^Saved as /)
      .first()
      .waitFor();
  });

  test("has a menu that fits a phone, with all that can be done", async () => {
    const person = await stage.person({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    const tab = await person.tab(await stage.chat());
    await say(tab, "Hello");
    await endedAnswers(tab, 1);
    await moreOf(answers(tab).first()).tap();
    await takePicture(tab, "chat-menu-phone");
    await tab.getByRole("menuitem", { name: /^Retry( R)?$/ }).tap();
    await expect.poll(() => place(answers(tab).first(), "Version")).toBe("Version 2 of 2");
  });
});

test.each(["light", "dark"] as const)(
  "a menu that is longer than its place shows in the %s which way there is more",
  async (colorScheme) => {
    const upright = { width: 390, height: 844 };
    const person = await stage.person({
      viewport: { width: 640, height: 360 },
      hasTouch: true,
      isMobile: true,
      colorScheme,
    });
    const tab = await person.tab(await stage.chat());
    await tab.getByRole("button", { name: "More for this chat" }).tap();
    const menu = tab.getByRole("menu");
    await menu.waitFor();
    await takePicture(tab, `chat-menu-more-${colorScheme}`);
    expect(await shaded(menu)).toEqual({ top: false, bottom: true });
    await menu.evaluate((list) => (list.scrollTop = 80));
    await takePicture(tab, `chat-menu-middle-${colorScheme}`);
    expect(await shaded(menu)).toEqual({ top: true, bottom: true });
    await menu.evaluate((list) => (list.scrollTop = list.scrollHeight));
    expect(await shaded(menu)).toEqual({ top: true, bottom: false });
    await tab.setViewportSize(upright);
    await expect.poll(() => shaded(menu)).toEqual({ top: false, bottom: false });
    await takePicture(tab, `chat-menu-all-${colorScheme}`);
  },
);

/** Whether the edges of a menu are darker than its middle, where no entry covers it. */
async function shaded(menu: Locator): Promise<{ top: boolean; bottom: boolean }> {
  const picture = [...(await menu.screenshot({ animations: "disabled" }))];
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
  }, picture);
}

function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
