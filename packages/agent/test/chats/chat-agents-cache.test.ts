import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineAgent, defaultLimits, type PlaceholderStore } from "@deltawire/agent";
import type { ChatSettings, Placeholder } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { ChatAgents, type ChatAgentsOptions } from "../../src/chats/chat-agents.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const settings: ChatSettings = {
  privacy: { enabled: true, fields: [{ kind: "email", label: "MAIL" }] },
};
const createMessage = (index: number): string => `Write to person${index}@example.org, please.`;

/** Creates a cache of chats with a store in memory. If `state.fails`, placeholders cannot be stored. */
function createChatAgents() {
  const stored = new Map<string, Placeholder[]>();
  const state = { fails: false, reads: 0, nextRead: Promise.resolve() };
  const store = {
    isShared: false,
    listPlaceholders: async (chatId: string) => {
      state.reads += 1;
      const delay = state.nextRead;
      state.nextRead = Promise.resolve();
      await delay;
      return [...(stored.get(chatId) ?? [])];
    },
    addPlaceholders: async (chatId: string, fresh: readonly Placeholder[]) => {
      if (state.fails) throw new Error("the disk is full");
      stored.set(chatId, [...(stored.get(chatId) ?? []), ...fresh]);
      return "stored" as const;
    },
  };
  const agents = new ChatAgents({
    store: store as unknown as ChatAgentsOptions["store"],
    getModel: () => {
      throw new Error("no model is called in this test");
    },
    getCapabilities: async () => ({ type: "chat", tools: true }),
    skills: [],
    privacy: undefined,
    limits: defaultLimits,
    resultApproval: "never",
    now: Date.now,
  });
  const mask = async (index: number): Promise<string> => {
    const vault = await agents.loadVault(`chat_${index}`, settings);
    const masked = vault?.mask(createMessage(index)) ?? "";
    const placeholders: PlaceholderStore = {
      isShared: false,
      add: (fresh) => store.addPlaceholders(`chat_${index}`, fresh),
      list: () => store.listPlaceholders(`chat_${index}`),
    };
    await vault?.storeNewPlaceholders(placeholders).catch(() => undefined);
    return masked;
  };
  return { agents, state, mask };
}

async function collectGarbageLater(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  collectGarbage();
}

test("the private values of chats that were evicted from the cache are read from the store again", async () => {
  const { state, mask } = createChatAgents();
  const first = await mask(0);
  expect(first).not.toContain("person0");
  for (let index = 1; index <= 300; index += 1) await mask(index);
  await collectGarbageLater();
  expect(state.reads).toBe(301);
  expect(await mask(300)).not.toContain("person300");
  expect(state.reads).toBe(301);
  expect(await mask(0)).toBe(first);
  expect(state.reads).toBe(302);
});

test("private values that could not be stored stay in memory", async () => {
  const { state, mask } = createChatAgents();
  state.fails = true;
  const first = await mask(0);
  state.fails = false;
  for (let index = 1; index <= 300; index += 1) await mask(index);
  await collectGarbageLater();
  expect(await mask(0)).toBe(first);
  expect(state.reads).toBe(301);
});

test("a running chat has one vault and one truncation guard, regardless of the number of other chats", async () => {
  const { agents, state, mask } = createChatAgents();
  const model = { stream: () => noEvents() };
  const agent = defineAgent({ name: "a", description: "", instructions: "", model });
  const running = await agents.prepareAgent(agent, "chat_0", settings, {
    isNamed: true,
    owner: "",
  });
  for (let index = 1; index <= 300; index += 1) await mask(index);
  await collectGarbageLater();
  const text = createMessage(0);
  const cuts = agents.findTruncationGuard("chat_0");
  expect(cuts?.cutBefore(text, text.indexOf("@"))).toBe(text.indexOf("person0"));
  await mask(0);
  expect(state.reads).toBe(301);
  expect(running.name).toBe("a");
});

test("a slow read of the private values with earlier settings does not replace the current ones", async () => {
  const { agents, state } = createChatAgents();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.nextRead = promise;
  const privacy = { enabled: true, fields: [{ kind: "phone" }] } as const;
  const earlier = agents.loadVault("chat_0", { privacy });
  const current = await agents.loadVault("chat_0", settings);
  resolve();
  await earlier;
  expect(await agents.loadVault("chat_0", settings)).toBe(current);
  expect(state.reads).toBe(2);
});

test("private values that are being read when their chat is removed are not cached", async () => {
  const { agents, state } = createChatAgents();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.nextRead = promise;
  const reading = agents.loadVault("chat_0", settings);
  agents.evict("chat_0");
  resolve();
  const evicted = await reading;
  expect(await agents.loadVault("chat_0", settings)).not.toBe(evicted);
  expect(state.reads).toBe(2);
});

async function* noEvents() {}
