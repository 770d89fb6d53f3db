import type { OutputItem } from "@deltawire/tasks";
import {
  applyEdit,
  chatFaults,
  chatUsage,
  currentPath,
  extractSubtree,
  lastOnPath,
  nodeOf,
  pathTo,
  runningAnswers,
  summaryOf,
  wordsOf,
  type Chat,
} from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { answerOf, said, slot, usage, WrittenChat } from "./written-chat.ts";

test("paths are read from the root, and of what is not there nothing is told", () => {
  const w = new WrittenChat();
  expect(lastOnPath(w.chat)).toBeUndefined();
  const [user, answer] = w.turn(null, "one");
  const other = w.user(null, "two");
  expect(currentPath(w.chat).map(({ node_id }) => node_id)).toEqual([other]);
  expect(pathTo(w.chat, answer).map(({ node_id }) => node_id)).toEqual([user, answer]);
  expect(lastOnPath(w.chat)?.node_id).toBe(other);
  expect(nodeOf(w.chat, "__proto__")).toBeUndefined();
  expect(pathTo(w.chat, "__proto__")).toEqual([]);
});

test("a chat used what all versions of all its answers used, sub-agents and titles included", () => {
  const w = new WrittenChat();
  const user = w.user(null);
  const node_id = w.answer(user, "a", { usage: usage(10, 0.1) });
  const answer = { ...answerOf("b"), usage: usage(20), tree_usage: usage(50, 0.2) };
  w.edit({ type: "add_answer_version", node_id, answer });
  w.answer(user, "c", { usage: usage(5) });
  w.edit({ type: "title_by_model", title: "t", usage: usage(1) });
  expect(chatUsage(w.chat)).toEqual({
    input_tokens: 66,
    output_tokens: 4,
    total_tokens: 70,
    cost: 0.3,
  });
});

test("what runs is told with its task, in every branch, and nothing that has none", () => {
  const w = new WrittenChat();
  const [user] = w.turn(null, "one");
  const { task_id: _task, ...lost } = slot;
  w.answer(user, "", lost);
  const running = [
    w.answer(user, "", slot),
    w.answer(w.user(null), "", { ...slot, task_id: "t2" }),
  ];
  expect(runningAnswers(w.chat)).toEqual(
    running.map((node_id, index) => ({
      chat_id: w.chat.chat_id,
      node_id,
      version_id: w.shownVersion(node_id),
      task_id: index === 0 ? slot.task_id : "t2",
    })),
  );
});

