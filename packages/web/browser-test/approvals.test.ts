import { defineAgent, defineTool } from "@deltawire/agent";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ask, endedAnswer, focusedIn, lastAnswer, staged, tabTo, takePicture } from "./stage.ts";

/** Asked about once for the same arguments; more than five times is more than its schema allows. */
const ringBell = defineTool<{ room: string; times: number }>({
  name: "ring_bell",
  description: "Rings the bell of a room.",
  input: {
    type: "object",
    properties: { room: { type: "string" }, times: { type: "integer", maximum: 5, default: 2 } },
    required: ["room", "times"],
    additionalProperties: false,
  },
  approval: "ask once",
  run: ({ room, times }) => `Rang ${times} times in ${room}.`,
});
/** Long enough to become a variable: `read_notes_1`. */
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
  approval: "ask always",
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

const stage = staged({ agents: [porter, scribe] });
const message = 'please send_message to Bob: "hello"';

/** The question where it is asked. */
function askedIn(tab: Page, question: string | RegExp): Locator {
  return lastAnswer(tab).getByRole("group", { name: question });
}

async function opened({ says = message, agent = "demo-agent", dark = false, phone = false } = {}) {
  const person = await stage.person({
    colorScheme: dark ? "dark" : "light",
    ...(phone ? { viewport: { width: 390, height: 844 }, hasTouch: true } : {}),
  });
  const hash = await stage.chat({ agent });
  const tab = await person.tab(hash);
  await ask(tab, says);
  return { person, tab, hash };
}

/** Both say the same words, in the end. */
async function expectSame(one: Locator, other: Locator): Promise<void> {
  await expect
    .poll(() => Promise.all([one.innerText(), other.innerText()]))
    .toSatisfy(([said, saidThere]: string[]) => said === saidThere);
}

const nothingWaits = "Approvals: nothing waits";
const oneWaits = "Approvals: 1 waiting for you";

describe("a call with the name of a variable", () => {
  const askedWith = async (tool: string) => {
    const { tab } = await opened({ says: `please ${tool}`, agent: "scribe" });
    await endedAnswer(tab);
    await ask(tab, `please send_note: "see {{var:${tool}_1}}"`);
    const question = askedIn(tab, "May send_note run?");
    await question.waitFor();
    return { tab, question, shown: question.getByRole("group", { name: "Arguments" }) };
  };

  test("is asked about with the content of the variable, and that runs", async () => {
    const { tab, question, shown } = await askedWith("read_notes");
    const text = JSON.stringify({ text: `see ${notes}` }, null, 2);
    await expect.poll(() => shown.textContent()).toBe(text);
    await takePicture(tab, "approvals-variable");
    await question.getByRole("button", { name: "Approve" }).click();
    await lastAnswer(tab)
      .getByText(`Sent ${`see ${notes}`.length} characters.`)
      .first()
      .waitFor();
  });

  test("shows the beginning and the end of a long one, and all of it when it is wanted", async () => {
    const { tab, question, shown } = await askedWith("read_book");
    await expect
      .poll(() => shown.textContent())
      .toMatch(/first page[^]*are not shown here[^]*last page/);
    await takePicture(tab, "approvals-long-variable");
    await question.getByRole("button", { name: "Show all of it" }).click();
    await expect.poll(() => shown.textContent()).toContain("\\u2062\\nlast page");
    await expect.poll(async () => (await shown.textContent())?.length ?? 0).toBeGreaterThan(30_000);
  });
});

