import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  getAnswers,
  chooseResponder,
  captureDownload,
  waitForAnswers,
  getMessages,
  chooseMenuItem,
  sendEdit,
  undoByToast,
  getStopButton,
} from "./chat-actions.ts";
import { navigateTo, sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* The chat list: status, search and actions. */

const fixture = setupBrowserFixture();

/** Creates chats with these messages and opens the last one. */
async function openChatsWith(...messages: string[]): Promise<Page> {
  const user = await fixture.newUser();
  let tab: Page | undefined;
  for (const words of messages) {
    const hash = await fixture.createChat();
    if (tab === undefined) tab = await user.tab(hash);
    else await navigateTo(tab, hash);
    await sendMessage(tab, words);
    await waitForAnswers(tab, 1);
    await getRow(tab, words).waitFor();
  }
  if (tab === undefined) throw new Error("expected at least one message");
  return tab;
}

function getList(tab: Page): Locator {
  return tab.getByRole("navigation", { name: "Chats" });
}

function getRow(tab: Page, title: string): Locator {
  return getList(tab).getByRole("listitem").filter({ hasText: title });
}

function getLink(tab: Page, title: string): Locator {
  return getRow(tab, title).getByRole("link");
}

async function chooseRowAction(tab: Page, title: string, entry: string): Promise<void> {
  await getRow(tab, title).hover();
  await chooseMenuItem(getRow(tab, title).getByRole("button", { name: /^Actions for/ }), entry);
}

/** Returns the titles in the order of the list. */
function getTitles(tab: Page): Promise<string[]> {
  return getList(tab).locator(".list-title").allInnerTexts();
}

function getSearchBox(tab: Page): Locator {
  return getList(tab).getByRole("textbox", { name: "Search chats" });
}

describe("a chat in the list", () => {
  test("shows its status live in every tab", async () => {
    const user = await fixture.newUser();
    const hash = await fixture.createChat();
    const [tab, other] = [await user.tab(hash), await user.tab()];
    await sendMessage(tab, 'please send_message to Bob: "hello"');
    for (const each of [tab, other])
      await getList(each).getByText("1 answer waiting for you").waitFor();
    await getRow(other, "please send_message")
      .getByText("Waiting for you", { exact: true })
      .waitFor();
    await takeScreenshot(other, "list-waiting");
    await tab.getByRole("button", { name: "Approve" }).first().click();
    await waitForAnswers(tab, 1);
    for (const each of [tab, other])
      await getList(each).getByText("1 answer waiting for you").waitFor({ state: "detached" });
    await sendMessage(tab, "slow_count to 30");
    for (const each of [tab, other]) await getList(each).getByText("Answering.").waitFor();
    await takeScreenshot(other, "list-running");
    await getStopButton(tab).click();
    for (const each of [tab, other])
      await getList(each).getByText("Answering.").waitFor({ state: "detached" });
  });

  test("is renamed in place, and its new title is shown everywhere immediately", async () => {
    const tab = await openChatsWith("The first one");
    await chooseRowAction(tab, "The first one", "Rename");
    const field = getList(tab).getByRole("textbox", { name: "New title" });
    await takeScreenshot(tab, "list-rename");
    await field.fill("Weather");
    await field.press("Enter");
    await getRow(tab, "Weather").waitFor();
    await tab.getByRole("main").getByText("Weather").first().waitFor();
    await expect.poll(() => getLink(tab, "Weather").evaluate(hasFocus)).toBe(true);

    await getLink(tab, "Weather").press("F2");
    await field.fill("Nothing of it");
    await field.press("Escape");
    await field.waitFor({ state: "detached" });
    expect(await getTitles(tab)).toEqual(["Weather"]);
  });

  test("without a title stays without one when its rename field is closed unchanged", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab(await fixture.createChat());
    await sendMessage(tab, 'send_message to Bob: "Hello"');
    // The chat gets a title when its answer has ended.
    await tab.getByRole("button", { name: "Approve" }).first().waitFor();
    await getLink(tab, "send_message").press("F2");
    await getList(tab).getByRole("textbox", { name: "New title" }).waitFor();
    await tab.getByRole("textbox", { name: "Message", exact: true }).click();
    await getLink(tab, "send_message").waitFor();
    await tab.reload();
    await getLink(tab, "send_message").waitFor();
    expect(user.requestedUrls.filter((url) => url.endsWith("/edits"))).toEqual([]);
  });

  test("without a title has the same name everywhere: the start of its first message", async () => {
    const name = "The first message";
    const hash = await fixture.importChat([
      { role: "user", content: `  ${name}\n` },
      { role: "assistant", content: "Words of an answer" },
    ]);
    const tab = await (await fixture.newUser()).tab(hash);
    await expect.poll(() => getTitles(tab)).toEqual([name]);
    await getRow(tab, name).getByText("Words of an answer").waitFor();
    await chooseResponder(tab, "demo-agent");
    await sendMessage(tab, 'send_message to Bob: "Hello"');
    // The chat gets a title when its answer has ended.
    await tab.getByRole("button", { name: "Approve" }).first().waitFor();
    await getRow(tab, name).getByText('send_message to Bob: "Hello"').waitFor();
    expect(await getTitles(tab)).toEqual([name]);
    await tab.getByRole("main").getByRole("heading", { name }).waitFor();
    await expect.poll(() => tab.title()).toBe(`(1) ${name} · Deltawire`);
    await tab.getByRole("button", { name: "Approvals: 1 waiting for you" }).click();
    await tab.getByRole("region", { name: "Waiting for you" }).getByText(`“${name}”`).waitFor();
    await takeScreenshot(tab, "list-untitled");
    await tab.keyboard.press("Escape");
    await tab.keyboard.press("Control+k");
    await tab.getByRole("combobox").fill("first message");
    await tab.getByRole("option", { name: new RegExp(`^${name}`) }).waitFor();
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });
    await getSearchBox(tab).fill("first");
    await getList(tab).getByText("1 chat found").waitFor();
    expect(await getTitles(tab)).toEqual([name]);
  });

  test("can be pinned, is then listed first, and is marked as pinned", async () => {
    const tab = await openChatsWith("The first one", "The second one");
    await expect.poll(() => getTitles(tab)).toEqual(["The second one", "The first one"]);
    await chooseRowAction(tab, "The first one", "Pin");
    await expect.poll(() => getTitles(tab)).toEqual(["The first one", "The second one"]);
    await getList(tab).getByRole("heading", { name: "Pinned" }).waitFor();
    await takeScreenshot(tab, "list-pinned");
    await chooseRowAction(tab, "The first one", "Unpin");
    await getList(tab).getByRole("heading", { name: "Pinned" }).waitFor({ state: "detached" });
  });

  test("has tags, which filter the list", async () => {
    const tab = await openChatsWith("The first one", "The second one");
    await chooseRowAction(tab, "The first one", "Tags…");
    const dialog = tab.getByRole("dialog", { name: "Tags for “The first one”" });
    await dialog.getByRole("textbox", { name: "Tag" }).fill("sea");
    await tab.keyboard.press("Enter");
    await dialog.getByRole("textbox", { name: "Tag" }).fill("work");
    await takeScreenshot(tab, "list-tags");
    await dialog.getByRole("button", { name: "Save" }).click();
    await getRow(tab, "The first one").getByText("sea · work").waitFor();
    expect(await getTitles(tab)).toEqual(["The second one", "The first one"]);
    await chooseMenuItem(getList(tab).getByRole("button", { name: "Filter by tag" }), "sea");
    await expect.poll(() => getTitles(tab)).toEqual(["The first one"]);
    await takeScreenshot(tab, "list-filtered");
    await getList(tab).getByRole("button", { name: "Clear filter “sea”" }).click();
    await expect.poll(() => getTitles(tab)).toHaveLength(2);
  });

  test("gets a typed tag with Enter, and a second Enter saves the tags", async () => {
    const tab = await openChatsWith("The first one");
    await chooseRowAction(tab, "The first one", "Tags…");
    const field = tab.getByRole("dialog").getByRole("textbox", { name: "Tag" });
    await field.fill("sea");
    await field.press("Enter");
    await field.press("Enter");
    await getRow(tab, "The first one").getByText("sea", { exact: true }).waitFor();
    expect(await tab.getByRole("dialog").count()).toBe(0);
  });

  test("can be deleted and restored with undo", async () => {
    const tab = await openChatsWith("The first one", "The second one");
    await chooseRowAction(tab, "The second one", "Delete");
    await expect.poll(() => getTitles(tab)).toEqual(["The first one"]);
    await tab.getByRole("heading", { name: "What can I help with?" }).waitFor();
    await takeScreenshot(tab, "list-deleted-toast");
    await undoByToast(tab, "Deleted: The second one");
    await expect.poll(() => getTitles(tab)).toHaveLength(2);
  });
});

