import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { lastAnswer, sendMessage, type BrowserFixture } from "./browser-fixture.ts";

/* Actions of users in a chat, and locators. */

export function getAnswers(tab: Page): Locator {
  return tab.getByRole("article", { name: /^Answer/ });
}

export function getMessages(tab: Page): Locator {
  return tab.getByRole("article", { name: "You" });
}

export function getComposerInput(tab: Page): Locator {
  return tab.getByRole("textbox", { name: "Message", exact: true });
}

/** Returns the stop button of the message form. A running answer has its own. */
export function getStopButton(tab: Page): Locator {
  return tab.getByRole("form", { name: "Message" }).getByRole("button", { name: "Stop" });
}

/** Opens the menu of a button and clicks an item. */
export async function chooseMenuItem(button: Locator, entry: string): Promise<void> {
  await button.click();
  const menu = button.page().getByRole("menu");
  await menu
    .getByRole("menuitem", { name: entry })
    .or(menu.getByRole("menuitemcheckbox", { name: entry }))
    .first()
    .click();
}

/** Expands everything in an element, including nested content. */
export async function expandAll(container: Locator, maxClicks = 50): Promise<void> {
  const collapsed = container.locator(".answer-disclosure-trigger[aria-expanded=false]");
  for (let opened = 0; (await collapsed.count()) > 0; opened += 1) {
    if (opened === maxClicks)
      throw new Error(
        `not expanded after ${maxClicks} clicks: ${await collapsed.last().innerText()}`,
      );
    await collapsed.last().click();
  }
}

export function getMoreButton(node: Locator): Locator {
  return node.getByRole("button", { name: /^Actions for this/ });
}

/** Fills the open editor of a message, submits it, and waits until it is closed. */
export async function sendEdit(message: Locator, text: string, buttonName: string): Promise<void> {
  const field = message.getByRole("textbox", { name: "Edit your message" });
  await field.fill(text);
  await message.getByRole("button", { name: buttonName, exact: true }).click();
  await field.waitFor({ state: "detached" });
}

/** Chooses a model in an open picker by typing a part of its name. */
export async function pickModel(within: Locator, model: string): Promise<void> {
  const field = within.getByRole("combobox");
  await field.fill(model);
  await within.getByRole("option", { name: model }).first().waitFor();
  await field.press("Enter");
  await field.waitFor({ state: "detached" });
}

/** Chooses the model or agent of the chat in the composer. */
export async function chooseResponder(tab: Page, responder: string): Promise<void> {
  const form = tab.getByRole("form", { name: "Message" });
  await form.getByRole("button", { name: /^Answer with/ }).click();
  await tab.getByRole("combobox", { name: "Search models and agents" }).fill(responder);
  await tab
    .getByRole("option", { name: new RegExp(`^${responder}\\b`) })
    .first()
    .click();
  await form.getByRole("button", { name: `Answer with: ${responder}` }).waitFor();
}

/** Waits until there are `count` answers and the last one has ended. Does not rely on buttons, which are hidden on a phone. */
export async function waitForAnswers(tab: Page, count: number): Promise<Locator> {
  await expect.poll(() => getAnswers(tab).count()).toBe(count);
  const last = getAnswers(tab).last();
  await expect.poll(() => last.getAttribute("aria-busy")).toBe(null);
  return last;
}

/** Opens a new chat, sends a message and waits for the answer. */
export async function openAnsweredChat(
  fixture: BrowserFixture,
  text: string,
): Promise<{ tab: Page; answer: Locator }> {
  const tab = await (await fixture.newUser()).tab(await fixture.createChat());
  await sendMessage(tab, text);
  await waitForAnswers(tab, 1);
  return { tab, answer: lastAnswer(tab) };
}

/** Returns the button that expands a tool call. */
export function getCallButton(within: Locator, name: string | RegExp): Locator {
  return within.getByRole("button", { name });
}

/** Waits for a toast with this text and presses its undo button. */
export async function undoByToast(tab: Page, toastText: string): Promise<void> {
  const toasts = tab.getByRole("region", { name: "Notifications" });
  await toasts.getByText(toastText).waitFor();
  await toasts.getByRole("button", { name: "Undo" }).click();
}

/** Runs the action and returns the file that the browser downloads. */
export async function captureDownload(
  tab: Page,
  action: () => Promise<void>,
): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([tab.waitForEvent("download"), action()]);
  const parts: Buffer[] = [];
  for await (const part of await download.createReadStream()) parts.push(part as Buffer);
  return { name: download.suggestedFilename(), text: Buffer.concat(parts).toString() };
}

/** Returns the latest model request that contains a text, except requests for titles. */
export function findModelRequest(requests: BrowserFixture["requests"], text: string): string {
  const bodies = requests.map(({ body }) => JSON.stringify(body ?? null));
  return bodies.findLast((body) => body.includes(text) && !isTitleRequest(body)) ?? "nothing";
}

/** True if a model request asks for the title of a chat. */
export function isTitleRequest(body: string): boolean {
  return body.includes("Write a title for this");
}

/** True if the top of an element is visible in the chat. */
export function isTopInView(element: Element): boolean {
  const { top } = element.getBoundingClientRect();
  const list = element.closest("[role=log]")?.getBoundingClientRect();
  return list !== undefined && top >= list.top && top < list.bottom;
}

export function getThreadList(tab: Page): Locator {
  return tab.getByRole("log", { name: "Conversation" });
}

/** Scrolls a chat by a distance in px and waits until everything in view is mounted. Runs in the page. */
export async function scrollAndWaitForMount(list: Element, px: number): Promise<void> {
  const isVisibleAndEmpty = (element: Element) => {
    const { top: above, bottom: below } = list.getBoundingClientRect();
    const { top, bottom } = element.getBoundingClientRect();
    return element.childElementCount === 0 && bottom > above && top < below;
  };
  list.scrollTop += px;
  // Intersections are reported a frame later, and a busy machine needs more than one frame to render.
  for (let frames = 0; frames < 3;) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    frames = [...list.querySelectorAll(".chat-lazy")].some(isVisibleAndEmpty) ? 0 : frames + 1;
  }
}

/** Waits until the page is idle and its idle work is done. */
export async function waitForIdle(tab: Page): Promise<void> {
  await tab.evaluate(async () => {
    for (let times = 0; times < 10; times += 1) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      await new Promise((resolve) => requestIdleCallback(resolve));
    }
  });
}

/** Returns the highlighted search matches in a chat. */
export function getHighlightedTexts(tab: Page): Promise<string[]> {
  return tab.evaluate(() =>
    [...(CSS.highlights.get("chat-search-match") ?? [])].map((match) => {
      const range = document.createRange();
      range.setStart(match.startContainer, match.startOffset);
      range.setEnd(match.endContainer, match.endOffset);
      return range.toString();
    }),
  );
}

/** Returns the text around the current match if it is in view. */
export function getCurrentMatchLine(tab: Page): Promise<string> {
  return getThreadList(tab).evaluate((list) => {
    const [match] = CSS.highlights.get("chat-search-current") ?? [];
    if (match === undefined) return "no current match";
    const range = document.createRange();
    range.setStart(match.startContainer, match.startOffset);
    range.setEnd(match.endContainer, match.endOffset);
    const [box, view] = [range.getBoundingClientRect(), list.getBoundingClientRect()];
    if (box.top < view.top || box.bottom > view.bottom) return `it is at ${box.top} px`;
    const line = match.startContainer.parentElement?.closest("p, .plain-text, .markdown-heading");
    return line?.textContent?.split("\n").at(-1) ?? "it is in no line";
  });
}
