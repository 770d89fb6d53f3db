import { defaultJsonLimits, JsonLimitScanner } from "@deltawire/wire";
import { maxMessages } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { chatGatewayFixture } from "./chat-fixture.ts";

test("the export of a chat with the maximum number of messages can be imported", async () => {
  const { client } = await chatGatewayFixture();
  const messages = Array.from({ length: maxMessages }, (_, nth) => ({
    role: nth % 2 === 0 ? "user" : "assistant",
    content: `message ${nth}`,
  }));
  const [full] = (await client.importFile(messages)).data;
  const { text } = await client.exportAs(full?.chat_id ?? "", "json");
  const scanner = new JsonLimitScanner({ maxDepth: 300, maxValues: Number.MAX_SAFE_INTEGER });
  scanner.push(text);
  expect(scanner.valueCount).toBeGreaterThan(defaultJsonLimits.maxValues);
  const [imported] = (await client.importFile(JSON.parse(text))).data;
  expect(imported?.chat_id).not.toBe(full?.chat_id);
  const [before, after] = [full, imported].map((one) => client.get(one?.chat_id ?? ""));
  expect((await after)?.chat.nodes).toEqual((await before)?.chat.nodes);
}, 120_000);
