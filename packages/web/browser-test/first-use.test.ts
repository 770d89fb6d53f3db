import type { Locator, Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { testGateway } from "./gateway.ts";
import { blockingAgent, startBlockingTool, releaseBlockingTool } from "./blocking-agent.ts";
import {
  getAnswers,
  chooseResponder,
  waitForAnswers,
  getComposerInput,
  getMessages,
  getMoreButton,
  chooseMenuItem,
  undoByToast,
  getStopButton,
} from "./chat-actions.ts";
import {
  sendAndWaitForAnswer,
  getFocusedName,
  sendMessage,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

/* What new users see and need first. */

const fixture = setupBrowserFixture({
  agents: [blockingAgent],
  toml: `[models]
usual = { use = "lab/clean" }
painter = { use = "lab/painter", type = "image-gen" }
`,
});

async function openChatTab(settings: object = { model: "usual" }): Promise<Page> {
  return (await fixture.newUser()).tab(await fixture.createChat(settings));
}

async function openRunningChat(): Promise<Page> {
  const tab = await openChatTab({ agent: "blocker" });
  await startBlockingTool(tab);
  return tab;
}

const hasFocus = (locator: Locator) =>
  locator.evaluate((element) => document.activeElement === element);

test("a notice says that only the demo model is available and how to use a real one", async () => {
  const gateway = await testGateway("");
  onTestFinished(() => gateway.close());
  const user = await fixture.newUser({}, gateway.url);
  const tab = await user.tab();
  const hint =
    /^Only the demo model is available\..* OPENAI_API_KEY\), or with npm start -- --upstream URL/;
  await tab.getByRole("main").getByText(hint).waitFor();
  await takeScreenshot(tab, "first-demo");
  await sendMessage(tab, "Hello");
  await waitForAnswers(tab, 1);
  expect(await tab.getByText(hint).count()).toBe(0);
  await tab.goto(`${gateway.url}/#/upstreams`);
  await tab.getByRole("region", { name: "demo", exact: true }).getByText(hint).waitFor();

  // This gateway has other model names.
  const other = await (await fixture.newUser()).tab();
  await other.getByRole("region", { name: "Things to try" }).waitFor();
  expect(await other.getByText(hint).count()).toBe(0);
});

describe("shortcuts", () => {
  test("work after Escape, which moves the focus from the composer to the last message", async () => {
    const tab = await openChatTab();
    await sendMessage(tab, "Hello");
    await waitForAnswers(tab, 1);
    await expect.poll(() => hasFocus(getComposerInput(tab))).toBe(true);
    await tab.keyboard.press("Escape");
    await expect.poll(() => hasFocus(getAnswers(tab).first())).toBe(true);
    await tab.keyboard.press("k");
    await expect.poll(() => hasFocus(getMessages(tab).first())).toBe(true);
    await tab.keyboard.press("?");
    const shortcuts = tab.getByRole("dialog");
    await shortcuts.getByText("Leave the message box").waitFor();
    await takeScreenshot(tab, "first-shortcuts");
  });

  test("work after Escape on the start page, too", async () => {
    const tab = await (await fixture.newUser()).tab();
    await expect.poll(() => hasFocus(getComposerInput(tab))).toBe(true);
    await tab.keyboard.press("Escape");
    await expect.poll(() => hasFocus(getComposerInput(tab))).toBe(false);
    await tab.keyboard.press("?");
    await tab.getByRole("dialog").getByText("Leave the message box").waitFor();
  });

  test("stop an answer while the user is typing", async () => {
    const tab = await openRunningChat();
    const stop = getStopButton(tab);
    expect(await stop.getAttribute("title")).toBe("Stop (Ctrl+.)");
    await getComposerInput(tab).fill("wait");
    await tab.keyboard.press("Control+.");
    await getAnswers(tab).first().getByText("Stopped", { exact: true }).waitFor();
    expect(await getComposerInput(tab).inputValue()).toBe("wait");
  });
});

describe("the focus", () => {
  test("moves to the composer after Stop, and to the answer after Retry", async () => {
    const tab = await openRunningChat();
    const answer = getAnswers(tab).first();
    const press = async (name: string) => {
      const button = answer.getByRole("button", { name, exact: true });
      await button.press("Enter");
      await button.waitFor({ state: "detached" });
    };
    await press("Stop");
    expect(await hasFocus(getComposerInput(tab))).toBe(true);
    await press("Retry");
    expect(await hasFocus(answer)).toBe(true);
  });

  test("stays in the composer while the user is typing", async () => {
    const tab = await openRunningChat();
    await getAnswers(tab).first().getByRole("button", { name: "Stop", exact: true }).focus();
    await getComposerInput(tab).focus();
    await tab.keyboard.press("Control+.");
    await getAnswers(tab).first().getByText("Stopped", { exact: true }).waitFor();
    expect(await hasFocus(getComposerInput(tab))).toBe(true);
  });
});

test("the palette stays in place when there are fewer results", async () => {
  const tab = await openChatTab();
  await getComposerInput(tab).waitFor();
  await tab.keyboard.press("Control+k");
  const field = tab.getByRole("dialog").getByRole("combobox");
  const getTop = async () => (await field.boundingBox())?.y;
  const before = await getTop();
  await field.fill("nothing is called so");
  await tab
    .getByRole("dialog")
    .getByText(/^No results for/)
    .waitFor();
  expect(await getTop()).toBe(before);
});

describe("the model or agent", () => {
  test("can be chosen, and then the composer has the focus", async () => {
    const tab = await openChatTab();
    await chooseResponder(tab, "painter");
    await expect.poll(() => getFocusedName(tab)).toBe("Message");
  });

  test("can be found in the palette, in a chat and on the start page", async () => {
    const user = await fixture.newUser();
    for (const tab of [await user.tab(await fixture.createChat()), await user.tab()]) {
      const form = tab.getByRole("form", { name: "Message" });
      await form.getByRole("button", { name: /^Answer with/ }).waitFor();
      await tab.keyboard.press("Control+k");
      await tab.getByRole("dialog").getByRole("combobox").and(tab.locator(":focus")).waitFor();
      await tab.keyboard.type("painter");
      await takeScreenshot(tab, "first-palette");
      await tab.getByRole("option", { name: /^Answer with painter/ }).click();
      await form.getByRole("button", { name: "Answer with: painter" }).waitFor();
      await expect.poll(() => getFocusedName(tab)).toBe("Message");
    }
  });

  test("of a running answer does not change: a choice applies from the next message on", async () => {
    const tab = await openRunningChat();
    const form = tab.getByRole("form", { name: "Message" });
    await getComposerInput(tab).fill("And another thing");
    await form.getByText("Message blocker while it answers", { exact: true }).waitFor();
    await form.getByRole("button", { name: /^Answer with/ }).click();
    await tab.getByText("Applies from your next message on.").waitFor();
    await takeScreenshot(tab, "first-choice-while-running");
    await tab.keyboard.press("Escape");
    await chooseResponder(tab, "usual");
    const both = "Message blocker while it answers. usual answers from your next message on.";
    await form.getByText(both).waitFor();
    await takeScreenshot(tab, "first-responder");
    releaseBlockingTool();
    await waitForAnswers(tab, 1);
    await form.getByText(both).waitFor({ state: "detached" });
  });

  test("is shown for every part of a continued answer, and the ending of the first part is hidden", async () => {
    const tab = await openChatTab({ model: "lab/slow" });
    const answer = await sendAndWaitForAnswer(tab, "long 3000");
    await answer.getByText("this is a long answer").first().waitFor();
    await tab.keyboard.press("Control+.");
    await answer.getByRole("button", { name: "Continue" }).waitFor();
    await chooseResponder(tab, "usual");
    await answer.getByRole("button", { name: "Continue" }).click();
    await tab.getByRole("article", { name: "Answer from lab/slow, usual" }).waitFor();
    await expect.poll(() => answer.getByText(/^Stopped|breaks off/).count()).toBe(0);
    await takeScreenshot(tab, "first-continued");
  });
});

test("an answer that is an image has no text to copy", async () => {
  const tab = await openChatTab({ model: "painter" });
  await sendMessage(tab, "A house");
  const answer = await waitForAnswers(tab, 1);
  expect(await answer.getByRole("button", { name: "Copy", exact: true }).count()).toBe(0);
  await getMoreButton(answer).click();
  await tab.getByRole("menu").waitFor();
  expect(await tab.getByRole("menuitem", { name: "Copy" }).count()).toBe(0);
  await tab.keyboard.press("Escape");
  await tab.getByRole("menu").waitFor({ state: "detached" });
  // After a click, letters are typed into the composer; after the Tab key, they are shortcuts.
  await tab.keyboard.press("Shift+Tab");
  await tab.keyboard.press("c");
  await tab.getByText("There is no text to copy.").waitFor();
});

test("the kinds of masked values are shown next to the model and lead to their settings", async () => {
  const fields = [{ kind: "email" }, { kind: "phone" }, { kind: "card" }, { kind: "key" }];
  const tab = await openChatTab({ model: "usual", privacy: { enabled: true, fields } });
  const maskButton = tab.getByRole("button", {
    name: "Masked: Email address, Phone number, 2 more",
  });
  await maskButton.waitFor();
  await takeScreenshot(tab, "first-masked");
  await maskButton.click();
  const dialog = tab.getByRole("dialog", { name: "Chat settings" });
  const off = dialog.getByRole("switch", { name: "Mask private values" });
  await off.uncheck();
  await dialog
    .getByText("When on, masks: Email address, Phone number, Card number, Key or token.")
    .waitFor();
  await takeScreenshot(tab, "first-mask-off");
  await dialog.getByRole("button", { name: "Save" }).click();
  await maskButton.waitFor({ state: "detached" });
});

test("files that a model cannot read are reported before they are sent", async () => {
  const tab = await openChatTab();
  const files = [
    { name: "nothing.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) },
    { name: "tool.bin", mimeType: "", buffer: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0xff]) },
    { name: "main.zig", mimeType: "", buffer: Buffer.from("pub fn main() void {}") },
  ];
  const [chooser] = await Promise.all([
    tab.waitForEvent("filechooser"),
    chooseMenuItem(tab.getByRole("button", { name: "Attach", exact: true }), "Attach files"),
  ]);
  await chooser.setFiles(files);
  await tab.getByText("nothing.txt is empty and was not attached.").waitFor();
  await tab.getByText("Only the name is sent: usual cannot read tool.bin").waitFor();
  const attached = tab.getByRole("list", { name: "Attachments" }).getByRole("listitem");
  await expect.poll(() => attached.count()).toBe(2);
  expect(await tab.getByText(/main\.zig: /).count()).toBe(0);
  await takeScreenshot(tab, "first-files");
});

