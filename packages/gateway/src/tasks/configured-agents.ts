import {
  connectMcp,
  defineAgent,
  filesGroup,
  shellGroup,
  timeGroup,
  webGroup,
  type Agent,
  type AgentRequest,
  type McpToolGroup,
  type ProtectedPath,
  type Tool,
  type ToolGroup,
} from "@deltawire/agent";
import { RuntimeError } from "@deltawire/agent/basics";
import { didYouMean, quoteExcerpt } from "@deltawire/tasks";
import type { AgentConfig, Config, McpConfig, ToolPolicies } from "../config/config.ts";
import { findModelAlias } from "../config/model-patterns.ts";
import { lookupKnownModel } from "../config/known-models.ts";
import { describeUnknownToolGroup } from "./usable-tool-groups.ts";

export interface ConfiguredAgentsOptions {
  config: Config;
  /** Agents that are defined in code. The configuration lists them, too. */
  builtInAgents: readonly Agent[];
  /** The gateway's own files. File tools of agents cannot access them. */
  protectedPaths: readonly ProtectedPath[];
  warn: (message: string) => void;
}

/** The agents of `deltawire.toml`, with their tools. Tool groups are created when an agent first needs them, and shared. */
export class ConfiguredAgents {
  readonly #config: Config;
  readonly #builtInAgents: ReadonlyMap<string, Agent>;
  readonly #protectedPaths: readonly ProtectedPath[];
  readonly #warn: (message: string) => void;
  readonly #groups = new Map<string, Promise<ToolGroup>>();
  readonly #closeController = new AbortController();

  constructor({ config, builtInAgents, protectedPaths, warn }: ConfiguredAgentsOptions) {
    this.#config = config;
    this.#builtInAgents = new Map(builtInAgents.map((agent) => [agent.name, agent]));
    this.#protectedPaths = protectedPaths;
    this.#warn = warn;
  }

  get names(): string[] {
    return [...this.#config.agents.keys()];
  }

  has(name: string): boolean {
    return this.#config.agents.has(name);
  }

  /**
   * Returns the agent of a task, or one created from the task's model and tool groups. Throws a ToolsUnavailableError if
   * the task is recovered and an MCP server has been unreachable for only a short time: the task may be in the middle of a call.
   */
  async resolveAgent(
    request: AgentRequest,
    { recovered: isRecovered }: { recovered: boolean },
  ): Promise<Agent> {
    const agent = await this.#buildAgent(request);
    if (isRecovered) for (const tool of listTools(agent)) assertReachable(tool);
    return agent;
  }

  async #buildAgent({ agent, model, tool_groups = [] }: AgentRequest): Promise<Agent> {
    const extraTools = await this.#getGroups(tool_groups.filter((group) => group !== "agents"));
    const helpers = tool_groups.includes("agents") ? await this.#findOtherAgents(agent) : [];
    if (agent === undefined) {
      const name = model ?? "";
      return defineAgent({
        name: "assistant",
        instructions: "",
        model: name,
        tools: extraTools,
        agents: helpers,
        contextWindow: this.#getContextWindow(name),
      });
    }
    const namedAgent = await this.#findAgent(agent);
    return {
      ...namedAgent,
      tools: dedupeByName([...namedAgent.tools, ...extraTools]),
      agents: dedupeByName([...helpers, ...namedAgent.agents]),
    };
  }

