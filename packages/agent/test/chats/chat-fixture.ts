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
  type NameProblem,
  type ModelCapabilities,
  type Skill,
  type ToolGroup,
} from "@deltawire/agent";
import { openStore, type Store } from "@deltawire/store";
import type { MessageBus } from "@deltawire/tasks";
import type { ChatSettings } from "@deltawire/tasks/chats";
import { expect, onTestFinished } from "vitest";
import type { SweepIntervals } from "../../src/chats/chats-options.ts";
import type { ChatFixture } from "../../../../test/chats/chat-helpers.ts";
import { createScriptedModels, type ModelScript } from "../../../../test/chats/scripted-models.ts";

export interface FixtureOptions {
  script?: ModelScript;
  /** Additional models: differences from a chat model with image and tool support. */
  models?: Readonly<Record<string, Partial<TestModel>>>;
  settings?: ChatDefaults["settings"];
  defaults?: Partial<Omit<ChatDefaults, "settings">>;
  groups?: readonly ToolGroup[];
  /** Agents whose models are names. */
  agents?: readonly Agent[];
  skills?: readonly Skill[];
  /** Stores data in files, so that another process can open them. */
  files?: boolean;
  /** Called when a model is used whose usage counts toward an access key. */
  onMeteredModel?: (name: string, accessKey: string) => void;
  /** The next matching call of this store method fails. Default error: that of a full disk. */
  failOnce?: { method: keyof Store; when: (args: string) => boolean; error?: Error };
  /** Background failures are expected; otherwise they fail the test. */
  expectsFailures?: boolean;
  /** A store that other processes use too. It is not closed with the fixture. */
  sharedStore?: Store;
  /** An open store that no other process uses. It is not closed with the fixture. */
  openedStore?: Store;
  bus?: MessageBus;
  sweepIntervals?: Partial<SweepIntervals>;
}

type TestModel = ModelCapabilities & { readonly contextWindow: number };

/** Chats on a real store and a real runtime, with scripted models. */
export interface StoredChatFixture extends ChatFixture {
  readonly runtime: Runtime;
  readonly failures: readonly string[];
  /** The folder of its files. */
  readonly folder: string | undefined;
  /** Simulates killing the process now, and opens its files again. */
  restartAfterKill(options?: Partial<FixtureOptions>): Promise<StoredChatFixture>;
  close(): Promise<void>;
}

const defaultTestModel: TestModel = {
  type: "chat",
  images: true,
  audio: false,
  files: false,
  tools: true,
  efforts: ["low", "medium", "high"],
  unsupported_options: [],
  contextWindow: 128_000,
};
const agentsGroup = "agents";
const defaultTestModels = { "up/m": {}, "up/namer": {}, "other/o": {}, talker: {} };

export async function chatFixture(options: FixtureOptions = {}): Promise<StoredChatFixture> {
  return openFixture(options, options.files === true ? newFolder() : undefined);
}

