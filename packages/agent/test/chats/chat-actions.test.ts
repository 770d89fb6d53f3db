import { ChatError, ModelError, type Chats } from "@deltawire/agent";
import { getVersionText, type Chat, type ContextSnippet } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  getAnswerNode,
  readChat,
  waitForAnswerEnd,
  importForeignChat,
  createTestChat,
  readPathTexts,
  waitForAnswerText,
  sendAndWait,
  listSentItems,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture } from "./chat-fixture.ts";
import { longToolOutput, createOfficeTools } from "../../../../test/chats/office-tools.ts";
import { countingScript, hangingScript } from "../../../../test/chats/scripted-models.ts";

async function catchRejection(
  promise: Promise<unknown>,
): Promise<{ code: string; message: string }> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ChatError) return { code: error.code, message: error.message };
  throw new Error("expected a ChatError", { cause: error });
}

function listVersionTexts(chat: Chat, nodeId: string): string[] {
  return getAnswerNode(chat, nodeId).versions.map(getVersionText);
}

describe("sending a message", () => {
  test("appends to the current path", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    await sendAndWait(fixture, chat, "One");
    await sendAndWait(fixture, chat, "Two");
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 1", "Two", "Answer 2"]);
    expect(listSentItems(fixture)).toEqual(["user: One", "assistant: Answer 1", "user: Two"]);
  });

  test("with a parent creates a branch, and with the parent null a new root", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    await sendAndWait(fixture, chat, "Two");
    await sendAndWait(fixture, chat, "Other", { parent: first.node_id });
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 1", "Other", "Answer 3"]);
    await sendAndWait(fixture, chat, "Anew", { parent: null });
    expect(await readPathTexts(fixture, chat)).toEqual(["Anew", "Answer 4"]);
    expect(listSentItems(fixture)).toEqual(["user: Anew"]);
    expect((await readChat(fixture, chat)).roots).toHaveLength(2);
  });

  test("under a running answer is rejected with a reason, and nothing is written", async () => {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    await fixture.chats.send(chat, { text: "One" });
    const before = await fixture.store.getChat(chat);
    expect(await catchRejection(fixture.chats.send(chat, { text: "Two" }))).toEqual({
      code: "still_running",
      message: expect.stringMatching(/running/),
    });
    expect(await fixture.store.getChat(chat)).toEqual(before);
    await fixture.chats.stop(chat);
  });

  test.each<[string, Parameters<Chats["send"]>[1], RegExp]>([
    ["agent", { text: "Hi", agent: "nobody" }, /unknown agent "nobody"/],
    ["model", { text: "Hi", model: "at-all" }, /at-all/],
    ["parent", { text: "Hi", parent: "node_0" }, /node_0/],
    ["text", { text: "  " }, /nothing to send/],
  ])("with an invalid %s leaves the chat unchanged", async (_what, request, why) => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const before = await fixture.store.getChat(chat);
    await expect(fixture.chats.send(chat, request)).rejects.toThrow(why);
    expect(await fixture.store.getChat(chat)).toEqual(before);
    expect(fixture.models.bodies).toEqual([]);
  });

  test("with an unknown tool group leaves the chat unchanged", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await importForeignChat(fixture, { tool_groups: ["tiem"] });
    const before = await fixture.store.getChat(chat);
    await expect(fixture.chats.send(chat, { text: "Hi" })).rejects.toThrow(/tiem/);
    expect(await fixture.store.getChat(chat)).toEqual(before);
  });

  test("twice concurrently below one node creates two branches, each with its answer", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    const both = await Promise.all(
      ["Left", "Right"].map((text) => fixture.chats.send(chat, { text, parent: first.node_id })),
    );
    for (const sent of both)
      expect((await waitForAnswerEnd(fixture, sent)).status).toBe("completed");
    const { nodes } = await readChat(fixture, chat);
    const branches = nodes[first.node_id]?.children.map((id) => {
      const node = nodes[id];
      return node?.kind === "user" ? [node.versions[0]?.text, node.children.length] : [];
    });
    expect(branches?.toSorted()).toEqual([
      ["Left", 1],
      ["Right", 1],
    ]);
  });

  test("thirty times concurrently creates thirty branches", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const numbers = Array.from({ length: 30 }, (_, number) => `${number}`);
    const all = await Promise.all(
      numbers.map((text) => fixture.chats.send(chat, { text, parent: null })),
    );
    for (const sent of all)
      expect((await waitForAnswerEnd(fixture, sent)).status).toBe("completed");
    expect((await readChat(fixture, chat)).roots).toHaveLength(30);
  });

  test("with an outdated revision is rejected", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const { revision } = await readChat(fixture, chat);
    const first = await sendAndWait(fixture, chat, "One", { revision });
    const late = fixture.chats.send(chat, { text: "Late", revision });
    expect(await catchRejection(late)).toMatchObject({ code: "conflict" });
    // Output of an answer does not change the revision.
    const { revision: now } = (await readChat(fixture, chat)) ?? {};
    await sendAndWait(fixture, chat, "Two", { revision: now });
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 1", "Two", "Answer 2"]);
    expect(first.status).toBe("completed");
  });

  test("again with the same task id starts no second task", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const request = { text: "One", task_id: "task_promised" };
    const sent = await fixture.chats.send(chat, request);
    await waitForAnswerEnd(fixture, sent);
    const again = await fixture.chats.send(chat, request);
    expect([again.node_id, again.version_id]).toEqual([sent.node_id, sent.version_id]);
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 1"]);
    expect(fixture.models.bodies).toHaveLength(1);
  });

  test("twice concurrently with the same task id starts one task", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const request = { text: "One", task_id: "task_promised", parent: null };
    const both = await Promise.all([
      fixture.chats.send(chat, request),
      fixture.chats.send(chat, request),
    ]);
    expect(both[0].version_id).toBe(both[1].version_id);
    expect((await waitForAnswerEnd(fixture, both[0])).status).toBe("completed");
    expect((await readChat(fixture, chat)).roots).toHaveLength(1);
    expect(fixture.models.bodies).toHaveLength(1);
  });
});

