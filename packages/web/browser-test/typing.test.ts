import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { answeredIn, answers, endedAnswers, messageBox, moreOf } from "./in-chat.ts";
import { goTo, lastAnswer, say, staged, takePicture } from "./stage.ts";

const stage = staged({ paceMs: 1 });

/** Every character that was once the key of a command, and some more. */
const typed = "rest can edit your draft; is /this [one] {two}?";

async function waitForBox(tab: Page, text: string): Promise<void> {
  await expect.poll(() => messageBox(tab).inputValue()).toBe(text);
}

interface Effects {
  readonly box: string;
  readonly requests: number;
  readonly nodes: number;
  readonly editors: number;
  readonly dialogs: number;
}

/** Types all of it, and returns what that has changed. */
async function effectsOfTyping(tab: Page): Promise<Effects> {
  const nodes = tab.locator("[data-node]");
  const [nodesBefore, requestsBefore] = [await nodes.count(), stage.requests.length];
  await tab.keyboard.type(typed);
  await waitForBox(tab, typed);
  return {
    box: await messageBox(tab).inputValue(),
    requests: stage.requests.length - requestsBefore,
    nodes: (await nodes.count()) - nodesBefore,
    editors: await tab.getByRole("textbox", { name: "Edit your message" }).count(),
    dialogs: await tab.getByRole("dialog").count(),
  };
}

const onlyTyped: Effects = { box: typed, requests: 0, nodes: 0, editors: 0, dialogs: 0 };

const list = (tab: Page) => tab.getByRole("navigation", { name: "Chats" });

describe("what is typed goes into the message", () => {
  test("after New chat, also where a new one is shown already", async () => {
    const { tab } = await answeredIn(stage, "Hello");
    const start = list(tab).getByRole("button", { name: "New chat" });
    await start.click();
    await tab.getByRole("heading", { name: "What shall we do?" }).waitFor();
    expect(await effectsOfTyping(tab)).toEqual(onlyTyped);
    await messageBox(tab).fill("");
    await start.click();
    expect(await effectsOfTyping(tab)).toEqual(onlyTyped);
    await takePicture(tab, "typing-new-chat");
  });

  test("after a chat was opened by the mouse, and by keys", async () => {
    const { tab } = await answeredIn(stage, "Hello");
    const row = list(tab).getByRole("link", { name: /^Hello/ });
    await goTo(tab, "#/");
    await row.click();
    await endedAnswers(tab, 1);
    expect(await effectsOfTyping(tab)).toEqual(onlyTyped);
    await messageBox(tab).fill("");
    await goTo(tab, "#/");
    await row.press("Enter");
    await endedAnswers(tab, 1);
    expect(await effectsOfTyping(tab)).toEqual(onlyTyped);
  });

  test("after Stop, by its buttons and by its key", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    const stops = [
      () => tab.getByRole("button", { name: "Stop the answer" }).click(),
      () => lastAnswer(tab).getByRole("button", { name: "Stop", exact: true }).click(),
      () => tab.keyboard.press("Control+."),
    ];
    for (const [at, stop] of stops.entries()) {
      await say(tab, "slow_count to 100");
      await expect.poll(() => answers(tab).count()).toBe(at + 1);
      await lastAnswer(tab).getByRole("button", { name: "Stop", exact: true }).waitFor();
      await stop();
      await lastAnswer(tab).getByText("Stopped", { exact: true }).waitFor();
      expect(await effectsOfTyping(tab)).toEqual(onlyTyped);
      await messageBox(tab).fill("");
    }
    await takePicture(tab, "typing-after-stop");
  });

  test("after a click on an answer, on one of its buttons, and beside everything", async () => {
    const { tab, answer } = await answeredIn(stage, "Hello");
    const clicks = [
      () => answer.locator("p").first().click(),
      () => answer.getByRole("button", { name: "Copy", exact: true }).click(),
      () => tab.getByRole("main").click({ position: { x: 5, y: 120 } }),
    ];
    for (const click of clicks) {
      await click();
      expect(await effectsOfTyping(tab)).toEqual(onlyTyped);
      await messageBox(tab).fill("");
    }
  });
});

