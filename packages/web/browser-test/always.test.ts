import { defineAgent } from "@deltawire/agent";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { freePort } from "../../../test/free-port.ts";
import { gatewayProcess, temporaryFolder } from "./gateway.ts";
import { doorman, openDoor } from "./doorman.ts";
import { HeldModel } from "./held-model.ts";
import { callLine } from "./in-chat.ts";
import { ask, endedAnswer, lastAnswer, staged, takePicture, type Person } from "./stage.ts";

const held = new HeldModel();
/** Has somebody whose answer runs for as long as a test wants. */
const landlord = defineAgent({
  name: "landlord",
  instructions: "You have doors held.",
  model: "lab/clean",
  agents: [doorman],
});
const stage = staged({ paceMs: 8, held, agents: [landlord, doorman] });
const longAnswer = "long 300";
const words = Array.from({ length: 300 });

/** Everything that was said, once it has ended. */
async function saidAtEnd(tab: Page): Promise<string> {
  await endedAnswer(tab);
  return tab.getByRole("log", { name: "Conversation" }).innerText();
}

async function expectSameInFreshTab(person: Person, tab: Page): Promise<void> {
  await endedAnswer(tab);
  await expectSame(tab, await person.tab(new URL(tab.url()).hash));
}

async function expectSame(...tabs: Page[]): Promise<void> {
  await expect
    .poll(() => Promise.all(tabs.map(saidAtEnd)))
    .toSatisfy((said: string[]) => new Set(said).size === 1);
}

/** Of a long answer: how many words of it are there. */
function wordCount(tab: Page): Promise<number> {
  return lastAnswer(tab)
    .getByText(/^this is a long answer/)
    .innerText({ timeout: 30_000 })
    .then((text) => text.split(/\s+/).length);
}

function notice(tab: Page) {
  return tab.getByRole("banner").getByRole("status").first();
}

/** It says so, and after a while nothing. Begun before it is back: what it says is gone soon. */
async function expectBack(tab: Page): Promise<void> {
  await notice(tab).getByText("Connected again").waitFor({ timeout: 30_000 });
  await expect.poll(() => notice(tab).innerText(), { timeout: 30_000 }).toBe("");
}

describe("a reload", () => {
  test("in mid-sentence goes on where it was, and ends as if there had been none", async () => {
    const person = await stage.person();
    const tab = await person.tab(await stage.chat());
    held.holdAfter(100);
    await ask(tab, longAnswer);
    await expect.poll(() => wordCount(tab)).toBeGreaterThan(30);
    await tab.reload();
    // Not from its beginning: what was said before the reload is there at once.
    expect(await wordCount(tab)).toBeGreaterThan(30);
    expect(await lastAnswer(tab).getAttribute("aria-busy")).toBe("true");
    await takePicture(tab, "always-reloaded-in-mid-sentence");
    held.letGo();
    await expectSameInFreshTab(person, tab);
    expect(await wordCount(tab)).toBe(words.length);
  });

  test("in mid-approval asks again, and ends as if there had been none", async () => {
    const person = await stage.person();
    const tab = await person.tab(await stage.chat());
    await ask(tab, 'please send_message to Bob: "hello"');
    await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
    await tab.reload();
    await lastAnswer(tab).getByRole("button", { name: "Approve" }).click();
    await expectSameInFreshTab(person, tab);
  });

  test("in the middle of a sub-agent shows it at work, and ends as if there had been none", async () => {
    const person = await stage.person();
    const tab = await person.tab(await stage.chat({ agent: "landlord" }));
    await ask(tab, "ask doorman to hold_door");
    const atWork = callLine(lastAnswer(tab), /^Sub-agent doorman hold_door .*Running/);
    const stop = lastAnswer(tab).getByRole("button", { name: "Stop doorman" });
    await atWork.waitFor();
    await stop.waitFor();
    await tab.reload();
    await atWork.waitFor();
    await stop.waitFor();
    openDoor();
    await expectSameInFreshTab(person, tab);
    expect(await saidAtEnd(tab)).toContain("Somebody went through.");
  });

  test("keeps what was written and not sent, in each chat", async () => {
    const person = await stage.person();
    const [one, other] = [await stage.chat(), await stage.chat()];
    const tab = await person.tab(one);
    const box = tab.getByRole("textbox", { name: "Message", exact: true });
    await box.fill("Half a thou");
    await tab.reload();
    await expect.poll(() => box.inputValue()).toBe("Half a thou");
    await tab.evaluate((hash) => (location.hash = hash), other);
    await expect.poll(() => box.inputValue()).toBe("");
    await tab.evaluate((hash) => (location.hash = hash), one);
    await expect.poll(() => box.inputValue()).toBe("Half a thou");
    await ask(tab, "Half a thought");
    await endedAnswer(tab);
    await tab.reload();
    await endedAnswer(tab);
    expect(await box.inputValue()).toBe("");
  });
});

