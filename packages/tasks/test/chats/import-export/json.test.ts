import fc from "fast-check";
import { expect, test } from "vitest";
import {
  findChatFaults,
  chatsFromJson,
  chatToGlued,
  chatToHtml,
  chatToJson,
  chatToMarkdown,
  chatToOpenAi,
  importChats,
  type Chat,
  type ImportResult,
} from "@deltawire/tasks/chats";
import type { JsonValue, TaskApproval } from "@deltawire/tasks";
import { propertyRuns } from "../../../../../test/property-runs.ts";
import { anyChat } from "./arbitrary-chat.ts";
import {
  answer,
  blobUrl,
  createChildTask,
  dot,
  longValue,
  findSampleBlob,
  createSampleChat,
  createSampleReplays,
  createSampleEnvironment,
  audio,
} from "./sample-chat.ts";
import { ChatBuilder } from "../chat-builder.ts";

const exported_at = "2026-03-02T00:00:00.000Z";

function exportChat(chat: Chat, replays = createSampleReplays(chat)): Record<string, JsonValue> {
  const variables = [
    {
      name: "page",
      call_id: "call_1",
      of: "result",
      tool: "search",
      length: 12,
      url: blobUrl(longValue.hash),
      created_at: exported_at,
    },
  ];
  const file = chatToJson({ chat, replays, variables, blobs: findSampleBlob, exported_at });
  return JSON.parse(JSON.stringify(file)) as Record<string, JsonValue>;
}

function getImported(imported: ImportResult): Extract<ImportResult, { ok: true }> {
  if (!imported.ok) throw new Error(imported.problems.join("\n"));
  return imported;
}

function listProblems(value: unknown): readonly string[] {
  const imported = importChats(value, createSampleEnvironment("new"));
  return imported.ok ? [] : imported.problems;
}

/** Returns a copy with another value at a path. `undefined` removes the field. */
function replaceAt(
  value: JsonValue,
  path: readonly string[],
  newValue: JsonValue | undefined,
): JsonValue {
  const [name, ...rest] = path;
  if (name === undefined) return newValue as JsonValue;
  if (Array.isArray(value))
    return value.map((one, index) =>
      String(index) === name ? replaceAt(one, rest, newValue) : one,
    );
  const fields = new Map(Object.entries(value as Record<string, JsonValue>));
  if (rest.length === 0 && newValue === undefined) fields.delete(name);
  else fields.set(name, replaceAt(fields.get(name) ?? null, rest, newValue));
  return Object.fromEntries(fields);
}

test("an exported and imported chat differs only in its id", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      const { chats, blobs } = getImported(
        chatsFromJson(exportChat(chat), createSampleEnvironment("new")),
      );
      const [one] = chats;
      expect(one?.chat).toEqual({
        ...(JSON.parse(JSON.stringify(chat)) as Chat),
        chat_id: "chat_new1",
      });
      expect(one?.replays).toEqual(createSampleReplays(chat));
      expect(Object.keys(blobs)).toContain(longValue.hash);
    }),
    propertyRuns(150),
  );
});

test("a file contains all blobs of the chat, of its replays and of its variables", () => {
  const { blobs } = exportChat(createSampleChat());
  expect(blobs).toEqual({
    [dot.hash]: dot.blob,
    [audio.hash]: audio.blob,
    [longValue.hash]: longValue.blob,
  });
});

test("a file does not contain replays of deleted versions", () => {
  const file = exportChat(createSampleChat(), { version_gone: [{ type: "message" }] });
  expect(file["chats"]).toEqual([expect.objectContaining({ replays: {} })]);
});

test("an answer that was running during the export is imported as aborted", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const running = builder.addAnswer(builder.addMessage(null), "", {
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
  const { chats } = getImported(
    chatsFromJson(exportChat(builder.chat, {}), createSampleEnvironment("new")),
  );
  const node = chats[0]?.chat.nodes[running];
  const [version] = node?.kind === "answer" ? node.versions : [];
  expect(version).toMatchObject({
    status: "aborted",
    task_id: "task_1",
    output: [{ status: "incomplete" }],
  });
  expect(version).not.toHaveProperty("waiting");
});

test("the result of a pending approval is neither exported nor imported", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
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
  const node = builder.addAnswer(builder.addMessage(null), "", {
    ...running,
    approvals: [approval],
  });
  const file = exportChat(builder.chat, {});
  expect(JSON.stringify(file)).not.toContain("only for my eyes");
  expect(file["blobs"]).not.toHaveProperty(dot.hash);
  const path = ["chats", "0", "chat", "nodes", node, "versions", "0", "approvals", "0"];
  const { block_list } = JSON.parse(JSON.stringify(approval)) as { block_list: JsonValue };
  const withPendingResult = replaceAt(file, [...path, "block_list"], block_list);
  const { chats } = getImported(chatsFromJson(withPendingResult, createSampleEnvironment("new")));
  const { block_list: _blockList, ...expired } = { ...approval, status: "expired" };
  expect(chats[0]?.chat.nodes[node]).toMatchObject({ versions: [{ approvals: [expired] }] });
  expect(JSON.stringify(chats)).not.toContain("only for my eyes");
});

