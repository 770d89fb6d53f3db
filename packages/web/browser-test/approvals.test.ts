import { defineAgent, defineTool } from "@deltawire/agent";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  sendAndWaitForAnswer,
  waitForAnswerEnd,
  getFocusedName,
  lastAnswer,
  setupBrowserFixture,
  tabTo,
  takeScreenshot,
} from "./browser-fixture.ts";

/** Can be approved for a chat. The schema limits `times` to five. */
const ringBell = defineTool<{ room: string; times: number }>({
  name: "ring_bell",
  description: "Rings the bell of a room.",
  input: {
    type: "object",
    properties: { room: { type: "string" }, times: { type: "integer", maximum: 5, default: 2 } },
    required: ["room", "times"],
    additionalProperties: false,
  },
  approval: "ask_once",
  run: ({ room, times }) => `Rang ${times} times in ${room}.`,
});
/** Long enough to be saved as the variable `read_notes_1`. */
const notes = `first line\n${"Notes of nobody in particular. ".repeat(200)}\nlast line`;
const readNotes = defineTool({
  name: "read_notes",
  description: "Reads the notes.",
  run: () => notes,
});
const readBook = defineTool({
  name: "read_book",
  description: "Reads a book.",
  run: () => `first page\n${notes.repeat(5)}\u2062\nlast page`,
});
const sendNote = defineTool<{ text: string }>({
  name: "send_note",
  description: "Sends a note.",
  input: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
  approval: "ask_always",
  run: ({ text }) => `Sent ${text.length} characters.`,
});
const scribe = defineAgent({
  name: "scribe",
  instructions: "You send notes.",
  model: "lab/clean",
  tools: [readNotes, readBook, sendNote],
});
const porter = defineAgent({
  name: "porter",
  instructions: "You ring bells.",
  model: "lab/clean",
  tools: [ringBell],
});

const fixture = setupBrowserFixture({ agents: [porter, scribe] });
const defaultPrompt = 'please send_message to Bob: "hello"';

/** Returns the card of an approval at its tool call. */
function getApprovalCard(tab: Page, question: string | RegExp): Locator {
  return lastAnswer(tab).getByRole("group", { name: question });
}

async function openPendingApproval({
  prompt = defaultPrompt,
  agent = "demo-agent",
  dark = false,
  phone = false,
} = {}) {
  const user = await fixture.newUser({
    colorScheme: dark ? "dark" : "light",
    ...(phone ? { viewport: { width: 390, height: 844 }, hasTouch: true } : {}),
  });
  const hash = await fixture.createChat({ agent });
  const tab = await user.tab(hash);
  await sendAndWaitForAnswer(tab, prompt);
  return { user, tab, hash };
}

/** Waits until both tabs show the same text. */
async function expectSame(one: Locator, other: Locator): Promise<void> {
  await expect
    .poll(() => Promise.all([one.innerText(), other.innerText()]))
    .toSatisfy(([text, otherText]: string[]) => text === otherText);
}

const noApprovalsLabel = "Approvals: none waiting";
const oneApprovalLabel = "Approvals: 1 waiting for you";

describe("an approval of a call that references a variable", () => {
  const openVariableApproval = async (tool: string) => {
    const { tab } = await openPendingApproval({ prompt: `please ${tool}`, agent: "scribe" });
    await waitForAnswerEnd(tab);
    await sendAndWaitForAnswer(tab, `please send_note: "see {{var:${tool}_1}}"`);
    const question = getApprovalCard(tab, "Allow send_note?");
    await question.waitFor();
    return { tab, question, shown: question.getByRole("group", { name: "Arguments" }) };
  };

  test("shows the content of the variable, and the call runs with it", async () => {
    const { tab, question, shown } = await openVariableApproval("read_notes");
    const text = JSON.stringify({ text: `see ${notes}` }, null, 2);
    await expect.poll(() => shown.textContent()).toBe(text);
    await takeScreenshot(tab, "approvals-variable");
    await question.getByRole("button", { name: "Approve" }).click();
    await lastAnswer(tab)
      .getByText(`Sent ${`see ${notes}`.length} characters.`)
      .first()
      .waitFor();
  });

  test("shows the start and the end of long content, and the complete content on request", async () => {
    const { tab, question, shown } = await openVariableApproval("read_book");
    await expect
      .poll(() => shown.textContent())
      .toMatch(/first page[^]*characters not shown[^]*last page/);
    await takeScreenshot(tab, "approvals-long-variable");
    await question.getByRole("button", { name: "Show all" }).click();
    await expect.poll(() => shown.textContent()).toContain("\\u2062\\nlast page");
    await expect.poll(async () => (await shown.textContent())?.length ?? 0).toBeGreaterThan(30_000);
  });
});

