import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  openAnsweredChat,
  getAnswers,
  waitForAnswers,
  getComposerInput,
  getMoreButton,
  getStopButton,
} from "./chat-actions.ts";
import {
  navigateTo,
  lastAnswer,
  sendMessage,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

const fixture = setupBrowserFixture({ paceMs: 1 });

/** Characters that are or were shortcuts, and some others. */
const typed = "rest can edit your draft; is /this [one] {two}?";

async function waitForBox(tab: Page, text: string): Promise<void> {
  await expect.poll(() => getComposerInput(tab).inputValue()).toBe(text);
}

interface Effects {
  readonly box: string;
  readonly requests: number;
  readonly nodes: number;
  readonly editors: number;
  readonly dialogs: number;
}

/** Types all characters and counts the side effects. */
async function typeAndCountEffects(tab: Page): Promise<Effects> {
  const nodes = tab.locator("[data-node]");
  const [nodesBefore, requestsBefore] = [await nodes.count(), fixture.requests.length];
  await tab.keyboard.type(typed);
  await waitForBox(tab, typed);
  return {
    box: await getComposerInput(tab).inputValue(),
    requests: fixture.requests.length - requestsBefore,
    nodes: (await nodes.count()) - nodesBefore,
    editors: await tab.getByRole("textbox", { name: "Edit your message" }).count(),
    dialogs: await tab.getByRole("dialog").count(),
  };
}

const onlyTyped: Effects = { box: typed, requests: 0, nodes: 0, editors: 0, dialogs: 0 };

const getChatList = (tab: Page) => tab.getByRole("navigation", { name: "Chats" });

describe("typed text goes to the composer", () => {
  test("after New chat, even if a new chat is already open", async () => {
    const { tab } = await openAnsweredChat(fixture, "Hello");
    const start = getChatList(tab).getByRole("button", { name: "New chat" });
    await start.click();
    await tab.getByRole("heading", { name: "What can I help with?" }).waitFor();
    expect(await typeAndCountEffects(tab)).toEqual(onlyTyped);
    await getComposerInput(tab).fill("");
    await start.click();
    expect(await typeAndCountEffects(tab)).toEqual(onlyTyped);
    await takeScreenshot(tab, "typing-new-chat");
  });

  test("after a chat was opened by mouse and by keyboard", async () => {
    const { tab } = await openAnsweredChat(fixture, "Hello");
    const row = getChatList(tab).getByRole("link", { name: /^Hello/ });
    await navigateTo(tab, "#/");
    await row.click();
    await waitForAnswers(tab, 1);
    expect(await typeAndCountEffects(tab)).toEqual(onlyTyped);
    await getComposerInput(tab).fill("");
    await navigateTo(tab, "#/");
    await row.press("Enter");
    await waitForAnswers(tab, 1);
    expect(await typeAndCountEffects(tab)).toEqual(onlyTyped);
  });

  test("after Stop, by its buttons and by its shortcut", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    const stops = [
      () => getStopButton(tab).click(),
      () => lastAnswer(tab).getByRole("button", { name: "Stop", exact: true }).click(),
      () => tab.keyboard.press("Control+."),
    ];
    for (const [at, stop] of stops.entries()) {
      await sendMessage(tab, "slow_count to 100");
      await expect.poll(() => getAnswers(tab).count()).toBe(at + 1);
      await lastAnswer(tab).getByRole("button", { name: "Stop", exact: true }).waitFor();
      await stop();
      await lastAnswer(tab).getByText("Stopped", { exact: true }).waitFor();
      expect(await typeAndCountEffects(tab)).toEqual(onlyTyped);
      await getComposerInput(tab).fill("");
    }
    await takeScreenshot(tab, "typing-after-stop");
  });

  test("after a click on an answer, on one of its buttons, and outside of everything", async () => {
    const { tab, answer } = await openAnsweredChat(fixture, "Hello");
    const clicks = [
      () => answer.locator("p").first().click(),
      () => answer.getByRole("button", { name: "Copy", exact: true }).click(),
      () => tab.getByRole("main").click({ position: { x: 5, y: 120 } }),
    ];
    for (const click of clicks) {
      await click();
      expect(await typeAndCountEffects(tab)).toEqual(onlyTyped);
      await getComposerInput(tab).fill("");
    }
  });
});

