import fc from "fast-check";
import { expect, test } from "vitest";
import {
  applyEdit,
  chatsFromJson,
  chatToJson,
  checkSettings,
  importChats,
  newChat,
  type ChatEdit,
  type ChatSettings,
} from "@deltawire/tasks/chats";
import { wellFormedJson } from "@deltawire/tasks";
import { runs } from "../../../../../test/runs.ts";
import { sampleBlobs, sampleWorld } from "./sample-chat.ts";

/** As JSON may have them: with halves of characters, and none at all. */
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom("", "a", "\ud800", "a\udc00b", "\u0000", "中文\u{1F600}"),
);
const deep = fc
  .integer({ min: 90, max: 210 })
  .map((levels): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`));
const anyOptions = fc.oneof(
  fc.dictionary(anyText, fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }), { maxKeys: 3 }),
  deep,
);

const sometimes = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const anyMessage = fc.record({
  text: anyText,
  attachments: sometimes(
    fc.array(
      fc.record({
        kind: fc.constantFrom("image", "audio", "file"),
        url: anyText,
        filename: sometimes(anyText),
        media_type: sometimes(anyText),
        size: sometimes(fc.nat()),
      }),
      { maxLength: 2 },
    ),
  ),
  contexts: sometimes(
    fc.array(
      fc.record({
        kind: fc.constantFrom("file", "selection", "page", "text"),
        title: anyText,
        text: anyText,
        url: sometimes(anyText),
      }),
      { maxLength: 2 },
    ),
  ),
  options: sometimes(anyOptions),
});

const anySettings = fc.record({
  model: sometimes(anyText),
  instructions: sometimes(anyText),
  tool_groups: sometimes(fc.array(anyText, { maxLength: 2 })),
  skills: sometimes(fc.array(anyText, { maxLength: 2 })),
  options: sometimes(anyOptions),
  privacy: sometimes(
    fc.record({
      enabled: fc.boolean(),
      fields: fc.array(
        fc.record({ kind: fc.constantFrom("name", "text"), value: anyText, label: anyText }),
        { maxLength: 2 },
      ),
    }),
  ),
  time_zone: sometimes(anyText),
  title_model: sometimes(anyText),
});

const anyEdit = fc.oneof(
  anyMessage.map((message) => ({ type: "add_message", parent: null, message })),
  anySettings.map((patch) => ({ type: "settings", patch })),
  anyText.map((title) => ({ type: "rename", title })),
  fc.array(anyText, { maxLength: 3 }).map((tags) => ({ type: "tag", tags })),
) as unknown as fc.Arbitrary<ChatEdit>;

test("whatever a chat takes can be exported, and comes in again", () => {
  let taken = 0;
  let refused = 0;
  fc.assert(
    fc.property(anySettings, fc.array(anyEdit, { maxLength: 8 }), (settings, edits) => {
      const world = sampleWorld();
      const isGood = checkSettings(settings).length === 0;
      let chat = newChat(isGood ? { settings: settings as unknown as ChatSettings } : {}, world);
      for (const edit of edits) {
        const edited = applyEdit(chat, edit, world);
        if (edited.ok) ({ chat } = edited);
        taken += edited.ok ? 1 : 0;
        refused += edited.ok ? 0 : 1;
      }
      const exported_at = world.now();
      const file = chatToJson({ chat, replays: {}, blobs: sampleBlobs, exported_at });
      const imported = chatsFromJson(JSON.parse(JSON.stringify(file)), sampleWorld("new"));
      expect(imported).toMatchObject({ ok: true });
    }),
    runs(300),
  );
  expect(Math.min(taken, refused)).toBeGreaterThan(100);
});

test("whatever log is imported can be exported, and comes in again", () => {
  const long = "x".repeat(2000);
  const messages = [
    { role: "user", content: [{ type: "file", file: { filename: long, file_data: "AAAA" } }] },
    {
      role: "assistant",
      tool_calls: [{ id: long, type: "function", function: { name: long, arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: long, content: "" },
  ];
  const imported = importChats(messages, sampleWorld());
  if (!imported.ok) throw new Error(imported.problems.join("\n"));
  const [one] = imported.chats;
  if (one === undefined) throw new Error("there is no chat");
  const blobs = (hash: string) => imported.blobs[hash];
  const file = chatToJson({ ...one, blobs, exported_at: sampleWorld().now() });
  expect(importChats(file, sampleWorld("new"))).toMatchObject({ ok: true });
});

test("JSON of others is made of whole characters, and is the same otherwise", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
      expect(wellFormedJson(value)).toEqual(value);
    }),
    runs(100),
  );
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const whole = wellFormedJson(value);
      const text = JSON.stringify(whole);
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toMatch(/\\ud[89a-f]/);
    }),
    runs(300),
  );
  expect(wellFormedJson({ "a\ud800": ["\udc00", 1, null] })).toEqual({
    "a\u{FFFD}": ["\u{FFFD}", 1, null],
  });
});
