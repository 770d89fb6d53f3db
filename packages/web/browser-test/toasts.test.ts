import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  findAxeViolations,
  getFocusedName,
  setupBrowserFixture,
  tabTo,
  takeScreenshot,
} from "./browser-fixture.ts";

const fixture = setupBrowserFixture();

/** Opens a page with two chats, the newer one first, and a fake clock. */
async function openListTab(): Promise<Page> {
  await createNamedChat("Older");
  await createNamedChat("Newer");
  const tab = await (await fixture.newUser()).tab("#/upstreams");
  await tab.clock.install();
  await tab.reload();
  await getRow(tab, "Newer").waitFor();
  return tab;
}

async function createNamedChat(title: string): Promise<void> {
  const body = JSON.stringify({ title });
  const headers = { "content-type": "application/json" };
  await fetch(`${fixture.gateway.url}/api/chats`, { method: "POST", headers, body });
}

function getRow(tab: Page, title: string): Locator {
  return tab.getByRole("listitem").filter({ hasText: title });
}

async function deleteByMenu(tab: Page, title: string): Promise<void> {
  await getRow(tab, title).getByRole("link").focus();
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Enter");
  await tab.keyboard.press("End");
  await tab.keyboard.press("Enter");
}

/** Advances the clock and stops it, so that a slow machine does not use up the remaining time. */
async function stopClock(tab: Page, later: number): Promise<void> {
  await tab.clock.pauseAt((await tab.evaluate(() => Date.now())) + later);
}

function getToastRegion(tab: Page): Locator {
  return tab.getByRole("region", { name: "Notifications" });
}

test("deleting a chat from its menu moves the focus to the next chat, and after the last to the search", async () => {
  const tab = await openListTab();
  await deleteByMenu(tab, "Newer");
  await getRow(tab, "Newer").waitFor({ state: "detached" });
  await expect.poll(() => getFocusedName(tab)).toContain("Older");
  await deleteByMenu(tab, "Older");
  await getRow(tab, "Older").waitFor({ state: "detached" });
  await expect.poll(() => getFocusedName(tab)).toMatch(/^Search/);
});

test("a toast is added to the existing live region, which is not inserted again", async () => {
  const tab = await openListTab();
  const before = await getToastRegion(tab).getByRole("status").elementHandle();
  const toggles = await getToastRegion(tab).evaluateHandle((region) => {
    const seen: string[] = [];
    region.closest("[popover]")?.addEventListener("beforetoggle", (event) => {
      seen.push((event as ToggleEvent).newState);
    });
    return seen;
  });
  await deleteByMenu(tab, "Newer");
  await getToastRegion(tab).getByRole("button", { name: "Undo" }).waitFor();
  expect(await before?.evaluate((region) => region.textContent)).toContain("Newer");
  expect(await toggles.jsonValue()).toEqual([]);
  // Only a dialog makes the page move the region.
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
  test("an earlier toast can still be used, and its remaining time is not restarted", async () => {
    const tab = await openListTab();
    await deleteByMenu(tab, "Newer");
    const undo = getToastRegion(tab).getByRole("button", { name: "Undo" });
    await undo.waitFor();
    await stopClock(tab, 10_000);
    await openShortcuts(tab);
    await undo.click();
    await tab.clock.resume();
    await getToastRegion(tab).getByText("Deleted").waitFor({ state: "detached" });
    // The press on the toast was not a press on the backdrop, so the dialog is still open.
    expect(await dialog(tab).count()).toBe(1);
    await tab.keyboard.press("Escape");
    await dialog(tab).waitFor({ state: "detached" });
    await getRow(tab, "Newer").waitFor();
    await tab.mouse.move(5, 700);
    await deleteByMenu(tab, "Older");
    await undo.waitFor();
    await stopClock(tab, 10_000);
    await openShortcuts(tab);
    expect(await undo.count()).toBe(1);
    await tab.clock.fastForward(5000);
    await undo.waitFor({ state: "detached" });
  });

  test("a new toast is above the dialog, can be undone by keyboard, and stays when the dialog closes", async () => {
    const tab = await openListTab();
    let isAsked = false;
    let go = () => Promise.resolve();
    await tab.route("**/api/chats/*", (route) => {
      isAsked = true;
      go = () => route.continue();
    });
    await deleteByMenu(tab, "Newer");
    await expect.poll(() => isAsked).toBe(true);
    await openShortcuts(tab);
    const region = await getToastRegion(tab).getByRole("status").elementHandle();
    await go();
    await tab.getByText("Deleted: Newer").waitFor();
    expect(await region?.evaluate((status) => status.textContent)).toContain("Newer");
    await takeScreenshot(tab, "toasts-above-dialog");
    const undo = getToastRegion(tab).getByRole("button", { name: "Undo" });
    expect(await undo.evaluate(isOnTop)).toBe(true);
    expect(await findAxeViolations(tab)).toEqual([]);
    await tab.keyboard.press("Escape");
    await dialog(tab).waitFor({ state: "detached" });
    expect(await undo.evaluate(isOnTop)).toBe(true);
    await openShortcuts(tab);
    await tabTo(tab, "Undo");
    await tab.unroute("**/api/chats/*");
    await tab.keyboard.press("Enter");
    await getToastRegion(tab).getByText("Deleted").waitFor({ state: "detached" });
    expect(await tab.evaluate(() => document.activeElement?.closest("dialog") !== null)).toBe(true);
    await tab.keyboard.press("Escape");
    await getRow(tab, "Newer").waitFor();
  });

  function isOnTop(element: Element): boolean {
    const { x, y, width, height } = element.getBoundingClientRect();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    return hit !== null && element.contains(hit);
  }
});

test("a toast with an undo button stays while it is hovered or focused, and for its full time after that", async () => {
  const tab = await openListTab();
  await deleteByMenu(tab, "Newer");
  const undo = getToastRegion(tab).getByRole("button", { name: "Undo" });
  await undo.hover();
  await stopClock(tab, 15_000);
  expect(await undo.count()).toBe(1);
  await undo.focus();
  await tab.mouse.move(5, 700);
  await tab.clock.fastForward(15_000);
  expect(await undo.count()).toBe(1);
  await getRow(tab, "Older").getByRole("link").focus();
  await tab.clock.fastForward(13_000);
  expect(await undo.count()).toBe(1);
  await tab.clock.fastForward(2000);
  await undo.waitFor({ state: "detached" });
});

test("the focus returns to where it was when a toast is dismissed by keyboard", async () => {
  const tab = await openListTab();
  await deleteByMenu(tab, "Newer");
  await expect.poll(() => getFocusedName(tab)).toContain("Older");
  await getToastRegion(tab).getByRole("button", { name: "Dismiss" }).press("Enter");
  await expect.poll(() => getToastRegion(tab).getByRole("button").count()).toBe(0);
  await expect.poll(() => getFocusedName(tab)).toContain("Older");
});
