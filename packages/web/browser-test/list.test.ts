import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  answers,
  chooseWho,
  downloadedBy,
  endedAnswers,
  messages,
  pick,
  sendEdited,
  undo,
} from "./in-chat.ts";
import { goTo, say, staged, takePicture } from "./stage.ts";

/* All chats: how they stand, how they are found, and what can be done with them from outside. */

const stage = staged();

/** Chats in which these were said, the last one open. */
async function chatsOf(...said: string[]): Promise<Page> {
  const person = await stage.person();
  let tab: Page | undefined;
  for (const words of said) {
    const hash = await stage.chat();
    if (tab === undefined) tab = await person.tab(hash);
    else await goTo(tab, hash);
    await say(tab, words);
    await endedAnswers(tab, 1);
    await row(tab, words).waitFor();
  }
  if (tab === undefined) throw new Error("say something");
  return tab;
}

function list(tab: Page): Locator {
  return tab.getByRole("navigation", { name: "Chats" });
}

function row(tab: Page, title: string): Locator {
  return list(tab).getByRole("listitem").filter({ hasText: title });
}

function link(tab: Page, title: string): Locator {
  return row(tab, title).getByRole("link");
}

async function act(tab: Page, title: string, entry: string): Promise<void> {
  await row(tab, title).hover();
  await pick(row(tab, title).getByRole("button", { name: /^Actions for/ }), entry);
}

/** In the order in which they stand there. */
function titles(tab: Page): Promise<string[]> {
  return list(tab).locator(".list-title").allInnerTexts();
}

function search(tab: Page): Locator {
  return list(tab).getByRole("textbox", { name: "Search chats" });
}

