import type { Store } from "@deltawire/store";
import { describe, expect, test, vi } from "vitest";
import {
  createTestChat,
  getAnswerNode,
  listSentItems,
  readChat,
  readPathTexts,
  sendAndWait,
  waitForAnswerEnd,
  waitForAnswerText,
  waitForChat,
  waitForQuestion,
} from "../../../../test/chats/chat-helpers.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";
import { hangingScript, neverResolves } from "../../../../test/chats/scripted-models.ts";
import { createLocalBus } from "../cluster/local-bus.ts";
import { createSuspendableStore, openSharedStore, replaceMethod } from "../cluster/two-runtimes.ts";
import { chatFixture, type FixtureOptions, type StoredChatFixture } from "./chat-fixture.ts";

const sweepIntervals = { check: 20, search: 20, ended: 100, unstarted: 300, title: 60_000 };

/** Opens the chats of a store in one of several processes. */
function openProcess(
  sharedStore: Store,
  options: Partial<FixtureOptions> = {},
): Promise<StoredChatFixture> {
  return chatFixture({ sharedStore, sweepIntervals, ...options });
}

/** Calls `effect` when the store has performed the first matching call, before the caller receives the result. */
function afterFirstCall(
  store: Store,
  method: "append" | "saveChat",
  matches: (args: string) => boolean,
  effect: () => void | Promise<void>,
): void {
  const call = store[method].bind(store) as (...args: unknown[]) => Promise<unknown>;
  let hasMatched = false;
  vi.spyOn(store, method).mockImplementation((async (...args: unknown[]) => {
    const result = await call(...args);
    if (hasMatched || !matches(JSON.stringify(args))) return result;
    hasMatched = true;
    await effect();
    return result;
  }) as never);
}

