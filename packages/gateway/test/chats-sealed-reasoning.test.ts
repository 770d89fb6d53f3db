import type { ChatClient, PrivacyField } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { answersOf, chatScene, whenSettled } from "./chat-scene.ts";
import { upstreamToml } from "./running-gateway.ts";
import { anUpstream } from "./scene.ts";
import { beginStream, chunk, event, says, type Script } from "./scripted-upstream.ts";

const mine = "anna.meier@example.com";
const details = (text: string) => [
  { type: "reasoning.text", text, format: "anthropic-claude-v1", signature: "s", index: 0 },
];
const call = {
  index: 0,
  id: "call_0123456789",
  type: "function",
  function: { name: "current_time", arguments: "{}" },
};

/** Thinks of whatever it was told last, calls a tool once in every turn, and speaks. */
const thinker: Script = ({ body }, response) => {
  const messages = body["messages"] as { role: string; content: unknown }[];
  const thought = `They said: ${JSON.stringify(messages.findLast(({ role }) => role === "user")?.content)}`;
  beginStream(response);
  response.write(
    event(chunk({ reasoning: thought, reasoning_details: details(thought), content: "" })),
  );
  if (messages.at(-1)?.role === "tool") return says(response, "It is late.");
  const id = `${call.id}_${messages.length}`;
  response.write(event(chunk({ tool_calls: [{ ...call, id }] })));
  response.write(event(chunk({}, "tool_calls")));
  response.end(event("[DONE]"));
};

async function thinking() {
  const upstream = await anUpstream(thinker);
  const flags = 'flags = { reasoning_field = "reasoning_details", reasoning_range = "all" }';
  const toml = `${upstreamToml("up", upstream.url)}${flags}\n`;
  const { client } = await chatScene({ toml });
  const { chat } = await client.create({ settings: { model: "up/m", tool_groups: ["time"] } });
  const ask = async (text: string): Promise<string> => {
    const { node_id } = await client.send(chat.chat_id, { text });
    await whenSettled(client, chat.chat_id);
    return node_id;
  };
  const lastBytes = (): string => upstream.requests.at(-1)?.bytes.toString("utf8") ?? "";
  return { client, id: chat.chat_id, ask, lastBytes };
}

async function mask(client: ChatClient, id: string, fields: PrivacyField[]): Promise<void> {
  const patch = { privacy: { enabled: true, fields } };
  const { revision } = (await client.open(id)).chat;
  await client.edits(id, { revision, edits: [{ type: "settings", patch }] });
}

describe("reasoning that is sealed in an answer", () => {
  test("is opened again for the model that made it, as long as nothing else is masked", async () => {
    const { client, id, ask, lastBytes } = await thinking();
    await ask(`I am ${mine}`);
    await ask("What time is it?");
    expect(lastBytes().split(mine)).toHaveLength(4);
    await mask(client, id, [{ kind: "email" }]);
    await ask(`I was ${mine}`);
    await ask("Who?");
    expect(lastBytes()).toMatch(/They said: \\"I was \{\{EMAIL_1_/);
    const { chat } = await client.open(id);
    const masks = answersOf(chat).map(({ masked_with }) => masked_with);
    expect(masks).toEqual([
      undefined,
      undefined,
      expect.stringMatching(/^[0-9a-f]{16}$/),
      masks[2],
    ]);
  });

  test("leaves with no private value when privacy is switched on later, nor by the memory of its calls", async () => {
    const { client, id, ask, lastBytes } = await thinking();
    await ask(`I am ${mine}`);
    await mask(client, id, [{ kind: "email" }]);
    await ask("What time is it?");
    expect(lastBytes()).toContain("{{EMAIL_1_");
    expect(lastBytes()).not.toContain(mine);
  });

  test("leaves with no private value when a field is added later", async () => {
    const { client, id, ask, lastBytes } = await thinking();
    await mask(client, id, [{ kind: "phone" }]);
    await ask(`I am ${mine}`);
    await mask(client, id, [{ kind: "phone" }, { kind: "email" }]);
    await ask("What time is it?");
    expect(lastBytes()).not.toContain(mine);
  });

  test("leaves with no private value in an answer that is gone on with", async () => {
    const { client, id, ask, lastBytes } = await thinking();
    const node_id = await ask(`I am ${mine}`);
    await mask(client, id, [{ kind: "email" }]);
    await client.continueAnswer(id, { node_id });
    await whenSettled(client, id);
    expect(lastBytes()).toContain("Go on from where you stopped");
    expect(lastBytes()).not.toContain(mine);
  });

  test("is told apart in a chat that comes out of a file", async () => {
    const { client, id, ask } = await thinking();
    await mask(client, id, [{ kind: "email" }]);
    await ask(`I am ${mine}`);
    const before = answersOf((await client.open(id)).chat);
    const { text } = await client.exportAs(id, "json");
    const { data } = await client.importFrom(JSON.parse(text));
    const { chat } = await client.open(data[0]?.chat_id ?? "");
    const masks = answersOf(chat).map(({ masked_with }) => masked_with);
    expect(masks).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect(masks).toEqual(before.map(({ masked_with }) => masked_with));
  });
});
