import { randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Chats,
  defineAgent,
  Runtime,
  RuntimeError,
  timeGroup,
  type Agent,
  type AgentRequest,
  type ChatDefaults,
  type ModelAbilities,
  type Skill,
  type ToolGroup,
} from "@deltawire/agent";
import { openStore, type Store } from "@deltawire/store";
import type { ChatSettings } from "@deltawire/tasks/chats";
import { expect, onTestFinished } from "vitest";
import type { ChatFixture } from "../../../../test/chats/chat-steps.ts";
import { scriptedReplies, type Script } from "../../../../test/chats/scripted-replies.ts";

export interface FixtureOptions {
  script?: Script;
  /** Models beside the usual ones: what differs from a chat model that sees pictures and calls tools. */
  models?: Readonly<Record<string, Partial<TestModel>>>;
  settings?: ChatDefaults["settings"];
  defaults?: Partial<Omit<ChatDefaults, "settings">>;
  groups?: readonly ToolGroup[];
  /** Agents whose models have names. */
  agents?: readonly Agent[];
  skills?: readonly Skill[];
  /** In files, so that another process can open them. */
  files?: boolean;
  /** The disk is full for a moment: the next call of this method that fits is refused. */
  failOnce?: { method: keyof Store; when: (given: string) => boolean };
  /** Failures in the background are expected: otherwise they fail the test. */
  fails?: boolean;
}

type TestModel = ModelAbilities & { readonly contextWindow: number };

/** Chats on a real store and a real runtime, with scripted models. */
export interface StoredChatFixture extends ChatFixture {
  readonly runtime: Runtime;
  readonly failures: readonly string[];
  /** Where its files are. */
  readonly folder: string | undefined;
  /** The same after its process was killed at this very moment, on what it had written. */
  killed(options?: Partial<FixtureOptions>): Promise<StoredChatFixture>;
  close(): Promise<void>;
}

const usualModel: TestModel = {
  type: "chat",
  images: true,
  audio: false,
  files: false,
  tools: true,
  efforts: ["low", "medium", "high"],
  refuses: [],
  contextWindow: 128_000,
};
const helpers = "agents";
const usualModels = { "up/m": {}, "up/namer": {}, "other/o": {}, talker: {} };

export async function chatFixture(options: FixtureOptions = {}): Promise<StoredChatFixture> {
  return openFixture(options, options.files === true ? newFolder() : undefined);
}

async function openFixture(
  options: FixtureOptions,
  folder: string | undefined,
): Promise<StoredChatFixture> {
  const { script = [], agents = [], skills = [], fails = false, failOnce } = options;
  const groups = [timeGroup(), ...(options.groups ?? [])];
  const failures: string[] = [];
  const onFailure = (message: string, cause: unknown): void => {
    failures.push(`${message}: ${String(cause)}`);
  };
  const opened = await openStore(folder === undefined ? { path: ":memory:" } : { folder });
  const store = failOnce === undefined ? opened : failing(opened, failOnce);
  const models = scriptedReplies(script);
  const known = new Map(Object.entries({ ...usualModels, ...options.models }));
  const modelNamed = (name: string): TestModel => {
    const found = known.get(name);
    if (found === undefined) throw new RuntimeError("unknown_model", `there is no model "${name}"`);
    return { ...usualModel, ...found };
  };
  const agentNamed = (name: string) => agents.find((agent) => agent.name === name);
  const runtime: Runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor: async (request) => chats.dressed(agentOf(request), request),
    variablesOf: (session) => chats.variablesOf(session),
    cutsOf: (chat) => chats.cutsOf(chat),
    model: (name) => models.model(name),
    modelWaits: { firstMs: 1, longestMs: 4, inAllMs: 50 },
    newId,
    onFailure,
  });
  const agentOf = ({ agent, model = "", tool_groups = [] }: AgentRequest): Agent => {
    // All other agents can be asked by the group of this name.
    const others = agents.filter(({ name }) => tool_groups.includes(helpers) && name !== agent);
    const named = tool_groups.filter((name) => name !== helpers);
    const tools = named.map((name) => {
      const group = groups.find((each) => each.name === name);
      if (group !== undefined) return group;
      throw new RuntimeError("unknown_tool_group", `there is no tool group "${name}"`);
    });
    if (agent === undefined) {
      const { contextWindow } = modelNamed(model);
      const assistant = { name: "assistant", instructions: "", model, tools, contextWindow };
      return defineAgent({ ...assistant, agents: others });
    }
    const found = agentNamed(agent);
    if (found === undefined)
      throw new RuntimeError("unknown_agent", `there is no agent "${agent}"`);
    return {
      ...found,
      tools: [...found.tools, ...tools],
      agents: [...new Set([...others, ...found.agents])],
    };
  };
  const chats = new Chats({
    store,
    runtime,
    model: (name) => models.model(name),
    modelFacts: async (name) => ({ abilities: modelNamed(name), options: {} }),
    agentFacts: (name) => {
      const model = agentNamed(name)?.model;
      return typeof model === "string" ? { model, options: {} } : undefined;
    },
    checkNames: async (settings) => unknownGroup(settings, groups),
    checkRequest: (request) => runtime.check(request),
    defaults: {
      settings: { tool_groups: [], options: {}, ...options.settings },
      limits: { rounds: 10 },
      retrySeconds: 30,
      turns: 20,
      timeZone: "UTC",
      exactTime: false,
      titles: false,
      ...options.defaults,
    },
    defaultResponder: async () => ({ model: "talker" }),
    skills,
    newId,
    onFailure,
  });
  await chats.recover();
  await runtime.recover();
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await runtime.close();
    await chats.close();
    await store.close();
  };
  onTestFinished(async () => {
    await close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    if (!fails) expect(failures).toEqual([]);
  });
  return {
    store,
    runtime,
    chats,
    models,
    failures,
    folder,
    close,
    async killed(more = {}) {
      if (folder === undefined) throw new Error("a store in memory ends with its process");
      // In one step, so that nothing is written meanwhile.
      const left = newFolder();
      cpSync(folder, left, { recursive: true, filter: (path) => !path.endsWith("-lock") });
      return openFixture({ ...options, ...more }, left);
    },
  };
}

function unknownGroup(
  { tool_groups = [] }: ChatSettings,
  groups: readonly ToolGroup[],
): string | undefined {
  const known = [helpers, ...groups.map(({ name }) => name)];
  const at = tool_groups.findIndex((name) => !known.includes(name));
  return at === -1 ? undefined : `tool_groups[${at}]: there is no tool group "${tool_groups[at]}"`;
}

/** The store itself, but for one call. `when` receives its arguments as JSON. */
function failing(store: Store, { method, when }: NonNullable<FixtureOptions["failOnce"]>): Store {
  let isOver = false;
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== method) return value.bind(target) as unknown;
      return async (...given: unknown[]): Promise<unknown> => {
        if (isOver || !when(JSON.stringify(given))) return value.apply(target, given) as unknown;
        isOver = true;
        throw new Error("no room on the disk");
      };
    },
  });
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "deltawire-chats-"));
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
