import type { NewMessage, PersonEdit } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { WrittenChat } from "./written-chat.ts";

test("a model names a chat once, and never over a name that somebody gave", () => {
  const w = new WrittenChat();
  const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4 };
  w.edit({ type: "title_by_model", title: "Weather", usage });
  expect(w.chat).toMatchObject({ title: "Weather", title_by: "model", extra_usage: usage });
  expect(w.chat.revision).toBe(0);
  const refusal = {
    code: "illegal_place",
    reason: "the chat has a name already, which a model does not change",
  };
  expect(w.refused({ type: "title_by_model", title: "Sun" })).toEqual(refusal);
  w.edit({ type: "rename", title: "Mine" });
  expect(w.chat).toMatchObject({ title: "Mine", title_by: "user", revision: 1 });
  expect(w.refused({ type: "title_by_model", title: "Sun" })).toEqual(refusal);
});

test("settings change by field, and null takes one out", () => {
  const w = new WrittenChat({ settings: { model: "m", turns: 3 } });
  w.edit({ type: "settings", patch: { turns: null, instructions: "Be brief." } });
  expect(w.chat.settings).toEqual({ model: "m", instructions: "Be brief." });
  expect(w.refused({ type: "settings", patch: { agent: "guide" } })).toEqual({
    code: "bad_value",
    reason: "patch.agent: a chat has an agent or a model, not both",
  });
  w.edit({ type: "settings", patch: { agent: "guide", model: null } });
  expect(w.chat.settings).toEqual({ agent: "guide", instructions: "Be brief." });
});

test.each<[edit: unknown, reason: string]>([
  [{ type: "rename", title: " " }, "title: must not be empty"],
  [{ type: "rename", title: "x".repeat(301) }, "title: must have at most 300 characters, got 301"],
  [{ type: "rename", title: "half \ud83d" }, "title: has half a character in it"],
  [{ type: "rename", title: 5 }, "title: must be a string, got 5"],
  [{ type: "rename" }, "title: is missing; must be a string"],
  [{ type: "rename", title: "a", by: "me" }, "by: unknown field; there are type, title"],
  [{ type: "tag", tags: ["a", ""] }, "tags[1]: must not be empty"],
  [{ type: "tag", tags: ["a", "b", "a"] }, "tags[2]: is there twice"],
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
    { type: "settings", patch: { colour: null, limits: { rounds: 0 } } },
    "patch.colour: unknown field; there are agent, model, instructions, tool_groups, skills, options, limits, results, turns, privacy, time_zone, exact_time, title_model",
  ],
])("what cannot be is refused with the place of the fault: %j", (edit, reason) => {
  const w = new WrittenChat();
  w.user(null);
  expect(w.refused(edit as PersonEdit)).toEqual({ code: "bad_value", reason });
});

test("a message with something wrong in it is refused, wherever it would go", () => {
  const w = new WrittenChat();
  const node_id = w.user(null);
  const message = { text: "see", attachments: [{ kind: "image" }] } as never;
  const refusal = {
    code: "bad_value",
    reason: "message.attachments[0].url: is missing; must be a string",
  };
  expect(w.refused({ type: "add_message", parent: null, message })).toEqual(refusal);
  expect(w.refused({ type: "add_message_version", node_id, message })).toEqual(refusal);
});

test.each<[message: NewMessage, place: string]>([
  [{ text: "half \ud83d" }, "text"],
  [
    { text: "", attachments: [{ kind: "file", url: "a", filename: "\ude00" }] },
    "attachments[0].filename",
  ],
  [{ text: "", contexts: [{ kind: "text", title: "a", text: "\ud83d" }] }, "contexts[0].text"],
  [{ text: "", options: { metadata: { a: ["\ud83d"] } } }, "options.metadata.a[0]"],
])("half a character is refused with its place: %j", (message, place) => {
  const reason = `message.${place}: has half a character in it`;
  expect(new WrittenChat().refused({ type: "add_message", parent: null, message })).toEqual({
    code: "bad_value",
    reason,
  });
});

test("half a character in settings is refused with its place", () => {
  const patch = { instructions: "\ud83d", options: { user: "\ud83d" }, skills: ["\ud83d"] };
  expect(new WrittenChat().refused({ type: "settings", patch }).reason.split("; ")).toEqual([
    "patch.instructions: has half a character in it",
    "patch.skills[0]: has half a character in it",
    "patch.options.user: has half a character in it",
  ]);
});

test("looking and sorting are not changing: the chat stays where it is in the list", () => {
  const w = new WrittenChat();
  const [node_id] = w.turn(null, "one");
  const version_id = w.shownVersion(node_id);
  const { updated_at, revision } = w.chat;
  const looks: PersonEdit[] = [
    { type: "choose_branch", node_id },
    { type: "choose_version", node_id, version_id },
    { type: "pin", node_id, value: true },
    { type: "hide", node_id, value: true },
    { type: "bookmark", node_id, value: true },
    { type: "pin_chat", value: true },
    { type: "tag", tags: ["work"] },
  ];
  for (const look of looks) w.edit(look);
  expect(w.chat).toMatchObject({ updated_at, revision: revision + looks.length });
  w.edit({ type: "rename", title: "one" });
  expect(w.chat.updated_at > updated_at).toBe(true);
});
