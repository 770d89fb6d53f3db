import { summaryOf } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { nameInList, nameOfChat } from "../../src/texts/name-of-chat.ts";
import { chatAfter } from "../chat/stage.ts";

const asked = (text: string) =>
  ({
    type: "add_message",
    parent: null,
    message: { text },
  }) as const;

test("a chat is called by the first words of its first question until it has a title", () => {
  expect(nameOfChat(chatAfter())).toBe("");
  const chat = chatAfter(asked("  What is\n the weather?"));
  expect(nameOfChat(chat)).toBe("What is the weather?");
  expect(nameOfChat({ ...chat, title: "Weather" })).toBe("Weather");
});

test("of a long question the beginning is enough, and no character of it is cut in two", () => {
  const name = nameOfChat(chatAfter(asked(`${"a".repeat(79)}😀 and more`)));
  expect(name).toBe(`${"a".repeat(79)}…`);
});

test("a chat has the same name in a list as where it is open", () => {
  const chats = [
    chatAfter(),
    chatAfter(asked("  What is\n the weather?")),
    chatAfter(asked(`${"word ".repeat(15)}fifth and more`)),
    chatAfter(asked(`${"a".repeat(79)}😀 and more`)),
    { ...chatAfter(asked("Hello")), title: "  " },
    { ...chatAfter(asked("Hello")), title: "Greetings" },
  ];
  const names = chats.map(nameOfChat);
  expect(chats.map((chat) => nameInList(summaryOf({ chat, stamp: 1 })))).toEqual(names);
  expect(names.slice(-2)).toEqual(["Hello", "Greetings"]);
});

test("a chat of an earlier version, whose first words are not known yet, is called by its last", () => {
  const summary = summaryOf({ chat: chatAfter(asked("Hello")), stamp: 1 });
  const older = { ...summary, first_words: "", excerpt: `${"a".repeat(79)}😀 and more` };
  expect(nameInList(older)).toBe(`${"a".repeat(79)}…`);
  expect(nameInList({ ...older, title: "Greetings" })).toBe("Greetings");
  expect(nameInList({ ...older, first_words: "First" })).toBe("First");
});
