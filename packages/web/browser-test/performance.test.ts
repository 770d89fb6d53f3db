import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { getCallButton, waitForIdle, isTopInView } from "./chat-actions.ts";
import {
  sendAndWaitForAnswer,
  waitForAnswerEnd,
  getFocusedName,
  navigateTo,
  setupBrowserFixture,
  type BrowserUser,
} from "./browser-fixture.ts";

/* Checks counts, which do not depend on the load of the machine. `npm run bench:page` measures times. */

const fixture = setupBrowserFixture({ paceMs: 1 });

describe("loading", () => {
  test("the start page loads only what index.html names, with at most 200 KB of compressed script", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab();
    await waitUntilShown(tab);
    const index = await (await fetch(fixture.gateway.url)).text();
    const named = [...index.matchAll(/"(?:\.?\/)?(assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(named).toEqual(expect.arrayContaining(listLoadedScripts(user)));
    const scripts = listLoadedScripts(user).filter((path) => path.endsWith(".js"));
    const bytes = await Promise.all(scripts.map(getCompressedSize));
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(200_000);
  });

  test("Markdown loads with the first chat, code and formulas when first needed", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab();
    await waitUntilShown(tab);
    const addedBy = async (chat: string) => {
      const before = new Set(listLoadedScripts(user));
      await navigateTo(tab, chat);
      await waitUntilShown(tab);
      return () => {
        const now = listLoadedScripts(user).filter((path) => !before.has(path));
        // Markdown code that two chunks use is in a separate file.
        return new Set(now.map((path) => /^assets\/(?:growing-)?(\w+?)[-_.]/.exec(path)?.[1]));
      };
    };
    const added = async (content: string) => {
      const messages = [
        { role: "user", content: "Please." },
        { role: "assistant", content },
      ];
      return addedBy(await fixture.importChat({ messages }));
    };
    const nothing = new Set();
    await expect.poll(await addedBy(await fixture.createChat())).toEqual(new Set(["markdown"]));
    expect((await added("Some *words*."))()).toEqual(nothing);
    expect((await added("Other *words* with `code`."))()).toEqual(nothing);
    const forCode = await added("```ts\nconst one = 1;\n```");
    await expect.poll(forCode).toEqual(new Set(["core", "typescript"]));
    expect((await added("```ts\nconst two = 2;\n```"))()).toEqual(nothing);
    await expect.poll(await added("$$x^2$$")).toContain("katex");
  });
});

describe("a chat of 1,000 messages", () => {
  test("has only the elements near the viewport, even after scrolling through it", async () => {
    const user = await fixture.newUser();
    const messages = Array.from({ length: 500 }, (_, nth) => [
      { role: "user", content: `Question ${nth + 1}` },
      { role: "assistant", content: createAnswerText(nth + 1) },
    ]).flat();
    const tab = await user.tab(await fixture.importChat({ messages }));
    await tab.getByText("This is answer 500.", { exact: true }).waitFor();
    await waitUntilShown(tab);
    expect(await countElements(tab)).toBeLessThan(2000);
    const scroller = tab.getByRole("log");
    for (let step = 0; step < 30; step += 1) {
      await scroller.evaluate((list) => (list.scrollTop -= 1500));
      await waitForTwoFrames(tab);
    }
    expect(await countElements(tab)).toBeLessThan(2000);
  });
});

describe("an answer with 2,000 calls", () => {
  test.each(["one after the other", "in one go"] as const)(
    "%s has only the elements near the viewport, and a reference leads to the third call",
    { timeout: 120_000 },
    async (order) => {
      const tab = await (
        await fixture.newUser()
      ).tab(await fixture.importChat(await createManyCallsFile(order)));
      const chip = tab.getByRole("button", { name: /^Source 1/ }).first();
      await chip.waitFor();
      await waitUntilShown(tab);
      expect(await countElements(tab)).toBeLessThan(2000);
      const line = (nth: number) =>
        getCallButton(tab.locator(".answer"), new RegExp(`^get_weather City ${nth} `));
      await line(2000).waitFor();
      expect(await line(3).count()).toBe(0);
      await chip.click();
      const card = tab.locator('[data-call="call_3"]');
      await expect.poll(() => card.evaluate((one) => one === document.activeElement)).toBe(true);
      await waitUntilShown(tab);
      await expect.poll(() => card.evaluate(isTopInView)).toBe(true);
      expect(await line(3).getAttribute("aria-expanded")).toBe("true");
      await expect.poll(() => line(2000).count()).toBe(0);
      // The focus moves from card to card, faster than they are rendered.
      await line(4).focus();
      for (let presses = 0; presses < 60; presses += 1) await tab.keyboard.press("Tab");
      await expect.poll(() => getFocusedName(tab)).toContain("City 64");
      expect(await countElements(tab)).toBeLessThan(2000);
      const scroller = tab.getByRole("log");
      // The cards around the focus stay mounted after scrolling away.
      await scroller.evaluate((list) => (list.scrollTop = list.scrollHeight));
      await line(2000).waitFor();
      await waitForIdle(tab);
      for (let presses = 0; presses < 40; presses += 1) await tab.keyboard.press("Tab");
      await expect.poll(() => getFocusedName(tab)).toContain("City 104");
      for (let step = 0; step < 30; step += 1) {
        await scroller.evaluate((list) => (list.scrollTop += 1500));
        await waitForTwoFrames(tab);
      }
      expect(await countElements(tab)).toBeLessThan(2500);
      await tab.getByRole("button", { name: /^Jump to the end/ }).click();
      await line(2000).waitFor();
    },
  );
});

