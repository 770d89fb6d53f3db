import type { Locator, Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { pictureFor, toneFor } from "@deltawire/demo";
import { doorman, holdTheDoor, openDoor } from "./doorman.ts";
import {
  answers,
  chooseWho,
  endedAnswers,
  messageBox,
  messages,
  pick,
  toldWith,
  topInView,
} from "./in-chat.ts";
import { focusedIn, say, staged, takePicture } from "./stage.ts";

/* Where messages are written: what goes with them, to whom, and what becomes of what is not sent yet. */

const stage = staged({
  agents: [doorman],
  toml: `[models]
usual = { use = "lab/clean" }
painter = { use = "lab/painter", type = "image-gen" }
speaker = { use = "lab/speaker", type = "audio-tts" }
listener = { use = "lab/listener", type = "audio-stt" }
`,
});

const picture = { name: "sea.png", mimeType: "image/png", buffer: pictureFor("the sea") };
const notes = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("3 mm a year") };

/** As the browser prints it. */
async function report(tab: Page): Promise<GivenFile> {
  const paper = await tab.context().newPage();
  await paper.setContent("<p>It rises.</p>");
  const buffer = await paper.pdf();
  await paper.close();
  return { name: "report.pdf", mimeType: "application/pdf", buffer };
}

interface GivenFile {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

async function opened(settings: object = { model: "usual" }): Promise<Page> {
  return (await stage.person()).tab(await stage.chat(settings));
}

function attached(tab: Page): Locator {
  return tab.getByRole("list", { name: "Attached" }).getByRole("listitem");
}

const told = (words: string) => toldWith(stage.requests, words);

async function attach(tab: Page, files: GivenFile[]): Promise<void> {
  const [chooser] = await Promise.all([
    tab.waitForEvent("filechooser"),
    pick(tab.getByRole("button", { name: "Attach", exact: true }), "Attach files"),
  ]);
  await chooser.setFiles(files);
  for (const { name } of files)
    await attached(tab)
      .getByRole("button", { name: `Remove ${name}` })
      .waitFor();
}

describe("what goes with a message", () => {
  test("is attached by the button: a picture, a text, a PDF", async () => {
    const tab = await opened();
    await attach(tab, [picture, notes, await report(tab)]);
    await tab.getByText("usual gets only the text of report.pdf.").waitFor();
    await takePicture(tab, "composer-attached");
    await attached(tab).getByRole("button", { name: "Remove notes.txt" }).click();
    await expect.poll(() => attached(tab).count()).toBe(2);
    await say(tab, "What are these?");
    const answer = await endedAnswers(tab, 1);
    expect(await answer.innerText()).toContain("I got 1 image (image/png");
    expect(told("What are these?")).toContain("It rises.");
    const message = messages(tab).first();
    await message.getByRole("link", { name: /report\.pdf/ }).waitFor();
    await message.getByRole("button", { name: "Open sea.png" }).click();
    const large = tab
      .getByRole("dialog", { name: "sea.png" })
      .getByRole("img", { name: "sea.png" });
    await expect.poll(() => large.evaluate(widthOf)).toBe(64);
    await takePicture(tab, "composer-sent-attachments");
  });

  test("is attached by pasting a picture", async () => {
    const tab = await opened();
    await tab.evaluate(
      async (bytes) => {
        const blob = new Blob([new Uint8Array(bytes)], { type: "image/png" });
        await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
      },
      [...picture.buffer],
    );
    await messageBox(tab).focus();
    await tab.keyboard.press("Control+v");
    await expect.poll(() => attached(tab).count()).toBe(1);
    await tab.getByRole("button", { name: /^Remove/ }).waitFor();
    await say(tab, "And this?");
    expect(await (await endedAnswers(tab, 1)).innerText()).toContain("I got 1 image");
  });

  test("is attached by dropping files anywhere in the chat", async () => {
    const tab = await opened();
    const transfer = await tab.evaluateHandle(
      (files) => {
        const all = new DataTransfer();
        for (const { name, mimeType, bytes } of files)
          all.items.add(new File([new Uint8Array(bytes)], name, { type: mimeType }));
        return all;
      },
      [picture, notes].map((file) => ({ ...file, buffer: null, bytes: [...file.buffer] })),
    );
    await messageBox(tab).waitFor();
    const place = tab.getByRole("main");
    await place.dispatchEvent("dragenter", { dataTransfer: transfer });
    await tab.getByText("Drop files to attach them").waitFor();
    await takePicture(tab, "composer-dropping");
    await place.dispatchEvent("dragover", { dataTransfer: transfer });
    await place.dispatchEvent("drop", { dataTransfer: transfer });
    await expect.poll(() => attached(tab).count()).toBe(2);
    await expect.poll(() => tab.getByText("Drop files to attach them").count()).toBe(0);
  });

  test("is a long text that was pasted, as a file beside the words", async () => {
    const tab = await opened();
    await messageBox(tab).fill("Read this: ");
    await tab.evaluate(() => navigator.clipboard.writeText("All work and no play. ".repeat(400)));
    await messageBox(tab).press("End");
    await tab.keyboard.press("Control+v");
    await tab.getByText(/^You pasted a long text/).waitFor();
    await takePicture(tab, "composer-long-paste");
    await tab.getByRole("button", { name: "Attach it as a file" }).click();
    await attached(tab).getByText("pasted.txt").waitFor();
    await expect.poll(() => messageBox(tab).inputValue()).toBe("Read this: ");
  });

  test("is a text beside it, which can be changed before it is sent", async () => {
    const tab = await opened();
    await pick(tab.getByRole("button", { name: "Attach", exact: true }), "Add a text beside it");
    const dialog = tab.getByRole("dialog", { name: "A text beside the message" });
    await dialog.getByLabel("Name").fill("report.md");
    await dialog.getByLabel("Text", { exact: true }).fill("It rises by 4 mm a year.");
    await takePicture(tab, "composer-text-beside");
    await dialog.getByRole("button", { name: "Done" }).click();
    await attached(tab).getByText("It rises by 4 mm a year.").waitFor();
    await say(tab, "Is that right?");
    await endedAnswers(tab, 1);
    expect(told("Is that right?")).toContain("It rises by 4 mm a year.");
    await messages(tab).first().getByText("report.md").waitFor();
  });
});

describe("pictures and sound", () => {
  test("are made, seen and heard", async () => {
    const tab = await opened({ model: "painter" });
    await say(tab, "a house by the sea");
    const painted = (await endedAnswers(tab, 1)).getByRole("img", { name: "Picture 1" });
    await expect.poll(() => painted.evaluate(widthOf)).toBe(64);
    await chooseWho(tab, "speaker");
    await say(tab, "Good morning");
    const answer = await endedAnswers(tab, 2);
    const player = answer.locator("audio");
    const heard = () =>
      player.evaluate(async (audio: HTMLAudioElement) => {
        audio.muted = true;
        await audio.play();
        return audio.currentTime > 0 || audio.ended;
      });
    await expect.poll(heard).toBe(true);
    await takePicture(tab, "composer-media");
    await answers(tab)
      .first()
      .getByRole("button", { name: /enlarge$/ })
      .click();
    await tab.getByRole("dialog", { name: "Picture 1" }).waitFor();
    await takePicture(tab, "composer-picture-large");
  });

  test("are written down, and who needs a recording says so", async () => {
    const tab = await opened({ model: "listener" });
    await tab.getByText("listener needs a recording: attach one.").waitFor();
    const sound = { name: "memo.wav", mimeType: "audio/wav", buffer: toneFor("Buy some milk") };
    await attach(tab, [sound]);
    await tab.getByText("listener needs a recording").waitFor({ state: "detached" });
    await tab.getByRole("button", { name: "Send" }).click();
    expect(await (await endedAnswers(tab, 1)).innerText()).toContain("Buy some milk");
    const player = messages(tab).first().locator("audio");
    await expect
      .poll(() => player.evaluate((audio: HTMLAudioElement) => audio.duration))
      .toBeGreaterThan(0.2);
    await takePicture(tab, "composer-listener");
  });
});

describe("while an answer runs", () => {
  test("something is told at its next step, and something when it is done", async () => {
    const tab = await opened({ agent: "doorman" });
    await holdTheDoor(tab);
    const said = (words: string) => tab.getByRole("log").getByText(words, { exact: true });
    await messageBox(tab).fill("Say it in French");
    await tab.getByRole("button", { name: /^Tell now/ }).click();
    await said("Say it in French").waitFor();
    await said("The model hears it at its next step.").waitFor();
    await messageBox(tab).fill("Then say goodbye");
    await takePicture(tab, "composer-telling");
    await tab.keyboard.press("Control+Enter");
    await said("The model hears it when it has answered.").waitFor();
    await expect.poll(() => said("Then say goodbye").evaluate(topInView)).toBe(true);
    await expect.poll(() => messageBox(tab).inputValue()).toBe("");
    // In one place only.
    await expect.poll(() => tab.getByText("Then say goodbye").count()).toBe(1);
    await takePicture(tab, "composer-told");
    openDoor();
    const answer = await endedAnswers(tab, 1);
    const all = await answer.innerText();
    expect(all).not.toContain("The model hears it");
    expect(all.indexOf("Say it in French")).toBeGreaterThan(-1);
    expect(all.indexOf("Then say goodbye")).toBeGreaterThan(all.indexOf("Say it in French"));
    expect(told("Then say goodbye")).toContain("Say it in French");
    await takePicture(tab, "composer-was-told");
  });

  test("what it did not hear before it was stopped is put back into the message", async () => {
    const tab = await opened({ agent: "doorman" });
    await holdTheDoor(tab);
    await messageBox(tab).fill("Then say goodbye");
    await tab.keyboard.press("Control+Enter");
    await tab.getByText("The model hears it when it has answered.").waitFor();
    expect(await tab.getByRole("button", { name: "Put back into the message" }).count()).toBe(0);
    await messageBox(tab).fill("First of all");
    await tab.getByRole("button", { name: "Stop the answer" }).click();
    await tab.getByText("The model did not hear it.").waitFor();
    await takePicture(tab, "composer-not-heard");
    await tab.getByRole("button", { name: "Put back into the message" }).click();
    expect(await messageBox(tab).inputValue()).toBe("First of all\n\nThen say goodbye");
    expect(await focusedIn(tab)).toBe("Message");
  });
});

test("what cannot be sent stays in the box, and that is said beside it until it is sent", async () => {
  const person = await stage.person();
  const tab = await person.tab(await stage.chat({ model: "usual" }));
  await tab.clock.install();
  await tab.reload();
  await messageBox(tab).waitFor();
  const notSent = tab.getByRole("form", { name: "Message" }).getByText(/^Not sent/);
  await person.context.setOffline(true);
  await tab.getByText(/This device is offline/).waitFor();
  await say(tab, "Say one");
  await tab.getByText(/Trying to send it/).waitFor();
  await takePicture(tab, "composer-trying");
  const triedLonger = async () => {
    await tab.clock.fastForward(8000);
    return notSent.count();
  };
  await expect.poll(triedLonger).toBe(1);
  expect(await messageBox(tab).inputValue()).toBe("Say one");
  expect(await tab.getByRole("region", { name: "Messages" }).innerText()).toBe("");
  await takePicture(tab, "composer-not-sent");
  await person.context.setOffline(false);
  await tab.getByText(/This device is offline/).waitFor({ state: "detached" });
  expect(await notSent.count()).toBe(1);
  await messageBox(tab).press("Enter");
  await notSent.waitFor({ state: "detached" });
  await endedAnswers(tab, 1);
  expect(await messages(tab).count()).toBe(1);
});

test("tools say what they are, and that they are added to those of an agent", async () => {
  const tab = await opened({ agent: "doorman" });
  await tab.getByTitle("Tools: those of doorman, none added").click();
  const menu = tab.getByRole("menu", { name: "Added to what doorman has" });
  const time = menu.getByRole("menuitemcheckbox", { name: "time", exact: true, checked: false });
  await expect.poll(() => time.innerText()).toContain("Tells date and time");
  await takePicture(tab, "composer-tools");
  await time.click();
  await tab.getByTitle("Tools: those of doorman, 1 added").click();
  await menu.getByRole("menuitemcheckbox", { name: "time", checked: true }).waitFor();
});

/** What the browser keeps of what is not sent yet. */
async function keptDrafts(tab: Page): Promise<string[]> {
  const kept = await tab.evaluate(() =>
    Object.entries(localStorage).filter(([name]) => name.startsWith("deltawire.draft.")),
  );
  const texts = kept.map(([, text]) => (JSON.parse(String(text)) as { text: string }).text);
  return texts.toSorted();
}

describe("what is not sent yet", () => {
  test("stays with its chat over reloads and other chats, and goes when it is sent", async () => {
    const person = await stage.person();
    const [one, other] = [await stage.chat(), await stage.chat()];
    const tab = await person.tab(one);
    await messageBox(tab).fill("half a thought");
    await attach(tab, [notes]);
    await tab.goto(tab.url().replace(one, other));
    await expect.poll(() => messageBox(tab).inputValue()).toBe("");
    await tab.goto(tab.url().replace(other, one));
    await expect.poll(() => messageBox(tab).inputValue()).toBe("half a thought");
    await tab.reload();
    await expect.poll(() => messageBox(tab).inputValue()).toBe("half a thought");
    await attached(tab).getByText("notes.txt").waitFor();
    await tab.getByRole("button", { name: "Send" }).click();
    await endedAnswers(tab, 1);
    await tab.reload();
    await answers(tab).first().waitFor();
    expect(await messageBox(tab).inputValue()).toBe("");
    expect(await attached(tab).count()).toBe(0);
  });

  test("is gone from where it was written once it is sent, whatever was attached on its way", async () => {
    const tab = await (await stage.person()).tab();
    let arrive = () => {};
    const onItsWay = new Promise<void>((resolve) => (arrive = resolve));
    await tab.route("**/send", async (route) => {
      await onItsWay;
      await route.continue();
    });
    await say(tab, "The first words");
    await expect.poll(() => messageBox(tab).inputValue()).toBe("The first words");
    await expect.poll(() => messageBox(tab).isEditable()).toBe(false);
    await attach(tab, [notes]);
    await attached(tab).getByText("notes.txt").waitFor();
    arrive();
    await endedAnswers(tab, 1);
    await expect.poll(() => messageBox(tab).inputValue()).toBe("");
    await expect.poll(() => messageBox(tab).isEditable()).toBe(true);
    expect(await attached(tab).getByText("notes.txt").count()).toBe(1);
    expect(await messages(tab).count()).toBe(1);
  });

  test("stays with each of two tabs of a chat, however often they are reloaded", async () => {
    const person = await stage.person();
    const hash = await stage.chat();
    const [one, other] = [await person.tab(hash), await person.tab(hash)];
    await messageBox(one).fill("of one tab");
    await messageBox(other).fill("of the other");
    for (const tab of [one, other, one, one, other]) {
      await tab.bringToFront();
      await tab.reload();
      const text = tab === one ? "of one tab" : "of the other";
      await expect.poll(() => messageBox(tab).inputValue()).toBe(text);
    }
    await messageBox(other).press("Enter");
    await endedAnswers(other, 1);
    await other.close();
    await one.close();
    const later = await person.tab(hash);
    await expect.poll(() => messageBox(later).inputValue()).toBe("of one tab");
    expect(await messages(later).first().innerText()).toContain("of the other");
  });

  test("leaves every tab that shows it when one of them sends it, and not what was typed since", async () => {
    const person = await stage.person();
    const hash = await stage.chat({ model: "usual" });
    const typing = await person.tab(hash);
    await messageBox(typing).fill("of all tabs");
    await expect.poll(() => keptDrafts(typing)).toEqual(["of all tabs"]);
    const [sending, changing] = [await person.tab(hash), await person.tab(hash)];
    for (const tab of [sending, changing])
      await expect.poll(() => messageBox(tab).inputValue()).toBe("of all tabs");
    await messageBox(changing).press("End");
    await messageBox(changing).pressSequentially("!");
    await messageBox(sending).press("Enter");
    for (const tab of [typing, sending])
      await expect.poll(() => messageBox(tab).inputValue()).toBe("");
    await endedAnswers(typing, 1);
    expect(await messageBox(changing).inputValue()).toBe("of all tabs!");
    await typing.reload();
    await endedAnswers(typing, 1);
    expect(await messageBox(typing).inputValue()).not.toBe("of all tabs");
  });

  test("stays with a tab that is hidden and with the copy that is made of it then", async () => {
    const person = await stage.person();
    const hash = await stage.chat({ model: "usual" });
    const tab = await person.tab(hash);
    await messageBox(tab).fill("of the tab");
    await tab.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    const ofTab = await tab.evaluate(() => Object.entries(sessionStorage));
    const copy = await person.context.newPage();
    // As a browser does it, which a test cannot ask for.
    await copy.addInitScript((all) => {
      for (const [name, value] of all) sessionStorage.setItem(name, String(value));
    }, ofTab);
    await copy.goto(tab.url());
    await expect.poll(() => messageBox(copy).inputValue()).toBe("of the tab");
    await messageBox(copy).fill("of the copy");
    for (const each of [copy, tab]) await each.reload();
    await expect.poll(() => keptDrafts(tab)).toEqual(["of the copy", "of the tab"]);
  });

  test("is not sent by the Enter of an input method", async () => {
    const tab = await opened();
    await messageBox(tab).focus();
    const line = await tab.context().newCDPSession(tab);
    await line.send("Input.imeSetComposition", {
      text: "你好",
      selectionStart: 2,
      selectionEnd: 2,
    });
    await tab.keyboard.press("Enter");
    await line.send("Input.insertText", { text: "你好" });
    expect(await messages(tab).count()).toBe(0);
    expect(await messageBox(tab).inputValue()).toContain("你好");
    await tab.keyboard.press("Enter");
    await endedAnswers(tab, 1);
    expect(await messages(tab).first().innerText()).toContain("你好");
  });

  test("has as many lines as it needs, and Shift+Enter makes one", async () => {
    const tab = await opened();
    const height = () => messageBox(tab).evaluate((box) => box.clientHeight);
    const one = await height();
    await messageBox(tab).focus();
    for (const word of ["one", "two", "three"]) {
      await tab.keyboard.type(word);
      await tab.keyboard.press("Shift+Enter");
    }
    expect(await messageBox(tab).inputValue()).toBe("one\ntwo\nthree\n");
    expect(await height()).toBeGreaterThan(2.5 * one);
    await messageBox(tab).fill("line\n".repeat(200));
    expect(await height()).toBeLessThan(400);
  });
});

test("an edited message is sent by the key that sends any message", async () => {
  const tab = await opened();
  await say(tab, "Say one");
  await endedAnswers(tab, 1);
  const editor = tab.getByRole("textbox", { name: "Edit your message" });
  const edit = async () => {
    await messages(tab).first().hover();
    await messages(tab).getByRole("button", { name: "Edit", exact: true }).click();
    await expect.poll(() => focusedIn(tab)).toBe("Edit your message");
  };
  await edit();
  await messages(tab).getByText("Enter sends, Shift+Enter makes a new line").waitFor();
  await takePicture(tab, "composer-edit-keys");
  await tab.keyboard.press("Shift+Enter");
  await tab.keyboard.type("Say two");
  expect(await editor.inputValue()).toBe("Say one\nSay two");
  await tab.keyboard.press("Enter");
  await editor.waitFor({ state: "detached" });
  await messages(tab).getByRole("group", { name: "Branch 2 of 2" }).waitFor();
  await endedAnswers(tab, 1);

  await pick(tab.getByRole("button", { name: "More", exact: true }), "Preferences");
  const dialog = tab.getByRole("dialog", { name: "Preferences" });
  await dialog.getByLabel("A message is sent by").selectOption("Ctrl+Enter or ⌘+Enter");
  await dialog.getByRole("button", { name: "Done" }).click();
  await edit();
  await tab.keyboard.press("Enter");
  expect(await editor.inputValue()).toBe("Say one\nSay two\n");
  await tab.keyboard.press("Control+Enter");
  await editor.waitFor({ state: "detached" });
  await messages(tab).getByRole("group", { name: "Branch 3 of 3" }).waitFor();
});

describe("an edit that is slow to be saved", () => {
  const editor = (tab: Page) => tab.getByRole("textbox", { name: "Edit your message" });
  const send = (tab: Page) => messages(tab).getByRole("button", { name: "Send", exact: true });
  const sendVersion = (tab: Page) =>
    messages(tab).getByRole("button", { name: "Send as version", exact: true });

  /** A message that was edited and sent; what is asked for that waits for the test. */
  async function sent() {
    const person = await stage.person();
    const [here, elsewhere] = [await stage.chat({ model: "usual" }), await stage.chat()];
    const tab = await person.tab(here);
    await say(tab, "Say one");
    await endedAnswers(tab, 1);
    const asked: Route[] = [];
    await tab.route("**/edit", (route) => void asked.push(route));
    await messages(tab).first().hover();
    await messages(tab).getByRole("button", { name: "Edit", exact: true }).click();
    await editor(tab).fill("Say two");
    await sendVersion(tab).click();
    await expect.poll(() => asked.length).toBe(1);
    const leaveAndComeBack = async () => {
      await tab.evaluate((hash) => (location.hash = hash), elsewhere);
      await editor(tab).waitFor({ state: "detached" });
      await tab.evaluate((hash) => (location.hash = hash), here);
      await expect.poll(() => editor(tab).inputValue()).toBe("Say two");
    };
    return { tab, asked, leaveAndComeBack };
  }

  test("is known to be on its way when its chat is left and come back to, and closed when it has arrived", async () => {
    const { tab, asked, leaveAndComeBack } = await sent();
    await leaveAndComeBack();
    expect(await send(tab).getAttribute("aria-busy")).toBe("true");
    expect(await editor(tab).isEditable()).toBe(false);
    await takePicture(tab, "composer-edit-on-its-way");
    await send(tab).click({ force: true });
    await editor(tab).press("Control+Enter");
    await messageBox(tab).focus();
    await asked[0]?.continue();
    await editor(tab).waitFor({ state: "detached" });
    await tab.getByRole("group", { name: "Version 2 of 2" }).first().waitFor();
    expect(await focusedIn(tab)).toBe("Message");
    expect(asked).toHaveLength(1);
    await tab.reload();
    await messages(tab).first().getByText("Say two").waitFor();
    expect(await editor(tab).count()).toBe(0);
  });

  test("is closed, too, if it has arrived while it was out of sight", async () => {
    const said = Array.from({ length: 40 }, (_, at) => [
      { role: "user", content: at === 0 ? "The beginning" : `Question ${at}` },
      { role: "assistant", content: `Answer ${at} goes on. `.repeat(60) },
    ]);
    const tab = await (await stage.person()).tab(await stage.importChat({ messages: said.flat() }));
    const scrollTo = (end: "top" | "bottom") =>
      tab
        .getByRole("log", { name: "Conversation" })
        .evaluate((list, to) => list.scrollTo(0, to === "top" ? 0 : list.scrollHeight), end);
    const first = messages(tab).filter({ hasText: "The beginning" });
    const toTop = async () => {
      const isThere = async () => {
        await scrollTo("top");
        return first.count();
      };
      await expect.poll(isThere).toBe(1);
    };
    await toTop();
    await first.hover();
    await first.getByRole("button", { name: "Edit", exact: true }).click();
    await editor(tab).fill("The beginning of it");
    const asked: Route[] = [];
    await tab.route("**/edit", (route) => void asked.push(route));
    await messages(tab).getByRole("button", { name: "Only change" }).click();
    await expect.poll(() => asked.length).toBe(1);
    await scrollTo("bottom");
    await editor(tab).waitFor({ state: "detached" });
    const arrived = tab.waitForResponse("**/edit");
    await asked[0]?.continue();
    await arrived;
    await toTop();
    await first.getByRole("group", { name: "Version 2 of 2" }).waitFor();
    await expect.poll(() => editor(tab).count()).toBe(0);
  });

  test("is there to be sent again if it failed meanwhile, and is sent once", async () => {
    const { tab, asked, leaveAndComeBack } = await sent();
    await leaveAndComeBack();
    // The gateway has got it, and the reply is lost.
    await asked[0]?.fetch();
    await asked[0]?.fulfill({ status: 500, body: "{}" });
    await expect.poll(() => send(tab).getAttribute("aria-busy")).toBe(null);
    expect(await editor(tab).inputValue()).toBe("Say two");
    // Not `unroute`: a request that is sent while interception ends may never be answered.
    await tab.route("**/edit", (route) => route.continue());
    await sendVersion(tab).click();
    await editor(tab).waitFor({ state: "detached" });
    await tab.getByRole("group", { name: "Version 2 of 2" }).first().waitFor();
  });
});

function widthOf(image: Element): number {
  return (image as HTMLImageElement).naturalWidth;
}