test("the palette reports a failed search instead of no results", async () => {
  const tab = await (await fixture.newUser()).tab();
  await tab.route(/\/api\/chats\?.*\bq=/, (route) => route.abort());
  // Shortcuts only work once the page is rendered.
  await getList(tab).waitFor();
  await tab.keyboard.press("Control+k");
  const palette = tab.getByRole("dialog");
  await palette.getByRole("combobox").fill("zebras that nobody mentioned");
  await palette.getByText("Could not load chats").waitFor();
  expect(await palette.getByText("No results for").count()).toBe(0);
});

test("the palette finds a chat that the list has not loaded, by its title and by its messages", async () => {
  const message = { role: "user", content: "How fast does a gnu run?" };
  await fixture.importChat({ title: "Zebras of the plain", messages: [message] });
  for (let number = 0; number < 55; number += 1) await fixture.createChat({}, `Chat ${number}`);
  const tab = await (await fixture.newUser()).tab();
  await getRow(tab, "Chat 54").waitFor();
  expect(await getRow(tab, "Zebras").count()).toBe(0);
  const option = tab.getByRole("dialog").getByRole("option", { name: /^Zebras of the plain/ });
  for (const words of ["zebras", "gnu run"]) {
    await tab.keyboard.press("Control+k");
    await tab.getByRole("dialog").getByRole("combobox").fill(words);
    await option.waitFor();
    if (words === "zebras") await takeScreenshot(tab, "list-palette-all");
    await tab.keyboard.press("Enter");
    await getMessages(tab).filter({ hasText: "gnu" }).waitFor();
    await navigateTo(tab, "#/");
  }
});