  async #findAgent(name: string): Promise<Agent> {
    return this.#builtInAgents.get(name) ?? (await this.#buildConfiguredAgent(name));
  }

  async #findOtherAgents(excludedName: string | undefined): Promise<Agent[]> {
    const otherNames = this.names.filter((name) => name !== excludedName);
    return Promise.all(otherNames.map((name) => this.#findAgent(name)));
  }

  async close(): Promise<void> {
    this.#closeController.abort();
    const results = await Promise.allSettled(this.#groups.values());
    const groups = results.flatMap((result) =>
      result.status === "fulfilled" ? [result.value] : [],
    );
    await Promise.allSettled(groups.map(async (group) => group.close?.()));
  }

  /** Builds an agent with all agents that it can reach, which may refer to each other in cycles. */
  async #buildConfiguredAgent(name: string): Promise<Agent> {
    const createdAgents = new Map<string, { agents: Agent[] } & Agent>();
    const queue = [this.#getConfig(name)];
    for (let config = queue.pop(); config !== undefined; config = queue.pop()) {
      if (createdAgents.has(config.name)) continue;
      createdAgents.set(config.name, {
        ...(await this.#defineConfiguredAgent(config)),
        agents: [],
      });
      queue.push(...config.agents.map((helperName) => this.#getConfig(helperName)));
    }
    for (const agent of createdAgents.values())
      for (const helperName of this.#getConfig(agent.name).agents) {
        const helper = createdAgents.get(helperName);
        if (helper !== undefined) agent.agents.push(helper);
      }
    const rootAgent = createdAgents.get(name);
    if (rootAgent === undefined) throw this.#createUnknownAgentError(name);
    return rootAgent;
  }

  async #defineConfiguredAgent(config: AgentConfig): Promise<Agent> {
    const { toolGroups, agents: _agents, contextWindow, ...rest } = config;
    const tools = await this.#getGroups(toolGroups.filter((group) => group !== "agents"));
    const { approval: call = "auto", resultApproval: result = "never" } = this.#config.tools.agents;
    return defineAgent({
      ...rest,
      tools,
      helpApproval: { call, result },
      contextWindow: contextWindow ?? this.#getContextWindow(config.model),
    });
  }

  #getConfig(name: string): AgentConfig {
    const config = this.#config.agents.get(name);
    if (config === undefined) throw this.#createUnknownAgentError(name);
    return config;
  }

  #createUnknownAgentError(name: string): RuntimeError {
    const hint = didYouMean(name, this.names);
    const available =
      this.names.length === 0 ? "none are configured" : `available: ${this.names.join(", ")}`;
    return new RuntimeError(
      "agent_not_found",
      `unknown agent ${quoteExcerpt(name)}${hint === "" ? `; ${available}` : hint}`,
    );
  }

  #getContextWindow(model: string): number {
    return (
      findModelAlias(model, this.#config)?.contextWindow ?? lookupKnownModel(model).contextWindow
    );
  }

  async #getGroups(names: readonly string[]): Promise<ToolGroup[]> {
    return Promise.all(names.map((name) => this.#getGroup(name)));
  }

  #getGroup(name: string): Promise<ToolGroup> {
    const existing = this.#groups.get(name);
    if (existing !== undefined) return existing;
    const creation = this.#createGroup(name);
    this.#groups.set(name, creation);
    // After a failure the next request creates the group again.
    creation.catch(() => this.#groups.delete(name));
    return creation;
  }

  async #createGroup(name: string): Promise<ToolGroup> {
    const { tools, mcp } = this.#config;
    const server = mcp.get(name);
    if (server !== undefined) return this.#connectServer(server);
    switch (name) {
      case "files":
        if (tools.files === undefined) throw this.#createUnknownGroupError(name);
        // Reading never needs an approval.
        return withPolicies(
          filesGroup({ ...omitUndefined(tools.files), exclude: this.#protectedPaths }),
          {
            ...tools.files,
            approval: undefined,
          },
        );
      case "shell": {
        if (tools.shell === undefined) throw this.#createUnknownGroupError(name);
        const { env, ...shell } = tools.shell;
        return withPolicies(
          shellGroup({ ...shell, environment: env, exclude: this.#protectedPaths }),
          shell,
        );
      }
      case "web":
        return withPolicies(webGroup(omitUndefined(tools.web)), tools.web);
      case "time":
        return withPolicies(timeGroup(), tools.time);
      default:
        throw this.#createUnknownGroupError(name);
    }
  }

  #createUnknownGroupError(name: string): RuntimeError {
    return new RuntimeError("unknown_tool_group", describeUnknownToolGroup(name, this.#config));
  }

  async #connectServer(server: McpConfig): Promise<ToolGroup> {
    const { name, transport, timeoutMs, tools, secrets, approval, resultApproval, unmask } = server;
    const { kind: _kind, ...transportOptions } = transport;
    return connectMcp({
      name,
      ...omitUndefined(transportOptions),
      timeoutMs,
      secrets,
      ...(tools === undefined ? {} : { tools }),
      approval: {
        ...(approval === undefined ? {} : { call: approval }),
        ...(resultApproval === undefined ? {} : { result: resultApproval }),
      },
      ...(unmask ? {} : { unmask }),
      onWarning: this.#warn,
      signal: this.#closeController.signal,
    });
  }
}

/** How long a recovered task waits for an unreachable MCP server before it continues without the server's tools. */
const maxUnreachableMs = 3 * 60_000;

/** Thrown if the tools of a task are not available yet. Not a RuntimeError, which would mean that they never will be. */
export class ToolsUnavailableError extends Error {
  readonly code = "tools_missing";
}

/** Returns the tools of an agent and of all agents that it can reach. */
function listTools(agent: Agent): (Tool | ToolGroup)[] {
  const agents = new Set([agent]);
  // The outer loop also visits the agents that are added meanwhile.
  for (const { agents: helpers } of agents) for (const helper of helpers) agents.add(helper);
  return [...agents].flatMap(({ tools }) => tools);
}

function assertReachable(group: Tool | ToolGroup): void {
  if (!("unreachableForMs" in group) || !("tools" in group)) return;
  const { unreachableForMs } = group as McpToolGroup;
  if (unreachableForMs === undefined || unreachableForMs > maxUnreachableMs) return;
  // Reading `tools` starts another attempt to reach the server.
  if (group.tools.length === 0)
    throw new ToolsUnavailableError(`the MCP server "${group.name}" cannot be reached yet`);
}

/** Returns a copy without undefined properties, as `exactOptionalPropertyTypes` requires. */
function omitUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, property]) => property !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function withPolicies(
  group: ToolGroup,
  { approval, resultApproval, unmask }: ToolPolicies,
): ToolGroup {
  if (approval === undefined && resultApproval === undefined && unmask) return group;
  const tools = group.tools.map((tool): Tool => ({
    ...tool,
    approval: {
      call: approval ?? tool.approval.call,
      result: resultApproval ?? tool.approval.result,
    },
    ...(unmask ? {} : { unmask }),
  }));
  return {
    ...group,
    tools,
    ...(group.close === undefined ? {} : { close: () => group.close?.() ?? Promise.resolve() }),
  };
}

function dedupeByName<T extends { readonly name: string }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [item.name, item])).values()];
}