describe("words", () => {
  test("of a user's message are its text and the names of what is attached", () => {
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
    expect(wordsOf(version)).toBe("Look\ncat.png");
  });

  test("of an answer are its messages, without reasoning and what its tools said", () => {
    const output: OutputItem[] = [
      { type: "reasoning", id: "r", summary: [{ type: "text", text: "hm" }] },
      said("I look it up."),
      { type: "tool_call", id: "c", call_id: "c1", name: "look", arguments: "{}" },
      {
        type: "tool_result",
        id: "t",
        call_id: "c1",
        block_list: [{ type: "text", text: "secret" }, said("a sub-agent's")],
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
    const version = { ...answerOf(""), output, version_id: "v", created_at: "" };
    expect(wordsOf(version)).toBe("I look it up.\nIt is sunny.\nSunny!");
  });
});

describe("a summary", () => {
  test("counts messages and what runs, and shows the last words on the path", () => {
    const w = new WrittenChat({ title: "Weather", tags: ["sky"] });
    const [, answer] = w.turn(null, "one");
    const next = w.user(w.separator(answer), "  And\n\n tomorrow? ");
    const running = w.answer(next, "", slot);
    w.answer(next, "", slot);
    const ids = { node_id: running, version_id: w.shownVersion(running) };
    w.edit({ type: "answer_waits", ...ids, value: true });
    const { chat_id, created_at, updated_at, revision } = w.chat;
    const deleted_at = "2026-02-01T00:00:00Z";
    expect(summaryOf({ chat: w.chat, stamp: 7, deleted_at })).toEqual({
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
      first_words: "one",
      excerpt: "And tomorrow?",
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      stamp: 7,
      deleted_at,
    });
  });

  test("has an answer without its marks, and a message as it was written", () => {
    const w = new WrittenChat();
    const message = w.user(null, "Is `**` a mark?");
    expect(summaryOf({ chat: w.chat, stamp: 1 }).excerpt).toBe("Is `**` a mark?");
    w.answer(message, "# Marks\n\n> It **is**, see [here](https://example.com/).");
    expect(summaryOf({ chat: w.chat, stamp: 1 }).excerpt).toBe("Marks It is, see here.");
  });

  test("cuts long words after 200 characters, none of them in two", () => {
    const w = new WrittenChat();
    expect(summaryOf({ chat: w.chat, stamp: 1 }).excerpt).toBe("");
    w.user(null, `${"x".repeat(199)}😀 and more`);
    expect(summaryOf({ chat: w.chat, stamp: 1 }).excerpt).toBe("x".repeat(199));
    w.user(null, "y ".repeat(5000));
    expect(summaryOf({ chat: w.chat, stamp: 1 }).excerpt).toBe("y ".repeat(100).trim());
  });
});

describe("the first words of a summary", () => {
  const firstWords = (w: WrittenChat) => summaryOf({ chat: w.chat, stamp: 1 }).first_words;

  test("are those of the first message, edited or on another branch as it is chosen", () => {
    const w = new WrittenChat();
    expect(firstWords(w)).toBe("");
    const [first, answer] = w.turn(null, " What\n is it? ");
    w.turn(answer, "And more");
    expect(firstWords(w)).toBe("What is it?");
    const before = w.shownVersion(first);
    w.edit({ type: "add_message_version", node_id: first, message: { text: "What was it?" } });
    expect(firstWords(w)).toBe("What was it?");
    w.edit({ type: "choose_version", node_id: first, version_id: before });
    expect(firstWords(w)).toBe("What is it?");
    const other = w.user(null, "Something else");
    expect(firstWords(w)).toBe("Something else");
    w.edit({ type: "delete_node", node_id: other, children: "delete" });
    expect(firstWords(w)).toBe("What is it?");
  });

  test("are the next ones once the first message is deleted, and its own again when that is undone", () => {
    const w = new WrittenChat();
    const [first, answer] = w.turn(null, "one");
    w.turn(answer, "two");
    w.edit({ type: "delete_node", node_id: answer, children: "keep" });
    const removal = w.removed({ type: "delete_node", node_id: first, children: "keep" });
    expect(firstWords(w)).toBe("two");
    w.edit({ type: "restore", removal });
    expect(firstWords(w)).toBe("one");
  });

  test("are an answer's, without its marks, where no person has said a word", () => {
    const w = new WrittenChat();
    const message = w.user(null, "  ");
    w.answer(message, "# Welcome\n\nto **this**");
    expect(firstWords(w)).toBe("Welcome to this");
    w.user(message, "Thanks");
    expect(firstWords(w)).toBe("Thanks");
  });

  test("are cut where the last words are", () => {
    const w = new WrittenChat();
    w.user(null, `${"x".repeat(199)}😀 and more`);
    expect(firstWords(w)).toBe("x".repeat(199));
  });

  test("tell no more of a message than the last words do: no context, and no value but what was written", () => {
    const privacy = {
      enabled: true,
      fields: [{ kind: "name", value: "Ann Secret" }],
    } as const;
    const w = new WrittenChat({ settings: { privacy, instructions: "Never name Ann Secret" } });
    const message = {
      text: "Write to {{NAME_1_x7f3}}",
      contexts: [{ kind: "text", title: "Her name", text: "Ann Secret" }],
    } as const;
    w.edit({ type: "add_message", parent: null, message });
    expect(firstWords(w)).toBe("Write to {{NAME_1_x7f3}}");
    expect(firstWords(w)).toBe(summaryOf({ chat: w.chat, stamp: 1 }).excerpt);
  });
});

describe("extracting", () => {
  test("makes a chat of a message and all under it, and leaves the old one as it is", () => {
    const w = new WrittenChat({ title: "Old", tags: ["a"], settings: { model: "m" } });
    const [root, answer] = w.turn(null, "one");
    const [left, leftAnswer] = w.turn(answer, "left");
    const branch = w.user(leftAnswer, "a");
    w.user(leftAnswer, "b");
    w.edit({ type: "choose_branch", node_id: branch });
    w.edit({ type: "pin", node_id: left, value: true });
    for (const node_id of [branch, root, left]) w.edit({ type: "bookmark", node_id, value: true });
    const before = JSON.stringify(w.chat);

    const extracted = extractSubtree(w.chat, left, w.world);
    if (!extracted.ok) throw new Error(extracted.reason);
    const { chat } = extracted;
    expect(chatFaults(chat)).toEqual([]);
    expect(chat).toMatchObject({
      title: "Old",
      title_by: "user",
      tags: ["a"],
      settings: { model: "m" },
      revision: 0,
      roots: [left],
      bookmarks: [branch, left],
    });
    expect(chat.chat_id).not.toBe(w.chat.chat_id);
    expect(chat.nodes[left]).toEqual({ ...w.node(left), parent: null });
    expect(chat.nodes[branch]).toBe(w.node(branch));
    expect(Object.keys(chat.nodes)).toHaveLength(4);
    expect(currentPath(chat).map(({ node_id }) => node_id)).toEqual([left, leftAnswer, branch]);
    expect(JSON.stringify(w.chat)).toBe(before);
  });

  test("of a chat without a name leaves the name to a model again", () => {
    const w = new WrittenChat();
    const node_id = w.user(null);
    expect(extractSubtree(w.chat, node_id, w.world)).toMatchObject({
      chat: { title: "", title_by: "nobody" },
    });
  });

  test("is refused for answers, separators, what is not there and what runs", () => {
    const w = new WrittenChat();
    const [user, answer] = w.turn(null, "one");
    const separator = w.separator(answer);
    const reason = (id: string): unknown => {
      const extracted = extractSubtree(w.chat, id, w.world);
      return extracted.ok ? undefined : [extracted.code, extracted.reason];
    };
    expect(reason(answer)).toEqual([
      "illegal_place",
      "a chat cannot begin with an answer: extract its message instead",
    ]);
    expect(reason(separator)).toEqual([
      "illegal_place",
      "a chat cannot begin with a separator: extract a message after it instead",
    ]);
    expect(reason("constructor")).toEqual([
      "unknown_node",
      `there is no message "constructor" in this chat`,
    ]);
    w.answer(w.user(separator), "", slot);
    expect(reason(user)).toEqual([
      "still_running",
      "an answer in it is still running: stop it first",
    ]);
  });
});

test("a conversation of ten thousand messages, one under the other, is no deep call", () => {
  const w = new WrittenChat();
  let last = w.user(null);
  const nodes: Record<string, Chat["nodes"][string]> = { ...w.chat.nodes };
  const chosen: Record<string, string> = { ...w.chat.chosen };
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
  const chat = { ...w.chat, nodes, chosen };
  const root = chat.roots[0] ?? "";
  expect(chatFaults(chat)).toEqual([]);
  expect(pathTo(chat, last)).toHaveLength(10_001);
  const deleted = applyEdit(
    chat,
    { type: "delete_node", node_id: root, children: "delete" },
    w.world,
  );
  expect(deleted).toMatchObject({ ok: true, chat: { nodes: {}, chosen: {} } });
});
