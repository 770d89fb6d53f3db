import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { toneFor } from "@deltawire/demo";
import { answers, conversation, messageBox, messages, scrollDrawn } from "./in-chat.ts";
import { staged } from "./stage.ts";

/* Of a long chat only what is near is drawn, and what somebody uses. */

const stage = staged();
const turns = 300;

/** Answers of many heights, so that no guess of what is not drawn yet is right. */
function longChat(): object {
  const said = Array.from({ length: turns }, (_, at) => [
    { role: "user", content: `Question ${at + 1}` },
    {
      role: "assistant",
      content: `Answer ${at + 1}.\n\n| a | b |\n| - | - |\n${"| 1 | 2 |\n".repeat(1 + (at % 9))}`,
    },
  ]);
  return { messages: said.flat() };
}

async function opened(): Promise<Page> {
  const tab = await (await stage.person()).tab(await stage.importChat(longChat()));
  await answer(tab, turns).waitFor();
  return tab;
}

function answer(tab: Page, number: number): Locator {
  return answers(tab).filter({ has: tab.getByText(`Answer ${number}.`, { exact: true }) });
}

function question(tab: Page, number: number): Locator {
  return messages(tab).filter({ has: tab.getByText(`Question ${number}`, { exact: true }) });
}

function isFocused(element: Element): boolean {
  return element === document.activeElement;
}

/** In steps after each of which what has come near is drawn; up where it is negative. */
async function scrollBy(tab: Page, px: number): Promise<void> {
  for (let gone = 0; gone < Math.abs(px); gone += 1000)
    await conversation(tab).evaluate(scrollDrawn, Math.sign(px) * 1000);
}

/** All of them that are drawn, from the last one up; tells their text. */
function select(drawn: Locator): Promise<string> {
  return drawn.evaluateAll((all) => {
    const [first, last] = [all[0], all.at(-1)];
    if (first === undefined || last === undefined) throw new Error("nothing is drawn");
    getSelection()?.setBaseAndExtent(last, last.childNodes.length, first, 0);
    return String(getSelection());
  });
}

function selected(tab: Page): Promise<string> {
  return tab.evaluate(() => String(getSelection()));
}

describe("what is out of sight", () => {
  test("stays as long as it is selected, however far that goes, and no longer", async () => {
    const tab = await opened();
    const words = await select(answers(tab));
    expect(words).toContain(`Answer ${turns}.`);
    await scrollBy(tab, -10_000);
    expect(await selected(tab)).toBe(words);
    await scrollBy(tab, 12_000);
    expect(await selected(tab)).toBe(words);
    for (let times = 0; times < 8; times += 1) {
      await scrollBy(tab, -3000);
      await select(answers(tab));
    }
    expect(await selected(tab)).toContain(`Answer ${turns}.`);
    expect(await answers(tab).count()).toBeGreaterThan(50);
    await tab.evaluate(() => getSelection()?.collapse(document.body, 0));
    await expect.poll(() => answers(tab).count()).toBeLessThan(25);
    await expect.poll(() => answer(tab, turns).count()).toBe(0);
  });

  test("stays as long as the focus is there or beside it, and no longer", async () => {
    const tab = await opened();
    const [above, focused, below] = [turns - 6, turns - 5, turns - 4];
    const drawn = async () => {
      const around = [above - 1, above, focused, below, below + 1];
      const counts = await Promise.all(around.map((number) => question(tab, number).count()));
      return around.filter((_, at) => counts[at] === 1);
    };
    await question(tab, focused).focus();
    await scrollBy(tab, -10_000);
    await expect.poll(drawn).toEqual([above, focused, below]);
    expect(await question(tab, focused).evaluate(isFocused)).toBe(true);
    await select(question(tab, focused));
    await question(tab, focused).blur();
    await expect.poll(drawn).toEqual([focused]);
    // Those beside it are drawn for it, far away as they are.
    await question(tab, focused).evaluate((node: HTMLElement) =>
      node.focus({ preventScroll: true }),
    );
    await expect.poll(drawn).toEqual([above, focused, below]);
    // Which takes the selection with it.
    await messageBox(tab).focus();
    await expect.poll(drawn).toEqual([]);
  });

  test("stays as long as it plays, and no longer", async () => {
    const tab = await opened();
    const player = conversation(tab).locator("audio");
    await answer(tab, turns).evaluate(
      async (last, sound) => {
        const audio = document.createElement("audio");
        audio.src = URL.createObjectURL(new Blob([new Uint8Array(sound)], { type: "audio/wav" }));
        Object.assign(audio, { loop: true, muted: true });
        last.append(audio);
        await audio.play();
      },
      [...toneFor("Good morning")],
    );
    await scrollBy(tab, -10_000);
    expect(await player.evaluate((audio: HTMLAudioElement) => audio.paused)).toBe(false);
    await player.evaluate((audio: HTMLAudioElement) => audio.pause());
    await expect.poll(() => player.count()).toBe(0);
  });

  test("takes as much room as it did when it was drawn", async () => {
    const tab = await opened();
    const rooms = await tab.evaluateHandle(() =>
      [...document.querySelectorAll<HTMLElement>(".chat-lazy .chat-lazy")]
        .filter(({ childElementCount }) => childElementCount > 0)
        .map((room) => ({ room, height: room.getBoundingClientRect().height })),
    );
    await scrollBy(tab, -3000);
    const empty = () =>
      rooms.evaluate((all) =>
        all
          .filter(({ room }) => room.isConnected && room.childElementCount === 0)
          .map(({ room, height }) => ({ was: height, now: room.getBoundingClientRect().height })),
      );
    await expect.poll(async () => (await empty()).length).toBeGreaterThan(1);
    for (const { was, now } of await empty()) expect(now).toBeCloseTo(was, 1);
  });
});
