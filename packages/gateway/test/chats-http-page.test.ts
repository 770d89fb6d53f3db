import {
  applyChatPatch,
  ChatApiError,
  type Chat,
  type ChatClient,
  type ChatReply,
  type ChatUpdate,
  type UserEdit,
} from "@deltawire/tasks/chats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answeredChat,
  chatGatewayFixture,
  catchApiError,
  FeedReader,
  catchErrorFields,
} from "./chat-fixture.ts";
import { listAnswers, getAnswerText, waitUntilSettled } from "./chat-fixture.ts";
import { createChatAgents } from "./full-chat.ts";
import { sleep } from "./gateway-fixture.ts";

async function changedSince(client: ChatClient, id: string, stamp: number): Promise<ChatUpdate> {
  const reply = await client.getSince(id, stamp);
  if ("from" in reply) return reply;
  throw new Error("the complete chat was sent");
}

/** Returns the state of a page after it applied an update to an old state. */
function applyUpdate({ chat }: ChatReply, { from: _from, ...update }: ChatUpdate): ChatReply {
  const { stamp, usage, deleted_at } = update;
  const now = { chat: applyChatPatch(chat, update), stamp, usage };
  return deleted_at === undefined ? now : { ...now, deleted_at };
}

const applyEdits = async (client: ChatClient, id: string, ...edits: UserEdit[]) => {
  const { revision } = (await client.get(id)).chat;
  return client.applyEdits(id, { revision, edits });
};

describe("the changes of a chat since a stamp", () => {
  test("update every earlier state to the current one", async () => {
    const { client } = await chatGatewayFixture();
    const { id, question, answer } = await answeredChat(client);
    const states = [await client.get(id)];
    const recordAfter = async (change: Promise<unknown>): Promise<void> => {
      await change;
      states.push(await waitUntilSettled(client, id));
    };
    await recordAfter(client.rerun(id, { node_id: answer }));
    await recordAfter(applyEdits(client, id, { type: "add_separator", after: answer }));
    await recordAfter(client.send(id, { text: "And now?" }));
    const last = states.at(-1)?.chat.chosen[answer] ?? "";
    const remove = { type: "delete_node", node_id: last, children: "delete" } as const;
    const { removal_ids: [removal_id = ""] = [] } = await applyEdits(client, id, remove);
    await recordAfter(client.editMessage(id, { node_id: question, text: "Hi", send: false }));
    await recordAfter(client.undo(id, { removal_id }));
    await recordAfter(
      applyEdits(client, id, { type: "rename", title: "x" }, { type: "tag", tags: ["y"] }),
    );
    await recordAfter(client.remove(id));
    const now = await client.get(id);
    for (const old of states) {
      const since = await changedSince(client, id, old.stamp);
      expect(since.from).toBe(old.stamp);
      expect(applyUpdate(old, since)).toEqual(now);
    }
    expect(await changedSince(client, id, now.stamp)).toMatchObject({
      nodes: {},
      deleted_node_ids: [],
    });
  }, 20_000);

  test("are correct after any edits", async () => {
    const { client } = await chatGatewayFixture();
    const { id } = await answeredChat(client);
    const step = fc.record({ what: fc.nat(6), at: fc.nat(100), flag: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const old = await client.get(id);
        for (const { what, at, flag } of steps) {
          const { chat } = await client.get(id);
          const edit = buildEdit(chat, what, at, flag);
          const deletion = await unlessRejected(
            client.applyEdits(id, { revision: chat.revision, edits: [edit] }),
          );
          const [removal_id] = deletion?.removal_ids ?? [];
          if (removal_id !== undefined && flag) await client.undo(id, { removal_id });
        }
        const now = await client.get(id);
        expect(applyUpdate(old, await changedSince(client, id, old.stamp))).toEqual(now);
        if (now.chat.roots.length === 0) {
          await client.send(id, { text: "again" });
          await waitUntilSettled(client, id);
        }
      }),
      { numRuns: 15 },
    );
  }, 20_000);

  test("contain the current output of a running answer", async () => {
    const { client } = await chatGatewayFixture();
    const { chat } = await client.create();
    const id = chat.chat_id;
    const { node_id } = await client.send(id, { text: "long 200" });
    const old = await client.get(id);
    let since = await changedSince(client, id, old.stamp);
    const getText = (): string => getAnswerText(applyChatPatch(old.chat, since), node_id);
    for (let attempt = 0; getText() === "" && attempt < 200; attempt += 1) {
      await sleep(10);
      since = await changedSince(client, id, old.stamp);
    }
    expect(getText()).not.toBe("");
    expect(Object.keys(since.nodes)).toEqual([node_id]);
    expect(since.stamp).toBe(old.stamp);
    await client.stop(id);
    const now = await client.get(id);
    expect(applyUpdate(old, await changedSince(client, id, old.stamp))).toEqual(now);
  });

  test("are the complete chat if the stamp is unknown, a 404 if the chat does not exist, and a 400 for an invalid stamp", async () => {
    const { client, url } = await chatGatewayFixture();
    const other = await client.create();
    const { chat, stamp } = await client.create({ title: "x" });
    const id = chat.chat_id;
    const complete = await client.get(id);
    for (const unknown of [0, other.stamp, stamp + 1])
      expect(await client.getSince(id, unknown)).toEqual(complete);
    expect(await catchErrorFields(client.getSince("nobody", 1))).toEqual([
      404,
      "chat_not_found",
      undefined,
    ]);
    for (const invalid of ["", "-1", "1.5", "x"]) {
      const response = await fetch(`${url}/api/chats/${id}?since=${invalid}`);
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { param: "since" } },
      ]);
    }
  });
});