describe("a running answer", () => {
  test("is ended by the process that takes its task over, and not changed by the earlier one", async () => {
    const store = await openSharedStore();
    const slow = createSuspendableStore(store);
    const mayContinue = Promise.withResolvers<void>();
    const first = await openProcess(slow.store, {
      script: [[{ text: "Half of it" }, { wait: mayContinue.promise }, { text: "Stale." }]],
      expectsFailures: true,
    });
    const second = await openProcess(store, { script: [[{ text: "The whole." }]] });
    const chat = await createTestChat(first);
    const sent = await first.chats.send(chat, { text: "Go" });
    await waitForAnswerText(first, sent, "Half");
    slow.suspend();
    mayContinue.resolve();
    expect(await waitForAnswerEnd(second, sent)).toMatchObject({ status: "completed" });
    const { revision } = await readChat(second, chat);
    slow.resume();
    await vi.waitFor(() => expect(first.runtime.live(sent.task_id)).toBeUndefined());
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await readPathTexts(second, chat)).at(-1)).toBe("The whole.");
    expect((await readChat(second, chat)).revision).toBe(revision);
    expect(getAnswerNode(await readChat(second, chat), sent.node_id).versions).toHaveLength(1);
  });

  test("is ended by another process if its own process dies after the end of the task", async () => {
    const store = await openSharedStore();
    const dying = createSuspendableStore(store);
    const first = await openProcess(dying.store, { script: [[{ text: "Done." }]] });
    const second = await openProcess(store);
    const isEnd = (args: string): boolean => args.includes("task.completed");
    afterFirstCall(store, "append", isEnd, () => dying.suspend());
    const chat = await createTestChat(first);
    const sent = await first.chats.send(chat, { text: "Go" });
    expect(await waitForAnswerEnd(second, sent)).toMatchObject({ status: "completed" });
    expect((await readPathTexts(second, chat)).at(-1)).toBe("Done.");
    dying.resume();
  });

  test("is marked as interrupted by another process if its own process dies before the task starts", async () => {
    const store = await openSharedStore();
    const dying = createSuspendableStore(store);
    const first = await openProcess(dying.store, {
      script: hangingScript,
      expectsFailures: true,
    });
    const second = await openProcess(store);
    const chat = await createTestChat(first);
    afterFirstCall(
      store,
      "saveChat",
      () => true,
      () => dying.suspend(),
    );
    void first.chats.send(chat, { text: "Go", task_id: "task_1" }).catch(() => undefined);
    const node = await waitForChat(second, chat, ({ nodes }) =>
      Object.values(nodes).find((entry) => entry.kind === "answer"),
    );
    const sent = { node_id: node.node_id, version_id: node.version, task_id: "task_1" };
    const after = { chat: await readChat(second, chat), stamp: 0 };
    expect(await waitForAnswerEnd(second, { ...sent, after })).toMatchObject({
      status: "error",
      error: { code: "interrupted" },
    });
    // The process was only slow: its task does not run for an answer that has ended.
    dying.resume();
    await vi.waitFor(async () =>
      expect((await second.runtime.state("task_1")).tasks["task_1"]?.status).toBe("canceled"),
    );
  });

  test("is not ended by a process that starts while another one is about to start its task", async () => {
    const store = await openSharedStore();
    const first = await openProcess(store, { script: [[{ text: "Done." }]] });
    const chat = await createTestChat(first);
    afterFirstCall(
      store,
      "saveChat",
      (args) => args.includes("running"),
      async () => {
        await openProcess(store);
        await new Promise((resolve) => setTimeout(resolve, 100));
      },
    );
    expect(await sendAndWait(first, chat, "Go")).toMatchObject({ status: "completed" });
    const { nodes } = await readChat(first, chat);
    expect(Object.values(nodes).map(({ kind }) => kind)).toEqual(["user", "answer"]);
  });

  test("is not ended by another process while its own process takes long to start the task", async () => {
    const store = await openSharedStore();
    let isStarted = false;
    const slowStore = replaceMethod(store, "append", async (call) => {
      if (!isStarted) await new Promise((resolve) => setTimeout(resolve, 1500));
      isStarted = true;
      return call();
    });
    const first = await openProcess(slowStore, { script: [[{ text: "Done." }]] });
    await openProcess(store);
    const chat = await createTestChat(first);
    expect(await sendAndWait(first, chat, "Go")).toMatchObject({ status: "completed" });
  });

  test("shows in another process its output so far, and that it is waiting for a decision", async () => {
    const store = await openSharedStore();
    const groups = [createOfficeTools().group];
    const script = [
      [{ text: "I will ask." }, { call: "ask_first", args: { to: "a" } }],
      [{ text: "Sent." }],
    ];
    const first = await openProcess(store, { groups, script });
    const second = await openProcess(store, { groups });
    const chat = await createTestChat(first, { tool_groups: ["office"] });
    const sent = await first.chats.send(chat, { text: "Go" });
    const isWaiting = await waitForChat(
      second,
      chat,
      (stored) => getAnswerNode(stored, sent.node_id).versions[0]?.waiting,
    );
    expect(isWaiting).toBe(true);
    expect(JSON.stringify(await second.chats.open(chat))).toContain("I will ask.");
    const [pending] = await second.runtime.pending();
    const approvalId = pending?.approval.approval_id ?? "";
    expect(
      await second.runtime.decide(approvalId, { decision: "approve", by: "me" }),
    ).toMatchObject({ type: "resolved" });
    const ended = await waitForAnswerEnd(second, sent);
    expect(ended.status).toBe("completed");
    expect(ended.waiting).toBeUndefined();
  });
});

