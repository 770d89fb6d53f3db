import { ChatError, ModelError, type Chats } from "@deltawire/agent";
import { wordsOf, type Chat, type ContextSnippet } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  answerIn,
  chatOf,
  ended,
  foreignChat,
  newChat,
  pathWords,
  said,
  sendAndEnd,
  told,
} from "../../../../test/chats/chat-steps.ts";
import { chatFixture } from "./chat-fixture.ts";
import { longText, office } from "../../../../test/chats/office.ts";
import { counting, silent } from "../../../../test/chats/scripted-replies.ts";

async function refusal(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ChatError) return { code: error.code, message: error.message };
  throw new Error("it was not refused as a chat does", { cause: error });
}

function words(chat: Chat, nodeId: string): string[] {
  return answerIn(chat, nodeId).versions.map(wordsOf);
}

describe("send", () => {
  test("goes on at the end of the current path", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    await sendAndEnd(world, chat, "One");
    await sendAndEnd(world, chat, "Two");
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 1", "Two", "Answer 2"]);
    expect(told(world)).toEqual(["user: One", "assistant: Answer 1", "user: Two"]);
  });

  test("under a node makes a branch beside what is there, and null makes a new beginning", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    await sendAndEnd(world, chat, "Two");
    await sendAndEnd(world, chat, "Other", { parent: first.node_id });
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 1", "Other", "Answer 3"]);
    await sendAndEnd(world, chat, "Anew", { parent: null });
    expect(await pathWords(world, chat)).toEqual(["Anew", "Answer 4"]);
    expect(told(world)).toEqual(["user: Anew"]);
    expect((await chatOf(world, chat)).roots).toHaveLength(2);
  });

  test("under an answer that runs is refused with a reason, and nothing is written", async () => {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    await world.chats.send(chat, { text: "One" });
    const before = await world.store.chat(chat);
    expect(await refusal(world.chats.send(chat, { text: "Two" }))).toEqual({
      code: "still_running",
      message: expect.stringMatching(/running/),
    });
    expect(await world.store.chat(chat)).toEqual(before);
    await world.chats.stop(chat);
  });

  test.each<[string, Parameters<Chats["send"]>[1], RegExp]>([
    ["agent", { text: "Hi", agent: "nobody" }, /no agent "nobody"/],
    ["model", { text: "Hi", model: "at-all" }, /at-all/],
    ["parent", { text: "Hi", parent: "node_0" }, /node_0/],
    ["word to say", { text: "  " }, /nothing to send/],
  ])("is all or nothing: with no such %s the chat stays as it was", async (_what, request, why) => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const before = await world.store.chat(chat);
    await expect(world.chats.send(chat, request)).rejects.toThrow(why);
    expect(await world.store.chat(chat)).toEqual(before);
    expect(world.models.bodies).toEqual([]);
  });

  test("is all or nothing: with no such tool group the chat stays as it was", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await foreignChat(world, { tool_groups: ["tiem"] });
    const before = await world.store.chat(chat);
    await expect(world.chats.send(chat, { text: "Hi" })).rejects.toThrow(/tiem/);
    expect(await world.store.chat(chat)).toEqual(before);
  });

  test("twice at once under one parent becomes two branches, and nothing is lost", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    const both = await Promise.all(
      ["Left", "Right"].map((text) => world.chats.send(chat, { text, parent: first.node_id })),
    );
    for (const sent of both) expect((await ended(world, sent)).status).toBe("completed");
    const { nodes } = await chatOf(world, chat);
    const branches = nodes[first.node_id]?.children.map((id) => {
      const node = nodes[id];
      return node?.kind === "user" ? [node.versions[0]?.text, node.children.length] : [];
    });
    expect(branches?.toSorted()).toEqual([
      ["Left", 1],
      ["Right", 1],
    ]);
  });

  test("thirty times at once becomes thirty branches", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const numbers = Array.from({ length: 30 }, (_one, number) => `${number}`);
    const all = await Promise.all(
      numbers.map((text) => world.chats.send(chat, { text, parent: null })),
    );
    for (const sent of all) expect((await ended(world, sent)).status).toBe("completed");
    expect((await chatOf(world, chat)).roots).toHaveLength(30);
  });

  test("with the revision that was seen is refused when somebody was faster", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const { revision } = await chatOf(world, chat);
    const first = await sendAndEnd(world, chat, "One", { revision });
    const late = world.chats.send(chat, { text: "Late", revision });
    expect(await refusal(late)).toMatchObject({ code: "conflict" });
    // What a model adds to its own answer is no change of a person.
    const { revision: now } = (await chatOf(world, chat)) ?? {};
    await sendAndEnd(world, chat, "Two", { revision: now });
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 1", "Two", "Answer 2"]);
    expect(first.status).toBe("completed");
  });

  test("with a promised task is sent once, however often it comes", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const request = { text: "One", task_id: "task_promised" };
    const sent = await world.chats.send(chat, request);
    await ended(world, sent);
    const again = await world.chats.send(chat, request);
    expect([again.node_id, again.version_id]).toEqual([sent.node_id, sent.version_id]);
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 1"]);
    expect(world.models.bodies).toHaveLength(1);
  });

  test("with a promised task is sent once, also when it comes twice at the same time", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const request = { text: "One", task_id: "task_promised", parent: null };
    const both = await Promise.all([
      world.chats.send(chat, request),
      world.chats.send(chat, request),
    ]);
    expect(both[0].version_id).toBe(both[1].version_id);
    expect((await ended(world, both[0])).status).toBe("completed");
    expect((await chatOf(world, chat)).roots).toHaveLength(1);
    expect(world.models.bodies).toHaveLength(1);
  });
});

