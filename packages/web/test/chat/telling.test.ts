import { expect, test } from "vitest";
import { createThread } from "../../src/chat/thread.ts";
import { openTab } from "../node-world.ts";

test("whoever tells an answer something is shown the end, where it waits; what was not told moves nothing", async () => {
  const chat = openTab("http://127.0.0.1:1").openChat("chat_1");
  const endsSeenAfter = async (isTold: boolean) => {
    let seen = 0;
    const thread = createThread({ ...chat, tell: () => Promise.resolve(isTold) });
    const word = { text: "In French", delivery: "steer", key: "key" } as const;
    thread.setToEnd(() => (seen += 1));
    expect(await thread.chat.tell("task_1", word)).toBe(isTold);
    return seen;
  };
  expect(await endsSeenAfter(true)).toBe(1);
  expect(await endsSeenAfter(false)).toBe(0);
});
