import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineAgent, usualLimits } from "@deltawire/agent";
import type { ChatSettings, Placeholder } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { ChatAgents, type ChatAgentsOptions } from "../../src/chats/chat-agent.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const settings: ChatSettings = {
  privacy: { enabled: true, fields: [{ kind: "email", label: "MAIL" }] },
};
const letter = (at: number): string => `Write to person${at}@example.org, please.`;

/** Chats whose placeholders are stored in memory; `fails` makes the store refuse them. */
function chats() {
  const stored = new Map<string, Placeholder[]>();
  const state = { fails: false, reads: 0 };
  const store = {
    placeholders: async (chatId: string) => {
      state.reads += 1;
      return [...(stored.get(chatId) ?? [])];
    },
    addPlaceholders: async (chatId: string, fresh: readonly Placeholder[]) => {
      if (state.fails) throw new Error("the disk is full");
      stored.set(chatId, [...(stored.get(chatId) ?? []), ...fresh]);
    },
  };
  const agents = new ChatAgents({
    store: store as unknown as ChatAgentsOptions["store"],
    model: () => {
      throw new Error("no model is asked");
    },
    abilities: async () => ({ type: "chat", tools: true }),
    skills: [],
    privacy: undefined,
    limits: usualLimits,
    results: "never",
    now: Date.now,
  });
  const mask = async (at: number): Promise<string> => {
    const vault = await agents.vaultOf(`chat_${at}`, settings);
    const masked = vault?.mask(letter(at)) ?? "";
    const keep = (fresh: readonly Placeholder[]) => store.addPlaceholders(`chat_${at}`, fresh);
    await vault?.keepFresh(keep).catch(() => undefined);
    return masked;
  };
  return { agents, state, mask };
}

async function collected(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  collectGarbage();
}

test("the private values of chats that were not used for long are read from the store again", async () => {
  const { state, mask } = chats();
  const first = await mask(0);
  expect(first).not.toContain("person0");
  for (let at = 1; at <= 300; at += 1) await mask(at);
  await collected();
  expect(state.reads).toBe(301);
  expect(await mask(300)).not.toContain("person300");
  expect(state.reads).toBe(301);
  expect(await mask(0)).toBe(first);
  expect(state.reads).toBe(302);
});

test("those that could not be stored are held until they are", async () => {
  const { state, mask } = chats();
  state.fails = true;
  const first = await mask(0);
  state.fails = false;
  for (let at = 1; at <= 300; at += 1) await mask(at);
  await collected();
  expect(await mask(0)).toBe(first);
  expect(state.reads).toBe(301);
});

test("a chat that runs has one vault, and its cuts, however many others there are", async () => {
  const { agents, state, mask } = chats();
  const model = { stream: () => noEvents() };
  const agent = defineAgent({ name: "a", description: "", instructions: "", model });
  const running = await agents.dressed(agent, "chat_0", settings, { isNamed: true });
  for (let at = 1; at <= 300; at += 1) await mask(at);
  await collected();
  const text = letter(0);
  const cuts = agents.knownCuts("chat_0");
  expect(cuts?.cutBefore(text, text.indexOf("@"))).toBe(text.indexOf("person0"));
  await mask(0);
  expect(state.reads).toBe(301);
  expect(running.name).toBe("a");
});

async function* noEvents() {}
