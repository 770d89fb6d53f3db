import { defaultJsonLimits, JsonLimitScanner } from "@deltawire/wire";
import { maxMessages } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { chatScene } from "./chat-scene.ts";

test("the export of a chat with as many messages as a chat can have is imported again", async () => {
  const { client } = await chatScene();
  const messages = Array.from({ length: maxMessages }, (_, nth) => ({
    role: nth % 2 === 0 ? "user" : "assistant",
    content: `message ${nth}`,
  }));
  const [full] = (await client.importFrom(messages)).data;
  const { text } = await client.exportAs(full?.chat_id ?? "", "json");
  const scanner = new JsonLimitScanner({ maxDepth: 300, maxValues: Number.MAX_SAFE_INTEGER });
  scanner.push(text);
  expect(scanner.values).toBeGreaterThan(defaultJsonLimits.maxValues);
  const [again] = (await client.importFrom(JSON.parse(text))).data;
  expect(again?.chat_id).not.toBe(full?.chat_id);
  const [before, after] = [full, again].map((one) => client.open(one?.chat_id ?? ""));
  expect((await after)?.chat.nodes).toEqual((await before)?.chat.nodes);
}, 120_000);
