import {
  connectMcp,
  defineAgent,
  filesGroup,
  RuntimeError,
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
import { didYouMean, quoted } from "@deltawire/tasks";
import type { AgentConfig, Config, McpConfig, ToolPolicies } from "../config/config.ts";
import { knownModel } from "../config/known-models.ts";
import { noSuchGroup } from "./usable-groups.ts";

export interface ConfiguredAgentsOptions {
  config: Config;
  /** Agents from code; the configuration names them too. */
  builtIn: readonly Agent[];
  /** The gateway's own files, which no agent reads or writes by its tools for files. */
  ownFiles: readonly ProtectedPath[];
  warn: (message: string) => void;
}

/** The agents of `deltawire.toml`, with their tools. Groups are made when the first agent needs them, and shared. */
export class ConfiguredAgents {
  readonly #config: Config;
  readonly #builtIn: ReadonlyMap<string, Agent>;
  readonly #ownFiles: readonly ProtectedPath[];
  readonly #warn: (message: string) => void;
  readonly #groups = new Map<string, Promise<ToolGroup>>();
  readonly #closing = new AbortController();

  constructor({ config, builtIn, ownFiles, warn }: ConfiguredAgentsOptions) {
    this.#config = config;
    this.#builtIn = new Map(builtIn.map((agent) => [agent.name, agent]));
    this.#ownFiles = ownFiles;
    this.#warn = warn;
  }

  get names(): string[] {
    return [...this.#config.agents.keys()];
  }

  has(name: string): boolean {
    return this.#config.agents.has(name);
  }

  /**
   * The agent that a task asks for, or one that is made for it of a model and groups. A task that has begun had the tools
   * of a server that cannot be reached for now, and may be in the middle of a call: it waits for them a while.
   */
  async agentFor(request: AgentRequest, { recovered }: { recovered: boolean }): Promise<Agent> {
    const agent = await this.#agentOf(request);
    if (recovered) for (const tool of toolsOf(agent)) checkReached(tool);
    return agent;
  }

  async #agentOf({ agent, model, tool_groups = [] }: AgentRequest): Promise<Agent> {
    const more = await this.#groupsOf(tool_groups.filter((group) => group !== "agents"));
    const helpers = tool_groups.includes("agents") ? await this.#allBut(agent) : [];
    if (agent === undefined) {
      const name = model ?? "";
      return defineAgent({
        name: "assistant",
        instructions: "",
        model: name,
        tools: more,
        agents: helpers,
        contextWindow: this.#windowOf(name),
      });
    }
    const found = await this.#named(agent);
    return {
      ...found,
      tools: withoutDoubles([...found.tools, ...more]),
      agents: withoutDoubles([...helpers, ...found.agents]),
    };
  }

  async #named(name: string): Promise<Agent> {
    return this.#builtIn.get(name) ?? (await this.#configured(name));
  }

  async #allBut(asking: string | undefined): Promise<Agent[]> {
    const others = this.names.filter((name) => name !== asking);
    return Promise.all(others.map((name) => this.#named(name)));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const made = await Promise.allSettled(this.#groups.values());
    const groups = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    await Promise.allSettled(groups.map(async (group) => group.close?.()));
  }

  /** An agent with all whom it may ask, who may ask it in turn. */
  async #configured(name: string): Promise<Agent> {
    const made = new Map<string, { agents: Agent[] } & Agent>();
    const waiting = [this.#configOf(name)];
    for (let config = waiting.pop(); config !== undefined; config = waiting.pop()) {
      if (made.has(config.name)) continue;
      made.set(config.name, { ...(await this.#made(config)), agents: [] });
      waiting.push(...config.agents.map((each) => this.#configOf(each)));
    }
    for (const one of made.values())
      for (const other of this.#configOf(one.name).agents) {
        const helper = made.get(other);
        if (helper !== undefined) one.agents.push(helper);
      }
    const found = made.get(name);
    if (found === undefined) throw this.#unknown(name);
    return found;
  }

  async #made(config: AgentConfig): Promise<Agent> {
    const { toolGroups, agents: _agents, contextWindow, ...rest } = config;
    const tools = await this.#groupsOf(toolGroups.filter((group) => group !== "agents"));
    const { approval: call = "auto", results: result = "never" } = this.#config.tools.agents;
    return defineAgent({
      ...rest,
      tools,
      helpApproval: { call, result },
      contextWindow: contextWindow ?? this.#windowOf(config.model),
    });
  }

  #configOf(name: string): AgentConfig {
    const config = this.#config.agents.get(name);
    if (config === undefined) throw this.#unknown(name);
    return config;
  }

  #unknown(name: string): RuntimeError {
    const hint = didYouMean(name, this.names);
    const all =
      this.names.length === 0 ? "none is configured" : `there are ${this.names.join(", ")}`;
    return new RuntimeError(
      "unknown_agent",
      `there is no agent ${quoted(name)}${hint === "" ? `; ${all}` : `:${hint}`}`,
    );
  }

  #windowOf(model: string): number {
    return this.#config.models.get(model)?.contextWindow ?? knownModel(model).contextWindow;
  }

  async #groupsOf(names: readonly string[]): Promise<ToolGroup[]> {
    return Promise.all(names.map((name) => this.#group(name)));
  }

  #group(name: string): Promise<ToolGroup> {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const made = this.#makeGroup(name);
    this.#groups.set(name, made);
    // What could not be made is tried again by the next who asks for it.
    made.catch(() => this.#groups.delete(name));
    return made;
  }

  async #makeGroup(name: string): Promise<ToolGroup> {
    const { tools, mcp } = this.#config;
    const server = mcp.get(name);
    if (server !== undefined) return this.#connected(server);
    switch (name) {
      case "files":
        if (tools.files === undefined) throw this.#noGroup(name);
        // Reading is never asked about.
        return withPolicies(filesGroup({ ...defined(tools.files), exclude: this.#ownFiles }), {
          ...tools.files,
          approval: undefined,
        });
      case "shell": {
        if (tools.shell === undefined) throw this.#noGroup(name);
        const { env, ...shell } = tools.shell;
        return withPolicies(
          shellGroup({ ...shell, environment: env, exclude: this.#ownFiles }),
          shell,
        );
      }
      case "web":
        return withPolicies(webGroup(defined(tools.web)), tools.web);
      case "time":
        return withPolicies(timeGroup(), tools.time);
      default:
        throw this.#noGroup(name);
    }
  }

  #noGroup(name: string): RuntimeError {
    return new RuntimeError("unknown_tool_group", noSuchGroup(name, this.#config));
  }

  async #connected(server: McpConfig): Promise<ToolGroup> {
    const { name, transport, timeoutMs, tools, secrets, approval, results, unmask } = server;
    const { kind: _kind, ...place } = transport;
    return connectMcp({
      name,
      ...defined(place),
      timeoutMs,
      secrets,
      ...(tools === undefined ? {} : { tools }),
      approval: {
        ...(approval === undefined ? {} : { call: approval }),
        ...(results === undefined ? {} : { result: results }),
      },
      ...(unmask ? {} : { unmask }),
      onWarning: this.#warn,
      signal: this.#closing.signal,
    });
  }
}

/** How long a task that has begun waits for a server of its tools; then it goes on without them. */
const longestMissingMs = 3 * 60_000;

/** The tools of a task are not there yet. No RuntimeError, which would say that they never will be. */
export class ToolsMissing extends Error {
  readonly code = "tools_missing";
}

/** Of an agent and of all whom it may ask, who may ask it in turn. */
function toolsOf(agent: Agent): (Tool | ToolGroup)[] {
  const agents = new Set([agent]);
  for (const one of agents) for (const other of one.agents) agents.add(other);
  return [...agents].flatMap(({ tools }) => tools);
}

function checkReached(group: Tool | ToolGroup): void {
  if (!("missingForMs" in group) || !("tools" in group)) return;
  const { missingForMs } = group as McpToolGroup;
  if (missingForMs === undefined || missingForMs > longestMissingMs) return;
  // To look for its tools is to ask the server again.
  if (group.tools.length === 0)
    throw new ToolsMissing(`the MCP server "${group.name}" cannot be reached yet`);
}

/** A setting that is not there is left out, as optional fields want it. */
function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function withPolicies(group: ToolGroup, { approval, results, unmask }: ToolPolicies): ToolGroup {
  if (approval === undefined && results === undefined && unmask) return group;
  const tools = group.tools.map((tool): Tool => ({
    ...tool,
    approval: { call: approval ?? tool.approval.call, result: results ?? tool.approval.result },
    ...(unmask ? {} : { unmask }),
  }));
  return {
    ...group,
    tools,
    ...(group.close === undefined ? {} : { close: () => group.close?.() ?? Promise.resolve() }),
  };
}

function withoutDoubles<T extends { readonly name: string }>(all: readonly T[]): T[] {
  return [...new Map(all.map((one) => [one.name, one])).values()];
}
