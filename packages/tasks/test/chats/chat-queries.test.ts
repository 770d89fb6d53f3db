import type { OutputItem } from "@deltawire/tasks";
import {
  applyEdit,
  findChatFaults,
  sumChatUsage,
  currentPath,
  extractSubtree,
  lastNodeOnPath,
  findNode,
  pathTo,
  findRunningAnswers,
  summarizeChat,
  getVersionText,
  type Chat,
} from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  buildAnswer,
  textMessage,
  runningAnswer,
  buildUsage,
  ChatBuilder,
} from "./chat-builder.ts";

test("a path starts at the root, and is empty for an unknown node", () => {
  const builder = new ChatBuilder();
  expect(lastNodeOnPath(builder.chat)).toBeUndefined();
  const [user, answer] = builder.addTurn(null, "one");
  const other = builder.addMessage(null, "two");
  expect(currentPath(builder.chat).map(({ node_id }) => node_id)).toEqual([other]);
  expect(pathTo(builder.chat, answer).map(({ node_id }) => node_id)).toEqual([user, answer]);
  expect(lastNodeOnPath(builder.chat)?.node_id).toBe(other);
  expect(findNode(builder.chat, "__proto__")).toBeUndefined();
  expect(pathTo(builder.chat, "__proto__")).toEqual([]);
});

test("the usage of a chat includes all versions, sub-agents and titles", () => {
  const builder = new ChatBuilder();
  const user = builder.addMessage(null);
  const node_id = builder.addAnswer(user, "a", { usage: buildUsage(10, 0.1) });
  const answer = { ...buildAnswer("b"), usage: buildUsage(20), tree_usage: buildUsage(50, 0.2) };
  builder.edit({ type: "add_answer_version", node_id, answer });
  builder.addAnswer(user, "c", { usage: buildUsage(5) });
  builder.edit({ type: "title_by_model", title: "t", usage: buildUsage(1) });
  expect(sumChatUsage(builder.chat)).toEqual({
    input_tokens: 66,
    output_tokens: 4,
    total_tokens: 70,
    cost: 0.3,
  });
});

test("findRunningAnswers returns running answers of all branches that have a task", () => {
  const builder = new ChatBuilder();
  const [user] = builder.addTurn(null, "one");
  const { task_id: _task, ...withoutTask } = runningAnswer;
  builder.addAnswer(user, "", withoutTask);
  const running = [
    builder.addAnswer(user, "", runningAnswer),
    builder.addAnswer(builder.addMessage(null), "", { ...runningAnswer, task_id: "t2" }),
  ];
  expect(findRunningAnswers(builder.chat)).toEqual(
    running.map((node_id, index) => ({
      chat_id: builder.chat.chat_id,
      node_id,
      version_id: builder.getChosenVersionId(node_id),
      task_id: index === 0 ? runningAnswer.task_id : "t2",
    })),
  );
});

describe("the text of a version", () => {
  test("of a user message is its text and the names of its attachments", () => {
    const version = {
      version_id: "v",
      created_at: "",
      text: "Look",
      attachments: [
        { kind: "image", url: "/api/blobs/a", filename: "cat.png" },
        { kind: "image", url: "/api/blobs/b" },
      ],
      contexts: [{ kind: "page", title: "Cats", text: "All about cats" }],
    } as const;
    expect(getVersionText(version)).toBe("Look\ncat.png");
  });

  test("of an answer is the text of its messages, without reasoning and tool results", () => {
    const output: OutputItem[] = [
      { type: "reasoning", id: "r", summary: [{ type: "text", text: "hm" }] },
      textMessage("I look it up."),
      { type: "tool_call", id: "c", call_id: "c1", name: "look", arguments: "{}" },
      {
        type: "tool_result",
        id: "t",
        call_id: "c1",
        block_list: [{ type: "text", text: "secret" }, textMessage("a sub-agent's")],
      },
      {
        type: "message",
        id: "m",
        role: "assistant",
        block_list: [
          { type: "text", text: "It is sunny." },
          { type: "image", image_url: { url: "/api/blobs/a" } },
          { type: "audio", audio_url: { url: "/api/blobs/b" }, transcript: "Sunny!" },
        ],
      },
    ];
    const version = { ...buildAnswer(""), output, version_id: "v", created_at: "" };
    expect(getVersionText(version)).toBe("I look it up.\nIt is sunny.\nSunny!");
  });
});