describe("character keys of shortcuts are typed", () => {
  const places: [string, (tab: Page) => Promise<void>][] = [
    ["the text of an answer", (tab) => lastAnswer(tab).locator("p").first().click()],
    ["Copy", (tab) => lastAnswer(tab).getByRole("button", { name: "Copy", exact: true }).click()],
    [
      "a menu that a second click closes",
      async (tab) => {
        await getMoreButton(lastAnswer(tab)).click();
        await tab.getByRole("menu").waitFor();
        await tab.mouse.click(640, 300);
        await tab.getByRole("menu").waitFor({ state: "detached" });
      },
    ],
    [
      "Cancel in the settings",
      async (tab) => {
        await tab.getByRole("main").getByRole("button", { name: "Settings" }).first().click();
        await tab.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
        await tab.getByRole("dialog").waitFor({ state: "detached" });
      },
    ],
  ];

  test.each(places)("after a click on %s", async (_, click) => {
    const { tab } = await openAnsweredChat(fixture, "Hello");
    const address = tab.url();
    for (const words of ["can you explain", "tell me", "jump", "/help?"]) {
      await click(tab);
      const requestCount = fixture.requests.length;
      await tab.keyboard.type(words);
      await waitForBox(tab, words);
      expect(tab.url()).toBe(address);
      expect(fixture.requests.length).toBe(requestCount);
      expect(await tab.getByRole("dialog").count()).toBe(0);
      await getComposerInput(tab).fill("");
    }
  });

  test("and text is pasted there, unless another field has the focus", async () => {
    const { tab } = await openAnsweredChat(fixture, "Hello");
    await getComposerInput(tab).fill("copied words");
    await getComposerInput(tab).press("Control+A");
    await getComposerInput(tab).press("Control+X");
    await waitForBox(tab, "");
    const search = getChatList(tab).locator("input[aria-label]").first();
    await search.click();
    await tab.keyboard.press("Control+V");
    await expect.poll(() => search.inputValue()).toBe("copied words");
    await search.fill("");
    await lastAnswer(tab).locator("p").first().click();
    await tab.keyboard.press("Control+V");
    await waitForBox(tab, "copied words");
    // A button now has the focus, as after the Tab key.
    await lastAnswer(tab).getByRole("button", { name: "Copy", exact: true }).focus();
    await tab.keyboard.press("Control+V");
    await waitForBox(tab, "copied wordscopied words");
    expect(await search.inputValue()).toBe("");
  });

  test("but run commands after Escape was pressed in the composer", async () => {
    const { tab } = await openAnsweredChat(fixture, "Hello");
    await lastAnswer(tab).locator("p").first().click();
    await getComposerInput(tab).click();
    await tab.keyboard.press("Escape");
    await expect.poll(() => getAnswers(tab).locator(":scope:focus").count()).toBe(1);
    await tab.keyboard.press("t");
    await tab.waitForURL(/#\/(chats\/)?.*tree/);
  });
});

describe("text typed while a chat is loading", () => {
  test.each(["mouse", "keyboard"])(
    "is in its composer afterwards if the chat was opened by %s",
    async (by) => {
      const { tab } = await openAnsweredChat(fixture, "Hello");
      const row = getChatList(tab).getByRole("link", { name: /^Hello/ });
      const address = tab.url();
      await navigateTo(tab, "#/");
      await tab.reload();
      await row.waitFor();
      const heldRoutes: Route[] = [];
      const isChat = (url: URL) => address.endsWith(url.pathname.split("/").at(-1) ?? "");
      await tab.route(isChat, (route) => void heldRoutes.push(route));
      if (by === "mouse") await row.click();
      else await row.press("Enter");
      await expect.poll(() => heldRoutes.length).toBeGreaterThan(0);
      await tab.getByText("Opening the chat").waitFor();
      await tab.keyboard.type("can you tell mx");
      await tab.keyboard.press("Backspace");
      await tab.keyboard.type("e");
      for (const route of heldRoutes) await route.continue();
      await waitForBox(tab, "can you tell me");
      await getComposerInput(tab).and(tab.locator(":focus")).waitFor();
      await tab.keyboard.type(" more");
      await waitForBox(tab, "can you tell me more");
      expect(tab.url()).toBe(address);
    },
  );
});

test("while an answer has the focus, letters are typed, and only shortcuts with Control retry and edit", async () => {
  const { tab } = await openAnsweredChat(fixture, "Hello");
  await tab.keyboard.press("Alt+ArrowUp");
  await expect.poll(() => getAnswers(tab).locator(":scope:focus").count()).toBe(1);
  const requestCount = fixture.requests.length;
  for (const key of ["r", "e", "s"]) {
    await tab.keyboard.press(key);
    await waitForBox(tab, key);
    await getComposerInput(tab).fill("");
    await tab.keyboard.press("Escape");
    await expect.poll(() => getAnswers(tab).locator(":scope:focus").count()).toBe(1);
  }
  expect(fixture.requests.length).toBe(requestCount);
  await tab.keyboard.press("Control+Shift+Enter");
  await tab.getByText("2/2").first().waitFor();
  await waitForAnswers(tab, 1);
  await tab.keyboard.press("k");
  await tab.keyboard.press("Control+Shift+E");
  await tab
    .getByRole("textbox", { name: "Edit your message" })
    .and(tab.locator(":focus"))
    .waitFor();
});

test("on a phone, opening a chat does not focus the composer", async () => {
  const hash = await fixture.createChat({ agent: "demo-agent" }, "On the phone");
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  const tab = await (await fixture.newUser(phone)).tab(hash);
  await getComposerInput(tab).waitFor();
  expect(await getComposerInput(tab).evaluate((box) => box === document.activeElement)).toBe(false);
});