describe("each chat", () => {
  test("says how it stands, live and in every tab", async () => {
    const person = await stage.person();
    const hash = await stage.chat();
    const [tab, other] = [await person.tab(hash), await person.tab()];
    await say(tab, 'please send_message to Bob: "hello"');
    for (const each of [tab, other]) await list(each).getByText("1 answer waits for you").waitFor();
    await row(other, "please send_message").getByText("Waits for you", { exact: true }).waitFor();
    await takePicture(other, "list-waiting");
    await tab.getByRole("button", { name: "Approve" }).first().click();
    await endedAnswers(tab, 1);
    for (const each of [tab, other])
      await list(each).getByText("1 answer waits for you").waitFor({ state: "detached" });
    await say(tab, "slow_count to 30");
    for (const each of [tab, other]) await list(each).getByText("Answering.").waitFor();
    await takePicture(other, "list-running");
    await tab.getByRole("button", { name: "Stop the answer" }).click();
    for (const each of [tab, other])
      await list(each).getByText("Answering.").waitFor({ state: "detached" });
  });

  test("is renamed in place, and everywhere at once", async () => {
    const tab = await chatsOf("The first one");
    await act(tab, "The first one", "Rename");
    const field = list(tab).getByRole("textbox", { name: "New title" });
    await takePicture(tab, "list-rename");
    await field.fill("Weather");
    await field.press("Enter");
    await row(tab, "Weather").waitFor();
    await tab.getByRole("main").getByText("Weather").first().waitFor();
    await expect.poll(() => link(tab, "Weather").evaluate(hasFocus)).toBe(true);

    await link(tab, "Weather").press("F2");
    await field.fill("Nothing of it");
    await field.press("Escape");
    await field.waitFor({ state: "detached" });
    expect(await titles(tab)).toEqual(["Weather"]);
  });

  test("without a title gets none by a field that was only looked into", async () => {
    const person = await stage.person();
    const tab = await person.tab(await stage.chat());
    await say(tab, 'send_message to Bob: "Hello"');
    // It is named when it is answered.
    await tab.getByRole("button", { name: "Approve" }).first().waitFor();
    await link(tab, "send_message").press("F2");
    await list(tab).getByRole("textbox", { name: "New title" }).waitFor();
    await tab.getByRole("textbox", { name: "Message", exact: true }).click();
    await link(tab, "send_message").waitFor();
    await tab.reload();
    await link(tab, "send_message").waitFor();
    expect(person.asked.filter((url) => url.endsWith("/edits"))).toEqual([]);
  });

  test("without a title has one name wherever it is named: the words that it began with", async () => {
    const name = "What is said first";
    const hash = await stage.importChat([
      { role: "user", content: `  ${name}\n` },
      { role: "assistant", content: "Words of an answer" },
    ]);
    const tab = await (await stage.person()).tab(hash);
    await expect.poll(() => titles(tab)).toEqual([name]);
    await row(tab, name).getByText("Words of an answer").waitFor();
    await chooseWho(tab, "demo-agent");
    await say(tab, 'send_message to Bob: "Hello"');
    // It is named when it is answered.
    await tab.getByRole("button", { name: "Approve" }).first().waitFor();
    await row(tab, name).getByText('send_message to Bob: "Hello"').waitFor();
    expect(await titles(tab)).toEqual([name]);
    await tab.getByRole("main").getByRole("heading", { name }).waitFor();
    await expect.poll(() => tab.title()).toBe(`(1) ${name} · Deltawire`);
    await tab.getByRole("button", { name: "Approvals: 1 waiting for you" }).click();
    await tab.getByRole("region", { name: "Waiting for you" }).getByText(`“${name}”`).waitFor();
    await takePicture(tab, "list-untitled");
    await tab.keyboard.press("Escape");
    await tab.keyboard.press("Control+k");
    await tab.getByRole("combobox").fill("said first");
    await tab.getByRole("option", { name: new RegExp(`^${name}`) }).waitFor();
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });
    await search(tab).fill("first");
    await list(tab).getByText("1 chat found").waitFor();
    expect(await titles(tab)).toEqual([name]);
  });

  test("can be pinned: then it is first, and says so", async () => {
    const tab = await chatsOf("The first one", "The second one");
    await expect.poll(() => titles(tab)).toEqual(["The second one", "The first one"]);
    await act(tab, "The first one", "Pin");
    await expect.poll(() => titles(tab)).toEqual(["The first one", "The second one"]);
    await list(tab).getByRole("heading", { name: "Pinned" }).waitFor();
    await takePicture(tab, "list-pinned");
    await act(tab, "The first one", "Unpin");
    await list(tab).getByRole("heading", { name: "Pinned" }).waitFor({ state: "detached" });
  });

  test("has tags, by which the list is filtered", async () => {
    const tab = await chatsOf("The first one", "The second one");
    await act(tab, "The first one", "Tags…");
    const dialog = tab.getByRole("dialog", { name: "Tags of “The first one”" });
    await dialog.getByRole("textbox", { name: "Tag" }).fill("sea");
    await tab.keyboard.press("Enter");
    await dialog.getByRole("textbox", { name: "Tag" }).fill("work");
    await takePicture(tab, "list-tags");
    await dialog.getByRole("button", { name: "Save" }).click();
    await row(tab, "The first one").getByText("sea · work").waitFor();
    expect(await titles(tab)).toEqual(["The second one", "The first one"]);
    await pick(list(tab).getByRole("button", { name: "Filter by tag" }), "sea");
    await expect.poll(() => titles(tab)).toEqual(["The first one"]);
    await takePicture(tab, "list-filtered");
    await list(tab).getByRole("button", { name: "Show chats without the tag “sea” too" }).click();
    await expect.poll(() => titles(tab)).toHaveLength(2);
  });

  test("has a tag by Enter, which saves when there is none to add", async () => {
    const tab = await chatsOf("The first one");
    await act(tab, "The first one", "Tags…");
    const field = tab.getByRole("dialog").getByRole("textbox", { name: "Tag" });
    await field.fill("sea");
    await field.press("Enter");
    await field.press("Enter");
    await row(tab, "The first one").getByText("sea", { exact: true }).waitFor();
    expect(await tab.getByRole("dialog").count()).toBe(0);
  });

  test("is deleted and comes back by undo", async () => {
    const tab = await chatsOf("The first one", "The second one");
    await act(tab, "The second one", "Delete");
    await expect.poll(() => titles(tab)).toEqual(["The first one"]);
    await tab.getByRole("heading", { name: "What shall we do?" }).waitFor();
    await takePicture(tab, "list-deleted-toast");
    await undo(tab, "Deleted: The second one");
    await expect.poll(() => titles(tab)).toHaveLength(2);
  });
});

