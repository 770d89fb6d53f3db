import type { Locator, Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { testGateway } from "./gateway.ts";
import { doorman, holdTheDoor, openDoor } from "./doorman.ts";
import {
  answers,
  chooseWho,
  endedAnswers,
  messageBox,
  messages,
  moreOf,
  pick,
  undo,
} from "./in-chat.ts";
import { ask, focusedIn, say, staged, takePicture } from "./stage.ts";

/* What somebody trips over who is here for the first time. */

const stage = staged({
  agents: [doorman],
  toml: `[models]
usual = { use = "lab/clean" }
painter = { use = "lab/painter", type = "image-gen" }
`,
});

async function opened(settings: object = { model: "usual" }): Promise<Page> {
  return (await stage.person()).tab(await stage.chat(settings));
}

async function waitingAtDoor(): Promise<Page> {
  const tab = await opened({ agent: "doorman" });
  await holdTheDoor(tab);
  return tab;
}

const hasFocus = (locator: Locator) =>
  locator.evaluate((element) => document.activeElement === element);

test("that only the demo answers is said, with how another model comes in its place", async () => {
  const gateway = await testGateway("");
  onTestFinished(() => gateway.close());
  const person = await stage.person({}, gateway.url);
  const tab = await person.tab();
  const hint =
    /^Only the demo answers here\..* OPENAI_API_KEY\) or run npm start -- --upstream URL/;
  await tab.getByRole("main").getByText(hint).waitFor();
  await takePicture(tab, "first-demo");
  await say(tab, "Hello");
  await endedAnswers(tab, 1);
  expect(await tab.getByText(hint).count()).toBe(0);
  await tab.goto(`${gateway.url}/#/upstreams`);
  await tab.getByRole("region", { name: "demo", exact: true }).getByText(hint).waitFor();

  // The models of this one have other names.
  const other = await (await stage.person()).tab();
  await other.getByRole("region", { name: "Things to try" }).waitFor();
  expect(await other.getByText(hint).count()).toBe(0);
});

describe("keys", () => {
  test("work after Escape, which leaves the box for the last message", async () => {
    const tab = await opened();
    await say(tab, "Hello");
    await endedAnswers(tab, 1);
    await expect.poll(() => hasFocus(messageBox(tab))).toBe(true);
    await tab.keyboard.press("Escape");
    await expect.poll(() => hasFocus(answers(tab).first())).toBe(true);
    await tab.keyboard.press("k");
    await expect.poll(() => hasFocus(messages(tab).first())).toBe(true);
    await tab.keyboard.press("?");
    const shortcuts = tab.getByRole("dialog");
    await shortcuts.getByText("Leave the message box").waitFor();
    await takePicture(tab, "first-shortcuts");
  });

  test("leave the box of the start page too", async () => {
    const tab = await (await stage.person()).tab();
    await expect.poll(() => hasFocus(messageBox(tab))).toBe(true);
    await tab.keyboard.press("Escape");
    await expect.poll(() => hasFocus(messageBox(tab))).toBe(false);
    await tab.keyboard.press("?");
    await tab.getByRole("dialog").getByText("Leave the message box").waitFor();
  });

  test("stop an answer while somebody writes", async () => {
    const tab = await waitingAtDoor();
    const stop = tab.getByRole("button", { name: "Stop the answer" });
    expect(await stop.getAttribute("title")).toBe("Stop the answer (Ctrl+.)");
    await messageBox(tab).fill("wait");
    await tab.keyboard.press("Control+.");
    await answers(tab).first().getByText("Stopped", { exact: true }).waitFor();
    expect(await messageBox(tab).inputValue()).toBe("wait");
  });
});

describe("the focus", () => {
  test("goes to the box after Stop, and to the answer after Retry", async () => {
    const tab = await waitingAtDoor();
    const answer = answers(tab).first();
    const press = async (name: string) => {
      const button = answer.getByRole("button", { name, exact: true });
      await button.press("Enter");
      await button.waitFor({ state: "detached" });
    };
    await press("Stop");
    expect(await hasFocus(messageBox(tab))).toBe(true);
    await press("Retry");
    expect(await hasFocus(answer)).toBe(true);
  });

  test("of somebody who writes meanwhile stays in the box", async () => {
    const tab = await waitingAtDoor();
    await answers(tab).first().getByRole("button", { name: "Stop", exact: true }).focus();
    await messageBox(tab).focus();
    await tab.keyboard.press("Control+.");
    await answers(tab).first().getByText("Stopped", { exact: true }).waitFor();
    expect(await hasFocus(messageBox(tab))).toBe(true);
  });
});

test("the palette stays where it is while less and less is found", async () => {
  const tab = await opened();
  await messageBox(tab).waitFor();
  await tab.keyboard.press("Control+k");
  const field = tab.getByRole("dialog").getByRole("combobox");
  const place = async () => (await field.boundingBox())?.y;
  const before = await place();
  await field.fill("nothing is called so");
  await tab
    .getByRole("dialog")
    .getByText(/^Nothing is called/)
    .waitFor();
  expect(await place()).toBe(before);
});