describe("an approval", () => {
  test("is shown at its call, in the tray, in the list and in the tab's title until it is decided", async () => {
    const { tab } = await openPendingApproval();
    const question = getApprovalCard(tab, "Allow send_message?");
    await question.waitFor();
    expect(await question.getByRole("group", { name: "Arguments" }).innerText()).toBe(
      '{\n  "to": "Bob",\n  "text": "hello"\n}',
    );
    const inList = tab
      .getByRole("navigation", { name: "Chats" })
      .getByRole("link", { name: /^1 answer waiting for you/ });
    await inList.waitFor();
    await expect.poll(() => tab.title()).toMatch(/^\(1\) /);
    const used = tab.getByTitle("Usage of this chat, including all versions");
    const ofAnswer = lastAnswer(tab).getByTitle("Tokens and cost");
    await expectSame(used, ofAnswer);
    await takeScreenshot(tab, "approvals-in-place");

    await tab.getByRole("button", { name: oneApprovalLabel }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    const opener = tab.getByRole("button", { name: oneApprovalLabel });
    const [hand, count] = await Promise.all(
      ["svg", "span"].map((part) => opener.locator(part).boundingBox()),
    );
    expect(count?.x).toBeGreaterThan((hand?.x ?? 0) + (hand?.width ?? Infinity));
    await tray.getByText("requested by demo-agent").waitFor();
    await tray.getByRole("group", { name: "Allow send_message?" }).waitFor();
    await takeScreenshot(tab, "approvals-tray");

    await question.getByRole("button", { name: "Approve" }).click();
    const answer = await waitForAnswerEnd(tab);
    expect(await answer.innerText()).toContain("The message to Bob would have been sent.");
    await tab.getByRole("button", { name: noApprovalsLabel }).waitFor();
    await tray.getByText("Nothing is waiting for you").waitFor();
    await inList.waitFor({ state: "detached" });
    await expect.poll(() => tab.title()).not.toContain("(");
  });

  test("can be decided anywhere, and the tray links to its chat", async () => {
    const { tab } = await openPendingApproval({ dark: true });
    await getApprovalCard(tab, /send_message/).waitFor();
    await tab.getByRole("link", { name: "Upstreams" }).click();
    await tab.getByRole("button", { name: oneApprovalLabel }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await takeScreenshot(tab, "approvals-tray-dark");
    await tray.getByRole("link", { name: "Show in chat" }).click();
    await getApprovalCard(tab, /send_message/).waitFor();
    await tray.getByRole("button", { name: "Approve" }).click();
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("would have been sent");
  });

  test("fits on a phone", async () => {
    const { tab } = await openPendingApproval({ phone: true });
    await getApprovalCard(tab, /send_message/).waitFor();
    await takeScreenshot(tab, "approvals-in-place-phone");
    await tab.getByRole("button", { name: oneApprovalLabel }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await tray.getByRole("button", { name: "Deny…" }).click();
    await takeScreenshot(tab, "approvals-tray-phone");
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  });

  test("that is granted for the chat is not requested again there", async () => {
    const { tab } = await openPendingApproval({
      agent: "porter",
      prompt: 'ring_bell in "the hall"',
    });
    const question = getApprovalCard(tab, "Allow ring_bell?");
    await question.getByRole("button", { name: "Allow for this chat" }).click();
    await takeScreenshot(tab, "approvals-session");
    await tab.getByRole("menuitem", { name: "Allow these arguments for this chat" }).click();
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("Rang 2 times in the hall.");

    await sendAndWaitForAnswer(tab, 'ring_bell once more in "the hall"');
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("Rang 2 times in the hall.");

    await sendAndWaitForAnswer(tab, 'ring_bell in "the attic"');
    await getApprovalCard(tab, "Allow ring_bell?").getByRole("button", { name: "Approve" }).click();
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("Rang 2 times in the attic.");
  });

  test("of a nested sub-agent is visible without expanding anything, and the sub-agent continues after the decision", async () => {
    const { tab } = await openPendingApproval({
      prompt: 'ask forecaster to ask messenger to send_message to Bob: "It is sunny"',
    });
    const question = getApprovalCard(tab, "Allow send_message?");
    await question.waitFor();
    await takeScreenshot(tab, "approvals-depth-2");
    await tab.getByRole("button", { name: oneApprovalLabel }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await tray.getByText("requested by a sub-agent messenger").waitFor();
    await tray.getByRole("button", { name: "Approve" }).click();
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("would have been sent");
  });

  test("is still pending after a reload", async () => {
    const { tab } = await openPendingApproval();
    await getApprovalCard(tab, /send_message/).waitFor();
    await tab.reload();
    await tab.getByRole("button", { name: oneApprovalLabel }).waitFor();
    await getApprovalCard(tab, /send_message/)
      .getByRole("button", { name: "Approve" })
      .click();
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("would have been sent");
  });
});

describe("edited arguments", () => {
  test("are validated by the page, then by the gateway, and run when both accept them", async () => {
    const { tab } = await openPendingApproval({
      agent: "porter",
      prompt: 'ring_bell in "the hall"',
    });
    const question = getApprovalCard(tab, "Allow ring_bell?");
    await question.getByRole("button", { name: "Edit" }).click();
    const field = question.getByRole("textbox", { name: "Edit arguments" });
    const approve = question.getByRole("button", { name: "Approve with these arguments" });
    const waitForText = async (words: string | RegExp) => question.getByText(words).waitFor();

    await field.fill('{ "room": "the hall", "times": ');
    await approve.click();
    await waitForText(/Not valid JSON/);
    await field.fill('{ "room": "the hall" }');
    await approve.click();
    await waitForText("“times” is missing");
    await field.fill('{ "room": "the hall", "times": "three" }');
    await approve.click();
    await waitForText("“times” must be a whole number");
    await takeScreenshot(tab, "approvals-edit-wrong");
    // Only the gateway checks constraints other than types.
    await field.fill('{ "room": "the hall", "times": 7 }');
    await approve.click();
    await waitForText(/times.*5/);
    await takeScreenshot(tab, "approvals-edit-rejected");
    await tab.getByRole("button", { name: oneApprovalLabel }).waitFor();
    await field.fill('{ "room": "the hall", "times": 3 }');
    await approve.click();
    const answer = await waitForAnswerEnd(tab);
    expect(await answer.innerText()).toContain("Rang 3 times in the hall.");
    // The call shows the arguments that it ran with, even after a reload.
    for (const each of [answer, lastAnswer(tab)]) {
      await each.getByRole("button", { name: /^ring_bell room: the hall, times: 3 / }).click();
      await each.getByText("Decision: approved with changed arguments").waitFor();
      await each.getByText("Original arguments").click();
      await takeScreenshot(tab, "approvals-edited");
      const original = each.getByRole("group", { name: "Original arguments" });
      expect(await original.innerText()).toContain('"times": 2');
      if (each === answer) await tab.reload();
    }
  });

  test("survive navigation and a reload until the approval is decided", async () => {
    const { tab, hash } = await openPendingApproval();
    const question = getApprovalCard(tab, callQuestion);
    await question.getByRole("button", { name: "Edit" }).click();
    const begun = '{ "to": "Ann", "te';
    await question.getByRole("textbox").fill(begun);
    await tab.getByRole("link", { name: "Upstreams" }).click();
    await question.waitFor({ state: "detached" });
    await tab.evaluate((to) => (location.hash = to), hash);
    expect(await question.getByRole("textbox").inputValue()).toBe(begun);
    await tab.reload();
    expect(await question.getByRole("textbox").inputValue()).toBe(begun);
    expect(await getFocusedName(tab)).not.toContain("Ann");
    await question.getByRole("textbox").fill('{ "to": "Ann", "text": "hello" }');
    await question.getByRole("button", { name: "Approve with these arguments" }).click();
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("The message to Ann would");
    const storedKeys = await tab.evaluate(() => Object.keys(localStorage));
    expect(storedKeys.filter((name) => name.startsWith("deltawire.decision."))).toEqual([]);
  });

  test("are discarded with Escape, and the approval stays pending", async () => {
    const { tab } = await openPendingApproval();
    const question = getApprovalCard(tab, /send_message/);
    await question.getByRole("button", { name: "Edit" }).click();
    await question.getByRole("textbox").fill("{}");
    await tab.keyboard.press("Escape");
    await question.getByRole("button", { name: "Approve" }).waitFor();
    expect(await question.getByRole("textbox").count()).toBe(0);
  });
});

test("a reason for a denial is sent to the model", async () => {
  const { tab } = await openPendingApproval();
  const question = getApprovalCard(tab, /send_message/);
  await question.getByRole("button", { name: "Deny…" }).click();
  await question.getByRole("textbox", { name: "Reason" }).fill("Bob is asleep");
  await takeScreenshot(tab, "approvals-deny");
  await question.getByRole("button", { name: "Deny", exact: true }).click();
  const answer = await waitForAnswerEnd(tab);
  expect(await answer.innerText()).toContain("The user denied this call: Bob is asleep");
  await answer.getByRole("button", { name: /^send_message .* Denied/ }).waitFor();
});

describe("a held result", () => {
  const prompt = 'open_private_note "keys"';

  test("is shown before it is released", async () => {
    const { tab } = await openPendingApproval({ prompt });
    const question = getApprovalCard(tab, "Show the result of open_private_note to the model?");
    const held = question.getByRole("group", { name: "Result" });
    expect(await held.innerText()).toContain("below the third flower pot");
    await takeScreenshot(tab, "approvals-result");
    await question.getByRole("button", { name: "Show to model" }).click();
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("below the third flower pot");
  });

  test("is replaced by the text of the user, and the model sees only that", async () => {
    const { tab } = await openPendingApproval({ prompt });
    const question = getApprovalCard(tab, /open_private_note/);
    await question.getByRole("button", { name: "Replace…" }).click();
    const field = question.getByRole("textbox", { name: "Text to send to the model instead" });
    await field.fill("The key is with the neighbors.");
    await takeScreenshot(tab, "approvals-redact");
    await question.getByRole("button", { name: "Send this instead" }).click();
    const answerText = await (await waitForAnswerEnd(tab)).innerText();
    expect(answerText).toContain("The key is with the neighbors.");
    expect(answerText).not.toContain("flower pot");
  });
});

/** Returns the card in the tray to which the shortcuts apply. */
function getCardsWithShortcuts(tab: Page): Locator {
  return tab
    .getByRole("region", { name: "Waiting for you" })
    .getByRole("group")
    .filter({ has: tab.locator("[aria-keyshortcuts]") });
}

/** Opens a chat whose answer has two approvals. */
async function openTwoApprovals() {
  const prompt = 'send_message to Bob: "hello" and open_private_note "keys"';
  const { user, tab, hash } = await openPendingApproval({ prompt });
  await tab.getByRole("button", { name: "Approvals: 2 waiting for you" }).waitFor();
  const tray = tab.getByRole("region", { name: "Waiting for you" });
  return { user, tab, hash, tray };
}

const callQuestion = "Allow send_message?";
const resultQuestion = "Show the result of open_private_note to the model?";

describe("the focus", () => {
  test("moves to the next approval, then to the tray button", async () => {
    const { tab, tray } = await openTwoApprovals();
    await tab.getByRole("main").focus();
    await tab.keyboard.press("a");
    await expect.poll(() => getFocusedName(tab)).toBe("Waiting for you");
    await getCardsWithShortcuts(tab).waitFor();
    await takeScreenshot(tab, "approvals-tray-keys");
    // Leaving the form with Escape or Cancel restores the focus.
    for (const leave of ["Escape", "Cancel"]) {
      await tabTo(tab, "Edit");
      await tab.keyboard.press("Enter");
      await expect.poll(() => getFocusedName(tab)).toContain('"Bob"');
      if (leave === "Cancel") await tabTo(tab, leave);
      await tab.keyboard.press(leave === "Cancel" ? "Enter" : leave);
      await expect.poll(() => getFocusedName(tab)).toBe("Edit");
    }
    await tabTo(tab, "Approve", "Shift+Tab");
    await tab.keyboard.press("Enter");
    await expect.poll(() => getFocusedName(tab)).toBe(resultQuestion);
    await tabTo(tab, "Show to model");
    await tab.keyboard.press("Enter");
    await tray.waitFor({ state: "detached" });
    await expect.poll(() => getFocusedName(tab)).toBe(noApprovalsLabel);
    await waitForAnswerEnd(tab);
  });

  test("stays on a decision that could not be sent, with an error until the gateway is back", async () => {
    const { user, tab } = await openPendingApproval();
    const question = getApprovalCard(tab, callQuestion);
    await question.waitFor();
    await user.context.setOffline(true);
    await question.getByRole("button", { name: "Approve" }).press("Enter");
    await question
      .getByRole("alert")
      .getByText(/^Could not submit the decision: the gateway cannot/)
      .waitFor();
    await user.context.setOffline(false);
    await question.getByRole("alert").waitFor({ state: "detached" });
    expect(await getFocusedName(tab)).toBe("Approve");
    await tab.keyboard.press("Enter");
    await waitForAnswerEnd(tab);
  });

  test("stays on a button whose decision could not be sent, and then moves from the approval to its call", async () => {
    const { user, tab } = await openPendingApproval();
    const approve = getApprovalCard(tab, callQuestion).getByRole("button", { name: "Approve" });
    await user.context.route("**/api/approvals/*", (route) => route.abort());
    await approve.press("Enter");
    await getApprovalCard(tab, callQuestion).getByRole("alert").waitFor();
    expect(await getFocusedName(tab)).toBe("Approve");
    await user.context.unroute("**/api/approvals/*");
    await tab.keyboard.press("Enter");
    await expect.poll(() => getFocusedName(tab)).toMatch(/^send_message/);
    await waitForAnswerEnd(tab);
  });
});

test("each approval is announced to screen readers, even if its text equals that of the previous one", async () => {
  const { tab } = await openPendingApproval({ prompt: 'send_message to Bob: "hello" in 2 steps' });
  await getApprovalCard(tab, callQuestion).waitFor();
  const announcement = tab
    .getByRole("banner")
    .getByRole("status")
    .filter({ hasText: "Your decision" });
  await expect
    .poll(() => announcement.innerText())
    .toMatch(/^Your decision is needed: Allow send_message\?\s+1 waiting for you\.$/);
  const before = await announcement.locator("p").first().elementHandle();
  await getApprovalCard(tab, callQuestion).getByRole("button", { name: "Approve" }).click();
  // The next approval has the same text and is announced again.
  await expect.poll(() => before?.evaluate((element) => element.isConnected)).toBe(false);
  await announcement.waitFor();
});

describe("Ctrl+Enter", () => {
  test("does not decide an approval that has just become the oldest", async () => {
    const { user, tab, hash, tray } = await openTwoApprovals();
    await tab.getByRole("main").focus();
    await tab.keyboard.press("a");
    await getCardsWithShortcuts(tab).waitFor();
    const other = await user.tab(hash);
    await getApprovalCard(other, callQuestion).getByRole("button", { name: "Approve" }).click();
    // The keys are pressed as soon as the other approval is the oldest, before a user could have read it.
    await tab.evaluate(
      (previousTitle) =>
        new Promise<void>((resolve) => {
          const pressWhenOldest = () => {
            const first = document.querySelector(".approvals-panel h3")?.textContent;
            if (first === previousTitle) {
              requestAnimationFrame(pressWhenOldest);
              return;
            }
            const press = { key: "Enter", ctrlKey: true, bubbles: true };
            document.dispatchEvent(new KeyboardEvent("keydown", press));
            resolve();
          };
          pressWhenOldest();
        }),
      callQuestion,
    );
    await getCardsWithShortcuts(tab).waitFor();
    expect(await tray.getByRole("group", { name: resultQuestion }).count()).toBe(1);
    await tab.keyboard.press("Control+Enter");
    await tray.waitFor({ state: "detached" });
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("flower pot");
  });
});

test("the title of the tab is that of the open chat, even if the list has not loaded the chat", async () => {
  const post = (path: string, body: object) =>
    fetch(`${fixture.gateway.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const created = await post("/api/chats", { title: "Long ago" });
  const { chat } = (await created.json()) as { chat: { chat_id: string } };
  for (let count = 0; count < 60; count += 1) await post("/api/chats", { title: `Chat ${count}` });
  const tab = await (await fixture.newUser()).tab(`#/chats/${chat.chat_id}`);
  await expect.poll(() => tab.title()).toBe("Long ago · Deltawire");
});

describe("with the keyboard alone", () => {
  async function openTrayByKey(): Promise<Page> {
    const { tab } = await openPendingApproval();
    await getApprovalCard(tab, /send_message/).waitFor();
    await tab.getByRole("main").focus();
    await tab.keyboard.press("a");
    await getCardsWithShortcuts(tab).waitFor();
    return tab;
  }

  test("a opens the tray, Ctrl+Enter approves the oldest, and the tray closes after the last", async () => {
    const tab = await openTrayByKey();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await expect.poll(() => getFocusedName(tab)).toBe("Waiting for you");
    const hints = await getCardsWithShortcuts(tab)
      .locator("[aria-keyshortcuts]")
      .evaluateAll((buttons) =>
        buttons.map((button) => {
          const { content, textTransform } = getComputedStyle(button, "::after");
          return [content, textTransform, button.getBoundingClientRect().height < 50];
        }),
      );
    expect(hints).toEqual([
      ['"Ctrl+Enter" / ""', "none", true],
      ['"Ctrl+Backspace" / ""', "none", true],
    ]);
    await takeScreenshot(tab, "approvals-keys");
    await tab.keyboard.press("Control+Enter");
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("would have been sent");
    await tray.waitFor({ state: "detached" });
    await expect.poll(() => getFocusedName(tab)).toBe(noApprovalsLabel);
  });

  test("Escape closes the tray without a decision", async () => {
    const tab = await openTrayByKey();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await tab.keyboard.press("Tab");
    await tab.keyboard.press("Escape");
    await tray.waitFor({ state: "detached" });
    await expect.poll(() => getFocusedName(tab)).toBe(oneApprovalLabel);
  });

  test("Ctrl+Backspace denies the oldest", async () => {
    const tab = await openTrayByKey();
    await tab.keyboard.press("Control+Backspace");
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("denied");
  });

  test("a reason is written and sent in the tray", async () => {
    const tab = await openTrayByKey();
    await tabTo(tab, "Deny…");
    await tab.keyboard.press("Enter");
    await tab.getByRole("textbox", { name: "Reason" }).and(tab.locator(":focus")).waitFor();
    await tab.keyboard.type("Not y, not now");
    await tab.keyboard.press("Tab");
    await tab.keyboard.press("Enter");
    expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("Not y, not now");
  });

  test("Enter sends a reason, but not with Shift or while an input method handles it", async () => {
    const tab = await openTrayByKey();
    await tabTo(tab, "Deny…");
    await tab.keyboard.press("Enter");
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    const field = tray.getByRole("textbox", { name: "Reason" });
    await field.and(tab.locator(":focus")).waitFor();
    await tab.keyboard.type("Not now");
    await field.dispatchEvent("keydown", { key: "Enter", isComposing: true, bubbles: true });
    await tab.keyboard.press("Shift+Enter");
    await tab.keyboard.type("but later");
    expect(await field.inputValue()).toBe("Not now\nbut later");
    await takeScreenshot(tab, "approvals-reason-keys");
    await tab.keyboard.press("Enter");
    const answerText = await (await waitForAnswerEnd(tab)).innerText();
    expect(answerText).toContain("Not now");
    expect(answerText).toContain("but later");
  });
});

test("a decision whose reply was lost is not reported as decided elsewhere", async () => {
  const { user, tab } = await openPendingApproval();
  await user.context.route("**/api/approvals/*", async (route) => {
    expect((await route.fetch()).status()).toBe(200);
    await route.abort();
  });
  await getApprovalCard(tab, callQuestion).getByRole("button", { name: "Approve" }).click();
  expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("would have been sent");
  await tab.getByRole("button", { name: noApprovalsLabel }).waitFor();
  await takeScreenshot(tab, "approvals-reply-lost");
  expect(await tab.getByText("Already denied").or(tab.getByText("Already approved")).count()).toBe(
    0,
  );
});

test("the tray shows the first message of an untitled chat that the list has not loaded", async () => {
  const { user, hash } = await openPendingApproval();
  for (let count = 0; count < 55; count += 1) await fixture.createChat({}, `Chat ${count}`);
  expect(hash).toContain("#/chats/");
  const tab = await user.tab("#/upstreams");
  await tab.getByRole("button", { name: "Approvals: 1 waiting for you" }).click();
  const tray = tab.getByRole("region", { name: "Waiting for you" });
  await tray.getByText(`in “${defaultPrompt}”`).waitFor();
  await takeScreenshot(tab, "approvals-tray-unread");
});

test("two tabs that decide at once end in the same state, and one of them reports the decision of the other", async () => {
  const { user, tab, hash } = await openPendingApproval();
  const other = await user.tab(hash);
  await getApprovalCard(tab, /send_message/).waitFor();
  await getApprovalCard(other, /send_message/).waitFor();
  // Both decisions are sent before the gateway receives either.
  const sent: (() => Promise<void>)[] = [];
  await user.context.route("**/api/approvals/*", (route) => {
    sent.push(() => route.continue());
  });
  await Promise.all([
    getApprovalCard(tab, /send_message/)
      .getByRole("button", { name: "Approve" })
      .click(),
    getApprovalCard(other, /send_message/)
      .getByRole("button", { name: "Approve" })
      .click(),
  ]);
  await expect.poll(() => sent.length).toBe(2);
  await Promise.all(sent.map((continueRequest) => continueRequest()));
  const countToasts = (each: Page) => each.getByText("Already approved (send_message)").count();
  // The toast is counted before it disappears.
  await expect.poll(async () => (await countToasts(tab)) + (await countToasts(other))).toBe(1);
  await takeScreenshot((await countToasts(tab)) === 1 ? tab : other, "approvals-too-late");

  const [one, two] = [await waitForAnswerEnd(tab), await waitForAnswerEnd(other)];
  for (const each of [tab, other])
    await each.getByRole("button", { name: noApprovalsLabel }).waitFor();
  expect(await one.innerText()).toContain("would have been sent");
  await expectSame(one, two);
});