describe("a chat", () => {
  test("without a title is named after its first message", async () => {
    const tab = await openChatTab({ agent: "blocker" });
    const title = tab.getByRole("main").getByRole("heading", { level: 1 });
    await expect.poll(() => title.innerText()).toBe("New chat");
    await startBlockingTool(tab, "block_answer, please");
    await expect.poll(() => title.innerText()).toBe("block_answer, please");
    await expect.poll(() => tab.title()).toBe("block_answer, please · Deltawire");
    releaseBlockingTool();
    await waitForAnswers(tab, 1);
  });

  test("can be pinned from its menu, and is shown again after undoing its deletion", async () => {
    const tab = await openChatTab();
    await sendAndWaitForAnswer(tab, "Hello");
    await waitForAnswers(tab, 1);
    const menu = tab.getByRole("main").getByRole("button", { name: "Actions for this chat" });
    await chooseMenuItem(menu, "Pin");
    await menu.click();
    await tab.getByRole("menuitem", { name: "Unpin" }).waitFor();
    await tab.keyboard.press("Escape");
    await chooseMenuItem(menu, "Delete chat");
    await tab.getByRole("heading", { name: "What can I help with?" }).waitFor();
    await undoByToast(tab, "eleted");
    await getMessages(tab).first().waitFor();
    await getComposerInput(tab).waitFor();
  });
});
