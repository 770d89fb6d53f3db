import { blobPath } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  readChat,
  waitForAnswerEnd,
  createTestChat,
  waitForAnswerText,
  sendAndWait,
  waitForTask,
  listSentItems,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture } from "./chat-fixture.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";
import { countingScript, hangingScript } from "../../../../test/chats/scripted-models.ts";

describe("the history for a model", () => {
  test("never contains hidden, failed or running nodes", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    fixture.models.setScript([
      [{ text: "Half" }, { failed: { code: "bad_request", message: "broken" } }],
    ]);
    const failed = await sendAndWait(fixture, chat, "Two");
    expect(failed.status).toBe("error");
    fixture.models.setScript(hangingScript);
    const running = await fixture.chats.send(chat, { text: "Aside", parent: first.node_id });
    await waitForAnswerText(fixture, running, "Beginning");
    fixture.models.setScript(countingScript);
    await fixture.chats.edit(chat, [
      { type: "hide", node_id: first.node_id, value: true },
      { type: "choose_branch", node_id: failed.message_id },
    ]);
    await sendAndWait(fixture, chat, "Three", { parent: failed.node_id });
    expect(listSentItems(fixture)).toEqual(["user: One", "user: Two", "user: Three"]);
    await fixture.chats.stop(chat);
  });

  test("is limited to the last turns, starts at the last separator, and always contains pinned messages", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture, { turns: 2 });
    const one = await sendAndWait(fixture, chat, "One");
    const two = await sendAndWait(fixture, chat, "Two");
    await sendAndWait(fixture, chat, "Three");
    expect(listSentItems(fixture)).toEqual(["user: Two", "assistant: Answer 2", "user: Three"]);
    await fixture.chats.edit(chat, [
      { type: "pin", node_id: one.message_id, value: true },
      { type: "add_separator", after: two.node_id },
    ]);
    await sendAndWait(fixture, chat, "Four");
    expect(listSentItems(fixture)).toEqual([
      "user: One",
      "user: Three",
      "assistant: Answer 3",
      "user: Four",
    ]);
  });

  test("contains attachments and contexts separately from the user's text", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const bytes = Buffer.from("a,b\n1,2\n");
    const url = blobPath + (await fixture.store.put(bytes, "text/csv"));
    await sendAndWait(fixture, chat, "Sum it up", {
      attachments: [{ kind: "file", url, filename: "t.csv", media_type: "text/csv" }],
      contexts: [{ kind: "page", title: "Home", text: "Welcome", url: "https://example.com/" }],
    });
    const parts = fixture.models.requests[0]?.input[0]?.content;
    expect(parts?.map(({ text }) => text)).toEqual([
      '<context kind="page" title="Home" url="https://example.com/">\nWelcome\n</context>',
      '<file name="t.csv">\na,b\n1,2\n\n</file>',
      "Sum it up",
    ]);
    const { nodes } = await readChat(fixture, chat);
    expect(Object.values(nodes)[0]).toMatchObject({ versions: [{ text: "Sum it up" }] });
  });

  test("contains calls, results and reasoning of earlier turns as items", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [
          { reasoning: "Let me say it.", encrypted: "opaque-1" },
          { call: "say", args: { text: "hello" }, id: "call_of_server_1" },
        ],
        [{ reasoning: "Said.", encrypted: "opaque-2" }, { text: "Done." }],
        [{ text: "Yes." }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    await sendAndWait(fixture, chat, "Say hello");
    await sendAndWait(fixture, chat, "Did you?");
    const { input } = fixture.models.requests[2] ?? { input: [] };
    expect(input.slice(1, -1)).toMatchObject([
      { type: "reasoning", encrypted_content: "opaque-1" },
      {
        type: "function_call",
        call_id: "call_of_server_1",
        name: "say",
        arguments: '{"text":"hello"}',
      },
      { type: "function_call_output", call_id: "call_of_server_1", output: "said: hello" },
      { type: "reasoning", encrypted_content: "opaque-2" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Done." }] },
    ]);
    // The second turn contains the first one unchanged.
    const first = fixture.models.requests[1]?.input ?? [];
    expect(input.slice(0, first.length)).toEqual(first);
  });

  test("contains unique call ids, even for answers of independent tasks", async () => {
    const call = (text: string) => ({ call: "say", args: { text }, id: "call_0" });
    const fixture = await chatFixture({
      groups: [createOfficeTools().group],
      script: [
        [{ text: "One" }],
        [call("two")],
        [{ text: "Two" }],
        [call("one")],
        [{ text: "One again" }],
        [{ text: "Three" }],
        [{ text: "Four" }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    const { node_id } = await sendAndWait(fixture, chat, "1");
    await sendAndWait(fixture, chat, "2");
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id }));
    await sendAndWait(fixture, chat, "3");
    const [third] = fixture.models.requests.slice(-1);
    expect(third?.input.filter(({ type }) => type.startsWith("function_call"))).toMatchObject([
      { call_id: "call_0", arguments: '{"text":"one"}' },
      { call_id: "call_0", output: "said: one" },
      { call_id: "call_0_2", arguments: '{"text":"two"}' },
      { call_id: "call_0_2", output: "said: two" },
    ]);
    await sendAndWait(fixture, chat, "4");
    const fourth = fixture.models.requests.at(-1)?.input ?? [];
    expect(fourth.slice(0, third?.input.length)).toEqual(third?.input);
  });

  test("contains the chosen version of each answer", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const first = await sendAndWait(fixture, chat, "One");
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id: first.node_id }));
    const { node_id, version_id } = first;
    await fixture.chats.edit(chat, [{ type: "choose_version", node_id, version_id }]);
    await sendAndWait(fixture, chat, "Two");
    expect(listSentItems(fixture)).toEqual(["user: One", "assistant: Answer 1", "user: Two"]);
  });

  test("contains user messages sent during an answer at the position where the model received them", async () => {
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const { group } = createOfficeTools({ say: () => gate.then(() => "said") });
    const fixture = await chatFixture({
      groups: [group],
      script: [[{ call: "say", args: { text: "x" } }], [{ text: "As you wish." }], [{ text: "." }]],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    const sent = await fixture.chats.send(chat, { text: "Say x" });
    await waitForTask(fixture, sent.task_id, ({ tasks }) =>
      Boolean(tasks[sent.task_id]?.executions.length),
    );
    expect(await fixture.runtime.input(sent.task_id, "Politely!", "steer")).toBe("added");
    go();
    const { inputs } = await waitForAnswerEnd(fixture, sent);
    expect(inputs).toMatchObject([{ item: { content: [{ text: "Politely!" }] } }]);
    await sendAndWait(fixture, chat, "Thanks");
    expect(listSentItems(fixture)).toEqual([
      "user: Say x",
      'say {"text":"x"}',
      '=> "said"',
      "user: Politely!",
      "assistant: As you wish.",
      "user: Thanks",
    ]);
  });
});