test("an imported answer has no running child tasks and no pending approvals", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const child_tasks = { call_1: createChildTask("task_1", "call_1", [], { status: "working" }) };
  const approvals: TaskApproval[] = [
    { approval_id: "a", kind: "call", task_id: "call_1", choices: [], status: "pending" },
  ];
  const ended = { ...answer([]), task_id: "task_1", child_tasks, approvals };
  const node = builder.addAnswer(builder.addMessage(null), "", ended);
  const { chats } = getImported(
    chatsFromJson(exportChat(builder.chat, {}), createSampleEnvironment("new")),
  );
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

test("the warnings of an answer are imported, and invalid ones are rejected", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const warnings = [{ code: "reply_repaired", message: "1 x call_id_made", count: 2 }];
  const node = builder.addAnswer(builder.addMessage(null), "", {
    ...answer([]),
    round: 1,
    warnings,
  });
  const file = exportChat(builder.chat, {});
  const imported = getImported(chatsFromJson(file, createSampleEnvironment("new"))).chats[0]?.chat
    .nodes[node];
  expect(imported).toMatchObject({ versions: [{ round: 1, warnings }] });
  const path = ["chats", "0", "chat", "nodes", node, "versions", "0", "warnings"];
  const pathInMessage = `chats[0].chat.nodes.${node}.versions[0].warnings`;
  expect(listProblems(replaceAt(file, [...path, "0", "count"], "2"))).toEqual([
    expect.stringContaining(`${pathInMessage}[0].count: `),
  ]);
  expect(listProblems(replaceAt(file, [...path, "0", "more"], 1))).toEqual([
    `${pathInMessage}[0].more: unknown field`,
  ]);
});

test("references and errors of sub-agents are imported, and invalid ones are rejected", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const error = { code: "upstream_rejected", message: "it is closed", retryable: false };
  const child_tasks = {
    call_1: createChildTask("task_1", "call_1", [], { status: "failed", error }),
  };
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
  const node = builder.addAnswer(builder.addMessage(null), "", { ...answer([]), ...task });
  const file = exportChat(builder.chat, {});
  const imported = getImported(chatsFromJson(file, createSampleEnvironment("new"))).chats[0]?.chat
    .nodes[node];
  expect(imported).toMatchObject({ versions: [task] });
  const path = ["chats", "0", "chat", "nodes", node, "versions", "0"];
  const pathInMessage = `chats[0].chat.nodes.${node}.versions[0]`;
  const { task_id: _task, ...without } = child_references[0] ?? {};
  expect(listProblems(replaceAt(file, [...path, "child_references", "0"], without))).toEqual([
    expect.stringContaining(`${pathInMessage}.child_references[0].task_id: `),
  ]);
  expect(
    listProblems(replaceAt(file, [...path, "child_tasks", "call_1", "error"], "closed")),
  ).toEqual([expect.stringContaining(`${pathInMessage}.child_tasks.call_1.error: `)]);
});

test("unknown fields of items are retained, and those of nodes and chats are rejected", () => {
  const chat = createSampleChat();
  const node = Object.values(chat.nodes).find(({ kind }) => kind === "answer")?.node_id ?? "";
  const inChat = ["chats", "0", "chat"];
  const inNode = [...inChat, "nodes", node];
  const inItem = [...inNode, "versions", "0", "output", "0"];
  const file = exportChat(chat);
  const withUnknownField = replaceAt(file, [...inItem, "from_later"], { a: 1 });
  expect(
    JSON.stringify(getImported(chatsFromJson(withUnknownField, createSampleEnvironment())).chats),
  ).toContain("from_later");
  expect(listProblems(replaceAt(file, [...inNode, "more"], 1))).toEqual([
    `chats[0].chat.nodes.${node}.more: unknown field`,
  ]);
  expect(listProblems(replaceAt(file, [...inChat, "more"], 1))).toEqual([
    "chats[0].chat.more: unknown field",
  ]);
});