describe("rerun", () => {
  test("of an answer adds a version of it, which is chosen; the old one stays", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    await sendAndEnd(world, chat, "Two");
    const again = await world.chats.rerun(chat, { node_id: first.node_id });
    await ended(world, again);
    expect(again.node_id).toBe(first.node_id);
    expect(words(await chatOf(world, chat), first.node_id)).toEqual(["Answer 1", "Answer 3"]);
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 3", "Two", "Answer 2"]);
    expect(told(world)).toEqual(["user: One"]);
  });

  test("of a message does the same to its answer, and answers it where nobody has", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    await ended(world, await world.chats.rerun(chat, { node_id: first.message_id }));
    expect(words(await chatOf(world, chat), first.node_id)).toEqual(["Answer 1", "Answer 2"]);
    const deleted = { type: "delete_node", node_id: first.node_id, children: "delete" } as const;
    await world.chats.edit(chat, [deleted]);
    await ended(world, await world.chats.rerun(chat, { node_id: first.message_id }));
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 3"]);
  });

  test("twice at once runs once: the other is refused", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const { node_id } = await sendAndEnd(world, chat, "One");
    const both = await Promise.allSettled([
      world.chats.rerun(chat, { node_id }),
      world.chats.rerun(chat, { node_id }),
    ]);
    const [done] = both.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const failed = both.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect(failed).toMatchObject([{ code: "still_running" }]);
    if (done !== undefined) await ended(world, done);
    expect(words(await chatOf(world, chat), node_id)).toEqual(["Answer 1", "Answer 2"]);
  });

  test("may ask another model, with other options", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const { node_id } = await sendAndEnd(world, chat, "One");
    const options = { temperature: 0.1 };
    await ended(world, await world.chats.rerun(chat, { node_id, model: "up/namer", options }));
    expect(world.models.asked.at(-1)).toMatchObject({ model: "up/namer", temperature: 0.1 });
    expect(answerIn(await chatOf(world, chat), node_id).versions.at(-1)?.model).toBe("up/namer");
  });
});