test("a second tab sees every word as it comes, and so does one in another browser", async () => {
  const [person, somebody] = [await stage.person(), await stage.person()];
  const hash = await stage.chat();
  const tab = await person.tab(hash);
  const watching = [await person.tab(hash), await somebody.tab(hash)];
  for (const other of watching)
    await other.getByRole("textbox", { name: "Message", exact: true }).waitFor();
  held.holdAfter(50);
  await ask(tab, longAnswer);
  for (const other of watching) {
    await expect.poll(() => wordCount(other)).toBeGreaterThan(5);
    expect(await lastAnswer(other).getAttribute("aria-busy")).toBe("true");
  }
  held.letGo();
  await expectSame(tab, ...watching);
});

test("offline, the page says so; back again, it has what was said meanwhile", async () => {
  const person = await stage.person();
  const tab = await person.tab(await stage.chat());
  held.holdAfter(50);
  await ask(tab, longAnswer);
  await expect.poll(() => wordCount(tab)).toBeGreaterThan(10);
  await person.context.setOffline(true);
  await notice(tab)
    .getByText(/This device is offline/)
    .waitFor();
  await takePicture(tab, "always-offline");
  held.letGo();
  const chatId = new URL(tab.url()).hash.split("/").at(-1) ?? "";
  const isRunning = async () => {
    const reply = await fetch(`${stage.gateway.url}/api/chats?limit=20`);
    const { data } = (await reply.json()) as { data: { chat_id: string; running: number }[] };
    return data.find(({ chat_id }) => chat_id === chatId)?.running;
  };
  await expect.poll(isRunning).toBe(0);
  await Promise.all([expectBack(tab), person.context.setOffline(false)]);
  await expectSameInFreshTab(person, tab);
  expect(await wordCount(tab)).toBe(words.length);
});

test("a gateway that is killed in mid-sentence is waited for, and the answer is finished by itself", async () => {
  const port = await freePort();
  const cwd = temporaryFolder();
  const first = await gatewayProcess(cwd, port);
  const person = await stage.person({}, first.url);
  const tab = await person.tab();
  await ask(tab, longAnswer);
  await expect.poll(() => wordCount(tab)).toBeGreaterThan(10);
  first.child.kill("SIGKILL");
  await notice(tab)
    .getByText(/The connection to the gateway is lost/)
    .waitFor();
  // What was said stays to be read.
  expect(await wordCount(tab)).toBeGreaterThan(10);
  await takePicture(tab, "always-gateway-killed");
  await first.ended;
  await Promise.all([expectBack(tab), gatewayProcess(cwd, port)]);
  await expectSameInFreshTab(person, tab);
  expect(await wordCount(tab)).toBe(words.length);
});

test("a question outlives the gateway that was killed while it waited", async () => {
  const port = await freePort();
  const cwd = temporaryFolder();
  const first = await gatewayProcess(cwd, port);
  const person = await stage.person({}, first.url);
  const tab = await person.tab();
  await tab.getByRole("button", { name: /Ask before acting/ }).click();
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
  first.child.kill("SIGKILL");
  await notice(tab)
    .getByText(/The connection to the gateway is lost/)
    .waitFor();
  await first.ended;
  await Promise.all([expectBack(tab), gatewayProcess(cwd, port)]);
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).click();
  await expectSameInFreshTab(person, tab);
  expect(await saidAtEnd(tab)).toContain("would have been sent");
});
