import { expect, test } from "vitest";
import { nameOfChat } from "../../src/texts/name-of-chat.ts";
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