test("a list that cannot load more chats says so and offers to retry", async () => {
  for (let number = 0; number < 55; number += 1) await fixture.createChat();
  const user = await fixture.newUser();
  const tab = await user.tab();
  await tab.route(/\/api\/chats\?.*before=/, (route) => route.abort());
  const retryButton = getList(tab).getByRole("button", { name: "Try again" });
  const scrollToEnd = () =>
    getList(tab)
      .locator(".list-scroll")
      .evaluate((scroll) => (scroll.scrollTop = scroll.scrollHeight));
  await getRow(tab, "New chat").first().waitFor();
  await scrollToEnd();
  await getList(tab).getByText("Could not load more chats.").waitFor();
  await scrollToEnd();
  await takeScreenshot(tab, "list-more-failed");
  await tab.unrouteAll();
  await retryButton.click();
  await retryButton.waitFor({ state: "detached" });
  await scrollToEnd();
  await expect.poll(() => getList(tab).getByText("Loading more chats").count()).toBe(0);
  await expect.poll(() => getList(tab).locator(".list-more").count()).toBe(0);
});

describe("deleted chats", () => {
  test("appear in their list when they are deleted, even by another tab", async () => {
    const tab = await openChatsWith("first thing", "second thing");
    await chooseMenuItem(
      getList(tab).getByRole("button", { name: "Chat list actions" }),
      "Deleted chats",
    );
    await getList(tab).getByText("No deleted chats").waitFor();
    const chatId = tab.url().split("/").at(-1) ?? "";
    await fetch(`${fixture.gateway.url}/api/chats/${chatId}`, { method: "DELETE" });
    await getRow(tab, "second thing").waitFor();
    await fetch(`${fixture.gateway.url}/api/chats/${chatId}/restore`, {
      method: "POST",
      body: "{}",
    });
    await getList(tab).getByText("No deleted chats").waitFor();
  });

  test("are in a separate list, and can be restored or deleted forever", async () => {
    const tab = await openChatsWith("The first one", "The second one");
    await chooseRowAction(tab, "The first one", "Delete");
    await chooseRowAction(tab, "The second one", "Delete");
    await getList(tab).getByText("No chats yet").waitFor();
    await chooseMenuItem(
      getList(tab).getByRole("button", { name: "Chat list actions" }),
      "Deleted chats",
    );
    await getList(tab).getByRole("heading", { name: "Deleted chats" }).waitFor();
    await takeScreenshot(tab, "list-deleted");
    await getList(tab).getByRole("button", { name: "Restore “The first one”" }).click();
    await tab.getByText("Restored “The first one”").waitFor();
    await getList(tab).getByRole("button", { name: "Delete forever: The second one" }).click();
    const dialog = tab.getByRole("dialog", { name: "Delete “The second one” forever?" });
    await takeScreenshot(tab, "list-for-good");
    await dialog.getByRole("button", { name: "Delete forever" }).click();
    await getList(tab).getByText("No deleted chats").waitFor();
    await getList(tab).getByRole("button", { name: "Back to chats" }).click();
    await expect.poll(() => getTitles(tab)).toEqual(["The first one"]);
  });
});

