import { Runtime, type Agent, type Skill, type ToolGroup } from "@deltawire/agent";
import { openStore } from "@deltawire/store";
import { expect, onTestFinished } from "vitest";
import { startChats } from "../../src/chats/start-chats.ts";
import type { Config } from "../../src/config/config.ts";
import { Problem } from "../../src/problem.ts";
import { resolveModel } from "../../src/models/resolve.ts";
import { newId } from "../../src/new-id.ts";
import { ConfiguredAgents } from "../../src/tasks/configured-agents.ts";
import { read } from "../reading-config.ts";
import type { ChatFixture } from "../../../../test/chats/chat-steps.ts";
import { scriptedReplies, type Script } from "../../../../test/chats/scripted-replies.ts";

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
}

/** A gateway's chats without its HTTP: real store, real runtime, scripted models. */
export type World = ChatFixture;

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
  const { script = [], groups = [], agents = [] } = options;
  const failures: string[] = [];
  const onFailure = (message: string, cause: unknown): void => {
    failures.push(`${message}: ${String(cause)}`);
  };
  const config = configOf(options);
  const store = await openStore({ path: ":memory:" });
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
  onTestFinished(async () => {
    await runtime.close();
    await chats.close();
    await configured.close();
    await store.close();
    expect(failures).toEqual([]);
  });
  return { store, runtime, chats, models };
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
