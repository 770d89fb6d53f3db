import type { Chat } from "@deltawire/tasks/chats";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "../../../../test/cluster/cluster.ts";
import type { ClusterProcess } from "../../../../test/cluster/cluster-process.ts";
import { printLogsAfterFailure } from "../../../../test/cluster/print-logs.ts";
import { startTcpProxy, type TcpProxy } from "../../../../test/cluster/tcp-proxy.ts";
import { canRunPostgres } from "../../../../test/postgres-server.ts";
import { explainMissingRedis } from "../../../../test/redis-server.ts";
import {
  lastAnswer,
  sendAndWaitForAnswer,
  sendMessage,
  setupBrowserUsers,
  takeScreenshot,
  waitForAnswerEnd,
} from "../browser-fixture.ts";
import { getComposerInput, getStopButton } from "../chat-actions.ts";

const token = "token-of-all-gateways-0123456789";
const redis = (await explainMissingRedis()) === undefined;

describe.skipIf(!canRunPostgres)("the page of one of several gateways", () => {
  const users = setupBrowserUsers();
  let cluster: Cluster;
  let balancer: TcpProxy;
  /** Where the load balancer sends new connections. */
  let target: ClusterProcess;
  printLogsAfterFailure(() => cluster);

  beforeAll(async () => {
    cluster = await Cluster.start({ processes: 4, paceMs: 4, redis, token });
    target = cluster.process(0);
    balancer = await startTcpProxy({ getTargetPort: () => target.port });
  }, 600_000);
  // Some tests end processes.
  afterEach(async () => {
    const ended = cluster.processes.filter(({ isRunning }) => !isRunning);
    await Promise.all(ended.map((each) => each.start()));
  });
  afterAll(async () => {
    await balancer?.close();
    await cluster?.stop();
  });

  /** Opens the page of a process, or of the load balancer, and signs in. */
  async function openPage(url: string, hash = ""): Promise<Page> {
    const tab = await (await users.add(url)).tab(hash);
    await tab.getByLabel("Token", { exact: true }).fill(token);
    await tab.getByRole("button", { name: "Sign in" }).click();
    await getComposerInput(tab).waitFor();
    return tab;
  }

  /** Lets the load balancer choose another process for all clients. */
  function switchTo(process: ClusterProcess): void {
    target = process;
    balancer.disconnect();
  }

  const getBalancerUrl = () => `http://127.0.0.1:${balancer.port}`;

  async function createChat(process: ClusterProcess): Promise<string> {
    const { chat } = await process.fetchJson<{ chat: Chat }>("/api/chats", {});
    return chat.chat_id;
  }

  const send = (process: ClusterProcess, chatId: string, text: string) =>
    process.fetchJson(`/api/chats/${chatId}/send`, { text });

  test("lists a chat that another one creates, and shows its answer while it is written", async () => {
    const [first, second, third] = [cluster.process(0), cluster.process(1), cluster.process(2)];
    const tab = await openPage(second.url);
    const chatId = await createChat(first);
    await send(first, chatId, "long 700");
    await tab.getByRole("navigation", { name: "Chats" }).locator(`a[href$="${chatId}"]`).click();
    await expectToBeWriting(tab);
    await takeScreenshot(tab, "scale-answer-of-another-gateway");
    expect(await countWords(tab)).toBeLessThan(700);
    await waitForAnswerEnd(tab);
    expect(await countWords(tab)).toBe(700);
    await expectSameChat(tab, await openPage(third.url, hashOf(chatId)));
  });

  test("receives a message that was sent on the page of another, and stops its answer", async () => {
    const [first, second] = [cluster.process(0), cluster.process(1)];
    const chatId = await createChat(second);
    const [sender, watcher] = await Promise.all([
      openPage(first.url, hashOf(chatId)),
      openPage(second.url, hashOf(chatId)),
    ]);
    await sendMessage(sender, "long 1999");
    await expectToBeWriting(watcher);
    await getStopButton(watcher).click();
    await Promise.all([sender, watcher].map((tab) => waitForAnswerEnd(tab)));
    expect(await countWords(sender)).toBeLessThan(1999);
    await expectSameChat(sender, watcher);
  });

  test("asks for approval of a call that another one runs, and the decision reaches it", async () => {
    const [first, second, third] = [cluster.process(0), cluster.process(1), cluster.process(2)];
    const chatId = await createChat(first);
    const [decider, watcher] = await Promise.all([
      openPage(second.url, hashOf(chatId)),
      openPage(third.url),
    ]);
    await send(first, chatId, 'Please ledger__pay "rent"');
    await watcher.getByRole("button", { name: "Approvals: 1 waiting for you" }).waitFor();
    const approval = lastAnswer(decider).getByRole("group", { name: /^Allow .*pay/ });
    await approval.waitFor();
    expect(cluster.ledger.count("pay", "rent")).toBe(0);
    await takeScreenshot(decider, "scale-approval-of-another-gateway");
    await approval.getByRole("button", { name: "Approve" }).click();
    expect(await (await waitForAnswerEnd(decider)).innerText()).toContain("pay of rent: done");
    await watcher.getByRole("button", { name: "Approvals: none waiting" }).waitFor();
    expect(cluster.ledger.count("pay", "rent")).toBe(1);
  });

  test("shows the same chat when it is loaded from another in the middle of an answer", async () => {
    switchTo(cluster.process(0));
    const chatId = await createChat(cluster.process(0));
    const tab = await openPage(getBalancerUrl(), hashOf(chatId));
    await sendAndWaitForAnswer(tab, "long 1000");
    await expectToBeWriting(tab);
    const words = await countWords(tab);
    switchTo(cluster.process(3));
    // Nobody has to sign in again.
    await tab.reload();
    expect(await countWords(tab)).toBeGreaterThanOrEqual(words);
    expect(await lastAnswer(tab).getAttribute("aria-busy")).toBe("true");
    await waitForAnswerEnd(tab);
    expect(await countWords(tab)).toBe(1000);
    await expectSameChat(tab, await openPage(cluster.process(2).url, hashOf(chatId)));
  });

  test("shows that an answer is continued after its gateway was killed", async () => {
    const [killed, next] = [cluster.process(0), cluster.process(1)];
    switchTo(killed);
    const chatId = await createChat(killed);
    const [tab, watcher] = await Promise.all([
      openPage(getBalancerUrl(), hashOf(chatId)),
      openPage(next.url, hashOf(chatId)),
    ]);
    await sendAndWaitForAnswer(tab, "long 600");
    await Promise.all([tab, watcher].map((each) => expectToBeWriting(each)));
    await killed.end("SIGKILL");
    // The text stays until another process has taken over.
    for (const each of [tab, watcher]) expect(await countWords(each)).toBeGreaterThan(5);
    await takeScreenshot(watcher, "scale-gateway-of-answer-killed");
    switchTo(next);
    await Promise.all([tab, watcher].map((each) => waitForAnswerEnd(each)));
    for (const each of [tab, watcher]) expect(await countWords(each)).toBe(600);
    await expectSameChat(tab, watcher);
    await expectSameChat(tab, await openPage(cluster.process(2).url, hashOf(chatId)));
    await sendAndWaitForAnswer(tab, "long 5");
    await waitForAnswerEnd(watcher);
    await expectSameChat(tab, watcher);
  });
});

const hashOf = (chatId: string) => `#/chats/${chatId}`;

/** Counts the words of a long answer so far. */
async function countWords(tab: Page): Promise<number> {
  const text = await lastAnswer(tab)
    .getByText(/^this is a long answer/)
    .innerText();
  return text.split(/\s+/).length;
}

/** Waits until the page shows the first words of an answer that has not ended. */
async function expectToBeWriting(tab: Page): Promise<void> {
  await expect.poll(() => countWords(tab)).toBeGreaterThan(5);
  expect(await lastAnswer(tab).getAttribute("aria-busy")).toBe("true");
}

/** Waits until both pages show the same conversation. */
async function expectSameChat(one: Page, other: Page): Promise<void> {
  const read = async (tab: Page) => {
    await waitForAnswerEnd(tab);
    return tab.getByRole("log", { name: "Conversation" }).innerText();
  };
  await expect
    .poll(() => Promise.all([read(one), read(other)]))
    .toSatisfy(([text, otherText]: string[]) => text === otherText);
}