async function openFixture(
  options: FixtureOptions,
  folder: string | undefined,
): Promise<StoredChatFixture> {
  const { script = [], agents = [], skills = [], expectsFailures = false, failOnce } = options;
  const { sharedStore, openedStore, bus, sweepIntervals } = options;
  const groups = [timeGroup(), ...(options.groups ?? [])];
  const failures: string[] = [];
  const onFailure = (message: string, cause: unknown): void => {
    failures.push(`${message}: ${String(cause)}`);
  };
  const workingStore =
    sharedStore ??
    openedStore ??
    (await openStore(folder === undefined ? { path: ":memory:" } : { folder }));
  const store = failOnce === undefined ? workingStore : withFailingCall(workingStore, failOnce);
  const models = createScriptedModels(script);
  const known = new Map(Object.entries({ ...defaultTestModels, ...options.models }));
  const findModel = (name: string): TestModel => {
    const found = known.get(name);
    if (found === undefined) throw new RuntimeError("unknown_model", `there is no model "${name}"`);
    return { ...defaultTestModel, ...found };
  };
  const findAgent = (name: string) => agents.find((agent) => agent.name === name);
  const runtime: Runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor: async (request) => chats.prepareAgent(resolveAgent(request), request),
    variablesFor: (session) => chats.findVariables(session),
    truncationGuardFor: (chat) => chats.findTruncationGuard(chat),
    getModel: (name) => models.model(name),
    modelRetryPolicy: { initialDelayMs: 1, maxDelayMs: 4, maxElapsedMs: 50 },
    ...(sharedStore && {
      cluster: { store: sharedStore, leaseMs: 400, renewMs: 50, ...(bus && { bus }) },
    }),
    newId,
    onFailure,
  });
  const resolveAgent = ({ agent, model = "", tool_groups = [] }: AgentRequest): Agent => {
    // The group of this name allows calling all other agents.
    const others = agents.filter(({ name }) => tool_groups.includes(agentsGroup) && name !== agent);
    const groupNames = tool_groups.filter((name) => name !== agentsGroup);
    const tools = groupNames.map((name) => {
      const group = groups.find((candidate) => candidate.name === name);
      if (group !== undefined) return group;
      throw new RuntimeError("unknown_tool_group", `there is no tool group "${name}"`);
    });
    if (agent === undefined) {
      const { contextWindow } = findModel(model);
      const assistant = { name: "assistant", instructions: "", model, tools, contextWindow };
      return defineAgent({ ...assistant, agents: others });
    }
    const found = findAgent(agent);
    if (found === undefined)
      throw new RuntimeError("agent_not_found", `there is no agent "${agent}"`);
    return {
      ...found,
      tools: [...found.tools, ...tools],
      agents: [...new Set([...others, ...found.agents])],
    };
  };
  const chats = new Chats({
    store,
    bus,
    ...(sweepIntervals && { sweepIntervals }),
    runtime,
    getModel: (name) => models.model(name),
    getMeteredModel: (name, accessKey) => {
      options.onMeteredModel?.(name, accessKey);
      return models.model(name);
    },
    getModelInfo: async (name) => ({ capabilities: findModel(name), options: {} }),
    getAgentInfo: (name) => {
      const model = findAgent(name)?.model;
      return typeof model === "string" ? { model, options: {} } : undefined;
    },
    findUnknownName: async (settings) => findUnknownGroup(settings, groups),
    checkRequest: (request) => runtime.check(request),
    defaults: {
      settings: { tool_groups: [], options: {}, ...options.settings },
      limits: { rounds: 10 },
      retrySeconds: 30,
      maxTurns: 20,
      timeZone: "UTC",
      addMessageTimes: false,
      generateTitles: false,
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
    if (sharedStore === undefined && openedStore === undefined) await store.close();
  };
  onTestFinished(async () => {
    await close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    if (!expectsFailures) expect(failures).toEqual([]);
  });
  return {
    store,
    runtime,
    chats,
    models,
    failures,
    folder,
    close,
    async restartAfterKill(overrides = {}) {
      if (folder === undefined) throw new Error("a store in memory ends with its process");
      // Synchronous, so that nothing is written in between.
      const copiedFolder = newFolder();
      cpSync(folder, copiedFolder, { recursive: true, filter: (path) => !path.endsWith("-lock") });
      return openFixture({ ...options, ...overrides }, copiedFolder);
    },
  };
}

function findUnknownGroup(
  { tool_groups = [] }: ChatSettings,
  groups: readonly ToolGroup[],
): NameProblem | undefined {
  const known = [agentsGroup, ...groups.map(({ name }) => name)];
  const index = tool_groups.findIndex((name) => !known.includes(name));
  if (index === -1) return undefined;
  return {
    path: `tool_groups[${index}]`,
    reason: `there is no tool group "${tool_groups[index]}"`,
  };
}

/** The store, with one call that fails. `when` receives its arguments as JSON. */
function withFailingCall(
  store: Store,
  {
    method,
    when,
    error = new Error("no room on the disk"),
  }: NonNullable<FixtureOptions["failOnce"]>,
): Store {
  let hasFailed = false;
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== method) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        if (hasFailed || !when(JSON.stringify(args))) return value.apply(target, args) as unknown;
        hasFailed = true;
        throw error;
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