describe("an answer of 50 KB", () => {
  test("renders a few components per update, at its end as at its start", async () => {
    const user = await fixture.newUser();
    await user.context.addInitScript(countRenders);
    const tab = await user.tab(await fixture.createChat({ model: "lab/clean" }));
    await waitUntilShown(tab);
    const before = (await countRendersIn(tab)).length;
    await sendAndWaitForAnswer(tab, "long markdown 50");
    const ended = await waitForAnswerEnd(tab, 45_000);
    expect((await ended.textContent())?.length).toBeGreaterThan(40_000);
    const renders = (await countRendersIn(tab)).slice(before);
    expect(renders.length).toBeGreaterThan(10);
    // There are ten components from the answer down to its text, and new and growing blocks.
    expect(mean(renders)).toBeLessThan(40);
    const third = Math.floor(renders.length / 3);
    expect(mean(renders.slice(-third))).toBeLessThan(2 * mean(renders.slice(0, third)) + 10);
  });
});

function listLoadedScripts({ requestedUrls }: BrowserUser): string[] {
  return requestedUrls
    .map((url) => new URL(url).pathname.slice(1))
    .filter((path) => path.startsWith("assets/") && !path.endsWith(".svg"));
}

async function getCompressedSize(path: string): Promise<number> {
  const reply = await fetch(`${fixture.gateway.url}/${path}`);
  return gzipSync(await reply.bytes()).length;
}

/** Waits until the page is rendered and all preloads have been requested. */
async function waitUntilShown(tab: Page): Promise<void> {
  await tab.getByRole("textbox", { name: "Message", exact: true }).waitFor();
  await waitForIdle(tab);
}

function createAnswerText(nth: number): string {
  return `This is answer ${nth}.\n\n- one *item*\n- another\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\nIts **end** is here.`;
}

/** Creates a chat file with an answer of 2,000 tool calls, of which the third is cited. */
async function createManyCallsFile(order: "one after the other" | "in one go"): Promise<object> {
  const hash = await fixture.createChat();
  const tab = await (await fixture.newUser()).tab(hash);
  await sendAndWaitForAnswer(tab, "What is the weather in Paris?");
  await waitForAnswerEnd(tab);
  const exported = await fetch(`${fixture.gateway.url}/api${hash.slice(1)}/export?format=json`);
  const { chats, ...file } = (await exported.json()) as ChatFile;
  const nodes = chats.flatMap(({ chat }) => Object.values(chat.nodes));
  for (const version of nodes.flatMap(({ kind, versions }) =>
    kind === "answer" ? versions : [],
  )) {
    const { output } = version;
    const ofType = (wanted: string) => output.filter(({ type }) => type === wanted);
    const copies = (item: Item, id: string) =>
      Array.from({ length: 2000 }, (_, index) => ({
        ...item,
        id: `${id}_${index + 1}`,
        call_id: `call_${index + 1}`,
      }));
    const calls = ofType("tool_call").flatMap((call) => copies(call, "item"));
    const cities = calls.map((call, index) => ({
      ...call,
      arguments: `{"city":"City ${index + 1}"}`,
    }));
    const results = ofType("tool_result").flatMap((result) => copies(result, "result"));
    const all =
      order === "in one go"
        ? [...cities, ...results]
        : cities.flatMap((call, index) => [call, ...results.slice(index, index + 1)]);
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

function countElements(tab: Page): Promise<number> {
  return tab.evaluate(() => document.getElementsByTagName("*").length);
}

async function waitForTwoFrames(tab: Page): Promise<void> {
  await tab.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
}

/** Returns the number of rendered components of each React commit. */
function countRendersIn(tab: Page): Promise<number[]> {
  return tab.evaluate(() => (globalThis as unknown as { renders: number[] }).renders);
}

/** Counts renders with the hook of React's DevTools: the fibers of rendered components have a flag. Runs in the page. */
function countRenders(): void {
  const renders: number[] = [];
  const functionTags = new Set([0, 11, 14, 15]);
  const countRendered = (fiber: Fiber): number => {
    let count = (fiber.flags & 1) === 1 && functionTags.has(fiber.tag) ? 1 : 0;
    if (fiber.alternate !== null && fiber.alternate.child === fiber.child) return count;
    for (let child = fiber.child; child !== null; child = child.sibling)
      count += countRendered(child);
    return count;
  };
  Object.assign(globalThis, {
    renders,
    __REACT_DEVTOOLS_GLOBAL_HOOK__: {
      supportsFiber: true,
      inject: () => 1,
      onCommitFiberUnmount: () => {},
      onCommitFiberRoot: (_: number, root: { current: Fiber }) =>
        renders.push(countRendered(root.current)),
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