describe("who answers", () => {
  test("is chosen, and then the message is written", async () => {
    const tab = await opened();
    await chooseWho(tab, "painter");
    await expect.poll(() => focusedIn(tab)).toBe("Message");
  });

  test("is found in the palette, in a chat and at the start", async () => {
    const person = await stage.person();
    for (const tab of [await person.tab(await stage.chat()), await person.tab()]) {
      const form = tab.getByRole("form", { name: "Message" });
      await form.getByRole("button", { name: /^Answered by/ }).waitFor();
      await tab.keyboard.press("Control+k");
      await tab.getByRole("dialog").getByRole("combobox").and(tab.locator(":focus")).waitFor();
      await tab.keyboard.type("painter");
      await takePicture(tab, "first-palette");
      await tab.getByRole("option", { name: /^Answer with painter/ }).click();
      await form.getByRole("button", { name: "Answered by: painter" }).waitFor();
      await expect.poll(() => focusedIn(tab)).toBe("Message");
    }
  });

  test("while an answer runs is who writes it; a choice holds from the next message on", async () => {
    const tab = await waitingAtDoor();
    const form = tab.getByRole("form", { name: "Message" });
    await messageBox(tab).fill("And another thing");
    await form.getByText("To doorman, which is answering", { exact: true }).waitFor();
    await form.getByRole("button", { name: /^Answered by/ }).click();
    await tab.getByText("The choice holds from the next message on.").waitFor();
    await takePicture(tab, "first-choice-while-running");
    await tab.keyboard.press("Escape");
    await chooseWho(tab, "usual");
    const both = "To doorman, which is answering. usual answers from the next message on.";
    await form.getByText(both).waitFor();
    await takePicture(tab, "first-told-to");
    openDoor();
    await endedAnswers(tab, 1);
    await form.getByText(both).waitFor({ state: "detached" });
  });

  test("is named with all who made the parts, and an end that was gone on from is not drawn", async () => {
    const tab = await opened({ model: "lab/slow" });
    const answer = await ask(tab, "long 3000");
    await answer.getByText("this is a long answer").first().waitFor();
    await tab.keyboard.press("Control+.");
    await answer.getByRole("button", { name: "Continue" }).waitFor();
    await chooseWho(tab, "usual");
    await answer.getByRole("button", { name: "Continue" }).click();
    await tab.getByRole("article", { name: "Answer of lab/slow, usual" }).waitFor();
    await expect.poll(() => answer.getByText(/^Stopped|breaks off/).count()).toBe(0);
    await takePicture(tab, "first-continued");
  });
});

test("a picture has no words to copy", async () => {
  const tab = await opened({ model: "painter" });
  await say(tab, "A house");
  const answer = await endedAnswers(tab, 1);
  expect(await answer.getByRole("button", { name: "Copy", exact: true }).count()).toBe(0);
  await moreOf(answer).click();
  await tab.getByRole("menu").waitFor();
  expect(await tab.getByRole("menuitem", { name: "Copy" }).count()).toBe(0);
  await tab.keyboard.press("Escape");
  await tab.getByRole("menu").waitFor({ state: "detached" });
  // After a click a letter is typed into the message; after Tab it is a key of the page.
  await tab.keyboard.press("Shift+Tab");
  await tab.keyboard.press("c");
  await tab.getByText("There are no words to copy.").waitFor();
});

test("what is masked is said beside who answers, and leads to where it is set", async () => {
  const fields = [{ kind: "email" }, { kind: "phone" }, { kind: "card" }, { kind: "key" }];
  const tab = await opened({ model: "usual", privacy: { enabled: true, fields } });
  const sign = tab.getByRole("button", { name: "Masked: E-mail address, Phone number, 2 more" });
  await sign.waitFor();
  await takePicture(tab, "first-masked");
  await sign.click();
  const dialog = tab.getByRole("dialog", { name: "Settings of this chat" });
  const off = dialog.getByRole("switch", { name: "Mask private values" });
  await off.uncheck();
  await dialog
    .getByText("Switched on, it masks: E-mail address, Phone number, Card number, Key or token.")
    .waitFor();
  await takePicture(tab, "first-mask-off");
  await dialog.getByRole("button", { name: "Save" }).click();
  await sign.waitFor({ state: "detached" });
});

test("files that say nothing to a model are told of before they are sent", async () => {
  const tab = await opened();
  const files = [
    { name: "nothing.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) },
    { name: "tool.bin", mimeType: "", buffer: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0xff]) },
    { name: "main.zig", mimeType: "", buffer: Buffer.from("pub fn main() void {}") },
  ];
  const [chooser] = await Promise.all([
    tab.waitForEvent("filechooser"),
    pick(tab.getByRole("button", { name: "Attach", exact: true }), "Attach files"),
  ]);
  await chooser.setFiles(files);
  await tab.getByText("nothing.txt is empty: there is nothing to attach.").waitFor();
  await tab.getByText("usual cannot take tool.bin: it is told only the name.").waitFor();
  const attached = tab.getByRole("list", { name: "Attached" }).getByRole("listitem");
  await expect.poll(() => attached.count()).toBe(2);
  expect(await tab.getByText(/main\.zig: /).count()).toBe(0);
  await takePicture(tab, "first-files");
});

describe("a chat", () => {
  test("without a title is called by its first question", async () => {
    const tab = await opened({ agent: "doorman" });
    const title = tab.getByRole("main").getByRole("heading", { level: 1 });
    await expect.poll(() => title.innerText()).toBe("New chat");
    await holdTheDoor(tab, "hold_door, please");
    await expect.poll(() => title.innerText()).toBe("hold_door, please");
    await expect.poll(() => tab.title()).toBe("hold_door, please · Deltawire");
    openDoor();
    await endedAnswers(tab, 1);
  });

  test("is pinned by its menu; deleted and taken back it is shown again", async () => {
    const tab = await opened();
    await ask(tab, "Hello");
    await endedAnswers(tab, 1);
    const menu = tab.getByRole("main").getByRole("button", { name: "More for this chat" });
    await pick(menu, "Pin");
    await menu.click();
    await tab.getByRole("menuitem", { name: "Unpin" }).waitFor();
    await tab.keyboard.press("Escape");
    await pick(menu, "Delete the chat");
    await tab.getByRole("heading", { name: "What shall we do?" }).waitFor();
    await undo(tab, "eleted");
    await messages(tab).first().waitFor();
    await messageBox(tab).waitFor();
  });
});
