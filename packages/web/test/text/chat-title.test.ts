import { summarizeChat } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { getListedChatTitle, getChatTitle } from "../../src/text/chat-title.ts";
import { buildChat } from "../chat/chat-fixture.ts";

const createChatWith = (text: string) =>
  ({
    type: "add_message",
    parent: null,
    message: { text },
  }) as const;

test("a chat without a title shows the start of its first message", () => {
  expect(getChatTitle(buildChat())).toBe("");
  const chat = buildChat(createChatWith("  What is\n the weather?"));
  expect(getChatTitle(chat)).toBe("What is the weather?");
  expect(getChatTitle({ ...chat, title: "Weather" })).toBe("Weather");
});

test("a long first message is truncated, never within a character", () => {
  const name = getChatTitle(buildChat(createChatWith(`${"a".repeat(79)}😀 and more`)));
  expect(name).toBe(`${"a".repeat(79)}…`);
});

test("a chat has the same name in the list as when it is open", () => {
  const chats = [
    buildChat(),
    buildChat(createChatWith("  What is\n the weather?")),
    buildChat(createChatWith(`${"word ".repeat(15)}fifth and more`)),
    buildChat(createChatWith(`${"a".repeat(79)}😀 and more`)),
    { ...buildChat(createChatWith("Hello")), title: "  " },
    { ...buildChat(createChatWith("Hello")), title: "Greetings" },
  ];
  const names = chats.map(getChatTitle);
  expect(chats.map((chat) => getListedChatTitle(summarizeChat({ chat, stamp: 1 })))).toEqual(names);
  expect(names.slice(-2)).toEqual(["Hello", "Greetings"]);
});

test("a chat that an earlier version stored without the start of its first message shows that of the last one", () => {
  const summary = summarizeChat({ chat: buildChat(createChatWith("Hello")), stamp: 1 });
  const older = { ...summary, opening_text: "", excerpt: `${"a".repeat(79)}😀 and more` };
  expect(getListedChatTitle(older)).toBe(`${"a".repeat(79)}…`);
  expect(getListedChatTitle({ ...older, title: "Greetings" })).toBe("Greetings");
  expect(getListedChatTitle({ ...older, opening_text: "First" })).toBe("First");
});
