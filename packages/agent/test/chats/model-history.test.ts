import { blobPath } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  chatOf,
  ended,
  newChat,
  said,
  sendAndEnd,
  taskUntil,
  told,
} from "../../../../test/chats/chat-steps.ts";
import { chatFixture } from "./chat-fixture.ts";
import { office } from "../../../../test/chats/office.ts";
import { counting, silent } from "../../../../test/chats/scripted-replies.ts";

describe("what a model is told", () => {
  test("never has what is hidden, what failed, or what still runs", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    world.models.say([[{ text: "Half" }, { failed: { code: "bad_request", message: "broken" } }]]);
    const failed = await sendAndEnd(world, chat, "Two");
    expect(failed.status).toBe("error");
    world.models.say(silent);
    const running = await world.chats.send(chat, { text: "Aside", parent: first.node_id });
    await said(world, running, "Beginning");
    world.models.say(counting);
    await world.chats.edit(chat, [
      { type: "hide", node_id: first.node_id, value: true },
      { type: "choose_branch", node_id: failed.message_id },
    ]);
    await sendAndEnd(world, chat, "Three", { parent: failed.node_id });
    expect(told(world)).toEqual(["user: One", "user: Two", "user: Three"]);
    await world.chats.stop(chat);
  });

  test("is cut at the last separator and by turns, and always has what is pinned", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world, { turns: 2 });
    const one = await sendAndEnd(world, chat, "One");
    const two = await sendAndEnd(world, chat, "Two");
    await sendAndEnd(world, chat, "Three");
    expect(told(world)).toEqual(["user: Two", "assistant: Answer 2", "user: Three"]);
    await world.chats.edit(chat, [
      { type: "pin", node_id: one.message_id, value: true },
      { type: "add_separator", after: two.node_id },
    ]);
    await sendAndEnd(world, chat, "Four");
    expect(told(world)).toEqual(["user: One", "user: Three", "assistant: Answer 3", "user: Four"]);
  });

  test("has attachments and contexts apart from the user's words", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const bytes = Buffer.from("a,b\n1,2\n");
    const url = blobPath + (await world.store.put(bytes, "text/csv"));
    await sendAndEnd(world, chat, "Sum it up", {
      attachments: [{ kind: "file", url, filename: "t.csv", media_type: "text/csv" }],
      contexts: [{ kind: "page", title: "Home", text: "Welcome", url: "https://example.com/" }],
    });
    const parts = world.models.asked[0]?.input[0]?.content;
    expect(parts?.map(({ text }) => text)).toEqual([
      '<context kind="page" title="Home" url="https://example.com/">\nWelcome\n</context>',
      '<file name="t.csv">\na,b\n1,2\n\n</file>',
      "Sum it up",
    ]);
    const { nodes } = await chatOf(world, chat);
    expect(Object.values(nodes)[0]).toMatchObject({ versions: [{ text: "Sum it up" }] });
  });

  test("has the calls, the results and the reasoning of earlier turns in their own form", async () => {
    const { group } = office();
    const world = await chatFixture({
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
    const chat = await newChat(world, { tool_groups: ["office"] });
    await sendAndEnd(world, chat, "Say hello");
    await sendAndEnd(world, chat, "Did you?");
    const { input } = world.models.asked[2] ?? { input: [] };
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
    // The second turn has the first one as it was, byte for byte.
    const first = world.models.asked[1]?.input ?? [];
    expect(input.slice(0, first.length)).toEqual(first);
  });

  test("has no two calls of one id, also where answers come together that knew nothing of each other", async () => {
    const call = (text: string) => ({ call: "say", args: { text }, id: "call_0" });
    const world = await chatFixture({
      groups: [office().group],
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
    const chat = await newChat(world, { tool_groups: ["office"] });
    const { node_id } = await sendAndEnd(world, chat, "1");
    await sendAndEnd(world, chat, "2");
    await ended(world, await world.chats.rerun(chat, { node_id }));
    await sendAndEnd(world, chat, "3");
    const [third] = world.models.asked.slice(-1);
    expect(third?.input.filter(({ type }) => type.startsWith("function_call"))).toMatchObject([
      { call_id: "call_0", arguments: '{"text":"one"}' },
      { call_id: "call_0", output: "said: one" },
      { call_id: "call_0_2", arguments: '{"text":"two"}' },
      { call_id: "call_0_2", output: "said: two" },
    ]);
    await sendAndEnd(world, chat, "4");
    const fourth = world.models.asked.at(-1)?.input ?? [];
    expect(fourth.slice(0, third?.input.length)).toEqual(third?.input);
  });

  test("follows the version of an answer that is chosen", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const first = await sendAndEnd(world, chat, "One");
    await ended(world, await world.chats.rerun(chat, { node_id: first.node_id }));
    const { node_id, version_id } = first;
    await world.chats.edit(chat, [{ type: "choose_version", node_id, version_id }]);
    await sendAndEnd(world, chat, "Two");
    expect(told(world)).toEqual(["user: One", "assistant: Answer 1", "user: Two"]);
  });

  test("has what the user said while an answer ran, where the model heard it", async () => {
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const { group } = office({ say: () => gate.then(() => "said") });
    const world = await chatFixture({
      groups: [group],
      script: [[{ call: "say", args: { text: "x" } }], [{ text: "As you wish." }], [{ text: "." }]],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    const sent = await world.chats.send(chat, { text: "Say x" });
    await taskUntil(world, sent.task_id, ({ tasks }) =>
      Boolean(tasks[sent.task_id]?.executions.length),
    );
    expect(await world.runtime.input(sent.task_id, "Politely!", "steer")).toBe("added");
    go();
    const { inputs } = await ended(world, sent);
    expect(inputs).toMatchObject([{ item: { content: [{ text: "Politely!" }] } }]);
    await sendAndEnd(world, chat, "Thanks");
    expect(told(world)).toEqual([
      "user: Say x",
      'say {"text":"x"}',
      '=> "said"',
      "user: Politely!",
      "assistant: As you wish.",
      "user: Thanks",
    ]);
  });
});