describe("a question", () => {
  test("stands at its call, in the tray, in the list and in the tab's title, until it is decided", async () => {
    const { tab } = await opened();
    const question = askedIn(tab, "May send_message run?");
    await question.waitFor();
    expect(await question.getByRole("group", { name: "Arguments" }).innerText()).toBe(
      '{\n  "to": "Bob",\n  "text": "hello"\n}',
    );
    const inList = tab
      .getByRole("navigation", { name: "Chats" })
      .getByRole("link", { name: /^1 answer waits for you/ });
    await inList.waitFor();
    await expect.poll(() => tab.title()).toMatch(/^\(1\) /);
    const used = tab.getByTitle("Used by the whole chat, all versions");
    const ofAnswer = lastAnswer(tab).getByTitle("Tokens and cost");
    await expectSame(used, ofAnswer);
    await takePicture(tab, "approvals-in-place");

    await tab.getByRole("button", { name: oneWaits }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    const opener = tab.getByRole("button", { name: oneWaits });
    const [hand, count] = await Promise.all(
      ["svg", "span"].map((part) => opener.locator(part).boundingBox()),
    );
    expect(count?.x).toBeGreaterThan((hand?.x ?? 0) + (hand?.width ?? Infinity));
    await tray.getByText("asked by demo-agent").waitFor();
    await tray.getByRole("group", { name: "May send_message run?" }).waitFor();
    await takePicture(tab, "approvals-tray");

    await question.getByRole("button", { name: "Approve" }).click();
    const answer = await endedAnswer(tab);
    expect(await answer.innerText()).toContain("The message to Bob would have been sent.");
    await tab.getByRole("button", { name: nothingWaits }).waitFor();
    await tray.getByText("Nothing waits for you").waitFor();
    await inList.waitFor({ state: "detached" });
    await expect.poll(() => tab.title()).not.toContain("(");
  });

  test("is answered from wherever one is, and the tray leads to its chat", async () => {
    const { tab } = await opened({ dark: true });
    await askedIn(tab, /send_message/).waitFor();
    await tab.getByRole("link", { name: "Upstreams" }).click();
    await tab.getByRole("button", { name: oneWaits }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await takePicture(tab, "approvals-tray-dark");
    await tray.getByRole("link", { name: "Show in its chat" }).click();
    await askedIn(tab, /send_message/).waitFor();
    await tray.getByRole("button", { name: "Approve" }).click();
    expect(await (await endedAnswer(tab)).innerText()).toContain("would have been sent");
  });

  test("fits a phone", async () => {
    const { tab } = await opened({ phone: true });
    await askedIn(tab, /send_message/).waitFor();
    await takePicture(tab, "approvals-in-place-phone");
    await tab.getByRole("button", { name: oneWaits }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await tray.getByRole("button", { name: "Deny …" }).click();
    await takePicture(tab, "approvals-tray-phone");
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  });

  test("that is approved for the chat is not asked again there", async () => {
    const { tab } = await opened({ agent: "porter", says: 'ring_bell in "the hall"' });
    const question = askedIn(tab, "May ring_bell run?");
    await question.getByRole("button", { name: "For this chat" }).click();
    await takePicture(tab, "approvals-session");
    await tab.getByRole("menuitem", { name: "Allow these arguments for this chat" }).click();
    expect(await (await endedAnswer(tab)).innerText()).toContain("Rang 2 times in the hall.");

    await ask(tab, 'ring_bell once more in "the hall"');
    expect(await (await endedAnswer(tab)).innerText()).toContain("Rang 2 times in the hall.");

    await ask(tab, 'ring_bell in "the attic"');
    await askedIn(tab, "May ring_bell run?").getByRole("button", { name: "Approve" }).click();
    expect(await (await endedAnswer(tab)).innerText()).toContain("Rang 2 times in the attic.");
  });

  test("of a sub-agent's sub-agent is seen without unfolding anything, and goes on when decided", async () => {
    const { tab } = await opened({
      says: 'ask forecaster to ask messenger to send_message to Bob: "It is sunny"',
    });
    const question = askedIn(tab, "May send_message run?");
    await question.waitFor();
    await takePicture(tab, "approvals-depth-2");
    await tab.getByRole("button", { name: oneWaits }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await tray.getByText("asked by a sub-agent messenger").waitFor();
    await tray.getByRole("button", { name: "Approve" }).click();
    expect(await (await endedAnswer(tab)).innerText()).toContain("would have been sent");
  });

  test("is still asked after a reload", async () => {
    const { tab } = await opened();
    await askedIn(tab, /send_message/).waitFor();
    await tab.reload();
    await tab.getByRole("button", { name: oneWaits }).waitFor();
    await askedIn(tab, /send_message/)
      .getByRole("button", { name: "Approve" })
      .click();
    expect(await (await endedAnswer(tab)).innerText()).toContain("would have been sent");
  });
});

describe("arguments", () => {
  test("that are edited are checked at once, then by the gateway, and run when both agree", async () => {
    const { tab } = await opened({ agent: "porter", says: 'ring_bell in "the hall"' });
    const question = askedIn(tab, "May ring_bell run?");
    await question.getByRole("button", { name: "Edit" }).click();
    const field = question.getByRole("textbox", { name: "Edit the arguments" });
    const approve = question.getByRole("button", { name: "Approve with these arguments" });
    const says = async (words: string | RegExp) => question.getByText(words).waitFor();

    await field.fill('{ "room": "the hall", "times": ');
    await approve.click();
    await says(/This is no JSON/);
    await field.fill('{ "room": "the hall" }');
    await approve.click();
    await says("times is missing");
    await field.fill('{ "room": "the hall", "times": "three" }');
    await approve.click();
    await says("times: expected integer");
    await takePicture(tab, "approvals-edit-wrong");
    // What is more than a type is known to the gateway alone.
    await field.fill('{ "room": "the hall", "times": 7 }');
    await approve.click();
    await says(/times.*5/);
    await takePicture(tab, "approvals-edit-refused");
    await tab.getByRole("button", { name: oneWaits }).waitFor();
    await field.fill('{ "room": "the hall", "times": 3 }');
    await approve.click();
    const answer = await endedAnswer(tab);
    expect(await answer.innerText()).toContain("Rang 3 times in the hall.");
    // The call is told as it was run, now and after a reload.
    for (const each of [answer, lastAnswer(tab)]) {
      await each.getByRole("button", { name: /^ring_bell room: the hall, times: 3 / }).click();
      await each.getByText("Decided: approved with changed arguments").waitFor();
      await each.getByText("Asked by the model").click();
      await takePicture(tab, "approvals-edited");
      const asked = each.getByRole("group", { name: "Asked by the model" });
      expect(await asked.innerText()).toContain('"times": 2');
      if (each === answer) await tab.reload();
    }
  });

  test("that were begun are there after a look elsewhere and a reload, and gone when decided", async () => {
    const { tab, hash } = await opened();
    const question = askedIn(tab, mayRun);
    await question.getByRole("button", { name: "Edit" }).click();
    const begun = '{ "to": "Ann", "te';
    await question.getByRole("textbox").fill(begun);
    await tab.getByRole("link", { name: "Upstreams" }).click();
    await question.waitFor({ state: "detached" });
    await tab.evaluate((to) => (location.hash = to), hash);
    expect(await question.getByRole("textbox").inputValue()).toBe(begun);
    await tab.reload();
    expect(await question.getByRole("textbox").inputValue()).toBe(begun);
    expect(await focusedIn(tab)).not.toContain("Ann");
    await question.getByRole("textbox").fill('{ "to": "Ann", "text": "hello" }');
    await question.getByRole("button", { name: "Approve with these arguments" }).click();
    expect(await (await endedAnswer(tab)).innerText()).toContain("The message to Ann would");
    const kept = await tab.evaluate(() => Object.keys(localStorage));
    expect(kept.filter((name) => name.startsWith("deltawire.decision."))).toEqual([]);
  });

  test("that nobody wants after all are left by Escape, and the question stays", async () => {
    const { tab } = await opened();
    const question = askedIn(tab, /send_message/);
    await question.getByRole("button", { name: "Edit" }).click();
    await question.getByRole("textbox").fill("{}");
    await tab.keyboard.press("Escape");
    await question.getByRole("button", { name: "Approve" }).waitFor();
    expect(await question.getByRole("textbox").count()).toBe(0);
  });
});

test("whoever denies says why, and the model hears it", async () => {
  const { tab } = await opened();
  const question = askedIn(tab, /send_message/);
  await question.getByRole("button", { name: "Deny …" }).click();
  await question.getByRole("textbox", { name: "Reason" }).fill("Bob is asleep");
  await takePicture(tab, "approvals-deny");
  await question.getByRole("button", { name: "Deny", exact: true }).click();
  const answer = await endedAnswer(tab);
  expect(await answer.innerText()).toContain("The user refused this call: Bob is asleep");
  await answer.getByRole("button", { name: /^send_message .* Denied/ }).waitFor();
});

describe("a result that is held", () => {
  const says = 'open_private_note "keys"';

  test("is shown before it is released", async () => {
    const { tab } = await opened({ says });
    const question = askedIn(tab, "May the model see the result of open_private_note?");
    const held = question.getByRole("group", { name: "Result" });
    expect(await held.innerText()).toContain("below the third flower pot");
    await takePicture(tab, "approvals-result");
    await question.getByRole("button", { name: "Release" }).click();
    expect(await (await endedAnswer(tab)).innerText()).toContain("below the third flower pot");
  });

  test("is replaced by what somebody writes, and the model hears only that", async () => {
    const { tab } = await opened({ says });
    const question = askedIn(tab, /open_private_note/);
    await question.getByRole("button", { name: "Redact …" }).click();
    const field = question.getByRole("textbox", { name: "What the model is told instead" });
    await field.fill("The key is with the neighbours.");
    await takePicture(tab, "approvals-redact");
    await question.getByRole("button", { name: "Send this instead" }).click();
    const said = await (await endedAnswer(tab)).innerText();
    expect(said).toContain("The key is with the neighbours.");
    expect(said).not.toContain("flower pot");
  });
});

/** Of the tray: the card that keys decide, once they do. */
function keyed(tab: Page): Locator {
  return tab
    .getByRole("region", { name: "Waiting for you" })
    .getByRole("group")
    .filter({ has: tab.locator("[aria-keyshortcuts]") });
}

/** Two questions of one answer. */
async function twoAsked() {
  const says = 'send_message to Bob: "hello" and open_private_note "keys"';
  const { person, tab, hash } = await opened({ says });
  await tab.getByRole("button", { name: "Approvals: 2 waiting for you" }).waitFor();
  const tray = tab.getByRole("region", { name: "Waiting for you" });
  return { person, tab, hash, tray };
}

const mayRun = "May send_message run?";
const maySee = "May the model see the result of open_private_note?";

describe("the focus", () => {
  test("goes on to the next question, then to the button, by keys alone", async () => {
    const { tab, tray } = await twoAsked();
    await tab.getByRole("main").focus();
    await tab.keyboard.press("a");
    await expect.poll(() => focusedIn(tab)).toBe("Waiting for you");
    await keyed(tab).waitFor();
    await takePicture(tab, "approvals-tray-keys");
    // Left by Escape and by its button, the form gives the focus back.
    for (const leave of ["Escape", "Cancel"]) {
      await tabTo(tab, "Edit");
      await tab.keyboard.press("Enter");
      await expect.poll(() => focusedIn(tab)).toContain('"Bob"');
      if (leave === "Cancel") await tabTo(tab, leave);
      await tab.keyboard.press(leave === "Cancel" ? "Enter" : leave);
      await expect.poll(() => focusedIn(tab)).toBe("Edit");
    }
    await tabTo(tab, "Approve", "Shift+Tab");
    await tab.keyboard.press("Enter");
    await expect.poll(() => focusedIn(tab)).toBe(maySee);
    await tabTo(tab, "Release");
    await tab.keyboard.press("Enter");
    await tray.waitFor({ state: "detached" });
    await expect.poll(() => focusedIn(tab)).toBe(nothingWaits);
    await endedAnswer(tab);
  });

  test("is on a decision that could not be sent, which says so until the gateway is there again", async () => {
    const { person, tab } = await opened();
    const question = askedIn(tab, mayRun);
    await question.waitFor();
    await person.context.setOffline(true);
    await question.getByRole("button", { name: "Approve" }).press("Enter");
    await question
      .getByRole("alert")
      .getByText(/^Not decided yet: the gateway cannot/)
      .waitFor();
    await person.context.setOffline(false);
    await question.getByRole("alert").waitFor({ state: "detached" });
    expect(await focusedIn(tab)).toBe("Approve");
    await tab.keyboard.press("Enter");
    await endedAnswer(tab);
  });

  test("stays on a button whose decision is refused, and goes from the question to its call", async () => {
    const { person, tab } = await opened();
    const approve = askedIn(tab, mayRun).getByRole("button", { name: "Approve" });
    await person.context.route("**/api/approvals/*", (route) => route.abort());
    await approve.press("Enter");
    await askedIn(tab, mayRun).getByRole("alert").waitFor();
    expect(await focusedIn(tab)).toBe("Approve");
    await person.context.unroute("**/api/approvals/*");
    await tab.keyboard.press("Enter");
    await expect.poll(() => focusedIn(tab)).toMatch(/^send_message/);
    await endedAnswer(tab);
  });
});

test("a question is told to screen readers once, and no older one when another is decided", async () => {
  const { tab } = await opened({ says: 'send_message to Bob: "hello" in 2 steps' });
  await askedIn(tab, mayRun).waitFor();
  const said = tab.getByRole("banner").getByRole("status").filter({ hasText: "A decision" });
  await expect
    .poll(() => said.innerText())
    .toMatch(/^A decision is needed: May send_message run\?\s+1 waits for you\.$/);
  const before = await said.locator("p").first().elementHandle();
  await askedIn(tab, mayRun).getByRole("button", { name: "Approve" }).click();
  // The same words, told anew.
  await expect.poll(() => before?.evaluate((told) => told.isConnected)).toBe(false);
  await said.waitFor();
});

describe("Ctrl+Enter", () => {
  test("does not decide what has become the oldest under the finger", async () => {
    const { person, tab, hash, tray } = await twoAsked();
    await tab.getByRole("main").focus();
    await tab.keyboard.press("a");
    await keyed(tab).waitFor();
    const other = await person.tab(hash);
    await askedIn(other, mayRun).getByRole("button", { name: "Approve" }).click();
    // As soon as the other question is the first, and before anybody can have read it.
    await tab.evaluate(
      (gone) =>
        new Promise<void>((resolve) => {
          const look = () => {
            const first = document.querySelector(".approvals-panel h3")?.textContent;
            if (first === gone) {
              requestAnimationFrame(look);
              return;
            }
            const press = { key: "Enter", ctrlKey: true, bubbles: true };
            document.dispatchEvent(new KeyboardEvent("keydown", press));
            resolve();
          };
          look();
        }),
      mayRun,
    );
    await keyed(tab).waitFor();
    expect(await tray.getByRole("group", { name: maySee }).count()).toBe(1);
    await tab.keyboard.press("Control+Enter");
    await tray.waitFor({ state: "detached" });
    expect(await (await endedAnswer(tab)).innerText()).toContain("flower pot");
  });
});

test("the tab is called by the chat that it shows, also by one that the list has not read", async () => {
  const post = (path: string, body: object) =>
    fetch(`${stage.gateway.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const made = await post("/api/chats", { title: "Long ago" });
  const { chat } = (await made.json()) as { chat: { chat_id: string } };
  for (let count = 0; count < 60; count += 1) await post("/api/chats", { title: `Chat ${count}` });
  const tab = await (await stage.person()).tab(`#/chats/${chat.chat_id}`);
  await expect.poll(() => tab.title()).toBe("Long ago · Deltawire");
});

describe("by keys alone", () => {
  async function openedByKey(): Promise<Page> {
    const { tab } = await opened();
    await askedIn(tab, /send_message/).waitFor();
    await tab.getByRole("main").focus();
    await tab.keyboard.press("a");
    await keyed(tab).waitFor();
    return tab;
  }

  test("a opens the tray, Ctrl+Enter approves the oldest, and the tray closes after the last", async () => {
    const tab = await openedByKey();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await expect.poll(() => focusedIn(tab)).toBe("Waiting for you");
    const hints = await keyed(tab)
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
    await takePicture(tab, "approvals-keys");
    await tab.keyboard.press("Control+Enter");
    expect(await (await endedAnswer(tab)).innerText()).toContain("would have been sent");
    await tray.waitFor({ state: "detached" });
    await expect.poll(() => focusedIn(tab)).toBe(nothingWaits);
  });

  test("Escape leaves the tray, and nothing is decided", async () => {
    const tab = await openedByKey();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await tab.keyboard.press("Tab");
    await tab.keyboard.press("Escape");
    await tray.waitFor({ state: "detached" });
    await expect.poll(() => focusedIn(tab)).toBe(oneWaits);
  });

  test("Ctrl+Backspace denies the oldest", async () => {
    const tab = await openedByKey();
    await tab.keyboard.press("Control+Backspace");
    expect(await (await endedAnswer(tab)).innerText()).toContain("refused");
  });

  test("a reason is written and sent in the tray", async () => {
    const tab = await openedByKey();
    await tabTo(tab, "Deny …");
    await tab.keyboard.press("Enter");
    await tab.getByRole("textbox", { name: "Reason" }).and(tab.locator(":focus")).waitFor();
    await tab.keyboard.type("Not y, not now");
    await tab.keyboard.press("Tab");
    await tab.keyboard.press("Enter");
    expect(await (await endedAnswer(tab)).innerText()).toContain("Not y, not now");
  });

  test("Enter sends a reason, Shift+Enter makes a new line, and an input method keeps its Enter", async () => {
    const tab = await openedByKey();
    await tabTo(tab, "Deny …");
    await tab.keyboard.press("Enter");
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    const field = tray.getByRole("textbox", { name: "Reason" });
    await field.and(tab.locator(":focus")).waitFor();
    await tab.keyboard.type("Not now");
    await field.dispatchEvent("keydown", { key: "Enter", isComposing: true, bubbles: true });
    await tab.keyboard.press("Shift+Enter");
    await tab.keyboard.type("but later");
    expect(await field.inputValue()).toBe("Not now\nbut later");
    await takePicture(tab, "approvals-reason-keys");
    await tab.keyboard.press("Enter");
    const said = await (await endedAnswer(tab)).innerText();
    expect(said).toContain("Not now");
    expect(said).toContain("but later");
  });
});

test("a decision whose reply was lost is not called decided elsewhere", async () => {
  const { person, tab } = await opened();
  await person.context.route("**/api/approvals/*", async (route) => {
    expect((await route.fetch()).status()).toBe(200);
    await route.abort();
  });
  await askedIn(tab, mayRun).getByRole("button", { name: "Approve" }).click();
  expect(await (await endedAnswer(tab)).innerText()).toContain("would have been sent");
  await tab.getByRole("button", { name: nothingWaits }).waitFor();
  await takePicture(tab, "approvals-reply-lost");
  expect(await tab.getByText("Already decided elsewhere").count()).toBe(0);
});

test("the tray names a chat without a title that the list has not read", async () => {
  const { person, hash } = await opened();
  for (let count = 0; count < 55; count += 1) await stage.chat({}, `Chat ${count}`);
  expect(hash).toContain("#/chats/");
  const tab = await person.tab("#/upstreams");
  await tab.getByRole("button", { name: "Approvals: 1 waiting for you" }).click();
  const tray = tab.getByRole("region", { name: "Waiting for you" });
  await tray.getByText(`in “${message}”`).waitFor();
  await takePicture(tab, "approvals-tray-unread");
});

test("two tabs that decide at once end in the same state, and one is told what was decided", async () => {
  const { person, tab, hash } = await opened();
  const other = await person.tab(hash);
  await askedIn(tab, /send_message/).waitFor();
  await askedIn(other, /send_message/).waitFor();
  // Both decisions are on their way before the gateway gets one.
  const sent: (() => Promise<void>)[] = [];
  await person.context.route("**/api/approvals/*", (route) => {
    sent.push(() => route.continue());
  });
  await Promise.all([
    askedIn(tab, /send_message/)
      .getByRole("button", { name: "Approve" })
      .click(),
    askedIn(other, /send_message/)
      .getByRole("button", { name: "Approve" })
      .click(),
  ]);
  await expect.poll(() => sent.length).toBe(2);
  await Promise.all(sent.map((go) => go()));
  const told = (each: Page) =>
    each.getByText("Already decided elsewhere: approved (send_message)").count();
  // It is told for a while only.
  await expect.poll(async () => (await told(tab)) + (await told(other))).toBe(1);
  await takePicture((await told(tab)) === 1 ? tab : other, "approvals-too-late");

  const [one, two] = [await endedAnswer(tab), await endedAnswer(other)];
  for (const each of [tab, other]) await each.getByRole("button", { name: nothingWaits }).waitFor();
  expect(await one.innerText()).toContain("would have been sent");
  await expectSame(one, two);
});