const chat = createSampleChat();
const [root = ""] = chat.roots;
const invalidFiles: [what: string, path: string, to: JsonValue, problem: RegExp][] = [
  ["another format", "format", "other", /^format: must be "deltawire\.chat"/],
  ["a later version", "version", 2, /^version: must be 1/],
  ["no chats", "chats", [], /^chats: /],
  ["a title that is not a string", "chats.0.chat.title", 7, /^chats\[0\]\.chat\.title: /],
  ["an unknown setting", "chats.0.chat.settings", { a: 1 }, /^chats\[0\]\.chat\.settings\.a: /],
  ["duplicate tags", "chats.0.chat.tags", ["a", "a"], /^chats\[0\]\.chat\.tags\[1\]: /],
  [
    "a missing root",
    "chats.0.chat.roots",
    ["node_x"],
    /^chats\[0\]\.chat: root node_x does not exist/,
  ],
  [
    "an unknown kind of node",
    `chats.0.chat.nodes.${root}.kind`,
    "poll",
    /\.kind: must be one of user/,
  ],
  ["a message without versions", `chats.0.chat.nodes.${root}.versions`, [], /has no versions/],
  ["an invalid time", "chats.0.chat.created_at", "yesterday", /^chats\[0\]\.chat\.created_at: /],
  [
    "a lone surrogate",
    "chats.0.chat.title",
    "a\ud800",
    /^chats\[0\]\.chat\.title: must not contain lone surrogates/,
  ],
  [
    "a replay of an unknown answer",
    "chats.0.replays.version_x",
    [],
    /^chats\[0\]\.replays\.version_x: the chat has no such answer/,
  ],
  [
    "a blob that does not match its hash",
    `blobs.${dot.hash}.base64`,
    "AAAA",
    /^blobs\..*does not match its hash/,
  ],
  ["a blob that is not base64", `blobs.${dot.hash}.base64`, "<!>", /^blobs\..*must be base64/],
  [
    "an invalid media type",
    `blobs.${dot.hash}.media_type`,
    'x" onload="',
    /^blobs\..*media_type: must be a media type/,
  ],
];
test.each(invalidFiles)(
  "a file with %s is rejected with its path",
  (_, path, newValue, problem) => {
    expect(listProblems(replaceAt(exportChat(chat), path.split("."), newValue)).join("\n")).toMatch(
      problem,
    );
  },
);

test("names of Object.prototype are rejected as ids", () => {
  for (const id of ["__proto__", "constructor", "toString"]) {
    const text = JSON.stringify(exportChat(chat)).replaceAll(root, id);
    expect(listProblems(JSON.parse(text)).join("\n")).toMatch(/must be an id/);
  }
});

test("a file that is nested too deeply is rejected with only that problem", () => {
  const deeplyNested = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const file = JSON.stringify(exportChat(chat)).replace(
    `"tags":["test"]`,
    `"tags":${deeplyNested}`,
  );
  expect(listProblems(JSON.parse(file)).join("\n")).toMatch(/nested deeper than 200 levels/);
  const cyclic: { messages: unknown[] } = { messages: [] };
  cyclic.messages.push(cyclic);
  expect(listProblems(cyclic).join("\n")).toMatch(/nested deeper/);
});

test("only fifty problems of a file are reported", () => {
  const bookmarks = Array.from({ length: 1000 }, () => 7);
  const reported = listProblems(
    replaceAt(exportChat(chat), ["chats", "0", "chat", "bookmarks"], bookmarks),
  );
  expect(reported).toHaveLength(51);
  expect(reported.at(-1)).toBe("and 950 more");
});

test("only fifty problems are reported of a file with 300,000 problems, without a stack overflow", () => {
  const children = Array.from({ length: 300_000 }, () => 7);
  const path = ["chats", "0", "chat", "nodes", chat.roots[0] ?? "", "children"];
  expect(listProblems(replaceAt(exportChat(chat), path, children))).toHaveLength(51);
});

test("the error for a file in an unknown format lists the known formats", () => {
  for (const value of [null, 7, "text", {}, { chats: [] }])
    expect(listProblems(value)).toEqual([
      expect.stringMatching(/deltawire\.chat.*OpenAI messages/),
    ]);
});

test("a file with any change is imported completely or rejected, and never throws", () => {
  const file = exportChat(chat);
  const paths = [...listPaths(file, [])];
  let importedCount = 0;
  const anyOtherValue = fc.oneof(
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
    fc.property(fc.constantFrom(...paths), anyOtherValue, (path, newValue) => {
      const imported = importChats(replaceAt(file, path, newValue), createSampleEnvironment("new"));
      const { problems: reported, chats } = { problems: [], chats: [], ...imported };
      expect([reported.length > 0, chats.length]).toEqual(imported.ok ? [false, 1] : [true, 0]);
      importedCount += chats.length;
      for (const one of chats) {
        expect(findChatFaults(one.chat)).toEqual([]);
        // Every imported chat can be exported.
        chatToMarkdown(one.chat, { allBranches: true });
        chatToHtml(one.chat, { blobs: findSampleBlob });
        chatToOpenAi(one.chat, one.replays);
        chatToGlued(one.chat);
      }
    }),
    propertyRuns(1000),
  );
  expect(importedCount).toBeGreaterThan(20);
});

function* listPaths(value: JsonValue, path: string[]): Generator<string[]> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null) return;
  for (const [name, one] of Object.entries(value))
    yield* listPaths(one as JsonValue, [...path, name]);
}
