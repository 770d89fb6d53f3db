import { defineAgent } from "@deltawire/agent";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { freePort } from "../../../test/free-port.ts";
import { gatewayProcess, temporaryFolder } from "./gateway.ts";
import { blockingAgent, releaseBlockingTool } from "./blocking-agent.ts";
import { PausableModel } from "./pausable-model.ts";
import { getCallButton } from "./chat-actions.ts";
import {
  sendAndWaitForAnswer,
  waitForAnswerEnd,
  lastAnswer,
  setupBrowserFixture,
  takeScreenshot,
  type BrowserUser,
} from "./browser-fixture.ts";

const pausableModel = new PausableModel();
/** An agent that can call the blocking agent as a sub-agent. */
const landlord = defineAgent({
  name: "landlord",
  instructions: "You have doors held.",
  model: "lab/clean",
  agents: [blockingAgent],
});
const fixture = setupBrowserFixture({
  paceMs: 8,
  pausableModel,
  agents: [landlord, blockingAgent],
});
const longAnswer = "long 300";
const words = Array.from({ length: 300 });

/** Returns the complete text of the chat when the answer has ended. */
async function getLastAnswerText(tab: Page): Promise<string> {
  await waitForAnswerEnd(tab);
  return tab.getByRole("log", { name: "Conversation" }).innerText();
}

async function expectSameInFreshTab(user: BrowserUser, tab: Page): Promise<void> {
  await waitForAnswerEnd(tab);
  await expectSame(tab, await user.tab(new URL(tab.url()).hash));
}

async function expectSame(...tabs: Page[]): Promise<void> {
  await expect
    .poll(() => Promise.all(tabs.map(getLastAnswerText)))
    .toSatisfy((texts: string[]) => new Set(texts).size === 1);
}

/** Counts the words of a long answer so far. */
function countWords(tab: Page): Promise<number> {
  return lastAnswer(tab)
    .getByText(/^this is a long answer/)
    .innerText({ timeout: 30_000 })
    .then((text) => text.split(/\s+/).length);
}

function notice(tab: Page) {
  return tab.getByRole("banner").getByRole("status").first();
}

/** Waits until the notice about the new connection appears and disappears. Call it before reconnecting, as the notice is brief. */
async function expectReconnected(tab: Page): Promise<void> {
  await notice(tab).getByText("Reconnected").waitFor({ timeout: 30_000 });
  await expect.poll(() => notice(tab).innerText(), { timeout: 30_000 }).toBe("");
}

describe("a reload", () => {
  test("in the middle of an answer shows the text so far, and the result is the same as without it", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab(await fixture.createChat());
    pausableModel.pauseAfter(100);
    await sendAndWaitForAnswer(tab, longAnswer);
    await expect.poll(() => countWords(tab)).toBeGreaterThan(30);
    await tab.reload();
    // The text before the reload is shown immediately, not streamed again.
    expect(await countWords(tab)).toBeGreaterThan(30);
    expect(await lastAnswer(tab).getAttribute("aria-busy")).toBe("true");
    await takeScreenshot(tab, "always-reloaded-in-mid-sentence");
    pausableModel.resume();
    await expectSameInFreshTab(user, tab);
    expect(await countWords(tab)).toBe(words.length);
  });

  test("while an approval is pending shows the approval again", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab(await fixture.createChat());
    await sendAndWaitForAnswer(tab, 'please send_message to Bob: "hello"');
    await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
    await tab.reload();
    await lastAnswer(tab).getByRole("button", { name: "Approve" }).click();
    await expectSameInFreshTab(user, tab);
  });

  test("while a sub-agent runs shows the sub-agent again", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab(await fixture.createChat({ agent: "landlord" }));
    await sendAndWaitForAnswer(tab, "ask blocker to block_answer");
    const runningCall = getCallButton(lastAnswer(tab), /^Sub-agent blocker block_answer .*Running/);
    const stop = lastAnswer(tab).getByRole("button", { name: "Stop blocker" });
    await runningCall.waitFor();
    await stop.waitFor();
    await tab.reload();
    await runningCall.waitFor();
    await stop.waitFor();
    releaseBlockingTool();
    await expectSameInFreshTab(user, tab);
    expect(await getLastAnswerText(tab)).toContain("Released.");
  });

  test("keeps the draft of each chat", async () => {
    const user = await fixture.newUser();
    const [one, other] = [await fixture.createChat(), await fixture.createChat()];
    const tab = await user.tab(one);
    const box = tab.getByRole("textbox", { name: "Message", exact: true });
    await box.fill("Half a thou");
    await tab.reload();
    await expect.poll(() => box.inputValue()).toBe("Half a thou");
    await tab.evaluate((hash) => (location.hash = hash), other);
    await expect.poll(() => box.inputValue()).toBe("");
    await tab.evaluate((hash) => (location.hash = hash), one);
    await expect.poll(() => box.inputValue()).toBe("Half a thou");
    await sendAndWaitForAnswer(tab, "Half a thought");
    await waitForAnswerEnd(tab);
    await tab.reload();
    await waitForAnswerEnd(tab);
    expect(await box.inputValue()).toBe("");
  });
});