describe("letters that are keys of commands are typed", () => {
  const places: [string, (tab: Page) => Promise<void>][] = [
    ["the text of an answer", (tab) => lastAnswer(tab).locator("p").first().click()],
    ["Copy", (tab) => lastAnswer(tab).getByRole("button", { name: "Copy", exact: true }).click()],
    [
      "a menu that a second click closes",
      async (tab) => {
        await moreOf(lastAnswer(tab)).click();
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
    const { tab } = await answeredIn(stage, "Hello");
    const address = tab.url();
    for (const words of ["can you explain", "tell me", "jump", "/help?"]) {
      await click(tab);
      const asked = stage.requests.length;
      await tab.keyboard.type(words);
      await waitForBox(tab, words);
      expect(tab.url()).toBe(address);
      expect(stage.requests.length).toBe(asked);
      expect(await tab.getByRole("dialog").count()).toBe(0);
      await messageBox(tab).fill("");
    }
  });

  test("and a text is pasted, but not into the composer from another field", async () => {
    const { tab } = await answeredIn(stage, "Hello");
    await messageBox(tab).fill("copied words");
    await messageBox(tab).press("Control+A");
    await messageBox(tab).press("Control+X");
    await waitForBox(tab, "");
    const search = list(tab).locator("input[aria-label]").first();
    await search.click();
    await tab.keyboard.press("Control+V");
    await expect.poll(() => search.inputValue()).toBe("copied words");
    await search.fill("");
    await lastAnswer(tab).locator("p").first().click();
    await tab.keyboard.press("Control+V");
    await waitForBox(tab, "copied words");
    // A button has the focus, as after moving by Tab.
    await lastAnswer(tab).getByRole("button", { name: "Copy", exact: true }).focus();
    await tab.keyboard.press("Control+V");
    await waitForBox(tab, "copied wordscopied words");
    expect(await search.inputValue()).toBe("");
  });

  test("but run commands after Escape in the composer", async () => {
    const { tab } = await answeredIn(stage, "Hello");
    await lastAnswer(tab).locator("p").first().click();
    await messageBox(tab).click();
    await tab.keyboard.press("Escape");
    await expect.poll(() => answers(tab).locator(":scope:focus").count()).toBe(1);
    await tab.keyboard.press("t");
    await tab.waitForURL(/#\/(chats\/)?.*tree/);
  });
});

describe("what is typed while a chat is loading", () => {
  test.each(["mouse", "keyboard"])("is in its composer then, opened by the %s", async (by) => {
    const { tab } = await answeredIn(stage, "Hello");
    const row = list(tab).getByRole("link", { name: /^Hello/ });
    const address = tab.url();
    await goTo(tab, "#/");
    await tab.reload();
    await row.waitFor();
    const held: Route[] = [];
    const isChat = (url: URL) => address.endsWith(url.pathname.split("/").at(-1) ?? "");
    await tab.route(isChat, (route) => void held.push(route));
    if (by === "mouse") await row.click();
    else await row.press("Enter");
    await expect.poll(() => held.length).toBeGreaterThan(0);
    await tab.getByText("Opening the chat").waitFor();
    await tab.keyboard.type("can you tell mx");
    await tab.keyboard.press("Backspace");
    await tab.keyboard.type("e");
    for (const route of held) await route.continue();
    await waitForBox(tab, "can you tell me");
    await messageBox(tab).and(tab.locator(":focus")).waitFor();
    await tab.keyboard.type(" more");
    await waitForBox(tab, "can you tell me more");
    expect(tab.url()).toBe(address);
  });
});

test("a message that is walked to by keys is edited and answered again only with Control", async () => {
  const { tab } = await answeredIn(stage, "Hello");
  await tab.keyboard.press("Alt+ArrowUp");
  await expect.poll(() => answers(tab).locator(":scope:focus").count()).toBe(1);
  const asked = stage.requests.length;
  for (const key of ["r", "e", "s"]) {
    await tab.keyboard.press(key);
    await waitForBox(tab, key);
    await messageBox(tab).fill("");
    await tab.keyboard.press("Escape");
    await expect.poll(() => answers(tab).locator(":scope:focus").count()).toBe(1);
  }
  expect(stage.requests.length).toBe(asked);
  await tab.keyboard.press("Control+Shift+Enter");
  await tab.getByText("2/2").first().waitFor();
  await endedAnswers(tab, 1);
  await tab.keyboard.press("k");
  await tab.keyboard.press("Control+Shift+E");
  await tab
    .getByRole("textbox", { name: "Edit your message" })
    .and(tab.locator(":focus"))
    .waitFor();
});

test("a phone opens a chat without its keyboard", async () => {
  const hash = await stage.chat({ agent: "demo-agent" }, "On the phone");
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  const tab = await (await stage.person(phone)).tab(hash);
  await messageBox(tab).waitFor();
  expect(await messageBox(tab).evaluate((box) => box === document.activeElement)).toBe(false);
});
