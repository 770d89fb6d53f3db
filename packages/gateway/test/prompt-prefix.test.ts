import type { ServerResponse } from "node:http";
import { defineAgent, defineTool } from "@deltawire/agent";
import { createChatClient, type ChatClient } from "@deltawire/tasks/chats";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { answersOf, whenSettled } from "./chat-scene.ts";
import { scene, type Scene } from "./scene.ts";
import type { Received } from "./scripted-upstream.ts";
import { answers, type Reply } from "./wire-replies.ts";

/*
 * Prompt caches are by prefix: every request of a conversation begins with the bytes of the one before it, with tools,
 * references, sub-agents, masked values and time stamps.
 */

type Wire = "chat" | "responses";
const wires = [{ speaks: "chat" }, { speaks: "responses" }] as const;
const wiresAndSeals = [...wires, { speaks: "responses", sealed: "gAAAsealed" }] as const;

const look = defineTool<{ city: string }>({
  name: "look",
  description: "Looks.",
  effect: "pure",
  run: ({ city }) => {
    const group = {
      type: "text",
      text: `${city}: 15C, ask bob@example.com`,
      id: city,
      title: city,
    };
    return { message_content: [group], block_list: [group] };
  },
});
const scout = defineAgent({
  name: "scout",
  description: "Looks for others.",
  instructions: "You are the scout.",
  model: "up/m",
  tools: [look],
});
const guide = defineAgent({
  name: "guide",
  instructions: "You are the guide.",
  model: "up/m",
  tools: [look],
  agents: [scout],
});

