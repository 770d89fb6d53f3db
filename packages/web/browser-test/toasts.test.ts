import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { barriersOn, focusedIn, staged, tabTo, takePicture } from "./stage.ts";

const stage = staged();

/** Two chats in the list, of which the first is the newer one. The page's clock can be turned on. */
async function listed(): Promise<Page> {
  await named("Older");
  await named("Newer");
  const tab = await (await stage.person()).tab("#/upstreams");
  await tab.clock.install();
  await tab.reload();
  await rowOf(tab, "Newer").waitFor();
  return tab;
}

async function named(title: string): Promise<void> {
  const body = JSON.stringify({ title });
  const headers = { "content-type": "application/json" };
  await fetch(`${stage.gateway.url}/api/chats`, { method: "POST", headers, body });
}

function rowOf(tab: Page, title: string): Locator {
  return tab.getByRole("listitem").filter({ hasText: title });
}

async function deleteByMenu(tab: Page, title: string): Promise<void> {
  await rowOf(tab, title).getByRole("link").focus();
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Enter");
  await tab.keyboard.press("End");
  await tab.keyboard.press("Enter");
}

/** So much later, and from then on only what a test lets pass: a busy machine takes none of what is left. */
async function stopClock(tab: Page, later: number): Promise<void> {
  await tab.clock.pauseAt((await tab.evaluate(() => Date.now())) + later);
}

function shelf(tab: Page): Locator {
  return tab.getByRole("region", { name: "Messages" });
}

test("a chat that is deleted by its menu hands the focus to the one beside it, the last to the search", async () => {
  const tab = await listed();
  await deleteByMenu(tab, "Newer");
  await rowOf(tab, "Newer").waitFor({ state: "detached" });
  await expect.poll(() => focusedIn(tab)).toContain("Older");
  await deleteByMenu(tab, "Older");
  await rowOf(tab, "Older").waitFor({ state: "detached" });
  await expect.poll(() => focusedIn(tab)).toMatch(/^Search/);
});

test("what is told comes into a region that was there before, which is not shown anew for it", async () => {
  const tab = await listed();
  const before = await shelf(tab).getByRole("status").elementHandle();
  const toggles = await shelf(tab).evaluateHandle((region) => {
    const seen: string[] = [];
    region.closest("[popover]")?.addEventListener("beforetoggle", (event) => {
      seen.push((event as ToggleEvent).newState);
    });
    return seen;
  });
  await deleteByMenu(tab, "Newer");
  await shelf(tab).getByRole("button", { name: "Undo" }).waitFor();
  expect(await before?.evaluate((region) => region.textContent)).toContain("Newer");
  expect(await toggles.jsonValue()).toEqual([]);
  // For a dialog it has to be.
  await openShortcuts(tab);
  await expect.poll(() => toggles.jsonValue()).toEqual(["open"]);
});

function dialog(tab: Page): Locator {
  return tab.getByRole("dialog");
}

async function openShortcuts(tab: Page): Promise<void> {
  await tab.getByRole("main").focus();
  await tab.keyboard.press("?");
  await dialog(tab).waitFor();
}

describe("while a dialog is open", () => {
  test("what was told before it can be undone, and its time is not begun anew", async () => {
    const tab = await listed();
    await deleteByMenu(tab, "Newer");
    const undo = shelf(tab).getByRole("button", { name: "Undo" });
    await undo.waitFor();
    await stopClock(tab, 10_000);
    await openShortcuts(tab);
    await undo.click();
    await tab.clock.resume();
    await shelf(tab).getByText("Deleted").waitFor({ state: "detached" });
    // That was no press beside the dialog.
    expect(await dialog(tab).count()).toBe(1);
    await tab.keyboard.press("Escape");
    await dialog(tab).waitFor({ state: "detached" });
    await rowOf(tab, "Newer").waitFor();
    await tab.mouse.move(5, 700);
    await deleteByMenu(tab, "Older");
    await undo.waitFor();
    await stopClock(tab, 10_000);
    await openShortcuts(tab);
    expect(await undo.count()).toBe(1);
    await tab.clock.fastForward(5000);
    await undo.waitFor({ state: "detached" });
  });

  test("what is told then is above it, can be undone by keys, and is there still when it is closed", async () => {
    const tab = await listed();
    let isAsked = false;
    let go = () => Promise.resolve();
    await tab.route("**/api/chats/*", (route) => {
      isAsked = true;
      go = () => route.continue();
    });
    await deleteByMenu(tab, "Newer");
    await expect.poll(() => isAsked).toBe(true);
    await openShortcuts(tab);
    const region = await shelf(tab).getByRole("status").elementHandle();
    await go();
    await tab.getByText("Deleted: Newer").waitFor();
    expect(await region?.evaluate((status) => status.textContent)).toContain("Newer");
    await takePicture(tab, "toasts-above-dialog");
    const undo = shelf(tab).getByRole("button", { name: "Undo" });
    expect(await undo.evaluate(isOnTop)).toBe(true);
    expect(await barriersOn(tab)).toEqual([]);
    await tab.keyboard.press("Escape");
    await dialog(tab).waitFor({ state: "detached" });
    expect(await undo.evaluate(isOnTop)).toBe(true);
    await openShortcuts(tab);
    await tabTo(tab, "Undo");
    await tab.unroute("**/api/chats/*");
    await tab.keyboard.press("Enter");
    await shelf(tab).getByText("Deleted").waitFor({ state: "detached" });
    expect(await tab.evaluate(() => document.activeElement?.closest("dialog") !== null)).toBe(true);
    await tab.keyboard.press("Escape");
    await rowOf(tab, "Newer").waitFor();
  });

  function isOnTop(element: Element): boolean {
    const { x, y, width, height } = element.getBoundingClientRect();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    return hit !== null && element.contains(hit);
  }
});

test("what can be undone stays while somebody points at it or is in it, and for its time after that", async () => {
  const tab = await listed();
  await deleteByMenu(tab, "Newer");
  const undo = shelf(tab).getByRole("button", { name: "Undo" });
  await undo.hover();
  await stopClock(tab, 15_000);
  expect(await undo.count()).toBe(1);
  await undo.focus();
  await tab.mouse.move(5, 700);
  await tab.clock.fastForward(15_000);
  expect(await undo.count()).toBe(1);
  await rowOf(tab, "Older").getByRole("link").focus();
  await tab.clock.fastForward(13_000);
  expect(await undo.count()).toBe(1);
  await tab.clock.fastForward(2000);
  await undo.waitFor({ state: "detached" });
});

test("the focus goes back to where it was when a message is dismissed by keys", async () => {
  const tab = await listed();
  await deleteByMenu(tab, "Newer");
  await expect.poll(() => focusedIn(tab)).toContain("Older");
  await shelf(tab).getByRole("button", { name: "Dismiss" }).press("Enter");
  await expect.poll(() => shelf(tab).getByRole("button").count()).toBe(0);
  await expect.poll(() => focusedIn(tab)).toContain("Older");
});
