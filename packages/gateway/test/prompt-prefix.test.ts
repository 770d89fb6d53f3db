import type { ServerResponse } from "node:http";
import { defineAgent, defineTool } from "@deltawire/agent";
import { createChatClient, type ChatClient } from "@deltawire/tasks/chats";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { listAnswers, waitUntilSettled } from "./chat-fixture.ts";
import { gatewayFixture, type GatewayFixture } from "./gateway-fixture.ts";
import type { ReceivedRequest } from "./scripted-upstream.ts";
import { sendReply, type ScriptedReply } from "./wire-replies.ts";

/*
 * Prompt caches compare listRequestPrefixes, so every request of a conversation must begin with the bytes of the previous one: with
 * tools, references, sub-agents, masked values and time stamps.
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

/** A model that makes the call that the last user message names, then replies with the text after "say:". */
function createModelScript(speaks: Wire, sealed: string | undefined) {
  let calls = 0;
  return ({ body }: ReceivedRequest, response: ServerResponse) => {
    const items = (body[speaks === "chat" ? "messages" : "input"] ?? []) as JsonObject[];
    const last = items.at(-1) ?? {};
    const isResult = last["role"] === "tool" || last["type"] === "function_call_output";
    const lastUserText = JSON.stringify(items.findLast(({ role }) => role === "user")?.["content"]);
    const reply: ScriptedReply = {
      reasoning: ["Hm."],
      usage: { input: 9, output: 3 },
      ...(sealed === undefined ? {} : { sealed }),
    };
    const [, tool = "", of = ""] = /(look|scout) (\w+)/.exec(lastUserText) ?? [];
    const [, words = ""] = /say: ([^"\\]+)/.exec(lastUserText) ?? [];
    if (isResult || tool === "")
      return sendReply(speaks, response, body, { ...reply, text: [words] });
    calls += 1;
    const id = `call_of_up_${calls}`;
    const help = { name: "scout", prompt: `look ${of}, then say: Seen [^1].` };
    const call =
      tool === "look"
        ? { id, name: "look", arguments: [JSON.stringify({ city: of })] }
        : { id, name: "ask_for_help", arguments: [JSON.stringify(help)] };
    return sendReply(speaks, response, body, { ...reply, calls: [call] });
  };
}

async function guideFixture(
  speaks: Wire,
  sealed?: string,
): Promise<GatewayFixture & { client: ChatClient }> {
  const fixture = await gatewayFixture(createModelScript(speaks, sealed), {
    upstream: { speaks, models: ["m"] },
    toml: "[chats]\ntitles = false\n",
    agents: [guide],
  });
  return { ...fixture, client: createChatClient({ baseUrl: fixture.gateway.url, fetch }) };
}

const settings = {
  agent: "guide",
  time_zone: "Europe/Berlin",
  message_times: true,
  privacy: { enabled: true, fields: [{ kind: "email" as const }] },
};

async function sendAndWait(client: ChatClient, id: string, text: string, parent?: string) {
  const { version_id, node_id } = await client.send(id, {
    text,
    ...(parent === undefined ? {} : { parent }),
  });
  return { node_id, ...(await waitUntilCompleted(client, id, version_id)) };
}

async function waitUntilCompleted(client: ChatClient, id: string, versionId: string) {
  const { chat } = await waitUntilSettled(client, id);
  const answer = listAnswers(chat).find(({ version_id }) => version_id === versionId);
  if (answer?.status !== "completed") throw new Error(JSON.stringify(answer?.error));
  return answer;
}

/** Returns the requests of the agent "guide", each up to the end of its last message. */
function listRequestPrefixes({ upstream }: GatewayFixture, speaks: Wire): string[] {
  const field = speaks === "chat" ? "messages" : "input";
  return upstream.requests
    .filter(({ bytes }) => bytes.includes("You are the guide."))
    .map(({ bytes, body }) => {
      const list = `"${field}":${JSON.stringify(body[field])}`;
      const text = bytes.toString();
      const index = text.indexOf(list);
      if (index === -1)
        throw new Error(`the request does not contain the ${field} as they are formatted here`);
      return text.slice(0, index + list.length - "]".length);
    });
}

function expectCommonPrefixes(requests: readonly string[]): void {
  for (const [at, before] of requests.slice(0, -1).entries())
    expect(requests[at + 1]?.slice(0, before.length)).toBe(before);
}

const listReferenceIds = ({ references }: { references: readonly { reference_id: number }[] }) =>
  references.map(({ reference_id }) => reference_id);

const listAnnotations = (answer: { output: readonly unknown[] }) =>
  [...JSON.stringify(answer.output).matchAll(/"type":"(\w+)","reference_id":(\d+)/g)].map(
    ([, type, n]) => `${type} ${n}`,
  );

describe.each(wiresAndSeals)("a chat on the wire $speaks, reasoning sealed: $sealed", (on) => {
  const { speaks } = on;
  const sealed = "sealed" in on ? on.sealed : undefined;
  test("every request starts with the bytes of the previous one, and source numbers continue over turns", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-03-01T08:00:00Z") });
    onTestFinished(() => void vi.useRealTimers());
    const fixture = await guideFixture(speaks, sealed);
    const { client } = fixture;
    const { chat } = await client.create({ settings });
    const id = chat.chat_id;
    const one = await sendAndWait(client, id, "look Paris for ada@example.com, say: Warm [^1].");
    vi.setSystemTime(new Date("2026-03-01T09:00:00Z"));
    const two = await sendAndWait(client, id, "scout Oslo, say: Cold [^2].");
    const three = await sendAndWait(client, id, "look Rome, say: Warmer [^3] than [^1] and [^9].");
    expect([one, two, three].map(listReferenceIds)).toEqual([[1], [2], [3]]);
    expect(listAnnotations(three)).toEqual([
      "reference_to_block 3",
      "reference_to_block 1",
      "unresolved_reference 9",
    ]);
    const requests = listRequestPrefixes(fixture, speaks);
    expect(requests).toHaveLength(6);
    expectCommonPrefixes(requests);
    for (const n of [1, 2, 3]) expect(requests.at(-1)).toContain(`<referencable-item>\\nID: ${n}`);
    expect(requests.join("")).not.toContain("@example.com");
    // Another version of the second answer continues from the first answer.
    const again = await client.rerun(id, { node_id: two.node_id });
    expect(listReferenceIds(await waitUntilCompleted(client, id, again.version_id))).toEqual([2]);
    expectCommonPrefixes([
      ...requests.slice(0, 2),
      ...listRequestPrefixes(fixture, speaks).slice(-2),
    ]);
    // A branch from the first answer continues its numbers independently.
    const aside = await sendAndWait(client, id, "look Bern, say: Mild [^2].", one.node_id);
    expect(listReferenceIds(aside)).toEqual([2]);
    expectCommonPrefixes([
      ...requests.slice(0, 2),
      ...listRequestPrefixes(fixture, speaks).slice(-2),
    ]);
  });

  test("source numbers of turns that are no longer sent are not used again", async () => {
    const fixture = await guideFixture(speaks, sealed);
    const { client } = fixture;
    const { chat } = await client.create({ settings: { ...settings, turns: 1 } });
    await sendAndWait(client, chat.chat_id, "look Paris, say: Warm [^1].");
    await sendAndWait(client, chat.chat_id, "say: Nothing.");
    const last = await sendAndWait(client, chat.chat_id, "look Rome, say: Warm [^2], not [^1].");
    expect(listReferenceIds(last)).toEqual([2]);
    expect(listAnnotations(last)).toEqual(["reference_to_block 2", "unresolved_reference 1"]);
  });

  test("a chat of an earlier version, in which every answer counts its sources from 1, has a stable prefix from the next message on", async () => {
    const fixture = await guideFixture(speaks, sealed);
    const { client } = fixture;
    const { chat } = await client.create({ settings });
    await sendAndWait(client, chat.chat_id, "look Paris, say: Warm [^1].");
    await sendAndWait(client, chat.chat_id, "look Oslo, say: Cold [^2].");
    const { text } = await client.exportAs(chat.chat_id, "json");
    const older = text
      .replaceAll("ID: 2", "ID: 1")
      .replaceAll("[^2]", "[^1]")
      .replaceAll(/"reference_id":\s*2/g, '"reference_id":1')
      .replaceAll(/"id":\s*2/g, '"id":1');
    const [imported] = (await client.importFile(JSON.parse(older))).data;
    const id = imported?.chat_id ?? "";
    const before = listRequestPrefixes(fixture, speaks).length;
    const next = await sendAndWait(client, id, "look Rome, say: Warm [^2].");
    await sendAndWait(client, id, "say: The end.");
    expect(listReferenceIds(next)).toEqual([2]);
    const requests = listRequestPrefixes(fixture, speaks).slice(before);
    expectCommonPrefixes(requests);
    const wrapped = [...(requests.at(-1) ?? "").matchAll(/<referencable-item>\\nID: (\d+)/g)];
    expect(wrapped.map(([, n]) => n)).toEqual(["1", "2"]);
    expect(requests.at(-1)).toContain("Oslo: 15C");
    expect(requests.at(-1)).toContain("Cold.");
  });
});

describe.each(wires)(
  "tasks of an agent that is used as a model, on the wire $speaks",
  ({ speaks }) => {
    test("receive unchanged what the client sends back, and continue its numbers", async () => {
      const fixture = await guideFixture(speaks);
      const messages: JsonObject[] = [];
      const first: string[] = [];
      const tasks: string[] = [];
      for (const words of ["look Paris, say: Warm [^1].", "look Oslo, say: Cold [^2]."]) {
        messages.push({ role: "user", content: words });
        const requestCount = listRequestPrefixes(fixture, speaks).length;
        const reply = await fixture.gateway.post("/responses", { model: "guide", input: messages });
        tasks.push(reply.headers.get("x-deltawire-task") ?? "");
        const { output } = (await reply.json()) as { output: JsonObject[] };
        messages.push(...output.filter(({ type }) => type === "message"));
        const requests = listRequestPrefixes(fixture, speaks).slice(requestCount);
        // The rounds within a task share their prefix, too.
        expectCommonPrefixes(requests);
        first.push(requests[0] ?? "");
      }
      expectCommonPrefixes(first);
      expect(first[1]).toContain("Warm [^1].");
      const views = await Promise.all(
        tasks.map(async (id) => (await fetch(`${fixture.gateway.url}/api/tasks/${id}`)).json()),
      );
      expect((views as Parameters<typeof listReferenceIds>[0][]).map(listReferenceIds)).toEqual([
        [1],
        [2],
      ]);
    });
  },
);