/** Does what the last user's words say, then says what it was told to say. */
function script(speaks: Wire, sealed: string | undefined) {
  let calls = 0;
  return ({ body }: Received, response: ServerResponse) => {
    const items = (body[speaks === "chat" ? "messages" : "input"] ?? []) as JsonObject[];
    const last = items.at(-1) ?? {};
    const isResult = last["role"] === "tool" || last["type"] === "function_call_output";
    const asked = JSON.stringify(items.findLast(({ role }) => role === "user")?.["content"]);
    const reply: Reply = {
      reasoning: ["Hm."],
      usage: { input: 9, output: 3 },
      ...(sealed === undefined ? {} : { sealed }),
    };
    const [, tool = "", of = ""] = /(look|scout) (\w+)/.exec(asked) ?? [];
    const [, words = ""] = /say: ([^"\\]+)/.exec(asked) ?? [];
    if (isResult || tool === "")
      return answers(speaks, response, body, { ...reply, text: [words] });
    calls += 1;
    const id = `call_of_up_${calls}`;
    const help = { name: "scout", prompt: `look ${of}, then say: Seen [^1].` };
    const call =
      tool === "look"
        ? { id, name: "look", arguments: [JSON.stringify({ city: of })] }
        : { id, name: "ask_for_help", arguments: [JSON.stringify(help)] };
    return answers(speaks, response, body, { ...reply, calls: [call] });
  };
}

async function guideOn(speaks: Wire, sealed?: string): Promise<Scene & { client: ChatClient }> {
  const made = await scene(script(speaks, sealed), {
    upstream: { speaks, models: ["m"] },
    toml: "[chats]\ntitles = false\n",
    agents: [guide],
  });
  return { ...made, client: createChatClient({ base: made.gateway.url, fetch }) };
}

const settings = {
  agent: "guide",
  time_zone: "Europe/Berlin",
  exact_time: true,
  privacy: { enabled: true, fields: [{ kind: "email" as const }] },
};

async function answerTo(client: ChatClient, id: string, text: string, parent?: string) {
  const { version_id, node_id } = await client.send(id, {
    text,
    ...(parent === undefined ? {} : { parent }),
  });
  return { node_id, ...(await completed(client, id, version_id)) };
}

async function completed(client: ChatClient, id: string, versionId: string) {
  const { chat } = await whenSettled(client, id);
  const answer = answersOf(chat).find(({ version_id }) => version_id === versionId);
  if (answer?.status !== "completed") throw new Error(JSON.stringify(answer?.error));
  return answer;
}

/** The requests of the guide, each up to the end of its last message. */
function prefixes({ upstream }: Scene, speaks: Wire): string[] {
  const field = speaks === "chat" ? "messages" : "input";
  return upstream.requests
    .filter(({ bytes }) => bytes.includes("You are the guide."))
    .map(({ bytes, body }) => {
      const list = `"${field}":${JSON.stringify(body[field])}`;
      const text = bytes.toString();
      const at = text.indexOf(list);
      if (at === -1) throw new Error(`there are no ${field} as they were written`);
      return text.slice(0, at + list.length - "]".length);
    });
}

function expectGrowing(requests: readonly string[]): void {
  for (const [at, before] of requests.slice(0, -1).entries())
    expect(requests[at + 1]?.slice(0, before.length)).toBe(before);
}

const numbersOf = ({ references }: { references: readonly { reference_id: number }[] }) =>
  references.map(({ reference_id }) => reference_id);

const annotationsOf = (answer: { output: readonly unknown[] }) =>
  [...JSON.stringify(answer.output).matchAll(/"type":"(\w+)","reference_id":(\d+)/g)].map(
    ([, type, n]) => `${type} ${n}`,
  );

describe.each(wiresAndSeals)("a chat on the wire $speaks, reasoning sealed: $sealed", (on) => {
  const { speaks } = on;
  const sealed = "sealed" in on ? on.sealed : undefined;
  test("every request begins with the bytes of the one before, and numbers go on through its turns", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-03-01T08:00:00Z") });
    onTestFinished(() => void vi.useRealTimers());
    const made = await guideOn(speaks, sealed);
    const { client } = made;
    const { chat } = await client.create({ settings });
    const id = chat.chat_id;
    const one = await answerTo(client, id, "look Paris for ada@example.com, say: Warm [^1].");
    vi.setSystemTime(new Date("2026-03-01T09:00:00Z"));
    const two = await answerTo(client, id, "scout Oslo, say: Cold [^2].");
    const three = await answerTo(client, id, "look Rome, say: Warmer [^3] than [^1] and [^9].");
    expect([one, two, three].map(numbersOf)).toEqual([[1], [2], [3]]);
    expect(annotationsOf(three)).toEqual([
      "reference_to_block 3",
      "reference_to_block 1",
      "unresolved_reference 9",
    ]);
    const requests = prefixes(made, speaks);
    expect(requests).toHaveLength(6);
    expectGrowing(requests);
    for (const n of [1, 2, 3]) expect(requests.at(-1)).toContain(`<referencable-item>\\nID: ${n}`);
    expect(requests.join("")).not.toContain("@example.com");
    // Another version of the second answer goes on from the first.
    const again = await client.rerun(id, { node_id: two.node_id });
    expect(numbersOf(await completed(client, id, again.version_id))).toEqual([2]);
    expectGrowing([...requests.slice(0, 2), ...prefixes(made, speaks).slice(-2)]);
    // A branch from the first answer has numbers of its own.
    const aside = await answerTo(client, id, "look Bern, say: Mild [^2].", one.node_id);
    expect(numbersOf(aside)).toEqual([2]);
    expectGrowing([...requests.slice(0, 2), ...prefixes(made, speaks).slice(-2)]);
  });

  test("turns that the model no longer sees keep their numbers", async () => {
    const made = await guideOn(speaks, sealed);
    const { client } = made;
    const { chat } = await client.create({ settings: { ...settings, turns: 1 } });
    await answerTo(client, chat.chat_id, "look Paris, say: Warm [^1].");
    await answerTo(client, chat.chat_id, "say: Nothing.");
    const last = await answerTo(client, chat.chat_id, "look Rome, say: Warm [^2], not [^1].");
    expect(numbersOf(last)).toEqual([2]);
    expect(annotationsOf(last)).toEqual(["reference_to_block 2", "unresolved_reference 1"]);
  });

  test("a chat of an earlier version, whose answers all count from 1, is stable from the next message on", async () => {
    const made = await guideOn(speaks, sealed);
    const { client } = made;
    const { chat } = await client.create({ settings });
    await answerTo(client, chat.chat_id, "look Paris, say: Warm [^1].");
    await answerTo(client, chat.chat_id, "look Oslo, say: Cold [^2].");
    const { text } = await client.exportAs(chat.chat_id, "json");
    const older = text
      .replaceAll("ID: 2", "ID: 1")
      .replaceAll("[^2]", "[^1]")
      .replaceAll(/"reference_id":\s*2/g, '"reference_id":1')
      .replaceAll(/"id":\s*2/g, '"id":1');
    const [imported] = (await client.importFrom(JSON.parse(older))).data;
    const id = imported?.chat_id ?? "";
    const before = prefixes(made, speaks).length;
    const next = await answerTo(client, id, "look Rome, say: Warm [^2].");
    await answerTo(client, id, "say: The end.");
    expect(numbersOf(next)).toEqual([2]);
    const requests = prefixes(made, speaks).slice(before);
    expectGrowing(requests);
    const wrapped = [...(requests.at(-1) ?? "").matchAll(/<referencable-item>\\nID: (\d+)/g)];
    expect(wrapped.map(([, n]) => n)).toEqual(["1", "2"]);
    expect(requests.at(-1)).toContain("Oslo: 15C");
    expect(requests.at(-1)).toContain("Cold.");
  });
});

describe.each(wires)(
  "tasks of an agent that is asked as a model, on the wire $speaks",
  ({ speaks }) => {
    test("are told what the client sends back unchanged, and number on from what it cites", async () => {
      const made = await guideOn(speaks);
      const said: JsonObject[] = [];
      const first: string[] = [];
      const tasks: string[] = [];
      for (const words of ["look Paris, say: Warm [^1].", "look Oslo, say: Cold [^2]."]) {
        said.push({ role: "user", content: words });
        const asked = prefixes(made, speaks).length;
        const reply = await made.gateway.post("/responses", { model: "guide", input: said });
        tasks.push(reply.headers.get("x-deltawire-task") ?? "");
        const { output } = (await reply.json()) as { output: JsonObject[] };
        said.push(...output.filter(({ type }) => type === "message"));
        const requests = prefixes(made, speaks).slice(asked);
        // Between the rounds of a task too.
        expectGrowing(requests);
        first.push(requests[0] ?? "");
      }
      expectGrowing(first);
      expect(first[1]).toContain("Warm [^1].");
      const views = await Promise.all(
        tasks.map(async (id) => (await fetch(`${made.gateway.url}/api/tasks/${id}`)).json()),
      );
      expect((views as Parameters<typeof numbersOf>[0][]).map(numbersOf)).toEqual([[1], [2]]);
    });
  },
);