describe("a rerun", () => {
  test("of an answer adds and selects a new version; the old one remains", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    await sendAndWait(fixture, chat, "Two");
    const again = await fixture.chats.rerun(chat, { node_id: first.node_id });
    await waitForAnswerEnd(fixture, again);
    expect(again.node_id).toBe(first.node_id);
    expect(listVersionTexts(await readChat(fixture, chat), first.node_id)).toEqual([
      "Answer 1",
      "Answer 3",
    ]);
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 3", "Two", "Answer 2"]);
    expect(listSentItems(fixture)).toEqual(["user: One"]);
  });

  test("of a message adds a version of its answer, or a first answer if there is none", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id: first.message_id }));
    expect(listVersionTexts(await readChat(fixture, chat), first.node_id)).toEqual([
      "Answer 1",
      "Answer 2",
    ]);
    const deleted = { type: "delete_node", node_id: first.node_id, children: "delete" } as const;
    await fixture.chats.edit(chat, [deleted]);
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id: first.message_id }));
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 3"]);
  });

  test("that is requested twice concurrently runs once, and the second request is rejected", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const { node_id } = await sendAndWait(fixture, chat, "One");
    const both = await Promise.allSettled([
      fixture.chats.rerun(chat, { node_id }),
      fixture.chats.rerun(chat, { node_id }),
    ]);
    const [done] = both.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const failed = both.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect(failed).toMatchObject([{ code: "still_running" }]);
    if (done !== undefined) await waitForAnswerEnd(fixture, done);
    expect(listVersionTexts(await readChat(fixture, chat), node_id)).toEqual([
      "Answer 1",
      "Answer 2",
    ]);
  });

  test("can use another model and other options", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const { node_id } = await sendAndWait(fixture, chat, "One");
    const options = { temperature: 0.1 };
    await waitForAnswerEnd(
      fixture,
      await fixture.chats.rerun(chat, { node_id, model: "up/namer", options }),
    );
    expect(fixture.models.requests.at(-1)).toMatchObject({ model: "up/namer", temperature: 0.1 });
    expect(getAnswerNode(await readChat(fixture, chat), node_id).versions.at(-1)?.model).toBe(
      "up/namer",
    );
  });
});

