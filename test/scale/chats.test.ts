import type { AnswerStatus, Chat } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "../cluster/cluster.ts";
import type { ClusterProcess } from "../cluster/cluster-process.ts";
import { readEvents } from "../cluster/read-events.ts";
import { printLogsAfterFailure } from "../cluster/print-logs.ts";
import { waitUntil } from "../cluster/wait-until.ts";
import { canRunPostgres } from "../postgres-server.ts";
import { explainMissingRedis } from "../redis-server.ts";

const missingRedis = await explainMissingRedis();

describe.skipIf(!canRunPostgres)("with chats on several gateways,", () => {
  testChats({ redis: false });
});

describe.skipIf(!canRunPostgres || missingRedis !== undefined)(
  `with chats on several gateways and Redis (${missingRedis ?? "real server"}),`,
  () => {
    testChats({ redis: true });
  },
);

function testChats({ redis }: { redis: boolean }): void {
  let cluster: Cluster;
  printLogsAfterFailure(() => cluster);
  beforeAll(async () => {
    cluster = await Cluster.start({ processes: 3, redis });
  }, 600_000);
  afterAll(() => cluster?.stop());

  async function sendToNewChat(process: ClusterProcess, text: string): Promise<string> {
    const { chat } = await cluster.process(0).fetchJson<{ chat: Chat }>("/api/chats", {});
    await process.fetchJson(`/api/chats/${chat.chat_id}/send`, { text });
    return chat.chat_id;
  }

  async function readChat(process: ClusterProcess, chatId: string): Promise<Chat> {
    return (await process.fetchJson<{ chat: Chat }>(`/api/chats/${chatId}`)).chat;
  }

  function waitForAnswer(
    process: ClusterProcess,
    chatId: string,
    status: AnswerStatus,
  ): Promise<Chat> {
    return waitUntil(`${process.name} shows the answer as ${status}`, async () => {
      const chat = await readChat(process, chatId);
      return findAnswer(chat)?.status === status ? chat : undefined;
    });
  }

  test("a message that is sent through one is answered, and all show the same chat", async () => {
    const chatId = await sendToNewChat(cluster.process(1), "long 100");
    const title = await waitUntil("the chat has a title", async () => {
      const chat = await readChat(cluster.process(2), chatId);
      return chat.title_by === "model" && findAnswer(chat)?.status === "completed";
    });
    expect(title).toBe(true);
    const chats = await Promise.all(cluster.processes.map((process) => readChat(process, chatId)));
    expect(chats[1]).toEqual(chats[0]);
    expect(chats[2]).toEqual(chats[0]);
  });

  test("the feed of one reports what happens on another, in the order of its stamps", async () => {
    const { stamp } = await cluster.process(2).fetchJson<{ stamp: number }>("/api/chats");
    const feed = readEvents(
      cluster.process(2),
      `/api/chats/events?after=${stamp}`,
      (events) => listChanges(events).at(-1)?.running === 0,
    );
    const chatId = await sendToNewChat(cluster.process(1), "long 300");
    const changes = listChanges(await feed);
    expect(new Set(changes.map(({ chat_id }) => chat_id))).toEqual(new Set([chatId]));
    expect(changes.some(({ running }) => running === 1)).toBe(true);
    const stamps = changes.map((change) => change.stamp);
    expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
  });

  test("an answer that runs on one is stopped through another, and its text so far stays", async () => {
    const chatId = await sendToNewChat(cluster.process(0), "long 1999");
    await waitUntil("the answer has begun", async () =>
      hasText(await readChat(cluster.process(2), chatId)),
    );
    await cluster.process(1).fetchJson(`/api/chats/${chatId}/stop`, {});
    const chat = await waitForAnswer(cluster.process(2), chatId, "aborted");
    expect(hasText(chat)).toBe(true);
  });

  test("an answer waits for an approval that another one decides", async () => {
    const chatId = await sendToNewChat(cluster.process(0), 'Please ledger__pay "flowers"');
    const { task_id: taskId = "" } = await waitUntil("the answer waits", async () => {
      const answer = findAnswer(await readChat(cluster.process(1), chatId));
      return answer?.waiting === true ? answer : undefined;
    });
    const approval = await cluster.process(2).waitForApproval(taskId);
    expect((await cluster.process(2).decide(approval)).status).toBe(200);
    await waitForAnswer(cluster.process(1), chatId, "completed");
    expect(cluster.ledger.count("pay", "flowers")).toBe(1);
  });
}

interface ChatChange {
  type: string;
  stamp: number;
  chat: { chat_id: string; running: number; messages: number };
}

/** Returns the changes of chats that have a message. */
function listChanges(events: readonly object[]) {
  return (events as ChatChange[])
    .filter(({ type, chat }) => type === "chat.changed" && chat.messages > 0)
    .map(({ stamp, chat }) => ({ ...chat, stamp }));
}

function findAnswer(chat: Chat) {
  const node = Object.values(chat.nodes).find(({ kind }) => kind === "answer");
  return node?.kind === "answer" ? node.versions[0] : undefined;
}

function hasText(chat: Chat): boolean {
  return JSON.stringify(findAnswer(chat)?.output ?? []).includes("this is a long answer");
}
