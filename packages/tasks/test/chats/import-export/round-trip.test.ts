import fc from "fast-check";
import { expect, test } from "vitest";
import {
  applyEdit,
  chatsFromJson,
  chatToJson,
  checkSettings,
  importChats,
  createChat,
  type ChatEdit,
  type ChatSettings,
} from "@deltawire/tasks/chats";
import { toWellFormedJson } from "@deltawire/tasks";
import { propertyRuns } from "../../../../../test/property-runs.ts";
import { findSampleBlob, createSampleEnvironment } from "./sample-chat.ts";

/** Any strings, including empty ones and ones with lone surrogates. */
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom("", "a", "\ud800", "a\udc00b", "\u0000", "中文\u{1F600}"),
);
const deeplyNested = fc
  .integer({ min: 90, max: 210 })
  .map((levels): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`));
const anyOptions = fc.oneof(
  fc.dictionary(anyText, fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }), { maxKeys: 3 }),
  deeplyNested,
);

const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const anyMessage = fc.record({
  text: anyText,
  attachments: optional(
    fc.array(
      fc.record({
        kind: fc.constantFrom("image", "audio", "file"),
        url: anyText,
        filename: optional(anyText),
        media_type: optional(anyText),
        size: optional(fc.nat()),
      }),
      { maxLength: 2 },
    ),
  ),
  contexts: optional(
    fc.array(
      fc.record({
        kind: fc.constantFrom("file", "selection", "page", "text"),
        title: anyText,
        text: anyText,
        url: optional(anyText),
      }),
      { maxLength: 2 },
    ),
  ),
  options: optional(anyOptions),
});

const anySettings = fc.record({
  model: optional(anyText),
  instructions: optional(anyText),
  tool_groups: optional(fc.array(anyText, { maxLength: 2 })),
  skills: optional(fc.array(anyText, { maxLength: 2 })),
  options: optional(anyOptions),
  privacy: optional(
    fc.record({
      enabled: fc.boolean(),
      fields: fc.array(
        fc.record({ kind: fc.constantFrom("name", "text"), value: anyText, label: anyText }),
        { maxLength: 2 },
      ),
    }),
  ),
  time_zone: optional(anyText),
  title_model: optional(anyText),
});

const anyEdit = fc.oneof(
  anyMessage.map((message) => ({ type: "add_message", parent: null, message })),
  anySettings.map((patch) => ({ type: "settings", patch })),
  anyText.map((title) => ({ type: "rename", title })),
  fc.array(anyText, { maxLength: 3 }).map((tags) => ({ type: "tag", tags })),
) as unknown as fc.Arbitrary<ChatEdit>;

test("any chat that edits can create can be exported and imported", () => {
  let accepted = 0;
  let rejected = 0;
  fc.assert(
    fc.property(anySettings, fc.array(anyEdit, { maxLength: 8 }), (settings, edits) => {
      const environment = createSampleEnvironment();
      const isValid = checkSettings(settings).length === 0;
      let chat = createChat(
        isValid ? { settings: settings as unknown as ChatSettings } : {},
        environment,
      );
      for (const edit of edits) {
        const edited = applyEdit(chat, edit, environment);
        if (edited.ok) ({ chat } = edited);
        accepted += edited.ok ? 1 : 0;
        rejected += edited.ok ? 0 : 1;
      }
      const exported_at = environment.now();
      const file = chatToJson({ chat, replays: {}, blobs: findSampleBlob, exported_at });
      const imported = chatsFromJson(
        JSON.parse(JSON.stringify(file)),
        createSampleEnvironment("new"),
      );
      expect(imported).toMatchObject({ ok: true });
    }),
    propertyRuns(300),
  );
  expect(Math.min(accepted, rejected)).toBeGreaterThan(100);
});

test("an imported list of messages can be exported and imported again", () => {
  const long = "x".repeat(2000);
  const messages = [
    { role: "user", content: [{ type: "file", file: { filename: long, file_data: "AAAA" } }] },
    {
      role: "assistant",
      tool_calls: [{ id: long, type: "function", function: { name: long, arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: long, content: "" },
  ];
  const imported = importChats(messages, createSampleEnvironment());
  if (!imported.ok) throw new Error(imported.problems.join("\n"));
  const [one] = imported.chats;
  if (one === undefined) throw new Error("no chat was imported");
  const blobs = (hash: string) => imported.blobs[hash];
  const file = chatToJson({ ...one, blobs, exported_at: createSampleEnvironment().now() });
  expect(importChats(file, createSampleEnvironment("new"))).toMatchObject({ ok: true });
});

test("toWellFormedJson replaces lone surrogates and changes nothing else", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
      expect(toWellFormedJson(value)).toEqual(value);
    }),
    propertyRuns(100),
  );
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const wellFormed = toWellFormedJson(value);
      const text = JSON.stringify(wellFormed);
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toMatch(/\\ud[89a-f]/);
    }),
    propertyRuns(300),
  );
  expect(toWellFormedJson({ "a\ud800": ["\udc00", 1, null] })).toEqual({
    "a\u{FFFD}": ["\u{FFFD}", 1, null],
  });
});
