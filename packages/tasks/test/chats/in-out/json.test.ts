import fc from "fast-check";
import { expect, test } from "vitest";
import {
  chatFaults,
  chatsFromJson,
  chatToGlued,
  chatToHtml,
  chatToJson,
  chatToMarkdown,
  chatToOpenAi,
  importChats,
  type Chat,
  type Imported,
} from "@deltawire/tasks/chats";
import type { JsonValue, TaskApproval } from "@deltawire/tasks";
import { runs } from "../../../../../test/runs.ts";
import { anyChat } from "./any-chat.ts";
import {
  answer,
  blobUrl,
  childTask,
  dot,
  kept,
  sampleBlobs,
  sampleChat,
  sampleReplays,
  sampleWorld,
  sound,
} from "./sample-chat.ts";
import { WrittenChat } from "../written-chat.ts";

const exported_at = "2026-03-02T00:00:00.000Z";

function exported(chat: Chat, replays = sampleReplays(chat)): Record<string, JsonValue> {
  const variables = [
    {
      name: "page",
      call_id: "call_1",
      of: "result",
      tool: "search",
      length: 12,
      url: blobUrl(kept.hash),
      created_at: exported_at,
    },
  ];
  const file = chatToJson({ chat, replays, variables, blobs: sampleBlobs, exported_at });
  return JSON.parse(JSON.stringify(file)) as Record<string, JsonValue>;
}

function whole(imported: Imported): Extract<Imported, { ok: true }> {
  if (!imported.ok) throw new Error(imported.problems.join("\n"));
  return imported;
}

function problems(value: unknown): readonly string[] {
  const imported = importChats(value, sampleWorld("new"));
  return imported.ok ? [] : imported.problems;
}

/** A copy in which the value at a path is another; `undefined` takes it out. */
function changed(value: JsonValue, path: readonly string[], to: JsonValue | undefined): JsonValue {
  const [name, ...rest] = path;
  if (name === undefined) return to as JsonValue;
  if (Array.isArray(value))
    return value.map((one, at) => (String(at) === name ? changed(one, rest, to) : one));
  const fields = new Map(Object.entries(value as Record<string, JsonValue>));
  if (rest.length === 0 && to === undefined) fields.delete(name);
  else fields.set(name, changed(fields.get(name) ?? null, rest, to));
  return Object.fromEntries(fields);
}

test("a chat that is exported and imported is the same but for its id", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      const { chats, blobs } = whole(chatsFromJson(exported(chat), sampleWorld("new")));
      const [one] = chats;
      expect(one?.chat).toEqual({
        ...(JSON.parse(JSON.stringify(chat)) as Chat),
        chat_id: "chat_new1",
      });
      expect(one?.replays).toEqual(sampleReplays(chat));
      expect(Object.keys(blobs)).toContain(kept.hash);
    }),
    runs(150),
  );
});

test("every blob that a chat, its replays or its variables refer to is in the file", () => {
  const { blobs } = exported(sampleChat());
  expect(blobs).toEqual({
    [dot.hash]: dot.blob,
    [sound.hash]: sound.blob,
    [kept.hash]: kept.blob,
  });
});

test("replays of versions that the chat has no more stay out of the file", () => {
  const file = exported(sampleChat(), { version_gone: [{ type: "message" }] });
  expect(file["chats"]).toEqual([expect.objectContaining({ replays: {} })]);
});

test("an answer that ran when it was exported was stopped", () => {
  const written = new WrittenChat({}, sampleWorld());
  const running = written.answer(written.user(null), "", {
    ...answer([
      {
        type: "tool_call",
        id: "fc_1",
        call_id: "call_1",
        name: "a",
        arguments: "{}",
        status: "executing",
      },
    ]),
    status: "running",
    task_id: "task_1",
    waiting: true,
  });
  const { chats } = whole(chatsFromJson(exported(written.chat, {}), sampleWorld("new")));
  const node = chats[0]?.chat.nodes[running];
  const [version] = node?.kind === "answer" ? node.versions : [];
  expect(version).toMatchObject({
    status: "aborted",
    task_id: "task_1",
    output: [{ status: "incomplete" }],
  });
  expect(version).not.toHaveProperty("waiting");
});

test("a held result that nobody has released yet is in no file, and in no chat that is imported", () => {
  const written = new WrittenChat({}, sampleWorld());
  const approval: TaskApproval = {
    approval_id: "approval_1",
    kind: "result",
    task_id: "task_1",
    call_id: "call_1",
    choices: ["approve", "deny"],
    status: "pending",
    block_list: [
      { type: "text", text: "only for my eyes" },
      { type: "image", image_url: { url: blobUrl(dot.hash) } },
    ],
  };
  const running = { ...answer([]), status: "running", task_id: "task_1" } as const;
  const node = written.answer(written.user(null), "", { ...running, approvals: [approval] });
  const file = exported(written.chat, {});
  expect(JSON.stringify(file)).not.toContain("only for my eyes");
  expect(file["blobs"]).not.toHaveProperty(dot.hash);
  const path = ["chats", "0", "chat", "nodes", node, "versions", "0", "approvals", "0"];
  const { block_list } = JSON.parse(JSON.stringify(approval)) as { block_list: JsonValue };
  const added = changed(file, [...path, "block_list"], block_list);
  const { chats } = whole(chatsFromJson(added, sampleWorld("new")));
  const { block_list: _held, ...expired } = { ...approval, status: "expired" };
  expect(chats[0]?.chat.nodes[node]).toMatchObject({ versions: [{ approvals: [expired] }] });
  expect(JSON.stringify(chats)).not.toContain("only for my eyes");
});