describe("a search", () => {
  test("finds and highlights messages, and links to them", async () => {
    const tab = await openChatsWith("Tell me of otters", "Tell me of badgers");
    await getSearchBox(tab).fill("otters");
    const found = getList(tab).locator("mark").first();
    await found.waitFor();
    await getList(tab).getByText("1 chat found").waitFor();
    expect(new Set(await getList(tab).locator("mark").allInnerTexts())).toEqual(
      new Set(["otters"]),
    );
    await takeScreenshot(tab, "list-search");
    await getList(tab)
      .getByRole("link", { name: /You said: Tell me of otters I am a demo/ })
      .click();
    await getMessages(tab).filter({ hasText: "otters" }).waitFor();
    const marked = getAnswers(tab).first();
    await expect.poll(() => marked.getAttribute("data-highlighted")).toBe("true");
    await takeScreenshot(tab, "list-jumped");
    await getSearchBox(tab).fill("walruses");
    await getList(tab).getByRole("heading", { name: "No results for “walruses”" }).waitFor();
    await takeScreenshot(tab, "list-nothing-found");
    await getList(tab).getByRole("button", { name: "Clear search" }).click();
    await expect.poll(() => getTitles(tab)).toHaveLength(2);
  });

  test("links to a message of a hidden branch, which is then shown", async () => {
    const tab = await openChatsWith("Tell me of otters");
    await sendMessage(tab, "And of herons");
    await waitForAnswers(tab, 2);
    await getMessages(tab).nth(1).hover();
    await getMessages(tab).nth(1).getByRole("button", { name: "Edit", exact: true }).click();
    await sendEdit(getMessages(tab).nth(1), "And of storks", "Send");
    await getMessages(tab).filter({ hasText: "storks" }).waitFor();
    await getSearchBox(tab).fill("herons");
    await getList(tab)
      .getByRole("link", { name: /^And of herons/ })
      .click();
    await getMessages(tab).filter({ hasText: "herons" }).waitFor();
    expect(await getMessages(tab).filter({ hasText: "storks" }).count()).toBe(0);

    // After switching back, a reload does not show the found branch again.
    await getMessages(tab).nth(1).getByRole("button", { name: "Next branch" }).click();
    await getMessages(tab).filter({ hasText: "storks" }).waitFor();
    await tab.reload();
    await getMessages(tab).filter({ hasText: "storks" }).waitFor();
  });
});

