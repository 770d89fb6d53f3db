import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { callLine, settled, topInView } from "./in-chat.ts";
import { ask, endedAnswer, focusedIn, goTo, staged, type Person } from "./stage.ts";

/* What can be counted and does not depend on how busy the machine is; `npm run bench:page` has the times. */

const stage = staged({ paceMs: 1 });

describe("what is loaded", () => {
  test("at the start is what index.html names, with at most 200 KB of compressed script", async () => {
    const person = await stage.person();
    const tab = await person.tab();
    await shown(tab);
    const index = await (await fetch(stage.gateway.url)).text();
    const named = [...index.matchAll(/"(?:\.?\/)?(assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(named).toEqual(expect.arrayContaining(loadedBy(person)));
    const scripts = loadedBy(person).filter((path) => path.endsWith(".js"));
    const bytes = await Promise.all(scripts.map(compressed));
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(200_000);
  });

  test("Markdown comes with the first chat, code and mathematics with the first of each", async () => {
    const person = await stage.person();
    const tab = await person.tab();
    await shown(tab);
    const addedBy = async (chat: string) => {
      const before = new Set(loadedBy(person));
      await goTo(tab, chat);
      await shown(tab);
      return () => {
        const now = loadedBy(person).filter((path) => !before.has(path));
        // What two parts of the page need of Markdown is a file of its own.
        return new Set(now.map((path) => /^assets\/(?:growing-)?(\w+?)[-_.]/.exec(path)?.[1]));
      };
    };
    const added = async (content: string) => {
      const messages = [
        { role: "user", content: "Please." },
        { role: "assistant", content },
      ];
      return addedBy(await stage.importChat({ messages }));
    };
    const nothing = new Set();
    await expect.poll(await addedBy(await stage.chat())).toEqual(new Set(["markdown"]));
    expect((await added("Some *words*."))()).toEqual(nothing);
    expect((await added("Other *words* with `code`."))()).toEqual(nothing);
    const forCode = await added("```ts\nconst one = 1;\n```");
    await expect.poll(forCode).toEqual(new Set(["core", "typescript"]));
    expect((await added("```ts\nconst two = 2;\n```"))()).toEqual(nothing);
    await expect.poll(await added("$$x^2$$")).toContain("katex");
  });
});

describe("a chat of 1,000 items", () => {
  test("has the elements of its end alone, also after a walk through it", async () => {
    const person = await stage.person();
    const messages = Array.from({ length: 500 }, (_, nth) => [
      { role: "user", content: `Question ${nth + 1}` },
      { role: "assistant", content: answer(nth + 1) },
    ]).flat();
    const tab = await person.tab(await stage.importChat({ messages }));
    await tab.getByText("This is answer 500.", { exact: true }).waitFor();
    await shown(tab);
    expect(await elementsOf(tab)).toBeLessThan(2000);
    const scroller = tab.getByRole("log");
    for (let step = 0; step < 30; step += 1) {
      await scroller.evaluate((list) => (list.scrollTop -= 1500));
      await twoFrames(tab);
    }
    expect(await elementsOf(tab)).toBeLessThan(2000);
  });
});

describe("an answer of 2,000 calls", () => {
  test.each(["one after the other", "in one go"] as const)(
    "%s, has the elements of its end alone, and a reference goes to the third of them",
    { timeout: 120_000 },
    async (how) => {
      const tab = await (await stage.person()).tab(await stage.importChat(await manyCalls(how)));
      const chip = tab.getByRole("button", { name: /^Source 1/ }).first();
      await chip.waitFor();
      await shown(tab);
      expect(await elementsOf(tab)).toBeLessThan(2000);
      const line = (nth: number) =>
        callLine(tab.locator(".answer"), new RegExp(`^get_weather City ${nth} `));
      await line(2000).waitFor();
      expect(await line(3).count()).toBe(0);
      await chip.click();
      const card = tab.locator('[data-call="call_3"]');
      await expect.poll(() => card.evaluate((one) => one === document.activeElement)).toBe(true);
      await shown(tab);
      await expect.poll(() => card.evaluate(topInView)).toBe(true);
      expect(await line(3).getAttribute("aria-expanded")).toBe("true");
      await expect.poll(() => line(2000).count()).toBe(0);
      // Faster than it is drawn, card by card.
      await line(4).focus();
      for (let presses = 0; presses < 60; presses += 1) await tab.keyboard.press("Tab");
      await expect.poll(() => focusedIn(tab)).toContain("City 64");
      expect(await elementsOf(tab)).toBeLessThan(2000);
      const scroller = tab.getByRole("log");
      // The cards around the focus are there also while somebody looks elsewhere.
      await scroller.evaluate((list) => (list.scrollTop = list.scrollHeight));
      await line(2000).waitFor();
      await settled(tab);
      for (let presses = 0; presses < 40; presses += 1) await tab.keyboard.press("Tab");
      await expect.poll(() => focusedIn(tab)).toContain("City 104");
      for (let step = 0; step < 30; step += 1) {
        await scroller.evaluate((list) => (list.scrollTop += 1500));
        await twoFrames(tab);
      }
      expect(await elementsOf(tab)).toBeLessThan(2500);
      await tab.getByRole("button", { name: /^Jump to the end/ }).click();
      await line(2000).waitFor();
    },
  );
});

describe("an answer of 50 KB", () => {
  test("is drawn by a few components for each of its words, at its end as at its beginning", async () => {
    const person = await stage.person();
    await person.context.addInitScript(countRenders);
    const tab = await person.tab(await stage.chat({ model: "lab/clean" }));
    await shown(tab);
    const before = (await rendersIn(tab)).length;
    await ask(tab, "long markdown 50");
    const ended = await endedAnswer(tab, 45_000);
    expect((await ended.textContent())?.length).toBeGreaterThan(40_000);
    const renders = (await rendersIn(tab)).slice(before);
    expect(renders.length).toBeGreaterThan(10);
    // Ten from the answer down to its text, and the blocks that are new or grow.
    expect(mean(renders)).toBeLessThan(40);
    const third = Math.floor(renders.length / 3);
    expect(mean(renders.slice(-third))).toBeLessThan(2 * mean(renders.slice(0, third)) + 10);
  });
});

function loadedBy({ asked }: Person): string[] {
  return asked
    .map((url) => new URL(url).pathname.slice(1))
    .filter((path) => path.startsWith("assets/") && !path.endsWith(".svg"));
}

async function compressed(path: string): Promise<number> {
  const reply = await fetch(`${stage.gateway.url}/${path}`);
  return gzipSync(await reply.bytes()).length;
}

/** Drawn, and nothing that could have been asked for early has been left out. */
async function shown(tab: Page): Promise<void> {
  await tab.getByRole("textbox", { name: "Message", exact: true }).waitFor();
  await settled(tab);
}

function answer(nth: number): string {
  return `This is answer ${nth}.\n\n- one *item*\n- another\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\nIts **end** is here.`;
}

/** A chat in which a tool was called and is cited, the call as often as that; the third of them is cited. */
async function manyCalls(how: "one after the other" | "in one go"): Promise<object> {
  const hash = await stage.chat();
  const tab = await (await stage.person()).tab(hash);
  await ask(tab, "What is the weather in Paris?");
  await endedAnswer(tab);
  const exported = await fetch(`${stage.gateway.url}/api${hash.slice(1)}/export?format=json`);
  const { chats, ...file } = (await exported.json()) as ChatFile;
  const nodes = chats.flatMap(({ chat }) => Object.values(chat.nodes));
  for (const version of nodes.flatMap(({ kind, versions }) =>
    kind === "answer" ? versions : [],
  )) {
    const { output } = version;
    const ofType = (wanted: string) => output.filter(({ type }) => type === wanted);
    const copies = (item: Item, id: string) =>
      Array.from({ length: 2000 }, (_, at) => ({
        ...item,
        id: `${id}_${at + 1}`,
        call_id: `call_${at + 1}`,
      }));
    const calls = ofType("tool_call").flatMap((call) => copies(call, "item"));
    const cities = calls.map((call, at) => ({ ...call, arguments: `{"city":"City ${at + 1}"}` }));
    const results = ofType("tool_result").flatMap((result) => copies(result, "result"));
    const all =
      how === "in one go"
        ? [...cities, ...results]
        : cities.flatMap((call, at) => [call, ...results.slice(at, at + 1)]);
    version.output = [...all, ...ofType("message")];
    version.references = version.references.map((one) => ({ ...one, item_id: "result_3" }));
  }
  return { ...file, chats: chats.map((one) => ({ ...one, replays: {} })) };
}

interface ChatFile {
  chats: { chat: { nodes: Record<string, { kind: string; versions: Version[] }> } }[];
}

interface Version {
  output: Item[];
  references: object[];
}

interface Item {
  type: string;
}

function elementsOf(tab: Page): Promise<number> {
  return tab.evaluate(() => document.getElementsByTagName("*").length);
}

async function twoFrames(tab: Page): Promise<void> {
  await tab.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
}

/** Of each time that React has put something into the page: how many components it has drawn for it. */
function rendersIn(tab: Page): Promise<number[]> {
  return tab.evaluate(() => (globalThis as unknown as { renders: number[] }).renders);
}

/** React tells tools of every commit, and of what was drawn for it the fibers have a mark. Runs in the page. */
function countRenders(): void {
  const renders: number[] = [];
  const functionTags = new Set([0, 11, 14, 15]);
  const drawn = (fiber: Fiber): number => {
    let count = (fiber.flags & 1) === 1 && functionTags.has(fiber.tag) ? 1 : 0;
    if (fiber.alternate !== null && fiber.alternate.child === fiber.child) return count;
    for (let child = fiber.child; child !== null; child = child.sibling) count += drawn(child);
    return count;
  };
  Object.assign(globalThis, {
    renders,
    __REACT_DEVTOOLS_GLOBAL_HOOK__: {
      supportsFiber: true,
      inject: () => 1,
      onCommitFiberUnmount: () => {},
      onCommitFiberRoot: (_: number, root: { current: Fiber }) => renders.push(drawn(root.current)),
    },
  });
}

interface Fiber {
  tag: number;
  flags: number;
  alternate: Fiber | null;
  child: Fiber | null;
  sibling: Fiber | null;
}

function mean(all: readonly number[]): number {
  return all.reduce((sum, one) => sum + one, 0) / all.length;
}