describe("edit", () => {
  test("as a version changes the message in place and its answer with it", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    await sendAndEnd(world, chat, "Two");
    const edit = { node_id: first.message_id, text: "Uno", as: "version", send: true } as const;
    const sent = await world.chats.editMessage(chat, edit);
    if (!("task_id" in sent)) throw new Error("nothing was sent");
    await ended(world, sent);
    expect(await pathWords(world, chat)).toEqual(["Uno", "Answer 3", "Two", "Answer 2"]);
    expect(told(world)).toEqual(["user: Uno"]);
  });

  test("as a branch stands beside the message with a conversation of its own", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    await sendAndEnd(world, chat, "One");
    const second = await sendAndEnd(world, chat, "Two");
    const edit = { node_id: second.message_id, text: "Due", as: "branch", send: true } as const;
    const sent = await world.chats.editMessage(chat, edit);
    if (!("task_id" in sent)) throw new Error("nothing was sent");
    await ended(world, sent);
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 1", "Due", "Answer 3"]);
    await world.chats.edit(chat, [{ type: "choose_branch", node_id: second.message_id }]);
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 1", "Two", "Answer 2"]);
  });

  test("without sending asks nobody", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    const edit = { node_id: first.message_id, text: "Uno", as: "version", send: false } as const;
    await world.chats.editMessage(chat, edit);
    expect(await pathWords(world, chat)).toEqual(["Uno", "Answer 1"]);
    expect(world.models.bodies).toHaveLength(1);
  });

  test("of an answer is what the model is told it said", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    const edit = { node_id: first.node_id, text: "By hand", as: "version", send: false } as const;
    await world.chats.editMessage(chat, edit);
    await sendAndEnd(world, chat, "Two");
    expect(told(world)).toEqual(["user: One", "assistant: By hand", "user: Two"]);
    const [, mine] = answerIn(await chatOf(world, chat), first.node_id).versions;
    expect(mine).toMatchObject({ by: "user", status: "completed" });
  });

  test("of an answer as a branch, and of a message whose answer runs, is refused", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const { node_id } = await sendAndEnd(world, chat, "One");
    const edit = { node_id, text: "By hand", as: "branch", send: false } as const;
    expect(await refusal(world.chats.editMessage(chat, edit))).toMatchObject({
      code: "illegal_place",
    });
    world.models.say(silent);
    const sent = await world.chats.send(chat, { text: "Two" });
    const message = answerIn(sent.after.chat, sent.node_id).parent ?? "";
    const before = await world.store.chat(chat);
    const again = { node_id: message, text: "Due", as: "version", send: true } as const;
    expect(await refusal(world.chats.editMessage(chat, again))).toMatchObject({
      code: "still_running",
    });
    expect(await world.store.chat(chat)).toEqual(before);
    await world.chats.stop(chat);
  });

  test("keeps what was attached unless it says otherwise", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const contexts: ContextSnippet[] = [{ kind: "selection", title: "a.ts", text: "let a" }];
    const first = await sendAndEnd(world, chat, "One", { contexts });
    const edit = { node_id: first.message_id, text: "Uno", as: "version", send: true } as const;
    await world.chats.editMessage(chat, edit);
    await world.chats.stop(chat);
    expect(told(world)).toEqual([expect.stringMatching(/let a[\s\S]*\| Uno$/)]);
  });
});

describe("continue", () => {
  test("goes on from a stopped answer, and both are one afterwards", async () => {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Tell" });
    await said(world, sent, "Beginning");
    await world.chats.stop(chat);
    world.models.say([[{ text: " and the end." }], [{ text: "Bye" }]]);
    const { node_id } = sent;
    const went = await world.chats.continueAnswer(chat, { node_id });
    expect((await ended(world, went)).continues).toBe(sent.version_id);
    expect(told(world).slice(0, 2)).toEqual(["user: Tell", "assistant: Beginning"]);
    expect(told(world)[2]).toMatch(/^user: Go on/);
    await sendAndEnd(world, chat, "Next");
    expect(told(world)).toEqual([
      "user: Tell",
      "assistant: Beginning",
      "assistant:  and the end.",
      "user: Next",
    ]);
  });

  test("has to have something to go on from", async () => {
    const world = await chatFixture({
      script: [[{ error: new ModelError("refused", "no") }]],
    });
    const chat = await newChat(world);
    const { node_id, message_id } = await sendAndEnd(world, chat, "Tell");
    expect(await refusal(world.chats.continueAnswer(chat, { node_id }))).toMatchObject({
      code: "cannot_send",
    });
    expect(await refusal(world.chats.continueAnswer(chat, { node_id: message_id }))).toMatchObject({
      code: "illegal_place",
    });
  });
});

