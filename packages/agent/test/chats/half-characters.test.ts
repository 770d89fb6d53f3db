import { expect, test } from "vitest";
import { newChat, sendAndEnd, told } from "../../../../test/chats/chat-steps.ts";
import { chatFixture } from "./chat-fixture.ts";
import { longText, office } from "../../../../test/chats/office.ts";

const half = "half \ud83d";

test("half characters of models and tools are whole in what is kept, and the file comes in again", async () => {
  const { group } = office({
    say: () => ({
      block_list: [{ type: "data", data: { [half]: [half] } }],
      message_content: half,
    }),
  });
  const world = await chatFixture({
    groups: [group],
    script: [
      [
        { reasoning: half, encrypted: half },
        { text: half },
        { call: half, args: {}, id: `call_${half}` },
        { call: "say", args: { text: "a", [half]: longText } },
      ],
      [{ text: half }],
      [{ text: "And on." }],
    ],
  });
  const chat = await newChat(world, { tool_groups: ["office"] });
  await sendAndEnd(world, chat, "Go");
  expect(halvesIn(await world.store.chat(chat))).toBe(0);
  expect(halvesIn(await world.store.replays(chat))).toBe(0);
  expect(halvesIn(await world.store.variables(chat))).toBe(0);
  const { text } = await world.chats.exportAs(chat, "json");
  const [imported] = await world.chats.importFrom(JSON.parse(text));
  const again = imported?.chat.chat_id ?? "";
  await sendAndEnd(world, again, "Go on");
  expect(told(world).at(-2)).toBe("assistant: half \u{FFFD}");
});

/** A text that tells JSON may have the escape of one, which is no half but its name. */
function halvesIn(value: unknown): number {
  return JSON.stringify(value).match(/(?<!\\)\\ud83d/g)?.length ?? 0;
}
