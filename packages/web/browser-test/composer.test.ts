import type { Locator, Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createSampleImage, createSampleAudio } from "@deltawire/demo";
import { blockingAgent, startBlockingTool, releaseBlockingTool } from "./blocking-agent.ts";
import {
  getAnswers,
  chooseResponder,
  waitForAnswers,
  getComposerInput,
  getMessages,
  chooseMenuItem,
  findModelRequest,
  isTopInView,
  getStopButton,
} from "./chat-actions.ts";
import {
  getFocusedName,
  sendMessage,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

/* The composer: attachments, context, model choice and drafts. */

const fixture = setupBrowserFixture({
  agents: [blockingAgent],
  toml: `[models]
usual = { use = "lab/clean" }
painter = { use = "lab/painter", type = "image-gen" }
speaker = { use = "lab/speaker", type = "audio-tts" }
listener = { use = "lab/listener", type = "audio-stt" }
`,
});

const imageFile = { name: "sea.png", mimeType: "image/png", buffer: createSampleImage("the sea") };
const textFile = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("3 mm a year") };

/** Creates a PDF with the browser's print function. */
async function createPdfFile(tab: Page): Promise<TestFile> {
  const pdfPage = await tab.context().newPage();
  await pdfPage.setContent("<p>It rises.</p>");
  const buffer = await pdfPage.pdf();
  await pdfPage.close();
  return { name: "report.pdf", mimeType: "application/pdf", buffer };
}