describe("in a process that does not run the answer", () => {
  test("a stop ends it once", async () => {
    const store = await openSharedStore();
    const [first, second] = [
      await openProcess(store, { script: hangingScript }),
      await openProcess(store),
    ];
    const chat = await createTestChat(first);
    const sent = await first.chats.send(chat, { text: "Go" });
    await waitForAnswerText(first, sent, "Beginning");
    const { answers } = await second.chats.stop(chat);
    expect(answers.map(({ task_id }) => task_id)).toEqual([sent.task_id]);
    expect(await waitForAnswerEnd(second, sent)).toMatchObject({ status: "aborted" });
    expect(first.models.openReplies).toBe(0);
    await expect.poll(() => store.listUnfinished()).toEqual([]);
  });

  test("a stop before its task has started leaves nothing running", async () => {
    const store = await openSharedStore();
    const first = await openProcess(store, { script: hangingScript });
    const second = await openProcess(store);
    const chat = await createTestChat(first);
    afterFirstCall(
      store,
      "saveChat",
      (args) => args.includes('"task_1"'),
      async () => {
        await second.chats.stop(chat);
      },
    );
    const sent = await first.chats.send(chat, { text: "Go", task_id: "task_1" });
    expect(await waitForAnswerEnd(first, sent)).toMatchObject({ status: "aborted" });
    await expect.poll(() => store.listUnfinished()).toEqual([]);
    await expect.poll(() => first.models.openReplies).toBe(0);
  });

  test("a permanent deletion of the chat leaves nothing running", async () => {
    const store = await openSharedStore();
    const first = await openProcess(store, { script: hangingScript });
    const second = await openProcess(store);
    const chat = await createTestChat(first);
    await waitForAnswerText(first, await first.chats.send(chat, { text: "Go" }), "Beginning");
    await second.chats.remove(chat, { forever: true });
    expect(await first.chats.open(chat)).toBeUndefined();
    expect(first.models.openReplies).toBe(0);
    await expect.poll(() => store.listUnfinished()).toEqual([]);
  });

  test("the conversation continues with the answer of the other process", async () => {
    const store = await openSharedStore();
    const first = await openProcess(store, { script: [[{ text: "One" }]] });
    const second = await openProcess(store, { script: [[{ text: "Two" }], [{ text: "Three" }]] });
    const chat = await createTestChat(first);
    const { node_id } = await sendAndWait(first, chat, "First?");
    await sendAndWait(second, chat, "Second?");
    expect(listSentItems(second)).toEqual(["user: First?", "assistant: One", "user: Second?"]);
    const sent = await second.chats.rerun(chat, { node_id });
    expect(await waitForAnswerEnd(first, sent)).toMatchObject({ status: "completed" });
    expect(getAnswerNode(await readChat(first, chat), node_id).versions).toHaveLength(2);
  });
});

test("the same request to two processes at the same time sends one message", async () => {
  const store = await openSharedStore();
  const script = [[{ text: "One" }], [{ text: "Two" }]];
  const first = await openProcess(store, { script });
  const second = await openProcess(store, { script });
  const chat = await createTestChat(first);
  const request = { text: "Go", task_id: "task_1" };
  const [sent, repeated] = await Promise.all([
    first.chats.send(chat, request),
    second.chats.send(chat, request),
  ]);
  expect(sent.node_id).toBe(repeated.node_id);
  await waitForAnswerEnd(first, sent);
  expect(await readPathTexts(first, chat)).toEqual(["Go", "One"]);
  expect(Object.keys((await readChat(first, chat)).nodes)).toHaveLength(2);
});

describe("changes by another process", () => {
  test.each([
    ["without a bus", undefined],
    ["with a bus", createLocalBus()],
    ["with a bus that loses them", createLocalBus(() => [])],
  ])("are announced to listeners %s", async (_description, bus) => {
    const store = await openSharedStore();
    const options = bus === undefined ? {} : { bus };
    const [first, second] = [await openProcess(store, options), await openProcess(store, options)];
    const chat = await createTestChat(first);
    const stamps: number[] = [];
    const unsubscribe = second.chats.subscribe((stamp) => stamps.push(stamp));
    const { after } = await first.chats.edit(chat, [{ type: "rename", title: "New" }]);
    await vi.waitFor(() => expect(stamps.at(-1)).toBe(after.stamp), { timeout: 4000 });
    unsubscribe();
    const read = vi.spyOn(store, "getChatStamps");
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(read).not.toHaveBeenCalled();
  });

  test("to the settings apply to the next answer", async () => {
    const store = await openSharedStore();
    const first = await openProcess(store, { script: [[{ text: "One" }], [{ text: "Two" }]] });
    const second = await openProcess(store);
    const chat = await createTestChat(first);
    await sendAndWait(first, chat, "I am ada@example.org");
    const privacy = { enabled: true, fields: [{ kind: "email" as const }] };
    await second.chats.edit(chat, [
      { type: "settings", patch: { privacy, instructions: "Be brief." } },
    ]);
    await sendAndWait(first, chat, "Again");
    expect(first.models.bodies[0]).toContain("ada@example.org");
    expect(first.models.bodies[1]).not.toContain("ada@example.org");
    expect(first.models.bodies[1]).toContain("Be brief.");
  });

  test("to private values apply to the next request", async () => {
    const store = await openSharedStore();
    const settings = {
      privacy: { enabled: true, fields: [{ kind: "password" as const }] },
    };
    const first = await openProcess(store, { script: () => [{ text: "Yes" }] });
    const second = await openProcess(store, { script: () => [{ text: "Yes" }] });
    const chat = await createTestChat(first, settings);
    await sendAndWait(first, chat, "Hello");
    await sendAndWait(second, chat, "password: hunter2secret");
    await sendAndWait(first, chat, "I said hunter2secret.");
    expect(first.models.bodies.at(-1)).not.toContain("hunter2secret");
    expect(second.models.bodies.at(-1)).not.toContain("hunter2secret");
  });

  test("to the privacy settings are rejected while an answer runs in this one", async () => {
    const store = await openSharedStore();
    const first = await openProcess(store, { script: () => [{ wait: neverResolves }] });
    const second = await openProcess(store);
    const chat = await createTestChat(first);
    await first.chats.send(chat, { text: "Go" });
    const privacy = { enabled: true, fields: [{ kind: "email" as const }] };
    const edits = [{ type: "settings", patch: { privacy } } as const];
    await expect(second.chats.edit(chat, edits)).rejects.toMatchObject({ code: "still_running" });
    await second.chats.stop(chat);
    await second.chats.edit(chat, edits);
  });
});

