import { expect, test } from "vitest";
import { createTestChat, sendAndWait, listSentItems } from "../../../../test/chats/chat-helpers.ts";
import { chatFixture } from "./chat-fixture.ts";
import { longToolOutput, createOfficeTools } from "../../../../test/chats/office-tools.ts";

const textWithSurrogate = "half \ud83d";

test("lone surrogates from models and tools are replaced before storing, and the exported chat can be imported and continued", async () => {
  const { group } = createOfficeTools({
    say: () => ({
      block_list: [{ type: "data", data: { [textWithSurrogate]: [textWithSurrogate] } }],
      message_content: textWithSurrogate,
    }),
  });
  const fixture = await chatFixture({
    groups: [group],
    script: [
      [
        { reasoning: textWithSurrogate, encrypted: textWithSurrogate },
        { text: textWithSurrogate },
        { call: textWithSurrogate, args: {}, id: `call_${textWithSurrogate}` },
        { call: "say", args: { text: "a", [textWithSurrogate]: longToolOutput } },
      ],
      [{ text: textWithSurrogate }],
      [{ text: "And on." }],
    ],
  });
  const chat = await createTestChat(fixture, { tool_groups: ["office"] });
  await sendAndWait(fixture, chat, "Go");
  expect(countSurrogates(await fixture.store.getChat(chat))).toBe(0);
  expect(countSurrogates(await fixture.store.getReplays(chat))).toBe(0);
  expect(countSurrogates(await fixture.store.listVariables(chat))).toBe(0);
  const { text } = await fixture.chats.exportAs(chat, "json");
  const [imported] = await fixture.chats.importFrom(JSON.parse(text));
  const importedId = imported?.chat.chat_id ?? "";
  await sendAndWait(fixture, importedId, "Go on");
  expect(listSentItems(fixture).at(-2)).toBe("assistant: half \u{FFFD}");
});

/** Counts lone surrogates, but not the escapes of lone surrogates in stored JSON texts, which are allowed. */
function countSurrogates(value: unknown): number {
  return JSON.stringify(value).match(/(?<!\\)\\ud83d/g)?.length ?? 0;
}
