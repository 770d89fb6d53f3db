import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Runtime, type Agent, type Chats, type Skill, type ToolGroup } from "@deltawire/agent";
import { openStore, type Store } from "@deltawire/store";
import { expect, onTestFinished } from "vitest";
import { startChats } from "../../src/chats/start-chats.ts";
import type { Config } from "../../src/config/config.ts";
import { Problem } from "../../src/problem.ts";
import { resolveModel } from "../../src/models/resolve.ts";
import { newId } from "../../src/new-id.ts";
import { ConfiguredAgents } from "../../src/tasks/configured-agents.ts";
import { read } from "../reading-config.ts";
import {
  scriptedReplies,
  type Script,
  type ScriptedModel,
} from "../../../../test/chats/scripted-replies.ts";

export interface WorldOptions {
  script?: Script;
  /** Lines of `[chats]`, and tables behind them. */
  chats?: string;
  toml?: string;
  /** Tool groups from code, beside those that every gateway has. */
  groups?: readonly ToolGroup[];
  /** Agents from code, whose models have names. */
  agents?: readonly Agent[];
  skills?: readonly Skill[];
  /** In files, so that another process can open them. */
  files?: boolean;
  /** The disk is full for a moment: the next call of this method that fits is refused. */
  failOnce?: { method: keyof Store; when: (given: string) => boolean };
  /** What went wrong behind everybody's back is expected: otherwise it fails the test. */
  fails?: boolean;
}

/** A gateway's chats without its HTTP: real store, real runtime, scripted models. */
export interface World {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly chats: Chats;
  readonly models: ScriptedModel;
  readonly failures: readonly string[];
  /** Where its files are. */
  readonly folder: string | undefined;
  /** The same gateway after its process was killed at this very moment, on what it had written. */
  killed(options?: Partial<WorldOptions>): Promise<World>;
  /** As the gateway ends. */
  close(): Promise<void>;
}

const upstream = `
[upstreams.up]
base_url = "http://127.0.0.1:9/v1"
speaks = "responses"
models = ["m", "namer"]

[upstreams.other]
base_url = "http://127.0.0.1:9/v1"
speaks = "responses"
models = ["o"]

[models]
talker = "up/m"
`;

export async function chatWorld(options: WorldOptions = {}): Promise<World> {
  return openWorld(options, options.files === true ? newFolder() : undefined);
}

async function openWorld(options: WorldOptions, folder: string | undefined): Promise<World> {
  const { script = [], groups = [], agents = [], fails = false, failOnce } = options;
  const failures: string[] = [];
  const onFailure = (message: string, cause: unknown): void => {
    failures.push(`${message}: ${String(cause)}`);
  };
  const config = configOf(options);
  const opened = await openStore(folder === undefined ? { path: ":memory:" } : { folder });
  const store = failOnce === undefined ? opened : failing(opened, failOnce);
  const models = scriptedReplies(script);
  const configured = new ConfiguredAgents({
    config,
    builtIn: agents,
    ownFiles: [],
    warn: (message) => failures.push(message),
  });
  const runtime: Runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor: async (request, how) => {
      const named = request.tool_groups ?? [];
      const own = groups.filter(({ name }) => named.includes(name));
      const others = named.filter((name) => own.every((group) => group.name !== name));
      const agent = await configured.agentFor({ ...request, tool_groups: others }, how);
      return chats.dressed({ ...agent, tools: [...agent.tools, ...own] }, request);
    },
    variablesOf: (session) => chats.variablesOf(session),
    cutsOf: (chat) => chats.cutsOf(chat),
    model: (name) => models.model(name),
    price: (name) => config.models.get(name)?.price,
    modelWaits: { firstMs: 1, longestMs: 4, inAllMs: 50 },
    newId,
    onFailure,
  });
  const chats = startChats({
    config,
    store,
    runtime,
    model: (name) => models.model(name),
    targetsOf: async (name) => {
      const resolved = resolveModel(name, config, new Map());
      if (resolved.ok) return resolved.targets;
      throw new Problem("model_not_found", resolved.message, { param: "model" });
    },
    discovered: () => new Map(),
    whenDiscovered: async () => new Map(),
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
    await configured.close();
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
      if (folder === undefined) throw new Error("what is in memory dies with its process");
      // In one step, so that nothing is written meanwhile.
      const left = newFolder();
      cpSync(folder, left, { recursive: true, filter: (path) => !path.endsWith("-lock") });
      return openWorld({ ...options, ...more }, left);
    },
  };
}

/** The very store, but for one call. `when` sees what that was given, as JSON. */
function failing(store: Store, { method, when }: NonNullable<WorldOptions["failOnce"]>): Store {
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

function configOf({
  chats = "titles = false",
  toml = "",
  agents = [],
  groups = [],
  skills = [],
}: WorldOptions): Config {
  const named = agents.map(
    ({ name, model }) => `[agents.${name}]\nmodel = ${JSON.stringify(model)}\n`,
  );
  // A group that the configuration knows, though its tools are those of the test.
  const offered = groups.map(({ name }) => `[mcp.${name}]\ncommand = "nobody"\n`);
  const written = [`[chats]`, chats, upstream, toml, ...named, ...offered].join("\n");
  const config = read(written);
  return { ...config, skills: new Map(skills.map((skill) => [skill.name, skill])) };
}
