import type { ChatClient, PrivacyField } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { listAnswers, chatGatewayFixture, waitUntilSettled } from "./chat-fixture.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testUpstream } from "./gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  streamText,
  type UpstreamScript,
} from "./scripted-upstream.ts";

const email = "anna.meier@example.com";
const details = (text: string) => [
  { type: "reasoning.text", text, format: "anthropic-claude-v1", signature: "s", index: 0 },
];
const call = {
  index: 0,
  id: "call_0123456789",
  type: "function",
  function: { name: "current_time", arguments: "{}" },
};

/** A model that repeats its latest input in its reasoning, calls a tool once per turn, and answers. */
const reasoningScript: UpstreamScript = ({ body }, response) => {
  const messages = body["messages"] as { role: string; content: unknown }[];
  const thought = `They said: ${JSON.stringify(messages.findLast(({ role }) => role === "user")?.content)}`;
  beginStream(response);
  response.write(
    formatEvent(
      chatChunk({ reasoning: thought, reasoning_details: details(thought), content: "" }),
    ),
  );
  if (messages.at(-1)?.role === "tool") return streamText(response, "It is late.");
  const id = `${call.id}_${messages.length}`;
  response.write(formatEvent(chatChunk({ tool_calls: [{ ...call, id }] })));
  response.write(formatEvent(chatChunk({}, "tool_calls")));
  response.end(formatEvent("[DONE]"));
};

async function reasoningChatFixture() {
  const upstream = await testUpstream(reasoningScript);
  const flags = 'flags = { reasoning_field = "reasoning_details", reasoning_range = "all" }';
  const toml = `${upstreamToml("up", upstream.url)}${flags}\n`;
  const { client } = await chatGatewayFixture({ toml });
  const { chat } = await client.create({ settings: { model: "up/m", tool_groups: ["time"] } });
  const sendMessage = async (text: string): Promise<string> => {
    const { node_id } = await client.send(chat.chat_id, { text });
    await waitUntilSettled(client, chat.chat_id);
    return node_id;
  };
  const getLastRequestText = (): string => upstream.requests.at(-1)?.bytes.toString("utf8") ?? "";
  return { client, id: chat.chat_id, sendMessage, getLastRequestText };
}

async function mask(client: ChatClient, id: string, fields: PrivacyField[]): Promise<void> {
  const patch = { privacy: { enabled: true, fields } };
  const { revision } = (await client.get(id)).chat;
  await client.applyEdits(id, { revision, edits: [{ type: "settings", patch }] });
}

describe("sealed reasoning of an answer", () => {
  test("is sent back to the model that created it as long as the masked fields stay the same", async () => {
    const { client, id, sendMessage, getLastRequestText } = await reasoningChatFixture();
    await sendMessage(`I am ${email}`);
    await sendMessage("What time is it?");
    expect(getLastRequestText().split(email)).toHaveLength(4);
    await mask(client, id, [{ kind: "email" }]);
    await sendMessage(`I was ${email}`);
    await sendMessage("Who?");
    expect(getLastRequestText()).toMatch(/They said: \\"I was \{\{EMAIL_1_/);
    const { chat } = await client.get(id);
    const masks = listAnswers(chat).map(({ masked_with }) => masked_with);
    expect(masks).toEqual([
      undefined,
      undefined,
      expect.stringMatching(/^[0-9a-f]{16}$/),
      masks[2],
    ]);
  });

  test("contains no private value after privacy is enabled later, not even from remembered calls", async () => {
    const { client, id, sendMessage, getLastRequestText } = await reasoningChatFixture();
    await sendMessage(`I am ${email}`);
    await mask(client, id, [{ kind: "email" }]);
    await sendMessage("What time is it?");
    expect(getLastRequestText()).toContain("{{EMAIL_1_");
    expect(getLastRequestText()).not.toContain(email);
  });

  test("contains no private value after a field is added later", async () => {
    const { client, id, sendMessage, getLastRequestText } = await reasoningChatFixture();
    await mask(client, id, [{ kind: "phone" }]);
    await sendMessage(`I am ${email}`);
    await mask(client, id, [{ kind: "phone" }, { kind: "email" }]);
    await sendMessage("What time is it?");
    expect(getLastRequestText()).not.toContain(email);
  });

  test("contains no private value when an answer is continued", async () => {
    const { client, id, sendMessage, getLastRequestText } = await reasoningChatFixture();
    const node_id = await sendMessage(`I am ${email}`);
    await mask(client, id, [{ kind: "email" }]);
    await client.continueAnswer(id, { node_id });
    await waitUntilSettled(client, id);
    expect(getLastRequestText()).toContain("Continue where you stopped");
    expect(getLastRequestText()).not.toContain(email);
  });

  test("keeps the id of its mask in an exported and imported chat", async () => {
    const { client, id, sendMessage } = await reasoningChatFixture();
    await mask(client, id, [{ kind: "email" }]);
    await sendMessage(`I am ${email}`);
    const before = listAnswers((await client.get(id)).chat);
    const { text } = await client.exportAs(id, "json");
    const { data } = await client.importFile(JSON.parse(text));
    const { chat } = await client.get(data[0]?.chat_id ?? "");
    const masks = listAnswers(chat).map(({ masked_with }) => masked_with);
    expect(masks).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect(masks).toEqual(before.map(({ masked_with }) => masked_with));
  });
});