test("the palette says that it could not search, not that there is nothing", async () => {
  const tab = await (await stage.person()).tab();
  await tab.route(/\/api\/chats\?.*\bq=/, (route) => route.abort());
  // Drawn: before that the page has no shortcuts.
  await list(tab).waitFor();
  await tab.keyboard.press("Control+k");
  const palette = tab.getByRole("dialog");
  await palette.getByRole("combobox").fill("zebras that nobody mentioned");
  await palette.getByText("The chats cannot be read").waitFor();
  expect(await palette.getByText("Nothing is called").count()).toBe(0);
});

test("the palette finds a chat that the list has not read, by its title and by what was said", async () => {
  const said = { role: "user", content: "How fast does a gnu run?" };
  await stage.importChat({ title: "Zebras of the plain", messages: [said] });
  for (let number = 0; number < 55; number += 1) await stage.chat({}, `Chat ${number}`);
  const tab = await (await stage.person()).tab();
  await row(tab, "Chat 54").waitFor();
  expect(await row(tab, "Zebras").count()).toBe(0);
  const option = tab.getByRole("dialog").getByRole("option", { name: /^Zebras of the plain/ });
  for (const words of ["zebras", "gnu run"]) {
    await tab.keyboard.press("Control+k");
    await tab.getByRole("dialog").getByRole("combobox").fill(words);
    await option.waitFor();
    if (words === "zebras") await takePicture(tab, "list-palette-all");
    await tab.keyboard.press("Enter");
    await messages(tab).filter({ hasText: "gnu" }).waitFor();
    await goTo(tab, "#/");
  }
});

test("a list that cannot be read on says so, and offers it again", async () => {
  for (let number = 0; number < 55; number += 1) await stage.chat();
  const person = await stage.person();
  const tab = await person.tab();
  await tab.route(/\/api\/chats\?.*before=/, (route) => route.abort());
  const again = list(tab).getByRole("button", { name: "Try again" });
  const toEnd = () =>
    list(tab)
      .locator(".list-scroll")
      .evaluate((scroll) => (scroll.scrollTop = scroll.scrollHeight));
  await row(tab, "New chat").first().waitFor();
  await toEnd();
  await list(tab).getByText("More chats could not be read.").waitFor();
  await toEnd();
  await takePicture(tab, "list-more-failed");
  await tab.unrouteAll();
  await again.click();
  await again.waitFor({ state: "detached" });
  await toEnd();
  await expect.poll(() => list(tab).getByText("Loading more chats").count()).toBe(0);
  await expect.poll(() => list(tab).locator(".list-more").count()).toBe(0);
});

