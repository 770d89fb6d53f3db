import { expect, test } from "vitest";
import { createThread } from "../../src/chat/thread.ts";
import { openTestApp } from "../node-environment.ts";

test("the list scrolls to its end after a message to a running answer is sent, but not if sending fails", async () => {
  const chat = openTestApp("http://127.0.0.1:1").openChat("chat_1");
  const countScrolls = async (isSent: boolean) => {
    let scrolls = 0;
    const thread = createThread({ ...chat, sendInput: () => Promise.resolve(isSent) });
    const input = { text: "In French", delivery: "steer", key: "key" } as const;
    thread.setScrollToEnd(() => (scrolls += 1));
    expect(await thread.chat.sendInput("task_1", input)).toBe(isSent);
    return scrolls;
  };
  expect(await countScrolls(true)).toBe(1);
  expect(await countScrolls(false)).toBe(0);
});
