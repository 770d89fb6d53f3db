import {
  applyPatch,
  ChatApiError,
  type Chat,
  type ChatClient,
  type ChatReply,
  type ChatSince,
  type PersonEdit,
} from "@deltawire/tasks/chats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answeredChat, chatScene, errorOf, FeedReader, refusalOf } from "./chat-scene.ts";
import { answersOf, textOf, whenSettled } from "./chat-scene.ts";
import { officeAgents } from "./eventful-chat.ts";
import { pause } from "./scene.ts";

async function changedSince(client: ChatClient, id: string, stamp: number): Promise<ChatSince> {
  const reply = await client.openSince(id, stamp);
  if ("from" in reply) return reply;
  throw new Error("the whole chat was told");
}

/** What a page has that was at an old state and asks what has changed. */
function after({ chat }: ChatReply, { from: _from, ...since }: ChatSince): ChatReply {
  const { stamp, usage, deleted_at } = since;
  const now = { chat: applyPatch(chat, since), stamp, usage };
  return deleted_at === undefined ? now : { ...now, deleted_at };
}

const editsOf = async (client: ChatClient, id: string, ...edits: PersonEdit[]) => {
  const { revision } = (await client.open(id)).chat;
  return client.edits(id, { revision, edits });
};

describe("a chat since a stamp", () => {
  test("is what has changed, from every state that a page may have", async () => {
    const { client } = await chatScene();
    const { id, question, answer } = await answeredChat(client);
    const seen = [await client.open(id)];
    const see = async (work: Promise<unknown>): Promise<void> => {
      await work;
      seen.push(await whenSettled(client, id));
    };
    await see(client.rerun(id, { node_id: answer }));
    await see(editsOf(client, id, { type: "add_separator", after: answer }));
    await see(client.send(id, { text: "And now?" }));
    const last = seen.at(-1)?.chat.chosen[answer] ?? "";
    const remove = { type: "delete_node", node_id: last, children: "delete" } as const;
    const { removal_ids: [removal_id = ""] = [] } = await editsOf(client, id, remove);
    await see(client.edit(id, { node_id: question, text: "Hi", send: false }));
    await see(client.undo(id, { removal_id }));
    await see(editsOf(client, id, { type: "rename", title: "x" }, { type: "tag", tags: ["y"] }));
    await see(client.remove(id));
    const now = await client.open(id);
    for (const old of seen) {
      const since = await changedSince(client, id, old.stamp);
      expect(since.from).toBe(old.stamp);
      expect(after(old, since)).toEqual(now);
    }
    expect(await changedSince(client, id, now.stamp)).toMatchObject({ nodes: {}, gone: [] });
  }, 20_000);

  test("is the same after any edits", async () => {
    const { client } = await chatScene();
    const { id } = await answeredChat(client);
    const step = fc.record({ what: fc.nat(6), at: fc.nat(100), flag: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const old = await client.open(id);
        for (const { what, at, flag } of steps) {
          const { chat } = await client.open(id);
          const edit = editAt(chat, what, at, flag);
          const made = await unlessRefused(
            client.edits(id, { revision: chat.revision, edits: [edit] }),
          );
          const [removal_id] = made?.removal_ids ?? [];
          if (removal_id !== undefined && flag) await client.undo(id, { removal_id });
        }
        const now = await client.open(id);
        expect(after(old, await changedSince(client, id, old.stamp))).toEqual(now);
        if (now.chat.roots.length === 0) {
          await client.send(id, { text: "again" });
          await whenSettled(client, id);
        }
      }),
      { numRuns: 15 },
    );
  }, 20_000);

  test("has all that an answer has said so far, for as long as it runs", async () => {
    const { client } = await chatScene();
    const { chat } = await client.create();
    const id = chat.chat_id;
    const { node_id } = await client.send(id, { text: "long 200" });
    const old = await client.open(id);
    let since = await changedSince(client, id, old.stamp);
    const said = (): string => textOf(applyPatch(old.chat, since), node_id);
    for (let tries = 0; said() === "" && tries < 200; tries += 1) {
      await pause(10);
      since = await changedSince(client, id, old.stamp);
    }
    expect(said()).not.toBe("");
    expect(Object.keys(since.nodes)).toEqual([node_id]);
    expect(since.stamp).toBe(old.stamp);
    await client.stop(id);
    const now = await client.open(id);
    expect(after(old, await changedSince(client, id, old.stamp))).toEqual(now);
  });

  test("is the whole chat where that cannot be told, and nothing where there is none", async () => {
    const { client, url } = await chatScene();
    const other = await client.create();
    const { chat, stamp } = await client.create({ title: "x" });
    const id = chat.chat_id;
    const whole = await client.open(id);
    for (const unknown of [0, other.stamp, stamp + 1])
      expect(await client.openSince(id, unknown)).toEqual(whole);
    expect(await refusalOf(client.openSince("nobody", 1))).toEqual([
      404,
      "unknown_chat",
      undefined,
    ]);
    for (const wrong of ["", "-1", "1.5", "x"]) {
      const response = await fetch(`${url}/api/chats/${id}?since=${wrong}`);
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { param: "since" } },
      ]);
    }
  });
});

