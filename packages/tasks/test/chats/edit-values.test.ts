import type { NewMessage, UserEdit } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { ChatBuilder } from "./chat-builder.ts";

test("a model can set the title once, and cannot replace a title that the user set", () => {
  const builder = new ChatBuilder();
  const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4 };
  builder.edit({ type: "title_by_model", title: "Weather", usage });
  expect(builder.chat).toMatchObject({ title: "Weather", title_by: "model", extra_usage: usage });
  expect(builder.chat.revision).toBe(0);
  const rejection = {
    code: "invalid_position",
    reason: "the chat already has a title: a model cannot change it",
  };
  expect(builder.expectRejection({ type: "title_by_model", title: "Sun" })).toEqual(rejection);
  builder.edit({ type: "rename", title: "Mine" });
  expect(builder.chat).toMatchObject({ title: "Mine", title_by: "user", revision: 1 });
  expect(builder.expectRejection({ type: "title_by_model", title: "Sun" })).toEqual(rejection);
});

test("a settings patch changes only its own fields, and null removes a field", () => {
  const builder = new ChatBuilder({ settings: { model: "m", turns: 3 } });
  builder.edit({ type: "settings", patch: { turns: null, instructions: "Be brief." } });
  expect(builder.chat.settings).toEqual({ model: "m", instructions: "Be brief." });
  expect(builder.expectRejection({ type: "settings", patch: { agent: "guide" } })).toEqual({
    code: "invalid_value",
    reason: "patch.agent: a chat can have an agent or a model, not both",
  });
  builder.edit({ type: "settings", patch: { agent: "guide", model: null } });
  expect(builder.chat.settings).toEqual({ agent: "guide", instructions: "Be brief." });
});

test.each<[edit: unknown, reason: string]>([
  [{ type: "rename", title: " " }, "title: must not be empty"],
  [{ type: "rename", title: "x".repeat(301) }, "title: must have at most 300 characters, got 301"],
  [{ type: "rename", title: "half \ud83d" }, "title: must not contain lone surrogates"],
  [{ type: "rename", title: 5 }, "title: must be a string, got 5"],
  [{ type: "rename" }, "title: is missing; must be a string"],
  [{ type: "rename", title: "a", by: "me" }, "by: unknown field; expected type, title"],
  [{ type: "tag", tags: ["a", ""] }, "tags[1]: must not be empty"],
  [{ type: "tag", tags: ["a", "b", "a"] }, "tags[2]: is a duplicate"],
  [{ type: "tag", tags: "a" }, 'tags: must be an array, got "a"'],
  [
    { type: "tag", tags: Array.from({ length: 101 }, (_, n) => `${n}`) },
    "tags: must have at most 100 entries, got 101",
  ],
  [{ type: "tag", tags: ["x".repeat(101)] }, "tags[0]: must have at most 100 characters, got 101"],
  [{ type: "pin_chat", value: 1 }, "value: must be true or false, got 1"],
  [{ type: "pin", node_id: ["node_2"], value: true }, "node_id: must be a string, got an array"],
  [
    { type: "delete_node", node_id: "node_2", children: "some" },
    'children: must be one of delete, keep; got "some"',
  ],
  [
    { type: "settings", patch: { color: null, limits: { rounds: 0 } } },
    "patch.color: unknown field; expected agent, model, instructions, tool_groups, skills, options, limits, result_approval, results, turns, privacy, time_zone, message_times, exact_time, title_model",
  ],
])("an invalid value is rejected with its path: %j", (edit, reason) => {
  const builder = new ChatBuilder();
  builder.addMessage(null);
  expect(builder.expectRejection(edit as UserEdit)).toEqual({ code: "invalid_value", reason });
});

test("an invalid message is rejected as a new message and as a new version", () => {
  const builder = new ChatBuilder();
  const node_id = builder.addMessage(null);
  const message = { text: "see", attachments: [{ kind: "image" }] } as never;
  const rejection = {
    code: "invalid_value",
    reason: "message.attachments[0].url: is missing; must be a string",
  };
  expect(builder.expectRejection({ type: "add_message", parent: null, message })).toEqual(
    rejection,
  );
  expect(builder.expectRejection({ type: "add_message_version", node_id, message })).toEqual(
    rejection,
  );
});

test.each<[message: NewMessage, path: string]>([
  [{ text: "half \ud83d" }, "text"],
  [
    { text: "", attachments: [{ kind: "file", url: "a", filename: "\ude00" }] },
    "attachments[0].filename",
  ],
  [{ text: "", contexts: [{ kind: "text", title: "a", text: "\ud83d" }] }, "contexts[0].text"],
  [{ text: "", options: { metadata: { a: ["\ud83d"] } } }, "options.metadata.a[0]"],
])("a lone surrogate in a message is rejected with its path: %j", (message, path) => {
  const reason = `message.${path}: must not contain lone surrogates`;
  expect(new ChatBuilder().expectRejection({ type: "add_message", parent: null, message })).toEqual(
    {
      code: "invalid_value",
      reason,
    },
  );
});

test("a lone surrogate in settings is rejected with its path", () => {
  const patch = { instructions: "\ud83d", options: { user: "\ud83d" }, skills: ["\ud83d"] };
  expect(new ChatBuilder().expectRejection({ type: "settings", patch }).reason.split("; ")).toEqual(
    [
      "patch.instructions: must not contain lone surrogates",
      "patch.skills[0]: must not contain lone surrogates",
      "patch.options.user: must not contain lone surrogates",
    ],
  );
});

test("choosing, pinning, hiding and bookmarking do not move the chat to the top of the list", () => {
  const builder = new ChatBuilder();
  const [node_id] = builder.addTurn(null, "one");
  const version_id = builder.getChosenVersionId(node_id);
  const { updated_at, revision } = builder.chat;
  const edits: UserEdit[] = [
    { type: "choose_branch", node_id },
    { type: "choose_version", node_id, version_id },
    { type: "pin", node_id, value: true },
    { type: "hide", node_id, value: true },
    { type: "bookmark", node_id, value: true },
    { type: "pin_chat", value: true },
    { type: "tag", tags: ["work"] },
  ];
  for (const edit of edits) builder.edit(edit);
  expect(builder.chat).toMatchObject({ updated_at, revision: revision + edits.length });
  builder.edit({ type: "rename", title: "one" });
  expect(builder.chat.updated_at > updated_at).toBe(true);
});