test("a second tab and another browser show an answer while it streams", async () => {
  const [user, somebody] = [await fixture.newUser(), await fixture.newUser()];
  const hash = await fixture.createChat();
  const tab = await user.tab(hash);
  const watching = [await user.tab(hash), await somebody.tab(hash)];
  for (const other of watching)
    await other.getByRole("textbox", { name: "Message", exact: true }).waitFor();
  pausableModel.pauseAfter(50);
  await sendAndWaitForAnswer(tab, longAnswer);
  for (const other of watching) {
    await expect.poll(() => countWords(other)).toBeGreaterThan(5);
    expect(await lastAnswer(other).getAttribute("aria-busy")).toBe("true");
  }
  pausableModel.resume();
  await expectSame(tab, ...watching);
});

test("the page shows that it is offline, and later the text that it missed", async () => {
  const user = await fixture.newUser();
  const tab = await user.tab(await fixture.createChat());
  pausableModel.pauseAfter(50);
  await sendAndWaitForAnswer(tab, longAnswer);
  await expect.poll(() => countWords(tab)).toBeGreaterThan(10);
  await user.context.setOffline(true);
  await notice(tab)
    .getByText(/You are offline/)
    .waitFor();
  await takeScreenshot(tab, "always-offline");
  pausableModel.resume();
  const chatId = new URL(tab.url()).hash.split("/").at(-1) ?? "";
  const isRunning = async () => {
    const reply = await fetch(`${fixture.gateway.url}/api/chats?limit=20`);
    const { data } = (await reply.json()) as { data: { chat_id: string; running: number }[] };
    return data.find(({ chat_id }) => chat_id === chatId)?.running;
  };
  await expect.poll(isRunning).toBe(0);
  await Promise.all([expectReconnected(tab), user.context.setOffline(false)]);
  await expectSameInFreshTab(user, tab);
  expect(await countWords(tab)).toBe(words.length);
});

test("an answer is completed after the gateway was killed in the middle of it and restarted", async () => {
  const port = await freePort();
  const cwd = temporaryFolder();
  const first = await gatewayProcess(cwd, port);
  const user = await fixture.newUser({}, first.url);
  const tab = await user.tab();
  await sendAndWaitForAnswer(tab, longAnswer);
  await expect.poll(() => countWords(tab)).toBeGreaterThan(10);
  first.child.kill("SIGKILL");
  await notice(tab)
    .getByText(/No connection to the gateway/)
    .waitFor();
  // The text stays visible.
  expect(await countWords(tab)).toBeGreaterThan(10);
  await takeScreenshot(tab, "always-gateway-killed");
  await first.ended;
  await Promise.all([expectReconnected(tab), gatewayProcess(cwd, port)]);
  await expectSameInFreshTab(user, tab);
  expect(await countWords(tab)).toBe(words.length);
});

test("an approval is still pending after the gateway was killed and restarted", async () => {
  const port = await freePort();
  const cwd = temporaryFolder();
  const first = await gatewayProcess(cwd, port);
  const user = await fixture.newUser({}, first.url);
  const tab = await user.tab();
  await tab.getByRole("button", { name: /Ask before acting/ }).click();
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
  first.child.kill("SIGKILL");
  await notice(tab)
    .getByText(/No connection to the gateway/)
    .waitFor();
  await first.ended;
  await Promise.all([expectReconnected(tab), gatewayProcess(cwd, port)]);
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).click();
  await expectSameInFreshTab(user, tab);
  expect(await getLastAnswerText(tab)).toContain("would have been sent");
});