test("the list says from where its changes are followed without a gap", async () => {
  const { client, url } = await chatScene();
  const first = await client.create({ title: "first" });
  const { stamp, data } = await client.list();
  expect([stamp, data.length]).toEqual([first.stamp, 1]);
  const { chat } = await client.create({ title: "while nobody looked" });
  const reader = new FeedReader(`${url}/api/chats/events?after=${stamp}`, {});
  await reader.until("the change", ({ changed }) => changed.length > 0);
  expect(reader.changed).toEqual([chat.chat_id]);
  expect(reader.types).not.toContain("chats.reset");
});

test("a page behind a chat that is gone is refused with a reason, the page behind the last is empty", async () => {
  const { client } = await chatScene();
  const { chat } = await client.create();
  expect(await client.list({ before: chat.chat_id })).toMatchObject({ data: [], has_more: false });
  await client.remove(chat.chat_id, { forever: true });
  const error = await errorOf(client.list({ before: chat.chat_id }));
  expect(error).toMatchObject({ status: 400, code: "invalid_request", param: "before" });
  expect(error.message).toContain(`there is no chat "${chat.chat_id}"`);
});

test("edits tell what each of them added", async () => {
  const { client } = await chatScene();
  const { id, answer } = await answeredChat(client);
  const { added, node_id, nodes } = await editsOf(
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

test("an answer says which version of its message it answers, also in a copy of the chat", async () => {
  const { client } = await chatScene();
  const { id, question, answer, settled } = await answeredChat(client);
  const versionOf = (chat: Chat): string => {
    const node = chat.nodes[question];
    return node?.kind === "user" ? node.version : "";
  };
  const first = versionOf(settled.chat);
  expect(answersOf(settled.chat)).toMatchObject([{ answers: first }]);
  await client.edit(id, { node_id: question, text: "Good evening" });
  const { chat: edited } = await whenSettled(client, id);
  const second = versionOf(edited);
  await client.edit(id, { node_id: answer, text: "In other words" });
  const said = async (chatId: string) =>
    answersOf((await client.open(chatId)).chat).map(({ answers }) => answers);
  expect(second).not.toBe(first);
  expect(await said(id)).toEqual([first, second, second]);
  const file = JSON.parse((await client.exportAs(id, "json")).text) as unknown;
  const { data } = await client.importFrom(file);
  expect(await said(data[0]?.chat_id ?? "")).toEqual([first, second, second]);
});

describe("the task of an answer", () => {
  test("is looked at, told something and canceled", async () => {
    const { client } = await chatScene();
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
    const { chat: stopped } = await whenSettled(client, chat.chat_id);
    expect(answersOf(stopped)).toMatchObject([{ status: "aborted" }]);
    const late = await errorOf(client.steer(task_id, "more"));
    expect(late).toMatchObject({ status: 409, code: "task_ended" });
    const nobody = await errorOf(client.task("nobody"));
    expect(nobody).toMatchObject({ status: 404, code: "task_not_found" });
  });

  test("waits for a person, who may change what is run; the second one is too late", async () => {
    const letters: { to: string; text: string }[] = [];
    const { client } = await chatScene({ agents: officeAgents(letters) });
    const { chat } = await client.create({ settings: { agent: "clerk" } });
    const { task_id } = await client.send(chat.chat_id, {
      text: 'Please send_letter to "Ann", text: "Hello"',
    });
    let [asked] = (await client.task(task_id)).approvals;
    for (let tries = 0; asked === undefined && tries < 200; tries += 1) {
      await pause(10);
      [asked] = (await client.task(task_id)).approvals;
    }
    const { approval_id = "" } = asked ?? {};
    const { approval } = await client.decide(approval_id, {
      decision: "approve",
      arguments: { to: "Bob", text: "Hello" },
    });
    expect(approval).toMatchObject({ status: "resolved", resolution: { decision: "approve" } });
    const late = await errorOf(client.decide(approval_id, { decision: "deny" }));
    expect(late).toMatchObject({ status: 409, code: "approval_resolved" });
    await whenSettled(client, chat.chat_id);
    expect(letters).toEqual([{ to: "Bob", text: "Hello" }]);
  });

  test("is decided once by a decision that is sent again because its reply was lost", async () => {
    const letters: { to: string; text: string }[] = [];
    const { client } = await chatScene({ agents: officeAgents(letters) });
    const { chat } = await client.create({ settings: { agent: "clerk" } });
    await client.send(chat.chat_id, { text: 'Please send_letter to "Ann", text: "Hello"' });
    let [asked] = (await client.approvals()).data;
    for (let tries = 0; asked === undefined && tries < 2000; tries += 1) {
      await pause(10);
      [asked] = (await client.approvals()).data;
    }
    const { approval_id = "" } = asked?.approval ?? {};
    const body = { decision: "approve", arguments: { to: "Bob", text: "Hello" } } as const;
    const key = { idempotencyKey: "one decision" };
    const first = await client.decide(approval_id, body, key);
    expect(await client.decide(approval_id, body, key)).toEqual(first);
    // The log has it: it holds after the answer, too.
    await whenSettled(client, chat.chat_id);
    expect(await client.decide(approval_id, body, key)).toEqual(first);
    // Without a key it is the same decision of the same person.
    expect(await client.decide(approval_id, body)).toEqual(first);
    const others = [
      client.decide(approval_id, body, { idempotencyKey: "another one" }),
      client.decide(approval_id, { decision: "deny" }, key),
      client.decide(approval_id, { decision: "approve" }),
    ];
    for (const other of others)
      expect(await errorOf(other)).toMatchObject({ status: 409, code: "approval_resolved" });
    expect(letters).toEqual([{ to: "Bob", text: "Hello" }]);
  });
});

/** An edit that the chat has no place for is none. */
async function unlessRefused<Made>(made: Promise<Made>): Promise<Made | undefined> {
  try {
    return await made;
  } catch (error) {
    if (error instanceof ChatApiError && (error.status === 404 || error.status === 409))
      return undefined;
    throw error;
  }
}

function editAt(chat: Chat, what: number, at: number, flag: boolean): PersonEdit {
  const ids = Object.keys(chat.nodes);
  const node_id = ids[at % Math.max(1, ids.length)] ?? "nowhere";
  const edits: PersonEdit[] = [
    { type: "add_separator", after: node_id },
    { type: "pin", node_id, value: flag },
    { type: "bookmark", node_id, value: flag },
    { type: "choose_branch", node_id },
    { type: "delete_node", node_id, children: "delete" },
    { type: "delete_node", node_id, children: "keep" },
    { type: "rename", title: `title ${at}` },
  ];
  return edits[what] ?? { type: "pin_chat", value: flag };
}

test("how long was thought is in the answer while it runs, when it has ended, and in a copy of its chat", async () => {
  const { client } = await chatScene();
  const { id, settled } = await answeredChat(client, "Think about this");
  const thoughts = (chat: Chat): (number | undefined)[] =>
    answersOf(chat).flatMap(({ output }) =>
      output.flatMap((item) => (item.type === "reasoning" ? [item.duration_ms] : [])),
    );
  const [took] = thoughts(settled.chat);
  expect(took).toBeGreaterThan(0);
  const [{ task_id = "" } = {}] = answersOf(settled.chat);
  const [thought] = (await client.task(task_id)).output;
  expect(thought).toMatchObject({ type: "reasoning", duration_ms: took });
  const file = await client.exportAs(id, "json");
  const { data } = await client.importFrom(JSON.parse(file.text));
  const copy = await client.open(data[0]?.chat_id ?? "");
  expect(thoughts(copy.chat)).toEqual([took]);
});