describe("the title of a chat", () => {
  const defaults = { generateTitles: true };
  const privacy = { enabled: true, fields: [{ kind: "email" as const }] };
  const changePrivacy = [{ type: "settings", patch: { privacy } } as const];

  test("is generated once by other processes if its own process dies before the title is stored", async () => {
    const store = await openSharedStore();
    const dying = createSuspendableStore(store);
    const settings = { title_model: "up/namer" };
    const first = await openProcess(dying.store, {
      script: ({ model }) => [model === "up/namer" ? { wait: neverResolves } : { text: "Yes" }],
      defaults,
      settings,
    });
    const openOther = () =>
      openProcess(store, {
        script: () => [{ text: "A greeting" }],
        defaults,
        settings,
        sweepIntervals: { ...sweepIntervals, title: 200 },
      });
    const [second, third] = [await openOther(), await openOther()];
    const chat = await createTestChat(first);
    await sendAndWait(first, chat, "Hello");
    await expect.poll(() => first.models.openReplies).toBe(1);
    dying.suspend();
    expect(await waitForChat(second, chat, (one) => one.title_by === "model" && one.title)).toBe(
      "A greeting",
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(second.models.bodies.length + third.models.bodies.length).toBe(1);
    dying.resume();
  });

  test("is not requested with privacy settings that another process has changed", async () => {
    const store = await openSharedStore();
    const mayAnswer = Promise.withResolvers<void>();
    const script = [[{ wait: mayAnswer.promise }, { text: "Yes" }]];
    const first = await openProcess(store, { script, defaults });
    const second = await openProcess(store);
    const chat = await createTestChat(first);
    const sent = await first.chats.send(chat, { text: "I am ada@example.org" });
    // Changed after the settings were read for the title, and before its request is sent.
    let changed: Promise<unknown> | undefined;
    const getChatUpdate = store.getChatUpdate.bind(store);
    vi.spyOn(store, "getChatUpdate").mockImplementation(async (...args) => {
      changed ??= second.chats.edit(chat, changePrivacy);
      await changed;
      return getChatUpdate(...args);
    });
    mayAnswer.resolve();
    await waitForAnswerEnd(first, sent);
    await vi.waitFor(() => expect(changed).toBeDefined());
    await changed;
    await first.close();
    expect(first.models.bodies).toHaveLength(1);
    expect((await readChat(second, chat)).title_by).toBe("nobody");
  });

  test("is no longer generated when another process changes the privacy settings", async () => {
    const store = await openSharedStore();
    const script = [[{ text: "Yes" }], [{ wait: neverResolves }]];
    const first = await openProcess(store, { script, defaults });
    const second = await openProcess(store);
    const chat = await createTestChat(first);
    await sendAndWait(first, chat, "I am ada@example.org");
    await expect.poll(() => first.models.openReplies).toBe(1);
    await second.chats.edit(chat, changePrivacy);
    await expect.poll(() => first.models.openReplies, { timeout: 2000 }).toBe(0);
    expect((await readChat(second, chat)).title_by).toBe("nobody");
  });

  test("that a user sets in another process is not replaced", async () => {
    const store = await openSharedStore();
    const mayAnswer = Promise.withResolvers<void>();
    const script = [[{ text: "Yes" }], [{ wait: mayAnswer.promise }, { text: "By the model" }]];
    const first = await openProcess(store, { script, defaults });
    const second = await openProcess(store);
    const chat = await createTestChat(first);
    await sendAndWait(first, chat, "Hello");
    await expect.poll(() => first.models.openReplies).toBe(1);
    await second.chats.edit(chat, [{ type: "rename", title: "By the user" }]);
    mayAnswer.resolve();
    await expect.poll(() => first.models.openReplies).toBe(0);
    await first.close();
    expect(await readChat(second, chat)).toMatchObject({ title: "By the user", title_by: "user" });
  });
});

test("an approval in one process continues the answer of another process that has stopped", async () => {
  const store = await openSharedStore();
  const { group, calls } = createOfficeTools();
  const groups = [group];
  const first = await openProcess(store, { groups, script: [[{ call: "ask_first", args: {} }]] });
  const chat = await createTestChat(first, { tool_groups: ["office"] });
  const sent = await first.chats.send(chat, { text: "Go" });
  const { approval_id } = await waitForQuestion(first, sent);
  await first.close();
  const second = await openProcess(store, { groups, script: [[{ text: "Allowed." }]] });
  expect(await second.runtime.decide(approval_id, { decision: "approve", by: "me" })).toMatchObject(
    { type: "resolved" },
  );
  expect(await waitForAnswerEnd(second, sent)).toMatchObject({ status: "completed" });
  expect((await readPathTexts(second, chat)).at(-1)).toBe("Allowed.");
  expect(calls).toHaveLength(1);
});

describe("the same request that two processes receive at the same time", () => {
  const options = { reservedId: "chat_reserved" };

  /** Opens two processes. Both have found no chat with the reserved id before one of them creates it. */
  async function openTwo(
    script: FixtureOptions["script"] = [],
  ): Promise<[StoredChatFixture, StoredChatFixture]> {
    const store = await openSharedStore();
    let calls = 0;
    const bothCalled = Promise.withResolvers<void>();
    const connect = (): Store =>
      replaceMethod(store, "createChats", async (call, args) => {
        if (!JSON.stringify(args).includes(options.reservedId)) return call();
        calls += 1;
        if (calls >= 2) bothCalled.resolve();
        await bothCalled.promise;
        return call();
      });
    return [await openProcess(connect(), { script }), await openProcess(connect())];
  }
  test("creates one chat", async () => {
    const processes = await openTwo();
    const created = await Promise.all(
      processes.map(({ chats }) => chats.create({ title: "One" }, options)),
    );
    expect(created.map(({ chat }) => chat.chat_id)).toEqual(["chat_reserved", "chat_reserved"]);
    expect(created.map(({ chat }) => chat.title)).toEqual(["One", "One"]);
  });

  test("imports a file once", async () => {
    const source = await openProcess(await openSharedStore());
    const chat = await createTestChat(source);
    const { text } = await source.chats.exportAs(chat, "json");
    const file: unknown = JSON.parse(text);
    const processes = await openTwo();
    const imported = await Promise.all(
      processes.map(({ chats }) => chats.importFrom(file, options)),
    );
    const ids = imported.map((chats) => chats.map((stored) => stored.chat.chat_id));
    expect(ids).toEqual([["chat_reserved"], ["chat_reserved"]]);
  });

  test("copies a subtree once", async () => {
    const processes = await openTwo([[{ text: "Fine." }]]);
    const [first] = processes;
    const chat = await createTestChat(first);
    await sendAndWait(first, chat, "How are you?");
    const { nodes } = await readChat(first, chat);
    const question = Object.values(nodes).find(({ kind }) => kind === "user");
    const copies = await Promise.all(
      processes.map(({ chats }) => chats.extract(chat, question?.node_id ?? "", options)),
    );
    expect(copies.map((copy) => copy.chat.chat_id)).toEqual(["chat_reserved", "chat_reserved"]);
  });

  test("does not return a chat of another user that has the reserved id", async () => {
    const { chats } = await openProcess(await openSharedStore());
    await chats.create({}, { ...options, owner: "ann" });
    const creation = chats.create({}, { ...options, owner: "bob" });
    await expect(creation).rejects.toMatchObject({ code: "id_taken" });
  });
});