describe("a summary", () => {
  test("counts messages and running answers, and has an excerpt of the last text on the path", () => {
    const builder = new ChatBuilder({ title: "Weather", tags: ["sky"] });
    const [, answer] = builder.addTurn(null, "one");
    const next = builder.addMessage(builder.addSeparator(answer), "  And\n\n tomorrow? ");
    const running = builder.addAnswer(next, "", runningAnswer);
    builder.addAnswer(next, "", runningAnswer);
    const ids = { node_id: running, version_id: builder.getChosenVersionId(running) };
    builder.edit({ type: "answer_waits", ...ids, value: true });
    const { chat_id, created_at, updated_at, revision } = builder.chat;
    const deleted_at = "2026-02-01T00:00:00Z";
    expect(summarizeChat({ chat: builder.chat, stamp: 7, deleted_at })).toEqual({
      chat_id,
      title: "Weather",
      title_by: "user",
      created_at,
      updated_at,
      revision,
      tags: ["sky"],
      pinned: false,
      messages: 5,
      running: 2,
      waiting: 1,
      opening_text: "one",
      excerpt: "And tomorrow?",
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      stamp: 7,
      deleted_at,
    });
  });

  test("has an excerpt of an answer without Markdown syntax, and of a user message unchanged", () => {
    const builder = new ChatBuilder();
    const message = builder.addMessage(null, "Is `**` a mark?");
    expect(summarizeChat({ chat: builder.chat, stamp: 1 }).excerpt).toBe("Is `**` a mark?");
    builder.addAnswer(message, "# Marks\n\n> It **is**, see [here](https://example.com/).");
    expect(summarizeChat({ chat: builder.chat, stamp: 1 }).excerpt).toBe("Marks It is, see here.");
  });

  test("truncates the excerpt to 200 characters without splitting surrogate pairs", () => {
    const builder = new ChatBuilder();
    expect(summarizeChat({ chat: builder.chat, stamp: 1 }).excerpt).toBe("");
    builder.addMessage(null, `${"x".repeat(199)}😀 and more`);
    expect(summarizeChat({ chat: builder.chat, stamp: 1 }).excerpt).toBe("x".repeat(199));
    builder.addMessage(null, "y ".repeat(5000));
    expect(summarizeChat({ chat: builder.chat, stamp: 1 }).excerpt).toBe("y ".repeat(100).trim());
  });
});

describe("the opening text of a summary", () => {
  const getFirstWords = (builder: ChatBuilder) =>
    summarizeChat({ chat: builder.chat, stamp: 1 }).opening_text;

  test("is the text of the chosen version of the first message on the path", () => {
    const builder = new ChatBuilder();
    expect(getFirstWords(builder)).toBe("");
    const [first, answer] = builder.addTurn(null, " What\n is it? ");
    builder.addTurn(answer, "And more");
    expect(getFirstWords(builder)).toBe("What is it?");
    const before = builder.getChosenVersionId(first);
    builder.edit({
      type: "add_message_version",
      node_id: first,
      message: { text: "What was it?" },
    });
    expect(getFirstWords(builder)).toBe("What was it?");
    builder.edit({ type: "choose_version", node_id: first, version_id: before });
    expect(getFirstWords(builder)).toBe("What is it?");
    const other = builder.addMessage(null, "Something else");
    expect(getFirstWords(builder)).toBe("Something else");
    builder.edit({ type: "delete_node", node_id: other, children: "delete" });
    expect(getFirstWords(builder)).toBe("What is it?");
  });

  test("changes when the first message is deleted and restored", () => {
    const builder = new ChatBuilder();
    const [first, answer] = builder.addTurn(null, "one");
    builder.addTurn(answer, "two");
    builder.edit({ type: "delete_node", node_id: answer, children: "keep" });
    const removal = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: first,
      children: "keep",
    });
    expect(getFirstWords(builder)).toBe("two");
    builder.edit({ type: "restore", removal });
    expect(getFirstWords(builder)).toBe("one");
  });

  test("is the text of the first answer, without Markdown syntax, if no user message has text", () => {
    const builder = new ChatBuilder();
    const message = builder.addMessage(null, "  ");
    builder.addAnswer(message, "# Welcome\n\nto **this**");
    expect(getFirstWords(builder)).toBe("Welcome to this");
    builder.addMessage(message, "Thanks");
    expect(getFirstWords(builder)).toBe("Thanks");
  });

  test("is truncated like the excerpt", () => {
    const builder = new ChatBuilder();
    builder.addMessage(null, `${"x".repeat(199)}😀 and more`);
    expect(getFirstWords(builder)).toBe("x".repeat(199));
  });

  test("contains no context and no private values, like the excerpt", () => {
    const privacy = {
      enabled: true,
      fields: [{ kind: "name", value: "Ann Secret" }],
    } as const;
    const builder = new ChatBuilder({
      settings: { privacy, instructions: "Never name Ann Secret" },
    });
    const message = {
      text: "Write to {{NAME_1_x7f3}}",
      contexts: [{ kind: "text", title: "Her name", text: "Ann Secret" }],
    } as const;
    builder.edit({ type: "add_message", parent: null, message });
    expect(getFirstWords(builder)).toBe("Write to {{NAME_1_x7f3}}");
    expect(getFirstWords(builder)).toBe(summarizeChat({ chat: builder.chat, stamp: 1 }).excerpt);
  });
});