describe("stop", () => {
  test("ends what runs, keeps what was said, and may come twice", async () => {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Tell" });
    await said(world, sent, "Beginning");
    const stopped = await Promise.all([world.chats.stop(chat), world.chats.stop(chat)]);
    const tasks = stopped.flatMap(({ answers }) => answers.map(({ task_id }) => task_id));
    expect(tasks).toContain(sent.task_id);
    expect(await ended(world, sent)).toMatchObject({ status: "aborted" });
    expect(await pathWords(world, chat)).toEqual(["Tell", "Beginning"]);
    expect((await world.chats.stop(chat)).answers).toEqual([]);
    expect(world.models.open).toBe(0);
  });

  test("one of two leaves the other", async () => {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    const one = await world.chats.send(chat, { text: "One" });
    const two = await world.chats.send(chat, { text: "Two", parent: null });
    await world.chats.stop(chat, { node_id: one.node_id });
    const { nodes } = await chatOf(world, chat);
    expect(answerIn({ nodes } as Chat, one.node_id).versions[0]?.status).toBe("aborted");
    expect(answerIn({ nodes } as Chat, two.node_id).versions[0]?.status).toBe("running");
    await world.chats.stop(chat);
  });

  test("before the task has begun leaves nothing that runs", async () => {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    const slotted = new Promise<void>((resolve) => {
      world.chats.subscribe(() => resolve());
    });
    const sending = world.chats.send(chat, { text: "Tell" });
    await slotted;
    await world.chats.stop(chat);
    const sent = await sending;
    expect(await ended(world, sent)).toMatchObject({ status: "aborted" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect.poll(() => world.store.unfinished(), { timeout: 5000 }).toEqual([]);
    await expect.poll(() => world.models.open, { timeout: 5000 }).toBe(0);
  });

  test("while it comes to its end anyway leaves one end", async () => {
    const world = await chatFixture({ script: counting });
    for (let turn = 0; turn < 20; turn += 1) {
      const chat = await newChat(world);
      const sent = await world.chats.send(chat, { text: "Tell" });
      await new Promise((resolve) => setTimeout(resolve, turn / 2));
      await world.chats.stop(chat);
      const { status, output } = await ended(world, sent);
      expect([
        ["aborted", 0],
        ["aborted", 1],
        ["completed", 1],
      ]).toContainEqual([status, output.length]);
    }
  });
});

describe("whoever opens a chat", () => {
  test("sees what its answers have said so far", async () => {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Tell" });
    await said(world, sent, "Beginning");
    const opened = await world.chats.open(chat);
    expect(opened?.chat.nodes[sent.node_id]).toMatchObject({
      versions: [{ status: "running", output: [{ block_list: [{ text: "Beginning" }] }] }],
    });
    await world.chats.stop(chat);
  });

  test("sees an answer whose task somebody has cancelled as aborted", async () => {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Tell" });
    await world.runtime.cancel(sent.task_id, "somebody");
    expect((await ended(world, sent)).status).toBe("aborted");
  });
});

describe("extract", () => {
  test("makes a chat that can go on as the old one, its long values included", async () => {
    const { group, got } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ text: "Hello" }],
        [{ call: "fetch_long", args: {} }],
        [{ text: "Fetched." }],
        [{ call: "say", args: { text: "{{var:fetch_long_1}}" } }],
        [{ text: "Said." }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    await sendAndEnd(world, chat, "Hi");
    const { message_id } = await sendAndEnd(world, chat, "Fetch");
    const { chat_id } = (await world.chats.extract(chat, message_id)).chat;
    await sendAndEnd(world, chat_id, "Say it");
    expect(await pathWords(world, chat_id)).toEqual(["Fetch", "Fetched.", "Say it", "Said."]);
    expect(await pathWords(world, chat)).toEqual(["Hi", "Hello", "Fetch", "Fetched."]);
    expect(got.at(-1)?.input).toEqual({ text: longText });
    expect(world.models.asked[3]?.input.map(({ type }) => type)).toEqual([
      "message",
      "function_call",
      "function_call_output",
      "message",
      "message",
    ]);
  });
});