test("nothing runs or waits below an answer that is imported, whatever the file says", () => {
  const written = new WrittenChat({}, sampleWorld());
  const child_tasks = { call_1: childTask("task_1", "call_1", [], { status: "working" }) };
  const approvals: TaskApproval[] = [
    { approval_id: "a", kind: "call", task_id: "call_1", choices: [], status: "pending" },
  ];
  const ended = { ...answer([]), task_id: "task_1", child_tasks, approvals };
  const node = written.answer(written.user(null), "", ended);
  const { chats } = whole(chatsFromJson(exported(written.chat, {}), sampleWorld("new")));
  expect(chats[0]?.chat.nodes[node]).toMatchObject({
    versions: [
      {
        status: "completed",
        child_tasks: { call_1: { status: "canceled" } },
        approvals: [{ status: "expired" }],
      },
    ],
  });
});

test("what was mended on the way to an answer comes in again, and nothing else in its place", () => {
  const written = new WrittenChat({}, sampleWorld());
  const warnings = [{ code: "reply_repaired", message: "1 x call_id_made", count: 2 }];
  const node = written.answer(written.user(null), "", { ...answer([]), round: 1, warnings });
  const file = exported(written.chat, {});
  const imported = whole(chatsFromJson(file, sampleWorld("new"))).chats[0]?.chat.nodes[node];
  expect(imported).toMatchObject({ versions: [{ round: 1, warnings }] });
  const path = ["chats", "0", "chat", "nodes", node, "versions", "0", "warnings"];
  const place = `chats[0].chat.nodes.${node}.versions[0].warnings`;
  expect(problems(changed(file, [...path, "0", "count"], "2"))).toEqual([
    expect.stringContaining(`${place}[0].count: `),
  ]);
  expect(problems(changed(file, [...path, "0", "more"], 1))).toEqual([
    `${place}[0].more: there is no such field`,
  ]);
});

test("what sub-agents cited and why they failed comes in again, and nothing else in its place", () => {
  const written = new WrittenChat({}, sampleWorld());
  const error = { code: "upstream_refused", message: "it is closed", retryable: false };
  const child_tasks = { call_1: childTask("task_1", "call_1", [], { status: "failed", error }) };
  const child_references = [
    {
      task_id: "call_1",
      reference_id: 1,
      item_id: "out_1",
      block_indexes: [0],
      title: "A page",
      url: "https://example.com",
    },
    {
      task_id: "call_0",
      reference_id: 1,
      item_id: "out_0",
      block_indexes: [],
      source: { task_id: "call_1", reference_id: 1 },
    },
  ];
  const task = { task_id: "task_1", child_references, child_tasks };
  const node = written.answer(written.user(null), "", { ...answer([]), ...task });
  const file = exported(written.chat, {});
  const imported = whole(chatsFromJson(file, sampleWorld("new"))).chats[0]?.chat.nodes[node];
  expect(imported).toMatchObject({ versions: [task] });
  const path = ["chats", "0", "chat", "nodes", node, "versions", "0"];
  const place = `chats[0].chat.nodes.${node}.versions[0]`;
  const { task_id: _task, ...without } = child_references[0] ?? {};
  expect(problems(changed(file, [...path, "child_references", "0"], without))).toEqual([
    expect.stringContaining(`${place}.child_references[0].task_id: `),
  ]);
  expect(problems(changed(file, [...path, "child_tasks", "call_1", "error"], "closed"))).toEqual([
    expect.stringContaining(`${place}.child_tasks.call_1.error: `),
  ]);
});

test("fields of items that are not known are kept, those of nodes and chats are refused", () => {
  const chat = sampleChat();
  const node = Object.values(chat.nodes).find(({ kind }) => kind === "answer")?.node_id ?? "";
  const inChat = ["chats", "0", "chat"];
  const inNode = [...inChat, "nodes", node];
  const inItem = [...inNode, "versions", "0", "output", "0"];
  const file = exported(chat);
  const more = changed(file, [...inItem, "from_later"], { a: 1 });
  expect(JSON.stringify(whole(chatsFromJson(more, sampleWorld())).chats)).toContain("from_later");
  expect(problems(changed(file, [...inNode, "more"], 1))).toEqual([
    `chats[0].chat.nodes.${node}.more: there is no such field`,
  ]);
  expect(problems(changed(file, [...inChat, "more"], 1))).toEqual([
    "chats[0].chat.more: there is no such field",
  ]);
});

