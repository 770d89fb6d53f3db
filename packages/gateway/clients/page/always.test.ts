import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { freePort } from "../../check/checked-gateway.ts";
import { deltawire, temporaryFolder } from "../../test/deltawire-process.ts";
import { ask, endedAnswer, lastAnswer, staged, takePicture, type Person } from "./stage.ts";

const stage = staged({ paceMs: 8 });
const longAnswer = "long 300";
const words = Array.from({ length: 300 });

/** Everything that was said, once it has ended. */
async function saidAtEnd(tab: Page): Promise<string> {
  await endedAnswer(tab);
  return tab.getByRole("log", { name: "Conversation" }).innerText();
}

async function expectSameInFreshTab(person: Person, tab: Page): Promise<void> {
  const said = await saidAtEnd(tab);
  const fresh = await person.tab(new URL(tab.url()).hash);
  await expect.poll(() => saidAtEnd(fresh)).toBe(said);
}

/** Of a long answer: how many words of it are there. */
function wordCount(tab: Page): Promise<number> {
  return lastAnswer(tab)
    .getByText(/^this is a long answer/)
    .innerText({ timeout: 15_000 })
    .then((text) => text.split(/\s+/).length);
}

function notice(tab: Page) {
  return tab.getByRole("banner").getByRole("status").first();
}

/** It says so, and after a while nothing. */
async function expectBack(tab: Page): Promise<void> {
  await notice(tab).getByText("Connected again").waitFor();
  await expect.poll(() => notice(tab).innerText(), { timeout: 10_000 }).toBe("");
}

describe("a reload", () => {
  test("in mid-sentence goes on where it was, and ends as if there had been none", async () => {
    const person = await stage.person();
    const tab = await person.tab(await stage.chat());
    await ask(tab, longAnswer);
    await expect.poll(() => wordCount(tab)).toBeGreaterThan(30);
    await tab.reload();
    // Not from its beginning: what was said before the reload is there at once.
    expect(await wordCount(tab)).toBeGreaterThan(30);
    expect(await lastAnswer(tab).getAttribute("aria-busy")).toBe("true");
    await takePicture(tab, "always-reloaded-in-mid-sentence");
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
    const tab = await person.tab(await stage.chat());
    await ask(tab, "ask forecaster about the weather in Paris");
    await lastAnswer(tab).getByRole("button", { name: "Stop forecaster" }).waitFor();
    await tab.reload();
    await lastAnswer(tab)
      .getByRole("button", { name: /^Sub-agent forecaster/ })
      .waitFor();
    await expectSameInFreshTab(person, tab);
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
  await ask(tab, longAnswer);
  for (const other of watching) {
    await expect.poll(() => wordCount(other)).toBeGreaterThan(5);
    expect(await lastAnswer(other).getAttribute("aria-busy")).toBe("true");
  }
  const said = await saidAtEnd(tab);
  for (const other of watching) await expect.poll(() => saidAtEnd(other)).toBe(said);
});

test("offline, the page says so; back again, it has what was said meanwhile", async () => {
  const person = await stage.person();
  const tab = await person.tab(await stage.chat());
  await ask(tab, longAnswer);
  await expect.poll(() => wordCount(tab)).toBeGreaterThan(10);
  await person.context.setOffline(true);
  await notice(tab)
    .getByText(/This device is offline/)
    .waitFor();
  await takePicture(tab, "always-offline");
  const chatId = new URL(tab.url()).hash.split("/").at(-1) ?? "";
  const isRunning = async () => {
    const reply = await fetch(`${stage.gateway.url}/api/chats?limit=20`);
    const { data } = (await reply.json()) as { data: { chat_id: string; running: number }[] };
    return data.find(({ chat_id }) => chat_id === chatId)?.running;
  };
  await expect.poll(isRunning).toBe(0);
  await person.context.setOffline(false);
  await expectBack(tab);
  await expectSameInFreshTab(person, tab);
  expect(await wordCount(tab)).toBe(words.length);
});

test("a gateway that is killed in mid-sentence is waited for, and the answer is finished by itself", async () => {
  const port = String(await freePort());
  const cwd = temporaryFolder();
  const first = deltawire(["--port", port], { cwd });
  const person = await stage.person({}, await first.url);
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
  await deltawire(["--port", port], { cwd }).url;
  await expectBack(tab);
  await expectSameInFreshTab(person, tab);
  expect(await wordCount(tab)).toBe(words.length);
});

test("a question outlives the gateway that was killed while it waited", async () => {
  const port = String(await freePort());
  const cwd = temporaryFolder();
  const first = deltawire(["--port", port], { cwd });
  const person = await stage.person({}, await first.url);
  const tab = await person.tab();
  await tab.getByRole("button", { name: /Ask before acting/ }).click();
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
  first.child.kill("SIGKILL");
  await notice(tab)
    .getByText(/The connection to the gateway is lost/)
    .waitFor();
  await first.ended;
  await deltawire(["--port", port], { cwd }).url;
  await expectBack(tab);
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).click();
  await expectSameInFreshTab(person, tab);
  expect(await saidAtEnd(tab)).toContain("would have been sent");
});