test("the list returns the stamp from which its changes can be followed without a gap", async () => {
  const { client, url } = await chatGatewayFixture();
  const first = await client.create({ title: "first" });
  const { stamp, data } = await client.list();
  expect([stamp, data.length]).toEqual([first.stamp, 1]);
  const { chat } = await client.create({ title: "while nobody looked" });
  const reader = new FeedReader(`${url}/api/chats/events?after=${stamp}`, {});
  await reader.waitUntil("the change", ({ changedChatIds }) => changedChatIds.length > 0);
  expect(reader.changedChatIds).toEqual([chat.chat_id]);
  expect(reader.types).not.toContain("chats.reset");
});

test("a list page after an unknown chat is rejected with a reason, and the one after the last chat is empty", async () => {
  const { client } = await chatGatewayFixture();
  const { chat } = await client.create();
  expect(await client.list({ before: chat.chat_id })).toMatchObject({ data: [], has_more: false });
  await client.remove(chat.chat_id, { forever: true });
  const error = await catchApiError(client.list({ before: chat.chat_id }));
  expect(error).toMatchObject({ status: 400, code: "invalid_request", param: "before" });
  expect(error.message).toContain(`chat "${chat.chat_id}" not found`);
});

test("the reply to several edits lists what each of them added", async () => {
  const { client } = await chatGatewayFixture();
  const { id, answer } = await answeredChat(client);
  const { added, node_id, nodes } = await applyEdits(
    client,
    id,
    { type: "rename", title: "x" },
    { type: "add_separator", after: answer },
    { type: "pin", node_id: answer, value: true },
  );
  expect(added).toEqual([null, { node_id: expect.stringMatching(/^node_/) as string }, null]);
  expect(node_id).toBe(added[1]?.node_id);
  expect(nodes[node_id ?? ""]).toMatchObject({ kind: "separator", parent: answer });
});

test("an answer names the version of the message that it answers, even in a copied chat", async () => {
  const { client } = await chatGatewayFixture();
  const { id, question, answer, settled } = await answeredChat(client);
  const findVersion = (chat: Chat): string => {
    const node = chat.nodes[question];
    return node?.kind === "user" ? node.version : "";
  };
  const first = findVersion(settled.chat);
  expect(listAnswers(settled.chat)).toMatchObject([{ answers: first }]);
  await client.editMessage(id, { node_id: question, text: "Good evening" });
  const { chat: edited } = await waitUntilSettled(client, id);
  const second = findVersion(edited);
  await client.editMessage(id, { node_id: answer, text: "In other words" });
  const getText = async (chatId: string) =>
    listAnswers((await client.get(chatId)).chat).map(({ answers }) => answers);
  expect(second).not.toBe(first);
  expect(await getText(id)).toEqual([first, second, second]);
  const file = JSON.parse((await client.exportAs(id, "json")).text) as unknown;
  const { data } = await client.importFile(file);
  expect(await getText(data[0]?.chat_id ?? "")).toEqual([first, second, second]);
});