const chat = sampleChat();
const [root = ""] = chat.roots;
const faults: [what: string, path: string, to: JsonValue, said: RegExp][] = [
  ["another format", "format", "other", /^format: must be "deltawire\.chat"/],
  ["a later version", "version", 2, /^version: must be 1/],
  ["no chat at all", "chats", [], /^chats: /],
  ["a title that is no text", "chats.0.chat.title", 7, /^chats\[0\]\.chat\.title: /],
  ["settings nobody knows", "chats.0.chat.settings", { a: 1 }, /^chats\[0\]\.chat\.settings\.a: /],
  ["tags that are there twice", "chats.0.chat.tags", ["a", "a"], /^chats\[0\]\.chat\.tags\[1\]: /],
  [
    "a root that is missing",
    "chats.0.chat.roots",
    ["node_x"],
    /^chats\[0\]\.chat: root node_x is missing/,
  ],
  [
    "a kind of node nobody knows",
    `chats.0.chat.nodes.${root}.kind`,
    "poll",
    /\.kind: must be one of user/,
  ],
  ["no versions", `chats.0.chat.nodes.${root}.versions`, [], /has no version/],
  [
    "a time that is none",
    "chats.0.chat.created_at",
    "yesterday",
    /^chats\[0\]\.chat\.created_at: /,
  ],
  [
    "half a character",
    "chats.0.chat.title",
    "a\ud800",
    /^chats\[0\]\.chat\.title: has half a character/,
  ],
  [
    "a replay of nothing",
    "chats.0.replays.version_x",
    [],
    /^chats\[0\]\.replays\.version_x: there is no such answer/,
  ],
  [
    "bytes that do not fit their hash",
    `blobs.${dot.hash}.base64`,
    "AAAA",
    /^blobs\..*is not what its hash says/,
  ],
  ["bytes that are none", `blobs.${dot.hash}.base64`, "<!>", /^blobs\..*must be base64/],
  [
    "a media type that is none",
    `blobs.${dot.hash}.media_type`,
    'x" onload="',
    /^blobs\..*media_type: must be a media type/,
  ],
];
test.each(faults)(
  "a file with %s is refused, and the problem names its place",
  (_, path, to, said) => {
    expect(problems(changed(exported(chat), path.split("."), to)).join("\n")).toMatch(said);
  },
);

test("an id that every object has is refused", () => {
  for (const id of ["__proto__", "constructor", "toString"]) {
    const text = JSON.stringify(exported(chat)).replaceAll(root, id);
    expect(problems(JSON.parse(text)).join("\n")).toMatch(/must be an id/);
  }
});

test("what is nested without end is refused before anything looks into it", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const file = JSON.stringify(exported(chat)).replace(`"tags":["test"]`, `"tags":${deep}`);
  expect(problems(JSON.parse(file)).join("\n")).toMatch(/nested deeper than 200 levels/);
  const round: { messages: unknown[] } = { messages: [] };
  round.messages.push(round);
  expect(problems(round).join("\n")).toMatch(/nested deeper/);
});

test("a file with a thousand faults tells fifty", () => {
  const bookmarks = Array.from({ length: 1000 }, () => 7);
  const told = problems(changed(exported(chat), ["chats", "0", "chat", "bookmarks"], bookmarks));
  expect(told).toHaveLength(51);
  expect(told.at(-1)).toBe("and 950 more");
});

test("a file with more faults than a call can have arguments tells fifty", () => {
  const children = Array.from({ length: 300_000 }, () => 7);
  const path = ["chats", "0", "chat", "nodes", chat.roots[0] ?? "", "children"];
  expect(problems(changed(exported(chat), path, children))).toHaveLength(51);
});

test("what is no known form is told both that are", () => {
  for (const value of [null, 7, "text", {}, { chats: [] }])
    expect(problems(value)).toEqual([expect.stringMatching(/deltawire\.chat.*OpenAI messages/)]);
});

test("a file that is changed anywhere is imported whole, or refused, and never throws", () => {
  const file = exported(chat);
  const paths = [...pathsOf(file, [])];
  let letIn = 0;
  const other = fc.oneof(
    fc.constantFrom<JsonValue | undefined>(
      undefined,
      null,
      "",
      -1,
      1.5,
      true,
      [],
      {},
      "__proto__",
      root,
    ),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>,
  );
  fc.assert(
    fc.property(fc.constantFrom(...paths), other, (path, to) => {
      const imported = importChats(changed(file, path, to), sampleWorld("new"));
      const { problems: told, chats } = { problems: [], chats: [], ...imported };
      expect([told.length > 0, chats.length]).toEqual(imported.ok ? [false, 1] : [true, 0]);
      letIn += chats.length;
      for (const one of chats) {
        expect(chatFaults(one.chat)).toEqual([]);
        // What is let in can be shown.
        chatToMarkdown(one.chat, { all: true });
        chatToHtml(one.chat, { blobs: sampleBlobs });
        chatToOpenAi(one.chat, one.replays);
        chatToGlued(one.chat);
      }
    }),
    runs(1000),
  );
  expect(letIn).toBeGreaterThan(20);
});

function* pathsOf(value: JsonValue, path: string[]): Generator<string[]> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null) return;
  for (const [name, one] of Object.entries(value))
    yield* pathsOf(one as JsonValue, [...path, name]);
}
