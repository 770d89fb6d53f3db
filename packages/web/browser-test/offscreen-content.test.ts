import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createSampleAudio } from "@deltawire/demo";
import {
  getAnswers,
  getThreadList,
  getComposerInput,
  getMessages,
  scrollAndWaitForMount,
} from "./chat-actions.ts";
import { setupBrowserFixture } from "./browser-fixture.ts";

/* Only content near the viewport or in use is mounted. */

const fixture = setupBrowserFixture();
const turns = 300;

/** Creates a chat with answers of many heights, so that the estimates for unmounted ones are wrong. */
function createLongChat(): object {
  const messages = Array.from({ length: turns }, (_, index) => [
    { role: "user", content: `Question ${index + 1}` },
    {
      role: "assistant",
      content: `Answer ${index + 1}.\n\n| a | b |\n| - | - |\n${"| 1 | 2 |\n".repeat(1 + (index % 9))}`,
    },
  ]);
  return { messages: messages.flat() };
}

async function openLongChat(): Promise<Page> {
  const tab = await (await fixture.newUser()).tab(await fixture.importChat(createLongChat()));
  await getAnswer(tab, turns).waitFor();
  return tab;
}

function getAnswer(tab: Page, number: number): Locator {
  return getAnswers(tab).filter({ has: tab.getByText(`Answer ${number}.`, { exact: true }) });
}

function getQuestion(tab: Page, number: number): Locator {
  return getMessages(tab).filter({ has: tab.getByText(`Question ${number}`, { exact: true }) });
}

function isFocused(element: Element): boolean {
  return element === document.activeElement;
}

/** Scrolls in steps and waits after each until the content is mounted. Negative: up. */
async function scrollBy(tab: Page, px: number): Promise<void> {
  for (let scrolled = 0; scrolled < Math.abs(px); scrolled += 1000)
    await getThreadList(tab).evaluate(scrollAndWaitForMount, Math.sign(px) * 1000);
}

/** Selects from the last mounted element up to the first one, and returns the selected text. */
function selectAll(drawn: Locator): Promise<string> {
  return drawn.evaluateAll((all) => {
    const [first, last] = [all[0], all.at(-1)];
    if (first === undefined || last === undefined) throw new Error("nothing is mounted");
    getSelection()?.setBaseAndExtent(last, last.childNodes.length, first, 0);
    return String(getSelection());
  });
}

function getSelectedText(tab: Page): Promise<string> {
  return tab.evaluate(() => String(getSelection()));
}

describe("content outside of the viewport", () => {
  test("stays mounted while it is selected, at any distance, and no longer", async () => {
    const tab = await openLongChat();
    const words = await selectAll(getAnswers(tab));
    expect(words).toContain(`Answer ${turns}.`);
    await scrollBy(tab, -10_000);
    expect(await getSelectedText(tab)).toBe(words);
    await scrollBy(tab, 12_000);
    expect(await getSelectedText(tab)).toBe(words);
    for (let times = 0; times < 8; times += 1) {
      await scrollBy(tab, -3000);
      await selectAll(getAnswers(tab));
    }
    expect(await getSelectedText(tab)).toContain(`Answer ${turns}.`);
    expect(await getAnswers(tab).count()).toBeGreaterThan(50);
    await tab.evaluate(() => getSelection()?.collapse(document.body, 0));
    await expect.poll(() => getAnswers(tab).count()).toBeLessThan(25);
    await expect.poll(() => getAnswer(tab, turns).count()).toBe(0);
  });

  test("stays mounted while it or its neighbor has the focus, and no longer", async () => {
    const tab = await openLongChat();
    const [above, focused, below] = [turns - 6, turns - 5, turns - 4];
    const drawn = async () => {
      const around = [above - 1, above, focused, below, below + 1];
      const counts = await Promise.all(around.map((number) => getQuestion(tab, number).count()));
      return around.filter((_, index) => counts[index] === 1);
    };
    await getQuestion(tab, focused).focus();
    await scrollBy(tab, -10_000);
    await expect.poll(drawn).toEqual([above, focused, below]);
    expect(await getQuestion(tab, focused).evaluate(isFocused)).toBe(true);
    await selectAll(getQuestion(tab, focused));
    await getQuestion(tab, focused).blur();
    await expect.poll(drawn).toEqual([focused]);
    // The siblings of the focused message are mounted, too, although they are far away.
    await getQuestion(tab, focused).evaluate((node: HTMLElement) =>
      node.focus({ preventScroll: true }),
    );
    await expect.poll(drawn).toEqual([above, focused, below]);
    // The focus in the composer also removes the selection.
    await getComposerInput(tab).focus();
    await expect.poll(drawn).toEqual([]);
  });

  test("stays mounted while it plays, and no longer", async () => {
    const tab = await openLongChat();
    const player = getThreadList(tab).locator("audio");
    await getAnswer(tab, turns).evaluate(
      async (last, sound) => {
        const audio = document.createElement("audio");
        audio.src = URL.createObjectURL(new Blob([new Uint8Array(sound)], { type: "audio/wav" }));
        Object.assign(audio, { loop: true, muted: true });
        last.append(audio);
        await audio.play();
      },
      [...createSampleAudio("Good morning")],
    );
    await scrollBy(tab, -10_000);
    expect(await player.evaluate((audio: HTMLAudioElement) => audio.paused)).toBe(false);
    await player.evaluate((audio: HTMLAudioElement) => audio.pause());
    await expect.poll(() => player.count()).toBe(0);
  });

  test("keeps its last height after it is unmounted", async () => {
    const tab = await openLongChat();
    const placeholders = await tab.evaluateHandle(() =>
      [...document.querySelectorAll<HTMLElement>(".chat-lazy .chat-lazy")]
        .filter(({ childElementCount }) => childElementCount > 0)
        .map((room) => ({ room, height: room.getBoundingClientRect().height })),
    );
    await scrollBy(tab, -3000);
    const empty = () =>
      placeholders.evaluate((all) =>
        all
          .filter(({ room }) => room.isConnected && room.childElementCount === 0)
          .map(({ room, height }) => ({ was: height, now: room.getBoundingClientRect().height })),
      );
    await expect.poll(async () => (await empty()).length).toBeGreaterThan(1);
    for (const { was, now } of await empty()) expect(now).toBeCloseTo(was, 1);
  });
});