describe("files", () => {
  test("contain an exported chat that is the same after import", async () => {
    const tab = await openChatsWith("Tell me of otters");
    const { text } = await captureDownload(tab, () =>
      chooseRowAction(tab, "Tell me of otters", "Export as JSON"),
    );
    const before = await getAnswers(tab).first().locator(".answer").innerText();
    const file = { name: "otters.json", mimeType: "application/json", buffer: Buffer.from(text) };
    await importFile(tab, file);
    await tab.getByText("1 chat imported").waitFor();
    await expect.poll(() => getTitles(tab)).toEqual(["Tell me of otters", "Tell me of otters"]);
    await expect.poll(() => getAnswers(tab).first().locator(".answer").innerText()).toBe(before);
  });

  test("that are invalid are rejected with the path of every problem", async () => {
    const tab = await openChatsWith("Tell me of otters");
    const broken = JSON.stringify([
      { role: "user", content: "Hi" },
      { role: "wizard", content: 3 },
    ]);
    await importFile(tab, {
      name: "broken.json",
      mimeType: "application/json",
      buffer: Buffer.from(broken),
    });
    const dialog = tab.getByRole("dialog", { name: "Could not import broken.json" });
    await dialog.getByRole("alert").waitFor();
    expect(await dialog.getByRole("alert").innerText()).toMatch(/\[1\]\.role/);
    await takeScreenshot(tab, "list-import-rejected");
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await importFile(tab, {
      name: "x.json",
      mimeType: "application/json",
      buffer: Buffer.from("{"),
    });
    await tab.getByText("The file is not valid JSON.").waitFor();
  });

  test("are imported by dropping them on the list", async () => {
    const tab = await openChatsWith("Tell me of otters");
    const transfer = await tab.evaluateHandle(() => {
      const all = new DataTransfer();
      const messages = [
        { role: "user", content: "Dropped words" },
        { role: "assistant", content: "So they are." },
      ];
      all.items.add(new File([JSON.stringify(messages)], "dropped.json"));
      return all;
    });
    const place = getSearchBox(tab);
    await place.dispatchEvent("dragenter", { dataTransfer: transfer });
    await getList(tab).getByText("Drop a file to import it").waitFor();
    await takeScreenshot(tab, "list-dropping");
    await place.dispatchEvent("drop", { dataTransfer: transfer });
    await getMessages(tab).filter({ hasText: "Dropped words" }).waitFor();
    await expect.poll(() => getTitles(tab)).toHaveLength(2);
  });
});

async function importFile(
  tab: Page,
  file: { name: string; mimeType: string; buffer: Buffer },
): Promise<void> {
  const [chooser] = await Promise.all([
    tab.waitForEvent("filechooser"),
    chooseMenuItem(
      getList(tab).getByRole("button", { name: "Chat list actions" }),
      "Import chats…",
    ),
  ]);
  await chooser.setFiles(file);
}

describe("with the keyboard alone", () => {
  test("chats are searched, browsed, opened and deleted", async () => {
    const tab = await openChatsWith("The first one", "The second one", "The third one");
    await tab.getByRole("main").focus();
    await tab.keyboard.press("/");
    await expect.poll(() => getSearchBox(tab).evaluate(hasFocus)).toBe(true);
    await tab.keyboard.press("ArrowDown");
    await expect.poll(() => getLink(tab, "The third one").evaluate(hasFocus)).toBe(true);
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("ArrowDown");
    await expect.poll(() => getLink(tab, "The first one").evaluate(hasFocus)).toBe(true);
    await takeScreenshot(tab, "list-keys");
    await tab.keyboard.press("Enter");
    await getMessages(tab).filter({ hasText: "The first one" }).waitFor();
    await getLink(tab, "The first one").focus();
    await tab.keyboard.press("ArrowUp");
    await tab.keyboard.press("Delete");
    await expect.poll(() => getTitles(tab)).toEqual(["The third one", "The first one"]);
    await expect.poll(() => getLink(tab, "The first one").evaluate(hasFocus)).toBe(true);
  });
});

function hasFocus(element: Element): boolean {
  return element === document.activeElement;
}

test("the list covers the chat on a phone, and closes when one is opened", async () => {
  const user = await fixture.newUser({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    colorScheme: "dark",
  });
  const tab = await user.tab(await fixture.createChat());
  await sendMessage(tab, "Tell me of otters");
  await waitForAnswers(tab, 1);
  await tab.getByRole("button", { name: "Show chat list" }).tap();
  await getRow(tab, "Tell me of otters").waitFor();
  await takeScreenshot(tab, "list-phone-dark");
  await getLink(tab, "Tell me of otters").tap();
  await expect.poll(() => getList(tab).count()).toBe(0);
});
