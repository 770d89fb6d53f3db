import { Runtime, type Agent, type Skill, type ToolGroup } from "@deltawire/agent";
import { openStore } from "@deltawire/store";
import { expect, onTestFinished } from "vitest";
import { createGatewayChats } from "../../src/chats/create-chats.ts";
import type { Config } from "../../src/config/config.ts";
import { GatewayError } from "../../src/gateway-error.ts";
import { resolveModel } from "../../src/models/resolve-model.ts";
import { newId } from "../../src/new-id.ts";
import { ConfiguredAgents } from "../../src/tasks/configured-agents.ts";
import { parseToml } from "../config-fixture.ts";
import type { ChatFixture } from "../../../../test/chats/chat-helpers.ts";
import { createScriptedModels, type ModelScript } from "../../../../test/chats/scripted-models.ts";

export interface ChatRuntimeOptions {
  script?: ModelScript;
  /** Lines of `[chats]`, and tables after them. */
  chats?: string;
  toml?: string;
  /** Tool groups defined in code, in addition to the built-in ones. */
  groups?: readonly ToolGroup[];
  /** Agents defined in code, whose models are names. */
  agents?: readonly Agent[];
  skills?: readonly Skill[];
}

/** A gateway's chats without HTTP: real store, real runtime, scripted models. */
export type ChatRuntimeFixture = ChatFixture;

const upstreamToml = `
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

export async function chatRuntimeFixture(
  options: ChatRuntimeOptions = {},
): Promise<ChatRuntimeFixture> {
  const { script = [], groups = [], agents = [] } = options;
  const failures: string[] = [];
  const onFailure = (message: string, cause: unknown): void => {
    failures.push(`${message}: ${String(cause)}`);
  };
  const config = createConfig(options);
  const store = await openStore({ path: ":memory:" });
  const models = createScriptedModels(script);
  const configured = new ConfiguredAgents({
    config,
    builtInAgents: agents,
    protectedPaths: [],
    warn: (message) => failures.push(message),
  });
  const runtime: Runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor: async (request, how) => {
      const named = request.tool_groups ?? [];
      const own = groups.filter(({ name }) => named.includes(name));
      const others = named.filter((name) => own.every((group) => group.name !== name));
      const agent = await configured.resolveAgent({ ...request, tool_groups: others }, how);
      return chats.prepareAgent({ ...agent, tools: [...agent.tools, ...own] }, request);
    },
    variablesFor: (session) => chats.findVariables(session),
    truncationGuardFor: (chat) => chats.findTruncationGuard(chat),
    getModel: (name) => models.model(name),
    getPrice: (name) => config.models.get(name)?.price,
    modelRetryPolicy: { initialDelayMs: 1, maxDelayMs: 4, maxElapsedMs: 50 },
    newId,
    onFailure,
  });
  const chats = createGatewayChats({
    config,
    store,
    runtime,
    getModel: (name) => models.model(name),
    getMeteredModel: (name) => models.model(name),
    resolveTargets: async (name) => {
      const resolved = resolveModel(name, config, new Map());
      if (resolved.ok) return resolved.targets;
      throw new GatewayError("model_not_found", resolved.message, { param: "model" });
    },
    getDiscoveredModels: () => new Map(),
    waitForDiscoveredModels: async () => new Map(),
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

function createConfig({
  chats = "titles = false",
  toml = "",
  agents = [],
  groups = [],
  skills = [],
}: ChatRuntimeOptions): Config {
  const named = agents.map(
    ({ name, model }) => `[agents.${name}]\nmodel = ${JSON.stringify(model)}\n`,
  );
  // A group that the configuration knows, with the tools of the test.
  const offered = groups.map(({ name }) => `[mcp.${name}]\ncommand = "nobody"\n`);
  const written = [`[chats]`, chats, upstreamToml, toml, ...named, ...offered].join("\n");
  const config = parseToml(written);
  return { ...config, skills: new Map(skills.map((skill) => [skill.name, skill])) };
}