describe("deleted chats", () => {
  test("are told as they come, also those that another tab has deleted", async () => {
    const tab = await chatsOf("first thing", "second thing");
    await pick(list(tab).getByRole("button", { name: /^Import, deleted/ }), "Deleted chats");
    await list(tab).getByText("Nothing is deleted").waitFor();
    const chatId = tab.url().split("/").at(-1) ?? "";
    await fetch(`${stage.gateway.url}/api/chats/${chatId}`, { method: "DELETE" });
    await row(tab, "second thing").waitFor();
    await fetch(`${stage.gateway.url}/api/chats/${chatId}/restore`, { method: "POST", body: "{}" });
    await list(tab).getByText("Nothing is deleted").waitFor();
  });

  test("are in a list of their own, and are restored or go for good", async () => {
    const tab = await chatsOf("The first one", "The second one");
    await act(tab, "The first one", "Delete");
    await act(tab, "The second one", "Delete");
    await list(tab).getByText("No chats yet").waitFor();
    await pick(list(tab).getByRole("button", { name: /^Import, deleted/ }), "Deleted chats");
    await list(tab).getByRole("heading", { name: "Deleted chats" }).waitFor();
    await takePicture(tab, "list-deleted");
    await list(tab).getByRole("button", { name: "Restore “The first one”" }).click();
    await tab.getByText("“The first one” is back").waitFor();
    await list(tab).getByRole("button", { name: "Delete for good: The second one" }).click();
    const dialog = tab.getByRole("dialog", { name: "Delete “The second one” for good?" });
    await takePicture(tab, "list-for-good");
    await dialog.getByRole("button", { name: "Delete for good" }).click();
    await list(tab).getByText("Nothing is deleted").waitFor();
    await list(tab).getByRole("button", { name: "Back to the chats" }).click();
    await expect.poll(() => titles(tab)).toEqual(["The first one"]);
  });
});

describe("a search", () => {
  test("finds what was said, marks it, and leads to where it stands", async () => {
    const tab = await chatsOf("Tell me of otters", "Tell me of badgers");
    await search(tab).fill("otters");
    const found = list(tab).locator("mark").first();
    await found.waitFor();
    await list(tab).getByText("1 chat found").waitFor();
    expect(new Set(await list(tab).locator("mark").allInnerTexts())).toEqual(new Set(["otters"]));
    await takePicture(tab, "list-search");
    await list(tab)
      .getByRole("link", { name: /You said: Tell me of otters I am a demo/ })
      .click();
    await messages(tab).filter({ hasText: "otters" }).waitFor();
    const marked = answers(tab).first();
    await expect.poll(() => marked.getAttribute("data-marked")).toBe("true");
    await takePicture(tab, "list-jumped");
    await search(tab).fill("walruses");
    await list(tab).getByRole("heading", { name: "Nothing found for “walruses”" }).waitFor();
    await takePicture(tab, "list-nothing-found");
    await list(tab).getByRole("button", { name: "Clear the search" }).click();
    await expect.poll(() => titles(tab)).toHaveLength(2);
  });

  test("leads to a branch that is not shown, and shows it", async () => {
    const tab = await chatsOf("Tell me of otters");
    await say(tab, "And of herons");
    await endedAnswers(tab, 2);
    await messages(tab).nth(1).hover();
    await messages(tab).nth(1).getByRole("button", { name: "Edit", exact: true }).click();
    await sendEdited(messages(tab).nth(1), "And of storks", "Send");
    await messages(tab).filter({ hasText: "storks" }).waitFor();
    await search(tab).fill("herons");
    await list(tab)
      .getByRole("link", { name: /^And of herons/ })
      .click();
    await messages(tab).filter({ hasText: "herons" }).waitFor();
    expect(await messages(tab).filter({ hasText: "storks" }).count()).toBe(0);

    // Whoever goes back to the other one is not brought here again by a reload.
    await messages(tab).nth(1).getByRole("button", { name: "Next branch" }).click();
    await messages(tab).filter({ hasText: "storks" }).waitFor();
    await tab.reload();
    await messages(tab).filter({ hasText: "storks" }).waitFor();
  });
});