describe("an edit", () => {
  test("as a version replaces the message in place, and requests a new answer", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    await sendAndWait(fixture, chat, "Two");
    const edit = { node_id: first.message_id, text: "Uno", as: "version", send: true } as const;
    const sent = await fixture.chats.editMessage(chat, edit);
    if (!("task_id" in sent)) throw new Error("nothing was sent");
    await waitForAnswerEnd(fixture, sent);
    expect(await readPathTexts(fixture, chat)).toEqual(["Uno", "Answer 3", "Two", "Answer 2"]);
    expect(listSentItems(fixture)).toEqual(["user: Uno"]);
  });

  test("as a branch starts a separate conversation next to the message", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    await sendAndWait(fixture, chat, "One");
    const second = await sendAndWait(fixture, chat, "Two");
    const edit = { node_id: second.message_id, text: "Due", as: "branch", send: true } as const;
    const sent = await fixture.chats.editMessage(chat, edit);
    if (!("task_id" in sent)) throw new Error("nothing was sent");
    await waitForAnswerEnd(fixture, sent);
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 1", "Due", "Answer 3"]);
    await fixture.chats.edit(chat, [{ type: "choose_branch", node_id: second.message_id }]);
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 1", "Two", "Answer 2"]);
  });

  test("without sending makes no model request", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    const edit = { node_id: first.message_id, text: "Uno", as: "version", send: false } as const;
    await fixture.chats.editMessage(chat, edit);
    expect(await readPathTexts(fixture, chat)).toEqual(["Uno", "Answer 1"]);
    expect(fixture.models.bodies).toHaveLength(1);
  });

  test("of an answer replaces what the model sees as its earlier reply", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    const edit = { node_id: first.node_id, text: "By hand", as: "version", send: false } as const;
    await fixture.chats.editMessage(chat, edit);
    await sendAndWait(fixture, chat, "Two");
    expect(listSentItems(fixture)).toEqual(["user: One", "assistant: By hand", "user: Two"]);
    const [, mine] = getAnswerNode(await readChat(fixture, chat), first.node_id).versions;
    expect(mine).toMatchObject({ by: "user", status: "completed" });
  });

  test("of an answer as a branch, or of a message whose answer is running, is rejected", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const { node_id } = await sendAndWait(fixture, chat, "One");
    const edit = { node_id, text: "By hand", as: "branch", send: false } as const;
    expect(await catchRejection(fixture.chats.editMessage(chat, edit))).toMatchObject({
      code: "invalid_position",
    });
    fixture.models.setScript(hangingScript);
    const sent = await fixture.chats.send(chat, { text: "Two" });
    const message = getAnswerNode(sent.after.chat, sent.node_id).parent ?? "";
    const before = await fixture.store.getChat(chat);
    const again = { node_id: message, text: "Due", as: "version", send: true } as const;
    expect(await catchRejection(fixture.chats.editMessage(chat, again))).toMatchObject({
      code: "still_running",
    });
    expect(await fixture.store.getChat(chat)).toEqual(before);
    await fixture.chats.stop(chat);
  });

  test("retains attachments unless others are given", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const contexts: ContextSnippet[] = [{ kind: "selection", title: "a.ts", text: "let a" }];
    const first = await sendAndWait(fixture, chat, "One", { contexts });
    const edit = { node_id: first.message_id, text: "Uno", as: "version", send: true } as const;
    await fixture.chats.editMessage(chat, edit);
    await fixture.chats.stop(chat);
    expect(listSentItems(fixture)).toEqual([expect.stringMatching(/let a[\s\S]*\| Uno$/)]);
  });
});

describe("continuing an answer", () => {
  test("appends to a stopped answer; the model then sees both parts", async () => {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Tell" });
    await waitForAnswerText(fixture, sent, "Beginning");
    await fixture.chats.stop(chat);
    fixture.models.setScript([[{ text: " and the end." }], [{ text: "Bye" }]]);
    const { node_id } = sent;
    const continued = await fixture.chats.continueAnswer(chat, { node_id });
    expect((await waitForAnswerEnd(fixture, continued)).continues).toBe(sent.version_id);
    expect(listSentItems(fixture).slice(0, 2)).toEqual(["user: Tell", "assistant: Beginning"]);
    expect(listSentItems(fixture)[2]).toMatch(/^user: Continue where you stopped\./);
    await sendAndWait(fixture, chat, "Next");
    expect(listSentItems(fixture)).toEqual([
      "user: Tell",
      "assistant: Beginning",
      "assistant:  and the end.",
      "user: Next",
    ]);
  });

  test("is rejected if there is no text to continue or the node is a message", async () => {
    const fixture = await chatFixture({
      script: [[{ error: new ModelError("rejected", "no") }]],
    });
    const chat = await createTestChat(fixture);
    const { node_id, message_id } = await sendAndWait(fixture, chat, "Tell");
    expect(await catchRejection(fixture.chats.continueAnswer(chat, { node_id }))).toMatchObject({
      code: "cannot_send",
    });
    expect(
      await catchRejection(fixture.chats.continueAnswer(chat, { node_id: message_id })),
    ).toMatchObject({
      code: "invalid_position",
    });
  });
});