describe("the task of an answer", () => {
  test("can be read, given input and canceled", async () => {
    const { client } = await chatGatewayFixture();
    const { chat } = await client.create();
    const { task_id } = await client.send(chat.chat_id, { text: "long 200" });
    expect(await client.task(task_id)).toMatchObject({ task_id, approvals: [] });
    expect(await client.steer(task_id, "shorter")).toEqual({ task_id, delivery: "steer" });
    expect(await client.steer(task_id, "then stop", "queue")).toEqual({
      task_id,
      delivery: "queue",
    });
    expect(await client.cancelTask(task_id, { reason: "enough" })).toMatchObject({
      status: "canceled",
    });
    const { chat: settledChat } = await waitUntilSettled(client, chat.chat_id);
    expect(listAnswers(settledChat)).toMatchObject([{ status: "aborted" }]);
    const late = await catchApiError(client.steer(task_id, "more"));
    expect(late).toMatchObject({ status: 409, code: "task_ended" });
    const notFound = await catchApiError(client.task("nobody"));
    expect(notFound).toMatchObject({ status: 404, code: "task_not_found" });
  });

  test("continues after an approval with changed arguments; a second decision is too late", async () => {
    const letters: { to: string; text: string }[] = [];
    const { client } = await chatGatewayFixture({ agents: createChatAgents(letters) });
    const { chat } = await client.create({ settings: { agent: "clerk" } });
    const { task_id } = await client.send(chat.chat_id, {
      text: 'Please send_letter to "Ann", text: "Hello"',
    });
    let [pendingApproval] = (await client.task(task_id)).approvals;
    for (let attempt = 0; pendingApproval === undefined && attempt < 200; attempt += 1) {
      await sleep(10);
      [pendingApproval] = (await client.task(task_id)).approvals;
    }
    const { approval_id = "" } = pendingApproval ?? {};
    const { approval } = await client.decide(approval_id, {
      decision: "approve",
      arguments: { to: "Bob", text: "Hello" },
    });
    expect(approval).toMatchObject({ status: "resolved", resolution: { decision: "approve" } });
    const late = await catchApiError(client.decide(approval_id, { decision: "deny" }));
    expect(late).toMatchObject({ status: 409, code: "approval_resolved" });
    await waitUntilSettled(client, chat.chat_id);
    expect(letters).toEqual([{ to: "Bob", text: "Hello" }]);
  });

  test("accepts a repeated decision as the same one, in case its reply was lost", async () => {
    const letters: { to: string; text: string }[] = [];
    const { client } = await chatGatewayFixture({ agents: createChatAgents(letters) });
    const { chat } = await client.create({ settings: { agent: "clerk" } });
    await client.send(chat.chat_id, { text: 'Please send_letter to "Ann", text: "Hello"' });
    let [pendingApproval] = (await client.approvals()).data;
    for (let attempt = 0; pendingApproval === undefined && attempt < 2000; attempt += 1) {
      await sleep(10);
      [pendingApproval] = (await client.approvals()).data;
    }
    const { approval_id = "" } = pendingApproval?.approval ?? {};
    const body = { decision: "approve", arguments: { to: "Bob", text: "Hello" } } as const;
    const key = { idempotencyKey: "one decision" };
    const first = await client.decide(approval_id, body, key);
    expect(await client.decide(approval_id, body, key)).toEqual(first);
    // The key is stored with the decision, so it is recognized even after the answer has ended.
    await waitUntilSettled(client, chat.chat_id);
    expect(await client.decide(approval_id, body, key)).toEqual(first);
    // The same decision by the same user is recognized without a key, too.
    expect(await client.decide(approval_id, body)).toEqual(first);
    const others = [
      client.decide(approval_id, body, { idempotencyKey: "another one" }),
      client.decide(approval_id, { decision: "deny" }, key),
      client.decide(approval_id, { decision: "approve" }),
    ];
    for (const other of others)
      expect(await catchApiError(other)).toMatchObject({ status: 409, code: "approval_resolved" });
    expect(letters).toEqual([{ to: "Bob", text: "Hello" }]);
  });
});

/** Returns undefined if the request is rejected because the edit does not apply to the chat. */
async function unlessRejected<Result>(result: Promise<Result>): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof ChatApiError && (error.status === 404 || error.status === 409))
      return undefined;
    throw error;
  }
}

function buildEdit(chat: Chat, what: number, index: number, flag: boolean): UserEdit {
  const ids = Object.keys(chat.nodes);
  const node_id = ids[index % Math.max(1, ids.length)] ?? "nowhere";
  const edits: UserEdit[] = [
    { type: "add_separator", after: node_id },
    { type: "pin", node_id, value: flag },
    { type: "bookmark", node_id, value: flag },
    { type: "choose_branch", node_id },
    { type: "delete_node", node_id, children: "delete" },
    { type: "delete_node", node_id, children: "keep" },
    { type: "rename", title: `title ${index}` },
  ];
  return edits[what] ?? { type: "pin_chat", value: flag };
}

test("an answer contains its reasoning time while it runs, after its end, and in a copied chat", async () => {
  const { client } = await chatGatewayFixture();
  const { id, settled } = await answeredChat(client, "Think about this");
  const thoughts = (chat: Chat): (number | undefined)[] =>
    listAnswers(chat).flatMap(({ output }) =>
      output.flatMap((item) => (item.type === "reasoning" ? [item.duration_ms] : [])),
    );
  const [firstThought] = thoughts(settled.chat);
  expect(firstThought).toBeGreaterThan(0);
  const [{ task_id = "" } = {}] = listAnswers(settled.chat);
  const [thought] = (await client.task(task_id)).output;
  expect(thought).toMatchObject({ type: "reasoning", duration_ms: firstThought });
  const file = await client.exportAs(id, "json");
  const { data } = await client.importFile(JSON.parse(file.text));
  const copy = await client.get(data[0]?.chat_id ?? "");
  expect(thoughts(copy.chat)).toEqual([firstThought]);
});