describe("extractSubtree", () => {
  test("copies a message and everything below it into a new chat, and does not change the old one", () => {
    const builder = new ChatBuilder({ title: "Old", tags: ["a"], settings: { model: "m" } });
    const [root, answer] = builder.addTurn(null, "one");
    const [left, leftAnswer] = builder.addTurn(answer, "left");
    const branch = builder.addMessage(leftAnswer, "a");
    builder.addMessage(leftAnswer, "b");
    builder.edit({ type: "choose_branch", node_id: branch });
    builder.edit({ type: "pin", node_id: left, value: true });
    for (const node_id of [branch, root, left])
      builder.edit({ type: "bookmark", node_id, value: true });
    const before = JSON.stringify(builder.chat);

    const extracted = extractSubtree(builder.chat, left, builder.environment);
    if (!extracted.ok) throw new Error(extracted.reason);
    const { chat } = extracted;
    expect(findChatFaults(chat)).toEqual([]);
    expect(chat).toMatchObject({
      title: "Old",
      title_by: "user",
      tags: ["a"],
      settings: { model: "m" },
      revision: 0,
      roots: [left],
      bookmarks: [branch, left],
    });
    expect(chat.chat_id).not.toBe(builder.chat.chat_id);
    expect(chat.nodes[left]).toEqual({ ...builder.getNode(left), parent: null });
    expect(chat.nodes[branch]).toBe(builder.getNode(branch));
    expect(Object.keys(chat.nodes)).toHaveLength(4);
    expect(currentPath(chat).map(({ node_id }) => node_id)).toEqual([left, leftAnswer, branch]);
    expect(JSON.stringify(builder.chat)).toBe(before);
  });

  test("creates a chat without a title from a chat without a title", () => {
    const builder = new ChatBuilder();
    const node_id = builder.addMessage(null);
    expect(extractSubtree(builder.chat, node_id, builder.environment)).toMatchObject({
      chat: { title: "", title_by: "nobody" },
    });
  });

  test("rejects answers, separators, unknown nodes and running answers", () => {
    const builder = new ChatBuilder();
    const [user, answer] = builder.addTurn(null, "one");
    const separator = builder.addSeparator(answer);
    const reason = (id: string): unknown => {
      const extracted = extractSubtree(builder.chat, id, builder.environment);
      return extracted.ok ? undefined : [extracted.code, extracted.reason];
    };
    expect(reason(answer)).toEqual([
      "invalid_position",
      "a chat cannot begin with an answer: extract its message instead",
    ]);
    expect(reason(separator)).toEqual([
      "invalid_position",
      "a chat cannot begin with a separator: extract a message after it instead",
    ]);
    expect(reason("constructor")).toEqual([
      "node_not_found",
      `the chat has no message "constructor"`,
    ]);
    builder.addAnswer(builder.addMessage(separator), "", runningAnswer);
    expect(reason(user)).toEqual([
      "still_running",
      "an answer below this message is still running; stop it first",
    ]);
  });
});

test("a path of ten thousand messages does not overflow the stack", () => {
  const builder = new ChatBuilder();
  let last = builder.addMessage(null);
  const nodes: Record<string, Chat["nodes"][string]> = { ...builder.chat.nodes };
  const chosen: Record<string, string> = { ...builder.chat.chosen };
  for (let n = 0; n < 10_000; n += 1) {
    const above = nodes[last];
    if (above?.kind !== "user") throw new Error(last);
    const node_id = `deep_${n}`;
    const versions = above.versions.map((one) => ({ ...one, version_id: `v_${n}` }));
    nodes[node_id] = { ...above, node_id, parent: last, versions, version: `v_${n}` };
    nodes[last] = { ...above, children: [node_id] };
    chosen[last] = node_id;
    last = node_id;
  }
  const chat = { ...builder.chat, nodes, chosen };
  const root = chat.roots[0] ?? "";
  expect(findChatFaults(chat)).toEqual([]);
  expect(pathTo(chat, last)).toHaveLength(10_001);
  const deleted = applyEdit(
    chat,
    { type: "delete_node", node_id: root, children: "delete" },
    builder.environment,
  );
  expect(deleted).toMatchObject({ ok: true, chat: { nodes: {}, chosen: {} } });
});