describe("files", () => {
  test("have a chat in them that comes back as it was", async () => {
    const tab = await chatsOf("Tell me of otters");
    const { text } = await downloadedBy(tab, () => act(tab, "Tell me of otters", "Export as JSON"));
    const before = await answers(tab).first().locator(".answer").innerText();
    const file = { name: "otters.json", mimeType: "application/json", buffer: Buffer.from(text) };
    await choose(tab, file);
    await tab.getByText("1 chat imported").waitFor();
    await expect.poll(() => titles(tab)).toEqual(["Tell me of otters", "Tell me of otters"]);
    await expect.poll(() => answers(tab).first().locator(".answer").innerText()).toBe(before);
  });

  test("that are broken are refused, with the places of their faults", async () => {
    const tab = await chatsOf("Tell me of otters");
    const broken = JSON.stringify([
      { role: "user", content: "Hi" },
      { role: "wizard", content: 3 },
    ]);
    await choose(tab, {
      name: "broken.json",
      mimeType: "application/json",
      buffer: Buffer.from(broken),
    });
    const dialog = tab.getByRole("dialog", { name: "broken.json was not imported" });
    await dialog.getByRole("alert").waitFor();
    expect(await dialog.getByRole("alert").innerText()).toMatch(/\[1\]\.role/);
    await takePicture(tab, "list-import-refused");
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await choose(tab, { name: "x.json", mimeType: "application/json", buffer: Buffer.from("{") });
    await tab.getByText("The file is no JSON.").waitFor();
  });

  test("are imported by dropping them on the list", async () => {
    const tab = await chatsOf("Tell me of otters");
    const transfer = await tab.evaluateHandle(() => {
      const all = new DataTransfer();
      const messages = [
        { role: "user", content: "Dropped words" },
        { role: "assistant", content: "So they are." },
      ];
      all.items.add(new File([JSON.stringify(messages)], "dropped.json"));
      return all;
    });
    const place = search(tab);
    await place.dispatchEvent("dragenter", { dataTransfer: transfer });
    await list(tab).getByText("Drop a file to import it").waitFor();
    await takePicture(tab, "list-dropping");
    await place.dispatchEvent("drop", { dataTransfer: transfer });
    await messages(tab).filter({ hasText: "Dropped words" }).waitFor();
    await expect.poll(() => titles(tab)).toHaveLength(2);
  });
});

async function choose(
  tab: Page,
  file: { name: string; mimeType: string; buffer: Buffer },
): Promise<void> {
  const [chooser] = await Promise.all([
    tab.waitForEvent("filechooser"),
    pick(list(tab).getByRole("button", { name: /^Import, deleted/ }), "Import a file…"),
  ]);
  await chooser.setFiles(file);
}

describe("by keys alone", () => {
  test("chats are searched, walked through, opened and deleted", async () => {
    const tab = await chatsOf("The first one", "The second one", "The third one");
    await tab.getByRole("main").focus();
    await tab.keyboard.press("/");
    await expect.poll(() => search(tab).evaluate(hasFocus)).toBe(true);
    await tab.keyboard.press("ArrowDown");
    await expect.poll(() => link(tab, "The third one").evaluate(hasFocus)).toBe(true);
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("ArrowDown");
    await expect.poll(() => link(tab, "The first one").evaluate(hasFocus)).toBe(true);
    await takePicture(tab, "list-keys");
    await tab.keyboard.press("Enter");
    await messages(tab).filter({ hasText: "The first one" }).waitFor();
    await link(tab, "The first one").focus();
    await tab.keyboard.press("ArrowUp");
    await tab.keyboard.press("Delete");
    await expect.poll(() => titles(tab)).toEqual(["The third one", "The first one"]);
    await expect.poll(() => link(tab, "The first one").evaluate(hasFocus)).toBe(true);
  });
});

function hasFocus(element: Element): boolean {
  return element === document.activeElement;
}

test("the list lies over a phone's chat, and goes when one is chosen", async () => {
  const person = await stage.person({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    colorScheme: "dark",
  });
  const tab = await person.tab(await stage.chat());
  await say(tab, "Tell me of otters");
  await endedAnswers(tab, 1);
  await tab.getByRole("button", { name: "Show the list of chats" }).tap();
  await row(tab, "Tell me of otters").waitFor();
  await takePicture(tab, "list-phone-dark");
  await link(tab, "Tell me of otters").tap();
  await expect.poll(() => list(tab).count()).toBe(0);
});