describe("a stop", () => {
  test("ends the answer and retains its text, even if requested twice", async () => {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Tell" });
    await waitForAnswerText(fixture, sent, "Beginning");
    const stopped = await Promise.all([fixture.chats.stop(chat), fixture.chats.stop(chat)]);
    const tasks = stopped.flatMap(({ answers }) => answers.map(({ task_id }) => task_id));
    expect(tasks).toContain(sent.task_id);
    expect(await waitForAnswerEnd(fixture, sent)).toMatchObject({ status: "aborted" });
    expect(await readPathTexts(fixture, chat)).toEqual(["Tell", "Beginning"]);
    expect((await fixture.chats.stop(chat)).answers).toEqual([]);
    expect(fixture.models.openReplies).toBe(0);
  });

  test("of one answer leaves the other running", async () => {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    const one = await fixture.chats.send(chat, { text: "One" });
    const two = await fixture.chats.send(chat, { text: "Two", parent: null });
    await fixture.chats.stop(chat, { node_id: one.node_id });
    const { nodes } = await readChat(fixture, chat);
    expect(getAnswerNode({ nodes } as Chat, one.node_id).versions[0]?.status).toBe("aborted");
    expect(getAnswerNode({ nodes } as Chat, two.node_id).versions[0]?.status).toBe("running");
    await fixture.chats.stop(chat);
  });

  test("before the task has started leaves nothing running", async () => {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    const placeholderStored = new Promise<void>((resolve) => {
      fixture.chats.subscribe(() => resolve());
    });
    const sending = fixture.chats.send(chat, { text: "Tell" });
    await placeholderStored;
    await fixture.chats.stop(chat);
    const sent = await sending;
    expect(await waitForAnswerEnd(fixture, sent)).toMatchObject({ status: "aborted" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect.poll(() => fixture.store.listUnfinished(), { timeout: 5000 }).toEqual([]);
    await expect.poll(() => fixture.models.openReplies, { timeout: 5000 }).toBe(0);
  });

  test("while the answer is ending results in one final state", async () => {
    const fixture = await chatFixture({ script: countingScript });
    for (let turn = 0; turn < 20; turn += 1) {
      const chat = await createTestChat(fixture);
      const sent = await fixture.chats.send(chat, { text: "Tell" });
      await new Promise((resolve) => setTimeout(resolve, turn / 2));
      await fixture.chats.stop(chat);
      const { status, output } = await waitForAnswerEnd(fixture, sent);
      expect([
        ["aborted", 0],
        ["aborted", 1],
        ["completed", 1],
      ]).toContainEqual([status, output.length]);
    }
  });
});

describe("opening a chat", () => {
  test("returns the output of running answers so far", async () => {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Tell" });
    await waitForAnswerText(fixture, sent, "Beginning");
    const opened = await fixture.chats.open(chat);
    expect(opened?.chat.nodes[sent.node_id]).toMatchObject({
      versions: [{ status: "running", output: [{ block_list: [{ text: "Beginning" }] }] }],
    });
    await fixture.chats.stop(chat);
  });
});

describe("canceling the task of an answer", () => {
  test("aborts the answer", async () => {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Tell" });
    await fixture.runtime.cancel(sent.task_id, "somebody");
    expect((await waitForAnswerEnd(fixture, sent)).status).toBe("aborted");
  });
});

describe("extracting part of a chat", () => {
  test("creates a chat that can be continued, including its variables", async () => {
    const { group, calls } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ text: "Hello" }],
        [{ call: "fetch_long", args: {} }],
        [{ text: "Fetched." }],
        [{ call: "say", args: { text: "{{var:fetch_long_1}}" } }],
        [{ text: "Said." }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    await sendAndWait(fixture, chat, "Hi");
    const { message_id } = await sendAndWait(fixture, chat, "Fetch");
    const { chat_id } = (await fixture.chats.extract(chat, message_id)).chat;
    await sendAndWait(fixture, chat_id, "Say it");
    expect(await readPathTexts(fixture, chat_id)).toEqual(["Fetch", "Fetched.", "Say it", "Said."]);
    expect(await readPathTexts(fixture, chat)).toEqual(["Hi", "Hello", "Fetch", "Fetched."]);
    expect(calls.at(-1)?.input).toEqual({ text: longToolOutput });
    expect(fixture.models.requests[3]?.input.map(({ type }) => type)).toEqual([
      "message",
      "function_call",
      "function_call_output",
      "message",
      "message",
    ]);
  });
});