interface TestFile {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

async function openChatTab(settings: object = { model: "usual" }): Promise<Page> {
  return (await fixture.newUser()).tab(await fixture.createChat(settings));
}

function getAttachments(tab: Page): Locator {
  return tab.getByRole("list", { name: "Attachments" }).getByRole("listitem");
}

const getModelRequest = (words: string) => findModelRequest(fixture.requests, words);

async function attach(tab: Page, files: TestFile[]): Promise<void> {
  const [chooser] = await Promise.all([
    tab.waitForEvent("filechooser"),
    chooseMenuItem(tab.getByRole("button", { name: "Attach", exact: true }), "Attach files"),
  ]);
  await chooser.setFiles(files);
  for (const { name } of files)
    await getAttachments(tab)
      .getByRole("button", { name: `Remove ${name}` })
      .waitFor();
  await waitForUploads(tab);
}

/** A message can only be sent when its attachments are uploaded. */
async function waitForUploads(tab: Page): Promise<void> {
  await expect
    .poll(() =>
      getAttachments(tab)
        .getByText(/^Uploading/)
        .count(),
    )
    .toBe(0);
}

describe("attachments and context", () => {
  test("can be added with the button: an image, a text file, a PDF", async () => {
    const tab = await openChatTab();
    await attach(tab, [imageFile, textFile, await createPdfFile(tab)]);
    await tab.getByText("Only the text is sent to usual: report.pdf").waitFor();
    await takeScreenshot(tab, "composer-attached");
    await getAttachments(tab).getByRole("button", { name: "Remove notes.txt" }).click();
    await expect.poll(() => getAttachments(tab).count()).toBe(2);
    await sendMessage(tab, "What are these?");
    const answer = await waitForAnswers(tab, 1);
    expect(await answer.innerText()).toContain("I received 1 image (image/png");
    expect(getModelRequest("What are these?")).toContain("It rises.");
    const message = getMessages(tab).first();
    await message.getByRole("link", { name: /report\.pdf/ }).waitFor();
    await message.getByRole("button", { name: "Open sea.png" }).click();
    const large = tab
      .getByRole("dialog", { name: "sea.png" })
      .getByRole("img", { name: "sea.png" });
    await expect.poll(() => large.evaluate(getImageWidth)).toBe(64);
    await takeScreenshot(tab, "composer-sent-attachments");
  });

  test("can be added by pasting an image", async () => {
    const tab = await openChatTab();
    await tab.evaluate(
      async (bytes) => {
        const blob = new Blob([new Uint8Array(bytes)], { type: "image/png" });
        await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
      },
      [...imageFile.buffer],
    );
    await getComposerInput(tab).focus();
    await tab.keyboard.press("Control+v");
    await expect.poll(() => getAttachments(tab).count()).toBe(1);
    await waitForUploads(tab);
    await sendMessage(tab, "And this?");
    expect(await (await waitForAnswers(tab, 1)).innerText()).toContain("I received 1 image");
  });

  test("can be added by dropping files anywhere in the chat", async () => {
    const tab = await openChatTab();
    const transfer = await tab.evaluateHandle(
      (files) => {
        const dataTransfer = new DataTransfer();
        for (const { name, mimeType, bytes } of files)
          dataTransfer.items.add(new File([new Uint8Array(bytes)], name, { type: mimeType }));
        return dataTransfer;
      },
      [imageFile, textFile].map((file) => ({ ...file, buffer: null, bytes: [...file.buffer] })),
    );
    await getComposerInput(tab).waitFor();
    const dropTarget = tab.getByRole("main");
    await dropTarget.dispatchEvent("dragenter", { dataTransfer: transfer });
    await tab.getByText("Drop files to attach them").waitFor();
    await takeScreenshot(tab, "composer-dropping");
    await dropTarget.dispatchEvent("dragover", { dataTransfer: transfer });
    await dropTarget.dispatchEvent("drop", { dataTransfer: transfer });
    await expect.poll(() => getAttachments(tab).count()).toBe(2);
    await expect.poll(() => tab.getByText("Drop files to attach them").count()).toBe(0);
  });

  test("can be a file that is made from a long pasted text", async () => {
    const tab = await openChatTab();
    await getComposerInput(tab).fill("Read this: ");
    await tab.evaluate(() => navigator.clipboard.writeText("All work and no play. ".repeat(400)));
    await getComposerInput(tab).press("End");
    await tab.keyboard.press("Control+v");
    await tab.getByText(/^You pasted a lot of text/).waitFor();
    await takeScreenshot(tab, "composer-long-paste");
    await tab.getByRole("button", { name: "Attach as a file" }).click();
    await getAttachments(tab).getByText("pasted.txt").waitFor();
    await expect.poll(() => getComposerInput(tab).inputValue()).toBe("Read this: ");
  });

  test("can be added as a context snippet, and edited before sending", async () => {
    const tab = await openChatTab();
    await chooseMenuItem(tab.getByRole("button", { name: "Attach", exact: true }), "Add context");
    const dialog = tab.getByRole("dialog", { name: "Context" });
    await dialog.getByLabel("Name").fill("report.md");
    await dialog.getByLabel("Text", { exact: true }).fill("It rises by 4 mm a year.");
    await takeScreenshot(tab, "composer-context-snippet");
    await dialog.getByRole("button", { name: "Done" }).click();
    await getAttachments(tab).getByText("It rises by 4 mm a year.").waitFor();
    await sendMessage(tab, "Is that right?");
    await waitForAnswers(tab, 1);
    expect(getModelRequest("Is that right?")).toContain("It rises by 4 mm a year.");
    await getMessages(tab).first().getByText("report.md").waitFor();
  });
});

describe("media models", () => {
  test("generate images and audio, which are shown and played", async () => {
    const tab = await openChatTab({ model: "painter" });
    await sendMessage(tab, "a house by the sea");
    const image = (await waitForAnswers(tab, 1)).getByRole("img", { name: "Image 1" });
    await expect.poll(() => image.evaluate(getImageWidth)).toBe(64);
    await chooseResponder(tab, "speaker");
    await sendMessage(tab, "Good morning");
    const answer = await waitForAnswers(tab, 2);
    const player = answer.locator("audio");
    const isPlaying = () =>
      player.evaluate(async (audio: HTMLAudioElement) => {
        audio.muted = true;
        await audio.play();
        return audio.currentTime > 0 || audio.ended;
      });
    await expect.poll(isPlaying).toBe(true);
    await takeScreenshot(tab, "composer-media");
    await getAnswers(tab)
      .first()
      .getByRole("button", { name: /^Enlarge/ })
      .click();
    await tab.getByRole("dialog", { name: "Image 1" }).waitFor();
    await takeScreenshot(tab, "composer-image-enlarged");
  });

  test("transcribe audio, and a notice asks for it if none is attached", async () => {
    const tab = await openChatTab({ model: "listener" });
    await tab.getByText("listener needs an audio file. Attach one.").waitFor();
    const recording = {
      name: "memo.wav",
      mimeType: "audio/wav",
      buffer: createSampleAudio("Buy some milk"),
    };
    await attach(tab, [recording]);
    await tab.getByText("listener needs an audio file").waitFor({ state: "detached" });
    await tab.getByRole("button", { name: "Send" }).click();
    expect(await (await waitForAnswers(tab, 1)).innerText()).toContain("Buy some milk");
    const player = getMessages(tab).first().locator("audio");
    await expect
      .poll(() => player.evaluate((audio: HTMLAudioElement) => audio.duration))
      .toBeGreaterThan(0.2);
    await takeScreenshot(tab, "composer-listener");
  });
});

describe("while an answer runs", () => {
  test("a message can be sent for the next round of the answer, or queued until the answer is complete", async () => {
    const tab = await openChatTab({ agent: "blocker" });
    await startBlockingTool(tab);
    const findInLog = (words: string) => tab.getByRole("log").getByText(words, { exact: true });
    await getComposerInput(tab).fill("Say it in French");
    await tab.getByRole("button", { name: /^Send now/ }).click();
    await findInLog("Say it in French").waitFor();
    await findInLog("The model will see it in its next round.").waitFor();
    await getComposerInput(tab).fill("Then say goodbye");
    await takeScreenshot(tab, "composer-send-during-answer");
    await tab.keyboard.press("Control+Enter");
    await findInLog("The model will see it after this answer.").waitFor();
    await expect.poll(() => findInLog("Then say goodbye").evaluate(isTopInView)).toBe(true);
    await expect.poll(() => getComposerInput(tab).inputValue()).toBe("");
    // The text is shown only once.
    await expect.poll(() => tab.getByText("Then say goodbye").count()).toBe(1);
    await takeScreenshot(tab, "composer-input");
    releaseBlockingTool();
    const answer = await waitForAnswers(tab, 1);
    const all = await answer.innerText();
    expect(all).not.toContain("The model will see it");
    expect(all.indexOf("Say it in French")).toBeGreaterThan(-1);
    expect(all.indexOf("Then say goodbye")).toBeGreaterThan(all.indexOf("Say it in French"));
    expect(getModelRequest("Then say goodbye")).toContain("Say it in French");
    await takeScreenshot(tab, "composer-input-delivered");
  });

  test("a message that the model had not received before a stop can be moved back to the composer", async () => {
    const tab = await openChatTab({ agent: "blocker" });
    await startBlockingTool(tab);
    await getComposerInput(tab).fill("Then say goodbye");
    await tab.keyboard.press("Control+Enter");
    await tab.getByText("The model will see it after this answer.").waitFor();
    expect(await tab.getByRole("button", { name: "Move back to the message box" }).count()).toBe(0);
    await getComposerInput(tab).fill("First of all");
    await getStopButton(tab).click();
    await tab.getByText("The model did not see it.").waitFor();
    await takeScreenshot(tab, "composer-input-undelivered");
    await tab.getByRole("button", { name: "Move back to the message box" }).click();
    expect(await getComposerInput(tab).inputValue()).toBe("First of all\n\nThen say goodbye");
    expect(await getFocusedName(tab)).toBe("Message");
  });
});

test("a message that cannot be sent stays in the composer with a notice until it is sent", async () => {
  const user = await fixture.newUser();
  const tab = await user.tab(await fixture.createChat({ model: "usual" }));
  await tab.clock.install();
  await tab.reload();
  await getComposerInput(tab).waitFor();
  const notSent = tab.getByRole("form", { name: "Message" }).getByText(/^Not sent/);
  await user.context.setOffline(true);
  await tab.getByText(/You are offline/).waitFor();
  await sendMessage(tab, "Say one");
  await tab.getByText(/Still trying to send/).waitFor();
  await takeScreenshot(tab, "composer-retrying");
  const countNotSentAfterWaiting = async () => {
    await tab.clock.fastForward(8000);
    return notSent.count();
  };
  await expect.poll(countNotSentAfterWaiting).toBe(1);
  expect(await getComposerInput(tab).inputValue()).toBe("Say one");
  expect(await tab.getByRole("region", { name: "Notifications" }).innerText()).toBe("");
  await takeScreenshot(tab, "composer-not-sent");
  await user.context.setOffline(false);
  await tab.getByText(/You are offline/).waitFor({ state: "detached" });
  expect(await notSent.count()).toBe(1);
  await getComposerInput(tab).press("Enter");
  await notSent.waitFor({ state: "detached" });
  await waitForAnswers(tab, 1);
  expect(await getMessages(tab).count()).toBe(1);
});

test("tool groups have descriptions, and are added to those of an agent", async () => {
  const tab = await openChatTab({ agent: "blocker" });
  await tab.getByTitle("Tools: blocker's own").click();
  const menu = tab.getByRole("menu", { name: "In addition to blocker's own tools" });
  const time = menu.getByRole("menuitemcheckbox", { name: "time", exact: true, checked: false });
  await expect.poll(() => time.innerText()).toContain("Gets the date and time");
  await takeScreenshot(tab, "composer-tools");
  await time.click();
  await tab.getByTitle("Tools: blocker's own, 1 added").click();
  await menu.getByRole("menuitemcheckbox", { name: "time", checked: true }).waitFor();
});

/** Returns the drafts in the browser's storage. */
async function readSavedDrafts(tab: Page): Promise<string[]> {
  const stored = await tab.evaluate(() =>
    Object.entries(localStorage).filter(([name]) => name.startsWith("deltawire.draft.")),
  );
  const texts = stored.map(([, text]) => (JSON.parse(String(text)) as { text: string }).text);
  return texts.toSorted();
}

describe("a draft", () => {
  test("stays with its chat across reloads and visits to other chats until it is sent", async () => {
    const user = await fixture.newUser();
    const [one, other] = [await fixture.createChat(), await fixture.createChat()];
    const tab = await user.tab(one);
    await getComposerInput(tab).fill("half a thought");
    await attach(tab, [textFile]);
    await tab.goto(tab.url().replace(one, other));
    await expect.poll(() => getComposerInput(tab).inputValue()).toBe("");
    await tab.goto(tab.url().replace(other, one));
    await expect.poll(() => getComposerInput(tab).inputValue()).toBe("half a thought");
    await tab.reload();
    await expect.poll(() => getComposerInput(tab).inputValue()).toBe("half a thought");
    await getAttachments(tab).getByText("notes.txt").waitFor();
    await tab.getByRole("button", { name: "Send" }).click();
    await waitForAnswers(tab, 1);
    await tab.reload();
    await getAnswers(tab).first().waitFor();
    expect(await getComposerInput(tab).inputValue()).toBe("");
    expect(await getAttachments(tab).count()).toBe(0);
  });

  test("is cleared when it has been sent, except files that were attached in the meantime", async () => {
    const tab = await (await fixture.newUser()).tab();
    let releaseRequest = () => {};
    const requestReleased = new Promise<void>((resolve) => (releaseRequest = resolve));
    await tab.route("**/send", async (route) => {
      await requestReleased;
      await route.continue();
    });
    await sendMessage(tab, "The first words");
    await expect.poll(() => getComposerInput(tab).inputValue()).toBe("The first words");
    await expect.poll(() => getComposerInput(tab).isEditable()).toBe(false);
    await attach(tab, [textFile]);
    await getAttachments(tab).getByText("notes.txt").waitFor();
    releaseRequest();
    await waitForAnswers(tab, 1);
    await expect.poll(() => getComposerInput(tab).inputValue()).toBe("");
    await expect.poll(() => getComposerInput(tab).isEditable()).toBe(true);
    expect(await getAttachments(tab).getByText("notes.txt").count()).toBe(1);
    expect(await getMessages(tab).count()).toBe(1);
  });

  test("stays with each of two tabs of a chat, however often they are reloaded", async () => {
    const user = await fixture.newUser();
    const hash = await fixture.createChat();
    const [one, other] = [await user.tab(hash), await user.tab(hash)];
    await getComposerInput(one).fill("of one tab");
    await getComposerInput(other).fill("of the other");
    for (const tab of [one, other, one, one, other]) {
      await tab.bringToFront();
      await tab.reload();
      const text = tab === one ? "of one tab" : "of the other";
      await expect.poll(() => getComposerInput(tab).inputValue()).toBe(text);
    }
    await getComposerInput(other).press("Enter");
    await waitForAnswers(other, 1);
    await other.close();
    await one.close();
    const later = await user.tab(hash);
    await expect.poll(() => getComposerInput(later).inputValue()).toBe("of one tab");
    expect(await getMessages(later).first().innerText()).toContain("of the other");
  });

  test("disappears in every tab that shows it when one of them sends it, except text that was typed since", async () => {
    const user = await fixture.newUser();
    const hash = await fixture.createChat({ model: "usual" });
    const typing = await user.tab(hash);
    await getComposerInput(typing).fill("of all tabs");
    await expect.poll(() => readSavedDrafts(typing)).toEqual(["of all tabs"]);
    const [sending, changing] = [await user.tab(hash), await user.tab(hash)];
    for (const tab of [sending, changing])
      await expect.poll(() => getComposerInput(tab).inputValue()).toBe("of all tabs");
    await getComposerInput(changing).press("End");
    await getComposerInput(changing).pressSequentially("!");
    await getComposerInput(sending).press("Enter");
    for (const tab of [typing, sending])
      await expect.poll(() => getComposerInput(tab).inputValue()).toBe("");
    await waitForAnswers(typing, 1);
    expect(await getComposerInput(changing).inputValue()).toBe("of all tabs!");
    await typing.reload();
    await waitForAnswers(typing, 1);
    expect(await getComposerInput(typing).inputValue()).not.toBe("of all tabs");
  });

  test("stays with a hidden tab and with the duplicate of that tab", async () => {
    const user = await fixture.newUser();
    const hash = await fixture.createChat({ model: "usual" });
    const tab = await user.tab(hash);
    await getComposerInput(tab).fill("of the tab");
    await tab.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    const sessionEntries = await tab.evaluate(() => Object.entries(sessionStorage));
    const copy = await user.context.newPage();
    // This simulates the duplication of a tab, which Playwright does not support.
    await copy.addInitScript((entries) => {
      for (const [name, value] of entries) sessionStorage.setItem(name, String(value));
    }, sessionEntries);
    await copy.goto(tab.url());
    await expect.poll(() => getComposerInput(copy).inputValue()).toBe("of the tab");
    await getComposerInput(copy).fill("of the copy");
    for (const each of [copy, tab]) await each.reload();
    await expect.poll(() => readSavedDrafts(tab)).toEqual(["of the copy", "of the tab"]);
  });

  test("is not sent by the Enter key while an input method handles it", async () => {
    const tab = await openChatTab();
    await getComposerInput(tab).focus();
    const cdp = await tab.context().newCDPSession(tab);
    await cdp.send("Input.imeSetComposition", {
      text: "你好",
      selectionStart: 2,
      selectionEnd: 2,
    });
    await tab.keyboard.press("Enter");
    await cdp.send("Input.insertText", { text: "你好" });
    expect(await getMessages(tab).count()).toBe(0);
    expect(await getComposerInput(tab).inputValue()).toContain("你好");
    await tab.keyboard.press("Enter");
    await waitForAnswers(tab, 1);
    expect(await getMessages(tab).first().innerText()).toContain("你好");
  });

  test("has a box that grows with its lines, and Shift+Enter adds a line", async () => {
    const tab = await openChatTab();
    const height = () => getComposerInput(tab).evaluate((box) => box.clientHeight);
    const one = await height();
    await getComposerInput(tab).focus();
    for (const word of ["one", "two", "three"]) {
      await tab.keyboard.type(word);
      await tab.keyboard.press("Shift+Enter");
    }
    expect(await getComposerInput(tab).inputValue()).toBe("one\ntwo\nthree\n");
    expect(await height()).toBeGreaterThan(2.5 * one);
    await getComposerInput(tab).fill("line\n".repeat(200));
    expect(await height()).toBeLessThan(400);
  });
});

test("Enter sends an edited message, as it sends a new one", async () => {
  const tab = await openChatTab();
  await sendMessage(tab, "Say one");
  await waitForAnswers(tab, 1);
  const editor = tab.getByRole("textbox", { name: "Edit your message" });
  const openEditor = async () => {
    await getMessages(tab).first().hover();
    await getMessages(tab).getByRole("button", { name: "Edit", exact: true }).click();
    await expect.poll(() => getFocusedName(tab)).toBe("Edit your message");
  };
  await openEditor();
  await getMessages(tab).getByText("Enter to send, Shift+Enter for a new line").waitFor();
  await takeScreenshot(tab, "composer-edit-keys");
  await tab.keyboard.press("Shift+Enter");
  await tab.keyboard.type("Say two");
  expect(await editor.inputValue()).toBe("Say one\nSay two");
  await tab.keyboard.press("Enter");
  await editor.waitFor({ state: "detached" });
  await getMessages(tab).getByRole("group", { name: "Branch 2 of 2" }).waitFor();
  await waitForAnswers(tab, 1);

  await chooseMenuItem(tab.getByRole("button", { name: "More", exact: true }), "Preferences");
  const dialog = tab.getByRole("dialog", { name: "Preferences" });
  await dialog.getByLabel("Send with").selectOption("Ctrl+Enter or ⌘+Enter");
  await dialog.getByRole("button", { name: "Done" }).click();
  await openEditor();
  await tab.keyboard.press("Enter");
  expect(await editor.inputValue()).toBe("Say one\nSay two\n");
  await tab.keyboard.press("Control+Enter");
  await editor.waitFor({ state: "detached" });
  await getMessages(tab).getByRole("group", { name: "Branch 3 of 3" }).waitFor();
});

describe("an edit that is slow to be saved", () => {
  const editor = (tab: Page) => tab.getByRole("textbox", { name: "Edit your message" });
  const send = (tab: Page) => getMessages(tab).getByRole("button", { name: "Send", exact: true });
  const sendVersion = (tab: Page) =>
    getMessages(tab).getByRole("button", { name: "Send as new version", exact: true });

  /** Sends an edited message and holds its request until the test releases it. */
  async function sendHeldEdit() {
    const user = await fixture.newUser();
    const [here, elsewhere] = [
      await fixture.createChat({ model: "usual" }),
      await fixture.createChat(),
    ];
    const tab = await user.tab(here);
    await sendMessage(tab, "Say one");
    await waitForAnswers(tab, 1);
    const requests: Route[] = [];
    await tab.route("**/edit-message", (route) => void requests.push(route));
    await getMessages(tab).first().hover();
    await getMessages(tab).getByRole("button", { name: "Edit", exact: true }).click();
    await editor(tab).fill("Say two");
    await sendVersion(tab).click();
    await expect.poll(() => requests.length).toBe(1);
    const leaveAndComeBack = async () => {
      await tab.evaluate((hash) => (location.hash = hash), elsewhere);
      await editor(tab).waitFor({ state: "detached" });
      await tab.evaluate((hash) => (location.hash = hash), here);
      await expect.poll(() => editor(tab).inputValue()).toBe("Say two");
    };
    return { tab, requests, leaveAndComeBack };
  }

  test("is still shown as sending after a visit to another chat, and its editor closes when it is saved", async () => {
    const { tab, requests, leaveAndComeBack } = await sendHeldEdit();
    await leaveAndComeBack();
    expect(await send(tab).getAttribute("aria-busy")).toBe("true");
    expect(await editor(tab).isEditable()).toBe(false);
    await takeScreenshot(tab, "composer-edit-sending");
    await send(tab).click({ force: true });
    await editor(tab).press("Control+Enter");
    await getComposerInput(tab).focus();
    await requests[0]?.continue();
    await editor(tab).waitFor({ state: "detached" });
    await tab.getByRole("group", { name: "Version 2 of 2" }).first().waitFor();
    expect(await getFocusedName(tab)).toBe("Message");
    expect(requests).toHaveLength(1);
    await tab.reload();
    await getMessages(tab).first().getByText("Say two").waitFor();
    expect(await editor(tab).count()).toBe(0);
  });

  test("closes its editor even if the editor is scrolled out of view", async () => {
    const messages = Array.from({ length: 40 }, (_, index) => [
      { role: "user", content: index === 0 ? "The beginning" : `Question ${index}` },
      { role: "assistant", content: `Answer ${index} goes on. `.repeat(60) },
    ]);
    const tab = await (
      await fixture.newUser()
    ).tab(await fixture.importChat({ messages: messages.flat() }));
    const scrollTo = (end: "top" | "bottom") =>
      tab
        .getByRole("log", { name: "Conversation" })
        .evaluate((list, to) => list.scrollTo(0, to === "top" ? 0 : list.scrollHeight), end);
    const first = getMessages(tab).filter({ hasText: "The beginning" });
    const scrollToFirst = async () => {
      const countFirst = async () => {
        await scrollTo("top");
        return first.count();
      };
      await expect.poll(countFirst).toBe(1);
    };
    await scrollToFirst();
    await first.hover();
    await first.getByRole("button", { name: "Edit", exact: true }).click();
    await editor(tab).fill("The beginning of it");
    const requests: Route[] = [];
    await tab.route("**/edit-message", (route) => void requests.push(route));
    await getMessages(tab).getByRole("button", { name: "Save without sending" }).click();
    await expect.poll(() => requests.length).toBe(1);
    await scrollTo("bottom");
    await editor(tab).waitFor({ state: "detached" });
    const response = tab.waitForResponse("**/edit-message");
    await requests[0]?.continue();
    await response;
    await scrollToFirst();
    await first.getByRole("group", { name: "Version 2 of 2" }).waitFor();
    await expect.poll(() => editor(tab).count()).toBe(0);
  });

  test("can be sent again if its reply is lost, and is saved only once", async () => {
    const { tab, requests, leaveAndComeBack } = await sendHeldEdit();
    await leaveAndComeBack();
    // The gateway receives the request, but the reply is lost.
    await requests[0]?.fetch();
    await requests[0]?.fulfill({ status: 500, body: "{}" });
    await expect.poll(() => send(tab).getAttribute("aria-busy")).toBe(null);
    expect(await editor(tab).inputValue()).toBe("Say two");
    // `unroute` is not used, because a request that is sent while interception ends may never get a reply.
    await tab.route("**/edit-message", (route) => route.continue());
    await sendVersion(tab).click();
    await editor(tab).waitFor({ state: "detached" });
    await tab.getByRole("group", { name: "Version 2 of 2" }).first().waitFor();
  });
});

function getImageWidth(image: Element): number {
  return (image as HTMLImageElement).naturalWidth;
}
