import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { lastAnswer, say, type Stage } from "./stage.ts";

/* What people do in a chat, and where they look. */

export function answers(tab: Page): Locator {
  return tab.getByRole("article", { name: /^Answer/ });
}

export function messages(tab: Page): Locator {
  return tab.getByRole("article", { name: "You" });
}

export function messageBox(tab: Page): Locator {
  return tab.getByRole("textbox", { name: "Message", exact: true });
}

/** Opens the menu of a button and takes one of its entries. */
export async function pick(button: Locator, entry: string): Promise<void> {
  await button.click();
  const menu = button.page().getByRole("menu");
  await menu
    .getByRole("menuitem", { name: entry })
    .or(menu.getByRole("menuitemcheckbox", { name: entry }))
    .first()
    .click();
}

/** All that is folded in a place, one after the other: in one that was opened there may be more. */
export async function unfoldAll(place: Locator, most = 50): Promise<void> {
  const folded = place.locator(".answer-fold-head[aria-expanded=false]");
  for (let opened = 0; (await folded.count()) > 0; opened += 1) {
    if (opened === most)
      throw new Error(
        `after ${most} clicks a fold does not stay open: ${await folded.last().innerText()}`,
      );
    await folded.last().click();
  }
}

export function moreOf(node: Locator): Locator {
  return node.getByRole("button", { name: /^More for this/ });
}

/** In a message that is being edited; it has these words when this ends, and no field any more. */
export async function sendEdited(message: Locator, words: string, how: string): Promise<void> {
  const field = message.getByRole("textbox", { name: "Edit your message" });
  await field.fill(words);
  await message.getByRole("button", { name: how, exact: true }).click();
  await field.waitFor({ state: "detached" });
}

/** In an open list of models: found by a part of its name, and taken by the keyboard. */
export async function takeModel(within: Locator, model: string): Promise<void> {
  const field = within.getByRole("combobox");
  await field.fill(model);
  await within.getByRole("option", { name: model }).first().waitFor();
  await field.press("Enter");
  await field.waitFor({ state: "detached" });
}

/** Somebody else answers in this chat from now on. */
export async function chooseWho(tab: Page, who: string): Promise<void> {
  const form = tab.getByRole("form", { name: "Message" });
  await form.getByRole("button", { name: /^Answered by/ }).click();
  await tab.getByRole("combobox", { name: "Search models and agents" }).fill(who);
  await tab
    .getByRole("option", { name: new RegExp(`^${who}\\b`) })
    .first()
    .click();
  await form.getByRole("button", { name: `Answered by: ${who}` }).waitFor();
}

/** As many answers as these, the last of which has ended. On a phone it has no button that says so. */
export async function endedAnswers(tab: Page, count: number): Promise<Locator> {
  await expect.poll(() => answers(tab).count()).toBe(count);
  const last = answers(tab).last();
  await expect.poll(() => last.getAttribute("aria-busy")).toBe(null);
  return last;
}

/** A new chat in which these words were said, and answered. */
export async function answeredIn(
  stage: Stage,
  words: string,
): Promise<{ tab: Page; answer: Locator }> {
  const tab = await (await stage.person()).tab(await stage.chat());
  await say(tab, words);
  await endedAnswers(tab, 1);
  return { tab, answer: lastAnswer(tab) };
}

/** The line of a call; it unfolds. */
export function callLine(within: Locator, name: string | RegExp): Locator {
  return within.getByRole("button", { name });
}

/** What is said in the toast, and it undone. */
export async function undo(tab: Page, said: string): Promise<void> {
  const toasts = tab.getByRole("region", { name: "Messages" });
  await toasts.getByText(said).waitFor();
  await toasts.getByRole("button", { name: "Undo" }).click();
}

/** The file that the browser saves. */
export async function downloadedBy(
  tab: Page,
  deed: () => Promise<void>,
): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([tab.waitForEvent("download"), deed()]);
  const parts: Buffer[] = [];
  for await (const part of await download.createReadStream()) parts.push(part as Buffer);
  return { name: download.suggestedFilename(), text: Buffer.concat(parts).toString() };
}

/** All that a model was told when it answered these words; what it is told to name a chat does not count. */
export function toldWith(requests: Stage["requests"], words: string): string {
  const bodies = requests.map(({ body }) => JSON.stringify(body ?? null));
  return bodies.findLast((body) => body.includes(words) && !isForTitle(body)) ?? "nothing";
}

/** Whether a model was asked by this to name a chat. */
export function isForTitle(body: string): boolean {
  return body.includes("Write a title for this");
}

/** Whether the beginning of something in a chat can be seen. */
export function topInView(element: Element): boolean {
  const { top } = element.getBoundingClientRect();
  const list = element.closest("[role=log]")?.getBoundingClientRect();
  return list !== undefined && top >= list.top && top < list.bottom;
}

export function conversation(tab: Page): Locator {
  return tab.getByRole("log", { name: "Conversation" });
}

/** Scrolls a chat by so many px, and waits until all that is in sight then is drawn. Runs in the page. */
export async function scrollDrawn(list: Element, px: number): Promise<void> {
  const isEmptyInSight = (room: Element) => {
    const { top: above, bottom: below } = list.getBoundingClientRect();
    const { top, bottom } = room.getBoundingClientRect();
    return room.childElementCount === 0 && bottom > above && top < below;
  };
  list.scrollTop += px;
  // It takes a frame to learn what has come near, and a busy machine more than one to draw it.
  for (let frames = 0; frames < 3;) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    frames = [...list.querySelectorAll(".chat-lazy")].some(isEmptyInSight) ? 0 : frames + 1;
  }
}

/** When the page has nothing to do any more: what it draws once there is time for it is drawn. */
export async function settled(tab: Page): Promise<void> {
  await tab.evaluate(async () => {
    for (let times = 0; times < 10; times += 1) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      await new Promise((resolve) => requestIdleCallback(resolve));
    }
  });
}

/** What stands out as found in a chat. */
export function markedWords(tab: Page): Promise<string[]> {
  return tab.evaluate(() =>
    [...(CSS.highlights.get("chat-found") ?? [])].map((place) => {
      const range = document.createRange();
      range.setStart(place.startContainer, place.startOffset);
      range.setEnd(place.endContainer, place.endOffset);
      return range.toString();
    }),
  );
}

/** The words around the place that finding has gone to, if it is in sight. */
export function currentLine(tab: Page): Promise<string> {
  return conversation(tab).evaluate((list) => {
    const [place] = CSS.highlights.get("chat-found-now") ?? [];
    if (place === undefined) return "there is no place";
    const range = document.createRange();
    range.setStart(place.startContainer, place.startOffset);
    range.setEnd(place.endContainer, place.endOffset);
    const [box, view] = [range.getBoundingClientRect(), list.getBoundingClientRect()];
    if (box.top < view.top || box.bottom > view.bottom) return `it is at ${box.top} px`;
    const line = place.startContainer.parentElement?.closest("p, .plain-text, .markdown-heading");
    return line?.textContent?.split("\n").at(-1) ?? "it is in no line";
  });
}
